"""All that a run needs to go on bit for bit, in files that hold no code: ``RUN/state/step_*/{state.json, arrays.bin}``.

``arrays.bin`` is the bytes of the arrays one after another: weights, optimiser, magnet, the records of the tables, who
sits there. Their names, types and shapes follow from the configuration, so a file is read into a learner made from the
same one, and must fit it exactly; nothing in it says how much memory to take. ``state.json`` has everything else: the
random generators, counters, the pool, the rows of the log. Digests of both tell a damaged file.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

from coyote_env.policies import CheckpointPolicy

from .checkpoint import library_versions
from .errors import TrainingError
from .files import read_bounded, remove_folder, write_folder_atomic
from .log import count
from .seating import LEARNER

if TYPE_CHECKING:
    from coyote_env.core.batch import Batch

    from .ppo import SelfPlayPPO

FORMAT = 4
#: Largest state.json that is read. A row of the log has half a kilobyte: this is for runs of 200,000 rollouts.
MAX_JSON = 100_000_000
#: States that are kept: the newest, and one to fall back on.
KEPT = 2

_STEP = re.compile(r"step_(\d{12})")


class StateError(ValueError):
    """A state that cannot be gone on from; the message names the file and what is wrong with it."""


def step_folder(parent: Path, steps: int) -> Path:
    """The folder for something written after so many decisions."""
    return parent / f"step_{steps:012d}"


def step_folders(parent: Path) -> list[tuple[int, Path]]:
    """(decisions, folder) of all that lie in `parent`, oldest first."""
    if not parent.is_dir():
        return []
    found = [(int(match[1]), path) for path in parent.iterdir() if (match := _STEP.fullmatch(path.name))]
    return sorted(found)


def write_state(parent: Path, model: SelfPlayPPO, run: Mapping[str, Any], config_digest: str) -> None:
    """Write the state between two rollouts, all of it or nothing; then remove all but the newest ``KEPT``.

    Args:
        parent: folder of the run's states.
        run: what the run itself has to remember; anything that JSON can hold.
        config_digest: tells whether the configuration is still the same.

    Raises OSError.
    """
    folder = step_folder(parent, model.num_timesteps)
    if not folder.exists():  # else it was gone on from, and nothing has happened since
        data = b"".join(np.ascontiguousarray(array).tobytes() for array in _arrays(model).values())
        content = {
            "format": FORMAT,
            "config": config_digest,
            "versions": library_versions(),
            "arrays": {name: [array.dtype.str[1:], *array.shape] for name, array in _arrays(model).items()},
            "arrays_sha256": hashlib.sha256(data).hexdigest(),
            "learner": _figures(model),
            "players": _players(model),
            "run": dict(run),
        }
        text = json.dumps({"sha256": _digest(content), "content": content}, allow_nan=False)
        write_folder_atomic(folder, {"arrays.bin": data, "state.json": text})
    for _, old in step_folders(parent)[:-KEPT]:
        remove_folder(old)


def read_state(folder: Path, model: SelfPlayPPO, snapshots: Path) -> dict[str, Any]:
    """Make `model`, fresh from the same configuration, what it was when the state in `folder` was written.

    Args:
        snapshots: folder of the run's checkpoints.

    Returns the "run", "config" and "versions" that it was written with; "exchanged": checkpoints named by the
    configuration that are not what they were; and "missed": names of opponents that cannot be loaded any more, or that
    the configuration has no more, and that are no longer in the pool. Raises StateError for anything that is not as it
    was written; `model` may then be changed in part.
    """
    content = _read_json(folder / "state.json")
    try:
        model.rollout_buffer.num_open = count(content["learner"]["open"], model.seating.seats.size)
    except (KeyError, ValueError) as error:
        raise StateError(f"{folder / 'state.json'}: learner.open: {type(error).__name__}: {error}") from None
    arrays = _arrays(model)
    path = folder / "arrays.bin"
    stated = content["arrays"]
    for name, array in arrays.items():
        shape = [array.dtype.str[1:], *array.shape]
        if stated.get(name) != shape:
            raise StateError(f"{path}: {name} is {str(stated.get(name))[:100]}; the configuration needs {shape}")
    if len(stated) != len(arrays):
        raise StateError(f"{path}: {len(stated)} arrays; the configuration needs {len(arrays)}")
    size = sum(array.nbytes for array in arrays.values())
    data = _read(path, size)
    if len(data) != size:
        raise StateError(f"{path}: {len(data):,} bytes; the configuration needs {size:,}")
    if hashlib.sha256(data).hexdigest() != content["arrays_sha256"]:
        raise StateError(f"{path}: damaged: its digest is not the one in state.json")
    model.batch.reset(0)  # so that there are tables to write over
    at = 0
    for name, array in arrays.items():
        found = np.frombuffer(data, array.dtype, array.size, at).reshape(array.shape)
        at += array.nbytes
        if array.dtype.kind == "f" and not np.isfinite(found).all():
            raise StateError(f"{path}: {name} holds numbers that are not finite")
        array[...] = found
    try:
        missed = _restore(model, content["learner"], snapshots)
        if step_folder(folder.parent, model.num_timesteps) != folder:
            raise ValueError(f"steps = {model.num_timesteps}, in a folder of another name")
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError, IndexError) as error:
        raise StateError(f"{folder / 'state.json'}: learner: {type(error).__name__}: {str(error)[:300]}") from None
    exchanged = [name for name, digest in _players(model).items() if content["players"].get(name, digest) != digest]
    return {key: content[key] for key in ("run", "config", "versions")} | {"exchanged": exchanged, "missed": missed}


def _read(path: Path, limit: int) -> bytes:
    try:
        return read_bounded(path, limit)
    except (OSError, ValueError) as error:
        raise StateError(str(error) if isinstance(error, ValueError) else f"{path}: {error.strerror}") from None


def _read_json(path: Path) -> dict[str, Any]:
    """The checked content of a state.json."""
    try:
        outer = json.loads(_read(path, MAX_JSON))
        content = outer["content"]
        if _digest(content) != outer["sha256"]:
            raise StateError(f"{path}: damaged: its digest is not the one in it")
    except StateError:
        raise
    except (ValueError, RecursionError, KeyError, TypeError, UnicodeDecodeError) as error:
        raise StateError(f"{path}: not a state: {type(error).__name__}: {str(error)[:200]}") from None
    if not isinstance(content, dict):
        raise StateError(f"{path}: not a state: its content is a {type(content).__name__}")
    if content.get("format") != FORMAT:
        raise StateError(f"{path}: format = {str(content.get('format'))[:50]}; this version reads {FORMAT}")
    kinds = {
        "config": str,
        "versions": dict,
        "arrays": dict,
        "arrays_sha256": str,
        "learner": dict,
        "players": dict,
        "run": dict,
    }
    for field, kind in kinds.items():
        if not isinstance(content.get(field), kind):
            raise StateError(f"{path}: {field} is not a {kind.__name__}")
    return content


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _arrays(model: SelfPlayPPO) -> dict[str, NDArray[Any]]:
    """Every array of the state by name, in order, as views that can be written into."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, parameter in model.policy.named_parameters():
        arrays[f"policy.{name}"] = parameter.detach().numpy()
        # Adam makes these at its first step, and until then they would be zeros.
        slots = model.policy.optimizer.state[parameter]
        if not slots:
            slots["step"] = torch.zeros((), dtype=torch.float32)
            slots["exp_avg"], slots["exp_avg_sq"] = torch.zeros_like(parameter), torch.zeros_like(parameter)
        for slot in ("step", "exp_avg", "exp_avg_sq"):
            arrays[f"adam.{slot}.{name}"] = slots[slot].numpy()
    if model.magnet is not None:
        for name, parameter in model.magnet.network.named_parameters():
            arrays[f"magnet.{name}"] = parameter.numpy()
    for field in ("mean", "deviation", "count"):
        arrays[f"inputs.{field}"] = getattr(model.inputs, field)
    for name, rows in _open_rows(model).items():
        arrays[f"open.{name}"] = rows
    tables = _tables(model).states
    arrays["tables"] = tables.view(np.uint8).reshape(len(tables), -1)
    arrays["seats"] = model.seating.seats
    arrays["returns"] = model.seating.returns
    arrays["game_length"] = model.game_length
    return arrays


