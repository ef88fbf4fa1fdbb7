"""SCOUT compiled: the record of a table and every kernel of the game, in one file on purpose.

A reader finds each rule here once; letters in comments are the sections of the rules on this game's page. Kernels
take ``(rules, states, i, ...)``: a lone record as an argument costs numba four times what an array and an index do.
Item access (``states[i]["seat"]``) works compiled and with ``NUMBA_DISABLE_JIT=1``; attribute access only compiled.

A card in a hand is one byte: its upper number times 16, plus its lower number; 0 is no card. How strong a Show is
is one number too (``strength``), so that one beats another exactly if its number is larger.

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
from .rules import HIGHER, LOWER, MAX_HAND, MAX_SEATS, MAX_SHOW, NUM_CARDS, REWARDS, TOKENS, Rules, card_of

# ---------------------------------------------------------------------------------------------------------------
# Records

# Phases: which decision is due. INSERT after a scout, SHOW_INSERT and then SHOW in a scout and show.
ORIENT, TURN, INSERT, SHOW_INSERT, SHOW, OVER = range(6)
PHASES = ("orient", "turn", "insert", "show_insert", "show", "over")
# Where everybody knows a card to be. HELD + k: in the hand of seat k, which has scouted it.
UNSEEN, SHOWN, GONE, HELD = range(4)
WIN, PLACEMENT, ROUND = range(3)  # in the order of REWARDS
ACTIONS = ("keep", "flip", "scout", "scout_show", "insert")  # kinds that have an id of their own in RULES; and `show`
ENDS, WAYS = ("left", "right"), ("as_is", "turned")  # a scout's four ids: end by end, way by way
DETAIL = 14  # cards of the own hand that an observation also shows one-hot; few hands in real play have more
SCRATCH = 9  # rows of integers that kernels work in
SWAPS = 2000  # see redeal
TRIES = 200

RULES = record_dtype(
    [
        ("num_players", "u1"),
        ("rulebook", "u1"),  # exemption == "rulebook"
        ("rounds", "u1"),
        ("stall_limit", "i2"),
        ("reward", "u1"),  # WIN, PLACEMENT or ROUND
        ("deck_size", "u1"),
        ("deal", "u1"),  # cards a seat is dealt
        ("max_hand", "u1"),
        ("max_show", "u1"),
        ("fits", "u1"),  # 1 = the observation ends with the sections about what fits together
        # First action ids; -1 = no id. `keep` is 0 and `flip` 1.
        ("show", "i2", (MAX_SHOW + 2,)),  # by length: of the Show that begins with the leftmost card; the next end last
        ("scout", "i2"),
        ("scout_show", "i2"),
        ("insert", "i2"),
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
        ("out", "u1", (MAX_SEATS,)),  # 1 = no such seat; nobody is eliminated in this game
        ("draws", "i2"),  # cards dealt in this game: the place on the tape
        # -- chance
        ("rng", "u8"),  # SplitMix64 state, keyed anew each round by (seed, game, round)
        ("deck", "u1", (NUM_CARDS,)),  # numbers of the cards not yet dealt, in no order that means anything
        ("deck_len", "u1"),
        # -- the game
        ("round", "u1"),  # 1 = first
        ("first", "u1"),  # seat that began the round
        ("points", "i2", (MAX_SEATS,)),  # of the rounds that are over
        # -- the round
        ("phase", "u1"),  # ORIENT, TURN, ...
        ("hand", "u1", (MAX_SEATS, MAX_HAND)),  # cards from left to right, 0 behind them
        ("hand_len", "u1", (MAX_SEATS,)),
        ("captured", "u1", (MAX_SEATS,)),
        ("tokens", "i2", (MAX_SEATS,)),  # Scout tokens got; two seats: those left to spend
        ("scout_show", "u1", (MAX_SEATS,)),  # 1 = scout and show is still to be used
        ("active", "u1", (MAX_SHOW,)),  # the active Show from left to right, 0 behind it
        ("active_len", "u1"),
        ("owner", "i1"),  # seat that made the last Show, also when it is scouted away; -1 = none yet
        ("scouts", "u1"),  # turns since then: all were scouts
        ("stall", "i2"),  # turns since a card was captured, or since the round began
        ("inserting", "u1"),  # the card that the seat to move has taken and must insert; 0 = none
        ("place", "u1", (NUM_CARDS,)),  # UNSEEN, SHOWN, GONE or HELD + seat
        ("spent", "u1", (NUM_CARDS,)),  # two seats: bit k = seat k knows that the card was in the first round
    ]
)


def pack(rules: Rules, fits: bool, first_ids: dict[str, int]) -> NDArray[np.void]:
    """The rules as one read-only record, shape (1,). ``first_ids``: first id of `scout`, `scout_show` (if there is
    one), `insert`, and of the Shows of each length as `show_1`, ...; the end of the last is that of `scout`."""
    record = np.zeros(1, RULES)
    row = record[0]
    row["num_players"], row["rounds"], row["stall_limit"] = rules.num_players, rules.rounds, rules.stall_limit
    row["rulebook"] = rules.exemption == "rulebook"
    row["reward"] = REWARDS.index(rules.reward)
    row["deck_size"], row["deal"] = rules.deck_size, rules.deal
    row["max_hand"], row["max_show"], row["fits"] = rules.max_hand, rules.max_show, fits
    row["show"] = first_ids["scout"]
    for length in range(1, rules.max_show + 1):
        row["show"][length] = first_ids[f"show_{length}"]
    for name in ("scout", "scout_show", "insert"):
        row[name] = first_ids.get(name, -1)
    record.flags.writeable = False
    return record


# ---------------------------------------------------------------------------------------------------------------
# Cards


@njit(inline=True)
def turn(card: int) -> int:
    """The card upside down."""
    return ((card & 15) << 4) | (card >> 4)


@njit(inline=True)
def number_of(card: int) -> int:
    """The number of a card, either way up, as in rules.card_of."""
    high, low = max(card >> 4, card & 15), min(card >> 4, card & 15)
    return (high - 1) * (high - 2) // 2 + low - 1


@njit(inline=True)
def lay(card: int, way: int) -> int:
    """Card number ``card`` with its smaller (way 0) or its larger number (way 1) up."""
    low, high = int64(LOWER[card]), int64(HIGHER[card])
    return (high << 4) | low if way else (low << 4) | high


@njit(inline=True)
def strength(length: int, equal: int, least: int) -> int:
    """How strong a Show is: more cards, then equal before run, then the smallest number. A single card has no kind.
    ``equal``: 1 = two cards or more, all equal."""
    return (length << 5) | (equal << 4) | least


@njit(inline=True)
def active_strength(states: Any, i: int, start: int, stop: int) -> int:
    """Strength of the cards ``start..stop-1`` of the active Show; 0 where there are none, which any Show beats."""
    if stop <= start:
        return 0
    a = int64(states[i]["active"][start]) >> 4
    b = int64(states[i]["active"][stop - 1]) >> 4
    return strength(stop - start, int64(stop - start > 1 and a == b), min(a, b))


@njit(inline=True)
def lengths_from(states: Any, i: int, seat: int, equal: Any, rise: Any, fall: Any) -> int:
    """For each place of the hand, how many equal, rising and falling cards begin there. Returns the strength of the
    best Show in the hand."""
    s = states[i]
    best = 0
    after = int64(0)
    e = up = down = int64(0)
    for p in range(int64(s["hand_len"][seat]) - 1, -1, -1):
        value = int64(s["hand"][seat, p]) >> 4
        e = e + 1 if value == after else int64(1)
        up = up + 1 if value == after - 1 else int64(1)
        down = down + 1 if value == after + 1 and after > 0 else int64(1)
        equal[p], rise[p], fall[p] = e, up, down
        best = max(best, strength(e, int64(e > 1), value), strength(up, int64(0), value))
        best = max(best, strength(down, int64(0), value - down + 1))
        after = value
    return best


@njit(inline=True)
def lengths_to(states: Any, i: int, seat: int, equal: Any, rise: Any, fall: Any) -> None:
    """For each place of the hand, how many equal, rising and falling cards end there."""
    s = states[i]
    before = int64(0)
    e = up = down = int64(0)
    for p in range(s["hand_len"][seat]):
        value = int64(s["hand"][seat, p]) >> 4
        e = e + 1 if value == before else int64(1)
        up = up + 1 if value == before + 1 and before > 0 else int64(1)
        down = down + 1 if value == before - 1 else int64(1)
        equal[p], rise[p], fall[p] = e, up, down
        before = value


@njit(inline=True)
def joined(states: Any, i: int, seat: int, p: int, value: int, scratch: Any) -> int:
    """Strength of the best Show that holds a card of this number inserted at place ``p``. ``scratch``: rows 0..2 from
    lengths_from, 3..5 from lengths_to."""
    s = states[i]
    before = int64(s["hand"][seat, p - 1]) >> 4 if p > 0 else int64(-1)
    after = int64(s["hand"][seat, p]) >> 4 if p < s["hand_len"][seat] else int64(-1)
    left = int64(scratch[3, p - 1]) if before == value else int64(0)
    right = int64(scratch[0, p]) if after == value else int64(0)
    together = left + 1 + right
    best = strength(together, int64(together > 1), value)
    left = int64(scratch[4, p - 1]) if before > 0 and before == value - 1 else int64(0)
    right = int64(scratch[1, p]) if after == value + 1 else int64(0)
    best = max(best, strength(left + 1 + right, int64(0), value - left))
    left = int64(scratch[5, p - 1]) if before == value + 1 else int64(0)
    right = int64(scratch[2, p]) if after > 0 and after == value - 1 else int64(0)
    return max(best, strength(left + 1 + right, int64(0), value - right))


# ---------------------------------------------------------------------------------------------------------------
# Rounds


@njit(inline=True)
def wrap(seat: int, n: int) -> int:
    """``seat`` modulo n, for -n <= seat < 2n."""
    if seat >= n:
        seat -= n
    if seat < 0:
        seat += n
    return seat & 7  # says that it is not negative: indices made of it need no test for counting from the end


@njit()
def draw(states: Any, tapes: Any, i: int) -> int:
    """Deals one card, which lies either way up. Returns it as a byte, -2 - k if the tape demands outcome k, whose card
    is not left, or STOPPED. Outcome 2c is card c with its smaller number up, 2c + 1 with its larger one."""
    s = states[i]
    # The generator moves on for a fixed card too, so that what comes after does not depend on what was fixed.
    drawn = below(states, i, 2 * int64(s["deck_len"]))
    at, way = drawn >> 1, drawn & 1
    place = int64(s["draws"])
    if place < tapes.shape[1]:
        if tapes[i, place] == STOP:
            return STOPPED
        if tapes[i, place] >= 0:
            way = int64(tapes[i, place]) & 1
            at = int64(0)
            while at < s["deck_len"] and s["deck"][at] != tapes[i, place] >> 1:
                at += 1
            if at == s["deck_len"]:
                return -2 - int64(tapes[i, place])
        tapes[i, place] = 2 * s["deck"][at] + way
    card = int64(s["deck"][at])
    s["draws"] += 1
    s["deck_len"] -= 1
    s["deck"][at] = s["deck"][s["deck_len"]]
    s["deck"][s["deck_len"]] = 0
    return lay(card, way)


@njit()
def begin_round(rules: Any, states: Any, tapes: Any, i: int, first: int) -> int:
    """Deals the hands, seat by seat from seat 0 and each from left to right. Returns 0, or draw's code."""
    s = states[i]
    r = rules[0]
    s["round"] += 1
    s["rng"] = key(key(s["seed"], s["game"]), int64(s["round"]))
    two = r["num_players"] == 2
    if not two or s["round"] == 1:  # two seats play their second round with the other half of the deck
        for card in range(NUM_CARDS):
            s["deck"][card] = card if card < r["deck_size"] else 0
        s["deck_len"] = r["deck_size"]
    for card in range(NUM_CARDS):
        s["place"][card] = UNSEEN
    for place in range(MAX_SHOW):
        s["active"][place] = 0
    s["phase"], s["first"], s["seat"] = ORIENT, first, first
    s["active_len"], s["owner"], s["scouts"], s["stall"], s["inserting"] = 0, -1, 0, 0, 0
    for seat in range(r["num_players"]):
        s["captured"][seat] = 0
        s["tokens"][seat] = TOKENS if two else 0
        s["scout_show"][seat] = 0 if two else 1
        s["hand_len"][seat] = 0
        for p in range(MAX_HAND):
            s["hand"][seat, p] = 0
    for seat in range(r["num_players"]):
        for p in range(r["deal"]):
            card = draw(states, tapes, i)
            if card < 0:
                return card
            s["hand"][seat, p] = card
            s["hand_len"][seat] = p + 1
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
        s["points"][seat] = 0
        s["out"][seat] = 0 if seat < r["num_players"] else 1
    for card in range(NUM_CARDS):
        s["spent"][card] = 0
    s["over"], s["round"], s["draws"] = 0, 0, 0
    return begin_round(rules, states, tapes, i, first)


