"""Variants of a configuration compared: what is run, what is not run twice, what the table says."""

from __future__ import annotations

import json
import os
from dataclasses import asdict

import pytest

from tests.test_training_run import TINY, result_of
from training import ablation, selfplay
from training.ablation import Run, folder_name, markdown, read_runs
from training.config import ConfigError
from training.report import Matrix


def test_every_variant_is_trained_with_every_seed_once(tmp_path, monkeypatch, capsys):
    config = tmp_path / "tiny.toml"
    config.write_text(TINY)
    out = tmp_path / "out"
    arguments = [str(config), "--vary", "ppo.magnet=ema", "ppo.magnet_decay=0.5", "--vary", "ppo.entropy=0.1"]
    arguments += ["--set", "run.steps=600", "--seeds", "3", "4", "--out", str(out)]
    assert ablation.main(arguments) == 0
    runs = read_runs(out / "ablation.json")
    variants = [[], ["ppo.magnet=ema", "ppo.magnet_decay=0.5"], ["ppo.entropy=0.1"]]
    assert [(run.seed, run.changed) for run in runs] == [(seed, variant) for seed in (3, 4) for variant in variants]
    for run in runs:
        folder = out / f"seed-{run.seed}" / folder_name(run.changed)
        text = (folder / "config.toml").read_text()
        assert f"seed = {run.seed}" in text
        assert ('magnet = "ema"' in text) == ("ppo.magnet=ema" in run.changed)
        assert [result.wins for result in run.results] == [
            result["wins"] for result in json.loads((folder / "evaluation.json").read_text())
        ]
        assert run.cross_play is not None
        assert json.loads((folder / "cross_play.json").read_text())["shares"] == run.cross_play.shares
    table = (out / "ablation.md").read_text()
    assert table == markdown(runs) + "\n"
    assert table in capsys.readouterr().out
    # Once more: nothing is trained, the table is the same; and one run that was cut short is made good.
    (out / "seed-4" / "as-it-is" / "evaluation.json").unlink()
    trained = []
    monkeypatch.setattr(selfplay.Run, "_learn", lambda run: trained.append(run.folder.name))
    assert ablation.main(arguments) == 0
    assert trained == ["as-it-is"]
    assert [run.results for run in read_runs(out / "ablation.json")] == [run.results for run in runs]
    capsys.readouterr()
    assert ablation.main([*arguments, "--set", "run.steps=700"]) == 2
    assert "holds a run of another configuration; give another --out" in capsys.readouterr().err
    assert [run.results for run in read_runs(out / "ablation.json")] == [run.results for run in runs]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("evaluation.json", "{"),
        ("evaluation.json", "[]"),
        ("evaluation.json", '[{"a": 1}]'),
        ("evaluation.json", "5"),
        ("evaluation.json", "[" * 100_000),
        ("policy/manifest.json", '{"training": {"steps": 600}}'),
        ("policy/manifest.json", '{"training": {"steps": 600, "wall_seconds": 0}}'),
        ("policy/manifest.json", None),
    ],
)
def test_a_finished_run_that_cannot_be_read_is_named(tmp_path, capsys, file, text):
    folder = tmp_path / "run"
    (folder / "policy").mkdir(parents=True)
    result = asdict(result_of("bayes", 100, 10, 4))
    (folder / "evaluation.json").write_text(json.dumps([result]))
    (folder / "policy" / "manifest.json").write_text('{"training": {"steps": 600, "wall_seconds": 2.0}}')
    assert ablation.read_run(folder, [], 1).seconds == 2.0
    (folder / file).unlink()
    if text is None:
        os.mkfifo(folder / file)
    else:
        (folder / file).write_text(text)
    with pytest.raises(ConfigError, match=r"run is finished, and what it came to cannot be read: .*is made again"):
        ablation.read_run(folder, [], 1)


def test_the_table():
    matrix = Matrix(["100", "200", "the policy"], [[None, 0.2, 0.1], [0.3, None, 0.2], [0.51, 0.4, None]], 200)
    runs = [
        Run(changed, seed, 1000, 2.0, [result_of("bayes", 100, 10 * seed + len(changed), 4)], matrix)
        for seed in (1, 2)
        for changed in ([], ["ppo.magnet=ema"])
    ]
    assert markdown(runs).splitlines() == [
        "| changed | `bayes` | own, 1 of 2 | own, 2 of 2 | decisions/s |",
        "| --- | --- | --- | --- | --- |",
        "| nothing | 10.0, 20.0 | 51, 51 | 40, 40 | 500, 500 |",
        "| `ppo.magnet=ema` | 11.0, 21.0 | 51, 51 | 40, 40 | 500, 500 |",
    ]


def test_figures_are_told_apart_by_name():
    one, two = result_of("bayes", 100, 10, 4), result_of("random", 100, 90, 4)
    small = Matrix(["100", "the policy"], [[None, 0.2], [0.3, None]], 200)
    runs = [
        Run([], 1, 1000, 2.0, [one, two], Matrix(["100", "200", "the policy"], [[], [], [0.5, 0.4, None]], 200)),
        Run(["a=1"], 1, 1000, 2.0, [two, one], small),
        Run(["b=1"], 1, 1000, 2.0, [two], None),
    ]
    assert [line.split(" | ")[1:5] for line in markdown(runs).splitlines()[2:]] == [
        ["10.0", "90.0", "50", "40"],
        ["10.0", "90.0", "30", "-"],
        ["-", "90.0", "-", "-"],
    ]


@pytest.mark.parametrize(
    ("vary", "message"),
    [
        ("ppo.magnat=ema", "ppo.magnat is not a setting"),
        ("ppo.magnet=strong", "ppo.magnet = 'strong' is not allowed"),
        ("game.kwargs.edition=none", "game.kwargs"),
        ('teacher.player="nobody"', "teacher.player"),
        ('evaluation.opponents=["nobody"]', "evaluation.opponents"),
        ("run.seed=7", "--vary run.seed=7 is not allowed; allowed: --seeds"),
    ],
)
def test_a_mistake_in_a_variant_is_found_before_anything_is_trained(tmp_path, capsys, vary, message):
    config = tmp_path / "tiny.toml"
    config.write_text(TINY)
    assert ablation.main([str(config), "--vary", vary, "--out", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
