"""Speed and memory, measured in one run: ``python -m tests.bench [--repeats N] [--seconds S] [--json]``.

With ``--against COMMIT`` only the batch's steps/s, of this tree over those of that commit, in turn and in one run.

Everything is measured ``repeats`` times in turn (one round measures every line once), so that a machine that is busy
for a while slows all lines of a round and the ratios hold. Shown are the median and the range over the rounds. Nothing
here is a test: no figure decides whether anything passes.

What a line means (seconds are CPU seconds of this process, on one core, unless said otherwise):

- *batch.step*: tables times calls of ``batch.step`` over the time spent in ``batch.step`` alone: the move, reward,
  dealing again, and the mask and observation of the next seat. The uniformly random legal actions were recorded
  before, from the same seed.
- *turns/s*: live turns over the time of ``last()`` and ``step(action)``, for every environment in the same loop; the
  random legal actions were recorded before, from the same seeds. ``reset`` and the steps of finished agents are not
  turns; the time of a ``reset`` (without a seed) is a line of its own.
- *training*: shares of the wall time of rollouts and updates as ``configs/quickstart.toml`` makes them, with a snapshot
  among the opponents; what else training does (measuring, writing checkpoints) is left out.
- *cold* and *warm start*: a new process with an empty, then a filled, folder of compiled kernels, from its first
  instruction to its end. On a machine with nothing else to do, wall and CPU seconds are about the same.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import os
import platform
import random
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

# One core: said before numba or a BLAS is loaded, hence the imports below it.
for _name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import numba  # noqa: E402
import numpy as np  # noqa: E402

from coyote_env import coyote_v0, scout_v0  # noqa: E402
from coyote_env.coyote.rules import EDITIONS  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
BATCH_SIZES = (1, 64, 4096)
SUBPROCESS_LIMIT = 600  # seconds after which a start is given up

# All kernels that training needs: engine, batch, exact odds and the scripted players.
COLD_CODE = """
import numpy as np
from coyote_env import coyote_v0
from coyote_env.policies import load_policy
coyote_v0.env().reset(seed=0)
batch = coyote_v0.batch(2)
batch.reset(seed=0)
rng = np.random.default_rng(0)
for name in ("random", "plus-one", "bayes"):
    policy = load_policy(name, batch.game)
    batch.step(policy.act(batch.observation, batch.action_mask, rng))
