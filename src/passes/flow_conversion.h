// The bodies of one node of control flow, converted together: what passes between steps has one dtype.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "passes/conversion.h"
#include "passes/runs_bodies.h"

namespace amp {

// What a node of control flow reads.
struct FlowInput {
  TensorType type;
  const NDArray* array = nullptr;  // the values of a parameter
  // A parameter that is not cast in its file is cast inside: plans of bodies pack what is the same in all steps.
  bool is_cast_inside = false;
};

class FlowConversion {
 public:
  // `flow` describes the node for these inputs, `options` are those of each body, and `run` runs a
  // conversion.
  FlowConversion(const Node& node, FlowBodies flow, std::vector<FlowInput> inputs, std::vector<ConvertOptions> options,
                 void (*run)(Conversion&), bool wants_reports);

  const FlowBodies& flow() const { return flow_; }
  // Why the bodies cannot be decided about; "" where they can.
  std::string WhyNot() const;
  void Run();

  // The inputs that the node reads, and the outputs that it writes, in low precision. Run finds them.
  const std::set<std::size_t>& low_slots() const { return low_slots_; }
  const std::set<std::size_t>& low_outputs() const { return low_outputs_; }
  // The body without the casts that stand outside now; `converted` learns which.
  std::vector<NodeEntry> BodyOf(std::size_t index, ConvertedBody* converted) const;
  std::string ReportOf(std::size_t index) const;

 private:
  using StateSet = std::set<std::size_t>;  // of places in FlowBodies::states
  // The bodies for float32 outside, but for low states.
  struct Round {
    std::vector<std::unique_ptr<Conversion>> bodies;
    std::vector<std::unique_ptr<ConversionReport>> reports;
    std::vector<std::map<std::string, NodeId>> variables;  // by body: those that are left
  };

  DType target() const { return options_[0].target; }
  const Graph& GraphOf(std::size_t index) const { return round_.bodies[index]->model.graph(); }
  // Nodes of the body that compute how often the loop runs, from a state that its condition reads: no products.
  std::set<std::string> CountingNodes(std::size_t index) const;
  Round Converted(const StateSet& low_states) const;
  ModelParams ParamsOf(std::size_t index, const Graph& graph, TypeMap* types) const;

  // What is read.
  bool IsReadLow(std::size_t slot, const StateSet& low_states) const;
  bool IsReadLow(std::size_t index, NodeId variable, const StateSet& low_states) const;
  bool IsOutputOf(std::size_t index, std::size_t output, const StateSet& states) const;
  StateSet StatesReadLow() const;

  // What is written.
  std::size_t Results() const;
  std::optional<NodeEntry> LowOutput(std::size_t index, std::size_t output) const;
  bool IsWrittenLow(std::size_t state, const StateSet& low_states) const;
  bool SharesOutputWithWide(std::size_t state, const StateSet& low_states) const;
  StateSet Consistent(const StateSet& low_states) const;
  bool IsWrittenLowByAll(std::size_t output) const;

  void FindLowSlots();
  void FindLowOutputs();

  const Node& node_;
  void (*const run_)(Conversion&);
  const std::vector<FlowInput> inputs_;
  const std::vector<ConvertOptions> options_;
  const FlowBodies flow_;
  std::vector<std::map<std::string, FlowBody::Variable>> variables_;  // by body
  std::vector<std::set<std::string>> counting_;                       // by body
  const bool wants_reports_;
  Round round_;
  StateSet low_states_;
  std::set<std::size_t> low_slots_, low_outputs_;
};

}  // namespace amp
