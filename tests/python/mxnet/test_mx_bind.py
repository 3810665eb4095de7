"""Bound symbols: arrays that may be written to between calls."""

import gc

import numpy as np
import pytest

import amp
import amp.mxnet as mx

X = np.linspace(-1, 1, 6, dtype="f4").reshape(2, 3)
W = np.linspace(-2, 1, 12, dtype="f4").reshape(4, 3)
BIAS = np.array([1, 2, 3, 4], "f4")


def layer():
    return amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=4, name="fc")


def bound():
    executor = layer().simple_bind(mx.cpu(), data=(2, 3), grad_req="null")
    executor.copy_params_from({"fc_weight": W, "fc_bias": BIAS})
    return executor


def check(executor, x=X, w=W, bias=BIAS):
    np.testing.assert_allclose(executor.outputs[0].asnumpy(), x @ w.T + bias, rtol=1e-5, atol=1e-6)


def test_simple_bind_makes_arrays():
    executor = layer().simple_bind(data=(2, 3), type_dict={"data": "float32"})
    assert {name: array.shape for name, array in executor.arg_dict.items()} == {
        "data": (2, 3),
        "fc_weight": (4, 3),
        "fc_bias": (4,),
    }
    assert [array.shape for array in executor.arg_arrays] == [(2, 3), (4, 3), (4,)] and executor.aux_arrays == []
    assert executor.outputs[0].shape == (2, 4) and list(executor.output_dict) == ["fc_output"]
    assert {name: array.shape for name, array in executor.grad_dict.items()} == {
        "data": (2, 3),
        "fc_weight": (4, 3),
        "fc_bias": (4,),
    }
    assert executor.grad_arrays[2] is executor.grad_dict["fc_bias"]


def test_types():
    executor = layer().simple_bind(data=(2, 3), type_dict={"data": "bfloat16"})
    assert {amp.dtype_name(array.dtype) for array in executor.arg_arrays} == {"bfloat16"}
    executor.forward(data=X)
    assert amp.dtype_name(executor.outputs[0].dtype) == "bfloat16"


def test_forward():
    executor = bound()
    outputs = executor.forward(is_train=False, data=X)
    assert outputs[0] is executor.outputs[0]
    check(executor)
    np.testing.assert_array_equal(executor.arg_dict["data"].asnumpy(), X)
    executor.forward(data=amp.nd.array(2 * X))
    check(executor, x=2 * X)


def test_writing_to_arrays():
    executor = bound()
    executor.arg_dict["data"][:] = X
    executor.forward()
    check(executor)
    executor.arg_dict["fc_weight"][:] = 2 * W
    executor.forward()
    check(executor, w=2 * W)
    executor.arg_arrays[2][:] = 0
    executor.forward()
    check(executor, w=2 * W, bias=0)


def test_changes_are_seen_through_anything_that_shares_the_memory():
    executor = bound()
    executor.forward(data=X)
    holders = {
        "array": executor.arg_dict["fc_weight"],
        "row": executor.arg_dict["fc_weight"][1],
        "numpy": np.asarray(executor.arg_dict["fc_weight"])[1],
        "dlpack": np.from_dlpack(executor.arg_dict["fc_weight"]),
        "reshaped": executor.arg_dict["fc_weight"].reshape(12),
    }
    expected = W.copy()
    for number, (what, holder) in enumerate(holders.items()):
        executor.forward()  # nobody wrote since
        if what in ("row", "numpy"):
            holder[:] = number + 2
            expected[1] = number + 2
        elif holder.shape == (12,):
            holder[0] = number + 2
            expected[0, 0] = number + 2
        elif isinstance(holder, np.ndarray) and not holder.flags.writeable:
            continue
        else:
            holder[0] = number + 2
            expected[0] = number + 2
        executor.forward()
        check(executor, w=expected)


def test_packed_weights_stay_while_nobody_writes():
    executor = bound()
    executor.forward(data=X)
    plan = executor._plan
    for factor in (2, 3):
        executor.forward(data=factor * X)
    assert executor._plan is plan
    np.asarray(executor.arg_dict["fc_weight"])  # looked at, not written
    gc.collect()
    executor.forward()
    assert executor._plan is plan
    executor.arg_dict["fc_weight"][:] = W  # the same values
    executor.forward()
    assert executor._plan is plan


