"""What ``gymnasium.make`` and ``gymnasium.make_vec`` call: a seat against opponents by name, path, or as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from coyote_env.core.arguments import shown
from coyote_env.core.seat import SeatEnv, SeatVectorEnv
from coyote_env.policies.registry import Player, make_game, resolve

if TYPE_CHECKING:
    from coyote_env.core.game import Game


def env(
    game: str,
    *,
    opponents: Sequence[Player] = ("random",),
    seat: int | str = "random",
    illegal_action: str = "forfeit",
    render_mode: str | None = None,
    **rules: Any,
) -> SeatEnv:
    """``SeatEnv`` of the game of that name, its arguments given by ``rules``."""
    made = make_game(game, rules)
    return SeatEnv(made, _opponents(opponents, made), seat, illegal_action, render_mode)


def vector_env(
    game: str,
    num_envs: int,
    *,
    opponents: Sequence[Player] = ("random",),
    seat: int | str = "random",
    illegal_action: str = "forfeit",
    render_mode: str | None = None,
    **rules: Any,
) -> SeatVectorEnv:
    """``SeatVectorEnv`` of the game of that name, its arguments given by ``rules``."""
    made = make_game(game, rules)
    return SeatVectorEnv(made, num_envs, _opponents(opponents, made), seat, illegal_action, render_mode)


def _opponents(opponents: Sequence[Player], game: Game) -> list[Any]:
    if isinstance(opponents, str) or not isinstance(opponents, Sequence):
        allowed = "a list of names, checkpoint folders, Policies or callables"
        raise ValueError(f"opponents = {shown(opponents)}; allowed: {allowed}")
    return resolve(opponents, game, "opponents")
