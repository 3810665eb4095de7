// What BatchNorm and its form in training share.
#pragma once

#include "nnvm/param.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/infer.h"
#include "passes/training_form.h"

namespace amp {

struct BatchNormParam {
  double eps = 1e-3;
  double momentum = 0.9;
  bool fix_gamma = true;
  bool use_global_stats = false;
  bool output_mean_var = false;
  std::int64_t axis = 1;
};

ParamSchema<BatchNormParam> BatchNormSchema();

// The channel axis.
int BatchNormAxis(const Node& node, const Shape& data);

// Inputs are (data, gamma, beta, mean, variance); outputs behind the first one have one number for each channel.
void InferBatchNormShape(ShapeRelation& r);
void InferBatchNormDType(DTypeRelation& r);

// The gradient with constant statistics.
GradientRule BatchNormGradient();
// The gradient where output 2 is the variance.
GradientRule SyncBatchNormGradient();
// Operator `op`, with the statistics of the batch. Output 2 is the variance, or 1 / sqrt(variance + eps).
TrainingForm BatchNormTraining(const char* op, bool shows_variance);

}  // namespace amp
