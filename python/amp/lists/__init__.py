"""The operator lists that MXNet publishes for its conversion, as far as the operators are supported.

Policy 'mxnet' decides by them. Names are those under which operators are registered. `symbol_bf16` and `symbol_fp16`
hold the same lists under MXNet's names for them.
"""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING

from .. import _core
from .._options.checks import target_name

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import DTypeLike

__all__ = [
    "list_conditional_fp32_ops",
    "list_fp32_ops",
    "list_loss_output_functions",
    "list_lp16_fp32_ops",
    "list_lp16_ops",
    "list_lp16_use_fp32_params",
    "list_widest_type_cast",
]

_MODULES = ("symbol_bf16", "symbol_fp16")


@functools.cache
def _published(target):
    return _core.published_lists(target)


def _list(target_dtype, key):
    return list(_published(target_name(target_dtype))[key])


def list_lp16_ops(target_dtype: DTypeLike) -> list[str]:
    """Operators that always run in `target_dtype`, 'bfloat16' or 'float16'.

    A list of registered names. Raises ArgumentError for another dtype, as do the other functions.

    >>> "Convolution" in amp.list_lp16_ops("bfloat16")
    True
    """
    return _list(target_dtype, "target")


def list_fp32_ops(target_dtype: DTypeLike) -> list[str]:
    """Operators that keep the dtypes which they had before the conversion to `target_dtype`.

    Raises ArgumentError for a dtype that is neither 'bfloat16' nor 'float16'.

    >>> "SoftmaxOutput" in amp.list_fp32_ops("bfloat16")
    True
    """
    return _list(target_dtype, "fp32")


def list_lp16_fp32_ops(target_dtype: DTypeLike) -> list[str]:
    """Operators that run in `target_dtype` where one of their inputs has it already.

    >>> "Activation" in amp.list_lp16_fp32_ops("bfloat16")
    True
    """
    return _list(target_dtype, "neutral")


def list_conditional_fp32_ops(target_dtype: DTypeLike) -> list[tuple[str, str, list[str]]]:
    """(operator, attribute, [values]): operators that keep their dtypes where the attribute has one of the values.

    >>> amp.list_conditional_fp32_ops("bfloat16")[:1]
    [('LeakyReLU', 'act_type', ['selu'])]
    """
    return [(operator, attribute, list(values)) for operator, attribute, values in _list(target_dtype, "conditional")]


def list_widest_type_cast(target_dtype: DTypeLike) -> list[str]:
    """Operators that run in the widest dtype of their inputs.

    >>> "Concat" in amp.list_widest_type_cast("bfloat16")
    True
    """
    return _list(target_dtype, "widest")


def list_loss_output_functions(target_dtype: DTypeLike) -> list[str]:
    """Operators that compute losses, whose gradients a training loop would scale.

    >>> "SoftmaxOutput" in amp.list_loss_output_functions("bfloat16")
    True
    """
    return _list(target_dtype, "loss_outputs")


def list_lp16_use_fp32_params(target_dtype: DTypeLike) -> dict[str, list[str]] | None:
    """{operator: [name of each input that stays float32, '' for others]}; None where there is no such operator.

    >>> amp.list_lp16_use_fp32_params("bfloat16")["BatchNorm"]
    ['', 'gamma', 'beta', 'moving_mean', 'moving_var']
    """
    parameters = _published(target_name(target_dtype))["use_fp32_params"]
    return None if parameters is None else {operator: list(inputs) for operator, inputs in parameters.items()}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'amp.lists' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_MODULES})
