#include "dnnl/layout_builder.h"

#include <algorithm>
#include <utility>

#include "dnnl/strided_copy.h"
#include "nnvm/error.h"
#include "program/step_graph.h"

namespace amp::onednn {

LayoutBuilder::LayoutBuilder(NumericMode mode, const Program& source, const ConstantStore& store)
    : is_fast_(mode == NumericMode::kFast), store_(store), concats_(source) {
  result_.program.values = source.values;
  result_.program.inputs = source.inputs;
  result_.program.outputs = source.outputs;
  const std::vector<bool> read = ReadValues(source);
  for (ValueId v = 0; v < source.values.size(); ++v) {
    const bool is_held = source.values[v].source == ValueSource::kConstant && read[v];
    result_.storage.push_back(v);
    result_.layouts.push_back(is_held ? store.LayoutOf(source.values[v].name, source.values[v].type)
                                      : PlainDesc(source.values[v].type));
  }
}

ValueId LayoutBuilder::AddValue(TensorType type, std::string name, Desc layout) {
  return result_.AddValue(std::move(type), std::move(name), std::move(layout));
}

ValueId LayoutBuilder::InRowMajor(ValueId v, NodeId node, const char* reason) {
  return IsRowMajor(LayoutOf(v)) ? v : InLayout(v, PlainDesc(TypeOf(v)), node, reason);
}

ValueId LayoutBuilder::InLayout(ValueId v, const Desc& layout, NodeId node, const char* reason) {
  if (LayoutOf(v) == layout) return v;
  for (const ValueId copy : copies_[v]) {
    if (LayoutOf(copy) == layout) return copy;
  }
  // A copy of a constant goes by the constant's name: the store tells its layouts apart.
  const ValueId copy = AddValue(TypeOf(v), NameOf(v), layout);
  copies_[v].push_back(copy);
  // Row-major memory that only differs in the strides of axes of size 1 needs no work.
  if (IsRowMajor(LayoutOf(v)) && IsRowMajor(layout)) {
    Alias(copy, v, layout);
    return copy;
  }
  if (store_.Find(NameOf(v), layout)) {  // known from another plan, or from a file
    result_.program.values[copy].source = ValueSource::kConstant;
    return copy;
  }
  const ValueId source = RoundedBy(v, layout);
  AppendReorder(source, copy, node, source == v ? reason : "rounds, and the primitive requires this layout");
  return copy;
}

ValueId LayoutBuilder::Derived(ValueId constant, StepSpec spec, const std::string& name, const Desc& layout,
                               NodeId node) {
  for (const ValueId copy : copies_[constant]) {
    if (NameOf(copy) == name) return copy;
  }
  const ValueId derived = AddValue(TypeOf(constant), name, layout);
  copies_[constant].push_back(derived);
  if (store_.Find(name, layout)) {
    result_.program.values[derived].source = ValueSource::kConstant;
  } else {
    Append({std::move(spec), {InRowMajor(constant, node, "own kernel requires rows")}, {derived}, node, ""});
  }
  return derived;
}

void LayoutBuilder::Alias(ValueId out, ValueId in, Desc layout) {
  read_.insert(in);
  result_.storage[out] = result_.storage[in];
  SetLayout(out, std::move(layout));
  // A view of a constant is one, too.
  if (result_.IsConstant(in)) result_.program.values[out].source = ValueSource::kConstant;
}

void LayoutBuilder::Append(Step step, std::optional<PreparedPrimitive> prepared) {
  read_.insert(step.inputs.begin(), step.inputs.end());
  if (!step.outputs.empty()) writers_[step.outputs[0]] = result_.program.steps.size();
  step.is_backward = is_backward_;
  result_.program.steps.push_back(std::move(step));
  result_.prepared.push_back(std::move(prepared));
}

void LayoutBuilder::AppendReorder(ValueId from, ValueId to, NodeId node, const char* reason) {
  AppendReorder({ReorderSpec{}, {from}, {to}, node, reason}, RequireReorder(from, LayoutOf(to)));
}

void LayoutBuilder::AppendReorder(Step step, PreparedPrimitive prepared) {
  const bool is_ours = BetterCopy(prepared).has_value();
  Append(std::move(step), is_ours ? std::nullopt : std::optional(std::move(prepared)));
}

void LayoutBuilder::Reject(const Step& step, const std::string& reason) {
  if (step.fused.empty()) {
    result_.unsupported[step.node] = reason;
    return;
  }
  result_.do_not_fuse.insert(step.node);
  result_.do_not_fuse.insert(step.fused.begin(), step.fused.end());
}

std::optional<std::size_t> LayoutBuilder::UnreadWriterOf(ValueId v) const {
  const auto writer = writers_.find(v);
  const std::vector<ValueId>& outputs = result_.program.outputs;
  const bool is_free = writer != writers_.end() && result_.storage[v] == v && !read_.contains(v) &&
                       std::find(outputs.begin(), outputs.end(), v) == outputs.end();
  return is_free ? std::optional(writer->second) : std::nullopt;
}

void LayoutBuilder::FinishOutputs(std::size_t count) {
  const bool is_complete = result_.unsupported.empty() && result_.do_not_fuse.empty();
  if (!is_complete) return;
  for (; num_finished_ < count; ++num_finished_) {
    ValueId& output = result_.program.outputs[num_finished_];
    output = InOwnMemory(output);
  }
}

void LayoutBuilder::BeginBackward(std::size_t num_forward_outputs) {
  FinishOutputs(num_forward_outputs);
  is_backward_ = true;
}

LaidOutProgram LayoutBuilder::Finish() {
  FinishOutputs(result_.program.outputs.size());
  RemoveUnreadCasts();
  return std::move(result_);
}

// Where `v` is a cast of something that a reorder can read just as well: that.
ValueId LayoutBuilder::RoundedBy(ValueId v, const Desc& layout) const {
  const auto cast = cast_sources_.find(v);
  if (cast == cast_sources_.end()) return v;
  const auto direct = PrepareReorder(LayoutOf(cast->second), layout);
  const bool is_fast = direct && direct->implementation.find("jit") != std::string::npos;
  return is_fast ? cast->second : v;
}

PreparedPrimitive LayoutBuilder::RequireReorder(ValueId v, const Desc& layout) const {
  auto prepared = PrepareReorder(LayoutOf(v), layout);
  if (!prepared) {
    Throw<InternalError>("oneDNN cannot reorder {} from {} to {}", NameOf(v), LayoutName(LayoutOf(v)),
                         LayoutName(layout));
  }
  return *std::move(prepared);
}

// An output must end in row-major memory that is neither an input's, a constant's nor another output's.
ValueId LayoutBuilder::InOwnMemory(ValueId v) {
  const ValueId root = result_.storage[v];
  const bool is_row_major = IsRowMajor(LayoutOf(v));
  const bool is_own = result_.program.values[root].source == ValueSource::kComputed && !result_.IsConstant(v) &&
                      is_row_major && taken_.insert(root).second;
  if (is_own) return v;
  const ValueId copy = AddValue(TypeOf(v), NameOf(v) + ":output", PlainDesc(TypeOf(v)));
  taken_.insert(copy);
  const char* reason = "an output lies in row-major memory of its own";
  if (is_row_major) {
    Append({ReorderSpec{}, {v}, {copy}, 0, reason});  // a plain copy
  } else {
    AppendReorder(v, copy, 0, reason);
  }
  return copy;
}

// Removes casts whose readers all read something else now.
void LayoutBuilder::RemoveUnreadCasts() {
  std::vector<bool> read(result_.program.values.size());
  const auto mark = [&](ValueId v) {
    for (; !read[v]; v = result_.storage[v]) read[v] = true;
  };
  for (const ValueId v : result_.program.outputs) mark(v);
  for (const Step& step : result_.program.steps) {
    for (const ValueId v : step.inputs) mark(v);
  }
  std::vector<Step> steps;
  std::vector<std::optional<PreparedPrimitive>> prepared;
  for (std::size_t i = 0; i < result_.program.steps.size(); ++i) {
    Step& step = result_.program.steps[i];
    if (!step.outputs.empty() && cast_sources_.contains(step.outputs[0]) && !read[step.outputs[0]]) continue;
    steps.push_back(std::move(step));
    prepared.push_back(std::move(result_.prepared[i]));
  }
  result_.program.steps = std::move(steps);
  result_.prepared = std::move(prepared);
}

}  // namespace amp::onednn
