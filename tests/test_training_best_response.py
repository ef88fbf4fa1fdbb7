"""The approximate best response: one seat against frozen copies, and what is said of it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from coyote_env.policies import load_policy
from tests.test_training_opponents import table
from tests.test_training_ppo import pool
from tests.test_training_run import TINY, result_of
from tests.toy_games import RandomPolicy
from training import best_response, selfplay
from training.seating import LEARNER, Seating


def test_the_learner_has_one_seat_at_every_table_and_each_as_often():
    seating, rng = Seating(table(4), pool(RandomPolicy()), 1.0, 400, learner_alone=True), np.random.default_rng(0)
    seating.begin_rollout(rng)
    mine = seating.seats == LEARNER
    assert (mine.sum(axis=1) == 1).all()
    assert (mine.sum(axis=0) > 70).all()


def test_a_policys_manifest_gets_the_figure(tmp_path, capsys):
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    assert selfplay.main([str(path), "--run-dir", str(tmp_path / "run"), "--set", "run.steps=600"]) == 0
    policy = tmp_path / "run" / "policy"
    capsys.readouterr()
    arguments = [str(policy), "--steps", "1000", "--games", "200", "--run-dir", str(tmp_path / "response"), "--write"]
    assert best_response.main(arguments) == 0
    assert "a lower bound on how far it can be beaten" in capsys.readouterr().out
    figure = json.loads((policy / "manifest.json").read_text())["training"]["best_response"]
    assert (figure["steps"], figure["games"], figure["fair"]) == (1000, 200, 0.5)
    load_policy(policy)  # its manifest is still one


def test_given_anew_it_goes_on(tmp_path, capsys, monkeypatch):
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    arguments = ["random", "--config", str(path), "--games", "100"]
    assert best_response.main([*arguments, "--steps", "1200", "--run-dir", str(tmp_path / "whole")]) == 0
    said = capsys.readouterr().out.splitlines()[-2:]
    with monkeypatch.context() as broken:
        broken.setattr(selfplay.Run, "train_and_evaluate", lambda run: 130)
        assert best_response.main([*arguments, "--steps", "1200", "--run-dir", str(tmp_path / "parts")]) == 130
    assert best_response.main([*arguments, "--steps", "900", "--run-dir", str(tmp_path / "parts")]) == 2
    assert "parts holds a run of another configuration; give another --run-dir" in capsys.readouterr().err
    for _ in range(2):  # a finished one is told of again
        assert best_response.main([*arguments, "--steps", "1200", "--run-dir", str(tmp_path / "parts")]) == 0
        assert capsys.readouterr().out.splitlines()[-2:] == said


def test_the_statement():
    text = best_response.statement(result_of("bayes", 1000, 400, 4), 5000)
    assert text.splitlines()[0] == "a learner of 5,000 decisions wins 40.0% beside bayes, fair share 25.0%:"
    assert text.splitlines()[1].startswith("+15.0% (+12.0% to +18.1%), a lower bound")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bayes"], "bayes has no config.toml; give --config"),
        (["bayes", "--config", "{0}/tiny.toml", "--write"], "--write is not allowed: bayes has no manifest.json"),
        (["bayes", "--config", "{0}/tiny.toml", "--set", "run.sede=1"], "run.sede is not a setting"),
        (["bayes", "--config", "{0}/tiny.toml", "--set", "run.steps=1"], "--set run.steps=1 is not allowed: run.steps"),
        (["bayes", "--config", "{0}/tiny.toml", "--steps", "0"], "run.steps = 0 is not allowed"),
    ],
)
def test_mistakes(tmp_path, capsys, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.toml").write_text(TINY)
    assert best_response.main([argument.format(tmp_path) for argument in arguments]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_what_is_wrong_is_found_before_anything_is_trained(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.toml").write_text(TINY)
    policy = tmp_path / "policy"
    policy.mkdir()
    (policy / "manifest.json").write_text("{")
    assert best_response.main([str(policy), "--config", "tiny.toml", "--write"]) == 2
    assert "manifest.json is not a manifest: " in capsys.readouterr().err
    assert best_response.main(["random", "--config", "tiny.toml", "--set", "game.kwargs.num_players=1"]) == 2
    assert "game.kwargs: num_players" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_an_evaluation_that_is_none_is_one_line(tmp_path, capsys):
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    arguments = ["random", "--config", str(path), "--steps", "300", "--games", "20", "--run-dir", str(tmp_path / "run")]
    assert best_response.main(arguments) == 0
    (tmp_path / "run" / "evaluation.json").write_text("[]")
    capsys.readouterr()
    assert best_response.main(arguments) == 1
    assert capsys.readouterr().err.splitlines()[-1].endswith("run: ValueError: [] where results belong")
