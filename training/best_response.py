"""How far a policy can be beaten: ``python -m training.best_response POLICY --steps 2_000_000``.

A fresh learner plays one seat of every table, frozen copies of the policy all others, for a stated budget; then it is
measured there. How far above its fair share it gets is a lower bound on the policy's exploitability: another learner,
or more steps, may get further, and finding nothing proves nothing. Given anew with the same ``--run-dir``, the command
goes on where it was interrupted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from . import selfplay
from .checkpoint import read_manifest, write_manifest
from .config import ConfigError, load_config, toml_text
from .interrupts import interruptible
from .log import read_results
from .report import Result


@interruptible
def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Exit codes as of ``training.selfplay``, whose run this is."""
    parser = argparse.ArgumentParser(
        prog="python -m training.best_response", description="Train a fresh learner against frozen copies of a policy."
    )
    parser.add_argument("policy", help="folder of a checkpoint, or name of a scripted player")
    parser.add_argument("--steps", type=int, default=2_000_000, help="budget: decisions of the learner")
    parser.add_argument("--games", type=int, default=10_000, help="games of the measurement at the end")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--config", type=Path, help="game, network and learning rule; default the policy's config.toml")
    parser.add_argument("--set", dest="overrides", metavar="SECTION.KEY=VALUE", action="append", default=[])
    parser.add_argument(
        "--run-dir", type=Path, help="folder of the run, new or of this command; default runs/best-response-POLICY-TIME"
    )
    parser.add_argument("--write", action="store_true", help="put the result into the policy's manifest.json")
    options = parser.parse_args(arguments)
    folder = Path(options.policy)
    config = options.config or folder / "config.toml"
    name = toml_text(options.policy)
    settings = [
        f"run.seed={options.seed}",
        f"run.steps={options.steps}",
        "opponents.share=1.0",
        "opponents.learner_alone=true",
        f"opponents.scripted=[{name}]",
        "opponents.scripted_share=1.0",
        "opponents.snapshots=false",
        f"evaluation.opponents=[{name}]",
        f"evaluation.games={options.games}",
    ]
    fixed = {setting.partition("=")[0] for setting in settings}
    try:
        if options.config is None and not config.exists():
            raise ConfigError(f"{options.policy} has no config.toml; give --config with the game and the learning rule")
        if options.write:
            if not (folder / "manifest.json").is_file():
                raise ConfigError(f"--write is not allowed: {options.policy} has no manifest.json")
            read_manifest(folder)
        for override in options.overrides:
            key = override.partition("=")[0].strip()
            if key in fixed:
                raise ConfigError(f"--set {override} is not allowed: {key} follows from the other arguments")
        settings = [*options.overrides, *settings]
        wanted = load_config(config, settings)
        if options.run_dir is not None:
            selfplay.check_begun(options.run_dir, wanted, "--run-dir")
        selfplay.check(wanted)
        run_dir = options.run_dir or selfplay.make_run_folder(None, f"best-response-{folder.name}")
    except (ConfigError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    code = selfplay.begin_or_go_on(config, settings, run_dir)
    if code != 0:
        return code
    try:
        result = read_results(run_dir / "evaluation.json")[0]
        print(statement(result, options.steps))
        if options.write:
            manifest = read_manifest(folder)
            manifest["training"]["best_response"] = asdict(result) | {"steps": options.steps, "seed": options.seed}
            write_manifest(folder, manifest)
    except (ConfigError, OSError, ValueError, TypeError, KeyError) as error:
        print(f"error: {run_dir}: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


def statement(result: Result, steps: int) -> str:
    """The result in words."""
    above, low, high = (value - result.fair for value in (result.share, result.low, result.high))
    return (
        f"a learner of {steps:,} decisions wins {result.share:.1%} beside {result.opponent}, "
        f"fair share {result.fair:.1%}:\n"
        f"{above:+.1%} ({low:+.1%} to {high:+.1%}), a lower bound on how far it can be beaten"
    )


if __name__ == "__main__":
    sys.exit(main())
