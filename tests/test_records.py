"""Records: what a game leaves behind says all of it, and nothing that is not so passes for a game."""

from __future__ import annotations

import copy
import io
import json
import os
import pickle
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import coyote_env.core.record as record_module
from coyote_env import coyote_v0
from coyote_env.core.game import RANDOM
from coyote_env.core.record import (
    MAX_LINE,
    Departure,
    Event,
    GameRecord,
    RecordError,
    RecordWriter,
    completed,
    parse,
    read_records,
    replay,
    verify,
)
from coyote_env.coyote.rules import EDITIONS
from tests.aec import CONFIGURATIONS, finish, play
from tests.random_play import SMALL_DECKS, choose

RUNS: dict[str, dict[str, Any]] = {
    **{edition: {"edition": edition} for edition in EDITIONS},
    **CONFIGURATIONS,
    **SMALL_DECKS,
}
every_run = pytest.mark.parametrize("kwargs", RUNS.values(), ids=RUNS)


def played(kwargs: dict[str, Any], seed: int = 1, **options: Any) -> Any:
    """An env at the end of a random game."""
    env = coyote_v0.env(**kwargs)
    env.reset(seed=seed, options=options)
    finish(env, np.random.default_rng(seed))
    return env


# --- the table's record


@every_run
def test_a_game_is_written_read_and_verified(kwargs):
    for seed in range(3):
        env = played(kwargs, seed)
        record = env.unwrapped.record()
        assert parse(record.line()) == record
        assert verify(env.game, record) is None
        assert record.result == "finished"
        assert record.names == tuple(env.possible_agents)
        assert conforms(json.loads(record.line()))


@every_run
def test_a_running_game_is_recorded_as_far_as_it_is(kwargs):
    env = coyote_v0.env(**kwargs)
    env.reset(seed=2)
    before = env.record()
    assert (before.result, before.events) == ("unfinished", ())
    for number, (agent, action) in enumerate(play(env, np.random.default_rng(2)), 1):
        record = env.record()
        assert len(record.events) == number
        assert record.events[: number - 1] == tuple(e for e in before.events[:-1]) + before.events[-1:]
        assert (record.events[-1].seat, record.events[-1].action) == (int(agent[7:]), env.action_name(action))
        assert record.returns == tuple(env._states["returns"][0, : env.game.num_seats])
        if number % 5 == 0 or not env.agents:
            assert verify(env.game, record) is None
        before = record
    assert before.result == "finished"


@every_run
def test_a_forfeit_is_recorded_and_verified(kwargs):
    env = coyote_v0.env(**kwargs, illegal_action="forfeit")
    env.reset(seed=3)
    for _ in play(env, np.random.default_rng(3), 4):
        pass
    if env.terminations[env.agent_selection]:
        env.reset(seed=4)
    mask = env.observe(env.agent_selection)["action_mask"]
    env.step(int(np.argmin(mask)))
    record = env.record()
    assert record.result == "forfeit"
    assert record.events[-1].illegal
    assert verify(env.game, record) is None
    assert parse(record.line()) == record
    honest = replace(record, events=(*record.events[:-1], record.events[-1]._replace(illegal=False)))
    assert "is illegal; legal: " in str(verify(env.game, honest))
    assert "the record says finished" in str(verify(env.game, replace(record, result="finished")))


@every_run
def test_the_draws_of_a_record_deal_the_game_again(kwargs):
    record = played(kwargs, 5).record()
    env = coyote_v0.env(**kwargs)
    draws = [*record.deal, *(card for event in record.events for card in event.draws)]
    env.reset(seed=77, options={"starter": record.start, "draws": draws})
    for event in record.events:
        assert env.agent_selection == f"player_{event.seat}"
        env.step(env.action_id(event.action))
    assert env.record() == record


def test_fixed_draws_that_were_not_reached_are_not_recorded():
    env = coyote_v0.env(edition="mini")
    env.reset(seed=0, options={"starter": 1, "draws": ["4", "2"]})
    assert env.record().deal == ("4", "2")
    env = coyote_v0.env(num_players=3, lives=1)
    env.reset(seed=0, options={"draws": ["1", "2", "3", "4", "5"]})
    assert env.record().deal == ("1", "2", "3")
    env.step(env.action_id("bid_1"))
    env.step(env.action_id("challenge"))
    assert env.record().events[-1].draws == ("4", "5")


