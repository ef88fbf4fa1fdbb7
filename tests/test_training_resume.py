"""A run that is killed, wherever it is, and resumed ends as one that never was; and what a damaged state does."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import (  # type: ignore[import-untyped]  # it has no types
    EventAccumulator,
)

from coyote_env.policies import load_policy
from tests import networks
from tests.test_training_run import TINY, assert_nothing_is_broken
from training import selfplay
from training.config import load_config
from training.files import locked, read_bounded
from training.ppo import SelfPlayPPO
from training.selfplay import make_game, make_learner
from training.state import StateError, _arrays, _tables, read_state, step_folders, write_state

ROOT = Path(__file__).parent.parent

# All that has a memory of its own takes part: several opponents at games that outlast a rollout, scores, a magnet,
# a teacher that is asked with a generator.
LIVELY = TINY.replace('scripted = ["random"]', 'scripted = ["random"]\nsampling = "pfsp"\ndistinct = 2').replace(
    "minibatch = 128", 'minibatch = 128\nmagnet = "ema"'
)
LIVELY += '\n[teacher]\nplayer = "random"\nshare = 1.0\n'


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "lively.toml"
    path.write_text(LIVELY)
    return path


def end(folder: Path) -> dict[str, Any]:
    """All that a run comes to, but for times."""
    rows = list(csv.DictReader(StringIO((folder / "progress.csv").read_text())))
    events = EventAccumulator(str(folder / "tensorboard")).Reload()
    states = step_folders(folder / "state")
    return {
        "policy": (folder / "policy" / "policy.onnx").read_bytes(),
        "evaluation": (folder / "evaluation.json").read_text(),
        "checkpoints": {p.parent.name: p.read_bytes() for p in (folder / "checkpoints").glob("*/policy.onnx")},
        "progress": [{key: value for key, value in row.items() if key != "seconds"} for row in rows],
        "board": {
            tag: [(event.step, event.value) for event in events.Scalars(tag)] for tag in events.Tags()["scalars"]
        },
        "states": [steps for steps, _ in states],
        "arrays": (states[-1][1] / "arrays.bin").read_bytes(),
        "learner": json.loads((states[-1][1] / "state.json").read_text())["content"]["learner"],
    }


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("whole")
    (folder / "lively.toml").write_text(LIVELY)
    assert selfplay.main([str(folder / "lively.toml"), "--run-dir", str(folder / "run")]) == 0
    return end(folder / "run")


def killed_at(owner: str, name: str, call: int, arguments: list[str]) -> None:
    """Run the command in a process that kills itself, as SIGKILL does, at the given call of `name` of `owner`."""
    module, _, attribute = owner.partition(":")
    code = f"""
import importlib, os, signal, sys
owner = importlib.import_module({module!r})
for part in {attribute!r}.split("."):
    owner = getattr(owner, part) if part else owner
original, calls = getattr(owner, {name!r}), []
def replaced(*args, **kwargs):
    calls.append(1)
    if len(calls) == {call}:
        os.kill(os.getpid(), signal.SIGKILL)
    return original(*args, **kwargs)
