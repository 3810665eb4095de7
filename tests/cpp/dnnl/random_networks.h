// Random networks of what gets fused: convolutions of odd sizes, norms, activations, gates, sums of equal and of
// broadcast operands, concatenations, shared parameters, tensors that many read, outputs in the middle, mixed dtypes.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "dnnl/models.h"

namespace amp::onednn::testing {

class RandomNetworkMaker {
 public:
  explicit RandomNetworkMaker(std::uint32_t seed) : random_(seed) {}

  TestModel Make(int nodes) {
    batch_ = 1 + Below(3);
    Add(Input("data", {batch_, Channels(), 5 + Below(9), 5 + Below(9)}));
    for (int i = 0; i < nodes; ++i) {
      name_ = "n" + std::to_string(i);
      Add(Next());
    }
    std::vector<Symbol> outputs{tensors_.back().symbol};
    if (Chance(2)) outputs.push_back(Any().symbol);
    if (Chance(4)) outputs.push_back(Dense(tensors_.back()).symbol);
    if (Chance(5)) outputs.push_back(outputs[0]);
    model_.symbol = Symbol::Group(outputs);
    const std::vector<std::string> needed = model_.symbol.ListInputs();
    std::erase_if(model_.types, [&](const auto& named) {
      return std::find(needed.begin(), needed.end(), named.first) == needed.end();
    });
    return std::move(model_);
  }

 private:
  struct Tensor {
    Symbol symbol;
    Shape shape;  // (N, C, H, W)
  };

  std::int64_t Below(std::int64_t n) { return static_cast<std::int64_t>(random_() % static_cast<std::uint32_t>(n)); }
  bool Chance(int n) { return Below(n) == 0; }
  std::int64_t Channels() {
    constexpr std::int64_t kSizes[] = {1, 3, 4, 7, 8, 16, 17, 24, 32, 33};
    return kSizes[Below(10)];
  }
  void Add(Tensor tensor) { tensors_.push_back(std::move(tensor)); }
  const Tensor& Any() {
    return tensors_[Chance(2) ? tensors_.size() - 1
                              : static_cast<std::size_t>(Below(static_cast<std::int64_t>(tensors_.size())))];
  }
  // Some other tensor of the same shape; a convolution to it where there is none.
  Tensor Like(const Tensor& tensor) {
    for (int tries = 0; tries < 4; ++tries) {
      const Tensor& other = Any();
      if (other.shape == tensor.shape) return other;
    }
    name_ += "_like";
    return Convolution(tensor, tensor.shape[1], 1, 1, 1);
  }

  Tensor Input(const std::string& name, const Shape& shape) {
    model_.types[name] = F32(shape);
    return {Var(name), shape};
  }
  Symbol Param(const std::string& suffix, Shape shape, float scale, float offset = 0) {
    NDArray array = Random(std::move(shape), static_cast<std::uint32_t>(random_()), scale);
    for (std::int64_t i = 0; i < array.size(); ++i) array.As<float>()[i] += offset;
    model_.params.args[name_ + suffix] = array;
    return Var(name_ + suffix);
  }
  Symbol State(const std::string& suffix, std::int64_t channels, float offset) {
    NDArray array = Random({channels}, static_cast<std::uint32_t>(random_()), 0.1f);
    for (std::int64_t i = 0; i < channels; ++i) array.As<float>()[i] = std::abs(array.As<float>()[i]) + offset;
    model_.params.aux[name_ + suffix] = array;
    return Var(name_ + suffix);
  }

