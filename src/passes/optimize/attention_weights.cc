#include "passes/optimize/attention_weights.h"

#include <algorithm>
#include <cmath>

#include "passes/op_facts.h"
#include "passes/range_rule.h"
#include "passes/whose_cast.h"

namespace amp {
namespace {

// A score that is so small, or is made smaller by so much, counts as hidden: beside one that is seen its exponential is
// 0 in float32, as long as scores that are seen differ by some thousands at most. Models write -1e4 in float16 and
// bfloat16, too, which round it.
constexpr double kHidden = -9.9e3;

Sight OfMask(double element) { return element != 0 ? Sight::kSeen : Sight::kHidden; }
Sight OfHidden(double element) { return element != 0 ? Sight::kHidden : Sight::kSeen; }
Sight OfFactor(double element) {
  if (element == 1) return Sight::kSeen;
  return element == 0 ? Sight::kHidden : Sight::kNeither;
}
SightOf OfAddend(double scale) {
  return [scale](double element) {
    if (element == 0) return Sight::kSeen;
    return element * scale <= kHidden ? Sight::kHidden : Sight::kNeither;
  };
}

Algebra AlgebraOf(const Node& node) {
  const auto* fact = node.op()->Find<AlgebraFact>();
  return fact != nullptr && node.inputs().size() == 2 ? fact->of(node) : Algebra::kOther;
}

// The factor by which the node multiplies its input.
std::optional<double> ScaleOf(const Node& node) {
  const std::string& op = node.op_name();
  if (op == "_mul_scalar") return node.Attr<double>("scalar");
  if (op == "_div_scalar" || op == "_npi_true_divide_scalar") return 1 / node.Attr<double>("scalar");
  return std::nullopt;
}

void LimitTo(std::int64_t offset, std::int64_t* all) { *all = std::min(*all, offset); }

}  // namespace

std::optional<AttentionWeights> AttentionWeightsReader::Find(EntryId entry, std::string_view product) {
  Found found;
  std::optional<NodeId> id = Behind(entry);
  while (id && AlgebraOf(graph_.node(*id)) == Algebra::kProduct) id = Behind(BeforeFactor(*id, &found.kept));
  if (!id || !Normalises(*id, &found)) return std::nullopt;
  id = Behind(graph_.InputsOf(*id)[0]);
  while (id && graph_.node(*id).op_name() != product) id = Behind(BeforeScores(*id, &found));
  if (!id) return std::nullopt;
  found.scores = *id;
  // A row that sees no key that both leave may differ. A row of any length but 0 sees the first key, as causal ones do.
  const bool sees_some = found.masking != "mask" || found.row_offset == kSeesAll;
  const bool fits = sees_some && found.kept >= found.row_offset && std::isfinite(found.scale);
  return fits ? std::optional<AttentionWeights>(found) : std::nullopt;
}

// One slot reads elements of the node's, namely those of its output 0. What reads shapes alone goes with the masks.
bool AttentionWeightsReader::HasOneReader(NodeId id) const {
  std::size_t count = 0;
  for (const EntryId entry : graph_.OutputsOf(id)) {
    for (const Consumer& consumer : graph_.ConsumersOf(entry)) {
      if (!ConstantValues::ReadsValues(graph_.node(consumer.node), consumer.slot)) continue;
      if (graph_.IndexOf(entry) != 0 || ++count > 1) return false;
    }
  }
  return count == 1 && !graph_.HasOutput(id);
}

// The node that made the entry, but for copies and casts of a conversion; it and they have one reader each.
std::optional<NodeId> AttentionWeightsReader::Behind(std::optional<EntryId> entry) const {
  while (entry) {
    const NodeId id = graph_.NodeOf(*entry);
    const Node& node = graph_.node(id);
    if (node.is_variable() || graph_.HasControlDeps(id) || !HasOneReader(id)) break;
    if (!IsFloat32OrBF16(types_[*entry].dtype)) break;
    const bool is_cast = IsCastOfConversion(node) && graph_.InputsOf(id).size() == 1;
    if (!is_cast && !IsIdentity(node)) return id;
    entry = graph_.InputsOf(id)[0];
  }
  return std::nullopt;
}

bool AttentionWeightsReader::IsLastAxis(NodeId id) const {
  const auto axis = graph_.node(id).Attr<std::int64_t>("axis");
  return axis == -1 || axis + 1 == ShapeOf(id).rank();
}

// Whether the node is a softmax over keys.
bool AttentionWeightsReader::Normalises(NodeId id, Found* found) {
  const Node& node = graph_.node(id);
  if (node.op_name() == "softmax" && IsLastAxis(id)) {
    found->scale /= node.Attr<std::optional<double>>("temperature").value_or(1);
    return !node.Attr<std::optional<bool>>("use_length").value_or(false) || ReadLengths(id, found);
  }
  if (node.op_name() != "masked_softmax" || !IsLastAxis(id)) return false;
  found->scale /= node.Attr<double>("temperature");
  return ReadMask(id, found);
}

bool AttentionWeightsReader::ReadLengths(NodeId id, Found* found) {
  const EntryId lengths = graph_.InputsOf(id)[1];
  const auto numbers = constants_.Numbers(lengths);
  const auto offset = numbers ? RowOffsetOfLengths(*numbers, ShapeOf(id)) : std::nullopt;
  if (offset) {
    found->row_offset = *offset;
    return true;
  }
  found->masking = "length";
  found->seen = lengths;
  return types_[lengths].dtype == DType::kInt32;
}

bool AttentionWeightsReader::ReadMask(NodeId id, Found* found) {
  found->seen = graph_.InputsOf(id)[1];
  if (const auto offset = RowOffset(found->seen, id, OfMask)) {
    found->row_offset = *offset;
    return true;
  }
  found->masking = "mask";
  const Shape &mask = types_[found->seen].shape, &scores = ShapeOf(id);
  return mask.fully_known() && scores.fully_known() && mask[mask.rank() - 1] == scores[scores.rank() - 1];
}

// Takes a node that changes scores into account; what it changes, or nullopt for a node that does something else.
std::optional<EntryId> AttentionWeightsReader::BeforeScores(NodeId id, Found* found) {
  const Node& node = graph_.node(id);
  if (const std::optional<double> scale = ScaleOf(node)) {
    found->scale *= *scale;
    return graph_.InputsOf(id)[0];
  }
  if (const std::optional<EntryId> before = BeforeSelection(id, found)) return before;
  if (AlgebraOf(node) != Algebra::kProduct) return BeforeAddend(id, found);
  // Zeros are right where the score is hidden by what comes later.
  std::int64_t kept = kSeesAll;
  const std::optional<EntryId> before = BeforeFactor(id, &kept);
  return kept >= found->row_offset ? before : std::nullopt;
}

// A constant of ones where j <= i + kept, and zeros.
std::optional<EntryId> AttentionWeightsReader::BeforeFactor(NodeId id, std::int64_t* kept) {
  const auto inputs = graph_.InputsOf(id);
  for (std::size_t data = 0; data < 2; ++data) {
    const auto offset = RowOffset(inputs[1 - data], id, OfFactor);
    if (!offset || types_[inputs[data]].shape != ShapeOf(id)) continue;
    LimitTo(*offset, kept);
    return inputs[data];
  }
  return std::nullopt;
}

// A constant that makes scores smaller where they are hidden.
std::optional<EntryId> AttentionWeightsReader::BeforeAddend(NodeId id, Found* found) {
  const Algebra algebra = AlgebraOf(graph_.node(id));
  if (algebra != Algebra::kSum && algebra != Algebra::kDifference) return std::nullopt;
  const auto inputs = graph_.InputsOf(id);
  for (std::size_t data = 0; data < 2; ++data) {
    if (data == 1 && algebra == Algebra::kDifference) break;
    const SightOf sight = OfAddend(algebra == Algebra::kSum ? found->scale : -found->scale);
    const auto offset = RowOffset(inputs[1 - data], id, sight);
    if (!offset || types_[inputs[data]].shape != ShapeOf(id)) continue;
    LimitTo(*offset, &found->row_offset);
    return inputs[data];
  }
  return std::nullopt;
}

// Scores where a constant condition holds, else (or the other way round) numbers that hide.
std::optional<EntryId> AttentionWeightsReader::BeforeSelection(NodeId id, Found* found) {
  const auto inputs = graph_.InputsOf(id);
  for (const Choice& choice : ChoicesOf(id, found->scale)) {
    const auto offset = choice.hides ? RowOffset(inputs[0], id, choice.condition) : std::nullopt;
    if (!offset || types_[inputs[choice.data]].shape != ShapeOf(id)) continue;
    LimitTo(*offset, &found->row_offset);
    return inputs[choice.data];
  }
  return std::nullopt;
}

// Which inputs of a selection scores may be; none for other nodes.
std::vector<AttentionWeightsReader::Choice> AttentionWeightsReader::ChoicesOf(NodeId id, double scale) {
  const Node& node = graph_.node(id);
  const auto inputs = graph_.InputsOf(id);
  const std::string& op = node.op_name();
  if (op == "where" || op == "_npi_where") {
    return {{1, OfMask, Hides(inputs[2], scale)}, {2, OfHidden, Hides(inputs[1], scale)}};
  }
  const bool is_right = op == "_npi_where_rscalar";
  if (!is_right && op != "_npi_where_lscalar") return {};
  return {{1, is_right ? OfMask : OfHidden, node.Attr<double>("scalar") * scale <= kHidden}};
}

bool AttentionWeightsReader::Hides(EntryId entry, double scale) {
  const auto numbers = constants_.Numbers(entry);
  return numbers &&
         std::all_of(numbers->begin(), numbers->end(), [scale](double number) { return number * scale <= kHidden; });
}

// What a constant lets each query see; `masked` has the shape of scores.
std::optional<std::int64_t> AttentionWeightsReader::RowOffset(EntryId mask, NodeId masked, const SightOf& sight) {
  const auto numbers = constants_.Numbers(mask);
  return numbers ? RowOffsetOfMask(*numbers, types_[mask].shape, ShapeOf(masked), sight) : std::nullopt;
}

}  // namespace amp
