"""The batch face: many tables at once play what the environment plays, apart from each other and in the same bytes."""

from __future__ import annotations

import re
import threading
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from coyote_env import coyote_v0, scout_v0
from coyote_env.core.game import IllegalAction
from coyote_env.coyote.engine import PHASES
from tests.random_play import ALL_RUNS, RUNS, choose

BUFFERS = ("seat", "observation", "action_mask", "rewards", "done")


def shown(batch: Any, tables: slice = slice(None)) -> list[NDArray[Any]]:
    """Copies of all that a batch shows of some tables."""
    return [getattr(batch, name)[tables].copy() for name in (*BUFFERS, "out", "states")]


def same(left: list[NDArray[Any]], right: list[NDArray[Any]]) -> bool:
    return all(a.tobytes() == b.tobytes() for a, b in zip(left, right, strict=True))


def advance(batch: Any, rng: np.random.Generator, steps: int) -> None:
    for _ in range(steps):
        batch.step(choose(batch, rng))


def env_at(batch: Any, table: int) -> Any:
    """An environment that goes on where one table of a batch is."""
    face = scout_v0 if batch.game.name == "scout_v0" else coyote_v0
    env = face.env(**batch.game.kwargs, illegal_action="forfeit")
    env.reset(seed=0)
    head = env.get_state()[: -batch.states.itemsize]
    env.set_state(head + batch.states[table].tobytes())
    return env


# --- the same game as the environment's


@pytest.mark.parametrize(("face", "kwargs"), ALL_RUNS.values(), ids=ALL_RUNS)
@pytest.mark.parametrize("forfeits", [False, True], ids=["legal", "forfeits"])
def test_every_table_plays_what_an_environment_plays(face, kwargs, forfeits):
    """Tables are followed by an environment each, from the records on, over several games; some moves are illegal."""
    batch = face.batch(5, **kwargs, illegal_action="forfeit" if forfeits else "raise")
    game = batch.game
    batch.reset(seed=13)
    rng = np.random.default_rng(13)
    envs = [env_at(batch, i) for i in range(5)]
    ended = forfeited = 0
    for _ in range(250):
        actions = choose(batch, rng, 2)
        if forfeits:
            wrong = (rng.random(5) < 0.05) & (batch.action_mask == 0).any(axis=1)
            illegal = np.where(batch.action_mask == 0, rng.random(batch.action_mask.shape), -1).argmax(axis=1)
            actions = np.where(wrong, illegal, actions)
            forfeited += int(wrong.sum())
        for env, action in zip(envs, actions, strict=True):
            env.step(int(action))
        batch.step(actions)
        for i, env in enumerate(envs):
            assert batch.rewards[i].tolist() == [env.rewards[agent] for agent in env.possible_agents]
            assert bool(batch.done[i]) == all(env.terminations.values())
            if batch.done[i]:
                ended += 1
                env.reset()  # goes on with the table's stream, as the batch did
            seat = int(batch.seat[i])
            assert env.agent_selection == f"player_{seat}"
            observation = env.observe(env.agent_selection)
            np.testing.assert_array_equal(batch.observation[i], observation["observation"])
            np.testing.assert_array_equal(batch.action_mask[i], observation["action_mask"])
            assert batch.states[i].tobytes() == env._states[0].tobytes()
    assert ended > 0 or face is scout_v0  # whose games are longer
    assert (forfeited > 0) == forfeits
    assert game.num_seats == batch.rewards.shape[1]


def test_table_zero_is_the_environment_with_the_same_seed():
    batch, env = coyote_v0.batch(3), coyote_v0.env()
    for seed in (0, 1, 2**40):
        batch.reset(seed=seed)
        env.reset(seed=seed)
        assert batch.states[0].tobytes() == env._states[0].tobytes()


@pytest.mark.parametrize("kwargs", RUNS.values(), ids=RUNS)
def test_a_game_sums_to_zero_and_the_out_are_paid_no_more(kwargs):
    batch = coyote_v0.batch(16, **kwargs)
    batch.reset(seed=3)
    rng = np.random.default_rng(3)
    returns = np.zeros_like(batch.rewards)
    games = 0
    for _ in range(300):
        out = batch.out
        batch.step(choose(batch, rng, 2))
        returns += batch.rewards
        assert not batch.rewards[out].any()
        np.testing.assert_allclose(returns[batch.done].sum(axis=1), 0, atol=1e-9)
        assert not batch.out[batch.done].any()  # the new game's
        assert (batch.rewards[batch.done] != 0).any(axis=1).all()
        games += int(batch.done.sum())
        returns[batch.done] = 0
    assert games > 3


