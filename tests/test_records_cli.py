"""`coyote records` and `coyote match --records`: what they print, and what their exit status says."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from coyote_env import coyote_v0
from coyote_env.cli import main
from coyote_env.core.record import GameRecord, RecordWriter, read_records
from coyote_env.coyote.rules import EDITIONS
from tests.random_play import choose
from tests.test_records import FEATHERS, HOSTILE, MINI, changed


@pytest.fixture
def path(tmp_path):
    return tmp_path / "games.jsonl"


def write(path, *lines):
    path.write_bytes(b"\n".join(line if isinstance(line, bytes) else line.encode("utf-8", "replace") for line in lines))
    return path


def recorded(path, number, **kwargs):
    """Random games of a table, written to a file."""
    batch = coyote_v0.batch(4, **kwargs)
    with RecordWriter(path) as writer:
        batch.record_to(writer)
        batch.reset(seed=1)
        rng = np.random.default_rng(1)
        while writer.games < number:
            batch.step(choose(batch, rng, 3))
    return [record for _, record in read_records(path)]


# --- verify


@pytest.mark.parametrize("edition", EDITIONS)
def test_games_by_the_rules(edition, path, capsys):
    records = recorded(path, 5, edition=edition)
    assert main(["records", "verify", str(path)]) == 0
    assert capsys.readouterr().out == f"{len(records)} lines: {len(records)} games by the rules, 0 at fault\n"


def test_every_line_at_fault_is_named_and_the_rest_is_read(path, capsys):
    bad_game = replace(MINI, game="tarot_v0").line()
    bad_rules = replace(MINI, rules={"edition": "mini", "lives": "many"}).line()
    module = replace(MINI, game="os").line()
    write(
        path,
        MINI.line(),
        "hello",
        changed(MINI, 2, action="bid_5").line(),
        bad_game,
        bad_rules,
        module,
        FEATHERS.line(),
    )
    assert main(["records", "verify", str(path)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"{path}:2: not JSON: expecting value at character 1",
        f"{path}:3: step 2, seat 0: bid_5 is illegal; legal: challenge, bid_6, bid_7",
        f"{path}:4: game or rules: no game 'tarot_v0'; there are: coyote_v0, scout_v0",
        f"{path}:5: game or rules: lives must be an integer from 1 to 9, not 'many'",
        f"{path}:6: game or rules: no game 'os'; there are: coyote_v0, scout_v0",
        "7 lines: 2 games by the rules (1 unfinished), 5 at fault",
    ]


RULES = {
    "unknown argument": {"width": 3},
    "a path as a deck": {"deck": "/etc/passwd"},
    "a deck of lists": {"deck": {"1": [1]}},
    "a huge deck": {"deck": {"1": 10**18}},
    "a long text": {"edition": "x" * 10**6},
    "no edition": {"edition": None},
    "nested": {"deck": json.loads("[" * 400 + "]" * 400)},
    "a number as variants": {"variants": 3},
    "a float": {"num_players": 2.5},
    "odds of a text": {"odds": "yes"},
    "arguments of the face": {"render_mode": "human"},
    "self": {"self": 1},
    "an empty key": {"": 1},
}


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_rules_that_make_no_game_are_one_line(rules, path, capsys):
    write(path, replace(MINI, rules=rules).line(), MINI.line())
    assert main(["records", "verify", str(path)]) == 1
    out = capsys.readouterr().out.splitlines()
    assert len(out) == 2
    assert out[0].startswith(f"{path}:1: game or rules: ")
    assert len(out[0]) < 500
    assert "1 game by the rules, 1 at fault" in out[1]


@pytest.mark.parametrize("command", ["verify", "stats"])
def test_hostile_lines_are_one_line_each(command, path, capsys):
    lines = [line for name, (line, _) in HOSTILE.items() if name not in ("nothing", "UTF-16")]
    write(path, *lines, MINI.line())
    assert main(["records", command, str(path)]) == 1
    told = capsys.readouterr()
    complaints = (told.out if command == "verify" else told.err).splitlines()
    numbers = [int(re.match(rf"{re.escape(str(path))}:(\d+): ", line)[1]) for line in complaints if str(path) in line]  # type: ignore[index]  # no match fails too
    assert numbers == list(range(1, len(lines) + 1))
    assert ("1 game by the rules" if command == "verify" else "1 game: 1 finished") in told.out


def test_an_empty_file_holds_nothing_wrong(path, capsys):
    path.touch()
    assert main(["records", "verify", str(path)]) == 0
    assert capsys.readouterr().out == "0 lines: 0 games by the rules, 0 at fault\n"
    assert main(["records", "stats", str(path)]) == 0
    assert capsys.readouterr().out == "no games\n"


@pytest.mark.parametrize("command", [["verify"], ["stats"], ["show"], ["import-log"]])
def test_a_file_that_is_not_there(command, tmp_path, capsys):
    for wrong in (tmp_path / "none", tmp_path):
        assert main(["records", *command, str(wrong)]) == 2
        assert capsys.readouterr().err.startswith("coyote records: error: ")


@pytest.mark.parametrize("arguments", [[], ["check", "x"], ["verify"], ["show", "x", "--game", "one"]])
def test_what_argparse_refuses(arguments):
    with pytest.raises(SystemExit, match="2"):
        main(["records", *arguments])


# --- show


def test_a_game_is_shown_step_by_step(path, capsys):
    write(path, "broken", MINI.line())
    assert main(["records", "show", str(path), "--game", "2"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("player_0: Ann, player_1: Bob\n\n--- step 0: the deal, player_1 begins, drawn: 4, 2\n")
    assert [line for line in out.splitlines() if line.startswith("---")][1:] == [
        "--- step 1: player_1 bid_5",
        "--- step 2: player_0 bid_6",
        "--- step 3: player_1 challenge",
    ]
    assert out.count("COYOTE mini") == 4
    assert out.endswith("\nfinished\n")


def test_a_seat_is_shown_what_it_may_know(path, capsys):
    write(path, FEATHERS.line())
    assert main(["records", "show", str(path), "--seat", "1"]) == 0
    out = capsys.readouterr().out
    steps = [line for line in out.splitlines() if line.startswith("---")]
    assert steps == [
        "--- step 0: the deal, player_0 begins",
        "--- step 1: player_0 has moved",
        "--- step 2: player_1 challenge",
        "--- step 3: player_0 has moved",
    ]
    # Two deals, and in neither what the seat wears.
    assert out.count("hidden") == 4
    assert not re.search(r"player_1  \*+ +(1|4) ", out)


def test_what_cannot_be_shown(path, capsys):
    write(path, changed(MINI, 2, action="bid_5").line(), "broken")
    assert main(["records", "show", str(path)]) == 1
    told = capsys.readouterr()
    assert told.out.count("--- step") == 2  # as far as it goes
    assert told.err == f"{path}:1: step 2, seat 0: bid_5 is illegal; legal: challenge, bid_6, bid_7\n"
    assert main(["records", "show", str(path), "--game", "2"]) == 1
    assert capsys.readouterr().err == f"{path}:2: not JSON: expecting value at character 1\n"
    assert main(["records", "show", str(path), "--game", "3"]) == 2
    assert "has no game in line 3" in capsys.readouterr().err
    assert main(["records", "show", str(path), "--seat", "2"]) == 2
    assert "--seat must be a seat from 0 to 1, not 2" in capsys.readouterr().err


# --- stats


def test_statistics_of_games_that_are_known(path, capsys):
    # Ann wins three with names, Bob the last; one is unfinished, one at fault is left out.
    lost = replace(changed(MINI, 2, action="challenge"), events=changed(MINI, 2, action="challenge").events[:2])
    lost = replace(lost, returns=(-1.0, 1.0))  # 4 + 2 = 6 >= 5
    unfinished = replace(MINI, events=MINI.events[:1], result="unfinished", returns=(0.0, 0.0))
    swapped = replace(lost, names=("Bob", "Ann"))
    write(path, *(r.line() for r in (lost, lost, swapped, MINI, unfinished, replace(MINI, start=0), FEATHERS)))
    assert main(["records", "stats", str(path)]) == 1
    told = capsys.readouterr()
    assert told.err == f"{path}:6: step 1, seat 1: bid_5 out of turn: seat 0 is to move\n"
    first, second = told.out.split("\n\n")
    lines = first.splitlines()
    assert lines[0].startswith("coyote_v0 (edition=mini, num_players=2")
    assert lines[1:3] == ["5 games: 4 finished, 1 unfinished", "actions a game: 2.2 on average, 2 to 3"]
    assert lines[3].startswith("  seat 0: won 25.0% (")
    assert lines[3].endswith("mean return -0.500")
    assert lines[5:7] == ["  Ann: won 50.0% of 4 seats", "  Bob: won 50.0% of 4 seats"]
    assert lines[7] == "rounds opened 5; opening number 5.0; numbers a round 1.20, 5.2 on average"
    assert lines[8] == "actions: bid 6, challenge 4"
    assert lines[9].startswith("challenges 4, the challenger was right in 0.0%; number 5.2, total 6.0, ")
    assert lines[10] == "  seat 0: challenged 3 times, right in 0.0%; was challenged 1 times, held in 100.0%"
    assert lines[11] == "  seat 1: challenged 1 times, right in 0.0%; was challenged 3 times, held in 100.0%"
    assert "1 game: 1 unfinished" in second
    assert "opening number 20.5" in second


@pytest.mark.parametrize("edition", EDITIONS)
def test_statistics_agree_with_the_records(edition, path, capsys):
    records = [r for r in recorded(path, 12, edition=edition) if isinstance(r, GameRecord)]
    assert main(["records", "stats", str(path)]) == 0
    out = capsys.readouterr().out
    actions = [event.action for record in records for event in record.events]
    assert f"{len(records)} games: {len(records)} finished" in out
    assert f"challenge {actions.count('challenge'):,}" in out
    assert f"challenges {actions.count('challenge'):,}, " in out
    assert f"bid {sum(a.startswith('bid_') for a in actions):,}" in out


def test_forfeits_are_counted(path, capsys):
    env = coyote_v0.env(edition="mini", illegal_action="forfeit")
    env.reset(seed=0, options={"starter": 1})
    env.step(env.action_id("challenge"))
    write(path, env.record().line())
    assert main(["records", "stats", str(path)]) == 0
    out = capsys.readouterr().out
    assert "1 game: 1 forfeit" in out
    assert "seat 0: won 100.0%" in out
    assert "rounds opened 0\nactions: none" in out


# --- matches


def test_a_match_writes_its_games(path, capsys):
    command = ["match", "plus-one", "random", "--set", "edition=mini", "--games", "25", "--seed", "3"]
    assert main(command) == 0
    plain = capsys.readouterr().out
    assert main([*command, "--records", str(path)]) == 0
    assert capsys.readouterr().out.splitlines()[:-1] == plain.splitlines()[:-1]  # the last line holds the time
    records = [record for _, record in read_records(path)]
    assert len(records) == 25
    assert {record.names for record in records if isinstance(record, GameRecord)} == {
        ("plus-one", "random"),
        ("random", "plus-one"),
    }
    assert main(["records", "verify", str(path)]) == 0
    capsys.readouterr()
    assert main(["records", "stats", str(path)]) == 0
    share = re.search(r"plus-one: won ([\d.]+)% of 25 seats", capsys.readouterr().out)
    assert share is not None
    assert re.search(rf"plus-one +{re.escape(share[1])}%", plain)
    for record in records:  # the seed deals the game
        assert isinstance(record, GameRecord)
        env = coyote_v0.env(**record.rules)
        env.reset(seed=record.seed)
        assert (env.record().deal, env.record().start) == (record.deal, record.start)
    path.write_text(path.read_text() + "{")
    assert main([*command, "--records", str(path)]) == 0
    assert "ends in a line that is cut off" in capsys.readouterr().err
    assert len(list(read_records(path))) == 51
