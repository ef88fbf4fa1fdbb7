"""What is counted over games: figures and charts against a count by hand."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from coyote_env import coyote_v0, scout_v0
from coyote_env.arena import play_match
from coyote_env.core.record import GameRecord, replay
from coyote_env.core.tally import Chart, Tally, bins


class Kept:
    def __init__(self) -> None:
        self.records: list[GameRecord] = []

    def write(self, record: GameRecord) -> None:
        self.records.append(record)


def played(game: Any, players: list[str], games: int) -> tuple[Tally, list[GameRecord]]:
    """The tally of some games, and their records."""
    kept, tally = Kept(), game.tally(game)
    play_match(game, players, games, 3, records=kept)
    for record in kept.records:
        for frame in replay(game, record):
            tally.add(frame)
    return tally, kept.records


def chart(tally: Tally, title: str) -> Chart:
    (found,) = (chart for chart in tally.charts() if chart.title == title)
    return found


def test_bins():
    means, shares = bins([0.0, 0.05, 0.55, 1.0, 0.99], [False, True, True, True, False])
    assert means == pytest.approx([0.025, 0.55, 0.995])
    assert shares == [0.5, 1.0, 0.5]
    assert bins([], []) == ([], [])


def test_a_challenge_is_judged_by_what_its_two_seats_saw():
    """mini: cards 1, 2, 3, 4. Seat 0 wears 1 and sees 3: the total is 4, 5 or 7 for it; 3, 4 or 5 for seat 1."""
    env = coyote_v0.env(edition="mini", num_players=2)
    env.reset(seed=0, options={"starter": 0, "draws": ["1", "3"]})
    for name in ("bid_1", "bid_5"):
        env.step(env.action_id(name))
    seen = [env.total_distribution(seat) for seat in (0, 1)]
    too_high = [sum(p for total, p in one.items() if total < 5) for one in seen]
    assert too_high == pytest.approx([1 / 3, 2 / 3])
    env.step(env.action_id("challenge"))
    game = env.unwrapped.game
    tally = game.tally(game)
    for frame in replay(game, env.unwrapped.record()):
        tally.add(frame)
    assert tally.figures() == {
        "bid_a_game": 2.0, "challenge_a_game": 1.0, "opening_number": 1.0, "numbers_a_round": 2.0,
        "challenges_right": 1.0, "challenged_number": 5.0, "total_minus_number": -1.0,
    }  # fmt: skip
    assert chart(tally, "Numbers that were challenged").series == (("a challenge", [4], [5]),)
    assert chart(tally, "Calibration of challenges").series == (
        ("as the challenger sees it", [pytest.approx(too_high[0])], [1.0]),
        ("as the announcer sees it", [pytest.approx(too_high[1])], [1.0]),
    )


def test_coyote_counts_what_the_records_say():
    tally, records = played(coyote_v0.game(num_players=4), ["plus-one", "random", "bayes", "random"], 8)
    kinds = Counter(event.action.split("+")[0].split("_" if "bid" in event.action else "+")[0]
                    for record in records for event in record.events)  # fmt: skip
    figures = tally.figures()
    assert {name: value * 8 for name, value in figures.items() if name.endswith("_a_game")} == {
        f"{kind}_a_game": count for kind, count in kinds.items()
    }
    bars = chart(tally, "Actions beside numbers and challenges").series[0]
    assert {kind: y * 8 for kind, y in zip(bars[1], bars[2], strict=True)} == {
        kind: count for kind, count in kinds.items() if kind not in ("bid", "challenge")
    }
    (_, totals, numbers) = chart(tally, "Numbers that were challenged").series[0]
    assert len(totals) == kinds["challenge"] > 20
    right = sum(total < number for total, number in zip(totals, numbers, strict=True))
    assert figures["challenges_right"] == right / len(totals)


def test_scout_counts_what_the_records_say():
    tally, records = played(scout_v0.game(num_players=3), ["greedy-show", "random", "planner"], 6)
    events = [event.action for record in records for event in record.events]
    shows = [int(action.rpartition("_")[2]) for action in events if action.startswith("show_")]
    figures = tally.figures()
    assert figures["show_a_game"] == len(shows) / 6
    assert figures["cards_a_show"] == pytest.approx(sum(shows) / len(shows))
    _, lengths, shares = chart(tally, "Shows by length").series[0]
    assert {k: y * len(shows) for k, y in zip(lengths, shares, strict=True)} == pytest.approx(Counter(shows))
    _, _, points = chart(tally, "Points a round").series[0]
    assert len(points) == 3


@pytest.mark.parametrize("game", [coyote_v0.game(), scout_v0.game()], ids=["coyote", "scout"])
def test_of_nothing_there_is_nothing(game):
    tally = game.tally(game)
    assert tally.figures() == {}
    assert tally.charts() == []
    assert tally.lines()
