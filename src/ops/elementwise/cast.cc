// Cast, amp_cast and amp_multicast: conversions of element types.
#include <numeric>

#include "ops/common/numeric.h"
#include "ops/common/ranges.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "passes/whose_cast.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::cast {
namespace {

struct CastParam {
  DType dtype = DType::kUnknown;
};

ParamSchema<CastParam> CastSchema() {
  return ParamSchema<CastParam>().Required("dtype", &CastParam::dtype, "Dtype of the output.");
}

void CastElements(const NDArray& in, NDArray& out) {
  kernels::Cast(KernelType(in.dtype()), in.data(), KernelType(out.dtype()), out.data(),
                static_cast<std::size_t>(in.size()));
}

// Casts of a conversion make no finite number infinite.
void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const bool is_of_conversion = IsCastOfConversion(node);
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!out[i].defined()) continue;
    const bool stays_finite = is_of_conversion && out[i].dtype() == DType::kFloat16 && in[i].dtype() != DType::kFloat16;
    if (!stays_finite) {
      CastElements(in[i], out[i]);
    } else {
      kernels::CastToFiniteHalf(KernelType(in[i].dtype()), in[i].data(), out[i].data(),
                                static_cast<std::size_t>(in[i].size()));
    }
  }
}

bool Lower(LowerContext& c) {
  const bool is_of_program = IsCastOfProgram(c.node());
  for (int i = 0; i < c.node().num_outputs(); ++i) {
    const DType dtype = c.out_type(i).dtype;
    c.SetOut(i, is_of_program ? c.CastOfProgram(c.in(i), dtype) : c.CastOfConversion(c.in(i), dtype));
  }
  return true;
}

void InferCast(DTypeRelation& r) { r.Out(0, r.node().params<CastParam>().dtype); }

// Floats become the attribute's dtype; anything else passes as it is.
void InferAmpCast(DTypeRelation& r) {
  if (IsKnown(r.in(0))) r.Out(0, IsFloat(r.in(0)) ? r.node().params<CastParam>().dtype : r.in(0));
}

struct AmpMulticastParam {
  std::int64_t num_outputs = 0;
  bool cast_narrow = false;
};

// The narrowest of several float dtypes; float16 with bfloat16 gives float32, as neither contains the other.
DType NarrowestFloat(const std::vector<DType>& floats) {
  DType narrowest = floats[0];
  bool mixed = false;
  for (const DType dtype : floats) {
    if (BytesOf(dtype) < BytesOf(narrowest)) narrowest = dtype;
    mixed = mixed || (dtype != narrowest && BytesOf(dtype) == BytesOf(narrowest));
  }
  return mixed ? DType::kFloat32 : narrowest;
}

// All floats get one dtype, the widest (or narrowest) among them; the rest passes as it is.
void InferMulticast(DTypeRelation& r) {
  std::vector<DType> floats;
  for (int i = 0; i < r.num_inputs(); ++i) {
    if (!IsKnown(r.in(i))) return;
    if (IsFloat(r.in(i))) floats.push_back(r.in(i));
  }
  DType common = DType::kUnknown;
  if (!floats.empty()) {
    common = r.node().params<AmpMulticastParam>().cast_narrow
                 ? NarrowestFloat(floats)
                 : std::accumulate(floats.begin(), floats.end(), floats[0], WidestFloat);
  }
  for (int i = 0; i < r.num_inputs(); ++i) r.Out(i, IsFloat(r.in(i)) ? common : r.in(i));
}

void SamePairs(ShapeRelation& r) {
  for (int i = 0; i < r.num_inputs(); ++i) {
    r.In(i, r.out(i));
    r.Out(i, r.in(i));
  }
}

