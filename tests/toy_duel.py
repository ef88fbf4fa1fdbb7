"""A small game as a `core.game.Game`, in plain Python, for the tests of policies and matches: its answers are known."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coyote_env.core.game import Game, record_dtype
from coyote_env.core.layout import Layout, Section

SHORT, LONG, WAIT = range(3)
FIELDS = [
    ("seed", "u8"), ("game", "u8"), ("returns", "f8", (10,)), ("seat", "i1"), ("over", "u1"), ("out", "u1", (10,)),
    ("left", "i2"), ("starter", "i1"), ("choice", "i1"), ("draws", "i2"),
]  # fmt: skip


def game(*, num_players: int = 2, long: int = 40, edition: str = "plain") -> Game:
    """The starter, a seat at random, chooses a short game, which it wins, or a long one, which all the others share.

    Known: always `short` against always `long` wins every game. A policy that tosses a coin, against always `long` at
    two seats, wins 3/4 (all that the other starts, and half of its own), and all short games are among its wins: who
    counts games in the order in which they end finds more.
    """
    if type(num_players) is not int or not 2 <= num_players <= 10:
        raise ValueError(f"num_players must be an integer from 2 to 10, not {num_players!r}")
    if type(long) is not int or not 1 <= long <= 1000:
        raise ValueError(f"long must be an integer from 1 to 1000, not {long!r}")
    if edition not in ("plain", "other"):
        raise ValueError(f"edition must be 'plain' or 'other', not {edition!r}")
    facts: dict[str, Any] = {
        "name": "duel_v0",
        "maker": game,
        "sight": (),
        "kwargs": {"num_players": num_players, "long": long, "edition": edition},
        "rules": np.array([(num_players, long)], [("num_players", "i1"), ("long", "i2")]),
        "num_seats": num_players,
        "layout": Layout(
            [
                Section("first", (1,), 0, 1, "1 if the choice is due"),
                Section("starter", (num_players,), 0, 1, "who chooses or chose, own seat first"),
                Section("left", (1,), 0, 1, "moves left / 1000"),
            ]
        ),
        "action_names": ("short", "long", "wait"),
        "action_id": {"short": SHORT, "long": LONG, "wait": WAIT},
        "state_dtype": record_dtype(FIELDS),
        "tape_size": 0,
        "prepare": lambda game, options, tape: -1,
        "deal": _deal_many,
        "legal_mask": _legal_mask,
        "observe": _observe,
        "step": _step,
        "config": None,
    }
    return Game(**dict.fromkeys((field.name for field in dataclasses.fields(Game)), _unused) | facts)


class Chooser:
    """Chooses a short game with a given probability; draws a number only if that is neither 0 nor 1."""

    def __init__(self, name: str, short: float) -> None:
        self.name = name
        self.short = short
        self.calls: list[int] = []  # rows of each call

    def act(
        self, observation: NDArray[np.float32], action_mask: NDArray[np.int8], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        self.calls.append(len(observation))
        short = (
            rng.random(len(observation)) < self.short if 0 < self.short < 1 else np.full(len(observation), self.short)
        )
        return np.where(observation[:, 0] == 0, WAIT, np.where(short, SHORT, LONG))


SCRIPTED = {"shorty": lambda game: Chooser("shorty", 1.0), "longy": lambda game: Chooser("longy", 0.0)}


def _unused(*arguments: Any) -> Any:
    raise AssertionError("the tests of this game do not need this kernel")


def _deal_many(rules: Any, states: Any, tapes: Any, starters: Any) -> int:
    for i in range(len(states)):
        _deal(rules, states, i)
    return 0


def _deal(rules: Any, states: Any, i: int) -> None:
    seed, number = int(states[i]["seed"]), int(states[i]["game"]) + 1
    blank = np.zeros(1, states.dtype)[0]
    blank["seed"], blank["game"] = seed, number
    states[i] = blank
    # A hash that is good enough for one die: multiply, take high bits.
    mixed = ((seed ^ (number * 0x9E3779B97F4A7C15)) * 0xBF58476D1CE4E5B9) % 2**64
    starter = (mixed >> 33) % int(rules[0]["num_players"])
    states[i]["starter"] = states[i]["seat"] = starter
    states[i]["choice"] = -1


def _legal_mask(rules: Any, states: Any, masks: Any) -> None:
    first = states["choice"] == -1
    masks[:, SHORT] = masks[:, LONG] = first
    masks[:, WAIT] = ~first


def _observe(rules: Any, states: Any, seats: Any, all_seen: bool, out: Any) -> Any:
    n = int(rules[0]["num_players"])
    out[:] = 0
    out[:, 0] = states["choice"] == -1
    out[np.arange(len(states)), 1 + (states["starter"].astype(int) - seats) % n] = 1
    out[:, 1 + n] = states["left"] / 1000
    return out.shape[1]


def _step(
    rules: Any,
    states: Any,
    tapes: Any,
    actions: Any,
    forfeits: Any,
    deals: Any,
    seats: Any,
    observations: Any,
    masks: Any,
    rewards: Any,
    done: Any,
) -> int:
    n, long = int(rules[0]["num_players"]), int(rules[0]["long"])
    legal = masks[np.arange(len(states)), np.clip(actions, 0, 2)] != 0
    inside = (actions >= 0) & (actions <= 2)
    if not ((legal | forfeits) & inside).all():
        return int(np.argmin((legal | forfeits) & inside))
    rewards[:] = 0
    first = states["choice"] == -1
    states["choice"] = np.where(first, actions, states["choice"])
    states["left"] = np.where(first, np.where(actions == SHORT, 1, long), states["left"] - 1)
    done[:] = states["left"] == 0
    done |= ~legal
    for i in np.flatnonzero(done):
        starter, short = int(states[i]["starter"]), int(states[i]["choice"]) == SHORT
        rewards[i] = (-1 if short else 1) / (n - 1)
        rewards[i, starter] = 1 if short else -1
        if not legal[i]:  # a forfeit
            rewards[i] = 1 / (n - 1)
            rewards[i, int(states[i]["seat"])] = -1
        states[i]["returns"][:n] = rewards[i]
        states[i]["over"] = 1
        if deals:
            _deal(rules, states, int(i))
    states["seat"] = np.where(done, states["seat"], (states["seat"] + 1) % n)
    seats[:] = states["seat"]
    _observe(rules, states, seats, False, observations)
    _legal_mask(rules, states, masks)
    return -1
