"""Intervals for what a match has counted."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import numpy.typing as npt


def wilson(wins: float, games: float, confidence: float = 0.95) -> tuple[float, float]:
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


def student(degrees: int, confidence: float = 0.95) -> float:
    """Two-sided quantile of Student's t, by Hill's expansion about the normal one (CACM 13, 1970, algorithm 396):
    within 0.3% from 5 degrees of freedom on. Below 5 it is too small, by 4% at 3; nobody should read much into so few.
    """
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    v = max(degrees, 1)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + math.fsum(term / v ** (power + 1) for power, term in enumerate(terms))


class Mean(NamedTuple):
    """A mean of values that come in groups, with what is known of it."""

    mean: float
    error: float  # standard error; groups may be anything within, and are independent of one another
    low: float  # 95% interval
    high: float
    gain: float  # how many times as many ungrouped values of the same spread would be needed for this error


def grouped_mean(values: npt.NDArray[np.float64], groups: npt.NDArray[np.intp]) -> Mean:
    """The mean of `values` (n,), `groups` (n,) numbering each one's group from 0: for duplicate deals, the deal.

    The error is the cluster-robust one: from the spread of the groups' sums of deviations. With one group nothing is
    known of the spread between groups, and the values are taken as independent.
    """
    count = len(values)
    mean = float(values.mean())
    alone = float(values.var(ddof=1)) / count if count > 1 else 0.0
    sums = np.bincount(groups, values - mean)
    used = len(np.unique(groups))
    square = used / (used - 1) * float((sums**2).sum()) / count**2 if used > 1 else alone
    error = math.sqrt(square)
    half = student(used - 1 if used > 1 else count - 1) * error
    # No spread at all was seen in these groups: more than their number cannot be claimed.
    gain = 1.0 if alone == 0 else alone / square if square > alone / used else float(used)
    return Mean(mean, error, mean - half, mean + half, gain)


def grouped_share(wins: npt.NDArray[np.float64], groups: npt.NDArray[np.intp]) -> Mean:
    """As `grouped_mean` for numbers between 0 and 1: Wilson's interval, for as many games as would have this error.

    Where all games agree, each group counts as one game. Where all groups agree though games do not, the error is taken
    as if the number of groups were the gain: a rare group that differs may not have come up.
    """
    found = grouped_mean(wins, groups)
    share = min(max(found.mean, 0.0), 1.0)
    used = len(np.unique(groups))
    spread = share * (1 - share)
    if spread == 0:
        worth = float(used)
    else:
        square = max(found.error**2, spread / (len(wins) * max(used, 1)))
        worth = spread / square * (student(10**9) / student(max(used - 1, 1))) ** 2
    low, high = wilson(share * worth, worth)
    return Mean(share, found.error, low, high, found.gain)
