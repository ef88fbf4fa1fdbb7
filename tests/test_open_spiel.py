"""COYOTE as an OpenSpiel game: OpenSpiel's tests, what a seat knows, agreement with `env`, and equilibria."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

from coyote_env import coyote_v0
from coyote_env.cli import main
from coyote_env.coyote.rules import Rules
from tests.make_docs import COYOTE_PAGE

# `pip install -e '.[test]'` brings it; whoever tests without that extra still runs everything else.
pyspiel = pytest.importorskip("pyspiel", reason="OpenSpiel is not installed: pip install 'coyote-env[equilibrium]'")

from coyote_env.integrations import open_spiel  # noqa: E402  # it raises where pyspiel is missing
from coyote_env.integrations.equilibrium import exact_value, load, solve  # noqa: E402

LAST = {"game_end": "last_standing"}
PEEK = {"peek": "yes", "lives": 2}
TRICKSTER = {"trickster": "yes"}
# Small enough for every state to be looked at.
WHOLE: dict[str, dict[str, Any]] = {
    "mini": {},
    "coins": {"deck": "0 1", "lives": 2, **LAST},
    "three": {"num_players": 3, "deck": "0*2 1 -1", **LAST},
    "variants": {"deck": "0*2 1", "variants": "all"},
    "again": {"deck": "1*2 2", "variants": "again+idem"},
    "draws": {"deck": "? max0 1 2"},
    "three-feathers": {"num_players": 3, "deck": "0*3 1", "variants": "extra_feather+next_is+double"},
    "counting": {"deck": "0*3 1*2", "lives": 2, "reshuffle": "when_needed", **LAST},
    "peek": {"deck": "0 1 2", **PEEK, "closed_peeks": 0},
    "pointing": {"num_players": 3, "deck": "0*3 1", **PEEK, **TRICKSTER, "closed_peeks": 1},
    "coyote-card": {"deck": "0*3 1", **PEEK, **TRICKSTER, "closed_peeks": 1, **LAST},
}
# Too large for that, small enough for random games to come to equal knowledge by different ways. And what has to come
# up in these games, or they show nothing.
PARTS: dict[str, dict[str, Any]] = {
    "several-rounds": {"deck": "0*2 1*2", **PEEK, "closed_peeks": 0, **LAST},
    "all-of-it": {"num_players": 3, "deck": "0*3 1*2", **PEEK, **TRICKSTER, "closed_peeks": 1, **LAST},
}
MET = {
    "peek": "peek discard_open",
    "pointing": "point_announcer discard_closed",
    "coyote-card": "coyote discard_open",
    "several-rounds": "peek discard_closed",
    "all-of-it": "peek coyote point_challenger discard_open",
}
# Any size: only played at random.
LARGE: dict[str, dict[str, Any]] = {
    "default": {"edition": "gigamic-2011"},
    "round": {"edition": "gigamic-2011", "num_players": 3, "lives": 2, "reward": "round"},
    "placement": {"edition": "gigamic-2011", "lives": 1, "deck": "classic-36", "reward": "placement"},
    "mini-variants": {"num_players": 3, "lives": 2, "variants": "all", "starter": "after_loser", **LAST},
    "peek-edition": {"edition": "peek", "num_players": 3},
    "trickster-edition": {"edition": "trickster", "variants": "all", "lives": 2, "reward": "round"},
}
ALL = WHOLE | PARTS | LARGE


def table(parameters: dict[str, Any]) -> Any:
    return pyspiel.load_game(open_spiel.NAME, parameters)


def random_state(game: Any, rng: np.random.Generator) -> Any:
    """The end of a game of random play, with numbers that rise slowly."""
    state = game.new_initial_state()
    while not state.is_terminal():
        if state.is_chance_node():
            outcomes, probabilities = zip(*state.chance_outcomes(), strict=True)
            action = rng.choice(outcomes, p=probabilities)
        else:
            action = rng.choice(state.legal_actions()[:8])
        state.apply_action(int(action))
    return state


@pytest.mark.parametrize("parameters", ALL.values(), ids=ALL)
def test_openspiels_own_test_passes(parameters):
    game = table(parameters)
    large = game.get_parameters()["edition"] != "mini"
    # Serialized and read again at every step, which takes the square of a game's length.
    pyspiel.random_sim_test(game, num_sims=1 if large else 5, serialize=not large, verbose=False)


# --- what a seat knows


def all_states(game: Any) -> Any:
    """(state, what each seat has known and done at its own decisions) of every node."""
    todo = [(game.new_initial_state(), ((),) * game.num_players())]
    while todo:
        state, own = todo.pop()
        yield state, own
        if state.is_terminal():
            continue
        seat = state.current_player()
        for action in state.legal_actions():
            now = own
            if seat >= 0:
                done = (*own[seat], (state.information_state_string(seat), action))
                now = (*own[:seat], done, *own[seat + 1 :])
            todo.append((state.child(action), now))


def some_states(game: Any, games: int) -> Any:
    """The same of the nodes of random games; numbers rise slowly."""
    rng = np.random.default_rng(0)
    for _ in range(games):
        state, own = game.new_initial_state(), ((),) * game.num_players()
        yield state, own
        while not state.is_terminal():
            seat, action = state.current_player(), int(rng.choice(state.legal_actions()[:8]))
            if seat >= 0:
                done = (*own[seat], (state.information_state_string(seat), action))
                own = (*own[:seat], done, *own[seat + 1 :])
            state = state.child(action)
            yield state, own


@pytest.mark.parametrize("name", [*WHOLE, *PARTS])
def test_equal_knowledge_is_equal_past_and_equal_sight(name):
    """Perfect recall; and nothing that the engine shows a seat is missing from its information state."""
    game = table({"first_seat": 0} | (WHOLE | PARTS)[name])
    pasts: dict[str, Any] = {}
    sights: dict[str, bytes] = {}
    texts: dict[bytes, str] = {}
    again = 0
    met = set()
    for state, own in all_states(game) if name in WHOLE else some_states(game, 80):
        if state.is_chance_node():
            continue
        position = state.position
        for seat in range(game.num_players()):
            text = state.information_state_string(seat)
            # A seat that is not to move may not tell apart what happened before and after an unseen event; one that is
            # must know its whole past. What it sees is the same in either case.
            if seat == state.current_player():
                again += text in pasts
                met |= {game.coyote.action_names[action] for action in state.legal_actions()}
                assert pasts.setdefault(text, own[seat]) == own[seat]
                tensor = np.asarray(state.information_state_tensor(seat), np.float32).tobytes()
                assert texts.setdefault(tensor, text) == text
            sight = position.table.observe(position.record, seat).tobytes()
            assert sights.setdefault(text, sight) == sight, text
    assert len(set(texts.values())) == len(texts) == len(pasts)
    if name in MET:
        assert set(MET[name].split()) <= met
        assert again > 0  # else nothing has been compared


def test_information_states_of_mini_are_counted_by_hand():
    """Each seat sees one of four cards and one of 2 ** 7 rising sequences of numbers, of even length if it starts."""
    game = table({"first_seat": 0})
    known = {s.information_state_string() for s, _ in all_states(game) if s.current_player() >= 0}
    assert len(known) == 4 * 2**7


@pytest.mark.parametrize("parameters", WHOLE.values(), ids=WHOLE)
def test_own_cards_are_hidden_until_the_reveal(parameters):
    """Of all deals that differ only in a seat's own card, its information states are one."""
    game = table({"first_seat": 0} | parameters)
    knowledge: dict[tuple[int, tuple[str, ...]], set[str]] = {}
    dealt = []
    todo = [game.new_initial_state()]
    while todo:
        state = todo.pop()
        if state.is_chance_node():
            todo += [state.child(outcome) for outcome, _ in state.chance_outcomes()]
        else:
            dealt.append(state)
    for state in dealt:
        record = state.position.record[0]
        for seat in range(game.num_players()):
            others = tuple(str(record["cards"][k, 0]) for k in range(game.num_players()) if k != seat)
            knowledge.setdefault((seat, others), set()).add(state.information_state_string(seat))
    assert all(len(texts) == 1 for texts in knowledge.values())
    assert len({text for texts in knowledge.values() for text in texts}) == len(knowledge)