@pytest.mark.engine
def test_out_names_the_eliminated_of_the_running_game():
    batch = coyote_v0.batch(4, num_players=3, lives=1)
    batch.reset(seed=0)
    rng = np.random.default_rng(0)
    seen = 0
    for _ in range(30):
        batch.step(choose(batch, rng, 2))
        live = batch.game.layout.view(batch.observe(0), "live")
        np.testing.assert_array_equal(batch.out, live == 0)
        assert batch.out.dtype == np.bool_
        assert batch.out.shape == (4, 3)
        assert not batch.out[np.arange(4), batch.seat].any()
        assert batch.out is not batch.out
        seen += int(batch.out.sum())
    assert seen > 0


# --- tables apart from each other


@pytest.mark.parametrize(("face", "kwargs"), ALL_RUNS.values(), ids=ALL_RUNS)
def test_the_first_tables_of_a_larger_batch_are_a_smaller_batch(face, kwargs):
    """Whatever is played at the other tables, and however many there are."""
    small, large = face.batch(3, **kwargs), face.batch(40, **kwargs)
    small.reset(seed=8)
    large.reset(seed=8)
    rng, others = np.random.default_rng(1), np.random.default_rng(2)
    for _ in range(60):
        assert same(shown(small), shown(large, slice(3)))
        actions = choose(large, others)
        actions[:3] = choose(small, rng)
        small.step(actions[:3])
        large.step(actions)
    assert len({state.tobytes() for state in large.states}) == 40


def test_tables_of_one_seed_are_dealt_differently_and_seeds_differ():
    batch = coyote_v0.batch(64)
    batch.reset(seed=0)
    first = {state["cards"].tobytes() for state in batch.states}
    assert len(first) == 64
    batch.reset(seed=1)
    assert not first & {state["cards"].tobytes() for state in batch.states}


# --- chance


def test_the_chance_of_a_round_does_not_depend_on_play_before_it():
    """Two ways to the same second round: however long the first one was, all seats are dealt the same cards.

    The pile is whole in each round here; where it is not, what is left of it differs with what was worn and drawn.
    """
    deals: list[list[bytes]] = []
    starters: list[list[int]] = []
    for jumps in ((1, 109), (1, 2, 3, 108), (5, 9, 40, 41, 107)):
        batch = coyote_v0.batch(30, reshuffle="every_round", variants="none", lives=9)
        batch.reset(seed=6)
        for number in jumps:
            batch.step(np.full(30, batch.game.action_id[f"bid_{min(number, batch.game.config.max_bid())}"]))
        batch.step(np.zeros(30, np.int64))  # nobody holds such a number: its announcer starts round 2
        assert (batch.states["round"] == 2).all()
        # Dealt clockwise from the starter: in this order the cards are the same, whoever starts.
        starters.append(batch.states["starter"].tolist())
        deals.append([np.roll(s["cards"][:4], -s["starter"], axis=0).tobytes() for s in batch.states])
    assert deals[0] == deals[1] == deals[2]
    assert len(set(deals[0])) > 20
    assert starters[0] != starters[1]


def test_rounds_and_games_have_chance_of_their_own():
    batch = coyote_v0.batch(1, edition="mini", lives=9, game_end="last_standing")
    batch.reset(seed=4)
    rng = np.random.default_rng(0)
    streams = set()
    games = set()
    for _ in range(400):
        batch.step(choose(batch, rng, 2))
        state = batch.states[0]
        if state["history_len"] == 0:
            streams.add(int(state["rng"]))
            games.add((int(state["game"]), int(state["round"])))
    assert len(games) > 50
    assert len(streams) == len(games)


def test_a_reset_without_seed_goes_on_and_one_with_a_seed_begins_anew():
    batch = coyote_v0.batch(4)
    batch.reset(seed=2)
    first = shown(batch)
    batch.reset()
    second = shown(batch)
    batch.reset()
    third = shown(batch)
    assert not same(first, second)
    assert not same(second, third)
    batch.reset(seed=2)
    assert same(shown(batch), first)
    batch.reset()
    assert same(shown(batch), second)
    other = coyote_v0.batch(4)
    other.reset()
    another = coyote_v0.batch(4)
    another.reset()
    assert not same(shown(other), shown(another))  # from entropy


@pytest.mark.parametrize(("seed", "error"), [(-1, ValueError), (1.0, TypeError), ("1", TypeError), (True, TypeError)])
def test_a_bad_seed_is_refused_and_nothing_changes(seed, error):
    batch = coyote_v0.batch(2)
    batch.reset(seed=2)
    before = shown(batch)
    with pytest.raises(error, match="seed must be an integer >= 0 or None"):
        batch.reset(seed=seed)
    assert same(shown(batch), before)


