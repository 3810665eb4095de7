"""Bodies of control flow as plans of the back end: against the reference backend, threads, shapes, summaries."""

import random as chance
import threading

import numpy as np
import pytest
from control_flow_nodes import cond, foreach, is_below, merged, random, run, substitute, var, while_loop

import amp

STATE = 6  # size of states and data in random bodies


def bind(symbol, inputs, params=None, **options):
    inputs = {name: np.asarray(array) for name, array in inputs.items()}
    shapes = {name: array.shape for name, array in inputs.items()}
    dtypes = {name: array.dtype for name, array in inputs.items()}
    return amp.Executor(symbol, params or {}, {}, shapes, input_dtypes=dtypes, **options)


def values(executor, inputs):
    return [output.asnumpy() for output in executor(inputs)]


def check_both(symbol, inputs, params=None, references=0, tolerance=2e-5):
    """Runs on both backends; the plan has no more than `references` nodes on reference code."""
    expected = run(symbol, inputs, params, backend="reference")
    executor = bind(symbol, inputs, params, backend="onednn")
    assert executor.summary.num_references == references, str(executor.summary)
    first, second = values(executor, inputs), values(executor, inputs)
    for output, again, right in zip(first, second, expected):
        assert output.dtype == right.dtype
        np.testing.assert_array_equal(output, again)
        np.testing.assert_allclose(output, right, rtol=tolerance, atol=tolerance)
    exact = [run(symbol, inputs, params, backend="onednn", mode="exact", num_threads=n) for n in (1, 2)]
    for one, two in zip(*exact):
        np.testing.assert_array_equal(one, two)
    return first


def dense(x, name, size=STATE):
    return amp.sym.FullyConnected(x, var(f"{name}_w"), var(f"{name}_b"), num_hidden=size, name=name)


def elman():
    hidden = amp.sym.Activation(dense(var("x"), "i") + dense(var("h"), "r"), act_type="tanh", name="act")
    return [hidden, hidden], ["h"]


def lstm():
    gates = amp.sym.elemwise_add(dense(var("x"), "i", 4 * STATE), dense(var("h"), "r", 4 * STATE), name="gates")
    parts = amp.sym.SliceChannel(gates, num_outputs=4, name="parts")
    into, forget, out = (amp.sym.sigmoid(parts[i], name=f"gate{i}") for i in (0, 1, 3))
    cell = amp.sym.elemwise_add(forget * var("c"), into * amp.sym.tanh(parts[2], name="new"), name="cell")
    hidden = amp.sym.elemwise_mul(out, amp.sym.tanh(cell, name="seen"), name="hidden")
    return [hidden, hidden, cell], ["h", "c"]


def anything(draw):
    """Random expressions over data, a parameter and two states; also what a body reads as its output."""
    known = [var("x"), var("h"), var("c"), var("p")]

    def unary(i):
        return getattr(amp.sym, draw.choice(["tanh", "sigmoid", "relu"]))(draw.choice(known), name=f"u{i}")

    def binary(i):
        make = getattr(amp.sym, draw.choice(["elemwise_add", "elemwise_mul", "broadcast_maximum"]))
        return make(draw.choice(known), draw.choice(known), name=f"b{i}")

    def layer(i):
        return amp.sym.tanh(dense(draw.choice(known), draw.choice("ir")), name=f"t{i}")

    for i in range(draw.randint(0, 6)):
        known.append(draw.choice([unary, binary, layer])(i))
    return [draw.choice(known) for _ in range(draw.randint(2, 4))], ["h", "c"]


def random_loop(seed):
    """(symbol, inputs, parameters); what a loop reads is an input or a parameter as it comes."""
    draw = chance.Random(seed)
    heads, states = draw.choice([elman, lstm, lambda: anything(draw)])()
    body = amp.sym.Group(heads)
    names, batch = body.list_inputs(), draw.randint(1, 3)
    states = [name for name in states if name in names]
    arrays = {name.upper(): random(*shape, seed=seed + i) for i, (name, shape) in enumerate(shapes_of(body, batch))}
    outer = {name: var(name.upper()) for name in names}
    changing = {"X", "N"}
    if "x" in names and draw.random() < 0.6:
        arrays["X"] = random(draw.choice([0, 1, 2, 5]), batch, STATE, seed=seed)
        rest = {name: outer[name] for name in names if name not in ("x", *states)}
        symbol = foreach(body, {"x": outer["x"]}, {name: outer[name] for name in states}, rest)
    else:
        arrays["N"] = np.zeros(1, "i4")
        body = amp.sym.Group([*heads, var("n") + 1])
        symbol = while_loop(is_below("n", draw.choice([0, 1, 3, 9])), body, {**outer, "n": var("N")}, [*states, "n"], 5)
    params = {name for name in arrays if name not in changing and draw.random() < 0.7}
    given = {name: array for name, array in arrays.items() if name not in params}
    return symbol, given, {name: arrays[name] for name in params}


