"""Scripted players of SCOUT: ``random``, ``greedy-show`` and ``planner``.

All of them read the observation of their seat and the mask, nothing else, and remember nothing between decisions.
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
from .engine import INSERT, ORIENT, RULES, strength, turn
from .rules import MAX_HAND, MAX_SHOW

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]

# ---------------------------------------------------------------------------------------------------------------
# What a seat sees, as whole numbers

# Columns of View.facts.
PHASE, HELD, SHOWN, OWNER, SCOUTS, INSERTING, SPARE, TURNS_LEFT = range(8)
FACTS = 8


class View:
    """The observations of B seats, taken apart; seats are relative, 0 is the own one.

    hand (B, MAX_HAND + 1), active (B, MAX_SHOW): cards as the engine has them, 0 behind the last. sizes, captured,
    tokens (B, N). facts (B, FACTS). All int64. Raises ValueError for what no table shows.
    """

    def __init__(self, game: Game, observation: NDArray[np.float32]) -> None:
        def whole(section: str, scale: float = 10.0) -> Ints:
            numbers: Ints = np.rint(game.layout.view(observation, section) * scale).astype(np.int64)
            return numbers

        def cards(section: str, width: int) -> Ints:
            pairs = whole(section)
            padded = np.zeros((len(pairs), width), np.int64)
            padded[:, : pairs.shape[1]] = pairs[..., 0] * 16 + pairs[..., 1]
            return padded

        self.hand = cards("hand", MAX_HAND + 1)
        self.active = cards("active", MAX_SHOW)
        self.sizes, self.captured, self.tokens = whole("hand_size"), whole("captured"), whole("tokens")
        facts = self.facts = np.zeros((len(observation), FACTS), np.int64)
        facts[:, PHASE] = whole("phase", 1).argmax(axis=1)
        facts[:, HELD] = self.sizes[:, 0]
        facts[:, SHOWN] = (self.active > 0).sum(axis=1)
        owner = whole("owner", 1)
        facts[:, OWNER] = np.where(owner.any(axis=1), owner.argmax(axis=1), -1)
        facts[:, SCOUTS] = whole("scouts", game.num_seats)[:, 0]
        numbers = np.arange(1, 11)
        taken, upper = whole("inserting", 1) @ numbers, whole("inserting_upper", 1) @ numbers
        facts[:, INSERTING] = np.where(upper > 0, upper * 16 + taken - upper, 0)
        if game.num_seats > 2:
            facts[:, SPARE] = whole("scout_show", 1)[:, 0]
        facts[:, TURNS_LEFT] = whole("turns_left", game.config.stall_limit)[:, 0]
        most = game.config.max_hand
        for row, count, what in ((self.hand, facts[:, HELD], "hand"), (self.active, facts[:, SHOWN], "Show")):
            filled = np.arange(row.shape[1]) < count[:, None]
            possible(game.name, ((row > 0) == filled).all(axis=1), f"its {what} has gaps, or another size")
        possible(game.name, (self.sizes[:, 1:] > 0).all(axis=1), "somebody has no cards left, and yet play goes on")
        possible(
            game.name, (facts[:, INSERTING] == 0) | (facts[:, HELD] < most), "a card cannot be put into a full hand"
        )


# ---------------------------------------------------------------------------------------------------------------
# Greedy


class GreedyShow:
    """Shows the most cards it can, of those the strongest; else scouts the card, and inserts it where, the longest
    Show of its hand becomes best. It never uses scout and show."""

    name = "greedy-show"

    def __init__(self, game: Game) -> None:
        self.game = game

    def act(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8], rng: np.random.Generator) -> Ints:
        """One legal action a row, int64 (B,)."""
        observation, action_mask = checked(self.game, self.name, observation, action_mask)
        view = View(self.game, observation)
        actions = np.full(len(observation), -1)
        greedy_many(
            self.game.rules, view.facts, view.hand, view.active, action_mask, np.empty(MAX_HAND + 2, np.int64), actions
        )
        return answered(self.name, actions, action_mask)


_rules = types.Array(numba.from_dtype(RULES), 1, "C", readonly=True)
_i1, _i2 = types.int64[::1], types.int64[:, ::1]
_f1, _f2 = types.float64[::1], types.float64[:, ::1]
_mask = types.int8[:, ::1]


@njit(inline=True)
def put(hand: Any, held: int, card: int, at: int, after: Any) -> None:
    """``after``: the hand with a card inserted."""
    for p in range(held + 1):
        after[p] = hand[p] if p < at else card if p == at else hand[p - 1]


@njit(inline=True)
def drop(hand: Any, held: int, start: int, length: int, after: Any) -> None:
    """``after``: the hand without ``length`` cards from ``start`` on."""
    for p in range(held - length):
        after[p] = hand[p] if p < start else hand[p + length]


@njit(inline=True)
def strength_of(hand: Any, start: int, length: int) -> int:
    """Strength of a Show of a hand, as in engine.strength."""
    first, last = hand[start] >> 4, hand[start + length - 1] >> 4
    return strength(length, int64(length > 1 and first == last), min(first, last))


@njit(inline=True)
def rest_of(active: Any, shown: int, end: int) -> int:
    """Strength of the active Show without its left (0) or right (1) end."""
    return strength_of(active, 1 - end, shown - 1) if shown > 1 else 0


@njit()
def best_show(hand: Any, held: int) -> int:
    """Strength of the best Show of a hand."""
    best = 0
    before = int64(-9)
    equal = rise = fall = int64(0)
    for p in range(held):
        number = hand[p] >> 4
        equal = equal + 1 if number == before else 1
        rise = rise + 1 if number == before + 1 else 1
        fall = fall + 1 if number == before - 1 else 1
        best = max(best, strength(equal, int64(equal > 1), number), strength(rise, int64(0), number - rise + 1))
        best = max(best, strength(fall, int64(0), number))
        before = number
    return best


@njit(types.void(_rules, _i2, _i2, _i2, _mask, _i1, _i1))
def greedy_many(rules: Any, facts: Any, hands: Any, actives: Any, masks: Any, after: Any, actions: Any) -> None:
    """GreedyShow's actions. To work in: ``after`` (MAX_HAND + 1,)."""
    r = rules[0]
    for i in range(len(facts)):
        hand, active, mask = hands[i], actives[i], masks[i]
        held, shown = facts[i, HELD], facts[i, SHOWN]
        if facts[i, PHASE] == ORIENT:
            for p in range(held):
                after[p] = turn(hand[p])
            actions[i] = 1 if best_show(after, held) > best_show(hand, held) else 0
            continue
        most = -1
        for length in range(1, r["max_show"] + 1):
            for start in range(held - length + 1):
                action = r["show"][length] + start
                if mask[action] and strength_of(hand, start, length) > most:
                    most = strength_of(hand, start, length)
                    actions[i] = action
        if most >= 0:
            continue
        if facts[i, INSERTING]:
            for at in range(held + 1):
                if mask[r["insert"] + at]:
                    put(hand, held, facts[i, INSERTING], at, after)
                    if best_show(after, held + 1) > most:
                        most = best_show(after, held + 1)
                        actions[i] = r["insert"] + at
            continue
        for choice in range(4):
            if mask[r["scout"] + choice]:
                card = active[shown - 1 if choice >= 2 else 0]
                card = turn(card) if choice & 1 else card
                for at in range(held + 1):
                    put(hand, held, card, at, after)
                    if best_show(after, held + 1) > most:
                        most = best_show(after, held + 1)
                        actions[i] = r["scout"] + choice