[[maybe_unused]] const auto kCast = RegisterOp<CastParam>("Cast")
                                        .Alias("cast")
                                        .Alias("_npi_cast")
                                        .Alias("_npx_cast")
                                        .Doc("The elements of data in another dtype.")
                                        .Params(CastSchema())
                                        .Inputs({"data"})
                                        .Set(SameShape())
                                        .Set(DTypeRule{InferCast})
                                        .Set(AmpFacts{Arithmetic::kCasts})
                                        .Set(InputSensitivity{[](const Node& node, std::size_t) {
                                          const bool cuts_off = !IsFloat(node.params<CastParam>().dtype);
                                          return cuts_off ? Sensitivity::kDiscontinuous : Sensitivity::kSmooth;
                                        }})
                                        .Set(IsElementwise{})
                                        .Set(GradientRule{[](GradientContext& c) {
                                          // To integers, too, as in MXNet: the gradient goes straight through.
                                          c.Set(0, c.Call("_cast_like", {c.gradient(), c.in(0)}));
                                        }})
                                        .Set(DifferentiatesEachReader{})
                                        .Set(ReferenceKernel{Reference})
                                        .Set(LowerRule{Lower});

[[maybe_unused]] const auto kAmpCast =
    RegisterOp<CastParam>("amp_cast")
        .Alias("_npi_amp_cast")
        .Doc("data in another float dtype; data that is not float passes as it is.")
        .Params(CastSchema(),
                [](CastParam& p) {
                  if (!IsFloat(p.dtype)) {
                    Throw<GraphError>("attribute dtype: expected a float dtype, got {}", NameOf(p.dtype));
                  }
                })
        .Inputs({"data"})
        .Set(SameShape())
        .Set(DTypeRule{InferAmpCast})
        .Set(AmpFacts{Arithmetic::kCasts})
        .Set(IsElementwise{})
        .Set(GradientRule{[](GradientContext& c) {
          c.Set(0, c.Call("_cast_like", {c.gradient(), c.in(0)}));
        }})
        .Set(DifferentiatesEachReader{})
        .Set(ReferenceKernel{Reference})
        .Set(LowerRule{Lower});

[[maybe_unused]] const auto kCastLike =
    RegisterOp<NoParam>("_cast_like")
        .Doc("The elements of data in the dtype of like.")
        .Inputs({"data", "like"})
        .Set(ShapeRule{[](ShapeRelation& r) {
          r.Out(0, r.in(0));
          r.In(0, r.out(0));
        }})
        .Set(DTypeRule{[](DTypeRelation& r) { r.Same({1}, {0}); }})
        .Set(AmpFacts{Arithmetic::kElementwise, {SlotRole::kData, SlotRole::kIgnored}})
        .Set(GradientRule{[](GradientContext& c) {
          c.Set(0, c.Call("_cast_like", {c.gradient(), c.in(0)}));
        }})
        .Set(ReferenceKernel{
            [](const Node&, std::span<const NDArray> in, std::span<NDArray> out) { CastElements(in[0], out[0]); }})
        .Set(LowerRule{Lower});

[[maybe_unused]] const auto kAmpMulticast =
    RegisterOp<AmpMulticastParam>("amp_multicast")
        .Alias("_npi_amp_multicast")
        .Doc("All float inputs in the widest (cast_narrow: narrowest) of their dtypes; others pass as they are.")
        .Params(ParamSchema<AmpMulticastParam>()
                    .Required("num_outputs", &AmpMulticastParam::num_outputs, "Number of inputs and outputs.")
                    .Range(1, 1 << 16)
                    .Optional("cast_narrow", &AmpMulticastParam::cast_narrow, "To the narrowest dtype."))
        .Variadic("num_outputs")
        .Inputs([](const AmpMulticastParam& p) { return NumberedNames("data_", p.num_outputs); })
        .Outputs([](const AmpMulticastParam& p) { return NumberedNames("output", p.num_outputs); })
        .VisibleOutputs([](const AmpMulticastParam& p) { return static_cast<int>(p.num_outputs); })
        .Set(ShapeRule{SamePairs})
        .Set(DTypeRule{InferMulticast})
        .Set(AmpFacts{Arithmetic::kCasts})
        .Set(GradientRule{[](GradientContext& c) {
          for (int i = 0; i < c.num_inputs(); ++i) {
            if (c.has_gradient(i)) c.Set(i, c.Call("_cast_like", {c.gradient(i), c.in(i)}));
          }
        }})
        .Set(ReferenceKernel{Reference})
        .Set(LowerRule{Lower});

}  // namespace
}  // namespace amp::cast
