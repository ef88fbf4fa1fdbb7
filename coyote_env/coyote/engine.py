"""COYOTE compiled: the record of a table and every kernel of the game, in one file on purpose.

A reader finds each rule here once; letters in comments are the sections of the rules on this game's page. Kernels
take ``(rules, states, i, ...)``: a lone record as an argument costs numba four times what an array and an index do.
Item access (``states[i]["bid"]``) works compiled and with ``NUMBA_DISABLE_JIT=1``; attribute access only compiled.

A constant given to a kernel is written ``int64(1)``: numba compiles a kernel anew for each bare one.

The verbs, the same in every game: ``deal``, ``step``, ``legal_mask``, ``observe``, and their ``*_many`` forms.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import types
from numpy.typing import NDArray

from ..core.compile import complete, int64, njit
from ..core.game import RANDOM, STOP, STOPPED, Game, record_dtype
from ..core.rewards import forfeit, pay
from ..core.rng import below, key
from .rules import MAX_CARDS, MAX_FACES, MAX_SEATS, SPECIALS, VARIANTS, Rules

# ---------------------------------------------------------------------------------------------------------------
# Records

NUMBER, DRAW, MAX0, MAX_MINUS, NIGHT, X2 = range(6)  # what a face does; the last five in the order of SPECIALS
IDEM, REVERSE, AGAIN, DOUBLE, EXTRA_FEATHER, NEXT_IS = range(6)  # in the order of VARIANTS
# Actions that are no variants: further rows of RULES["action"].
CHALLENGE, PEEK, COYOTE, POINT_ANNOUNCER, POINT_CHALLENGER, DISCARD_OPEN, DISCARD_CLOSED, BID = range(6, 14)
ACTIONS = (
    *VARIANTS, "challenge", "peek", "coyote", "point_announcer", "point_challenger", "discard_open", "discard_closed",
    "bid",
)  # fmt: skip
# Phases: whose decision of which kind is due. The last two exist with Peek cards only.
TURN, AGAIN_NUMBER, REVERSE_NUMBER, AFTER_AGAIN, OVER, POINTING, DISCARD = range(7)
PHASES = ("turn", "again_number", "reverse_number", "after_again", "over", "pointing", "discard")
CENTRE, COYOTE_CARD = range(2)  # places of cards that lie face down in the middle
# How an announcement came about.
KINDS = ("raise", "idem", "again", "reverse")
HISTORY = 16  # announcements of the round that an observation shows
MAX_ROUNDS = 10 * 9  # each costs a life
WIN, PLACEMENT, ROUND = range(3)
SCRATCH = 7  # rows of integers that kernels work in: the first four by whoever counts cards, the others by observe

# Unsigned where no value is negative: indices made of such fields need no test for counting from the end.
RULES = record_dtype(
    [
        ("num_players", "u1"),
        ("lives", "i1"),
        ("num_faces", "u1"),
        ("num_numbers", "u1"),  # faces 0..num_numbers-1 are numbers, ascending
        ("special", "i1", (len(SPECIALS) + 1,)),  # by kind: the face that does it; -1 = not in the deck
        ("deck_size", "i2"),
        ("variants", "u1", (6,)),  # 1 = this variant is played
        ("every_round", "u1"),  # reshuffle == "every_round"
        ("after_loser", "u1"),  # starter == "after_loser"
        ("left_if_out", "u1"),  # starter_if_out == "left"
        ("first_loss", "u1"),  # game_end == "first_loss"
        ("peek", "u1"),  # 1 = lives are Peek cards, and a card lies in the centre
        ("closed_peeks", "u1"),  # how many of a seat's Peek cards are closed at the start
        ("trickster", "u1"),  # 1 = pointing and the Coyote card
        ("reward", "u1"),  # WIN, PLACEMENT or ROUND
        ("odds", "u1"),  # 1 = the observation ends with the odds section
        ("value", "i4", (MAX_FACES,)),  # what a number counts; 0 for specials
        ("kind", "i1", (MAX_FACES,)),  # NUMBER, DRAW, ...
        ("count", "u1", (MAX_FACES,)),  # cards of each face in the deck
        ("max_bid", "i2", (MAX_SEATS + 1,)),  # by number of live seats
        ("action", "i2", (len(ACTIONS),)),  # first action id of each; -1 = no id
        # Reciprocals, since an observation scales some fifty numbers. Products in float64 round to the same float32.
        ("per_face", "f8", (MAX_FACES,)),  # 1 / count
        ("per_bid", "f8"),  # 1 / max_bid of all seats
        ("per_card", "f8"),  # 1 / deck_size
        ("per_life", "f8"),  # 1 / lives
    ]
)

STATE = record_dtype(
    [
        # -- what the faces of every game read
        ("seed", "u8"),  # base of all the randomness of this table
        ("game", "u8"),  # games dealt at this table so far; the running game is number game-1
        ("returns", "f8", (MAX_SEATS,)),  # rewards paid so far in this game
        ("seat", "u1"),  # seat to move; at the end the last to have moved
        ("over", "u1"),  # 1 = the game has ended
        ("out", "u1", (MAX_SEATS,)),  # 1 = eliminated: gets and does nothing more
        # -- chance
        ("rng", "u8"),  # SplitMix64 state, keyed anew each round by (seed, game, round)
        ("round", "i2"),  # 1 = first
        ("pile_size", "i2"),  # cards left to draw
        ("discard_size", "i2"),
        ("draws", "i2"),  # cards drawn in this game: the place on the tape
        ("pile", "u1", (MAX_FACES,)),  # counts by face: there is no order to leak
        ("discard", "u1", (MAX_FACES,)),
        ("drawn", "u1", (MAX_FACES,)),  # drawn by `?` at the last reveal, in the count until the next deal
        # -- seats
        ("lives", "u1", (MAX_SEATS,)),
        ("cards", "i1", (MAX_SEATS, 2)),  # faces worn; -1 = none
        ("num_cards", "u1", (MAX_SEATS,)),
        ("old", "u1", (MAX_SEATS,)),  # cards worn since before the discards became the pile in mid-round
        ("open", "u1", (MAX_SEATS,)),  # of the lives, those that are open Peek cards
        ("peeked", "u1", (MAX_SEATS,)),  # 1 = has seen the centre card in this round
        ("pointed", "u1", (MAX_SEATS,)),  # at the last pointing: 0 = not, 1 = at the announcer, 2 = at the challenger
        ("last_bid", "i2", (MAX_SEATS,)),  # last number announced this round; 0 = none
        ("live", "u1"),  # seats not eliminated
        # -- the round
        ("phase", "u1"),  # TURN, AGAIN_NUMBER, ...
        ("starter", "i1"),
        ("direction", "i1"),  # +1 clockwise, -1 after `reverse`
        ("announcer", "i1"),  # of the standing number; -1 = nothing stands
        ("middle", "i1", (2,)),  # faces of the CENTRE and the COYOTE_CARD; -1 = none
        ("middle_old", "u1", (2,)),  # 1 = as in `old`
        ("holder", "i1"),  # seat that holds the Coyote card; -1 = none
        ("coyote_by", "i1"),  # seat that used it in this round, and so knows the card; -1 = none
        ("must_raise", "u1"),  # 1 = the seat to move has peeked or used the Coyote card in this turn
        ("challenger", "i1"),  # from the challenge until the next deal; -1 = none
        ("owed", "u1"),  # lives that the loser still has to give
        ("waiting", "i1"),  # seat that demanded a number by `again` or `reverse`; -1 = none
        ("double", "u1"),  # 1 = `double` hangs on the standing number
        ("declared_double", "u1"),  # modifiers declared in this turn, before their number
        ("declared_feather", "i1"),  # absolute seat; -1 = none
        ("declared_next", "i1"),  # absolute seat; -1 = none
        ("used", "u1", (6,)),  # variants used this round
        ("bid", "i2"),  # standing number; 0 = none
        ("bid_before", "i2"),  # the number that stood before it; 0 = none
        ("refused", "i2"),  # number that `again` refused and that must be replaced now; 0 = none
        ("history_len", "i2"),  # announcements made this round; the last HISTORY are kept in a ring
        ("history_bid", "i2", (HISTORY,)),
        ("history_seat", "u1", (HISTORY,)),
        ("history_kind", "u1", (HISTORY,)),
        # -- the last reveal of this game
        ("reveal_loser", "i1"),  # -1 = no reveal yet
        ("reveal_winner", "i1"),  # the other seat of that challenge
        ("reveal_lives", "u1"),  # lives lost in it
        ("reveal_bid", "i2"),
        ("reveal_total", "i4"),
    ]
)


def pack(rules: Rules, odds: bool, first_ids: dict[str, int]) -> NDArray[np.void]:
    """The rules as one read-only record, shape (1,). ``first_ids``: first id by name of ACTIONS, where there is one."""
    record = np.zeros(1, RULES)
    row = record[0]
    row["num_players"], row["lives"], row["deck_size"] = rules.num_players, rules.lives, rules.deck_size
    row["num_faces"] = len(rules.faces)
    row["num_numbers"] = sum(face not in SPECIALS for face in rules.faces)
    row["variants"] = [variant in rules.variants for variant in VARIANTS]
    row["every_round"] = rules.reshuffle == "every_round"
    row["after_loser"] = rules.starter == "after_loser"
    row["left_if_out"] = rules.starter_if_out == "left"
    row["first_loss"] = rules.game_end == "first_loss"
    row["peek"], row["closed_peeks"], row["trickster"] = rules.peek, rules.closed_peeks, rules.trickster
    row["reward"] = ("win", "placement", "round").index(rules.reward)
    row["odds"] = odds
    row["special"] = -1
    for f, (face, count) in enumerate(rules.cards):
        row["count"][f] = count
        row["kind"][f] = 1 + SPECIALS.index(face) if face in SPECIALS else NUMBER
        row["value"][f] = 0 if face in SPECIALS else int(face)
        if face in SPECIALS:
            row["special"][row["kind"][f]] = f
    for live in range(2, rules.num_players + 1):
        # A: ids run to max_bid(N). With odd decks fewer seats can reach more, and those numbers have no id.
        row["max_bid"][live] = min(rules.max_bid(live), rules.max_bid())
    row["per_face"][: len(rules.faces)] = 1.0 / np.array([count for _, count in rules.cards])
    row["per_bid"], row["per_card"], row["per_life"] = 1 / rules.max_bid(), 1 / rules.deck_size, 1 / rules.lives
    row["action"] = [first_ids.get(name, -1) for name in ACTIONS]
    record.flags.writeable = False
    return record


# ---------------------------------------------------------------------------------------------------------------
# Chance


@njit(inline=True)
def pick(counts: Any, place: int) -> int:
    """The face of card number ``place`` of a multiset, counts (MAX_FACES,), laid out face by face."""
    face = 0
    reached = int64(0)
    for f in range(MAX_FACES):  # no early end: which face it is cannot be predicted, and all are added up sooner
        reached += counts[f]
        face += int64(reached <= place)
    return face


@njit()
def draw(rules: Any, states: Any, tapes: Any, i: int) -> int:
    """Draws a card (A: the pile is a multiset). Returns its face, -1 if nothing can be drawn, -2 - face if the tape
    demands a face that is not left in the pile, or STOPPED where the tape says so: whoever walks through all
    chance outcomes finds what can be drawn in ``pile`` then."""
    s = states[i]
    if s["pile_size"] == 0:
        if s["discard_size"] == 0:
            return -1
        for f in range(MAX_FACES):
            s["pile"][f] = s["discard"][f]
            s["discard"][f] = 0
        s["pile_size"] = s["discard_size"]
        s["discard_size"] = 0
        # What lies on the table by now came from the pile that has just run out: who does not see it can still tell
        # it by elimination.
        for seat in range(rules[0]["num_players"]):
            s["old"][seat] = s["num_cards"][seat]
        for place in range(2):
            s["middle_old"][place] = 1 if s["middle"][place] >= 0 else 0
    # The generator moves on for a fixed draw too, so that the draws after the list do not depend on its length.
    face = pick(s["pile"], below(states, i, int64(s["pile_size"])))
    place = int64(s["draws"])
    if place < tapes.shape[1]:
        if tapes[i, place] == STOP:
            return STOPPED
        if tapes[i, place] >= 0:
            face = int64(tapes[i, place])
            if s["pile"][face] == 0:
                return -2 - face
        tapes[i, place] = face
    s["draws"] += 1
    s["pile"][face] -= 1
    s["pile_size"] -= 1
    return face


@njit(inline=True)
def give(rules: Any, states: Any, tapes: Any, i: int, seat: int) -> int:
    """Draws a card for ``seat`` to wear. Returns 0, or draw's code below -1. The caller knows that one is left."""
    face = draw(rules, states, tapes, i)
    if face < -1:
        return face
    s = states[i]
    s["cards"][seat, s["num_cards"][seat]] = face
    s["num_cards"][seat] += 1
    return 0


