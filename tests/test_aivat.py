"""Control variates change no expectation, and take luck away where the critic is right."""

from __future__ import annotations

import numpy as np
import pytest

from coyote_env import coyote_v0
from coyote_env.arena import play_match
from coyote_env.arena.aivat import MIN_DEALS, PARTS, fit_critic, some_of, weighed
from coyote_env.policies import PolicyError, load_policy
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


def test_a_critic_that_knows_nothing_does_no_harm():
    """Its corrections are large noise: added as they are they would drown the result; their factors come out at 0."""
    game = coyote_v0.game(num_players=3, lives=2)
    players = [load_policy(name, game) for name in ("bayes", "plus-one", "random")]
    result = play_match(game, players, 600, 2, critic=nonsense, duplicates=False)
    assert all(adjusted(p).gain > 0.9 for p in result.policies)


def test_a_fitted_critic_helps_in_coyote():
    game = coyote_v0.game(num_players=2)
    players = [load_policy(name, game) for name in ("bayes", "plus-one")]
    result = play_match(game, players, 600, 1, critic=fit_critic(game, players, 1, 300), duplicates=False)
    assert all(adjusted(p).gain > 1.05 for p in result.policies)


def test_factors_come_from_other_deals_only():
    """What is added to a game does not depend on how that game ended: else the mean would move."""
    rng = np.random.default_rng(0)
    deals = np.repeat(np.arange(80), 2)
    parts, paid = rng.normal(size=(len(PARTS), 160)), rng.normal(size=160)
    before = weighed(parts, paid, deals)
    for deal in (0, 17, 79):
        changed = np.where(deals == deal, 100.0, paid)
        after = weighed(parts, changed, deals)
        assert (after[deals == deal] == before[deals == deal]).all()
        assert (after != before).any()
    few = slice(0, 2 * (MIN_DEALS - 1))
    assert not weighed(parts[:, few], paid[few], deals[few]).any()


def test_factors_leave_the_mean_where_it_is():
    """Many small matches with few deals, where fitting and using factors on the same deals would show."""
    rng = np.random.default_rng(1)
    found, plain = [], []
    for _ in range(3_000):
        parts = rng.normal(size=(len(PARTS), MIN_DEALS))
        # Skewed, and its spread tied to the corrections': the hard case.
        paid = parts[0] ** 2 - 1 - 0.8 * parts[1] + 0.3 * rng.normal(size=MIN_DEALS)
        found.append((paid + weighed(parts, paid, np.arange(MIN_DEALS))).mean())
        plain.append(paid.mean())
    assert abs(np.mean(found)) < 4 * np.std(found) / np.sqrt(3_000)
    assert np.std(found) < np.std(plain)


def test_what_stands_for_all_choices_has_their_mean():
    table = np.array([[0.5, 0.01, 0.479, 0.011], [0.0, 0.0, 1.0, 0.0]])
    worth = np.array([1.0, -20.0, 0.3, 50.0])
    draws = (np.arange(4_000) + 0.5) / 4_000
    means = []
    for draw in draws:
        rows, actions, weights = some_of(table, np.full(2, draw))
        assert (table[rows, actions] > 0).all()
        assert np.bincount(rows, weights) == pytest.approx([1, 1])
        means.append(np.bincount(rows, weights * worth[actions]))
    assert np.mean(means, axis=0) == pytest.approx(table @ worth, abs=1e-3)


@pytest.mark.parametrize("guess", [lambda v, e: np.full(len(v), np.nan), lambda v, e: np.zeros((len(v), 2))])
def test_a_critic_that_gives_no_numbers_is_refused(guess):
    with pytest.raises(ValueError, match="critic: must give one finite number a row"):
        play_match(toy_duel.game(long=3), [Coin("a", 0.5), Coin("b", 0.5)], 4, 1, critic=guess)


@pytest.mark.parametrize(
    "said",
    [
        lambda o, m: np.full(m.shape, 1 / m.shape[1]),  # illegal ones too
        lambda o, m: m / m.sum(axis=1, keepdims=True) * 0.9,
        lambda o, m: m * np.nan,
        lambda o, m: (m / m.sum(axis=1, keepdims=True))[:, :2],
        lambda o, m: "often",
    ],
)
def test_what_can_be_no_probabilities_is_refused(said):
    """It would not be the policy's own, so that what is added would not have the mean 0."""
    player = Coin("liar", 0.5)
    player.probabilities = said  # type: ignore[method-assign]
    with pytest.raises(PolicyError, match="policy 'liar': probabilities"):
        play_match(toy_duel.game(long=3), [player, Coin("b", 0.5)], 4, 1, critic=knows)
