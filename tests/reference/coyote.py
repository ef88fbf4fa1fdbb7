"""COYOTE in plain Python: the second opinion that the compiled engine is compared with.

Written from the rules alone, to be read beside them: lists, counters and fractions, one clause after another, no
speed. It imports nothing from `coyote_env`. It plays the editions "gigamic-2011", "animals", "peek", "trickster" and
"mini", and every house game that their fields can describe. Cards are face names: "7", "-5", "0", "?", "max0", "max-",
"night", "x2". Seats are 0..N-1 clockwise. Money (rewards, probabilities) is in exact fractions.

It trusts its caller for the values of the rules (refusing bad ones is the engine's business) and for nothing else: an
action that is not legal and a card that is not there raise.
"""

from __future__ import annotations

import copy
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any

VARIANTS = ("idem", "reverse", "again", "double", "extra_feather", "next_is")
SPECIALS = ("?", "max0", "max-", "night", "x2")

FEATHERS_30 = {
    **{str(value): 2 for value in range(1, 11)},
    "15": 1,
    "20": 1,
    "-5": 2,
    "-10": 1,
    **dict.fromkeys(SPECIALS, 1),
}
CLASSIC_36 = {
    **{str(value): 4 for value in range(1, 6)},
    "10": 3,
    "15": 2,
    "20": 1,
    "0": 3,
    "-5": 2,
    "-10": 1,
    "night": 1,
    "x2": 1,
    "max0": 1,
    "?": 1,
}
ANIMALS_110 = {"1": 28, "2": 28, "4": 27, "6": 27}
PEEK_17 = dict.fromkeys(("-10", "-5", *map(str, range(11)), "15", "20", "?", "max0"), 1)
DECKS = {"feathers-30": FEATHERS_30, "classic-36": CLASSIC_36, "animals-110": ANIMALS_110, "peek-17": PEEK_17}

# `closed_peeks` says something only where there are Peek cards; an edition without them begins a house game that adds
# them with all open.
EDITIONS: dict[str, dict[str, Any]] = {
    "gigamic-2011": {
        "num_players": 4,
        "deck": "feathers-30",
        "lives": 3,
        "variants": "all",
        "peek": False,
        "closed_peeks": 0,
        "trickster": False,
        "reshuffle": "when_needed",
        "starter": "loser",
        "starter_if_out": "winner",
        "game_end": "last_standing",
        "reward": "win",
    },
    "animals": {
        "num_players": 4,
        "deck": "animals-110",
        "lives": 3,
        "variants": "none",
        "peek": False,
        "closed_peeks": 0,
        "trickster": False,
        "reshuffle": "when_needed",
        "starter": "after_loser",
        "starter_if_out": "left",
        "game_end": "last_standing",
        "reward": "win",
    },
    "peek": {
        "num_players": 4,
        "deck": "peek-17",
        "lives": 3,
        "variants": "none",
        "peek": True,
        "closed_peeks": 1,
        "trickster": False,
        "reshuffle": "every_round",
        "starter": "loser",
        "starter_if_out": "left",
        "game_end": "last_standing",
        "reward": "win",
    },
    "trickster": {
        "num_players": 4,
        "deck": "peek-17",
        "lives": 3,
        "variants": "none",
        "peek": True,
        "closed_peeks": 2,
        "trickster": True,
        "reshuffle": "every_round",
        "starter": "loser",
        "starter_if_out": "left",
        "game_end": "last_standing",
        "reward": "win",
    },
    "mini": {
        "num_players": 2,
        "deck": {"1": 1, "2": 1, "3": 1, "4": 1},
        "lives": 1,
        "variants": "none",
        "peek": False,
        "closed_peeks": 0,
        "trickster": False,
        "reshuffle": "every_round",
        "starter": "loser",
        "starter_if_out": "left",
        "game_end": "first_loss",
        "reward": "win",
    },
}


