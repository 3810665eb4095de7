"""The model zoo against MXNet's own exports: structure, names, parameters, and that the networks run."""

import json
from pathlib import Path

import numpy as np
import pytest
import zoo_structure
from conftest import MACHINES
from test_networks import FP32_LARGEST
from zoo_structure import digest_of, first_difference, first_differing_part, structure_of

import amp

DATA = Path(__file__).parents[2] / "data"
MXNET_OF_FORM = {"1.x": "1.9.1", "2.0": "2.0.0beta1"}

# zoo/mobilenetv2_1.0 is GluonCV's network, whose first bottleneck does not widen: 414 nodes instead of 422.
SHARED_1_X = """zoo/alexnet zoo/densenet121 zoo/inceptionv3 zoo/mobilenet1.0 zoo/resnet18_v1 zoo/resnet50_v1
zoo/resnet50_v2 zoo/squeezenet1.1 zoo/vgg11_bn zoo/vgg16 mx191/mobilenetv2_0.25""".split()
SHARED_2_0 = ["mx2/resnet18_v1", "mx2/densenet121", "mx2/mobilenetv2_0.25"]

# One small network of each family: the side of an image that is large enough for it, and the bfloat16 error (relative
# rms) that is accepted. Linear bottlenecks with random weights amplify rounding.
SMALL = {
    "alexnet": (64, 0.02),
    "densenet121": (224, 0.02),
    "inceptionv3": (299, 0.02),
    "mobilenet0.25": (64, 0.02),
    "mobilenetv2_0.25": (64, 0.2),
    "resnet18_v1": (64, 0.02),
    "resnet18_v2": (64, 0.03),
    "squeezenet1.1": (224, 0.02),
    "vgg11": (32, 0.02),
}


CLASSES = [name for name in MACHINES if name != "any"]


@pytest.fixture(scope="module")
def digests():
    return json.loads((DATA / "zoo_digests.json").read_text())


def parameters_of(symbol, shape):
    """{name: shape} of all arguments but the input and all auxiliary states."""
    arguments, _, states = symbol.infer_shape(data=shape)
    shapes = {**dict(zip(symbol.list_arguments(), arguments)), **dict(zip(symbol.list_auxiliary_states(), states))}
    del shapes["data"]
    return shapes


# ---- structure ----


def test_all_networks_are_there():
    assert sorted(amp.model_zoo.list_models()) == sorted(zoo_structure.NETWORKS)
    assert len(amp.model_zoo.list_models()) == 34


@pytest.mark.parametrize("form", MXNET_OF_FORM)
@pytest.mark.parametrize("name", zoo_structure.NETWORKS)
def test_structure_is_the_exported_one(name, form, digests):
    actual = digest_of(structure_of(amp.model_zoo.get_model(name, form=form).tojson()))
    difference = first_differing_part(actual, digests[MXNET_OF_FORM[form]][name])
    assert difference is None, f"{difference}; tools/make_zoo_digests.py --exports writes MXNet's symbols"


def check_against_file(path, form):
    """Node by node; a network of 1.x has the prefix that it has in the file."""
    exported = path.read_text()
    prefix = None
    if form == "1.x":
        first_operator = next(node["name"] for node in json.loads(exported)["nodes"] if node["op"] != "null")
        prefix = first_operator.split("_")[0] + "_"
    ours = amp.model_zoo.get_model(path.parent.name, prefix=prefix, form=form)
    difference = first_difference(structure_of(ours.tojson()), structure_of(exported))
    assert difference is None, difference
    return ours


@pytest.mark.parametrize("folder", sorted(path.name for path in (DATA / "golden").iterdir() if path.is_dir()))
def test_golden_networks_node_by_node(folder):
    path = DATA / "golden" / folder / "symbol.json"
    assert check_against_file(path, "1.x").tojson() == amp.sym.load(str(path)).tojson()


@pytest.mark.parametrize("case", SHARED_1_X)
def test_shared_networks_node_by_node(case, shared_dir):
    path = shared_dir / "cases" / case / "symbol.json"
    assert check_against_file(path, "1.x").tojson() == amp.sym.load(str(path)).tojson()


@pytest.mark.parametrize("case", SHARED_2_0)
def test_shared_networks_of_2_0_node_by_node(case, shared_dir):
    check_against_file(shared_dir / "cases" / case / "symbol.json", "2.0")


@pytest.mark.parametrize("name", ["resnet18_v2", "mobilenetv2_0.5"])
def test_operators_of_2_0_are_numbered_from_0(name):
    nodes = json.loads(amp.model_zoo.get_model(name, form="2.0").tojson())["nodes"]
    names = {node["name"] for node in nodes if node["op"] != "null"}
    assert names == {f"node_{i}" for i in range(len(names))}


