"""Ratings say what they should, whatever the order of the games; leagues resume, and policies join."""

from __future__ import annotations

import itertools
import json

import choix
import numpy as np
import pytest

from coyote_env.arena import MatchStopped, league
from coyote_env.arena.league import entrants_of, lineups_of, play_league
from coyote_env.arena.play import play_games
from coyote_env.arena.ratings import PRIOR, ahead, alpha_rank, lottery, orders_of, plackett_luce, rate
from coyote_env.cli import main
from coyote_env.core.record import parse
from coyote_env.policies import GAMES, registry
from tests import networks, toy_duel
from tests.toy_duel import Chooser


@pytest.fixture(autouse=True)
def _duel(monkeypatch):
    monkeypatch.setitem(GAMES, "duel_v0", registry._Modules("tests.toy_duel", "tests.toy_duel", "longy"))
    scripted = {f"half{k}": (lambda game, k=k: Chooser(f"half{k}", 0.4 + 0.1 * k)) for k in range(4)}
    for name, make in scripted.items():
        monkeypatch.setitem(toy_duel.SCRIPTED, name, make)
    monkeypatch.setitem(toy_duel.SCRIPTED, "random", lambda game: Chooser("random", 0.0))


def simulated(strengths, games, seats, seed):
    """Finishing orders drawn from the Plackett-Luce model: seated players, their places, deals."""
    rng = np.random.default_rng(seed)
    seated = np.array([rng.choice(len(strengths), seats, replace=False) for _ in range(games)])
    noisy = np.asarray(strengths)[seated] + rng.gumbel(size=seated.shape)
    places = 1 + np.argsort(np.argsort(-noisy, axis=1), axis=1).astype(float)
    return seated, places, np.arange(games)


def test_the_same_maximum_as_choix():
    seated, places, deals = simulated([0.0, 0.5, 1.0, 2.0, -1.0], 300, 4, 1)
    found = plackett_luce(orders_of(seated, places, deals, 5))
    best_first = np.take_along_axis(seated, np.argsort(places, axis=1), axis=1)
    expected = choix.opt_rankings(5, best_first.tolist(), alpha=PRIOR, tol=1e-10)
    assert found == pytest.approx(expected - expected.mean(), abs=1e-5)


def test_ratings_do_not_move_with_the_order_of_the_games():
    seated, places, deals = simulated([0.0, 0.5, 1.0, 2.0], 200, 3, 2)
    places[::7] = 2.0  # ties too
    orders = orders_of(seated, places, deals, 4)
    for seed in range(3):
        mixed = np.random.default_rng(seed).permutation(200)
        again = orders_of(seated[mixed], places[mixed], deals[mixed], 4)
        assert (again.kinds == orders.kinds).all()
        assert (plackett_luce(again) == plackett_luce(orders)).all()
        assert (ahead(again) == ahead(orders)).all()


def test_bootstrap_intervals_cover_at_the_stated_rate():
    """60 simulated leagues of 150 games: the 95% intervals of two free players hold the truth in most of 120 cases."""
    strengths = np.array([0.0, 1.0, 1.6, 0.4])
    truth = 1000 * strengths
    hits = 0
    for seed in range(60):
        seated, places, deals = simulated(strengths, 150, 3, seed)
        orders = orders_of(seated, places, deals, 4)
        found = rate(orders, 0, 1, seed, samples=80)
        assert found.rating[0] == found.low[0] == found.high[0] == 0
        assert found.rating[1] == pytest.approx(1000)
        hits += sum(found.low[i] <= truth[i] <= found.high[i] for i in (2, 3))
    assert 105 <= hits <= 120


def test_ties_count_as_orders_in_turn():
    seated, places = np.array([[0, 1, 2]]), np.array([[1.0, 2.5, 2.5]])
    orders = orders_of(seated, places, np.zeros(1, int), 3)
    assert orders.kinds.tolist() == [[0, 1, 2], [0, 2, 1]]
    assert orders.weights().tolist() == [0.5, 0.5]
    assert ahead(orders)[1, 2] == 0.5
    assert ahead(orders)[0].tolist() == [0.5, 1, 1]


def test_a_cycle_is_seen_as_one():
    """Rock, paper, scissors, and one that loses to all: ratings see no difference, the lottery mixes three."""
    matrix = np.full((4, 4), 0.5)
    for a, b in ((0, 1), (1, 2), (2, 0)):
        matrix[a, b], matrix[b, a] = 0.9, 0.1
    matrix[:3, 3], matrix[3, :3] = 0.8, 0.2
    assert lottery(matrix) == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0], abs=1e-6)
    assert alpha_rank(matrix) == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0], abs=1e-3)
    matrix[0, 2], matrix[2, 0] = 0.6, 0.4
    assert lottery(matrix) == pytest.approx([1, 0, 0, 0], abs=1e-6)


