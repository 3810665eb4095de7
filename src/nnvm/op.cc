#include "nnvm/op.h"

#include <algorithm>

namespace amp {

OpRegistry& OpRegistry::Get() {
  static OpRegistry registry;
  return registry;
}

Op& OpRegistry::Add(std::string_view domain, std::string_view name) {
  const std::pair<std::string, std::string> key(domain, name);
  if (Find(domain, name) != nullptr) Throw<InternalError>("operator {} is registered twice", name);
  return *ops_.emplace(key, std::make_unique<Op>(key.first, key.second)).first->second;
}

void OpRegistry::AddAlias(Op& op, std::string_view alias) {
  const std::pair<std::string, std::string> key(op.domain, alias);
  if (ops_.contains(key) || !aliases_.emplace(key, &op).second) {
    Throw<InternalError>("alias {} of operator {} is taken", alias, op.name);
  }
  op.aliases.emplace_back(alias);
}

const Op* OpRegistry::Find(std::string_view domain, std::string_view name) const {
  const std::pair<std::string, std::string> key(domain, name);
  if (const auto op = ops_.find(key); op != ops_.end()) return op->second.get();
  const auto alias = aliases_.find(key);
  return alias == aliases_.end() ? nullptr : alias->second;
}

const Op& OpRegistry::Require(std::string_view domain, std::string_view name) const {
  if (const Op* op = Find(domain, name)) return *op;
  std::vector<std::string> names;
  for (const auto& [key, op] : ops_) names.push_back(key.second);
  for (const auto& [key, op] : aliases_) names.push_back(key.second);
  Throw<UnsupportedError>("operator '{}' is not registered{}", Quotable(name), NearMatches(name, names));
}

std::vector<const Op*> OpRegistry::All() const {
  std::vector<const Op*> all;
  for (const auto& [key, op] : ops_) all.push_back(op.get());
  return all;
}

std::vector<std::string> NumberedNames(std::string_view stem, std::int64_t count) {
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < count; ++i) names.push_back(fmt::format("{}{}", stem, i));
  return names;
}

}  // namespace amp
