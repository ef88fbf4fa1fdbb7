"""What the numbers of an observation mean, as data: named sections of one flat vector.

The kernels write the sections in this order; spaces, documentation tables and the layout hash come from here, so
that they cannot drift apart.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Section:
    """A named block of the observation; ``low`` and ``high`` bound each of its numbers."""

    name: str
    shape: tuple[int, ...]
    low: float
    high: float
    meaning: str

    @property
    def size(self) -> int:
        """How many numbers the section has."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class ActionRows:
    """A section whose rows speak of one action each. What is learnt of one such action holds for the others too.

    section: its name. The rows are along its first dimension.
    actions: the action id of each row; -1 where there is none.
    facts: of each row, what is so of its action in every position: as many numbers for each, between -1 and 1.
    """

    section: str
    actions: tuple[int, ...]
    facts: tuple[tuple[float, ...], ...]


class Layout:
    """The sections of an observation in order.

    Attributes:
        sections: the sections, in the order in which they are written.
        size: length L of the flat vector.
        slices: section name -> slice of the flat vector.
        low, high: bounds, float32, shape (L,).
        hash: 16 hex digits that change whenever a name, shape, bound or meaning changes. A policy is trained for
            one layout; the hash in its manifest keeps it from being seated at another.
    """

    def __init__(self, sections: Iterable[Section]) -> None:
        self.sections = tuple(sections)
        self.slices: dict[str, slice] = {}
        start = 0
        for section in self.sections:
            if section.name in self.slices:
                raise ValueError(f"section {section.name!r} appears twice in the layout")
            self.slices[section.name] = slice(start, start + section.size)
            start += section.size
        self.size = start
        self.low = np.concatenate([np.full(s.size, s.low, np.float32) for s in self.sections])
        self.high = np.concatenate([np.full(s.size, s.high, np.float32) for s in self.sections])
        text = "\n".join(f"{s.name}|{s.shape}|{s.low}|{s.high}|{s.meaning}" for s in self.sections)
        self.hash = hashlib.sha256(text.encode()).hexdigest()[:16]

    def __contains__(self, name: str) -> bool:
        return name in self.slices

    def view(self, observation: NDArray[np.float32], name: str) -> NDArray[np.float32]:
        """Section ``name`` of observations (..., L) as a view of shape (..., *section shape).

        Raises KeyError naming the sections there are.
        """
        for section in self.sections:
            if section.name == name:
                part = observation[..., self.slices[name]]
                return part.reshape(*observation.shape[:-1], *section.shape)
        raise KeyError(f"no section {name!r}; there are {', '.join(self.slices)}")

    def markdown(self) -> str:
        """The layout as a Markdown table: index range, name, shape, bounds, meaning."""
        rows = ["| index | section | shape | bounds | meaning |", "|---|---|---|---|---|"]
        for section in self.sections:
            part = self.slices[section.name]
            index = str(part.start) if section.size == 1 else f"{part.start}..{part.stop - 1}"
            shape = " x ".join(map(str, section.shape))
            bounds = f"{section.low:g}..{section.high:g}"
            rows.append(f"| {index} | `{section.name}` | {shape} | {bounds} | {section.meaning} |")
        return "\n".join(rows)
