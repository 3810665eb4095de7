#include "dnnl/fuse_post_ops.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "dnnl/step_merger.h"
#include "program/fuse_swish_patterns.h"
#include "program/sink_reshapes.h"
#include "program/step_graph.h"

namespace amp::onednn {
namespace {

// There is but one destination to add to.
bool HasSum(const Step& step) {
  return std::any_of(step.post_ops.begin(), step.post_ops.end(),
                     [](const PostOp& op) { return std::holds_alternative<SumSpec>(op.spec); });
}

bool Commutes(BinaryKind kind) { return kind != BinaryKind::kSub && kind != BinaryKind::kDiv; }

// Whether the dtype has this number, so that clipping to it before or after rounding is the same.
bool Represents(DType dtype, float number) {
  return dtype == DType::kFloat32 ||
         (dtype == DType::kBFloat16 && (std::bit_cast<std::uint32_t>(number) & 0xFFFFu) == 0);
}

// Bounds of an eltwise that is a clip.
std::optional<std::pair<float, float>> BoundsOf(const EltwiseSpec& spec) {
  if (spec.kind == EltwiseKind::kRelu && spec.alpha == 0) return {{0.0f, HUGE_VALF}};
  if (spec.kind == EltwiseKind::kClip) return {{spec.alpha, spec.beta}};
  return std::nullopt;
}

class Fuser {
 public:
  Fuser(NumericMode mode, const std::set<NodeId>& do_not_fuse, Program* program)
      : fast_(mode == NumericMode::kFast), do_not_fuse_(do_not_fuse), graph_(program), merger_(fast_, &graph_) {}

  void Run() {
    if (fast_) FuseSwishPatterns(&graph_);
    CollapseReshapes(&graph_);
    GrowAll(true);   // sums of products first: they gain most
    GrowAll(false);  // then what is left
  }

