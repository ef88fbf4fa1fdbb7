"""What a game gives to the faces: facts and kernels, in one frozen bundle."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arguments import shown
from .layout import ActionRows, Layout
from .tally import Tally

# What a tape can say of a chance outcome instead of its number: drawn at random, or do not draw but return STOPPED.
RANDOM, STOP = -1, -2
STOPPED = -1000


class IllegalAction(ValueError):  # noqa: N818  # the name that PettingZoo users know; DESIGN of the API
    """An action that the rules do not allow now. The message names it, the seat, and up to ten legal ones."""


def record_dtype(fields: list[tuple[Any, ...]]) -> np.dtype[np.void]:
    """Structured dtype of ``fields``, largest items first and filled up to 8 bytes, so that there is no padding: numpy
    leaves padding out of copies, and equal tables must be equal bytes."""
    ordered = sorted(fields, key=lambda field: -np.dtype(field[1]).itemsize)
    fill = -np.dtype(ordered).itemsize % 8
    return np.dtype([*ordered, ("fill", "u1", (fill,))] if fill else ordered, align=True)


@dataclass(frozen=True)
class Facts:
    """Figures of a game with its rules chosen, as data.

    Fields:
        num_seats, num_actions, observation_size: N, A, L.
        num_outcomes: different outcomes of chance, the faces of the deck in a card game.
        longest_game: most decisions of one game; a proven bound.
        most_draws: most chance outcomes of one game, the choice of who starts not counted.
        min_return, max_return: bounds of a seat's return over a game played by the rules, without forfeits.
        returns_sum: what the returns of all seats add up to.
    """

    num_seats: int
    num_actions: int
    observation_size: int
    num_outcomes: int
    longest_game: int
    most_draws: int
    min_return: float
    max_return: float
    returns_sum: float


@dataclass(frozen=True, eq=False)
class Game:
    """One game with its rules chosen. All faces, policies and records take it; nothing in it changes.

    Facts:
        name: name and version, as "coyote_v0".
        kwargs: JSON-able constructor arguments that make an equal game (``maker(**kwargs)``).
        sight: names of those arguments, all True or False, that add to what seats see and are no rules.
        config: the rules as people read them, the game's own ``Rules``.
        rules: the same as the kernels read them, structured, read-only, shape (1,).
        num_seats: N. Seat i is agent ``player_i``.
        layout: what an observation's L numbers mean.
        action_names: the A action names by id; ``action_id`` is the way back.
        action_rows: which sections of the observation speak of single actions, and of which; no action in two of them.
        state_dtype: the record of one table. Every game's begins with ``seed``, ``game``, ``returns``, ``seat``,
            ``over``, ``out`` (eliminated), which the faces read, and has ``draws``: how much of the tape is used.
        tape_size: D, the most chance outcomes that one game can have. A tape is the chance of a running game in
            order, int8 (D,): an entry >= 0 is forced; at RANDOM the outcome is drawn and then written; at STOP the
            kernel returns STOPPED, with the record as it is just before the draw. Tables that nobody records or fixes
            have tapes of length 0.
        outcomes: names of the chance outcomes by the number that stands for them on the tape.
        longest_game: most decisions of one game.
        return_bounds: (least, largest) return of a seat over a game played by the rules; returns sum to 0.

    Kernels over arrays of tables (states (T,), structured; tapes int8 (T, D or 0); seats, actions, starters int64
    (T,); rewards float64 (T, N); starter -1 = random):
        deal(rules, states, tapes, starters) -> code;
        legal_mask(rules, states, int8 (T, A)); observe(rules, states, seats, all_seen, float32 (T, L)) -> L;
        step(rules, states, tapes, actions, forfeits, deals, seats, observations, masks, rewards, done) -> -1, or the
        first table with an illegal action (nothing has changed then), or a code; an ended game is followed by the next
        one if ``deals``;
        redeal(rules, states, seats, seed).
        A code below -1 says that what the tape demands cannot be: -2 - k, the outcome k; ``failure`` puts it into
        words, and the records are to be restored.

    Hooks:
        prepare(game, options, tape) -> starter: checks reset's options, writes what they fix on the tape (D,).
        failure(game, code) -> the exception to raise.
        check_state(game, states) -> what is wrong with a record that came from outside, or None: kernels trust records.
        tally(game) -> Tally: counts over recorded games of what is of interest in this game only.
        render_text(game, state, viewer) -> str: ``state`` one record (1,), ``viewer`` a seat, or None for all cards.
        render_image(game, state, viewer) -> uint8 (H, W, 3).
    """

    name: str
    maker: Callable[..., Game]
    kwargs: Mapping[str, Any]
    sight: tuple[str, ...]
    config: Any
    rules: NDArray[np.void]
    num_seats: int
    layout: Layout
    action_names: tuple[str, ...]
    action_id: Mapping[str, int]
    action_rows: tuple[ActionRows, ...]
    state_dtype: np.dtype[np.void]
    tape_size: int
    outcomes: tuple[str, ...]
    longest_game: int
    return_bounds: tuple[float, float]
    deal: Callable[..., int]
    step: Callable[..., int]
    legal_mask: Callable[..., None]
    observe: Callable[..., int]
    redeal: Callable[..., None]
    prepare: Callable[[Game, Mapping[str, Any], NDArray[np.int8]], int]
    failure: Callable[[Game, int], Exception]
    check_state: Callable[[Game, NDArray[np.void]], str | None]
    tally: Callable[[Game], Tally]
    render_text: Callable[[Game, NDArray[np.void], int | None], str]
    render_image: Callable[[Game, NDArray[np.void], int | None], NDArray[np.uint8]]

    @property
    def num_actions(self) -> int:
        """A, the number of action ids."""
        return len(self.action_names)

    @property
    def facts(self) -> Facts:
        """The game's figures in one place."""
        low, high = self.return_bounds
        return Facts(
            self.num_seats, self.num_actions, self.layout.size, len(self.outcomes),
            self.longest_game, self.tape_size, low, high, 0.0,
        )  # fmt: skip

    def with_sight(self, kwargs: Mapping[str, Any]) -> Game:
        """This game with the ``sight`` that these arguments have, whatever else they say; itself if it has that."""
        sight = {name: kwargs[name] for name in self.sight if name in kwargs}
        same = all(self.kwargs[name] == value for name, value in sight.items())
        return self if same else self.maker(**{**self.kwargs, **sight})

    def seen_as_by(self, player: Any) -> Game:
        """This game as ``player`` sees it: one made for the same table with another ``sight`` sees with that.

        Raises ValueError, with both hashes, if its observations are laid out otherwise even so.
        """
        own = getattr(player, "game", None)
        if not isinstance(own, Game) or own.layout.hash == self.layout.hash:
            return self
        seen = self.with_sight(own.kwargs)
        if own.name != self.name or own.layout.hash != seen.layout.hash:
            raise ValueError(
                f"made for layout_hash = {own.layout.hash!r}; the game to be played has {self.layout.hash!r}"
            )
        return seen

    def seen_by(
        self, states: NDArray[np.void], seats: NDArray[np.int64], all_seen: bool = False
    ) -> NDArray[np.float32]:
        """What ``seats`` (n,) see at the tables ``states`` (n,), or would with every card open: float32 (n, L)."""
        observations = np.empty((len(states), self.layout.size), np.float32)
        self.observe(self.rules, states, seats, all_seen, observations)
        return observations

    def blank_tapes(self, num_tables: int) -> NDArray[np.int8]:
        """Tapes (T, D) on which nothing is fixed."""
        return np.full((num_tables, self.tape_size), RANDOM, np.int8)

    def check_seat(self, value: object, name: str) -> int:
        """``value`` as a seat number. Raises ValueError that calls it ``name``."""
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value not in range(self.num_seats):
            raise ValueError(f"{name} must be a seat from 0 to {self.num_seats - 1}, not {shown(value)}")
        return int(value)

    def illegal(self, action: int, seat: int, mask: NDArray[np.int8], where: str = "") -> IllegalAction:
        """The exception for ``action`` of ``seat`` under ``mask`` (A,); ``where`` names the table of many."""
        legal = np.flatnonzero(mask)
        names = ", ".join(f"{self.action_names[a]} ({a})" for a in legal[:10])
        more = f" and {len(legal) - 10} more" if len(legal) > 10 else ""
        what = repr(self.action_names[action]) if 0 <= action < self.num_actions else "outside the action space"
        return IllegalAction(f"action {action} ({what}) of seat {seat}{where} is illegal; legal: {names}{more}")

    def __reduce__(self) -> tuple[Callable[..., Game], tuple[Callable[..., Game], dict[str, Any]]]:
        return _make, (self.maker, dict(self.kwargs))  # kernels are not pickled, they are found again

    def __deepcopy__(self, memo: dict[int, Any]) -> Game:
        return self


def _make(maker: Callable[..., Game], kwargs: dict[str, Any]) -> Game:
    return maker(**kwargs)
