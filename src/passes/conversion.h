// The state of a conversion and its stages, in the order of the pipeline.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "passes/converted_symbol.h"
#include "passes/fusion_mxnet/fuse_mxnet.h"
#include "passes/optimize/fold_batch_norm.h"
#include "passes/precision/conversion_report.h"
#include "passes/precision/converted_bodies.h"
#include "passes/precision/decision.h"
#include "passes/precision/report_stages.h"

namespace amp {

struct Conversion {
  Conversion(const Symbol& symbol, const ModelParams& params, const TypeMap& inputs, const ConvertOptions& given,
             ConversionReport* filled);

  Model model;
  TypeMap input_types;
  ConvertOptions options;
  ConversionReport* report;  // or nullptr
  // Parameters are cast in the file, where all readers agree. Those of bodies are parameters of the model around.
  bool casts_files = options.cast_params_offline;
  FusedOrigins origins;  // what Unfuse opened
  ConvertedBodies bodies;
  std::optional<Model> without_bodies;  // the model before ConvertBodies, where that changed some
  FoldedNames folded;
  Decision decision;
  std::optional<Model> decided;  // the model that `decision` is about, for a report
  Provenance provenance;         // of the model's nodes, in `decided`
  ParameterCount given_parameters;
  ConvertedSymbol result;  // but for the symbol
};

// Arrays and types go by name, so variables of one name are one.
void MergeVariables(Conversion& c);
// Plain operators get a precision. Fused nodes that the caller excludes hand that on.
void UnfuseModel(Conversion& c);
// A decision needs known dtypes; a clash in the caller's types shows here, not later. A node with a tensor of
// unknown dtype stays as it is, and shapes need not be known.
void InferTypes(Conversion& c);
// In float32, before weights are rounded. Nodes that the caller keeps as they are stay apart.
bool FoldsBatchNorm(const Conversion& c);
void FoldBatchNorm(Conversion& c);
// Which dtype each slot wants. Nothing is changed yet.
void DecidePrecision(Conversion& c);
// The casts. From here on inference alone reproduces the decided dtypes.
void ApplyDecision(Conversion& c);
// From here on `result.casts` says which arrays have to be cast for the graph to be right.
void CastParamsOffline(Conversion& c);
// The report is about plain operators.
void FillReport(Conversion& c);
// What came as one node is one again, where no cast stands inside.
void FuseAgain(Conversion& c);

}  // namespace amp
