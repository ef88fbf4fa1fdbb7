"""Published policies: what the network computes is what the file computes, and a folder is whole or not there."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os

import numpy as np
import onnxruntime
import pytest
import torch
from stable_baselines3.common.logger import Logger
from torch import nn

from coyote_env import coyote_v0, scout_v0
from coyote_env.core.batch import Batch
from coyote_env.policies import CheckpointPolicy
from training import files
from training.checkpoint import library_versions, policy_graph, to_json, write_checkpoint, write_evaluation
from training.config import parse_config
from training.inputs import Inputs
from training.network import MASKED, SCALE, ActionHead, PolicyNetwork, forward_logits, policy_network
from training.selfplay import make_learner

TRAINING = {"steps": 12, "games": 3, "seed": 1, "wall_seconds": 0.5, "command": "python -m training.selfplay x.toml"}


def small_learner(activation: str = "relu", shared: list[int] | None = None, **network: bool):
    config = parse_config(
        {
            "run": {"tables": 4, "threads": 1},
            "network": {
                "shared": [16] if shared is None else shared,
                "policy": [12, 8],
                "value": [4],
                "activation": activation,
                **network,
            },
            "opponents": {"share": 0.0},
        }
    )
    return make_learner(config, coyote_v0.game(num_players=3, lives=1))


@pytest.fixture
def checkpoint(tmp_path):
    model, game = small_learner(), coyote_v0.game(num_players=3, lives=1)
    folder = tmp_path / "checkpoints" / "step_12"
    write_checkpoint(folder, policy_network(model.policy), model.inputs, game, "[run]\nseed = 1\n", TRAINING)
    return folder, model, game


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("shared", [[16], []])
@pytest.mark.parametrize("sees_mask", [True, False])
@pytest.mark.parametrize("standardise", [True, False])
def test_onnx_logits_equal_torchs(activation, shared, sees_mask, standardise):
    model = small_learner(activation, shared, sees_mask=sees_mask, standardise=standardise)
    given = model.inputs
    with torch.no_grad():
        for parameter in model.policy.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    width, actions = model.observation_space.shape[0], model.action_space.n
    rng = np.random.default_rng(0)
    given.count_in(given(3 + 5 * rng.random((50, width), np.float32), rng.random((50, actions)) < 0.3))
    assert (given.mean != 0).any() == standardise
    session = onnxruntime.InferenceSession(policy_graph(policy_network(model.policy), given))
    for rows in (1, 7, 100):
        seen = rng.random((rows, width), np.float32)
        mask = (rng.random((rows, actions)) < 0.5).astype(np.int8)
        with torch.no_grad():
            expected = forward_logits(model.policy, given(seen, mask))
        assert expected.abs().max() > 0.5
        (logits,) = session.run(["logits"], {"observation": seen, "action_mask": mask})
        np.testing.assert_allclose(logits[mask == 1], expected.numpy()[mask == 1], rtol=1e-5, atol=1e-5)
        assert (logits[mask == 0] == np.float32(MASKED)).all()


def test_same_weights_same_bytes():
    model = small_learner()
    network = policy_network(model.policy)
    assert policy_graph(network, model.inputs) == policy_graph(network, model.inputs)


def test_layers_that_cannot_be_exported_are_named():
    with pytest.raises(TypeError, match="cannot export a Dropout layer; allowed: Linear, ReLU, Tanh"):
        policy_graph(PolicyNetwork([nn.Linear(3, 2), nn.Dropout()]), Inputs(3, 2))


GAMES = [
    coyote_v0.game(num_players=3, lives=1, odds=True),
    scout_v0.game(num_players=2, fits=True),
    scout_v0.game(num_players=4, fits=True),
]


@pytest.mark.parametrize("game", GAMES, ids=lambda game: f"{game.name}-{game.num_seats}")
def test_onnx_logits_equal_torchs_where_actions_are_spoken_of(game, tmp_path):
    """Positions of play, a learner whose weights are anything; the file passes the checks of the loader."""
    config = parse_config({
        "game": {"name": game.name, "kwargs": dict(game.kwargs)},
        "run": {"tables": 16}, "network": {"shared": [16], "policy": [16], "value": [8]}, "opponents": {"share": 0.0},
    })  # fmt: skip
    model = make_learner(config, game)
    model.set_logger(Logger(None, []))
    model.learn(1)  # mean and deviation of the inputs are those of play
    with torch.no_grad():
        for parameter in model.policy.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    network = policy_network(model.policy)
    assert network.head is not None
    write_checkpoint(tmp_path / "policy", network, model.inputs, game, "", TRAINING)
    policy = CheckpointPolicy(tmp_path / "policy", game)
    batch = model.batch
    weights = np.random.default_rng(0).random((40, *batch.action_mask.shape))
    apart = 0.0
    for row in weights:
        with torch.no_grad():
            given = model.inputs(batch.observation, batch.action_mask)
            logits = forward_logits(model.policy, given)
            torch.testing.assert_close(network(given), logits)
            apart = max(apart, float((logits - network.layers(given)[:, : game.num_actions]).abs().max()))
        expected = torch.softmax(logits.double().masked_fill(torch.from_numpy(batch.action_mask == 0), -np.inf), dim=1)
        found = policy.probabilities(batch.observation, batch.action_mask)
        np.testing.assert_allclose(found, expected.numpy(), rtol=1e-3, atol=1e-5)
        batch.step((batch.action_mask * row).argmax(axis=1))
    assert apart > 0.5  # the head has its say


@pytest.mark.parametrize("game", GAMES, ids=lambda game: f"{game.name}-{game.num_seats}")
def test_what_is_said_of_an_action_reaches_its_logit_and_no_other(game):
    head = ActionHead(game.layout, game.action_rows, game.num_actions)
    rng = np.random.default_rng(0)
    inputs = torch.from_numpy(rng.random((5, game.layout.size), np.float32))
    outputs = torch.from_numpy(rng.normal(size=(5, game.num_actions + head.size)).astype(np.float32))
    expected = outputs[:, : game.num_actions].double().numpy().copy()
    at = game.num_actions
    for rows in game.action_rows:
        said = game.layout.view(inputs.numpy(), rows.section).reshape(5, len(rows.actions), -1).astype(np.float64)
        numbers = said.shape[2]
        u, v, w = np.split(outputs[:, at:].double().numpy(), [numbers, numbers + len(rows.facts[0])], axis=1)
        for k, action in enumerate(rows.actions):
            if action >= 0:
                score = (
                    SCALE * (said[:, k] * u).sum(axis=1)
                    + v[:, : len(rows.facts[k])] @ np.array(rows.facts[k])
                    + w[:, 0]
                )
                expected[:, action] += score
        at += numbers + len(rows.facts[0]) + 1
    assert at == outputs.shape[1]
    np.testing.assert_allclose(head(outputs, inputs).numpy(), expected, rtol=1e-4, atol=1e-4)


def test_manifest(checkpoint):
    folder, _, game = checkpoint
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["format_version"] == 1
    assert manifest["game"] == "coyote_v0"
    assert coyote_v0.game(**manifest["kwargs"]).layout.hash == manifest["layout_hash"] == game.layout.hash
    assert (manifest["num_seats"], manifest["num_actions"]) == (3, game.num_actions)
    assert manifest["observation_size"] == game.layout.size
    assert manifest["training"] == TRAINING
    assert manifest["evaluation"] is None
    assert set(manifest["versions"]) == {"coyote_env", "numpy", "torch", "stable_baselines3", "sb3_contrib", "python"}
    assert manifest["versions"]["torch"] == library_versions()["torch"] == torch.__version__
    assert manifest["policy_sha256"] == hashlib.sha256((folder / "policy.onnx").read_bytes()).hexdigest()
    assert (folder / "config.toml").read_text() == "[run]\nseed = 1\n"


def test_loads_back_and_plays_as_the_learner_does(checkpoint):
    folder, model, game = checkpoint
    policy = CheckpointPolicy(folder, game)
    batch = Batch(game, 32)
    batch.reset(3)
    for _ in range(10):
        with torch.no_grad():
            logits = forward_logits(model.policy, model.inputs(batch.observation, batch.action_mask))
        legal = torch.from_numpy(batch.action_mask != 0)
        expected = torch.softmax(logits.masked_fill(~legal, MASKED), dim=1).numpy()
        np.testing.assert_allclose(policy.probabilities(batch.observation, batch.action_mask), expected, atol=1e-5)
        batch.step(policy.act(batch.observation, batch.action_mask, np.random.default_rng(0)))


def test_evaluation_goes_into_the_manifest_and_changes_nothing_else(checkpoint):
    folder, _, game = checkpoint
    before = json.loads((folder / "manifest.json").read_text())
    write_evaluation(folder, [{"opponent": "random", "share": 0.5}])
    after = json.loads((folder / "manifest.json").read_text())
    assert after.pop("evaluation") == [{"opponent": "random", "share": 0.5}]
    before.pop("evaluation")
    assert after == before
    CheckpointPolicy(folder, game)


def test_a_checkpoint_is_never_overwritten(checkpoint):
    folder, model, game = checkpoint
    with pytest.raises(FileExistsError, match="step_12 exists already; a checkpoint is never overwritten"):
        write_checkpoint(folder, policy_network(model.policy), model.inputs, game, "", TRAINING)
    assert sorted(p.name for p in folder.parent.iterdir()) == ["step_12"]


class Breaks:
    """os.replace or os.fsync that is interrupted at its n-th call."""

    def __init__(self, original, after):
        self.original, self.left = original, after

    def __call__(self, *args):
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return self.original(*args)


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_interrupted_writing_leaves_the_old_or_the_new(tmp_path, monkeypatch, call):
    target, folder = tmp_path / "a.txt", tmp_path / "b"
    target.write_text("old")
    original = getattr(os, call)
    for after in range(8):
        monkeypatch.setattr(os, call, Breaks(original, after))
        for write in (
            lambda: files.write_atomic(target, "new"),
            lambda: files.write_folder_atomic(folder, {"x": b"1", "y": "2"}),
        ):
            with contextlib.suppress(KeyboardInterrupt):
                write()
            assert target.read_text() in ("old", "new")
            assert not folder.exists() or sorted(p.name for p in folder.iterdir()) == ["x", "y"]
            assert {p.name for p in tmp_path.iterdir()} <= {"a.txt", "b"}
        if folder.exists():
            break
    else:
        pytest.fail("it never came through")


def test_json_refuses_nan():
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_json({"share": float("nan")})
