#include "runtime/recorder.h"

#include <algorithm>
#include <string>

#include "nnvm/error.h"

namespace amp {
namespace {

std::string FlagsText(const std::vector<bool>& flags) {
  std::string text;
  for (const bool flag : flags) text += flag ? '1' : '0';
  return text;
}

NDArray KeyArray(const RandomKey& key) {
  NDArray array(DType::kInt64, Shape{2});
  array.As<std::int64_t>()[0] = key.seed;
  array.As<std::int64_t>()[1] = key.run;
  return array;
}

void RequireType(const NDArray& gradient, const NDArray& output, std::size_t i) {
  if (gradient.type() == output.type()) return;
  Throw<ArgumentError>("the gradient of output {}: expected {}, got {}", i, output.type().ToString(),
                       gradient.type().ToString());
}

}  // namespace

RecordedRun::RecordedRun(std::shared_ptr<GraphRunner> runner, std::shared_ptr<const DifferentiableGraph> graph,
                         std::vector<NDArray> inputs, RandomKey key)
    : runner_(std::move(runner)), graph_(std::move(graph)), inputs_(std::move(inputs)), key_(key) {
  std::vector<NDArray> arrays = inputs_;
  arrays.push_back(graph_->is_random() ? KeyArray(key_) : NDArray());
  kept_ = runner_->Run(fmt::format("forward {}", graph_->id()), arrays, [&] {
    return GraphOverArrays{graph_->forward(), graph_->ForwardVariables()};
  });
}

std::vector<NDArray> RecordedRun::Outputs() const {
  return {kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(graph_->num_outputs())};
}

GradientRequest RecordedRun::RequestOf(const std::vector<NDArray>& output_gradients,
                                       const std::vector<bool>& is_asked) const {
  GradientRequest request{{}, is_asked};
  for (std::size_t i = 0; i < output_gradients.size(); ++i) {
    if (output_gradients[i].defined()) RequireType(output_gradients[i], kept_[i], i);
    request.has_gradient.push_back(output_gradients[i].defined());
  }
  return request;
}

std::vector<NDArray> RecordedRun::BackwardArrays(const std::vector<NDArray>& output_gradients) const {
  std::vector<NDArray> arrays = inputs_;
  arrays.insert(arrays.end(), kept_.begin(), kept_.end());
  arrays.insert(arrays.end(), output_gradients.begin(), output_gradients.end());
  return arrays;
}

RecordedRun::Result RecordedRun::Backward(const std::vector<NDArray>& output_gradients,
                                          const std::vector<bool>& is_asked) const {
  const GradientRequest request = RequestOf(output_gradients, is_asked);
  const auto half = graph_->Backward(request);
  Result result{std::vector<std::optional<NDArray>>(inputs_.size()), {}, half->replaces};
  if (half->symbol.outputs().empty()) return result;
  std::vector<NDArray> arrays = BackwardArrays(output_gradients);
  arrays.push_back(graph_->is_random() ? KeyArray(key_) : NDArray());
  const std::string key =
      fmt::format("backward {} {} {}", graph_->id(), FlagsText(request.has_gradient), FlagsText(is_asked));
  const std::vector<NDArray> values = runner_->Run(key, arrays, [&] {
    return GraphOverArrays{half->symbol, graph_->BackwardVariables()};
  });
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (half->gradients[i]) result.gradients[i] = values[*half->gradients[i]];
  }
  for (const auto& [input, output] : half->states) result.states.emplace_back(input, values[output]);
  return result;
}

RecordedRun::Derivative RecordedRun::Derive(const std::vector<NDArray>& output_gradients,
                                            const std::vector<bool>& is_asked,
                                            const std::vector<bool>& differentiable) const {
  const GradientRequest request = RequestOf(output_gradients, is_asked);
  const auto half = graph_->Backward(request);
  Derivative derivative{half->gradients, nullptr};
  const auto is_zero = [](const auto& gradient) { return !gradient.has_value(); };
  if (std::all_of(half->gradients.begin(), half->gradients.end(), is_zero)) return derivative;
  derivative.run = std::make_shared<RecordedRun>(runner_, graph_->Derived(request, differentiable),
                                                 BackwardArrays(output_gradients), key_);
  return derivative;
}

std::shared_ptr<RecordedRun> Recorder::Run(const OperatorCall& call, std::vector<NDArray> arrays,
                                           const std::vector<bool>& is_asked, bool is_train, RandomKey key) {
  const std::string name = call.Key() + FlagsText(is_asked) + (is_train ? "t" : "");
  auto graph = graphs_.Get(name, [&] {
    const GraphOverArrays made = call.Graph();
    return std::make_shared<const DifferentiableGraph>(made.symbol, made.variables, is_asked, is_train);
  });
  return std::make_shared<RecordedRun>(runner_, std::move(graph), std::move(arrays), key);
}

}  // namespace amp
