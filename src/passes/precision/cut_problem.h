// Choices between float32 and low precision whose costs a minimum cut makes as small as possible.
#pragma once

#include <vector>

#include "passes/precision/minimum_cut.h"

namespace amp {

// One of two sides, fixed or open. A fixed one is no vertex of the network.
class Choice {
 public:
  static constexpr Choice Low() { return Choice(-1); }
  static constexpr Choice High() { return Choice(-2); }
  static constexpr Choice Open(std::int32_t number) { return Choice(number); }

  bool is_open() const { return number_ >= 0; }
  std::int32_t number() const { return number_; }
  auto operator<=>(const Choice&) const = default;

 private:
  explicit constexpr Choice(std::int32_t number) : number_(number) {}
  std::int32_t number_;
};

// High is the source's side, low the sink's: of all best solutions the one with the fewest low choices.
class CutProblem {
 public:
  struct Solution {
    std::vector<bool> low;  // by number of open choice
    Capacity cut = 0, flow = 0;
    Capacity constant = 0;  // what every solution costs; with the cut: what this one costs

    bool IsLow(Choice choice) const { return choice.is_open() ? low[choice.number()] : choice == Choice::Low(); }
  };

  Choice AddChoice();
  void AddConstant(Capacity cost);
  // Costs may be negative.
  void AddCost(Choice choice, Capacity if_low, Capacity if_high);
  // What is paid where `high` is high and `low` is low; not negative.
  void AddPairCost(Choice high, Choice low, Capacity cost);
  // Where `first` is low, `second` is low. Neither may contradict the other if both are fixed.
  void Require(Choice first, Choice second);

  // All costs become so many times as large.
  void MultiplyCosts(Capacity factor);
  std::size_t num_choices() const { return costs_.size(); }
  // What everything costs that is low exactly where it has no choice. No requirement stands against that.
  Capacity CostOfAllHigh() const;

  // Verified. Throws ArgumentError where costs sum to more than the network can hold.
  Solution Solve() const;

 private:
  struct Pair {
    Choice high, low;
    Capacity cost;
  };
  struct Costs {
    Capacity if_low = 0, if_high = 0;
  };

  FlowNetwork Network(Capacity* constant) const;

  std::vector<Costs> costs_;  // by number of open choice
  std::vector<Pair> pairs_;
  Capacity constant_ = 0;
};

}  // namespace amp
