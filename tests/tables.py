"""One table seen through the same few questions, played by the reference or by the environment.

What the environment's table answers comes through its public face alone: the mask, the observations of the seats (for
what a seat wears: that of another seat), rewards and terminations.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any, Protocol

from coyote_env import coyote_v0
from tests.reference import coyote as reference


def faces_in_order(deck: Iterable[str]) -> list[str]:
    """The faces of a deck as the observation orders them: numbers ascending, then the specials."""
    deck = set(deck)
    numbers = sorted((face for face in deck if face not in reference.SPECIALS), key=int)
    return numbers + [face for face in reference.SPECIALS if face in deck]


class Table(Protocol):
    """Seats are absolute, cards and actions are named, rewards are those of the last action."""

    @property
    def seat(self) -> int: ...
    @property
    def over(self) -> bool: ...
    @property
    def lives(self) -> list[int]: ...
    @property
    def worn(self) -> list[list[str]]: ...
    @property
    def rewards(self) -> list[float]: ...
    @property
    def returns(self) -> list[float]: ...
    @property
    def reveal(self) -> dict[str, int]: ...
    def legal(self) -> set[str]: ...
    def play(self, action: str) -> None: ...
    def forfeit(self) -> None: ...


class ReferenceTable:
    """The reference; cards beyond `draws` are random."""

    def __init__(self, kwargs: dict[str, Any], starter: int, draws: list[str]) -> None:
        rules = reference.resolve(**kwargs)
        self.game = reference.ReferenceGame(
            rules, reference.Script(draws, then=reference.at_random(random.Random(0))), starter
        )
        self.rewards = [0.0] * self.game.num_seats

    @property
    def seat(self) -> int:
        return self.game.seat

    @property
    def over(self) -> bool:
        return self.game.over

    @property
    def lives(self) -> list[int]:
        return list(self.game.lives)

    @property
    def worn(self) -> list[list[str]]:
        return [sorted(cards) for cards in self.game.worn]

    @property
    def returns(self) -> list[float]:
        return [float(value) for value in self.game.returns]

    @property
    def reveal(self) -> dict[str, int]:
        assert self.game.reveal is not None
        return {key: self.game.reveal[key] for key in ("total", "number", "loser", "lives")}

    def legal(self) -> set[str]:
        return set(self.game.legal())

    def play(self, action: str) -> None:
        paid = self.game.step(action)
        self.rewards = [float(paid.get(seat, 0)) for seat in range(self.game.num_seats)]

    def forfeit(self) -> None:
        paid = self.game.forfeit()
        self.rewards = [float(paid.get(seat, 0)) for seat in range(self.game.num_seats)]


class EngineTable:
    """`coyote_v0.env`."""

    def __init__(self, kwargs: dict[str, Any], starter: int, draws: list[str], illegal_action: str = "raise") -> None:
        self.env = coyote_v0.env(**kwargs, illegal_action=illegal_action)
        self.raw = self.env.unwrapped
        self.env.reset(seed=0, options={"starter": starter, "draws": draws})
        self.agents: list[str] = self.raw.possible_agents
        self.rules = reference.resolve(**kwargs)
        self.faces = faces_in_order(self.rules["deck"])
        self.returns = [0.0] * len(self.agents)

    def view(self, seat: int, name: str) -> Any:
        """A section of the observation of a seat."""
        return self.raw.layout.view(self.env.observe(self.agents[seat])["observation"], name)

    @property
    def seat(self) -> int:
        return self.agents.index(self.env.agent_selection)

    @property
    def over(self) -> bool:
        return all(self.env.terminations.values())

    @property
    def lives(self) -> list[int]:
        return [round(float(value) * self.rules["lives"]) for value in self.view(0, "lives")]

    @property
    def worn(self) -> list[list[str]]:
        worn = []
        for seat in range(len(self.agents)):
            onlooker = (seat + 1) % len(self.agents)
            counts = self.view(onlooker, "cards")[(seat - onlooker) % len(self.agents)]
            worn.append(
                sorted(face for face, n in zip(self.faces, counts, strict=True) for _ in range(round(float(n))))
            )
        return worn

    @property
    def rewards(self) -> list[float]:
        return [float(self.env.rewards[agent]) for agent in self.agents]

    @property
    def reveal(self) -> dict[str, int]:
        assert float(self.view(0, "reveal_known")[0]) == 1.0
        unit = self.max_number
        losers = self.view(0, "reveal_loser")
        assert sorted(losers) == [0.0] * (len(self.agents) - 1) + [1.0]
        return {
            "total": round(float(self.view(0, "reveal_total")[0]) * unit),
            "number": round(float(self.view(0, "reveal_bid")[0]) * unit),
            "loser": int(losers.argmax()),
            "lives": round(float(self.view(0, "reveal_lives")[0]) * 2),
        }

    @property
    def max_number(self) -> int:
        """The highest number with an action id."""
        return int(self.raw.game.action_names[-1].removeprefix("bid_"))

    def legal(self) -> set[str]:
        mask = self.env.observe(self.env.agent_selection)["action_mask"]
        return {self.raw.action_name(int(action)) for action in mask.nonzero()[0]}

    def play(self, action: str) -> None:
        self._step(self.raw.action_id(action))

    def forfeit(self) -> None:
        """Chooses a masked action (the table must have been made with illegal_action="forfeit")."""
        mask = self.env.observe(self.env.agent_selection)["action_mask"]
        self._step(int((mask == 0).nonzero()[0][0]))

    def _step(self, action: int) -> None:
        self.env.step(action)
        self.returns = [old + new for old, new in zip(self.returns, self.rewards, strict=True)]