# --- illegal actions


@pytest.mark.engine
@pytest.mark.parametrize("kwargs", [{}, {"edition": "mini"}], ids=["default", "mini"])
def test_an_illegal_action_names_table_seat_and_action_and_changes_nothing_anywhere(kwargs):
    batch = coyote_v0.batch(4, **kwargs)
    batch.reset(seed=7)
    rng = np.random.default_rng(7)
    for _ in range(25):
        before = shown(batch)
        actions = choose(batch, rng)
        for table in (0, 3):
            bad = actions.copy()
            bad[table] = np.flatnonzero(batch.action_mask[table] == 0)[0]
            name, seat = batch.game.action_names[bad[table]], batch.seat[table]
            message = re.escape(f"action {bad[table]} ('{name}') of seat {seat} at table {table} is illegal; legal: ")
            with pytest.raises(IllegalAction, match=message):
                batch.step(bad)
            assert same(shown(batch), before)
        batch.step(actions)


@pytest.mark.parametrize("forfeits", ["raise", "forfeit"])
def test_an_id_out_of_range_raises_always(forfeits):
    batch = coyote_v0.batch(3, illegal_action=forfeits)
    batch.reset(seed=7)
    before = shown(batch)
    for bad in (-1, batch.game.num_actions, 2**62, -(2**63)):
        actions = choose(batch, np.random.default_rng(0))
        actions[1] = bad
        with pytest.raises(IllegalAction, match=f"action {bad} .*outside the action space.* at table 1"):
            batch.step(actions)
        assert same(shown(batch), before)


@pytest.mark.parametrize(
    ("actions", "error", "message"),
    [
        (np.zeros(2, np.int64), ValueError, r"actions must have shape \(3,\)"),
        (np.zeros((3, 1), np.int64), ValueError, r"actions must have shape \(3,\)"),
        (7, ValueError, r"actions must have shape \(3,\)"),
        (np.zeros(3), TypeError, "actions must be integers, not float64"),
        (np.zeros(3, np.bool_), TypeError, "actions must be integers, not bool"),
        (["bid_1"] * 3, TypeError, "actions must be integers"),
    ],
)
def test_what_is_no_action_is_refused_by_name_and_changes_nothing(actions, error, message):
    batch = coyote_v0.batch(3)
    batch.reset(seed=7)
    before = shown(batch)
    with pytest.raises(error, match=message):
        batch.step(actions)
    assert same(shown(batch), before)


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, list])
def test_actions_may_be_any_integers(kind):
    first = coyote_v0.batch(3, num_players=2)
    second = coyote_v0.batch(3, num_players=2)
    first.reset(seed=1)
    second.reset(seed=1)
    rng = np.random.default_rng(1)
    for _ in range(10):
        actions = choose(first, rng, 3)
        first.step(actions)
        second.step(actions.tolist() if kind is list else actions.astype(kind))
        assert same(shown(first), shown(second))


def test_actions_need_not_lie_together_and_are_not_written_to():
    first, second = coyote_v0.batch(3), coyote_v0.batch(3)
    first.reset(seed=1)
    second.reset(seed=1)
    wide = np.zeros((3, 2), np.int64)
    wide[:, 0] = choose(first, np.random.default_rng(1))
    wide.flags.writeable = False
    first.step(wide[:, 0])
    second.step(wide[:, 0].copy())
    assert same(shown(first), shown(second))


# --- buffers


def test_the_buffers_are_the_same_arrays_at_every_step_with_the_documented_types():
    batch = coyote_v0.batch(5, num_players=3)
    game = batch.game
    batch.reset(seed=0)
    arrays = [getattr(batch, name) for name in BUFFERS] + [batch.states]
    layouts = [
        ((5,), np.int64), ((5, game.layout.size), np.float32), ((5, game.num_actions), np.int8), ((5, 3), np.float64),
        ((5,), np.bool_), ((5,), game.state_dtype),
    ]  # fmt: skip
    assert [(a.shape, a.dtype) for a in arrays] == layouts
    advance(batch, np.random.default_rng(0), 5)
    batch.reset()
    batch.reset(seed=1)
    advance(batch, np.random.default_rng(0), 5)
    for name, array in zip((*BUFFERS, "states"), arrays, strict=True):
        assert getattr(batch, name) is array


