"""_foreach, _while_loop and _cond: subgraphs that run as often as the data say, against loops in NumPy."""

import json
import random as chance
import time

import ml_dtypes
import numpy as np
import pytest
from control_flow_nodes import (
    cond,
    foreach,
    is_below,
    is_positive,
    node_with_bodies,
    random,
    recurrent,
    run,
    substitute,
    var,
    while_loop,
)
from hostile import STRANGE, spoil

import amp
import amp.mxnet as mx

BACKENDS = pytest.mark.parametrize("backend", ["onednn", "reference"])


def cumulative_sum():
    total = amp.sym.elemwise_add(var("x"), var("s"), name="total")
    return foreach(amp.sym.Group([total, total]), {"x": var("data")}, {"s": var("start")})


def recurrent_params():
    return {"W": random(4, 5, seed=1), "B": random(4, seed=2), "V": random(3, 4, seed=3)}


def recurrent_in_numpy(x, h, p):
    outputs = []
    for part in x:
        h = np.tanh(part @ p["W"].T + p["B"] + h)
        outputs.append(h @ p["V"].T)
    return np.stack(outputs), h


# ---- values --------------------------------------------------------------------------------------


@BACKENDS
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u1", "f2", ml_dtypes.bfloat16])
def test_cumulative_sum(backend, dtype):
    x = np.arange(12).reshape(4, 3).astype(dtype)
    start = np.array([1, 2, 3]).astype(dtype)
    sums, last = run(cumulative_sum(), {"data": x, "start": start}, backend=backend)
    expected = start + np.cumsum(x.astype("f8"), axis=0).astype(dtype)
    assert sums.dtype == last.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(sums, expected)
    np.testing.assert_array_equal(last, expected[-1])


@BACKENDS
def test_a_body_with_parameters(backend):
    x, h, params = random(6, 2, 5), random(2, 4, seed=9), recurrent_params()
    outputs = run(recurrent(), {"data": x, "start": h}, params, backend=backend)
    for output, expected in zip(outputs, recurrent_in_numpy(x, h, params)):
        np.testing.assert_allclose(output, expected, rtol=1e-5, atol=1e-6)


def test_states_may_change_places_and_data_pass_through():
    body = amp.sym.Group([var("x"), var("b"), var("a")])
    symbol = foreach(body, {"x": var("data")}, {"a": var("first"), "b": var("second")})
    x, a, b = random(3, 2), random(4, seed=1), random(4, seed=2)
    stacked, first, second = run(symbol, {"data": x, "first": a, "second": b})
    np.testing.assert_array_equal(stacked, x)
    np.testing.assert_array_equal(first, b)
    np.testing.assert_array_equal(second, a)


def test_several_data_and_no_state():
    body = amp.sym.elemwise_mul(var("x"), var("y"), name="product")
    symbol = foreach(body, {"y": var("right"), "x": var("left")}, {})
    x, y = random(5, 2, 3), random(5, 2, 3, seed=1)
    np.testing.assert_array_equal(run(symbol, {"left": x, "right": y})[0], x * y)


@BACKENDS
def test_no_step_at_all(backend):
    start = random(3)
    sums, last = run(cumulative_sum(), {"data": np.zeros((0, 3), "f4"), "start": start}, backend=backend)
    assert sums.shape == (0, 3)
    np.testing.assert_array_equal(last, start)


def test_only_the_last_state_is_read():
    x, start = random(4, 3), random(3, seed=1)
    (last,) = run(cumulative_sum()[1], {"data": x, "start": start})
    np.testing.assert_allclose(last, start + x.sum(axis=0), rtol=1e-6, atol=1e-6)


def doubling():
    """Doubles x while its sum is below a limit; collects what x was."""
    condition = amp.sym.broadcast_lesser(amp.sym.sum(var("x"), name="sum"), var("limit"), name="less")
    body = amp.sym.Group([amp.sym._internal._copy(var("x"), name="before"), 2 * var("x")])
    return while_loop(condition, body, {"x": var("data"), "limit": var("limit")}, ["x"], 5)


@BACKENDS
@pytest.mark.parametrize("limit, steps", [(30, 3), (-1, 0), (1e9, 5), (4, 0), (4.5, 1)])
def test_while_loop_stops_early_at_once_and_at_its_maximum(backend, limit, steps):
    x = np.array([1, 3], "f4")
    collected, last = run(doubling(), {"data": x, "limit": np.array([limit], "f4")}, backend=backend)
    expected = np.zeros((5, 2), "f4")
    for step in range(steps):
        expected[step] = x * 2**step
    np.testing.assert_array_equal(collected, expected)  # rows that no step wrote are 0
    np.testing.assert_array_equal(last, x * 2**steps)


def test_while_loop_that_collects_nothing():
    condition = is_below("n", 10)
    body = amp.sym.Group([amp.sym.elemwise_add(var("total"), var("n"), name="add"), var("n") + 1])
    symbol = while_loop(condition, body, {"n": var("N"), "total": var("T")}, ["total", "n"], 100)
    total, n = run(symbol, {"N": np.array([0], "i4"), "T": np.array([5], "i4")})
    assert (total.item(), n.item()) == (5 + sum(range(10)), 10)


def choice():
    scaled = amp.sym.elemwise_add(var("a"), var("b"), name="sum") * 3
    difference = amp.sym.elemwise_sub(var("b"), var("a"), name="difference")
    return cond(is_positive("p"), scaled, difference, {"p": var("P"), "b": var("B"), "a": var("A")})


