"""Conversions as type checkers see them: made by tools/write_types.py from the table of options."""

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

@overload
def convert_symbol(
    sym: Symbol,
    input_dtypes: DType | Mapping[str, DType] | Sequence[DType] | None,
    param_dtypes: Mapping[str, DType] | None,
    target_dtype: DTypeLike = "bfloat16",
    target_dtype_ops: Collection[str] | None = None,
    fp32_ops: Collection[str] | None = None,
    conditional_fp32_ops: Collection[tuple[str, str, Collection[Any]]] | None = None,
    excluded_sym_names: Collection[str | re.Pattern[str]] | None = None,
    cast_params_offline: bool = False,
    *,
    input_shapes: Shapes | None = None,
    return_report: Literal[False] = False,
    **options: Unpack[KeywordOptions],
) -> Symbol: ...
@overload
def convert_symbol(
    sym: Symbol,
    input_dtypes: DType | Mapping[str, DType] | Sequence[DType] | None,
    param_dtypes: Mapping[str, DType] | None,
    target_dtype: DTypeLike = "bfloat16",
    target_dtype_ops: Collection[str] | None = None,
    fp32_ops: Collection[str] | None = None,
    conditional_fp32_ops: Collection[tuple[str, str, Collection[Any]]] | None = None,
    excluded_sym_names: Collection[str | re.Pattern[str]] | None = None,
    cast_params_offline: bool = False,
    *,
    input_shapes: Shapes | None = None,
    return_report: Literal[True],
    **options: Unpack[KeywordOptions],
) -> tuple[Symbol, ConversionReport]: ...
@overload
def convert_model(
    sym: Symbol,
    arg_params: Arrays | None,
    aux_params: Arrays | None,
    input_dtypes: DType | Mapping[str, DType] | Sequence[DType] | None = "float32",
    target_dtype: DTypeLike = "bfloat16",
    target_dtype_ops: Collection[str] | None = None,
    fp32_ops: Collection[str] | None = None,
    conditional_fp32_ops: Collection[tuple[str, str, Collection[Any]]] | None = None,
    excluded_sym_names: Collection[str | re.Pattern[str]] | None = None,
    cast_params_offline: bool = False,
    *,
    input_shapes: Shapes | None = None,
    verify: bool = False,
    on_failure: OnFailure = "raise",
    return_report: Literal[False] = False,
    **options: Unpack[KeywordOptions],
) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]: ...
@overload
def convert_model(
    sym: Symbol,
    arg_params: Arrays | None,
    aux_params: Arrays | None,
    input_dtypes: DType | Mapping[str, DType] | Sequence[DType] | None = "float32",
    target_dtype: DTypeLike = "bfloat16",
    target_dtype_ops: Collection[str] | None = None,
    fp32_ops: Collection[str] | None = None,
    conditional_fp32_ops: Collection[tuple[str, str, Collection[Any]]] | None = None,
    excluded_sym_names: Collection[str | re.Pattern[str]] | None = None,
    cast_params_offline: bool = False,
    *,
    input_shapes: Shapes | None = None,
    verify: bool = False,
    on_failure: OnFailure = "raise",
    return_report: Literal[True],
    **options: Unpack[KeywordOptions],
) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray], ConversionReport]: ...
