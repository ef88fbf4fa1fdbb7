"""SCOUT's clauses, row by row, on the reference and on the engine through its public face.

A row is a short script, one instruction a line or between semicolons:

    all keep             every seat, from the first of the round on, keeps its hand as it is
    2 show_0_2           seat 2 is to move, this is legal, it plays it
    2 scout_left_as_is>3 the same, and then insert_3 (the same for scout_show_...)
    2 can show_0_1 ...   seat 2 is to move, and all these are legal
    2 cannot keep ...    seat 2 is to move, and none of these is legal
    2 only insert_0..3   seat 2 is to move; exactly these are legal
    2 kinds show scout   seat 2 is to move; exactly these kinds of action are legal
    2 to move
    2 forfeits           plays an illegal action at a table where that ends the game
    hand 1 5/1 2/9       how the hand of seat 1 begins (upper/lower number)
    cards 1 11           how many cards it has
    active 5/1 5/2       the whole active Show (- for none)
    owner 1              whose it is (- for nobody)
    captured 0 2 0       cards of each seat in this round
    tokens 1 0 0         got in this round; of two seats those left to spend
    round 2; first 1     of the running round; the first round is 1
    points -8 2 -13      of the rounds that are over
    paid 0 -1/2 1/2      the rewards of the last action
    returns 1 -1/2 -1/2  rewards so far
    over; running
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import pytest

from tests.reference import scout as reference
from tests.scout_tables import EngineTable, ReferenceTable, Table, cards, fill, shown


@dataclass
class Row:
    """A clause of the rules and the play that shows it. `hands`: how the first round's hands begin, by seat."""

    clause: str
    script: str
    hands: Sequence[str] = ()
    first: int = 0
    table: dict[str, Any] = field(default_factory=dict)
    later: Sequence[Sequence[str]] = ()  # the same for later rounds


def three(**kwargs: Any) -> dict[str, Any]:
    return {"num_players": 3, "rounds": 1, **kwargs}


def two(**kwargs: Any) -> dict[str, Any]:
    return {"num_players": 2, "rounds": 1, **kwargs}


RULEBOOK = {"exemption": "rulebook"}
# A hand of three seats that has no two neighbours equal or consecutive, nor with room for one card between them but
# at 7; no 1, 5, 6 or 8 is on top.
POOR = "2/1 4/1 2/3 4/6 7/2 2/4 9/2 2/5 4/7 9/3 4/8 9/4"
# Nine cards of five seats, ten to one and four to seven: one Show.
WHOLE_HAND = "1/2 2/3 3/4 4/5 5/6 6/7 7/8 8/9 9/10"
# Eleven cards of which no two neighbours are equal or consecutive.
PLAIN = "1/9 3/9 1/8 3/8 1/7 3/7 1/6 3/6 1/5 3/5 1/4"
RUN_OF_SEVEN = "4/10 5/10 6/10 7/10 8/10 9/6 10/1"

