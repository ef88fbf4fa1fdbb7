"""SCOUT's engine and the plain reference on the same games, state by state: all that every seat is told, what is legal,
what is paid, and where every card is.

What a seat is told is worked out here from the reference and from the play that all have seen, section by section, in
plain Python; so an observation that tells too much or too little fails too.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from coyote_env import scout_v0
from coyote_env.scout import engine
from tests.reference import scout as reference
from tests.reference.scout import Card, Hand

# `make test` plays these games three times. Without compilation they are slow, with bounds checks a part will do.
COMPILED = "1" not in (os.environ.get("NUMBA_DISABLE_JIT"), os.environ.get("NUMBA_BOUNDSCHECK"))
PHASES = ("orient", "turn", "insert", "show_insert", "show", "over")  # in the order of the observation


# ---------------------------------------------------------------------------------------------------------------------
# What a seat is told


class Witness:
    """Somebody who watches a table of the reference and sees what everybody sees: where each card was last seen."""

    def __init__(self, game: reference.ReferenceGame) -> None:
        self.game = game
        self.place: dict[Card, int | str] = {}  # "show", "gone", or the seat that has scouted it; this round
        self.seen: set[Card] = set()  # that lay open at any time before this round

    def play(self, action: str) -> dict[int, Any]:
        game = self.game
        number, seat, active = game.round, game.seat, list(game.active)
        shown: Hand = []
        if action.startswith("show"):
            start, length = map(int, action.split("_")[1:])
            shown = game.hands[seat][start : start + length]
        paid = game.play(action)
        if action.startswith("scout"):
            assert game.scouted is not None
            self.place[reference.face(game.scouted)] = seat
        if shown:
            self.place |= {reference.face(card): "gone" for card in active}
            self.place |= {reference.face(card): "show" for card in shown}
        if game.round != number:
            self.seen |= self.place.keys()
            self.place = {}
        return paid


def parts(hand: Sequence[Card], alone_only: bool = False) -> int:
    """The fewest neighbouring Shows that a hand can be parted into, or of those the single cards, by trying all."""
    numbers = tuple(upper for upper, _ in hand)

    @cache
    def fewest(place: int) -> int:
        if place == len(numbers):
            return 0
        shows = [
            numbers[place:end]
            for end in range(place + 1, len(numbers) + 1)
            if reference.kind([(n, 0) for n in numbers[place:end]]) is not None
        ]
        return min(fewest(place + len(show)) + (len(show) == 1 or not alone_only) for show in shows)

    return fewest(0)


def longest_with(hand: Sequence[Card], place: int) -> int:
    """Cards of the longest Show of a hand that holds the card at that place."""
    return max(length for start, length in reference.shows(hand, []) if start <= place < start + length)


def best(shows: Sequence[Sequence[Card]]) -> list[float]:
    """The best Show: cards / 10, 1 if equal, smallest number / 10."""
    found = [(len(show), reference.kind(show) == "equal", min(upper for upper, _ in show)) for show in shows if show]
    cards, equal, least = max(found, default=(0, False, 0))
    return [cards / 10, float(equal), least / 10]


def one_hot(index: int | None, size: int) -> list[float]:
    return [float(place == index) for place in range(size)]


def steps(numbers: Sequence[int]) -> list[list[float]]:
    """Equal, rising, falling, of each number and the next."""
    return [[float(right == left + step) for step in (0, 1, -1)] for left, right in pairwise(numbers)]


def phase_of(game: reference.ReferenceGame) -> str:
    return "show_insert" if game.phase == "insert" and game.show_follows else game.phase


def told(witness: Witness, seat: int, fits: bool) -> dict[str, Any]:
    """All sections of the observation of `seat`, by name; rows of zeros at a section's end are left out."""
    game, rules = witness.game, witness.game.rules
    n = game.num_seats
    order = [(seat + k) % n for k in range(n)]
    hand, active, phase = game.hands[seat], game.active, phase_of(game)
    uppers = [upper for upper, _ in hand]

    def numbers(cards: Sequence[Card]) -> list[list[float]]:
        return [[upper / 10, lower / 10] for upper, lower in cards]

    def whose(owner: int | None) -> list[float]:
        return [float(other == owner) for other in order]

    def end(card: Card | None) -> list[list[float]]:
        upper, lower = card or (None, None)
        return [one_hot(upper and upper - 1, 10), one_hot(lower and lower - 1, 10)]

    sections: dict[str, Any] = {
        "seat_to_move": whose(None if game.over else game.seat),
        "phase": one_hot(PHASES.index(phase), len(PHASES)),
        "hand": numbers(hand),
        "hand_upper": [one_hot(upper - 1, 10) for upper in uppers[:14]],
        "neighbours": steps(uppers[:14]),
        "turned": steps([lower for _, lower in hand] if phase == "orient" else []),
        "active": numbers(active),
        "active_left": end(active[0] if active else None),
        "active_right": end(active[-1] if active else None),
        "active_equal": [float(reference.kind(active) == "equal")] if active else [0.0],
        "owner": whose(game.owner),
        "hand_size": [len(game.hands[other]) / 10 for other in order],
        "captured": [len(game.captured[other]) / 10 for other in order],
        "tokens": [(game.unspent if n == 2 else game.tokens)[other] / 10 for other in order],
        "points": [game.points[other] / 10 for other in order],
        "first": whose(game.first),
        "round": one_hot(game.round, rules["rounds"]),
        "scouts": [game.only_scouts / n],
        "turns_left": [(rules["stall_limit"] - game.idle) / rules["stall_limit"]],
        "inserting": [0.0] * 10,
        "inserting_upper": [0.0] * 10,
    }
    if n > 2:
        sections["scout_show"] = [float(other not in game.spent) for other in order]
    if game.scouted is not None:
        sections["inserting"] = [float(number + 1 in game.scouted) for number in range(10)]
        if game.seat == seat:
            sections["inserting_upper"] = one_hot(game.scouted[0] - 1, 10)

    rows = {card: [0.0] * (n + 2) for card in reference.deck(n)}
    for card, place in witness.place.items():
        columns: dict[int | str, int] = {"show": n, "gone": n + 1, **{other: k for k, other in enumerate(order)}}
        rows[card][columns[place]] = 1.0
    for card in hand:
        rows[reference.face(card)][0] = 1.0
    if n == 2 and game.round == 1:  # the other half of the deck, as far as it has seen it
        for card in witness.seen | {reference.face(card) for card in game.all_hands[0][seat]}:
            rows[card][n + 1] = 1.0
    sections["cards"] = [rows[card] for card in sorted(rows, key=lambda card: (card[1], card[0]))]
    if fits:
        sections |= told_of_fits(game, seat)
    return sections


