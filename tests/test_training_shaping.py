"""`ppo.shaping`: what a step adds to a seat's potential is paid at once, and in the sum nothing changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from coyote_env import coyote_v0, scout_v0
from coyote_env.core.batch import Batch
from tests.test_training_ppo import collect, learner
from training.config import ConfigError, parse_config


def rollout(shaping: bool, game: Any) -> Any:
    """A rollout's rewards, float64 (S, T, N), and where games ended."""
    model = learner(Batch(game, 6), shaping=shaping, n_steps=700)
    collect(model)
    buffer = model.rollout_buffer
    return buffer.step_rewards.copy(), buffer.step_done.copy()


def test_over_whole_games_nothing_changes_and_within_them_much_does():
    game = scout_v0.game(num_players=3, reward="round", exemption="rulebook")
    plain, ended = rollout(False, game)
    shaped, also_ended = rollout(True, game)
    np.testing.assert_array_equal(ended, also_ended)  # the same play: actions do not depend on what is being learnt
    games = 0
    for table in range(6):
        stops = np.flatnonzero(ended[:, table]) + 1
        for start, stop in zip([0, *stops[:-1]], stops, strict=True):
            np.testing.assert_allclose(
                plain[start:stop, table].sum(axis=0), shaped[start:stop, table].sum(axis=0), atol=1e-9
            )
            games += 1
    assert games > 6
    assert (plain != 0).any(axis=2).mean() < 0.1
    assert (shaped != 0).any(axis=2).mean() > 0.5
    np.testing.assert_allclose(shaped.sum(axis=2), 0.0, atol=1e-9)


def test_a_step_is_paid_what_it_changes():
    game = scout_v0.game(num_players=3, reward="round")
    env = scout_v0.env(num_players=3, reward="round")
    env.reset(seed=1, options={"first": 0})

    def after(name: str) -> list[float]:
        env.step(env.action_id(name))
        return [round(10 * value, 6) for value in game.potential(game, env._states)[0]]

    assert after("keep") == after("keep") == after("keep") == [0.0, 0.0, 0.0]
    assert after("show_0_1") == [pytest.approx(2 / 3), pytest.approx(-1 / 3), pytest.approx(-1 / 3)]  # a card less
    # Seat 1 has a card more from the moment it takes it, seat 0 a token.
    expected = [pytest.approx(5 / 3, abs=1e-5), pytest.approx(-4 / 3, abs=1e-5), pytest.approx(-1 / 3, abs=1e-5)]
    assert after("scout_left_as_is") == expected
    assert after("insert_0") == expected


def test_where_a_game_has_nothing_to_say_nothing_changes():
    for game in (coyote_v0.game(num_players=3), scout_v0.game(num_players=3, rounds=1)):
        plain, _ = rollout(False, game)
        shaped, _ = rollout(True, game)
        np.testing.assert_array_equal(plain, shaped)


def test_a_discount_would_change_what_is_best():
    with pytest.raises(ConfigError, match=r"ppo.gamma = 0.9 is not allowed with ppo.shaping = true; allowed: 1"):
        parse_config({"ppo": {"shaping": True, "gamma": 0.9}})
