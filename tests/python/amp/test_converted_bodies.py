"""Bodies of loops and branches are converted like any graph: dtypes, states, names, reports, numbers, gradients."""

import json

import ml_dtypes  # noqa: F401  bfloat16 for NumPy
import numpy as np
import pytest
from control_flow_nodes import cond, foreach, is_below, is_positive, recurrent, run, var, while_loop

import amp

LOW = "bfloat16"
POLICIES = {
    "default": {},
    "optimal": {"policy": "optimal", "minimize": "casts"},
    "mp1": {"policy": "graphamp", "preset": "mp1"},
    "mp2": {"policy": "graphamp", "preset": "mp2"},
    "mp4": {"policy": "graphamp", "preset": "mp4"},
}
policies = pytest.mark.parametrize("options", POLICIES.values(), ids=POLICIES)
any_machine = pytest.mark.usefixtures("any_machine")  # what is converted runs so


def dense(data, name, units=8, weight="w"):
    return amp.sym.FullyConnected(data, var(weight), num_hidden=units, no_bias=True, flatten=False, name=name)


def relu_network(variable=var):
    """A loop whose state is read and written by products alone, but for a relu."""
    from_h = dense(variable("h"), "from_h", weight="u")
    state = amp.sym.relu(dense(amp.sym.elemwise_add(variable("x"), from_h), "fc"), name="act")
    body = amp.sym.Group([dense(state, "out", 3, "v"), state])
    return foreach(body, {"x": var("data")}, {"h": var("start")}, {"u": var("U"), "w": var("W"), "v": var("V")})


def declared_network():
    """The same loop, whose body says that what it reads is float32."""
    return relu_network(lambda name: amp.sym.Variable(name, dtype="float32"))


def while_network():
    """Steps are counted in float32 beyond what bfloat16 can count to."""
    state = amp.sym.relu(dense(var("h"), "fc"), name="act")
    body = amp.sym.Group(
        [amp.sym.sum(state, name="sum"), amp.sym._internal._plus_scalar(var("i"), scalar=1, name="next"), state]
    )
    inputs = {"i": var("count"), "h": var("start"), "w": var("W")}
    return while_loop(is_below("i", 300), body, inputs, ["i", "h"], 320)


def cond_network():
    yes = amp.sym.relu(dense(var("x"), "fc"), name="act")
    no = amp.sym.sigmoid(dense(var("x"), "other", weight="v"), name="act")
    return cond(is_positive("flag"), yes, no, {"flag": var("sign"), "x": var("data"), "w": var("W"), "v": var("V")})


def nested_network():
    """A loop in a loop: the inner one is a body's node."""
    inner_state = amp.sym.relu(dense(amp.sym.elemwise_add(var("y"), var("g")), "fc"), name="act")
    inner = foreach(
        amp.sym.Group([inner_state, inner_state]), {"y": var("x")}, {"g": var("h")}, {"w": var("w")}, "inner"
    )
    state = dense(inner[1], "after")
    return foreach(amp.sym.Group([inner[0], state]), {"x": var("data")}, {"h": var("start")}, {"w": var("W")}, "outer")


def random(*shape, seed=0, scale=1.0):
    return (scale * np.random.default_rng(seed).standard_normal(shape)).astype("float32")


NETWORKS = {
    "foreach": (relu_network, {"data": random(5, 2, 8), "start": random(2, 8, seed=1)}, {"U": (8, 8), "W": (8, 8)}),
    "declared": (
        declared_network,
        {"data": random(5, 2, 8), "start": random(2, 8, seed=1)},
        {"U": (8, 8), "W": (8, 8)},
    ),
    "while": (while_network, {"count": np.float32([0]), "start": random(2, 8)}, {"W": (8, 8)}),
    "cond": (cond_network, {"sign": np.float32([1]), "data": random(2, 8)}, {"W": (8, 8), "V": (8, 8)}),
    "nested": (nested_network, {"data": random(3, 4, 2, 8), "start": random(2, 8)}, {"W": (8, 8)}),
}
networks = pytest.mark.parametrize("kind", NETWORKS)


