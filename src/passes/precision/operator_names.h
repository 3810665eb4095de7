// Operators by the names that callers write.
#pragma once

#include <string>
#include <vector>

#include "nnvm/op.h"

namespace amp {

// The operator with this name or alias; nullptr where there is none.
inline const Op* FindOp(const std::string& name) { return OpRegistry::Get().Find(kMXNetDomain, name); }

// All names, to suggest one in place of another.
inline std::vector<std::string> OperatorNames() {
  std::vector<std::string> names;
  for (const Op* op : OpRegistry::Get().All()) {
    names.push_back(op->name);
    names.insert(names.end(), op->aliases.begin(), op->aliases.end());
  }
  return names;
}

}  // namespace amp
