"""`mx.profiler`: what is measured, the trace and the statistics. Names and keys are those of MXNet 2.0.0b1."""

import json
import threading

import numpy as np
import pytest

import amp
import amp.mxnet as mx
from amp import _invoke, _recording

profiler = mx.profiler


@pytest.fixture(autouse=True)
def running(tmp_path):
    profiler.set_config(profile_imperative=True, profile_symbolic=True, profile_memory=False)
    profiler.set_config(filename=str(tmp_path / "trace.json"))
    profiler.set_state("run")
    profiler.dumps(reset=True)
    yield
    profiler.set_state("stop")
    profiler.dumps(reset=True)


def times(**options):
    return json.loads(profiler.dumps(format="json", **options))["Time"]


def trace(tmp_path):
    profiler.dump(False)
    return json.loads((tmp_path / "trace.json").read_text())["traceEvents"]


def test_operators_are_counted():
    x = amp.nd.zeros((3, 3))
    mx.nd.sqrt(x)
    x = (x + 1) + 1
    found = times()["operator"]
    assert {name: row["Count"] for name, row in found.items()} == {"_zeros": 1, "sqrt": 1, "_plus_scalar": 2}
    row = found["_plus_scalar"]
    assert 0 <= row["Min"] <= row["Avg"] <= row["Max"] <= row["Total"]


def test_gradients_and_graphs():
    net = mx.gluon.nn.Dense(2, in_units=3)
    net.initialize()
    net.hybridize()
    x = amp.nd.ones((1, 3))
    x.attach_grad()
    with mx.autograd.record():
        loss = (net(x) * 2).sum()
    loss.backward()
    net(x)
    bound = mx.sym.exp(mx.sym.var("x"), name="e").simple_bind(mx.cpu(), x=(2,))
    bound.forward(is_train=True)
    bound.backward(amp.nd.ones((2,)))
    bound.forward()
    found = times()
    assert {"_mul_scalar", "_backward__mul_scalar", "sum"} <= set(found["operator"])
    assert {"e", "_backward_e"} <= set(found["graph"])
    assert len(found["graph"]) > 2


def test_nothing_is_left_in_place():
    profiler.set_state("stop")
    runner, operator, call = _invoke._runner, _recording.run_operator, amp.Executor.__call__
    profiler.set_state("run")
    assert _invoke._runner is not runner
    profiler.set_config(profile_symbolic=True)
    profiler.set_state("run")
    profiler.set_state("stop")
    assert (_invoke._runner, _recording.run_operator, amp.Executor.__call__) == (runner, operator, call)
    amp.nd.ones((2,))
    assert times() == {}


def test_pauses_and_switches():
    profiler.pause()
    amp.nd.ones((2,))
    assert times() == {}
    profiler.resume()
    amp.nd.ones((2,))
    assert times()["operator"]["_ones"]["Count"] == 1
    profiler.set_config(profile_imperative=False)
    amp.nd.zeros((2,))
    assert "_zeros" not in times()["operator"]


def test_memory():
    profiler.set_config(profile_memory=True)
    amp.nd.ones((256,))
    amp.nd.ones((512,))
    found = json.loads(profiler.dumps(format="json"))
    assert found["Memory"]["Results"]["Memory: cpu/0"] == {"Count": 2, "Min": 1, "Max": 2, "Avg": 1.5}
    assert found["Unit"] == {"Time": "ms", "Memory": "kB"}


class Plus(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] + 1)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * 1)


@mx.operator.register("profiled_plus")
class PlusProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Plus()


PARTS = {"profiled_plus::pure_python", "profiled_plus::_plus_scalar"}
BACKWARD_PARTS = {"_backward_profiled_plus::pure_python", "_backward_profiled_plus::_mul_scalar"}


def test_operators_in_python():
    x = amp.nd.ones((2,))
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Custom(x, op_type="profiled_plus")
    y.backward()
    assert PARTS | BACKWARD_PARTS == set(times()["Custom Operator"])