  Tensor Convolution(const Tensor& data, std::int64_t filters, int kernel, int stride, std::int64_t groups) {
    const std::int64_t channels = data.shape[1], pad = kernel / 2;
    const auto pair = [](std::int64_t n) { return fmt::format("({}, {})", n, n); };
    const Shape weight{filters, channels / groups, kernel, kernel};
    const float scale = 1.2f / std::sqrt(static_cast<float>(channels / groups * kernel * kernel));
    // One in five shares the weights of an earlier one of the same shape.
    const auto earlier = weights_.find(weight.ToString());
    const bool shares = earlier != weights_.end() && Chance(5);
    const Symbol weights = shares ? earlier->second : Param("_weight", weight, scale);
    weights_.insert_or_assign(weight.ToString(), weights);
    std::vector<Symbol> inputs{data.symbol, weights};
    const bool no_bias = Chance(2);
    if (!no_bias) inputs.push_back(Param("_bias", {filters}, 0.2f));
    const auto size = [&](std::int64_t n) { return (n + 2 * pad - kernel) / stride + 1; };
    return {Op("Convolution", name_, inputs,
               {{"kernel", pair(kernel)},
                {"pad", pair(pad)},
                {"stride", pair(stride)},
                {"num_filter", std::to_string(filters)},
                {"num_group", std::to_string(groups)},
                {"no_bias", no_bias ? "True" : "False"}}),
            Shape{batch_, filters, size(data.shape[2]), size(data.shape[3])}};
  }

  // Adds borders, of zeros mostly.
  Tensor Padded(const Tensor& data) {
    const std::int64_t top = Below(3), bottom = Below(3), left = Below(3), right = Below(3);
    const IntTuple width{0, 0, 0, 0, top, bottom, left, right};
    const char* mode = Chance(4) ? "edge" : "constant";
    return {Op("Pad", name_ + "_pad", {data.symbol}, {{"mode", mode}, {"pad_width", PrintAttr(width)}}),
            Shape{batch_, data.shape[1], data.shape[2] + top + bottom, data.shape[3] + left + right}};
  }

  Tensor Norm(const Tensor& data) {
    const std::int64_t c = data.shape[1];
    return {Op("BatchNorm", name_,
               {data.symbol, Param("_gamma", {c}, 0.1f, 1), Param("_beta", {c}, 0.1f), State("_moving_mean", c, 0),
                State("_moving_var", c, 0.5f)},
               {{"fix_gamma", Chance(3) ? "True" : "False"}, {"eps", "0.001"}}),
            data.shape};
  }

  Tensor Unary(const char* op, const Tensor& data, AttrMap attrs) {
    return {Op(op, name_, {data.symbol}, std::move(attrs)), data.shape};
  }

  Tensor Activation(const Tensor& data) {
    constexpr const char* kTypes[] = {"relu", "relu", "relu", "sigmoid", "tanh", "softrelu"};
    switch (Below(7)) {
      case 0:
        return Unary("clip", data, {{"a_min", "0"}, {"a_max", "6"}});
      case 1:
        return Unary("clip", data, {{"a_min", "-1.1"}, {"a_max", "2.3"}});  // bounds that bfloat16 has not
      case 2:
        return Unary("LeakyReLU", data, {{"act_type", "leaky"}, {"slope", "0.1"}});
      case 3:
        return Unary("LeakyReLU", data, {{"act_type", Chance(2) ? "elu" : "gelu"}});
      case 4:
        return {Op("LeakyReLU", name_, {data.symbol, Param("_gamma", {data.shape[1]}, 0.1f, 0.2f)},
                   {{"act_type", "prelu"}}),
                data.shape};
      default:
        return Unary("Activation", data, {{"act_type", kTypes[Below(6)]}});
    }
  }

  Tensor Gate(const Tensor& data) {
    if (Chance(2)) {
      const Symbol gate = Op("Activation", name_ + "_gate", {data.symbol}, {{"act_type", "sigmoid"}});
      return {Op("elemwise_mul", name_, {data.symbol, gate}), data.shape};
    }
    Symbol gate = Op("_plus_scalar", name_ + "_plus", {data.symbol}, {{"scalar", "3"}});
    gate = Op("clip", name_ + "_clip", {gate}, {{"a_min", "0"}, {"a_max", "6"}});
    gate = Op("_div_scalar", name_ + "_div", {gate}, {{"scalar", "6"}});
    return {Op("elemwise_mul", name_, {gate, data.symbol}), data.shape};
  }

