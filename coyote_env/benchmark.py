"""A fixed protocol by which anybody's policies for these games can be compared: tasks, line-ups, deals, seeds, metric.

    from coyote_env import benchmark
    print(benchmark.evaluate(my_policy, "coyote-4p-bayes"))

or, from a shell, `coyote submit policy.onnx --task coyote-4p-bayes`. A policy is an ONNX file or a checkpoint folder
(inputs `observation` float32 [batch, L] and `action_mask` [batch, A], output `logits` float32 [batch, A]; see
`coyote_env.policies.checkpoint`), a scripted player's name, or a callable `(observation, action_mask, rng) -> actions`.

A task seats the policy against fixed opponents: scripted players, and published policies, which come with the package
(so that an installed one plays every task, offline) and are pinned by the digest of their networks. Each deal of the
task is played once from every seat. The metric is the mean return of the policy, from -1 to 1, with a 95% interval from
the spread between deals; an illegal or missing answer loses its game. A protocol's tasks never change; what is added or
changed later gets another version.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from coyote_env.arena.match import count_results, game_seeds, in_table, versions, whole
from coyote_env.arena.play import Progress, play_games
from coyote_env.core.arguments import shown
from coyote_env.core.players import name_of
from coyote_env.policies import CheckpointPolicy, Player, make_game, resolve

if TYPE_CHECKING:
    from coyote_env.core.game import Game

PROTOCOL = "v1"


class Published(NamedTuple):
    """A policy that comes with the package: its folder under `checkpoints/`, and the digest of the network in it."""

    folder: str
    policy_sha256: str


# By the name that line-ups have for them. Another network is another protocol: the digest is part of its hash.
PUBLISHED: dict[str, Published] = {
    "published-coyote-4p": Published(
        "coyote_v0/gigamic-2011-4p", "91f5c66c98cc1d7868691721892016a2813a79cac378c08a39e2571ca44f5215"
    ),
    "published-scout-4p": Published(
        "scout_v0/rulebook-4p", "718674bc3a5cc2e638a8586cb2fb04770afe9026ea01d802fe26bef9d08429c2"
    ),
}
_PACKAGE = Path(__file__).resolve().parent
# In a wheel they are inside the package (pyproject.toml puts them there), in a checkout beside it.
PLACES = (_PACKAGE / "checkpoints", _PACKAGE.parent / "checkpoints")


@dataclass(frozen=True)
class Task:
    """What is played.

    Fields:
        game, rules: the table; `rules` are arguments of the game.
        opponents: clockwise from the policy, scripted players and names of `PUBLISHED`.
        deals: each is played from every seat.
        seed: of the deals.
    """

    name: str
    game: str
    rules: Mapping[str, Any]
    opponents: tuple[str, ...]
    deals: int
    seed: int

    def make(self) -> Game:
        """Its game."""
        return make_game(self.game, {**self.rules, "num_players": len(self.opponents) + 1})


def _task(name: str, game: str, opponents: Sequence[str], seed: int, deals: int = 2_000, **rules: Any) -> Task:
    return Task(name, game, rules, tuple(opponents), deals, seed)


# Seeds are arbitrary and all different.
TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        _task("coyote-2p-bayes", "coyote_v0", ["bayes"], 101),
        _task("coyote-3p-mixed", "coyote_v0", ["bayes", "plus-one"], 102),
        _task("coyote-4p-random", "coyote_v0", ["random"] * 3, 103),
        _task("coyote-4p-plus-one", "coyote_v0", ["plus-one"] * 3, 104),
        _task("coyote-4p-bayes", "coyote_v0", ["bayes"] * 3, 105),
        _task("coyote-4p-published", "coyote_v0", ["published-coyote-4p"] * 3, 111),
        _task("coyote-4p-mixed", "coyote_v0", ["published-coyote-4p", "bayes", "plus-one"], 112),
        _task("coyote-6p-classic", "coyote_v0", ["bayes"] * 5, 106, 1_000, deck="classic-36", variants="none"),
        _task("animals-4p-bayes", "coyote_v0", ["bayes"] * 3, 107, edition="animals"),
        _task("peek-4p-bayes", "coyote_v0", ["bayes"] * 3, 108, edition="peek"),
        _task("trickster-4p-bayes", "coyote_v0", ["bayes"] * 3, 109, edition="trickster"),
        _task("mini-2p-plus-one", "coyote_v0", ["plus-one"], 110, 5_000, edition="mini"),
        _task("scout-2p-planner", "scout_v0", ["planner"], 201),
        _task("scout-3p-mixed", "scout_v0", ["planner", "greedy-show"], 202),
        _task("scout-4p-random", "scout_v0", ["random"] * 3, 203),
        _task("scout-4p-greedy-show", "scout_v0", ["greedy-show"] * 3, 204),
        _task("scout-4p-planner", "scout_v0", ["planner"] * 3, 205),
        _task("scout-4p-rulebook", "scout_v0", ["planner"] * 3, 206, exemption="rulebook"),
        _task("scout-4p-published", "scout_v0", ["published-scout-4p"] * 3, 208, exemption="rulebook"),
        _task("scout-5p-planner", "scout_v0", ["planner"] * 4, 207),
    )
}


@dataclass(frozen=True)
class Score:
    """How a policy did at a task."""

    protocol: str
    task: str
    policy: str
    policy_sha256: str | None  # of the network, where there is one
    games: int
    mean_return: float
    low: float  # 95% interval
    high: float
    share: float  # of wins
    share_low: float
    share_high: float
    faults: int  # games lost by an illegal or missing answer
    first_fault: str | None
    first_fault_record: dict[str, Any] | None  # that game until then; the seat to move is at fault
    seconds: float
    versions: dict[str, str]

    HEADER = (
        "| protocol | task | policy | mean return | 95% interval | wins | faults | games |\n"
        "|---|---|---|---:|---|---:|---:|---:|"
    )

    def row(self) -> str:
        """Its row of the results table, in Markdown."""
        return (
            f"| {self.protocol} | {self.task} | {in_table(self.policy)} | {self.mean_return:+.3f} | {self.low:+.3f} to "
            f"{self.high:+.3f} | {self.share:.1%} | {self.faults:,} | {self.games:,} |"
        )

    def __str__(self) -> str:
        return f"{self.HEADER}\n{self.row()}"

    def to_json(self) -> str:
        """All of it as text."""
        return json.dumps(asdict(self), indent=1)


def task_of(name: str) -> Task:
    """The task of that name. Raises ValueError that lists all."""
    if name not in TASKS:
        raise ValueError(f"no task {shown(name)}; protocol {PROTOCOL} has {', '.join(TASKS)}")
    return TASKS[name]


def published(name: str, game: Game | None = None, *, greedy: bool = False) -> CheckpointPolicy:
    """A published policy by its name in `PUBLISHED`, for line-ups of your own too.

    Raises ValueError for an unknown name; if its folder is not there, naming the places; if another network is in it
    than this version of the package pins; and what `load_policy` raises.
    """
    if name not in PUBLISHED:
        raise ValueError(f"no published policy {shown(name)}; there are {', '.join(PUBLISHED)}")
    folder, expected = PUBLISHED[name]
    found = next((place / folder for place in PLACES if (place / folder).is_dir()), None)
    if found is None:
        places = " nor ".join(str(place / folder) for place in PLACES)
        raise ValueError(f"{name} is missing: there is neither {places}; install the package again, or use a checkout")
    policy = CheckpointPolicy(found, game, name=name, greedy=greedy)
    if policy.manifest.policy_sha256 != expected:
        raise ValueError(
            f"{found}: policy_sha256 = {policy.manifest.policy_sha256!r}; protocol {PROTOCOL} has {name} with "
            f"{expected!r}"
        )
    return policy


def opponents_of(task: Task, game: Game) -> list[Player]:
    """The opponents of a task, each loaded once. Raises what `published` raises."""
    loaded: dict[str, Player] = {name: published(name, game) for name in set(task.opponents) & set(PUBLISHED)}
    return [loaded.get(name, name) for name in task.opponents]


def load(source: str, game: Game, *, greedy: bool = False) -> Any:
    """A policy by a scripted player's or published policy's name, a checkpoint folder, or a bare ONNX file.

    Raises ValueError for a network whose inputs and outputs are not the task's, with the sizes of both.
    """
    if source in PUBLISHED:
        return published(source, game, greedy=greedy)
    path = Path(source)
    if path.is_file():
        return CheckpointPolicy.from_file(path, game, greedy=greedy)
    from coyote_env.policies import load_policy, scripted_names

    return load_policy(source, game, greedy=greedy and source not in scripted_names(game.name))


def check_deals(task: Task, deals: int | None) -> int:
    """How many deals to play. Raises ValueError for more than the task has, or fewer than one."""
    return task.deals if deals is None else whole("deals", deals, 1, task.deals)


def evaluate(
    policy: Player,
    task: str | Task,
    *,
    deals: int | None = None,
    name: str | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> Score:
    """Plays a task. `deals`: fewer than the task's, for a trial; that is no score of the protocol, and says so.

    Raises ValueError for an unknown task and for a policy made for another table, by field.
    """
    import time

    chosen = task_of(task) if isinstance(task, str) else task
    game = chosen.make()
    count = check_deals(chosen, deals)
    threads = whole("threads", threads, 1)
    seats = game.num_seats
    players = resolve([policy, *opponents_of(chosen, game)], game, "policies")
    seating = np.array([(np.arange(seats) + turn) % seats for turn in range(seats)], np.intp)
    # The policy, then the opponents clockwise from it, wherever it sits.
    seating = np.tile(seating, (count, 1))
    began = time.perf_counter()
    played = play_games(
        game, players, game_seeds(chosen.seed, count * seats, seats), seating, threads=threads, on_error="forfeit",
        progress=progress,
    )  # fmt: skip
    own_faults = [fault for fault in played.faults if fault.entry == 0]
    if len(own_faults) < len(played.faults):
        raise RuntimeError(f"an opponent of the task failed: {next(f.what for f in played.faults if f.entry)}")
    found = count_results([name_of(p) for p in players], played.returns, seating, seats, None, played.faults)[0]
    sha = players[0].manifest.policy_sha256 if isinstance(players[0], CheckpointPolicy) else None
    protocol = PROTOCOL if count == chosen.deals and chosen == TASKS.get(chosen.name) else f"{PROTOCOL} (trial)"
    return Score(
        protocol, chosen.name, found.name if name is None else name, sha, count * seats, found.mean_return,
        found.return_low, found.return_high, found.share, found.low, found.high, len(own_faults),
        own_faults[0].what if own_faults else None, own_faults[0].record.as_dict() if own_faults else None,
        time.perf_counter() - began, versions(),
    )  # fmt: skip


def protocol_hash() -> str:
    """A digest of all tasks and published policies: a test holds that a released protocol's stays as it is."""
    digests = {name: one.policy_sha256 for name, one in PUBLISHED.items()}
    text = json.dumps([[asdict(task) for task in TASKS.values()], digests], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
