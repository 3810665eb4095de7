"""Policies of other programs on one small network: the dtypes that their rules say."""

import json
import re

import numpy as np
import pytest

import amp
from amp import _core
from amp.__main__ import main
from amp._options import conversion
from amp._options import peer_lists as lists
from amp._options.nodes import nodes_of
from amp._options.peers import read_policy


@pytest.fixture(scope="module")
def model():
    x = amp.sym.Variable("data")
    net = amp.sym.Convolution(x, kernel=(3, 3), pad=(1, 1), num_filter=8, name="conv1")
    net = amp.sym.LeakyReLU(net, act_type="prelu", name="prelu")
    net = amp.sym.Convolution(net, kernel=(3, 3), num_filter=8, name="conv2")
    net = amp.sym.exp(amp.sym.clip(net, a_min=-4, a_max=4, name="clip"), name="exp")
    net = amp.sym.Activation(net, act_type="tanh", name="tanh")
    net = amp.sym.FullyConnected(net, num_hidden=5, name="fc")
    net = amp.sym.softmax(net, name="softmax")
    return (net, *amp.model_zoo.seeded_params(net, {"data": (1, 3, 8, 8)}))


def dtypes(model, options):
    """{operator: dtype of its first input}: in which precision it computes."""
    low = amp.convert_model(*model, **options, fold_batch_norm=False)
    found = {}
    run = amp.Executor(*low, {"data": (1, 3, 8, 8)}, machine="any", mode="exact", monitor=True)
    arrays = {}
    run.run_monitored(
        lambda name, op, array: arrays.setdefault(name.removesuffix("_output"), array.dtype.name),
        np.ones((1, 3, 8, 8), "f"),
    )
    for node in json.loads(low[0].tojson())["nodes"]:
        if node["op"] in ("null", "amp_cast"):
            continue
        source = json.loads(low[0].tojson())["nodes"][node["inputs"][0][0]]["name"]
        found[node["name"]] = arrays.get(source, "float32")
    return found


def test_tensorflow(model):
    low = dtypes(model, amp.peer_policy("tensorflow", {}))
    assert {name for name in low if low[name] == "bfloat16"} >= {"conv1", "conv2", "fc"}
    assert low["exp"] == "float32"  # denied
    prefix = "TF_AUTO_MIXED_PRECISION_GRAPH_REWRITE_"
    changed = amp.peer_policy(
        "tensorflow",
        {
            prefix + "ALLOWLIST_REMOVE": "MatMul",
            prefix + "DENYLIST_ADD": "MatMul",
            prefix + "DENYLIST_REMOVE": "Exp",
            prefix + "ALLOWLIST_ADD": "Exp",
        },
    )
    low = dtypes(model, changed)
    assert low["fc"] == "float32" and low["exp"] == "bfloat16"


def test_tensorflow_reads_its_variables(model, monkeypatch):
    monkeypatch.setenv("TF_AUTO_MIXED_PRECISION_GRAPH_REWRITE_ALLOWLIST_REMOVE", "MatMul, Conv2D")
    monkeypatch.setenv("TF_AUTO_MIXED_PRECISION_GRAPH_REWRITE_DENYLIST_ADD", "MatMul")
    assert dtypes(model, amp.peer_policy("tensorflow"))["fc"] == "float32"


def test_pytorch(model):
    low = dtypes(model, amp.peer_policy("pytorch"))
    assert all(low[name] == "bfloat16" for name in ("conv1", "prelu", "conv2", "fc"))
    options = amp.peer_policy("pytorch")
    volume = amp.sym.Pooling(amp.sym.Variable("data"), kernel=(2, 2, 2), pool_type="max", name="volume")
    image = amp.sym.Pooling(amp.sym.Variable("data"), kernel=(2, 2), pool_type="max", name="image")
    (query,) = options["excluded_sym_names"]
    assert query.names_in(volume) == ["volume"] and query.names_in(image) == []


def test_onnxconverter(model):
    plain = dtypes(model, {})
    assert plain["fc"] == plain["conv2"] == "bfloat16"
    low = dtypes(
        model, amp.peer_policy("onnxconverter", {"op_block_list": ["Gemm", "Tanh"], "node_block_list": ["conv1"]})
    )
    assert low["fc"] == low["conv1"] == low["tanh"] == "float32" and low["conv2"] == "bfloat16"
    assert "topk" in amp.peer_policy("onnxconverter", {})["fp32_ops"]  # its own list


def test_tensorrt(model):
    low = dtypes(model, amp.peer_policy("tensorrt", "--layerPrecisions=fc:fp32,'conv*':bf16"))
    assert low["fc"] == "float32" and low["conv1"] == low["conv2"] == "bfloat16"
    assert amp.peer_policy("tensorrt", "a:fp16")["target_dtype"] == "float16"