def told_of_fits(game: reference.ReferenceGame, seat: int) -> dict[str, Any]:
    hand = game.hands[seat]
    mine = seat == game.seat and not game.over

    def fit(card: Card, place: int) -> tuple[float, float]:
        held = reference.put_in(hand, card, place)
        return longest_with(held, place) / 10, parts(held) / 10

    fitting: list[tuple[float, float]] = []
    if mine and game.scouted is not None:
        fitting = [fit(game.scouted, place) for place in range(min(len(hand), 14) + 1)]
    scouting: list[tuple[float, float]] = []
    if mine and game.phase == "turn" and game.active:
        for side in ("left", "right")[: len(game.active)]:
            for way in ("as_is", "turned"):
                card, _ = reference.take_end(game.active, side, way)
                ways = [fit(card, place) for place in range(len(hand) + 1)]
                scouting.append((max(longest for longest, _ in ways), min(fewest for _, fewest in ways)))
    shows = set(reference.shows(hand, []))
    numbers = {number for card in reference.deck(len(game.hands)) for number in card}
    rests: list[tuple[float, float]] = []
    for length in range(1, len(numbers) + 1):  # the longest Show is a run of all numbers
        for start in range(14 - length + 1):
            rest = hand[:start] + hand[start + length :]
            is_one = (start, length) in shows
            rests.append(((1 + parts(rest)) / 10, parts(rest, alone_only=True) / 10) if is_one else (0.0, 0.0))
    return {
        "best_show": best([hand[start : start + length] for start, length in reference.shows(hand, [])]),
        "stands": best([game.active]),
        "parts": [
            parts(hand) / 10,
            parts([reference.turned(card) for card in hand]) / 10 if game.phase == "orient" else 0,
        ],
        "fit": fitting,
        "scout_fit": scouting,
        "rest": rests,
    }


