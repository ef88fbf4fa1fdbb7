"""Self-play PPO: it learns a game whose answer is known, it is sb3-contrib's PPO, and what it must never do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import configure

from tests.toy_games import Knockout, Nim, RandomPolicy
from training.config import NetworkConfig
from training.errors import TrainingError
from training.network import forward, masked_log_probabilities, policy_kwargs, sample
from training.opponents import OpponentPool, opponent_actions, seat_opponents
from training.ppo import SelfPlayPPO
from training.vec_env import SelfPlayVecEnv

SMALL = NetworkConfig(shared=(32,), policy=(32,), value=(32,))


def learner(batch: Any, **kwargs: Any) -> SelfPlayPPO:
    settings: dict[str, Any] = {
        "n_steps": 16,
        "batch_size": 256,
        "n_epochs": 3,
        "gamma": 1.0,
        "learning_rate": 2e-3,
        "ent_coef": 0.01,
        "seed": 3,
        "policy_kwargs": policy_kwargs(SMALL),
    }
    return SelfPlayPPO("MlpPolicy", SelfPlayVecEnv(batch), **(settings | kwargs))


def pool(*policies: RandomPolicy, distinct: int = 2) -> OpponentPool:
    by_name = {policy.name: policy for policy in policies}
    return OpponentPool(list(by_name), snapshots=False, distinct=distinct, load=by_name.__getitem__)


class Silent(BaseCallback):
    def _on_step(self) -> bool:
        return True


def collect(model: SelfPlayPPO) -> None:
    """One rollout as `learn` would make it, without an update."""
    if model._last_obs is None:
        model.set_logger(configure(None, []))
        _, callback = model._setup_learn(10**9, Silent())
        model._test_callback = callback  # type: ignore[attr-defined]  # kept for this test
    assert model.env is not None
    # The ignore below: kept for this test.
    model.collect_rollouts(model.env, model._test_callback, model.rollout_buffer, model.n_steps)  # type: ignore[attr-defined]


def weights(model: Any) -> list[NDArray[np.float32]]:
    return [p.detach().numpy().copy() for p in model.policy.parameters()]


def nim_answers(model: SelfPlayPPO) -> tuple[dict[int, int], dict[int, float]]:
    """The likeliest number of stones to take, and the value, with each number of stones left."""
    best, value = {}, {}
    for stones in range(1, Nim.most + 1):
        seen = torch.zeros(1, 11)
        seen[0, stones] = seen[0, 10] = 1.0
        legal = (torch.arange(1, 4) <= stones).unsqueeze(0)
        with torch.no_grad():
            logits, values = forward(model.policy, seen)
        best[stones] = 1 + int(masked_log_probabilities(logits, legal).argmax())
        value[stones] = float(values)
    return best, value


# --- It learns -------------------------------------------------------------------------------------------------------


def test_learns_a_game_whose_answer_is_known():
    model = learner(Nim(64), n_epochs=4)
    model.learn(25_000)
    best, value = nim_answers(model)
    assert {s: best[s] for s in best if s % 4} == {s: s % 4 for s in best if s % 4}
    assert all((value[s] > 0.5) if s % 4 else (value[s] < -0.5) for s in value)


def test_without_the_losers_reward_it_does_not_learn_that_game():
    # The control of the test above: pay only the seat that acts, as a naive wrapper does.
    class Naive(Nim):
        def move(self, i: int, action: int) -> bool:
            seat = self.seat[i]
            over = super().move(i, action)
            self.rewards[i, np.arange(2) != seat] = 0.0
            return over

    model = learner(Naive(64), n_epochs=4)
    model.learn(25_000)
    _, value = nim_answers(model)
    assert all(value[s] > -0.5 for s in value)


def test_learns_beside_opponents_whose_moves_it_does_not_study():
    model = learner(Nim(64), n_epochs=4, opponents=pool(RandomPolicy()), opponent_share=1.0)
    model.learn(12_000)
    best, _ = nim_answers(model)
    # Against a random player much wins; what wins at once must have been found.
    assert [best[s] for s in (1, 2, 3)] == [1, 2, 3]


def test_same_seed_same_weights_and_another_seed_other_weights():
    def trained(seed: int) -> list[NDArray[np.float32]]:
        torch.rand(7)  # whatever others drew from the global generators must not matter
        two = pool(RandomPolicy(), RandomPolicy("other"))
        model = learner(Knockout(16), seed=seed, opponents=two, opponent_share=0.5, workers=2)
        model.learn(1_000)
        return weights(model)

    first, second, other = trained(3), trained(3), trained(4)
    assert all((a == b).all() for a, b in zip(first, second, strict=True))
    assert any((a != b).any() for a, b in zip(first, other, strict=True))


# --- It is sb3-contrib's PPO -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("normalize", [True, False])
def test_update_equals_sb3_contribs(workers, normalize):
    """The stock `train` on the same rollout: the same losses, and in the end the same weights."""
    settings = {
        "normalize_advantage": normalize,
        "ent_coef": 0.03,
        "clip_range": 0.15,
        "vf_coef": 0.7,
        "waiting_values": False,  # ours alone
    }
    ours = learner(Knockout(24), workers=workers, opponents=pool(RandomPolicy()), opponent_share=0.5, **settings)
    collect(ours)
    before = weights(ours)
    stock = learner(Knockout(24), **settings)
    stock.set_logger(configure(None, []))
    stock.policy.load_state_dict(ours.policy.state_dict())
    stock.rollout_buffer = ours.rollout_buffer
    assert 0 < ours.rollout_buffer.size() < 24 * 16

    ours.rollout_buffer.rng = np.random.default_rng(8)
    ours.train()
    ours.rollout_buffer.rng = np.random.default_rng(8)
    MaskablePPO.train(stock)

    mine, theirs = ours.logger.name_to_value, stock.logger.name_to_value
    assert mine["train/policy_gradient_loss"] == pytest.approx(theirs["train/policy_gradient_loss"], abs=1e-5)
    assert mine["train/value_loss"] == pytest.approx(theirs["train/value_loss"], rel=1e-4)
    assert mine["train/entropy"] == pytest.approx(-theirs["train/entropy_loss"], rel=1e-4)
    assert mine["train/explained_variance"] == pytest.approx(theirs["train/explained_variance"], rel=1e-4)
    moved = max(np.abs(a - b).max() for a, b in zip(weights(ours), before, strict=True))
    apart = max(np.abs(a - b).max() for a, b in zip(weights(ours), weights(stock), strict=True))
    assert apart < 0.02 * moved


def test_forward_pass_equals_the_policy_class():
    model = learner(Knockout(24))
    collect(model)
    rows = slice(0, 50)
    buffer = model.rollout_buffer
    observations, masks, actions = buffer.observation_rows[rows], buffer.mask_rows[rows], buffer.action_rows[rows]
    with torch.no_grad():
        values, log_probs, entropy = model.policy.evaluate_actions(observations, actions, masks)
        logits, own_values = forward(model.policy, observations)
        own = masked_log_probabilities(logits, masks)
    assert entropy is not None
    torch.testing.assert_close(own_values, values.flatten())
    torch.testing.assert_close(own.gather(1, actions[:, None])[:, 0], log_probs)
    torch.testing.assert_close(buffer.log_prob_rows[rows], log_probs)
    torch.testing.assert_close(buffer.value_rows[rows], values.flatten())


def test_stops_an_update_that_strays_too_far():
    model = learner(Knockout(16), target_kl=1e-9, learning_rate=0.05)
    collect(model)
    model.train()
    assert model._n_updates == 2  # of n_epochs = 3; the first step starts from no divergence


def test_a_gradient_that_is_not_finite_is_an_error_and_changes_nothing():
    model = learner(Knockout(16), n_epochs=1, batch_size=None)
    collect(model)
    before = weights(model)
    model.rollout_buffer.return_rows[5] = float("nan")
    with pytest.raises(TrainingError, match=r"gradient is nan .* smaller ppo.learning_rate"):
        model.train()
    assert all((a == b).all() for a, b in zip(before, weights(model), strict=True))


def test_minibatches_are_equal_parts_and_hold_every_decision_once():
    model = learner(Knockout(10))
    collect(model)
    rows = list(model.rollout_buffer.minibatches(50))
    assert {len(r) for r in rows} <= {53, 54}  # 160 decisions in three parts
    assert sorted(torch.cat(rows).tolist()) == list(range(160))


# --- What it must never do -------------------------------------------------------------------------------------------


def test_the_learner_never_sees_an_opponents_observation():
    """Knockout's observation says who is looking: rows of the learner by the learner's seats, opponents by theirs."""
    opponent = RandomPolicy()
    batch = Knockout(24)
    model = learner(batch, opponents=pool(opponent), opponent_share=1.0)
    collect(model)
    buffer = model.rollout_buffer
    learner_steps = buffer.step_learner
    looking = buffer.observation_rows[: buffer.size(), :4].argmax(dim=1).numpy()
    to_move = buffer.observation_rows[: buffer.size(), 4:8].argmax(dim=1).numpy()
    assert (looking == buffer.step_seats[learner_steps]).all()
    assert (to_move == looking).all()
    shown = np.concatenate(opponent.seen)
    assert len(shown) == (~learner_steps).sum() > 100
    assert sorted(shown[:, :4].argmax(axis=1)) == sorted(buffer.step_seats[~learner_steps])
    # A table's seats do not change hands within a rollout.
    for table in range(24):
        mine = set(buffer.step_seats[learner_steps[:, table], table])
        theirs = set(buffer.step_seats[~learner_steps[:, table], table])
        assert not mine & theirs


def test_the_value_at_the_rollouts_end_is_that_of_the_seats_own_view(monkeypatch):
    batch = Knockout(24)
    model = learner(batch)
    collect(model)
    asked: list[NDArray[np.float32]] = []

    def values(policy: Any, observations: torch.Tensor) -> torch.Tensor:
        asked.append(observations.numpy().copy())
        return observations[:, :4].argmax(dim=1).float() + 10.0

    monkeypatch.setattr("training.ppo.forward_values", values)
    result = model._last_values(np.zeros((24, 4), np.int8))
    expected = np.where(batch.out, 0.0, 10.0 + np.arange(4))
    assert batch.out.any()
    np.testing.assert_array_equal(result, expected)
    assert sum(map(len, asked)) == (~batch.out).sum()


def test_waiting_seats_teach_the_value_what_they_see_and_what_they_got():
    batch = Knockout(24)
    model = learner(batch, opponents=pool(RandomPolicy()), opponent_share=0.5)
    for _ in range(2):  # the first rollout begins with new games, the second in the middle of some
        collect(model)
    buffer = model.rollout_buffer
    seen = buffer.waiting_observations[: buffer.num_waiting]
    looking, to_move = seen[:, :4].argmax(dim=1).numpy(), seen[:, 4:8].argmax(dim=1).numpy()
    seats, tables = np.nonzero(buffer.waiting_seats.T)
    assert (looking == seats).all()
    assert (to_move == buffer.step_seats[0][tables]).all()
    assert (looking != to_move).all()
    assert 24 < len(seats) < 24 * 3  # less those of opponents and those out
    for row in range(len(seats)):
        # Where the seat decides before anything is paid to anybody there, it is as good as that decision.
        seat, table = seats[row], tables[row]
        first = int(np.argmax((buffer.step_seats[:, table] == seat) | buffer.step_done[:, table]))
        if buffer.step_seats[first, table] == seat and not buffer.step_rewards[:first, table, seat].any():
            decision = int(buffer.step_learner[:first].sum() + buffer.step_learner[first, :table].sum())
            assert buffer.waiting_returns[row] == pytest.approx(float(buffer.return_rows[decision]), abs=1e-5)
            break
    else:
        pytest.fail("no such seat")


def test_waiting_seats_change_the_value_and_not_the_policy():
    """With separate networks what waiting seats teach must not reach the policy's weights."""
    settings = {
        "policy_kwargs": policy_kwargs(NetworkConfig(shared=(), policy=(32,), value=(32,))),
        "max_grad_norm": 1e9,
    }
    models = [learner(Knockout(24), waiting_values=waiting, **settings) for waiting in (True, False)]
    for model in models:
        collect(model)
        assert (model.rollout_buffer.num_waiting > 0) == model.waiting_values
        # The ignore below: a stand-in.
        model.rollout_buffer.minibatches = lambda batch_size: iter([torch.arange(200)])  # type: ignore[method-assign]
        model.train()
    for (name, with_them), without in zip(
        models[0].policy.named_parameters(), models[1].policy.parameters(), strict=True
    ):
        assert torch.equal(with_them, without) == ("value" not in name), name


