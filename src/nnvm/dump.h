// Numbered text dumps of graphs and plans, written when AMP_DUMP names a folder.
#pragma once

#include <functional>
#include <string>

#include "nnvm/graph.h"

namespace amp {

// Writes <AMP_DUMP>/<number>_<stage>.txt; `text` is called only then. A dump that cannot be written is reported on
// stderr and changes nothing else.
void DumpText(const std::string& stage, const std::function<std::string()>& text);
void DumpGraph(const std::string& stage, const Graph& graph, bool changed);

}  // namespace amp