def test_line_ups():
    game = toy_duel.game(num_players=3)
    five = entrants_of(["half0", "half1", "half2"], game, "half3")
    assert [e.name for e in five] == ["half0", "half1", "half2", "half3", "random"]
    assert lineups_of(five, 3, None) == list(itertools.combinations(range(5), 3))
    assert lineups_of(five[:2], 3, None) == [(0, 0, 1), (0, 1, 1)]
    few = lineups_of(five, 3, 2)
    assert len(few) < 10
    assert all(sum(i in c for c in few) >= 2 for i in range(5))


def test_a_league_resumes_and_a_new_policy_plays_only_its_own_games(tmp_path, monkeypatch):
    game = toy_duel.game(num_players=2, long=3)
    played = []
    real = play_games

    def counted(game, policies, *rest, **more):
        played.append(tuple(p.name for p in policies))
        if len(played) == stop:
            raise KeyboardInterrupt
        return real(game, policies, *rest, **more)

    monkeypatch.setattr(league, "play_games", counted)
    stop = 2
    few = entrants_of(["half0"], game, "half3")
    with pytest.raises(KeyboardInterrupt):
        play_league(game, few, tmp_path / "a", 40, 1, anchor="half3")
    stop = -1
    first = play_league(game, few, tmp_path / "a", 40, 1, anchor="half3")
    assert len(played) == 2 + 2  # the one that was interrupted is played again, the first is not
    played.clear()
    more = play_league(game, entrants_of(["half2", "half0"], game, "half3"), tmp_path / "a", 40, 1, anchor="half3")
    assert sorted(played) == [("half0", "half2"), ("half2", "half3"), ("half2", "random")]
    whole = play_league(game, entrants_of(["half0", "half2"], game, "half3"), tmp_path / "b", 40, 1, anchor="half3")
    assert whole.as_dict() == more.as_dict()
    assert first.names == ("half0", "half3", "random")
    assert more.total_games == 6 * 40


def test_a_folder_of_another_league_is_refused_by_field(tmp_path):
    game = toy_duel.game(num_players=2, long=3)
    entrants = entrants_of([], game, "half3")
    play_league(game, entrants, tmp_path, 10, 1, anchor="half3")
    with pytest.raises(ValueError, match="seed = 1; this league has 2"):
        play_league(game, entrants, tmp_path, 10, 2, anchor="half3")
    with pytest.raises(ValueError, match="games = 10; this league has 20"):
        play_league(game, entrants, tmp_path, 20, 1, anchor="half3")
    other = tmp_path / "other"
    other.mkdir()
    (other / "thing").touch()
    with pytest.raises(ValueError, match=r"there is no settings\.json, so that it is no league"):
        play_league(game, entrants, other, 10, 1, anchor="half3")


def test_a_changed_network_is_another_policy(tmp_path):
    game = toy_duel.game(num_players=2)
    folder = tmp_path / "nets"
    keys = set()
    for seed in (0, 1):
        networks.write(folder, game, networks.network(game.layout.size, 3, seed=seed))
        keys |= {e.key for e in entrants_of([str(folder)], game, "half3") if e.name == "nets"}
    assert len(keys) == 2


def test_the_command_writes_a_table_and_a_picture(tmp_path, capsys):
    pool = tmp_path / "pool"
    pool.mkdir()
    game = toy_duel.game(num_players=3, long=3)
    for name in ("one", "two"):
        networks.write(pool / name, game)
    out = tmp_path / "league"
    command = ["league", str(pool), "--out", str(out), "--anchor", "half3", "--game", "duel_v0", "--games", "30"]
    command += ["--set", "num_players=3", "--set", "long=3", "--threads", "1"]
    assert main(command) == 0
    first = capsys.readouterr().out
    assert "| half3 | 1000 | 1000 to 1000 |" in first
    assert (out / "league.md").read_text() == first
    data = json.loads((out / "league.json").read_text())
    assert {p["name"] for p in data["policies"]} == {"one", "two", "half3", "random"}
    assert (out / "heatmap.png").read_bytes().startswith(b"\x89PNG")
    assert main(command) == 0
    assert capsys.readouterr().out == first
    assert main([*command[:2], "--out", str(tmp_path / "x"), "--anchor", "nobody", *command[6:]]) == 2
    assert "no policy 'nobody'" in capsys.readouterr().err


