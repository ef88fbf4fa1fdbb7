"""The baselines: scripts that can be read and run, versions that are pinned, and results that are of the protocol.

The libraries themselves are not installed here, but for sb3-contrib.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from baselines import common
from coyote_env import benchmark
from coyote_env.policies import CheckpointPolicy
from tests.make_docs import ROOT
from training.config import load_config

FOLDER = ROOT / "baselines"
SCRIPTS = sorted(FOLDER.glob("*_ppo.py"))
REQUIREMENTS = sorted(FOLDER.glob("requirements-*.txt"))
RESULTS = json.loads((FOLDER / "results.json").read_text(encoding="utf-8"))


def pins(path: Path) -> dict[str, str]:
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            match = re.fullmatch(r"([A-Za-z0-9_.-]+)==([0-9][0-9a-z.]*)", line)
            assert match, f"{path.name}: {line!r} is no plain pin"
            found[match[1].lower().replace("_", "-")] = match[2]
    return found


def test_there_are_some():
    assert {path.stem for path in SCRIPTS} == {"rllib_ppo", "sb3_maskable_ppo", "tianshou_ppo"}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_says_how_it_is_run_and_its_library_can_be_installed(script):
    text = script.read_text(encoding="utf-8")
    tree = ast.parse(text)
    compile(tree, str(script), "exec")
    assert f"python -m baselines.{script.stem} --task" in (ast.get_docstring(tree) or "")
    assert f"[{script.name}]({script.name})" in (FOLDER / "README.md").read_text(encoding="utf-8")
    library = script.stem.split("_")[0]
    assert library == "sb3" or (FOLDER / f"requirements-{library}.txt") in REQUIREMENTS


@pytest.mark.parametrize("path", REQUIREMENTS, ids=lambda path: path.stem)
def test_every_version_is_pinned_and_torch_is_the_one_tested(path):
    found = pins(path)
    tested = pins(ROOT / "constraints.txt")
    for package in ("torch", "numba", "numpy", "pettingzoo"):  # what the base package and its random streams stand on
        assert found[package] == tested[package]
    assert {"gymnasium", "onnx"} <= set(found)


def test_results_are_of_the_protocol_and_name_what_made_them():
    tasks = RESULTS["tasks"]
    assert set(tasks) <= set(benchmark.TASKS)
    for row in RESULTS["rows"]:
        for score in row["scores"]:
            task = benchmark.task_of(score["task"])
            assert score["protocol"] == benchmark.PROTOCOL
            assert score["games"] == task.deals * (len(task.opponents) + 1)
            assert score["low"] <= score["mean_return"] <= score["high"]
            assert score["faults"] == 0
        assert [score["task"] for score in row["scores"]] == tasks
        module = re.search(r"-m baselines\.(\w+)", row["command"])
        if module:
            assert FOLDER / f"{module[1]}.py" in SCRIPTS
            assert f"--steps {RESULTS['steps']}" in row["command"]
    named = " ".join(row["command"] for row in RESULTS["rows"])
    assert all(f"baselines.{script.stem} " in named for script in SCRIPTS)
    text = (FOLDER / "results.json").read_text(encoding="utf-8")
    assert "/tmp" not in text  # no place of the machine that made them
    assert "/home" not in text


LIBRARIES = {
    "Tianshou": ("tianshou", FOLDER / "requirements-tianshou.txt"),
    "RLlib": ("ray", FOLDER / "requirements-rllib.txt"),
    "sb3-contrib": ("sb3-contrib", ROOT / "constraints.txt"),
}


def test_versions_in_the_results_are_those_that_are_pinned():
    found = dict(row["library"].split(" ") for row in RESULTS["rows"] if "baselines." in row["command"])
    assert set(found) == set(LIBRARIES)
    for library, (package, path) in LIBRARIES.items():
        assert pins(path)[package] == found[library]


@pytest.mark.parametrize("task", ["mini-2p-plus-one", "coyote-4p-bayes", "scout-4p-planner"])
def test_what_is_written_is_the_policy_and_can_be_submitted(task, tmp_path):
    game = common.game_of(task)
    policy = common.layers(game.layout.size, game.num_actions)
    path = tmp_path / "policy.onnx"
    common.write(policy, game, path)
    loaded = CheckpointPolicy.from_file(path, benchmark.task_of(task).make())
    seen = np.random.default_rng(0).random((5, game.layout.size), np.float32)
    mask = np.ones((5, game.num_actions), np.int8)
    mask[:, ::2] = 0
    with torch.no_grad():
        expected = common.masked(policy(torch.as_tensor(seen)), torch.as_tensor(mask)).softmax(dim=1).numpy()
    np.testing.assert_allclose(loaded.probabilities(seen, mask), expected, atol=1e-6)
    assert (loaded.probabilities(seen, mask)[:, ::2] == 0).all()
    assert benchmark.evaluate(loaded, task, deals=2).faults == 0


OUR_ROWS = [
    row["command"]
    for row in json.loads((ROOT / "baselines" / "results.json").read_text())["rows"]
    if "configs/quickstart.toml" in row["command"]
]


@pytest.mark.parametrize("command", OUR_ROWS)
def test_settings_are_those_of_our_own_rows(command):
    assert len(OUR_ROWS) == 3
    words = shlex.split(command)
    assert words[:4] == ["python", "-m", "training.selfplay", "configs/quickstart.toml"]
    assert set(words[4::2]) == {"--set"}
    config = load_config(ROOT / "configs" / "quickstart.toml", words[5::2])
    ppo = config.ppo
    assert (ppo.gamma, ppo.gae_lambda, ppo.clip) == (common.GAMMA, common.GAE_LAMBDA, common.CLIP)
    assert (ppo.value_weight, ppo.max_grad_norm) == (common.VALUE_WEIGHT, common.MAX_GRAD_NORM)
    assert config.run.tables * ppo.rollout_steps == common.ROLLOUT
    assert common.seat_rollout("coyote-4p-bayes", 500_000) == common.ROLLOUT // config.game.kwargs["num_players"]
    assert (ppo.minibatch, ppo.epochs) == (common.MINIBATCH, common.EPOCHS)
    assert (*config.network.shared, *config.network.policy) == common.HIDDEN
    assert (common.learning_rate(0), common.learning_rate(1)) == pytest.approx(
        (ppo.learning_rate, ppo.learning_rate_end)
    )
    assert (common.entropy(0), common.entropy(1)) == pytest.approx((ppo.entropy, ppo.entropy_end))
    assert common.entropy(ppo.entropy_decay) == pytest.approx(ppo.entropy_end)
    assert common.entropy(ppo.entropy_decay - 0.1) > ppo.entropy_end
    rules = common.rules_of(benchmark.task_of("coyote-4p-bayes"))
    assert (rules["odds"], rules["reward"]) == (config.game.kwargs["odds"], config.game.kwargs["reward"])


def test_the_script_of_the_library_that_is_here_runs(tmp_path):
    path = tmp_path / "policy.onnx"
    command = [sys.executable, "-m", "baselines.sb3_maskable_ppo", "--task", "mini-2p-plus-one", "--steps", "1024"]
    run = subprocess.run(
        [*command, "--out", str(path)], check=True, capture_output=True, text=True, timeout=300, cwd=ROOT
    )
    assert "of 1,024 decisions" in run.stdout
    game = benchmark.task_of("mini-2p-plus-one").make()
    assert benchmark.evaluate(CheckpointPolicy.from_file(path, game), "mini-2p-plus-one", deals=20).faults == 0
