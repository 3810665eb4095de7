#include "passes/precision/search_accuracy.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "nnvm/error.h"

namespace amp {
namespace {

// Costs are counted in so many parts, so that prices may be fractions of a picosecond or of a cast: fewer where costs
// are large, because prices are to exceed all of them by far.
constexpr Capacity kMaxParts = 1 << 12, kMaxCost = Capacity{1} << 44;
constexpr int kCutsAlongPrices = 12;
constexpr std::size_t kCutsOfCurve = 32, kCutsAmongNeighbours = 2048;
// Cuts of large graphs take long: the work of a search is so many choices in all.
constexpr std::size_t kChoicesInAll = 1'000'000;
// A choice that is made low takes others along that pay at the same price. At a higher price it takes fewer along.
constexpr double kPricesOfNeighbours[] = {1.001, 2, 8};
constexpr double kPartsTolerance = 1e-6;  // of their sum
constexpr double kMaxPrice = 1e17;        // of all roundings together, in parts

void RequireNonNegative(const char* what, const std::string& name, double value) {
  if (std::isfinite(value) && value >= 0) return;
  Throw<ArgumentError>("accuracy: {}{} is {}; expected a finite number that is not negative", what, Quotable(name),
                       value);
}

// Throws ArgumentError unless a tensor's parts, if any, are a whole.
void RequireParts(const std::string& name, const std::map<std::string, double>& parts) {
  double sum = 0;
  for (const auto& [reader, part] : parts) {
    RequireNonNegative("a part of the squared error of ", name, part);
    sum += part;
  }
  if (parts.empty() || std::abs(sum - 1) <= kPartsTolerance) return;
  Throw<ArgumentError>("accuracy: the parts of the squared error of '{}' sum to {}; expected 1", Quotable(name), sum);
}

std::size_t CutsOf(const CutProblem& problem, std::size_t most) {
  return std::min(most, kChoicesInAll / (problem.num_choices() + 1));
}

}  // namespace

AccuracySearch::AccuracySearch(CutProblem problem, std::size_t num_decisions, std::vector<RoundingPoint> points,
                               const ErrorTarget& target)
    : problem_(std::move(problem)),
      num_decisions_(num_decisions),
      points_(std::move(points)),
      parts_(std::clamp<Capacity>(kMaxCost / std::max<Capacity>(problem_.CostOfAllHigh(), 1), 1, kMaxParts)) {
  for (const auto& [name, error] : target.squared_errors) RequireNonNegative("the squared error of ", name, error);
  for (const auto& [name, parts] : target.parts) RequireParts(name, parts);
  RequireNonNegative("the price", "", target.price);
  if (target.limit) RequireNonNegative("the limit", "", *target.limit);
  problem_.MultiplyCosts(parts_);
  for (const RoundingPoint& point : points_) sum_of_errors_ += point.squared_error;
  RequireNonNegative("the sum of all squared errors", "", sum_of_errors_);
}

Capacity AccuracySearch::PriceOf(double price, double squared_error) const {
  const double parts = price * squared_error * static_cast<double>(parts_);
  if (!(parts <= kMaxPrice)) Throw<ArgumentError>("accuracy: a price of {} is too large", price);
  return std::llround(parts);
}

bool AccuracySearch::IsBelow(const Found& found, double price, const Found& line) const {
  const auto total = [&](const Found& f) { return static_cast<double>(f.cost) + price * f.squared_error; };
  return total(found) < total(line) * (1 - 1e-12) - 1.0 / static_cast<double>(parts_);
}

AccuracySearch::Found AccuracySearch::Evaluated(CutProblem::Solution solution, Capacity cost) const {
  Found found{std::move(solution), cost / parts_, 0};
  for (const RoundingPoint& point : points_) {
    if (point.IsPaid(found.solution)) found.squared_error += point.squared_error;
  }
  return found;
}

AccuracySearch::Found AccuracySearch::Solve(double price, const Fixed& fixed) const {
  CutProblem problem = problem_;
  for (const RoundingPoint& point : points_) point.AddTo(&problem, PriceOf(price, point.squared_error));
  constexpr Capacity kNever = static_cast<Capacity>(kMaxPrice);
  for (const std::int32_t number : fixed.low) problem.AddCost(Choice::Open(number), 0, kNever);
  for (const std::int32_t number : fixed.high) problem.AddCost(Choice::Open(number), kNever, 0);
  CutProblem::Solution solution = problem.Solve();
  Capacity paid = 0;
  for (const RoundingPoint& point : points_) {
    if (point.IsPaid(solution)) paid += PriceOf(price, point.squared_error);
  }
  const Capacity cost = solution.constant + solution.cut - paid;
  return Evaluated(std::move(solution), cost);
}

AccuracySearch::Found AccuracySearch::AllHigh() const {
  CutProblem::Solution solution;
  solution.low.assign(problem_.num_choices(), false);
  return Evaluated(std::move(solution), problem_.CostOfAllHigh());
}

double AccuracySearch::HighestPrice() const {
  return kMaxPrice / static_cast<double>(parts_) / std::max(sum_of_errors_, 1e-250) / 2;
}

double AccuracySearch::SlopeOf(const Found& cheap, const Found& accurate) const {
  const double slope = static_cast<double>(accurate.cost - cheap.cost) / (cheap.squared_error - accurate.squared_error);
  return std::min(slope, HighestPrice());
}

AccuracySearch::Found AccuracySearch::Try(double price, const Fixed& fixed) {
  Found found = Solve(price, fixed);
  ++num_cuts_;
  found_.push_back({found.cost, found.squared_error});
  return found;
}

// Replaces one of the two until no solution lies below the line between them. Returns the price of that line.
double AccuracySearch::Narrow(double limit, Found* within, Found* beyond) {
  double price = SlopeOf(*beyond, *within);
  for (int i = 0; i < kCutsAlongPrices; ++i) {
    Found found = Try(price, {});
    if (!IsBelow(found, price, *beyond)) break;
    (found.squared_error <= limit ? *within : *beyond) = std::move(found);
    price = SlopeOf(*beyond, *within);
  }
  return price;
}

AccuracySearch::Numbers AccuracySearch::LowDecisions(const Found& found) const {
  Numbers low;
  for (std::int32_t n = 0; n < static_cast<std::int32_t>(num_decisions_); ++n) {
    if (found.solution.low[n]) low.push_back(n);
  }
  return low;
}

// The cheapest solution in which these are fixed, as far as prices find one within the limit.
std::optional<AccuracySearch::Found> AccuracySearch::TryWithin(double limit, double price, const Fixed& fixed) {
  for (const double factor : kPricesOfNeighbours) {
    if (IsOutOfCuts()) return std::nullopt;
    Found found = Try(std::min(factor * price, HighestPrice()), fixed);
    if (found.squared_error <= limit) return found;
  }
  return std::nullopt;
}

// The decisions among `numbers` that save something where they alone become low, the best first.
std::vector<AccuracySearch::Candidate> AccuracySearch::Candidates(double limit, double price, const Found& from,
                                                                  const Numbers& numbers) {
  std::vector<Candidate> candidates;
  Fixed fixed{LowDecisions(from), {}};
  for (const std::int32_t n : numbers) {
    if (from.solution.low[n]) continue;
    fixed.low.push_back(n);
    const std::optional<Found> found = TryWithin(limit, price, fixed);
    fixed.low.pop_back();
    if (!found || found->cost >= from.cost) continue;
    const double added = std::max(found->squared_error - from.squared_error, 1e-300);
    candidates.push_back({n, static_cast<double>(from.cost - found->cost) / added});
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.gain > b.gain; });
  return candidates;
}

