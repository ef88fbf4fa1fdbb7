"""The reference alone: clauses of RULES.md that no worked case reaches, what seats can know, and random house games.

A row is a short script, one instruction a line or between semicolons:

    2 bid_5              seat 2 is to move, bid_5 is legal, it plays it
    2 others peek        seat 2 is to move; besides numbers this is legal and nothing else (- for nothing)
    2 to move
    2 forfeits           plays an illegal action at a table where that ends the game
    2 fails WORD peek    seat 2 plays peek; it raises, the message contains WORD; nothing has changed
    lives 3 2            of seat 0, 1
    peeks 2/1 0/3        open/closed Peek cards of seat 0, 1
    holder 1             the Coyote card is held by seat 1 (- for nobody)
    wears 5 - 7,-5       the cards of seat 0, 1, 2 (- for none)
    centre 5             the centre card (5,7: and the one that the Coyote card added)
    pile 4               cards left in the pile
    total 11             of the last reveal
    paid 0 -1/2 0        the rewards of the last action
    returns 1 -1/2 -1/2  rewards so far
    over; running
"""

from __future__ import annotations

import copy
import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import pytest

from tests.reference import coyote as reference
from tests.reference.coyote import ReferenceGame


@dataclass
class Row:
    """A clause of the rules and the play that shows it. Draws beyond `draws` are the lowest card of the pile."""

    clause: str
    script: str
    draws: str = ""
    table: dict[str, Any] = field(default_factory=dict)


# Most rows play with these: undisturbed draws are all 1, and a 9 makes room for numbers that cannot hold.
ONES = {"1": 20, "9": 5}


def peek(num_players: int, **kwargs: Any) -> dict[str, Any]:
    return {"edition": "peek", "num_players": num_players, "deck": ONES, **kwargs}


def trickster(num_players: int, **kwargs: Any) -> dict[str, Any]:
    return {"edition": "trickster", "num_players": num_players, "deck": ONES, **kwargs}


# Seat 1 of three loses a challenge, discards and holds the Coyote card in round 2, which it starts.
SEAT_1_HOLDS = "0 bid_1; 1 challenge; 2 point_announcer; 1 discard_closed; holder 1; 1 to move; "

