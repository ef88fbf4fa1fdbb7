"""`coyote records`: verify, show and count recorded games, and import logs of games played elsewhere.

Exit status: 0 if all was fine, 1 if something was found, 2 if the command could not do its work.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from coyote_env.arena.stats import wilson
from coyote_env.core.arguments import shortened
from coyote_env.core.game import Game
from coyote_env.core.record import (
    CUT_OFF,
    UNFINISHED,
    Frame,
    GameRecord,
    RecordError,
    RecordWriter,
    read_records,
    replay,
)
from coyote_env.policies import make_game


class _Line(NamedTuple):
    """A line of a file: a record and its game, or what is wrong with it."""

    number: int
    record: GameRecord | None
    game: Game | None
    error: RecordError | None


@lru_cache(maxsize=64)
def _game(name: str, rules: str) -> Game:
    try:
        given = json.loads(rules)
        game = make_game(name, given)
        # What seats see is no rule, and may be slow to make.
        return make_game(name, {**game.kwargs, **dict.fromkeys(game.sight, False)})
    except (TypeError, ValueError, OverflowError) as error:
        raise RecordError(f"game or rules: {shortened(str(error), 300)}") from None


def game_of(record: GameRecord) -> Game:
    """The game that a record names, one of ours. Raises RecordError for an unknown one or rules that it refuses."""
    try:
        return _game(record.game, json.dumps(record.rules, sort_keys=True))
    except RecursionError:
        raise RecordError("game or rules: nested too deeply") from None


def _lines(path: Path) -> Iterator[_Line]:
    for number, found in read_records(path):
        if isinstance(found, RecordError):
            yield _Line(number, None, None, found)
            continue
        try:
            yield _Line(number, found, game_of(found), None)
        except RecordError as error:
            yield _Line(number, found, None, error)


def open_writer(path: Path) -> RecordWriter:
    """A writer that says on the terminal, in one line, what it would warn of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        writer = RecordWriter(path)
    if writer.cut_off:
        print(CUT_OFF.format(path), file=sys.stderr)
    return writer


