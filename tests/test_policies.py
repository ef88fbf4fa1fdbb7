"""Policies by name and by path: what loads, what is refused, and what a loaded network answers."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from coyote_env.arena import play_match
from coyote_env.policies import GAMES, CheckpointPolicy, Policy, PolicyError, load_policy, make_game, registry
from coyote_env.policies import checkpoint as checkpoints
from coyote_env.policies.onnx_file import MAX_BATCH
from tests import networks, toy_duel


@pytest.fixture(autouse=True)
def _duel(monkeypatch):
    """The toy game counts as a game, and `duel_v0` is its name."""
    monkeypatch.setitem(GAMES, "duel_v0", registry._Modules("tests.toy_duel", "tests.toy_duel", "longy"))


@pytest.fixture
def folder(tmp_path):
    return networks.write(tmp_path / "policy", toy_duel.game())


def load(*arguments, **options) -> CheckpointPolicy:
    """`load_policy` where it gives a checkpoint."""
    policy = load_policy(*arguments, **options)
    assert isinstance(policy, CheckpointPolicy)
    return policy


def views(game, rows, seed=0):
    """Made-up observations and masks, at least one action legal a row."""
    rng = np.random.default_rng(seed)
    observation = rng.random((rows, game.layout.size), np.float32)
    mask = (rng.random((rows, game.num_actions)) < 0.5).astype(np.int8)
    mask[np.arange(rows), rng.integers(game.num_actions, size=rows)] = 1
    return observation, mask


# --- Names and paths ---


def test_scripted_players_by_name():
    game = make_game("duel_v0", {"num_players": 3})
    policy = load_policy("shorty", game)
    assert isinstance(policy, Policy)
    assert policy.name == "shorty"


def test_unknown_names_list_what_exists(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        ValueError,
        match=r"no policy 'short' \(did you mean 'shorty'\?\): scripted players of duel_v0 are longy, shorty;",
    ):
        load_policy("short", make_game("duel_v0"))
    with pytest.raises(ValueError, match=r"no policy 'nowhere/at_all': scripted players of .*; and there is no folder"):
        load_policy("nowhere/at_all", make_game("duel_v0"))
    with pytest.raises(ValueError, match=r"no game 'tarot_v0'; there are: coyote_v0, duel_v0"):
        make_game("tarot_v0")


def test_a_policy_that_draws_says_what_it_draws_from(folder):
    game = make_game("scout_v0", {"num_players": 2})
    shown, mask = np.zeros((1, game.layout.size), np.float32), np.ones((1, game.num_actions), np.int8)
    with pytest.raises(
        TypeError, match=r"policy 'random' draws its actions: rng must be a numpy.random.Generator, not"
    ):
        load_policy("random", game).act(shown, mask, None)  # type: ignore[arg-type]
    duel = load_policy(folder)
    seen, legal = np.zeros((1, toy_duel.game().layout.size), np.float32), np.ones((1, 3), np.int8)
    with pytest.raises(TypeError, match="draws its actions: rng must be"):
        duel.act(seen, legal, None)  # type: ignore[arg-type]
    load_policy(folder, greedy=True).act(seen, legal, None)  # type: ignore[arg-type]  # draws nothing


def test_a_game_is_a_key_of_a_table_and_nothing_else():
    for name in ("os", "coyote_env.coyote_v0", "../coyote_v0", "", "coyote_v0\0"):
        with pytest.raises(ValueError, match="no game"):
            make_game(name)


def test_a_folder_with_a_scripted_name_is_reached_by_a_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    networks.write(tmp_path / "shorty", toy_duel.game())
    game = make_game("duel_v0")
    assert isinstance(load_policy("shorty", game), toy_duel.Chooser)
    assert isinstance(load_policy("./shorty", game), CheckpointPolicy)
    assert isinstance(load_policy(tmp_path / "shorty", game), CheckpointPolicy)


def test_a_checkpoint_brings_its_game_along(folder):
    policy = load_policy(folder)
    assert isinstance(policy, CheckpointPolicy)
    assert policy.name == str(folder)
    assert policy.manifest.game == "duel_v0"
    assert policy.manifest.kwargs == {"num_players": 2, "long": 40, "edition": "plain"}


def test_a_checkpoint_for_coyote(tmp_path):
    game = make_game("coyote_v0", {"edition": "mini"})
    policy = load_policy(networks.write(tmp_path / "p", game), game)
    result = play_match(game, [policy, policy], 30, 1)
    assert result.decisions > 60
    with pytest.raises(ValueError, match=r"manifest.json: edition = 'mini'; the game to be played has 'gigamic-2011'"):
        load_policy(tmp_path / "p", make_game("coyote_v0"))


@pytest.mark.parametrize("options", [{"greedy": True}, {"temperature": 0.5}])
def test_scripted_players_take_no_options(options):
    with pytest.raises(ValueError, match="'shorty' is a scripted player; greedy and temperature are for checkpoints"):
        load_policy("shorty", make_game("duel_v0"), **options)


@pytest.mark.parametrize("temperature", [0, -1.0, float("nan"), float("inf")])
def test_bad_temperatures_are_refused(folder, temperature):
    with pytest.raises(ValueError, match=r"temperature = .*; allowed: a finite number above 0"):
        load_policy(folder, temperature=temperature)


# --- The wrong game ---


@pytest.mark.parametrize(
    ("field", "stated", "found", "kwargs"),
    [
        ("edition", "'plain'", "'other'", {"edition": "other"}),
        ("num_seats", "2", "3", {"num_players": 3}),
    ],
)
def test_a_policy_for_another_game_is_refused_by_field(folder, field, stated, found, kwargs):
    with pytest.raises(
        ValueError, match=rf"manifest.json: {field} = {stated}; the game to be played has {found} .*long=40"
    ):
        load_policy(folder, make_game("duel_v0", kwargs))


def test_a_policy_for_another_named_game_is_refused(folder):
    with pytest.raises(ValueError, match=r"game = 'duel_v0'; the game to be played is 'coyote_v0'"):
        load_policy(folder, make_game("coyote_v0"))


def test_other_stakes_are_no_other_game(folder):
    """What neither layout nor actions depend on may differ: a policy can be tried elsewhere."""
    assert load(folder, make_game("duel_v0", {"long": 7})).manifest.kwargs["long"] == 40


@pytest.mark.parametrize(
    ("field", "value"), [("num_seats", 3), ("num_actions", 4), ("observation_size", 5), ("layout_hash", "0" * 16)]
)
def test_a_manifest_that_is_wrong_about_its_game_is_refused(tmp_path, field, value):
    networks.write(tmp_path / "p", toy_duel.game(), **{field: value})
    with pytest.raises(ValueError, match=rf"{field} = {value!r}; duel_v0 with its kwargs has "):
        load_policy(tmp_path / "p")


@pytest.mark.parametrize(
    ("kwargs", "named"),
    [
        ({"num_players": 99}, "num_players must be an integer from 2 to 10, not 99"),
        ({"num_players": "/etc/passwd"}, "num_players must be .*, not '/etc/passwd'"),
        ({"nonsense": 1}, "unexpected keyword argument 'nonsense'"),
    ],
)
def test_arguments_go_through_the_games_own_checks(tmp_path, kwargs, named):
    networks.write(tmp_path / "p", toy_duel.game(), kwargs=kwargs)
    with pytest.raises(ValueError, match=rf"manifest.json: .*{named}"):
        load_policy(tmp_path / "p")


# --- Answers ---


def by_hand(model, observation, mask, temperature=1.0):
    """The softmax over legal actions of a linear network, in float64."""
    matrix, bias = (onnx.numpy_helper.to_array(w).astype(np.float64) for w in model.graph.initializer)
    weights = np.exp((observation.astype(np.float64) @ matrix + bias) / temperature) * (mask != 0)
    return weights / weights.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("temperature", [1.0, 0.25, 4.0])
def test_probabilities_are_the_softmax_over_legal_actions(tmp_path, temperature):
    game = toy_duel.game()
    model = networks.network(game.layout.size, game.num_actions, seed=4)
    policy = load(networks.write(tmp_path / "p", game, model), game, temperature=temperature)
    observation, mask = views(game, 50)
    found = policy.probabilities(observation, mask)
    assert found.dtype == np.float64
    assert found == pytest.approx(by_hand(model, observation, mask, temperature), rel=1e-5)
    assert (found[mask == 0] == 0).all()
    assert found.sum(axis=1) == pytest.approx(np.ones(50), abs=1e-15)


def test_actions_come_as_often_as_the_probabilities_say(folder):
    game = toy_duel.game()
    policy = load(folder, game)
    observation, mask = np.full((1, game.layout.size), 0.3, np.float32), np.array([[1, 1, 1]], np.int8)
    rows = 40_000
    actions = policy.act(observation.repeat(rows, 0), mask.repeat(rows, 0), np.random.default_rng(8))
    assert actions.dtype == np.int64
    expected = policy.probabilities(observation, mask)[0]
    assert expected.min() > 0.02
    # Five standard deviations, for each of three actions.
    slack = 5 * np.sqrt(expected * (1 - expected) / rows)
    assert (np.abs(np.bincount(actions, minlength=3) / rows - expected) < slack).all()


def test_one_number_a_row_in_order(tmp_path):
    """The same state of the generator gives the same answers, however the rows are cut into batches."""
    game = toy_duel.game()
    rng = np.random.default_rng(0)
    nodes = [
        helper.make_node("MatMul", ["linear", "wide"], ["x"]),
        helper.make_node("Tanh", ["x"], ["y"]),
        helper.make_node("MatMul", ["y", "narrow"], ["logits"]),
    ]
    weights = [
        networks.constant("wide", rng.normal(size=(3, 200)), np.float32),
        networks.constant("narrow", rng.normal(size=(200, 3)) / 10, np.float32),
    ]
    model = networks.network(game.layout.size, game.num_actions, nodes=nodes, weights=weights)
    policy = load(networks.write(tmp_path / "p", game, model), game)
    observation, mask = views(game, 3 * MAX_BATCH + 5)
    whole = policy.act(observation, mask, np.random.default_rng(1))
    rng = np.random.default_rng(1)
    parts = [policy.act(observation[i : i + 7], mask[i : i + 7], rng) for i in range(0, len(observation), 7)]
    assert (np.concatenate(parts) == whole).all()
    one_by_one = [policy.probabilities(observation[i : i + 1], mask[i : i + 1]) for i in range(100)]
    assert (np.concatenate(one_by_one) == policy.probabilities(observation, mask)[:100]).all()
    used = np.random.default_rng(1)
    used.random(len(observation))
    assert used.random() == rng.random()
    assert (policy.act(observation, mask, np.random.default_rng(2)) != whole).any()
    assert policy.act(observation[:0], mask[:0], rng).shape == (0,)


def test_greedy_takes_the_best_legal_action_and_no_number(tmp_path):
    game = toy_duel.game()
    model = networks.network(game.layout.size, game.num_actions, seed=4)
    policy = load(networks.write(tmp_path / "p", game, model), game, greedy=True)
    observation, mask = views(game, 200)
    rng = np.random.default_rng(0)
    expected = by_hand(model, observation, mask).argmax(axis=1)
    assert (policy.act(observation, mask, rng) == expected).all()
    assert rng.random() == np.random.default_rng(0).random()
    assert (policy.probabilities(observation, mask) == np.eye(3)[expected]).all()


def shifted(game, values, mask_type=TensorProto.INT8):
    """A network whose logits are `values`, whatever it sees."""
    nodes = [
        helper.make_node("Mul", ["linear", "zero"], ["nothing"]),
        helper.make_node("Add", ["nothing", "values"], ["logits"]),
    ]
    weights = [networks.constant("zero", 0.0, np.float32), networks.constant("values", values, np.float32)]
    return networks.network(game.layout.size, game.num_actions, nodes=nodes, weights=weights, mask_type=mask_type)


def test_never_an_illegal_action(tmp_path):
    """The network shouts for illegal ones, with infinity too; legal ones of probability 0 are not drawn either."""
    game = toy_duel.game()
    policy = load_policy(networks.write(tmp_path / "p", game, shifted(game, [np.inf, 3e38, -3e38])), game)
    rows = 1_000
    observation = np.zeros((rows, game.layout.size), np.float32)
    for legal, expected in (([0, 1, 1], 1), ([0, 0, 1], 2)):
        mask = np.tile(np.array(legal, np.int8), (rows, 1))
        assert (policy.act(observation, mask, np.random.default_rng(0)) == expected).all()


def test_sampling_at_the_ends_of_the_unit_interval():
    """Sums of a softmax miss 1 by a little; the last number below 1 must still find an action, and a possible one."""
    rng = np.random.default_rng(3)
    logits = np.where(rng.random((5_000, 8)) < 0.5, rng.normal(size=(5_000, 8)) * 20, -np.inf)
    logits[:, 4] = 0.0
    probabilities = checkpoints.softmax(logits)
    assert (probabilities.cumsum(axis=1)[:, -1] != 1).any()
    for uniform in (0.0, 1 - 2**-53):
        actions = checkpoints.sample(probabilities, np.full(len(probabilities), uniform))
        assert (probabilities[np.arange(len(actions)), actions] > 0).all()


@pytest.mark.parametrize(
    ("values", "mask", "message"),
    [
        ([np.nan, 0, 0], [1, 1, 1], r"row 0: the logit of action 0 is nan"),
        ([np.nan, 0, 0], [0, 1, 1], r"row 0: the logit of action 0 is nan"),
        ([0, 0, np.inf], [1, 1, 1], r"row 0: the logit of action 2 is inf"),
        ([0, -np.inf, -np.inf], [0, 1, 1], r"row 0: all legal logits are -inf"),
    ],
)
@pytest.mark.parametrize("greedy", [False, True])
def test_logits_that_are_no_numbers_are_an_error(tmp_path, values, mask, message, greedy):
    game = toy_duel.game()
    policy = load_policy(networks.write(tmp_path / "bad", game, shifted(game, values)), game, greedy=greedy)
    observation = np.zeros((2, game.layout.size), np.float32)
    with pytest.raises(PolicyError, match=rf"policy '.*bad': {message}"):
        policy.act(observation, np.array([mask] * 2, np.int8), np.random.default_rng(0))


def test_the_row_of_a_nan_is_named(folder):
    game = toy_duel.game()
    observation, mask = views(game, MAX_BATCH + 20)
    observation[MAX_BATCH + 3, 0] = np.nan
    with pytest.raises(PolicyError, match=rf"row {MAX_BATCH + 3}: the logit of action 0 is nan"):
        load_policy(folder, game).act(observation, mask, np.random.default_rng(0))


def test_a_view_without_what_the_policy_was_trained_to_see_is_told_how_to_be_made(tmp_path):
    made = make_game("coyote_v0", {"num_players": 3, "edition": "mini", "odds": True})
    plain = make_game("coyote_v0", {"num_players": 3, "edition": "mini"})
    policy = load_policy(networks.write(tmp_path / "seeing", made), plain)
    mask = np.ones((1, plain.num_actions), np.int8)
    with pytest.raises(
        ValueError, match=rf"needed: \(rows, {made.layout.size}\), what a game made with odds=True shows"
    ):
        policy.act(np.zeros((1, plain.layout.size), np.float32), mask, np.random.default_rng(0))


def test_views_that_do_not_fit_are_refused(folder):
    game = toy_duel.game()
    policy = load_policy(folder, game)
    observation, mask = views(game, 4)
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"observation of shape \(4, 3\); needed: \(rows, 4\)"):
        policy.act(observation[:, :-1], mask, rng)
    with pytest.raises(ValueError, match=r"action_mask of shape \(3, 3\); needed: \(4, 3\)"):
        policy.act(observation, mask[:3], rng)
    mask[2] = 0
    with pytest.raises(ValueError, match=r"row 2 of action_mask has no legal action"):
        policy.act(observation, mask, rng)


@pytest.mark.parametrize("mask_type", [TensorProto.INT8, TensorProto.BOOL, TensorProto.FLOAT, TensorProto.INT64])
def test_a_network_may_use_the_mask_in_any_plain_type(tmp_path, mask_type):
    """It prefers a legal action to the best, by seeing the mask itself."""
    game = toy_duel.game()
    nodes = [
        helper.make_node("Cast", ["action_mask"], ["legal"], to=TensorProto.BOOL),
        helper.make_node("Where", ["legal", "linear", "low"], ["logits"]),
    ]
    low = networks.constant("low", -1e8, np.float32)
    model = networks.network(game.layout.size, 3, nodes=nodes, weights=[low], mask_type=mask_type)
    policy = load(networks.write(tmp_path / "p", game, model), game)
    plain = load(networks.write(tmp_path / "q", game), game)
    observation, mask = views(game, 60)
    assert policy.probabilities(observation, mask) == pytest.approx(plain.probabilities(observation, mask))


# --- Imports ---


def test_importing_needs_numpy_only():
    code = (
        "import sys, coyote_env.policies, coyote_env.arena, coyote_env.cli\n"
        "heavy = 'onnxruntime', 'onnx', 'torch', 'pygame', 'matplotlib'\n"
        "print(*[m for m in heavy if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60)
    assert run.stdout.strip() == ""


def test_without_onnxruntime_the_error_says_what_to_install(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ImportError, match=r"policy.onnx needs onnxruntime to run: pip install 'coyote-env\[arena\]'"):
        load_policy(folder)
