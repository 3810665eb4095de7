#include "passes/whose_cast.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "passes/op_facts.h"

namespace amp {
namespace {

// The name without the number that made it unique.
std::string_view Stem(std::string_view name) {
  const std::size_t end = name.find_last_not_of("0123456789");
  const bool is_numbered = end != std::string_view::npos && end + 1 < name.size() && name[end] == '_';
  return is_numbered ? name.substr(0, end) : name;
}

bool HasNameOfConversion(const Node& node) {
  const bool is_single = node.IsOp("amp_cast");
  const std::string ending =
      is_single ? std::string("_amp_cast_") + NameOf(node.Attr<DType>("dtype")) : std::string("_amp_multicast");
  const std::string_view name = node.name();
  return name.ends_with(ending) || Stem(name).ends_with(ending);
}

}  // namespace

bool IsCastOfConversion(const Node& node) {
  if (node.is_variable() || !(node.IsOp("amp_cast") || node.IsOp("amp_multicast"))) return false;
  return node.FindAttr(kConversionCastAttr) != nullptr || HasNameOfConversion(node);
}

bool IsCastOfProgram(const Node& node) {
  return !node.is_variable() && FactsOf(node).arithmetic == Arithmetic::kCasts && !IsCastOfConversion(node);
}

}  // namespace amp
