"""One seat of a game as a single-agent environment, the others played: Gymnasium's ``Env`` and ``VectorEnv``.

An episode is one game as one seat lives it. It begins when that seat is first to move and ends with its last reward:
at the end of the game, or where the seat is eliminated, since an eliminated seat gets nothing more (``Batch.out``). A
step's reward is everything that the seat was paid since its last move (before its first move, too), whoever moved then.
So an episode's rewards add up to the seat's return in that game exactly, without discounting. A game that ends before
the seat has had a move is no episode: the next game is dealt instead.

Opponents are resolved already when they come here: objects with ``act``, or callables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from .arguments import shown
from .batch import Batch
from .game import Game
from .players import Players
from .rng import answer_keys, check_seed, table_seeds, uniform

RENDER_MODES = ["ansi", "human", "rgb_array"]
_MOST_DEALS = 10_000  # games in a row without a move of the seat, after which something is wrong


class SeatTables:
    """T tables, at each of which one seat waits for an action and the others are played. What both faces stand on.

    What happens at a table depends on its seed alone, not on how many tables there are, as long as opponents draw by
    row (see ``RowGenerator``).

    Attributes:
        batch: the tables. Where ``ended`` is False, the own seat is to move.
        own: int64 (T,), the own seat at each.
        paid: float64 (T,), what the own seat was paid and nobody has been told yet.
        ended: bool (T,), its episode is over.
    """

    def __init__(
        self, game: Game, num_tables: int, opponents: Sequence[Any], seat: int | str, illegal_action: str
    ) -> None:
        n = game.num_seats
        if len(opponents) not in (1, n - 1):
            several = f", or of {n - 1}, one for each of them, clockwise from the own seat" if n > 2 else ""
            raise ValueError(
                f"opponents: {len(opponents)} given; allowed: a list of 1, which plays all other seats{several}"
            )
        if isinstance(seat, str) and seat != "random":
            raise ValueError(f"seat must be 'random' or a seat from 0 to {n - 1}, not {shown(seat)}")
        self.seat = None if isinstance(seat, str) else game.check_seat(seat, "seat")
        self.game = game
        self.batch = Batch(game, num_tables, illegal_action, deals=False)
        # By place clockwise from the own seat; a single one is one player in all of them.
        self._players = Players(game, list(opponents) * (n - 1 if len(opponents) == 1 else 1), "opponents")
        self.own = np.zeros(num_tables, np.int64)
        self.paid = np.zeros(num_tables, np.float64)
        self.ended = np.ones(num_tables, np.bool_)
        self.whole = True  # not, once an opponent has failed and left its move unmade, until all is dealt anew
        self._moves = np.zeros(num_tables, np.int64)  # in the running game, of all seats
        self._keys = np.zeros(num_tables, np.uint64)  # of what opponents draw in it
        self._all = np.arange(num_tables)

    def deal(self, tables: NDArray[np.intp], seeds: NDArray[np.uint64] | None = None, seat: int | None = None) -> None:
        """Deals at these tables, as ``Batch.deal``, and plays until the own seat, or ``seat``, is to move."""
        for _ in range(_MOST_DEALS):
            self.batch.deal(tables, seeds)
            chosen = self.seat if seat is None else seat
            seed, number = self.batch.states["seed"][tables], self.batch.states["game"][tables]
            self._keys[tables] = answer_keys(seed, number)
            draw = uniform(self._keys[tables])[:, 0]
            self.own[tables] = (draw * self.game.num_seats).astype(np.int64) if chosen is None else chosen
            self.paid[tables], self.ended[tables], self._moves[tables] = 0.0, False, 0
            self._play_others(tables)
            tables, seeds = tables[self.ended[tables]], None
            if not tables.size:
                return
        raise RuntimeError(f"{_MOST_DEALS:,} games in a row ended before seat {self.own[tables[0]]} was to move")

    def act(self, actions: Any) -> None:
        """The own seat's actions, one a table, and then the others' until it is to move again or out of the game."""
        self.batch.step(actions)
        self._moves += 1
        self.paid += self.batch.rewards[self._all, self.own]
        self._play_others(self._all)

    def _play_others(self, tables: NDArray[np.intp]) -> None:
        batch, n = self.batch, self.game.num_seats
        self.whole = False
        while True:
            own, states = self.own[tables], batch.states
            over = (states["over"][tables] != 0) | (states["out"][tables, own] != 0)
            self.ended[tables[over]] = True
            tables = tables[~over & (batch.seat[tables] != own)]
            if not tables.size:
                self.whole = True
                return
            own = self.own[tables]
            keys = answer_keys(self._keys[tables], self._moves[tables])
            actions = self._players.act(batch, tables, (batch.seat[tables] - own - 1) % n, keys)
            batch.step(actions, None if tables.size == batch.num_tables else tables)
            self._moves[tables] += 1
            self.paid[tables] += batch.rewards[tables, own]

    def views(self, tables: NDArray[np.intp]) -> NDArray[np.float32]:
        """What the own seat sees at these tables, float32 (n, L), fresh."""
        seen = np.empty((len(tables), self.game.layout.size), np.float32)
        self.game.observe(self.game.rules, self.batch.states[tables], self.own[tables], False, seen)
        return seen

    def masks(self) -> NDArray[np.int8]:
        """The own seats' legal actions, int8 (T, A), fresh; zero where the episode is over, or cannot go on."""
        return np.where(self.ended[:, None] | (not self.whole), np.int8(0), self.batch.action_mask)

    def check_whole(self) -> None:
        """Raises RuntimeError if an opponent has failed: it is its move, and not the own seat's."""
        if not self.whole:
            raise RuntimeError("an opponent failed, and its move was not made; call reset() before step()")

    def told(self) -> NDArray[np.float64]:
        """``paid``, float64 (T,); and it begins anew."""
        paid, self.paid = self.paid, np.zeros(len(self.paid))
        return paid

    def render(self, table: int, mode: str) -> Any:
        """A table as its own seat sees it: a str ("ansi", "human"), or uint8 (H, W, 3)."""
        draw = self.game.render_image if mode == "rgb_array" else self.game.render_text
        return draw(self.game, self.batch.states[table : table + 1], int(self.own[table]))