def test_operators_in_python_as_nodes():
    node = mx.sym.Custom(mx.sym.var("a"), op_type="profiled_plus")
    node.bind(mx.cpu(), {"a": amp.nd.ones((2,))}).forward()
    assert PARTS <= set(times()["Custom Operator"])


def test_what_a_program_marks(tmp_path):
    domain = profiler.Domain("D")
    spans = domain.new_task("T"), domain.new_frame("F"), profiler.Event("E")
    for span in spans:
        span.start()
        span.stop()
        span.stop()
    counter = domain.new_counter("C", 5)
    counter += 2
    counter -= 1
    counter.increment(3)
    counter.decrement()
    assert counter.value == 8
    domain.new_marker("M").mark("thread")
    assert [str(each) for each in (domain, *spans, counter)] == ["D", "T", "F", "E", "C"]
    found = times()
    assert found["D"]["T"]["Count"] == found["D,frame"]["F"]["Count"] == found["event"]["E"]["Count"] == 1
    assert (found["D"]["C"]["Count"], found["D"]["C"]["Min"], found["D"]["C"]["Max"]) == (5, 5, 9)
    phases = {event["name"]: event["ph"] for event in trace(tmp_path)}
    assert phases == {"process_name": "M", "T": "X", "F": "X", "E": "X", "C": "C", "M": "i"}
    with pytest.raises(amp.ArgumentError, match="scope"):
        domain.new_marker("M").mark("galaxy")


def test_trace(tmp_path):
    with profiler.scope("outer:"), profiler.scope("inner"):
        amp.nd.ones((2,))
    thread = threading.Thread(target=lambda: amp.nd.zeros((2,)))
    thread.start()
    thread.join()
    first, second = trace(tmp_path)[1:]
    assert first["name"] == "_ones" and first["args"] == {"scope": "outer:inner:"}
    assert second["args"] == {"scope": "<unk>:"}
    assert first["tid"] != second["tid"]
    assert second["ts"] >= first["ts"] + first["dur"]


def test_a_finished_file_begins_anew(tmp_path):
    amp.nd.ones((2,))
    profiler.dump()
    profiler.set_state("run")
    amp.nd.zeros((2,))
    assert [event["name"] for event in trace(tmp_path)[1:]] == ["_zeros"]


@pytest.mark.parametrize("key", ["total", "avg", "min", "max", "count"])
def test_order(key):
    x = amp.nd.ones((2,))
    for _ in range(3):
        x = mx.nd.exp(x * 0)
    for ascending in (False, True):
        rows = [row[key.capitalize()] for row in times(sort_by=key, ascending=ascending)["operator"].values()]
        assert rows == sorted(rows, reverse=not ascending)


def test_table():
    profiler.set_config(profile_memory=True)
    amp.nd.ones((2,))
    lines = profiler.dumps().splitlines()
    assert lines[0] == "Profile Statistics:"
    assert any(line.split()[:2] == ["_ones", "1"] for line in lines)


def test_results_are_the_same():
    x = amp.nd.array([1, 2])
    out = amp.nd.zeros((2,))
    assert mx.nd.exp(x, out=out) is out
    np.testing.assert_allclose(out.asnumpy(), np.exp([1, 2]), rtol=1e-6)
    with pytest.raises(amp.GraphError):
        mx.nd.dot(amp.nd.ones((2, 3)), amp.nd.ones((2, 3)))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: profiler.set_config(speed=1), amp.MXNetError),
        (lambda: profiler.set_state("walk"), KeyError),
        (lambda: profiler.dumps(format="xml"), AssertionError),
        (lambda: profiler.dumps(sort_by="name"), AssertionError),
        (lambda: profiler.dumps(ascending=3), AssertionError),
    ],
)
def test_refusals(call, error):
    with pytest.raises(error):
        call()


def test_names_of_before(tmp_path):
    with pytest.warns(DeprecationWarning):
        profiler.profiler_set_state("stop")
    with pytest.warns(DeprecationWarning):
        profiler.profiler_set_config("all", str(tmp_path / "profile.json"))
    with pytest.warns(DeprecationWarning):
        profiler.dump_profile()
