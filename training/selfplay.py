"""Train a policy by self-play: ``python -m training.selfplay CONFIG.toml [--set section.key=value ...] [--run-dir D]``.

Everything about a run lands in its folder (training/README.md lists the files), each file whole or not there.
Ctrl-C at any moment ends the run with the policy learnt so far; the exit code is then 130. However a run ended,
``python -m training.selfplay --resume D`` goes on from its last state and comes to the same end.
"""

# Only the standard library and modules that import nothing heavy at the top: torch takes seconds to load, and Ctrl-C
# in those seconds, or a slip in the config, should not be answered by a stack of other people's frames.
from __future__ import annotations

import argparse
import hashlib
import os
import shlex
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .config import MAX_BYTES, Config, ConfigError, dump_config, help_text, load_config
from .files import locked, read_bounded, remove_folder, remove_leftovers, write_atomic
from .interrupts import Interrupts

if TYPE_CHECKING:
    from coyote_env.core.game import Game
    from coyote_env.core.tally import Tally
    from coyote_env.policies import Policy

    from .opponents import OpponentPool
    from .ppo import SelfPlayPPO
    from .report import Matrix, Result

#: Bytes of command.txt, which its manifests repeat, perhaps with six for one; these are read up to a million.
MAX_COMMAND = 100_000

#: Of the weights that are published: load_policy reads files of at most 100 million bytes.
MAX_POLICY_BYTES = 90_000_000

# What is measured has streams of the run's seed of its own; those that SelfPlayPPO learns by have the keys 0 to 3.
CLOSING, PROGRESS, DESCRIBED, DESCRIBED_ON_THE_WAY, CROSS_PLAY = range(4, 9)


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
    parser.add_argument("config", type=Path, nargs="?", help="TOML file, for example configs/quickstart.toml")
    parser.add_argument(
        "--set",
        dest="overrides",
        metavar="SECTION.KEY=VALUE",
        action="append",
        default=[],
        help="change one setting (a TOML value); may be given several times",
    )
    parser.add_argument("--run-dir", type=Path, help="folder of the run, new or empty; default runs/CONFIG-TIME")
    parser.add_argument(
        "--resume",
        type=Path,
        metavar="RUN_DIR",
        help="go on with a run that was ended or killed, from its last state; with --set no longer bit for bit",
    )
    return parser


def _train(options: argparse.Namespace, command: str, interrupts: Interrupts) -> int:
    resumed: Path | None = options.resume
    if (options.config is None) == (resumed is None):
        raise ConfigError("give either a config or --resume RUN_DIR")
    if resumed is None:
        source = options.config
        _check_run_dir(options.run_dir)
    else:
        source = resumed / "config.toml"
        if options.run_dir is not None:
            raise ConfigError("--run-dir is not allowed with --resume; a run goes on in its own folder")
    try:
        config = load_config(source, options.overrides)
    except FileNotFoundError:
        began = "" if resumed is None else ": there is no run in that folder, or it was ended before it began"
        raise ConfigError(f"{source} does not exist{began}") from None
    except OSError as error:
        raise ConfigError(f"{source} cannot be read: {error.strerror}") from None
    _check_commands([command])
    length = len(dump_config(config).encode())
    if length > MAX_BYTES:
        raise ConfigError(f"a configuration of {length:,} bytes is not allowed; allowed: {MAX_BYTES:,}")
    if resumed is not None and (resumed / "evaluation.json").is_file() and not options.overrides:
        print(f"{resumed} is finished; its evaluation is in {resumed / 'evaluation.txt'}", file=sys.stderr)
        return 0
    game = make_game(config)
    # All that can be refused is refused before anything is written.
    opponents = load_opponents(config, game)
    model = make_learner(config, game, stop=lambda: interrupts.requested)
    try:
        folder = make_run_folder(options.run_dir, options.config.stem) if resumed is None else resumed
        try:
            with locked(folder):
                run = Run(config, game, model, opponents, folder, command, interrupts)
                if resumed is None:
                    run.begin()
                else:
                    run.resume(changed=bool(options.overrides))
                return run.train_and_evaluate()
        except BlockingIOError:
            raise ConfigError(f"{folder} is in use by another process, which has to end first") from None
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
    except (ValueError, TypeError, RecursionError) as error:
        raise ConfigError(f"game.kwargs: {error}") from None


def _check_commands(commands: Sequence[str]) -> None:
    """Raises ConfigError for what command.txt could not be read back with."""
    length = sum(len(command.encode(errors="surrogatepass")) + 1 for command in commands)
    if length > MAX_COMMAND:
        raise ConfigError(f"commands of {length:,} bytes are not allowed for a run; allowed: {MAX_COMMAND:,}")


