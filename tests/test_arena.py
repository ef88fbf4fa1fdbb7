"""Matches count what they should, and their intervals mean what they say."""

from __future__ import annotations

import json
import math
import sys

import numpy as np
import pytest

from coyote_env import coyote_v0
from coyote_env.arena import MatchStopped, play_match, wilson
from coyote_env.arena.match import game_seeds, seat_order
from coyote_env.arena.stats import grouped_mean, grouped_share, student
from coyote_env.core.record import replay, verify
from coyote_env.policies import GAMES, CheckpointPolicy, Player, PolicyError, load_policy, make_game, registry
from tests import networks, toy_duel
from tests.toy_duel import Chooser


def random_policy(observation, action_mask, rng):
    return np.where(action_mask != 0, rng.random(action_mask.shape), -1.0).argmax(axis=1)


def challenger(observation, action_mask, rng):
    """The first legal action: challenges whenever it can. Draws nothing."""
    return action_mask.argmax(axis=1)


# --- Wilson's interval ---


@pytest.mark.parametrize(
    ("wins", "games", "low", "high"),
    [
        # Newcombe, Two-sided confidence intervals for the single proportion, Statist. Med. 17 (1998), table I.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_against_published_values(wins, games, low, high):
    assert wilson(wins, games) == pytest.approx((low, high), abs=5e-5)


def test_wilson_at_its_ends():
    assert wilson(0, 0) == (0.0, 1.0)
    assert wilson(0, 7)[0] == 0.0
    assert wilson(7, 7)[1] == 1.0
    low, high = wilson(2, 7)
    assert (1 - high, 1 - low) == pytest.approx(wilson(5, 7))
    # Solves its defining equation (p - share)^2 = z^2 p (1 - p) / games.
    for p in wilson(3.5, 11, 0.9):
        assert (p - 3.5 / 11) ** 2 == pytest.approx(1.6448536269514722**2 * p * (1 - p) / 11)


@pytest.mark.parametrize(
    ("arguments", "named"), [((-1, 5), "wins"), ((6, 5), "wins"), ((0, -1), "games"), ((1, 5, 1.0), "confidence")]
)
def test_wilson_names_what_it_refuses(arguments, named):
    with pytest.raises(ValueError, match=f"^{named} = "):
        wilson(*arguments)


@pytest.mark.parametrize("games", [50, 400])
@pytest.mark.parametrize("p", [0.1, 0.25, 0.5])
def test_wilson_covers_at_the_stated_rate(games, p):
    """Exactly: the probability, over all counts, that the interval holds the truth."""
    coverage = 0.0
    for wins in range(games + 1):
        low, high = wilson(wins, games)
        if low <= p <= high:
            coverage += math.comb(games, wins) * p**wins * (1 - p) ** (games - wins)
    assert 0.93 < coverage < 0.98


# --- Counting ---


def test_known_shares():
    result = play_match(toy_duel.game(), [Chooser("s", 1.0), Chooser("l", 0.0)], 101, 5, num_tables=8)
    assert [p.wins for p in result.policies] == [101, 0]
    assert [p.mean_return for p in result.policies] == [1.0, -1.0]
    assert [p.mean_place for p in result.policies] == [1.0, 2.0]
    assert result.policies[1].high == pytest.approx(wilson(0, 51)[1])  # 51 deals
    assert result.num_games == 101
    assert result.returns.tolist() == [[1.0, -1.0]] * 101


def test_ties_share_the_win():
    """Three who always choose `long`: the two others win each game together."""
    players = [Chooser(name, 0.0) for name in "abc"]
    result = play_match(toy_duel.game(num_players=3, long=2), players, 600, 1)
    assert sum(p.wins for p in result.policies) == pytest.approx(600)
    for p in result.policies:
        assert (2 * p.wins).is_integer()
        assert p.low < 1 / 3 < p.high
        # Places 1.5, 1.5 and 3: 1.5 for half a win, 3 for none.
        assert p.mean_place == pytest.approx(3 - 3 * p.share)
        assert p.mean_return == pytest.approx(3 * p.share - 1)


def test_short_games_are_not_counted_first():
    """A quarter of these games takes 2 moves and the others 41, and only one policy wins the short ones."""
    games, tables = 2_000, 500
    coin, longy = Chooser("coin", 0.5), Chooser("longy", 0.0)
    result = play_match(toy_duel.game(), [coin, longy], games, 3, num_tables=tables)
    assert result.policies[0].low < 0.75 < result.policies[0].high
    assert result.decisions == pytest.approx(games * (0.25 * 2 + 0.75 * 41), rel=0.05)
    # What the usual way of counting finds, with 125 games at 500 tables: the first ones to end, whichever they are.
    batch = toy_duel_batch(tables)
    rng = np.random.default_rng(0)
    counted = wins = 0
    rows = np.arange(tables)
    while counted < 125:
        starts_with_coin = (batch.states["starter"] + rows) % 2 == 0
        choice = np.where(starts_with_coin & (rng.random(tables) < 0.5), toy_duel.SHORT, toy_duel.LONG)
        was = batch.states["choice"].copy()
        batch.step(np.where(batch.action_mask[rows, toy_duel.WAIT] == 1, toy_duel.WAIT, choice))
        counted += int(batch.done.sum())
        wins += int((batch.done & ((was == toy_duel.SHORT) == starts_with_coin)).sum())
    assert wilson(wins, counted)[0] > 0.8, "this game no longer shows the bias that the test above is about"


def toy_duel_batch(tables):
    from coyote_env.core.batch import Batch

    batch = Batch(toy_duel.game(), tables)
    batch.reset(1)
    return batch


def test_intervals_cover_the_truth_on_simulated_matches():
    """150 matches of 120 games whose true share is 3/4: the 95% intervals hold it in about 95% of them."""
    game, players = toy_duel.game(long=1), [Chooser("coin", 0.5), Chooser("longy", 0.0)]
    hits = 0
    for seed in range(150):
        coin = play_match(game, players, 120, seed).policies[0]
        hits += coin.low <= 0.75 <= coin.high
    low, high = wilson(hits, 150, 0.999)
    assert low < 0.95 < high


# --- Seats ---


@pytest.mark.parametrize("seats", [2, 3, 4, 6, 10])
def test_everybody_sits_everywhere_equally_often(seats):
    order = seat_order(seats, 40 * seats, 9)
    assert (np.sort(order, axis=1) == np.arange(seats)).all()
    for entry in range(seats):
        assert ((order == entry).sum(axis=0) == 40).all()
    # One game more or less than whole runs: at most one apart.
    short = seat_order(seats, 40 * seats - 1, 9)
    counts = np.array([(short == entry).sum(axis=0) for entry in range(seats)])
    assert counts.max() - counts.min() <= 1


@pytest.mark.parametrize("seats", [2, 3, 4, 5, 6, 7, 10])
def test_neighbours_change_within_a_run(seats):
    """Who sits right after whom: over one run (two, for an odd number) each other policy equally often, but for who
    sits after the last seat; turning one order through the seats would always be the same one."""
    run = seats if seats % 2 == 0 else 2 * seats
    for order in seat_order(seats, 20 * run, 2).reshape(20, run, seats):
        after = np.zeros((seats, seats), int)
        np.add.at(after, (order[:, :-1], order[:, 1:]), 1)
        assert (after == (run // seats) * (1 - np.eye(seats))).all()
    first = seat_order(seats, 400 * run, 2)[::run]
    assert len(np.unique(first, axis=0)) > (1 if seats == 2 else seats)  # and which policy is which is drawn anew


def test_games_of_a_run_are_not_more_alike_than_others():
    """Where it matters after whom one sits: with the same neighbours throughout a run, intervals from independent games
    would be far too narrow. Here `a` wins if it sits right after `b`."""

    def simulated(seed):
        seating = seat_order(4, 400, seed)
        return (seating[np.arange(400), ((seating == 0).argmax(axis=1) - 1) % 4] == 1).mean()

    shares = np.array([simulated(seed) for seed in range(300)])
    assert abs(shares.mean() - 1 / 3) < 0.01
    assert shares.std() < np.sqrt(2 / 9 / 400)


def test_seat_results_add_up():
    players = [Chooser("coin", 0.5), Chooser("l", 0.0), Chooser("s", 1.0)]
    result = play_match(toy_duel.game(num_players=3, long=2), players, 301, 4, num_tables=16)
    for entry, p in enumerate(result.policies):
        assert sum(s.games for s in p.seats) == p.games == 301
        assert sum(s.wins for s in p.seats) == pytest.approx(p.wins)
        assert sum(s.mean_return * s.games for s in p.seats) / 301 == pytest.approx(p.mean_return)
        for seat, s in enumerate(p.seats):
            here = result.seating[:, seat] == entry
            assert s.games == here.sum()
            assert s.mean_return == pytest.approx(result.returns[here, entry].mean())
            assert (s.low, s.high) == wilson(s.wins, s.games)


# --- The same again ---


def test_games_depend_on_the_seed_and_their_number_alone():
    """Policies that draw nothing: any number of tables gives the same games, and a longer match begins with them."""
    game = coyote_v0.game(num_players=2, lives=2)
    results = [play_match(game, [challenger, raiser], 90, 11, num_tables=tables) for tables in (1, 7, 90, 1000)]
    for other in results[1:]:
        assert (other.returns == results[0].returns).all()
        assert other.decisions == results[0].decisions
        assert other.policies == results[0].policies
    longer = play_match(game, [challenger, raiser], 150, 11)
    assert (longer.returns[:90] == results[0].returns).all()
    assert (longer.seating[:90] == results[0].seating).all()
    assert (play_match(game, [challenger, raiser], 90, 12).returns != results[0].returns).any()


def raiser(observation, action_mask, rng):
    """Takes the second legal action if there is one: raises a little. Draws nothing."""
    order = np.argsort(-action_mask, axis=1, kind="stable")
    second = order[:, 1]
    return np.where(action_mask[np.arange(len(order)), second] == 1, second, order[:, 0])


def test_policies_that_draw_play_the_same_match_again():
    game = coyote_v0.game(edition="mini")
    first = play_match(game, [random_policy, raiser], 120, 7)
    np.random.default_rng(5).random(10)  # other generators are other generators
    again = play_match(game, [random_policy, raiser], 120, 7)
    assert (first.returns == again.returns).all()
    assert first.policies == again.policies
    assert first.decisions == again.decisions
    assert (play_match(game, [random_policy, raiser], 120, 8).returns != first.returns).any()


def test_a_game_of_a_match_can_be_played_again_on_env():
    game = coyote_v0.game(num_players=3)
    players = [challenger, raiser, challenger]
    result = play_match(game, players, 20, 21)
    env = coyote_v0.env(num_players=3)
    for number in (0, 7, 19):
        env.reset(seed=int(game_seeds(21, 20)[number]))
        totals = dict.fromkeys(env.possible_agents, 0.0)
        while True:
            observation, _, termination, _, _ = env.last()
            if termination:
                break
            entry = result.seating[number][env.possible_agents.index(env.agent_selection)]
            row = players[entry](observation["observation"][None], observation["action_mask"][None], None)
            env.step(int(row[0]))
            for agent, reward in env.rewards.items():
                totals[agent] += reward
        found = [totals[f"player_{seat}"] for seat in range(3)]
        assert found == pytest.approx(result.returns[number][result.seating[number]].tolist())


# --- Strength ---


def test_two_copies_of_one_policy_come_out_equal_and_a_stronger_one_stronger():
    """A stronger one: with cards 1 to 4, who knows that 8 is impossible wins against a random player."""
    game = coyote_v0.game(edition="mini")
    equal = play_match(game, [random_policy, random_policy], 2_000, 1)
    assert equal.policies[0].low < 0.5 < equal.policies[0].high
    strong = play_match(game, [raiser, random_policy], 2_000, 1)
    assert strong.policies[0].low > 0.5
    assert strong.policies[1].high < 0.5


# --- Calls ---


def test_one_object_is_asked_once_a_step():
    one = Chooser("one", 0.0)
    result = play_match(toy_duel.game(num_players=3, long=5), [one, one, one], 30, 0)
    assert one.calls == [30] * 6
    assert result.decisions == 180
    assert [p.name for p in result.policies] == ["one"] * 3
    apart = [Chooser(name, 0.0) for name in "abc"]
    play_match(toy_duel.game(num_players=3, long=5), apart, 30, 0)
    assert sum(sum(c.calls) for c in apart) == 180
    assert max(max(c.calls) for c in apart) < 30


def test_names_are_loaded_once_each(monkeypatch):
    monkeypatch.setitem(GAMES, "duel_v0", registry._Modules("tests.toy_duel", "tests.toy_duel", "longy"))
    made = []

    def make(game):
        made.append(Chooser("longy", 0.0))
        return made[-1]

    monkeypatch.setitem(toy_duel.SCRIPTED, "longy", make)
    result = play_match(toy_duel.game(num_players=3), ["longy", "shorty", "longy"], 30, 0)
    assert [p.name for p in result.policies] == ["longy", "shorty", "longy"]
    assert result.policies[1].wins > 10
    assert len(made) == 1


def test_progress_reports_every_game():
    seen = []
    play_match(
        toy_duel.game(),
        [Chooser("a", 0.5), Chooser("b", 0.5)],
        50,
        0,
        num_tables=10,
        progress=lambda *x: seen.append(x),
    )
    assert [total for _, total in seen] == [50] * len(seen)
    done = [d for d, _ in seen]
    assert done == sorted(set(done))
    assert done[-1] == 50


def test_a_policy_may_spoil_what_it_is_given():
    def spoils(observation, action_mask, rng):
        action = action_mask.argmax(axis=1)
        observation[:] = np.nan
        action_mask[:] = 1
        return action

    game = coyote_v0.game(edition="mini")
    assert play_match(game, [spoils, raiser], 40, 3).returns.tolist() == (
        play_match(game, [challenger, raiser], 40, 3).returns.tolist()
    )


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda o, m, r: np.zeros(len(o), int), r"policy 'bad' in seat [01] chose 'short' \(0\); legal: wait$"),
        (lambda o, m, r: np.full(len(o), 2), r"policy 'bad' in seat [01] chose 'wait' \(2\); legal: short, long$"),
        (
            lambda o, m, r: np.full(len(o), 3),
            r"policy 'bad' in seat [01] chose 3, which is no action; legal: short, long$",
        ),
        (lambda o, m, r: np.full(len(o), -1), r"chose -1, which is no action; legal: short, long$"),
        (
            lambda o, m, r: np.zeros(len(o)),
            r"policy 'bad' answered float64\[\d+\] to \d+ rows; needed: one integer a row",
        ),
        (lambda o, m, r: m.astype(bool)[:, 0], r"answered bool\[\d+\]"),
        (lambda o, m, r: np.zeros((len(o), 1), int), r"answered int64\[\d+, 1\]"),
        (lambda o, m, r: 2, r"answered int64\[\] to \d+ rows"),
        (lambda o, m, r: None, r"policy 'bad' answered object\[\]"),
        (lambda o, m, r: 1 // 0, r"policy 'bad' raised ZeroDivisionError: "),
    ],
)
def test_a_policy_that_answers_nonsense_is_named(answer, message):
    answer.__name__ = "bad"
    with pytest.raises(PolicyError, match=message):
        play_match(toy_duel.game(), [answer, Chooser("good", 0.5)], 20, 0)


class _Unconvertible:
    """What a policy may answer: something whose conversion fails."""

    def __array__(self, dtype=None, copy=None):
        raise MemoryError("too large")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda o, m, r: [[1], [1, 2]], "raised ValueError: setting an array element with a sequence"),
        (lambda o, m, r: _Unconvertible(), "raised MemoryError: too large"),
        (lambda o, m, r: sys.exit("done"), "raised SystemExit: done"),
        (lambda o, m, r: dict[str, int]()["x" * 10_000], r"raised KeyError: 'x{496}\.\.\.$"),
    ],
)
def test_whatever_a_policy_does_loses_its_games_only(answer, message):
    answer.__name__ = "bad"
    with pytest.raises(MatchStopped, match=message) as caught:
        play_match(toy_duel.game(), [answer, Chooser("good", 0.0)], 20, 0)
    assert caught.value.faults[0].record.result == "unfinished"
    result = play_match(toy_duel.game(), [answer, Chooser("good", 0.0)], 20, 0, on_error="forfeit")
    assert result.policies[0].faults == 20
    assert result.policies[1].share == 1