@BACKENDS
@pytest.mark.parametrize(
    "value", [np.array([2], "f4"), np.array([[-1]], "f4"), np.array([0], "i8"), np.array([1], "u1")]
)
def test_both_branches(backend, value):
    a, b = random(2, 3), random(2, 3, seed=1)
    (output,) = run(choice(), {"P": value, "A": a, "B": b}, backend=backend)
    np.testing.assert_allclose(output, (a + b) * 3 if value.item() > 0 else b - a, rtol=1e-6)


@pytest.mark.parametrize("value, is_true", [(np.nan, True), (-0.0, False), (1e-30, True)])
def test_what_is_true(value, is_true):
    inputs = {"p": var("P"), "a": var("A"), "b": var("B")}
    symbol = cond(amp.sym._internal._copy(var("p"), name="c"), var("a") * 1, var("b") * 1, inputs)
    (output,) = run(symbol, {"P": np.array([value], "f4"), "A": np.ones(1, "f4"), "B": np.zeros(1, "f4")})
    assert bool(output.item()) == is_true


@BACKENDS
def test_loops_in_loops(backend):
    """Sums over both axes; the inner loop's state starts with the outer one's, and negative totals are mirrored."""
    mirrored = cond(is_below("t", 0), -1 * var("t"), var("t") * 1, {"t": var("T")}, name="mirror")
    step = amp.sym.elemwise_add(var("x"), var("s"), name="add")
    inner = foreach(amp.sym.Group([step, step]), {"x": var("row")}, {"s": var("start")}, name="inner")
    total = amp.sym.load_json(substitute(mirrored, "T", inner[1]))
    outer = foreach(amp.sym.Group([inner[0], total]), {"row": var("data")}, {"start": var("zero")}, name="outer")
    x = random(4, 5, 1)
    sums, last = run(outer, {"data": x, "zero": np.zeros(1, "f4")}, backend=backend)
    total, expected = np.zeros(1, "f4"), np.empty_like(x)
    for i, row in enumerate(x):
        for j, value in enumerate(row):
            total = value + total
            expected[i, j] = total
        total = np.abs(total)
    np.testing.assert_array_equal(sums, expected)
    np.testing.assert_array_equal(last, total)


def test_batch_norm_in_a_body():
    """Its statistics are states of the loop's node, too: they come from the auxiliary parameters."""
    rest = {name: var(name.upper()) for name in ("gamma", "beta", "mean", "variance")}
    normal = amp.sym.BatchNorm(var("x"), *[var(name) for name in rest], fix_gamma=False, eps=1e-3, name="bn")
    symbol = foreach(normal, {"x": var("data")}, {}, rest)
    assert symbol.list_auxiliary_states() == ["MEAN", "VARIANCE"]
    assert symbol.list_arguments() == ["data", "GAMMA", "BETA"]
    args = {"GAMMA": random(3, seed=1), "BETA": random(3, seed=2)}
    aux = {"MEAN": random(3, seed=3), "VARIANCE": np.abs(random(3, seed=4)) + 1}
    x = random(4, 2, 3, 5)
    (output,) = run(symbol, {"data": x}, args, aux)
    per_channel = {name: array.reshape(3, 1) for name, array in {**args, **aux}.items()}
    scale = per_channel["GAMMA"] / np.sqrt(per_channel["VARIANCE"] + 1e-3)
    expected = (x - per_channel["MEAN"]) * scale + per_channel["BETA"]
    np.testing.assert_allclose(output, expected, rtol=1e-5, atol=1e-5)


def test_fused_nodes_in_a_body():
    inner = amp.sym.FullyConnected(var("d0"), var("w0"), var("b0"), num_hidden=4, name="fc")
    inner = amp.sym.Activation(inner, act_type="relu", name="relu")
    fused = node_with_bodies("_sg_mkldnn_fully_connected", "sg", {}, [var("x"), var("w"), var("b")], [inner])
    symbol = foreach(fused, {"x": var("data")}, {}, {"w": var("W"), "b": var("B")})
    x, w, b = random(3, 2, 5), random(4, 5, seed=1), random(4, seed=2)
    (output,) = run(symbol, {"data": x}, {"W": w, "B": b})
    np.testing.assert_allclose(output, np.maximum(x @ w.T + b, 0), rtol=1e-5, atol=1e-6)


def test_one_executor_runs_again_and_in_other_shapes():
    params = recurrent_params()
    executor = amp.Executor(recurrent(), params, {}, {"data": (3, 2, 5), "start": (2, 4)})
    for bound, x, h in [
        (executor, random(3, 2, 5), random(2, 4)),
        (executor, random(3, 2, 5, seed=1), random(2, 4, seed=2)),
        (executor.reshape({"data": (7, 1, 5), "start": (1, 4)}), random(7, 1, 5), random(1, 4)),
    ]:
        outputs = [output.asnumpy() for output in bound(x, h)]
        for output, expected in zip(outputs, recurrent_in_numpy(x, h, params)):
            np.testing.assert_allclose(output, expected, rtol=1e-5, atol=1e-6)


# ---- inference, files, conversion ----------------------------------------------------------------


