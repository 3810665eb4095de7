// What the files of step_kinds/ build primitives from: a step, the types and layouts of its operands, and its post-ops.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dnnl/engine.h"
#include "dnnl/prepared_primitive.h"
#include "program/step.h"

namespace amp::onednn {

dnnl::algorithm AlgorithmOf(EltwiseKind kind);
dnnl::algorithm AlgorithmOf(BinaryKind kind);
// The alpha that oneDNN's algorithm expects.
float AlphaOf(const EltwiseSpec& spec);

class PrimitiveBuilder {
 public:
  // An unsupported combination gives an empty description instead of an exception.
  static constexpr bool kAllowEmpty = true;
  static constexpr auto kInference = dnnl::prop_kind::forward_inference;

  // The arguments stay the caller's and must outlive the builder.
  PrimitiveBuilder(const Step& step, const std::vector<TensorType>& in_types, const TensorType& out_type,
                   const std::vector<Desc>& layouts, const Desc& out_layout);

  template <class Spec>
  const Spec& spec() const {
    return std::get<Spec>(step_.spec);
  }
  const TensorType& in(std::size_t i) const { return in_[i]; }
  const std::vector<TensorType>& in_types() const { return in_; }
  const TensorType& out() const { return out_; }
  // Where input i lies now. Kinds that choose their layouts look at none.
  const Desc& layout(std::size_t i) const { return layouts_[i]; }

  // The layout that the caller insists on, or else `otherwise`.
  Desc OutDesc(const Desc& otherwise) const { return out_layout_.is_zero() ? otherwise : out_layout_; }
  Desc OutDesc() const { return OutDesc(AnyDesc(out_)); }
  // Empty where there is no bias.
  Desc BiasDesc() const { return has_bias() ? PlainDesc(in_[2]) : Desc(); }

  bool has_post_ops() const { return !step_.post_ops.empty(); }
  // Attributes with the step's post-ops; `scale` comes before them.
  dnnl::primitive_attr Attributes(float scale = 1) const;
  // Attributes without post-ops, such as those of a primitive that is only asked for.
  static dnnl::primitive_attr ScratchpadOnly();

  // The description with the first implementation that is not known to be broken, in general or as `is_broken` says;
  // empty where there is none.
  template <class PD, class IsBrokenHere>
  PD WithoutBroken(PD pd, IsBrokenHere is_broken) const {
    while (pd && (IsBroken(pd.impl_info_str()) || is_broken(pd.impl_info_str()))) {
      if (!pd.next_impl()) return PD();
    }
    return pd;
  }
  template <class PD>
  PD WithoutBroken(const PD& pd) const {
    return WithoutBroken(pd, [](const char*) { return false; });
  }

  // A primitive that reads `inputs` (source and weights) and writes `output`; nullopt where `pd` is empty.
  // `first_post_op` is the number of post-ops that are not the step's.
  template <class PD>
  std::optional<PreparedPrimitive> Describe(const PD& pd, std::vector<Desc> inputs, Desc output,
                                            int first_post_op = 0) const {
    if (!pd) return std::nullopt;
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
  // Describes a primitive that has a source and a result alone.
  template <class PD>
  std::optional<PreparedPrimitive> DescribeUnary(const PD& pd) const {
    if (!pd) return std::nullopt;
    return Describe(pd, {pd.src_desc()}, pd.dst_desc());
  }
  // Describes a primitive that reads data, weights and perhaps a bias.
  template <class PD>
  std::optional<PreparedPrimitive> DescribeWithBias(const PD& pd) const {
    if (!pd) return std::nullopt;
    auto prepared = Describe(pd, {pd.src_desc(), pd.weights_desc()}, pd.dst_desc());
    if (has_bias()) SetInput(2, pd.bias_desc(), DNNL_ARG_BIAS, &*prepared);
    return prepared;
  }
  static void SetInput(std::size_t i, const Desc& desc, int arg, PreparedPrimitive* prepared);

 private:
  bool has_bias() const { return in_.size() - num_operands_ == 3; }
  // AMX multiplies no float32. oneDNN 3.13 offers it for convolutions of float32 whose result is bfloat16: some of
  // these primitives cannot be made, and others read a null pointer.
  bool IsBroken(const std::string& implementation) const {
    return in_[0].dtype == DType::kFloat32 && implementation.find("amx") != std::string::npos;
  }
  void AppendPostOp(const PostOp& op, dnnl::post_ops* ops) const;
  Desc OperandDesc(const PostOp& op) const;

  template <class PD>
  void AddOperands(const PD& pd, int first, PreparedPrimitive* prepared) const {
    prepared->inputs.resize(in_.size());
    prepared->input_args.resize(in_.size(), kNoArgument);
    for (std::size_t i = 0; i < step_.post_ops.size(); ++i) {
      const PostOp& op = step_.post_ops[i];
      const int arg = DNNL_ARG_ATTR_MULTIPLE_POST_OP(static_cast<int>(i) + first);
      if (std::holds_alternative<BinarySpec>(op.spec)) {
        SetInput(op.operand, pd.query_md(dnnl::query::exec_arg_md, arg | DNNL_ARG_SRC_1), arg | DNNL_ARG_SRC_1,
                 prepared);
      } else if (std::holds_alternative<PReluSpec>(op.spec)) {
        SetInput(op.operand, PlainDesc(in_[op.operand]), arg | DNNL_ARG_WEIGHTS, prepared);
      } else if (std::holds_alternative<SumSpec>(op.spec)) {
        prepared->inputs[op.operand] = prepared->outputs[0];
        prepared->sum_input = op.operand;
      }
    }
  }

  const Step& step_;
  const std::vector<TensorType>& in_;
  const TensorType& out_;
  const std::vector<Desc>& layouts_;
  const Desc& out_layout_;
  std::size_t num_operands_;  // of post-ops
};

}  // namespace amp::onednn
