"""The rules of SCOUT as data: what can be chosen, and the bounds that follow from it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ..core.arguments import choice, integer, unknown_argument

MAX_SEATS = 5
NUM_CARDS = 45  # each unordered pair of different numbers 1..10
MAX_HAND = 41  # of all seat counts, see Rules.max_hand
MAX_SHOW = 10  # see Rules.max_show
MAX_STALL = 999
TOKENS = 3  # Scout tokens that each of two seats has in a round
DECK_SIZES = {2: 44, 3: 36, 4: 44, 5: 45}
DEALS = {2: 11, 3: 12, 4: 11, 5: 9}  # cards a seat is dealt each round

EXEMPTIONS = ("text", "rulebook")
REWARDS = ("win", "placement", "round")

# Card k is the pair (LOWER[k], HIGHER[k]), ordered by the higher number: the first 36 cards bear no 10, and only the
# last is 9/10. So the deck of every seat count is the first ``deck_size`` cards.
LOWER = np.array([low for high in range(2, 11) for low in range(1, high)], np.int64)
HIGHER = np.array([high for high in range(2, 11) for low in range(1, high)], np.int64)


def card_of(upper: int, lower: int) -> int:
    """Number of the card with these two numbers, either way up. They differ and are from 1 to 10."""
    high, low = max(upper, lower), min(upper, lower)
    return (high - 1) * (high - 2) // 2 + low - 1


@dataclass(frozen=True, init=False)
class Rules:
    """One table's rules.

    Fields:
        num_players: seats, 2..5.
        exemption: who pays nothing for the cards left in its hand at the end of a round: "text", only the seat that
            has emptied it; "rulebook", the owner of a Show that nobody has beaten too.
        rounds: 1..num_players (the default).
        stall_limit: turns without a capture after which a round is scored as it stands, 1..999; default 10 a seat.
        reward: "win", "placement" or "round" (H).

    Raises ValueError naming the field, the value and what is allowed; TypeError for unknown keywords.
    """

    num_players: int
    exemption: str
    rounds: int
    stall_limit: int
    reward: str

    def __init__(
        self,
        *,
        num_players: int = 4,
        exemption: str = "text",
        rounds: int | None = None,
        stall_limit: int | None = None,
        reward: str = "win",
        **unknown: object,
    ) -> None:
        if unknown:
            raise unknown_argument(self, next(iter(unknown)))

        def put(name: str, checked: object) -> None:
            object.__setattr__(self, name, checked)

        put("num_players", integer("num_players", num_players, 2, MAX_SEATS))
        put("exemption", choice("exemption", exemption, EXEMPTIONS))
        put("rounds", self.num_players if rounds is None else integer("rounds", rounds, 1, self.num_players))
        usual = 10 * self.num_players
        put("stall_limit", usual if stall_limit is None else integer("stall_limit", stall_limit, 1, MAX_STALL))
        put("reward", choice("reward", reward, REWARDS))

    @property
    def deck_size(self) -> int:
        """Cards in the deck: 45, without the nine that bear a 10 for three seats, without 9/10 for two and four."""
        return DECK_SIZES[self.num_players]

    @property
    def deal(self) -> int:
        """Cards that a seat is dealt each round."""
        return DEALS[self.num_players]

    @property
    def cards_in_round(self) -> int:
        """Cards that a round is played with; two seats leave half of the deck for the other round."""
        return self.deal * self.num_players

    @property
    def max_draws(self) -> int:
        """Cards dealt in a game."""
        return self.rounds * self.cards_in_round

    @property
    def max_hand(self) -> int:
        """Most cards that a hand can have.

        With three seats and more, every other seat holds a card: one that has none left has emptied its hand by a
        Show, which ends the round, and a scout never takes from a hand. Of two seats, one gets a card to those dealt
        for each of its tokens only.
        """
        if self.num_players == 2:
            return self.deal + TOKENS
        return self.cards_in_round - (self.num_players - 1)

    @property
    def max_show(self) -> int:
        """Most cards of a Show: a run has each number at most once, and a number is on fewer cards than there are."""
        return 9 if self.num_players == 3 else 10

    @property
    def max_turns(self) -> int:
        """Most turns of a round.

        At most ``stall_limit`` - 1 turns in a row capture nothing and leave the round going. Each capture takes a card
        out of the round, and at the last one each seat but perhaps the one that shows has a card, and a card is shown:
        so there are at most ``cards_in_round`` - ``num_players`` captures, with runs of other turns around them, the
        last of which may be one longer.

        Two seats scout at most six times, and each Show takes a card out of a hand, of which the hands get no more
        than what they were dealt and these six.
        """
        turns = (self.cards_in_round - self.num_players + 1) * self.stall_limit
        if self.num_players == 2:
            turns = min(turns, self.cards_in_round + 2 * 2 * TOKENS)
        return turns

    @property
    def longest_game(self) -> int:
        """Most decisions of one game, a bound: no game takes more.

        In each round a seat chooses its hand's orientation; a Show is one decision, a scout two (which end, and where
        to), scout and show three, but that once a seat.
        """
        extra = self.num_players if self.num_players > 2 else 0
        scouts = 2 * TOKENS if self.num_players == 2 else self.max_turns
        return self.rounds * (self.num_players + self.max_turns + min(scouts, self.max_turns) + extra)

    @property
    def points_bounds(self) -> tuple[int, int]:
        """(least, most) points of a seat in a round, bounds: cards left in the hand; captures and Scout tokens."""
        tokens = TOKENS if self.num_players == 2 else self.max_turns
        return -self.max_hand, self.cards_in_round - self.num_players + tokens

    @property
    def return_bounds(self) -> tuple[float, float]:
        """(least, largest) return of a seat over a game played by the rules, bounds. Returns sum to 0.

        `round`: the points of a round less the table's mean differ most where one seat has the most points and all
        others the least, or the other way round.
        """
        if self.reward != "round":
            return -1.0, 1.0
        low, high = self.points_bounds
        most = self.rounds * (high - low) * (self.num_players - 1) / self.num_players / 10
        return -most, most

    def as_dict(self) -> dict[str, Any]:
        """JSON-able keyword arguments that make equal rules."""
        return {f.name: getattr(self, f.name) for f in fields(self)}
