"""The engine and the plain reference on the same games, state by state.

The engine draws its own cards. The reference is then asked to make the same step with the cards that the engine's
record shows; what `?` drew in a round that is over is not in the record, so any draw that the pile allows and that
explains the whole record after the step will do.
"""

from __future__ import annotations

import copy
import itertools
import os
import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from coyote_env import coyote_v0
from coyote_env.coyote import engine
from coyote_env.coyote.rules import EDITIONS, Rules
from tests.reference import coyote as reference
from tests.tables import faces_in_order
from tests.test_reference import ROWS, choose, perform_row

# `make test` plays these games three times. Without compilation they are slow, with bounds checks a part will do.
COMPILED = "1" not in (os.environ.get("NUMBA_DISABLE_JIT"), os.environ.get("NUMBA_BOUNDSCHECK"))
SUBSETS = [
    list(chosen) for size in range(7) for chosen in itertools.combinations(reference.VARIANTS, size)
]  # all 64 sets of variants


# ---------------------------------------------------------------------------------------------------------------------
# The engine, one table, every field of its record in the words of the reference


def record(env: Any) -> Any:
    """A copy of the record of the table: what `get_state` ends with."""
    size = env.game.state_dtype.itemsize
    return np.frombuffer(env.get_state()[-size:], env.game.state_dtype)[0]


class EngineGame:
    def __init__(self, kwargs: dict[str, Any], seed: int, odds: bool) -> None:
        self.env = coyote_v0.raw_env(**kwargs, odds=odds, illegal_action="forfeit")
        self.env.reset(seed=seed)
        self.game = self.env.game
        self.agents = self.env.possible_agents
        self.num_seats = self.game.num_seats
        self.faces = faces_in_order(reference.resolve(**kwargs)["deck"])
        self.state = record(self.env)

    def legal(self) -> list[str]:
        mask = self.env.observe(self.env.agent_selection)["action_mask"]
        return [self.game.action_names[action] for action in np.flatnonzero(mask)]

    def forfeit(self) -> dict[int, float]:
        return self._step(int((self.env.observe(self.env.agent_selection)["action_mask"] == 0).argmax()))

    def step(self, name: str) -> dict[int, float]:
        return self._step(self.game.action_id[name])

    def _step(self, action: int) -> dict[int, float]:
        self.env.step(action)
        self.state = record(self.env)
        return {seat: self.env.rewards[agent] for seat, agent in enumerate(self.agents) if self.env.rewards[agent]}

    def counter(self, field: str) -> Counter[str]:
        counts = self.state[field]
        assert not counts[len(self.faces) :].any()
        return +Counter({face: int(count) for face, count in zip(self.faces, counts, strict=False)})

    def drawn_since(self, draws: int) -> list[str]:
        """What has been drawn after the first ``draws`` cards of the game, in order: the tape keeps all of it."""
        return [self.faces[face] for face in self.env._tapes[0, draws : self.state["draws"]]]

    def worn(self, seat: int) -> list[str]:
        s = self.state
        assert (s["cards"][seat, s["num_cards"][seat] :] == -1).all()
        return [self.faces[face] for face in s["cards"][seat, : s["num_cards"][seat]]]

    def facts(self) -> dict[str, Any]:
        """All there is to say about the state. Rewards are floats, seats absolute."""
        s, seats = self.state, range(self.num_seats)
        over = bool(s["over"])
        length = int(s["history_len"])
        ring = [slot % engine.HISTORY for slot in range(max(0, length - engine.HISTORY), length)]
        assert (s["pile_size"], s["discard_size"]) == (s["pile"].sum(), s["discard"].sum())
        return {
            "over": over,
            "seat": None if over else int(s["seat"]),
            "phase": engine.PHASES[s["phase"]],
            "lives": s["lives"][: self.num_seats].tolist(),
            "out": [seat for seat in seats if s["out"][seat]],
            "live": int(s["live"]),
            "worn": [self.worn(seat) for seat in seats],
            "pile": self.counter("pile"),
            "discards": self.counter("discard"),
            "drawn": self.counter("drawn"),
            "bid": int(s["bid"]),
            "before": int(s["bid_before"]),
            "refused": int(s["refused"]),
            "announcer": int(s["announcer"]),
            "waiting": int(s["waiting"]),
            "known by elimination": [] if over else s["old"][: self.num_seats].tolist(),
            "open": s["open"][: self.num_seats].tolist(),
            "peeked": {seat for seat in seats if s["peeked"][seat]},
            "must raise": bool(s["must_raise"]),
            "middle": [self.faces[face] if face >= 0 else None for face in s["middle"]],
            "holder": int(s["holder"]),
            "used the Coyote card": s["coyote_by"] >= 0,
            "challenger": int(s["challenger"]),
            "pointed": {
                seat: (None, "announcer", "challenger")[s["pointed"][seat]]
                for seat in seats
                if s["challenger"] >= 0 and s["pointed"][seat]
            },
            "owed": int(s["owed"]),
            "double": bool(s["double"]),
            "direction": int(s["direction"]),
            "used": {name for name, used in zip(reference.VARIANTS, s["used"], strict=True) if used},
            "declared": {
                **({"double": True} if s["declared_double"] else {}),
                **({"extra_feather": int(s["declared_feather"])} if s["declared_feather"] >= 0 else {}),
                **({"next_is": int(s["declared_next"])} if s["declared_next"] >= 0 else {}),
            },
            "history": [
                (int(s["history_seat"][slot]), int(s["history_bid"][slot]), engine.KINDS[s["history_kind"][slot]])
                for slot in ring
            ],
            "reveal": None
            if s["reveal_loser"] < 0
            else {
                "total": int(s["reveal_total"]),
                "number": int(s["reveal_bid"]),
                "loser": int(s["reveal_loser"]),
                "winner": int(s["reveal_winner"]),
                "lives": int(s["reveal_lives"]),
            },
        }

    def returns(self) -> list[float]:
        return [float(value) for value in self.state["returns"][: self.num_seats]]


