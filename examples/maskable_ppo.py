"""MaskablePPO of sb3-contrib on one seat, as its documentation has it; then games against the same opponents.

    python examples/maskable_ppo.py --steps 10000

A fair share at this table of two is 50%.
"""

from __future__ import annotations

import argparse
from typing import Any

import gymnasium
import numpy as np
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks

import coyote_env  # noqa: F401  # registers the environments


def main() -> None:
    """Train, play, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=10_000, help="decisions to learn from; default: %(default)s")
    parser.add_argument("--games", type=int, default=500, help="games to play afterwards; default: %(default)s")
    parser.add_argument("--opponent", default="random", help="a scripted player or a checkpoint; default: %(default)s")
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # for networks of this size more are no faster, and many times slower on a busy machine
    table: dict[str, Any] = {"num_players": 2, "lives": 1, "opponents": [arguments.opponent]}

    env = gymnasium.make("coyote_env/Coyote-v0", **table)
    model = MaskablePPO("MlpPolicy", env, gamma=1.0, n_steps=1024, ent_coef=0.01, seed=0)
    model.learn(arguments.steps)

    returns = []
    for game in range(arguments.games):
        observation, _ = env.reset(seed=1_000_000 + game)
        total, ended = 0.0, False
        while not ended:
            action, _ = model.predict(observation, action_masks=get_action_masks(env))
            observation, reward, ended, _, _ = env.step(action)
            total += float(reward)
        returns.append(total)
    print(f"won {np.mean(np.array(returns) > 0):.1%} of {len(returns)} games against {arguments.opponent}")


if __name__ == "__main__":
    main()
