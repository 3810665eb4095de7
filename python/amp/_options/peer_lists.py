"""Operators that other programs list, and those of MXNet that do the same. See `peers`."""

from .. import _core


def is_of_mxnet(operator):
    """Whether an operator is registered under this name."""
    return operator in _core.operator_names()


def _table(text):
    """{operator: operators of MXNet} from lines 'operators: operators of MXNet', all of which are registered.

    One with an attribute, 'Activation.act_type=relu', is (operator, attribute, value).
    """
    table = {}
    for line in text.strip().splitlines():
        theirs, _, ours = line.partition(":")
        for operator in theirs.split():
            table[operator] = [_entry(name) for name in ours.split()]
    return table


def _entry(text):
    operator, dot, condition = text.partition(".")
    return (operator, *condition.split("=")) if dot else operator


# ---- TensorFlow: auto_mixed_precision_lists.h, AutoMixedPrecisionListsMkl; what gradients alone read is left out ----

TF_ALLOW = """
Conv2D Conv3D DepthwiseConv2dNative Conv2DBackpropInput Conv3DBackpropInputV2 MatMul FusedPadConv2D BatchMatMul
BatchMatMulV2 Einsum
""".split()
TF_DENY = "Exp Expm1 L2Loss Pow SaveV2 SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits".split()
TF_INFER = """
Add AddN AddV2 AvgPool AvgPool3D BiasAdd BiasAddV1 Erf Erfc FusedBatchNormV2 FusedBatchNormV3 LeakyRelu Mul Sub Elu
FloorDiv _FusedBatchNormEx Inv Log Log1p LogSoftmax Mean Prod RealDiv Reciprocal Rsqrt Selu Sigmoid Softmax Softplus
Softsign Sqrt Square SquaredDifference Sum Tanh
""".split()
TF_CLEAR = """
Abs ArgMax ArgMin BatchToSpace BatchToSpaceND BroadcastTo Ceil CheckNumerics ClipByValue Concat ConcatV2 DepthToSpace
DynamicPartition DynamicStitch EnsureShape Enter Equal Exit ExpandDims Fill Floor Gather GatherNd GatherV2 Greater
GreaterEqual Identity IdentityN IsFinite IsInf IsNan Less LessEqual Max Maximum MaxPool MaxPool3D MaxPoolV2 Merge Min
Minimum MirrorPad Neg NextIteration NotEqual OnesLike Pack Pad PadV2 PreventGradient Rank Relu Relu6 Reshape
ResizeNearestNeighbor ResizeBilinear Reverse ReverseSequence ReverseV2 Round ScatterNd Select SelectV2 Shape ShapeN Sign
Slice Snapshot SpaceToBatch SpaceToBatchND SpaceToDepth Split SplitV Squeeze StatelessWhile StopGradient StridedSlice
Switch Tile TopK TopKV2 Transpose Where While Unpack ZerosLike
""".split()

OPERATORS_OF_TF = _table("""
Conv2D Conv3D DepthwiseConv2dNative FusedPadConv2D: Convolution
Conv2DBackpropInput Conv3DBackpropInputV2: Deconvolution
MatMul: FullyConnected dot linalg_gemm linalg_gemm2 _npi_matmul _npi_dot
BatchMatMul BatchMatMulV2: batch_dot linalg_gemm2 _npi_matmul
Einsum: _npi_einsum
Exp: exp _npi_exp
Expm1: expm1 _npi_expm1
Pow: broadcast_power _power _power_scalar _rpower_scalar _npi_power _npi_power_scalar _npi_rpower_scalar
SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits: softmax_cross_entropy SoftmaxOutput
Add AddV2 BiasAdd BiasAddV1: elemwise_add broadcast_add _plus_scalar _npi_add _npi_add_scalar
AddN: add_n
AvgPool AvgPool3D: Pooling.pool_type=avg
MaxPool MaxPool3D MaxPoolV2: Pooling.pool_type=max
Erf: erf
FusedBatchNormV2 FusedBatchNormV3 _FusedBatchNormEx: BatchNorm
LeakyRelu: LeakyReLU.act_type=leaky
Elu: LeakyReLU.act_type=elu
Selu: LeakyReLU.act_type=selu
Mul: elemwise_mul broadcast_mul _mul_scalar _npi_multiply _npi_multiply_scalar
Sub SquaredDifference: elemwise_sub broadcast_sub _minus_scalar _npi_subtract _npi_subtract_scalar
RealDiv: elemwise_div broadcast_div _div_scalar _npi_true_divide _npi_true_divide_scalar
Inv Reciprocal: reciprocal _npi_reciprocal
Log: log _npi_log
Log1p: log1p _npi_log1p
LogSoftmax: log_softmax
Softmax: softmax
Mean: mean _npi_mean
Sum: sum _npi_sum
Prod: prod _npi_prod
Rsqrt: rsqrt
Sqrt: sqrt _npi_sqrt
Square: square _npi_square
Sigmoid: sigmoid Activation.act_type=sigmoid
Softsign: softsign Activation.act_type=softsign
Softplus: Activation.act_type=softrelu
Tanh: tanh _npi_tanh Activation.act_type=tanh
Relu: relu Activation.act_type=relu
Concat ConcatV2: Concat _npi_concatenate
Reshape: Reshape _npi_reshape
Transpose: transpose _npi_transpose
Split SplitV: SliceChannel _npi_split
Pack: stack _npi_stack
Max: max _npi_max
Min: min _npi_min
Maximum: broadcast_maximum _maximum _npi_maximum
Minimum: broadcast_minimum _minimum _npi_minimum
ClipByValue: clip
""")

