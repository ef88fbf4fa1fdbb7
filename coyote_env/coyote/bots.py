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

from ..core.compile import int64, njit
from ..core.game import Game
from ..policies import Policy
from .engine import AGAIN_NUMBER, DRAW, HISTORY, MAX0, MAX_MINUS, NIGHT, NUMBER, RULES, count_cards, total_distribution
from .rules import MAX_CARDS, MAX_FACES, MAX_SEATS, REWARDS

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

    def rows(self, which: NDArray[np.bool_]) -> View:
        """Some of the rows."""
        part = object.__new__(View)
        for name, array in vars(self).items():
            setattr(part, name, array[which])
        return part


_rules = types.Array(numba.from_dtype(RULES), 1, "C", readonly=True)
_i1, _i2, _i3 = types.int64[::1], types.int64[:, ::1], types.int64[:, :, ::1]
_f1, _f2, _f3 = types.float64[::1], types.float64[:, ::1], types.float64[:, :, ::1]
_mask = types.Array(types.int8, 2, "C", readonly=True)


@njit(types.void(_rules, _i2, _i2, _i2, _i2, _f1, _f1))
def odds_many(rules: Any, known: Any, pool: Any, refill: Any, facts: Any, two: Any, odds: Any) -> None:
    """odds[i] = P(total >= standing number) from what the seat sees, exact."""
    work, weight = np.zeros((4, MAX_CARDS), np.int32), np.zeros(MAX_CARDS)
    for i in range(len(odds)):
        two[:] = 0.0
        hidden, standing = facts[i, HIDDEN], facts[i, BID]
        total_distribution(rules, known[i], pool[i], hidden, refill[i], standing - 1, work, weight, two)
        odds[i] = two[1]


# ---------------------------------------------------------------------------------------------------------------
# bayes

GRID = 256  # numbers that bayes considers; decks with more get every second, third, ...
NODES = 16
LEVELS = 256
TYPICAL = 3  # cards that stand for a card nobody sees, where enumerating all of them would not change the answer
NAMES = ("challenge", "idem", "reverse", "again", "double", "extra_feather+1", "next_is+1", "bid_1")
CHALLENGE, IDEM, REVERSE, AGAIN, DOUBLE, EXTRA_FEATHER, NEXT_IS, FIRST = range(len(NAMES))
PARAMETERS = {
    "evidence": 0.9,
    "floor": 0.1,
    "jump": 0.3,
    "sure": 0.9,
    "again_mix": 0.5,
    "cost_idem": 0.01,
    "cost_reverse": 0.01,
    "cost_again": 0.01,
    "cost_double": 0.005,
    "cost_feather": 0.01,
    "cost_next": 0.01,
}
P_EVIDENCE, P_FLOOR, P_JUMP, P_SURE, P_AGAIN_MIX, P_IDEM, P_REVERSE, P_AGAIN, P_DOUBLE, P_FEATHER, P_NEXT = range(
    len(PARAMETERS)
)


@njit(types.void(_rules, _i1, _i1))
def typical(rules: Any, pool: Any, faces: Any) -> None:
    """Writes the TYPICAL faces that stand for a card from ``pool``: quantiles of its number cards, -1 without any."""
    numbers = rules[0]["num_numbers"]
    total = 0
    for f in range(numbers):
        total += pool[f]
    seen = 0
    f = -1
    for z in range(TYPICAL):
        while total > 0 and seen * 2 * TYPICAL <= (2 * z + 1) * total:
            f += 1
            seen += pool[f]
        faces[z] = f


@njit(types.int64(_rules, _i1))
def hits(rules: Any, table: Any) -> Any:
    """What the specials in play do: 0 nothing, 1 max0, 2 max-, 3 both, each once, none of them doubled; 4 more."""
    kinds = 0
    for f in range(rules[0]["num_numbers"], rules[0]["num_faces"]):
        kind = rules[0]["kind"][f]
        if table[f] > 0 and kind != DRAW and kind != NIGHT:
            kinds += 1 if kind == MAX0 and table[f] == 1 else 2 if kind == MAX_MINUS and table[f] == 1 else 4
    return kinds if kinds < 4 else 4