@pytest.mark.parametrize("kwargs", RUNS.values(), ids=RUNS)
def test_what_is_shown_belongs_to_the_seat_to_move_and_is_within_bounds(kwargs):
    batch = coyote_v0.batch(12, **kwargs)
    layout = batch.game.layout
    batch.reset(seed=0)
    assert not batch.rewards.any()
    assert not batch.done.any()
    rng = np.random.default_rng(0)
    for _ in range(60):
        np.testing.assert_array_equal(batch.observation, batch.observe(batch.seat))
        assert layout.view(batch.observation, "seat_to_move")[:, 0].all()
        assert batch.action_mask.any(axis=1).all()
        assert set(np.unique(batch.action_mask)) <= {0, 1}
        assert (batch.observation >= layout.low).all()
        assert (batch.observation <= layout.high).all()
        batch.step(choose(batch, rng))


def test_observe_takes_one_seat_or_one_a_table_and_gives_a_fresh_array():
    batch = coyote_v0.batch(4, num_players=3)
    batch.reset(seed=0)
    advance(batch, np.random.default_rng(0), 4)
    before = shown(batch)
    alone = [batch.observe(seat) for seat in range(3)]
    mixed = batch.observe([2, 0, 1, 2])
    for table, seat in enumerate([2, 0, 1, 2]):
        np.testing.assert_array_equal(mixed[table], alone[seat][table])
    np.testing.assert_array_equal(batch.observe(np.int32(1)), alone[1])
    mixed[:] = 7
    alone[0][:] = 7
    assert same(shown(batch), before)
    advance(batch, np.random.default_rng(1), 4)
    assert (mixed == 7).all()


@pytest.mark.parametrize(
    ("seats", "error", "message"),
    [
        (3, ValueError, r"seats must be from 0 to 2, not 3\.\.3"),
        (-1, ValueError, "seats must be from 0 to 2"),
        ([0, 1, 2, 3], ValueError, r"seats must be from 0 to 2, not 0\.\.3"),
        ([0, 1], ValueError, r"seats must have shape \(4,\)"),
        (1.0, TypeError, "seats must be integers"),
        (True, TypeError, "seats must be integers"),
    ],
)
def test_bad_seats_are_refused_by_name(seats, error, message):
    batch = coyote_v0.batch(4, num_players=3)
    batch.reset(seed=0)
    with pytest.raises(error, match=message):
        batch.observe(seats)


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, "4", None])
def test_a_bad_number_of_tables_is_refused_by_value(bad):
    with pytest.raises(ValueError, match="num_tables must be an integer >= 1, not"):
        coyote_v0.batch(bad)


def test_bad_arguments_are_refused_by_name():
    with pytest.raises(ValueError, match="illegal_action must be one of 'raise', 'forfeit', not 'ignore'"):
        coyote_v0.batch(2, illegal_action="ignore")
    with pytest.raises(TypeError, match="render_mode"):
        coyote_v0.batch(2, render_mode="ansi")
    with pytest.raises(TypeError, match="players"):
        coyote_v0.batch(2, players=3)


def test_before_reset_a_sentence_says_what_to_do():
    batch = coyote_v0.batch(2)
    with pytest.raises(RuntimeError, match=r"call reset\(\) before step\(\)"):
        batch.step([0, 0])
    with pytest.raises(RuntimeError, match=r"call reset\(\) before observe\(\)"):
        batch.observe(0)


# --- saving and threads


@pytest.mark.parametrize(("face", "kwargs"), ALL_RUNS.values(), ids=ALL_RUNS)
def test_records_are_saves(face, kwargs):
    batch = face.batch(6, **kwargs)
    batch.reset(seed=9)
    advance(batch, np.random.default_rng(9), 15)
    saved = batch.states.copy()
    advance(batch, np.random.default_rng(10), 30)
    expected = shown(batch)
    other = face.batch(6, **kwargs)
    other.reset(seed=1)
    for goes_on in (batch, other):
        goes_on.states[:] = saved
        goes_on.refresh()
        np.testing.assert_array_equal(goes_on.observation, goes_on.observe(saved["seat"].astype(np.int64)))
        advance(goes_on, np.random.default_rng(10), 30)
        assert same(shown(goes_on), expected)


@pytest.mark.engine
def test_a_copied_table_goes_on_as_its_original_did():
    """Cloning is assignment: one table in all places, played alike, stays one table; played apart, it parts."""
    batch = coyote_v0.batch(4)
    batch.reset(seed=9)
    advance(batch, np.random.default_rng(9), 8)
    batch.states[:] = batch.states[2]
    batch.refresh()
    rng = np.random.default_rng(0)
    for _ in range(40):
        batch.step(np.repeat(choose(batch, rng, 3)[:1], 4))
        assert len({state.tobytes() for state in batch.states}) == 1
        assert (batch.observation == batch.observation[0]).all()
    advance(batch, rng, 4)
    assert len({state.tobytes() for state in batch.states}) > 1


