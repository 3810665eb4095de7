"""Dtypes, values and gradients of functions over all dtypes, beside those of an MXNet wheel: run by hand.

usage: python tests/python/operator_dtypes.py --against PYTHON [--only NAME ...]

PYTHON has MXNet 1.9.1 or 2.0.0b1. Each function of the tables below is called with small arrays of each dtype, or of
each pair of them; the result's dtype and values, and the gradients of its sum, are compared. A function that refuses
dtypes in both is no difference. What differs is printed, unless operator_dtypes.txt has a reason: `pattern  # reason`.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

DTYPES = "float16 float32 float64 int8 uint8 int32 int64 bool".split()
UNARY = {
    "np": """
        abs absolute arccos arccosh arcsin arcsinh arctan arctanh cbrt ceil cos cosh degrees deg2rad rad2deg exp
        expm1 fabs fix floor isfinite isinf isnan invert bitwise_not log log10 log1p log2 logical_not negative
        radians reciprocal rint sign sin sinh sqrt square tan tanh trunc sum mean prod max min argmax argmin
        cumsum std var ones_like zeros_like sort argsort ravel flip around trace""",
    "npx": "relu sigmoid log_softmax softmax gelu erf erfinv gamma gammaln digamma",
    "nd": """
        abs arccos arccosh arcsin arcsinh arctan arctanh cbrt ceil cos cosh degrees exp expm1 fix floor log log10
        log1p log2 logical_not negative radians rcbrt reciprocal relu rint round rsqrt sigmoid sign sin sinh
        softsign sqrt square tan tanh trunc erf gamma gammaln sum mean prod max min argmax norm ones_like
        zeros_like sort argsort softmax log_softmax hard_sigmoid""",
}
BINARY = {
    "np": """
        add subtract multiply divide true_divide mod fmod remainder power maximum minimum fmax fmin hypot arctan2
        copysign equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor
        bitwise_and bitwise_or bitwise_xor lcm gcd ldexp dot matmul floor_divide""",
    "npx": "",
    "nd": """
        broadcast_add broadcast_sub broadcast_mul broadcast_div broadcast_mod broadcast_power broadcast_maximum
        broadcast_minimum broadcast_hypot broadcast_equal broadcast_greater broadcast_lesser_equal
        broadcast_logical_and elemwise_add elemwise_sub elemwise_mul elemwise_div dot""",
}
# Values that all dtypes hold; the second operand has no zeros.
FIRST, SECOND = [[1, 2], [3, 1]], [[2, 1], [1, 3]]


def record(mx, only=()):
    """{case: [dtype, values, [[dtype of a gradient, values], ...]] or 'refused'} of this interpreter's MXNet."""
    cases = {}
    for place, names in UNARY.items():
        for name in names.split():
            for dtype in DTYPES if not only or name in only else ():
                cases[f"{place}.{name}({dtype})"] = outcome(mx, place, name, [(FIRST, dtype)])
    for place, names in BINARY.items():
        for name in names.split():
            for one in DTYPES if not only or name in only else ():
                for other in DTYPES:
                    case = f"{place}.{name}({one}, {other})"
                    cases[case] = outcome(mx, place, name, [(FIRST, one), (SECOND, other)])
    return {case: found for case, found in cases.items() if found is not None}


def outcome(mx, place, name, operands):
    """What a call gives; None for a function that this MXNet lacks."""
    function = getattr(getattr(mx, place), name, None)
    if function is None:
        return None
    arrays = mx.nd if place == "nd" else mx.np
    try:
        given = [arrays.array(values, dtype=dtype) for values, dtype in operands]
        result = function(*given)
        shown = [str(result.asnumpy().dtype), result.asnumpy().tolist()]
    except Exception:
        return "refused"
    return [*shown, gradients(mx, function, given)]


def gradients(mx, function, given):
    """Of the sum of the result; 'refused' where there are none."""
    try:
        for array in given:
            array.attach_grad()
        with mx.autograd.record():
            result = function(*given)
        result.backward()
        return [[str(array.grad.asnumpy().dtype), array.grad.asnumpy().tolist()] for array in given]
    except Exception:
        return "refused"


def run(python, source, only):
    """What `record` gives in another process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "found.json"
        command = [python, "-W", "ignore", __file__, "--record", str(path), "--source", source, "--only", *only]
        subprocess.run(command, check=True, cwd=folder, stderr=subprocess.DEVNULL)
        return json.loads(path.read_text())


def differences(ours, theirs):
    """{case: text} of what differs; functions that one of both lacks are left out."""
    found = {}
    for case in ours.keys() & theirs.keys():
        text = difference(ours[case], theirs[case])
        if text:
            found[case] = text
    return dict(sorted(found.items()))


def difference(mine, other):
    """How two outcomes differ, or ''."""
    if mine == "refused" or other == "refused":
        return "" if mine == other else f"{'refused' if mine == 'refused' else mine[0]}, MXNet {shown(other)}"
    if mine[0] != other[0]:
        return f"dtype {mine[0]}, MXNet {other[0]}"
    if not close(mine[1], other[1]):
        return f"values {mine[1]}, MXNet {other[1]}"
    if mine[2] == "refused" or other[2] == "refused":
        return "" if mine[2] == other[2] else f"gradients {mine[2]}, MXNet {other[2]}"
    for one, another in zip(mine[2], other[2]):
        if one[0] != another[0] or not close(one[1], another[1]):
            return f"gradient {one}, MXNet {another}"
    return ""


def shown(outcome):
    return outcome if outcome == "refused" else outcome[0]


def close(one, other):
    import numpy as np

    return np.shape(one) == np.shape(other) and np.allclose(one, other, rtol=2e-3, atol=1e-3, equal_nan=True)


def reasons():
    """[(pattern, reason)] of the list."""
    path = Path(__file__).with_suffix(".txt")
    lines = path.read_text().splitlines() if path.exists() else []
    pairs = [line.partition("  # ") for line in lines if line and not line.startswith("#")]
    return [(".*".join(map(re.escape, pattern.split("*"))), reason) for pattern, _, reason in pairs]


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--against", metavar="PYTHON")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--record", type=Path, help="what the two processes are told")
    parser.add_argument("--source", default="mxnet")
    options = parser.parse_args(argv)
    if options.record:
        warnings.simplefilter("ignore")
        mx = __import__(options.source, fromlist=["nd"])
        mx.util.set_np_shape(True)
        options.record.write_text(json.dumps(record(mx, options.only)))
        return 0
    ours, theirs = run(sys.executable, "amp.mxnet", options.only), run(options.against, "mxnet", options.only)
    known, unexplained = reasons(), 0
    found = differences(ours, theirs)
    for case, text in found.items():
        line = f"{case}: {text}"
        if not any(re.fullmatch(pattern, line) for pattern, _ in known):
            unexplained += 1
            print(line)
    print(f"{len(ours.keys() & theirs.keys())} cases, {len(found)} differences, {unexplained} without a reason")
    return bool(unexplained)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