def test_bodies_tell_the_shapes_of_parameters():
    args, outputs, _ = recurrent().infer_shape(data=(6, 2, 5))
    assert dict(zip(recurrent().list_arguments(), args)) == {
        "data": (6, 2, 5),
        "start": (2, 4),
        "W": (4, 5),
        "B": (4,),
        "V": (3, 4),
    }
    assert outputs == [(6, 2, 3), (2, 4)]
    assert doubling().infer_shape(data=(2,), limit=(1,))[1] == [(5, 2), (2,)]
    assert choice().infer_shape(A=(2, 3), P=(1,))[1] == [(2, 3)]


def test_names_are_those_of_mxnet():
    assert recurrent().list_outputs() == ["loop_output0", "loop_output1"]
    assert choice().list_outputs() == ["choice_output"]


@pytest.mark.parametrize("make", [cumulative_sum, recurrent, doubling, choice])
def test_files_keep_everything(make):
    symbol = make()
    text = symbol.tojson()
    again = amp.sym.load_json(text)
    assert again.tojson() == text
    assert again.list_inputs() == symbol.list_inputs()
    assert '"subgraphs"' in text


def subgraphs_of(symbol):
    return [node["subgraphs"] for node in json.loads(symbol.tojson())["nodes"] if "subgraphs" in node]


@pytest.mark.parametrize("offline", [False, True])
def test_conversion_converts_bodies_and_what_is_around(offline, any_machine):
    before = amp.sym.FullyConnected(var("data"), num_hidden=5, flatten=False, name="before")
    symbol = recurrent(before)
    after = amp.sym.FullyConnected(symbol[0], num_hidden=2, flatten=False, name="after")
    symbol = amp.sym.Group([after, symbol[1]])
    params = {**recurrent_params(), "before_weight": random(5, 7), "before_bias": random(5), "after_bias": random(2)}
    params["after_weight"] = random(2, 3)
    inputs = {"data": random(6, 2, 7), "start": random(2, 4)}

    low, args, aux = amp.convert_model(
        symbol, params, {}, {"data": "float32", "start": "float32"}, "bfloat16", cast_params_offline=offline
    )

    assert subgraphs_of(low) != subgraphs_of(symbol)
    assert {name for name, a in args.items() if np.dtype(a.dtype) == ml_dtypes.bfloat16} == (
        {"before_weight", "after_weight", "W", "V"} if offline else set()
    )
    _, dtypes, _ = low.infer_type(data="float32", start="float32", **{name: a.dtype for name, a in args.items()})
    assert [np.dtype(d) for d in dtypes] == [np.float32] * 2
    for got, expected in zip(run(low, inputs, args, aux), run(symbol, inputs, params)):
        error = np.abs(got - expected).max()
        assert 0 < error < 0.05 * np.abs(expected).max()


def test_a_converted_loop_without_products_gives_equal_bits():
    arrays = {"data": random(3), "limit": np.float32([9])}
    low = amp.convert_model(doubling(), {}, {}, "float32", "bfloat16", cast_params_offline=True)
    bound = {"reduce_precision": {"target_dtype": "bfloat16", "emulate": True}}
    expected = run(doubling(), arrays, {})
    for outputs in (run(low[0], arrays, *low[1:]), run(doubling(), arrays, {}, **bound)):
        for output, wanted in zip(outputs, expected):
            np.testing.assert_array_equal(output, wanted)


def test_a_monitor_sees_the_node_and_not_its_body():
    seen = []
    inputs = {"data": (4, 3), "start": (3,)}
    executor = amp.Executor(cumulative_sum(), {}, {}, inputs, monitor=True)
    executor.run_monitored(lambda name, op, array: seen.append((name, op)), random(4, 3), random(3))
    assert seen == [("loop_output0", "_foreach"), ("loop_output1", "_foreach")]


def test_inference_of_nested_bodies_takes_linear_time():
    symbol = var("x") + 1
    for depth in range(14):  # JSON may be nested no deeper
        symbol = cond(is_positive("p"), symbol, var("x") * 2, {"p": var("p"), "x": var("x")}, name=f"c{depth}")
    start = time.perf_counter()
    (output,) = run(symbol, {"p": np.array([1], "f4"), "x": np.array([3], "f4")})
    assert time.perf_counter() - start < 5  # asking each body anew would take 4**14 times as long
    assert output.item() == 4


# ---- refusals ------------------------------------------------------------------------------------


def loop_of(**changed):
    total = amp.sym.elemwise_add(var("x"), var("s"), name="total")
    return foreach(amp.sym.Group([total, total]), {"x": var("data")}, {"s": var("start")}, **changed)


def while_of(**changed):
    body = amp.sym.Group([var("x") * 1, var("x") + 1])
    return while_loop(is_below("x", 3), body, {"x": var("data")}, ["x"], **{"max_iterations": 5, **changed})


def choice_of(**changed):
    return cond(is_positive("p"), var("a") * 2, var("a") + 1, {"p": var("P"), "a": var("A")}, **changed)


HUGE = 2**62


