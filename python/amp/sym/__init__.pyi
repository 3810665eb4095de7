"""Made by tools/make_stubs.py from the registry; `amp.sym` says what is what."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from ..base import NotImplementedForSymbol as NotImplementedForSymbol
from . import _internal as _internal
from .symbol import Group as Group
from .symbol import Symbol as Symbol
from .symbol import Variable as Variable
from .symbol import fromjson as fromjson
from .symbol import load as load
from .symbol import load_json as load_json
from .symbol import var as var

def Activation(
    data: Symbol | None = None,
    act_type: Literal["relu", "sigmoid", "log_sigmoid", "mish", "tanh", "softrelu", "softsign"] = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def BatchNorm(
    data: Symbol | None = None,
    gamma: Symbol | None = None,
    beta: Symbol | None = None,
    moving_mean: Symbol | None = None,
    moving_var: Symbol | None = None,
    eps: float = ...,
    momentum: float = ...,
    fix_gamma: bool = ...,
    use_global_stats: bool = ...,
    output_mean_var: bool = ...,
    axis: int = ...,
    cudnn_off: str = ...,
    min_calib_range: str = ...,
    max_calib_range: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def BatchNorm_v1(
    data: Symbol | None = None,
    gamma: Symbol | None = None,
    beta: Symbol | None = None,
    moving_mean: Symbol | None = None,
    moving_var: Symbol | None = None,
    eps: float = ...,
    momentum: float = ...,
    fix_gamma: bool = ...,
    use_global_stats: bool = ...,
    output_mean_var: bool = ...,
    axis: int = ...,
    cudnn_off: str = ...,
    min_calib_range: str = ...,
    max_calib_range: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def Cast(
    data: Symbol | None = None,
    dtype: Any = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def Concat(
    *data: Symbol,
    dim: int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def Convolution(
    data: Symbol | None = None,
    weight: Symbol | None = None,
    bias: Symbol | None = None,
    kernel: Sequence[int] | int = ...,
    num_filter: int = ...,
    stride: Sequence[int] | int = ...,
    dilate: Sequence[int] | int = ...,
    pad: Sequence[int] | int = ...,
    num_group: int = ...,
    no_bias: bool = ...,
    layout: Literal["None", "NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC"] = ...,
    workspace: str = ...,
    cudnn_tune: str = ...,
    cudnn_off: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def Convolution_v1(
    data: Symbol | None = None,
    weight: Symbol | None = None,
    bias: Symbol | None = None,
    kernel: Sequence[int] | int = ...,
    num_filter: int = ...,
    stride: Sequence[int] | int = ...,
    dilate: Sequence[int] | int = ...,
    pad: Sequence[int] | int = ...,
    num_group: int = ...,
    no_bias: bool = ...,
    layout: Literal["None", "NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC"] = ...,
    workspace: str = ...,
    cudnn_tune: str = ...,
    cudnn_off: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def CuDNNBatchNorm(
    data: Symbol | None = None,
    gamma: Symbol | None = None,
    beta: Symbol | None = None,
    moving_mean: Symbol | None = None,
    moving_var: Symbol | None = None,
    eps: float = ...,
    momentum: float = ...,
    fix_gamma: bool = ...,
    use_global_stats: bool = ...,
    output_mean_var: bool = ...,
    axis: int = ...,
    cudnn_off: str = ...,
    min_calib_range: str = ...,
    max_calib_range: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def Dropout(
    data: Symbol | None = None,
    p: float = ...,
    mode: Literal["training", "always"] = ...,
    axes: Sequence[int] | int = ...,
    cudnn_off: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def Flatten(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def FullyConnected(
    data: Symbol | None = None,
    weight: Symbol | None = None,
    bias: Symbol | None = None,
    num_hidden: int = ...,
    no_bias: bool = ...,
    flatten: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def LeakyReLU(
    data: Symbol | None = None,
    gamma: Symbol | None = None,
    act_type: Literal["leaky", "prelu", "elu", "selu", "gelu", "gelu_erf", "gelu_tanh", "rrelu"] = ...,
    slope: float = ...,
    lower_bound: float = ...,
    upper_bound: float = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def Pooling(
    data: Symbol | None = None,
    kernel: Sequence[int] | int = ...,
    pool_type: Literal["max", "avg", "sum", "lp"] = ...,
    global_pool: bool = ...,
    pooling_convention: Literal["valid", "full", "same"] = ...,
    stride: Sequence[int] | int = ...,
    pad: Sequence[int] | int = ...,
    p_value: int | None = ...,
    count_include_pad: bool | None = ...,
    layout: Literal["None", "NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC"] = ...,
    cudnn_off: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def Pooling_v1(
    data: Symbol | None = None,
    kernel: Sequence[int] | int = ...,
    pool_type: Literal["max", "avg", "sum", "lp"] = ...,
    global_pool: bool = ...,
    pooling_convention: Literal["valid", "full", "same"] = ...,
    stride: Sequence[int] | int = ...,
    pad: Sequence[int] | int = ...,
    p_value: int | None = ...,
    count_include_pad: bool | None = ...,
    layout: Literal["None", "NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC"] = ...,
    cudnn_off: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def Softmax(
    data: Symbol | None = None,
    label: Symbol | None = None,
    grad_scale: float = ...,
    ignore_label: float = ...,
    multi_output: bool = ...,
    use_ignore: bool = ...,
    preserve_shape: bool = ...,
    normalization: Literal["null", "batch", "valid"] = ...,
    out_grad: bool = ...,
    smooth_alpha: float = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def SoftmaxOutput(
    data: Symbol | None = None,
    label: Symbol | None = None,
    grad_scale: float = ...,
    ignore_label: float = ...,
    multi_output: bool = ...,
    use_ignore: bool = ...,
    preserve_shape: bool = ...,
    normalization: Literal["null", "batch", "valid"] = ...,
    out_grad: bool = ...,
    smooth_alpha: float = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _DivScalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _MinusScalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _MulScalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _Plus(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _PlusScalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _add(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _div_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _minus_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _mul_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_amp_cast(
    data: Symbol | None = None,
    dtype: Any = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_amp_multicast(
    *data: Symbol,
    cast_narrow: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_cast(
    data: Symbol | None = None,
    dtype: Any = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_clip(
    data: Symbol | None = None,
    a_min: float = ...,
    a_max: float = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_concatenate(
    *data: Symbol,
    dim: int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_activation(
    data: Symbol | None = None,
    act_type: Literal["relu", "sigmoid", "log_sigmoid", "mish", "tanh", "softrelu", "softsign"] = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_batch_flatten(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_batch_norm(
    data: Symbol | None = None,
    gamma: Symbol | None = None,
    beta: Symbol | None = None,
    moving_mean: Symbol | None = None,
    moving_var: Symbol | None = None,
    eps: float = ...,
    momentum: float = ...,
    fix_gamma: bool = ...,
    use_global_stats: bool = ...,
    output_mean_var: bool = ...,
    axis: int = ...,
    cudnn_off: str = ...,
    min_calib_range: str = ...,
    max_calib_range: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_cast(
    data: Symbol | None = None,
    dtype: Any = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_convolution(
    data: Symbol | None = None,
    weight: Symbol | None = None,
    bias: Symbol | None = None,
    kernel: Sequence[int] | int = ...,
    num_filter: int = ...,
    stride: Sequence[int] | int = ...,
    dilate: Sequence[int] | int = ...,
    pad: Sequence[int] | int = ...,
    num_group: int = ...,
    no_bias: bool = ...,
    layout: Literal["None", "NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC"] = ...,
    workspace: str = ...,
    cudnn_tune: str = ...,
    cudnn_off: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_dropout(
    data: Symbol | None = None,
    p: float = ...,
    mode: Literal["training", "always"] = ...,
    axes: Sequence[int] | int = ...,
    cudnn_off: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_fully_connected(
    data: Symbol | None = None,
    weight: Symbol | None = None,
    bias: Symbol | None = None,
    num_hidden: int = ...,
    no_bias: bool = ...,
    flatten: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_leaky_relu(
    data: Symbol | None = None,
    gamma: Symbol | None = None,
    act_type: Literal["leaky", "prelu", "elu", "selu", "gelu", "gelu_erf", "gelu_tanh", "rrelu"] = ...,
    slope: float = ...,
    lower_bound: float = ...,
    upper_bound: float = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_pooling(
    data: Symbol | None = None,
    kernel: Sequence[int] | int = ...,
    pool_type: Literal["max", "avg", "sum", "lp"] = ...,
    global_pool: bool = ...,
    pooling_convention: Literal["valid", "full", "same"] = ...,
    stride: Sequence[int] | int = ...,
    pad: Sequence[int] | int = ...,
    p_value: int | None = ...,
    count_include_pad: bool | None = ...,
    layout: Literal["None", "NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC"] = ...,
    cudnn_off: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_softmax(
    data: Symbol | None = None,
    length: Symbol | None = None,
    axis: int = ...,
    temperature: float | None = ...,
    dtype: Any = ...,
    use_length: bool | None = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _plus(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _plus_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def amp_cast(
    data: Symbol | None = None,
    dtype: Any = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def amp_multicast(
    *data: Symbol,
    cast_narrow: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def cast(
    data: Symbol | None = None,
    dtype: Any = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def clip(
    data: Symbol | None = None,
    a_min: float = ...,
    a_max: float = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def concat(
    *data: Symbol,
    dim: int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def elemwise_add(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def flatten(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def softmax(
    data: Symbol | None = None,
    length: Symbol | None = None,
    axis: int = ...,
    temperature: float | None = ...,
    dtype: Any = ...,
    use_length: bool | None = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