def test_batches_stepped_in_threads_give_the_same_bytes():
    """Kernels release the GIL, so that these do run at the same time."""
    arguments: list[dict[str, Any]] = [{}, {"num_players": 6}, {"edition": "mini"}, {"num_players": 3, "odds": True}]

    def run(k: int, results: dict[int, list[NDArray[Any]]]) -> None:
        batch = coyote_v0.batch(64, **arguments[k % len(arguments)])
        batch.reset(seed=k)
        rng = np.random.default_rng(k)
        trail = []
        for _ in range(40):
            batch.step(choose(batch, rng))
            trail += shown(batch)
        results[k] = trail

    alone: dict[int, list[NDArray[Any]]] = {}
    together: dict[int, list[NDArray[Any]]] = {}
    for k in range(8):
        run(k, alone)
    threads = [threading.Thread(target=run, args=(k, together)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(together) == 8
    for k in range(8):
        assert same(alone[k], together[k])


def test_forfeits_end_the_game_and_deal_anew():
    batch = coyote_v0.batch(2, illegal_action="forfeit", num_players=3)
    batch.reset(seed=0)
    game_before = batch.states["game"].copy()
    offender = int(batch.seat[0])
    batch.step([batch.game.action_id["challenge"], batch.game.action_id["bid_5"]])
    assert batch.done.tolist() == [True, False]
    assert batch.rewards[0, offender] == -1
    assert np.delete(batch.rewards[0], offender).tolist() == [0.5, 0.5]
    assert not batch.rewards[1].any()
    assert (batch.states["game"] - game_before).tolist() == [1, 0]
    assert not batch.game.layout.view(batch.observation, "bid")[0].any()
    assert batch.action_mask.any(axis=1).all()


# --- records from outside


@pytest.mark.parametrize("kwargs", RUNS.values(), ids=RUNS)
def test_a_damaged_state_is_refused_or_harmless(kwargs):
    rng = np.random.default_rng(5)
    batch = coyote_v0.batch(16, **kwargs)
    batch.reset(seed=5)
    env = coyote_v0.env(**kwargs)
    env.reset(seed=0)
    refused = 0
    for _ in range(300):
        batch.step(choose(batch, rng))
        record = bytearray(batch.states[int(rng.integers(16))].tobytes())
        record[int(rng.integers(len(record)))] ^= int(rng.integers(1, 256))
        try:
            env.set_state(env.get_state()[: -len(record)] + bytes(record))
        except ValueError:
            refused += 1
            continue
        for agent in env.possible_agents:
            assert env.observation_space(agent).contains(env.observe(agent))
        assert env._states["over"][0] or env.observe(env.agent_selection)["action_mask"].any()
    assert refused > 50


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"announcer": 0}, "announcer is out"),
        ({"announcer": 2}, "would answer itself"),
        ({"holder": 0}, "holder is out"),
        ({"waiting": 0}, "waiting is out"),
        ({"phase": PHASES.index("pointing"), "challenger": 0}, "challenger is out"),
        ({"returns": 1e308}, "returns must be"),
    ],
)
def test_a_table_that_cannot_be_is_refused_by_name(changes, problem):
    """Seat 0 is out, seat 2 is to move against the number of seat 1."""
    env = coyote_v0.env(edition="trickster", lives=1)
    env.reset(seed=0, options={"starter": 0, "draws": ["0", "1", "2", "3", "4"]})
    for action in ("bid_60", "challenge", "point_announcer", "point_announcer", "bid_3"):
        env.step(env.action_id(action))
    assert env.agent_selection == "player_2"
    assert env._states["out"][0, :4].tolist() == [1, 0, 0, 0]
    state = env._states.copy()
    head = env.get_state()[: -env.game.state_dtype.itemsize]
    env.set_state(head + state.tobytes())
    for field, value in changes.items():
        state[field] = value
    with pytest.raises(ValueError, match=problem):
        env.set_state(head + state.tobytes())


def test_the_masks_that_judge_cannot_be_written():
    batch = coyote_v0.batch(3)
    batch.reset(seed=3)
    with pytest.raises(ValueError, match="read-only"):
        batch.action_mask[:] = 1
    with pytest.raises(IllegalAction):
        batch.step(np.full(3, batch.game.action_id["challenge"]))


def test_refresh_before_a_deal_says_so():
    with pytest.raises(RuntimeError, match="reset"):
        coyote_v0.batch(2).refresh()
