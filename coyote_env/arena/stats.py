"""Intervals for what a match has counted."""

from __future__ import annotations

import math
from statistics import NormalDist


def wilson(wins: float, games: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval for a probability, from `wins` in `games` independent games.

    Unlike the textbook p +- 1.96 sd it stays inside 0..1, is honest near both ends, and is no point at 0 or all wins.
    `wins` may be a fraction (a shared win counts in parts): such counts vary less than whole ones of the same mean, so
    the interval is then on the wide side. No games: (0, 1). ValueError, naming the argument, for counts that cannot be.
    """
    if games < 0:
        raise ValueError(f"games = {games}; allowed: 0 or more")
    if not 0 <= wins <= games:
        raise ValueError(f"wins = {wins}; allowed: 0 to games = {games}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence = {confidence}; allowed: between 0 and 1")
    if games == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    share = wins / games
    middle = (share + z * z / (2 * games)) / (1 + z * z / games)
    half = z / (1 + z * z / games) * math.sqrt(share * (1 - share) / games + z * z / (4 * games * games))
    # The ends are exactly 0 and 1 there; rounding would miss them by 1e-18.
    return (0.0 if wins == 0 else middle - half), (1.0 if wins == games else middle + half)
