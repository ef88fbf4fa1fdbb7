"""The scripted players: they play legally, know only what their seat knows, and are as strong as they claim."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from coyote_env import coyote_v0
from coyote_env.arena import play_match
from coyote_env.coyote import bots
from coyote_env.coyote.rules import SPECIALS, VARIANTS
from coyote_env.policies import Policy, load_policy
from tests.test_information import swap_hidden

NAMES = ("random", "plus-one", "bayes")

TABLES = [
    {},
    {"num_players": 2},
    {"num_players": 3, "variants": ["again", "double"], "lives": 9, "reward": "placement"},
    {"num_players": 5, "variants": ["reverse", "extra_feather"], "deck": "classic-36", "odds": True},
    {"num_players": 6, "variants": "none", "reward": "round", "game_end": "first_loss"},
    {"num_players": 10, "lives": 1, "reshuffle": "every_round"},
    {"num_players": 10, "deck": "classic-36", "variants": ["next_is", "idem"], "reward": "round"},
    {"edition": "mini"},
    {"edition": "mini", "num_players": 3, "variants": "all", "reward": "round"},
    # Specials above all: several `?`, x2 and max in play at once, and no green card to hit.
    {"num_players": 3, "deck": {"?": 4, "max0": 2, "max-": 2, "x2": 2, "night": 1, "3": 2, "-9": 1}, "lives": 2},
    # More numbers than bayes looks at one by one.
    {"num_players": 4, "deck": {"99": 6, "50": 4, "x2": 3, "-20": 3, "?": 1}, "lives": 2},
    # The pile runs out in mid-round: cards are known by counting.
    {"num_players": 4, "deck": {"1": 2, "7": 1, "?": 1, "-3": 1}, "lives": 3},
    {"num_players": 2, "deck": {"1": 2}, "lives": 2},
]  # fmt: skip

# The other editions, and house games with cards in the middle.
EDITIONS = [
    {"edition": "animals"},
    {"edition": "peek"},
    {"edition": "trickster"},
    {"edition": "trickster", "num_players": 3, "variants": "all", "lives": 6, "closed_peeks": 2},
    {"edition": "trickster", "num_players": 6, "variants": "all", "odds": True},
    {"edition": "peek", "num_players": 6, "deck": "feathers-30", "variants": ["extra_feather", "again"]},
    # The pile runs out in mid-round: counting tells cards in the middle too.
    {"edition": "trickster", "num_players": 3, "deck": {"1": 2, "7": 1, "?": 1, "-3": 1}, "variants": "all",
     "reshuffle": "when_needed"},
]  # fmt: skip


def any_rules(rng) -> dict[str, Any]:
    """Rules with every field at random."""

    def one_of(*values):
        return values[rng.integers(len(values))]

    seats = int(rng.integers(2, 11))
    peek = bool(rng.random() < 0.7)
    variants = [name for name in VARIANTS if rng.random() < 0.6]
    numbers = {str(face): int(rng.integers(1, 4)) for face in rng.integers(-20, 41, int(rng.integers(2, 7)))}
    specials = {face: int(rng.integers(1, 3)) for face in SPECIALS if rng.random() < 0.4}
    odd = {"1": max(0, seats + 1 - sum(numbers.values())) + 1} | numbers | specials
    if sum(odd.values()) <= seats:
        odd["1"] = seats + 1
    lives = int(rng.integers(1, 10))
    return {
        "num_players": seats,
        "deck": odd if rng.random() < 0.6 else one_of("feathers-30", "classic-36", "animals-110", "peek-17"),
        "lives": lives,
        "variants": one_of("all", variants),
        "peek": peek,
        "closed_peeks": int(rng.integers(0, lives + 1)) if peek else 0,
        "trickster": peek and bool(rng.random() < 0.7),
        "reshuffle": one_of("when_needed", "every_round"),
        "starter": one_of("loser", "after_loser"),
        "starter_if_out": one_of("winner", "left"),
        "game_end": one_of("last_standing", "last_standing", "first_loss"),
        "reward": one_of("win", "placement", "round"),
    }


def players(game) -> list[Policy]:
    return [load_policy(name, game) for name in NAMES]


def positions(kwargs, tables, steps, seed):
    """Batches on the way through games between all three players: (step, batch, the answers of each player)."""
    batch = coyote_v0.batch(tables, **kwargs)
    batch.reset(seed)
    rng = np.random.default_rng(seed)
    bots = players(batch.game)
    for step in range(steps):
        answers = np.stack([bot.act(batch.observation.copy(), batch.action_mask.copy(), rng) for bot in bots])
        yield step, batch, answers
        # `random` seldom: it ends rounds at once.
        who = rng.choice(3, size=tables, p=[0.1, 0.45, 0.45])
        batch.step(answers[who, np.arange(tables)])


def check_legal(kwargs, tables, steps):
    for step, batch, answers in positions(kwargs, tables, steps, seed=len(str(kwargs))):
        assert answers.dtype == np.int64
        legal = np.take_along_axis(batch.action_mask, answers.T, axis=1).T
        assert legal.all(), (NAMES[int(np.argmin(legal.all(axis=1)))], step)


@pytest.mark.parametrize("kwargs", TABLES + EDITIONS, ids=str)
def test_act_legally(kwargs):
    check_legal(kwargs, tables=48, steps=60)


def test_act_legally_by_any_rules():
    """House games at random; a deck whose largest total allows no announcement is none."""
    rng = np.random.default_rng(0)
    played = 0
    while played < 40:
        kwargs = any_rules(rng)
        try:
            coyote_v0.game(**kwargs)
        except ValueError as error:
            if "largest total" not in str(error):
                raise
            continue
        check_legal(kwargs, tables=8, steps=40)
        played += 1


@pytest.mark.engine
@pytest.mark.parametrize("kwargs", [TABLES[0], TABLES[9], EDITIONS[3]], ids=str)
def test_act_legally_without_and_with_bounds_checks(kwargs):
    check_legal(kwargs, tables=2, steps=6)


@pytest.mark.parametrize("kwargs", TABLES[:7] + EDITIONS, ids=str)
def test_know_only_what_their_seat_may_know(kwargs):
    """All that is hidden from the seat to move changes, and chance is drawn anew: the move stays."""
    swapped = 0
    hidden = np.random.default_rng(6)
    for step, batch, _ in positions(kwargs, tables=32, steps=30, seed=5):
        if step % 3:
            continue
        states, rows = batch.states.copy(), range(batch.num_tables)
        before = [
            bot.act(batch.observation, batch.action_mask, np.random.default_rng(step)) for bot in players(batch.game)
        ]
        for table in rows:
            swapped += int(swap_hidden(batch.states[table : table + 1], int(batch.seat[table]), hidden).sum())
        batch.states["rng"] += np.uint64(1)
        batch.refresh()
        after = [
            bot.act(batch.observation, batch.action_mask, np.random.default_rng(step)) for bot in players(batch.game)
        ]
        np.testing.assert_array_equal(before, after)
        batch.states[:] = states
        batch.refresh()
    assert swapped > 100


def test_look_at_the_cards_of_others():
    """What they may know counts: with another card on the neighbour's head some moves of plus-one and bayes change."""
    changed = np.zeros(3)
    for _, batch, answers in positions({}, tables=64, steps=12, seed=1):
        states, rows = batch.states.copy(), np.arange(batch.num_tables)
        neighbour, low = (batch.seat + 1) % 4, batch.game.config.faces.index("-10")
        can = (states["out"][rows, neighbour] == 0) & (states["pile"][:, low] > 0)
        table, seat = rows[can], neighbour[can]
        batch.states["pile"][table, states["cards"][table, seat, 0]] += 1
        batch.states["pile"][table, low] -= 1
        batch.states["cards"][table, seat, 0] = low
        batch.refresh()
        rng = np.random.default_rng(0)
        moves = np.stack([bot.act(batch.observation, batch.action_mask, rng) for bot in players(batch.game)])
        changed += (moves != answers).any(axis=1)
        batch.states[:] = states
        batch.refresh()
    assert (changed[1:] > 0).all()


