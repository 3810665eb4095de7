"""`amp convert --max-error` on the digits network."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import amp
from amp.__main__ import main

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "trust"))
from trust_networks import loop  # noqa: E402


@pytest.fixture(scope="module")
def digits(repository):
    return str(repository / "examples" / "digits" / "digits")


@pytest.fixture(scope="module")
def samples(repository, tmp_path_factory):
    with np.load(repository / "examples" / "digits" / "heldout.npz") as stored:
        images = stored["images"][:64].reshape(-1, 1, 8, 8).astype("float32") / 17
    path = tmp_path_factory.mktemp("samples") / "samples.npz"
    np.savez(path, data=images)
    return str(path)


def test_convert_meets_an_error(digits, samples, tmp_path, capsys):
    low = str(tmp_path / "low")
    assert main(["convert", digits, "--data", samples, "--max-error", "1e-3", "-o", low, "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    facts = whole["accuracy"]
    assert whole["took"]["seconds"] > 0 and whole["took"]["peak_bytes"] >= 0 and whole["bodies"] == []
    assert facts["goal"] == {"error": 1e-3} and facts["reached"]
    assert facts["measured_error"] <= 1e-3 and facts["evaluations"] <= 4
    data = np.load(samples)["data"]
    options = {"input_shapes": {"data": data.shape}, "mode": "exact", "machine": "any"}
    models = [amp.load_checkpoint(prefix, 0) for prefix in (digits, low)]
    outputs = [np.asarray(amp.Executor(*model, **options)(data)[0]) for model in models]
    error = np.sqrt(np.mean((outputs[1] - outputs[0]) ** 2) / np.mean(outputs[0] ** 2))
    assert error == pytest.approx(facts["measured_error"], rel=1e-3)
    assert main(["convert", digits, "--data", samples, "--max-error", "1e-3", "-o", low, "--force"]) == 0
    text = capsys.readouterr().out
    assert "error of outputs:" in text and "took:" in text


def test_an_error_that_cannot_be_met_is_said(digits, samples, tmp_path, capsys):
    low = str(tmp_path / "low")
    assert main(["convert", digits, "--data", samples, "--max-error", "1e-9", "-o", low]) == 0
    assert "no conversion meets 1e-09" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["--max-error", "1e-3"], ["--max-error", "1e-3", "--data", "missing.npz"]])
def test_an_error_needs_data(digits, tmp_path, capsys, arguments):
    assert main(["convert", digits, "-o", str(tmp_path / "low"), *arguments]) == 2
    assert "data" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "much"])
def test_an_error_is_a_positive_number(digits, samples, tmp_path, text):
    with pytest.raises(SystemExit) as ended:
        main(["convert", digits, "--data", samples, f"--max-error={text}", "-o", str(tmp_path / "low")])
    assert ended.value.code == 2


def test_convert_verifies(digits, samples, tmp_path, capsys):
    low = str(tmp_path / "low")
    assert main(["convert", digits, "--data", samples, "--verify", "-o", low]) == 0
    assert "64 samples" in capsys.readouterr().out
    both = ["--verify", "--max-error", "1e-3"]
    assert main(["convert", digits, "--data", samples, *both, "-o", low, "--force", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["verified"]["suspects"] == [] and facts["accuracy"]["reached"]


def test_convert_names_what_it_did_not_judge(tmp_path, capsys, any_machine):
    model, inputs = loop()
    amp.save_checkpoint(str(tmp_path / "net"), 0, *model)
    np.savez(tmp_path / "data.npz", **inputs)
    arguments = ["convert", str(tmp_path / "net"), "--data", str(tmp_path / "data.npz"), "--verify"]
    assert main([*arguments, "-o", str(tmp_path / "low")]) == 0
    assert "not judged:          loop: their bodies were converted" in capsys.readouterr().out
    assert main([*arguments, "-o", str(tmp_path / "low"), "--force", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verified"]["not_judged"] == ["loop"]


def test_a_fault_that_verification_finds_writes_nothing(digits, samples, tmp_path, capsys, monkeypatch):
    """The limit of what one rounding may add is lowered, so that sound steps are faults."""
    monkeypatch.setattr("amp._trust.comparison._LIMIT", 0.5)
    low = tmp_path / "low"
    assert main(["convert", digits, "--data", samples, "--verify", "-o", str(low)]) == 1
    assert "digits_conv0_fwd_output" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_verification_needs_data(digits, tmp_path, capsys):
    assert main(["convert", digits, "--verify", "-o", str(tmp_path / "low")]) == 2
    assert "data" in capsys.readouterr().err
