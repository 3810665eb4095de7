#include "passes/precision/cancellation.h"

#include <algorithm>
#include <limits>

#include "passes/op_facts.h"
#include "passes/range_rule.h"

namespace amp {
namespace {

constexpr EntryId kNone = std::numeric_limits<EntryId>::max();
constexpr std::size_t kMaxTerms = 4;  // that are remembered of a sum

// Two tensors whose products were summed.
struct ProductTerm {
  EntryId left, right;

  bool Reads(EntryId entry) const { return left == entry || right == entry; }
  bool operator==(const ProductTerm&) const = default;
};

// What a tensor is the sum of, as far as that matters here. Tensors go by where their data comes from.
struct Terms {
  std::vector<ProductTerm> products;
  std::vector<EntryId> squares;  // sums of squares of these
  EntryId squared = kNone;       // not a sum: the squares of this one, element by element
  EntryId norm = kNone;          // not a sum: the norms of this one

  void Add(const Terms& other) {
    for (const ProductTerm& product : other.products) {
      if (products.size() < kMaxTerms) products.push_back(product);
    }
    for (const EntryId square : other.squares) {
      if (squares.size() < kMaxTerms) squares.push_back(square);
    }
  }
};

bool HasSquareOfFactor(const Terms& a, const Terms& b) {
  return std::any_of(a.products.begin(), a.products.end(), [&](const ProductTerm& product) {
    return std::any_of(b.squares.begin(), b.squares.end(), [&](EntryId square) { return product.Reads(square); });
  });
}

bool HaveSameProduct(const Terms& a, const Terms& b) {
  return std::any_of(a.products.begin(), a.products.end(), [&](const ProductTerm& product) {
    return std::find(b.products.begin(), b.products.end(), product) != b.products.end();
  });
}

class CancellationFinder {
 public:
  explicit CancellationFinder(const Graph& graph)
      : graph_(graph), cancels_(graph.num_nodes()), origin_(graph.num_entries()), terms_of_(graph.num_entries()) {}

  std::vector<bool> Run() {
    for (NodeId id = 0; id < graph_.num_nodes(); ++id) {
      for (const EntryId output : graph_.OutputsOf(id)) origin_[output] = output;
      if (!graph_.node(id).is_variable()) Visit(id);
    }
    return std::move(cancels_);
  }

 private:
  static Algebra AlgebraOf(const Node& node) {
    const auto* fact = node.op()->Find<AlgebraFact>();
    return fact != nullptr ? fact->of(node) : Algebra::kOther;
  }

  void Visit(NodeId id) {
    const Node& node = graph_.node(id);
    const auto inputs = graph_.InputsOf(id);
    if (inputs.empty() || node.num_outputs() == 0) return;
    const Arithmetic arithmetic = FactsOf(node).arithmetic;
    if (arithmetic == Arithmetic::kAccumulates) return Multiply(id);
    if (arithmetic == Arithmetic::kMovesData || arithmetic == Arithmetic::kCasts) return Follow(id);
    Combine(id, AlgebraOf(node));
  }

  void Combine(NodeId id, Algebra algebra) {
    const auto inputs = graph_.InputsOf(id);
    Terms result;
    switch (algebra) {
      case Algebra::kMultiple:
        return Follow(id);
      case Algebra::kSum:
      case Algebra::kDifference:
        return Add(id, algebra == Algebra::kDifference);
      case Algebra::kSquare:
        return Square(id, inputs[0]);
      case Algebra::kProduct:
        if (origin_[inputs[0]] == origin_[inputs[1]]) Square(id, inputs[0]);
        return;
      case Algebra::kNorm:
        result.norm = origin_[inputs[0]];
        return Set(id, std::move(result));
      case Algebra::kTotal:
        if (TermsOf(inputs[0]).squared == kNone) return;
        result.squares.push_back(TermsOf(inputs[0]).squared);
        return Set(id, std::move(result));
      default:
        return;
    }
  }

  // Data that comes from one tensor.
  void Follow(NodeId id) {
    const AmpFacts& facts = FactsOf(graph_.node(id));
    const auto inputs = graph_.InputsOf(id);
    EntryId source = kNone;
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      if (facts.RoleOf(slot) != SlotRole::kData) continue;
      if (source != kNone) return;
      source = inputs[slot];
    }
    if (source == kNone) return;
    for (const EntryId output : graph_.OutputsOf(id)) {
      origin_[output] = origin_[source];
      terms_of_[output] = terms_of_[source];
    }
  }

  void Multiply(NodeId id) {
    const auto inputs = graph_.InputsOf(id);
    if (inputs.size() < 2) return;
    const EntryId left = std::min(origin_[inputs[0]], origin_[inputs[1]]);
    const EntryId right = std::max(origin_[inputs[0]], origin_[inputs[1]]);
    Terms result;
    result.products.push_back({left, right});
    if (left == right) result.squares.push_back(left);
    Set(id, std::move(result));
  }

  void Square(NodeId id, EntryId input) {
    Terms result;
    if (const EntryId norm = TermsOf(input).norm; norm != kNone) {
      result.squares.push_back(norm);
    } else {
      result.squared = origin_[input];
    }
    Set(id, std::move(result));
  }

  void Add(NodeId id, bool subtracts) {
    Terms sum;
    for (const EntryId input : graph_.InputsOf(id)) {
      const Terms& terms = TermsOf(input);
      if (HasSquareOfFactor(sum, terms) || HasSquareOfFactor(terms, sum)) cancels_[id] = true;
      if (subtracts && HaveSameProduct(sum, terms)) cancels_[id] = true;
      sum.Add(terms);
    }
    if (!sum.products.empty() || !sum.squares.empty()) Set(id, std::move(sum));
  }

  const Terms& TermsOf(EntryId entry) const { return terms_[terms_of_[entry]]; }
  void Set(NodeId id, Terms terms) {
    terms_of_[graph_.EntryOf(id, 0)] = static_cast<std::uint32_t>(terms_.size());
    terms_.push_back(std::move(terms));
  }

  const Graph& graph_;
  std::vector<bool> cancels_;
  std::vector<EntryId> origin_;          // by entry: the tensor that its data comes from, by moving and scaling
  std::vector<std::uint32_t> terms_of_;  // by entry: places in `terms_`
  std::vector<Terms> terms_{1};          // the first: none
};

}  // namespace

std::vector<bool> FindCancellations(const Graph& graph) { return CancellationFinder(graph).Run(); }

}  // namespace amp
