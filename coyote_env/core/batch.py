"""Many tables at once, one acting seat each: the fast face."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .arguments import shown
from .game import RANDOM, Game
from .record import BatchRecorder, GameRecord, RecordWriter, Sink, check_names
from .rng import check_seed, table_seeds

ILLEGAL_ACTION = ("raise", "forfeit")


def check_illegal_action(value: object) -> bool:
    """Whether ``illegal_action`` says forfeit. Raises ValueError on anything but "raise" and "forfeit"."""
    if not isinstance(value, str) or value not in ILLEGAL_ACTION:
        raise ValueError(f"illegal_action must be one of {', '.join(map(repr, ILLEGAL_ACTION))}, not {shown(value)}")
    return value == "forfeit"


class Batch:
    """``num_tables`` tables of one game. A table that ends a game deals the next one in the same step.

    Table i depends on (seed, i) only: more tables, or other play at them, do not change it.

    With ``deals=False`` a table that has ended a game stays as it is, for a last look (its mask is all zero), and
    cannot be stepped until ``deal``.

    After ``reset`` and ``step``, one row a table. These are the same buffers each time: copy what you keep.

    Attributes:
        seat: int64 (T,), the seat to move.
        observation: float32 (T, L), its observation.
        action_mask: int8 (T, A), read-only, its legal actions; never all zero in a running game.
        rewards: float64 (T, N), what the last step paid to each absolute seat; zeros after ``reset``.
        done: bool (T,), whether the last step ended a game (``rewards`` are that game's last ones; everything else
            belongs to the new game, if the table deals).
        states: the records (T,), structured as ``game.state_dtype``. A copy is a save; assigning to it needs
            ``refresh()`` afterwards.
    """

    def __init__(self, game: Game, num_tables: Any, illegal_action: str = "raise", *, deals: bool = True) -> None:
        if isinstance(num_tables, bool) or not isinstance(num_tables, (int, np.integer)) or num_tables < 1:
            raise ValueError(f"num_tables must be an integer >= 1, not {num_tables!r}")
        self.game = game
        self.num_tables = int(num_tables)
        self._forfeits = check_illegal_action(illegal_action)
        self._deals = bool(deals)
        self.states: NDArray[np.void] = np.zeros(self.num_tables, game.state_dtype)
        self.seat = np.zeros(self.num_tables, np.int64)
        self.observation = np.zeros((self.num_tables, game.layout.size), np.float32)
        self._mask = np.zeros((self.num_tables, game.num_actions), np.int8)
        self._show_mask()
        self.rewards = np.zeros((self.num_tables, game.num_seats), np.float64)
        self.done = np.zeros(self.num_tables, np.bool_)
        self._tapes = np.empty((self.num_tables, 0), np.int8)  # nobody fixes chance here, and records come on demand
        self._recorder: BatchRecorder | None = None
        self._ready = False

    def _show_mask(self) -> None:
        # What is legal is judged by this array, so what callers get of it cannot be written to.
        self.action_mask = self._mask.view()
        self.action_mask.flags.writeable = False

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "action_mask"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._show_mask()  # copied by itself it would be no view any more, and never change again

    @property
    def out(self) -> NDArray[np.bool_]:
        """bool (T, N): seats eliminated in the running game; they get and do nothing more. A fresh array."""
        return self.states["out"][:, : self.game.num_seats].astype(np.bool_)

    def reset(self, seed: int | None = None) -> None:
        """Deals a new game at every table. Without a seed the tables go on with their streams (at first: entropy)."""
        seed = check_seed(seed)
        if seed is not None or not self._ready:
            self.states[:] = np.zeros(1, self.game.state_dtype)
            self.states["seed"] = table_seeds(seed, self.num_tables)
        self._tapes.fill(RANDOM)
        self._start(self.states, self._tapes)
        self._ready = True
        self.rewards[:] = 0.0
        self.done[:] = False
        self.refresh()
        if self._recorder is not None:
            self._recorder.begin(slice(None), self.states)

    def deal(self, tables: NDArray[np.intp], seeds: NDArray[np.uint64] | None = None) -> None:
        """Deals at some tables, int (n,): a first game from base seeds of their own, uint64 (n,) (see ``table_seeds``),
        or, without, the next game of each. What else a row shows is zero.

        ``env.reset(seed=s)`` and ``deal([t], table_seeds(s, 1))`` are the same game.
        """
        if seeds is not None:
            self.states[tables] = np.zeros(1, self.game.state_dtype)
            self.states["seed"][tables] = seeds
            self._ready = True
        self._deal(tables)
        self.rewards[tables], self.done[tables] = 0.0, False

    def _deal(self, tables: NDArray[np.intp]) -> None:
        """The next game at some tables, int (n,), and what their rows show of it."""
        states = self.states[tables]
        tapes = np.full((len(tables), self._tapes.shape[1]), RANDOM, np.int8)
        self._start(states, tapes)
        seats = states["seat"].astype(np.int64)
        observation = np.empty((len(tables), self.game.layout.size), np.float32)
        mask = np.zeros((len(tables), self.game.num_actions), np.int8)
        self.game.observe(self.game.rules, states, seats, False, observation)
        self.game.legal_mask(self.game.rules, states, mask)
        self.states[tables], self.seat[tables], self._tapes[tables] = states, seats, tapes
        self.observation[tables], self._mask[tables] = observation, mask
        if self._recorder is not None:
            self._recorder.begin(tables, self.states)

    def _start(self, states: NDArray[np.void], tapes: NDArray[np.int8]) -> None:
        """The next game at each of these records, with everything drawn at random."""
        code = self.game.deal(self.game.rules, states, tapes, np.full(len(states), -1, np.int64))
        assert code == 0, "a deal without fixed draws cannot fail"

    def refresh(self) -> None:
        """Brings seat, observation and action_mask in line with ``states``, after these were assigned to."""
        if not self._ready:
            raise RuntimeError("call reset() before refresh()")
        if self._recorder is not None:
            self._recorder.forget()
        self.seat[:] = self.states["seat"]
        self.game.observe(self.game.rules, self.states, self.seat, False, self.observation)
        self.game.legal_mask(self.game.rules, self.states, self._mask)

    def step(self, actions: ArrayLike, tables: NDArray[np.intp] | None = None) -> None:
        """Plays ``actions``, integers (T,), of the seats to move; or (n,), at ``tables`` alone, int (n,), no two alike:
        the others stay as they are, with no rewards and not done.

        Raises IllegalAction naming the first table at fault (nothing has changed then at any), or, with
        ``illegal_action="forfeit"``, lets that seat lose; TypeError / ValueError for a wrong dtype or shape.
        RuntimeError at a table whose game is over, which is possible with ``deals=False`` only.
        With ``record_to``: what its target raised, after the step is done and every game that ended is handed over.
        """
        if not self._ready:
            raise RuntimeError("call reset() before step()")
        chosen = self._integers(actions, "actions", self.num_tables if tables is None else len(tables))
        if not self._deals:
            over = np.flatnonzero(self.states["over"] if tables is None else self.states["over"][tables])
            if over.size:
                table = int(over[0] if tables is None else tables[over[0]])
                raise RuntimeError(f"the game at table {table} is over; call deal() before step()")
        recorder = self._recorder
        if recorder is not None:  # a step overwrites these
            seats, masks = self.seat.copy(), self._mask.copy() if self._forfeits else None
        deals = self._deals and recorder is None
        if tables is None:
            rows = np.arange(self.num_tables)
            table = self.game.step(
                self.game.rules, self.states, self._tapes, chosen, self._forfeits, deals,
                self.seat, self.observation, self._mask, self.rewards, self.done,
            )  # fmt: skip
        else:
            rows = tables
            table = self._step_some(chosen, rows, deals)
        if table >= 0:
            number, action = int(rows[table]), int(chosen[table])
            where = f" at table {number}"
            raise self.game.illegal(action, int(self.seat[number]), self.action_mask[number], where)
        if recorder is not None:
            recorder.add(rows, seats[rows], chosen, self.states)
            ended = np.flatnonzero(self.done)
            if ended.size:  # the kernel has left these to us: their tapes are read first
                last = np.zeros(self.num_tables, np.int64)
                last[rows] = chosen
                illegal = [masks is not None and not masks[i, last[i]] for i in ended]
                games = recorder.finished(ended, self._tapes, self.states, illegal)
                if self._deals:
                    self._deal(ended)
                # Last, so that a full disk leaves the tables in order; and all of them, whatever happens to one.
                problem: Exception | None = None
                for i, game in games:
                    try:
                        recorder.sink(i, game)
                    except Exception as error:  # raised below
                        problem = problem or error
                if problem is not None:
                    raise problem

    def _step_some(self, chosen: NDArray[np.int64], tables: NDArray[np.intp], deals: bool) -> int:
        """One move at some tables; the kernel's code. The kernel wants whole arrays, so the rows are copied out and in:
        records of a kilobyte, a small part of what a step costs."""
        states, tapes, mask = self.states[tables], self._tapes[tables], self._mask[tables]
        seat, observation = np.empty(len(tables), np.int64), np.empty((len(tables), self.game.layout.size), np.float32)
        rewards, done = np.empty((len(tables), self.game.num_seats)), np.empty(len(tables), np.bool_)
        code = self.game.step(
            self.game.rules, states, tapes, chosen, self._forfeits, deals, seat, observation, mask, rewards, done
        )
        if code < 0:
            self.states[tables], self._tapes[tables], self._mask[tables] = states, tapes, mask
            self.seat[tables], self.observation[tables] = seat, observation
            self.rewards[:], self.done[:] = 0.0, False
            self.rewards[tables], self.done[tables] = rewards, done
        return code

    def record_to(self, target: RecordWriter | Sink | None, names: Sequence[str] | None = None) -> None:
        """From now on hands every game that ends to ``target``: a writer, or a callable that takes (table, record).

        Games that are running already are left out; call this before ``reset`` to get all. ``names``: who sits in each
        seat, N printable texts. None records no more. Play is the same with and without, to the byte.
        """
        if target is not None and not isinstance(target, RecordWriter) and not callable(target):
            raise TypeError(f"target must be a RecordWriter, a callable or None, not {target!r}")
        if isinstance(target, RecordWriter) and target.closed:
            raise ValueError(f"the RecordWriter of {target.path} is closed")
        if target is None:
            self._recorder, self._tapes = None, np.empty((self.num_tables, 0), np.int8)
            return
        sink: Sink = (lambda _, record: target.write(record)) if isinstance(target, RecordWriter) else target
        self._recorder = BatchRecorder(self.game, self.num_tables, sink, check_names(self.game, names))
        self._tapes = self.game.blank_tapes(self.num_tables)

    def record(self, table: int) -> GameRecord:
        """The running game at a table so far. RuntimeError unless ``record_to`` was called before it was dealt."""
        if self._recorder is None or not self._ready:
            raise RuntimeError("call record_to() and then reset() before record()")
        if isinstance(table, bool) or not hasattr(table, "__index__") or int(table) not in range(self.num_tables):
            raise ValueError(f"table must be from 0 to {self.num_tables - 1}, not {table!r}")
        return self._recorder.record(int(table), self._tapes[table], self.states[table])

    def observe(self, seats: ArrayLike, *, all_seen: bool = False) -> NDArray[np.float32]:
        """Observation of any seat, float32 (T, L), a fresh array. ``seats``: one seat for all tables, or (T,).

        ``all_seen``: with every card open, what no seat may see; for critics, which are asked in training alone.
        """
        if not self._ready:
            raise RuntimeError("call reset() before observe()")
        given = np.asarray(seats)
        which = self._integers(np.full(self.num_tables, given) if given.ndim == 0 else given, "seats", self.num_tables)
        if which.min() < 0 or which.max() >= self.game.num_seats:
            raise ValueError(f"seats must be from 0 to {self.game.num_seats - 1}, not {which.min()}..{which.max()}")
        return self.game.seen_by(self.states, which, all_seen)

    def seen(self, view: Game, tables: NDArray[np.intp]) -> NDArray[np.float32]:
        """What the seat to move sees at ``tables`` (n,) as ``view`` has it, this game with any ``sight``: (n, L of the
        view), a fresh array."""
        if view is self.game:
            return self.observation[tables]
        return view.seen_by(self.states[tables], self.seat[tables])

    def _integers(self, values: Any, name: str, count: int) -> NDArray[np.int64]:
        array = np.asarray(values)
        if array.dtype.kind not in "iu":
            raise TypeError(f"{name} must be integers, not {array.dtype}")
        if array.shape != (count,):
            raise ValueError(f"{name} must have shape ({count},), one a table, not {array.shape}")
        if (
            array.dtype == np.uint64 and array.size and array.max() > np.iinfo(np.int64).max
        ):  # these would turn negative
            raise ValueError(f"{name} must be at most {np.iinfo(np.int64).max}, not {array.max()}")
        return np.ascontiguousarray(array, np.int64)