# ---------------------------------------------------------------------------------------------------------------
# Planner

# Parameters of `planner`, in the order of the array that the kernel reads.
PARAMETERS = (
    "single", "single_number",  # worth of a card on its own, and more of it for each of its number
    "pair", "three", "four", "more",  # worth of a Show of two, three, four cards; for each card beyond
    "equal", "number",  # more for equal ones; for each of the smallest number
    "card",  # what a card in another's hand is expected to cost it
    "token",  # what a token given to another costs
    "spare",  # what it is worth to keep scout and show
    "hold",  # what having the active Show is worth for each of its cards beyond the first
    "early",  # what each card left in the hand costs more, the fewer cards the shortest other hand has
)  # fmt: skip
(
    P_SINGLE, P_SINGLE_NUMBER, P_PAIR, P_THREE, P_FOUR, P_MORE, P_EQUAL, P_NUMBER, P_CARD, P_TOKEN, P_SPARE, P_HOLD,
    P_EARLY,
) = range(13)  # fmt: skip


@njit(inline=True)
def group_worth(par: Any, length: int, equal: int, least: int) -> float:
    """What a Show still in the hand is expected to bring."""
    worth: float = par[P_SINGLE] + par[P_SINGLE_NUMBER] * least
    if length > 1:
        worth = par[P_EQUAL] * equal + par[P_NUMBER] * least
        if length == 2:
            worth += par[P_PAIR]
        elif length == 3:
            worth += par[P_THREE]
        else:
            worth += par[P_FOUR] + par[P_MORE] * (length - 4)
    return worth