def facts(game: reference.ReferenceGame) -> dict[str, Any]:
    """The same facts of the reference."""
    reveal = game.reveal and {key: game.reveal[key] for key in ("total", "number", "loser", "winner", "lives")}
    return {
        "over": game.over,
        "seat": None if game.over else game.seat,
        "phase": game.phase,
        "lives": game.lives,
        "out": sorted(game.eliminated),
        "live": len(game.live()),
        "worn": game.worn,
        "pile": +game.pile,
        "discards": +game.discards,
        "drawn": Counter(game.drawn),
        "bid": game.bid,
        "before": game.before,
        "refused": game.refused,
        "announcer": -1 if game.announcer is None else game.announcer,
        "waiting": -1 if game.waiting is None else game.waiting,
        "known by elimination": []
        if game.over
        else [game.reshuffled * sum(not fresh for fresh in game.fresh[seat]) for seat in range(game.num_seats)],
        "open": game.open_peeks,
        "peeked": game.peeked,
        "must raise": game.must_raise,
        "middle": [game.centre, game.coyote_card],
        "holder": -1 if game.coyote_holder is None else game.coyote_holder,
        "used the Coyote card": game.coyote_card is not None,
        "challenger": -1 if game.challenger is None else game.challenger,
        "pointed": game.pointed,
        "owed": game.owed,
        "double": game.double,
        "direction": game.direction,
        "used": game.used,
        "declared": game.declared,
        "history": game.history[-engine.HISTORY :],
        "reveal": reveal,
    }