@njit(types.void(_rules, _i1, _i1, types.int64, types.int64, _i1, _f2, types.int64))
def tail(rules: Any, table: Any, pool: Any, hidden: Any, lowest: Any, spare: Any, odds: Any, row: Any) -> None:
    """odds[row, b - lowest] = P(total >= b). ``table`` is used and restored.

    Exact for one hidden card (a `?` in sight counts as one); of more the others are TYPICAL ones.
    """
    r = rules[0]
    faces = int64(r["num_faces"])
    numbers = int64(r["num_numbers"])
    out = odds[row]
    top = len(out) - 1
    for b in range(top + 1):
        out[b] = 0.0
    solid = 0
    for f in range(faces):
        if r["kind"][f] == DRAW:
            hidden += table[f]
        else:
            solid += pool[f]
    if solid == 0:
        hidden = 0
    rounds = 1
    if hidden > 1:
        typical(rules, pool, spare)
        rounds = TYPICAL if spare[0] >= 0 else 1
    special = hits(rules, table)
    per = 1.0 / (rounds * (solid if hidden > 0 else 1))
    low, high = top, 0
    for z in range(rounds):
        if rounds > 1:
            table[spare[z]] += hidden - 1
        base = count_cards(rules, table) - lowest
        # The two highest greens: all that one number more can change about max0 and max-.
        first, second = 0, 0
        f = numbers - 1
        while special > 0 and f >= 0 and second == 0 and r["value"][f] > 0:
            if table[f] > 0:
                if first == 0:
                    first = int64(r["value"][f])
                    second = first if table[f] > 1 else 0
                else:
                    second = int64(r["value"][f])
            f -= 1
        for f in range(faces if hidden > 0 else 1):
            ways = pool[f] if hidden > 0 else 1
            kind = r["kind"][f]
            if ways == 0 or (hidden > 0 and kind == DRAW):
                continue
            slot = base
            if hidden > 0:
                v = int64(r["value"][f])
                if special == 4 or (kind != NUMBER and kind != NIGHT):
                    table[f] += 1
                    slot = count_cards(rules, table) - lowest
                    table[f] -= 1
                elif special == 0 or v <= second or (v <= first and special < 3) or v <= 0:
                    slot += v
                elif special == 1:
                    slot += first
                elif special == 2:
                    slot += 2 * first - v
                elif v <= first:
                    slot += 2 * second - v
                else:
                    slot += 2 * second - first
            slot = slot if slot > 0 else 0
            slot = slot if slot < top else top
            out[slot] += ways * per
            low = slot if slot < low else low
            high = slot if slot > high else high
        if rounds > 1:
            table[spare[z]] -= hidden - 1
    reached = 0.0  # in a register: adding to the entry before would wait for memory at each step
    for b in range(high, low - 1, -1):
        reached += out[b]
        out[b] = reached
    for b in range(low):
        out[b] = 1.0


@njit(types.void(types.int64, _i1, _i1, types.int64, _f3, _f2, types.int64))
def worth(scheme: Any, lives: Any, live: Any, lost: Any, clock: Any, values: Any, row: Any) -> None:
    """values[row, k]: what it is worth to the own seat (0) that seat k loses ``lost`` lives now."""
    n = len(live)
    count = 0
    for k in range(n):
        count += live[k]
    for k in range(n):
        values[row, k] = 0.0
        own = lives[0] - (lost if k == 0 else 0)
        if scheme == 3:  # first loss
            values[row, k] = -1.0 if k == 0 else 1.0 / (n - 1)
        elif scheme == 2:  # round
            paid = lost if lost < lives[k] else lives[k]
            values[row, k] = -1.0 * paid if k == 0 else paid / (count - 1)
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
                values[row, k] += clock[own, t, 0] * p