def resolve(edition: str = "gigamic-2011", **fields: Any) -> dict[str, Any]:
    """All fields of a game: those of the edition, replaced by the given ones; deck and variants written out."""
    rules = {**EDITIONS[edition], **fields}
    unknown = set(rules) - set(EDITIONS[edition])
    if unknown:
        raise ValueError(f"unknown fields {sorted(unknown)}")
    deck = rules["deck"]
    if isinstance(deck, str):
        deck = DECKS[deck]
    rules["deck"] = {str(face): count for face, count in deck.items()}
    chosen = rules["variants"]
    if chosen == "all":
        chosen = VARIANTS
    elif chosen == "none":
        chosen = ()
    rules["variants"] = frozenset(chosen)
    return rules


# ---------------------------------------------------------------------------------------------------------------------
# Counting


def total_of(cards: Iterable[str]) -> int:
    """The total of cards among which every `?` has been resolved already (a `?` left counts nothing)."""
    cards = list(cards)
    numbers = sorted((int(card) for card in cards if card not in SPECIALS), reverse=True)
    sign = [1] * len(numbers)
    for _ in range(cards.count("max0")):  # each removes the highest green card still there
        for place, number in enumerate(numbers):
            if number > 0 and sign[place] == 1:
                sign[place] = 0
                break
    for _ in range(cards.count("max-")):  # each turns the highest remaining green card that is not turned yet
        for place, number in enumerate(numbers):
            if number > 0 and sign[place] == 1:
                sign[place] = -1
                break
    total = sum(number * factor for number, factor in zip(numbers, sign, strict=True))
    for _ in range(cards.count("x2")):
        total *= 2
    return total


def count(cards_in_play: Iterable[str], draw: Callable[[], str | None]) -> tuple[int, list[str], bool]:
    """Total, the cards drawn by `?` in order, and whether a `night` asks for all cards to be shuffled together.

    `draw()` gives the next card of the pile, None when there is nothing to draw.
    """
    in_play = list(cards_in_play)
    drawn: list[str] = []
    open_draws = in_play.count("?")
    while open_draws > 0:
        card = draw()
        if card is None:
            break
        open_draws -= 1
        drawn.append(card)
        if card == "?":
            open_draws += 1
    counted = in_play + drawn
    return total_of(counted), drawn, "night" in counted


# ---------------------------------------------------------------------------------------------------------------------
# The cap


def max_bid(rules: dict[str, Any], live: int) -> int:
    """The largest total that the deck can reach with `live` seats, for decks of any size.

    A `?` takes a place and brings a card for it, so what counts in the end are as many cards other than `?` as
    were given out, or all of them where the deck has fewer.
    """
    others = {face: amount for face, amount in rules["deck"].items() if face != "?"}
    most = sum(others.values())
    numbers = sorted((int(face) for face in others if face not in SPECIALS), reverse=True)
    amounts = [others[str(number)] for number in numbers]

    @cache
    def best_sum(place: int, cards: int, removals: int, turns: int) -> int | None:
        """Largest sum of `cards` number cards from `numbers[place:]`, the highest hit first; None if too few."""
        if cards == 0:
            return 0
        if place == len(numbers):
            return None
        number, best = numbers[place], None
        for taken in range(min(cards, amounts[place]) + 1):
            removed = min(taken, removals) if number > 0 else 0
            turned = min(taken - removed, turns) if number > 0 else 0
            rest = best_sum(place + 1, cards - taken, removals - removed, turns - turned)
            if rest is not None:
                value = rest + number * (taken - removed - 2 * turned)
                best = value if best is None else max(best, value)
        return best

    results: list[int] = []
    for given_out in _cards_given_out(rules, live):
        wanted = min(given_out, most)
        for removals in range(min(wanted, others.get("max0", 0)) + 1):
            for turns in range(min(wanted - removals, others.get("max-", 0)) + 1):
                for nights in range(min(wanted - removals - turns, others.get("night", 0)) + 1):
                    left = wanted - removals - turns - nights
                    for doublings in range(min(left, others.get("x2", 0)) + 1):
                        value = best_sum(0, left - doublings, removals, turns)
                        if value is not None:
                            results.append(value * 2**doublings)
    return max(results)


