"""PPO in one file, in CleanRL's manner, on 64 tables of the native vector environment; then games against opponents.

    python examples/ppo_loop.py --steps 50000

A fair share at this table of two is 50%.
"""

from __future__ import annotations

import argparse
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from torch import nn

import coyote_env  # noqa: F401  # registers the environments

TABLES, LENGTH, EPOCHS, PARTS = 64, 32, 4, 4
GAE_LAMBDA, CLIP, ENTROPY, VALUE = 0.95, 0.2, 0.01, 0.5  # games are short, so gamma is 1


class Agent(nn.Module):
    """Actor and critic apart."""

    def __init__(self, observation_size: int, num_actions: int) -> None:
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(observation_size, 64), nn.Tanh(), nn.Linear(64, num_actions))
        self.critic = nn.Sequential(nn.Linear(observation_size, 64), nn.Tanh(), nn.Linear(64, 1))

    def choices(self, observation: torch.Tensor, mask: torch.Tensor) -> torch.distributions.Categorical:
        """What it would do, legal actions only."""
        return torch.distributions.Categorical(logits=self.actor(observation).masked_fill(~mask, -1e9))


def main() -> None:
    """Train, play, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=50_000, help="decisions to learn from; default: %(default)s")
    parser.add_argument("--games", type=int, default=500, help="games to play afterwards; default: %(default)s")
    parser.add_argument("--opponent", default="random", help="a scripted player or a checkpoint; default: %(default)s")
    arguments = parser.parse_args()
    table: dict[str, Any] = {"num_players": 2, "lives": 1, "opponents": [arguments.opponent], "illegal_action": "raise"}

    torch.manual_seed(0)
    envs = gymnasium.make_vec("coyote_env/Coyote-v0", num_envs=TABLES, **table)
    assert isinstance(envs.single_observation_space, spaces.Box)
    assert isinstance(envs.single_action_space, spaces.Discrete)
    size, actions = envs.single_observation_space.shape[0], int(envs.single_action_space.n)
    agent = Agent(size, actions)
    optimizer = torch.optim.Adam(agent.parameters(), lr=1e-3, eps=1e-5)

    seen = torch.zeros(LENGTH, TABLES, size)
    masks = torch.zeros(LENGTH, TABLES, actions, dtype=torch.bool)
    taken, logs, rewards, values, ends = (torch.zeros(LENGTH, TABLES) for _ in range(5))
    observation, info = envs.reset(seed=0)
    for _ in range(max(1, arguments.steps // (LENGTH * TABLES))):
        for t in range(LENGTH):
            seen[t], masks[t] = torch.as_tensor(observation), torch.as_tensor(info["action_mask"] != 0)
            with torch.no_grad():
                choices = agent.choices(seen[t], masks[t])
                action = choices.sample()
                taken[t], logs[t], values[t] = action, choices.log_prob(action), agent.critic(seen[t])[:, 0]
            observation, reward, ended, _, info = envs.step(action.numpy())
            # SAME_STEP: where ended, `observation` is the next game's already. Games are never cut off, so the
            # last observation (info["final_obs"]) has the value 0 and is not needed.
            rewards[t], ends[t] = torch.as_tensor(reward), torch.as_tensor(ended)
        with torch.no_grad():
            following = agent.critic(torch.as_tensor(observation))[:, 0]
        advantages, running = torch.zeros(LENGTH, TABLES), torch.zeros(TABLES)
        for t in reversed(range(LENGTH)):
            delta = rewards[t] + following * (1 - ends[t]) - values[t]
            running = delta + GAE_LAMBDA * (1 - ends[t]) * running
            advantages[t], following = running, values[t]
        flat = [x.flatten(0, 1) for x in (seen, masks, taken, logs, advantages, advantages + values)]
        for _ in range(EPOCHS):
            for rows in torch.randperm(LENGTH * TABLES).chunk(PARTS):
                o, m, a, old, advantage, target = (x[rows] for x in flat)
                choices = agent.choices(o, m)
                ratio = (choices.log_prob(a) - old).exp()
                advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
                gain = torch.min(ratio * advantage, ratio.clamp(1 - CLIP, 1 + CLIP) * advantage).mean()
                miss = (agent.critic(o)[:, 0] - target).square().mean()
                loss = VALUE * miss - gain - ENTROPY * choices.entropy().mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()

    # Each table's first game only: who counts games as they end counts the short ones first.
    envs = gymnasium.make_vec("coyote_env/Coyote-v0", num_envs=arguments.games, **table)
    observation, info = envs.reset(seed=1_000_000)
    totals, playing = np.zeros(arguments.games), np.ones(arguments.games, bool)
    while playing.any():
        with torch.no_grad():
            choices = agent.choices(torch.as_tensor(observation), torch.as_tensor(info["action_mask"] != 0))
        observation, reward, ended, _, info = envs.step(choices.sample().numpy())
        totals += reward * playing
        playing &= ~ended
    print(f"won {np.mean(totals > 0):.1%} of {arguments.games} games against {arguments.opponent}")


if __name__ == "__main__":
    main()
