"""Who sits where: the learner, or a frozen opponent for the length of a game."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from coyote_env.policies import Policy

from .opponents import OpponentPool
from .vec_env import TableBatch

#: The learner in a seating; opponents are the numbers of their slots, 1, 2, ...
LEARNER = 0


class Seating:
    """Seats opponents from a pool at a share of the tables, and keeps count of who finished ahead.

    A game is finished by those who began it. Opponents in use lie in slots: up to `distinct` of them take the seats of
    new games, as many may be finishing older ones. So policies in memory are at most twice `distinct`, however many
    the pool has, and a step asks each of them at most once. New ones are drawn at the start of a rollout, as soon as
    there are slots whose games are all over.

    Attributes:
        seats: int16[T, N], LEARNER or the number of a slot.
        names: of the policies in the slots 1, 2, ...; "" where there is none.
        active: slots that take the seats of new games; one that was drawn twice is in it twice.
        returns: float64[T, N], what the running games have paid.
        dealt: every table has been seated once.
    """

    def __init__(
        self,
        game: Any,
        pool: OpponentPool | None,
        share: float,
        num_tables: int,
        learner_alone: bool = False,
        alike: float = 0.0,
    ) -> None:
        num_seats = int(game.num_seats)
        self.game, self.pool, self.learner_alone, self.alike = game, pool, learner_alone, alike
        self.seats = np.full((num_tables, num_seats), LEARNER, np.int16)
        self.returns = np.zeros((num_tables, num_seats), np.float64)
        self.mixed = round(share * num_tables) if pool is not None and num_seats > 1 else 0
        slots = 2 * pool.distinct if pool is not None and self.mixed else 0
        self.names = [""] * slots
        self.policies: list[Policy | None] = [None] * slots
        self._views: list[Any] = [game] * slots  # the game as each of them sees it
        self.active: list[int] = []
        self.dealt = False

    def begin_rollout(self, rng: np.random.Generator) -> None:
        """Draw new opponents, if there is room for them; at the first call seat every table."""
        if self.pool is not None and self.mixed:
            busy = set(np.unique(self.seats).tolist())
            free = [slot for slot in range(1, len(self.names) + 1) if slot not in busy]
            if len(free) >= self.pool.distinct:
                self._fill(free, self.pool.draw(rng))
        if not self.dealt:
            self.dealt = True
            self.begin_games(np.arange(len(self.seats)), rng)

    def _fill(self, free: list[int], names: list[str]) -> None:
        """Make `names` the active ones: in the slots where they are, else in free ones."""
        assert self.pool is not None
        for slot in free:
            if self.names[slot - 1] not in names:
                self.put(slot, "")
        empty = iter([slot for slot in free if not self.names[slot - 1]])
        self.active = []
        for name in names:
            if name not in self.names:
                self.put(next(empty), name)
            self.active.append(self.names.index(name) + 1)

    def put(self, slot: int, name: str) -> None:
        """Have the policy of that name in a slot; "": none."""
        assert self.pool is not None
        policy = self.policies[slot - 1] = self.pool.policy(name) if name else None
        self._views[slot - 1] = self.game if policy is None else self.game.seen_as_by(policy)
        self.names[slot - 1] = name

    def begin_games(self, tables: NDArray[np.integer], rng: np.random.Generator) -> None:
        """Seat some tables anew, int[n], as a game begins there.

        The first `share` of the tables seat opponents, in 1 to N-1 of their seats (N-1 with `learner_alone`), every
        number and every set of seats having the same chance; each of these seats gets any of the active ones (in a
        share of `alike` of the games all the same one). Others are the learner's alone.
        """
        self.returns[tables] = 0.0
        self.seats[tables] = LEARNER
        mixed = tables[tables < self.mixed]
        if not self.active or not mixed.size:
            return
        num_seats = self.seats.shape[1]
        count = rng.integers(num_seats - 1 if self.learner_alone else 1, num_seats, size=len(mixed))
        rank = rng.random((len(mixed), num_seats)).argsort(axis=1).argsort(axis=1)
        draws = (len(mixed), 1 if self.alike == 1 else num_seats)
        who = rng.choice(np.array(self.active, np.int16), size=draws)
        if 0 < self.alike < 1:
            same = rng.random(len(mixed)) < self.alike
            who[same] = who[same, :1]
        self.seats[mixed] = np.where(rank < count[:, None], who, LEARNER)

    def act(
        self,
        actions: NDArray[np.int64],
        who: NDArray[np.integer],
        batch: TableBatch,
        rng: np.random.Generator,
    ) -> None:
        """Fill in `actions` [T] where an opponent moves (`who` [T] is not LEARNER): one call for each of them."""
        for slot, policy in enumerate(self.policies, 1):
            if policy is not None:
                tables = np.flatnonzero(who == slot)
                if tables.size:
                    seen = batch.seen(self._views[slot - 1], tables)
                    actions[tables] = policy.act(seen, batch.action_mask[tables], rng)

    def paid(self, rewards: NDArray[np.floating], done: NDArray[np.bool_], rng: np.random.Generator) -> None:
        """A step paid `rewards` [T, N]; where games are `done` [T], count who finished ahead, and seat the next ones.

        To an opponent this counts as one game, however many seats it had: they were all paid by the same cards. The
        learner was ahead as often as its seats were of the opponent's, on average.
        """
        self.returns += rewards
        ended = np.flatnonzero(done)
        if not ended.size:
            return
        met = ended[(self.seats[ended] != LEARNER).any(axis=1)]
        if met.size:
            seats, returns = self.seats[met], self.returns[met].round(9)  # what differs by rounding is a tie
            mine = (seats == LEARNER)[:, None, :]
            ahead = (returns[:, None, :] > returns[:, :, None]) + 0.5 * (returns[:, None, :] == returns[:, :, None])
            share = (ahead * mine).sum(axis=2) / mine.sum(axis=2)  # [n, N]: of the learner's seats, ahead of each seat
            assert self.pool is not None
            for slot in np.unique(seats[seats != LEARNER]):
                theirs = seats == slot
                count = theirs.sum(axis=1)
                there = count > 0
                ahead_of_it = (share * theirs).sum(axis=1)[there] / count[there]
                self.pool.measured(self.names[slot - 1], float(there.sum()), float(ahead_of_it.sum()))
        self.begin_games(ended, rng)
