"""Scripted players of COYOTE: ``random``, ``plus-one`` and ``bayes``.

All of them read the observation of their seat and the mask, nothing else, and remember nothing between decisions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numba
import numpy as np
from numba import types
from numpy.typing import NDArray

from ..core.compile import njit
from ..core.game import Game
from ..policies import Policy
from .engine import AGAIN_NUMBER, DRAW, HISTORY, RULES, count_cards, total_distribution
from .rules import MAX_FACES, MAX_SEATS, REWARDS

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]

# ---------------------------------------------------------------------------------------------------------------
# What a seat sees, as whole numbers

# Columns of View.facts.
(
    BID,
    BEFORE,
    CAP,
    ANNOUNCER,
    WAITING,
    FED,
    NAMED,
    DOUBLED,
    DECLARED,
    DIRECTION,
    AGAIN_DUE,
    IDEM_USED,
    REVERSE_USED,
    HIDDEN,
    SPOKEN,
) = range(15)
FACTS = 15


class View:
    """The observations of B seats, taken apart; seats are relative, 0 is the own one, -1 nobody.

    cards (B, N, MAX_FACES), known, pool, refill (B, MAX_FACES): counts by face, int64. live, lives (B, N).
    facts (B, FACTS). history (B, HISTORY, 3): seat, kind, number.
    """

    def __init__(self, game: Game, observation: NDArray[np.float32]) -> None:
        rules = game.rules[0]
        top = int(rules["max_bid"][game.num_seats])
        deck = rules["count"].astype(np.int64)
        faces = int(rules["num_faces"])

        def whole(name: str, scale: float = 1.0) -> Ints:
            numbers: Ints = np.rint(game.layout.view(observation, name) * scale).astype(np.int64)
            return numbers

        def which(name: str) -> Ints:
            one_hot = game.layout.view(observation, name)
            found: Ints = np.where(one_hot.any(axis=-1), one_hot.argmax(axis=-1), -1)
            return found

        size = len(observation)
        self.cards = np.zeros((size, game.num_seats, MAX_FACES), np.int64)
        self.cards[:, 1:, :faces] = whole("cards")[:, 1:]
        deduced = whole("deduced")
        self.known = self.cards.sum(axis=1)
        self.known[:, :faces] += deduced
        self.pool = np.zeros((size, MAX_FACES), np.int64)
        self.pool[:, :faces] = np.rint(game.layout.view(observation, "unseen") * deck[:faces])
        self.refill = deck - self.known - self.pool
        self.live = whole("live")
        self.lives = whole("lives", game.config.lives)
        facts = self.facts = np.empty((size, FACTS), np.int64)
        facts[:, BID] = whole("bid", top)[:, 0]
        facts[:, BEFORE] = whole("bid_before", top)[:, 0]
        facts[:, CAP] = whole("max_bid", top)[:, 0]
        facts[:, ANNOUNCER] = which("announcer")
        facts[:, WAITING] = which("waiting")
        facts[:, FED] = which("declared_feather")
        facts[:, NAMED] = which("declared_next")
        facts[:, DOUBLED] = whole("double")[:, 0]
        facts[:, DECLARED] = whole("declared_double")[:, 0]
        facts[:, DIRECTION] = whole("direction")[:, 0]
        facts[:, AGAIN_DUE] = whole("phase")[:, AGAIN_NUMBER]
        used = whole("used")
        facts[:, IDEM_USED] = used[:, 0]
        facts[:, REVERSE_USED] = used[:, 1]
        facts[:, HIDDEN] = whole("num_cards")[:, 0] - deduced.sum(axis=1)
        rows = game.layout.view(observation, "history")
        n = game.num_seats
        self.history = np.empty((size, HISTORY, 3), np.int64)
        self.history[..., 0] = rows[..., :n].argmax(axis=-1)
        self.history[..., 1] = rows[..., n : n + 4].argmax(axis=-1)
        self.history[..., 2] = np.rint(rows[..., n + 4] * top)
        facts[:, SPOKEN] = rows[..., :n].any(axis=-1).sum(axis=1)


_rules = types.Array(numba.from_dtype(RULES), 1, "C", readonly=True)
_i1, _i2, _i3 = types.int64[::1], types.int64[:, ::1], types.int64[:, :, ::1]
_f1, _f2, _f3 = types.float64[::1], types.float64[:, ::1], types.float64[:, :, ::1]
_mask = types.Array(types.int8, 2, "C", readonly=True)


@njit(types.void(_rules, _i2, _i2, _i2, _i2, _f1, _f1))
def odds_many(rules: Any, known: Any, pool: Any, refill: Any, facts: Any, two: Any, odds: Any) -> None:
    """odds[i] = P(total >= standing number) from what the seat sees, exact."""
    for i in range(len(odds)):
        two[:] = 0.0
        total_distribution(rules, known[i], pool[i], facts[i, HIDDEN], refill[i], facts[i, BID] - 1, two)
        odds[i] = two[1]


# ---------------------------------------------------------------------------------------------------------------
# bayes

GRID = 256  # numbers that bayes considers; decks with more get every second, third, ...
NODES = 16
NEW_CARDS = 3
MOST = MAX_FACES * NEW_CARDS
LEVELS = 256
# Parameters
(
    P_EVIDENCE,
    P_FLOOR,
    P_JUMP,
    P_REACH,
    P_AGAIN_MIX,
    P_COST_IDEM,
    P_COST_REVERSE,
    P_COST_AGAIN,
    P_COST_DOUBLE,
    P_COST_FEATHER,
    P_COST_NEXT,
) = range(11)


@njit(types.void(_rules, _i1, _i1))
def typical(rules: Any, pool: Any, faces: Any) -> None:
    """Writes NEW_CARDS faces that stand for a card drawn from ``pool``: quantiles, in the order of the deck."""
    total = 0
    for f in range(len(pool)):
        if rules[0]["kind"][f] != DRAW:
            total += pool[f]
    seen = 0
    f = -1
    for z in range(NEW_CARDS):
        while f < len(pool) - 1 and seen * 2 * NEW_CARDS <= (2 * z + 1) * total:
            f += 1
            if rules[0]["kind"][f] != DRAW:
                seen += pool[f]
        faces[z] = f


@njit(types.int64(_rules, _i1, _i1, types.int64, _f1))
def tail(rules: Any, table: Any, pool: Any, hidden: Any, odds: Any) -> Any:
    """odds[b] = P(total >= b), b from 0; ``table`` is used and restored. Returns the largest b with odds above 0.

    Exact for one hidden card (a `?` in sight counts as one).
    Of several all but one are represented by ``typical`` cards.
    """
    r = rules[0]
    faces = np.int64(r["num_faces"])
    numbers = np.int64(r["num_numbers"])
    top = len(odds) - 1
    odds[:] = 0.0
    solid = 0
    for f in range(faces):
        if r["kind"][f] == DRAW:
            hidden += table[f]
        else:
            solid += pool[f]
    rounds = NEW_CARDS if hidden > 1 and solid > 1 else 1
    other = np.zeros(NEW_CARDS, np.int64)
    if rounds > 1:
        typical(rules, pool, other)
    high: Any = 0
    for z in range(rounds):
        if rounds > 1:
            table[other[z]] += hidden - 1
        base: Any = count_cards(rules, table)
        plain = True
        for f in range(numbers, faces):
            if table[f] > 0:
                plain = False
        if hidden == 0 or solid == 0:
            slot = base if base > 0 else 0
            slot = slot if slot < top else top
            odds[slot] += 1.0 / rounds
            high = slot if slot > high else high
        else:
            for f in range(faces):
                if pool[f] > 0 and r["kind"][f] != DRAW:
                    slot = base + np.int64(r["value"][f])
                    if not plain or f >= numbers:
                        table[f] += 1
                        slot = count_cards(rules, table)
                        table[f] -= 1
                    slot = slot if slot > 0 else 0
                    slot = slot if slot < top else top
                    odds[slot] += pool[f] / (solid * rounds)
                    high = slot if slot > high else high
        if rounds > 1:
            table[other[z]] -= hidden - 1
    for b in range(high - 1, -1, -1):
        odds[b] += odds[b + 1]
    return high


@njit(types.void(types.int64, _i1, _i1, types.int64, _f3, _f1))
def worth(scheme: Any, lives: Any, live: Any, lost: Any, clock: Any, values: Any) -> None:
    """values[k]: what it is worth to the own seat (0) that seat k loses ``lost`` lives now."""
    n = len(live)
    count = 0
    for k in range(n):
        count += live[k]
    for k in range(n):
        values[k] = 0.0
        own = lives[0] - (lost if k == 0 else 0)
        if scheme == 3:  # first loss
            values[k] = -1.0 if k == 0 else 1.0 / (n - 1)
        elif scheme == 2:  # round
            paid = lost if lost < lives[k] else lives[k]
            values[k] = -1.0 * paid if k == 0 else paid / (count - 1)
        elif own > 0 and live[k] == 1:
            for t in range(clock.shape[1]):
                p = 1.0 if scheme == 0 else 0.0
                for j in range(1, n):
                    if live[j] == 1:
                        rest = lives[j] - (lost if k == j else 0)
                        gone = clock[rest if rest > 0 else 0, t, 1]
                        if scheme == 0:
                            p *= gone
                        else:
                            p += gone / (n - 1)
                values[k] += clock[own, t, 0] * p


@njit(types.int64(_rules, _i1, _i2, _i1, _i1, _i1, types.int64, types.int64, _i2, _f1, _f1, _f1, _f1))
def imagine(
    rules: Any,
    facts: Any,
    cards: Any,
    known: Any,
    pool: Any,
    live: Any,
    base: Any,
    stride: Any,
    hyp: Any,
    odds: Any,
    weight: Any,
    belief: Any,
    truth: Any,
) -> int:
    """What the own cards can be, what the total is then and what the others think of each number.

    Returns the number of cases * 65536 + the highest total anybody thinks possible.
    """
    n = len(live)
    faces = np.int64(rules[0]["num_faces"])
    size = 0
    second = 1
    other = np.zeros(NEW_CARDS, np.int64)
    for z in range(NEW_CARDS):
        other[z] = -1
    if facts[HIDDEN] > 1:
        second = NEW_CARDS
        typical(rules, pool, other)
    for z in range(second):
        for f in range(faces):
            if facts[HIDDEN] > 0 and pool[f] > 0:
                hyp[size, 0], hyp[size, 1] = f, other[z]
                weight[size] = pool[f]
                size += 1
    if size == 0:
        hyp[0, 0], hyp[0, 1] = -1, -1
        weight[0] = 1.0
        size = 1
    table = np.zeros(MAX_FACES, np.int64)
    left = np.zeros(MAX_FACES, np.int64)
    slots = len(truth) // size
    high = 0
    for c in range(size):
        for j in range(n):
            if live[j] == 0:
                continue
            own = 0
            for f in range(faces):
                table[f] = known[f]
                left[f] = pool[f]
                if j > 0:
                    table[f] -= cards[j, f]
                    left[f] += cards[j, f]
                    own += cards[j, f]
            for m in range(2):
                if hyp[c, m] >= 0:
                    table[hyp[c, m]] += 1
                    if left[hyp[c, m]] > 0:
                        left[hyp[c, m]] -= 1
            possible = tail(rules, table, left, own, odds)
            high = possible if possible > high else high
            b = base
            for g in range(slots):
                if b >= len(odds):
                    break
                if j == 0:
                    truth[g * size + c] = odds[b]
                else:
                    belief[(g * n + j) * size + c] = odds[b]
                b += stride
    return size * 65536 + high


@njit(types.void(_i1, _i2, _i1, types.int64, types.int64, types.int64, types.int64, _f1, _f1, _f1, _f1))
def listen(
    facts: Any,
    history: Any,
    live: Any,
    base: Any,
    stride: Any,
    last: Any,
    size: Any,
    par: Any,
    doubts: Any,
    belief: Any,
    weight: Any,
) -> None:
    """Weighs the cases by the announcements of this round."""
    n = len(live)
    for h in range(facts[SPOKEN]):
        j = history[h, 0]
        if j == 0 or live[j] == 0:
            continue
        prior = history[h - 1, 2] if h > 0 else 0
        number = history[h, 2]
        kind = history[h, 1]
        if kind <= 1 and prior > base:
            g = (prior - base) // stride
            at = ((g if g < last else last) * n + j) * size
            for c in range(size):
                weight[c] *= 1.0 - par[P_EVIDENCE] * doubts[np.int64(belief[at + c] * (LEVELS - 1) + 0.5)]
        if kind != 1 and number > prior + 1:
            g = (number - base) // stride
            at = ((g if g < last else last) * n + j) * size
            for c in range(size):
                weight[c] *= par[P_FLOOR] + (1.0 - par[P_FLOOR]) * belief[at + c]
    total = 0.0
    for c in range(size):
        total += weight[c]
    for c in range(size):
        weight[c] /= total


@njit(
    types.void(
        _i1, _i1, _i2, _f1, _f1, _f1, _f1, _f1, types.int64, types.int64, types.int64, types.int64, types.int64, _f1
    )
)
def foresee(
    facts: Any,
    live: Any,
    after_seat: Any,
    one: Any,
    par: Any,
    weight: Any,
    doubt: Any,
    truth: Any,
    size: Any,
    floor: Any,
    standing: Any,
    last: Any,
    options: Any,
    raised: Any,
) -> None:
    """raised[d, g, j, c]: what it is worth to the own seat, in case c, that seat j raises the standing number g."""
    n = len(live)
    d = 0 if facts[DIRECTION] > 0 else 1
    directions = 2 if options >= 2 else 1
    idem_left = options % 2 == 1
    after = np.zeros(2 * n * size, np.float64)
    best = np.zeros(2 * size, np.float64)
    best_value = np.zeros(2, np.float64)
    best_value[0], best_value[1] = -1e9, -1e9
    reach = np.zeros(size, np.float64)
    sums = np.zeros(4, np.float64)
    width = n * size
    whole = (last + 1) * width
    for g in range(last, floor - 1, -1):
        for dd in range(directions):
            e = d if dd == 0 else 1 - d
            for j in range(n):
                to = e * whole + g * width + j * size
                came = (e * n + j) * size
                jump = par[P_JUMP] if g < last - 1 else 0.0
                for c in range(size):
                    if g == last:
                        raised[to + c] = 0.0
                    elif j == 0:
                        raised[to + c] = best[e * size + c]
                    else:
                        raised[to + c] = (1.0 - jump) * after[came + c] + jump * raised[to + width + c]
        for dd in range(directions):
            e = d if dd == 0 else 1 - d
            for j in range(n):  # the own seat first: the others' values look at what `idem` would give it
                if live[j] == 0:
                    continue
                k = after_seat[e, j]
                came = (e * n + j) * size
                mine = e * n * size
                at_k = g * width + k * size
                at_s = e * whole + at_k
                if k > 0:
                    for c in range(size):
                        q, t = doubt[at_k + c], truth[g * size + c]
                        after[came + c] = q * (t * one[k] + (1.0 - t) * one[j]) + (1.0 - q) * raised[at_s + c]
                    continue
                for c in range(size):
                    reach[c] = weight[c]
                seat = j
                back = g - 1
                while seat != 0 and back > standing and back > 0:
                    for c in range(size):
                        reach[c] *= 1.0 - par[P_REACH] * doubt[back * width + seat * size + c]
                    back -= 1
                    seat = after_seat[1 - e, seat]
                sums[:] = 0.0
                at_t = (1 - e) * whole + g * width + j * size
                for c in range(size):
                    t = truth[g * size + c]
                    sums[0] += reach[c] * (t * one[0] + (1.0 - t) * one[j])
                    sums[1] += reach[c] * raised[at_s + c]
                    sums[2] += reach[c] * after[mine + c]
                    sums[3] += reach[c] * raised[at_t + c] if directions == 2 else 0.0
                pick = 0
                if g < last:
                    if sums[1] > sums[0]:
                        pick = 1
                    if idem_left and sums[2] > sums[pick]:
                        pick = 2
                    if directions == 2 and sums[3] > sums[pick]:
                        pick = 3
                if pick == 0:
                    for c in range(size):
                        t = truth[g * size + c]
                        after[came + c] = t * one[0] + (1.0 - t) * one[j]
                elif pick == 2:
                    for c in range(size):
                        after[came + c] = after[mine + c]
                else:
                    at = at_s if pick == 1 else at_t
                    for c in range(size):
                        after[came + c] = raised[at + c]
            value = 0.0
            for c in range(size):
                value += weight[c] * after[e * n * size + c]
            if value > best_value[e]:
                best_value[e] = value
                for c in range(size):
                    best[e * size + c] = after[e * n * size + c]


@njit(
    types.int64(
        _rules,
        _i1,
        types.Array(types.int8, 1, "C", readonly=True),
        _i1,
        _i2,
        _i1,
        _i1,
        _f1,
        _f1,
        _f1,
        _f1,
        _f1,
        _f1,
        _f1,
        types.int64,
        types.int64,
        types.int64,
        types.int64,
        types.int64,
        types.int64,
    )
)
def choose(
    rules: Any,
    ids: Any,
    mask: Any,
    facts: Any,
    after_seat: Any,
    pool: Any,
    live: Any,
    one: Any,
    twice: Any,
    par: Any,
    weight: Any,
    doubt: Any,
    truth: Any,
    raised: Any,
    size: Any,
    base: Any,
    stride: Any,
    standing: Any,
    last: Any,
    options: Any,
) -> int:
    """The action with the best expected worth."""
    n = len(live)
    width = n * size
    whole = (last + 1) * width
    d = 0 if facts[DIRECTION] > 0 else 1
    bid, before, announcer = facts[BID], facts[BEFORE], facts[ANNOUNCER]
    sums = np.zeros((last + 1, 3), np.float64)
    cards = np.zeros(NEW_CARDS, np.int64)
    shift = np.zeros(NEW_CARDS, np.int64)
    typical(rules, pool, cards)
    for z in range(NEW_CARDS):
        shift[z] = np.int64(rules[0]["value"][cards[z]]) // stride
    best_value = -1e9
    best_action = -1
    if mask[ids[0]] == 1:
        best_value = 0.0
        for c in range(size):
            t = truth[standing * size + c]
            if facts[DOUBLED] == 1:
                best_value += weight[c] * (t * twice[0] + (1.0 - t) * twice[announcer])
            else:
                best_value += weight[c] * (t * one[0] + (1.0 - t) * one[announcer])
        best_action = ids[0]
    if ids[2] >= 0 and mask[ids[2]] == 1 and standing < last:
        e = 1 - d if options >= 2 else d
        value = -par[P_COST_REVERSE]
        for c in range(size):
            value += weight[c] * raised[e * whole + standing * width + announcer * size + c]
        if value > best_value:
            best_value = value
            best_action = ids[2]
    if ids[3] >= 0 and mask[ids[3]] == 1:
        value = -par[P_COST_AGAIN]
        for way in range(2):
            number = before + 1 if way == 0 else bid + 1
            if number == bid:
                number += 1
            g = (number - base) // stride
            g = g if g < last else last
            g = g if g > 0 else 0
            call = 0.0
            more = 0.0
            for c in range(size):
                t = truth[g * size + c]
                call += weight[c] * (t * one[0] + (1.0 - t) * one[announcer])
                more += weight[c] * raised[d * whole + g * width + c]
            share = par[P_AGAIN_MIX] if way == 1 else 1.0 - par[P_AGAIN_MIX]
            value += share * (more if g < last and more > call else call)
        if value > best_value:
            best_value = value
            best_action = ids[3]

    # In sums[k, g]: the number g is announced and seat k must answer. It calls and the number is true; it calls and
    # the number is false (probabilities); it raises (worth).
    natural = facts[WAITING] if facts[AGAIN_DUE] == 1 else after_seat[d, 0]
    for k in range(1, n):
        named = k != natural and (facts[NAMED] < 0 or k != facts[NAMED])
        if live[k] == 0 or (facts[NAMED] >= 0 and k != facts[NAMED]):
            continue
        if named and (ids[6] < 0 or mask[ids[6] + k - 1] == 0):
            continue
        for g in range(standing, last + 1):
            called = 0.0
            true = 0.0
            passed = 0.0
            at_k = g * width + k * size
            at_s = d * whole + at_k
            for c in range(size):
                q = weight[c] * doubt[at_k + c]
                called += q
                true += q * truth[g * size + c]
                passed += (weight[c] - q) * raised[at_s + c]
            sums[g, 0], sums[g, 1], sums[g, 2] = true, called - true, passed
        # A second feather is for the seat that must answer, else for any that can have it.
        feather = facts[FED]
        if feather < 0 and ids[5] >= 0:
            for j in range(1, n):
                if mask[ids[5] + j - 1] == 1 and feather != k:
                    feather = j
        for way in range(4):
            fed = way >= 2
            doubled = way % 2 == 1
            if (fed and feather < 0) or (not fed and facts[FED] >= 0) or (not doubled and facts[DECLARED] == 1):
                continue
            tell = doubled and facts[DECLARED] == 0
            if tell and (ids[4] < 0 or mask[ids[4]] == 0):
                continue
            cost = par[P_COST_NEXT] if named else 0.0
            if fed and facts[FED] < 0:
                cost += par[P_COST_FEATHER]
            if tell:
                cost += par[P_COST_DOUBLE]
            loss_k = twice[k] if doubled else one[k]
            loss_me = twice[0] if doubled else one[0]
            for g in range(standing, last + 1):
                number = base + g * stride
                same = g == standing
                if same:
                    if named or fed or doubled or ids[1] < 0 or mask[ids[1]] == 0:
                        continue
                elif mask[ids[7] + number - 1] == 0:
                    continue
                value = -cost - (par[P_COST_IDEM] if same else 0.0)
                for z in range(NEW_CARDS if fed else 1):
                    h = g - shift[z] if fed else g
                    h = h if h > standing else standing
                    h = h if h < last else last
                    share = 1.0 / NEW_CARDS if fed else 1.0
                    value += share * (sums[h, 0] * loss_k + sums[h, 1] * loss_me + sums[h, 2])
                if value > best_value:
                    best_value = value
                    if tell:
                        best_action = ids[4]
                    elif fed and facts[FED] < 0:
                        best_action = ids[5] + feather - 1
                    elif named:
                        best_action = ids[6] + k - 1
                    elif same:
                        best_action = ids[1]
                    else:
                        best_action = ids[7] + number - 1
    if best_action < 0:  # a number is due and none of the grid is legal: the least one
        best_action = ids[7]
        while mask[best_action] == 0:
            best_action += 1
    return best_action


@njit(
    types.void(
        _rules, types.int64, _i1, _mask, _i3, _i2, _i2, _i2, _i2, _i2, _i3, _f1, _f2, _f3, _i2, _f1, _f2, _f2, _i1
    )
)
def bayes_many(
    rules: Any,
    scheme: Any,
    ids: Any,
    masks: Any,
    cards: Any,
    known: Any,
    pool: Any,
    live: Any,
    lives: Any,
    facts: Any,
    history: Any,
    par: Any,
    doubts: Any,
    clock: Any,
    hyp: Any,
    odds: Any,
    small: Any,
    big: Any,
    actions: Any,
) -> None:
    """Chooses an action for each row."""
    n = cards.shape[1]
    after_seat = np.zeros((2, n), np.int64)
    one, twice, weight = small[0, :n], small[1, :n], small[2]
    belief, doubt, truth, raised = big[0], big[1], big[2], big[3]
    for i in range(len(actions)):
        count = 0
        for k in range(n):
            count += live[i, k]
        for k in range(n):
            for e in range(2):
                j = k
                while True:
                    j = (j + 1 + e * (n - 2)) % n
                    if live[i, j] == 1 or j == k:
                        break
                after_seat[e, k] = j
        worth(scheme, lives[i], live[i], 1, clock, one)
        worth(scheme, lives[i], live[i], 2, clock, twice)
        bid, cap = facts[i, BID], facts[i, CAP]
        stride = 1 + cap // GRID
        base = bid % stride
        standing = bid // stride
        found = imagine(
            rules,
            facts[i],
            cards[i],
            known[i],
            pool[i],
            live[i],
            base,
            stride,
            hyp,
            odds[: cap + 1],
            weight,
            belief,
            truth,
        )
        size, high = found // 65536, found % 65536
        # The last number worth a thought: nobody can believe it, or it is the cap. One can be announced at least.
        last = (high - base) // stride + 1
        needed = standing + 1 + facts[i, AGAIN_DUE]  # the refused number may be the least
        last = last if last > needed else needed
        most = (cap - base) // stride
        last = last if last < most else most
        listen(facts[i], history[i], live[i], base, stride, last, size, par, doubts[count], belief, weight)
        width = n * size
        for x in range(last * width):
            doubt[x] = doubts[count, np.int64(belief[x] * (LEVELS - 1) + 0.5)]
        for x in range(last * width, (last + 1) * width):
            doubt[x] = 1.0
        floor = standing
        if ids[3] >= 0 and masks[i, ids[3]] == 1:
            floor = (facts[i, BEFORE] - base) // stride
            floor = floor if floor > 0 else 0
        options = 1 if ids[1] >= 0 and facts[i, IDEM_USED] == 0 else 0
        if ids[2] >= 0 and facts[i, REVERSE_USED] == 0 and count > 2:
            options += 2
        foresee(
            facts[i], live[i], after_seat, one, par, weight, doubt, truth, size, floor, standing, last, options, raised
        )
        actions[i] = choose(
            rules,
            ids,
            masks[i],
            facts[i],
            after_seat,
            pool[i],
            live[i],
            one,
            twice,
            par,
            weight,
            doubt,
            truth,
            raised,
            size,
            base,
            stride,
            standing,
            last,
            options,
        )


# -------------------------------------------------------------------------------------------------------------
# Policies


def checked(game: Game, name: str, observation: Any, action_mask: Any) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """Observations float32 (B, L) and masks int8 (B, A) of ``game``, contiguous: kernels index with what these say.

    Raises ValueError for another shape, for numbers outside the layout's bounds, for a row without a legal action.
    """
    seen = np.ascontiguousarray(observation, np.float32)
    legal = np.ascontiguousarray(np.asarray(action_mask) != 0, np.int8)
    if seen.ndim != 2 or seen.shape[1] != game.layout.size:
        raise ValueError(f"{name}: observation of shape {seen.shape}; needed: (rows, {game.layout.size})")
    if legal.shape != (len(seen), game.num_actions):
        raise ValueError(f"{name}: action_mask of shape {legal.shape}; needed: ({len(seen)}, {game.num_actions})")
    inside = (seen >= game.layout.low) & (seen <= game.layout.high)  # NaN is not
    if not inside.all():
        row, place = (int(x) for x in np.argwhere(~inside)[0])
        raise ValueError(f"{name}: observation[{row}, {place}] is {seen[row, place]}, outside the layout's bounds")
    if not legal.any(axis=1).all():
        raise ValueError(f"{name}: row {int(np.argmin(legal.any(axis=1)))} of action_mask has no legal action")
    return seen, legal


class Random:
    """Uniform over the legal actions. Most of these are numbers, so it announces high and is challenged soon."""

    name = "random"

    def __init__(self, game: Game) -> None:
        self.game = game

    def act(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8], rng: np.random.Generator) -> Ints:
        """One legal action a row, int64 (B,)."""
        _, mask = checked(self.game, self.name, observation, action_mask)
        legal = np.cumsum(mask, axis=1, dtype=np.int64)
        pick = (rng.random(len(legal)) * legal[:, -1]).astype(np.int64)
        actions: Ints = np.argmax(legal > pick[:, None], axis=1)
        return actions


THRESHOLDS = {2: 0.45, 3: 0.38, 4: 0.33, 5: 0.3, 6: 0.28, 7: 0.27, 8: 0.26, 9: 0.25, 10: 0.25}


class PlusOne:
    """Announces the least legal number; challenges when the exact odds of the standing one are under a threshold."""

    name = "plus-one"

    def __init__(self, game: Game, thresholds: Mapping[int, float] = THRESHOLDS) -> None:
        self.game = game
        self._thresholds = np.zeros(MAX_SEATS + 1)
        self._thresholds[list(thresholds)] = list(thresholds.values())

    def act(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8], rng: np.random.Generator) -> Ints:
        """One legal action a row, int64 (B,)."""
        observation, action_mask = checked(self.game, self.name, observation, action_mask)
        view = View(self.game, observation)
        odds = np.empty(len(observation))
        odds_many(self.game.rules, view.known, view.pool, view.refill, view.facts, np.empty(2), odds)
        ids = self.game.action_id
        bids = action_mask[:, ids["bid_1"] :]
        actions: Ints = ids["bid_1"] + bids.argmax(axis=1)
        doubt = (odds < self._thresholds[view.live.sum(axis=1)]) | ~bids.any(axis=1)
        actions[doubt & (action_mask[:, ids["challenge"]] == 1)] = ids["challenge"]
        return actions


def _clock(longest: int) -> Reals:
    """Nodes of a quadrature over time, (longest + 1, NODES, 2): for a seat that loses lives at rate 1 and has l left,
    the density of its end, times the node's weight, and the probability that it has come to its end."""
    x, w = np.polynomial.legendre.leggauss(NODES)
    s = (x + 1) / 2
    t = 4 * s / (1 - s)
    dt = 4 * (w / 2) / (1 - s) ** 2
    table = np.zeros((longest + 1, NODES, 2))
    table[0, :, 1] = 1.0
    for left in range(1, longest + 1):
        table[left, :, 0] = np.exp(-t) * t ** (left - 1) / math.factorial(left - 1) * dt
        table[left, :, 1] = 1 - np.exp(-t) * sum(t**m / math.factorial(m) for m in range(left))
    return table


