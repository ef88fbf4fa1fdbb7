"""Who sits at the tables beside the learner: a pool of frozen policies, and the seating of each rollout."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from coyote_env.policies import Policy

from .errors import TrainingError

#: The learner in a seating; opponents are 1, 2, ...
LEARNER = 0


class OpponentPool:
    """Names and paths that may be drawn. Of the snapshots only those of the latest draw are in memory.

    Args:
        scripted: names or checkpoint paths; loaded now, so that a bad one is an error before the run starts.
        snapshots: whether checkpoints of the run join in.
        distinct: how many different ones a draw gives, at most.
        load: name or path -> policy.
    """

    def __init__(self, scripted: Sequence[str], snapshots: bool, distinct: int, load: Callable[[str], Policy]) -> None:
        self.scripted = list(scripted)
        self.snapshots: list[str] = []
        self.use_snapshots = snapshots
        self.distinct = distinct
        self._load = load
        self._scripted = {name: load(name) for name in self.scripted}
        self._drawn: dict[str, Policy] = {}  # the snapshots of the latest draw

    def add_snapshot(self, path: str) -> None:
        """A checkpoint of the run from now on may be drawn."""
        if self.use_snapshots:
            self.snapshots.append(path)

    def draw(self, rng: np.random.Generator) -> list[Policy]:
        """Up to `distinct` different policies; none if the pool is empty.

        Each is a scripted player or a snapshot with equal chance, as long as both kinds are left; within its kind all
        have the same chance. Raises TrainingError for a snapshot that cannot be loaded (any more).
        """
        kinds = [list(self.scripted), list(self.snapshots)]
        names: list[str] = []
        while len(names) < self.distinct and any(kinds):
            kind = kinds[int(rng.integers(2))]
            if kind:
                names.append(kind.pop(int(rng.integers(len(kind)))))
        self._drawn = {name: self._snapshot(name) for name in names if name not in self._scripted}
        return [self._scripted.get(name) or self._drawn[name] for name in names]

    def _snapshot(self, path: str) -> Policy:
        if path in self._drawn:
            return self._drawn[path]
        try:
            return self._load(path)
        except (ValueError, OSError) as error:
            raise TrainingError(f"the opponent {path} cannot be loaded: {error}") from error


def seat_opponents(
    rng: np.random.Generator, num_tables: int, num_seats: int, share: float, num_opponents: int
) -> NDArray[np.int8]:
    """Who plays each seat, int8[T, N]: LEARNER or the number 1..num_opponents of an opponent.

    `share` of the tables (rounded) seat opponents, in 1 to N-1 of their seats, every number and every set of seats
    having the same chance; each of these seats gets any of the opponents. The other tables are the learner's alone.
    """
    seating = np.full((num_tables, num_seats), LEARNER, np.int8)
    mixed = round(share * num_tables) if num_opponents and num_seats > 1 else 0
    if mixed == 0:
        return seating
    count = rng.integers(1, num_seats, size=mixed)
    rank = rng.random((mixed, num_seats)).argsort(axis=1).argsort(axis=1)
    who = rng.integers(1, num_opponents + 1, size=(mixed, num_seats))
    seating[:mixed] = np.where(rank < count[:, None], who, LEARNER)
    return seating


def opponent_actions(
    actions: NDArray[np.int64],
    who: NDArray[np.integer],
    observation: NDArray[np.float32],
    mask: NDArray[np.int8],
    opponents: Sequence[Policy],
    rng: np.random.Generator,
) -> None:
    """Fill in `actions` [T] where an opponent moves (`who` [T] is not LEARNER): one call per opponent."""
    for number, opponent in enumerate(opponents, 1):
        tables = np.flatnonzero(who == number)
        if tables.size:
            actions[tables] = opponent.act(observation[tables], mask[tables], rng)
