"""What a run remembers of itself beside its learner: rows of its log, measurements, when the next ones are due."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .files import read_bounded
from .report import Result

#: Bytes of what a run says of its end.
MAX_JSON = 10_000_000


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
        rows = [{_text(name): _number(value) for name, value in row.items()} for row in data["rows"]]
        for row in rows:
            count(row["steps"])
        measurements = []
        for steps, results in data["measurements"]:
            measurements.append((count(steps), results_of(results)))
        seconds = _number(data["seconds"])
        due = [count(data[name]) for name in ("next_checkpoint", "next_measurement")]
        if seconds < 0:
            raise ValueError(f"seconds = {seconds!r}")
        return cls(rows, measurements, due[0], due[1], seconds)


def _number(value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ValueError(f"{value!r:.50} where a number belongs")
    number: float = value
    return number


def count(value: Any, most: int = 2**53) -> int:
    """A number of things, at most `most`, read from a file. Raises ValueError for anything else."""
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError(f"{value!r:.50} where a count belongs")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.isprintable():
        raise ValueError(f"{value!r:.50} where a name belongs")
    return value


def results_of(data: Any) -> list[Result]:
    """Results as JSON holds them, one at the least. Raises ValueError, TypeError or KeyError for anything else."""
    if not isinstance(data, list) or not data:
        raise ValueError(f"{data!r:.50} where results belong")
    return [_result(result) for result in data]


def read_results(path: Path) -> list[Result]:
    """Those in an evaluation.json. Raises OSError, and as ``results_of``."""
    try:
        return results_of(json.loads(read_bounded(path, MAX_JSON)))
    except RecursionError:
        raise ValueError(f"{path}: lists within lists") from None


def _result(data: Mapping[str, Any]) -> Result:
    result = Result(**data)
    _text(result.opponent)
    for number in (result.games, result.wins, result.share, result.low, result.high, result.fair):
        _number(number)
    for games, wins in result.seats:
        count(games)
        _number(wins)
    return result
