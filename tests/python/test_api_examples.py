"""Every public function and class has an example that runs, and docs/api/ is what the docstrings say."""

import ast
import doctest
import importlib
import inspect
import sys
from pathlib import Path

import numpy as np
import pytest

import amp
import amp.mxnet as mx

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import make_api_reference as reference  # noqa: E402

OBJECTS = reference.public_objects()


def docstrings():
    """{name: docstring with examples} of modules, functions, classes and methods."""
    found = reference.homes()
    texts = {name: importlib.import_module(name).__doc__ for name in reference.MODULES}
    for name, value in OBJECTS.items():
        texts[name] = value.__doc__
        if isinstance(value, type):
            for member, attribute in reference.members_of(value, found).items():
                texts[f"{name}.{member}"] = reference.doc_of(attribute, member)
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
    missing = [name for name, value in OBJECTS.items() if name not in EXAMPLES and not reference.is_error(value)]
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
    names = "amp.convert_model amp.nd.zeros amp.mxnet.np.exp amp.mxnet.gluon.nn.Conv2D amp.mxnet.init.One"
    assert set(names.split()) <= set(OBJECTS) and len(OBJECTS) > 350
    assert "amp.nd.zeros" in EXAMPLES and "amp.Executor.reshape" in EXAMPLES


def test_the_reference_is_up_to_date(capsys):
    """If not: tools/make_api_reference.py"""
    assert reference.main(["--check"]) == 0, capsys.readouterr().out


def test_links_between_the_pages():
    texts = reference.pages()
    for page, text in texts.items():
        headings = {line.lstrip("# ").lower() for line in text.split("\n") if line.startswith("#")}
        for target, anchor in reference.re.findall(r"\]\(([\w.]*)(#[\w.]+)?\)", text):
            assert not target or target in texts, (page, target)
            if anchor and target:
                assert f"\n## {anchor[1:]}\n" in texts[target].lower(), (page, target, anchor)
            elif anchor:
                assert anchor[1:] in headings, (page, anchor)


def test_markdown_of_docstrings():
    doc = "Does it.\n\none: first\n    line\ntwo: second\n\n    code()\n\n>>> 1\n1"
    assert reference.markdown(doc) == (
        "Does it.\n\n- `one`: first\n  line\n- `two`: second\n\n```python\ncode()\n```\n\n```pycon\n>>> 1\n1\n```"
    )
    assert reference.markdown("Raises it: always.") == "Raises it: always."
