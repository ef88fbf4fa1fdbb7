"""Advantages along each seat's own decisions: against a slow reference, and by hand where others have gone wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from coyote_env import coyote_v0
from tests.toy_games import Knockout, Nim
from training.advantages import seat_advantages


@dataclass
class Recording:
    """A rollout as training records it, with made-up values."""

    rewards: NDArray[np.float64]  # (S, T, N)
    seats: NDArray[np.int64]  # (S, T)
    learner: NDArray[np.bool_]  # (S, T)
    values: NDArray[np.float64]  # (S, T)
    done: NDArray[np.bool_]  # (S, T)
    last_values: NDArray[np.float64]  # (T, N)
    last_out: NDArray[np.bool_]  # (T, N)

    def both(self, gamma: float = 1.0, gae_lambda: float = 1.0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return seat_advantages(
            self.rewards, self.seats, self.learner, self.values, self.done, self.last_values, self.last_out,
            gamma, gae_lambda,
        )  # fmt: skip

    def advantages(self, gamma: float = 1.0, gae_lambda: float = 1.0) -> NDArray[np.float64]:
        return self.both(gamma, gae_lambda)[0]


def record(batch: Any, steps: int, opponents: float, seed: int) -> Recording:
    """Random play for `steps` moves; each seat is an opponent's with probability `opponents`."""
    rng = np.random.default_rng(seed)
    batch.reset(seed)
    tables, seats_at_table = batch.num_tables, batch.game.num_seats
    is_learner = rng.random((tables, seats_at_table)) >= opponents
    rewards, seats, done = [], [], []
    for _ in range(steps):
        weights = np.where(batch.action_mask != 0, rng.random(batch.action_mask.shape), -1.0)
        seats.append(batch.seat.copy())
        batch.step(weights.argmax(axis=1))
        rewards.append(batch.rewards.copy())
        done.append(batch.done.copy())
    acting = np.array(seats)
    return Recording(
        np.array(rewards),
        acting,
        is_learner[np.arange(tables), acting],
        rng.normal(size=acting.shape),
        np.array(done),
        rng.normal(size=(tables, seats_at_table)),
        batch.out.copy(),
    )


