"""Files of states that MXNet 1.9.1 wrote: a training goes on with them."""

import pickle
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import amp
import amp.mxnet as mx
from amp.mxnet import autograd, gluon, nd

# Written by `Trainer.save_states` of MXNet 1.9.1 after two of four steps. By optimizer: options that the file replaces,
# the dtype, the weights behind two steps and four.
OF_MXNET = {
    "sgd": (
        {"learning_rate": 1.0, "momentum": 0.5, "wd": 0.25, "multi_precision": True},
        "float16",
        [0.25537109375, 0.018798828125, 0.66162109375],
        [0.07379150390625, 0.1817626953125, 0.336181640625],
    ),
    "adam": (
        {"learning_rate": 1.0},
        "float32",
        [0.27552706003189087, -0.02231556922197342, 0.776253342628479],
        [0.05761156231164932, 0.11494188010692596, 0.5761373043060303],
    ),
}
STATES = Path(__file__).parents[2] / "data" / "mxnet_states"


def trainer_of(name):
    options, dtype, middle, _ = OF_MXNET[name]
    weight = gluon.Parameter("w", shape=(3,), dtype=dtype)
    weight.initialize()
    weight.set_data(nd.array(middle, dtype=dtype))
    return weight, gluon.Trainer([weight], name, options)


@pytest.mark.parametrize("name", OF_MXNET)
def test_states_that_mxnet_wrote_go_on(name):
    """With the learning rates, schedules and counts of the file."""
    weight, trainer = trainer_of(name)
    trainer.load_states(str(STATES / f"{name}.states"))
    for x in ([-1, 0.5, 0.75], [1.5, -1, 0.5]):
        x = nd.array(x, dtype=weight.dtype)
        with autograd.record():
            loss = (weight.data() * x) * (weight.data() * x)
        loss.backward()
        trainer.step(1)
    np.testing.assert_allclose(weight.data().asnumpy(), OF_MXNET[name][3], rtol=2e-5)
    assert trainer.learning_rate == (0.0625 if name == "sgd" else 0.125)


@pytest.mark.parametrize(
    "old, new, error",
    [
        (b"NDArray", b"MDArray", None),
        (b"handle", b"hamdle", "hold a NDArray of MXNet where an array is expected"),
        (b"\xc9\xfa\x93\xf9", b"\xc9\xfa\x93\xf8", "a damaged array: byte"),
        (b"\x03SGD", b"\x03SGE", "unknown optimizer 'SGE'"),
        (b"FactorScheduler", b"FactorSchedulex", "the scheduler FactorSchedulex"),
        (b"base_lr", b"base_lx", "the scheduler FactorScheduler of the states gives no rate: .*base_lr"),
        (b"mxnet.ndarray.ndarray", b"mxmet.ndarray.ndarray", "mxmet.ndarray.ndarray.NDArray, which is neither"),
    ],
)
def test_damaged_states_of_mxnet(tmp_path, old, new, error):
    content = (STATES / "sgd.states").read_bytes()
    assert old in content
    (tmp_path / "states").write_bytes(content.replace(old, new))
    weight, trainer = trainer_of("sgd")
    if error is None:  # its name says nothing
        trainer.load_states(str(tmp_path / "states"))
        assert trainer.learning_rate == 0.125
        return
    with pytest.raises(amp.Error, match=error):
        trainer.load_states(str(tmp_path / "states"))
    assert trainer.learning_rate == 1


def test_every_cut_of_states_is_an_error(tmp_path):
    content = (STATES / "sgd.states").read_bytes()
    _, trainer = trainer_of("sgd")
    for length in range(0, len(content), 7):
        (tmp_path / "states").write_bytes(content[:length])
        with pytest.raises(amp.Error):
            trainer.load_states(str(tmp_path / "states"))


def written_by_mxnet(monkeypatch, states, scheduler=None, **attributes):
    """The bytes of states with an optimizer of these attributes, as if MXNet had pickled them."""
    classes = {}
    monkeypatch.setitem(sys.modules, "mxnet", types.SimpleNamespace())
    for module, name in (("mxnet.optimizer", "SGD"), ("mxnet.lr_scheduler", "FactorScheduler")):
        classes[name] = type(name, (), {"__module__": module})
        monkeypatch.setitem(sys.modules, module, types.SimpleNamespace(**{name: classes[name]}))
    optimizer = classes["SGD"]()
    vars(optimizer).update(attributes)
    if scheduler is not None:
        optimizer.lr_scheduler = classes["FactorScheduler"]()
        vars(optimizer.lr_scheduler).update(scheduler)
    return pickle.dumps((states, optimizer))


def test_attributes_of_an_optimizer_are_numbers_that_ours_has(monkeypatch):
    content = written_by_mxnet(monkeypatch, {}, lr=np.float32(0.25), __class__="x", update=3, wd=[b"x"])
    updater = mx.optimizer.Updater(mx.optimizer.Adam())
    updater.set_states(content)
    assert type(updater.optimizer) is mx.optimizer.SGD and updater.optimizer.lr == 0.25
    assert updater.optimizer.wd == 0 and callable(updater.optimizer.update)


@pytest.mark.parametrize("scheduler", [{}, {"base_lr": "abc", "__class__": "x"}, {"base_lr": 0.5, "step": None}])
def test_schedules_that_give_no_rate_are_refused(monkeypatch, scheduler):
    content = written_by_mxnet(monkeypatch, {}, scheduler)
    with pytest.raises(amp.ArgumentError, match="the scheduler FactorScheduler of the states gives no rate"):
        mx.optimizer.Updater(mx.optimizer.SGD()).set_states(content)


def test_states_that_contain_themselves_are_refused(monkeypatch):
    endless = []
    endless.append(endless)
    content = written_by_mxnet(monkeypatch, {0: endless})
    with pytest.raises(amp.ArgumentError, match="nested too deeply"):
        mx.optimizer.Updater(mx.optimizer.SGD()).set_states(content)
