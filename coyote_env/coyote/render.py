"""COYOTE for people: the table as plain text, and as a picture.

Both show what one seat may see (``viewer``), or every card (None). What a seat knows about hidden cards is read from
its own observation, so that a rendering can tell nothing that an observation does not.
"""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.canvas import DIM, FELT, GOLD, INK, PALE, PAPER, SIZE, Canvas
from ..core.game import Game
from . import engine
from .rules import VARIANTS

WIDTH = 100  # columns of the text
_GLUE = "\u00a0"  # a space at which no line is broken; a plain one in the end


# ---------------------------------------------------------------------------------------------------------------
# What both renderings say


def _named(seat: int) -> str:
    return f"player_{seat}"


def _pack(names: Iterable[str]) -> list[str]:
    """Action names with runs of numbers drawn together: "bid_7..110", "next_is+2..3"."""
    packed: list[str] = []
    run = ("", 0, 0)  # stem, first and last number
    for name in [*names, ""]:
        cut = max(name.rfind("_"), name.rfind("+")) + 1
        number = int(name[cut:]) if cut and name[cut:].isdigit() else None
        if number is not None and (name[:cut], number - 1) == (run[0], run[2]):
            run = (run[0], run[1], number)
            continue
        if run[0]:
            packed.append(run[0] + (str(run[1]) if run[1] == run[2] else f"{run[1]}..{run[2]}"))
        run = (name[:cut], number, number) if number is not None else ("", 0, 0)
        if number is None and name:
            packed.append(name)
    return packed


def _legal(game: Game, states: NDArray[np.void]) -> list[str]:
    """What the seat to move may do, packed."""
    mask = np.zeros((1, game.num_actions), np.int8)
    game.legal_mask(game.rules, states, mask)
    return _pack(game.action_names[a] for a in np.flatnonzero(mask[0]))


def _faces(game: Game, counts: Sequence[float] | NDArray[Any]) -> str:
    """Faces with how often they are there: "-5 (2), 7, x2"."""
    parts = [
        face if round(float(n)) == 1 else f"{face}{_GLUE}({round(float(n))})"
        for face, n in zip(game.config.faces, counts, strict=False)
        if n > 0.5
    ]
    return ", ".join(parts) if parts else "none"


