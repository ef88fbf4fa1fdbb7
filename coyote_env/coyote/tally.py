"""Counts over recorded games of COYOTE: what is announced, and who is right when somebody challenges."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..core.tally import Chart, bins
from . import engine

if TYPE_CHECKING:
    from ..core.game import Game
    from ..core.record import Frame


class Tally:
    """Add every frame of every game, in order; then ``lines`` says what was counted."""

    def __init__(self, game: Game) -> None:
        n = game.num_seats
        self._game, self._games = game, 0
        self._kinds: Counter[str] = Counter()  # actions by kind
        self._numbers = self._opening = self._openings = 0  # sums: numbers announced by `bid`, those that open a round
        self._challenged = self._total = self._margin = 0  # sums over challenges: number, total, total - number
        self._settled = self._right = 0  # challenges; those whose challenger won
        self._made, self._won = [0] * n, [0] * n  # by seat: challenges made, won by the challenger
        self._faced, self._held = [0] * n, [0] * n  # by seat: own announcements challenged, and true
        self._opened = False  # whether something was announced in the running round
        self._standing = (0, -1)  # number and announcer before the event
        self._round = 0
        self._pending: tuple[int, int, int] | None = None  # number, announcer, challenger, until it is settled
        self._before: NDArray[np.void] | None = None  # the table when the pending challenge was made
        self._last: NDArray[np.void] | None = None  # the table after the event before
        # Settled challenges: the table when it was made, number, total, announcer, challenger.
        self._challenges: list[tuple[NDArray[np.void], int, int, int, int]] = []

    def add(self, frame: Frame) -> None:
        """The table after the next event of a game, or after its deal."""
        s = frame.states[0]
        event = frame.event
        if event is None:
            self._opened, self._pending = False, None
            self._games += 1
        elif event.illegal:
            self._pending = None
        else:
            kind = re.sub(r"[+_]\d+$", "", event.action)
            self._kinds[kind] += 1
            if kind == "bid":
                number = int(event.action.removeprefix("bid_"))
                self._numbers += number
                if not self._opened:
                    self._openings += 1
                    self._opening += number
                self._opened = True
            elif kind == "challenge":
                self._pending = (*self._standing, event.seat)
                self._before = self._last
            # Some editions ask others before they reveal; the next round, or the end, says that it was settled.
            if self._pending is not None and (s["over"] or s["round"] != self._round):
                number, announcer, challenger = self._pending
                total, right = int(s["reveal_total"]), int(s["reveal_loser"]) == announcer
                self._challenged += number
                self._total += total
                self._margin += total - number
                self._settled += 1
                self._right += right
                self._made[challenger] += 1
                self._won[challenger] += right
                self._faced[announcer] += 1
                self._held[announcer] += not right
                assert self._before is not None
                self._challenges.append((self._before, number, total, announcer, challenger))
                self._pending = None
        if s["round"] != self._round:
            self._opened = False
        self._standing, self._round = (int(s["bid"]), int(s["announcer"])), int(s["round"])
        self._last = frame.states.copy()

    def lines(self) -> list[str]:
        """What was counted, for people."""
        bids, rounds = self._kinds["bid"], self._openings
        told = [f"rounds opened {rounds:,}"]
        if rounds:
            told.append(f"opening number {self._opening / rounds:.1f}")
            told.append(f"numbers a round {bids / rounds:.2f}, {self._numbers / bids:.1f} on average")
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(self._kinds.items()))
        lines = ["; ".join(told), f"actions: {kinds or 'none'}"]
        if self._settled:
            mean = [value / self._settled for value in (self._challenged, self._total, self._margin)]
            lines.append(
                f"challenges {self._settled:,}, the challenger was right in {self._right / self._settled:.1%}; "
                f"number {mean[0]:.1f}, total {mean[1]:.1f}, total - number {mean[2]:+.1f} on average"
            )
            for seat, (made, won, faced, held) in enumerate(
                zip(self._made, self._won, self._faced, self._held, strict=True)
            ):
                lines.append(
                    f"  seat {seat}: challenged {made:,} times"
                    + (f", right in {won / made:.1%}" if made else "")
                    + f"; was challenged {faced:,} times"
                    + (f", held in {held / faced:.1%}" if faced else "")
                )
        return lines

    def figures(self) -> dict[str, float]:
        """Named numbers: ``KIND_a_game`` for every kind of action, and means over rounds and challenges."""
        found = {f"{kind}_a_game": count / self._games for kind, count in sorted(self._kinds.items())}
        if self._openings:
            found["opening_number"] = self._opening / self._openings
            found["numbers_a_round"] = self._kinds["bid"] / self._openings
        if self._settled:
            found["challenges_right"] = self._right / self._settled
            found["challenged_number"] = self._challenged / self._settled
            found["total_minus_number"] = self._margin / self._settled
        return found

    def charts(self) -> list[Chart]:
        """Numbers challenged against totals; how well the odds foretell who is right; use of variants."""
        charts = []
        if self._challenges:
            totals, numbers = [c[2] for c in self._challenges], [c[1] for c in self._challenges]
            series = (("a challenge", totals, numbers),)
            title = "Numbers that were challenged"
            charts.append(Chart(title, "total of all cards", "number announced", "points", series, diagonal=True))
            right = [total < number for _, number, total, _, _ in self._challenges]
            by_challenger = [self._too_high(before, number, seat) for before, number, _, _, seat in self._challenges]
            by_announcer = [self._too_high(before, number, seat) for before, number, _, seat, _ in self._challenges]
            calibration = (
                ("as the challenger sees it", *bins(by_challenger, right)),
                ("as the announcer sees it", *bins(by_announcer, right)),
            )
            x, y = "exact odds that the number is too high", "share of challenges that were right"
            charts.append(Chart("Calibration of challenges", x, y, "points", calibration, diagonal=True))
        used = {kind: n / self._games for kind, n in sorted(self._kinds.items()) if kind not in ("bid", "challenge")}
        if used:
            bars = (("", list(used), list(used.values())),)
            charts.append(Chart("Actions beside numbers and challenges", "", "times a game", "bars", bars))
        return charts

    def _too_high(self, before: NDArray[np.void], number: int, viewer: int) -> float:
        """P(total < number) from what ``viewer`` sees."""
        tail = np.zeros(2)  # P(total = number - 1 or less), P(total >= number)
        engine.seat_distribution(self._game.rules, before, viewer, number - 1, tail)
        return float(tail[0])