@njit()
def end_round(rules: Any, states: Any, tapes: Any, i: int, spared: int, rewards: Any) -> int:
    """G "Score of a round", then the next round or the end of the game. ``spared``: a seat that pays nothing for its
    hand; -1 = none. Returns 0, or draw's code."""
    s = states[i]
    r = rules[0]
    n = int64(r["num_players"])
    total = 0
    for seat in range(n):
        total += s["captured"][seat] + s["tokens"][seat] - (0 if seat == spared else int64(s["hand_len"][seat]))
    for seat in range(n):
        gained = s["captured"][seat] + s["tokens"][seat] - (0 if seat == spared else int64(s["hand_len"][seat]))
        s["points"][seat] += gained
        if r["reward"] == ROUND:
            pay(states, i, rewards, seat, (gained * n - total) / (10.0 * n))
    if s["round"] == r["rounds"]:
        end_game(states, i)
        if r["reward"] != ROUND:
            for seat in range(n):
                more = equal = 0  # seats with more and with as many points, itself included
                top = 0  # with as many points as the most
                for other in range(n):
                    more += int64(s["points"][other] > s["points"][seat])
                    equal += int64(s["points"][other] == s["points"][seat])
                    best = True
                    for third in range(n):
                        best = best and s["points"][third] <= s["points"][other]
                    top += int64(best)
                if r["reward"] == PLACEMENT:
                    pay(states, i, rewards, seat, 1.0 - (2.0 * more + equal - 1.0) / (n - 1))
                elif top < n:
                    pay(states, i, rewards, seat, 1.0 / top if more == 0 else -1.0 / (n - top))
        return 0
    if n == 2:  # each knows what it has seen of the first half of the deck; hands left are not shown
        for card in range(NUM_CARDS):
            s["spent"][card] = 3 if s["place"][card] != UNSEEN else 0
        for seat in range(n):
            for p in range(s["hand_len"][seat]):
                s["spent"][number_of(int64(s["hand"][seat, p]))] |= 1 << seat
    return begin_round(rules, states, tapes, i, wrap(int64(s["first"]) + 1, n))


