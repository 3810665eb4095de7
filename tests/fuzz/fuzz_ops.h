// Operators with the names, inputs and most important attributes of real ones, so that real files reach everything
// behind the parser. The real operator definitions need oneDNN and OpenMP, which are not built for fuzzing;
// tests/cpp/ops treats them.
#pragma once

#include "nnvm/fake_ops.h"
#include "passes/infer.h"

namespace amp::fuzz {

struct AnyParam {
  std::int64_t num = 1, group = 1;
  IntTuple kernel, stride, pad;
  OptionalIntTuple begin;
  double eps = 0.001;
  bool no_bias = false;
  std::string type = "relu";
  std::optional<std::int64_t> axis;
  std::optional<DType> dtype;
};

inline ParamSchema<AnyParam> AnySchema(const char* count, double most) {
  return ParamSchema<AnyParam>()
      .Optional(count, &AnyParam::num, "")
      .Range(1, most)
      .Optional("num_group", &AnyParam::group, "")
      .Range(1, 100)
      .Optional("kernel", &AnyParam::kernel, "")
      .Optional("stride", &AnyParam::stride, "")
      .Optional("pad", &AnyParam::pad, "")
      .Optional("begin", &AnyParam::begin, "")
      .Optional("eps", &AnyParam::eps, "")
      .Optional("no_bias", &AnyParam::no_bias, "")
      .Optional("act_type", &AnyParam::type, "")
      .OneOf({"relu", "tanh"})
      .Optional("axis", &AnyParam::axis, "")
      .Optional("dtype", &AnyParam::dtype, "")
      .Ignored("workspace");
}

// Rules that carry types along, and sizes that multiply and add up, as those of real operators do.
inline void GrowingShape(ShapeRelation& r) {
  const auto& p = r.node().params<AnyParam>();
  if (r.num_inputs() == 0 || !r.in(0).rank_known()) return;
  Shape out = r.in(0);
  for (int i = 0; i < out.rank() && i < static_cast<int>(p.pad.size()); ++i) {
    const std::int64_t pad = p.pad[static_cast<std::size_t>(i)];
    if (pad < 0 || pad > 1 << 20) FailAt(r.node(), "pad {} is out of range", pad);
    if (out[i] >= 0) out[i] = out[i] * p.num + pad;
  }
  for (int i = 0; i < r.num_outputs(); ++i) r.Out(i, out);
}

inline OpDefinition<AnyParam> RegisterAny(const char* name, const char* count = "num_filter", double most = 100000) {
  return RegisterOp<AnyParam>(name)
      .Params(AnySchema(count, most))
      .Inputs({"data"})
      .Set(ShapeRule{GrowingShape})
      .Set(DTypeRule{[](DTypeRelation& r) { r.AllSame(); }});
}

inline void RegisterFuzzOps() {
  static const bool once = [] {
    testing::RegisterFakeOps();
    const auto weighted = [](const AnyParam& p) {
      return p.no_bias ? std::vector<std::string>{"data", "weight"}
                       : std::vector<std::string>{"data", "weight", "bias"};
    };
    RegisterAny("Convolution").Inputs(weighted);
    RegisterAny("FullyConnected", "num_hidden").Inputs(weighted);
    RegisterAny("BatchNorm")
        .Inputs({"data", "gamma", "beta", "moving_mean", "moving_var"})
        .MutableInputs({3, 4})
        .Outputs({"output", "mean", "var"});
    for (const char* name : {"Activation", "Pooling", "Flatten", "Dropout", "softmax", "slice", "argmax"}) {
      RegisterAny(name);
    }
    RegisterAny("elemwise_add").Alias("_plus").Inputs({"lhs", "rhs"});
    RegisterAny("SoftmaxOutput").Inputs({"data", "label"});
    RegisterAny("Concat", "num_args", 1 << 16).Variadic("num_args").Inputs([](const AnyParam& p) {
      return NumberedNames("arg", p.num);
    });
    RegisterAny("SliceChannel", "num_outputs", 1 << 16)
        .Outputs([](const AnyParam& p) { return NumberedNames("output", p.num); })
        .VisibleOutputs([](const AnyParam& p) { return static_cast<int>(p.num); });
    return true;
  }();
  static_cast<void>(once);
}

}  // namespace amp::fuzz