DEFAULT = {
    "evidence": 0.9,
    "floor": 0.1,
    "jump": 0.3,
    "reach": 0.9,
    "again_mix": 0.5,
    "cost_idem": 0.01,
    "cost_reverse": 0.01,
    "cost_again": 0.01,
    "cost_double": 0.005,
    "cost_feather": 0.01,
    "cost_next": 0.01,
}
TAU, EPS = 0.08, 0.02


class Bayes:
    """Weighs what its own card can be by what the others announced, and plays what then has the best expected value."""

    name = "bayes"

    def __init__(
        self,
        game: Game,
        tau: float = TAU,
        eps: float = EPS,
        thresholds: Mapping[int, float] = THRESHOLDS,
        **parameters: float,
    ) -> None:
        self.game = game
        self._par = np.array(list((DEFAULT | parameters).values()))
        ids = game.action_id
        first = ("challenge", "idem", "reverse", "again", "double", "extra_feather+1", "next_is+1", "bid_1")
        self._ids = np.array([ids.get(name, -1) for name in first], np.int64)
        odds = np.linspace(0, 1, LEVELS)
        self._doubts = np.zeros((MAX_SEATS + 1, LEVELS))
        for live, threshold in thresholds.items():
            self._doubts[live] = eps + (1 - 2 * eps) / (1 + np.exp((odds - threshold) / tau))
        self._clock = _clock(9)
        self._scheme = REWARDS.index(game.config.reward)
        if game.config.game_end == "first_loss" and game.config.reward != "round":
            self._scheme = 3

    def act(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8], rng: np.random.Generator) -> Ints:
        """One legal action a row, int64 (B,)."""
        observation, action_mask = checked(self.game, self.name, observation, action_mask)
        actions: Ints = np.argmax(action_mask, axis=1)
        several = np.flatnonzero(np.count_nonzero(action_mask, axis=1) > 1)
        view = View(self.game, observation[several])
        chosen = np.empty(len(several), np.int64)
        n = self.game.num_seats
        top = self.game.config.max_bid()
        cells = 2 * (min(top, GRID) + 2) * n * MOST
        bayes_many(
            self.game.rules,
            self._scheme,
            self._ids,
            np.ascontiguousarray(action_mask[several]),
            view.cards,
            view.known,
            view.pool,
            view.live,
            view.lives,
            view.facts,
            view.history,
            self._par,
            self._doubts,
            self._clock,
            np.empty((MOST, 2), np.int64),
            np.zeros(top + 1),
            np.zeros((3, MOST)),
            np.zeros((4, cells)),
            chosen,
        )
        actions[several] = chosen
        return actions


SCRIPTED: dict[str, Callable[[Game], Policy]] = {"random": Random, "plus-one": PlusOne, "bayes": Bayes}