def test_the_mask_is_the_seat_to_moves():
    """Knockout's mask follows from the seat to move and the clock, which the observation tells."""
    model = learner(Knockout(24), opponents=pool(RandomPolicy()), opponent_share=0.5)
    collect(model)
    buffer = model.rollout_buffer
    seen = buffer.observation_rows[: buffer.size()].numpy()
    clock = np.rint(seen[:, 8] * 10).astype(int)
    seat = buffer.step_seats[buffer.step_learner]
    expected = (clock[:, None] + np.arange(4)) % 3 != 0
    expected[np.arange(len(seen)), seat] = True
    np.testing.assert_array_equal(buffer.mask_rows[: buffer.size()].numpy(), expected)
    assert buffer.mask_rows[: buffer.size()][torch.arange(len(seen)), buffer.action_rows[: buffer.size()]].all()


def test_an_empty_mask_never_reaches_the_sampler():
    class Broken(Knockout):
        def legal(self, i: int) -> NDArray[np.int8]:
            return super().legal(i) * np.int8(not (i == 5 and self.clock[i] == 3))

    model = learner(Broken(8))
    with pytest.raises(ValueError, match=r"table 5: the seat to move has no legal action \(empty mask\)"):
        collect(model)


def test_a_table_that_ends_before_the_learner_moved_gives_no_rows():
    class Short(Knockout):
        """Over after one move."""

        def move(self, i: int, action: int) -> bool:
            super().move(i, action)
            return True

    model = learner(Short(16), opponents=pool(RandomPolicy()), opponent_share=1.0)
    collect(model)
    buffer = model.rollout_buffer
    assert 0 < buffer.size() == buffer.step_learner.sum() < buffer.step_learner.size
    paid = np.take_along_axis(buffer.step_rewards, buffer.step_seats[:, :, None], axis=2)[:, :, 0]
    np.testing.assert_allclose(buffer.returns, paid[buffer.step_learner], rtol=1e-5)


