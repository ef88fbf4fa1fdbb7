"""Leagues: all-play-all between many policies at tables of N, and a rating for each. `coyote league`.

The folder of a league holds one file for each line-up, written whole when its games are done. What a line-up plays
depends on the league's seed and on its members alone, so an interrupted league goes on where it was, and a policy that
joins plays its own line-ups and no others again. A checkpoint counts as another policy when its network has changed.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

import coyote_env
from coyote_env.arena.match import (
    MOST_GAMES,
    MatchStopped,
    complete,
    counted,
    game_seeds,
    in_table,
    places_of,
    seat_order,
    source_of,
    versions,
    whole,
)
from coyote_env.arena.play import GameFault, Progress, play_games
from coyote_env.arena.ratings import Ratings, ahead, alpha_rank, lottery, orders_of, rate
from coyote_env.core.arguments import shortened, shown
from coyote_env.policies import load_policy, scripted_names
from coyote_env.policies.checkpoint import MANIFEST_FILE

if TYPE_CHECKING:
    from coyote_env.core.game import Game

FORMAT = "coyote_env league 2"


_MEND = "delete it, and what it held is played again"


class Entrant(NamedTuple):
    """A policy in a league. `key` says which: it changes with the network, or with our scripted players' version."""

    name: str
    key: str
    policy: Any