def test_a_step_that_failed_is_not_recorded():
    env = coyote_v0.env(num_players=2, lives=2, deck="classic-36")
    env.reset(seed=0, options={"draws": ["20", "1", "20"]})
    env.step(env.action_id("bid_1"))
    before = env.record()
    with pytest.raises(ValueError, match="'20' is due"):
        env.step(env.action_id("challenge"))
    with pytest.raises(ValueError, match="illegal"):
        env.step(env.action_id("bid_1"))
    assert env.record() == before


@pytest.mark.parametrize("how", ["deepcopy", "pickle", "state"])
def test_copies_have_the_same_record(how):
    env = coyote_v0.env(num_players=3)
    env.reset(seed=6, options={"draws": ["night", "8"]})
    for _ in play(env, np.random.default_rng(6), 9):
        pass
    if how == "state":
        twin = coyote_v0.env(num_players=3)
        twin.set_state(env.get_state())
    else:
        twin = copy.deepcopy(env) if how == "deepcopy" else pickle.loads(pickle.dumps(env))
    assert twin.record() == env.record()
    finish(twin, np.random.default_rng(7))
    assert len(twin.record().events) > len(env.record().events) == 9
    finish(env, np.random.default_rng(7))
    assert twin.record() == env.record()


def test_a_redealt_copy_has_no_record_and_no_draws():
    env = coyote_v0.env()
    env.reset(seed=1)
    for _ in play(env, np.random.default_rng(1), 5):
        pass
    twin = env.redeal_hidden(0, np.random.default_rng(2))
    assert (twin._tapes == RANDOM).all()
    assert twin._played == []
    restored = coyote_v0.env()
    restored.set_state(twin.get_state())
    for other in (twin, copy.deepcopy(twin), restored):
        with pytest.raises(RuntimeError, match="redeal_hidden"):
            other.record()
    finish(twin, np.random.default_rng(3))
    with pytest.raises(RuntimeError, match="redeal_hidden"):
        twin.record()
    twin.reset(seed=1)
    assert verify(twin.game, twin.record()) is None


def test_a_state_with_the_history_of_another_has_no_record():
    env, other = coyote_v0.env(), coyote_v0.env()
    env.reset(seed=1)
    other.reset(seed=2)
    size = env._states.itemsize
    env.set_state(env.get_state()[:-size] + other.get_state()[-size:])
    with pytest.raises(RuntimeError, match="not known"):
        env.record()
    # An action number that is none, and half a number.
    whole = other.get_state()
    for bad in (whole[:-size] + b"\xff\x7f" + whole[-size:], whole[:-size] + b"\0" + whole[-size:]):
        with pytest.raises(ValueError, match="state"):
            other.set_state(bad)
    # More actions than the game had.
    other.set_state(whole[:-size] + b"\0\0" + whole[-size:])
    with pytest.raises(RuntimeError, match="not known"):
        other.record()


def test_names_are_checked():
    env = coyote_v0.env(num_players=2)
    with pytest.raises(RuntimeError, match="reset"):
        env.record()
    env.reset(seed=0)
    assert env.record(["Ann", "Bo Bø"]).names == ("Ann", "Bo Bø")
    wrong: list[Any] = [["one"], ["a", ""], ["a", "b\n"], ["a", "\x1b[31m"], ["a", "x" * 101], "ab", ["a", 1]]
    for bad in (*wrong, ["a", "\ud800"], 5, {"a", "b"}, (name for name in "ab")):
        with pytest.raises(ValueError, match="names must be 2 printable texts"):
            env.record(bad)


# --- departures

MINI = parse(
    '{"format": "coyote_env.record", "version": 1, "game": "coyote_v0", "rules": {"edition": "mini"}, '
    '"names": ["Ann", "Bob"], "start": 1, "deal": ["4", "2"], "events": [{"seat": 1, "action": "bid_5"}, '
    '{"seat": 0, "action": "bid_6"}, {"seat": 1, "action": "challenge"}], "result": "finished", "returns": [1, -1]}'
)
FEATHERS = GameRecord(
    "coyote_v0", {"num_players": 2, "lives": 2}, ("a", "b"), 0, ("?", "1"),
    (Event(0, "bid_40"), Event(1, "challenge", ("20", "3", "4")), Event(0, "bid_1")),
    "unfinished", (0.0, 0.0),
)  # fmt: skip


def changed(record: GameRecord, step: int, **fields: Any) -> GameRecord:
    events = list(record.events)
    events[step - 1] = events[step - 1]._replace(**fields)
    return replace(record, events=tuple(events))


