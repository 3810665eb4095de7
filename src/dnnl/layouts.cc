#include "dnnl/layouts.h"

#include <algorithm>
#include <set>
#include <utility>

#include "passes/pipeline.h"
#include "dnnl/attention_step.h"
#include "dnnl/rows.h"
#include "nnvm/error.h"
#include "program/slices.h"
#include "program/threads.h"

namespace amp::onednn {
namespace {

template <class... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

class Assigner {
 public:
  Assigner(NumericMode mode, Program program, const ConstantStore& store)
      : fast_(mode == NumericMode::kFast), source_(std::move(program)), store_(store) {}

  LaidOutProgram Run() {
    result_.program.values = source_.values;
    result_.program.inputs = source_.inputs;
    result_.program.outputs = source_.outputs;
    result_.layouts.resize(source_.values.size());
    const std::vector<bool> read = ReadValues(source_);
    for (ValueId v = 0; v < source_.values.size(); ++v) {
      result_.storage.push_back(v);
      if (source_.values[v].source == ValueSource::kConstant && read[v]) {
        result_.layouts[v] = store_.Any(source_.values[v].name).layout;
      } else {
        result_.layouts[v] = PlainDesc(source_.values[v].type);
      }
    }
    if (PassEnabled("ConcatInPlace")) slices_ = FindSlices(source_);
    for (Step& step : source_.steps) Assign(step);
    for (ValueId& output : result_.program.outputs) output = OwnBuffer(output);
    RemoveUnread();
    return std::move(result_);
  }

 private:
  const TensorType& TypeOf(ValueId v) const { return result_.program.values[v].type; }

  void Assign(Step& step) {
    std::visit(Overloaded{
                   [&](const ReshapeWork&) { AssignReshape(step); },
                   [&](const PermuteWork& work) { AssignPermute(step, work); },
                   [&](const SliceWork& work) { AssignSlice(step, work); },
                   [&](const CastWork&) { AssignCast(step); },
                   [&](const ScaleShiftWork&) { AssignScaleShift(step); },
                   [&](const AttentionWork&) { AssignAttention(step); },
                   [&](const ConcatWork&) { AssignConcat(step); },
                   [&](const CallWork&) { AssignCall(step); },
                   [&](const auto&) { AssignPrimitive(step); },
               },
               step.work);
  }

  void AssignReshape(const Step& step) {
    ValueId in = RowMajor(step.inputs[0], step.node, "a change of shape reads row-major memory");
    if (step.is_shaped_by_inputs && result_.IsConstant(in)) in = CopyForThisPlan(in, step.node);
    Alias(step.outputs[0], in, PlainDesc(TypeOf(step.outputs[0])));
  }

  // What becomes of a constant in a shape that an input gives it is not to be kept for plans with other shapes.
  ValueId CopyForThisPlan(ValueId v, NodeId node) {
    const ValueId copy = NewValue(TypeOf(v), source_name(v) + ":copy", PlainDesc(TypeOf(v)));
    Step step{ReorderWork{}, {v}, {copy}, node, "its shape is that of an input"};
    step.is_shaped_by_inputs = true;
    Append(std::move(step), std::nullopt);
    return copy;
  }

  void AssignPermute(const Step& step, const PermuteWork& work) {
    const ValueId in = step.inputs[0];
    // dnnl's permutation says where input axis i goes; ours says where output axis i comes from.
    std::vector<int> destination(work.axes.size());
    for (std::size_t i = 0; i < work.axes.size(); ++i) destination[work.axes[i]] = static_cast<int>(i);
    Alias(step.outputs[0], in, result_.layouts[in].permute_axes(destination));
  }

  // A view of a part of the input, copied into dense memory with the axes in the same order.
  void AssignSlice(Step& step, const SliceWork& work) {
    ValueId in = step.inputs[0];
    const ValueId out = step.outputs[0];
    const dnnl::memory::dims dims = DimsOf(TypeOf(out).shape);
    Desc box = result_.layouts[in].submemory_desc(dims, work.begins, /*allow_empty=*/true);
    if (!box) {
      in = RowMajor(in, step.node, "a blocked layout cannot be cut there");
      box = result_.layouts[in].submemory_desc(dims, work.begins);
    }
    const ValueId view = NewValue(TypeOf(out), source_name(out) + ":view", box);
    Alias(view, in, box);
    result_.layouts[out] = DenseLike(result_.layouts[in], TypeOf(out));
    auto prepared = PrepareReorder(box, result_.layouts[out]);
    if (!prepared) {
      result_.refused[step.node] = "oneDNN cannot copy this part of a tensor";
      return;
    }
    Step copy{ReorderWork{}, {view}, {out}, step.node, "a slice is copied into dense memory"};
    copy.is_shaped_by_inputs = step.is_shaped_by_inputs;
    Append(std::move(copy), std::move(prepared));
  }

