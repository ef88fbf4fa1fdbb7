"""A picture to draw a table on, for the renderings of all games. pygame is imported when a picture is made."""

from __future__ import annotations

import contextlib
import importlib
import io
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

SIZE = (1000, 790)  # width and height of the picture
SCALE = 2  # drawn this much larger and shrunk: edges are smooth on any version of pygame

FLOOR, RIM, FELT, INK = (34, 30, 38), (94, 62, 40), (52, 96, 78), (24, 24, 28)
PAPER, PALE, GOLD, DIM = (250, 246, 236), (214, 224, 216), (244, 196, 84), (150, 170, 158)


def _pygame() -> Any:
    """pygame, for drawing on surfaces in memory: no display is opened, nothing of SDL is configured."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # it greets on import
            pygame = importlib.import_module("pygame")
            importlib.import_module("pygame.font")
    except ImportError as error:
        raise ImportError(
            'render_mode="rgb_array" draws with pygame, which is not installed: pip install "coyote-env[render]"'
        ) from error
    return pygame


class Canvas:
    """A surface in memory, in units of the finished picture."""

    def __init__(self) -> None:
        self.pygame = _pygame()
        self.pygame.font.init()
        self.surface = self.pygame.Surface((SIZE[0] * SCALE, SIZE[1] * SCALE))
        self.fonts: dict[int, Any] = {}

    def font(self, size: int) -> Any:
        """A font of that height."""
        if size not in self.fonts:
            self.fonts[size] = self.pygame.font.Font(None, size * SCALE)
        return self.fonts[size]

    def width(self, words: str, size: int) -> float:
        """How wide words are."""
        return float(self.font(size).size(words)[0] / SCALE)

    def ellipse(self, color: tuple[int, ...], center: tuple[float, float], radii: tuple[float, float]) -> None:
        """A filled ellipse."""
        (x, y), (a, b) = center, radii
        box = [round(v * SCALE) for v in (x - a, y - b, 2 * a, 2 * b)]
        self.pygame.draw.ellipse(self.surface, color, box)

    def box(
        self, color: tuple[int, ...], center: tuple[float, float], size: tuple[float, float], round_by: float = 8
    ) -> None:
        """A filled box with round corners, by its centre and size."""
        (x, y), (w, h) = center, size
        rect = self.pygame.Rect(*[round(v * SCALE) for v in (x - w / 2, y - h / 2, w, h)])
        self.pygame.draw.rect(self.surface, color, rect, border_radius=round(round_by * SCALE))

    def polygon(self, color: tuple[int, ...], points: Iterable[tuple[float, float]]) -> None:
        """A filled polygon."""
        self.pygame.draw.polygon(self.surface, color, [(x * SCALE, y * SCALE) for x, y in points])

    def line(self, color: tuple[int, ...], a: tuple[float, float], b: tuple[float, float], width: float) -> None:
        """A line from a to b."""
        ends = [tuple(v * SCALE for v in point) for point in (a, b)]
        self.pygame.draw.line(self.surface, color, *ends, round(width * SCALE))

    def write(
        self, words: str, at: tuple[float, float], size: int, color: tuple[int, ...] = PAPER, align: str = "center"
    ) -> None:
        """Words on one line, made smaller where they would not fit."""
        while size > 8 and self.width(words, size) > SIZE[0] - 36:
            size -= 1
        image = self.font(size).render(words, True, color)
        anchor = {"center": "center", "left": "midleft", "right": "midright"}[align]
        self.surface.blit(image, image.get_rect(**{anchor: [round(v * SCALE) for v in at]}))

    def pixels(self) -> NDArray[np.uint8]:
        """uint8 (H, W, 3)."""
        small = self.pygame.transform.smoothscale(self.surface, SIZE)
        flat = np.frombuffer(self.pygame.image.tobytes(small, "RGB"), np.uint8)
        return flat.reshape(SIZE[1], SIZE[0], 3).copy()

    def table(self, seats: int, viewer: int | None) -> tuple[tuple[float, float], list[tuple[float, float]]]:
        """Draws a table seen from above. Returns its centre, and the place of each seat: the viewer's at the bottom,
        then clockwise."""
        self.surface.fill(FLOOR)
        x, y = center = (SIZE[0] / 2, 352.0)
        self.ellipse(INK, (x, y + 6), (452, 292))
        self.ellipse(RIM, center, (450, 290))
        self.ellipse(FELT, center, (432, 272))
        angles = [math.pi / 2 + 2 * math.pi * (seat - (viewer or 0)) / seats for seat in range(seats)]
        return center, [(x + 362 * math.cos(angle), y - 14 + 220 * math.sin(angle)) for angle in angles]
