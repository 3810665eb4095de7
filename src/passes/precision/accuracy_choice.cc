#include "passes/precision/accuracy_choice.h"

#include <algorithm>

#include "nnvm/error.h"

namespace amp {

AccuracyChoice::AccuracyChoice(const PropagationContext& context, const CutProblem& problem, std::size_t num_decisions,
                               const TensorRoots& roots, const std::vector<Choice>& nodes)
    : target_(*context.options.accuracy),
      nodes_(nodes),
      search_(problem, num_decisions, RoundingPointsOf(context, roots, nodes), target_),
      cheapest_(search_.AtPrice(0)),
      found_(target_.limit ? search_.Within(*target_.limit, cheapest_) : search_.AtPrice(target_.price)) {}

ErrorOutcome AccuracyChoice::Outcome() const {
  return {!target_.limit || found_.squared_error <= *target_.limit, found_.squared_error, cheapest_.squared_error,
          search_.Curve()};
}

std::string AccuracyChoice::Price(NodeId id, std::optional<Picoseconds> saved) const {
  const Choice node = nodes_[id];
  double error = 0;
  for (const RoundingPoint& point : search_.points()) {
    const bool is_reader = std::find(point.readers.begin(), point.readers.end(), node) != point.readers.end();
    if (is_reader || (point.writer == node && !point.commutes)) error += point.squared_error;
  }
  const auto percent = [](double part, double whole) { return whole > 0 ? 100 * part / whole : 0.0; };
  std::string text =
      fmt::format("its roundings have {:.2g} % of the squared error", percent(error, cheapest_.squared_error));
  if (!saved) return text;
  return text + fmt::format(" and save {:.2g} % of the time",
                            percent(static_cast<double>(*saved), static_cast<double>(cheapest_.cost)));
}

}  // namespace amp
