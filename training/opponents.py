"""The pool of frozen opponents: scripted players and the run's own snapshots, and which of them are drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from coyote_env.policies import Policy

from .errors import TrainingError

#: Imagined games, half of them won, that every opponent starts with.
PRIOR_GAMES = 10.0


@dataclass
class Opponent:
    """One that may be drawn, and how the learner did against it.

    Fields:
        name: of a scripted player, or path of a checkpoint.
        scripted: named in the configuration; else a snapshot of the run.
        games: games at the learner's tables in which it had seats, older ones fading (see ``OpponentPool.measured``).
        ahead: of these, how many the learner finished ahead of it; a tie is half of one, and the mean counts of its
            seats.
    """

    name: str
    scripted: bool
    games: float = 0.0
    ahead: float = 0.0

    @property
    def score(self) -> float:
        """How often the learner finishes ahead of it, in (0, 1): 1/2 where nothing is known yet."""
        return (self.ahead + PRIOR_GAMES / 2) / (self.games + PRIOR_GAMES)


class OpponentPool:
    """All that may be drawn, as names and figures. Policies are loaded when they are needed, and not kept here.

    Args:
        scripted: names or checkpoint paths; loaded now, and kept, so that a bad one is an error before the run starts.
        load: name or path -> policy.
        snapshots: whether checkpoints of the run join in.
        distinct: how many are drawn at once, and so how many different ones there are at most.
        scripted_share: chance that one that is drawn is scripted, while both kinds are left.
        sampling: "latest", "uniform", "delta_uniform" or "pfsp", see ``weights``.
        delta: share of the history that "delta_uniform" draws from, the newest.
        pfsp_weight, pfsp_power: "hard" or "even", see ``weights``.
        memory: games after which what was measured of an opponent begins to fade.
    """

    def __init__(
        self,
        scripted: Sequence[str],
        load: Callable[[str], Policy],
        *,
        snapshots: bool = True,
        distinct: int = 3,
        scripted_share: float = 0.5,
        sampling: str = "uniform",
        delta: float = 0.5,
        pfsp_weight: str = "hard",
        pfsp_power: float = 2.0,
        memory: int = 1000,
    ) -> None:
        self.use_snapshots, self.distinct, self.scripted_share = snapshots, distinct, scripted_share
        self.sampling, self.delta = sampling, delta
        self.pfsp_weight, self.pfsp_power, self.memory = pfsp_weight, pfsp_power, memory
        self._load = load
        self._scripted = {name: load(name) for name in scripted}
        self.opponents = {name: Opponent(name, scripted=True) for name in scripted}

    def add_snapshot(self, path: str) -> None:
        """A checkpoint of the run from now on may be drawn; call in order of age.

        One that the configuration names stays what it is.
        """
        if self.use_snapshots and path not in self._scripted:
            self.opponents[path] = Opponent(path, scripted=False)

    def forget_snapshots(self) -> None:
        """Only scripted players are left."""
        self.opponents = {name: opponent for name, opponent in self.opponents.items() if opponent.scripted}

    def weights(self, scripted: bool) -> dict[str, float]:
        """Chances of the opponents of one kind, up to a factor; those with none are left out.

        Snapshots: "latest": the newest only. "uniform": all alike. "delta_uniform": the newest `delta` of them alike.
        Prioritised fictitious self-play, "pfsp": by the score p of the learner against each, (1 - p) ** pfsp_power
        ("hard": those it cannot beat) or p (1 - p) ("even": those that are as good). Scripted players have no age: they
        are drawn alike, unless by "pfsp".
        """
        some = [opponent for opponent in self.opponents.values() if opponent.scripted == scripted]
        if self.sampling == "pfsp":
            if self.pfsp_weight == "even":
                return {o.name: o.score * (1.0 - o.score) for o in some}
            return {o.name: (1.0 - o.score) ** self.pfsp_power for o in some}
        if not scripted and self.sampling == "latest":
            some = some[-1:]
        elif not scripted and self.sampling == "delta_uniform":
            some = some[-max(1, round(self.delta * len(some))) :]
        return {o.name: 1.0 for o in some}

    def draw(self, rng: np.random.Generator) -> list[str]:
        """`distinct` names, the same one perhaps more than once: the chances are then those of ``weights``, whatever
        `distinct` is. None if the pool is empty."""
        kinds = {True: self.weights(True), False: self.weights(False)}
        names: list[str] = []
        for _ in range(self.distinct):
            scripted = bool(rng.random() < self.scripted_share)
            some = kinds[scripted]
            if not some and self.scripted_share not in (0.0, 1.0):  # those shares mean what they say
                some = kinds[not scripted]
            if some:
                chances = np.fromiter(some.values(), np.float64)
                names.append(list(some)[int(rng.choice(len(some), p=chances / chances.sum()))])
        return names

    def policy(self, name: str) -> Policy:
        """The policy of that name. Raises TrainingError for a snapshot that cannot be loaded (any more)."""
        if name in self._scripted:
            return self._scripted[name]
        try:
            return self._load(name)
        except (ValueError, OSError) as error:
            raise TrainingError(f"the opponent {name} cannot be loaded: {error}") from error

    def measured(self, name: str, games: float, ahead: float) -> None:
        """The learner met `name` in so many more games, and finished ahead of it in so many of these.

        Beyond `memory` games older ones fade, because the learner that played them is no more.
        """
        opponent = self.opponents[name]
        opponent.games += games
        opponent.ahead += ahead
        if opponent.games > self.memory:
            opponent.ahead *= self.memory / opponent.games
            opponent.games = float(self.memory)
