"""COYOTE, version 0: ``env()`` and ``raw_env()`` (PettingZoo AEC), ``batch()`` (many tables), ``game()`` (facts)."""

from .coyote.env import CoyoteEnv, batch, game

# One class is both: it makes the checks of PettingZoo's wrappers itself.
raw_env = CoyoteEnv
env = CoyoteEnv

__all__ = ["batch", "env", "game", "raw_env"]