# ---- PyTorch: aten/src/ATen/autocast_mode.cpp, AutocastCPU ----

TORCH_LOWER_PRECISION = """
Convolution Deconvolution FullyConnected dot batch_dot linalg_gemm linalg_gemm2 _npi_matmul _npi_dot RNN
_contrib_attention _contrib_interleaved_matmul_selfatt_qk _contrib_interleaved_matmul_selfatt_valatt
_contrib_interleaved_matmul_encdec_qk _contrib_interleaved_matmul_encdec_valatt
""".split()
TORCH_FP32 = """
prod _npi_prod BilinearSampler CTCLoss SoftmaxOutput softmax_cross_entropy LinearRegressionOutput
LogisticRegressionOutput MAERegressionOutput smooth_l1 linalg_potrf linalg_potri linalg_inverse linalg_det
linalg_slogdet linalg_gelqf linalg_trsm _npi_cholesky
""".split()
TORCH_PROMOTE = "Concat stack _npi_concatenate _npi_stack".split()

# ---- ONNX: what onnxconverter-common keeps in float32 unless told otherwise, as far as MXNet's operators do it ----

ONNX_BLOCKED = "NonMaxSuppression TopK RoiAlign Resize Range CumSum Min Max Upsample RandomUniformLike".split()

OPERATORS_OF_ONNX = _table("""
Conv: Convolution
ConvTranspose: Deconvolution
Gemm: FullyConnected linalg_gemm
MatMul: dot batch_dot FullyConnected linalg_gemm2 _npi_matmul _npi_dot
Einsum: _npi_einsum
Add: elemwise_add broadcast_add _plus_scalar _npi_add _npi_add_scalar
Sub: elemwise_sub broadcast_sub _minus_scalar _npi_subtract _npi_subtract_scalar
Mul: elemwise_mul broadcast_mul _mul_scalar _npi_multiply _npi_multiply_scalar
Div: elemwise_div broadcast_div _div_scalar _npi_true_divide _npi_true_divide_scalar
Pow: broadcast_power _power _power_scalar _npi_power _npi_power_scalar
Sum: add_n
Max: broadcast_maximum _maximum _npi_maximum
Min: broadcast_minimum _minimum _npi_minimum
Exp: exp _npi_exp
Log: log _npi_log
Sqrt: sqrt _npi_sqrt
Reciprocal: reciprocal _npi_reciprocal
Erf: erf
Relu: relu Activation.act_type=relu
Sigmoid: sigmoid Activation.act_type=sigmoid
Tanh: tanh _npi_tanh Activation.act_type=tanh
Softplus: Activation.act_type=softrelu
LeakyRelu: LeakyReLU.act_type=leaky
PRelu: LeakyReLU.act_type=prelu
Elu: LeakyReLU.act_type=elu
Selu: LeakyReLU.act_type=selu
Gelu: LeakyReLU.act_type=gelu
HardSigmoid: hard_sigmoid
Clip: clip
Softmax: softmax
LogSoftmax: log_softmax
BatchNormalization: BatchNorm
LayerNormalization: LayerNorm
InstanceNormalization: InstanceNorm
LRN: LRN
MaxPool GlobalMaxPool: Pooling.pool_type=max
AveragePool GlobalAveragePool: Pooling.pool_type=avg
ReduceMean: mean _npi_mean
ReduceSum: sum _npi_sum
ReduceProd: prod _npi_prod
ReduceMax: max _npi_max
ReduceMin: min _npi_min
ReduceL2: norm L2Normalization
Concat: Concat _npi_concatenate
Split: SliceChannel _npi_split
Reshape Flatten: Reshape Flatten _npi_reshape
Transpose: transpose _npi_transpose
Squeeze: squeeze _npi_squeeze
Unsqueeze: expand_dims
Slice: slice slice_axis
Gather: take Embedding
Pad: Pad
Tile: tile
TopK: topk
CumSum: _np_cumsum cumsum
Range: _arange _npi_arange
Resize Upsample: UpSampling _contrib_BilinearResize2D
RoiAlign: _contrib_ROIAlign
NonMaxSuppression: _contrib_box_nms
RandomUniformLike: _random_uniform_like
LSTM GRU RNN: RNN
Dropout: Dropout
Where: where
""")
