"""The files and inputs of the command line: nothing is lost, models are found, mistakes are named."""

import os
import shutil

import numpy as np
import pytest

import amp
from amp import _calibration, commands
from amp.__main__ import main
from amp._cli import outputs


@pytest.fixture
def digits(repository, tmp_path):
    """The prefix of a copy of the digits model."""
    for ending in ("-symbol.json", "-0000.params"):
        shutil.copy(repository / "examples" / "digits" / f"digits{ending}", tmp_path / f"digits{ending}")
    return tmp_path / "digits"


def succeeds(capsys, *arguments):
    """What a command prints to stdout."""
    code = main(list(map(str, arguments)))
    text, errors = capsys.readouterr()
    assert code == 0, errors
    return text


def fails(capsys, *arguments):
    """The only line that a failing command prints to stderr."""
    try:
        code = main(list(map(str, arguments)))
    except SystemExit as stop:
        code = stop.code
    errors = capsys.readouterr().err
    assert code == commands.USER_ERROR and len(errors.splitlines()) == 1, errors
    return errors


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


RANDOM = ("--random", "data=1x1x8x8")

# Commands that write, with what they would write.
WRITING = {
    "convert": (("-o", "{}/digits"), "digits-0000.params"),
    "convert, report": (("-o", "{}/x", "--report", "{}/out.json"), "out.json"),
    "run": ((*RANDOM, "--repeat", "0", "-o", "{}/out.npz"), "out.npz"),
    "profile": ((*RANDOM, "--runs", "1", "-o", "{}/out.html"), "out.html"),
    "show": (("-o", "{}/out.html"), "out.html"),
}


@pytest.mark.parametrize("case", WRITING)
def test_files_that_exist_are_replaced_by_force_alone(capsys, digits, case):
    options, name = WRITING[case]
    folder = digits.parent
    if not (folder / name).exists():
        (folder / name).write_text("precious")
    before = contents(folder)
    command = [case.partition(",")[0], digits, *(option.format(folder) for option in options)]
    assert name in fails(capsys, *command) and contents(folder) == before
    assert name in succeeds(capsys, *command, "--force")
    after = contents(folder)
    assert after[name] != before[name] and not [other for other in after if ".tmp" in other]


@pytest.mark.parametrize(
    "options",
    [
        ("convert", "nothing", "-o", "{}/digits"),
        ("convert", "nothing", "-o", "{}/no/x"),
        ("convert", "nothing", "-o", "{}/x", "--report", "{}/r.txt"),
        ("convert", "nothing", "-o", "{}/x-0000.params"),
        ("run", "nothing", "-o", "{}/scores.out"),
        ("profile", "nothing", "-o", "{}/page.pdf"),
        ("show", "nothing", "-o", "{}/graph.png"),
    ],
)
def test_outputs_are_checked_before_the_work_begins(capsys, digits, options):
    """The model does not even exist, and the message is of the output."""
    line = fails(capsys, *(option.format(digits.parent) for option in options))
    assert str(digits.parent) in line and "nothing" not in line


def test_outputs_have_exactly_the_name_that_is_given(capsys, digits):
    folder = digits.parent
    assert f"wrote {folder}/scores.npz" in succeeds(capsys, "run", digits, *RANDOM, "-o", folder / "scores")
    with np.load(folder / "scores.npz") as stored:
        expected = stored["digits_dense0_fwd_output"]
    for name in ("s.npy", "s.params"):
        succeeds(capsys, "run", digits, *RANDOM, "-o", folder / name)
    np.testing.assert_array_equal(np.load(folder / "s.npy"), expected)
    found = amp.nd.load(str(folder / "s.params"))["digits_dense0_fwd_output"].asnumpy()
    np.testing.assert_array_equal(found, expected)


def test_one_array_does_not_hold_several_outputs(capsys, tmp_path):
    x = amp.sym.Variable("x")
    amp.save_checkpoint(tmp_path / "two", 0, amp.sym.Group([amp.sym.exp(x), amp.sym.tanh(x)]), {}, {})
    line = fails(capsys, "run", tmp_path / "two", "--random", "x=2", "-o", tmp_path / "o.npy")
    assert "2 outputs" in line and not (tmp_path / "o.npy").exists()


def test_a_model_is_replaced_as_a_whole(digits, monkeypatch):
    """An error before both files are complete leaves both as they were."""
    before = contents(digits.parent)
    model = amp.load_checkpoint(digits, 0)
    monkeypatch.setattr(amp.sym.Symbol, "save", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError):
        outputs.write_model(str(digits), model)
    assert contents(digits.parent) == before


def test_a_failed_report_leaves_the_old_one(digits, monkeypatch):
    path = digits.parent / "r.json"
    path.write_text("old")
    report = amp.convert_model(*amp.load_checkpoint(digits, 0), return_report=True)[3]
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(amp.ArgumentError):
        report.save(path)
    assert path.read_text() == "old" and len(list(digits.parent.glob("r.json*"))) == 1


# ---- models ----


