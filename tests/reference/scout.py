"""SCOUT in plain Python: the second opinion that the compiled engine is compared with.

Written from the rules alone, to be read beside them: lists of cards, one clause after another, no speed. It imports
nothing from `coyote_env`. A card is a pair (upper number, lower number); a hand is a list of cards from left to right.
Seats are 0..N-1 clockwise. Rewards are exact fractions.

It trusts its caller for the values of the rules (refusing bad ones is the engine's business) and for nothing else: an
action that is not legal and hands that the deck cannot give raise.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

Card = tuple[int, int]
Hand = list[Card]

CARDS_DEALT = {2: 11, 3: 12, 4: 11, 5: 9}  # to each seat, by number of seats
TOKENS_OF_TWO = 3  # that each of two seats can spend in a round


def resolve(**fields: Any) -> dict[str, Any]:
    """All fields of a game: the given ones, and what stands for those that are not."""
    rules = {"num_players": 4, "exemption": "text", "reward": "win", **fields}
    seats = rules["num_players"]
    rules = {"rounds": seats, "stall_limit": 10 * seats, **rules}
    unknown = set(rules) - {"num_players", "exemption", "rounds", "stall_limit", "reward"}
    if unknown:
        raise ValueError(f"unknown fields {sorted(unknown)}")
    return rules


# ---------------------------------------------------------------------------------------------------------------------
# Cards


def deck(seats: int) -> list[Card]:
    """Each pair of different numbers 1..10 once; three seats play without the 10s, two and four without 9/10."""
    cards = list(combinations(range(1, 11), 2))
    if seats == 3:
        return [card for card in cards if 10 not in card]
    if seats in (2, 4):
        return [card for card in cards if card != (9, 10)]
    return cards


def turned(card: Card) -> Card:
    """The same card upside down."""
    upper, lower = card
    return lower, upper


def face(card: Card) -> Card:
    """Which card of the deck it is, whichever way up."""
    upper, lower = card
    return min(upper, lower), max(upper, lower)


def random_hands(rules: dict[str, Any], rng: random.Random) -> list[list[Hand]]:
    """Hands for all rounds, as chance deals them: round, seat, card."""
    seats, each = rules["num_players"], CARDS_DEALT[rules["num_players"]]
    rounds: list[list[Hand]] = []
    stack: list[Card] = []
    for _ in range(rules["rounds"]):
        if len(stack) < seats * each:  # of two seats the second round takes what the first has left
            stack = deck(seats)
            rng.shuffle(stack)
            stack = [rng.choice([card, turned(card)]) for card in stack]
        rounds.append([[stack.pop() for _ in range(each)] for _ in range(seats)])
    return rounds


# ---------------------------------------------------------------------------------------------------------------------
# Shows


def kind(cards: Sequence[Card]) -> str | None:
    """What cards lying side by side are as a Show: "single", "equal", "run", or None for no Show at all."""
    numbers = [upper for upper, _ in cards]
    if len(numbers) == 1:
        return "single"
    steps = {right - left for left, right in pairwise(numbers)}
    if steps == {0}:
        return "equal"
    if steps in ({1}, {-1}):
        return "run"
    return None


def beats(cards: Sequence[Card], active: Sequence[Card]) -> bool:
    """Whether a Show beats the active one. Where nothing is active, any does."""
    if not active:
        return True
    if len(cards) != len(active):
        return len(cards) > len(active)
    if kind(cards) != kind(active):
        return kind(cards) == "equal"
    return min(upper for upper, _ in cards) > min(upper for upper, _ in active)


def shows(hand: Sequence[Card], active: Sequence[Card]) -> Iterator[tuple[int, int]]:
    """The Shows of a hand that beat the active one: place of the first card, number of cards."""
    for start in range(len(hand)):
        for length in range(1, len(hand) - start + 1):
            cards = hand[start : start + length]
            if kind(cards) is None:  # then no longer row of cards from here on is a Show
                break
            if beats(cards, active):
                yield start, length


def take_end(active: Sequence[Card], end: str, way: str) -> tuple[Card, Hand]:
    """The card taken from that end of the active Show, the way it was or turned, and what is left."""
    if end == "left":
        card, rest = active[0], list(active[1:])
    else:
        card, rest = active[-1], list(active[:-1])
    return (turned(card) if way == "turned" else card), rest


def put_in(hand: Sequence[Card], card: Card, place: int) -> Hand:
    """The hand with the card in it, as card number `place` from the left, the first being 0."""
    return [*hand[:place], card, *hand[place:]]


# ---------------------------------------------------------------------------------------------------------------------
# The game


class IllegalActionError(ValueError):
    """The named action is not legal for the seat to move."""


class ReferenceGame:
    """One table.

    `rules`: what `resolve` returns. `hands`: for each round the hand of each seat; those of later rounds can be
    appended to `all_hands` until the round begins. `first`: the seat that begins round 0.

    To be read at any time:
      seat        the seat to move
      phase       "orient" (keep or turn the hand), "turn", "insert" (where the scouted card goes), "show" (the second
                  half of a scout and show), "over"
      round       0, 1, ...
      first       the seat that begins this round
      hands       list of hands, one a seat
      oriented    the seats that have chosen how to hold their hand in this round, in order. Nobody may see how.
      active      the active Show from left to right, empty for none
      owner       the seat that has shown it, also when it has been scouted away; None before the first Show
      scouted     the card that is about to be put into the hand of the seat to move, the way it will be held; else None
      show_follows   whether that belongs to a scout and show
      captured    list of lists of cards, one a seat, of this round
      tokens      list: Scout tokens given to each seat in this round
      unspent     list: tokens that each of two seats can still spend in this round (0 for 3-5 seats)
      spent       set of seats that have had their scout and show in this round
      only_scouts how many turns in a row, up to now, were scouts and no more
      idle        turns since a card was last captured, or since the round began
      last_end    how the last round ended: "i", "ii", "ii'", "stall", None before the first end
      round_points  list of lists: the points of each round that is over
      points      list: points of all rounds that are over
      returns     list of fractions, paid so far
      over        whether the game is
    """

    seat: int
    phase: str
    hands: list[Hand]
    oriented: list[int]
    active: Hand
    owner: int | None
    scouted: Card | None
    show_follows: bool
    captured: list[list[Card]]
    tokens: list[int]
    unspent: list[int]
    spent: set[int]
    only_scouts: int
    idle: int

    def __init__(self, rules: dict[str, Any], hands: Sequence[Sequence[Sequence[Sequence[int]]]], first: int) -> None:
        self.rules = rules
        self.num_seats: int = rules["num_players"]
        self.all_hands = [[[(int(u), int(v)) for u, v in hand] for hand in dealt] for dealt in hands]
        self.round = 0
        self.first = first
        self.last_end: str | None = None
        self.round_points: list[list[int]] = []
        self.returns = [Fraction(0)] * self.num_seats
        self.over = False
        self._begin_round()

    # --- questions

    @property
    def points(self) -> list[int]:
        return [sum(points[seat] for points in self.round_points) for seat in range(self.num_seats)]

    def legal(self) -> set[str]:
        """Names of the legal actions of the seat to move."""
        if self.phase == "over":
            return set()
        if self.phase == "orient":
            return {"keep", "flip"}
        hand = self.hands[self.seat]
        if self.phase == "insert":
            return {f"insert_{place}" for place in self._places()}
        names = {f"show_{start}_{length}" for start, length in shows(hand, self.active)}
        if self.phase == "show":
            return names
        for end in self._ends():
            for way in ("as_is", "turned"):
                if self.num_seats > 2 or self.unspent[self.seat] > 0:
                    names.add(f"scout_{end}_{way}")
                if self._may_scout_and_show() and self._places_before_a_show(end, way):
                    names.add(f"scout_show_{end}_{way}")
        return names

    def _ends(self) -> list[str]:
        """The ends of the active Show. A single card has one."""
        return {0: [], 1: ["left"]}.get(len(self.active), ["left", "right"])

    def _may_scout_and_show(self) -> bool:
        """3-5 seats, once per seat and round."""
        return self.num_seats > 2 and self.seat not in self.spent

    def _places_before_a_show(self, end: str, way: str) -> list[int]:
        """Where a card scouted so can go so that a legal Show exists afterwards."""
        card, rest = take_end(self.active, end, way)
        hand = self.hands[self.seat]
        return [place for place in range(len(hand) + 1) if any(shows(put_in(hand, card, place), rest))]

    def _places(self) -> list[int]:
        """Where the scouted card can go."""
        hand = self.hands[self.seat]
        assert self.scouted is not None
        places = range(len(hand) + 1)
        if not self.show_follows:
            return list(places)
        return [place for place in places if any(shows(put_in(hand, self.scouted, place), self.active))]

    # --- moves

    def play(self, action: str) -> dict[int, Fraction]:
        """Performs the action of the seat to move; returns the rewards of this step, seats without one left out."""
        if action not in self.legal():
            raise IllegalActionError(f"{action} is not legal for seat {self.seat} now")
        me, name = self.seat, action.split("_")
        if name[0] in ("keep", "flip"):
            if action == "flip":
                self.hands[me] = [turned(card) for card in self.hands[me]]
            self.oriented.append(me)
            self.seat = self._left_of(me)
            if len(self.oriented) == self.num_seats:
                self.phase = "turn"
            return {}
        if name[0] == "scout":
            self._scout(name)
            return {}
        if name[0] == "insert":
            assert self.scouted is not None
            self.hands[me] = put_in(self.hands[me], self.scouted, int(name[1]))
            self.scouted = None
            if self.show_follows:
                self.phase = "show"
                return {}
            self.only_scouts += 1
            return self._end_turn(captured_some=False)
        start, length = int(name[1]), int(name[2])
        captured = self.active
        self.captured[me] += captured
        self.active = self.hands[me][start : start + length]
        self.hands[me] = self.hands[me][:start] + self.hands[me][start + length :]
        self.owner = me
        self.only_scouts = 0
        self.show_follows = False
        return self._end_turn(captured_some=bool(captured))

    def _scout(self, name: list[str]) -> None:
        """`name`: the parts of "scout_left_as_is", "scout_show_right_turned" and their like."""
        self.show_follows = name[1] == "show"
        end, way = name[2 if self.show_follows else 1], "turned" if name[-1] == "turned" else "as_is"
        self.scouted, self.active = take_end(self.active, end, way)
        if self.show_follows:
            self.spent.add(self.seat)
        if self.num_seats == 2:
            self.unspent[self.seat] -= 1  # it leaves play; the owner gets nothing
        else:
            assert self.owner is not None
            self.tokens[self.owner] += 1
        self.phase = "insert"

    def _end_turn(self, captured_some: bool) -> dict[int, Fraction]:
        """After a scout, a Show, or a scout and show."""
        me = self.seat
        self.idle = 0 if captured_some else self.idle + 1
        self.phase = "turn"
        if not self.hands[me]:
            return self._end_round("i", spared=me)
        if self.num_seats > 2:
            self.seat = self._left_of(me)
            if self.only_scouts == self.num_seats - 1:
                return self._end_round("ii", spared=self.owner)
        else:
            if self.only_scouts == 0:  # who has scouted plays again
                self.seat = self._left_of(me)
            if not self.legal():
                return self._end_round("ii'", spared=self.owner)
        if self.idle == self.rules["stall_limit"]:
            return self._end_round("stall", spared=None)
        return {}

    def _left_of(self, seat: int) -> int:
        return (seat + 1) % self.num_seats

    # --- ends

    def _end_round(self, end: str, spared: int | None) -> dict[int, Fraction]:
        self.last_end = end
        points = []
        for seat in range(self.num_seats):
            left = len(self.hands[seat])
            if self.rules["exemption"] == "rulebook" and seat == spared:
                left = 0
            points.append(len(self.captured[seat]) + self.tokens[seat] + self.unspent[seat] - left)
        self.round_points.append(points)
        rewards: dict[int, Fraction] = {}
        if self.rules["reward"] == "round":
            mean = Fraction(sum(points), self.num_seats)
            rewards = {seat: (points[seat] - mean) / 10 for seat in range(self.num_seats)}
        if len(self.round_points) == self.rules["rounds"]:
            self.over = True
            self.phase = "over"
            if self.rules["reward"] == "win":
                rewards = rewards_of_winning(self.points)
            elif self.rules["reward"] == "placement":
                rewards = rewards_of_placement(self.points)
        else:
            self.round += 1
            self.first = self._left_of(self.first)
            self._begin_round()
        for seat, reward in rewards.items():
            self.returns[seat] += reward
        return rewards

    def forfeit(self) -> dict[int, Fraction]:
        """The seat to move has chosen an illegal action where that ends the game."""
        offender = self.seat
        rewards = {offender: -1 - self.returns[offender]}
        missing = 1 - sum((self.returns[seat] for seat in range(self.num_seats) if seat != offender), Fraction(0))
        for seat in range(self.num_seats):
            if seat != offender:
                rewards[seat] = missing / (self.num_seats - 1)
        for seat, reward in rewards.items():
            self.returns[seat] += reward
        self.over = True
        self.phase = "over"
        return rewards

    # --- rounds

    def _begin_round(self) -> None:
        self._check_hands()
        self.hands = [list(hand) for hand in self.all_hands[self.round]]
        self.oriented = []
        self.active = []
        self.owner = None
        self.scouted = None
        self.show_follows = False
        self.captured = [[] for _ in range(self.num_seats)]
        self.tokens = [0] * self.num_seats
        self.unspent = [TOKENS_OF_TWO if self.num_seats == 2 else 0] * self.num_seats
        self.spent = set()
        self.only_scouts = 0
        self.idle = 0
        self.phase = "orient"
        self.seat = self.first

    def _check_hands(self) -> None:
        """Of this round."""
        if len(self.all_hands) <= self.round:
            raise ValueError(f"no hands for round {self.round}")
        seats, dealt = self.num_seats, self.all_hands[self.round]
        cards = [face(card) for hand in dealt for card in hand]
        left = set(deck(seats))
        if seats == 2 and self.round == 1:  # the other half of the deck
            left -= {face(card) for hand in self.all_hands[0] for card in hand}
        if [len(hand) for hand in dealt] != [CARDS_DEALT[seats]] * seats:
            raise ValueError(f"hands of {[len(hand) for hand in dealt]} cards")
        if len(set(cards)) != len(cards) or not set(cards) <= left:
            raise ValueError("a card twice, or one that is not there")


# ---------------------------------------------------------------------------------------------------------------------
# Rewards


def rewards_of_winning(points: Sequence[int]) -> dict[int, Fraction]:
    """The winners split +1, the others split -1; all tied: 0."""
    winners = [seat for seat, mine in enumerate(points) if mine == max(points)]
    others = [seat for seat in range(len(points)) if seat not in winners]
    if not others:
        return {}
    return {
        **{seat: Fraction(1, len(winners)) for seat in winners},
        **{seat: Fraction(-1, len(others)) for seat in others},
    }


def rewards_of_placement(points: Sequence[int]) -> dict[int, Fraction]:
    """Evenly spaced from +1 (first) to -1 (last); seats with equal points share the mean of their places."""
    prizes = [1 - Fraction(2 * place, len(points) - 1) for place in range(len(points))]
    ranked = sorted(points, reverse=True)
    rewards = {}
    for seat, mine in enumerate(points):
        places = [place for place, other in enumerate(ranked) if other == mine]
        rewards[seat] = sum((prizes[place] for place in places), Fraction(0)) / len(places)
    return rewards
