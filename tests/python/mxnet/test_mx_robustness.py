"""What goes wrong in files, forks and second calls: nothing changes where an error is raised."""

import json
import os
import struct

import numpy as np
import pytest

import amp
import amp.mxnet as mx
from amp.mxnet import autograd, gluon, nd

# ---- a trainer's states ----


def trainer_of(shape=(2,), optimizer="adam"):
    weight = gluon.Parameter("weight", shape=shape, init="ones")
    weight.initialize()
    trainer = gluon.Trainer([weight], optimizer)
    with autograd.record():
        loss = weight.data().sum()
    loss.backward()
    trainer.step(1)
    return weight, trainer


def with_tail(content, text):
    text = text.encode()
    return content + text + len(text).to_bytes(8, "little") + b"amp-more"


def parts_of(path):
    content = path.read_bytes()
    end = len(content) - 16
    length = int.from_bytes(content[end : end + 8], "little")
    return content[: end - length], json.loads(content[end - length : end])


@pytest.mark.parametrize(
    "spoil, message",
    [
        (lambda states, more: with_tail(states, "5"), "expected an object behind them, got 5"),
        (lambda states, more: with_tail(states, '{"random": 3}'), "set_state: expected what get_state gave"),
        (lambda states, more: with_tail(states, json.dumps(more | {"random": {}})), "set_state: expected"),
        (
            lambda states, more: with_tail(states, json.dumps({"random": more["random"] | {"python": [3, [1], None]}})),
            "set_state: expected",
        ),
        (lambda states, more: states.replace(b"\x80", b"\x00", 1), "these are no states of an optimizer"),
    ],
)
def test_states_that_are_refused_change_nothing(tmp_path, spoil, message):
    weight, trainer = trainer_of()
    path = tmp_path / "states"
    trainer.save_states(path)
    spoilt = spoil(*parts_of(path))
    np.random.seed(8)
    before = mx.random.get_state(), np.random.get_state()[1].tolist(), trainer.optimizer, trainer._updater.states
    path.write_bytes(spoilt)
    with pytest.raises(amp.ArgumentError, match=message):
        trainer.load_states(path)
    after = mx.random.get_state(), np.random.get_state()[1].tolist(), trainer.optimizer, trainer._updater.states
    assert str(before[:2]) == str(after[:2]) and before[2] is after[2] and before[3] is after[3]


def test_states_of_other_parameters_are_refused(tmp_path):
    path = tmp_path / "states"
    trainer_of((3,))[1].save_states(path)
    _, trainer = trainer_of((2,))
    with pytest.raises(amp.ArgumentError, match=r"parameter 'weight': expected \(\[2\], \[2\]\), got \(\[3\], \[3\]\)"):
        trainer.load_states(path)
    trainer._updater.states = {0: None}
    trainer.save_states(path)
    with pytest.raises(amp.ArgumentError, match="got NoneType"):
        trainer.load_states(path)
    trainer._updater.states = {7: None}
    trainer.save_states(path)
    with pytest.raises(amp.ArgumentError, match="the states of parameter 7: there are 1 parameters"):
        trainer.load_states(path)


# ---- forks ----


