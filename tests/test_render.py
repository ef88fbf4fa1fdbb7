"""The renderings: what the text says, to the letter; and what neither text nor picture may tell."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from coyote_env import coyote_v0
from coyote_env.coyote import render
from tests.aec import CONFIGURATIONS, play
from tests.make_docs import ROOT


def table(*actions: str, draws: tuple[str, ...] = ("?", "7", "x2", "-5", "10", "3"), **kwargs: Any) -> Any:
    """An env after these actions of the seats in turn; seat 1 starts."""
    env = coyote_v0.env(**kwargs)
    env.reset(seed=0, options={"starter": 1, "draws": draws})
    for action in actions:
        env.step(env.action_id(action))
    return env


DOUBLED = """\
COYOTE gigamic-2011, round 1, 4 of 4 seats live                                  as player_0 sees it

    seat      lives  wears   said
    player_0  ***    hidden  -     you
    player_1  ***    ? + 10  4
->  player_2  ***    7       4
    player_3  ***    x2      15    15 stands, doubled

announced    player_1 4, player_2 4 (idem), player_3 15
double       whoever loses a challenge of 15 made now loses 2 lives
to move      player_2: challenge, reverse, again, bid_16..110
order        clockwise
unused       reverse, again
pile         25 of 30 cards
unseen       26 cards, player_0's own among them: -10, -5 (2), 1 (2), 2 (2), 3 (2), 4 (2), 5 (2),
             6 (2), 7, 8 (2), 9 (2), 10, 15, 20, max0, max-, night
discards     none"""

REFUSED = """\
COYOTE gigamic-2011, round 1, 4 of 4 seats live                                     every card shown

    seat      lives  wears   said
    player_0  ***    -5      -
    player_1  ***    ? + 10  4
    player_2  ***    7       4
->  player_3  ***    x2      15

announced    player_1 4, player_2 4 (idem), player_3 15
demanded     player_2 refused 15 (again): player_3 must give another number above 4
to move      player_3: bid_5..14, bid_16..110
order        clockwise
unused       reverse
pile         25 of 30 cards: -10, -5, 1 (2), 2 (2), 3 (2), 4 (2), 5 (2), 6 (2), 7, 8 (2), 9 (2), 10,
             15, 20, max0, max-, night
discards     none"""

OVER = """\
COYOTE gigamic-2011, over after round 1                                          as player_0 sees it

  seat      lives  wears      said
  player_0  *      7 + night  -     you, return +1
  player_1  out    ?          60    return -1

announced    player_1 60
drawn by ?   4
pile         26 of 30 cards: -10, -5 (2), 1 (2), 2 (2), 3 (2), 4, 5 (2), 6 (2), 7, 8 (2), 9 (2),
             10 (2), 15, 20, max0, max-, x2
discards     none
last reveal  player_1 said 60, player_0 challenged, the cards made 11: player_1 lost 1 life and is
             out
the end      player_0 won, the last one standing"""

MINI = """\
COYOTE mini, round 1, 2 of 2 seats live                                          as player_1 sees it

    seat      lives  wears   said
->  player_0  *      1       -
    player_1  *      hidden  3     you, 3 stands

