"""Sections whose rows speak of single actions: that each row is about the action that it names."""

from __future__ import annotations

import numpy as np
import pytest

from coyote_env import coyote_v0, scout_v0
from coyote_env.core.game import Game

GAMES = [
    coyote_v0.game(odds=True),
    coyote_v0.game(odds=True, edition="peek", num_players=3),
    coyote_v0.game(odds=True, edition="trickster", num_players=4),
    coyote_v0.game(odds=True, edition="mini", num_players=2),
    *(scout_v0.game(fits=True, num_players=seats) for seats in (2, 3, 4, 5)),
]


@pytest.mark.parametrize("game", GAMES, ids=lambda game: f"{game.name}-{game.num_seats}")
def test_rows_are_those_of_their_section_and_no_action_has_two(game: Game) -> None:
    shapes = {section.name: section.shape for section in game.layout.sections}
    assert game.action_rows
    seen: list[int] = []
    for rows in game.action_rows:
        assert shapes[rows.section][0] == len(rows.actions) == len(rows.facts)
        assert len({len(facts) for facts in rows.facts}) == 1
        assert all(-1 <= fact <= 1 for facts in rows.facts for fact in facts)
        seen += [action for action in rows.actions if action >= 0]
    assert len(set(seen)) == len(seen)
    assert set(seen) <= set(range(game.num_actions))


def test_without_such_sections_there_are_no_rows():
    assert coyote_v0.game().action_rows == ()
    assert scout_v0.game().action_rows == ()


def test_odds_are_of_the_number_that_is_announced():
    game = GAMES[0]
    (rows,) = game.action_rows
    top = game.config.max_bid()
    assert [game.action_names[action] for action in rows.actions] == [f"bid_{number}" for number in range(1, top + 1)]
    assert rows.facts[0] == (1 / top,)
    assert rows.facts[-1] == (1.0,)


@pytest.mark.parametrize("seats", [2, 3, 4, 5])
def test_fits_are_of_the_show_the_place_or_the_scout(seats: int) -> None:
    """Wherever an action with a row is legal its row says something, and a Show's is as long as its name says."""
    tables = scout_v0.batch(64, fits=True, num_players=seats)
    game, rng = tables.game, np.random.default_rng(0)
    tables.reset(seed=1)
    met: set[int] = set()
    for _ in range(150):
        for rows in game.action_rows:
            actions = np.array(rows.actions)
            legal = (tables.action_mask[:, actions] == 1) & (actions >= 0)
            numbers = game.layout.view(tables.observation, rows.section)
            assert (numbers[..., 0][legal] > 0).all()
            met |= set(actions[legal.any(axis=0)].tolist())
        weights = tables.action_mask * rng.random(tables.action_mask.shape)
        tables.step(weights.argmax(axis=1))
    kinds = {game.action_names[action].rstrip("0123456789").split("_")[0] for action in met}
    assert kinds == {"show", "scout", "insert"}
    shows = game.action_rows[0]
    for action, facts in zip(shows.actions, shows.facts, strict=True):
        assert action < 0 or facts == (int(game.action_names[action].split("_")[2]) / 10,)
