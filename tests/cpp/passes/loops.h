// Nodes of control flow for tests.
#pragma once

#include <utility>
#include <vector>

#include "nnvm/compose.h"

namespace amp::testing {

// A _foreach "loop" that gives nothing but its states; `places` say where the body's variables are.
inline Symbol Foreach(const Symbol& body, std::vector<NodeEntry> inputs, AttrMap places) {
  places["num_args"] = std::to_string(inputs.size() + 1);
  places["num_outputs"] = std::to_string(body.outputs().size());
  places["num_out_data"] = "0";
  return Symbol({{Node::Make({&OpRegistry::Get().Require(kMXNetDomain, "_foreach"),
                              "loop",
                              std::move(places),
                              std::move(inputs),
                              {},
                              Phase::kForward,
                              {body.outputs()}})}});
}

}  // namespace amp::testing
