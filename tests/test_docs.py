"""The game's page and the generated tables say what the code does."""

from __future__ import annotations

import re

import numpy as np
import pytest

from coyote_env import coyote_v0
from coyote_env.coyote import engine
from coyote_env.coyote import rules as coyote_rules
from coyote_env.coyote.rules import Rules
from tests import make_docs
from tests.make_docs import COYOTE_PAGE, ROOT, TRAINING_README, longest_game, longest_round, updated, with_parts
from tests.random_play import choose


@pytest.mark.parametrize("path", [COYOTE_PAGE, TRAINING_README], ids=lambda path: str(path.relative_to(ROOT)))
def test_the_document_says_what_the_code_does(path):
    assert path.read_text(encoding="utf-8") == updated(path), f"{path} has drifted: run `make docs` and read the diff"


def test_the_page_knows_every_argument_kind_of_action_deck_and_section():
    text = COYOTE_PAGE.read_text(encoding="utf-8")
    names = {
        *coyote_rules.VARIANTS,
        *coyote_rules.DECKS,
        *coyote_rules.EDITIONS,
        "odds",
        "illegal_action",
        "render_mode",
    }
    everything = coyote_v0.game(edition="trickster", variants="all", odds=True)
    names |= {section.name for section in everything.layout.sections}
    names |= set(Rules().as_dict())
    assert {name for name in names if f"`{name}`" not in text} == set()
    assert {re.sub(r"[+_]\d+$", "", name) for name in everything.action_names} == set(make_docs.ACTIONS)
    assert {kind for kind in make_docs.ACTIONS if f"`{kind}" not in text} == set()
    assert set(make_docs.DECK_SOURCES) == set(coyote_rules.DECKS)


def test_links_within_the_page_lead_somewhere():
    text = COYOTE_PAGE.read_text(encoding="utf-8")
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    anchors = {re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-") for title in titles}
    links = set(re.findall(r"\]\(#([^)]+)\)", text))
    assert len(links) > 8
    assert links <= anchors


def test_markers_and_parts_must_agree():
    text = "<!-- one: written by `make docs` -->\nold\n<!-- end of one -->\nkept\n"
    assert with_parts(text, {"one": lambda: "new"}) == text.replace("old", "new")
    for parts in ({}, {"two": lambda: ""}, {"one": lambda: "", "two": lambda: ""}):
        with pytest.raises(ValueError, match="one"):
            with_parts(text, parts)
    with pytest.raises(ValueError, match="one"):
        with_parts(text.replace("end of one", "end of another"), {"one": lambda: ""})


# --- the longest game


HOUSES = [
    Rules(),
    Rules(num_players=2),
    Rules(num_players=3, variants=("again", "idem")),
    Rules(num_players=3, variants="none"),
    Rules("mini"),
    Rules("mini", num_players=3, variants="all"),
    Rules(num_players=2, deck={"1": 3, "2": 1}, variants="all"),
    Rules(num_players=2, deck={"0": 1, "1": 1}, variants="all"),
    Rules("animals", num_players=3),
    Rules("peek", num_players=3),
    Rules("trickster"),
    Rules("trickster", num_players=3, variants="all"),
    Rules("peek", num_players=2, deck={"1": 3, "2": 1}),
]


def drawn_out_round(rules: Rules) -> int:
    """Decisions of one round in which seats do all to make it long."""
    env = coyote_v0.env(**rules.as_dict())
    env.reset(seed=0, options={"starter": 0})
    decisions = 0
    while True:
        view = env.layout.view
        seen = env.observe(env.agent_selection)["observation"]
        legal = [env.action_name(a) for a in np.flatnonzero(env.observe(env.agent_selection)["action_mask"]).tolist()]
        bids = [name for name in legal if name.startswith("bid_")]
        once = [name for name in legal if name.split("+")[0] in {"peek", *rules.variants} and name != "again"]
        opening = not view(seen, "history").any()
        if "point_announcer" in legal:
            action = "point_announcer"
        elif "again" in legal and view(seen, "bid_before")[0] == 0 and view(seen, "history").any(axis=1).sum() == 1:
            action = "again"  # refuses the opening 2, before anything else
        elif opening and "again" in rules.variants and "bid_2" in bids:
            action = "bid_2"
        elif once:
            action = once[0]
        else:
            action = bids[0] if bids else "challenge"
        env.step(env.action_id(action))
        decisions += 1
        phase = engine.PHASES[int(view(env.observe(env.possible_agents[0])["observation"], "phase").argmax())]
        if action in ("challenge", "point_announcer") and phase != "pointing":
            return decisions


@pytest.mark.parametrize("rules", HOUSES)
def test_the_longest_round_is_reached(rules):
    assert drawn_out_round(rules) == longest_round(rules, rules.num_players)


def test_no_game_is_longer_than_the_longest():
    assert longest_game(Rules()) == 1237
    assert longest_game(Rules("mini")) == longest_round(Rules("mini"), 2) == 8
    # One life each, two seats: one round is the game.
    assert longest_game(Rules(num_players=2, lives=1)) == longest_round(Rules(num_players=2), 2)
    # With 3 seats a round has 62 numbers, a challenge, 3 peeks and a pointing, and in the 6 rounds that leave their
    # loser a life also a discard, and the Coyote card in the next one; with 2 seats 54 numbers, a challenge, 2 peeks.
    assert longest_game(Rules("trickster", num_players=3)) == 6 * (67 + 2) + 67 + 57
    rng = np.random.default_rng(0)
    for rules in (
        Rules("mini", lives=3, game_end="last_standing", variants="all"),
        Rules(num_players=2, lives=1),
        Rules("trickster", num_players=3, deck={"0": 5, "1": 1, "2": 1}),
        Rules("peek", num_players=3, deck={"0": 5, "1": 1}, lives=3, variants=["double"], game_end="first_loss"),
    ):
        batch = coyote_v0.batch(64, **rules.as_dict())
        batch.reset(seed=0)
        length, longest = np.zeros(64, np.int64), 0
        for _ in range(400):
            batch.step(choose(batch, rng, 1))
            length += 1
            longest = max(longest, int(length[batch.done].max(initial=0)))
            length[batch.done] = 0
        assert longest_game(rules) / 4 < longest <= longest_game(rules)
