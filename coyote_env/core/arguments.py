"""Checks of what games are made with. What is refused is named, with its value and what is allowed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np

R = TypeVar("R")


def choice(field: str, value: object, allowed: Iterable[str]) -> str:
    """``value``, one of these texts. ValueError otherwise."""
    names = tuple(allowed)
    if not isinstance(value, str) or value not in names:
        raise ValueError(f"{field} must be one of {', '.join(map(repr, names))}, not {value!r}")
    return value


def integer(field: str, value: object, low: int, high: int) -> int:
    """``value``, an integer in these bounds, numpy's among them. ValueError otherwise."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not low <= value <= high:
        raise ValueError(f"{field} must be an integer from {low} to {high}, not {value!r}")
    return int(value)


def flag(field: str, value: object) -> bool:
    """``value``, True or False, numpy's among them. ValueError otherwise."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{field} must be True or False, not {value!r}")
    return bool(value)


def unknown_argument(rules: Any, name: str) -> TypeError:
    """The error for an argument that these rules, a dataclass, do not have."""
    return TypeError(f"unknown argument {name!r}; the rules have {', '.join(field.name for field in fields(rules))}")


def rules_of(make: Callable[..., R], given: Mapping[str, Any], sight: Sequence[str]) -> R:
    """``make(**given)``, the rules of a game; for an unknown argument the error also says what is no rule."""
    try:
        return make(**given)
    except TypeError as error:
        beside = f"{', '.join(sight)}; env and batch have illegal_action, env has render_mode"
        raise TypeError(f"{error}; beside them there is {beside}") from None