@njit(types.int64(_rules, _i1, _i2, _i1, _i1, _i1, types.int64, _i2, _f2, _f2, _i3))
def imagine(
    rules: Any,
    facts: Any,
    cards: Any,
    known: Any,
    pool: Any,
    live: Any,
    lowest: Any,
    scratch: Any,
    weight: Any,
    odds: Any,
    case: Any,
) -> int:
    """The cases of the own cards, what the total is in each (j = 0), and what the others see of it (j > 0).

    In case c seat j sees the tail in row ``case[0, j, c]`` of ``odds``, for a total that is ``case[1, j, c]`` lower.
    Returns the number of cases. ``weight[0]`` gets their probabilities, not normalised.
    """
    n = len(live)
    faces = int64(rules[0]["num_faces"])
    table, left, spare, second = scratch[0], scratch[1], scratch[2], scratch[3]
    own_cards = facts[HIDDEN]
    ways = 1
    second[0] = -1
    if own_cards > 1:
        typical(rules, pool, second)
        ways = TYPICAL if second[0] >= 0 else 1
    size = 0
    row = 0
    for j in range(n):
        if live[j] == 0:
            continue
        own = 0
        draws = 0
        for f in range(faces):
            table[f] = known[f]
            left[f] = pool[f]
            if j > 0:
                table[f] -= cards[j, f]
                left[f] += cards[j, f]
                own += cards[j, f]
            if rules[0]["kind"][f] == DRAW:
                draws += table[f]
        size = 0
        for z in range(ways):
            if second[z] >= 0:
                table[second[z]] += 1
                left[second[z]] -= 1
            # Number cards share a tail if no special makes them more than their value. So do all, where it is a step.
            step = own + draws == 0
            shared = -1
            special = hits(rules, table)
            base = count_cards(rules, table)
            for f in range(faces if own_cards > 0 else 1):
                if own_cards == 0:
                    weight[0, 0] = 1.0
                elif pool[f] == 0:
                    continue
                else:
                    weight[0, size] = pool[f]
                kind = rules[0]["kind"][f]
                share = (step and kind != DRAW) or (special == 0 and kind in (NUMBER, NIGHT))
                if own_cards == 0 or not share or shared < 0:
                    if own_cards > 0 and not share:
                        table[f] += 1
                        left[f] -= 1
                    tail(rules, table, left, own, lowest, spare, odds, row)
                    if own_cards > 0 and not share:
                        table[f] -= 1
                        left[f] += 1
                    if share:
                        shared = row
                    row += 1
                case[0, j, size] = row - 1
                case[1, j, size] = 0
                if own_cards > 0 and share:
                    case[0, j, size] = shared
                    case[1, j, size] = int64(rules[0]["value"][f])
                    if special > 0 or (kind != NUMBER and kind != NIGHT):
                        table[f] += 1
                        case[1, j, size] = count_cards(rules, table) - base
                        table[f] -= 1
                size += 1
            if second[z] >= 0:
                table[second[z]] -= 1
                left[second[z]] += 1
    return size


@njit(types.float64(_f2, types.int64, types.int64))
def at_least(odds: Any, row: Any, slot: Any) -> Any:
    """The entry of a tail; before its start all is certain, beyond its end nothing is possible."""
    if slot < 0:
        return 1.0
    return odds[row, slot] if slot < odds.shape[1] else 0.0


@njit(types.void(_i1, _i2, _i1, types.int64, _f1, _f1, _f2, types.int64, _i3, _f2))
def listen(
    facts: Any,
    history: Any,
    live: Any,
    size: Any,
    par: Any,
    doubts: Any,
    odds: Any,
    lowest: Any,
    case: Any,
    weight: Any,
) -> None:
    """Weighs the cases by the announcements of this round."""
    for h in range(facts[SPOKEN]):
        j = history[h, 0]
        if j == 0 or live[j] == 0:
            continue
        prior = history[h - 1, 2] if h > 0 else 0
        number = history[h, 2]
        kind = history[h, 1]
        for c in range(size):
            if kind <= 1 and prior > 0:
                p = at_least(odds, case[0, j, c], prior - case[1, j, c] - lowest)
                weight[0, c] *= 1.0 - par[P_EVIDENCE] * doubts[int64(p * (LEVELS - 1) + 0.5)]
            if kind != 1 and number > prior + 1:
                p = at_least(odds, case[0, j, c], number - case[1, j, c] - lowest)
                weight[0, c] *= par[P_FLOOR] + (1.0 - par[P_FLOOR]) * p
    total = 0.0
    for c in range(size):
        total += weight[0, c]
    for c in range(size):
        weight[0, c] /= total