setattr(owner, {name!r}, replaced)
from training import selfplay
sys.exit(selfplay.main({arguments!r}))
"""
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert result.returncode == -signal.SIGKILL, result.stderr


def test_killed_in_a_rollout_in_an_update_and_while_writing(config, tmp_path, capsys, uninterrupted):
    folder = str(tmp_path / "run")
    killed_at("training.ppo:SelfPlayPPO", "_decide", 55, [str(config), "--run-dir", folder])
    killed_at("training.ppo:SelfPlayPPO", "_gradients", 15, ["--resume", folder])
    # Renaming the checkpoint's folder into place has worked, that of the state has not.
    killed_at("training.state:", "write_folder_atomic", 1, ["--resume", folder])
    assert list((tmp_path / "run" / "checkpoints").iterdir())
    killed_at("training.files:shutil", "rmtree", 2, ["--resume", folder])
    assert selfplay.main(["--resume", folder]) == 0
    assert end(tmp_path / "run") == uninterrupted
    assert_nothing_is_broken(tmp_path / "run")
    assert "not the same run" not in capsys.readouterr().err


def test_killed_while_evaluating(config, tmp_path, uninterrupted, monkeypatch):
    folder = tmp_path / "run"
    killed_at("training.selfplay:Run", "cross_play", 1, [str(config), "--run-dir", str(folder)])
    assert not (folder / "evaluation.json").exists()
    killed_at("training.checkpoint:", "write_evaluation", 1, ["--resume", str(folder)])
    assert not (folder / "evaluation.json").exists()
    # The ignore below: training would be an error.
    monkeypatch.setattr(SelfPlayPPO, "train", None)
    assert selfplay.main(["--resume", str(folder)]) == 0
    assert end(folder) == uninterrupted


def test_ctrl_c_and_on(config, tmp_path, capsys, monkeypatch, uninterrupted):
    original, calls = SelfPlayPPO._decide, []

    def interrupted(*args: Any) -> Any:
        calls.append(1)
        if len(calls) == 60:
            os.kill(os.getpid(), signal.SIGINT)
        return original(*args)

    monkeypatch.setattr(SelfPlayPPO, "_decide", interrupted)
    folder = tmp_path / "run"
    assert selfplay.main([str(config), "--run-dir", str(folder)]) == 130
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.endswith(f"to go on: python -m training.selfplay --resume {folder}")
    assert selfplay.main(["--resume", str(folder)]) == 0
    assert end(folder) == uninterrupted


def test_ctrl_c_in_an_update_after_which_a_checkpoint_is_due(config, tmp_path, monkeypatch, uninterrupted):
    original = SelfPlayPPO._gradients
    calls: list[int] = []

    def interrupted(self: SelfPlayPPO, *args: Any) -> Any:
        if self.num_timesteps >= 500 and not calls:
            calls.append(1)
            os.kill(os.getpid(), signal.SIGINT)
        return original(self, *args)

    monkeypatch.setattr(SelfPlayPPO, "_gradients", interrupted)
    folder = tmp_path / "run"
    assert selfplay.main([str(config), "--run-dir", str(folder)]) == 130
    assert [steps for steps, _ in step_folders(folder / "state")] == [0]  # none of half an update
    assert selfplay.main(["--resume", str(folder)]) == 0
    assert end(folder) == uninterrupted


@pytest.mark.slow
def test_killed_twenty_times_at_random(config, tmp_path, uninterrupted):
    """As a process from outside: mostly after its work has begun, sometimes before that."""
    folder, said = tmp_path / "run", tmp_path / "said"
    rng, kills, in_work = random.Random(1), 0, 0
    arguments = [str(config), "--run-dir", str(folder)]
    while kills < 20:
        with said.open("w") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", "training.selfplay", *arguments], cwd=ROOT, stderr=file, stdout=file
            )
        try:
            if rng.random() < 0.8:
                while not ((folder / "state").exists() if kills == 0 else "going on after" in said.read_text()):
                    assert process.poll() is None, said.read_text()
                    time.sleep(0.01)
                in_work += 1
                process.wait(rng.uniform(0.0, 3.0))
            else:
                process.wait(rng.uniform(0.0, 4.0))
            assert process.returncode == 0, said.read_text()
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            kills += 1
        finally:
            process.kill()
        # It came to its end, or was killed after that on its way out: have it do the last part again.
        (folder / "evaluation.json").unlink(missing_ok=True)
        if (folder / "state").exists():
            arguments = ["--resume", str(folder)]
        elif folder.exists():
            shutil.rmtree(folder)
            kills -= 1
        else:
            kills -= 1
    assert in_work > 10
    assert selfplay.main(["--resume", str(folder)]) == 0
    assert end(folder) == uninterrupted
    assert_nothing_is_broken(folder)


# --- What is refused, and what is fallen back on ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def stopped_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was stopped with two states behind it."""
    original, folder = selfplay.Run.write_state, tmp_path_factory.mktemp("stopped")

    def stopping(self: selfplay.Run) -> None:
        original(self)
        if self.model.num_timesteps >= 1000:
            os.kill(os.getpid(), signal.SIGINT)

    (folder / "lively.toml").write_text(LIVELY)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(selfplay.Run, "write_state", stopping)
        assert selfplay.main([str(folder / "lively.toml"), "--run-dir", str(folder / "run")]) == 130
    return folder / "run"