announced    player_1 3
to move      player_0: challenge, bid_4..7
order        clockwise
pile         2 of 4 cards
unseen       3 cards, player_1's own among them: 2, 3, 4
discards     none"""


@pytest.mark.engine
def test_the_text_to_the_letter():
    env = table("bid_4", "idem", "double", "extra_feather+2", "next_is+3", "bid_15")
    assert env.render_from(0) == DOUBLED
    env.step(env.action_id("again"))
    assert env.render_from(None) == REFUSED
    short: dict[str, Any] = {"num_players": 2, "lives": 1, "draws": ("?", "7", "night", "4")}
    assert table("extra_feather+1", "bid_60", "challenge", **short).render_from(0) == OVER
    assert table("bid_3", edition="mini", draws=("4", "1")).render_from(1) == MINI


def line(text: str, label: str) -> str:
    """What follows a label, continued lines joined; "" where the label is missing."""
    rows = text.splitlines()
    for k, row in enumerate(rows):
        if row.startswith(label.ljust(13)):
            rest = [row[13:]]
            for more in rows[k + 1 :]:
                if not more.startswith(" " * 13):
                    break
                rest.append(more.strip())
            return " ".join(rest)
    return ""


def test_the_text_says_who_demanded_what_and_what_is_declared():
    env = table("bid_4", "bid_9", "reverse")
    text = env.render_from(None)
    assert line(text, "demanded") == "player_3 turned the order (reverse): player_2 must raise its own 9"
    assert line(text, "order") == "counter-clockwise, turned by reverse"
    for action in ("double", "extra_feather+1", "next_is+2"):
        env.step(env.action_id(action))
    declared = "double, extra_feather for player_3, next_is player_0; the number is to come"
    assert line(env.render_from(None), "declared") == declared
    env = table("bid_4", "bid_9", "again", "bid_7")
    assert line(env.render_from(2), "demanded") == ("player_3 refused a number (again): now it must raise or challenge")
    assert line(env.render_from(2), "announced") == "player_1 4, player_2 9, player_2 7 (again)"


def test_the_text_tells_the_last_reveal_whoever_lost_it():
    high = table("double", "bid_100", "challenge", draws=("1", "2", "3", "4"))
    assert line(high.render_from(0), "last reveal") == (
        "player_1 said 100, player_2 challenged, the cards made 10: player_1 lost 2 lives"
    )
    low = table("bid_10", "challenge", draws=("1", "2", "3", "4"))
    assert line(low.render_from(0), "last reveal") == (
        "player_1 said 10, player_2 challenged, the cards made 10: player_2 lost 1 life"
    )
    assert line(low.render_from(0), "discards") == "1, 2, 3, 4"


def test_the_text_shows_the_last_sixteen_announcements():
    env = table(*(f"bid_{number}" for number in range(1, 21)))
    announced = line(env.render_from(0), "announced")
    assert announced.startswith("(4 before), player_1 5, ")
    assert announced.endswith(", player_0 20")
    assert announced.count("player_") == 16


def test_a_card_told_by_counting_is_named():
    """Nine cards, four seats: in round 3 the last card of the pile goes to its starter, and all can tell it but it."""
    deck = dict.fromkeys(map(str, range(1, 10)), 1)
    env = table("bid_1", "challenge", "bid_1", "challenge", deck=deck, variants="none", draws=("1",))
    worn = env.state().copy()
    starter = env.agent_selection
    seat = env.possible_agents.index(starter)
    own = env.layout.view(env.observe(starter)["observation"], "deduced")
    face = env.game.config.faces[int(own.argmax())]
    assert own.sum() == 1
    assert f"hidden, must be {face}" in env.render_from(seat)
    assert env.layout.view(worn, "cards")[seat][own.argmax()] == 1


def test_the_end_names_a_forfeit():
    ends: list[dict[str, Any]] = [{}, {"game_end": "first_loss"}]
    for kwargs in ends:
        env = table("bid_5", illegal_action="forfeit", **kwargs)
        env.step(env.action_id("bid_3"))
        assert line(env.render_from(None), "the end") == "player_2 forfeited by an illegal action"
    env = table("bid_110", "challenge", game_end="first_loss")
    assert line(env.render_from(None), "the end") == "player_1 lost, the others won"


@pytest.mark.parametrize("kwargs", CONFIGURATIONS.values(), ids=CONFIGURATIONS)
def test_the_text_is_plain_and_at_most_a_hundred_columns_wide(kwargs):
    env = coyote_v0.env(**kwargs)
    rng = np.random.default_rng(0)
    env.reset(seed=4)
    for _ in play(env, rng):
        for viewer in (None, int(rng.integers(env.game.num_seats))):
            text = env.render_from(viewer)
            assert text.isascii()
            assert text.replace("\n", "").isprintable()
            assert max(map(len, text.splitlines())) <= render.WIDTH
            assert not any(row != row.rstrip() for row in text.splitlines())


def hidden_card_changed(env, seat: int) -> bool:
    """Swaps the card that a seat wears with another from the pile, in the record; whether there is another."""
    s = env._states[0]
    worn = int(s["cards"][seat, 0])
    others = [f for f in np.flatnonzero(s["pile"]) if f != worn]
    if s["over"] or s["num_cards"][seat] == 0 or s["old"][seat] or not others:
        return False
    s["pile"][worn] += 1
    s["pile"][others[0]] -= 1
    s["cards"][seat, 0] = others[0]
    return True


def test_neither_text_nor_picture_tells_a_seat_its_own_card():
    env = coyote_v0.env(num_players=3, lives=1)
    env.reset(seed=1)
    changed = 0
    for _ in play(env, np.random.default_rng(1)):
        for seat in range(3):
            before = [env.render_from(k) for k in range(3)] + [env.render_from(None)]
            pictures = changed < 6  # a picture takes a while
            if pictures:
                picture = render.image(env.game, env._states, seat)
            saved = env._states.copy()
            if hidden_card_changed(env, seat):
                after = [env.render_from(k) for k in range(3)] + [env.render_from(None)]
                assert [a == b for a, b in zip(before, after, strict=True)] == [k == seat for k in (0, 1, 2, None)]
                if pictures:
                    np.testing.assert_array_equal(render.image(env.game, env._states, seat), picture)
                    assert (render.image(env.game, env._states, None) != picture).any()
                changed += 1
            env._states[:] = saved
    assert changed > 5


@pytest.mark.parametrize("kwargs", [{}, {"num_players": 10, "lives": 9}, {"edition": "mini"}])
def test_the_picture_has_one_shape_and_is_drawn_anew(kwargs):
    env = coyote_v0.env(**kwargs, render_mode="rgb_array")
    env.reset(seed=2)
    first = env.render()
    for _ in play(env, np.random.default_rng(2), 3):
        picture = env.render()
        assert (picture.shape, picture.dtype) == ((render.SIZE[1], render.SIZE[0], 3), np.uint8)
        assert (picture != first).any()
        assert picture.flags.writeable
    np.testing.assert_array_equal(env.render(), env.render())


WINDOWLESS = """
import os, sys
from coyote_env import coyote_v0
before = dict(os.environ)
env = coyote_v0.env(render_mode="rgb_array")
env.reset(seed=0)
assert "pygame" not in sys.modules
assert env.render().any()
import pygame
assert not pygame.display.get_init()
assert {k for k in os.environ if k.startswith("SDL")} == {k for k in before if k.startswith("SDL")}
"""


def test_a_picture_opens_no_display_prints_nothing_and_leaves_sdl_alone():
    environ = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER")}
    done = subprocess.run(
        [sys.executable, "-c", WINDOWLESS], cwd=ROOT, env=environ, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""


def test_without_pygame_the_error_names_the_extra(monkeypatch):
    env = coyote_v0.env(render_mode="rgb_array")
    env.reset(seed=0)
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(ImportError, match=r'pip install "coyote-env\[render\]"'):
        env.render()
    assert "COYOTE" in env.render_from(0)