def test_at_most_ten_legal_actions_are_listed():
    def bad(observation, action_mask, rng):
        return np.zeros(len(observation), int)  # challenge: illegal at the start

    with pytest.raises(PolicyError, match=r"chose 'challenge' \(0\); legal: \S+( \S+){9} and \d+ more$"):
        play_match(coyote_v0.game(), [bad] * 4, 5, 0)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"policies": [challenger]}, "policies: 1 given; duel_v0 has 2 seats"),
        ({"policies": [challenger, 3]}, r"policies\[1\] = 3; needed: a Policy or a callable"),
        ({"policies": [challenger, "nobody"]}, r"no policy 'nobody': scripted players of duel_v0 are none"),
        ({"num_games": 0}, "num_games = 0"),
        ({"num_games": 2.0}, "num_games = 2.0"),
        ({"num_games": 10**12}, "num_games = 1000000000000; allowed: a whole number from 1 to 10,000,000"),
        ({"num_games": "9" * 9_000}, r"num_games = '9{196}\.\.\.; allowed"),
        ({"num_games": -(10**9_000)}, "num_games = a int that cannot be shown; allowed"),
        ({"policies": [challenger, "x" * 9_000]}, r"no policy 'x{196}\.\.\.: scripted players"),
        ({"on_error": "x" * 9_000}, r"on_error = 'x{196}\.\.\.; allowed"),
        ({"seed": -1}, "seed = -1"),
        ({"seed": True}, "seed = True"),
        ({"num_tables": 0}, "num_tables = 0"),
    ],
)
def test_bad_arguments_are_named(change, named):
    arguments = {"policies": [challenger, challenger], "num_games": 5, "seed": 0} | change
    with pytest.raises(ValueError, match=named):
        play_match(toy_duel.game(), **arguments)