@njit()
def hand_worth(hand: Any, held: int, par: Any, best: Any) -> float:
    """What a hand is expected to bring until the end of the round: the best way to part it into neighbouring Shows.
    To work in: ``best`` (MAX_HAND + 2,)."""
    best[0] = 0.0
    before = int64(-9)
    equal = rise = fall = int64(0)
    for p in range(held):
        number = hand[p] >> 4
        equal = equal + 1 if number == before else 1
        rise = rise + 1 if number == before + 1 else 1
        fall = fall + 1 if number == before - 1 else 1
        most = best[p] + group_worth(par, int64(1), int64(0), number)
        for length in range(2, max(equal, rise, fall) + 1):
            if length <= equal:
                most = max(most, best[p + 1 - length] + group_worth(par, length, int64(1), number))
            if length <= rise:
                most = max(most, best[p + 1 - length] + group_worth(par, length, int64(0), number - length + 1))
            if length <= fall:
                most = max(most, best[p + 1 - length] + group_worth(par, length, int64(0), number))
        best[p + 1] = most
        before = number
    whole: float = best[held]
    return whole


@njit()
def show_worth(
    sizes: Any, points: Any, i: int, hand: Any, held: int, start: int, length: int, shown: int,
    par: Any, after: Any, best: Any,
) -> float:  # fmt: skip
    """What it is worth to show these cards of ``hand`` when ``shown`` cards are captured by it."""
    n = sizes.shape[1]
    ahead = float(points[i, 0] + shown)
    others = 0.0  # mean points of the others
    cards = 0.0  # mean cards left in their hands
    for k in range(1, n):
        others += float(points[i, k] / (n - 1))
        cards += float(sizes[i, k] / (n - 1))
    if length == held:  # the round is over, and they pay for their hands
        return ahead - others + cards
    drop(hand, held, start, length, after)
    left = held - length
    fewest = int64(99)
    for k in range(1, n):
        fewest = min(fewest, sizes[i, k])
    worth = float(par[P_HOLD] * (length - 1) - par[P_EARLY] * left / fewest + par[P_CARD] * cards)
    return ahead - others + worth + hand_worth(after, left, par, best)


@njit()
def best_next(
    sizes: Any, points: Any, i: int, hand: Any, held: int, stands: int, shown: int,
    par: Any, after: Any, best: Any,
) -> float:  # fmt: skip
    """What the best Show of ``hand`` that beats ``stands`` is worth; -1e9 where there is none."""
    most = -1e9
    for start in range(held):
        equal = rise = fall = True
        for length in range(1, held - start + 1):
            if length > 1:
                step = (hand[start + length - 1] >> 4) - (hand[start + length - 2] >> 4)
                equal, rise, fall = equal and step == 0, rise and step == 1, fall and step == -1
                if not (equal or rise or fall):
                    break
            if strength_of(hand, start, length) > stands:
                worth = show_worth(sizes, points, i, hand, held, start, length, shown, par, after, best)
                most = max(most, worth)
    return most


