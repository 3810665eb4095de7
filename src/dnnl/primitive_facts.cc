#include "dnnl/primitive_facts.h"

#include <dnnl_debug.h>
#include <fmt/format.h>

#include "dnnl/primitive_builder.h"
#include "kernels/base/cpu.h"

namespace amp::onednn {
namespace {

using DataTypeCode = dnnl::memory::data_type;

std::string DTypeName(DataTypeCode type) {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kFloat16, DType::kInt8}) {
    if (DataType(dtype) == type) return NameOf(dtype);
  }
  return dnnl_dt2str(static_cast<dnnl_data_type_t>(type));
}

std::string NameOf(dnnl::algorithm algorithm) { return dnnl_alg_kind2str(static_cast<dnnl_alg_kind_t>(algorithm)); }

std::string PostOpName(const PostOp& op) {
  if (const auto* eltwise = std::get_if<EltwiseSpec>(&op.spec)) return NameOf(AlgorithmOf(eltwise->kind));
  if (const auto* binary = std::get_if<BinarySpec>(&op.spec)) return NameOf(AlgorithmOf(binary->kind));
  return std::holds_alternative<PReluSpec>(op.spec) ? "prelu" : "sum";
}

// oneDNN's eltwise and binary post-ops, each with its algorithm.
std::vector<std::string> PostOpNames(const dnnl::post_ops& ops) {
  std::vector<std::string> names;
  for (int i = 0; i < ops.len(); ++i) {
    dnnl::algorithm algorithm{};
    float alpha = 0, beta = 0;
    Desc operand;
    if (ops.kind(i) == dnnl::primitive::kind::eltwise) {
      ops.get_params_eltwise(i, algorithm, alpha, beta);
      names.push_back(NameOf(algorithm));
    } else if (ops.kind(i) == dnnl::primitive::kind::binary) {
      ops.get_params_binary(i, algorithm, operand);
      names.push_back(NameOf(algorithm));
    } else {
      names.emplace_back(dnnl_prim_kind2str(static_cast<dnnl_primitive_kind_t>(ops.kind(i))));
    }
  }
  return names;
}

dnnl::primitive_desc_base DescriptorOf(const dnnl::primitive& primitive) {
  dnnl_primitive_desc_t copy = nullptr;
  dnnl::error::wrap_c_api(dnnl_primitive_desc_clone(&copy, primitive.get_primitive_desc()),
                          "oneDNN could not describe a primitive");
  return dnnl::primitive_desc_base(copy);
}

// What the primitive takes the argument for. A memory of another dtype than that is named, too.
std::string DTypeOf(const dnnl::primitive_desc_base& desc, int arg, const dnnl::memory& memory) {
  const DataTypeCode lies = memory.get_desc().get_data_type();
  const Desc expected = desc.query_md(dnnl::query::exec_arg_md, arg);
  if (expected.is_zero() || expected.get_data_type() == lies) return DTypeName(lies);
  return fmt::format("{} in memory of {}", DTypeName(expected.get_data_type()), DTypeName(lies));
}

void AddPrimitive(const dnnl::primitive& primitive, ExecutedStep* executed) {
  const dnnl::primitive_desc_base desc = DescriptorOf(primitive);
  executed->kind = dnnl_prim_kind2str(static_cast<dnnl_primitive_kind_t>(desc.get_kind()));
  executed->implementation = desc.impl_info_str();
  const dnnl::primitive_attr attr = desc.get_primitive_attr();
  executed->post_ops = PostOpNames(attr.get_post_ops());
  executed->fpmath = dnnl_fpmath_mode2str(static_cast<dnnl_fpmath_mode_t>(attr.get_fpmath_mode()));
}

void AddArguments(const CompiledStep& step, const std::vector<dnnl::memory>& memories, ExecutedStep* executed) {
  const dnnl::primitive_desc_base desc = DescriptorOf(step.primitive);
  for (const auto& [arg, v] : step.args) {
    if (arg != DNNL_ARG_SCRATCHPAD) executed->dtypes.push_back({RoleOf(arg), DTypeOf(desc, arg, memories[v])});
  }
}

// Dtypes that oneDNN does not have lie in memory of elements of the same size, and weights that a kernel has packed in
// bytes.
void AddOwn(const CompiledStep& step, const PlanStep& planned, const std::vector<dnnl::memory>& memories,
            ExecutedStep* executed) {
  executed->kind = planned.kind;
  executed->implementation = step.own_name;
  executed->post_ops = planned.post_ops;
  executed->instruction_set = kernels::IsaName(kernels::AllowedIsa());
  std::vector<ValueId> operands = step.inputs;
  operands.insert(operands.end(), step.outputs.begin(), step.outputs.end());
  for (std::size_t i = 0; i < operands.size() && i < planned.dtypes.size(); ++i) {
    OperandDType operand = planned.dtypes[i];
    const DataTypeCode lies = memories[operands[i]].get_desc().get_data_type();
    const bool is_packed = lies == DataTypeCode::u8;
    if (!is_packed && DataType(DTypeFromName(operand.dtype)) != lies) operand.dtype = DTypeName(lies);
    executed->dtypes.push_back(std::move(operand));
  }
}

}  // namespace

std::string RoleOf(int arg) {
  constexpr int kPostOp = DNNL_ARG_ATTR_MULTIPLE_POST_OP(0);
  if (arg >= kPostOp) return fmt::format("post_op_{}", arg / kPostOp - 1);
  if (arg >= DNNL_ARG_MULTIPLE_SRC) return fmt::format("src_{}", arg - DNNL_ARG_MULTIPLE_SRC);
  switch (arg) {
    case DNNL_ARG_SRC_0:
      return "src";
    case DNNL_ARG_SRC_1:
      return "src_1";
    case DNNL_ARG_DST:
      return "dst";
    case DNNL_ARG_WEIGHTS:
      return "weights";
    case DNNL_ARG_BIAS:
      return "bias";
    case DNNL_ARG_SCALE:
      return "scale";
    case DNNL_ARG_SHIFT:
      return "shift";
    case DNNL_ARG_DIFF_DST:
      return "diff_dst";
    case DNNL_ARG_DIFF_WEIGHTS:
      return "diff_weights";
    default:
      return fmt::format("argument_{}", arg);
  }
}

std::string PrimitiveKindOf(const StepSpec& spec) {
  if (std::holds_alternative<LayerNormSpec>(spec)) return "layer_normalization";
  if (std::holds_alternative<NearestResampleSpec>(spec)) return "resampling";
  if (std::holds_alternative<WeightGradientSpec>(spec)) return "convolution";
  return NameOf(spec);
}

std::vector<std::string> PostOpNames(const Step& step) {
  std::vector<std::string> names;
  const auto* product = std::get_if<MatMulSpec>(&step.spec);
  if (product != nullptr && product->scale != 1) names.emplace_back("eltwise_linear");
  for (const PostOp& op : step.post_ops) names.push_back(PostOpName(op));
  return names;
}

ExecutedStep Executed(const CompiledStep& step, const PlanStep& planned, const std::vector<dnnl::memory>& memories,
                      Implementation ran) {
  ExecutedStep executed;
  if (!step.primitive) {
    AddOwn(step, planned, memories, &executed);
    return executed;
  }
  const bool ran_alternate = step.alternate && ran != Implementation::kNative;
  AddPrimitive(ran_alternate ? step.alternate->PrimitiveOf(ran) : step.primitive, &executed);
  AddArguments(step, memories, &executed);
  if (ran_alternate) executed.alternate = ran == Implementation::kScaled ? "scaled" : "f32";
  return executed;
}

}  // namespace amp::onednn
