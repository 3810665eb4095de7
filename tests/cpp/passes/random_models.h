// Small random models of registered operators, with parameters and inputs: every tensor of the main path is
// float32[2,4,6,6], a second path is int32.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "nnvm/compose.h"
#include "nnvm/params_file.h"
#include "passes/infer.h"

namespace amp::testing {

struct RandomModel {
  Symbol symbol;
  ModelParams params;
  TypeMap input_types;
  std::map<std::string, NDArray> inputs;
};

class RandomModelMaker {
 public:
  explicit RandomModelMaker(std::uint32_t seed) : random_(seed) {}

  RandomModel Make(int nodes) {
    floats_ = {Input("x"), Input("y")};
    Symbol ints = Integers();
    for (int i = 0; i < nodes; ++i) {
      name_ = "n" + std::to_string(i);
      floats_.push_back(Next());
    }
    std::vector<Symbol> heads{floats_.back(), Any(), ints};
    if (Chance(3)) heads.push_back(Op("Flatten", "flat", {floats_.back()}));
    if (Chance(3)) heads.push_back(heads[0]);
    model_.symbol = Symbol::Group(heads);
    // What no output needs is nobody's input.
    const std::vector<std::string> needed = model_.symbol.ListInputs();
    std::erase_if(model_.input_types, [&](const auto& named) {
      return std::find(needed.begin(), needed.end(), named.first) == needed.end();
    });
    return std::move(model_);
  }

 private:
  bool Chance(int n) { return random_() % n == 0; }
  const Symbol& Any() { return floats_[Chance(2) ? floats_.size() - 1 : random_() % floats_.size()]; }

  NDArray Normal(Shape shape, float scale, float offset = 0) {
    NDArray array(DType::kFloat32, std::move(shape));
    std::normal_distribution<float> normal(0, scale);
    for (std::int64_t i = 0; i < array.size(); ++i) array.As<float>()[i] = offset + normal(random_);
    return array;
  }
  Symbol Param(const std::string& suffix, Shape shape, float scale, float offset = 0) {
    model_.params.args[name_ + suffix] = Normal(std::move(shape), scale, offset);
    return Var(name_ + suffix);
  }
  Symbol State(const std::string& suffix, float scale, float offset) {
    NDArray array = Normal({4}, scale, offset);
    for (std::int64_t i = 0; i < 4; ++i) array.As<float>()[i] = std::abs(array.As<float>()[i]) + offset / 2;
    model_.params.aux[name_ + suffix] = array;
    return Var(name_ + suffix);
  }
  Symbol Input(const std::string& name) {
    model_.inputs[name] = Normal({2, 4, 6, 6}, 1);
    model_.input_types[name] = model_.inputs[name].type();
    return Var(name);
  }
  Symbol Integers() {
    NDArray ids(DType::kInt32, {2, 3});
    for (std::int64_t i = 0; i < ids.size(); ++i) ids.As<std::int32_t>()[i] = static_cast<std::int32_t>(random_() >> 4);
    model_.inputs["ids"] = ids;
    model_.input_types["ids"] = ids.type();
    const Symbol variable = Var("ids");
    const Symbol shifted = Op("_plus_scalar", "ids_shifted", {variable}, {{"scalar", "257"}});
    const Symbol cast = AmpCast("ids_cast", variable);  // no work for integers
    return Op("elemwise_add", "ids_sum", {shifted, cast});
  }

  Symbol Convolution(const Symbol& data, int channels, int kernel, int groups) {
    const AttrMap attrs{{"kernel", kernel == 1 ? "(1, 1)" : "(3, 3)"},
                        {"pad", kernel == 1 ? "(0, 0)" : "(1, 1)"},
                        {"num_filter", "4"},
                        {"num_group", std::to_string(groups)}};
    const float scale = 1.0f / std::sqrt(static_cast<float>(channels / groups * kernel * kernel));
    return Op("Convolution", name_,
              {data, Param("_weight", {4, channels / groups, kernel, kernel}, scale), Param("_bias", {4}, 0.1f)},
              attrs);
  }

  Symbol Next() {
    switch (random_() % 15) {
      case 0:
      case 1:
        return Convolution(Any(), 4, 3, 1);
      case 2:
        return Convolution(Any(), 4, 1, Chance(2) ? 4 : 2);
      case 3:
        return Op("FullyConnected", name_, {Any(), Param("_weight", {6, 6}, 0.4f)},
                  {{"num_hidden", "6"}, {"no_bias", "True"}, {"flatten", "False"}});
      case 4:
        return Op("BatchNorm", name_,
                  {Any(), Param("_gamma", {4}, 0.1f, 1), Param("_beta", {4}, 0.1f), State("_moving_mean", 0.1f, 0),
                   State("_moving_var", 0.1f, 1)},
                  {{"fix_gamma", Chance(2) ? "True" : "False"}});
      case 5:
        return Op("Activation", name_, {Any()}, {{"act_type", Chance(2) ? "relu" : "tanh"}});
      case 6:
        return Op("Pooling", name_, {Any()},
                  {{"kernel", "(3, 3)"}, {"pad", "(1, 1)"}, {"pool_type", Chance(2) ? "max" : "avg"}});
      case 7:
      case 8:
        return Op("elemwise_add", name_, {Any(), Any()});
      case 9: {
        const Symbol both = Op("Concat", name_ + "_cat", {Any(), Any()}, {{"dim", "1"}});
        return Convolution(both, 8, 1, 1);
      }
      case 10:
        return Op("Dropout", name_, {Any()});
      case 11:
        return Op("clip", name_, {Any()}, {{"a_min", "-1.1"}, {"a_max", "6"}});
      case 12:
        return Op("LeakyReLU", name_, {Any(), Param("_gamma", {4}, 0.1f, 0.2f)}, {{"act_type", "prelu"}});
      case 13:
        return Op(Chance(2) ? "_mul_scalar" : "_minus_scalar", name_, {Any()}, {{"scalar", "0.7"}});
      default:
        return Casts();
    }
  }

  Symbol Casts() {
    if (Chance(3)) return Op("softmax", name_, {Any()}, {{"axis", "1"}});
    const Symbol low = AmpCast(name_ + "_low", Any());
    if (Chance(2)) return AmpCast(name_, Op("Activation", name_ + "_act", {low}, {{"act_type", "relu"}}), "float32");
    const Symbol both = Op("amp_multicast", name_ + "_amp_multicast", {low, Any()});
    return Op("elemwise_add", name_, {both.At(0), both.At(1)});
  }

  std::mt19937 random_;
  std::string name_;
  std::vector<Symbol> floats_;
  RandomModel model_;
};

}  // namespace amp::testing