def test_the_form_of_2_0_is_of_np_mode():
    attrs = json.loads(amp.model_zoo.get_model("alexnet", form="2.0").tojson())["attrs"]
    assert attrs == {"is_np_shape": ["int", 1], "mxnet_version": ["int", 20000]}
    assert "is_np_shape" not in json.loads(amp.model_zoo.get_model("alexnet").tojson())["attrs"]


def test_differences_are_found():
    """The helpers above would be worth little if they saw nothing."""
    ours = structure_of(amp.model_zoo.get_model("resnet18_v1").tojson())
    theirs = json.loads(json.dumps(ours))
    theirs[60][2]["stride"] = "(3, 3)"
    assert first_difference(ours, ours) is None
    assert first_difference(ours, theirs).startswith("node 60 differs")
    assert first_difference(ours, ours[:-1]) == f"expected {len(ours) - 2} nodes, got {len(ours) - 1}"
    assert first_differing_part(digest_of(ours), digest_of(ours)) is None
    assert "in 50..74" in first_differing_part(digest_of(ours), digest_of(theirs))
    assert "after the common ones" in first_differing_part(digest_of(ours), digest_of(ours[:50]))


# ---- arguments of get_model ----


@pytest.mark.parametrize("form", MXNET_OF_FORM)
@pytest.mark.parametrize("name", zoo_structure.NETWORKS)
def test_shapes_infer(name, form):
    size = zoo_structure.IMAGE_SIZES.get(name, 224)
    net = amp.model_zoo.get_model(name, classes=7, form=form)
    assert net.infer_shape(data=(2, 3, size, size))[1] == [(2, 7)]
    assert set(net.infer_type(data="float32")[0]) == {np.float32}


@pytest.mark.parametrize("name", ["resnet18_v1", "mobilenetv2_0.25"])
def test_other_image_sizes(name):
    net = amp.model_zoo.get_model(name, classes=7)
    assert net.infer_shape(data=(2, 3, 96, 64))[1] == [(2, 7)]


def test_names_in_any_case():
    assert amp.model_zoo.get_model("InceptionV3").tojson() == amp.model_zoo.get_model("inceptionv3").tojson()


def test_prefixes():
    assert "mine_conv0_weight" in amp.model_zoo.get_model("vgg11", prefix="mine_").list_arguments()
    assert "conv0_weight" in amp.model_zoo.get_model("vgg11", prefix="").list_arguments()


def test_enclosing_name_scopes_have_no_effect():
    plain = amp.model_zoo.get_model("squeezenet1.0")
    with amp.name.Prefix("outer_"):
        assert amp.model_zoo.get_model("squeezenet1.0").tojson() == plain.tojson()


@pytest.mark.parametrize("name, message", [("resnet51_v1", "resnet50_v1"), ("vgg", "vgg1"), ("x", "there are alexnet")])
def test_unknown_names(name, message):
    with pytest.raises(amp.ArgumentError, match=f"unknown model '{name}'.*{message}"):
        amp.model_zoo.get_model(name)


def test_mistakes():
    with pytest.raises(amp.ArgumentError, match="unknown model None"):
        amp.model_zoo.get_model(None)
    with pytest.raises(amp.ArgumentError, match="unknown form '3.0'; there are '1.x', '2.0'"):
        amp.model_zoo.get_model("alexnet", form="3.0")
    with pytest.raises(amp.ArgumentError, match="prefix 'a_': names have no prefix"):
        amp.model_zoo.get_model("alexnet", prefix="a_", form="2.0")
    for classes in (0, 2.5, "7", True):
        with pytest.raises(amp.ArgumentError, match="classes: expected a positive integer"):
            amp.model_zoo.get_model("alexnet", classes=classes)


# ---- parameters ----


def test_parameter_file_of_1_9_1_fits(shared_dir):
    """Names and shapes are those of a file that MXNet wrote."""
    path = shared_dir / "cases/mx191/mobilenetv2_0.25/export-0000.params"
    stored = {key.split(":", 1)[1]: array.shape for key, array in amp.nd.load(str(path)).items()}
    prefix = next(iter(stored)).split("_")[0] + "_"
    net = amp.model_zoo.get_model("mobilenetv2_0.25", prefix=prefix)
    assert parameters_of(net, (1, 3, 224, 224)) == stored


def test_parameter_file_of_2_0_fits(shared_dir):
    with np.load(shared_dir / "cases/mx2/mobilenetv2_0.25/real_params/export-0000.params") as file:
        stored = {key.split(":", 1)[1]: file[key].shape for key in file.files}
    net = amp.model_zoo.get_model("mobilenetv2_0.25", form="2.0")
    assert parameters_of(net, (1, 3, 224, 224)) == stored


