"""What games say of themselves in figures and pictures: counted by each game's own ``Tally``, read by any command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .record import Frame


@dataclass(frozen=True)
class Chart:
    """A picture as data, for whoever can draw.

    Fields:
        title, x_label, y_label: texts.
        kind: "points", or "bars" (one at each x, which may be names; a single series).
        series: (name, xs, ys) each.
        diagonal: draw the line y = x.
    """

    title: str
    x_label: str
    y_label: str
    kind: str
    series: tuple[tuple[str, Sequence[Any], Sequence[float]], ...]
    diagonal: bool = False


class Tally(Protocol):
    """Counts over games, made of the game: add every frame of every game in order, then ask."""

    def add(self, frame: Frame) -> None:
        """The table after the next event of a game, or after its deal."""
        ...

    def lines(self) -> list[str]:
        """What was counted, for people."""
        ...

    def figures(self) -> dict[str, float]:
        """The same as named numbers; those for which nothing was counted are left out."""
        ...

    def charts(self) -> list[Chart]:
        """Pictures of it; those for which nothing was counted are left out."""
        ...


def bins(chances: Sequence[float], outcomes: Sequence[bool], count: int = 10) -> tuple[list[float], list[float]]:
    """Calibration: of predictions in [0, 1], cut into ``count`` equal ranges, the mean of each range that has any, and
    how often they came true."""
    groups: list[list[tuple[float, bool]]] = [[] for _ in range(count)]
    for chance, outcome in zip(chances, outcomes, strict=True):
        groups[min(int(chance * count), count - 1)].append((chance, outcome))
    filled = [group for group in groups if group]
    means = [sum(chance for chance, _ in group) / len(group) for group in filled]
    return means, [sum(outcome for _, outcome in group) / len(group) for group in filled]
