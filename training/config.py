"""The configuration of a training run: one dataclass per section of the TOML file, one documented line per setting.

The declarations below are everything: reading and checking a file, ``--set``, ``--help`` and the table in
``training/README.md`` all come from them.
"""

from __future__ import annotations

import dataclasses
import os
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_type_hints

from .files import read_bounded

#: Moves of a rollout: a hundred times as many as any that was of use, and 60 GB of observations.
MAX_MOVES = 10_000_000
#: Of a configuration: ours have two kilobytes, and what reads them takes time by the square of a line's length.
MAX_BYTES = 50_000
#: Characters of a value that an error shows.
MAX_SHOWN = 500


class ConfigError(ValueError):
    """A setting that is not allowed; the message names section and key, the value and what is allowed."""


def _setting(
    default: Any,
    doc: str,
    *,
    low: float | None = None,
    high: float | None = None,
    above: float | None = None,
    choices: Sequence[str] | None = None,
    non_empty: bool = False,
    length: int | None = None,
) -> Any:
    """One setting: default, a line of documentation, and the values allowed (bounds apply to list items too)."""
    metadata = {"doc": doc, "low": low, "high": high, "above": above, "choices": choices}
    metadata |= {"non_empty": non_empty, "length": length}
    if isinstance(default, dict):
        return field(default_factory=lambda: dict(default), metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class GameConfig:
    """What is played."""

    name: str = _setting("coyote_v0", "The game, by the name of its environment.")
    kwargs: dict[str, Any] = _setting(  # noqa: RUF009  # it is a field(); dictionaries get a factory there
        {}, "The game's own arguments, as `env(**kwargs)` takes them."
    )


@dataclass(frozen=True)
class RunConfig:
    """How long, how wide, on what."""

    seed: int = _setting(
        0, "Seed of everything random. Same config, seed and machine: same weights.", low=0, high=2**32 - 1
    )
    steps: int = _setting(
        1_000_000, "Decisions of the learning policy (in all seats) to train on; whole rollouts.", low=1, high=10**12
    )
    tables: int = _setting(512, "Tables played at once.", low=1, high=100_000)
    threads: int = _setting(
        2,
        "Worker threads that share forward passes and minibatches. Not torch's own threads, which are set to 1.",
        low=1,
        high=64,
    )
    checkpoint_steps: int = _setting(
        200_000,
        "A checkpoint after every so many decisions; these are also the snapshots met as opponents.",
        low=1,
        high=10**12,
    )


@dataclass(frozen=True)
class PPOConfig:
    """The learning rule (PPO with masked actions)."""

    rollout_steps: int = _setting(32, "Moves per table in one rollout, whoever makes them.", low=1, high=10_000)
    minibatch: int = _setting(
        1024, "Decisions per gradient step, about: a rollout is cut into equal parts.", low=2, high=10**9
    )
    epochs: int = _setting(3, "Passes over each rollout.", low=1, high=1000)
    learning_rate: float = _setting(5e-4, "Adam's step size at the start.", above=0, high=10)
    learning_rate_end: float = _setting(5e-5, "Adam's step size at the end; linear in between.", low=0)
    clip: float = _setting(0.2, "PPO's clipping range of the probability ratio.", above=0, high=1)
    gamma: float = _setting(1.0, "Discount per decision of a seat.", low=0, high=1)
    gae_lambda: float = _setting(0.8, "Decay of the advantage estimate per decision of a seat.", low=0, high=1)
    entropy: float = _setting(
        0.01, "Weight of the entropy bonus at the start. More is needed where games cycle.", low=0, high=1000
    )
    entropy_end: float = _setting(0.002, "The floor that the entropy bonus falls to.", low=0)
    entropy_decay: float = _setting(0.8, "Share of the run in which it falls to the floor, linearly.", above=0, high=1)
    value_weight: float = _setting(0.5, "Weight of the value loss.", low=0, high=1000)
    max_grad_norm: float = _setting(0.5, "Gradients are scaled down to this norm.", above=0, high=10**9)
    target_kl: float = _setting(
        0.0, "End a rollout's update when the KL divergence passes 1.5 times this; 0: never.", low=0
    )
    normalize_advantage: bool = _setting(True, "Advantages are standardised within each minibatch.")
    magnet: str = _setting(
        "none",
        "Hold the policy near an older self: a moving average of its weights, or a copy taken now and then.",
        choices=("none", "ema", "periodic"),
    )
    magnet_weight: float = _setting(0.05, "Weight of KL(policy || magnet) in the loss.", above=0, high=1000)
    magnet_decay: float = _setting(
        0.98, "Share of an `ema` magnet that stays at each rollout's update, at the start.", low=0, high=1
    )
    magnet_decay_end: float = _setting(
        1.0, "The same at the end; linear in between. A magnet that comes to rest stops cycling.", low=0, high=1
    )
    magnet_period: int = _setting(50, "A `periodic` magnet is copied anew after so many rollouts.", low=1, high=10**9)


@dataclass(frozen=True)
class NetworkConfig:
    """The network: layers shared by policy and value, then layers of their own."""

    shared: tuple[int, ...] = _setting(
        (256,), "Widths of the layers that policy and value share; may be empty.", low=1, high=4096, length=16
    )
    policy: tuple[int, ...] = _setting((128,), "Widths of the policy's own layers.", low=1, high=4096, length=16)
    value: tuple[int, ...] = _setting((128,), "Widths of the value's own layers.", low=1, high=4096, length=16)
    activation: str = _setting("relu", "Between layers.", choices=("relu", "tanh"))
    sees_mask: bool = _setting(
        True, "The mask of legal actions is given to the network beside the observation: it tells where the bid stands."
    )
    standardise: bool = _setting(
        True,
        "What the network is given is shifted and scaled to mean 0 and deviation 1 over what the learner has seen; "
        "deviations below 0.3 count as 0.3, and what the action head reads stays as it is.",
    )
    action_head: bool = _setting(
        True,
        "Sections of the observation that speak of single actions (`Game.action_rows`) also act on the logits of these "
        "directly, by weights that the actions share.",
    )


@dataclass(frozen=True)
class TeacherConfig:
    """At first a player says what it would do where the learner decided (Schmitt et al. 2018, arXiv 1803.03835)."""

    player: str = _setting("", "A scripted player, or the path of a checkpoint; empty: none, all is found by play.")
    weight: float = _setting(
        1.0, "Weight of the cross-entropy with the teacher's actions at the start.", above=0, high=1000
    )
    share: float = _setting(0.2, "Share of the run in which the weight falls to 0, linearly.", above=0, high=1)


@dataclass(frozen=True)
class OpponentsConfig:
    """Frozen opponents: they sit in some seats of some tables, and their moves train nobody."""

    share: float = _setting(
        0.8,
        "Share of the tables with opponents, 1 to N-1 of them; at the others the learner plays every seat. 0: none.",
        low=0,
        high=1,
    )
    learner_alone: bool = _setting(True, "Opponents take all seats but one of their tables, rather than some.")
    alike: float = _setting(
        1.0,
        "Share of their games in which all opponents are the same one, as in an evaluation; in the others each seat "
        "draws its own.",
        low=0,
        high=1,
    )
    scripted: tuple[str, ...] = _setting((), "Scripted players and paths of checkpoints that may be drawn.")
    snapshots: bool = _setting(True, "This run's checkpoints may be drawn.")
    distinct: int = _setting(
        3,
        "Opponents drawn for the seats of new games, one perhaps twice; as many more may be finishing theirs.",
        low=1,
        high=100,
    )
    scripted_share: float = _setting(
        0.6, "Chance that an opponent drawn is scripted rather than a snapshot, while there are both.", low=0, high=1
    )
    sampling: str = _setting(
        "pfsp",
        "Which snapshots are drawn: the newest, all alike, the newest `delta` alike, or by the learner's score p.",
        choices=("latest", "uniform", "delta_uniform", "pfsp"),
    )
    delta: float = _setting(0.5, "Share of the history that `delta_uniform` draws from.", above=0, high=1)
    pfsp_weight: str = _setting(
        "hard",
        "`pfsp` draws by (1-p)^k or by p(1-p), p being how often the learner finishes ahead of that opponent.",
        choices=("hard", "even"),
    )
    pfsp_power: float = _setting(2.0, "The k of (1-p)^k.", above=0, high=20)
    memory: int = _setting(
        1000, "Games with an opponent after which what p is measured from begins to fade.", low=1, high=10**9
    )


@dataclass(frozen=True)
class EvaluationConfig:
    """Matches of one seat of the learning policy against a table of one opponent; fair share is 1/N."""

    opponents: tuple[str, ...] = _setting(
        ("random",), "Scripted players or paths of checkpoints to measure against.", non_empty=True
    )
    games: int = _setting(2000, "Games against each at the end of the run.", low=1, high=10**7)
    progress_games: int = _setting(
        200, "Games against each while it runs, for progress line and learning curve; 0: none.", low=0, high=10**7
    )
    progress_steps: int = _setting(100_000, "Decisions between two such measurements.", low=1, high=10**12)
    self_games: int = _setting(
        400, "Games of the policy with itself that the report describes; 0: none.", low=0, high=10**6
    )
    progress_self_games: int = _setting(
        20, "The same at each measurement on the way, for the figures games/* of the log; 0: none.", low=0, high=10**6
    )
    matrix_snapshots: int = _setting(
        4, "Snapshots from all of the run, beside the policy, that play each other at its end; 0: none.", low=0, high=50
    )
    matrix_games: int = _setting(200, "Games of each of these with each.", low=1, high=10**7)


@dataclass(frozen=True)
class Config:
    """A whole run. Sections and settings have the names that they have in the file."""

    game: GameConfig = field(default_factory=GameConfig)
    run: RunConfig = field(default_factory=RunConfig)
    ppo: PPOConfig = field(default_factory=PPOConfig)
    network: NetworkConfig = field(default_factory=NetworkConfig)
    teacher: TeacherConfig = field(default_factory=TeacherConfig)
    opponents: OpponentsConfig = field(default_factory=OpponentsConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)


SECTIONS: dict[str, type[Any]] = {f.name: get_type_hints(Config)[f.name] for f in dataclasses.fields(Config)}


def load_config(path: Path, overrides: Sequence[str] = ()) -> Config:
    """The configuration in the TOML file `path`, changed by `overrides` ("section.key=value", values as in TOML).

    Raises ConfigError; FileNotFoundError and the like where the file cannot be read.
    """
    try:
        # A link to a file is as good as the file; read_bounded wants no link, no pipe, no device, nothing huge.
        data = tomllib.loads(read_bounded(Path(os.path.realpath(path)), MAX_BYTES).decode())
    except (ValueError, RecursionError) as error:  # TOMLDecodeError, UnicodeDecodeError, and numbers of 5,000 digits
        raise ConfigError(f"{path} is not a TOML file: {error}") from None
    for override in overrides:
        _apply(data, override)
    try:
        return parse_config(data)
    except RecursionError:
        raise ConfigError(f"{path}: tables within tables within tables; allowed: those of the settings") from None


def parse_config(data: Mapping[str, Any]) -> Config:
    """The configuration in nested dictionaries, as TOML gives them. Raises ConfigError."""
    sections = {}
    for name, values in data.items():
        if name not in SECTIONS:
            raise ConfigError(f"{name} is not a section; there are: {', '.join(SECTIONS)}")
        if not isinstance(values, Mapping):
            raise ConfigError(f"{name} = {values!r} is not allowed: {name} is a section, write [{name}]")
        sections[name] = _parse_section(name, SECTIONS[name], values)
    config = Config(**sections)
    _check_together(config)
    return config


def _parse_section(section: str, kind: type[Any], values: Mapping[str, Any]) -> Any:
    fields = {f.name: f for f in dataclasses.fields(kind)}
    types = get_type_hints(kind)
    parsed = {}
    for key, value in values.items():
        if key not in fields:
            raise ConfigError(f"{section}.{key} is not a setting; [{section}] has: {', '.join(fields)}")
        parsed[key] = _check(f"{section}.{key}", value, types[key], fields[key].metadata)
    return kind(**parsed)


def _check(name: str, value: Any, kind: Any, rule: Mapping[str, Any]) -> Any:
    """`value` as the type that the setting has; refuses what is not allowed."""
    allowed = _allowed(kind, rule)
    shown = repr(value)
    if len(shown) > MAX_SHOWN:
        shown = f"{shown[:MAX_SHOWN]}..."
    refusal = ConfigError(f"{name} = {shown} is not allowed; allowed: {allowed}")
    if kind == dict[str, Any]:
        if not isinstance(value, Mapping):
            raise refusal
        return dict(value)
    if kind in (tuple[int, ...], tuple[str, ...]):
        if not isinstance(value, (list, tuple)) or (rule["non_empty"] and not value):
            raise refusal
        if rule["length"] is not None and len(value) > rule["length"]:
            raise refusal
        item = int if kind == tuple[int, ...] else str
        if not all(_fits(v, item, rule) for v in value):
            raise refusal
        return tuple(value)
    if not _fits(value, kind, rule):
        raise refusal
    return float(value) if kind is float else value


def _fits(value: Any, kind: type, rule: Mapping[str, Any]) -> bool:
    """`value` is of `kind` (whole numbers serve as floats; booleans serve as booleans only) and obeys the rule."""
    if kind is float:
        # A whole number may have more digits than a float can hold.
        if type(value) not in (int, float) or not abs(value) <= sys.float_info.max:
            return False
    elif type(value) is not kind:
        return False
    if rule["choices"] is not None and value not in rule["choices"]:
        return False
    return not (
        (rule["low"] is not None and value < rule["low"])
        or (rule["high"] is not None and value > rule["high"])
        or (rule["above"] is not None and value <= rule["above"])
    )


def _allowed(kind: Any, rule: Mapping[str, Any]) -> str:
    """The allowed values in words."""
    names: dict[Any, str] = {
        int: "a whole number",
        float: "a number",
        bool: "true or false",
        str: "a text",
        tuple[int, ...]: "a list of whole numbers",
        tuple[str, ...]: "a list of texts",
        dict[str, Any]: "a table",
    }
    if rule["choices"] is not None:
        return " or ".join(f'"{choice}"' for choice in rule["choices"])
    text = names[kind]
    if rule["above"] is not None:
        text += f" above {rule['above']:g}"
    if rule["low"] is not None:
        text += f" from {rule['low']:.13g}" if rule["high"] is not None else f", at least {rule['low']:.13g}"
    if rule["high"] is not None:
        text += f" to {rule['high']:.13g}" if rule["low"] is not None else f" and at most {rule['high']:.13g}"
    if rule["length"] is not None:
        text += f", at most {rule['length']} of them"
    return f"{text}, not empty" if rule["non_empty"] else text


def _check_together(config: Config) -> None:
    """Values that are sensible alone and not together."""
    ppo, opponents, run = config.ppo, config.opponents, config.run
    if run.tables * ppo.rollout_steps > MAX_MOVES:
        raise ConfigError(
            f"run.tables = {run.tables} is not allowed with ppo.rollout_steps = {ppo.rollout_steps}; allowed: rollouts "
            f"of at most {MAX_MOVES:,} moves"
        )
    if opponents.share > 0 and round(opponents.share * run.tables) == 0:
        raise ConfigError(
            f"opponents.share = {opponents.share!r} is not allowed with run.tables = {run.tables}: that is none; "
            "allowed: 0, or more"
        )
    if ppo.learning_rate_end > ppo.learning_rate:
        raise ConfigError(
            f"ppo.learning_rate_end = {ppo.learning_rate_end!r} is not allowed; allowed: at most "
            f"ppo.learning_rate, which is {ppo.learning_rate!r}"
        )
    if ppo.entropy_end > ppo.entropy:
        raise ConfigError(
            f"ppo.entropy_end = {ppo.entropy_end!r} is not allowed; allowed: at most "
            f"ppo.entropy, which is {ppo.entropy!r}"
        )
    if opponents.share > 0 and not opponents.scripted and not opponents.snapshots:
        raise ConfigError(
            f"opponents.share = {opponents.share!r} is not allowed with opponents.scripted = [] and "
            "opponents.snapshots = false; allowed: 0, or name somebody to seat"
        )
    if opponents.share > 0 and opponents.scripted_share == 1 and not opponents.scripted:
        raise ConfigError(
            "opponents.scripted_share = 1.0 is not allowed with opponents.scripted = []; allowed: below 1, or name some"
        )
    if opponents.share > 0 and opponents.scripted_share == 0 and not opponents.snapshots:
        raise ConfigError(
            "opponents.scripted_share = 0.0 is not allowed with opponents.snapshots = false; allowed: above 0"
        )


def _apply(data: dict[str, Any], override: str) -> None:
    """Set one "section.key=value" (or "game.kwargs.key=value") in `data`."""
    path, equals, text = override.partition("=")
    keys = path.strip().split(".")
    if not equals or len(keys) < 2 or not all(keys):
        raise ConfigError(f"--set {override!r} is not allowed; allowed: section.key=value, for example run.seed=3")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text.strip()  # a bare word is a text: game.kwargs.edition=mini
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"--set {path} is not allowed: {error}") from None
    target = data
    for depth, key in enumerate(keys[:-1], 1):
        target = target.setdefault(key, {})
        if not isinstance(target, dict):
            raise ConfigError(f"--set {override!r} is not allowed: {'.'.join(keys[:depth])} is not a table")
    target[keys[-1]] = value


