"""What the tests of the AEC face share: configurations, random legal play, and traces to compare."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from coyote_env import coyote_v0, scout_v0

FACES: dict[str, Any] = {"coyote_v0": coyote_v0, "scout_v0": scout_v0}

# Arguments of coyote_v0.env that between them reach every branch of the constructor; names are test ids.
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "two": {"num_players": 2},
    "three-placement": {"num_players": 3, "reward": "placement"},
    "six-round": {"num_players": 6, "reward": "round", "reshuffle": "every_round"},
    "ten-plain": {"num_players": 10, "deck": "classic-36", "variants": "none", "lives": 1},
    "idem-again": {"num_players": 4, "variants": ["idem", "again"], "starter": "after_loser", "starter_if_out": "left"},
    "first-loss": {"num_players": 5, "game_end": "first_loss", "lives": 2},
    "odds": {"num_players": 3, "odds": True},
    "custom-deck": {"num_players": 3, "deck": {"?": 2, "x2": 2, "max-": 1, "4": 3, "-3": 2, "0": 1}},
    "mini": {"edition": "mini"},
    "mini-three": {"edition": "mini", "num_players": 3, "reward": "placement"},
    "animals": {"edition": "animals", "num_players": 3},
    "peek": {"edition": "peek", "num_players": 3, "odds": True},
    "trickster": {"edition": "trickster", "variants": "all", "reward": "round"},
}

# The same of scout_v0.env, and of both games: arguments of make_env.
SCOUT_CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "scout": {},
    "scout-two": {"num_players": 2, "exemption": "rulebook"},
    "scout-three-round": {"num_players": 3, "reward": "round", "exemption": "rulebook"},
    "scout-five-placement": {"num_players": 5, "reward": "placement", "rounds": 2},
    "scout-fits-stall": {"num_players": 4, "fits": True, "stall_limit": 3},
}
BOTH_GAMES: dict[str, dict[str, Any]] = {
    **CONFIGURATIONS,
    **{name: {"game": "scout_v0", **arguments} for name, arguments in SCOUT_CONFIGURATIONS.items()},
}


def make_env(game: str = "coyote_v0", **arguments: Any) -> Any:
    """An env of either game."""
    return FACES[game].env(**arguments)


def make_batch(num_tables: int, game: str = "coyote_v0", **arguments: Any) -> Any:
    """A batch of either game."""
    return FACES[game].batch(num_tables, **arguments)


def legal(observation: dict[str, Any]) -> np.ndarray:
    """Ids of the legal actions of an observation, int64[k]."""
    return np.flatnonzero(observation["action_mask"])


def pick(observation: dict[str, Any], rng: np.random.Generator) -> int:
    """A random legal action. Bids are thinned out, so that rounds last and every kind of action comes up."""
    ids = legal(observation)
    few = ids[: max(8, int(rng.integers(4, 24)))]
    return int(rng.choice(few))


def play(env: Any, rng: np.random.Generator, turns: int = 10**9) -> Iterator[tuple[str, int]]:
    """Plays random legal actions to the end of the running game (at most ``turns``), dead steps included.

    Yields (agent, action) after each live step.
    """
    while env.agents and turns > 0:
        agent = env.agent_selection
        observation, _, terminated, truncated, _ = env.last()
        if terminated or truncated:
            env.step(None)
            continue
        action = pick(observation, rng)
        env.step(action)
        turns -= 1
        yield agent, action


def finish(env: Any, rng: np.random.Generator) -> dict[str, float]:
    """Plays the running game to its last dead step; returns the sum of what ``last()`` handed to each agent."""
    handed = dict.fromkeys(env.possible_agents, 0.0)
    while env.agents:
        agent = env.agent_selection
        observation, reward, terminated, _, _ = env.last()
        handed[agent] += reward
        env.step(None if terminated else pick(observation, rng))
    return handed


def snapshot(env: Any) -> list[Any]:
    """All that the API shows at this moment, as values that compare with ``==``."""
    seen: list[Any] = [list(env.agents), env.agent_selection if env.agents else None]
    for agent in env.possible_agents:
        observation = env.observe(agent)
        seen.append((observation["observation"].tobytes(), observation["action_mask"].tobytes()))
    for agent in env.agents:
        info = {key: np.asarray(value).tobytes() for key, value in env.infos[agent].items()}
        seen.append((env.rewards[agent], env._cumulative_rewards[agent], env.terminations[agent], info))
    return seen


def trace(env: Any, rng: np.random.Generator, turns: int) -> str:
    """Digest of ``turns`` turns of random play over as many games as they need; resets without a seed in between."""
    digest = hashlib.sha256()
    for _ in range(turns):
        if not env.agents:
            env.reset()
        observation, reward, terminated, _, info = env.last()
        action = None if terminated else pick(observation, rng)
        for part in (observation["observation"], observation["action_mask"], info["action_mask"]):
            digest.update(part.tobytes())
        digest.update(f"{env.agent_selection} {reward!r} {terminated} {action}".encode())
        env.step(action)
    return digest.hexdigest()
