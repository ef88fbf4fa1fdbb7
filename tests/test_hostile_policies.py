"""Files that other people wrote: what must be refused is refused by name, executes nothing, and costs little.

The checks of shapes are compared with the runtime's own results, operator by operator; every hostile file is brought
as a file, and nearly good files are tried by the thousand.
"""

# ruff: noqa: E501  # tables of cases, one row a case

from __future__ import annotations

import json
import os
import pickle

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from coyote_env.policies import GAMES, CheckpointPolicy, PolicyError, load_policy, onnx_file, registry
from coyote_env.policies import manifest as manifests
from coyote_env.policies.onnx_file import OPERATORS, OPSETS, OnnxFile
from tests import networks, toy_duel
from tests.networks import constant


@pytest.fixture(autouse=True)
def _duel(monkeypatch):
    monkeypatch.setitem(GAMES, "duel_v0", registry._Modules("tests.toy_duel", "tests.toy_duel", "longy"))


GAME = toy_duel.game()
L, A = GAME.layout.size, GAME.num_actions


def refused(tmp_path, message, model=None, /, **fields):
    """Loading raises a ValueError with this message (a regular expression)."""
    networks.write(tmp_path / "p", GAME, model, **fields)
    with pytest.raises(ValueError, match=message):
        load_policy(tmp_path / "p", GAME)


# --- The folder ---


def test_the_good_one_is_good(tmp_path):
    policy = load_policy(networks.write(tmp_path / "p", GAME), GAME)
    assert isinstance(policy, CheckpointPolicy)
    assert policy.manifest.num_actions == A


@pytest.mark.parametrize("name", ["policy.onnx", "manifest.json"])
def test_missing_files_are_named(tmp_path, name):
    networks.write(tmp_path / "p", GAME)
    (tmp_path / "p" / name).unlink()
    with pytest.raises(
        ValueError, match=rf"{name} is missing; a policy is a folder with policy.onnx and manifest.json"
    ):
        load_policy(tmp_path / "p", GAME)


@pytest.mark.parametrize("name", ["policy.onnx", "manifest.json"])
def test_links_out_of_the_folder_are_refused(tmp_path, name):
    networks.write(tmp_path / "p", GAME)
    (tmp_path / "p" / name).rename(tmp_path / name)
    (tmp_path / "p" / name).symlink_to(tmp_path / name)
    with pytest.raises(ValueError, match=rf"p/{name}: a link to .*, outside the folder"):
        load_policy(tmp_path / "p", GAME)


def test_links_inside_the_folder_and_to_the_folder_are_fine(tmp_path):
    networks.write(tmp_path / "p", GAME)
    (tmp_path / "p" / "policy.onnx").rename(tmp_path / "p" / "step_100.onnx")
    (tmp_path / "p" / "policy.onnx").symlink_to("step_100.onnx")
    (tmp_path / "latest").symlink_to("p")
    assert load_policy(tmp_path / "latest", GAME).name.endswith("latest")


def test_a_circle_of_links_is_refused(tmp_path):
    networks.write(tmp_path / "p", GAME)
    (tmp_path / "p" / "policy.onnx").unlink()
    (tmp_path / "p" / "policy.onnx").symlink_to("policy.onnx")
    with pytest.raises(ValueError, match=r"policy.onnx: cannot be read"):
        load_policy(tmp_path / "p", GAME)


@pytest.mark.parametrize("name", ["policy.onnx", "manifest.json"])
def test_pipes_and_folders_are_no_files(tmp_path, name):
    networks.write(tmp_path / "p", GAME)
    (tmp_path / "p" / name).unlink()
    os.mkfifo(tmp_path / "p" / name)  # whoever opens it carelessly waits for ever
    with pytest.raises(ValueError, match=rf"{name}: not a regular file"):
        load_policy(tmp_path / "p", GAME)
    (tmp_path / "p" / name).unlink()
    (tmp_path / "p" / name).mkdir()
    with pytest.raises(ValueError, match=rf"{name}: not a regular file"):
        load_policy(tmp_path / "p", GAME)


@pytest.mark.parametrize(("name", "limit"), [("policy.onnx", "100,000,000"), ("manifest.json", "1,000,000")])
def test_files_over_the_limit_are_not_read(tmp_path, name, limit):
    networks.write(tmp_path / "p", GAME)
    with (tmp_path / "p" / name).open("r+b") as file:
        file.truncate(2**40)  # a hole of a terabyte: reading it would not end well
    with pytest.raises(ValueError, match=rf"{name}: 1,099,511,627,776 bytes; allowed: {limit}"):
        load_policy(tmp_path / "p", GAME)


def test_a_file_that_is_no_folder(tmp_path):
    (tmp_path / "policy.onnx").write_bytes(b"")
    with pytest.raises(ValueError, match="there is no folder of that name"):
        load_policy(tmp_path / "policy.onnx", GAME)


def test_another_network_than_the_manifest_speaks_of(tmp_path):
    networks.write(tmp_path / "p", GAME)
    other = networks.network(L, A, seed=1).SerializeToString()
    (tmp_path / "p" / "policy.onnx").write_bytes(other)
    with pytest.raises(
        ValueError, match=r"policy_sha256 = [0-9a-f]{64}; policy.onnx has [0-9a-f]{64}: the file was damaged"
    ):
        load_policy(tmp_path / "p", GAME)


