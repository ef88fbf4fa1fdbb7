"""SCOUT for people: the table as plain text, and as a picture.

Both show what one seat may see (``viewer``), or every card (None).
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..core.canvas import DIM, FELT, GOLD, INK, PALE, PAPER, SIZE, Canvas
from ..core.game import Game
from . import engine
from .rules import HIGHER, LOWER

WIDTH = 100  # columns of the text
_GLUE = "\u00a0"  # a space at which no line is broken; a plain one in the end


def _named(seat: int) -> str:
    return f"player_{seat}"


class _View:
    """What ``viewer`` may see of a table."""

    def __init__(self, game: Game, states: NDArray[np.void], viewer: int | None) -> None:
        self.game, self.viewer = game, viewer
        self.s = s = states[0]
        self.n = game.num_seats
        self.over = bool(s["over"])
        self.seat = int(s["seat"])
        self.phase = engine.PHASES[s["phase"]]
        self.active = self._pairs(s["active"][: s["active_len"]])
        mask = np.zeros((1, game.num_actions), np.int8)
        game.legal_mask(game.rules, states, mask)
        self.legal = [game.action_names[a] for a in np.flatnonzero(mask[0])]

    @staticmethod
    def _pairs(cards: NDArray[np.uint8]) -> list[tuple[int, int]]:
        return [(card >> 4, card & 15) for card in cards.tolist()]

    def sees(self, seat: int) -> bool:
        """Whether the viewer sees that hand."""
        return self.viewer is None or self.viewer == seat

    def hand(self, seat: int) -> list[tuple[int, int]]:
        """(upper, lower) of the cards of a hand from left to right."""
        return self._pairs(self.s["hand"][seat, : self.s["hand_len"][seat]])

    def shows(self) -> list[tuple[int, int]]:
        """(start, length) of the legal Shows of the seat to move."""
        names = [name.split("_") for name in self.legal if name.startswith("show_")]
        return [(int(start), int(length)) for _, start, length in names]

    def known(self, seat: int) -> list[str]:
        """The cards that everybody knows a seat to hold, having scouted them: "3/7", whichever way up."""
        taken = self._pairs(self.s["inserting"].reshape(1))[0] if self.seat == seat else (0, 0)
        return [
            f"{LOWER[card]}/{HIGHER[card]}"
            for card in np.flatnonzero(self.s["place"] == engine.HELD + seat)
            if {int(LOWER[card]), int(HIGHER[card])} != set(taken)
        ]

    def sentence(self) -> str:
        """What the seat to move has to decide."""
        s, who = self.s, _named(self.seat)
        if self.phase == "orient":
            return f"{who} keeps its hand or flips it"
        if s["inserting"]:
            upper, lower = self._pairs(s["inserting"].reshape(1))[0]
            either = f"the card {min(upper, lower)}/{max(upper, lower)}"
            card = f"{upper} over {lower}" if self.sees(self.seat) else either
            return f"{who} inserts {card}" + (", to show then" if self.phase == "show_insert" else "")
        if self.phase == "show":
            return f"{who} must show, having scouted"
        return f"{who}'s turn"

    def ending(self) -> str:
        """Who has won."""
        returns = self.s["returns"][: self.n]
        best = [_named(seat) for seat in range(self.n) if returns[seat] > returns.max() - 1e-9]
        return " and ".join(best) + " won"


def _rows(cards: list[tuple[int, int]], marked: set[int] | None = None) -> list[str]:
    """A hand or a Show as rows of numbers, upper ones above lower ones; ``marked``: places in a legal Show."""
    if not cards:
        return ["  (no cards)"]
    rows = [("upper", [str(upper) for upper, _ in cards]), ("lower", [str(lower) for _, lower in cards])]
    if marked is not None:
        places = range(len(cards))
        marks = ["*" if place in marked else "" for place in places]
        rows = [("place", [str(place) for place in places]), *rows, ("shows", marks)]
    return [f"  {label}  {' '.join(f'{cell:>2}' for cell in cells)}".rstrip() for label, cells in rows]


def _options(view: _View) -> list[str]:
    """What the seat to move may do, a line for each kind of action."""
    hand = view.hand(view.seat)
    groups: dict[str, list[str]] = {}
    for start, length in view.shows():
        numbers = _GLUE.join(str(upper) for upper, _ in hand[start : start + length])
        groups.setdefault("show", []).append(f"{numbers}{_GLUE}(show_{start}_{length})")
    for name in view.legal:
        if name.startswith("insert_"):
            groups.setdefault("insert at", []).append(name.removeprefix("insert_"))
        elif not name.startswith("show_"):
            groups.setdefault("choose", []).append(name)
    lines = []
    for label, words in groups.items():
        lines += textwrap.wrap(
            ", ".join(words), WIDTH, initial_indent=f"{label:<13}", subsequent_indent=" " * 13,
            break_on_hyphens=False, break_long_words=False,
        )  # fmt: skip
    return lines


def text(game: Game, states: NDArray[np.void], viewer: int | None) -> str:
    """The table for people to read, as ``viewer`` sees it (None: every card).

    Plain text without colour codes, no line break at the end. ``states``: one record, shape (1,).
    """
    view = _View(game, states, viewer)
    s, n = view.s, view.n
    right = "every card shown" if viewer is None else f"as {_named(viewer)} sees it"
    left = f"SCOUT, {n} seats, round {s['round']} of {game.config.rounds}"
    if view.over:
        left = f"SCOUT, {n} seats, over after round {s['round']}"
    lines = [f"{left:<{WIDTH - len(right)}}{right}", ""]

    two = n == 2
    tokens, scout_show = ("tokens left", "") if two else ("tokens", "scout & show")
    rows = [["", "seat", "cards", "captured", tokens, scout_show, "points", ""]]
    for seat in range(n):
        marks = ["you"] if seat == viewer else []
        if seat == s["owner"] and not view.over:
            marks.append("owns the Show" if s["active_len"] else "made the last Show")
        known = view.known(seat)
        if known and not view.sees(seat):
            marks.append("holds " + ", ".join(known))
        if view.over:
            marks.append(f"return {float(s['returns'][seat]):+.3g}")
        left_to_use = "" if two else "yes" if s["scout_show"][seat] else "used"
        cells = (s["hand_len"][seat], s["captured"][seat], s["tokens"][seat], left_to_use, s["points"][seat])
        mover = "->" if seat == view.seat and not view.over else ""
        rows.append([mover, _named(seat), *map(str, cells), "; ".join(marks)])
    widths = [max(len(row[column]) for row in rows) for column in range(8)]
    lines += [("  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=True))).rstrip() for row in rows]

    if not view.over:
        lines += ["", "active Show" if view.active else "active Show: none"]
        lines += _rows(view.active) if view.active else []
        for seat in range(n):
            if not view.sees(seat):
                continue
            covered = None
            if seat == view.seat and view.phase in ("turn", "show"):
                covered = {start + k for start, length in view.shows() for k in range(length)}
            lines += ["", f"hand of {_named(seat)}", *_rows(view.hand(seat), covered)]
        turns = int(game.config.stall_limit) - int(s["stall"])
        lines += ["", f"to move      {view.sentence()}; {turns} turns left without a capture"]
        if view.sees(view.seat):
            lines += _options(view)
    else:
        lines += ["", f"the end      {view.ending()}"]
    return "\n".join(lines).replace(_GLUE, " ")


# ---------------------------------------------------------------------------------------------------------------
# Picture

_BACK = (112, 78, 128)
# By number, from low to high: cards that follow one another have neighbouring colours.
_NUMBERS = (
    (58, 98, 168), (48, 122, 160), (44, 140, 130), (58, 140, 82), (112, 146, 62),
    (168, 142, 48), (196, 118, 46), (190, 84, 52), (172, 58, 84), (126, 66, 138),
)  # fmt: skip


def _card(canvas: Canvas, at: tuple[float, float], pair: tuple[int, int] | None, width: float, seen: float) -> None:
    """A card with its upper number large and its lower one small; None: its back. The numbers stand in the part that
    the next card leaves to be ``seen``, from the left."""
    height = width * 1.5
    x, y = at
    canvas.box(INK, (x + 1, y + 1.5), (width, height), 5)
    canvas.box(PAPER, at, (width, height), 5)
    if pair is None:
        canvas.box(_BACK, at, (width - 4, height - 4), 4)
        return
    upper, lower = pair
    canvas.box(_NUMBERS[upper - 1], (x, y - height * 0.14), (width - 5, height * 0.66), 4)
    x -= (width - seen) / 2
    for number, size, down, colour in ((upper, 0.86, -0.13, PAPER), (lower, 0.5, 0.35, _NUMBERS[lower - 1])):
        fits = (seen - 2) / (0.42 * len(str(number)))  # a digit is that wide, in heights
        canvas.write(str(number), (x, y + height * down), round(min(width * size, fits)), colour)


def _row(
    canvas: Canvas, center: tuple[float, float], cards: Sequence[tuple[int, int] | None], width: float, most: float
) -> None:
    """Cards side by side, or overlapping where there is no room for that."""
    step = min(width + 3, (most - width) / max(1, len(cards) - 1))
    left = center[0] - step * (len(cards) - 1) / 2
    for k, pair in enumerate(cards):
        seen = width if k == len(cards) - 1 else min(step, width)
        _card(canvas, (left + k * step, center[1]), pair, width, seen)


def image(game: Game, states: NDArray[np.void], viewer: int | None) -> NDArray[np.uint8]:
    """The table as a picture, uint8 (H, W, 3), as ``viewer`` sees it (None: every card).

    Raises ImportError naming the extra to install where pygame is missing.
    """
    view = _View(game, states, viewer)
    s, n = view.s, view.n
    canvas = Canvas()
    (x, y), places = canvas.table(n, viewer)
    for seat, at in enumerate(places):
        _seat(canvas, view, seat, at)
    if view.over:
        canvas.write("game over", (x, y - 40), 30, GOLD)
        canvas.write(view.ending(), (x, y), 26)
    else:
        owner = f"Show of {_named(int(s['owner']))}" if s["owner"] >= 0 else "no Show yet"
        canvas.write(owner + ("" if view.active or s["owner"] < 0 else ", scouted away"), (x, y - 76), 24, PALE)
        _row(canvas, (x, y - 14), view.active, 50, 520)
        canvas.write(view.sentence(), (x, y + 48), 23, GOLD)
        turns = int(game.config.stall_limit) - int(s["stall"])
        canvas.write(f"{turns} turns left without a capture", (x, y + 74), 20, DIM)
    title = f"SCOUT   round {s['round']} of {game.config.rounds}   "
    title += "every card shown" if viewer is None else f"as {_named(viewer)} sees it"
    canvas.write(title, (18, 22), 24, PALE, "left")
    if viewer is not None:
        canvas.write("your hand", (18, SIZE[1] - 108), 22, DIM, "left")
        _row(canvas, (SIZE[0] / 2, SIZE[1] - 50), view.hand(viewer), 54, SIZE[0] - 30)
    return canvas.pixels()


def _seat(canvas: Canvas, view: _View, seat: int, at: tuple[float, float]) -> None:
    """Name, cards and counters of one seat."""
    s = view.s
    x, y = at
    moves = seat == view.seat and not view.over
    if moves:
        canvas.box(GOLD, (x, y + 18), (210, 128), 16)
        canvas.box(FELT, (x, y + 18), (204, 122), 14)
    hand = view.hand(seat)
    _row(canvas, (x, y - 8), hand if view.sees(seat) else [None] * len(hand), 34, 190)
    me = " (you)" if seat == view.viewer else ""
    canvas.box(INK, (x, y + 34), (130, 22), 11)
    canvas.write(_named(seat) + me, (x, y + 34), 21, GOLD if moves else PAPER)
    spare = ", scout & show" if s["scout_show"][seat] else ""
    canvas.write(f"{len(hand)} cards{spare}", (x, y + 53), 19, DIM)
    counters = f"captured {s['captured'][seat]}, tokens {s['tokens'][seat]}, points {s['points'][seat]}"
    canvas.write(counters, (x, y + 69), 19, PALE)
