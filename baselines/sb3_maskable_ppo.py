"""MaskablePPO of sb3-contrib on one seat of a task, the task's opponents in the others: the usual route.

    python -m baselines.sb3_maskable_ppo --task coyote-4p-bayes --steps 500000 --out sb3.onnx

Through the Gymnasium face, natively for many tables. (`examples/maskable_ppo.py` is the same on one table after the
other, as Stable-Baselines3 makes its own vector environments; here that takes about three times as long.)
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv
from torch import nn

import coyote_env  # noqa: F401  # registers the environments
from baselines import common

TABLES = 256


class Tables(VecEnv):
    """Our vector environment as one of Stable-Baselines3's. Both deal the next game in the step that ended one."""

    def __init__(self, name: str, table: dict[str, Any], seed: int) -> None:
        self.envs: Any = gymnasium.make_vec(name, num_envs=TABLES, **table)
        self.first_seed = seed
        self.actions: Any = None
        assert isinstance(self.envs.single_action_space, spaces.Discrete)
        super().__init__(TABLES, self.envs.single_observation_space, self.envs.single_action_space)

    def reset(self) -> Any:
        """The first games."""
        return self.envs.reset(seed=self.first_seed)[0]

    def step_async(self, actions: np.ndarray) -> None:
        """Keeps the actions for `step_wait`."""
        self.actions = actions

    def step_wait(self) -> tuple[Any, Any, Any, list[dict[str, Any]]]:
        """One step at all tables."""
        observation, rewards, ended, _, info = self.envs.step(self.actions)
        infos: list[dict[str, Any]] = [{} for _ in range(TABLES)]
        for i in np.flatnonzero(ended):
            infos[i]["terminal_observation"] = info["final_obs"][i]
        return observation, rewards.astype(np.float32), ended, infos

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """`action_masks`, which is all that MaskablePPO calls, a row for each table."""
        return list(getattr(self.envs, method_name)(*method_args, **method_kwargs))

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute, the same for all tables."""
        return [getattr(self.envs, attr_name)] * TABLES

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Refused: nothing here is to be set."""
        raise NotImplementedError

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """No table is."""
        return [False] * TABLES

    def close(self) -> None:
        """Closes the tables."""
        self.envs.close()


class Follow(BaseCallback):
    """Sets the entropy bonus, for which Stable-Baselines3 has no schedule, and says how far the run is."""

    def __init__(self, progress: common.Progress) -> None:
        super().__init__()
        self.progress = progress

    def _on_rollout_start(self) -> None:
        assert isinstance(self.model, MaskablePPO)
        self.model.ent_coef = common.entropy(self.num_timesteps / self.progress.steps)
        self.progress.show(self.num_timesteps)

    def _on_step(self) -> bool:
        return True


def main() -> None:
    """Train, write."""
    arguments = common.arguments(__doc__)
    name, table = common.seat_of(arguments.task)
    model = MaskablePPO(
        "MlpPolicy",
        Tables(name, table, arguments.seed),
        learning_rate=lambda left: common.learning_rate(1 - left),
        n_steps=max(1, common.seat_rollout(arguments.task, arguments.steps) // TABLES),
        batch_size=common.MINIBATCH,
        n_epochs=common.EPOCHS,
        gamma=common.GAMMA,
        gae_lambda=common.GAE_LAMBDA,
        clip_range=common.CLIP,
        ent_coef=common.entropy(0),
        vf_coef=common.VALUE_WEIGHT,
        max_grad_norm=common.MAX_GRAD_NORM,
        policy_kwargs={"net_arch": list(common.HIDDEN), "activation_fn": nn.ReLU},
        seed=arguments.seed,
        device="cpu",
    )
    progress = common.Progress(arguments.steps)
    model.learn(arguments.steps, callback=Follow(progress))
    progress.show(model.num_timesteps)
    policy = model.policy
    common.write(
        nn.Sequential(policy.mlp_extractor.policy_net, policy.action_net), common.game_of(arguments.task), arguments.out
    )


if __name__ == "__main__":
    main()
