#include "dnnl/primitives.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace amp::onednn {

bool ChoosesLayouts(const Work& work) {
  return std::holds_alternative<ConvolutionWork>(work) || std::holds_alternative<DeconvolutionWork>(work) ||
         std::holds_alternative<InnerProductWork>(work) || std::holds_alternative<MatMulWork>(work);
}

namespace {

using dnnl::algorithm;
using dnnl::prop_kind;

constexpr bool kAllowEmpty = true;  // an unsupported combination gives an empty descriptor instead of an exception

// oneDNN 3.2 keeps sizes in ints: beyond them it divides by zero or loops without end.
bool FitsInt(const TensorType& type) {
  const auto& dims = type.shape.dims();
  return std::all_of(dims.begin(), dims.end(), [](std::int64_t dim) { return dim <= INT32_MAX; });
}

// It makes code for every phase of the stride and block of the row: 0.4 s at 128 x 128, minutes at 512 x 512.
bool BuildsQuickly(const DeconvolutionWork& work, const TensorType& out) {
  constexpr std::int64_t kMostPhases = 128 * 128, kLongestRow = 8192;
  std::int64_t phases = 1;
  for (const std::int64_t stride : work.strides) phases *= std::min(stride, kMostPhases + 1);
  return phases == 1 || (phases <= kMostPhases && out.shape.dims().back() <= kLongestRow);
}

// Its code for layer normalisation grows with the row, which it unrolls.
constexpr std::int64_t kLongestNormalizedRow = 1 << 20;

algorithm EltwiseAlgorithm(EltwiseKind kind) {
  switch (kind) {
    case EltwiseKind::kRelu:
      return algorithm::eltwise_relu;
    case EltwiseKind::kLinear:
      return algorithm::eltwise_linear;
    case EltwiseKind::kClip:
      return algorithm::eltwise_clip;
    case EltwiseKind::kTanh:
      return algorithm::eltwise_tanh;
    case EltwiseKind::kSigmoid:
      return algorithm::eltwise_logistic;
    case EltwiseKind::kSoftplus:
    case EltwiseKind::kLogSigmoid:
      return algorithm::eltwise_soft_relu;
    case EltwiseKind::kMish:
      return algorithm::eltwise_mish;
    case EltwiseKind::kElu:
      return algorithm::eltwise_elu;
    case EltwiseKind::kGeluErf:
      return algorithm::eltwise_gelu_erf;
    case EltwiseKind::kGeluTanh:
      return algorithm::eltwise_gelu_tanh;
    case EltwiseKind::kAbs:
      return algorithm::eltwise_abs;
    case EltwiseKind::kExp:
      return algorithm::eltwise_exp;
    case EltwiseKind::kLog:
      return algorithm::eltwise_log;
    case EltwiseKind::kSqrt:
      return algorithm::eltwise_sqrt;
    case EltwiseKind::kSquare:
      return algorithm::eltwise_square;
    case EltwiseKind::kSwish:
      return algorithm::eltwise_swish;
    case EltwiseKind::kHardSigmoid:
      return algorithm::eltwise_hardsigmoid;
    case EltwiseKind::kHardSwish:
      return algorithm::eltwise_hardswish;
  }
  return algorithm::undef;
}

// log_sigmoid(x) is -softplus(-x): oneDNN's soft_relu with alpha -1.
float EltwiseAlpha(const EltwiseWork& work) {
  if (work.kind == EltwiseKind::kSoftplus) return 1.0f;
  return work.kind == EltwiseKind::kLogSigmoid ? -1.0f : work.alpha;
}

algorithm PoolingAlgorithm(PoolingKind kind) {
  switch (kind) {
    case PoolingKind::kMax:
      return algorithm::pooling_max;
    case PoolingKind::kAverageIncludePadding:
      return algorithm::pooling_avg_include_padding;
    case PoolingKind::kAverageExcludePadding:
      return algorithm::pooling_avg_exclude_padding;
  }
  return algorithm::undef;
}

algorithm BinaryAlgorithm(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::kAdd:
      return algorithm::binary_add;
    case BinaryKind::kSub:
      return algorithm::binary_sub;
    case BinaryKind::kMul:
      return algorithm::binary_mul;
    case BinaryKind::kDiv:
      return algorithm::binary_div;
    case BinaryKind::kMax:
      return algorithm::binary_max;
    case BinaryKind::kMin:
      return algorithm::binary_min;
  }
  return algorithm::undef;
}

