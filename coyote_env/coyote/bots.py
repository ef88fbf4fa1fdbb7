"""Scripted players of COYOTE: ``random``, ``plus-one`` and ``bayes``.

All of them read the observation of their seat and the mask, nothing else, and remember nothing between decisions.

Three kernels that call nothing of each other, because a new user waits for them to be compiled, and a kernel is
compiled again into each of its callers. What is done once a decision, and not once a card or a number, is numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numba
import numpy as np
from numba import types
from numpy.typing import NDArray

from ..core.compile import complete, int64, njit
from ..core.game import Game
from ..policies import Policy
from ..policies.scripted import Random, answered, checked, possible
from .engine import (
    AGAIN_NUMBER,
    DRAW,
    HISTORY,
    MAX0,
    MAX_MINUS,
    NIGHT,
    NUMBER,
    RULES,
    X2,
    count_cards,
    total_distribution,
)
from .rules import MAX_CARDS, MAX_FACES, MAX_SEATS

Cards = NDArray[np.int32]  # the engine's type for counts by face: its kernels are then not compiled once more
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
    HIDDEN,
    SPOKEN,
    MIDDLE,
    TOLD,
) = range(15)
FACTS = 15


class View:
    """The observations of B seats, taken apart; seats are relative, 0 is the own one, -1 nobody.

    cards (B, N, MAX_FACES), known, pool, refill (B, MAX_FACES): counts by face, int32. live, lives (B, N), facts
    (B, FACTS), history (B, HISTORY, 3) of seat, kind, number: int64.

    ``cards[:, k]``: cards known to the own seat but not to k: those that k wears, and those in the middle that only the
    own seat has looked at. ``known``: all in play that the own seat knows. Of those in play it does not, HIDDEN in
    number, MIDDLE lie in the middle. TOLD: its own card, if counting tells all cards in play, else -1.
    """

    def __init__(self, game: Game, observation: NDArray[np.float32]) -> None:
        rules = game.rules[0]
        top = int(rules["max_bid"][game.num_seats])
        deck = rules["count"].astype(np.int32)
        faces = int(rules["num_faces"])

        def whole(name: str, scale: float = 1.0) -> Ints:
            numbers: Ints = np.rint(game.layout.view(observation, name) * scale).astype(np.int64)
            return numbers

        def which(name: str) -> Ints:
            one_hot = game.layout.view(observation, name)
            found: Ints = np.where(one_hot.any(axis=-1), one_hot.argmax(axis=-1), -1)
            return found

        size = len(observation)
        self.cards = np.zeros((size, game.num_seats, MAX_FACES), np.int32)
        self.cards[:, :, :faces] = whole("cards")
        deduced, own = whole("deduced"), whole("num_cards")[:, 0]
        self.known: Cards = self.cards.sum(axis=1, dtype=np.int32)
        self.known[:, :faces] += deduced.astype(np.int32)
        hidden = own - deduced.sum(axis=1)
        if game.config.peek:
            hidden -= self.cards[:, 0].sum(axis=1)  # own cards are shown while one chooses a discard
            centre, peeked = whole("centre").astype(np.int32), whole("peeked").astype(np.int32)
            self.known[:, :faces] += centre
            self.cards[:, 1:, :faces] += centre[:, None] * (1 - peeked[:, 1:, None])
            hidden += 1 - centre.sum(axis=1)
        if game.config.trickster:
            laid = whole("coyote_card").astype(np.int32)
            self.known[:, :faces] += laid
            self.cards[:, 1:, :faces] += laid[:, None]
            hidden += whole("coyote_by").sum(axis=1) - laid.sum(axis=1)
        self.pool = np.zeros((size, MAX_FACES), np.int32)
        self.pool[:, :faces] = np.rint(game.layout.view(observation, "unseen") * deck[:faces])
        self.refill: Cards = deck - self.known - self.pool
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
        facts[:, HIDDEN] = hidden
        facts[:, MIDDLE] = np.maximum(hidden - own, 0) if game.config.peek else 0
        facts[:, TOLD] = -1
        if not hidden.all():
            highest = faces - 1 - (deduced[:, ::-1] > 0).argmax(axis=1)
            facts[:, TOLD] = np.where((hidden == 0) & deduced.any(axis=1), highest, -1)
        rows = game.layout.view(observation, "history")
        n = game.num_seats
        self.history = np.empty((size, HISTORY, 3), np.int64)
        self.history[..., 0] = rows[..., :n].argmax(axis=-1)
        self.history[..., 1] = rows[..., n : n + 4].argmax(axis=-1)
        self.history[..., 2] = np.rint(rows[..., n + 4] * top)
        facts[:, SPOKEN] = rows[..., :n].any(axis=-1).sum(axis=1)

    def playable(self, game: Game) -> View:
        """Itself. Raises ValueError for what no seat to move can see; kernels rely on it."""
        left = self.pool.sum(axis=1) + self.refill.sum(axis=1)
        hidden, middle = self.facts[:, HIDDEN], self.facts[:, MIDDLE]
        for rows, what in (
            ((self.live[:, 0] == 1) & (self.live.sum(axis=1) > 1), "the seat to move, or all others, are out"),
            (((self.lives > 0) == (self.live == 1)).all(axis=1), "a live seat has no lives, or another one some"),
            (np.abs(self.facts[:, DIRECTION]) == 1, "the direction of play is neither 1 nor -1"),
            ((self.refill >= 0).all(axis=1), "it shows more cards than there are"),
            ((middle <= hidden) & (hidden <= left) & (hidden >= 0), "it hides a number of cards that cannot be"),
        ):
            possible(game.name, rows, what)
        return self

    def rows(self, which: Ints) -> View:
        """Some of the rows."""
        part = object.__new__(View)
        for name, array in vars(self).items():
            setattr(part, name, array[which])
        return part


_rules = types.Array(numba.from_dtype(RULES), 1, "C", readonly=True)
_c2, _c3 = types.int32[:, ::1], types.int32[:, :, ::1]
_i1, _i2, _i3 = types.int64[::1], types.int64[:, ::1], types.int64[:, :, ::1]
_f1, _f2, _f3 = types.float64[::1], types.float64[:, ::1], types.float64[:, :, ::1]
_mask = types.Array(types.int8, 2, "C", readonly=True)


@njit(types.void(_rules, _c2, _c2, _c2, _i2, _f1, _f1))
def odds_many(rules: Any, known: Any, pool: Any, refill: Any, facts: Any, two: Any, odds: Any) -> None:
    """odds[i] = P(total >= standing number) from what the seat sees, exact. ``two`` (2,): to work in."""
    work, weight = np.zeros((4, MAX_CARDS), np.int32), np.zeros(MAX_CARDS)
    for i in range(len(odds)):
        two[:] = 0.0
        hidden, standing = facts[i, HIDDEN], facts[i, BID]
        total_distribution(rules, known[i], pool[i], hidden, refill[i], standing - 1, work, weight, two)
        odds[i] = two[1]


# ---------------------------------------------------------------------------------------------------------------
# bayes

REACH = 256  # numbers above the standing one that bayes looks at
LEVELS = 256
TYPICAL = 3  # cards that stand for a card nobody sees, where enumerating all of them would not change the answer
ROWS = 32  # decisions that are taken together: what they need stays in the processor's cache
NAMES = ("challenge", "idem", "reverse", "again", "double", "extra_feather+1", "next_is+1", "bid_1")
CHALLENGE, IDEM, REVERSE, AGAIN, DOUBLE, EXTRA_FEATHER, NEXT_IS, FIRST = range(len(NAMES))
PARAMETERS = {
    "tau": 0.4,  # how softly others are taken to challenge around their threshold
    "eps": 0.02,  # how often they do the opposite
    "scale": 1.0,  # their thresholds, as a multiple of plus-one's
    "evidence": 0.9,  # how much is made of a number that was not challenged
    "floor": 0.4,  # least weight of a case in which a seat jumped to a number that it could not believe
    "jump": 0.3,  # chance that a raise goes one further
    "sure": 0.9,  # numbers that all challenge as surely as this end the outlook
    "cost": 0.003,  # of playing a variant, since each serves once a round
    "look": 0.8,  # before a raise it looks at a card, if a number one higher is less likely than this to hold
}
P_EVIDENCE, P_FLOOR, P_JUMP, P_SURE, P_COST, P_LOOK = range(3, len(PARAMETERS))


@njit(types.void(_rules, _i1, _i1, _i2, _c3, _c2, _c2, _i2, types.int64, _c2, _f2, _i3, _i3, _f2, _i2))
def imagine_many(
    rules: Any,
    kind: Any,
    value: Any,
    facts: Any,
    cards: Any,
    known: Any,
    pool: Any,
    live: Any,
    lowest: Any,
    scratch: Any,
    weight: Any,
    tail: Any,
    shift: Any,
    odds: Any,
    fed: Any,
) -> None:
    """The cases of the own cards, and what each seat then makes of what it sees, for each row i of a View.

    Case c is face c % faces, of two cards the other one being typical face c // faces; ``weight[i, c]``: cards that
    would make it so. Seat j then takes the total to be at least b with probability ``odds[row, b - lowest - shift]``,
    where row is ``tail[i, j, c]`` and shift ``shift[i, j, c]``. Exact for one card that j cannot see, one drawn by `?`
    included; any others are a typical one. ``fed[i]``: values of the TYPICAL cards, quantiles of the pool's numbers.
    ``scratch`` (2, MAX_FACES), 0: to work in.
    """
    faces, n = len(kind), live.shape[1]
    kinds = weight.shape[1] // faces
    top = odds.shape[1] - 1
    table, left = scratch[0], scratch[1]
    row = 0
    for i in range(len(facts)):
        size, reached, f = 0, 0, -1
        for x in range(faces):
            if kind[x] == NUMBER:
                size += pool[i, x]
        for z in range(TYPICAL):
            while size > 0 and reached * 2 * TYPICAL <= (2 * z + 1) * size:
                f += 1
                reached += pool[i, f]
            fed[i, z] = f
        told = facts[i, TOLD]  # the only case, if there is one
        for j in range(n):
            if live[i, j] == 0:
                continue
            need, doubles, hits, highest = facts[i, MIDDLE], 0, 0, 0
            for x in range(faces):
                seen = known[i, x] - cards[i, j, x] - (x == told)
                need += cards[i, j, x]
                if kind[x] == DRAW:
                    need += seen
                elif kind[x] == X2:
                    doubles += seen
                elif kind[x] in (MAX0, MAX_MINUS):
                    hits += seen
                elif seen > 0:
                    highest = max(highest, value[x])
            for c in range(weight.shape[1]):
                f = c % faces
                if f == 0:
                    shared = -1
                second = fed[i, c // faces] if kinds > 1 else -1
                ways = int64(f == told) if told >= 0 else pool[i, f] - (f == second)
                weight[i, c] = max(ways, 0)
                tail[i, j, c], shift[i, j, c] = 0, 0
                if ways <= 0:
                    continue
                # Number cards share a row, as far as no max0 or max- could hit them.
                share = kind[f] in (NUMBER, NIGHT) and (hits == 0 or (hits == 1 and value[f] <= highest))
                if share:
                    shift[i, j, c] = value[f] << doubles
                    if shared >= 0:
                        tail[i, j, c] = shared
                        continue
                    shared = row
                tail[i, j, c] = row
                solid = 0
                for x in range(faces):
                    own = int64(x == second) + int64(x == f and not share)
                    table[x] = known[i, x] - cards[i, j, x] - (x == told) + own
                    left[x] = pool[i, x] + cards[i, j, x] + (x == told) - own
                    if kind[x] == DRAW:
                        left[x] = 0
                    solid += left[x]
                hidden = need + (kind[f] == DRAW)
                plain = hits == 0 and kind[f] != MAX0 and kind[f] != MAX_MINUS
                out = odds[row]
                out[:] = 0.0
                middle, stretch = 0, 0
                if hidden > 1 and size > 0:
                    table[fed[i, TYPICAL // 2]] += hidden - 1
                    # With a card in the middle two are hidden as a rule, and seats would be too sure if the second were
                    # a typical one and no more: so the first stands as far from the median as both may together.
                    middle, stretch = value[fed[i, TYPICAL // 2]], rules[0]["peek"] * 2 * (hidden - 1)
                base = count_cards(rules, table)
                if hidden == 0 or solid == 0:
                    out[min(max(base - lowest, 0), top)] = 1.0
                for x in range(faces if hidden > 0 else 0):
                    if left[x] > 0:
                        total = base + (value[x] << (doubles + (kind[f] == X2)))
                        if not plain or (kind[x] != NUMBER and kind[x] != NIGHT):
                            table[x] += 1
                            total = count_cards(rules, table)
                            table[x] -= 1
                        if kind[x] == NUMBER:
                            total += (value[x] - middle) * stretch // 5  # 2 / 5 is about sqrt(2) - 1
                        out[min(max(total - lowest, 0), top)] += left[x] / solid
                reached_odds = 0.0
                for b in range(top, -1, -1):
                    reached_odds += out[b]
                    out[b] = reached_odds
                row += 1
        for z in range(TYPICAL):
            fed[i, z] = value[fed[i, z]] if size > 0 else 0


@njit(
    types.void(
        _i1, _mask, _i2, _i3, _i2, _f3, _f2, _i3, _i3, _f2, types.int64, _i2, _f2, _f1,
        _f3, _f3, _f2, _f1, _f1, _f2, _i1, _i1,
    )
)  # fmt: skip
def decide_many(
    ids: Any,
    masks: Any,
    facts: Any,
    history: Any,
    live: Any,
    value: Any,
    weight: Any,
    tail: Any,
    shift: Any,
    odds: Any,
    lowest: Any,
    fed: Any,
    doubts: Any,
    par: Any,
    belief: Any,
    raised: Any,
    after: Any,
    truth: Any,
    ahead: Any,
    sums: Any,
    follow: Any,
    actions: Any,
) -> None:
    """Chooses an action for each row i.

    In case c of the own cards, of weight ``weight[i, c]``, seat j gives the odds ``odds[tail[i, j, c]]`` to totals from
    ``lowest`` on, with ``shift[i, j, c]`` to be added to them. ``value[i, s, k]``: worth of k's losing s + 1 lives.
    ``fed[i]``: what another feather may add. Of a round's numbers those from ``start`` on are looked at; g counts from
    there.

    To work in: belief (REACH, N + 1, C), raised (REACH + 1, N, C), after (N, C), truth, ahead (REACH,),
    sums (REACH, 3), follow (N,).
    """
    n = live.shape[1]
    width = odds.shape[1] - 1
    for i in range(len(actions)):
        w, mask = weight[i], masks[i]
        # Cases that cannot be are left out: they would add nothing, at the price of the others.
        size = 0
        for c in range(weight.shape[1]):
            if w[c] > 0:
                w[size] = w[c]
                for j in range(n):
                    tail[i, j, size], shift[i, j, size] = tail[i, j, c], shift[i, j, c]
                size += 1
        bid, before, announcer = facts[i, BID], facts[i, BEFORE], facts[i, ANNOUNCER]
        count = 0
        for k in range(n):
            count += live[i, k]

        # Weigh the cases by what was said: who did not challenge a number rather believed it, who jumped too.
        total = 0.0
        for c in range(size):
            for h in range(facts[i, SPOKEN]):
                j, kind, number = history[i, h, 0], history[i, h, 1], history[i, h, 2]
                if j == 0 or live[i, j] == 0:
                    continue
                prior = history[i, h - 1, 2] if h > 0 else 0
                row, zero = tail[i, j, c], shift[i, j, c] + lowest
                if kind <= 1 and prior > 0:
                    p = odds[row, min(max(prior - zero, 0), width)]
                    w[c] *= 1.0 - par[P_EVIDENCE] * doubts[count, int(p * (LEVELS - 1) + 0.5)]
                if kind != 1 and number > prior + 1:
                    p = odds[row, min(max(number - zero, 0), width)]
                    w[c] *= par[P_FLOOR] + (1.0 - par[P_FLOOR]) * p
            total += w[c]
        for c in range(size):
            w[c] /= total

        # belief[g, 0]: P(total >= number); belief[g, j]: that j challenges it. The outlook ends where all surely do.
        start = bid
        if ids[AGAIN] >= 0 and mask[ids[AGAIN]] == 1:
            start = max(before, bid - REACH // 2)
        standing = bid - start
        least = standing + 1 + facts[i, AGAIN_DUE]  # one number can be announced, and the next may be the refused one
        most = min(facts[i, CAP] - start, REACH - 1)
        last = -1
        sure = False
        while last < most and not (sure and last >= least):
            last += 1
            sure = True
            for j in range(n):
                if live[i, j] == 0:
                    continue
                believed = 0.0
                for c in range(size):
                    p = odds[tail[i, j, c], min(max(start + last - shift[i, j, c] - lowest, 0), width)]
                    if j > 0:
                        p = doubts[count, int(p * (LEVELS - 1) + 0.5)]
                    belief[last, j, c] = p
                    believed += w[c] * p
                if j == 0:
                    truth[last] = believed
                elif believed < par[P_SURE]:
                    sure = False
        belief[last, 1:] = 1.0

        # raised[g, j]: what it is worth to the own seat, case by case, that j raises g. First for the order turned
        # round, if `reverse` can do that.
        turned = 0.0
        may_reverse = ids[REVERSE] >= 0 and mask[ids[REVERSE]] == 1 and standing < last
        for way in range(0 if may_reverse else 1, 2):
            step = facts[i, DIRECTION] * (2 * way - 1)
            for j in range(n):
                k = (j + step + n) % n
                while live[i, k] == 0:
                    k = (k + step + n) % n
                follow[j] = k
            raised[last + 1] = 0.0
            after[:] = 0.0
            own, best = -1e9, -1e9  # the worth of announcing g + 1 oneself; of the best number above g
            for g in range(last, -1, -1):
                for j in range(n):
                    # Others announce the next number, or jump; the own seat its best one.
                    mix = 1.0 - par[P_JUMP] if g < last - 1 else 1.0
                    if j == 0:
                        mix = 1.0 if own > best else 0.0
                    for c in range(size):
                        raised[g, j, c] = raised[g + 1, j, c] + mix * (after[j, c] - raised[g + 1, j, c])
                best = max(own, best)
                ahead[g] = best
                for j in range(n):
                    k = follow[j]
                    q = k
                    if k == 0:  # the own answer cannot depend on the case
                        q = n
                        call = truth[g] * value[i, 0, 0] + (1.0 - truth[g]) * value[i, 0, j]
                        belief[g, n] = 1.0 if g == last or call >= best else 0.0
                    lost, more = value[i, 0, j], value[i, 0, k] - value[i, 0, j]
                    for c in range(size):
                        passed = raised[g, k, c]
                        after[j, c] = passed + belief[g, q, c] * (lost + belief[g, 0, c] * more - passed)
                own = 0.0
                for c in range(size):
                    own += w[c] * after[0, c]
                if way == 0 and g == standing:
                    for c in range(size):
                        turned += w[c] * raised[g, announcer, c]

        # Replies.
        best_value = -1e9
        action = -1
        if mask[ids[CHALLENGE]] == 1:
            true, stake = truth[standing], facts[i, DOUBLED]
            best_value = true * value[i, stake, 0] + (1.0 - true) * value[i, stake, announcer]
            action = ids[CHALLENGE]
        if may_reverse and turned - par[P_COST] > best_value:
            best_value = turned - par[P_COST]
            action = ids[REVERSE]
        if ids[AGAIN] >= 0 and mask[ids[AGAIN]] == 1:
            worth = -par[P_COST]
            for lower in (before + 1, bid + 1):  # the new number: as likely the least one as the next higher one
                g = min(max(lower + (lower == bid) - start, 0), last)
                call = truth[g] * value[i, 0, 0] + (1.0 - truth[g]) * value[i, 0, announcer]
                worth += 0.5 * max(ahead[g], call)
            if worth > best_value:
                best_value = worth
                action = ids[AGAIN]

        # Announcements, with all that may be declared before them: who must answer, who gets a feather, the double.
        may_double = ids[DOUBLE] >= 0 and mask[ids[DOUBLE]] == 1
        may_idem = ids[IDEM] >= 0 and mask[ids[IDEM]] == 1
        number, answerer, fed_one, told, calls_next = -1, 0, 0, 0, False  # the best one, and what comes with it
        natural = facts[i, WAITING] if facts[i, AGAIN_DUE] == 1 else follow[0]
        for k in range(1, n):
            named = k != natural and facts[i, NAMED] < 0
            if live[i, k] == 0 or (facts[i, NAMED] >= 0 and k != facts[i, NAMED]):
                continue
            if named and (ids[NEXT_IS] < 0 or mask[ids[NEXT_IS] + k - 1] == 0):
                continue
            # Seat k must answer g. It calls and the number is true; it calls and it is false; it raises (worth).
            for g in range(standing, last + 1):
                called, true, passed = 0.0, 0.0, 0.0
                for c in range(size):
                    p = w[c] * belief[g, k, c]
                    called += p
                    true += p * belief[g, 0, c]
                    passed += (w[c] - p) * raised[g, k, c]
                sums[g, 0], sums[g, 1], sums[g, 2] = true, called - true, passed
            feather = facts[i, FED]
            if feather < 0 and ids[EXTRA_FEATHER] >= 0:
                for j in range(1, n):  # the answering seat if possible: it does not see what it then wears
                    if mask[ids[EXTRA_FEATHER] + j - 1] == 1 and feather != k:
                        feather = j
            for way in range(4):
                feed, doubled = way // 2, way % 2
                new_feather, new_double = feed - (facts[i, FED] >= 0), doubled - facts[i, DECLARED]
                if new_feather < 0 or new_double < 0:
                    continue
                if (feed > 0 and feather < 0) or (new_double > 0 and not may_double):
                    continue
                cost = par[P_COST] * (named + new_feather + new_double)
                plain = not named and way == 0
                for g in range(standing if plain and may_idem else standing + 1, last + 1):
                    if g > standing and mask[ids[FIRST] + start + g - 1] == 0:
                        continue
                    worth = -cost if g > standing else -par[P_COST]
                    for z in range(TYPICAL):
                        h = min(max(g - feed * fed[i, z], standing), last)
                        answer = sums[h, 0] * value[i, doubled, k] + sums[h, 1] * value[i, doubled, 0] + sums[h, 2]
                        worth += answer / TYPICAL
                    if worth > best_value:
                        best_value, number, answerer, fed_one, told = worth, g, k, new_feather * feather, new_double
                        calls_next = named
        if number >= 0:
            if told > 0:
                action = ids[DOUBLE]
            elif fed_one > 0:
                action = ids[EXTRA_FEATHER] + fed_one - 1
            elif calls_next:
                action = ids[NEXT_IS] + answerer - 1
            elif number == standing:
                action = ids[IDEM]
            else:
                action = ids[FIRST] + start + number - 1
        if action < 0:  # a number is due and none within the outlook is legal: the least one
            for least in range(len(mask) - 1, ids[FIRST] - 1, -1):
                action = least if mask[least] == 1 else action
        actions[i] = action


# -------------------------------------------------------------------------------------------------------------
# Policies


# By live seats. `python -m tests.tune_bots thresholds --seats 2 6` puts the best at 0.220 +- 0.009 for two (0.19 costs
# 0.7% of wins), 0.169 +- 0.017 for three and 0.111 +- 0.048 for four. For five and six its 2,048 games a round do not
# tell (errors above 0.5), and seven and more were not measured: those are guesses.
THRESHOLDS = {2: 0.19, 3: 0.16, 4: 0.145, 5: 0.1, 6: 0.1, 7: 0.1, 8: 0.1, 9: 0.1, 10: 0.1}


def standing_odds(game: Game, view: View, above: int = 0) -> Reals:
    """P(total >= standing number + ``above``), (B,), exact, from what each seat sees before a reveal."""
    odds = np.empty(len(view.facts))
    facts = view.facts.copy()
    facts[:, BID] += above
    odds_many(game.rules, view.known, view.pool, view.refill, facts, np.empty(2), odds)
    return odds


def settle(game: Game, view: View, action_mask: NDArray[np.int8], actions: Ints) -> NDArray[np.bool_]:
    """Fills in ``actions`` (B,) where a challenge is being settled, and returns which these are, bool (B,).

    Points at the likelier winner. Of the Peek cards it keeps the open ones, which are worth a look each.
    """
    ids = game.action_id
    settling = np.zeros(len(actions), np.bool_)
    if "discard_closed" in ids:
        discards = action_mask[:, ids["discard_closed"]] == 1
        actions[discards] = ids["discard_closed"]
        settling |= discards
    if "point_announcer" in ids:
        points = action_mask[:, ids["point_announcer"]] == 1
        rows = np.flatnonzero(points)
        holds = standing_odds(game, view.rows(rows)) >= 0.5
        actions[rows] = np.where(holds, ids["point_announcer"], ids["point_challenger"])
        settling |= points
    return settling


LOOK = 0.5  # plus-one looks at a card, the centre's or the Coyote card's, before it raises what is less likely to hold


class PlusOne:
    """Announces the least legal number; challenges when the exact odds of the standing one are under a threshold.

    If they are not, but under LOOK, it peeks or uses the Coyote card first. That is worth a lot: one that does wins
    38.1% [36.6%, 39.6%] of 4,000 games of "peek" with three that never do (0.3 for LOOK: 34.0%, 0.8: 37.3%), and 43.2%
    [41.7%, 44.7%] of "trickster" (40.5% without the Coyote card).

    Wins 99.7% to 100% of games against three ``random`` (`coyote match plus-one random random random`).
    """

    name = "plus-one"

    def __init__(self, game: Game, thresholds: Mapping[int, float] = THRESHOLDS) -> None:
        self.game = game
        self._thresholds = np.zeros(MAX_SEATS + 1)
        self._thresholds[list(thresholds)] = list(thresholds.values())

    def act(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8], rng: np.random.Generator) -> Ints:
        """One legal action a row, int64 (B,)."""
        observation, action_mask = checked(self.game, self.name, observation, action_mask)
        view = View(self.game, observation).playable(self.game)
        odds = standing_odds(self.game, view)
        ids = self.game.action_id
        bids = action_mask[:, ids["bid_1"] :]
        actions: Ints = ids["bid_1"] + bids.argmax(axis=1)
        for look in ("peek", "coyote"):
            if look in ids:
                actions[(odds < LOOK) & (action_mask[:, ids[look]] == 1)] = ids[look]
        doubt = (odds < self._thresholds[view.live.sum(axis=1)]) | ~bids.any(axis=1)
        actions[doubt & (action_mask[:, ids["challenge"]] == 1)] = ids["challenge"]
        settle(self.game, view, action_mask, actions)
        return answered(self.name, actions, action_mask)


class Bayes:
    """Weighs what its own card can be by what the others announced, and plays what then has the best expected value.

    It takes the others for players like plus-one, but softer. Share of wins against plus-one in all other seats, 2,000
    games each, `coyote match bayes plus-one ...` with as many as there are seats:

    ===========================================  =====  ==============  ====
    seats                                        wins   95%             fair
    ===========================================  =====  ==============  ====
    2                                            79.7%  77.5% to 81.7%  50%
    3                                            82.2%  80.0% to 84.2%  33%
    4                                            84.6%  82.2% to 86.7%  25%
    6                                            84.2%  81.7% to 86.5%  17%
    6, --set deck=classic-36 --set variants=none 42.0%  39.0% to 45.2%  17%
    4, --set edition=animals                     54.9%  51.6% to 58.2%  25%
    4, --set edition=peek                        42.7%  39.9% to 45.6%  25%
    4, --set edition=trickster                   40.0%  37.2% to 42.8%  25%
    ===========================================  =====  ==============  ====

    Its parameters are chosen by games among versions of itself: with tau 0.3, floor 0.1 and cost 0.01, as they were, a
    few points more of plus-one's tables are won in some editions, but one of these versions wins 34.6% (31.8% to 37.5%)
    at a table of three of those (animals: 32.9%; classic-36 at six seats: 20.4%, 18.3% to 22.8%).

    Looking at cards is what counts with Peek cards: ``look=0``, never, wins 31.3% (28.8% to 33.9%) in "peek" and 22.9%
    (20.6% to 25.3%) in "trickster".
    """

    name = "bayes"

    def __init__(self, game: Game, thresholds: Mapping[int, float] = THRESHOLDS, **parameters: float) -> None:
        self.game = game
        unknown = set(parameters) - set(PARAMETERS)
        if unknown:
            raise TypeError(f"bayes: no parameters {sorted(unknown)}; there are {list(PARAMETERS)}")
        chosen = PARAMETERS | parameters
        self._par = np.array(list(chosen.values()))
        ids = game.action_id
        self._ids = np.array([ids.get(name, -1) for name in NAMES], np.int64)
        p = np.clip(np.linspace(0, 1, LEVELS), 1e-6, 1 - 1e-6)
        self._doubts = np.zeros((MAX_SEATS + 1, LEVELS))
        for live, threshold in thresholds.items():
            threshold = threshold * chosen["scale"]
            ratio = p / (1 - p) * (1 - threshold) / threshold
            self._doubts[live] = chosen["eps"] + (1 - 2 * chosen["eps"]) / (1 + ratio ** (1 / chosen["tau"]))
        faces = int(game.rules[0]["num_faces"])
        self._kind, self._value = (game.rules[0][name][:faces].astype(np.int64) for name in ("kind", "value"))
        self._lowest = min(game.config.total_bounds(live)[0] for live in range(2, game.num_seats + 1))
        self._width = game.config.max_bid() - self._lowest + 2

    def act(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8], rng: np.random.Generator) -> Ints:
        """One legal action a row, int64 (B,)."""
        observation, action_mask = checked(self.game, self.name, observation, action_mask)
        actions: Ints = np.argmax(action_mask, axis=1)
        several = np.flatnonzero(np.count_nonzero(action_mask, axis=1) > 1)
        view = View(self.game, observation[several]).playable(self.game)
        if self.game.config.peek:
            chosen = actions[several]
            settled = settle(self.game, view, action_mask[several], chosen)
            actions[several] = chosen
            view, several = view.rows(np.flatnonzero(~settled)), several[~settled]
        two = view.facts[:, HIDDEN] - view.facts[:, MIDDLE] > 1
        worth = self._worth(view)  # of all at once: for 32 rows at a time the calls would cost more than the work
        for kind in (np.flatnonzero(~two), np.flatnonzero(two)):
            for begin in range(0, len(kind), ROWS):
                rows = kind[begin : begin + ROWS]
                part = view if len(rows) == len(several) else view.rows(rows)
                actions[several[rows]] = self._decide(part, action_mask[several[rows]], worth[rows])
        if self.game.config.peek:
            actions[several] = self._look(view, action_mask[several], actions[several])
        return answered(self.name, actions, action_mask)

    def _look(self, view: View, action_mask: NDArray[np.int8], actions: Ints) -> Ints:
        """``actions`` (B,), but first a look at a card where the number is in doubt and there is one to be had.

        Who looks must announce, so only who would announce anyway looks.
        """
        ids = self.game.action_id
        announces = (actions != ids["challenge"]) & ~np.isin(actions, self._ids[[IDEM, REVERSE, AGAIN]])
        looks = np.full(len(actions), -1)
        for look in ("peek", "coyote"):
            if look in ids:
                looks[announces & (action_mask[:, ids[look]] == 1)] = ids[look]
        can = np.flatnonzero(looks >= 0)
        doubtful = can[standing_odds(self.game, view.rows(can), 1) < self._par[P_LOOK]]
        actions[doubtful] = looks[doubtful]
        return actions

    def _worth(self, view: View) -> Reals:
        """What it is worth to the own seat that seat k loses s + 1 lives now, (B, 2, N).

        Lives, whatever the reward is: a life lost costs 1, and pays the others in equal parts. That is what
        reward="round" pays. To reckon with who is likely to be out first, and so win, was tried and plays worse: one
        that counts lives wins 35.9% (33.7% to 38.2%) of 2,000 games with three such, four seats and reward="win".
        """
        n = self.game.num_seats
        own = np.arange(n) == 0
        if self.game.config.game_end == "first_loss":
            return np.broadcast_to(np.where(own, -1.0, 1 / (n - 1)), (len(view.lives), 2, n)).copy()
        paid = np.minimum(np.array([1, 2])[:, None], view.lives[:, None])
        shares: Reals = np.where(own, -1.0 * paid, paid / (view.live.sum(axis=1)[:, None, None] - 1))
        return shares

    def _decide(self, view: View, action_mask: NDArray[np.int8], worth: Reals) -> Ints:
        """Actions for rows that all hide at most one card, or all hide two."""
        rules = self.game.rules
        size, n = view.live.shape
        kinds = TYPICAL if (view.facts[:, HIDDEN] - view.facts[:, MIDDLE] > 1).any() else 1
        cases = kinds * len(self._kind)
        weight, fed = np.empty((size, cases)), np.empty((size, TYPICAL), np.int64)
        tail, shift = np.empty((2, size, n, cases), np.int64)
        odds = np.empty((size * n * (cases + kinds), self._width))
        scratch = np.zeros((2, MAX_FACES), np.int32)
        imagine_many(
            rules,
            self._kind,
            self._value,
            view.facts,
            view.cards,
            view.known,
            view.pool,
            view.live,
            self._lowest,
            scratch,
            weight,
            tail,
            shift,
            odds,
            fed,
        )
        chosen = np.empty(size, np.int64)
        decide_many(
            self._ids,
            action_mask,
            view.facts,
            view.history,
            view.live,
            worth,
            weight,
            tail,
            shift,
            odds,
            self._lowest,
            fed,
            self._doubts,
            self._par,
            np.empty((REACH, n + 1, cases)),
            np.empty((REACH + 1, n, cases)),
            np.empty((n, cases)),
            np.empty(REACH),
            np.empty(REACH),
            np.empty((REACH, 3)),
            np.empty(n, np.int64),
            chosen,
        )
        return chosen


SCRIPTED: dict[str, Callable[[Game], Policy]] = {"random": Random, "plus-one": PlusOne, "bayes": Bayes}

complete(__name__)
