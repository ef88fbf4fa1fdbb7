"""`make test` runs the tests marked `engine` three times; here each run shows that it is the one it claims to be."""

from __future__ import annotations

import os

import numpy as np
import pytest

from coyote_env.core.compile import njit
from coyote_env.coyote.engine import STATE


@njit()
def read_out(states: np.ndarray, i: int, seat: int) -> int:
    """A read as the engine's kernels make them."""
    return int(states[i]["out"][seat])


@pytest.mark.engine
def test_an_index_past_the_end_is_an_error_in_the_legs_that_look():
    states = np.zeros(1, STATE)
    assert read_out(states, 0, 9) == 0
    compiled = hasattr(read_out, "py_func")
    assert compiled == (os.environ.get("NUMBA_DISABLE_JIT") != "1")
    if not compiled or os.environ.get("NUMBA_BOUNDSCHECK") == "1":
        with pytest.raises(IndexError):
            read_out(states, 0, 10)
