"""Games as records: one JSON line a game that people can read, written while games run, replayed to be verified.

A record holds the rules, who sat where, who moved first, every chance outcome and every action by name, and the result.
Nothing else is needed to replay it. The form is described in ``record.schema.json`` beside this file and on the page
of each game. Nothing that a record says is executed, imported or opened: games are made by whoever reads it.

How chance and actions are told apart: a game keeps its chance on a tape (see ``core.game``), and its record says how
far that tape is used. So each event lists the outcomes that its action caused, and ``deal`` those before the first one.
"""

from __future__ import annotations

import errno
import io
import json
import math
import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .arguments import shortened
from .game import STOP, STOPPED, Game

FORMAT, VERSION = "coyote_env.record", 1
FINISHED, FORFEIT, UNFINISHED = RESULTS = ("finished", "forfeit", "unfinished")
MAX_LINE = 8 * 2**20  # bytes; the longest game that ships, of ten seats, needs about 100,000
MAX_NAME = 100  # characters
CUT_OFF = "{} ends in a line that is cut off; it stays there, new games begin on a line of their own"
_SHOWN = 10  # legal actions named in a departure


class RecordError(ValueError):
    """A line that is no record of this version, in one sentence."""


class Departure(RecordError):  # noqa: N818  # it says what it is: no fault of this program
    """Where a record departs from the rules. Step k is the k-th event, step 0 the deal."""

    def __init__(self, step: int, seat: int | None, what: str) -> None:
        super().__init__(f"step {step}" + ("" if seat is None else f", seat {seat}") + f": {what}")
        self.step, self.seat, self.what = step, seat, what


class Event(NamedTuple):
    """An action and the chance that it caused."""

    seat: int
    action: str
    draws: tuple[str, ...] = ()
    illegal: bool = False  # a forfeit: the last event of its game


@dataclass(frozen=True)
class GameRecord:
    """One game, finished or not; ``line`` is what a file holds of it.

    Fields:
        game: name and version of the game, as "coyote_v0".
        rules: arguments that make the game, as ``Game.kwargs``; what is missing has the game's default.
        names: who sat in each seat.
        start: seat that moved first.
        deal: chance outcomes before the first action.
        events: what happened, in order.
        result: "finished", "forfeit" (an illegal action ended it) or "unfinished".
        returns: sum of rewards of each seat, so far if unfinished.
        seed: ``env.reset(seed=...)`` deals this game; None where unknown.
    """

    game: str
    rules: Mapping[str, Any]
    names: tuple[str, ...]
    start: int
    deal: tuple[str, ...]
    events: tuple[Event, ...]
    result: str
    returns: tuple[float, ...]
    seed: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """The record as plain JSON types."""
        value: dict[str, Any] = {"format": FORMAT, "version": VERSION, "game": self.game, "rules": dict(self.rules)}
        value["names"] = list(self.names)
        if self.seed is not None:
            value["seed"] = self.seed
        value |= {"start": self.start, "deal": list(self.deal), "events": [_event(event) for event in self.events]}
        return value | {"result": self.result, "returns": list(self.returns)}

    def line(self) -> str:
        """The record as one line of JSON, without the line's end."""
        return json.dumps(self.as_dict(), ensure_ascii=False, allow_nan=False)


def _event(event: Event) -> dict[str, Any]:
    value: dict[str, Any] = {"seat": event.seat, "action": event.action}
    if event.draws:
        value["draws"] = list(event.draws)
    if event.illegal:
        value["illegal"] = True
    return value


# ---------------------------------------------------------------------------------------------------------------
# Reading. What is read may be anything.


def _quoted(value: object) -> str:
    if isinstance(value, (dict, list)):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value)}"
    return shortened(repr(value)) if not isinstance(value, int) or abs(value) < 10**20 else "a huge number"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise RecordError(f"key {_quoted(twice)} is given twice")
    return value