@njit(inline=True)
def end_game(states: Any, i: int) -> None:
    """The cards stay where they are until the next deal."""
    states[i]["over"] = 1
    states[i]["phase"] = OVER


# ---------------------------------------------------------------------------------------------------------------
# Turns


@njit(inline=True)
def is_stuck(states: Any, i: int, seat: int, scratch: Any) -> bool:
    """Two seats: whether ``seat`` can neither show nor scout."""
    s = states[i]
    if s["active_len"] == 0 or s["tokens"][seat] > 0:
        return False
    best = lengths_from(states, i, seat, scratch[0], scratch[1], scratch[2])
    return best <= active_strength(states, i, int64(0), int64(s["active_len"]))


@njit()
def end_turn(rules: Any, states: Any, tapes: Any, i: int, captured: int, rewards: Any, scratch: Any) -> int:
    """Whether the round ends after a turn of the seat to move, and who is next. Returns 0, or draw's code."""
    s = states[i]
    r = rules[0]
    n = int64(r["num_players"])
    seat = int64(s["seat"])
    s["stall"] = 0 if captured > 0 else s["stall"] + 1
    s["phase"] = TURN
    owner = int64(s["owner"]) if r["rulebook"] else int64(-1)
    if s["hand_len"][seat] == 0:  # (i)
        return end_round(rules, states, tapes, i, int64(-1), rewards)
    if n > 2:
        if s["scouts"] == n - 1:  # (ii)
            return end_round(rules, states, tapes, i, owner, rewards)
        s["seat"] = wrap(seat + 1, n)
    else:
        if s["scouts"] == 0:  # after a scout the same seat plays again
            s["seat"] = 1 - seat
        if is_stuck(states, i, int64(s["seat"]), scratch):  # (ii')
            return end_round(rules, states, tapes, i, owner, rewards)
    if s["stall"] >= r["stall_limit"]:
        return end_round(rules, states, tapes, i, int64(-1), rewards)
    return 0


@njit()
def show(rules: Any, states: Any, tapes: Any, i: int, start: int, length: int, rewards: Any, scratch: Any) -> int:
    """The seat to move shows ``length`` cards of its hand from ``start`` on, and captures what they beat."""
    s = states[i]
    seat = int64(s["seat"])
    captured = int64(s["active_len"])
    for p in range(captured):
        s["place"][number_of(int64(s["active"][p]))] = GONE
        s["active"][p] = 0
    s["captured"][seat] += captured
    held = int64(s["hand_len"][seat])
    for p in range(length):
        card = int64(s["hand"][seat, start + p])
        s["active"][p] = card
        s["place"][number_of(card)] = SHOWN
    for p in range(start, held):
        s["hand"][seat, p] = s["hand"][seat, p + length] if p + length < held else 0
    s["hand_len"][seat] = held - length
    s["active_len"], s["owner"], s["scouts"] = length, seat, 0
    return end_turn(rules, states, tapes, i, captured, rewards, scratch)


