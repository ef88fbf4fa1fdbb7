"""What a policy is, and the error for one that misbehaves."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from coyote_env.core.players import PolicyError

__all__ = ["Policy", "PolicyError"]


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
