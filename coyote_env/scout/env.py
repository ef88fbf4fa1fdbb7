"""SCOUT's faces: its rules bound to the engine, as the package's envs, batches and policies take them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..core.aec import GameEnv
from ..core.arguments import flag, rules_of
from ..core.batch import Batch
from ..core.game import Game
from . import engine, render
from .layout import action_rows_of, actions_of, layout_of
from .rules import HIGHER, LOWER, Rules, card_of
from .tally import Tally

NAME = "scout_v0"
# Names of the outcomes of chance: a card and its upper number, in the order of engine.draw.
OUTCOMES = tuple(f"{a}/{b}" for low, high in zip(LOWER, HIGHER, strict=True) for a, b in ((low, high), (high, low)))


def _list(value: Any, what: str, most: int, fewer: bool = False) -> Sequence[Any]:
    """``value`` as a list of ``most`` entries (or ``fewer``); ``what`` names it in the ValueError if it is none."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, (list, tuple)) or (len(value) < most and not fewer) or len(value) > most:
        raise ValueError(f"{what} must be a list of {'at most ' if fewer else ''}{most}, not {value!r}")
    return value


def _prepare(game: Game, options: Mapping[str, Any], tape: NDArray[np.int8]) -> int:
    """Checks reset's options ``first`` and ``hands``; the hands go onto the tape."""
    rules: Rules = game.config
    first = options.get("first")
    starter = -1 if first is None else game.check_seat(first, "options['first']")
    hands = options.get("hands")
    place = 0
    used: set[int] = set()
    for k, dealt in enumerate(() if hands is None else _list(hands, "options['hands']", rules.rounds, fewer=True)):
        what = f"options['hands'][{k}]"
        if rules.num_players > 2:  # two seats play their second round with the cards left from the first
            used = set()
        for seat, hand in enumerate(_list(dealt, f"{what}, a round's hands by seat,", rules.num_players)):
            for c, pair in enumerate(_list(hand, f"{what}[{seat}], a seat's cards,", rules.deal)):
                where = f"{what}[{seat}][{c}]"
                upper, lower = _list(pair, f"{where}, a card's upper and lower number,", 2)
                for number in (upper, lower):
                    integer = isinstance(number, (int, np.integer)) and not isinstance(number, bool)
                    if not integer or not 1 <= number <= 10:
                        raise ValueError(f"{where}: a card's numbers are integers from 1 to 10, not {number!r}")
                if upper == lower or card_of(upper, lower) >= rules.deck_size:
                    raise ValueError(f"{where}: there is no card {upper}/{lower} in the deck of {game.num_seats} seats")
                card = card_of(upper, lower)
                if card in used:
                    raise ValueError(f"{where}: the card {upper}/{lower} is dealt already")
                used.add(card)
                tape[place] = 2 * card + (upper > lower)
                place += 1
    return starter


def _failure(game: Game, code: int) -> Exception:
    return ValueError(f"the card {OUTCOMES[-2 - code]} is to be dealt now, but is not left; nothing has changed")


def game(*, fits: bool = False, **rules: Any) -> Game:
    """SCOUT with rules chosen: ``fits`` adds the sections about what fits together, the rest goes to ``Rules``."""
    fits = flag("fits", fits)
    chosen = rules_of(Rules, rules, ["fits"])
    names, first = actions_of(chosen)
    return Game(
        name=NAME,
        maker=game,
        kwargs=chosen.as_dict() | {"fits": fits},
        sight=("fits",),
        config=chosen,
        rules=engine.pack(chosen, fits, first),
        num_seats=chosen.num_players,
        layout=layout_of(chosen, fits),
        action_names=tuple(names),
        action_id={name: a for a, name in enumerate(names)},
        action_rows=action_rows_of(chosen, fits, first),
        state_dtype=engine.STATE,
        tape_size=chosen.max_draws,
        outcomes=OUTCOMES[: 2 * chosen.deck_size],
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


class ScoutEnv(GameEnv):
    """SCOUT as a PettingZoo AEC environment; arguments are those of ``Rules``, and ``fits``."""

    metadata: ClassVar[dict[str, Any]] = {
        "name": NAME, "render_modes": ["ansi", "human", "rgb_array"], "is_parallelizable": False, "render_fps": 1,
    }  # fmt: skip

    def __init__(self, *, illegal_action: str = "raise", render_mode: str | None = None, **kwargs: Any) -> None:
        super().__init__(game(**kwargs), illegal_action, render_mode)


def batch(num_tables: int, *, illegal_action: str = "raise", **kwargs: Any) -> Batch:
    """``num_tables`` tables at once; the same arguments as ``env``, without rendering."""
    return Batch(game(**kwargs), num_tables, illegal_action)
