"""check_consistency: one computation in several dtypes."""

import numpy as np

from ... import nd
from ...base import ArgumentError
from ...sym import Symbol
from .comparison import assert_almost_equal

# Of float16, float32 and everything wider.
_TOLERANCES = {2: 1e-1, 4: 1e-3}


def check_consistency(
    sym,
    ctx_list,
    scale=1.0,
    grad_req="write",
    arg_params=None,
    aux_params=None,
    rtol=None,
    atol=None,
    raise_on_err=True,
    ground_truth=None,
    equal_nan=False,
    use_uniform=False,
    rand_type=np.float64,
):
    """Asserts that a symbol, or several, give the same outputs and gradients in each of several ways to bind them.

    `ctx_list` are the keywords of `simple_bind` for each: shapes by name, and `type_dict`. The one with the widest
    dtype says what is right; `ground_truth` ({name: array}) does so instead. Returns {name: array} of that. Where
    `raise_on_err` is False, differences are printed.

    >>> ways = [{"ctx": mx.cpu(), "x": (2, 3), "type_dict": {"x": dtype}} for dtype in ("float64", "float32")]
    >>> sorted(mx.test_utils.check_consistency(amp.sym.tanh(amp.sym.Variable("x"), name="y"), ways))
    ['x', 'y_output']
    """
    symbols = [sym] * len(ctx_list) if isinstance(sym, Symbol) else list(sym)
    if len(symbols) != len(ctx_list) or len(symbols) < 2:
        raise ArgumentError(f"check_consistency: {len(symbols)} symbols and {len(ctx_list)} ways to bind them")
    names, outputs = symbols[0].list_arguments(), symbols[0].list_outputs()
    for other in symbols[1:]:
        if (other.list_arguments(), other.list_outputs()) != (names, outputs):
            raise AssertionError(f"the symbols have other names: {names}, {outputs} and {other.list_arguments()}")
    bound = [each.simple_bind(grad_req=grad_req, **way) for each, way in zip(symbols, ctx_list)]
    _fill(bound, _drawn(bound[0], arg_params or {}, scale, use_uniform, rand_type), aux_params or {})
    has_gradients = grad_req != "null"
    results = [_run(each, has_gradients) for each in bound]
    widths = [each.outputs[0].dtype.itemsize for each in bound]
    best = int(np.argmax(widths))
    truth = results[best] if ground_truth is None else ground_truth
    for width, result in zip(widths, results):
        tolerance = _TOLERANCES.get(min(width, widths[best]), 1e-5)
        for name, found in result.items():
            if truth.get(name) is None or found is None:
                continue
            try:
                wanted = (tolerance if given is None else given for given in (rtol, atol))
                assert_almost_equal(found, truth[name], *wanted, (f"{name} of {found.dtype}", "the truth"), equal_nan)
            except AssertionError as error:
                if raise_on_err:
                    raise
                print(error)
    return truth


def _drawn(bound, given, scale, use_uniform, dtype):
    values = dict(given)
    for name, array in sorted(bound.arg_dict.items()):
        if name not in values:
            draw = np.random.uniform(-0.92, 0.92, array.shape) if use_uniform else np.random.normal(size=array.shape)
            values[name] = (draw * scale).astype(dtype)
    return values


def _fill(bound, arguments, states):
    for each in bound:
        for name, array in each.arg_dict.items():
            array[...] = nd.array(arguments[name], dtype=array.dtype)
        for name, array in each.aux_dict.items():
            array[...] = states.get(name, 0)
        for array in each.grad_arrays:
            if array is not None:
                array[...] = 0


def _run(bound, has_gradients):
    bound.forward(is_train=has_gradients)
    result = {name: array.copy() for name, array in bound.output_dict.items()}
    if has_gradients:
        bound.backward([output.copy() for output in bound.outputs])
        result.update(bound.grad_dict)
    return result
