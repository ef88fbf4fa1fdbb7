"""Logs of COYOTE games that another program played, made into records and checked (rules B, deck ``classic-36``).

Accepted is JSON: a list of rounds, or an object with one under ``rounds`` or ``round_info``. Several games may follow
each other. Keys are compared without case and without anything but letters and digits ("roundInfo" is "round_info"):

    a round    round_count (or round, number; optional); player_info (or players); deck (or pile, draw_pile);
               turn_info (or turns)
    a player   name; life (or lives); card
    a turn     turn_player (or player, name); action (or number, bid): the number announced, -1 a challenge.

Other keys are ignored. Cards are numbers, and 100 = `x2`, 101 = `night`, 102 = `max0`, 103 = `?`. Players stand in the
order of seats; who has no lives may still be listed, with any card, or not. ``deck`` is the pile after the deal, in
order. It may or may not still hold the card that `?` will draw: what is missing of the 36 cards tells. Which end is
drawn from is read off consecutive piles of the whole log.

Every round is checked by itself, from the lives and cards that the log gives, so that one departure does not make the
next ones. The record follows the rules to its end: it stops before the first departure, and where the log stops.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from ..core.arguments import shortened
from ..core.game import Game
from ..core.record import (
    FINISHED,
    UNFINISHED,
    Event,
    GameRecord,
    RecordError,
    completed,
    load_json,
    replay,
)
from .env import game as make_game
from .rules import DECKS

DECK = "classic-36"
CODES = {100: "x2", 101: "night", 102: "max0", 103: "?"}
MAX_BYTES = 64 * 2**20

ROUNDS = ("rounds", "round_info")
ROUND = ("round_count", "round", "number")
PLAYERS = ("player_info", "players")
PILE = ("deck", "pile", "draw_pile")
TURNS = ("turn_info", "turns")
NAME, LIVES, CARD = ("name",), ("life", "lives"), ("card",)
MOVER, ACTION = ("turn_player", "player", "name"), ("action", "number", "bid")


@dataclass
class ImportedGame:
    """What a log says of one game.

    Fields:
        problems: where it departs from the rules, each beginning with its round.
        record: the game up to the first departure, None if it has no beginning.
        ends: why an unfinished record stops where it does.
    """

    problems: list[str] = field(default_factory=list)
    record: GameRecord | None = None
    ends: str = ""


@dataclass
class _Round:
    """One round as the log has it; cards are faces."""

    label: str  # for messages: "round 3"
    number: int | None
    names: list[str]
    lives: list[int]
    cards: list[str]
    pile: list[str]
    turns: list[tuple[str, int]]  # who, number or -1


# ---------------------------------------------------------------------------------------------------------------
# Reading


def _plain(key: str) -> str:
    return "".join(c for c in key.lower() if c.isalnum())


def _get(value: Mapping[str, Any], names: Sequence[str], where: str, optional: bool = False) -> Any:
    """The value of the one key that is called one of ``names``. Raises RecordError if there is none, or more."""
    wanted = [_plain(name) for name in names]
    found = [key for key in value if _plain(key) in wanted]
    if len(found) > 1:
        # "player" and "name" of a turn may both be there; the first in the list is the more telling one.
        found.sort(key=lambda key: wanted.index(_plain(key)))
        if _plain(found[0]) == _plain(found[1]) or value[found[0]] != value[found[1]]:
            raise RecordError(f"{where}: keys {found[0]!r} and {found[1]!r} mean the same and differ")
    if not found:
        if optional:
            return None
        have = shortened(", ".join(map(repr, value)) or "nothing", 200)
        raise RecordError(f"{where}: no key {' or '.join(map(repr, names))}; found: {have}")
    return value[found[0]]


def _mapping(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise RecordError(f"{where} must be an object, not {shortened(repr(value), 60)}")
    return value


def _list(value: object, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise RecordError(f"{where} must be a list, not {shortened(repr(value), 60)}")
    return value


def _whole(value: object, where: str) -> int:
    if type(value) is not int or abs(value) > 10**6:
        raise RecordError(f"{where} must be an integer, not {shortened(repr(value), 60)}")
    return value


def _name(value: object, where: str) -> str:
    text = str(value) if type(value) is int and abs(value) < 10**6 else value
    if not isinstance(text, str) or not 0 < len(text) <= 100 or not text.isprintable():
        raise RecordError(f"{where} must be a printable name, not {shortened(repr(value), 60)}")
    return text


def _face(value: object, where: str) -> str:
    if type(value) is not int:
        raise RecordError(f"{where} must be a card as an integer, not {shortened(repr(value), 60)}")
    face = CODES.get(value, shortened(str(value)) if abs(value) < 10**6 else "?!")
    if face not in DECKS[DECK] or (value not in CODES and face in CODES.values()):
        raise RecordError(f"{where}: {shortened(face)} is no card of {DECK}")
    return face


def _read_round(value: object, place: int) -> _Round:
    where = f"round {place}"
    row = _mapping(value, where)
    given = _get(row, ROUND, where, optional=True)
    number = None if given is None else _whole(given, f"{where}: its number")
    if number is not None:
        where = f"round {number}"
    names, lives, cards = [], [], []
    for k, item in enumerate(_list(_get(row, PLAYERS, where), f"{where}: players"), 1):
        here = f"{where}, player {k}"
        player = _mapping(item, here)
        names.append(_name(_get(player, NAME, here), f"{here}: name"))
        lives.append(_whole(_get(player, LIVES, here), f"{here}: lives"))
        # A player who is out wears no card; what is listed is an old one, or nothing.
        cards.append(_face(_get(player, CARD, here), f"{here}: card") if lives[-1] > 0 else "")
    pile = [_face(card, f"{where}, pile") for card in _list(_get(row, PILE, where), f"{where}: pile")]
    turns = []
    for k, item in enumerate(_list(_get(row, TURNS, where), f"{where}: turns"), 1):
        here = f"{where}, turn {k}"
        turn = _mapping(item, here)
        mover = _name(_get(turn, MOVER, here), f"{here}: player")
        turns.append((mover, _whole(_get(turn, ACTION, here), f"{here}: number")))
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise RecordError(f"{where}: two players are called {twice[0]!r}")
    return _Round(where, number, names, lives, cards, pile, turns)


def _games(rounds: Sequence[_Round]) -> list[list[_Round]]:
    """Rounds by game: a new one begins where the number of rounds, or somebody's lives, starts again."""
    games: list[list[_Round]] = []
    for row in rounds:
        before = games[-1][-1] if games else None
        if before is None:
            again = True
        elif row.number is not None and before.number is not None:
            again = row.number <= before.number
        else:
            old = dict(zip(before.names, before.lives, strict=True))
            again = any(lives > old.get(name, lives) for name, lives in zip(row.names, row.lives, strict=True))
        if again:
            games.append([])
        games[-1].append(row)
    return games


