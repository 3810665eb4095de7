"""Options as type checkers see them: made by tools/write_types.py from the tables of options."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, TypedDict

from numpy.typing import DTypeLike


class KeywordOptions(TypedDict, total=False):
    """Options of conversions that are keywords only."""

    widest_dtype_ops: Collection[str] | None
    neutral_ops: Collection[str] | None
    policy: Literal["default", "mxnet", "graphamp", "optimal"]
    minimize: Literal["time", "casts"] | None
    force: Mapping[str, DTypeLike] | None
    output_dtypes: DTypeLike | Mapping[str, DTypeLike] | Sequence[DTypeLike] | None
    fold_batch_norm: bool | None
    training: bool
    preset: Literal["mp0", "mp1", "mp2", "mp3", "mp4"] | Mapping[str, Any] | None
    categories: Mapping[str, Literal["allow", "infer", "deny"]] | None
    accuracy: Mapping[str, Any] | None
    limits: Mapping[str, float] | None
    data: Any | None
    sensitivity: Any | None
    keep_decision: bool
    machine: str | os.PathLike[str]


class ConversionOptions(KeywordOptions, total=False):
    """Options of `amp.convert_model`, {option: value}, which docs/precision.md explains.

    >>> options: amp.ConversionOptions = {"policy": "optimal", "minimize": "casts"}
    >>> net = amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=3, no_bias=True, name="fc")
    >>> low, *_ = amp.convert_model(net, {"fc_weight": np.ones((3, 4), "float32")}, {}, **options)
    >>> low.list_outputs()
    ['fc_output']
    """

    target_dtype: DTypeLike
    target_dtype_ops: Collection[str] | None
    fp32_ops: Collection[str] | None
    conditional_fp32_ops: Collection[tuple[str, str, Collection[Any]]] | None
    excluded_sym_names: Collection[str | re.Pattern[str]] | None
    cast_params_offline: bool


class ReduceOptions(ConversionOptions, total=False):
    """Of an executor's `reduce_precision`."""

    emulate: bool


class ExecutorOptions(TypedDict, total=False):
    """Options of `amp.Executor`."""

    backend: Literal["onednn", "reference"] | None
    reduce_precision: DTypeLike | ReduceOptions | None
    num_threads: int | None
    mode: Literal["fast", "exact"]
    monitor: bool
    audit: Literal[False, "warn", "strict"]
    batch_invariant: bool
    plans: int
    machine: str | os.PathLike[str]
    tune: bool
    count_denormals: bool


class TrainingOptions(TypedDict, total=False):
    """Options of `amp.TrainingExecutor`."""

    backend: Literal["onednn", "reference"] | None
    reduce_precision: DTypeLike | ReduceOptions | None
    num_threads: int | None
    mode: Literal["fast", "exact"]
    machine: str | os.PathLike[str]
    memory_budget: int | None
    count_denormals: bool