def network(kind):
    """(the model, its inputs). Weights keep the sizes of states."""
    make, inputs, shapes = NETWORKS[kind]
    shapes = {**shapes, **({"V": (3, 8)} if kind in ("foreach", "declared") else {})}
    args = {name: amp.nd.array(random(*shape, seed=7, scale=0.35)) for name, shape in shapes.items()}
    if kind == "while":
        args["W"] = amp.nd.array(np.roll(np.eye(8, dtype="float32"), 1, axis=0))  # neither grows nor vanishes
    return (make(), args, {}), inputs


def convert(model, inputs, **options):
    shapes = {name: array.shape for name, array in inputs.items()}
    options = {"input_shapes": shapes, "return_report": True, **options}
    *low, report = amp.convert_model(*model, target_dtype=LOW, **options)
    return low, report


def bodies(symbol):
    """{path: the nodes of the body, by name}"""
    found = {}

    def add(document, prefix):
        for node in document["nodes"]:
            for i, body in enumerate(node.get("subgraphs", [])):
                path = f"{prefix}{node['name']}/{i}"
                found[path] = {n["name"]: n for n in body["nodes"]}
                add(body, f"{path}/")

    add(json.loads(symbol.tojson()), "")
    return found


def count_casts(symbol):
    return symbol.tojson().count('"amp_cast"')


def results(model, inputs, **options):
    return [array.astype("float32") for array in run(model[0], inputs, *model[1:], **options)]


def error(found, exact):
    """Root mean square, of each output relative to its own."""
    parts = [
        b.size * np.sum(np.square(a - b, dtype="f8")) / np.sum(np.square(b, dtype="f8")) for a, b in zip(found, exact)
    ]
    return float(np.sqrt(sum(parts) / sum(b.size for b in exact)))


@any_machine
@policies
@networks
def test_a_converted_loop_gives_what_the_float32_one_gives(kind, options):
    model, inputs = network(kind)
    low, report = convert(model, inputs, cast_params_offline=True, **options)
    exact = results(model, inputs)
    assert report.bodies and all(body["why_not"] is None for body in report.bodies)
    inside = [t for t in report.tensors if "/" in t["node"] and t["kind"] == "result"]
    assert inside and low[0].infer_type(**{name: "float32" for name in inputs})[1] == [np.float32] * len(exact)
    assert low[0].list_outputs() == model[0].list_outputs()
    for options in ({}, {"backend": "reference"}, {"mode": "exact"}):
        found = results(low, inputs, **options)
        assert 1e-5 < error(found, exact) < 2e-2
    if kind == "while":
        assert found[1].tolist() == [300]  # counted in float32, whatever the policy
        counter = report.tensor("loop/body/next")
        assert counter["dtype"] == "float32" and counter["reason"]["kind"] == "counts_steps"


@networks
def test_policy_mxnet_leaves_bodies_alone_and_says_so(kind):
    model, inputs = network(kind)
    low, report = convert(model, inputs, policy="mxnet")
    assert bodies(low[0]) == bodies(model[0])
    assert {body["why_not"] for body in report.bodies} == {"MXNet's pass leaves bodies of control flow as they are"}
    assert "MXNet's pass leaves bodies" in str(report)


@any_machine
def test_a_state_is_low_where_each_step_reads_and_writes_it_so():
    model, inputs = network("foreach")
    low, report = convert(model, inputs, cast_params_offline=True)
    (body,) = bodies(low[0]).values()
    assert not any(node["op"] == "amp_cast" for name, node in body.items() if name.startswith("h_"))
    assert report.tensor("loop/body/h")["dtype"] == LOW
    assert report.tensor("loop/body/act")["dtype"] == LOW
    assert low[1]["U"].dtype == low[1]["V"].dtype == np.dtype(LOW)  # weights are cast once, in the file
    assert {cast["name"] for cast in report.casts if not cast["run_time"]} == {"U", "W", "V"}
    assert report.tensor("loop_output1")["dtype"] == LOW and report.tensor("loop_output1")["before"] == "float32"


