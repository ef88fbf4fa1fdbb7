"""Advantages along each seat's own decisions: against a slow reference, and by hand where others have gone wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from coyote_env import coyote_v0
from tests.toy_games import Knockout, Nim
from training.advantages import Carried, SeatAdvantages, seat_advantages


@dataclass
class Recording:
    """A rollout as training records it, with made-up values."""

    rewards: NDArray[np.float64]  # (S, T, N)
    seats: NDArray[np.int64]  # (S, T)
    learner: NDArray[np.bool_]  # (S, T)
    values: NDArray[np.float64]  # (S, T)
    done: NDArray[np.bool_]  # (S, T)
    out: NDArray[np.bool_]  # (T, N), after the last step
    outs: NDArray[np.bool_]  # (S, T, N), after each step

    def part(self, start: int, stop: int, before: Carried, gamma: float, gae_lambda: float) -> SeatAdvantages:
        """A rollout of the steps from `start` to before `stop`."""
        steps = slice(start, stop)
        return seat_advantages(
            self.rewards[steps], self.seats[steps], self.learner[steps], self.values[steps], self.done[steps],
            self.outs[stop - 1], before, gamma, gae_lambda,
        )  # fmt: skip

    def whole(self, gamma: float = 1.0, gae_lambda: float = 1.0) -> SeatAdvantages:
        return self.part(0, len(self.rewards), Carried.none(*self.out.shape), gamma, gae_lambda)

    def advantages(self, gamma: float = 1.0, gae_lambda: float = 1.0) -> NDArray[np.float64]:
        return self.whole(gamma, gae_lambda).decided


def record(batch: Any, steps: int, opponents: float, seed: int) -> Recording:
    """Random play for `steps` moves; each seat is an opponent's with probability `opponents`."""
    rng = np.random.default_rng(seed)
    batch.reset(seed)
    tables, seats_at_table = batch.num_tables, batch.game.num_seats
    is_learner = rng.random((tables, seats_at_table)) >= opponents
    rewards, seats, done, outs = [], [], [], []
    for _ in range(steps):
        weights = np.where(batch.action_mask != 0, rng.random(batch.action_mask.shape), -1.0)
        seats.append(batch.seat.copy())
        batch.step(weights.argmax(axis=1))
        rewards.append(batch.rewards.copy())
        done.append(batch.done.copy())
        outs.append(batch.out.copy())
    acting = np.array(seats)
    return Recording(
        np.array(rewards),
        acting,
        is_learner[np.arange(tables), acting],
        rng.normal(size=acting.shape),
        np.array(done),
        batch.out.copy(),
        np.array(outs),
    )