def test_a_rollout_without_a_decision_of_the_learner_changes_nothing():
    model = learner(Knockout(2), opponents=pool(RandomPolicy()), opponent_share=1.0)
    collect(model)
    before = weights(model)
    model.rollout_buffer.reset()  # as if opponents had made every move
    model.train()
    assert all((a == b).all() for a, b in zip(before, weights(model), strict=True))


def test_every_seat_of_the_learner_contributes():
    model = learner(Nim(8))
    collect(model)
    assert model.rollout_buffer.size() == 8 * 16
    assert set(model.rollout_buffer.step_seats.ravel()) == {0, 1}


def test_training_without_masks_is_refused():
    model = learner(Nim(4))
    with pytest.raises(ValueError, match="use_masking = False is not allowed"):
        model.learn(100, use_masking=False)


def test_stops_when_told_to_with_whole_weights():
    calls = iter(range(10**9))
    model = learner(Knockout(16), stop=lambda: next(calls) > 40)
    model.learn(10**6)
    assert 16 * 16 <= model.num_timesteps < 100 * 16
    assert all(np.isfinite(w).all() for w in weights(model))


# --- Sampling and seating --------------------------------------------------------------------------------------------


def test_sampling_follows_the_distribution_and_is_always_legal():
    torch.manual_seed(0)
    logits, masks = torch.randn(6, 9) * 3, torch.rand(6, 9) < 0.6
    masks[:, 0], masks[:, 8], masks[2] = False, False, False
    masks[2, 4] = True
    log_probabilities = masked_log_probabilities(logits, masks)
    grid = (torch.arange(20_000, dtype=torch.float32) + 0.5) / 20_000
    for row in range(6):
        drawn = sample(log_probabilities[row].expand(len(grid), 9), grid)
        shares = torch.bincount(drawn, minlength=9) / len(grid)
        torch.testing.assert_close(shares, log_probabilities[row].exp(), atol=2e-4, rtol=0.0)
    for extreme in (0.0, np.nextafter(np.float32(1), np.float32(0))):
        drawn = sample(log_probabilities, torch.full((6,), float(extreme)))
        assert masks[torch.arange(6), drawn].all()