def played(game: Any, script: str) -> Any:
    """The state after actions and faces, by name."""
    state = game.new_initial_state()
    for what in script.split():
        if state.is_chance_node():
            state.apply_action(game.coyote.outcomes.index(what))
        else:
            state.apply_action(game.coyote.action_id[what])
    return state


# Four seats; 1 2 3 4 are worn, 5 lies in the centre. Scripts that differ in what one seat has done or seen alone.
ALONE = [
    # E: pointing is hidden until the reveal, which comes when seat 3 has pointed too.
    ("bid_1 challenge", ("point_announcer", "point_challenger"), "", 2, "point_announcer"),
    # E: seat 1, the first round's loser, puts down a card that it alone has seen.
    (
        "bid_1 challenge point_announcer point_announcer discard_open 1 2 3 4 5 coyote",
        ("6", "7"),
        "bid_1",
        1,
        "challenge point_announcer point_announcer",
    ),
]


@pytest.mark.parametrize(("start", "either", "then", "knows", "reveal"), ALONE, ids=["pointing", "coyote-card"])
def test_what_one_seat_alone_knows_is_in_no_other_information_state_before_the_reveal(
    start, either, then, knows, reveal
):
    game = table({"edition": "trickster", "deck": "1 2 3 4 5 6 7", "first_seat": 0})
    scripts = [f"1 2 3 4 5 {start} {what} {then}" for what in either]
    for end, knowing in (("", {knows}), (reveal, {0, 1, 2, 3})):
        one, other = (played(game, f"{script} {end}") for script in scripts)
        for seat in range(4):
            same = seat not in knowing
            assert (one.information_state_string(seat) == other.information_state_string(seat)) == same
            assert (one.information_state_tensor(seat) == other.information_state_tensor(seat)) == same
            # An observation shows pointing after the reveal alone, the own one too.
            assert one.observation_tensor(seat) == other.observation_tensor(seat) or not same


