"""Who answers for the seats of a batch: each player asked once a step for all its rows, and its answers checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .arguments import shortened, shown
from .rng import RowGenerator

if TYPE_CHECKING:
    from .batch import Batch
    from .game import Game

# (observation (n, L), action_mask (n, A), generator) -> actions (n,)
Answer = Callable[[NDArray[np.float32], NDArray[np.int8], np.random.Generator], NDArray[np.integer[Any]]]
_SHOWN = 10  # legal actions named in an error


class PolicyError(RuntimeError):
    """A policy gave no legal answer: it failed, or answered nonsense. The message names the policy, row or seat.

    ``row``: which of the rows that were asked for, where it was asked by ``Players``; else None. ``action``: the
    illegal action that it chose, if within range; else -1.
    """

    row: int | None = None
    action: int = -1


class Fault(NamedTuple):
    """A row that got no legal answer."""

    row: int  # of those asked for
    entry: int  # the player's place in the list
    error: PolicyError


def answer_of(player: Any, where: str) -> Answer:
    """The function by which a player answers: its ``act``, or itself. ValueError that begins with ``where``."""
    function = getattr(player, "act", player)
    if not callable(function) or isinstance(player, type):
        raise ValueError(f"{where} = {shown(player)}; needed: a Policy or a callable")
    answer: Answer = function
    return answer


def name_of(player: Any) -> str:
    """``name`` of a policy, ``__name__`` of a function, or the class."""
    for attribute in ("name", "__name__"):
        name = getattr(player, attribute, None)
        if isinstance(name, str):
            return name
    return type(player).__name__


class Players:
    """The players of a table's entries. The same object in several places is one player, asked once a step for all.

    ``where``: what the entries are called in an error.
    """

    def __init__(self, game: Game, players: Sequence[Any], where: str = "policies") -> None:
        self.game = game
        self.names = [name_of(player) for player in players]
        distinct: dict[int, int] = {}  # id -> number of the player
        self.group = np.array([distinct.setdefault(id(player), len(distinct)) for player in players], np.intp)
        answers = [answer_of(player, f"{where}[{entry}]") for entry, player in enumerate(players)]
        first = [int(np.argmax(self.group == k)) for k in range(len(distinct))]
        self._answers = [answers[entry] for entry in first]
        self._labels = [shortened(self.names[entry], 200) for entry in first]
        self._views = [game.seen_as_by(players[entry]) for entry in first]
        self._bits = np.random.Philox(0)

    def act(
        self,
        batch: Batch,
        tables: NDArray[np.intp],
        entries: NDArray[np.intp],
        keys: NDArray[np.uint64],
        faults: list[Fault] | None = None,
    ) -> NDArray[np.int64]:
        """A legal action for the seat to move at each of ``tables`` (n,), where player ``entries`` (n,) sits; ``keys``
        (n,) seed what it draws.

        Raises PolicyError for the first row without a legal answer; with ``faults``, puts all such rows there, and -1
        into the actions. A player that fails on many rows is asked again for one at a time, to know which are at fault.
        """
        actions = np.empty(tables.size, np.int64)
        groups = self.group[entries]
        for k in range(len(self._answers)):
            mine = np.flatnonzero(groups == k)
            if not mine.size:
                continue
            try:
                actions[mine] = self._ask(k, batch, tables[mine], keys[mine])
            except PolicyError as error:
                if mine.size == 1 and faults is None:
                    error.row = int(mine[0])
                    raise
                for row in mine:
                    one = slice(row, row + 1)
                    try:
                        actions[one] = self._ask(k, batch, tables[one], keys[one])
                    except PolicyError as alone:
                        alone.row = int(row)
                        if faults is None:
                            raise
                        faults.append(Fault(int(row), int(entries[row]), alone))
                        actions[row] = -1
                if faults is None:  # together it fails, alone no row does
                    error.row = int(mine[0])
                    raise
        return actions

    def _ask(self, k: int, batch: Batch, tables: NDArray[np.intp], keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        label = self._labels[k]
        # Copies: a player may keep or overwrite what it gets.
        observation, mask = batch.seen(self._views[k], tables), batch.action_mask[tables]
        try:
            # What it answers is the player's too: an array-like whose conversion fails has failed there.
            actions = np.asarray(self._answers[k](observation, mask, RowGenerator(keys, self._bits)))
        except PolicyError:
            raise
        except (Exception, SystemExit) as error:  # exit() in a player ends its game, and not everybody's
            what = shortened(str(error), 500)
            raise PolicyError(f"policy {label!r} raised {type(error).__name__}: {what}") from error
        mask = batch.action_mask[tables]
        if actions.shape != (len(mask),) or actions.dtype.kind not in "iu":
            raise PolicyError(
                f"policy {label!r} answered {actions.dtype}{list(actions.shape)} to {len(mask)} rows; "
                "needed: one integer a row"
            )
        inside = (actions >= 0) & (actions < self.game.num_actions)
        legal = inside & (mask[np.arange(len(mask)), np.where(inside, actions, 0)] != 0)
        if not legal.all():
            row = int(np.argmin(legal))
            action = int(actions[row])
            name = f"{self.game.action_names[action]!r} ({action})" if inside[row] else f"{action}, which is no action"
            ids = np.flatnonzero(mask[row])
            names = ", ".join(self.game.action_names[i] for i in ids[:_SHOWN])
            more = f" and {ids.size - _SHOWN} more" if ids.size > _SHOWN else ""
            fault = PolicyError(
                f"policy {label!r} in seat {batch.seat[tables[row]]} chose {name}; legal: {names}{more}"
            )
            fault.action = action if inside[row] else -1
            raise fault
        return actions.astype(np.int64)
