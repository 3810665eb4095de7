// What ranks tell each other for a batch norm over the batches of all of them.
//
// The ranks are those of the `with amp.distributed.group(comm):` in which the graph runs; outside of one there is one
// rank. All ranks add in the order of ranks, in float64, and get the same bits.
#pragma once

#include <initializer_list>
#include <vector>

namespace amp {

bool HasOtherRanks();

// The sums become those of all ranks; the result is the sum of the counts.
double AddOverRanks(double count, std::initializer_list<std::vector<double>*> sums);

// The statistics of each channel, over `count` elements of each.
struct BatchStatistics {
  double count = 0;
  std::vector<double> mean, variance;
};

// The statistics of one batch become those of the batches of all ranks: first the mean, then the squares of distances
// from it.
void JoinOverRanks(BatchStatistics* statistics);

}  // namespace amp
