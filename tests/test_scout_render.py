"""SCOUT's renderings: what the text says, to the letter; and what neither text nor picture may tell."""

from __future__ import annotations

import numpy as np
import pytest

from coyote_env import scout_v0
from coyote_env.core.canvas import SIZE
from coyote_env.scout import render

TWO = """\
SCOUT, 2 seats, round 1 of 2                                                     as player_1 sees it

    seat      cards  captured  tokens left    points
    player_0  10     0         3              0       owns the Show
->  player_1  11     0         3              0       you

active Show
  upper  10
  lower   2

hand of player_1
  place   0  1  2  3  4  5  6  7  8  9 10
  upper   2  5  2  2  8  1  1 10  5  7  3
  lower   1  3  7  8  1  3  7  4  2 10  7
  shows         *  *     *  *

to move      player_1's turn; 19 turns left without a capture
show         2 2 (show_2_2), 1 1 (show_5_2)
choose       scout_left_as_is, scout_left_turned"""
HANDS = [
    [
        [[3, 2], [6, 9], [9, 7], [1, 9], [6, 10], [8, 10], [7, 4], [10, 2], [7, 6], [4, 2], [4, 3]],
        [[2, 1], [5, 3], [2, 7], [2, 8], [8, 1], [1, 3], [1, 7], [10, 4], [5, 2], [7, 10], [3, 7]],
    ]
]


def table(*moves, num_players=2, hands=HANDS, **kwargs):
    env = scout_v0.env(num_players=num_players, **kwargs)
    env.reset(seed=0, options={"first": 0, "hands": hands})
    for name in moves:
        env.step(env.action_id(name))
    return env


def test_the_text_to_the_letter():
    assert table("keep", "keep", "show_7_1").render_from(1) == TWO


def test_the_card_that_is_taken_is_public_and_its_orientation_is_not():
    env = table("keep", "keep", "show_7_1", "scout_left_turned")
    assert "player_1 inserts 2 over 10" in env.render_from(1)
    assert "player_1 inserts the card 2/10;" in env.render_from(0)
    env.step(env.action_id("insert_3"))
    assert "holds 2/10" in env.render_from(0)
    assert "holds" not in env.render_from(1)


def random_games(turns=90, **kwargs):
    env = scout_v0.env(**kwargs)
    for seed in range(4):
        env.reset(seed=seed)
        rng = np.random.default_rng(seed)
        for _ in range(turns):
            if any(env.terminations.values()):
                break
            env.step(int(rng.choice(np.flatnonzero(env.observe(env.agent_selection)["action_mask"]))))
            yield env


@pytest.mark.parametrize("seats", [2, 3, 4, 5])
def test_no_text_tells_what_the_seat_cannot_know(seats):
    rng = np.random.default_rng(0)
    for env in random_games(num_players=seats, stall_limit=9):
        for seat in range(seats):
            assert env.redeal_hidden(seat, rng).render_from(seat) == env.render_from(seat)
            assert all(len(line) <= render.WIDTH + 40 for line in env.render_from(seat).splitlines())


def test_the_end_names_who_has_won_and_the_returns():
    env = table("keep", "keep", illegal_action="forfeit")
    env.step(env.action_id("insert_3"))
    text = env.render_from(None)
    assert "over after round 1" in text
    assert "the end      player_1 won" in text
    assert "return -1" in text


@pytest.mark.parametrize("seats", [2, 3, 4, 5])
def test_the_picture_has_one_shape_and_is_drawn_anew(seats):
    env = scout_v0.env(num_players=seats, render_mode="rgb_array")
    env.reset(seed=2)
    first = env.render()
    for _ in range(2 * seats):
        env.step(int(np.flatnonzero(env.observe(env.agent_selection)["action_mask"])[0]))
    picture = env.render()
    assert (picture.shape, picture.dtype) == ((SIZE[1], SIZE[0], 3), np.uint8)
    assert (picture != first).any()
    np.testing.assert_array_equal(picture, env.render())


def test_no_picture_tells_what_the_seat_cannot_know():
    rng = np.random.default_rng(0)
    for k, env in enumerate(random_games(num_players=3, turns=40)):
        if k % 9 == 0:
            seat = k % 3
            own, other = (e.game.render_image(e.game, e._states, seat) for e in (env, env.redeal_hidden(seat, rng)))
            np.testing.assert_array_equal(own, other)
