"""What happens between two rollouts of a run: checkpoints, measurements, logs, the progress display."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.callbacks import BaseCallback

from .state import step_folder

if TYPE_CHECKING:
    from .ppo import SelfPlayPPO
    from .progress import Progress
    from .selfplay import Run


class LivePolicy:
    """The learner as it is, without a detour over the disk, as a ``coyote_env.policies.Policy``."""

    def __init__(self, model: SelfPlayPPO) -> None:
        self.name = "learner"
        self._model = model

    def act(
        self, observation: NDArray[np.float32], action_mask: NDArray[np.int8], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """One legal action a row, sampled."""
        return self._model.sample(observation, action_mask != 0, rng.random(len(observation), np.float32))


class RunCallback(BaseCallback):
    """Keeps the run's folder up to date, always between an update and the next rollout: the policy is whole then."""

    def __init__(self, run: Run, progress: Progress) -> None:
        super().__init__()
        self.run = run
        self.progress = progress

    @property
    def learner(self) -> SelfPlayPPO:
        """The model, as what it is."""
        return cast("SelfPlayPPO", self.model)

    def _on_step(self) -> bool:
        return True

    def _on_rollout_start(self) -> None:
        self._report()
        if self.run.interrupts.requested:  # perhaps in the middle of an update: nothing to go on from
            return
        steps, log = self.num_steps, self.run.log
        if steps >= log.next_checkpoint:
            log.next_checkpoint = _after(steps, self.run.config.run.checkpoint_steps)
            if steps:
                folder = step_folder(self.run.checkpoints, steps)
                self.run.write_checkpoint(folder)
                if self.learner.opponents is not None:
                    self.learner.opponents.add_snapshot(str(folder))
            self.run.write_state()

    def _on_training_end(self) -> None:
        self._report(last=True)
        if not self.run.interrupts.requested:
            self.run.write_state()

    @property
    def num_steps(self) -> int:
        """Decisions of the learner so far."""
        return self.learner.num_timesteps

    def _report(self, last: bool = False) -> None:
        """Measure if it is time, and log the rollout and update that are now complete."""
        steps, settings, log = self.num_steps, self.run.config.evaluation, self.run.log
        if self.run.interrupts.requested or (log.rows and steps == log.rows[-1]["steps"]):
            return
        row: dict[str, float] = {"steps": steps, "seconds": round(self.run.seconds, 2)}
        if settings.progress_games and (steps >= log.next_measurement or last):
            log.next_measurement = _after(steps, settings.progress_steps)
            results = self.run.measure(LivePolicy(self.learner), settings.progress_games, steps)
            log.measurements.append((steps, results))
            self.progress.measured(steps, results)
            for result in results:
                self.logger.record(f"win_rate/{result.opponent}", result.share)
            if settings.progress_self_games:
                tally = self.run.describe(LivePolicy(self.learner), settings.progress_self_games, steps)
                for name, value in tally.figures().items():
                    self.logger.record(f"games/{name}", value)
        figures = {name: float(value) for name, value in self.logger.name_to_value.items()}
        row |= {name: value for name, value in figures.items() if math.isfinite(value)}  # no variance to explain: nan
        self.logger.dump(steps)
        if steps:
            self.progress.update(steps)
        log.rows.append(row)
        self.run.write_progress()


def _after(steps: int, interval: int) -> int:
    """The next multiple of `interval`."""
    return (steps // interval + 1) * interval
