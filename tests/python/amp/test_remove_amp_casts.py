"""remove_amp_cast=True: a converted model is saved as the float32 model that it was."""

import json

import ml_dtypes
import numpy as np
import pytest
from test_report import Drawer, shared_model, with_parameters

import amp
from amp.mxnet.gluon import SymbolBlock

pytestmark = pytest.mark.usefixtures("any_machine")  # what is converted runs so

X = np.random.default_rng(0).uniform(-1, 1, (2, 3, 6, 6)).astype("f4")


def drawn(seed, kinds=None):
    drawer = Drawer(seed)
    if kinds:
        drawer.kinds = kinds
    symbol = drawer.draw(int(drawer.random.integers(2, 20)))
    return with_parameters(symbol, data=X.shape), drawer.options(symbol)


def through_files(path, model):
    amp.save_checkpoint(path / "net", 0, *model, remove_amp_cast=True)
    return amp.load_checkpoint(path / "net", 0)


def outputs(model):
    return [output.asnumpy() for output in amp.Executor(*model, {"data": X.shape}, backend="reference")(data=X)]


@pytest.mark.parametrize("seed", range(40))
def test_what_had_no_casts_is_the_same_file_again(seed, tmp_path):
    model, options = drawn(seed, "conv conv conv bn relu clip sigmoid pool add concat dropout scalar split".split())
    converted = amp.convert_model(*model, **{**options, "fold_batch_norm": False})
    symbol, args, aux = through_files(tmp_path, converted)
    assert symbol.tojson() == model[0].tojson() == converted[0].tojson(remove_amp_cast=True)
    assert {array.dtype for array in [*args.values(), *aux.values()]} <= {np.dtype("f4")}
    for name, array in args.items():
        low = ml_dtypes.bfloat16 if options["target_dtype"] == "bfloat16" else np.float16
        before = model[1][name].asnumpy()
        expected = before.astype(low).astype("f4") if converted[1][name].dtype != np.float32 else before
        np.testing.assert_array_equal(array.asnumpy(), expected)


@pytest.mark.parametrize("seed", range(40, 80))
def test_what_had_casts_computes_the_same(seed, tmp_path):
    model, options = drawn(seed)
    converted = amp.convert_model(*model, **options)
    plain = through_files(tmp_path, converted)
    names = [name for name in converted[0].list_outputs() if "amp_cast" not in name]
    assert set(names) <= set(plain[0].list_outputs())
    for before, after in zip(outputs(model), outputs(plain)):
        assert after.dtype == before.dtype
        np.testing.assert_allclose(after, before, rtol=0.05, atol=0.05 * np.abs(before.astype("f4")).max() + 1e-6)


def test_folded_models_stay_folded(repository, tmp_path):
    model = amp.load_checkpoint(repository / "examples" / "digits" / "digits", 0)
    plain = through_files(tmp_path, amp.convert_model(*model, cast_params_offline=True, policy="default"))
    assert not any(mark in plain[0].tojson() for mark in ("amp_cast", "__amp_dtype__", "__out_dtype__", "BatchNorm"))
    assert plain[0].list_outputs() == model[0].list_outputs()
    with np.load(repository / "examples/digits/heldout.npz") as stored:
        images = (stored["images"].reshape(-1, 1, 8, 8) / 16).astype("f4")
    found, expected = (amp.Executor(*one, {"data": images.shape})(images)[0].asnumpy() for one in (plain, model))
    assert (found.argmax(1) == expected.argmax(1)).mean() > 0.99
    assert np.abs(found - expected).max() < 0.02 * np.abs(expected).max()


def test_what_is_low_by_itself_stays_so(tmp_path):
    """An input that is bfloat16, and a cast of it, belong to the model: no operator may see two dtypes."""
    data = amp.sym.Variable("data", dtype="bfloat16")
    wide = amp.sym.Cast(data, dtype="float32", name="wide")
    net = amp.sym.FullyConnected(wide, num_hidden=4, name="fc")
    args, aux = amp.model_zoo.seeded_params(net, {"data": X.shape}, seed=1)
    converted = amp.convert_model(net, args, aux, {"data": "bfloat16"}, cast_params_offline=True)
    assert "wide" in converted[0].tojson()
    plain = through_files(tmp_path, converted)
    low = X.astype(ml_dtypes.bfloat16)
    found, expected = (
        amp.Executor(*one, {"data": X.shape}, input_dtypes={"data": "bfloat16"})(low)[0].asnumpy()
        for one in (plain, (net, args, aux))
    )
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=0.02, atol=0.02)


def test_blocks(tmp_path):
    net = amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=4, name="fc")
    args, _ = amp.model_zoo.seeded_params(net, {"data": (2, 3)}, seed=1)
    block = SymbolBlock(net, amp.sym.Variable("data"), args)
    converted = amp.convert_hybrid_block(block, X[0, 0, :2, :3], cast_params_offline=True)
    symbol, params = converted.export(None, remove_amp_cast=True)
    assert symbol.tojson() == net.tojson()
    assert {array.dtype for array in params.values()} == {np.dtype("f4")}
    converted.export(tmp_path / "net", 3, True)
    assert amp.load_checkpoint(tmp_path / "net", 3)[0].tojson() == net.tojson()


@pytest.mark.parametrize(
    "name",
    "det3_bf16 det3_bf16_castopt resnet18_v1_bf16 squeezenet1.1_bf16 squeezenet1.1_bf16_castopt "
    "squeezenet1.1_fp16_castopt resnet18_v1_bf16_mkldnn squeezenet1.1_bf16_mkldnn".split(),
)
def test_files_that_mxnet_converted(shared_dir, name, tmp_path):
    model, dtypes, shapes = shared_model(shared_dir, f"amp191/{name}")
    plain = through_files(tmp_path, model)
    random = np.random.default_rng(1)
    inputs = {key: random.standard_normal(shape).astype("f4") for key, shape in shapes.items()}
    found, expected = (
        [output.asnumpy().astype("f8") for output in amp.Executor(*one, shapes, input_dtypes=dtypes)(**inputs)]
        for one in (plain, model)
    )
    left = [node["name"] for node in json.loads(plain[0].tojson())["nodes"] if node["op"] == "amp_cast"]
    assert all("weight" in name or "bias" in name or "gamma" in name for name in left)  # marked by __dtype__ alone
    for a, b in zip(found, expected):
        assert np.sqrt(((a - b) ** 2).mean()) < 0.03 * np.sqrt((b**2).mean())
