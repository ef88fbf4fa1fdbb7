"""SB3's contract for vectorised environments, in the style of its `check_env`, and sb3-contrib's own learner on it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.vec_env import VecEnv, VecMonitor

from coyote_env import coyote_v0
from tests.toy_games import Knockout
from training.vec_env import SelfPlayVecEnv


def coyote(tables: int = 16) -> Any:
    return SelfPlayVecEnv(coyote_v0.batch(tables, num_players=3, lives=1))


def legal(masks, rng):
    return np.where(masks, rng.random(masks.shape), -1.0).argmax(axis=1)


@pytest.mark.parametrize("make", [coyote, lambda: SelfPlayVecEnv(Knockout(16))])
def test_contract(make):
    env: Any = make()
    assert issubclass(type(env), VecEnv)
    assert isinstance(env.observation_space, spaces.Box)
    assert env.observation_space.dtype == np.float32
    assert len(env.observation_space.shape) == 1
    assert isinstance(env.action_space, spaces.Discrete)
    assert env.action_space.start == 0
    assert env.render_mode is None
    env.seed(7)
    observation = env.reset()
    rng = np.random.default_rng(0)
    ended = 0
    for _ in range(60):
        assert observation.shape == (16, *env.observation_space.shape)
        assert observation.dtype == np.float32
        assert all(env.observation_space.contains(row) for row in observation)
        masks = get_action_masks(env)
        assert masks.shape == (16, env.action_space.n)
        assert masks.dtype == np.bool_
        assert masks.any(axis=1).all()
        kept, before = observation, observation.copy()
        seats = env.batch.seat.copy()
        observation, rewards, dones, infos = env.step(legal(masks, rng))
        assert (kept == before).all()  # what was handed out is the caller's
        assert rewards.shape == dones.shape == (16,)
        assert rewards.dtype == np.float32
        assert dones.dtype == np.bool_
        assert isinstance(infos, list)
        assert [info["seat"] for info in infos] == seats.tolist()
        for info, seat, reward in zip(infos, seats, rewards, strict=True):
            assert info["rewards"][seat] == pytest.approx(reward)
        ended += int(dones.sum())
    assert ended > 0
    env.close()


def test_a_seed_holds_and_the_streams_go_on_without_one():
    def play(env: Any, seed: int | None) -> list[np.ndarray]:
        if seed is not None:
            env.seed(seed)
        rng = np.random.default_rng(1)
        seen = [env.reset()]
        for _ in range(20):
            seen.append(env.step(legal(env.action_masks(), rng))[0])
        return seen

    first, second = coyote(), coyote()
    start = play(first, 0)
    assert all((a == b).all() for a, b in zip(start, play(second, 0), strict=True))
    assert any((a != b).any() for a, b in zip(start, play(first, None), strict=True))
    assert any((a != b).any() for a, b in zip(start, play(second, 1), strict=True))


def test_masks_come_as_one_matrix():
    env = coyote()
    env.reset()
    masks = env.env_method("action_masks")
    assert isinstance(masks, np.ndarray)
    assert (masks == (env.batch.action_mask != 0)).all()
    assert (env.env_method("action_masks", indices=[3, 5]) == masks[[3, 5]]).all()
    assert is_masking_supported(env)


def test_says_what_it_does_not_have():
    env = coyote()
    with pytest.raises(AttributeError, match=r"no method 'render_all'; there is: action_masks"):
        env.env_method("render_all")
    with pytest.raises(AttributeError, match="no attribute 'gravity'"):
        env.get_attr("gravity")
    with pytest.raises(AttributeError, match="'gravity'"):
        env.set_attr("gravity", 1)
    with pytest.raises(RuntimeError, match=r"call step\(actions\)"):
        env.step_wait()
    assert env.env_is_wrapped(VecMonitor) == [False] * 16
    assert env.get_attr("render_mode", indices=2) == [None]


def test_stock_maskable_ppo_runs_on_it():
    model = MaskablePPO("MlpPolicy", coyote(8), n_steps=16, batch_size=32, n_epochs=1, seed=0, device="cpu")
    model.learn(300)
    assert model.num_timesteps >= 300
