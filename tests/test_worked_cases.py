"""The worked cases: counts, and whole games with every legal action of every step, on the reference and on the engine.

`tests/cases/*.json` were made apart from this project. In COYOTE's games `legal` packs the numbers as
`[lowest, highest, missing...]`, in SCOUT's it is the sorted names.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from coyote_env import coyote_v0
from tests.reference import coyote as reference
from tests.reference import scout as scout_reference
from tests.scout_tables import EngineTable

CASES = Path(__file__).parent / "cases"
COUNTS = json.loads((CASES / "coyote-counts.json").read_text())
GAMES = {
    path.stem: json.loads(path.read_text())
    for path in sorted(CASES.glob("coyote-*.json"))
    if path.stem != "coyote-counts"
}
SCOUT_GAMES = {path.stem: json.loads(path.read_text()) for path in sorted(CASES.glob("scout-*.json"))}
# The editions that the engine plays so far; the reference plays all.
ENGINE_EDITIONS = ("gigamic-2011", "animals", "peek", "trickster")
ENGINE_GAMES = [name for name, case in GAMES.items() if case["kwargs"]["edition"] in ENGINE_EDITIONS]


def unpack(legal: dict[str, Any]) -> list[str]:
    """All legal action names of a step, sorted."""
    names = list(legal["other"])
    if legal["bids"]:
        lowest, highest, *missing = legal["bids"]
        names += [f"bid_{number}" for number in range(lowest, highest + 1) if number not in missing]
    return sorted(names)


def test_all_cases_are_here() -> None:
    assert len(COUNTS) == 20
    assert len(GAMES) == 16
    assert len(SCOUT_GAMES) == 7


@pytest.mark.parametrize("case", COUNTS, ids=[case["why"] for case in COUNTS])
def test_count_on_the_reference(case: dict[str, Any]) -> None:
    draws = iter(case["drawn"])
    total, drawn, night = reference.count(case["cards"], lambda: next(draws))
    assert (total, drawn, night) == (case["total"], case["drawn"], case["night"])


@pytest.mark.parametrize("name", GAMES)
def test_game_on_the_reference(name: str) -> None:
    case = GAMES[name]
    rules = reference.resolve(**case["kwargs"])
    assert reference.max_bid(rules, rules["num_players"]) == case["max_bid"]
    script = reference.Script(case["options"]["draws"])
    game = reference.ReferenceGame(rules, script, case["options"]["starter"])
    for number, step in enumerate(case["steps"]):
        assert not game.over
        assert (number, game.seat, sorted(game.legal())) == (number, step["seat"], unpack(step["legal"]))
        game.step(step["action"])
    assert game.over
    assert game.eliminated == case["eliminated_in_order"]
    assert game.live() == [case["winner"]]
    assert script.faces == []


@pytest.mark.engine
@pytest.mark.parametrize("case", COUNTS, ids=[case["why"] for case in COUNTS])
def test_count_on_the_engine(case: dict[str, Any]) -> None:
    """Each seat wears one of the cards, `?` draws as scripted, and the reveal tells the total.

    A 50 that no count needs lies alone in the pile then. So the next deal begins with it, unless all is reshuffled.
    """
    cards, drawn = case["cards"], case["drawn"]
    deck = dict(Counter([*cards, *drawn, "50"]))
    env = coyote_v0.env(num_players=len(cards), deck=deck, variants=[], lives=2)
    raw = env.unwrapped
    challenge = raw.action_id("challenge")

    env.reset(options={"starter": 0, "draws": [*cards, *drawn, cards[0]]})
    env.step(raw.action_id("bid_1"))
    if case["night"]:
        env.step(challenge)
    else:
        with pytest.raises(ValueError, match=re.escape(cards[0])):
            env.step(challenge)
        env.reset(options={"starter": 0, "draws": [*cards, *drawn, "50"]})
        env.step(raw.action_id("bid_1"))
        env.step(challenge)
    unit = int(raw.game.action_names[-1].removeprefix("bid_"))
    total = round(float(raw.layout.view(env.observe(env.agents[0])["observation"], "reveal_total")[0]) * unit)
    assert total == case["total"]


@pytest.mark.engine
@pytest.mark.parametrize("name", ENGINE_GAMES)
def test_game_on_the_engine(name: str) -> None:
    case = GAMES[name]
    env = coyote_v0.env(**case["kwargs"])
    raw = env.unwrapped
    env.reset(seed=0, options=case["options"])
    assert raw.game.action_names[-1] == f"bid_{case['max_bid']}"
    eliminated: list[int] = []
    for number, step in enumerate(case["steps"]):
        observation, _, termination, truncation, _ = env.last()
        assert (termination, truncation) == (False, False)
        legal = sorted(raw.action_name(int(action)) for action in observation["action_mask"].nonzero()[0])
        seat = raw.possible_agents.index(env.agent_selection)
        assert (number, seat, legal) == (number, step["seat"], unpack(step["legal"]))
        env.step(raw.action_id(step["action"]))
        # By reward="win" the step that eliminates a seat pays it -1/(N-1), nothing else is negative.
        eliminated += [seat for seat, agent in enumerate(raw.possible_agents) if env.rewards[agent] < 0]
    assert all(env.terminations.values())
    assert eliminated == case["eliminated_in_order"]
    paid_most = max(raw.possible_agents, key=lambda agent: env.rewards[agent])
    assert raw.possible_agents.index(paid_most) == case["winner"]


@pytest.mark.parametrize("name", SCOUT_GAMES)
def test_game_of_scout_on_the_reference(name: str) -> None:
    case = SCOUT_GAMES[name]
    rules = scout_reference.resolve(**case["kwargs"])
    game = scout_reference.ReferenceGame(rules, case["options"]["hands"], case["options"]["first"])
    for number, step in enumerate(case["steps"]):
        assert not game.over
        assert (number, game.seat, sorted(game.legal())) == (number, step["seat"], step["legal"])
        game.play(step["action"])
    assert game.over
    assert game.round_points == case["round_points"]
    assert game.points == case["points"]
    assert sum(game.returns) == 0


@pytest.mark.engine
@pytest.mark.parametrize("name", SCOUT_GAMES)
def test_game_of_scout_on_the_engine(name: str) -> None:
    case = SCOUT_GAMES[name]
    table = EngineTable(case["kwargs"], case["options"]["hands"], case["options"]["first"])
    points = [table.points]
    for number, step in enumerate(case["steps"]):
        assert not table.over
        assert (number, table.seat, sorted(table.legal())) == (number, step["seat"], step["legal"])
        table.play(step["action"])
        if table.points != points[-1]:
            points.append(table.points)
    assert table.over
    assert points[-1] == case["points"]
    played = [[new - old for new, old in zip(*pair, strict=True)] for pair in zip(points[1:], points, strict=False)]
    assert played == case["round_points"]
