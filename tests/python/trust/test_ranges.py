"""Ranges of tensors on data, beside the intervals that are proven, in the report of a conversion."""

import json

import numpy as np
import pytest
import trust_networks

import amp
from amp import sym
from amp.__main__ import main
from amp._trust import ranges


def rows_of(model, data, **options):
    report = amp.convert_model(*model, data=data, return_report=True, **options)[-1]
    return {row["name"]: row for row in report.ranges}, report


def ends(row):
    return row["smallest"], row["largest"]


@pytest.fixture(scope="module")
def layers():
    net = sym.Activation(
        sym.FullyConnected(sym.Variable("data"), num_hidden=3, no_bias=True, name="fc"), act_type="tanh", name="tanh"
    )
    return net, {"fc_weight": np.arange(-6, 6, dtype="float32").reshape(3, 4) / 4}, {}


DATA = np.random.default_rng(3).standard_normal((6, 4), dtype="float32")


def test_ranges_are_those_of_numpy(layers):
    rows, report = rows_of(layers, DATA)
    fc = DATA.astype("float64") @ layers[1]["fc_weight"].T.astype("float64")
    assert list(rows) == ["data", "fc_output", "tanh_output"]  # no parameters
    for name, values in (("data", DATA), ("fc_output", fc), ("tanh_output", np.tanh(fc))):
        assert ends(rows[name]) == pytest.approx((values.min(), values.max()), rel=1e-5)
    assert rows["fc_output"]["proven"] == [None, None] and rows["tanh_output"]["proven"] == pytest.approx(
        [-1, 1], rel=1e-6
    )
    assert [report.tensor(name)["id"] for name in rows] == [row["id"] for row in rows.values()]


def test_batches_are_taken_together(layers):
    whole = rows_of(layers, DATA)[0]
    batches = iter([DATA[:2], DATA[2:3], DATA[3:]])  # of several sizes
    parts = rows_of(layers, batches)[0]
    for name, row in parts.items():
        assert ends(row) == pytest.approx(ends(whole[name]), rel=1e-6)
    verified = rows_of(layers, iter([DATA[:2], DATA[2:]]), verify=True)[0]  # which reads the iterator, too
    assert list(verified) == list(whole)


def test_what_does_not_fit_into_memory_is_run_in_parts(layers, monkeypatch):
    whole = rows_of(layers, DATA)[0]
    monkeypatch.setattr(ranges, "_AT_ONCE", 1)
    assert rows_of(layers, DATA)[0] == whole


def test_numbers_that_are_not_finite_are_counted(layers):
    data = DATA.copy()
    data[0, 0], data[1, 0], data[1, 1] = np.inf, np.nan, 1e30
    rows, report = rows_of(layers, data)
    assert rows["data"]["not_finite"] == 2
    assert rows["data"]["largest"] == np.float32(1e30)
    assert "2 numbers that are not finite" in report.why("data")
    rows = rows_of(layers, np.full((1, 4), np.nan, "float32"))[0]
    assert ends(rows["fc_output"]) == (None, None) and rows["fc_output"]["not_finite"] == 3
    assert "no finite number" in rows_of(layers, np.full((1, 4), np.nan, "float32"))[1].why("fc")


def test_no_data_no_ranges(layers):
    report = amp.convert_model(*layers, return_report=True)[-1]
    assert report.ranges == [] and "on the data" not in report.why("fc") and "largest on" not in str(report)


@pytest.mark.parametrize("policy", ["default", "mxnet", "graphamp", "optimal"])
@pytest.mark.parametrize("network", [trust_networks.residual, trust_networks.attention, trust_networks.dense])
def test_values_lie_in_the_intervals_that_are_proven(network, policy):
    model, data = network()
    rows, report = rows_of(model, data, policy=policy)
    results = {tensor["name"] for tensor in report.tensors if tensor["kind"] in ("input", "result")}
    assert set(rows) >= results - {"softmax_label"}
    for name, row in rows.items():
        low, high = (end if end is not None else infinite for end, infinite in zip(row["proven"], (-np.inf, np.inf)))
        assert low <= row["smallest"] and row["largest"] <= high, name


def test_a_folded_batch_norm_is_what_its_layer_gives():
    model, data = trust_networks.residual()
    folded, report = rows_of(model, data)
    plain = rows_of(model, data, fold_batch_norm=False)[0]
    assert ("bn0", "conv0") in [(fold["batch_norm"], fold["into"]) for fold in report.folded]
    assert "bn0_output" not in folded
    assert ends(folded["conv0_output"]) == pytest.approx(ends(plain["bn0_output"]), rel=1e-4)
    assert ends(plain["conv0_output"]) != pytest.approx(ends(plain["bn0_output"]), rel=1e-2)
    excluded = rows_of(model, data, excluded_sym_names=["bn0"])[0]  # what the caller names is not folded
    assert ends(excluded["conv0_output"]) == pytest.approx(ends(plain["conv0_output"]), rel=1e-4)


def test_tensors_of_one_name_are_told_apart():
    x = sym.Variable("data")
    net = sym.Group([sym.relu(x, name="same"), sym.relu(x - 1, name="same")])
    report = amp.convert_model(net, {}, {}, data=np.array([[2.0, 5.0]], "f"), return_report=True)[-1]
    assert [ends(row) for row in report.ranges if row["name"] == "same_output"] == [(2, 5), (1, 4)]


def test_ctrl_c_keeps_what_was_met(layers):
    def batches(count):
        for i in range(count):
            yield DATA[i : i + 1]
        raise KeyboardInterrupt

    with pytest.warns(UserWarning) as warned:
        rows = rows_of(layers, batches(2))[0]
    assert str(warned[0].message) == "interrupted: the data are the 2 batches until then"
    assert ends(rows["data"]) == (DATA[:2].min(), DATA[:2].max())
    with pytest.raises(KeyboardInterrupt):
        rows_of(layers, batches(0))


def test_people_and_programs_see_them(layers, tmp_path, capsys):
    rows, report = rows_of(layers, DATA)
    assert f"on the data it is in [{rows['tanh_output']['smallest']:.4g}, " in report.why("tanh")
    assert report.why("tanh").splitlines()[-1].endswith("proven is [-1, 1]")
    assert "nothing is proven" in report.why("fc")
    assert "largest on the data" in str(report) and "(fc_output)" in str(report)
    assert amp.ConversionReport(report.to_json()).ranges == report.ranges
    prefix = str(tmp_path / "net")
    amp.save_checkpoint(prefix, 0, *layers)
    np.savez(tmp_path / "data.npz", data=DATA)
    assert main(["why", prefix, "tanh", "--data", str(tmp_path / "data.npz"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["range"]
    assert found["proven"] == pytest.approx([-1, 1], rel=1e-6) and found["largest"] == pytest.approx(
        rows["tanh_output"]["largest"]
    )
