"""Policies of other programs on one small network: the dtypes that their rules say."""

import json
import re

import numpy as np
import pytest

import amp
from amp.__main__ import main


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
        "data_max": 512,
        "max_depth_of_reduction": None,
    }
    options = amp.peer_policy("autocast", source)
    assert options.pop("limits") == {"activation": 512}
    assert options["excluded_sym_names"] == [re.compile("conv[1]")]
    low = dtypes(model, options)
    assert low["conv1"] == low["fc"] == "float32" and low["conv2"] == low["tanh"] == "bfloat16"


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
