"""Whole runs by the command line: what lies in the folder, what is printed, how a run ends that does not go well."""

from __future__ import annotations

import base64
import csv
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from html.parser import HTMLParser
from io import BytesIO, StringIO
from pathlib import Path

import matplotlib.image
import pytest
from tensorboard.backend.event_processing.event_accumulator import (  # type: ignore[import-untyped]  # it has no types
    EventAccumulator,
)

from coyote_env.arena import play_match
from coyote_env.arena.stats import wilson
from coyote_env.policies import load_policy, make_game
from tests import networks
from training import selfplay
from training.callback import RunCallback
from training.config import load_config
from training.errors import TrainingError
from training.files import write_atomic
from training.interrupts import Interrupts
from training.ppo import SelfPlayPPO
from training.progress import Progress, duration
from training.report import Described, Matrix, Result, evaluation_table, learning_curve, progress_csv, report_html

ROOT = Path(__file__).parent.parent

TINY = """
[game.kwargs]
edition = "mini"
num_players = 2
[run]
seed = 5
steps = 1500
tables = 16
threads = 1
checkpoint_steps = 500
[ppo]
rollout_steps = 16
minibatch = 128
[network]
shared = [16]
policy = [16]
value = [16]
[opponents]
share = 0.5
scripted = ["random"]
[evaluation]
opponents = ["random"]
games = 40
progress_games = 10
progress_steps = 500
self_games = 12
progress_self_games = 4
matrix_snapshots = 2
matrix_games = 6
"""


def result_of(
    opponent: str, games: int, wins: float, num_seats: int, seats: Sequence[tuple[int, float]] = ()
) -> Result:
    """As a match of separate deals finds it."""
    return Result(opponent, games, wins, wins / games, *wilson(wins, games), 1 / num_seats, seats)


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    return path


def run(config: Path, folder: Path, *more: str) -> int:
    return selfplay.main([str(config), "--run-dir", str(folder), *more])


def assert_nothing_is_broken(folder: Path) -> None:
    """Every file there is can be read, and nothing half-written lies about."""
    for path in folder.rglob("*"):
        assert not path.name.startswith("."), path
        if path.name == "policy.onnx":
            load_policy(path.parent)
        elif path.suffix == ".json":
            json.loads(path.read_text())
        elif path.suffix == ".toml":
            load_config(path)
        elif path.suffix == ".csv":
            rows = list(csv.reader(StringIO(path.read_text())))
            assert {len(row) for row in rows} == {len(rows[0])}
        elif path.suffix == ".png":
            matplotlib.image.imread(path)


