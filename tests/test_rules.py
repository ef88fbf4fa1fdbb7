"""RULES.md clause by clause: a row for each, played on the reference and on the environment.

A row is a short script, one instruction a line or between semicolons:

    2 bid_5                     seat 2 is to move, bid_5 is legal, it plays it
    2 can bid_1..9 challenge    seat 2 is to move; these are legal
    2 cannot idem reverse       seat 2 is to move; these are not legal (or have no id)
    2 only challenge bid_7      seat 2 is to move; these are legal and nothing else
    2 to move
    2 forfeits                  plays an illegal action at a table where that ends the game
    2 fails WORD challenge      seat 2 plays challenge; it raises, the message contains WORD; nothing has changed
    wears 5 - 7,-5              the cards of seat 0, 1, 2 (- for none)
    lives 3 2 3                 of seat 0, 1, 2
    reveal 11 against 12, 0 loses 1      the last reveal: total, number, loser, lives lost
    paid 0 -1/2 0               the rewards of the last action
    returns 1 -1/2 -1/2         rewards so far
    over; running
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from coyote_env import coyote_v0
from tests.reference import coyote as reference
from tests.tables import EngineTable, ReferenceTable, Table, faces_in_order


@dataclass
class Row:
    """A clause of the rules, quoted, and the play that shows it."""

    clause: str
    script: str
    starter: int = 0
    draws: str = ""
    table: dict[str, Any] = field(default_factory=dict)


def table(num_players: int, **kwargs: Any) -> dict[str, Any]:
    return {"num_players": num_players, **kwargs}


FOUR_CARDS = {"5": 1, "6": 1, "7": 1, "8": 1}  # two seats: two rounds before the pile runs out

SHARED = [
    Row(
        "A: the starter announces a whole number >= 1; it cannot challenge",
        "1 can bid_1..90; 1 cannot challenge idem reverse again",
        starter=1,
        table=table(3),
    ),
    Row(
        "A: then, clockwise, each seat announces a strictly higher number or challenges the standing one",
        """
        1 bid_3; 2 cannot bid_1..3; 2 can challenge bid_4..90; 2 bid_4
        0 cannot bid_1..4; 0 can challenge bid_5..90; 0 bid_10
        1 cannot bid_1..10; 1 can challenge bid_11..90
        """,
        starter=1,
        table=table(3),
    ),
    Row(
        "A: total = announced: the challenger loses",
        "0 bid_11; 1 challenge; reveal 11 against 11, 1 loses 1; lives 3 2",
        draws="5 6",
        table=table(2),
    ),
    Row(
        "A: total > announced: the challenger loses",
        "0 bid_10; 1 challenge; reveal 11 against 10, 1 loses 1; lives 3 2",
        draws="5 6",
        table=table(2),
    ),
    Row(
        "A: total < announced: the announcer loses",
        "0 bid_12; 1 challenge; reveal 11 against 12, 0 loses 1; lives 2 3",
        draws="5 6",
        table=table(2),
    ),
    Row(
        "A: the challenge is against the standing number's announcer, not the starter",
        "0 bid_1; 1 bid_2; 2 bid_30; 0 challenge; reveal 18 against 30, 2 loses 1; lives 3 3 2",
        draws="5 6 7",
        table=table(3),
    ),
    Row(
        "A: at zero lives a seat is eliminated; the last live seat wins",
        """
        0 bid_19; 1 challenge; lives 0 1 1; running; wears - 1 2
        1 bid_3; 2 challenge; lives 0 1 0; over; returns -1/2 1 -1/2
        """,
        draws="5 6 7 1 2",
        table=table(3, lives=1),
    ),
    Row(
        "A: eliminated seats get no card and are skipped",
        """
        0 bid_1; 1 challenge; 0 to move; wears 1 - 2 3; lives 1 0 1 1
        0 bid_1; 2 bid_2; 3 bid_3; 0 bid_4; 2 to move
        """,
        draws="5 6 7 8 1 2 3",
        table=table(4, lives=1),
    ),
    Row(
        "A: a cap per number of live seats: three seats reach 90, two reach 70",
        """
        0 can bid_90; 0 cannot bid_91; 0 bid_20; 1 challenge; lives 0 1 1
        1 can bid_70; 1 cannot bid_71..90
        """,
        draws="5 6 7",
        table=table(3, lives=1),
    ),
    Row(
        "A: the cap of classic-36 without variants",
        "0 can bid_140; 0 cannot bid_141",
        table=table(6, deck="classic-36", variants="none"),
    ),
    Row(
        "A: the cap without extra_feather counts one card a seat",
        "0 can bid_40; 0 cannot bid_41",
        table=table(2, variants="none"),
    ),
    Row(
        "A: the cap counts what `?` can bring only once: it takes a place itself",
        "0 can bid_17; 0 cannot bid_18",
        table=table(2, variants="none", deck={"9": 1, "8": 1, "7": 1, "?": 1}),
    ),
    Row(
        "A: the cap with `?` where the deck is so small that a `?` must be worn",
        "0 can bid_9; 0 cannot bid_10",
        table=table(2, variants="none", deck={"9": 1, "?": 2}),
    ),
    Row(
        "A: the cap is that of the deck, whatever has been played",
        "0 bid_1; 1 challenge; 1 can bid_40; 1 cannot bid_41",
        draws="20 x2",
        table=table(2, variants="none"),
    ),
    Row(
        "A: ids run to max_bid(N): no number above it, even where fewer seats could reach more",
        """
        0 only bid_1..12 double extra_feather+1..2 next_is+2; 0 bid_12; 1 challenge; lives 1 0 1
        0 only bid_1..12 double extra_feather+2; 0 bid_12; 2 only challenge idem again
        """,
        draws="9 8 -5 -5 9",
        table=table(3, lives=1, deck={"9": 1, "8": 1, "-5": 2}),
    ),
    Row(
        "A: at the cap a raise is not legal, nor any action that would oblige someone to raise",
        "0 bid_90; 1 only challenge idem again",
        table=table(3),
    ),
    Row(
        "A: below the cap all of them are",
        """
        0 bid_89
        1 only challenge idem reverse again double extra_feather+1..2 next_is+2 bid_90
        """,
        table=table(3),
    ),
    Row(
        "A: a draw that finds the pile empty: the discards become the pile first",
        "0 bid_1; 1 challenge; wears 5 7; 1 bid_1; 0 challenge; lives 2 2",
        draws="5 6 7 5",
        table=table(2, deck={"5": 1, "6": 1, "7": 1}),
    ),
    Row(
        "A: ... never the cards in play",
        "0 bid_1; 1 fails 7 challenge; lives 3 3; wears 5 6",
        draws="5 6 7 7",
        table=table(2, deck={"5": 1, "6": 1, "7": 1}),
    ),
    Row(
        "A: ... and not before: while the pile has a card the discards are out of reach",
        "0 bid_1; 1 fails 5 challenge; lives 3 3; wears 5 6",
        draws="5 6 5",
        table=table(2, deck={"5": 1, "6": 1, "7": 1}),
    ),
    Row(
        "A: pile and discards empty: nothing is drawn (by `?`)",
        "0 bid_5; 1 challenge; reveal 5 against 5, 1 loses 1",
        draws="? 5",
        table=table(2, deck={"?": 1, "5": 1}),
    ),
    Row(
        "A: a `?` that finds the pile empty draws from the discards",
        "0 bid_1; 1 challenge; wears 5 ?; 1 bid_13; 0 challenge; reveal 12 against 13, 1 loses 1",
        draws="7 9 ? 5 7",
        table=table(2, deck={"?": 1, "5": 1, "7": 1, "9": 1}),
    ),
    Row(
        "A: a `?` that finds pile and discards empty draws nothing, even a second `?`",
        "0 bid_7; 1 challenge; reveal 7 against 7, 1 loses 1",
        draws="? ? 7",
        table=table(2, deck={"?": 2, "7": 1}),
    ),
    Row(
        "A: an extra feather that finds the pile empty is drawn from the discards",
        """
        0 bid_1; 1 challenge; wears 8 7; 1 extra_feather+1; 1 bid_1; wears 6,8 7
        0 challenge; reveal 21 against 1, 0 loses 1
        """,
        draws="5 6 7 8 6",
        table=table(2, deck=FOUR_CARDS),
    ),
    Row(
        "A: a deal goes clockwise from the starter over the live seats",
        "2 bid_1; wears 6 7 5; 0 challenge; lives 0 1 1; 2 to move; wears - 2 1; 2 bid_1; 1 challenge; over",
        starter=2,
        draws="5 6 7 1 2",
        table=table(3, lives=1),
    ),
    Row(
        "A: a fixed draw not left in the pile raises when it is due, naming it, and the step changes nothing: deal",
        "0 bid_1; 1 fails 20 challenge; wears 20 5; 1 can idem bid_2; 1 idem; 0 fails 20 challenge; wears 20 5",
        draws="20 5 20",
        table=table(2),
    ),
    Row(
        "A: a fixed draw not left in the pile ... : `?`",
        "0 bid_1; 1 fails 20 challenge; wears ? 20; lives 3 3; 1 bid_2; 0 to move",
        draws="? 20 20",
        table=table(2),
    ),
    Row(
        "A: a fixed draw not left in the pile ... : extra feather",
        "0 extra_feather+1; 0 fails 15 bid_3; wears 15 20 1; 0 only next_is+2 bid_1..90",
        draws="15 20 1 15",
        table=table(3),
    ),
]

EDITION = [
    Row("B: lives 3", "lives 3 3 3 3", table={}),
    Row(
        "B: the discards after the round include the card that `?` drew",
        "0 bid_1; 1 fails 7 challenge; lives 3 3",
        draws="? 5 7 7",
        table=table(2, deck={"?": 1, "5": 1, "7": 1, "9": 1, "11": 1}),
    ),
    Row(
        "B: ... and it comes back when they become the pile",
        "0 bid_1; 1 challenge; wears 11 9; 1 bid_1; 0 challenge; wears 7 ?; lives 2 2",
        draws="? 5 7 9 11 7 ?",
        table=table(2, deck={"?": 1, "5": 1, "7": 1, "9": 1, "11": 1}),
    ),
    Row(
        "B count 1: a `?` each for two seats, and one drawn",
        "0 bid_1; 1 bid_30; 2 challenge; reveal 22 against 30, 1 loses 1",
        draws="? 3 ? 9 ? 10",
        table=table(3, deck={"?": 3, "3": 1, "9": 1, "10": 2}),
    ),
    Row(
        "B count 1-2: a drawn blue card acts on the drawn ones too",
        "0 bid_1; 1 challenge; reveal 0 against 1, 0 loses 1",
        draws="? ? 9 max0",
        table=table(2, deck={"?": 2, "9": 1, "max0": 1, "4": 1}),
    ),
    Row(
        "B count 5: x2 doubles what max0 and max- left",
        "0 bid_40; 1 bid_41; 2 bid_42; 3 challenge; reveal -20 against 42, 2 loses 1",
        draws="20 10 max- x2",
        table=table(4),
    ),
    Row(
        "B count: five blue cards",
        "0 bid_9; 1 challenge; reveal -14 against 9, 0 loses 1; lives 2 3 3 3 3 3 3",
        draws="max0 max- x2 night ? 9 8 1",
        table=table(7),
    ),
    Row(
        "B count 4: night: all cards are shuffled together before the next round",
        "0 bid_1; 1 challenge; wears 5 night; lives 3 2",
        draws="night 5 night 5",
        table=table(2),
    ),
    Row(
        "B count 4: a night drawn by `?` too",
        "0 bid_1; 1 challenge; wears 5 night; lives 3 2",
        draws="? 5 night night 5",
        table=table(2),
    ),
    Row(
        "B count 4: an extra night too",
        "0 extra_feather+1; 0 bid_1; 1 challenge; wears 5 night; lives 3 2",
        draws="5 6 night night 5",
        table=table(2),
    ),
    Row(
        "B count 4: a night that nobody wore does nothing",
        "0 bid_1; 1 fails 20 challenge",
        draws="20 6 20",
        table=table(2),
    ),
    Row(
        "B: the loser starts the next round: challenger",
        "0 bid_1; 1 bid_2; 2 challenge; 2 to move; lives 3 3 2",
        draws="5 6 7",
        table=table(3),
    ),
    Row(
        "B: the loser starts the next round: announcer",
        "0 bid_1; 1 bid_50; 2 challenge; 1 to move; lives 3 2 3",
        draws="5 6 7",
        table=table(3),
    ),
    Row(
        "B: if eliminated, the seat that won that challenge: announcer",
        "0 bid_1; 1 bid_2; 2 challenge; 1 to move; lives 1 1 0 1",
        draws="5 6 7 8",
        table=table(4, lives=1),
    ),
    Row(
        "B: if eliminated, the seat that won that challenge: challenger",
        "0 bid_1; 1 bid_50; 2 challenge; 2 to move; lives 1 0 1 1",
        draws="5 6 7 8",
        table=table(4, lives=1),
    ),
    Row(
        "B: direction returns to clockwise after the round",
        "0 bid_1; 1 reverse; 0 bid_2; 2 challenge; 2 bid_1; 0 to move",
        draws="5 6 7",
        table=table(3),
    ),
    Row(
        "B: each variant once per round by the table, whoever used it",
        "0 bid_1; 1 idem; 2 cannot idem; 2 bid_2; 0 cannot idem; 0 bid_3; 1 cannot idem",
        table=table(3),
    ),
    Row(
        "B: ... and all again in the next round",
        "0 double; 0 extra_feather+1; 0 next_is+2; 0 bid_1; 2 idem; 0 cannot double extra_feather+2 next_is+1 idem"
        "; 0 reverse"
        "; 2 bid_2; 1 again; 2 bid_3; 1 only challenge bid_4..90; 1 challenge"
        "; 1 can double extra_feather+1..2 next_is+2; 1 bid_1; 2 can idem reverse again double next_is+2",
        draws="5 6 7 8",
        table=table(3),
    ),
    Row(
        "B: a variant that is not chosen is never legal",
        "0 only bid_1..40; 0 bid_1; 1 only challenge again idem bid_2..40",
        table=table(2, variants=["again", "idem"]),
    ),
]

REPLIES = [
    Row("B replies: all need a standing announcement", "0 cannot idem reverse again challenge", table=table(3)),
    Row(
        "B idem: takes the announcement over unchanged; its seat is now the announcer (and loses with it)",
        "0 bid_50; 1 idem; 2 can bid_51; 2 cannot bid_50; 2 challenge; reveal 18 against 50, 1 loses 1; lives 3 2 3",
        draws="5 6 7",
        table=table(3),
    ),
    Row(
        "B idem: the next seat may do all that is left but idem, reverse included",
        "0 bid_5; 1 idem; 2 only challenge reverse again double extra_feather+1..2 next_is+2 bid_6..90",
        table=table(3),
    ),
    Row(
        "B idem: a reverse after it goes to the seat that took over",
        "0 bid_5; 1 idem; 2 reverse; 1 only double extra_feather+1..2 next_is+1 bid_6..90; 1 bid_6; 0 to move",
        table=table(3),
    ),
    Row(
        "B idem: legal at the cap; then only a challenge is left", "0 bid_90; 1 idem; 2 only challenge", table=table(3)
    ),
    Row("B idem: in the direction of the round", "0 bid_5; 1 reverse; 0 bid_6; 3 idem; 2 to move", table=table(4)),
    Row(
        "B reverse: the direction turns for the rest of the round",
        "0 bid_5; 1 reverse; 0 bid_6; 3 bid_7; 2 bid_8; 1 bid_9; 0 to move",
        table=table(4),
    ),
    Row(
        "B reverse: the announcer must announce again, higher; no challenge, no reply; modifiers allowed",
        "0 bid_5; 1 reverse; 0 only double extra_feather+1..2 next_is+1 bid_6..90",
        table=table(3),
    ),
    Row(
        "B reverse: ... after a modifier too",
        "0 bid_5; 1 reverse; 0 double; 0 only extra_feather+1..2 next_is+1 bid_6..90",
        table=table(3),
    ),
    Row(
        "B reverse: the announcer, also where it is not the neighbour; play goes on from it in the new direction",
        "0 next_is+2; 0 bid_5; 2 reverse; 0 bid_6; 3 bid_7; 2 to move",
        table=table(4),
    ),
    Row(
        "B reverse: with two live seats the opponent simply must raise its own number",
        "0 bid_5; 1 reverse; 0 only double extra_feather+1 bid_6..70; 0 bid_6"
        "; 1 only challenge idem again double extra_feather+1"
        " bid_7..70",
        table=table(2),
    ),
    Row(
        "B reverse: all that can answer it is open to the next seat, another reverse is not",
        "0 bid_5; 1 reverse; 0 bid_6; 2 can challenge idem again bid_7; 2 cannot reverse",
        table=table(3),
    ),
    Row(
        "B reverse: at one below the cap the demanded number is the cap",
        "0 bid_89; 1 reverse; 0 only double extra_feather+1..2 next_is+1 bid_90; 0 bid_90; 2 only challenge idem",
        table=table(3),
    ),
    Row(
        "B reverse: a challenge then is against that announcer",
        "0 bid_5; 1 reverse; 0 bid_50; 2 challenge; reveal 18 against 50, 0 loses 1",
        draws="5 6 7",
        table=table(3),
    ),
    Row(
        "B again: higher than the announcement before the refused one, different from it, lower ones included",
        "0 bid_3; 1 bid_9; 2 again; 1 only double extra_feather+1..2 bid_4..8 bid_10..90; 1 bid_4"
        "; 2 only challenge double extra_feather+1..2 next_is+2 bid_5..90",
        table=table(3),
    ),
    Row(
        "B again: higher ones too",
        "0 bid_3; 1 bid_9; 2 again; 1 bid_12; 2 can bid_13; 2 cannot bid_10..12",
        table=table(3),
    ),
    Row(
        "B again: 0 if none stood before",
        "0 bid_5; 1 again; 0 can bid_1..4 bid_6..90; 0 cannot bid_5; 0 bid_1; 1 can bid_2",
        table=table(3),
    ),
    Row(
        "B again: after an idem the announcement before is that same number",
        "0 bid_5; 1 idem; 2 again; 1 only double extra_feather+1..2 bid_6..90; 1 bid_6; 2 to move",
        table=table(3),
    ),
    Row(
        "B again: after a reverse it is the number that was raised",
        "0 bid_5; 1 reverse; 0 bid_8; 2 again; 0 can bid_6 bid_7 bid_9; 0 cannot bid_5 bid_8",
        table=table(3),
    ),
    Row(
        "B again: the refuser, whoever answered, raises or challenges: no reply",
        "0 next_is+2; 0 bid_5; 2 again; 0 bid_6; 2 only challenge double extra_feather+1..3"
        " bid_7..110; 2 bid_7; 3 can challenge idem reverse bid_8; 3 cannot again",
        table=table(4),
    ),
    Row(
        "B again: the refuser may use modifiers, next_is included, after which it cannot challenge",
        "0 bid_5; 1 again; 0 bid_6; 1 double; 1 only extra_feather+1..3 next_is+2..3 bid_7..110"
        "; 1 next_is+2; 1 bid_7; 3 to move",
        table=table(4),
    ),
    Row(
        "B again: the refuser challenges the number given",
        "0 bid_5; 1 again; 0 bid_50; 1 challenge; reveal 18 against 50, 0 loses 1",
        draws="5 6 7",
        table=table(3),
    ),
    Row(
        "B again: ... and loses if it holds",
        "0 bid_50; 1 again; 0 bid_18; 1 challenge; reveal 18 against 18, 1 loses 1",
        draws="5 6 7",
        table=table(3),
    ),
    Row(
        "B again: no challenge, reply or next_is for the seat that must give another number",
        "0 bid_5; 1 again; 0 cannot challenge idem reverse again next_is+1..3",
        table=table(4),
    ),
    Row(
        "B again: double and extra_feather may be declared with it, also when the refused number was the cap",
        "0 bid_90; 1 again; 0 only double extra_feather+1..2 bid_1..89; 0 double; 0 extra_feather+1; 0 only bid_1..89"
        "; 0 bid_89; 1 only challenge next_is+2 bid_90",
        table=table(3),
    ),
    Row(
        "B again: the other number may be the cap; then the refuser can only challenge",
        "0 bid_5; 1 again; 0 bid_90; 1 only challenge",
        table=table(3),
    ),
    Row(
        "B again: illegal if no other number exists: one below the cap stood before the cap",
        "0 bid_89; 1 bid_90; 2 only challenge idem",
        table=table(3),
    ),
    Row(
        "B again: illegal if no other number exists: after an idem at the cap",
        "0 bid_90; 1 idem; 2 only challenge",
        table=table(3),
    ),
    Row(
        "B again: legal if one other number exists",
        "0 bid_88; 1 bid_90; 2 again; 1 only double extra_feather+1..2"
        " bid_89; 1 bid_89; 2 only challenge double extra_feather+1..2 next_is+2 bid_90",
        table=table(3),
    ),
    Row(
        "B again: what came with the refused number stays used",
        "0 double; 0 next_is+2; 0 bid_5; 2 again; 0 cannot double next_is+1..2; 0 bid_6; 2 cannot double next_is+2",
        table=table(3),
    ),
    Row(
        "B again: ... its double is gone",
        "0 double; 0 bid_50; 1 again; 0 bid_49; 1 challenge; reveal 18 against 49, 0 loses 1; lives 2 3 3",
        draws="5 6 7",
        table=table(3),
    ),
    Row(
        "B again: ... a drawn feather stays, and counts",
        "0 extra_feather+1; 0 bid_5; wears 5 6,8 7; 1 again; wears 5 6,8 7"
        "; 0 cannot extra_feather+1..2; 0 bid_26; 1 challenge; reveal 26 against 26, 1 loses 1",
        draws="5 6 7 8",
        table=table(3),
    ),
    Row(
        "B again: an answer to `again` can be refused no more (once per round), by the next seats neither",
        "0 bid_5; 1 again; 0 bid_6; 1 bid_7; 2 cannot again",
        table=table(3),
    ),
]

MODIFIERS = [
    Row(
        "B modifiers: declared before the number, as actions of the same turn",
        "0 double; 0 extra_feather+1; 0 next_is+2; 0 bid_5; 2 to move",
        table=table(3),
    ),
    Row(
        "B modifiers: in the fixed order; a later one closes the earlier ones: after double",
        "0 double; 0 only extra_feather+1..2 next_is+2 bid_1..90",
        table=table(3),
    ),
    Row("B modifiers: ... after extra_feather", "0 extra_feather+2; 0 only next_is+2 bid_1..90", table=table(3)),
    Row("B modifiers: ... after next_is", "0 next_is+2; 0 only bid_1..90", table=table(3)),
    Row(
        "B modifiers: nothing is drawn until the number is given",
        "0 extra_feather+1; wears 5 6 7; 0 bid_1; wears 5 6,8 7",
        draws="5 6 7 8",
        table=table(3),
    ),
    Row(
        "B modifiers: having declared one it must announce: no challenge, no reply",
        "0 bid_5; 1 double; 1 only extra_feather+1..2 next_is+2 bid_6..90; 1 next_is+2; 1 only bid_6..90",
        table=table(3),
    ),
    Row(
        "B modifiers: legal only if a number can be announced",
        "0 bid_90; 1 cannot double extra_feather+1..2 next_is+2",
        table=table(3),
    ),
    Row(
        "B modifiers: with the starter's number too",
        "0 can double extra_feather+1..2 next_is+2",
        table=table(3),
    ),
    Row(
        "B double: the very next decision is a challenge: its loser pays two: announcer",
        "0 double; 0 bid_50; 1 challenge; reveal 18 against 50, 0 loses 2; lives 1 3 3",
        draws="5 6 7",
        table=table(3),
    ),
    Row(
        "B double: ... challenger",
        "0 double; 0 bid_1; 1 challenge; reveal 18 against 1, 1 loses 2; lives 3 1 3",
        draws="5 6 7",
        table=table(3),
    ),
    Row(
        "B double: never below zero",
        "0 double; 0 bid_1; 1 challenge; reveal 18 against 1, 1 loses 1; lives 1 0 1",
        draws="5 6 7",
        table=table(3, lives=1),
    ),
    Row(
        "B double: two lives eliminate",
        "0 double; 0 bid_1; 1 challenge; reveal 18 against 1, 1 loses 2; lives 2 0 2; 0 to move",
        draws="5 6 7",
        table=table(3, lives=2),
    ),
    Row(
        "B double: ended by a raise",
        "0 double; 0 bid_1; 1 bid_2; 2 challenge; reveal 18 against 2, 2 loses 1",
        draws="5 6 7",
        table=table(3),
    ),
    Row(
        "B double: ended by a modifier of the next seat",
        "0 double; 0 bid_1; 1 next_is+2; 1 bid_2; 0 challenge; reveal 18 against 2, 0 loses 1",
        draws="5 6 7",
        table=table(3),
    ),
    Row(
        "B double: ended by idem",
        "0 double; 0 bid_1; 1 idem; 2 challenge; reveal 18 against 1, 2 loses 1",
        draws="5 6 7",
        table=table(3),
    ),
    Row(
        "B double: ended by reverse",
        "0 double; 0 bid_1; 1 reverse; 0 bid_2; 2 challenge; reveal 18 against 2, 2 loses 1",
        draws="5 6 7",
        table=table(3),
    ),
    Row(
        "B double: ended by again",
        "0 double; 0 bid_2; 1 again; 0 bid_1; 1 challenge; reveal 18 against 1, 1 loses 1",
        draws="5 6 7",
        table=table(3),
    ),
    Row(
        "B double: with the number demanded by again",
        "0 bid_2; 1 again; 0 double; 0 bid_1; 1 challenge; reveal 18 against 1, 1 loses 2",
        draws="5 6 7",
        table=table(3),
    ),
    Row(
        "B double: with the number demanded by reverse",
        "0 bid_2; 1 reverse; 0 double; 0 bid_3; 2 challenge; reveal 18 against 3, 2 loses 2",
        draws="5 6 7",
        table=table(3),
    ),
    Row(
        "B double: with the refuser's raise",
        "0 bid_2; 1 again; 0 bid_1; 1 double; 1 bid_2; 2 challenge; reveal 18 against 2, 2 loses 2",
        draws="5 6 7",
        table=table(3),
    ),
    Row(
        "B double: not yet declared with a number, a challenge costs one",
        "0 bid_1; 1 challenge; reveal 18 against 1, 1 loses 1",
        draws="5 6 7",
        table=table(3),
    ),
    Row(
        "B extra_feather: another live seat, k seats clockwise of the actor",
        "2 extra_feather+2; 2 bid_1; wears 6 7,8 5; 0 to move",
        starter=2,
        draws="5 6 7 8",
        table=table(3),
    ),
    Row(
        "B extra_feather: it counts",
        "0 extra_feather+1; 0 bid_26; 1 challenge; reveal 26 against 26, 1 loses 1",
        draws="5 6 7 8",
        table=table(3),
    ),
    Row(
        "B extra_feather: a blue one acts",
        "0 extra_feather+1; 0 bid_26; 1 challenge; reveal 36 against 26, 1 loses 1",
        draws="5 6 7 x2",
        table=table(3),
    ),
    Row(
        "B extra_feather: an extra `?` draws",
        "0 extra_feather+1; 0 bid_26; 1 challenge; reveal 28 against 26, 1 loses 1",
        draws="5 6 7 ? 10",
        table=table(3),
    ),
    Row(
        "B extra_feather: also for the seat that answers next or the announcer before",
        "0 bid_1; 1 can extra_feather+1..2",
        table=table(3),
    ),
    Row(
        "B extra_feather: not for an eliminated seat",
        "0 bid_1; 1 challenge; lives 1 0 1 1; 0 can extra_feather+2..3; 0 cannot extra_feather+1",
        draws="5 6 7 8",
        table=table(4, lives=1),
    ),
    Row(
        "B extra_feather: illegal if nothing can be drawn",
        "0 only double bid_1..11; 0 bid_1; 1 cannot extra_feather+1",
        table=table(2, deck={"5": 1, "6": 1}),
    ),
    Row(
        "B extra_feather: ... legal with the last card of the pile",
        "0 extra_feather+1; 0 bid_1; wears 5 6,7; 1 challenge; wears 6 5; lives 3 2",
        draws="5 6 7 5 6",
        table=table(2, deck={"5": 1, "6": 1, "7": 1}),
    ),
    Row(
        "B extra_feather: ... legal with discards only",
        "0 bid_1; 1 challenge; 1 can extra_feather+1",
        draws="5 6 7 8",
        table=table(2, deck=FOUR_CARDS),
    ),
    Row(
        "B extra_feather: with every_round the discards lie in the pile: illegal when the pile is empty",
        "0 can extra_feather+1; 0 extra_feather+1; 0 bid_1; 1 challenge; 1 can extra_feather+1",
        table=table(2, deck={"5": 1, "6": 1, "7": 1}, reshuffle="every_round"),
    ),
    Row(
        "B next_is: that seat answers, with everything an answer can be; order goes on from it",
        "0 next_is+2; 0 bid_5; 2 only challenge idem reverse again double extra_feather+1..3 bid_6..110"
        "; 2 bid_6; 3 to move",
        table=table(4),
    ),
    Row("B next_is: ... its idem too", "0 next_is+2; 0 bid_5; 2 idem; 3 to move", table=table(4)),
    Row(
        "B next_is: ... its challenge is against the seat that named it",
        "0 next_is+2; 0 bid_50; 2 challenge; reveal 26 against 50, 0 loses 1",
        draws="5 6 7 8",
        table=table(4),
    ),
    Row(
        "B next_is: not the natural next one, not oneself",
        "0 bid_1; 1 can next_is+2..3; 1 cannot next_is+1",
        table=table(4),
    ),
    Row(
        "B next_is: the natural next one is the next live one; not an eliminated one",
        "0 bid_1; 1 challenge; lives 1 0 1 1; 0 can next_is+3; 0 cannot next_is+1..2",
        draws="5 6 7 8",
        table=table(4, lives=1),
    ),
    Row("B next_is: it needs three live seats", "0 cannot next_is+1", table=table(2)),
    Row(
        "B next_is: ... three seats of which one is out",
        "0 bid_1; 1 challenge; 0 cannot next_is+1..2",
        draws="5 6 7",
        table=table(3, lives=1),
    ),
    Row(
        "B next_is: against the clock the natural next one is the right neighbour",
        "0 bid_1; 1 reverse; 0 bid_2; 3 can next_is+1..2; 3 cannot next_is+3; 3 next_is+2; 3 bid_3; 1 bid_4; 0 to move",
        table=table(4),
    ),
    Row(
        "B next_is: with a number demanded by reverse it is allowed; the natural next one is that of the new direction",
        "0 bid_1; 1 reverse; 0 can next_is+1..2; 0 cannot next_is+3; 0 next_is+1; 0 bid_2; 1 bid_3; 0 to move",
        table=table(4),
    ),
    Row(
        "B next_is: not with a number demanded by again",
        "0 bid_1; 1 again; 0 cannot next_is+1..3; 0 double; 0 cannot next_is+1..3",
        table=table(4),
    ),
]

HOUSE = [
    Row(
        "F reshuffle every_round: the discards are back in the pile at once",
        "0 bid_1; 1 challenge; wears 5 6; lives 3 2",
        draws="5 6 6 5",
        table=table(2, reshuffle="every_round"),
    ),
    Row(
        "F starter after_loser: the next live seat after the loser starts",
        "0 bid_1; 1 bid_2; 2 challenge; 3 to move; lives 3 3 2 3",
        draws="5 6 7 8",
        table=table(4, starter="after_loser"),
    ),
    Row(
        "F starter after_loser: ... clockwise also after a reverse, eliminated ones skipped",
        "0 double; 0 bid_1; 1 challenge; lives 2 0 2 2; 2 bid_1; 3 reverse; 2 bid_50; 0 challenge; lives 2 0 1 2"
        "; 3 double; 3 bid_1"
        "; 0 challenge; lives 0 0 1 2; 2 to move",
        draws="5 6 7 8 1 2 3 1 2 3",
        table=table(4, lives=2, starter="after_loser"),
    ),
    Row(
        "F starter after_loser: an eliminated loser too",
        "0 bid_1; 1 bid_2; 2 challenge; 3 to move; lives 1 1 0 1",
        draws="5 6 7 8",
        table=table(4, lives=1, starter="after_loser", starter_if_out="left"),
    ),
    Row(
        "F starter_if_out left: the next live seat to the left of the loser",
        "0 bid_1; 1 bid_2; 2 challenge; 3 to move; lives 1 1 0 1",
        draws="5 6 7 8",
        table=table(4, lives=1, starter_if_out="left"),
    ),
    Row(
        "F starter_if_out left: not where the loser lives on",
        "0 bid_1; 1 bid_2; 2 challenge; 2 to move",
        draws="5 6 7 8",
        table=table(4, starter_if_out="left"),
    ),
    Row(
        "F game_end first_loss: over at the first life lost: loser -1, others +1/(N-1)",
        "0 bid_1; 1 challenge; over; lives 3 2 3 3; paid 1/3 -1 1/3 1/3; returns 1/3 -1 1/3 1/3",
        draws="5 6 7 8",
        table=table(4, game_end="first_loss"),
    ),
    Row(
        "F game_end first_loss: by placement the others tie",
        "0 bid_1; 1 challenge; over; paid 1/3 -1 1/3 1/3",
        draws="5 6 7 8",
        table=table(4, game_end="first_loss", reward="placement"),
    ),
    Row(
        "F mini: two seats, cards 1 2 3 4 once each, one life, no variants, over at the first loss",
        "lives 1 1; 0 only bid_1..7; 0 bid_5; 1 only challenge bid_6..7; 1 challenge"
        "; reveal 5 against 5, 1 loses 1; over"
        "; paid 1 -1; lives 1 0; wears 1 4",
        draws="1 4",
        table={"edition": "mini"},
    ),
    Row(
        "F mini: three seats",
        "2 only bid_1..9; 2 bid_9; 0 challenge; over; reveal 6 against 9, 2 loses 1; paid 1/2 1/2 -1",
        starter=2,
        draws="1 2 3",
        table={"edition": "mini", "num_players": 3},
    ),
]

REWARDS = [
    Row(
        "H win: -1/(N-1) in the step that eliminates, the winner +1 at the end; nothing for a life",
        "0 bid_1; paid 0 0 0; 1 challenge; paid 0 0 0; lives 2 1 2; 1 bid_40; 2 challenge; paid 0 -1/2 0; lives 2 0 2"
        "; 2 double; 2 bid_1; 0 challenge; over; paid -1/2 0 1; returns -1/2 -1/2 1",
        draws="5 6 7 1 2 3 1 2",
        table=table(3, lives=2),
    ),
    Row(
        "H placement: evenly spaced from +1 to -1 in the order of elimination",
        "0 bid_1; 1 challenge; paid 0 -1 0 0; 0 bid_1; 2 challenge; paid 0 0 -1/3 0; 0 bid_20; 3 challenge; over"
        "; paid 1/3 0 0 1; returns 1/3 -1 -1/3 1",
        draws="5 6 7 8 1 2 3 4 1",
        table=table(4, lives=1, reward="placement"),
    ),
    Row(
        "H round: -1 per life lost, as much in all to the other live seats",
        "0 bid_1; 1 challenge; paid 1/3 -1 1/3 1/3; lives 3 2 3 3; running",
        draws="5 6 7 8",
        table=table(4, reward="round"),
    ),
    Row(
        "H round: two lives by double",
        "0 double; 0 bid_50; 1 challenge; paid -2 2/3 2/3 2/3; lives 1 3 3 3",
        draws="5 6 7 8",
        table=table(4, reward="round"),
    ),
    Row(
        "H round: one where double finds one",
        "0 double; 0 bid_50; 1 challenge; paid -1 1/3 1/3 1/3; lives 0 1 1 1",
        draws="5 6 7 8",
        table=table(4, lives=1, reward="round"),
    ),
    Row(
        "H round: seats that were out get nothing; the loser's last round is still shared by all live in it",
        "0 bid_1; 1 challenge; paid 1/2 -1 1/2; 0 bid_50; 2 challenge; over; paid -1 0 1; returns -1/2 -1 3/2",
        draws="5 6 7 1 2",
        table=table(3, lives=1, reward="round"),
    ),
    Row(
        "H forfeit: the offender's return becomes -1, the others share +1",
        "0 bid_1; 1 forfeits; over; paid 1/2 -1 1/2; returns 1/2 -1 1/2",
        table=table(3),
    ),
    Row("H forfeit: ... in the middle of a turn, too", "0 double; 0 forfeits; over; paid -1 1/2 1/2", table=table(3)),
    Row(
        "H forfeit: ... by a seat that must answer `again`",
        "0 bid_5; 1 again; 0 forfeits; over; paid -1 1",
        table=table(2),
    ),
    Row(
        "H forfeit: those already out keep theirs (win)",
        "0 bid_1; 1 challenge; returns 0 -1/3 0 0; 0 forfeits; over; paid -1 0 2/3 2/3; returns -1 -1/3 2/3 2/3",
        draws="5 6 7 8",
        table=table(4, lives=1),
    ),
    Row(
        "H forfeit: those already out keep theirs (placement)",
        "0 bid_1; 1 challenge; returns 0 -1 0 0; 0 forfeits; over; paid -1 0 1 1; returns -1 -1 1 1",
        draws="5 6 7 8",
        table=table(4, lives=1, reward="placement"),
    ),
    Row(
        "H forfeit: by rounds the return becomes -1 whatever it was",
        "0 bid_1; 1 challenge; returns 1/2 -1 1/2; 1 bid_1; 2 challenge; returns 1 -1/2 -1/2; 2 bid_1; 0 forfeits"
        "; over"
        "; paid -2 1 1; returns -1 1/2 1/2",
        draws="5 6 7 1 2 3",
        table=table(3, reward="round"),
    ),
    Row("H forfeit: first_loss", "0 forfeits; over; paid -1 1/3 1/3 1/3", table=table(4, game_end="first_loss")),
]

ROWS = [*SHARED, *EDITION, *REPLIES, *MODIFIERS, *HOUSE, *REWARDS]


def expand(words: list[str]) -> set[str]:
    """Action names; `bid_3..5` or `next_is+2..3` stand for several."""
    names = set()
    for word in words:
        several = re.fullmatch(r"(bid_|extra_feather\+|next_is\+)(\d+)\.\.(\d+)", word)
        if several:
            low, high = int(several[2]), int(several[3])
            assert low < high, word
            names |= {f"{several[1]}{number}" for number in range(low, high + 1)}
        else:
            assert re.fullmatch(r"challenge|idem|reverse|again|double|(extra_feather|next_is)\+[1-9]|bid_\d+", word), (
                word
            )
            names.add(word)
    return names


def snapshot(game: Table) -> tuple[Any, ...]:
    return game.seat, game.legal(), game.lives, game.worn, game.over, game.returns


def perform(game: Table, line: str) -> None:
    """One instruction of a script."""
    word, *rest = line.split()
    if word == "wears":
        assert game.worn == [sorted(cards.split(",")) if cards != "-" else [] for cards in rest]
    elif word == "lives":
        assert game.lives == [int(value) for value in rest]
    elif word == "reveal":
        total, number, loser, lives = (int(value) for value in re.findall(r"-?\d+", line))
        assert game.reveal == {"total": total, "number": number, "loser": loser, "lives": lives}
    elif word == "paid":
        assert game.rewards == pytest.approx([float(Fraction(value)) for value in rest], abs=1e-12)
    elif word == "returns":
        assert game.returns == pytest.approx([float(Fraction(value)) for value in rest], abs=1e-12)
    elif word == "over":
        assert game.over
        assert not game.legal()
    elif word == "running":
        assert not game.over
    else:
        assert not game.over
        assert game.seat == int(word)
        match rest:
            case ["to", "move"]:
                pass
            case ["can", *names]:
                assert not expand(names) - game.legal()
            case ["cannot", *names]:
                assert not expand(names) & game.legal()
            case ["only", *names]:
                assert game.legal() == expand(names)
            case ["forfeits"]:
                game.forfeit()
            case ["fails", named, action]:
                before = snapshot(game)
                with pytest.raises(ValueError, match=rf"(?<![\w-]){re.escape(named)}(?!\w)"):
                    game.play(action)
                assert snapshot(game) == before
            case [action]:
                assert action in game.legal()
                game.play(action)
            case _:
                raise AssertionError(f"no instruction: {line}")


def run(row: Row, game: Table) -> None:
    for line in re.split(r"[;\n]", row.script):
        if line.strip():
            try:
                perform(game, line.strip())
            except AssertionError as error:
                raise AssertionError(f"{row.clause}: at {line.strip()!r}: {error}") from error


@pytest.mark.parametrize("row", ROWS, ids=[row.clause for row in ROWS])
def test_clause_on_the_reference(row: Row) -> None:
    run(row, ReferenceTable(row.table, row.starter, row.draws.split()))


@pytest.mark.engine
@pytest.mark.parametrize("row", ROWS, ids=[row.clause for row in ROWS])
def test_clause_on_the_environment(row: Row) -> None:
    illegal_action = "forfeit" if "forfeits" in row.script else "raise"
    run(row, EngineTable(row.table, row.starter, row.draws.split(), illegal_action))


# --- clauses that need more than a script


def view(env: Any, seat: int, name: str) -> Any:
    """A section of what a seat observes."""
    return env.unwrapped.layout.view(env.observe(f"player_{seat}")["observation"], name)


def test_a_card_is_worn_so_that_every_seat_but_its_wearer_sees_it():
    """A: ... for the extra feather too (B: unseen by its wearer)."""
    env = coyote_v0.env(num_players=3)
    env.reset(options={"starter": 0, "draws": ["20", "x2", "-5", "?"]})
    for action in ("extra_feather+1", "bid_1"):
        env.step(env.unwrapped.action_id(action))
    faces = faces_in_order(reference.FEATHERS_30)
    worn = {0: ["20"], 1: ["?", "x2"], 2: ["-5"]}
    for observer in range(3):
        for k, counts in enumerate(view(env, observer, "cards")):
            seen = sorted(face for face, count in zip(faces, counts, strict=True) if count)
            assert seen == ([] if k == 0 else worn[(observer + k) % 3])
        assert [int(n) for n in view(env, observer, "num_cards")] == [len(worn[(observer + k) % 3]) for k in range(3)]


def test_an_eliminated_seat_sees_what_any_seat_sees_that_wears_nothing():
    """A: all cards of all others."""
    env = coyote_v0.env(num_players=3, lives=1)
    env.reset(options={"starter": 0, "draws": ["5", "6", "7", "20", "15"]})
    for action in ("bid_40", "challenge"):
        env.step(env.unwrapped.action_id(action))
    faces = faces_in_order(reference.FEATHERS_30)
    cards = view(env, 0, "cards")
    assert not cards[0].any()
    assert [faces[int(cards[k].argmax())] for k in (1, 2)] == ["20", "15"]
    assert cards.sum() == 2


def test_a_reveal_is_public():
    """A: its total, number and loser reach every seat, and at the end everybody sees every card, its own too."""
    env = coyote_v0.env(num_players=3, lives=1)
    env.reset(options={"starter": 0, "draws": ["5", "6", "7", "-10", "x2"]})
    for action in ("bid_40", "challenge"):
        env.step(env.unwrapped.action_id(action))
    for observer in range(3):
        assert view(env, observer, "reveal_known")[0] == 1
        assert round(float(view(env, observer, "reveal_total")[0]) * 90) == 18
        assert round(float(view(env, observer, "reveal_bid")[0]) * 90) == 40
        assert int(view(env, observer, "reveal_loser").argmax()) == (0 - observer) % 3
    for action in ("bid_1", "challenge"):  # x2 * -10 = -20 < 1: seat 1 loses
        env.step(env.unwrapped.action_id(action))
    faces = faces_in_order(reference.FEATHERS_30)
    worn = {0: [], 1: ["-10"], 2: ["x2"]}
    assert all(env.terminations.values())
    for observer in range(3):
        assert round(float(view(env, observer, "reveal_total")[0]) * 90) == -20
        for k, counts in enumerate(view(env, observer, "cards")):
            seen = [face for face, count in zip(faces, counts, strict=True) if count]
            assert seen == worn[(observer + k) % 3]


def test_the_first_starter_is_uniformly_random():
    """A: 900 seeds, 3 seats: each 300 times give or take 5 standard deviations (71)."""
    env = coyote_v0.env(num_players=3)
    starts = [0, 0, 0]
    for seed in range(900):
        env.reset(seed=seed)
        starts[int(env.agent_selection[-1])] += 1
    assert all(abs(count - 300) < 71 for count in starts)


def test_drawing_takes_a_uniformly_random_remaining_card():
    """A: the pile is a multiset. Three 5 and a 6; the two seats wear 5 and 5 half the time (1000 +- 112 of 2000)."""
    env = coyote_v0.env(num_players=2, deck={"5": 3, "6": 1}, variants="none")
    both, first = 0, 0
    for seed in range(2000):
        env.reset(seed=seed, options={"starter": 0})
        cards = [view(env, 1, "cards")[1], view(env, 0, "cards")[1]]
        first += int(cards[0][0])
        both += int(cards[0][0] and cards[1][0])
    assert abs(both - 1000) < 112
    assert abs(first - 1500) < 97


@pytest.mark.parametrize("draws", [["5", "joker"], ["5", "-20"], [""], ["bid_1"], ["5", None]])
def test_unknown_faces_of_fixed_draws_are_refused_at_reset(draws):
    env = coyote_v0.env(num_players=2)
    env.reset(seed=1, options={"starter": 0, "draws": ["6", "7"]})
    before = env.unwrapped.get_state()
    with pytest.raises(ValueError, match=re.escape(repr(draws[-1]))):
        env.reset(options={"starter": 0, "draws": draws})
    assert env.unwrapped.get_state() == before


def test_a_fixed_draw_that_the_deal_cannot_give_is_refused_at_reset():
    """A: a card not left in the pile raises when it is due, and that is in the deal."""
    env = coyote_v0.env(num_players=2)
    env.reset(seed=1, options={"starter": 0, "draws": ["6", "7"]})
    before = env.unwrapped.get_state()
    with pytest.raises(ValueError, match="20"):
        env.reset(options={"starter": 0, "draws": ["20", "20"]})
    assert env.unwrapped.get_state() == before


def test_when_the_list_of_fixed_draws_is_used_up_draws_are_random_again():
    env = coyote_v0.env(num_players=2)
    faces = faces_in_order(reference.FEATHERS_30)
    second = set()
    for seed in range(40):
        env.reset(seed=seed, options={"starter": 0, "draws": ["20"]})
        assert faces[int(view(env, 1, "cards")[1].argmax())] == "20"
        second.add(faces[int(view(env, 0, "cards")[1].argmax())])
    assert len(second) > 8
    assert "20" not in second


@pytest.mark.parametrize(
    "variants", ["none", "all", ["idem"], ["next_is", "double"], ["extra_feather", "again", "reverse"]]
)
@pytest.mark.parametrize("num_players", [2, 5])
def test_ids_exist_for_what_the_rules_can_use_in_a_fixed_order(num_players, variants):
    """B: `extra_feather+k` and `next_is+k` for k = 1..N-1 whenever their variant is enabled, reachable or not."""
    env = coyote_v0.env(num_players=num_players, variants=variants)
    chosen = reference.resolve(variants=variants)["variants"]
    expected = ["challenge"]
    expected += [name for name in ("idem", "reverse", "again", "double") if name in chosen]
    for name in ("extra_feather", "next_is"):
        if name in chosen:
            expected += [f"{name}+{k}" for k in range(1, num_players)]
    cap = reference.max_bid(reference.resolve(num_players=num_players, variants=variants), num_players)
    assert list(env.unwrapped.game.action_names) == expected + [f"bid_{number}" for number in range(1, cap + 1)]


def test_the_decks_are_those_of_the_rules():
    """B: what seat 0 has not seen, seen cards put back, is the deck."""
    for name, deck in reference.DECKS.items():
        env = coyote_v0.env(num_players=2, deck=name)
        env.reset(seed=0)
        counts = np.array([deck[face] for face in faces_in_order(deck)])
        unseen = view(env, 0, "unseen") * counts + view(env, 0, "cards").sum(axis=0)
        np.testing.assert_allclose(unseen, counts, atol=1e-5)


def test_an_illegal_action_forfeits_only_where_that_is_asked_for_and_only_in_range():
    """H: anything else than a masked id in range raises always."""
    for illegal_action in ("raise", "forfeit"):
        env = coyote_v0.env(num_players=3, illegal_action=illegal_action)
        env.reset(seed=0)
        for action in (-1, env.unwrapped.game.num_actions, 10**6):
            before = env.unwrapped.get_state()
            with pytest.raises((ValueError, TypeError, IndexError), match=re.escape(str(action))):
                env.step(action)
            assert env.unwrapped.get_state() == before
        assert not any(env.terminations.values())
        if illegal_action == "raise":
            with pytest.raises(ValueError, match="challenge"):
                env.step(env.unwrapped.action_id("challenge"))
            assert not any(env.terminations.values())


def test_the_reveal_that_ends_the_game_keeps_the_cards_on_the_table():
    """A: nothing is dealt any more; the last total counts what lay there."""
    env = coyote_v0.env(edition="mini")
    env.reset(options={"starter": 0, "draws": ["3", "4"]})
    for action in ("bid_7", "challenge"):
        env.step(env.unwrapped.action_id(action))
    assert all(env.terminations.values())
    for observer in range(2):
        assert [int(row.argmax()) + 1 for row in view(env, observer, "cards")] == ([3, 4] if observer == 0 else [4, 3])


def test_zero_lives_is_eliminated_where_the_first_loss_ends_the_game_too():
    """A and F."""
    for lives, live in ((1, [1, 0, 1]), (2, [1, 1, 1])):
        env = coyote_v0.env(num_players=3, lives=lives, game_end="first_loss")
        env.reset(options={"starter": 0, "draws": ["5", "6", "7"]})
        for action in ("bid_1", "challenge"):
            env.step(env.unwrapped.action_id(action))
        assert all(env.terminations.values())
        assert view(env, 0, "live").tolist() == live
        assert view(env, 0, "lives") * lives == pytest.approx([lives, lives - 1, lives])