@njit(types.void(_rules, _i2, _i2, _i2, _i2, _i2, _mask, _f1, _i2, _f1, _i1))
def plan_many(
    rules: Any, facts: Any, hands: Any, actives: Any, sizes: Any, points: Any, masks: Any, par: Any, work: Any,
    best: Any, actions: Any,
) -> None:  # fmt: skip
    """Planner's actions. ``points`` (B, N): of the round so far. To work in: ``work`` (2, MAX_HAND + 2), ``best``
    (MAX_HAND + 2,)."""
    r = rules[0]
    n = int64(r["num_players"])
    grown, after = work[0], work[1]
    for i in range(len(facts)):
        hand, active, mask = hands[i], actives[i], masks[i]
        held, shown = facts[i, HELD], facts[i, SHOWN]
        if facts[i, PHASE] == ORIENT:
            for p in range(held):
                after[p] = turn(hand[p])
            turned = hand_worth(after, held, par, best)
            actions[i] = 1 if turned > hand_worth(hand, held, par, best) else 0
            continue
        most = -1e18
        stands = strength_of(active, int64(0), shown) if shown > 0 else int64(0)
        if facts[i, INSERTING]:
            for at in range(held + 1):
                if mask[r["insert"] + at]:
                    put(hand, held, facts[i, INSERTING], at, grown)
                    if facts[i, PHASE] == INSERT:
                        worth = hand_worth(grown, held + 1, par, best)
                    else:
                        worth = best_next(sizes, points, i, grown, held + 1, stands, shown, par, after, best)
                    if worth > most:
                        most = worth
                        actions[i] = r["insert"] + at
            continue
        for length in range(1, r["max_show"] + 1):
            for start in range(held - length + 1):
                if mask[r["show"][length] + start]:
                    worth = show_worth(sizes, points, i, hand, held, start, length, shown, par, after, best)
                    if worth > most:
                        most = worth
                        actions[i] = r["show"][length] + start

        # What a scout is worth: the hand with the card where it does best, less the token.
        others, cards, fewest = 0.0, 0.0, int64(99)
        for k in range(1, n):
            others += points[i, k] / (n - 1)
            cards += sizes[i, k] / (n - 1)
            fewest = min(fewest, sizes[i, k])
        ends = facts[i, SCOUTS] == n - 2 and n > 2  # (ii): a scout ends the round
        spared = facts[i, OWNER] if ends and r["rulebook"] else int64(-1)
        for choice in range(4):
            card = active[shown - 1 if choice >= 2 else 0]
            card = turn(card) if choice & 1 else card
            if mask[r["scout"] + choice]:
                if ends:
                    worth = points[i, 0] - others - (held + 1) + cards - 1.0 / (n - 1)
                    if spared > 0:
                        worth -= sizes[i, spared] / (n - 1)
                else:
                    worth = -1e18
                    for at in range(held + 1):
                        put(hand, held, card, at, grown)
                        worth = max(worth, hand_worth(grown, held + 1, par, best))
                    worth += points[i, 0] - others + par[P_CARD] * cards - par[P_TOKEN]
                    worth -= par[P_EARLY] * (held + 1) / fewest
                if worth > most:
                    most = worth
                    actions[i] = r["scout"] + choice
            if r["scout_show"] >= 0 and mask[r["scout_show"] + choice]:
                rest = rest_of(active, shown, int64(choice >= 2))
                worth = -1e18
                for at in range(held + 1):
                    put(hand, held, card, at, grown)
                    worth = max(
                        worth,
                        best_next(sizes, points, i, grown, held + 1, rest, shown - 1, par, after, best),
                    )
                worth -= par[P_TOKEN] + par[P_SPARE]
                if worth > most:
                    most = worth
                    actions[i] = r["scout_show"] + choice


class Planner:
    """Weighs the position after each legal move: points, what the hand that is left can still show, the cards of the
    others, the token given away, and whether the round ends with it.

    A hand is worth the best way to part it into neighbouring Shows. Scout and show is planned to its end: the card, the
    place, the Show. A scout that would end the round for the owner of an unbeaten Show is scored as that end.
    """

    name = "planner"
    parameters: Mapping[str, float] = {
        "single": -1.11, "single_number": -0.02, "pair": -1.47, "three": -0.21, "four": 0.27, "more": 0.61,
        "equal": 0.22, "number": 0.05, "card": 0.77, "token": 0.49, "spare": 0.75, "hold": 0.14, "early": 0.52,
    }  # fmt: skip

    def __init__(self, game: Game, parameters: Mapping[str, float] | None = None) -> None:
        self.game = game
        chosen = dict(self.parameters) | dict(parameters or {})
        self._par = np.array([chosen[name] for name in PARAMETERS])

    def act(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8], rng: np.random.Generator) -> Ints:
        """One legal action a row, int64 (B,)."""
        observation, action_mask = checked(self.game, self.name, observation, action_mask)
        view = View(self.game, observation)
        actions = np.full(len(observation), -1)
        plan_many(
            self.game.rules,
            view.facts,
            view.hand,
            view.active,
            view.sizes,
            view.captured + view.tokens,
            action_mask,
            self._par,
            np.empty((2, MAX_HAND + 2), np.int64),
            np.empty(MAX_HAND + 2),
            actions,
        )
        return answered(self.name, actions, action_mask)


SCRIPTED: dict[str, Callable[[Game], Policy]] = {"random": Random, "greedy-show": GreedyShow, "planner": Planner}

complete(__name__)
