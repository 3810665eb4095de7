"""`get_optimized_symbol` of a bound symbol; copies and names of symbols. Counts are MXNet 1.9.1's."""

import copy

import numpy as np
import pytest

import amp
import amp.mxnet as mx

A, B = mx.sym.var("a"), mx.sym.var("b")
D = A + 1


def optimized(symbol):
    shapes = dict.fromkeys(symbol.list_inputs(), (2, 3))
    return symbol.simple_bind(mx.cpu(), **shapes).get_optimized_symbol()


def random(x):
    return mx.sym.Dropout(x, p=0.5)


@pytest.mark.parametrize(
    ("symbol", "saved"),
    [
        ((A + 1) + (A + 2), 0),
        ((A + B) + (A + B), 1),
        (((A + B) * A) + ((A + B) * A), 2),
        (mx.sym.Group([A * D, A * D]), 0),
        (mx.sym.Group([A * D + B, A * D + B]), 1),
        (random(A) + random(A), 0),
        (mx.sym.split(A, num_outputs=3, axis=1)[0] + mx.sym.split(A, num_outputs=3, axis=1)[1], 3),
    ],
)
def test_repeated_nodes(symbol, saved, monkeypatch):
    found = optimized(symbol)
    monkeypatch.setenv("MXNET_ELIMINATE_COMMON_EXPR", "0")
    assert len(optimized(symbol).get_internals()) - len(found.get_internals()) == saved
    if not any(node.startswith("dropout") for node in found.get_internals().list_outputs()):
        arrays = {name: amp.nd.array(np.arange(6).reshape(2, 3)) for name in symbol.list_inputs()}
        for result, expected in zip(found.eval(**arrays), symbol.eval(**arrays)):
            np.testing.assert_array_equal(result.asnumpy(), expected.asnumpy())


def test_states_move_as_often_as_they_did():
    parts = [mx.sym.var(part) for part in ("gamma", "beta", "mean", "var")]
    symbol = mx.sym.BatchNorm(A, *parts, name="first") + mx.sym.BatchNorm(A, *parts, name="second")
    found = symbol.simple_bind(mx.cpu(), a=(2, 3)).get_optimized_symbol()
    assert {"first_output", "second_output"} <= set(found.get_internals().list_outputs())


@pytest.mark.parametrize("numpy", [False, True])
def test_a_copy_has_a_name_of_its_own(numpy):
    for first in (mx.sym.var("a"), mx.sym.exp(mx.sym.var("x"), name="a")):
        first = first.as_np_ndarray() if numpy else first
        second = copy.copy(first)
        second._set_attr(name="b")
        assert (first.name, second.name) == ("a", "b")
        assert type(second) is type(first) is type(copy.deepcopy(first))


def test_a_cached_op_without_inputs():
    run = mx.nd.CachedOp(mx.sym.zeros((2,)), [("static_alloc", True)])
    assert run(None, default_device=mx.cpu()).asnumpy().tolist() == [0, 0]
