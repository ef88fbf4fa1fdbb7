"""Many tables as one SB3 ``VecEnv``, in one process, and what training asks of a batch of tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvStepReturn


class TableBatch(Protocol):
    """The part of ``coyote_env.core.batch.Batch`` that training uses: T tables, N seats, one seat to move at each.

    The arrays are the same buffers at every step; what is kept must be copied.
    """

    game: Any
    num_tables: int
    seat: NDArray[np.int64]  # (T,) seat to move
    observation: NDArray[np.float32]  # (T, L) as the seat to move sees it
    action_mask: NDArray[np.int8]  # (T, A) of the seat to move, never empty
    rewards: NDArray[np.float64]  # (T, N) what the last step paid to every seat
    done: NDArray[np.bool_]  # (T,) the last step ended a game, and the table has dealt again

    @property
    def out(self) -> NDArray[np.bool_]:
        """Seats eliminated in the running game, (T, N)."""
        ...

    def reset(self, seed: int | None = None) -> None:
        """Deal at every table; without a seed the streams go on."""

    def step(self, actions: NDArray[np.integer]) -> None:
        """One move at every table, int (T,)."""

    def seen(self, view: Any, tables: NDArray[np.intp]) -> NDArray[np.float32]:
        """What the seat to move sees at ``tables`` (n,), as ``view``, the game with another sight, has it; fresh."""
        ...


class SelfPlayVecEnv(VecEnv):
    """SB3's view of a batch: one lane per table, whoever is to move acts; masks by ``env_method("action_masks")``.

    A lane's reward is what the step paid to the seat that acted. That is all this interface can say, and it is not
    enough to learn from: what the other seats were paid does not fit in. ``infos`` carry it (``seat`` that acted,
    ``rewards`` of all seats), and ``SelfPlayPPO`` reads the batch itself. Games only terminate, they are never
    truncated, so there is no ``terminal_observation``.
    """

    def __init__(self, batch: TableBatch) -> None:
        self.batch = batch
        layout = batch.game.layout
        self._actions: NDArray[np.int64] | None = None
        self._seed: int | None = None
        super().__init__(
            batch.num_tables,
            spaces.Box(layout.low, layout.high, dtype=np.float32),
            spaces.Discrete(int(batch.game.num_actions)),
        )

    def seed(self, seed: int | None = None) -> list[int | None]:
        """Seed the next ``reset``: one seed serves all tables."""
        self._seed = seed
        return [seed] * self.num_envs

    def reset(self) -> NDArray[np.float32]:
        """Deal at every table; observations (T, L) of the seats to move."""
        self.batch.reset(self._seed)
        self._seed = None
        return self.batch.observation.copy()

    def step_async(self, actions: NDArray[np.integer]) -> None:
        """Remember the actions, int (T,)."""
        self._actions = np.asarray(actions, dtype=np.int64)

    def step_wait(self) -> VecEnvStepReturn:
        """Make the moves: observations (T, L), rewards float32 (T,) of the seats that moved, done (T,), infos."""
        if self._actions is None:
            raise RuntimeError("step_wait without step_async; call step(actions)")
        batch = self.batch
        seats = batch.seat.copy()
        batch.step(self._actions)
        self._actions = None
        rewards = batch.rewards[np.arange(self.num_envs), seats].astype(np.float32)
        infos: list[dict[str, Any]] = [
            {"seat": int(seat), "rewards": paid} for seat, paid in zip(seats, batch.rewards.copy(), strict=True)
        ]
        return batch.observation.copy(), rewards, batch.done.copy(), infos

    def action_masks(self) -> NDArray[np.bool_]:
        """Legal actions of the seats to move, bool (T, A), fresh."""
        return self.batch.action_mask.astype(bool)

    def env_method(self, method_name: str, *args: Any, indices: VecEnvIndices = None, **kwargs: Any) -> Any:
        """``action_masks``: one matrix, its rows those of `indices` (all). Other methods: AttributeError by name."""
        if method_name != "action_masks":
            raise AttributeError(f"tables have no method {method_name!r}; there is: action_masks")
        return self.action_masks()[self._rows(indices)]

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """The same for each table: ``render_mode`` (None), ``action_masks``, ``game``. Others: AttributeError."""
        values: dict[str, Any] = {"render_mode": None, "action_masks": self.action_masks, "game": self.batch.game}
        if attr_name not in values:
            raise AttributeError(f"tables have no attribute {attr_name!r}; there are: {', '.join(values)}")
        return [values[attr_name]] * len(self._rows(indices))

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Refused: tables have nothing to set."""
        raise AttributeError(f"tables have no attribute to set, not {attr_name!r}")

    def env_is_wrapped(self, wrapper_class: type, indices: VecEnvIndices = None) -> list[bool]:
        """False for each table: nothing is wrapped."""
        return [False] * len(self._rows(indices))

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        """Nothing to see: one None per table."""
        return [None] * self.num_envs

    def close(self) -> None:
        """Nothing to release."""

    def _rows(self, indices: VecEnvIndices) -> list[int]:
        return list(self._get_indices(indices))