  void Alias(ValueId out, ValueId in, Desc layout) {
    read_.insert(in);
    result_.storage[out] = result_.storage[in];
    result_.layouts[out] = std::move(layout);
    // A view of a constant is one, too.
    if (result_.IsConstant(in)) result_.program.values[out].source = ValueSource::kConstant;
  }

  // Element by element on the memory as it lies, if the same layout exists in the other dtype and can be left again:
  // the library reorders float16 on few CPUs.
  void AssignCast(Step& step) {
    const TensorType& type = TypeOf(step.outputs[0]);
    Desc layout = WithDType(result_.layouts[step.inputs[0]], type.dtype);
    if (layout.is_zero() || layout.get_size() % BytesOf(type.dtype) != 0 || !IsDense(step.inputs[0]) ||
        !(IsRowMajor(layout) || PrepareReorder(layout, PlainDesc(type)))) {
      step.inputs[0] = RowMajor(step.inputs[0], step.node, "a cast whose result could not be reordered");
      layout = PlainDesc(TypeOf(step.outputs[0]));
    }
    result_.layouts[step.outputs[0]] = layout;
    if (fast_) cast_from_[step.outputs[0]] = step.inputs[0];
    Append(std::move(step), std::nullopt);
  }

  // On the memory as it lies; what is written is dense.
  void AssignScaleShift(Step& step) {
    const ValueId out = step.outputs[0];
    result_.layouts[out] = DenseCopy(result_.layouts[step.inputs[0]], TypeOf(out));
    if (!SameRows(result_.layouts[step.inputs[0]], result_.layouts[out])) {
      step.inputs[0] = RowMajor(step.inputs[0], step.node, "our kernel reads channels first or last");
      result_.layouts[out] = PlainDesc(TypeOf(out));
    }
    for (std::size_t i = 1; i < step.inputs.size(); ++i) step.inputs[i] = RowMajor(step.inputs[i], step.node, "");
    Append(std::move(step), std::nullopt);
  }

  // Queries, keys and values in any order of axes but the last; the result lies as the queries do.
  void AssignAttention(Step& step) {
    const bool is_separate = !std::get<AttentionWork>(step.work).interleaved;
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      const bool is_readable = is_separate && i < 3 && HasDenseRows(result_.layouts[step.inputs[i]]);
      if (!is_readable) step.inputs[i] = RowMajor(step.inputs[i], step.node, "our kernel reads rows of heads");
    }
    const ValueId out = step.outputs[0];
    const Desc like_queries = DenseLike(result_.layouts[step.inputs[0]], TypeOf(out));
    result_.layouts[out] = is_separate && HasDenseRows(like_queries) ? like_queries : PlainDesc(TypeOf(out));
    Append(std::move(step), std::nullopt);
  }

  bool IsDense(ValueId v) const {
    const Desc& layout = result_.layouts[v];
    if (layout.get_submemory_offset() != 0) return false;
    dnnl::memory::dim elements = 1;
    for (const auto dim : layout.get_padded_dims()) elements *= dim;
    return layout.get_size() == static_cast<std::size_t>(elements) * BytesOf(TypeOf(v).dtype);
  }

  void AssignCall(Step& step) {
    for (ValueId& input : step.inputs) input = RowMajor(input, step.node, "a reference kernel reads row-major memory");
    Append(std::move(step), std::nullopt);
  }

  // Parts are written where they belong in the whole, if they lie channels-last; an enclosing concatenation is part of
  // that.
  void AssignConcat(Step& step) {
    const ValueId out = step.outputs[0];
    const auto slice = slices_.find(out);
    const bool in_place = slice != slices_.end() && std::any_of(step.inputs.begin(), step.inputs.end(),
                                                                [&](ValueId v) { return IsChannelsLast(v); });
    if (!in_place) return AssignPrimitive(step);
    const ValueId whole = WholeOf(out);
    PlaceIn(whole, slice->second.first_channel, out);
    std::int64_t first_channel = placed_.at(out);
    for (const ValueId part : step.inputs) {
      PutPart(part, whole, first_channel, step.node);
      first_channel += TypeOf(part).shape[1];
    }
  }

  bool IsChannelsLast(ValueId v) const {
    const auto rows = RowsOf(result_.layouts[v]);
    return rows && !rows->planes && rows->num_blocks == 1 && rows->num_rows > 1;
  }

  // The outermost concatenation that `out` can be a part of.
  ValueId WholeOf(ValueId out) {
    const Slice& slice = slices_.at(out);
    if (!placed_.contains(slice.whole)) {
      result_.layouts[slice.whole] = ChannelsLast(TypeOf(slice.whole));
      placed_[slice.whole] = 0;
    }
    return slice.whole;
  }