def dump_config(config: Config) -> str:
    """The configuration as a TOML file that `load_config` reads back to an equal one; all settings, none left out."""
    lines = []
    for section in dataclasses.fields(config):
        values = getattr(config, section.name)
        tables: list[tuple[str, Mapping[str, Any]]] = []
        lines.append(f"[{section.name}]")
        for item in dataclasses.fields(values):
            value = getattr(values, item.name)
            if isinstance(value, Mapping):
                tables.append((item.name, value))
            else:
                lines.append(f"{item.name} = {_toml(value)}")
        for name, table in tables:
            lines += ["", f"[{section.name}.{name}]", *(f"{_toml_key(k)} = {_toml(v)}" for k, v in table.items())]
        lines.append("")
    return "\n".join(lines)


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return toml_text(value)
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_toml_key(k)} = {_toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_toml, value)) + "]"
    raise ConfigError(
        f"{value!r} is not allowed in a configuration; allowed: texts, numbers, true, false, lists, tables"
    )


def toml_text(text: str) -> str:
    """A TOML basic string."""
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return '"' + "".join(escapes.get(c, c if c.isprintable() else f"\\U{ord(c):08x}") for c in text) + '"'


def _toml_key(key: str) -> str:
    plain = key.isascii() and key.replace("-", "").replace("_", "").isalnum()
    return key if plain else toml_text(key)


def help_text() -> str:
    """All settings for ``--help``."""
    lines = ["settings (section.key = default):"]
    for section, kind in SECTIONS.items():
        lines += ["", f"  [{section}] {kind.__doc__}"]
        for item in dataclasses.fields(kind):
            lines.append(f"  {section}.{item.name} = {_toml(_default(item))}")
            lines.append(f"      {item.metadata['doc']}")
    return "\n".join(lines)


def markdown() -> str:
    """All settings as a Markdown table, for the README."""
    rows = ["| setting | default | allowed | meaning |", "|---|---|---|---|"]
    for section, kind in SECTIONS.items():
        types = get_type_hints(kind)
        for item in dataclasses.fields(kind):
            allowed = _allowed(types[item.name], item.metadata)
            rows.append(f"| `{section}.{item.name}` | `{_toml(_default(item))}` | {allowed} | {item.metadata['doc']} |")
    return "\n".join(rows)


def _default(item: dataclasses.Field[Any]) -> Any:
    factory = item.default_factory
    return item.default if factory is dataclasses.MISSING else factory()