@pytest.fixture
def stopped(stopped_once: Path, tmp_path: Path) -> Path:
    """A copy of that run: where it lies does not matter."""
    shutil.copytree(stopped_once, tmp_path / "moved")
    return tmp_path / "moved"


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def link(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def pickled(path: Path) -> None:
    path.write_bytes(b"\x80\x04\x95\x1d\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94\x8c\x06system\x94\x93\x94.")


def huge(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(10**12)  # sparse: it takes no room on the disk


def nested(path: Path) -> None:
    path.write_text("[" * 100_000)


@pytest.mark.parametrize("damage", [cut, flip, pipe, link, pickled, huge, Path.unlink])
@pytest.mark.parametrize("name", ["arrays.bin", "state.json"])
def test_a_damaged_newest_state_falls_back_to_the_one_before_and_says_so(
    stopped, capsys, uninterrupted, monkeypatch, name, damage
):
    states = step_folders(stopped / "state")
    assert len(states) == 2
    damage(states[-1][1] / name)
    capsys.readouterr()
    # One of them is followed to the end; the others come to the same place.
    whole = damage is flip and name == "arrays.bin"
    if not whole:
        monkeypatch.setattr(selfplay.Run, "train_and_evaluate", lambda self: 0)
    assert selfplay.main(["--resume", str(stopped)]) == 0
    said = capsys.readouterr().err
    assert f"the state after {states[-1][0]:,} steps cannot be used: " in said
    assert name in said
    assert f"going on after {states[0][0]:,} steps" in said
    if whole:  # by its end the run has written newer states and dropped that one
        assert end(stopped) == uninterrupted
    else:
        assert step_folders(stopped / "state")[0] == states[0]


def test_no_sound_state_is_refused_and_nothing_is_touched(stopped, capsys):
    for _, state in step_folders(stopped / "state"):
        nested(state / "state.json")
    before = sorted(stopped.rglob("*"))
    capsys.readouterr()
    assert selfplay.main(["--resume", str(stopped)]) == 2
    assert "can be used; train anew from its config.toml" in capsys.readouterr().err.splitlines()[-1]
    assert sorted(stopped.rglob("*")) == before


def test_without_any_state_checkpoints_are_kept(stopped, capsys):
    shutil.rmtree(stopped / "state")
    before = sorted(stopped.rglob("*"))
    capsys.readouterr()
    assert selfplay.main(["--resume", str(stopped)]) == 2
    assert "has checkpoints, but no state to go on from; nothing in it was changed" in capsys.readouterr().err
    assert sorted(stopped.rglob("*")) == before


@pytest.mark.parametrize("damage", [pipe, link, pickled, huge])
@pytest.mark.parametrize("name", ["config.toml", "command.txt"])
def test_hostile_files_beside_the_states_are_refused_and_nothing_is_touched(stopped, capsys, name, damage):
    damage(stopped / name)
    before = sorted(stopped.rglob("*"))
    capsys.readouterr()
    assert selfplay.main(["--resume", str(stopped)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert name in error
    assert sorted(stopped.rglob("*")) == before


@pytest.mark.parametrize("kind", ["file", "link"])
def test_what_lies_in_a_states_place_is_taken_away(stopped, capsys, monkeypatch, tmp_path, kind):
    place = stopped / "state" / "step_000000009999"
    (tmp_path / "elsewhere").mkdir()
    place.symlink_to(tmp_path / "elsewhere") if kind == "link" else place.touch()
    monkeypatch.setattr(selfplay.Run, "train_and_evaluate", lambda self: 0)
    assert selfplay.main(["--resume", str(stopped)]) == 0
    assert "going on after" in capsys.readouterr().err
    assert not place.exists()
    assert (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("next_checkpoint", -5),
        ("next_measurement", None),
        ("seconds", "1"),
        ("rows", [{"seconds": 1.0}]),
        ("rows", [{"steps": 1e400}]),
        ("rows", [{"steps": 5, "train/kl": float("nan")}]),
        ("measurements", [[0, []]]),
        ("measurements", [[0, [{"opponent": "x"}]]]),
        (
            "measurements",
            [[0, [{"opponent": "x", "games": 1, "wins": 0, "share": 0, "low": 0, "high": 1, "fair": [1]}]]],
        ),
    ],
)
def test_a_forged_log_falls_back_to_the_state_before(stopped, capsys, monkeypatch, field, value):
    states = step_folders(stopped / "state")
    forge(states[-1][1], "run", field, value=value)
    monkeypatch.setattr(selfplay.Run, "train_and_evaluate", lambda self: 0)
    capsys.readouterr()
    assert selfplay.main(["--resume", str(stopped)]) == 0
    said = capsys.readouterr().err
    assert f"the state after {states[-1][0]:,} steps cannot be used: run: " in said
    assert f"going on after {states[0][0]:,} steps" in said


def forge(state: Path, *keys: str, value: Any) -> None:
    """Change an entry of a state.json, and its digest with it: what a hostile writer would do."""
    from training.state import _digest

    outer = json.loads((state / "state.json").read_text())
    target, keys = outer, ("content", *keys)
    for key in keys[:-1]:
        target = target[key]
    target[keys[-1]] = value
    (state / "state.json").write_text(json.dumps({"sha256": _digest(outer["content"]), "content": outer["content"]}))


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (("format",), 1, "format = 1; this version reads 4"),
        ((), [1], "its content is a list"),
        (("run",), [], "run is not a dict"),
        (("learner", "steps"), 2**53, "steps = 9007199254740992, in a folder of another name"),
        (("arrays", "seats"), ["i2", 10**15, 2], r"seats is \['i2', 1000000000000000, 2\]; the configuration needs"),
        (("arrays", "more"), ["i2", 3], "arrays; the configuration needs"),
        (("learner", "steps"), -1, "-1 where a count belongs"),
        (("learner", "steps"), True, "True where a count belongs"),
        (("learner", "open"), 10**12, "learner.open: ValueError: 1000000000000 where a count belongs"),
        (("learner", "open"), None, "learner.open: ValueError: None where a count belongs"),
        (("learner", "open"), 0, r"open\.observation is \['f4', [1-9]"),
        (("learner", "generators", "action"), {"bit_generator": "MT19937"}, "learner: "),
        (("learner", "generators", "action"), 7, "learner: "),
        (("learner", "pool"), [["/etc/passwd", False, 1.0, 0.0]], "is not the name of a snapshot"),
        (("learner", "pool"), [["step_../../../../x", False, 1.0, 0.0]], "is not the name of a snapshot"),
        (("learner", "pool"), [["random", True, 1.0, 2.0]], "games = 1.0, ahead = 2.0"),
        (("learner", "slots"), [""] * 4, "seats: of a slot that is empty"),
        (("learner", "active"), [99], "active: "),
        (("learner", "pool"), None, "learner: TypeError"),
    ],
)
def test_a_forged_state_is_refused_by_name(stopped, keys, value, message):
    _, state = step_folders(stopped / "state")[-1]
    forge(state, *keys, value=value)
    config = load_config(stopped / "config.toml")
    model = make_learner(config, make_game(config))
    with pytest.raises(StateError, match=message) as refused:
        read_state(state, model, stopped / "checkpoints")
    assert len(str(refused.value)) < 1000


def test_forged_tables_never_reach_the_kernels(stopped):
    _, state = step_folders(stopped / "state")[-1]
    config = load_config(stopped / "config.toml")
    model = make_learner(config, make_game(config))
    data = bytearray((state / "arrays.bin").read_bytes())
    tables = _tables(model).states.nbytes
    rest = model.seating.seats.nbytes + model.seating.returns.nbytes + model.game_length.nbytes
    data[len(data) - rest - tables : len(data) - rest] = b"\xff" * tables
    (state / "arrays.bin").write_bytes(data)
    forge(state, "arrays_sha256", value=hashlib.sha256(data).hexdigest())
    with pytest.raises(StateError, match="tables: "):
        read_state(state, model, stopped / "checkpoints")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("mask", 255, "masks: not true or false"),
        ("mask", 0, "actions: illegal"),
        ("action", 255, "actions: out of range"),
        ("action", 127, "actions: out of range"),
        ("table", 255, "tables or seats: out of range"),
        ("seat", 0, "tables or seats: out of range, or twice the same"),
    ],
)
def test_forged_open_decisions_never_reach_the_kernels(stopped, name, value, message):
    _, state = step_folders(stopped / "state")[-1]
    config = load_config(stopped / "config.toml")
    model = make_learner(config, make_game(config))
    read_state(state, model, stopped / "checkpoints")
    assert model.rollout_buffer.num_open > 2
    arrays = {name: array.tobytes() for name, array in _arrays(model).items()}
    arrays[f"open.{name}"] = bytes([value]) * len(arrays[f"open.{name}"])
    data = b"".join(arrays.values())
    (state / "arrays.bin").write_bytes(data)
    forge(state, "arrays_sha256", value=hashlib.sha256(data).hexdigest())
    fresh = make_learner(config, make_game(config))
    with pytest.raises(StateError, match=f"open decisions: {message}"):
        read_state(state, fresh, stopped / "checkpoints")