def check(config: Config) -> None:
    """Raises ConfigError for all that a run of this configuration would be refused for."""
    game = make_game(config)
    load_opponents(config, game)
    make_learner(config, game).workers.close()


def check_begun(folder: Path, config: Config, option: str) -> None:
    """Raises ConfigError, naming `option`, if there is a run of another configuration in that folder."""
    if (folder / "config.toml").exists() and load_config(folder / "config.toml") != config:
        raise ConfigError(f"{folder} holds a run of another configuration; give another {option}")


def begin_or_go_on(source: Path, settings: Sequence[str], folder: Path) -> int:
    """``main`` for a run in that folder; one that has begun (see ``check_begun``) goes on, a finished one stays."""
    if (folder / "config.toml").exists():
        return main(["--resume", str(folder)])
    return main([str(source), "--run-dir", str(folder), *(part for one in settings for part in ("--set", one))])


def _check_run_dir(wanted: Path | None) -> None:
    if wanted is None:
        return
    if not str(wanted).isprintable():
        raise ConfigError(f"--run-dir {str(wanted)!r} is not allowed; allowed: printable characters")
    try:
        used = wanted.exists() and (not wanted.is_dir() or any(map(_of_a_run, wanted.iterdir())))
    except OSError as error:
        raise ConfigError(f"--run-dir {wanted} is not allowed: {error.strerror}") from None
    if used:
        raise ConfigError(f"--run-dir {wanted} is not allowed; allowed: a new or an empty folder")


def _of_a_run(path: Path) -> bool:
    """Whether it belongs to a run that began: `Run.begin` may have been killed before it had written a config."""
    return path.name not in ("command.txt", "versions.json") and not path.name.endswith(".tmp")


