#include "nnvm/checkpoint.h"

#include <utility>

#include "nnvm/symbol_json.h"

namespace amp {

Checkpoint LoadCheckpoint(const std::string& symbol_file, const std::string& params_file) {
  Symbol symbol = LoadSymbolJson(symbol_file);
  ModelParams params = SplitParamsOf(symbol, LoadParams(params_file), params_file);
  return {std::move(symbol), std::move(params)};
}

}  // namespace amp
