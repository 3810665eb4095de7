"""What MXNet refuses and this package takes: after `mx.install` it is refused, too, with MXNet's classes of errors."""

import numpy as np
import pytest

import amp
import amp.mxnet as mx
from amp import _switches


@pytest.fixture(autouse=True)
def nobody_has_set_a_switch():
    """A `reset_np()` of another test is one of the thread."""
    for switch in ("shape", "array", "default_dtype"):
        _switches.set_switch(switch, None)


MADE = {
    "zeros": (lambda shape: mx.nd.zeros(shape), [(), (0,), 0, (2, 0)]),
    "ones": (lambda shape: mx.nd.ones(shape=shape), [(), (0,), 0, (2, 0)]),
    "full": (lambda shape: mx.nd.full(shape, 3), [()]),
}


@pytest.mark.parametrize("name", MADE)
def test_unknown_shapes_make_no_arrays(name):
    make, shapes = MADE[name]
    assert [make(shape).size for shape in shapes] == [np.zeros(shape).size for shape in shapes]
    for shape in shapes:
        mx.install("1.9.1", workers=False)
        with pytest.raises(amp.Error, match=f"{name}: shape .* in np_shape alone"):
            make(shape)
        with mx.np_shape():
            assert make(shape).size == np.zeros(shape).size
        mx.install("2.0.0", workers=False)
        assert make(shape).size == np.zeros(shape).size
        with mx.util.np_shape(False), pytest.raises(amp.Error, match="in np_shape alone"):
            make(shape)
        assert make(shape).size == np.zeros(shape).size  # again as MXNet 2 begins
        mx.install("1.9.1", workers=False)
        assert make((2, 3)).shape == (2, 3) and make(4).shape == (4,)


def test_arrays_that_mxnet_makes_without_elements():
    mx.install("1.9.1", workers=False)
    assert mx.nd.full((2, 0), 1).shape == (2, 0) and mx.nd.empty((0, 3)).shape == (0, 3)
    assert mx.nd.array([]).shape == (0,) and mx.np.ones(()).shape == ()


class Sum(mx.gluon.HybridBlock):
    def hybrid_forward(self, F, a, b=None):
        parts = [*(a if isinstance(a, (list, tuple)) else [a]), b]
        return sum(part for part in parts if part is not None)


