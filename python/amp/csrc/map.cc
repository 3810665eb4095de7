// Elementwise programs on arrays, in place where asked: what optimizers' formulas become.
#include "kernels/elementwise/map.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.h"
#include "gil.h"
#include "program/kernel_types.h"

namespace amp::python {
namespace {

using kernels::Map;
using kernels::MapOp;
using kernels::MapStep;

const std::map<std::string, MapOp>& Operations() {
  static const std::map<std::string, MapOp> kOperations = {
      {"add", MapOp::kAdd},           {"sub", MapOp::kSub},       {"mul", MapOp::kMul},
      {"div", MapOp::kDiv},           {"max", MapOp::kMax},       {"min", MapOp::kMin},
      {"greater", MapOp::kGreater},   {"less", MapOp::kLess},     {"select", MapOp::kSelect},
      {"constant", MapOp::kConstant}, {"linear", MapOp::kLinear}, {"clip", MapOp::kClip},
      {"negative", MapOp::kNegative}, {"abs", MapOp::kAbs},       {"sqrt", MapOp::kSqrt}};
  return kOperations;
}

// (operation, x, y, z, alpha, beta)
using StepTuple = std::tuple<std::string, int, int, int, float, float>;

std::uint8_t Register(int number, std::size_t known) {
  if (number < 0 || static_cast<std::size_t>(number) >= known)
    throw ArgumentError(fmt::format("register {} of {}", number, known));
  return static_cast<std::uint8_t>(number);
}

std::vector<MapStep> StepsOf(const std::vector<StepTuple>& tuples, std::size_t num_operands) {
  if (tuples.empty() || tuples.size() > Map::kMaxSteps || num_operands > Map::kMaxOperands) {
    throw ArgumentError(fmt::format("a program of {} steps on {} arrays: there are at most {} and {}", tuples.size(),
                                    num_operands, Map::kMaxSteps, Map::kMaxOperands));
  }
  std::vector<MapStep> steps;
  for (const auto& [name, x, y, z, alpha, beta] : tuples) {
    const auto op = Operations().find(name);
    if (op == Operations().end()) throw ArgumentError(fmt::format("unknown operation '{}'", name));
    const std::size_t known = num_operands + steps.size();
    const auto at = [&](int number) { return Register(number, known); };
    steps.push_back({op->second, at(x), at(y), at(z), alpha, beta});
  }
  return steps;
}

kernels::ElementType FloatType(const NDArray& array) {
  if (array.dtype() != DType::kFloat32 && array.dtype() != DType::kBFloat16)
    throw ArgumentError(fmt::format("elementwise programs take float32 and bfloat16, got {}", NameOf(array.dtype())));
  return KernelType(array.dtype());
}

// results: (register, array); an array may be one of the operands.
void RunElementwise(const std::vector<StepTuple>& tuples, const py::sequence& operands,
                    const std::vector<std::pair<int, py::object>>& results) {
  std::vector<NDArray> read;
  for (std::size_t i = 0; i < py::len(operands); ++i) read.push_back(ArrayOf(operands[i], "operands").array);
  const std::vector<MapStep> steps = StepsOf(tuples, read.size());
  std::vector<Array> written;
  std::vector<kernels::MapResult> targets;
  for (const auto& [from, object] : results) {
    written.push_back(WritableArrayOf(object, "results"));
    targets.push_back({Register(from, read.size() + steps.size()), FloatType(written.back().array)});
  }
  if (written.empty() || written.size() > Map::kMaxResults || read.empty())
    throw ArgumentError(fmt::format("{} results of {} arrays", written.size(), read.size()));
  std::vector<kernels::ElementType> types;
  std::vector<const void*> sources;
  std::vector<void*> destinations;
  for (const NDArray& array : read) {
    types.push_back(FloatType(array));
    sources.push_back(array.data());
  }
  for (const Array& array : written) destinations.push_back(array.array.data());
  const std::int64_t count = read[0].size();
  const auto has_size = [&](const NDArray& array) { return array.size() == count; };
  if (!std::all_of(read.begin(), read.end(), has_size) ||
      !std::all_of(written.begin(), written.end(), [&](const Array& array) { return has_size(array.array); })) {
    throw ArgumentError("elementwise programs take arrays of one size");
  }
  const Map map(std::move(types), std::move(targets), steps, {{count, std::vector<std::int64_t>(read.size(), 1)}});
  ReleaseGil([&] { map.Run(sources.data(), destinations.data()); });
  for (const Array& array : written) ++array.writes->count;
}

}  // namespace

void BindMap(py::module_& module) {
  module.attr("MAX_ELEMENTWISE_STEPS") = Map::kMaxSteps;
  module.def("run_elementwise", &RunElementwise, py::arg("steps"), py::arg("operands"), py::arg("results"));
}

}  // namespace amp::python
