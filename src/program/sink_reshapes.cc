#include "program/sink_reshapes.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "program/permutation.h"

namespace amp {
namespace {

bool ChangesNothing(const StepGraph& graph, const Step& step) {
  if (const auto* permute = std::get_if<PermuteSpec>(&step.spec)) {
    return std::is_sorted(permute->axes.begin(), permute->axes.end());
  }
  return std::holds_alternative<ReshapeSpec>(step.spec) && graph.type(step.inputs[0]) == graph.type(step.outputs[0]);
}

// Everybody who reads the output of a view that changes nothing reads its input.
void Bypass(StepGraph* graph, StepId view) {
  const ValueId in = graph->step(view).inputs[0], out = graph->step(view).outputs[0];
  const std::vector<StepId> readers = graph->readers(out);
  for (const StepId reader : readers) {
    Step step = graph->step(reader);
    std::replace(step.inputs.begin(), step.inputs.end(), out, in);
    graph->Replace(reader, std::move(step));
  }
  graph->Remove(view);
}

// Two views of one kind, one behind the other, as one.
std::optional<StepSpec> Composed(const StepSpec& first, const StepSpec& second) {
  if (std::holds_alternative<ReshapeSpec>(first) && std::holds_alternative<ReshapeSpec>(second)) return ReshapeSpec{};
  const auto* a = std::get_if<PermuteSpec>(&first);
  const auto* b = std::get_if<PermuteSpec>(&second);
  if (a == nullptr || b == nullptr) return std::nullopt;
  PermuteSpec both = *b;
  for (int& axis : both.axes) axis = a->axes[axis];
  return both;
}

void ReadThrough(StepGraph* graph, StepId view) {
  const ValueId in = graph->step(view).inputs[0];
  const auto before = graph->producer(in);
  if (!before) return;
  const auto spec = Composed(graph->step(*before).spec, graph->step(view).spec);
  if (!spec) return;
  Step step = graph->step(view);
  step.spec = *spec;
  step.inputs[0] = graph->step(*before).inputs[0];
  graph->Replace(view, std::move(step));
  if (graph->readers(in).empty() && !graph->is_output(in)) graph->Remove(*before);
}

// An operand of the elementwise step, of shape `from` behind the view, as it has to be before the view; nothing where
// there is no such thing.
struct Operand {
  StepSpec spec;
  Shape shape;
};
std::optional<Operand> Before(const Step& view, const Shape& in, const Shape& out, const Shape& operand) {
  if (const auto* permute = std::get_if<PermuteSpec>(&view.spec)) {
    const std::vector<int> inverse = InversePermutation(permute->axes);
    return Operand{PermuteSpec{inverse}, PermutedShape(operand, inverse)};
  }
  if (operand == out) return Operand{ReshapeSpec{}, in};
  // One number for each index of the last axis, which both shapes have.
  const std::int64_t last = in.rank() > 0 ? in.dims().back() : 0;
  const bool is_row = out.rank() > 0 && operand.rank() > 0 && operand.size() == last && out.dims().back() == last &&
                      operand.dims().back() == last;
  if (!is_row) return std::nullopt;
  std::vector<std::int64_t> dims(static_cast<std::size_t>(in.rank()), 1);
  dims.back() = last;
  return Operand{ReshapeSpec{}, Shape(dims)};
}

bool IsElementwise(const Step& step) {
  return std::holds_alternative<EltwiseSpec>(step.spec) || std::holds_alternative<CastSpec>(step.spec) ||
         std::holds_alternative<BinarySpec>(step.spec);
}

}  // namespace

void CollapseReshapes(StepGraph* graph) {
  const std::size_t num_steps = graph->size();
  for (StepId id = 0; id < num_steps; ++id) {
    if (!graph->alive(id) || !KindOf(graph->step(id).spec).is_view) continue;
    ReadThrough(graph, id);
    if (ChangesNothing(*graph, graph->step(id)) && !graph->is_output(graph->step(id).outputs[0])) Bypass(graph, id);
  }
}

bool SinkReshape(StepGraph* graph, StepId view_id) {
  const Step view = graph->step(view_id);
  const auto reader = graph->OnlyReader(view.outputs[0]);
  if (!reader || !IsElementwise(graph->step(*reader))) return false;
  Step step = graph->step(*reader);
  const Shape in = graph->type(view.inputs[0]).shape, out = graph->type(view.outputs[0]).shape;
  if (graph->type(step.outputs[0]).shape != out) return false;
  std::vector<std::optional<Operand>> operands(step.inputs.size());
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    if (step.inputs[i] == view.outputs[0]) continue;
    operands[i] = Before(view, in, out, graph->type(step.inputs[i]).shape);
    if (!operands[i]) return false;
  }
  const double order = graph->order(*reader);
  const TensorType inner{graph->type(step.outputs[0]).dtype, in};
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    const ValueId v = step.inputs[i];
    if (v == view.outputs[0]) {
      step.inputs[i] = view.inputs[0];
      continue;
    }
    const TensorType type{graph->type(v).dtype, operands[i]->shape};
    const StepId added =
        graph->Add(order - 0.25, operands[i]->spec, {v}, type, step.node, graph->value(v).name + ":view");
    step.inputs[i] = graph->step(added).outputs[0];
  }
  const std::vector<ValueId> outputs = step.outputs;
  // The elementwise step gets an output of its own; the view writes what that step wrote.
  const StepId moved =
      graph->Add(order - 0.125, step.spec, step.inputs, inner, step.node, graph->value(outputs[0]).name + ":sunk");
  step.outputs = graph->step(moved).outputs;
  graph->Replace(moved, step);
  Step sunk = view;
  sunk.inputs = graph->step(moved).outputs;
  sunk.outputs = outputs;
  graph->Remove(view_id);
  graph->Replace(*reader, std::move(sunk));
  return true;
}

}  // namespace amp