def test_a_removed_snapshot_leaves_the_pool_and_the_run_goes_on(stopped, capsys):
    first = sorted((stopped / "checkpoints").iterdir())[0]
    shutil.rmtree(first)
    capsys.readouterr()
    assert selfplay.main(["--resume", str(stopped)]) == 0
    said = capsys.readouterr().err
    assert (
        f"not the same run bit for bit: {first.name} is gone, damaged or no longer wanted, and leaves the pool" in said
    )


def test_an_exchanged_teacher_is_noticed(tmp_path, config, capsys, monkeypatch):
    """What the configuration names by path may be another policy when the run goes on."""
    game = make_game(load_config(config))
    teacher = networks.write(tmp_path / "teacher", game)
    first, text = tmp_path / "first", LIVELY.replace('player = "random"', f"player = {json.dumps(str(teacher))}")
    config.write_text(text.replace('scripted = ["random"]', f"scripted = [{json.dumps(str(teacher))}]"))
    original = selfplay.Run.write_state

    def stopping(self: selfplay.Run) -> None:
        original(self)
        if self.model.num_timesteps:
            os.kill(os.getpid(), signal.SIGINT)

    with monkeypatch.context() as patched:
        patched.setattr(selfplay.Run, "write_state", stopping)
        assert selfplay.main([str(config), "--run-dir", str(first)]) == 130
    shutil.copytree(first, tmp_path / "second")
    capsys.readouterr()
    assert selfplay.main(["--resume", str(first)]) == 0
    assert "not the same run" not in capsys.readouterr().err
    other = networks.network(game.layout.size, game.num_actions, seed=1)
    networks.write(teacher, game, other)
    assert selfplay.main(["--resume", str(tmp_path / "second")]) == 0
    assert f"not the same run bit for bit: {teacher} holds another policy than before" in capsys.readouterr().err