def _next_end(rounds: Sequence[_Round]) -> str | None:
    """Which end of the pile is drawn from, "first" or "last", as piles that shrink tell; None if they do not."""
    ends = set()
    for before, after in itertools.pairwise(rounds):
        size = len(after.pile)
        if 0 < size < len(before.pile):
            head, tail = before.pile[:size] == after.pile, before.pile[-size:] == after.pile
            if head != tail:
                ends.add("last" if head else "first")
    return ends.pop() if len(ends) == 1 else None


# ---------------------------------------------------------------------------------------------------------------
# Checking


def read_log(data: bytes, next_card: str | None = None) -> list[ImportedGame]:
    """The games of a log. ``next_card``: "first" or "last", the end of the pile that is drawn from, if not to be told
    from the log. Raises RecordError, in one sentence, for what has not the accepted form."""
    if len(data) > MAX_BYTES:
        raise RecordError(f"the log is longer than {MAX_BYTES:,} bytes")
    value = load_json(data)
    if isinstance(value, dict):
        value = _get(value, ROUNDS, "the log")
    rows = [_read_round(item, place) for place, item in enumerate(_list(value, "the log's rounds"), 1)]
    end = next_card or _next_end(rows)
    return [_Import(rounds, end).run() for rounds in _games(rows)]