def _no_constant(name: str) -> Any:
    raise RecordError(f"{name} is no JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise RecordError("a number is too large")
    return value


def load_json(data: bytes) -> Any:
    """JSON in UTF-8 that came from anywhere: no NaN, no infinity, no key twice. Raises RecordError, in one sentence."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RecordError(f"not UTF-8: byte {error.start + 1} is {data[error.start]:#04x}") from None
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite)
    except RecordError:
        raise
    except json.JSONDecodeError as error:
        # An object that breaks off lacks its last brace, or is at fault where the text ends.
        whole = text.strip()
        end = error.pos >= len(text.rstrip()) or (whole.startswith("{") and not whole.endswith("}"))
        how = "cut off" if end and whole else "not JSON"
        where = f"character {error.pos + 1}" if error.lineno == 1 else f"line {error.lineno}, character {error.colno}"
        what = error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
        raise RecordError(f"{how}: {what} at {where}") from None
    except RecursionError:
        raise RecordError("nested too deeply") from None
    except ValueError:  # Python refuses to read integers of thousands of digits
        raise RecordError("a number is too large") from None


class _Fields:
    """An object out of a record whose keys are taken one by one, each with its type; errors name the key."""

    def __init__(self, value: object, where: str) -> None:
        if not isinstance(value, dict):
            raise RecordError(f"{where} must be an object, not {_quoted(value)}")
        self.value = dict(value)
        self.where = where

    def take(self, key: str, what: str, test: Callable[[Any], bool], default: Any = None) -> Any:
        if key not in self.value:
            if default is not None:
                return default
            raise RecordError(f"{self.where} has no {key!r}")
        value = self.value.pop(key)
        if not test(value):
            raise RecordError(f"{key!r} of {self.where} must be {what}, not {_quoted(value)}")
        return value

    def end(self) -> None:
        if self.value:
            raise RecordError(f"{self.where} has an unknown key {_quoted(next(iter(self.value)))}")


def _is_word(value: object) -> bool:
    # Printable: nothing in a record can end a line or steer a terminal.
    return isinstance(value, str) and 0 < len(value) <= MAX_NAME and value.isprintable()


def _are_words(value: object) -> bool:
    return isinstance(value, list) and all(_is_word(item) for item in value)


def _is_seat(value: object) -> bool:
    return type(value) is int and 0 <= value < 100


def _is_seed(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**64


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e15


def parse(data: bytes | str) -> GameRecord:
    """The record of one line. Raises RecordError for anything that has not the form of one; see ``verify``."""
    line = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    if len(line) > MAX_LINE:
        raise RecordError(f"longer than {MAX_LINE:,} bytes")
    words = f"a list of printable texts of 1 to {MAX_NAME} characters"
    word = f"a printable text of 1 to {MAX_NAME} characters"
    top = _Fields(load_json(line), "the record")
    found = top.value.get("format")
    if found != FORMAT:
        raise RecordError(f"'format' of the record must be {FORMAT!r}, not {_quoted(found)}")
    version = top.value.get("version")
    if type(version) is not int or version != VERSION:
        raise RecordError(f"'version' of the record must be {VERSION}, not {_quoted(version)}")
    del top.value["format"], top.value["version"]
    game = top.take("game", word, _is_word)
    rules = top.take("rules", "an object", lambda v: isinstance(v, dict))
    names = top.take("names", words, _are_words)
    seed = top.take("seed", "an integer from 0 to 2**64 - 1", _is_seed, default=-1)
    start = top.take("start", "a seat", _is_seat)
    deal = top.take("deal", words, _are_words)
    events = []
    for step, item in enumerate(top.take("events", "a list", lambda v: isinstance(v, list)), 1):
        fields = _Fields(item, f"event {step}")
        seat = fields.take("seat", "a seat", _is_seat)
        action = fields.take("action", word, _is_word)
        draws = fields.take("draws", words, _are_words, default=())
        illegal = fields.take("illegal", "true or false", lambda v: isinstance(v, bool), default=False)
        fields.end()
        events.append(Event(seat, action, tuple(draws), illegal))
    result = top.take(
        "result", "one of " + ", ".join(map(repr, RESULTS)), lambda v: isinstance(v, str) and v in RESULTS
    )
    numbers = "a list of numbers"
    returns = top.take("returns", numbers, lambda v: isinstance(v, list) and all(map(_is_number, v)))
    top.end()
    return GameRecord(
        game, rules, tuple(names), start, tuple(deal), tuple(events), result, tuple(map(float, returns)),
        None if seed == -1 else seed,
    )  # fmt: skip


def read_records(file: str | os.PathLike[str] | io.BufferedIOBase) -> Iterator[tuple[int, GameRecord | RecordError]]:
    """(line number from 1, record) of each line of a file; where a line is none, the RecordError that says why.

    Reads a line at a time, and of a line beyond MAX_LINE no more than that into memory. Blank lines are passed over. A
    last line without its end is a record like any other if it is whole.
    """
    if not isinstance(file, io.BufferedIOBase):
        with open(file, "rb") as opened:
            yield from read_records(opened)
        return
    number = 0
    while line := file.readline(MAX_LINE + 2):
        number += 1
        if len(line.rstrip(b"\r\n")) > MAX_LINE:
            while line and not line.endswith(b"\n"):
                line = file.readline(2**16)
            yield number, RecordError(f"longer than {MAX_LINE:,} bytes")
        elif line.strip():
            try:
                yield number, parse(line)
            except RecordError as error:
                yield number, error


# ---------------------------------------------------------------------------------------------------------------
# Replaying


class _Table:
    """One table of a game and its tape, played by kernel calls alone."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.states: NDArray[np.void] = np.zeros(1, game.state_dtype)
        self.tapes = game.blank_tapes(1)
        self.mask = np.zeros((1, game.num_actions), np.int8)
        self._action, self._seat = np.zeros(1, np.int64), np.zeros(1, np.int64)
        self._observation = np.zeros((1, game.layout.size), np.float32)
        self._rewards, self._done = np.zeros((1, game.num_seats)), np.zeros(1, np.bool_)

    def deal(self, start: int) -> int:
        """Starts a game. Returns 0, or the kernel's code below -1."""
        code = self.game.deal(self.game.rules, self.states, self.tapes, np.array([start]))
        if code == 0:
            self.game.legal_mask(self.game.rules, self.states, self.mask)
        return code

    def play(self, action: int) -> int:
        """Plays an action id within range; one that is not legal forfeits. Returns -1, or the kernel's code below."""
        self._action[0] = action
        return self.game.step(
            self.game.rules, self.states, self.tapes, self._action, True, False,
            self._seat, self._observation, self.mask, self._rewards, self._done,
        )  # fmt: skip

    @property
    def seat(self) -> int:
        return int(self.states["seat"][0])

    @property
    def over(self) -> bool:
        return bool(self.states["over"][0])

    @property
    def used(self) -> int:
        return int(self.states["draws"][0])

    @property
    def returns(self) -> list[float]:
        numbers: list[float] = self.states["returns"][0, : self.game.num_seats].tolist()
        return numbers


class Frame(NamedTuple):
    """A table of a replayed game: after ``step`` events, the last of which was ``event`` (None after the deal)."""

    step: int
    event: Event | None
    states: NDArray[np.void]  # (1,), the running table itself: copy what you keep


def replay(game: Game, record: GameRecord) -> Iterator[Frame]:
    """Plays a record on the engine, one Frame after the deal and each event, and checks everything that it says.

    ``game`` is the record's own, made of its ``game`` and ``rules``. Raises Departure where the record departs.
    """
    return _replay(game, record, judged=True)


def _replay(game: Game, record: GameRecord, judged: bool) -> Iterator[Frame]:
    """``replay``; ``judged``: result and returns are held against the engine's too."""
    n = game.num_seats
    if record.game != game.name:
        raise Departure(0, None, f"the record is of {record.game}, not of {game.name}")
    for what, found in (("names", record.names), ("returns", record.returns)):
        if len(found) != n:
            raise Departure(0, None, f"{len(found)} {what} for {n} seats")
    if record.start >= n:
        raise Departure(0, None, f"start is seat {record.start}; the seats are 0 to {n - 1}")
    table = _Table(game)
    ids = {name: k for k, name in enumerate(game.outcomes)}
    used = 0

    def chance(step: int, seat: int | None, draws: Sequence[str], run: Callable[[], int]) -> None:
        """Runs a kernel with exactly these outcomes on the tape."""
        nonlocal used
        for name in draws:
            if name not in ids:
                raise Departure(
                    step, seat, f"draw {name!r}: the outcomes are {shortened(', '.join(game.outcomes), 200)}"
                )
        end = used + len(draws)
        if end > game.tape_size:
            raise Departure(step, seat, f"{end} draws so far; a game of these rules has at most {game.tape_size}")
        if draws:
            table.tapes[0, used:end] = [ids[name] for name in draws]
        if end < game.tape_size:
            table.tapes[0, end] = STOP
        code = run()
        if code == STOPPED:
            raise Departure(step, seat, f"the rules draw more than the {len(draws)} recorded here")
        if code < -1:
            raise Departure(step, seat, f"draw {game.outcomes[-2 - code]!r} is not possible here")
        if table.used != end:
            raise Departure(step, seat, f"{len(draws)} draws are recorded here, the rules make {table.used - used}")
        used = end

    chance(0, None, record.deal, lambda: table.deal(record.start))
    if table.seat != record.start:
        raise Departure(0, None, f"seat {table.seat} starts, not seat {record.start}")
    yield Frame(0, None, table.states)
    forfeited = False
    for step, event in enumerate(record.events, 1):
        seat = event.seat
        if table.over:
            raise Departure(step, seat, f"{event.action} comes after the end of the game")
        if seat != table.seat:
            raise Departure(step, seat, f"{event.action} out of turn: seat {table.seat} is to move")
        action = game.action_id.get(event.action, -1)
        if action < 0 or bool(table.mask[0, action]) == event.illegal:
            legal = np.flatnonzero(table.mask[0])
            names = ", ".join(game.action_names[a] for a in legal[:_SHOWN])
            more = f" and {len(legal) - _SHOWN} more" if len(legal) > _SHOWN else ""
            fault = (
                "no action of this game" if action < 0 else "recorded as illegal, but legal" if event.illegal else ""
            )
            raise Departure(step, seat, f"{event.action} is {fault or 'illegal'}; legal: {names}{more}")
        forfeited = event.illegal
        chance(step, seat, event.draws, partial(table.play, action))
        yield Frame(step, event, table.states)
    if not judged:
        return
    last = len(record.events)
    result = UNFINISHED if not table.over else FORFEIT if forfeited else FINISHED
    if record.result != result:
        raise Departure(last, None, f"the record says {record.result}, but here the game is {_IS[result]}")
    if not np.allclose(record.returns, table.returns, rtol=0, atol=1e-6):
        shown = ", ".join(f"{value:.6g}" for value in table.returns)
        raise Departure(last, None, f"the returns are {shown}, not " + ", ".join(f"{v:.6g}" for v in record.returns))


_IS = {FINISHED: "finished", FORFEIT: "ended by a forfeit", UNFINISHED: "not over"}


def verify(game: Game, record: GameRecord) -> Departure | None:
    """Where a record departs from the rules, or None."""
    try:
        for _ in replay(game, record):
            pass
    except Departure as departure:
        return departure
    return None


def completed(game: Game, record: GameRecord) -> GameRecord:
    """The record with the result and the returns that its events lead to. Raises Departure where one is impossible."""
    played = _replay(game, record, judged=False)
    over, returns = False, (0.0,) * game.num_seats
    for frame in played:
        over = bool(frame.states["over"][0])
        returns = tuple(frame.states["returns"][0, : game.num_seats].tolist())
    forfeited = bool(record.events) and record.events[-1].illegal
    result = UNFINISHED if not over else FORFEIT if forfeited else FINISHED
    return replace(record, result=result, returns=returns)


# ---------------------------------------------------------------------------------------------------------------
# Writing


def check_names(game: Game, names: Any) -> tuple[str, ...]:
    """``names`` of the seats, or the agents' names. Raises ValueError for anything but N printable texts."""
    if names is None:
        return tuple(f"player_{seat}" for seat in range(game.num_seats))
    in_order = isinstance(names, Sequence) and not isinstance(names, (str, bytes))  # a set has no first seat
    if not in_order or len(names) != game.num_seats or not all(map(_is_word, names)):
        allowed = f"{game.num_seats} printable texts of 1 to {MAX_NAME} characters"
        raise ValueError(f"names must be {allowed}, not {shortened(repr(names))}")
    return tuple(names)


def _made(
    game: Game,
    names: tuple[str, ...],
    start: int,
    moves: Iterable[tuple[int, int, int]],
    dealt: int,
    tape: NDArray[np.int8],
    state: Any,
    forfeited: bool,
) -> GameRecord:
    """A record of ``moves``: (seat, action id, outcomes used after it). ``dealt``: outcomes used by the deal."""
    drawn = [game.outcomes[k] for k in tape[: int(state["draws"])].tolist()]
    events = []
    used = dealt
    for seat, action, end in moves:
        events.append(Event(seat, game.action_names[action], tuple(drawn[used:end])))
        used = end
    if forfeited:
        last = events[-1]
        events[-1] = Event(last.seat, last.action, last.draws, True)
    over = bool(state["over"])
    result = UNFINISHED if not over else FORFEIT if forfeited else FINISHED
    returns = tuple(state["returns"][: game.num_seats].tolist())
    return GameRecord(
        game.name, game.kwargs, names, start, tuple(drawn[:dealt]), tuple(events), result, returns
    )  # fmt: skip


def trace(
    game: Game,
    start: int,
    actions: Sequence[int],
    tape: NDArray[np.int8],
    states: NDArray[np.void],
    names: Sequence[str] | None,
) -> GameRecord:
    """The record of the game at ``states`` (1,), from who started, its action ids, and its tape (D,), which may be
    blank where the table's seed decided.

    Raises RuntimeError if these do not lead to ``states``: then they are not that game's.
    """
    chosen = check_names(game, names)
    table = _Table(game)
    table.states["seed"] = states["seed"]
    table.states["game"] = states["game"] - np.uint64(1)
    table.tapes[0] = tape
    code = table.deal(start)
    dealt = table.used
    moves = []
    forfeited = False
    for action in actions:
        if code < -1 or table.over:
            break
        seat = table.seat
        forfeited = not table.mask[0, action]
        code = table.play(action)
        moves.append((seat, action, table.used))
    if code < -1 or len(moves) < len(actions) or table.states.tobytes() != states.tobytes():
        raise RuntimeError("what led to this table is not known: its state was not made by the game that was saved")
    return _made(game, chosen, start, moves, dealt, table.tapes[0], states[0], forfeited)


Sink = Callable[[int, GameRecord], None]


class BatchRecorder:
    """Remembers the running game of each table of a batch: who moved, what, and how much of the tape was used.

    A table counts as known from its next deal on.
    """

    def __init__(self, game: Game, num_tables: int, sink: Sink, names: tuple[str, ...]) -> None:
        self.game, self.sink, self.names = game, sink, names
        self._known = np.zeros(num_tables, np.bool_)
        self._length = np.zeros(num_tables, np.int64)  # moves so far
        self._start = np.zeros(num_tables, np.int64)
        self._dealt = np.zeros(num_tables, np.int64)
        self._moves = np.zeros((num_tables, 64, 3), np.int32)  # seat, action, outcomes used

    def begin(self, tables: Any, states: NDArray[np.void]) -> None:
        """Games have just been dealt at ``tables`` of ``states`` (T,)."""
        self._known[tables] = True
        self._length[tables] = 0
        self._start[tables] = states["seat"][tables]
        self._dealt[tables] = states["draws"][tables]

    def forget(self) -> None:
        """The tables were changed from outside."""
        self._known[:] = False

    def add(
        self, tables: NDArray[np.intp], seats: NDArray[np.int64], actions: NDArray[np.int64], states: NDArray[np.void]
    ) -> None:
        """These tables (n,) have made a move; ``seats`` (n,) are those that moved. ``states``: all tables."""
        self._length[~self._known] = 0  # a game whose beginning is unknown is not kept, however long it is
        if self._length.max() == self._moves.shape[1]:
            self._moves = np.concatenate([self._moves, np.zeros_like(self._moves)], axis=1)
        length = self._length[tables]
        for k, values in enumerate((seats, actions, states["draws"][tables])):
            self._moves[tables, length, k] = values
        self._length[tables] += 1

    def record(self, table: int, tape: NDArray[np.int8], state: Any, forfeited: bool = False) -> GameRecord:
        """The game at a table so far. Raises RuntimeError where its beginning was not seen."""
        if not self._known[table]:
            raise RuntimeError(f"the game at table {table} began before it was recorded; the next one will be known")
        moves = self._moves[table, : self._length[table]].tolist()
        dealt, start = int(self._dealt[table]), int(self._start[table])
        return _made(self.game, self.names, start, moves, dealt, tape, state, forfeited)

    def finished(
        self, tables: NDArray[np.intp], tapes: NDArray[np.int8], states: NDArray[np.void], illegal: Sequence[bool]
    ) -> list[tuple[int, GameRecord]]:
        """(table, record) of the games that have ended at ``tables`` (n,); ``illegal`` (n,): by an illegal action."""
        return [
            (table, self.record(table, tapes[table], states[table], forfeited))
            for table, forfeited in zip(tables.tolist(), illegal, strict=True)
            if self._known[table]
        ]


class RecordTaker(Protocol):
    """Whoever is given records one by one: a ``RecordWriter``, or something that counts."""

    def write(self, record: GameRecord) -> None:
        """Take a record of a game that has ended."""
        ...


class RecordWriter:
    """Appends records to a file, each with one ``write`` of its whole line, unbuffered: whatever happens to the
    process, all earlier games are in the file, and at most the line being written is cut off.

    A context manager. Opening a file whose last line is cut off (``cut_off``) gives a RuntimeWarning and leaves that
    line as it is; new games begin on a line of their own. Raises OSError where the file cannot be opened or written.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.games = 0  # written by this writer
        self._file = open(self.path, "a+b", buffering=0)  # noqa: SIM115  # held open on purpose; close() and with
        self.cut_off = self._within = self._ends_within()  # as found; whether it ends within a line now
        if self.cut_off:
            try:
                warnings.warn(CUT_OFF.format(self.path), RuntimeWarning, stacklevel=2)
            except RuntimeWarning:  # where warnings are made errors
                self.close()
                raise

    def _ends_within(self) -> bool:
        try:
            if self._file.seek(0, os.SEEK_END) == 0:
                return False
            self._file.seek(-1, os.SEEK_END)
            return self._file.read(1) != b"\n"
        except OSError:  # a pipe, in which nothing stands before
            return False

    def write(self, record: GameRecord) -> None:
        """Appends a record. ValueError for one that no reader would take; OSError (a full disk) loses this one only."""
        for name in record.names:
            if not _is_word(name):
                raise ValueError(
                    f"names must be printable texts of 1 to {MAX_NAME} characters, not {shortened(repr(name))}"
                )
        data = record.line().encode()
        if len(data) > MAX_LINE:
            raise ValueError(f"a record of {len(data):,} bytes; a line has at most {MAX_LINE:,}")
        whole = (b"\n" if self._within else b"") + data + b"\n"
        written = self._file.write(whole)
        if written != len(whole):
            self._within = self._within if not written else True
            raise OSError(errno.ENOSPC, "a line was written in part only; is the disk full?", self.path)
        self._within = False
        self.games += 1

    @property
    def closed(self) -> bool:
        """Whether it has been closed."""
        return self._file.closed

    def close(self) -> None:
        """Closes the file. Closing twice is allowed."""
        self._file.close()

    def __enter__(self) -> RecordWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