ROWS = [
    Row(
        "C: the next live seat after the loser starts",
        "0 bid_1; 1 challenge; 2 bid_1; 0 bid_9; 1 challenge; 1 to move",
        table={"edition": "animals", "num_players": 3},
    ),
    # --- D
    Row(
        "A, D: a deal goes clockwise from the starter over the live seats, then to the centre, which counts",
        "wears 1 1 9; centre 9; 0 bid_20; 1 challenge; total 20; 1 discard_open; wears 9 1 1; centre 1",
        draws="1 1 9 9 1 1 9 1",
        table=peek(3),
    ),
    Row(
        "D: at its turn a seat raises, challenges or peeks, but not at the opening turn of a round",
        "0 others -; 0 bid_1; 1 others challenge peek",
        table=peek(3),
    ),
    Row(
        "D: it closes one open card and must then raise; once per seat and round",
        """
        peeks 2/1 2/1 2/1; 0 bid_1; 1 peek; peeks 2/1 1/2 2/1; 1 others -; 1 bid_2
        2 bid_3; 0 others challenge peek; 0 bid_4; 1 others challenge; 1 challenge
        """,
        table=peek(3),
    ),
    Row(
        "D: in the next round the seat may peek again",
        "0 bid_1; 1 peek; 1 bid_2; 0 challenge; 0 discard_open; 0 bid_1; 1 others challenge peek",
        table=peek(2),
    ),
    Row("D: only with an open card", "0 bid_1; 1 others challenge", table=peek(3, closed_peeks=3)),
    Row("D, A: no peek at the cap", "0 bid_36; 1 others challenge", table=peek(3)),
    Row(
        "B: the seat that declared a modifier cannot peek; the seat that peeked can declare one",
        """
        0 bid_1; 1 double; 1 others next_is+2; 1 bid_2
        2 peek; 2 others next_is+2; 2 next_is+2; 2 others -; 2 bid_3; 1 to move
        """,
        table=peek(3, variants=["double", "next_is"]),
    ),
    Row(
        "B: any other decision ends a `double`, peeking too",
        "0 double; 0 bid_1; 1 peek; 1 bid_2; 2 challenge; 2 discard_open; peeks 2/1 2/1 1/1",
        table=peek(3, variants=["double"]),
    ),
    Row(
        "B: no peek with a number demanded by `reverse`; then the seats in the new direction may",
        "0 bid_1; 1 others challenge peek reverse; 1 reverse; 0 others -; 0 bid_2; 2 others challenge peek",
        table=peek(3, variants=["reverse"]),
    ),
    Row(
        "B: no peek with a number demanded by `again`, nor for the seat that demanded it",
        "0 bid_1; 1 others again challenge peek; 1 again; 0 others -; 0 bid_2; 1 others challenge; 1 bid_3; 2 peek",
        table=peek(3, variants=["again"]),
    ),
    Row(
        "B: what came with the refused number stays used: a peek",
        "0 bid_1; 1 peek; 1 bid_2; 0 again; 1 bid_3; 0 bid_4; 1 others challenge",
        table=peek(2, variants=["again"]),
    ),
    Row(
        "B, D: the reply `idem` is open to a seat that could peek, not to one that has",
        "0 bid_1; 1 peek; 1 others -; 1 bid_2; 0 idem; 1 others challenge",
        table=peek(2, variants=["idem"]),
    ),
    Row(
        "D: the winner turns one closed card open, the loser is asked which card it discards",
        """
        0 bid_1; 1 challenge; peeks 3/0 2/1 2/1; 1 others discard_closed discard_open
        1 discard_closed; peeks 3/0 2/0 2/1; 1 to move
        """,
        table=peek(3),
    ),
    Row(
        "D: ... if any; and asked only where it has both kinds",
        "0 bid_1; 1 challenge; peeks 3/0 2/0; 1 bid_1; 0 challenge; peeks 2/0 2/0",
        table=peek(2, closed_peeks=0),
    ),
    Row(
        "D: ... closed cards alone leave no choice either",
        "0 bid_1; 1 challenge; peeks 1/2 0/2",
        table=peek(2, closed_peeks=3),
    ),
    Row(
        "D: with `double` two, one after another",
        """
        0 double; 0 bid_36; 1 challenge; 0 discard_open; 0 others discard_closed discard_open; 0 discard_closed
        peeks 1/1 3/1 2/2; 0 to move; 0 others double
        """,
        table=peek(3, lives=4, closed_peeks=2, variants=["double"]),
    ),
    Row(
        "D: asked only where a choice is left: the second card may have but one kind",
        "0 double; 0 bid_36; 1 challenge; 0 discard_closed; peeks 2/0 4/0 3/1; 0 to move; 0 others double",
        table=peek(3, lives=4, variants=["double"]),
    ),
    Row(
        "D: asked only where a choice is left: not when it must give all it has",
        "0 double; 0 bid_36; 1 challenge; peeks 0/0 2/0 1/1; 1 to move; running",
        table=peek(3, lives=2, variants=["double"]),
    ),
    Row(
        "D: if the loser is eliminated, the next live seat to its left starts",
        "0 bid_1; 1 bid_36; 2 challenge; 2 to move; wears 1 - 1",
        table=peek(3, lives=1),
    ),
    Row(
        "D: a `?` in the centre is resolved at the reveal; a drawn `max0` acts",
        "centre ?; 0 bid_5; 1 challenge; total 5; 1 to move",
        draws="5 10 ? max0",
        table={"edition": "peek", "num_players": 2},
    ),
    Row(
        "B, D: a `night` in the centre has all cards shuffled together",
        "pile 4; 0 bid_2; 1 challenge; 1 discard_open; pile 4; 1 bid_2; 0 challenge; 0 to move; pile 1",
        draws="1 1 night 1 1 1",
        table=peek(2, deck={"1": 6, "night": 1}, reshuffle="when_needed"),
    ),
    Row(
        "H: `round` pays in the step of the discard that settles the challenge, all of it",
        """
        0 double; 0 bid_36; 1 challenge; paid 0 0 0; 0 discard_open; paid 0 0 0; 0 discard_open; paid -2 1 1
        0 bid_1; 1 bid_2; 2 challenge; paid 0 0 0; 2 discard_open; paid 1/2 1/2 -1; returns -3/2 3/2 0
        """,
        table=peek(3, lives=4, closed_peeks=1, variants=["double"], reward="round"),
    ),
    Row(
        "H: `round` pays at the reveal where nothing is to be chosen",
        "0 bid_1; 1 challenge; paid 1/2 -1 1/2",
        table=peek(3, closed_peeks=0, reward="round"),
    ),
    Row(
        "F, D: `first_loss`: the first life is lost with the discard",
        "0 bid_1; 1 challenge; paid 0 0 0; running; 1 discard_open; paid 1/2 -1 1/2; over",
        table=peek(3, game_end="first_loss"),
    ),
    Row(
        "H: a seat that forfeits its discard has not lost the life, nor has another been paid",
        "0 bid_1; 1 challenge; 1 forfeits; over; paid 1/2 -1 1/2",
        table=peek(3, reward="round"),
    ),
    Row(
        "A: a card not left raises when it is due, naming it, and the step changes nothing: the deal after a discard",
        "0 bid_1; 1 challenge; 1 fails 7 discard_open; 1 others discard_closed discard_open",
        draws="1 1 1 7",
        table=peek(2),
    ),
    # --- E
    Row(
        "E: one open, two closed; nobody holds the Coyote card in round 1",
        "peeks 1/2 1/2; holder -; 0 others -",
        table=trickster(2),
    ),
    Row(
        "E: asked clockwise from the challenger, over the live seats not in the challenge; `reverse` or not",
        """
        0 bid_1; 1 reverse; 0 bid_2; 4 challenge
        1 others point_announcer point_challenger; 1 point_announcer; 2 point_announcer; 3 point_challenger; 4 to move
        """,
        table=trickster(5, variants=["reverse"]),
    ),
    Row(
        "E: right turns one closed card open, wrong closes an open one; then the challenge is settled",
        """
        0 bid_1; 1 challenge; 2 point_announcer; peeks 1/2 1/2 1/2 1/2
        3 point_challenger; peeks 2/1 1/2 2/1 0/3; 1 discard_open; peeks 2/1 0/2 2/1 0/3
        """,
        table=trickster(4),
    ),
    Row(
        "E: right with no closed card changes nothing",
        "0 bid_36; 1 challenge; 2 point_challenger; peeks 2/0 3/0 3/0",
        table=trickster(3, closed_peeks=0),
    ),
    Row(
        "E: wrong with no open card changes nothing",
        "0 bid_36; 1 challenge; 2 point_announcer; peeks 0/2 1/2 0/3",
        table=trickster(3, closed_peeks=3),
    ),
    Row(
        "E: with two live seats nobody points",
        "0 bid_1; 1 challenge; peeks 2/1 1/2; 1 others discard_closed discard_open",
        table=trickster(2),
    ),
    Row(
        "E: eliminated seats do not point",
        """
        0 bid_1; 1 challenge; 2 point_announcer; 3 point_announcer
        2 bid_1; 3 bid_2; 0 challenge; 2 point_announcer; 2 bid_1; 3 challenge; over
        """,
        table=trickster(4, lives=1, closed_peeks=0),
    ),
    Row(
        "B, E: a `double` lasts through the pointing",
        "0 double; 0 bid_36; 1 challenge; 2 point_announcer; peeks 1/2 2/1 0/3; 0 discard_open; peeks 0/1 2/1 0/3",
        table=trickster(3, variants=["double"]),
    ),
    Row(
        "E: the round's loser takes the Coyote card; at the opening turn it counts too",
        SEAT_1_HOLDS
        + "1 others coyote; 1 coyote; centre 1,9; 1 others -; 1 bid_13; 2 challenge; 0 point_announcer; total 13",
        draws="1 1 1 1 1 1 1 1 9",
        table=trickster(3),
    ),
    Row(
        "E: the next round's loser takes it from the holder",
        SEAT_1_HOLDS + "1 bid_1; 2 challenge; 0 point_announcer; 2 discard_closed; holder 2; 2 others coyote",
        table=trickster(3),
    ),
    Row(
        "E: if the loser is eliminated, nobody holds it in the next round",
        """
        0 bid_1; 1 challenge; 2 point_announcer; holder 1; 1 others coyote; 1 bid_45; 2 challenge; 0 point_challenger
        holder -; lives 2 0 2; 2 others -; 2 bid_1; 0 others challenge peek; 0 challenge; holder 0; 0 others coyote
        """,
        table=trickster(3, lives=2, closed_peeks=0),
    ),
    Row(
        "E: as the first thing of one of its turns: not after a peek, with no peek after it, once per round",
        SEAT_1_HOLDS
        + """
        1 bid_1; 2 bid_2; 0 bid_3; 1 others challenge coyote peek; 1 peek; 1 others -; 1 bid_4
        2 bid_5; 0 bid_6; 1 others challenge coyote; 1 coyote; 1 others -; 1 bid_7; 2 bid_8; 0 bid_9; 1 others challenge
        """,
        table=trickster(3),
    ),
    Row(
        "E: the Coyote card, then modifiers; not the other way round",
        SEAT_1_HOLDS + "1 coyote; 1 others double; 1 double; 1 others -; 1 bid_1",
        table=trickster(3, variants=["double"]),
    ),
    Row(
        "B, E: ... nor after a modifier has been declared",
        SEAT_1_HOLDS + "1 double; 1 others -",
        table=trickster(3, variants=["double"]),
    ),
    Row(
        "E, A: not at the cap",
        SEAT_1_HOLDS + "1 bid_1; 2 bid_2; 0 bid_45; 1 others challenge",
        table=trickster(3),
    ),
    Row(
        "B, E: not with a number demanded by `again` or `reverse`",
        SEAT_1_HOLDS
        + """
        1 bid_1; 2 again; 1 others -; 1 bid_2; 2 bid_3; 0 bid_4
        1 bid_5; 2 reverse; 1 others -; 1 bid_6; 0 to move
        """,
        table=trickster(3, variants=["again", "reverse"]),
    ),
    Row(
        "B, E: ... nor for the seat that demanded it by `again`",
        SEAT_1_HOLDS + "1 bid_1; 2 bid_2; 0 bid_3; 1 again; 0 bid_4; 1 others challenge",
        table=trickster(3, variants=["again"]),
    ),
    Row(
        "E: illegal if nothing can be drawn",
        "0 bid_1; 1 challenge; 2 point_announcer; 1 discard_open; holder 1; pile 0; 1 others -",
        table=trickster(3, deck={"1": 4}),
    ),
    Row(
        "A, E: the Coyote card finds the pile empty: the discards become the pile",
        "0 bid_1; 1 challenge; 1 discard_open; pile 0; 1 coyote; pile 2; centre 1,1; 1 bid_4; 0 challenge; total 4",
        table=trickster(2, deck={"1": 6}, reshuffle="when_needed"),
    ),
    Row(
        "B, E: no extra feather once the Coyote card has taken the last card",
        SEAT_1_HOLDS + "1 others coyote extra_feather+1 extra_feather+2; 1 coyote; 1 others -",
        table=trickster(3, deck={"1": 5}, variants=["extra_feather"]),
    ),
    Row(
        "B, E: feather and Coyote card together; all of it counts",
        SEAT_1_HOLDS + "1 coyote; 1 extra_feather+1; 1 bid_6; wears 1 1 1,1; 2 challenge; 0 point_announcer; total 6",
        table=trickster(3, variants=["extra_feather"]),
    ),
    Row(
        "H: who forfeits a pointing ends the game, and the challenge is never settled",
        "0 bid_1; 1 challenge; 2 forfeits; over; peeks 1/2 1/2 1/2; returns 1/2 1/2 -1",
        table=trickster(3),
    ),
    Row(
        "A: a card not left raises when it is due, naming it, and the step changes nothing: drawn at the last pointing",
        "0 bid_1; 1 challenge; 2 fails 7 point_announcer; 2 others point_announcer point_challenger; peeks 1/2 1/2 1/2",
        draws="? 1 1 1 7",
        table=trickster(3, deck={"1": 5, "?": 1}),
    ),
    Row(
        "A: a card not left raises when it is due, naming it, and the step changes nothing: drawn by the Coyote card",
        SEAT_1_HOLDS + "1 fails 7 coyote; 1 others coyote",
        draws="1 1 1 1 1 1 1 1 7",
        table=trickster(3),
    ),
]


