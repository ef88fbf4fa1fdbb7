"""Publishing a policy: a folder ``{policy.onnx, manifest.json, config.toml}`` that ``coyote_env.policies`` loads.

The ONNX graph is written node by node. It needs no exporter, its bytes depend on the weights alone, and it holds
nothing but matrix products, activations, and cuts and choices of columns.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from torch import nn

import coyote_env

from .config import ConfigError
from .files import read_bounded, write_atomic, write_folder_atomic
from .inputs import Inputs
from .log import MAX_JSON
from .network import MASKED, SCALE, ActionHead, PolicyNetwork

FORMAT_VERSION = 1

#: Old enough for every runtime in use; the graph needs nothing newer.
_OPSET = 17
_IR_VERSION = 8

_LIBRARIES = ("numpy", "torch", "stable_baselines3", "sb3_contrib")
_MORE_LIBRARIES = ("numba", "gymnasium", "pettingzoo", "onnx", "onnxruntime", "tensorboard", "matplotlib", "tqdm")


def policy_graph(network: PolicyNetwork, given: Inputs) -> bytes:
    """A serialised ONNX model from observation and mask over the network's layers to logits.

    What ``given`` does to the layers' inputs is part of it: the mask goes in beside the observation if they see it, and
    shift and scale are folded into the first layer.

    Inputs ``observation`` float32[B, L] and ``action_mask`` int8[B, A]; output ``logits`` float32[B, A], -1e8 where
    the mask is 0. Raises TypeError for a layer other than Linear, ReLU or Tanh.
    """
    nodes, weights = [], []
    current = "observation"
    if given.sees_mask:
        nodes.append(helper.make_node("Cast", ["action_mask"], ["mask"], to=TensorProto.FLOAT))
        nodes.append(helper.make_node("Concat", ["observation", "mask"], ["inputs"], axis=1))
        current = "inputs"
    for index, layer in enumerate(network.layers):
        result = f"layer_{index}"
        if isinstance(layer, nn.Linear):
            weight, bias = f"weight_{index}", f"bias_{index}"
            matrix, shift = layer.weight.detach().cpu().numpy(), layer.bias.detach().cpu().numpy()
            if index == 0:
                matrix, shift = given.fold(matrix, shift)
            weights.append(numpy_helper.from_array(matrix, weight))
            weights.append(numpy_helper.from_array(shift, bias))
            nodes.append(helper.make_node("Gemm", [current, weight, bias], [result], transB=1))
        elif isinstance(layer, nn.ReLU):
            nodes.append(helper.make_node("Relu", [current], [result]))
        elif isinstance(layer, nn.Tanh):
            nodes.append(helper.make_node("Tanh", [current], [result]))
        else:
            raise TypeError(f"cannot export a {type(layer).__name__} layer; allowed: Linear, ReLU, Tanh")
        current = result
    if network.head is not None:
        more, constants = _head(network.head, current)
        nodes += more
        weights += constants
        current = "scored"
    weights.append(numpy_helper.from_array(np.array(MASKED, np.float32), "masked"))
    nodes.append(helper.make_node("Cast", ["action_mask"], ["legal"], to=TensorProto.BOOL))
    nodes.append(helper.make_node("Where", ["legal", current, "masked"], ["logits"]))
    graph = helper.make_graph(
        nodes,
        "policy",
        [
            helper.make_tensor_value_info("observation", TensorProto.FLOAT, ["B", given.observation_size]),
            helper.make_tensor_value_info("action_mask", TensorProto.INT8, ["B", given.num_actions]),
        ],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["B", given.num_actions])],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR_VERSION)
    onnx.checker.check_model(model, full_check=True)
    data: bytes = model.SerializeToString(deterministic=True)
    return data


def _head(head: ActionHead, outputs: str) -> tuple[list[Any], list[Any]]:
    """Nodes that do to the last layer's `outputs` what the head does, the result being ``scored``; and constants."""
    nodes: list[Any] = []
    constants: list[Any] = []

    def constant(name: str, values: Any, dtype: type) -> str:
        constants.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def cut(source: str, start: int, stop: int, name: str) -> str:
        bounds = [constant(f"{name}_{end}", [at], np.int64) for end, at in (("start", start), ("stop", stop))]
        nodes.append(helper.make_node("Slice", [source, *bounds, "columns"], [name]))
        return name

    constant("columns", [1], np.int64)
    at, scores = head.num_actions, []
    for k, (where, (rows, numbers), known) in enumerate(head.parts):
        cut("observation", where.start, where.stop, f"said_{k}")
        cut(outputs, at, at + numbers, f"by_number_{k}")
        cut(outputs, at + numbers, at + numbers + known, f"by_fact_{k}")
        constant(f"said_shape_{k}", [0, rows, numbers], np.int64)  # 0: as many rows as there are
        constant(f"by_number_shape_{k}", [0, numbers, 1], np.int64)
        constant(f"score_shape_{k}", [0, rows], np.int64)
        constant(f"facts_{k}", getattr(head, f"facts_{k}").numpy() / SCALE, np.float32)
        nodes += [
            helper.make_node("Reshape", [f"said_{k}", f"said_shape_{k}"], [f"table_{k}"]),
            helper.make_node("Reshape", [f"by_number_{k}", f"by_number_shape_{k}"], [f"weights_{k}"]),
            helper.make_node("MatMul", [f"table_{k}", f"weights_{k}"], [f"column_{k}"]),
            helper.make_node("Reshape", [f"column_{k}", f"score_shape_{k}"], [f"moving_{k}"]),
            helper.make_node("MatMul", [f"by_fact_{k}", f"facts_{k}"], [f"standing_{k}"]),
            helper.make_node("Add", [f"moving_{k}", f"standing_{k}"], [f"score_{k}"]),
        ]
        scores.append(f"score_{k}")
        at += numbers + known
    # Each action's score beside its logit: an action has one row at the most, so a choice of columns is enough.
    place = head.place.numpy()
    action = np.where(place.any(axis=1), place.argmax(axis=1), 0)
    column = np.arange(head.num_actions)
    with_row = np.flatnonzero(place.any(axis=1))
    column[action[with_row]] = head.num_actions + with_row
    constant("actions", action, np.int64)
    constant("column", column, np.int64)
    constant("scale", SCALE, np.float32)
    cut(outputs, 0, head.num_actions, "plain")
    nodes += [
        helper.make_node("Concat", scores, ["scores"], axis=1),
        helper.make_node("Mul", ["scores", "scale"], ["scaled"]),
        helper.make_node("Gather", ["plain", "actions"], ["their_logits"], axis=1),
        helper.make_node("Add", ["their_logits", "scaled"], ["their_scores"]),
        helper.make_node("Concat", ["plain", "their_scores"], ["both"], axis=1),
        helper.make_node("Gather", ["both", "column"], ["scored"], axis=1),
    ]
    return nodes, constants


