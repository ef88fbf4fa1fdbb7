"""Self-play PPO: it learns a game whose answer is known, it is sb3-contrib's PPO, and what it must never do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger

from tests.toy_games import Knockout, Nim, RandomPolicy
from training.config import NetworkConfig
from training.errors import TrainingError
from training.loss import TERMS
from training.magnet import Magnet
from training.network import PolicyNetwork, forward, forward_logits, masked_log_probabilities, policy_network
from training.opponents import OpponentPool
from training.ppo import SelfPlayPPO
from training.selfplay import linear
from training.vec_env import SelfPlayVecEnv

#: As sb3-contrib has it, which it is compared with.
SMALL = NetworkConfig(shared=(32,), policy=(32,), value=(32,), sees_mask=False, standardise=False)


def learner(batch: Any, network: NetworkConfig = SMALL, **kwargs: Any) -> SelfPlayPPO:
    settings: dict[str, Any] = {
        "n_steps": 16,
        "batch_size": 256,
        "n_epochs": 3,
        "gamma": 1.0,
        "learning_rate": 2e-3,
        "ent_coef": 0.01,
        "seed": 3,
    }
    return SelfPlayPPO(network, SelfPlayVecEnv(batch), **(settings | kwargs))


def pool(*policies: RandomPolicy, distinct: int = 2) -> OpponentPool:
    by_name = {policy.name: policy for policy in policies}
    return OpponentPool(list(by_name), by_name.__getitem__, snapshots=False, distinct=distinct)


class Silent(BaseCallback):
    def _on_step(self) -> bool:
        return True


def collect(model: SelfPlayPPO) -> None:
    """One rollout as `learn` would make it, without an update."""
    if model._last_obs is None:
        model.set_logger(Logger(None, []))
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


class LoserPays(Nim):
    """The winner gets nothing: all that there is to learn from reaches a seat after the other one's move."""

    def move(self, i: int, action: int) -> bool:
        over = super().move(i, action)
        self.rewards[i] = np.minimum(self.rewards[i], 0.0)
        return over


class Naive(LoserPays):
    """Pays only the seat that acts, as a wrapper that turns seats into one agent does."""

    def move(self, i: int, action: int) -> bool:
        seat = self.seat[i]
        over = super().move(i, action)
        self.rewards[i, np.arange(2) != seat] = 0.0
        return over


@pytest.mark.parametrize("game", [LoserPays, Naive])
def test_what_a_seat_is_paid_after_another_seats_move_reaches_its_own(game):
    model = learner(game(64), n_epochs=4)
    model.learn(25_000)
    best, value = nim_answers(model)
    wrong = [s for s in best if s % 4 and best[s] != s % 4]
    if game is LoserPays:
        assert not wrong
        assert all((value[s] > -0.5) if s % 4 else (value[s] < -0.5) for s in value)
    else:
        assert wrong


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
    }
    ours = learner(Knockout(24), workers=workers, opponents=pool(RandomPolicy()), opponent_share=0.5, **settings)
    collect(ours)
    before = weights(ours)
    stock = learner(Knockout(24), **settings)
    stock.set_logger(Logger(None, []))
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


def mean_term(model: SelfPlayPPO, name: str) -> float:
    """Of the loss of the whole rollout."""
    parameters = [p for p in model.policy.parameters() if p.requires_grad]
    _, terms = model._gradients(torch.arange(model.rollout_buffer.size()), parameters, 0.2)
    return float(terms[TERMS.index(name)])