def test_opponents_sit_in_every_seat_and_leave_one_to_the_learner():
    rng = np.random.default_rng(0)
    seating = np.concatenate([seat_opponents(rng, 40, 4, 0.25, 3) for _ in range(200)])
    mixed = (seating != 0).any(axis=1)
    assert mixed.sum() == 2000  # exactly a quarter of the tables
    assert (seating == 0).any(axis=1).all()
    counts = np.bincount((seating[mixed] != 0).sum(axis=1), minlength=4)
    assert counts[0] == 0
    assert (counts[1:] > 550).all()  # one, two, three opponents
    for seat in range(4):
        assert (np.bincount(seating[mixed][:, seat], minlength=4)[1:] > 250).all()  # each of three opponents


def test_no_opponents_no_share():
    assert not seat_opponents(np.random.default_rng(0), 10, 4, 0.5, 0).any()
    assert not seat_opponents(np.random.default_rng(0), 10, 4, 0.0, 3).any()
    assert not seat_opponents(np.random.default_rng(0), 10, 1, 0.5, 3).any()


def test_each_opponent_is_asked_once_a_step_for_all_its_tables():
    first, second = RandomPolicy("first"), RandomPolicy("second")
    observation = np.arange(12, dtype=np.float32).reshape(6, 2)
    actions = np.full(6, -1, np.int64)
    who = np.array([0, 1, 2, 2, 0, 1])
    opponent_actions(actions, who, observation, np.ones((6, 3), np.int8), [first, second], np.random.default_rng(0))
    assert [seen.tolist() for seen in first.seen] == [observation[[1, 5]].tolist()]
    assert [seen.tolist() for seen in second.seen] == [observation[[2, 3]].tolist()]
    assert (actions >= 0).tolist() == (who != 0).tolist()


