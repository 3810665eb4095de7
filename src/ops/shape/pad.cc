// Pad: borders around an array.
#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/movement/pad.h"
#include "ops/common/index_maps.h"
#include "ops/common/ranges.h"
#include "ops/common/rules.h"
#include "ops/shape/move_gradient.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::pad {
namespace {

struct PadParam {
  std::string mode;
  IntTuple pad_width;
  double constant_value = 0;
};

void Validate(PadParam& p) {
  for (const std::int64_t width : p.pad_width) {
    if (width < 0 || width > (1 << 20)) Throw<GraphError>("attribute pad_width: {} is out of range", width);
  }
}

void InferShape(ShapeRelation& r) {
  const auto& p = r.node().params<PadParam>();
  if (!r.in(0).rank_known()) return;
  const Shape& data = r.in(0);
  if (p.pad_width.size() != 2 * static_cast<std::size_t>(data.rank())) {
    FailAt(r.node(), "expected pad_width with {} values for data of shape {}, got {}", 2 * data.rank(), data.ToString(),
           p.pad_width.size());
  }
  Shape out = data;
  for (int i = 0; i < data.rank(); ++i) {
    const std::int64_t before = p.pad_width[2 * i], after = p.pad_width[2 * i + 1];
    if (data[i] < 0) continue;
    if (p.mode == "reflect" && std::max(before, after) >= data[i] && before + after > 0) {
      FailAt(r.node(), "reflection needs an axis longer than the padding, got {} for data of shape {}",
             PrintAttr(p.pad_width), data.ToString());
    }
    if (p.mode == "edge" && data[i] == 0 && before + after > 0) FailAt(r.node(), "an empty axis has no edge");
    out[i] = data[i] + before + after;
  }
  r.Out(0, out);
}

kernels::PadMode ModeOf(const PadParam& p) {
  if (p.mode == "edge") return kernels::PadMode::kEdge;
  return p.mode == "reflect" ? kernels::PadMode::kReflect : kernels::PadMode::kConstant;
}

void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<PadParam>();
  const Shape &from = in[0].shape(), &to = out[0].shape();
  const int rank = from.rank();
  const auto bytes = static_cast<std::size_t>(BytesOf(in[0].dtype()));
  const NDArray constant = OneElement(in[0].dtype(), p.constant_value);
  std::vector<std::int64_t> index(rank, 0);
  for (std::int64_t i = 0; i < out[0].size(); ++i) {
    std::int64_t source = 0;
    for (int a = 0; a < rank && source >= 0; ++a) {
      const std::int64_t position = kernels::ShownPosition(ModeOf(p), index[a] - p.pad_width[2 * a], from[a]);
      source = position < 0 ? -1 : source * from[a] + position;
    }
    const char* element = source < 0 ? constant.As<char>() : in[0].As<char>() + source * bytes;
    std::memcpy(out[0].As<char>() + i * bytes, element, bytes);
    for (int a = rank; a-- > 0 && ++index[a] == to[a];) index[a] = 0;
  }
}

// A constant border has no gradient.
std::optional<IntTuple> BeginsOf(const Node& node, int, const std::vector<Shape>&) {
  const auto& p = node.params<PadParam>();
  IntTuple begins;
  for (std::size_t i = 0; i < p.pad_width.size(); i += 2) begins.push_back(p.pad_width[i]);
  return p.mode == "constant" ? std::optional(begins) : std::nullopt;
}

bool Lower(LowerContext& c) {
  const auto& p = c.node().params<PadParam>();
  PadSpec work{ModeOf(p), {}, {}, BytesOfOne(c.in_type(0).dtype, p.constant_value)};
  for (std::size_t i = 0; i < p.pad_width.size(); i += 2) {
    work.before.push_back(p.pad_width[i]);
    work.after.push_back(p.pad_width[i + 1]);
  }
  c.SetOut(0, c.Emit(std::move(work), {c.in(0)}, c.out_type(0)));
  return true;
}

[[maybe_unused]] const auto kCard =
    RegisterOp<PadParam>("Pad")
        .Alias("_npx_pad")
        .Alias("pad")
        .Doc("Adds pad_width = (before, after) of each axis.")
        .Params(ParamSchema<PadParam>()
                    .Required("mode", &PadParam::mode, "What the border shows.")
                    .OneOf({"constant", "edge", "reflect"})
                    .Required("pad_width", &PadParam::pad_width, "Widths before and after each axis.")
                    .Optional("constant_value", &PadParam::constant_value, "Of mode constant."),
                Validate)
        .Inputs({"data"})
        .Set(ShapeRule{InferShape})
        .Set(SameDType())
        .Set(AmpFacts{Arithmetic::kMovesData,
                      {},
                      [](const Node& node, DType) {
                        const auto& p = node.params<PadParam>();
                        return p.mode != "constant" || p.constant_value == 0;
                      }})
        .Set(RangeRule{[](const RangeQuery& q, int) {
          const auto& p = q.node.params<PadParam>();
          return p.mode == "constant" ? Hull(q.in[0], ValueRange::Of(p.constant_value)) : q.in[0];
        }})
        .Set(MoveGradient())
        .Set(JoinsArrays{BeginsOf})
        .Set(ReferenceKernel{Reference})
        .Set(KernelRule{Lower});

}  // namespace
}  // namespace amp::pad
