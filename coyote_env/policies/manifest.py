"""The `manifest.json` of a published policy, read as what it is: a file that somebody else wrote.

Every field is checked for type and size before anything is built from it. Nothing in it is ever opened, imported or
evaluated: `game` is looked up in a fixed table, `kwargs` go through that game's own validation, the rest are facts.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

FORMAT_VERSION = 1
MAX_BYTES = 1_000_000  # of a manifest file: ours have a few kilobytes
MAX_DEPTH = 12  # of nested lists and objects
MAX_INT = 2**53  # largest whole number accepted anywhere in the file: beyond it JSON readers disagree
MAX_SEATS = 64
MAX_ACTIONS = 100_000
MAX_OBSERVATION = 1_000_000


@dataclass(frozen=True)
class Manifest:
    """What a published policy says of itself. `training`, `versions` and `evaluation` are for people."""

    format_version: int  # FORMAT_VERSION
    game: str  # name of a game, such as "coyote_v0"
    kwargs: Mapping[str, Any]  # constructor arguments that rebuild the game it was trained for
    num_seats: int  # seats of that game
    num_actions: int  # A: width of the mask and of the logits
    observation_size: int  # L: width of the observation
    layout_hash: str  # 16 hex digits, see core/layout.py
    training: Mapping[str, Any]  # how it was made: steps, seed, command, ...
    versions: Mapping[str, str]  # library -> version when it was made
    evaluation: Any  # figures measured then: an object, a list, or null
    policy_sha256: str  # 64 hex digits: digest of policy.onnx


def read_manifest(data: bytes, where: str) -> Manifest:
    """The manifest in the bytes of a `manifest.json`. `where` names the file in messages.

    Raises ValueError that names the file, the field, its value and what is allowed.
    """
    if len(data) > MAX_BYTES:
        raise ValueError(f"{where}: {len(data):,} bytes; a manifest has at most {MAX_BYTES:,}")
    fields = _parse(data, where)
    _check_names(fields, where)

    def refuse(field: str, allowed: str) -> ValueError:
        return ValueError(f"{where}: {field} = {_brief(fields[field])}; allowed: {allowed}")

    def whole(field: str, low: int, high: int) -> int:
        value = fields[field]
        if type(value) is not int or not low <= value <= high:  # `type`: True is an int to isinstance
            raise refuse(field, f"a whole number from {low} to {high:,}")
        return value

    def text(field: str, pattern: str, allowed: str) -> str:
        value = fields[field]
        if type(value) is not str or not re.fullmatch(pattern, value):
            raise refuse(field, allowed)
        return value

    def table(field: str) -> dict[str, Any]:
        value = fields[field]
        if type(value) is not dict:
            raise refuse(field, "an object")
        return value

    # The version first: a later format may rightly break every other rule below.
    whole("format_version", FORMAT_VERSION, FORMAT_VERSION)
    versions = table("versions")
    if not all(type(value) is str for value in versions.values()):
        raise refuse("versions", "an object of strings")
    if type(fields["evaluation"]) not in (dict, list, type(None)):
        raise refuse("evaluation", "an object, a list or null")
    return Manifest(
        format_version=FORMAT_VERSION,
        game=text("game", r"[a-z][a-z0-9_]{0,63}", "a game's name: lower-case letters, digits and _, at most 64"),
        kwargs=table("kwargs"),
        num_seats=whole("num_seats", 1, MAX_SEATS),
        num_actions=whole("num_actions", 1, MAX_ACTIONS),
        observation_size=whole("observation_size", 1, MAX_OBSERVATION),
        layout_hash=text("layout_hash", r"[0-9a-f]{16}", "16 hexadecimal digits"),
        training=table("training"),
        versions=versions,
        evaluation=fields["evaluation"],
        policy_sha256=text("policy_sha256", r"[0-9a-f]{64}", "64 hexadecimal digits"),
    )


def _check_names(fields: dict[str, Any], where: str) -> None:
    wanted = list(Manifest.__dataclass_fields__)
    for field in wanted:
        if field not in fields:
            raise ValueError(f"{where}: the field {field} is missing; needed: {', '.join(wanted)}")
    for field in fields:
        if field not in wanted:
            raise ValueError(f"{where}: unknown field {_brief(field)}; allowed: {', '.join(wanted)}")


def _parse(data: bytes, where: str) -> dict[str, Any]:
    """Strict JSON: no NaN, no infinities, no repeated keys, no huge numbers, bounded nesting, one object at the top."""

    def whole(text: str) -> int:
        # The length first: Python refuses to convert thousands of digits, with advice that does not help here.
        if len(text) > 20 or abs(int(text)) > MAX_INT:
            raise ValueError(f"the number {_brief(text)} is out of range; allowed: -2**53 to 2**53")
        return int(text)

    def real(text: str) -> float:
        value = float(text)
        if not math.isfinite(value):
            raise ValueError(f"the number {_brief(text)} is out of range")
        return value

    def constant(text: str) -> float:
        raise ValueError(f"{text} is not a JSON number")

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(items)
        if len(result) != len(items):
            name, _ = Counter(name for name, _ in items).most_common(1)[0]
            raise ValueError(f"the key {_brief(name)} comes twice")
        return result

    try:
        value = json.loads(
            data.decode("utf-8"), parse_int=whole, parse_float=real, parse_constant=constant, object_pairs_hook=pairs
        )
        _check_depth(value, MAX_DEPTH)
    except RecursionError:
        raise ValueError(f"{where}: nested too deeply; at most {MAX_DEPTH} levels are allowed") from None
    except ValueError as error:  # json.JSONDecodeError and UnicodeDecodeError are ValueErrors too
        raise ValueError(f"{where}: not a manifest: {error}") from None
    if type(value) is not dict:
        raise ValueError(f"{where}: not a manifest: the file holds {_brief(value)}, needed: one object")
    return value


def _check_depth(value: Any, left: int) -> None:
    if isinstance(value, (dict, list)):
        if left == 0:
            raise ValueError(f"nested too deeply; at most {MAX_DEPTH} levels are allowed")
        for item in value.values() if isinstance(value, dict) else value:
            _check_depth(item, left - 1)


def _brief(value: Any, width: int = 80) -> str:
    """A value for a message: its repr, cut, so that a hostile file cannot fill the screen."""
    text = repr(value)
    return text if len(text) <= width else f"{text[: width - 3]}..."
