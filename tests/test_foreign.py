"""Other people's checkers run over a grid of arguments, and what other people's code must not be able to disturb."""

from __future__ import annotations

import hashlib
import itertools
import os
import random
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pettingzoo.test import api_test, render_test, seed_test

from coyote_env.coyote.rules import VARIANTS
from tests.aec import BOTH_GAMES, FACES, make_batch, make_env, snapshot, trace

ROOT = Path(__file__).resolve().parent.parent

# What api_test tells every environment outside PettingZoo's own list about a Dict observation with a mask.
DICT_OBSERVATION_MESSAGES = (
    "Observation is not a NumPy array",
    r"Observation space for each agent probably should be gymnasium\.spaces\.box or gymnasium\.spaces\.discrete",
)

GRID: list[dict[str, Any]] = [
    *BOTH_GAMES.values(),
    *(
        {"game": "scout_v0", "num_players": n, "exemption": exemption, "reward": reward}
        for n, exemption, reward in itertools.product((2, 3, 4, 5), ("text", "rulebook"), ("win", "placement", "round"))
    ),
    {"game": "scout_v0", "rounds": 1, "stall_limit": 1, "illegal_action": "forfeit"},
    *({"num_players": n} for n in range(2, 11)),
    *({"num_players": n, "deck": "classic-36", "variants": "none"} for n in range(2, 11)),
    *({"num_players": 3, "variants": [name]} for name in VARIANTS),
    *({"num_players": 3, "variants": [v for v in VARIANTS if v != name]} for name in VARIANTS),
    *(
        {"edition": "mini", "num_players": n, "reward": reward, "odds": odds}
        for n, reward, odds in itertools.product((2, 3), ("win", "placement", "round"), (False, True))
    ),
    *({"reward": reward, "odds": True} for reward in ("win", "placement", "round")),
    {"lives": 1, "illegal_action": "forfeit"},
    {"lives": 9, "num_players": 5},
]


def without_game(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a face itself."""
    return {key: value for key, value in arguments.items() if key != "game"}


def name(arguments: dict[str, Any]) -> str:
    """A test id."""
    return "-".join(str(value).replace(" ", "") for value in arguments.values()) or "default"


grid = pytest.mark.parametrize("arguments", GRID, ids=name)


@grid
@pytest.mark.parametrize("face", ["env", "raw_env"])
def test_api(face, arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for message in DICT_OBSERVATION_MESSAGES:
            warnings.filterwarnings("ignore", message=message)
        api_test(getattr(FACES[arguments.get("game", "coyote_v0")], face)(**without_game(arguments)), num_cycles=120)


@grid
def test_seeds(arguments):
    seed_test(lambda: make_env(**arguments), num_cycles=60)


@grid
def test_rendering(arguments):
    render_test(lambda **more: make_env(**arguments, **more), custom_tests={"ansi": lambda text: len(text) > 40})


# --- determinism under disturbance


def global_generators() -> Any:
    """State of Python's and of numpy's global generator."""
    # The ignore below: foreign code's generator is what is looked at.
    return random.getstate(), np.random.get_state(legacy=False)["state"]["key"].tolist()  # noqa: NPY002


@pytest.mark.parametrize("arguments", BOTH_GAMES.values(), ids=BOTH_GAMES.keys())
def test_global_generators_and_other_environments_disturb_nothing(arguments):
    calm = make_env(**arguments)
    calm.reset(seed=11)
    expected = [trace(calm, np.random.default_rng(k), 15) for k in range(10)]

    shaken, neighbour = make_env(**arguments), make_env(**arguments)
    shaken.reset(seed=11)
    neighbour.reset(seed=12)
    for k in range(10):
        random.seed(k)
        np.random.seed(k)  # noqa: NPY002  # the global one is the point here
        trace(neighbour, np.random.default_rng(100 + k), 7)
        mine = global_generators()
        assert trace(shaken, np.random.default_rng(k), 15) == expected[k]
        assert global_generators() == mine  # nor do we disturb others


def batch_trace(num_tables: int, steps: int, **arguments: Any) -> list[list[bytes]]:
    """What each table of a batch shows at each step; table i draws its actions from a stream of its own."""
    batch = make_batch(num_tables, **arguments)
    batch.reset(seed=21)
    chance = [np.random.default_rng((5, i)) for i in range(num_tables)]
    seen: list[list[bytes]] = [[] for _ in range(num_tables)]
    for _ in range(steps):
        actions = np.zeros(num_tables, dtype=np.int64)
        for i in range(num_tables):
            actions[i] = chance[i].choice(np.flatnonzero(batch.action_mask[i])[:12])
        batch.step(actions)
        for i in range(num_tables):
            rows = (batch.seat, batch.observation, batch.action_mask, batch.rewards, batch.done, batch.out)
            seen[i].append(b"".join(row[i].tobytes() for row in rows))
    return seen


@pytest.mark.engine
@pytest.mark.parametrize(
    "arguments", [{}, {"num_players": 2, "lives": 1}, {"edition": "mini"}, {"game": "scout_v0"}], ids=name
)
def test_a_table_plays_alike_in_a_batch_of_any_size(arguments):
    steps = 40
    large = batch_trace(9, steps, **arguments)
    for size in (1, 2, 5):
        assert batch_trace(size, steps, **arguments) == large[:size]
    assert len({b"".join(rows) for rows in large}) == 9


# --- other processes

PLAY = """
import numpy as np
from tests.aec import make_env, trace
from tests.test_foreign import batch_trace
for arguments in ({}, {"num_players": 2, "odds": True}, {"game": "scout_v0", "fits": True}):
    env = make_env(**arguments)
    env.reset(seed=31)
    print(trace(env, np.random.default_rng(31), TURNS))
import hashlib
for game in ("coyote_v0", "scout_v0"):
    rows = b"".join(b"".join(rows) for rows in batch_trace(3, 20, game=game))
    print(hashlib.sha256(rows).hexdigest())
"""


def in_process(code: str, **environ: str) -> str:
    """Runs code in a new process from the repository's root; returns what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT, env={**os.environ, **environ}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "environ",
    [
        {"PYTHONHASHSEED": "1"},
        {"PYTHONHASHSEED": "2", "NUMBA_NUM_THREADS": "1"},
        {"NUMBA_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"},
        {"NUMBA_DISABLE_JIT": "1"},
    ],
    ids=name,
)
def test_other_processes_threads_and_no_compiler_play_alike(environ):
    turns = 200
    lines: list[str] = []
    for arguments in ({}, {"num_players": 2, "odds": True}, {"game": "scout_v0", "fits": True}):
        env = make_env(**arguments)
        env.reset(seed=31)
        lines.append(trace(env, np.random.default_rng(31), turns))
    printed = in_process(PLAY.replace("TURNS", str(turns)), **environ).split()
    for game in ("coyote_v0", "scout_v0"):
        rows = b"".join(b"".join(rows) for rows in batch_trace(3, 20, game=game))
        lines.append(hashlib.sha256(rows).hexdigest())
    assert printed == lines


