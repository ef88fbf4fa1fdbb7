"""What a seat cannot know does not reach it; what it knows, it sees; and a redeal never shows the true future."""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from coyote_env import coyote_v0, scout_v0
from coyote_env.coyote.engine import PHASES
from tests.aec import play, trace
from tests.random_play import RUNS, SMALL_DECKS, choose, surprise

LIMIT = 4.0  # standard deviations; seeds are fixed, so that a test passes always or never


def swap_hidden(states: NDArray[np.void], seat: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Changes all that ``seat`` cannot know, in place: its cards and those in the middle for other faces of the pile,
    pointing while it is hidden.

    Returns at which tables it wears other cards now, (T,). Cards that counting tells (``old``) are known together: they
    only change places with each other.
    """
    before = np.sort(states["cards"][:, seat], axis=1)
    for s in states:
        if PHASES[s["phase"]] in ("discard", "over"):
            continue
        told: list[tuple[Any, Any]] = [(s["cards"], (seat, c)) for c in range(int(s["old"][seat]))]
        untold: list[tuple[Any, Any]] = [
            (s["cards"], (seat, c)) for c in range(int(s["old"][seat]), int(s["num_cards"][seat]))
        ]
        for place, seen in enumerate((s["peeked"][seat] == 1, s["coyote_by"] == seat)):
            if s["middle"][place] >= 0 and not seen:
                (told if s["middle_old"][place] else untold).append((s["middle"], place))
        for array, index in untold:
            worn = int(array[index])
            others = [face for face in np.flatnonzero(s["pile"]) if face != worn]
            if others:
                face = int(rng.choice(others))
                s["pile"][worn] += 1
                s["pile"][face] -= 1
                array[index] = face
        faces = rng.permutation([int(array[index]) for array, index in told])
        for (array, index), face in zip(told, faces, strict=True):
            array[index] = face
        if PHASES[s["phase"]] == "pointing":
            for other in range(len(s["pointed"])):
                if other != seat and s["pointed"][other]:
                    s["pointed"][other] = 3 - s["pointed"][other]
    changed: NDArray[np.bool_] = (np.sort(states["cards"][:, seat], axis=1) != before).any(axis=1)
    return changed


def disturb_chance(states: NDArray[np.void], rng: np.random.Generator) -> None:
    """Another generator, other seeds, in place."""
    for field in ("rng", "seed", "game"):
        states[field] = rng.integers(1, 2**63, len(states))


def views(batch: Any) -> NDArray[np.float32]:
    """Every seat's observation at every table, float32 (N, T, L)."""
    return np.stack([batch.observe(seat) for seat in range(batch.game.num_seats)])


def check_hiding(batch: Any, steps: int, seed: int) -> Counter[str]:
    """Plays on and changes at each state what each seat cannot know; counts what was tried."""
    game, n = batch.game, batch.game.num_seats
    rng = np.random.default_rng(seed)
    tried: Counter[str] = Counter()
    for _ in range(steps):
        states, masks, seen = batch.states.copy(), batch.action_mask.copy(), views(batch)
        for seat in range(n):
            changed = swap_hidden(batch.states, seat, rng)
            now = views(batch)
            np.testing.assert_array_equal(now[seat], seen[seat])
            for other in range(n):
                if other == seat:
                    continue
                # Everybody else sees it, and sees it at that seat only.
                rows = game.layout.view(now[other], "cards") != game.layout.view(seen[other], "cards")
                moved = rows.any(axis=2)
                np.testing.assert_array_equal(moved[:, (seat - other) % n], changed)
                moved[:, (seat - other) % n] = False
                assert not moved.any()
            batch.refresh()
            np.testing.assert_array_equal(batch.action_mask, masks)  # nor does what is legal tell
            disturb_chance(batch.states, rng)
            np.testing.assert_array_equal(views(batch)[seat], seen[seat])
            tried["changed"] += int(changed.sum())
            tried["of a second card"] += int((changed & (states["num_cards"][:, seat] == 2)).sum())
            tried["beside a known one"] += int((changed & (states["old"][:, seat] == 1)).sum())
            batch.states[:] = states
        disturb_chance(batch.states, rng)
        np.testing.assert_array_equal(views(batch), seen)  # chance alone moves nobody's observation
        batch.states[:] = states
        batch.refresh()
        batch.step(choose(batch, rng))
    return tried


@pytest.mark.parametrize("kwargs", RUNS.values(), ids=RUNS)
def test_what_a_seat_cannot_know_does_not_move_its_observation(kwargs):
    batch = coyote_v0.batch(6, **kwargs)
    batch.reset(seed=5)
    assert check_hiding(batch, 50, seed=5)["changed"] > 200


@pytest.mark.engine
def test_hiding_holds_with_two_cards_and_beside_a_known_one():
    """The configurations in which the rarer cases come up often."""
    batch = coyote_v0.batch(2, num_players=3)
    batch.reset(seed=2)
    assert check_hiding(batch, 15, seed=2)["of a second card"] > 0
    batch = coyote_v0.batch(2, **SMALL_DECKS["nine-cards"])
    batch.reset(seed=3)
    assert check_hiding(batch, 40, seed=3)["beside a known one"] > 0


def cards_in_play(states: NDArray[np.void], seat: int, faces: int) -> NDArray[np.int64]:
    """How many cards of each face ``seat`` wears, from the records, (T, faces)."""
    worn = states["cards"][:, seat].astype(np.int64)
    return np.stack([(worn == face).sum(axis=1) for face in range(faces)], axis=1)


@pytest.mark.parametrize("kwargs", RUNS.values(), ids=RUNS)
def test_a_seat_sees_what_it_knows(kwargs):
    """`cards`: the others' true cards. `unseen`: the pile, the own cards and those in the middle, unless it has looked
    at them. What counting tells is told. After a reveal all but the pile is seen."""
    batch = coyote_v0.batch(8, **kwargs)
    game, n = batch.game, batch.game.num_seats
    counts = np.array([count for _, count in game.config.cards])
    batch.reset(seed=9)
    rng = np.random.default_rng(9)
    told = 0
    for _ in range(60):
        states = batch.states
        worn = np.stack([cards_in_play(states, seat, len(counts)) for seat in range(n)], axis=1)
        for seat in range(n):
            seen = batch.observe(seat)
            cards = game.layout.view(seen, "cards")
            unseen = np.rint(game.layout.view(seen, "unseen") * counts)
            deduced = game.layout.view(seen, "deduced")
            for k in range(1, n):
                np.testing.assert_array_equal(cards[:, k], worn[:, (seat + k) % n])
            shown = states["phase"] == PHASES.index("discard")
            np.testing.assert_array_equal(cards[:, 0], np.where(shown[:, None], worn[:, seat], 0))
            hidden = worn[:, seat] * ~shown[:, None]
            looked = np.stack([states["peeked"][:, seat] == 1, states["coyote_by"] == seat], axis=1)
            known = np.zeros_like(hidden)
            for t, place in np.argwhere(states["middle"] >= 0):
                face = states["middle"][t, place]
                (known if shown[t] or looked[t, place] else hidden)[t, face] += 1
            np.testing.assert_array_equal(unseen + deduced, states["pile"][:, : len(counts)] + hidden)
            if game.config.peek:
                middle = game.layout.view(seen, "centre").copy()
                if game.config.trickster:
                    middle += game.layout.view(seen, "coyote_card")
                np.testing.assert_array_equal(middle, known)
            # Which cards these are is compared with the reference, state by state, in test_against_reference.py.
            unknown = (states["middle_old"] == 1) & ~looked
            expected = np.where(shown, 0, states["old"][:, seat] + unknown.sum(axis=1))
            np.testing.assert_array_equal(deduced.sum(axis=1), expected)
            told += int(deduced.sum())
        batch.step(choose(batch, rng))
    assert told > 0 or game.config.deck_size >= 30 or game.config.reshuffle == "every_round"


def shown(env: Any, seat: int, section: str) -> str:
    """The faces of which a seat's observation says more than 0 in ``section``, in the layout's order."""
    raw = env.unwrapped
    values = raw.layout.view(env.observe(raw.possible_agents[seat])["observation"], section)
    rows = values.reshape(-1, len(raw.game.config.faces))
    return " ".join(raw.game.config.faces[face] for face in np.flatnonzero(rows.any(axis=0)))


# Two seats and the centre wear 1 2 3, then 4 5 6; after that the pile of six cards is empty and an extra feather makes
# the discards the pile. Seven cards leave one for the Coyote card before that.
SECOND_ROUND = "bid_1 challenge discard_open"
TOLD_OF_THE_MIDDLE = [
    # (edition, cards, draws after the second deal, actions of the second round, what seats 0 and 1 are told, what else
    # their hidden cards and the pile can be)
    ("peek", 6, "1", "extra_feather+1 bid_1", ("5 6", "4 6"), ("1 2 3", "2 3")),
    ("peek", 6, "1", "extra_feather+1 bid_1 peek", ("5", "4 6"), ("1 2 3", "2 3")),  # seat 0 has seen the 6
    ("trickster", 7, "7 1", "coyote extra_feather+1 bid_1", ("5 6 7", "4 6"), ("1 2 3", "2 3")),  # seat 1 laid the 7
]


@pytest.mark.engine
@pytest.mark.parametrize(("edition", "cards", "draws", "actions", "told", "unseen"), TOLD_OF_THE_MIDDLE)
def test_counting_tells_what_lies_in_the_middle_too(edition, cards, draws, actions, told, unseen):
    """A: the discards are known. Once they become the pile, the hidden cards dealt before are what is left of the deck:
    a seat's own and those in the middle (D, E) alike, except what it has looked at."""
    env = coyote_v0.env(
        edition=edition,
        num_players=2,
        deck={str(value): 1 for value in range(1, cards + 1)},
        closed_peeks=1,
        variants=["extra_feather"],
        reshuffle="when_needed",
    )
    env.reset(options={"starter": 0, "draws": ["1", "2", "3", "4", "5", "6", *draws.split()]})
    for action in (*SECOND_ROUND.split(), *actions.split()):
        env.step(env.unwrapped.action_id(action))
    assert shown(env, 1, "cards") == "1 5"  # seat 0 wears the 5 and the feather, seat 1 the 4
    assert (shown(env, 0, "deduced"), shown(env, 1, "deduced")) == told
    assert (shown(env, 0, "unseen"), shown(env, 1, "unseen")) == unseen


@pytest.mark.engine
def test_what_lies_in_the_middle_is_seen_by_who_has_looked_and_by_all_after_the_reveal():
    """D: who peeks sees the centre card, it alone. E: nobody but who put it down may look at the other."""
    env = coyote_v0.env(edition="trickster", num_players=3, reshuffle="every_round")
    # The first round's loser, seat 1, holds the Coyote card in the second.
    env.reset(options={"starter": 0, "draws": [*"1234", *"1234", "9"]})
    script = ["bid_1", "challenge", "point_announcer", "discard_closed", "coyote", "bid_1", "peek", "bid_2"]
    for action in script:
        env.step(env.unwrapped.action_id(action))
    assert [shown(env, seat, "centre") for seat in range(3)] == ["", "", "4"]
    assert [shown(env, seat, "coyote_card") for seat in range(3)] == ["", "9", ""]
    for action in ("challenge", "point_announcer"):  # 19 against 2: seat 0 loses, and has cards of both kinds
        env.step(env.unwrapped.action_id(action))
    assert PHASES[env.unwrapped._states["phase"][0]] == "discard"
    assert [shown(env, seat, "centre") for seat in range(3)] == ["4"] * 3
    assert [shown(env, seat, "coyote_card") for seat in range(3)] == ["9"] * 3


@pytest.mark.engine
def test_how_a_seat_has_pointed_is_seen_by_nobody_before_the_reveal_and_by_all_after():
    """E: all at once; nobody sees another's pointing before the reveal."""
    env = coyote_v0.env(edition="trickster", num_players=4)
    env.reset(options={"starter": 0, "draws": ["1", "2", "3", "4", "5"]})

    def pointed(seat: int) -> list[int]:
        """By absolute seat, what ``seat`` sees."""
        raw = env.unwrapped
        values = raw.layout.view(env.observe(raw.possible_agents[seat])["observation"], "pointed")
        return [int(value) for value in np.roll(values, seat)]

    for action in ("bid_1", "challenge", "point_challenger"):  # by seat 2; seat 3 is to point
        env.step(env.unwrapped.action_id(action))
    assert [pointed(seat) for seat in range(4)] == [[0, 0, 0, 0]] * 4
    env.step(env.unwrapped.action_id("point_announcer"))
    assert [pointed(seat) for seat in range(4)] == [[0, 0, -1, 1]] * 4


@pytest.mark.engine
def test_the_odds_are_those_of_what_a_seat_sees():
    """A: no seat sees its own card. Of 1 2 3 4, who sees the 4 wears any of the others."""
    env = coyote_v0.env(edition="mini", odds=True)
    env.reset(options={"starter": 0, "draws": ["3", "4"]})
    for seat, odds in enumerate(([1, 1, 1, 1, 1, 2 / 3, 1 / 3], [1, 1, 1, 1, 2 / 3, 1 / 3, 1 / 3])):
        observation = env.observe(env.possible_agents[seat])["observation"]
        assert env.unwrapped.layout.view(observation, "odds").tolist() == pytest.approx(odds)


@pytest.mark.engine
def test_the_eliminated_see_every_card():
    batch = coyote_v0.batch(4, num_players=4, lives=1)
    counts = np.array([count for _, count in batch.game.config.cards])
    batch.reset(seed=1)
    rng = np.random.default_rng(1)
    seen = 0
    for _ in range(40):
        for seat in range(4):
            out = batch.out[:, seat]
            observation = batch.observe(seat)[out]
            layout, states = batch.game.layout, batch.states[out]
            for k in range(4):
                worn = cards_in_play(states, (seat + k) % 4, len(counts))
                np.testing.assert_array_equal(layout.view(observation, "cards")[:, k], worn)
            unseen = np.rint(layout.view(observation, "unseen") * counts)
            np.testing.assert_array_equal(unseen, states["pile"][:, : len(counts)])
            seen += int(out.sum())
        batch.step(choose(batch, rng, 3))
    assert seen > 20


@pytest.mark.parametrize("kwargs", RUNS.values(), ids=RUNS)
def test_at_the_end_every_card_is_shown_to_everybody(kwargs):
    env = coyote_v0.env(**kwargs)
    layout, n = env.layout, env.game.num_seats
    counts = np.array([count for _, count in env.game.config.cards])
    for seed in range(3):
        env.reset(seed=seed)
        for _ in play(env, np.random.default_rng(seed)):
            pass
        everything = layout.view(env.state(), "cards")
        assert everything.sum() >= 2
        for seat, agent in enumerate(env.possible_agents):
            observation = env.observe(agent)["observation"]
            np.testing.assert_array_equal(np.roll(layout.view(observation, "cards"), seat, axis=0), everything)
            pile = np.rint(layout.view(observation, "unseen") * counts)
            np.testing.assert_array_equal(pile, env._states["pile"][0, : len(counts)])
            assert not layout.view(observation, "deduced").any()
        assert layout.view(env.state(), "seat_to_move").sum() == 0
        assert everything.shape[0] == n


# --- redealing


def paused(kwargs: dict[str, Any], seed: int, turns: int, make: Any = coyote_v0.env, **options: Any) -> Any:
    env = make(**kwargs)
    env.reset(seed=seed, options=options)
    for _ in play(env, np.random.default_rng(seed), turns):
        pass
    return env


@pytest.mark.parametrize("kwargs", RUNS.values(), ids=RUNS)
def test_a_redeal_keeps_all_that_the_seat_knows_and_conserves_the_cards(kwargs):
    for seed in range(12):
        env = paused(kwargs, seed, turns=3 * seed)
        rng = np.random.default_rng(seed)
        saved = env.get_state()
        for seat, agent in enumerate(env.possible_agents):
            twin = env.redeal_hidden(seat, rng)
            before, after = env.observe(agent), twin.observe(agent)
            np.testing.assert_array_equal(after["observation"], before["observation"])
            np.testing.assert_array_equal(after["action_mask"], before["action_mask"])
            assert env.render_from(seat) == twin.render_from(seat)
            assert (twin.agents, twin.agent_selection) == (env.agents, env.agent_selection)
            mine, theirs = env._states[0], twin._states[0]
            others = [k for k in range(env.game.num_seats) if k != seat]
            np.testing.assert_array_equal(theirs["cards"][others], mine["cards"][others])
            for field in ("discard", "drawn", "num_cards", "lives", "returns", "pile_size", "history_bid"):
                np.testing.assert_array_equal(theirs[field], mine[field])
            assert env.game.check_state(env.game, twin._states) is None  # among others: the cards make the deck
            if not mine["middle_old"].any():
                told = slice(0, int(mine["old"][seat]))
                np.testing.assert_array_equal(theirs["cards"][seat, told], mine["cards"][seat, told])
        assert env.get_state() == saved


@pytest.mark.parametrize("kwargs", RUNS.values(), ids=RUNS)
def test_a_redeal_depends_on_nothing_that_the_seat_cannot_know(kwargs):
    """Two games that differ only in what a seat cannot know are, redealt alike, the same game, to the byte."""
    differed = 0
    for seed in range(8):
        env = paused(kwargs, seed, turns=2 * seed, draws=[env_face(kwargs)] if seed % 2 else [])
        if env._states["over"][0]:  # nothing is hidden any more
            continue
        for seat in range(env.game.num_seats):
            other = copy.deepcopy(env)
            rng = np.random.default_rng(seed)
            differed += int(swap_hidden(other._states, seat, rng)[0])
            disturb_chance(other._states, rng)
            other._tapes[:] = rng.integers(-1, len(env.game.outcomes), other._tapes.shape)
            assert other.get_state() != env.get_state()
            twins = [game.redeal_hidden(seat, np.random.default_rng(77)).get_state() for game in (env, other)]
            assert twins[0] == twins[1]
    assert differed > 3


def env_face(kwargs: dict[str, Any]) -> str:
    """A face that a deck surely has."""
    return str(coyote_v0.game(**kwargs).config.faces[0])


def own_cards(env: Any, seat: int) -> tuple[int, ...]:
    """What a seat wears, in order."""
    s = env._states[0]
    return tuple(int(card) for card in s["cards"][seat, : s["num_cards"][seat]])


@pytest.mark.parametrize("seat", [0, 1, 2])
def test_redealt_cards_are_drawn_evenly_from_what_the_seat_has_not_seen(seat):
    env = coyote_v0.env(num_players=3)
    env.reset(seed=3, options={"starter": 0})
    env.step(env.action_id("extra_feather+1"))  # seat 1 wears two
    env.step(env.action_id("bid_9"))
    observation = env.observe(env.possible_agents[seat])["observation"]
    counts = np.array([count for _, count in env.game.config.cards])
    unseen = np.rint(env.layout.view(observation, "unseen") * counts)
    total = unseen.sum()
    assert total == {0: 27, 1: 28, 2: 27}[seat]
    expected: dict[tuple[int, ...], float] = {}
    for a in np.flatnonzero(unseen):
        if seat != 1:
            expected[(int(a),)] = unseen[a] / total
            continue
        for b in np.flatnonzero(unseen):
            left = unseen[b] - (a == b)
            if left:
                expected[(int(a), int(b))] = unseen[a] / total * left / (total - 1)
    assert sum(expected.values()) == pytest.approx(1)
    rng = np.random.default_rng(8)
    found = Counter(own_cards(env.redeal_hidden(seat, rng), seat) for _ in range(1500))
    assert surprise(found, expected) < LIMIT
    # The test has teeth: the true cards shown a tenth too often would not pass, nor would cards that are not unseen.
    biased = found.copy()
    biased[own_cards(env, seat)] += 150
    assert surprise(biased, expected) > LIMIT
    assert surprise(Counter({(99,): 1}), expected) == float("inf")


@pytest.mark.parametrize(
    ("kwargs", "draws", "actions"),
    [
        ({"num_players": 3}, ["?", "4", "10"], ["bid_9"]),
        ({"num_players": 2}, ["night", "x2"], ["extra_feather+1", "bid_3"]),
        (SMALL_DECKS["odds-and-refills"], ["?", "7", "?"], ["extra_feather+1", "bid_2"]),
        ({"edition": "mini"}, ["2", "3"], ["bid_4"]),
    ],
    ids=["draw", "two hidden", "pile runs out", "mini"],
)  # fmt: skip
def test_totals_of_redealt_games_are_distributed_as_total_distribution_says(kwargs, draws, actions):
    """The challenger redeals and challenges: what the cards then make is what it could expect, `?` draws included."""
    env = coyote_v0.env(**kwargs)
    env.reset(seed=1, options={"starter": 0, "draws": draws})
    for action in actions:
        env.step(env.action_id(action))
    seat = env.possible_agents.index(env.agent_selection)
    expected = env.total_distribution(seat)
    rng = np.random.default_rng(4)
    found: Counter[int] = Counter()
    for _ in range(1500):
        twin = env.redeal_hidden(seat, rng)
        twin.step(twin.action_id("challenge"))
        found[int(twin._states["reveal_total"][0])] += 1
    assert surprise(found, expected) < LIMIT


@pytest.mark.parametrize(
    ("make", "runs"),
    [(coyote_v0.env, [{}, {"num_players": 2, "lives": 9}]), (scout_v0.env, [{}, {"num_players": 2}])],
    ids=["coyote", "scout"],
)
def test_no_redeal_plays_the_true_future(make, runs):
    """Played on alike, redealt games deal other cards than the true one will, and others than each other."""
    for kwargs in runs:
        env = paused(kwargs, 6, turns=2, make=make)
        rng = np.random.default_rng(2)
        truth = trace(copy.deepcopy(env), np.random.default_rng(3), 60)
        futures = [trace(env.redeal_hidden(0, rng), np.random.default_rng(3), 60) for _ in range(200)]
        assert truth not in futures
        assert len(set(futures)) > 190


@pytest.mark.parametrize("make", [coyote_v0.env, scout_v0.env], ids=["coyote", "scout"])
def test_redeals_follow_their_generator_alone(make):
    env = paused({}, 1, turns=4, make=make)
    seats = [0, 1, 2, 3]
    first = [env.redeal_hidden(seat, np.random.default_rng(5)).get_state() for seat in seats]
    env.redeal_hidden(2, np.random.default_rng(6))
    assert [env.redeal_hidden(seat, np.random.default_rng(5)).get_state() for seat in seats] == first


@pytest.mark.parametrize(
    ("make", "kwargs"), [(coyote_v0.env, {"edition": "trickster"}), (scout_v0.env, {})], ids=["coyote", "scout"]
)
def test_a_redealt_table_shares_nothing_that_play_changes(make, kwargs):
    env = paused(kwargs, 4, turns=3, make=make)
    saved, kept = env.get_state(), copy.deepcopy((env.agents, env.rewards, env.terminations, env._cumulative_rewards))
    masks = {agent: info["action_mask"].copy() for agent, info in env.infos.items()}
    twin = env.redeal_hidden(1, np.random.default_rng(0))
    for info in twin.infos.values():
        info["action_mask"][:] = 1
    for _ in play(twin, np.random.default_rng(1)):
        pass
    assert not twin.agents
    assert env.get_state() == saved
    assert (env.agents, env.rewards, env.terminations, env._cumulative_rewards) == kept
    for agent, mask in masks.items():
        np.testing.assert_array_equal(env.infos[agent]["action_mask"], mask)


def test_a_redeal_without_a_generator_is_refused():
    for bad in (0, None, np.random.RandomState(0)):
        with pytest.raises(TypeError, match="Generator"):
            paused({}, 1, turns=1).redeal_hidden(0, bad)


def test_a_redeal_of_a_seat_that_is_not_there_is_refused_by_value():
    env = paused({}, 1, turns=1)
    for bad in (-1, 4, 1.5, True, None):
        with pytest.raises(ValueError, match="seat must be a seat from 0 to 3"):
            env.redeal_hidden(bad, np.random.default_rng(0))
