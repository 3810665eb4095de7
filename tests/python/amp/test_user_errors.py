"""What a message says to do, for mistakes that users make first."""

import ml_dtypes
import numpy as np
import pytest

import amp

SHAPE = (1, 3, 8, 12)


def network():
    return amp.sym.Convolution(amp.sym.Variable("data"), num_filter=2, kernel=(3, 3), name="conv1")


def parameters():
    return amp.model_zoo.seeded_params(network(), {"data": SHAPE})


@pytest.fixture(scope="module")
def run():
    return amp.Executor(network(), *parameters(), {"data": SHAPE})


def message(function, *args, kind=amp.ArgumentError, **kwargs):
    """The text of the error that a call raises."""
    with pytest.raises(kind) as error:
        function(*args, **kwargs)
    return str(error.value)


class Picture:
    """As PIL has them: an object that NumPy reads, without methods of arrays."""

    def __init__(self, pixels):
        self._pixels = pixels

    @property
    def __array_interface__(self):
        return self._pixels.__array_interface__


def pixels(*shape, dtype="uint8"):
    return np.random.default_rng(0).integers(0, 255, shape).astype(dtype)


@pytest.mark.parametrize(
    "data, advice",
    [
        (pixels(8, 12, 3), "data.transpose(2, 0, 1)[None].astype('float32')"),
        (pixels(1, 8, 12, 3, dtype="f4"), "data.transpose(0, 3, 1, 2)"),
        (pixels(3, 8, 12, dtype="f4"), "data[None]"),
        (Picture(pixels(8, 12, 3)), "np.asarray(data, 'float32').transpose(2, 0, 1)[None]"),
        (pixels(*SHAPE).tolist(), "np.asarray(data, 'float32')"),
        (pixels(*SHAPE, dtype="f8"), "data.astype('float32')"),
        (pixels(*SHAPE, dtype=ml_dtypes.bfloat16), "data.astype('float32')"),
        (amp.nd.array(pixels(*SHAPE), dtype="int32"), "data.astype('float32')"),
    ],
)
def test_the_advice_helps(run, data, advice):
    """What the message says to write makes the call work."""
    text = message(run, data)
    assert text.count("use ") == 1 and f"use {advice}" in text
    assert run(eval(advice, {"data": data, "np": np}))[0].shape == (1, 2, 6, 10)


@pytest.mark.parametrize("data", [pixels(2, 3, 8, 12, dtype="f4"), pixels(1, 20, 10, 3)])
def test_other_shapes_lead_to_reshape(run, data):
    text = message(run, data)
    (advice,) = [line.strip() for line in text.splitlines() if "executor.reshape(" in line]
    other = eval(advice.partition(" makes ")[0], {"executor": run})
    uses = [line.strip()[len("use ") :] for line in text.splitlines() if line.strip().startswith("use ")]
    assert len(other(*([eval(uses[0], {"data": data, "np": np})] if uses else [data]))) == 1


def test_training_executors_have_no_reshape():
    training = amp.TrainingExecutor(network(), *parameters(), {"data": SHAPE})
    for call in (training, lambda data: training.forward(True, data)):
        text = message(call, pixels(2, 3, 8, 12, dtype="f4"))
        assert "make another executor" in text and "reshape" not in text


@pytest.mark.parametrize("data", [None, "data.npy", b"data"])
def test_no_advice_where_none_helps(run, data):
    text = message(run, data)
    assert "data" in text and "astype" not in text and "reshape" not in text


def test_swapped_bytes_are_told_once(run):
    assert message(run, np.zeros(SHAPE, ">f4")).count("astype") == 1


def test_masks_are_refused(run):
    masked = np.ma.masked_less(np.zeros(SHAPE, "f4"), 1)
    for call in (
        run,
        amp.nd.array,
        lambda array: amp.Executor(network(), {"conv1_weight": array}, {}, {"data": SHAPE}),
    ):
        assert ".filled(" in message(call, masked)
    assert run(masked.filled(0))[0].shape == (1, 2, 6, 10)


def test_unknown_sizes_are_refused(run):
    for kind, size in ((amp.Executor, -1), (amp.TrainingExecutor, -1), (amp.TrainingExecutor, None)):
        text = message(kind, network(), *parameters(), {"data": (size, *SHAPE[1:])})
        assert "'data'" in text and "None is a size" in text
    for size in (None, -1):
        assert "'data'" in message(run.reshape, data=(size, *SHAPE[1:]))


def test_shapes_have_names(run):
    for text in (message(run.reshape, SHAPE), message(amp.Executor, network(), *parameters(), SHAPE)):
        assert "{'data': (1, 3, 8, 12)}" in text


def test_near_names():
    net, params = network(), parameters()
    report = amp.convert_model(net, *params, return_report=True)[3]
    for call in (
        lambda: net.get_internals()["conv1"],
        lambda: net.get_internals()["conv2_output"],
        lambda: amp.convert_model(net, *params, output_dtypes={"conv1": "bfloat16"}),
        lambda: amp.convert_model(net, *params, force={"conv2": "bfloat16"}),
        lambda: report.why("conv9"),
        lambda: report.why("conv1_weigth"),
    ):
        assert "did you mean 'conv1" in message(call)
    assert "did you mean 'avx512_core'" in message(amp.convert_model, net, *params, machine="avx512_cor")


