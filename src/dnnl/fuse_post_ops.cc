#include "dnnl/fuse_post_ops.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "dnnl/constants.h"
#include "dnnl/primitives.h"
#include "program/fuse_gates.h"
#include "program/sink_views.h"
#include "program/step_graph.h"

namespace amp::onednn {
namespace {

// There is but one destination to add to.
bool HasSum(const Step& step) {
  return std::any_of(step.post_ops.begin(), step.post_ops.end(),
                     [](const PostOp& op) { return std::holds_alternative<SumWork>(op.work); });
}

bool Commutes(BinaryKind kind) { return kind != BinaryKind::kSub && kind != BinaryKind::kDiv; }

// Whether the dtype has this number, so that clipping to it before or after rounding is the same.
bool Represents(DType dtype, float number) {
  return dtype == DType::kFloat32 ||
         (dtype == DType::kBFloat16 && (std::bit_cast<std::uint32_t>(number) & 0xFFFFu) == 0);
}

// Bounds of an eltwise that is a clip.
std::optional<std::pair<float, float>> BoundsOf(const EltwiseWork& work) {
  if (work.kind == EltwiseKind::kRelu && work.alpha == 0) return {{0.0f, HUGE_VALF}};
  if (work.kind == EltwiseKind::kClip) return {{work.alpha, work.beta}};
  return std::nullopt;
}

class Fuser {
 public:
  Fuser(NumericMode mode, const std::set<NodeId>& apart, Program* program)
      : fast_(mode == NumericMode::kFast), apart_(apart), graph_(program) {}

  void Run() {
    if (fast_) FuseGates(&graph_);
    CollapseViews(&graph_);
    GrowAll(true);   // sums of products first: they gain most
    GrowAll(false);  // then what is left
  }

 private:
  void GrowAll(bool sums_of_products) {
    for (StepId id = 0; id < graph_.size(); ++id) {
      const bool is_new = graph_.alive(id) && !grown_.contains(id) && !apart_.contains(graph_.step(id).node);
      if (is_new && ChoosesLayouts(graph_.step(id).work) == sums_of_products) Grow(id);
    }
  }

  void Grow(StepId host) {
    AbsorbInputCast(host);
    for (std::optional<StepId> next = host; next;) {
      host = *next;
      next = Absorb(host);
    }
    grown_.insert(host);
  }

  bool IsHost(const Step& step) const {
    return ChoosesLayouts(step.work) || (fast_ && std::holds_alternative<BinaryWork>(step.work));
  }
  static bool Casts(const Step& step) {  // may read and write different dtypes, but knows no post-ops
    return std::holds_alternative<LayerNormWork>(step.work) || std::holds_alternative<SoftmaxWork>(step.work);
  }

  // The step that now does the work of `host` and of the one that reads it, if they can be one.
  std::optional<StepId> Absorb(StepId host) {
    const Step& step = graph_.step(host);
    const bool scales = std::holds_alternative<ScaleShiftWork>(step.work);
    if (!IsHost(step) && !Casts(step) && !scales) return std::nullopt;
    const std::optional<StepId> reader = graph_.OnlyReader(step.outputs[0]);
    const bool is_free = reader && graph_.step(*reader).post_ops.empty();
    if (!is_free || apart_.contains(graph_.step(*reader).node)) return std::nullopt;
    if (IsViewWork(graph_.step(*reader).work)) {
      return SinkView(&graph_, *reader) ? std::optional(host) : std::nullopt;
    }
    const bool done = scales ? Clip(host, *reader) : IsHost(step) ? Extend(host, *reader) : Narrow(host, *reader);
    return done ? reader : std::nullopt;
  }

  // ---- one function per kind of reader; each returns whether host and reader became one ----

  bool Extend(StepId host, StepId reader) {
    const Work& work = graph_.step(reader).work;
    if (const auto* eltwise = std::get_if<EltwiseWork>(&work)) {
      return IsAllowed(*eltwise, host) && Merge(host, reader, {{*eltwise}}, {});
    }
    if (!fast_) return false;
    if (std::holds_alternative<BinaryWork>(work)) return ExtendByBinary(host, reader);
    if (std::holds_alternative<PReluWork>(work)) return ExtendByPRelu(host, reader);
    if (std::holds_alternative<ScaleShiftWork>(work)) return ExtendByScaleShift(host, reader);
    return Narrow(host, reader);
  }

  bool IsAllowed(const EltwiseWork& work, StepId host) const {
    if (fast_) return true;
    const auto bounds = BoundsOf(work);
    const DType dtype = graph_.type(graph_.step(host).outputs[0]).dtype;
    return bounds && Represents(dtype, bounds->first) && Represents(dtype, bounds->second);
  }