# --- Faults ---


def fails_sometimes(kind):
    """Illegal, NaN or an exception at a long game's choice, where the seat to move is known to be the starter."""

    def answer(observation, action_mask, rng):
        first = observation[:, 0] == 1
        drawn = rng.random(len(observation)) < 0.2
        actions = np.where(first, toy_duel.LONG, toy_duel.WAIT)
        if (first & drawn).any():
            if kind == "raises":
                raise ZeroDivisionError("by chance")
            if kind == "nan":
                return actions * np.nan
            actions[first & drawn] = toy_duel.WAIT if kind == "illegal" else 99
        return actions

    answer.__name__ = "shaky"
    return answer


@pytest.mark.parametrize("kind", ["illegal", "outside", "raises", "nan"])
def test_a_failing_policy_forfeits_its_game_and_no_other(kind):
    game = toy_duel.game(long=3)
    players = [fails_sometimes(kind), Chooser("steady", 0.0)]
    results = [play_match(game, players, 300, 5, num_tables=tables, on_error="forfeit") for tables in (1, 40, 300)]
    for result in results:
        assert result.policies[0].faults == len(result.faults) == len(results[0].faults)
        assert (result.returns == results[0].returns).all()
        assert result.policies[1].faults == 0
    lost = {fault.game for fault in results[0].faults}
    assert 10 < len(lost) < 60
    for number, (own, _) in enumerate(results[0].returns):
        starts = results[0].returns[number, 0]
        assert own == -1 if number in lost else starts in (-1, 1)
    assert "lost" in results[0].table()
    json.loads(results[0].to_json(), parse_constant=pytest.fail)