ONES = np.ones(3, "float32")
REFUSED = {  # arguments of a first call that is right, and of the next, which is not
    "a number": (None, lambda x: (x, 1)),
    "a list of numbers": (None, lambda x: ([x, 2.0],)),
    "text": (None, lambda x: (x, "b")),
    "two devices": (None, lambda x: (mx.nd.ones((3,), ctx=mx.cpu(1)), mx.nd.ones((3,), ctx=mx.cpu(2)))),
    "None for an array": (lambda x: (x, x), lambda x: (x, None)),
    "an array for None": (lambda x: (x, None), lambda x: (x, x)),
    "an array for what was left out": (lambda x: (x,), lambda x: (x, x)),
    "a list for an array": (lambda x: (x,), lambda x: ([x, x],)),
    "a longer list": (lambda x: ([x, x],), lambda x: ([x, x, x],)),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("version", ["1.9.1", "2.0.0"])
def test_arguments_of_hybridized_blocks(version, name):
    first, then = REFUSED[name]
    mx.install(version, workers=False)
    block, x = Sum(), mx.nd.array(ONES)
    if name != "text":
        block(*then(x))  # not hybridized: anything that Python can add
    block.hybridize()
    if first is not None:
        block(*first(x))
    with pytest.raises(ValueError, match="Sum: .*hybridized blocks take|Sum: the arguments look like"):
        block(*then(x))
    block.hybridize()  # forgets the first call
    if name not in ("a number", "a list of numbers", "text", "two devices"):
        block(*then(x))


class Added(mx.gluon.HybridBlock):
    def forward(self, a, b):
        return b if a is None else a if b is None else a + b


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize("kind", [Sum, Added])
def test_a_call_needs_an_array(kind, hybridize, mxnet_2):
    block, x = kind(), mx.np.ones((3,))
    block.hybridize(hybridize)
    with pytest.raises(ValueError, match=f"{kind.__name__}: a call needs an array or a symbol"):
        block(None, None)
    assert block(None, x).shape == block(x, None).shape == (3,)


def test_arrays_and_symbols_do_not_mix():
    block = Sum()
    for kind in (ValueError, TypeError):
        with pytest.raises(kind, match="Sum: a call takes arrays or symbols, not both"):
            block(mx.nd.ones((3,)), mx.sym.var("b"))


def test_what_is_left_out_is_none():
    mx.install("1.9.1", workers=False)
    block, x = Sum(), mx.nd.array(ONES)
    block.hybridize()
    for args in ((x,), (x, None), (mx.nd.ones((2, 2)),), (mx.nd.ones((3,), dtype="float64"), None)):
        np.testing.assert_array_equal(block(*args).asnumpy(), args[0].asnumpy())


def test_without_a_version_blocks_take_more():
    block, x = Sum(), mx.nd.array(ONES)
    block.hybridize()
    for args, right in (((x, 1), 2), ((x, None), 1), ((x, x), 2), (([x, x], 3), 5)):
        np.testing.assert_array_equal(block(*args).asnumpy(), right * ONES)


def test_own_layers_take_states_or_not():
    mx.install("1.9.1", workers=False)
    layer = mx.gluon.rnn.GRU(4, input_size=3)
    layer.initialize()
    layer.hybridize()
    x = mx.nd.ones((5, 2, 3))
    outputs, states = layer(x, layer.begin_state(2))
    np.testing.assert_allclose(layer(x).asnumpy(), outputs.asnumpy(), rtol=1e-6)
    assert states[0].shape == (1, 2, 4)


def test_loops_in_symbols_read_their_states():
    body = lambda x, states: (x, [states[0] + 1, states[0] + 2])  # noqa: E731
    loop = lambda: mx.sym.contrib.foreach(body, mx.sym.var("x"), [mx.sym.var("a"), mx.sym.var("b")])  # noqa: E731
    assert len(loop()[1]) == 2
    for version in ("1.9.1", "2.0.0"):
        mx.install(version, workers=False)
        with pytest.raises(AssertionError, match="does not read state 1"):
            loop()
    with pytest.raises(AssertionError, match="does not read data 0"):
        mx.sym.contrib.foreach(lambda x, s: (s * 1, s), mx.sym.var("x"), mx.sym.var("a"))


def test_more_gradients_than_outputs():
    arrays = {"x": mx.nd.ones((2,))}
    bound = (mx.sym.var("x") * 3).bind(mx.cpu(), arrays, args_grad={"x": mx.nd.zeros((2,))})
    bound.forward(is_train=True)
    bound.backward([mx.nd.array([1, 2]), mx.nd.ones((7,))])  # MXNet 1.x does not look at the second
    assert bound.grad_dict["x"].asnumpy().tolist() == [3, 6]
    mx.install("2.0.0", workers=False)
    with pytest.raises(amp.ArgumentError, match="expected gradients of 1 outputs"):
        bound.backward([mx.nd.ones((2,)), mx.nd.ones((2,))])


def test_switches_of_a_thread_are_off_or_not_set():
    assert not _switches.is_off("shape")
    with mx.np_shape():
        assert not _switches.is_off("shape")
    assert not _switches.is_off("shape") and not mx.is_np_shape()
    before = mx.util.set_np_shape(False)
    assert before is False and _switches.is_off("shape")
    _switches.set_switch("shape", None)


def test_shapes_that_are_broadcast_are_close():
    compare = mx.test_utils.assert_allclose
    compare(np.ones((7, 1, 5)), mx.nd.ones((1, 7, 1, 5)))
    compare([np.nan, 1], np.array([np.nan, 1 + 5e-8]))
    for other, options in (([1, 1 + 5e-7], {}), ([1, np.nan], {}), (np.ones(3), {})):
        with pytest.raises(AssertionError):
            compare(np.ones(2), other, **options)
    with pytest.raises(AssertionError):
        compare([np.nan], [np.nan], equal_nan=False)


def test_test_utils_pass_switches_on():
    from amp.mxnet.test_utils import use_np_array, use_np_default_dtype, use_np_shape

    assert use_np_default_dtype(mx.is_np_default_dtype)() and not mx.is_np_default_dtype()
    assert use_np_shape(mx.is_np_shape)() and use_np_array(mx.is_np_array)()
