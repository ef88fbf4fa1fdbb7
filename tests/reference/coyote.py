"""COYOTE in plain Python: the second opinion that the compiled engine is compared with.

Written from the rules alone, to be read beside them: lists, counters and fractions, one clause after another, no
speed. It imports nothing from `coyote_env`. It plays the feather edition "gigamic-2011", the study game "mini", and
every house game that the fields of these two can describe. Cards are face names: "7", "-5", "0", "?", "max0", "max-",
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
DECKS = {"feathers-30": FEATHERS_30, "classic-36": CLASSIC_36}

EDITIONS: dict[str, dict[str, Any]] = {
    "gigamic-2011": {
        "num_players": 4,
        "deck": "feathers-30",
        "lives": 3,
        "variants": "all",
        "reshuffle": "when_needed",
        "starter": "loser",
        "starter_if_out": "winner",
        "game_end": "last_standing",
        "reward": "win",
    },
    "mini": {
        "num_players": 2,
        "deck": {"1": 1, "2": 1, "3": 1, "4": 1},
        "lives": 1,
        "variants": "none",
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
    """How many cards the seats can wear at a reveal: one each, and one more by `extra_feather`."""
    amounts = [live]
    if "extra_feather" in rules["variants"] and sum(rules["deck"].values()) > live:
        amounts.append(live + 1)
    return amounts


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
      phase       "turn", "again_number" and "reverse_number" (a number is demanded), "after_again", "over"
      lives       list, one a seat
      worn        list of lists of faces, one a seat
      fresh       like worn: was the card dealt after the pile had run out in this round?
      reshuffled  whether the pile ran out in this round
      pile        Counter of faces
      discards    Counter of faces
      drawn       what `?` drew at the reveal of a game that is over (else empty)
      bid         the standing number, 0 for none; while `again` waits, what stood before the refused one
      before      the number that stood before it
      refused     the number refused by `again` while another is awaited, else 0
      announcer   whose the standing number is, None for none
      waiting     the seat that demanded a number by `again` or `reverse`, until it is given; else None
      double      whether a challenge now costs two lives
      declared    dict: what the seat to move has declared for its number (double, extra_feather, next_is)
      used        set of variants used in this round
      direction   +1 clockwise, -1
      history     of this round: (seat, number, how it came about: "raise", "idem", "again" or "reverse")
      reveal      the last one: dict(total, number, loser, winner, lives, cards, drawn), None for none
      returns     list of fractions, paid so far
      eliminated  seats in the order in which they went out
    """

    seat: int
    phase: str
    worn: list[list[str]]
    fresh: list[list[bool]]
    reshuffled: bool
    drawn: list[str]
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

    def __init__(self, rules: dict[str, Any], next_face: Callable[[Counter[str]], str], starter: int) -> None:
        self.rules = rules
        self.next_face = next_face
        self.num_seats: int = rules["num_players"]
        # Numbers above max_bid(N) have no action id. A deck with more bad cards than good ones can reach more with
        # fewer seats; the ids are the limit there.
        highest_id = max_bid(rules, self.num_seats)
        self.caps = {live: min(max_bid(rules, live), highest_id) for live in range(2, self.num_seats + 1)}
        self.lives = [rules["lives"]] * self.num_seats
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
        names: list[str] = []
        me, numbers = self.seat, self.numbers()
        nothing_declared = not self.declared

        # Answers other than a number. A number that is demanded ("again_number", "reverse_number") leaves none; after
        # a refusal the refusing seat may raise or challenge.
        if self.announcer is not None and nothing_declared:
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

        # Modifiers, in their fixed order; each only where a number can follow.
        if numbers:
            if self._free("double") and nothing_declared:
                names.append("double")
            if self._free("extra_feather") and not {"extra_feather", "next_is"} & set(self.declared):
                something_to_draw = sum(self.pile.values()) + sum(self.discards.values()) > 0
                for k in range(1, self.num_seats):
                    target = (me + k) % self.num_seats
                    if self.lives[target] > 0 and len(self.worn[target]) == 1 and something_to_draw:
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

    # --- moves

    def step(self, action: str) -> dict[int, Fraction]:
        """Plays one action of the seat to move; what it paid to whom (seats that got nothing are left out).

        An action that is not legal and a card that cannot be drawn raise, and then nothing has changed.
        """
        if action not in self.legal():
            raise IllegalActionError(f"{action} of seat {self.seat}; legal: {self.legal()}")
        if action != "challenge" and "extra_feather" not in self.declared:
            return self._play(action)  # draws nothing
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
        self.waiting = None
        self.refused = 0
        self.declared = {}

    def _challenge(self) -> dict[int, Fraction]:
        challenger, announcer = self.seat, self.announcer
        assert announcer is not None
        cards = [card for cards in self.worn for card in cards]
        total, drawn, night = count(cards, self._draw)
        loser, winner = (challenger, announcer) if total >= self.bid else (announcer, challenger)
        in_round = self.live()
        paid = min(self.lives[loser], 2 if self.double else 1)
        self.lives[loser] -= paid
        if self.lives[loser] == 0:
            self.eliminated.append(loser)
        self.reveal = {
            "total": total,
            "number": self.bid,
            "loser": loser,
            "winner": winner,
            "lives": paid,
            "cards": [list(cards) for cards in self.worn],
            "drawn": drawn,
        }
        self.over = self.rules["game_end"] == "first_loss" or len(self.live()) == 1
        rewards = self._pay(loser, paid, in_round)
        if self.over:
            self.phase = "over"
            self.drawn = drawn
            return rewards
        self.discards += Counter(cards + drawn)
        if night or self.rules["reshuffle"] == "every_round":
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

    def _pay(self, loser: int, paid: int, in_round: list[int]) -> dict[int, Fraction]:
        seats = self.num_seats
        others = [seat for seat in in_round if seat != loser]
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
        self.drawn = []
        self.bid = self.before = self.refused = 0
        self.announcer = None
        self.waiting = None
        self.double = False
        self.declared = {}
        self.used = set()
        self.history = []
        self.direction = 1
        self.phase = "turn"
        self.seat = starter
        for k in range(self.num_seats):
            seat = (starter + k) % self.num_seats
            if self.lives[seat] > 0:
                self._give(seat)

    def _give(self, seat: int) -> None:
        card = self._draw()
        if card is not None:
            self.worn[seat].append(card)
            self.fresh[seat].append(self.reshuffled)

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

    It sees the cards of all others and the discards. What it does not see, its own cards and the pile, is the rest of
    the deck in random order - but for one thing: when the pile ran out in this round and the discards became the new
    pile, what `seat` had been dealt before was all that it could not see at that moment. It knows those cards.
    """
    known: list[str] = []
    hidden = 0
    for card, fresh in zip(game.worn[seat], game.fresh[seat], strict=True):
        if game.reshuffled and not fresh:
            known.append(card)
        else:
            hidden += 1
    seen = known + [card for other, cards in enumerate(game.worn) if other != seat for card in cards]
    unseen = Counter(game.rules["deck"])
    unseen.subtract(seen)
    unseen.subtract(game.discards)
    assert min(unseen.values()) >= 0
    chances: Counter[int] = Counter()
    for mine, pile, chance in ordered_draws(hidden, +unseen):
        cards = seen + list(mine)
        for drawn, later in reveal_draws(cards.count("?"), pile, +game.discards):
            chances[total_of([*cards, *drawn])] += chance * later  # type: ignore[assignment]
    return {total: Fraction(chance) for total, chance in chances.items()}


def ordered_draws(amount: int, cards: Counter[str]) -> Iterator[tuple[tuple[str, ...], Counter[str], Fraction]]:
    """Each way to draw `amount` cards one after another: the cards, what is left, the chance."""
    if amount == 0:
        yield (), cards, Fraction(1)
        return
    size = sum(cards.values())
    for face in sorted(cards):
        first = Fraction(cards[face], size)
        for rest, left, chance in ordered_draws(amount - 1, cards - Counter([face])):
            yield (face, *rest), left, first * chance


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
