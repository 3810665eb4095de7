// MXNet's symbol JSON (1.x): reading and writing.
#pragma once

#include <string>
#include <string_view>

#include "nnvm/symbol.h"

namespace amp {

// `source` names the text in errors (a file name). Throws GraphError where the text is no valid symbol, and
// UnsupportedError that lists every operator the registry lacks.
Symbol ParseSymbolJson(std::string_view text, const std::string& source);
Symbol LoadSymbolJson(const std::string& path);

// Canonical: the same graph gives the same bytes.
std::string ToSymbolJson(const Symbol& symbol);
// Replaces the file only once the new one is complete.
void SaveSymbolJson(const Symbol& symbol, const std::string& path);

}  // namespace amp
