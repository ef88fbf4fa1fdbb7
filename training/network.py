"""The network inside SB3's policy class, and the calls that the hot loops make of it.

SB3's ``MlpPolicy`` does everything through general code: dictionaries, feature dtypes, distribution objects that check
their arguments. Here are the same numbers with nothing around them; a test holds the two equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from gymnasium import spaces
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import Tensor, nn

from .config import NetworkConfig

#: What a masked logit becomes; the same as in sb3-contrib, so that losses and probabilities are the same too.
MASKED = -1e8

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
        "share_features_extractor": not config.open_critic,
        # One fused kernel instead of a dozen small ones per parameter; eps as SB3 sets it by default.
        "optimizer_kwargs": {"eps": 1e-5, "fused": True},
    }


def forward(policy: Any, inputs: Tensor, views: Tensor) -> tuple[Tensor, Tensor]:
    """Unmasked logits float32[B, A] and values float32[B] of SB3 actor-critic `policy`, given its inputs.

    `views` is what the critic is given, float32[B, size]: the inputs themselves, unless the critic is open.
    """
    if not policy.share_features_extractor:
        return forward_logits(policy, inputs), forward_values(policy, views)
    policy_latent, value_latent = policy.mlp_extractor(policy.features_extractor(inputs))
    return policy.action_net(policy_latent), policy.value_net(value_latent).flatten()


def forward_logits(policy: Any, inputs: Tensor) -> Tensor:
    """Logits alone, float32[B, A]."""
    latent = policy.mlp_extractor.forward_actor(policy.pi_features_extractor(inputs))
    logits: Tensor = policy.action_net(latent)
    return logits


def forward_values(policy: Any, views: Tensor) -> Tensor:
    """Values alone, float32[B], from what the critic is given."""
    latent = policy.mlp_extractor.forward_critic(policy.vf_features_extractor(views))
    values: Tensor = policy.value_net(latent).flatten()
    return values


def masked_log_probabilities(logits: Tensor, mask: Tensor) -> Tensor:
    """Log probabilities float32[B, A] of the legal actions; those of illegal ones are about -1e8. mask: bool[B, A]."""
    return torch.log_softmax(logits.masked_fill(~mask, MASKED), dim=1)


def policy_layers(policy: Any) -> list[nn.Module]:
    """The modules from inputs to logits in order, flattened, for export."""
    return [*policy.pi_features_extractor.layers, *policy.mlp_extractor.policy_net, policy.action_net]