@njit()
def take(rules: Any, states: Any, i: int, choice: int) -> None:
    """The seat to move takes a card of the active Show: ``choice`` is 2 * end + way, in the order of ENDS and WAYS."""
    s = states[i]
    seat = int64(s["seat"])
    last = int64(s["active_len"]) - 1
    card = int64(s["active"][last if choice >= 2 else 0])
    if choice < 2:
        for p in range(last):
            s["active"][p] = s["active"][p + 1]
    s["active"][last] = 0
    s["active_len"] = last
    s["place"][number_of(card)] = HELD + seat
    s["inserting"] = turn(card) if choice & 1 else card
    if rules[0]["num_players"] == 2:
        s["tokens"][seat] -= 1  # it leaves play
    else:
        s["tokens"][s["owner"]] += 1


@njit(inline=True)
def step(rules: Any, states: Any, tapes: Any, i: int, action: int, rewards: Any, scratch: Any) -> int:
    """Plays a legal ``action`` of the seat to move; adds what it pays to ``rewards[i]``. Returns 0, or draw's code."""
    s = states[i]
    r = rules[0]
    n = int64(r["num_players"])
    seat = int64(s["seat"])
    if action >= r["insert"]:
        at = action - r["insert"]
        for p in range(int64(s["hand_len"][seat]), at, -1):
            s["hand"][seat, p] = s["hand"][seat, p - 1]
        s["hand"][seat, at] = s["inserting"]
        s["hand_len"][seat] += 1
        s["inserting"] = 0
        if s["phase"] == SHOW_INSERT:
            s["phase"] = SHOW
            return 0
        s["scouts"] += 1
        return end_turn(rules, states, tapes, i, int64(0), rewards, scratch)
    if action >= r["scout"]:
        if r["scout_show"] >= 0 and action >= r["scout_show"]:
            s["scout_show"][seat] = 0
            take(rules, states, i, action - r["scout_show"])
            s["phase"] = SHOW_INSERT
        else:
            take(rules, states, i, action - r["scout"])
            s["phase"] = INSERT
        return 0
    if action >= r["show"][1]:
        length = int64(1)
        while action >= r["show"][length + 1]:
            length += 1
        return show(rules, states, tapes, i, action - r["show"][length], length, rewards, scratch)
    if action == 1:  # flip: the cards stay in their order
        for p in range(s["hand_len"][seat]):
            s["hand"][seat, p] = turn(int64(s["hand"][seat, p]))
    s["seat"] = wrap(seat + 1, n)
    if s["seat"] == s["first"]:
        s["phase"] = TURN
    return 0


@njit(inline=True)
def legal_mask(rules: Any, states: Any, i: int, masks: Any, scratch: Any) -> None:
    """Writes the legal actions of the seat to move into ``masks[i]``, int8 (A,). All zero when the game is over.
    To work in: ``scratch``, int32 (SCRATCH, NUM_CARDS + 1)."""
    s = states[i]
    r = rules[0]
    mask = masks[i]
    mask[:] = 0
    phase = s["phase"]
    seat = int64(s["seat"])
    held = int64(s["hand_len"][seat])
    if phase == OVER:
        return
    if phase == ORIENT:
        mask[0] = 1
        mask[1] = 1
        return
    if phase == INSERT:
        mask[r["insert"] : r["insert"] + held + 1] = 1
        return
    shown = int64(s["active_len"])
    stands = active_strength(states, i, int64(0), shown)
    equal, rise, fall = scratch[0], scratch[1], scratch[2]
    best = lengths_from(states, i, seat, equal, rise, fall)
    if phase == SHOW_INSERT:
        # A place is legal if a Show is then: with the card, or of the cards on either side of it, which it parts.
        lengths_to(states, i, seat, scratch[3], scratch[4], scratch[5])
        value = int64(s["inserting"]) >> 4
        right = scratch[6]  # strength of the best Show from each place on
        right[held] = 0
        for p in range(held - 1, -1, -1):
            number = int64(s["hand"][seat, p]) >> 4
            here = max(strength(equal[p], int64(equal[p] > 1), number), strength(rise[p], int64(0), number))
            right[p] = max(right[p + 1], here, strength(fall[p], int64(0), number - fall[p] + 1))
        left = int64(0)  # and of the best one before it
        for p in range(held + 1):
            if p > 0:
                number = int64(s["hand"][seat, p - 1]) >> 4
                e, up, down = int64(scratch[3, p - 1]), int64(scratch[4, p - 1]), int64(scratch[5, p - 1])
                left = max(left, strength(e, int64(e > 1), number), strength(up, int64(0), number - up + 1))
                left = max(left, strength(down, int64(0), number))
            if max(left, right[p], joined(states, i, seat, p, value, scratch)) > stands:
                mask[r["insert"] + p] = 1
        return

    # Shows: those with more cards beat the active one by that, those with as many by their kind or number.
    if best > stands:
        for p in range(held):
            longest = max(equal[p], rise[p], fall[p])
            for length in range(shown + 1, longest + 1):
                mask[r["show"][length] + p] = 1
            if 0 < shown <= longest:
                number = int64(s["hand"][seat, p]) >> 4
                beats = shown <= equal[p] and strength(shown, int64(shown > 1), number) > stands
                beats = beats or (shown <= rise[p] and strength(shown, int64(0), number) > stands)
                beats = beats or (shown <= fall[p] and strength(shown, int64(0), number - shown + 1) > stands)
                if beats:
                    mask[r["show"][shown] + p] = 1
    if phase == SHOW or shown == 0:
        return

    # Scouts. A single card has one end, the left.
    ends = 1 if shown == 1 else 2
    if r["num_players"] > 2 or s["tokens"][seat] > 0:
        mask[r["scout"] : r["scout"] + 2 * ends] = 1
    if s["scout_show"][seat]:
        ready = False
        for end in range(ends):
            rest = active_strength(states, i, int64(1 - end), shown - end)
            for way in range(2):
                legal = best > rest  # then the card goes to an end of the hand, where it parts nothing
                if not legal:
                    if not ready:
                        lengths_to(states, i, seat, scratch[3], scratch[4], scratch[5])
                        ready = True
                    card = int64(s["active"][shown - 1 if end else 0])
                    value = (card >> 4) if way == 0 else (card & 15)
                    for p in range(held + 1):
                        legal = legal or joined(states, i, seat, p, value, scratch) > rest
                if legal:
                    mask[r["scout_show"] + 2 * end + way] = 1


