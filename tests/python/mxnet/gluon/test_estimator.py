"""gluon.contrib.estimator: loops, handlers, checkpoints and how a killed training goes on."""

import csv
import os
import random
import re
import resource
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
import resumable_training

import amp
import amp.mxnet as mx
from amp.mxnet import gluon
from amp.mxnet.gluon import nn
from amp.mxnet.gluon.contrib import estimator as estimators

SCRIPT = Path(resumable_training.__file__)


def loader(rows=32, columns=5, batch_size=8):
    x = np.random.default_rng(0).standard_normal((rows, columns)).astype("float32")
    return gluon.data.DataLoader(gluon.data.ArrayDataset(x, (x[:, 0] > 0).astype("float32")), batch_size)


def make(net=None, loss=None, **options):
    """A quiet estimator of a small classifier."""
    if net is None:
        net = nn.HybridSequential()
        net.add(nn.Dense(4, activation="tanh", in_units=5), nn.Dense(2, in_units=4))
    net.initialize(mx.init.Xavier())
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    found = estimators.Estimator(net, loss or gluon.loss.SoftmaxCrossEntropyLoss(), trainer=trainer, **options)
    found.logger.setLevel("ERROR")
    return found


class Recorder(
    estimators.TrainBegin,
    estimators.TrainEnd,
    estimators.EpochBegin,
    estimators.EpochEnd,
    estimators.BatchBegin,
    estimators.BatchEnd,
):
    """Notes what happens, and stops when it is told."""

    def __init__(self, stop_at_batch=None, stop_at_epoch=None):
        self.seen, self.stops = [], {"batch_end": stop_at_batch, "epoch_end": stop_at_epoch}

    def _note(self, event):
        self.seen.append(event)
        return self.seen.count(event) == self.stops.get(event)

    def train_begin(self, estimator, *args, **kwargs):
        self._note("train_begin")

    def train_end(self, estimator, *args, **kwargs):
        self._note("train_end")

    def epoch_begin(self, estimator, *args, **kwargs):
        self._note("epoch_begin")

    def epoch_end(self, estimator, *args, **kwargs):
        return self._note("epoch_end")

    def batch_begin(self, estimator, *args, **kwargs):
        assert kwargs["batch"][0].shape[1] == 5
        self._note("batch_begin")

    def batch_end(self, estimator, *args, **kwargs):
        assert [len(kwargs[name]) for name in ("pred", "label", "loss")] == [1, 1, 1]
        return self._note("batch_end")


# ---- loops ----


def test_events_in_their_order():
    recorder = Recorder()
    make().fit(loader(), epochs=2, event_handlers=recorder)
    epoch = ["epoch_begin", *["batch_begin", "batch_end"] * 4, "epoch_end"]
    assert recorder.seen == ["train_begin", *epoch * 2, "train_end"]


def test_batches_end_in_the_middle_of_an_epoch():
    recorder = Recorder()
    make().fit(loader(), batches=6, event_handlers=[recorder])
    assert recorder.seen.count("batch_end") == 6 and recorder.seen[-2:] == ["epoch_end", "train_end"]


def test_handlers_stop_a_training():
    recorder = Recorder(stop_at_batch=2)
    make().fit(loader(), epochs=3, event_handlers=[recorder])
    assert recorder.seen.count("batch_end") == 2 + 4 + 4  # MXNet's: a batch ends its epoch
    recorder = Recorder(stop_at_epoch=2)
    make().fit(loader(), epochs=5, event_handlers=[recorder])
    assert recorder.seen.count("epoch_end") == 2


def test_training_learns_and_equals_a_loop_by_hand():
    mx.random.seed(1)
    found = make()
    mx.random.seed(1)
    net = make().net
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    for _ in range(3):
        for x, y in loader():
            with mx.autograd.record():
                value = loss(net(x), y)
            value.backward()
            trainer.step(len(x))
    found.fit(loader(), epochs=3)
    for mine, theirs in zip(found.net.collect_params().values(), net.collect_params().values()):
        assert np.array_equal(mine.data().asnumpy(), theirs.data().asnumpy())
    found.fit(loader(), epochs=30)
    name, value = found.train_metrics[0].get()
    assert name == "training accuracy" and value > 0.9
    assert [metric.name for metric in found.val_metrics] == [
        "validation accuracy",
        "validation softmaxcrossentropyloss",
    ]


