#include "program/fuse_swish_patterns.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace amp {
namespace {

constexpr std::size_t kMaxChain = 3;

// x times this chain of functions of x.
std::optional<EltwiseSpec> SwishOf(const std::vector<EltwiseSpec>& chain) {
  using Kind = EltwiseKind;
  const auto is = [&](std::initializer_list<Kind> kinds) {
    return std::equal(chain.begin(), chain.end(), kinds.begin(), kinds.end(),
                      [](const EltwiseSpec& spec, Kind kind) { return spec.kind == kind; });
  };
  if (is({Kind::kSigmoid})) return EltwiseSpec{Kind::kSwish, 1.0f, 0.0f};
  if (is({Kind::kHardSigmoid})) return EltwiseSpec{Kind::kHardSwish, chain[0].alpha, chain[0].beta};
  if (is({Kind::kSoftplus, Kind::kTanh})) return EltwiseSpec{Kind::kMish, 0.0f, 0.0f};
  // scale * clip(a x + b, 0, top) with scale * top = 1 is clip(a x / top + b / top, 0, 1).
  const bool scaled = is({Kind::kLinear, Kind::kClip, Kind::kLinear});
  if (!scaled && !is({Kind::kLinear, Kind::kClip})) return std::nullopt;
  const float top = chain[1].beta;
  const float scale = scaled ? chain[2].alpha : 1.0f;
  const bool is_unit = chain[1].alpha == 0 && top > 0 && (!scaled || chain[2].beta == 0) && scale * top > 1 - 1e-6f &&
                       scale * top < 1 + 1e-6f;
  if (!is_unit) return std::nullopt;
  return EltwiseSpec{Kind::kHardSwish, chain[0].alpha / top, chain[0].beta / top};
}

class SwishFuser {
 public:
  explicit SwishFuser(StepGraph* graph) : graph_(graph) {}

  void Visit(StepId id) {
    const Step& step = graph_->step(id);
    const auto* binary = std::get_if<BinarySpec>(&step.spec);
    if (binary == nullptr || binary->kind != BinaryKind::kMul) return;
    const std::vector<ValueId> inputs = step.inputs;
    if (!FuseAt(id, inputs[0], inputs[1])) FuseAt(id, inputs[1], inputs[0]);
  }

 private:
  // `gate` is made of `x` by a chain that nothing else reads.
  bool FuseAt(StepId id, ValueId x, ValueId gate) {
    std::vector<StepId> steps;
    std::vector<EltwiseSpec> chain;
    for (ValueId v = gate; v != x; v = graph_->step(steps.back()).inputs[0]) {
      const auto producer = graph_->producer(v);
      const EltwiseSpec* spec = producer ? std::get_if<EltwiseSpec>(&graph_->step(*producer).spec) : nullptr;
      if (spec == nullptr || !graph_->OnlyReader(v) || steps.size() == kMaxChain) return false;
      steps.push_back(*producer);
      chain.insert(chain.begin(), *spec);
    }
    const auto swish = SwishOf(chain);
    if (!swish || steps.empty()) return false;
    Step fused{*swish, {x}, graph_->step(id).outputs, graph_->step(id).node, ""};
    for (const StepId step : steps) fused.fused.push_back(graph_->step(step).node);
    graph_->Replace(id, std::move(fused));
    for (const StepId step : steps) graph_->Remove(step);
    return true;
  }

  StepGraph* graph_;
};

}  // namespace

void FuseSwishPatterns(StepGraph* graph) {
  SwishFuser fuser(graph);
  const std::size_t num_steps = graph->size();
  for (StepId id = 0; id < num_steps; ++id) {
    if (graph->alive(id)) fuser.Visit(id);
  }
}

}  // namespace amp
