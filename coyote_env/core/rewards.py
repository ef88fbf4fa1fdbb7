"""Rewards that every game pays alike: kernels on the fields that all records have (H)."""

from __future__ import annotations

from typing import Any

from .compile import int64, njit


@njit(inline=True)
def pay(states: Any, i: int, rewards: Any, seat: int, amount: float) -> None:
    """Every reward goes through here, so that returns are the sum of what was paid."""
    rewards[i, seat] += amount
    states[i]["returns"][seat] += amount


@njit()
def forfeit(states: Any, i: int, rewards: Any) -> None:
    """H: the seat to move gave an illegal action. Its return becomes -1; the other live seats share what makes the
    game's sum 0; who is out keeps what it has."""
    s = states[i]
    n = rewards.shape[1]
    offender = int64(s["seat"])
    pay(states, i, rewards, offender, -1.0 - s["returns"][offender])
    total = 0.0
    others = 0
    for seat in range(n):
        total += s["returns"][seat]
        if seat != offender and s["out"][seat] == 0:
            others += 1
    for seat in range(n):
        if seat != offender and s["out"][seat] == 0:
            pay(states, i, rewards, seat, -total / others)
