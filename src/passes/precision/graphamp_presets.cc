#include "passes/precision/graphamp_presets.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "nnvm/env.h"
#include "passes/op_facts.h"
#include "passes/precision/mxnet_lists.h"
#include "passes/precision/operator_names.h"

namespace amp {
namespace {

using Category = GraphAmpCategory;

// Elementwise functions that magnify the rounding of what they read: exponentials, logarithms, powers, the gamma
// function and its kin, trigonometric and hyperbolic functions but for tanh, and inverse functions.
constexpr std::string_view kSensitive[] = {
    "_npi_arctan2",
    "_npi_arctan2_scalar",
    "_npi_ldexp",
    "_npi_ldexp_scalar",
    "_npi_logaddexp",
    "_npi_power",
    "_npi_rarctan2_scalar",
    "_npi_rldexp_scalar",
    "_npi_rpower_scalar",
    "_npi_logaddexp_scalar",
    "_power",
    "_power_scalar",
    "_rpower_scalar",
    "_sg_pow_mul_scalar",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctanh",
    "broadcast_power",
    "cos",
    "cosh",
    "digamma",
    "erfinv",
    "exp",
    "expm1",
    "gamma",
    "gammaln",
    "log",
    "log10",
    "log1p",
    "log2",
    "log_sigmoid",
    "sin",
    "sinh",
    "tan",
};

bool IsSensitive(const Node& node) {
  return std::find(std::begin(kSensitive), std::end(kSensitive), node.op_name()) != std::end(kSensitive);
}

bool IsProduct(const Node& node) { return FactsOf(node).arithmetic == Arithmetic::kAccumulates; }

Category NothingIsAllowed(const Node&, DType, bool) { return Category::kDeny; }

Category ProductsAreAllowed(const Node& node, DType, bool) {
  return IsProduct(node) ? Category::kAllow : Category::kDeny;
}

Category WhatCommutesFollows(const Node& node, DType target, bool training) {
  if (IsProduct(node)) return Category::kAllow;
  return CommutesWithRounding(node, target, training) ? Category::kInfer : Category::kDeny;
}

Category ElementwiseFollows(const Node& node, DType target, bool training) {
  const Arithmetic arithmetic = FactsOf(node).arithmetic;
  const bool follows = arithmetic == Arithmetic::kElementwise || arithmetic == Arithmetic::kMovesData;
  if (follows && node.subgraphs().empty() && !IsSensitive(node)) return Category::kInfer;
  return WhatCommutesFollows(node, target, training);
}

// But losses, what counts or casts, and bodies of control flow.
Category EverythingIsAllowed(const Node& node, DType target, bool) {
  const AmpFacts& facts = FactsOf(node);
  const std::vector<std::string>& losses = MXNetLists(target).loss_outputs;
  const bool is_loss = std::find(losses.begin(), losses.end(), node.op_name()) != losses.end();
  const bool is_denied = is_loss || facts.counts || facts.arithmetic == Arithmetic::kCasts || !node.subgraphs().empty();
  return is_denied ? Category::kDeny : Category::kAllow;
}

struct Row {
  const char* name;
  Category (*rule)(const Node&, DType target, bool training);
};
constexpr Row kPresets[] = {
    {"mp0", NothingIsAllowed},   {"mp1", ProductsAreAllowed},  {"mp2", WhatCommutesFollows},
    {"mp3", ElementwiseFollows}, {"mp4", EverythingIsAllowed},
};

const Row* FindRow(const std::string& name) {
  const auto* row =
      std::find_if(std::begin(kPresets), std::end(kPresets), [&](const Row& r) { return r.name == name; });
  return row == std::end(kPresets) ? nullptr : row;
}

void RequirePreset(const char* what, const std::string& name) {
  if (FindRow(name) == nullptr) Throw<ArgumentError>("{}: expected mp0 to mp4, got '{}'", what, Quotable(name));
}

}  // namespace

GraphAmpCategory CategoryFromName(const std::string& what, const std::string& name) {
  for (const Category category : {Category::kAllow, Category::kInfer, Category::kDeny}) {
    if (name == NameOf(category)) return category;
  }
  Throw<ArgumentError>("{}: expected 'allow', 'infer' or 'deny', got '{}'", Quotable(what), Quotable(name));
}

const char* NameOf(GraphAmpCategory category) {
  switch (category) {
    case Category::kAllow:
      return "allow";
    case Category::kInfer:
      return "infer";
    case Category::kDeny:
      break;
  }
  return "deny";
}

GraphAmpPreset PresetFromName(const std::string& name) {
  RequirePreset("preset", name);
  return {name};
}

GraphAmpPreset DefaultPreset() {
  const std::string name = EnvValue("AMP_GRAPHAMP_PRESET");
  if (name.empty()) return {};
  RequirePreset("AMP_GRAPHAMP_PRESET", name);
  return {name};
}

PresetCategories::PresetCategories(GraphAmpPreset preset, DType target, bool training,
                                   std::vector<std::string>* problems)
    : preset_(std::move(preset)), target_(target), training_(training) {
  if (preset_.name != "custom") {
    RequirePreset("preset", preset_.name);
    rule_ = FindRow(preset_.name)->rule;
    return;
  }
  Add(preset_.allow, Category::kAllow, problems);
  Add(preset_.infer, Category::kInfer, problems);
  Add(preset_.deny, Category::kDeny, problems);
}

void PresetCategories::Add(const std::vector<std::string>& names, Category category,
                           std::vector<std::string>* problems) {
  for (const std::string& name : names) {
    const Op* op = FindOp(name);
    if (op == nullptr) {
      problems->push_back(fmt::format("preset: {}: there is no operator '{}'{}", NameOf(category), Quotable(name),
                                      NearMatches(name, OperatorNames())));
      continue;
    }
    const auto [place, is_new] = listed_.emplace(op, category);
    if (!is_new && place->second != category) {
      problems->push_back(
          fmt::format("preset: {} is both in {} and in {}", op->name, NameOf(place->second), NameOf(category)));
    }
  }
}

GraphAmpCategory PresetCategories::Of(const Node& node) const {
  if (rule_ != nullptr) return rule_(node, target_, training_);
  const auto found = listed_.find(node.op());
  return found == listed_.end() ? preset_.rest : found->second;
}

}  // namespace amp
