#include "dnnl/product_nodes.h"

#include <algorithm>

#include "dnnl/cpu_info.h"
#include "passes/alternate.h"
#include "passes/op_facts.h"
#include "program/step_cost.h"

namespace amp::onednn {
namespace {

bool IsProduct(const Node& node) { return !node.is_variable() && FactsOf(node).arithmetic == Arithmetic::kAccumulates; }

bool ReadsBFloat16(const Graph& graph, const Types& types, NodeId id) {
  const auto inputs = graph.InputsOf(id);
  for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
    const bool is_data = FactsOf(graph.node(id)).RoleOf(slot) == SlotRole::kData;
    if (is_data && types[inputs[slot]].dtype == DType::kBFloat16) return true;
  }
  return false;
}

bool Computes(const Step& step) {
  return step.layer() != nullptr || KindOf(step.spec).chooses_layouts ||
         std::holds_alternative<AttentionSpec>(step.spec) || std::holds_alternative<RecurrenceSpec>(step.spec) ||
         std::holds_alternative<CallSpec>(step.spec) || std::holds_alternative<KernelSpec>(step.spec);
}

constexpr std::size_t At(Implementation implementation) { return static_cast<std::size_t>(implementation); }

}  // namespace

Implementation ImplementationOf(const Step& step, const StepTypes& types) {
  const bool is_own = std::holds_alternative<CallSpec>(step.spec) || std::holds_alternative<KernelSpec>(step.spec);
  const bool multiplies_bf16 = !is_own && !types.inputs.empty() && Computes(step) &&
                               CostOf(step, types).dtype == DType::kBFloat16 && OneDnnHasBF16();
  return multiplies_bf16 ? Implementation::kNative : Implementation::kF32;
}

std::vector<ProductNode> ProductNodesOf(const Graph& graph, const Types& types, const LaidOutProgram& program) {
  std::vector<std::vector<std::size_t>> steps(graph.num_nodes());
  for (std::size_t i = 0; i < program.program.steps.size(); ++i) {
    const Step& step = program.program.steps[i];
    if (!Computes(step)) continue;
    std::vector<NodeId> nodes{step.node};
    nodes.insert(nodes.end(), step.fused.begin(), step.fused.end());
    for (const NodeId id : nodes) steps[id].push_back(i);
  }
  std::vector<ProductNode> products;
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    const Node& node = graph.node(id);
    if (steps[id].empty() || !IsProduct(node) || !ReadsBFloat16(graph, types, id)) continue;
    products.push_back({node.name(), IsBackwardWork(node), std::move(steps[id])});
  }
  return products;
}

std::vector<AlternateCounts> CountsOf(const std::vector<ProductNode>& nodes, const std::vector<RunCounts>& steps) {
  std::vector<AlternateCounts> counts;
  for (const ProductNode& node : nodes) {
    std::int64_t runs = 0, f32 = 0, scaled = 0;
    for (const std::size_t i : node.steps) {
      runs = std::max(runs, steps[i][0] + steps[i][1] + steps[i][2]);
      f32 = std::max(f32, steps[i][At(Implementation::kF32)]);
      scaled = std::max(scaled, steps[i][At(Implementation::kScaled)]);
    }
    scaled = std::min(scaled, runs - f32);
    counts.push_back({node.name, node.is_backward, runs - f32 - scaled, f32, scaled});
  }
  return counts;
}

}  // namespace amp::onednn
