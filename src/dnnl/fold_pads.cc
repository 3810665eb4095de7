#include "dnnl/fold_pads.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "dnnl/step_merger.h"
#include "program/step_graph.h"

namespace amp::onednn {
namespace {

bool AllZero(const IntTuple& tuple) {
  return std::all_of(tuple.begin(), tuple.end(), [](std::int64_t value) { return value == 0; });
}

// Paddings of a window along the spatial axes, `pad` added. False where padding would hide a whole window: libraries
// have little code for that.
bool AddPadding(const PadSpec& pad, const IntTuple& extent, IntTuple* begin, IntTuple* end) {
  for (std::size_t i = 0; i < extent.size(); ++i) {
    (*begin)[i] += pad.before[i + 2];
    (*end)[i] += pad.after[i + 2];
    if ((*begin)[i] >= extent[i] || (*end)[i] >= extent[i]) return false;
  }
  return true;
}

// Along each spatial axis, how many positions a window reaches over.
IntTuple ExtentOf(const ConvolutionSpec& spec, const Shape& weights) {
  const int first = weights.rank() - static_cast<int>(spec.dilates.size());
  IntTuple extent;
  for (std::size_t i = 0; i < spec.dilates.size(); ++i) {
    extent.push_back((weights[first + static_cast<int>(i)] - 1) * (spec.dilates[i] + 1) + 1);
  }
  return extent;
}

class PadFolder {
 public:
  PadFolder(const std::set<NodeId>& do_not_fuse, Program* program)
      : do_not_fuse_(do_not_fuse), graph_(program), merger_(/*is_fast=*/true, &graph_) {}

  void Run() {
    const std::size_t num_steps = graph_.size();
    for (StepId id = 0; id < num_steps; ++id) {
      if (!graph_.alive(id) || !IsZeroPad(graph_.step(id))) continue;
      StepId pad = id;
      while (const auto moved = MoveBehindReader(pad)) pad = *moved;
      Fold(pad);
    }
  }

 private:
  bool IsZeroPad(const Step& step) const {
    const auto* spec = std::get_if<PadSpec>(&step.spec);
    return spec != nullptr && spec->mode == kernels::PadMode::kConstant && spec->constant == 0 &&
           !do_not_fuse_.contains(step.node);
  }

  // The pad behind its only reader, where that changes neither zeros nor their places: a permutation or a cast.
  std::optional<StepId> MoveBehindReader(StepId id) {
    const Step pad = graph_.step(id);
    const auto reader = graph_.OnlyReader(pad.outputs[0]);
    if (!reader) return std::nullopt;
    const Step step = graph_.step(*reader);
    PadSpec moved = std::get<PadSpec>(pad.spec);
    TensorType type{graph_.type(step.outputs[0]).dtype, graph_.type(pad.inputs[0]).shape};
    if (const auto* permute = std::get_if<PermuteSpec>(&step.spec)) {
      const Shape shape = type.shape;
      const IntTuple before = moved.before, after = moved.after;
      for (std::size_t i = 0; i < permute->axes.size(); ++i) {
        const auto from = static_cast<std::size_t>(permute->axes[i]);
        moved.before[i] = before[from];
        moved.after[i] = after[from];
        type.shape[static_cast<int>(i)] = shape[permute->axes[i]];
      }
    } else if (!std::holds_alternative<CastSpec>(step.spec)) {
      return std::nullopt;
    }
    const std::string name = graph_.value(step.outputs[0]).name + ":unpadded";
    const StepId first = graph_.Add(graph_.order(*reader) - 0.5, step.spec, pad.inputs, type, step.node, name);
    Step second = pad;
    second.spec = std::move(moved);
    second.inputs = graph_.step(first).outputs;
    second.outputs = step.outputs;
    graph_.Remove(id);
    graph_.Replace(*reader, std::move(second));
    return reader;
  }

  void Fold(StepId id) {
    const Step& pad = graph_.step(id);
    const ValueId out = pad.outputs[0];
    if (graph_.is_output(out) || graph_.readers(out).empty()) return;
    std::vector<std::pair<StepId, Step>> readers;
    for (const StepId reader : graph_.readers(out)) {
      auto padded = Padded(graph_.step(reader), pad);
      if (!padded) return;
      readers.emplace_back(reader, *std::move(padded));
    }
    for (auto& [reader, step] : readers) graph_.Replace(reader, std::move(step));
    graph_.Remove(id);
  }

  // The step as it reads the pad's input; nullopt where it cannot.
  std::optional<Step> Padded(const Step& reader, const Step& pad) const {
    const ValueId out = pad.outputs[0];
    Step step = reader;
    if (do_not_fuse_.contains(step.node) || std::count(step.inputs.begin(), step.inputs.end(), out) != 1 ||
        step.inputs[0] != out) {
      return std::nullopt;
    }
    const auto& spec = std::get<PadSpec>(pad.spec);
    const bool is_spatial = spec.before[0] == 0 && spec.before[1] == 0 && spec.after[0] == 0 && spec.after[1] == 0;
    const bool has_room = is_spatial && (PadConvolution(spec, &step) || PadAverage(spec, &step));
    if (!has_room) return std::nullopt;
    step.inputs[0] = pad.inputs[0];
    step.fused.push_back(pad.node);
    return merger_.Accepts(step, reader) ? std::optional(std::move(step)) : std::nullopt;
  }

  bool PadConvolution(const PadSpec& pad, Step* step) const {
    auto* spec = std::get_if<ConvolutionSpec>(&step->spec);
    return spec != nullptr &&
           AddPadding(pad, ExtentOf(*spec, graph_.type(step->inputs[1]).shape), &spec->pads_begin, &spec->pads_end);
  }

  // The zeros count, so all padding has to.
  static bool PadAverage(const PadSpec& pad, Step* step) {
    auto* spec = std::get_if<PoolingSpec>(&step->spec);
    if (spec == nullptr || spec->kind == PoolingKind::kMax) return false;
    const bool has_uncounted =
        spec->kind == PoolingKind::kAverageExcludePadding && !(AllZero(spec->pads_begin) && AllZero(spec->pads_end));
    if (has_uncounted) return false;
    spec->kind = PoolingKind::kAverageIncludePadding;
    return AddPadding(pad, spec->kernel, &spec->pads_begin, &spec->pads_end);
  }

  const std::set<NodeId>& do_not_fuse_;
  StepGraph graph_;
  const StepMerger merger_;
};

}  // namespace

void FoldPads(const std::set<NodeId>& do_not_fuse, Program* program) { PadFolder(do_not_fuse, program).Run(); }

}  // namespace amp::onednn
