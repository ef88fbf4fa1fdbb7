"""Matches: the same policies at the same table for many games, and what that says about them.

What makes the figures trustworthy:

- The games are fixed before the first card is dealt: game g has its own seed and its own seating, both from
  (match seed, g) alone, and every one of them is played to its end and counted. (Stopping at the n-th *finished*
  game would count short games first.)
- Seats rotate: in each run of N games every policy sits in every seat once, in an order drawn anew for each run, so
  that nobody owes a result to the seat or to the neighbour.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from coyote_env.arena.stats import wilson
from coyote_env.policies import Policy, PolicyError, load_policy

if TYPE_CHECKING:
    from coyote_env.core.batch import Batch
    from coyote_env.core.game import Game
    from coyote_env.core.record import GameRecord, RecordWriter

PolicyFunction = Callable[
    [npt.NDArray[np.float32], npt.NDArray[np.int8], np.random.Generator], npt.NDArray[np.integer[Any]]
]
Player = Policy | PolicyFunction | str | os.PathLike[str]
Progress = Callable[[int, int], None]

DEFAULT_TABLES = 512  # measured: larger batches gain little in speed and outgrow the processor's caches
SHOWN_ACTIONS = 10  # legal actions named in an error


@dataclass(frozen=True)
class SeatResult:
    """How one policy did in one seat."""

    games: int
    wins: float
    share: float  # of wins, 0 if it never sat there
    low: float  # 95% interval of the share
    high: float
    mean_return: float


@dataclass(frozen=True)
class PolicyResult:
    """How one policy did, over all seats. A win shared by k policies counts 1/k to each."""

    name: str
    games: int
    wins: float
    share: float
    low: float  # 95% interval of the share (Wilson)
    high: float
    mean_return: float
    return_error: float  # standard error of the mean return
    mean_place: float  # 1 = best; by return, equal ones share; with reward="win" the losers of a game are all equal
    seats: tuple[SeatResult, ...]  # by seat


@dataclass(frozen=True, eq=False)  # arrays have no plain equality
class MatchResult:
    """What a match has shown, and what is needed to play it again."""

    game: str
    kwargs: dict[str, Any]  # arguments that rebuild the game
    layout_hash: str
    seed: int
    num_games: int
    num_tables: int
    policies: tuple[PolicyResult, ...]  # in the order given to `play_match`
    decisions: int  # actions taken in the counted games
    seconds: float  # wall time, policies included
    returns: npt.NDArray[np.float64]  # float64[games, policies]: each game's result, in the order of the games
    seating: npt.NDArray[np.intp]  # int[games, seats]: index of the policy in each seat

    def as_dict(self) -> dict[str, Any]:
        """The result as plain JSON types, without the game-by-game arrays."""
        return {
            "format": "coyote_env match 1",
            "game": self.game,
            "kwargs": self.kwargs,
            "layout_hash": self.layout_hash,
            "seed": self.seed,
            "games": self.num_games,
            "tables": self.num_tables,
            "fair_share": 1 / len(self.policies),
            "policies": [
                {
                    "name": p.name,
                    "games": p.games,
                    "wins": p.wins,
                    "share": p.share,
                    "interval_95": [p.low, p.high],
                    "mean_return": p.mean_return,
                    "return_error": p.return_error,
                    "mean_place": p.mean_place,
                    "seats": [
                        {
                            "games": s.games,
                            "wins": s.wins,
                            "share": s.share,
                            "interval_95": [s.low, s.high],
                            "mean_return": s.mean_return,
                        }
                        for s in p.seats
                    ],
                }
                for p in self.policies
            ],
            "decisions": self.decisions,
            "seconds": self.seconds,
        }

    def to_json(self) -> str:
        """`as_dict` as text."""
        return json.dumps(self.as_dict(), indent=2, allow_nan=False)

    def table(self) -> str:
        """The result as a table for people: one row a policy."""
        header = ["policy", "wins", "95% interval", "mean return", "place"]
        header += [f"seat {s}" for s in range(len(self.policies))]
        rows = [
            [
                p.name,
                f"{p.share:.1%}",
                f"{p.low:.1%} to {p.high:.1%}",
                f"{p.mean_return:+.3f} +- {1.96 * p.return_error:.3f}",
                f"{p.mean_place:.2f}",
                *(f"{s.share:.1%}" if s.games else "-" for s in p.seats),
            ]
            for p in self.policies
        ]
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        lines = [
            "  ".join([line[0].ljust(widths[0])] + [c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True)])
            for line in [header, ["-" * w for w in widths], *rows]
        ]
        arguments = ", ".join(f"{key}={value}" for key, value in self.kwargs.items())
        rate = self.num_games / self.seconds if self.seconds > 0 else 0.0
        return "\n".join(
            [
                f"{self.game} ({arguments})",
                f"{self.num_games:,} games, seed {self.seed}; fair share {1 / len(self.policies):.1%}",
                "",
                *(line.rstrip() for line in lines),
                "",
                f"{self.decisions:,} decisions in {self.seconds:.1f} s, {rate:,.0f} games/s",
            ]
        )

    def __str__(self) -> str:
        return self.table()


def play_match(
    game: Game,
    policies: Sequence[Player],
    num_games: int,
    seed: int,
    *,
    num_tables: int | None = None,
    progress: Progress | None = None,
    records: RecordWriter | None = None,
) -> MatchResult:
    """Play `num_games` games between the policies, one a seat, and count.

    A policy is a `Policy`, a callable `(observation, action_mask, rng) -> actions`, or a name or path for
    `load_policy`. The same one in several places is one policy: it plays there independently, and is asked once a step
    for all of them. The winner of a game is the seat with the highest return; equal ones share the win.

    Reproducible: the deals, the first seats and the seating of game g depend on `seed` and g only. The actions are
    drawn from one generator for each distinct policy object; so the same call gives the same result, and policies
    that draw nothing and answer each row by itself give the same result for any `num_tables` (tables played at once:
    default 512, never more than `num_games`).

    `progress(done, num_games)` is called whenever games have ended. `records` gets a record of each game when it ends,
    with the policies' names by seat and the seed that deals it; the result is the same without.

    Raises ValueError for arguments out of range, by name; what `load_policy` raises; and PolicyError for a policy that
    raises, or whose answer is not one legal action a row: it names the policy, the seat, the action and legal ones.
    """
    from coyote_env.core.batch import Batch
    from coyote_env.core.record import MAX_NAME, shortened
    from coyote_env.core.rng import table_seeds

    seats = game.num_seats
    if len(policies) != seats:
        raise ValueError(f"policies: {len(policies)} given; {game.name} has {seats} seats here, and needs one for each")
    num_games = _whole("num_games", num_games, 1)
    seed = _whole("seed", seed, 0)
    tables = min(num_games, DEFAULT_TABLES if num_tables is None else _whole("num_tables", num_tables, 1))
    players = _Players(game, _load(policies, game), np.random.SeedSequence(seed, spawn_key=(2,)))
    seating = seat_order(seats, num_games, seed)
    started = time.perf_counter()

    batch = Batch(game, tables)
    deal_seeds = np.array([table_seeds(int(s), 1)[0] for s in game_seeds(seed, num_games)])
    playing = np.arange(tables)  # number of the game at each table, -1 where no game is left to play
    queue = tables  # number of the next game to begin
    if records is not None:
        seeds = game_seeds(seed, num_games)
        # Printable and of a bounded length, as records want them; a policy's name may be a path.
        labels = [shortened(name, MAX_NAME) or "?" for name in players.names]

        def keep(table: int, record: GameRecord) -> None:
            number = int(playing[table])
            if number >= 0:  # else a table that plays on unheeded
                names = tuple(labels[entry] for entry in seating[number])
                records.write(replace(record, names=names, seed=int(seeds[number])))

        batch.record_to(keep)
    batch.reset(0)
    batch.deal(playing, deal_seeds[:tables])
    returns = np.zeros((num_games, seats))
    decisions = done = 0
    while True:
        active = np.flatnonzero(playing >= 0)
        if active.size == 0:
            break
        actions = batch.action_mask.argmax(axis=1)  # something legal for the tables that play on unheeded
        entries = seating[playing[active], batch.seat[active]]
        actions[active] = players.act(batch, active, entries)
        batch.step(actions)
        decisions += active.size
        returns[playing[active]] += batch.rewards[active]
        ended = active[batch.done[active]]
        if ended.size:
            done += ended.size
            # Tables whose game has ended begin the next ones in turn.
            again = ended[: num_games - queue]
            playing[ended] = -1
            playing[again] = np.arange(queue, queue + again.size)
            batch.deal(again, deal_seeds[playing[again]])
            queue += again.size
            if progress is not None:
                progress(done, num_games)
    seconds = time.perf_counter() - started

    return MatchResult(
        game=game.name,
        kwargs=dict(game.kwargs),
        layout_hash=game.layout.hash,
        seed=seed,
        num_games=num_games,
        num_tables=tables,
        policies=_count(players.names, returns, seating),
        decisions=decisions,
        seconds=seconds,
        returns=np.take_along_axis(returns, np.argsort(seating, axis=1), axis=1),
        seating=seating,
    )


def game_seeds(seed: int, num_games: int) -> npt.NDArray[np.int64]:
    """Seed of each game of a match, int64[num_games]: `env.reset(seed=...)` with it deals that game.

    Entry g depends on (seed, g) only.
    """
    words = np.random.SeedSequence(seed, spawn_key=(0,)).generate_state(num_games, np.uint64)
    return (words >> np.uint64(1)).astype(np.int64)


def seat_order(seats: int, num_games: int, seed: int) -> npt.NDArray[np.intp]:
    """Which policy sits where, int[num_games, seats]. Row g depends on (seed, g) only.

    Each run of `seats` games takes an order of the policies at random and turns it through all seats: everybody sits
    everywhere once, and who sits beside whom is drawn anew each time. (All orders in turn would be as
    balanced only after (seats - 1)! runs, and badly before.)
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))
    runs = -(-num_games // seats)
    orders = rng.permuted(np.tile(np.arange(seats), (runs, 1)), axis=1)
    turned = (np.arange(seats)[:, None] + np.arange(seats)) % seats
    return orders[:, turned].reshape(-1, seats)[:num_games]


def _load(policies: Sequence[Player], game: Game) -> list[Policy | PolicyFunction]:
    """Names and paths replaced by what they name, each loaded once."""
    loaded: dict[str | os.PathLike[str], Policy] = {}
    result: list[Policy | PolicyFunction] = []
    for policy in policies:
        if isinstance(policy, (str, os.PathLike)):
            if policy not in loaded:
                loaded[policy] = load_policy(policy, game)
            result.append(loaded[policy])
        else:
            result.append(policy)
    return result


class _Players:
    """The policies of a match, each distinct object asked once a step."""

    def __init__(self, game: Game, policies: Sequence[Policy | PolicyFunction], seed: np.random.SeedSequence) -> None:
        self.game = game
        self.names = [_name(policy) for policy in policies]
        distinct: dict[int, int] = {}  # id -> number of the policy
        self.group = np.array([distinct.setdefault(id(policy), len(distinct)) for policy in policies])
        first = [int(np.argmax(self.group == k)) for k in range(len(distinct))]
        self.functions: list[PolicyFunction] = []
        for entry in first:
            policy = policies[entry]
            function = policy.act if isinstance(policy, Policy) else policy
            if not callable(function):
                raise ValueError(f"policies[{entry}] = {policy!r}; needed: a Policy or a callable")
            self.functions.append(function)
        self.labels = [self.names[entry] for entry in first]
        self.rngs = [np.random.default_rng(child) for child in seed.spawn(len(first))]

    def act(self, batch: Batch, tables: npt.NDArray[np.intp], entries: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
        """A legal action for the seat to move at each of `tables`, where policy `entries` sits."""
        actions = np.empty(tables.size, np.int64)
        groups = self.group[entries]
        for k, (function, rng) in enumerate(zip(self.functions, self.rngs, strict=True)):
            mine = np.flatnonzero(groups == k)
            if mine.size:
                rows = tables[mine]
                # Indexing copies: a policy may keep or overwrite what it gets.
                observation, mask = batch.observation[rows], batch.action_mask[rows]
                try:
                    answer = function(observation, mask, rng)
                except PolicyError:
                    raise
                except Exception as error:
                    raise PolicyError(f"policy {self.labels[k]!r} raised {type(error).__name__}: {error}") from error
                actions[mine] = self._check(self.labels[k], answer, batch.action_mask[rows], batch.seat[rows])
        return actions

    def _check(
        self, label: str, answer: object, mask: npt.NDArray[np.int8], seat: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        actions = np.asarray(answer)
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
            names = ", ".join(self.game.action_names[i] for i in ids[:SHOWN_ACTIONS])
            more = f" and {ids.size - SHOWN_ACTIONS} more" if ids.size > SHOWN_ACTIONS else ""
            raise PolicyError(f"policy {label!r} in seat {seat[row]} chose {name}; legal: {names}{more}")
        return actions.astype(np.int64)


def _name(policy: Policy | PolicyFunction) -> str:
    for attribute in ("name", "__name__"):
        name = getattr(policy, attribute, None)
        if isinstance(name, str):
            return name
    return type(policy).__name__


def _whole(name: str, value: object, low: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < low:
        raise ValueError(f"{name} = {value!r}; allowed: a whole number from {low}")
    return int(value)


def _count(
    names: Sequence[str], returns: npt.NDArray[np.float64], seating: npt.NDArray[np.intp]
) -> tuple[PolicyResult, ...]:
    """Results of each policy from the returns of each seat, float64[games, seats]."""
    # Rewards are sums of fractions such as -1/3: what differs by rounding only is equal.
    returns = returns.round(9)
    wins = (returns == returns.max(axis=1, keepdims=True)).astype(np.float64)
    wins /= wins.sum(axis=1, keepdims=True)
    num_games, seats = returns.shape
    places = np.empty_like(returns)
    for seat in range(seats):
        own = returns[:, [seat]]
        places[:, seat] = (returns > own).sum(axis=1) + ((returns == own).sum(axis=1) + 1) / 2
    results = []
    for entry, name in enumerate(names):
        here = seating == entry  # exactly one seat a game
        own = returns[here]
        by_seat = []
        for seat in range(seats):
            sat = here[:, seat]
            games = int(sat.sum())
            won = min(float(wins[sat, seat].sum()), games)  # thirds add up to a hair too much
            by_seat.append(
                SeatResult(
                    games,
                    won,
                    won / games if games else 0.0,
                    *wilson(won, games),
                    float(returns[sat, seat].mean()) if games else 0.0,
                )
            )
        won = min(float(wins[here].sum()), num_games)
        results.append(
            PolicyResult(
                name,
                num_games,
                won,
                won / num_games,
                *wilson(won, num_games),
                float(own.mean()),
                float(own.std(ddof=1) / np.sqrt(num_games)) if num_games > 1 else 0.0,
                float(places[here].mean()),
                tuple(by_seat),
            )
        )
    return tuple(results)
