#include "runtime/graph_runner.h"

#include <map>
#include <set>
#include <utility>

#include "nnvm/error.h"
#include "passes/alternate.h"
#include "runtime/backward_guard.h"

namespace amp {
namespace {

std::string WithTypes(std::string key, const std::vector<NDArray>& arrays) {
  for (const NDArray& array : arrays) {
    key += fmt::format("|{}", static_cast<int>(array.dtype()));
    for (const std::int64_t dim : array.shape().dims()) key += fmt::format(",{}", dim);
  }
  return key;
}

}  // namespace

void AppendToKey(const std::string& text, std::string* key) { *key += fmt::format("{}:{}", text.size(), text); }

std::vector<NDArray> GraphRunner::Run(const std::string& key, const std::vector<NDArray>& arrays,
                                      const std::function<GraphOverArrays()>& make) {
  const std::string settings = CurrentAlternate().Key() + (BackwardGuard::IsBackward() ? "b" : "f");
  const auto plan = plans_.Get(WithTypes(settings + key, arrays), [&] { return Bind(make(), arrays); });
  std::vector<NDArray> inputs;
  for (const std::size_t i : plan->order) inputs.push_back(arrays[i]);
  return plan->executor->Run(inputs);
}

std::shared_ptr<GraphRunner::Plan> GraphRunner::Bind(const GraphOverArrays& graph, const std::vector<NDArray>& arrays) {
  const std::vector<std::string> inputs = graph.symbol.ListInputs();
  const std::set<std::string> read(inputs.begin(), inputs.end());
  std::map<std::string, std::size_t> positions;
  TypeMap types;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const std::string& name = graph.variables[i];
    if (!read.contains(name)) continue;
    positions[name] = i;
    types[name] = arrays[i].type();
  }
  auto plan = std::make_shared<Plan>();
  plan->executor = std::make_unique<Executor>(graph.symbol, ModelParams{}, types, BindOptions{});
  for (const std::string& name : plan->executor->input_names()) {
    const auto position = positions.find(name);
    if (position == positions.end()) Throw<UnsupportedError>("the graph draws random numbers: a Recorder runs it");
    plan->order.push_back(position->second);
  }
  return plan;
}

}  // namespace amp