// Makes decisions low, one after the other, while that saves something within the limit; but not `never`.
AccuracySearch::Found AccuracySearch::Fill(double limit, double price, Found within, const Numbers& numbers,
                                           std::optional<std::int32_t> never) {
  for (const Candidate& candidate : Candidates(limit, price, within, numbers)) {
    if (within.solution.low[candidate.number] || candidate.number == never) continue;
    Fixed fixed{LowDecisions(within), {}};
    fixed.low.push_back(candidate.number);
    if (never) fixed.high.push_back(*never);
    std::optional<Found> found = TryWithin(limit, price, fixed);
    if (found && found->cost < within.cost) within = std::move(*found);
  }
  return within;
}

// Makes decisions high, one after the other, the one that costs the least for its error first, until the limit holds.
AccuracySearch::Found AccuracySearch::Drop(double limit, double price, Found beyond) {
  while (beyond.squared_error > limit) {
    const Numbers low = LowDecisions(beyond);
    std::optional<Found> best;
    const auto loss = [&](const Found& f) {
      return static_cast<double>(f.cost - beyond.cost) / (beyond.squared_error - f.squared_error);
    };
    for (std::size_t i = 0; i < low.size() && !IsOutOfCuts(); ++i) {
      Fixed fixed{low, {low[i]}};
      fixed.low.erase(fixed.low.begin() + static_cast<std::ptrdiff_t>(i));
      Found found = Try(price, fixed);
      const bool is_better = found.squared_error < beyond.squared_error && (!best || loss(found) < loss(*best));
      if (is_better) best = std::move(found);
    }
    if (!best) return AllHigh();
    beyond = std::move(*best);
  }
  return beyond;
}