class _View:
    """What ``viewer`` may see of a table."""

    def __init__(self, game: Game, states: NDArray[np.void], viewer: int | None) -> None:
        self.game, self.viewer = game, viewer
        self.s = s = states[0]
        self.n = game.num_seats
        self.over = bool(s["over"])
        self.seat = int(s["seat"])
        self.announcer = int(s["announcer"])
        self.bid = int(s["bid"])
        # As engine.is_revealed, which a call from here would compile once more.
        self.revealed = engine.PHASES[s["phase"]] in ("over", "discard")
        observation = np.zeros((1, game.layout.size), np.float32)
        seats = np.array([0 if viewer is None else viewer], np.int64)
        game.observe(game.rules, states, seats, viewer is None, observation)
        view, row = game.layout.view, observation[0]
        counts = np.array([count for _, count in game.config.cards])
        faces = game.config.faces
        self.unseen = view(row, "unseen") * counts
        self.deduced = [face for face, n in zip(faces, view(row, "deduced"), strict=True) for _ in range(round(n))]
        # The faces in the middle that this viewer knows, by place.
        self.middle: dict[int, str] = {}
        for section, place in (("centre", engine.CENTRE), ("coyote_card", engine.COYOTE_CARD)):
            if section in game.layout.slices and view(row, section).any():
                self.middle[place] = faces[int(view(row, section).argmax())]
        # Each card hidden from it: whose or where, and whether counting tells it. All that is told is in ``deduced``,
        # of several cards together: which of them lies where, nobody can tell.
        self.hidden: list[tuple[str, bool]] = []
        if viewer is not None and not self.revealed:
            own = f"{_named(viewer)}'s own"
            self.hidden += [(own, k < s["old"][viewer]) for k in range(s["num_cards"][viewer])]
            for place, name in ((engine.CENTRE, "the centre card"), (engine.COYOTE_CARD, "the Coyote draw")):
                if s["middle"][place] >= 0 and place not in self.middle:
                    self.hidden.append((name, bool(s["middle_old"][place])))
        self.hides = bool(self.hidden)
        self.own_told = self.deduced if viewer is not None and len(self.deduced) == s["old"][viewer] else []

    def names(self, told: bool) -> str:
        """What is hidden from the viewer and (not) told by counting: "player_1's own and the centre card"."""
        *first, last = dict.fromkeys(name for name, known in self.hidden if known == told) or [""]
        return f"{', '.join(first)} and {last}" if first else last

    def worn(self, seat: int) -> list[str]:
        """Faces that a seat wears; "hidden" where the viewer cannot see them."""
        wearing = int(self.s["num_cards"][seat])
        if self.hides and seat == self.viewer:
            told = [f"hidden, must be {face}" for face in self.own_told]
            return told + ["hidden"] * (wearing - len(told))
        return [self.game.config.faces[card] for card in self.s["cards"][seat, :wearing]]

    def lying(self, place: int) -> str:
        """The face of the card at a place in the middle, or "hidden"; "" where none lies."""
        if self.s["middle"][place] < 0:
            return ""
        return self.middle.get(place, "hidden")

    def lives(self, seat: int) -> str:
        """A seat's lives: stars, or how many of its Peek cards are open and closed."""
        s, most = self.s, int(self.game.config.lives)
        left = int(s["lives"][seat])
        if s["out"][seat]:
            return "out"
        if not self.game.config.peek:
            return "*" * left + "." * (most - left)
        opened = int(s["open"][seat])
        return ", ".join(f"{n} {kind}" for n, kind in ((opened, "open"), (left - opened, "closed")) if n)

    def centre(self) -> str:
        """The centre card, and who has looked at it in this round."""
        seen = [_named(int(seat)) for seat in np.flatnonzero(self.s["peeked"])]
        return self.lying(engine.CENTRE) + (f"; {' and '.join(seen)} looked at it" if seen else "")

    def coyote_card(self) -> str:
        """Who holds the Coyote card, and what has been put down with it in this round."""
        holder, user = int(self.s["holder"]), int(self.s["coyote_by"])
        text = f"{_named(holder)} holds it" if holder >= 0 else "nobody holds it"
        if user >= 0:
            text += f"; {_named(user)} put its draw beside the centre card: {self.lying(engine.COYOTE_CARD)}"
        return text

    def challenge(self) -> tuple[str, str] | None:
        """The challenge that is not settled yet, and what is due now."""
        s = self.s
        if self.over or s["challenger"] < 0:
            return None
        made = f"{_named(s['challenger'])} challenged the {self.bid} of {_named(self.announcer)}"
        if self.revealed:
            return made, f"every card lies open, and {_named(self.seat)} chooses a Peek card to give"
        return made, "who is not in it points at who will win, hidden until the reveal"

    def pointing(self) -> dict[int, tuple[int, str]]:
        """By seat, at whom it pointed at the last pointing and how that turned out, as far as the viewer may know."""
        s = self.s
        pointing = engine.PHASES[s["phase"]] == "pointing"
        if not self.game.config.trickster or (pointing and self.viewer is not None):
            return {}
        if s["challenger"] >= 0:
            announcer, challenger = self.announcer, int(s["challenger"])
        else:
            announcer, challenger = self.sides()
        judged = not pointing and not (self.forfeited() and s["challenger"] >= 0 and s["owed"] == 0)
        said = {}
        for seat in np.flatnonzero(s["pointed"]):
            at = announcer if s["pointed"][seat] == 1 else challenger
            verdict = f" ({'right' if at == s['reveal_winner'] else 'wrong'})" if judged else ""
            said[int(seat)] = at, verdict
        return said

    def sides(self) -> tuple[int, int]:
        """(announcer, challenger) of the last reveal."""
        s = self.s
        sides = int(s["reveal_winner"]), int(s["reveal_loser"])
        return sides if s["reveal_total"] >= s["reveal_bid"] else sides[::-1]

    def announcements(self) -> list[tuple[int, str, int]]:
        """(seat, kind, number) of the round's last announcements, oldest first."""
        made = int(self.s["history_len"])
        slots = [k % engine.HISTORY for k in range(max(0, made - engine.HISTORY), made)]
        seats, kinds, bids = self.s["history_seat"], self.s["history_kind"], self.s["history_bid"]
        return [(int(seats[k]), engine.KINDS[kinds[k]], int(bids[k])) for k in slots]

    def declared(self) -> list[str]:
        """Modifiers declared in this turn, whose number is still to come."""
        s = self.s
        parts = ["double"] if s["declared_double"] else []
        if s["declared_feather"] >= 0:
            parts.append(f"extra_feather for {_named(s['declared_feather'])}")
        if s["declared_next"] >= 0:
            parts.append(f"next_is {_named(s['declared_next'])}")
        return parts

    def unused(self) -> list[str]:
        """Variants that the table can still use in this round."""
        return [
            v for v, gone in zip(VARIANTS, self.s["used"], strict=True) if v in self.game.config.variants and not gone
        ]

    def demand(self) -> str | None:
        """Who must give which number, where somebody must."""
        s = self.s
        phase = engine.PHASES[s["phase"]]
        if phase == "again_number":
            return (
                f"{_named(s['waiting'])} refused {s['refused']} (again): {_named(self.seat)} must give another number "
                f"above {self.bid}"
            )
        if phase == "reverse_number":
            return (
                f"{_named(s['waiting'])} turned the order (reverse): {_named(self.seat)} must raise its own {self.bid}"
            )
        if phase == "after_again":
            return f"{_named(self.seat)} refused a number (again): now it must raise or challenge"
        if s["must_raise"]:  # by which of the two, the record does not say where a seat has done both in this round
            must = "raise" if self.bid else "announce"
            return f"{_named(self.seat)} has looked at a card in the middle: now it must {must}"
        return None

    def reveal(self) -> str | None:
        """The last reveal in a sentence."""
        s = self.s
        if s["reveal_loser"] < 0:
            return None
        loser, lost = int(s["reveal_loser"]), int(s["reveal_lives"])
        announcer, challenger = self.sides()
        end = " and is out" if s["out"][loser] else ""
        verb = "lost" if s["owed"] == 0 else "must pay"
        return (
            f"{_named(announcer)} said {s['reveal_bid']}, {_named(challenger)} challenged, the cards made "
            f"{s['reveal_total']}: {_named(loser)} {verb} {lost} {'life' if lost == 1 else 'lives'}{end}"
        )

    def forfeited(self) -> bool:
        """Whether an illegal action ended the game: no reveal then ended it."""
        if self.game.config.game_end == "first_loss":
            return self.over and (self.s["reveal_loser"] < 0 or self.s["owed"] > 0)
        return self.over and self.s["live"] > 1

    def ending(self) -> str:
        """How the game ended."""
        if self.forfeited():
            return f"{_named(self.seat)} forfeited by an illegal action"
        if self.game.config.game_end == "first_loss":
            return f"{_named(self.s['reveal_loser'])} lost, the others won"
        winner = int(np.flatnonzero(self.s["out"][: self.n] == 0)[0])
        return f"{_named(winner)} won, the last one standing"


