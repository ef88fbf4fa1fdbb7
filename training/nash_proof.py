"""How near an equilibrium self-play comes, exactly: ``python -m training.nash_proof CONFIG.toml --seeds 1 2 3``.

For tables so small that OpenSpiel can walk over all of the tree. While the learner trains, NashConv of its policy as it
stands is computed: what all seats together could win, each by its best response to the others; 0 is an equilibrium. At
the end a table says where each seed came, and a picture shows NashConv over decisions beside CFR+ on the same tree.
"""

from __future__ import annotations

import argparse
import json
import math
import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger

from .config import ConfigError, load_config
from .errors import TrainingError
from .files import write_atomic
from .interrupts import interruptible
from .network import forward_logits, masked_log_probabilities
from .report import literal, new_figure, png
from .selfplay import make_game, make_learner

if TYPE_CHECKING:
    from coyote_env.core.game import Game

    from .ppo import SelfPlayPPO

#: A point of a curve: decisions, seconds of training (measuring not counted), NashConv.
Point = tuple[int, float, float]


class Tree:
    """All of a small game: what a seat sees in each information state, and NashConv of a policy for them.

    Attributes: `observations` float32[I, L] and `masks` bool[I, A], a row an information state; `num_decisions`, nodes
    of the tree at which a seat decides.
    """

    def __init__(self, game: Game, max_nodes: int = 300_000) -> None:
        """Raises ConfigError for a game that OpenSpiel does not know, and for one with more nodes than that."""
        if game.name != "coyote_v0":
            raise ConfigError(f"game.name = {game.name!r} is not allowed; allowed: coyote_v0, which OpenSpiel can play")
        import pyspiel

        from coyote_env.coyote.rules import Rules
        from coyote_env.integrations import equilibrium

        names = {field.name for field in fields(Rules)}
        whole = equilibrium.load(**{name: value for name, value in game.kwargs.items() if name in names})
        seen: dict[str, tuple[int, NDArray[np.void]]] = {}  # information state -> seat to move, a record that it is in
        self.num_decisions = 0
        nodes, todo = 1, [whole.new_initial_state()]
        while todo:
            state = todo.pop()
            if state.is_terminal():
                continue
            if not state.is_chance_node():
                self.num_decisions += 1
                seen.setdefault(state.information_state_string(), (state.current_player(), state.position.record))
            actions = state.legal_actions()
            nodes += len(actions)
            if nodes > max_nodes:
                raise ConfigError(f"{whole} has more than {max_nodes:,} nodes; choose a smaller table")
            todo += [state.child(action) for action in actions]
        observations = np.zeros((len(seen), game.layout.size), np.float32)
        masks = np.zeros((len(seen), game.num_actions), np.int8)
        for row, (seat, record) in enumerate(seen.values()):
            game.observe(game.rules, record, np.array([seat]), False, observations[row : row + 1])
            game.legal_mask(game.rules, record, masks[row : row + 1])
        self.observations, self.masks = torch.from_numpy(observations), torch.from_numpy(masks != 0)
        self._legal = [(text, np.flatnonzero(mask).tolist()) for text, mask in zip(seen, masks, strict=True)]
        self._spiel, self._cached = pyspiel, pyspiel.convert_to_cached_tree(whole)

    def nash_conv(self, probabilities: NDArray[np.floating]) -> float:
        """Of the policy with these probabilities of the actions, float[I, A]."""
        table = {
            text: [(action, float(row[action])) for action in legal]
            for (text, legal), row in zip(self._legal, probabilities, strict=True)
        }
        return float(self._spiel.nash_conv(self._cached, self._spiel.TabularPolicy(table)))

    def nash_conv_of(self, model: SelfPlayPPO) -> float:
        """Of the learner's policy as it is."""
        with torch.no_grad():
            logits = forward_logits(model.policy, model.inputs(self.observations.numpy(), self.masks.numpy()))
            log_probabilities = masked_log_probabilities(logits.double(), self.masks)
        return self.nash_conv(log_probabilities.exp().numpy())

    def cfr(self, seconds: float) -> list[Point]:
        """The curve of CFR+'s average policy: a decision is a node of the tree looked at."""
        solver, points = self._spiel.CFRPlusSolver(self._cached), []
        spent, done, look = 0.0, 0, 1
        while spent < seconds:
            began = time.perf_counter()
            while done < look:
                solver.evaluate_and_update_policy()
                done += 1
            spent += time.perf_counter() - began
            found = float(self._spiel.nash_conv(self._cached, solver.average_policy()))
            points.append((done * self.num_decisions, spent, found))
            look += max(1, done // 2)
        return points


class Watch(BaseCallback):
    """Measures NashConv every so many decisions, at the end, and when the time is over, which ends training."""

    def __init__(self, tree: Tree, every: int, seconds: float) -> None:
        super().__init__()
        self.tree, self.every, self.seconds = tree, every, seconds
        self.points: list[Point] = []
        self.over = False
        self._next, self._measuring, self._began = 0, 0.0, time.perf_counter()

    def _on_step(self) -> bool:
        return not self.over

    def _on_rollout_start(self) -> None:
        spent = time.perf_counter() - self._began - self._measuring
        self.over = spent >= self.seconds
        if self.model.num_timesteps >= self._next or self.over:
            self._next = (self.model.num_timesteps // self.every + 1) * self.every
            self._measure(spent)

    def _on_training_end(self) -> None:
        if not self.over:
            self._measure(time.perf_counter() - self._began - self._measuring)

    def _measure(self, spent: float) -> None:
        began = time.perf_counter()
        # The ignore below: the model is ours.
        found = self.tree.nash_conv_of(self.model)  # type: ignore[arg-type]  # SB3 types a callback's model as its base class
        self.points.append((self.model.num_timesteps, spent, found))
        print(f"  {self.model.num_timesteps:>10,} decisions, {spent:4.0f} s: NashConv {found:.4f}", flush=True)
        self._measuring += time.perf_counter() - began


def picture(title: str, curves: Sequence[tuple[str, Sequence[Point]]], target: float) -> bytes:
    """A PNG of NashConv over decisions, both in logarithms, with the `target` as a line."""
    figure = new_figure(8, 5)
    axes = figure.subplots()
    for name, points in curves:
        later = [point for point in points if point[0] > 0]
        axes.loglog([steps for steps, _, _ in later], [found for _, _, found in later], marker=".", label=literal(name))
    axes.axhline(target, color="black", linestyle="--", linewidth=1, label=f"target {target:g}")
    axes.set(title=literal(title), xlabel="decisions of the learner (CFR+: nodes looked at)", ylabel="NashConv")
    axes.grid(alpha=0.3)
    axes.legend()
    return png(figure)


def write_figures(
    out: Path, title: str, command: str, target: float, curves: Sequence[tuple[str, Sequence[Point]]]
) -> None:
    """`out`.json with all points, and `out`.png."""
    rounded = {name: [(d, round(s, 1), round(f, 5)) for d, s, f in points] for name, points in curves}
    figures = {"command": command, "target": target, "curves": rounded}
    write_atomic(out.with_name(out.name + ".json"), json.dumps(figures) + "\n")
    write_atomic(out.with_name(out.name + ".png"), picture(title, curves, target))


@interruptible
def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Returns 0 if every seed ends below the target in time, 1 if not, 2 for what is refused."""
    parser = argparse.ArgumentParser(prog="python -m training.nash_proof", description=__doc__.splitlines()[0])
    parser.add_argument("config", type=Path, help="TOML file, for example configs/mini-2.toml")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5], help="a run for each")
    parser.add_argument(
        "--minutes",
        type=float,
        default=10.0,
        help="a run that takes longer, measuring not counted, is stopped, and has missed the target",
    )
    parser.add_argument("--every", type=int, default=250_000, help="decisions between two measurements")
    parser.add_argument("--target", type=float, default=0.03, help="NashConv to end below")
    parser.add_argument("--cfr-seconds", type=float, default=30.0, help="time for CFR+; 0: none")
    parser.add_argument("--out", type=Path, help="write NAME.json and NAME.png, with this as the NAME")
    parser.add_argument("--set", dest="overrides", metavar="SECTION.KEY=VALUE", action="append", default=[])
    parser.add_argument(
        "--beside",
        metavar="SECTION.KEY=VALUE",
        nargs="+",
        action="append",
        default=[],
        help="a variant, run with the first seed for comparison; need not meet the target",
    )
    options = parser.parse_args(arguments)
    runs = [(f"seed {seed}", [*options.overrides, f"run.seed={seed}"]) for seed in options.seeds]
    for changed in options.beside:
        settings = [*options.overrides, *changed, f"run.seed={options.seeds[0]}"]
        runs.append((", ".join(changed), settings))
    try:
        if options.every < 1:
            raise ConfigError(f"--every {options.every} is not allowed; allowed: at least 1")
        if len({name for name, _ in runs}) < len(runs):
            raise ConfigError("--seeds or --beside name a run twice")
        if any(setting.partition("=")[0].strip() == "run.seed" for setting in options.overrides):
            raise ConfigError("--set run.seed is not allowed; allowed: --seeds")
        for option in ("minutes", "target"):
            value = getattr(options, option)
            if not 0 <= value < math.inf:
                raise ConfigError(f"--{option} {value} is not allowed; allowed: a number, at least 0")
        if options.out is not None:
            if not options.out.name or not options.out.parent.is_dir():
                raise ConfigError(f"--out {options.out} is not allowed; allowed: a name, in a folder that is there")
            for end in (".json", ".png"):
                path = options.out.with_name(options.out.name + end)
                if path.is_dir():
                    raise ConfigError(f"--out {options.out} is not allowed: {path} is a folder")
                if not path.exists():  # written to now, rather than judged by its name
                    write_atomic(path, "")
                    path.unlink()
        configs = [(name, load_config(options.config, settings)) for name, settings in runs]
        game = make_game(configs[0][1])
        for name, config in configs:
            if config.game != configs[0][1].game:
                raise ConfigError(f"--beside {name} is not allowed; the game has to stay the same")
            if config.opponents.share > 0 and config.opponents.snapshots:
                raise ConfigError("opponents.snapshots = true is not allowed here: there are none; allowed: false")
            make_learner(config, game).workers.close()  # what can be refused is refused before minutes have gone by
        tree = Tree(game)
    except (ConfigError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"{len(tree.masks):,} information states, {tree.num_decisions:,} decision nodes", flush=True)
    cfr = [("CFR+", tree.cfr(options.cfr_seconds))] if options.cfr_seconds > 0 else []
    command = shlex.join(["python", "-m", "training.nash_proof", *(sys.argv[1:] if arguments is None else arguments)])
    curves: list[tuple[str, list[Point]]] = []
    stopped: list[bool] = []
    for name, config in configs:
        print(name, flush=True)
        model = make_learner(config, game)
        model.set_logger(Logger(None, []))
        watch = Watch(tree, options.every, 60.0 * options.minutes)
        try:
            model.learn(config.run.steps, watch, log_interval=None)  # type: ignore[arg-type]  # None: no log of SB3's
        except TrainingError as error:
            print(f"error: {name}: {error}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            print(f"stopped by Ctrl-C in {name}; of the runs before it --out has the figures", file=sys.stderr)
            return 130
        finally:
            model.workers.close()
        # Rates and magnet follow a schedule that ends with the run, so a run that was stopped shows little.
        stopped.append(watch.over)
        curves.append((f"{name} (stopped after {options.minutes:g} minutes)" if watch.over else name, watch.points))
        if options.out is not None:  # after every run: what ends one of them loses none of the others
            title = f"{options.config.stem}: {game.num_seats} seats"
            write_figures(options.out, title, command, options.target, [*curves, *cfr])
    print("\n decisions   seconds  NashConv  least on the way")
    for name, points in curves:
        steps, spent, found = points[-1]
        print(f"{steps:>10,}  {spent:>8.0f}  {found:>8.4f}  {min(f for _, _, f in points):>16.4f}  {name}")
    proofs = range(len(options.seeds))
    reached = [not stopped[k] and curves[k][1][-1][2] < options.target for k in proofs]
    return 0 if all(reached) else 1


if __name__ == "__main__":
    sys.exit(main())
