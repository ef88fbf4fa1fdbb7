"""The rules of COYOTE as data: editions, decks, and what makes sense of both.

An edition is a set of defaults, never a branch in the engine: every field can be overridden (a "house game").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

import numpy as np

from ..core.arguments import choice, flag, integer, unknown_argument

MAX_SEATS = 10
MAX_FACES = 24
MAX_CARDS = 128
# Numbers above this would need an action space that no policy handles; no printed deck comes near (190).
MAX_NUMBER = 9999

VARIANTS = ("idem", "reverse", "again", "double", "extra_feather", "next_is")
SPECIALS = ("?", "max0", "max-", "night", "x2")

DECKS: dict[str, dict[str, int]] = {
    # The Gigamic 2011 box: 22 green, 3 red, 5 blue. No public source gives the split of the greens: assumed.
    "feathers-30": {
        **{str(v): 2 for v in range(1, 11)}, "15": 1, "20": 1, "-5": 2, "-10": 1,
        "?": 1, "max0": 1, "max-": 1, "night": 1, "x2": 1,
    },
    # The documented deck of the 2003 and Japanese editions.
    "classic-36": {
        **{str(v): 4 for v in range(1, 6)}, "10": 3, "15": 2, "20": 1, "0": 3, "-5": 2, "-10": 1,
        "night": 1, "x2": 1, "max0": 1, "?": 1,
    },
    # "About 110" cards; the counts of the four animals are not given: assumed.
    "animals-110": {"1": 28, "2": 28, "4": 27, "6": 27},
    "peek-17": {
        "-10": 1, "-5": 1, **{str(v): 1 for v in range(11)}, "15": 1, "20": 1, "?": 1, "max0": 1,
    },
    "mini-4": {"1": 1, "2": 1, "3": 1, "4": 1},
}  # fmt: skip

RESHUFFLES = ("when_needed", "every_round")
STARTERS = ("loser", "after_loser")
STARTERS_IF_OUT = ("winner", "left")
GAME_ENDS = ("last_standing", "first_loss")
REWARDS = ("win", "placement", "round")

EDITIONS: dict[str, dict[str, Any]] = {
    "gigamic-2011": {
        "num_players": 4, "deck": "feathers-30", "lives": 3, "variants": VARIANTS, "peek": False, "trickster": False,
        "reshuffle": "when_needed", "starter": "loser", "starter_if_out": "winner", "game_end": "last_standing",
        "reward": "win",
    },
    "animals": {
        "num_players": 4, "deck": "animals-110", "lives": 3, "variants": (), "peek": False, "trickster": False,
        "reshuffle": "when_needed", "starter": "after_loser", "starter_if_out": "left", "game_end": "last_standing",
        "reward": "win",
    },
    "peek": {
        "num_players": 4, "deck": "peek-17", "lives": 3, "variants": (), "peek": True, "trickster": False,
        "reshuffle": "every_round", "starter": "loser", "starter_if_out": "left", "game_end": "last_standing",
        "reward": "win",
    },
    "trickster": {
        "num_players": 4, "deck": "peek-17", "lives": 3, "variants": (), "peek": True, "trickster": True,
        "reshuffle": "every_round", "starter": "loser", "starter_if_out": "left", "game_end": "last_standing",
        "reward": "win",
    },
    # The smallest game that still bluffs; small enough to be solved exactly.
    "mini": {
        "num_players": 2, "deck": "mini-4", "lives": 1, "variants": (), "peek": False, "trickster": False,
        "reshuffle": "every_round", "starter": "loser", "starter_if_out": "left", "game_end": "first_loss",
        "reward": "win",
    },
}  # fmt: skip
SEATS = {edition: (2, 3 if edition == "mini" else MAX_SEATS) for edition in EDITIONS}
# Closed Peek cards at the start (D, E), by `trickster`; a seat with fewer lives has none but closed ones.
CLOSED_PEEKS = {False: 1, True: 2}


def _parse_deck(deck: object) -> tuple[tuple[str, int], ...]:
    """Faces with their counts, numbers ascending first, then the specials: one order for one deck."""
    if isinstance(deck, str):
        if deck not in DECKS:
            raise ValueError(f"deck must be one of {', '.join(map(repr, DECKS))} or {{face: count}}, not {deck!r}")
        deck = DECKS[deck]
    if not isinstance(deck, Mapping) or not deck:
        raise ValueError(f"deck must be a name or {{face: count}} with at least one face, not {deck!r}")
    counts: dict[str, int] = {}
    for key, value in deck.items():
        face = str(key) if isinstance(key, (int, np.integer)) and not isinstance(key, bool) else key
        is_number = isinstance(face, str) and re.fullmatch(r"0|-?[1-9][0-9]?", face) is not None
        if not is_number and face not in SPECIALS:
            raise ValueError(
                f"deck: {key!r} is no face; allowed are numbers from -99 to 99 and {', '.join(map(repr, SPECIALS))}"
            )
        if face in counts:
            raise ValueError(f"deck: face {face!r} is given twice")
        counts[face] = integer(f"deck: count of {face!r}", value, 1, MAX_CARDS)
    if len(counts) > MAX_FACES:
        raise ValueError(f"deck has {len(counts)} different faces; at most {MAX_FACES} are allowed")
    if sum(counts.values()) > MAX_CARDS:
        raise ValueError(f"deck has {sum(counts.values())} cards; at most {MAX_CARDS} are allowed")
    numbers = sorted((f for f in counts if f not in SPECIALS), key=int)
    return tuple((f, counts[f]) for f in (*numbers, *(f for f in SPECIALS if f in counts)))


def _parse_variants(variants: object) -> tuple[str, ...]:
    if isinstance(variants, str) and variants in ("all", "none"):
        return VARIANTS if variants == "all" else ()
    what = f"a subset of {', '.join(map(repr, VARIANTS))}, 'all' or 'none'"
    if isinstance(variants, (str, bytes, Mapping)) or not isinstance(variants, Iterable):
        raise ValueError(f"variants must be {what}, not {variants!r}")
    names = list(variants)
    for name in names:
        if not isinstance(name, str) or name not in VARIANTS:
            raise ValueError(f"variants: {name!r} is unknown; allowed is {what}")
        if names.count(name) > 1:
            raise ValueError(f"variants: {name!r} is given twice")
    return tuple(v for v in VARIANTS if v in names)


@lru_cache(maxsize=1024)
def extreme_totals(deck: tuple[tuple[str, int], ...], fewest: int, most: int) -> tuple[int, int]:
    """(least, largest) total that ``fewest..most`` cards of ``deck`` in play can count, ``?`` draws included.

    Exact (B, "Count"): of the multisets that can lie on the table, the best for each number of specials.
    ``?`` draws until a card that is none, so ``c`` cards in play of which q are ``?`` end as c cards that are no
    ``?`` (fewer only where the whole deck lies on the table): ``?`` never changes how many cards count, it only adds
    ways to get them. So with one ``?`` played, c - 1 worn cards and one drawn count: any c cards that are no ``?``
    can be on the table anyway, and the ``?`` adds nothing but these.
    """
    counts = dict(deck)
    numbers = [(int(f), n) for f, n in deck if f not in SPECIALS]
    plain = sorted([*numbers, (0, counts.get("night", 0))], reverse=True)  # night is worth nothing, like a 0
    solid = sum(counts.values()) - counts.get("?", 0)
    results: set[int] = set()
    for cards in range(fewest, most + 1):
        countable = min(cards, solid)
        for doubles in range(min(counts.get("x2", 0), countable) + 1):
            for removed in range(min(counts.get("max0", 0), countable - doubles) + 1):
                for negated in range(min(counts.get("max-", 0), countable - doubles - removed) + 1):
                    rest = countable - doubles - removed - negated
                    for best in (max, min):
                        total = _best_sum(plain, rest, removed, negated, best)
                        if total is not None:
                            results.add(total * 2**doubles)
    return min(results), max(results)


def _best_sum(plain: list[tuple[int, int]], cards: int, removed: int, negated: int, best: Any) -> int | None:
    """Best sum of exactly ``cards`` number cards (faces descending), of whose greens the ``removed`` highest count
    0 and the ``negated`` next count negative. None where there are not so many cards."""
    sums: dict[int, int] = {0: 0}  # cards taken so far -> best sum; greens come first, so taken = greens taken
    for value, available in plain:
        grown: dict[int, int] = {}
        for taken, total in sums.items():
            for n in range(min(available, cards - taken) + 1):
                if value > 0:
                    gone = max(0, min(removed - taken, n))
                    turned = max(0, min(removed + negated - taken, n) - gone)
                    added = value * (n - gone - 2 * turned)
                else:
                    added = value * n
                key = taken + n
                grown[key] = best(grown[key], total + added) if key in grown else total + added
        sums = grown
    return sums.get(cards)


@dataclass(frozen=True, init=False)
class Rules:
    """One table's rules. Fields not given come from the edition. (Letters name sections of this game's page.)

    Fields:
        edition: "gigamic-2011", "animals", "peek", "trickster" or "mini".
        num_players: seats, 2..10 (mini: 2 or 3).
        deck: name of a deck, or {face: count}; faces are numbers -99..99 and "?", "max0", "max-", "night", "x2".
        lives: 1..9.
        variants: subset of the six variant actions, "all" or "none".
        peek: lives are Peek cards, open or closed, and a card lies face down in the centre (D).
        closed_peeks: how many of the lives are closed Peek cards at the start, 0..lives (default with ``peek``: 1, with
            ``trickster``: 2, at most ``lives``); 0 without ``peek``.
        trickster: pointing and the Coyote card (E); needs ``peek``.
        reshuffle: "when_needed" (the pile is empty) or "every_round".
        starter: who starts the next round: "loser", or "after_loser" (the next live seat).
        starter_if_out: who starts if that loser is eliminated: "winner" of the challenge, or "left" (next live seat).
        game_end: "last_standing", or "first_loss" (over at the first life lost).
        reward: "win", "placement" or "round" (H).

    Raises ValueError naming the field, the value and what is allowed; TypeError for unknown keywords.
    """

    edition: str
    num_players: int
    deck: str | Mapping[str, int]
    lives: int
    variants: tuple[str, ...]
    peek: bool
    closed_peeks: int
    trickster: bool
    reshuffle: str
    starter: str
    starter_if_out: str
    game_end: str
    reward: str

    def __init__(
        self,
        edition: str = "gigamic-2011",
        *,
        num_players: int | None = None,
        deck: str | Mapping[Any, int] | None = None,
        lives: int | None = None,
        variants: str | Iterable[str] | None = None,
        peek: bool | None = None,
        closed_peeks: int | None = None,
        trickster: bool | None = None,
        reshuffle: str | None = None,
        starter: str | None = None,
        starter_if_out: str | None = None,
        game_end: str | None = None,
        reward: str | None = None,
        **unknown: object,
    ) -> None:
        if unknown:
            raise unknown_argument(self, next(iter(unknown)))
        given = {
            "num_players": num_players, "deck": deck, "lives": lives, "variants": variants, "peek": peek,
            "trickster": trickster, "reshuffle": reshuffle, "starter": starter, "starter_if_out": starter_if_out,
            "game_end": game_end, "reward": reward,
        }  # fmt: skip
        choice("edition", edition, EDITIONS)
        value = EDITIONS[edition] | {name: v for name, v in given.items() if v is not None}
        cards = _parse_deck(value["deck"])

        def put(name: str, checked: object) -> None:
            object.__setattr__(self, name, checked)

        put("edition", edition)
        put("num_players", integer("num_players", value["num_players"], *SEATS[edition]))
        put("deck", value["deck"] if isinstance(value["deck"], str) else dict(cards))
        put("lives", integer("lives", value["lives"], 1, 9))
        put("variants", _parse_variants(value["variants"]))
        put("peek", flag("peek", value["peek"]))
        put("trickster", flag("trickster", value["trickster"]))
        if self.trickster and not self.peek:
            raise ValueError("trickster must be False without peek, not True: it plays with Peek cards")
        usual = min(CLOSED_PEEKS[self.trickster], self.lives) if self.peek else 0
        most = self.lives if self.peek else 0  # without Peek cards none can be closed
        put("closed_peeks", integer("closed_peeks", usual if closed_peeks is None else closed_peeks, 0, most))
        put("reshuffle", choice("reshuffle", value["reshuffle"], RESHUFFLES))
        put("starter", choice("starter", value["starter"], STARTERS))
        put("starter_if_out", choice("starter_if_out", value["starter_if_out"], STARTERS_IF_OUT))
        put("game_end", choice("game_end", value["game_end"], GAME_ENDS))
        put("reward", choice("reward", value["reward"], REWARDS))
        put("_cards", cards)

        if self.deck_size < self.num_players + self.peek:
            what = f"{self.num_players} seats{' and the centre' if self.peek else ''}"
            raise ValueError(f"deck has {self.deck_size} cards; {what} need at least {self.num_players + self.peek}")
        for live in range(2, self.num_players + 1):
            if not 1 <= self.max_bid(live) <= MAX_NUMBER:
                raise ValueError(
                    f"deck: its largest total with {live} live seats is {self.max_bid(live)}; "
                    f"allowed is 1 to {MAX_NUMBER}, so that there is a number to announce"
                )

    def __hash__(self) -> int:  # a custom deck is a dict, which has no hash of its own
        return hash((self.edition, self.num_players, self.cards, self.lives, self.variants))

    @property
    def cards(self) -> tuple[tuple[str, int], ...]:
        """(face, count) of the deck, numbers ascending, then ``?``, ``max0``, ``max-``, ``night``, ``x2``."""
        return self._cards  # type: ignore[attr-defined, no-any-return]  # set in __init__; not a field, not compared

    @property
    def faces(self) -> tuple[str, ...]:
        """The different faces of the deck, in the order of ``cards``."""
        return tuple(face for face, _ in self.cards)

    @property
    def deck_size(self) -> int:
        """Cards in the deck."""
        return sum(count for _, count in self.cards)

    @property
    def max_rounds(self) -> int:
        """Most rounds of a game: each costs a life, and the last live seat keeps one."""
        return 1 if self.game_end == "first_loss" else self.num_players * self.lives - 1

    @property
    def max_draws(self) -> int:
        """Most cards that a game can draw: in a round no card twice, and only to lie on the table or for a ``?``."""
        return self.max_rounds * min(
            self.deck_size, self._cards_in_play(self.num_players)[1] + dict(self.cards).get("?", 0)
        )

    def _cards_in_play(self, live: int) -> tuple[int, int]:
        """(fewest, most) cards that ``live`` seats can have on the table, without what ``?`` draws."""
        fewest = live + self.peek
        return fewest, min(fewest + self.trickster + ("extra_feather" in self.variants), self.deck_size)

    def longest_round(self, live: int) -> int:
        """Most decisions of a round with ``live`` live seats, but for discards and the Coyote card.

        Let ``top`` be the cap of that round. Every decision is one of these:

        - A number. Without `again` the numbers given rise strictly within 1..top: at most ``top``. `again` refuses one
          of them, r, and its replacement must exceed the number before r. So the numbers without r still rise strictly:
          at most ``top``, and r makes ``top + 1`` (2 refused, then 1, 2, 3, ...). It needs top > 1, as does `reverse`,
          which obliges somebody to raise.
        - The challenge: one, as it ends the round.
        - A variant action: each at most once a round by the whole table, if it can be used at all: `extra_feather`
          needs a card beyond those worn, `next_is` a third live seat.
        - `peek`, with ``peek``: once a seat, and each is followed by that seat's raise of a standing number, of which
          there are at most top - 1.
        - Pointing, with ``trickster``: each live seat that is not in the challenge, once.

        This is reached with any cards where every seat can peek, unless top is 1 (see ``longest_game``).
        """
        top = min(self.max_bid(live), self.max_bid())  # as engine.pack: ids run to max_bid(N)
        spare = self.deck_size - live - self.peek
        possible = {
            "idem": True,
            "reverse": top > 1,
            "again": top > 1,
            "double": True,
            "extra_feather": spare > 0,
            "next_is": live > 2,
        }
        played = sum(possible[variant] for variant in self.variants)
        refused = "again" in self.variants and possible["again"]
        peeking = min(live, top - 1) if self.peek else 0
        pointing = live - 2 if self.trickster else 0
        return top + 1 + played + refused + peeking + pointing

    @property
    def longest_game(self) -> int:
        """Most decisions of one game: no game takes more, and without ``peek`` one can take as many.

        Every round costs its loser a life. For each number of live seats k = N..2 exactly one round eliminates. Any
        other round, at most ``lives - 1`` for each seat, can be charged to its loser: the seat that is eliminated with
        k live seats loses them while at least k are live, the winner at any time. So with R(k) decisions in a round,

            sum over k of R(k) + (lives - 1) * (sum over k of max(R(k), .., R(N)) + max(R(2), .., R(N)))

        bounds the game, and where deals and play choose each loser freely it is reached. (Not in two corners: where the
        cap is 1, a `double` may be challenged at once and then takes two lives; and a deck may not let every seat
        lose every round.) With `first_loss` a game is one round.

        With ``peek`` the loser of a life may be asked which Peek card to discard, unless it was its last; with
        ``trickster`` it then holds the Coyote card for a round, unless it is out: at most lives - 1 each for each seat.
        Open cards to peek with run out before that, so that with ``peek`` the bound need not be reached.
        """
        rounds = [self.longest_round(live) for live in range(2, self.num_players + 1)]  # R(2), .., R(N)
        if self.game_end == "first_loss":
            asked = min(self.lives - 1, 2 if "double" in self.variants else 1)
            return rounds[-1] + (asked if self.peek else 0)
        best = rounds[-1]
        spent = 0
        for length in reversed(rounds):
            best = max(best, length)
            spent += best
        total = sum(rounds) + (self.lives - 1) * (spent + best)
        return total + self.num_players * (self.lives - 1) * (self.peek + self.trickster)

    @property
    def return_bounds(self) -> tuple[float, float]:
        """(least, largest) return of a seat over a game played by the rules; both are reached. Returns sum to 0.

        A forfeit is no play by the rules: it can push others' returns beyond the largest (H).

        `round`: a seat that loses all its lives while nobody else loses one gets -lives. Who wins without losing one
        gets 1 / (k - 1) for each life that others lose with k live; the seat eliminated with k live can lose all of its
        lives then and none later, so lives * (1 + 1/2 + ... + 1/(N - 1)) is the most.
        """
        others = self.num_players - 1
        if self.game_end == "first_loss":
            most = 2 if self.reward == "round" and "double" in self.variants and self.lives > 1 else 1
            return -float(most), most / others
        if self.reward == "round":
            return -float(self.lives), self.lives * sum(1 / k for k in range(1, self.num_players))
        return (-1.0 / others if self.reward == "win" else -1.0), 1.0

    def total_bounds(self, live: int) -> tuple[int, int]:
        """(least, largest) total that a round with ``live`` live seats can count."""
        if not 2 <= live <= self.num_players:
            raise ValueError(f"live must be from 2 to {self.num_players}, not {live!r}")
        return extreme_totals(self.cards, *self._cards_in_play(live))

    def max_bid(self, live: int | None = None) -> int:
        """Largest legal number with ``live`` live seats (default: all), the largest total there can be (A)."""
        return self.total_bounds(self.num_players if live is None else live)[1]

    def as_dict(self) -> dict[str, Any]:
        """JSON-able keyword arguments that make equal rules."""
        value = {f.name: getattr(self, f.name) for f in fields(self)}
        value["variants"] = list(self.variants)
        if isinstance(self.deck, Mapping):
            value["deck"] = dict(self.deck)
        return value
