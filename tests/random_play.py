"""Random play at many tables and a measure of chance: what the tests of batches and of information share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coyote_env import coyote_v0, scout_v0
from tests.aec import CONFIGURATIONS

# Small decks on purpose: piles that run out within a round, cards that counting tells, `?` that draw `?`.
SMALL_DECKS: dict[str, dict[str, Any]] = {
    "nine-cards": {"num_players": 4, "deck": {str(v): 1 for v in range(1, 10)}, "lives": 2},
    "odds-and-refills": {
        "num_players": 3,
        "deck": {"?": 2, "x2": 1, "night": 1, "max0": 1, "7": 2, "-4": 1},
        "odds": True,
    },
    # The pile runs out with a card in the middle: counting tells two cards together.
    "told-together": {
        "edition": "trickster", "num_players": 3, "deck": {str(v): 1 for v in range(1, 7)}, "lives": 3,
        "variants": ["extra_feather"], "reshuffle": "when_needed",
    },
}  # fmt: skip
RUNS: dict[str, dict[str, Any]] = {**CONFIGURATIONS, **SMALL_DECKS}

# Arguments of scout_v0.env that between them reach every branch of the constructor.
SCOUT_RUNS: dict[str, dict[str, Any]] = {
    "scout": {},
    "scout-two": {"num_players": 2, "reward": "placement"},
    "scout-three": {"num_players": 3, "exemption": "rulebook", "reward": "round"},
    "scout-five": {"num_players": 5, "rounds": 2, "stall_limit": 9},
    "scout-two-short": {"num_players": 2, "stall_limit": 4, "reward": "round", "exemption": "rulebook"},
    "scout-fits": {"num_players": 3, "rounds": 1, "fits": True},
}
# Of both games: (face, arguments).
ALL_RUNS: dict[str, tuple[Any, dict[str, Any]]] = {
    **{name: (coyote_v0, kwargs) for name, kwargs in RUNS.items()},
    **{name: (scout_v0, kwargs) for name, kwargs in SCOUT_RUNS.items()},
}


def choose(batch: Any, rng: np.random.Generator, raises: int = 10) -> NDArray[np.int64]:
    """A random legal action a table, int64 (T,). Of COYOTE's numbers only the ``raises`` least: rounds last."""
    first_bid = batch.game.action_id.get("bid_1", batch.game.num_actions)
    legal = batch.action_mask.astype(bool)
    legal[:, first_bid:] &= legal[:, first_bid:].cumsum(axis=1) <= raises
    chosen: NDArray[np.int64] = np.where(legal, rng.random(legal.shape), -1.0).argmax(axis=1)
    return chosen


def surprise(observed: Mapping[Any, int], expected: Mapping[Any, float]) -> float:
    """How many standard deviations Pearson's statistic lies above what chance gives (Wilson and Hilferty's cube root).

    ``observed`` counts, ``expected`` probabilities. Infinite where something happened that cannot. Rare outcomes are
    pooled, since the approximation needs about five expected ones each.
    """
    total = sum(observed.values())
    if any(count and not expected.get(outcome) for outcome, count in observed.items()):
        return math.inf
    bins: list[list[float]] = [[0.0, 0.0]]
    for outcome, probability in sorted(expected.items(), key=lambda item: item[1]):
        if bins[-1][1] >= 5:
            bins.append([0.0, 0.0])
        bins[-1][0] += observed.get(outcome, 0)
        bins[-1][1] += total * probability
    freedom = len(bins) - 1
    if freedom == 0:
        return 0.0
    statistic = sum((seen - due) ** 2 / due for seen, due in bins)
    spread = 2 / (9 * freedom)
    return float(((statistic / freedom) ** (1 / 3) - (1 - spread)) / math.sqrt(spread))