def make_run_folder(wanted: Path | None, name: str) -> Path:
    """The folder for a run: the wanted one, or a new one under runs/ that nobody else has. Raises ConfigError."""
    stem = wanted or Path("runs") / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    try:
        if wanted is not None:
            wanted.mkdir(parents=True, exist_ok=True)
            return wanted
        for attempt in range(1, 1000):
            folder = stem if attempt == 1 else stem.with_name(f"{stem.name}-{attempt}")
            try:
                folder.mkdir(parents=True)
            except FileExistsError:  # another run began in the same second
                continue
            return folder
    except OSError as error:
        raise ConfigError(f"the folder {stem} cannot be made: {error.strerror}") from None
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
        self.checkpoints, self.states = folder / "checkpoints", folder / "state"
        self.started = time.monotonic()
        from .log import Log

        self.log = Log()
        self.last_checkpoint: Path | None = None

    @property
    def seconds(self) -> float:
        """That the run has taken so far, in all processes."""
        return self.log.seconds + time.monotonic() - self.started

    def begin(self) -> None:
        """Write what describes the run."""
        from .checkpoint import library_versions, to_json

        write_atomic(self.folder / "command.txt", self.command + "\n")
        write_atomic(self.folder / "versions.json", to_json(library_versions()))
        # Last: a folder with a config can be gone on with.
        write_atomic(self.folder / "config.toml", dump_config(self.config))

    def resume(self, changed: bool) -> None:
        """Go back to the newest state that is sound, and take away what was written after it.

        Args:
            changed: the configuration is not the one that the run had so far; the new one is written down.

        Raises ConfigError if there are states and none is sound.
        """
        from .state import StateError, read_state, step_folders

        states = step_folders(self.states)
        if not states and step_folders(self.checkpoints):
            raise ConfigError(f"{self.folder} has checkpoints, but no state to go on from; nothing in it was changed")
        commands = self._commands()
        if changed:
            _check_commands([*commands, self.command])
        remove_leftovers(self.folder)
        for steps, state in reversed(states):
            try:
                self._take_up(read_state(state, self.model, self.checkpoints), changed)
            except StateError as error:
                self._say(f"the state after {steps:,} steps cannot be used: {error}")
                continue
            self._say(f"going on after {steps:,} steps, from {state}")
            break
        else:
            if states:
                raise ConfigError(
                    f"no state of {self.folder} can be used with this configuration; without --set, train anew from "
                    "its config.toml"
                    if changed
                    else f"no state of {self.folder} can be used; train anew from its config.toml"
                )
            self._say(f"{self.folder} has no state yet; starting at the beginning")
        for steps, later in step_folders(self.states):
            if steps > self.model.num_timesteps:
                remove_folder(later)
        for steps, checkpoint in step_folders(self.checkpoints):
            if steps > self.model.num_timesteps or steps >= self.log.next_checkpoint:
                remove_folder(checkpoint)
            else:
                self.last_checkpoint = checkpoint
        for name in ("evaluation.json", "evaluation.txt", "report.html", "cross_play.json"):
            if os.path.lexists(self.folder / name):
                remove_folder(self.folder / name)
        if changed:
            commands.append(self.command)
            write_atomic(self.folder / "command.txt", "\n".join(commands) + "\n")
            write_atomic(self.folder / "config.toml", dump_config(self.config))
        self.command = " && ".join(commands) or self.command

    def _commands(self) -> list[str]:
        """The lines of command.txt; none if it is gone. Raises ConfigError."""
        path = self.folder / "command.txt"
        try:
            return read_bounded(path, MAX_COMMAND).decode().splitlines() if path.exists() else []
        except (OSError, ValueError) as error:  # UnicodeDecodeError too
            raise ConfigError(f"{path} cannot be read: {error}; nothing was changed") from None

    def _take_up(self, state: Mapping[str, Any], changed: bool) -> None:
        """The learner has been restored; restore the log, and warn of what will not be as it would have been."""
        from .checkpoint import library_versions
        from .log import Log
        from .state import StateError

        try:
            self.log = Log.from_json(state["run"])
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
            raise StateError(f"run: {type(error).__name__}: {str(error)[:300]}") from None
        why = [f"{name} is gone, damaged or no longer wanted, and leaves the pool" for name in state["missed"]]
        why += [f"{name} holds another policy than before" for name in state["exchanged"]]
        if state["config"] != self._config_digest() and not changed:
            why.append("config.toml was changed")
        now = library_versions()
        why += [f"{n} was {str(v)[:50]!r} and is {now.get(n)}" for n, v in state["versions"].items() if now.get(n) != v]
        for reason in why:
            self._say(f"not the same run bit for bit: {reason}")

    def _say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def _config_digest(self) -> str:
        return hashlib.sha256(dump_config(self.config).encode()).hexdigest()

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
        except BrokenPipeError:
            # Whoever read what is printed has left; what was to be said is in the folder, or --resume will say it.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0 if (self.folder / "evaluation.json").exists() else 1
        except (TrainingError, PolicyError, OSError) as error:
            how = self._how_to_go_on() + getattr(error, "remedy", "")
            print(f"training failed: {error}; {self._checkpoints_left()}; {how}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:  # a second one, or while it measures at the end: nothing is lost by leaving at once
            how = self._how_to_go_on()
            print(f"stopped by {self.interrupts.name}; files written so far are whole; {how}", file=sys.stderr)
            return self.interrupts.exit_code
        print(
            f"stopped by {self.interrupts.name} after {self.model.num_timesteps:,} steps; "
            f"the policy so far is in {self.folder / 'policy'}; {self._how_to_go_on()}",
            file=sys.stderr,
        )
        return self.interrupts.exit_code

    def _learn(self) -> None:
        # TensorBoard writes in a thread of its own. What goes wrong there is raised here at the next row, and said in
        # one line; the thread would print its whole stack before it.
        before = threading.excepthook
        threading.excepthook = lambda thread: None if isinstance(thread.exc_value, OSError) else before(thread)
        try:
            self._learn_and_log()
        finally:
            threading.excepthook = before

    def _learn_and_log(self) -> None:
        from stable_baselines3.common.logger import configure

        from .callback import RunCallback
        from .progress import Progress

        board, done = self.folder / "tensorboard", self.model.num_timesteps
        if os.path.lexists(board):  # it may hold more than the state knows; its rows are written anew
            remove_folder(board)
        self.model.set_logger(configure(str(board), ["tensorboard"]))
        for row in self.log.rows:
            for name, value in row.items():
                if name not in ("steps", "seconds"):
                    self.model.logger.record(name, value)
            self.model.logger.dump(int(row["steps"]))
        progress = Progress(self.config.run.steps, done=done)
        try:
            # SB3 counts the total from what is done; and no log_interval: RunCallback logs, after the update.
            self.model.learn(
                self.config.run.steps - done,
                RunCallback(self, progress),
                log_interval=None,  # type: ignore[arg-type]  # None is allowed (no log of SB3's own)
                reset_num_timesteps=done == 0,
            )
        finally:
            progress.close()
            self.model.logger.close()

    def _conclude(self) -> None:
        """Write what a run leaves behind, however far it came."""
        # There is an older one if this run came to an end before it was resumed.
        self.write_checkpoint(self.folder / "policy", replace=True)
        self.write_progress()
        from .report import learning_curve

        title = f"{self.folder.name}: {self.game.name}, {self.game.num_seats} seats"
        write_atomic(self.folder / "learning_curve.png", learning_curve(title, self.log.measurements, self.log.rows))

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
        matrix = self.cross_play()
        if matrix is not None:
            write_atomic(self.folder / "cross_play.json", to_json(asdict(matrix)))
        write_atomic(self.folder / "report.html", self._report(results, matrix))
        write_atomic(self.folder / "evaluation.txt", table + "\n")
        # Last: a run that has this is finished.
        write_atomic(self.folder / "evaluation.json", to_json(figures))
        curve, report = self.folder / "learning_curve.png", self.folder / "report.html"
        print(f"\nWin rate of {path}, one seat\n{table}\n\nlearning curve: {curve}\nreport: {report}")
        print(f"whole run: {self._duration()}", file=sys.stderr)

    def measure(self, policy: Policy, games: int, steps: int | None) -> list[Result]:
        """`games` games of `policy` against each opponent. The deals depend on the run's seed and `steps` only."""
        import numpy as np

        from coyote_env.arena import play_match

        from .report import Result

        key = (CLOSING,) if steps is None else (PROGRESS, steps)
        seeds = np.random.SeedSequence(self.config.run.seed, spawn_key=key).generate_state(len(self.opponents))
        results = []
        for (name, opponent), seed in zip(self.opponents.items(), seeds, strict=True):
            players = [policy, *[opponent] * (self.game.num_seats - 1)]
            results.append(Result.of(name, play_match(self.game, players, games, int(seed)).policies[0]))
        return results

    def describe(self, policy: Policy, games: int, steps: int | None) -> Tally:
        """`games` games of `policy` with itself, counted. The deals depend on the run's seed and `steps` only."""
        import numpy as np

        from coyote_env.arena import play_match

        from .report import Described

        key = (DESCRIBED,) if steps is None else (DESCRIBED_ON_THE_WAY, steps)
        seed = np.random.SeedSequence(self.config.run.seed, spawn_key=key).generate_state(1)[0]
        described = Described(self.game)
        play_match(self.game, [policy] * self.game.num_seats, games, int(seed), duplicates=False, records=described)
        return described.tally

    def cross_play(self) -> Matrix | None:
        """The policy and snapshots from all of the run, one seat of each at a table of each other one."""
        import numpy as np

        from coyote_env.arena import play_match
        from coyote_env.policies import load_policy

        from .report import Matrix
        from .state import step_folders

        settings, found = self.config.evaluation, step_folders(self.checkpoints)
        if not settings.matrix_snapshots or not found:
            return None
        chosen = np.unique(
            np.linspace(0, len(found) - 1, min(settings.matrix_snapshots, len(found))).round().astype(int)
        )
        policies: dict[str, Policy] = {}
        for steps, folder in (found[k] for k in chosen):
            try:
                policies[f"{steps:,}"] = load_policy(folder, self.game)
            except (ValueError, OSError) as error:
                self._say(f"{folder} is left out of the snapshots that play each other: {error}")
        policies["the policy"] = load_policy(self.folder / "policy", self.game)
        seeds = np.random.SeedSequence(self.config.run.seed, spawn_key=(CROSS_PLAY,)).generate_state(len(policies) ** 2)
        shares: list[list[float | None]] = []
        for row, one in enumerate(policies.values()):
            shares.append([])
            for column, others in enumerate(policies.values()):
                if row == column:
                    shares[-1].append(None)
                    continue
                players = [one, *[others] * (self.game.num_seats - 1)]
                match = play_match(self.game, players, settings.matrix_games, int(seeds[row * len(policies) + column]))
                shares[-1].append(match.policies[0].share)
        return Matrix(list(policies), shares, settings.matrix_games)

    def _report(self, results: list[Result], matrix: Matrix | None) -> str:
        """The page report.html, about the policy on disk."""
        from coyote_env.policies import load_policy

        from .report import report_html

        games = self.config.evaluation.self_games
        tally = self.describe(load_policy(self.folder / "policy", self.game), games, None) if games else None
        title = f"{self.folder.name}: {self.game.name}, {self.game.num_seats} seats"
        curve = (self.folder / "learning_curve.png").read_bytes()
        return report_html(title, curve, results, matrix, tally, games)

    def write_checkpoint(self, folder: Path, replace: bool = False) -> None:
        """The learner's policy as it is now."""
        from .checkpoint import write_checkpoint
        from .network import policy_network

        training = {
            "steps": self.model.num_timesteps,
            "games": self.model.games,
            "seed": self.config.run.seed,
            "wall_seconds": round(self.seconds, 1),
            "command": self.command,
        }
        model = self.model
        write_checkpoint(
            folder,
            policy_network(model.policy),
            model.inputs,
            self.game,
            dump_config(self.config),
            training,
            replace=replace,
        )
        self.last_checkpoint = folder

    def write_progress(self) -> None:
        """progress.csv as far as it goes."""
        from .report import progress_csv

        write_atomic(self.folder / "progress.csv", progress_csv(self.log.rows))

    def write_state(self) -> None:
        """All that a later process needs to go on from here."""
        from .state import write_state

        write_state(self.states, self.model, self.log.to_json(self.seconds), self._config_digest())

    def _how_to_go_on(self) -> str:
        return f"to go on: python -m training.selfplay --resume {shlex.quote(str(self.folder))}"

    def _checkpoints_left(self) -> str:
        if self.last_checkpoint is None:
            return "there is no checkpoint yet"
        return f"the last good checkpoint is {self.last_checkpoint}"

    def _duration(self) -> str:
        from .progress import duration

        return duration(self.seconds)


def load_opponents(config: Config, game: Game) -> dict[str, Policy]:
    """Those that the run is measured against, by name. Raises ConfigError."""
    from coyote_env.policies import load_policy

    return {name: _load(load_policy, name, game, "evaluation.opponents") for name in config.evaluation.opponents}


def make_learner(config: Config, game: Game, stop: Callable[[], bool] = lambda: False) -> SelfPlayPPO:
    """The learner of a run, ready to ``learn``. Raises ConfigError if an opponent cannot be loaded."""
    from coyote_env.policies import load_policy

    from .network import policy_network
    from .opponents import OpponentPool

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
    teacher = _load(load_policy, config.teacher.player, game, "teacher.player") if config.teacher.player else None
    if teacher is not None and game.seen_as_by(teacher) is not game:
        sight = ", ".join(game.sight)
        raise ConfigError(
            f"teacher.player = {config.teacher.player!r} is not allowed; allowed: one that sees what the learner sees "
            f"(game.kwargs: {sight})"
        )
    for last in ("policy", "value"):
        # Before memory is asked for: the layers alone, without those to and from them.
        widths = [*config.network.shared, *getattr(config.network, last)]
        size = 4 * sum(a * b for a, b in pairwise(widths))
        if size > MAX_POLICY_BYTES:
            raise ConfigError(
                f"network.shared = {list(config.network.shared)} is not allowed with network.{last} = "
                f"{widths[len(config.network.shared) :]}: {size:,} bytes; allowed: {MAX_POLICY_BYTES:,}"
            )
    try:
        model = _learner(config, game, pool, teacher, stop)
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "alloc" not in str(error):
            raise
        raise ConfigError(
            f"run.tables = {config.run.tables}, ppo.rollout_steps = {ppo.rollout_steps} and the network are not "
            "allowed on this machine: they need more memory than it has"
        ) from None
    size = 4 * sum(parameter.numel() for parameter in policy_network(model.policy).parameters())
    if size > MAX_POLICY_BYTES:
        raise ConfigError(
            f"network.shared = {list(config.network.shared)}, network.policy = {list(config.network.policy)} are not "
            f"allowed for this game: a policy of {size:,} bytes; allowed: {MAX_POLICY_BYTES:,}"
        )
    return model


def _learner(
    config: Config, game: Game, pool: OpponentPool | None, teacher: Policy | None, stop: Callable[[], bool]
) -> SelfPlayPPO:
    from coyote_env.core.batch import Batch

    from .ppo import SelfPlayPPO
    from .vec_env import SelfPlayVecEnv

    ppo, seating = config.ppo, config.opponents
    return SelfPlayPPO(
        config.network,
        SelfPlayVecEnv(Batch(game, config.run.tables)),
        opponents=pool,
        opponent_share=seating.share,
        learner_alone=seating.learner_alone,
        opponents_alike=seating.alike,
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
        magnet=ppo.magnet,
        magnet_weight=ppo.magnet_weight,
        magnet_decay=linear(ppo.magnet_decay, ppo.magnet_decay_end, 1.0),
        magnet_period=ppo.magnet_period,
        teacher=teacher,
        teacher_weight=linear(config.teacher.weight, 0.0, config.teacher.share),
        max_grad_norm=ppo.max_grad_norm,
        target_kl=ppo.target_kl or None,
        normalize_advantage=ppo.normalize_advantage,
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