def shown(values: list[str]) -> str:
    return ",".join(values) or "-"


def perform(game: ReferenceGame, paid: list[Fraction], line: str) -> None:
    match line.split():
        case ["over"]:
            assert game.over
        case ["running"]:
            assert not game.over
        case ["lives", *expected]:
            assert list(map(str, game.lives)) == expected
        case ["peeks", *expected]:
            assert [f"{a}/{b}" for a, b in zip(game.open_peeks, game.closed_peeks, strict=True)] == expected
        case ["holder", expected]:
            assert shown([] if game.coyote_holder is None else [str(game.coyote_holder)]) == expected
        case ["wears", *expected]:
            assert [shown(cards) for cards in game.worn] == expected
        case ["centre", expected]:
            assert shown([card for card in (game.centre, game.coyote_card) if card is not None]) == expected
        case ["pile", expected]:
            assert str(sum(game.pile.values())) == expected
        case ["total", expected]:
            assert game.reveal is not None
            assert str(game.reveal["total"]) == expected
        case ["paid", *expected]:
            assert list(map(str, paid)) == expected
        case ["returns", *expected]:
            assert list(map(str, game.returns)) == expected
        case [seat, *rest]:
            assert str(game.seat) == seat
            perform_of_seat(game, paid, rest)
        case _:
            raise AssertionError(f"no instruction: {line}")


