"""Advantages along each seat's own decisions (GAE), at tables where the acting seat changes from move to move.

A *lane* is a table; at each of its steps one seat acts. What belongs together is not the lane's sequence but every
seat's own: the decisions of seat s at steps t1 < t2 < ... form a chain, and

- the reward of the decision at t1 is everything s was paid from step t1 on and before step t2: by its own move, by
  the moves of the others in between, by the end of the game;
- its successor value is the value of the decision at t2, seen by s itself;
- the end of a game ends every chain; rewards never cross it;
- a seat that is eliminated gets its last reward in the step that eliminates it and has no successor;
- at the end of the rollout a chain still open is continued by the value of what its own seat sees then.

Discounting counts own decisions: ``gamma`` once per decision, rewards between two decisions are added undiscounted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def seat_advantages(
    rewards: NDArray[np.floating],
    seats: NDArray[np.integer],
    learner: NDArray[np.bool_],
    values: NDArray[np.floating],
    done: NDArray[np.bool_],
    last_values: NDArray[np.floating],
    last_out: NDArray[np.bool_],
    gamma: float,
    gae_lambda: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The advantage of every decision of the learner in one rollout of S steps at T tables of N seats.

    Parameters
    ----------
    rewards: float[S, T, N]; what step t paid to each absolute seat.
    seats: int[S, T]; the seat that acted.
    learner: bool[S, T]; the acting seat was played by the learning policy. Other decisions are skipped, they neither
        get an advantage nor interrupt anything.
    values: float[S, T]; the acting seat's value when it decided (read only where `learner`).
    done: bool[S, T]; step t ended a game (the next step belongs to a new one).
    last_values: float[T, N]; each seat's value of what it sees itself after the last step.
    last_out: bool[T, N]; seats eliminated in the game that runs after the last step; their `last_values` are ignored.
    gamma, gae_lambda: in [0, 1].

    Returns
    -------
    advantages: float64[S, T]; zero where the learner did not decide. Value targets are these plus `values`.
    start_targets: float64[T, N]; the value target of what each seat saw before step 0: what it was paid until its first
        decision, and that decision's target (or its `last_values`, if it made none and its game went on).
    """
    num_steps, num_tables, _ = rewards.shape
    # Per (table, seat), seen from the step being walked over: what the seat is still to be paid before its next
    # decision, that decision's value and its advantage.
    pending = np.zeros(rewards.shape[1:], np.float64)
    next_value = np.where(last_out, 0.0, last_values).astype(np.float64)
    next_advantage = np.zeros_like(pending)
    advantages = np.zeros((num_steps, num_tables), np.float64)
    tables = np.arange(num_tables)
    for t in range(num_steps - 1, -1, -1):
        ended = done[t]
        if ended.any():
            pending[ended] = 0.0
            next_value[ended] = 0.0
            next_advantage[ended] = 0.0
        pending += rewards[t]
        table = tables[learner[t]]
        seat = seats[t, table]
        value = values[t, table]
        delta = pending[table, seat] + gamma * next_value[table, seat] - value
        advantage = delta + gamma * gae_lambda * next_advantage[table, seat]
        advantages[t, table] = advantage
        pending[table, seat] = 0.0
        next_value[table, seat] = value
        next_advantage[table, seat] = advantage
    return advantages, pending + next_value + next_advantage
