"""The seeded generator yields the recorded bits, and every golden case verifies."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import seeded

GOLDEN = Path(__file__).resolve().parents[2] / "data" / "golden"
MODELS = [
    "densenet121",
    "inceptionv3",
    "mobilenetv2_0.25",
    "resnet18_v1",
    "squeezenet1.1",
    "vgg11_bn",
]


def bits(array: np.ndarray) -> list[int]:
    """The float32 elements of an array as the integers with the same 32 bits."""
    assert array.dtype == np.float32
    return array.reshape(-1).view(np.uint32).tolist()


def test_hash_is_splitmix64():
    # The first outputs of SplitMix64 for the state 0, as published.
    expected = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert seeded._hash_range(0, 0, 3).tolist() == expected
    assert seeded._hash_range(0, 2, 1).tolist() == expected[2:]


@pytest.mark.parametrize(
    ("name", "shape", "expected"),
    [
        ("conv0_weight", (2, 2, 1, 1), [0x3E7AE1E8, 0xBE7AE1E8, 0x3FDBEC85, 0xBFDBEC85]),
        ("bn0_gamma", (4,), [0x3F405EDA, 0x3F409D3A, 0x3F50A7F6, 0x3F5D9129]),
        ("bn0_running_var", (4,), [0x3F477AE1, 0x3F40AF41, 0x3F1C2952, 0x3FAC8876]),
        ("dense0_bias", (4,), [0xBD79B8C3, 0x3D3387AA, 0x3D873992, 0xBC9135B3]),
    ],
)
def test_parameter_bits(name, shape, expected):
    values = seeded.seeded_array(name, shape)
    assert values.shape == shape
    assert bits(values) == expected


def test_input_bits():
    assert bits(seeded.seeded_input("data", (4,))) == [
        0xBF336152,
        0x3F67CCDF,
        0x3DE10725,
        0x3FA60754,
    ]
    # Columns 14 .. 17 of an image row: two of the first block, two of the second.
    image = seeded.seeded_input("data", (1, 1, 1, 18))
    assert image.shape == (1, 1, 1, 18)
    assert bits(image[..., 14:]) == [0xBF28A286, 0xBFD0FDDB, 0x3EB2B6B4, 0xBCD0952C]


def test_bits_of_an_array_longer_than_a_chunk():
    values = seeded.seeded_array("big_weight", (3, seeded._CHUNK + 5))
    digest = "24a6863fbd28fe5cb521f477a1eedd24f2ded3a5c824cab49b95fd55bcde9bfa"
    assert seeded.sha256_of([values]) == digest


def test_distributions():
    weight = seeded.seeded_array("layer_weight", (64, 32, 3, 3))
    assert weight.var() == pytest.approx(2 / (32 * 9), rel=0.05)
    assert np.array_equal(weight[:, 1::2], -weight[:, 0::2])
    gamma = seeded.seeded_array("layer_gamma", (4096,), gamma=(0.5, 1.0))
    assert 0.5 <= gamma.min() < 0.51 and 0.99 < gamma.max() <= 1.0
    image = seeded.seeded_input("data", (8, 3, 128, 128))
    assert abs(image.mean()) < 0.05
    assert image.var() == pytest.approx(1.0, rel=0.1)


def test_name_and_seed_select_the_stream():
    first = seeded.seeded_array("a_bias", (16,))
    assert np.array_equal(first, seeded.seeded_array("a_bias", (16,)))
    assert not np.array_equal(first, seeded.seeded_array("b_bias", (16,)))
    assert not np.array_equal(first, seeded.seeded_array("a_bias", (16,), seed=8))


def test_unknown_parameter_kind_is_refused():
    with pytest.raises(ValueError, match="no range is defined for the parameter 'layer_scale'"):
        seeded.seeded_array("layer_scale", (4,))


def test_all_golden_folders_are_listed():
    assert sorted(path.name for path in GOLDEN.iterdir() if path.is_dir()) == MODELS


@pytest.mark.parametrize("model", MODELS)
def test_golden_case_verifies(model):
    golden = seeded.load_golden(GOLDEN / model)
    case = json.loads((GOLDEN / model / "case.json").read_text(encoding="utf-8"))
    assert golden.name == model
    assert {key: list(value.shape) for key, value in golden.params.items()} == case["params"]
    assert {key: list(value.shape) for key, value in golden.inputs.items()} == case["inputs"]
    for output, recorded in zip(golden.expected, case["outputs"]):
        assert output.dtype == np.float32
        assert list(output.shape) == recorded["shape"]
        assert float(np.abs(output).max()) == recorded["absmax"]


@pytest.mark.parametrize("model", MODELS)
def test_golden_parameters_are_the_symbols_variables(model):
    golden = seeded.load_golden(GOLDEN / model)
    nodes = json.loads(golden.symbol_path.read_text(encoding="utf-8"))["nodes"]
    variables = {node["name"] for node in nodes if node["op"] == "null"}
    assert variables == {key.split(":", 1)[1] for key in golden.params} | set(golden.inputs)


def test_other_bits_are_refused(tmp_path):
    folder = tmp_path / "squeezenet1.1"
    shutil.copytree(GOLDEN / "squeezenet1.1", folder)
    case_path = folder / "case.json"
    case = json.loads(case_path.read_text(encoding="utf-8"))
    case["gamma"] = [0.5, 1.0]  # without effect: this network has no batch normalisation
    case_path.write_text(json.dumps(case), encoding="utf-8")
    seeded.load_golden(folder)

    recorded = case["sha256"]["expected"]
    case["sha256"]["expected"] = "0" * 64
    case_path.write_text(json.dumps(case), encoding="utf-8")
    with pytest.raises(seeded.SeededDataError, match="stored outputs"):
        seeded.load_golden(folder)

    case["sha256"]["expected"] = recorded
    case["inputs"]["data"][0] = 1
    case_path.write_text(json.dumps(case), encoding="utf-8")
    with pytest.raises(seeded.SeededDataError, match="generated inputs and parameters"):
        seeded.load_golden(folder)