def perform_of_seat(game: ReferenceGame, paid: list[Fraction], words: list[str]) -> None:
    match words:
        case ["to", "move"]:
            assert not game.over
        case ["others", *expected]:
            others = sorted(name for name in game.legal() if not name.startswith("bid_"))
            assert (others or ["-"]) == expected
        case ["fails", named, action]:
            before = copy.deepcopy({key: value for key, value in vars(game).items() if key != "next_face"})
            with pytest.raises(ValueError, match=rf"(?<![\w-]){re.escape(named)}(?!\w)"):
                game.step(action)
            assert {key: value for key, value in vars(game).items() if key != "next_face"} == before
        case ["forfeits"]:
            rewards = game.forfeit()
            paid[:] = [rewards.get(seat, Fraction(0)) for seat in range(game.num_seats)]
        case [action]:
            assert action in game.legal()
            rewards = game.step(action)
            paid[:] = [rewards.get(seat, Fraction(0)) for seat in range(game.num_seats)]
        case _:
            raise AssertionError(f"no instruction: {words}")


@pytest.mark.parametrize("row", ROWS, ids=[row.clause for row in ROWS])
def test_clause(row: Row) -> None:
    """On the reference; test_against_reference.py plays the same rows on the engine."""
    script = reference.Script(row.draws.split(), then=lambda pile: min(pile))
    perform_row(row, ReferenceGame(reference.resolve(**row.table), script, 0))