def slow_advantages(r: Recording, gamma: float, gae_lambda: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """One game after another, one seat after another, each sum written out."""
    num_steps, num_tables, num_seats = r.rewards.shape
    result = np.zeros((num_steps, num_tables))
    start_targets = np.zeros((num_tables, num_seats))
    for table in range(num_tables):
        ends = [int(t) for t in np.flatnonzero(r.done[:, table])]
        games = [(start, end + 1, True) for start, end in zip([0, *(e + 1 for e in ends)], ends, strict=False)]
        if not ends or ends[-1] + 1 < num_steps:
            games.append((ends[-1] + 1 if ends else 0, num_steps, False))
        for start, stop, finished in games:
            for seat in range(num_seats):
                decisions = [t for t in range(start, stop) if r.seats[t, table] == seat and r.learner[t, table]]
                deltas = []
                for k, t in enumerate(decisions):
                    until = decisions[k + 1] if k + 1 < len(decisions) else stop
                    reward = sum(float(r.rewards[u, table, seat]) for u in range(t, until))
                    if k + 1 < len(decisions):
                        after = float(r.values[decisions[k + 1], table])
                    elif finished or r.last_out[table, seat]:
                        after = 0.0
                    else:
                        after = float(r.last_values[table, seat])
                    deltas.append(reward + gamma * after - float(r.values[t, table]))
                for k, t in enumerate(decisions):
                    result[t, table] = sum((gamma * gae_lambda) ** (j - k) * deltas[j] for j in range(k, len(deltas)))
                if start == 0:
                    first = decisions[0] if decisions else stop
                    target = sum(float(r.rewards[u, table, seat]) for u in range(first))
                    if decisions:
                        target += result[first, table] + float(r.values[first, table])
                    elif not finished and not r.last_out[table, seat]:
                        target += float(r.last_values[table, seat])
                    start_targets[table, seat] = target
    return result, start_targets


def knockout(num_tables: int) -> Any:
    return Knockout(num_tables)


def nim(num_tables: int) -> Any:
    return Nim(num_tables)


def coyote(num_tables: int) -> Any:
    return coyote_v0.batch(num_tables, num_players=3, lives=1)


def coyote_rounds(num_tables: int) -> Any:
    return coyote_v0.batch(num_tables, num_players=5, lives=1, reward="round")


@pytest.mark.parametrize("make", [knockout, nim, coyote, coyote_rounds])
@pytest.mark.parametrize("opponents", [0.0, 0.4])
@pytest.mark.parametrize(("gamma", "gae_lambda"), [(1.0, 0.95), (0.9, 0.5), (1.0, 1.0), (1.0, 0.0)])
def test_equals_the_slow_reference_on_recorded_games(make, opponents, gamma, gae_lambda):
    recording = record(make(12), steps=70, opponents=opponents, seed=5)
    assert recording.done.sum() > 12  # games ended in the rollout
    if make is not nim:
        assert recording.last_out.any()  # and it stopped while some seats were out
    advantages, start_targets = recording.both(gamma, gae_lambda)
    expected, expected_targets = slow_advantages(recording, gamma, gae_lambda)
    assert np.abs(expected).max() > 0.1
    np.testing.assert_allclose(advantages, expected, atol=1e-9)
    assert np.abs(expected_targets).max() > 0.1
    np.testing.assert_allclose(start_targets, expected_targets, atol=1e-9)


def by_hand(
    seats: list[int],
    paid: dict[int, list[float]],
    done: set[int] = frozenset(),  # type: ignore[assignment]  # never written to
    num_seats: int = 2,
    learner: set[int] | None = None,
    last_values: list[float] | None = None,
    out: set[int] = frozenset(),  # type: ignore[assignment]  # never written to
) -> Recording:
    """One table: who acted, what was paid at which step, which steps ended a game, which seats the learner plays."""
    steps = len(seats)
    rewards = np.zeros((steps, 1, num_seats))
    for t, values in paid.items():
        rewards[t, 0] = values
    acting = np.array(seats)[:, None]
    mine = set(range(num_seats)) if learner is None else learner
    return Recording(
        rewards,
        acting,
        np.isin(acting, list(mine)),
        np.zeros((steps, 1)),
        np.isin(np.arange(steps), list(done))[:, None],
        np.zeros((1, num_seats)) if last_values is None else np.array([last_values]),
        np.isin(np.arange(num_seats), list(out))[None],
    )


def test_the_losers_reward_is_not_lost():
    # Seat 1 makes the last move and wins; seat 0 moved before and has to hear of it.
    r = by_hand([0, 1], {1: [-1.0, 1.0]}, done={1})
    assert r.advantages()[:, 0].tolist() == [-1.0, 1.0]


def test_rewards_of_intermediate_moves_add_up():
    # Between seat 0's decisions at steps 0 and 3 three moves are paid for; none may overwrite another.
    r = by_hand([0, 1, 2, 0], {0: [1, 0, 0], 1: [10, 0, 0], 2: [100, 0, 0], 3: [1000, 0, 0]}, done={3}, num_seats=3)
    assert r.advantages(gamma=1.0, gae_lambda=0.0)[[0, 3], 0].tolist() == [111.0, 1000.0]


def test_rewards_between_decisions_reach_the_seat_that_was_paid_and_no_other():
    r = by_hand([0, 1, 2, 0], {1: [0, 7, 0], 2: [0, 0, 5]}, done={3}, num_seats=3)
    assert r.advantages()[:, 0].tolist() == [0.0, 7.0, 5.0, 0.0]


def test_a_table_that_ends_before_the_learner_moved_teaches_nothing():
    # Two games: in the first only the opponent (seat 1) moves. Its result must not leak into the second.
    r = by_hand([1, 0, 1], {0: [-1, 1], 2: [1, -1]}, done={0, 2}, learner={0})
    assert r.advantages()[:, 0].tolist() == [0.0, 1.0, 0.0]


def test_a_game_in_progress_at_the_start_pays_nobody_who_has_not_decided_in_this_rollout():
    # Seat 0's decision lies in the rollout before; what it is paid at step 0 was accounted for by that bootstrap.
    r = by_hand([1, 0], {0: [5.0, 0.0], 1: [2.0, 0.0]}, done={1})
    assert r.advantages()[:, 0].tolist() == [0.0, 2.0]


def test_elimination_ends_the_chain():
    # Seat 0 is knocked out by seat 1's move and the rollout ends before the game does.
    r = by_hand([0, 1], {1: [-1.0, 0.0, 0.0]}, num_seats=3, last_values=[50.0, 0.25, 60.0], out={0})
    assert r.advantages()[:, 0].tolist() == [-1.0, 0.25]


def test_an_open_chain_goes_on_with_the_value_of_its_own_seat():
    r = by_hand([0, 1, 0], {}, last_values=[0.5, -0.25])
    assert r.advantages(gamma=1.0, gae_lambda=0.0)[:, 0].tolist() == [0.0, -0.25, 0.5]
    assert r.advantages(gamma=1.0, gae_lambda=1.0)[:, 0].tolist() == [0.5, -0.25, 0.5]


def test_no_value_crosses_the_end_of_a_game():
    r = by_hand([0, 0], {}, done={1}, last_values=[99.0, 99.0])
    assert r.advantages()[:, 0].tolist() == [0.0, 0.0]


def test_moves_of_opponents_neither_learn_nor_interrupt_a_chain():
    # Seat 1 is an opponent's; seat 0's chain runs over its move.
    r = by_hand([0, 1, 0], {1: [3.0, -3.0], 2: [1.0, -1.0]}, done={2}, learner={0})
    assert r.advantages()[:, 0].tolist() == [4.0, 0.0, 1.0]


def test_discounting_counts_own_decisions_not_moves():
    r = by_hand([0, 1, 1, 1, 0], {4: [1.0, -1.0]}, done={4})
    assert r.advantages(gamma=0.5, gae_lambda=1.0)[[0, 4], 0].tolist() == [0.5, 1.0]