# ---------------------------------------------------------------------------------------------------------------
# Rounds


@njit(inline=True)
def wrap(seat: int, n: int) -> int:
    """``seat`` modulo n, for -n <= seat < 2n: seats are wrapped so often that the division shows in the profile."""
    if seat >= n:
        seat -= n
    if seat < 0:
        seat += n
    return seat & 15  # says that it is not negative: indices made of it need no test for counting from the end


@njit(inline=True)
def next_live(rules: Any, states: Any, i: int, seat: int, direction: int) -> int:
    """The live seat after ``seat`` in ``direction``."""
    n = int64(rules[0]["num_players"])
    seat = wrap(seat + direction, n)
    while states[i]["out"][seat]:
        seat = wrap(seat + direction, n)
    return seat


@njit()
def begin_round(rules: Any, states: Any, tapes: Any, i: int, starter: int) -> int:
    """A and B: what lies on the table goes to the discards, then one card to each live seat, from the starter on."""
    s = states[i]
    r = rules[0]
    for seat in range(r["num_players"]):
        for c in range(s["num_cards"][seat]):
            s["discard"][s["cards"][seat, c]] += 1
            s["discard_size"] += 1
            s["cards"][seat, c] = -1
        s["num_cards"][seat] = 0
        s["old"][seat] = 0
        s["peeked"][seat] = 0
        s["last_bid"][seat] = 0
    for place in range(2):
        if s["middle"][place] >= 0:
            s["discard"][s["middle"][place]] += 1
            s["discard_size"] += 1
        s["middle"][place] = -1
        s["middle_old"][place] = 0
    for f in range(MAX_FACES):
        s["discard"][f] += s["drawn"][f]
        s["discard_size"] += s["drawn"][f]
        s["drawn"][f] = 0
    # B 4: a `night` among the discards was in play just now, worn or drawn, since it sends all discards back at once.
    night = r["special"][NIGHT]
    if r["every_round"] or (night >= 0 and s["discard"][night] > 0):
        for f in range(MAX_FACES):
            s["pile"][f] = r["count"][f]
            s["discard"][f] = 0
        s["pile_size"] = r["deck_size"]
        s["discard_size"] = 0
    for v in range(6):
        s["used"][v] = 0
    s["phase"], s["starter"], s["seat"], s["direction"] = TURN, starter, starter, 1
    s["announcer"], s["waiting"], s["double"] = -1, -1, 0
    s["declared_double"], s["declared_feather"], s["declared_next"] = 0, -1, -1
    s["bid"], s["bid_before"], s["refused"], s["history_len"] = 0, 0, 0, 0
    s["coyote_by"], s["must_raise"], s["challenger"], s["owed"] = -1, 0, -1, 0
    s["round"] += 1
    # The chance of a round is keyed by (seed, game, round): however play went before, the same round deals alike as
    # far as the pile allows.
    s["rng"] = key(key(s["seed"], s["game"]), int64(s["round"]))
    seat = starter
    for _ in range(s["live"]):
        code = give(rules, states, tapes, i, seat)
        if code < 0:
            return code
        seat = next_live(rules, states, i, seat, int64(1))
    if r["peek"]:  # D: and one face down in the centre
        face = draw(rules, states, tapes, i)
        if face < 0:
            return face
        s["middle"][CENTRE] = face
    return 0