@pytest.mark.parametrize("name", NAMES)
def test_answer_each_row_by_itself(name):
    """A batch is answered as its rows one by one; the same generator gives the same answers; inputs are left alone."""
    for step, batch, _ in positions({"num_players": 5}, tables=24, steps=13, seed=2):
        if step % 4:
            continue
        bot = load_policy(name, batch.game)
        observation, mask = batch.observation.copy(), batch.action_mask.copy()
        together = bot.act(observation, mask, np.random.default_rng(3))
        rng = np.random.default_rng(3)
        single = [bot.act(observation[i : i + 1], mask[i : i + 1], rng)[0] for i in range(len(mask))]
        np.testing.assert_array_equal(together, single)
        np.testing.assert_array_equal(together, bot.act(observation, mask, np.random.default_rng(3)))
        np.testing.assert_array_equal(observation, batch.observation)
        np.testing.assert_array_equal(mask, batch.action_mask)


@pytest.mark.parametrize("name", NAMES)
def test_odds_section_changes_nothing(name):
    plain, with_odds = coyote_v0.batch(32, num_players=3), coyote_v0.batch(32, num_players=3, odds=True)
    moves: list[list[Any]] = []
    for batch in (plain, with_odds):
        batch.reset(4)
        bot, rng = load_policy(name, batch.game), np.random.default_rng(0)
        moves.append([])
        for _ in range(40):
            moves[-1].append(bot.act(batch.observation, batch.action_mask, rng))
            batch.step(moves[-1][-1])
    np.testing.assert_array_equal(moves[0], moves[1])