# ---------------------------------------------------------------------------------------------------------------
# What a seat knows


@njit(inline=True)
def compare(out: Any, at: int, number: int, following: int) -> None:
    """Marks at ``out[at]``.. whether two neighbours' numbers are equal, rise by one, or fall by one."""
    rise = following - number  # without branches: which it is cannot be predicted, and this is done a dozen times
    out[at] = int64(rise == 0)
    out[at + 1] = int64(rise == 1)
    out[at + 2] = int64(rise == -1)


@njit(inline=True)
def observe(rules: Any, states: Any, i: int, viewer: int, all_seen: bool, observations: Any, scratch: Any) -> int:
    """Writes what ``viewer`` may know into ``observations[i]``, float32 (L,), in the order of ``layout_of``.

    ``all_seen``: show where every card is (the global state). To work in: ``scratch``, int32 (SCRATCH, NUM_CARDS + 1).
    Returns the number of floats written.
    """
    s = states[i]
    r = rules[0]
    n = int64(r["num_players"])
    out = observations[i]
    out[:] = 0.0
    phase = int64(s["phase"])
    at = int64(0)
    if s["over"] == 0:
        out[at + wrap(int64(s["seat"]) - viewer, n)] = 1.0
    at += n
    out[at + phase] = 1.0
    at += len(PHASES)
    # The own hand
    held = int64(s["hand_len"][viewer])
    upper_at = at + 2 * int64(r["max_hand"])
    pairs_at = upper_at + 10 * DETAIL
    turned_at = pairs_at + 3 * (DETAIL - 1)
    for p in range(held):
        card = int64(s["hand"][viewer, p])
        out[at + 2 * p] = (card >> 4) * 0.1
        out[at + 2 * p + 1] = (card & 15) * 0.1
        if p < DETAIL:
            out[upper_at + 10 * p + (card >> 4) - 1] = 1.0
        if 0 < p < DETAIL:
            compare(out, pairs_at + 3 * (p - 1), int64(s["hand"][viewer, p - 1]) >> 4, card >> 4)
        if p > 0 and phase == ORIENT:
            compare(out, turned_at + 3 * (p - 1), int64(s["hand"][viewer, p - 1]) & 15, card & 15)
    at = turned_at + 3 * (int64(r["deal"]) - 1)
    # The active Show
    shown = int64(s["active_len"])
    left_at = at + 2 * int64(r["max_show"])
    for p in range(shown):
        card = int64(s["active"][p])
        out[at + 2 * p] = (card >> 4) * 0.1
        out[at + 2 * p + 1] = (card & 15) * 0.1
    at = left_at
    for end in range(2 if shown > 0 else 0):
        card = int64(s["active"][shown - 1 if end else 0])
        out[at + 20 * end + (card >> 4) - 1] = 1.0
        out[at + 20 * end + 10 + (card & 15) - 1] = 1.0
    at += 40
    if shown > 1 and s["active"][0] >> 4 == s["active"][1] >> 4:
        out[at] = 1.0
    at += 1
    if s["owner"] >= 0:
        out[at + wrap(int64(s["owner"]) - viewer, n)] = 1.0
    at += n
    # Seats
    captured_at = at + n
    tokens_at = captured_at + n
    points_at = tokens_at + n
    scout_show_at = points_at + n
    for k in range(n):
        seat = wrap(viewer + k, n)
        out[at + k] = s["hand_len"][seat] / 10
        out[captured_at + k] = s["captured"][seat] / 10
        out[tokens_at + k] = s["tokens"][seat] / 10
        out[points_at + k] = s["points"][seat] / 10
    at = scout_show_at
    if n > 2:
        for k in range(n):
            out[at + k] = s["scout_show"][wrap(viewer + k, n)]
        at += n
    out[at + wrap(int64(s["first"]) - viewer, n)] = 1.0
    at += n
    out[at + int64(s["round"]) - 1] = 1.0
    at += int64(r["rounds"])
    out[at] = s["scouts"] / n
    out[at + 1] = (r["stall_limit"] - s["stall"]) / r["stall_limit"]
    at += 2
    if s["inserting"]:
        card = int64(s["inserting"])
        out[at + (card >> 4) - 1] = 1.0
        out[at + (card & 15) - 1] = 1.0
        if s["seat"] == viewer:  # which way up is the seat's own business
            out[at + 10 + (card >> 4) - 1] = 1.0
    at += 20
    # Cards: one row a card, a column for each seat that has it, the viewer first; then the Show; then gone.
    width = n + 2
    column = scratch[0]  # by place; again without branches
    column[UNSEEN], column[SHOWN], column[GONE] = n + 1, n, n + 1
    for k in range(n):
        column[HELD + wrap(viewer + k, n)] = k
    for card in range(r["deck_size"]):
        place = int64(s["place"][card])
        spent = (int64(s["spent"][card]) >> viewer) & 1
        out[at + column[place]] = int64(place != UNSEEN) | spent
        at += width
    at -= int64(r["deck_size"]) * width
    for k in range(n if all_seen else 1):
        seat = wrap(viewer + k, n)
        for p in range(s["hand_len"][seat]):
            out[at + number_of(int64(s["hand"][seat, p])) * width + k] = 1.0
    at += int64(r["deck_size"]) * width
    if r["fits"]:
        at = observe_fits(rules, states, i, viewer, out, at, scratch)
    return at


@njit(inline=True)
def parts_of(cards: Any, held: int, parts: Any) -> int:
    """The fewest neighbouring Shows that a row of cards can be parted into. To work in: ``parts``, a place more than
    there are cards. Taking the longest Show that ends at each card is best, since fewer cards never need more Shows."""
    before = int64(-9)
    equal = rise = fall = int64(0)
    parts[0] = 0
    for p in range(held):
        number = int64(cards[p]) >> 4
        equal = equal + 1 if number == before else int64(1)
        rise = rise + 1 if number == before + 1 else int64(1)
        fall = fall + 1 if number == before - 1 else int64(1)
        parts[p + 1] = parts[p + 1 - max(equal, rise, fall)] + 1
        before = number
    return int64(parts[held])


