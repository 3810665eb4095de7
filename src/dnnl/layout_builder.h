// A program while its steps are laid out one after the other. The files of step_kinds/ call this for their steps.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dnnl/concat_placement.h"
#include "dnnl/constants.h"
#include "dnnl/laid_out_program.h"
#include "passes/numeric_mode.h"

namespace amp::onednn {

class LayoutBuilder {
 public:
  // No steps yet; constants lie as the store has them, everything else is row-major until something else is said.
  LayoutBuilder(NumericMode mode, const Program& source, const ConstantStore& store);

  bool is_fast() const { return is_fast_; }
  const LaidOutProgram& laid_out() const { return result_; }
  const TensorType& TypeOf(ValueId v) const { return result_.TypeOf(v); }
  const Desc& LayoutOf(ValueId v) const { return result_.layouts[v]; }
  const std::string& NameOf(ValueId v) const { return result_.program.values[v].name; }
  ConcatPlacement& concats() { return concats_; }

  void SetLayout(ValueId v, Desc layout) { result_.layouts[v] = std::move(layout); }
  ValueId AddValue(TensorType type, std::string name, Desc layout);

  // The value in the given layout: itself, an earlier reorder of it, or a new one.
  ValueId InLayout(ValueId v, const Desc& layout, NodeId node, const char* reason);
  ValueId InRowMajor(ValueId v, NodeId node, const char* reason);
  // What `spec` makes of a constant, under its own name: an earlier result, one that the store holds, or a new step's.
  ValueId Derived(ValueId constant, StepSpec spec, const std::string& name, const Desc& layout, NodeId node);
  // `out` is memory of `in`, seen in that layout.
  void Alias(ValueId out, ValueId in, Desc layout);

  // `prepared` is absent for own kernels.
  void Append(Step step, std::optional<PreparedPrimitive> prepared = std::nullopt);
  // A reorder of `from`, which is to give `to`. Throws InternalError where oneDNN cannot do it.
  void AppendReorder(ValueId from, ValueId to, NodeId node, const char* reason);
  // A reorder by that primitive, or by our own kernel where the primitive would change bits.
  void AppendReorder(Step step, PreparedPrimitive prepared);
  // oneDNN cannot run the step: its node is to be lowered to its reference kernel, or, if something was fused into
  // it, first without that.
  void Reject(const Step& step, const std::string& reason);

  // `result` is a cast of `source`: a reorder of the result may read the source instead.
  void SetCastSource(ValueId result, ValueId source) { cast_sources_[result] = source; }
  // Their reorders read these values themselves: oneDNN's rounding loses denormals.
  void KeepCasts(const std::vector<ValueId>& results) {
    for (const ValueId v : results) cast_sources_.erase(v);
  }
  // The step that writes v, if v has memory of its own that no step reads yet and is no output of the program.
  std::optional<std::size_t> UnreadWriterOf(ValueId v) const;
  void ReplacePrimitive(std::size_t step, PreparedPrimitive prepared) { result_.prepared[step] = std::move(prepared); }

  // Steps that are appended from here on are of the backward half. The first outputs are complete before it.
  void BeginBackward(std::size_t num_forward_outputs);
  // Once all steps are laid out.
  LaidOutProgram Finish();

 private:
  ValueId RoundedBy(ValueId v, const Desc& layout) const;
  PreparedPrimitive RequireReorder(ValueId v, const Desc& layout) const;
  void FinishOutputs(std::size_t count);
  ValueId InOwnMemory(ValueId output);
  void RemoveUnreadCasts();

  const bool is_fast_;
  const ConstantStore& store_;
  LaidOutProgram result_;
  ConcatPlacement concats_;
  std::map<ValueId, std::vector<ValueId>> copies_;  // by value: its reorders, and what was derived from it
  std::map<ValueId, ValueId> cast_sources_;         // by the result of a cast
  std::map<ValueId, std::size_t> writers_;          // by value: the step that writes it
  std::set<ValueId> read_;                          // by steps that are laid out
  std::set<ValueId> taken_;                         // memory of outputs
  std::size_t num_finished_ = 0;                    // outputs that have their memory
  bool is_backward_ = false;
};

}  // namespace amp::onednn
