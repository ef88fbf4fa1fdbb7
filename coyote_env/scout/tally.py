"""Counts over recorded games of SCOUT: what is shown, how often it is scouted, and what rounds bring."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from ..core.tally import Chart

if TYPE_CHECKING:
    from ..core.game import Game
    from ..core.record import Frame


class Tally:
    """Add every frame of every game, in order; then ``lines`` says what was counted."""

    def __init__(self, game: Game) -> None:
        n = game.num_seats
        self._seats, self._games = n, 0
        self._kinds: Counter[str] = Counter()  # actions by kind
        self._lengths: Counter[int] = Counter()  # Shows by their cards
        self._equal = 0  # Shows of two cards and more, all equal
        self._rounds = 0  # finished ones
        self._points = np.zeros(n)  # of finished rounds, by seat
        self._before = np.zeros(n)  # points after the last event
        self._round = 0

    def add(self, frame: Frame) -> None:
        """The table after the next event of a game, or after its deal."""
        s = frame.states[0]
        points = s["points"][: self._seats].astype(float)
        event = frame.event
        self._games += event is None
        if event is not None and not event.illegal:
            kind = re.sub(r"(_\d+)+$|_(left|right)_\w+$", "", event.action)
            self._kinds[kind] += 1
            if kind == "show":
                length = int(event.action.rpartition("_")[2])
                self._lengths[length] += 1
                # A Show that ended the round is no longer on the table; then its kind is not counted.
                self._equal += length > 1 and s["active_len"] == length and s["active"][0] >> 4 == s["active"][1] >> 4
            if s["over"] or s["round"] != self._round:
                self._rounds += 1
                self._points += points - self._before
        self._before, self._round = points, int(s["round"])

    def lines(self) -> list[str]:
        """What was counted, for people."""
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(self._kinds.items()))
        lines = [f"rounds finished {self._rounds:,}", f"actions: {kinds or 'none'}"]
        shows = sum(self._lengths.values())
        if shows:
            lengths = ", ".join(f"{length}: {count:,}" for length, count in sorted(self._lengths.items()))
            mean = sum(length * count for length, count in self._lengths.items()) / shows
            lines.append(f"Shows {shows:,}, {mean:.2f} cards on average; by cards: {lengths}; equal {self._equal:,}")
        if self._rounds:
            means = self._points / self._rounds
            lines += [f"  seat {seat}: {mean:+.2f} points a round" for seat, mean in enumerate(means)]
        return lines

    def figures(self) -> dict[str, float]:
        """Named numbers: ``KIND_a_game`` for every kind of action, and the mean length of a Show."""
        found = {f"{kind}_a_game": count / self._games for kind, count in sorted(self._kinds.items())}
        shows = sum(self._lengths.values())
        if shows:
            found["cards_a_show"] = sum(length * count for length, count in self._lengths.items()) / shows
        return found

    def charts(self) -> list[Chart]:
        """Lengths of Shows; use of actions; points a round by seat."""
        charts = []
        shows = sum(self._lengths.values())
        if shows:
            lengths = sorted(self._lengths)
            shares = [self._lengths[length] / shows for length in lengths]
            charts.append(Chart("Shows by length", "cards", "share of all Shows", "bars", (("", lengths, shares),)))
        if self._kinds:
            used = {kind: count / self._games for kind, count in sorted(self._kinds.items())}
            charts.append(Chart("Actions", "", "times a game", "bars", (("", list(used), list(used.values())),)))
        if self._rounds:
            means = (self._points / self._rounds).tolist()
            seats = list(range(self._seats))
            charts.append(Chart("Points a round", "seat", "mean points", "bars", (("", seats, means),)))
        return charts
