#include "dnnl/operator_runner.h"

#include "nnvm/error.h"

namespace amp {
namespace {

constexpr const char* kNodeName = "node";

// Names of variables that no caller sees, numbered in the order of the arrays.
std::string VariableName(std::size_t i) { return fmt::format("in{}", i); }

void AppendText(const std::string& text, std::string* key) { *key += fmt::format("{}:{}", text.size(), text); }

std::string KeyOf(const std::string& op, const AttrMap& attrs, std::size_t num_positional,
                  const std::vector<std::string>& names, const std::vector<NDArray>& arrays) {
  std::string key;
  AppendText(op, &key);
  for (const auto& [name, value] : attrs) {
    AppendText(name, &key);
    AppendText(value, &key);
  }
  key += fmt::format("|{}", num_positional);
  for (const std::string& name : names) AppendText(name, &key);
  for (const NDArray& array : arrays) {
    key += fmt::format("|{}", static_cast<int>(array.dtype()));
    for (const std::int64_t dim : array.shape().dims()) key += fmt::format(",{}", dim);
  }
  return key;
}

Symbol NodeOver(const std::string& op, const AttrMap& attrs, std::size_t num_positional,
                const std::vector<std::string>& names) {
  std::vector<Symbol> positional;
  std::map<std::string, Symbol> by_name;
  for (std::size_t i = 0; i < num_positional; ++i) positional.push_back(Symbol::Variable(VariableName(i)));
  for (std::size_t i = 0; i < names.size(); ++i) {
    by_name[names[i]] = Symbol::Variable(VariableName(num_positional + i));
  }
  return Symbol::Apply(op, kNodeName, attrs, positional, by_name);
}

// Apply makes variables for inputs that are not given; here no caller can give them later.
void RequireGiven(const Symbol& node, const std::string& op, const TypeMap& given) {
  std::vector<std::string> missing;
  for (const std::string& name : node.ListInputs()) {
    if (!given.contains(name)) missing.push_back(name.substr(std::string(kNodeName).size() + 1));
  }
  const bool is_label = missing.size() == 1 && missing[0] == "label";
  if (!missing.empty() && !is_label) Throw<ArgumentError>("{}: inputs are missing: {}", op, JoinSome(missing));
}

}  // namespace

std::vector<NDArray> OperatorRunner::Run(const std::string& op, const AttrMap& attrs,
                                         const std::vector<NDArray>& positional,
                                         const std::map<std::string, NDArray>& by_name) {
  std::vector<NDArray> arrays = positional;
  std::vector<std::string> names;
  for (const auto& [name, array] : by_name) {
    names.push_back(name);
    arrays.push_back(array);
  }
  Use use = FindUse(KeyOf(op, attrs, positional.size(), names, arrays));
  if (use.executor == nullptr) {
    TypeMap types;
    for (std::size_t i = 0; i < arrays.size(); ++i) types[VariableName(i)] = arrays[i].type();
    const Symbol node = NodeOver(op, attrs, positional.size(), names);
    RequireGiven(node, op, types);
    use.executor = std::make_shared<Executor>(node, ModelParams{}, types, BindOptions{});
    for (const std::string& name : use.executor->input_names()) use.order.push_back(std::stoul(name.substr(2)));
    KeepUse(use);
  }
  std::vector<NDArray> inputs;
  for (const std::size_t i : use.order) inputs.push_back(arrays[i]);
  return use.executor->Run(inputs);
}

// The use with this key, now the most recent one; without an executor where there is none.
OperatorRunner::Use OperatorRunner::FindUse(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return {key, nullptr, {}};
  uses_.splice(uses_.begin(), uses_, found->second);
  return uses_.front();
}

void OperatorRunner::KeepUse(const Use& use) {
  const std::lock_guard lock(mutex_);
  if (by_key_.contains(use.key)) return;  // another thread was faster
  uses_.push_front(use);
  by_key_[use.key] = uses_.begin();
  if (uses_.size() <= plans_kept_) return;
  by_key_.erase(uses_.back().key);
  uses_.pop_back();
}

}  // namespace amp
