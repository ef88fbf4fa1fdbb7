"""One rollout: the learner's decisions, compactly, and the record of every step that their advantages need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer, MaskableRolloutBufferSamples
from torch import Tensor

from .advantages import Carried, seat_advantages
from .inputs import Inputs


class SelfPlayBuffer(MaskableRolloutBuffer):
    """Rollout buffer of ``SelfPlayPPO``.

    Decisions of the learner lie in rows 0..size-1, in the order in which they were made, those first that were carried
    over from the rollout before; moves of opponents take no row and are never sampled. ``finish`` moves the open ones
    behind the others, which are then the first size ones, and ``reset`` carries them over. Everything is allocated
    once. ``get`` gives sb3-contrib's own sample type, so its ``MaskablePPO.train`` runs on this buffer as it is (a test
    compares ours with it).

    Attributes: `num_carried`, int, the decisions carried over; `row_tables`, `row_seats`, int64[capacity], whose they
    are; `row_paid`, float64[capacity], what their seats have been paid since.
    """

    def __init__(
        self,
        buffer_size: int,
        observation_space: spaces.Space,
        action_space: spaces.Space,
        device: torch.device | str = "auto",
        gae_lambda: float = 1.0,
        gamma: float = 1.0,
        n_envs: int = 1,
        num_seats: int = 2,
        seed: int | None = None,
        inputs: Inputs | None = None,
    ) -> None:
        self.num_seats = num_seats
        self.rng = np.random.default_rng(seed)
        capacity = (buffer_size + num_seats) * n_envs
        assert isinstance(observation_space, spaces.Box)
        assert isinstance(action_space, spaces.Discrete)
        self.observation_rows = torch.zeros((capacity, *observation_space.shape), dtype=torch.float32)
        # What the network is given of them.
        self.inputs = inputs or Inputs(self.observation_rows.shape[1], int(action_space.n))
        given = torch.zeros((capacity, self.inputs.size), dtype=torch.float32)
        self.input_rows = self.observation_rows if self.inputs.plain else given
        self.mask_rows = torch.zeros((capacity, int(action_space.n)), dtype=torch.bool)
        self.action_rows = torch.zeros(capacity, dtype=torch.int64)
        self.value_rows = torch.zeros(capacity, dtype=torch.float32)
        self.log_prob_rows = torch.zeros(capacity, dtype=torch.float32)
        self.advantage_rows = torch.zeros(capacity, dtype=torch.float32)
        self.return_rows = torch.zeros(capacity, dtype=torch.float32)
        self.row_tables = np.zeros(capacity, np.int64)
        self.row_seats = np.zeros(capacity, np.int64)
        self.row_paid = np.zeros(capacity, np.float64)
        self.size_rows = self.num_carried = self.num_open = 0
        steps = (buffer_size, n_envs)
        self.step_rewards = np.zeros((*steps, num_seats), np.float64)
        self.step_seats = np.zeros(steps, np.int64)
        self.step_learner = np.zeros(steps, np.bool_)
        self.step_done = np.zeros(steps, np.bool_)
        super().__init__(buffer_size, observation_space, action_space, device, gae_lambda, gamma, n_envs)

    def reset(self) -> None:
        """Forget the rollout, but for the decisions that are open: they are carried over (the memory stays)."""
        for rows in self.rows().values():
            rows[: self.num_open] = rows[self.size_rows : self.size_rows + self.num_open].copy()
        self.size_rows = self.num_carried = self.num_open
        self.num_open = 0
        self.pos = 0
        self.full = False
        self.generator_ready = False

    def forget(self) -> None:
        """Carry nothing over: the games that are played are given up."""
        self.size_rows = self.num_carried = self.num_open = 0

    def size(self) -> int:
        """Decisions of the learner stored so far; after ``finish`` those that can be learnt from."""
        return self.size_rows

    def rows(self) -> dict[str, NDArray[Any]]:
        """All that is known of a decision before its advantage is, by name: arrays with a row for each."""
        rows = {
            "observation": self.observation_rows.numpy(),
            "mask": self.mask_rows.numpy(),
            "action": self.action_rows.numpy(),
            "log_prob": self.log_prob_rows.numpy(),
            "value": self.value_rows.numpy(),
            "table": self.row_tables,
            "seat": self.row_seats,
            "paid": self.row_paid,
        }
        if self.input_rows is not self.observation_rows:
            rows["input"] = self.input_rows.numpy()
        return rows

    def open_rows(
        self,
        observation: NDArray[np.float32],
        mask: NDArray[np.int8],
        tables: NDArray[np.int64],
    ) -> slice:
        """Take rows for the decisions to be made at `tables` and copy what is seen there.

        Args:
            observation: float32[T, L], mask: int8[T, A], of the seats to move at all tables.
            tables: int64[n], those where the learner moves.

        Returns the rows, for what is decided there: `action_rows`, `log_prob_rows` (of the policy at that time),
        `value_rows`. Raises ValueError if one of those seats has no legal action.
        """
        rows = slice(self.size_rows, self.size_rows + len(tables))
        seen = self.observation_rows.numpy()[rows]
        np.take(observation, tables, axis=0, out=seen, mode="clip")
        legal = self.mask_rows.numpy()[rows]
        np.not_equal(np.take(mask, tables, axis=0), 0, out=legal)
        empty = ~legal.any(axis=1)
        if empty.any():
            raise ValueError(
                f"table {int(tables[np.argmax(empty)])}: the seat to move has no legal action (empty mask); "
                "every running game needs at least one"
            )
        if not self.inputs.plain:
            self.input_rows[rows] = self.inputs(seen, legal)
        self.size_rows = rows.stop
        return rows

    def record_step(
        self,
        seats: NDArray[np.int64],
        learner: NDArray[np.bool_],
        rewards: NDArray[np.float64],
        done: NDArray[np.bool_],
    ) -> None:
        """Store what happened at all tables: who acted [T], whether the learner did [T], payments [T, N], ends [T]."""
        self.step_seats[self.pos] = seats
        self.step_learner[self.pos] = learner
        self.step_rewards[self.pos] = rewards
        self.step_done[self.pos] = done
        self.pos += 1
        self.full = self.pos == self.buffer_size

    def finish(self, out: NDArray[np.bool_]) -> None:
        """Compute advantages and returns, and put the open decisions last. `out`: as in ``seat_advantages``, [T, N]."""
        steps, old = slice(0, self.pos), slice(0, self.num_carried)
        learner, seats = self.step_learner[steps], self.step_seats[steps]
        new = slice(self.num_carried, self.size_rows)
        before, owners = Carried.none(*out.shape), (self.row_tables[old], self.row_seats[old])
        before.there[owners] = True
        before.values[owners] = self.value_rows[old].numpy()
        before.paid[owners] = self.row_paid[old]
        values = np.zeros(learner.shape, np.float64)
        values[learner] = self.value_rows[new].numpy()
        found = seat_advantages(
            self.step_rewards[steps],
            seats,
            learner,
            values,
            self.step_done[steps],
            out,
            before,
            self.gamma,
            self.gae_lambda,
        )
        # Rows were taken step by step and, within a step, table by table: the order of a boolean index.
        self.row_tables[new] = np.broadcast_to(np.arange(learner.shape[1]), learner.shape)[learner]
        self.row_seats[new] = seats[learner]
        made = slice(0, self.size_rows)
        self.row_paid[made] = found.paid[self.row_tables[made], self.row_seats[made]]
        advantages = np.concatenate([found.carried[owners], found.decided[learner]])
        self.advantage_rows[made] = torch.from_numpy(advantages.astype(np.float32))
        self.return_rows[made] = self.advantage_rows[made] + self.value_rows[made]
        self._put_last(np.concatenate([found.carried_open[owners], found.open[learner]]))

    def _put_last(self, unknown: NDArray[np.bool_]) -> None:
        """Move the rows that are open behind the others, by exchanging as few as can be. `unknown`: bool[size]."""
        self.num_open = int(unknown.sum())
        self.size_rows -= self.num_open
        ahead = np.flatnonzero(unknown[: self.size_rows])
        behind = self.size_rows + np.flatnonzero(~unknown[self.size_rows :])
        exchanged = np.concatenate([ahead, behind]), np.concatenate([behind, ahead])
        advantages = {"advantage": self.advantage_rows.numpy(), "return": self.return_rows.numpy()}
        for rows in (self.rows() | advantages).values():
            rows[exchanged[0]] = rows[exchanged[1]]

    def count_in(self) -> None:
        """Have `inputs` count what was learnt from, and the open decisions follow: they stay in use."""
        left = slice(self.size_rows, self.size_rows + self.num_open)
        self.inputs.count_in(self.input_rows[: self.size_rows], self.input_rows[left])

    def minibatches(self, batch_size: int | None) -> Iterator[Tensor]:
        """Rows of one pass in random order, int64[n] each, in equal parts of about `batch_size` (None: one part).

        Equal, because a small remainder would be a gradient step of mostly noise, and one row has no deviation.
        """
        parts = 1 if batch_size is None else max(1, round(self.size_rows / batch_size))
        for rows in np.array_split(self.rng.permutation(self.size_rows), parts):
            yield torch.from_numpy(rows)

    # The ignore below: its parents declare a Generator; nobody sends anything into this one.
    def get(self, batch_size: int | None = None) -> Iterator[MaskableRolloutBufferSamples]:  # type: ignore[override]
        """The same minibatches as sb3-contrib's samples."""
        for rows in self.minibatches(batch_size):
            yield self.samples(rows)

    def samples(self, rows: Tensor) -> MaskableRolloutBufferSamples:
        """The decisions in `rows`, int64[n]."""
        return MaskableRolloutBufferSamples(
            observations=self.input_rows[rows],
            actions=self.action_rows[rows],
            old_values=self.value_rows[rows],
            old_log_prob=self.log_prob_rows[rows],
            advantages=self.advantage_rows[rows],
            returns=self.return_rows[rows],
            action_masks=self.mask_rows[rows],
        )

    @property
    def values(self) -> NDArray[np.float32]:  # type: ignore[override]  # a property where its parent has an array
        """Values of the decisions, float32[size] (sb3-contrib reads it for the explained variance)."""
        result: NDArray[np.float32] = self.value_rows[: self.size_rows].numpy()
        return result

    @property
    def returns(self) -> NDArray[np.float32]:  # type: ignore[override]  # a property where its parent has an array
        """Returns of the decisions, float32[size]."""
        result: NDArray[np.float32] = self.return_rows[: self.size_rows].numpy()
        return result

    def add(self, *args: Any, **kwargs: Any) -> None:
        """Refused: a lane's step is not one decision here."""
        raise TypeError("SelfPlayBuffer has no add(); use open_rows and record_step")
