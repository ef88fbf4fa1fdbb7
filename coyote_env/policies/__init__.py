"""Policies: scripted players by name, published networks by path. See `load_policy`."""

from coyote_env.policies.checkpoint import CheckpointPolicy
from coyote_env.policies.policy import Policy, PolicyError
from coyote_env.policies.registry import GAMES, load_policy, make_game, scripted_names

__all__ = ["GAMES", "CheckpointPolicy", "Policy", "PolicyError", "load_policy", "make_game", "scripted_names"]
