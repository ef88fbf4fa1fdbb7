"""The profile of a training step: what it measures adds up, and what it prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.test_training_run import TINY
from training import profile
from training.config import load_config
from training.selfplay import make_game, make_learner


def test_a_stopwatch_counts_each_moment_once(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("training.profile.time.perf_counter", lambda: now[0])

    class Work:
        def outer(self) -> None:
            now[0] += 1
            self.inner()
            now[0] += 2

        def inner(self) -> None:
            now[0] += 10

    work, watch = Work(), profile.Stopwatch()
    watch.watch(work, "outer", "outer")
    watch.watch(work, "inner", "inner")
    with watch.timed("else"):
        now[0] += 100
        work.outer()
        work.inner()
    assert watch.seconds == {"else": 100.0, "outer": 3.0, "inner": 20.0}


def test_the_floor_changes_no_weight(tmp_path):
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    config = load_config(path)
    model = make_learner(config, make_game(config))
    learner = profile.Learner(model)
    rows = learner.turn()
    before = [p.detach().clone() for p in model.policy.parameters()]
    profile.floor(model, model.workers, rows)
    assert all((a == b).all() for a, b in zip(before, model.policy.parameters(), strict=True))


def test_prints_learner_floor_and_usual_route(tmp_path, capsys):
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    assert profile.main([str(path), "--rollouts", "2", "--seconds", "0.1"]) == 0
    printed = capsys.readouterr().out
    shares = [float(share) for share in re.findall(r"([\d.]+)%", printed)]
    assert sum(shares) == pytest.approx(100, abs=2)
    assert re.search(r"overhead over the floor: [\d.]+x by the clock, [\d.]+x in processor time", printed)
    assert re.search(r"the learner is [\d.]+ times as fast as the usual route", printed)


def test_opponents_and_teacher_are_told_apart(tmp_path, capsys):
    path = tmp_path / "tiny.toml"
    path.write_text(TINY + '[teacher]\nplayer = "random"\n')
    assert profile.main([str(path), "--rollouts", "2", "--seconds", "0"]) == 0
    printed = capsys.readouterr().out
    each = {name: float(us) for name, us in re.findall(r"^  ([a-z' ]+?) +[\d.]+% +([\d.]+)$", printed, re.MULTILINE)}
    assert each["the teacher's decisions"] > 0
    assert each["opponents' decisions"] > 0
    (floor,) = (float(us) for us in re.findall(r"floor .* ([\d.]+) us each", printed))
    whole, own = (float(x) for x in re.findall(r"([\d.]+)x by the clock", printed))
    beside = sum(each[name] for name in profile.BESIDE)
    assert whole - own == pytest.approx(beside / floor, abs=0.02 + 0.02 * whole)


def test_nothing_is_measured_of_no_rollout(tmp_path, capsys):
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    assert profile.main([str(path), "--rollouts", "0"]) == 2
    assert capsys.readouterr().err == "error: --rollouts 0 is not allowed; allowed: at least 1\n"
    assert profile.main([str(path), "--seconds", "nan"]) == 2
    assert capsys.readouterr().err == "error: --seconds nan is not allowed; allowed: at least 0\n"


def test_a_mistake_is_one_line(tmp_path, capsys):
    assert profile.main([str(tmp_path / "nowhere.toml")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_wrapper_of_the_usual_route_is_a_gymnasium_env(tmp_path: Path):
    from coyote_env import coyote_v0

    env = profile._TutorialWrapper(coyote_v0.env(edition="mini"))
    seen, _ = env.reset(seed=1)
    over = False
    while not over:
        assert env.observation_space.contains(seen)
        seen, _, over, _, _ = env.step(int(env.action_mask().argmax()))
