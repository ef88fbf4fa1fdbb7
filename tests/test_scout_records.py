"""Records of SCOUT: played, written, verified, shown and counted."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from coyote_env import scout_v0
from coyote_env.cli import main
from coyote_env.core.record import Event, GameRecord, RecordWriter, read_records, replay, verify
from tests.aec import SCOUT_CONFIGURATIONS


def recorded(path, number, **kwargs) -> list[GameRecord]:
    """Random games of a table, written to a file."""
    batch = scout_v0.batch(3, **kwargs)
    with RecordWriter(path) as writer:
        batch.record_to(writer)
        batch.reset(seed=1)
        rng = np.random.default_rng(1)
        while writer.games < number:
            batch.step(np.argmax(rng.random(batch.action_mask.shape) * batch.action_mask, axis=1))
    return [record for _, record in read_records(path) if isinstance(record, GameRecord)]


@pytest.mark.parametrize("kwargs", SCOUT_CONFIGURATIONS.values(), ids=SCOUT_CONFIGURATIONS)
def test_a_batch_s_records_are_by_the_rules_and_deal_the_same_game(kwargs, tmp_path):
    records = recorded(tmp_path / "games.jsonl", 2, **kwargs)
    game = scout_v0.game(**kwargs)
    for record in records[:2]:
        assert verify(game, record) is None
        *_, last = replay(game, record)
        np.testing.assert_allclose(last.states["returns"][0, : game.num_seats], record.returns)
        # Its draws are the hands of the first round, in order.
        deal = [[int(number) for number in card.split("/")] for card in record.deal]
        rules = game.config
        hands = [deal[k * rules.deal : (k + 1) * rules.deal] for k in range(game.num_seats)]
        env = scout_v0.env(**kwargs)
        env.reset(options={"first": record.start, "hands": [hands]})
        for event in record.events[: game.num_seats]:
            assert env.agent_selection == f"player_{event.seat}"
            env.step(env.action_id(event.action))
        assert list(env.record().deal) == list(record.deal)


def test_what_departs_from_the_rules_is_found(tmp_path):
    record = recorded(tmp_path / "games.jsonl", 1, num_players=3, rounds=1)[0]
    game = scout_v0.game(num_players=3, rounds=1)

    def with_event(k: int, **changes) -> GameRecord:
        events = list(record.events)
        events[k] = events[k]._replace(**changes)
        return replace(record, events=tuple(events))

    for wrong in (
        with_event(0, action="show_0_1"),
        with_event(1, seat=record.events[0].seat),
        replace(record, deal=(*record.deal[:-1], record.deal[0])),
        replace(record, deal=record.deal[:-1]),
        replace(record, returns=tuple(reversed([value + 1 for value in record.returns]))),
        replace(record, events=(*record.events, Event(0, "show_0_1", (), False))),
    ):
        assert verify(game, wrong) is not None


def test_the_commands(tmp_path, capsys):
    path = tmp_path / "games.jsonl"
    players = ["planner", "greedy-show", "random"]
    assert main(["match", *players, "--game", "scout_v0", "--games", "6", "--seed", "3", "--records", str(path)]) == 0
    capsys.readouterr()
    records = [record for _, record in read_records(path) if isinstance(record, GameRecord)]
    assert len(records) >= 6
    assert main(["records", "verify", str(path)]) == 0
    assert f"{len(records)} games by the rules, 0 at fault" in capsys.readouterr().out
    assert main(["records", "stats", str(path)]) == 0
    out = capsys.readouterr().out
    actions = [event.action for record in records for event in record.events]
    shows = [int(action.rpartition("_")[2]) for action in actions if action.startswith("show_")]
    assert f"rounds finished {3 * len(records):,}" in out
    assert f"insert {sum(action.startswith('insert_') for action in actions):,}" in out
    assert f"Shows {len(shows):,}, {sum(shows) / len(shows):.2f} cards on average" in out
    means = [float(value) for value in re.findall(r"seat \d: ([+-][\d.]+) points a round", out)]
    assert len(means) == 3
    assert main(["records", "show", str(path), "--game", "1", "--seat", "0"]) == 0
    assert "as player_0 sees it" in capsys.readouterr().out
