"""Who the learner meets: what each sampling rule draws, who sits where for how long, and what is counted."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.test_training_ppo import collect, learner, pool
from tests.toy_games import Knockout, Nim, RandomPolicy
from training.errors import TrainingError
from training.opponents import OpponentPool
from training.seating import LEARNER, Seating


def history(count: int, **settings: Any) -> OpponentPool:
    """A pool of that many snapshots s0, s1, ..."""
    opponents = OpponentPool((), RandomPolicy, **settings)
    for number in range(count):
        opponents.add_snapshot(f"s{number}")
    return opponents


def drawn(opponents: OpponentPool, times: int = 2000) -> dict[str, float]:
    """The share of each in what so many draws give."""
    rng = np.random.default_rng(1)
    names = [name for _ in range(times) for name in opponents.draw(rng)]
    return {name: names.count(name) / len(names) for name in dict.fromkeys(names)}


# --- The pool --------------------------------------------------------------------------------------------------------


def test_latest_is_the_newest_alone():
    assert drawn(history(20, sampling="latest", distinct=3)) == {"s19": 1.0}


def test_uniform_draws_all_alike():
    shares = drawn(history(20, sampling="uniform", distinct=4))
    assert len(shares) == 20
    assert max(abs(share - 0.05) for share in shares.values()) < 0.01


def test_delta_uniform_draws_from_the_last_share_of_the_history():
    shares = drawn(history(20, sampling="delta_uniform", delta=0.25, distinct=1))
    assert sorted(shares) == ["s15", "s16", "s17", "s18", "s19"]
    assert max(abs(share - 0.2) for share in shares.values()) < 0.04
    assert drawn(history(3, sampling="delta_uniform", delta=0.01, distinct=2)) == {"s2": 1.0}


@pytest.mark.parametrize("distinct", [1, 3])
@pytest.mark.parametrize(
    ("weight", "power", "expected"),
    [("hard", 1.0, [0.9, 0.5, 0.1]), ("hard", 3.0, [0.729, 0.125, 0.001]), ("even", 3.0, [0.09, 0.25, 0.09])],
)
def test_pfsp_draws_by_how_often_the_learner_finishes_ahead(weight, power, expected, distinct):
    opponents = history(3, sampling="pfsp", pfsp_weight=weight, pfsp_power=power, distinct=distinct, memory=10**9)
    for name, score in (("s0", 0.1), ("s1", 0.5), ("s2", 0.9)):
        opponents.measured(name, 1e6, score * 1e6)  # so many that the imagined games are none
    shares = drawn(opponents, 10_000)
    for name, share in zip(("s0", "s1", "s2"), np.array(expected) / sum(expected), strict=True):
        assert shares.get(name, 0.0) == pytest.approx(share, abs=0.02)


def test_scripted_players_have_a_share_of_their_own():
    def shares(scripted_share: float, sampling: str = "uniform", snapshots: int = 10) -> tuple[float, float]:
        opponents = OpponentPool(["a", "b"], RandomPolicy, distinct=1, scripted_share=scripted_share, sampling=sampling)
        for number in range(snapshots):
            opponents.add_snapshot(f"s{number}")
        found = drawn(opponents)
        scripted = sum(share for name, share in found.items() if name in "ab")
        return scripted, sum(found.values()) - scripted

    assert shares(0.25) == pytest.approx((0.25, 0.75), abs=0.03)
    assert shares(0.25, "latest") == pytest.approx((0.25, 0.75), abs=0.03)
    assert shares(0.0) == (0.0, 1.0)
    assert shares(1.0) == (1.0, 0.0)
    assert shares(0.25, snapshots=0) == (1.0, 0.0)  # there is nobody else yet
    assert shares(0.0, snapshots=0) == (0.0, 0.0)


def test_pfsp_weighs_scripted_players_too():
    opponents = OpponentPool(["strong", "weak"], RandomPolicy, sampling="pfsp", distinct=1, memory=10**9)
    opponents.measured("strong", 1e6, 1e5)
    opponents.measured("weak", 1e6, 9e5)
    assert drawn(opponents)["strong"] > 0.95


def test_what_was_measured_fades():
    opponents = history(1, memory=100)
    opponents.measured("s0", 1000, 0)
    assert opponents.opponents["s0"].games == 100
    for _ in range(5):
        opponents.measured("s0", 100, 100)
    assert opponents.opponents["s0"].score == pytest.approx((100 * (1 - 2.0**-5) + 5) / 110)


def test_a_snapshot_that_has_gone_is_named():
    def load(name: str) -> RandomPolicy:
        raise ValueError(f"no policy {name!r}")

    opponents = OpponentPool((), load)
    opponents.add_snapshot("step_1")
    with pytest.raises(TrainingError, match="the opponent step_1 cannot be loaded: no policy 'step_1'"):
        opponents.policy("step_1")


def test_a_checkpoint_that_the_configuration_names_stays_what_it_is():
    opponents = OpponentPool(["step_1"], RandomPolicy, scripted_share=1.0)
    opponents.add_snapshot("step_1")
    opponents.add_snapshot("step_2")
    assert [(o.name, o.scripted) for o in opponents.opponents.values()] == [("step_1", True), ("step_2", False)]
    assert drawn(opponents, 10) == {"step_1": 1.0}


def test_a_pool_without_snapshots_forgets_them():
    opponents = OpponentPool((), RandomPolicy, snapshots=False)
    opponents.add_snapshot("step_1")
    assert opponents.draw(np.random.default_rng(0)) == []


# --- The seats -------------------------------------------------------------------------------------------------------


def table(num_seats: int) -> Any:
    """As much of a game as seating asks for."""
    game = SimpleNamespace(num_seats=num_seats)
    game.seen_as_by = lambda player: game
    return game


def all_meet(seating: Seating, players: list[RandomPolicy]) -> None:
    """Have the next draws give each of the players once."""
    assert seating.pool is not None
    seating.pool.draw = lambda rng: [player.name for player in players]  # type: ignore[method-assign]


def seated(share: float, num_tables: int = 40, num_seats: int = 4, opponents: int = 3) -> Seating:
    players = [RandomPolicy(f"p{k}") for k in range(opponents)]
    seating = Seating(table(num_seats), pool(*players, distinct=3), share, num_tables)
    all_meet(seating, players)
    seating.begin_rollout(np.random.default_rng(0))
    return seating


def test_opponents_sit_in_every_seat_and_leave_one_to_the_learner():
    seating, rng = seated(0.25), np.random.default_rng(0)
    rows = []
    for _ in range(200):
        seating.begin_games(np.arange(40), rng)
        rows.append(seating.seats.copy())
    seats = np.concatenate(rows)
    mixed = (seats != LEARNER).any(axis=1)
    assert mixed.sum() == 2000  # exactly a quarter of the tables
    assert (seats == LEARNER).any(axis=1).all()
    counts = np.bincount((seats[mixed] != LEARNER).sum(axis=1), minlength=4)
    assert counts[0] == 0
    assert (counts[1:] > 550).all()  # one, two, three opponents
    for seat in range(4):
        assert (np.bincount(seats[mixed][:, seat], minlength=4)[1:] > 250).all()  # each of three opponents


@pytest.mark.parametrize("alike", [0.0, 0.5, 1.0])
def test_opponents_of_a_table_are_the_same_one_in_the_share_of_games_asked_for(alike):
    players = [RandomPolicy(name) for name in ("a", "b", "c")]
    seating = Seating(table(4), pool(*players, distinct=3), 1.0, 3000, learner_alone=True, alike=alike)
    all_meet(seating, players)
    seating.begin_rollout(np.random.default_rng(0))
    kinds = [set(row[row != LEARNER].tolist()) for row in seating.seats]
    assert {slot for kind in kinds for slot in kind} == {1, 2, 3}
    chance = alike + (1 - alike) / 9  # three that are drawn each by itself are the same by chance
    assert sum(len(kind) == 1 for kind in kinds) == pytest.approx(3000 * chance, abs=90 if alike < 1 else 0)
    assert alike < 1 or min(kinds.count({slot}) for slot in (1, 2, 3)) > 900


def test_no_opponents_no_share():
    assert not seated(0.0).seats.any()
    assert not seated(0.5, opponents=0).seats.any()
    assert not seated(0.5, num_seats=1).seats.any()
    nobody = Seating(table(4), None, 0.5, 10)
    nobody.begin_rollout(np.random.default_rng(0))
    assert not nobody.seats.any()


def test_each_opponent_is_asked_once_a_step_for_all_its_tables():
    first, second = RandomPolicy("first"), RandomPolicy("second")
    batch = Nim(6)
    batch.reset(0)
    observation = batch.observation
    observation[:, 0] = np.arange(6)
    seating = Seating(batch.game, pool(first, second), 1.0, 6)
    seating.put(1, "first")
    seating.put(2, "second")
    actions = np.full(6, -1, np.int64)
    who = np.array([0, 1, 2, 2, 0, 1])
    seating.act(actions, who, batch, np.random.default_rng(0))
    assert [seen.tolist() for seen in first.seen] == [observation[[1, 5]].tolist()]
    assert [seen.tolist() for seen in second.seen] == [observation[[2, 3]].tolist()]
    assert (actions >= 0).tolist() == (who != LEARNER).tolist()


def test_a_thousand_snapshots_take_no_more_memory_than_those_in_use():
    alive: set[str] = set()

    class Counted(RandomPolicy):
        def __init__(self, name: str) -> None:
            super().__init__(name)
            alive.add(name)

        def __del__(self) -> None:
            alive.discard(self.name)

    opponents = OpponentPool((), Counted, distinct=3)
    for number in range(1000):
        opponents.add_snapshot(f"s{number}")
    seating, rng = Seating(table(4), opponents, 0.5, 64), np.random.default_rng(0)
    met: set[str] = set()
    for _ in range(400):
        seating.begin_rollout(rng)
        met |= alive
        assert 1 <= len(alive) <= 6
        seating.paid(np.zeros((64, 4)), rng.random(64) < 0.5, rng)
    assert len(met) > 100  # and yet they change


def test_a_game_is_finished_by_those_who_began_it():
    opponents = history(50, distinct=2)
    seating, rng = Seating(table(3), opponents, 1.0, 32), np.random.default_rng(0)

    def people() -> NDArray[np.object_]:
        return np.array(["learner", *seating.names], object)[seating.seats]

    seating.begin_rollout(rng)
    before, changed = people(), False
    for _ in range(100):
        done = rng.random(32) < 0.2
        seating.paid(np.zeros((32, 3)), done, rng)
        seating.begin_rollout(rng)
        after = people()
        assert (before[~done] == after[~done]).all()
        changed = changed or bool((before[done] != after[done]).any())
        before = after
    assert changed


def test_who_finished_ahead_is_counted_for_each_opponent():
    opponents = pool(RandomPolicy("a"), RandomPolicy("b"))
    seating, rng = Seating(table(4), opponents, 1.0, 2), np.random.default_rng(0)
    seating.put(1, "a")
    seating.put(2, "b")
    a, b = seating.names.index("a") + 1, seating.names.index("b") + 1
    seating.seats[:] = [[LEARNER, a, LEARNER, b], [LEARNER, LEARNER, a, a]]
    # Paid in two steps; the order at the end is what counts, and a difference of rounding is none.
    seating.paid(np.array([[3.0, 1.0, 0.0, 0.0], [9.0, 9.0, 9.0, 9.0]]), np.array([False, False]), rng)
    seating.paid(np.array([[-1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]), np.array([True, False]), rng)
    assert (opponents.opponents["a"].games, opponents.opponents["a"].ahead) == (1, 0.5)  # 2 and 0 against 1
    assert (opponents.opponents["b"].games, opponents.opponents["b"].ahead) == (1, 0.75)  # and against 0
    seating.seats[1] = [LEARNER, LEARNER, a, a]
    seating.paid(np.array([[0.0] * 4, [0.0, -1.0, 1e-12, -2.0]]), np.array([False, True]), rng)
    # At one table, but 0.25 ahead of one of its seats and 1 of the other.
    assert (opponents.opponents["a"].games, opponents.opponents["a"].ahead) == (2, 0.5 + (0.25 + 1.0) / 2)
    assert not seating.returns[1].any()  # the next game begins at nothing


def test_scores_are_measured_in_training():
    """A learner of Nim that meets one who always loses and one who always wins: the pool finds out which is which."""

    class Perfect(RandomPolicy):
        def act(self, observation: Any, action_mask: Any, rng: Any) -> Any:
            take = observation[:, :10].argmax(axis=1) % 4
            return np.where(take == 0, 0, take - 1)

    class Fool(RandomPolicy):
        def act(self, observation: Any, action_mask: Any, rng: Any) -> Any:
            stones = observation[:, :10].argmax(axis=1)
            return np.where((stones % 4 == 1) & (stones > 1), 1, 0)

    opponents = pool(Perfect("perfect"), Fool("fool"))
    opponents.sampling = "pfsp"
    model = learner(Nim(64), opponents=opponents, opponent_share=1.0)
    collect(model)
    scores = {name: opponent.score for name, opponent in opponents.opponents.items()}
    assert scores["perfect"] < 0.35 < scores["fool"]
    assert model.logger.name_to_value["pool/perfect"] == scores["perfect"]
    weights = opponents.weights(scripted=True)
    assert weights["perfect"] > 1.5 * weights["fool"]


def test_shares_of_pool_tables_and_of_the_learners_own():
    model = learner(Knockout(40), opponents=pool(RandomPolicy()), opponent_share=0.3)
    collect(model)
    assert (model.seating.seats[:12] != LEARNER).any(axis=1).all()
    learner_made = model.rollout_buffer.step_learner
    assert learner_made[:, :12].mean() < 0.8
    assert learner_made[:, 12:].all()