@pytest.mark.parametrize(
    "make, changed, message",
    [
        (loop_of, {"num_args": 4}, "num_args: expected 3, one more than the inputs, got 4"),
        (loop_of, {"num_args": 0}, r"num_args: expected a value in \[1, "),
        (loop_of, {"num_args": HUGE}, "num_args: expected a value in"),
        (loop_of, {"num_outputs": 1}, "num_outputs: expected 2, as many as the body has, got 1"),
        (loop_of, {"num_outputs": HUGE}, "num_outputs: expected a value in"),
        (loop_of, {"num_out_data": 2}, "num_out_data: expected 1, the outputs that are no states, got 2"),
        (loop_of, {"num_out_data": -1}, "num_out_data: expected a value in"),
        (loop_of, {"in_data_locs": (2,)}, r"in_data_locs: expected locations in \[0, 2\), got 2"),
        (loop_of, {"in_data_locs": (-1,)}, r"in_data_locs: expected locations in \[0, 2\), got -1"),
        (loop_of, {"in_state_locs": (HUGE,)}, f"in_state_locs: expected locations in .*, got {HUGE}"),
        (loop_of, {"in_state_locs": (0,)}, "in_state_locs: location 0 is taken already"),
        (loop_of, {"in_data_locs": ()}, "in_data_locs: expected at least one location"),
        (loop_of, {"in_state_locs": ()}, r"a location for each of the body's 2 variables \(x, s\), got 1 locations"),
        (loop_of, {"remain_locs": (1,)}, "remain_locs: location 1 is taken already"),
        (loop_of, {"in_data_locs": "zero"}, "in_data_locs: expected tuple of int, got 'zero'"),
        (loop_of, {"loops": 3}, "unknown attribute 'loops'"),
        (while_of, {"num_args": 1}, r"num_args: expected a value in \[2, "),
        (while_of, {"num_args": 4}, r"expected 2 inputs \(data0, data1\), got 1"),
        (while_of, {"max_iterations": 0}, r"max_iterations: expected a value in \[1, "),
        (while_of, {"max_iterations": HUGE}, "max_iterations: expected a value in"),
        (while_of, {"cond_input_locs": (1,)}, r"cond_input_locs: expected locations in \[0, 1\), got 1"),
        (
            while_of,
            {"cond_input_locs": ()},
            "cond_input_locs: expected 1, a location for each variable of the con",
        ),
        (
            while_of,
            {"func_input_locs": (0, 0)},
            "func_input_locs: expected 1, a location for each variable of the bod",
        ),
        (while_of, {"func_var_locs": (1,)}, r"func_var_locs: expected locations in \[0, 1\), got 1"),
        (loop_of, {"scalar_parts": (7,)}, r"scalar_parts: expected locations in \[0, 1\), got 7"),
        (while_of, {"func_var_locs": ()}, "num_out_data: expected 2, the outputs that are no states, got 1"),
        (while_of, {"num_outputs": 3}, "num_outputs: expected 2, as many as the body has, got 3"),
        (choice_of, {"num_args": 2}, r"num_args: expected a value in \[3, "),
        (choice_of, {"num_outputs": 2}, "num_outputs: expected 1, as many as the then branch has, got 2"),
        (choice_of, {"then_input_locs": (5,)}, r"then_input_locs: expected locations in \[0, 2\), got 5"),
        (
            choice_of,
            {"else_input_locs": (0, 1)},
            "else_input_locs: expected 1, a location for each variable of the el",
        ),
    ],
)
def test_attributes_that_do_not_fit_the_bodies(make, changed, message):
    with pytest.raises(amp.Error, match=message) as caught:
        make(**changed)
    assert isinstance(caught.value, ValueError)
    assert any(f"{op} '" in str(caught.value) for op in ("_foreach", "_while_loop", "_cond"))


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("make, expected", [(loop_of, 1), (while_of, 2), (choice_of, 3)])
def test_another_number_of_subgraphs(make, expected, count):
    if count == expected:
        return
    graph = json.loads(make().tojson())
    node = graph["nodes"][-1]
    node["subgraphs"] = (node["subgraphs"] * 4)[:count]
    with pytest.raises(amp.Error, match=rf"expected {expected} subgraphs \(.*\), got {count}"):
        amp.sym.load_json(json.dumps(graph))
    node.pop("subgraphs")
    with pytest.raises(amp.Error, match="got 0"):
        amp.sym.load_json(json.dumps(graph))


def two_heads():
    condition = amp.sym.Group([is_below("x", 3), is_below("x", 4)])
    return while_loop(condition, var("x") + 1, {"x": var("data")}, ["x"], 5)


def twins():
    body = json.loads(cumulative_sum().tojson())
    for node in body["nodes"][-1]["subgraphs"][0]["nodes"]:
        node["name"] = "x" if node["op"] == "null" else node["name"]
    return amp.sym.load_json(json.dumps(body))


@pytest.mark.parametrize(
    "make, error, message",
    [
        (two_heads, ValueError, "_while_loop 'loop': expected a condition with one output, got 2"),
        (twins, ValueError, "_foreach 'loop': two variables of a subgraph are named 'x'"),
    ],
)
def test_bodies_that_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_a_computed_statistic_is_refused():
    rest = {name: var(name.upper()) for name in ("gamma", "beta", "mean", "variance")}
    normal = amp.sym.BatchNorm(var("x"), *[var(name) for name in rest], name="bn")
    rest["mean"] = var("MEAN") * 2
    with pytest.raises(amp.Error, match="_foreach 'loop': input data3 is an auxiliary state and must be a variable"):
        foreach(normal, {"x": var("data")}, {}, rest)


def grown():
    """A state that is not what it was after a step."""
    return foreach(amp.sym.concat(var("x"), var("s"), dim=0, name="both"), {"x": var("data")}, {"s": var("start")})