# --- imports

HEAVY = (
    "torch", "stable_baselines3", "sb3_contrib", "tensorboard", "matplotlib", "pygame", "tkinter", "onnx", "onnxruntime"
)  # fmt: skip


def loaded(code: str, names: tuple[str, ...]) -> set[str]:
    """Which of the packages ``names`` are loaded after ``code`` ran in a new process."""
    printed = in_process(f"{code}\nimport sys\nprint('loaded:', *(n for n in {names!r} if n in sys.modules))")
    return set(printed.splitlines()[-1].split()[1:])


def test_importing_the_package_imports_nothing_heavy():
    assert loaded("import coyote_env", (*HEAVY, "numba", "scipy")) == set()


def test_text_mode_imports_no_drawing_code():
    code = """
from coyote_env import coyote_v0
env = coyote_v0.env(render_mode="ansi")
env.reset(seed=1)
print(env.render())
from coyote_env.policies import load_policy
load_policy("bayes", env.unwrapped.game)
"""
    assert loaded(code, HEAVY) == set()
    assert loaded("import pygame, matplotlib", HEAVY) >= {"pygame", "matplotlib"}  # so that the check can fail


def test_the_batch_plays_what_the_environment_plays():
    for arguments in BOTH_GAMES.values():
        env, batch = make_env(**arguments), make_batch(1, **arguments)
        env.reset(seed=41)
        batch.reset(seed=41)
        rng = np.random.default_rng(41)
        for game in range(3):
            while True:
                agent = env.agent_selection
                observation = env.observe(agent)
                assert agent == f"player_{batch.seat[0]}"
                np.testing.assert_array_equal(batch.observation[0], observation["observation"])
                np.testing.assert_array_equal(batch.action_mask[0], observation["action_mask"])
                action = int(rng.choice(np.flatnonzero(observation["action_mask"])[:15]))
                env.step(action)
                batch.step(np.array([action]))
                assert batch.rewards[0].tolist() == [env.rewards[a] for a in env.possible_agents]
                assert bool(batch.done[0]) == any(env.terminations.values())
                if batch.done[0]:
                    break
            assert game < 3
            env.reset()
    assert snapshot(env)
