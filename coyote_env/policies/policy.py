"""What a policy is, and the error for one that misbehaves."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from coyote_env.core.arguments import shown
from coyote_env.core.players import PolicyError

__all__ = ["Policy", "PolicyError"]


def drawn(rng: Any, rows: int, name: str) -> npt.NDArray[np.float64]:
    """One number of [0, 1) a row, float64[rows]. Raises TypeError that names the policy for what is no generator."""
    if not hasattr(rng, "random"):
        raise TypeError(f"policy {name!r} draws its actions: rng must be a numpy.random.Generator, not {shown(rng)}")
    return np.asarray(rng.random(rows))


@runtime_checkable
class Policy(Protocol):
    """Answers for many seats at once, each from its own view alone.

    `act` gets one row a seat that is to move: `observation` float32[B, L] and `action_mask` int8[B, A] (1 legal, at
    least one a row), fresh arrays that it may keep; and the generator to draw from, so that the same state of it gives
    the same answers. It returns B action ids (integers), each legal in its row. Nothing is remembered between calls:
    rows of different games come in any order and grouping.
    """

    name: str

    def act(
        self,
        observation: npt.NDArray[np.float32],
        action_mask: npt.NDArray[np.int8],
        rng: np.random.Generator,
    ) -> npt.NDArray[np.int64]:
        """One legal action a row, int64[B]."""
        ...
