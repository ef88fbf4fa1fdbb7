"""Checks of what games are made with. What is refused is named, with its value and what is allowed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np

R = TypeVar("R")


def shortened(value: object, most: int = 60) -> str:
    """``value`` for an error message: one line of printable characters, never long."""
    text = value if isinstance(value, str) else repr(value)
    text = "".join(c if c.isprintable() else "?" for c in " ".join(text.split()[:most]))
    return text if len(text) <= most else text[: most - 3] + "..."


def shown(value: object) -> str:
    """``repr(value)`` for an error message: one line, never long, whatever somebody has handed in."""
    try:
        text = repr(value)
    except Exception:  # an integer of thousands of digits, or an object whose repr fails
        text = f"a {type(value).__name__} that cannot be shown"
    return shortened(text, 200)


def choice(field: str, value: object, allowed: Iterable[str]) -> str:
    """``value``, one of these texts. ValueError otherwise."""
    names = tuple(allowed)
    if not isinstance(value, str) or value not in names:
        raise ValueError(f"{field} must be one of {', '.join(map(repr, names))}, not {shown(value)}")
    return value


def integer(field: str, value: object, low: int, high: int) -> int:
    """``value``, an integer in these bounds, numpy's among them. ValueError otherwise."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not low <= value <= high:
        raise ValueError(f"{field} must be an integer from {low} to {high}, not {shown(value)}")
    return int(value)


def flag(field: str, value: object) -> bool:
    """``value``, True or False, numpy's among them. ValueError otherwise."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{field} must be True or False, not {shown(value)}")
    return bool(value)


def unknown_argument(rules: Any, name: str) -> TypeError:
    """The error for an argument that these rules, a dataclass, do not have."""
    return TypeError(
        f"unknown argument {shown(name)}; the rules have {', '.join(field.name for field in fields(rules))}"
    )


def rules_of(make: Callable[..., R], given: Mapping[str, Any], sight: Sequence[str]) -> R:
    """``make(**given)``, the rules of a game; for an unknown argument the error also says what is no rule."""
    try:
        return make(**given)
    except TypeError as error:
        beside = f"{', '.join(sight)}; env and batch have illegal_action, env has render_mode"
        raise TypeError(f"{error}; beside them there is {beside}") from None