def test_autocast(model):
    source = {
        "nodes_to_exclude": ["conv[1]"],
        "op_types_to_exclude": ["Gemm"],
        "op_types_to_include": ["Tanh"],
    }
    options = amp.peer_policy("autocast", source)
    assert options["excluded_sym_names"] == [re.compile("conv[1]")]
    low = dtypes(model, options)
    assert low["conv1"] == low["fc"] == "float32" and low["conv2"] == low["tanh"] == "bfloat16"


def test_limits_of_autocast(model):
    source = {"data_max": 512, "init_max": None, "max_depth_of_reduction": 50}
    options = amp.peer_policy("autocast", source)
    assert options["limits"] == {"activation": 512, "depth": 50}
    assert "limits" not in amp.peer_policy("autocast", {"init_max": None})
    low = dtypes(model, {**options, "data": np.ones((1, 3, 8, 8), "f")})
    assert low["conv1"] == "bfloat16" and low["conv2"] == low["fc"] == "float32"  # 27, 72 and 288 products
    text = error_of(amp.peer_policy, "autocast", {"data_maximum": 1, "init_maximum": 1})
    assert "no key 'data_maximum'" in text and "no key 'init_maximum'" in text


@pytest.mark.parametrize("name", ["tensorflow", "pytorch", "onnxconverter", "tensorrt", "autocast"])
def test_all_that_a_policy_says_are_options_of_conversions(name):
    sources = {"pytorch": None, "tensorrt": "fc:fp32"}
    assert set(amp.peer_policy(name, sources.get(name, {}))) <= set(conversion.OPTIONS)


def test_lists_name_operators_that_are_registered():
    ours = [*lists.TORCH_LOWER_PRECISION, *lists.TORCH_FP32, *lists.TORCH_PROMOTE]
    for table in (lists.OPERATORS_OF_TF, lists.OPERATORS_OF_ONNX):
        ours += [entry if isinstance(entry, str) else entry[0] for entries in table.values() for entry in entries]
    assert sorted(set(ours) - set(_core.operator_names())) == []


def test_names_of_a_table_are_not_looked_up(monkeypatch):
    """The extension makes a dict of all registered names at each call."""
    calls = []
    monkeypatch.setattr(lists, "is_of_mxnet", lambda name: calls.append(name) or True)
    options = amp.peer_policy("onnxconverter", {"op_block_list": ["Gemm", "Tanh", "exp"]})
    assert "FullyConnected" in options["fp32_ops"] and set(calls) == {"exp"}


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("tensorflw", None),
        ("tensorflow", {"TF_AUTO_MIXED_PRECISION_GRAPH_REWRITE_ALLOWLIST_ADD": "Conv2E"}),
        ("tensorflow", {"TF_AUTO_MIXED_PRECISION_GRAPH_REWRITE_ALLOWLIST_ADD": "Exp"}),  # is denied, too
        ("tensorflow", {"TF_AUTO_MIXED_PRECISION_GRAPH_REWRITE_SOMELIST_ADD": "Exp"}),
        ("tensorflow", {"PATH": "Exp"}),
        ("tensorflow", {"TF_AUTO_MIXED_PRECISION_GRAPH_REWRITE_ALLOWLIST_ADD": 1}),
        ("pytorch", {}),
        ("onnxconverter", None),
        ("onnxconverter", {"op_block_lists": []}),
        ("onnxconverter", {"op_block_list": "Gemm"}),
        ("onnxconverter", {"op_block_list": ["Gem"]}),
        ("tensorrt", None),
        ("tensorrt", "fc"),
        ("tensorrt", "fc:int8"),
        ("tensorrt", "a:fp16,b:bf16"),
        ("tensorrt", "a:fp32,a:bf16"),
        ("autocast", {"nodes_to_exclude": ["("]}),
        ("autocast", {"low_precision_type": "fp8"}),
        ("autocast", {"data_max": -1}),
        ("autocast", {"init_max": "512"}),
        ("autocast", {"max_depth_of_reduction": float("nan")}),
        ("autocast", {"max_finite_val": 512}),
    ],
)
def test_what_means_nothing_is_refused(name, source):
    with pytest.raises(amp.ArgumentError):
        amp.peer_policy(name, source)