@njit(inline=True)
def alone_of(cards: Any, held: int, alone: Any) -> int:
    """The fewest cards that stand alone when a row of cards is parted into neighbouring Shows. To work in: ``alone``, a
    place more than there are cards."""
    before = int64(-9)
    equal = rise = fall = int64(0)
    alone[0] = 0
    for p in range(held):
        number = int64(cards[p]) >> 4
        equal = equal + 1 if number == before else int64(1)
        rise = rise + 1 if number == before + 1 else int64(1)
        fall = fall + 1 if number == before - 1 else int64(1)
        fewest = int64(alone[p]) + 1
        for length in range(2, max(equal, rise, fall) + 1):
            fewest = min(fewest, int64(alone[p + 1 - length]))
        alone[p + 1] = fewest
        before = number
    return int64(alone[held])


@njit()
def observe_fits(rules: Any, states: Any, i: int, viewer: int, out: Any, at: int, scratch: Any) -> int:
    """The sections of ``fits``: what follows from the own hand by the rules, which a network would have to learn."""
    s = states[i]
    held, shown = int64(s["hand_len"][viewer]), int64(s["active_len"])
    cards, parts = scratch[6], scratch[7]
    best = lengths_from(states, i, viewer, scratch[0], scratch[1], scratch[2])
    stands = active_strength(states, i, int64(0), shown)
    for k in range(2):
        show = stands if k else best
        out[at + 3 * k] = (show >> 5) * 0.1
        out[at + 3 * k + 1] = (show >> 4) & 1
        out[at + 3 * k + 2] = (show & 15) * 0.1
    at += 6
    for p in range(held):
        cards[p] = s["hand"][viewer, p]
    out[at] = parts_of(cards, held, parts) * 0.1
    if s["phase"] == ORIENT:
        for p in range(held):
            cards[p] = turn(int64(s["hand"][viewer, p]))
        out[at + 1] = parts_of(cards, held, parts) * 0.1
    at += 2
    scout_at = at + 2 * (DETAIL + 1)
    own = s["seat"] == viewer and s["over"] == 0
    if own and s["inserting"]:
        lengths_to(states, i, viewer, scratch[3], scratch[4], scratch[5])
        value = int64(s["inserting"]) >> 4
        for p in range(min(held, DETAIL) + 1):
            out[at + 2 * p] = (joined(states, i, viewer, p, value, scratch) >> 5) * 0.1
            for k in range(held + 1):
                cards[k] = s["hand"][viewer, k] if k < p else s["inserting"] if k == p else s["hand"][viewer, k - 1]
            out[at + 2 * p + 1] = parts_of(cards, held + 1, parts) * 0.1
    elif own and s["phase"] == TURN and shown > 0:
        lengths_to(states, i, viewer, scratch[3], scratch[4], scratch[5])
        for choice in range(2 if shown == 1 else 4):
            card = int64(s["active"][shown - 1 if choice >= 2 else 0])
            card = turn(card) if choice & 1 else card
            longest, fewest = int64(0), int64(NUM_CARDS)
            for p in range(held + 1):
                longest = max(longest, joined(states, i, viewer, p, card >> 4, scratch) >> 5)
                for k in range(held + 1):
                    cards[k] = s["hand"][viewer, k] if k < p else card if k == p else s["hand"][viewer, k - 1]
                fewest = min(fewest, parts_of(cards, held + 1, parts))
            out[scout_at + 2 * choice] = longest * 0.1
            out[scout_at + 2 * choice + 1] = fewest * 0.1
    return observe_rests(rules, states, i, viewer, out, scout_at + 8, scratch)


@njit()
def observe_rests(rules: Any, states: Any, i: int, viewer: int, out: Any, at: int, scratch: Any) -> int:
    """What would be left of the own hand after each Show of its first cards, whether that beats anything or not."""
    hand = states[i]["hand"][viewer]
    held, most = int64(states[i]["hand_len"][viewer]), int64(rules[0]["max_show"])
    cards, work = scratch[6], scratch[7]
    first = min(held, DETAIL)
    for start in range(first):
        equal = rise = fall = True
        row = at + 2 * start  # of the Show of this length; ids go by length, then by place
        for length in range(1, min(most, first - start) + 1):
            if length > 1:
                step = (int64(hand[start + length - 1]) >> 4) - (int64(hand[start + length - 2]) >> 4)
                equal, rise, fall = equal and step == 0, rise and step == 1, fall and step == -1
                if not (equal or rise or fall):
                    break
            for p in range(held - length):
                cards[p] = hand[p] if p < start else hand[p + length]
            out[row] = (1 + parts_of(cards, held - length, work)) * 0.1
            out[row + 1] = alone_of(cards, held - length, work) * 0.1
            row += 2 * (DETAIL + 1 - length)
    return at + most * (2 * DETAIL + 1 - most)


@njit()
def has_action(masks: Any, i: int) -> bool:
    """Whether a mask has an action in it."""
    found = False
    for action in range(masks.shape[1]):
        found = found or masks[i, action] == 1
    return found


@njit()
def outside(rules: Any, states: Any, i: int, viewer: int, cards: Any) -> int:
    """Two seats: the cards that the other one could hold for all that ``viewer`` knows, but does not; written into
    ``cards``. Returns how many."""
    s = states[i]
    if s["round"] == 1:
        for k in range(s["deck_len"]):
            cards[k] = s["deck"][k]
        return int64(s["deck_len"])
    size = int64(0)
    for card in range(rules[0]["deck_size"]):
        if s["spent"][card] == 1 << (1 - viewer):
            cards[size] = card
            size += 1
    return size