def perform_row(row: Row, game: ReferenceGame) -> None:
    """Carries out a row's script; names the line at which something is wrong."""
    paid: list[Fraction] = []
    for line in re.split(r"[;\n]", row.script):
        if line.strip():
            try:
                perform(game, paid, line.strip())
            except AssertionError as error:
                raise AssertionError(f"{row.clause}: at {line.strip()!r}: {error}") from error


def test_the_decks() -> None:
    """C and D: about 110 animals without specials; 17 cards, one each."""
    assert sum(reference.ANIMALS_110.values()) == 110
    assert sum(reference.PEEK_17.values()) == len(reference.PEEK_17) == 17


# ---------------------------------------------------------------------------------------------------------------------
# The cap


@pytest.mark.parametrize("seed", range(60))
def test_largest_totals_by_trying_everything(seed: int) -> None:
    """A: the largest total that the deck can reach, all extra cards the rules can put in play included."""
    rng = random.Random(seed)
    faces = rng.sample(["-7", "-2", "0", "1", "3", "8", *reference.SPECIALS], rng.randint(2, 5))
    cards = Counter(rng.choice(faces) for _ in range(rng.randint(3, 7)))
    rules = reference.resolve(
        "trickster" if rng.random() < 0.6 else "peek",
        deck=cards,
        variants=rng.choice(["none", ["extra_feather"]]),
    )
    for live in range(2, sum(cards.values())):
        assert reference.max_bid(rules, live) == reference.max_bid_brute_force(rules, live)


