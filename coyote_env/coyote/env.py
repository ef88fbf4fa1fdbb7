"""COYOTE's faces: its rules bound to the engine, as the package's envs, batches and policies take them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..core.aec import GameEnv
from ..core.arguments import flag, rules_of
from ..core.batch import Batch
from ..core.game import Game
from . import engine, render
from .layout import action_rows_of, actions_of, layout_of
from .rules import Rules
from .tally import Tally

NAME = "coyote_v0"


def _prepare(game: Game, options: Mapping[str, Any], tape: NDArray[np.int8]) -> int:
    """Checks reset's options ``starter`` and ``draws``; the draws go onto the tape."""
    starter = options.get("starter")
    first = -1 if starter is None else game.check_seat(starter, "options['starter']")
    draws = options.get("draws")
    draws = () if draws is None else draws
    if isinstance(draws, (str, bytes)) or not hasattr(draws, "__iter__"):
        raise ValueError(f"options['draws'] must be a list of faces, not {draws!r}")
    faces = game.config.faces
    wanted = [str(face) for face in draws]
    for place, face in enumerate(wanted):
        if face not in faces:
            raise ValueError(f"options['draws'][{place}] is {face!r}; the deck has {', '.join(faces)}")
    if len(wanted) > len(tape):
        raise ValueError(f"options['draws'] has {len(wanted)} faces; a game of these rules draws at most {len(tape)}")
    tape[: len(wanted)] = [faces.index(face) for face in wanted]
    return first


def _failure(game: Game, code: int) -> Exception:
    face = game.config.faces[-2 - code]
    return ValueError(f"options['draws']: {face!r} is due now, but none is left in the pile; nothing has changed")


def game(*, odds: bool = False, **rules: Any) -> Game:
    """COYOTE with rules chosen: ``odds`` adds the odds section to observations, the rest goes to ``Rules``."""
    odds = flag("odds", odds)
    chosen = rules_of(Rules, rules, ["odds"])
    names, first = actions_of(chosen)
    return Game(
        name=NAME,
        maker=game,
        kwargs=chosen.as_dict() | {"odds": odds},
        sight=("odds",),
        config=chosen,
        rules=engine.pack(chosen, odds, first),
        num_seats=chosen.num_players,
        layout=layout_of(chosen, odds),
        action_names=tuple(names),
        action_id={name: a for a, name in enumerate(names)},
        action_rows=action_rows_of(chosen, odds, first),
        state_dtype=engine.STATE,
        tape_size=chosen.max_draws,
        outcomes=chosen.faces,
        longest_game=chosen.longest_game,
        return_bounds=chosen.return_bounds,
        deal=engine.deal_many,
        step=engine.step_many,
        legal_mask=engine.legal_mask_many,
        observe=engine.observe_many,
        redeal=engine.redeal_many,
        prepare=_prepare,
        failure=_failure,
        check_state=engine.check_state,
        tally=Tally,
        render_text=render.text,
        render_image=render.image,
    )


class CoyoteEnv(GameEnv):
    """COYOTE as a PettingZoo AEC environment; arguments are those of ``Rules``, and ``odds``."""

    metadata: ClassVar[dict[str, Any]] = {
        "name": NAME, "render_modes": ["ansi", "human", "rgb_array"], "is_parallelizable": False, "render_fps": 1,
    }  # fmt: skip

    def __init__(self, *, illegal_action: str = "raise", render_mode: str | None = None, **kwargs: Any) -> None:
        super().__init__(game(**kwargs), illegal_action, render_mode)

    def total_distribution(self, seat: int) -> dict[int, float]:
        """Exact distribution of the total from what ``seat`` knows: total -> probability, totals ascending.

        Its own hidden cards, a `?` draw and the specials are enumerated; cards that counting gives away are known.
        The cost grows with the number of ways to draw what is hidden: with one `?` in the deck about a millionth of a
        second, many in a custom deck are slow.
        """
        self._check_started()
        viewer = self.game.check_seat(seat, "seat")
        bounds = [self.game.config.total_bounds(live) for live in range(2, self.game.num_seats + 1)]
        lowest, largest = min(low for low, _ in bounds), max(high for _, high in bounds)
        probabilities = np.zeros(largest - lowest + 1)
        engine.seat_distribution(self.game.rules, self._states, viewer, lowest, probabilities)
        return {lowest + int(t): float(probabilities[t]) for t in np.flatnonzero(probabilities)}


def batch(num_tables: int, *, illegal_action: str = "raise", **kwargs: Any) -> Batch:
    """``num_tables`` tables at once; the same arguments as ``env``, without rendering."""
    return Batch(game(**kwargs), num_tables, illegal_action)