# --- The manifest ---


@pytest.mark.parametrize(
    ("field", "values", "allowed"),
    [
        ("format_version", [0, 2, "1", 1.0, True, None, [1]], "a whole number from 1 to 1"),
        ("game", ["", "Coyote", "../coyote_v0", "coyote v0", "a" * 65, 3, None, ["coyote_v0"]], "a game's name"),
        ("kwargs", [[], "x", None, 3], "an object"),
        ("num_seats", [0, -1, 65, 2.0, "2", True, None, 2**53], "a whole number from 1 to 64"),
        ("num_actions", [0, 100_001, "3", 3.0, False, 10**15], "a whole number from 1 to 100,000"),
        ("observation_size", [0, 1_000_001, "4", None, -(2**53)], "a whole number from 1 to 1,000,000"),
        ("layout_hash", ["", "0" * 15, "0" * 17, "G" * 16, "0" * 15 + "\n", 0, None], "16 hexadecimal digits"),
        ("training", [[], "x", None, 1], "an object"),
        ("versions", [[], None, {"numpy": 2}, {"numpy": ["2"]}], "an object"),
        ("evaluation", ["good", 3, True], "an object, a list or null"),
        ("policy_sha256", ["", "0" * 63, "Z" * 64, "/" * 64, 0, None], "64 hexadecimal digits"),
    ],
)
def test_every_field_has_its_type_and_range(tmp_path, field, values, allowed):
    for value in values:
        refused(tmp_path, rf"manifest.json: {field} = .*; allowed: {allowed}", **{field: value})


@pytest.mark.parametrize("field", list(manifests.Manifest.__dataclass_fields__))
def test_no_field_may_be_missing(tmp_path, field):
    networks.write(tmp_path / "p", GAME)
    data = json.loads((tmp_path / "p" / "manifest.json").read_text())
    del data[field]
    (tmp_path / "p" / "manifest.json").write_text(json.dumps(data))
    with pytest.raises(ValueError, match=rf"the field {field} is missing; needed: format_version, "):
        load_policy(tmp_path / "p", GAME)


def test_no_field_may_be_unknown(tmp_path):
    refused(tmp_path, r"unknown field 'weights'; allowed: format_version, ", weights="/etc/passwd")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "not a manifest: Expecting value"),
        (b"policy", "not a manifest: Expecting value"),
        (b"\xff\xfe{}", "not a manifest: 'utf-8' codec"),
        (pickle.dumps({"format_version": 1}), "not a manifest: 'utf-8' codec"),
        (b"PK\x03\x04\x14\x00\x00\x00", "not a manifest: Expecting value"),
        (b"[1]", r"the file holds \[1\], needed: one object"),
        (b"null", "the file holds None, needed: one object"),
        (b'{"format_version": NaN}', "NaN is not a JSON number"),
        (b'{"evaluation": [-Infinity]}', "-Infinity is not a JSON number"),
        (b'{"training": {"x": 1e999}}', "the number '1e999' is out of range"),
        (b'{"num_seats": 9007199254740993}', "the number '9007199254740993' is out of range"),
        (b'{"num_seats": ' + b"9" * 500_000 + b"}", r"the number '9999.*\.\.\. is out of range"),
        (b'{"game": "a", "game": "b"}', "the key 'game' comes twice"),
        (b'{"training": ' + b"[" * 20 + b"]" * 20 + b"}", "nested too deeply; at most 12 levels"),
        (b"[" * 400_000, "nested too deeply; at most 12 levels"),
        (b'{"a":' * 100_000, "nested too deeply; at most 12 levels"),
        (b"{" + b",".join(b'"%d":0' % i for i in range(80_000)) + b"}", "the field format_version is missing"),
    ],
)
def test_what_is_no_manifest(tmp_path, text, message):
    networks.write(tmp_path / "p", GAME)
    (tmp_path / "p" / "manifest.json").write_bytes(text)
    with pytest.raises(ValueError, match=message) as caught:
        load_policy(tmp_path / "p", GAME)
    assert len(str(caught.value)) < 1_000


def test_paths_in_a_manifest_are_never_opened(tmp_path, monkeypatch):
    """Every string that could be one is one; the only files opened are the two of the folder."""
    bait = tmp_path / "bait"
    bait.write_text("{}")
    networks.write(
        tmp_path / "p", GAME,
        training={"command": str(bait), "config": f"file://{bait}"}, versions={"numpy": str(bait)},
        evaluation=[str(bait)], kwargs={"edition": "plain", "num_players": 2, "long": 40},
    )  # fmt: skip
    opened = []
    real_open = os.open

    def noting_open(path, *rest, **named):
        opened.append(os.fspath(path))
        return real_open(path, *rest, **named)

    monkeypatch.setattr(os, "open", noting_open)
    monkeypatch.setattr("builtins.open", _only_descriptors(open))
    load_policy(tmp_path / "p", GAME)
    assert [os.path.basename(path) for path in opened] == ["manifest.json", "policy.onnx"]


