#include <string>

#include "op_refusals.h"

namespace amp {

namespace {

std::vector<Refusal> NumPyFamilyRefusals() {
  const TensorType row = F32({2}), key{DType::kInt64, {2}};
  std::vector<Refusal> all{
      {"_npi_choice", {{"a", "0"}}, {}, {"there is no index below 0"}},
      {"_npi_choice", {{"a", "None"}}, {F32({0, 3})}, {"there is no index below 0"}},
      {"_npi_choice", {}, {}, {"attribute a (int or None) is missing"}},
      {"_npi_choice", {{"a", "3"}, {"weighted", "True"}}, {row}, {"of shape [3], got [2]"}},
      {"_npi_choice", {{"a", "2"}, {"weighted", "True"}}, {I32({2})}, {"of a float dtype, got int32"}},
      {"_npi_choice",
       {{"a", "5"}, {"size", "(2, 3)"}, {"replace", "False"}},
       {},
       {"size [2,3] asks for more than the 5 different indices that there are"}},
      {"_draw_choice", {{"a", "5"}, {"size", "(-1,)"}}, {key}, {"attribute size: -1 is no size"}},
      {"_draw_choice", {{"a", "5"}}, {row}, {"expected key of dtype int64, got float32"}},
      {"_npi_normal", {{"loc", "0"}}, {}, {"attribute scale (float or None) is missing"}},
      {"_npi_uniform",
       {{"low", "nan"}, {"high", "1"}},
       {},
       {"attribute low: expected a number in [-inf, inf], got nan"}},
      {"_npi_gamma", {{"shape", "0"}, {"scale", "1"}}, {}, {"attribute shape: expected a number in (0, inf], got 0"}},
      {"_npi_gamma", {{"shape", "1"}, {"scale", "0"}}, {}, {"attribute scale: expected a number in (0, inf], got 0"}},
      {"_npi_exponential", {{"scale", "-1"}}, {}, {"attribute scale: expected a number in [0, inf], got -1"}},
      {"_npi_rayleigh", {{"scale", "-1"}}, {}, {"attribute scale: expected a number in [0, inf], got -1"}},
      {"_npi_rayleigh", {{"scale", "None"}, {"size", "(3,)"}}, {row}, {"[2] and [3] cannot be broadcast"}},
      {"_npi_exponential", {{"dtype", "float32"}}, {}, {"unknown attribute 'dtype'"}},
      {"_npi_normal_n", {{"loc", "None"}, {"scale", "None"}}, {row, F32({3})}, {"[2] and [3] cannot be broadcast"}},
      {"_npi_bernoulli",
       {{"prob", "1.5"}, {"logit", "None"}, {"is_logit", "False"}},
       {},
       {"attribute prob: expected a number in [0, 1], got 1.5"}},
      {"_npi_bernoulli",
       {{"prob", "0.5"}, {"logit", "None"}, {"is_logit", "True"}},
       {},
       {"is_logit true asks for attribute logit, which is None"}},
      {"_npi_bernoulli", {{"prob", "0.5"}, {"logit", "None"}}, {}, {"attribute is_logit (bool) is missing"}},
      {"_npi_bernoulli",
       {{"prob", "None"}, {"logit", "None"}, {"is_logit", "False"}, {"size", "(3,)"}},
       {row},
       {"[2] and [3] cannot be broadcast"}},
      {"_npi_bernoulli",
       {{"prob", "0.5"}, {"logit", "None"}, {"is_logit", "False"}, {"size", "(-1,)"}},
       {},
       {"attribute size: -1 is no size"}}};
  for (const std::string op : {"_npi_normal", "_npi_normal_n", "_npi_gumbel", "_npi_logistic"}) {
    const AttrMap attrs{{"loc", "0"}, {"scale", "-1"}};
    all.push_back({op, attrs, {}, {"attribute scale: expected a number in [0, inf], got -1"}});
    all.push_back({op, {{"loc", "0"}, {"scale", "inf"}}, {}, {"attribute scale", "got inf"}});
  }
  for (const std::string op : {"_npi_weibull", "_npi_pareto", "_npi_powerd"}) {
    all.push_back({op, {{"a", "0"}}, {}, {"attribute a: expected a number in (0, inf], got 0"}});
    all.push_back({op, {{"a", "1"}, {"size", "(2, -1)"}}, {}, {"attribute size: -1 is no size"}});
    all.push_back({op, {{"size", "(3,)"}}, {row}, {"[2] and [3] cannot be broadcast"}});
    all.push_back(
        {op, {{"size", "(2,)"}}, {F32({3, 2})}, {"parameters of shape [3,2] cannot be broadcast to size [2]"}});
  }
  for (const std::string op : {"_npi_uniform", "_npi_uniform_n"}) {
    all.push_back({op, {{"low", "0"}, {"high", "1"}, {"dtype", "int32"}}, {}, {"expected a float dtype, got int32"}});
    all.push_back({op, {{"low", "0"}, {"high", "inf"}}, {}, {"attribute high", "got inf"}});
  }
  return all;
}

}  // namespace

std::vector<Refusal> RandomRefusals() {
  const TensorType row = F32({2}), key{DType::kInt64, {2}}, scalar = F32(Shape(std::vector<std::int64_t>{}));
  std::vector<Refusal> all{
      {"_random_uniform", {{"low", "2"}, {"high", "1"}}, {}, {"low 2 is above high 1"}},
      {"_random_uniform", {{"high", "inf"}}, {}, {"attribute high: expected a number in [-inf, inf], got inf"}},
      {"_random_uniform", {{"shape", "(2, -1)"}}, {}, {"nothing that reads the output says what -1 is"}},
      {"_random_normal", {{"scale", "0"}}, {}, {"attribute scale: expected a number in (0, inf], got 0"}},
      {"_random_gamma", {{"alpha", "0"}}, {}, {"attribute alpha: expected a number in (0, inf], got 0"}},
      {"_random_gamma", {{"beta", "-1"}}, {}, {"attribute beta: expected a number in (0, inf], got -1"}},
      {"_random_exponential", {{"lam", "0"}}, {}, {"attribute lam: expected a number in (0, inf], got 0"}},
      {"_random_poisson", {{"lam", "-1"}}, {}, {"attribute lam: expected a number in [0, inf], got -1"}},
      {"_random_negative_binomial", {{"k", "-1"}}, {}, {"attribute k: expected a number in [0, inf], got -1"}},
      {"_random_negative_binomial", {{"p", "0"}}, {}, {"attribute p: expected a number in (0, 1], got 0"}},
      {"_random_negative_binomial", {{"p", "1.5"}}, {}, {"attribute p: expected a number in (0, 1], got 1.5"}},
      {"_random_generalized_negative_binomial", {{"mu", "-1"}}, {}, {"attribute mu"}},
      {"_random_generalized_negative_binomial", {{"alpha", "nan"}}, {}, {"attribute alpha", "got nan"}},
      {"_random_normal_like", {{"scale", "-1"}}, {row}, {"attribute scale: expected a number in (0, inf], got -1"}},
      {"_sample_uniform", {}, {row, F32({3})}, {"expected high of shape [2], got [3]"}},
      {"_sample_uniform", {}, {row, I32({2})}, {"int32"}},
      {"_random_randint", {{"low", "3"}, {"high", "3"}}, {}, {"there is no integer from [3, 3)"}},
      {"_random_randint", {{"high", "3"}}, {}, {"attribute low (int) is missing"}},
      {"_random_randint",
       {{"low", "0"}, {"high", "4294967296"}},
       {},
       {"int32 does not hold all integers from [0, 4294967296)"}},
      {"_random_randint",
       {{"low", "0"}, {"high", "3"}, {"dtype", "float32"}},
       {},
       {"attribute dtype: expected int32 or int64, got float32"}},
      {"_sample_multinomial", {}, {F32({2, 0})}, {"there are no classes in data of shape [2,0]"}},
      {"_sample_multinomial", {}, {scalar}, {"expected data of rank 1 or more, got a scalar"}},
      {"_sample_multinomial", {}, {I32({2})}, {"expected data of a float dtype, got int32"}},
      {"_sample_multinomial", {{"shape", "(-1,)"}}, {row}, {"attribute shape: -1 is no size"}},
      {"_shuffle", {}, {scalar}, {"expected data of rank 1 or more, got a scalar"}},
      {"_backward_draw_classes", {}, {F32({2}), F32({2}), F32({3})}, {"[2]", "[3]"}},
      {"_backward_draw_classes", {}, {F32({2, 3}), F32({4, 5}), F32({2, 3})}, {"6 classes are no rows of data"}},
      {"_draw", {{"distribution", "cauchy"}}, {key}, {"attribute distribution", "got 'cauchy'"}},
      {"_draw", {{"distribution", "normal"}}, {{DType::kInt64, {3}}}, {"expected key of shape [2], got [3]"}},
      {"_draw_key", {}, {{DType::kInt64, {3}}}, {"expected key of shape [2], got [3]"}},
      {"_draw_key", {}, {F32({2})}, {"expected key of dtype int64, got float32"}},
      {"_draw_classes", {{"shape", "(-1,)"}}, {row, key}, {"attribute shape: -1 is no size"}},
      {"_draw_classes", {}, {row, F32({2})}, {"expected key of dtype int64, got float32"}},
      {"_draw_integers", {{"low", "3"}, {"high", "2"}}, {key}, {"there is no integer from [3, 2)"}},
      {"_draw_integers", {{"low", "1"}, {"high", "2"}}, {F32({2})}, {"expected key of dtype int64, got float32"}},
      {"_draw_shuffled", {}, {scalar, key}, {"expected data of rank 1 or more, got a scalar"}},
      {"_draw_shuffled", {}, {row, F32({2})}, {"expected key of dtype int64, got float32"}},
      {"_shuffle", {{"axis", "1"}}, {row}, {"unknown attribute 'axis'"}},
      {"_draw_like", {}, {row, key}, {"attribute distribution"}},
      {"_draw_each", {{"distribution", "gamma"}, {"shape", "(-1,)"}}, {row, row, key}, {"-1 is no size"}},
      {"_draw_like", {{"distribution", "normal"}}, {row, F32({2})}, {"expected key of dtype int64, got float32"}},
      {"_draw_each", {{"distribution", "poisson"}}, {row, F32({2})}, {"expected key of dtype int64, got float32"}},
      {"_draw_broadcast", {{"distribution", "normal"}}, {row, F32({3}), key}, {"[2] and [3] cannot be broadcast"}},
      {"_draw_broadcast", {{"distribution", "weibull"}}, {row, {DType::kInt64, {3}}}, {"key of shape [2], got [3]"}},
      {"_draw_broadcast", {{"distribution", "weibull"}, {"dtype", "int32"}}, {row, key}, {"expected a float dtype"}}};
  const std::vector<Refusal> of_numpy = NumPyFamilyRefusals();
  all.insert(all.end(), of_numpy.begin(), of_numpy.end());
  for (const std::string family :
       {"uniform", "normal", "gamma", "exponential", "poisson", "negative_binomial", "generalized_negative_binomial"}) {
    const std::string drawn = "_random_" + family, like = drawn + "_like", sample = "_sample_" + family;
    const bool has_one = family == "exponential" || family == "poisson";
    const std::vector<TensorType> parameters(has_one ? 1 : 2, row);
    all.push_back({drawn, {{"dtype", "int32"}}, {}, {"attribute dtype: expected a float dtype, got int32"}});
    all.push_back({drawn, {{"shape", "(2, -2)"}}, {}, {"attribute shape: -2 is no size"}});
    all.push_back({like, {}, {I32({2})}, {"expected data of a float dtype, got int32"}});
    all.push_back({like, {{"shape", "(2,)"}}, {row}, {"unknown attribute 'shape'"}});
    all.push_back({sample, {{"dtype", "int32"}}, parameters, {"attribute dtype: expected a float dtype, got int32"}});
    all.push_back({sample, {{"shape", "(2, -1)"}}, parameters, {"attribute shape: -1 is no size"}});
  }
  return all;
}

}  // namespace amp