class Pair:
    """Both, in step. Every step compares all facts, rewards and returns."""

    def __init__(self, kwargs: dict[str, Any], seed: int, odds: bool = False) -> None:
        self.engine = EngineGame(kwargs, seed, odds)
        self.deck = Counter(reference.resolve(**kwargs)["deck"])
        self.forfeited = False
        seats = self.engine.num_seats
        starter = int(self.engine.state["seat"])
        dealt = self.engine.drawn_since(0)
        assert dealt[:seats] == [self.engine.worn((starter + k) % seats)[0] for k in range(seats)]
        self.reference = reference.ReferenceGame(reference.resolve(**kwargs), reference.Script(dealt), starter)
        self.compare()

    def legal(self) -> list[str]:
        mine = self.reference.legal()
        theirs = self.engine.legal()
        assert sorted(theirs) == sorted(mine)
        assert bool(mine) != self.reference.over
        return mine

    def step(self, name: str) -> None:
        draws = int(self.engine.state["draws"])
        paid = self.engine.step(name)
        self.reference.next_face = script = reference.Script(self.engine.drawn_since(draws))
        rewards = self.reference.step(name)
        assert not script.faces, f"drawn by the engine alone: {script.faces}"
        self._same(paid, rewards)
        self.compare()

    def forfeit(self) -> None:
        """The seat to move chooses an illegal action."""
        self.forfeited = True
        self._same(self.engine.forfeit(), self.reference.forfeit())
        self.compare()

    def _same(self, paid: dict[int, float], rewards: dict[int, Fraction]) -> None:
        assert all(abs(paid.get(seat, 0) - rewards.get(seat, 0)) < 1e-12 for seat in range(self.engine.num_seats))

    def compare(self) -> None:
        mine, theirs = facts(self.reference), self.engine.facts()
        assert theirs == mine
        returns = zip(self.engine.returns(), self.reference.returns, strict=True)
        assert all(abs(theirs - mine) < 1e-12 for theirs, mine in returns)
        worn = Counter([card for cards in [*mine["worn"], mine["middle"]] for card in cards if card is not None])
        assert self.engine.counter("pile") + self.engine.counter("discard") + worn + mine["drawn"] == self.deck


def play_out(
    kwargs: dict[str, Any], seed: int, watch: Callable[[Pair], None] | None = None, odds: bool = False
) -> None:
    """Plays a random game on both, in one of six to a forfeit; `watch` is called in every state."""
    rng = random.Random(f"{kwargs} {seed}")
    challenge = rng.choice([0.08, 0.25, 0.6])
    forfeit = rng.choice([0.04, 0.0, 0.0, 0.0, 0.0, 0.0])
    pair = Pair(kwargs, seed, odds)
    while True:
        legal = pair.legal()
        if watch is not None:
            watch(pair)
        if not legal:
            break
        if rng.random() < forfeit:
            pair.forfeit()
        else:
            pair.step(choose(legal, rng, challenge))
    assert sum(pair.reference.returns) == 0
    assert sum(pair.engine.returns()) == pytest.approx(0, abs=1e-9)


# ---------------------------------------------------------------------------------------------------------------------
# The clauses of the editions, row by row


class Followed(reference.ReferenceGame):
    """A reference that notes all it draws and, after each action, everything about its state."""

    def __init__(self, kwargs: dict[str, Any], draws: list[str]) -> None:
        self.noted: list[tuple[str | None, dict[str, Any], list[float]]] = []
        self.all_draws: list[str] = []
        script = reference.Script(draws, then=lambda pile: min(pile))

        def next_face(pile: Counter[str]) -> str:
            self.all_draws.append(script(pile))
            return self.all_draws[-1]

        super().__init__(reference.resolve(**kwargs), next_face, 0)

    def step(self, action: str) -> dict[int, Fraction]:
        paid = super().step(action)
        self.noted.append((action, copy.deepcopy(facts(self)), [float(value) for value in self.returns]))
        return paid

    def forfeit(self) -> dict[int, Fraction]:
        paid = super().forfeit()
        self.noted.append((None, copy.deepcopy(facts(self)), [float(value) for value in self.returns]))
        return paid


@pytest.mark.engine
@pytest.mark.parametrize("row", ROWS, ids=[row.clause for row in ROWS])
def test_clauses_of_the_editions(row):
    """What the reference does in a row of test_reference.py, the engine does too, and every seat's odds agree."""
    followed = Followed(row.table, row.draws.split())
    perform_row(row, followed)
    engine_game = EngineGame(row.table, 0, odds=True)
    engine_game.env.reset(options={"starter": 0, "draws": followed.all_draws})
    for action, expected, returns in followed.noted:
        engine_game.forfeit() if action is None else engine_game.step(action)
        assert (action, engine_game.facts()) == (action, expected)
        assert engine_game.returns() == pytest.approx(returns)


# ---------------------------------------------------------------------------------------------------------------------
# Tables to play at


