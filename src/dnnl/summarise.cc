#include "dnnl/summarise.h"

#include <algorithm>

#include "dnnl/primitive_facts.h"
#include "dnnl/step_kind.h"
#include "nnvm/error.h"
#include "program/kernel_chooser.h"

namespace amp::onednn {
namespace {

// Each once, in order.
std::vector<std::string> FusedNames(const Graph& graph, const Step& step) {
  std::vector<std::string> names;
  for (const NodeId id : step.fused) {
    const std::string& name = graph.node(id).name();
    if (id != step.node && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

// What was chosen, unless oneDNN has no primitive for the step.
std::optional<LayerChoice> ChoiceOf(const Step& step, bool is_primitive) {
  return step.layer() != nullptr || is_primitive ? step.choice : std::nullopt;
}

bool IsReference(const PlanStep& step, const std::optional<PreparedPrimitive>& prepared) {
  return prepared ? prepared->is_reference() : step.implementation.find("reference") != std::string::npos;
}

std::size_t ConstantBytes(const LaidOutProgram& program, const Step& step) {
  std::size_t bytes = 0;
  for (const ValueId v : step.inputs) {
    if (program.IsConstant(v)) bytes += program.layouts[v].get_size();
  }
  return bytes;
}

std::string Numbered(const char* role, std::size_t i) { return i == 0 ? role : fmt::format("{}_{}", role, i); }

// The dtypes that the plan means, under the roles that the primitive has for them.
std::vector<OperandDType> DTypesOf(const LaidOutProgram& program, const Step& step,
                                   const std::optional<PreparedPrimitive>& prepared) {
  std::vector<OperandDType> dtypes;
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    if (prepared && prepared->input_args[i] == kNoArgument) continue;
    const std::string role = prepared ? RoleOf(prepared->input_args[i]) : Numbered("src", i);
    dtypes.push_back({role, NameOf(program.TypeOf(step.inputs[i]).dtype)});
  }
  for (std::size_t i = 0; i < step.outputs.size(); ++i) {
    const std::string role = prepared ? RoleOf(prepared->output_args[i]) : Numbered("dst", i);
    dtypes.push_back({role, NameOf(program.TypeOf(step.outputs[i]).dtype)});
  }
  return dtypes;
}

PlanStep Describe(const Graph& graph, const LaidOutProgram& program, std::size_t i) {
  const Step& step = program.program.steps[i];
  const auto& prepared = program.prepared[i];
  PlanStep described;
  described.node = graph.node(step.node).name();
  described.kind = NameOf(step.spec);
  described.implementation = prepared ? prepared->implementation : NameOfKernel(step);
  if (!step.outputs.empty()) described.layout = LayoutName(program.layouts[step.outputs[0]]);
  described.reason = step.reason;
  if (prepared && prepared->is_reference() && described.reason.empty()) {
    described.reason = "oneDNN has only reference code for this";
  }
  const auto* kernel = std::get_if<KernelSpec>(&step.spec);
  if (kernel != nullptr && described.reason.empty()) described.reason = kernel->references;
  described.fused = FusedNames(graph, step);
  described.choice = ChoiceOf(step, prepared.has_value());
  described.constant_bytes = ConstantBytes(program, step);
  described.is_backward = step.is_backward;
  if (step.alternate) described.alternate = NameOf(*step.alternate);
  described.dtypes = DTypesOf(program, step, prepared);
  described.post_ops = PostOpNames(step);
  if (prepared) described.primitive_kind = PrimitiveKindOf(step.spec);
  return described;
}

// Why a sum of products of low precision is computed in float32; "" where it is not. `known`: of bfloat16.
std::string WhyFloat32(const Model& model, const LaidOutProgram& program, const Step& step,
                       const std::map<NodeId, std::string>& known) {
  if (!KindOf(step.spec).chooses_layouts) return "";
  const auto is_low = [](const TensorType& type) { return IsLowPrecision(type.dtype); };
  const std::vector<TensorType> multiplied = program.TypesOf(step).inputs;
  if (std::any_of(multiplied.begin(), multiplied.end(), is_low)) return "";
  for (const EntryId input : model.graph().InputsOf(step.node)) {
    const DType dtype = model.types()[input].dtype;
    if (dtype == DType::kFloat16) return "float16 is storage on every CPU";
    if (dtype == DType::kBFloat16) return known.contains(step.node) ? known.at(step.node) : "";
  }
  return "";
}

// What the time of reading or writing a tensor depends on.
const char* LayoutClass(const Desc& layout) {
  if (layout.get_format_kind() != dnnl::memory::format_kind::blocked || layout.get_inner_nblks() != 0) return "blocked";
  const auto dims = layout.get_dims(), strides = layout.get_strides();
  return dims.empty() || dims.back() == 1 || strides.back() == 1 ? "rows" : "channels_last";
}

}  // namespace

PlanSummary Summarise(const Model& model, const LaidOutProgram& program, const CompiledPlan& plan,
                      std::size_t constant_bytes, const std::map<NodeId, std::string>& why_float32) {
  PlanSummary summary;
  summary.arena_bytes = plan.arena_bytes;
  summary.constant_bytes = constant_bytes;
  summary.num_threads = plan.num_threads;
  for (std::size_t i = 0; i < program.program.steps.size(); ++i) {
    const StepSpec& spec = program.program.steps[i].spec;
    const auto& prepared = program.prepared[i];
    const bool is_reorder = std::holds_alternative<ReorderSpec>(spec);  // of layouts: no node
    summary.steps.push_back(Describe(model.graph(), program, i));
    summary.steps.back().why_float32 = WhyFloat32(model, program, program.program.steps[i], why_float32);
    summary.num_reorders += is_reorder;
    if (is_reorder || !IsReference(summary.steps.back(), prepared)) continue;
    summary.num_references += 1;
    summary.reference_nodes.push_back(summary.steps.back().node);
  }
  return summary;
}

std::vector<StepFeatures> FeaturesOf(const LaidOutProgram& program) {
  std::vector<StepFeatures> features;
  for (std::size_t i = 0; i < program.program.steps.size(); ++i) {
    const Step& step = program.program.steps[i];
    features.push_back(FeaturesOf(step, program.TypesOf(step)));
    std::string& layout = features.back().key.layout;
    if (step.layer() != nullptr) continue;
    if (std::holds_alternative<ReorderSpec>(step.spec)) {
      layout = fmt::format("{}-{}", LayoutClass(program.layouts[step.inputs[0]]),
                           LayoutClass(program.layouts[step.outputs[0]]));
    } else if (program.prepared[i] && program.prepared[i]->is_reference()) {
      layout = "reference";
    } else if (std::holds_alternative<ConvolutionSpec>(step.spec)) {
      layout = LayoutClass(program.layouts[step.outputs[0]]);
    }
  }
  return features;
}

}  // namespace amp::onednn