@njit(
    types.void(
        _i1,
        _i1,
        _i2,
        _f2,
        _f1,
        types.int64,
        types.int64,
        types.int64,
        types.boolean,
        types.boolean,
        _f2,
        _f2,
        _f2,
        _f2,
        _f2,
        _f2,
    )
)
def foresee(
    facts: Any,
    live: Any,
    after_seat: Any,
    value: Any,
    par: Any,
    size: Any,
    floor: Any,
    last: Any,
    idem: Any,
    reverse: Any,
    weight: Any,
    doubt: Any,
    truth: Any,
    raised: Any,
    after: Any,
    best: Any,
) -> None:
    """raised[(d * (last + 1) + g) * N + j, c]: what it is worth to the own seat, in case c, that j raises number g."""
    n = len(live)
    d = 0 if facts[DIRECTION] > 0 else 1
    w = weight[0]
    most_0 = -1e9
    most_1 = -1e9
    for g in range(last, floor - 1, -1):
        jump = par[P_JUMP] if g < last - 1 else 0.0
        t = truth[g]
        true = 0.0
        for c in range(size):
            true += w[c] * t[c]
        for dd in range(2 if reverse else 1):
            e = d if dd == 0 else 1 - d
            at = (e * (last + 1) + g) * n
            for j in range(n):
                if live[j] == 0:
                    continue
                to = raised[at + j]
                came = after[e * n + j] if j > 0 else best[e]
                if g == last:
                    for c in range(size):
                        to[c] = 0.0
                elif j == 0 or jump == 0.0:
                    for c in range(size):
                        to[c] = came[c]
                else:
                    up = raised[at + n + j]
                    for c in range(size):
                        to[c] = (1.0 - jump) * came[c] + jump * up[c]
        for dd in range(2 if reverse else 1):
            e = d if dd == 0 else 1 - d
            at = (e * (last + 1) + g) * n
            mine = after[e * n]
            same = 0.0
            for j in range(n):  # the own seat first: the others' values look at what `idem` would give it
                if live[j] == 0:
                    continue
                k = after_seat[e, j]
                to = after[e * n + j]
                loss_k, loss_j = value[0, k], value[0, j]
                if k > 0:
                    passed = raised[at + k]
                    q = doubt[g * n + k]
                    for c in range(size):
                        to[c] = passed[c] + q[c] * (loss_j + t[c] * (loss_k - loss_j) - passed[c])
                    if j == 0:
                        for c in range(size):
                            same += w[c] * to[c]
                    continue
                # The own seat answers j: by the best that it can do without knowing the case.
                most = true * loss_k + (1.0 - true) * loss_j
                come = -1
                if g < last:
                    if (most_0 if e == 0 else most_1) > most:
                        most = most_0 if e == 0 else most_1
                        come = at
                    if reverse:
                        other = raised[((1 - e) * (last + 1) + g) * n + j]
                        turned = 0.0
                        for c in range(size):
                            turned += w[c] * other[c]
                        if turned > most:
                            most = turned
                            come = ((1 - e) * (last + 1) + g) * n + j
                if idem and g < last and same > most:
                    for c in range(size):
                        to[c] = mine[c]
                elif come >= 0:
                    passed = raised[come]
                    for c in range(size):
                        to[c] = passed[c]
                else:
                    for c in range(size):
                        to[c] = loss_j + t[c] * (loss_k - loss_j)
            if same > (most_0 if e == 0 else most_1):
                if e == 0:
                    most_0 = same
                else:
                    most_1 = same
                to = best[e]
                for c in range(size):
                    to[c] = mine[c]