@njit()
def exchange(rules: Any, states: Any, i: int, viewer: int, masks: Any, scratch: Any) -> None:
    """Exchanges cards hidden from ``viewer`` at random, SWAPS times, but where the seat to move, another one, would
    have no legal action left. Each exchange is as likely as its reverse, so that all deals become equally likely."""
    s = states[i]
    n = int64(rules[0]["num_players"])
    total = int64(0)
    for seat in range(n):
        total += 0 if seat == viewer else int64(s["hand_len"][seat])
    free = outside(rules, states, i, viewer, scratch[7]) if n == 2 else int64(0)
    for _ in range(SWAPS):
        # Two hidden cards, by seat and place.
        seats, places = scratch[8, :2], scratch[8, 2:4]
        for which in range(2):
            q = below(states, i, total)
            seat = int64(0)
            while seat == viewer or q >= s["hand_len"][seat]:
                q -= 0 if seat == viewer else int64(s["hand_len"][seat])
                seat += 1
            seats[which], places[which] = seat, q
        a, b = int64(s["hand"][seats[0], places[0]]), int64(s["hand"][seats[1], places[1]])
        inserting = int64(s["inserting"])
        hidden = s["place"][number_of(a)] == UNSEEN
        kind = below(states, i, int64(4))
        k = below(states, i, free) if free > 0 else int64(0)
        swapped = False
        if kind == 0:
            s["hand"][seats[0], places[0]] = turn(a)
        elif kind == 1 and inserting:
            s["inserting"] = turn(inserting)
        elif kind == 2 and free > 0 and hidden:
            s["hand"][seats[0], places[0]] = lay(int64(scratch[7, k]), below(states, i, int64(2)))
            swapped = True
        elif kind == 3 and (seats[0] == seats[1] or (hidden and s["place"][number_of(b)] == UNSEEN)):
            s["hand"][seats[0], places[0]], s["hand"][seats[1], places[1]] = b, a
        legal_mask(rules, states, i, masks, scratch)
        if not has_action(masks, i):
            s["hand"][seats[1], places[1]] = b
            s["hand"][seats[0], places[0]] = a
            s["inserting"] = inserting
        elif swapped:
            if s["round"] == 1:
                s["deck"][k] = number_of(a)
            else:
                s["spent"][number_of(a)], s["spent"][scratch[7, k]] = 1 << (1 - viewer), 0
            scratch[7, k] = number_of(a)


@njit()
def redeal(rules: Any, states: Any, i: int, viewer: int, seed: Any, masks: Any, scratch: Any, before: Any) -> None:
    """Draws anew, from ``seed``, what ``viewer`` cannot know: which cards the others hold but for those they have
    scouted, their order and orientation, the cards of two seats' other round, and all future chance.

    One thing is known of the seat to move, if it is not the viewer: it has a legal action (in the middle of a scout
    and show, and of two seats without tokens, that says something about its hand). So deals in which it has none are
    drawn again, up to TRIES times; where that finds none, random exchanges of hidden cards, SWAPS of them, start from
    the true deal and keep to those that leave a legal action: both sample uniformly from what is possible, the second
    in the limit of many exchanges. To work in: ``masks`` (1, A), ``before``, one record.
    """
    s = states[i]
    r = rules[0]
    n = int64(r["num_players"])
    s["seed"], s["game"] = seed, 0
    s["rng"] = key(key(seed, int64(0)), int64(0))
    before[0] = states[i]
    mover = int64(s["seat"])
    for _ in range(TRIES):
        # The pool: what the viewer has never seen. Known cards stay with who has scouted them.
        pool = scratch[7]
        size = int64(0)
        for card in range(r["deck_size"]):
            if s["place"][card] == UNSEEN and not (s["spent"][card] >> viewer) & 1:
                pool[size] = card
                size += 1
        for p in range(s["hand_len"][viewer]):
            own = number_of(int64(s["hand"][viewer, p]))
            for k in range(size):
                if pool[k] == own:
                    size -= 1
                    pool[k] = pool[size]
                    break
        for other in range(n):
            if other == viewer:
                continue
            held = int64(s["hand_len"][other])
            at = int64(0)
            for card in range(r["deck_size"]):
                inserting = s["inserting"] > 0 and number_of(int64(s["inserting"])) == card
                if s["place"][card] == HELD + other and not inserting:
                    s["hand"][other, at] = card
                    at += 1
            while at < held:
                k = below(states, i, size)
                s["hand"][other, at] = pool[k]
                at += 1
                size -= 1
                pool[k] = pool[size]
            for p in range(held - 1, -1, -1):  # the card numbers so far, in random order and either way up
                k = below(states, i, p + 1)
                card = int64(s["hand"][other, k])
                s["hand"][other, k] = s["hand"][other, p]
                s["hand"][other, p] = lay(card, below(states, i, int64(2)))
        if s["inserting"] and mover != viewer:  # laid anew, not turned: what comes of a seed must not tell how it lay
            s["inserting"] = lay(number_of(int64(s["inserting"])), below(states, i, int64(2)))
        if n == 2:  # what is left are the cards of the other round
            if s["round"] == 1:
                for k in range(size):
                    s["deck"][k] = pool[k]
            else:
                for k in range(size):
                    s["spent"][pool[k]] = 1 << (1 - viewer)
                for p in range(s["hand_len"][1 - viewer]):
                    s["spent"][number_of(int64(s["hand"][1 - viewer, p]))] = 0
        legal_mask(rules, states, i, masks, scratch)
        if s["over"] or mover == viewer or has_action(masks, i):
            s["rng"] = key(s["rng"], int64(s["round"]))
            return
    rng = s["rng"]
    states[i] = before[0]
    s["rng"] = rng
    exchange(rules, states, i, viewer, masks, scratch)
    s["rng"] = key(s["rng"], int64(s["round"]))


# ---------------------------------------------------------------------------------------------------------------
# Whole arrays of tables. Types are fixed here, so that a kernel is compiled once.

_rules = types.Array(numba.from_dtype(RULES), 1, "C", readonly=True)
_states = types.Array(numba.from_dtype(STATE), 1, "C")
_tapes = types.int8[:, ::1]
_ints, _mask = types.int64[::1], types.int8[:, ::1]
_obs, _money, _flags = types.float32[:, ::1], types.float64[:, ::1], types.boolean[::1]


@njit(allocates=True)
def workspace() -> Any:
    """An array to work in, int32 (SCRATCH, NUM_CARDS + 1)."""
    return np.zeros((SCRATCH, NUM_CARDS + 1), np.int32)


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
    scratch = workspace()
    for i in range(len(states)):
        legal_mask(rules, states, i, masks, scratch)