def _open_rows(model: SelfPlayPPO) -> dict[str, NDArray[Any]]:
    """The decisions that the next rollout goes on with, field by field, as views."""
    buffer = model.rollout_buffer
    return {name: rows[buffer.size() : buffer.size() + buffer.num_open] for name, rows in buffer.rows().items()}


def _tables(model: SelfPlayPPO) -> Batch:
    """The learner's tables; those of a run are the package's own, which have records."""
    return cast("Batch", model.batch)


def _generators(model: SelfPlayPPO) -> dict[str, np.random.Generator]:
    return {
        "action": model.action_rng,
        "opponent": model.opponent_rng,
        "seating": model.seating_rng,
        "teacher": model.teacher_rng,
        "minibatch": model.rollout_buffer.rng,
    }


def _figures(model: SelfPlayPPO) -> dict[str, Any]:
    """What is not an array. Snapshots are named without their folder, so that a run can be moved."""
    pool = [] if model.opponents is None else list(model.opponents.opponents.values())
    return {
        "steps": model.num_timesteps,
        "games": model.games,
        "updates": model._n_updates,
        "open": model.rollout_buffer.num_open,
        "magnet_age": 0 if model.magnet is None else model.magnet.age,
        "generators": {name: rng.bit_generator.state for name, rng in _generators(model).items()},
        "pool": [[o.name if o.scripted else Path(o.name).name, o.scripted, o.games, o.ahead] for o in pool],
        "slots": [name if name in _scripted(model) else Path(name).name for name in model.seating.names],
        "active": model.seating.active,
        "dealt": model.seating.dealt,
    }