constexpr std::int64_t kBlock = 16;

Desc BlockedDesc(const TensorType& type) {
  return Desc(DimsOf(type.shape), DataType(type.dtype), dnnl::memory::format_tag::aBcd16b);
}

class Preparer {
 public:
  Preparer(const Step& step, const std::vector<TensorType>& in_types, const TensorType& out_type,
           const std::vector<Desc>& layouts, const Desc& out_layout)
      : chooses_layouts_(ChoosesLayouts(step.work)),
        post_ops_(step.post_ops),
        in_(in_types),
        out_(out_type),
        layouts_(layouts),
        out_layout_(out_layout),
        num_operands_(
            static_cast<std::size_t>(std::count_if(step.post_ops.begin(), step.post_ops.end(), [](const PostOp& op) {
              return !std::holds_alternative<EltwiseWork>(op.work);
            }))) {}

  std::optional<PreparedPrimitive> operator()(const ConvolutionWork& work) {
    std::optional<PreparedPrimitive> prepared;
    if (work.wish == LayoutWish::kBlocked) {
      const bool is_image = in_[0].shape[1] < kBlock;  // of which the library has an opinion of its own
      prepared = Convolution(work, is_image ? AnyDesc(in_[0]) : BlockedDesc(in_[0]), BlockedDesc(out_));
    } else if (work.wish == LayoutWish::kChannelsLastOut) {
      prepared = Convolution(work, AnyDesc(in_[0]), ChannelsLast(out_));
    }
    return prepared ? prepared : Convolution(work, AnyDesc(in_[0]), AnyDesc(out_));
  }

  std::optional<PreparedPrimitive> operator()(const DeconvolutionWork& work) {
    if (!BuildsQuickly(work, out_)) return std::nullopt;
    const dnnl::deconvolution_forward::primitive_desc pd(
        CpuEngine(), prop_kind::forward_inference, algorithm::deconvolution_direct, AnyDesc(in_[0]), AnyDesc(in_[1]),
        BiasDesc(), OutDesc(), work.strides, work.dilates, work.pads_begin, work.pads_end, Attributes(), kAllowEmpty);
    return WithBias(pd);
  }

  std::optional<PreparedPrimitive> operator()(const MatMulWork& work) {
    const dnnl::matmul::primitive_desc pd(CpuEngine(), AnyDesc(in_[0]), AnyDesc(in_[1]), PlainDesc(out_),
                                          Attributes(work.scale), kAllowEmpty);
    if (!pd) return std::nullopt;
    return Describe(pd, {pd.src_desc(), pd.weights_desc()}, pd.dst_desc(), work.scale != 1);
  }

  std::optional<PreparedPrimitive> operator()(const InnerProductWork& work) {
    const Desc weights = work.wish == LayoutWish::kRowMajorWeights ? PlainDesc(in_[1]) : AnyDesc(in_[1]);
    const dnnl::inner_product_forward::primitive_desc pd(CpuEngine(), prop_kind::forward_inference, AnyDesc(in_[0]),
                                                         weights, BiasDesc(), OutDesc(), Attributes(), kAllowEmpty);
    return WithBias(pd);
  }

  std::optional<PreparedPrimitive> operator()(const PoolingWork& work) {
    const dnnl::memory::dims dense(work.kernel.size(), 0);
    const dnnl::pooling_forward::primitive_desc pd(
        CpuEngine(), prop_kind::forward_inference, PoolingAlgorithm(work.kind), layouts_[0], AnyDesc(out_),
        work.strides, work.kernel, dense, work.pads_begin, work.pads_end, Attributes(), kAllowEmpty);
    if (!pd) return std::nullopt;
    return Describe(pd, {pd.src_desc()}, pd.dst_desc());
  }

  std::optional<PreparedPrimitive> operator()(const EltwiseWork& work) {
    const dnnl::eltwise_forward::primitive_desc pd(CpuEngine(), prop_kind::forward_inference,
                                                   EltwiseAlgorithm(work.kind), layouts_[0], layouts_[0],
                                                   EltwiseAlpha(work), work.beta, Attributes(), kAllowEmpty);
    if (!pd) return std::nullopt;
    auto prepared = Describe(pd, {pd.src_desc()}, pd.dst_desc());
    prepared.can_run_in_place = true;
    return prepared;
  }

