"""Functions that take the options of a conversion: signature and documentation come from the table of options."""

from __future__ import annotations

import functools
import inspect
import textwrap

from .conversion import OPTIONS

# As MXNet orders them, in front of what differs between its functions.
MXNETS = "target_dtype target_dtype_ops fp32_ops conditional_fp32_ops excluded_sym_names"
REQUIRED = inspect.Parameter.empty


def with_options(order, **defaults):
    """Decorates a function `f(own parameters, **options)`: it then has a signature of its own.

    `order` are the names of its parameters: the function's own and those of options, `*` in front of those that are
    passed by name only, `others` for all options that are not named. `defaults` are those of options that differ from
    the table's; REQUIRED is none. In the docstring, a line `{options}` becomes the description of the options.
    """

    def decorate(function):
        signature = _signature(function, order.split(), defaults)

        @functools.wraps(function)
        def call(*args, **kwargs):
            try:
                given = signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{function.__name__}() {error}") from None
            given.apply_defaults()
            return function(**given.arguments)

        call.__signature__ = signature
        described = [name for name in signature.parameters if name in OPTIONS]
        options = [description(name, OPTIONS[name].doc) for name in described]
        call.__doc__ = function.__doc__.replace("    {options}", "\n".join(options))
        return call

    return decorate


def _signature(function, order, defaults):
    own = inspect.signature(function).parameters
    if "others" in order:
        place = order.index("others")
        order[place : place + 1] = [name for name in OPTIONS if name not in order]
    parameters, kind = [], inspect.Parameter.POSITIONAL_OR_KEYWORD
    for name in order:
        if name == "*":
            kind = inspect.Parameter.KEYWORD_ONLY
        elif name in own:
            parameters.append(own[name].replace(kind=kind))
        else:
            default = defaults.get(name, OPTIONS[name].default)
            parameters.append(inspect.Parameter(name, kind, default=default))
    return inspect.Signature(parameters)


def description(name, doc, width=116):
    """The paragraph of an option in a docstring."""
    return textwrap.fill(
        f"{name}: {doc}", width, initial_indent=" " * 4, subsequent_indent=" " * 8, break_on_hyphens=False
    )