@pytest.mark.parametrize("workers", [1, 2])
def test_a_magnets_pull_is_the_divergence_from_it(workers):
    model = learner(Knockout(24), magnet="periodic", magnet_weight=0.3, workers=workers)
    collect(model)
    magnet = model.magnet
    assert magnet is not None
    with torch.no_grad():
        for parameter in magnet.network.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    buffer = model.rollout_buffer
    rows = slice(0, buffer.size())
    references = magnet.log_probabilities(buffer.observation_rows[rows], buffer.mask_rows[rows], model.workers)
    with torch.no_grad():
        logits = forward_logits(model.policy, buffer.observation_rows[rows])
        masks = buffer.mask_rows[rows]
        own = torch.distributions.Categorical(logits=logits.masked_fill(~masks, -1e8))
        theirs = torch.distributions.Categorical(
            logits=magnet.network(buffer.observation_rows[rows]).masked_fill(~masks, -1e8)
        )
        expected = torch.distributions.kl_divergence(own, theirs)
    assert expected.mean() > 0.001
    assert mean_term(model, "magnet_kl") == 0.0
    model._references = references
    assert mean_term(model, "magnet_kl") == pytest.approx(float(expected.mean()), rel=1e-4)


def divergence_from_the_start(**settings: Any) -> float:
    """Mean KL of the policy after training in Nim from the policy before it."""
    model = learner(Nim(64), n_epochs=4, **settings)
    start = Magnet(policy_network(model.policy), "periodic", 10**9)
    model.learn(12_000)
    buffer = model.rollout_buffer
    rows = slice(0, buffer.size())
    observations, masks = buffer.observation_rows[rows], buffer.mask_rows[rows]
    references = start.log_probabilities(observations, masks, model.workers)
    with torch.no_grad():
        own = masked_log_probabilities(forward_logits(model.policy, observations), masks)
    return float((own.exp() * (own - references)).masked_fill(~masks, 0.0).sum(dim=1).mean())


def test_a_magnet_holds_the_policy_back_as_long_as_it_stays():
    free = divergence_from_the_start()
    assert free > 0.2
    assert divergence_from_the_start(magnet="periodic", magnet_weight=5.0, magnet_period=10**6) < 0.1 * free
    assert divergence_from_the_start(magnet="ema", magnet_weight=5.0, magnet_decay=1.0) < 0.1 * free
    # One that moves lets the policy go on.
    assert divergence_from_the_start(magnet="periodic", magnet_weight=0.5, magnet_period=1) > 0.5 * free
    assert divergence_from_the_start(magnet="ema", magnet_weight=0.5, magnet_decay=0.2) > 0.5 * free
    # The share that stays may be a schedule over the remaining progress, 1 to 0.
    resting = linear(0.2, 1.0, 0.05)
    assert divergence_from_the_start(magnet="ema", magnet_weight=5.0, magnet_decay=resting) < 0.3 * free


