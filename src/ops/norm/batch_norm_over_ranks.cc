#include "ops/norm/batch_norm_over_ranks.h"

#include <algorithm>
#include <memory>

#include "dist/all_reduce.h"
#include "dist/comm.h"

namespace amp {
namespace {

double AtLeastOne(double count) { return std::max(count, 1.0); }

}  // namespace

bool HasOtherRanks() {
  const std::shared_ptr<dist::Comm> comm = dist::CommScope::Current();
  return comm != nullptr && comm->size() > 1;
}

double AddOverRanks(double count, std::initializer_list<std::vector<double>*> sums) {
  if (!HasOtherRanks()) return count;
  std::vector<double> own{count};
  for (const std::vector<double>* some : sums) own.insert(own.end(), some->begin(), some->end());
  std::vector<double> all(own.size());
  constexpr auto kDouble = kernels::ElementType::kFloat64;
  dist::AllReduce(dist::CommScope::Current().get(), kDouble, own.data(), kDouble, all.data(),
                  static_cast<std::int64_t>(own.size()));
  auto next = all.begin() + 1;
  for (std::vector<double>* some : sums) {
    std::copy_n(next, some->size(), some->begin());
    next += static_cast<std::ptrdiff_t>(some->size());
  }
  return all[0];
}

void JoinOverRanks(BatchStatistics* statistics) {
  if (!HasOtherRanks()) return;
  auto& [count, mean, variance] = *statistics;
  const std::vector<double> own_mean = mean;
  for (double& value : mean) value *= count;
  const double total = AddOverRanks(count, {&mean});
  for (double& value : mean) value /= AtLeastOne(total);
  for (std::size_t c = 0; c < mean.size(); ++c) {
    const double distance = own_mean[c] - mean[c];
    variance[c] = count * (variance[c] + distance * distance);
  }
  count = AddOverRanks(count, {&variance});
  for (double& value : variance) value /= AtLeastOne(count);
}

}  // namespace amp