def test_random_is_uniform_over_legal_actions():
    batch = coyote_v0.batch(1, num_players=2, deck={"1": 2, "2": 1}, variants=["idem", "again"])
    batch.reset(0)
    batch.step([batch.game.action_id["bid_1"]])
    legal = np.flatnonzero(batch.action_mask[0])
    size = 20_000
    actions = load_policy("random", batch.game).act(
        np.repeat(batch.observation, size, axis=0), np.repeat(batch.action_mask, size, axis=0), np.random.default_rng(0)
    )
    counts = np.bincount(actions, minlength=batch.game.num_actions)
    assert counts.sum() == counts[legal].sum()
    expected = size / len(legal)
    assert (abs(counts[legal] - expected) < 5 * np.sqrt(expected)).all()


@pytest.mark.parametrize("kwargs", [TABLES[i] for i in (0, 1, 3, 9, 11)] + EDITIONS, ids=str)
def test_odds_are_those_of_the_environment(kwargs):
    env = coyote_v0.env(**kwargs)
    raw = env.unwrapped
    plus_one = load_policy("plus-one", raw.game)
    rng = np.random.default_rng(0)
    ids = raw.game.action_id
    compared = 0
    met = set()
    for game in range(4):
        env.reset(seed=game)
        while not all(env.terminations.values()):
            seat = raw.possible_agents.index(env.agent_selection)
            seen = env.observe(env.agent_selection)
            legal = seen["action_mask"]
            view = bots.View(raw.game, seen["observation"][None])
            bid = view.facts[0, bots.BID]
            exact = sum(p for total, p in raw.total_distribution(seat).items() if total >= bid)
            action = int(plus_one.act(seen["observation"][None], seen["action_mask"][None], rng)[0])
            if "discard_open" in ids and legal[ids["discard_open"]]:  # all lies open: there are no odds
                assert raw.action_name(action) == "discard_closed"
            else:
                # Every seat's, not only those of the seat to move.
                for other, agent in enumerate(raw.possible_agents):
                    if env.terminations[agent]:
                        continue
                    theirs = bots.View(raw.game, env.observe(agent)["observation"][None])
                    odds = sum(p for total, p in raw.total_distribution(other).items() if total >= bid)
                    assert bots.standing_odds(raw.game, theirs)[0] == pytest.approx(odds, abs=1e-12)
                    compared += 1
                # plus-one does what it says.
                numbers = np.flatnonzero(legal[ids["bid_1"] :])
                threshold = bots.THRESHOLDS[int(view.live.sum())]
                if "point_announcer" in ids and legal[ids["point_announcer"]]:
                    assert raw.action_name(action) == ("point_announcer" if exact >= 0.5 else "point_challenger")
                elif legal[ids["challenge"]] and (exact < threshold or numbers.size == 0):
                    assert raw.action_name(action) == "challenge"
                elif exact < bots.LOOK and any(legal[ids[name]] for name in ("peek", "coyote") if name in ids):
                    assert raw.action_name(action) in ("peek", "coyote")
                else:
                    assert raw.action_name(action) == f"bid_{numbers[0] + 1}"
            looks = [ids[name] for name in ("peek", "coyote") if name in ids and legal[ids[name]]]
            if looks and rng.random() < 0.3:
                action = int(rng.choice(looks))
            elif rng.random() > 0.6:
                action = int(rng.choice(np.flatnonzero(legal)[-3:]))
            met.add(raw.action_name(action).split("+")[0])
            env.step(action)
    assert compared > 20
    assert met >= {name for name in ("peek", "coyote") if name in ids}


