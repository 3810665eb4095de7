"""Graphs that draw random numbers at inference: dropout whose mode is 'always'."""

import numpy as np
import pytest

import amp
import amp.mxnet as mx

pytestmark = pytest.mark.usefixtures("any_machine")  # what is converted runs so

ONES = np.ones((64, 64), "float32")


def dropped(x, **attributes):
    return amp.sym.Dropout(x, **{"p": 0.5, "mode": "always", **attributes})


def executor(symbol, **options):
    return amp.Executor(symbol, {}, {}, {"x": ONES.shape}, **options)


X = amp.sym.Variable("x")


@pytest.mark.parametrize("options", [{}, {"backend": "reference"}, {"mode": "exact"}, {"num_threads": 2}])
def test_each_run_draws_other_numbers(options):
    run = executor(dropped(X, name="drop"), **options)
    assert run.input_names == ["x"] and run.input_shapes == {"x": ONES.shape}
    mx.random.seed(3)
    first, second = run(ONES)[0].asnumpy(), run(ONES)[0].asnumpy()
    assert set(np.unique(first)) == {0.0, 2.0} and 0.45 < (first == 0).mean() < 0.55
    assert (first != second).any()
    mx.random.seed(3)
    assert (run(ONES)[0].asnumpy() == first).all() and (run(ONES)[0].asnumpy() == second).all()
    assert (run.reshape(x=(8, 64))(ONES[:8])[0].asnumpy() != first[:8]).any()


def test_backends_draw_the_same_numbers():
    outputs = []
    for backend in ("onednn", "reference"):
        mx.random.seed(4)
        outputs.append(executor(dropped(X, name="drop"), backend=backend)(ONES)[0].asnumpy())
    assert (outputs[0] == outputs[1]).all()


def test_equal_nodes_draw_different_numbers():
    both = amp.sym.Group([dropped(X, name="a"), dropped(X, name="b")])
    a, b = (output.asnumpy() for output in executor(both)(ONES))
    assert (a != b).any()


def test_constants_are_drawn_anew():
    run = amp.Executor(dropped(X), {"x": ONES}, {}, {})
    assert (run()[0].asnumpy() != run()[0].asnumpy()).any()


def test_nothing_is_drawn_where_nothing_is_dropped():
    for symbol in (dropped(X, p=0.0), amp.sym.Dropout(X, p=0.5)):
        assert (executor(symbol)(ONES)[0].asnumpy() == ONES).all()


def test_axes_share_a_mask():
    found = executor(dropped(X, axes=(0,)))(ONES)[0].asnumpy()
    assert (found == found[:1]).all() and len(np.unique(found)) == 2


def test_monitors_and_profiles_see_it():
    run = executor(dropped(X, name="drop"), monitor=True)
    seen = []
    (output,) = run.run_monitored(lambda name, op, array: seen.append((name, array.asnumpy())), ONES)
    assert seen[0][0] == "drop_output" and (seen[0][1] == output.asnumpy()).all()
    assert run.profile(ONES, runs=1).num_runs == 1


def test_converted_models_draw():
    run = executor(
        amp.sym.FullyConnected(dropped(X), num_hidden=4, no_bias=True, weight=amp.sym.ones((4, 64))),
        reduce_precision={"target_dtype": "bfloat16", "emulate": True},
    )
    assert (run(ONES)[0].asnumpy() != run(ONES)[0].asnumpy()).any()


def test_gradients_see_the_mask_of_the_run():
    for train in (True, False):
        bound = dropped(X).simple_bind(x=ONES.shape)
        bound.arg_dict["x"][:] = 1
        output = bound.forward(is_train=train)[0].asnumpy()
        assert len(np.unique(output)) == 2
        if train:
            bound.backward(mx.nd.ones(ONES.shape))
            assert (bound.grad_dict["x"].asnumpy() == output).all()
    x = mx.nd.array(ONES)
    x.attach_grad()
    with mx.autograd.record(train_mode=False):
        y = mx.nd.Dropout(x, p=0.5, mode="always")
    y.backward()
    assert len(np.unique(y.asnumpy())) == 2 and (x.grad.asnumpy() == y.asnumpy()).all()


def test_arrays_and_hybridized_blocks_drop():
    x = mx.nd.array(ONES)
    assert len(np.unique(mx.nd.Dropout(x, p=0.5, mode="always").asnumpy())) == 2
    assert len(np.unique(mx.npx.dropout(mx.np.array(ONES), p=0.5, mode="always").asnumpy())) == 2

    class Always(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.Dropout(x, p=0.5, mode="always")

    block = Always()
    block.hybridize()
    block(x)
    assert (block(x).asnumpy() != block(x).asnumpy()).any()


def test_a_network_that_is_made_again_draws_the_same_numbers():
    """Its nodes are called otherwise, because names that blocks make up count on."""
    drawn = []
    for _ in range(2):
        net = mx.gluon.nn.HybridSequential()
        net.add(mx.gluon.nn.Dropout(0.5), mx.gluon.nn.Dropout(0.5))
        net.hybridize()
        mx.random.seed(5)
        with mx.autograd.record():
            drawn.append(net(mx.nd.array(ONES)).asnumpy())
    assert (drawn[0] == drawn[1]).all() and 0.2 < (drawn[0] != 0).mean() < 0.3


def test_a_block_that_is_called_twice_drops_others():
    class Twice(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.drop = mx.gluon.nn.Dropout(0.5)

        def hybrid_forward(self, F, x):
            return self.drop(x) * self.drop(x)

    net = Twice()
    net.hybridize()
    with mx.autograd.record():
        assert 0.2 < (net(mx.nd.array(ONES)).asnumpy() != 0).mean() < 0.3


def test_steps_of_loops_drop_others():
    outputs, _ = mx.sym.contrib.foreach(lambda x, state: (dropped(x), state), X, [amp.sym.Variable("s")])
    run = amp.Executor(outputs, {}, {}, {"x": ONES.shape, "s": (1,)})
    rows = np.asarray(run(ONES, np.zeros(1, "f4")))
    assert {*np.unique(rows)} == {0, 2} and len({row.tobytes() for row in rows}) == len(rows)