def shapes_of(body, batch):
    known = {name: (batch, STATE) for name in body.list_inputs() if "_" not in name}
    shapes, _, _ = body.infer_shape(**known)
    return zip(body.list_inputs(), shapes)


@pytest.mark.parametrize("seed", range(60))
def test_random_loops(seed):
    symbol, inputs, params = random_loop(seed)
    check_both(symbol, inputs, params, references=int("N" in inputs))  # integers are counted by reference code


@pytest.mark.parametrize("seed", range(20))
def test_random_branches(seed):
    draw = chance.Random(seed)
    yes, no = (amp.sym.Group(anything(draw)[0][:2]) for _ in range(2))
    names = sorted({"p", *yes.list_inputs(), *no.list_inputs()})
    total = amp.sym._internal._greater_scalar(amp.sym.sum(var("p"), name="total"), scalar=0, name="test")
    symbol = cond(total, yes, no, {name: var(name.upper()) for name in names})
    shapes = {**dict(shapes_of(yes, 2)), **dict(shapes_of(no, 2)), "p": (2, STATE)}
    arrays = {name.upper(): random(*shapes[name], seed=seed + i) for i, name in enumerate(names)}
    params = {name: arrays.pop(name) for name in list(arrays) if name != "P" and draw.random() < 0.5}
    for sign in (1, -1):
        check_both(symbol, {**arrays, "P": sign * np.abs(arrays["P"])}, params)


def over(body_heads, states, steps=4, batch=2):
    """A foreach over a body of this file, its inputs and its parameters."""
    body = amp.sym.Group(body_heads)
    rest = {name: var(name.upper()) for name in body.list_inputs() if name not in ("x", *states)}
    symbol = foreach(body, {"x": var("X")}, {name: var(name.upper()) for name in states}, rest)
    arrays = {name.upper(): random(*shape, seed=i) for i, (name, shape) in enumerate(shapes_of(body, batch))}
    arrays["X"] = random(steps, batch, STATE, seed=99)
    inputs = {name: arrays.pop(name) for name in ("X", *(name.upper() for name in states))}
    return symbol, inputs, arrays


@pytest.mark.parametrize("make", [elman, lstm])
@pytest.mark.parametrize("steps", [0, 1, 2, 7])
def test_cells(make, steps):
    symbol, inputs, params = over(*make(), steps=steps)
    check_both(symbol, inputs, params)
    check_both(symbol, {**inputs, **params})
    check_both(symbol[0], inputs, params)
    check_both(symbol[1], inputs, params)


def test_outputs_that_the_body_does_not_compute():
    """Data and a parameter, twice; states that change places, and one that stays."""
    heads = [var("x"), var("p"), var("x"), var("p"), var("c"), var("h"), var("d")]
    symbol, inputs, params = over(heads, ["h", "c", "d"], steps=5)
    *collected, first, second, third = check_both(symbol, inputs, params)
    for i in (0, 2):
        np.testing.assert_array_equal(collected[i], inputs["X"])
        np.testing.assert_array_equal(collected[i + 1], np.stack([params["P"]] * 5))
    for output, state in ((first, "C"), (second, "H"), (third, "D")):
        np.testing.assert_array_equal(output, inputs[state])


def test_integer_states():
    count = var("n") + 1
    symbol = foreach(
        amp.sym.Group([amp.sym.broadcast_mul(var("x"), amp.sym.cast(count, dtype="float32", name="f")), count]),
        {"x": var("X")},
        {"n": var("N")},
    )
    scaled, last = check_both(symbol, {"X": random(5, 3), "N": np.array([2], "i4")}, references=1)
    np.testing.assert_array_equal(scaled, random(5, 3) * np.arange(3, 8, dtype="f4")[:, None])
    assert last.item() == 7


