"""The worked cases: counts, and whole games with every legal action of every step, on the reference and on the engine.

`tests/cases/*.json` were made apart from this project. A game's `legal` packs the numbers as
`[lowest, highest, missing...]`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from coyote_env import coyote_v0
from tests.reference import coyote as reference

CASES = Path(__file__).parent / "cases"
COUNTS = json.loads((CASES / "coyote-counts.json").read_text())
GAMES = {path.stem: json.loads(path.read_text()) for path in sorted(CASES.glob("coyote-gigamic-2011-*.json"))}


def unpack(legal: dict[str, Any]) -> list[str]:
    """All legal action names of a step, sorted."""
    names = list(legal["other"])
    if legal["bids"]:
        lowest, highest, *missing = legal["bids"]
        names += [f"bid_{number}" for number in range(lowest, highest + 1) if number not in missing]
    return sorted(names)


def test_all_cases_are_here() -> None:
    assert len(COUNTS) == 20
    assert len(GAMES) == 6


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
    game = reference.ReferenceGame(rules, reference.script(case["options"]["draws"]), case["options"]["starter"])
    for number, step in enumerate(case["steps"]):
        assert not game.over
        assert (number, game.seat, sorted(game.legal())) == (number, step["seat"], unpack(step["legal"]))
        game.step(step["action"])
    assert game.over
    assert game.eliminated == case["eliminated_in_order"]
    assert game.live() == [case["winner"]]


@pytest.mark.parametrize("case", COUNTS, ids=[case["why"] for case in COUNTS])
def test_count_on_the_engine(case: dict[str, Any]) -> None:
    """Each seat wears one of the cards, `?` draws as scripted, and the reveal tells the total."""
    cards, drawn = case["cards"], case["drawn"]
    deck: dict[str, int] = {}
    for face in [*cards, *drawn]:
        deck[face] = deck.get(face, 0) + 1
    # A card that no count needs, for a deck that can reach 1. It stays in the pile.
    deck["50"] = 1
    env = coyote_v0.env(num_players=len(cards), deck=deck, variants=[], lives=2)
    env.reset(options={"starter": 0, "draws": [*cards, *drawn]})
    env.step(env.unwrapped.action_id("bid_1"))
    env.step(env.unwrapped.action_id("challenge"))
    layout = env.unwrapped.layout
    seen = env.observe(env.agents[0])["observation"]
    cap = reference.max_bid(reference.resolve(num_players=len(cards), deck=deck, variants=[]), len(cards))
    assert float(layout.view(seen, "reveal_total")[0]) * cap == pytest.approx(max(-cap, case["total"]), abs=1e-4)
    left_in_pile = float(layout.view(seen, "pile_size")[0]) * sum(deck.values())
    # The next deal follows at once: after a night it comes from all cards, else from the 50 and then the discards.
    expected = sum(deck.values()) - len(cards)
    assert left_in_pile == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("name", GAMES)
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