ROWS = [
    # --- A round's start
    Row(
        "orientation: keep or turn the whole hand, asked clockwise from the round's first seat; then never again",
        """
        1 only keep flip; 1 flip; 2 only keep flip; 2 keep; 0 only keep flip; 0 keep
        1 cannot keep flip; hand 1 2/1 3/1 1/4; hand 2 6/7 9/8; hand 0 8/1 8/2
        1 can show_0_2; 1 show_0_2; 2 cannot keep flip
        """,
        ["8/1 8/2", "1/2 1/3 4/1", "6/7 9/8"],
        first=1,
        table=three(),
    ),
    Row(
        "turned upside down the numbers swap, the left-right order stays: other Shows",
        "0 keep; 1 flip; 2 keep; 0 show_0_1; 1 can show_0_2; 1 cannot show_1_2; hand 1 3/9 4/8 2/8",
        ["1/2", "9/3 8/4 8/2"],
        table=three(),
    ),
    Row("nothing is active at a round's start: the first seat must show", "all keep; 0 kinds show", table=three()),
    Row(
        "nobody need see the others' choice before its own: hands do not change it",
        "0 flip; 1 only keep flip; 1 flip; 2 only keep flip; hand 1 2/1",
        ["", "1/2"],
        table=three(),
    ),
    # --- Shows
    Row(
        "a Show is one card, or adjacent cards all equal or consecutive, rising or falling, by their upper numbers",
        """
        all keep; 0 can show_0_1 show_7_1 show_0_2 show_0_3 show_1_2 show_2_2 show_3_2
        0 cannot show_0_4 show_1_3 show_2_3 show_4_2 show_5_2 show_6_2 show_3_3
        """,
        ["2/1 3/1 4/1 4/2 3/2 9/2 1/9 3/9"],
        table=three(),
    ),
    Row(
        "three equal cards, and any part of them",
        "all keep; 0 can show_0_3 show_0_2 show_1_2; 0 cannot show_0_4 show_2_2; 0 show_0_3; active 5/1 5/2 5/3",
        ["5/1 5/2 5/3 8/1"],
        table=three(),
    ),
    Row(
        "a falling run of four; it lies as it lay in the hand, which closes up",
        "all keep; 0 can show_1_4; 0 show_1_4; active 7/1 6/1 5/1 4/1; hand 0 1/9 9/4; cards 0 8; owner 0; 1 to move",
        ["1/9 7/1 6/1 5/1 4/1 9/4"],
        table=three(),
    ),
    Row(
        "up and down again is no run; 9 and 1 are not neighbours",
        "all keep; 0 can show_0_2 show_1_2; 0 cannot show_0_3 show_3_2 show_4_2; 0 can show_3_1",
        ["3/1 4/1 3/2 9/1 1/2 9/2"],
        table=three(),
    ),
    Row(
        "a run from 1 to 10",
        "all keep; 0 can show_0_10 show_0_9 show_9_1; 0 cannot show_0_11; 0 show_0_10; cards 0 1",
        ["10/2 9/3 8/2 7/2 6/2 5/2 4/2 3/2 2/1 1/3 9/2"],
        table={"num_players": 4, "rounds": 1},
    ),
    # --- Beating
    Row(
        "more cards beat fewer, whatever is on them; of one card each the higher, and a tie does not beat",
        """
        all keep; 0 show_0_1; 1 can show_0_2 show_2_2; 1 cannot show_0_1 show_1_1 show_2_1 show_3_1
        """,
        ["9/1", "1/2 2/3 8/4 9/2 4/1"],
        table=three(),
    ),
    Row(
        "a single card has no kind: the higher beats the lower",
        "all keep; 0 show_0_1; 1 cannot show_0_1 show_1_1; 1 can show_2_1; 1 show_2_1; owner 1",
        ["5/1", "4/1 5/2 6/1"],
        table=three(),
    ),
    Row(
        "three in a run beat two equal ones",
        "all keep; 0 show_0_2; 1 can show_0_3; 1 cannot show_0_2 show_3_2 show_0_1; 1 show_0_3; captured 0 2 0",
        ["9/1 9/2", "1/2 2/3 3/4 8/1 8/2 3/1"],
        table=three(),
    ),
    Row(
        "of as many cards, equal ones beat a run",
        "all keep; 0 show_0_2; 1 can show_0_2; 1 show_0_2; active 1/2 1/3",
        ["8/1 9/1", "1/2 1/3 8/2"],
        table=three(),
    ),
    Row(
        "a run does not beat equal ones; higher equal ones do, a tie does not",
        "all keep; 0 show_0_2; 1 cannot show_0_2 show_3_2; 1 can show_5_2",
        ["2/3 2/4", "8/1 9/1 1/4 2/5 2/6 3/4 3/5 1/6"],
        table=three(),
    ),
    Row(
        "of two runs the one with the higher smallest number, rising or falling; a tie does not",
        "all keep; 0 show_0_2; 1 cannot show_0_2 show_2_2 show_5_2; 1 can show_8_2 show_9_2",
        ["5/1 4/1", "4/2 5/2 5/3 4/3 8/1 3/1 4/6 9/1 5/6 6/1 7/1 2/1"],
        table=three(),
    ),
    Row(
        "runs of three by their smallest number, not their first or highest",
        "all keep; 0 show_0_3; 1 cannot show_0_3 show_4_3; 1 can show_8_3",
        ["3/1 4/1 5/1", "5/2 4/2 3/2 9/1 2/1 3/6 4/6 9/2 6/1 5/6 4/8 1/8"],
        table=three(),
    ),
    Row(
        "the beaten Show's cards are captured by the new owner, Show after Show",
        """
        all keep; 0 show_0_2; captured 0 0 0; 1 show_0_2; captured 0 2 0; owner 1; active 8/3 8/4
        2 show_0_3; captured 0 2 2; 0 show_0_3; captured 3 2 2; owner 0
        """,
        ["5/1 6/1 7/2 7/3 7/1", "8/3 8/4", "1/2 2/3 3/4"],
        table=three(),
    ),
    # --- Scout
    Row(
        "scout: either end, either way up; the owner gets a token at once, the rest stays active and stays its",
        """
        all keep; 0 show_0_3; 1 can scout_left_as_is scout_left_turned scout_right_as_is scout_right_turned
        1 scout_left_as_is; tokens 1 0 0 0; active 6/2 7/3; owner 0; 1 to move; cards 1 11; 1 only insert_0..11
        1 insert_2; hand 1 2/9 4/9 5/1 2/8; cards 1 12; active 6/2 7/3; owner 0; captured 0 0 0 0
        2 scout_right_turned>0; tokens 2 0 0 0; hand 2 3/7 9/5; active 6/2; owner 0; 3 to move
        """,
        ["5/1 6/2 7/3", "2/9 4/9 2/8", "9/5"],
        table={"num_players": 4, "rounds": 1},
    ),
    Row(
        "scout: the left end turned, into the last place",
        "all keep; 0 show_0_2; 1 scout_left_turned>12; hand 1 2/9 4/9 2/8 4/8 6/9 6/8 2/7 4/6 9/8 3/9 3/8 6/1 1/5",
        ["5/1 6/2", "2/9 4/9 2/8 4/8 6/9 6/8 2/7 4/6 9/8 3/9 3/8 6/1"],
        table=three(),
    ),
    Row(
        "scout: the right end as it is",
        "all keep; 0 show_0_2; 1 scout_right_as_is>1; hand 1 2/9 6/2 4/9; active 5/1",
        ["5/1 6/2", "2/9 4/9"],
        table=three(),
    ),
    Row(
        "a single card has one end, the left",
        """
        all keep; 0 show_0_1; 1 can scout_left_as_is scout_left_turned scout_show_left_as_is scout_show_left_turned
        1 cannot scout_right_as_is scout_right_turned scout_show_right_as_is scout_show_right_turned
        """,
        ["5/1"],
        table=three(),
    ),
    Row(
        "what is left of a Show is as strong as its cards are now",
        "all keep; 0 show_0_3; 1 scout_left_as_is>0; 2 cannot show_0_2; 2 can show_2_2 show_3_2; 2 scout_right_as_is>0",
        ["5/1 6/1 7/1", "1/2", "6/2 7/2 3/2 3/4 3/5"],
        table=three(),
    ),
    Row(
        "of equal cards one is left: it has no kind any more",
        "all keep; 0 show_0_2; 1 scout_left_as_is>0; 2 can show_0_1; 2 cannot show_1_1; 2 can scout_left_as_is",
        ["5/1 5/2", "1/2", "6/2 4/2"],
        table=three(),
    ),
    Row(
        "when it is empty any Show is legal and scouting is not; it captures nothing",
        """
        all keep; 0 show_0_1; 1 scout_left_as_is>0; active -; owner 0; tokens 1 0 0
        2 kinds show; 2 can show_0_1; 2 show_0_1; captured 0 0 0; owner 2; active 1/8
        """,
        ["9/1", "4/2", "1/8"],
        table=three(),
    ),
    Row("no pass; no flip; a scout is open to who could show", "all keep; 0 show_0_1; 1 kinds scout scout_show show",
        ["1/2", "9/8"], table=three()),
    # --- Scout and show
    Row(
        "scout and show: only an end and a way up after which a Show is legal, and only places where one is",
        """
        all keep; 0 show_0_3; 1 can scout_show_right_as_is scout_left_as_is
        1 cannot scout_show_left_as_is scout_show_left_turned scout_show_right_turned; 1 kinds scout scout_show
        1 scout_show_right_as_is; tokens 1 0 0; active 5/1 6/1; 1 only insert_4..5
        1 insert_5; 1 only show_4_2; 1 show_4_2; owner 1; captured 0 2 0; active 7/2 7/1; 2 to move
        """,
        ["5/1 6/1 7/1", POOR],
        table=three(),
    ),
    Row(
        "scout and show: the Show need not use the scouted card, but the card may not part it",
        """
        all keep; 0 show_0_3; 1 cannot show_0_2; 1 can scout_show_left_turned
        1 scout_show_left_turned; 1 cannot insert_1; 1 can insert_0 insert_2 insert_12
        1 insert_12; 1 only show_0_2; 1 show_0_2; captured 0 2 0; cards 1 11
        """,
        ["5/1 6/1 7/1", "8/2 8/3 4/2 9/2 4/3 9/3 4/6 9/4 4/7 2/3 4/8 9/6"],
        table=three(),
    ),
    Row(
        "scout and show: once per seat and round; a scout is still open",
        """
        all keep; 0 show_0_1; 1 scout_show_left_as_is>0; 1 kinds show; 1 show_0_1; captured 0 0 0; tokens 1 0 0
        2 kinds scout scout_show show; 2 scout_left_as_is>0; 0 show_0_1; 1 kinds scout show
        """,
        ["1/2 3/1", "9/2", "9/8"],
        table=three(),
    ),
    Row(
        "scout and show: again in the next round",
        """
        all keep; 0 show_0_3; 1 scout_show_left_as_is>0; 1 show_1_2; 2 scout_left_as_is>0; 0 scout_left_as_is>0
        round 2; first 1; all keep; 1 show_0_1; 2 scout_left_as_is>0; 0 show_0_1; 1 kinds scout scout_show show
        """,
        ["1/2 2/3 3/4", "9/1 9/2"],
        table=three(rounds=2),
        later=[["1/2", "3/1", "2/3"]],
    ),
    Row(
        "scout and show: what is left after the scouting is what must be beaten, and is captured",
        """
        all keep; 0 show_0_2; 1 cannot show_0_1 show_0_2; 1 scout_show_left_as_is>12
        1 can show_0_1; 1 show_0_1; captured 0 1 0; tokens 1 0 0; active 9/3
        """,
        ["8/1 8/2", "9/3 2/9 4/9 2/7 4/7 2/6 4/6 2/5 4/1 1/9 3/1 5/9"],
        table=three(),
    ),
    Row(
        "scout and show can empty a hand: (i)",
        """
        all keep; 0 show_0_1; 1 scout_show_left_as_is>0; 1 show_0_10; over; points -7 0 -9 -9 -9
        paid -1/4 1 -1/4 -1/4 -1/4
        """,
        ["1/10", "2/3 3/4 4/5 5/6 6/7 7/8 8/9 9/10 10/2"],
        table={"num_players": 5, "rounds": 1},
    ),
    # --- Ends
    Row(
        "(i): a seat that empties its hand by a Show ends the round at once; the active Show counts for nobody",
        "all keep; 0 show_0_9; over; points 0 -9 -9 -9 -9; paid 1 -1/4 -1/4 -1/4 -1/4; returns 1 -1/4 -1/4 -1/4 -1/4",
        [WHOLE_HAND],
        table={"num_players": 5, "rounds": 1},
    ),
    Row(
        "(i): by capturing, whose cards count",
        "all keep; 0 show_0_1; 1 show_0_9; over; points -8 1 -9 -9 -9",
        ["10/1", WHOLE_HAND],
        table={"num_players": 5, "rounds": 1, **RULEBOOK},
    ),
    Row(
        "(ii): when after a Show all others have only scouted; the owner pays for its hand by the text",
        "all keep; 0 show_0_3; 1 scout_left_as_is>0; running; 2 scout_left_as_is>0; over; points -7 -13 -13",
        ["5/1 6/1 7/1"],
        table=three(),
    ),
    Row(
        "(ii): ... not by the rulebook",
        "all keep; 0 show_0_3; 1 scout_left_as_is>0; 2 scout_left_as_is>0; over; points 2 -13 -13; paid 1 -1/2 -1/2",
        ["5/1 6/1 7/1"],
        table=three(**RULEBOOK),
    ),
    Row(
        "(ii): a Show scouted away completely by all the others too; its owner is spared by the rulebook",
        "all keep; 0 show_0_2; 1 scout_left_as_is>0; 2 scout_left_as_is>0; over; points 2 -13 -13",
        ["5/1 6/1"],
        table=three(**RULEBOOK),
    ),
    Row(
        "(ii): ... by the text it is not",
        "all keep; 0 show_0_2; 1 scout_left_as_is>0; 2 scout_left_as_is>0; over; points -8 -13 -13",
        ["5/1 6/1"],
        table=three(),
    ),
    Row(
        "(ii): a Show in between begins the count anew, and it is its owner that is spared",
        """
        all keep; 0 show_0_2; 1 scout_left_as_is>0; 2 show_0_3; running; 0 scout_left_as_is>0; running
        1 scout_left_as_is>0; over; points -10 -14 3
        """,
        ["5/1 6/1", "", "1/2 2/3 3/4"],
        table=three(**RULEBOOK),
    ),
    Row(
        "(ii): a scout and show is a Show, not only a scout",
        """
        all keep; 0 show_0_3; 1 scout_left_as_is>0; 2 scout_show_left_as_is>12; 2 show_0_2; running; owner 2
        0 scout_left_as_is>0; running; 1 scout_left_as_is>0; over; points -8 -14 3; tokens 2 0 2
        """,
        ["5/1 6/1 7/1", "", "9/1 9/2"],
        table=three(**RULEBOOK),
    ),
    Row(
        "(ii): with four seats three must have scouted",
        """
        all keep; 3 show_0_3; 0 scout_left_as_is>0; 1 scout_left_as_is>0; running; 2 scout_left_as_is>0; over
        points -12 -12 -12 -5
        """,
        ["", "", "", "5/1 6/1 7/1"],
        first=3,
        table={"num_players": 4, "rounds": 1},
    ),
    # --- The stall limit
    Row(
        "stall: so many turns without a capture end the round, with no exemption; scouts, Shows, choosing orientation",
        "all keep; 0 show_0_1; 1 scout_left_as_is>0; running; 2 show_0_1; over; points -10 -13 -11",
        ["5/1"],
        table=three(stall_limit=3, **RULEBOOK),
    ),
    Row(
        "stall: a capture begins the count anew",
        """
        all keep; 0 show_0_1; 1 show_0_1; 2 scout_left_as_is>0; running; 0 show_0_1; over; points -10 -9 -13
        """,
        ["1/2", "9/1"],
        table=three(stall_limit=2),
    ),
    Row(
        "stall: a Show that captures nothing does not",
        "all keep; 0 show_0_1; running; 1 scout_left_as_is>0; over; points -10 -13 -12",
        ["1/2"],
        table=three(stall_limit=2),
    ),
    Row(
        "stall: a scout and show is one turn; what captures nothing is counted",
        """
        all keep; 0 show_0_1; 1 scout_show_left_as_is>0; running; 1 show_0_1; running; captured 0 0 0
        2 scout_left_as_is>0; over; points -10 -11 -13
        """,
        ["5/1"],
        table=three(stall_limit=3, **RULEBOOK),
    ),
    Row(
        "stall: a scout and show that captures begins the count anew",
        """
        all keep; 0 show_0_2; 1 scout_show_left_as_is>12; 1 show_0_1; captured 0 1 0; 2 scout_left_as_is>0; running
        0 show_0_1; over
        """,
        ["1/2 1/3", "9/1"],
        table=three(stall_limit=2),
    ),
    Row(
        "stall: (ii) is looked at first",
        "all keep; 0 show_0_2; 1 scout_left_as_is>0; running; 2 scout_left_as_is>0; over; points 2 -13 -13",
        ["5/1 6/1"],
        table=three(stall_limit=3, **RULEBOOK),
    ),
    Row(
        "stall: the first Show can be the last turn",
        "all keep; 0 show_0_1; round 2; first 1; points -11 -12 -12; all keep; 1 to move",
        table=three(stall_limit=1, rounds=3, **RULEBOOK),
    ),
    Row(
        "stall: ten turns for each seat where nothing else is said",
        "all keep; 0 show_0_1"
        + "; 1 scout_left_as_is>0; 2 show_0_1; 0 scout_left_as_is>0; 1 show_0_1; 2 scout_left_as_is>0; 0 show_0_1" * 4
        + "; 1 scout_left_as_is>0; 2 show_0_1; 0 scout_left_as_is>0; 1 show_0_1; running; 2 scout_left_as_is>0; over",
        table=three(),
    ),
    # --- Rounds
    Row(
        "the first seat moves one to the left each round; highest total wins",
        """
        2 to move; first 2; all keep; 2 show_0_1; points -12 -12 -11; round 2; first 0; captured 0 0 0; tokens 0 0 0
        owner -; active -; all keep; 0 show_0_2; points -22 -24 -23; round 3; first 1; all keep; 1 show_0_1; over
        points -34 -35 -35; paid 1 -1/2 -1/2
        """,
        first=2,
        table=three(rounds=3, stall_limit=1),
        later=[["5/1 6/1"]],
    ),
    Row(
        "score: +1 a captured card, +1 a token, -1 a card in hand",
        """
        all keep; 0 show_0_2; 1 show_0_2; 2 scout_left_as_is>0; 0 scout_left_as_is>0; over; points -11 -6 -13
        """,
        ["5/1 6/1", "8/3 8/4"],
        table=three(),
    ),
    # --- Two seats
    Row(
        "two seats: a scout spends a token, the owner gets nothing, and the same seat plays again",
        """
        tokens 3 3; all keep; 0 show_0_3; 1 scout_left_turned; tokens 3 2; 1 only insert_0..11; 1 insert_0; 1 to move
        hand 1 1/5; active 6/1 7/1; tokens 3 2; captured 0 0; 1 scout_right_as_is>1; 1 scout_left_as_is>2; tokens 3 0
        hand 1 1/5 7/1 6/1; active -; owner 0; 1 kinds show; 1 show_1_2; captured 0 0; 0 to move
        """,
        ["5/1 6/1 7/1"],
        table=two(),
    ),
    Row(
        "two seats: no scout and show; without tokens no scout",
        """
        all keep; 0 show_0_1; 1 kinds scout show; 1 scout_left_as_is>0; 1 show_0_1; 0 kinds scout show; 0 show_0_1
        1 kinds scout show; 1 scout_left_as_is>0; 1 show_0_1; 0 show_0_1; 1 kinds scout show; 1 scout_left_as_is>0
        tokens 3 0; 1 show_0_1; 0 show_0_1; captured 3 0; 1 kinds show; 1 can show_0_2
        """,
        ["3/1 4/1 9/1 10/1 8/2", "5/9 6/9 2/7"],
        table=two(),
    ),
    Row(
        "two seats: a seat that cannot show and has a token must scout",
        "all keep; 0 show_0_7; 1 only scout_left_as_is scout_left_turned scout_right_as_is scout_right_turned",
        [RUN_OF_SEVEN, PLAIN],
        table=two(),
    ),
    Row(
        "two seats, (ii'): after its own last token the seat can neither show nor scout; unspent tokens count",
        """
        all keep; 0 show_0_7; 1 scout_left_turned>11; 1 scout_left_turned>12; running; 1 scout_left_turned>13; over
        points -1 -14; captured 0 0; active 7/10 8/10 9/6 10/1
        """,
        [RUN_OF_SEVEN, PLAIN],
        table=two(),
    ),
    Row(
        "two seats, (ii'): the owner of the unbeaten Show is spared by the rulebook; a stall would not be",
        """
        all keep; 0 show_0_7; 1 scout_left_turned>11; 1 scout_left_turned>12; running; 1 scout_left_turned>13; over
        points 3 -14; paid 1 -1
        """,
        [RUN_OF_SEVEN, PLAIN],
        table=two(stall_limit=4, **RULEBOOK),
    ),
    Row(
        "two seats: each scout is a turn of the stall limit",
        """
        all keep; 0 show_0_7; 1 scout_left_turned>11; running; 1 scout_left_turned>12; over; points -1 -12
        """,
        [RUN_OF_SEVEN, PLAIN],
        table=two(stall_limit=3, **RULEBOOK),
    ),
    Row(
        "two seats, (ii'): after a Show of the other, with no token left",
        """
        all keep; 0 show_0_1; 1 scout_left_turned>11; 1 show_11_1; 0 show_0_1; captured 1 0
        1 scout_left_turned>11; 1 show_11_1; 0 show_0_1; captured 2 0; 1 scout_left_turned>11; tokens 3 0
        1 show_11_1; running; 0 show_0_5; over; captured 3 0; points 3 -11
        """,
        ["10/1 10/2 10/3 4/5 5/6 6/7 7/8 8/9 2/4 4/7 2/8", PLAIN],
        table=two(),
    ),
    Row(
        "two seats: when a Show is scouted away the same seat must show, anything",
        "all keep; 0 show_0_1; 1 scout_left_as_is>0; active -; 1 kinds show; 1 can show_1_1; 1 show_1_1; 0 to move",
        ["10/1", PLAIN],
        table=two(),
    ),
    Row(
        "two seats: (i), and unspent tokens of both",
        """
        all keep; 0 show_10_1; 1 show_10_1; captured 0 1; 0 show_0_10; over; captured 1 1; points 4 -6
        """,
        ["1/2 2/3 3/4 4/5 5/6 6/7 7/8 8/1 9/1 10/1 1/3", "5/9 3/9 5/8 3/8 6/9 3/7 6/10 3/6 1/4 3/5 2/9"],
        table=two(),
    ),
    Row(
        "two seats: two rounds, the other seat begins the second, tokens are new",
        """
        1 to move; all keep; 1 show_0_1; 0 scout_left_as_is>0; round 2; first 0; tokens 3 3; points -10 -7
        all keep; 0 show_0_1; 1 scout_left_as_is>0; over; points -17 -17; paid 0 0
        """,
        first=1,
        table=two(rounds=2, stall_limit=2),
    ),
    # --- H
    Row(
        "win: tied winners split +1, the others -1",
        """
        all keep; 0 show_0_1; paid 0 0 0; all keep; 1 show_0_1; over; points -23 -23 -24; paid 1/2 1/2 -1
        """,
        table=three(rounds=2, stall_limit=1),
    ),
    Row(
        "win: all tied, 0",
        "all keep; 0 show_0_1; all keep; 1 show_0_1; all keep; 2 show_0_1; over; points -35 -35 -35; paid 0 0 0",
        table=three(rounds=3, stall_limit=1),
    ),
    Row(
        "win: one winner, four who split -1",
        "all keep; 0 show_0_1; over; points -8 -9 -9 -9 -9; paid 1 -1/4 -1/4 -1/4 -1/4",
        table={"num_players": 5, "rounds": 1, "stall_limit": 1},
    ),
    Row(
        "placement: evenly spaced from +1 to -1, ties averaged at the top",
        "all keep; 0 show_0_1; paid 0 0 0; all keep; 1 show_0_1; over; paid 1/2 1/2 -1",
        table=three(rounds=2, stall_limit=1, reward="placement"),
    ),
    Row(
        "placement: ... in the middle and at the bottom",
        """
        all keep; 0 show_0_2; points -9 -11 -11 -11; all keep; 1 show_0_1; all keep; 2 show_0_1; over
        points -31 -32 -32 -33; paid 1 0 0 -1
        """,
        ["5/1 6/1"],
        table={"num_players": 4, "rounds": 3, "stall_limit": 1, "reward": "placement"},
    ),
    Row(
        "placement: three tied for the second place",
        "all keep; 0 show_0_1; over; paid 1 -1/3 -1/3 -1/3",
        table={"num_players": 4, "rounds": 1, "stall_limit": 1, "reward": "placement"},
    ),
    Row(
        "placement: all different",
        """
        all keep; 3 show_0_3; points -11 -11 -11 -8; all keep; 0 show_0_2; points -20 -22 -22 -19
        all keep; 1 show_0_1; over; points -31 -32 -33 -30; paid 1/3 -1/3 -1 1
        """,
        ["", "", "", "5/1 6/1 7/1"],
        first=3,
        table={"num_players": 4, "rounds": 3, "stall_limit": 1, "reward": "placement"},
        later=[["5/1 6/1"]],
    ),
    Row(
        "placement: all tied, 0",
        "all keep; 0 show_0_1; all keep; 1 show_0_1; all keep; 2 show_0_1; over; paid 0 0 0",
        table=three(rounds=3, stall_limit=1, reward="placement"),
    ),
    Row(
        "round: each round's points less the table's mean, over 10, when the round ends",
        """
        all keep; 0 show_0_1; paid 1/15 -1/30 -1/30; all keep; paid 0 0 0; 1 show_0_1; paid -1/30 1/15 -1/30; over
        returns 1/30 1/30 -1/15
        """,
        table=three(rounds=2, stall_limit=1, reward="round"),
    ),
    Row(
        "round: all that the points hold",
        "all keep; 0 show_0_9; over; points 0 -9 -9 -9 -9; paid 18/25 -9/50 -9/50 -9/50 -9/50",
        [WHOLE_HAND],
        table={"num_players": 5, "rounds": 1, "reward": "round"},
    ),
    Row(
        "forfeit: the game ends, the offender's return becomes -1, the others share what makes the sum 0",
        "0 keep; 1 forfeits; over; paid 1/2 -1 1/2; returns 1/2 -1 1/2",
        table=three(),
    ),
    Row(
        "forfeit: ... also where something was paid before",
        """
        all keep; 0 show_0_1; returns 1/15 -1/30 -1/30; 1 forfeits; over; paid 29/60 -29/30 29/60
        returns 11/20 -1 9/20
        """,
        table=three(rounds=2, stall_limit=1, reward="round"),
    ),
    Row(
        "forfeit: in the middle of a scout and show",
        "all keep; 0 show_0_1; 1 scout_show_left_as_is; 1 forfeits; over; paid 1/2 -1 1/2",
        table=three(reward="placement"),
    ),
]  # fmt: skip