def test_resumed_with_other_settings(stopped, capsys, uninterrupted):
    arguments = ["--resume", str(stopped), "--set", "ppo.learning_rate=1e-4", "--set", "run.steps=2000"]
    assert selfplay.main(arguments) == 0
    assert load_config(stopped / "config.toml").ppo.learning_rate == 1e-4
    assert (stopped / "command.txt").read_text().count("\n") == 2
    result = end(stopped)
    assert len(result["checkpoints"]) > len(uninterrupted["checkpoints"])
    manifest = json.loads((stopped / "policy" / "manifest.json").read_text())
    assert " && python -m training.selfplay --resume " in manifest["training"]["command"]
    load_policy(stopped / "policy")
    capsys.readouterr()
    assert selfplay.main(["--resume", str(stopped)]) == 0
    assert capsys.readouterr().err == f"{stopped} is finished; its evaluation is in {stopped / 'evaluation.txt'}\n"


@pytest.mark.parametrize(
    "settings", [['opponents.scripted=["plus-one"]'], ["opponents.distinct=5"], ["opponents.share=0.0"]]
)
def test_resumed_with_other_opponents(stopped, capsys, settings):
    arguments = [part for setting in settings for part in ("--set", setting)]
    assert selfplay.main(["--resume", str(stopped), *arguments]) == 0
    gone = "not the same run bit for bit: random is gone, damaged or no longer wanted, and leaves the pool"
    assert (gone in capsys.readouterr().err) == (settings != ["opponents.distinct=5"])
    load_policy(stopped / "policy")