def test_validation():
    class Counting(estimators.BatchProcessor):
        evaluated = 0

        def evaluate_batch(self, estimator, val_batch, batch_axis=0):
            Counting.evaluated += 1
            assert not mx.autograd.is_training()
            return super().evaluate_batch(estimator, val_batch, batch_axis)

    found = make(batch_processor=Counting(), val_loss=gluon.loss.SoftmaxCELoss(weight=2))
    found.fit(loader(), val_data=loader(16), epochs=2)
    assert Counting.evaluated == 2 * 2
    found.evaluate(loader())
    with mx.autograd.predict_mode():
        x, y = next(iter(loader(batch_size=32)))
        expected = 2 * found.loss(found.net(x), y).mean().asscalar()
    assert found.val_metrics[1].get()[1] == pytest.approx(expected, rel=1e-5)
    Counting.evaluated = 0
    handler = estimators.ValidationHandler(loader(16), found.evaluate, epoch_period=None, batch_period=3)
    found.fit(loader(), val_data=loader(), epochs=3, event_handlers=[handler])
    assert Counting.evaluated == 2 * (12 // 3)


def test_what_a_network_and_its_validation_share():
    found = make()
    other = nn.HybridSequential()
    other.add(nn.Dense(4, activation="tanh"), nn.Dense(2))
    other.share_parameters(found.net.collect_params())
    found.val_net = other
    found.fit(loader(), val_data=loader(), epochs=1)
    assert 0 < found.val_metrics[1].get()[1] < 5


def test_order_and_defaults_of_handlers():
    found = make()
    early = estimators.EarlyStoppingHandler(found.val_metrics[0])
    checkpoints = estimators.CheckpointHandler
    handlers = found._prepare_default_handlers(loader(), [early])
    kinds = "GradientUpdateHandler MetricHandler ValidationHandler EarlyStoppingHandler StoppingHandler LoggingHandler"
    assert [type(handler).__name__ for handler in handlers] == kinds.split()
    given = [estimators.LoggingHandler(), estimators.MetricHandler(found.train_metrics, priority=7)]
    kinds = [type(handler) for handler in found._prepare_default_handlers(None, given)]
    assert kinds.count(estimators.MetricHandler) == 1 and kinds[2] is estimators.MetricHandler
    assert checkpoints.continued == ("best",)


def test_default_trainer_and_initializer():
    net = nn.Dense(2)
    with pytest.warns(UserWarning, match="No trainer specified"):
        found = estimators.Estimator(net, gluon.loss.L2Loss(), context=mx.cpu())
    assert found.trainer.learning_rate == 0.001 and found.context == [mx.cpu()]
    with pytest.warns(UserWarning, match="Network already fully initialized"):
        estimators.Estimator(net, gluon.loss.L2Loss(), initializer=mx.init.One(), trainer=found.trainer)
    net = nn.Dense(2, in_units=2)
    estimators.Estimator(net, gluon.loss.L2Loss(), initializer=mx.init.One(), trainer=found.trainer, device=[mx.cpu()])
    assert net.weight.data().asnumpy().tolist() == [[1, 1], [1, 1]]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"loss": "mse"}, "loss: expected a gluon.loss.Loss, got str"),
        ({"val_loss": "mse"}, "val_loss: expected a gluon.loss.Loss"),
        ({"train_metrics": "acc"}, "metrics: expected an EvalMetric"),
        ({"context": "cpu"}, "context: expected a Context"),
        ({"batch_processor": object()}, "batch_processor: expected an object with fit_batch"),
        ({"trainer": "sgd"}, "trainer: expected a gluon.Trainer, got str"),
    ],
)
def test_mistakes_of_an_estimator(options, message):
    with pytest.raises(amp.ArgumentError, match=message):
        estimators.Estimator(nn.Dense(2), **{"loss": gluon.loss.L2Loss(), "trainer": some_trainer(), **options})


