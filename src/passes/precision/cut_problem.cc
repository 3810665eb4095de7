#include "passes/precision/cut_problem.h"

#include <algorithm>

#include "nnvm/error.h"

namespace amp {
namespace {

constexpr const char* kTooLarge = "costs of a decision sum to more than 64 bits";

void Add(Capacity amount, Capacity* sum) {
  if (__builtin_add_overflow(*sum, amount, sum)) throw ArgumentError(kTooLarge);
}

Capacity Minus(Capacity a, Capacity b) {
  Capacity difference = 0;
  if (__builtin_sub_overflow(a, b, &difference)) throw ArgumentError("a cost of a decision has more than 64 bits");
  return difference;
}

FlowNetwork::Vertex VertexOf(Choice choice) { return static_cast<FlowNetwork::Vertex>(choice.number()) + 2; }

}  // namespace

Choice CutProblem::AddChoice() {
  costs_.emplace_back();
  return Choice::Open(static_cast<std::int32_t>(costs_.size()) - 1);
}

void CutProblem::AddConstant(Capacity cost) { Add(cost, &constant_); }

void CutProblem::AddCost(Choice choice, Capacity if_low, Capacity if_high) {
  if (!choice.is_open()) return AddConstant(choice == Choice::Low() ? if_low : if_high);
  Add(if_low, &costs_[choice.number()].if_low);
  Add(if_high, &costs_[choice.number()].if_high);
}

void CutProblem::AddPairCost(Choice high, Choice low, Capacity cost) {
  if (cost < 0) Throw<InternalError>("a pair of choices costs {}", cost);
  if (cost == 0 || high == low || high == Choice::Low() || low == Choice::High()) return;
  if (!high.is_open()) return AddCost(low, cost, 0);
  if (!low.is_open()) return AddCost(high, 0, cost);
  pairs_.push_back({high, low, cost});
}

void CutProblem::Require(Choice first, Choice second) {
  if (first == second || first == Choice::High() || second == Choice::Low()) return;
  if (!first.is_open() || !second.is_open()) throw InternalError("a choice is required that is fixed or would be");
  pairs_.push_back({second, first, FlowNetwork::kUnlimited});
}

void CutProblem::MultiplyCosts(Capacity factor) {
  const auto multiply = [&](Capacity* cost) {
    if (*cost == FlowNetwork::kUnlimited) return;
    if (__builtin_mul_overflow(*cost, factor, cost)) throw ArgumentError(kTooLarge);
  };
  multiply(&constant_);
  for (Costs& costs : costs_) {
    multiply(&costs.if_low);
    multiply(&costs.if_high);
  }
  for (Pair& pair : pairs_) multiply(&pair.cost);
}

Capacity CutProblem::CostOfAllHigh() const {
  Capacity sum = constant_;
  for (const Costs& costs : costs_) Add(costs.if_high, &sum);
  return sum;
}

FlowNetwork CutProblem::Network(Capacity* constant) const {
  FlowNetwork network;
  for (std::size_t i = 0; i < costs_.size(); ++i) {
    const Capacity smaller = std::min(costs_[i].if_low, costs_[i].if_high);
    Add(smaller, constant);
    const FlowNetwork::Vertex v = network.AddVertex();
    const Capacity if_low = Minus(costs_[i].if_low, smaller), if_high = Minus(costs_[i].if_high, smaller);
    if (if_low > 0) network.AddArc(FlowNetwork::kSource, v, if_low);
    if (if_high > 0) network.AddArc(v, FlowNetwork::kSink, if_high);
  }
  for (const Pair& pair : pairs_) network.AddArc(VertexOf(pair.high), VertexOf(pair.low), pair.cost);
  return network;
}

CutProblem::Solution CutProblem::Solve() const {
  Solution solution;
  solution.constant = constant_;
  const FlowNetwork network = Network(&solution.constant);
  const MinimumCut cut = FindMinimumCut(network);
  VerifyMinimumCut(network, cut);
  solution.low.assign(cut.on_sink_side.begin() + 2, cut.on_sink_side.end());
  solution.cut = cut.cut;
  solution.flow = cut.flow;
  return solution;
}

}  // namespace amp