def test_settings_that_do_not_fit_the_state_are_refused(stopped, capsys):
    capsys.readouterr()
    assert selfplay.main(["--resume", str(stopped), "--set", "network.shared=[17]"]) == 2
    assert "policy.features_extractor.layers.0.weight is ['f4', 16, " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--resume", "{0}", "--run-dir", "x"], "--run-dir is not allowed with --resume"),
        (["x.toml", "--resume", "{0}"], "give either a config or --resume RUN_DIR"),
        ([], "give either a config or --resume RUN_DIR"),
        (["--resume", "{0}/nowhere"], "nowhere/config.toml does not exist: there is no run in that folder"),
    ],
)
def test_mistakes_on_the_command_line(tmp_path, capsys, arguments, message):
    assert selfplay.main([argument.format(tmp_path) for argument in arguments]) == 2
    assert message in capsys.readouterr().err


def test_two_processes_never_work_on_one_run(stopped, capsys):
    capsys.readouterr()
    with locked(stopped):
        assert selfplay.main(["--resume", str(stopped)]) == 2
    assert "is in use by another process" in capsys.readouterr().err


def test_killed_before_the_first_state(config, tmp_path, uninterrupted, monkeypatch):
    folder = tmp_path / "run"
    with monkeypatch.context() as patched:
        patched.setattr(selfplay.Run, "train_and_evaluate", lambda self: 0)
        selfplay.main([str(config), "--run-dir", str(folder)])
    assert not (folder / "state").exists()
    assert selfplay.main(["--resume", str(folder)]) == 0
    assert end(folder) == uninterrupted


def test_killed_before_it_had_a_configuration(config, tmp_path, uninterrupted, capsys):
    folder = tmp_path / "run"
    killed_at("training.selfplay:", "write_atomic", 2, [str(config), "--run-dir", str(folder)])
    assert selfplay.main(["--resume", str(folder)]) == 2
    assert "does not exist: there is no run in that folder, or it was ended before it began" in capsys.readouterr().err
    assert selfplay.main([str(config), "--run-dir", str(folder)]) == 0
    assert end(folder) == uninterrupted


# --- What goes wrong in a run ----------------------------------------------------------------------------------------


