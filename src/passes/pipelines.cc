// The stages of the four pipelines. The driver (passes/pipeline.h) verifies, dumps and times each and leaves out what
// AMP_DISABLE_PASSES names.
#include "passes/pipelines.h"

#include <algorithm>

#include "passes/conversion.h"
#include "passes/convert_bodies.h"
#include "passes/optimize/fuse_attention.h"
#include "passes/optimize/propagate_strides.h"
#include "passes/optimize/simplify.h"
#include "passes/optimize/simplify_reshapes.h"
#include "passes/pipeline.h"
#include "passes/precision/precision_categories.h"

namespace amp {
namespace {

bool IsFast(const Preparation& p) { return p.mode == NumericMode::kFast; }

void FoldBatchNormOf(Preparation& p) {
  FoldResult folded = FoldBatchNorm(p.model, nullptr, FoldDirection::kBoth);
  p.assumes_ranks = !folded.names.folded.empty();
  p.model.Replace(std::move(folded.rewrite));
  p.model.ReplaceArrays(folded.dropped, folded.arrays);
}

constexpr Stage<Conversion> kConversion[] = {
    {"MergeVariables", nullptr, MergeVariables},
    {"Unfuse", nullptr, UnfuseModel},
    {"Infer", nullptr, InferTypes},
    {"FoldBatchNorm", FoldsBatchNorm, FoldBatchNorm},
    // Before Decide: what the bodies read and write in low precision is a fact for the graph around them.
    {"ConvertBodies", nullptr, [](Conversion& c) { ConvertBodies(c, RunConversion); }},
    {"Decide", nullptr, DecidePrecision},
    {"ApplyDecision", nullptr, ApplyDecision},
    {"CastParamsOffline", [](const Conversion& c) { return c.options.cast_params_offline && !IsOff(c.options); },
     CastParamsOffline},
    {"Report", [](const Conversion& c) { return c.report != nullptr; }, FillReport},
    {"FuseAgain", [](const Conversion& c) { return !c.origins.empty(); }, FuseAgain},
};

constexpr Stage<Preparation> kPerModel[] = {
    // First, so that the others meet neither copies nor doubles. Once for all shapes: equal nodes share what is
    // computed
    // from their parameters.
    {"Simplify", nullptr, [](Preparation& p) { p.model.Replace(Simplify(p.model.graph(), p.model.types())); }, true},
    // Last, because it changes weights, which must have no other reader. float32 only: low-precision weights would be
    // rounded a second time.
    {"FoldBatchNorm", IsFast, FoldBatchNormOf, true},
};

void FuseAttentionOf(Preparation& p) { p.model.Replace(FuseAttention(p.model.graph(), p.model.types(), p.runner)); }

// Dropout that drops is no identity in training form: attention with it is left alone.
constexpr Stage<Preparation> kBeforeGradients[] = {
    {"FuseAttention", IsFast, FuseAttentionOf, true},
};

constexpr Stage<Preparation> kPerShapes[] = {
    // The half of Simplify that goes by shapes.
    {"SimplifyReshapes", nullptr, [](Preparation& p) { p.model.Replace(SimplifyReshapes(p.model)); }, true},
    // After casts have met and views have gone, so that the two products and the softmax are neighbours.
    {"FuseAttention", IsFast, FuseAttentionOf, true},
    // After everything that lets readers of a tensor meet without nodes in between.
    {"PropagateStrides", IsFast, [](Preparation& p) { p.model.Replace(PropagateStrides(p.model)); }, true},
};

// Whoever reads the outputs sees no difference.
void RequireSameOutputs(const std::vector<TensorType>& before, const std::vector<TensorType>& after) {
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i] != after[i]) {
      Throw<InternalError>("optimising changed output {} from {} to {}", i, before[i].ToString(), after[i].ToString());
    }
  }
}

std::vector<TensorType> OutputTypes(const Model& model) {
  std::vector<TensorType> types;
  for (const NodeEntry& output : model.graph().outputs()) types.push_back(model.types()[model.graph().EntryOf(output)]);
  return types;
}

void RunOptimization(std::span<const Stage<Preparation>> stages, Preparation& preparation) {
  const std::vector<TensorType> before = OutputTypes(preparation.model);
  RunPipeline(stages, preparation);
  RequireSameOutputs(before, OutputTypes(preparation.model));
}

template <class State>
void AddOptional(std::span<const Stage<State>> stages, std::vector<std::string>* names) {
  for (const Stage<State>& stage : stages) {
    const bool is_known = std::find(names->begin(), names->end(), stage.name) != names->end();
    if (stage.may_be_disabled && !is_known) names->push_back(stage.name);
  }
}

}  // namespace

void RunConversion(Conversion& conversion) { RunPipeline(std::span<const Stage<Conversion>>(kConversion), conversion); }
void PrepareModel(Preparation& preparation) { RunOptimization(kPerModel, preparation); }
void OptimizeForShapes(Preparation& preparation) { RunOptimization(kPerShapes, preparation); }
void PrepareForGradients(Preparation& preparation) { RunOptimization(kBeforeGradients, preparation); }

std::vector<std::string> OptionalPasses() {
  std::vector<std::string> names;
  AddOptional<Preparation>(kPerModel, &names);
  AddOptional<Preparation>(kBeforeGradients, &names);
  AddOptional<Preparation>(kPerShapes, &names);
  return names;
}

}  // namespace amp
