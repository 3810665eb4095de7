#include "runtime/operator_runner.h"

#include <algorithm>

#include "nnvm/error.h"

namespace amp {
namespace {

constexpr const char* kNodeName = "node";

// Names of variables that no caller sees, numbered in the order of the arrays.
std::vector<std::string> VariableNames(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(fmt::format("in{}", i));
  return names;
}

// Apply makes variables for inputs that are not given; here no caller can give them later.
void RequireGiven(const Symbol& node, const std::string& op, const std::vector<std::string>& given) {
  std::vector<std::string> missing;
  for (const std::string& name : node.ListInputs()) {
    if (std::find(given.begin(), given.end(), name) != given.end()) continue;
    missing.push_back(name.substr(std::string(kNodeName).size() + 1));
  }
  const bool is_label = missing.size() == 1 && missing[0] == "label";
  if (!missing.empty() && !is_label) Throw<ArgumentError>("{}: inputs are missing: {}", op, JoinSome(missing));
}

}  // namespace

std::string OperatorCall::Key() const {
  std::string key;
  AppendToKey(op, &key);
  for (const auto& [name, value] : attrs) {
    AppendToKey(name, &key);
    AppendToKey(value, &key);
  }
  key += fmt::format("|{}", num_positional);
  for (const std::string& name : names) AppendToKey(name, &key);
  return key;
}

GraphOverArrays OperatorCall::Graph() const {
  const std::vector<std::string> variables = VariableNames(num_positional + names.size());
  std::vector<Symbol> positional;
  std::map<std::string, Symbol> by_name;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    Symbol variable = Symbol::Variable(variables[i]);
    if (i < num_positional) {
      positional.push_back(std::move(variable));
    } else {
      by_name[names[i - num_positional]] = std::move(variable);
    }
  }
  Symbol node = Symbol::Apply(op, kNodeName, attrs, positional, by_name);
  RequireGiven(node, op, variables);
  return {std::move(node), variables};
}

}  // namespace amp