def test_names_of_the_package():
    assert "dir(amp)" in message(lambda: amp.foo, kind=AttributeError)
    assert "did you mean 'Executor'" in message(lambda: amp.Executer, kind=AttributeError)
    for option in ({"pretrained": True}, {"ctx": None}):
        assert "seeded_params" in message(amp.model_zoo.get_model, "resnet18_v1", **option)


def test_unknown_operators_have_neighbours():
    text = network().tojson()
    wrong = message(amp.sym.load_json, text.replace('"Convolution"', '"Convolutoin"'), kind=amp.UnsupportedError)
    assert "did you mean 'Convolution'" in wrong and "CustomOp" in wrong
    assert "CustomOp" in message(amp.sym.load_json, text.replace("Convolution", "MyPool"), kind=amp.UnsupportedError)


@pytest.mark.parametrize(
    "content, words",
    [
        (None, ["there is no file", "amp calibrate"]),
        ("{}", ["no machine file", "amp calibrate"]),
        ("[1]", ["no machine file"]),
        ('{"format": "amp-machine", "version": 99}', ["version"]),
        ("{", ["parse error"]),
        ('{"format": "amp-machine", "version": 2}', ["not found"]),
    ],
)
def test_machine_files(tmp_path, content, words):
    path = tmp_path / "machine.json"
    if content is not None:
        path.write_text(content)
    text = message(amp.Executor, network(), *parameters(), {"data": SHAPE}, machine=path)
    assert str(path) in text and "json.exception" not in text and all(word in text for word in words)


FOREIGN = {
    "git-lfs": b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 102400\n",
    "ONNX": b"\x08\x07\x12\x07pytorch\x1a\x051.7.0:\xd9\x01\n",
    "web page": b"<!DOCTYPE html>\n<html><head><title>404</title>",
    "HDF5": b"\x89HDF\r\n\x1a\n" + bytes(64),
    "pickle": b"\x80\x02}q\x00(X\x05\x00\x00\x00epochq\x01K\x01u.",
}


@pytest.mark.parametrize("word", FOREIGN)
def test_files_of_others_are_named(tmp_path, word):
    net, foreign = tmp_path / "net.json", tmp_path / "other"
    net.write_text(network().tojson())
    foreign.write_bytes(FOREIGN[word])
    word = "Git LFS" if word == "git-lfs" else word
    for call in (lambda: amp.load(net, foreign), lambda: amp.load(foreign, foreign), lambda: amp.nd.load(foreign)):
        text = message(call, kind=amp.GraphError)
        assert str(foreign) in text and word in text


def test_files_that_are_swapped_are_named(tmp_path):
    amp.save_checkpoint(tmp_path / "m", 0, network(), *parameters())
    symbol, params = tmp_path / "m-symbol.json", tmp_path / "m-0000.params"
    assert "parameter file" in message(amp.load, params, symbol, kind=amp.GraphError)
    assert "JSON" in message(amp.load, symbol, symbol, kind=amp.GraphError)


def test_parameters_of_another_model(tmp_path):
    args, aux = parameters()
    others = {f"other{i}_weight": np.ones(2, "f4") for i in range(5)}
    amp.save_checkpoint(tmp_path / "m", 0, network(), {**others, "conv1_weight": args["conv1_weight"]}, aux)
    for call in (
        lambda: amp.load_checkpoint(tmp_path / "m", 0),
        lambda: amp.load(tmp_path / "m-symbol.json", tmp_path / "m-0000.params"),
    ):
        text = message(call, kind=amp.GraphError)
        assert "5 of its 6 arrays: other0_weight, other1_weight, other2_weight and 2 more" in text
        assert "m-0000.params" in text and "another model" in text


def test_mxnets_surface_reads_them_all_the_same(tmp_path):
    import amp.mxnet as mx

    args, aux = parameters()
    amp.save_checkpoint(tmp_path / "m", 0, network(), {**args, "strange": np.ones(2, "f4")}, aux)
    prefix = str(tmp_path / "m")
    assert "strange" in mx.model.load_checkpoint(prefix, 0)[1]
    assert "strange" in mx.mod.Module.load(prefix, 0, label_names=None)._arg_params


def test_states_are_arrays_that_a_symbol_has(tmp_path):
    net = amp.sym.BatchNorm(network(), name="bn")
    args, aux = amp.model_zoo.seeded_params(net, {"data": SHAPE})
    amp.save_checkpoint(tmp_path / "m", 0, net, args, aux)
    assert set(amp.load_checkpoint(tmp_path / "m", 0)[2]) == set(aux)
    assert amp.Executor(*amp.load_checkpoint(tmp_path / "m", 0), {"data": SHAPE}).output_shapes == [(1, 2, 6, 10)]