def slow_advantages(
    r: Recording, gamma: float, gae_lambda: float, length: int = 10**9
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """One game after another, one seat after another, each sum written out: advantages, and which are open.

    Rollouts are of `length` steps. A sum reaches as far as the rollout in which its first term is known.
    """
    num_steps, num_tables, num_seats = r.rewards.shape
    result, is_open = np.zeros((num_steps, num_tables)), np.zeros((num_steps, num_tables), np.bool_)
    for table in range(num_tables):
        ends = [int(t) for t in np.flatnonzero(r.done[:, table])]
        games = [(start, end + 1, True) for start, end in zip([0, *(e + 1 for e in ends)], ends, strict=False)]
        if not ends or ends[-1] + 1 < num_steps:
            games.append((ends[-1] + 1 if ends else 0, num_steps, False))
        for start, stop, finished in games:
            for seat in range(num_seats):
                decisions = [t for t in range(start, stop) if r.seats[t, table] == seat and r.learner[t, table]]
                if decisions and not finished and not r.out[table, seat]:
                    is_open[decisions[-1], table] = True
                deltas, rollouts = [], []  # of each decision, and in which rollout it is known
                for k, t in enumerate(decisions):
                    if is_open[t, table]:
                        break
                    until = decisions[k + 1] if k + 1 < len(decisions) else stop
                    reward = sum(float(r.rewards[u, table, seat]) for u in range(t, until))
                    after, told = 0.0, until
                    if k + 1 < len(decisions):
                        after = float(r.values[until, table])
                    else:
                        told = next(u for u in range(t, stop) if r.outs[u, table, seat] or r.done[u, table])
                    deltas.append(reward + gamma * after - float(r.values[t, table]))
                    rollouts.append(told // length)
                for k, t in enumerate(decisions[: len(deltas)]):
                    together = [j for j in range(k, len(deltas)) if rollouts[j] == rollouts[k]]
                    result[t, table] = sum((gamma * gae_lambda) ** (j - k) * deltas[j] for j in together)
    return result, is_open


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
        assert recording.out.any()  # and it stopped while some seats were out
    found = recording.whole(gamma, gae_lambda)
    expected, is_open = slow_advantages(recording, gamma, gae_lambda)
    assert np.abs(expected).max() > 0.1
    assert is_open.any()
    np.testing.assert_allclose(found.decided, expected, atol=1e-9)
    np.testing.assert_array_equal(found.open, is_open)
    assert not found.carried.any()
    assert not found.carried_open.any()


@pytest.mark.parametrize("length", [1, 3, 7, 30])
@pytest.mark.parametrize("make", [knockout, nim, coyote_rounds])
@pytest.mark.parametrize("gae_lambda", [0.0, 0.9])
def test_what_is_carried_over_is_told_what_comes_of_it(make, length, gae_lambda):
    """In rollouts of any length each decision gets one advantage, the one that is written out."""
    recording, gamma = record(make(12), steps=60, opponents=0.3, seed=5), 0.9
    expected, is_open = slow_advantages(recording, gamma, gae_lambda, length)
    found, times = np.zeros_like(expected), np.zeros(expected.shape, np.int64)
    num_tables, num_seats = recording.out.shape
    before, made = Carried.none(num_tables, num_seats), np.full((num_tables, num_seats), -1)
    carried = 0
    for start in range(0, 60, length):
        stop = min(start + length, 60)
        part = recording.part(start, stop, before, gamma, gae_lambda)
        for table, seat in zip(*np.nonzero(before.there & ~part.carried_open), strict=True):
            found[made[table, seat], table] = part.carried[table, seat]
            times[made[table, seat], table] += 1
            carried += 1
        decided = recording.learner[start:stop] & ~part.open
        found[start:stop][decided] = part.decided[decided]
        times[start:stop] += decided
        made[~part.carried_open] = -1
        for step, table in zip(*np.nonzero(part.open), strict=True):
            made[table, recording.seats[start + step, table]] = start + step
        there = made >= 0
        assert (there >= part.carried_open).all()
        values = np.where(there, recording.values[made, np.arange(num_tables)[:, None]], 0.0)
        before = Carried(there, values, np.where(there, part.paid, 0.0))
    assert carried > 5
    np.testing.assert_array_equal(times, recording.learner & ~is_open)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def by_hand(
    seats: list[int],
    paid: dict[int, list[float]],
    done: set[int] = frozenset(),  # type: ignore[assignment]  # never written to
    num_seats: int = 2,
    learner: set[int] | None = None,
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
        np.isin(np.arange(num_seats), list(out))[None],
        np.broadcast_to(np.isin(np.arange(num_seats), list(out)), (steps, 1, num_seats)),
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


def test_a_game_in_progress_at_the_start_pays_the_decision_that_was_carried_over():
    # Seat 0's decision, of value 0.25, lies in the rollout before; it has been paid 1 since, and is paid 5 at step 0.
    r = by_hand([1, 0], {0: [5.0, 0.0], 1: [2.0, 0.0]}, done={1})
    assert r.advantages()[:, 0].tolist() == [0.0, 2.0]
    before = Carried(np.array([[True, False]]), np.array([[0.25, 0.0]]), np.array([[1.0, 0.0]]))
    found = r.part(0, 2, before, gamma=1.0, gae_lambda=0.0)
    assert found.carried.tolist() == [[1.0 + 5.0 - 0.25, 0.0]]
    assert found.decided[:, 0].tolist() == [0.0, 2.0]
    assert not found.carried_open.any()


def test_elimination_ends_the_chain():
    # Seat 0 is knocked out by seat 1's move and the rollout ends before the game does.
    r = by_hand([0, 1], {1: [-1.0, 0.0, 0.0]}, num_seats=3, out={0})
    assert r.advantages()[:, 0].tolist() == [-1.0, 0.0]
    assert r.whole().open[:, 0].tolist() == [False, True]


def test_what_comes_of_the_last_decision_is_not_known_yet():
    r = by_hand([0, 1, 0], {0: [2.0, 0.0], 2: [3.0, 4.0]})
    r.values[:, 0] = [0.5, 7.0, -0.25]
    found = r.whole(gamma=1.0, gae_lambda=1.0)
    assert found.decided[:, 0].tolist() == [2.0 - 0.25 - 0.5, 0.0, 0.0]
    assert found.open[:, 0].tolist() == [False, True, True]
    assert found.paid.tolist() == [[3.0, 4.0]]
    # And if seat 1 is not asked in the next rollout either, it goes on waiting.
    before = Carried(np.array([[True, True]]), np.array([[-0.25, 7.0]]), found.paid)
    later = by_hand([0], {0: [10.0, 20.0]}).part(0, 1, before, gamma=1.0, gae_lambda=1.0)
    assert later.carried.tolist() == [[3.0 + 0.0 - -0.25, 0.0]]
    assert later.carried_open.tolist() == [[False, True]]
    assert later.paid.tolist() == [[10.0, 24.0]]


def test_no_value_crosses_the_end_of_a_game():
    r = by_hand([0, 0, 0], {}, done={1})
    r.values[:, 0] = [0.0, 0.0, 99.0]
    assert r.advantages()[:, 0].tolist() == [0.0, 0.0, 0.0]


def test_moves_of_opponents_neither_learn_nor_interrupt_a_chain():
    # Seat 1 is an opponent's; seat 0's chain runs over its move.
    r = by_hand([0, 1, 0], {1: [3.0, -3.0], 2: [1.0, -1.0]}, done={2}, learner={0})
    assert r.advantages()[:, 0].tolist() == [4.0, 0.0, 1.0]


def test_discounting_counts_own_decisions_not_moves():
    r = by_hand([0, 1, 1, 1, 0], {4: [1.0, -1.0]}, done={4})
    assert r.advantages(gamma=0.5, gae_lambda=1.0)[[0, 4], 0].tolist() == [0.5, 1.0]