  std::optional<PreparedPrimitive> operator()(const BinaryWork& work) {
    if (in_[0].dtype != out_.dtype) return std::nullopt;  // only its slow code can do that
    const bool same_shape = in_[0].shape == in_[1].shape;
    const Desc other = same_shape ? layouts_[0] : PlainDesc(in_[1]);
    const dnnl::binary::primitive_desc pd(CpuEngine(), BinaryAlgorithm(work.kind), layouts_[0], other, layouts_[0],
                                          Attributes(), kAllowEmpty);
    if (!pd) return std::nullopt;
    auto prepared = Describe(pd, {pd.src_desc(0), pd.src_desc(1)}, pd.dst_desc());
    SetInput(&prepared, 0, pd.src_desc(0), DNNL_ARG_SRC_0);
    SetInput(&prepared, 1, pd.src_desc(1), DNNL_ARG_SRC_1);
    prepared.can_run_in_place = true;
    return prepared;
  }

  std::optional<PreparedPrimitive> operator()(const ConcatWork& work) {
    // Every operand in the layout of the first; where that is slow or impossible (a reference implementation),
    // row-major.
    std::vector<Desc> like_first, plain;
    for (const TensorType& type : in_) {
      plain.push_back(PlainDesc(type));
      like_first.push_back(DenseLike(layouts_[0], type));
    }
    auto prepared = Concat(work.axis, like_first);
    const bool fast = prepared && prepared->implementation.find("ref") == std::string::npos;
    return fast ? prepared : Concat(work.axis, plain);
  }

  std::optional<PreparedPrimitive> operator()(const SoftmaxWork& work) {
    const algorithm kind = work.logarithm ? algorithm::softmax_log : algorithm::softmax_accurate;
    const Desc out = WithDType(layouts_[0], out_.dtype);
    if (out.is_zero()) return std::nullopt;
    const dnnl::softmax_forward::primitive_desc pd(CpuEngine(), prop_kind::forward_inference, kind, layouts_[0], out,
                                                   work.axis, Attributes(), kAllowEmpty);
    if (!pd) return std::nullopt;
    return Describe(pd, {pd.src_desc()}, pd.dst_desc());
  }

  std::optional<PreparedPrimitive> operator()(const LayerNormWork& work) {
    if (in_[0].shape.dims().back() > kLongestNormalizedRow) return std::nullopt;
    using dnnl::normalization_flags;
    const dnnl::layer_normalization_forward::primitive_desc pd(
        CpuEngine(), prop_kind::forward_inference, PlainDesc(in_[0]), PlainDesc(out_), work.epsilon,
        normalization_flags::use_scale | normalization_flags::use_shift, Attributes(), kAllowEmpty);
    if (!pd) return std::nullopt;
    auto prepared = Describe(pd, {pd.src_desc()}, pd.dst_desc());
    SetInput(&prepared, 1, PlainDesc(in_[1]), DNNL_ARG_SCALE);
    SetInput(&prepared, 2, PlainDesc(in_[2]), DNNL_ARG_SHIFT);
    prepared.can_run_in_place = true;
    return prepared;
  }

  // The library's fast code sums up what lies together in memory; our reference kernel is no slower than its own.
  std::optional<PreparedPrimitive> operator()(const ReductionWork& work) {
    const auto kind = work.kind == ReductionKind::kSum ? algorithm::reduction_sum : algorithm::reduction_mean;
    const dnnl::reduction::primitive_desc pd(CpuEngine(), kind, layouts_[0], PlainDesc(out_), 0.0f, 0.0f, Attributes(),
                                             kAllowEmpty);
    if (!pd) return std::nullopt;
    PreparedPrimitive prepared = Describe(pd, {pd.src_desc()}, pd.dst_desc());
    if (prepared.implementation.find("ref") != std::string::npos) return std::nullopt;
    return prepared;
  }

  std::optional<PreparedPrimitive> operator()(const NearestResampleWork&) {
    const dnnl::resampling_forward::primitive_desc pd(CpuEngine(), prop_kind::forward_inference,
                                                      algorithm::resampling_nearest, layouts_[0], AnyDesc(out_),
                                                      Attributes(), kAllowEmpty);
    if (!pd) return std::nullopt;
    return Describe(pd, {pd.src_desc()}, pd.dst_desc());
  }