"""
SCOUT_CODE = """
import numpy as np
from coyote_env import scout_v0
from coyote_env.policies import load_policy
game = scout_v0.game()
scout_v0.env().reset(seed=0)
load_policy("planner", game)
"""
WARM_CODE = "from coyote_env import coyote_v0; coyote_v0.env().reset(seed=0)"
IMPORT_CODE = "import coyote_env"


@dataclass
class Figure:
    """One line of the table: the values of all rounds, and the target they are held against (``None``: no target)."""

    name: str
    unit: str
    target: float | None = None
    at_least: bool = True  # False: the target is a limit from above
    values: list[float] = field(default_factory=list)
    digits: int = 0

    @property
    def median(self) -> float:
        """Median over the rounds; NaN when nothing was measured."""
        return statistics.median(self.values) if self.values else float("nan")

    def row(self) -> tuple[str, str, str, str, str]:
        """Name, median, range, target and verdict as text."""

        def text(value: float) -> str:
            return f"{value:,.{self.digits}f}"

        spread = f"{text(min(self.values))} .. {text(max(self.values))}" if len(self.values) > 1 else ""
        if not self.values:
            return self.name, "missing", "", "", ""
        if self.target is None:
            return self.name, f"{text(self.median)} {self.unit}", spread, "", ""
        met = self.median >= self.target if self.at_least else self.median <= self.target
        sign = ">=" if self.at_least else "<="
        verdict = "met" if met else "MISSED"
        return self.name, f"{text(self.median)} {self.unit}", spread, f"{sign} {text(self.target)}", verdict


def batch_runner(num_tables: int, face: Any = coyote_v0, **kwargs: Any) -> Callable[[float], float]:
    """Makes a function that replays a recorded run for so many seconds of ``batch.step`` and returns steps/s."""
    batch = face.batch(num_tables, **kwargs)
    rng = np.random.default_rng(1)
    warm_up = 200  # steps until the tables are at different points of their games
    batch.reset(seed=1)
    actions = []
    for _ in range(warm_up + max(200, 20_000 // num_tables)):
        actions.append(np.argmax(rng.random(batch.action_mask.shape, np.float32) * batch.action_mask, axis=1))
        batch.step(actions[-1])

    def run(seconds: float) -> float:
        steps, spent = 0, 0.0
        while spent < seconds:
            batch.reset(seed=1)
            for chosen in actions[:warm_up]:
                batch.step(chosen)
            measured = actions[warm_up:]
            start = process_time()
            for chosen in measured:
                batch.step(chosen)
            spent += process_time() - start
            steps += len(measured) * num_tables
        return steps / spent

    return run


def batch_bytes(face: Any) -> int:
    """Bytes that one more table takes: record, mask, observation and rewards."""
    batch = face.batch(1)
    return sum(a.nbytes for a in (batch.states, batch.action_mask, batch.observation, batch.rewards))


def aec_runner(env: Any) -> Callable[[float], tuple[float, float]]:
    """Makes a function that replays recorded games for so many seconds and returns turns/s and seconds per reset."""
    rng = random.Random(1)
    games: list[list[int]] = []
    for seed in range(30):
        games.append([])
        env.reset(seed=seed)
        while True:
            observation, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                break
            games[-1].append(int(rng.choice(observation["action_mask"].nonzero()[0])))
            env.step(games[-1][-1])

    def run(seconds: float) -> tuple[float, float]:
        turns, spent, resets = 0, 0.0, 100
        while spent < seconds:
            for seed, actions in enumerate(games):
                env.reset(seed=seed)
                start = process_time()
                for action in actions:
                    env.last()
                    env.step(action)
                spent += process_time() - start
                turns += len(actions)
        start = process_time()
        for _ in range(resets):
            env.reset()
        return turns / spent, (process_time() - start) / resets

    return run


def aec_environments() -> dict[str, Callable[[], Any]]:
    """The environments to compare by name; one whose packages are not installed is named on stderr and left out."""
    found: dict[str, Callable[[], Any]] = {
        "coyote_v0 raw_env": coyote_v0.raw_env,
        "coyote_v0 env": coyote_v0.env,
        "scout_v0 env": scout_v0.env,
    }
    for name, module_name in (
        ("connect_four_v3", "pettingzoo.classic.connect_four.connect_four"),
        ("leduc_holdem_v4", "pettingzoo.classic.rlcard_envs.leduc_holdem"),
    ):
        try:
            module = importlib.import_module(module_name)
        except ImportError as error:
            print(f"bench: {name} is left out: {error}. `make bench` installs what it needs.", file=sys.stderr)
            continue
        found[f"{name} raw_env"] = module.raw_env
        found[f"{name} env"] = module.env
    return found


def process_seconds(code: str, cache: Path) -> tuple[float, float]:
    """Runs ``code`` in a new process with that folder of compiled kernels; returns wall and CPU seconds."""
    environ = dict(os.environ, COYOTE_CACHE_DIR=str(cache))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code], env=environ, check=False, capture_output=True, text=True, timeout=SUBPROCESS_LIMIT
    )
    wall = perf_counter() - start
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(f"a process that was to be timed failed:\n{done.stderr}")
    return wall, now.ru_utime - used.ru_utime + now.ru_stime - used.ru_stime


def measure(repeats: int, seconds: float) -> list[Figure]:
    """Measures everything; ``seconds`` is the time given to each line of each round."""
    figures: dict[str, Figure] = {}

    def figure(name: str, unit: str, target: float | None = None, at_least: bool = True, digits: int = 0) -> Figure:
        return figures.setdefault(name, Figure(name, unit, target, at_least, digits=digits))

    runners = {f"batch.step, {n} table{'s' * (n > 1)}": batch_runner(n) for n in BATCH_SIZES}
    largest = f"batch.step, {BATCH_SIZES[-1]} tables"
    for edition in EDITIONS:
        if edition != coyote_v0.game().config.edition:
            runners[f"{largest}, {edition}"] = batch_runner(BATCH_SIZES[-1], edition=edition)
    scout = f"scout_v0: {largest}"
    runners[scout] = batch_runner(BATCH_SIZES[-1], scout_v0)
    runners[f"{scout}, with fits"] = batch_runner(BATCH_SIZES[-1], scout_v0, fits=True)
    targets = {largest: 3e6, scout: 1e6}
    environments = {name: aec_runner(make()) for name, make in aec_environments().items()}
    for name in runners:
        figure(name, "steps/s", targets.get(name))
    figure("bytes a table", "B", 4096, at_least=False).values.append(float(batch_bytes(coyote_v0)))
    figure("scout_v0: bytes a table", "B").values.append(float(batch_bytes(scout_v0)))
    for name in environments:
        figure(name, "turns/s")

    rounds = []
    for k in range(repeats):
        print(f"bench: round {k + 1} of {repeats}", file=sys.stderr, flush=True)
        for name, run in runners.items():
            figure(name, "steps/s").values.append(run(seconds))
        rates = {}
        for name, play in environments.items():
            rates[name], reset = play(seconds)
            figure(name, "turns/s").values.append(rates[name])
            figure(f"{name}: reset", "us", digits=1).values.append(reset * 1e6)
        rounds.append(rates)
    for face, target in (("raw_env", 3.0), ("env", 8.0)):
        for other, goal in (("connect_four_v3", target), ("leduc_holdem_v4", None)):
            if f"{other} {face}" in environments:
                figure(f"{face}: coyote_v0 / {other}", "times", goal, digits=1).values.extend(
                    rates[f"coyote_v0 {face}"] / rates[f"{other} {face}"] for rates in rounds
                )

    print("bench: training", file=sys.stderr, flush=True)
    try:
        shares = training_shares(repeats)
    except ImportError as error:
        print(f"bench: training is left out: {error}. `make bench` installs what it needs.", file=sys.stderr)
    else:
        for part, values in shares.items():
            limit = 5.0 if part == "engine" else None
            figure(f"training: {part}", "%", limit, at_least=False, digits=1).values.extend(values)

    print("bench: starts", file=sys.stderr, flush=True)
    starts = (
        ("cold start, all kernels of training", COLD_CODE, 40.0, 1),
        ("warm start to the first reset", WARM_CODE, 2.0, repeats),
        ("cold start, SCOUT's kernels after these", SCOUT_CODE, None, 1),
        ("import coyote_env", IMPORT_CODE, 0.5, repeats),
        ("a Python that does nothing", "pass", None, repeats),
    )
    with tempfile.TemporaryDirectory() as folder:
        for name, code, limit, times in starts:
            for _ in range(times):
                wall, cpu = process_seconds(code, Path(folder))
                figure(f"{name}: CPU", "s", limit, at_least=False, digits=2).values.append(cpu)
                figure(f"{name}: wall", "s", digits=2).values.append(wall)
    return list(figures.values())


# Two processes, one a tree, that measure when they are told for how many seconds.
AGAINST_CODE = f"""
import sys
from tests.bench import batch_runner
run = batch_runner({BATCH_SIZES[-1]})
print("ready", flush=True)
for line in sys.stdin:
    print(run(float(line)), flush=True)
