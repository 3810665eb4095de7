// Made-up operators for tests of the graph: they have a schema and nothing else.
//
//   _fake_unary(data)                one of everything that attributes can be
//   _fake_pair(lhs, rhs)
//   _fake_state(data, state)         updates `state`; a hidden output `saved`
//   _fake_split(data)                num_outputs visible outputs
//   _fake_join(arg0, ...)            variadic by num_args
//   _fake_source()                   no inputs
#pragma once

#include "nnvm/compose.h"
#include "nnvm/op.h"

namespace amp::testing {

struct FakeUnaryParam {
  std::int64_t count = 3;
  double scale = 0.5;
  bool flag = false;
  std::string mode = "fast";
  IntTuple window = {1, 1};
  DType dtype = DType::kFloat32;
  std::optional<std::int64_t> axis;
};
struct FakeManyParam {
  std::int64_t num = 0;
};

inline ParamSchema<FakeUnaryParam> FakeUnarySchema() {
  return ParamSchema<FakeUnaryParam>()
      .Optional("count", &FakeUnaryParam::count, "How many.")
      .Range(0, 9)
      .Optional("scale", &FakeUnaryParam::scale, "Factor.")
      .Optional("flag", &FakeUnaryParam::flag, "Switch.")
      .Optional("mode", &FakeUnaryParam::mode, "Way.")
      .OneOf({"fast", "exact"})
      .Optional("window", &FakeUnaryParam::window, "Sizes.")
      .Optional("dtype", &FakeUnaryParam::dtype, "Type.")
      .Optional("axis", &FakeUnaryParam::axis, "Axis.")
      .Ignored("workspace");
}

// To be called by every test that composes such operators; registers them once per binary.
inline void RegisterFakeOps() {
  static const bool once = [] {
    RegisterOp<FakeUnaryParam>("_fake_unary").Params(FakeUnarySchema()).Inputs({"data"}).Alias("_fake_alias");
    RegisterOp<NoParam>("_fake_pair").Inputs({"lhs", "rhs"});
    RegisterOp<NoParam>("_fake_state").Inputs({"data", "state"}).MutableInputs({1}).Outputs({"output", "saved"});
    RegisterOp<FakeManyParam>("_fake_split")
        .Params(ParamSchema<FakeManyParam>().Required("num_outputs", &FakeManyParam::num, "Outputs.").Range(1, 99))
        .Inputs({"data"})
        .Outputs([](const FakeManyParam& p) { return NumberedNames("output", p.num); })
        .VisibleOutputs([](const FakeManyParam& p) { return static_cast<int>(p.num); });
    RegisterOp<FakeManyParam>("_fake_join")
        .Params(ParamSchema<FakeManyParam>().Required("num_args", &FakeManyParam::num, "Inputs.").Range(1, 99))
        .Variadic("num_args")
        .Inputs([](const FakeManyParam& p) { return NumberedNames("arg", p.num); });
    RegisterOp<NoParam>("_fake_source");
    RegisterOp<NoParam>("_fake_nest").Inputs({"data"}).BindSubgraphs([](NoParam&, const Subgraphs& subgraphs) {
      if (subgraphs.size() != 1) Throw<GraphError>("expected one subgraph, got {}", subgraphs.size());
    });
    return true;
  }();
  static_cast<void>(once);
}

// Like Op, for such operators.
inline Symbol FakeOp(std::string_view op, std::string name, const std::vector<Symbol>& inputs, AttrMap attrs = {}) {
  RegisterFakeOps();
  return Op(op, std::move(name), inputs, std::move(attrs));
}

}  // namespace amp::testing