@njit(types.int64(_rules, _states, _ints, types.boolean, _obs))
def observe_many(rules: Any, states: Any, seats: Any, all_seen: Any, observations: Any) -> int:
    """Observation of ``seats[i]`` at each table. Returns the floats written per table."""
    size = 0
    scratch = workspace()
    for i in range(len(states)):
        size = observe(rules, states, i, seats[i], all_seen, observations, scratch)
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
    draw's code where a fixed card could not be dealt; the records are then to be restored.
    """
    size = masks.shape[1]
    for i in range(len(states)):
        if actions[i] < 0 or actions[i] >= size or (masks[i, actions[i]] == 0 and not forfeits):
            return i
    scratch = workspace()
    no = len(states) < 0  # no constant: numba would compile observe anew for it
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
        observe(rules, states, i, seats[i], no, observations, scratch)
        legal_mask(rules, states, i, masks, scratch)
    return -1


@njit(types.void(_rules, _states, _ints, types.uint64))
def redeal_many(rules: Any, states: Any, seats: Any, seed: Any) -> None:
    """redeal at each table for ``seats[i]``, from streams of ``seed``."""
    scratch = workspace()
    before = states[:1].copy()
    masks = np.zeros((len(states), int64(rules[0]["insert"]) + int64(rules[0]["max_hand"])), np.int8)
    for i in range(len(states)):
        redeal(rules, states, i, seats[i], key(seed, i), masks, scratch, before)


def check_state(game: Game, states: NDArray[np.void]) -> str | None:
    """What is wrong with a record from outside, or None. Kernels index with what a record says, and observations keep
    to their bounds only if it does, so that nothing out of range may pass."""
    s = states[0]
    rules: Rules = game.config
    n, two = rules.num_players, rules.num_players == 2
    flag, seat = (0, 1), (0, n - 1)
    turns = rules.max_turns
    bounds = {
        "seat": seat, "first": seat, "owner": (-1, n - 1), "over": flag, "phase": (0, OVER),
        "round": (1, rules.rounds), "hand_len": (0, rules.max_hand), "active_len": (0, rules.max_show),
        "captured": (0, rules.cards_in_round), "tokens": (0, TOKENS if two else turns), "stall": (0, rules.stall_limit),
        "scouts": (0, TOKENS if two else n - 1), "place": (UNSEEN, HELD + n - 1), "spent": (0, 3 if two else 0),
        "deck_len": (0, rules.cards_in_round if two and s["round"] == 1 else 0), "scout_show": (0, 0 if two else 1),
        "deck": (0, rules.deck_size - 1), "draws": (0, game.tape_size),
    }  # fmt: skip
    for name, (low, high) in bounds.items():
        value = np.asarray(s[name])
        if value.min() < low or value.max() > high:
            return f"{name} must be from {low} to {high}"
    if (s["out"] != (np.arange(MAX_SEATS) >= n)).any():
        return "out must be 0 for each seat: nobody is eliminated"
    over = s["over"] == 1
    if over != (s["phase"] == OVER):
        return "phase and over contradict each other"
    least, most = (rules.rounds * bound for bound in rules.points_bounds)
    if s["points"].min() < least or s["points"].max() > most:
        return f"points must be from {least} to {most}"
    low_return, high_return = game.return_bounds
    if not np.isfinite(s["returns"]).all():
        return "returns or round is wrong"
    if not over and (s["returns"].min() < low_return - 1e-9 or s["returns"].max() > high_return + 1e-9):
        return f"returns must be from {low_return} to {high_return}"
    # Each card lies in one place, and what everybody knows of it is true.
    places: dict[int, int] = {}
    groups = [(k, s["hand"][k], int(s["hand_len"][k])) for k in range(n)]
    groups.append((-1, s["active"], int(s["active_len"])))
    groups.append((int(s["seat"]), s["inserting"].reshape(1), int(s["inserting"] > 0)))
    for holder, cards, length in groups:
        if cards[length:].any():
            return "a card lies behind the end of a hand or of the active Show"
        for byte in cards[:length].tolist():
            upper, lower = byte >> 4, byte & 15
            numbers = 1 <= upper <= 10 and 1 <= lower <= 10 and upper != lower
            if not numbers or card_of(upper, lower) >= rules.deck_size:
                return f"{upper}/{lower} is no card of the deck"
            card = card_of(upper, lower)
            if card in places:
                return f"the card {upper}/{lower} is there twice"
            places[card] = holder
    gone = [card for card in range(rules.deck_size) if s["place"][card] == GONE]
    left = s["deck"][: s["deck_len"]].tolist()
    if set(gone) & places.keys() or set(left) & {*gone, *places} or len(set(left)) < len(left):
        return "the cards do not add up to the deck"
    left_over = rules.cards_in_round if two and s["round"] == 1 else 0
    if len(places) + len(gone) != rules.cards_in_round or len(left) != left_over:
        return "the cards do not add up to the deck"
    for card in range(rules.deck_size):
        known, holder = int(s["place"][card]), places.get(card, -2)
        if (known == SHOWN) != (holder == -1) or (known >= HELD and known - HELD != holder):
            return "place says of a card what is not so"
        if s["spent"][card] and (s["round"] == 1 or holder != -2 or known != UNSEEN):
            return "spent says of a card what is not so"
    if s["captured"].sum() != len(gone):
        return "captured and the cards that are gone contradict each other"
    if (s["inserting"] > 0) != (s["phase"] in (INSERT, SHOW_INSERT)) and not over:
        return "phase and inserting contradict each other"
    if (s["active_len"] > 0 or s["phase"] in (INSERT, SHOW_INSERT, SHOW)) and s["owner"] < 0:
        return "nobody has made the active Show"
    if not over and (s["hand_len"][:n] < 1).any():
        return "a seat has no cards left, and the round goes on"
    if s["hand_len"][s["seat"]] + (s["inserting"] > 0) > rules.max_hand:
        return f"hand_len must be from 0 to {rules.max_hand}"
    if s["phase"] == ORIENT and (s["owner"] >= 0 or s["stall"] > 0):
        return "there has been a turn before the orientations are chosen"
    mask = np.zeros((1, game.num_actions), np.int8)
    legal_mask_many(game.rules, states, mask)
    if not over and not mask.any():
        return "the seat to move has no legal action"
    return None


complete(__name__)