def test_a_policy_that_fails_stops_the_league_and_keeps_what_is_finished(tmp_path, monkeypatch):
    game = toy_duel.game(num_players=2, long=3)
    entrants = entrants_of(["half0"], game, "half3")

    def fails(observation, action_mask, rng):
        return 1 // 0

    bad = [e._replace(policy=fails) if e.name == "random" else e for e in entrants]
    with pytest.raises(MatchStopped, match="raised ZeroDivisionError"):
        play_league(game, bad, tmp_path, 20, 1, anchor="half3")
    assert len([p for p in tmp_path.iterdir() if p.name != "settings.json"]) == 1
    found = play_league(game, bad, tmp_path, 20, 1, anchor="half3", on_error="forfeit")
    assert found.share[[e.name for e in bad].index("random")] == 0
    table = found.markdown()
    assert "random lost 40 games by no legal answer." in table
    data = [json.loads(p.read_text()) for p in tmp_path.glob("*.json") if p.name != "settings.json"]
    told = [first for line_up in data for first in line_up["first_faults"]]
    assert {first["policy"] for first in told} == {"random"}
    for first in told:
        assert parse(json.dumps(first["record"])).names.count("fails") == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"per_policy": 0}, "per_policy = 0; allowed: a whole number from 1"),
        ({"anchor": "random"}, "anchor = 'random'; allowed: one of the policies, and not random"),
        ({"anchor": "x" * 999}, r"anchor = 'x{196}\.\.\.; allowed: one of the policies"),
        ({"threads": 0}, "threads = 0"),
    ],
)
def test_bad_arguments_are_named(change, message, tmp_path):
    game = toy_duel.game(num_players=2, long=3)
    with pytest.raises(ValueError, match=message):
        play_league(game, entrants_of([], game, "half3"), tmp_path, 10, 1, **{"anchor": "half3"} | change)
    assert not list(tmp_path.iterdir())


def test_a_league_of_one_line_up_says_so(tmp_path):
    game = toy_duel.game(num_players=2, long=3)
    notes: list[str] = []
    entrants = entrants_of([], game, "half3")
    result = play_league(game, entrants, tmp_path, 10, 1, anchor="half3", note=notes.append)
    assert notes == ["1 line-up of 10 games; 0 are there already"]
    assert "10 games of 1 line-up, " in result.markdown()


def _with(field, value):
    return lambda data: json.dumps(data | {field: value})


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda data: "", "no JSON"),
        (lambda data: json.dumps(data)[:-40], "no JSON"),
        (lambda data: "[" * 100_000, "no JSON"),
        (lambda data: "\udcff", "no JSON"),
        (lambda data: "[1]", "a JSON list, no object"),
        (lambda data: "{}", r"key = None, so that it is another line-up's"),
        (_with("key", "0" * 32), "key = '0+', so that it is another line-up's"),
        (_with("seating", None), r"seating is no table of \(10, 2\) numbers from 0 to 1"),
        (_with("seating", [[0, 0]] * 10), "seating does not seat everybody once in every game"),
        (_with("seating", [[0, 7]] * 10), "seating is no table"),
        (_with("returns", [[float("nan"), 1]] * 10), "returns is no table"),
        (_with("returns", [[1, -1]] * 9), "returns is no table"),
        (_with("places", [["first", "last"]] * 10), "places is no table"),
        (_with("places", {"a": [1]}), "places is no table"),
        (_with("faults", 3), "faults is no table"),
    ],
)
def test_a_spoiled_file_is_named_and_can_be_deleted(spoil, message, tmp_path):
    game = toy_duel.game(num_players=2, long=3)
    entrants = entrants_of([], game, "half3")
    first = play_league(game, entrants, tmp_path, 10, 1, anchor="half3")
    (path,) = (p for p in tmp_path.iterdir() if p.name != "settings.json")
    path.write_bytes(spoil(json.loads(path.read_text())).encode(errors="surrogateescape"))
    with pytest.raises(ValueError, match=f"{path.name}: {message}.*; delete it, and what it held is played again"):
        play_league(game, entrants, tmp_path, 10, 1, anchor="half3")
    path.unlink()
    assert play_league(game, entrants, tmp_path, 10, 1, anchor="half3").as_dict() == first.as_dict()


def test_what_a_killed_league_leaves_is_no_hindrance(tmp_path):
    """It may die between writing a file and giving it its name, the first one too."""
    game = toy_duel.game(num_players=2, long=3)
    (tmp_path / "settings.json.123.part").write_text("{")
    (tmp_path / "abc.json.123.part").write_text("{")
    play_league(game, entrants_of([], game, "half3"), tmp_path, 10, 1, anchor="half3")
    (tmp_path / "settings.json").write_text("[]")
    with pytest.raises(ValueError, match=r"settings.json: a JSON list, no object"):
        play_league(game, entrants_of([], game, "half3"), tmp_path, 10, 1, anchor="half3")
