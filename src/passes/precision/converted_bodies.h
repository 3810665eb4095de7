// What became of the bodies of loops and branches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace amp {

// What became of one body.
struct ConvertedBody {
  std::string path;                           // in front of the names of its nodes: "loop/body/"
  std::string why_not = {};                   // why it stays as it is; "": it was converted
  std::string report = {};                    // of its own conversion, where one was asked for
  std::set<std::string> low_variables = {};   // that come in low precision
  std::set<std::string> counting_nodes = {};  // that decide how often a loop runs
  std::set<std::string> dropped_casts = {};   // of the report, that stand outside of the body now
};

struct ConvertedBodies {
  std::vector<ConvertedBody> bodies;
  std::set<std::string> casts;                               // that stand around their nodes
  std::set<std::pair<std::string, std::uint32_t>> narrowed;  // (node, output) that were float32
  std::size_t num_casts = 0;                                 // inside of bodies
};

}  // namespace amp
