"""What a network is given of an observation: standardised numbers, and beside them the mask of legal actions.

An observation's numbers are far apart in how much they move: a bid is a number over the largest of the game and may
hardly leave 0.1, a card's flag is 0 or 1. Layers that begin alike for all of them learn slowly from the former, so each
is shifted and scaled to mean 0 and deviation 1 over what has been seen so far. The mask says with a flag for each
number which ones still stand to be named, and so where the bid is, in the terms in which actions are chosen.
(Figures are in training/README.md.) Publishing folds shift and scale into the first layer: see ``checkpoint.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

#: What seldom moves must not be taken for a giant when it does: the mask's flags for high numbers are almost always 1,
#: and dozens of them are 0 at once against a player who bids wildly. Of what networks imitate of `bayes` 0.3 in place
#: of 0.01 costs 0.4 percentage points; 0.5 would cost 1.2.
LEAST_DEVIATION = 0.3


class Inputs:
    """From observations (B, L) and masks (B, A) to what a network takes, float32 (B, `size`).

    Attributes: `mean`, `deviation`, float64 (`size`,), of all rows that were counted; `count`, float64 (1,), how many.
    Before any was counted, 0 and 1: numbers go through as they are. `moving`, bool (`size`,): those to be standardised,
    all but `as_it_is`, which an ActionHead reads.
    """

    def __init__(
        self,
        observation_size: int,
        num_actions: int,
        *,
        sees_mask: bool = False,
        standardise: bool = False,
        as_it_is: Sequence[slice] = (),
    ) -> None:
        self.observation_size, self.num_actions = observation_size, num_actions
        self.sees_mask, self.standardise = sees_mask, standardise
        self.size = observation_size + (num_actions if sees_mask else 0)
        self.mean, self.deviation = np.zeros(self.size), np.ones(self.size)
        self.count = np.zeros(1)
        self.moving = np.ones(self.size, np.bool_)
        for part in as_it_is:
            self.moving[part] = False

    @property
    def plain(self) -> bool:
        """Whether observations go through as they are."""
        return not (self.sees_mask or self.standardise)

    @property
    def scale(self) -> NDArray[np.float64]:
        """What a number less its mean is divided by, (`size`,)."""
        scale: NDArray[np.float64] = np.where(self.moving, np.maximum(self.deviation, LEAST_DEVIATION), 1.0)
        return scale

    def __call__(self, observations: NDArray[np.float32], masks: NDArray[np.generic]) -> Tensor:
        """A fresh tensor. `masks` is whatever is 0 where an action is illegal."""
        result = np.zeros((len(observations), self.size), np.float32)
        result[:, : self.observation_size] = observations
        if self.sees_mask:
            result[:, self.observation_size :] = masks != 0
        if self.standardise:
            result -= self.mean.astype(np.float32)
            result *= (1.0 / self.scale).astype(np.float32)
        return torch.from_numpy(result)

    def fold(
        self, weight: NDArray[np.float32], bias: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Weights (O, `size`) and biases (O,) of a first layer that gets from numbers as they are to the same sums."""
        if not self.standardise:
            return weight, bias
        scaled = weight / self.scale
        return scaled.astype(np.float32), (bias - scaled @ self.mean).astype(np.float32)

    def count_in(self, inputs: Tensor, kept: Tensor | None = None) -> None:
        """Take rows that came of this object into account: mean and deviation are of these too from now on.

        `kept`: other rows that came of it, changed in place to what it would make of the same numbers now.
        """
        if not self.standardise or not len(inputs):
            return
        rows = inputs.numpy()
        # Rows are as they were made, so their moments are those of the raw numbers after the way back.
        scale, middle = self.scale, self.mean.copy()
        mean = rows.mean(axis=0, dtype=np.float64) * scale + middle
        square = rows.var(axis=0, dtype=np.float64) * scale**2
        share = len(rows) / (self.count + len(rows))
        gap = mean - self.mean
        spread = (1 - share) * self.deviation**2 + share * square + share * (1 - share) * gap**2
        self.mean[self.moving] += (share * gap)[self.moving]
        self.deviation[self.moving] = np.sqrt(spread)[self.moving]
        self.count += len(rows)
        if kept is not None:
            kept *= torch.from_numpy((scale / self.scale).astype(np.float32))
            kept += torch.from_numpy(((middle - self.mean) / self.scale).astype(np.float32))
