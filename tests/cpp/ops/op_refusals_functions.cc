#include "op_refusals.h"
#include "passes/op_facts.h"

namespace amp {
namespace {

const TensorType kBools{DType::kBool, {2}};

void AddUnary(std::vector<Refusal>* all) {
  for (const Op* op : OpRegistry::Get().All()) {
    const auto* fact = op->Find<IsUnaryFunction>();
    if (fact == nullptr) continue;
    const char* name = op->name.c_str();
    all->push_back({name, {}, {kBools}, {"expected data of numbers, got bool"}});
    all->push_back({name, {{"slope", "1"}}, {F32({2})}, {"unknown attribute 'slope'"}});
  }
  all->push_back({"hard_sigmoid", {}, {I32({2})}, {"expected data of a float dtype, got int32"}});
  all->push_back({"hard_sigmoid", {{"slope", "1"}}, {F32({2})}, {"unknown attribute 'slope'"}});
  for (const char* op : {"logical_not", "_npi_logical_not", "_npi_isnan", "_npi_isinf", "_npi_isposinf",
                         "_npi_isneginf", "_npi_isfinite", "_npi_bitwise_not"}) {
    all->push_back({op, {{"axis", "1"}}, {I32({2})}, {"unknown attribute 'axis'"}});
    all->push_back({op, {}, {I32({2}), I32({2})}, {"expected at most 1 inputs (data), got 2"}});
  }
  all->push_back({"_npi_bitwise_not", {}, {F32({2})}, {"expected data of integers or bool, got float32"}});
  all->push_back({"_npi_around", {}, {kBools}, {"expected x of numbers, got bool"}});
  all->push_back({"_npi_around", {{"decimals", "1e3"}}, {F32({2})}, {"attribute decimals"}});
}

void AddEqualShapes(std::vector<Refusal>* all) {
  for (const char* op :
       {"_equal", "_greater", "_greater_equal", "_hypot", "_lesser", "_lesser_equal", "_logical_and", "_logical_or",
        "_logical_xor", "_maximum", "_minimum", "_mod", "_not_equal", "_power", "_times_log"}) {
    all->push_back({op, {}, {F32({2, 3}), F32({2, 1})}, {"expected rhs of shape [2,3], got [2,1]"}});
    all->push_back({op, {}, {F32({2}), I32({2})}, {"expected rhs of dtype float32, got int32"}});
  }
}

void AddBroadcasts(std::vector<Refusal>* all) {
  for (const char* op : {"broadcast_hypot", "broadcast_logical_and", "broadcast_logical_or", "broadcast_logical_xor",
                         "_npi_copysign", "_npi_fmax", "_npi_fmin", "_npi_fmod", "_npi_ldexp"}) {
    all->push_back({op, {}, {F32({2, 3}), F32({2, 4})}, {"shapes [2,3] and [2,4] cannot be broadcast"}});
    all->push_back({op, {}, {F32({2}), I32({2})}, {"expected rhs of dtype float32, got int32"}});
  }
  for (const char* op :
       {"_npi_equal", "_npi_floor_divide", "_npi_greater", "_npi_greater_equal", "_npi_less", "_npi_less_equal",
        "_npi_logical_and", "_npi_logical_or", "_npi_logical_xor", "_npi_mod", "_npi_not_equal", "_npi_power"}) {
    all->push_back({op, {}, {F32({2, 3}), F32({2, 4})}, {"shapes [2,3] and [2,4] cannot be broadcast"}});
    all->push_back({op, {{"axis", "1"}}, {F32({2}), I32({2})}, {"unknown attribute 'axis'"}});
  }
  for (const char* op : {"_npi_arctan2", "_npi_logaddexp"}) {
    all->push_back({op, {}, {I32({2}), I32({2})}, {"expected lhs of a float dtype, got int32"}});
    all->push_back({op, {}, {F32({2}), I32({2})}, {"expected rhs of dtype float32, got int32"}});
  }
  for (const char* op : {"_npi_bitwise_and", "_npi_bitwise_or", "_npi_bitwise_xor"}) {
    all->push_back({op, {}, {I32({2}), F32({2})}, {"expected arrays of integers or bool, got float32"}});
    all->push_back({op, {}, {I32({2, 3}), I32({2, 4})}, {"shapes [2,3] and [2,4] cannot be broadcast"}});
  }
  for (const char* op : {"_npi_bitwise_left_shift", "_npi_bitwise_right_shift", "_npi_gcd", "_npi_lcm"}) {
    all->push_back({op, {}, {kBools, kBools}, {"expected arrays of integers, got bool"}});
    all->push_back({op, {}, {I32({2, 3}), I32({2, 4})}, {"shapes [2,3] and [2,4] cannot be broadcast"}});
  }
}

void AddFunctionsOfScalars(std::vector<Refusal>* all) {
  for (const char* op :
       {"_hypot_scalar",           "_logical_and_scalar",       "_logical_or_scalar",       "_logical_xor_scalar",
        "_npi_arctan2_scalar",     "_npi_copysign_scalar",      "_npi_floor_divide_scalar", "_npi_fmax_scalar",
        "_npi_fmin_scalar",        "_npi_fmod_scalar",          "_npi_ldexp_scalar",        "_npi_logaddexp_scalar",
        "_npi_logical_and_scalar", "_npi_logical_or_scalar",    "_npi_logical_xor_scalar",  "_npi_rarctan2_scalar",
        "_npi_rcopysign_scalar",   "_npi_rfloor_divide_scalar", "_npi_rfmod_scalar",        "_npi_rldexp_scalar"}) {
    all->push_back({op, {{"scalar", "one"}}, {F32({2})}, {"attribute scalar: expected float, got 'one'"}});
    all->push_back({op, {{"scalar", "1e30"}}, {I32({2})}, {"does not fit an integer array"}});
  }
  for (const char* op : {"_npi_bitwise_and_scalar", "_npi_bitwise_or_scalar", "_npi_bitwise_xor_scalar"}) {
    all->push_back({op, {}, {F32({2})}, {"expected data of integers or bool, got float32"}});
    all->push_back({op, {{"scalar", "nan"}}, {I32({2})}, {"scalar nan does not fit an integer array"}});
  }
  for (const char* op : {"_npi_bitwise_left_shift_scalar", "_npi_bitwise_right_shift_scalar",
                         "_npi_rbitwise_left_shift_scalar", "_npi_rbitwise_right_shift_scalar"}) {
    all->push_back({op, {}, {kBools}, {"expected data of integers, got bool"}});
    all->push_back({op, {{"scalar", "nan"}}, {I32({2})}, {"scalar nan does not fit an integer array"}});
  }
}

void AddDensities(std::vector<Refusal>* all) {
  const char* floats = "expected sample of a float dtype, got int32";
  for (const char* op :
       {"_random_pdf_uniform", "_random_pdf_normal", "_random_pdf_gamma", "_random_pdf_exponential",
        "_random_pdf_poisson", "_random_pdf_negative_binomial", "_random_pdf_generalized_negative_binomial"}) {
    all->push_back(
        {op, {}, {F32({3, 2}), F32({2})}, {"the shape [3,2] of samples does not begin with [2] of parameters"}});
    all->push_back({op, {}, {I32({2}), I32({2})}, {floats}});
  }
  all->push_back({"_random_pdf_dirichlet", {}, {I32({2}), I32({2})}, {floats}});
  all->push_back(
      {"_random_pdf_dirichlet", {}, {F32({3, 2}), F32({4})}, {"samples of shape [3,2] are no vectors as those of"}});
}

}  // namespace

std::vector<Refusal> FunctionRefusals() {
  std::vector<Refusal> all;
  AddUnary(&all);
  AddEqualShapes(&all);
  AddBroadcasts(&all);
  AddFunctionsOfScalars(&all);
  AddDensities(&all);
  return all;
}

}  // namespace amp
