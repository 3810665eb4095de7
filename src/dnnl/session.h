// Sessions: runs of a plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "dnnl/plan.h"

namespace amp::onednn {

// Which steps run. The backward half goes on where the forward half ended.
enum class Half : std::uint8_t { kBoth, kForward, kBackward };

// Told the index of an output that no later step writes. Outputs that no step writes are not told.
using OutputObserver = std::function<void(std::size_t output)>;

// Owns the arena and the handles of one plan. Not for concurrent use.
class Session {
 public:
  explicit Session(std::shared_ptr<const Plan> plan);
  ~Session();

  // Row-major arrays of exactly the plan's types, in its order; outputs must not overlap anything else. The
  // process must be able to run the plan's threads, see RequireThreads. None of our own code allocates here after the
  // first call, reference kernels aside. What a half does not touch may be undefined; the backward half needs the
  // inputs and outputs of the forward half again, unchanged.
  void Run(const std::vector<NDArray>& inputs, std::vector<NDArray>& outputs, Half half = Half::kBoth,
           const OutputObserver& observer = nullptr);
  // Runs on the memory of such arrays.
  void Run(std::span<const void* const> inputs, std::span<void* const> outputs);
  // The runs of each product of the plan since the last call.
  std::vector<AlternateCounts> TakeAlternateCounts();

  // What products lost since the last call, where the plan counts it; else empty.
  std::vector<FlushedCounts> TakeFlushedCounts();

  // What the last run executed, by step of the plan. Throws ArgumentError before the first run.
  std::vector<ExecutedStep> Executed() const;

  // The first, with the seconds of each step. `seconds` goes by step of the plan; a half fills in its own.
  void RunProfiled(const std::vector<NDArray>& inputs, std::vector<NDArray>& outputs, std::vector<double>* seconds,
                   Half half = Half::kBoth);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace amp::onednn
