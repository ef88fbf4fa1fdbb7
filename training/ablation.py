"""One factor at a time: ``python -m training.ablation CONFIG.toml --vary ppo.magnet=ema --vary ppo.entropy=0.1 ...``.

Every variant, and the configuration as it is, is trained for the same number of decisions with each seed, and measured
as every run is. At the end a table says what each came to, and how the policy does at tables of its own snapshots: one
that loses to its younger selves has gone round in a circle. Runs that are finished are not made again, and one that was
interrupted goes on, so the command can be given anew after anything.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from . import selfplay
from .config import ConfigError, load_config
from .files import read_bounded, write_atomic
from .interrupts import interruptible
from .log import MAX_JSON, count, read_results, results_of
from .report import Matrix, Result

#: Bytes of a file's name that Linux takes, less what writing adds.
MAX_NAME = 200


@dataclass(frozen=True)
class Run:
    """What one run came to. `changed`: the settings that differ from the configuration, as ``--set`` takes them."""

    changed: Sequence[str]
    seed: int
    steps: int
    seconds: float
    results: Sequence[Result]
    cross_play: Matrix | None


@interruptible
def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Exit codes as of ``training.selfplay``; the first run that fails ends it."""
    parser = argparse.ArgumentParser(
        prog="python -m training.ablation", description="Train variants of a configuration and compare them."
    )
    parser.add_argument("config", type=Path, help="TOML file, for example configs/quickstart.toml")
    parser.add_argument(
        "--vary",
        metavar="SECTION.KEY=VALUE",
        nargs="+",
        action="append",
        default=[],
        help="a variant: what it changes; may be given several times",
    )
    parser.add_argument("--set", dest="overrides", metavar="SECTION.KEY=VALUE", action="append", default=[])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2], help="a run of every variant for each")
    parser.add_argument("--out", type=Path, required=True, help="folder of the runs, new or of this command")
    options = parser.parse_args(arguments)
    variants: list[list[str]] = [[], *options.vary]
    command = shlex.join(["python", "-m", "training.ablation", *(sys.argv[1:] if arguments is None else arguments)])
    wanted: dict[Path, tuple[list[str], int, list[str]]] = {}  # by folder: what is changed, seed, all settings
    try:
        # All that can be refused is refused before hours have gone by.
        for seed in options.seeds:  # seed by seed, so that half of the time gives a whole table
            for variant in variants:
                folder = options.out / f"seed-{seed}" / folder_name(variant)
                settings = [*options.overrides, *variant, f"run.seed={seed}"]
                _check(options, variant, settings, folder)
                if folder in wanted:
                    raise ConfigError(f"{folder} would be the folder of two runs; give every variant and seed once")
                wanted[folder] = (variant, seed, settings)
    except (ConfigError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    runs = []
    for folder, (variant, seed, settings) in wanted.items():
        code = selfplay.begin_or_go_on(options.config, settings, folder)
        if code != 0:
            return code
        try:
            runs.append(read_run(folder, variant, seed))
            figures = {"command": command, "runs": [asdict(run) for run in runs]}
            write_atomic(options.out / "ablation.json", json.dumps(figures, indent=1) + "\n")
            write_atomic(options.out / "ablation.md", markdown(runs) + "\n")
        except (ConfigError, OSError) as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
    print(markdown(runs))
    return 0


def _check(options: argparse.Namespace, variant: Sequence[str], settings: Sequence[str], folder: Path) -> None:
    """Raises ConfigError for a run that could not be made, or has been made with other settings."""
    for option, given in (("--vary", variant), ("--set", options.overrides)):
        for setting in given:
            if setting.partition("=")[0].strip() == "run.seed":
                raise ConfigError(f"{option} {setting} is not allowed; allowed: --seeds")
    if len(folder.name.encode()) > MAX_NAME:
        raise ConfigError(
            f"--vary {' '.join(variant):.100}... is not allowed; allowed: variants whose settings have at most "
            f"{MAX_NAME} characters, for they name a folder"
        )
    config = load_config(options.config, settings)
    selfplay.check_begun(folder, config, "--out")
    selfplay.check(config)


def folder_name(variant: Sequence[str]) -> str:
    """Of the runs of a variant."""
    kept = ["".join(c if c.isalnum() or c in "._=-" else "_" for c in setting) for setting in variant]
    return ",".join(kept) or "as-it-is"


def read_run(folder: Path, changed: Sequence[str], seed: int) -> Run:
    """A finished run. Raises ConfigError for one whose files are no longer as they were written."""
    matrix = folder / "cross_play.json"
    try:
        results = read_results(folder / "evaluation.json")
        training = json.loads(read_bounded(folder / "policy" / "manifest.json", MAX_JSON))["training"]
        cross_play = Matrix(**json.loads(read_bounded(matrix, MAX_JSON))) if matrix.exists() else None
        steps, seconds = count(training["steps"]), float(training["wall_seconds"])
        if not seconds > 0:
            raise ValueError(f"wall_seconds = {seconds}")
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise ConfigError(
            f"{folder} is finished, and what it came to cannot be read: {type(error).__name__}: {error!s:.200}; "
            "without the folder the run is made again"
        ) from None
    return Run(list(changed), seed, steps, seconds, results, cross_play)


def read_runs(path: Path) -> list[Run]:
    """The runs in an ablation.json."""
    return [
        Run(
            run["changed"],
            run["seed"],
            run["steps"],
            run["seconds"],
            results_of(run["results"]),
            None if run["cross_play"] is None else Matrix(**run["cross_play"]),
        )
        for run in json.loads(path.read_text(encoding="utf-8"))["runs"]
    ]


def markdown(runs: Sequence[Run]) -> str:
    """A row a variant, in each cell the figure of every seed: win rates of one seat of the policy, in percent."""
    variants: dict[tuple[str, ...], list[Run]] = {}
    for run in runs:
        variants.setdefault(tuple(run.changed), []).append(run)
    names = list(dict.fromkeys(result.opponent for run in runs for result in run.results))
    # Snapshots were taken after about the same numbers of decisions, so they are told apart by their place in the run.
    most = max((0 if run.cross_play is None else len(run.cross_play.names) - 1) for run in runs)
    head = [
        "changed",
        *(f"`{name}`" for name in names),
        *(f"own, {k + 1} of {most}" for k in range(most)),
        "decisions/s",
    ]
    rows = [head, ["---"] * len(head)]
    for changed, same in variants.items():
        cells = [", ".join(f"`{setting}`" for setting in changed) or "nothing"]
        for name in names:
            shares = [next((r.share for r in run.results if r.opponent == name), None) for run in same]
            cells.append(", ".join("-" if share is None else f"{100 * share:.1f}" for share in shares))
        for k in range(most):
            mine = [None if run.cross_play is None else run.cross_play.shares[-1][k : k + 1] for run in same]
            cells.append(
                ", ".join(f"{100 * share[0]:.0f}" if share and share[0] is not None else "-" for share in mine)
            )
        cells.append(", ".join(f"{run.steps / run.seconds:,.0f}" for run in same))
        rows.append(cells)
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


if __name__ == "__main__":
    sys.exit(main())
