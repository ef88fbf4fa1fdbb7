"""Train a policy by self-play: ``python -m training.selfplay CONFIG.toml [--set section.key=value ...] [--run-dir D]``.

Everything about a run lands in its folder (training/README.md lists the files), each file whole or not there.
Ctrl-C at any moment ends the run with the policy learnt so far; the exit code is then 130.
"""

# Only the standard library and modules that import nothing heavy at the top: torch takes seconds to load, and Ctrl-C
# in those seconds, or a slip in the config, should not be answered by a stack of other people's frames.
from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .config import Config, ConfigError, dump_config, help_text, load_config
from .files import write_atomic
from .interrupts import Interrupts

if TYPE_CHECKING:
    from coyote_env.core.game import Game
    from coyote_env.policies import Policy

    from .ppo import SelfPlayPPO
    from .report import Result


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Returns the exit code: 0 done, 1 training failed, 2 refused, 130 Ctrl-C, 143 SIGTERM."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = _parser().parse_args(given)
    command = shlex.join(["python", "-m", "training.selfplay", *given])
    with Interrupts() as interrupts:
        try:
            return _train(options, command, interrupts)
        except KeyboardInterrupt:
            print(f"stopped by {interrupts.name}; files written so far are whole", file=sys.stderr)
            return interrupts.exit_code
        except ConfigError as error:
            print(f"error: {error}", file=sys.stderr)
            return 2
        except OSError as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
        except Exception:
            # A signal inside somebody's C callback (numba compiling) is swallowed there and ends as their failure.
            if not interrupts.requested:
                raise
            print(f"stopped by {interrupts.name}; files written so far are whole", file=sys.stderr)
            return interrupts.exit_code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m training.selfplay",
        description="Train a policy by self-play PPO.",
        epilog=help_text(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("config", type=Path, help="TOML file, for example configs/quickstart.toml")
    parser.add_argument(
        "--set",
        dest="overrides",
        metavar="SECTION.KEY=VALUE",
        action="append",
        default=[],
        help="change one setting (a TOML value); may be given several times",
    )
    parser.add_argument("--run-dir", type=Path, help="folder of the run, new or empty; default runs/CONFIG-TIME")
    return parser


def _train(options: argparse.Namespace, command: str, interrupts: Interrupts) -> int:
    try:
        config = load_config(options.config, options.overrides)
    except OSError as error:
        raise ConfigError(f"{options.config} cannot be read: {error.strerror}") from None
    _check_run_dir(options.run_dir)
    game = make_game(config)
    from coyote_env.policies import load_policy

    from .checkpoint import library_versions, to_json

    # All that can be refused is refused before anything is written.
    names = config.evaluation.opponents
    opponents = {name: _load(load_policy, name, game, "evaluation.opponents") for name in names}
    model = make_learner(config, game, stop=lambda: interrupts.requested)
    try:
        folder = _make_run_folder(options.run_dir, options.config.stem)
        write_atomic(folder / "config.toml", dump_config(config))
        write_atomic(folder / "command.txt", command + "\n")
        write_atomic(folder / "versions.json", to_json(library_versions()))
        return Run(config, game, model, opponents, folder, command, interrupts).train_and_evaluate()
    finally:
        model.workers.close()


def make_game(config: Config) -> Game:
    """The game of a run. Raises ConfigError if there is no such game, or not with such arguments."""
    from coyote_env.policies import GAMES
    from coyote_env.policies import make_game as make

    if config.game.name not in GAMES:
        allowed = ", ".join(sorted(GAMES))
        raise ConfigError(f"game.name = {config.game.name!r} is not allowed; allowed: {allowed}")
    try:
        return make(config.game.name, config.game.kwargs)
    except (ValueError, TypeError) as error:
        raise ConfigError(f"game.kwargs: {error}") from None


def _check_run_dir(wanted: Path | None) -> None:
    if wanted is not None and wanted.exists() and (not wanted.is_dir() or any(wanted.iterdir())):
        raise ConfigError(f"--run-dir {wanted} is not allowed; allowed: a new or an empty folder")


def _make_run_folder(wanted: Path | None, name: str) -> Path:
    if wanted is not None:
        wanted.mkdir(parents=True, exist_ok=True)
        return wanted
    stem = Path("runs") / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    for attempt in range(1, 1000):
        folder = stem if attempt == 1 else stem.with_name(f"{stem.name}-{attempt}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:  # another run began in the same second
            continue
        return folder
    raise ConfigError(f"{stem} exists a thousand times; give --run-dir")


class Run:
    """One training run: its folder, its learner, what it has measured so far."""

    def __init__(
        self,
        config: Config,
        game: Game,
        model: SelfPlayPPO,
        opponents: Mapping[str, Policy],
        folder: Path,
        command: str,
        interrupts: Interrupts,
    ) -> None:
        self.config, self.game, self.model, self.opponents = config, game, model, opponents
        self.folder, self.command, self.interrupts = folder, command, interrupts
        self.started = time.monotonic()
        self.rows: list[dict[str, Any]] = []  # of progress.csv
        self.measurements: list[tuple[int, list[Result]]] = []
        self.last_checkpoint: Path | None = None

    def train_and_evaluate(self) -> int:
        """The whole run; the exit code."""
        from coyote_env.policies import PolicyError

        from .errors import TrainingError

        try:
            with self.interrupts.deferred():
                self._learn()
                self._conclude()
            if not self.interrupts.requested:
                self._evaluate_at_end()
                return 0
        except (TrainingError, PolicyError, OSError) as error:
            print(f"training failed: {error}; {self._last_good()}", file=sys.stderr)
            return 1
        print(
            f"stopped by {self.interrupts.name} after {self.model.num_timesteps:,} steps; "
            f"the policy so far is in {self.folder / 'policy'}",
            file=sys.stderr,
        )
        return self.interrupts.exit_code

    def _learn(self) -> None:
        from stable_baselines3.common.logger import configure

        from .callback import RunCallback
        from .progress import Progress

        self.model.set_logger(configure(str(self.folder / "tensorboard"), ["tensorboard"]))
        progress = Progress(self.config.run.steps)
        try:
            # No log_interval: RunCallback logs, after the update and not before it.
            # The ignore below: None is allowed (no log of its own), though declared an int.
            self.model.learn(self.config.run.steps, RunCallback(self, progress), log_interval=None)  # type: ignore[arg-type]
        finally:
            progress.close()
            self.model.logger.close()

    def _conclude(self) -> None:
        """Write what a run leaves behind, however far it came."""
        self.write_checkpoint(self.folder / "policy")
        self.write_progress()
        from .report import learning_curve

        title = f"{self.folder.name}: {self.game.name}, {self.game.num_seats} seats"
        write_atomic(self.folder / "learning_curve.png", learning_curve(title, self.measurements, self.rows))

    def _evaluate_at_end(self) -> None:
        from coyote_env.policies import load_policy

        from .checkpoint import to_json, write_evaluation
        from .report import evaluation_json, evaluation_table

        path = self.folder / "policy"
        print(f"trained in {self._duration()}; evaluating {path} ...", file=sys.stderr, flush=True)
        # From disk, by the loader that everybody uses: what is measured is what was published.
        results = self.measure(load_policy(path, self.game), self.config.evaluation.games, steps=None)
        figures = evaluation_json(results)
        table = evaluation_table(results, self.game.num_seats)
        write_evaluation(path, figures)
        write_atomic(self.folder / "evaluation.json", to_json(figures))
        write_atomic(self.folder / "evaluation.txt", table + "\n")
        print(f"\nWin rate of {path}, one seat\n{table}\n\nlearning curve: {self.folder / 'learning_curve.png'}")
        print(f"whole run: {self._duration()}", file=sys.stderr)

    def measure(self, policy: Policy, games: int, steps: int | None) -> list[Result]:
        """`games` games of `policy` against each opponent. The deals depend on the run's seed and `steps` only."""
        import numpy as np

        from coyote_env.arena import play_match

        from .report import Result

        key = (0,) if steps is None else (1, steps)
        seeds = np.random.SeedSequence(self.config.run.seed, spawn_key=key).generate_state(len(self.opponents))
        results = []
        for (name, opponent), seed in zip(self.opponents.items(), seeds, strict=True):
            players = [policy, *[opponent] * (self.game.num_seats - 1)]
            wins = play_match(self.game, players, games, int(seed)).policies[0].wins
            results.append(Result.from_wins(name, games, wins, self.game.num_seats))
        return results

    def write_checkpoint(self, folder: Path) -> None:
        """The learner's policy as it is now."""
        from .checkpoint import write_checkpoint
        from .network import policy_layers

        training = {
            "steps": self.model.num_timesteps,
            "games": self.model.games,
            "seed": self.config.run.seed,
            "wall_seconds": round(time.monotonic() - self.started, 1),
            "command": self.command,
        }
        write_checkpoint(folder, policy_layers(self.model.policy), self.game, dump_config(self.config), training)
        self.last_checkpoint = folder

    def write_progress(self) -> None:
        """progress.csv as far as it goes."""
        from .report import progress_csv

        write_atomic(self.folder / "progress.csv", progress_csv(self.rows))

    def _last_good(self) -> str:
        if self.last_checkpoint is None:
            return "there is no checkpoint yet"
        return f"the last good checkpoint is {self.last_checkpoint}"

    def _duration(self) -> str:
        from .progress import duration

        return duration(time.monotonic() - self.started)


def make_learner(config: Config, game: Game, stop: Callable[[], bool] = lambda: False) -> SelfPlayPPO:
    """The learner of a run, ready to ``learn``. Raises ConfigError if an opponent cannot be loaded."""
    from coyote_env.core.batch import Batch
    from coyote_env.policies import load_policy

    from .network import policy_kwargs
    from .opponents import OpponentPool
    from .ppo import SelfPlayPPO
    from .vec_env import SelfPlayVecEnv

    ppo, seating = config.ppo, config.opponents
    pool = None
    if seating.share > 0:
        try:
            pool = OpponentPool(
                seating.scripted,
                lambda name: load_policy(name, game),
                snapshots=seating.snapshots,
                distinct=seating.distinct,
                scripted_share=seating.scripted_share,
                sampling=seating.sampling,
                delta=seating.delta,
                pfsp_weight=seating.pfsp_weight,
                pfsp_power=seating.pfsp_power,
                memory=seating.memory,
            )
        except (ValueError, ImportError) as error:
            raise ConfigError(f"opponents.scripted: {error}") from None
    return SelfPlayPPO(
        "MlpPolicy",
        SelfPlayVecEnv(Batch(game, config.run.tables)),
        opponents=pool,
        opponent_share=seating.share,
        workers=config.run.threads,
        stop=stop,
        n_steps=ppo.rollout_steps,
        batch_size=ppo.minibatch,
        n_epochs=ppo.epochs,
        learning_rate=linear(ppo.learning_rate, ppo.learning_rate_end, 1.0),
        ent_coef=linear(ppo.entropy, ppo.entropy_end, ppo.entropy_decay),
        clip_range=ppo.clip,
        gamma=ppo.gamma,
        gae_lambda=ppo.gae_lambda,
        vf_coef=ppo.value_weight,
        waiting_values=ppo.waiting_values,
        magnet=ppo.magnet,
        magnet_weight=ppo.magnet_weight,
        magnet_decay=ppo.magnet_decay,
        magnet_period=ppo.magnet_period,
        max_grad_norm=ppo.max_grad_norm,
        target_kl=ppo.target_kl or None,
        normalize_advantage=ppo.normalize_advantage,
        policy_kwargs=policy_kwargs(config.network),
        seed=config.run.seed,
    )


def linear(start: float, end: float, share: float) -> Callable[[float], float]:
    """A schedule over the remaining progress (1 to 0): from `start` to `end` in the first `share` of the run."""
    return lambda remaining: start + (end - start) * min(1.0, (1.0 - remaining) / share)


def _load(load: Callable[..., Policy], name: str, game: Game, setting: str) -> Policy:
    try:
        return load(name, game)
    except (ValueError, ImportError) as error:
        raise ConfigError(f"{setting}: {error}") from None


if __name__ == "__main__":
    sys.exit(main())