def test_a_peek_is_seen_by_all_and_the_centre_card_by_who_peeked():
    """D: who has peeked tells the two deals apart, the other seat does not."""
    game = table({"deck": "1 2 3 4", **PEEK, "lives": 3, "first_seat": 0, **LAST})
    one, other = (played(game, f"1 2 {centre} bid_1 peek") for centre in "34")
    assert one.information_state_string(0) == other.information_state_string(0)
    assert one.information_state_string(1) != other.information_state_string(1)
    assert one.information_state_tensor(1) != other.information_state_tensor(1)
    assert "p1 peek" in one.information_state_string(0)


def test_an_information_state_reads_as_documented():
    game = table({"num_players": 3, "lives": 2, "first_seat": 2, **LAST})
    state = game.new_initial_state()
    for what in ("draw 1", "draw 2", "draw 4", "bid_3", "bid_5", "challenge", "draw 3", "draw 4", "draw 1"):
        player = state.current_player()
        names = {state.action_to_string(player, action): action for action in state.legal_actions()}
        state.apply_action(names[what])
    assert state.information_state_string(0) == (
        "p0 | r1 p2 starts; sees p1:4 p2:1 | p2 bid_3 p0 bid_5 p1 challenge "
        "| reveal p0:2 p1:4 p2:1, 7; p1 loses 1 | r2 p1 starts; sees p1:3 p2:4 |"
    )
    assert state.information_state_string(0).partition("r2 ")[0] in (open_spiel.__doc__ or "")
    assert state.current_player() == 1


def test_clones_and_their_originals_go_separate_ways():
    state = table({}).new_initial_state()
    state.apply_action(0)
    twin = state.clone()
    twin.apply_action(2)
    assert state.history() == [0]
    assert [outcome for outcome, _ in state.chance_outcomes()] == [0, 1, 2, 3]
    assert twin.chance_outcomes() == [(face, pytest.approx(1 / 3)) for face in (0, 1, 3)]


# --- agreement with env


@pytest.mark.parametrize("parameters", ALL.values(), ids=ALL)
def test_it_plays_as_env_does(parameters):
    game = table(parameters)
    names = game.coyote.action_names
    for seed in range(3):
        end = random_state(game, np.random.default_rng(seed))
        state = game.new_initial_state()
        history = end.full_history()
        starter = history[0].action
        faces = [game.coyote.outcomes[pair.action] for pair in history[1:] if pair.player < 0]
        env = coyote_v0.env(**game.coyote.config.as_dict())
        env.reset(seed=7, options={"starter": starter, "draws": faces})
        returns = np.zeros(game.num_players())
        for pair in history:
            if pair.player >= 0:
                seat = env.possible_agents.index(env.agent_selection)
                assert state.current_player() == seat
                assert state.legal_actions() == np.flatnonzero(env.infos[env.agent_selection]["action_mask"]).tolist()
                for k, agent in enumerate(env.possible_agents):
                    seen = env.observe(agent)["observation"]
                    np.testing.assert_array_equal(state.observation_tensor(k), seen)
                assert state.action_to_string(seat, pair.action) == names[pair.action]
                env.step(pair.action)
                returns += list(env.rewards.values())
            state.apply_action(pair.action)
        assert all(env.terminations.values())
        assert state.is_terminal()
        np.testing.assert_allclose(state.returns(), returns, atol=1e-12)