class Takes:
    """In Nim it takes as many stones as it may, but no more than `most`; it remembers how often it was asked."""

    name = "takes"

    def __init__(self, most: int = 3) -> None:
        self.most, self.asked = most, 0

    def act(
        self, observation: NDArray[np.float32], action_mask: NDArray[np.int8], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        assert action_mask.dtype == np.int8
        self.asked += len(observation)
        legal = action_mask.sum(axis=1).astype(np.int64)
        taken: NDArray[np.int64] = np.minimum(legal, self.most) - 1
        return taken


@pytest.mark.parametrize("workers", [1, 2])
def test_a_teachers_pull_is_the_cross_entropy_with_its_actions(workers):
    teacher = Takes(2)
    model = learner(Nim(24), teacher=teacher, workers=workers)
    collect(model)
    buffer = model.rollout_buffer
    rows = slice(0, buffer.size())
    masks = buffer.mask_rows[rows]
    lessons = model._ask(teacher, buffer.observation_rows[rows], masks)
    assert lessons.tolist() == (masks.sum(dim=1).clamp(max=2) - 1).tolist()
    with torch.no_grad():
        logits = forward_logits(model.policy, buffer.observation_rows[rows])
        expected = torch.nn.functional.cross_entropy(logits.masked_fill(~masks, -1e8), lessons, reduction="none")
    assert mean_term(model, "teacher_cross_entropy") == 0.0
    model._teacher_actions = lessons
    assert mean_term(model, "teacher_cross_entropy") == pytest.approx(float(expected.mean()), rel=1e-5)


def test_a_teacher_is_followed_while_its_weight_lasts_and_then_not_asked():
    """The teacher plays badly: a learner that follows it does, and one that has outgrown it does not."""
    teacher = Takes(1)
    model = learner(Nim(64), n_epochs=4, teacher=teacher, teacher_weight=lambda _: 2.0)
    model.learn(8_000)
    assert teacher.asked == model.num_timesteps - model.rollout_buffer.num_open
    assert set(nim_answers(model)[0].values()) == {1}
    teacher.asked = 0
    model = learner(Nim(64), n_epochs=4, teacher=teacher, teacher_weight=linear(1.0, 0.0, 0.25))
    model.learn(32_768)
    quarter = 0.25 * model.num_timesteps  # there its weight is 0
    assert quarter - 2 * 1024 < teacher.asked <= quarter - 1024
    best = nim_answers(model)[0]
    assert (best[2], best[3]) == (2, 3)  # it takes the last stones rather than the teacher's one


def test_a_magnet_follows_by_average_or_in_jumps():
    layer = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.zeros_(layer.weight)
    network = PolicyNetwork([layer])
    average, jumping = Magnet(network, "ema", 3), Magnet(network, "periodic", 3)
    seen: dict[str, list[float]] = {"ema": [], "periodic": []}
    torch.nn.init.ones_(layer.weight)
    for _ in range(4):
        for magnet in (average, jumping):
            magnet.follow(0.75)
            seen[magnet.kind].append(float(next(magnet.network.parameters())))
    assert seen == {"ema": [0.25, 0.4375, 0.578125, 0.68359375], "periodic": [0.0, 0.0, 1.0, 1.0]}


def test_an_entropy_bonus_keeps_the_policy_wide_and_its_schedule_ends_at_the_floor():
    ends = {}
    for weight in (0.0, 3.0):
        model = learner(Nim(64), n_epochs=4, ent_coef=weight)
        model.learn(12_000)
        ends[weight] = model.logger.name_to_value["train/entropy"]
    assert ends[0.0] < 0.5 * ends[3.0]
    schedule = linear(0.1, 0.02, 0.5)
    assert [schedule(1 - done) for done in (0.0, 0.25, 0.5, 1.0)] == pytest.approx([0.1, 0.06, 0.02, 0.02])
    model = learner(Nim(16), ent_coef=schedule, learning_rate=linear(1e-3, 1e-4, 1.0))
    model.learn(1_000)
    assert model.ent_coef == pytest.approx(0.02)
    assert model.policy.optimizer.param_groups[0]["lr"] == pytest.approx(1e-4)


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
    size = model.rollout_buffer.size()
    assert 125 < size < 160  # what is open is not among them
    assert {len(r) for r in rows} <= {size // 3, size // 3 + 1}
    assert sorted(torch.cat(rows).tolist()) == list(range(size))


# --- What it must never do -------------------------------------------------------------------------------------------


def test_the_learner_never_sees_an_opponents_observation():
    """Knockout's observation says who is looking: rows of the learner by the learner's seats, opponents by theirs."""
    opponent = RandomPolicy()
    batch = Knockout(24)
    model = learner(batch, opponents=pool(opponent), opponent_share=1.0)
    collect(model)
    buffer = model.rollout_buffer
    learner_steps = buffer.step_learner
    made = slice(0, buffer.size() + buffer.num_open)
    looking = buffer.observation_rows[made, :4].argmax(dim=1).numpy()
    to_move = buffer.observation_rows[made, 4:8].argmax(dim=1).numpy()
    assert (looking == buffer.row_seats[made]).all()
    assert sorted(looking) == sorted(buffer.step_seats[learner_steps])
    assert (to_move == looking).all()
    shown = np.concatenate(opponent.seen)
    assert len(shown) == (~learner_steps).sum() > 100
    assert sorted(shown[:, :4].argmax(axis=1)) == sorted(buffer.step_seats[~learner_steps])
    # A table's seats do not change hands within a game.
    for table in range(24):
        game: NDArray[np.int64] = np.cumsum(buffer.step_done[:, table]) - buffer.step_done[:, table]
        for number in range(game[-1] + 1):
            seats, learner_made = (a[game == number, table] for a in (buffer.step_seats, learner_steps))
            assert not set(seats[learner_made]) & set(seats[~learner_made])


def test_every_decision_is_learnt_from_once_and_with_what_came_of_it():
    """Decisions that are open at a rollout's end go on to the next one, as they were made."""
    model = learner(Knockout(24), n_steps=5, opponents=pool(RandomPolicy()), opponent_share=0.5)
    buffer = model.rollout_buffer
    fields = ("observation", "mask", "action", "log_prob", "value", "table", "seat")

    def parts(rows: slice) -> list[tuple[bytes, ...]]:
        return [tuple(buffer.rows()[name][row].tobytes() for name in fields) for row in range(rows.start, rows.stop)]

    made = learnt = 0
    left: list[tuple[bytes, ...]] = []
    for _ in range(12):
        collect(model)
        made += int(buffer.step_learner.sum())
        learnt += buffer.size()
        both = slice(0, buffer.size() + buffer.num_open)
        assert not set(left) - set(parts(both))  # what was open is there still, as it was
        places = buffer.row_tables[both] * 4 + buffer.row_seats[both]
        still = places[buffer.size() :]
        assert len(set(still.tolist())) == len(still)  # one a seat at the most
        left = parts(slice(buffer.size(), both.stop))
    assert learnt + buffer.num_open == made
    assert 0 < buffer.num_open <= 24 * 4


def test_tables_dealt_anew_leave_nothing_open():
    model = learner(Knockout(24))
    collect(model)
    assert model.rollout_buffer.num_open > 0
    model._setup_learn(10**9, Silent())
    assert model.rollout_buffer.num_open == model.rollout_buffer.size() == 0
    assert not model.game_length.any()
    assert not model.seating.returns.any()


def test_what_is_open_is_standardised_as_what_comes_later():
    standardised = replace(SMALL, standardise=True, sees_mask=True)
    model = learner(Knockout(24), standardised)
    for _ in range(2):
        collect(model)
        model.train()
        buffer = model.rollout_buffer
        rows = slice(buffer.size(), buffer.size() + buffer.num_open)
        expected = model.inputs(buffer.observation_rows[rows].numpy(), buffer.mask_rows[rows].numpy())
        torch.testing.assert_close(buffer.input_rows[rows], expected, atol=1e-5, rtol=1e-5)
        assert len(expected) > 0


def test_the_mask_is_the_seat_to_moves():
    """Knockout's mask follows from the seat to move and the clock, which the observation tells."""
    model = learner(Knockout(24), opponents=pool(RandomPolicy()), opponent_share=0.5)
    collect(model)
    buffer = model.rollout_buffer
    seen = buffer.observation_rows[: buffer.size()].numpy()
    clock = np.rint(seen[:, 8] * 10).astype(int)
    seat = buffer.row_seats[: buffer.size()]
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
    assert buffer.num_open == 0
    np.testing.assert_allclose(buffer.returns, paid[buffer.step_learner], rtol=1e-5)


def test_a_rollout_without_a_decision_of_the_learner_changes_nothing():
    model = learner(Knockout(2), opponents=pool(RandomPolicy()), opponent_share=1.0)
    collect(model)
    before = weights(model)
    model.rollout_buffer.forget()  # as if opponents had made every move
    model.train()
    assert all((a == b).all() for a, b in zip(before, weights(model), strict=True))


def test_every_seat_of_the_learner_contributes():
    model = learner(Nim(8))
    collect(model)
    assert model.rollout_buffer.size() + model.rollout_buffer.num_open == 8 * 16
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
