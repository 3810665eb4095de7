#include "passes/optimize/constant_values.h"

#include <gtest/gtest.h>

#include "nnvm/compose.h"
#include "passes/typed.h"
#include "program/reference_runner.h"

namespace amp::testing {
namespace {

using Numbers = std::optional<std::vector<double>>;

// The values of the symbol's first output; variables are float32[2,3].
Numbers ValuesOf(const Symbol& symbol, const NodeRunner& runner = ReferenceRunner(),
                 const std::set<std::string>& parameters = {}) {
  TypeMap known;
  for (const std::string& name : symbol.ListInputs()) known[name] = {DType::kFloat32, Shape{2, 3}};
  const Model model = MakeTyped(symbol, parameters, known);
  ConstantValues values(model.graph(), model.types(), runner);
  const EntryId entry = model.graph().EntryOf(model.graph().outputs()[0]);
  const Numbers numbers = values.Numbers(entry);
  EXPECT_EQ(numbers.has_value(), values.IsConstant(entry));
  EXPECT_EQ(values.Numbers(entry), numbers);
  return numbers;
}

Symbol Positions(const char* count) { return Op("_arange", "_arange", {}, {{"stop", count}}); }

TEST(ConstantValues, ComputesWhatReadsNoVariable) {
  const Symbol rows = Op("Reshape", "Reshape", {Positions("2")}, {{"shape", "(2, 1)"}});
  const Symbol mask = Op("broadcast_lesser_equal", "broadcast_lesser_equal", {Positions("3"), rows});
  EXPECT_EQ(ValuesOf(mask), (std::vector<double>{1, 0, 0, 1, 1, 0}));
  EXPECT_EQ(ValuesOf(Op("Cast", "Cast", {mask}, {{"dtype", "bool"}})), (std::vector<double>{1, 0, 0, 1, 1, 0}));
}

TEST(ConstantValues, ShapesOfVariablesAreKnown) {
  const Symbol x = Var("x");
  EXPECT_EQ(ValuesOf(Op("_contrib_arange_like", "_contrib_arange_like", {x}, {{"axis", "1"}})),
            (std::vector<double>{0, 1, 2}));
  EXPECT_EQ(ValuesOf(Op("shape_array", "shape_array", {x})), (std::vector<double>{2, 3}));
  EXPECT_EQ(ValuesOf(Op("_mul_scalar", "_mul_scalar", {Op("ones_like", "ones_like", {x})}, {{"scalar", "-2"}})),
            std::vector<double>(6, -2));
  EXPECT_EQ(ValuesOf(Op("broadcast_like", "broadcast_like", {Positions("3"), x},
                        {{"lhs_axes", "(0,)"}, {"rhs_axes", "(1,)"}})),
            (std::vector<double>{0, 1, 2}));
  EXPECT_EQ(ValuesOf(Op("broadcast_like", "broadcast_like", {x, Positions("3")},
                        {{"lhs_axes", "(1,)"}, {"rhs_axes", "(0,)"}})),
            std::nullopt);
}

TEST(ConstantValues, ValuesOfVariablesAreNot) {
  const Symbol x = Var("x");
  EXPECT_EQ(ValuesOf(Op("relu", "relu", {x})), std::nullopt);
  EXPECT_EQ(ValuesOf(Op("relu", "relu", {x}), ReferenceRunner(), {"x"}), std::nullopt);  // a parameter
  EXPECT_EQ(ValuesOf(Op("broadcast_mul", "broadcast_mul", {Op("zeros_like", "zeros_like", {x}), x})), std::nullopt);
}

TEST(ConstantValues, NothingWithoutARunnerAndNothingHuge) {
  EXPECT_EQ(ValuesOf(Positions("3"), NodeRunner{}), std::nullopt);
  EXPECT_EQ(ValuesOf(Positions("20000000")), std::nullopt);
}

}  // namespace
}  // namespace amp::testing
