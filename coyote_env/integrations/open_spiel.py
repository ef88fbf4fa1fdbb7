"""COYOTE as an OpenSpiel game, with every chance outcome an explicit node: for solving small tables exactly.

Importing this module registers ``python_coyote`` (``pip install 'coyote-env[equilibrium]'`` brings OpenSpiel)::

    game = pyspiel.load_game("python_coyote(edition=mini,first_seat=0)")

The rules are the engine's: a state holds the record as it was before the call that is due, the tape of chance outcomes
so far, and that call. The engine stops where an outcome is open (``STOP``, core/game.py), and its record then says what
can be drawn; the same call is made again with the outcome on the tape. Nothing in here knows how COYOTE is played.

Information states have perfect recall: they hold, in order, everything public (who did what, reveals) and everything
that the seat has seen. What is in no observation of the engine is in none of them.

An information state reads, for player_0 of three::

    p0 | r1 p2 starts; sees p1:4 p2:1 | p2 bid_3 p0 bid_5 p1 challenge | reveal p0:2 p1:4 p2:1, 7; p1 loses 1 | r2 ...
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

try:
    import pyspiel
except ImportError as error:
    raise ImportError("this needs OpenSpiel: pip install 'coyote-env[equilibrium]'") from error

from ..core.game import STOP, STOPPED, Game
from ..core.layout import Layout
from ..coyote.env import game as coyote_game
from ..coyote.rules import MAX_SEATS, Rules

NAME = "python_coyote"

# One parameter for each field of Rules, and ``first_seat``. What is left as it is here comes from the edition.
# OpenSpiel's text form of a game knows no commas, brackets or equals signs within a value, so:
# deck: a deck's name, or faces with their counts, "1*2 3 ?"; variants: "all", "none", or names, "idem+again";
# truth values: "yes" or "no" (it reads "true" as no text). first_seat: who starts the first round; -1: chance decides.
PARAMETERS: Mapping[str, Any] = MappingProxyType(
    {field.name: -1 if field.type == "int" else "" for field in fields(Rules)} | {"edition": "mini", "first_seat": -1}
)

# Sections of an observation that follow from what is public and from the cards that the seat has seen. Any other
# section is taken into the information state as it changes: later editions add what a seat may see alone.
# fmt: off
_DERIVED = frozenset({
    "seat_to_move", "live", "lives", "num_cards", "unseen", "deduced", "pile_size", "bid", "bid_before", "refused",
    "announcer", "last_bid", "double", "waiting", "direction", "phase", "used", "declared_double", "declared_feather",
    "declared_next", "max_bid", "history", "reveal_known", "reveal_total", "reveal_bid", "reveal_loser", "reveal_lives",
})
# fmt: on
# Fields of a record that change only when a round is settled (lives do too).
_SETTLES = ("round", "over", "reveal_loser", "reveal_total", "reveal_bid")
# Actions that the others see only when the round is revealed.
_HIDDEN = frozenset({"point_announcer", "point_challenger"})


def parse_deck(text: str) -> str | dict[str, int]:
    """A deck's name, or {face: count} of "1*2 3 ?" or of JSON. Raises ValueError where JSON is none or no object."""
    text = text.strip()
    if text.startswith("{"):
        deck = json.loads(text)
        assert isinstance(deck, dict)
        return deck
    pieces = [re.fullmatch(r"(\?|x2|max0|max-|night|-?\d+)(?:\*(\d+))?", piece) for piece in text.split()]
    if not all(pieces):
        return text  # a name; Rules says which there are
    faces = [piece[1] for piece in pieces if piece]
    if len(set(faces)) < len(faces):
        raise ValueError(f"deck: a face is given twice in {text!r}")
    return {piece[1]: int(piece[2] or 1) for piece in pieces if piece}


def write_deck(deck: Mapping[Any, int]) -> str:
    """The text that ``parse_deck`` reads, without characters that OpenSpiel's text form of a game cannot hold."""
    return " ".join(f"{face}*{count}" for face, count in deck.items())


def parameters_of(**rules: Any) -> dict[str, Any]:
    """OpenSpiel's parameters for keyword arguments of ``Rules``. None is what comes from the edition."""
    parameters: dict[str, Any] = {}
    for name, value in rules.items():
        if isinstance(value, Mapping):
            value = write_deck(value)
        elif isinstance(value, bool):
            value = "yes" if value else "no"
        elif isinstance(value, Iterable) and not isinstance(value, str):
            value = "+".join(value) or "none"
        if value is not None:
            parameters[name] = value
    return parameters