def write_checkpoint(
    folder: Path,
    network: PolicyNetwork,
    given: Inputs,
    game: Any,
    config: str,
    training: Mapping[str, Any],
    evaluation: Any = None,
    replace: bool = False,
) -> None:
    """Write a policy to `folder`, all of it or nothing.

    Args:
        folder: must not exist, unless `replace`: then it takes the place of an older one.
        network: from inputs to logits.
        given: what makes inputs of an observation.
        game: the ``coyote_env.core.game.Game`` it was trained for.
        config: the run's configuration, TOML.
        training: steps, games, seed, wall_seconds, command.
        evaluation: results that JSON can hold, or None.

    Raises FileExistsError, OSError; TypeError for layers that cannot be exported.
    """
    graph = policy_graph(network, given)
    versions = library_versions()
    manifest = {
        "format_version": FORMAT_VERSION,
        "game": game.name,
        "kwargs": dict(game.kwargs),
        "num_seats": game.num_seats,
        "num_actions": game.num_actions,
        "observation_size": game.layout.size,
        "layout_hash": game.layout.hash,
        "training": dict(training),
        "versions": {name: versions[name] for name in ("coyote_env", *_LIBRARIES, "python")},
        "evaluation": evaluation,
        "policy_sha256": hashlib.sha256(graph).hexdigest(),
    }
    files: dict[str, bytes | str] = {"policy.onnx": graph, "manifest.json": to_json(manifest), "config.toml": config}
    write_folder_atomic(folder, files, replace)


def read_manifest(folder: Path) -> dict[str, Any]:
    """Of the checkpoint in that folder, to put more figures into it. Raises ConfigError, OSError."""
    path = folder / "manifest.json"
    try:
        manifest: dict[str, Any] = json.loads(read_bounded(path, MAX_JSON))
        if not isinstance(manifest["training"], dict):
            raise TypeError("training is not a table")
    except (FileNotFoundError, NotADirectoryError):
        raise ConfigError(
            f"{folder} is not allowed: it has no manifest.json; allowed: the folder of a policy"
        ) from None
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ConfigError(f"{path} is not a manifest: {type(error).__name__}: {error}") from None
    return manifest


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Takes the place of the one there."""
    write_atomic(folder / "manifest.json", to_json(manifest))


def write_evaluation(folder: Path, evaluation: Any) -> None:
    """Put evaluation results into the manifest of the checkpoint in `folder`."""
    manifest = read_manifest(folder)
    manifest["evaluation"] = evaluation
    write_manifest(folder, manifest)


def to_json(value: Any) -> str:
    """`value` as indented JSON; NaN and infinities are refused (ValueError), since readers disagree on them."""
    return json.dumps(value, indent=2, allow_nan=False) + "\n"


def library_versions() -> dict[str, str]:
    """Versions of what a run depends on, read without importing the libraries."""
    versions = {"coyote_env": coyote_env.__version__}
    for name in (*_LIBRARIES, *_MORE_LIBRARIES):
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = "not installed"
    return versions | {"python": platform.python_version()}
