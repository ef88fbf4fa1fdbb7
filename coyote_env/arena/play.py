"""Plays a fixed list of games on the engine: what matches, leagues and benchmarks are made of."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from coyote_env.core.arguments import shortened, shown
from coyote_env.core.batch import Batch
from coyote_env.core.players import Fault, Players
from coyote_env.core.record import MAX_NAME, GameRecord, RecordTaker, trace
from coyote_env.core.rng import answer_keys, table_seeds
from coyote_env.policies import PolicyError

if TYPE_CHECKING:
    from coyote_env.core.game import Game

Progress = Callable[[int, int], None]
# Sees each step before it is made: (batch, tables, numbers of their games, actions).
Watcher = Callable[[Batch, npt.NDArray[np.intp], npt.NDArray[np.intp], npt.NDArray[np.int64]], None]

DEFAULT_TABLES = 512  # measured: larger batches gain little in speed and outgrow the processor's caches
ON_ERROR = ("stop", "forfeit")


class GameFault(NamedTuple):
    """A policy gave no legal answer in a game."""

    game: int  # its number
    entry: int  # of the policy
    what: str
    record: GameRecord  # the game until then, the seat to move being at fault


@dataclass
class Played:
    """What has come of a list of games.

    Fields:
        returns: float64 (games, seats), of each seat; meaningless where not ``finished``.
        finished: bool (games,).
        length: int64 (games,), decisions.
        lasted: int64 (games, seats), the decision at which each seat was eliminated; one more than all for who was not.
        faults: in the order of the games. With ``on_error="stop"`` the first one found has ended the play.
    """

    returns: npt.NDArray[np.float64]
    finished: npt.NDArray[np.bool_]
    length: npt.NDArray[np.int64]
    lasted: npt.NDArray[np.int64]
    faults: list[GameFault]


def play_games(
    game: Game,
    policies: Sequence[Any],
    seeds: npt.NDArray[np.int64],
    seating: npt.NDArray[np.intp],
    *,
    num_tables: int | None = None,
    threads: int = 1,
    on_error: str = "stop",
    progress: Progress | None = None,
    records: RecordTaker | None = None,
    watcher: Watcher | None = None,
) -> Played:
    """Plays game g as ``env.reset(seed=seeds[g])`` deals it, ``policies[seating[g, s]]`` in seat s, for all g.

    What a policy draws depends on the game's seed and the number of the decision: games of one seed are the same game
    until somebody decides otherwise, and no game depends on which others are played beside it (for policies that draw
    by row, see ``RowGenerator``), on ``num_tables`` at once, or on ``threads``. Threads share the policies, whose
    ``act`` must allow that; compiled players and networks run side by side.

    A policy that fails, or answers something illegal: with ``on_error="stop"`` play ends there, with "forfeit" that
    seat loses that game. Both are told in ``faults``, with the game so far; what was finished is kept.
    """
    if on_error not in ON_ERROR:
        raise ValueError(f"on_error = {shown(on_error)}; allowed: {', '.join(map(repr, ON_ERROR))}")
    shape = (len(seeds), game.num_seats)
    played = Played(
        np.zeros(shape), np.zeros(len(seeds), np.bool_), np.zeros(len(seeds), np.int64), np.zeros(shape, np.int64), []
    )
    tables = min(len(seeds), DEFAULT_TABLES if num_tables is None else num_tables)
    threads = max(1, min(threads, len(seeds)))
    if threads > 1:  # else every thread would leave a tail of nearly empty batches
        tables = max(1, min(tables, len(seeds) // threads))
    jobs = _Jobs(game, policies, seeds, seating, on_error == "forfeit", progress, records, watcher, played)
    if threads == 1:
        jobs.run(tables)
    else:
        with ThreadPoolExecutor(threads) as pool:
            running = [pool.submit(jobs.run, tables) for _ in range(threads)]
            try:
                wait(running, return_when=FIRST_EXCEPTION)
            finally:  # the others are not to play on when one has failed, or on Ctrl-C
                jobs.stopped = True
            for future in running:
                future.result()
    played.faults.sort(key=lambda fault: fault.game)
    return played


class _Jobs:
    """The games that are left to play, and where their results go."""

    def __init__(
        self,
        game: Game,
        policies: Sequence[Any],
        seeds: npt.NDArray[np.int64],
        seating: npt.NDArray[np.intp],
        forfeits: bool,
        progress: Progress | None,
        records: RecordTaker | None,
        watcher: Watcher | None,
        played: Played,
    ) -> None:
        self.game, self.policies, self.seating, self.forfeits = game, policies, seating, forfeits
        self.progress, self.records, self.watcher, self.played = progress, records, watcher, played
        self.seeds = seeds
        different, place = np.unique(seeds, return_inverse=True)
        self.deals = np.array([table_seeds(int(s), 1)[0] for s in different], np.uint64)[place]
        self.keys = answer_keys(self.deals, np.ones(len(seeds)))
        self.next = self.done = 0
        self.stopped = False
        self.lock = threading.Lock()
        # Printable and of a bounded length, as records want them; a policy's name may be a path.
        self.labels = [shortened(name, MAX_NAME) or "?" for name in Players(game, policies).names]

    def take(self, count: int) -> npt.NDArray[np.intp]:
        """Numbers of the next games to begin, at most ``count``."""
        with self.lock:
            first = self.next
            self.next = min(len(self.seeds), first + count)
            return np.arange(first, self.next)

    def run(self, num_tables: int) -> None:
        """Plays games until none is left."""
        begun = self.take(num_tables)
        if not begun.size:
            return
        players = Players(self.game, self.policies)
        batch = Batch(self.game, len(begun), "forfeit" if self.forfeits else "raise", deals=False)
        playing = begun.copy()  # number of the game at each table, -1 where none is left to play
        moves = np.zeros((len(begun), 64), np.int32)
        length = np.zeros(len(begun), np.int64)
        starter = np.zeros(len(begun), np.int64)
        if self.records is not None:
            batch.record_to(lambda table, record: self._keep(int(playing[table]), record))
        everywhere = np.arange(len(begun))
        batch.deal(everywhere, self.deals[begun])
        starter[:] = batch.seat
        while not self.stopped:
            active = np.flatnonzero(playing >= 0)
            if not active.size:
                return
            numbers = playing[active]
            keys = answer_keys(self.keys[numbers], length[active])
            faults: list[Fault] = []
            actions = players.act(batch, active, self.seating[numbers, batch.seat[active]], keys, faults)
            for fault in faults:
                table = int(active[fault.row])
                so_far = self._record(table, int(playing[table]), batch, starter[table], moves[table, : length[table]])
                self._report(GameFault(int(playing[table]), fault.entry, str(fault.error), so_far))
                masked = np.flatnonzero(batch.action_mask[table] == 0)
                if not masked.size and self.forfeits:
                    self.stopped = True
                    raise PolicyError(f"{fault.error}; and it cannot forfeit, since every action is legal there")
                actions[fault.row] = fault.error.action if fault.error.action >= 0 else masked[:1].sum()
            if faults and not self.forfeits:
                self.stopped = True
                return
            if self.watcher is not None:
                self.watcher(batch, active, numbers, actions)
            if length.max() == moves.shape[1]:
                moves = np.concatenate([moves, np.zeros_like(moves)], axis=1)
            moves[active, length[active]] = actions
            length[active] += 1
            batch.step(actions, None if active.size == len(begun) else active)
            ended = np.flatnonzero(batch.done)
            self.played.returns[numbers] += batch.rewards[active]
            self.played.lasted[numbers] += batch.out[active] == 0
            if ended.size:
                self.played.finished[playing[ended]] = True
                self.played.length[playing[ended]] = length[ended]
                self.played.lasted[playing[ended]] += 1
                # Tables whose game has ended begin the next ones in turn.
                begun_now = self.take(ended.size)
                again = ended[: begun_now.size]
                playing[ended], length[ended] = -1, 0
                playing[again] = begun_now
                if again.size:
                    batch.deal(again, self.deals[begun_now])
                    starter[again] = batch.seat[again]
                with self.lock:
                    self.done += ended.size
                    if self.progress is not None:
                        self.progress(self.done, len(self.seeds))

    def _keep(self, number: int, record: GameRecord) -> None:
        assert self.records is not None
        with self.lock:
            self.records.write(self._named(number, record))

    def _named(self, number: int, record: GameRecord) -> GameRecord:
        names = tuple(self.labels[entry] for entry in self.seating[number])
        return replace(record, names=names, seed=int(self.seeds[number]))

    def _record(self, table: int, number: int, batch: Batch, starter: int, moves: npt.NDArray[np.int32]) -> GameRecord:
        one = slice(table, table + 1)
        tape = self.game.blank_tapes(1)[0]
        return self._named(number, trace(self.game, int(starter), moves.tolist(), tape, batch.states[one].copy(), None))

    def _report(self, fault: GameFault) -> None:
        with self.lock:
            self.played.faults.append(fault)