def nested():
    """A loop over rows around one over columns, whose weights are parameters of the outer graph, and a choice."""
    heads, _ = lstm()
    inner_body = amp.sym.Group(heads)
    rest = {name: var(name) for name in inner_body.list_inputs() if "_" in name}
    inner = foreach(inner_body, {"x": var("row")}, {"h": var("h"), "c": var("c")}, rest, name="inner")
    total = amp.sym._internal._greater_scalar(amp.sym.sum(var("h"), name="total"), scalar=0, name="test")
    read = {"h": var("T"), "r2_w": var("r2_w"), "r2_b": var("r2_b")}
    choice = cond(total, dense(var("h"), "r2"), var("h") * 1, read, name="pick")
    picked = amp.sym.load_json(substitute(choice, "T", inner[1]))
    body = amp.sym.Group([inner[0], picked, inner[2]])
    outer_rest = {name: var(name.upper()) for name in body.list_inputs() if "_" in name}
    return foreach(body, {"row": var("X")}, {"h": var("H"), "c": var("C")}, outer_rest, name="outer")


def nested_arrays(rows=3, columns=2, batch=2):
    inputs = {"X": random(rows, columns, batch, STATE), "H": random(batch, STATE, seed=1)}
    inputs["C"] = random(batch, STATE, seed=2)
    shapes = {"I_W": (24, 6), "I_B": (24,), "R_W": (24, 6), "R_B": (24,), "R2_W": (6, 6), "R2_B": (6,)}
    return inputs, {name: random(*shape, seed=i) for i, (name, shape) in enumerate(shapes.items())}


@pytest.mark.parametrize("rows, columns", [(3, 2), (1, 1), (0, 2), (2, 0)])
def test_nested_loops(rows, columns):
    inputs, params = nested_arrays(rows, columns)
    check_both(nested(), inputs, params)
    check_both(nested(), {**inputs, **params})


def test_parameters_that_others_read_too():
    """Both loops and the layer around them read the same weights."""
    heads, states = elman()
    symbol, inputs, params = over(heads, states)
    layer = amp.sym.FullyConnected(symbol[0], var("I_W"), var("I_B"), num_hidden=STATE, flatten=False, name="after")
    heads = [amp.sym.Activation(head, act_type="relu", name=f"relu{i}") for i, head in enumerate(heads)]
    second, _, _ = over(heads, states)
    second = amp.sym.load_json(second.tojson().replace('"loop"', '"second"'))
    check_both(merged(amp.sym.Group([layer, second[0], second[1]])), inputs, params)


def test_a_first_binding_without_elements():
    """What the loop takes is still there for a layer that has no work in the first plan."""
    symbol, inputs, params = over(*elman())
    layer = amp.sym.FullyConnected(var("Y"), var("I_W"), var("I_B"), num_hidden=STATE, name="beside")
    both = merged(amp.sym.Group([layer, symbol[0]]))
    executor = bind(both, {**inputs, "Y": np.zeros((0, STATE), "f4")}, params)
    inputs["Y"] = random(3, STATE, seed=5)
    for output, expected in zip(
        values(executor.reshape({"Y": (3, STATE)}), inputs), run(both, inputs, params, backend="reference")
    ):
        np.testing.assert_allclose(output, expected, rtol=2e-5, atol=2e-5)


def test_a_loop_over_parameters_alone_is_computed_once():
    symbol, inputs, params = over(*lstm())
    around = amp.sym.broadcast_add(symbol[1], var("shift"), name="shifted")
    inputs, params = {"shift": random(2, STATE)}, {**params, **inputs}
    check_both(around, inputs, params)
    assert all(step.node != "loop" for step in bind(around, inputs, params).summary.steps)


