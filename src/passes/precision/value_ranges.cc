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

// Of inputs that the model itself uses as positions.
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
  return Meet(ValueRange::OfDType(dtype), RoundedTo(OfRule(id, index, in), dtype));
}

ValueRange RangeEvaluator::OfRule(NodeId id, int index, std::span<const ValueRange> in) {
  const Node& node = graph_.node(id);
  const AmpFacts& facts = FactsOf(node);
  if (const auto* rule = node.op()->Find<RangeRule>()) {
    in_types_.clear();
    out_types_.clear();
    for (const EntryId input : graph_.InputsOf(id)) in_types_.push_back(&types_[input]);
    for (const EntryId output : graph_.OutputsOf(id)) out_types_.push_back(&types_[output]);
    return rule->of({node, in, in_types_, out_types_}, index);
  }
  if (facts.arithmetic == Arithmetic::kCasts && static_cast<std::size_t>(index) < in.size()) return in[index];
  if (facts.arithmetic != Arithmetic::kMovesData) return {};
  std::optional<ValueRange> all;
  for (std::size_t slot = 0; slot < in.size(); ++slot) {
    if (facts.RoleOf(slot) == SlotRole::kData) all = all ? Hull(*all, in[slot]) : in[slot];
  }
  return all.value_or(ValueRange{});
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
