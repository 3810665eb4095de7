"""What ran, read from the primitives themselves."""

import json
import os
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest

import amp

# Runs networks of several kinds of layers with oneDNN's own log of what it executes, which is the oracle.
PROGRAM = """
import json, sys
import numpy as np, amp
sys.path.insert(0, {folder!r})
from test_audit import MODES, NETWORKS, network

for name in NETWORKS:
    for mode in MODES:
        net, args, aux, shapes = network(name)
        model = amp.convert_model(net, args, aux, cast_params_offline=True) if {low!r} else (net, args, aux)
        run = amp.Executor(*model, shapes, mode=mode, machine="any")
        arrays = {{name: np.ones(shape, "f") for name, shape in shapes.items()}}
        print(f"BEGIN {{name}} {{mode}}", flush=True)
        run(arrays)
        print("END " + json.dumps(run.audit()), flush=True)
"""
MODES = ("fast", "exact")
NETWORKS = ("images", "depthwise", "attention", "mixed")


def network(name):
    x = amp.sym.Variable("data")
    net, shapes = {"images": images, "depthwise": depthwise, "attention": attention, "mixed": mixed}[name](x)
    return (net, *amp.model_zoo.seeded_params(net, shapes), shapes)


def images(x):
    first = amp.sym.relu(amp.sym.Convolution(x, kernel=(3, 3), pad=(1, 1), num_filter=32, name="conv1"))
    net = amp.sym.Convolution(first, kernel=(3, 3), pad=(1, 1), num_filter=32, name="conv2")
    net = amp.sym.Pooling(amp.sym.relu(net + first), kernel=(2, 2), stride=(2, 2), pool_type="max")
    return amp.sym.softmax(amp.sym.FullyConnected(net, num_hidden=10, name="fc")), {"data": (2, 3, 12, 12)}


def depthwise(x):
    net = amp.sym.Convolution(x, kernel=(1, 1), num_filter=64, name="expand")
    net = amp.sym.clip(net, a_min=0, a_max=6)
    net = amp.sym.Convolution(net, kernel=(3, 3), pad=(1, 1), num_group=64, num_filter=64, name="depthwise")
    net = amp.sym.Convolution(net, kernel=(1, 1), num_filter=24, name="project")
    return amp.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="avg"), {"data": (1, 24, 14, 14)}


def attention(x):
    query, key = (amp.sym.FullyConnected(x, num_hidden=32, flatten=False, name=name) for name in ("q", "k"))
    net = amp.sym.batch_dot(amp.sym.softmax(amp.sym.batch_dot(query, key, transpose_b=True) * 0.2), key)
    net = amp.sym.LayerNorm(net + x, name="norm")
    return amp.sym.LeakyReLU(net, act_type="gelu"), {"data": (2, 10, 32)}


def mixed(x):
    net = amp.sym.Deconvolution(x, kernel=(2, 2), stride=(2, 2), num_filter=16, no_bias=True, name="up")
    net = amp.sym.tanh(amp.sym.concat(net, amp.sym.UpSampling(x, scale=2, sample_type="nearest"), dim=1))
    return amp.sym.mean(net, axis=(2, 3)), {"data": (1, 16, 6, 6)}


def without_prefix(line):
    """A line of oneDNN's log: 'exec,cpu,...' is the same in 3.2 and in later versions, which put more in front."""
    return line.removeprefix("onednn_verbose,").removeprefix("v1,primitive,")


def logged(low, **variables):
    """({network, mode: (lines of oneDNN's log, audit by the executor)}, stderr)"""
    code = PROGRAM.format(folder=os.path.dirname(__file__), low=low)
    environment = {**os.environ, "ONEDNN_VERBOSE": "1", **variables}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = {}
    for part in done.stdout.split("BEGIN ")[1:]:
        log, _, rest = part.partition("END ")
        title, *lines = log.splitlines()
        found[tuple(title.split())] = (
            [line.split(",") for line in map(without_prefix, lines) if line.startswith("exec,")],
            json.loads(rest.splitlines()[0]),
        )
    return found, done.stderr


@pytest.fixture(scope="module")
def runs():
    return logged(low=True)[0]


OPERANDS = ("src", "src_1", "weights", "bias", "dst", "scale", "shift")
SHORT = {"float32": "f32", "bfloat16": "bf16"}


def dtypes_of(descriptors):
    """['bf16', 'f32'] of 'src_bf16::blocked:ab::f0 dst_f32::blocked:ab::f0', or with 'src:bf16:a:blocked' in later
    versions; an eltwise has one for both sides."""
    found = [re.match(r"(\w+?)[_:](undef|[a-z]+\d+):", text).groups() for text in descriptors.split(" ")]
    return [dtype for name, dtype in found if dtype != "undef" for _ in range(2 if name == "data" else 1)]


