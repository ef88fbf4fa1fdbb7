"""Small games with the interface of `coyote_env.core.batch.Batch`, for the tests of training."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coyote_env.core.layout import Layout, Section


class ToyBatch:
    """T tables of a small game in plain Python. A game fills in the hooks; this class deals, rotates and collects."""

    num_seats: int
    num_actions: int
    sections: tuple[Section, ...]

    def __init__(self, num_tables: int) -> None:
        self.num_tables = num_tables
        self.game: Any = SimpleNamespace(
            name="toy", kwargs={}, num_seats=self.num_seats, num_actions=self.num_actions, layout=Layout(self.sections),
            action_rows=(), seen_as_by=lambda player: self.game,
        )  # fmt: skip
        self.seat = np.zeros(num_tables, np.int64)
        self.observation = np.zeros((num_tables, self.game.layout.size), np.float32)
        self.action_mask = np.zeros((num_tables, self.num_actions), np.int8)
        self.rewards = np.zeros((num_tables, self.num_seats), np.float64)
        self.done = np.zeros(num_tables, np.bool_)
        self.out = np.zeros((num_tables, self.num_seats), np.bool_)

    def reset(self, seed: int | None = None) -> None:
        streams = np.random.SeedSequence(seed).spawn(self.num_tables)
        self.rngs = [np.random.default_rng(stream) for stream in streams]
        self.rewards[:] = 0.0
        self.done[:] = False
        for i in range(self.num_tables):
            self._deal(i)
        self._see()

    def step(self, actions: NDArray[np.integer]) -> None:
        actions = np.asarray(actions)
        legal = self.action_mask[np.arange(self.num_tables), actions] != 0
        assert legal.all(), f"illegal actions at tables {np.flatnonzero(~legal)}"
        self.rewards[:] = 0.0
        for i, action in enumerate(actions):
            self.done[i] = self.move(i, int(action))
            if self.done[i]:
                self._deal(i)
        self._see()

    def observe(self, seats: int | NDArray[np.integer]) -> NDArray[np.float32]:
        seats = np.broadcast_to(seats, self.num_tables)
        return np.stack([self.look(i, int(s)) for i, s in enumerate(seats)]).astype(np.float32)

    def seen(self, view: Any, tables: NDArray[np.integer]) -> NDArray[np.float32]:
        assert view is self.game
        seen: NDArray[np.float32] = self.observation[tables]
        return seen

    def _deal(self, i: int) -> None:
        self.out[i] = False
        self.deal(i)

    def _see(self) -> None:
        self.observation[:] = self.observe(self.seat)
        for i in range(self.num_tables):
            self.action_mask[i] = self.legal(i)

    def deal(self, i: int) -> None:
        """Start a game at table i and set its seat to move."""
        raise NotImplementedError

    def move(self, i: int, action: int) -> bool:
        """The seat to move acts: fill in rewards[i], move on; whether the game is over."""
        raise NotImplementedError

    def look(self, i: int, seat: int) -> NDArray[np.float32]:
        raise NotImplementedError

    def legal(self, i: int) -> NDArray[np.int8]:
        raise NotImplementedError


class Nim(ToyBatch):
    """Two seats take 1 to 3 of `stones` stones in turn; who takes the last one wins (+1, the other -1).

    Known: the seat to move loses exactly where the stones are a multiple of 4, and elsewhere wins by leaving one.
    The loser never makes the last move, so it learns nothing unless its reward finds the way to its earlier decision.
    """

    num_seats, num_actions, most = 2, 3, 9
    sections = (
        Section("stones", (10,), 0, 1, "stones left, one-hot"),
        Section("my_turn", (1,), 0, 1, "1 if this seat is to move"),
    )

    def __init__(self, num_tables: int) -> None:
        super().__init__(num_tables)
        self.stones = np.zeros(num_tables, np.int64)

    def deal(self, i: int) -> None:
        self.stones[i] = self.rngs[i].integers(1, self.most + 1)
        self.seat[i] = self.rngs[i].integers(2)

    def move(self, i: int, action: int) -> bool:
        self.stones[i] -= action + 1
        if self.stones[i] == 0:
            self.rewards[i] = -1.0
            self.rewards[i, self.seat[i]] = 1.0
            return True
        self.seat[i] = 1 - self.seat[i]
        return False

    def look(self, i: int, seat: int) -> NDArray[np.float32]:
        seen = np.zeros(11, np.float32)
        seen[self.stones[i]] = 1.0
        seen[10] = float(seat == self.seat[i])
        return seen

    def legal(self, i: int) -> NDArray[np.int8]:
        return np.array([take <= self.stones[i] for take in (1, 2, 3)], np.int8)


class Knockout(ToyBatch):
    """Three to five seats; an action names a bounty and moves luck about, until one seat is left.

    Everything that makes credit hard happens at random: payments to anybody at any step, eliminations of seats that are
    not to move, turns that skip and repeat, games that end before a seat has moved. It has no strategy; it is for
    comparing computations. The observation holds who is looking, who is to move, and the table's step count.
    """

    num_actions = 4
    num_seats = 4
    sections = (
        Section("me", (4,), 0, 1, "the looking seat, one-hot"),
        Section("to_move", (4,), 0, 1, "the seat to move, one-hot"),
        Section("clock", (1,), 0, 1000, "steps made at this table, over 10"),
    )

    def __init__(self, num_tables: int) -> None:
        super().__init__(num_tables)
        self.clock = np.zeros(num_tables, np.int64)

    def deal(self, i: int) -> None:
        self.seat[i] = self.rngs[i].integers(self.num_seats)

    def move(self, i: int, action: int) -> bool:
        rng = self.rngs[i]
        self.clock[i] += 1
        live = np.flatnonzero(~self.out[i])
        self.rewards[i, live] = np.round(rng.normal(size=len(live)), 3) * (rng.random(len(live)) < 0.4)
        if rng.random() < 0.2:
            loser = rng.choice(live)
            self.out[i, loser] = True
            self.rewards[i, loser] -= 1.0 + action
            live = live[live != loser]
        if len(live) == 1 or rng.random() < 0.02:
            self.rewards[i, live] += 2.0
            return True
        self.seat[i] = rng.choice(live)
        return False

    def look(self, i: int, seat: int) -> NDArray[np.float32]:
        seen = np.zeros(9, np.float32)
        seen[seat] = 1.0
        seen[4 + self.seat[i]] = 1.0
        seen[8] = self.clock[i] / 10
        return seen

    def legal(self, i: int) -> NDArray[np.int8]:
        mask = np.array([(self.clock[i] + k) % 3 != 0 for k in range(4)], np.int8)
        mask[self.seat[i]] = 1
        return mask


class RandomPolicy:
    """Any legal action; remembers what it was shown."""

    def __init__(self, name: str = "random") -> None:
        self.name = name
        self.seen: list[NDArray[np.float32]] = []

    def act(
        self, observation: NDArray[np.float32], action_mask: NDArray[np.int8], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        self.seen.append(observation.copy())
        return np.asarray(np.where(action_mask != 0, rng.random(action_mask.shape), -1.0).argmax(axis=1))