def max_bid_brute_force(rules: dict[str, Any], live: int) -> int:
    """The same by trying everything: all hands the deck can give, all cards that `?` can bring. Small decks only."""
    deck = Counter(rules["deck"])
    results: list[int] = []
    for given_out in _cards_given_out(rules, live):
        for hand in _sub_multisets(deck, given_out):
            for drawn in _all_draws(list(hand).count("?"), deck - Counter(hand)):
                results.append(total_of([*hand, *drawn]))
    return max(results)


def _cards_given_out(rules: dict[str, Any], live: int) -> list[int]:
    """How many cards can be in play at a reveal, before `?` draws.

    One for each seat, with `peek` one in the centre. `extra_feather` and the Coyote card can add one each, where the
    deck has a card left for them. (The Coyote card counts as possible wherever there is one, also in games that end
    before anybody can hold it.)
    """
    dealt = live + rules["peek"]
    extra = ("extra_feather" in rules["variants"]) + rules["trickster"]
    return [dealt + more for more in range(extra + 1) if more == 0 or dealt + more <= sum(rules["deck"].values())]


def _sub_multisets(cards: Counter[str], size: int) -> Iterator[tuple[str, ...]]:
    faces = sorted(cards)
    if size == 0:
        yield ()
        return
    for place, face in enumerate(faces):
        for taken in range(1, min(size, cards[face]) + 1):
            later = Counter({other: cards[other] for other in faces[place + 1 :]})
            for rest in _sub_multisets(later, size - taken):
                yield (face,) * taken + rest


def _all_draws(open_draws: int, rest: Counter[str]) -> Iterator[tuple[str, ...]]:
    if open_draws == 0 or not +rest:
        yield ()
        return
    for face in sorted(+rest):
        left = rest - Counter([face])
        for later in _all_draws(open_draws - 1 + (face == "?"), left):
            yield (face, *later)


# ---------------------------------------------------------------------------------------------------------------------
# The game


class IllegalActionError(ValueError):
    """The named action is not legal for the seat to move."""


