"""The renderings: what the text says, to the letter; and what neither text nor picture may tell."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from coyote_env import coyote_v0
from coyote_env.core.canvas import SIZE
from coyote_env.coyote import engine, render
from tests.aec import CONFIGURATIONS, play
from tests.make_docs import ROOT

# Every edition with what it adds, and house games whose pile runs out under the cards in the middle.
EDITIONS: dict[str, dict[str, Any]] = {
    "animals": {"edition": "animals", "num_players": 3},
    "peek": {"edition": "peek"},
    "trickster": {"edition": "trickster", "num_players": 5},
    "everything": {"edition": "trickster", "num_players": 3, "variants": "all", "closed_peeks": 1},
    "ten": {"edition": "trickster", "num_players": 10, "lives": 9, "closed_peeks": 4, "variants": "all"},
    "eight-cards": {
        "edition": "trickster",
        "num_players": 3,
        "closed_peeks": 1,
        "reshuffle": "when_needed",
        "variants": ["extra_feather", "double"],
        "deck": {str(v): 1 for v in range(1, 9)},
    },
}


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


ANIMALS = """\
COYOTE animals, round 1, 3 of 3 seats live                                       as player_2 sees it

    seat      lives  wears   said
    player_0  ***    4       -
    player_1  ***    6       5     5 stands
->  player_2  ***    hidden  -     you

announced    player_1 5
to move      player_2: challenge, bid_6..18
order        clockwise
pile         107 of 110 cards
unseen       108 cards, player_2's own among them: 1 (28), 2 (28), 4 (26), 6 (26)
discards     none"""

PEEKED = """\
COYOTE peek, round 1, 3 of 3 seats live                                          as player_2 sees it

    seat      lives             wears   said
    player_0  2 open, 1 closed  10      -
    player_1  2 open, 1 closed  7       4     4 stands
->  player_2  1 open, 2 closed  hidden  -     you

announced    player_1 4
centre       15; player_2 looked at it
demanded     player_2 has looked at a card in the middle: now it must raise
to move      player_2: bid_5..54
order        clockwise
pile         13 of 17 cards
unseen       14 cards, player_2's own among them: -10, -5, 0, 1, 2, 3, 4, 5, 6, 8, 9, 20, ?, max0
discards     none"""

TRICKSTER = """\
COYOTE trickster, round 1, 4 of 4 seats live                                     as player_1 sees it

    seat      lives             wears   said
->  player_0  1 open, 2 closed  10      -
    player_1  1 open, 2 closed  hidden  4     you
    player_2  1 open, 2 closed  7       9     9 stands
    player_3  1 open, 2 closed  ?       -

announced    player_1 4, player_2 9
challenge    player_3 challenged the 9 of player_2; who is not in it points at who will win, hidden
             until the reveal
centre       hidden
Coyote card  nobody holds it
to move      player_0: point_announcer, point_challenger
order        clockwise
pile         12 of 17 cards
unseen       14 cards, player_1's own and the centre card among them: -10, -5, 0, 1, 2, 3, 4, 5, 6,
             8, 9, 15, 20, max0
discards     none"""

DISCARD = """\
COYOTE trickster, round 1, 4 of 4 seats live                                     as player_1 sees it

    seat      lives             wears  said
    player_0  2 open, 1 closed  10     -
    player_1  3 closed          5      4     you
    player_2  2 open, 1 closed  7      9
->  player_3  1 open, 2 closed  ?      -

announced    player_1 4, player_2 9
challenge    player_3 challenged the 9 of player_2; every card lies open, and player_3 chooses a
             Peek card to give