@njit()
def deal(rules: Any, states: Any, tapes: Any, i: int, starter: int) -> int:
    """Starts the next game of table i. ``starter``: first seat, -1 = uniformly random. Returns 0 or draw's code."""
    s = states[i]
    r = rules[0]
    s["game"] += np.uint64(1)
    s["rng"] = key(key(s["seed"], s["game"]), int64(0))
    # Drawn in any case, from a stream of its own: the cards do not move.
    first = below(states, i, int64(r["num_players"]))
    if starter >= 0:
        first = starter
    for seat in range(MAX_SEATS):
        s["returns"][seat] = 0.0
        s["out"][seat] = 0 if seat < r["num_players"] else 1
        s["lives"][seat] = r["lives"] if seat < r["num_players"] else 0
        s["open"][seat] = r["lives"] - r["closed_peeks"] if r["peek"] and seat < r["num_players"] else 0
        s["pointed"][seat] = 0
        s["num_cards"][seat] = 0
        s["cards"][seat, 0] = -1
        s["cards"][seat, 1] = -1
    for slot in range(HISTORY):  # nothing of an earlier game stays: equal games are equal bytes
        s["history_bid"][slot], s["history_seat"][slot], s["history_kind"][slot] = 0, 0, 0
    for f in range(MAX_FACES):
        s["pile"][f] = r["count"][f]
        s["discard"][f] = 0
        s["drawn"][f] = 0
    s["pile_size"], s["discard_size"] = r["deck_size"], 0
    s["middle"][CENTRE], s["middle"][COYOTE_CARD], s["holder"] = -1, -1, -1
    s["live"], s["over"], s["round"], s["draws"] = r["num_players"], 0, 0, 0
    s["reveal_loser"], s["reveal_winner"], s["reveal_lives"] = -1, -1, 0
    s["reveal_bid"], s["reveal_total"] = 0, 0
    return begin_round(rules, states, tapes, i, first)


@njit()
def count_cards(rules: Any, cards: Any) -> int:
    """B "Count", steps 2 to 5: the total of the faces in play, int32 ``cards[f]`` of each; `?` itself is nothing."""
    r = rules[0]
    total = int64(0)
    for f in range(MAX_FACES):  # a fixed length, so that it is vectorised; specials and unused faces are worth 0
        total += cards[f] * r["value"][f]
    special = r["special"]
    removed = int64(cards[special[MAX0]]) if special[MAX0] >= 0 else 0
    negated = int64(cards[special[MAX_MINUS]]) if special[MAX_MINUS] >= 0 else 0
    doubles = int64(cards[special[X2]]) if special[X2] >= 0 else 0
    f = int64(r["num_numbers"]) - 1
    while removed + negated > 0 and f >= 0 and r["value"][f] > 0:  # greens, from the highest
        n = int64(cards[f])
        hit = min(removed, n)
        total -= hit * r["value"][f]
        removed -= hit
        hit = min(negated, n - hit)
        total -= 2 * hit * r["value"][f]
        negated -= hit
        f -= 1
    for _ in range(doubles):
        total *= 2
    return total


@njit(inline=True)
def next_pointer(rules: Any, states: Any, i: int, seat: int) -> int:
    """E: the next seat clockwise that has to point, being live and not in the challenge; -1 when all have."""
    s = states[i]
    seat = next_live(rules, states, i, seat, int64(1))
    if seat == s["announcer"]:
        seat = next_live(rules, states, i, seat, int64(1))
    return -1 if seat == s["challenger"] else seat


@njit(inline=True)
def challenge(rules: Any, states: Any, tapes: Any, i: int, rewards: Any, scratch: Any) -> int:
    """The seat to move challenges. E: before the reveal the others point."""
    s = states[i]
    s["challenger"] = s["seat"]
    if rules[0]["trickster"]:
        for seat in range(MAX_SEATS):
            s["pointed"][seat] = 0
        first = next_pointer(rules, states, i, int64(s["seat"]))
        if first >= 0:
            s["phase"], s["seat"] = POINTING, first
            return 0
    return reveal(rules, states, tapes, i, rewards, scratch)


@njit()
def reveal(rules: Any, states: Any, tapes: Any, i: int, rewards: Any, scratch: Any) -> int:
    """All cards are shown and counted (A "Challenge", B "Count"); then the loser pays."""
    s = states[i]
    r = rules[0]
    table = scratch[0]
    for f in range(MAX_FACES):
        table[f] = 0
    for seat in range(r["num_players"]):
        for c in range(s["num_cards"][seat]):
            table[s["cards"][seat, c]] += 1
    for place in range(2):
        if s["middle"][place] >= 0:
            table[s["middle"][place]] += 1
    pending = int64(table[r["special"][DRAW]]) if r["special"][DRAW] >= 0 else 0
    while pending > 0:  # B 1: each `?` draws, a drawn one too
        face = draw(rules, states, tapes, i)
        if face < -1:
            return face
        if face == -1:
            break
        s["drawn"][face] += 1
        table[face] += 1
        if face != r["special"][DRAW]:
            pending -= 1
    total = count_cards(rules, table)

    challenger, announcer = int64(s["challenger"]), int64(s["announcer"])
    loser = challenger if total >= s["bid"] else announcer
    winner = challenger + announcer - loser
    lost = min(1 + int64(s["double"]), int64(s["lives"][loser]))
    s["reveal_total"], s["reveal_bid"] = total, s["bid"]
    s["reveal_loser"], s["reveal_winner"], s["reveal_lives"] = loser, winner, lost
    s["owed"] = lost
    if r["peek"]:
        if r["trickster"]:  # E: right opens a closed card, wrong closes an open one
            for seat in range(r["num_players"]):
                if s["pointed"][seat] > 0:
                    right = (s["pointed"][seat] == 1) == (winner == announcer)
                    if right and s["open"][seat] < s["lives"][seat]:
                        s["open"][seat] += 1
                    elif not right and s["open"][seat] > 0:
                        s["open"][seat] -= 1
        if s["open"][winner] < s["lives"][winner]:  # D: the winner opens a closed card
            s["open"][winner] += 1
    return collect(rules, states, tapes, i, rewards)