class ReferenceGame:
    """One table.

    `rules`: what `resolve` returns. `next_face(pile)`: names the card that is drawn from a pile that is not empty
    (chance, or a script). `starter`: the seat that starts the first round.

    To be read at any time:
      seat        the seat to move
      phase       "turn", "again_number" and "reverse_number" (a number is demanded), "after_again", "pointing" (who
                  will win the challenge?), "discard" (which Peek card?), "over"
      must_raise  in phase "turn": the seat to move has peeked or used the Coyote card in this turn, and must announce
      lives       list, one a seat; with Peek cards how many it has, open or closed
      open_peeks, closed_peeks   lists, one a seat: its Peek cards (0 without `peek`)
      worn        list of lists of faces, one a seat
      fresh       like worn: was the card dealt after the pile had run out in this round?
      reshuffled  whether the pile ran out in this round
      centre      the face dealt to the centre, None without `peek`
      peeked      set of seats that have seen it in this round
      coyote_holder   who holds the Coyote card in this round, None while it lies in the middle
      coyote_card     the face that it has put into the centre in this round, None for none
      pile        Counter of faces
      discards    Counter of faces
      revealed    whether all cards in play lie open: while the loser of a challenge chooses, and when it ended the game
      drawn       what `?` drew at that reveal (else empty)
      draws       of this round: (place, face) of all cards drawn before the reveal, in order; a place is a seat,
                  "centre" or "coyote"
      first_pile, first_discards   what pile and discards were before the deal of this round
      bid         the standing number, 0 for none; while `again` waits, what stood before the refused one
      before      the number that stood before it
      refused     the number refused by `again` while another is awaited, else 0
      announcer   whose the standing number is, None for none
      waiting     the seat that demanded a number by `again` or `reverse`, until it is given; else None
      double      whether a challenge now (while it is being settled: this one) costs two lives
      declared    dict: what the seat to move has declared for its number (double, extra_feather, next_is)
      used        set of variants used in this round
      direction   +1 clockwise, -1
      history     of this round: (seat, number, how it came about: "raise", "idem", "again" or "reverse")
      challenger  who has made the challenge that is being settled, else None
      pointed     who points at whom in it: seat -> "announcer" or "challenger". Nobody may see it before the reveal
      owed        how many lives the loser still has to give while it chooses, else 0
      reveal      the last one: dict(total, number, loser, winner, lives, cards, centre, coyote_card, drawn, pointed),
                  None for none; `lives` is what the challenge costs, also while part of it is still owed
      returns     list of fractions, paid so far
      eliminated  seats in the order in which they went out
    """

    seat: int
    phase: str
    must_raise: bool
    worn: list[list[str]]
    fresh: list[list[bool]]
    reshuffled: bool
    centre: str | None
    peeked: set[int]
    coyote_card: str | None
    revealed: bool
    drawn: list[str]
    draws: list[tuple[int | str, str]]
    first_pile: Counter[str]
    first_discards: Counter[str]
    bid: int
    before: int
    refused: int
    announcer: int | None
    waiting: int | None
    double: bool
    declared: dict[str, Any]
    used: set[str]
    direction: int
    history: list[tuple[int, int, str]]
    challenger: int | None
    pointed: dict[int, str]
    owed: int

    def __init__(self, rules: dict[str, Any], next_face: Callable[[Counter[str]], str], starter: int) -> None:
        self.rules = rules
        self.next_face = next_face
        self.num_seats: int = rules["num_players"]
        # Numbers above max_bid(N) have no action id. A deck with more bad cards than good ones can reach more with
        # fewer seats; the ids are the limit there.
        highest_id = max_bid(rules, self.num_seats)
        self.caps = {live: min(max_bid(rules, live), highest_id) for live in range(2, self.num_seats + 1)}
        self.lives = [rules["lives"]] * self.num_seats
        self.closed_peeks = [rules["closed_peeks"] if rules["peek"] else 0] * self.num_seats
        self.open_peeks = [rules["lives"] - rules["closed_peeks"] if rules["peek"] else 0] * self.num_seats
        self.coyote_holder: int | None = None
        self.pile = Counter(rules["deck"])
        self.discards: Counter[str] = Counter()
        self.returns = [Fraction(0)] * self.num_seats
        self.eliminated: list[int] = []
        self.reveal: dict[str, Any] | None = None
        self.over = False
        self._deal(starter)

    # --- questions

    def live(self) -> list[int]:
        return [seat for seat in range(self.num_seats) if self.lives[seat] > 0]

    def cap(self) -> int:
        """The highest number of this round."""
        return self.caps[len(self.live())]

    def neighbour(self, seat: int, direction: int) -> int:
        """The next live seat from `seat` in that direction."""
        seat = (seat + direction) % self.num_seats
        while self.lives[seat] == 0:
            seat = (seat + direction) % self.num_seats
        return seat

    def numbers(self) -> list[int]:
        """The numbers that the seat to move can announce."""
        return [n for n in range(1, self.cap() + 1) if n > self.bid and n != self.refused]

    def legal(self) -> list[str]:
        """Names of the legal actions of the seat to move."""
        if self.over:
            return []
        if self.phase == "pointing":
            return ["point_announcer", "point_challenger"]
        if self.phase == "discard":
            return ["discard_open", "discard_closed"]
        names: list[str] = []
        me, numbers = self.seat, self.numbers()
        nothing_declared = not self.declared
        turn_begins = nothing_declared and not self.must_raise

        # Answers other than a number. A number that is demanded ("again_number", "reverse_number") leaves none; after
        # a refusal the refusing seat may raise or challenge.
        if self.announcer is not None and turn_begins:
            if self.phase in ("turn", "after_again"):
                names.append("challenge")
            if self.phase == "turn":
                if self._free("idem"):
                    names.append("idem")
                if self._free("reverse") and self.bid < self.cap():
                    names.append("reverse")
                others = [n for n in range(1, self.cap() + 1) if n > self.before and n != self.bid]
                if self._free("again") and others:
                    names.append("again")

        # Looking at the centre card, and adding one to it: at the beginning of a turn in which nothing was demanded of
        # the seat, and only where a number can follow.
        if self.phase == "turn" and turn_begins and numbers:
            opening = self.announcer is None
            if self.rules["peek"] and not opening and self.open_peeks[me] > 0 and me not in self.peeked:
                names.append("peek")
            if me == self.coyote_holder and self.coyote_card is None and self._something_to_draw():
                names.append("coyote")

        # Modifiers, in their fixed order; each only where a number can follow.
        if numbers:
            if self._free("double") and nothing_declared:
                names.append("double")
            if self._free("extra_feather") and not {"extra_feather", "next_is"} & set(self.declared):
                for k in range(1, self.num_seats):
                    target = (me + k) % self.num_seats
                    if self.lives[target] > 0 and len(self.worn[target]) == 1 and self._something_to_draw():
                        names.append(f"extra_feather+{k}")
            if self._free("next_is") and "next_is" not in self.declared and self.phase != "again_number":
                for k in range(1, self.num_seats):
                    target = (me + k) % self.num_seats
                    if self.lives[target] > 0 and target != self.neighbour(me, self.direction):
                        names.append(f"next_is+{k}")

        names += [f"bid_{n}" for n in numbers]
        return names

    def _free(self, variant: str) -> bool:
        return variant in self.rules["variants"] and variant not in self.used

    def _something_to_draw(self) -> bool:
        return sum(self.pile.values()) + sum(self.discards.values()) > 0

    def in_play(self) -> list[str]:
        """All cards that count: worn, in the centre, added by the Coyote card."""
        cards = [card for cards in self.worn for card in cards]
        return cards + [card for card in (self.centre, self.coyote_card) if card is not None]

    # --- moves

    def step(self, action: str) -> dict[int, Fraction]:
        """Plays one action of the seat to move; what it paid to whom (seats that got nothing are left out).

        An action that is not legal and a card that cannot be drawn raise, and then nothing has changed.
        """
        if action not in self.legal():
            raise IllegalActionError(f"{action} of seat {self.seat}; legal: {self.legal()}")
        # A reveal can be in the step of the challenge or of the last pointing, and a deal in that of the last discard.
        can_draw = action in ("challenge", "coyote") or self.phase in ("pointing", "discard")
        if not can_draw and "extra_feather" not in self.declared:
            return self._play(action)
        before = {name: copy.deepcopy(value) for name, value in vars(self).items() if name not in ("rules", "caps")}
        try:
            return self._play(action)
        except ValueError:
            vars(self).update(before)
            raise

    def _play(self, action: str) -> dict[int, Fraction]:
        me = self.seat
        name, _, argument = action.partition("+")
        if name == "challenge":
            return self._challenge()
        if self.phase == "pointing":
            return self._point(name)
        if self.phase == "discard":
            return self._discard(name)
        if name in VARIANTS:
            self.used.add(name)
        self.double = False  # any decision but a challenge ends it
        if name == "idem":
            self.before = self.bid
            self.announcer = me
            self.history.append((me, self.bid, "idem"))
            self.seat = self.neighbour(me, self.direction)
        elif name == "reverse":
            self.direction = -self.direction
            self.phase = "reverse_number"
            self.waiting = me
            assert self.announcer is not None
            self.seat = self.announcer
        elif name == "again":
            self.phase = "again_number"
            self.waiting = me
            assert self.announcer is not None
            self.seat = self.announcer
            # The number falls: what stood before it stands again, and nobody may be challenged for that.
            self.refused, self.bid, self.announcer = self.bid, self.before, None
        elif name == "peek":
            self._close_peek(me)
            self.peeked.add(me)
            self.must_raise = True
        elif name == "coyote":
            self._give("coyote")
            self.must_raise = True
        elif name == "double":
            self.declared["double"] = True
        elif name in ("extra_feather", "next_is"):
            self.declared[name] = (me + int(argument)) % self.num_seats
        else:
            self._announce(int(action.removeprefix("bid_")))
        return {}

    def _announce(self, number: int) -> None:
        me = self.seat
        if "extra_feather" in self.declared:
            self._give(self.declared["extra_feather"])
        self.before, self.bid = self.bid, number
        self.announcer = me
        how = {"again_number": "again", "reverse_number": "reverse"}.get(self.phase, "raise")
        self.history.append((me, number, how))
        self.double = "double" in self.declared
        if self.phase == "again_number":
            assert self.waiting is not None
            self.seat, self.phase = self.waiting, "after_again"
        else:
            self.seat = self.declared.get("next_is", self.neighbour(me, self.direction))
            self.phase = "turn"
        self.must_raise = False
        self.waiting = None
        self.refused = 0
        self.declared = {}

    def _open_peek(self, seat: int) -> None:
        """Turns a closed Peek card of the seat open, if it has one."""
        if self.closed_peeks[seat] > 0:
            self.closed_peeks[seat] -= 1
            self.open_peeks[seat] += 1

    def _close_peek(self, seat: int) -> None:
        """Closes an open Peek card of the seat, if it has one."""
        if self.open_peeks[seat] > 0:
            self.open_peeks[seat] -= 1
            self.closed_peeks[seat] += 1

    # --- the end of a round: challenge, pointing, reveal, discard

    def _challenge(self) -> dict[int, Fraction]:
        self.challenger = self.seat
        return self._next_pointing_or_reveal()

    def _point(self, name: str) -> dict[int, Fraction]:
        self.pointed[self.seat] = name.removeprefix("point_")
        return self._next_pointing_or_reveal()

    def _next_pointing_or_reveal(self) -> dict[int, Fraction]:
        """Every live seat outside the challenge points, clockwise from the challenger; then all is revealed."""
        assert self.challenger is not None
        if self.rules["trickster"]:
            seat = self.neighbour(self.challenger, 1)
            while seat != self.challenger:
                if seat != self.announcer and seat not in self.pointed:
                    self.seat, self.phase = seat, "pointing"
                    return {}
                seat = self.neighbour(seat, 1)
        return self._reveal()

    def _reveal(self) -> dict[int, Fraction]:
        challenger, announcer = self.challenger, self.announcer
        assert challenger is not None
        assert announcer is not None
        total, self.drawn, _ = count(self.in_play(), self._draw)
        self.revealed = True
        loser, winner = (challenger, announcer) if total >= self.bid else (announcer, challenger)
        self.owed = min(self.lives[loser], 2 if self.double else 1)
        self.reveal = {
            "total": total,
            "number": self.bid,
            "loser": loser,
            "winner": winner,
            "lives": self.owed,
            "cards": [list(cards) for cards in self.worn],
            "centre": self.centre,
            "coyote_card": self.coyote_card,
            "drawn": self.drawn,
            "pointed": dict(self.pointed),
        }
        for seat, pointed_at in self.pointed.items():
            if winner == (announcer if pointed_at == "announcer" else challenger):
                self._open_peek(seat)
            else:
                self._close_peek(seat)
        self._open_peek(winner)
        return self._next_discard_or_settle()

    def _discard(self, name: str) -> dict[int, Fraction]:
        peeks = self.open_peeks if name == "discard_open" else self.closed_peeks
        peeks[self.seat] -= 1
        self.lives[self.seat] -= 1
        self.owed -= 1
        return self._next_discard_or_settle()

    def _next_discard_or_settle(self) -> dict[int, Fraction]:
        """Asks the loser which Peek card it gives, where that makes a difference; else takes what it owes.

        Nothing is left to choose when it has one kind only, or must give all it has. So a seat that is eliminated is
        never asked: it goes out in the step of the reveal.
        """
        assert self.reveal is not None
        loser = self.reveal["loser"]
        if self.open_peeks[loser] and self.closed_peeks[loser] and 0 < self.owed < self.lives[loser]:
            self.seat, self.phase = loser, "discard"
            return {}
        self.lives[loser] -= self.owed
        if self.lives[loser] == 0:
            self.open_peeks[loser] = self.closed_peeks[loser] = 0
        elif self.open_peeks[loser]:
            self.open_peeks[loser] -= self.owed
        elif self.closed_peeks[loser]:
            self.closed_peeks[loser] -= self.owed
        self.owed = 0
        return self._settle()

    def _settle(self) -> dict[int, Fraction]:
        """The lives are paid: who is out, rewards, who takes the Coyote card; the next deal or the end."""
        assert self.reveal is not None
        loser, winner = self.reveal["loser"], self.reveal["winner"]
        out = self.lives[loser] == 0
        if out:
            self.eliminated.append(loser)
        if self.rules["trickster"]:
            self.coyote_holder = None if out else loser
        self.over = self.rules["game_end"] == "first_loss" or len(self.live()) == 1
        rewards = self._pay(loser, self.reveal["lives"])
        if self.over:
            self.phase = "over"
            return rewards
        cards = self.in_play() + self.drawn
        self.discards += Counter(cards)
        if "night" in cards or self.rules["reshuffle"] == "every_round":
            self.pile, self.discards = self.pile + self.discards, Counter()
        self._deal(self._next_starter(loser, winner))
        return rewards

    def _next_starter(self, loser: int, winner: int) -> int:
        if self.rules["starter"] == "after_loser":
            return self.neighbour(loser, 1)
        if self.lives[loser] > 0:
            return loser
        if self.rules["starter_if_out"] == "winner":
            return winner
        return self.neighbour(loser, 1)

    def _pay(self, loser: int, paid: int) -> dict[int, Fraction]:
        seats = self.num_seats
        others = [seat for seat in self.live() if seat != loser]  # all others that were in the round are still live
        rewards: dict[int, Fraction] = {}
        if self.rules["reward"] == "round":
            rewards[loser] = Fraction(-paid)
            for seat in others:
                rewards[seat] = Fraction(paid, len(others))
        elif self.rules["game_end"] == "first_loss":
            # one loser, all others winners: the same by "win" and by "placement" (the others tie)
            rewards[loser] = Fraction(-1)
            for seat in others:
                rewards[seat] = Fraction(1, seats - 1)
        elif self.lives[loser] == 0:
            if self.rules["reward"] == "win":
                rewards[loser] = Fraction(-1, seats - 1)
            else:
                place = seats + 1 - len(self.eliminated)  # the first seat out is last: place N
                rewards[loser] = 1 - Fraction(2 * (place - 1), seats - 1)
            if self.over:
                rewards[self.live()[0]] = Fraction(1)
        for seat, reward in rewards.items():
            self.returns[seat] += reward
        return rewards

    def forfeit(self) -> dict[int, Fraction]:
        """The seat to move has chosen an illegal action where that ends the game."""
        rewards = {self.seat: -1 - self.returns[self.seat]}
        self.returns[self.seat] = Fraction(-1)
        others = [seat for seat in self.live() if seat != self.seat]
        missing = -sum(self.returns, Fraction(0))
        for seat in others:
            rewards[seat] = missing / len(others)
            self.returns[seat] += rewards[seat]
        self.over = True
        self.phase = "over"
        return rewards

    # --- cards

    def _deal(self, starter: int) -> None:
        self.worn = [[] for _ in range(self.num_seats)]
        self.fresh = [[] for _ in range(self.num_seats)]
        self.reshuffled = False
        self.centre = None
        self.peeked = set()
        self.coyote_card = None
        self.revealed = False
        self.drawn = []
        self.draws = []
        self.first_pile, self.first_discards = +self.pile, +self.discards
        self.bid = self.before = self.refused = 0
        self.announcer = None
        self.waiting = None
        self.double = False
        self.declared = {}
        self.used = set()
        self.history = []
        self.direction = 1
        self.challenger = None
        self.pointed = {}
        self.owed = 0
        self.phase = "turn"
        self.must_raise = False
        self.seat = starter
        for k in range(self.num_seats):
            seat = (starter + k) % self.num_seats
            if self.lives[seat] > 0:
                self._give(seat)
        if self.rules["peek"]:
            self._give("centre")

    def _give(self, place: int | str) -> None:
        """Draws a card for a seat, for the centre, or for the Coyote card."""
        card = self._draw()
        if card is None:
            return
        self.draws.append((place, card))
        if place == "centre":
            self.centre = card
        elif place == "coyote":
            self.coyote_card = card
        else:
            assert isinstance(place, int)
            self.worn[place].append(card)
            self.fresh[place].append(self.reshuffled)

    def _draw(self) -> str | None:
        if not +self.pile and +self.discards:
            self.pile, self.discards = self.discards, Counter()
            self.reshuffled = True
        if not +self.pile:
            return None
        card = self.next_face(+self.pile)
        if self.pile[card] < 1:
            raise ValueError(f"draw of {card!r}: not left in the pile {dict(+self.pile)}")
        self.pile[card] -= 1
        return card


