"""Bluffing card games for multi-agent reinforcement learning: COYOTE and SCOUT as PettingZoo and batch environments.

Importing this registers ``coyote_v0`` and ``scout_v0`` with PettingZoo and loads nothing heavy.
"""

from pettingzoo import register as _register

__version__ = "0.1.0"

_register("aec", "coyote_env/coyote_v0", "coyote_env.coyote_v0:env")
_register("aec", "coyote_env/scout_v0", "coyote_env.scout_v0:env")