def rules_of(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments of ``Rules`` from OpenSpiel's parameters."""
    rules: dict[str, Any] = {}
    truth = {"yes": True, "no": False}
    for field in fields(Rules):
        value = parameters.get(field.name, PARAMETERS[field.name])
        if value in ("", -1):
            continue
        if field.name == "deck":
            value = parse_deck(value)
        elif field.name == "variants":
            value = value if value in ("all", "none") else value.split("+")
        elif field.type == "bool":
            value = truth.get(value, value)  # Rules refuses what is neither
        rules[field.name] = value
    return rules


# ---------------------------------------------------------------------------------------------------------------
# A position: a record, and what is due to happen to it


class Table:
    """What all positions of a game share: the engine's game, and buffers that its kernels write into."""

    def __init__(self, game: Game, first_seat: int) -> None:
        self.game = game
        self.first_seat = first_seat
        self.own = tuple(section.name for section in game.layout.sections if section.name not in _DERIVED)
        self._view = np.empty((1, game.layout.size), np.float32)
        self._mask = np.zeros((1, game.num_actions), np.int8)
        self._seat, self._done = np.zeros(1, np.int64), np.zeros(1, np.bool_)
        self._rewards = np.zeros((1, game.num_seats))

    def __deepcopy__(self, memo: dict[int, Any]) -> Table:
        return self

    @property
    def layout(self) -> Layout:
        """What an observation means."""
        return self.game.layout

    def observe(self, record: NDArray[np.void], seat: int, all_seen: bool = False) -> NDArray[np.float32]:
        """Observation of ``seat``, float32 (L,), a fresh array; ``all_seen``: with every card open."""
        self.game.observe(self.game.rules, record, np.array([seat]), all_seen, self._view)
        view: NDArray[np.float32] = self._view[0].copy()
        return view

    def legal(self, record: NDArray[np.void]) -> list[int]:
        """Legal actions of the seat to move, ascending."""
        self.game.legal_mask(self.game.rules, record, self._mask)
        return [int(action) for action in np.flatnonzero(self._mask[0])]

    def run(self, record: NDArray[np.void], tape: NDArray[np.int8], kind: str, what: int) -> int:
        """Makes a call ("deal" by a starter, "step" of an action) on ``record`` itself. Returns the engine's code."""
        game = self.game
        if kind == "deal":
            return int(game.deal(game.rules, record, tape, np.array([what])))
        game.legal_mask(game.rules, record, self._mask)
        return int(
            game.step(
                game.rules, record, tape, np.array([what]), False, False,
                self._seat, self._view, self._mask, self._rewards, self._done,
            )
        )  # fmt: skip

    def cards(self, view: NDArray[np.float32], viewer: int) -> str:
        """The cards shown in an observation of ``viewer``, by absolute seat: "p1:4 p2:1,x2"."""
        rows = self.layout.view(view, "cards")
        shown = []
        for seat in range(self.game.num_seats):
            row = rows[(seat - viewer) % self.game.num_seats]
            faces = [self.game.outcomes[f] for f in np.flatnonzero(row) for _ in range(round(float(row[f])))]
            if faces:
                shown.append(f"p{seat}:{','.join(faces)}")
        return " ".join(shown)

    def others(self, view: NDArray[np.float32]) -> list[str]:
        """The other sections that follow from nothing public, where they are not 0 (cards of later editions)."""
        parts = []
        for name in self.own:
            values = self.layout.view(view, name).ravel()
            if name != "cards" and values.any():
                parts.append(f"{name} {','.join(f'{value:g}' for value in values)}")
        return parts


@dataclass(frozen=True)
class Event:
    """Something that happened, as one seat knows it: text for people, numbers for tensors.

    Fields:
        text: what an information state says of it.
        actor, action: absolute seat, and the action's id; -1 = none, or not known to this seat.
        seen: the sections of the seat's observation that follow from nothing public, after it; None for an action.
        shown: the cards of a reveal, float32 (N + 3, faces): by seat, at each of the two places in the middle, drawn;
            None = no reveal.
    """

    text: str
    actor: int = -1
    action: int = -1
    seen: NDArray[np.float32] | None = None
    shown: NDArray[np.float32] | None = None


@dataclass(frozen=True)
class Position:
    """Never changed: every action makes a new one, so that clones share it.

    Fields:
        record: the table when nothing is due, else as it was before the due call.
        tape: its chance, (1, D), with STOP at the first open place.
        due: the call to be made again once chance has decided: ("deal", starter) or ("step", action). "starter" asks
            chance who starts. None: a seat decides.
        pile: what chance can draw, counts by face; empty unless a draw is due.
        settled: the due call has gone past a reveal: later draws belong to the next deal.
        revealed: the cards of this round lie open: the rest of it needs no second reveal.
        drawn: faces drawn by the due call before it settled.
        events: by seat, what it knows.
        hidden: (seat, action) that the others have yet to learn.
    """

    table: Table
    record: NDArray[np.void]
    tape: NDArray[np.int8]
    due: tuple[str, int] | None
    pile: tuple[int, ...]
    settled: bool
    revealed: bool
    drawn: tuple[int, ...]
    events: tuple[tuple[Event, ...], ...]
    hidden: tuple[tuple[int, int], ...]

    def __deepcopy__(self, memo: dict[int, Any]) -> Position:
        return self

    @staticmethod
    def first(table: Table) -> Position:
        """Before anything has happened."""
        game = table.game
        blank = np.zeros(1, game.state_dtype)
        tape = game.blank_tapes(1)
        tape[0, 0] = STOP
        start = Position(table, blank, tape, ("starter", -1), (), False, False, (), ((),) * game.num_seats, ())
        return start if table.first_seat < 0 else start._call("deal", table.first_seat)

    @property
    def over(self) -> bool:
        """Whether the game has ended."""
        return self.due is None and bool(self.record["over"][0])

    @property
    def seat(self) -> int:
        """The seat to move, where nothing is due."""
        return int(self.record["seat"][0])

    def outcomes(self) -> list[tuple[int, float]]:
        """Chance outcomes and their probabilities, at a chance node."""
        assert self.due is not None
        if self.due[0] == "starter":
            n = self.table.game.num_seats
            return [(seat, 1 / n) for seat in range(n)]
        total = sum(self.pile)
        return [(face, count / total) for face, count in enumerate(self.pile) if count]

    def after_chance(self, outcome: int) -> Position:
        """Chance decides ``outcome``."""
        assert self.due is not None
        kind, what = self.due
        if kind == "starter":
            return self._call("deal", outcome)
        tape = self.tape.copy()
        place = int(np.flatnonzero(tape[0] == STOP)[0])
        tape[0, place] = outcome
        if place + 1 < tape.shape[1]:
            tape[0, place + 1] = STOP
        drawn = self.drawn if self.settled else (*self.drawn, outcome)
        return replace(self, tape=tape, drawn=drawn)._call(kind, what)

    def after(self, action: int) -> Position:
        """The seat to move plays ``action``."""
        name, actor = self.table.game.action_names[action], self.seat
        hides = name in _HIDDEN
        known = Event(f"p{actor} {name}", actor, action)
        guess = Event(f"p{actor} points", actor) if hides else known
        events = tuple((*log, known if seat == actor else guess) for seat, log in enumerate(self.events))
        hidden = (*self.hidden, (actor, action)) if hides else self.hidden
        return replace(self, events=events, hidden=hidden)._call("step", action)

    def _call(self, kind: str, what: int) -> Position:
        """Makes a call, up to the next open draw or to its end."""
        record = self.record.copy()
        code = self.table.run(record, self.tape.copy(), kind, what)
        settled = kind == "step" and any(record[0][name] != self.record[0][name] for name in _SETTLES)
        settled = settled or bool((record["lives"] != self.record["lives"]).any() and kind == "step")
        if code == STOPPED:
            pile = tuple(int(count) for count in record[0]["pile"][: len(self.table.game.outcomes)])
            return replace(self, due=(kind, what), pile=pile, settled=settled)
        if code < -1:
            raise self.table.game.failure(self.table.game, code)
        dealt = bool(record["round"][0] != self.record["round"][0])
        events = self._learnt(record, dealt, settled and not self.revealed)
        revealed = (settled or self.revealed) and not dealt
        hidden = () if settled else self.hidden
        return Position(self.table, record, self.tape, None, (), False, revealed, (), events, hidden)

    def _learnt(self, record: NDArray[np.void], dealt: bool, reveals: bool) -> tuple[tuple[Event, ...], ...]:
        """Events of all seats after a call that has ended with ``record``."""
        table, game = self.table, self.table.game
        s = record[0]
        logs = []
        for seat, log in enumerate(self.events):
            added = []
            if reveals:
                added.append(self._reveal(record))
            view = table.observe(record, seat)
            seen = np.concatenate([table.layout.view(view, name).ravel() for name in table.own])
            before = next((event.seen for event in reversed(log) if event.seen is not None), None)
            if dealt or before is None or not np.array_equal(before, seen):
                start = f"| r{int(s['round'])} p{int(s['starter'])} starts; " if dealt else ""
                text = [start + "sees " + table.cards(view, seat)]
                text += table.others(view)
                added.append(Event(" ".join(text) + (" |" if dealt else ""), seen=seen))
            logs.append((*log, *added))
        assert len(logs) == game.num_seats
        return tuple(logs)

    def _reveal(self, record: NDArray[np.void]) -> Event:
        """The reveal of the round that ``self.record`` was in; the same for all."""
        table, game = self.table, self.table.game
        open_view = table.observe(self.record, 0, all_seen=True)
        shown = np.zeros((game.num_seats + 3, len(game.outcomes)), np.float32)
        shown[:-3] = table.layout.view(open_view, "cards")
        # A row for each: who put one of them there knows more than which two they are.
        for place, face in enumerate(self.record["middle"][0]):
            if face >= 0:
                shown[place - 3, face] = 1
        for face in self.drawn:
            shown[-1, face] += 1
        s = record[0]
        text = [table.cards(open_view, 0)]
        text += table.others(open_view)
        if self.drawn:
            text.append("drawn " + ",".join(game.outcomes[face] for face in self.drawn))
        text += [f"p{seat} {game.action_names[action]}" for seat, action in self.hidden]
        end = f", {int(s['reveal_total'])}; p{int(s['reveal_loser'])} loses {int(s['reveal_lives'])}"
        return Event("| reveal " + " ".join(text) + end, shown=shown)

    def knows(self, seat: int) -> str:
        """Information state of ``seat``."""
        return " ".join([f"p{seat}", *(event.text for event in self.events[seat])])


# ---------------------------------------------------------------------------------------------------------------
# OpenSpiel's classes

_GAME_TYPE = pyspiel.GameType(
    short_name=NAME,
    long_name="Coyote",
    dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
    chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
    information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
    utility=pyspiel.GameType.Utility.ZERO_SUM,
    reward_model=pyspiel.GameType.RewardModel.TERMINAL,
    max_num_players=MAX_SEATS,
    min_num_players=2,
    provides_information_state_string=True,
    provides_information_state_tensor=True,
    provides_observation_string=True,
    provides_observation_tensor=True,
    default_loadable=True,
    provides_factored_observation_string=False,
    parameter_specification=dict(PARAMETERS),
)


class CoyoteGame(pyspiel.Game):  # type: ignore[misc]  # pyspiel has no types
    """COYOTE with rules chosen by ``PARAMETERS``. What rounds pay (``reward=round``) is paid at the end.

    Raises ValueError as ``Rules`` does, and for a ``first_seat`` that is no seat.
    """

    def __init__(self, params: Mapping[str, Any] | None = None) -> None:
        given = dict(params or {})
        self.coyote = coyote_game(**rules_of(given))
        if isinstance(self.coyote.config.deck, Mapping):
            given["deck"] = write_deck(self.coyote.config.deck)  # it may have come as JSON
        first = given.get("first_seat", -1)
        if first != -1:
            first = self.coyote.check_seat(first, "first_seat")
        self.table = Table(self.coyote, first)
        facts = self.coyote.facts
        info = pyspiel.GameInfo(
            num_distinct_actions=facts.num_actions,
            max_chance_outcomes=max(facts.num_outcomes, facts.num_seats),
            num_players=facts.num_seats,
            min_utility=facts.min_return,
            max_utility=facts.max_return,
            utility_sum=facts.returns_sum,
            max_game_length=facts.longest_game,
        )
        super().__init__(_GAME_TYPE, info, given)

    def new_initial_state(self) -> CoyoteState:
        """A state before anything has happened."""
        return CoyoteState(self)

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> CoyoteObserver:
        """What a seat knows: of now (the engine's observation), or with perfect recall. Nothing else is offered."""
        kind = iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False)
        if params:
            raise ValueError(f"observers take no parameters, not {params!r}")
        if not kind.public_info or kind.private_info != pyspiel.PrivateInfoType.SINGLE_PLAYER:
            raise ValueError("observers give what one seat knows, public and private")
        return CoyoteObserver(self.table, bool(kind.perfect_recall))