@njit(inline=True)
def collect(rules: Any, states: Any, tapes: Any, i: int, rewards: Any) -> int:
    """The loser gives the lives it owes. D: if they are Peek cards of both kinds and some remain, it chooses."""
    s = states[i]
    loser = int64(s["reveal_loser"])
    owed, lives, opened = int64(s["owed"]), int64(s["lives"][loser]), int64(s["open"][loser])
    if rules[0]["peek"] and owed > 0:
        if 0 < opened < lives and owed < lives:
            s["phase"], s["seat"] = DISCARD, loser
            return 0
        if owed == lives:
            s["open"][loser] = 0
        elif opened == lives:
            s["open"][loser] = opened - owed
    s["lives"][loser] = lives - owed
    s["owed"] = 0
    return settle(rules, states, tapes, i, rewards)


@njit(inline=True)
def settle(rules: Any, states: Any, tapes: Any, i: int, rewards: Any) -> int:
    """The loser has paid: rewards (H), eliminations, and the next round."""
    s = states[i]
    r = rules[0]
    n = int64(r["num_players"])
    loser, winner = int64(s["reveal_loser"]), int64(s["reveal_winner"])
    lost = int64(s["reveal_lives"])
    live = int64(s["live"])
    if r["reward"] == ROUND:
        for seat in range(n):
            if seat == loser:
                pay(states, i, rewards, seat, -1.0 * lost)
            elif s["out"][seat] == 0:
                pay(states, i, rewards, seat, lost / (live - 1))
    if s["lives"][loser] == 0:
        s["out"][loser] = 1
        s["live"] -= 1
    if r["first_loss"]:
        s["over"] = 1
        if r["reward"] != ROUND:
            for seat in range(n):
                pay(states, i, rewards, seat, -1.0 if seat == loser else 1.0 / (n - 1))
    elif s["out"][loser]:
        if r["reward"] == WIN:
            pay(states, i, rewards, loser, -1.0 / (n - 1))
        elif r["reward"] == PLACEMENT:
            pay(states, i, rewards, loser, 2.0 * (n - live) / (n - 1) - 1.0)
        if s["live"] == 1:
            s["over"] = 1
            if r["reward"] != ROUND:
                pay(states, i, rewards, next_live(rules, states, i, loser, int64(1)), 1.0)
    if r["trickster"]:  # E: each round's loser takes the Coyote card; from one who is out it goes back to the middle
        s["holder"] = -1 if s["out"][loser] else loser
    if s["over"]:
        end_game(states, i)
        return 0
    starter = loser
    if r["after_loser"]:
        starter = next_live(rules, states, i, loser, int64(1))
    elif s["out"][loser]:
        starter = next_live(rules, states, i, loser, int64(1)) if r["left_if_out"] else winner
    return begin_round(rules, states, tapes, i, starter)


@njit(inline=True)
def end_game(states: Any, i: int) -> None:
    """The cards stay on the table, for all to see, until the next deal."""
    states[i]["over"] = 1
    states[i]["phase"] = OVER


# ---------------------------------------------------------------------------------------------------------------
# Turns


@njit(inline=True)
def announce(rules: Any, states: Any, i: int, number: int, kind: int) -> None:
    """The seat to move becomes the announcer of ``number``."""
    s = states[i]
    seat = s["seat"]
    s["bid_before"] = s["bid"]
    s["bid"] = number
    s["announcer"] = seat
    s["last_bid"][seat] = number
    slot = s["history_len"] % HISTORY
    s["history_bid"][slot], s["history_seat"][slot], s["history_kind"][slot] = number, seat, kind
    s["history_len"] += 1


@njit(inline=True)
def step(rules: Any, states: Any, tapes: Any, i: int, action: int, rewards: Any, scratch: Any) -> int:
    """Plays a legal ``action`` of the seat to move; adds what it pays to ``rewards[i]``.

    Returns 0, or -2 - face if a fixed draw is not left in the pile (the record is then to be restored).
    """
    s = states[i]
    ids = rules[0]["action"]
    n = int64(rules[0]["num_players"])
    seat = int64(s["seat"])
    if action >= ids[BID]:
        phase = s["phase"]
        kind = 2 if phase == AGAIN_NUMBER else 3 if phase == REVERSE_NUMBER else 0
        announce(rules, states, i, action - ids[BID] + 1, kind)
        s["double"] = s["declared_double"]
        s["declared_double"] = 0
        s["must_raise"] = 0
        s["refused"] = 0
        if s["declared_next"] >= 0:
            s["seat"] = s["declared_next"]
            s["declared_next"] = -1
            s["phase"] = TURN
        elif phase == AGAIN_NUMBER:  # B again: back to the seat that refused
            s["seat"] = s["waiting"]
            s["phase"] = AFTER_AGAIN
        else:
            s["seat"] = next_live(rules, states, i, seat, int64(s["direction"]))
            s["phase"] = TURN
        s["waiting"] = -1
        if s["declared_feather"] >= 0:
            target = int64(s["declared_feather"])
            s["declared_feather"] = -1
            return give(rules, states, tapes, i, target)
        return 0
    if action == ids[CHALLENGE]:
        return challenge(rules, states, tapes, i, rewards, scratch)
    if action == ids[POINT_ANNOUNCER] or action == ids[POINT_CHALLENGER]:
        s["pointed"][seat] = 1 if action == ids[POINT_ANNOUNCER] else 2
        following = next_pointer(rules, states, i, seat)
        if following < 0:
            return reveal(rules, states, tapes, i, rewards, scratch)
        s["seat"] = following
        return 0
    if action == ids[DISCARD_OPEN] or action == ids[DISCARD_CLOSED]:
        if action == ids[DISCARD_OPEN]:
            s["open"][seat] -= 1
        s["lives"][seat] -= 1
        s["owed"] -= 1
        return collect(rules, states, tapes, i, rewards)
    if action == ids[DOUBLE]:
        s["declared_double"] = 1
        s["used"][DOUBLE] = 1
        s["double"] = 0  # the decision after the doubled number was no challenge
        return 0
    if ids[EXTRA_FEATHER] >= 0 and ids[EXTRA_FEATHER] <= action < ids[EXTRA_FEATHER] + n - 1:
        s["declared_feather"] = wrap(seat + action - ids[EXTRA_FEATHER] + 1, n)
        s["used"][EXTRA_FEATHER] = 1
        s["double"] = 0
        return 0
    if ids[NEXT_IS] >= 0 and ids[NEXT_IS] <= action < ids[NEXT_IS] + n - 1:
        s["declared_next"] = wrap(seat + action - ids[NEXT_IS] + 1, n)
        s["used"][NEXT_IS] = 1
        s["double"] = 0
        return 0
    s["double"] = 0
    if action == ids[PEEK]:
        s["open"][seat] -= 1
        s["peeked"][seat] = 1
        s["must_raise"] = 1
    elif action == ids[COYOTE]:
        face = draw(rules, states, tapes, i)
        if face < 0:
            return face
        s["middle"][COYOTE_CARD] = face
        s["coyote_by"] = seat
        s["must_raise"] = 1
    elif action == ids[IDEM]:
        s["used"][IDEM] = 1
        announce(rules, states, i, int64(s["bid"]), int64(1))
        s["seat"] = next_live(rules, states, i, seat, int64(s["direction"]))
    elif action == ids[REVERSE]:
        s["used"][REVERSE] = 1
        s["direction"] = -s["direction"]
        s["waiting"] = seat
        s["seat"] = s["announcer"]
        s["phase"] = REVERSE_NUMBER
    else:  # AGAIN: the number falls, what stood before it is the floor of its replacement
        s["used"][AGAIN] = 1
        s["waiting"] = seat
        s["seat"] = s["announcer"]
        s["announcer"] = -1
        s["refused"] = s["bid"]
        s["bid"] = s["bid_before"]
        s["phase"] = AGAIN_NUMBER
    return 0


