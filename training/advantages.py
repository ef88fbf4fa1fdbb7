"""Advantages along each seat's own decisions (GAE), at tables where the acting seat changes from move to move.

A *lane* is a table; at each of its steps one seat acts. What belongs together is not the lane's sequence but every
seat's own: the decisions of seat s at steps t1 < t2 < ... form a chain, and

- the reward of the decision at t1 is everything s was paid from step t1 on and before step t2: by its own move, by
  the moves of the others in between, by the end of the game;
- its successor value is the value of the decision at t2, seen by s itself;
- the end of a game ends every chain; rewards never cross it;
- a seat that is eliminated gets its last reward in the step that eliminates it and has no successor;
- a decision whose successor lies beyond the end of the rollout is *open*: it has no advantage yet, and is carried over
  into the next rollout. The decisions before it end at its value.

So no value is ever asked for what a seat sees while it waits. It used to be, to continue the chains at a rollout's end,
and a network that has learnt from decisions alone says of every such position nearly the same: of what an announcement
was worth a third was lost wherever a rollout ended before it was answered (training/README.md).

Discounting counts own decisions: ``gamma`` once per decision, rewards between two decisions are added undiscounted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass
class Carried:
    """Decisions that were open at the end of a rollout: of each seat of each table the last one, if any.

    there: bool[T, N], whether there is one.
    values: float64[T, N], its value when it was made; 0 where there is none.
    paid: float64[T, N], what its seat has been paid since; 0 where there is none.
    """

    there: NDArray[np.bool_]
    values: NDArray[np.float64]
    paid: NDArray[np.float64]

    @classmethod
    def none(cls, num_tables: int, num_seats: int) -> Carried:
        """As before the first rollout."""
        shape = (num_tables, num_seats)
        return cls(np.zeros(shape, np.bool_), np.zeros(shape), np.zeros(shape))


@dataclass
class SeatAdvantages:
    """What is known at the end of a rollout.

    decided: float64[S, T], the advantage of every decision of the learner that is no longer open; 0 elsewhere. Value
        targets are these plus `values`.
    carried: float64[T, N], of those carried over into this rollout that are no longer open; 0 elsewhere.
    open: bool[S, T], decisions of this rollout that are open.
    paid: float64[T, N], what seats with an open decision have been paid since; of a carried one all of it.
    carried_open: bool[T, N], carried decisions that are still open.
    """

    decided: NDArray[np.float64]
    carried: NDArray[np.float64]
    open: NDArray[np.bool_]
    paid: NDArray[np.float64]
    carried_open: NDArray[np.bool_]


def seat_advantages(
    rewards: NDArray[np.floating],
    seats: NDArray[np.integer],
    learner: NDArray[np.bool_],
    values: NDArray[np.floating],
    done: NDArray[np.bool_],
    out: NDArray[np.bool_],
    before: Carried,
    gamma: float,
    gae_lambda: float,
) -> SeatAdvantages:
    """The advantage of every decision of the learner in one rollout of S steps at T tables of N seats.

    Args:
        rewards: float[S, T, N]; what step t paid to each absolute seat.
        seats: int[S, T]; the seat that acted.
        learner: bool[S, T]; the acting seat was played by the learning policy. Other decisions are skipped, they
            neither get an advantage nor interrupt anything.
        values: float[S, T]; the acting seat's value when it decided (read only where `learner`).
        done: bool[S, T]; step t ended a game (the next step belongs to a new one).
        out: bool[T, N]; seats eliminated in the game that runs after the last step.
        before: what the rollout before left open.
        gamma, gae_lambda: in [0, 1].
    """
    num_steps, num_tables, _ = rewards.shape
    # Per (table, seat), seen from the step being walked over: whether it is known what comes next, what the seat is
    # still to be paid before that, and the value and the advantage of the decision that comes next.
    known = out.copy()
    pending = np.zeros(rewards.shape[1:], np.float64)
    next_value, next_advantage = np.zeros_like(pending), np.zeros_like(pending)
    paid = np.zeros_like(pending)
    advantages = np.zeros((num_steps, num_tables), np.float64)
    unknown = np.zeros((num_steps, num_tables), np.bool_)
    tables = np.arange(num_tables)
    for t in range(num_steps - 1, -1, -1):
        ended = done[t]
        if ended.any():
            known[ended] = True
            pending[ended] = 0.0
            next_value[ended] = 0.0
            next_advantage[ended] = 0.0
        pending += rewards[t]
        table = tables[learner[t]]
        seat = seats[t, table]
        value = values[t, table]
        sure = known[table, seat]
        delta = pending[table, seat] + gamma * next_value[table, seat] - value
        advantage = np.where(sure, delta + gamma * gae_lambda * next_advantage[table, seat], 0.0)
        advantages[t, table] = advantage
        unknown[t, table] = ~sure
        paid[table[~sure], seat[~sure]] = pending[table[~sure], seat[~sure]]
        known[table, seat] = True
        pending[table, seat] = 0.0
        next_value[table, seat] = value
        next_advantage[table, seat] = advantage
    still = before.there & ~known
    paid[still] = before.paid[still] + pending[still]
    delta = before.paid + pending + gamma * next_value - before.values
    carried = np.where(before.there & known, delta + gamma * gae_lambda * next_advantage, 0.0)
    return SeatAdvantages(advantages, carried, unknown, paid, still)