  // Squeeze-and-excite: (N, C, 1, 1); or one number per channel, or per position.
  Tensor Broadcast(const Tensor& data) {
    const Shape& s = data.shape;
    const char* op = Chance(2) ? "broadcast_mul" : "broadcast_add";
    if (Chance(2)) {
      const Symbol pooled =
          Op("Pooling", name_ + "_pool", {data.symbol}, {{"global_pool", "True"}, {"pool_type", "avg"}});
      return {Op(op, name_, {data.symbol, pooled}), s};
    }
    const Shape operand = Chance(2) ? Shape{1, s[1], 1, 1} : Shape{1, 1, s[2], s[3]};
    return {Op(op, name_, {data.symbol, Param("_operand", operand, 0.5f, 0.5f)}), s};
  }

  Tensor Pooled(const Tensor& data) {
    if (data.shape[2] < 3 || data.shape[3] < 3) return Unary("Dropout", data, {});
    const bool strides = Chance(2);
    const auto size = [&](std::int64_t n) { return strides ? (n + 2 - 3) / 2 + 1 : n; };
    return {Op("Pooling", name_, {data.symbol},
               {{"kernel", "(3, 3)"},
                {"pad", "(1, 1)"},
                {"stride", strides ? "(2, 2)" : "(1, 1)"},
                {"pool_type", Chance(2) ? "max" : "avg"}}),
            Shape{batch_, data.shape[1], size(data.shape[2]), size(data.shape[3])}};
  }

  Tensor Joined(const Tensor& data) {
    const Tensor other = Like(data);
    return {Op("Concat", name_, {data.symbol, other.symbol}, {{"dim", "1"}}),
            Shape{batch_, data.shape[1] + other.shape[1], data.shape[2], data.shape[3]}};
  }

  Tensor Rounded(const Tensor& data) {
    const Symbol low = amp::testing::AmpCast(name_ + "_low", data.symbol);
    const Symbol inner = Chance(2) ? Op("Activation", name_ + "_act", {low}, {{"act_type", "relu"}}) : low;
    return {amp::testing::AmpCast(name_, inner, "float32"), data.shape};
  }

  Tensor Dense(const Tensor& data) {
    name_ += "_dense";
    const std::int64_t features = data.shape.size() / batch_;
    const float scale = 1.0f / std::sqrt(static_cast<float>(features));
    return {Op("FullyConnected", name_,
               {data.symbol, Param("_weight", {9, features}, scale), Param("_bias", {9}, 0.1f)}, {{"num_hidden", "9"}}),
            Shape{batch_, 9}};
  }

  Tensor Next() {
    const Tensor data = Any();
    const std::int64_t channels = data.shape[1];
    switch (Below(16)) {
      case 0:
        return Convolution(Padded(data), Chance(3) ? channels : Channels(), 3, 1 + static_cast<int>(Below(2)), 1);
      case 1:
        return Convolution(data, Channels(), 3, 1 + static_cast<int>(Below(2)), 1);
      case 2:
      case 3:
        return Convolution(data, Channels(), 1, 1 + static_cast<int>(Chance(4)), 1);
      case 4:
        return Convolution(data, channels, 3, 1, channels);
      case 5:
      case 6:
        return Norm(data);
      case 7:
      case 8:
        return Activation(data);
      case 9:
        return Gate(data);
      case 10:
      case 11: {
        const Tensor other = Like(data);
        return {Op("elemwise_add", name_, {data.symbol, other.symbol}), data.shape};
      }
      case 12:
        return Broadcast(data);
      case 13:
        return Pooled(data);
      case 14:
        return channels > 60 ? Activation(data) : Joined(data);
      default:
        return Rounded(data);
    }
  }

  std::mt19937 random_;
  std::int64_t batch_ = 1;
  std::string name_;
  std::vector<Tensor> tensors_;
  std::map<std::string, Symbol> weights_;  // by shape: the last parameter
  TestModel model_;
};

}  // namespace amp::onednn::testing