# ---------------------------------------------------------------------------------------------------------------------
# Both


class Pair:
    """Both, in step. Every step compares everything. `dealt`: whether the reference deals, or the engine by itself."""

    def __init__(self, kwargs: dict[str, Any], seed: int, dealt: bool = False, fits: bool = False) -> None:
        self.rules, self.fits = reference.resolve(**kwargs), fits
        self.env = scout_v0.raw_env(**kwargs, fits=fits, illegal_action="forfeit")
        self.game = self.env.game
        self.agents = self.env.possible_agents
        self.num_seats = n = self.game.num_seats
        rng = random.Random(seed)
        options: dict[str, Any] = {}
        hands = reference.random_hands(self.rules, rng)
        if dealt:
            options = {"first": rng.randrange(n), "hands": hands}
        self.env.reset(seed=seed, options=options)
        self.reference = reference.ReferenceGame(
            self.rules, hands if dealt else [self.hands()], options.get("first", int(self.record["first"]))
        )
        self.witness = Witness(self.reference)
        self.dealt = dealt
        self.compare(every=True)

    @property
    def record(self) -> Any:
        return self.env._states[0]

    def hands(self) -> list[Hand]:
        """All hands, from the record."""
        s = self.record
        return [
            [(int(card) >> 4, int(card) & 15) for card in s["hand"][seat, : s["hand_len"][seat]]]
            for seat in range(self.num_seats)
        ]

    def legal(self) -> list[str]:
        mask = self.env.observe(self.env.agent_selection)["action_mask"]
        theirs = {self.game.action_names[action] for action in np.flatnonzero(mask)}
        mine = self.reference.legal()
        assert theirs == mine
        assert bool(mine) != self.reference.over
        assert mask.sum() == len(mine)
        return sorted(mine)

    def step(self, name: str, every: bool = True) -> None:
        self.env.step(self.game.action_id[name])
        if not self.dealt and self.record["round"] > len(self.reference.all_hands):
            self.reference.all_hands.append(self.hands())
        self._paid(self.witness.play(name))
        self.compare(every)

    def forfeit(self) -> None:
        """The seat to move chooses an illegal action."""
        self.env.step(int((self.env.observe(self.env.agent_selection)["action_mask"] == 0).argmax()))
        self._paid(self.reference.forfeit())
        self.compare(every=True)

    def _paid(self, rewards: dict[int, Any]) -> None:
        for seat, agent in enumerate(self.agents):
            assert abs(self.env.rewards[agent] - float(rewards.get(seat, 0))) < 1e-12

    def compare(self, every: bool) -> None:
        """`every`: what each seat is told, not only the one to move."""
        game, s = self.reference, self.record
        assert (bool(s["over"]), all(self.env.terminations.values())) == (game.over, game.over)
        if not game.over:
            assert self.agents.index(self.env.agent_selection) == game.seat
        assert self.hands() == game.hands
        for seat in range(self.num_seats) if every else [game.seat]:
            self.compare_observation(told(self.witness, seat, self.fits), seat)
        np.testing.assert_allclose(s["returns"][: self.num_seats], [float(r) for r in game.returns], atol=1e-12)
        if not every:
            return
        # Card conservation: each card of the deck is in one place.
        cards = [*game.active, *(card for hand in self.hands() for card in hand)]
        if s["inserting"]:
            cards.append((int(s["inserting"]) >> 4, int(s["inserting"]) & 15))
        played = [reference.face(card) for card in cards] + [
            reference.face(card) for captured in game.captured for card in captured
        ]
        dealt = {reference.face(card) for hand in game.all_hands[game.round] for card in hand}
        assert len(set(played)) == len(played) == len(dealt)
        assert set(played) == dealt
        assert self.game.check_state(self.game, self.env._states) is None

    def compare_observation(self, expected: dict[str, Any], seat: int) -> None:
        observation = self.env.observe(self.agents[seat])["observation"]
        assert set(expected) == {section.name for section in self.game.layout.sections}
        for section in self.game.layout.sections:
            values = np.zeros(section.shape)
            rows = np.array(expected[section.name], float)
            if rows.size:  # what follows is 0
                assert len(rows) <= len(values)
                values[: len(rows)] = rows
            found = self.game.layout.view(observation, section.name)
            if not np.allclose(found, values, rtol=0, atol=1e-6):
                raise AssertionError(f"seat {seat}, section {section.name}:\n{found}\nexpected\n{values}")

    def compare_state(self) -> None:
        """`state()`: what seat 0 is told, and all the hands."""
        game = self.reference
        expected = told(self.witness, 0, self.fits)
        order = sorted(reference.deck(self.num_seats), key=lambda card: (card[1], card[0]))
        for seat, hand in enumerate(game.hands):
            for card in hand:
                expected["cards"][order.index(reference.face(card))][seat] = 1.0
        found = self.game.layout.view(self.env.state(), "cards")
        np.testing.assert_array_equal(found, expected["cards"])


