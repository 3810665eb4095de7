// amp: symbol graphs of MXNet in mixed precision on CPUs. The only header that most programs need; everything is in
// namespace amp.
//
//   const amp::Checkpoint model = amp::LoadCheckpoint("resnet-symbol.json", "resnet-0000.params");
//   const amp::TypeMap inputs = {{"data", {amp::DType::kFloat32, {1, 3, 224, 224}}}};
//   amp::Executor executor(model.symbol, model.params, inputs, {});
//   const std::vector<amp::NDArray> outputs = executor.Run({image});
//
// Whatever is wrong is thrown as an amp::Error or a class derived from it (nnvm/error.h).
#pragma once

#include "nnvm/checkpoint.h"                     // IWYU pragma: export
#include "nnvm/error.h"                          // IWYU pragma: export
#include "nnvm/ndarray.h"                        // IWYU pragma: export
#include "nnvm/params_file.h"                    // IWYU pragma: export
#include "nnvm/symbol.h"                         // IWYU pragma: export
#include "nnvm/symbol_json.h"                    // IWYU pragma: export
#include "passes/convert_symbol.h"               // IWYU pragma: export
#include "passes/gradient/gradient.h"            // IWYU pragma: export
#include "passes/precision/conversion_report.h"  // IWYU pragma: export
#include "program/convert_model.h"               // IWYU pragma: export
#include "runtime/executor.h"                    // IWYU pragma: export
#include "runtime/gradient_executor.h"           // IWYU pragma: export
