#include "dnnl/primitives.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace amp::onednn {
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

dnnl::primitive_attr UserScratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

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
  }
  return algorithm::undef;
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

class Preparer {
 public:
  Preparer(const std::vector<TensorType>& in_types, const TensorType& out_type, const std::vector<Desc>& layouts)
      : in_(in_types), out_(out_type), layouts_(layouts) {}

  std::optional<PreparedPrimitive> operator()(const ConvolutionWork& work) {
    const dnnl::convolution_forward::primitive_desc pd(CpuEngine(), prop_kind::forward_inference,
                                                       algorithm::convolution_direct, AnyDesc(in_[0]), AnyDesc(in_[1]),
                                                       BiasDesc(), AnyDesc(out_), work.strides, work.dilates,
                                                       work.pads_begin, work.pads_end, UserScratchpad(), kAllowEmpty);
    return WithBias(pd);
  }

  std::optional<PreparedPrimitive> operator()(const DeconvolutionWork& work) {
    if (!BuildsQuickly(work, out_)) return std::nullopt;
    const dnnl::deconvolution_forward::primitive_desc pd(
        CpuEngine(), prop_kind::forward_inference, algorithm::deconvolution_direct, AnyDesc(in_[0]), AnyDesc(in_[1]),
        BiasDesc(), AnyDesc(out_), work.strides, work.dilates, work.pads_begin, work.pads_end, UserScratchpad(),
        kAllowEmpty);
    return WithBias(pd);
  }

  std::optional<PreparedPrimitive> operator()(const MatMulWork& work) {
    dnnl::primitive_attr attr = UserScratchpad();
    if (work.scale != 1) {
      dnnl::post_ops post_ops;
      post_ops.append_eltwise(algorithm::eltwise_linear, work.scale, 0.0f);
      attr.set_post_ops(post_ops);
    }
    const dnnl::matmul::primitive_desc pd(CpuEngine(), AnyDesc(in_[0]), AnyDesc(in_[1]), PlainDesc(out_), attr,
                                          kAllowEmpty);
    if (!pd) return std::nullopt;
    return Describe(pd, {pd.src_desc(), pd.weights_desc()}, pd.dst_desc());
  }

  std::optional<PreparedPrimitive> operator()(const InnerProductWork&) {
    const dnnl::inner_product_forward::primitive_desc pd(CpuEngine(), prop_kind::forward_inference, AnyDesc(in_[0]),
                                                         AnyDesc(in_[1]), BiasDesc(), AnyDesc(out_), UserScratchpad(),
                                                         kAllowEmpty);
    return WithBias(pd);
  }

  std::optional<PreparedPrimitive> operator()(const PoolingWork& work) {
    const dnnl::memory::dims dense(work.kernel.size(), 0);
    const dnnl::pooling_forward::primitive_desc pd(
        CpuEngine(), prop_kind::forward_inference, PoolingAlgorithm(work.kind), layouts_[0], AnyDesc(out_),
        work.strides, work.kernel, dense, work.pads_begin, work.pads_end, UserScratchpad(), kAllowEmpty);
    if (!pd) return std::nullopt;
    return Describe(pd, {pd.src_desc()}, pd.dst_desc());
  }

  std::optional<PreparedPrimitive> operator()(const EltwiseWork& work) {
    // log_sigmoid(x) is -softplus(-x): oneDNN's soft_relu with alpha -1.
    const float alpha = work.kind == EltwiseKind::kSoftplus     ? 1.0f
                        : work.kind == EltwiseKind::kLogSigmoid ? -1.0f
                                                                : work.alpha;
    const dnnl::eltwise_forward::primitive_desc pd(CpuEngine(), prop_kind::forward_inference,
                                                   EltwiseAlgorithm(work.kind), layouts_[0], layouts_[0], alpha,
                                                   work.beta, UserScratchpad(), kAllowEmpty);
    if (!pd) return std::nullopt;
    auto prepared = Describe(pd, {pd.src_desc()}, pd.dst_desc());
    prepared.can_run_in_place = true;
    return prepared;
  }

