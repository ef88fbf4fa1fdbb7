"""Bluffing card games for multi-agent reinforcement learning, as PettingZoo, Gymnasium and batch environments.

Importing this registers them with PettingZoo and Gymnasium and loads nothing heavy.
"""

from gymnasium import register as _register_seat
from pettingzoo import register as _register

__version__ = "0.1.0"

# Gymnasium's name, of one seat at a table where policies play the others -> ours, of the whole table (PettingZoo).
for _seat, _game in (("coyote_env/Coyote-v0", "coyote_v0"), ("coyote_env/Scout-v0", "scout_v0")):
    _register("aec", f"coyote_env/{_game}", f"coyote_env.{_game}:env")
    _register_seat(
        _seat,
        entry_point="coyote_env.policies.seat:env",
        vector_entry_point="coyote_env.policies.seat:vector_env",
        kwargs={"game": _game},
    )
