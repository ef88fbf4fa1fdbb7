"""SCOUT, version 0: ``env()`` and ``raw_env()`` (PettingZoo AEC), ``batch()`` (many tables), ``game()`` (facts)."""

from .scout.env import ScoutEnv, batch, game

# One class is both: it makes the checks of PettingZoo's wrappers itself.
raw_env = ScoutEnv
env = ScoutEnv

__all__ = ["batch", "env", "game", "raw_env"]