def playable(kwargs: dict[str, Any]) -> bool:
    """Is there a number to announce with every count of live seats, and a card for every seat?"""
    rules = reference.resolve(**kwargs)
    seats = rules["num_players"]
    if sum(rules["deck"].values()) < seats + rules["peek"]:
        return False
    return all(1 <= reference.max_bid(rules, live) <= 200 for live in range(2, seats + 1))


def random_deck(rng: random.Random, seats: int) -> dict[str, int] | str:
    kind = rng.choice([*reference.DECKS, "specials", "specials", "specials", "tiny", "tiny", "tiny", "any"])
    if kind in reference.DECKS:
        return kind
    if kind == "specials":
        deck = {str(number): rng.randint(1, 2) for number in range(1, 5 + seats // 2)}
        deck.update({face: rng.randint(0, 3) for face in ("?", "max0", "max-", "night")})
        deck.update({"x2": rng.randint(0, 2), "-5": rng.randint(0, 2), "0": rng.randint(0, 1)})
    elif kind == "tiny":
        cards = [rng.choice(["1", "2", "3", "4", "9", "?", "?", "x2", "max0", "night", "-1"]) for _ in range(seats)]
        cards += [rng.choice(["5", "6", "7", "?", "max-"]) for _ in range(rng.choice([0, 1, 1, 2, 3, 4]))]
        deck = Counter(cards)
    else:
        deck = Counter(str(rng.randint(-9, 20)) for _ in range(rng.randint(seats, 3 * seats)))
        deck.update({face: 1 for face in reference.SPECIALS if rng.random() < 0.6})
    return {face: count for face, count in deck.items() if count}


def random_table(rng: random.Random, **fixed: Any) -> dict[str, Any]:
    while True:
        seats = fixed.get("num_players", rng.choice([2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 10]))
        peek = rng.choice([False, False, True, True])
        lives = rng.choice([1, 2, 3, 4]) if seats < 6 else rng.choice([1, 2])
        kwargs = {
            "num_players": seats,
            "deck": random_deck(rng, seats),
            "lives": lives,
            "peek": peek,
            "closed_peeks": rng.randint(0, lives) if peek else 0,
            "trickster": peek and rng.random() < 0.6,
            "variants": rng.choice(SUBSETS),
            "reshuffle": rng.choice(["when_needed", "when_needed", "every_round"]),
            "starter": rng.choice(["loser", "loser", "after_loser"]),
            "starter_if_out": rng.choice(["winner", "left"]),
            "game_end": rng.choice(["last_standing", "last_standing", "last_standing", "first_loss"]),
            "reward": rng.choice(["win", "placement", "round"]),
            **fixed,
        }
        if playable(kwargs):
            return kwargs


# ---------------------------------------------------------------------------------------------------------------------
# Games


@pytest.mark.engine
@pytest.mark.parametrize("size", range(7))
def test_random_games_with_every_subset_of_variants(size):
    for number, variants in enumerate(SUBSETS):
        if len(variants) == size and (COMPILED or number % 4 == 0):
            for game in range(2 if COMPILED else 1):
                rng = random.Random(f"{number} {game}")
                play_out(random_table(rng, variants=variants), seed=number)


@pytest.mark.engine
@pytest.mark.parametrize("num_players", range(2, 11))
def test_random_games_with_every_number_of_seats(num_players):
    for game in range(5 if COMPILED else 1):
        rng = random.Random(f"{num_players} {game}")
        play_out(random_table(rng, num_players=num_players), seed=game)


@pytest.mark.engine
@pytest.mark.parametrize("edition", EDITIONS)
def test_random_games_of_the_editions(edition):
    for num_players in (2, 3) if edition == "mini" else (2, 3, 4, 6, 10):
        for seed in range(3 if COMPILED else 1):
            play_out({"edition": edition, "num_players": num_players}, seed)
            if COMPILED and edition != "mini":
                play_out({"edition": edition, "num_players": num_players, "variants": "all"}, seed)


def test_the_random_games_reach_what_they_are_meant_to_reach():
    """The comparison is worth what it meets: counted over 180 games of the kind above."""
    met: Counter[str] = Counter()

    def watch(pair: Pair) -> None:
        game = pair.reference
        met[f"phase {game.phase}"] += 1
        met["forfeit"] += pair.forfeited
        met["reshuffled in mid-round"] += game.reshuffled
        met["counterclockwise"] += game.direction == -1
        met["nothing left to draw"] += not +game.pile and not +game.discards
        met["only discards left to draw"] += not +game.pile and bool(+game.discards)
        met["at the cap"] += not game.over and game.bid == game.cap()
        met["two cards"] += any(len(cards) == 2 for cards in game.worn)
        met["long round"] += len(game.history) > engine.HISTORY
        met.update(f"used {name}" for name in game.used)
        met["peeked"] += len(game.peeked) > 0
        met["peeked twice"] += len(game.peeked) > 1
        met["Coyote card"] += game.coyote_card is not None
        met["two to discard"] += game.owed == 2
        met["peeked, then the Coyote card"] += bool(game.peeked) and game.must_raise and game.coyote_card is not None
        if game.reveal is not None and game.bid == 0:
            cards = [card for cards in game.reveal["cards"] for card in cards]
            met["? drew"] += bool(game.reveal["drawn"])
            met["? drew ?"] += "?" in game.reveal["drawn"]
            met["? drew nothing"] += "?" in cards and not game.reveal["drawn"]
            met["two ? or more"] += cards.count("?") >= 2
            met["negative total"] += game.reveal["total"] < 0
            met["two lives"] += game.reveal["lives"] == 2

    for number in range(180):
        rng = random.Random(number)
        play_out(random_table(rng), seed=number, watch=watch)
    expected = {f"used {name}" for name in reference.VARIANTS} | {f"phase {name}" for name in engine.PHASES}
    expected |= {"reshuffled in mid-round", "counterclockwise", "nothing left to draw", "only discards left to draw"}
    expected |= {"at the cap", "two cards", "long round", "? drew", "? drew ?", "? drew nothing", "two ? or more"}
    expected |= {"negative total", "two lives", "forfeit", "peeked", "peeked twice", "Coyote card", "two to discard"}
    expected |= {"peeked, then the Coyote card"}
    assert {name: count for name, count in met.items() if count >= 3}.keys() == expected


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_many_random_games(part):
    for number in range(300):
        rng = random.Random(f"slow {part} {number}")
        play_out(random_table(rng), seed=number)


# ---------------------------------------------------------------------------------------------------------------------
# Caps


@pytest.mark.parametrize(
    ("kwargs", "live", "cap"),
    [({"deck": "feathers-30"}, live, cap) for live, cap in ((2, 70), (3, 90), (4, 110), (6, 146))]
    + [({"deck": "classic-36", "variants": "none"}, live, cap) for live, cap in ((6, 140), (10, 190))],
)
def test_caps_stated_by_the_rules(kwargs, live, cap):
    assert Rules(num_players=10, **kwargs).max_bid(live) == cap
    assert reference.max_bid(reference.resolve(num_players=10, **kwargs), live) == cap


def test_caps_of_small_decks_by_trying_everything():
    rng = random.Random(1)
    faces = ["1", "2", "3", "7", "-1", "-4", "0", "?", "?", "max0", "max-", "x2", "night"]
    compared = 0
    while compared < 300:
        deck = Counter(rng.choice(faces) for _ in range(rng.randint(2, 8)))
        seats = min(10, sum(deck.values()))
        kind = rng.choice([{}, {"peek": True}, {"peek": True, "trickster": True}])
        kwargs: dict[str, Any] = {"num_players": seats, "deck": deck, "variants": rng.choice(["all", "none"]), **kind}
        if playable(kwargs):
            chosen, rules = Rules(**kwargs), reference.resolve(**kwargs)
            for live in range(2, seats + 1):
                everything = reference.max_bid_brute_force(rules, live)
                assert (kwargs, chosen.max_bid(live)) == (kwargs, everything)
                assert (kwargs, reference.max_bid(rules, live)) == (kwargs, everything)
                compared += 1


def test_caps_of_large_decks():
    rng = random.Random(2)
    for _ in range(40):
        kwargs = random_table(rng, num_players=10, variants=rng.choice(["all", "none"]))
        chosen, rules = Rules(**kwargs), reference.resolve(**kwargs)
        for live in range(2, 11):
            assert (kwargs, live, chosen.max_bid(live)) == (kwargs, live, reference.max_bid(rules, live))


# ---------------------------------------------------------------------------------------------------------------------
# What a seat can know of the total


def odds(game: EngineGame, seat: int) -> list[float]:
    """The `odds` section of the observation of `seat`: P(total >= b), b = 1, 2, ..."""
    observation = game.env.observe(game.agents[seat])["observation"]
    section: list[float] = game.game.layout.view(observation, "odds").tolist()
    return section


def ways(game: reference.ReferenceGame, seat: int) -> int:
    """About how many ways there are to draw what `seat` cannot see: what trying everything costs."""
    unseen = len(+game.pile) + 2
    draws = len(game.worn[seat]) + sum(cards.count("?") for cards in game.worn) + game.pile["?"]
    return int(unseen**draws)


def watch_distributions(met: Counter[str], limit: int, share: float) -> Callable[[Pair], None]:
    rng = random.Random(0)

    def watch(pair: Pair) -> None:
        game = pair.reference
        for seat in range(game.num_seats):
            if pair.forfeited:
                continue
            if game.over:
                reached = int(pair.engine.state["reveal_total"])
                expected = [float(reached >= b) for b in range(1, len(odds(pair.engine, seat)) + 1)]
                assert odds(pair.engine, seat) == expected
                met["over"] += 1
            elif ways(game, seat) <= limit and rng.random() < share:
                exact = reference.total_distribution(game, seat)
                assert sum(exact.values()) == 1
                mine = pair.engine.env.total_distribution(seat)
                assert mine.keys() == exact.keys()
                assert max(abs(mine[total] - exact[total]) for total in mine) < 1e-12
                section = odds(pair.engine, seat)
                expected = [
                    sum(chance for total, chance in mine.items() if total >= b) for b in range(1, len(section) + 1)
                ]
                np.testing.assert_allclose(section, expected, rtol=0, atol=1e-6)
                wears = len(game.worn[seat])
                known = int(pair.engine.state["old"][seat])
                met[f"wears {wears}" + (f", {known} known" if known and game.phase != "discard" else "")] += 1
                met["a card in the middle"] += game.centre is not None and game.phase != "discard"
                met["one it saw"] += seat in game.peeked
                met["another that it saw"] += pair.engine.state["coyote_by"] == seat
                met["another unseen"] += game.coyote_card is not None and pair.engine.state["coyote_by"] != seat
                met["told of the middle"] += bool(pair.engine.state["middle_old"].any())
                met["all revealed"] += game.phase == "discard"
                met["eliminated"] += game.lives[seat] == 0
                if "?" in [card for other, cards in enumerate(game.worn) if other != seat for card in cards]:
                    met["? on an empty pile"] += not +game.pile
                    met["? with nothing to draw"] += not +game.pile and not +game.discards
                met["pile shorter than `?` draw"] += 0 < sum(game.pile.values()) < game.worn.count(["?"])

    return watch


@pytest.mark.engine
def test_total_distributions_by_trying_everything():
    met: Counter[str] = Counter()
    watch = watch_distributions(met, limit=400, share=0.2)
    for number in range(110 if COMPILED else 6):
        rng = random.Random(f"distribution {number}")
        kwargs = random_table(rng)
        if number % 3:  # few cards: the pile runs out when the feather is drawn, in the deal, at the reveal
            peek = number % 2 == 0
            faces = ["1", "2", "4", "9", "?", "x2", "max0", "max-", "-1"]
            cards = [rng.choice(faces) for _ in range(rng.randint(3 + peek, 5 + peek))]
            tiny = {"num_players": rng.choice([2, 3]), "deck": dict(Counter(cards)), "lives": 3, "variants": "all"}
            tiny |= {"peek": peek, "closed_peeks": int(peek), "trickster": peek and number % 8 > 0}
            kwargs = tiny if playable(tiny) else kwargs
        play_out(kwargs, seed=number, watch=watch, odds=True)
    if COMPILED:
        kinds = {"over", "wears 0", "wears 1", "wears 2", "wears 1, 1 known", "wears 2, 1 known", "eliminated"}
        kinds |= {"a card in the middle", "one it saw", "another that it saw", "another unseen", "told of the middle"}
        kinds |= {"all revealed"}
        kinds |= {"? on an empty pile", "? with nothing to draw", "pile shorter than `?` draw"}
        assert {name for name, count in met.items() if count >= 5} == kinds


@pytest.mark.slow
def test_total_distributions_of_the_editions_own_deck():
    met: Counter[str] = Counter()
    for seed in range(12):
        for num_players in (2, 4, 6, 10):
            watch = watch_distributions(met, limit=20_000, share=0.05)
            play_out({"num_players": num_players, "lives": 1}, seed, watch, odds=True)
    assert met["wears 1"] > 100
    assert met["wears 2"] > 20


# ---------------------------------------------------------------------------------------------------------------------
# Any rules at all


@st.composite
def any_rules(draw: Any) -> Rules:
    faces = st.one_of(
        st.integers(-99, 99).map(str), st.integers(1, 9).map(str), st.sampled_from([*reference.SPECIALS, "0"])
    )
    deck = draw(
        st.one_of(
            st.sampled_from(sorted(reference.DECKS)),
            st.dictionaries(faces, st.integers(1, 4), min_size=2, max_size=24),
        )
    )
    size = 17 if isinstance(deck, str) else sum(deck.values())
    peek = draw(st.booleans())
    try:
        return Rules(
            num_players=draw(st.integers(2, max(2, min(10, size)))),
            deck=deck,
            lives=draw(st.integers(1, 9)),
            variants=draw(st.sampled_from(SUBSETS)),
            peek=peek,
            closed_peeks=draw(st.integers(0, 9)) if peek else 0,
            trickster=peek and draw(st.booleans()),
            reshuffle=draw(st.sampled_from(["when_needed", "every_round"])),
            starter=draw(st.sampled_from(["loser", "after_loser"])),
            starter_if_out=draw(st.sampled_from(["winner", "left"])),
            game_end=draw(st.sampled_from(["last_standing", "last_standing", "first_loss"])),
            reward=draw(st.sampled_from(["win", "placement", "round"])),
        )
    except ValueError:  # too few cards, or with some number of seats no total above 0
        reject()


@pytest.mark.engine
@settings(max_examples=100 if COMPILED else 10, deadline=None, derandomize=True)
@given(rules=any_rules(), seed=st.integers(0, 2**63 - 1), challenge=st.sampled_from([0.0, 0.1, 0.4, 1.0]))
def test_any_game_ends_with_all_cards_and_a_sum_of_zero(rules, seed, challenge):
    env = coyote_v0.raw_env(**rules.as_dict())
    env.reset(seed=seed)
    agents, counts = env.possible_agents, [count for _, count in rules.cards]
    bound, decisions = rules.longest_game, 0
    if bound > 3000:
        challenge = max(challenge, 0.1)
    rng = np.random.default_rng(seed)
    paid = np.zeros(len(agents))
    while not all(env.terminations.values()):
        state = record(env)
        cards = np.zeros(len(counts), int)
        for seat in range(len(agents)):
            np.add.at(cards, state["cards"][seat, : state["num_cards"][seat]], 1)
            assert bool(state["out"][seat]) == (state["lives"][seat] == 0)
            assert state["open"][seat] <= state["lives"][seat]
        for face in state["middle"]:
            cards[face] += face >= 0
        for place in ("pile", "discard", "drawn"):
            cards += state[place][: len(counts)]
        assert cards.tolist() == counts
        legal = np.flatnonzero(env.observe(env.agent_selection)["action_mask"])
        assert len(legal) > 0
        # With challenge 0.0 every round is as long as it can be: all variants, the lowest numbers.
        action = legal[0] if legal[0] != 0 or len(legal) == 1 or rng.random() < challenge else legal[1]
        if challenge > 0 and action != 0 and rng.random() < 0.5:
            action = rng.choice(legal[:12])
        env.step(int(action))
        paid += [env.rewards[agent] for agent in agents]
        decisions += 1
        assert decisions <= bound
    assert not any(env.observe(agent)["action_mask"].any() for agent in agents)
    assert abs(paid.sum()) < 1e-9
    low, high = rules.return_bounds
    assert low - 1e-9 <= paid.min() <= paid.max() <= high + 1e-9
    assert record(env)["returns"][: len(agents)] == pytest.approx(paid, abs=1e-12)