class Script:
    """A `next_face` that names the given cards in order. Used up, it asks `then`, or raises if there is none."""

    def __init__(self, faces: Iterable[str], then: Callable[[Counter[str]], str] | None = None) -> None:
        self.faces = list(faces)
        self.then = then

    def __call__(self, pile: Counter[str]) -> str:
        if self.faces:
            return self.faces.pop(0)
        if self.then is None:
            raise ValueError(f"the script of draws is used up, the pile is {dict(pile)}")
        return self.then(pile)


def at_random(rng: random.Random) -> Callable[[Counter[str]], str]:
    """A `next_face` that takes each card of the pile with the same chance."""
    return lambda pile: rng.choice(sorted(pile.elements()))


# ---------------------------------------------------------------------------------------------------------------------
# What a seat can know of the total


def total_distribution(game: ReferenceGame, seat: int) -> dict[int, Fraction]:
    """P(total) at a challenge made now, by trying everything that `seat` cannot see.

    Before the deal everybody knew the pile and the discards of that moment: all cards of earlier rounds were shown. So
    the round is drawn again in every way in which the cards that `seat` sees come to where it sees them. A way counts
    with its chance, as part of the chance of all ways.

    This holds also when the pile ran out in the round: cards drawn before that are all that the pile then had, cards
    drawn after it come from the discards. What was hidden from `seat` before that moment is then the same cards in
    every way. Of one card it knows the face, of several (its own, the centre card) only which they are together; as
    they all count, the total does not depend on which is where.
    """
    if game.revealed:
        assert game.reveal is not None
        return {game.reveal["total"]: Fraction(1)}
    seen = [card if sees(game, seat, place) else None for place, card in game.draws]
    chances: dict[int, Fraction] = {}
    for cards, pile, discards, chance in draws_again(seen, game.first_pile, game.first_discards):
        for drawn, later in reveal_draws(cards.count("?"), pile, discards):
            total = total_of([*cards, *drawn])
            chances[total] = chances.get(total, Fraction(0)) + chance * later
    all_ways = sum(chances.values())
    return {total: chance / all_ways for total, chance in chances.items()}


