"""Exact NashConv of a learner's policy: the tree is the game's, and the command says whether the target is met."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

from tests.test_training_run import TINY
from training import nash_proof
from training.config import ConfigError, load_config
from training.selfplay import make_game

pyspiel = pytest.importorskip("pyspiel")  # an extra: whoever tests without it still runs everything else


@pytest.fixture(scope="module")
def tree() -> nash_proof.Tree:
    from coyote_env import coyote_v0

    return nash_proof.Tree(coyote_v0.game(edition="mini", num_players=2))


def test_nash_conv_of_a_known_policy(tree):
    masks = tree.masks.numpy()
    uniform = masks / masks.sum(axis=1, keepdims=True)
    expected = pyspiel.nash_conv(tree._cached, pyspiel.UniformRandomPolicy(tree._cached))
    assert tree.nash_conv(uniform) == pytest.approx(expected, abs=1e-9)
    first = np.zeros(masks.shape)
    first[np.arange(len(masks)), masks.argmax(axis=1)] = 1.0
    assert tree.nash_conv(first) > expected


def test_information_states_of_a_seat_have_different_views(tree):
    # Views are relative: the two seats share each of them.
    views, count = np.unique(tree.observations.numpy(), axis=0, return_counts=True)
    assert len(tree.masks) == 1024
    assert len(views) == 512
    assert (count == 2).all()
    assert tree.masks.any(dim=1).all()


def test_cfr_comes_down(tree, monkeypatch):
    clock = itertools.count()  # a second whenever it is looked at: what is done does not depend on how fast
    monkeypatch.setattr("training.nash_proof.time.perf_counter", lambda: float(next(clock)))
    points = tree.cfr(8.0)
    assert len(points) == 8
    assert points[-1][2] < 0.3 * points[0][2]
    assert [steps % tree.num_decisions for steps, _, _ in points] == [0] * len(points)


def test_the_command(tmp_path, capsys):
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    arguments = [
        str(path),
        "--set",
        "opponents.snapshots=false",
        "--seeds",
        "1",
        "2",
        "--every",
        "1000",
        "--cfr-seconds",
        "0.1",
        "--out",
        f"{tmp_path}/proof.1",
        "--beside",
        "ppo.entropy=0.0",
        "ppo.entropy_end=0.0",
    ]
    assert nash_proof.main([*arguments, "--target", "0.0001"]) == 1
    printed = capsys.readouterr().out
    assert " decisions   seconds  NashConv" in printed
    figures = json.loads((tmp_path / "proof.1.json").read_text())
    assert list(figures["curves"]) == ["seed 1", "seed 2", "ppo.entropy=0.0, ppo.entropy_end=0.0", "CFR+"]
    assert (tmp_path / "proof.1.png").stat().st_size > 1000
    assert nash_proof.main([*arguments[:5], "--cfr-seconds", "0", "--target", "5"]) == 0
    assert "stopped" not in capsys.readouterr().out
    assert nash_proof.main([*arguments[:5], "--minutes", "0", "--cfr-seconds", "0", "--target", "5"]) == 1
    assert "seed 1 (stopped after 0 minutes)" in capsys.readouterr().out


def test_what_runs_beside_plays_the_same_game(tmp_path, capsys):
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    assert nash_proof.main([str(path), "--set", "opponents.share=0.0", "--beside", "game.kwargs.num_players=3"]) == 2
    assert "--beside game.kwargs.num_players=3 is not allowed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--every", "0"], "--every 0 is not allowed; allowed: at least 1"),
        (["--seeds", "1", "1"], "--seeds or --beside name a run twice"),
        (["--out", "{0}/nowhere/x"], "/x is not allowed; allowed: a name, in a folder that is there"),
        (["--out", ""], "allowed: a name, in a folder that is there"),
        (["--out", "{0}/taken"], "taken.json is a folder"),
        (["--out", "{0}/" + "a" * 252], "File name too long"),
        (["--set", "run.seed=2"], "--set run.seed is not allowed; allowed: --seeds"),
        (["--minutes", "nan"], "--minutes nan is not allowed; allowed: a number, at least 0"),
        (["--target", "-1"], "--target -1.0 is not allowed"),
        (["--set", "opponents.snapshots=true"], "opponents.snapshots = true is not allowed here"),
        (["--set", "teacher.player=nobody"], "teacher.player: no policy 'nobody'"),
    ],
)
def test_mistakes_are_found_before_anything_is_trained(tmp_path, capsys, arguments, message):
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    (tmp_path / "taken.json").mkdir()
    settings = ["--set", "opponents.snapshots=false", *(argument.format(tmp_path) for argument in arguments)]
    assert nash_proof.main([str(path), *settings]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_games_that_cannot_be_walked_over_are_refused(tmp_path):
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    game = make_game(load_config(path))
    with pytest.raises(ConfigError, match="has more than 100 nodes; choose a smaller table"):
        nash_proof.Tree(game, max_nodes=100)
