// UpSampling by repetition.
#include "ops/numeric.h"
#include "ops/ranges.h"
#include "ops/rules.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp {
namespace {

struct UpSamplingParam {
  std::int64_t scale = 1;
  std::int64_t num_filter = 0;
  std::string sample_type;
  std::string multi_input_mode = "concat";
  std::int64_t num_args = 1;
};

void Validate(UpSamplingParam& p) {
  if (p.sample_type != "nearest") throw UnsupportedError("sample_type 'bilinear' is not supported");
}

// All inputs grow to the size of the first one times `scale`.
void InferShape(ShapeRelation& r) {
  const auto& p = r.node().params<UpSamplingParam>();
  Shape out;
  std::int64_t channels = 0;
  for (int i = 0; i < r.num_inputs(); ++i) {
    if (!r.in(i).fully_known()) return;
    const Shape& data = r.in(i);
    if (data.rank() != 4) FailAt(r.node(), "expected data of rank 4, got shape {}", data.ToString());
    if (i == 0) out = Shape{data[0], data[1], data[2] * p.scale, data[3] * p.scale};
    const bool fits = data[2] > 0 && data[3] > 0 && out[2] % data[2] == 0 && out[3] % data[3] == 0 &&
                      data[0] == out[0] && (p.multi_input_mode == "concat" || data[1] == out[1]);
    if (!fits) FailAt(r.node(), "input {} of shape {} does not fit the output {}", i, data.ToString(), out.ToString());
    channels += data[1];
  }
  if (p.multi_input_mode == "concat") out[1] = channels;
  r.Out(0, out);
}

void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const bool concat = node.params<UpSamplingParam>().multi_input_mode == "concat";
  const Shape& shape = out[0].shape();
  WithFloatType(out[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> y(out[0].size(), T{0});
    std::int64_t first = 0;
    for (const NDArray& array : in) {
      const std::vector<T> x = Numbers<T>(array);
      const Shape& from = array.shape();
      for (std::int64_t i = 0; i < shape[0] * from[1] * shape[2] * shape[3]; ++i) {
        const std::int64_t w = i % shape[3], h = i / shape[3] % shape[2];
        const std::int64_t c = i / (shape[3] * shape[2]) % from[1], n = i / (shape[3] * shape[2] * from[1]);
        const std::int64_t source =
            ((n * from[1] + c) * from[2] + h * from[2] / shape[2]) * from[3] + w * from[3] / shape[3];
        y[((n * shape[1] + first + c) * shape[2] + h) * shape[3] + w] += x[source];
      }
      if (concat) first += from[1];
    }
    Store(y, out[0]);
  });
}

[[maybe_unused]] const auto kCard =
    RegisterOp<UpSamplingParam>("UpSampling")
        .Doc("Repeats rows and columns of data (N, C, H, W) `scale` times.")
        .Params(ParamSchema<UpSamplingParam>()
                    .Required("scale", &UpSamplingParam::scale, "How often.")
                    .Range(1, 1000)
                    .Optional("num_filter", &UpSamplingParam::num_filter, "bilinear only.")
                    .Required("sample_type", &UpSamplingParam::sample_type, "nearest; bilinear is not supported.")
                    .OneOf({"nearest", "bilinear"})
                    .Optional("multi_input_mode", &UpSamplingParam::multi_input_mode, "What becomes of several inputs.")
                    .OneOf({"concat", "sum"})
                    .Optional("num_args", &UpSamplingParam::num_args, "Number of inputs.")
                    .Range(1, 1 << 16)
                    .Ignored("workspace"),
                Validate)
        .Variadic("num_args")
        .Inputs([](const UpSamplingParam& p) {
          return p.num_args == 1 ? std::vector<std::string>{"data"} : NumberedNames("arg", p.num_args);
        })
        .Set(ShapeRule{InferShape})
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kMovesData,
                      {},
                      [](const Node& node, DType) {
                        const auto& p = node.params<UpSamplingParam>();
                        return p.num_args == 1 || p.multi_input_mode == "concat";
                      }})
        .Set(RangeRule{[](const RangeQuery& q, int) {
          const bool adds = q.node.params<UpSamplingParam>().multi_input_mode != "concat";
          ValueRange all = q.in[0];
          for (std::size_t i = 1; i < q.in.size(); ++i) all = adds ? Sum(all, q.in[i]) : Hull(all, q.in[i]);
          return all;
        }})
        .Set(ReferenceKernel{Reference})
        .Set(LowerRule{[](LowerContext& c) {
          if (c.node().params<UpSamplingParam>().num_args != 1) return false;
          c.SetOut(0, c.Emit(NearestResampleSpec{}, {c.in(0)}, c.out_type(0)));
          return true;
        }});

}  // namespace
}  // namespace amp
