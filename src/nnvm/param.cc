#include "nnvm/param.h"

#include "nnvm/error.h"

namespace amp {

FieldTable::FieldTable() = default;
FieldTable::FieldTable(const FieldTable&) = default;
FieldTable::FieldTable(FieldTable&&) noexcept = default;
FieldTable& FieldTable::operator=(const FieldTable&) = default;
FieldTable& FieldTable::operator=(FieldTable&&) noexcept = default;
FieldTable::~FieldTable() = default;

void FieldTable::Add(FieldInfo info, const FieldType* type, std::function<void*(void* params)> place) {
  infos_.push_back(std::move(info));
  fields_.push_back({type, std::move(place), nullptr});
}

void FieldTable::AddIgnored(std::string name) {
  Add({std::move(name), "str", "None", "Accepted for compatibility; has no effect on a CPU.", true}, nullptr, nullptr);
}

void FieldTable::LimitLast(double low, double high) {
  fields_.back().problem = [low, high, name = infos_.back().name](const FieldType& type,
                                                                  const void* value) -> std::string {
    const std::optional<double> number = type.number(value);
    if (!number || (*number >= low && *number <= high)) return "";
    return fmt::format("attribute {}: expected a value in [{}, {}], got {}", name, low, high, *number);
  };
}

void FieldTable::LimitLast(std::vector<std::string> words) {
  infos_.back().type = "one of " + JoinSome(words, 99);
  fields_.back().problem = [words = std::move(words), name = infos_.back().name](const FieldType& type,
                                                                                 const void* value) -> std::string {
    const std::string text = type.print(value);
    for (const std::string& word : words) {
      if (word == text) return "";
    }
    return fmt::format("attribute {}: expected one of {}, got '{}'", name, JoinSome(words, 99), Quotable(text));
  };
}

void FieldTable::Read(const AttrMap& attrs, void* params) const {
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    const auto& [type, place, problem] = fields_[i];
    const FieldInfo& info = infos_[i];
    const auto given = attrs.find(info.name);
    if (given == attrs.end() && !info.default_text) {
      Throw<GraphError>("attribute {} ({}) is missing", info.name, info.type);
    }
    if (type == nullptr) continue;
    void* value = place(params);
    if (given != attrs.end() && !type->parse(given->second, value)) {
      Throw<GraphError>("attribute {}: expected {}, got '{}'", info.name, info.type, Quotable(given->second));
    }
    if (!problem) continue;
    if (const std::string text = problem(*type, value); !text.empty()) throw GraphError(text);
  }
  // MXNet parses no attributes of an operator without parameters: what a file has there is kept and has no effect.
  if (!infos_.empty()) RefuseUnknownAttrs(infos_, attrs);
}

void RefuseUnknownAttrs(const std::vector<FieldInfo>& fields, const AttrMap& attrs) {
  for (const auto& [key, value] : attrs) {
    if (IsHiddenKey(key)) continue;
    std::vector<std::string> names;
    bool known = false;
    for (const FieldInfo& field : fields) {
      known = known || field.name == key;
      names.push_back(field.name);
    }
    if (!known) Throw<GraphError>("unknown attribute '{}'{}", Quotable(key), NearMatches(key, names));
  }
}

}  // namespace amp
