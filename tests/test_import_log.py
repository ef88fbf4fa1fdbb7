"""Logs of other programs: what they imply, where they depart from the rules, and what is no log."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest

from coyote_env import coyote_v0
from coyote_env.cli import main
from coyote_env.core.record import GameRecord, RecordError, read_records, verify
from coyote_env.coyote.import_log import read_log
from coyote_env.coyote.rules import DECKS
from tests.aec import finish

CODES = {"x2": 100, "night": 101, "max0": 102, "?": 103}
NAMES = ["Ann", "Bob", "Cleo", "Dan", "Eve", "Fay", "Gus", "Hal", "Ida", "Jo"]


def code(face: str) -> int:
    return CODES[face] if face in CODES else int(face)


def log_of(
    record: GameRecord,
    seed: int = 0,
    next_card: str = "last",
    early: bool = False,
    listed: bool = True,
) -> dict[str, Any]:
    """A log of a recorded game, as a program with a real pile would write it. ``early``: `?` has drawn before the pile
    is listed. ``listed``: who is out stays in the list, with an old card."""
    env = coyote_v0.env(**record.rules)
    draws = [*record.deal, *(card for event in record.events for card in event.draws)]
    env.reset(seed=seed, options={"starter": record.start, "draws": draws})
    rng = np.random.default_rng(seed)
    rounds: list[dict[str, Any]] = []
    faces = env.game.outcomes
    pile: list[str] = []

    def lay(before_events: int) -> None:
        """A round begins: the pile gets an order, in which `?` will draw what it drew."""
        nonlocal pile
        s = env._states[0]
        counts = {face: int(n) for face, n in zip(faces, s["pile"], strict=False) if n}
        left = [face for face, n in counts.items() for _ in range(n)]
        worn = [faces[s["cards"][k, 0]] if s["num_cards"][k] else None for k in range(env.game.num_seats)]
        # What is drawn later stands at the end that is drawn from, as long as this pile lasts.
        later = [card for event in record.events[before_events:] for card in event.draws]
        order: list[str] = []
        for card in later:
            if card not in left:
                break
            left.remove(card)
            order.append(card)
        rest = [str(card) for card in rng.permutation(left)]
        pile = order + rest if next_card == "first" else (order + rest[::-1])[::-1]
        players = [
            {"name": NAMES[k], "life": int(s["lives"][k]), "card": code(worn[k] or "5")}
            for k in range(env.game.num_seats)
            if listed or s["lives"][k]
        ]
        shown = list(pile)
        if early and "?" in worn and shown:
            shown.pop(0 if next_card == "first" else -1)
        rounds.append(
            {"round_count": len(rounds) + 1, "player_info": players, "deck": [code(c) for c in shown], "turn_info": []}
        )

    lay(0)
    for number, event in enumerate(record.events, 1):
        action = -1 if event.action == "challenge" else int(event.action[4:])
        turns = rounds[-1]["turn_info"]
        turns.append({"turn_count": len(turns), "turn_player": NAMES[event.seat], "action": action})
        env.step(env.action_id(event.action))
        if action == -1 and not env._states["over"][0]:
            lay(number)
    return {"round_info": rounds}


def game_record(players: int, seed: int, lives: int = 3) -> GameRecord:
    env = coyote_v0.env(num_players=players, deck="classic-36", variants="none", lives=lives)
    env.reset(seed=seed)
    finish(env, np.random.default_rng(seed))
    return env.record(NAMES[:players])


def imported(log: Any, next_card: str | None = None) -> Any:
    return read_log(json.dumps(log).encode(), next_card)


@pytest.mark.parametrize("players", range(2, 11))
@pytest.mark.parametrize("next_card", ["first", "last"])
@pytest.mark.parametrize("early", [False, True], ids=["drawn-late", "drawn-early"])
@pytest.mark.parametrize("listed", [True, False], ids=["out-listed", "out-not-listed"])
def test_a_game_by_the_rules_comes_back(players, next_card, early, listed):
    whole = known = 0
    for seed in range(4):
        record = game_record(players, seed, lives=2 + seed % 2)
        (game,) = imported(log_of(record, seed, next_card, early, listed), next_card)
        assert game.problems == []
        assert verify(coyote_v0.game(**game.record.rules), game.record) is None
        known += len(game.record.events)
        if game.record.result == "finished":
            assert game.record == record
            whole += 1
        else:  # the pile ran out just when `?` drew, and the shuffled discards are in no log
            assert "the pile was empty" in game.ends
            assert record.events[: len(game.record.events)][:-1] == game.record.events[:-1]
    assert whole >= 2 or known > 10


def log(**changes: Any) -> dict[str, Any]:
    """A short game of two by the rules, 2 lives: Bob loses twice. `?` draws 4 in the second round."""
    pile = sorted(code(face) for face, count in DECKS["classic-36"].items() for _ in range(count))
    for card in (10, 5, 103, 3, 4):
        pile.remove(card)
    return {
        "round_info": [
            {
                "round_count": 1,
                "player_info": [{"name": "Ann", "life": 2, "card": 10}, {"name": "Bob", "life": 2, "card": 5}],
                "deck": [*pile, 4, 3, 103],
                "turn_info": [
                    {"turn_player": "Ann", "action": 9},
                    {"turn_player": "Bob", "action": 15},
                    {"turn_player": "Ann", "action": 16},
                    {"turn_player": "Bob", "action": -1},
                ],
            },
            {
                "round_count": 2,
                "player_info": [{"name": "Ann", "life": 1, "card": 103}, {"name": "Bob", "life": 2, "card": 3}],
                "deck": [*pile, 4],
                "turn_info": [
                    {"turn_player": "Ann", "action": 7},
                    {"turn_player": "Bob", "action": -1},
                ],
            },
            {
                "round_count": 3,
                "player_info": [
                    {"name": "Ann", "life": 1, "card": pile[-1]},
                    {"name": "Bob", "life": 1, "card": pile[-2]},
                ],
                "deck": pile[:-2],
                "turn_info": [
                    {"turn_player": "Bob", "action": 1},
                    {"turn_player": "Ann", "action": 2},
                    {"turn_player": "Bob", "action": -1},
                ],
            },
        ]
    } | changes


def edit(path: str, value: Any) -> dict[str, Any]:
    """The short log with the value at "0.player_info.1.life" replaced; ``...`` removes it."""
    result = log()
    at: Any = result["round_info"]
    *way, last = [int(key) if key.lstrip("-").isdigit() else key for key in path.split(".")]
    for key in way:
        at = at[key]
    if value is ...:
        del at[last]
    else:
        at[last] = value
    return result


def test_the_short_log_is_a_game():
    (game,) = imported(log())
    assert game.problems == []
    assert game.record.result == "finished"
    assert game.record.rules["lives"] == 2
    assert [e.action for e in game.record.events if e.draws] == ["challenge", "challenge"]
    assert game.record.events[5].draws[0] == "4"  # by `?`
    total = 102  # max0 is worn in the last round, with the x2 or what sorts highest
    assert total in [p["card"] for p in log()["round_info"][2]["player_info"]]


EXTRA_TURN = {"turn_player": "Ann", "action": 30}


@pytest.mark.parametrize(
    ("changed", "problem", "events"),
    [
        (edit("1.player_info.0.life", 2), "round 2: Ann has 2 lives, by the rules 1", 4),
        (edit("1.player_info.1.life", 1), "round 2: Bob has 1 lives, by the rules 2", 4),
        (edit("1.player_info.0.life", 0), "round 2: 1 players have lives left; what follows is not checked", 3),
        (edit("1.turn_info.0.turn_player", "Bob"), "round 2: Bob begins, by the rules Ann", 4),
        (edit("0.turn_info.2.turn_player", "Bob"), "round 1: turn 3: Bob moves out of turn, it is Ann's", 2),
        (edit("0.turn_info.2.turn_player", "Zoe"), "round 1: turn 3: Zoe is no live player", 2),
        (edit("0.turn_info.1.action", 9), "round 1: turn 2: Bob announces 9, not more than the standing 9", 1),
        (edit("0.turn_info.2.action", 41), "turn 3: Ann announces 41; with 2 live players no total is above 40", 2),
        (edit("0.turn_info.0.action", 0), "round 1: turn 1: Ann says 0, which is no number from 1", 0),
        (edit("0.turn_info.0.action", -2), "round 1: turn 1: Ann says -2, which is no number from 1", 0),
        (edit("0.turn_info.0.action", -1), "round 1: turn 1: Ann challenges before any number", 0),
        (edit("0.turn_info", [*log()["round_info"][0]["turn_info"], EXTRA_TURN]),
         "round 1: turn 5: Ann moves after the challenge", 3),  # the challenge waits for its deal
        (edit("0.turn_info.3", ...), "round 1: no challenge ends it, but round 2 follows", 3),
        (edit("0.deck.-1", 20), "round 1: the pile lacks ? and has 20 too many", 0),
        (edit("1.player_info.1.card", 103), "round 2: ? is worn, but was not left in the pile", 3),
        (edit("1.player_info.1.card", 10), "round 2: the pile lacks 3 and has 10 too many", 4),
        (edit("0.player_info.0.life", 3), "round 1: lives 3, 2; a game begins with equal ones, from 1 to 9", None),
        (edit("0.round_count", 4), "round 4: the rounds before it are missing", None),
        (edit("1.round_count", 3), "round 3: it follows round 1", None),
        (edit("1.player_info.1.name", "Zoe"), "round 2: 'Zoe' was not among the players of the first round", 3),
        (edit("1.player_info", log()["round_info"][1]["player_info"][::-1]),
         "round 2: the players stand in another order", 3),
    ],
    ids=lambda value: value[:60] if isinstance(value, str) else "",
)  # fmt: skip
def test_a_departure_is_told_with_its_round(changed, problem, events):
    game = imported(changed)[0]
    assert any(problem in told for told in game.problems), game.problems
    assert all(told.startswith("round ") for told in game.problems)
    if events is not None:
        assert len(game.record.events) == events
        assert game.record.result == "unfinished"
    if game.record is not None:
        assert verify(coyote_v0.game(**game.record.rules), game.record) is None


def test_one_departure_is_one_problem():
    """Each round is checked by itself: what follows a wrong round is not at fault for it."""
    (game,) = imported(edit("1.turn_info.0.turn_player", "Bob"))
    assert len(game.problems) == 2  # Bob begins, and then moves twice
    two = edit("0.turn_info.1.action", 9)
    two["round_info"][2]["turn_info"][1]["action"] = 1
    (game,) = imported(two)
    assert [told.split(":")[0] for told in game.problems] == ["round 1", "round 3"]


def test_a_log_that_was_cut_off_between_its_turns():
    whole = log()
    for rounds, turns, events, ends in (
        (3, 2, 8, "the log ends within a round"),
        (3, 0, 6, "the log ends within a round"),
        (2, 2, 5, "the log ends before the next deal"),
        (1, 4, 3, "the log ends before the next deal"),
        (1, 0, 0, "the log ends within a round"),
    ):
        part = copy.deepcopy(whole["round_info"][:rounds])
        del part[-1]["turn_info"][turns:]
        (game,) = imported({"round_info": part})
        assert game.problems == []
        assert (len(game.record.events), game.record.result, game.ends) == (events, "unfinished", ends)


def test_what_question_mark_drew_is_told_or_asked_for():
    one = log()["round_info"][1] | {"round_count": 1}
    one["player_info"] = [{"name": "Ann", "life": 1, "card": 103}, {"name": "Bob", "life": 1, "card": 3}]
    pile = sorted(code(face) for face, count in DECKS["classic-36"].items() for _ in range(count))
    pile.remove(103)
    pile.remove(3)
    one["deck"] = pile  # from -10 to 102
    (game,) = imported([one])
    assert game.problems == [
        "round 1: what `?` drew is not known: nothing tells which end of the pile is drawn from (--next-card says it)"
    ]
    assert game.record.result == "unfinished"
    first, last = imported([one], "first")[0].record, imported([one], "last")[0].record
    assert (first.events[-1].draws, last.events[-1].draws) == (("-10",), ("max0",))
    one["deck"] = [card for card in pile if card != 20]  # it lacks what was drawn
    (game,) = imported([one])
    assert game.problems == []
    assert game.record.events[-1].draws == ("20",)


def test_several_games_follow_each_other():
    rows = log()["round_info"]
    for key in ("round_count", "none"):
        many = copy.deepcopy(rows + rows + rows[:1])
        if key == "none":
            for row in many:
                row.pop("round_count", None)  # some rows are the same object
        games = imported({"round_info": many})
        assert [game.problems for game in games] == [[], [], []]
        assert [game.record.result for game in games] == ["finished", "finished", "unfinished"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("round_info", "rounds"), ("round_info", "roundInfo"), ("player_info", "Players"), ("deck", "draw-pile"),
        ("deck", "pile"), ("turn_info", "turns"), ("life", "lives"), ("turn_player", "player"), ("action", "number"),
        ("action", "bid"), ("round_count", "round"), ("name", "NAME"),
    ],
)  # fmt: skip
def test_keys_are_read_by_several_names(old, new):
    text = json.dumps(log()).replace(f'"{old}"', f'"{new}"')
    assert read_log(text.encode())[0].record == imported(log())[0].record
    assert imported(log()["round_info"])[0].record == imported(log())[0].record  # a bare list


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not JSON"),
        (b"{", "cut off"),
        (b"\xff", "not UTF-8"),
        (b"[" * 10**5, "nested too deeply"),
        (b"[NaN]", "NaN is no JSON number"),
        (b"3", "the log's rounds must be a list, not 3"),
        (b'{"games": []}', "the log: no key 'rounds' or 'round_info'; found: 'games'"),
        (b'{"rounds": [], "round_info": [1]}', "keys 'rounds' and 'round_info' mean the same and differ"),
        (b"[1]", "round 1 must be an object, not 1"),
        (b"[{}]", "round 1: no key 'player_info' or 'players'; found: nothing"),
        (edit("0.player_info.1.life", ...), "round 1, player 2: no key 'life' or 'lives'; found: 'name', 'card'"),
        (edit("0.player_info.1", 7), "round 1, player 2 must be an object, not 7"),
        (edit("0.player_info.1.life", "2"), "round 1, player 2: lives must be an integer, not '2'"),
        (edit("0.player_info.1.life", True), "round 1, player 2: lives must be an integer, not True"),
        (edit("0.player_info.1.life", 10**30), "round 1, player 2: lives must be an integer, not 1000"),
        (edit("0.player_info.1.card", 104), "round 1, player 2: card: 104 is no card of classic-36"),
        (edit("0.player_info.1.card", 7), "round 1, player 2: card: 7 is no card of classic-36"),
        (edit("0.player_info.1.card", "x2"), "round 1, player 2: card must be a card as an integer, not 'x2'"),
        (edit("0.player_info.1.name", "Ann"), "round 1: two players are called 'Ann'"),
        (edit("0.player_info.1.name", "\x1b["), "round 1, player 2: name must be a printable name"),
        (edit("0.player_info", {}), "round 1: players must be a list, not {}"),
        (edit("1.deck", ...), "round 2: no key 'deck' or 'pile' or 'draw_pile'; found: "),
        (edit("1.deck.0", None), "round 2, pile must be a card as an integer, not None"),
        (edit("1.turn_info", ...), "round 2: no key 'turn_info' or 'turns'; found: "),
        (
            edit("1.turn_info.0.action", ...),
            "round 2, turn 1: no key 'action' or 'number' or 'bid'; found: 'turn_player'",
        ),
        (edit("1.turn_info.0.number", 3), "round 2, turn 1: keys 'action' and 'number' mean the same and differ"),
        (edit("1.turn_info.0.action", 7.0), "round 2, turn 1: number must be an integer, not 7.0"),
        (edit("1.turn_info.0.action", "challenge"), "round 2, turn 1: number must be an integer, not 'challenge'"),
        (edit("1.round_count", "two"), "round 2: its number must be an integer, not 'two'"),
    ],
    ids=lambda value: value[:60] if isinstance(value, str) else "",
)
def test_what_is_no_log_is_refused_in_one_sentence(data, message):
    with pytest.raises(RecordError) as caught:
        read_log(data if isinstance(data, bytes) else json.dumps(data).encode())
    assert message in str(caught.value)
    assert len(str(caught.value)) < 400
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("players", [0, 1, 11])
def test_too_few_and_too_many(players):
    rows = log()["round_info"][:1]
    rows[0]["player_info"] = [{"name": str(k), "life": 2, "card": 1} for k in range(players)]
    (game,) = imported(rows)
    assert game.problems == [f"round 1: {players} players; allowed are 2 to 10"]
    assert game.record is None
    assert imported([]) == []


def test_random_changes_are_found_or_harmless():
    rng = np.random.default_rng(3)
    found = 0
    for seed in range(120):
        text = json.dumps(log_of(game_record(3, seed % 6, 1), seed))
        numbers = [k for k, c in enumerate(text) if c.isdigit()]
        place = int(rng.choice(numbers))
        damaged = text[:place] + str(rng.integers(10)) + text[place + 1 :]
        try:
            games = read_log(damaged.encode())
        except RecordError:
            found += 1
            continue
        for game in games:
            found += bool(game.problems)
            if game.record is not None:
                assert verify(coyote_v0.game(**game.record.rules), game.record) is None
    assert found > 60


# --- the command


def test_the_command_makes_a_file_that_verifies(tmp_path, capsys):
    source, target = tmp_path / "log.json", tmp_path / "games.jsonl"
    source.write_text(json.dumps(log()))
    assert main(["records", "import-log", str(source), "--records", str(target)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{source}: game 1: 9 events recorded",
        "1 game, 1 record, 0 departures from the rules",
    ]
    source.write_text(json.dumps(edit("0.turn_info.1.action", 9)))
    assert main(["records", "import-log", str(source), "--records", str(target)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"{source}: game 1, round 1: turn 2: Bob announces 9, not more than the standing 9",
        f"{source}: game 1: 1 event recorded, unfinished: a departure from the rules",
        "1 game, 1 record, 1 departure from the rules",
    ]
    assert main(["records", "verify", str(target)]) == 0
    records = [record for _, record in read_records(target)]
    assert [record.names for record in records if isinstance(record, GameRecord)] == [("Ann", "Bob")] * 2
    source.write_text("{}")
    assert main(["records", "import-log", str(source)]) == 2
    told = capsys.readouterr().err
    assert told == "coyote records: error: the log: no key 'rounds' or 'round_info'; found: nothing\n"
