// The cheapest choices between float32 and low precision whose roundings keep the outputs accurate enough.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "passes/precision/cut_problem.h"
#include "passes/precision/decision.h"
#include "passes/precision/rounding_points.h"

namespace amp {

// Cost + price x squared error is one minimum cut. The search varies the price: the cut of a price on the line between
// two solutions finds one below that line, until there is none. Few solutions lie on such lines, so the rest is a
// search among neighbours: single choices become low, the largest saving for its error first, or high and make room for
// others.
class AccuracySearch {
 public:
  struct Found {
    CutProblem::Solution solution;
    std::int64_t cost = 0;
    double squared_error = 0;
  };

  // The first `num_decisions` choices of the problem are decisions, all others follow from them. Throws ArgumentError
  // for errors, limits and prices that are negative or not finite.
  AccuracySearch(CutProblem problem, std::size_t num_decisions, std::vector<RoundingPoint> points,
                 const ErrorTarget& target);

  const std::vector<RoundingPoint>& points() const { return points_; }

  // The best solution of one price.
  Found AtPrice(double price) const { return Solve(price, {}); }
  // The cheapest one found within the limit; all that can be is high where there is none. `cheapest` is AtPrice(0).
  Found Within(double limit, Found cheapest);
  // What was found, by falling cost: of two solutions none is better in both.
  std::vector<PricedDecision> Curve() const;

 private:
  using Numbers = std::vector<std::int32_t>;  // of decisions
  // What a cut has to keep to.
  struct Fixed {
    Numbers low, high;
  };
  struct Candidate {
    std::int32_t number = 0;
    double gain = 0;  // what it saves for its squared error
  };

  Found Solve(double price, const Fixed& fixed) const;
  Found AllHigh() const;
  Found Evaluated(CutProblem::Solution solution, Capacity cost) const;
  Capacity PriceOf(double price, double squared_error) const;
  bool IsBelow(const Found& found, double price, const Found& line) const;
  double HighestPrice() const;
  double SlopeOf(const Found& cheap, const Found& accurate) const;
  Found Try(double price, const Fixed& fixed);
  double Narrow(double limit, Found* within, Found* beyond);
  Numbers LowDecisions(const Found& found) const;
  std::optional<Found> TryWithin(double limit, double price, const Fixed& fixed);
  std::vector<Candidate> Candidates(double limit, double price, const Found& from, const Numbers& numbers);
  Found Fill(double limit, double price, Found within, const Numbers& numbers, std::optional<std::int32_t> never = {});
  Found Drop(double limit, double price, Found beyond);
  Found Exchange(double limit, double price, Found within, const Numbers& numbers);
  bool IsOutOfCuts() const { return num_cuts_ >= last_cut_; }
  void Trace(const Found& cheap, const Found& accurate);

  CutProblem problem_;
  const std::size_t num_decisions_;
  const std::vector<RoundingPoint> points_;
  const Capacity parts_;  // of a cast or a picosecond: costs are counted in them
  double sum_of_errors_ = 0;
  int num_cuts_ = 0, last_cut_ = 0;
  std::vector<PricedDecision> found_;
};

}  // namespace amp