@njit(inline=True)
def legal_mask(rules: Any, states: Any, i: int, masks: Any) -> None:
    """Writes the legal actions of the seat to move into ``masks[i]``, int8 (A,). All zero when the game is over."""
    s = states[i]
    r = rules[0]
    mask = masks[i]
    mask[:] = 0
    if s["over"]:
        return
    ids = r["action"]
    on = r["variants"]
    used = s["used"]
    n = int64(r["num_players"])
    seat = int64(s["seat"])
    phase = s["phase"]
    bid = int64(s["bid"])
    cap = int64(r["max_bid"][s["live"]])
    if phase == POINTING:
        mask[ids[POINT_ANNOUNCER]] = 1
        mask[ids[POINT_CHALLENGER]] = 1
        return
    if phase == DISCARD:
        mask[ids[DISCARD_OPEN]] = 1
        mask[ids[DISCARD_CLOSED]] = 1
        return
    mask[ids[BID] + bid : ids[BID] + max(cap, bid)] = 1
    if s["refused"] > bid:
        mask[ids[BID] + s["refused"] - 1] = 0
    declared = s["declared_double"] == 1 or s["declared_feather"] >= 0 or s["declared_next"] >= 0
    declared = declared or s["must_raise"] == 1

    # Replies. AFTER_AGAIN leaves only the challenge beside a raise; a demanded number leaves none.
    if bid > 0 and not declared and phase in (TURN, AFTER_AGAIN):
        mask[ids[CHALLENGE]] = 1
        if phase == TURN:
            if on[IDEM] and not used[IDEM]:
                mask[ids[IDEM]] = 1
            if on[REVERSE] and not used[REVERSE] and bid < cap:
                mask[ids[REVERSE]] = 1
            if on[AGAIN] and not used[AGAIN]:
                # Another number must exist: above bid_before, other than the refused one (after `idem` they are equal).
                if cap - s["bid_before"] > (1 if bid > s["bid_before"] else 0):
                    mask[ids[AGAIN]] = 1

    # D and E: first in a turn, and a raise must be possible. The opening turn (nothing stands) cannot peek.
    if r["peek"] and phase == TURN and not declared and bid < cap:
        if bid > 0 and s["open"][seat] > 0 and s["peeked"][seat] == 0:
            mask[ids[PEEK]] = 1
        if s["holder"] == seat and s["coyote_by"] < 0 and s["pile_size"] + s["discard_size"] > 0:
            mask[ids[COYOTE]] = 1

    # Modifiers: only before a number that can be announced, in their fixed order. `again` demands one that exists.
    if bid >= cap and phase != AGAIN_NUMBER:
        return
    if s["declared_next"] >= 0:
        return
    if on[NEXT_IS] and not used[NEXT_IS] and phase != AGAIN_NUMBER and s["live"] >= 3:
        natural = next_live(rules, states, i, seat, int64(s["direction"]))
        for k in range(1, n):
            other = wrap(seat + k, n)
            mask[ids[NEXT_IS] + k - 1] = (s["out"][other] == 0) & (other != natural)
    if s["declared_feather"] >= 0:
        return
    if on[EXTRA_FEATHER] and not used[EXTRA_FEATHER] and s["pile_size"] + s["discard_size"] > 0:
        for k in range(1, n):
            other = wrap(seat + k, n)
            mask[ids[EXTRA_FEATHER] + k - 1] = s["num_cards"][other] == 1  # who is out wears none
    if on[DOUBLE] and not used[DOUBLE]:
        mask[ids[DOUBLE]] = 1


# ---------------------------------------------------------------------------------------------------------------
# What a seat knows


@njit(inline=True)
def sees_middle(states: Any, i: int, viewer: int, place: int) -> bool:
    """Whether ``viewer`` has looked at the card face down at ``place``, CENTRE or COYOTE_CARD."""
    s = states[i]
    return bool(s["peeked"][viewer] == 1 if place == CENTRE else s["coyote_by"] == viewer)


@njit(inline=True)
def unseen(rules: Any, states: Any, i: int, viewer: int, all_seen: bool, pool: Any, deduced: Any) -> int:
    """What the cards can be that ``viewer`` does not see, by face, int32 (MAX_FACES,) each.

    ``pool``: its own hidden cards, those hidden in the middle, and the pile; which of them lies where makes no
    difference to the sum. ``deduced``: those that counting tells, being dealt before the pile ran out in this round:
    what was in the pile before that deal and is not seen elsewhere. They are not in the pool.
    Returns how many hidden cards in play come from ``pool``. ``all_seen``: none is hidden.
    """
    s = states[i]
    for f in range(MAX_FACES):
        pool[f] = s["pile"][f]
        deduced[f] = 0
    if all_seen:
        return 0
    hidden = 0
    for c in range(s["num_cards"][viewer]):
        if c < s["old"][viewer]:
            deduced[s["cards"][viewer, c]] += 1
        else:
            pool[s["cards"][viewer, c]] += 1
            hidden += 1
    if rules[0]["peek"]:
        for place in range(2):
            if s["middle"][place] >= 0 and not sees_middle(states, i, viewer, place):
                if s["middle_old"][place]:
                    deduced[s["middle"][place]] += 1
                else:
                    pool[s["middle"][place]] += 1
                    hidden += 1
    return hidden


@njit(inline=True)
def known_in_play(rules: Any, states: Any, i: int, viewer: int, all_seen: bool, known: Any) -> None:
    """Adds the cards in play that ``viewer`` sees to ``known``, int32 (MAX_FACES,)."""
    s = states[i]
    for seat in range(rules[0]["num_players"]):
        if seat != viewer or all_seen:
            for c in range(s["num_cards"][seat]):
                known[s["cards"][seat, c]] += 1
    for place in range(2):
        if s["middle"][place] >= 0 and (all_seen or sees_middle(states, i, viewer, place)):
            known[s["middle"][place]] += 1
    if is_revealed(states, i):  # what `?` drew lies on the table too, and it draws no more
        for f in range(MAX_FACES):
            known[f] += s["drawn"][f]
        if rules[0]["special"][DRAW] >= 0:
            known[rules[0]["special"][DRAW]] = 0


@njit(inline=True)
def is_revealed(states: Any, i: int) -> bool:
    """A: from a reveal until the next deal all cards in play lie open. The end of a game shows them too."""
    return bool(states[i]["phase"] == OVER or states[i]["phase"] == DISCARD)