@pytest.mark.parametrize(
    "symbol, shapes, message",
    [
        (cumulative_sum(), {"data": (4, 3), "start": (2,)}, "'loop': in its body: elemwise_add 'total': expected"),
        (cumulative_sum(), {"data": (), "start": (2,)}, r"'loop': data of shape \[\] has no axis to iterate over"),
        (grown(), {"data": (4, 3), "start": (2,)}, r"data1 is a state of shape \[2\], .* gives it shape \[5\]"),
        (
            foreach(amp.sym.Group([var("x"), var("y")]), {"x": var("left"), "y": var("right")}, {}),
            {"left": (3, 2), "right": (4, 2)},
            "_foreach 'loop': expected data of equal first sizes, got 3 and 4",
        ),
        (while_of(), {"data": (2,)}, r"_while_loop 'loop': expected a condition of one element, got shape \[2\]"),
        (choice_of(), {"P": (1, 2), "A": (3,)}, r"'choice': expected a condition of one element, got shape \[1,2\]"),
        (
            cond(is_positive("p"), var("a") * 1, amp.sym.flatten(var("a"), name="f"), {"p": var("P"), "a": var("A")}),
            {"P": (1,), "A": (2, 3, 4)},
            r"_cond 'choice': output 0 has shape \[2,3,4\] in one branch, shape \[2,12\] in the other",
        ),
    ],
)  # fmt: skip
def test_shapes_that_do_not_fit(symbol, shapes, message):
    with pytest.raises(amp.Error, match=message):
        run(symbol, {name: np.ones(shape, "f4") for name, shape in shapes.items()})


def test_dtypes_that_do_not_fit():
    symbol = cond(
        is_positive("p"), var("a") * 1, amp.sym.cast(var("a"), dtype="int32", name="i"), {"p": var("P"), "a": var("A")}
    )
    with pytest.raises(amp.Error, match="output 0 has dtype float32 in one branch, dtype int32 in the other"):
        run(symbol, {"P": np.ones(1, "f4"), "A": np.ones(3, "f4")})
    half = amp.sym.cast(var("s"), dtype="float16", name="c")
    total_is_below_one = amp.sym._internal._lesser_scalar(amp.sym.sum(var("s"), name="t"), scalar=1)
    narrowed = while_loop(total_is_below_one, half, {"s": var("S")}, ["s"], 3)
    with pytest.raises(amp.Error, match="data0 is a state of dtype float32, but the body gives it dtype float16"):
        run(narrowed, {"S": np.ones(3, "f4")})


def spoilt_bodies(symbol, draw):
    """JSON in which the subgraphs and attributes of one node say something else."""
    document = json.loads(symbol.tojson())
    node = draw.choice([node for node in document["nodes"] if "subgraphs" in node])
    if draw.random() < 0.5:
        spoil(draw.choice(node["subgraphs"]), draw)
    else:
        texts = [*map(str, STRANGE), "(0,)", "(1, 0)", "(0, 0)", "()", "0", "1", "2", "3", "4611686018427387904"]
        node["attrs"][draw.choice(list(node["attrs"]))] = draw.choice(texts)
    return json.dumps(document)


@pytest.mark.parametrize(
    "make, shapes",
    [
        (cumulative_sum, {"data": (4, 3), "start": (3,)}),
        (recurrent, {"data": (6, 2, 5), "start": (2, 4)}),
        (doubling, {"data": (2,), "limit": (1,)}),
        (choice, {"P": (1,), "A": (2, 3), "B": (2, 3)}),
    ],
)
def test_spoilt_files_end_in_an_error_or_a_legal_graph(make, shapes):
    symbol = make()
    dtypes = {name: "float32" for name in shapes}
    draw, refused = chance.Random(7), 0
    for _ in range(300):
        text = spoilt_bodies(symbol, draw)
        try:
            spoilt = amp.sym.load_json(text)
            assert amp.sym.load_json(spoilt.tojson()).tojson() == spoilt.tojson()
            arguments, _, _ = spoilt.infer_shape_partial(**shapes)
            arrays = {
                n: np.zeros(shape, "f4") for n, shape in zip(spoilt.list_arguments(), arguments) if n not in shapes
            }
            amp.convert_model(spoilt, arrays, {}, dtypes, "bfloat16")
        except amp.InternalError as error:
            raise AssertionError(f"{error} for {text}") from error
        except amp.Error:
            refused += 1
    assert 100 < refused < 300


def evaluated(outputs, states, **arrays):
    return [output.asnumpy() for output in amp.sym.Group([outputs, *states]).eval(**arrays)]


def test_parts_of_one_axis_have_shape_1_as_in_mxnet():
    x, s = amp.nd.array([1, 2, 3]), amp.nd.ones((1,))
    outputs, states = mx.sym.contrib.foreach(lambda x, s: (x * 2 + s, s + x), var("x"), var("s"))
    both = amp.sym.Group([outputs, states])
    assert both.infer_shape(x=(3,), s=(1,))[1] == [(3, 1), (1,)]
    assert both.infer_shape(x=(3,))[0] == [(3,), (1,)]
    assert both.infer_shape(s=(1,), x=(3, 1))[1] == [(3, 1), (1,)]
    found, last = both.eval(x=x, s=s)
    expected, state = mx.nd.contrib.foreach(lambda x, s: (x * 2 + s, s + x), x, s)
    assert found.asnumpy().tolist() == expected.asnumpy().tolist() == [[3], [6], [10]]
    assert last.asnumpy().tolist() == state.asnumpy().tolist() == [7]


