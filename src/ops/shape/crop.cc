// Crop: a window of images, of a given size or that of other images.
#include "ops/common/index_maps.h"
#include "ops/common/rules.h"
#include "ops/shape/move_gradient.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::crop {
namespace {

struct CropParam {
  std::int64_t num_args = 0;
  IntTuple offset{0, 0};
  IntTuple h_w{0, 0};
  bool center_crop = false;
};

void Validate(CropParam& p) {
  if (p.offset.size() != 2) Throw<GraphError>("attribute offset: expected (y, x), got {} values", p.offset.size());
  if (p.h_w.size() != 2) Throw<GraphError>("attribute h_w: expected (height, width), got {} values", p.h_w.size());
}

Shape OutShape(const Node& node, const Shape& data, const Shape* like) {
  const auto& p = node.params<CropParam>();
  if (data.rank() != 4 || (like != nullptr && like->rank() != 4)) {
    FailAt(node, "expected images (N, C, H, W), got {}{}", data.ToString(),
           like != nullptr ? " and " + like->ToString() : "");
  }
  Shape out = data;
  for (int i = 0; i < 2; ++i) out[2 + i] = like != nullptr ? (*like)[2 + i] : p.h_w[i];
  return out;
}

// Where the window begins: (0, 0, y, x).
IntTuple BeginOf(const Node& node, const Shape& data, const Shape& out) {
  const auto& p = node.params<CropParam>();
  IntTuple begin{0, 0};
  for (int i = 0; i < 2; ++i) {
    const bool fits = out[2 + i] >= 1 && out[2 + i] <= data[2 + i];
    const std::int64_t left = fits ? data[2 + i] - out[2 + i] : 0;  // of any attribute it could overflow
    const std::int64_t at = p.center_crop ? left / 2 : p.offset[i];
    if (!fits || at < 0 || at > left) {
      FailAt(node, "a window of size {} at {} does not fit axis {} of data of shape {}", out[2 + i], at, 2 + i,
             data.ToString());
    }
    begin.push_back(at);
  }
  return begin;
}

void InferShape(ShapeRelation& r) {
  const bool has_like = r.num_inputs() == 2;
  if (!r.in(0).fully_known() || (has_like && !r.in(1).fully_known())) return;
  const Shape out = OutShape(r.node(), r.in(0), has_like ? &r.in(1) : nullptr);
  BeginOf(r.node(), r.in(0), out);
  r.Out(0, out);
}

void InferDType(DTypeRelation& r) {
  r.Same({0}, {0});
  if (r.num_inputs() == 2 && !IsKnown(r.in(1))) r.In(1, r.in(0));
}

void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const IntTuple begin = BeginOf(node, in[0].shape(), out[0].shape());
  FromPlaces(in[0], in[0], out[0], [&](Index index) {
    for (std::size_t a = 0; a < index.size(); ++a) index[a] += begin[a];
    return PlaceOf(index, in[0].shape());
  });
}

[[maybe_unused]] const auto kCard =
    RegisterOp<CropParam>("Crop")
        .Doc("A window of images (N, C, H, W): of size h_w, or of that of the second input.")
        .Params(ParamSchema<CropParam>()
                    .Required("num_args", &CropParam::num_args, "1, or 2 with images of the wanted size.")
                    .Range(1, 2)
                    .Optional("offset", &CropParam::offset, "Where the window begins: (y, x).")
                    .Optional("h_w", &CropParam::h_w, "Height and width, without a second input.")
                    .Optional("center_crop", &CropParam::center_crop, "The window is in the middle."),
                Validate)
        .Variadic("num_args")
        .Inputs([](const CropParam& p) {
          return p.num_args == 2 ? std::vector<std::string>{"data", "crop_like"} : std::vector<std::string>{"data"};
        })
        .Set(ShapeRule{InferShape})
        .Set(DTypeRule{InferDType})
        .Set(AmpFacts{Arithmetic::kMovesData, {SlotRole::kData, SlotRole::kIgnored}, AlwaysCommutes})
        .Set(MoveGradient())
        .Set(CutsArray{BeginOf})
        .Set(ReferenceKernel{Reference})
        .Set(LowerRule{[](LowerContext& c) {
          const SliceSpec work{BeginOf(c.node(), c.in_type(0).shape, c.out_type(0).shape)};
          c.SetOut(0, c.Emit(work, {c.in(0)}, c.out_type(0)));
          return true;
        }});

}  // namespace
}  // namespace amp::crop