  bool ExtendByBinary(StepId host, StepId reader) {
    const BinaryWork work = std::get<BinaryWork>(graph_.step(reader).work);
    const ValueId result = graph_.step(host).outputs[0];
    const std::vector<ValueId>& inputs = graph_.step(reader).inputs;
    const bool is_second = inputs[1] == result;
    if (inputs[0] == inputs[1] || (is_second && !Commutes(work.kind))) return false;
    const ValueId other = inputs[is_second ? 0 : 1];
    // Of two primitives whose results meet, the later one takes the other's.
    if (IsLaterHost(other, host)) return false;
    const TensorType& out = graph_.type(graph_.step(reader).outputs[0]);
    if (graph_.type(result).shape != out.shape) return false;  // its own result would be broadcast
    const bool in_place = work.kind == BinaryKind::kAdd && !HasSum(graph_.step(host)) && graph_.type(other) == out &&
                          ChoosesLayouts(graph_.step(host).work) && MayOverwrite(other, reader);
    return (in_place && Merge(host, reader, {{SumWork{}}}, {other})) || Merge(host, reader, {{work}}, {other});
  }

  bool IsLaterHost(ValueId v, StepId host) const {
    const auto producer = graph_.producer(v);
    return producer && IsHost(graph_.step(*producer)) && graph_.OnlyReader(v) &&
           graph_.order(*producer) > graph_.order(host) && !apart_.contains(graph_.step(*producer).node);
  }

  // Nobody reads the memory of `v` later than `reader`, and it is an intermediate result. What is said here is checked
  // again when memory is planned.
  bool MayOverwrite(ValueId v, StepId reader) const {
    for (;;) {
      const auto producer = graph_.producer(v);
      if (!producer || graph_.is_output(v)) return false;
      for (const StepId other : graph_.readers(v)) {
        if (other != reader && graph_.order(other) >= graph_.order(reader)) return false;
      }
      if (!IsViewWork(graph_.step(*producer).work)) return true;
      v = graph_.step(*producer).inputs[0];
    }
  }

  bool ExtendByPRelu(StepId host, StepId reader) {
    ValueId slope = graph_.step(reader).inputs[1];
    const ValueId result = graph_.step(host).outputs[0];
    if (graph_.step(reader).inputs[0] != result || slope == result) return false;
    if (graph_.type(slope).dtype != DType::kFloat32) {
      slope = AddBefore(reader, CastWork{}, slope, {DType::kFloat32, graph_.type(slope).shape}, ":wide");
    }
    return Merge(host, reader, {{PReluWork{}}}, {slope});
  }

  // Axis 1 of the host's result is that of the channels.
  bool ExtendByScaleShift(StepId host, StepId reader) {
    const std::vector<ValueId> inputs = graph_.step(reader).inputs;
    const auto work = std::get<ScaleShiftWork>(graph_.step(reader).work);
    if (inputs[0] != graph_.step(host).outputs[0]) return false;
    const Shape& out = graph_.type(inputs[0]).shape;
    std::vector<std::int64_t> dims(static_cast<std::size_t>(out.rank()), 1);
    dims[1] = out[1];
    const TensorType type{DType::kFloat32, Shape(dims)};
    const ValueId scale = AddBefore(reader, ReshapeWork{}, inputs[1], type, ":channels");
    const ValueId shift = AddBefore(reader, ReshapeWork{}, inputs[2], type, ":channels");
    std::vector<PostOp> ops{{BinaryWork{BinaryKind::kMul}}, {BinaryWork{BinaryKind::kAdd}}};
    if (std::isfinite(work.low) || std::isfinite(work.high))
      ops.push_back({EltwiseWork{EltwiseKind::kClip, work.low, work.high}});
    return Merge(host, reader, std::move(ops), {scale, shift});
  }

  // A cast of the result, where the primitive can write the other dtype itself. Softmax cannot well: it keeps
  // exponentials in its destination, rounded.
  bool Narrow(StepId host, StepId reader) {
    const bool is_cast = fast_ && !std::holds_alternative<SoftmaxWork>(graph_.step(host).work) &&
                         std::holds_alternative<CastWork>(graph_.step(reader).work);
    return is_cast && IsFloat32OrBF16(graph_.step(reader).outputs[0]) &&
           IsFloat32OrBF16(graph_.step(host).outputs[0]) && Merge(host, reader, {}, {});
  }

  // A summand has the destination's dtype; one of another is an operand like others.
  static void WithoutSum(Step* step) {
    for (PostOp& op : step->post_ops) {
      if (std::holds_alternative<SumWork>(op.work)) op.work = BinaryWork{BinaryKind::kAdd};
    }
  }

  bool IsFloat32OrBF16(ValueId v) const {
    return graph_.type(v).dtype == DType::kFloat32 || graph_.type(v).dtype == DType::kBFloat16;
  }