def names_of(words: Sequence[str]) -> set[str]:
    """Action names; `insert_0..3` stands for four of them."""
    names: set[str] = set()
    for word in words:
        if ".." in word:
            kind, low, high = re.fullmatch(r"(\w+_)(\d+)\.\.(\d+)", word).groups()  # type: ignore[union-attr]  # or fail
            names |= {f"{kind}{number}" for number in range(int(low), int(high) + 1)}
        else:
            names.add(word)
    return names


def kind_of(name: str) -> str:
    return re.sub(r"(_(left|right)_(as_is|turned)|_\d+)+$", "", name)


def perform(table: Table, line: str) -> None:
    head, *words = line.split()
    if head == "all":
        assert words == ["keep"]
        while table.legal() == {"keep", "flip"}:
            table.play("keep")
    elif head == "over":
        assert (table.over, table.legal()) == (True, set())
    elif head == "running":
        assert not table.over
    elif head == "hand":
        expected = cards(" ".join(words[1:]))
        assert shown(table.hand(int(words[0]))[: len(expected)]) == shown(expected)
    elif head == "cards":
        assert len(table.hand(int(words[0]))) == int(words[1])
    elif head == "active":
        assert shown(table.active) == " ".join(words)
    elif head == "owner":
        assert table.owner == (None if words == ["-"] else int(words[0]))
    elif head == "round":
        assert table.round + 1 == int(words[0])
    elif head == "first":
        assert table.first == int(words[0])
    elif head in ("captured", "tokens", "points"):
        assert getattr(table, head) == [int(word) for word in words]
    elif head in ("paid", "returns"):
        found = table.rewards if head == "paid" else table.returns
        assert found == pytest.approx([float(Fraction(word)) for word in words], abs=1e-12)
    else:
        perform_of_seat(table, int(head), words)