def test_in_a_shell(model, tmp_path):
    amp.save_checkpoint(str(tmp_path / "net"), 0, *model)
    policy = tmp_path / "policy.txt"
    policy.write_text("fc:fp32,conv*:bf16\n")
    base = ["convert", str(tmp_path / "net"), "-o", str(tmp_path / "low")]
    assert main([*base, "--like", f"tensorrt:{policy}"]) == 0
    casts = [
        name
        for name in amp.load_checkpoint(str(tmp_path / "low"), 0)[0].get_internals().list_outputs()
        if "amp_cast" in name
    ]
    assert any(name.startswith("conv2_weight") for name in casts)
    assert not any(name.startswith("fc_weight") for name in casts)
    (tmp_path / "broken.json").write_text("{")
    for wrong in (f"autocast:{tmp_path / 'broken.json'}", "nobody", f"tensorrt:{tmp_path / 'none'}"):
        assert main([*base, "--force", "--like", wrong]) == 2
    assert main([*base, "--force", "--like", "pytorch", "--policy", "graphamp"]) == 2


@pytest.mark.parametrize("name", ["onnxconverter", "tensorrt", "autocast"])
def test_a_policy_that_needs_a_file_says_so(name):
    for text in (name, f"{name}:"):
        assert f"{name}:FILE" in error_of(read_policy, text)


def error_of(function, *arguments):
    """The text of the ArgumentError that a call raises."""
    with pytest.raises(amp.ArgumentError) as raised:
        function(*arguments)
    return str(raised.value)


def test_only_what_is_no_json_is_called_so(tmp_path):
    path = tmp_path / "policy"
    source = {"data_max": -1}
    path.write_text(json.dumps(source))
    assert error_of(read_policy, f"autocast:{path}") == error_of(amp.peer_policy, "autocast", source)
    assert error_of(read_policy, f"autocst:{path}") == error_of(amp.peer_policy, "autocst")
    for content in (b"{", b"fc:fp32\xff"):
        path.write_bytes(content)
        assert error_of(read_policy, f"autocast:{path}").startswith(f"{path}: ")
    assert error_of(read_policy, f"tensorrt:{path}").startswith(f"{path}: ")


# ---- queries ----


def test_queries(model):
    net = model[0]
    query = amp.NodeQuery
    assert query(op="Convolution").names_in(net) == ["conv1", "conv2"]
    assert query(op=["exp", "softmax"]).names_in(net) == ["exp", "softmax"]
    assert query(op="Convolution", attrs={"pad": (1, 1)}).names_in(net) == ["conv1"]
    assert query(attrs={"act_type": ["tanh", "prelu"]}).names_in(net) == ["prelu", "tanh"]
    assert query(after="exp").names_in(net) == ["exp", "tanh", "fc", "softmax"]
    assert query(before="prelu").names_in(net) == ["conv1", "prelu"]
    assert query(after="conv2", before="exp").names_in(net) == ["conv2", "clip", "exp"]
    assert query(where=lambda node: node["name"].startswith("c")).names_in(net) == ["conv1", "conv2", "clip"]
    with pytest.raises(amp.ArgumentError):
        query(after="nobody").names_in(net)


def test_queries_name_nodes_in_options(model):
    low = dtypes(model, {"excluded_sym_names": [amp.NodeQuery(after="conv2", before="exp")]})
    assert low["conv2"] == "float32" and low["conv1"] == low["fc"] == "bfloat16"
    low = dtypes(model, {"force": {amp.NodeQuery(op="Convolution", attrs={"pad": (1, 1)}): "float32"}})
    assert low["conv1"] == "float32" and low["conv2"] == "bfloat16"
    with pytest.raises(amp.ArgumentError):
        amp.convert_model(*model, excluded_sym_names=[amp.NodeQuery(op="Deconvolution")])
    amp.convert_model(*model, excluded_sym_names=[amp.NodeQuery(op="Deconvolution", optional=True)])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("op", 5),
        ("op", ["exp", 5]),
        ("op", b"exp"),
        ("op", re.compile("exp")),
        ("op", iter(["exp"])),  # is empty after the first node
        ("attrs", 3),
        ("attrs", [("pad", 1)]),
        ("after", 1),
        ("before", [None]),
        ("where", 3),
    ],
)
def test_a_condition_of_another_kind_is_refused(key, value):
    with pytest.raises(amp.ArgumentError):
        amp.NodeQuery(**{key: value})


def test_a_conversion_parses_its_nodes_once(model, monkeypatch):
    calls = []
    monkeypatch.setattr(conversion, "nodes_of", lambda sym: calls.append(sym) or nodes_of(sym))
    queries = [amp.NodeQuery(op="exp"), amp.NodeQuery(op="softmax"), re.compile("fc")]
    options, _ = conversion.check_options(model[0], {"excluded_sym_names": queries})
    assert options["excluded_sym_names"] == ["exp", "softmax", "fc"] and len(calls) == 1
