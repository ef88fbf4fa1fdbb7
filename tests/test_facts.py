"""The figures that a game gives as data: bounds that no play exceeds, and that the worst play reaches."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from coyote_env import coyote_v0, scout_v0
from coyote_env.core.game import STOP, STOPPED, Game
from coyote_env.coyote.engine import PHASES
from coyote_env.coyote.rules import Rules
from coyote_env.scout.rules import Rules as ScoutRules
from tests.random_play import choose

HOUSES = [
    Rules(),
    Rules(num_players=2),
    Rules(num_players=3, variants=("again", "idem")),
    Rules(num_players=3, variants="none"),
    Rules("mini"),
    Rules("mini", num_players=3, variants="all"),
    Rules(num_players=2, deck={"1": 3, "2": 1}, variants="all"),
    Rules(num_players=2, deck={"0": 1, "1": 1}, variants="all"),
    Rules("animals", num_players=3),
    Rules("peek", num_players=3),
    Rules("trickster"),
    Rules("trickster", num_players=3, variants="all"),
    Rules("peek", num_players=2, deck={"1": 3, "2": 1}),
]


def test_the_facts_are_the_games():
    game = coyote_v0.game()
    assert dataclasses.asdict(game.facts) == {
        "num_seats": 4,
        "num_actions": 121,
        "observation_size": 321,
        "num_outcomes": 19,
        "longest_game": 1237,
        "most_draws": 66,
        "min_return": -1 / 3,
        "max_return": 1.0,
        "returns_sum": 0.0,
    }
    assert coyote_v0.env().unwrapped.game.facts == game.facts
    scout = scout_v0.game()
    assert (scout.facts.num_outcomes, scout.facts.most_draws, scout.facts.returns_sum) == (88, 176, 0.0)
    assert (scout.facts.min_return, scout.facts.max_return) == (-1.0, 1.0)


# --- by playing as long as possible


def draw_out(env: Any, rng: np.random.Generator | None) -> int:
    """Plays one round in which seats do all to make it long. Returns its decisions.

    With ``rng`` the variants come at random moments, which changes who loses; without, as early as they can.
    """
    rules, view = env.unwrapped.game.config, env.unwrapped.layout.view
    top = rules.max_bid()
    decisions = 0
    while True:
        observation = env.observe(env.agent_selection)
        seen = observation["observation"]
        legal = [env.action_name(a) for a in np.flatnonzero(observation["action_mask"]).tolist()]
        bids = [name for name in legal if name.startswith("bid_")]
        once = [name for name in legal if name.split("+")[0] in {"peek", *rules.variants} and name != "again"]
        announced = int(view(seen, "history").any(axis=1).sum())
        cap = round(float(view(seen, "max_bid")[0]) * top)
        bid = round(float(view(seen, "bid")[0]) * top)
        waits = "again" in rules.variants and cap > 1 and announced < 2
        if "point_announcer" in legal:
            action = "point_announcer"
        elif "again" in legal and announced == 1 and bid == 2:
            action = "again"  # refuses the opening 2, before anything else
        elif announced == 0 and bid == 0 and waits and "bid_2" in bids and not view(seen, "waiting").any():
            action = "bid_2"
        elif once and not (rng is not None and (waits or (bid < cap - 12 and rng.random() < 0.8))):
            action = once[0] if rng is None else str(rng.choice(once))
        else:
            action = bids[0] if bids else "challenge"
        env.step(env.action_id(action))
        decisions += 1
        pointing = env.unwrapped._states["phase"][0] == PHASES.index("pointing")
        if action in ("challenge", "point_announcer") and not pointing:
            return decisions


@pytest.mark.parametrize("rules", HOUSES)
def test_the_longest_round_is_reached(rules):
    env = coyote_v0.env(**rules.as_dict())
    env.reset(seed=0, options={"starter": 0})
    assert draw_out(env, None) == rules.longest_round(rules.num_players)


@pytest.mark.parametrize(
    "rules",
    [
        Rules(),
        Rules(num_players=2),
        Rules(num_players=2, lives=9),  # the starter's opponent loses: seats lose in turn
        Rules(num_players=3, lives=2, starter_if_out="left", reshuffle="every_round"),
        Rules(num_players=5, deck="classic-36"),
        Rules(num_players=10, lives=1),
        Rules("mini", num_players=3, variants="all", lives=3, game_end="last_standing"),
        Rules("mini", num_players=3, variants="all"),
    ],
)
def test_the_longest_game_is_reached(rules):
    env = coyote_v0.env(**rules.as_dict())
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    decisions = 0
    while not any(env.terminations.values()):
        before = env.get_state()
        lives = env.unwrapped._states["lives"][0].copy()
        for _ in range(200):  # until nobody is out who need not be: every seat is to lose its lives one by one
            env.set_state(before)
            length = draw_out(env, rng)
            after = env.unwrapped._states["lives"][0]
            if (after > 0).sum() == (lives > 0).sum() or lives.max() <= 1:
                break
        decisions += length
    assert decisions == env.unwrapped.game.facts.longest_game


# --- by walking through all play and all chance


# What is to come does not depend on these, or the tree would not fold.
FORGOTTEN = (
    "rng", "seed", "game", "draws", "round", "returns", "last_bid", "starter", "history_len", "history_bid",
    "history_seat", "history_kind", "reveal_loser", "reveal_winner", "reveal_lives", "reveal_bid", "reveal_total",
)  # fmt: skip


def walk(game: Game) -> tuple[int, list[float], list[float]]:
    """Most decisions, and least and largest return by seat, over everything that can happen in a game."""
    known: dict[bytes, tuple[int, Any, Any]] = {}
    n = game.num_seats

    def chance(call: Callable[[Any, Any], tuple[int, Any]], record: Any, tape: Any, place: int) -> tuple[int, Any, Any]:
        """Over all outcomes of ``call``, whose draws from ``place`` on are open."""
        states, tapes = record.copy(), tape.copy()
        if place < game.tape_size:
            tapes[0, place] = STOP
        code, paid = call(states, tapes)
        if code != STOPPED:
            assert code >= -1
            length, low, high = best(states)
            return length, low + paid, high + paid
        results = []
        for face in np.flatnonzero(states["pile"][0]):
            tapes = tape.copy()
            tapes[0, place] = face
            results.append(chance(call, record, tapes, place + 1))
        return _joined(results)

    def best(states: Any) -> tuple[int, Any, Any]:
        if states["over"][0]:
            return 0, np.zeros(n), np.zeros(n)
        like = states.copy()
        for field in FORGOTTEN:
            like[field] = 0
        key = like.tobytes()
        if key not in known:
            mask = np.zeros((1, game.num_actions), np.int8)
            game.legal_mask(game.rules, states, mask)

            def step(action: int) -> Callable[[Any, Any], tuple[int, Any]]:
                def call(states: Any, tapes: Any) -> tuple[int, Any]:
                    rewards = np.zeros((1, n))
                    code = game.step(
                        game.rules, states, tapes, np.array([action]), False, False, np.zeros(1, np.int64),
                        np.zeros((1, game.layout.size), np.float32), mask.copy(), rewards, np.zeros(1, np.bool_),
                    )  # fmt: skip
                    return code, rewards[0]

                return call

            tape, place = game.blank_tapes(1), int(states["draws"][0])
            length, low, high = _joined([chance(step(int(a)), states, tape, place) for a in np.flatnonzero(mask[0])])
            known[key] = length + 1, low, high
        return known[key]

    def deal(starter: int) -> Callable[[Any, Any], tuple[int, Any]]:
        return lambda states, tapes: (game.deal(game.rules, states, tapes, np.array([starter])), 0.0)

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10_000)
    try:
        blank = np.zeros(1, game.state_dtype)
        length, low, high = _joined([chance(deal(k), blank, game.blank_tapes(1), 0) for k in range(n)])
    finally:
        sys.setrecursionlimit(limit)
    return length, low.tolist(), high.tolist()


def _joined(results: list[tuple[int, Any, Any]]) -> tuple[int, Any, Any]:
    return (
        max(length for length, _, _ in results),
        np.min([low for _, low, _ in results], axis=0),
        np.max([high for _, _, high in results], axis=0),
    )


LAST = {"game_end": "last_standing"}
COINS = {"0": 1, "1": 2}
OPEN: dict[str, Any] = {"lives": 2, "closed_peeks": 0}
POOR = {"0": 3, "1": 2}


@pytest.mark.parametrize(
    "kwargs",
    [
        {"edition": "mini"},
        {"edition": "mini", "lives": 2, **LAST},
        {"edition": "mini", "lives": 2, **LAST, "reward": "round", "variants": ["again"]},
        {"edition": "mini", "lives": 2, "reward": "round", "variants": ["double", "idem"]},
        {"edition": "mini", "num_players": 3, "deck": {"1": 2, "2": 1}, **LAST, "reward": "placement"},
        {"num_players": 2, "deck": {"1": 2, "2": 1}, "lives": 1, "variants": "all"},
        {"num_players": 3, "deck": {"0": 3, "1": 1}, "lives": 2, "variants": ["idem"], "reward": "round"},
        {"num_players": 2, "deck": {"?": 1, "max0": 1, "1": 2, "2": 1}, "lives": 1, "variants": ["again", "idem"]},
        # Two seats reach more than three; their rounds are not longer, since ids end at the cap of three.
        {"num_players": 3, "deck": {"3": 2, "-2": 1}, "lives": 2, "variants": ["idem"], "reward": "round"},
        # Peek cards to discard by choice; pointing, by a third seat; the Coyote card, which needs a second round.
        {"edition": "peek", "num_players": 2, "deck": {"0": 1, "1": 1, "2": 1}, **OPEN, "reward": "round"},
        {"edition": "trickster", "num_players": 3, "deck": POOR, **OPEN, "game_end": "first_loss"},
        {"edition": "trickster", "num_players": 3, "deck": POOR, "lives": 1, "closed_peeks": 0},
        {"edition": "trickster", "num_players": 2, "deck": POOR, **OPEN},
    ],
    ids=str,
)
def test_bounds_are_what_all_play_and_all_chance_reach(kwargs):
    game = coyote_v0.game(**kwargs)
    length, low, high = walk(game)
    facts = game.facts
    assert length == facts.longest_game
    assert low == pytest.approx([facts.min_return] * game.num_seats)
    assert high == pytest.approx([facts.max_return] * game.num_seats)


def test_where_the_bound_is_loose_it_still_holds():
    # The cap is 1: whoever doubles it can only be challenged, and two lives go at once.
    game = coyote_v0.game(num_players=2, deck=COINS | {"1": 1}, lives=3, variants=["double"])
    length, _, _ = walk(game)
    assert 0.5 * game.facts.longest_game < length < game.facts.longest_game
    # Under a cap of 1 nobody peeks, so that the first loser's cards are all open and it is not asked which to discard.
    game = coyote_v0.game(edition="trickster", num_players=3, deck={"0": 4, "1": 1}, **OPEN)
    length, low, high = walk(game)
    assert length == game.facts.longest_game - 1
    assert (low, high) == ([game.facts.min_return] * 3, [game.facts.max_return] * 3)


# --- by playing at random


RANDOM_PLAY: list[tuple[Any, Any]] = [
    *(
        (coyote_v0, rules)
        for rules in (
            Rules("mini", lives=3, game_end="last_standing", variants="all"),
            Rules(num_players=2, lives=1),
            Rules(num_players=3, reward="round", lives=2),
            Rules(num_players=6, reward="placement", lives=1),
            Rules("trickster", num_players=3, deck={"0": 5, "1": 1, "2": 1}),
            Rules("trickster", num_players=2, variants="all", reward="round", lives=2),
            Rules("peek", num_players=3, deck={"0": 5, "1": 1}, lives=3, variants=["double"], game_end="first_loss"),
        )
    ),
    *(
        (scout_v0, rules)
        for rules in (
            ScoutRules(num_players=2),
            ScoutRules(num_players=2, rounds=1, reward="round", exemption="rulebook"),
            ScoutRules(num_players=3, rounds=1, reward="round", stall_limit=5),
            ScoutRules(num_players=4, rounds=1, reward="placement", stall_limit=3),
            ScoutRules(num_players=5, rounds=1, stall_limit=2),
        )
    ),
]


@pytest.mark.parametrize(("face", "rules"), RANDOM_PLAY, ids=[str(rules) for _, rules in RANDOM_PLAY])
def test_random_play_stays_within_the_bounds(face, rules):
    rng = np.random.default_rng(0)
    batch = face.batch(64, **rules.as_dict())
    facts = batch.game.facts
    batch.reset(seed=0)
    length, longest = np.zeros(64, np.int64), 0
    returns = np.zeros((64, rules.num_players))
    extremes = [0.0, 0.0]
    for _ in range(600):
        batch.step(choose(batch, rng, 1))
        length += 1
        returns += batch.rewards
        longest = max(longest, int(length[batch.done].max(initial=0)))
        ended = returns[batch.done]
        np.testing.assert_allclose(ended.sum(axis=1), facts.returns_sum, atol=1e-9)
        if face is scout_v0:
            hands = batch.states["hand_len"].max(axis=1) + (batch.states["inserting"] > 0)
            assert hands.max() <= rules.max_hand
        extremes = [min(extremes[0], ended.min(initial=0)), max(extremes[1], ended.max(initial=0))]
        length[batch.done] = 0
        returns[batch.done] = 0.0
    assert facts.longest_game / 10 < longest <= facts.longest_game
    assert facts.min_return - 1e-9 <= extremes[0] < extremes[1] <= facts.max_return + 1e-9


def test_the_longest_hand_of_two_seats_is_reached():
    """Whoever scouts three times before its first Show holds what it was dealt and three cards more."""
    env = scout_v0.env(num_players=2, stall_limit=9)
    run = [[4, 10], [5, 10], [6, 10], [7, 10], [8, 10], [9, 6], [10, 1], [1, 2], [3, 1], [3, 2], [5, 2]]
    rest = [
        [a, b] for b in range(2, 10) for a in range(1, b) if (b, a) != (9, 6) and b not in (2, 3) and (b, a) != (5, 2)
    ]
    env.reset(options={"first": 0, "hands": [[run, rest[:11]]]})
    for action in ("keep", "keep", "show_0_7", *["scout_left_as_is", "insert_0"] * 3):
        env.step(env.action_id(action))
    assert env.unwrapped._states["hand_len"][0, 1] == env.unwrapped.game.config.max_hand == 14


# --- Peek cards


def test_what_peek_cards_add():
    rules = Rules(num_players=4, deck="classic-36", lives=3, variants="none")
    peek = Rules("peek", num_players=4, deck="classic-36")
    trickster = Rules("trickster", num_players=4, deck="classic-36")

    def added(more: Rules) -> dict[int, int]:
        """What a round takes more, but for the larger cap that comes with the cards in the middle."""
        larger = {live: more.max_bid(live) - rules.max_bid(live) for live in (2, 3, 4)}
        return {k: more.longest_round(k) - rules.longest_round(k) - larger[k] for k in larger}

    assert added(peek) == {2: 2, 3: 3, 4: 4}  # a peek by each seat
    assert added(trickster) == {2: 2, 3: 4, 4: 6}  # and pointing by all but two
    for more, times in ((peek, 1), (trickster, 2)):
        rounds = {k: more.longest_round(k) for k in (2, 3, 4)}
        # Eight rounds of four seats, one each of 4, 3 and 2; and after each of the eight, what its loser can do.
        assert more.longest_game == 9 * rounds[4] + rounds[3] + rounds[2] + 8 * times