"""


def against(commit: str, repeats: int, seconds: float) -> list[Figure]:
    """Steps/s of the largest batch in this tree and in that commit's, by turns, and their ratio round by round."""
    here, there = Figure("this tree", "steps/s"), Figure(f"commit {commit}", "steps/s")
    ratio = Figure("this tree / commit", "times", 0.9, digits=2)
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(tree), commit], cwd=ROOT, check=True)
        try:
            processes = []
            for root in (ROOT, tree):
                environ = dict(os.environ, PYTHONPATH=str(root))
                command = [sys.executable, "-c", AGAINST_CODE]
                pipe = subprocess.PIPE
                processes.append(subprocess.Popen(command, cwd=root, env=environ, stdin=pipe, stdout=pipe, text=True))
            answers = [(process.stdin, process.stdout) for process in processes]
            for _, output in answers:
                if output is None or output.readline().strip() != "ready":
                    raise RuntimeError("a tree cannot be measured; its error is above")
            for _ in range(repeats):
                for figure, (request, output) in zip((here, there), answers, strict=True):
                    assert request is not None
                    assert output is not None
                    request.write(f"{seconds}\n")
                    request.flush()
                    figure.values.append(float(output.readline()))
                ratio.values.append(here.values[-1] / there.values[-1])
            for process in processes:
                process.communicate()
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=ROOT, check=True)
    return [here, there, ratio]