def test_a_fault_comes_with_the_game_until_then():
    game = coyote_v0.game(num_players=3)
    count = 0

    def late(observation, action_mask, rng):
        nonlocal count
        count += 1
        return np.full(len(observation), -1) if count > 20 else challenger(observation, action_mask, rng)

    with pytest.raises(MatchStopped, match=r"^game \d+ \(seed \d+\): policy 'late' in seat \d chose -1") as caught:
        play_match(game, [late, raiser, raiser], 30, 3, num_tables=4)
    (fault, *_) = caught.value.faults
    record = fault.record
    assert record.result == "unfinished"
    assert record.seed == game_seeds(3, 30)[fault.game]
    assert "late" in record.names
    assert verify(game, record) is None
    last = list(replay(game, record))[-1]
    assert record.names[int(last.states["seat"][0])] == "late"
    # What was finished is what an undisturbed match finds.
    found = caught.value.result
    assert (
        found is None
        or (found.returns == play_match(game, [challenger, raiser, raiser], found.num_games, 3).returns).all()
    )


def test_finished_deals_of_a_stopped_match_are_kept():
    game = toy_duel.game(long=3)
    shaky = fails_sometimes("raises")
    with pytest.raises(MatchStopped) as caught:
        play_match(game, [shaky, Chooser("steady", 0.0)], 300, 8, num_tables=1)
    kept = caught.value.result
    whole = play_match(game, [shaky, Chooser("steady", 0.0)], 300, 8, on_error="forfeit")
    assert kept is not None
    assert kept.num_games % 2 == 0
    assert kept.num_games <= caught.value.faults[0].game < kept.num_games + 2
    assert (kept.returns == whole.returns[: kept.num_games]).all()
    assert not kept.faults  # the game that was stopped is none of these
    assert [policy.faults for policy in kept.policies] == [0, 0]


