"""Operators in Python as nodes of graphs: `mx.sym.Custom`, in plans, in training, in files and in hybridized blocks."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import amp
import amp.mxnet as mx

RNG = np.random.default_rng(5)


class ScaledSquare(mx.operator.CustomOp):
    """scale * x^2 + y; keeps x for its gradient, and counts runs in training."""

    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, is_train, req, in_data, out_data, aux):
        self.kept = in_data[0]
        self.assign(out_data[0], req[0], self.scale * in_data[0] ** 2 + in_data[1])
        self.assign(out_data[1], req[1], in_data[1] * 3)
        if is_train:
            aux[0][:] = aux[0] + 1

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        assert aux[0].asscalar() > 0
        self.assign(in_grad[0], req[0], out_grad[0] * 2 * self.scale * self.kept)
        self.assign(in_grad[1], req[1], out_grad[0] + 3 * out_grad[1])


@mx.operator.register("scaled_square")
class ScaledSquareProp(mx.operator.CustomOpProp):
    def __init__(self, scale="1"):
        super().__init__()
        self.scale = float(scale)

    def list_arguments(self):
        return ["data", "shift"]

    def list_outputs(self):
        return ["result", "other"]

    def list_auxiliary_states(self):
        return ["runs"]

    def infer_shape(self, in_shape):
        return [in_shape[0], in_shape[0]], [in_shape[0]] * 2, [(1,)]

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return ScaledSquare(self.scale)


@mx.operator.register("failing")
class FailingProp(mx.operator.CustomOpProp):
    def __init__(self, where="forward"):
        super().__init__()
        self.where = where

    def infer_shape(self, in_shape):
        if self.where == "infer_shape":
            raise ValueError("no such shape")
        if self.where == "counts":
            return in_shape, [], []
        return super().infer_shape(in_shape)

    def create_operator(self, ctx, in_shapes, in_dtypes):
        where = self.where

        class Failing(mx.operator.CustomOp):
            def forward(self, is_train, req, in_data, out_data, aux):
                if where == "forward":
                    raise KeyError("lost")

            def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
                raise RuntimeError("no way back")

        return Failing()


def node(scale=2, name="square"):
    return mx.sym.Custom(mx.sym.Variable("x"), op_type="scaled_square", scale=scale, name=name)


def test_missing_inputs_become_variables_and_shapes_follow():
    symbol = node()
    assert symbol.list_arguments() == ["x", "square_shift"] and symbol.list_auxiliary_states() == ["square_runs"]
    assert symbol.list_outputs() == ["square_result", "square_other"]
    assert symbol.infer_shape(x=(2, 3)) == ([(2, 3), (2, 3)], [(2, 3), (2, 3)], [(1,)])
    assert node(name=None).name.startswith("custom")
    assert amp.sym.load_json(symbol.tojson()).tojson() == symbol.tojson()


@pytest.mark.parametrize("backend", ["onednn", "reference"])
def test_plans_run_it(backend):
    x, y = RNG.normal(size=(2, 4, 3)).astype("f4")
    tail = amp.sym.Activation(node()[0], act_type="relu")
    run = amp.Executor(
        tail, {}, {"square_runs": np.zeros(1, "f4")}, {"x": (4, 3), "square_shift": (4, 3)}, backend=backend
    )
    np.testing.assert_allclose(run(x, y)[0].asnumpy(), np.maximum(2 * x**2 + y, 0), rtol=1e-6)


def test_training_computes_gradients_and_moves_states():
    x, y = RNG.normal(size=(2, 4, 3)).astype("f4")
    inner = node(3, "inner")
    outer = mx.sym.Custom(inner[0], inner[1], op_type="scaled_square", scale=0.5, name="outer")
    loss = outer[0] * 2 + outer[1]
    bound = loss.simple_bind(mx.cpu(), x=(4, 3))
    bound.arg_dict["x"][:], bound.arg_dict["inner_shift"][:] = x, y
    u, v = 3 * x**2 + y, 3 * y  # the results of `inner`
    for run in (1, 2):
        np.testing.assert_allclose(bound.forward(is_train=True)[0].asnumpy(), u**2 + 2 * v + 3 * v, rtol=1e-5)
        bound.backward([mx.nd.ones((4, 3))])
        np.testing.assert_allclose(bound.grad_dict["x"].asnumpy(), 2 * u * 6 * x, rtol=1e-4)
        np.testing.assert_allclose(bound.grad_dict["inner_shift"].asnumpy(), 2 * u + 5 * 3, rtol=1e-4)
        assert bound.aux_dict["inner_runs"].asscalar() == bound.aux_dict["outer_runs"].asscalar() == run
    bound.forward(is_train=False)
    assert bound.aux_dict["inner_runs"].asscalar() == 2


def test_conversion_keeps_it_in_float32():
    dense = amp.sym.FullyConnected(node()[0], num_hidden=8, name="fc")
    weight = RNG.normal(size=(8, 16)).astype("f4")
    aux = {"square_runs": np.zeros(1, "f4")}
    params = {"fc_weight": weight, "fc_bias": np.zeros(8, "f4")}
    net, shapes = amp.sym.Activation(dense, act_type="relu"), {"x": (4, 16), "square_shift": (4, 16)}
    *low, report = amp.convert_model(net, params, aux, machine="any", return_report=True)
    dtypes = {tensor["name"]: tensor["dtype"] for tensor in report.tensors if tensor["kind"] == "result"}
    assert dtypes["square_result"] == "float32" and "bfloat16" in low[0].tojson()
    x, y = RNG.normal(size=(2, 4, 16)).astype("f4")
    found = amp.Executor(*low, shapes, machine="any")(x, y)[0].asnumpy().astype("f4")
    np.testing.assert_allclose(found, np.maximum((2 * x**2 + y) @ weight.T, 0), rtol=0.05, atol=0.2)


class Block(mx.gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        self.dense = mx.gluon.nn.Dense(3, in_units=3)

    def hybrid_forward(self, F, x, y, runs):  # noqa: N803 - MXNet's name
        return F.Custom(self.dense(x), y, runs, op_type="scaled_square", scale=2)[0]


def test_hybridized_blocks_have_it_in_their_graphs():
    block = Block()
    block.initialize(mx.init.Uniform(1))
    x, y = (mx.nd.array(RNG.normal(size=(4, 3))) for _ in "xy")
    results = []
    for hybridized in (False, True):
        block.hybridize(hybridized)
        runs = mx.nd.zeros((1,))
        x.attach_grad()
        for _ in range(2):  # the first call of a hybridized block records
            with mx.autograd.record():
                z = block(x, y, runs)
            z.backward()
        results.append([z.asnumpy(), x.grad.asnumpy(), block.dense.weight.grad().asnumpy()])
    for one, other in zip(*results):
        np.testing.assert_allclose(one, other, rtol=1e-5)
    assert "scaled_square" in block.export(None)[0].tojson()


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: mx.sym.Custom(op_type="nothing"), amp.ArgumentError, "no operator 'nothing' is registered"),
        (lambda: mx.sym.Custom(1, op_type="scaled_square"), amp.ArgumentError, "expected symbols for"),
        (lambda: mx.sym.Custom(shift=1, op_type="scaled_square"), mx.MXNetError, "unexpected keyword argument"),
        (
            lambda: amp.sym.load_json(node().tojson().replace("scaled_square", "unknown")),
            amp.GraphError,
            "Custom 'square': Custom: no operator 'unknown' is registered",
        ),
        (
            lambda: amp.sym.load_json(node().tojson().replace('"op_type"', '"kind"')),
            amp.GraphError,
            "no operator None is registered",
        ),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    "where, message",
    [
        ("infer_shape", "failing: infer_shape raised ValueError: no such shape"),
        ("counts", "failing: infer_shape gave 0 outputs and 0 states, expected 1 and 0"),
        ("forward", "failing: forward raised KeyError: 'lost'"),
    ],
)
def test_errors_of_its_methods_reach_the_program(where, message):
    with pytest.raises(mx.MXNetError, match=message):
        mx.sym.Custom(mx.sym.Variable("x"), op_type="failing", where=where).eval(x=mx.nd.ones((2,)))


def test_a_class_that_is_registered_anew_takes_the_place_of_the_old_one():
    def register(factor):
        class Times(mx.operator.CustomOp):
            def forward(self, is_train, req, in_data, out_data, aux):
                self.assign(out_data[0], req[0], in_data[0] * factor)

        @mx.operator.register("times")
        class TimesProp(mx.operator.CustomOpProp):
            def create_operator(self, ctx, in_shapes, in_dtypes):
                return Times()

    for factor in (2, 3):
        register(factor)
        symbol = mx.sym.Custom(mx.sym.Variable("x"), op_type="times", name="times")
        assert symbol.eval(x=mx.nd.ones((2,)))[0].asnumpy().tolist() == [factor] * 2


def test_an_error_on_the_way_back_leaves_the_plan_usable():
    bound = mx.sym.Custom(mx.sym.Variable("x"), op_type="failing", where="backward").simple_bind(mx.cpu(), x=(2,))
    for _ in range(2):
        bound.forward(is_train=True)
        with pytest.raises(mx.MXNetError, match="failing: backward raised RuntimeError: no way back"):
            bound.backward([mx.nd.ones((2,))])


_ASKS_DURING_A_RUN = """
    import threading, time
    import amp, amp.mxnet as mx

    started = threading.Event()

    class Slow(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            started.set()
            time.sleep(0.3)  # the other thread waits for the run by now
            self.assign(out_data[0], req[0], in_data[0])

    @mx.operator.register("slow")
    class SlowProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Slow()

    symbol = mx.sym.Custom(mx.sym.Variable("x"), op_type="slow", name="slow")
    run = amp.Executor(symbol, {}, {}, {"x": (2,)}, count_denormals=True)
    x = mx.nd.ones((2,)).asnumpy()
    run(x)
    started.clear()
    thread = threading.Thread(target=run, args=(x,))
    thread.start()
    started.wait()
    run.QUESTION()
    thread.join()
    print("answered")
"""


@pytest.mark.parametrize("question", ["audit", "flushed_counts", "alternate_counts"])
def test_questions_wait_for_a_run_that_needs_python(question):
    """A question that kept Python's lock would wait for ever: hence a process with a time limit."""
    program = textwrap.dedent(_ASKS_DURING_A_RUN).replace("QUESTION", question)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "answered\n"), done.stderr
