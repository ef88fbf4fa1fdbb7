"""COYOTE as text and as a picture."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..core.game import Game


def text(game: Game, states: NDArray[np.void], viewer: int | None) -> str:
    """The table for people to read, as ``viewer`` sees it (None: all cards)."""
    s = states[0]
    faces = game.config.faces
    lines = [f"round {s['round']}, {s['live']} live, pile {s['pile_size']}, bid {s['bid']}"]
    for seat in range(game.num_seats):
        hidden = seat == viewer and not s["over"]
        worn = ["hidden" if hidden else faces[c] for c in s["cards"][seat, : s["num_cards"][seat]]]
        lines.append(f"seat {seat}: lives {s['lives'][seat]}, wears {' '.join(worn)}")
    return "\n".join(lines)


def image(game: Game, states: NDArray[np.void], viewer: int | None) -> NDArray[np.uint8]:
    """The table as a picture, uint8 (H, W, 3)."""
    raise NotImplementedError