def test_what_changes_with_every_call_is_no_longer_packed():
    executor = bound()
    executor.forward(data=X)
    for factor in (1, 2, 3, 4):
        executor.arg_dict["fc_weight"][:] = factor * W
        executor.forward()
        check(executor, w=factor * W)
    plan = executor._plan
    executor.arg_dict["fc_weight"][:] = 5 * W
    executor.forward()
    check(executor, w=5 * W)
    assert executor._plan is plan


def test_a_converted_symbols_weights_are_packed():
    symbol, arg_params, _ = amp.convert_model(layer(), {"fc_weight": W, "fc_bias": BIAS}, {})
    arrays = {"data": amp.nd.array(X), **arg_params}
    for executor in (symbol.bind(None, arrays), symbol.simple_bind(data=(2, 3))):
        executor.copy_params_from(arg_params)
        executor.forward(data=X)
        assert executor._plan.executor.input_names == ["data"]
        np.testing.assert_allclose(executor.outputs[0].asnumpy(), X @ W.T + BIAS, rtol=2e-2, atol=5e-2)


def test_a_fused_symbols_weights_are_packed():
    symbol = amp.sym.Activation(layer(), act_type="relu").optimize_for("ONEDNN")
    executor = symbol.bind(None, {"data": amp.nd.array(X), "fc_weight": amp.nd.array(W), "fc_bias": amp.nd.array(BIAS)})
    executor.forward()
    assert executor._plan.executor.input_names == ["data"]
    np.testing.assert_allclose(executor.outputs[0].asnumpy(), np.maximum(X @ W.T + BIAS, 0), rtol=1e-5, atol=1e-6)


def test_bind_shares_the_callers_arrays():
    arrays = {"data": amp.nd.array(X), "fc_weight": amp.nd.array(W), "fc_bias": amp.nd.array(BIAS)}
    executor = layer().bind(mx.cpu(), arrays, args_grad=None)
    assert executor.arg_dict["fc_weight"] is arrays["fc_weight"]
    executor.forward()
    check(executor)
    arrays["fc_weight"][:] = 0
    arrays["data"][:] = 0
    executor.forward()
    check(executor, x=0 * X, w=0 * W)


def test_bind_takes_lists_and_master_names():
    executor = layer()._bind(mx.cpu(), [amp.nd.array(X), amp.nd.array(W), amp.nd.array(BIAS)])
    executor.forward()
    check(executor)
    assert layer()._simple_bind(ctx=mx.cpu(), data=(2, 3)).arg_dict["fc_weight"].shape == (4, 3)


def test_eval():
    (output,) = layer().eval(ctx=mx.cpu(), data=X, fc_weight=W, fc_bias=BIAS)
    np.testing.assert_allclose(output.asnumpy(), X @ W.T + BIAS, rtol=1e-5, atol=1e-6)


def norm(**options):
    return amp.sym.BatchNorm(layer(), name="bn", fix_gamma=False, eps=1e-3, **options)


def test_auxiliary_states():
    executor = norm().simple_bind(data=(2, 3))
    executor.copy_params_from(
        {"fc_weight": W, "fc_bias": BIAS, "bn_gamma": np.ones(4), "bn_beta": np.zeros(4)},
        {"bn_moving_mean": BIAS, "bn_moving_var": np.full(4, 4 - 1e-3)},
    )
    np.testing.assert_allclose(executor.forward(data=X)[0].asnumpy(), X @ W.T / 2, rtol=1e-4, atol=1e-5)
    executor.aux_dict["bn_moving_mean"][:] = 0
    np.testing.assert_allclose(executor.forward()[0].asnumpy(), (X @ W.T + BIAS) / 2, rtol=1e-4, atol=1e-5)


def test_reshape_shares_arrays():
    executor = bound()
    executor.forward(data=X)
    larger = executor.reshape(data=(4, 3))
    rows = np.concatenate([X, X])
    larger.forward(data=rows)
    check(larger, x=rows)
    executor.arg_dict["fc_bias"][:] = 7
    larger.forward()
    check(larger, x=rows, bias=7)
    executor.forward()
    check(executor, bias=7)