def _players(model: SelfPlayPPO) -> dict[str, str]:
    """Digests of the checkpoints that the configuration names as opponents or teacher, by name."""
    named = {} if model.opponents is None else {name: model.opponents.policy(name) for name in sorted(_scripted(model))}
    if isinstance(model.teacher, CheckpointPolicy):
        named[model.teacher.name] = model.teacher
    return {name: p.manifest.policy_sha256 for name, p in named.items() if isinstance(p, CheckpointPolicy)}


def _scripted(model: SelfPlayPPO) -> set[str]:
    return set() if model.opponents is None else {o.name for o in model.opponents.opponents.values() if o.scripted}


def _restore(model: SelfPlayPPO, figures: Mapping[str, Any], snapshots: Path) -> list[str]:
    """Put the figures back; the snapshots that are missed. Raises whatever comes of figures that make no sense."""
    model.num_timesteps = count(figures["steps"])
    model.games = count(figures["games"])
    model._n_updates = count(figures["updates"])
    if model.magnet is not None:
        model.magnet.age = count(figures["magnet_age"])
    for name, rng in _generators(model).items():
        rng.bit_generator.state = figures["generators"][name]
    batch = _tables(model)
    for table in range(batch.num_tables):  # the hook judges one record, and kernels trust them all
        wrong = batch.game.check_state(batch.game, batch.states[table : table + 1])
        if wrong:
            raise ValueError(f"tables: {table}: {wrong}")
    batch.refresh()
    model._last_obs = batch.observation.copy()  # SB3 would deal anew if it had none
    seating = model.seating
    names, active = figures["slots"], figures["active"]
    if seating.seats.min() < 0 or seating.seats.max() > len(names) or model.game_length.min() < 0:
        raise ValueError("seats or game_length: out of range")
    if not (seating.seats == LEARNER).any(axis=1).all():
        raise ValueError("seats: a table without the learner")
    _check_open(model)
    missed = _restore_pool(model, figures["pool"], snapshots)
    if not all(type(s) is int and 1 <= s <= len(names) for s in active):
        raise ValueError(f"active: {active!r:.100}, of {len(names)} slots")
    if len(names) != len(seating.names):  # another number of opponents from now on: the games go on without any
        names, active = [""] * len(seating.names), []
        seating.seats[:] = LEARNER
    if any(not names[slot - 1] for slot in np.unique(seating.seats[seating.seats != LEARNER])):
        raise ValueError("seats: of a slot that is empty")
    seating.active = [slot for slot in active if names[slot - 1] not in missed]
    for slot, name in enumerate(names, 1):
        if name in missed:
            seating.seats[seating.seats == slot] = LEARNER
        elif not name or name in _scripted(model):
            seating.put(slot, name)
        else:
            seating.put(slot, str(snapshots / _folder_name(name)))
    seating.dealt = bool(figures["dealt"])
    return missed


def _check_open(model: SelfPlayPPO) -> None:
    """Raises ValueError for open decisions that nobody at the tables can have made."""
    rows = _open_rows(model)
    tables, seats = model.seating.seats.shape
    who, action = rows["table"] * seats + rows["seat"], rows["action"]
    places = ((rows["table"] < tables) & (rows["seat"] < seats) & (rows["table"] >= 0) & (rows["seat"] >= 0)).all()
    if not places or len(np.unique(who)) < len(who):
        raise ValueError("open decisions: tables or seats: out of range, or twice the same")
    if any(np.abs(rows[name]).max(initial=0.0) > 1e6 for name in ("log_prob", "value", "paid")):
        raise ValueError("open decisions: log_prob, value or paid: out of range")
    if action.size and rows["mask"].view(np.uint8).max() > 1:
        raise ValueError("open decisions: masks: not true or false")
    if action.size and (action.min() < 0 or action.max() >= rows["mask"].shape[1]):
        raise ValueError("open decisions: actions: out of range")
    if not rows["mask"][np.arange(len(action)), action].all():
        raise ValueError("open decisions: actions: illegal")


def _restore_pool(model: SelfPlayPPO, rows: Any, snapshots: Path) -> list[str]:
    """Put the pool back, less those that cannot be loaded any more, or are not wanted; their names."""
    pool, missed = model.opponents, []
    if pool is not None:
        pool.forget_snapshots()
    for name, scripted, games, ahead in rows:
        if not 0 <= ahead <= games < math.inf:
            raise ValueError(f"pool: {name!r:.100} has games = {games!r:.50}, ahead = {ahead!r:.50}")
        if pool is None or (scripted and name not in pool.opponents):  # the configuration names it no more
            missed.append(name)
            continue
        if not scripted:
            path = str(snapshots / _folder_name(name))
            try:
                pool.policy(path)  # loaded to see whether it can be, and let go
            except TrainingError:
                missed.append(name)
                continue
            pool.add_snapshot(path)
            name = path
        if name in pool.opponents:  # it is not, if snapshots are no longer wanted
            pool.opponents[name].games, pool.opponents[name].ahead = float(games), float(ahead)
    return missed


def _folder_name(name: Any) -> str:
    """The name of a snapshot's folder; nothing that leads anywhere else."""
    if not isinstance(name, str) or not _STEP.fullmatch(name):
        raise ValueError(f"{name!r:.100} is not the name of a snapshot")
    return name