// Makes single decisions high and fills the room, as long as that saves something.
AccuracySearch::Found AccuracySearch::Exchange(double limit, double price, Found within, const Numbers& numbers) {
  for (bool is_better = true; is_better;) {
    is_better = false;
    const Numbers low = LowDecisions(within);
    for (std::size_t i = 0; i < low.size() && !is_better && !IsOutOfCuts(); ++i) {
      Fixed fixed{low, {low[i]}};
      fixed.low.erase(fixed.low.begin() + static_cast<std::ptrdiff_t>(i));
      std::optional<Found> without = TryWithin(limit, price, fixed);
      if (!without) continue;
      Found found = Fill(limit, price, std::move(*without), numbers, low[i]);
      is_better = found.cost < within.cost;
      if (is_better) within = std::move(found);
    }
  }
  return within;
}

// The solutions between two, which no line between others passes below.
void AccuracySearch::Trace(const Found& cheap, const Found& accurate) {
  std::vector<std::pair<Found, Found>> gaps{{cheap, accurate}};
  const std::size_t most = CutsOf(problem_, kCutsOfCurve);
  for (std::size_t i = 0; i < gaps.size() && i < most; ++i) {
    const auto [from, to] = gaps[i];
    if (from.squared_error <= to.squared_error || from.cost >= to.cost) continue;
    const double price = SlopeOf(from, to);
    const Found found = Try(price, {});
    if (!IsBelow(found, price, from)) continue;
    gaps.emplace_back(from, found);
    gaps.emplace_back(found, to);
  }
}

AccuracySearch::Found AccuracySearch::Within(double limit, Found cheapest) {
  Found high = AllHigh();
  for (const Found* known : {&cheapest, &high}) found_.push_back({known->cost, known->squared_error});
  Found accurate = Try(HighestPrice(), {});
  Trace(cheapest, accurate);
  if (limit == 0) return high;
  if (cheapest.squared_error <= limit) return cheapest;
  if (high.squared_error > limit) return high;
  const Numbers numbers = LowDecisions(cheapest);
  Found beyond = std::move(cheapest);
  if (accurate.squared_error > limit) beyond = std::exchange(accurate, std::move(high));
  const double price = Narrow(limit, &accurate, &beyond);
  last_cut_ = num_cuts_ + static_cast<int>(CutsOf(problem_, kCutsAmongNeighbours));
  Found filled = Fill(limit, price, std::move(accurate), numbers);
  Found dropped = Fill(limit, price, Drop(limit, price, std::move(beyond)), numbers);
  return Exchange(limit, price, std::move(dropped.cost < filled.cost ? dropped : filled), numbers);
}

std::vector<PricedDecision> AccuracySearch::Curve() const {
  std::vector<PricedDecision> sorted = found_, curve;
  std::sort(sorted.begin(), sorted.end(), [](const PricedDecision& a, const PricedDecision& b) {
    return a.squared_error != b.squared_error ? a.squared_error < b.squared_error : a.cost < b.cost;
  });
  for (const PricedDecision& one : sorted) {
    if (curve.empty() || one.cost < curve.back().cost) curve.push_back(one);
  }
  return curve;
}

}  // namespace amp
