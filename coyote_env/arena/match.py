"""Matches: the same policies at the same table for many games, and what that says about them.

What makes the figures trustworthy:

- The games are fixed before the first card is dealt: game g has its own seed and its own seating, both from
  (match seed, g) alone, and every one of them is played to its end and counted. (Stopping at the n-th *finished*
  game would count short games first.)
- Each run of N games at N seats puts every policy in every seat once, with changing neighbours (`seat_order`).
- Deals can be duplicated: all games of a run have one seed, so the same cards come up and policies draw the same
  numbers as long as play agrees. Luck of a seat then comes to all.
- Games of one deal are not independent, so intervals are made from the spread between deals.

Whether duplicates tell more than as many games of separate deals depends on the game. They take off what the cards do
for a seat, and add what the cards do for a policy wherever it sits: some deals give skill much to decide, and others
little. Measured as the `gain` of the win share of the first and the last policy over 8,000 games each, "turned" with
one order turned through the seats (its neighbours stay), "squares" as they are seated here, where 1 is what as many
independent games tell (+- 0.03). What is better is the default for the game (`policies.registry`).

    line-up                                  separate,    separate,    duplicates,  duplicates,
                                             turned       squares      turned       squares
    coyote 4 seats: net bayes plus-one x2    0.91  0.90   1.07  1.05   0.71  0.70   0.91  1.00
    coyote 4 seats: net bayes x3             1.05  0.95   1.00  1.00   0.77  0.74   0.77  1.08
    coyote 4 seats: bayes plus-one x3        0.97  0.98   1.00  1.00   0.53  0.60   0.53  0.84
    coyote animals: bayes plus-one x3        0.97  0.94   1.02  1.01   0.43  0.47   0.43  0.90
    coyote 2 seats: bayes plus-one           1.00  1.00   1.00  1.00   0.75  0.75   0.75  0.75
    coyote mini: plus-one random             0.99  0.99   0.99  0.99   1.01  1.01   1.01  1.01
    scout 4 seats: net planner greedy x2     0.99  1.04   1.01  1.03   1.19  1.00   1.16  1.01
    scout 4 seats: net planner x3            0.97  0.94   0.98  0.96   1.17  1.17   1.17  1.16
    scout 4 seats: planner greedy x3         0.99  0.96   1.00  1.02   0.99  1.04   0.99  1.05
    scout 3 seats: planner greedy random     1.01  1.00   1.01  1.00   1.06  1.00   1.06  1.00
    scout 2 seats: planner greedy            1.00  1.00   1.00  1.00   1.12  1.12   1.12  1.12
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

import coyote_env
from coyote_env.arena.play import GameFault, Played, Progress, play_games
from coyote_env.arena.stats import Mean, grouped_mean, grouped_share, wilson
from coyote_env.core.arguments import shortened, shown
from coyote_env.core.players import name_of
from coyote_env.policies import GAMES, CheckpointPolicy, Player, PolicyError, resolve

if TYPE_CHECKING:
    from coyote_env.arena.aivat import Critic
    from coyote_env.core.game import Game
    from coyote_env.core.record import RecordTaker


MOST_GAMES = 10_000_000  # of one match: a gigabyte or two of results; more are several matches with other seeds


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
    low: float  # 95% interval of the share, from the spread between deals
    high: float
    mean_return: float
    return_error: float  # standard error of the mean return
    return_low: float  # 95% interval
    return_high: float
    mean_place: float  # 1 = best; by return, equal ones share; with reward="win" the losers of a game are all equal
    place_low: float
    place_high: float
    gain: float  # how many times as many games of separate deals would tell as much about its return
    adjusted: Mean | None  # the mean return by control variates, if asked for
    faults: int  # games that it lost by no legal answer
    seats: tuple[SeatResult, ...]  # by seat


class MatchStopped(PolicyError):  # noqa: N818  # it says what happened
    """A policy gave no legal answer, and the match stops there.

    Attributes: `faults` (`GameFault`, with the games until then as records) and `result`, a MatchResult of the deals
    that are complete, up to the first that is not; None if there is none. (Deals finished later are left out: of those,
    short games would come first.)
    """

    def __init__(self, faults: list[GameFault], result: MatchResult | None) -> None:
        first = faults[0]
        super().__init__(f"game {first.game} (seed {first.record.seed}): {first.what}")
        self.faults = faults
        self.result = result


@dataclass(frozen=True, eq=False)  # arrays have no plain equality
class MatchResult:
    """What a match has shown, and what is needed to play it again."""

    game: str
    kwargs: dict[str, Any]  # arguments that rebuild the game
    layout_hash: str
    seed: int
    duplicates: bool
    on_error: str
    num_games: int
    num_tables: int | None
    policies: tuple[PolicyResult, ...]  # in the order given to `play_match`
    sources: tuple[dict[str, Any], ...]  # what each policy is, as far as it is known
    decisions: int  # actions taken in the counted games
    seconds: float  # wall time, policies included
    returns: npt.NDArray[np.float64]  # float64[games, policies]: each game's result, in the order of the games
    seating: npt.NDArray[np.intp]  # int[games, seats]: index of the policy in each seat
    faults: tuple[GameFault, ...] = field(default=())

    def as_dict(self) -> dict[str, Any]:
        """The result as plain JSON types, with all that is needed to play it again; without game-by-game arrays."""
        return {
            "format": "coyote_env match 2",
            "game": self.game,
            "kwargs": self.kwargs,
            "layout_hash": self.layout_hash,
            "seed": self.seed,
            "duplicates": self.duplicates,
            "on_error": self.on_error,
            "games": self.num_games,
            "tables": self.num_tables,
            "fair_share": 1 / len(self.policies),
            "policies": [
                {
                    "name": p.name,
                    **source,
                    "games": p.games,
                    "wins": p.wins,
                    "share": p.share,
                    "interval_95": [p.low, p.high],
                    "mean_return": p.mean_return,
                    "return_error": p.return_error,
                    "return_interval_95": [p.return_low, p.return_high],
                    "mean_place": p.mean_place,
                    "place_interval_95": [p.place_low, p.place_high],
                    "gain": p.gain,
                    "adjusted_return": None if p.adjusted is None else p.adjusted._asdict(),
                    "faults": p.faults,
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
                for p, source in zip(self.policies, self.sources, strict=True)
            ],
            "faults": [
                {"game": f.game, "policy": f.entry, "what": f.what, "record": f.record.as_dict()}
                for f in self.faults[:10]
            ],
            "decisions": self.decisions,
            "seconds": self.seconds,
            "versions": versions(),
        }

    def to_json(self) -> str:
        """`as_dict` as text."""
        return json.dumps(self.as_dict(), indent=2, allow_nan=False)

    def table(self) -> str:
        """The result as a table for people: one row a policy."""
        header = ["policy", "wins", "95% interval", "mean return", "place", "gain"]
        adjusted = any(p.adjusted is not None for p in self.policies)
        header += ["adjusted return", "gain"] if adjusted else []
        header += [f"seat {s}" for s in range(len(self.policies))]
        rows = []
        for p in self.policies:
            row = [
                shortened(p.name, 100),
                f"{p.share:.1%}",
                f"{p.low:.1%} to {p.high:.1%}",
                f"{p.mean_return:+.3f} +- {p.return_high - p.mean_return:.3f}",
                f"{p.mean_place:.2f} +- {p.place_high - p.mean_place:.2f}",
                f"x{p.gain:.1f}",
            ]
            if p.adjusted is not None:
                half = p.adjusted.high - p.adjusted.mean
                row += [f"{p.adjusted.mean:+.3f} +- {half:.3f}", f"x{p.adjusted.gain:.1f}"]
            rows.append([*row, *(f"{s.share:.1%}" if s.games else "-" for s in p.seats)])
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        lines = [
            "  ".join([line[0].ljust(widths[0])] + [c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True)])
            for line in [header, ["-" * w for w in widths], *rows]
        ]
        arguments = ", ".join(f"{key}={value}" for key, value in self.kwargs.items())
        rate = self.num_games / self.seconds if self.seconds > 0 else 0.0
        deals = -(-self.num_games // len(self.policies)) if self.duplicates else self.num_games
        fair = f"fair share {1 / len(self.policies):.1%}"
        lost = [f"{p.name} lost {p.faults:,} games by no legal answer" for p in self.policies if p.faults]
        return "\n".join(
            [
                f"{self.game} ({arguments})",
                f"{counted(self.num_games, 'game')} of {counted(deals, 'deal')}, seed {self.seed}; {fair}",
                "",
                *(line.rstrip() for line in lines),
                *lost,
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
    duplicates: bool | None = None,
    critic: Critic | None = None,
    num_tables: int | None = None,
    threads: int = 1,
    on_error: str = "stop",
    progress: Progress | None = None,
    records: RecordTaker | None = None,
) -> MatchResult:
    """Play `num_games` games between the policies, one a seat, and count.

    A policy is a `Policy`, a callable `(observation, action_mask, rng) -> actions`, or a name or path for
    `load_policy`. The same one in several places is one policy: it plays there independently, and is asked once a step
    for all of them. The winner of a game is the seat with the highest return; equal ones share the win.

    With `duplicates` each deal is played N times, every policy in every seat once (the last deal less often if N does
    not divide `num_games`); without, every game has a deal of its own. None: as is better for this game.

    `critic`: control variates as well, see `arena.aivat`.

    Reproducible: game g depends on `seed`, g and the policies only, whatever `num_tables` (at once: default 512) and
    `threads` (see `play_games`).

    `progress(done, num_games)` is called whenever games have ended. `records` gets a record of each game when it ends,
    with the policies' names by seat and the seed that deals it; the result is the same without.

    A policy that raises, or whose answer is not one legal action a row, stops the match: MatchStopped, a PolicyError,
    names the policy, the seat, the action and legal ones, and keeps the game so far and the result of what is finished.
    With `on_error="forfeit"` that seat loses that game instead, and the result tells how often.

    Raises ValueError for arguments out of range, by name, and for a policy made for another game; what `load_policy`
    raises.
    """
    seats = game.num_seats
    if len(policies) != seats:
        raise ValueError(f"policies: {len(policies)} given; {game.name} has {seats} seats here, and needs one for each")
    num_games = whole("num_games", num_games, 1, MOST_GAMES)
    seed = whole("seed", seed, 0)
    tables = None if num_tables is None else whole("num_tables", num_tables, 1)
    threads = whole("threads", threads, 1)
    players = resolve(policies, game, "policies")
    if duplicates is None:
        duplicates = game.name not in GAMES or GAMES[game.name].duplicates
    replays = seats if duplicates else 1
    seating = seat_order(seats, num_games, seed)
    corrections = None
    if critic is not None:
        from coyote_env.arena.aivat import Corrections

        corrections = Corrections(game, players, seating, critic, seed)
    seeds = game_seeds(seed, num_games, replays)
    if corrections is not None:
        corrections.begin(seeds)
    started = time.perf_counter()
    played = play_games(
        game, players, seeds, seating, num_tables=tables, threads=threads, on_error=on_error, progress=progress,
        records=records, watcher=corrections,
    )  # fmt: skip
    seconds = time.perf_counter() - started

    def result(count: int) -> MatchResult:
        """What the first `count` games say."""
        here = slice(0, count)
        found = played.returns[here]
        faults = [fault for fault in played.faults if fault.game < count]  # none, if play stops at the first
        return MatchResult(
            game=game.name,
            kwargs=dict(game.kwargs),
            layout_hash=game.layout.hash,
            seed=seed,
            duplicates=bool(duplicates),
            on_error=on_error,
            num_games=count,
            num_tables=tables,
            policies=count_results(
                [name_of(player) for player in players], found, seating[here], replays,
                None if corrections is None else corrections.parts[:, here], faults,
            ),
            sources=tuple(source_of(player) for player in players),
            decisions=int(played.length[here].sum()),
            seconds=seconds,
            returns=np.take_along_axis(found, np.argsort(seating[here], axis=1), axis=1),
            seating=seating[here],
            faults=tuple(faults),
        )  # fmt: skip

    if on_error == "stop" and played.faults:
        whole_deals = complete(played, replays)
        raise MatchStopped(played.faults, result(whole_deals) if whole_deals else None)
    return result(num_games)


def complete(played: Played, replays: int) -> int:
    """How many games, whole deals from the first on, are finished."""
    missing = np.flatnonzero(~played.finished)
    return int(missing[0]) // replays * replays if missing.size else len(played.finished)


def game_seeds(seed: int, num_games: int, replays: int = 1) -> npt.NDArray[np.int64]:
    """Seed of each game of a match, int64[num_games]: `env.reset(seed=...)` with it deals that game.

    Each serves `replays` games in a row. Entry g depends on (seed, g // replays) only.
    """
    words = np.random.SeedSequence(seed, spawn_key=(0,)).generate_state(-(-num_games // replays), np.uint64)
    return np.repeat((words >> np.uint64(1)).astype(np.int64), replays)[:num_games]


def seat_order(seats: int, num_games: int, seed: int) -> npt.NDArray[np.intp]:
    """Which policy sits where, int[num_games, seats]. Row g depends on (seed, g) only.

    Each run of `seats` games is a Latin square that Williams found (Austral. J. Sci. Res. A 2, 1949): everybody sits in
    every seat once, and, with an even number of seats, right after each other policy equally often; with an odd number
    two runs do that together. Which policy is which is drawn anew for each square. Merely turning one order through the
    seats would keep the neighbours: then a run's games are alike (for 4 policies of COYOTE, 10 to 20% of what they tell
    was lost by it), since it matters who answers to whom.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))
    runs = -(-num_games // seats)
    # 0, 1, N - 1, 2, N - 2, ...: neighbours differ by another step each time.
    zigzag = np.array([-(k // 2) % seats if k % 2 == 0 else (k + 1) // 2 for k in range(seats)], np.intp)
    squares = ((zigzag + np.arange(seats)[:, None]) % seats)[None]
    if seats % 2:
        squares = np.concatenate([squares, squares[:, :, ::-1]])
    drawn = -(-runs // len(squares))
    orders = rng.permuted(np.tile(np.arange(seats), (drawn, 1)), axis=1)
    return orders[:, squares].reshape(-1, seats)[:num_games]


def whole(name: str, value: Any, low: int, high: int | None = None) -> int:
    """`value` as a whole number from `low` on, at most `high`. Raises ValueError that calls it `name`."""
    good = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not good or value < low or (high is not None and value > high):
        to = "" if high is None else f" to {high:,}"
        raise ValueError(f"{name} = {shown(value)}; allowed: a whole number from {low}{to}")
    return int(value)


def counted(number: int, thing: str) -> str:
    """ "1 game", "2,000 games"."""
    return f"{number:,} {thing}" + ("" if number == 1 else "s")


def in_table(name: str) -> str:
    """A name, which may be anything, in a cell of a Markdown table."""
    return shortened(name, 100).replace("|", "\\|") or "?"


def versions() -> dict[str, str]:
    """Versions of what results depend on."""
    import numba

    return {
        "coyote_env": coyote_env.__version__, "python": platform.python_version(), "numpy": np.__version__,
        "numba": numba.__version__,
    }  # fmt: skip


def source_of(player: Any) -> dict[str, Any]:
    """What is known of where a policy comes from, as plain JSON types."""
    if isinstance(player, CheckpointPolicy):
        return {
            "path": os.fspath(player.path), "policy_sha256": player.manifest.policy_sha256, "greedy": player.greedy,
            "temperature": player.temperature,
        }  # fmt: skip
    return {"class": f"{type(player).__module__}.{type(player).__qualname__}"}


def wins_of(returns: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Each seat's part of the win, from returns of each, float64[games, seats]."""
    # Rewards are sums of fractions such as -1/3: what differs by rounding only is equal.
    returns = returns.round(9)
    wins = (returns == returns.max(axis=1, keepdims=True)).astype(np.float64)
    return np.asarray(wins / wins.sum(axis=1, keepdims=True))


def places_of(returns: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Each seat's place, 1 the best, equal ones the mean of theirs, from returns of each, float64[games, seats]."""
    returns = returns.round(9)
    places = np.empty_like(returns)
    for seat in range(returns.shape[1]):
        own = returns[:, [seat]]
        places[:, seat] = (returns > own).sum(axis=1) + ((returns == own).sum(axis=1) + 1) / 2
    return places


def count_results(
    names: Sequence[str],
    returns: npt.NDArray[np.float64],
    seating: npt.NDArray[np.intp],
    replays: int,
    corrections: npt.NDArray[np.float64] | None,
    faults: Sequence[GameFault],
) -> tuple[PolicyResult, ...]:
    """Results of each policy from the returns of each seat, float64[games, seats]; `replays` games a deal.

    `corrections`: the parts of control variates for each seat's return, float64[parts, games, seats].
    """
    num_games, seats = returns.shape
    wins, places = wins_of(returns), places_of(returns)
    deals = np.arange(num_games) // replays
    results = []
    for entry, name in enumerate(names):
        here = seating == entry  # exactly one seat a game
        by_seat = []
        for seat in range(seats):
            sat = here[:, seat]
            games = int(sat.sum())
            won = min(float(wins[sat, seat].sum()), games)  # thirds add up to a hair too much
            share = won / games if games else 0.0
            mean = float(returns[sat, seat].mean()) if games else 0.0
            by_seat.append(SeatResult(games, won, share, *wilson(won, games), mean))
        share_of_wins = grouped_share(wins[here], deals)
        paid, placed = grouped_mean(returns[here], deals), grouped_mean(places[here], deals)
        adjusted = None
        if corrections is not None:
            from coyote_env.arena.aivat import weighed

            adjusted = grouped_mean(returns[here] + weighed(corrections[:, here], returns[here], deals), deals)
            # Against the plain returns of as many separate deals.
            alone = float(returns[here].var(ddof=1)) / num_games if num_games > 1 else 0.0
            adjusted = adjusted._replace(gain=alone / adjusted.error**2 if adjusted.error > 0 else 1.0)
        results.append(
            PolicyResult(
                name,
                num_games,
                min(float(wins[here].sum()), num_games),
                share_of_wins.mean,
                share_of_wins.low,
                share_of_wins.high,
                paid.mean,
                paid.error,
                paid.low,
                paid.high,
                placed.mean,
                placed.low,
                placed.high,
                paid.gain,
                adjusted,
                sum(fault.entry == entry for fault in faults),
                tuple(by_seat),
            )
        )
    return tuple(results)