def test_reshape_that_needs_another_weight():
    executor = bound()
    executor.forward(data=X)
    wider = executor.reshape(data=(2, 5))
    assert wider.arg_dict["fc_weight"].shape == (4, 5)
    np.testing.assert_array_equal(wider.forward(data=np.ones((2, 5)))[0].asnumpy(), [BIAS, BIAS])


def test_training():
    net = amp.sym.BatchNorm(amp.sym.Variable("data"), name="bn", fix_gamma=False, eps=1e-3)
    executor = net.simple_bind(data=(2, 3))
    executor.arg_dict["data"][:] = [[1, 2, 3], [3, 2, 7]]
    executor.arg_dict["bn_gamma"][:] = 1
    found = executor.forward(is_train=True)[0].asnumpy()
    np.testing.assert_allclose(found, [[-1, 0, -1], [1, 0, 1]], atol=2e-3)  # of the batch
    assert executor.aux_dict["bn_moving_mean"].asnumpy().tolist() == [0, 0, 0]
    executor.backward([amp.nd.ones((2, 3))])
    np.testing.assert_allclose(executor.aux_dict["bn_moving_mean"].asnumpy(), [0.2, 0.2, 0.5], rtol=1e-5)
    np.testing.assert_allclose(executor.grad_dict["bn_beta"].asnumpy(), [2, 2, 2])
    mx.random.seed(3)
    dropped = amp.sym.Dropout(amp.sym.Variable("x"), p=0.5).simple_bind(x=(100,))
    dropped.arg_dict["x"][:] = 1
    first = dropped.forward(is_train=True)[0].asnumpy()
    assert set(first) == {0, 2}
    assert dropped.forward()[0].asnumpy().tolist() == [1] * 100


def test_gradients_go_where_they_are_asked_to():
    x = amp.sym.Variable("x")
    given = amp.nd.zeros((2,))
    arguments = {"x": amp.nd.array([1.0, 3.0])}
    executor = (x * x).bind(mx.cpu(), arguments, args_grad={"x": given}, grad_req="add")
    for _ in range(2):
        executor.forward(is_train=True)
        executor.backward(amp.nd.array([1.0, 10.0]))
    assert given.asnumpy().tolist() == [4, 120]
    assert executor.grad_arrays[0] is given
    without = (x * x).bind(mx.cpu(), arguments)
    without.forward(is_train=True)
    without.backward()  # nothing to do
    assert without.grad_arrays == [None]
    other = amp.nd.zeros((3,))
    for wrong, message in (([], "a list of 1 arrays"), ([other], "got")):
        with pytest.raises(amp.ArgumentError, match=message):
            (x * x).bind(mx.cpu(), arguments, args_grad=wrong)


def test_labels_that_nobody_reads():
    net = amp.sym.SoftmaxOutput(layer(), name="softmax")
    executor = net.simple_bind(data=(2, 3), softmax_label=(2,))
    executor.copy_params_from({"fc_weight": W, "fc_bias": BIAS})
    executor.forward(data=X, softmax_label=np.array([1, 2]))
    scores = np.exp(X @ W.T + BIAS)
    expected = scores / scores.sum(1, keepdims=True)
    np.testing.assert_allclose(executor.outputs[0].asnumpy(), expected, rtol=1e-5)


def test_seeing_inside():
    executor = bound()
    assert "Total 0 MB allocated" in executor.debug_str() and "inner_product" in executor.debug_str()
    assert executor.get_optimized_symbol().list_outputs() == ["fc_output"]


@pytest.mark.parametrize(
    "mistake, message",
    [
        (lambda: layer().simple_bind(), "the shapes of these arguments stay unknown: data, fc_weight"),
        (lambda: layer().simple_bind(dat=(2, 3)), "no variable 'dat'; did you mean 'data'"),
        (lambda: layer().simple_bind(data=(2, 3), fc_weight=(4, 4)), "fc"),
        (lambda: layer().bind(None, {"data": X}), "args: arrays are missing: fc_weight, fc_bias"),
        (lambda: layer().bind(None, [X]), "args: expected 3 arrays"),
        (lambda: layer().bind(None, {"data": X, "fc_weight": W, "fc_bias": W}), "fc"),
        (lambda: layer().bind(None, 5), "args: expected a list or a dict of arrays, got int"),
        (lambda: bound().copy_params_from([W]), "expected a dict {name: array}, got list"),
        (lambda: bound().set_monitor_callback(5), "expected a function to call, got int"),
        (lambda: bound().forward(dat=X), "no argument 'dat'; did you mean 'data'"),
        (lambda: bound().forward(data=X[:1]), r"'data': expected shape \(2, 3\), got \(1, 3\)"),
        (lambda: bound().copy_params_from({"weight": W}), "no variable 'weight'"),
    ],
)
def test_mistakes(mistake, message):
    with pytest.raises(amp.Error, match=message):
        mistake()