@pytest.mark.parametrize(("number", "challenged"), [(1, False), (2, False), (11, True)])
def test_bayes_challenges_what_cannot_be_and_nothing_that_must_be(number, challenged):
    """It sees a 1, so that the total is 2, 4 or 10; 12 is the largest there can be."""
    env = coyote_v0.env(num_players=2, deck={"1": 2, "3": 2, "9": 1}, variants="none", lives=1)
    raw = env.unwrapped
    env.reset(seed=0, options={"starter": 0, "draws": ["1", "3"]})
    assert raw.game.config.max_bid() == 12
    env.step(raw.action_id(f"bid_{number}"))
    seen = env.observe("player_1")
    bayes = load_policy("bayes", raw.game)
    action = int(bayes.act(seen["observation"][None], seen["action_mask"][None], np.random.default_rng(0))[0])
    assert (raw.action_name(action) == "challenge") == challenged


@pytest.mark.parametrize("edition", ["gigamic-2011", "trickster"])
def test_bayes_uses_every_action(edition):
    """But that it never gives an open Peek card away for a closed one."""
    batch = coyote_v0.batch(256, edition=edition, variants="all")
    batch.reset(0)
    bayes, rng = load_policy("bayes", batch.game), np.random.default_rng(0)
    counts = np.zeros(batch.game.num_actions)
    for _ in range(60):
        actions = bayes.act(batch.observation, batch.action_mask, rng)
        counts += np.bincount(actions, minlength=len(counts))
        batch.step(actions)
    names = np.array([re.sub("\\+.*|_[0-9]+", "", name) for name in batch.game.action_names])
    used = {name: int(counts[names == name].sum()) for name in dict.fromkeys(names)}
    assert {name for name, times in used.items() if not times} <= {"discard_open"}, used


def share(names, games, seed, **kwargs):
    """Lower and upper end of the 95% interval of the first one's share of wins."""
    game = coyote_v0.game(num_players=len(names), **kwargs)
    made = {name: load_policy(name, game) for name in names}
    first = play_match(game, [made[name] for name in names], games, seed).policies[0]
    return first.low, first.high


def test_strength():
    """With seeds fixed. Far from the measured shares (see the docstrings of the players), above the fair ones."""
    assert share(["plus-one", *["random"] * 3], 300, 1)[0] > 0.9
    assert share(["bayes", *["random"] * 3], 300, 1)[0] > 0.9
    assert share(["bayes", *["plus-one"] * 3], 400, 1)[0] > 0.6
    assert share(["bayes", "plus-one"], 400, 1)[0] > 0.55
    for edition in ("animals", "peek", "trickster"):
        assert share(["bayes", *["plus-one"] * 3], 400, 1, edition=edition)[0] > 0.25
    assert share(["bayes", *["plus-one"] * 5], 300, 1, deck="classic-36", variants="none")[0] > 1 / 6


@pytest.mark.parametrize("name", NAMES)
def test_what_is_no_observation_of_the_table_is_refused(name):
    batch = coyote_v0.batch(4)
    batch.reset(1)
    bot, rng = load_policy(name, batch.game), np.random.default_rng(0)
    seen, mask = batch.observation, batch.action_mask
    for observation, legal, message in [
        (seen * np.float32(np.nan), mask, "is nan"),
        (seen * 1e9 - 5, mask, "outside the layout"),
        (np.hstack([seen, seen]), mask, "observation of shape"),
        (seen, mask[:3], "action_mask of shape"),
        (seen, mask * 0, "row 0 of action_mask has no legal action"),
    ]:
        with pytest.raises(ValueError, match=message):
            bot.act(observation, legal, rng)
    np.testing.assert_array_equal(
        bot.act(seen, mask, np.random.default_rng(1)),
        bot.act(np.asfortranarray(seen), mask != 0, np.random.default_rng(1)),
    )