def some_trainer():
    return gluon.Trainer([], "sgd")


def test_mistakes_of_a_call():
    found = make()
    with pytest.raises(amp.ArgumentError, match="train_data: expected a gluon.data.DataLoader, got list"):
        found.fit([1], epochs=1)
    with pytest.raises(amp.ArgumentError, match="val_data: expected a gluon.data.DataLoader"):
        found.evaluate(mx.io.NDArrayIter(np.ones((4, 2)), batch_size=2))
    for given in ({}, {"epochs": 1, "batches": 1}):
        with pytest.raises(amp.ArgumentError, match="either how many epochs or how many batches"):
            found.fit(loader(), **given)
    with pytest.raises(amp.ArgumentError, match="expected an EventHandler"):
        found.fit(loader(), epochs=1, event_handlers=[print])
    foreign = estimators.LoggingHandler(metrics=[mx.metric.RMSE("other")])
    with pytest.raises(amp.ArgumentError, match="LoggingHandler: 'other' is none of the estimator's metrics"):
        found.fit(loader(), epochs=1, event_handlers=[foreign])
    with pytest.raises(amp.ArgumentError, match="expected one metric"):
        estimators.EarlyStoppingHandler(mx.metric.CompositeEvalMetric())
    with pytest.raises(amp.ArgumentError, match="log_interval"):
        estimators.LoggingHandler(log_interval="batch")


# ---- handlers ----


def test_early_stopping():
    metric = mx.metric.Loss()
    found = make(train_metrics=metric)
    handler = estimators.EarlyStoppingHandler(metric, patience=2, min_delta=100)
    found.fit(loader(), epochs=20, event_handlers=[handler])
    assert handler.monitor_op is np.less and handler.stopped_epoch == 2 and handler.current_epoch == 3
    by_accuracy = estimators.EarlyStoppingHandler(mx.metric.Accuracy())
    assert by_accuracy.monitor_op is np.greater
    with pytest.warns(UserWarning, match="nothing updates accuracy"):
        found.fit(loader(), epochs=1, event_handlers=[by_accuracy])
    with pytest.warns(RuntimeWarning, match="expected 'auto', 'min' or 'max', got 'least'"):
        estimators.EarlyStoppingHandler(metric, mode="least")


def test_logs(capsys):
    found = make()
    found.logger.setLevel("INFO")
    handler = estimators.LoggingHandler(log_interval=2, metrics=found.train_metrics)
    found.logger.handlers[0].setStream(sys.stdout)
    found.fit(loader(), epochs=2, event_handlers=[handler])
    printed = capsys.readouterr().out
    pattern = r"\[Epoch (\d)\]\[Batch (\d)\]\[Samples (\d+)\] time/interval: [\d.]+s training accuracy: [\d.]+"
    assert re.findall(pattern, printed) == [("0", "0", "8"), ("0", "2", "24"), ("1", "0", "40"), ("1", "2", "56")]
    assert "[Epoch 1] finished in" in printed and "Training ended" in printed


class Poison(estimators.BatchBegin):
    """Makes the data of one batch useless."""

    def __init__(self, at):
        self.at, self.count = at, 0

    def batch_begin(self, estimator, *args, **kwargs):
        self.count += 1
        if self.count == self.at:
            kwargs["batch"][0][:] = np.nan


def test_a_loss_that_is_not_finite_is_an_error_on_request(tmp_path):
    found = make()
    checkpoints = estimators.CheckpointHandler(tmp_path, batch_period=1)
    handlers = [Poison(at=6), estimators.FiniteLossHandler(), checkpoints]
    with pytest.raises(amp.ArgumentError, match="the loss is not finite in epoch 1, batch 1; the parameters were kept"):
        found.fit(loader(), epochs=2, event_handlers=handlers)
    last = amp.nd.load(str(tmp_path / f"{checkpoints.saved_checkpoints[-1]}.params"))
    for name, parameter in found.net._collect("").items():
        assert np.isfinite(parameter.data().asnumpy()).all()
        assert np.array_equal(last[name].asnumpy(), parameter.data().asnumpy())


