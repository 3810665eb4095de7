"""Made by tools/make_stubs.py from the registry; `amp.sym` says what is what."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from ..base import NotImplementedForSymbol as NotImplementedForSymbol
from . import _internal as _internal
from .functions import arange as arange
from .functions import eye as eye
from .functions import full as full
from .functions import hypot as hypot
from .functions import linspace as linspace
from .functions import maximum as maximum
from .functions import minimum as minimum
from .functions import ones as ones
from .functions import pow as pow
from .functions import power as power
from .functions import split_v2 as split_v2
from .functions import zeros as zeros
from .symbol import Group as Group
from .symbol import NumpySymbol as NumpySymbol
from .symbol import Symbol as Symbol
from .symbol import Variable as Variable
from .symbol import fromjson as fromjson
from .symbol import load as load
from .symbol import load_json as load_json
from .symbol import var as var

contrib: Any
image: Any
linalg: Any
np: Any
npx: Any
op: Any
random: Any
sparse: Any

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
    cudnn_off: str = ...,
    axis: int = ...,
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
    cudnn_off: str = ...,
    axis: int = ...,
    min_calib_range: str = ...,
    max_calib_range: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def BlockGrad(
    data: Symbol | None = None,
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
def Crop(
    *data: Symbol,
    offset: Sequence[int] | int = ...,
    h_w: Sequence[int] | int = ...,
    center_crop: bool = ...,
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
    cudnn_off: str = ...,
    axis: int = ...,
    min_calib_range: str = ...,
    max_calib_range: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def Deconvolution(
    data: Symbol | None = None,
    weight: Symbol | None = None,
    bias: Symbol | None = None,
    kernel: Sequence[int] | int = ...,
    num_filter: int = ...,
    stride: Sequence[int] | int = ...,
    dilate: Sequence[int] | int = ...,
    pad: Sequence[int] | int = ...,
    adj: Sequence[int] | int = ...,
    target_shape: Sequence[int] | int = ...,
    num_group: int = ...,
    no_bias: bool = ...,
    layout: Literal["None", "NCW", "NCHW", "NCDHW"] = ...,
    workspace: str = ...,
    cudnn_tune: str = ...,
    cudnn_off: str = ...,
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
def ElementWiseSum(
    *data: Symbol,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def Embedding(
    data: Symbol | None = None,
    weight: Symbol | None = None,
    input_dim: int = ...,
    output_dim: int = ...,
    dtype: Any = ...,
    sparse_grad: bool = ...,
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
def GroupNorm(
    data: Symbol | None = None,
    gamma: Symbol | None = None,
    beta: Symbol | None = None,
    num_groups: int = ...,
    eps: float = ...,
    output_mean_var: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def InstanceNorm(
    data: Symbol | None = None,
    gamma: Symbol | None = None,
    beta: Symbol | None = None,
    eps: float = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def L2Normalization(
    data: Symbol | None = None,
    eps: float = ...,
    mode: Literal["instance", "channel", "spatial"] = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def LRN(
    data: Symbol | None = None,
    alpha: float = ...,
    beta: float = ...,
    knorm: float = ...,
    nsize: int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def LayerNorm(
    data: Symbol | None = None,
    gamma: Symbol | None = None,
    beta: Symbol | None = None,
    axis: int = ...,
    eps: float = ...,
    output_mean_var: bool = ...,
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
def Pad(
    data: Symbol | None = None,
    mode: Literal["constant", "edge", "reflect"] = ...,
    pad_width: Sequence[int] | int = ...,
    constant_value: float = ...,
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
    output_size: str = ...,
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
    output_size: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def RNN(
    data: Symbol | None = None,
    parameters: Symbol | None = None,
    state: Symbol | None = None,
    state_cell: Symbol | None = None,
    sequence_length: Symbol | None = None,
    state_size: int = ...,
    num_layers: int = ...,
    bidirectional: bool = ...,
    mode: Literal["rnn_relu", "rnn_tanh", "lstm", "gru"] = ...,
    p: float = ...,
    state_outputs: bool = ...,
    projection_size: int | None = ...,
    lstm_state_clip_min: float | None = ...,
    lstm_state_clip_max: float | None = ...,
    lstm_state_clip_nan: bool = ...,
    use_sequence_length: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def Reshape(
    data: Symbol | None = None,
    shape: Sequence[int] | int = ...,
    reverse: bool = ...,
    target_shape: Sequence[int] | int = ...,
    keep_highest: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def SequenceLast(
    data: Symbol | None = None,
    sequence_length: Symbol | None = None,
    use_sequence_length: bool = ...,
    axis: int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def SequenceMask(
    data: Symbol | None = None,
    sequence_length: Symbol | None = None,
    use_sequence_length: bool = ...,
    value: float = ...,
    axis: int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def SequenceReverse(
    data: Symbol | None = None,
    sequence_length: Symbol | None = None,
    use_sequence_length: bool = ...,
    axis: int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def SliceChannel(
    data: Symbol | None = None,
    num_outputs: int = ...,
    axis: int = ...,
    squeeze_axis: bool = ...,
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
def SoftmaxActivation(
    data: Symbol | None = None,
    mode: Literal["instance", "channel"] = ...,
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
def SwapAxis(
    data: Symbol | None = None,
    dim1: int = ...,
    dim2: int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def UpSampling(
    *data: Symbol,
    scale: int = ...,
    num_filter: int = ...,
    sample_type: Literal["nearest", "bilinear"] = ...,
    multi_input_mode: Literal["concat", "sum"] = ...,
    workspace: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _Div(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _DivScalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _Equal(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _EqualScalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _Greater(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _GreaterEqualScalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _GreaterScalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _Greater_Equal(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _Hypot(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _HypotScalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _Lesser(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _LesserEqualScalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _LesserScalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _Lesser_Equal(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _LogicalAndScalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _LogicalOrScalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _LogicalXorScalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _Logical_And(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _Logical_Or(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _Logical_Xor(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _Maximum(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _MaximumScalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _Minimum(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _MinimumScalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _Minus(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _MinusScalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _Mod(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _ModScalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _Mul(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _MulScalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _NotEqualScalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _Not_Equal(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
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
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _Power(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _PowerScalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _RDivScalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _RMinusScalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _RModScalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _RPowerScalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _add(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _amp_attention(
    query: Symbol | None = None,
    key: Symbol | None = None,
    value: Symbol | None = None,
    lengths: Symbol | None = None,
    mask: Symbol | None = None,
    scale: float = ...,
    masking: Literal["none", "length", "mask"] = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _amp_interleaved_attention(
    queries_keys_values: Symbol | None = None,
    lengths: Symbol | None = None,
    scale: float = ...,
    masking: Literal["none", "length"] = ...,
    heads: int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _arange(
    start: float = ...,
    stop: float | None = ...,
    step: float = ...,
    repeat: int = ...,
    infer_range: bool = ...,
    ctx: str = ...,
    dtype: Any = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _cond(
    num_args: int = ...,
    num_outputs: int = ...,
    cond_input_locs: Sequence[int] | int = ...,
    then_input_locs: Sequence[int] | int = ...,
    else_input_locs: Sequence[int] | int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _contrib_AdaptiveAvgPooling2D(
    data: Symbol | None = None,
    output_size: Sequence[int] | int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _contrib_BatchNormWithReLU(
    data: Symbol | None = None,
    gamma: Symbol | None = None,
    beta: Symbol | None = None,
    moving_mean: Symbol | None = None,
    moving_var: Symbol | None = None,
    quantized: bool = ...,
    enabled_float_output: Any = ...,
    with_bn: str = ...,
    with_act: str = ...,
    with_relu: str = ...,
    with_sum: str = ...,
    with_postsum_act: str = ...,
    with_postsum_relu: str = ...,
    with_eltwise: str = ...,
    dedup_sum: str = ...,
    channel_wise_quantize: str = ...,
    min_calib_range: str = ...,
    max_calib_range: str = ...,
    eps: str = ...,
    momentum: str = ...,
    fix_gamma: str = ...,
    use_global_stats: str = ...,
    output_mean_var: str = ...,
    axis: str = ...,
    cudnn_off: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _contrib_BilinearResize2D(
    data: Symbol | None = None,
    height: int = ...,
    width: int = ...,
    scale_height: float | None = ...,
    scale_width: float | None = ...,
    mode: str = ...,
    align_corners: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _contrib_ROIAlign(
    data: Symbol | None = None,
    rois: Symbol | None = None,
    pooled_size: Sequence[int] | int = ...,
    spatial_scale: float = ...,
    sample_ratio: int = ...,
    position_sensitive: bool = ...,
    aligned: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _contrib_SyncBatchNorm(
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
    cudnn_off: str = ...,
    ndev: str = ...,
    key: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _contrib_arange_like(
    data: Symbol | None = None,
    start: float = ...,
    step: float = ...,
    repeat: int = ...,
    ctx: str = ...,
    axis: int | None = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _contrib_box_decode(
    data: Symbol | None = None,
    anchors: Symbol | None = None,
    std0: float = ...,
    std1: float = ...,
    std2: float = ...,
    std3: float = ...,
    clip: float = ...,
    format: Literal["center", "corner"] = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _contrib_box_nms(
    data: Symbol | None = None,
    overlap_thresh: float = ...,
    valid_thresh: float = ...,
    topk: int = ...,
    coord_start: int = ...,
    score_index: int = ...,
    id_index: int = ...,
    background_id: int = ...,
    force_suppress: bool = ...,
    in_format: Literal["corner", "center"] = ...,
    out_format: Literal["corner", "center"] = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _contrib_box_non_maximum_suppression(
    data: Symbol | None = None,
    overlap_thresh: float = ...,
    valid_thresh: float = ...,
    topk: int = ...,
    coord_start: int = ...,
    score_index: int = ...,
    id_index: int = ...,
    background_id: int = ...,
    force_suppress: bool = ...,
    in_format: Literal["corner", "center"] = ...,
    out_format: Literal["corner", "center"] = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _contrib_div_sqrt_dim(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _contrib_interleaved_matmul_encdec_qk(
    queries: Symbol | None = None,
    keys_values: Symbol | None = None,
    heads: int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _contrib_interleaved_matmul_encdec_valatt(
    keys_values: Symbol | None = None,
    attention: Symbol | None = None,
    heads: int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _contrib_interleaved_matmul_selfatt_qk(
    queries_keys_values: Symbol | None = None,
    heads: int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _contrib_interleaved_matmul_selfatt_valatt(
    queries_keys_values: Symbol | None = None,
    attention: Symbol | None = None,
    heads: int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _copy(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _copyto(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _div(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _div_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _equal(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _equal_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _eye(
    N: int = ...,
    M: int = ...,
    k: int = ...,
    ctx: str = ...,
    dtype: Any = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _foreach(
    num_args: int = ...,
    num_outputs: int = ...,
    num_out_data: int = ...,
    in_state_locs: Sequence[int] | int = ...,
    in_data_locs: Sequence[int] | int = ...,
    remain_locs: Sequence[int] | int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _full(
    shape: Sequence[int] | int = ...,
    value: float = ...,
    ctx: str = ...,
    dtype: Any = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _greater(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _greater_equal(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _greater_equal_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _greater_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _hypot(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _hypot_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _identity_with_attr_like_rhs(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _lesser(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _lesser_equal(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _lesser_equal_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _lesser_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _linalg_gemm2(
    A: Symbol | None = None,
    B: Symbol | None = None,
    transpose_a: bool = ...,
    transpose_b: bool = ...,
    alpha: float = ...,
    axis: int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _linspace(
    start: float = ...,
    stop: float = ...,
    num: int = ...,
    endpoint: bool = ...,
    ctx: str = ...,
    dtype: Any = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _logical_and(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _logical_and_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _logical_or(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _logical_or_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _logical_xor(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _logical_xor_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _maximum(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _maximum_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _minimum(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _minimum_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _minus(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _minus_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _mod(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _mod_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _mul(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _mul_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _not_equal(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _not_equal_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _np_all(
    data: Symbol | None = None,
    axis: Sequence[int] | int | None = ...,
    keepdims: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _np_any(
    data: Symbol | None = None,
    axis: Sequence[int] | int | None = ...,
    keepdims: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _np_atleast_1d(
    *data: Symbol,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _np_atleast_2d(
    *data: Symbol,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _np_atleast_3d(
    *data: Symbol,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _np_broadcast_to(
    data: Symbol | None = None,
    shape: Sequence[int] | int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _np_copy(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _np_cumsum(
    a: Symbol | None = None,
    axis: int | None = ...,
    dtype: Any = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _np_diag(
    data: Symbol | None = None,
    k: int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _np_dot(
    a: Symbol | None = None,
    b: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _np_max(
    data: Symbol | None = None,
    axis: Sequence[int] | int | None = ...,
    keepdims: bool = ...,
    initial: float | None = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _np_min(
    data: Symbol | None = None,
    axis: Sequence[int] | int | None = ...,
    keepdims: bool = ...,
    initial: float | None = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _np_moveaxis(
    data: Symbol | None = None,
    source: Sequence[int] | int = ...,
    destination: Sequence[int] | int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _np_prod(
    data: Symbol | None = None,
    axis: Sequence[int] | int | None = ...,
    keepdims: bool = ...,
    initial: float | None = ...,
    dtype: Any = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _np_roll(
    data: Symbol | None = None,
    shift: Sequence[int] | int | None = ...,
    axis: Sequence[int] | int | None = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _np_squeeze(
    data: Symbol | None = None,
    axis: Sequence[int] | int | None = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _np_sum(
    data: Symbol | None = None,
    axis: Sequence[int] | int | None = ...,
    keepdims: bool = ...,
    initial: float | None = ...,
    dtype: Any = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_abs(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_absolute(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_add(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_add_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_all(
    data: Symbol | None = None,
    axis: Sequence[int] | int | None = ...,
    keepdims: bool = ...,
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
def _npi_any(
    data: Symbol | None = None,
    axis: Sequence[int] | int | None = ...,
    keepdims: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_arange(
    start: float = ...,
    stop: float | None = ...,
    step: float = ...,
    repeat: int = ...,
    infer_range: bool = ...,
    ctx: str = ...,
    dtype: Any = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_arccos(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_arccosh(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_arcsin(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_arcsinh(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_arctan(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_arctan2(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_arctan2_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_arctanh(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_argmax(
    data: Symbol | None = None,
    axis: int | None = ...,
    keepdims: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_argmin(
    data: Symbol | None = None,
    axis: int | None = ...,
    keepdims: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_argsort(
    data: Symbol | None = None,
    axis: int | None = ...,
    is_ascend: bool = ...,
    is_ascend_s: bool | None = ...,
    dtype: Any = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_around(
    x: Symbol | None = None,
    decimals: int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_array_split(
    data: Symbol | None = None,
    indices: Sequence[int] | int = ...,
    axis: int = ...,
    squeeze_axis: bool = ...,
    sections: int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_atleast_1d(
    *data: Symbol,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_atleast_2d(
    *data: Symbol,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_atleast_3d(
    *data: Symbol,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_average(
    a: Symbol | None = None,
    weights: Symbol | None = None,
    axis: Sequence[int] | int | None = ...,
    returned: bool = ...,
    weighted: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_bitwise_and(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_bitwise_and_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_bitwise_left_shift(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_bitwise_left_shift_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_bitwise_not(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_bitwise_or(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_bitwise_or_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_bitwise_right_shift(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_bitwise_right_shift_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_bitwise_xor(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_bitwise_xor_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_broadcast_to(
    data: Symbol | None = None,
    shape: Sequence[int] | int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_cast(
    data: Symbol | None = None,
    dtype: Any = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_cbrt(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_ceil(
    data: Symbol | None = None,
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
def _npi_column_stack(
    *data: Symbol,
    dim: int | None = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_concatenate(
    *data: Symbol,
    dim: int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_copy(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_copysign(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_copysign_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_copyto(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_cos(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_cosh(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_cumsum(
    a: Symbol | None = None,
    axis: int | None = ...,
    dtype: Any = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_degrees(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_diag(
    data: Symbol | None = None,
    k: int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_diff(
    a: Symbol | None = None,
    n: int = ...,
    axis: int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_dot(
    a: Symbol | None = None,
    b: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_dstack(
    *data: Symbol,
    dim: int | None = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_equal(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_equal_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_exp(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_expand_dims(
    data: Symbol | None = None,
    axis: int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_expm1(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_eye(
    N: int = ...,
    M: int | None = ...,
    k: int = ...,
    ctx: str = ...,
    dtype: Any = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_fix(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_flip(
    data: Symbol | None = None,
    axis: Sequence[int] | int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_floor(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_floor_divide(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_floor_divide_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_fmax(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_fmax_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_fmin(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_fmin_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_fmod(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_fmod_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_full(
    shape: Sequence[int] | int = ...,
    value: float | None = ...,
    int_value: int | None = ...,
    uint_value: float | None = ...,
    double_value: float | None = ...,
    value_type: int = ...,
    ctx: str = ...,
    dtype: Any = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_full_like(
    a: Symbol | None = None,
    fill_value: float = ...,
    dtype: Any = ...,
    ctx: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_gather_nd(
    data: Symbol | None = None,
    indices: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_greater(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_greater_equal(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_greater_equal_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_greater_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_hstack(
    *data: Symbol,
    dim: int | None = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_hypot(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_hypot_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_identity(
    shape: Sequence[int] | int = ...,
    ctx: str = ...,
    dtype: Any = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_isfinite(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_isinf(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_isnan(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_isneginf(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_isposinf(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_ldexp(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_ldexp_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_less(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_less_equal(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_less_equal_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_less_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_linspace(
    start: float | None = ...,
    stop: float | None = ...,
    start_int: float | None = ...,
    stop_int: float | None = ...,
    start_uint: float | None = ...,
    stop_uint: float | None = ...,
    start_double: float | None = ...,
    stop_double: float | None = ...,
    value_type: int = ...,
    num: int = ...,
    endpoint: bool = ...,
    ctx: str = ...,
    dtype: Any = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_log(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_log10(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_log1p(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_log2(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_logaddexp(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_logaddexp_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_logical_and(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_logical_and_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_logical_not(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_logical_or(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_logical_or_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_logical_xor(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_logical_xor_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_logspace(
    start: float = ...,
    stop: float = ...,
    base: float = ...,
    num: int = ...,
    endpoint: bool = ...,
    ctx: str = ...,
    dtype: Any = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_matmul(
    a: Symbol | None = None,
    b: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_max(
    data: Symbol | None = None,
    axis: Sequence[int] | int | None = ...,
    keepdims: bool = ...,
    initial: float | None = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_maximum(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_maximum_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_mean(
    data: Symbol | None = None,
    axis: Sequence[int] | int | None = ...,
    keepdims: bool = ...,
    initial: float | None = ...,
    dtype: Any = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_min(
    data: Symbol | None = None,
    axis: Sequence[int] | int | None = ...,
    keepdims: bool = ...,
    initial: float | None = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_minimum(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_minimum_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_mod(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_mod_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_moveaxis(
    data: Symbol | None = None,
    source: Sequence[int] | int = ...,
    destination: Sequence[int] | int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_multiply(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_multiply_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_negative(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_norm(
    data: Symbol | None = None,
    ord: float = ...,
    axis: Sequence[int] | int | None = ...,
    keepdims: bool = ...,
    flag: int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_not_equal(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_not_equal_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_ones(
    shape: Sequence[int] | int = ...,
    ctx: str = ...,
    dtype: Any = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_pad(
    pad_width: Sequence[Sequence[int]] = ...,
    mode: Literal["constant", "edge", "reflect", "symmetric", "maximum", "minimum"] = ...,
    constant_values: float = ...,
    constant_value: float | None = ...,
    reflect_type: Literal["even"] = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_percentile(
    a: Symbol | None = None,
    q: Symbol | None = None,
    axis: Sequence[int] | int | None = ...,
    interpolation: Literal["linear", "lower", "higher", "midpoint", "nearest"] = ...,
    keepdims: bool = ...,
    q_scalar: float | None = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_power(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_power_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_prod(
    data: Symbol | None = None,
    axis: Sequence[int] | int | None = ...,
    keepdims: bool = ...,
    initial: float | None = ...,
    dtype: Any = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_radians(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_rarctan2_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_rbitwise_left_shift_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_rbitwise_right_shift_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_rcopysign_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_reciprocal(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_repeat(
    data: Symbol | None = None,
    repeats: int = ...,
    axis: int | None = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_rfloor_divide_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_rfmod_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_rint(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_rldexp_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_rmod_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_rnn_param_concat(
    *data: Symbol,
    dim: int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_roll(
    data: Symbol | None = None,
    shift: Sequence[int] | int | None = ...,
    axis: Sequence[int] | int | None = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_rot90(
    data: Symbol | None = None,
    k: int = ...,
    axes: Sequence[int] | int | None = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_rpower_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_rsubtract_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_rtrue_divide_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_sign(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_sin(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_sinh(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_slice(
    data: Symbol | None = None,
    begin: Sequence[int] | int | None = ...,
    end: Sequence[int] | int | None = ...,
    step: Sequence[int] | int | None = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_sort(
    data: Symbol | None = None,
    axis: int | None = ...,
    is_ascend: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_split(
    data: Symbol | None = None,
    indices: Sequence[int] | int = ...,
    axis: int = ...,
    squeeze_axis: bool = ...,
    sections: int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_sqrt(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_square(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_squeeze(
    data: Symbol | None = None,
    axis: Sequence[int] | int | None = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_stack(
    *data: Symbol,
    axis: int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_std(
    a: Symbol | None = None,
    axis: Sequence[int] | int | None = ...,
    dtype: Any = ...,
    keepdims: bool = ...,
    ddof: int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_subtract(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_subtract_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_sum(
    data: Symbol | None = None,
    axis: Sequence[int] | int | None = ...,
    keepdims: bool = ...,
    initial: float | None = ...,
    dtype: Any = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_swapaxes(
    data: Symbol | None = None,
    dim1: int = ...,
    dim2: int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_take(
    a: Symbol | None = None,
    indices: Symbol | None = None,
    axis: int = ...,
    mode: Literal["clip", "wrap", "raise"] = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_tan(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_tanh(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_tile(
    data: Symbol | None = None,
    reps: Sequence[int] | int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_transpose(
    data: Symbol | None = None,
    axes: Sequence[int] | int | None = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_tril(
    data: Symbol | None = None,
    k: int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_triu(
    data: Symbol | None = None,
    k: int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_true_divide(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_true_divide_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_trunc(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_var(
    a: Symbol | None = None,
    axis: Sequence[int] | int | None = ...,
    dtype: Any = ...,
    keepdims: bool = ...,
    ddof: int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_vstack(
    *data: Symbol,
    dim: int | None = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_where(
    condition: Symbol | None = None,
    x: Symbol | None = None,
    y: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_where_lscalar(
    condition: Symbol | None = None,
    x: Symbol | None = None,
    scalar: float = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_where_rscalar(
    condition: Symbol | None = None,
    y: Symbol | None = None,
    scalar: float = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_where_scalar2(
    condition: Symbol | None = None,
    x: float = ...,
    y: float = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npi_zeros(
    shape: Sequence[int] | int = ...,
    ctx: str = ...,
    dtype: Any = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_activation(
    data: Symbol | None = None,
    act_type: Literal["relu", "sigmoid", "log_sigmoid", "mish", "tanh", "softrelu", "softsign"] = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_add_n(
    *data: Symbol,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_arange_like(
    data: Symbol | None = None,
    start: float = ...,
    step: float = ...,
    repeat: int = ...,
    ctx: str = ...,
    axis: int | None = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_batch_dot(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    transpose_a: bool = ...,
    transpose_b: bool = ...,
    forward_stype: str = ...,
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
    cudnn_off: str = ...,
    axis: int = ...,
    min_calib_range: str = ...,
    max_calib_range: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_box_decode(
    data: Symbol | None = None,
    anchors: Symbol | None = None,
    std0: float = ...,
    std1: float = ...,
    std2: float = ...,
    std3: float = ...,
    clip: float = ...,
    format: Literal["center", "corner"] = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_box_nms(
    data: Symbol | None = None,
    overlap_thresh: float = ...,
    valid_thresh: float = ...,
    topk: int = ...,
    coord_start: int = ...,
    score_index: int = ...,
    id_index: int = ...,
    background_id: int = ...,
    force_suppress: bool = ...,
    in_format: Literal["corner", "center"] = ...,
    out_format: Literal["corner", "center"] = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_broadcast_greater(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_broadcast_like(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    lhs_axes: Sequence[int] | int | None = ...,
    rhs_axes: Sequence[int] | int | None = ...,
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
def _npx_deconvolution(
    data: Symbol | None = None,
    weight: Symbol | None = None,
    bias: Symbol | None = None,
    kernel: Sequence[int] | int = ...,
    num_filter: int = ...,
    stride: Sequence[int] | int = ...,
    dilate: Sequence[int] | int = ...,
    pad: Sequence[int] | int = ...,
    adj: Sequence[int] | int = ...,
    target_shape: Sequence[int] | int = ...,
    num_group: int = ...,
    no_bias: bool = ...,
    layout: Literal["None", "NCW", "NCHW", "NCDHW"] = ...,
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
def _npx_embedding(
    data: Symbol | None = None,
    weight: Symbol | None = None,
    input_dim: int = ...,
    output_dim: int = ...,
    dtype: Any = ...,
    sparse_grad: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_erf(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_erfinv(
    data: Symbol | None = None,
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
def _npx_gamma(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_gammaln(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_group_norm(
    data: Symbol | None = None,
    gamma: Symbol | None = None,
    beta: Symbol | None = None,
    num_groups: int = ...,
    eps: float = ...,
    output_mean_var: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_instance_norm(
    data: Symbol | None = None,
    gamma: Symbol | None = None,
    beta: Symbol | None = None,
    eps: float = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_layer_norm(
    data: Symbol | None = None,
    gamma: Symbol | None = None,
    beta: Symbol | None = None,
    axis: int = ...,
    eps: float = ...,
    output_mean_var: bool = ...,
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
def _npx_log_softmax(
    data: Symbol | None = None,
    length: Symbol | None = None,
    axis: int = ...,
    temperature: float | None = ...,
    dtype: Any = ...,
    use_length: bool | None = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_masked_log_softmax(
    data: Symbol | None = None,
    mask: Symbol | None = None,
    axis: int = ...,
    temperature: float = ...,
    normalize: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_masked_softmax(
    data: Symbol | None = None,
    mask: Symbol | None = None,
    axis: int = ...,
    temperature: float = ...,
    normalize: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_norm(
    data: Symbol | None = None,
    ord: int = ...,
    axis: Sequence[int] | int | None = ...,
    out_dtype: Any = ...,
    keepdims: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_one_hot(
    indices: Symbol | None = None,
    depth: int = ...,
    on_value: float = ...,
    off_value: float = ...,
    dtype: Any = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_pick(
    data: Symbol | None = None,
    index: Symbol | None = None,
    axis: int | None = ...,
    keepdims: bool = ...,
    mode: Literal["clip", "wrap"] = ...,
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
    output_size: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_relu(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_reshape(
    data: Symbol | None = None,
    newshape: Sequence[int] | int = ...,
    reverse: bool = ...,
    order: Literal["C"] = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_reshape_like(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    lhs_begin: int | None = ...,
    lhs_end: int | None = ...,
    rhs_begin: int | None = ...,
    rhs_end: int | None = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_rnn(
    data: Symbol | None = None,
    parameters: Symbol | None = None,
    state: Symbol | None = None,
    state_cell: Symbol | None = None,
    sequence_length: Symbol | None = None,
    state_size: int = ...,
    num_layers: int = ...,
    bidirectional: bool = ...,
    mode: Literal["rnn_relu", "rnn_tanh", "lstm", "gru"] = ...,
    p: float = ...,
    state_outputs: bool = ...,
    projection_size: int | None = ...,
    lstm_state_clip_min: float | None = ...,
    lstm_state_clip_max: float | None = ...,
    lstm_state_clip_nan: bool = ...,
    use_sequence_length: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_sequence_last(
    data: Symbol | None = None,
    sequence_length: Symbol | None = None,
    use_sequence_length: bool = ...,
    axis: int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_sequence_mask(
    data: Symbol | None = None,
    sequence_length: Symbol | None = None,
    use_sequence_length: bool = ...,
    value: float = ...,
    axis: int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_sequence_reverse(
    data: Symbol | None = None,
    sequence_length: Symbol | None = None,
    use_sequence_length: bool = ...,
    axis: int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_shape_array(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_sigmoid(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_slice(
    data: Symbol | None = None,
    begin: Sequence[int] | int | None = ...,
    end: Sequence[int] | int | None = ...,
    step: Sequence[int] | int | None = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_slice_like(
    data: Symbol | None = None,
    shape_like: Symbol | None = None,
    axes: Sequence[int] | int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_smooth_l1(
    data: Symbol | None = None,
    scalar: float = ...,
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
def _npx_softsign(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_stop_gradient(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_sync_batch_norm(
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
    cudnn_off: str = ...,
    ndev: str = ...,
    key: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _npx_topk(
    data: Symbol | None = None,
    axis: int | None = ...,
    k: int = ...,
    ret_typ: Literal["value", "indices", "mask", "both"] = ...,
    is_ascend: bool = ...,
    dtype: Any = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _ones(
    shape: Sequence[int] | int = ...,
    ctx: str = ...,
    dtype: Any = ...,
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
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _power(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _power_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _rdiv_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _rminus_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _rmod_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _rnn_param_concat(
    *data: Symbol,
    dim: int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _rpower_scalar(
    data: Symbol | None = None,
    scalar: float = ...,
    is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sg_mkldnn_conv(
    quantized: bool = ...,
    enabled_float_output: Any = ...,
    with_bn: str = ...,
    with_act: str = ...,
    with_relu: str = ...,
    with_sum: str = ...,
    with_postsum_act: str = ...,
    with_postsum_relu: str = ...,
    with_eltwise: str = ...,
    dedup_sum: str = ...,
    channel_wise_quantize: str = ...,
    min_calib_range: str = ...,
    max_calib_range: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sg_mkldnn_fully_connected(
    quantized: bool = ...,
    enabled_float_output: Any = ...,
    with_bn: str = ...,
    with_act: str = ...,
    with_relu: str = ...,
    with_sum: str = ...,
    with_postsum_act: str = ...,
    with_postsum_relu: str = ...,
    with_eltwise: str = ...,
    dedup_sum: str = ...,
    channel_wise_quantize: str = ...,
    min_calib_range: str = ...,
    max_calib_range: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sg_mkldnn_selfatt_qk(
    quantized: bool = ...,
    enabled_float_output: Any = ...,
    with_bn: str = ...,
    with_act: str = ...,
    with_relu: str = ...,
    with_sum: str = ...,
    with_postsum_act: str = ...,
    with_postsum_relu: str = ...,
    with_eltwise: str = ...,
    dedup_sum: str = ...,
    channel_wise_quantize: str = ...,
    min_calib_range: str = ...,
    max_calib_range: str = ...,
    heads: str = ...,
    enable_float_output: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sg_mkldnn_selfatt_valatt(
    quantized: bool = ...,
    enabled_float_output: Any = ...,
    with_bn: str = ...,
    with_act: str = ...,
    with_relu: str = ...,
    with_sum: str = ...,
    with_postsum_act: str = ...,
    with_postsum_relu: str = ...,
    with_eltwise: str = ...,
    dedup_sum: str = ...,
    channel_wise_quantize: str = ...,
    min_calib_range: str = ...,
    max_calib_range: str = ...,
    heads: str = ...,
    enable_float_output: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sg_onednn_batch_dot(
    quantized: bool = ...,
    enabled_float_output: Any = ...,
    with_bn: str = ...,
    with_act: str = ...,
    with_relu: str = ...,
    with_sum: str = ...,
    with_postsum_act: str = ...,
    with_postsum_relu: str = ...,
    with_eltwise: str = ...,
    dedup_sum: str = ...,
    channel_wise_quantize: str = ...,
    min_calib_range: str = ...,
    max_calib_range: str = ...,
    transpose_a: str = ...,
    transpose_b: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sg_onednn_batch_norm(
    data: Symbol | None = None,
    gamma: Symbol | None = None,
    beta: Symbol | None = None,
    moving_mean: Symbol | None = None,
    moving_var: Symbol | None = None,
    quantized: bool = ...,
    enabled_float_output: Any = ...,
    with_bn: str = ...,
    with_act: str = ...,
    with_relu: str = ...,
    with_sum: str = ...,
    with_postsum_act: str = ...,
    with_postsum_relu: str = ...,
    with_eltwise: str = ...,
    dedup_sum: str = ...,
    channel_wise_quantize: str = ...,
    min_calib_range: str = ...,
    max_calib_range: str = ...,
    eps: str = ...,
    momentum: str = ...,
    fix_gamma: str = ...,
    use_global_stats: str = ...,
    output_mean_var: str = ...,
    axis: str = ...,
    cudnn_off: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sg_onednn_conv(
    quantized: bool = ...,
    enabled_float_output: Any = ...,
    with_bn: str = ...,
    with_act: str = ...,
    with_relu: str = ...,
    with_sum: str = ...,
    with_postsum_act: str = ...,
    with_postsum_relu: str = ...,
    with_eltwise: str = ...,
    dedup_sum: str = ...,
    channel_wise_quantize: str = ...,
    min_calib_range: str = ...,
    max_calib_range: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sg_onednn_fully_connected(
    quantized: bool = ...,
    enabled_float_output: Any = ...,
    with_bn: str = ...,
    with_act: str = ...,
    with_relu: str = ...,
    with_sum: str = ...,
    with_postsum_act: str = ...,
    with_postsum_relu: str = ...,
    with_eltwise: str = ...,
    dedup_sum: str = ...,
    channel_wise_quantize: str = ...,
    min_calib_range: str = ...,
    max_calib_range: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sg_onednn_selfatt_qk(
    queries: Symbol | None = None,
    keys: Symbol | None = None,
    heads: int = ...,
    quantized: bool = ...,
    enabled_float_output: Any = ...,
    min_calib_range: str = ...,
    max_calib_range: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sg_onednn_selfatt_qk_split(
    queries_keys_values: Symbol | None = None,
    heads: int = ...,
    quantized: bool = ...,
    enabled_float_output: Any = ...,
    min_calib_range: str = ...,
    max_calib_range: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sg_onednn_selfatt_valatt(
    attention: Symbol | None = None,
    queries_keys_values: Symbol | None = None,
    heads: int = ...,
    quantized: bool = ...,
    enabled_float_output: Any = ...,
    min_calib_range: str = ...,
    max_calib_range: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sg_pow_mul_scalar(
    input: Symbol | None = None,
    exponent: float = ...,
    multiplier: float = ...,
    exp_is_int: bool = ...,
    mul_is_int: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_abs(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_arccos(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_arccosh(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_arcsin(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_arcsinh(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_arctan(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_arctanh(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_broadcast_add(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_broadcast_div(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_broadcast_minus(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_broadcast_mul(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_broadcast_plus(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_broadcast_sub(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_cbrt(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_ceil(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_cos(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_cosh(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_degrees(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_elemwise_add(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_elemwise_div(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_elemwise_mul(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_elemwise_sub(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_exp(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_expm1(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_fix(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_floor(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_gamma(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_gammaln(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_log(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_log10(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_log1p(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_log2(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_log_sigmoid(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_mish(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_negative(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_radians(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_relu(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_rint(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_round(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_rsqrt(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_sigmoid(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_sign(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_sin(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_sinh(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_sqrt(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_square(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_stop_gradient(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_tan(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_tanh(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sparse_trunc(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _split_v2(
    data: Symbol | None = None,
    indices: Sequence[int] | int = ...,
    axis: int = ...,
    squeeze_axis: bool = ...,
    sections: int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _sub(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _while_loop(
    num_args: int = ...,
    num_outputs: int = ...,
    num_out_data: int = ...,
    max_iterations: int = ...,
    cond_input_locs: Sequence[int] | int = ...,
    func_input_locs: Sequence[int] | int = ...,
    func_var_locs: Sequence[int] | int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def _zeros(
    shape: Sequence[int] | int = ...,
    ctx: str = ...,
    dtype: Any = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def abs(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def add_n(
    *data: Symbol,
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
def arccos(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def arccosh(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def arcsin(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def arcsinh(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def arctan(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def arctanh(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def argmax(
    data: Symbol | None = None,
    axis: int | None = ...,
    keepdims: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def argmax_channel(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def argmin(
    data: Symbol | None = None,
    axis: int | None = ...,
    keepdims: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def argsort(
    data: Symbol | None = None,
    axis: int | None = ...,
    is_ascend: bool = ...,
    is_ascend_s: bool | None = ...,
    dtype: Any = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def batch_dot(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    transpose_a: bool = ...,
    transpose_b: bool = ...,
    forward_stype: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def batch_take(
    a: Symbol | None = None,
    indices: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def broadcast_add(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def broadcast_axes(
    data: Symbol | None = None,
    axis: Sequence[int] | int = ...,
    size: Sequence[int] | int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def broadcast_axis(
    data: Symbol | None = None,
    axis: Sequence[int] | int = ...,
    size: Sequence[int] | int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def broadcast_div(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def broadcast_equal(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def broadcast_greater(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def broadcast_greater_equal(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def broadcast_hypot(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def broadcast_lesser(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def broadcast_lesser_equal(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def broadcast_like(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    lhs_axes: Sequence[int] | int | None = ...,
    rhs_axes: Sequence[int] | int | None = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def broadcast_logical_and(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def broadcast_logical_or(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def broadcast_logical_xor(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def broadcast_maximum(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def broadcast_minimum(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def broadcast_minus(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def broadcast_mod(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def broadcast_mul(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def broadcast_not_equal(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def broadcast_plus(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def broadcast_power(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def broadcast_sub(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def broadcast_to(
    data: Symbol | None = None,
    shape: Sequence[int] | int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def cast(
    data: Symbol | None = None,
    dtype: Any = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def cbrt(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def ceil(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def choose_element_0index(
    data: Symbol | None = None,
    index: Symbol | None = None,
    axis: int | None = ...,
    keepdims: bool = ...,
    mode: Literal["clip", "wrap"] = ...,
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
def cos(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def cosh(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def crop(
    data: Symbol | None = None,
    begin: Sequence[int] | int | None = ...,
    end: Sequence[int] | int | None = ...,
    step: Sequence[int] | int | None = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def cumsum(
    a: Symbol | None = None,
    axis: int | None = ...,
    dtype: Any = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def degrees(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def depth_to_space(
    data: Symbol | None = None,
    block_size: int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def diag(
    data: Symbol | None = None,
    k: int = ...,
    axis1: int = ...,
    axis2: int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def dot(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    transpose_a: bool = ...,
    transpose_b: bool = ...,
    forward_stype: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def elemwise_add(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def elemwise_div(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def elemwise_mul(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def elemwise_sub(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def erf(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def erfinv(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def exp(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def expand_dims(
    data: Symbol | None = None,
    axis: int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def expm1(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def fix(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def flatten(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def flip(
    data: Symbol | None = None,
    axis: Sequence[int] | int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def floor(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def gamma(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def gammaln(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def gather_nd(
    data: Symbol | None = None,
    indices: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def hard_sigmoid(
    data: Symbol | None = None,
    alpha: float = ...,
    beta: float = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def identity(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def linalg_gemm2(
    A: Symbol | None = None,
    B: Symbol | None = None,
    transpose_a: bool = ...,
    transpose_b: bool = ...,
    alpha: float = ...,
    axis: int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def log(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def log10(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def log1p(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def log2(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def log_sigmoid(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def log_softmax(
    data: Symbol | None = None,
    length: Symbol | None = None,
    axis: int = ...,
    temperature: float | None = ...,
    dtype: Any = ...,
    use_length: bool | None = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def logical_not(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def masked_log_softmax(
    data: Symbol | None = None,
    mask: Symbol | None = None,
    axis: int = ...,
    temperature: float = ...,
    normalize: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def masked_softmax(
    data: Symbol | None = None,
    mask: Symbol | None = None,
    axis: int = ...,
    temperature: float = ...,
    normalize: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def max(
    data: Symbol | None = None,
    axis: Sequence[int] | int | None = ...,
    keepdims: bool = ...,
    exclude: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def max_axis(
    data: Symbol | None = None,
    axis: Sequence[int] | int | None = ...,
    keepdims: bool = ...,
    exclude: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def mean(
    data: Symbol | None = None,
    axis: Sequence[int] | int | None = ...,
    keepdims: bool = ...,
    exclude: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def min(
    data: Symbol | None = None,
    axis: Sequence[int] | int | None = ...,
    keepdims: bool = ...,
    exclude: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def min_axis(
    data: Symbol | None = None,
    axis: Sequence[int] | int | None = ...,
    keepdims: bool = ...,
    exclude: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def mish(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def moments(
    data: Symbol | None = None,
    axes: Sequence[int] | int | None = ...,
    keepdims: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def nanprod(
    data: Symbol | None = None,
    axis: Sequence[int] | int | None = ...,
    keepdims: bool = ...,
    exclude: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def nansum(
    data: Symbol | None = None,
    axis: Sequence[int] | int | None = ...,
    keepdims: bool = ...,
    exclude: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def negative(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def norm(
    data: Symbol | None = None,
    ord: int = ...,
    axis: Sequence[int] | int | None = ...,
    out_dtype: Any = ...,
    keepdims: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def one_hot(
    indices: Symbol | None = None,
    depth: int = ...,
    on_value: float = ...,
    off_value: float = ...,
    dtype: Any = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def ones_like(
    data: Symbol | None = None,
    dtype: Any = ...,
    ctx: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def pad(
    data: Symbol | None = None,
    mode: Literal["constant", "edge", "reflect"] = ...,
    pad_width: Sequence[int] | int = ...,
    constant_value: float = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def pick(
    data: Symbol | None = None,
    index: Symbol | None = None,
    axis: int | None = ...,
    keepdims: bool = ...,
    mode: Literal["clip", "wrap"] = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def prod(
    data: Symbol | None = None,
    axis: Sequence[int] | int | None = ...,
    keepdims: bool = ...,
    exclude: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def radians(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def rcbrt(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def reciprocal(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def relu(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def repeat(
    data: Symbol | None = None,
    repeats: int = ...,
    axis: int | None = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def reshape(
    data: Symbol | None = None,
    shape: Sequence[int] | int = ...,
    reverse: bool = ...,
    target_shape: Sequence[int] | int = ...,
    keep_highest: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def reshape_like(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    lhs_begin: int | None = ...,
    lhs_end: int | None = ...,
    rhs_begin: int | None = ...,
    rhs_end: int | None = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def reverse(
    data: Symbol | None = None,
    axis: Sequence[int] | int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def rint(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def round(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def rsqrt(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def scatter_nd(
    data: Symbol | None = None,
    indices: Symbol | None = None,
    shape: Sequence[int] | int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def shape_array(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def sigmoid(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def sign(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def sin(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def sinh(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def size_array(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def slice(
    data: Symbol | None = None,
    begin: Sequence[int] | int | None = ...,
    end: Sequence[int] | int | None = ...,
    step: Sequence[int] | int | None = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def slice_axis(
    data: Symbol | None = None,
    axis: int = ...,
    begin: int = ...,
    end: int | None = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def slice_like(
    data: Symbol | None = None,
    shape_like: Symbol | None = None,
    axes: Sequence[int] | int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def smooth_l1(
    data: Symbol | None = None,
    scalar: float = ...,
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
def softmin(
    data: Symbol | None = None,
    axis: int = ...,
    temperature: float | None = ...,
    dtype: Any = ...,
    use_length: bool | None = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def softsign(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def sort(
    data: Symbol | None = None,
    axis: int | None = ...,
    is_ascend: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def space_to_depth(
    data: Symbol | None = None,
    block_size: int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def split(
    data: Symbol | None = None,
    num_outputs: int = ...,
    axis: int = ...,
    squeeze_axis: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def sqrt(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def square(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def squeeze(
    data: Symbol | None = None,
    axis: Sequence[int] | int | None = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def stack(
    *data: Symbol,
    axis: int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def stop_gradient(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def sum(
    data: Symbol | None = None,
    axis: Sequence[int] | int | None = ...,
    keepdims: bool = ...,
    exclude: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def sum_axis(
    data: Symbol | None = None,
    axis: Sequence[int] | int | None = ...,
    keepdims: bool = ...,
    exclude: bool = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def swapaxes(
    data: Symbol | None = None,
    dim1: int = ...,
    dim2: int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def take(
    a: Symbol | None = None,
    indices: Symbol | None = None,
    axis: int = ...,
    mode: Literal["clip", "wrap", "raise"] = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def tan(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def tanh(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def tile(
    data: Symbol | None = None,
    reps: Sequence[int] | int = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def topk(
    data: Symbol | None = None,
    axis: int | None = ...,
    k: int = ...,
    ret_typ: Literal["value", "indices", "mask", "both"] = ...,
    is_ascend: bool = ...,
    dtype: Any = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def transpose(
    data: Symbol | None = None,
    axes: Sequence[int] | int | None = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def trunc(
    data: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def where(
    condition: Symbol | None = None,
    x: Symbol | None = None,
    y: Symbol | None = None,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
def zeros_like(
    data: Symbol | None = None,
    dtype: Any = ...,
    ctx: str = ...,
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> Symbol: ...
