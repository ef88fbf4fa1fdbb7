"""SCOUT's tables for tests: one table seen through the same few questions, played by the reference or the environment.

What the environment's table answers comes through its public face alone: masks, observations, rewards, terminations.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Protocol

from coyote_env import scout_v0
from tests.reference import scout as reference
from tests.reference.scout import Card, Hand


def cards(text: str) -> Hand:
    """ "5/1 2/9" as cards: upper number, lower number."""
    return [(int(card.split("/")[0]), int(card.split("/")[1])) for card in text.split()]


def shown(hand: Sequence[Card]) -> str:
    return " ".join(f"{upper}/{lower}" for upper, lower in hand) or "-"


def fill(seats: int, rounds: int, begun: Sequence[Sequence[str]]) -> list[list[Hand]]:
    """Hands for all rounds. `begun`: by round and seat how a hand begins; the rest is any, but always the same."""
    rng, each = random.Random(0), reference.CARDS_DEALT[seats]
    played: list[list[Hand]] = []
    stack: list[Card] = []
    for number in range(rounds):
        if len(stack) < seats * each:
            stack = reference.deck(seats)
            rng.shuffle(stack)
        hands = [cards(text) for text in begun[number]] if number < len(begun) else []
        hands += [[] for _ in range(seats - len(hands))]
        for card in [card for hand in hands for card in hand]:
            if reference.face(card) not in stack:
                raise ValueError(f"{shown([card])} is written twice, or is no card of the deck")
            stack.remove(reference.face(card))
        for hand in hands:
            while len(hand) < each:
                hand.append(stack.pop())
        played.append(hands)
    return played


class Table(Protocol):
    """Seats are absolute, actions are named, rewards are those of the last action."""

    @property
    def seat(self) -> int: ...
    @property
    def over(self) -> bool: ...
    @property
    def round(self) -> int: ...
    @property
    def first(self) -> int: ...
    @property
    def active(self) -> Hand: ...
    @property
    def owner(self) -> int | None: ...
    @property
    def captured(self) -> list[int]: ...
    @property
    def tokens(self) -> list[int]: ...
    @property
    def points(self) -> list[int]: ...
    @property
    def rewards(self) -> list[float]: ...
    @property
    def returns(self) -> list[float]: ...
    def hand(self, seat: int) -> Hand: ...
    def legal(self) -> set[str]: ...
    def play(self, action: str) -> None: ...
    def forfeit(self) -> None: ...


class ReferenceTable:
    """The reference. `tokens` are those of the observation: got, or of two seats those left to spend."""

    def __init__(self, kwargs: dict[str, Any], hands: Sequence[Sequence[Hand]], first: int) -> None:
        self.game = reference.ReferenceGame(reference.resolve(**kwargs), hands, first)
        self.rewards = [0.0] * self.game.num_seats

    @property
    def seat(self) -> int:
        return self.game.seat

    @property
    def over(self) -> bool:
        return self.game.over

    @property
    def round(self) -> int:
        return self.game.round

    @property
    def first(self) -> int:
        return self.game.first

    @property
    def active(self) -> Hand:
        return self.game.active

    @property
    def owner(self) -> int | None:
        return self.game.owner

    @property
    def captured(self) -> list[int]:
        return [len(captured) for captured in self.game.captured]

    @property
    def tokens(self) -> list[int]:
        return self.game.unspent if self.game.num_seats == 2 else self.game.tokens

    @property
    def points(self) -> list[int]:
        return self.game.points

    @property
    def returns(self) -> list[float]:
        return [float(value) for value in self.game.returns]

    def hand(self, seat: int) -> Hand:
        return self.game.hands[seat]

    def legal(self) -> set[str]:
        return self.game.legal()

    def play(self, action: str) -> None:
        paid = self.game.play(action)
        self.rewards = [float(paid.get(seat, 0)) for seat in range(self.game.num_seats)]

    def forfeit(self) -> None:
        paid = self.game.forfeit()
        self.rewards = [float(paid.get(seat, 0)) for seat in range(self.game.num_seats)]


class EngineTable:
    """`scout_v0.env`, at which an illegal action ends the game."""

    def __init__(self, kwargs: dict[str, Any], hands: Sequence[Sequence[Hand]], first: int) -> None:
        self.env = scout_v0.env(**kwargs, illegal_action="forfeit")
        self.raw = self.env.unwrapped
        self.env.reset(seed=0, options={"first": first, "hands": [[list(hand) for hand in dealt] for dealt in hands]})
        self.agents: list[str] = self.raw.possible_agents
        self.returns = [0.0] * len(self.agents)

    def view(self, seat: int, name: str) -> Any:
        """A section of the observation of a seat."""
        return self.raw.layout.view(self.env.observe(self.agents[seat])["observation"], name)

    def one(self, name: str) -> int | None:
        """Which entry of a one-hot section of seat 0 is 1, None for none."""
        values = self.view(0, name).tolist()
        return values.index(1.0) if any(values) else None

    def tenths(self, name: str) -> list[int]:
        return [round(float(value) * 10) for value in self.view(0, name)]

    @property
    def seat(self) -> int:
        return self.agents.index(self.env.agent_selection)

    @property
    def over(self) -> bool:
        return all(self.env.terminations.values())

    @property
    def round(self) -> int:
        found = self.one("round")
        assert found is not None
        return found

    @property
    def first(self) -> int:
        found = self.one("first")
        assert found is not None
        return found

    @property
    def active(self) -> Hand:
        return _cards_of(self.view(0, "active"))

    @property
    def owner(self) -> int | None:
        return self.one("owner")

    @property
    def captured(self) -> list[int]:
        return self.tenths("captured")

    @property
    def tokens(self) -> list[int]:
        return self.tenths("tokens")

    @property
    def points(self) -> list[int]:
        return self.tenths("points")

    @property
    def rewards(self) -> list[float]:
        return [float(self.env.rewards[agent]) for agent in self.agents]

    def hand(self, seat: int) -> Hand:
        return _cards_of(self.view(seat, "hand"))

    def legal(self) -> set[str]:
        mask = self.env.observe(self.env.agent_selection)["action_mask"]
        return {self.raw.action_name(int(action)) for action in mask.nonzero()[0]}

    def play(self, action: str) -> None:
        self._step(self.raw.action_id(action))

    def forfeit(self) -> None:
        """Chooses a masked action."""
        mask = self.env.observe(self.env.agent_selection)["action_mask"]
        self._step(int((mask == 0).nonzero()[0][0]))

    def _step(self, action: int) -> None:
        self.env.step(action)
        self.returns = [old + new for old, new in zip(self.returns, self.rewards, strict=True)]


def _cards_of(section: Any) -> Hand:
    """Cards of a section of (upper, lower) / 10, which ends with the first row of zeros."""
    rows = [(round(float(upper) * 10), round(float(lower) * 10)) for upper, lower in section]
    held = [row for row in rows if row != (0, 0)]
    assert rows[: len(held)] == held
    return held