@pytest.mark.parametrize("first", [0, 3])
def test_other_shapes_share_what_is_packed(first):
    symbol, inputs, params = over(*lstm(), steps=first)
    executor = bind(symbol, inputs, params)
    alone = executor.summary.constant_bytes
    for steps, batch in [(5, 2), (0, 2), (3, 4), (4, 2)]:
        _, inputs, _ = over(*lstm(), steps=steps, batch=batch)
        bound = executor.reshape({name: array.shape for name, array in inputs.items()})
        for output, expected in zip(values(bound, inputs), run(symbol, inputs, params, backend="reference")):
            np.testing.assert_allclose(output, expected, rtol=2e-5, atol=2e-5)
    alone = max(alone, bind(symbol, inputs, params).summary.constant_bytes)
    assert bound.summary.constant_bytes <= 1.5 * alone + 4096


def test_later_changes_of_an_array_change_no_bound_model():
    symbol, inputs, params = over([var("x") + var("p"), var("h")], ["h"])
    executor = bind(symbol, inputs, params)
    before = values(executor, inputs)
    params["P"][:] = 7
    np.testing.assert_array_equal(values(executor, inputs)[0], before[0])


def test_executors_of_several_threads_share_bodies():
    """Both have the same bodies, because only the number of steps differs."""
    symbol, inputs, params = over(*lstm(), steps=40)
    executor = bind(symbol, inputs, params)
    _, others, _ = over(*lstm(), steps=30)
    shorter = executor.reshape({name: array.shape for name, array in others.items()})
    expected = [values(executor, inputs), values(shorter, others)]
    differing = []

    def repeat(bound, given, right):
        for _ in range(30):
            got = values(bound, given)
            differing.extend(i for i, pair in enumerate(zip(got, right)) if not np.array_equal(*pair))

    jobs = [(executor, inputs, expected[0]), (shorter, others, expected[1])] * 2
    threads = [threading.Thread(target=repeat, args=job) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not differing


def test_reference_code_in_a_body_is_named():
    """What is not fast is not hidden behind the loop."""
    count = amp.sym._internal._plus_scalar(var("n"), scalar=1, name="count")
    symbol, inputs, params = over([dense(var("x"), "i"), var("h")], ["h"])
    counting = foreach(
        amp.sym.Group([dense(var("x"), "i"), count]),
        {"x": var("X")},
        {"n": var("N")},
        {"i_w": var("I_W"), "i_b": var("I_B")},
    )
    inputs = {"X": inputs["X"], "N": np.zeros(1, "i4")}
    executor = bind(counting, inputs, params)
    (step,) = executor.summary.steps
    assert (step.implementation, executor.summary.num_references) == ("own+reference", 1)
    assert step.reason == "of 2 steps of its bodies 1 run on reference code: count"
    assert "on reference code: 0.0 % to " in str(executor.profile(inputs, runs=1))


def test_a_monitored_run_has_the_same_values():
    symbol, inputs, params = over(*lstm())
    executor = bind(symbol, inputs, params, monitor=True)
    seen = {}
    executor.run_monitored(lambda name, op, array: seen.update({name: array.asnumpy()}), inputs)
    for i, expected in enumerate(run(symbol, inputs, params, backend="reference")):
        np.testing.assert_allclose(seen[f"loop_output{i}"], expected, rtol=2e-5, atol=2e-5)


def test_a_profile_counts_the_arithmetic_of_bodies():
    symbol, inputs, params = over(*lstm(), steps=4)
    (step,) = (step for step in bind(symbol, inputs, params).profile(inputs, runs=1).steps if step["node"] == "loop")
    assert step["flops"] == 4 * 2 * (2 * 2 * STATE * 4 * STATE)
    assert step["implementation"] == "own"


def test_a_loop_in_low_precision_around_it(any_machine):
    """A body keeps float32 where the layers around it are converted."""
    symbol, inputs, params = over(*lstm())
    after = amp.sym.FullyConnected(symbol[0], num_hidden=4, flatten=False, name="after")
    params = {**params, "after_weight": random(4, STATE), "after_bias": random(4)}
    low = amp.convert_model(after, params, {}, {name: "float32" for name in inputs}, "bfloat16")
    (output,), (expected,) = run(low[0], inputs, *low[1:]), run(after, inputs, params)
    assert 0 < np.abs(output - expected).max() < 0.05 * np.abs(expected).max()


def test_a_body_in_half_precision():
    symbol, inputs, params = over(*lstm())
    inputs = {name: array.astype("f2") for name, array in inputs.items()}
    params = {name: array.astype("f2") for name, array in params.items()}
    check_both(symbol, inputs, params, tolerance=1e-2)
