"""What a run remembers of itself beside its learner: rows of its log, measurements, when the next ones are due."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from .report import Result


@dataclass
class Log:
    """Fields:
    rows: of ``progress.csv``, one a rollout.
    measurements: (decisions, results) of the matches on the way.
    next_checkpoint, next_measurement: decisions at which they are due.
    seconds: that earlier processes of the run spent on it.
    """

    rows: list[dict[str, float]] = field(default_factory=list)
    measurements: list[tuple[int, list[Result]]] = field(default_factory=list)
    next_checkpoint: int = 0
    next_measurement: int = 0
    seconds: float = 0.0

    def to_json(self, seconds: float) -> dict[str, Any]:
        """As JSON can hold it, with the seconds up to now."""
        return asdict(self) | {"seconds": seconds}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Log:
        """Read back. Raises ValueError, TypeError or KeyError for anything else."""
        rows = [dict(row) for row in data["rows"]]
        for row in rows:
            if not all(isinstance(key, str) and type(value) in (int, float) for key, value in row.items()):
                raise ValueError("a row of the log holds something other than numbers")
            if "steps" not in row:
                raise ValueError("a row of the log lacks its steps")
        measurements = [
            (int(steps), [Result(**result) for result in results]) for steps, results in data["measurements"]
        ]
        seconds = float(data["seconds"])
        if not 0 <= seconds < math.inf:
            raise ValueError(f"seconds = {seconds!r}")
        return cls(rows, measurements, int(data["next_checkpoint"]), int(data["next_measurement"]), seconds)
