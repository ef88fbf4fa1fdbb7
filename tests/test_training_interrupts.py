"""Signals to commands: what they are ended with."""

from __future__ import annotations

import os
import signal

import pytest

from training.interrupts import interruptible


@pytest.mark.parametrize(("number", "name"), [(signal.SIGINT, "Ctrl-C"), (signal.SIGTERM, "SIGTERM")])
def test_a_command_ends_with_a_line_and_the_signals_exit_code(capsys, number, name):
    before = signal.getsignal(number)

    @interruptible
    def command(arguments):
        os.kill(os.getpid(), number)
        raise AssertionError("not reached")

    assert command([]) == 128 + number
    assert capsys.readouterr().err == f"stopped by {name}; files written so far are whole\n"
    assert signal.getsignal(number) is before


def test_a_signal_that_somebody_swallowed_is_not_their_failure(capsys):
    @interruptible
    def command(arguments):
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt:
            raise ImportError("numba failed to import") from None

    assert command([]) == 130
    assert capsys.readouterr().err.startswith("stopped by Ctrl-C")


def test_other_failures_and_results_come_through():
    @interruptible
    def failing(arguments):
        raise ValueError("not a signal")

    with pytest.raises(ValueError, match="not a signal"):
        failing([])
    assert interruptible(lambda arguments: 2)([]) == 2
