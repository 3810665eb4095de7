// Rows of functions of one element and of two, and of their forms with a scalar.
#include <algorithm>

#include "draw.h"
#include "passes/op_facts.h"

namespace amp::testing {
namespace {

const std::vector<DType>& NumberTypes() {
  static const std::vector<DType> types = [] {
    std::vector<DType> all = AllTypes();
    std::erase(all, DType::kBool);
    return all;
  }();
  return types;
}

const std::vector<DType>& IntegerTypes() {
  static const std::vector<DType> types = [] {
    std::vector<DType> all = NumberTypes();
    std::erase_if(all, IsFloat);
    return all;
  }();
  return types;
}

const std::vector<DType>& BitTypes() {
  static const std::vector<DType> types = [] {
    std::vector<DType> all = IntegerTypes();
    all.push_back(DType::kBool);
    return all;
  }();
  return types;
}

Shape AnyShape(Random& random) { return random.Sizes(static_cast<int>(random.Int(0, 4)), 6); }

// ---- of one element ------------------------------------------------------------------------------

OpCase Unary(Random& random, const std::vector<DType>& types, ErrorModel error, Values values = Values::kPlain) {
  return {{}, {{{random.Type(types), AnyShape(random)}, values}}, error};
}

OpCase DrawOfNumbers(Random& random) { return Unary(random, NumberTypes(), {0, 16, 0}); }
// The error and the values are those of Activation.
OpCase DrawSoftPlus(Random& random) { return Unary(random, FloatTypes(), {0, 16, 256}, Values::kWide); }
OpCase DrawPredicate(Random& random) { return Unary(random, AllTypes(), {}, Values::kWide); }
OpCase DrawBitwiseNot(Random& random) { return Unary(random, BitTypes(), {}, Values::kWide); }

OpCase DrawAround(Random& random) {
  OpCase c = Unary(random, NumberTypes(), {});
  Maybe(random, &c.attrs, "decimals", random.Of({"0", "-1", "0"}));  // products with powers of 10 would be rounded
  return c;
}

OpCase DrawHardSigmoid(Random& random) {
  OpCase c = Unary(random, FloatTypes(), {0, 4, 4});
  Maybe(random, &c.attrs, "alpha", random.Of({"0.2", "0.25", "-1"}));
  Maybe(random, &c.attrs, "beta", random.Of({"0.5", "0"}));
  return c;
}

// ---- of two --------------------------------------------------------------------------------------

OpCase EqualShapes(Random& random, const std::vector<DType>& types) {
  const TensorType type{random.Type(types), AnyShape(random)};
  return {{}, {{type}, {type}}, {0, 16, 0}};
}

OpCase DrawPair(Random& random) { return EqualShapes(random, AllTypes()); }
OpCase DrawEqualPowers(Random& random) {
  OpCase c = EqualShapes(random, FloatTypes());
  c.inputs[0].values = c.inputs[1].values = Values::kPositive;
  return c;
}

OpCase Broadcast(Random& random, const std::vector<DType>& types, bool mixed) {
  OpCase c = EqualShapes(random, types);
  for (InputCase& input : c.inputs) {
    std::vector<std::int64_t> dims = input.type.shape.dims();
    for (std::int64_t& dim : dims) dim = random.Chance(0.3) ? 1 : dim;
    if (!dims.empty() && random.Chance(0.3)) dims.erase(dims.begin());
    input.type.shape = Shape(dims);
  }
  if (mixed && random.Chance(0.5)) c.inputs[1].type.dtype = random.Of(types);
  return c;
}

OpCase DrawBroadcastPair(Random& random) { return Broadcast(random, AllTypes(), false); }
OpCase DrawMixedPair(Random& random) { return Broadcast(random, AllTypes(), true); }
OpCase DrawFloats(Random& random) { return Broadcast(random, FloatTypes(), false); }
OpCase DrawBits(Random& random) { return Broadcast(random, BitTypes(), true); }
OpCase DrawShift(Random& random) { return Broadcast(random, IntegerTypes(), true); }

// Numbers that float32 holds.
OpCase DrawMixedQuotient(Random& random) {
  std::vector<DType> types = FloatTypes();
  types.insert(types.end(), {DType::kInt32, DType::kInt8, DType::kBool});
  return Broadcast(random, types, true);
}

OpCase DrawMixedPowers(Random& random) {
  OpCase c = Broadcast(random, FloatTypes(), true);
  c.inputs[0].values = c.inputs[1].values = Values::kPositive;
  return c;
}

// ---- of an array and a scalar --------------------------------------------------------------------

OpCase WithScalar(Random& random, const std::vector<DType>& types) {
  OpCase c = Unary(random, types, {0, 16, 0});
  Maybe(random, &c.attrs, "scalar", random.Of({"2", "3.5", "-2", "5", "0"}));
  if (IsFloat(c.inputs[0].type.dtype)) Maybe(random, &c.attrs, "is_int", Flag(random));
  return c;
}

OpCase DrawWithScalar(Random& random) { return WithScalar(random, AllTypes()); }
// Whatever the scalar is, these compute in integers.
OpCase OfIntegers(Random& random, const std::vector<DType>& types) {
  OpCase c = WithScalar(random, types);
  Maybe(random, &c.attrs, "is_int", Flag(random));
  return c;
}
OpCase DrawBitsAndScalar(Random& random) { return OfIntegers(random, BitTypes()); }
OpCase DrawShiftAndScalar(Random& random) { return OfIntegers(random, IntegerTypes()); }

// ---- densities -----------------------------------------------------------------------------------

// Parameters, and a sample or several for each.
OpCase DrawDensity(Random& random, const std::vector<Values>& values) {
  OpCase c;
  Maybe(random, &c.attrs, "is_log", Flag(random));
  const DType dtype = random.Type(FloatTypes());
  const Shape parameters = random.Sizes(static_cast<int>(random.Int(0, 2)), 3);
  std::vector<std::int64_t> samples = parameters.dims();
  for (int i = static_cast<int>(random.Int(0, 2)); i > 0; --i) samples.push_back(random.Size(3));
  for (const Values of_input : values) {
    c.inputs.push_back({{dtype, c.inputs.empty() ? Shape(samples) : parameters}, of_input});
  }
  c.error = {0, 64, 64};
  return c;
}

OpRow OfDensity(const std::string& name, std::vector<Values> values) {
  return {"_random_pdf_" + name, [values](Random& random) { return DrawDensity(random, values); }};
}

OpCase DrawTimesLog(Random& random) {
  OpCase c = DrawWithScalar(random);
  c.attrs["scalar"] = random.Of({"2", "0.5", "10"});
  if (!IsFloat(c.inputs[0].type.dtype)) c.attrs["scalar"] = "3";
  return c;
}

OpCase DrawDirichlet(Random& random) {
  OpCase c = DrawDensity(random, {Values::kFractions, Values::kPositive});
  const std::int64_t size = random.Int(1, 4);
  for (InputCase& input : c.inputs) {
    std::vector<std::int64_t> dims = input.type.shape.dims();
    dims.push_back(size);
    input.type.shape = Shape(dims);
  }
  return c;
}

}  // namespace

std::vector<OpRow> UnaryFunctionRows() {
  std::vector<OpRow> rows;
  for (const amp::Op* op : OpRegistry::Get().All()) {
    const auto* fact = op->Find<IsUnaryFunction>();
    if (fact != nullptr) rows.push_back({op->name, DrawOfNumbers});
  }
  return rows;
}

const std::vector<OpRow>& FunctionOpRows() {
  static const std::vector<OpRow> rows = [] {
    std::vector<OpRow> all{
        {"_maximum", DrawPair},
        {"_minimum", DrawPair},
        {"_npi_around", DrawAround},
        {"_npi_bitwise_not", DrawBitwiseNot},
        {"_npi_power", DrawMixedPowers},
        {"_power", DrawEqualPowers},
        {"_times_log", DrawEqualPowers},
        {"_times_log_scalar", DrawTimesLog},
        {"hard_sigmoid", DrawHardSigmoid},
        {"log_sigmoid", DrawSoftPlus},
        {"logical_not", DrawPredicate},
        {"mish", DrawSoftPlus},
    };
    const auto add = [&](const std::vector<const char*>& names, OpCase (*draw)(Random&)) {
      for (const char* name : names) all.push_back({name, draw});
    };
    add({"_npi_isfinite", "_npi_isinf", "_npi_isnan", "_npi_isneginf", "_npi_isposinf", "_npi_logical_not"},
        DrawPredicate);
    add({"_equal", "_greater", "_greater_equal", "_hypot", "_lesser", "_lesser_equal", "_logical_and", "_logical_or",
         "_logical_xor", "_mod", "_not_equal"},
        DrawPair);
    add({"broadcast_hypot", "broadcast_logical_and", "broadcast_logical_or", "broadcast_logical_xor", "_npi_copysign",
         "_npi_fmax", "_npi_fmin", "_npi_fmod", "_npi_ldexp"},
        DrawBroadcastPair);
    add({"_npi_equal", "_npi_greater", "_npi_greater_equal", "_npi_less", "_npi_less_equal", "_npi_logical_and",
         "_npi_logical_or", "_npi_logical_xor", "_npi_not_equal"},
        DrawMixedPair);
    add({"_npi_floor_divide", "_npi_mod"}, DrawMixedQuotient);
    add({"_npi_arctan2", "_npi_logaddexp"}, DrawFloats);
    add({"_npi_bitwise_and", "_npi_bitwise_or", "_npi_bitwise_xor"}, DrawBits);
    add({"_npi_bitwise_left_shift", "_npi_bitwise_right_shift", "_npi_gcd", "_npi_lcm"}, DrawShift);
    add({"_hypot_scalar",           "_logical_and_scalar",       "_logical_or_scalar",       "_logical_xor_scalar",
         "_npi_arctan2_scalar",     "_npi_copysign_scalar",      "_npi_floor_divide_scalar", "_npi_fmax_scalar",
         "_npi_fmin_scalar",        "_npi_fmod_scalar",          "_npi_ldexp_scalar",        "_npi_logaddexp_scalar",
         "_npi_logical_and_scalar", "_npi_logical_or_scalar",    "_npi_logical_xor_scalar",  "_npi_rarctan2_scalar",
         "_npi_rcopysign_scalar",   "_npi_rfloor_divide_scalar", "_npi_rfmod_scalar",        "_npi_rldexp_scalar"},
        DrawWithScalar);
    add({"_npi_bitwise_and_scalar", "_npi_bitwise_or_scalar", "_npi_bitwise_xor_scalar"}, DrawBitsAndScalar);
    add({"_npi_bitwise_left_shift_scalar", "_npi_bitwise_right_shift_scalar", "_npi_rbitwise_left_shift_scalar",
         "_npi_rbitwise_right_shift_scalar"},
        DrawShiftAndScalar);
    constexpr Values kPositive = Values::kPositive, kFractions = Values::kFractions;
    for (const OpRow& row :
         {OfDensity("uniform", {Values::kPlain, kFractions, kPositive}),
          OfDensity("normal", {Values::kPlain, Values::kPlain, kPositive}),
          OfDensity("gamma", {kPositive, kPositive, kPositive}), OfDensity("exponential", {kPositive, kPositive}),
          OfDensity("poisson", {kPositive, kPositive}),
          OfDensity("negative_binomial", {kPositive, kPositive, kFractions}),
          OfDensity("generalized_negative_binomial", {kPositive, kPositive, kPositive})}) {
      all.push_back(row);
    }
    all.push_back({"_random_pdf_dirichlet", DrawDirichlet});
    return all;
  }();
  return rows;
}

}  // namespace amp::testing
