"""Where a training step's time goes: ``python -m training.profile CONFIG.toml [--set section.key=value]``.

Three figures of the same process, one after the other, all in decisions learnt from per second of wall time:

- the learner of the configuration, and what its time went to;
- its floor: the same network, numbers of rows, forward passes and updates in plain torch, and nothing else, in
  one thread and shared among our workers, whichever is faster;
- the usual route: one PettingZoo env in the wrapper of PettingZoo's tutorial for SB3, learnt by sb3-contrib's
  MaskablePPO with the same layers over observation and mask, minibatch and number of passes.

The first two take turns, and of each the fastest turn counts, since other processes may come in between. Their
processor time is compared too: on a machine that is shared it says more than the clock. What the configuration's
opponents and teacher decide is work that plain torch has none of, so the overhead is also given without it.
"""

from __future__ import annotations

import argparse
import importlib
import math
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
import torch
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from sb3_contrib.common.wrappers import ActionMasker
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger

from .config import Config, ConfigError, load_config
from .interrupts import interruptible
from .network import forward, policy_kwargs
from .selfplay import make_game, make_learner
from .workers import Workers

if TYPE_CHECKING:
    from coyote_env.core.game import Game

    from .ppo import SelfPlayPPO


class Stopwatch:
    """Seconds spent in methods, each without those of other methods that it calls."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._running: list[str] = []
        self._since = time.perf_counter()

    def _turn(self) -> None:
        now = time.perf_counter()
        if self._running:
            name = self._running[-1]
            self.seconds[name] = self.seconds.get(name, 0.0) + now - self._since
        self._since = now

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """A block whose time is called `name`."""
        self._turn()
        self._running.append(name)
        try:
            yield
        finally:
            self._turn()
            self._running.pop()

    def watch(self, owner: Any, method: str, name: str) -> None:
        """From now on the time of that method of `owner` is called `name`."""
        original = getattr(owner, method)

        def timed(*arguments: Any, **named: Any) -> Any:
            with self.timed(name):
                return original(*arguments, **named)

        setattr(owner, method, timed)


#: Players that the configuration seats or asks beside the learner. Plain torch, without any, has none of these.
BESIDE = ("opponents' decisions", "loading opponents", "the teacher's decisions")


class _Silent(BaseCallback):
    def _on_step(self) -> bool:
        return True


@contextmanager
def clock() -> Iterator[list[float]]:
    """A block, and the seconds that it took: by the clock, and of all its processors."""
    spent = [-time.perf_counter(), -time.process_time()]
    yield spent
    spent[0] += time.perf_counter()
    spent[1] += time.process_time()


class Learner:
    """A learner whose methods are watched; ``turn`` is one rollout with its update."""

    def __init__(self, model: SelfPlayPPO) -> None:
        self.model = model
        model.set_logger(Logger(None, []))
        _, self._callback = model._setup_learn(2**40, _Silent())
        self.turn()  # compiles, allocates
        self.watch, buffer = Stopwatch(), model.rollout_buffer
        for owner, method, name in (
            (model, "train", "learning"),
            (model, "_decide", "the learner's decisions"),
            (model, "_ask", "the teacher's decisions"),
            (model.seating, "act", "opponents' decisions"),
            (model.seating, "begin_rollout", "loading opponents"),
            (model.seating, "paid", "seating and scores"),
            (model.batch, "step", "the game"),
            (buffer, "open_rows", "copying observations"),
            (buffer, "finish", "advantages"),
        ):
            self.watch.watch(owner, method, name)

    def turn(self) -> int:
        """Returns the decisions that were learnt from."""
        model = self.model
        assert model.env is not None
        model.collect_rollouts(model.env, self._callback, model.rollout_buffer, model.n_steps)
        model.train()
        return model.rollout_buffer.size()


def floor(model: SelfPlayPPO, workers: Workers, rows: int) -> None:
    """What plain torch does for one rollout of `rows` decisions and its update, with these threads.

    The forward passes of a rollout are as many and as wide as the learner's; updates are Adam's on PPO's loss.
    """
    policy, buffer = model.policy, model.rollout_buffer
    inputs, masks, actions = buffer.input_rows, buffer.mask_rows, buffer.action_rows
    parameters = [p for p in policy.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(parameters, lr=0.0, fused=True)
    each, minibatch = max(1, rows // model.n_steps), model.batch_size or rows

    def decide(part: slice) -> None:
        with torch.inference_mode():
            logits, _ = forward(policy, inputs[part])
            torch.multinomial(torch.softmax(logits.masked_fill(~masks[part], -1e8), dim=1), 1)

    def gradients(chosen: torch.Tensor) -> Sequence[torch.Tensor]:
        logits, values = forward(policy, inputs[chosen])
        log_probabilities = torch.log_softmax(logits.masked_fill(~masks[chosen], -1e8), dim=1)
        taken = log_probabilities.gather(1, actions[chosen].unsqueeze(1)).squeeze(1)
        entropy = (log_probabilities.exp() * log_probabilities).sum(dim=1)
        ratio = (taken - taken.detach()).exp()
        loss = -torch.minimum(ratio, ratio.clamp(0.8, 1.2)) + 0.5 * (values - 1.0) ** 2 + 0.01 * entropy
        return torch.autograd.grad(loss.sum() / rows, parameters)

    for _ in range(model.n_steps):
        workers.map_rows(decide, each)
    for _ in range(model.n_epochs):
        order = torch.randperm(rows)
        for chosen in torch.tensor_split(order, max(1, round(rows / minibatch))):

            def work(part: slice, chosen: torch.Tensor = chosen) -> Sequence[torch.Tensor]:
                return gradients(chosen[part])

            parts = workers.map_rows(work, len(chosen))
            for parameter, *found in zip(parameters, *parts, strict=True):
                parameter.grad = found[0]
                for other in found[1:]:
                    parameter.grad += other
            optimizer.step()


class _TutorialWrapper(gymnasium.Env):
    """One agent after another as one gymnasium env, as PettingZoo's tutorial for SB3 with action masking does it."""

    def __init__(self, env: Any) -> None:
        self.env = env
        env.reset()
        agent = env.possible_agents[0]
        # The learner's network is given the mask, so that of the usual route is too.
        seen, mask = env.observation_space(agent)["observation"], env.observation_space(agent)["action_mask"]
        self.observation_space = gymnasium.spaces.Box(
            np.concatenate([seen.low, mask.low]), np.concatenate([seen.high, mask.high]), dtype=np.float32
        )
        self.action_space = env.action_space(agent)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Deal; what the first seat sees."""
        self.env.reset(seed=seed, options=options)
        return self._seen(self.env.observe(self.env.agent_selection)), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """The seat to move acts; what the next one sees, and is paid."""
        self.env.step(int(action))
        observation, reward, termination, truncation, _ = self.env.last()
        return self._seen(observation), reward, termination, truncation, {}

    def _seen(self, observation: Any) -> NDArray[np.float32]:
        return np.concatenate([observation["observation"], observation["action_mask"]], dtype=np.float32)

    def action_mask(self) -> Any:
        """Legal actions of the seat to move."""
        return self.env.observe(self.env.agent_selection)["action_mask"]


def usual_route(config: Config, game: Game, seconds: float) -> float:
    """Decisions per second of the usual route, measured for about so many seconds."""
    face = importlib.import_module(f"coyote_env.{game.name}")
    # The ignore below: the wrapped env has the method.
    env = ActionMasker(_TutorialWrapper(face.env(**config.game.kwargs)), lambda env: env.action_mask())  # type: ignore[attr-defined]  # the wrapper has it
    steps = 2048
    model = MaskablePPO(
        "MlpPolicy",
        env,
        n_steps=steps,
        batch_size=min(config.ppo.minibatch, steps),
        n_epochs=config.ppo.epochs,
        policy_kwargs=policy_kwargs(config.network, game.layout.size + int(game.num_actions)),
        device="cpu",
        seed=0,
    )
    model.set_logger(Logger(None, []))
    model.learn(steps)
    began, done = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        model.learn(steps, reset_num_timesteps=False)
        done += steps
    return done / (time.perf_counter() - began)


@interruptible
def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Returns 0, or 2 for what is refused."""
    parser = argparse.ArgumentParser(
        prog="python -m training.profile", description="Where a training step's time goes."
    )
    parser.add_argument("config", type=Path, help="TOML file, for example configs/quickstart.toml")
    parser.add_argument("--set", dest="overrides", metavar="SECTION.KEY=VALUE", action="append", default=[])
    parser.add_argument("--rollouts", type=int, default=5, help="rollouts to measure; one more to warm up")
    parser.add_argument("--seconds", type=float, default=15.0, help="for the usual route; 0: leave it out")
    options = parser.parse_args(arguments)
    try:
        if options.rollouts < 1:
            raise ConfigError(f"--rollouts {options.rollouts} is not allowed; allowed: at least 1")
        if not 0 <= options.seconds < math.inf:
            raise ConfigError(f"--seconds {options.seconds} is not allowed; allowed: at least 0")
        config = load_config(options.config, options.overrides)
        game = make_game(config)
        model = make_learner(config, game)
    except (ConfigError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    learner = Learner(model)
    pools = {"plain torch, 1 thread": Workers(1), "plain torch, our workers": Workers(config.run.threads)}
    turns: list[tuple[float, float, dict[str, float]]] = []  # us a decision: by the clock, of processors, by name
    floors: list[tuple[float, float]] = []
    for _ in range(options.rollouts):
        learner.watch.seconds.clear()
        with clock() as spent, learner.watch.timed("everything else"):
            rows = max(1, learner.turn())
        parts = {name: 1e6 * seconds / rows for name, seconds in learner.watch.seconds.items()}
        turns.append((1e6 * spent[0] / rows, 1e6 * spent[1] / rows, parts))
        for pool in pools.values():
            with clock() as spent:
                floor(model, pool, rows)
            floors.append((1e6 * spent[0] / rows, 1e6 * spent[1] / rows))
    for pool in pools.values():
        pool.close()
    ours, _, parts = min(turns, key=lambda turn: turn[0])
    least = min(wall for wall, _ in floors)
    print(
        f"{options.config}: {config.run.threads} threads, {config.run.tables} tables x {config.ppo.rollout_steps} moves"
    )
    print(f"{'':34}{'share':>7}{'us per decision':>17}")
    for name, each in sorted(parts.items(), key=lambda item: -item[1]):
        print(f"  {name:<32}{each / ours:>7.1%}{each:>17.2f}")
    print(f"\nlearner         {1e6 / ours:>10,.0f} decisions/s  {ours:8.1f} us each")
    print(f"floor           {1e6 / least:>10,.0f} decisions/s  {least:8.1f} us each")
    work, least_work = min(cpu for _, cpu, _ in turns), min(cpu for _, cpu in floors)
    print(f"overhead over the floor: {ours / least:.2f}x by the clock, {work / least_work:.2f}x in processor time")
    beside = sum(parts.get(name, 0.0) for name in BESIDE)
    print(f"  without opponents' and the teacher's decisions: {(ours - beside) / least:.2f}x by the clock")
    if options.seconds > 0:
        usual = usual_route(config, game, options.seconds)
        print(f"usual route     {usual:>10,.0f} decisions/s  {1e6 / usual:8.1f} us each")
        print(f"the learner is {1e6 / ours / usual:.1f} times as fast as the usual route")
    model.workers.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