  std::optional<PreparedPrimitive> operator()(const PReluWork&) {
    const dnnl::prelu_forward::primitive_desc pd(CpuEngine(), prop_kind::forward_inference, layouts_[0],
                                                 AnyDesc(in_[1]), layouts_[0], Attributes(), kAllowEmpty);
    if (!pd) return std::nullopt;
    return Describe(pd, {pd.src_desc(), pd.weights_desc()}, pd.dst_desc());
  }

  template <class NotAPrimitive>
  std::optional<PreparedPrimitive> operator()(const NotAPrimitive&) {
    return std::nullopt;
  }

 private:
  // `out` gives way to the layout that the caller insists on.
  std::optional<PreparedPrimitive> Convolution(const ConvolutionWork& work, const Desc& source, const Desc& out) const {
    const dnnl::convolution_forward::primitive_desc pd(
        CpuEngine(), prop_kind::forward_inference, algorithm::convolution_direct, source, AnyDesc(in_[1]), BiasDesc(),
        out_layout_.is_zero() ? out : out_layout_, work.strides, work.dilates, work.pads_begin, work.pads_end,
        Attributes(), kAllowEmpty);
    return WithBias(pd);
  }

  std::size_t num_own_inputs() const { return in_.size() - num_operands_; }
  Desc OutDesc() const { return out_layout_.is_zero() ? AnyDesc(out_) : out_layout_; }
  bool has_bias() const { return num_own_inputs() == 3; }
  Desc BiasDesc() const { return has_bias() ? PlainDesc(in_[2]) : Desc(); }

  // With the step's post-ops; `scale` comes before them.
  dnnl::primitive_attr Attributes(float scale = 1) const {
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    dnnl::post_ops ops;
    if (scale != 1) ops.append_eltwise(algorithm::eltwise_linear, scale, 0.0f);
    for (const PostOp& op : post_ops_) Append(op, &ops);
    if (ops.len() != 0) attr.set_post_ops(ops);
    return attr;
  }

  void Append(const PostOp& op, dnnl::post_ops* ops) const {
    if (const auto* eltwise = std::get_if<EltwiseWork>(&op.work)) {
      ops->append_eltwise(EltwiseAlgorithm(eltwise->kind), EltwiseAlpha(*eltwise), eltwise->beta);
    } else if (const auto* binary = std::get_if<BinaryWork>(&op.work)) {
      ops->append_binary(BinaryAlgorithm(binary->kind), OperandDesc(op));
    } else if (std::holds_alternative<PReluWork>(op.work)) {
      ops->append_prelu(BroadcastMask(op));
    } else {
      ops->append_sum(1.0f);
    }
  }

  // A tensor of the output's size lies like the output.
  Desc OperandDesc(const PostOp& op) const {
    const TensorType& type = in_[op.operand];
    if (type.shape != out_.shape) return PlainDesc(type);
    return chooses_layouts_ ? AnyDesc(type) : DenseLike(layouts_[0], type);
  }

  // The axes along which the operand has elements of its own.
  int BroadcastMask(const PostOp& op) const {
    int mask = 0;
    const Shape& shape = in_[op.operand].shape;
    for (int axis = 0; axis < shape.rank(); ++axis) mask |= shape[axis] == 1 ? 0 : 1 << axis;
    return mask;
  }

  // `first` is the number of post-ops that are not the step's.
  template <class PD>
  void AddOperands(const PD& pd, int first, PreparedPrimitive* prepared) const {
    prepared->inputs.resize(in_.size());
    prepared->input_args.resize(in_.size(), kNoArgument);
    for (std::size_t i = 0; i < post_ops_.size(); ++i) {
      const PostOp& op = post_ops_[i];
      const int arg = DNNL_ARG_ATTR_MULTIPLE_POST_OP(static_cast<int>(i) + first);
      if (std::holds_alternative<BinaryWork>(op.work)) {
        prepared->input_args[op.operand] = arg | DNNL_ARG_SRC_1;
        prepared->inputs[op.operand] = pd.query_md(dnnl::query::exec_arg_md, arg | DNNL_ARG_SRC_1);
      } else if (std::holds_alternative<PReluWork>(op.work)) {
        prepared->input_args[op.operand] = arg | DNNL_ARG_WEIGHTS;
        prepared->inputs[op.operand] = PlainDesc(in_[op.operand]);
      } else if (std::holds_alternative<SumWork>(op.work)) {
        prepared->inputs[op.operand] = prepared->outputs[0];
        prepared->sum_input = op.operand;
      }
    }
  }

