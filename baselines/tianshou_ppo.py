"""PPO of Tianshou on one seat of a task, the task's opponents in the others.

    python -m baselines.tianshou_ppo --task coyote-4p-bayes --steps 500000 --out tianshou.onnx

Through the Gymnasium face, natively for many tables, and not through Tianshou's PettingZooEnv: there a seat learns only
from what it is paid in the very step of its own move, and the end of a game is marked for the last to move alone. At
these tables most losses fall in somebody else's move.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from tianshou.algorithm import PPO
from tianshou.algorithm.modelfree.reinforce import ProbabilisticActorPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.trainer import OnPolicyTrainerParams
from tianshou.utils.net.common import AbstractDiscreteActor
from torch import nn

import coyote_env  # noqa: F401  # registers the environments
from baselines import common

TABLES = 256


class Tables:
    """Our vector environment as one of Tianshou's, in as far as its collector asks.

    An observation is one array, what a seat sees and then its mask: a Dict would be taken apart and put together again
    in Python for every row. Our tables deal the next game in the step that ended one; Tianshou wants to see the end,
    and asks for the next game by `reset`.
    """

    is_async = False

    def __init__(self, name: str, table: dict[str, Any], seed: int) -> None:
        self.envs = gymnasium.make_vec(name, num_envs=TABLES, **table)
        self.action_space = [self.envs.single_action_space] * TABLES
        self.seed = seed
        self.next: Any = None  # what the seats to move see

    def __len__(self) -> int:
        return TABLES

    def _infos(self) -> Any:
        return np.array([{} for _ in range(TABLES)])

    def reset(self, env_id: Any = None, **_: Any) -> tuple[Any, Any]:
        """The first view of the games that these tables have dealt already, or of the very first at all of them."""
        if self.next is None:
            observation, info = self.envs.reset(seed=self.seed)
            self.next = np.concatenate([observation, info["action_mask"]], axis=1)
        chosen = slice(None) if env_id is None else env_id
        return self.next[chosen], self._infos()[chosen]

    def step(self, action: Any, id: Any = None) -> tuple[Any, Any, Any, Any, Any]:  # noqa: A002  # Tianshou's name
        """One step at all tables."""
        assert id is None or len(id) == TABLES
        observation, rewards, ended, cut, info = self.envs.step(action)
        self.next = np.concatenate([observation, info["action_mask"]], axis=1)
        shown = self.next.copy()
        for i in np.flatnonzero(ended):
            shown[i] = 0  # nothing is legal at the end
            shown[i, : observation.shape[1]] = info["final_obs"][i]
        return shown, rewards, ended, cut, self._infos()

    def close(self) -> None:
        """Nothing to close."""


class Actor(AbstractDiscreteActor):
    """Logits, those of illegal actions masked. `inputs`: how many numbers a seat sees, before the mask."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(outputs)
        self.inputs = inputs
        self.layers = common.layers(inputs, outputs)

    def get_preprocess_net(self) -> Any:
        """Asked for by Tianshou, to share layers with a critic; there are none to share."""
        raise NotImplementedError

    def forward(self, obs: Any, state: Any = None, info: Any = None) -> tuple[torch.Tensor, Any]:
        """Logits of a batch, and no state."""
        rows = torch.as_tensor(obs)
        return common.masked(self.layers(rows[:, : self.inputs]), rows[:, self.inputs :]), state


class Critic(nn.Module):
    """Values."""

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.inputs = inputs
        self.layers = common.layers(inputs, 1)

    def forward(self, obs: Any, **_: Any) -> torch.Tensor:
        """Values of a batch."""
        values: torch.Tensor = self.layers(torch.as_tensor(obs)[:, : self.inputs])
        return values


def main() -> None:
    """Train, write."""
    arguments = common.arguments(__doc__)
    name, table = common.seat_of(arguments.task)
    game = common.game_of(arguments.task)
    np.random.seed(arguments.seed)  # noqa: NPY002  # Tianshou shuffles minibatches by the global generator

    actor = Actor(game.layout.size, game.num_actions)
    policy = ProbabilisticActorPolicy(
        actor=actor,
        dist_fn=lambda logits: torch.distributions.Categorical(logits=logits),
        action_space=spaces.Discrete(game.num_actions),
        action_scaling=False,
        action_bound_method=None,
    )
    algorithm: PPO = PPO(
        policy=policy,
        critic=Critic(game.layout.size),
        optim=AdamOptimizerFactory(lr=common.learning_rate(0)),
        eps_clip=common.CLIP,
        vf_coef=common.VALUE_WEIGHT,
        ent_coef=common.entropy(0),
        max_grad_norm=common.MAX_GRAD_NORM,
        gae_lambda=common.GAE_LAMBDA,
        gamma=common.GAMMA,
        max_batchsize=common.MINIBATCH,
    )
    tables: Any = Tables(name, table, arguments.seed)
    progress = common.Progress(arguments.steps)

    def set_rates(epoch: int, done: int) -> None:
        share = min(1.0, done / arguments.steps)
        algorithm.ent_coef = common.entropy(share)
        for group in algorithm.optim._optim.param_groups:  # Tianshou's own schedule ends at 0
            group["lr"] = common.learning_rate(share)
        progress.show(done)

    algorithm.run_training(
        OnPolicyTrainerParams(
            training_collector=Collector(algorithm, tables, VectorReplayBuffer(2 * common.ROLLOUT, TABLES)),
            max_epochs=1,
            epoch_num_steps=arguments.steps,
            collection_step_num_env_steps=common.seat_rollout(arguments.task, arguments.steps),
            update_step_num_repetitions=common.EPOCHS,
            batch_size=common.MINIBATCH,
            training_fn=set_rates,
            show_progress=False,
            verbose=False,
        )
    )
    progress.show(arguments.steps)
    common.write(actor.layers, game, arguments.out)


if __name__ == "__main__":
    main()
