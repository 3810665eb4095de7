// Weights of windows of signals: _npi_hanning, _npi_hamming, _npi_blackman. Formulas: NumPy's documentation.
#include <cmath>
#include <numbers>

#include "ops/common/moves.h"
#include "ops/common/numeric.h"
#include "ops/common/ranges.h"
#include "ops/common/rules.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp::window_functions {
namespace {

constexpr double kMaxNumbers = std::int64_t{1} << 40;

struct WindowParam {
  std::int64_t count = 0;
  std::optional<DType> dtype;
};

// A constant and the weights of one and of two periods of a cosine.
struct Row {
  const char* name;
  const char* doc;
  double constant, once, twice;
};

constexpr Row kRows[] = {
    {"_npi_hanning", "The Hann window: 0.5 - 0.5 cos(2 pi i / (M - 1)).", 0.5, -0.5, 0},
    {"_npi_hamming", "The Hamming window: 0.54 - 0.46 cos(2 pi i / (M - 1)).", 0.54, -0.46, 0},
    {"_npi_blackman", "The Blackman window: 0.42 - 0.5 cos(2 pi i / (M - 1)) + 0.08 cos(4 pi i / (M - 1)).", 0.42, -0.5,
     0.08},
};

std::vector<double> ValuesOf(const Row& row, std::int64_t count) {
  std::vector<double> values;
  const double step = 2 * std::numbers::pi / static_cast<double>(count - 1);
  for (std::int64_t i = 0; i < count; ++i) {
    const double angle = step * static_cast<double>(i);
    values.push_back(count == 1 ? 1 : row.constant + row.once * std::cos(angle) + row.twice * std::cos(2 * angle));
  }
  return values;
}

void Register(const Row& row) {
  RegisterOp<WindowParam>(row.name)
      .Doc(row.doc)
      .Params(ParamSchema<WindowParam>()
                  .Required("M", &WindowParam::count, "How many numbers; of less than one there are none.")
                  .Range(-kMaxNumbers, kMaxNumbers)
                  .Ignored("ctx")
                  .Optional("dtype", &WindowParam::dtype, "Dtype of the output; None: float32."))
      .Inputs(std::vector<std::string>{})
      .Set(ShapeRule{
          [](ShapeRelation& r) { r.Out(0, Shape{std::max<std::int64_t>(0, r.node().params<WindowParam>().count)}); }})
      .Set(
          DTypeRule{[](DTypeRelation& r) { r.Out(0, r.node().params<WindowParam>().dtype.value_or(DType::kFloat32)); }})
      .Set(AmpFacts{Arithmetic::kNeedsFloat32, {}, nullptr, true})
      .Set(RangeRule{[](const RangeQuery&, int) { return ValueRange::Between(-1e-6, 1); }})
      .Set(ReferenceKernel{[&row](const Node& node, std::span<const NDArray>, std::span<NDArray> out) {
        Store(ValuesOf(row, node.params<WindowParam>().count), out[0]);
      }})
      .Set(ValuesOfReference());
}

[[maybe_unused]] const bool kRegistered = [] {
  for (const Row& row : kRows) Register(row);
  return true;
}();

}  // namespace
}  // namespace amp::window_functions