def test_when_one_thread_fails_the_others_stop():
    written = []

    class Full:
        def write(self, record):
            written.append(record)
            raise OSError("no space")

    game = coyote_v0.game(edition="mini", num_players=2)
    with pytest.raises(OSError, match="no space"):
        play_match(game, ["random", "random"], 200_000, 1, threads=2, records=Full())
    assert len(written) < 20_000


def test_a_policy_for_another_table_is_refused_before_play(tmp_path):
    game = coyote_v0.game(num_players=3)
    for other, message in (
        ({"num_players": 4}, "num_seats = 4"),
        ({"num_players": 3, "edition": "animals"}, "edition = 'animals'|num_actions|layout_hash"),
        ({"num_players": 3, "peek": True}, "num_actions|layout_hash"),
    ):
        strange = load_policy("random", coyote_v0.game(**other))
        with pytest.raises(ValueError, match=message):
            play_match(game, [strange, "random", "random"], 3, 0)
    folder = networks.write(tmp_path / "net", coyote_v0.game(num_players=4))
    with pytest.raises(ValueError, match="num_seats = 4; the game to be played has 3"):
        play_match(game, [folder, "random", "random"], 3, 0)


@pytest.mark.parametrize(("name", "sight", "player"), [("coyote_v0", "odds", "bayes"), ("scout_v0", "fits", "planner")])
def test_at_one_table_policies_may_see_differently(name, sight, player, tmp_path):
    """What a policy sees beyond the rules is its own business: the same games, whoever else sees what."""
    plain, rich = (make_game(name, {"num_players": 3, sight: flag}) for flag in (False, True))
    results = []
    for game in (plain, rich):
        line_up: list[Player] = [load_policy(player, plain), load_policy(player, rich), "random"]
        results.append(play_match(game, line_up, 30, 4).returns)
    assert (results[0] == results[1]).all()
    # A checkpoint plays at any such table, alone with what it was trained on, and alike.
    folder = networks.write(tmp_path / "net", rich)
    alone = play_match(rich, [folder, "random", "random"], 30, 4).returns
    mixed = play_match(plain, [folder, "random", "random"], 30, 4).returns
    assert (alone == mixed).all()
    loaded = load_policy(folder)
    assert (play_match(plain, [loaded, "random", "random"], 30, 4).returns == alone).all()
    bare = CheckpointPolicy.from_file(folder / "policy.onnx", plain)
    assert (play_match(plain, [bare, "random", "random"], 30, 4).returns == alone).all()
    # Its rules still have to be the table's.
    with pytest.raises(ValueError, match="num_seats = 3; the game to be played has 4"):
        play_match(make_game(name, {"num_players": 4}), [folder, *["random"] * 3], 3, 0)
    strange = networks.write(tmp_path / "narrow", toy_duel.game()) / "policy.onnx"
    with pytest.raises(
        ValueError,
        match=rf"observation_size = \d+; the game to be played has {plain.layout.size} or {rich.layout.size}",
    ):
        CheckpointPolicy.from_file(strange, plain)


