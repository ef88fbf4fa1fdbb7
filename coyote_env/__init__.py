"""Bluffing card games for multi-agent reinforcement learning, as PettingZoo, Gymnasium and batch environments.

Importing this registers them with PettingZoo and Gymnasium and loads nothing heavy.
"""

from gymnasium import register as _register_seat
from pettingzoo import register as _register

__version__ = "0.1.0"

_register("aec", "coyote_env/coyote_v0", "coyote_env.coyote_v0:env")

# One seat, the others played by policies: Gymnasium's name -> ours (coyote_env.policies.GAMES).
for _name, _game in (("coyote_env/Coyote-v0", "coyote_v0"),):
    _register_seat(
        _name,
        entry_point="coyote_env.policies.seat:env",
        vector_entry_point="coyote_env.policies.seat:vector_env",
        kwargs={"game": _game},
    )
