// FlowKernel: control flow whose bodies are plans.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ops/control_flow/flow.h"
#include "program/body_runner.h"
#include "program/kernel_operands.h"

namespace amp {

// A body and what each input of its runs reads.
struct PlannedBody {
  std::shared_ptr<const BodyRunner> runner;
  std::vector<Source> reads;
  std::vector<TensorType> results;
};

// Which operands of the step are the node's, and their types.
struct FlowOperands {
  std::vector<std::optional<std::size_t>> inputs;   // by slot; nullopt: no run reads it
  std::vector<std::optional<std::size_t>> outputs;  // nullopt: nothing reads it
  std::vector<TensorType> in_types, out_types;      // of the node
};

struct PlannedFlow {
  std::optional<PlannedBody> condition;
  std::vector<PlannedBody> results;  // as in Flow
  std::size_t num_stacked = 0;
  std::vector<std::size_t> state_slots;
  std::int64_t max_steps = 0;  // of a loop
};

// Bodies write where their results belong: into their row of a stacked output, or into one of two buffers between which
// a state goes to and fro.
class FlowKernel {
 public:
  FlowKernel(PlannedFlow flow, FlowOperands operands);

  std::size_t scratch_bytes() const { return scratch_bytes_; }
  double Flops() const;
  // Which nodes of the bodies run on reference code, in a sentence; "" where none does.
  std::string References() const;
  void Run(const KernelOperands& operands) const;

 private:
  class Frame;
  std::size_t AddScratch(std::int64_t bytes);
  std::vector<const PlannedBody*> Bodies() const;
  bool IsTrue(const Frame& frame) const;
  void RunLoop(Frame& frame) const;
  void RunBranch(Frame& frame) const;
  void RunStep(Frame& frame, std::int64_t step) const;
  void FinishStates(Frame& frame) const;

  const PlannedFlow flow_;
  const FlowOperands operands_;
  std::size_t scratch_bytes_ = 0;
  // Where in the scratch memory they begin.
  std::size_t current_ = 0, inputs_ = 0, outputs_ = 0, condition_ = 0;
  std::vector<std::int64_t> in_parts_, out_parts_;  // bytes of what one step reads or collects
  std::vector<std::size_t> buffers_;                // by output: what takes its place where nothing reads it
  std::vector<std::size_t> other_buffers_;          // by state: the second of its two
};

}  // namespace amp
