"""Our dtypes, values and gradients beside a sample of what MXNet's wheels answer, and what is called a difference."""

import json
import re
import sys

import operator_answers
import operator_calls
import operator_dtypes as compared
import pytest

import amp.mxnet as mx

FLOATS = {"of": [["np", "float32", [2], [1.0, 2.0]]], "grad": [["np", "float32", [2], [1.0, 1.0]]]}


@pytest.mark.parametrize("version", ["1.9.1", "2.0.0beta1"])
def test_answers_are_those_of_the_wheels(version):
    theirs = operator_answers.load(version)
    names = {place: list(calls) for place, calls in operator_calls.table()[0].items()}
    ours, _ = compared.run(sys.executable, version, names=names, cases=sorted(theirs))
    lines, _ = compared.unexplained(compared.differences(ours, theirs), compared.reasons())
    assert not lines, "\n".join(lines)
    assert len(theirs) > 2000 and not set(theirs) - set(ours)


def changed(**changes):
    """FLOATS with other parts: a dtype, values, or gradients."""
    copy = json.loads(json.dumps(FLOATS))
    for part, value in changes.items():
        if part == "grad":
            copy["grad"] = value
        else:
            copy["of"][0][["kind", "dtype", "shape", "values"].index(part)] = value
    return copy


def test_what_differs():
    assert compared.difference(FLOATS, changed()) == ""
    assert compared.difference(FLOATS, changed(values=[1.0, 2.00001])) == ""
    assert compared.difference("refused", "refused") == ""
    assert compared.difference("refused", FLOATS) == "refused, MXNet float32"
    assert compared.difference(FLOATS, changed(dtype="float64")) == "dtype float32, MXNet float64"
    assert compared.difference(FLOATS, changed(kind="nd")) == "kind np, MXNet nd"
    assert compared.difference(FLOATS, changed(shape=[2, 1])) == "shape [2], MXNet [2, 1]"
    assert compared.difference(FLOATS, changed(values=[1.0, 3.0])).startswith("values float32 [1.0, 2.0]")
    assert compared.difference(FLOATS, changed(grad="refused")) == "gradients [[1.0, 1.0]], MXNet gradients refused"
    other = [["np", "int32", [2], [1, 1]]]
    assert compared.difference(FLOATS, changed(grad=other)) == "gradient dtype float32, MXNet int32"


def test_numbers_are_near():
    nan, inf = float("nan"), float("inf")
    assert compared.close([nan, inf, 1], [nan, inf, 1.0001], "float32")
    assert not compared.close([nan], [0], "float32")
    assert not compared.close([inf], [1], "float32")
    assert not compared.close([1, 2], [1], "float32")
    assert compared.close([1.003], [1], "float16") and not compared.close([1.003], [1], "float32")


def test_a_function_is_called_with_all_dtypes():
    assert len(operator_calls.cases("np", "sqrt", ["f(N())"])) == 8
    cases = operator_calls.cases("nd", "broadcast_mul", ["f(A(), B())", "~f(2)"])
    assert len(cases) == 64 + 1
    assert cases["nd.broadcast_mul(A(), B()) int8 bool"] == ("f(A(), B())", "int8", "bool")
    mx.npx.reset_np()
    found = operator_calls.outcome(mx, "nd", "square", "f(A())", "float32", "")
    assert found == {
        "of": [["nd", "float32", [2, 2], [1, 4, 9, 1]]],
        "grad": [["nd", "float32", [2, 2], [2, 8, 18, 2]]],  # of the results times 1, 2, 3, 1
    }
    assert operator_calls.outcome(mx, "nd", "no_such_function", "f(A())", "float32", "") == "absent"
    assert operator_calls.outcome(mx, "nd", "dot", "f(A(2, 3), A(2, 3))", "float32", "") == "refused"


def test_reasons_are_those_of_lines():
    known = compared.reasons()
    difference = {
        "np.add(A(), B()) int8 bool": "int8, MXNet refused",
        "np.add(A(), B()) int8 int8": "dtype int8, MXNet x",
    }
    lines, used = compared.unexplained(difference, known)
    assert lines == ["np.add(A(), B()) int8 int8: dtype int8, MXNet x"] and sum(used.values()) == 1


def test_patterns():
    def matches(pattern, text):
        return re.fullmatch(compared.expression(pattern), text) is not None

    assert matches("np.<exp ndarray.log>(*: x", "np.ndarray.log(N()) int8: x")
    assert not matches("np.<exp log>(*: x", "np.expm1(N()) int8: x")
    assert not matches("np.(", "np_(") and matches("a*", "a")


def test_every_name_has_one_line():
    calls, reasons = operator_calls.table()
    assert sum(map(len, calls.values())) > 1200
    for place, names in reasons.items():
        assert all(reason and not reason.startswith("f(") for reason in names.values()), place


def test_a_process_that_ends_early_goes_on(tmp_path):
    path = tmp_path / "found.jsonl"
    path.write_text('["a", "refused"]\n["b"]\n')
    assert compared.ends_in_a_call(path)
    assert compared.read(path) == ({"a": "refused", "b": "crashed"}, {})
    path.write_text('["a", "refused"]\n["np", ["abs"]]\n')
    assert not compared.ends_in_a_call(path)
    assert compared.read(path) == ({"a": "refused"}, {"np": ["abs"]})