# ---------------------------------------------------------------------------------------------------------------
# Text


def text(game: Game, states: NDArray[np.void], viewer: int | None) -> str:
    """The table for people to read, as ``viewer`` sees it (None: every card).

    Plain text without colour codes, lines of at most ``WIDTH`` columns where names allow it, no line break at the end.
    ``states``: one record, shape (1,).
    """
    view = _View(game, states, viewer)
    s, n = view.s, view.n
    right = "every card shown" if viewer is None else f"as {_named(viewer)} sees it"
    left = f"COYOTE {game.config.edition}, round {s['round']}, {s['live']} of {n} seats live"
    if view.over:
        left = f"COYOTE {game.config.edition}, over after round {s['round']}"
    lines = [f"{left:<{WIDTH - len(right)}}{right}", ""]

    rows = [("", "seat", "lives", "wears", "said", "")]
    for seat in range(n):
        marks = []
        if seat == viewer:
            marks.append("you")
        if seat == view.announcer and not view.revealed:
            marks.append(f"{view.bid} stands" + (", doubled" if s["double"] else ""))
        if view.over:
            marks.append(f"return {float(s['returns'][seat]):+.3g}")
        said = str(s["last_bid"][seat]) if s["last_bid"][seat] else "-"
        mover = "->" if seat == view.seat and not view.over else ""
        worn = " + ".join(view.worn(seat)) or "-"
        rows.append((mover, _named(seat), view.lives(seat), worn, said, ", ".join(marks)))
    widths = [max(len(row[column]) for row in rows) for column in range(6)]
    lines += [("  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=True))).rstrip() for row in rows]
    lines.append("")

    def say(label: str, sentence: str) -> None:
        lines.extend(
            textwrap.wrap(
                sentence, WIDTH, initial_indent=f"{label:<13}", subsequent_indent=" " * 13,
                break_on_hyphens=False, break_long_words=False,
            )
        )  # fmt: skip

    made = view.announcements()
    if made:
        shown = [
            f"{_named(seat)}{_GLUE}{number}" + ("" if how == "raise" else f"{_GLUE}({how})")
            for seat, how, number in made
        ]
        missing = int(s["history_len"]) - len(made)
        say("announced", ", ".join(([f"({missing} before)"] if missing else []) + shown))
    challenge = view.challenge()
    if challenge:
        say("challenge", "; ".join(challenge))
    if game.config.peek:
        say("centre", view.centre())
    if game.config.trickster:
        say("Coyote card", view.coyote_card())
    if view.revealed and s["drawn"].any():
        say("drawn by ?", _faces(game, s["drawn"]))
    if not view.over:
        if s["double"] and not challenge:
            say("double", f"whoever loses a challenge of {view.bid} made now loses 2 lives")
        demand = view.demand()
        if demand:
            say("demanded", demand)
        declared = view.declared()
        if declared:
            say("declared", ", ".join(declared) + "; the number is to come")
        say("to move", f"{_named(view.seat)}: {', '.join(_legal(game, states))}")
        say("order", "clockwise" if s["direction"] > 0 else "counter-clockwise, turned by reverse")
        if game.config.variants:
            say("unused", ", ".join(view.unused()) or "no variant is left this round")
    pile = f"{s['pile_size']} of {game.config.deck_size} cards"
    say("pile", f"{pile}: {_faces(game, view.unseen)}" if viewer is None or not view.hides else pile)
    if view.hides:
        among = view.names(told=False)
        unknown = f"{round(float(view.unseen.sum()))} cards" + (f", {among} among them" if among else "")
        say("unseen", f"{unknown}: {_faces(game, view.unseen)}")
        if len(view.deduced) > len(view.own_told):
            order = ", in some order" if len(view.deduced) > 1 else ""
            say("by counting", f"{view.names(told=True)} must be {' and '.join(view.deduced)}{order}")
    say("discards", _faces(game, s["discard"]))
    reveal = view.reveal()
    if reveal:
        say("last reveal", reveal)
    pointing = view.pointing()
    if pointing:
        say("pointing", ", ".join(f"{_named(seat)} at {_named(at)}{end}" for seat, (at, end) in pointing.items()))
    if view.over:
        say("the end", view.ending())
    return "\n".join(lines).replace(_GLUE, " ")


# ---------------------------------------------------------------------------------------------------------------
# Picture

# Cards by what is printed on them, in the colours of the 2011 box.
_GREEN, _RED, _BLUE, _SAND, _BACK = (58, 140, 72), (190, 58, 50), (48, 98, 168), (150, 134, 104), (112, 78, 128)


def _card(canvas: Canvas, at: tuple[float, float], face: str, width: float, face_up: bool = True) -> None:
    height = width * 1.4
    x, y = at
    canvas.box(INK, (x + 1.5, y + 2), (width, height))
    canvas.box(PAPER, at, (width, height))
    if not face_up:
        canvas.box(_BACK, at, (width - 7, height - 7), 6)
        if face:
            canvas.write(face, at, round(width * 0.66), PAPER)
        return
    try:
        number = int(face)
        color = _GREEN if number > 0 else _RED if number < 0 else _SAND
    except ValueError:
        color = _BLUE
    canvas.box(color, at, (width - 7, height - 7), 6)
    size = round(width * (0.86, 0.86, 0.62, 0.44, 0.36)[len(face) - 1])
    canvas.write(face, at, size)


def _feather(canvas: Canvas, at: tuple[float, float], left: bool) -> None:
    """One life: a feather, or a grey one where it is lost."""
    x, y = at
    quill, vane = ((236, 230, 214), (226, 148, 62)) if left else ((112, 140, 126), (82, 116, 102))
    outline = [(x, y - 11), (x + 5, y - 5), (x + 5, y + 3), (x, y + 8), (x - 5, y + 3), (x - 5, y - 5)]
    canvas.polygon(vane, outline)
    canvas.line(quill, (x, y - 8), (x, y + 13), 1.5)


def _peek_card(canvas: Canvas, at: tuple[float, float], left: bool, face_up: bool) -> None:
    """One life of the editions with Peek cards: a card with an eye, its back where it is closed, grey where lost."""
    canvas.box((82, 116, 102) if not left else PAPER, at, (14, 20), 3)
    if left and face_up:
        canvas.ellipse(_BLUE, at, (5, 3.5))
        canvas.ellipse(PAPER, at, (1.6, 1.6))
    elif left:
        canvas.box(_BACK, at, (11, 17), 2)


def image(game: Game, states: NDArray[np.void], viewer: int | None) -> NDArray[np.uint8]:
    """The table as a picture, uint8 (H, W, 3), as ``viewer`` sees it (None: every card).

    Raises ImportError naming the extra to install where pygame is missing.
    """
    view = _View(game, states, viewer)
    s, n = view.s, view.n
    canvas = Canvas()
    center, places = canvas.table(n, viewer)
    width = 52 if n <= 6 else 42
    for seat, (x, y) in enumerate(places):
        _seat(canvas, view, seat, (x, y), width)

    # The middle: what stands, and the pile.
    x, y = center
    if view.over:
        canvas.write("game over", (x, y - 62), 30, GOLD)
        canvas.write(view.ending(), (x, y - 30), 26)
    elif view.bid or s["refused"]:
        number, who = (view.bid, view.announcer) if not s["refused"] else (int(s["refused"]), view.seat)
        canvas.write(str(number), (x, y - 62), 96, DIM if s["refused"] else PAPER)
        if s["refused"]:
            canvas.line(_RED, (x - 60, y - 48), (x + 60, y - 82), 5)
        said = ("refused, of " if s["refused"] else "by ") + _named(who)
        challenger = f", challenged by {_named(s['challenger'])}" if s["challenger"] >= 0 else ""
        canvas.write(said + challenger, (x, y - 20), 24, PALE)
        if s["double"]:
            canvas.box(_RED, (x + 110, y - 62), (84, 28))
            canvas.write("double", (x + 110, y - 62), 24)
    else:
        canvas.write(f"{_named(view.seat)} opens", (x, y - 50), 30, PALE)
    if not view.over:
        _arrow(canvas, (x - 128, y - 62), int(s["direction"]))
    # Piles with their sizes, then what lies face down: as a card where the viewer knows it.
    lying = [("pile", str(s["pile_size"]), False), ("discards", str(s["discard_size"]), False)]
    for name, place in (("centre", engine.CENTRE), ("drawn", engine.COYOTE_CARD)):
        face = view.lying(place)
        if face:
            lying.insert(1 + place, (name, face.removeprefix("hidden"), face != "hidden"))
    drawn = [face for face, k in zip(game.config.faces, s["drawn"], strict=False) for _ in range(k)]
    if not view.over:  # a discard is due; at the end they lie above
        lying += [("by ?", face, True) for face in drawn]
    step = 128 if len(lying) == 2 else min(88, 440 / len(lying))
    for k, (name, face, face_up) in enumerate(lying):
        at = x + (k - (len(lying) - 1) / 2) * step
        _card(canvas, (at, y + 46), face, 46, face_up)
        canvas.write(name, (at, y + 92), 20, DIM)
    if view.over and drawn:
        left = x - 26 * (len(drawn) - 1)
        for k, face in enumerate(drawn):
            _card(canvas, (left + 52 * k, y - 114), face, 46)
        canvas.write("drawn by ?", (left - 70, y - 114), 20, DIM)
    challenge = view.challenge()
    due = challenge[1] if challenge else view.demand() or "; ".join(view.declared())
    for k, line in enumerate(textwrap.wrap(due, 44 if n <= 6 else 36)):
        canvas.write(line, (x, y + 122 + 20 * k), 21, GOLD)

    # Above and below: the round in order, what is left, the last reveal.
    title = f"COYOTE {game.config.edition}   round {s['round']}   "
    title += "every card shown" if viewer is None else f"as {_named(viewer)} sees it"
    canvas.write(title, (18, 22), 24, PALE, "left")
    if game.config.variants and not view.over:
        left_over = ", ".join(view.unused()) or "none"
        canvas.write(f"unused: {left_over}", (SIZE[0] - 18, 22), 22, DIM, "right")
    _strip(canvas, view)
    pointing = view.pointing()
    if pointing and s["challenger"] < 0:
        pointed = ", ".join(f"{seat} at {whom}{end}" for seat, (whom, end) in pointing.items())
        canvas.write(f"Last pointing: {pointed}", (18, 48), 20, DIM, "left")
    canvas.write(f"Discards: {_faces(game, s['discard'])}".replace(_GLUE, " "), (18, SIZE[1] - 46), 22, DIM, "left")
    reveal = view.reveal()
    canvas.write(f"Last reveal: {reveal}" if reveal else "No reveal yet", (18, SIZE[1] - 20), 24, PALE, "left")
    return canvas.pixels()


def _seat(canvas: Canvas, view: _View, seat: int, at: tuple[float, float], width: float) -> None:
    """Name, cards, lives and number of one seat."""
    s = view.s
    x, y = at
    out = bool(s["out"][seat])
    moves = seat == view.seat and not view.over
    faces = view.worn(seat)
    if moves:
        canvas.box(GOLD, (x, y + 8), (140, 146), 16)
        canvas.box(FELT, (x, y + 8), (134, 140), 14)
    for k, face in enumerate(faces):
        place = (x + (k - (len(faces) - 1) / 2) * (width + 6), y - 12)
        hidden = face.startswith("hidden")
        told = face.removeprefix("hidden").removeprefix(", must be ")
        _card(canvas, place, told if hidden else face, width, face_up=not hidden)
    if not faces:
        canvas.write("out" if out else "", (x, y - 12), 30, DIM)
    me = " (you)" if seat == view.viewer else ""
    canvas.box(INK, (x, y + 44), (120, 22), 11)
    canvas.write(_named(seat) + me, (x, y + 44), 21, DIM if out else GOLD if moves else PAPER)
    lives = view.game.config.lives
    for k in range(lives):
        step = min(18.0, 112 / lives)
        place = (x + (k - (lives - 1) / 2) * step, y + 66)
        left = k < s["lives"][seat]
        if view.game.config.peek:
            _peek_card(canvas, place, left, k < s["open"][seat])
        else:
            _feather(canvas, place, left)
    pointing = view.pointing()
    challenged = s["challenger"] >= 0  # an earlier pointing is told at the top
    notes = ["Coyote card"] if seat == s["holder"] else []
    notes += ["peeked"] if s["peeked"][seat] else []
    notes += ["drew"] if seat == int(s["coyote_by"]) else []
    if challenged and seat in pointing:
        notes.append("points at {}{}".format(*pointing[seat]))
    if notes:
        canvas.write(", ".join(notes), (x, y + 86), 19, GOLD)
    number = int(s["last_bid"][seat])
    if number:
        stands = seat == view.announcer and not view.revealed
        bubble = (x + (width / 2 + 4) * max(1, len(faces)) + 16, y - 40)
        if x > SIZE[0] / 2 + 10:
            bubble = (2 * x - bubble[0], bubble[1])
        canvas.box(PAPER if stands else PALE, bubble, (24 + 11 * len(str(number)), 28), 14)
        canvas.write(str(number), bubble, 26, INK)


def _arrow(canvas: Canvas, at: tuple[float, float], direction: int) -> None:
    """A round arrow the way play goes (clockwise is to the right at the top)."""
    x, y = at
    points = [(x + 22 * math.cos(a), y + 22 * math.sin(a)) for a in np.linspace(math.pi, 2 * math.pi, 24)]
    for a, b in itertools.pairwise(points):
        canvas.line(DIM, a, b, 5)
    tip = x + 22 * direction
    canvas.polygon(DIM, [(tip - 11, y - 2), (tip + 11, y - 2), (tip, y + 14)])


def _strip(canvas: Canvas, view: _View) -> None:
    """The round's announcements, oldest first, as chips that fill two lines at most."""
    made = view.announcements()
    x, y = 18.0, SIZE[1] - 108.0
    if int(view.s["history_len"]) > len(made):
        canvas.write("...", (x, y), 24, DIM, "left")
        x += 28
    for seat, how, number in made:
        words = f"{seat}: {number}" + ("" if how == "raise" else f" {how}")
        wide = canvas.width(words, 22) + 16
        if x + wide > SIZE[0] - 12:
            x, y = 18.0, y + 30
        canvas.box((70, 66, 78), (x + wide / 2, y), (wide, 25), 10)
        canvas.write(words, (x + wide / 2, y), 22, PAPER)
        x += wide + 7