# ---------------------------------------------------------------------------------------------------------------------
# What a seat can know of the total


class ForkError(Exception):
    """A draw that the script does not name."""

    def __init__(self, pile: Counter[str]) -> None:
        self.pile = pile


def fork(pile: Counter[str]) -> str:
    raise ForkError(pile)


@dataclass
class Known:
    """A play of which the seats know different things.

    `first`: the cards drawn in the first round, whose actions are `before`. Then all draws are possible; the actions
    are the same in all ways. `knows`: which seats have seen the centre card or drawn the Coyote card's.
    """

    what: str
    table: dict[str, Any]
    first: str
    before: str
    then: str
    knows: dict[int, set[str]]


TWO = {"num_players": 2, "reshuffle": "when_needed"}
THREE = {"num_players": 3, "reshuffle": "when_needed", "variants": ["extra_feather"]}
KNOWN = [
    Known(
        "nothing but what is worn",
        {"edition": "peek", "num_players": 2, "deck": {"1": 2, "2": 1, "5": 2, "?": 1, "max0": 1}},
        first="",
        before="",
        then="bid_1 bid_2",
        knows={},
    ),
    Known(
        "the centre card, to the seat that peeked",
        {"edition": "peek", "num_players": 3, "deck": {"1": 2, "2": 1, "5": 2, "?": 1}},
        first="",
        before="",
        then="bid_1 peek bid_2",
        knows={1: {"centre"}},
    ),
    Known(
        "the Coyote card's, to its drawer; the peeked one to another",
        {"edition": "trickster", "num_players": 2, "deck": {"1": 2, "2": 1, "5": 2, "?": 1}},
        first="1 2 1",
        before="bid_1 challenge discard_closed",
        then="coyote bid_2 peek bid_3",
        knows={1: {"coyote"}, 0: {"centre"}},
    ),
    Known(
        "the pile ends with the deal, the Coyote card comes from the discards",
        {"edition": "trickster", **TWO, "deck": {"1": 1, "2": 2, "4": 1, "6": 1, "9": 1}},
        first="1 2 9",
        before="bid_1 challenge discard_closed",
        then="coyote bid_1",
        knows={1: {"coyote"}},
    ),
    Known(
        "the same, and the drawer peeks later: it knows all, the other its own and the centre card together",
        {"edition": "trickster", **TWO, "deck": {"1": 1, "2": 2, "4": 1, "6": 1, "9": 1}},
        first="1 2 9",
        before="bid_1 challenge discard_closed",
        then="coyote bid_1 bid_2 peek bid_3",
        knows={1: {"coyote", "centre"}},
    ),
    Known(
        "the pile ends within the deal, after the starter's own card",
        {"edition": "peek", **TWO, "deck": {"1": 2, "3": 1, "7": 1}},
        first="1 3 1",
        before="bid_1 challenge discard_closed",
        then="bid_1",
        knows={},
    ),
    Known(
        "the pile ends within the deal, before the centre card",
        {"edition": "trickster", **TWO, "deck": {"1": 2, "3": 1, "7": 1, "?": 1}},
        first="1 3 7",
        before="bid_1 challenge discard_closed",
        then="coyote bid_1 peek bid_2",
        knows={1: {"coyote"}, 0: {"centre"}},
    ),
    Known(
        "the pile ends with the Coyote card, a feather comes from the discards",
        {"edition": "trickster", **THREE, "deck": {"1": 3, "2": 2, "4": 2, "?": 1, "night": 1}},
        first="1 2 4 2",
        before="bid_1 challenge point_announcer discard_closed",
        then="coyote extra_feather+1 bid_1 peek bid_2",
        knows={1: {"coyote"}, 2: {"centre"}},
    ),
]


