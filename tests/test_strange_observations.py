"""Scripted players and observations of no table: kernels walk from seat to seat and index by what they are told."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray

from coyote_env.core.batch import Batch
from coyote_env.core.game import Game
from coyote_env.policies import load_policy, make_game, scripted_names


def strange_observations(game: Game, count: int, seed: int) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """Observations and masks within the layout's bounds, mostly of no table: noise, corners, and true ones with a few
    numbers changed; their masks true, full or at random."""
    rng = np.random.default_rng(seed)
    low, high = game.layout.low, game.layout.high
    batch = Batch(game, count)
    batch.reset(seed)
    for _ in range(int(rng.integers(30))):
        batch.step((rng.random(batch.action_mask.shape) * batch.action_mask).argmax(axis=1))
    seen = batch.observation.copy()
    noise = rng.uniform(low, high, (count, len(low))).astype(np.float32)
    corners = np.where(rng.random(noise.shape) < 0.5, low, high)
    kind = rng.integers(4, size=(count, 1))
    few = rng.random(noise.shape) < rng.choice([0.002, 0.03, 0.2], size=(count, 1))
    seen = np.where(kind == 0, noise, np.where(kind == 1, corners, np.where((kind == 2) & few, corners, seen)))
    masks = batch.action_mask.copy()
    other = rng.integers(3, size=(count, 1))
    masks = np.where(other == 0, masks, np.where(other == 1, 1, rng.random(masks.shape) < 0.1)).astype(np.int8)
    masks[np.arange(count), rng.integers(game.num_actions, size=count)] = 1
    return seen.astype(np.float32), masks


@pytest.mark.engine
@pytest.mark.parametrize(
    ("name", "kwargs"),
    [
        ("coyote_v0", {"num_players": 4}),
        ("coyote_v0", {"num_players": 3, "edition": "trickster"}),
        ("coyote_v0", {"edition": "mini"}),
        ("coyote_v0", {"num_players": 3, "odds": True, "reward": "round", "lives": 2}),
        ("scout_v0", {"num_players": 2}),
        ("scout_v0", {"num_players": 4, "exemption": "rulebook", "fits": True}),
    ],
)
def test_an_observation_of_no_table_is_refused_or_gets_a_legal_answer(name, kwargs):
    """Never an endless loop, and (with NUMBA_BOUNDSCHECK, which `make test` sets once) no read outside an array."""
    game = make_game(name, kwargs)
    outcomes: Counter[str] = Counter()
    for player in scripted_names(name):
        policy = load_policy(player, game)
        observations, masks = strange_observations(game, 40, seed=len(player))
        for row in range(len(observations)):
            message = ""
            try:
                action = policy.act(observations[[row]], masks[[row]], np.random.default_rng(0))[0]
            except ValueError as error:
                message = str(error)
            assert re.search("is of no table of this game: ", message) if message else masks[row, action] == 1
            outcomes["refused" if message else "answered"] += 1
    assert min(outcomes.values()) > 10
    assert len(outcomes) == 2
