"""The game's page and the generated tables say what the code does."""

from __future__ import annotations

import re

import pytest

from coyote_env import coyote_v0, scout_v0
from coyote_env.coyote import rules as coyote_rules
from coyote_env.coyote.rules import Rules
from coyote_env.policies import scripted_names
from coyote_env.scout import rules as scout_rules
from tests import make_docs
from tests.make_docs import COYOTE_PAGE, ROOT, SCOUT_PAGE, TRAINING_README, updated, with_parts


@pytest.mark.parametrize(
    "path", [COYOTE_PAGE, SCOUT_PAGE, TRAINING_README], ids=lambda path: str(path.relative_to(ROOT))
)
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


def test_the_page_of_scout_knows_every_argument_kind_of_action_section_and_player():
    text = SCOUT_PAGE.read_text(encoding="utf-8")
    game = scout_v0.game(fits=True)
    names = {section.name for section in game.layout.sections} | set(scout_rules.Rules().as_dict())
    names |= {"fits", "illegal_action", "render_mode", *scripted_names("scout_v0")}
    assert {name for name in names if f"`{name}`" not in text} == set()
    assert {make_docs.scout_kind(name) for name in game.action_names} == set(make_docs.SCOUT_ACTIONS)


@pytest.mark.parametrize("page", [COYOTE_PAGE, SCOUT_PAGE], ids=lambda page: page.parent.name)
def test_links_within_a_page_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    anchors = {re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-") for title in titles}
    links = set(re.findall(r"\]\(#([^)]+)\)", text))
    others = set(re.findall(r"\]\(\.\./(\w+/README\.md)#([^)]+)\)", text))
    for other, anchor in others:
        found = re.findall(r"^#+ (.+)$", (page.parent.parent / other).read_text(encoding="utf-8"), re.MULTILINE)
        assert anchor in {re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-") for title in found}
    assert len(links) > 7
    assert links <= anchors


def test_markers_and_parts_must_agree():
    text = "<!-- one: written by `make docs` -->\nold\n<!-- end of one -->\nkept\n"
    assert with_parts(text, {"one": lambda: "new"}) == text.replace("old", "new")
    for parts in ({}, {"two": lambda: ""}, {"one": lambda: "", "two": lambda: ""}):
        with pytest.raises(ValueError, match="one"):
            with_parts(text, parts)
    with pytest.raises(ValueError, match="one"):
        with_parts(text.replace("end of one", "end of another"), {"one": lambda: ""})
