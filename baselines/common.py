"""What the baselines share: arguments, the table a task is learnt at, schedules, and the policy as an ONNX file.

Nothing here needs more than torch, onnx and coyote_env, so that each library's environment can import it.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import nn

from coyote_env.benchmark import TASKS, Task, opponents_of, task_of
from coyote_env.core.game import Game
from coyote_env.policies import make_game

#: As in the commands of our own rows in results.json: what is compared is not who guessed them better.
GAMMA, GAE_LAMBDA, CLIP, VALUE_WEIGHT, MAX_GRAD_NORM = 1.0, 0.8, 0.2, 0.5, 0.5
ROLLOUT, MINIBATCH, EPOCHS = 16_384, 1_024, 3
HIDDEN = (256, 128)
MASKED = -1e8  # logit of an illegal action

_GYMNASIUM_IDS = {"coyote_v0": "coyote_env/Coyote-v0", "scout_v0": "coyote_env/Scout-v0"}


def arguments(doc: str | None) -> argparse.Namespace:
    """What every baseline takes from the command line. `doc`: the script's."""
    parser = argparse.ArgumentParser(description=(doc or "").strip().splitlines()[0])
    parser.add_argument("--task", default="coyote-4p-bayes", choices=TASKS, metavar="TASK", help="default: %(default)s")
    parser.add_argument("--steps", type=int, default=500_000, help="decisions to learn from; default: %(default)s")
    parser.add_argument("--seed", type=int, default=1, help="default: %(default)s")
    parser.add_argument("--out", type=Path, default=Path("policy.onnx"), help="file to write; default: %(default)s")
    found = parser.parse_args()
    torch.set_num_threads(1)  # for networks of this size more are no faster, and many times slower on a busy machine
    torch.manual_seed(found.seed)
    return found


def rules_of(task: Task) -> dict[str, Any]:
    """Arguments of the table to learn at: the task's, rewards paid as each life or round is lost, all odds shown.

    Both are what our own learner is given. Neither changes what is played: a policy is seated with what it sees.
    """
    rules = {**task.rules, "num_players": len(task.opponents) + 1, "reward": "round"}
    return rules | dict.fromkeys(task.make().sight, True)


def game_of(name: str) -> Game:
    """The table that the policy of a task is for."""
    task = task_of(name)
    return make_game(task.game, rules_of(task))


def seat_of(name: str) -> tuple[str, dict[str, Any]]:
    """The Gymnasium environment of a task: its id and arguments. Its opponents are the task's."""
    task = task_of(name)
    return _GYMNASIUM_IDS[task.game], {**rules_of(task), "opponents": opponents_of(task, game_of(name))}


def seat_rollout(name: str, steps: int) -> int:
    """Decisions between updates for who learns in one seat: those that a rollout of ours holds, whose moves are of all.

    It matters: with four times as many, and so a quarter of the updates, half a million decisions are worth far less.
    """
    return min(ROLLOUT // (len(task_of(name).opponents) + 1), steps)


def learning_rate(done: float) -> float:
    """Adam's step size when `done` of the run is over, 0 to 1."""
    return 5e-4 + (5e-5 - 5e-4) * done


def entropy(done: float) -> float:
    """Weight of the entropy bonus then."""
    return 0.05 + (0.01 - 0.05) * min(1.0, done / 0.8)


def layers(inputs: int, outputs: int) -> nn.Sequential:
    """A network of the size that all baselines have, for a policy or for values."""
    parts: list[nn.Module] = []
    for size in HIDDEN:
        parts += [nn.Linear(inputs, size), nn.ReLU()]
        inputs = size
    return nn.Sequential(*parts, nn.Linear(inputs, outputs))


def masked(logits: torch.Tensor, action_mask: torch.Tensor) -> torch.Tensor:
    """Logits by which illegal actions are never taken."""
    return torch.where(action_mask != 0, logits, MASKED)


class _Submission(nn.Module):
    def __init__(self, policy: nn.Module) -> None:
        super().__init__()
        self.policy = policy

    def forward(self, observation: torch.Tensor, action_mask: torch.Tensor) -> torch.Tensor:
        return masked(self.policy(observation), action_mask)


def write(policy: nn.Module, game: Game, path: Path) -> None:
    """`policy`, from observations to logits, as the file that `coyote submit` takes."""
    names = ["observation", "action_mask", "logits"]
    example = torch.zeros(1, game.layout.size), torch.ones(1, game.num_actions, dtype=torch.int8)
    with warnings.catch_warnings():
        # The exporter that torch prefers today needs a package more, onnxscript.
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        torch.onnx.export(
            _Submission(policy).eval(), example, str(path), input_names=names[:2], output_names=names[2:],
            dynamic_axes={name: {0: "batch"} for name in names}, opset_version=17, dynamo=False,
        )  # fmt: skip


class Progress:
    """Says how fast it goes, every 50,000 decisions; by the clock and by the processor, for a shared machine."""

    def __init__(self, steps: int) -> None:
        self.steps, self.began, self.worked, self.next = steps, time.perf_counter(), time.process_time(), 0

    def show(self, done: int) -> None:
        """`done` decisions have been made."""
        if done >= self.next or done >= self.steps:
            clock, work = time.perf_counter() - self.began, time.process_time() - self.worked
            print(f"{done:,} of {self.steps:,} decisions, {clock:.0f} s, of these at work {work:.0f} s", flush=True)
            self.next = done + 50_000