@lru_cache(maxsize=16)
def _single_round(seats: int) -> Game:
    """A game of one round, to count cards with."""
    return make_game(num_players=seats, deck=DECK, lives=1, variants="none", game_end="first_loss")


def _total(cards: Sequence[str], drawn: str | None) -> int:
    """What the engine counts for these cards (B "Count"); ``drawn``: by `?`. RecordError if they cannot lie so."""
    table = _single_round(len(cards))
    draws = () if drawn is None else (drawn,)
    events = (Event(0, "bid_1"), Event(1, "challenge", draws))
    zeros = (0.0,) * len(cards)
    record = GameRecord(table.name, table.kwargs, ("a",) * len(cards), 0, tuple(cards), events, FINISHED, zeros)
    for frame in replay(table, record):
        if frame.step == len(events):
            return int(frame.states["reveal_total"][0])
    raise AssertionError("a challenge ends this game")


def _listing(cards: Counter[str]) -> str:
    return ", ".join(f"{face} ({count})" if count > 1 else face for face, count in cards.items())


@dataclass
class _Checked:
    """A round held against the rules, by seat."""

    row: _Round
    lives: list[int]
    worn: list[str]  # "" = nothing
    starter: int = 0  # by the rules
    dealable: bool = True  # this deal can follow what the rules make of the round before
    early: list[str] = field(default_factory=list)  # departures before the first turn
    faults: list[str] = field(default_factory=list)  # departures in the turns
    moves: list[tuple[int, int]] = field(default_factory=list)  # seat and number or -1, up to the first fault
    drawn: str | None = None  # by `?`
    unknown: str = ""  # why it cannot be told what `?` drew
    pile: Counter[str] | None = None  # before the next deal; None: cannot be told
    settled: tuple[int, int] | None = None  # loser and winner of the challenge, if they can be told

    @property
    def live(self) -> list[int]:
        return [seat for seat, lives in enumerate(self.lives) if lives > 0]

    def order(self) -> list[int]:
        """Live seats clockwise from the starter."""
        n = len(self.lives)
        return [(self.starter + k) % n for k in range(n) if self.lives[(self.starter + k) % n] > 0]


