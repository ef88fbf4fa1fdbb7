"""A policy at every line-up of scripted players, and what its manifest is told."""

from __future__ import annotations

import json
from itertools import combinations_with_replacement

import pytest

from coyote_env.arena import play_match
from coyote_env.policies import CheckpointPolicy
from tests.test_training_run import TINY
from training import lineups, selfplay


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    """A trained policy for three seats of the smallest edition."""
    path = tmp_path_factory.mktemp("lineups")
    (path / "tiny.toml").write_text(TINY)
    arguments = [str(path / "tiny.toml"), "--run-dir", str(path / "run")]
    assert selfplay.main([*arguments, "--set", "run.steps=300", "--set", "game.kwargs.num_players=3"]) == 0
    return path / "run" / "policy"


def test_every_line_up_is_played_and_the_manifest_has_it(policy, capsys):
    assert lineups.main([str(policy), "--games", "60", "--seed", "3", "--write"]) == 0
    said = capsys.readouterr().out
    found = json.loads((policy / "manifest.json").read_text())["training"]["lineups"]
    players = ("bayes", "plus-one", "random")
    tables = list(combinations_with_replacement(players, 2))
    assert [result["opponent"] for result in found] == [lineups.in_words(others) for others in tables]
    one = CheckpointPolicy(policy)  # its manifest is still one
    for others, result in zip(tables, found, strict=True):
        match = play_match(one.game, [one, *others], 60, 3)
        assert (result["share"], result["games"], result["fair"]) == (match.policies[0].share, 60, 1 / 3)
    least = min(found, key=lambda result: result["share"])
    assert "the weakest of 6, a fair share being 33.3%:" in said
    assert said.splitlines()[-1].endswith(least["opponent"])
    assert said.splitlines()[-1].lstrip().startswith(f"{least['share']:.1%}")


def test_without_write_the_manifest_stays(policy, capsys):
    before = (policy / "manifest.json").read_bytes()
    assert lineups.main([str(policy), "--games", "3"]) == 0
    assert (policy / "manifest.json").read_bytes() == before


def test_players_in_words():
    assert lineups.in_words(("bayes", "plus-one", "plus-one")) == "bayes, 2 plus-one"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{0}/none"], "none is not allowed: it has no manifest.json; allowed: the folder of a policy"),
        (["bayes"], "bayes is not allowed: it has no manifest.json"),
        (["{0}"], "manifest.json is not a manifest: "),
        (["{policy}", "--games", "0"], "--games 0 is not allowed; allowed: 1 to "),
        (["{policy}", "--games", "1000000000000"], "--games 1000000000000 is not allowed; allowed: 1 to "),
        (["{policy}", "--seed", "-1"], "--seed -1 is not allowed; allowed: at least 0"),
    ],
)
def test_mistakes(tmp_path, policy, capsys, arguments, message):
    (tmp_path / "manifest.json").write_text("[]")
    assert lineups.main([argument.format(tmp_path, policy=policy) for argument in arguments]) == 2
    assert message in capsys.readouterr().err