def test_a_prefix_is_the_newest_epoch_unless_one_is_named(capsys, digits):
    symbol, args, aux = amp.load_checkpoint(digits, 0)
    bias = "digits_dense0_bias"
    for epoch in (2, 10):
        amp.save_checkpoint(digits, epoch, symbol, {**args, bias: np.full(10, epoch, "f4")}, aux)

    def score(*options):
        succeeds(capsys, "run", *options, *RANDOM, "--repeat", 0, "--force", "-o", digits.parent / "o.npy")
        return np.load(digits.parent / "o.npy")

    newest, second = score(digits), score(digits, "--epoch", 2)
    np.testing.assert_allclose(newest - second, 8, atol=1e-4)
    for names in ([f"{digits}-symbol.json"], [f"{digits}-symbol.json", f"{digits}-0010.params"]):
        np.testing.assert_array_equal(score(*names), newest)
    assert "0, 2, 10" in fails(capsys, "run", digits, "--epoch", 7, *RANDOM)
    assert "--epoch" in fails(capsys, "run", digits, f"{digits}-0010.params", "--epoch", 2, *RANDOM)


def test_options_may_stand_between_the_names_of_files(digits):
    parsed = commands.parse(["inspect", f"{digits}-symbol.json", "--json", f"{digits}-0000.params"])
    assert parsed.json and parsed.params == f"{digits}-0000.params"
    assert commands.parse(["why", "model", "--to", "float16", "tensor"]).tensor == "tensor"
    assert commands.parse(["diff", "a", "--json", "b"]).models == ["a", "b"]


@pytest.mark.parametrize("command", ["inspect", "convert", "why", "show", "run", "bench", "profile"])
def test_every_command_takes_a_prefix_or_two_files(digits, command):
    options = {"convert": ["-o", "x"], "show": ["-o", "x"], "why": ["tensor"]}.get(command, [])
    for names in ([str(digits)], [f"{digits}-symbol.json", f"{digits}-0000.params"]):
        parsed = commands.parse([command, *names, *options])
        assert [parsed.model, *([parsed.params] if parsed.params else [])] == names


def test_models_are_told_apart_by_their_files(capsys, digits):
    files = f"{digits}-symbol.json", f"{digits}-0000.params"
    for names in ([digits, digits], [*files, digits], [digits, *files], [*files, *files]):
        assert succeeds(capsys, "diff", *names).startswith("no differences")


def test_wrong_files_are_named(capsys, digits):
    symbol, params = f"{digits}-symbol.json", f"{digits}-0000.params"
    empty = digits.parent / "empty.json"
    empty.touch()
    for arguments, text in [
        ((params, symbol), "the symbol file comes first"),
        ((symbol, symbol), "is a symbol file"),
        ((empty, params), "is empty"),
        ((symbol, empty), "is empty"),
        ((symbol, "nothing"), "there is no file nothing"),
        ((params,), "holds no symbol"),
        ((f"{digits}s",), "did you mean"),
    ]:
        assert text in fails(capsys, "run", *arguments, *RANDOM)


def test_parameters_of_another_model_are_refused(capsys, digits):
    other = amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=2, no_bias=True, name="other")
    amp.save_checkpoint(digits.parent / "other", 0, other, {"other_weight": np.ones((2, 3), "f4")}, {})
    line = fails(capsys, "run", f"{digits}-symbol.json", digits.parent / "other-0000.params", *RANDOM)
    assert "1 of its 1 arrays: other_weight" in line and "another model" in line
    symbol, args, aux = amp.load_checkpoint(digits, 0)
    del args["digits_dense0_bias"]
    amp.save_checkpoint(digits, 1, symbol, args, aux)
    assert "lacks 1 parameters" in fails(capsys, "run", digits, *RANDOM)


def test_a_model_that_was_converted_is_noted(capsys, digits):
    succeeds(capsys, "convert", digits, "-o", digits.parent / "low")
    assert main(["convert", str(digits.parent / "low"), "-o", str(digits.parent / "lower")]) == 0
    assert "has casts already" in capsys.readouterr().err


# ---- inputs ----


