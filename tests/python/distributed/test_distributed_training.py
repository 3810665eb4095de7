"""Training on several ranks: the curves of one rank with a larger batch, equal bits on both engines."""

import sys
import textwrap
from pathlib import Path

import ml_dtypes
import mpi_runs
import numpy as np
import pytest

import amp
import amp.mxnet as mx
from amp import distributed
from amp.mxnet import gluon
from amp.mxnet._training_precision import LossScaler
from amp.mxnet.gluon import reduced_gradients

sys.path.insert(0, str(Path(__file__).parent))
from data_parallel_training import train  # noqa: E402


def trained_in_threads(size, **options):
    def rank(comm):
        with distributed.group(comm):
            return train(comm.rank, comm.size, 32 // size, kvstore="dist_sync", **options)

    return distributed.run_local(size, rank)


@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("hybridize", [True, False])
def test_four_ranks_have_the_curve_of_one_with_four_times_the_batch(hybridize, norm):
    losses, weights = train(0, 1, 32, hybridize=hybridize, norm=norm)
    ranks = trained_in_threads(4, hybridize=hybridize, norm=norm)
    np.testing.assert_allclose(np.mean([found[0] for found in ranks], axis=0), losses, rtol=0, atol=1e-5)
    assert losses[-1] < 0.7 * losses[0]
    for _, found in ranks:
        for name, weight in weights.items():
            np.testing.assert_array_equal(found[name], ranks[0][1][name])
            np.testing.assert_allclose(found[name], weight, rtol=0, atol=1e-4)


@pytest.mark.parametrize("norm", [False, True])
def test_mpi_trains_to_the_bits_of_threads(tmp_path, norm):
    program = Path(__file__).parent / "data_parallel_training.py"
    done = mpi_runs.run(4, program, tmp_path, *["norm"] * norm)
    assert done.returncode == 0, done.stderr
    for rank, (losses, weights) in enumerate(trained_in_threads(4, norm=norm)):
        of_mpi = np.load(tmp_path / f"{rank}.npz")
        np.testing.assert_array_equal(of_mpi["losses"], losses)
        for name, weight in weights.items():
            np.testing.assert_array_equal(of_mpi[name], weight)


class Steps:
    """A net of three layers that two ranks train, each on its data; `sent` tells how many buckets were sent when."""

    def __init__(self, comm, hybridize):
        self.comm, self.sent, self.net = comm, [], gluon.nn.HybridSequential()
        self.net.add(*(gluon.nn.Dense(8, activation="tanh", in_units=8, use_bias=False) for _ in range(3)))
        self.net.initialize()
        draws = np.random.default_rng(0)
        for parameter in self.net.collect_params().values():
            parameter.set_data(draws.standard_normal(parameter.shape).astype(np.float32))
        if hybridize:
            self.net.hybridize()
        self.trainer = gluon.Trainer(self.net.collect_params(), "sgd", {"learning_rate": 0.1}, kvstore="mpi")
        submit = self.trainer._reducer._submit
        self.trainer._reducer._submit = lambda gradients: self.sent.append(self.where) or submit(gradients)
        self.draws = np.random.default_rng(comm.rank)

    def backward(self):
        with mx.autograd.record():
            loss = (self.net(mx.nd.array(self.draws.standard_normal((4, 8)).astype(np.float32))) ** 2).sum()
        self.where = "backward"
        loss.backward()
        self.where = "step"

    def weights(self):
        return [parameter.data().asnumpy() for parameter in self.net.collect_params().values()]


def run_steps(hybridize, program, ahead=True):
    """What `program(steps)` returns on two ranks; `ahead=False`: nothing is sent before a step."""

    def rank(comm):
        with distributed.group(comm):
            steps = Steps(comm, hybridize)
            if not ahead:
                steps.trainer._reducer._send_ahead = lambda *_: None
            return program(steps)

    return distributed.run_local(2, rank, timeout=60)


@pytest.fixture
def small_buckets(monkeypatch):
    monkeypatch.setattr(reduced_gradients, "_BUCKET_BYTES", 1)  # one for each parameter


@pytest.mark.parametrize("hybridize", [True, False])
def test_gradients_are_sent_while_backward_goes_on(hybridize, small_buckets):
    def program(steps):
        for _ in range(3):
            steps.backward()
            steps.trainer.step(4)
        return steps.sent, steps.weights()

    expected = run_steps(hybridize, program, ahead=False)
    assert expected[0][0] == ["step"] * 9
    for (sent, weights), (_, others) in zip(run_steps(hybridize, program), expected):
        assert sent == ["step"] * 3 + ["backward"] * 6
        np.testing.assert_array_equal(weights, others)


@pytest.mark.parametrize("hybridize", [True, False])
def test_the_first_buckets_are_sent_before_the_last_gradients_are_known(hybridize, small_buckets):
    def program(steps):
        steps.backward()
        steps.trainer.step(4)
        parameters = list(steps.net.collect_params().values())
        seen, ahead = [], steps.trainer._reducer._ahead
        first = parameters[0].data()._place
        told = first.on_stored
        first.on_stored = lambda: seen.append(len(ahead.sent)) or told()
        steps.backward()
        steps.trainer.step(4)
        return seen

    assert run_steps(hybridize, program) == [[2], [2]]


def clip_on_one_rank(steps):
    steps.backward()
    if steps.comm.rank == 1:
        for parameter in list(steps.net.collect_params().values())[1:]:
            parameter.grad()[:] *= 0.5


def write_by_numpy(steps):
    steps.backward()
    view = np.asarray(next(iter(steps.net.collect_params().values())).grad())
    view *= 2


def go_backward_twice(steps):
    steps.backward()
    if steps.comm.rank == 0:
        steps.backward()


def leave_out_a_layer(steps):
    steps.backward()
    list(steps.net.collect_params().values())[1].grad_req = "null"


def add_up(steps):
    for parameter in steps.net.collect_params().values():
        parameter.grad_req = "add"
    steps.backward()
    steps.backward()


@pytest.mark.parametrize("change", [clip_on_one_rank, write_by_numpy, go_backward_twice, leave_out_a_layer, add_up])
@pytest.mark.parametrize("hybridize", [True, False])
def test_what_happens_between_backward_and_the_step_counts(change, hybridize, small_buckets):
    def program(steps):
        for i in range(4):
            change(steps) if i == 2 else steps.backward()
            steps.trainer.step(4, ignore_stale_grad=True)
        return steps.weights()

    expected = run_steps(hybridize, program, ahead=False)
    np.testing.assert_array_equal(run_steps(hybridize, program), expected)
    assert all(np.isfinite(weight).all() for weight in expected[0])


def test_a_backward_pass_of_one_rank_alone_ends_no_program_late(tmp_path):
    program = tmp_path / "alone.py"
    program.write_text(
        textwrap.dedent(
            """
            import sys
            import amp.mxnet as mx
            from amp import distributed

            comm = distributed.mpi()
            weight = mx.gluon.Parameter("weight", shape=(3000000,), init="ones")
            weight.initialize()
            trainer = mx.gluon.Trainer([weight], "sgd", {"learning_rate": 0.1}, kvstore="mpi")
            for step in range(3):
                if step < 2 or comm.rank == 0:
                    with mx.autograd.record():
                        loss = (weight.data() * 2).sum()
                    loss.backward()
                if step < 2:
                    trainer.step(1)
            assert abs(weight.data()[0].asscalar() - 0.6) < 1e-6
            """
        )
    )
    done = mpi_runs.run(2, program, timeout=60)  # MPI's own timeout is 300 seconds
    assert done.returncode == 0, done.stderr


def test_gradients_are_rounded_where_they_are_added_in_bfloat16():
    def step(comm):
        with distributed.group(comm):
            weight = gluon.Parameter("weight", shape=(1000,), init="zeros")
            weight.initialize()
            trainer = gluon.Trainer([weight], "sgd", {"learning_rate": 1}, kvstore="mpi", weight_grad_reduce="bf16")
            gradient = np.random.default_rng(comm.rank).standard_normal(1000).astype(np.float32)
            with mx.autograd.record():
                loss = (weight.data() * mx.nd.array(gradient)).sum()
            loss.backward()
            trainer.step(1)
            return weight.data().asnumpy(), gradient

    found = distributed.run_local(3, step)
    total = found[0][1].astype(ml_dtypes.bfloat16)
    for _, gradient in found[1:]:
        total = (total.astype(np.float32) + gradient.astype(ml_dtypes.bfloat16).astype(np.float32)).astype(total.dtype)
    for weight, _ in found:
        np.testing.assert_allclose(weight, -total.astype(np.float32) / 3, rtol=1e-6)


def test_parameters_begin_as_on_rank_0_also_where_shapes_come_later():
    def first_values(comm):
        with distributed.group(comm):
            known = gluon.Parameter("known", shape=(3,), init=mx.init.Constant(comm.rank + 1))
            known.initialize()
            layer = gluon.nn.Dense(2, weight_initializer=mx.init.Constant(comm.rank + 5))
            layer.initialize()
            gluon.Trainer([known, *layer.collect_params().values()], "sgd", kvstore="horovod")
            layer(mx.nd.ones((1, 4)))
            return known.data().asnumpy()[0], layer.weight.data().asnumpy()[0, 0]

    assert distributed.run_local(3, first_values) == [(1, 5)] * 3


@pytest.mark.parametrize("many", [True, False])
def test_allreduce_and_update_are_the_halves_of_a_step(many):
    """With parameters in many buckets, too."""

    def step(comm, halves):
        with distributed.group(comm):
            sizes = [(1 << 20) + 1, 3, 1 << 20, 7] if many else [3]
            weights = [gluon.Parameter(f"w{i}", shape=(size,), init="ones") for i, size in enumerate(sizes)]
            for weight in weights:
                weight.initialize()
            trainer = gluon.Trainer(weights, "sgd", {"learning_rate": 1.0}, kvstore="mpi")
            with mx.autograd.record():
                losses = [(weight.data() * (comm.rank + i + 1)).sum() for i, weight in enumerate(weights)]
            mx.autograd.backward(losses)
            if halves:
                trainer.allreduce_grads()
                assert weights[0].grad().asnumpy()[0] == 3
                trainer.update(1)
            else:
                trainer.step(1)
            return [float(weight.data().asnumpy()[-1]) for weight in weights]

    expected = [1 - (2 * i + 3) / 2 for i in range(4 if many else 1)]
    for halves in (True, False):
        assert distributed.run_local(2, lambda comm, halves=halves: step(comm, halves)) == [expected] * 2


def test_a_store_of_ranks():
    def use(comm):
        with distributed.group(comm):
            kv = mx.kv.create("dist_sync")
        kv.init("w", mx.nd.full((2,), comm.rank + 1))
        kv.set_optimizer(mx.optimizer.SGD(learning_rate=0.5))
        kv.push("w", [mx.nd.full((2,), comm.rank), mx.nd.ones((2,))])
        kv.barrier()
        out = mx.nd.zeros((2,))
        kv.pull("w", out=out)
        return kv.rank, kv.num_workers, out.asnumpy().tolist()

    assert distributed.run_local(2, use) == [(rank, 2, [1 - 0.5 * 3] * 2) for rank in range(2)]


def test_a_key_has_arrays():
    with pytest.raises(amp.ArgumentError, match="the key 'w' has no arrays"):
        mx.kv.create("local").push("w", [])


def test_updates_in_the_store():
    def step(comm):
        with distributed.group(comm):
            weight = gluon.Parameter("weight", shape=(2,), init="ones")
            weight.initialize()
            store = mx.kv.create("dist_sync")
            trainer = gluon.Trainer([weight], "sgd", {"learning_rate": 1.0}, store, update_on_kvstore=True)
            with mx.autograd.record():
                loss = (weight.data() * (comm.rank + 1)).sum()
            loss.backward()
            trainer.step(1)
            return weight.data().asnumpy().tolist()

    assert distributed.run_local(2, step) == [[-0.5, -0.5]] * 2


def test_gradients_in_float64_are_added_in_float64():
    def step(comm):
        with distributed.group(comm):
            weight = gluon.Parameter("weight", shape=(1,), init="zeros", dtype="float64")
            weight.initialize()
            trainer = gluon.Trainer([weight], "sgd", {"learning_rate": 1.0}, kvstore="mpi")
            with mx.autograd.record():
                loss = weight.data() * (1 + 2.0 ** -(40 + comm.rank))
            loss.backward()
            trainer.allreduce_grads()
            return weight.grad().asnumpy()[0]

    assert distributed.run_local(2, step) == [2 + 2.0**-40 + 2.0**-41] * 2


@pytest.mark.parametrize("scaled", [True, False])
def test_ranks_update_the_same_parameters_where_they_use_others(scaled):
    def step(comm):
        with distributed.group(comm):
            weights = [gluon.Parameter(f"w{i}", shape=(1,), init="zeros") for i in range(3)]
            for weight in weights:
                weight.initialize()
            trainer = gluon.Trainer(weights, "sgd", {"learning_rate": 1.0}, kvstore="mpi")
            if scaled:
                trainer.set_loss_scaler(LossScaler())
            for _ in range(2):
                with mx.autograd.record():
                    loss = weights[comm.rank].data() * 2.0
                loss.backward()
                trainer.step(1, ignore_stale_grad=True)
            return [float(weight.data().asscalar()) for weight in weights]

    assert distributed.run_local(2, step) == [[-2.0, -2.0, 0.0]] * 2


def test_only_first_values_are_those_of_rank_0():
    def values(comm):
        with distributed.group(comm):
            layer = gluon.nn.Dense(1, use_bias=False, weight_initializer=mx.init.Constant(comm.rank + 1))
            layer.initialize()
            gluon.Trainer(layer.collect_params(), "sgd", kvstore="mpi")
            layer(mx.nd.ones((1, 1)))
            first = float(layer.weight.data().asscalar())
            if comm.rank == 1:  # alone
                layer.initialize(force_reinit=True)
            return first, float(layer.weight.data().asscalar())

    assert distributed.run_local(2, values) == [(1, 1), (1, 2)]


def test_parts_of_an_order():
    parts = [list(gluon.data.SplitSampler(gluon.data.SequentialSampler(11), 3, part)) for part in range(3)]
    assert [len(part) for part in parts] == [3, 3, 3] and sorted(sum(parts, [])) == list(range(9))
    with pytest.raises(amp.ArgumentError, match="part_index: expected 0 to 2, got 3"):
        gluon.data.SplitSampler(11, 3, 3)
    with pytest.raises(amp.ArgumentError, match="part_index: expected 0 to 2, got 0.5"):
        gluon.data.SplitSampler(11, 3, 0.5)
    for parts in (0, 2.5, "2"):
        with pytest.raises(amp.ArgumentError, match="num_parts: expected a number of ranks, got"):
            gluon.data.SplitSampler(11, parts, 0)
    for sampler in (None, 10.5, iter([1, 2])):
        with pytest.raises(amp.ArgumentError, match="sampler: expected a sampler or a length, got"):
            gluon.data.SplitSampler(sampler, 2, 0)


@pytest.mark.parametrize("length", [0, 1, 2, 3, 7])
def test_parts_of_few(length):
    parts = [gluon.data.SplitSampler(length, 3, part) for part in range(3)]
    assert [list(part) for part in parts] == [list(range(part, length // 3 * 3, 3)) for part in range(3)]
    assert [len(part) for part in parts] == [length // 3] * 3


@pytest.mark.parametrize("batch_size", [0, float("nan"), None, "2"])
def test_batch_sizes_that_are_none(batch_size):
    trainer = gluon.Trainer([], "sgd")
    with pytest.raises(amp.ArgumentError, match="batch_size: expected a number above 0"):
        trainer.step(batch_size)
