"""One seat as a Gymnasium environment: episodes, rewards, seeds, masks, and other people's checkers."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.env_checker import check_env as sb3_check_env
from stable_baselines3.common.env_util import make_vec_env

from coyote_env import coyote_v0
from coyote_env.core.batch import Batch
from coyote_env.core.game import IllegalAction
from coyote_env.core.players import PolicyError
from coyote_env.core.seat import SeatEnv, SeatVectorEnv
from coyote_env.policies import load_policy
from tests import networks
from tests.make_docs import ROOT

ID = "coyote_env/Coyote-v0"
TABLES = [
    {"num_players": 2, "lives": 1},
    {"num_players": 4, "reward": "placement"},
    {"num_players": 3, "reward": "round"},
    {"edition": "trickster", "num_players": 4},
    {"edition": "mini", "num_players": 3, "game_end": "first_loss"},
]


def tables_of(env):
    """What stands behind an environment."""
    return env.unwrapped._tables


def some(mask, rng):
    """A random legal action a row."""
    return np.where(mask != 0, rng.random(mask.shape), -1.0).argmax(axis=-1)


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_gymnasiums_and_sb3s_checkers(table):
    env = gymnasium.make(ID, opponents=["random"], **table).unwrapped
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env, skip_render_check=True)
        sb3_check_env(env)


@pytest.mark.parametrize("mode", ["ansi", "rgb_array", "human"])
def test_rendering_shows_what_the_seat_may_see(mode, capsys):
    env = gymnasium.make(ID, render_mode=mode, seat=2)
    env.reset(seed=1)
    picture: Any = env.render()
    if mode == "rgb_array":
        assert picture.dtype == np.uint8
    else:
        assert "as player_2 sees it" in (picture if mode == "ansi" else capsys.readouterr().out)


@pytest.mark.parametrize("table", TABLES, ids=str)
@pytest.mark.parametrize("seat", ["random", 1])
def test_episodes_are_the_aec_games_as_one_seat_lives_them(table, seat):
    """The same game on the AEC face, move for move: every reward of the seat arrives, once, at its next turn."""
    opponents = [load_policy("random", coyote_v0.game(**table))] * (coyote_v0.game(**table).num_seats - 1)
    aec = coyote_v0.env(**table)
    moves = []

    def watched(observation, mask, rng):
        actions = opponents[0].act(observation, mask, rng)
        moves.extend(actions.tolist())
        return actions

    env = gymnasium.make(ID, opponents=[watched], seat=seat, **table)
    rng = np.random.default_rng(0)
    whole = cut = 0
    for seed in range(40):
        moves.clear()
        _, info = env.reset(seed=seed)
        if tables_of(env).batch.states["game"][0] > 1:
            continue  # the seat had no move in the first game of this seed
        own = f"player_{info['seat']}"
        aec.reset(seed=seed)
        paid, ended = 0.0, False
        while not ended:
            for move in moves:
                assert aec.agent_selection != own
                aec.step(move)
                paid += aec.rewards[own]
            moves.clear()
            assert aec.agent_selection == own
            seen = aec.observe(own)
            assert (seen["action_mask"] == info["action_mask"]).all()
            action = int(some(info["action_mask"], rng))
            aec.step(action)
            paid += aec.rewards[own]
            observation, reward, ended, _, info = env.step(action)
            for move in moves:
                aec.step(move)
                paid += aec.rewards[own]
            moves.clear()
            assert reward == pytest.approx(paid)
            assert (observation == aec.observe(own)["observation"]).all()
            paid = 0.0
        assert not info["action_mask"].any()
        over = all(aec.terminations.values())
        whole, cut = whole + over, cut + (not over)
        # Nothing is paid to it any more, however the game goes on.
        while not all(aec.terminations.values()):
            assert aec.agent_selection != own
            aec.step(int(some(aec.last()[0]["action_mask"], rng)))
            assert aec.rewards[own] == 0
    assert whole > 0
    assert cut > 0 or table["num_players"] == 2 or "game_end" in table


@pytest.mark.parametrize("table", TABLES[:4], ids=str)
def test_a_row_of_the_vector_environment_is_the_single_one(table):
    """With opponents that draw: what happens at a table does not depend on how many there are."""
    opponents = ["plus-one", "random", "random"][: table["num_players"] - 1]
    envs = gymnasium.make_vec(ID, num_envs=7, opponents=opponents, **table)
    assert isinstance(envs.unwrapped, SeatVectorEnv)
    single = [gymnasium.make(ID, opponents=opponents, **table) for _ in range(7)]
    observation, infos = envs.reset(seed=50)
    alone = [env.reset(seed=50 + i) for i, env in enumerate(single)]
    rng = np.random.default_rng(3)
    finished = 0
    for _ in range(60):
        assert (observation == np.array([o for o, _ in alone])).all()
        assert (infos["action_mask"] == np.array([i["action_mask"] for _, i in alone])).all()
        assert infos["seat"].tolist() == [i["seat"] for _, i in alone]
        actions = some(infos["action_mask"], rng)
        observation, rewards, ended, cut, infos = envs.step(actions)
        assert not cut.any()
        assert ("final_obs" in infos) == ended.any()
        for i, env in enumerate(single):
            last, reward, over, _, info = env.step(actions[i])
            assert (reward, over) == (rewards[i], ended[i])
            alone[i] = (last, info)
            if over:
                finished += 1
                assert infos["_final_obs"][i]
                assert (infos["final_obs"][i] == last).all()
                assert (infos["final_info"]["action_mask"][i] == info["action_mask"]).all()
                alone[i] = env.reset()
    assert finished > 5


def test_the_vector_environment_says_how_it_resets_and_fits_gymnasiums_wrappers():
    envs = gymnasium.make_vec(ID, num_envs=32, num_players=2, lives=1)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    wrapped = RecordEpisodeStatistics(envs)
    _, infos = wrapped.reset(seed=1)
    rng = np.random.default_rng(0)
    totals, found = np.zeros(32), []
    for _ in range(60):
        observation, rewards, ended, _, infos = wrapped.step(some(infos["action_mask"], rng))
        totals += rewards
        for i in np.flatnonzero(ended):
            assert infos.get("episode", infos["final_info"].get("episode"))["r"][i] == pytest.approx(totals[i])
            found.append(totals[i])
            totals[i] = 0
    assert envs.observation_space.contains(observation)
    assert set(np.round(found, 6)) == {-1.0, 1.0}


def test_seeds_hold_for_all_episodes_and_0_is_one():
    def play(seed, **arguments):
        envs = gymnasium.make_vec(ID, num_envs=5, num_players=3, opponents=["random"], **arguments)
        seen, infos = envs.reset(seed=seed)
        rng = np.random.default_rng(1)
        trail = [seen]
        for _ in range(40):
            seen, *_, infos = envs.step(some(infos["action_mask"], rng))
            trail.append(seen)
        return np.array(trail)

    assert (play(0) == play(0)).all()
    assert (play([0, 1, 2, 3, 4]) == play(0)).all()
    assert (play(0) != play(1)).any()
    assert (play(None) != play(None)).any()


def test_each_seat_comes_up_and_can_be_asked_for():
    envs = gymnasium.make_vec(ID, num_envs=400, num_players=4)
    _, infos = envs.reset(seed=0)
    assert (np.bincount(infos["seat"], minlength=4) > 70).all()
    _, infos = envs.reset(options={"seat": 3})
    assert (infos["seat"] == 3).all()


def test_opponents_sit_clockwise_from_the_own_seat(tmp_path):
    game = coyote_v0.game(num_players=3)
    folder = networks.write(tmp_path / "mine", game)
    seen: dict[int, set[int]] = {1: set(), 2: set()}

    def sitting(place):
        def answer(observation, mask, rng):
            assert (observation[:, 0] == 1).all()  # the first section is seat_to_move, own seat first
            seen[place].update((tables_of(env).batch.seat - tables_of(env).own) % 3)
            return mask.argmax(axis=1)

        return answer

    env = gymnasium.make(ID, num_players=3, opponents=[sitting(1), sitting(2)])
    rng = np.random.default_rng(0)
    for seed in range(5):
        _, info = env.reset(seed=seed)
        ended = False
        while not ended:
            _, _, ended, _, info = env.step(some(info["action_mask"], rng))
    assert seen == {1: {1}, 2: {2}}
    for opponents in (["bayes", str(folder)], [load_policy("bayes", game), folder]):
        gymnasium.make(ID, num_players=3, opponents=opponents).reset(seed=1)


def test_an_illegal_action_forfeits_or_raises():
    env = gymnasium.make(ID, num_players=4)
    _, info = env.reset(seed=1)
    illegal = int(np.flatnonzero(info["action_mask"] == 0)[0])
    assert env.step(illegal)[1:3] == (-1.0, True)
    with pytest.raises(RuntimeError, match=r"the episode is over; call reset\(\)"):
        env.unwrapped.step(0)
    env = gymnasium.make(ID, num_players=4, illegal_action="raise")
    env.reset(seed=1)
    with pytest.raises(IllegalAction, match="is illegal; legal: "):
        env.step(illegal)
    assert env.step(int(np.flatnonzero(info["action_mask"])[0]))[2] is False


def test_masks_as_sb3_contrib_asks_for_them():
    env = gymnasium.make(ID)
    env.reset(seed=0)
    assert is_masking_supported(env)
    assert get_action_masks(env).dtype == bool
    many = make_vec_env(ID, n_envs=3)
    many.reset()
    assert is_masking_supported(many)
    assert get_action_masks(many).shape == (3, coyote_v0.game().num_actions)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"opponents": []}, ValueError, "opponents: 0 given; allowed: a list of 1"),
        ({"opponents": ["random"] * 2}, ValueError, "opponents: 2 given; .* or of 3"),
        ({"opponents": "random"}, ValueError, "opponents = 'random'; allowed: a list of names"),
        ({"opponents": [3]}, ValueError, r"opponents\[0\] = 3; needed: a Policy or a callable"),
        ({"opponents": ["baies"]}, ValueError, "no policy 'baies' .did you mean 'bayes'"),
        ({"seat": 4}, ValueError, "seat must be a seat from 0 to 3, not 4"),
        ({"seat": "first"}, ValueError, "seat must be 'random' or a seat from 0 to 3, not 'first'"),
        ({"seat": True}, ValueError, "seat must be a seat"),
        ({"illegal_action": "ignore"}, ValueError, "illegal_action must be one of 'raise', 'forfeit'"),
        ({"num_players": 11}, ValueError, "num_players"),
        ({"render_mode": "svg"}, Exception, "svg"),
    ],
)
def test_bad_arguments_are_named(arguments, error, message):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Gymnasium warns of render modes before we refuse them
        with pytest.raises(error, match=message):
            gymnasium.make(ID, **arguments)
        with pytest.raises(error, match=message):
            gymnasium.make_vec(ID, 2, **arguments)


def test_a_policy_for_another_table_is_refused_by_field(tmp_path):
    folder = networks.write(tmp_path / "mine", coyote_v0.game(num_players=3))
    with pytest.raises(ValueError, match="num_seats = 3; the game to be played has 4"):
        gymnasium.make(ID, opponents=[folder])
    with pytest.raises(ValueError, match=r"opponents\[0\]: 'bayes' was made for num_seats = 3"):
        gymnasium.make(ID, opponents=[load_policy("bayes", coyote_v0.game(num_players=3))])
    with pytest.raises(ValueError, match="edition = 'gigamic-2011'; the game to be played has 'animals'"):
        gymnasium.make(ID, opponents=[folder], num_players=3, edition="animals")


def test_an_opponent_that_fails_is_named():
    env = gymnasium.make(ID, num_players=2, opponents=[lambda o, m, r: 1 // 0], seat=0)
    with pytest.raises(PolicyError, match="raised ZeroDivisionError"):
        [env.reset(seed=seed) for seed in range(20)]


def test_after_an_opponent_has_failed_nobody_moves_for_it():
    failing = [True]

    def shaky(observation, mask, rng):
        if failing[0]:
            raise KeyError("lost")
        return mask.argmax(axis=1)

    def play(env):  # until it fails: at once, if it begins, or after our move
        for seed in range(50):
            env.reset(seed=seed)
            env.step(env.action_masks().argmax(axis=-1))

    game = coyote_v0.game(num_players=3)
    for env in (SeatEnv(game, [shaky], 0), SeatVectorEnv(game, 4, [shaky], 0)):
        for _ in range(2):
            failing[0] = True
            with pytest.raises(PolicyError, match="lost"):
                play(env)
            assert not env.action_masks().any()
            with pytest.raises(RuntimeError, match=r"call reset\(\)"):
                env.step(np.zeros(4, np.int64) if isinstance(env, SeatVectorEnv) else 0)
            failing[0] = False
            env.reset(seed=1)
            env.step(env.action_masks().argmax(axis=-1))


@pytest.mark.parametrize("way", [copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))])
def test_a_copy_plays_on_as_the_original(way):
    game = coyote_v0.game(num_players=3)
    env = SeatEnv(game, [load_policy("bayes", game)], 0)
    env.reset(seed=1)
    other = way(env) if way is copy.deepcopy else None  # players are found by name, and are not pickled
    batch = Batch(game, 3)
    batch.reset(seed=1)
    twin = way(batch)
    for _ in range(30):
        assert (batch.action_mask == twin.action_mask).all()
        actions = batch.action_mask.argmax(axis=1)
        batch.step(actions)
        twin.step(actions)
        assert (batch.observation == twin.observation).all()
        with pytest.raises(ValueError, match="read-only"):
            twin.action_mask[:] = 1
    for _ in range(4):
        if other is None or not env.action_masks().any():
            break
        assert (env.action_masks() == other.action_masks()).all()
        action = int(env.action_masks().argmax())
        one, two = env.step(action), other.step(action)
        assert (one[0] == two[0]).all()
        assert one[1:4] == two[1:4]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"starter": 1}, ValueError, r"options\['starter'\]: this environment has 'seat' only"),
        ({"seat": 9}, ValueError, r"options\['seat'\] must be a seat"),
        (3, TypeError, "options must be a dict or None, not 3"),
    ],
)
def test_bad_options_are_named(options, error, message):
    with pytest.raises(error, match=message):
        SeatEnv(coyote_v0.game(), [load_policy("random", coyote_v0.game())]).reset(options=options)


@pytest.mark.parametrize("example", ["maskable_ppo", "dqn", "ppo_loop"])
def test_the_examples_run(example):
    command = [sys.executable, str(ROOT / "examples" / f"{example}.py"), "--steps", "600", "--games", "20"]
    run = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300, cwd=ROOT)
    assert "of 20 games against random" in run.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("example", "share"), [("maskable_ppo", 80), ("dqn", 80), ("ppo_loop", 90)])
def test_the_examples_learn_to_beat_random(example, share):
    command = [sys.executable, str(ROOT / "examples" / f"{example}.py")]
    run = subprocess.run(command, check=True, capture_output=True, text=True, timeout=900, cwd=ROOT)
    assert float(run.stdout.split("won ")[1].split("%")[0]) > share
