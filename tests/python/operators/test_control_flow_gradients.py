"""Gradients of _foreach, _while_loop and _cond against differences in float64, on both backends."""

import numpy as np
import pytest
from control_flow_nodes import cond, foreach, is_below, is_positive, var, while_loop

import amp
import amp.mxnet as mx
from amp import _core

STEP = 1e-6


def evaluate(symbol, arrays, backend):
    inputs = {name: arrays[name] for name in symbol.list_inputs()}
    shapes = {name: array.shape for name, array in inputs.items()}
    dtypes = {name: array.dtype for name, array in inputs.items()}
    run = amp.Executor(symbol, {}, {}, shapes, input_dtypes=dtypes, backend=backend)
    return [np.asarray(a) for a in run._handle.run([inputs[name] for name in run._input_names])]


def gradient_graph(symbol, wrt, heads):
    """The gradients that are not zero everywhere: their names, and a symbol of all."""
    variables = [_core.variable(name, {}) for name in heads]
    _, gradients, _ = _core.gradient_graph(symbol._handle, wrt, variables, True)
    found = {name: gradient for name, gradient in gradients.items() if gradient is not None}
    return list(found), amp.sym.Symbol(_core.group(list(found.values())))


def check(symbol, arrays, backend, order=1):
    """All gradients along a random direction, and those of the gradients where the order is 2."""
    random = np.random.default_rng(order)
    wrt = sorted(set(symbol.list_inputs()) & set(arrays))
    outputs = evaluate(symbol, arrays, "reference")
    heads = {f"head{order}_{i}": random.normal(size=output.shape) for i, output in enumerate(outputs)}
    names, joint = gradient_graph(symbol, wrt, heads)
    found = {name: np.zeros_like(arrays[name]) for name in wrt}
    found |= dict(zip(names, evaluate(joint, {**arrays, **heads}, backend)))
    for name in wrt:
        direction = random.normal(size=arrays[name].shape)

        def at(distance, name=name, direction=direction):
            moved = evaluate(symbol, {**arrays, name: arrays[name] + distance * direction}, "reference")
            return sum((head * output).sum() for head, output in zip(heads.values(), moved))

        slope = (at(STEP) - at(-STEP)) / (2 * STEP)
        assert found[name].shape == arrays[name].shape
        np.testing.assert_allclose((found[name] * direction).sum(), slope, rtol=1e-6, atol=1e-7, err_msg=name)
    if order > 1:
        check(joint, {**arrays, **heads}, backend, order - 1)


def draw(**shapes):
    random = np.random.default_rng(7)
    return {name: random.normal(size=shape) for name, shape in shapes.items()}


def recurrent_loop():
    new = amp.sym.tanh(amp.sym.broadcast_add(amp.sym.dot(var("s"), var("w")), var("x")))
    body = amp.sym.Group([new * new, amp.sym.elemwise_add(new, var("s"))])
    return foreach(body, {"x": var("data")}, {"s": var("first")}, {"w": var("weight")})


RECURRENT = draw(data=(4, 2, 3), first=(2, 3), weight=(3, 3))


@pytest.mark.parametrize("backend", ["reference", "onednn"])
def test_foreach(backend):
    check(recurrent_loop(), RECURRENT, backend)


def test_second_derivatives_of_foreach():
    check(recurrent_loop(), RECURRENT, "reference", order=2)


@pytest.mark.parametrize("backend", ["reference", "onednn"])
def test_foreach_without_states(backend):
    loop = foreach(amp.sym.sin(var("x")) * var("w"), {"x": var("data")}, {}, {"w": var("weight")})
    check(loop, draw(data=(3, 2), weight=(2,)), backend)


@pytest.mark.parametrize("scalar_parts, first", [((), (1,)), ((0,), ())])
@pytest.mark.parametrize("backend", ["reference", "onednn"])
def test_data_of_one_axis(backend, scalar_parts, first):
    new = amp.sym.elemwise_mul(amp.sym.elemwise_add(var("s"), var("x")), var("x"))
    changed = {"scalar_parts": scalar_parts} if scalar_parts else {}
    loop = foreach(amp.sym.Group([amp.sym.sin(new), new]), {"x": var("data")}, {"s": var("first")}, **changed)
    arrays = draw(data=(4,), first=first)
    stacked, last = evaluate(loop, arrays, backend)
    assert stacked.shape == (4, *first) and last.shape == first
    check(loop, arrays, backend)
    if backend == "reference":
        check(loop, arrays, backend, order=2)


def test_states_that_the_output_does_not_depend_on():
    loop = foreach(amp.sym.Group([amp.sym.sin(var("x")), var("s") * 2]), {"x": var("data")}, {"s": var("first")})
    check(loop[0], draw(data=(3, 2), first=(2,)), "reference")


@pytest.mark.parametrize("backend", ["reference", "onednn"])
@pytest.mark.parametrize("limit", [-1.0, 3.0, 1e9])
def test_while_loop(limit, backend):
    """No step, some steps, all steps."""
    new = var("s") * var("w") + 1
    body = amp.sym.Group([amp.sym.sin(new), new])
    loop = while_loop(is_below("s", limit), body, {"s": var("first"), "w": var("weight")}, ["s"], 5)
    check(loop, {"first": np.array([0.5]), "weight": np.array([1.3])}, backend)


@pytest.mark.parametrize("backend", ["reference", "onednn"])
@pytest.mark.parametrize("chosen", [1.0, -1.0])
def test_cond(chosen, backend):
    yes, no = amp.sym.sin(var("x")) * var("y"), amp.sym.exp(var("x"))
    branch = cond(is_positive("c"), yes, no, {"c": var("choice"), "x": var("a"), "y": var("b")})
    check(branch, {"choice": np.array([chosen]), **draw(a=(2, 3), b=(2, 3))}, backend)


def test_a_body_without_gradient_is_named():
    loop = foreach(amp.sym.batch_take(var("x"), amp.sym.zeros((2,), dtype="int32")), {"x": var("data")}, {})
    with pytest.raises(amp.UnsupportedError, match="_foreach 'loop': in its body: .* has no gradient"):
        _core.gradient_graph(loop._handle, ["data"], [], True)


@pytest.mark.parametrize("num_outputs", [1, 2, 5])
def test_outputs_of_the_graph_are_not_those_of_its_bodies(num_outputs):
    """A body with two outputs in a graph that has fewer or more."""

    def step(i):
        return amp.sym.Variable("scale") * i, [i + 1]

    start = amp.sym.Variable("start")
    outputs, (last,) = mx.sym.contrib.while_loop(lambda i: (i < 3).prod(), step, [start], max_iterations=4)
    heads = [outputs * 2, last * 3, outputs + 1, last - 1, outputs * outputs][:num_outputs]
    bound = amp.sym.Group(heads).bind(
        mx.cpu(),
        {"start": mx.nd.array([1.0]), "scale": mx.nd.array([2.0])},
        args_grad={"scale": mx.nd.zeros((1,))},
    )
    for _ in range(3):
        found = bound.forward(is_train=True)
        bound.backward([mx.nd.ones(array.shape) for array in found])
    assert found[0].asnumpy().ravel().tolist() == [4, 8, 0, 0]
    expected = 2 * (1 + 2) + (num_outputs > 2) * 3 + (num_outputs > 4) * 2 * 2 * (1 + 4)
    assert bound.grad_dict["scale"].asnumpy().tolist() == [expected]