def test_extra_parameters():
    bound().copy_params_from({"other": W}, allow_extra_params=True)


def test_backward_computes_outputs_where_they_are_missing():
    x = amp.sym.Variable("x")
    bound = (x * x).simple_bind(x=(2,), force_rebind=True)
    bound.arg_dict["x"][:] = [1, 3]
    bound.backward([amp.nd.array([1, 10], dtype="float64")])
    assert bound.grad_arrays[0].asnumpy().tolist() == [2, 60]


def test_backward_of_inference():
    bound = amp.sym.Dropout(amp.sym.Variable("x"), p=0.5).simple_bind(x=(1000,))
    for is_train, kinds in ((False, {1}), (True, {0, 2}), (False, {1})):
        bound.forward(is_train=is_train)
        bound.backward(is_train=is_train)
        assert set(bound.grad_arrays[0].asnumpy().tolist()) == kinds


def test_gradients_of_inference_have_the_mask_of_the_outputs():
    bound = amp.sym.Dropout(amp.sym.Variable("x"), p=0.5, mode="always").simple_bind(x=(1000,))
    bound.arg_dict["x"][:] = 1
    masks = []
    for _ in range(2):
        masks.append(bound.forward()[0].asnumpy())
        for is_train in (False, False, True):
            bound.backward(is_train=is_train)
            np.testing.assert_array_equal(bound.grad_arrays[0].asnumpy(), masks[-1])
    assert (masks[0] != masks[1]).any()


def test_gradients_behind_inference_are_those_of_inference():
    bound = amp.sym.Dropout(amp.sym.BatchNorm(amp.sym.Variable("x"), fix_gamma=False, name="bn"), p=0.5).simple_bind(
        x=(4, 2)
    )
    bound.copy_params_from({"bn_gamma": amp.nd.ones(2)}, {"bn_moving_var": amp.nd.array([4, 9])})
    bound.arg_dict["x"][:] = amp.nd.array(np.arange(8).reshape(4, 2) ** 2)
    bound.forward(is_train=False)
    bound.backward()
    np.testing.assert_allclose(bound.grad_dict["x"].asnumpy(), [[1 / 2, 1 / 3]] * 4, rtol=1e-3)
    assert bound.aux_dict["bn_moving_var"].asnumpy().tolist() == [4, 9]  # they do not move
    bound.forward(is_train=True)
    bound.backward()
    assert abs(bound.grad_dict["x"].asnumpy() - [1 / 2, 1 / 3]).max() > 0.1
    bound.forward()
    bound.backward(is_train=True)
    slope = 1 / np.sqrt(bound.aux_dict["bn_moving_var"].asnumpy())
    np.testing.assert_allclose(bound.grad_dict["x"].asnumpy(), [slope] * 4, rtol=1e-3)


def test_outputs_may_be_gradients_of_outputs():
    x = amp.sym.Variable("x")
    given = amp.nd.zeros((2,))
    bound = (x * x).bind(mx.cpu(), {"x": amp.nd.array([1, 3])}, {"x": given, "y": given}, {"x": "write", "y": "write"})
    bound.forward(is_train=True)
    bound.backward(bound.outputs)
    assert given.asnumpy().tolist() == [2, 54]


def test_smaller_shapes_share_the_beginning():
    bound = amp.sym.exp(amp.sym.Variable("x")).simple_bind(x=(4, 2), grad_req="null")
    bound.arg_dict["x"][:] = 1
    smaller = bound.reshape(x=(3, 2))
    assert (smaller.arg_dict["x"].asnumpy() == 1).all()
    smaller.arg_dict["x"][:] = 5
    assert bound.arg_dict["x"].asnumpy()[:, 0].tolist() == [5, 5, 5, 1]
    assert (bound.reshape(x=(5, 2)).arg_dict["x"].asnumpy() == 0).all()