@njit(
    types.int64(
        _rules,
        _i1,
        types.Array(types.int8, 1, "C", readonly=True),
        _i1,
        _i2,
        _i1,
        _i1,
        _f2,
        _f1,
        _f2,
        _f2,
        _f2,
        _f2,
        _f2,
        _i2,
        types.int64,
        types.int64,
        types.int64,
        types.int64,
        types.int64,
        types.boolean,
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
    value: Any,
    par: Any,
    weight: Any,
    doubt: Any,
    truth: Any,
    raised: Any,
    sums: Any,
    scratch: Any,
    size: Any,
    base: Any,
    stride: Any,
    standing: Any,
    last: Any,
    reverse: Any,
) -> int:
    """The action with the best expected worth."""
    n = len(live)
    w = weight[0]
    d = 0 if facts[DIRECTION] > 0 else 1
    bid, before, announcer = facts[BID], facts[BEFORE], facts[ANNOUNCER]
    best_value = -1e9
    best_action = -1
    if mask[ids[CHALLENGE]] == 1:
        true = 0.0
        for c in range(size):
            true += w[c] * truth[standing, c]
        stake = 1 if facts[DOUBLED] == 1 else 0
        best_value = true * value[stake, 0] + (1.0 - true) * value[stake, announcer]
        best_action = ids[CHALLENGE]
    if ids[REVERSE] >= 0 and mask[ids[REVERSE]] == 1 and standing < last:
        e = 1 - d if reverse else d
        worthy = -par[P_REVERSE]
        for c in range(size):
            worthy += w[c] * raised[(e * (last + 1) + standing) * n + announcer, c]
        if worthy > best_value:
            best_value = worthy
            best_action = ids[REVERSE]
    if ids[AGAIN] >= 0 and mask[ids[AGAIN]] == 1:
        worthy = -par[P_AGAIN]
        for way in range(2):
            number = before + 1 if way == 0 else bid + 1
            if number == bid:
                number += 1
            g = (number - base) // stride
            g = g if g < last else last
            g = g if g > 0 else 0
            true = 0.0
            more = 0.0
            for c in range(size):
                true += w[c] * truth[g, c]
                more += w[c] * raised[(d * (last + 1) + g) * n, c]
            call = true * value[0, 0] + (1.0 - true) * value[0, announcer]
            share = par[P_AGAIN_MIX] if way == 1 else 1.0 - par[P_AGAIN_MIX]
            worthy += share * (more if g < last and more > call else call)
        if worthy > best_value:
            best_value = worthy
            best_action = ids[AGAIN]

    shift = scratch[0]
    typical(rules, pool, shift)
    for z in range(TYPICAL):
        shift[z] = int64(rules[0]["value"][shift[z]]) // stride if shift[z] >= 0 else 0
    natural = facts[WAITING] if facts[AGAIN_DUE] == 1 else after_seat[d, 0]
    for k in range(1, n):
        named = k != natural and facts[NAMED] < 0
        if live[k] == 0 or (facts[NAMED] >= 0 and k != facts[NAMED]):
            continue
        if named and (ids[NEXT_IS] < 0 or mask[ids[NEXT_IS] + k - 1] == 0):
            continue
        # The number g is announced and seat k must answer. It calls and the number is true; it calls and the number is
        # false (probabilities); it raises (worth).
        for g in range(standing, last + 1):
            called = 0.0
            true = 0.0
            passed = 0.0
            t, q, more_by_k = truth[g], doubt[g * n + k], raised[(d * (last + 1) + g) * n + k]
            for c in range(size):
                p = w[c] * q[c]
                called += p
                true += p * t[c]
                passed += (w[c] - p) * more_by_k[c]
            sums[g, 0], sums[g, 1], sums[g, 2] = true, called - true, passed
        feather = facts[FED]
        if feather < 0 and ids[EXTRA_FEATHER] >= 0:
            for j in range(1, n):
                if mask[ids[EXTRA_FEATHER] + j - 1] == 1 and feather != k:
                    feather = j
        for way in range(4):
            fed = way >= 2
            doubled = way % 2 == 1
            if (fed and feather < 0) or (not fed and facts[FED] >= 0) or (not doubled and facts[DECLARED] == 1):
                continue
            tell = doubled and facts[DECLARED] == 0
            if tell and (ids[DOUBLE] < 0 or mask[ids[DOUBLE]] == 0):
                continue
            cost = par[P_NEXT] if named else 0.0
            if fed and facts[FED] < 0:
                cost += par[P_FEATHER]
            if tell:
                cost += par[P_DOUBLE]
            stake = 1 if doubled else 0
            for g in range(standing, last + 1):
                number = base + g * stride
                if g == standing:
                    if named or fed or doubled or ids[IDEM] < 0 or mask[ids[IDEM]] == 0:
                        continue
                elif mask[ids[FIRST] + number - 1] == 0:
                    continue
                worthy = -cost - (par[P_IDEM] if g == standing else 0.0)
                for z in range(TYPICAL if fed else 1):
                    h = g - shift[z] if fed else g
                    h = h if h > standing else standing
                    h = h if h < last else last
                    share = 1.0 / TYPICAL if fed else 1.0
                    worthy += share * (sums[h, 0] * value[stake, k] + sums[h, 1] * value[stake, 0] + sums[h, 2])
                if worthy > best_value:
                    best_value = worthy
                    if tell:
                        best_action = ids[DOUBLE]
                    elif fed and facts[FED] < 0:
                        best_action = ids[EXTRA_FEATHER] + feather - 1
                    elif named:
                        best_action = ids[NEXT_IS] + k - 1
                    elif g == standing:
                        best_action = ids[IDEM]
                    else:
                        best_action = ids[FIRST] + number - 1
    if best_action < 0:  # a number is due and none of the grid is legal: the least one
        best_action = ids[FIRST]
        while mask[best_action] == 0:
            best_action += 1
    return best_action


@njit(
    types.void(
        _rules,
        types.int64,
        _i1,
        _mask,
        _i3,
        _i2,
        _i2,
        _i2,
        _i2,
        _i2,
        _i3,
        _f1,
        _f2,
        _f3,
        types.int64,
        _i2,
        _i2,
        _i3,
        _f2,
        _f2,
        _f2,
        _f2,
        _f2,
        _f2,
        _f2,
        _f2,
        _f2,
        _i1,
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
    lowest: Any,
    after_seat: Any,
    scratch: Any,
    case: Any,
    value: Any,
    weight: Any,
    odds: Any,
    doubt: Any,
    truth: Any,
    raised: Any,
    after: Any,
    best: Any,
    sums: Any,
    actions: Any,
) -> None:
    """Chooses an action for each row."""
    n = cards.shape[1]
    for i in range(len(actions)):
        count = 0
        for k in range(n):
            count += live[i, k]
            for e in range(2):
                j = k
                while True:
                    j = (j + 1 + e * (n - 2)) % n
                    if live[i, j] == 1 or j == k:
                        break
                after_seat[e, k] = j
        worth(scheme, lives[i], live[i], 1, clock, value, 0)
        worth(scheme, lives[i], live[i], 2, clock, value, 1)
        bid, cap = facts[i, BID], facts[i, CAP]
        stride = 1 + cap // GRID
        base = bid % stride
        standing = bid // stride
        size = imagine(rules, facts[i], cards[i], known[i], pool[i], live[i], lowest, scratch, weight, odds, case)
        listen(facts[i], history[i], live[i], size, par, doubts[count], odds, lowest, case, weight)
        floor = standing
        if ids[AGAIN] >= 0 and masks[i, ids[AGAIN]] == 1:
            floor = (facts[i, BEFORE] - base) // stride
            floor = floor if floor > 0 else 0
        # The last number worth a thought: nobody believes it, or it is the cap. One can be announced at least.
        least = standing + 1 + facts[i, AGAIN_DUE]  # the refused number may be the least
        most = (cap - base) // stride
        last = floor
        while True:
            number = base + last * stride
            sure = True
            for c in range(size):
                truth[last, c] = at_least(odds, case[0, 0, c], number - case[1, 0, c] - lowest)
            for j in range(1, n):
                if live[i, j] == 1:
                    believed = 0.0
                    for c in range(size):
                        p = at_least(odds, case[0, j, c], number - case[1, j, c] - lowest)
                        q = doubts[count, int64(p * (LEVELS - 1) + 0.5)]
                        doubt[last * n + j, c] = q
                        believed += weight[0, c] * q
                    if believed < par[P_SURE]:
                        sure = False
            if last >= most or (sure and last >= least):
                break
            last += 1
        for j in range(n):
            for c in range(size):
                doubt[last * n + j, c] = 1.0
        idem = ids[IDEM] >= 0 and facts[i, IDEM_USED] == 0
        reverse = ids[REVERSE] >= 0 and facts[i, REVERSE_USED] == 0 and count > 2
        foresee(
            facts[i],
            live[i],
            after_seat,
            value,
            par,
            size,
            floor,
            last,
            idem,
            reverse,
            weight,
            doubt,
            truth,
            raised,
            after,
            best,
        )
        actions[i] = choose(
            rules,
            ids,
            masks[i],
            facts[i],
            after_seat,
            pool[i],
            live[i],
            value,
            par,
            weight,
            doubt,
            truth,
            raised,
            sums,
            scratch,
            size,
            base,
            stride,
            standing,
            last,
            reverse,
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


THRESHOLDS = {2: 0.19, 3: 0.16, 4: 0.145, 5: 0.1, 6: 0.1, 7: 0.1, 8: 0.1, 9: 0.1, 10: 0.1}


def standing_odds(game: Game, view: View) -> Reals:
    """P(total >= standing number), (B,), exact, from what each seat sees."""
    odds = np.empty(len(view.facts))
    odds_many(game.rules, view.known, view.pool, view.refill, view.facts, np.empty(2), odds)
    return odds


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
        odds = standing_odds(self.game, view)
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


TAU, EPS = 0.3, 0.02


class Bayes:
    """Weighs what its own card can be by what the others announced, and plays what then has the best expected value."""

    name = "bayes"

    def __init__(
        self,
        game: Game,
        tau: float = TAU,
        eps: float = EPS,
        threshold_scale: float = 1.0,
        thresholds: Mapping[int, float] = THRESHOLDS,
        **parameters: float,
    ) -> None:
        self.game = game
        self._par = np.array(list((PARAMETERS | parameters).values()))
        assert len(self._par) == len(PARAMETERS)
        ids = game.action_id
        self._ids = np.array([ids.get(name, -1) for name in NAMES], np.int64)
        p = np.clip(np.linspace(0, 1, LEVELS), 1e-6, 1 - 1e-6)
        self._doubts = np.zeros((MAX_SEATS + 1, LEVELS))
        for live, threshold in thresholds.items():
            threshold = threshold * threshold_scale
            ratio = p / (1 - p) * (1 - threshold) / threshold
            self._doubts[live] = eps + (1 - 2 * eps) / (1 + ratio ** (1 / tau))
        self._clock = _clock(9)
        self._scheme = REWARDS.index(game.config.reward)
        if game.config.game_end == "first_loss" and game.config.reward != "round":
            self._scheme = 3
        self._lowest = min(game.config.total_bounds(live)[0] for live in range(2, game.num_seats + 1))
        self._width = game.config.max_bid() - self._lowest + 2

    def act(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8], rng: np.random.Generator) -> Ints:
        """One legal action a row, int64 (B,)."""
        observation, action_mask = checked(self.game, self.name, observation, action_mask)
        actions: Ints = np.argmax(action_mask, axis=1)
        several = np.flatnonzero(np.count_nonzero(action_mask, axis=1) > 1)
        view = View(self.game, observation[several])
        double = view.facts[:, HIDDEN] > 1
        for some, most in ((~double, MAX_FACES), (double, MAX_FACES * TYPICAL)):
            if some.any():
                actions[several[some]] = self._choose(view.rows(some), action_mask[several[some]], most)
        return actions

    def _choose(self, view: View, action_mask: NDArray[np.int8], most: int) -> Ints:
        """Actions for rows that can have up to ``most`` cases."""
        chosen = np.empty(len(action_mask), np.int64)
        n = self.game.num_seats
        slots = min(self.game.config.max_bid(), GRID) + 2
        bayes_many(
            self.game.rules,
            self._scheme,
            self._ids,
            np.ascontiguousarray(action_mask),
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
            self._lowest,
            np.empty((2, n), np.int64),
            np.empty((4, MAX_FACES), np.int64),
            np.empty((2, n, most), np.int64),
            np.empty((2, n)),
            np.empty((1, most)),
            np.empty((n * most + n, self._width)),
            np.empty((slots * n, most)),
            np.empty((slots, most)),
            np.empty((2 * slots * n, most)),
            np.empty((2 * n, most)),
            np.empty((2, most)),
            np.empty((slots, 3)),
            chosen,
        )
        return chosen


SCRIPTED: dict[str, Callable[[Game], Policy]] = {"random": Random, "plus-one": PlusOne, "bayes": Bayes}
