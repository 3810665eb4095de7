// A model as it is saved: a symbol file, and a file of its parameters.
#pragma once

#include <string>

#include "nnvm/params_file.h"
#include "nnvm/symbol.h"

namespace amp {

struct Checkpoint {
  Symbol symbol;
  ModelParams params;
};

// Reads both files: see LoadSymbolJson and LoadParams, whose errors it throws. Keys of the second are "arg:NAME" and
// "aux:NAME", or plain names of the symbol's variables (what save_parameters writes). Throws GraphError for others.
Checkpoint LoadCheckpoint(const std::string& symbol_file, const std::string& params_file);

}  // namespace amp