@any_machine
@policies
def test_a_state_that_is_summed_up_is_widened(options):
    sums = amp.sym.elemwise_add(var("s"), dense(var("x"), "fc"), name="add")
    loop = foreach(amp.sym.Group([dense(var("s"), "out"), sums]), {"x": var("d")}, {"s": var("b")}, {"w": var("W")})
    inputs = {"d": random(4, 2, 8), "b": random(2, 8)}
    low, report = convert((loop, {"W": amp.nd.array(random(8, 8))}, {}), inputs, **options)
    preset = options.get("preset")
    assert report.tensor("loop/body/s")["dtype"] == (LOW if preset == "mp4" else "float32")
    assert report.tensor("loop_output1")["dtype"] == report.tensor("loop/body/s")["dtype"]
    assert np.isfinite(results(low, inputs)[1]).all()


@any_machine
def test_two_states_that_swap_are_low_together_or_not_at_all():
    """One state becomes the other: both are low, until one of them is read in float32."""
    state = amp.sym.relu(dense(amp.sym.elemwise_add(dense(var("a"), "fa"), dense(var("b"), "fb")), "fc"), name="act")
    moved = amp.sym.relu(dense(amp.sym.elemwise_add(state, var("x"), name="sum"), "fd"), name="moved")
    wide = amp.sym.softmax(amp.sym.elemwise_add(state, var("x"), name="sum"), name="soft")
    inputs = {"d": random(3, 2, 8), "p": random(2, 8), "q": random(2, 8, seed=4)}
    for second, dtypes in ((moved, (LOW, LOW)), (wide, (LOW, "float32"))):
        heads = amp.sym.Group([dense(state, "out"), state, second])
        loop = foreach(heads, {"x": var("d")}, {"a": var("p"), "b": var("q")}, {"w": var("W")})
        model = loop, {"W": amp.nd.array(random(8, 8, scale=0.3))}, {}
        low, report = convert(model, inputs)
        assert (report.tensor("loop/body/a")["dtype"], report.tensor("loop/body/b")["dtype"]) == dtypes
        assert error(results(low, inputs), results(model, inputs)) < 2e-2


@any_machine
def test_nodes_of_bodies_are_named_by_their_paths():
    model, inputs = network("nested")
    path = "outer/body/inner/body/fc"
    low, report = convert(model, inputs)
    assert report.tensor(path)["reason"]["kind"] == "wide_result"
    assert any(reader["node"] == path for cast in report.casts for reader in cast["readers"])
    for options in ({"excluded_sym_names": [path]}, {"force": {"*/inner/body/f?": "float32"}}):
        kept, report = convert(model, inputs, **options)
        assert report.tensor(path)["reason"]["class"] == "user" and report.tensor(path)["dtype"] == "float32"
        assert report.tensor("outer/body/after")["op"] == "FullyConnected"
        (inner,) = (nodes for name, nodes in bodies(kept[0]).items() if "/inner/" in name)
        assert not any(node["op"] == "amp_cast" for node in inner.values())
    with pytest.raises(amp.ArgumentError):
        convert(model, inputs, excluded_sym_names=["outer/body/nothing"])
    kept, report = convert(model, inputs, excluded_sym_names=["outer"])
    assert count_casts(kept[0]) == 0 and all("'outer'" in body["why_not"] for body in report.bodies)
    # A node of the graph around keeps its own name, whatever bodies have.
    after = dense(relu_network()[0], "fc", 2, "last")
    args = {**network("foreach")[0][1], "last": amp.nd.array(random(2, 3))}
    low, report = convert((after, args, {}), network("foreach")[1], excluded_sym_names=["fc"])
    assert report.tensor("fc")["dtype"] == "float32" and report.tensor("loop/body/fc")["dtype"] == LOW


@any_machine
def test_a_report_has_the_casts_and_chains_of_bodies():
    model, inputs = network("nested")
    low, report = convert(model, inputs)
    assert report.totals["casts"]["run_time"] == count_casts(low[0]) == sum(c["run_time"] for c in report.casts)
    assert len({tensor["id"] for tensor in report.tensors}) == len(report.tensors)
    for tensor in report.tensors:
        end = report.chain(tensor)[-1][1]
        assert end["class"] in ("fact", "list", "user", "refusal", "propagation")
    assert [body["path"] for body in report.bodies] == ["outer/body/", "outer/body/inner/body/"]
    assert "outer/body/after_output" in report.why("outer/body/after") and "bodies converted" in str(report)


