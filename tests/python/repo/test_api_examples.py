"""Every public function and class has an example that runs."""

import ast
import doctest
import inspect
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import amp
import amp.mxnet as mx

sys.path.insert(0, str(Path(__file__).parents[3] / "docs"))
import api_pages  # noqa: E402

OBJECTS = api_pages.public_objects()


def docstrings():
    """{name: docstring with examples} of modules, functions, classes and methods."""
    texts = {name: module.__doc__ for name, module in api_pages.modules().items()}
    described = set(map(id, OBJECTS.values()))
    for name, value in OBJECTS.items():
        texts[name] = value.__doc__
        if isinstance(value, type):
            for member, attribute in api_pages.members_of(value, described).items():
                texts[f"{name}.{member}"] = api_pages.doc_of(attribute, member)
    return {name: inspect.cleandoc(text) for name, text in texts.items() if text and ">>> " in text}


EXAMPLES = docstrings()


@pytest.fixture
def folder_with_model(tmp_path, monkeypatch):
    """The working directory of an example: a small model with the input `data` (N, 4)."""
    monkeypatch.chdir(tmp_path)
    layer = amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=3, name="fc")
    net = amp.sym.relu(layer, name="relu")
    amp.save_checkpoint("model", 0, net, *amp.model_zoo.seeded_params(net, {"data": (1, 4)}))


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name, folder_with_model):
    """Runs it with `amp`, `mx` and `np`; what it prints has to be what the docstring says."""
    test = doctest.DocTestParser().get_doctest(EXAMPLES[name], {"amp": amp, "mx": mx, "np": np}, name, None, None)
    lines = []
    doctest.DocTestRunner(verbose=False).run(test, out=lines.append)
    assert test.examples and not lines, "".join(lines)


def test_every_function_and_class_has_an_example():
    """Errors of the package have none: who reads about them looks at what raises them."""
    missing = [name for name, value in OBJECTS.items() if name not in EXAMPLES and not api_pages.is_error(value)]
    assert not missing


def test_every_example_of_the_package_is_run():
    """None stands where the reference does not look."""
    written = {}
    for path in Path(amp.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Module)):
                written[ast.get_docstring(node) or ""] = f"{path.name}: {getattr(node, 'name', '')}"
    examples = {examples_of(text): place for text, place in written.items() if ">>> " in text}
    assert len(examples) > 300
    run = set(map(examples_of, EXAMPLES.values()))
    assert not [place for text, place in examples.items() if text not in run]


def examples_of(docstring):
    """Its end; what stands before may be made when the module is imported."""
    return docstring[docstring.index(">>> ") :]


def test_what_is_public_is_found():
    names = "amp.convert_model amp.nd.zeros amp.model_zoo.get_model amp.sym.Variable amp.report.ConversionReport"
    assert set(names.split()) <= set(OBJECTS) and len(OBJECTS) > 350
    by_mxnet = {name.rpartition(".")[2] for name in OBJECTS}
    assert {"Conv2D", "LSTM", "where", "exp", "One", "Module"} <= by_mxnet
    assert "amp.nd.zeros" in EXAMPLES and "amp.Executor.reshape" in EXAMPLES


def test_every_public_object_and_operator_has_an_entry_in_the_site():
    pages = api_pages.pages()
    text = "\n".join(pages.values())
    entries = set(re.findall(r"^\.\. auto(?:function|class):: (.*)$", text, re.MULTILINE))
    operators = {amp._core.operator_info(name)["name"] for name in amp._core.operator_names()}
    assert entries == {*OBJECTS, *(f"amp.sym.{name}" for name in operators if name.isidentifier())}
    site = (Path(__file__).parents[3] / "docs" / "index.md").read_text()
    assert [page for page in pages if f"\n   {page}\n" not in pages["index"] and f"\napi/{page}\n" not in site] == []


def test_the_reference_begins_with_what_programs_call_first():
    pages = api_pages.pages()
    entries = re.findall(r"^\.\. auto(?:function|class):: (.*)$", pages["amp"], re.MULTILINE)
    assert entries[0] == "amp.load" and "amp.convert_model" in entries[:5] and "amp.Executor" in entries[:9]
    assert pages["index"].index("\n   amp\n") < pages["index"].index("\n   amp.sym\n")
