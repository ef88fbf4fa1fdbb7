"""PPO of RLlib on every seat of a task's table: independent learners that share one policy, through PettingZoo.

    python -m baselines.rllib_ppo --task coyote-4p-bayes --steps 500000 --out rllib.onnx

RLlib's own PettingZooEnv hands each seat what it was paid since its last move, and at the end of a game everybody
their last reward. Nobody but the learner plays: the task's opponents are first met when the policy is submitted.
"""

from __future__ import annotations

from typing import Any

import ray
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.core.rl_module.torch import TorchRLModule
from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv
from ray.tune.registry import register_env

from baselines import common
from coyote_env import coyote_v0, scout_v0
from coyote_env.benchmark import task_of

TABLES = 256
FACES = {"coyote_v0": coyote_v0.env, "scout_v0": scout_v0.env}


class MaskedModule(TorchRLModule, ValueFunctionAPI):
    """Policy and value apart, illegal actions masked. RLlib calls it with batches of the Dict that a seat sees."""

    def setup(self) -> None:
        """Makes the networks."""
        size = self.observation_space["observation"].shape[0]
        self.policy = common.layers(size, int(self.action_space.n))
        self.value = common.layers(size, 1)

    def _forward(self, batch: dict[str, Any], **_: Any) -> dict[str, Any]:
        seen = batch[Columns.OBS]
        logits = self.policy(seen["observation"])
        return {Columns.ACTION_DIST_INPUTS: common.masked(logits, seen["action_mask"])}

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> torch.Tensor:
        """Values of a batch."""
        values: torch.Tensor = self.value(batch[Columns.OBS]["observation"])
        return values[:, 0]


def main() -> None:
    """Train, write."""
    arguments = common.arguments(__doc__)
    task, game = task_of(arguments.task), common.game_of(arguments.task)
    rules = common.rules_of(task)
    register_env("table", lambda _: PettingZooEnv(FACES[task.game](**rules)))
    # Tables, learner and driver in one process.
    ray.init(
        num_cpus=1,
        include_dashboard=False,
        object_store_memory=100_000_000,
        configure_logging=False,
        log_to_driver=False,
    )
    steps = arguments.steps
    config = (
        PPOConfig()
        .environment("table", disable_env_checking=True)  # the checker samples actions without their mask
        .env_runners(num_env_runners=0, num_envs_per_env_runner=TABLES, rollout_fragment_length="auto")
        .learners(num_learners=0)
        .multi_agent(policies={"shared"}, policy_mapping_fn=lambda agent, episode, **_: "shared")
        .rl_module(rl_module_spec=RLModuleSpec(module_class=MaskedModule))
        .training(
            train_batch_size_per_learner=min(common.ROLLOUT, steps),
            minibatch_size=common.MINIBATCH,
            num_epochs=common.EPOCHS,
            lr=[[0, common.learning_rate(0)], [steps, common.learning_rate(1)]],
            entropy_coeff=[[0, common.entropy(0)], [int(0.8 * steps), common.entropy(1)]],
            gamma=common.GAMMA,
            lambda_=common.GAE_LAMBDA,
            clip_param=common.CLIP,
            vf_loss_coeff=common.VALUE_WEIGHT,
            vf_clip_param=float("inf"),
            grad_clip=common.MAX_GRAD_NORM,
            grad_clip_by="global_norm",
            use_kl_loss=False,
        )
        .debugging(seed=arguments.seed, log_level="ERROR")
    )
    algorithm = config.build_algo()
    progress, done = common.Progress(steps), 0
    while done < steps:
        result = algorithm.train()
        done = int(result["env_runners"]["num_env_steps_sampled_lifetime"])
        progress.show(done)
    module = algorithm.get_module("shared")
    assert module is not None
    common.write(module.policy, game, arguments.out)
    algorithm.stop()
    ray.shutdown()


if __name__ == "__main__":
    main()
