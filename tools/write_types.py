"""Writes what type checkers read of names that are made at run time, from the tables that they are made from.

usage: write_types.py [--check]

Options of conversions and executors become TypedDicts: their types are the annotations of the functions that check
them. Operators that are methods become stubs. `--check` compares instead, and fails where a file is out of date.
"""

import argparse
import inspect
import sys
from pathlib import Path

from amp import conversion as public_conversion
from amp._operator_names import FLUENT
from amp._options import conversion, executor, signatures
from amp.sym import fluent

PACKAGE = Path(__file__).resolve().parents[1] / "python" / "amp"
MADE = "made by tools/write_types.py"
# Methods of symbols that `import amp.mxnet` sets.
OF_MXNET = ("bind", "simple_bind", "optimize_for", "get_backend_symbol")
# What functions take by position is no keyword of theirs.
POSITIONAL = (*signatures.MXNETS.split(), "cast_params_offline")

HEAD = f'''"""Options as type checkers see them: {MADE} from the tables of options."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, TypedDict

from numpy.typing import DTypeLike
'''

OF_CONVERSIONS = """Options of `amp.convert_model`, {option: value}, which docs/precision.md explains.

    >>> options: amp.ConversionOptions = {"policy": "optimal", "minimize": "casts"}
    >>> net = amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=3, no_bias=True, name="fc")
    >>> low, *_ = amp.convert_model(net, {"fc_weight": np.ones((3, 4), "float32")}, {}, **options)
    >>> low.list_outputs()
    ['fc_output']
    """


def typed_options():
    """The text of amp/_options/typed.py."""
    by_keyword = {name: option for name, option in conversion.OPTIONS.items() if name not in POSITIONAL}
    by_position = {name: conversion.OPTIONS[name] for name in POSITIONAL}
    plain, gradients = (executor.public_options(runs) for runs in (executor.PLAIN, executor.GRADIENTS))
    return HEAD + "".join(
        (
            typed_dict("KeywordOptions", "TypedDict", "Options of conversions that are keywords only.", by_keyword),
            typed_dict("ConversionOptions", "KeywordOptions", OF_CONVERSIONS, by_position),
            typed_dict(
                "ReduceOptions", "ConversionOptions", "Of an executor's `reduce_precision`.", conversion.OF_EXECUTORS
            ),
            typed_dict("ExecutorOptions", "TypedDict", "Options of `amp.Executor`.", plain),
            typed_dict("TrainingOptions", "TypedDict", "Options of `amp.TrainingExecutor`.", gradients),
        )
    )


def typed_dict(name, base, doc, options):
    fields = "".join(f"    {key}: {type_of(option)}\n" for key, option in options.items())
    return f'\n\nclass {name}({base}, total=False):\n    """{doc}"""\n\n{fields}'


def type_of(option):
    """The annotation of the value that its check takes; None says nothing where it is the default."""
    annotation = inspect.signature(option.check).parameters["value"].annotation
    annotation = quoted(annotation)
    return annotation if option.default is not None else f"{annotation} | None"


CONVERSION_HEAD = f'''"""Conversions as type checkers see them: {MADE} from the table of options."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, overload

from numpy.typing import DTypeLike
from typing_extensions import Unpack

from ._core import NDArray
from ._options.typed import KeywordOptions
from ._trust.data import OnFailure
from ._types import Arrays, DType, Shapes
from .report import ConversionReport
from .sym import Symbol

'''
PARAMETERS = "dict[str, NDArray], dict[str, NDArray]"


def conversions():
    """The text of amp/conversion.pyi: what is returned depends on `return_report`."""
    symbol, model = public_conversion.convert_symbol, public_conversion.convert_model
    return CONVERSION_HEAD + "".join(
        (
            overloaded(symbol, "False", "Symbol"),
            overloaded(symbol, "True", "tuple[Symbol, ConversionReport]"),
            overloaded(model, "False", f"tuple[Symbol, {PARAMETERS}]"),
            overloaded(model, "True", f"tuple[Symbol, {PARAMETERS}, ConversionReport]"),
        )
    )


def overloaded(function, report, result):
    """A stub of a function of package conversion for one value of `return_report`."""
    lines = [f"@overload\ndef {function.__name__}(\n"]
    for name, parameter in inspect.signature(function).parameters.items():
        if name in conversion.OPTIONS and name not in POSITIONAL:
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and "    *,\n" not in lines:
            lines.append("    *,\n")
        lines.append(f"    {name}{typed_parameter(name, parameter, report)},\n")
    lines.append(f"    **options: Unpack[KeywordOptions],\n) -> {result}: ...\n")
    return "".join(lines)


def typed_parameter(name, parameter, report):
    """': annotation = default' of a parameter."""
    if name == "return_report":
        return f": Literal[{report}]" + (" = False" if report == "False" else "")
    annotation = type_of(conversion.OPTIONS[name]) if name in conversion.OPTIONS else parameter.annotation
    default = "" if parameter.default is parameter.empty else f" = {quoted(repr(parameter.default))}"
    return f": {annotation}{default}"


def quoted(code):
    return code.replace("'", '"')


def methods(cls, doc, result, names):
    """A stub of a class whose methods are operators."""
    lines = [f"    def {name}(self, *args: Any, **kwargs: Any) -> {result}: ...\n" for name in sorted(names)]
    return f'\nclass {cls}:\n    """{doc}"""\n\n' + "".join(lines)


def methods_of_symbols():
    """The text of amp/sym/fluent.pyi."""
    imports = (
        "from typing import Any\n\nfrom .._core import NDArray\nfrom .._types import ArrayLike\n"
        "from .symbol import Symbol"
    )
    return (
        f'"""Operators as methods of symbols: {MADE}."""\n\n{imports}\n'
        + methods("FluentMethods", "What a Symbol inherits.", "Symbol", {*fluent.NAMES, "astype"})
        + "    def eval(self, ctx: Any = None, **kwargs: ArrayLike) -> list[NDArray]: ...\n"
        + "".join(f"    def {name}(self, *args: Any, **kwargs: Any) -> Any: ...\n" for name in OF_MXNET)
    )


def methods_of_arrays():
    """The text of amp/nd/_fluent.pyi, which amp/_core.pyi reads; there is no such module when a program runs."""
    return (
        f'"""Operators as methods of arrays: {MADE}."""\n\nfrom typing import Any\n\nfrom .._core import NDArray\n'
        + methods("FluentArrayMethods", "What an NDArray has by its operators.", "NDArray", set(FLUENT) - {"reshape"})
    )


FILES = {
    PACKAGE / "_options" / "typed.py": typed_options,
    PACKAGE / "conversion.pyi": conversions,
    PACKAGE / "sym" / "fluent.pyi": methods_of_symbols,
    PACKAGE / "nd" / "_fluent.pyi": methods_of_arrays,
}


def out_of_date():
    """{file: its text as it should be} of those that have another one."""
    texts = {path: make() for path, make in FILES.items()}
    return {path: text for path, text in texts.items() if not path.exists() or path.read_text() != text}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    stale = out_of_date()
    if parser.parse_args().check:
        sys.exit("\n".join(f"{path} is out of date" for path in stale) or None)
    for path, text in stale.items():
        path.write_text(text)
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
