"""What the scripted players of all games share: the check of what they are given, and the one that needs no more."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.game import Game
from .policy import drawn


def checked(game: Game, name: str, observation: Any, action_mask: Any) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """Observations float32 (B, L) and masks int8 (B, A) of ``game``, contiguous: kernels index with what these say.

    Raises ValueError for another shape, for numbers outside the layout's bounds, for a row without a legal action.
    """
    seen = np.ascontiguousarray(observation, np.float32)
    legal = np.ascontiguousarray(np.asarray(action_mask) != 0, np.int8)
    if seen.ndim != 2 or seen.shape[1] != game.layout.size:
        raise ValueError(f"{name}: observation of shape {seen.shape}; needed: (rows, {game.layout.size})")
    if legal.shape != (len(seen), game.num_actions):
        raise ValueError(f"{name}: action_mask of shape {legal.shape}; needed: ({len(seen)}, {game.num_actions})")
    inside = (seen >= game.layout.low) & (seen <= game.layout.high)  # NaN is not
    if not inside.all():
        row, place = (int(x) for x in np.argwhere(~inside)[0])
        raise ValueError(f"{name}: observation[{row}, {place}] is {seen[row, place]}, outside the layout's bounds")
    if not legal.any(axis=1).all():
        raise ValueError(f"{name}: row {int(np.argmin(legal.any(axis=1)))} of action_mask has no legal action")
    return seen, legal


def possible(name: str, rows: Any, what: str) -> None:
    """Raises ValueError for the first observation, of bool (B,), of which ``what`` is not true. Being in the layout's
    bounds is not enough for kernels that walk from seat to seat or through a hand."""
    if not rows.all():
        raise ValueError(f"{name}: observation[{int(np.argmin(rows))}] is of no table of this game: {what}")


def answered(name: str, actions: NDArray[np.int64], action_mask: NDArray[np.int8]) -> NDArray[np.int64]:
    """The actions, (B,). Raises ValueError where one is illegal: then the mask is not of what was seen."""
    inside = (actions >= 0) & (actions < action_mask.shape[1])
    legal = inside & (action_mask[np.arange(len(actions)), np.where(inside, actions, 0)] != 0)
    possible(name, legal, "its action_mask is of another one")
    return actions


class Random:
    """Uniform over the legal actions."""

    name = "random"

    def __init__(self, game: Game) -> None:
        self.game = game

    def act(
        self, observation: NDArray[np.float32], action_mask: NDArray[np.int8], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """One legal action a row, int64 (B,)."""
        _, mask = checked(self.game, self.name, observation, action_mask)
        legal = np.cumsum(mask, axis=1, dtype=np.int64)
        pick = (drawn(rng, len(legal), self.name) * legal[:, -1]).astype(np.int64)
        actions: NDArray[np.int64] = np.argmax(legal > pick[:, None], axis=1)
        return actions

    def probabilities(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.float64]:
        """What ``act`` draws from, float64 (B, A)."""
        _, mask = checked(self.game, self.name, observation, action_mask)
        chances: NDArray[np.float64] = mask / mask.sum(axis=1, keepdims=True)
        return chances
