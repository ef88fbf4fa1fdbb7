"""The progress display: a bar on a terminal, a line now and then elsewhere (a log, CI)."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TextIO

from tqdm import tqdm

from .report import Result

#: Seconds between two lines where there is no terminal.
LINE_INTERVAL = 20.0


class Progress:
    """Shows steps, steps/s, time left and the latest win rates.

    Args:
        total: steps of the whole run.
        done: those made already, by an earlier process.
        stream: where to; standard error by default, so that standard output holds results only.
    """

    def __init__(self, total: int, stream: TextIO | None = None, done: int = 0) -> None:
        self.total = total
        self.done = done
        self.stream: TextIO | None = stream if stream is not None else sys.stderr  # None: it was closed by the caller
        self._start = self._last_line = time.monotonic()
        self._wins = ""
        self._bar: tqdm | None = None
        if self.stream is not None and self.stream.isatty():
            self._bar = tqdm(
                total=total,
                initial=min(done, total),
                file=self.stream,
                unit=" steps",
                unit_scale=True,
                dynamic_ncols=True,
            )

    def measured(self, steps: int, results: Sequence[Result]) -> None:
        """New win rates, after so many steps."""
        self._wins = f"wins at {steps:,}: " + ", ".join(f"{r.opponent} {r.share:.0%}" for r in results)
        if self._bar is not None:
            self._bar.set_postfix_str(self._wins)

    def update(self, steps: int) -> None:
        """`steps` have been made in all."""
        if self._bar is not None:
            self._bar.update(min(steps, self.total) - self._bar.n)
            return
        now = time.monotonic()
        if now - self._last_line >= LINE_INTERVAL or steps >= self.total:
            self._last_line = now
            rate = (steps - self.done) / max(now - self._start, 1e-9)
            left = duration(max(0, self.total - steps) / max(rate, 1e-9))
            wins = f"; {self._wins}" if self._wins else ""
            share = min(1.0, steps / self.total)
            line = f"{steps:,} of {self.total:,} steps ({share:.0%}), {rate:,.0f} steps/s, {left} left{wins}"
            if self.stream is not None:
                print(line, file=self.stream, flush=True)

    def close(self) -> None:
        """Leave the display as it stands."""
        if self._bar is not None:
            self._bar.close()


def duration(seconds: float) -> str:
    """Minutes and seconds, with hours where there are any."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes:02d}m" if hours else f"{minutes}m {rest:02d}s"