@dataclass(frozen=True, eq=False)
class LeagueResult:
    """A league's table. Arrays are by entrant, which are in the order of their names.

    Fields:
        ratings: 0 for `random`, 1000 for the anchor.
        games: played by each.
        share: of wins; `place`: mean place.
        faults: games that each lost by no legal answer.
        ahead: how often i finished ahead of j.
        lottery: weight in the maximal lottery.
        alpha_rank: mass in alpha-rank; None without OpenSpiel.
    """

    game: str
    kwargs: Mapping[str, Any]
    seed: int
    names: tuple[str, ...]
    sources: tuple[dict[str, Any], ...]
    anchor: str
    lineups: int
    total_games: int
    ratings: Ratings
    games: npt.NDArray[np.int64]
    share: npt.NDArray[np.float64]
    place: npt.NDArray[np.float64]
    faults: npt.NDArray[np.int64]
    ahead: npt.NDArray[np.float64]
    lottery: npt.NDArray[np.float64]
    alpha_rank: npt.NDArray[np.float64] | None

    def order(self) -> list[int]:
        """Entrants by rating, the best first."""
        return sorted(range(len(self.names)), key=lambda i: (-self.ratings.rating[i], self.names[i]))

    def as_dict(self) -> dict[str, Any]:
        """The table as plain JSON types."""
        return {
            "format": FORMAT,
            "game": self.game,
            "kwargs": dict(self.kwargs),
            "seed": self.seed,
            "anchors": {"random": 0, self.anchor: 1000},
            "lineups": self.lineups,
            "games": self.total_games,
            "policies": [
                {
                    "name": self.names[i],
                    **self.sources[i],
                    "rating": float(self.ratings.rating[i]),
                    "interval_95": [float(self.ratings.low[i]), float(self.ratings.high[i])],
                    "games": int(self.games[i]),
                    "share": float(self.share[i]),
                    "mean_place": float(self.place[i]),
                    "faults": int(self.faults[i]),
                    "lottery": float(self.lottery[i]),
                    "alpha_rank": None if self.alpha_rank is None else float(self.alpha_rank[i]),
                    "ahead_of": {self.names[j]: float(self.ahead[i, j]) for j in range(len(self.names)) if j != i},
                }
                for i in self.order()
            ],
            "versions": versions(),
        }

    def markdown(self) -> str:
        """The table in Markdown."""
        lines = [
            "| policy | rating | 95% interval | wins | place | lottery | alpha-rank | games |",
            "|---|---:|---|---:|---:|---:|---:|---:|",
        ]
        for i in self.order():
            rank = "-" if self.alpha_rank is None else f"{self.alpha_rank[i]:.2f}"
            lines.append(
                f"| {in_table(self.names[i])} | {self.ratings.rating[i]:.0f} | {self.ratings.low[i]:.0f} to "
                f"{self.ratings.high[i]:.0f} | {self.share[i]:.1%} | {self.place[i]:.2f} | {self.lottery[i]:.2f} "
                f"| {rank} | {self.games[i]:,} |"
            )
        arguments = ", ".join(f"{key}={value}" for key, value in self.kwargs.items())
        lines += [
            "",
            f"{self.game} ({arguments}); {self.total_games:,} games of {counted(self.lineups, 'line-up')}, "
            f"seed {self.seed}; Plackett-Luce over finishing orders, random = 0, {self.anchor} = 1000, bootstrap "
            "over deals.",
        ]
        lost = [
            f"{in_table(self.names[i])} lost {counted(int(self.faults[i]), 'game')} by no legal answer"
            for i in self.order()
            if self.faults[i]
        ]
        lines += ["", "; ".join(lost) + "."] if lost else []
        return "\n".join(lines)

    def heatmap(self, path: Path) -> None:
        """Writes a PNG: how often the row's policy finishes ahead of the column's."""
        try:
            import matplotlib as mpl
        except ImportError:
            raise ImportError("the heatmap needs matplotlib: pip install 'coyote-env[arena]'") from None
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        order = self.order()
        size = 2.5 + 0.7 * len(order)
        figure = Figure(figsize=(size + 1, size), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots()
        shown = self.ahead[np.ix_(order, order)].copy()
        np.fill_diagonal(shown, np.nan)
        image = axes.imshow(shown, cmap=mpl.colormaps["RdYlGn"], vmin=0, vmax=1)
        for i, j in itertools.permutations(range(len(order)), 2):
            axes.text(j, i, f"{100 * shown[i, j]:.0f}", ha="center", va="center", fontsize=8)
        labels = [self.names[i] for i in order]
        axes.set_xticks(range(len(order)), labels, rotation=45, ha="right")
        axes.set_yticks(range(len(order)), labels)
        axes.set_title("finishes ahead, % of games")
        figure.colorbar(image, ax=axes, shrink=0.7)
        figure.savefig(path, dpi=120)


def entrants_of(sources: Sequence[str], game: Game, anchor: str, greedy: bool = False) -> list[Entrant]:
    """The policies of a league, `random` and the anchor among them, by name.

    `sources`: names of scripted players, checkpoint folders, and folders of such folders. Raises what `load_policy`
    raises, and ValueError for two policies of one name or a folder without any.
    """
    scripted = scripted_names(game.name)
    found: dict[str, str] = {name: name for name in ("random", anchor)}
    for source in sources:
        path = Path(source)
        if source not in scripted and path.is_dir() and not (path / MANIFEST_FILE).exists():
            folders = sorted(p for p in path.iterdir() if (p / MANIFEST_FILE).exists())
            if not folders:
                raise ValueError(f"{source}: holds no folder with a {MANIFEST_FILE}")
        else:
            folders = [path]
        for folder in folders:
            is_name = source in scripted
            name = source if is_name else folder.resolve().name
            given = source if is_name else os.fspath(folder)
            if found.get(name, given) != given:
                raise ValueError(f"two policies are called {name!r}: {found[name]} and {given}")
            found[name] = given
    entrants = []
    for name, given in sorted(found.items()):
        policy = load_policy(given, game, greedy=greedy and given not in scripted)
        facts = source_of(policy)
        facts.pop("path", None)
        key = json.dumps([name, facts, coyote_env.__version__ if given in scripted else None], sort_keys=True)
        entrants.append(Entrant(name, hashlib.sha256(key.encode()).hexdigest(), policy))
    return entrants


def lineups_of(entrants: Sequence[Entrant], seats: int, per_policy: int | None) -> list[tuple[int, ...]]:
    """Line-ups to play, each the places of its members in `entrants`, ascending.

    All different ones; if there are fewer policies than seats, all that fill the table with at least two of them. With
    `per_policy`, of each policy's line-ups the first so many in an order drawn by name, so that one that joins
    disturbs the others little.
    """
    n = len(entrants)
    if n >= seats:
        every = list(itertools.combinations(range(n), seats))
    else:
        every = [c for c in itertools.combinations_with_replacement(range(n), seats) if len(set(c)) > 1]
    if per_policy is None:
        return every
    ranked = sorted(every, key=lambda c: hashlib.sha256("\n".join(entrants[i].name for i in c).encode()).digest())
    chosen: set[tuple[int, ...]] = set()
    for i in range(n):
        chosen.update([c for c in ranked if i in c][:per_policy])
    return sorted(chosen)


def play_league(
    game: Game,
    entrants: Sequence[Entrant],
    folder: Path,
    games: int,
    seed: int,
    *,
    anchor: str,
    per_policy: int | None = None,
    threads: int = 1,
    on_error: str = "stop",
    progress: Progress | None = None,
    note: Callable[[str], None] | None = None,
) -> LeagueResult:
    """Plays what is not in `folder` yet, `games` for each line-up (rounded up to whole deals), and rates all entrants.

    Raises ValueError for a folder of another league, by field; MatchStopped as `play_match` does; the
    line-ups that are finished stay in the folder.
    """
    seats = game.num_seats
    games = -(-whole("games", games, 1, MOST_GAMES) // seats) * seats
    seed = whole("seed", seed, 0)
    threads = whole("threads", threads, 1)
    per_policy = None if per_policy is None else whole("per_policy", per_policy, 1)
    by_name = {entrant.name: i for i, entrant in enumerate(entrants)}
    if anchor == "random" or not {anchor, "random"} <= by_name.keys():
        raise ValueError(f"anchor = {shown(anchor)}; allowed: one of the policies, and not random, which is rated 0")
    _check_folder(folder, game, seed, games)
    lineups = lineups_of(entrants, seats, per_policy)
    shape = (games, seats)
    todo = [c for c in lineups if _read(folder, _key(entrants, c), shape) is None]
    if note is not None:
        note(f"{counted(len(lineups), 'line-up')} of {games:,} games; {len(lineups) - len(todo):,} are there already")
    for number, lineup in enumerate(todo):
        key = _key(entrants, lineup)
        own_seed = int.from_bytes(hashlib.sha256(f"{seed} {key}".encode()).digest()[:7], "big")
        seating = seat_order(seats, games, own_seed)
        begun = number * games
        report = None if progress is None else _shifted(progress, begun, len(todo) * games)
        played = play_games(
            game, [entrants[i].policy for i in lineup], game_seeds(own_seed, games, seats), seating, threads=threads,
            on_error=on_error, progress=report,
        )  # fmt: skip
        if on_error == "stop" and played.faults:
            assert complete(played, seats) < games
            raise MatchStopped(played.faults, None)
        # By return, and of equal ones by who was in the game for longer.
        returns = played.returns.round(9)
        outlived = (played.lasted[:, :, None] > played.lasted[:, None, :]).sum(axis=2)
        finish = places_of(returns * 1e6 + outlived)
        _write(folder, key, [entrants[i] for i in lineup], own_seed, seating, returns, finish, played.faults)
    return _rated(game, entrants, folder, lineups, games, seed, by_name[anchor], by_name["random"])


def _shifted(progress: Progress, begun: int, total: int) -> Progress:
    return lambda done, _: progress(begun + done, total)


def _key(entrants: Sequence[Entrant], lineup: Sequence[int]) -> str:
    return hashlib.sha256("\n".join(entrants[i].key for i in lineup).encode()).hexdigest()[:32]


def _check_folder(folder: Path, game: Game, seed: int, games: int) -> None:
    """That the folder is this league's, or a new one."""
    mine = {
        "format": FORMAT, "game": game.name, "kwargs": dict(game.kwargs), "layout_hash": game.layout.hash, "seed": seed,
        "games": games,
    }  # fmt: skip
    path = folder / "settings.json"
    if not path.exists():
        if folder.exists() and any(path.suffix != ".part" for path in folder.iterdir()):  # a league that died early
            raise ValueError(
                f"{folder}: there is no settings.json, so that it is no league, or none any more; if it was one, "
                "copy that file from what the same command makes of another folder"
            )
        folder.mkdir(parents=True, exist_ok=True)
        _replace(path, json.dumps(mine, indent=1))
        return
    found = _json(path, "copy it from what the same command makes of another folder")
    plain = json.loads(json.dumps(mine))
    for field, value in plain.items():
        if found.get(field) != value:
            raise ValueError(
                f"{path}: {field} = {shown(found.get(field))}; this league has {shown(value)}; choose another folder"
            )


def _json(path: Path, mend: str = _MEND) -> dict[str, Any]:
    """The object in a file of a league's folder. ValueError that names the file and says what to do."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError is a ValueError
        raise ValueError(f"{path}: no JSON ({shortened(str(error))}); {mend}") from None
    if not isinstance(data, dict):
        raise ValueError(f"{path}: a JSON {type(data).__name__}, no object; {mend}")
    return data


def _replace(path: Path, text: str) -> None:
    part = path.with_name(f"{path.name}.{os.getpid()}.part")  # two leagues may be at work in one folder
    part.write_text(text + "\n", encoding="utf-8")
    part.replace(path)


class _Games(NamedTuple):
    """What a line-up's file says, by seat (games, seats), and faults by member (seats,)."""

    seating: npt.NDArray[np.intp]
    returns: npt.NDArray[np.float64]
    places: npt.NDArray[np.float64]
    faults: npt.NDArray[np.int64]


def _read(folder: Path, key: str, shape: tuple[int, int]) -> _Games | None:
    """A line-up's games, None if they have not been played. ValueError, naming the file, for what cannot be theirs."""
    path = folder / f"{key}.json"
    if not path.exists():
        return None
    data = _json(path)
    if data.get("key") != key:
        raise ValueError(f"{path}: key = {shown(data.get('key'))}, so that it is another line-up's; {_MEND}")

    def table(field: str, shape: tuple[int, ...], low: float, high: float) -> npt.NDArray[np.float64]:
        try:
            values = np.array(data.get(field), np.float64)
        except (ValueError, TypeError, OverflowError):
            values = np.empty(0)
        if values.shape != shape or not ((values >= low) & (values <= high)).all():  # NaN is not
            raise ValueError(f"{path}: {field} is no table of {shape} numbers from {low:g} to {high:g}; {_MEND}")
        return values

    seats = shape[1]
    seating = table("seating", shape, 0, seats - 1)
    if (np.sort(seating, axis=1) != np.arange(seats)).any():
        raise ValueError(f"{path}: seating does not seat everybody once in every game; {_MEND}")
    return _Games(
        seating.astype(np.intp),
        table("returns", shape, -1e6, 1e6),
        table("places", shape, 1, seats),
        table("faults", (seats,), 0, shape[0]).astype(np.int64),
    )


def _write(
    folder: Path,
    key: str,
    members: Sequence[Entrant],
    seed: int,
    seating: npt.NDArray[np.intp],
    returns: npt.NDArray[np.float64],
    finish: npt.NDArray[np.float64],
    faults: Sequence[GameFault],
) -> None:
    value = {
        "key": key, "members": [member.name for member in members], "seed": seed,
        "faults": np.bincount([fault.entry for fault in faults], minlength=len(members)).tolist(),
        "first_faults": [
            {"policy": members[fault.entry].name, "what": fault.what, "record": fault.record.as_dict()}
            for fault in faults[:3]
        ],
        "seating": seating.tolist(),
        "returns": returns.tolist(), "places": finish.tolist(),
    }  # fmt: skip
    _replace(folder / f"{key}.json", json.dumps(value))


def _rated(
    game: Game,
    entrants: Sequence[Entrant],
    folder: Path,
    lineups: Sequence[tuple[int, ...]],
    games: int,
    seed: int,
    anchor: int,
    zero: int,
) -> LeagueResult:
    seated, places, won, groups = [], [], [], []
    faults = np.zeros(len(entrants), np.int64)
    deals = games // game.num_seats
    for number, lineup in enumerate(lineups):
        data = _read(folder, _key(entrants, lineup), (games, game.num_seats))
        assert data is not None
        members = np.array(lineup, np.intp)
        seated.append(members[data.seating])
        places.append(data.places)
        np.add.at(faults, members, data.faults)
        returns = data.returns
        top = returns == returns.max(axis=1, keepdims=True)
        won.append(top / top.sum(axis=1, keepdims=True))
        groups.append(number * deals + np.arange(games) // game.num_seats)
    seating, finish, wins = np.concatenate(seated), np.concatenate(places), np.concatenate(won)
    orders = orders_of(seating, finish, np.concatenate(groups), len(entrants))
    count = np.bincount(seating.ravel(), minlength=len(entrants))
    beside = ahead(orders)
    try:
        rank = alpha_rank(beside)
    except ImportError:
        rank = None
    return LeagueResult(
        game=game.name,
        kwargs=game.kwargs,
        seed=seed,
        names=tuple(entrant.name for entrant in entrants),
        sources=tuple(source_of(entrant.policy) for entrant in entrants),
        anchor=entrants[anchor].name,
        lineups=len(lineups),
        total_games=len(seating),
        ratings=rate(orders, zero, anchor, seed),
        games=count,
        share=np.bincount(seating.ravel(), wins.ravel(), len(entrants)) / np.maximum(count, 1),
        place=np.bincount(seating.ravel(), finish.ravel(), len(entrants)) / np.maximum(count, 1),
        faults=faults,
        ahead=beside,
        lottery=lottery(beside),
        alpha_rank=rank,
    )