def in_a_child(function):
    """What a forked process gives, as JSON."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            os.write(writing, json.dumps(function()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        text = file.read()
    os.waitpid(process, 0)
    return json.loads(text)


@pytest.mark.parametrize("thread_pool", [False, True])
def test_a_forked_child_has_workers_of_its_own(thread_pool):
    points = np.arange(8, dtype="f4").reshape(4, 2)
    loader = gluon.data.DataLoader(points, batch_size=2, num_workers=2, timeout=20, thread_pool=thread_pool)

    def batches():
        return [batch.asnumpy().tolist() for batch in loader]

    expected = batches()
    assert in_a_child(batches) == expected == batches()


@pytest.mark.usefixtures("mxnet_2")
def test_a_forked_child_has_plans_of_its_own():
    net = gluon.nn.Dense(2, in_units=3)
    net.initialize("ones")
    net.hybridize()

    def gradient():
        with autograd.record():
            loss = net(nd.ones((1, 3))).sum()
        loss.backward()
        return net.weight.grad().asnumpy().tolist()

    expected = gradient()
    assert in_a_child(gradient) == expected == gradient()
    graph = net._graphs.kept[0].block._recorded_graph
    plans = graph._plans()
    plans.process = -1  # as after a fork
    assert graph._plans() is not plans and graph._plans().of_parent is plans


# ---- graphs that are differentiated ----


def test_a_graph_is_freed_where_its_gradients_fail():
    class Fails(autograd.Function):
        def forward(self, x):
            return x

        def backward(self, dy):
            raise KeyError("of the program")

    x = nd.ones((2,))
    x.attach_grad()
    with autograd.record():
        inner = x * 2
        y = Fails()(inner)
    node = inner._place.node
    with pytest.raises(KeyError, match="of the program"):
        y.backward()
    assert node.is_spent and node.places == () and node.inputs == ()
    with pytest.raises(amp.ArgumentError, match="has been differentiated before"):
        y.backward()


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_second_derivatives_of_two_gradients_in_turn(order):
    """The nodes that only one of them needs stay for the other one."""
    x, w = nd.array([[1, 2]]), nd.array([[3, 4]])
    for array in (x, w):
        array.attach_grad()
    found = {}
    with autograd.record():
        y = nd.FullyConnected(x, w, num_hidden=1, no_bias=True)
        for i in order:
            mine, other = ((x, w), (w, x))[i]
            (first,) = autograd.grad(y, mine, head_grads=nd.array([[5]]), create_graph=True, retain_graph=True)
            (found[i],) = autograd.grad(first, other, head_grads=nd.array([[1, 2]]), create_graph=False)
    assert found[0].asnumpy().tolist() == found[1].asnumpy().tolist() == [[5, 10]]


def test_a_bound_symbol_may_go_backward_twice():
    x, states = amp.sym.Variable("x"), {"bn_moving_mean": nd.zeros((2,)), "bn_moving_var": nd.ones((2,))}
    net = amp.sym.Dropout(amp.sym.BatchNorm(x, fix_gamma=False, name="bn"), p=0.5)
    arrays = {"x": nd.array([[1, 2], [5, 8], [6, 1]]), "bn_gamma": nd.ones((2,)), "bn_beta": nd.zeros((2,))}
    bound = net.bind(mx.cpu(), arrays, {"bn_beta": nd.zeros((2,))}, aux_states=states)
    bound.forward(is_train=True)
    bound.backward()
    first, mean = bound.grad_dict["bn_beta"].asnumpy(), states["bn_moving_mean"].asnumpy()
    assert mean.all()
    bound.backward()
    assert bound.grad_dict["bn_beta"].asnumpy().tolist() == first.tolist()
    assert states["bn_moving_mean"].asnumpy().tolist() == mean.tolist()
    bound.backward([nd.full((3, 2), 2)])
    assert bound.grad_dict["bn_beta"].asnumpy().tolist() == (2 * first).tolist()


def test_gradients_of_positions_are_not_looked_at():
    x = amp.sym.Variable("x")
    bound = amp.sym.Group([amp.sym.argmax(x, axis=1), x * 2]).bind(
        mx.cpu(), {"x": nd.ones((2, 3))}, {"x": nd.zeros((2, 3))}
    )
    bound.forward(is_train=True)
    bound.backward([nd.ones((7,)), nd.ones((2, 3))])
    assert bound.grad_dict["x"].asnumpy().tolist() == [[2, 2, 2]] * 2
    with pytest.raises(amp.ArgumentError, match="gradient of output '_mulscalar"):
        bound.backward([nd.ones((2,)), nd.ones((7,))])


# ---- records and pictures ----


def test_records(tmp_path):
    path = tmp_path / "records.rec"
    path.write_bytes(struct.pack("<II", 0xCED7230A, (1 << 29) - 1) + b"short")
    with pytest.raises(amp.Error, match="the file ends inside of the record at byte 8"):
        mx.recordio.MXRecordIO(path, "r").read()
    index = tmp_path / "records.idx"
    for line in ("no tab", "1\tx", "1\t-3", "1\t2\t3"):
        index.write_text(f"0\t0\n{line}\n")
        with pytest.raises(amp.Error, match="records.idx, line 2: expected a key, a tab and a position, got"):
            mx.recordio.MXIndexedRecordIO(index, path, "r")
    for header in ((0, 1.0, -1, 0), (0, [1.0], 0, -2), (0, 1.0, 2**64, 0)):
        with pytest.raises(amp.ArgumentError, match="pack: a header holds a flag, a label and two ids from 0"):
            mx.recordio.pack(header, b"")


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: mx.image.imresize(nd.ones((0, 4, 3)), 2, 2), r"imresize: a picture of shape \(0, 4, 3\) has"),
        (lambda: mx.image.resize_short(nd.ones((4, 0, 3)), 2), "resize_short: a picture of shape"),
        (lambda: mx.image.copyMakeBorder(nd.ones((4, 4, 3)), -1, 0, 0, 0), "copyMakeBorder: expected widths from 0"),
        (lambda: mx.image.scale_down((-1, 4), (2, 2)), "scale_down: expected sizes from 0"),
    ],
)
def test_pictures(call, message):
    with pytest.raises(amp.ArgumentError, match=message):
        call()


# ---- modules ----


def test_a_module_without_outputs_is_fitted():
    class Counting(mx.mod.BaseModule):
        def __init__(self):
            super().__init__()
            self.batches = 0
            self.binded = self.params_initialized = self.optimizer_initialized = True

        data_names = output_names = property(lambda self: [])
        bind = init_params = init_optimizer = lambda self, *args, **kwargs: None

        def forward_backward(self, data_batch):
            self.batches += 1

        def update(self):
            """There is nothing to update."""

        def update_metric(self, eval_metric, labels, pre_sliced=False):
            """There is nothing to measure."""

        def get_params(self):
            return {}, {}

        def set_params(self, *args, **kwargs):
            """There are none."""

    module = Counting()
    module.fit(mx.io.NDArrayIter(np.ones((6, 2), "f4"), batch_size=2), num_epoch=2)
    assert module.batches == 6


def test_features_are_one_object():
    assert mx.runtime.Features() is mx.runtime.Features() and len(mx.runtime.Features()) >= 30
    with pytest.raises(RuntimeError, match="unknown feature 'warp'"):
        mx.runtime.Features().is_enabled("warp")
