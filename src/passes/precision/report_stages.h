// What a conversion report is made of.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "passes/model.h"
#include "passes/optimize/fold_batch_norm.h"
#include "passes/precision/converted_bodies.h"
#include "passes/precision/decision.h"

namespace amp {

// Counts the parameters that a graph reads. Bytes are those of known shapes.
struct ParameterCount {
  std::int64_t number = 0, bytes = 0;
};
ParameterCount CountParameters(const Model& model);

// A model at the stages of its conversion.
struct ReportStages {
  const Model& before;  // the model that `decision` is about
  const Decision& decision;
  const Model& after;
  const Provenance& provenance;  // of nodes after the conversion, in those before it
  const std::map<std::string, DType>& offline;
  const FoldedNames& batch_norms;
  const ConvertOptions& options;
  bool folds;
  ParameterCount given;
  const ConvertedBodies& bodies;
  const std::map<std::string, FoldedWeight>& folded_weights;
  std::string gradients = {};  // what is to stand under `gradients`; "": nothing
};

}  // namespace amp