def sees(game: ReferenceGame, seat: int, place: int | str) -> bool:
    """Whether `seat` knows the card at that place before the reveal."""
    if place == "centre":
        return seat in game.peeked
    if place == "coyote":
        return seat == game.coyote_holder
    return seat != place


def draws_again(
    seen: list[str | None], pile: Counter[str], discards: Counter[str]
) -> Iterator[tuple[tuple[str, ...], Counter[str], Counter[str], Fraction]]:
    """Each way to draw cards one after another so that those that are seen (not None) come where they are.

    Yields the cards, what is left of pile and discards, and the chance.
    """
    if not seen:
        yield (), pile, discards, Fraction(1)
        return
    if not pile:
        pile, discards = discards, Counter()
    size = sum(pile.values())
    for face in sorted(pile):
        if seen[0] not in (None, face):
            continue
        first = Fraction(pile[face], size)
        for rest, left, left_discards, chance in draws_again(seen[1:], pile - Counter([face]), discards):
            yield (face, *rest), left, left_discards, first * chance


def reveal_draws(
    open_draws: int, pile: Counter[str], discards: Counter[str]
) -> Iterator[tuple[tuple[str, ...], Fraction]]:
    """Each sequence of cards that open `?` can draw, with its chance."""
    if not pile:
        pile, discards = discards, Counter()
    if open_draws == 0 or not pile:
        yield (), Fraction(1)
        return
    size = sum(pile.values())
    for face in sorted(pile):
        for rest, chance in reveal_draws(open_draws - 1 + (face == "?"), pile - Counter([face]), discards):
            yield (face, *rest), Fraction(pile[face], size) * chance