@pytest.mark.parametrize("record", [MINI, FEATHERS])
def test_the_examples_are_games(record):
    assert verify(coyote_v0.game(**record.rules), record) is None


@pytest.mark.parametrize(
    ("record", "step", "seat", "message"),
    [
        (changed(MINI, 2, action="bid_5"), 2, 0, "bid_5 is illegal; legal: challenge, bid_6, bid_7"),
        (changed(MINI, 1, action="challenge"), 1, 1, "challenge is illegal; legal: bid_1, bid_2"),
        (changed(MINI, 2, action="shout"), 2, 0, "shout is no action of this game; legal: challenge"),
        (changed(MINI, 2, seat=1), 2, 1, "bid_6 out of turn: seat 0 is to move"),
        (changed(MINI, 2, seat=7), 2, 7, "bid_6 out of turn: seat 0 is to move"),
        (changed(MINI, 2, illegal=True), 2, 0, "bid_6 is recorded as illegal, but legal"),
        (changed(MINI, 2, action="challenge"), 3, 1, "challenge comes after the end of the game"),
        (changed(MINI, 3, draws=("1",)), 3, 1, "so far; a game of these rules has at most"),
        (replace(MINI, deal=("4",)), 0, None, "the rules draw more than the 1 recorded here"),
        (replace(MINI, deal=("4", "4")), 0, None, "draw '4' is not possible here"),
        (replace(MINI, deal=("4", "5")), 0, None, "draw '5': the outcomes are 1, 2, 3, 4"),
        (replace(MINI, start=2), 0, None, "start is seat 2; the seats are 0 to 1"),
        (replace(MINI, start=0), 1, 1, "out of turn: seat 0 is to move"),
        (replace(MINI, names=("Ann",)), 0, None, "1 names for 2 seats"),
        (replace(MINI, returns=(1.0,)), 0, None, "1 returns for 2 seats"),
        (replace(MINI, game="scout_v0"), 0, None, "the record is of scout_v0, not of coyote_v0"),
        (replace(MINI, returns=(-1.0, 1.0)), 3, None, "the returns are 1, -1, not -1, 1"),
        (replace(MINI, result="unfinished"), 3, None, "the record says unfinished, but here the game is finished"),
        (replace(MINI, result="forfeit"), 3, None, "the record says forfeit, but here the game is finished"),
        (replace(MINI, events=MINI.events[:2]), 2, None, "the record says finished, but here the game is not over"),
        (changed(FEATHERS, 2, draws=("20", "3")), 2, 1, "the rules draw more than the 2 recorded here"),
        (changed(FEATHERS, 2, draws=()), 2, 1, "the rules draw more than the 0 recorded here"),
        (changed(FEATHERS, 2, draws=("20", "3", "4", "5")), 2, 1, "4 draws are recorded here, the rules make 3"),
        (changed(FEATHERS, 2, draws=("20", "3", "20")), 2, 1, "draw '20' is not possible here"),
        (changed(FEATHERS, 1, draws=("5",)), 1, 0, "1 draws are recorded here, the rules make 0"),
        # 20 + 1 = 21 < 40; with the 15 drawn and... still the announcer loses: this changes nothing but the card.
        (changed(FEATHERS, 1, action="bid_21"), 3, 0, "bid_1 out of turn: seat 1 is to move"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)  # fmt: skip
def test_a_departure_names_step_and_seat_and_what_is_legal(record, step, seat, message):
    departure = verify(coyote_v0.game(**record.rules), record)
    assert isinstance(departure, Departure)
    assert (departure.step, departure.seat) == (step, seat)
    assert message in str(departure)
    assert str(departure).startswith(f"step {step}" + ("" if seat is None else f", seat {seat}"))
    assert "\n" not in str(departure)


def plays(record: GameRecord) -> bool:
    """Whether the env itself plays a record, to these returns: an oracle that shares no code with ``replay``."""
    env = coyote_v0.env(**record.rules, illegal_action="forfeit")
    used = list(record.deal)
    try:
        draws = [*record.deal, *(card for event in record.events for card in event.draws)]
        env.reset(seed=0, options={"starter": record.start, "draws": draws})
        if int(env._states["draws"][0]) != len(used):
            return False
        for event in record.events:
            if env.agent_selection != f"player_{event.seat}" or any(env.terminations.values()):
                return False
            action = env.action_id(event.action)
            if bool(env.observe(env.agent_selection)["action_mask"][action]) == event.illegal:
                return False
            env.step(action)
            used += event.draws
            if int(env._states["draws"][0]) != len(used):
                return False
    except ValueError:
        return False
    over = any(env.terminations.values())
    result = "unfinished" if not over else "forfeit" if record.events[-1].illegal else "finished"
    return result == record.result and np.allclose(env._states["returns"][0, : env.game.num_seats], record.returns)


def mutated(record: GameRecord, game: Any, rng: np.random.Generator) -> GameRecord:
    """The record with one thing changed."""
    what = int(rng.integers(8))
    events = list(record.events)
    k = int(rng.integers(len(events)))
    event = events[k]
    if what == 0:
        events[k] = event._replace(action=str(rng.choice(game.action_names)))
    elif what == 1:
        near = min(max(game.action_id[event.action] + int(rng.integers(-2, 3)), 0), game.num_actions - 1)
        events[k] = event._replace(action=game.action_names[near])
    elif what == 2:
        events[k] = event._replace(seat=int(rng.integers(game.num_seats)))
    elif what == 3:
        del events[k]
    elif what == 4:
        events.insert(k, event)
    elif what == 5:
        with_draws = [j for j, e in enumerate(events) if e.draws]
        if not with_draws:
            deal = list(record.deal)
            deal[int(rng.integers(len(deal)))] = str(rng.choice(game.outcomes))
            return replace(record, deal=tuple(deal))
        j = int(rng.choice(with_draws))
        draws = list(events[j].draws)
        draws[int(rng.integers(len(draws)))] = str(rng.choice(game.outcomes))
        events[j] = events[j]._replace(draws=tuple(draws))
    elif what == 6:
        returns = list(record.returns)
        returns[int(rng.integers(len(returns)))] += 0.5
        return replace(record, returns=tuple(returns))
    else:
        return replace(record, start=int(rng.integers(game.num_seats)))
    return replace(record, events=tuple(events))


@every_run
def test_a_changed_record_is_caught_unless_it_is_a_game_too(kwargs):
    rng = np.random.default_rng(9)
    record = played(kwargs, 9).record()
    game = coyote_v0.game(**record.rules)
    caught = 0
    for _ in range(60):
        other = mutated(record, game, rng)
        if other == record:
            continue
        departure = verify(game, other)
        assert (departure is None) == plays(other), other.line()
        caught += departure is not None
    assert caught > 20


def test_completed_fills_in_what_the_events_lead_to():
    blank = replace(MINI, result="unfinished", returns=(0.0, 0.0))
    assert completed(coyote_v0.game(edition="mini"), blank) == MINI
    with pytest.raises(Departure, match="illegal"):
        completed(coyote_v0.game(edition="mini"), changed(blank, 2, action="bid_1"))


def test_replay_shows_the_table_after_every_event():
    frames = [(f.step, f.event, int(f.states["bid"][0])) for f in replay(coyote_v0.game(edition="mini"), MINI)]
    assert frames == [(0, None, 0), (1, MINI.events[0], 5), (2, MINI.events[1], 6), (3, MINI.events[2], 6)]


# --- lines that are none

GOOD = MINI.as_dict()


def edited(**changes: Any) -> str:
    return json.dumps({key: value for key, value in (GOOD | changes).items() if value is not ...})


HOSTILE: dict[str, tuple[str | bytes, str]] = {
    "nothing": (b"", "not JSON: expecting value at character 1"),
    "words": ("hello", "not JSON: expecting value at character 1"),
    "cut off": (MINI.line()[:-30], "cut off: "),
    "cut off within a text": (MINI.line()[:50], "cut off: "),
    "two on a line": (MINI.line() * 2, "not JSON: extra data at character"),
    "no object": ("[1, 2]", "the record must be an object, not a list of 2"),
    "null": ("null", "the record must be an object, not None"),
    "not UTF-8": (b'{"format": "\xff"}', "not UTF-8: byte 13 is 0xff"),
    "UTF-16": (MINI.line().encode("utf-16"), "not UTF-8: byte 1 is 0xff"),
    "a BOM": (b"\xef\xbb\xbf" + MINI.line().encode(), "not JSON: "),
    "deep lists": (b"[" * 200_000, "nested too deeply"),
    "deep objects": (b'{"a":' * 200_000, "nested too deeply"),
    "deep rules": (edited(rules=...)[:-1] + ', "rules": ' + '{"deck": ' * 200_000 + "}" * 200_000, "nested too deeply"),
    "NaN": (edited(returns=[float("nan"), 1]), "NaN is no JSON number"),
    "infinity": (edited(returns=[float("inf"), 1]), "Infinity is no JSON number"),
    "1e999": (MINI.line().replace("-1.0", "1e999"), "a number is too large"),
    "a huge integer": (MINI.line().replace('"start": 1', '"start": 1' + "0" * 5000), "a number is too large"),
    "a large integer": (edited(start=10**30), "'start' of the record must be a seat, not a huge number"),
    "ten megabytes": ("[" + " " * 10_000_000 + "]", "longer than 8,388,608 bytes"),
    "a key twice": (MINI.line()[:-1] + ', "start": 0}', "key 'start' is given twice"),
    "another format": (edited(format="pgn"), "'format' of the record must be 'coyote_env.record', not 'pgn'"),
    "no format": (edited(format=...), "'format' of the record must be 'coyote_env.record', not None"),
    "version 2": (edited(version=2), "'version' of the record must be 1, not 2"),
    "version true": (edited(version=True), "'version' of the record must be 1, not True"),
    "version 1.0": (edited(version=1.0), "'version' of the record must be 1, not 1.0"),
    "no rules": (edited(rules=...), "the record has no 'rules'"),
    "rules as a list": (edited(rules=["mini"]), "'rules' of the record must be an object, not a list of 1"),
    "names as a text": (edited(names="Ann"), "'names' of the record must be a list of printable texts"),
    "a name that steers a terminal": (
        edited(names=["\x1b[2J", "b"]),
        "'names' of the record must be a list of printable",
    ),
    "a name with a line end": (edited(names=["a\nb", "b"]), "'names' of the record must be a list of printable"),
    "half a character": (edited(names=["\ud800", "b"]), "'names' of the record must be a list of printable"),
    "a negative seat": (edited(start=-1), "'start' of the record must be a seat, not -1"),
    "a seat as text": (edited(start="1"), "'start' of the record must be a seat, not '1'"),
    "a seat as truth": (edited(start=True), "'start' of the record must be a seat, not True"),
    "a deal of numbers": (edited(deal=[4, 2]), "'deal' of the record must be a list of printable texts"),
    "events as an object": (edited(events={}), "'events' of the record must be a list, not an object of 0"),
    "an event as a text": (edited(events=["bid_5"]), "event 1 must be an object, not 'bid_5'"),
    "an event without a seat": (edited(events=[{"action": "bid_5"}]), "event 1 has no 'seat'"),
    "an event with more": (edited(events=[{"seat": 1, "action": "x", "why": 1}]), "event 1 has an unknown key 'why'"),
    "an action as a number": (
        edited(events=[{"seat": 1, "action": 5}]),
        "'action' of event 1 must be a printable text",
    ),
    "an unknown result": (edited(result="won"), "'result' of the record must be one of 'finished', 'forfeit'"),
    "returns as texts": (edited(returns=["1", "-1"]), "'returns' of the record must be a list of numbers"),
    "returns as truths": (edited(returns=[True, False]), "'returns' of the record must be a list of numbers"),
    "a seed below 0": (edited(seed=-1), "'seed' of the record must be an integer from 0"),
    "another key": (edited(path="/etc/passwd"), "the record has an unknown key 'path'"),
    "a long key": (edited(**{"x" * 10_000: 1}), "the record has an unknown key 'xxx"),
}


@pytest.mark.parametrize(("line", "message"), HOSTILE.values(), ids=HOSTILE)
def test_what_is_no_record_is_refused_in_one_short_sentence(line, message):
    with pytest.raises(RecordError) as caught:
        parse(line)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 300
    assert str(caught.value).isprintable()


def test_bytes_that_are_damaged_are_refused_or_still_a_record():
    rng = np.random.default_rng(4)
    line = bytearray(FEATHERS.line().encode())
    refused = 0
    for _ in range(2000):
        damaged = bytearray(line)
        for _ in range(int(rng.integers(1, 4))):
            damaged[int(rng.integers(len(damaged)))] = int(rng.integers(256))
        try:
            assert isinstance(parse(bytes(damaged)), GameRecord)
        except RecordError:
            refused += 1
    assert refused > 1000


def test_every_line_is_read_whatever_stands_before_it(tmp_path):
    path = tmp_path / "games.jsonl"
    good = MINI.line().encode()
    lines = [
        good,
        b"",
        b"\xff\xfe",
        b"[" * 10**5,
        b" " * (MAX_LINE + 5),
        good,
        b"x" * 3 * MAX_LINE,
        b"  ",
        good + b"\r",
        good,
    ]
    path.write_bytes(b"\n".join(lines))  # no end after the last one: it is whole all the same
    found = list(read_records(path))
    assert [number for number, _ in found] == [1, 3, 4, 5, 6, 7, 9, 10]
    assert [isinstance(item, GameRecord) for _, item in found] == [True, False, False, False, True, False, True, True]
    assert list(read_records(io.BytesIO(b""))) == []
    path.write_bytes(good + b"\n" + good[:-9])
    (_, first), (number, last) = read_records(path)
    assert first == MINI
    assert number == 2
    assert str(last).startswith("cut off: ")


# --- writing


def test_a_writer_appends(tmp_path):
    path = tmp_path / "games.jsonl"
    for _ in range(2):
        with RecordWriter(path) as writer:
            writer.write(MINI)
            assert path.read_text().endswith(MINI.line() + "\n")  # at once, not when the file is closed
            writer.write(FEATHERS)
            assert writer.games == 2
    assert [record for _, record in read_records(path)] == [MINI, FEATHERS] * 2
    with pytest.raises(FileNotFoundError):
        RecordWriter(tmp_path / "no" / "folder.jsonl")
    with pytest.raises(IsADirectoryError):
        RecordWriter(tmp_path)


def test_a_file_that_was_cut_off_goes_on_with_a_new_line(tmp_path):
    path = tmp_path / "games.jsonl"
    half = MINI.line()[:80]
    path.write_text(MINI.line() + "\n" + half)
    with pytest.warns(RuntimeWarning, match="ends in a line that is cut off; it stays there"):
        writer = RecordWriter(path)
    with writer:
        assert path.read_text() == MINI.line() + "\n" + half  # nothing is touched before there is something to write
        writer.write(FEATHERS)
    assert path.read_text() == MINI.line() + "\n" + half + "\n" + FEATHERS.line() + "\n"
    assert [isinstance(item, GameRecord) for _, item in read_records(path)] == [True, False, True]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RecordWriter(path).close()


def test_a_full_disk_loses_the_game_that_did_not_fit(tmp_path, monkeypatch):
    path = tmp_path / "games.jsonl"
    with RecordWriter(path) as writer:
        writer.write(MINI)
        file = writer._file

        class Full:
            def write(self, data):
                return file.write(data[:40])

        writer._file = Full()  # type: ignore[assignment]  # a stand-in for the file
        with pytest.raises(OSError, match="is the disk full"):
            writer.write(FEATHERS)
        writer._file = file
        writer.write(FEATHERS)
        assert writer.games == 2
    assert [isinstance(item, GameRecord) for _, item in read_records(path)] == [True, False, True]
    if os.path.exists("/dev/full"):
        with RecordWriter("/dev/full") as writer, pytest.raises(OSError, match="No space"):
            writer.write(MINI)


def test_a_pipe_can_be_written_to(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with open(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK), "rb") as reader, RecordWriter(pipe) as writer:
        writer.write(MINI)
        assert parse(reader.read()) == MINI


def test_a_record_that_no_reader_would_take_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr(record_module, "MAX_LINE", 300)
    with RecordWriter(tmp_path / "games.jsonl") as writer, pytest.raises(ValueError, match="a line has at most 300"):
        writer.write(MINI)
    assert (tmp_path / "games.jsonl").read_bytes() == b""


ENDLESS = """
import sys
import numpy as np
from coyote_env import coyote_v0
from coyote_env.core.record import RecordWriter
from tests.random_play import choose
with RecordWriter(sys.argv[1]) as writer:
    batch = coyote_v0.batch(64, num_players=3)
    batch.record_to(writer)
    batch.reset(seed=1)
    rng = np.random.default_rng(1)
    while True:
        batch.step(choose(batch, rng))
"""


def test_a_killed_process_leaves_whole_games(tmp_path):
    path = tmp_path / "games.jsonl"
    child = subprocess.Popen([sys.executable, "-c", ENDLESS, str(path)], cwd=Path(__file__).parent.parent)
    try:
        deadline = time.monotonic() + 120
        while not path.exists() or path.stat().st_size < 100_000:
            assert child.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    found = [item for _, item in read_records(path)]
    whole = [item for item in found if isinstance(item, GameRecord)]
    assert len(found) - len(whole) <= 1
    assert isinstance(found[-1], GameRecord) or len(whole) == len(found) - 1
    game = coyote_v0.game(num_players=3)
    assert len(whole) > 10
    assert all(verify(game, record) is None for record in whole[:20])


# --- batches

BUFFERS = ("seat", "observation", "action_mask", "rewards", "done", "states")


@every_run
def test_a_batch_plays_the_same_bytes_recorded_or_not(kwargs):
    plain = coyote_v0.batch(6, **kwargs, illegal_action="forfeit")
    other = coyote_v0.batch(6, **kwargs, illegal_action="forfeit")
    kept: list[tuple[int, GameRecord]] = []
    other.record_to(lambda table, record: kept.append((table, record)))
    plain.reset(seed=5)
    other.reset(seed=5)
    rng = np.random.default_rng(5)
    ended = 0
    for _ in range(250):
        actions = choose(plain, rng, 3)
        actions = np.where(rng.random(6) < 0.01, 0, actions)  # now and then a challenge that may be illegal
        plain.step(actions)
        other.step(actions)
        ended += int(plain.done.sum())
        for name in BUFFERS:
            assert getattr(plain, name).tobytes() == getattr(other, name).tobytes()
    assert len(kept) == ended > 0
    for table, record in kept:
        assert 0 <= table < 6
        assert verify(other.game, record) is None
        assert parse(record.line()) == record
        assert conforms(json.loads(record.line()))
    assert {"finished"} <= {record.result for _, record in kept} <= {"finished", "forfeit"}
    for table in range(6):
        running = other.record(table)
        assert running.result == "unfinished"
        assert verify(other.game, running) is None


def test_a_batch_and_an_env_record_the_same_game():
    batch, env = coyote_v0.batch(1, num_players=3), coyote_v0.env(num_players=3)
    kept: list[GameRecord] = []
    batch.record_to(lambda table, record: kept.append(record))
    batch.reset(seed=8)
    env.reset(seed=8)
    rng = np.random.default_rng(8)
    while not kept:
        assert batch.record(0) == env.record()
        action = int(choose(batch, rng)[0])
        batch.step([action])
        env.step(action)
    assert kept == [env.record()]


def test_recording_begins_with_the_next_deal_and_can_be_stopped(tmp_path):
    batch = coyote_v0.batch(8, edition="mini")
    with pytest.raises(RuntimeError, match="record_to"):
        batch.record(0)
    batch.reset(seed=1)
    rng = np.random.default_rng(1)
    batch.step(choose(batch, rng))
    with RecordWriter(tmp_path / "games.jsonl") as writer:
        batch.record_to(writer, ["Ann", "Bob"])
        with pytest.raises(RuntimeError, match="began before it was recorded"):
            batch.record(0)
        with pytest.raises(ValueError, match="table must be from 0 to 7"):
            batch.record(8)
        ended = 0
        first = np.ones(8, bool)
        for _ in range(200):  # with tables whose games are longer than the log's first size, and not known
            batch.step(choose(batch, rng))
            ended += int((batch.done & ~first).sum())
            first &= ~batch.done
        assert writer.games == ended > 100
        batch.refresh()  # somebody may have changed the records
        with pytest.raises(RuntimeError, match="began before it was recorded"):
            batch.record(0)
        batch.record_to(None)
        for _ in range(20):
            batch.step(choose(batch, rng))
        assert writer.games == ended
    found = [item for _, item in read_records(tmp_path / "games.jsonl")]
    game = coyote_v0.game(edition="mini")
    assert all(isinstance(item, GameRecord) and verify(game, item) is None for item in found)
    assert found[0].names == ("Ann", "Bob")  # type: ignore[union-attr]  # an error fails here too
    with pytest.raises(ValueError, match="names"):
        batch.record_to(print, ["one"])


def test_games_dealt_at_some_tables_are_recorded():
    from coyote_env.core.rng import table_seeds

    batch = coyote_v0.batch(4, num_players=2, lives=1)
    batch.record_to(lambda table, record: None)
    batch.reset(seed=0)
    batch.step(choose(batch, np.random.default_rng(0)))
    batch.deal(np.array([2]), table_seeds(42, 1))
    env = coyote_v0.env(num_players=2, lives=1)
    env.reset(seed=42)
    assert batch.record(2) == env.record()
    assert len(batch.record(1).events) == 1


@pytest.mark.parametrize("edition", EDITIONS)
def test_games_dealt_by_later_resets_are_recorded_too(edition):
    env = coyote_v0.env(edition=edition)
    rng = np.random.default_rng(0)
    env.reset(seed=1)
    for _ in range(4):
        for _ in play(env, rng):
            pass
        record = env.record()
        assert record.result == "finished"
        replayed = list(replay(env.game, record))
        assert replayed
        env.reset()  # no seed: the table goes on with its stream


def test_one_failure_loses_one_game():
    """The step's other games are handed over all the same; what went wrong is raised when it is done."""
    batch = coyote_v0.batch(8, edition="mini")
    kept: list[int] = []

    def refuse_one(table: int, record: GameRecord) -> None:
        if table == 0:
            raise OSError("full")
        kept.append(table)

    batch.record_to(refuse_one)
    batch.reset(seed=0)
    cap = batch.game.action_id["bid_7"]
    batch.step(np.full(8, cap))
    with pytest.raises(OSError, match="full"):
        batch.step(np.full(8, batch.game.action_id["challenge"]))
    assert batch.done.all()
    assert kept == [1, 2, 3, 4, 5, 6, 7]


def test_what_cannot_take_records_is_refused_at_once(tmp_path):
    batch = coyote_v0.batch(2)
    wrong: list[Any] = ["games.jsonl", 3]
    for bad in wrong:
        with pytest.raises(TypeError, match="target must be a RecordWriter"):
            batch.record_to(bad)
    writer = RecordWriter(tmp_path / "games.jsonl")
    writer.close()
    with pytest.raises(ValueError, match="closed"):
        batch.record_to(writer)


def test_a_name_that_no_reader_would_take_is_not_written(tmp_path):
    env = coyote_v0.env(edition="mini")
    env.reset(seed=0)
    record = env.record()
    with RecordWriter(tmp_path / "games.jsonl") as writer:
        for name in ("a\nb", "x" * 200, ""):
            with pytest.raises(ValueError, match="names must be printable"):
                writer.write(replace(record, names=(name, *record.names[1:])))
        assert writer.games == 0


def test_a_line_of_very_many_keys_is_refused_soon():
    keys = [f'"{k:x}":0' for k in range(60_000)]
    with pytest.raises(RecordError, match="given twice"):
        parse(("{" + ",".join([*keys, keys[-1]]) + "}").encode())


def test_a_sink_that_fails_leaves_the_tables_in_order():
    batch, twin = (coyote_v0.batch(8, edition="mini") for _ in range(2))

    def refuse(table: int, record: GameRecord) -> None:
        raise OSError("full")

    batch.record_to(refuse)
    batch.reset(seed=3)
    twin.reset(seed=3)
    rng, failed = np.random.default_rng(3), 0
    for _ in range(60):
        actions = choose(twin, rng)
        twin.step(actions)
        try:
            batch.step(actions)
        except OSError:
            failed += 1
        for name in BUFFERS:
            assert getattr(batch, name).tobytes() == getattr(twin, name).tobytes()
    assert failed > 5


# --- the schema

SCHEMA = json.loads((Path(record_module.__file__).parent / "record.schema.json").read_text())
TYPES = {
    "object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool,
}  # fmt: skip


def conforms(value: Any, schema: dict[str, Any] = SCHEMA) -> bool:
    """Whether a value is as a JSON Schema says, for the words of it that ours uses."""
    if "$ref" in schema:
        schema = SCHEMA["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    if "const" in schema:
        return bool(value == schema["const"])
    if "enum" in schema:
        return bool(value in schema["enum"])
    kind: Any = TYPES[schema["type"]]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        return False
    if isinstance(value, dict) and "properties" in schema:
        return (
            set(schema["required"]) <= set(value) <= set(schema["properties"])
            and schema["additionalProperties"] is False
            and all(conforms(item, schema["properties"][key]) for key, item in value.items())
        )
    if isinstance(value, list):
        return all(conforms(item, schema["items"]) for item in value)
    if isinstance(value, str):
        return bool(schema["minLength"] <= len(value) <= schema["maxLength"])
    if isinstance(value, int) and "minimum" in schema:
        return bool(schema["minimum"] <= value <= schema["maximum"])
    return True


def test_the_schema_says_what_is_read_and_written():
    assert conforms(GOOD)
    assert conforms(FEATHERS.as_dict())
    assert conforms(replace(MINI, seed=2**64 - 1).as_dict())
    assert SCHEMA["properties"]["format"]["const"] == record_module.FORMAT
    assert SCHEMA["properties"]["version"]["const"] == record_module.VERSION
    assert SCHEMA["properties"]["result"]["enum"] == list(record_module.RESULTS)
    assert f"{MAX_LINE:,}" in SCHEMA["title"]
    refused = 0
    for line, _ in HOSTILE.values():
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        # What is well formed and not refused here is refused for what a schema cannot say.
        refused += not conforms(value)
    assert refused > 20
