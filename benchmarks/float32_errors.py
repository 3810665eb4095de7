"""How far results in float32 are from those of the reference backend in float64.

    python -m benchmarks.float32_errors [--cases TEXT ...]

For the recorded networks (AMP_SHARED), and those that `make bench` has prepared in build/compare: the relative root
mean square of the difference, of the worst output; in mode fast, in mode exact, and of the reference backend in
float32. A graph that names float32 itself cannot be given float64; then the table says what the library said.
"""

import argparse

import numpy as np

import amp

from .compare.processes import ROOT
from .compare.stats import relative_rms
from .shared_cases import SharedModel, names

GROUPS = ("lstm", "mx191", "nlp", "real", "zoo")  # float32
LIMIT = 1e-5
COLUMNS = {"fast": {}, "exact": {"mode": "exact"}, "reference": {"backend": "reference"}}


class _Prepared:
    """A network of `make bench`, with its first batch."""

    def __init__(self, folder):
        self.model = amp.load(folder / "model-symbol.json", folder / "model-0000.params")
        with np.load(folder / "batch1/inputs.npz") as stored:
            self.inputs = dict(stored)


def _widened(arrays):
    """NumPy arrays, those in float32 as float64."""
    arrays = {name: array.asnumpy() if hasattr(array, "asnumpy") else array for name, array in arrays.items()}
    return {name: array.astype("float64") if array.dtype == "float32" else array for name, array in arrays.items()}


def _outputs(model, inputs, **options):
    shapes, dtypes = ({name: getattr(array, key) for name, array in inputs.items()} for key in ("shape", "dtype"))
    run = amp.Executor(*model, shapes, input_dtypes=dtypes, **options)
    return [output.asnumpy().astype("float64") for output in run(inputs)]


def errors(case):
    """{column: relative rms}"""
    symbol, *params = case.model
    wide = symbol, *(_widened(arrays) for arrays in params)
    expected = _outputs(wide, _widened(case.inputs), backend="reference")
    return {name: relative_rms(_outputs(case.model, case.inputs, **given), expected) for name, given in COLUMNS.items()}


def _cases(filters):
    """(name, function that makes the case)"""
    for folder in sorted((ROOT / "build/compare").glob("*/batch1")):
        if not filters or any(text in folder.parent.name for text in filters):
            yield folder.parent.name, lambda folder=folder: _Prepared(folder.parent)
    for name in names(GROUPS, filters):
        yield name, lambda name=name: SharedModel(name)


def main():
    """Prints the table, and which networks are beyond the limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", metavar="TEXT", help="cases with one of these in their names")
    filters = parser.parse_args().cases or ()
    print(f"\n{amp.cpu_info()}\n\n| network | {' | '.join(COLUMNS)} |\n|{'---|' * (len(COLUMNS) + 1)}")
    beyond = []
    for name, make in _cases(filters):
        try:
            found = errors(make())
        except amp.Error as error:
            print(f"| {name} | {str(error).partition(chr(10))[0][:80]} |", flush=True)
            continue
        print(f"| {name} | {' | '.join(f'{value:.1e}' for value in found.values())} |", flush=True)
        if not found["fast"] <= LIMIT:
            beyond.append(name)
    print(f"\nbeyond {LIMIT:.0e}: {', '.join(beyond) or 'none'}")


if __name__ == "__main__":
    main()
