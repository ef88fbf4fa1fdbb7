"""DQN of Stable-Baselines3 on one seat. It knows no masks, so this shows where they have to go: into the observation,
for the network, and by a callback into the space that exploration draws from.

    python examples/dqn.py --steps 10000

A fair share at this table of two is 50%.
"""

from __future__ import annotations

import argparse
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3 import DQN
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.dqn.policies import MultiInputPolicy, QNetwork

import coyote_env  # noqa: F401  # registers the environments


class MaskInObservation(gymnasium.Wrapper):
    """The observation as a Dict of ``observation`` and ``action_mask``."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        assert isinstance(env.action_space, spaces.Discrete)
        mask = spaces.Box(0, 1, (int(env.action_space.n),), np.int8)
        self.observation_space = spaces.Dict([("observation", env.observation_space), ("action_mask", mask)])

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        """As the wrapped environment's."""
        observation, info = self.env.reset(**kwargs)
        return {"observation": observation, "action_mask": info["action_mask"]}, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """As the wrapped environment's."""
        observation, reward, ended, cut, info = self.env.step(action)
        return {"observation": observation, "action_mask": info["action_mask"]}, reward, ended, cut, info


class MaskedQNetwork(QNetwork):
    """Illegal actions are worth too little to be chosen, now and in the target; at the end all are worth the same."""

    def forward(self, obs: Any) -> torch.Tensor:
        """Values float32 (rows, A)."""
        values = super().forward(obs)
        return torch.where(obs["action_mask"] != 0, values, torch.full_like(values, -1e3))


class MaskedPolicy(MultiInputPolicy):
    """DQN's policy with such networks."""

    def make_q_net(self) -> MaskedQNetwork:
        """A network; DQN makes two, the second as its target."""
        arguments = self._update_features_extractor(self.net_args, features_extractor=None)
        return MaskedQNetwork(**arguments).to(self.device)


class MaskedActions(spaces.Discrete):
    """Action ids of which only those of ``mask`` are drawn."""

    legal: np.ndarray | None = None

    def sample(self, *args: Any, **kwargs: Any) -> Any:
        """A legal action."""
        return super().sample(mask=self.legal)


class MaskExploration(BaseCallback):
    """Tells DQN's action space what is legal, before each action that it draws."""

    def _on_training_start(self) -> None:
        old = self.model.action_space
        assert isinstance(old, spaces.Discrete)
        self.model.action_space = MaskedActions(int(old.n), seed=0)
        self._look()

    def _on_step(self) -> bool:
        self._look()
        return True

    def _look(self) -> None:
        assert isinstance(self.model.action_space, MaskedActions)
        self.model.action_space.legal = self.training_env.env_method("action_masks")[0].astype(np.int8)


def main() -> None:
    """Train, play, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=10_000, help="decisions to learn from; default: %(default)s")
    parser.add_argument("--games", type=int, default=500, help="games to play afterwards; default: %(default)s")
    parser.add_argument("--opponent", default="random", help="a scripted player or a checkpoint; default: %(default)s")
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # for networks of this size more are no faster, and many times slower on a busy machine
    table: dict[str, Any] = {"num_players": 2, "lives": 1, "opponents": [arguments.opponent], "illegal_action": "raise"}

    env = MaskInObservation(gymnasium.make("coyote_env/Coyote-v0", **table))
    model = DQN(
        MaskedPolicy, env, gamma=1.0, learning_rate=5e-4, learning_starts=500, exploration_fraction=0.3,
        target_update_interval=1_000, policy_kwargs={"normalize_images": False}, seed=0,
    )  # fmt: skip
    model.learn(arguments.steps, callback=MaskExploration())

    won = 0
    for game in range(arguments.games):
        observation, _ = env.reset(seed=1_000_000 + game)
        total, ended = 0.0, False
        while not ended:
            action, _ = model.predict(observation, deterministic=True)
            observation, reward, ended, _, _ = env.step(action)
            total += float(reward)
        won += total > 0
    print(f"won {won / arguments.games:.1%} of {arguments.games} games against {arguments.opponent}")


if __name__ == "__main__":
    main()