TRAINING_PARTS = ("engine", "opponents", "policy inference", "learning", "bookkeeping")


def training_shares(rollouts: int) -> dict[str, list[float]]:
    """Share of each part, in percent, for each of so many rollouts with their updates. ImportError without torch."""
    from training.checkpoint import write_checkpoint
    from training.config import dump_config, load_config
    from training.network import policy_network
    from training.selfplay import make_learner

    config = load_config(ROOT / "configs" / "quickstart.toml", [])
    game = coyote_v0.game(**config.game.kwargs)
    model: Any = make_learner(config, game)
    spent = dict.fromkeys(TRAINING_PARTS, 0.0)

    def timed(part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            start = perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                spent[part] += perf_counter() - start

        return call

    batch = model.env.batch
    batch.step = timed("engine", batch.step)
    model._decide = timed("policy inference", model._decide)
    model.train = timed("learning", model.train)
    model.seating.act = timed("opponents", model.seating.act)
    shares: dict[str, list[float]] = {part: [] for part in TRAINING_PARTS}
    try:
        with tempfile.TemporaryDirectory() as folder:
            model.learn(1)  # one rollout and its update; the first one warms up
            write_checkpoint(
                Path(folder) / "snapshot", policy_network(model.policy), model.inputs, game, dump_config(config), {}
            )
            model.opponents.add_snapshot(str(Path(folder) / "snapshot"))
            model.learn(1, reset_num_timesteps=False)
            for _ in range(rollouts):
                spent.update(dict.fromkeys(TRAINING_PARTS, 0.0))
                start = perf_counter()
                model.learn(1, reset_num_timesteps=False)
                total = perf_counter() - start
                spent["bookkeeping"] = total - sum(spent.values())
                for part, seconds in spent.items():
                    shares[part].append(100 * seconds / total)
    finally:
        model.workers.close()
    return shares


def machine() -> dict[str, str]:
    """Date, processor and versions."""
    processor = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                processor = line.partition(":")[2].strip()
                break
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "processor": processor,
        "cores": str(os.cpu_count()),
        "load": f"{os.getloadavg()[0]:.1f}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
    }


def table(figures: list[Figure]) -> str:
    """The figures as aligned columns."""
    rows = [("", "median", "range", "target", ""), *(f.row() for f in figures)]
    widths = [max(len(row[k]) for row in rows) for k in range(5)]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0])] + [row[k].rjust(widths[k]) for k in range(1, 4)] + [row[4]]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5, help="rounds (default 5)")
    parser.add_argument("--seconds", type=float, default=0.5, help="time of each line in each round (default 0.5)")
    parser.add_argument("--against", metavar="COMMIT", help="compare the batch with that of another commit instead")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    args = parser.parse_args(argv)
    if args.repeats < 1 or args.seconds <= 0:
        parser.error(f"--repeats must be at least 1 and --seconds positive, got {args.repeats} and {args.seconds}")
    about = machine()
    if args.against is None:
        figures = measure(args.repeats, args.seconds)
    else:
        figures = against(args.against, args.repeats, args.seconds)
    if args.json:
        keys = ("name", "unit", "median", "values", "target", "at_least")
        content = [{key: getattr(f, key) for key in keys} for f in figures]
        print(json.dumps({"machine": about, "figures": content}, indent=1))
    else:
        print(", ".join(f"{k} {v}" for k, v in about.items()))
        print("4 seats, edition gigamic-2011 with all variants where none is named, one core\n")
        print(table(figures))


if __name__ == "__main__":
    main()