def test_inputs_are_named_where_they_are_wrong(capsys, digits):
    folder = digits.parent
    np.save(folder / "double.npy", np.ones((1, 1, 8, 8)))
    np.save(folder / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    np.save(folder / "x.npy", np.ones((1, 1, 8, 8), "f4"))
    data = f"data={folder}"
    for command, arguments, texts in [
        ("run", (), ["--input data=FILE.npy", "--random data=1x3x224x224"]),
        ("run", ("--input", f"{data}/double.npy"), ["'data' is float64", "astype('float32')"]),
        ("run", ("--input", f"{data}/objects.npy"), ["Python objects"]),
        ("run", ("--input", f"data={digits}-0000.params"), ["no .npy file"]),
        ("run", ("--input", f"{data}/nothing.npy"), ["nothing.npy"]),
        ("run", ("--input", "data=1x1x8x8"), ["--random data=1x1x8x8"]),
        ("run", ("--shape", "data=1x1x8x8"), ["--random data=1x1x8x8"]),
        ("run", (*RANDOM, *RANDOM), ["'data' is given twice"]),
        ("run", (*RANDOM, "--input", f"{data}/x.npy"), ["'data' is given twice"]),
        ("run", (*RANDOM, "--random", "date=1"), ["did you mean 'data'"]),
        ("run", ("--random", "data=1x3x999999x999999"), ["GB"]),
        ("inspect", ("--shape", f"{data}/x.npy"), ["--input"]),
        ("inspect", RANDOM, ["--shape data=1x1x8x8"]),
        ("inspect", ("--shape", "data=1x1x8x8", "--input", f"{data}/x.npy"), ["given twice"]),
    ]:
        line = fails(capsys, command, digits, *arguments)
        assert all(text in line for text in texts) and "pickle" not in line, line


def test_types_come_from_files_too(capsys, digits):
    np.save(digits.parent / "x.npy", np.ones((3, 1, 8, 8), "f4"))
    assert "3x1x8x8" in succeeds(capsys, "inspect", digits, "--input", f"data={digits.parent / 'x.npy'}")


def test_a_policy_that_needs_shapes_names_inputs_alone(capsys, digits):
    options = ("-o", digits.parent / "x", "--policy", "optimal", "--machine", "avx2")
    line = fails(capsys, "convert", digits, *options)
    assert "data" in line and "conv0" not in line
    succeeds(capsys, "convert", digits, *options, "--shape", "data=1x1x8x8")


# ---- how commands end ----


@pytest.mark.parametrize("dtype", ["bf16", "int8", "float32"])
def test_targets_are_those_that_can_be_converted_to(capsys, digits, dtype):
    line = fails(capsys, "convert", digits, "-o", digits.parent / "x", "--to", dtype)
    assert "bfloat16" in line and "float16" in line and "uint8" not in line
    with pytest.raises(amp.ArgumentError) as error:
        amp.convert_model(*amp.load_checkpoint(digits, 0), target_dtype=dtype)
    assert "uint8" not in str(error.value)


def test_unknown_names_have_near_matches(capsys, digits):
    assert "did you mean 'inspect'" in fails(capsys, "inspekt", digits)
    assert "did you mean 'exact'" in fails(capsys, "run", digits, *RANDOM, "--mode", "exakt")


@pytest.mark.parametrize(
    "error, code",
    [
        (MemoryError("9 GB"), commands.USER_ERROR),
        (amp.ArgumentError("no"), commands.USER_ERROR),
        (OSError(2, "none", "f"), commands.USER_ERROR),
        (KeyboardInterrupt(), commands.INTERRUPTED),
    ],
)
def test_exit_codes(monkeypatch, capsys, error, code):
    def fail(_):
        raise error

    options = commands.parse(["calibrate"])
    monkeypatch.setattr(options, "command", fail)
    assert commands.run(options) == code and code in commands.EXIT_CODES
    assert len(capsys.readouterr().err.splitlines()) == (code == commands.USER_ERROR)


def test_errors_of_the_program_are_not_hidden():
    options = commands.parse(["calibrate"])
    options.command = lambda _: (_ for _ in ()).throw(amp.InternalError("bug"))
    with pytest.raises(amp.InternalError):
        commands.run(options)


def test_help_has_all_exit_codes():
    text = commands.parser().format_help()
    assert all(f"  {code:<5} {meaning}" in text for code, meaning in commands.EXIT_CODES.items())


# ---- calibration ----


def steps_of(seconds):
    """Steps that a machine file can be made of, as a profile tells them."""
    step = {"dtype": "float32", "choice": "", "post_functions": [], "point": [1.0], "elements_written": 1}
    times = {"median_seconds": seconds, "min_seconds": seconds, "mean_seconds": seconds}
    return [
        *(
            {**step, **times, "group": f"convolution_3x3 {dtype}", "dtype": dtype, "flops": 2e8, "bytes": 1000}
            for dtype in ("float32", "bfloat16")
        ),
        {**step, **times, "group": "binary float32", "flops": 0, "bytes": 1000},
    ]


def test_calibration_goes_on_from_where_it_was_interrupted(capsys, tmp_path, monkeypatch):
    measured, path = [], tmp_path / "machine.json"

    def measure(model, precision, kernels, progress):
        if len(measured) == 2 and not capsys.readouterr().out.count("goes on"):
            raise KeyboardInterrupt
        measured.append(model)
        return steps_of(1e-3)

    monkeypatch.setattr(_calibration._calibration_models, "models", lambda: ((name, False) for name in "abc"))
    monkeypatch.setattr(_calibration._calibration_models, "costs", lambda: [1.0, 1.0, 1.0])
    monkeypatch.setattr(_calibration, "precisions", lambda: (None,))
    monkeypatch.setattr(_calibration, "steps_of", measure)
    command = ["calibrate", "-o", str(path)]
    assert main(command) == commands.INTERRUPTED
    assert not path.exists() and f"{path}.partial" in capsys.readouterr().err
    assert main(command) == 0
    assert measured == ["a", "b", "c"] and [file.name for file in tmp_path.iterdir()] == ["machine.json"]
    assert "100 %" in capsys.readouterr().err
    assert "machine.json exists" in fails(capsys, *command)
