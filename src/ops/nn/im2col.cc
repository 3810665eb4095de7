// im2col and col2im: the windows of an image as columns, and columns added up to an image. Each is the other's
// transpose.
#include <algorithm>

#include "ops/common/index_maps.h"
#include "ops/common/numeric.h"
#include "ops/common/ranges.h"
#include "ops/common/rules.h"
#include "ops/common/spatial.h"
#include "ops/shape/move_gradient.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp::im2col {
namespace {

struct ColumnsParam {
  IntTuple output_size;  // of col2im: the image's
  IntTuple kernel, stride, dilate, pad;
};

void Validate(ColumnsParam& p) { FillWindow(&p.kernel, &p.stride, &p.dilate, &p.pad); }

template <class Schema>
Schema WithWindow(Schema schema) {
  schema.Required("kernel", &ColumnsParam::kernel, "Size of the window.")
      .Optional("stride", &ColumnsParam::stride, "Step of the window; 1 where not given.")
      .Optional("dilate", &ColumnsParam::dilate, "Distance of the window's elements; 1 where not given.")
      .Optional("pad", &ColumnsParam::pad, "Zeros added on both sides of each axis.");
  return schema;
}

// How many windows there are along axis i of an image.
std::int64_t Windows(const Node& node, const ColumnsParam& p, std::size_t i, std::int64_t size) {
  const std::int64_t extent = (p.kernel[i] - 1) * p.dilate[i] + 1, room = size + 2 * p.pad[i] - extent;
  if (room < 0) FailAt(node, "a window of {} elements does not fit into axis {} of size {}", extent, i + 2, size);
  return room / p.stride[i] + 1;
}

std::int64_t Product(const IntTuple& sizes) {
  std::int64_t product = 1;
  for (const std::int64_t size : sizes) product *= size;
  return product;
}

void InferColumns(ShapeRelation& r) {
  const auto& p = r.node().params<ColumnsParam>();
  const int axes = static_cast<int>(p.kernel.size());
  r.In(0, Shape::OfRank(axes + 2));
  if (!r.in(0).fully_known()) return;
  std::int64_t windows = 1;
  for (int i = 0; i < axes; ++i) windows *= Windows(r.node(), p, static_cast<std::size_t>(i), r.in(0)[i + 2]);
  r.Out(0, Shape{r.in(0)[0], r.in(0)[1] * Product(p.kernel), windows});
}

void InferImage(ShapeRelation& r) {
  const auto& p = r.node().params<ColumnsParam>();
  std::int64_t windows = 1;
  for (std::size_t i = 0; i < p.kernel.size(); ++i) windows *= Windows(r.node(), p, i, p.output_size[i]);
  r.In(0, Shape{kUnknownDim, kUnknownDim, windows});
  std::vector<std::int64_t> dims{r.in(0)[0], kUnknownDim};
  if (r.in(0)[1] >= 0) {
    if (r.in(0)[1] % Product(p.kernel) != 0) {
      FailAt(r.node(), "{} rows of columns are no multiple of {} elements of a window", r.in(0)[1], Product(p.kernel));
    }
    dims[1] = r.in(0)[1] / Product(p.kernel);
  }
  dims.insert(dims.end(), p.output_size.begin(), p.output_size.end());
  r.Out(0, Shape(dims));
}

// Which element of an image (N, C, spatial...) an element of its columns is.
class ImagePlaces {
 public:
  ImagePlaces(const Node& node, const Shape& image) : p_(node.params<ColumnsParam>()), image_(image) {
    for (std::size_t i = 0; i < p_.kernel.size(); ++i) {
      windows_.push_back(Windows(node, p_, i, image[static_cast<int>(i) + 2]));
    }
  }

  // -1: in the padding.
  std::int64_t operator()(const Index& column) const {
    std::int64_t element = column[1] % Product(p_.kernel), window = column[2], place = 0, scale = 1;
    for (std::size_t i = p_.kernel.size(); i-- > 0;) {
      const std::int64_t at = window % windows_[i] * p_.stride[i] + element % p_.kernel[i] * p_.dilate[i] - p_.pad[i];
      const std::int64_t size = image_[static_cast<int>(i) + 2];
      if (at < 0 || at >= size) return -1;
      place += at * scale;
      scale *= size;
      window /= windows_[i];
      element /= p_.kernel[i];
    }
    return (column[0] * image_[1] + column[1] / Product(p_.kernel)) * scale + place;
  }

 private:
  const ColumnsParam& p_;
  const Shape& image_;
  IntTuple windows_;
};

void ColumnsReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  FromPlaces(in[0], OneElement(in[0].dtype(), 0), out[0], ImagePlaces(node, in[0].shape()));
}

void ImageReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const ImagePlaces place(node, out[0].shape());
  const Shape& columns = in[0].shape();
  const std::vector<double> x = Numbers<double>(in[0]);
  std::vector<double> sums(static_cast<std::size_t>(out[0].size()), 0);
  for (std::int64_t i = 0; i < std::ssize(x); ++i) {
    const std::int64_t to = place({i / columns[2] / columns[1], i / columns[2] % columns[1], i % columns[2]});
    if (to >= 0) sums[static_cast<std::size_t>(to)] += x[static_cast<std::size_t>(i)];
  }
  Store(sums, out[0]);
}

[[maybe_unused]] const auto kColumns =
    RegisterOp<ColumnsParam>("im2col")
        .Doc("The windows of data (N, C, spatial...) as columns (N, C * kernel, windows).")
        .Params(WithWindow(ParamSchema<ColumnsParam>()), Validate)
        .Inputs({"data"})
        .Set(ShapeRule{InferColumns})
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kMovesData, {}, AlwaysCommutes})
        .Set(DataAndZero())
        .Set(MoveGradient())
        .Set(ReferenceKernel{ColumnsReference});

[[maybe_unused]] const auto kImage =
    RegisterOp<ColumnsParam>("col2im")
        .Doc("An image (N, C, output_size...) in which the columns (N, C * kernel, windows) of im2col are added up.")
        .Params(WithWindow(ParamSchema<ColumnsParam>().Required("output_size", &ColumnsParam::output_size,
                                                                "Sizes of the image.")),
                [](ColumnsParam& p) {
                  Validate(p);
                  FillTuple(&p.output_size, p.kernel.size(), 1, 1, "output_size");
                })
        .Inputs({"data"})
        .Set(ShapeRule{InferImage})
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kNeedsFloat32})
        .Set(GradientRule{[](GradientContext& c) {
          AttrMap attrs = c.attrs();
          attrs.erase("output_size");
          c.Set(0, c.Call("im2col", {c.gradient()}, attrs));
        }})
        .Set(ReferenceKernel{ImageReference});

}  // namespace
}  // namespace amp::im2col