def test_the_pool_draws_different_ones_of_both_kinds_and_keeps_only_those_in_use():
    loaded: list[str] = []

    def load(name: str) -> RandomPolicy:
        loaded.append(name)
        return RandomPolicy(name)

    opponents = OpponentPool(["a", "b"], snapshots=True, distinct=3, load=load)
    assert loaded == ["a", "b"]
    rng = np.random.default_rng(1)
    assert sorted(p.name for p in opponents.draw(rng)) == ["a", "b"]
    for step in range(50):
        opponents.add_snapshot(f"step_{step}")
    seen: dict[str, int] = {}
    for _ in range(300):
        names = [p.name for p in opponents.draw(rng)]
        assert len(set(names)) == 3
        for name in names:
            seen[name] = seen.get(name, 0) + 1
    assert len(opponents._drawn) <= 3
    assert min(seen["a"], seen["b"]) > 150  # half of each draw is scripted while they last
    assert len(seen) == 52  # and every snapshot was met


def test_a_snapshot_that_has_gone_is_named():
    def load(name: str) -> RandomPolicy:
        raise ValueError(f"no policy {name!r}")

    opponents = OpponentPool([], snapshots=True, distinct=1, load=load)
    opponents.add_snapshot("step_1")
    with pytest.raises(TrainingError, match="the opponent step_1 cannot be loaded: no policy 'step_1'"):
        opponents.draw(np.random.default_rng(0))


def test_a_pool_without_snapshots_forgets_them():
    opponents = OpponentPool([], snapshots=False, distinct=1, load=RandomPolicy)
    opponents.add_snapshot("step_1")
    assert opponents.draw(np.random.default_rng(0)) == []