def test_seeded_parameters():
    net = amp.sym.Convolution(amp.sym.Variable("data"), kernel=(3, 3), num_filter=8, name="conv")
    net = amp.sym.BatchNorm(net, fix_gamma=False, name="bn")
    args, aux = amp.model_zoo.seeded_params(net, {"data": (1, 4, 8, 8)}, seed=3)
    again, _ = amp.model_zoo.seeded_params(net, {"data": (5, 4, 8, 8)}, seed=3)
    other, _ = amp.model_zoo.seeded_params(net, {"data": (1, 4, 8, 8)}, seed=4)
    assert set(args) == {"conv_weight", "conv_bias", "bn_gamma", "bn_beta"}
    assert set(aux) == {"bn_moving_mean", "bn_moving_var"}
    np.testing.assert_array_equal(args["conv_weight"].asnumpy(), again["conv_weight"].asnumpy())
    assert not np.array_equal(args["conv_weight"].asnumpy(), other["conv_weight"].asnumpy())
    assert (aux["bn_moving_var"].asnumpy() > 0.5).all()


# ---- execution ----


def image_for(size):
    return np.random.default_rng(5).standard_normal((1, 3, size, size), dtype=np.float32)


def run(net, args, aux, image, dtype, emulate=True, **options):
    reduce = None if dtype == "float32" else {"target_dtype": dtype, "emulate": emulate}
    options = {"num_threads": 1, **options}
    executor = amp.Executor(net, args, aux, {"data": image.shape}, reduce_precision=reduce, **options)
    return executor(image)[0].asnumpy().astype(np.float64)


def relative_rms(found, expected):
    return np.sqrt(np.square(found - expected).mean() / np.square(expected).mean())


@pytest.mark.parametrize("name", SMALL)
def test_one_network_of_each_family_runs(name):
    net = amp.model_zoo.get_model(name, classes=10)
    size, accepted = SMALL[name]
    image = image_for(size)
    args, aux = amp.model_zoo.seeded_params(net, {"data": image.shape})
    exact = run(net, args, aux, image, "float32", machine="any")
    reduced = run(net, args, aux, image, "bfloat16")
    assert exact.shape == reduced.shape == (1, 10)
    assert np.isfinite(exact).all() and exact.std() > 0
    assert 0 < relative_rms(reduced, exact) < accepted  # 0 would mean that nothing was converted


def check_machines_agree(name, image, **options):
    """In float32 and with automatic precision each class gives what plans without own kernels give."""
    net, accepted = amp.model_zoo.get_model(name, classes=10), SMALL[name][1]
    args, aux = amp.model_zoo.seeded_params(net, {"data": image.shape})
    exact = run(net, args, aux, image, "float32", machine="any", **options)
    for machine in CLASSES:
        found = run(net, args, aux, image, "float32", machine=machine, **options)
        assert np.abs(found - exact).max() <= FP32_LARGEST * np.abs(exact).max(), machine
        low = run(net, args, aux, image, "bfloat16", emulate=False, machine=machine, **options)
        assert relative_rms(low, exact) < accepted, machine


@pytest.mark.parametrize("name", SMALL)
def test_machines_agree(name):
    check_machines_agree(name, image_for(SMALL[name][0]))


@pytest.mark.long
@pytest.mark.parametrize("batch, threads", [(3, 1), (16, 2)])
@pytest.mark.parametrize("name", SMALL)
def test_machines_agree_on_batches(name, batch, threads):
    """Whole images in batches, of which more layers are worth an own kernel."""
    size = 299 if name == "inceptionv3" else 224
    image = np.random.default_rng(6).standard_normal((batch, 3, size, size), dtype=np.float32)
    check_machines_agree(name, image, num_threads=threads)


@pytest.mark.parametrize("name", ["resnet18_v2", "mobilenetv2_0.25"])
def test_both_forms_compute_the_same(name):
    image = image_for(224)
    old, new = (amp.model_zoo.get_model(name, classes=10, form=form) for form in MXNET_OF_FORM)
    args, aux = amp.model_zoo.seeded_params(old, {"data": image.shape})
    arguments = dict(zip(old.list_arguments(), new.list_arguments()))
    states = dict(zip(old.list_auxiliary_states(), new.list_auxiliary_states()))
    new_args = {arguments[key]: array for key, array in args.items()}
    new_aux = {states[key]: array for key, array in aux.items()}
    expected = run(old, args, aux, image, "float32")
    np.testing.assert_array_equal(run(new, new_args, new_aux, image, "float32"), expected)