def _many(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def verify(arguments: argparse.Namespace) -> int:
    """Replays every game of a file and prints where it departs from the rules."""
    games = unfinished = bad = 0
    for line in _lines(arguments.file):
        games += 1
        error = line.error
        if line.record is not None and line.game is not None:
            try:
                for _ in replay(line.game, line.record):
                    pass
                unfinished += line.record.result == UNFINISHED
            except RecordError as departure:
                error = departure
        if error is not None:
            bad += 1
            print(f"{arguments.file}:{line.number}: {error}")
    note = f" ({unfinished:,} unfinished)" if unfinished else ""
    print(f"{_many(games, 'line')}: {_many(games - bad, 'game')} by the rules{note}, {bad:,} at fault")
    return 1 if bad else 0


def show(arguments: argparse.Namespace) -> int:
    """Steps through one game as text."""
    for line in _lines(arguments.file):
        if line.number == arguments.game:
            break
    else:
        raise ValueError(f"{arguments.file} has no game in line {arguments.game}")
    if line.error is not None or line.record is None or line.game is None:
        print(f"{arguments.file}:{line.number}: {line.error}", file=sys.stderr)
        return 1
    game, record, viewer = line.game, line.record, arguments.seat
    if viewer is not None:
        game.check_seat(viewer, "--seat")
    print(", ".join(f"player_{seat}: {name}" for seat, name in enumerate(record.names)))
    try:
        for frame in replay(game, record):
            print(f"\n--- step {frame.step}: {_told(frame, record, viewer)}\n")
            print(game.render_text(game, frame.states, viewer))
    except RecordError as departure:
        print(f"{arguments.file}:{line.number}: {departure}", file=sys.stderr)
        return 1
    print(f"\n{record.result}")
    return 0


def _told(frame: Frame, record: GameRecord, viewer: int | None) -> str:
    """What happened, as far as ``viewer`` may know it by itself: what others did publicly, the table shows."""
    event = frame.event
    draws = record.deal if event is None else event.draws
    drawn = f", drawn: {', '.join(draws)}" if draws and viewer is None else ""
    if event is None:
        return f"the deal, player_{record.start} begins{drawn}"
    if viewer not in (None, event.seat):
        return f"player_{event.seat} has moved"
    return f"player_{event.seat} {event.action}" + (" (illegal: a forfeit)" if event.illegal else "") + drawn


class _Counts:
    """Statistics of the games of one set of rules."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.results: Counter[str] = Counter()
        self.lengths: list[int] = []
        self.wins = [0.0] * game.num_seats
        self.returns = [0.0] * game.num_seats
        self.names: dict[str, list[float]] = {}  # wins, seats taken
        self.tally = game.tally(game)

    def add(self, record: GameRecord, frames: list[Frame]) -> None:
        """A game that follows the rules, with copies of all its tables."""
        self.results[record.result] += 1
        for frame in frames:
            self.tally.add(frame)
        if record.result == UNFINISHED:
            return
        self.lengths.append(len(record.events))
        best = max(record.returns)
        winners = [seat for seat, value in enumerate(record.returns) if value > best - 1e-9]
        for seat, name in enumerate(record.names):
            won = 1 / len(winners) if seat in winners else 0.0
            self.wins[seat] += won
            self.returns[seat] += record.returns[seat]
            entry = self.names.setdefault(name, [0.0, 0.0])
            entry[0] += won
            entry[1] += 1

    def print(self) -> None:
        """For people."""
        rules = ", ".join(f"{key}={value}" for key, value in self.game.kwargs.items())
        print(f"{self.game.name} ({rules})")
        ended = len(self.lengths)
        print(
            f"{_many(sum(self.results.values()), 'game')}: " + ", ".join(f"{n:,} {r}" for r, n in self.results.items())
        )
        if ended:
            mean = sum(self.lengths) / ended
            print(f"actions a game: {mean:.1f} on average, {min(self.lengths)} to {max(self.lengths)}")
            for seat in range(self.game.num_seats):
                low, high = wilson(min(self.wins[seat], ended), ended)
                print(
                    f"  seat {seat}: won {self.wins[seat] / ended:.1%} ({low:.1%} to {high:.1%}), "
                    f"mean return {self.returns[seat] / ended:+.3f}"
                )
            if set(self.names) != {f"player_{seat}" for seat in range(self.game.num_seats)}:
                for name, (wins, seats) in self.names.items():
                    print(f"  {name}: won {wins / seats:.1%} of {_many(int(seats), 'seat')}")
        print("\n".join(self.tally.lines()))


def stats(arguments: argparse.Namespace) -> int:
    """Counts over the games of a file that follow the rules; the others are named."""
    groups: dict[str, _Counts] = {}
    bad = 0
    for line in _lines(arguments.file):
        error = line.error
        if line.record is not None and line.game is not None:
            try:
                # All of it first: a game at fault must not be counted in part.
                frames = [frame._replace(states=frame.states.copy()) for frame in replay(line.game, line.record)]
                key = line.game.name + json.dumps(dict(line.game.kwargs), sort_keys=True)
                if key not in groups:
                    groups[key] = _Counts(line.game)
                groups[key].add(line.record, frames)
            except RecordError as departure:
                error = departure
        if error is not None:
            bad += 1
            print(f"{arguments.file}:{line.number}: {error}", file=sys.stderr)
    for place, counts in enumerate(groups.values()):
        if place:
            print()
        counts.print()
    if not groups:
        print("no games")
    return 1 if bad else 0


def import_log(arguments: argparse.Namespace) -> int:
    """Makes records of a log of another program, and prints where that departs from the rules."""
    from coyote_env.coyote.import_log import read_log

    games = read_log(arguments.log.read_bytes(), arguments.next_card)
    found = 0
    made = []
    for place, game in enumerate(games, 1):
        for problem in game.problems:
            found += 1
            print(f"{arguments.log}: game {place}, {problem}")
        if game.record is not None:
            made.append(game.record)
            part = "" if game.record.result != UNFINISHED else f", unfinished: {game.ends}"
            print(f"{arguments.log}: game {place}: {_many(len(game.record.events), 'event')} recorded{part}")
    if arguments.records is not None and made:
        with open_writer(arguments.records) as writer:
            for record in made:
                writer.write(record)
    print(f"{_many(len(games), 'game')}, {_many(len(made), 'record')}, {_many(found, 'departure')} from the rules")
    return 1 if found else 0