def test_a_run_explains_itself(config, tmp_path, capsys):
    folder = tmp_path / "run"
    assert run(config, folder, "--set", "run.steps=1600") == 0
    assert sorted(p.name for p in folder.iterdir()) == [
        "checkpoints",
        "command.txt",
        "config.toml",
        "cross_play.json",
        "evaluation.json",
        "evaluation.txt",
        "learning_curve.png",
        "policy",
        "progress.csv",
        "report.html",
        "state",
        "tensorboard",
        "versions.json",
    ]
    assert_nothing_is_broken(folder)
    command = f"python -m training.selfplay {config} --run-dir {folder} --set run.steps=1600"
    assert (folder / "command.txt").read_text() == command + "\n"
    written = load_config(folder / "config.toml")
    assert written.run.steps == 1600
    assert written.run.seed == 5
    assert (folder / "policy" / "config.toml").read_text() == (folder / "config.toml").read_text()
    assert "torch" in json.loads((folder / "versions.json").read_text())

    manifest = json.loads((folder / "policy" / "manifest.json").read_text())
    assert 1600 <= manifest["training"]["steps"] < 1600 + 256
    assert manifest["training"]["games"] > 100
    assert manifest["training"]["seed"] == 5
    assert manifest["training"]["command"] == command
    results = json.loads((folder / "evaluation.json").read_text())
    assert manifest["evaluation"] == results
    assert [r["opponent"] for r in results] == ["random"]
    assert results[0]["games"] == 40
    seats = results[0]["seats"]
    assert [games for games, _ in seats] == [20, 20]
    assert sum(wins for _, wins in seats) == results[0]["wins"]
    low, high = wilson(results[0]["wins"], 40)  # here a deal is a game, and the two hardly differ
    assert [results[0]["low"], results[0]["high"]] == pytest.approx([low, high], abs=0.02)

    steps = sorted(int(p.name.removeprefix("step_")) for p in (folder / "checkpoints").iterdir())
    assert [s // 500 for s in steps] == [1, 2, 3]
    rows = list(csv.DictReader(StringIO((folder / "progress.csv").read_text())))
    readme = (ROOT / "training" / "README.md").read_text()
    for column in rows[0]:
        stem, _, name = column.partition("/")
        words = {"games": [f"`{name}`"], "pool": [f"`{column}`", "`pool/NAME`"], "win_rate": ["`win_rate/NAME`"]}
        assert name.endswith("_a_game") or any(word in readme for word in words.get(stem, [f"`{column}`"])), column
    assert [int(row["steps"]) for row in rows] == sorted({int(row["steps"]) for row in rows})
    assert rows[0]["steps"] == "0"
    assert int(rows[-1]["steps"]) == manifest["training"]["steps"]
    measured = [row for row in rows if row["win_rate/random"]]
    assert [int(row["steps"]) // 500 for row in measured] == [0, 1, 2, 3, 3]
    assert all(row["train/entropy"] and row["train/explained_variance"] for row in rows[1:])

    events = EventAccumulator(str(folder / "tensorboard")).Reload()
    logged = {
        "train/entropy",
        "rollout/game_length",
        "win_rate/random",
        "games/challenge_a_game",
        "games/challenges_right",
    }
    assert logged <= set(events.Tags()["scalars"])
    assert len(events.Scalars("train/entropy")) == len(rows) - 1

    printed = capsys.readouterr()
    table = (folder / "evaluation.txt").read_text()
    assert table in printed.out
    assert f"learning curve: {folder / 'learning_curve.png'}" in printed.out
    assert "1 x random" in table
    assert "fair share: 50.0%" in table
    assert "steps/s" in printed.err
    assert re.search(r"wins at [\d,]+: random", printed.err)


def test_opponents_may_see_what_the_learner_does_not_and_a_teacher_may_not(config, tmp_path, capsys):
    rich = networks.write(tmp_path / "rich", make_game("coyote_v0", {"edition": "mini", "odds": True}))
    for setting in ("opponents.scripted", "evaluation.opponents"):
        assert run(config, tmp_path / setting, "--set", f'{setting}=["{rich}"]') == 0
    capsys.readouterr()
    assert run(config, tmp_path / "taught", "--set", f'teacher.player="{rich}"') == 2
    assert "allowed: one that sees what the learner sees (game.kwargs: odds)" in capsys.readouterr().err
    assert not (tmp_path / "taught").exists()


def test_same_config_and_seed_give_the_same_policy(config, tmp_path):
    for name in ("first", "second"):
        assert run(config, tmp_path / name) == 0
    assert run(config, tmp_path / "other", "--set", "run.seed=6") == 0
    first, second, other = (
        (tmp_path / n / "policy" / "policy.onnx").read_bytes() for n in ("first", "second", "other")
    )
    assert first == second
    assert first != other
    figures = [(tmp_path / n / "evaluation.json").read_text() for n in ("first", "second")]
    assert figures[0] == figures[1]


def test_measuring_does_not_change_what_is_learnt(config, tmp_path):
    assert run(config, tmp_path / "first") == 0
    assert run(config, tmp_path / "second", "--set", "evaluation.progress_games=0", "--set", "evaluation.games=1") == 0
    first, second = ((tmp_path / n / "policy" / "policy.onnx").read_bytes() for n in ("first", "second"))
    assert first == second


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("run.sede=1", "error: run.sede is not a setting"),
        ("game.name=chess", "error: game.name = 'chess' is not allowed; allowed: coyote_v0"),
        ("game.kwargs.num_players=40", "error: game.kwargs: num_players"),
        ("game.kwargs.colour=1", "error: game.kwargs: "),
        ('opponents.scripted=["nobody"]', "error: opponents.scripted: no policy 'nobody'"),
        ('evaluation.opponents=["nobody"]', "error: evaluation.opponents: no policy 'nobody'"),
        (
            "network.shared=[4096, 4096, 4096]",
            "network.shared = [4096, 4096, 4096] is not allowed with network.policy = [16]: 134,",
        ),
        ("network.value=[4096, 4096, 4096]", "is not allowed with network.value = [4096, 4096, 4096]: 134,"),
        ("game.kwargs" + ".x" * 20_000 + "=1", "tables within tables within tables; allowed: those of the settings"),
        ('opponents.scripted=["random"' + ', "random"' * 7000 + "]", "bytes is not allowed; allowed: 50,000"),
        ("run.seed=5 #" + "a" * 100_000, "bytes are not allowed for a run; allowed: 100,000"),
        ("run.seed=5 #" + "\N{SNOWMAN}" * 40_000, "bytes are not allowed for a run; allowed: 100,000"),
        ("network.policy=[2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]", "at most 16 of them"),
        ("run.tables=1", "opponents.share = 0.5 is not allowed with run.tables = 1: that is none"),
    ],
)
def test_mistakes_are_one_line_that_names_them(config, tmp_path, capsys, override, message):
    assert run(config, tmp_path / "run", "--set", override) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_policy_too_large_to_publish_is_refused(config, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(selfplay, "MAX_POLICY_BYTES", 3000)  # layers that are told of by the configuration alone: 1,024
    assert run(config, tmp_path / "run") == 2
    assert "network.policy = [16] are not allowed for this game: a policy of " in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_missing_config_and_used_folder_are_refused(config, tmp_path, capsys):
    assert run(tmp_path / "nowhere.toml", tmp_path / "run") == 2
    assert "nowhere.toml does not exist" in capsys.readouterr().err
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "notes.txt").write_text("mine")
    assert run(config, tmp_path / "run") == 2
    assert "is not allowed; allowed: a new or an empty folder" in capsys.readouterr().err
    assert [p.name for p in (tmp_path / "run").iterdir()] == ["notes.txt"]


