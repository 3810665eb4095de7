// The products of self-attention as GluonNLP 2 writes them, found as MXNet's oneDNN backend finds them.
#pragma once

#include <vector>

#include "passes/fusion_mxnet/chain_patterns.h"

namespace amp {

// scores = batch_dot(q, k, transpose_b=True), where q and k are SwapAxis(1, 2) of _npx_reshape(-2, -2, heads, -1) of
// outputs 0 and 1 of _split_v2 (three equal parts of the last axis): _sg_onednn_selfatt_qk_split of what is split.
std::vector<FusionGroup> FindScoresOfSplit(const Graph& graph);
// Scores of any two projections (..., heads * size): _sg_onednn_selfatt_qk.
std::vector<FusionGroup> FindScores(const Graph& graph);
// _npx_reshape(-2, -2, -1) of _npi_transpose(0, 2, 1, 3) of batch_dot(attention, v), where v is made like q, of output
// 2 of a split that nobody else reads: _sg_onednn_selfatt_valatt of the attention and what is split.
std::vector<FusionGroup> FindWeightedValues(const Graph& graph);

// 1.9.1: the products over interleaved projections, one by one; both kinds are counted together.
std::vector<FusionGroup> FindInterleaved(const FusionScope& scope);

}  // namespace amp