 private:
  void GrowAll(bool sums_of_products) {
    for (StepId id = 0; id < graph_.size(); ++id) {
      const bool is_new = graph_.alive(id) && !grown_.contains(id) && !do_not_fuse_.contains(graph_.step(id).node);
      if (is_new && KindOf(graph_.step(id).spec).chooses_layouts == sums_of_products) Grow(id);
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
    return KindOf(step.spec).chooses_layouts || (fast_ && std::holds_alternative<BinarySpec>(step.spec));
  }
  static bool ConvertsDTypes(const Step& step) {  // may read and write different dtypes, but knows no post-ops
    return std::holds_alternative<LayerNormSpec>(step.spec) || std::holds_alternative<SoftmaxSpec>(step.spec);
  }

  // The step that now does the work of `host` and of the one that reads it, if they can be one.
  std::optional<StepId> Absorb(StepId host) {
    const Step& step = graph_.step(host);
    const bool scales = std::holds_alternative<ScaleShiftSpec>(step.spec);
    if (!IsHost(step) && !ConvertsDTypes(step) && !scales) return std::nullopt;
    const std::optional<StepId> reader = graph_.OnlyReader(step.outputs[0]);
    const bool is_free = reader && graph_.step(*reader).post_ops.empty();
    if (!is_free || do_not_fuse_.contains(graph_.step(*reader).node)) return std::nullopt;
    if (KindOf(graph_.step(*reader).spec).is_view) {
      return SinkReshape(&graph_, *reader) ? std::optional(host) : std::nullopt;
    }
    const bool done = scales ? Clip(host, *reader) : IsHost(step) ? Extend(host, *reader) : Narrow(host, *reader);
    return done ? reader : std::nullopt;
  }

  // ---- one function per kind of reader; each returns whether host and reader became one ----

  bool Extend(StepId host, StepId reader) {
    const StepSpec& spec = graph_.step(reader).spec;
    if (!KeepsSmallNumbers(host, reader)) return false;
    if (const auto* eltwise = std::get_if<EltwiseSpec>(&spec)) {
      return IsAllowed(*eltwise, host) && merger_.Merge(host, reader, {{*eltwise}}, {});
    }
    if (IsExact(host)) return false;
    if (std::holds_alternative<BinarySpec>(spec)) return ExtendByBinary(host, reader);
    if (std::holds_alternative<PReluSpec>(spec)) return ExtendByPRelu(host, reader);
    if (std::holds_alternative<ScaleShiftSpec>(spec)) return ExtendByScaleShift(host, reader);
    return Narrow(host, reader);
  }

  bool IsAlternate(StepId id) const { return graph_.step(id).alternate.has_value(); }

  // Where the host writes bfloat16 by oneDNN's rounding, which its own results survive, the reader may add to them
  // or clip them, but not scale them down.
  bool KeepsSmallNumbers(StepId host, StepId reader) const {
    const Step &first = graph_.step(host), &second = graph_.step(reader);
    const bool rounds = IsAlternate(host) && graph_.type(second.outputs[0]).dtype == DType::kBFloat16;
    if (!rounds) return true;
    const auto* binary = std::get_if<BinarySpec>(&second.spec);
    const auto* eltwise = std::get_if<EltwiseSpec>(&second.spec);
    return first.alternate != AlternateMode::kF32 &&
           ((binary != nullptr && binary->kind == BinaryKind::kAdd) || (eltwise != nullptr && BoundsOf(*eltwise)));
  }

  // What the host writes is to be rounded, whatever follows.
  bool IsExact(StepId host) const { return !fast_ || graph_.value(graph_.step(host).outputs[0]).is_exact; }

  bool IsAllowed(const EltwiseSpec& spec, StepId host) const {
    if (!IsExact(host)) return true;
    const auto bounds = BoundsOf(spec);
    const DType dtype = graph_.type(graph_.step(host).outputs[0]).dtype;
    return bounds && Represents(dtype, bounds->first) && Represents(dtype, bounds->second);
  }

  bool ExtendByBinary(StepId host, StepId reader) {
    const BinarySpec spec = std::get<BinarySpec>(graph_.step(reader).spec);
    const ValueId result = graph_.step(host).outputs[0];
    const std::vector<ValueId>& inputs = graph_.step(reader).inputs;
    const bool is_second = inputs[1] == result;
    if (inputs[0] == inputs[1] || (is_second && !Commutes(spec.kind))) return false;
    const ValueId other = inputs[is_second ? 0 : 1];
    // Where the results of two primitives meet, the later one takes the other's.
    if (IsLaterHost(other, host)) return false;
    const TensorType& out = graph_.type(graph_.step(reader).outputs[0]);
    if (graph_.type(result).shape != out.shape) return false;  // its own result would be broadcast
    const bool in_place = spec.kind == BinaryKind::kAdd && !HasSum(graph_.step(host)) && graph_.type(other) == out &&
                          KindOf(graph_.step(host).spec).chooses_layouts && MayOverwrite(other, reader);
    return (in_place && merger_.Merge(host, reader, {{SumSpec{}}}, {other})) ||
           merger_.Merge(host, reader, {{spec}}, {other});
  }

  bool IsLaterHost(ValueId v, StepId host) const {
    const auto producer = graph_.producer(v);
    return producer && IsHost(graph_.step(*producer)) && graph_.OnlyReader(v) &&
           graph_.order(*producer) > graph_.order(host) && !do_not_fuse_.contains(graph_.step(*producer).node);
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
      if (!KindOf(graph_.step(*producer).spec).is_view) return true;
      v = graph_.step(*producer).inputs[0];
    }
  }

  bool ExtendByPRelu(StepId host, StepId reader) {
    ValueId slope = graph_.step(reader).inputs[1];
    const ValueId result = graph_.step(host).outputs[0];
    if (graph_.step(reader).inputs[0] != result || slope == result) return false;
    // oneDNN has slopes of channels, or one.
    const Shape& shape = graph_.type(slope).shape;
    if (shape.size() != 1 && (shape.rank() < 2 || shape.size() != shape[1])) return false;
    if (graph_.type(slope).dtype != DType::kFloat32) {
      slope = merger_.AddBefore(reader, CastSpec{}, slope, {DType::kFloat32, graph_.type(slope).shape}, ":wide");
    }
    return merger_.Merge(host, reader, {{PReluSpec{}}}, {slope});
  }