def perform_of_seat(table: Table, seat: int, words: list[str]) -> None:
    assert not table.over
    assert table.seat == seat
    legal, verb = table.legal(), words[0]
    if verb == "can":
        assert names_of(words[1:]) - legal == set()
    elif verb == "cannot":
        assert names_of(words[1:]) & legal == set()
    elif verb == "only":
        assert legal == names_of(words[1:])
    elif verb == "kinds":
        assert {kind_of(name) for name in legal} == set(words[1:])
    elif verb == "forfeits":
        table.forfeit()
    elif verb == "to":
        assert words == ["to", "move"]
    else:
        assert len(words) == 1
        action, *place = verb.split(">")
        for name in (action, *(f"insert_{number}" for number in place)):
            assert (table.seat, name) == (seat, name)
            assert name in table.legal(), sorted(table.legal())
            table.play(name)


def perform_row(row: Row, make: type[ReferenceTable] | type[EngineTable]) -> None:
    rules = reference.resolve(**row.table)
    hands = fill(rules["num_players"], rules["rounds"], [row.hands, *row.later])
    table = make(row.table, hands, row.first)
    for line in re.split(r"[;\n]", row.script):
        if line.strip():
            try:
                perform(table, line.strip())
            except Exception as error:
                dealt = " | ".join(shown(hand) for hand in hands[0])
                error.add_note(f"in the line {line.strip()!r} of: {row.clause}\nhands: {dealt}")
                raise


@pytest.mark.parametrize("row", ROWS, ids=[row.clause for row in ROWS])
def test_clause_on_the_reference(row: Row) -> None:
    perform_row(row, ReferenceTable)


@pytest.mark.engine
@pytest.mark.parametrize("row", ROWS, ids=[row.clause for row in ROWS])
def test_clause_on_the_engine(row: Row) -> None:
    perform_row(row, EngineTable)
