#include "nnvm/op.h"

#include <algorithm>

#include "nnvm/error.h"

namespace amp {

NamesFn SameForAll(std::vector<std::string> names) {
  return [names = std::move(names)](const void*) { return names; };
}

SlotFn OneOfSlots(std::vector<std::size_t> slots) {
  return [slots = std::move(slots)](const void*, std::size_t slot) {
    return std::find(slots.begin(), slots.end(), slot) != slots.end();
  };
}

Op::Op(std::string op_domain, std::string op_name)
    : domain(std::move(op_domain)),
      name(std::move(op_name)),
      input_names(SameForAll({})),
      output_names(SameForAll({"output"})),
      num_visible_outputs([](const void*) { return 1; }),
      is_mutable(OneOfSlots({})) {}

void Op::SetParams(const FieldTable& table, std::shared_ptr<void> (*make)(),
                   std::function<void(void* params)> validate) {
  fields = table.infos();
  parse = [table, make, validate = std::move(validate)](const AttrMap& attrs) {
    std::shared_ptr<void> params = make();
    table.Read(attrs, params.get());
    if (validate) validate(params.get());
    return params;
  };
}

const std::any* Op::FindFact(std::type_index type) const {
  const auto found = facts_.find(type);
  return found == facts_.end() ? nullptr : &found->second;
}

void Op::SetFact(std::type_index type, std::any fact) { facts_[type] = std::move(fact); }

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
