"""The network inside SB3's policy class, and the calls that the hot loops make of it.

SB3's ``MlpPolicy`` does everything through general code: dictionaries, feature dtypes, distribution objects that check
their arguments. Here are the same numbers with nothing around them; a test holds the two equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import Tensor, nn

from coyote_env.core.layout import ActionRows, Layout

from .config import NetworkConfig

#: What a masked logit becomes; the same as in sb3-contrib, so that losses and probabilities are the same too.
MASKED = -1e8

#: What an ActionHead multiplies numbers of the observation by: they lie between 0 and about 1, and tenths matter.
SCALE = 10.0

ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "tanh": nn.Tanh}


class Trunk(BaseFeaturesExtractor):
    """The layers that policy and value share. With no layers the inputs themselves go on."""

    def __init__(self, observation_space: spaces.Box, widths: Sequence[int], activation: str, size: int) -> None:
        super().__init__(observation_space, features_dim=widths[-1] if widths else size)
        layers: list[nn.Module] = []
        for width in widths:
            layers += [nn.Linear(size, width), ACTIVATIONS[activation]()]
            size = width
        self.layers = nn.Sequential(*layers)

    def forward(self, inputs: Tensor) -> Tensor:
        """float32[B, `size`] -> float32[B, features_dim]."""
        result: Tensor = self.layers(inputs)
        return result


def policy_kwargs(config: NetworkConfig, size: int) -> dict[str, Any]:
    """Arguments that make SB3's ``MlpPolicy`` the network of `config` over inputs of `size` numbers."""
    return {
        "net_arch": {"pi": list(config.policy), "vf": list(config.value)},
        "activation_fn": ACTIVATIONS[config.activation],
        "features_extractor_class": Trunk,
        "features_extractor_kwargs": {"widths": list(config.shared), "activation": config.activation, "size": size},
        # One fused kernel instead of a dozen small ones per parameter; eps as SB3 sets it by default.
        "optimizer_kwargs": {"eps": 1e-5, "fused": True},
    }


def forward(policy: Any, inputs: Tensor) -> tuple[Tensor, Tensor]:
    """Unmasked logits float32[B, A] and values float32[B] of SB3 actor-critic `policy`, given its inputs."""
    policy_latent, value_latent = policy.mlp_extractor(policy.features_extractor(inputs))
    return _logits(policy, policy_latent, inputs), policy.value_net(value_latent).flatten()


def forward_logits(policy: Any, inputs: Tensor) -> Tensor:
    """Logits alone, float32[B, A]."""
    latent = policy.mlp_extractor.forward_actor(policy.features_extractor(inputs))
    return _logits(policy, latent, inputs)


def _logits(policy: Any, latent: Tensor, inputs: Tensor) -> Tensor:
    outputs: Tensor = policy.action_net(latent)
    head = action_head(policy)
    return outputs if head is None else head(outputs, inputs)


def masked_log_probabilities(logits: Tensor, mask: Tensor) -> Tensor:
    """Log probabilities float32[B, A] of the legal actions; those of illegal ones are about -1e8. mask: bool[B, A]."""
    return torch.log_softmax(logits.masked_fill(~mask, MASKED), dim=1)


class ActionHead(nn.Module):
    """Lets what the observation says of single actions reach their logits directly, by weights that they share.

    A row of a game's ``action_rows`` has numbers x, of the position, and facts f, of the action. With latent h of the
    policy, the logit of its action gets u(h) x + v(h) f + w(h) more, u, v and w being linear and the same for all rows
    of the section. Without this the last layer would learn for each action, of hundreds, on its own what such a number
    means; how much faster networks imitate with it is in training/README.md. (Scores of an action from what is known of
    it: as in pointer networks, Vinyals et al. 2015, arXiv 1506.03134.)

    u, v and w are further outputs of the policy's last layer, `size` in number: see ``widen``.
    """

    def __init__(self, layout: Layout, action_rows: Sequence[ActionRows], num_actions: int) -> None:
        super().__init__()
        self.num_actions = num_actions
        shapes = {section.name: section.shape for section in layout.sections}
        #: Of each section: where its numbers are in the input, their shape (rows, numbers), how many facts.
        self.parts: list[tuple[slice, tuple[int, int], int]] = []
        facts, place = [], torch.zeros(sum(len(rows.actions) for rows in action_rows), num_actions)
        row = 0
        for rows in action_rows:
            shape = (shapes[rows.section][0], int(np.prod(shapes[rows.section][1:])))
            known = np.ones((len(rows.facts[0]) + 1, shape[0]), np.float32)
            known[:-1] = np.array(rows.facts, np.float32).T
            self.parts.append((layout.slices[rows.section], shape, len(known)))
            facts.append(torch.from_numpy(known))
            for action in rows.actions:
                if action >= 0:
                    place[row, action] = 1.0
                row += 1
        self.size = sum(numbers + known for _, (_, numbers), known in self.parts)
        for k, table in enumerate(facts):
            self.register_buffer(f"facts_{k}", table, persistent=False)
        self.place: Tensor
        self.register_buffer("place", place, persistent=False)

    def forward(self, outputs: Tensor, inputs: Tensor) -> Tensor:
        """Outputs of the last layer, float32[B, A + `size`], and inputs of the first to logits, float32[B, A]."""
        at, scores = self.num_actions, []
        for k, (where, (rows, numbers), known) in enumerate(self.parts):
            by_number = outputs[:, at : at + numbers]
            by_fact = outputs[:, at + numbers : at + numbers + known]
            given = SCALE * inputs[:, where].reshape(len(inputs), rows, numbers)
            scores.append(torch.bmm(given, by_number.unsqueeze(2)).squeeze(2) + by_fact @ getattr(self, f"facts_{k}"))
            at += numbers + known
        logits: Tensor = outputs[:, : self.num_actions] + torch.cat(scores, dim=1) @ self.place
        return logits


class PolicyNetwork(nn.Module):
    """From inputs to logits; all of it is published. The modules are the policy's own, not copies."""

    def __init__(self, layers: Sequence[nn.Module], head: ActionHead | None = None) -> None:
        super().__init__()
        self.layers = nn.Sequential(*layers)
        self.head = head

    def forward(self, inputs: Tensor) -> Tensor:
        """float32[B, size] -> float32[B, A]."""
        outputs: Tensor = self.layers(inputs)
        return outputs if self.head is None else self.head(outputs, inputs)


def policy_network(policy: Any) -> PolicyNetwork:
    """The part of SB3 actor-critic `policy` that makes logits of inputs."""
    layers = [*policy.features_extractor.layers, *policy.mlp_extractor.policy_net, policy.action_net]
    return PolicyNetwork(layers, action_head(policy))


def action_head(policy: Any) -> ActionHead | None:
    """The policy's, if it has one."""
    head = getattr(policy, "action_head", None)
    assert head is None or isinstance(head, ActionHead)
    return head


def widen(policy: Any, head: ActionHead) -> None:
    """Give a fresh SB3 actor-critic `policy` that head, and its last layer the outputs that this needs.

    They begin at 0: what the head adds is learnt, from nothing.
    """
    layer = policy.action_net
    wider = nn.Linear(layer.in_features, layer.out_features + head.size)
    with torch.no_grad():
        wider.weight.zero_()
        wider.bias.zero_()
        wider.weight[: layer.out_features] = layer.weight
        wider.bias[: layer.out_features] = layer.bias
    rate = policy.optimizer.param_groups[0]["lr"]
    policy.action_net, policy.action_head = wider, head
    policy.optimizer = policy.optimizer_class(policy.parameters(), lr=rate, **policy.optimizer_kwargs)
