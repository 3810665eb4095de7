"""`amp operators`, `amp show`, and how progress is told. Nothing here depends on time itself."""

import io
import json
import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest

import amp
from amp import commands
from amp.__main__ import main
from amp._cli import progress

DATA = ("--random", "data=1x1x8x8")


@pytest.fixture
def digits(repository):
    return str(repository / "examples" / "digits" / "digits")


# ---- operators ----


def test_operators_of_a_model_that_has_an_unknown_one(tmp_path, capsys):
    nodes = [
        {"op": "null", "name": "x", "inputs": []},
        {"op": "Convolutin", "name": "c", "inputs": [[0, 0, 0]]},
        {"op": "_contrib_fft", "name": "f", "inputs": [[1, 0, 0]]},
        {"op": "relu", "name": "r", "inputs": [[2, 0, 0]]},
    ]
    path = tmp_path / "m-symbol.json"
    path.write_text(json.dumps({"nodes": nodes, "arg_nodes": [0], "heads": [[3, 0, 0]]}))
    assert main(["operators", str(tmp_path / "m")]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert "NOT SUPPORTED: nearest: Convolution" in lines["Convolutin"]
    assert "GPUs alone" in lines["_contrib_fft"] and "NOT" not in lines["relu"]
    assert lines["3"] == "3 operators, 2 of them not supported"


# ---- show ----

FAKE_DOT = f"""#!{sys.executable}
import re, sys
nodes = re.findall(r"^ +n[0-9]+ .label=", sys.stdin.read(), re.M)
print("<?xml version='1.0'?><svg xmlns='http://www.w3.org/2000/svg'>" + "<g/>" * len(nodes) + "</svg>")
"""


@pytest.fixture
def without_graphviz(tmp_path, monkeypatch):
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


@pytest.fixture
def with_graphviz(without_graphviz):
    program = without_graphviz / "dot"
    program.write_text(FAKE_DOT)
    program.chmod(0o755)


def converted(tmp_path):
    """A model with casts: a convolution in bfloat16, a softmax in float32; its name has what HTML and DOT escape."""
    net = amp.sym.Convolution(amp.sym.Variable("data"), kernel=(3, 3), num_filter=8, name='c<">')
    net = amp.sym.softmax(amp.sym.relu(net, name="r"), name="s")
    args, aux = amp.model_zoo.seeded_params(net, {"data": (1, 3, 8, 8)})
    amp.save_checkpoint(tmp_path / "low", 0, *amp.convert_model(net, args, aux))
    return str(tmp_path / "low")


def test_show_lists_layers_without_graphviz(tmp_path, capsys, without_graphviz):
    page = tmp_path / "x.html"
    assert main(["show", converted(tmp_path), "--shape", "data=1x3x8x8", "-o", str(page)]) == 0
    told = capsys.readouterr()
    assert "graphviz.org" in told.err and len(told.err.splitlines()) == 1
    text = page.read_text()
    assert not re.search(r"""(src|href)=["'](?!#)""", text)
    rows = ElementTree.fromstring(text[text.index("<table>") : text.index("</table>") + 8])
    table = {"".join(row[0].itertext()): row for row in rows.iter("tr")}
    assert "float32 1x8x6x6" in "".join(table['c<">'].itertext())
    colours = {name: row[0].get("style") for name, row in table.items()}
    assert len({colours[name] for name in ("data_0_amp_cast_bfloat16", 'c<">', "data", "r")}) == 4
    assert "step" in "".join(table['c<">'].itertext()) and 'c<">_weight' not in table


def test_show_needs_graphviz_for_svg_alone(tmp_path, capsys, without_graphviz):
    model = converted(tmp_path)
    assert main(["show", model, "-o", str(tmp_path / "x.svg")]) == commands.USER_ERROR
    assert not (tmp_path / "x.svg").exists()
    assert main(["show", model, "-o", str(tmp_path / "x.dot")]) == 0
    text = (tmp_path / "x.dot").read_text()
    assert 'label="Convolution\\nc<\\">"' in text and re.search(r"n0 -> n\d+ \[label=\"float32 ", text)


def test_show_takes_the_drawing_of_graphviz(tmp_path, capsys, with_graphviz):
    model = converted(tmp_path)
    for ending in ("svg", "html"):
        assert main(["show", model, "--shape", "data=1x3x8x8", "-o", str(tmp_path / f"x.{ending}")]) == 0
    nodes = int(re.search(r"(\d+) nodes", capsys.readouterr().out)[1])
    svg, page = (tmp_path / "x.svg").read_text(), (tmp_path / "x.html").read_text()
    assert svg.count("<g/>") == page.count("<g/>") == nodes and "<?xml" not in page and "<table>" not in page


def test_groups_are_the_steps_of_the_plan(tmp_path, capsys, any_machine):
    model = converted(tmp_path)
    assert main(["show", model, "--shape", "data=1x3x8x8", "-o", str(tmp_path / "x.dot")]) == 0
    steps = amp.Executor(*amp.load_checkpoint(model, 0), {"data": (1, 3, 8, 8)}).summary.steps
    groups = [step for step in steps if step.fused]
    text = (tmp_path / "x.dot").read_text()
    assert text.count("subgraph cluster_") == len(groups) > 0
    assert f"{len(groups)} steps of several nodes" in capsys.readouterr().out


# ---- progress ----


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_tells_when_the_work_ends():
    now = iter([100.0, 100.0, 110.0, 130.0])
    stream = Terminal()
    line = progress.Progress(stream, lambda: next(now))
    line.update(0.5)  # what an earlier session did
    line.update(0.6)
    line.update(0.8)
    line.end()
    first, second, third = (text.strip() for text in stream.getvalue().split("\r")[1:])
    assert "left" not in first and "60 %, 0:10 min, about 0:40 min left" in second
    assert "80 %, 0:30 min, about 0:20 min left" in third


def test_progress_writes_few_lines_to_files():
    stream = io.StringIO()
    line = progress.Progress(stream)
    for number in range(101):
        line.update(number / 100)
    assert len(stream.getvalue().splitlines()) == 11


# ---- completion ----


def test_completion(capsys):
    pytest.importorskip("shtab")
    with pytest.raises(SystemExit) as stop:
        main(["--print-completion", "bash"])
    script = capsys.readouterr().out
    assert stop.value.code == 0 and "calibrate" in script and "--warm-up" in script
    done = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_completion_says_what_it_needs(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "shtab", None)
    with pytest.raises(SystemExit) as stop:
        main(["--print-completion", "zsh"])
    assert stop.value.code == commands.USER_ERROR and "completion]" in capsys.readouterr().err
