"""Control variates change no expectation, and take luck away where the critic is right."""

from __future__ import annotations

import numpy as np
import pytest

from coyote_env import coyote_v0
from coyote_env.arena import play_match
from coyote_env.arena.aivat import fit_critic
from coyote_env.policies import load_policy
from tests import toy_duel
from tests.toy_duel import LONG, SHORT, Chooser


def adjusted(result):
    """Its mean return by control variates, which were asked for."""
    assert result.adjusted is not None
    return result.adjusted


class Coin(Chooser):
    """A chooser that says with what probabilities it chooses."""

    def probabilities(self, observation, action_mask):
        table = np.zeros(action_mask.shape)
        first = observation[:, 0] == 1
        table[first, SHORT], table[first, LONG] = self.short, 1 - self.short
        table[~first, toy_duel.WAIT] = 1
        return table


def knows(views, entries):
    """What a game of two coins of 1/2 is worth, and what it is worth once the choice is made."""
    starts, short = views[:, 1] == 1, views[:, 3] < 0.0015  # the last section: moves left / 1000
    return np.where(views[:, 0] == 1, 0.0, np.where(starts == short, 1.0, -1.0))


def nonsense(views, entries):
    """A critic that is wrong everywhere."""
    return 3.0 + 5.0 * np.sin(40 * views.sum(axis=1)) - entries[:, 0]


def test_a_perfect_critic_takes_the_choice_away():
    """Each game is decided by a coin of the starter: all its spread is that choice, and nothing is left of it."""
    players = [Coin("a", 0.5), Coin("b", 0.5)]
    result = play_match(toy_duel.game(long=3), players, 400, 1, critic=knows, duplicates=False)
    for p in result.policies:
        assert p.return_error > 0.03
        assert adjusted(p).error < 1e-9
        assert adjusted(p).mean == pytest.approx(0, abs=1e-9)


def test_chance_is_taken_away_but_for_its_samples():
    """Two that always choose `short`: who starts wins. The mean over eight deals leaves an eighth of that spread."""
    players = [Chooser("a", 1.0), Chooser("b", 1.0)]

    def starts(views, entries):
        return np.where(views[:, 1] == 1, 1.0, -1.0)

    result = play_match(toy_duel.game(long=3), players, 3_000, 1, critic=starts, duplicates=False)
    assert 6 < adjusted(result.policies[0]).gain < 10.5


@pytest.mark.parametrize("critic", [knows, nonsense])
def test_no_critic_biases_the_mean(critic):
    """Against the exact mean: `coin` starts half of the games and wins half of those, and all others: 3/4."""
    players = [Coin("coin", 0.5), Chooser("longy", 0.0)]
    found = play_match(toy_duel.game(long=2), players, 6_000, 3, critic=critic, duplicates=False).policies[0]
    assert abs(adjusted(found).mean - 0.5) < 4 * adjusted(found).error


@pytest.mark.parametrize("kwargs", [{"edition": "mini"}, {"num_players": 3, "lives": 2, "reward": "round"}], ids=str)
def test_corrections_add_nothing_on_average_to_real_games(kwargs):
    game = coyote_v0.game(**kwargs)
    players = [load_policy(name, game) for name in ["plus-one", "random", "random"][: game.num_seats]]
    for critic in (nonsense, fit_critic(game, players, 1, 200)):
        result = play_match(game, players, 900, 2, critic=critic, duplicates=False)
        for p in result.policies:
            # The mean correction is the difference of two means of the same games.
            spread = (adjusted(p).error ** 2 + p.return_error**2) ** 0.5
            assert abs(adjusted(p).mean - p.mean_return) < 4 * spread


def test_the_same_with_any_number_of_tables_and_threads():
    game = coyote_v0.game(edition="mini")
    players = [load_policy(name, game) for name in ("plus-one", "random")]
    found = [
        adjusted(play_match(game, players, 60, 2, critic=nonsense, num_tables=tables, threads=threads).policies[0]).mean
        for tables, threads in ((None, 1), (7, 1), (None, 3))
    ]
    assert found[1:] == pytest.approx([found[0]] * 2, abs=1e-12)
