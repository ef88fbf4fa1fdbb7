"""The magnet: an older self that the policy is held near while it learns.

Among many bids that are never worth making, a policy that only follows its last opponents swings from one to the next.
A penalty on KL(policy || magnet), the magnet being a slowly moving copy of the policy, damps that: magnetic mirror
descent (Sokota et al. 2023, arXiv 2206.05825). NashPG (arXiv 2510.18183) moves the copy in jumps (``periodic``),
EMAgnet (arXiv 2606.23995) moves it a little after every update (``ema``). The entropy bonus is the same with the
uniform policy as a magnet that never moves.
"""

from __future__ import annotations

import copy

import torch
from torch import Tensor

from .network import PolicyNetwork, masked_log_probabilities
from .workers import Workers


class Magnet:
    """A copy of the policy's network that follows it.

    Args:
        network: the policy's; the copy starts equal to it.
        kind: "ema" or "periodic".
        period: of kind "periodic": it becomes the policy after every so many updates.
    """

    def __init__(self, network: PolicyNetwork, kind: str, period: int) -> None:
        self._policy = network
        self.network = copy.deepcopy(network).requires_grad_(False)
        self.kind, self.period = kind, period
        self.age = 0  # updates since it last became the policy

    def log_probabilities(self, observations: Tensor, masks: Tensor, workers: Workers) -> Tensor:
        """float32[B, A] of the legal actions, as ``masked_log_probabilities`` gives them."""
        result = torch.empty(masks.shape, dtype=torch.float32)

        def work(part: slice) -> None:
            with torch.inference_mode():
                result[part] = masked_log_probabilities(self.network(observations[part]), masks[part])

        workers.map_rows(work, len(observations))
        return result

    def follow(self, decay: float) -> None:
        """The policy has been updated on one rollout. `decay`: share of the magnet that stays, if its kind is "ema"."""
        self.age += 1
        if self.kind == "periodic" and self.age < self.period:
            return
        weight = 1.0 - decay if self.kind == "ema" else 1.0
        with torch.no_grad():
            for mine, theirs in zip(self.network.parameters(), self._policy.parameters(), strict=True):
                mine.lerp_(theirs, weight)
        self.age = 0