# --- Duplicate deals ---


def test_each_game_has_the_default_that_tells_more(monkeypatch):
    assert play_match(coyote_v0.game(edition="mini"), [challenger, raiser], 4, 1).duplicates is False
    assert play_match(make_game("scout_v0", {"num_players": 2}), ["random", "random"], 4, 1).duplicates is True
    for chosen in (False, True):
        assert (
            play_match(coyote_v0.game(edition="mini"), [challenger, raiser], 4, 1, duplicates=chosen).duplicates
            is chosen
        )


def test_a_deal_is_played_from_every_seat_with_the_same_cards():
    seeds = game_seeds(4, 10, 4)
    assert (seeds[:4] == seeds[0]).all()
    assert seeds[4] != seeds[0]
    assert (seeds == game_seeds(4, 12, 4)[:10]).all()
    order = seat_order(4, 8, 4)
    for deal in (order[:4], order[4:]):
        assert (np.sort(deal, axis=0) == np.arange(4)[:, None]).all()


def test_two_copies_of_a_policy_that_draws_are_exactly_equal_over_a_deal():
    game = coyote_v0.game(num_players=3)
    one, other = (load_policy("random", game) for _ in range(2))
    result = play_match(game, [one, other, one], 90, 1, duplicates=True)
    assert [p.share for p in result.policies] == pytest.approx([1 / 3] * 3)
    assert all(p.low < 1 / 3 < p.high for p in result.policies)