  // Of a primitive that reads data, weights and perhaps a bias.
  template <class PD>
  std::optional<PreparedPrimitive> WithBias(const PD& pd) const {
    if (!pd) return std::nullopt;
    PreparedPrimitive prepared = Describe(pd, {pd.src_desc(), pd.weights_desc()}, pd.dst_desc());
    if (has_bias()) SetInput(&prepared, 2, pd.bias_desc(), DNNL_ARG_BIAS);
    return prepared;
  }

  template <class PD>
  PreparedPrimitive Describe(const PD& pd, std::vector<Desc> inputs, Desc output, int first_post_op = 0) const {
    PreparedPrimitive prepared;
    prepared.desc = pd;
    prepared.inputs = std::move(inputs);
    prepared.outputs = {std::move(output)};
    prepared.input_args = {DNNL_ARG_SRC};
    if (prepared.inputs.size() > 1) prepared.input_args.push_back(DNNL_ARG_WEIGHTS);
    prepared.output_args = {DNNL_ARG_DST};
    prepared.scratchpad = pd.scratchpad_desc();
    prepared.implementation = pd.impl_info_str();
    AddOperands(pd, first_post_op, &prepared);
    return prepared;
  }

  static void SetInput(PreparedPrimitive* prepared, std::size_t i, const Desc& desc, int arg) {
    prepared->inputs[i] = desc;
    prepared->input_args[i] = arg;
  }

  std::optional<PreparedPrimitive> Concat(int axis, const std::vector<Desc>& sources) {
    try {
      const dnnl::concat::primitive_desc pd(CpuEngine(), axis, sources, Attributes());
      auto prepared = Describe(pd, sources, pd.dst_desc());
      for (std::size_t i = 0; i < sources.size(); ++i) {
        SetInput(&prepared, i, pd.src_desc(static_cast<int>(i)), DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i));
      }
      return prepared;
    } catch (const dnnl::error&) {  // this constructor knows no allow_empty
      return std::nullopt;
    }
  }

  const bool chooses_layouts_;
  const std::vector<PostOp>& post_ops_;
  const std::vector<TensorType>& in_;
  const TensorType& out_;
  const std::vector<Desc>& layouts_;
  const Desc& out_layout_;
  std::size_t num_operands_;
};

}  // namespace

std::optional<PreparedPrimitive> Prepare(const Step& step, const std::vector<TensorType>& in_types,
                                         const TensorType& out_type, const std::vector<Desc>& layouts,
                                         const Desc& out_layout) {
  const bool sums_fit = std::all_of(step.post_ops.begin(), step.post_ops.end(), [&](const PostOp& op) {
    return !std::holds_alternative<SumWork>(op.work) || in_types[op.operand] == out_type;
  });
  if (!sums_fit) return std::nullopt;
  if (!FitsInt(out_type) || !std::all_of(in_types.begin(), in_types.end(), FitsInt)) return std::nullopt;
  return std::visit(Preparer(step, in_types, out_type, layouts, out_layout), step.work);
}

std::optional<PreparedPrimitive> PrepareReorder(const Desc& from, const Desc& to) {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const dnnl::reorder::primitive_desc pd(CpuEngine(), from, CpuEngine(), to, attr, kAllowEmpty);
  if (!pd) return std::nullopt;
  PreparedPrimitive prepared;
  prepared.desc = pd;
  prepared.inputs = {from};
  prepared.outputs = {to};
  prepared.input_args = {DNNL_ARG_FROM};
  prepared.output_args = {DNNL_ARG_TO};
  prepared.scratchpad = pd.scratchpad_desc();
  prepared.implementation = pd.impl_info_str();
  return prepared;
}

dnnl::primitive BuildPrimitive(const PreparedPrimitive& prepared) { return dnnl::primitive(prepared.desc.get()); }

}  // namespace amp::onednn