def all_ways(rules: dict[str, Any], first: list[str], actions: list[str]) -> Iterator[tuple[ReferenceGame, Fraction]]:
    """The play in each way in which cards beyond `first` can be drawn, with its chance."""
    waiting = [(first, Fraction(1))]
    while waiting:
        cards, chance = waiting.pop()
        try:
            game = ReferenceGame(rules, reference.Script(cards, then=fork), 0)
            for action in actions:
                game.step(action)
        except ForkError as draw:
            size = sum(draw.pile.values())
            waiting += [([*cards, face], chance * Fraction(n, size)) for face, n in draw.pile.items()]
        else:
            yield game, chance


@pytest.mark.parametrize("known", KNOWN, ids=[known.what for known in KNOWN])
def test_total_distribution_is_the_share_of_all_games_that_look_alike(known: Known) -> None:
    """Of all games that look the same to a seat, a total has as large a share as the reference says in each of them."""
    rules = reference.resolve(**known.table)
    looks: dict[Any, list[tuple[ReferenceGame, Fraction]]] = {}
    for game, chance in all_ways(rules, known.first.split(), [*known.before.split(), *known.then.split()]):
        for seat in range(game.num_seats):
            knows = known.knows.get(seat, set())
            look = (
                seat,
                tuple(tuple(cards) for other, cards in enumerate(game.worn) if other != seat),
                game.centre if "centre" in knows else None,
                game.coyote_card if "coyote" in knows else None,
            )
            looks.setdefault(look, []).append((game, chance))
    assert len(looks) > 1
    for (seat, *_), games in looks.items():
        shares: Counter[int] = Counter()
        for game, chance in games:
            cards = game.in_play()
            for drawn, later in reference.reveal_draws(cards.count("?"), +game.pile, +game.discards):
                shares[reference.total_of([*cards, *drawn])] += chance * later  # type: ignore[assignment]  # a Counter of fractions
        whole = sum(chance for _, chance in games)
        expected = {total: share / whole for total, share in shares.items()}
        for game, _ in games[:4]:
            assert reference.total_distribution(game, seat) == expected


def test_all_know_the_total_while_the_loser_chooses() -> None:
    """A: until the next deal everybody sees every card in play, its own too."""
    game = ReferenceGame(reference.resolve(**peek(3)), reference.Script(["1", "9", "1", "1"]), 0)
    game.step("bid_1")
    game.step("challenge")
    assert game.phase == "discard"
    assert all(reference.total_distribution(game, seat) == {12: 1} for seat in range(3))


# ---------------------------------------------------------------------------------------------------------------------
# Any rules at all


def any_rules(rng: random.Random) -> dict[str, Any] | None:
    """A house game of any edition; None where the deck does not allow it."""
    faces = [*map(str, range(-3, 13)), "-10", "20", *reference.SPECIALS]
    chosen = rng.sample(faces, rng.randint(2, 10))
    custom = {face: rng.randint(1, 4) for face in chosen}
    lives = rng.randint(1, 5)
    has_peek = rng.random() < 0.7
    rules = reference.resolve(
        rng.choice(sorted(reference.EDITIONS)),
        num_players=rng.randint(2, 10),
        deck=rng.choice([custom, custom, *reference.DECKS]),
        lives=lives,
        variants=[name for name in reference.VARIANTS if rng.random() < 0.4],
        peek=has_peek,
        closed_peeks=rng.randint(0, lives),
        trickster=has_peek and rng.random() < 0.7,
        reshuffle=rng.choice(["when_needed", "when_needed", "every_round"]),
        starter=rng.choice(["loser", "after_loser"]),
        starter_if_out=rng.choice(["winner", "left"]),
        game_end=rng.choice(["last_standing"] * 4 + ["first_loss"]),
        reward=rng.choice(["win", "placement", "round"]),
    )
    if sum(rules["deck"].values()) < rules["num_players"] + has_peek:
        return None
    if not all(1 <= reference.max_bid(rules, live) <= 300 for live in range(2, rules["num_players"] + 1)):
        return None
    return rules


