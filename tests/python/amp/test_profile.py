"""Where the time of a run goes: Executor.profile, AMP_PROFILE, `amp profile`. Nothing here depends on time itself."""

import os
import subprocess
import sys
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest

import amp
from amp.__main__ import main
from amp.profiling import Profile


def dense(reduce_precision=None):
    symbol = amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=8, name="fc")
    symbol = amp.sym.Activation(symbol, act_type="relu", name="relu")
    args, aux = amp.model_zoo.seeded_params(symbol, {"data": (2, 4)})
    return amp.Executor(symbol, args, aux, {"data": (2, 4)}, reduce_precision=reduce_precision, num_threads=1)


def test_profile_tells_about_every_step():
    executor = dense()
    profile = executor.profile(np.ones((2, 4), np.float32), runs=3)
    assert (profile.num_runs, profile.num_threads) == (3, 1)
    assert [step["node"] for step in profile.steps] == [step.node for step in executor.summary.steps]
    product = next(step for step in profile.steps if step["work"] == "inner_product")
    assert product["flops"] == 2 * 2 * 4 * 8 and product["dtype"] == "float32"
    assert product["bytes"] == 4 * (2 * 4 + 4 * 8 + 8 + 2 * 8)  # source, weights, bias, result
    assert all(0 < step["min_seconds"] <= step["median_seconds"] for step in profile.steps)
    assert sum(map(profile.share, profile.steps)) + profile.outside_share == pytest.approx(1)
    assert profile.bandwidth > 0
    assert set(profile.peaks) == {"float32", "bfloat16"} and min(profile.peaks.values()) > 0


def test_inputs_are_those_of_a_call():
    executor = dense()
    array = np.ones((2, 4), np.float32)
    assert executor.profile(data=array, runs=1).num_runs == executor.profile({"data": array}, runs=1).num_runs == 1
    with pytest.raises(amp.ArgumentError, match="expected"):
        executor.profile(np.ones((3, 4), np.float32))
    with pytest.raises(amp.ArgumentError, match="no input 'date'"):
        executor.profile(date=array)


@pytest.mark.parametrize("runs", [0, -1, True, 1.5, "2"])
def test_runs_are_counted(runs):
    with pytest.raises(amp.ArgumentError, match="runs: expected a number from 1"):
        dense().profile(np.ones((2, 4), np.float32), runs=runs)


def step(**changes):
    plain = {"node": "n", "work": "eltwise", "implementation": "jit", "layout": "ab", "reason": "", "dtype": "float32"}
    plain["is_backward"] = False
    return {**plain, "bytes": 10**6, "flops": 0.0, "min_seconds": 0.001, "median_seconds": 0.002, **changes}


@pytest.fixture
def known():
    """3 of 10 ms in two steps of known cost."""
    product = step(node='a<b>"&', work="convolution", flops=1e8, bytes=2 * 10**6, median_seconds=0.001)
    steps = [product, step(reason="because <so>")]
    handle = SimpleNamespace(
        steps=steps, min_seconds=0.009, median_seconds=0.01, num_runs=4, num_threads=2, outside_share=0.7
    )
    return Profile(handle, {"float32": 200.0, "bfloat16": 400.0}, bandwidth=20.0, others=0.0)


def test_rates_are_relative_to_the_peak_of_the_dtype(known):
    product, other = known.steps
    assert known.of_peak(product) == pytest.approx(0.5)  # 0.1 Gflop in 1 ms
    assert known.of_peak({**product, "dtype": "bfloat16"}) == pytest.approx(0.25)
    assert known.of_peak(other) is None and known.of_peak({**product, "dtype": "int32"}) is None
    assert known.share(product) == pytest.approx(0.1)


def test_table(known):
    lines = str(known).splitlines()
    assert "10.000 ms per run (median of 4; best 9.000; 2 threads), 70.0 % outside of the 2 steps" in lines[0]
    assert lines[1] == "on reference code: 0.0 %"
    assert lines[3:6] == [
        "most of the time:",
        " 20.0 %  n (eltwise): 0.5 GB/s; because <so>",
        " 10.0 %  a<b>\"& (convolution): 50 % of the machine's arithmetic",
    ]
    assert lines[8].split() == "1000.0 1000.0 10.0 % 100.0 50 % 2.0 convolution jit ab".split() + ['a<b>"&']
    assert lines[9].split() == "2000.0 1000.0 20.0 % 0.5 eltwise jit ab n".split()
    assert [line.split() for line in lines[-2:]] == [
        ["20.0", "%", "eltwise", "(1)"],
        ["10.0", "%", "convolution", "(1)"],
    ]


def test_page_has_a_chart_and_needs_nothing_else(known, tmp_path):
    path = tmp_path / "profile.html"
    known.save_html(path, title="<model>")
    text = path.read_text()
    assert "<title>&lt;model&gt;</title>" in text and "src=" not in text and "href=" not in text
    chart = ElementTree.fromstring(text[text.index("<svg") : text.index("</svg>") + 6])
    titles = [element.text for element in chart.iter("{http://www.w3.org/2000/svg}title")]
    assert 'node: a<b>"&' in titles[0] and "of peak: 50 %" in titles[0] and "why: because <so>" in titles[1]
    bars = [float(r.get("width")) for r in chart.iter("{http://www.w3.org/2000/svg}rect") if r.get("x") != "0"]
    assert bars[0] == pytest.approx(bars[2] / 2) and bars[1] == pytest.approx(bars[0] / 2) and bars[3] == 0


def test_the_variable_prints_a_table_when_the_program_ends():
    code = (
        "import amp, numpy as np; x = amp.sym.Variable('x')\n"
        "e = amp.Executor(amp.sym.Activation(x, act_type='tanh', name='t'), {}, {}, {'x': (2,)}, num_threads=1)\n"
        "for i in range(3): e(np.zeros(2, np.float32))"
    )
    environment = {**os.environ, "AMP_PROFILE": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=environment)
    assert done.returncode == 0 and "profile: 3 runs of 1 steps" in done.stderr and " t\n" in done.stderr
    environment["AMP_PROFILE"] = "0"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=environment)
    assert done.stderr == ""


def test_command(repository, tmp_path, capsys):
    files = [str(repository / "examples" / "digits" / f"digits-{name}") for name in ("symbol.json", "0000.params")]
    page = tmp_path / "page.html"
    options = ["--random", "data=2x1x8x8", "--runs", "2", "--threads", "1", "-o", str(page)]
    assert main(["profile", *files, *options]) == 0
    text = capsys.readouterr().out
    assert "(median of 2;" in text and "; 1 thread)" in text and "digits_conv0_fwd" in text and f"wrote {page}" in text
    assert "digits_conv0_fwd" in page.read_text() and "digits-symbol.json" in page.read_text()
    assert main(["profile", *files, *options, "--force", "--runs", "0"]) == 2
    assert "runs: expected" in capsys.readouterr().err
