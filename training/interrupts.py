"""Ctrl-C and SIGTERM: at once where nothing is lost, at the next safe point where something would be."""

from __future__ import annotations

import functools
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any


class Interrupts:
    """While entered, SIGINT and SIGTERM raise KeyboardInterrupt, except in `deferred`; `signal` is the one that came.

    In `deferred` the first signal only makes `requested` true, and the block is expected to end soon; a second raises.
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        self._deferring = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        again = self.requested
        self.signal = number
        if again or not self._deferring:
            raise KeyboardInterrupt

    @property
    def requested(self) -> bool:
        """A signal has come."""
        return self.signal is not None

    @property
    def exit_code(self) -> int:
        """What a shell expects of a process ended by this signal: 130 for Ctrl-C, 143 for SIGTERM."""
        return 128 + (self.signal if self.signal is not None else signal.SIGINT)

    @property
    def name(self) -> str:
        """The signal in words."""
        return "Ctrl-C" if self.signal in (None, signal.SIGINT) else signal.Signals(self.signal).name

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """A block that looks at `requested` often and ends itself."""
        self._deferring = True
        try:
            yield
        finally:
            self._deferring = False


def interruptible(main: Callable[[Sequence[str] | None], int]) -> Callable[..., int]:
    """A command that a signal ends with a line and the exit code of ``Interrupts``, not with a stack."""

    @functools.wraps(main)
    def command(arguments: Sequence[str] | None = None) -> int:
        with Interrupts() as interrupts:
            try:
                return main(arguments)
            except BaseException as error:
                # A signal inside somebody's C callback (numba compiling) is swallowed there and ends as their failure.
                if not interrupts.requested or isinstance(error, SystemExit):
                    raise
                print(f"stopped by {interrupts.name}; files written so far are whole", file=sys.stderr)
                return interrupts.exit_code

    return command