def number_of_post_ops(attributes):
    ops = [text for text in attributes.split(" ") if text.startswith("attr-post-ops:")]
    return len(ops[0].partition(":")[2].split("+")) if ops else 0


def is_as_logged(step, line):
    """Whether a step of an audit says what oneDNN logged.

    A line is exec,cpu,KIND,IMPLEMENTATION,PROPAGATION,OPERANDS,ATTRIBUTES,...
    """
    logs_scale = " scale:" in line[5]  # later versions log it
    operands = OPERANDS if logs_scale else OPERANDS[:5]
    named = [SHORT[step["dtypes"][operand]] for operand in operands if operand in step["dtypes"]]
    facts = [step["kind"], step["implementation"], named, len(step["post_ops"])]
    return facts == [line[2], line[3], dtypes_of(line[5]), number_of_post_ops(line[6])]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", NETWORKS)
def test_it_says_what_onednn_says(runs, name, mode):
    lines, steps = runs[name, mode]
    by_audit = [step for step in steps if step["fpmath"] is not None]
    assert len(by_audit) == len(lines) > 1
    assert [(step, line) for step, line in zip(by_audit, lines) if not is_as_logged(step, line)] == []
    assert [step["difference"] for step in steps if not step["equal"]] == []


def test_some_of_these_primitives_compute_low_precision_with_post_ops(runs):
    steps = [step for _, audited in runs.values() for step in audited]
    assert any(step["post_ops"] for step in steps)
    if amp.cpu_info()["native_bfloat16"]:
        assert any(step["kind"] == "convolution" and step["dtypes"]["src"] == "bfloat16" for step in steps)


def test_no_primitive_carries_what_the_environment_asks_for():
    found, errors = logged(low=False, ONEDNN_DEFAULT_FPMATH_MODE="BF16")
    assert "ONEDNN_DEFAULT_FPMATH_MODE" in errors
    for lines, steps in found.values():
        assert lines and not any("fpmath" in line[6] for line in lines)
        assert {step["fpmath"] for step in steps} <= {"strict", None}


def small():
    net = amp.sym.relu(amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=3, name="fc"))
    return (net, *amp.model_zoo.seeded_params(net, {"data": (2, 4)})), {"data": (2, 4)}


@pytest.mark.parametrize("mode", [False, "warn", "strict"])
def test_nothing_is_said_where_nothing_differs(mode):
    model, shapes = small()
    run = amp.Executor(*model, shapes, audit=mode)
    with pytest.raises(amp.ArgumentError):
        run.audit()  # nothing has run
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(np.ones((2, 4), "f"))
    (step,) = run.audit()
    assert step["kind"] == "inner_product" and step["post_ops"] == ["eltwise_relu"] and step["equal"]
    assert set(step["dtypes"].values()) == {"float32"} and step["fpmath"] == "strict"
    planned = run.summary.steps[0]
    assert planned.dtypes == step["dtypes"] and planned.post_ops == step["post_ops"]
    assert "eltwise_relu" in str(run.summary)
    with pytest.raises(amp.ArgumentError):
        amp.Executor(*model, shapes, audit="loud")


class PlantedHandle:
    """The extension's executor, whose audit finds something."""

    def __init__(self, handle):
        self._handle = handle

    def __getattr__(self, name):
        return getattr(self._handle, name)

    def audit(self):
        return [
            {**step, "equal": False, "difference": "fpmath: planned strict, ran bf16"} for step in self._handle.audit()
        ]


def test_a_difference_is_a_warning_or_an_error_that_names_it():
    model, shapes = small()
    data = np.ones((2, 4), "f")
    warns, raises = (amp.Executor(*model, shapes, audit=mode) for mode in ("warn", "strict"))
    for run in (warns, raises):
        run._handle._handle = PlantedHandle(run._handle._handle)
    with pytest.warns(UserWarning, match="'fc'.*fpmath"):
        warns(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warns(data)  # said once
    with pytest.raises(amp.InternalError, match="'fc'.*fpmath"):
        raises(data)


def test_profiles_have_all_dtypes():
    model, shapes = small()
    (step,) = amp.Executor(*model, shapes).profile(np.ones((2, 4), "f"), runs=1).to_dict()["steps"]
    assert step["dtypes"]["weights"] == "float32" and step["post_ops"] == ["eltwise_relu"]


def test_why_a_product_of_bfloat16_is_computed_in_float32():
    net = amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=3, name="fc")
    model = amp.convert_model(
        net, *amp.model_zoo.seeded_params(net, {"data": (2, 4)}), force={"fc": "float16"}, target_dtype="float16"
    )
    with pytest.warns(UserWarning, match="float16"):
        run = amp.Executor(*model, {"data": (2, 4)}, machine="any")
    run(np.ones((2, 4), "f"))
    product = next(step for step in run.audit() if step["kind"] == "inner_product")
    assert product["dtypes"]["src"] == "float32" and "float16" in product["why_float32"] and product["equal"]