  // Our own kernel clips, and writes either dtype.
  bool Clip(StepId host, StepId reader) {
    Step merged = graph_.step(host);
    auto& work = std::get<ScaleShiftWork>(merged.work);
    if (const auto* eltwise = std::get_if<EltwiseWork>(&graph_.step(reader).work)) {
      const auto bounds = BoundsOf(*eltwise);
      if (!bounds || !(bounds->first <= bounds->second) || !IsAllowed(*eltwise, host)) return false;
      work = {std::clamp(work.low, bounds->first, bounds->second),
              std::clamp(work.high, bounds->first, bounds->second)};
    } else if (!fast_ || !std::holds_alternative<CastWork>(graph_.step(reader).work) ||
               !IsFloat32OrBF16(graph_.step(reader).outputs[0])) {
      return false;
    }
    Take(std::move(merged), host, reader);
    return true;
  }

  // Where a widening cast stands before a step that can read the narrow dtype itself.
  void AbsorbInputCast(StepId id) {
    const bool reads_both = std::holds_alternative<ScaleShiftWork>(graph_.step(id).work);
    if (!reads_both && !(fast_ && Casts(graph_.step(id)))) return;
    const auto cast = graph_.producer(graph_.step(id).inputs[0]);
    if (!cast || !std::holds_alternative<CastWork>(graph_.step(*cast).work)) return;
    const ValueId narrow = graph_.step(*cast).inputs[0], wide = graph_.step(*cast).outputs[0];
    if (graph_.type(narrow).dtype != DType::kBFloat16 || graph_.type(wide).dtype != DType::kFloat32) return;
    Step step = graph_.step(id);
    step.inputs[0] = narrow;
    step.fused.push_back(graph_.step(*cast).node);
    if (!reads_both && !Accepts(step, graph_.step(id))) return;
    graph_.Replace(id, std::move(step));
    if (graph_.readers(wide).empty() && !graph_.is_output(wide)) graph_.Remove(*cast);
  }

  // ---- what all of them use ----

  ValueId AddBefore(StepId reader, Work work, ValueId input, TensorType type, const char* suffix) {
    const std::string name = graph_.value(input).name + suffix;
    const StepId id = graph_.Add(graph_.order(reader) - 0.25, std::move(work), {input}, std::move(type),
                                 graph_.step(reader).node, name);
    return graph_.step(id).outputs[0];
  }

  // Host and reader as one step with these post-ops, whose operands are those, if the library has it.
  bool Merge(StepId host, StepId reader, std::vector<PostOp> ops, const std::vector<ValueId>& operands) {
    Step merged = graph_.step(host);
    std::size_t next = 0;
    for (PostOp& op : ops) {
      if (!std::holds_alternative<EltwiseWork>(op.work)) {
        op.operand = merged.inputs.size();
        merged.inputs.push_back(operands[next++]);
      }
      merged.post_ops.push_back(std::move(op));
    }
    merged.outputs = graph_.step(reader).outputs;
    if (graph_.type(merged.outputs[0]).dtype != graph_.type(graph_.step(host).outputs[0]).dtype) WithoutSum(&merged);
    if (!Accepts(merged, graph_.step(host))) return false;
    Take(std::move(merged), host, reader);
    return true;
  }

  void Take(Step merged, StepId host, StepId reader) {
    const Step& absorbed = graph_.step(reader);
    merged.outputs = absorbed.outputs;
    merged.fused.push_back(absorbed.node);
    merged.fused.insert(merged.fused.end(), absorbed.fused.begin(), absorbed.fused.end());
    graph_.Replace(reader, std::move(merged));
    graph_.Remove(host);
  }

  // The library has `merged`, and that not in slower code than what it replaces.
  bool Accepts(const Step& merged, const Step& host) {
    const std::string fused = Implementation(merged);
    if (AddsInParts(merged, fused)) return false;
    if (fused.empty() || fused.find("ref") != std::string::npos) return false;
    if (fast_ && fused.find("gemm") == std::string::npos) return true;
    const std::string alone = Implementation(host);  // asking costs time: only where the answer matters
    return fast_ ? alone.find("gemm") != std::string::npos : fused == alone;
  }

  // oneDNN 3.2 computes some strided deconvolutions as several convolutions and finishes each of them.
  static bool AddsInParts(const Step& step, const std::string& implementation) {
    const auto* work = std::get_if<DeconvolutionWork>(&step.work);
    return work != nullptr && !step.post_ops.empty() && implementation.find("brg") != std::string::npos &&
           std::any_of(work->strides.begin(), work->strides.end(), [](std::int64_t s) { return s > 1; });
  }

  std::string Implementation(const Step& step) {
    std::vector<TensorType> types;
    std::vector<Desc> layouts;
    for (const ValueId v : step.inputs) {
      types.push_back(graph_.type(v));
      layouts.push_back(PlainDesc(types.back()));
    }
    const auto prepared = Prepare(step, types, graph_.type(step.outputs[0]), layouts);
    return prepared ? prepared->implementation : "";
  }

  const bool fast_;
  const std::set<NodeId>& apart_;
  StepGraph graph_;
  std::set<StepId> grown_;  // that absorb no more
};

}  // namespace

void FusePostOps(NumericMode mode, const std::set<NodeId>& apart, Program* program) {
  Fuser(mode, apart, program).Run();
  RemoveUnreadSteps(program);
}

}  // namespace amp::onednn