  std::optional<PreparedPrimitive> operator()(const BinaryWork& work) {
    const bool same_shape = in_[0].shape == in_[1].shape;
    const Desc other = same_shape ? layouts_[0] : PlainDesc(in_[1]);
    const dnnl::binary::primitive_desc pd(CpuEngine(), BinaryAlgorithm(work.kind), layouts_[0], other, layouts_[0],
                                          UserScratchpad(), kAllowEmpty);
    if (!pd) return std::nullopt;
    auto prepared = Describe(pd, {pd.src_desc(0), pd.src_desc(1)}, pd.dst_desc());
    prepared.input_args = {DNNL_ARG_SRC_0, DNNL_ARG_SRC_1};
    prepared.can_run_in_place = true;
    return prepared;
  }

  std::optional<PreparedPrimitive> operator()(const BatchNormWork& work) {
    using dnnl::normalization_flags;
    const auto flags =
        normalization_flags::use_global_stats | normalization_flags::use_scale | normalization_flags::use_shift;
    const dnnl::batch_normalization_forward::primitive_desc pd(CpuEngine(), prop_kind::forward_inference, layouts_[0],
                                                               layouts_[0], work.epsilon, flags, UserScratchpad(),
                                                               kAllowEmpty);
    if (!pd) return std::nullopt;
    auto prepared = Describe(pd, {pd.src_desc()}, pd.dst_desc());
    AddInput(&prepared, PlainDesc(in_[1]), DNNL_ARG_SCALE);
    AddInput(&prepared, PlainDesc(in_[2]), DNNL_ARG_SHIFT);
    AddInput(&prepared, PlainDesc(in_[3]), DNNL_ARG_MEAN);
    AddInput(&prepared, PlainDesc(in_[4]), DNNL_ARG_VARIANCE);
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
    const dnnl::softmax_forward::primitive_desc pd(CpuEngine(), prop_kind::forward_inference, kind, layouts_[0],
                                                   layouts_[0], work.axis, UserScratchpad(), kAllowEmpty);
    if (!pd) return std::nullopt;
    return Describe(pd, {pd.src_desc()}, pd.dst_desc());
  }

  std::optional<PreparedPrimitive> operator()(const LayerNormWork& work) {
    if (in_[0].shape.dims().back() > kLongestNormalizedRow) return std::nullopt;
    using dnnl::normalization_flags;
    const Desc plain = PlainDesc(in_[0]);
    const dnnl::layer_normalization_forward::primitive_desc pd(
        CpuEngine(), prop_kind::forward_inference, plain, plain, work.epsilon,
        normalization_flags::use_scale | normalization_flags::use_shift, UserScratchpad(), kAllowEmpty);
    if (!pd) return std::nullopt;
    auto prepared = Describe(pd, {pd.src_desc()}, pd.dst_desc());
    AddInput(&prepared, PlainDesc(in_[1]), DNNL_ARG_SCALE);
    AddInput(&prepared, PlainDesc(in_[2]), DNNL_ARG_SHIFT);
    prepared.can_run_in_place = true;
    return prepared;
  }

  // The library's fast code sums up what lies together in memory; our reference kernel is no slower than its own.
  std::optional<PreparedPrimitive> operator()(const ReductionWork& work) {
    const auto kind = work.kind == ReductionKind::kSum ? algorithm::reduction_sum : algorithm::reduction_mean;
    const dnnl::reduction::primitive_desc pd(CpuEngine(), kind, layouts_[0], PlainDesc(out_), 0.0f, 0.0f,
                                             UserScratchpad(), kAllowEmpty);
    if (!pd) return std::nullopt;
    PreparedPrimitive prepared = Describe(pd, {pd.src_desc()}, pd.dst_desc());
    if (prepared.implementation.find("ref") != std::string::npos) return std::nullopt;
    return prepared;
  }