def test_a_loss_that_is_not_finite_is_warned_of_once(caplog):
    found = make()
    found.logger.addHandler(caplog.handler)
    found.logger.setLevel("WARNING")
    found.fit(loader(), epochs=2, event_handlers=[Poison(at=2)])
    assert caplog.text.count("the loss is not finite in epoch 0, batch 1") == 1 == len(caplog.records)


def test_curves_as_tables(tmp_path):
    found = make()
    path = tmp_path / "curves.csv"
    found.fit(loader(), val_data=loader(), epochs=2, event_handlers=[estimators.CSVHandler(path, batch_period=3)])
    rows = list(csv.DictReader(path.open()))
    assert [(row["epoch"], row["batch"]) for row in rows] == [("0", "3"), ("0", "4"), ("1", "6"), ("1", "8")]
    assert float(rows[-1]["training accuracy"]) == found.train_metrics[0].get()[1]
    assert set(rows[0]) == {"epoch", "batch", *(m.name for m in [*found.train_metrics, *found.val_metrics])}


def events_of(folder):
    """{name: [(step, value)]} of TensorBoard's files."""
    from tensorboardX.proto.event_pb2 import Event

    found = {}
    for path in sorted(Path(folder).glob("events*")):
        content = path.read_bytes()
        while content:
            size = int.from_bytes(content[:8], "little")
            event = Event.FromString(content[12 : 12 + size])
            content = content[16 + size :]
            for value in event.summary.value:
                found.setdefault(value.tag, []).append((event.step, value.simple_value))
    return found


def test_curves_for_tensorboard(tmp_path):
    pytest.importorskip("tensorboardX")
    found = make()
    found.fit(loader(), epochs=2, event_handlers=[estimators.TensorBoardHandler(tmp_path / "logs")])
    curves = events_of(tmp_path / "logs")
    name, value = found.train_metrics[0].get()
    assert [step for step, _ in curves[name.replace(" ", "_")]] == [4, 8]
    assert curves[name.replace(" ", "_")][-1][1] == pytest.approx(value)


def test_callbacks_for_tensorboard(tmp_path):
    pytest.importorskip("tensorboardX")
    log = mx.contrib.tensorboard.LogMetricsCallback(tmp_path / "logs", prefix="train")
    metric = mx.metric.Accuracy()
    metric.update([mx.nd.array([0, 1])], [mx.nd.array([[1, 0], [1, 0]])])
    for epoch in range(2):
        log(mx.callback.BatchEndParam(epoch, 0, metric, {}))
    log(mx.callback.BatchEndParam(3, 0, None, {}))
    log.close()
    assert events_of(tmp_path / "logs")["train-accuracy"] == [(0, 0.5), (1, 0.5)]


