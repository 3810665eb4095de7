"""Each name that MXNet's wheels register is an operator here, a function, or refused with a reason."""

import importlib.util
import json
from pathlib import Path

import pytest

import amp
import amp.mxnet as mx
from amp import _unregistered

TOOL = Path(__file__).parents[3] / "tools" / "operators_of_mxnet.py"


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("operators_of_mxnet", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_list_has_both_wheels(tool):
    versions = [versions for _, versions in tool.listed().values()]
    assert sum("1.9.1" in each for each in versions) == 1167
    assert sum("2.0.0b1" in each for each in versions) == 1362


def test_the_page_is_up_to_date(tool):
    assert tool.PAGE.read_text() == tool.page(), "run `python tools/operators_of_mxnet.py page`"


def test_what_concerns_floats_and_integers_on_a_cpu_is_there(tool):
    assert tool.share(tool.outcomes()) > 0.95


def test_no_operator_that_is_there_is_refused():
    for name in amp._core.operator_names():
        reason = _unregistered.reason(name)
        assert reason in (None, _unregistered.PICTURES, _unregistered.GRADIENT, _unregistered.PYTHON), (name, reason)


def file_with(*operators):
    """JSON of a symbol with these operators."""
    nodes = [{"op": "null", "name": "data", "inputs": []}]
    nodes += [{"op": op, "name": f"n{i}", "inputs": [[i, 0, 0]]} for i, op in enumerate(operators)]
    return json.dumps({"nodes": nodes, "arg_nodes": [0], "heads": [[len(operators), 0, 0]]})


def test_files_and_names_with_refused_operators_tell_the_reason(tmp_path):
    text = file_with("_contrib_quantize_v2", "relu", "_contrib_fft", "_sparse_retain", "sgd_update", "whirl")
    (tmp_path / "net.json").write_text(text)
    reasons = (
        r"_contrib_fft \(MXNet .* GPUs alone\), _contrib_quantize_v2 \(int8.*\), _sparse_retain \(sparse .*\), "
        r"sgd_update \(updates .*\), whirl \(did you mean 'where'\?\)\."
    )
    for read in (lambda: amp.sym.load_json(text), lambda: amp.sym.load(tmp_path / "net.json")):
        with pytest.raises(amp.UnsupportedError, match=reasons):
            read()
    with pytest.raises(amp.UnsupportedError, match="_sparse_retain is not supported: sparse arrays"):
        mx.sym._internal._sparse_retain  # noqa: B018
