"""The published policies: they are what their manifests say, and play."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from coyote_env.arena import play_match
from coyote_env.policies import CheckpointPolicy, load_policy, make_game
from training.config import load_config

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = sorted(path.parent for path in (ROOT / "checkpoints").glob("*/*/manifest.json"))


def test_there_are_some():
    assert {folder.parent.name for folder in FOLDERS} == {"coyote_v0", "scout_v0"}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_published_policy_is_whole_and_small(folder):
    assert sorted(path.name for path in folder.iterdir()) == ["config.toml", "manifest.json", "policy.onnx"]
    assert sum(path.stat().st_size for path in folder.iterdir()) < 2_000_000
    policy = load_policy(folder)
    assert isinstance(policy, CheckpointPolicy)
    config, manifest = load_config(folder / "config.toml"), policy.manifest
    assert (config.game.name, folder.parent.name) == (manifest.game, manifest.game)
    assert make_game(config.game.name, config.game.kwargs).layout.hash == manifest.layout_hash
    assert manifest.training["steps"] >= config.run.steps
    assert "configs/" in manifest.training["command"]
    assert [result["opponent"] for result in manifest.evaluation] == list(config.evaluation.opponents)
    assert all(result["games"] == config.evaluation.games for result in manifest.evaluation)
    text = (folder / "manifest.json").read_text(encoding="utf-8")
    assert "/tmp" not in text  # no place of the machine that made it
    assert "/home" not in text
    assert json.loads(text)["training"]["seed"] == config.run.seed


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_published_policy_plays_as_well_as_it_says(folder):
    """A short match at the default table of its rules: within four deviations of the share in its manifest."""
    policy = load_policy(folder)
    assert isinstance(policy, CheckpointPolicy)
    game = make_game(policy.manifest.game, dict(policy.manifest.kwargs))
    stated = policy.manifest.evaluation[0]
    found = play_match(game, [policy, *[stated["opponent"]] * (game.num_seats - 1)], 120, 7).policies[0]
    deviation = np.sqrt(max(stated["share"] * (1 - stated["share"]), 0.01) / 120)
    assert abs(found.share - stated["share"]) < 4 * deviation