centre       max0
Coyote card  nobody holds it
drawn by ?   3
to move      player_3: discard_open, discard_closed
order        clockwise
pile         11 of 17 cards: -10, -5, 0, 1, 2, 4, 6, 8, 9, 15, 20
discards     none
last reveal  player_2 said 9, player_3 challenged, the cards made 15: player_3 must pay 1 life
pointing     player_0 at player_2 (right), player_1 at player_3 (wrong)"""


@pytest.mark.engine
def test_the_text_to_the_letter():
    env = table("bid_4", "idem", "double", "extra_feather+2", "next_is+3", "bid_15")
    assert env.render_from(0) == DOUBLED
    env.step(env.action_id("again"))
    assert env.render_from(None) == REFUSED
    short: dict[str, Any] = {"num_players": 2, "lives": 1, "draws": ("?", "7", "night", "4")}
    assert table("extra_feather+1", "bid_60", "challenge", **short).render_from(0) == OVER
    assert table("bid_3", edition="mini", draws=("4", "1")).render_from(1) == MINI


@pytest.mark.engine
def test_the_text_of_each_edition_to_the_letter():
    assert table("bid_5", edition="animals", num_players=3, draws=("6", "1", "4")).render_from(2) == ANIMALS
    env = table("bid_4", "peek", edition="peek", num_players=3, draws=("7", "max0", "10", "15"))
    assert env.render_from(2) == PEEKED
    env = table("bid_4", "bid_9", "challenge", edition="trickster", draws=("5", "7", "?", "10", "max0", "3", "2"))
    assert env.render_from(1) == TRICKSTER
    for action in ("point_announcer", "point_challenger"):
        env.step(env.action_id(action))
    assert env.render_from(1) == DISCARD


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


def test_the_centre_card_is_shown_to_who_has_looked_at_it():
    env = table("bid_4", "peek", edition="peek", num_players=3, draws=("7", "max0", "10", "15"))
    for viewer, seen in ((0, "hidden"), (1, "hidden"), (2, "15"), (None, "15")):
        assert line(env.render_from(viewer), "centre") == f"{seen}; player_2 looked at it"
        assert line(env.render_from(viewer), "demanded") == (
            "player_2 has looked at a card in the middle: now it must raise"
        )
    assert line(env.render_from(2), "unseen").startswith("14 cards, player_2's own among them: ")
    assert line(env.render_from(1), "unseen").startswith("15 cards, player_1's own and the centre card among them: ")
    assert "player_2  1 open, 2 closed" in env.render_from(0)
    for action in ("bid_5", "peek"):
        env.step(env.action_id(action))
    assert line(env.render_from(1), "centre") == "hidden; player_0 and player_2 looked at it"
    env.step(env.action_id("bid_6"))
    env.step(env.action_id("challenge"))  # 7 + 10 + 15 and max0: the challenger loses, who has cards of both kinds
    for viewer in (0, 1, 2, None):
        assert line(env.render_from(viewer), "centre") == "15; player_0 and player_2 looked at it"
        assert "hidden" not in env.render_from(viewer)
    env.step(env.action_id("discard_closed"))
    assert line(env.render_from(2), "centre") == "hidden"


def test_the_coyote_card_its_holder_and_what_was_put_down_with_it():
    env = table("bid_1", "challenge", edition="trickster", num_players=2, draws=("9", "8", "7"))
    assert line(env.render_from(0), "Coyote card") == "nobody holds it"
    env.step(env.action_id("discard_open"))
    assert line(env.render_from(0), "Coyote card") == "player_0 holds it"
    env.step(env.action_id("coyote"))
    drawn = env.game.config.faces[env._states[0]["middle"][engine.COYOTE_CARD]]
    for viewer, seen in ((0, drawn), (1, "hidden"), (None, drawn)):
        assert line(env.render_from(viewer), "Coyote card") == (
            f"player_0 holds it; player_0 put its draw beside the centre card: {seen}"
        )
        assert line(env.render_from(viewer), "demanded") == (
            "player_0 has looked at a card in the middle: now it must announce"
        )
    assert "player_1's own, the centre card and the Coyote draw among them" in line(env.render_from(1), "unseen")


def test_pointing_is_hidden_until_the_reveal_and_stays_until_the_next():
    env = table("bid_4", "bid_9", "challenge", edition="trickster", draws=("5", "7", "1", "10", "3"))
    due = "player_3 challenged the 9 of player_2; who is not in it points at who will win, hidden until the reveal"
    env.step(env.action_id("point_challenger"))
    for viewer in range(4):
        assert line(env.render_from(viewer), "pointing") == ""
        assert line(env.render_from(viewer), "challenge") == due
    assert line(env.render_from(None), "pointing") == "player_0 at player_3"
    env.step(env.action_id("point_announcer"))
    judged = "player_0 at player_3 (wrong), player_1 at player_2 (right)"
    for view in (0, 2, None):
        assert line(env.render_from(view), "pointing") == judged
        assert line(env.render_from(view), "last reveal").endswith("the cards made 26: player_3 must pay 1 life")
        assert line(env.render_from(view), "challenge").endswith(
            "; every card lies open, and player_3 chooses a Peek card to give"
        )
    env.step(env.action_id("discard_open"))
    text = env.render_from(2)
    assert (line(text, "challenge"), line(text, "pointing")) == ("", judged)
    assert line(text, "last reveal").endswith("player_3 lost 1 life")


def test_hidden_cards_that_counting_tells_together_are_named_together():
    """Eight cards, four in play: when the Coyote card draws in round 2, the pile is empty and round 1 comes back."""
    env = table("bid_1", "challenge", "point_announcer", "discard_open", "coyote", **EDITIONS["eight-cards"], draws=())
    s = env._states[0]
    faces = env.game.config.faces

    def both(seat: int) -> list[str]:
        return sorted(faces[face] for face in (s["cards"][seat, 0], s["middle"][engine.CENTRE]))

    for seat in range(3):
        told = line(env.render_from(seat), "by counting")
        low, high = both(seat)
        assert told == f"player_{seat}'s own and the centre card must be {low} and {high}, in some order"
        assert line(env.render_from(seat), "centre") == "hidden"
        assert "hidden, must be" not in env.render_from(seat)
    # The drawer knows all; for the others the drawn card is one of those unseen.
    assert line(env.render_from(2), "unseen").startswith("3 cards: ")
    assert line(env.render_from(0), "unseen").startswith("4 cards, the Coyote draw among them: ")
    for action in ("bid_9", "peek"):
        env.step(env.action_id(action))
    own = faces[s["cards"][0, 0]]
    assert f"hidden, must be {own}" in env.render_from(0)
    assert line(env.render_from(0), "by counting") == ""


def test_a_forfeit_settles_nothing_and_the_text_says_so():
    start: dict[str, Any] = {"edition": "trickster", "draws": ("5", "7", "1", "10", "3"), "illegal_action": "forfeit"}
    for kwargs in (start, start | {"game_end": "first_loss"}):
        env = table("bid_4", "bid_9", "challenge", "point_challenger", **kwargs)
        env.step(env.action_id("bid_10"))
        assert line(env.render_from(0), "the end") == "player_1 forfeited by an illegal action"
        assert line(env.render_from(0), "pointing") == "player_0 at player_3"
        env = table("bid_4", "bid_9", "challenge", "point_challenger", "point_announcer", "bid_10", **kwargs)
        assert line(env.render_from(0), "the end") == "player_3 forfeited by an illegal action"
        assert line(env.render_from(0), "last reveal").endswith("player_3 must pay 1 life")


@pytest.mark.parametrize("kwargs", (CONFIGURATIONS | EDITIONS).values(), ids=CONFIGURATIONS | EDITIONS)
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


def hidden_changed(env: Any, seat: int) -> list[str]:
    """Changes in the record what a seat cannot know, one card for another from the pile; says what was changed.

    Cards that counting tells (``old``) stay, but two of them change places.
    """
    s = env._states[0]
    if engine.PHASES[s["phase"]] in ("over", "discard"):
        return []
    changed = []
    told = []
    places = [("own", s["cards"][seat], k, k < s["old"][seat]) for k in range(s["num_cards"][seat])]
    for name, place, seen in (
        ("centre", engine.CENTRE, s["peeked"][seat]),
        ("drawn", engine.COYOTE_CARD, s["coyote_by"] == seat),
    ):
        if s["middle"][place] >= 0 and not seen:
            places.append((name, s["middle"], place, bool(s["middle_old"][place])))
    for name, cards, k, old in places:
        face = int(cards[k])
        others = [f for f in np.flatnonzero(s["pile"]) if f != face]
        if old:
            told.append((cards, k))
        elif others:
            s["pile"][face] += 1
            s["pile"][others[0]] -= 1
            cards[k] = others[0]
            changed.append(name)
    if len(told) > 1:
        (a, j), *_, (b, k) = told
        a[j], b[k] = int(b[k]), int(a[j])
        changed.append("told together")
    if engine.PHASES[s["phase"]] == "pointing":
        for other in np.flatnonzero(s["pointed"]):
            s["pointed"][other] = 3 - s["pointed"][other]
            changed.append("pointing")
    return changed


# What there is to hide; another's pointing takes four seats.
HIDDEN = {
    "gigamic": {"own"},
    "animals": {"own"},
    "peek": {"own", "centre"},
    "trickster": {"own", "centre", "drawn", "pointing"},
    "eight-cards": {"own", "centre", "drawn", "told together"},
}


@pytest.mark.parametrize("name", HIDDEN)
def test_neither_text_nor_picture_tells_a_seat_what_it_cannot_know(name):
    env = coyote_v0.env(**EDITIONS.get(name, {"num_players": 3}))
    changed: set[str] = set()
    pictured: set[str] = set()

    def turns() -> Iterator[int]:
        rng = np.random.default_rng(1)
        for seed in range(3):
            env.reset(seed=seed)
            yield from (turn for turn, _ in enumerate(play(env, rng, 40)))

    for turn in turns():
        for seat in range(env.game.num_seats):
            before, everything = env.render_from(seat), env.render_from(None)
            saved = env._states.copy()
            what = hidden_changed(env, seat)
            assert env.render_from(seat) == before
            assert (env.render_from(None) != everything) == bool(what)
            if set(what) - pictured:  # a picture takes a while
                picture = render.image(env.game, env._states, seat)
                assert (render.image(env.game, env._states, None) != picture).any()
                env._states[:] = saved
                np.testing.assert_array_equal(render.image(env.game, env._states, seat), picture)
                pictured |= set(what)
            changed |= set(what)
            env._states[:] = saved
            if turn % 10 == 0:  # and as the engine itself draws the hidden part anew
                assert env.redeal_hidden(seat, np.random.default_rng(turn)).render_from(seat) == before
    assert changed == HIDDEN[name]


def test_all_but_its_wearer_see_a_card_change():
    env = coyote_v0.env(num_players=3, lives=1)
    env.reset(seed=1)
    before = [env.render_from(viewer) for viewer in (0, 1, 2, None)]
    assert hidden_changed(env, 1) == ["own"]
    after = [env.render_from(viewer) for viewer in (0, 1, 2, None)]
    assert [a == b for a, b in zip(before, after, strict=True)] == [False, True, False, False]


@pytest.mark.parametrize("kwargs", [{}, {"num_players": 10, "lives": 9}, {"edition": "mini"}, *EDITIONS.values()])
def test_the_picture_has_one_shape_and_is_drawn_anew(kwargs):
    env = coyote_v0.env(**kwargs, render_mode="rgb_array")
    env.reset(seed=2)
    first = env.render()
    for _ in play(env, np.random.default_rng(2), 6):
        picture = env.render()
        assert (picture.shape, picture.dtype) == ((SIZE[1], SIZE[0], 3), np.uint8)
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
