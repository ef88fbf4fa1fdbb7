"""The `coyote` command: what it prints, what it writes, and how it says what is wrong."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from coyote_env.arena import play_match
from coyote_env.cli import main
from coyote_env.policies import GAMES, load_policy, make_game, registry
from tests import networks, toy_duel


@pytest.fixture(autouse=True)
def _duel(monkeypatch):
    monkeypatch.setitem(GAMES, "duel_v0", registry._Modules("tests.toy_duel", "tests.toy_duel", "longy"))


MATCH = ["match", "shorty", "longy", "longy", "--game", "duel_v0", "--set", "long=3"]


def test_a_match_prints_its_table(capsys):
    assert main([*MATCH, "--games", "30", "--seed", "4"]) == 0
    out = capsys.readouterr().out
    game = make_game("duel_v0", {"num_players": 3, "long": 3})
    shorty, longy = load_policy("shorty", game), load_policy("longy", game)
    expected = play_match(game, [shorty, longy, longy], 30, 4).table()
    assert out.splitlines()[:-1] == expected.splitlines()[:-1]  # the last line holds the time it took
    assert "duel_v0 (num_players=3, long=3, edition=plain)" in out
    assert "30 games of 10 deals, seed 4; fair share 33.3%" in out


def test_the_same_seed_prints_the_same(capsys):
    for seed in ("1", "1", "2"):
        assert main([*MATCH, "--games", "20", "--seed", seed]) == 0
    tables = [text.split("\n\n")[1] for text in capsys.readouterr().out.split("duel_v0 (")[1:]]
    assert tables[0] == tables[1]
    assert tables[0] != tables[2]


def test_a_name_given_twice_is_loaded_once(monkeypatch):
    made = []

    def make(game):
        made.append(toy_duel.Chooser("longy", 0.0))
        return made[-1]

    monkeypatch.setitem(toy_duel.SCRIPTED, "longy", make)
    assert main([*MATCH, "--games", "3"]) == 0
    assert len(made) == 1


def test_brackets_without_end_are_a_mistake(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["match", "random", "random", "--set", "deck=" + "[" * 100_000])
    assert caught.value.code == 2
    assert "deck=...: brackets within brackets" in capsys.readouterr().err


def test_json_is_written_beside(tmp_path, capsys):
    path = tmp_path / "result.json"
    assert main([*MATCH, "--games", "12", "--json", str(path)]) == 0
    data = json.loads(path.read_text())
    assert data["games"] == 12
    assert [p["name"] for p in data["policies"]] == ["shorty", "longy", "longy"]
    assert [p.name for p in tmp_path.iterdir()] == ["result.json"]
    before = path.read_text()
    assert main([*MATCH, "--games", "13", "--json", str(path)]) == 2
    assert "result.json: exists already" in capsys.readouterr().err
    assert path.read_text() == before


def test_checkpoints_play_too(tmp_path, capsys):
    folder = networks.write(tmp_path / "mine", make_game("duel_v0"))
    command = ["match", str(folder), "shorty", "--game", "duel_v0", "--games", "20"]
    assert main(command) == 0
    sampled = capsys.readouterr().out
    assert str(folder) in sampled
    assert main([*command, "--greedy"]) == 0
    assert capsys.readouterr().out.split("\n\n")[1] != sampled.split("\n\n")[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["match", "short", "longy", "--game", "duel_v0"],
            "no policy 'short' (did you mean 'shorty'?): scripted players of",
        ),
        (["match", "shorty", "longy", "--game", "tarot_v0"], "no game 'tarot_v0'; there are: coyote_v0, duel_v0"),
        (["match", "shorty", "--game", "duel_v0"], "num_players must be an integer from 2 to 10, not 1"),
        ([*MATCH, "--set", "num_players=4"], "policies: 3 given; duel_v0 has 4 seats here"),
        ([*MATCH, "--set", "long=many"], "long must be an integer from 1 to 1000, not 'many'"),
        ([*MATCH, "--set", "width=3"], "unexpected keyword argument 'width'"),
        ([*MATCH, "--games", "0"], "num_games = 0; allowed: a whole number from 1"),
        ([*MATCH, "--seed", "-1"], "seed = -1; allowed: a whole number from 0"),
        ([*MATCH, "--json", "/nowhere/at/all.json"], "--json /nowhere/at/all.json: there is no folder /nowhere/at"),
    ],
)
def test_errors_are_one_line_and_status_2(arguments, message, capsys):
    assert main([*arguments, "--games", "5"] if "--games" not in arguments else arguments) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("coyote match: error: ")
    assert message in captured.err
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments", [[], ["matches"], ["match"], [*MATCH, "--set", "long"], [*MATCH, "--games", "few"]]
)
def test_what_argparse_refuses(arguments, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert "usage: coyote" in capsys.readouterr().err


def test_a_wrong_policy_is_reported_without_a_trace(monkeypatch, capsys):
    class Wrong(toy_duel.Chooser):
        def act(self, observation, action_mask, rng):
            return super().act(observation, action_mask, rng) * 0

    monkeypatch.setitem(toy_duel.SCRIPTED, "longy", lambda game: Wrong("longy", 0.0))
    assert main([*MATCH, "--games", "5"]) == 2
    assert "policy 'longy' in seat" in capsys.readouterr().err


def test_ctrl_c_is_no_error_message(monkeypatch, capsys):
    class Interrupted(toy_duel.Chooser):
        def act(self, observation, action_mask, rng):
            raise KeyboardInterrupt

    monkeypatch.setitem(toy_duel.SCRIPTED, "longy", lambda game: Interrupted("longy", 0.0))
    assert main([*MATCH, "--games", "5"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_progress_goes_to_a_terminal_only(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main([*MATCH, "--games", "5"]) == 0
    assert "\r5 of 5 games" in capsys.readouterr().err
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    assert main([*MATCH, "--games", "5"]) == 0
    assert capsys.readouterr().err == ""


def test_as_a_module():
    run = subprocess.run(
        [sys.executable, "-m", "coyote_env", "match", "--help"], check=True, capture_output=True, text=True, timeout=60
    )
    assert "usage: coyote match" in run.stdout