class CoyoteState(pyspiel.State):  # type: ignore[misc]  # pyspiel has no types
    """A state: one ``Position`` after another."""

    def __init__(self, game: CoyoteGame) -> None:
        super().__init__(game)
        self.position = Position.first(game.table)

    def current_player(self) -> int:
        """The seat to move, CHANCE, or TERMINAL."""
        if self.position.due is not None:
            return int(pyspiel.PlayerId.CHANCE)
        return int(pyspiel.PlayerId.TERMINAL) if self.position.over else self.position.seat

    def _legal_actions(self, player: int) -> list[int]:
        return self.position.table.legal(self.position.record)

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Outcomes (seats where the starter is drawn, else faces by number) with their probabilities."""
        return self.position.outcomes()

    def _apply_action(self, action: int) -> None:
        chance = self.position.due is not None
        self.position = self.position.after_chance(action) if chance else self.position.after(action)

    def _action_to_string(self, player: int, action: int) -> str:
        game = self.position.table.game
        if player != pyspiel.PlayerId.CHANCE:
            return game.action_names[action]
        due = self.position.due
        return f"p{action} starts" if due is not None and due[0] == "starter" else f"draw {game.outcomes[action]}"

    def is_terminal(self) -> bool:
        """Whether the game is over."""
        return self.position.over

    def returns(self) -> list[float]:
        """Returns by seat at the end, zeros before."""
        n = self.position.table.game.num_seats
        return [float(value) for value in self.position.record["returns"][0][:n]] if self.position.over else [0.0] * n

    def __str__(self) -> str:
        known = " || ".join(self.position.knows(seat) for seat in range(self.position.table.game.num_seats))
        due = self.position.due
        return known if due is None else f"{known} || due: {due[0]} {due[1]} {list(self.position.drawn)}"


class CoyoteObserver:
    """OpenSpiel's observer: ``tensor`` (flat, float32), ``dict`` (its named parts), ``set_from``, ``string_from``.

    Without perfect recall the tensor is the engine's observation, and its parts are the layout's sections. With it:
    ``player`` (N,), and for each of at most ``longest_game`` decisions, and for the deal before them, a row of
    ``actor`` (N,), ``action`` (A,), ``shown`` (N + 3, faces), ``seen``: see ``Event``.
    """

    def __init__(self, table: Table, perfect_recall: bool) -> None:
        self._table = table
        self._recalls = perfect_recall
        game, layout = table.game, table.layout
        if perfect_recall:
            rows = game.longest_game + 1
            own = sum(layout.slices[name].stop - layout.slices[name].start for name in table.own)
            shapes: dict[str, tuple[int, ...]] = {
                "player": (game.num_seats,),
                "actor": (rows, game.num_seats),
                "action": (rows, game.num_actions),
                "shown": (rows, game.num_seats + 3, len(game.outcomes)),
                "seen": (rows, own),
            }
        else:
            shapes = {section.name: section.shape for section in layout.sections}
        self.tensor = np.zeros(sum(math.prod(shape) for shape in shapes.values()), np.float32)
        self.dict: dict[str, NDArray[np.float32]] = {}
        at = 0
        for name, shape in shapes.items():
            size = math.prod(shape)
            self.dict[name] = self.tensor[at : at + size].reshape(shape)
            at += size

    def set_from(self, state: CoyoteState, player: int) -> None:
        """Writes what ``player`` knows in ``state`` into ``tensor``."""
        position = state.position
        if not self._recalls:
            # Before the first deal there is nothing to see.
            self.tensor[:] = self._table.observe(position.record, player) if position.record["game"][0] else 0.0
            return
        self.tensor[:] = 0.0
        self.dict["player"][player] = 1.0
        row = 0
        for event in position.events[player]:
            if event.actor >= 0:
                row += 1
                self.dict["actor"][row, event.actor] = 1.0
                if event.action >= 0:
                    self.dict["action"][row, event.action] = 1.0
            if event.shown is not None:
                self.dict["shown"][row] = event.shown
            if event.seen is not None:
                self.dict["seen"][row] = event.seen

    def string_from(self, state: CoyoteState, player: int) -> str:
        """What ``player`` knows in ``state``: its information state, or the sections of its observation but zeros."""
        position = state.position
        if self._recalls:
            return position.knows(player)
        if not position.record["game"][0]:
            return f"p{player}"
        view = self._table.observe(position.record, player)
        parts = [f"p{player}"]
        for section in self._table.layout.sections:
            values = self._table.layout.view(view, section.name).ravel()
            if values.any():
                parts.append(f"{section.name}={','.join(f'{value:g}' for value in values)}")
        return " ".join(parts)


pyspiel.register_game(_GAME_TYPE, CoyoteGame)
