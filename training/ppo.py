"""MaskablePPO that learns from every seat it plays.

sb3-contrib's algorithm is kept, and so is its loss (tests hold both equal to it). What changes is where experience
comes from: at a table the acting seat changes with every move, so advantages follow each seat's own decisions
(``advantages.py``), seats of frozen opponents are left out, and the loops work on preallocated arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.type_aliases import MaybeCallback
from stable_baselines3.common.utils import explained_variance
from stable_baselines3.common.vec_env import VecEnv
from torch import Tensor

from coyote_env.policies import Policy

from .buffer import SelfPlayBuffer
from .config import NetworkConfig
from .errors import TrainingError
from .inputs import Inputs
from .loss import TERMS, draw, loss_and_gradient
from .magnet import Magnet
from .network import ActionHead, forward, forward_logits, policy_kwargs, policy_network, widen
from .opponents import OpponentPool
from .seating import LEARNER, Seating
from .vec_env import SelfPlayVecEnv
from .workers import Workers


class SelfPlayPPO(MaskablePPO):
    """MaskablePPO at tables where the learner holds several seats, and frozen opponents some of the others.

    Arguments beyond MaskablePPO's:
        network: takes the place of MaskablePPO's policy and its arguments.
        env: a ``SelfPlayVecEnv``.
        n_steps: moves per table and rollout, whoever makes them. ``num_timesteps`` counts the learner's decisions.
        ent_coef: a number, or a function of the remaining progress (1 to 0), as the learning rate may be.
        opponents, opponent_share, learner_alone, opponents_alike: the pool of opponents, the share of tables that seat
            some, whether these take all seats but one, and the share of games in which they are the same one (see
            ``Seating``).
        magnet: "none", "ema" or "periodic", see ``Magnet``; with its weight in the loss, decay (or a function of the
            remaining progress) and period.
        teacher: a player that is asked what it would do where the learner decided; the loss has the cross-entropy of
            its answers with weight `teacher_weight`, a function of the remaining progress. It is not asked at weight 0.
        workers: number of worker threads.
        stop: asked between moves and between gradient steps; once it says True, learning ends at once, with the
            policy of the last complete gradient step.
    """

    rollout_buffer: SelfPlayBuffer

    def __init__(
        self,
        network: NetworkConfig,
        env: SelfPlayVecEnv,
        *,
        opponents: OpponentPool | None = None,
        opponent_share: float = 0.0,
        learner_alone: bool = False,
        opponents_alike: float = 0.0,
        magnet: str = "none",
        magnet_weight: float = 0.05,
        magnet_decay: float | Callable[[float], float] = 0.95,
        magnet_period: int = 50,
        teacher: Policy | None = None,
        teacher_weight: Callable[[float], float] = lambda _: 1.0,
        workers: int = 1,
        stop: Callable[[], bool] = lambda: False,
        ent_coef: float | Callable[[float], float] = 0.01,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        # One stream for each purpose: drawing one more opponent must not change the actions sampled.
        streams = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(4))
        self.action_rng, self.opponent_rng, self.seating_rng, self.teacher_rng = streams
        self.opponents = opponents
        self.batch = env.batch
        self.workers = Workers(workers)
        self.stop = stop
        self.entropy_schedule = ent_coef if callable(ent_coef) else (lambda _: float(ent_coef))
        game = env.batch.game
        num_seats = int(game.num_seats)
        head = None
        if network.action_head and game.action_rows:
            head = ActionHead(game.layout, game.action_rows, int(game.num_actions))
        untouched = [] if head is None else [where for where, _, _ in head.parts]
        self.inputs = Inputs(
            game.layout.size,
            int(game.num_actions),
            sees_mask=network.sees_mask,
            standardise=network.standardise,
            as_it_is=untouched,
        )
        self.seating = Seating(game, opponents, opponent_share, env.num_envs, learner_alone, opponents_alike)
        super().__init__(
            "MlpPolicy",
            env,
            policy_kwargs=policy_kwargs(network, self.inputs.size),
            seed=seed,
            ent_coef=self.entropy_schedule(1.0),
            device="cpu",
            rollout_buffer_class=SelfPlayBuffer,
            rollout_buffer_kwargs={"num_seats": num_seats, "seed": seed, "inputs": self.inputs},
            **kwargs,
        )
        if head is not None:
            widen(self.policy, head)
        self.magnet = None
        if magnet != "none":
            self.magnet = Magnet(policy_network(self.policy), magnet, magnet_period)
        self.magnet_decay = magnet_decay if callable(magnet_decay) else (lambda _: float(magnet_decay))
        self.magnet_weight = magnet_weight
        self._references: Tensor | None = None  # the magnet's log probabilities of the rollout's decisions
        self.teacher, self.teacher_schedule = teacher, teacher_weight
        self._teacher_weight = 0.0
        self._teacher_actions: Tensor | None = None  # what the teacher would have done at the rollout's decisions
        self.games = 0  # finished so far, at all tables
        self.game_length = np.zeros(env.num_envs, np.int64)  # moves made in the running games

    def _setup_learn(
        self,
        total_timesteps: int,
        callback: MaybeCallback = None,
        reset_num_timesteps: bool = True,
        tb_log_name: str = "run",
        progress_bar: bool = False,
    ) -> tuple[int, BaseCallback]:
        if reset_num_timesteps or self._last_obs is None:  # then SB3 deals anew at every table
            self.rollout_buffer.forget()
            self.seating.returns[:] = 0.0
            self.game_length[:] = 0
        return super()._setup_learn(total_timesteps, callback, reset_num_timesteps, tb_log_name, progress_bar)

    def collect_rollouts(
        self,
        env: VecEnv,
        callback: BaseCallback,
        rollout_buffer: RolloutBuffer,
        n_rollout_steps: int,
        use_masking: bool = True,
    ) -> bool:
        """Play `n_rollout_steps` moves at every table and compute advantages. False if told to stop."""
        assert isinstance(env, SelfPlayVecEnv)
        assert isinstance(rollout_buffer, SelfPlayBuffer)
        if not use_masking:
            raise ValueError("use_masking = False is not allowed; these games need the mask of legal actions")
        batch, buffer = env.batch, rollout_buffer
        self.policy.set_training_mode(False)
        callback.on_rollout_start()  # the state is written here, open decisions with it
        buffer.reset()
        seating, seats_of = self.seating, self.seating.seats
        seating.begin_rollout(self.seating_rng)
        tables = np.arange(batch.num_tables)
        actions = np.zeros(batch.num_tables, np.int64)
        lengths: list[NDArray[np.int64]] = []
        for _ in range(n_rollout_steps):
            if self.stop():
                return False
            who = seats_of[tables, batch.seat]
            learner = who == LEARNER
            mine = np.flatnonzero(learner)
            rows = buffer.open_rows(batch.observation, batch.action_mask, mine)
            actions[mine] = self._decide(rows)
            seating.act(actions, who, batch, self.opponent_rng)
            seats = batch.seat.copy()
            batch.step(actions)
            buffer.record_step(seats, learner, batch.rewards, batch.done)
            seating.paid(batch.rewards, batch.done, self.seating_rng)
            self.num_timesteps += len(mine)
            self.game_length += 1
            if batch.done.any():
                lengths.append(self.game_length[batch.done])
                self.game_length[batch.done] = 0
            if not callback.on_step():
                return False
        buffer.finish(batch.out)
        self._log_rollout(lengths)
        callback.on_rollout_end()
        return True

    def _decide(self, rows: slice) -> NDArray[np.int64]:
        """Sample actions int64[n] for the observations in `rows` of the buffer, and store all about them."""
        buffer = self.rollout_buffer
        count = rows.stop - rows.start
        uniform = self.action_rng.random(count, np.float32)

        def work(part: slice) -> None:
            where = slice(rows.start + part.start, rows.start + part.stop)
            with torch.inference_mode():
                logits, values = forward(self.policy, buffer.input_rows[where])
                buffer.value_rows[where] = values
            draw(
                logits.numpy(),
                buffer.mask_rows.numpy()[where],
                uniform[part],
                buffer.action_rows.numpy()[where],
                buffer.log_prob_rows.numpy()[where],
            )

        if count:
            self.workers.map_rows(work, count)
        return buffer.action_rows.numpy()[rows]

    def _log_rollout(self, lengths: list[NDArray[np.int64]]) -> None:
        ended = np.concatenate(lengths) if lengths else np.zeros(0, np.int64)
        self.games += len(ended)
        if len(ended):
            self.logger.record("rollout/game_length", float(ended.mean()))
        self.logger.record("rollout/games", self.games)
        self.logger.record("rollout/learner_share", float(self.rollout_buffer.step_learner.mean()))
        if self.opponents is not None:
            met = [opponent for opponent in self.opponents.opponents.values() if opponent.games]
            for opponent in met:
                if opponent.scripted:
                    self.logger.record(f"pool/{opponent.name}", opponent.score)
            scores = [opponent.score for opponent in met if not opponent.scripted]
            if scores:
                self.logger.record("pool/snapshots", float(np.mean(scores)))
                self.logger.record("pool/hardest_snapshot", min(scores))

    def train(self) -> None:
        """Update the policy on the rollout: sb3-contrib's loss, minibatches shared among the workers."""
        buffer, policy = self.rollout_buffer, self.policy
        if not buffer.size():  # opponents made every move of a short rollout
            return
        policy.set_training_mode(True)
        self._update_learning_rate(policy.optimizer)
        clip_range = cast(Callable[[float], float], self.clip_range)(self._current_progress_remaining)
        self.ent_coef = self.entropy_schedule(self._current_progress_remaining)
        parameters = [p for p in policy.parameters() if p.requires_grad]
        made = slice(0, buffer.size())
        observations, masks = buffer.observation_rows[made], buffer.mask_rows[made]
        if self.magnet is not None:
            self._references = self.magnet.log_probabilities(buffer.input_rows[made], masks, self.workers)
        self._teacher_weight = self.teacher_schedule(self._current_progress_remaining)
        self._teacher_actions = None
        if self.teacher is not None and self._teacher_weight > 0:
            self._teacher_actions = self._ask(self.teacher, observations, masks)
        totals: list[NDArray[np.float64]] = []
        going = True
        for _ in range(self.n_epochs):
            for rows in buffer.minibatches(self.batch_size):
                if self.stop():
                    return
                gradients, terms = self._gradients(rows, parameters, clip_range)
                totals.append(terms)
                if self.target_kl is not None and float(terms[TERMS.index("kl")]) > 1.5 * self.target_kl:
                    going = False
                    break
                for parameter, gradient in zip(parameters, gradients, strict=True):
                    parameter.grad = gradient
                norm = torch.nn.utils.clip_grad_norm_(parameters, self.max_grad_norm)
                if not torch.isfinite(norm):
                    rate = policy.optimizer.param_groups[0]["lr"]
                    raise TrainingError(
                        f"the gradient is {float(norm)} after {self.num_timesteps:,} steps; "
                        "a smaller ppo.learning_rate or ppo.max_grad_norm may help",
                        remedy=f" --set ppo.learning_rate={rate / 2:.1g} --set ppo.learning_rate_end={rate / 4:.1g}",
                    )
                policy.optimizer.step()
            self._n_updates += 1
            if not going:
                break
        if self.magnet is not None:
            self.magnet.follow(self.magnet_decay(self._current_progress_remaining))
        # Only now: what the rollout was decided by, and the update, are of one piece.
        buffer.count_in()
        policy_loss, value_loss, entropy, kl, clipped, magnet_kl, teacher_cross_entropy = np.mean(
            totals, axis=0
        ).tolist()
        self.logger.record("train/policy_gradient_loss", policy_loss)
        self.logger.record("train/value_loss", value_loss)
        self.logger.record("train/entropy", entropy)
        self.logger.record("train/approx_kl", kl)
        self.logger.record("train/clip_fraction", clipped)
        self.logger.record("train/explained_variance", float(explained_variance(buffer.values, buffer.returns)))
        self.logger.record("train/entropy_weight", float(self.ent_coef))
        if self.magnet is not None:
            self.logger.record("train/magnet_kl", magnet_kl)
        if self._teacher_actions is not None:
            agreed = (self._teacher_actions == buffer.action_rows[made]).float().mean()
            self.logger.record("train/teacher_weight", self._teacher_weight)
            self.logger.record("train/teacher_cross_entropy", teacher_cross_entropy)
            self.logger.record("train/teacher_agreement", float(agreed))
        self.logger.record("train/updates", self._n_updates)

    def predict(
        self,
        observation: NDArray[np.float32] | dict[str, NDArray[np.float32]],
        state: tuple[NDArray[np.generic], ...] | None = None,
        episode_start: NDArray[np.bool_] | None = None,
        deterministic: bool = False,
        action_masks: NDArray[np.generic] | None = None,
    ) -> tuple[NDArray[np.int64], tuple[NDArray[np.generic], ...] | None]:
        """As MaskablePPO's: actions int64[B] for observations float32[B, L] and masks [B, A] (or one without the B).

        Raises ValueError without masks: the network sees them, and these games need them.
        """
        if isinstance(observation, dict) or action_masks is None:
            raise ValueError("predict takes an array of observations, and action_masks=, the legal actions")
        seen, masks = np.atleast_2d(observation), np.atleast_2d(action_masks) != 0
        actions = self.sample(seen, masks, torch.rand(len(seen)).numpy(), deterministic)
        return actions.reshape(np.shape(observation)[:-1]), state

    def sample(
        self,
        observations: NDArray[np.float32],
        masks: NDArray[np.bool_],
        uniform: NDArray[np.float32],
        deterministic: bool = False,
    ) -> NDArray[np.int64]:
        """Actions int64[B] of the policy as it is, by B numbers in [0, 1), or the likeliest ones."""
        with torch.inference_mode():
            logits = forward_logits(self.policy, self.inputs(observations, masks))
        actions, log_probabilities = np.empty(len(logits), np.int64), np.empty(len(logits), np.float32)
        draw(logits.numpy(), masks, uniform, actions, log_probabilities)
        if deterministic:
            actions = np.where(masks, logits.numpy(), -np.inf).argmax(axis=1)
        return actions

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Refused: SB3's files are pickles."""
        raise TypeError("SelfPlayPPO has no save(); training.checkpoint writes policies, training.state whole runs")

    @classmethod
    def load(cls, *args: Any, **kwargs: Any) -> Any:
        """Refused: SB3's files are pickles."""
        raise TypeError("SelfPlayPPO has no load(); coyote_env.load_policy reads policies, --resume goes on with runs")

    def _ask(self, teacher: Policy, observations: Tensor, masks: Tensor) -> Tensor:
        """What the teacher would do, int64[B]; each worker asks with a generator of its own."""
        seed = int(self.teacher_rng.integers(2**63))
        answers = torch.empty(len(observations), dtype=torch.int64)

        def work(part: slice) -> None:
            rng = np.random.default_rng([seed, part.start])
            chosen = teacher.act(observations[part].numpy(), masks[part].numpy().view(np.int8), rng)
            answers[part] = torch.from_numpy(chosen)

        self.workers.map_rows(work, len(observations))
        return answers

    def _gradients(
        self, rows: Tensor, parameters: Sequence[Tensor], clip_range: float
    ) -> tuple[list[Tensor], NDArray[np.float64]]:
        """Gradients of the loss on one minibatch, and the means of its terms, float64[7] (see ``TERMS``)."""
        buffer = self.rollout_buffer
        count = len(rows)
        advantages = buffer.advantage_rows[rows]
        if self.normalize_advantage and count > 1:
            advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)

        references = np.zeros((0, buffer.mask_rows.shape[1]), np.float32)
        if self._references is not None:
            references = self._references.numpy()
        teacher_actions = np.zeros(0, np.int64)
        if self._teacher_actions is not None:
            teacher_actions = self._teacher_actions.numpy()

        def work(part: slice) -> tuple[tuple[Tensor, ...], NDArray[np.float64]]:
            mine = rows[part]
            logits, values = forward(self.policy, buffer.input_rows[mine])
            sums = np.empty(len(TERMS), np.float64)
            slopes = [torch.empty_like(logits), torch.empty_like(values)]
            # Sums over the part divided by the size of the whole: parts add up to the mean over the minibatch.
            loss_and_gradient(
                logits.detach().numpy(),
                values.detach().numpy(),
                mine.numpy(),
                buffer.mask_rows.numpy(),
                buffer.action_rows.numpy(),
                buffer.log_prob_rows.numpy(),
                advantages[part].numpy(),
                buffer.return_rows.numpy(),
                references,
                teacher_actions,
                clip_range,
                self.ent_coef,
                self.vf_coef,
                self.magnet_weight,
                self._teacher_weight,
                1.0 / count,
                sums,
                *(slope.numpy() for slope in slopes),
            )
            return torch.autograd.grad([logits, values], parameters, slopes), sums / count

        parts = self.workers.map_rows(work, count)
        gradients = list(parts[0][0])
        for other, _ in parts[1:]:
            for total, gradient in zip(gradients, other, strict=True):
                total += gradient
        return gradients, np.sum([terms for _, terms in parts], axis=0)
