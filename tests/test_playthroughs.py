"""Golden playthroughs: every value that the API gives, over whole games, is what it was."""

from __future__ import annotations

import re

import pytest

from coyote_env.coyote.engine import ACTIONS, KINDS, PHASES
from coyote_env.coyote.rules import EDITIONS
from coyote_env.scout import engine as scout
from tests.make_playthroughs import ALL, COMMAND, FOLDER, PLAYTHROUGHS, SCOUT_PLAYTHROUGHS, packed, play

HELP = f"write it with `{COMMAND}`, read the diff, and commit it if every change is meant"


SHORT = (
    "mini_2",
    "gigamic-2011_2",
    "trickster_2",
    "scout_2",
)  # played again with bounds checks and without compilation


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.engine] if name in SHORT else []) for name in ALL]
)
def test_a_game_plays_as_it_did(name):
    path = FOLDER / f"{name}.txt"
    assert path.exists(), f"the playthrough {path.name} is missing: {HELP}"
    golden, now = path.read_text().splitlines(), play(name).splitlines()
    for line, (old, new) in enumerate(zip(golden, now, strict=False), 1):
        assert new == old, f"{path.name}, line {line} has changed: {HELP}"
    assert len(now) == len(golden), f"{path.name} has another length: {HELP}"


@pytest.mark.parametrize("edition", EDITIONS)
def test_no_edition_without_playthroughs(edition):
    seats = {kwargs["num_players"] for kwargs in PLAYTHROUGHS.values() if kwargs["edition"] == edition}
    wanted = {
        "gigamic-2011": {2, 3, 4, 6, 10}, "animals": {2, 4}, "peek": {2, 3, 6}, "trickster": {2, 3, 4}, "mini": {2, 3},
    }  # fmt: skip
    assert edition in wanted, f"say here for which numbers of seats {edition} is to have playthroughs; then {COMMAND}"
    assert seats >= wanted[edition], f"PLAYTHROUGHS lacks {edition} for {wanted[edition] - seats} seats; then {COMMAND}"


def test_no_file_without_an_entry():
    assert {path.name for path in FOLDER.iterdir()} == {f"{name}.txt" for name in ALL}, HELP


def test_together_they_reach_every_kind_of_action_and_phase():
    text = "\n".join((FOLDER / f"{name}.txt").read_text() for name in PLAYTHROUGHS)
    taken = {re.sub(r"[+_]\d+$", "", name) for name in re.findall(r"^  action +(\S+) ", text, re.MULTILINE)}
    assert taken == set(ACTIONS)
    assert set(re.findall(r"^  phase +(\S+)$", text, re.MULTILINE)) == set(PHASES)
    # In the history's rows: one-hot of the seat, then of the kind; here of four seats.
    four = (FOLDER / "gigamic-2011_4.txt").read_text()
    rows = re.findall(r"\[\d+\] [0-3]=1 ([4-7])=1 8=", four)
    assert {int(kind) - 4 for kind in rows} == set(range(len(KINDS)))
    assert re.search(r"^ +reveal_lives +0=1$", text, re.MULTILINE), "nobody lost two lives at once"
    assert re.search(r"^ +deduced +\S", text, re.MULTILINE), "no card was ever told by counting"
    assert re.search(r"^ +deduced +\S+=1 \S+=1", text, re.MULTILINE), "never two cards of which counting told both"
    for section in ("centre", "coyote_card", "pointed"):
        assert re.search(rf"^ +{section} +\S", text, re.MULTILINE), f"nobody ever saw {section}"
    assert re.search(r"discard_\w+ \(\d+\)\n\nState \d+\n.*\n  phase +discard$", text, re.MULTILINE), (
        "nobody ever discarded two Peek cards"
    )


def test_scout_has_one_for_every_number_of_seats():
    assert {kwargs["num_players"] for kwargs in SCOUT_PLAYTHROUGHS.values()} == {2, 3, 4, 5}


def test_those_of_scout_reach_every_kind_of_action_and_phase():
    text = "\n".join((FOLDER / f"{name}.txt").read_text() for name in SCOUT_PLAYTHROUGHS)
    taken = {re.sub(r"(_\d+)+$", "", name) for name in re.findall(r"^  action +(\S+) ", text, re.MULTILINE)}
    scouts = {f"{kind}_{end}_{way}" for kind in ("scout", "scout_show") for end in scout.ENDS for way in scout.WAYS}
    assert taken == {"keep", "flip", "show", "insert"} | scouts
    assert set(re.findall(r"^  phase +(\S+)$", text, re.MULTILINE)) == set(scout.PHASES)


def test_bids_are_packed_into_ranges():
    assert packed(["challenge", "bid_3", "bid_4", "bid_5", "bid_9"]) == "challenge bid_3..5 bid_9"
    assert packed(["bid_1"]) == "bid_1"
    assert packed([]) == "none"
