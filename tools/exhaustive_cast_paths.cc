// Compares, over all 2^32 float32 values, a cast on the two ways that a parameter may take: offline, when a model is
// converted, and at run time, by an executor of one amp_cast node on either backend. Bits are compared as they are, NaN
// payloads included. Exits with 1 on any difference. tools/exhaustive_cast.cc compares the kernels with the definition.
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "program/cast_arrays.h"
#include "runtime/executor.h"

namespace amp::onednn {
namespace {

constexpr std::int64_t kChunk = std::int64_t{1} << 22;
constexpr std::int64_t kChunks = (std::int64_t{1} << 32) / kChunk;
constexpr std::uint64_t kShownDifferences = 20;

// One amp_cast node bound to a backend.
class RunTimeCast {
 public:
  RunTimeCast(DType dtype, Backend backend, const char* name) : name_(name) {
    BindOptions options;
    options.backend = backend;
    const Symbol cast = Symbol::Apply("amp_cast", "cast", {{"dtype", NameOf(dtype)}}, {Symbol::Variable("x")}, {});
    executor_ = std::make_unique<Executor>(cast, ModelParams{}, TypeMap{{"x", {DType::kFloat32, {kChunk}}}}, options);
    outputs_ = {NDArray(dtype, {kChunk})};
  }

  const char* name() const { return name_; }
  std::string steps() const { return executor_->summary().Print(); }
  const NDArray& Run(const NDArray& values) {
    executor_->Run({values}, outputs_);
    return outputs_[0];
  }

 private:
  const char* name_;
  std::unique_ptr<Executor> executor_;
  std::vector<NDArray> outputs_;
};

// The ways to one dtype.
class Comparison {
 public:
  explicit Comparison(DType dtype) : dtype_(dtype) {
    run_time_.emplace_back(dtype, Backend::kOneDnn, "onednn");
    run_time_.emplace_back(dtype, Backend::kReference, "reference");
    for (const RunTimeCast& cast : run_time_) {
      fmt::print("{} at run time, backend {}:\n{}", NameOf(dtype), cast.name(), cast.steps());
    }
  }

  void Check(const NDArray& values) {
    ModelParams params{{{"x", values}}, {}};
    CastArrays({{"x", dtype_}}, &params);
    for (RunTimeCast& cast : run_time_) Compare(cast.name(), values, params.args.at("x"), cast.Run(values));
  }

  std::uint64_t num_compared() const { return num_compared_; }
  std::uint64_t num_differences() const { return num_differences_; }

 private:
  void Compare(const char* backend, const NDArray& values, const NDArray& offline, const NDArray& run_time) {
    const auto* expected = offline.As<std::uint16_t>();
    const auto* actual = run_time.As<std::uint16_t>();
    for (std::int64_t i = 0; i < kChunk; ++i) {
      if (actual[i] == expected[i] || num_differences_++ >= kShownDifferences) continue;
      fmt::print("{} of {:08x}: offline {:04x}, at run time on {} {:04x}\n", NameOf(dtype_),
                 values.As<std::uint32_t>()[i], expected[i], backend, actual[i]);
    }
    num_compared_ += static_cast<std::uint64_t>(kChunk);
  }

  DType dtype_;
  std::vector<RunTimeCast> run_time_;
  std::uint64_t num_compared_ = 0;
  std::uint64_t num_differences_ = 0;
};

void CheckAllValues(std::vector<Comparison>& comparisons) {
  NDArray values(DType::kFloat32, {kChunk});
  auto* bits = values.As<std::uint32_t>();
  for (std::int64_t chunk = 0; chunk < kChunks; ++chunk) {
    for (std::int64_t i = 0; i < kChunk; ++i) bits[i] = static_cast<std::uint32_t>(chunk * kChunk + i);
    for (Comparison& comparison : comparisons) comparison.Check(values);
  }
}

// Returns the number of differences.
std::uint64_t Main() {
  std::vector<Comparison> comparisons;
  for (const DType dtype : {DType::kBFloat16, DType::kFloat16}) comparisons.emplace_back(dtype);
  const auto begin = std::chrono::steady_clock::now();
  CheckAllValues(comparisons);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  std::uint64_t num_differences = 0;
  for (const Comparison& comparison : comparisons) {
    num_differences += comparison.num_differences();
    fmt::print("{} comparisons, {} differences\n", comparison.num_compared(), comparison.num_differences());
  }
  fmt::print("{} floats, two dtypes, two backends: {} differences, {:.0f} s\n", kChunk * kChunks, num_differences,
             seconds.count());
  return num_differences;
}

}  // namespace
}  // namespace amp::onednn

int main() try { return amp::onednn::Main() == 0 ? 0 : 1; } catch (const std::exception& error) {
  fmt::print(stderr, "exhaustive_cast_paths: {}\n", error.what());
  return 1;
}