  void PlaceIn(ValueId whole, std::int64_t first_channel, ValueId v) {
    if (v == whole) return;
    Alias(v, whole, SliceOf(whole, first_channel, v));
    placed_[v] = first_channel;
  }

  Desc SliceOf(ValueId whole, std::int64_t first_channel, ValueId part) const {
    dnnl::memory::dims offsets(static_cast<std::size_t>(TypeOf(whole).shape.rank()), 0);
    offsets[1] = first_channel;
    return result_.layouts[whole].submemory_desc(DimsOf(TypeOf(part).shape), offsets);
  }

  void PutPart(ValueId part, ValueId whole, std::int64_t first_channel, NodeId node) {
    const auto placed = placed_.find(part);
    if (placed != placed_.end() && result_.storage[part] == whole && placed->second == first_channel) return;
    const Desc slice = SliceOf(whole, first_channel, part);
    if (WritesInto(part, slice)) {
      PlaceIn(whole, first_channel, part);
      return;
    }
    const ValueId view = NewValue(TypeOf(part), source_name(part) + ":slice", slice);
    Alias(view, whole, slice);
    Append({ReorderWork{}, {part}, {view}, node, "a part is copied to its place"}, RequireReorder(part, slice));
  }

  // Whether the step that makes `part` can write there; if so, it will.
  bool WritesInto(ValueId part, const Desc& slice) {
    const auto maker = maker_.find(part);
    const bool is_free = maker != maker_.end() && result_.storage[part] == part && !read_.contains(part) &&
                         std::find(source_.outputs.begin(), source_.outputs.end(), part) == source_.outputs.end();
    if (!is_free) return false;
    Step& step = result_.program.steps[maker->second];
    if (std::holds_alternative<ScaleShiftWork>(step.work)) return SameRows(result_.layouts[step.inputs[0]], slice);
    auto& prepared = result_.prepared[maker->second];
    if (!prepared || prepared->sum_input || !ChoosesLayouts(step.work)) return false;
    std::vector<TensorType> types;
    for (const ValueId input : step.inputs) types.push_back(TypeOf(input));
    auto there = Prepare(step, types, TypeOf(part), {}, slice);
    // The inputs have been laid out for the primitive that is there.
    if (!there || there->implementation != prepared->implementation || there->inputs != prepared->inputs) return false;
    prepared = std::move(there);
    return true;
  }

  void AssignPrimitive(Step& step) {
    std::vector<TensorType> types;
    std::vector<Desc> layouts;
    for (ValueId& input : step.inputs) {
      // A slice of something larger: only sums of products say themselves what they want.
      if (!ChoosesLayouts(step.work) && result_.storage[input] != input && placed_.contains(input)) {
        input = InLayout(input, DenseLike(result_.layouts[input], TypeOf(input)), step.node,
                         "the primitive reads dense memory");
      }
    }
    for (const ValueId input : step.inputs) {
      types.push_back(TypeOf(input));
      layouts.push_back(result_.layouts[input]);
    }
    const ValueId out = step.outputs[0];
    // Products of matrices may be split along their sums, depending on the number of threads.
    const bool on_one = !fast_ && (std::holds_alternative<InnerProductWork>(step.work) ||
                                   std::holds_alternative<MatMulWork>(step.work));
    std::optional<ThreadScope> one;
    if (on_one) one.emplace(1);
    auto prepared = Prepare(step, types, TypeOf(out), layouts);
    const bool is_slow =
        prepared && std::holds_alternative<BinaryWork>(step.work) && prepared->implementation.starts_with("ref");
    if ((!prepared || is_slow) && !IsRowMajor(layouts[0])) {
      // Some primitives refuse a packed or permuted source that they would take row-major; binary ones are slow there.
      step.inputs[0] = RowMajor(step.inputs[0], step.node, "the primitive refuses the producer's layout");
      layouts[0] = result_.layouts[step.inputs[0]];
      prepared = Prepare(step, types, TypeOf(out), layouts);
    }
    if (!prepared && !step.fused.empty()) {
      result_.apart.insert(step.node);
      result_.apart.insert(step.fused.begin(), step.fused.end());
      return;
    }
    if (!prepared) {
      result_.refused[step.node] = std::string("oneDNN has no ") + WorkName(step.work) + " for these types";
      return;
    }
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      step.inputs[i] = InLayout(step.inputs[i], prepared->inputs[i], step.node, "the primitive wants this layout");
    }
    if (on_one) prepared->num_threads = 1;
    result_.layouts[out] = prepared->outputs[0];
    Append(std::move(step), std::move(prepared));
  }

  ValueId RowMajor(ValueId v, NodeId node, const char* reason) {
    return IsRowMajor(result_.layouts[v]) ? v : InLayout(v, PlainDesc(TypeOf(v)), node, reason);
  }