@any_machine
def test_what_was_disabled_inside_stays():
    with amp.disable_amp():
        kept = dense(var("h"), "kept")
    body = amp.sym.Group([dense(amp.sym.elemwise_add(kept, var("x")), "fc"), amp.sym.relu(kept, name="act")])
    loop = foreach(body, {"x": var("d")}, {"h": var("b")}, {"w": var("W")})
    inputs = {"d": random(4, 2, 8), "b": random(2, 8)}
    _, report = convert((loop, {"W": amp.nd.array(random(8, 8))}, {}), inputs)
    assert report.tensor("loop/body/kept")["dtype"] == "float32"
    assert report.tensor("loop/body/kept")["reason"]["class"] == "user"
    assert [c for c in report.casts if any(r["node"] == "loop/body/fc" for r in c["readers"])]


@networks
def test_what_does_not_pay_is_taken_back(kind):
    model, inputs = network(kind)
    low, _ = convert(model, inputs)
    shapes = {name: array.shape for name, array in inputs.items()}
    slow = amp.Executor(*low, shapes, machine="avx512_core")
    assert count_casts(low[0]) > 0 and count_casts(slow.symbol) == 0
    np.testing.assert_array_equal(slow(inputs)[0].asnumpy(), amp.Executor(*model, shapes)(inputs)[0].asnumpy())
    kept, _ = convert(model, inputs, keep_decision=True)
    assert count_casts(amp.Executor(*kept, shapes, machine="avx512_core").symbol) > 0


@any_machine
@networks
def test_files_keep_and_reverting_removes_what_was_converted(kind, tmp_path):
    model, inputs = network(kind)
    low, _ = convert(model, inputs, cast_params_offline=True)
    amp.save_checkpoint(str(tmp_path / "low"), 0, *low)
    again = amp.load(str(tmp_path / "low-symbol.json"), str(tmp_path / "low-0000.params"))
    for a, b in zip(results(low, inputs), results(again, inputs)):
        np.testing.assert_array_equal(a, b)
    amp.save_checkpoint(str(tmp_path / "plain"), 0, *low, remove_amp_cast=True)
    plain = amp.load(str(tmp_path / "plain-symbol.json"), str(tmp_path / "plain-0000.params"))
    assert count_casts(plain[0]) == 0 and plain[0].list_outputs() == model[0].list_outputs()
    assert all(array.dtype == np.float32 for array in plain[1].values())
    assert error(results(plain, inputs), results(model, inputs)) < 1e-2


@any_machine
@networks
def test_converting_twice_is_converting_once(kind):
    model, inputs = network(kind)
    low, _ = convert(model, inputs)
    twice, _ = convert(low, inputs)
    assert count_casts(twice[0]) == count_casts(low[0])
    for a, b in zip(results(low, inputs, mode="exact"), results(twice, inputs, mode="exact")):
        np.testing.assert_array_equal(a, b)


@any_machine
@pytest.mark.parametrize("target", ["bfloat16", "float16"])
@networks
def test_gradients_through_converted_bodies(kind, target):
    model, inputs = network(kind)
    if kind == "while":
        inputs = {**inputs, "count": np.float32([296])}  # four steps
    shapes = {name: array.shape for name, array in inputs.items()}
    gradients = []
    for options in ({}, {"reduce_precision": {"target_dtype": target, "emulate": True}}):
        executor = amp.TrainingExecutor(*model, shapes, **options)
        outputs = executor.forward(is_train=True, **inputs)
        heads = [amp.nd.array(random(*output.shape, seed=9)) for output in outputs]
        executor.backward(heads)
        gradients.append({n: a.asnumpy() for n, a in executor.gradients.items()})
    exact, low = gradients
    assert set(exact) == set(low) and all(array.dtype == np.float32 for array in low.values())
    names = [name for name in exact if np.any(exact[name])]
    assert 1e-6 < error([low[n] for n in names], [exact[n] for n in names]) < 3e-2


