"""`amp compile`, and commands that take a plan file."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import amp
from amp import commands

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "trust"))
from trust_networks import residual  # noqa: E402


def run(capsys, *arguments):
    """(exit code, what a command printed, what it said of errors)"""
    code = commands.run(commands.parse([str(argument) for argument in arguments]))
    return code, *capsys.readouterr()


@pytest.fixture
def model(tmp_path):
    amp.save_checkpoint(str(tmp_path / "net"), 0, *residual()[0])
    return tmp_path / "net"


@pytest.fixture
def plan(model, capsys):
    path = model.with_name("net.plan")
    assert run(capsys, "compile", model, "--shape", "data=8x3x12x12", "--threads", 1, "-o", path)[0] == 0
    return path


def test_compile_says_what_it_wrote(model, capsys):
    path = model.with_name("low.plan")
    arguments = ["compile", model, "--shape", "data=8x3x12x12", "--to", "bfloat16", "--emulate", "-o", path, "--json"]
    code, text, _ = run(capsys, *arguments)
    facts = json.loads(text)
    assert code == 0 and facts["wrote"] == str(path) and facts["options"]["threads"] >= 1
    assert facts["inputs"] == {"data": ["float32", [8, 3, 12, 12]]}
    assert facts["source"]["params"] == str(model) + "-0000.params"
    assert {step for s in amp.Executor.load(path).summary.steps for step in s.dtypes.values()} >= {"bfloat16"}
    code, _, error = run(capsys, *arguments)
    assert code == 2 and "--force" in error


def test_labels_and_images_are_for_a_service(model, tmp_path, capsys):
    from amp._serve.plan_note import parameters_of

    labels, path = tmp_path / "labels.txt", tmp_path / "x.plan"
    labels.write_text("cat\ndog\n")
    arguments = ["compile", model, "--shape", "data=8x3x12x12", "-o", path, "--force", "--labels", labels]
    for source in ([], ["--no-source"]):
        assert run(capsys, *arguments, "--image", "0.5,0.2/0.3/0.4,nchw", *source)[0] == 0
        found = parameters_of(amp.Executor.load(path)._handle.note())
        image = {"mean": [0.5], "std": [0.2, 0.3, 0.4], "layout": "NCHW"}
        assert found == {"labels": ["cat", "dog"], "image": image}
    for text in ("0.5", "0.5,0,NCHW", "x,1,NCHW", "1/2,1,NCHW", "1,1,CHW", "nan,1,NCHW", "0.5,-0.2,NCHW"):
        with pytest.raises(SystemExit):
            commands.parse([str(a) for a in [*arguments, "--image", text]])
    labels.write_bytes(b"\xff\xfe")
    assert run(capsys, *arguments)[0] == 2
    labels.write_text("cat\n\ndog")
    assert run(capsys, *arguments)[0] == 2


def test_inspect(plan, capsys):
    code, text, _ = run(capsys, "inspect", plan, "--verify")
    assert code == 0 and "data 8x3x12x12 float32" in text and "1 thread" in text and "checksums" in text
    assert "does not fit" not in text
    facts = json.loads(run(capsys, "inspect", plan, "--json")[1])
    assert facts["constants"] > 0 and facts["verified"] is False and facts["operators"] == 11
    assert facts["unfit"] is None
    content = bytearray(plan.read_bytes())
    content[-70] ^= 1
    plan.unlink()
    plan.write_bytes(bytes(content))
    code, _, error = run(capsys, "inspect", plan, "--verify")
    assert code == 2 and "is damaged" in error


def test_a_plan_runs_as_its_model(model, plan, tmp_path, capsys):
    data = tmp_path / "data.npy"
    np.save(data, residual()[1]["data"])
    for name, files in (("a", [plan]), ("b", [model, "--threads", 1])):
        assert run(capsys, "run", *files, "--input", f"data={data}", "-o", tmp_path / f"{name}.npz")[0] == 0
    with np.load(tmp_path / "a.npz") as mine, np.load(tmp_path / "b.npz") as its:
        assert mine.files == its.files and all(np.array_equal(mine[name], its[name]) for name in mine.files)
    assert run(capsys, "run", plan)[0] == 0  # its types are known: random data
    assert run(capsys, "profile", plan, "--runs", 1)[0] == 0


def test_all_that_says_how_a_model_is_bound_is_refused(plan, capsys):
    """Whoever adds such an option need not know of plans."""
    how = "x.params --epoch 1 --to bfloat16 --emulate --backend reference --mode exact --machine any --tune"
    how += " --tiling-accum bf16 --tile-k 8 --threads 2"
    code, _, error = run(capsys, "run", plan, *how.split())
    names = "PARAMS, --epoch, --to, --emulate, --backend, --mode, --machine, --tune"
    names += ", --tiling-accum, --tile-k, --threads"
    assert code == 2 and error == f"amp: error: {plan} is a plan, which is bound already: leave {names} out\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "PLAN", "--to", "bfloat16"],
        ["run", "PLAN", "--threads", "2"],
        ["profile", "PLAN", "--tiling-accum", "bf16", "--tile-k", "8"],
        ["run", "PLAN", "--random", "other=8x3x12x12"],
        ["run", "PLAN", "--random", "data=1x3x12x12"],
        ["inspect", "PLAN", "--shape", "data=1x3x12x12"],
        ["inspect", "MODEL", "--verify"],
        ["compile", "MODEL", "-o", "x.plan"],
        ["compile", "MODEL", "--shape", "data=8x3x12x12", "-o", "x.bin"],
        ["compile", "MODEL", "--shape", "data=8x3x12x12", "-o", "none/x.plan"],
    ],
)
def test_what_makes_no_sense_is_one_line(arguments, model, plan, monkeypatch, capsys):
    monkeypatch.chdir(model.parent)
    names = {"PLAN": plan, "MODEL": model}
    code, _, error = run(capsys, *[names.get(argument, argument) for argument in arguments])
    assert code == 2 and error.startswith("amp: error: ") and error.count("\n") == 1