  // The value in the given layout: itself, an earlier reorder of it, or a new one.
  ValueId InLayout(ValueId v, const Desc& layout, NodeId node, const char* reason) {
    if (result_.layouts[v] == layout) return v;
    for (const ValueId copy : copies_[v]) {
      if (result_.layouts[copy] == layout) return copy;
    }
    // A copy of a constant goes by the constant's name: the store tells its layouts apart.
    const ValueId copy = NewValue(TypeOf(v), source_name(v), layout);
    copies_[v].push_back(copy);
    // Row-major memory that only differs in the strides of axes of size 1 needs no work.
    if (IsRowMajor(result_.layouts[v]) && IsRowMajor(layout)) {
      Alias(copy, v, layout);
      return copy;
    }
    const ValueId source = RoundedBy(v, layout);
    Append(
        {ReorderWork{}, {source}, {copy}, node, source == v ? reason : "rounds, and the primitive wants this layout"},
        RequireReorder(source, layout));
    return copy;
  }

  // Where `v` is a cast of something that a reorder can read just as well: that.
  ValueId RoundedBy(ValueId v, const Desc& layout) const {
    const auto cast = cast_from_.find(v);
    if (cast == cast_from_.end()) return v;
    const auto direct = PrepareReorder(result_.layouts[cast->second], layout);
    const bool is_fast = direct && direct->implementation.find("jit") != std::string::npos;
    return is_fast ? cast->second : v;
  }

  // Casts whose readers all read something else now.
  void RemoveUnread() {
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
      if (std::holds_alternative<CastWork>(step.work) && !read[step.outputs[0]]) continue;
      steps.push_back(std::move(step));
      prepared.push_back(std::move(result_.prepared[i]));
    }
    result_.program.steps = std::move(steps);
    result_.prepared = std::move(prepared);
  }

  std::optional<PreparedPrimitive> RequireReorder(ValueId v, const Desc& layout) const {
    auto prepared = PrepareReorder(result_.layouts[v], layout);
    if (!prepared) {
      Throw<InternalError>("oneDNN cannot reorder {} from {} to {}", source_name(v), LayoutName(result_.layouts[v]),
                           LayoutName(layout));
    }
    return prepared;
  }

  const std::string& source_name(ValueId v) const { return result_.program.values[v].name; }

  ValueId NewValue(TensorType type, std::string name, Desc layout) {
    const ValueId v = result_.program.AddValue(std::move(type), std::move(name), ValueSource::kComputed);
    result_.layouts.push_back(std::move(layout));
    result_.storage.push_back(v);
    return v;
  }

  // A head must end in row-major memory that is neither an input's, a constant's nor another head's.
  ValueId OwnBuffer(ValueId v) {
    if (!result_.refused.empty() || !result_.apart.empty()) return v;
    const ValueId root = result_.storage[v];
    const bool own = result_.program.values[root].source == ValueSource::kComputed && !result_.IsConstant(v) &&
                     IsRowMajor(result_.layouts[v]) && taken_.insert(root).second;
    if (own) return v;
    const Desc plain = PlainDesc(TypeOf(v));
    const ValueId copy = NewValue(TypeOf(v), source_name(v) + ":head", plain);
    taken_.insert(copy);
    std::optional<PreparedPrimitive> prepared;  // absent: the same layout, a plain copy
    if (!IsRowMajor(result_.layouts[v])) prepared = RequireReorder(v, plain);
    Append({ReorderWork{}, {v}, {copy}, 0, "a head lies in row-major memory of its own"}, std::move(prepared));
    return copy;
  }

  void Append(Step step, std::optional<PreparedPrimitive> prepared) {
    read_.insert(step.inputs.begin(), step.inputs.end());
    if (!step.outputs.empty()) maker_[step.outputs[0]] = result_.program.steps.size();
    result_.program.steps.push_back(std::move(step));
    result_.prepared.push_back(std::move(prepared));
  }

  const bool fast_;
  Program source_;
  const ConstantStore& store_;
  LaidOutProgram result_;
  std::map<ValueId, std::vector<ValueId>> copies_;
  std::set<ValueId> taken_;
  std::map<ValueId, ValueId> cast_from_;    // by the result of a cast
  std::map<ValueId, Slice> slices_;         // of concatenations
  std::map<ValueId, std::int64_t> placed_;  // parts of a whole, and wholes: their first channel there
  std::map<ValueId, std::size_t> maker_;    // by value: the step that writes it
  std::set<ValueId> read_;                  // by steps that are laid out
};

}  // namespace

LaidOutProgram AssignLayouts(NumericMode mode, Program program, const ConstantStore& store) {
  return Assigner(mode, std::move(program), store).Run();
}

}  // namespace amp::onednn
