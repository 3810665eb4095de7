// The last stages of compilation, on a program with layouts: FoldConstants, PlanMemory, BuildPrimitives.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dnnl/compiled_plan.h"

namespace amp::onednn {

class PlanBuilder {
 public:
  PlanBuilder(LaidOutProgram laid_out, ConstantStore* store);

  // Runs every step that reads constants only, once, and keeps the results (packed weights, cast parameters).
  void FoldConstants();
  // Gives every computed value its place: callers' memory, or the arena by liveness, in place where legal.
  void PlanMemory();
  void BuildPrimitives();

  PlanSummary Summarise(const Graph& graph) const;
  const std::shared_ptr<CompiledPlan>& plan() const { return plan_; }

 private:
  const std::vector<Value>& values() const { return laid_out_.program.values; }
  Program& program() { return laid_out_.program; }
  std::vector<Step>& steps() { return laid_out_.program.steps; }

  ValueId Root(ValueId v);
  void ShareStorage();
  std::set<ValueId> HeadStorage();
  void Fold(const Step& step, const std::optional<PreparedPrimitive>& prepared);
  void PruneStore();
  void ShareSums();
  bool MayBecome(ValueId operand, ValueId output, std::size_t i, const std::set<ValueId>& heads,
                 const std::vector<std::size_t>& last_use);
  ValueId AddValue(TensorType type, const Desc& layout);
  void AddScratchpads();
  std::vector<ValueId> Written(std::size_t i);
  std::vector<std::size_t> LastUses();
  std::optional<ValueId> InPlaceOf(std::size_t i, ValueId output, const std::set<ValueId>& heads,
                                   const std::vector<std::size_t>& last_use);

  LaidOutProgram laid_out_;
  ConstantStore* store_;
  std::shared_ptr<CompiledPlan> plan_ = std::make_shared<CompiledPlan>();
  std::vector<std::optional<ValueId>> scratchpads_;  // by step
  std::map<ValueId, std::size_t> buffer_of_;         // by storage
  std::vector<std::string> consumed_;                // constants that folded steps read
};

}  // namespace amp::onednn