def choose(legal: Sequence[str], rng: random.Random, shows: float, long: float) -> str:
    """Random play: how often a Show where there is one, how often one of the longest."""
    possible = [name for name in legal if name.startswith("show")]
    others = [name for name in legal if not name.startswith("show")]
    if possible and (not others or rng.random() < shows):
        if rng.random() < long:
            most = max(int(name.split("_")[2]) for name in possible)
            possible = [name for name in possible if int(name.split("_")[2]) == most]
        return rng.choice(possible)
    return rng.choice(others)


def habits(rng: random.Random) -> tuple[float, float, float]:
    """How seats play in a game: `shows` and `long` of `choose`; in one of eight games they forfeit sooner or later."""
    return rng.choice([0.1, 0.5, 0.9, 1.0]), rng.choice([0.0, 0.5, 1.0]), rng.choice([0.02, *[0.0] * 7])


def play_out(kwargs: dict[str, Any], seed: int, every: float = 0.2) -> None:
    """A random game on both. `every`: in what part of the states what each seat is told is compared, not only what the
    seat to move is, and where all the cards are."""
    rng = random.Random(f"{kwargs} {seed}")
    shows, long, forfeit = habits(rng)
    pair = Pair(kwargs, seed, dealt=rng.random() < 0.4, fits=rng.random() < 0.15)
    while legal := pair.legal():
        if rng.random() < forfeit:
            pair.forfeit()
        else:
            pair.step(choose(legal, rng, shows, long), every=rng.random() < every)
        if rng.random() < every:
            pair.compare_state()
    assert sum(pair.reference.returns) == 0
    assert not any(pair.env.observe(agent)["action_mask"].any() for agent in pair.agents)


def random_table(rng: random.Random, **fixed: Any) -> dict[str, Any]:
    seats = fixed.get("num_players") or rng.randint(2, 5)
    kwargs = {
        "num_players": seats,
        "exemption": rng.choice(["text", "rulebook"]),
        "rounds": rng.choice([1, 1, 2, rng.randint(1, seats)]),
        "stall_limit": rng.choice([1, 2, 3, 5, 8, 13, 10 * seats, 10 * seats, 10 * seats]),
        "reward": rng.choice(["win", "placement", "round"]),
    }
    return kwargs | fixed


# ---------------------------------------------------------------------------------------------------------------------
# Games


@pytest.mark.engine
@pytest.mark.parametrize("num_players", [2, 3, 4, 5])
@pytest.mark.parametrize("exemption", ["text", "rulebook"])
def test_random_games_of_every_number_of_seats(num_players, exemption):
    for number in range(8 if COMPILED else 1):
        rng = random.Random(f"{num_players} {exemption} {number}")
        play_out(random_table(rng, num_players=num_players, exemption=exemption), seed=number)


@pytest.mark.parametrize("num_players", [2, 3, 4, 5])
def test_games_as_they_are_meant_to_be_played(num_players):
    """Nothing said but the number of seats; every seat's observation in every state."""
    play_out({"num_players": num_players}, seed=0, every=1.0)