@njit()
def total_distribution(
    rules: Any, known: Any, pool: Any, hidden: int, refill: Any, lowest: int, work: Any, weight: Any, probabilities: Any
) -> None:
    """Exact distribution of the total: ``probabilities[t - lowest] += P(total = t)``, t clipped to the array.

    ``known``: faces in play for sure. ``hidden``: cards in play from ``pool``. ``refill``: the discards, which become
    the pile if ``pool`` runs out. All (MAX_FACES,) of an integer type. To work in: ``work``, int (4, MAX_CARDS), and
    ``weight``, float64 (MAX_CARDS,).

    A `?` draws until a card that is none (B 1). So with q `?` in sight, hidden + q cards that are no `?` join the
    known ones, and they are a uniform sample without replacement of those in the pool: which `?` came between them
    changes nothing. Multisets of that size are walked, each weighted by its hypergeometric probability.
    """
    r = rules[0]
    faces = int64(r["num_faces"])
    table, source, chosen, multiple = work[0], work[1], work[2], work[3]
    need = int64(hidden)
    solid = int64(0)
    for f in range(MAX_FACES):
        table[f] = 0
        source[f] = 0
    for f in range(faces):
        table[f] = known[f]
        if r["kind"][f] == DRAW:
            need += known[f]
        else:
            source[f] = pool[f]
            solid += pool[f]
    if need >= solid:  # the pool is drawn empty: all of it counts, the rest comes from the discards
        need -= solid
        solid = 0
        for f in range(faces):
            table[f] += source[f]
            source[f] = refill[f] if r["kind"][f] != DRAW else 0
            solid += source[f]
        if need >= solid:
            for f in range(faces):
                table[f] += source[f]
            need = 0
    last = len(probabilities) - 1
    if need == 0:
        slot = count_cards(rules, table) - lowest
        probabilities[min(max(slot, 0), last)] += 1.0
        return

    # Odometer over non-decreasing face sequences of length `need`; weight[d] is the probability that the multiset
    # of the first d + 1 cards is drawn first, in any order; multiple[d], how often chosen[d] stands among chosen[..d].
    depth = 0
    face = 0
    while True:
        before = weight[depth - 1] if depth > 0 else 1.0
        if depth < need - 1:
            while face < faces and source[face] == 0:
                face += 1
            if face < faces:
                again = multiple[depth - 1] + 1 if depth > 0 and chosen[depth - 1] == face else 1
                # P(multiset + face) = P(multiset) * (cards left of the face / cards left) * (orders it can come in)
                weight[depth] = before * source[face] / (solid - depth) * (depth + 1) / again
                chosen[depth], multiple[depth] = face, again
                source[face] -= 1
                table[face] += 1
                depth += 1
                continue
        else:
            base = count_cards(rules, table)
            factor = 1  # what a further number adds, times its value; 0 where max0 or max- make it depend on the others
            for f in range(r["num_numbers"], faces):
                if r["kind"][f] == X2:
                    factor <<= table[f]
                elif (r["kind"][f] == MAX0 or r["kind"][f] == MAX_MINUS) and table[f] > 0:
                    factor = 0
            for f in range(face, faces):
                if source[f] == 0:
                    continue
                again = multiple[depth - 1] + 1 if depth > 0 and chosen[depth - 1] == f else 1
                if factor > 0 and r["kind"][f] == NUMBER:
                    total = base + factor * r["value"][f]
                else:
                    table[f] += 1
                    total = count_cards(rules, table)
                    table[f] -= 1
                slot = min(max(total - lowest, 0), last)
                probabilities[slot] += before * source[f] / (solid - depth) * need / again
        depth -= 1
        if depth < 0:
            return
        face = int64(chosen[depth])
        source[face] += 1
        table[face] -= 1
        face += 1


@njit(inline=True)
def observe(
    rules: Any, states: Any, i: int, viewer: int, all_seen: bool, scratch: Any, reals: Any, observations: Any
) -> int:
    """Writes what ``viewer`` may know into ``observations[i]``, float32 (L,), in the order of ``layout_of``.

    ``all_seen``: show every card (the global state). To work in: ``scratch``, int32 (SCRATCH, MAX_CARDS), and
    ``reals``, float64 (2, at least MAX_CARDS and the largest number + 1). Returns the number of floats written.
    """
    s = states[i]
    r = rules[0]
    n = int64(r["num_players"])
    faces = int64(r["num_faces"])
    per_bid = r["per_bid"]
    out = observations[i]
    out[:] = 0.0
    pool, known = scratch[4], scratch[5]
    all_seen = all_seen or is_revealed(states, i)
    # Sections of one number a seat, own seat first: the names say where they start.
    live_at, lives_at, cards_at = n, 2 * n, 3 * n
    num_cards_at = cards_at + n * faces
    at = num_cards_at + n
    hidden = unseen(rules, states, i, viewer, all_seen, pool, known)
    # Of a fixed length and so vectorised; beyond the faces they write zeros, where later sections start.
    for f in range(MAX_FACES):
        out[at + f] = pool[f] * r["per_face"][f]
    at += faces
    if s["old"][viewer] or s["middle_old"][CENTRE] or s["middle_old"][COYOTE_CARD]:  # seldom; zeros stand there else
        for f in range(MAX_FACES):
            out[at + f] = known[f]
    at += faces
    out[at] = s["pile_size"] * r["per_card"]
    out[at + 1] = s["bid"] * per_bid
    out[at + 2] = s["bid_before"] * per_bid
    out[at + 3] = s["refused"] * per_bid
    announcer_at = at + 4
    last_bid_at = announcer_at + n
    at = last_bid_at + n
    out[at] = s["double"]
    waiting_at = at + 1
    at = waiting_at + n
    out[at] = s["direction"]
    out[at + 1 + s["phase"]] = 1.0
    at += 1 + (len(PHASES) if r["peek"] else OVER + 1)
    for v in range(6):
        out[at + v] = s["used"][v]
    at += 6
    out[at] = s["declared_double"]
    feather_at = at + 1
    next_at = feather_at + n
    at = next_at + n
    out[at] = r["max_bid"][s["live"]] * per_bid
    at += 1

    if s["over"] == 0:
        out[wrap(s["seat"] - viewer, n)] = 1.0
    if s["announcer"] >= 0:
        out[announcer_at + wrap(s["announcer"] - viewer, n)] = 1.0
    if s["waiting"] >= 0:
        out[waiting_at + wrap(s["waiting"] - viewer, n)] = 1.0
    if s["declared_feather"] >= 0:
        out[feather_at + wrap(s["declared_feather"] - viewer, n)] = 1.0
    if s["declared_next"] >= 0:
        out[next_at + wrap(s["declared_next"] - viewer, n)] = 1.0
    for k in range(n):
        seat = wrap(viewer + k, n)
        out[live_at + k] = 1 - s["out"][seat]
        out[lives_at + k] = s["lives"][seat] * r["per_life"]
        out[num_cards_at + k] = s["num_cards"][seat]
        out[last_bid_at + k] = s["last_bid"][seat] * per_bid
        if k > 0 or all_seen:
            for c in range(s["num_cards"][seat]):
                out[cards_at + k * faces + (s["cards"][seat, c] & 31)] += 1.0  # & 31 as in wrap

    width = n + 5
    shown = min(int64(s["history_len"]), HISTORY)
    slot = (s["history_len"] - shown) % HISTORY
    for h in range(shown):
        row = at + h * width
        out[row + wrap(s["history_seat"][slot] - viewer, n)] = 1.0
        out[row + n + s["history_kind"][slot]] = 1.0
        out[row + n + 4] = s["history_bid"][slot] * per_bid
        slot = (slot + 1) % HISTORY
    at += HISTORY * width

    if s["reveal_loser"] >= 0:
        out[at] = 1.0
        out[at + 1] = min(max(s["reveal_total"] * per_bid, -1.0), 1.0)
        out[at + 2] = s["reveal_bid"] * per_bid
        out[at + 3 + wrap(s["reveal_loser"] - viewer, n)] = 1.0
        out[at + 3 + n] = s["reveal_lives"] / 2
    at += 4 + n

    if r["peek"]:
        peeked_at = at + n
        centre_at = at + 2 * n + 2
        for k in range(n):
            seat = wrap(viewer + k, n)
            out[at + k] = s["open"][seat] * r["per_life"]
            out[peeked_at + k] = s["peeked"][seat]
        out[centre_at - 2] = s["must_raise"]
        out[centre_at - 1] = s["owed"] / 2
        if s["middle"][CENTRE] >= 0 and (all_seen or sees_middle(states, i, viewer, CENTRE)):
            out[centre_at + s["middle"][CENTRE]] = 1.0
        at = centre_at + faces
    if r["trickster"]:
        used_at = at + n
        challenger_at = used_at + n
        pointed_at = challenger_at + n
        if s["holder"] >= 0:
            out[at + wrap(s["holder"] - viewer, n)] = 1.0
        if s["coyote_by"] >= 0:
            out[used_at + wrap(s["coyote_by"] - viewer, n)] = 1.0
        if s["challenger"] >= 0:
            out[challenger_at + wrap(s["challenger"] - viewer, n)] = 1.0
        # E: hidden until the reveal; what `pointed` holds at another time is public since the last one.
        if all_seen or s["phase"] != POINTING:
            for k in range(n):
                pointed = s["pointed"][wrap(viewer + k, n)]
                out[pointed_at + k] = 1.0 if pointed == 1 else -1.0 if pointed == 2 else 0.0
        at = pointed_at + n
        if s["middle"][COYOTE_CARD] >= 0 and (all_seen or sees_middle(states, i, viewer, COYOTE_CARD)):
            out[at + s["middle"][COYOTE_CARD]] = 1.0
        at += faces

    if r["odds"]:
        size = int64(r["max_bid"][n])
        known_in_play(rules, states, i, viewer, all_seen, known)
        refill = scratch[6]  # of the other counts' type: total_distribution is then compiled once
        for f in range(MAX_FACES):
            refill[f] = s["discard"][f]
        tail = reals[0, : size + 1]
        tail[:] = 0.0
        total_distribution(rules, known, pool, hidden, refill, int64(0), scratch, reals[1], tail)
        left = 0.0
        for b in range(size, 0, -1):
            left += tail[b]
            out[at + b - 1] = min(left, 1.0)  # rounding may leave a hair above 1
        at += size
    return at