  std::optional<PreparedPrimitive> operator()(const NearestResampleWork&) {
    const dnnl::resampling_forward::primitive_desc pd(CpuEngine(), prop_kind::forward_inference,
                                                      algorithm::resampling_nearest, layouts_[0], AnyDesc(out_),
                                                      UserScratchpad(), kAllowEmpty);
    if (!pd) return std::nullopt;
    return Describe(pd, {pd.src_desc()}, pd.dst_desc());
  }

  std::optional<PreparedPrimitive> operator()(const PReluWork&) {
    const dnnl::prelu_forward::primitive_desc pd(CpuEngine(), prop_kind::forward_inference, layouts_[0],
                                                 AnyDesc(in_[1]), layouts_[0], UserScratchpad(), kAllowEmpty);
    if (!pd) return std::nullopt;
    return Describe(pd, {pd.src_desc(), pd.weights_desc()}, pd.dst_desc());
  }

  template <class NotAPrimitive>
  std::optional<PreparedPrimitive> operator()(const NotAPrimitive&) {
    return std::nullopt;
  }

 private:
  Desc BiasDesc() const { return in_.size() == 3 ? PlainDesc(in_[2]) : Desc(); }

  // Of a primitive that reads data, weights and perhaps a bias.
  template <class PD>
  std::optional<PreparedPrimitive> WithBias(const PD& pd) const {
    if (!pd) return std::nullopt;
    PreparedPrimitive prepared = Describe(pd, {pd.src_desc(), pd.weights_desc()}, pd.dst_desc());
    if (in_.size() == 3) AddInput(&prepared, pd.bias_desc(), DNNL_ARG_BIAS);
    return prepared;
  }

  template <class PD>
  static PreparedPrimitive Describe(const PD& pd, std::vector<Desc> inputs, Desc output) {
    PreparedPrimitive prepared;
    prepared.desc = pd;
    prepared.inputs = std::move(inputs);
    prepared.outputs = {std::move(output)};
    prepared.input_args = {DNNL_ARG_SRC};
    if (prepared.inputs.size() > 1) prepared.input_args.push_back(DNNL_ARG_WEIGHTS);
    prepared.output_args = {DNNL_ARG_DST};
    prepared.scratchpad = pd.scratchpad_desc();
    prepared.implementation = pd.impl_info_str();
    return prepared;
  }

  static void AddInput(PreparedPrimitive* prepared, const Desc& desc, int arg) {
    prepared->inputs.push_back(desc);
    prepared->input_args.push_back(arg);
  }

  std::optional<PreparedPrimitive> Concat(int axis, const std::vector<Desc>& sources) {
    try {
      const dnnl::concat::primitive_desc pd(CpuEngine(), axis, sources, UserScratchpad());
      auto prepared = Describe(pd, sources, pd.dst_desc());
      for (std::size_t i = 0; i < sources.size(); ++i) prepared.inputs[i] = pd.src_desc(static_cast<int>(i));
      prepared.input_args.clear();
      for (std::size_t i = 0; i < sources.size(); ++i) {
        prepared.input_args.push_back(DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i));
      }
      return prepared;
    } catch (const dnnl::error&) {  // this constructor knows no allow_empty
      return std::nullopt;
    }
  }

  const std::vector<TensorType>& in_;
  const TensorType& out_;
  const std::vector<Desc>& layouts_;
};

}  // namespace

std::optional<PreparedPrimitive> Prepare(const Step& step, const std::vector<TensorType>& in_types,
                                         const TensorType& out_type, const std::vector<Desc>& layouts) {
  if (!FitsInt(out_type) || !std::all_of(in_types.begin(), in_types.end(), FitsInt)) return std::nullopt;
  return std::visit(Preparer(in_types, out_type, layouts), step.work);
}

std::optional<PreparedPrimitive> PrepareReorder(const Desc& from, const Desc& to) {
  const dnnl::reorder::primitive_desc pd(CpuEngine(), from, CpuEngine(), to, UserScratchpad(), kAllowEmpty);
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
