"""`amp compare` and `amp sensitivity`: what they print and write, and exit codes."""

import json
import subprocess
import sys

import numpy as np
import pytest

from amp.__main__ import main

DATA = ("--random", "data=8x1x8x8")


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """(the digits model, its conversion)"""
    from pathlib import Path

    digits = str(Path(__file__).resolve().parents[3] / "examples" / "digits" / "digits")
    low = str(tmp_path_factory.mktemp("low") / "low")
    assert main(["convert", digits, "--offline", "-o", low]) == 0
    return digits, low


def run(capsys, *arguments):
    capsys.readouterr()
    return main(list(map(str, arguments))), *capsys.readouterr()


def test_table_and_page(capsys, models, tmp_path):
    page = tmp_path / "compare.html"
    code, text, errors = run(capsys, "compare", *models, *DATA, "-o", page)
    assert (code, errors) == (0, "")
    assert "no suspects" in text and "digits_conv0_weight  parameter" in text and f"wrote {page}" in text
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert run(capsys, "compare", *models, *DATA, "-o", page)[0] == 2  # it is there


def test_json(capsys, models):
    code, text, _ = run(capsys, "compare", *models, *DATA, "--json")
    found = json.loads(text)
    assert code == 0 and found["format"] == "amp-compare" and found["suspects"] == []
    assert abs(found["share_sum"] - 1) < 0.03
    assert {row["kind"] for row in found["tensors"]} == {"cast", "result"}


def test_data_of_a_file(capsys, models, tmp_path):
    np.savez(tmp_path / "d.npz", data=np.random.default_rng(0).random((4, 1, 8, 8), dtype="float32"))
    assert run(capsys, "compare", *models, "--data", tmp_path / "d.npz")[0] == 0
    np.savez(tmp_path / "d.npz", dta=np.ones((4, 1, 8, 8), "float32"))
    assert "did you mean" in run(capsys, "compare", *models, "--data", tmp_path / "d.npz")[2]
    (tmp_path / "d.npz").write_bytes(b"PK nothing")
    assert run(capsys, "compare", *models, "--data", tmp_path / "d.npz")[0] == 2
    np.save(tmp_path / "d.npy", np.ones(3))
    assert run(capsys, "compare", *models, "--data", tmp_path / "d.npy")[0] == 2


def test_data_of_a_file_is_checked_as_inputs_are(capsys, models, tmp_path):
    digits, data = models[0], tmp_path / "d.npz"
    commands = (
        ("compare", digits, digits),
        ("sensitivity", digits),
        ("convert", digits, "--max-error", "1e-2", "-o", tmp_path / "low"),
    )
    np.savez(data, data=np.ones((2, 1, 8, 8)))
    for command in commands:
        code, _, errors = run(capsys, *command, "--data", data)
        assert code == 2 and "the input 'data' is float64, and the model computes in float32" in errors, command
    np.savez(data)
    for command in commands:
        code, _, errors = run(capsys, *command, "--data", data)
        assert code == 2 and "no data for the input data: give an array 'data' in the file of --data" in errors, command


def test_two_models_are_needed(capsys, models):
    for command in ("compare", "diff"):
        code, _, errors = run(capsys, command, models[0])
        assert code == 2 and "expected two models, got 1" in errors


def test_exit_codes_of_a_process(models, tmp_path):
    def code(*arguments):
        command = [sys.executable, "-m", "amp", "compare", *arguments]
        return subprocess.run(command, capture_output=True, timeout=300).returncode

    assert code(*models, *DATA, "--limit", "0.1") == 0
    assert code(*models, *DATA, "--limit", "1e-5") == 1
    assert code(models[0], str(tmp_path / "nothing"), *DATA) == 2


@pytest.mark.parametrize("arguments", [(), ("--limit", "0", *DATA), ("--data", "nothing.npz"), ("--data", "x", *DATA)])
def test_refusals(capsys, models, arguments):
    code, _, errors = run(capsys, "compare", *models, *arguments)
    assert code == 2 and errors.startswith("amp: error: ")


# ---- sensitivity ----


def test_sensitivity(capsys, models, tmp_path):
    page = tmp_path / "s.html"
    code, text, errors = run(capsys, "sensitivity", models[0], *DATA, "-o", page)
    assert (code, errors) == (0, "") and text.startswith(
        "what rounding each tensor alone does to digits_dense0_fwd_output"
    )
    assert "digits_conv0_weight" in page.read_text()
    code, text, _ = run(capsys, "sensitivity", models[0], *DATA, "--json", "--samples", "16", "--to", "float16")
    found = json.loads(text)
    assert code == 0 and found["samples"] == 8
    assert {row["kind"] for row in found["tensors"]} == {"input", "parameter", "result"}
    assert run(capsys, "sensitivity", models[1], *DATA)[0] == 2  # it has casts
    assert run(capsys, "sensitivity", models[0], *DATA, "--samples", "0")[0] == 2
