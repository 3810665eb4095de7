// Ranks that are threads of this process.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "dist/comm.h"

namespace amp::dist {

class LocalRanks;  // what the ranks share

class LocalComm : public Comm {
 public:
  LocalComm(std::shared_ptr<LocalRanks> ranks, int channel, int rank);

  void Barrier() override;
  std::shared_ptr<Comm> Duplicate() override;

  // Ranks that wait, now or later, throw Error with this reason. The first reason stays.
  void Fail(const std::string& reason);
  // This rank has returned: who waits for it throws Error.
  void Leave();

 private:
  std::unique_ptr<Transfer> DoStart(const Exchange& exchange) override;

  const std::shared_ptr<LocalRanks> ranks_;
  const int channel_;
  int num_duplicates_ = 0;
};

// One communicator for each of `size` ranks. Who waits for longer than `timeout` throws Error, and so do all others.
std::vector<std::shared_ptr<LocalComm>> MakeLocalComms(int size, std::chrono::duration<double> timeout);

}  // namespace amp::dist