@njit()
def redeal(rules: Any, states: Any, i: int, viewer: int, seed: Any, scratch: Any) -> None:
    """Draws anew, from ``seed``, what ``viewer`` cannot know: hidden cards, pointing, and all future chance."""
    s = states[i]
    s["seed"], s["game"] = seed, 0
    s["rng"] = key(key(seed, int64(0)), int64(0))
    revealed = is_revealed(states, i)
    if not revealed:
        # Its own cards and those in the middle come from the pool, or, where counting tells them, from those: they
        # are known together only. What lies where now makes no difference to what comes out.
        pool, deduced = scratch[4], scratch[5]
        unseen(rules, states, i, viewer, revealed, pool, deduced)
        for c in range(s["num_cards"][viewer]):
            told = c < s["old"][viewer]
            s["cards"][viewer, c] = take(states, i, deduced if told else pool)
        for place in range(2):
            if s["middle"][place] >= 0 and not sees_middle(states, i, viewer, place):
                s["middle"][place] = take(states, i, deduced if s["middle_old"][place] else pool)
        for f in range(MAX_FACES):
            s["pile"][f] = pool[f]
        if s["phase"] == POINTING:  # E: how others have pointed is as hidden
            for seat in range(rules[0]["num_players"]):
                if seat != viewer and s["pointed"][seat] > 0:
                    s["pointed"][seat] = 1 + below(states, i, int64(2))
    s["rng"] = key(s["rng"], int64(s["round"]))


@njit()
def take(states: Any, i: int, counts: Any) -> int:
    """Takes a uniformly random card out of a multiset, counts (MAX_FACES,); returns its face."""
    size = int64(0)
    for f in range(MAX_FACES):
        size += counts[f]
    face = pick(counts, below(states, i, size))
    counts[face] -= 1
    return face


# ---------------------------------------------------------------------------------------------------------------
# Whole arrays of tables. Types are fixed here, so that a kernel is compiled once.

_rules = types.Array(numba.from_dtype(RULES), 1, "C", readonly=True)
_states = types.Array(numba.from_dtype(STATE), 1, "C")
_tapes = types.int8[:, ::1]
_ints, _mask = types.int64[::1], types.int8[:, ::1]
_obs, _money, _flags = types.float32[:, ::1], types.float64[:, ::1], types.boolean[::1]
_probs = types.float64[::1]


@njit(allocates=True)
def workspace(rules: Any) -> Any:
    """Arrays to work in: int32 (SCRATCH, MAX_CARDS); float64 (2, at least MAX_CARDS and the largest number + 1)."""
    width = max(MAX_CARDS, int64(rules[0]["max_bid"][rules[0]["num_players"]]) + 1)
    return np.zeros((SCRATCH, MAX_CARDS), np.int32), np.zeros((2, width), np.float64)


@njit(types.int64(_rules, _states, _tapes, _ints))
def deal_many(rules: Any, states: Any, tapes: Any, starters: Any) -> int:
    """Starts the next game at each table; ``starters[i]`` -1 = random. Returns 0, or draw's code of a failure."""
    for i in range(len(states)):
        code = deal(rules, states, tapes, i, starters[i])
        if code < 0:
            return code
    return 0


@njit(types.void(_rules, _states, _mask))
def legal_mask_many(rules: Any, states: Any, masks: Any) -> None:
    """Mask of the seat to move at each table, int8 (T, A)."""
    for i in range(len(states)):
        legal_mask(rules, states, i, masks)


@njit(types.int64(_rules, _states, _ints, types.boolean, _obs))
def observe_many(rules: Any, states: Any, seats: Any, all_seen: Any, observations: Any) -> int:
    """Observation of ``seats[i]`` at each table. Returns the floats written per table."""
    size = 0
    scratch, reals = workspace(rules)
    for i in range(len(states)):
        size = observe(rules, states, i, seats[i], all_seen, scratch, reals, observations)
    return size


@njit(types.int64(_rules, _states, _tapes, _ints, types.boolean, types.boolean, _ints, _obs, _mask, _money, _flags))
def step_many(
    rules: Any,
    states: Any,
    tapes: Any,
    actions: Any,
    forfeits: Any,
    deals: Any,
    seats: Any,
    observations: Any,
    masks: Any,
    rewards: Any,
    done: Any,
) -> int:
    """Plays at each table, deals anew where a game ended (with ``deals``), and shows the seat then to move.

    ``masks`` holds the masks of the states as they are. Returns -1, or the first table whose action is illegal:
    nothing has changed then. With ``forfeits`` an illegal action within range ends the game instead (H). Returns
    draw's code where a fixed draw could not be made; the records are then to be restored.
    """
    size = masks.shape[1]
    for i in range(len(states)):
        if actions[i] < 0 or actions[i] >= size or (masks[i, actions[i]] == 0 and not forfeits):
            return i
    scratch, reals = workspace(rules)
    no = len(states) < 0  # no constant, as said above
    for i in range(len(states)):
        for seat in range(rewards.shape[1]):
            rewards[i, seat] = 0.0
        if masks[i, actions[i]] == 0:
            forfeit(states, i, rewards)
            end_game(states, i)
        else:
            code = step(rules, states, tapes, i, actions[i], rewards, scratch)
            if code < 0:
                return code
        done[i] = states[i]["over"] == 1
        if done[i] and deals:
            for place in range(tapes.shape[1]):
                tapes[i, place] = RANDOM
            deal(rules, states, tapes, i, int64(-1))
        seats[i] = states[i]["seat"]
        observe(rules, states, i, seats[i], no, scratch, reals, observations)
        legal_mask(rules, states, i, masks)
    return -1


