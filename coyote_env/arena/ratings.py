"""Ratings of many policies from the finishing orders of many games.

A rating is a maximum of likelihood over all games at once, so it does not move with the order in which they were
played. Strength need not be one number (rock, paper, scissors): `lottery` and `alpha_rank` look at who beats whom.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

PRIOR = 1e-4  # precision of the prior about 0: finite ratings even for who loses every game


@dataclass(frozen=True, eq=False)
class Orders:
    """Finishing orders, each kind once.

    Fields:
        kinds: int (K, N), players by place, the best first; sorted, no two alike.
        kind: int (R,), the kind of each row.
        weight: float (R,), part of a game that a row stands for: games with equal places give several.
        group: int (R,), the deal that it belongs to.
        players: how many there are.
    """

    kinds: npt.NDArray[np.intp]
    kind: npt.NDArray[np.intp]
    weight: npt.NDArray[np.float64]
    group: npt.NDArray[np.intp]
    players: int

    def weights(self, groups: npt.NDArray[np.float64] | None = None) -> npt.NDArray[np.float64]:
        """How often each kind came up, float (K,); with each group counted so many times."""
        weight = self.weight if groups is None else self.weight * groups[self.group]
        # Added up kind by kind, each from its sorted parts: rounding must not tell the order of the games.
        order = np.lexsort((weight, self.kind))
        return np.bincount(self.kind[order], weight[order], len(self.kinds)).astype(np.float64)


def orders_of(
    seated: npt.NDArray[np.intp], places: npt.NDArray[np.float64], group: npt.NDArray[np.intp], players: int
) -> Orders:
    """From who sat where, int (G, N), and the places, float (G, N), equal ones equal; `group` (G,): the deal.

    A game in which k share a place counts as k orders of weight 1/k, in which they take turns.
    """
    seats = places.shape[1]
    rows, weights, groups = [], [], []
    order = np.argsort(places, axis=1, kind="stable")
    best_first = np.take_along_axis(seated, order, axis=1)
    sorted_places = np.take_along_axis(places, order, axis=1)
    strict = (np.diff(sorted_places, axis=1) > 1e-9).all(axis=1)
    rows.append(best_first[strict])
    weights.append(np.ones(int(strict.sum())))
    groups.append(group[strict])
    for game in np.flatnonzero(~strict):
        runs = np.split(np.arange(seats), np.flatnonzero(np.diff(sorted_places[game]) > 1e-9) + 1)
        turns = int(np.lcm.reduce([len(run) for run in runs]))
        for turn in range(turns):
            turned = np.concatenate(
                [np.sort(best_first[game, run])[(np.arange(len(run)) + turn) % len(run)] for run in runs]
            )
            rows.append(turned[None])
            weights.append(np.full(1, 1 / turns))
            groups.append(group[game : game + 1])
    kinds, kind = np.unique(np.concatenate(rows), axis=0, return_inverse=True)
    return Orders(kinds, kind.ravel(), np.concatenate(weights), np.concatenate(groups), players)


def plackett_luce(
    orders: Orders, weights: npt.NDArray[np.float64] | None = None, start: npt.NDArray[np.float64] | None = None
) -> npt.NDArray[np.float64]:
    """Strengths (players,) of the Plackett-Luce model, mean 0: the first place goes to i with probability
    exp(strength_i) / sum over the table, the next likewise among the others.

    Newton's method on the penalised log-likelihood, the same as choix.opt_rankings' (tested against it) with orders
    that repeat counted instead of repeated, so that hundreds of bootstrap samples take seconds.
    """
    weights = orders.weights() if weights is None else weights
    kinds, n = orders.kinds, orders.players
    seats = kinds.shape[1]
    theta = np.zeros(n) if start is None else start.copy()
    last = _likelihood(kinds, weights, theta)
    for _ in range(200):
        gradient, hessian = -PRIOR * theta, -PRIOR * np.eye(n)
        powers = np.exp(theta[kinds] - theta[kinds].max(axis=1, keepdims=True))
        np.add.at(gradient, kinds[:, :-1], weights[:, None])
        for place in range(seats - 1):
            left = kinds[:, place:]
            part = powers[:, place:] / powers[:, place:].sum(axis=1, keepdims=True)
            np.add.at(gradient, left, -weights[:, None] * part)
            np.add.at(hessian, (left, left), -weights[:, None] * part)
            outer = weights[:, None, None] * part[:, :, None] * part[:, None, :]
            np.add.at(hessian, (left[:, :, None], left[:, None, :]), outer)
        step = np.linalg.solve(hessian, gradient)
        length = 1.0
        while True:
            found = _likelihood(kinds, weights, theta - length * step)
            if found >= last or length < 1e-6:
                break
            length /= 2
        theta, last = theta - length * step, found
        if np.abs(length * step).max() < 1e-10:
            break
    return np.asarray(theta - theta.mean())


def _likelihood(kinds: npt.NDArray[np.intp], weights: npt.NDArray[np.float64], theta: npt.NDArray[np.float64]) -> float:
    strengths = theta[kinds]
    total = -PRIOR / 2 * float((theta**2).sum())
    for place in range(kinds.shape[1] - 1):
        left = strengths[:, place:]
        top = left.max(axis=1)
        total += float((weights * (left[:, 0] - top - np.log(np.exp(left - top[:, None]).sum(axis=1)))).sum())
    return total


@dataclass(frozen=True, eq=False)
class Ratings:
    """Ratings with 95% intervals, float (players,) each, on the scale on which the anchors have theirs."""

    rating: npt.NDArray[np.float64]
    low: npt.NDArray[np.float64]
    high: npt.NDArray[np.float64]


def rate(orders: Orders, zero: int, thousand: int, seed: int, samples: int = 200) -> Ratings:
    """Plackett-Luce ratings with player `zero` at 0 and `thousand` at 1000; bootstrap intervals over deals.

    Raises ValueError if `thousand` is not found stronger than `zero`: then the scale means nothing.
    """

    def scaled(theta: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return np.asarray(1000 * (theta - theta[zero]) / (theta[thousand] - theta[zero]))

    theta = plackett_luce(orders)
    if theta[thousand] <= theta[zero]:
        raise ValueError("the anchor at 1000 is not found stronger than the one at 0: other anchors are needed")
    groups = int(orders.group.max()) + 1
    rng = np.random.default_rng(seed)
    drawn = []
    for _ in range(samples):
        times = rng.multinomial(groups, np.full(groups, 1 / groups)).astype(np.float64)
        sample = plackett_luce(orders, orders.weights(times), theta)
        if sample[thousand] > sample[zero]:
            drawn.append(scaled(sample))
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0) if drawn else (scaled(theta), scaled(theta))
    return Ratings(scaled(theta), low, high)


def ahead(orders: Orders) -> npt.NDArray[np.float64]:
    """How often i finished ahead of j, float (players, players), of the games that had both; 1/2 where there were none
    and on the diagonal."""
    weights, kinds = orders.weights(), orders.kinds
    won = np.zeros((orders.players, orders.players))
    for better in range(kinds.shape[1]):
        for worse in range(better + 1, kinds.shape[1]):
            np.add.at(won, (kinds[:, better], kinds[:, worse]), weights)
    np.fill_diagonal(won, 0.0)
    met = won + won.T
    return np.where(met > 0, won / np.where(met > 0, met, 1.0), 0.5)


def lottery(matrix: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The maximal lottery of a matrix of `ahead`, float (players,): the mixture that is ahead at least as often as
    behind against every policy. More than one policy in it means that none is best against all.

    OpenSpiel has one too; it needs cvxpy for what is one linear program.
    """
    from scipy.optimize import linprog

    margin = matrix - matrix.T
    n = len(margin)
    # Maximise v with margin' p >= v; of the solutions (several if there are ties) the one that the solver finds.
    found = linprog(
        np.r_[np.zeros(n), -1.0], A_ub=np.c_[-margin.T, np.ones(n)], b_ub=np.zeros(n),
        A_eq=np.r_[np.ones(n), 0.0][None], b_eq=[1.0], bounds=[(0, 1)] * n + [(None, None)], method="highs",
    )  # fmt: skip
    if not found.success:
        raise RuntimeError(f"the linear program failed: {found.message}")
    mixture = np.clip(found.x[:n], 0.0, None)
    return np.asarray(mixture / mixture.sum())


def alpha_rank(matrix: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """OpenSpiel's alpha-rank of a matrix of `ahead`, float (players,): the time that evolution spends at each policy.

    Raises ImportError, saying what to install, without OpenSpiel.
    """
    try:
        from open_spiel.python.egt import alpharank
    except ImportError:
        raise ImportError("alpha-rank needs OpenSpiel: pip install 'coyote-env[equilibrium]'") from None
    if len(matrix) == 1:
        return np.ones(1)
    with np.errstate(over="ignore"):  # at this alpha it takes exp of large numbers, and means infinity by them
        return np.asarray(alpharank.compute([matrix], alpha=100.0)[2], np.float64)