@pytest.mark.parametrize("array", [mx.nd.array, mx.np.array])
@pytest.mark.parametrize("hybridized", [False, True])
def test_parts_of_one_axis_are_those_of_the_array(array, hybridized):
    class Loop(mx.gluon.HybridBlock):
        def forward(self, data):
            def body(part, state):
                shapes.append(part.shape)
                return part * 3, state + part

            loop = mx.npx.foreach if isinstance(data, mx.np.ndarray) else mx.nd.contrib.foreach
            return loop(body, data, data[0] * 0)

    data, shapes = array([1, 2, 3]), []
    data.attach_grad()
    block = Loop()
    if hybridized:
        block.hybridize()
    with mx.autograd.record():
        outputs, state = block(data)
        total = outputs.sum() + state.sum()
    total.backward()
    part = data[0].shape
    assert set(shapes) == {part} and outputs.shape == (3, *part) and state.shape == part
    assert outputs.asnumpy().ravel().tolist() == [3, 6, 9] and float(state.asnumpy().ravel()[0]) == 6
    assert data.grad.asnumpy().tolist() == [4, 4, 4]


def test_loops_of_symbols_are_loops_of_arrays():
    arrays = {
        name: amp.nd.array(random(*shape, seed=i))
        for i, (name, shape) in enumerate({"x": (5, 2), "s": (2,), "w": (2,)}.items())
    }

    def results(F, x, s, w):
        outside = w * 2

        def step(slice, states):
            def inner(one, sums):
                return one * outside, [sums[0] + one * slice]

            found, [total] = F.contrib.foreach(inner, F.op.stack(outside, w, num_args=2), states)
            return [found.sum(axis=0) - slice, w], [F.op.tanh(total)]

        (first, second), states = F.contrib.foreach(step, x, [s])
        return first + second, states

    expected, [state] = results(mx.nd, *arrays.values())
    found = evaluated(*results(mx.sym, *map(var, arrays)), **arrays)
    np.testing.assert_allclose(found[0], expected.asnumpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found[1], state.asnumpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("steps", [0, 2, 4])
def test_while_loops_of_symbols(steps):
    total = var("total")
    outputs, states = mx.sym.contrib.while_loop(
        lambda i, _: i < var("limit"), lambda i, x: (x, (i + 1, x * total)), (var("i"), var("x")), max_iterations=4
    )
    numbers = {"i": 0, "x": 3, "total": 2, "limit": steps}
    found = evaluated(outputs, states, **{name: amp.nd.array([value]) for name, value in numbers.items()})
    assert found[0].ravel().tolist() == [3 * 2**i if i < steps else 0 for i in range(4)]
    assert [state.tolist() for state in found[1:]] == [[steps], [3 * 2**steps]]


class Loops(mx.gluon.HybridBlock):
    """Loops with a parameter, and a step whose number of times depends on an input."""

    def __init__(self):
        super().__init__()
        self.dense = mx.gluon.nn.Dense(2, flatten=False)

    def hybrid_forward(self, F, x, times):  # noqa: N803 - MXNet's name
        sums, _ = F.contrib.foreach(lambda row, total: (self.dense(total), total + row), x, F.zeros_like(x[0]))
        parts, (_, last) = F.contrib.while_loop(
            lambda i, y: i < times,
            lambda i, y: (y * 2, [i + 1, y + x.sum()]),
            [F.zeros((1,)), F.ones((1,))],
            max_iterations=4,
        )
        sign = F.contrib.cond(x.sum() > times, lambda: self.dense(x).sum(), lambda: [-last][0])
        return sums, parts, last, sign


@pytest.mark.usefixtures("mxnet_2")
@pytest.mark.parametrize("first_times", [0, 3])
def test_loops_of_hybridized_blocks_are_nodes(first_times):
    block = Loops()
    block.initialize(mx.init.Uniform(1))
    xs = [amp.nd.array(random(rows, 2, seed=rows)) for rows in (3, 5, 3, 3)]
    all_times = [amp.nd.array([times]) for times in (first_times, 2, 4, 9)]
    expected = [block(*call) for call in zip(xs, all_times)]
    block.hybridize()
    for x, times, outputs in zip(xs, all_times, expected):
        found = block(x, times)
        outputs = list(outputs)
        if times.asscalar() == 0:
            assert found[1].asnumpy().tolist() == [[0]] * 4 and outputs.pop(1) == []
            del found[1]
        for one, other in zip(found, outputs):
            np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-5, atol=1e-6)
    symbol, _ = block.export(None)
    assert {"_foreach", "_while_loop", "_cond"} <= {node["op"] for node in json.loads(symbol.tojson())["nodes"]}


@pytest.mark.usefixtures("mxnet_2")
def test_gradients_of_loops_of_hybridized_blocks():
    block = Loops()
    block.initialize(mx.init.Uniform(1))
    x, times = amp.nd.array(random(3, 2, seed=1)), amp.nd.array([3])
    x.attach_grad()
    gradients = []
    for hybridized in (False, True):
        block.hybridize(hybridized)
        with mx.autograd.record():
            sums, parts, last, sign = block(x, times)
            loss = (sums**2).sum() + (parts**2).sum() + last.sum() + sign.sum()
        loss.backward()
        gradients.append([x.grad.asnumpy(), block.dense.weight.grad().asnumpy()])
    for one, other in zip(*gradients):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