def _check_mode(render_mode: str | None, modes: list[str]) -> None:
    if render_mode is not None and render_mode not in modes:
        raise ValueError(f"render_mode must be one of {', '.join(map(repr, (None, *modes)))}, not {shown(render_mode)}")


def _seat_option(game: Game, options: Mapping[str, Any] | None) -> int | None:
    """The seat that reset's options ask for. ValueError for an unknown key: no wish is passed over."""
    if options is None:
        return None
    if not isinstance(options, Mapping):
        raise TypeError(f"options must be a dict or None, not {shown(options)}")
    for name in options:
        if name != "seat":
            raise ValueError(
                f"options[{shown(name)}]: this environment has 'seat' only; chosen deals are for the AEC one"
            )
    return None if options.get("seat") is None else game.check_seat(options["seat"], "options['seat']")


class SeatEnv(gymnasium.Env[NDArray[np.float32], np.int64]):
    """One seat of one table. See the module for what an episode and its rewards are.

    The observation is the seat's flat view, Box float32 (L,), the action an id, ``Discrete(A)``. ``info`` has
    ``action_mask``, int8 (A,), all zero at the end, and ``seat``, which one is played; ``action_masks()`` is the mask
    as sb3-contrib asks for it.

    ``reset(seed=s)`` deals the game that the AEC environment deals with that seed; without a seed the next one follows.
    ``options={"seat": k}`` fixes the seat for one game.

    Args:
        game: the game with its rules.
        opponents: one player for all other seats, or one for each, clockwise from the own seat.
        seat: the own seat, or "random": drawn anew for each game.
        illegal_action: "forfeit" (it ends the game at a return of -1) or "raise" (IllegalAction, nothing changes).
        render_mode: as the AEC environment's; the table is drawn as the own seat sees it.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": RENDER_MODES, "render_fps": 1}  # type: ignore[misc]  # theirs is no ClassVar

    def __init__(
        self,
        game: Game,
        opponents: Sequence[Any],
        seat: int | str = "random",
        illegal_action: str = "forfeit",
        render_mode: str | None = None,
    ) -> None:
        _check_mode(render_mode, RENDER_MODES)
        self.game = game
        self.render_mode = render_mode
        self.observation_space = spaces.Box(game.layout.low, game.layout.high, dtype=np.float32)
        self.action_space: spaces.Discrete = spaces.Discrete(game.num_actions)
        self._tables = SeatTables(game, 1, opponents, seat, illegal_action)
        self._table = np.zeros(1, np.intp)
        self._started = False

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Deals a game and plays until the own seat is to move."""
        seed, seat = check_seed(seed), _seat_option(self.game, options)
        super().reset(seed=seed)
        fresh = seed is not None or not self._started
        self._tables.deal(self._table, table_seeds(seed, 1) if fresh else None, seat)
        self._started = True
        return self._show()

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Plays an action id, and the others until the own seat is to move again or its episode is over."""
        if self._tables.ended[0]:
            what = "the episode is over" if self._started else "no game has been dealt"
            raise RuntimeError(f"{what}; call reset() before step()")
        self._tables.check_whole()
        if isinstance(action, (bool, np.bool_)) or (isinstance(action, np.ndarray) and action.ndim):
            raise TypeError(f"action must be an integer id, not {action!r}")
        self._tables.act(np.asarray([action]))
        observation, info = self._show()
        return observation, float(self._tables.told()[0]), bool(self._tables.ended[0]), False, info

    def _show(self) -> tuple[NDArray[np.float32], dict[str, Any]]:
        if self.render_mode == "human":
            print(self._tables.render(0, "human"))
        info = {"action_mask": self._tables.masks()[0], "seat": int(self._tables.own[0])}
        return self._tables.views(self._table)[0], info

    def action_masks(self) -> NDArray[np.bool_]:
        """The legal actions, bool (A,), fresh."""
        return np.asarray(self._tables.masks()[0] != 0)

    def render(self) -> Any:
        """A str ("ansi"), printed and None ("human"), uint8 (H, W, 3) ("rgb_array"), as ``render_mode`` says."""
        if self.render_mode is None:
            raise ValueError(f"render() needs an env made with a render_mode: one of {', '.join(RENDER_MODES)}")
        if not self._started:
            raise RuntimeError("no game has been dealt; call reset() before render()")
        drawn = self._tables.render(0, self.render_mode)
        if self.render_mode == "human":
            print(drawn)
            return None
        return drawn


class SeatVectorEnv(gymnasium.vector.VectorEnv[NDArray[np.float32], NDArray[np.int64], NDArray[Any]]):
    """One seat at each of many tables, all of them in one process and each opponent asked once a step for all.

    Row i after ``reset(seed=s)`` is ``SeatEnv`` after ``reset(seed=s + i)``. A list of seeds gives each its own.

    Autoreset is SAME_STEP: a step that ends an episode returns the next one's first observation and mask. The last
    ones are in ``infos["final_obs"]`` (an object array) and ``infos["final_info"]``; ``infos["_final_obs"]`` says
    where; these keys are there only in steps that end an episode, as in Gymnasium's own vector environments.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]  # theirs is no ClassVar
        "render_modes": ["ansi", "rgb_array"],
        "render_fps": 1,
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(
        self,
        game: Game,
        num_envs: int,
        opponents: Sequence[Any],
        seat: int | str = "random",
        illegal_action: str = "forfeit",
        render_mode: str | None = None,
    ) -> None:
        _check_mode(render_mode, self.metadata["render_modes"])
        self._tables = SeatTables(game, num_envs, opponents, seat, illegal_action)
        self.game = game
        self.num_envs = self._tables.batch.num_tables
        self.render_mode = render_mode
        self.single_observation_space = spaces.Box(game.layout.low, game.layout.high, dtype=np.float32)
        self.single_action_space: spaces.Discrete = spaces.Discrete(game.num_actions)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._everywhere = np.arange(self.num_envs)
        self._started = False

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Deals at all tables and plays until the own seats are to move."""
        seat = _seat_option(self.game, options)
        if isinstance(seed, Sequence) and not isinstance(seed, (str, bytes)):
            seeds = [check_seed(value) for value in seed]
            if len(seeds) != self.num_envs:
                raise ValueError(f"seed has {len(seeds)} entries; needed: one for each of the {self.num_envs} tables")
            super().reset(seed=seeds[0])
        else:
            first = check_seed(seed)
            super().reset(seed=first)
            seeds = [None if first is None else first + i for i in range(self.num_envs)]
        fresh = np.array([value is not None or not self._started for value in seeds])
        which = np.flatnonzero(fresh)
        if which.size:
            self._tables.deal(which, np.array([table_seeds(seeds[i], 1)[0] for i in which], np.uint64), seat)
        if which.size < self.num_envs:
            self._tables.deal(np.flatnonzero(~fresh), None, seat)
        self._started = True
        return self._tables.views(self._everywhere), self._infos()

    def step(
        self, actions: Any
    ) -> tuple[NDArray[np.float32], NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Plays the own seats' actions, integers (T,), and the others until the own seats are to move again."""
        if not self._started:
            raise RuntimeError("no game has been dealt; call reset() before step()")
        tables = self._tables
        tables.check_whole()
        tables.act(actions)
        rewards, ended = tables.told(), tables.ended.copy()
        last: dict[str, Any] = {}
        over = np.flatnonzero(ended)
        if over.size:
            final = np.full(self.num_envs, None, object)
            final[over] = list(tables.views(over))
            mask = np.zeros((self.num_envs, self.game.num_actions), np.int8)
            seats = np.where(ended, tables.own, 0)
            last = {"action_mask": mask, "_action_mask": ended.copy(), "seat": seats, "_seat": ended.copy()}
            last = {"final_obs": final, "_final_obs": ended.copy(), "final_info": last, "_final_info": ended.copy()}
            tables.deal(over)
        never = np.zeros(self.num_envs, np.bool_)
        return tables.views(self._everywhere), rewards, ended, never, self._infos() | last

    def _infos(self) -> dict[str, Any]:
        all_of_them = np.ones(self.num_envs, np.bool_)
        return {
            "action_mask": self._tables.masks(),
            "_action_mask": all_of_them,
            "seat": self._tables.own.copy(),
            "_seat": all_of_them.copy(),
        }

    def action_masks(self) -> NDArray[np.bool_]:
        """The legal actions, bool (T, A), fresh."""
        return np.asarray(self._tables.masks() != 0)

    def render(self) -> tuple[Any, ...]:
        """Each table as its own seat sees it: a str ("ansi") or uint8 (H, W, 3) ("rgb_array")."""
        if self.render_mode is None:
            raise ValueError("render() needs an env made with a render_mode: 'ansi' or 'rgb_array'")
        if not self._started:
            raise RuntimeError("no game has been dealt; call reset() before render()")
        return tuple(self._tables.render(table, self.render_mode) for table in range(self.num_envs))
