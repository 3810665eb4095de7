"""What the comparison of dtypes with MXNet's wheels calls a difference; the wheels themselves are asked by hand."""

import json
import re

import operator_dtypes as compared

import amp.mxnet as mx


def test_what_differs():
    same = ["float32", [1, 2], [["float32", [1, 1]]]]
    assert compared.difference(same, json.loads(json.dumps(same))) == ""
    assert compared.difference("refused", "refused") == ""
    assert compared.difference("refused", same) == "refused, MXNet float32"
    assert compared.difference(same, ["float64", *same[1:]]) == "dtype float32, MXNet float64"
    assert compared.difference(same, ["float32", [1, 3], same[2]]).startswith("values")
    assert compared.difference(same, [*same[:2], "refused"]).startswith("gradients")
    assert compared.difference(same, [*same[:2], [["int32", [1, 1]]]]).startswith("gradient")


def test_a_function_is_called_with_all_dtypes():
    cases = compared.record(mx, ["square", "broadcast_mul"])
    assert len(cases) == 2 * 8 + 64
    assert cases["nd.square(float32)"] == ["float32", [[1, 4], [9, 1]], [["float32", [[2, 4], [6, 2]]]]]


def test_reasons_are_those_of_lines():
    patterns = [pattern for pattern, _ in compared.reasons()]
    assert any(re.fullmatch(each, "np.add(int8, bool): int8, MXNet refused") for each in patterns)
    assert not any(re.fullmatch(each, "np.add(int8, bool): dtype int8, MXNet int32") for each in patterns)
