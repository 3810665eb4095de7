"""Checks of gradients for tests: MXNet's, by finite differences and by numbers that are known."""

import numpy as np

from ... import nd
from ..._execution.gradient_runs import requests_of
from ...base import ArgumentError
from ...sym import Variable
from .arrays import arrays_of, states_of
from .comparison import assert_almost_equal

# By size of the dtype: steps of finite differences, relative and absolute tolerances. Those of MXNet 1.9.1.
_STEPS = {2: 1 / 2**6, 4: 1 / 2**9, 8: 1 / 2**14}
_RELATIVE = {2: 1e-2, 4: 1e-4, 8: 1e-5}
_ABSOLUTE = {2: 1e-1, 4: 1e-3, 8: 1e-20}


def numeric_grad(executor, location, aux_states=None, eps=1e-4, use_forward_train=True, dtype=np.float32):
    """{argument: NumPy array} of central differences of the sum of all outputs of a bound symbol.

    `location` is {argument: array}; arrays of integers have no differences.

    >>> x = amp.sym.Variable("x")
    >>> bound = (x * x).bind(mx.cpu(), {"x": amp.nd.array([3.0])})
    >>> mx.test_utils.numeric_grad(bound, {"x": np.array([3.0])}, eps=1 / 64)["x"].round(3)
    array([6.], dtype=float32)
    """

    def value():
        for name, array in (aux_states or {}).items():
            executor.aux_dict[name][...] = array
        outputs = executor.forward(is_train=use_forward_train)
        return sum(float(np.asarray(output, np.float64).sum()) for output in outputs)

    for name, array in location.items():
        executor.arg_dict[name][...] = array
    found = {}
    for name, array in location.items():
        original = np.array(array)
        if original.dtype.kind != "f":
            continue
        gradient = np.zeros(original.shape, np.float64)
        for place in np.ndindex(*original.shape):
            around = []
            for sign in (1, -1):
                moved = original.copy()
                moved[place] += sign * eps / 2
                executor.arg_dict[name][...] = moved
                around.append(value())
            gradient[place] = (around[0] - around[1]) / eps
        executor.arg_dict[name][...] = original
        found[name] = gradient.astype(dtype)
    return found


def check_numeric_gradient(
    sym,
    location,
    aux_states=None,
    numeric_eps=None,
    rtol=None,
    atol=None,
    grad_nodes=None,
    use_forward_train=True,
    ctx=None,
    grad_stype_dict=None,
    dtype=np.float32,
):
    """Asserts that the gradients of a symbol's output, weighted at random, are finite differences.

    `grad_nodes` are the arguments to look at, a list or {argument: grad_req}; all of them by default.

    >>> x = amp.sym.Variable("x")
    >>> mx.test_utils.check_numeric_gradient(x * x, [np.array([1.0, 2.0])])
    """
    size = np.dtype(dtype).itemsize
    eps = _STEPS[size] if numeric_eps is None else numeric_eps
    arrays = arrays_of(sym.list_arguments(), location, dtype)
    states = states_of(sym, aux_states, dtype)
    if hasattr(grad_nodes, "items"):
        requests = dict(grad_nodes)
    else:
        requests = dict.fromkeys(sym.list_arguments() if grad_nodes is None else grad_nodes, "write")
    if all(np.dtype(array.dtype).kind == "i" for array in arrays.values()):
        arrays = {name: array.astype(dtype) for name, array in arrays.items()}  # there are no differences of integers
    _, shapes, _ = sym.infer_shape(**{name: array.shape for name, array in arrays.items()})
    weights = nd.array(np.random.default_rng(0).random(shapes[0]) + 0.1, dtype=dtype)
    weighted = sym * Variable("__weights")
    arguments = {**arrays, "__weights": weights}
    random = np.random.default_rng(1)
    starts = {name: nd.array(random.normal(0, 0.01, arrays[name].shape), dtype=dtype) for name in requests}
    before = {name: array.asnumpy() for name, array in starts.items()}
    bound = weighted.bind(ctx, arguments, args_grad=starts, grad_req=requests, aux_states=states)
    bound.forward(is_train=True)
    bound.backward()
    copies = {name: array.copy() for name, array in arguments.items()}
    fresh_states = states_of(sym, aux_states, dtype)
    plain = weighted.bind(ctx, copies, aux_states=fresh_states)
    location = {name: arrays[name].asnumpy() for name in requests}
    kept = {name: array.asnumpy() for name, array in (fresh_states or {}).items()}
    numeric = numeric_grad(plain, location, kept, eps, use_forward_train, dtype)
    for name, request in requests.items():
        found = bound.grad_dict[name] if request != "null" else starts[name]
        expected = {"write": 0, "add": before[name]}.get(request, before[name])
        expected = expected + numeric[name] if request != "null" else expected
        names = (f"gradient of {name}", "finite differences")
        assert_almost_equal(
            found.asnumpy(),
            expected,
            _RELATIVE[size] if rtol is None else rtol,
            _ABSOLUTE[size] if atol is None else atol,
            names,
        )


def check_symbolic_backward(
    sym,
    location,
    out_grads,
    expected,
    rtol=None,
    atol=None,
    aux_states=None,
    grad_req="write",
    ctx=None,
    grad_stypes=None,
    equal_nan=False,
    dtype=np.float32,
):
    """Asserts that a symbol's gradients for `location` and `out_grads` are `expected`; returns {argument: gradient}.

    `location`, `out_grads` and `expected` are lists, or dicts by name.

    >>> x = amp.sym.Variable("x")
    >>> found = mx.test_utils.check_symbolic_backward(x * x, [np.array([3.0])], [np.array([2.0])], [np.array([12.0])])
    >>> found["x"].asnumpy()
    array([12.], dtype=float32)
    """
    names = sym.list_arguments()
    arrays = arrays_of(names, location, dtype)
    expected = dict(expected) if hasattr(expected, "items") else dict(zip(names, expected))
    requests = requests_of(sym, grad_req)
    random = np.random.default_rng(2)
    starts = {
        name: nd.array(random.normal(size=arrays[name].shape), dtype=arrays[name].dtype)
        for name in names
        if requests[name] != "null" and np.dtype(arrays[name].dtype).kind != "i"
    }
    before = {name: array.asnumpy() for name, array in starts.items()}
    bound = sym.bind(ctx, arrays, args_grad=starts, grad_req=requests, aux_states=states_of(sym, aux_states, dtype))
    bound.forward(is_train=True)
    if hasattr(out_grads, "items"):
        out_grads = [out_grads[name] for name in sym.list_outputs()]
    elif out_grads is not None and not isinstance(out_grads, (list, tuple)):
        raise ArgumentError(f"out_grads: expected a list or a dict, got {type(out_grads).__name__}")
    given = [] if out_grads is None else out_grads[: len(sym.list_outputs())]  # MXNet's own tests pass more
    heads = [None if head is None else nd.array(head, dtype=getattr(head, "dtype", None)) for head in given] or None
    bound.backward(heads)
    for name, wanted in expected.items():
        if requests[name] == "null":
            continue
        found = bound.grad_dict[name]
        found = np.zeros(arrays[name].shape) if found is None else found.asnumpy()  # of integers
        if requests[name] == "add" and name in before:
            found = found - before[name]
        assert_almost_equal(found, wanted, rtol, atol, (f"gradient of {name}", "expected"), equal_nan)
    return bound.grad_dict