def test_a_full_disk_leaves_the_last_state_intact(config, tmp_path, capsys, uninterrupted, monkeypatch):
    from training import files

    original, full = files._write_synced, [False]

    def write(path: Path, data: bytes) -> None:
        if "step_000000001" in str(path) or full[0]:
            full[0] = True
            path.write_bytes(data[: len(data) // 2])
            raise OSError(28, "No space left on device")
        original(path, data)

    folder = tmp_path / "run"
    with monkeypatch.context() as patched:
        patched.setattr(files, "_write_synced", write)
        assert selfplay.main([str(config), "--run-dir", str(folder)]) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert "No space left on device" in last
    assert "to go on: python -m training.selfplay --resume" in last
    assert_nothing_is_broken(folder)
    assert selfplay.main(["--resume", str(folder)]) == 0
    assert end(folder) == uninterrupted


@pytest.mark.parametrize("rows", [[1], {"a": 1}, [{"steps": 1, "\ud800": 1.0}], [{"steps": 1, "a\nb": 1.0}]])
def test_a_log_that_is_none_is_refused(stopped, capsys, rows):
    for state in (stopped / "state").iterdir():
        forge(state, "run", "rows", value=rows)
    capsys.readouterr()
    assert selfplay.main(["--resume", str(stopped)]) == 2
    said = capsys.readouterr().err.splitlines()
    assert all("cannot be used: run: " in line for line in said[:-1])
    assert "train anew from its config.toml" in said[-1]


def test_links_in_a_runs_folder_are_taken_away_and_not_followed(stopped, tmp_path, capsys):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "notes").write_text("mine")
    for name in ("tensorboard", "policy"):
        shutil.rmtree(stopped / name)
        (stopped / name).symlink_to(mine)
    (stopped / "evaluation.json").mkdir()
    assert selfplay.main(["--resume", str(stopped)]) == 0
    assert [path.name for path in mine.iterdir()] == ["notes"]
    assert not (stopped / "tensorboard").is_symlink()
    assert (stopped / "policy" / "policy.onnx").is_file()
    assert (stopped / "evaluation.json").is_file()


def test_an_opponent_from_the_run_itself_is_seated(stopped, capsys):
    first = sorted((stopped / "checkpoints").iterdir())[0]
    settings = [f'opponents.scripted=["{first}"]', "opponents.scripted_share=1.0", "opponents.share=1.0"]
    settings += ["opponents.learner_alone=true", "run.steps=3000"]
    assert selfplay.main(["--resume", str(stopped), *(part for s in settings for part in ("--set", s))]) == 0
    rows = list(csv.DictReader((stopped / "progress.csv").read_text().splitlines()))
    assert 0.3 < float(rows[-1]["rollout/learner_share"]) < 0.8


def test_a_full_disk_under_tensorboard_is_one_line(config, tmp_path, capfd, monkeypatch):
    def full(writer: object, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("tensorboard.summary.writer.record_writer.RecordWriter.write", full)
        assert selfplay.main([str(config), "--run-dir", str(tmp_path / "run")]) == 1
    said = [line for line in capfd.readouterr().err.splitlines() if "steps/s" not in line]
    assert len(said) == 1
    assert said[0].startswith("training failed: [Errno 28] No space left on device")
    assert selfplay.main(["--resume", str(tmp_path / "run")]) == 0


def test_a_full_disk_at_the_end_leaves_the_older_policy(stopped, capsys, monkeypatch):
    from training import files

    original = files._write_synced
    before = (stopped / "policy" / "policy.onnx").read_bytes()

    def write(path: Path, data: bytes) -> None:
        if path.parent.name.startswith(".policy."):
            raise OSError(28, "No space left on device")
        original(path, data)

    with monkeypatch.context() as patched:
        patched.setattr(files, "_write_synced", write)
        assert selfplay.main(["--resume", str(stopped)]) == 1
    assert "No space left on device" in capsys.readouterr().err.splitlines()[-1]
    assert (stopped / "policy" / "policy.onnx").read_bytes() == before
    assert selfplay.main(["--resume", str(stopped)]) == 0
    assert (stopped / "policy" / "policy.onnx").read_bytes() != before


def test_a_damaged_snapshot_does_not_keep_a_run_from_its_end(stopped, capsys):
    (stopped / "checkpoints" / "step_000000000001").touch()
    cut(step_folders(stopped / "checkpoints")[1][1] / "policy.onnx")
    assert selfplay.main(["--resume", str(stopped)]) == 0
    said = capsys.readouterr().err
    assert "step_000000000001 is left out of the snapshots that play each other: " in said


def test_figures_that_are_none_are_left_out_of_the_log(config, tmp_path, monkeypatch):
    """Returns that do not vary have no variance to explain: that is no number, and no reason to end."""
    monkeypatch.setattr("training.ppo.explained_variance", lambda values, returns: np.float32("nan"))
    folder = tmp_path / "run"
    assert selfplay.main([str(config), "--run-dir", str(folder)]) == 0
    rows = list(csv.DictReader(StringIO((folder / "progress.csv").read_text())))
    assert len(rows) > 3
    assert "train/explained_variance" not in rows[0]


def test_a_nan_stops_the_run_and_says_what_to_change(config, tmp_path, capsys, monkeypatch):
    original = SelfPlayPPO._gradients
    calls: list[int] = []

    def poisoned(self: SelfPlayPPO, *args: Any) -> Any:
        calls.append(1)
        gradients, terms = original(self, *args)
        return ([g * np.nan for g in gradients] if len(calls) == 30 else gradients), terms

    folder = tmp_path / "run"
    with monkeypatch.context() as patched:
        patched.setattr(SelfPlayPPO, "_gradients", poisoned)
        assert selfplay.main([str(config), "--run-dir", str(folder)]) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert "the gradient is nan" in last
    _, _, advice = last.partition("to go on: python -m training.selfplay ")
    assert "--set ppo.learning_rate=" in advice
    assert selfplay.main(advice.split()) == 0  # the advice works as it stands


def test_only_a_state_of_this_learner_is_left_over(config, tmp_path):
    settings = load_config(config)
    model = make_learner(settings, make_game(settings))
    for steps in (0, 100, 200, 300):
        model.num_timesteps = steps
        write_state(tmp_path / "state", model, {}, "")
    assert [steps for steps, _ in step_folders(tmp_path / "state")] == [200, 300]


def test_files_of_other_kinds_are_not_read(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert read_bounded(path, 5) == b"12345"
    with pytest.raises(ValueError, match="5 bytes; allowed: 4"):
        read_bounded(path, 4)
    with pytest.raises(OSError, match="Is a directory"):
        read_bounded(tmp_path, 4)