def _only_descriptors(real):
    def guarded(file, *rest, **named):
        assert isinstance(file, int), f"opened {file!r}"
        return real(file, *rest, **named)

    return guarded


# --- The network: what is no network ---


class _Trap:
    """Unpickling it makes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


def test_a_pickle_is_not_loaded(tmp_path):
    trap = str(tmp_path / "sprung")
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        refused(tmp_path, "policy.onnx: not an ONNX network as allowed here: ", pickle.dumps(_Trap(trap), protocol))
    assert not os.path.exists(trap)


@pytest.mark.parametrize(
    "data",
    [
        b"PK\x03\x04\x14\x00\x08\x00\x08\x00" + bytes(40),  # a zip: what torch.save writes
        b"ORTM" * 20,  # the runtime's other format has this mark
        b"\x1f\x8b\x08" + bytes(50),
        b"<html>not found</html>",
        b"version https://git-lfs.github.com/spec/v1\n",
        bytes(1000),
        b"\xff" * 1000,
        b"\x0b" * 100,  # groups, which Protocol Buffers had once
        b"\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",  # a number of eleven bytes
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f",  # a length of 2**63
    ],
)
def test_what_is_no_onnx(tmp_path, data):
    refused(tmp_path, "policy.onnx: not an ONNX network as allowed here: ", data)


def test_an_empty_file_holds_no_graph(tmp_path):
    refused(tmp_path, "it holds no graph", b"")


def test_every_truncation_is_refused(tmp_path):
    data = networks.network(L, A).SerializeToString()
    OnnxFile(data)
    for size in range(len(data)):
        # What a cut leaves may be whole fields, so the model is then incomplete in some other way.
        with pytest.raises(ValueError, match=r"."):
            OnnxFile(data[:size])
    refused(tmp_path, "not an ONNX network as allowed here: field 7 claims", data[: len(data) // 2])


def test_many_small_fields_cost_little():
    """100 MB of two-byte fields: the count stops reading, after a fraction of a second."""
    with pytest.raises(ValueError, match=r"more than 200,000 fields"):
        OnnxFile(b"\x72\x00" * 10_000_000)


# --- The network: what it may not hold ---


def external(tensor, path="/etc/passwd", location=TensorProto.EXTERNAL):
    """Make a weight one that is kept in another file."""
    tensor.ClearField("raw_data")
    tensor.data_location = location
    if path is not None:
        entry = tensor.external_data.add()
        entry.key, entry.value = "location", path


def twisted(twist):
    model = networks.network(L, A)
    twist(model, model.graph)
    return model


def _subgraph(kind):
    def twist(model, graph):
        inner = helper.make_graph([], "inner", [], [])
        node = helper.make_node("Identity", ["observation"], ["x"])
        node.attribute.append(helper.make_attribute("body", [inner] if kind == "graphs" else inner))
        graph.node.append(node)

    return twist


def _node(*arguments, **attributes):
    return lambda model, graph: graph.node.append(helper.make_node(*arguments, **attributes))


def _declare(what, **changes):
    """Declare an input or output otherwise."""

    def twist(model, graph):
        for infos in (graph.input, graph.output):
            for i, info in enumerate(infos):
                if info.name == what:
                    kind, shape = changes.get("type", info.type.tensor_type.elem_type), changes.get("shape")
                    name = changes.get("name", what)
                    if shape is None:
                        shape = ["batch", L if what == "observation" else A]
                    infos[i].CopyFrom(helper.make_tensor_value_info(name, kind, shape))

    return twist


def _weight(change):
    return lambda model, graph: change(graph.initializer[0])


def _function(model, graph):
    model.functions.append(
        helper.make_function(
            "", "Gemm", ["a"], ["b"], [helper.make_node("Identity", ["a"], ["b"])], [helper.make_opsetid("", 17)]
        )
    )


HOSTILE = [
    ("external data", _weight(external), r"it holds external data"),
    ("external data, relative", _weight(lambda w: external(w, "weights.bin")), r"it holds external data"),
    ("external data, flag only", _weight(lambda w: external(w, None)), r"it holds external data"),
    ("external data, entry only", _weight(lambda w: external(w, "x", TensorProto.DEFAULT)), r"it holds external data"),
    ("external data in a node", lambda m, g: _constant_node(m, g, external), r"it holds external data"),
    ("sparse weight", lambda m, g: g.sparse_initializer.add(), r"it holds a sparse tensor"),
    ("custom domain", _node("Gemm", ["observation"], ["x"], domain="com.evil"), r"operator 'Gemm' of domain 'com.evil'"),
    ("contrib domain", _node("FusedGemm", ["observation"], ["x"], domain="com.microsoft"), r"domain 'com.microsoft'"),
    ("ml domain", _node("TreeEnsemble", ["observation"], ["x"], domain="ai.onnx.ml"), r"domain 'ai.onnx.ml'"),
    ("unknown operator", _node("PyOp", ["observation"], ["x"]), r"operator 'PyOp'; allowed: Abs, Add, "),
    ("control flow", _node("Loop", ["observation"], ["x"]), r"operator 'Loop'; allowed: "),
    ("random numbers", _node("RandomNormal", [], ["x"], shape=[2]), r"operator 'RandomNormal'; allowed: "),
    ("subgraph", _subgraph("graph"), r"it holds a graph inside an operator"),
    ("subgraphs", _subgraph("graphs"), r"it holds a graph inside an operator"),
    ("functions", _function, r"it holds functions of its own"),
    ("training", lambda m, g: m.training_info.add(), r"it holds training instructions"),
    ("overload", lambda m, g: setattr(g.node[0], "overload", "x"), r"operator 'Gemm' with overload 'x'"),
    ("runtime settings", lambda m, g: m.metadata_props.add(key="ort_config", value="{}"), r"settings for the runtime"),
    ("other opset", lambda m, g: m.opset_import.add(domain="com.evil", version=1), r"operators of the domains \['', 'com.evil'\]"),
    ("new opset", lambda m, g: setattr(m.opset_import[0], "version", 99), r"operator set versions \[99\]; allowed: one, from 11"),
    ("no opset", lambda m, g: m.ClearField("opset_import"), r"operator set versions \[\]"),
    ("strings", _weight(lambda w: setattr(w, "data_type", TensorProto.STRING)), r"weight 'matrix': data type 8; allowed: float32"),
    ("huge type", _weight(lambda w: setattr(w, "data_type", 2**31 - 1)), r"data type 2147483647"),
    ("huge shape", _weight(lambda w: w.dims.__setitem__(0, 2**62)), r"weight 'matrix': shape \[4611686018427387904, 3\]"),
    ("negative shape", _weight(lambda w: w.dims.__setitem__(0, -4)), r"weight 'matrix': shape \[-4, 3\]"),
    ("large shape", _weight(lambda w: w.dims.__setitem__(0, 10**8)), r"needs 300,000,000 values; the file holds 12"),
    ("many dimensions", _weight(lambda w: w.dims.extend([1] * 60)), r"weight 'matrix': shape .*; allowed: 8 dimensions"),
    ("data cut", _weight(lambda w: setattr(w, "raw_data", w.raw_data[:-1])), r"needs 12 values; the file holds 11"),
    ("data twice", _weight(lambda w: w.float_data.append(1.0)), r"with its values in raw_data, float_data"),
    ("data of another type", _weight(lambda w: (w.ClearField("raw_data"), w.int64_data.extend([1] * 12))), r"values in int64_data"),
    ("same name twice", lambda m, g: g.initializer.append(g.initializer[0]), r"a weight named 'matrix' without a name of its own"),
    ("no name", _weight(lambda w: setattr(w, "name", "")), r"a weight named ''"),
    ("long name", _weight(lambda w: setattr(w, "name", "x" * 2000)), r"the field name has 2,000 bytes; allowed: at most 1,024"),
    ("many nodes", lambda m, g: g.node.extend([g.node[0]] * 5000), r"5,001 operators; allowed: 4,096"),
    ("result twice", lambda m, g: g.node.append(g.node[0]), r"its result 'logits' has no name of its own"),
    ("input from nowhere", lambda m, g: g.node[0].input.__setitem__(0, "nowhere"), r"its input 'nowhere' does not exist"),
    ("input overwritten", _node("Identity", ["logits"], ["observation"]), r"its result 'observation' has no name of its own"),
    ("circle", lambda m, g: g.node.insert(0, helper.make_node("Relu", ["b"], ["b"])), r"its input 'b' does not exist"),
    ("input name", _declare("observation", name="state"), r"inputs \['state', 'action_mask'\]; allowed: \['observation', 'action_mask'\]"),
    ("input missing", lambda m, g: g.input.pop(), r"inputs \['observation'\]; allowed: "),
    ("input more", lambda m, g: g.input.append(helper.make_tensor_value_info("hidden", 1, [1])), r"inputs .*'hidden'\]"),
    ("input twice", lambda m, g: g.input.append(g.input[0]), r"inputs \['observation', 'action_mask', 'observation'\]"),
    ("output name", _declare("logits", name="action"), r"outputs \['action'\]; allowed: \['logits'\]"),
    ("output more", lambda m, g: g.output.append(helper.make_tensor_value_info("matrix", 1, [L, A])), r"outputs \['logits', 'matrix'\]"),
    ("input type", _declare("observation", type=TensorProto.DOUBLE), r"observation of type float64; allowed: float32"),
    ("mask type", _declare("action_mask", type=TensorProto.STRING), r"action_mask of type unknown; allowed: int8, bool"),
    ("output type", _declare("logits", type=TensorProto.INT64), r"logits of type int64; allowed: float32, float64"),
    ("input size", _declare("observation", shape=["batch", L + 1]), r"the shapes \[1, 5\] and \[4, 3\] do not fit"),
    ("free size", _declare("observation", shape=["batch", "size"]), r"observation of shape \[None, None\]; allowed: \[batch, width\]"),
    ("fixed batch", _declare("observation", shape=[1, L]), r"observation of shape \[1, 4\]; allowed: \[batch, width\]"),
    ("absurd size", _declare("observation", shape=["batch", 2**62]), r"observation of shape \[None, 4611686018427387904\]"),
    ("input rank", _declare("action_mask", shape=["batch", 1, A]), r"action_mask of shape \[None, 1, 3\]"),
    ("mask size", _declare("action_mask", shape=["batch", A + 1]), r"logits for 3 actions and action_mask for 4"),
    ("output size", lambda m, g: [_declare(n, shape=["batch", 7])(m, g) for n in ("logits", "action_mask")], r"logits is \[1, 3\] for 1 rows"),
    ("output from nowhere", lambda m, g: g.node[0].output.__setitem__(0, "x"), r"logits is nothing for 1 rows"),
    ("false declaration", lambda m, g: g.value_info.append(helper.make_tensor_value_info("matrix", 1, [1, 1])), r"'matrix' is declared as \[1, 1\]"),
]  # fmt: skip


def _constant_node(model, graph, change):
    tensor = constant("inner", [1.0], np.float32)
    node = helper.make_node("Constant", [], ["c"], value=tensor)
    change(node.attribute[0].t)
    graph.node.append(node)


@pytest.mark.parametrize(("twist", "message"), [row[1:] for row in HOSTILE], ids=[row[0] for row in HOSTILE])
def test_hostile_networks_are_refused(tmp_path, twist, message):
    refused(tmp_path, rf"policy.onnx: (?s:.*){message}", twisted(twist))


def test_the_runtime_does_not_see_what_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(onnxruntime, "InferenceSession", lambda *a, **k: pytest.fail("a session was made"))
    for _, twist, message in HOSTILE:
        refused(tmp_path, message, twisted(twist))


def test_messages_stay_short(tmp_path):
    for _, twist, _ in HOSTILE:
        with pytest.raises(ValueError, match=r".") as caught:
            OnnxFile(twisted(twist).SerializeToString())
        assert len(str(caught.value)) < 1_500


def test_a_second_graph_is_not_merged_into_the_first():
    """Protocol Buffers join two values of one field. A reader that takes the first or last would check another file."""
    good = networks.network(L, A).SerializeToString()
    evil = onnx.ModelProto()
    evil.graph.node.append(helper.make_node("PyOp", ["observation"], ["x"], domain="com.evil"))
    merged = onnx.load_from_string(good + evil.SerializeToString())
    assert [node.op_type for node in merged.graph.node] == ["Gemm", "PyOp"]
    with pytest.raises(ValueError, match="the field graph comes twice"):
        OnnxFile(good + evil.SerializeToString())


def test_a_type_of_more_than_32_bits_is_not_cut_down():
    """Protocol Buffers keep the low 32 bits of such a number: data_location = 2**32 + 1 would be EXTERNAL."""
    model = networks.network(L, A)
    del model.graph.initializer[:]
    tensor = constant("matrix", np.zeros((L, A)), np.float32).SerializeToString() + b"\x70" + _varint(2**32 + 1)
    graph = model.graph.SerializeToString() + b"\x2a" + _varint(len(tensor)) + tensor
    model.ClearField("graph")
    data = model.SerializeToString() + b"\x3a" + _varint(len(graph)) + graph
    with pytest.raises(ValueError, match="weight 'matrix': it holds external data"):
        OnnxFile(data)


def _varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


# --- The network: what it may cost ---


def chain(nodes, weights=()):
    return networks.network(L, A, nodes=nodes, weights=weights).SerializeToString()


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, **attributes)


BOMBS = [
    (
        "a filled tensor",
        chain(
            [node("ConstantOfShape", ["shape"], ["x"]), node("ReduceMax", ["x"], ["m"], keepdims=0), node("Add", ["linear", "m"], ["logits"])],
            [constant("shape", [2**20, 2**20])],
        ),
        "its results come to 1,099,511,627,779 numbers",
    ),
    (
        "expansion",
        chain(
            [node("Expand", ["one", "shape"], ["x"]), node("ReduceMax", ["x"], ["m"], keepdims=0), node("Add", ["linear", "m"], ["logits"])],
            [constant("shape", [2**60]), constant("one", 1.0, np.float32)],
        ),
        r"its results come to 1,152,921,504,606,846,\d{3} numbers",
    ),
    (
        "broadcasting",
        chain(
            [
                node("Unsqueeze", ["column", "zero"], ["row"]), node("Unsqueeze", ["column", "one"], ["col"]), node("Mul", ["row", "col"], ["x"]),
                node("ReduceMax", ["x"], ["m"], keepdims=0), node("Add", ["linear", "m"], ["logits"]),
            ],
            [constant("column", np.zeros(30_000), np.float32), constant("zero", [0]), constant("one", [1])],
        ),
        "its results come to 900,",
    ),
    (
        "multiplications",
        chain(
            [
                node("MatMul", ["wide", "tall"], ["x0"]), *[node("MatMul", [f"x{i}", "x0"], [f"x{i + 1}"]) for i in range(30)],
                node("ReduceMax", ["x30"], ["m"], keepdims=0), node("Add", ["linear", "m"], ["logits"]),
            ],
            [constant("wide", np.zeros((2_000, 1)), np.float32), constant("tall", np.zeros((1, 2_000)), np.float32)],
        ),
        r"multiplications; allowed: 137,438,953,472 in one run",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("data", "message"), [b[1:] for b in BOMBS], ids=[b[0] for b in BOMBS])
def test_small_files_that_ask_for_much(tmp_path, data, message):
    assert len(data) < 200_000
    refused(tmp_path, message, data)


def test_doubling_is_refused(tmp_path):
    nodes = [node("Identity", ["linear"], ["x0"])]
    nodes += [node("Concat", [f"x{i}", f"x{i}"], [f"x{i + 1}"], axis=1) for i in range(40)]
    nodes += [node("ReduceMax", ["x40"], ["m"], keepdims=0), node("Add", ["linear", "m"], ["logits"])]
    refused(tmp_path, "operator 'Concat' giving .*: its results come to ", chain(nodes))


def test_a_size_that_explodes_for_one_batch_only(tmp_path):
    """Nothing for one row and for the largest batch, absurd between: each size is checked before it is first run."""
    nodes = [
        node("Shape", ["linear"], ["shape"], start=0, end=1),
        node("Sub", ["shape", "c1"], ["a"]),  # rows - 1
        node("Sub", ["most", "shape"], ["b"]),  # MAX_BATCH - rows
        node("Mul", ["a", "b"], ["ab"]),
        node("Mul", ["ab", "big"], ["n"]),
        node("ConstantOfShape", ["n"], ["x"]),
        node("ReduceSum", ["x"], ["m"], keepdims=0),
        node("Add", ["linear", "m"], ["logits"]),
    ]
    weights = [constant("c1", [1]), constant("most", [onnx_file.MAX_BATCH]), constant("big", [10_000])]
    policy = load_policy(networks.write(tmp_path / "p", GAME, chain(nodes, weights)), GAME)

    def act(rows):
        return policy.act(np.zeros((rows, L), np.float32), np.ones((rows, A), np.int8), np.random.default_rng(0))

    assert len(act(1)) == 1
    assert len(act(onnx_file.MAX_BATCH)) == onnx_file.MAX_BATCH
    with pytest.raises(
        PolicyError, match=r"failed on 250 rows: operator 'ConstantOfShape' .*: its results come to 652,"
    ):
        act(250)


def test_sizes_that_depend_on_what_is_seen_are_refused(tmp_path):
    nodes = [
        node("ReduceMax", ["observation"], ["m"], keepdims=0),
        node("Cast", ["m"], ["whole"], to=TensorProto.INT64),
        node("Unsqueeze", ["whole", "zero"], ["shape"]),
        node("ConstantOfShape", ["shape"], ["x"]),
        node("ReduceSum", ["x"], ["s"], keepdims=0),
        node("Add", ["linear", "s"], ["logits"]),
    ]
    message = (
        r"operator 'ConstantOfShape' giving \['x'\]: the values of input 0 decide a shape and are not known in advance"
    )
    refused(tmp_path, message, chain(nodes, [constant("zero", [0])]))


def test_whole_numbers_that_wrap_around_are_not_followed(tmp_path):
    """2**31 in int32 is negative to the runtime: what cannot be followed exactly is not known."""
    nodes = [
        node("Mul", ["big", "big"], ["n"]),
        node("ConstantOfShape", ["n"], ["x"]),
        node("ReduceSum", ["x"], ["s"], keepdims=0),
        node("Add", ["linear", "s"], ["logits"]),
    ]
    refused(tmp_path, "decide a shape and are not known in advance", chain(nodes, [constant("big", [2**20])]))


# --- Our shapes against the runtime's ---

F = np.float32
X = np.arange(24, dtype=F).reshape(2, 3, 4) + 1
M = np.arange(12, dtype=F).reshape(3, 4) + 1
B = X > 5


def i64(*values):
    return np.array(values, np.int64)


# Operator, opset, inputs (None: left out), attributes and "parts", the number of outputs if it is not 1.
# An int64 input is known in advance, as a weight is.
SHAPES = [
    *[(op, 17, [X], {}) for op in ["Abs", "Ceil", "Celu", "Clip", "Cos", "Elu", "Erf", "Exp", "Floor", "HardSigmoid", "HardSwish", "LeakyRelu", "Log", "LogSoftmax"]],
    *[(op, 17, [X], {}) for op in ["Neg", "Reciprocal", "Relu", "Round", "Selu", "Sigmoid", "Sign", "Sin", "Softmax", "Softplus", "Softsign", "Sqrt", "Tanh"]],
    *[(op, 17, [X], {}) for op in ("ThresholdedRelu", "Identity", "Transpose", "Flatten", "Shape")],
    ("Mish", 18, [X], {}), ("Gelu", 20, [X], {}), ("Swish", 24, [X], {}), ("Not", 17, [B], {}),
    ("Cast", 17, [X], {"to": TensorProto.INT64}), ("Clip", 17, [X, F(0), F(1)], {}), ("Clip", 17, [X, None, F(1)], {}),
    ("LayerNormalization", 17, [X, M[0]], {}), ("RMSNormalization", 23, [X, M[0]], {}), ("PRelu", 17, [X, M[0]], {}),
    *[(op, 17, [X, M], {}) for op in ("Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Mean", "Sum")],
    *[(op, 17, [X, M[:, :1]], {}) for op in ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")],
    *[(op, 17, [B, B[0]], {}) for op in ("And", "Or", "Xor")],
    ("Mod", 17, [X, M], {"fmod": 1}), ("Where", 17, [B, X, M[:1]], {}), ("Add", 17, [X, F(1)], {}), ("Max", 17, [X, M, X], {}),
    *[(op, 13, [X], {"axes": [-1, 0]}) for op in ["ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd"]],
    ("ReduceSum", 13, [X, i64(1)], {"keepdims": 0}), ("ReduceMax", 18, [X, i64(-1)], {}), ("ReduceMean", 18, [X], {}),
    ("ReduceMean", 18, [X], {"noop_with_empty_axes": 1}), ("ReduceMean", 18, [X], {"keepdims": 0}), ("ReduceSum", 11, [X], {"axes": [1]}),
    ("MatMul", 17, [X, M.T], {}), ("MatMul", 17, [M.T, X[0]], {}), ("MatMul", 17, [X, M[0]], {}), ("MatMul", 17, [M[0], M.T], {}),
    ("MatMul", 17, [M[0], M[0]], {}), ("MatMul", 17, [X[:, None], X.transpose(0, 2, 1)[None]], {}),
    ("Gemm", 17, [M, M.T], {}), ("Gemm", 17, [M, M], {"transA": 1}), ("Gemm", 17, [M, M], {"transB": 1}),
    ("Reshape", 17, [X, i64(4, 6)], {}), ("Reshape", 17, [X, i64(0, -1)], {}), ("Reshape", 17, [X, i64(-1)], {}),
    ("Reshape", 17, [X[:0], i64(0, 5)], {"allowzero": 1}), ("Flatten", 17, [X], {"axis": 2}), ("Flatten", 17, [X], {"axis": -3}),
    ("Flatten", 17, [X], {"axis": 0}), ("Squeeze", 17, [X[:, :1], i64(1)], {}), ("Squeeze", 17, [X[:1, :1]], {}),
    ("Squeeze", 11, [X[:, :1]], {"axes": [-2]}), ("Unsqueeze", 17, [X, i64(0, -1)], {}), ("Unsqueeze", 11, [X], {"axes": [1, 4]}),
    ("Transpose", 17, [X], {"perm": [1, 2, 0]}), ("Concat", 17, [X, X[:, :2]], {"axis": 1}), ("Concat", 17, [X, X], {"axis": -1}),
    ("Split", 17, [X], {"axis": 2, "parts": 4}), ("Split", 18, [X], {"axis": 1, "num_outputs": 2, "parts": 2}), ("Split", 17, [X, i64(1, 3)], {"axis": -1, "parts": 2}),
    ("Split", 11, [X], {"axis": 1, "split": [1, 2], "parts": 2}),
    ("Slice", 17, [X, i64(1), i64(2**63 - 1)], {}), ("Slice", 17, [X, i64(0, 1), i64(1, -1), i64(0, 2)], {}),
    ("Slice", 17, [X, i64(3), i64(-(2**63)), i64(2), i64(-1)], {}), ("Slice", 17, [X, i64(-1), i64(-4), i64(2), i64(-2)], {}),
    ("Slice", 17, [X, i64(-9), i64(9), i64(1), i64(2)], {}), ("Slice", 17, [X, i64(3), i64(1)], {}), ("Slice", 17, [X, i64(9), i64(-5), i64(2), i64(-1)], {}),
    ("Gather", 17, [X, i64(1, 0)], {"axis": 2}), ("Gather", 17, [X, np.int64(-1)], {}), ("Gather", 17, [X, np.zeros((2, 2), np.int64)], {"axis": -1}),
    ("Shape", 17, [X], {"start": 1}), ("Shape", 17, [X], {"start": -2, "end": 3}), ("Shape", 17, [X], {"end": -1}),
    ("Constant", 17, [], {"value_int": 3}), ("Constant", 17, [], {"value_ints": [3, 4]}), ("Constant", 17, [], {"value_float": 3.0}),
    ("Constant", 17, [], {"value_floats": [3.0]}), ("Constant", 17, [], {"value": constant("v", [[1, 2]])}),
    ("ConstantOfShape", 17, [i64(2, 3)], {}), ("ConstantOfShape", 17, [np.zeros(0, np.int64)], {}),
    ("Expand", 17, [X, i64(5, 1, 1, 1)], {}), ("Expand", 17, [M[:, :1], i64(3, 6)], {}),
    # Whole numbers, whose values are followed too.
    ("Add", 17, [i64(3, 4), i64(1)], {}), ("Sub", 17, [i64(3, 4), i64(5)], {}), ("Mul", 17, [i64(3, 4), np.int64(2)], {}),
    ("Div", 17, [i64(7, 8), i64(2)], {}), ("Concat", 17, [i64(1), i64(2, 3)], {"axis": 0}), ("Gather", 17, [i64(5, 6, 7), np.int64(-1)], {}),
    ("Slice", 17, [i64(5, 6, 7), i64(2), i64(-(2**40)), i64(0), i64(-1)], {}), ("Unsqueeze", 17, [np.int64(4), i64(0)], {}), ("Squeeze", 17, [i64(4)], {}),
    ("Identity", 17, [i64(4)], {}), ("Cast", 17, [i64(4)], {"to": TensorProto.INT32}), ("Reshape", 17, [i64(1, 2), i64(2, 1)], {}),
]  # fmt: skip


def test_every_operator_is_compared_and_is_one_of_the_standard():
    assert {row[0] for row in SHAPES} == set(OPERATORS)
    assert {schema.name for schema in onnx.defs.get_all_schemas() if schema.domain == ""} >= set(OPERATORS)
    assert OPSETS[1] <= onnx.defs.onnx_opset_version()


@pytest.mark.parametrize(
    ("op", "opset", "inputs", "attributes"), SHAPES, ids=[f"{i}-{r[0]}" for i, r in enumerate(SHAPES)]
)
def test_shapes_are_those_of_the_runtime(op, opset, inputs, attributes):
    attributes = dict(attributes)
    count = attributes.pop("parts", 1)
    names = [f"i{i}" if value is not None else "" for i, value in enumerate(inputs)]
    one = helper.make_node(op, names, [f"o{i}" for i in range(count)], **attributes)
    arrays = {name: np.asarray(value) for name, value in zip(names, inputs, strict=True) if value is not None}
    graph = helper.make_graph(
        [one], "one",
        [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in arrays.items()],
        [helper.make_empty_tensor_value_info(f"o{i}") for i in range(count)],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=networks.IR_VERSION)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    real = session.run(None, arrays)
    values = {n: onnx_file._tensor(_read(constant(n, a, a.dtype), onnx_file._TENSOR)) for n, a in arrays.items()}
    found = onnx_file._Sizes().node(
        onnx_file._Node(_read(one, onnx_file._NODE)), [values[n] if n else None for n in names]
    )
    assert [f.shape for f in found] == [r.shape for r in real]
    for f, r in zip(found, real, strict=True):
        if f.numbers is not None:
            assert f.numbers.tolist() == r.tolist()
    if all(np.asarray(a).dtype == np.int64 for a in inputs) and op not in ("Expand", "ConstantOfShape", "Constant"):
        assert found[0].numbers is not None, "these values should have been followed"


def _read(message, spec):
    return onnx_file._Reader().message(memoryview(message.SerializeToString()), spec)


# --- Nearly good files, by the thousand ---


def test_damaged_files_are_refused_or_work(tmp_path):
    """Bytes changed, cut out, doubled: a ValueError, or a network that the runtime takes and runs. Nothing else."""
    nodes = [
        node("Reshape", ["linear", "shape"], ["x"]),
        node("Softmax", ["x"], ["y"], axis=-1),
        node("Unsqueeze", ["y", "axis"], ["z"]),
        node("ReduceSum", ["z", "axis"], ["s"], keepdims=0),
        node("Mul", ["s", "factor"], ["logits"]),
    ]
    weights = [constant("shape", [-1, 3]), constant("axis", [1]), constant("factor", 2.0, np.float32)]
    good = chain(nodes, weights)
    rng = np.random.default_rng(0)
    observation, mask = np.zeros((2, L), np.float32), np.ones((2, A), np.int8)
    outcomes = {"refused": 0, "no session": 0, "ran": 0, "failed": 0}
    for _ in range(3_000):
        data = bytearray(good)
        for _ in range(rng.integers(1, 4)):
            at, kind = int(rng.integers(len(data))), int(rng.integers(4))
            if kind == 0:
                data[at] = int(rng.integers(256))
            elif kind == 1:
                data[at] ^= 1 << int(rng.integers(8))
            elif kind == 2:
                del data[at : at + int(rng.integers(1, 5))]
            else:
                data[at:at] = data[at : at + int(rng.integers(1, 30))]
        try:
            file = OnnxFile(bytes(data))
        except ValueError:
            outcomes["refused"] += 1
            continue
        try:
            session = _session(bytes(data))
        except ValueError:
            outcomes["no session"] += 1
            continue
        try:
            feed = {"observation": observation, "action_mask": mask.astype(file.mask_dtype)}
            (logits,) = session.run(["logits"], feed)
        except Exception as error:
            if "onnxruntime" not in type(error).__module__:
                raise
            outcomes["failed"] += 1
        else:
            outcomes["ran"] += 1
            assert logits.shape == (2, A)
    assert outcomes["refused"] > 1_000
    assert outcomes["ran"] > 50


def _session(data):
    from coyote_env.policies.checkpoint import _session as session

    return session(data, "damaged")


def test_a_network_that_the_runtime_refuses_is_an_error_of_ours(tmp_path):
    """Our check does not follow types: adding text to numbers is for the runtime to notice."""
    nodes = [node("Not", ["linear"], ["n"]), node("Add", ["linear", "n"], ["logits"])]
    refused(tmp_path, r"policy.onnx: onnxruntime does not take it: ", chain(nodes))


def test_reading_is_quick_for_a_large_good_network():
    """Nine million weights: the reader does not look at each."""
    weights = [constant("w", np.zeros((A, 3_000_000)), np.float32)]
    nodes = [
        node("MatMul", ["linear", "w"], ["x"]),
        node("ReduceMax", ["x"], ["m"], keepdims=0),
        node("Add", ["linear", "m"], ["logits"]),
    ]
    data = chain(nodes, weights)
    assert len(data) > 30_000_000
    with pytest.raises(ValueError, match="its results come to "):
        OnnxFile(data)  # small as a file, too large in use