def check_state(game: ReferenceGame) -> None:
    assert Counter(game.in_play() + game.drawn) + game.pile + game.discards == Counter(game.rules["deck"])
    assert bool(game.drawn) <= game.revealed
    assert [place for place, _ in game.draws].count("centre") == game.rules["peek"]
    if game.rules["peek"]:
        assert [a + b for a, b in zip(game.open_peeks, game.closed_peeks, strict=True)] == game.lives
        assert min(game.open_peeks + game.closed_peeks) >= 0
    assert sorted(game.eliminated) == [seat for seat in range(game.num_seats) if game.lives[seat] == 0]
    if game.over:
        assert game.legal() == []
        return
    legal = game.legal()
    assert 0 < len(legal) == len(set(legal))
    assert game.lives[game.seat] > 0
    assert (game.phase == "discard") == (game.owed > 0) == game.revealed
    assert game.coyote_holder is None or (game.lives[game.coyote_holder] > 0 and game.rules["trickster"])


def choose(legal: list[str], rng: random.Random, challenge: float) -> str:
    """A random action under which rounds last, and every kind of action and the cap come up."""
    numbers = [name for name in legal if name.startswith("bid_")]
    others = [name for name in legal if not name.startswith("bid_") and name != "challenge"]
    if "challenge" in legal and (len(legal) == 1 or rng.random() < challenge):
        return "challenge"
    if others and (not numbers or rng.random() < 0.45):
        kind = rng.choice(sorted({name.partition("+")[0] for name in others}))
        return rng.choice([name for name in others if name.startswith(kind)])
    if not numbers:
        return "challenge"
    if rng.random() < 0.04:
        return numbers[-1 - (rng.random() < 0.5 and len(numbers) > 1)]
    return numbers[min(len(numbers) - 1, int(rng.expovariate(0.4)))]


def test_random_house_games_end_with_all_cards_and_a_sum_of_zero() -> None:
    met: Counter[str] = Counter()
    seed = 0
    while met["games"] < 100:
        seed += 1
        rng = random.Random(seed)
        rules = any_rules(rng)
        if rules is None:
            continue
        met["games"] += 1
        game = ReferenceGame(rules, reference.at_random(rng), rng.randrange(rules["num_players"]))
        challenge = rng.choice([0.1, 0.3, 0.7])
        paid = [Fraction(0)] * game.num_seats
        check_state(game)
        while not game.over:
            live = len(game.live())
            if rng.random() < 0.002:
                rewards = game.forfeit()
            else:
                action = choose(game.legal(), rng, challenge)
                met[f"{game.phase}: {re.split(r'[+]|(?<=bid)_', action)[0]}"] += 1
                last_reveal = game.reveal
                rewards = game.step(action)
                if game.reveal is not last_reveal:
                    assert game.reveal is not None
                    assert game.reveal["total"] <= reference.max_bid(rules, live)
            for seat, reward in rewards.items():
                paid[seat] += reward
            check_state(game)
        assert paid == game.returns
        assert sum(paid) == 0
    turn = {*reference.VARIANTS, "peek", "coyote", "bid", "challenge"}
    expected = {f"turn: {name}" for name in turn}
    expected |= {f"pointing: {name}" for name in ("point_announcer", "point_challenger")}
    expected |= {f"discard: {name}" for name in ("discard_open", "discard_closed")}
    assert {name for name in expected if met[name] < 5} == set()
