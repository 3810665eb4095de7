#include "passes/precision/value_ranges.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "passes/op_facts.h"

namespace amp {
namespace {

template <class T>
bool AllWhole(const T* values, std::int64_t count) {
  if constexpr (std::is_integral_v<T>) return true;
  return std::all_of(values, values + count, [](T value) { return !(std::trunc(value) != value); });
}

// Independent extremes, so that the compiler may compare several elements at once.
template <class T>
ValueRange RangeOfElements(const T* values, std::int64_t count) {
  constexpr std::int64_t kLanes = 32;
  std::array<T, kLanes> least, most;
  least.fill(std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max());
  most.fill(std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                 : std::numeric_limits<T>::lowest());
  const auto see = [&](std::int64_t lane, T value) {  // NaN changes nothing
    least[lane] = value < least[lane] ? value : least[lane];
    most[lane] = value > most[lane] ? value : most[lane];
  };
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) see(lane, values[i + lane]);
  }
  for (; i < count; ++i) see(0, values[i]);
  const auto low = static_cast<double>(*std::min_element(least.begin(), least.end()));
  const auto high = static_cast<double>(*std::max_element(most.begin(), most.end()));
  if (!(low <= high)) return {};  // nothing but NaN
  return {low, high, AllWhole(values, count)};
}

// Limits inputs that the model itself uses as positions.
void LimitPositions(const Model& model, std::vector<ValueRange>* ranges) {
  const Graph& graph = model.graph();
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    const Node& node = graph.node(id);
    if (node.is_variable()) continue;
    const auto* limit = node.op()->Find<IndexLimit>();
    if (limit == nullptr) continue;
    const EntryId input = graph.InputsOf(id)[0];
    const NodeId source = graph.NodeOf(input);
    if (!graph.node(source).is_variable() || model.IsParameter(source)) continue;
    (*ranges)[input] = Meet((*ranges)[input], {0, limit->rows(node) - 1, true});
  }
}

}  // namespace

ValueRange RangeOfArray(const NDArray& array) {
  const std::int64_t count = array.size();
  if (count == 0) return {};
  switch (array.dtype()) {
    case DType::kFloat32:
      return RangeOfElements(array.As<float>(), count);
    case DType::kInt8:
      return RangeOfElements(array.As<std::int8_t>(), count);
    case DType::kUInt8:
      return RangeOfElements(array.As<std::uint8_t>(), count);
    case DType::kInt32:
      return RangeOfElements(array.As<std::int32_t>(), count);
    case DType::kInt64:
      return RangeOfElements(array.As<std::int64_t>(), count);
    default:
      return ValueRange::OfDType(array.dtype());
  }
}

ValueRange RangeEvaluator::Output(NodeId id, int index, std::span<const ValueRange> in) {
  const DType dtype = types_[graph_.EntryOf(id, index)].dtype;
  if (!IsKnown(dtype)) return {};
  const auto* rule = graph_.node(id).op()->Find<RangeRule>();
  if (rule == nullptr) return OfMovedData(id, index, in);
  if (ReadsHugeIntegers(id, in)) return ValueRange::OfDType(dtype);
  in_types_.clear();
  out_types_.clear();
  for (const EntryId input : graph_.InputsOf(id)) in_types_.push_back(&types_[input]);
  for (const EntryId output : graph_.OutputsOf(id)) out_types_.push_back(&types_[output]);
  const ValueRange result = rule->of({graph_.node(id), in, in_types_, out_types_}, index);
  return Meet(ValueRange::OfDType(dtype), RoundedTo(result, dtype));
}

// Kernels compute with integers of 64 bits with a sign.
bool RangeEvaluator::ReadsHugeIntegers(NodeId id, std::span<const ValueRange> in) const {
  const auto inputs = graph_.InputsOf(id);
  for (std::size_t slot = 0; slot < in.size(); ++slot) {
    if (types_[inputs[slot]].dtype == DType::kUInt64 && !(in[slot].high <= 0x1p53)) return true;
  }
  return false;
}

// Elements keep their values, but for a cast.
ValueRange RangeEvaluator::OfMovedData(NodeId id, int index, std::span<const ValueRange> in) const {
  const AmpFacts& facts = FactsOf(graph_.node(id));
  const DType dtype = types_[graph_.EntryOf(id, index)].dtype;
  const bool casts = facts.arithmetic == Arithmetic::kCasts;  // as many inputs as outputs
  std::optional<ValueRange> all;
  for (std::size_t slot = 0; slot < in.size(); ++slot) {
    const bool is_source = casts ? slot == static_cast<std::size_t>(index)
                                 : facts.arithmetic == Arithmetic::kMovesData && facts.RoleOf(slot) == SlotRole::kData;
    if (!is_source) continue;
    const DType from = types_[graph_.InputsOf(id)[slot]].dtype;
    const bool is_same = from == dtype || IsLossless(from, dtype);
    const ValueRange moved = is_same ? in[slot] : RoundedTo(in[slot], dtype);
    all = all ? Hull(*all, moved) : moved;
  }
  return Meet(ValueRange::OfDType(dtype), all.value_or(ValueRange{}));
}

std::vector<ValueRange> FindValueRanges(const Model& model) {
  const Graph& graph = model.graph();
  const Types& types = model.types();
  std::vector<ValueRange> ranges(graph.num_entries());
  for (const NodeId id : graph.variables()) {
    const EntryId entry = graph.EntryOf(id, 0);
    const NDArray* array = model.IsParameter(id) ? FindArray(model.arrays(), graph.node(id).name()) : nullptr;
    ranges[entry] = array != nullptr ? RangeOfArray(*array) : ValueRange::OfDType(types[entry].dtype);
  }
  LimitPositions(model, &ranges);
  RangeEvaluator evaluator(graph, types);
  std::vector<ValueRange> in;
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    if (graph.node(id).is_variable()) continue;
    in.clear();
    for (const EntryId input : graph.InputsOf(id)) in.push_back(ranges[input]);
    for (int i = 0; i < graph.node(id).num_outputs(); ++i) {
      ranges[graph.EntryOf(id, i)] = evaluator.Output(id, i, in);
    }
  }
  return ranges;
}

}  // namespace amp