def test_folders_that_cannot_be_made_are_refused(config, tmp_path, capsys, monkeypatch):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for folder in (tmp_path / ("a" * 300), config / "x", tmp_path / "loop"):
        assert run(config, folder) == 2
        assert capsys.readouterr().err.startswith("error: ")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").write_text("mine")
    assert selfplay.main([str(config)]) == 2
    assert "cannot be made: " in capsys.readouterr().err


def test_a_run_needs_no_standard_error(config, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.stderr", None)
    assert run(config, tmp_path / "run", "--set", "run.steps=300") == 0


def test_default_folders_are_named_by_config_and_time_and_never_shared(config, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("training.selfplay.time.strftime", lambda _: "20250102-030405")
    names = [selfplay.make_run_folder(None, "tiny") for _ in range(3)]
    assert [str(n) for n in names] == [f"runs/tiny-20250102-030405{suffix}" for suffix in ("", "-2", "-3")]


# --- Runs that end early ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("when", ["rollout", "update", "between"])
def test_a_signal_in_training_keeps_the_policy_so_far(config, tmp_path, capsys, monkeypatch, when, number):
    target = {
        "rollout": (SelfPlayPPO, "_decide"),
        "update": (SelfPlayPPO, "_gradients"),
        "between": (RunCallback, "_report"),
    }
    owner, name = target[when]
    original, calls = getattr(owner, name), []

    def interrupted(*args, **kwargs):
        calls.append(1)
        if len(calls) == 3:
            os.kill(os.getpid(), number)
        return original(*args, **kwargs)

    monkeypatch.setattr(owner, name, interrupted)
    before = signal.getsignal(number)
    folder = tmp_path / "run"
    assert run(config, folder, "--set", "run.steps=10_000_000") == 128 + number
    assert signal.getsignal(number) is before
    assert_nothing_is_broken(folder)
    assert (folder / "policy" / "policy.onnx").exists()
    assert (folder / "learning_curve.png").exists()
    name = "Ctrl-C" if number == signal.SIGINT else "SIGTERM"
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith(f"stopped by {name} after ")
    assert str(folder / "policy") in last


def test_ctrl_c_while_evaluating_keeps_the_trained_policy(config, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(selfplay.Run, "measure", lambda *args, **kwargs: os.kill(os.getpid(), signal.SIGINT))
    folder = tmp_path / "run"
    assert run(config, folder, "--set", "evaluation.progress_games=0") == 130
    assert_nothing_is_broken(folder)
    assert json.loads((folder / "policy" / "manifest.json").read_text())["evaluation"] is None
    last = capsys.readouterr().err.splitlines()[-1]
    how = f"to go on: python -m training.selfplay --resume {folder}"
    assert last == f"stopped by Ctrl-C; files written so far are whole; {how}"


def test_nobody_has_to_read_what_it_prints(config, tmp_path):
    command = [sys.executable, "-m", "training.selfplay", str(config), "--run-dir", str(tmp_path / "run")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
    assert process.returncode == 0, said
    assert "failed" not in said
    assert "Broken pipe" not in said
    assert (tmp_path / "run" / "evaluation.json").exists()


def test_a_second_ctrl_c_ends_at_once(config, tmp_path, monkeypatch):
    def twice(*args):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        pytest.fail("still running")

    monkeypatch.setattr(SelfPlayPPO, "_decide", twice)
    folder = tmp_path / "run"
    assert run(config, folder) == 130
    assert_nothing_is_broken(folder)


def test_ctrl_c_before_training(config, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(selfplay, "make_game", lambda _: os.kill(os.getpid(), signal.SIGINT))
    assert run(config, tmp_path / "run") == 130
    assert not (tmp_path / "run").exists()
    assert "stopped by Ctrl-C" in capsys.readouterr().err


def test_the_command_line_ends_with_130_on_ctrl_c(config, tmp_path):
    """As a process, since a shell sees nothing else."""
    folder = tmp_path / "run"
    command = [sys.executable, "-m", "training.selfplay", config, "--run-dir", folder, "--set", "run.steps=100_000_000"]
    with subprocess.Popen(list(map(str, command)), cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        try:
            while not (folder / "checkpoints").exists():
                assert process.poll() is None
                signal.sigtimedwait([], 0.05)
            process.send_signal(signal.SIGINT)
            _, error = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130
    assert error.splitlines()[-1].startswith("stopped by Ctrl-C after ")
    assert_nothing_is_broken(folder)


@pytest.mark.parametrize("error", [TrainingError("the gradient is nan"), OSError(28, "No space left on device")])
def test_a_failure_names_the_last_good_checkpoint(config, tmp_path, capsys, monkeypatch, error):
    original, calls = SelfPlayPPO._gradients, []

    def failing(*args):
        calls.append(1)
        if len(calls) == 20:
            raise error
        return original(*args)

    monkeypatch.setattr(SelfPlayPPO, "_gradients", failing)
    folder = tmp_path / "run"
    assert run(config, folder) == 1
    assert_nothing_is_broken(folder)
    (checkpoint,) = (folder / "checkpoints").iterdir()
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"training failed: {error}; the last good checkpoint is {checkpoint}; "
        f"to go on: python -m training.selfplay --resume {folder}"
    )


def test_a_removed_snapshot_ends_the_run_in_one_line(config, tmp_path, capsys, monkeypatch):
    original = selfplay.Run.write_checkpoint

    def written_and_lost(self, folder):
        original(self, folder)
        (folder / "policy.onnx").unlink()

    monkeypatch.setattr(selfplay.Run, "write_checkpoint", written_and_lost)
    assert run(config, tmp_path / "run", "--set", "opponents.scripted=[]") == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("training failed: the opponent ")
    assert "policy.onnx is missing" in last


def test_interrupts_raise_at_once_outside_and_once_inside_wait():
    with Interrupts() as interrupts:
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
        assert (interrupts.exit_code, interrupts.name) == (143, "SIGTERM")
    with Interrupts() as interrupts, interrupts.deferred():
        os.kill(os.getpid(), signal.SIGINT)
        assert interrupts.requested
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


# --- What is shown ---------------------------------------------------------------------------------------------------


class Stream(StringIO):
    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


def test_progress_is_a_bar_on_a_terminal_and_lines_elsewhere(monkeypatch):
    result = result_of("random", 100, 61, 4)
    stream = Stream(terminal=True)
    progress = Progress(1000, stream)
    progress.measured(250, [result])
    progress.update(400)
    progress.update(1100)
    progress.close()
    text = stream.getvalue()
    assert "wins at 250: random 61%" in text
    assert "steps/s" in text
    assert "\r" in text
    assert "1.00k/1.00k" in text

    now = [0.0]
    monkeypatch.setattr("training.progress.time.monotonic", lambda: now[0])
    stream = Stream(terminal=False)
    progress = Progress(1000, stream)
    progress.measured(250, [result])
    for steps in range(100, 1001, 100):
        now[0] += 8.0
        progress.update(steps)
    progress.close()
    lines = stream.getvalue().splitlines()
    assert len(lines) == 4  # every 20 s or more, and the end
    assert lines[0] == "300 of 1,000 steps (30%), 12 steps/s, 0m 56s left; wins at 250: random 61%"
    assert lines[-1].startswith("1,000 of 1,000 steps (100%)")


def test_durations():
    assert [duration(s) for s in (0.4, 59.6, 3599, 3661)] == ["0m 00s", "1m 00s", "59m 59s", "1h 01m"]


def test_evaluation_table():
    results = [result_of("random", 2000, 1560.5, 4), result_of("bayes", 2000, 480, 4)]
    assert evaluation_table(results, 4).splitlines() == [
        "at a table with  games  win rate    95% interval",
        "------------------------------------------------",
        "3 x random       2,000     78.0%  76.2% to 79.8%",
        "3 x bayes        2,000     24.0%  22.2% to 25.9%",
        "(fair share: 25.0%; the policy sits in every seat equally often)",
    ]


def test_progress_csv_has_a_column_for_every_name():
    rows: list[dict[str, float]] = [
        {"steps": 0},
        {"steps": 5, "win_rate/random": 0.5},
        {"steps": 9, "train/entropy": 1.5},
    ]
    assert progress_csv(rows) == "steps,win_rate/random,train/entropy\n0,,\n5,0.5,\n9,,1.5\n"


class Words(HTMLParser):
    """The texts of a page, and its pictures."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.pictures: dict[str, bytes] = {}
        self.feed(page)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        assert tag not in ("script", "link")
        if tag == "img":
            alt, source = values["alt"], values["src"]
            assert alt is not None
            assert source is not None
            self.pictures[alt] = base64.b64decode(source.removeprefix("data:image/png;base64,"))


@pytest.mark.parametrize(
    ("name", "kwargs", "charts"),
    [
        (
            "coyote_v0",
            {"num_players": 3},
            ["Numbers that were challenged", "Calibration of challenges", "Actions beside numbers and challenges"],
        ),
        ("scout_v0", {"num_players": 3}, ["Shows by length", "Actions", "Points a round"]),
    ],
)
def test_report_has_everything_and_needs_no_other_file(name, kwargs, charts):
    game = make_game(name, kwargs)
    described = Described(game)
    play_match(game, ["random"] * 3, 9, 5, records=described)
    results = [result_of("<b>random", 300, 120, 3, ((100, 50.0), (100, 40.0), (100, 30.0)))]
    matrix = Matrix(["500", "the policy"], [[None, 0.25], [0.75, None]], 40)
    curve = learning_curve("a run", [], [])
    page = Words(report_html("run <1>", curve, results, matrix, described.tally, 9))
    text = " ".join(page.texts)
    assert list(page.pictures) == ["Learning curve", *charts]
    assert page.pictures["Learning curve"] == curve
    assert len(set(page.pictures.values())) == 1 + len(charts)
    for picture in page.pictures.values():
        assert matplotlib.image.imread(BytesIO(picture))[..., :3].min() < 0.2
    for words in (
        "run <1>",
        "<b>random",
        "40.0%",
        "50.0% (40.4% to 59.6%)",
        "the policy",
        "75.0%",
        "9 games with itself",
    ):
        assert words in text
    for line in described.tally.lines():
        assert line in text
    # Without what was not asked for.
    short = Words(report_html("run", curve, [result_of("random", 30, 12, 3)], None, None, 0))
    assert list(short.pictures) == ["Learning curve"]
    assert "by seat" not in " ".join(short.texts)


def test_policy_and_snapshots_play_each_other(config, tmp_path):
    assert run(config, tmp_path / "run", "--set", "run.steps=3000") == 0
    page = Words((tmp_path / "run" / "report.html").read_text())
    at = page.texts.index("Snapshots against each other")
    names = [text for text in page.texts[at:] if re.fullmatch(r"[\d,]+|the policy", text)]
    steps = sorted(int(p.name.removeprefix("step_")) for p in (tmp_path / "run" / "checkpoints").iterdir())
    assert names[:3] == [f"{steps[0]:,}", f"{steps[-1]:,}", "the policy"]  # of six, the first and the last
    assert sum(bool(re.fullmatch(r"[\d.]+%", text)) for text in page.texts[at:]) == 6


def test_dollars_are_no_formulas():
    measured = [(s, [result_of("a$^$b", 50, s, 4)]) for s in (0, 10)]
    assert learning_curve("run $^$x", measured, []).startswith(b"\x89PNG")


def test_learning_curve_is_a_picture_even_of_nothing(tmp_path):
    measured = [(s, [result_of("random", 50, s, 4), result_of("bayes", 50, 9, 4)]) for s in (0, 10, 20)]
    rows = [{"steps": 5, "train/entropy": 2.0, "rollout/game_length": 40.0}]
    for arguments in ((measured, rows), ([], [])):
        write_atomic(tmp_path / "curve.png", learning_curve("a run", *arguments))
        picture = matplotlib.image.imread(tmp_path / "curve.png")
        assert picture.shape[:2] == (1080, 960)
        assert picture[..., :3].min() < 0.2  # something is drawn
