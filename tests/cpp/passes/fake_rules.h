// Made-up operators with inference rules and AMP facts: pass tests should not need a convolution. Shapes of all inputs
// and outputs agree unless said otherwise.
//
//   _rule_gemm(data, weight)    accumulates
//   _rule_add(lhs, rhs)         elementwise
//   _rule_norm(data, scale)     elementwise; `scale` is a statistic, float32 where the data is low
//   _rule_exp(data)             needs float32
//   _rule_move(data)            moves data
//   _rule_flip(data)            elementwise; commutes with rounding
//   _rule_pick(data, index)     accumulates; `index` has a dtype of its own
//   _rule_loss(data, label)     elementwise; `label` is ignored
//   _rule_only32(data)          accumulates, but refuses everything but float32
//   _rule_bn(data, mean)        elementwise; `mean` is a state; hidden output `saved` (float32)
//   _rule_split(data)           num_outputs outputs
//   _rule_count(data)           elementwise; counts the calls of its shape rule
//   _rule_halves(lhs, rhs)      its rules state lhs [2,?] float32 and rhs [?,3]; nothing of the output
//   _rule_none(data)            without rules
#pragma once

#include "nnvm/compose.h"
#include "passes/infer.h"
#include "passes/op_facts.h"

namespace amp::testing {

inline int rule_calls = 0;  // of _rule_count

struct SplitParam {
  std::int64_t num = 0;
};

inline void LastDTypeIsFree(DTypeRelation& r) {
  r.Same({0}, {0});
  r.InIsFloat(0);
}

inline void RegisterRuleOps() {
  static const bool once = [] {
    const ShapeRule same_shape{[](ShapeRelation& r) { r.AllSame(); }};
    const DTypeRule same_float{[](DTypeRelation& r) {
      r.AllSame();
      r.InIsFloat(0);
    }};
    const auto add = [&]<class P>(OpDefinition<P> card, DTypeRule dtypes, AmpFacts facts) {
      card.Set(same_shape).Set(std::move(dtypes)).Set(std::move(facts));
    };
    using enum Arithmetic;
    add(RegisterOp<NoParam>("_rule_gemm").Inputs({"data", "weight"}), same_float, {kAccumulates});
    add(RegisterOp<NoParam>("_rule_add").Inputs({"lhs", "rhs"}), {[](DTypeRelation& r) { r.AllSame(); }},
        {kElementwise});
    add(RegisterOp<NoParam>("_rule_norm").Inputs({"data", "scale"}), {[](DTypeRelation& r) {
          r.Same({0}, {0});
          r.In(1, IsLowPrecision(r.in(0)) ? DType::kFloat32 : r.in(0));
        }},
        {kElementwise, {SlotRole::kData, SlotRole::kStatistic}});
    add(RegisterOp<NoParam>("_rule_exp").Inputs({"data"}), same_float, {kNeedsFloat32});
    add(RegisterOp<NoParam>("_rule_move").Inputs({"data"}), {[](DTypeRelation& r) { r.AllSame(); }}, {kMovesData});
    add(RegisterOp<NoParam>("_rule_flip").Inputs({"data"}), {[](DTypeRelation& r) { r.AllSame(); }},
        {.arithmetic = kElementwise, .commutes = AlwaysCommutes});
    add(RegisterOp<NoParam>("_rule_pick").Inputs({"data", "index"}), {LastDTypeIsFree},
        {kAccumulates, {SlotRole::kData, SlotRole::kIndex}});
    add(RegisterOp<NoParam>("_rule_loss").Inputs({"data", "label"}), {LastDTypeIsFree},
        {kElementwise, {SlotRole::kData, SlotRole::kIgnored}});
    add(RegisterOp<NoParam>("_rule_only32").Inputs({"data"}), {[](DTypeRelation& r) {
          r.In(0, DType::kFloat32);
          r.Out(0, DType::kFloat32);
        }},
        {kAccumulates});
    add(RegisterOp<NoParam>("_rule_bn").Inputs({"data", "mean"}).MutableInputs({1}).Outputs({"output", "saved"}),
        {[](DTypeRelation& r) {
          r.Same({0}, {0});
          r.In(1, DType::kFloat32);
          r.Out(1, DType::kFloat32);
        }},
        {kElementwise, {SlotRole::kData, SlotRole::kStatistic}});
    add(RegisterOp<SplitParam>("_rule_split")
            .Params(ParamSchema<SplitParam>().Required("num_outputs", &SplitParam::num, "Outputs."))
            .Inputs({"data"})
            .Outputs([](const SplitParam& p) { return NumberedNames("output", p.num); })
            .VisibleOutputs([](const SplitParam& p) { return static_cast<int>(p.num); }),
        same_float, {kMovesData});
    RegisterOp<NoParam>("_rule_count")
        .Inputs({"data"})
        .Set(same_float)
        .Set(ShapeRule{[](ShapeRelation& r) {
          ++rule_calls;
          r.AllSame();
        }})
        .Set(AmpFacts{kElementwise});
    RegisterOp<NoParam>("_rule_halves")
        .Inputs({"lhs", "rhs"})
        .Set(DTypeRule{[](DTypeRelation& r) { r.In(0, DType::kFloat32); }})
        .Set(ShapeRule{[](ShapeRelation& r) {
          r.In(0, Shape{2, kUnknownDim});
          r.In(1, Shape{kUnknownDim, 3});
        }});
    RegisterOp<NoParam>("_rule_none").Inputs({"data"});
    return true;
  }();
  static_cast<void>(once);
}

// Like Op, for such operators.
inline Symbol RuleOp(std::string_view op, std::string name, const std::vector<Symbol>& inputs, AttrMap attrs = {}) {
  RegisterRuleOps();
  return Op(op, std::move(name), inputs, std::move(attrs));
}

// A product with a weight of its own.
inline Symbol Gemm(const std::string& name, const Symbol& data, AttrMap attrs = {}) {
  return RuleOp("_rule_gemm", name, {data, Var(name + "_w")}, std::move(attrs));
}

}  // namespace amp::testing
