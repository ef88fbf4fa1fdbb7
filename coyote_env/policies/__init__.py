"""Policies: scripted players by name, published networks by path. See `load_policy`."""

from coyote_env.policies.checkpoint import CheckpointPolicy
from coyote_env.policies.policy import Policy, PolicyError
from coyote_env.policies.registry import GAMES, Player, load_policy, make_game, resolve, scripted_names

__all__ = [
    "GAMES",
    "CheckpointPolicy",
    "Player",
    "Policy",
    "PolicyError",
    "load_policy",
    "make_game",
    "resolve",
    "scripted_names",
]