class Stepwise(mx.gluon.HybridBlock):
    """A layer for each slice, which computes something else in training."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def hybrid_forward(self, F, x):  # noqa: N803 - MXNet's name
        return F.contrib.foreach(lambda rows, s: (self.layer(rows), s), x, F.zeros((1,)))[0]


def operators(symbol):
    return {node["op"] for node in json.loads(symbol.tojson())["nodes"]} - {"null"}


def test_each_step_of_a_loop_drops_others():
    block = Stepwise(mx.gluon.nn.Dropout(0.5))
    block.hybridize()
    assert (block(amp.nd.ones((4, 100))).asnumpy() == 1).all()
    seen = []
    for steps in (4, 6, 6):
        x = amp.nd.ones((steps, 100))
        x.attach_grad()
        with mx.autograd.record():
            rows = block(x)
        rows.backward()
        np.testing.assert_array_equal(x.grad.asnumpy(), rows.asnumpy())  # the same are dropped backwards
        seen += [*rows.asnumpy()]
    assert {*np.unique(seen)} == {0, 2} and len({row.tobytes() for row in seen}) == 16
    symbol = block.export(None)[0]
    assert operators(symbol) == {"_foreach", "_zeros"} and symbol.eval(data=amp.nd.ones((9, 100)))[0].shape == (9, 100)


def test_each_step_of_a_nested_loop_drops_others():
    def inner(rows, s):
        return mx.sym.contrib.foreach(lambda row, t: (mx.sym.Dropout(row), t), rows, s)

    outputs, _ = mx.sym.contrib.foreach(inner, var("x"), var("s"))
    bound = outputs.simple_bind(mx.cpu(), x=(4, 5, 100), s=(1,))
    bound.arg_dict["x"][:] = 1
    dropped = bound.forward(is_train=True)[0].asnumpy().reshape(20, 100)
    assert {*np.unique(dropped)} == {0, 2} and len({row.tobytes() for row in dropped}) == 20
    bound.backward([amp.nd.ones((4, 5, 100))])
    np.testing.assert_array_equal(bound.grad_dict["x"].asnumpy().reshape(20, 100), dropped)


def test_steps_of_a_while_loop_drop_others():
    def step(i, x):
        return mx.sym.Dropout(x, p=0.25), [i + 1, mx.sym.identity(x)]

    i, x = var("i"), var("x")
    (rows,), _ = mx.sym.contrib.while_loop(lambda i, x: i < 3, step, [i, x], max_iterations=4)
    bound = rows.simple_bind(mx.cpu(), i=(1,), x=(300,))
    bound.arg_dict["x"][:] = 3
    dropped = bound.forward(is_train=True)[0].asnumpy()
    assert {*np.unique(dropped)} == {0, 4} and (dropped[3] == 0).all()
    assert len({row.tobytes() for row in dropped}) == 4
    bound.backward([amp.nd.ones((4, 300))])
    np.testing.assert_allclose(bound.grad_dict["x"].asnumpy(), dropped.sum(0) / 3, rtol=1e-6)
    assert (bound.forward(is_train=False)[0].asnumpy()[:3] == 3).all()


@pytest.mark.parametrize("hybridized", [False, True])
def test_each_step_moves_statistics(hybridized):
    block = Stepwise(mx.gluon.nn.BatchNorm(in_channels=3))
    block.initialize()
    block.hybridize(hybridized)
    moved = 0
    for steps in (2, 3):
        x = amp.nd.array(random(steps, 50, 3, seed=steps))
        with mx.autograd.record():
            outputs = block(x)
        outputs.backward()
        y = outputs.asnumpy()
        np.testing.assert_allclose(y.mean(1), 0, atol=1e-5)
        np.testing.assert_allclose(y.std(1), 1, rtol=1e-3)
        means = x.asnumpy().mean(1)
        for mean in means if hybridized else means[::-1]:  # MXNet moves them backwards, and has no such nodes
            moved = 0.9 * moved + 0.1 * mean
    np.testing.assert_allclose(block.layer.running_mean.data().asnumpy(), moved, rtol=1e-4, atol=1e-6)
    if hybridized:
        assert operators(block.export(None)[0]) == {"_foreach", "_zeros"}


class Layers(mx.gluon.HybridBlock):
    """Layers that differ in training, in each kind of body."""

    def __init__(self, kind):
        super().__init__()
        self.kind, self.norm, self.dense = kind, mx.gluon.nn.BatchNorm(in_channels=3), mx.gluon.nn.Dense(3, in_units=3)

    def hybrid_forward(self, F, x):  # noqa: N803 - MXNet's name
        if self.kind == "cond":
            return F.contrib.cond(x.sum() > 0, lambda: self.norm(self.dense(x)), lambda: x * 2)
        if self.kind == "foreach":
            return F.contrib.foreach(lambda row, s: (s, self.norm(self.dense(s + row))), F.ones((3, 1)), x)[1]
        return F.contrib.while_loop(
            lambda i, s: i < 3, lambda i, s: (i, [i + 1, self.norm(self.dense(s))]), [F.zeros((1,)), x], 5
        )[1][1]


@pytest.mark.usefixtures("mxnet_2")
@pytest.mark.parametrize("kind", ["cond", "foreach", "while"])
def test_training_of_loops_is_that_of_their_steps(kind):
    x, found = amp.nd.array(random(8, 3, seed=3)), []
    weight = random(8, 3, seed=4)
    block = Layers(kind)
    block.initialize(mx.init.Uniform(1))
    for hybridized in (False, True):
        block.norm.running_mean.set_data(amp.nd.zeros((3,)))
        block.hybridize(hybridized)
        x.attach_grad()
        results = []
        for sign in (1, -1):
            with mx.autograd.record():
                loss = (block(x * sign) * amp.nd.array(weight)).sum()
            loss.backward()
            results += [loss, x.grad, block.dense.weight.grad(), block.norm.gamma.grad()]
            if kind == "cond":  # loops move statistics in another order
                results += [block.norm.running_mean.data(), block(x)]
        found.append([result.asnumpy() for result in results])
    for one, other in zip(*found):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_bodies_draw_at_inference():
    def step(row, s):
        return row + mx.sym.random.uniform(shape=(50,)), s + mx.sym.Dropout(row, mode="always")

    rows, last = mx.sym.contrib.foreach(step, var("x"), var("s"))
    bound = amp.sym.Group([rows, last]).simple_bind(mx.cpu(), x=(3, 50), s=(50,))
    bound.arg_dict["x"][:] = 1
    first, last = (output.asnumpy() for output in bound.forward(is_train=False))
    assert len({row.tobytes() for row in first}) == 3 and (first >= 1).all() and (first < 2).all()
    assert {0, 2, 4, 6} >= {*np.unique(last)} and len({*np.unique(last)}) > 2
    assert (bound.forward(is_train=False)[0].asnumpy() != first).any()


def test_a_condition_may_draw():
    def is_low(i):
        return mx.sym.random.uniform(shape=(1,)) < 0.5 + 0 * i

    _, count = mx.sym.contrib.while_loop(is_low, lambda i: ([], i + 1), var("i"), max_iterations=50)
    bound = amp.sym.Group(count).simple_bind(mx.cpu(), i=(1,))
    counts = [int(bound.forward(is_train=False)[0].asscalar()) for _ in range(200)]
    assert 0.7 < np.mean(counts) < 1.4 and max(counts) > 2  # 1 is expected


def moved_by_two_loops():
    norm = [var(name) for name in ("gamma", "beta", "mean", "variance")]
    step = lambda rows, s: (mx.sym.BatchNorm(rows, *norm), s)  # noqa: E731
    first, last = mx.sym.contrib.foreach(step, var("x"), var("s"))
    return mx.sym.contrib.foreach(step, first, last)[0]


def moved_by_its_own_steps():
    rest = {name: var(name.upper()) for name in ("gamma", "beta", "variance")}
    normal = amp.sym.BatchNorm(var("x"), var("gamma"), var("beta"), var("mean"), var("variance"), name="bn")
    loop = foreach(normal, {"x": var("x"), "mean": var("MEAN")}, {}, rest)
    return mx.sym.broadcast_add(loop, var("s"))


@pytest.mark.parametrize(
    "make, message",
    [
        (moved_by_two_loops, "another node behind it moves its auxiliary state 'mean', too"),
        (moved_by_its_own_steps, "the body would move its auxiliary state 'mean', which a loop cannot do"),
    ],
)
def test_states_that_loops_cannot_move(make, message):
    bound = make().simple_bind(mx.cpu(), x=(2, 3, 4), s=(1,))
    assert bound.forward(is_train=False)[0].shape == (2, 3, 4)
    with pytest.raises(amp.UnsupportedError, match=message):
        bound.forward(is_train=True)


def test_branches_of_symbols():
    x, y = var("x"), var("y")
    net = mx.sym.contrib.cond((x + y).sum() > 0, lambda: [x, y * 2], lambda: [y, x * 3])
    for sign in (1, -1):
        given = {"x": amp.nd.array([sign]), "y": amp.nd.array([sign * 2])}
        found = [output.asnumpy().item() for output in amp.sym.Group(net).eval(**given)]
        assert found == ([1, 4] if sign > 0 else [-2, -3])
    text = amp.sym.Group(net).tojson()
    assert amp.sym.load_json(text).tojson() == text and "subgraph_name" not in text


@pytest.mark.parametrize(
    "compose, message",
    [
        (lambda F: F.foreach(lambda x, s: (s, s), var("x"), var("s")), "does not read data 0"),
        (lambda F: F.foreach(lambda x, s: (x, []), var("x"), var("s")), "gave 0 states, expected 1"),
        (lambda F: F.foreach(lambda x, s: (1, s), var("x"), var("s")), "expected Symbols"),
        (lambda F: F.while_loop(lambda i: i, lambda i: (i, i), [var("i")]), "max_iterations is missing"),
        (lambda F: F.while_loop(lambda i: i, lambda i: (i, i), [], max_iterations=1), "loop_vars are empty"),
        (lambda F: F.while_loop(lambda i: i, lambda i: (i, [i, i]), [var("i")], 2), "gave 2 loop_vars, expected 1"),
        (lambda F: F.cond(var("x"), lambda: var("x"), lambda: [var("x")] * 2), "gave 1 outputs, else_func 2"),
    ],
)
def test_what_loops_of_symbols_refuse(compose, message):
    with pytest.raises(amp.ArgumentError, match=message):
        compose(mx.sym.contrib)
