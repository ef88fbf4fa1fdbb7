"""Checkpoints made by hand, good and hostile, for the tests of loading."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from coyote_env.core.game import Game

OPSET, IR_VERSION = 17, 8


def network(
    observation_size: int,
    num_actions: int,
    *,
    seed: int = 0,
    nodes: Sequence[onnx.NodeProto] = (),
    weights: Sequence[onnx.TensorProto] = (),
    mask_type: int = TensorProto.INT8,
) -> onnx.ModelProto:
    """A linear network from observation to logits; with `nodes` and `weights` put after it, which must make `logits`
    of `linear` (and have it to themselves)."""
    rng = np.random.default_rng(seed)
    matrix = numpy_helper.from_array(rng.normal(size=(observation_size, num_actions)).astype(np.float32), "matrix")
    bias = numpy_helper.from_array(rng.normal(size=num_actions).astype(np.float32), "bias")
    first = helper.make_node("Gemm", ["observation", "matrix", "bias"], ["linear" if nodes else "logits"])
    graph = helper.make_graph(
        [first, *nodes],
        "policy",
        [
            helper.make_tensor_value_info("observation", TensorProto.FLOAT, ["batch", observation_size]),
            helper.make_tensor_value_info("action_mask", mask_type, ["batch", num_actions]),
        ],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", num_actions])],
        [matrix, bias, *weights],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)


def constant(name: str, values: Any, dtype: Any = np.int64) -> onnx.TensorProto:
    """A weight."""
    return numpy_helper.from_array(np.array(values, dtype), name)


def manifest(game: Game, data: bytes) -> dict[str, Any]:
    """A manifest that is right about the game and the network."""
    return {
        "format_version": 1,
        "game": game.name,
        "kwargs": dict(game.kwargs),
        "num_seats": game.num_seats,
        "num_actions": game.num_actions,
        "observation_size": game.layout.size,
        "layout_hash": game.layout.hash,
        "training": {"steps": 0},
        "versions": {"onnx": onnx.__version__},
        "evaluation": None,
        "policy_sha256": hashlib.sha256(data).hexdigest(),
    }


def write(folder: Path, game: Game, model: onnx.ModelProto | bytes | None = None, /, **fields: Any) -> Path:
    """A checkpoint in `folder`, made if it is not there; `fields` replace those of the manifest."""
    if model is None:
        model = network(game.layout.size, game.num_actions)
    data = model if isinstance(model, bytes) else model.SerializeToString()
    folder.mkdir(exist_ok=True)
    (folder / "policy.onnx").write_bytes(data)
    (folder / "manifest.json").write_text(json.dumps(manifest(game, data) | fields))
    return folder
