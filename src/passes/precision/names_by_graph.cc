#include "passes/precision/names_by_graph.h"

#include <algorithm>
#include <utility>

#include "passes/precision/precision_categories.h"

namespace amp {
namespace {

// A pattern that matches this name alone, and that is no name of a node.
std::string PatternOf(const std::string& name) {
  std::string pattern;
  for (const char c : name) {
    const bool is_inside_of_character = (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;  // UTF-8
    if (!is_inside_of_character) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

bool IsPattern(const std::string& name) { return name.find_first_of("*?[\\") != std::string::npos; }

}  // namespace

NamesByGraph::NamesByGraph(const Graph& graph, const Types& types) {
  for (const NodePtr& node : graph.nodes()) {
    if (!node->is_variable()) outer_.insert(node->name());
  }
  for (const BodyGraph& body : BodiesIn(graph, types)) {
    for (const NodePtr& node : body.graph.nodes()) {
      if (!node->is_variable()) inner_.insert(body.path + node->name());
    }
  }
}

void NamesByGraph::RemoveInner(ConvertOptions* options) const {
  std::erase_if(options->excluded, [this](const std::string& name) { return IsInner(name); });
  std::erase_if(options->force, [this](const auto& named) { return IsInner(named.first); });
  std::erase_if(options->categories, [this](const auto& named) { return IsInner(named.first); });
}

void NamesByGraph::SelectFor(const std::string& path, const ConvertOptions& given, ConvertOptions* options) const {
  options->excluded.clear();
  options->force.clear();
  options->categories.clear();
  for (const std::string& name : given.excluded) {
    for (std::string& inner : NamesIn(path, name)) options->excluded.push_back(std::move(inner));
  }
  for (const auto& [name, dtype] : given.force) {
    for (const std::string& inner : NamesIn(path, name)) options->force[inner] = dtype;
  }
  for (const auto& [name, category] : given.categories) {
    for (const std::string& inner : NamesIn(path, name)) options->categories[inner] = category;
  }
}

bool NamesByGraph::IsInner(const std::string& name) const {
  if (outer_.contains(name) || inner_.contains(name)) return !outer_.contains(name);
  if (!IsPattern(name)) return false;
  const auto matches = [&name](const std::string& node) { return MatchesGlob(name, node); };
  return std::none_of(outer_.begin(), outer_.end(), matches) && std::any_of(inner_.begin(), inner_.end(), matches);
}

// Nodes below `path` that a name or pattern of the call means, by what the body calls them.
std::vector<std::string> NamesByGraph::NamesIn(const std::string& path, const std::string& name) const {
  std::vector<std::string> names;
  if (inner_.contains(name) && name.starts_with(path)) names.push_back(name.substr(path.size()));
  if (inner_.contains(name) || outer_.contains(name) || !IsPattern(name)) return names;
  for (auto full = inner_.lower_bound(path); full != inner_.end() && full->starts_with(path); ++full) {
    if (MatchesGlob(name, *full)) names.push_back(PatternOf(full->substr(path.size())));
  }
  return names;
}

}  // namespace amp