def test_packages_that_are_not_installed(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    monkeypatch.setitem(sys.modules, "tqdm", None)
    found = make()
    with pytest.raises(amp.UnsupportedError, match="pip install tensorboardX"):
        estimators.TensorBoardHandler(tmp_path / "logs")
    found.fit(loader(), epochs=1, event_handlers=[estimators.ProgressBarHandler()])


def test_progress_bars(monkeypatch):
    class Bar:
        def __init__(self, **options):
            made.append(self)
            self.options, self.count = options, 0

        def set_postfix(self, values, refresh):
            self.values = values

        def update(self):
            self.count += 1

        def close(self):
            self.closed = True

    made = []
    monkeypatch.setitem(sys.modules, "tqdm", type("tqdm", (), {"tqdm": Bar}))
    make().fit(loader(), epochs=2, event_handlers=[estimators.ProgressBarHandler(total=4)])
    assert [bar.count for bar in made] == [4, 4] and all(bar.closed for bar in made)
    assert made[1].options == {"total": 4, "desc": "epoch 1", "initial": 0, "disable": None}
    assert "training accuracy" in made[0].values


# ---- checkpoints ----


def test_names_and_number_of_checkpoints(tmp_path):
    found = make()
    found.net.hybridize()
    handler = estimators.CheckpointHandler(tmp_path, "by_batch", epoch_period=None, batch_period=2, max_checkpoints=2)
    found.fit(loader(), batches=10, event_handlers=[handler])
    assert handler.current_batch == 10 and handler.current_epoch == 3
    names = {"epoch1batch7", "epoch2batch9"}
    expected = {f"by_batch-{name}{end}" for name in names for end in (".params", ".states")}
    assert set(os.listdir(tmp_path)) == {*expected, "by_batch-symbol.json"}
    symbol = amp.sym.load(str(tmp_path / "by_batch-symbol.json"))
    assert set(symbol.list_arguments()) == {"data", *found.net.collect_params()}
    x = mx.nd.ones((1, 5))
    expected = found.net(x).asnumpy()
    found.net.initialize(force_reinit=True)
    found.net.load_parameters(str(tmp_path / "by_batch-epoch2batch9.params"))
    np.testing.assert_allclose(found.net(x).asnumpy(), expected, rtol=1e-5)


def test_the_best_checkpoint(tmp_path):
    found = make()
    handler = estimators.CheckpointHandler(
        tmp_path, monitor=found.train_metrics[1], save_best=True, max_checkpoints=1, verbose=1
    )
    assert handler.monitor_op is np.less
    found.fit(loader(), epochs=3, event_handlers=[handler])
    assert handler.best == found.train_metrics[1].get()[1]
    files = {f"model-{name}{end}" for name in ("best", "epoch2batch12") for end in (".params", ".states")}
    assert set(os.listdir(tmp_path)) == files


def test_resumed_trainings_count_from_the_begin(tmp_path):
    found = make()
    options = {"max_checkpoints": 1, "resume_from_checkpoint": True}
    found.fit(loader(), epochs=2, event_handlers=[estimators.CheckpointHandler(tmp_path, **options)])
    (tmp_path / "model-epoch9batch99.params.tmp-0a1b").write_text("of a run that was killed")
    (tmp_path / "model-epoch9batch99.states").write_text("of a checkpoint that was not finished")
    found.fit(loader(), epochs=5, event_handlers=[estimators.CheckpointHandler(tmp_path, **options)])
    assert found.max_epoch == 3 and found.progress.epoch == 5
    assert (tmp_path / "model-epoch4batch20.states").exists() and not list(tmp_path.glob("*.tmp-*"))
    with pytest.raises(amp.ArgumentError, match="epochs: the last checkpoint has 5 of 5 already"):
        found.fit(loader(), epochs=5, event_handlers=[estimators.CheckpointHandler(tmp_path, **options)])


def test_checkpoints_without_a_place_are_of_whole_epochs(tmp_path):
    """As MXNet writes them."""
    found = make()
    found.fit(loader(), epochs=1)
    found.net.save_parameters(str(tmp_path / "model-epoch0batch4.params"))
    found.trainer.save_states(str(tmp_path / "model-epoch0batch4.states"))
    handler = estimators.CheckpointHandler(tmp_path, resume_from_checkpoint=True)
    found.fit(loader(), epochs=3, event_handlers=[handler])
    assert found.max_epoch == 2 and (tmp_path / "model-epoch2batch12.params").exists()


def bits(path):
    return {name: array.asnumpy().tobytes() for name, array in amp.nd.load(str(path)).items()}


def start(folder, result, *options):
    environment = {**os.environ, "PYTHONPATH": str(SCRIPT.parent)}
    return subprocess.Popen([sys.executable, SCRIPT, folder, result, *map(str, options)], env=environment)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """(bits of the parameters, the curves) of a training by checkpoints in the middle of epochs."""
    folder = tmp_path_factory.mktemp("uninterrupted")
    net, _ = resumable_training.train(folder, 0, 3)
    net.save_parameters(str(folder / "result"))
    return bits(folder / "result"), (folder / "curves.csv").read_text()


@pytest.mark.parametrize("periods", [(0, 3), (1, 2)])
def test_a_training_that_is_killed_and_resumed_has_the_same_bits(uninterrupted, periods, tmp_path):
    """Killed three times, a little after a checkpoint was written."""
    folder, result, rng = tmp_path / "run", tmp_path / "result", random.Random(sum(periods))
    folder.mkdir()
    for _ in range(3):
        before = set(folder.glob("*.params"))
        process, deadline = start(folder, result, *periods, 8), time.monotonic() + 120
        while set(folder.glob("*.params")) <= before:
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.1))
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert start(folder, result, *periods).wait() == 0
    assert bits(result) == uninterrupted[0]
    assert (folder / "curves.csv").read_text() == uninterrupted[1]