def test_the_random_games_reach_what_they_are_meant_to_reach():
    """The comparison is worth what it meets: counted on the reference over games of the kind above."""
    met: Counter[str] = Counter()

    def watch(game: reference.ReferenceGame, action: str) -> None:
        size = "two" if game.num_seats == 2 else "more"
        met[f"{size}: phase {phase_of(game)}"] += 1
        met["forfeit"] += action == "forfeit"
        met["forfeit while a card is being inserted"] += action == "forfeit" and game.scouted is not None
        if action != "forfeit" and (game.over or game.phase == "orient") and not game.oriented and game.last_end:
            met[f"{size}: end {game.last_end}"] += 1
        if game.phase == "turn" and game.owner is not None:
            met[f"{size}: nothing active"] += not game.active
            met[f"{size}: must scout"] += all(name.startswith("scout") for name in game.legal())
            met["scout and show without a Show"] += not any(name.startswith("show") for name in game.legal()) and any(
                name.startswith("scout_show") for name in game.legal()
            )
            options = {name for name in game.legal() if name.startswith("scout_show")}
            met["only some ways to scout and show"] += 0 < len(options) < 4 and len(game.active) > 1
        if game.phase == "insert" and game.show_follows:
            met["only some places"] += len(game.legal()) <= len(game.hands[game.seat])
        met["a Show of four or more"] += len(game.active) >= 4
        met["three equal"] += len(game.active) >= 3 and reference.kind(game.active) == "equal"
        met["more cards than the observation details"] += any(len(hand) > engine.DETAIL for hand in game.hands)
        met["second half of the deck"] += game.num_seats == 2 and game.round == 1
        if game.over and action != "forfeit":
            tied = game.points.count(max(game.points)) > 1
            met[f"over: {game.rules['reward']}"] += 1
            met["tied winners"] += tied

    for number in range(240):
        rng = random.Random(f"meeting {number}")
        rules = reference.resolve(**random_table(rng, **({"num_players": 2, "rounds": 2} if number % 3 else {})))
        game = reference.ReferenceGame(rules, reference.random_hands(rules, rng), rng.randrange(rules["num_players"]))
        shows, long, forfeit = habits(rng)
        while legal := sorted(game.legal()):
            if rng.random() < forfeit:
                game.forfeit()
                watch(game, "forfeit")
            else:
                action = choose(legal, rng, shows, long)
                game.play(action)
                watch(game, action)
    phases = {f"more: phase {name}" for name in PHASES}
    phases |= {f"two: phase {name}" for name in PHASES if name not in ("show_insert", "show")}
    # Two seats at random hardly ever come to (i), which has rows in test_scout_rules.py.
    ends = {"more: end i", "more: end ii", "more: end stall", "two: end ii'", "two: end stall"}
    expected = phases | ends | {f"over: {name}" for name in ("win", "placement", "round")}
    expected |= {"forfeit", "forfeit while a card is being inserted", "tied winners", "second half of the deck"}
    expected |= {"two: nothing active", "more: nothing active", "two: must scout", "more: must scout"}
    expected |= {"scout and show without a Show", "only some ways to scout and show", "only some places"}
    expected |= {"a Show of four or more", "three equal", "more cards than the observation details"}
    assert {name for name, count in met.items() if count >= 3} == expected


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_many_random_games(part):
    for number in range(200):
        rng = random.Random(f"slow {part} {number}")
        play_out(random_table(rng), seed=number, every=0.1)


@pytest.mark.engine
@pytest.mark.parametrize(("num_players", "size"), [(2, 44), (3, 36), (4, 44), (5, 45)])
def test_the_decks(num_players, size):
    deck = reference.deck(num_players)
    assert len(deck) == len(set(deck)) == size
    assert scout_v0.game(num_players=num_players).config.deck_size == size
    names = scout_v0.game(num_players=num_players).outcomes
    assert set(names) == {f"{a}/{b}" for low, high in deck for a, b in ((low, high), (high, low))}
    # All of it is dealt in a round; of two seats each half in one of two rounds.
    pair = Pair({"num_players": num_players, "rounds": min(num_players, 2), "stall_limit": 1}, seed=1)
    while not pair.reference.over:
        legal = pair.legal()
        pair.step("keep" if "keep" in legal else min(name for name in legal if name.startswith("show")))
    dealt = [[reference.face(card) for hand in hands for card in hand] for hands in pair.reference.all_hands]
    if num_players == 2:
        assert sorted(dealt[0] + dealt[1]) == deck
    else:
        assert [sorted(cards) for cards in dealt] == [deck, deck]