  // Axis 1 of the host's result is that of the channels.
  bool ExtendByScaleShift(StepId host, StepId reader) {
    const std::vector<ValueId> inputs = graph_.step(reader).inputs;
    const auto spec = std::get<ScaleShiftSpec>(graph_.step(reader).spec);
    if (inputs[0] != graph_.step(host).outputs[0]) return false;
    const Shape& out = graph_.type(inputs[0]).shape;
    std::vector<std::int64_t> dims(static_cast<std::size_t>(out.rank()), 1);
    dims[1] = out[1];
    const TensorType type{DType::kFloat32, Shape(dims)};
    const ValueId scale = merger_.AddBefore(reader, ReshapeSpec{}, inputs[1], type, ":channels");
    const ValueId shift = merger_.AddBefore(reader, ReshapeSpec{}, inputs[2], type, ":channels");
    std::vector<PostOp> ops{{BinarySpec{BinaryKind::kMul}}, {BinarySpec{BinaryKind::kAdd}}};
    if (std::isfinite(spec.low) || std::isfinite(spec.high))
      ops.push_back({EltwiseSpec{EltwiseKind::kClip, spec.low, spec.high}});
    return merger_.Merge(host, reader, std::move(ops), {scale, shift});
  }

  // A cast of the result, where the primitive can write the other dtype itself. Softmax cannot well: it keeps
  // exponentials in its destination, rounded.
  bool Narrow(StepId host, StepId reader) {
    const bool is_cast = !IsExact(host) && !IsAlternate(host) && !IsAlternate(reader) &&
                         !std::holds_alternative<SoftmaxSpec>(graph_.step(host).spec) &&
                         std::holds_alternative<CastSpec>(graph_.step(reader).spec);
    return is_cast && WritesFloat32OrBF16(reader) && WritesFloat32OrBF16(host) && merger_.Merge(host, reader, {}, {});
  }

  bool WritesFloat32OrBF16(StepId id) const { return IsFloat32OrBF16(graph_.type(graph_.step(id).outputs[0]).dtype); }

  // Our own kernel clips, and writes either dtype.
  bool Clip(StepId host, StepId reader) {
    Step merged = graph_.step(host);
    auto& spec = std::get<ScaleShiftSpec>(merged.spec);
    if (const auto* eltwise = std::get_if<EltwiseSpec>(&graph_.step(reader).spec)) {
      const auto bounds = BoundsOf(*eltwise);
      if (!bounds || !(bounds->first <= bounds->second) || !IsAllowed(*eltwise, host)) return false;
      spec = {std::clamp(spec.low, bounds->first, bounds->second),
              std::clamp(spec.high, bounds->first, bounds->second)};
    } else if (IsExact(host) || !std::holds_alternative<CastSpec>(graph_.step(reader).spec) ||
               !WritesFloat32OrBF16(reader)) {
      return false;
    }
    merger_.ReplaceReader(std::move(merged), host, reader);
    return true;
  }

  // Where a widening cast stands before a step that can read the narrow dtype itself.
  void AbsorbInputCast(StepId id) {
    const bool reads_both = std::holds_alternative<ScaleShiftSpec>(graph_.step(id).spec);
    if (!reads_both && !(fast_ && ConvertsDTypes(graph_.step(id)) && !IsAlternate(id))) return;
    const auto cast = graph_.producer(graph_.step(id).inputs[0]);
    if (!cast || !std::holds_alternative<CastSpec>(graph_.step(*cast).spec)) return;
    const ValueId narrow = graph_.step(*cast).inputs[0], wide = graph_.step(*cast).outputs[0];
    if (graph_.type(narrow).dtype != DType::kBFloat16 || graph_.type(wide).dtype != DType::kFloat32) return;
    Step step = graph_.step(id);
    step.inputs[0] = narrow;
    step.fused.push_back(graph_.step(*cast).node);
    if (!reads_both && !merger_.Accepts(step, graph_.step(id))) return;
    graph_.Replace(id, std::move(step));
    if (graph_.readers(wide).empty() && !graph_.is_output(wide)) graph_.Remove(*cast);
  }

  const bool fast_;
  const std::set<NodeId>& do_not_fuse_;
  StepGraph graph_;
  StepMerger merger_;
  std::set<StepId> grown_;  // that absorb no more
};

}  // namespace

void FusePostOps(NumericMode mode, const std::set<NodeId>& do_not_fuse, Program* program) {
  Fuser(mode, do_not_fuse, program).Run();
  RemoveUnreadSteps(program);
}

}  // namespace amp::onednn