def test_chance_is_what_the_pile_holds():
    state = table({"deck": "1*3 2*2 5", "first_seat": 1}).new_initial_state()
    assert state.chance_outcomes() == [(0, 3 / 6), (1, 2 / 6), (2, 1 / 6)]
    state.apply_action(0)
    assert state.chance_outcomes() == [(0, 2 / 5), (1, 2 / 5), (2, 1 / 5)]
    assert table({"num_players": 3}).new_initial_state().chance_outcomes() == [(seat, 1 / 3) for seat in range(3)]


# --- parameters


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"lives": -1}, "lives must be an integer from 1 to 9, not -1"),
        ({"num_players": -1}, "num_players must be"),
        ({"deck": [1, 2]}, "deck must be"),
        ({"variants": [1]}, "variants: 1 is unknown"),
        ({"deck": "1*2 1*3"}, "given twice"),
    ],
)
def test_rules_that_make_no_sense_are_refused_by_name(rules, message):
    with pytest.raises(ValueError, match=message):
        load(**rules)


def test_a_game_that_is_too_large_is_refused():
    with pytest.raises(ValueError, match="more than 1,000 nodes"):
        solve(load(), max_nodes=1_000)


def test_every_rule_can_be_chosen():
    rules = Rules(
        "gigamic-2011", num_players=3, deck={"7": 2, "-3": 1, "?": 1, "x2": 1}, lives=2, variants=("double", "again"),
        reshuffle="every_round", starter="after_loser", starter_if_out="left", game_end="first_loss", reward="round",
    )  # fmt: skip
    game = load(first_seat=1, **rules.as_dict())
    assert game.coyote.config == rules
    assert set(open_spiel.PARAMETERS) == {*rules.as_dict(), "first_seat"}
    again = pyspiel.load_game(str(game))  # the text form of a game keeps everything
    assert again.coyote.config == rules
    assert again.table.first_seat == 1
    assert load(deck='{"1": 2, "2": 1}').coyote.config == Rules("mini", deck={"1": 2, "2": 1})
    assert load(edition="gigamic-2011", variants=[]).coyote.config.variants == ()


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"edition": "maxi"}, "edition must be one of"),
        ({"deck": "1*2 frog"}, "deck must be one of"),
        ({"deck": "1"}, "deck has 1 cards"),
        ({"lives": 10}, "lives must be"),
        ({"variants": "idem+undo"}, "'undo'"),
        ({"first_seat": 2}, "first_seat must be a seat from 0 to 1"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(parameters, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        table(parameters)


def test_observers_say_what_they_do_not_offer():
    game = table({})
    with pytest.raises(ValueError, match="no parameters"):
        game.make_py_observer(None, {"x": 1})
    with pytest.raises(ValueError, match="one seat"):
        game.make_py_observer(pyspiel.IIGObservationType(True, True, pyspiel.PrivateInfoType.ALL_PLAYERS))
    observer = game.make_py_observer()
    state = random_state(game, np.random.default_rng(0))
    observer.set_from(state, 1)
    assert list(observer.dict) == [section.name for section in game.coyote.layout.sections]
    assert observer.dict["reveal_known"] == 1
    assert "reveal_known=1" in observer.string_from(state, 1)


# --- equilibria

# Value of the game for the seat that starts, by `coyote solve --first-seat 0 --set ...` (linear programming).
VALUES: list[tuple[dict[str, Any], float]] = [
    ({}, 0.0),
    ({"deck": {"1": 1, "2": 1, "3": 1}}, 1 / 3),
    ({"deck": {"1": 2, "2": 1}, "lives": 2, **LAST}, 5 / 27),
]


@pytest.mark.parametrize(("rules", "value"), VALUES[:2], ids=str)
def test_values_of_small_games(rules, value):
    assert exact_value(load(first_seat=0, **rules)) == pytest.approx(value, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rules", "value"),
    [VALUES[2], ({"variants": ["idem"]}, 0.0), ({"deck": {str(k): 1 for k in range(1, 6)}}, 1 / 30)],
    ids=str,
)
def test_values_of_larger_games(rules, value):
    assert exact_value(load(first_seat=0, **rules)) == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize(
    ("rules", "value"), [VALUES[1], pytest.param(*VALUES[2], marks=pytest.mark.slow)], ids=["1-2-3", "two-lives"]
)
def test_cfr_finds_the_value_that_the_linear_program_finds(rules, value):
    solution = solve(load(first_seat=0, **rules), target=1e-3)
    assert solution.nash_conv < 1e-3
    assert sum(solution.values) == pytest.approx(0)
    assert abs(solution.values[0] - value) <= solution.nash_conv


def test_cfr_solves_mini():
    game = load(first_seat=0)
    solution = solve(game, target=1e-3)
    assert solution.nash_conv < 1e-3
    assert abs(solution.values[0]) <= solution.nash_conv  # the value is 0: starting is no advantage
    assert len(solution.policy) == 512
    # What needs no proof: a number that cannot hold is challenged, one that must hold is raised.
    sees = "p1 | r1 p0 starts; sees p0:{} | p0 bid_{}"
    assert solution.policy[sees.format(3, 7)]["challenge"] > 0.99
    assert solution.policy[sees.format(1, 6)]["challenge"] > 0.99
    assert solution.policy[sees.format(4, 5)]["challenge"] < 0.01
    # The page's table says it in percent.
    page = COYOTE_PAGE.read_text(encoding="utf-8").partition("| sees | 1 |")[2]
    rows = re.findall(r"^\| ([1-4]) \|(.*)\| (\d) \|$", page, re.MULTILINE)
    assert [row[0] for row in rows] == ["1", "2", "3", "4"]
    for card, cells, challenged in rows:
        opening = solution.policy[f"p0 | r1 p0 starts; sees p1:{card} |"]
        shown = [float(cell.strip().removesuffix("%") or 0) / 100 for cell in cells.split("|")]
        assert shown == pytest.approx([opening[f"bid_{number}"] for number in range(1, 8)], abs=0.01)
        for number in range(1, 8):
            likely = solution.policy[sees.format(card, number)].get("challenge", 0.0)
            assert (likely > 0.5) == (number >= int(challenged))


@pytest.mark.slow
def test_openspiels_python_best_response_agrees_on_the_game_as_it_is():
    """The C++ solver worked on OpenSpiel's copy of the tree; here the game itself is asked."""
    from open_spiel.python import policy as policies
    from open_spiel.python.algorithms import exploitability

    game = load(first_seat=0)
    solution = solve(game, target=1e-3)
    tabular = policies.TabularPolicy(game)
    assert len(tabular.states) == len(solution.policy)
    for text, row in tabular.state_lookup.items():
        tabular.action_probability_array[row] = [
            solution.policy[text].get(name, 0.0) for name in game.coyote.action_names
        ]
    assert exploitability.nash_conv(game, tabular) == pytest.approx(solution.nash_conv, abs=1e-6)


@pytest.mark.slow
def test_three_seats_of_mini_come_as_near_though_nothing_guarantees_it():
    solution = solve(load(num_players=3, first_seat=0), target=1e-3, max_iterations=400)
    assert solution.nash_conv < 1e-3
    assert sum(solution.values) == pytest.approx(0, abs=1e-9)


def test_a_tree_that_is_too_large_is_refused():
    with pytest.raises(ValueError, match="more than 1,000 nodes"):
        solve(load(), max_nodes=1_000)
    with pytest.raises(ValueError, match="max_iterations"):
        solve(load(), max_iterations=0)
    with pytest.raises(ValueError, match="no value"):
        exact_value(load(num_players=3))


def test_the_command_prints_the_value_and_writes_the_policy(tmp_path, capsys):
    file = tmp_path / "policy.json"
    command = ["solve", "--first-seat", "0", "--set", 'deck={"1":1,"2":1,"3":1}', "--json", str(file)]
    assert main(command) == 0
    out = capsys.readouterr().out
    assert re.search(r"^NashConv 0\.000\d+$", out, re.MULTILINE)
    assert "value for seat 0  +0.333333333, by linear programming" in out
    policy = json.loads(file.read_text())
    assert all(sum(choices.values()) == pytest.approx(1) for choices in policy.values())
    assert main(command) == 2
    assert "exists already" in capsys.readouterr().err
    assert main(["solve", "--set", "lives=0"]) == 2
    assert "lives must be an integer" in capsys.readouterr().err