def test_a_stop_in_an_epoch_and_more_batches_have_the_bits_of_one_run(tmp_path):
    def run(folder, *limits):
        for batches in limits:
            mx.random.seed(1)
            np.random.seed(1)  # the order of samples
            found = make()
            handler = estimators.CheckpointHandler(
                folder, epoch_period=None, batch_period=3, resume_from_checkpoint=True
            )
            data = gluon.data.DataLoader(loader()._dataset, 8, shuffle=True)
            found.fit(data, batches=batches, event_handlers=[handler])
        return {name: parameter.data().asnumpy().tobytes() for name, parameter in found.net._collect("").items()}

    assert run(tmp_path / "once", 15) == run(tmp_path / "twice", 6, 12, 15)


def test_a_full_disk_leaves_the_last_checkpoint(tmp_path):
    """The limit of a file's size stands for a disk that is full."""
    found = make(net=nn.Dense(2, in_units=5))
    handler = estimators.CheckpointHandler(tmp_path, batch_period=1, epoch_period=None)
    found.fit(loader(), batches=1, event_handlers=[handler])
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(amp.ArgumentError, match="cannot write '.*model-epoch0batch0.states': File too large"):
            found.fit(loader(), batches=1, event_handlers=[handler])
        with pytest.raises(amp.Error, match="File too large"):
            found.net.save_parameters(str(tmp_path / "model-epoch0batch0.params"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_states_of_trainers_keep_random_numbers(tmp_path):
    found = make()
    path = str(tmp_path / "trainer.states")
    found.trainer.save_states(path)
    first = mx.nd.random.uniform(shape=(3,)).asnumpy(), np.random.random(3), random.random()
    with mx.autograd.train_mode():
        dropped = mx.nd.Dropout(mx.nd.ones((50,))).asnumpy()
    found.trainer.load_states(path)
    assert np.array_equal(mx.nd.random.uniform(shape=(3,)).asnumpy(), first[0])
    assert np.array_equal(np.random.random(3), first[1]) and random.random() == first[2]
    with mx.autograd.train_mode():
        assert np.array_equal(mx.nd.Dropout(mx.nd.ones((50,))).asnumpy(), dropped)


def test_states_without_random_numbers(tmp_path):
    """Older ones, and MXNet's."""
    found = make()
    path = tmp_path / "trainer.states"
    path.write_bytes(found.trainer._updater.get_states(dump_optimizer=True))
    state = mx.random.get_state()
    found.trainer.load_states(path)
    assert mx.random.get_state() == state
    found.trainer.save_states(path)
    found.trainer._updater.set_states(path.read_bytes())  # what does not know of them reads the states alone
    path.write_bytes(path.read_bytes()[10:])
    with pytest.raises(amp.ArgumentError):
        found.trainer.load_states(path)


def test_mistakes_of_random_states():
    for state in (None, {}, {**mx.random.get_state(), "numpy": 3}):
        with pytest.raises(amp.ArgumentError, match="set_state: expected what get_state gave"):
            mx.random.set_state(state)


def test_warnings_are_not_needed():
    """A whole training, without one."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make().fit(loader(), val_data=loader(), epochs=1)