def test_the_match_is_the_same_for_any_tables_and_threads():
    """With policies that draw."""
    game = coyote_v0.game(num_players=3)
    players = ["random", "plus-one", "random"]
    first = play_match(game, players, 100, 9, duplicates=True)
    for tables, threads in ((3, 1), (1000, 1), (None, 2), (7, 5)):
        again = play_match(game, players, 100, 9, duplicates=True, num_tables=tables, threads=threads)
        assert (again.returns == first.returns).all()
        assert again.policies == first.policies


def test_grouped_intervals_cover_at_the_stated_rate():
    """Simulated deals with strong luck of their own: naive intervals would hold the mean far too seldom."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(60), 4)
    hits = naive = shares = 0
    for _ in range(2_000):
        luck = np.repeat(rng.normal(size=60), 4)
        values = luck + 0.5 * rng.normal(size=240)
        found = grouped_mean(values, groups)
        hits += found.low <= 0 <= found.high
        naive += abs(values.mean()) < 1.96 * values.std(ddof=1) / np.sqrt(240)
        wins = (rng.random(240) < np.repeat(rng.choice([0.1, 0.4], 60), 4)).astype(float)
        share = grouped_share(wins, groups)
        shares += share.low <= 0.25 <= share.high
    assert 0.935 < hits / 2_000 < 0.965
    assert naive / 2_000 < 0.8
    assert 0.935 < shares / 2_000 < 0.97


def test_students_quantile():
    for degrees, expected in ((5, 2.5706), (10, 2.2281), (30, 2.0423), (1000, 1.9623)):
        assert student(degrees) == pytest.approx(expected, rel=3e-3)


# --- Reports ---


def test_json_and_table_say_the_same():
    result = play_match(
        toy_duel.game(num_players=3), [Chooser(n, p) for n, p in (("a", 1.0), ("b", 0.5), ("c", 0.0))], 31, 2
    )
    data = json.loads(result.to_json(), parse_constant=pytest.fail)
    assert data == result.as_dict()
    assert data["games"] == 31
    assert data["seed"] == 2
    assert (data["duplicates"], data["on_error"]) == (True, "stop")
    assert data["kwargs"] == {"num_players": 3, "long": 40, "edition": "plain"}
    assert [p["name"] for p in data["policies"]] == ["a", "b", "c"]
    assert len(data["policies"][0]["seats"]) == 3
    text = str(result)
    assert "31 games of 11 deals, seed 2; fair share 33.3%" in text
    rows = [line.split() for line in text.splitlines()]
    row = next(cells for cells in rows if cells[:1] == ["b"])
    assert row[1] == f"{data['policies'][1]['share']:.1%}"
    assert row[2] == f"{data['policies'][1]['interval_95'][0]:.1%}"


def test_one_game_is_enough_for_a_report():
    result = play_match(toy_duel.game(), [Chooser("a", 1.0), Chooser("b", 0.0)], 1, 0)
    assert json.loads(result.to_json())["policies"][0]["wins"] == 1
    assert " - " in f"{result} ", "a seat in which nobody sat has no share"