class _Import:
    """One game of a log."""

    def __init__(self, rounds: Sequence[_Round], end: str | None) -> None:
        self.rounds, self.end = rounds, end
        self.names = rounds[0].names

    def run(self) -> ImportedGame:
        first = self.rounds[0]
        n, lives = len(self.names), max(first.lives, default=0)
        result = ImportedGame()
        if not 2 <= n <= 10:
            result.problems.append(f"{first.label}: {n} players; allowed are 2 to 10")
            return result
        headless = []
        if first.number not in (None, 0, 1):
            headless.append(f"{first.label}: the rounds before it are missing")
        elif len(set(first.lives)) > 1 or not 1 <= lives <= 9:
            shown = ", ".join(map(str, first.lives))
            headless.append(f"{first.label}: lives {shown}; a game begins with equal ones, from 1 to 9")
        result.problems += headless
        checked: list[_Checked] = []
        full = Counter(DECKS[DECK])
        for row in self.rounds:
            before = checked[-1] if checked else None
            pile = None if headless and before is None else full if before is None else before.pile
            item = self.check(row, before, pile)
            if isinstance(item, str):
                result.problems.append(f"{row.label}: {item}; what follows is not checked")
                break
            checked.append(item)
            result.problems += [f"{row.label}: {problem}" for problem in (*item.early, *item.faults)]
        for item, after in itertools.pairwise(checked):
            if item.settled is None and not item.faults and not item.unknown:
                result.problems.append(f"{item.row.label}: no challenge ends it, but {after.row.label} follows")
        if not headless and checked and checked[0].dealable:
            self.make(result, checked, lives)
        return result

    def check(self, row: _Round, before: _Checked | None, pile: Counter[str] | None) -> _Checked | str:
        """One round by itself. ``pile``: what the rules leave in it before this deal, None where that is not known.
        Returns what is wrong with the players where they make no round of this game."""
        strange = [name for name in row.names if name not in self.names]
        if strange:
            return f"{strange[0]!r} was not among the players of the first round"
        seats = [self.names.index(name) for name in row.names]
        if seats != sorted(seats):
            return "the players stand in another order than in the first round"
        lives, worn = [0] * len(self.names), [""] * len(self.names)
        for seat, left, card in zip(seats, row.lives, row.cards, strict=True):
            lives[seat], worn[seat] = left, card
        item = _Checked(row, lives, worn)
        if min(lives) < 0 or len(item.live) < 2:
            return f"{len(item.live)} players have lives left"
        if before is not None and row.number is not None and before.row.number is not None:
            if row.number != before.row.number + 1:
                item.early.append(f"it follows {before.row.label}")
                item.dealable, before, pile = False, None, None

        # Who begins, as the log has it where the rules do not say.
        begins = self.names.index(row.turns[0][0]) if row.turns and row.turns[0][0] in self.names else -1
        item.starter = begins if begins in item.live else item.live[0]
        if before is not None and before.settled is not None:
            loser, winner = before.settled
            due = before.lives.copy()
            due[loser] -= 1
            for seat, name in enumerate(self.names):
                if lives[seat] != due[seat]:
                    item.early.append(f"{name} has {lives[seat]} lives, by the rules {due[seat]}")
            item.dealable = [v > 0 for v in lives] == [v > 0 for v in due]
            starter = loser if due[loser] > 0 else winner
            if item.dealable:
                item.starter = starter
                if begins >= 0 and begins != starter:
                    item.early.append(f"{self.names[begins]} begins, by the rules {self.names[starter]}")
        elif before is not None:
            item.dealable = False  # nobody knows what the rules make of the round before
        self.check_cards(item, pile)
        self.check_turns(item, begins)
        return item

    def check_cards(self, item: _Checked, pile: Counter[str] | None) -> None:
        """The cards worn, the pile listed, and what `?` draws."""
        full, worn, listed = Counter(DECKS[DECK]), Counter(filter(None, item.worn)), Counter(item.row.pile)
        if not worn <= full or (pile is not None and not (worn <= pile or pile <= worn)):
            short = worn - (pile if pile is not None and worn <= full else full)
            item.early.append(f"{_listing(short)} is worn, but was not left in the pile")
            item.dealable, item.unknown = False, "the cards are not those of the deck"
            return
        draws = worn["?"] > 0
        if pile is None:  # all that can be said is that no card is there twice
            due = listed
            if not listed + worn <= full:
                item.early.append(f"{_listing(listed + worn - full)} is there more often than in the deck")
            if draws:
                item.unknown = "how far the pile was drawn is not known"
        else:
            # The discards, all that is not worn, became the pile where it did not suffice.
            due = pile - worn if worn <= pile else full - worn
        missing, extra = due - listed, listed - due
        if draws and not item.unknown:
            if not missing and not extra:
                if not due:
                    item.unknown = "the pile was empty and its shuffled discards are not in the log"
                elif self.end is None and len(due) > 1:
                    item.unknown = "nothing tells which end of the pile is drawn from"
                else:
                    item.drawn = item.row.pile[0 if self.end == "first" else -1]
                    due = due - Counter([item.drawn])
            else:
                if not due and not extra:
                    due = full - worn
                    missing, extra = due - listed, listed - due
                if missing.total() == 1 and not extra:
                    item.drawn = next(iter(missing))
                    due, missing = listed, Counter()
        if missing or extra:
            lacks = f"lacks {_listing(missing)}" if missing else ""
            more = f"has {_listing(extra)} too many" if extra else ""
            item.early.append(f"the pile {' and '.join(filter(None, (lacks, more)))}")
            if draws and item.drawn is None:
                item.unknown = "the pile is wrong"
            return
        if item.unknown:
            if item.unknown.startswith("nothing tells"):
                item.early.append(f"what `?` drew is not known: {item.unknown} (--next-card says it)")
            return
        item.pile = full if "night" in (*worn, item.drawn) else due

    def check_turns(self, item: _Checked, begins: int) -> None:
        """Whose turn it is, what may be announced, and who loses."""
        cap = _single_round(len(item.live)).config.max_bid()
        standing, announcer, challenger = 0, -1, -1
        due = begins if begins in item.live else item.starter
        for place, (name, number) in enumerate(item.row.turns, 1):
            where = f"turn {place}"
            seat = self.names.index(name) if name in self.names else -1
            if challenger >= 0:
                item.faults.append(f"{where}: {name} moves after the challenge")
                break
            if seat not in item.live:
                item.faults.append(f"{where}: {name} is no live player")
                continue
            if seat != due:
                item.faults.append(f"{where}: {name} moves out of turn, it is {self.names[due]}'s")
            due = next(k % len(self.names) for k in range(seat + 1, seat + 99) if item.lives[k % len(self.names)] > 0)
            if number == -1:
                if standing == 0:
                    item.faults.append(f"{where}: {name} challenges before any number")
                    continue
                challenger = seat
            elif number < 1:
                item.faults.append(f"{where}: {name} says {number}, which is no number from 1 and no challenge (-1)")
                continue
            else:
                if number <= standing:
                    item.faults.append(f"{where}: {name} announces {number}, not more than the standing {standing}")
                elif number > cap:
                    live = f"{len(item.live)} live players"
                    item.faults.append(f"{where}: {name} announces {number}; with {live} no total is above {cap}")
                standing, announcer = number, seat
            if not item.faults:
                item.moves.append((seat, number))
        if challenger < 0 or challenger == announcer or item.unknown:
            return
        cards = [item.worn[seat] for seat in item.live]
        try:
            total = _total(cards, item.drawn)
        except RecordError:
            return
        item.settled = (challenger, announcer) if total >= standing else (announcer, challenger)

    def make(self, result: ImportedGame, checked: Sequence[_Checked], lives: int) -> None:
        """The record of what follows the rules."""
        game = make_game(num_players=len(self.names), deck=DECK, lives=lives, variants="none")
        events: list[Event] = []
        deal: tuple[str, ...] = ()
        challenge: Event | None = None  # waits for the next deal, which it causes
        ends = "a departure from the rules"
        for place, item in enumerate(checked):
            if not item.dealable:
                break
            faces = tuple(item.worn[seat] for seat in item.order())
            if challenge is None:
                deal = faces
            else:
                events.append(challenge._replace(draws=(*challenge.draws, *faces)))
                challenge = None
            if item.early:
                break
            events += [Event(seat, f"bid_{number}") for seat, number in item.moves if number > 0]
            if item.faults:
                break
            if not item.moves or item.moves[-1][1] > 0:
                ends = "the log ends within a round" if place == len(checked) - 1 else "a round without a challenge"
                break
            if item.settled is None:
                ends = f"what `?` drew is not known: {item.unknown}"
                break
            challenge = Event(item.moves[-1][0], "challenge", () if item.drawn is None else (item.drawn,))
        else:
            ends = "the log ends before the next deal"
            last = checked[-1]
            if challenge is not None and last.settled is not None:
                if sum(v - (seat == last.settled[0]) > 0 for seat, v in enumerate(last.lives)) == 1:
                    events.append(challenge)
        n = len(self.names)
        record = GameRecord(
            game.name, game.kwargs, tuple(self.names), checked[0].starter, deal, tuple(events), UNFINISHED, (0.0,) * n
        )
        try:
            record = completed(game, record)
        except RecordError as error:
            result.problems.append(f"{checked[0].row.label}: the game as a whole cannot be replayed: {error}")
            return
        result.record = record
        result.ends = "" if record.result == FINISHED else ends
