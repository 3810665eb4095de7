#include "passes/precision/mxnet_lists.h"

#include <array>
#include <sstream>

#include "nnvm/error.h"
#include "passes/precision/operator_names.h"

namespace amp {
namespace {

struct RawLists {
  const char* target;
  const char* neutral;
  const char* float32;
  const char* widest;
  std::vector<ConditionalOp> conditional;
  const char* loss_outputs;
  std::map<std::string, std::vector<std::string>> float32_inputs;
};

const std::array<RawLists, 2>& Raw() {
  static const std::array<RawLists, 2> lists{
#include "passes/precision/mxnet_lists.inc"
  };
  return lists;
}

std::vector<std::string> Words(const char* text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// Operators' own names first, then aliases.
std::map<const Op*, ListRole> Roles(const RawLists& raw) {
  const std::pair<const char*, ListRole> lists[] = {{raw.target, ListRole::kTarget},
                                                    {raw.neutral, ListRole::kNeutral},
                                                    {raw.float32, ListRole::kFloat32},
                                                    {raw.widest, ListRole::kWidest}};
  std::map<const Op*, ListRole> roles;
  for (const bool aliases : {false, true}) {
    for (const auto& [text, role] : lists) {
      for (const std::string& name : Words(text)) {
        const Op* op = FindOp(name);
        if (op != nullptr && (op->name != name) == aliases) roles.emplace(op, role);
      }
    }
  }
  return roles;
}

PublishedLists Published(const RawLists& raw) {
  PublishedLists lists;
  lists.roles = Roles(raw);
  for (const ConditionalOp& entry : raw.conditional) {
    const Op* op = FindOp(entry.op);
    if (op == nullptr) continue;
    lists.conditional.push_back({op->name, entry.attr, entry.values});
    lists.roles.erase(op);
  }
  for (const std::string& name : Words(raw.loss_outputs)) {
    if (const Op* op = FindOp(name)) lists.loss_outputs.push_back(op->name);
  }
  for (const auto& [name, inputs] : raw.float32_inputs) {
    if (const Op* op = FindOp(name)) lists.float32_inputs[op->name] = inputs;
  }
  return lists;
}

}  // namespace

const char* NameOf(ListRole role) {
  switch (role) {
    case ListRole::kTarget:
      return "target_dtype_ops";
    case ListRole::kNeutral:
      return "neutral_ops";
    case ListRole::kFloat32:
      return "fp32_ops";
    case ListRole::kWidest:
      return "widest_dtype_ops";
  }
  return "";
}

const PublishedLists& MXNetLists(DType target) {
  static const PublishedLists bfloat16 = Published(Raw()[0]), float16 = Published(Raw()[1]);
  if (target == DType::kBFloat16) return bfloat16;
  if (target == DType::kFloat16) return float16;
  Throw<ArgumentError>("target dtype: expected bfloat16 or float16, got {}", NameOf(target));
}

}  // namespace amp