@njit(types.void(_rules, _states, _ints, types.uint64))
def redeal_many(rules: Any, states: Any, seats: Any, seed: Any) -> None:
    """redeal at each table for ``seats[i]``, from streams of ``seed``."""
    scratch, _ = workspace(rules)
    for i in range(len(states)):
        redeal(rules, states, i, seats[i], key(seed, i), scratch)


@njit(types.void(_rules, _states, types.int64, types.int64, _probs))
def seat_distribution(rules: Any, states: Any, viewer: Any, lowest: Any, probabilities: Any) -> None:
    """total_distribution from what ``viewer`` at the first table knows."""
    scratch, reals = workspace(rules)
    pool, known = scratch[4], scratch[5]
    i = int64(0)
    all_seen = is_revealed(states, i)
    hidden = unseen(rules, states, i, viewer, all_seen, pool, known)
    known_in_play(rules, states, i, viewer, all_seen, known)
    refill = scratch[6]
    for f in range(MAX_FACES):
        refill[f] = states[i]["discard"][f]
    total_distribution(rules, known, pool, hidden, refill, lowest, scratch, reals[1], probabilities)


def check_state(game: Game, states: NDArray[np.void]) -> str | None:
    """What is wrong with a record from outside, or None. Kernels index with what a record says, and observations keep
    to their bounds only if it does, so that nothing out of range may pass."""
    s = states[0]
    n, faces = game.num_seats, len(game.config.faces)
    deck = game.rules[0]["count"].astype(int)
    number = (0, game.config.max_bid())
    flag, seat, nobody = (0, 1), (0, n - 1), (-1, n - 1)
    bounds = {
        "seat": seat, "starter": seat, "announcer": nobody, "waiting": nobody, "declared_feather": nobody,
        "declared_next": nobody, "reveal_loser": nobody, "reveal_winner": nobody, "history_seat": seat,
        "over": flag, "out": flag, "old": (0, 2), "used": flag, "double": flag, "declared_double": flag,
        "bid": number, "bid_before": number, "refused": number, "last_bid": number, "history_bid": number,
        "reveal_bid": number, "history_kind": (0, len(KINDS) - 1), "lives": (0, game.config.lives),
        "reveal_lives": (0, 2), "num_cards": (0, 2), "cards": (-1, faces - 1),
        "phase": (0, len(PHASES) - 1 if game.config.peek else OVER),
        "open": (0, game.config.lives), "peeked": flag, "pointed": (0, 2), "middle": (-1, faces - 1),
        "middle_old": flag, "holder": nobody, "coyote_by": nobody, "must_raise": flag, "challenger": nobody,
        "owed": (0, 2),
    }  # fmt: skip
    for name, (low, high) in bounds.items():
        value = np.asarray(s[name])
        if value.min() < low or value.max() > high:
            return f"{name} must be from {low} to {high}"
    # Sums that contradict each other would count what is not there.
    worn = [int(face) for k in range(n) for face in s["cards"][k, : s["num_cards"][k]]]
    if -1 in worn:
        return "a seat wears a card that is none"
    in_play = np.bincount([*worn, *(int(face) for face in s["middle"] if face >= 0)], minlength=MAX_FACES)
    if (s["pile"].astype(int) + s["discard"] + s["drawn"] + in_play != deck).any():
        return "the cards do not add up to the deck"
    if s["pile_size"] != s["pile"].sum() or s["discard_size"] != s["discard"].sum():
        return "pile_size or discard_size is wrong"
    if (s["old"] > s["num_cards"]).any() or (s["middle_old"] > (s["middle"] >= 0)).any():
        return "old or middle_old speaks of a card that is not there"
    if (s["open"] > s["lives"]).any():
        return "a seat has more open Peek cards than lives"
    peek, trickster = game.config.peek, game.config.trickster
    if not peek and (s["open"].any() or s["peeked"].any() or s["must_raise"] or (s["middle"] >= 0).any()):
        return "there are no Peek cards and no centre card in this game"
    if not trickster and (s["pointed"].any() or max(s["holder"], s["coyote_by"], s["middle"][COYOTE_CARD]) >= 0):
        return "there is no pointing and no Coyote card in this game"
    if (s["coyote_by"] >= 0) != (s["middle"][COYOTE_CARD] >= 0):
        return "coyote_by and the Coyote card's place in the middle contradict each other"
    live = int((s["out"][:n] == 0).sum())
    out_of_lives = s["lives"] == 0
    if s["live"] != live or (live < 2 and not s["over"]) or (s["out"] != out_of_lives).any():
        return "live, lives and out contradict each other"
    over = s["over"] == 1
    if s["direction"] not in (-1, 1) or over != (s["phase"] == OVER) or (not over and s["out"][s["seat"]]):
        return "phase, over, direction and seat contradict each other"
    cap = int(game.rules[0]["max_bid"][live]) if live > 1 else number[1]
    if max(s["bid"], s["bid_before"], s["refused"]) > cap and not over:
        return "a number is above the cap of the round"
    for name in ("announcer", "challenger", "holder", "waiting"):
        if not over and s[name] >= 0 and s["out"][s[name]]:
            return f"{name} is out"
    if s["phase"] in (TURN, AFTER_AGAIN) and s["announcer"] == s["seat"]:
        return "the seat to move would answer itself"
    least, most = game.return_bounds
    if not over and (s["returns"].min() < least - 1e-9 or s["returns"].max() > most + 1e-9):
        return f"returns must be from {least} to {most}"
    settling = s["phase"] in (POINTING, DISCARD)
    if settling and (s["challenger"] < 0 or s["announcer"] < 0 or s["challenger"] == s["announcer"]):
        return "nobody has challenged anybody"
    if s["phase"] == POINTING and (not trickster or s["seat"] in (s["challenger"], s["announcer"])):
        return "the seat to move has nothing to point at"
    if s["phase"] == DISCARD:
        lives, opened = int(s["lives"][s["seat"]]), int(s["open"][s["seat"]])
        if s["seat"] != s["reveal_loser"] or not 0 < opened < lives or not 0 < s["owed"] < lives:
            return "the seat to move has nothing to discard"
    if s["phase"] == AGAIN_NUMBER and (s["waiting"] < 0 or s["refused"] == 0):
        return "nobody waits for the demanded number"
    if s["bid"] > 0 and s["announcer"] < 0 and s["phase"] not in (AGAIN_NUMBER, OVER):
        return "nobody has announced the standing number"
    for name in ("declared_feather", "declared_next"):
        target = s[name]
        if target >= 0 and (over or s["out"][target] or target == s["seat"]):
            return f"{name} is no other live seat"
    if s["declared_feather"] >= 0 and s["num_cards"][s["declared_feather"]] != 1:
        return "declared_feather wears more than one card"
    mask = np.zeros((1, game.num_actions), np.int8)
    legal_mask_many(game.rules, states, mask)
    if not over and not mask.any():
        return "the seat to move has no legal action"
    if not np.isfinite(s["returns"]).all() or not 1 <= s["round"] <= MAX_ROUNDS:
        return "returns or round is wrong"
    if s["history_len"] < 0 or not 0 <= s["draws"] <= game.tape_size:
        return "history_len or draws is wrong"
    return None


complete(__name__)
