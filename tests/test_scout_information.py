"""SCOUT: what a seat cannot know does not reach it, and a redeal keeps what it knows, and no more.

What it knows, it sees: test_scout_against_reference.py compares every section of every seat's observation.
"""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from coyote_env import scout_v0
from coyote_env.scout.engine import HELD, PHASES, UNSEEN
from coyote_env.scout.rules import card_of
from tests.random_play import SCOUT_RUNS, choose, surprise
from tests.test_information import LIMIT, disturb_chance, paused, views


def number_of(card: int) -> int:
    return card_of(card >> 4, card & 15)


def numbers(states: NDArray[np.void], seat: int) -> list[int]:
    """Which cards a seat holds at the first table, from left to right."""
    s = states[0]
    return [number_of(int(card)) for card in s["hand"][seat, : s["hand_len"][seat]]]


def upside(number: int, way: int) -> int:
    """The card with this number as a byte, its smaller (0) or larger number (1) up."""
    high = next(high for high in range(2, 11) if high * (high - 1) // 2 > number)
    low = number - (high - 1) * (high - 2) // 2 + 1
    return (high << 4) | low if way else (low << 4) | high


def swap_hidden(s: Any, n: int, seat: int, rng: np.random.Generator) -> None:
    """Changes all that ``seat`` cannot know at one table, in place.

    Which cards the others hold, but for those that they have scouted; how these lie in their hands and which way up;
    which way up a card is that another seat is about to insert; and of two seats' cards which belong to the other half
    of the deck, unless it has seen them.
    """
    others = [other for other in range(n) if other != seat]
    slots = [(other, p) for other in others for p in range(int(s["hand_len"][other]))]
    cards = [number_of(int(s["hand"][slot])) for slot in slots]
    free = [k for k, card in enumerate(cards) if s["place"][card] == UNSEEN]
    pool = [cards[k] for k in free]
    outside: list[int] = []
    if n == 2:
        mine = 1 << (1 - seat)
        outside = (
            s["deck"][: s["deck_len"]].tolist() if s["round"] == 1 else np.flatnonzero(s["spent"] == mine).tolist()
        )
    pool = rng.permutation([*pool, *outside]).tolist()
    for k in free:
        cards[k] = pool.pop()
    if n == 2 and s["round"] == 1:
        s["deck"][: len(pool)] = pool
    elif n == 2:
        s["spent"][cards] = 0
        s["spent"][pool] = mine
    for other in others:
        held = rng.permutation([card for card, (holder, _) in zip(cards, slots, strict=True) if holder == other])
        s["hand"][other, : len(held)] = [upside(int(card), int(rng.integers(2))) for card in held]
    if s["inserting"] and s["seat"] != seat and rng.random() < 0.5:
        s["inserting"] = (int(s["inserting"]) & 15) << 4 | int(s["inserting"]) >> 4


def moved(batch: Any, now: NDArray[Any], seen: NDArray[Any], name: str) -> NDArray[np.bool_]:
    """At which tables a section differs, (T,)."""
    view = batch.game.layout.view
    changed: NDArray[np.bool_] = (view(now, name) != view(seen, name)).reshape(len(now), -1).any(axis=1)
    return changed


def check_hiding(batch: Any, steps: int, seed: int) -> Counter[str]:
    """Plays on and changes at each state what each seat cannot know; counts what was tried."""
    n = batch.game.num_seats
    rng = np.random.default_rng(seed)
    tried: Counter[str] = Counter()
    for _ in range(steps):
        states, masks, seen = batch.states.copy(), batch.action_mask.copy(), views(batch)
        for seat in range(n):
            for s in batch.states:
                swap_hidden(s, n, seat, rng)
            disturb_chance(batch.states, rng)
            now = views(batch)
            np.testing.assert_array_equal(now[seat], seen[seat])
            mine = states["seat"] == seat
            batch.refresh()
            np.testing.assert_array_equal(batch.action_mask[mine], masks[mine])  # nor does what is legal tell
            for other in range(n):
                if other == seat:
                    continue
                changed = moved(batch, now[other], seen[other], "hand")  # everybody sees its own hand
                same = [
                    bytes(old["hand"][other]) == bytes(new["hand"][other])
                    for old, new in zip(states, batch.states, strict=True)
                ]
                np.testing.assert_array_equal(changed, ~np.array(same))
                tried["hands"] += int(changed.sum())
                tried.update(f"in phase {PHASES[phase]}" for phase in states["phase"][changed])
                turned = states["inserting"] != batch.states["inserting"]
                tried["a card turned while it is inserted"] += int((turned & (states["seat"] == other)).sum())
                held = (states["place"] == HELD + other).any(axis=1)
                tried["beside a card it has scouted"] += int((changed & held).sum())
            tried["the other half of the deck"] += int((states["deck"] != batch.states["deck"]).any(axis=1).sum())
            tried["the half that was played"] += int((states["spent"] != batch.states["spent"]).any(axis=1).sum())
            batch.states[:] = states
        batch.refresh()
        batch.step(choose(batch, rng))
    return tried


@pytest.mark.parametrize("kwargs", SCOUT_RUNS.values(), ids=SCOUT_RUNS)
def test_what_a_seat_cannot_know_does_not_move_its_observation(kwargs):
    batch = scout_v0.batch(4, **kwargs)
    batch.reset(seed=5)
    tried = check_hiding(batch, 120, seed=5)
    assert tried["hands"] > 500
    phases = set(PHASES) - {"over"} - ({"show", "show_insert"} if batch.game.num_seats == 2 else set())
    assert {name for name in tried if name.startswith("in phase")} == {f"in phase {name}" for name in phases}
    assert tried["a card turned while it is inserted"] > 10
    assert tried["beside a card it has scouted"] > 10
    if batch.game.num_seats == 2:
        assert tried["the other half of the deck"] > 50
        assert tried["the half that was played"] > 50


@pytest.mark.engine
@pytest.mark.parametrize("num_players", [2, 3])
def test_hiding_holds_in_few_states_too(num_players):
    """For the runs with bounds checks and without compilation, and for mutants."""
    batch = scout_v0.batch(2, num_players=num_players, stall_limit=6)
    batch.reset(seed=2)
    assert check_hiding(batch, 25, seed=2)["hands"] > 20


@pytest.mark.engine
def test_how_a_seat_holds_its_hand_is_its_own_business():
    """G: simultaneous. Seat 0 has chosen; the others see the same, whichever it was."""
    seen = []
    for choice in ("keep", "flip"):
        env = scout_v0.env(num_players=3)
        env.reset(seed=3, options={"first": 0})
        env.step(env.action_id(choice))
        seen.append([env.observe(agent)["observation"] for agent in env.possible_agents])
    kept, flipped = seen
    assert (kept[0] != flipped[0]).any()
    for seat in (1, 2):
        np.testing.assert_array_equal(kept[seat], flipped[seat])


@pytest.mark.engine
def test_of_a_scout_the_others_see_the_card_and_the_end_not_the_way_up_nor_the_place():
    """G: which card, from which end. Turned or not, here or there: the same to all others."""
    hands = [[[2, 1], [3, 1], [9, 8]]]
    rest = [
        pair for pair in [(a, b) for b in range(2, 10) for a in range(1, b)] if pair not in ((1, 2), (1, 3), (8, 9))
    ]
    hands[0] += [[a, b] for a, b in rest[:9]]
    dealt = [hands[0], [[a, b] for a, b in rest[9:21]], [[a, b] for a, b in rest[21:33]]]
    during, after = [], []
    for way in ("as_is", "turned"):
        for place in (0, 5, 12):
            env = scout_v0.env(num_players=3)
            env.reset(seed=3, options={"first": 0, "hands": [dealt]})
            for action in ("keep", "keep", "keep", "show_0_2", f"scout_right_{way}"):
                env.step(env.action_id(action))
            during.append([env.observe(agent)["observation"] for agent in env.possible_agents])
            env.step(env.action_id(f"insert_{place}"))
            after.append([env.observe(agent)["observation"] for agent in env.possible_agents])
    for told in (during, after):
        for seat in (0, 2):
            assert len({observation[seat].tobytes() for observation in told}) == 1
        assert len({observation[1].tobytes() for observation in told}) == (2 if told is during else 6)


# --- redealing


@pytest.mark.parametrize("kwargs", SCOUT_RUNS.values(), ids=SCOUT_RUNS)
def test_a_redeal_keeps_all_that_the_seat_knows_and_conserves_the_cards(kwargs):
    differed = 0
    for seed in range(10):
        env = paused(kwargs, seed, turns=7 * seed, make=scout_v0.env)
        rng = np.random.default_rng(seed)
        saved = env.get_state()
        for seat, agent in enumerate(env.possible_agents):
            twin = env.redeal_hidden(seat, rng)
            before, after = env.observe(agent), twin.observe(agent)
            np.testing.assert_array_equal(after["observation"], before["observation"])
            np.testing.assert_array_equal(after["action_mask"], before["action_mask"])
            assert (twin.agents, twin.agent_selection) == (env.agents, env.agent_selection)
            assert twin.game.check_state(twin.game, twin._states) is None
            mine, theirs = env._states[0], twin._states[0]
            for field in ("hand_len", "captured", "tokens", "active", "place", "points", "returns", "owner", "stall"):
                np.testing.assert_array_equal(theirs[field], mine[field])
            np.testing.assert_array_equal(theirs["hand"][seat], mine["hand"][seat])
            differed += int((theirs["hand"] != mine["hand"]).any())
            if not env._states["over"][0]:
                assert twin.observe(twin.agent_selection)["action_mask"].any()
        assert env.get_state() == saved
    assert differed > 10


@pytest.mark.parametrize("kwargs", SCOUT_RUNS.values(), ids=SCOUT_RUNS)
def test_a_redeal_depends_on_nothing_that_the_seat_cannot_know(kwargs):
    """Two games that differ only in what a seat cannot know are, redealt alike, the same game, to the byte."""
    compared = 0
    for seed in range(8):
        env = paused(kwargs, seed, turns=6 * seed, make=scout_v0.env)
        if env._states["over"][0]:
            continue
        for seat in range(env.game.num_seats):
            other = copy.deepcopy(env)
            rng = np.random.default_rng(seed)
            swap_hidden(other._states[0], env.game.num_seats, seat, rng)
            disturb_chance(other._states, rng)
            other._tapes[:] = rng.integers(-1, len(env.game.outcomes), other._tapes.shape)
            assert other.get_state() != env.get_state()
            twins = [game.redeal_hidden(seat, np.random.default_rng(77)).get_state() for game in (env, other)]
            assert twins[0] == twins[1]
            compared += 1
    assert compared > 8


@pytest.mark.engine
def test_a_redeal_does_not_tell_which_way_up_another_seat_holds_the_card_it_has_taken():
    twins = []
    for way in ("as_is", "turned"):
        env = scout_v0.env(num_players=3)
        env.reset(seed=3, options={"first": 0})
        for action in ("keep", "keep", "keep", "show_0_1", f"scout_left_{way}"):
            env.step(env.action_id(action))
        twins.append([env.redeal_hidden(0, np.random.default_rng(seed))._states.tobytes() for seed in range(8)])
    assert twins[0] == twins[1]


@pytest.mark.parametrize("num_players", [2, 4])
def test_redealt_cards_are_drawn_evenly_from_what_the_seat_has_not_seen(num_players):
    """The leftmost card of the next seat, either way up: any card of the deck but the own ones."""
    env = scout_v0.env(num_players=num_players)
    env.reset(seed=3, options={"first": 0})
    own = set(numbers(env._states, 0))
    unseen = [card for card in range(env.game.config.deck_size) if card not in own]
    chance = 1 / (2 * len(unseen))
    expected = {upside(card, way): chance for card in unseen for way in (0, 1)}
    assert len(expected) == 2 * len(unseen)
    rng = np.random.default_rng(8)
    found = Counter(int(env.redeal_hidden(0, rng)._states["hand"][0, 1, 0]) for _ in range(1500))
    assert surprise(found, expected) < LIMIT
    biased = found.copy()  # the test has teeth: the true card shown a tenth too often would not pass
    biased[int(env._states["hand"][0, 1, 0])] += 150
    assert surprise(biased, expected) > LIMIT