def test_what_a_conversion_for_training_leaves_in_float32():
    model, inputs = network("foreach")
    _, report = convert(model, inputs, training=True)
    outside = [t for t in report.tensors if "/" not in t["node"] and t["kind"] != "gradient"]
    assert {t["dtype"] for t in outside} == {"float32"}  # gradients of weights are summed over steps
    assert any(t["dtype"] == LOW for t in report.tensors if t["node"].startswith("loop/body/"))


def test_predicted_times_need_the_shapes_of_bodies():
    model, inputs = network("foreach")
    low, report = convert(model, inputs, machine="avx512_core")
    assert count_casts(low[0]) == 0 and [body["why_not"] for body in report.bodies] == [None]
    low, report = convert(model, inputs, machine="avx512_amx", policy="optimal")
    assert [body["why_not"] for body in report.bodies] == [None]


@any_machine
def test_what_a_goal_for_accuracy_does_not_measure_stays_float32():
    model, inputs = network("foreach")
    goal = {"accuracy": {"error": 0.05}, "data": inputs}
    low, report = convert(model, inputs, **goal)
    assert bodies(low[0]) == bodies(model[0])
    assert report.bodies[0]["why_not"].startswith("a goal for accuracy does not measure")


@pytest.mark.parametrize("limits", [{"depth": 1e6}, {"depth": 4}, {"activation": 1e-3}], ids=str)
def test_what_limits_do_not_measure_stays_float32(limits):
    model, inputs = network("foreach")
    after = dense(model[0][0], "last", 2, "last_weight")
    args = {**model[1], "last_weight": amp.nd.array(random(2, 3))}
    low, report = convert((after, args, {}), inputs, limits=limits, data=inputs)
    assert bodies(low[0]) == bodies(after)
    assert [body["why_not"] for body in report.bodies] == ["limits do not measure what is inside of bodies"]
    assert (count_casts(low[0]) > 0) == ("activation" not in limits)  # the layer behind the loop sums up 3 terms
    with pytest.raises(amp.ArgumentError):
        convert((after, args, {}), inputs, limits=limits, data=inputs, force={"loop/body/fc": LOW})


@any_machine
@pytest.mark.parametrize("which", ["neutral_ops", "target_dtype_ops", "fp32_ops", "widest_dtype_ops"])
def test_lists_of_operators_decide_about_loops(which):
    model, inputs = network("foreach")
    low, report = convert(model, inputs, **{which: ["_foreach"]})
    assert bodies(low[0]) == bodies(model[0])
    assert [body["why_not"] for body in report.bodies] == ["the caller chose the dtypes of 'loop'"]


@any_machine
@networks
def test_comparisons_take_a_loop_for_one_step(kind):
    model, inputs = network(kind)
    low, report = convert(model, inputs)
    comparison = amp.compare(model, low, inputs, report)
    assert any("inside of loops and branches" in note for note in comparison.notes) and comparison.suspects == []
    assert comparison.error == pytest.approx(error(results(low, inputs, mode="exact"), results(model, inputs)), rel=0.2)
    *_, verified = amp.convert_model(*model, data=inputs, verify=True, return_report=True)
    assert verified.verified["suspects"] == []
    with pytest.raises(amp.ArgumentError):
        amp.error_bound(model, low, inputs)


def test_a_sensitivity_does_not_predict_what_is_inside():
    model, inputs = network("foreach")
    _, report = convert(model, inputs)
    with pytest.raises(amp.ArgumentError):
        amp.sensitivity(*model, inputs).predict(report)


@any_machine
def test_a_recurrent_network_of_mxnet_converts():
    net = recurrent()
    inputs = {"data": random(5, 2, 6), "start": random(2, 4)}
    shapes = {"W": (4, 6), "B": (4,), "V": (3, 4)}
    args = {name: amp.nd.array(random(*shape, scale=0.4)) for name, shape in shapes.items()}
    low, report = convert((net, args, {}), inputs)
    assert report.tensor("loop/body/fc")["reason"]["kind"] == "wide_result"  # h is added in float32
    assert report.tensor("loop/body/h")["dtype"] == "float32"
    assert 1e-5 < error(results(low, inputs), results((net, args, {}), inputs)) < 1e-2
