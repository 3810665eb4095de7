// Rows of operators that join, turn, pad and fill arrays as NumPy does.
#include <algorithm>

#include "draw.h"

namespace amp::testing {
namespace {

// ---- joins ---------------------------------------------------------------------------------------

// Arrays of one shape but for the axis that NumPy joins them along; `line_axis` is that of arrays of rank 1.
OpCase DrawJoin(Random& random, int axis, int line_axis) {
  OpCase c = AnyMove(random, 0);
  InputCase one = c.inputs[0];
  const int rank = one.type.shape.rank(), joined = rank == 1 ? line_axis : rank > axis ? axis : -1;
  c.inputs.clear();
  for (std::int64_t count = random.Int(1, 4); count > 0; --count) {
    if (joined >= 0) one.type.shape[joined] = random.Size(5);
    c.inputs.push_back(one);
  }
  c.attrs["num_args"] = PrintAttr(static_cast<std::int64_t>(c.inputs.size()));
  return c;
}

OpCase DrawHStack(Random& random) { return DrawJoin(random, 1, 0); }
OpCase DrawVStack(Random& random) { return DrawJoin(random, 0, -1); }
OpCase DrawDStack(Random& random) { return DrawJoin(random, 2, -1); }
OpCase DrawColumnStack(Random& random) { return DrawJoin(random, 1, -1); }

OpCase DrawAtLeast(Random& random) {
  OpCase c{{}, {}, {}, Truth::kSameBits};
  const std::int64_t count = random.Int(1, 3);
  for (std::int64_t i = 0; i < count; ++i) c.inputs.push_back(AnyMove(random, 0).inputs[0]);
  c.attrs["num_args"] = PrintAttr(count);
  return c;
}

// ---- other places --------------------------------------------------------------------------------

OpCase DrawMoveAxis(Random& random) {
  OpCase c = AnyMove(random);
  const int rank = c.inputs[0].type.shape.rank();
  const std::int64_t first = AnyAxis(random, rank), second = AnyAxis(random, rank);
  IntTuple source{first}, destination{AnyAxis(random, rank)};
  if (Normal(first, rank) != Normal(second, rank)) {
    source.push_back(second);
    destination = {second, first};
  }
  c.attrs = {{"source", PrintAttr(source)}, {"destination", PrintAttr(destination)}};
  return c;
}

OpCase DrawRoll(Random& random) {
  OpCase c = AnyMove(random);
  const int rank = c.inputs[0].type.shape.rank();
  c.attrs["shift"] = PrintAttr(IntTuple{random.Int(-9, 9)});
  if (random.Chance(0.7)) {
    IntTuple axes{AnyAxis(random, rank)};
    if (rank > 1 && random.Chance(0.5)) axes.push_back((Normal(axes[0], rank) + 1) % rank);
    c.attrs["axis"] = PrintAttr(axes);
    if (random.Chance(0.5)) c.attrs["shift"] = PrintAttr(Tuple(random, static_cast<int>(axes.size()), -9, 9));
  }
  return c;
}

OpCase DrawRot90(Random& random) {
  OpCase c = AnyMove(random, 2);
  const int rank = c.inputs[0].type.shape.rank();
  const std::int64_t first = AnyAxis(random, rank);
  c.attrs["axes"] = PrintAttr(IntTuple{first, (Normal(first, rank) + 1) % rank});
  Maybe(random, &c.attrs, "k", PrintAttr(random.Int(-5, 5)));
  return c;
}

OpCase DrawNpiPad(Random& random) {
  OpCase c = AnyMove(random);
  Shape& shape = c.inputs[0].type.shape;
  std::string widths;
  for (int i = 0; i < shape.rank(); ++i) {
    shape[i] = std::max<std::int64_t>(shape[i], 1);
    widths += PrintAttr(Tuple(random, 2, 0, 4)) + ",";
  }
  c.inputs[0].values = Values::kPlain;  // extremes of NaN are nobody's promise
  c.attrs["pad_width"] = "(" + widths + ")";
  Maybe(random, &c.attrs, "mode", random.Of({"constant", "edge", "reflect", "symmetric", "maximum", "minimum"}));
  Maybe(random, &c.attrs, "constant_values", random.Of({"0", "2", "-1.5"}));
  return c;
}

// ---- matrices ------------------------------------------------------------------------------------

std::string Diagonal(Random& random) { return PrintAttr(random.Int(-2, 2)); }

OpCase DrawDiag(Random& random) {
  OpCase c = AnyMove(random);
  Shape& shape = c.inputs[0].type.shape;
  for (int i = 0; i < shape.rank(); ++i) shape[i] = std::max<std::int64_t>(shape[i], 3);
  Maybe(random, &c.attrs, "k", Diagonal(random));
  if (shape.rank() > 2 && random.Chance(0.7)) c.attrs.merge(AttrMap{{"axis1", "-1"}, {"axis2", "0"}});
  return c;
}

OpCase DrawNpiDiag(Random& random) {
  OpCase c = AnyMove(random, 1, 2);
  Maybe(random, &c.attrs, "k", Diagonal(random));
  return c;
}

OpCase DrawTriangle(Random& random) {
  OpCase c = AnyMove(random);
  Maybe(random, &c.attrs, "k", Diagonal(random));
  return c;
}

OpCase DrawEye(Random& random) {
  OpCase c{{{"N", PrintAttr(random.Int(0, 6))}}, {}, {}, Truth::kSameBits};
  Maybe(random, &c.attrs, "M", PrintAttr(random.Int(0, 6)));
  Maybe(random, &c.attrs, "k", Diagonal(random));
  Maybe(random, &c.attrs, "dtype", NameOf(random.Of(AllTypes())));
  return c;
}

OpCase DrawIdentity(Random& random) {
  const std::int64_t size = random.Int(0, 6);
  OpCase c{{{"shape", PrintAttr(IntTuple{size, size})}}, {}, {}, Truth::kSameBits};
  Maybe(random, &c.attrs, "dtype", NameOf(random.Of(AllTypes())));
  return c;
}

// ---- values --------------------------------------------------------------------------------------

OpCase DrawFull(Random& random) {
  OpCase c{{{"shape", PrintAttr(Tuple(random, static_cast<int>(random.Int(0, 4)), 0, 4))}}, {}, {}, Truth::kSameBits};
  c.attrs["value"] = random.Of({"0", "2.5", "-3"});
  Maybe(random, &c.attrs, "dtype", NameOf(random.Of(AllTypes())));
  return c;
}

OpCase DrawNpiFull(Random& random) {
  OpCase c = DrawFull(random);
  if (random.Chance(0.3)) return c;
  c.attrs.erase("value");
  c.attrs.merge(AttrMap{{"int_value", "7"}, {"uint_value", "9"}, {"double_value", "2.5"}});
  Maybe(random, &c.attrs, "value_type", PrintAttr(random.Int(0, 2)));
  return c;
}

OpCase DrawLinspace(Random& random) {
  OpCase c{{{"start", random.Of({"0", "-1.5"})}, {"stop", random.Of({"1", "7", "-3"})}}, {}, {}, Truth::kSameBits};
  c.attrs["num"] = PrintAttr(random.Int(0, 9));
  Maybe(random, &c.attrs, "endpoint", Flag(random));
  Maybe(random, &c.attrs, "dtype", NameOf(random.Of(FloatTypes())));
  return c;
}

OpCase DrawNpiLinspace(Random& random) {
  OpCase c = DrawLinspace(random);
  if (random.Chance(0.3)) return c;
  c.attrs.erase("start");
  c.attrs.erase("stop");
  c.attrs.merge(AttrMap{{"start_int", "1"}, {"stop_int", "4"}, {"start_uint", "2"}, {"stop_uint", "12"}});
  c.attrs.merge(AttrMap{{"start_double", "0.5"}, {"stop_double", "2"}});
  Maybe(random, &c.attrs, "value_type", PrintAttr(random.Int(0, 2)));
  return c;
}

OpCase DrawLogspace(Random& random) {
  OpCase c = DrawLinspace(random);
  Maybe(random, &c.attrs, "base", random.Of({"2", "10", "0.5"}));
  return c;
}

// ---- choices -------------------------------------------------------------------------------------

OpCase DrawWhereScalar(Random& random) {
  OpCase c = AnyMove(random, 0);
  InputCase condition = AnyInput(random, c.inputs[0].type.shape);
  for (int i = 0; i < condition.type.shape.rank(); ++i) {
    if (random.Chance(0.3)) condition.type.shape[i] = 1;
  }
  c.inputs.insert(c.inputs.begin(), condition);
  Maybe(random, &c.attrs, "scalar", random.Of({"0", "0", "2.5", "7"}));
  return c;
}

OpCase DrawWhereScalars(Random& random) {
  OpCase c = AnyMove(random, 0);
  Maybe(random, &c.attrs, "x", random.Of({"0", "2.5"}));
  Maybe(random, &c.attrs, "y", random.Of({"0", "-1"}));
  return c;
}

OpCase DrawIdentityLike(Random& random) {
  OpCase c = AnyMove(random, 0);
  c.inputs.push_back(c.inputs[0]);
  return c;
}

// ---- picks and windows ---------------------------------------------------------------------------

OpCase DrawPick(Random& random) {
  OpCase c = AnyMove(random);
  Shape& shape = c.inputs[0].type.shape;
  for (int i = 0; i < shape.rank(); ++i) shape[i] = std::max<std::int64_t>(shape[i], 1);
  const std::int64_t axis = AnyAxis(random, shape.rank());
  c.attrs["axis"] = PrintAttr(axis);
  Maybe(random, &c.attrs, "keepdims", Flag(random));
  Maybe(random, &c.attrs, "mode", random.Of({"clip", "wrap"}));
  std::vector<std::int64_t> index = shape.dims();
  index[static_cast<std::size_t>(Normal(axis, shape.rank()))] = 1;
  if (index.size() > 1 && random.Chance(0.5)) index.erase(index.begin() + Normal(axis, shape.rank()));
  c.inputs.push_back({{random.Of({DType::kInt32, DType::kFloat32, DType::kInt8}), Shape(index)}, Values::kLengths});
  return c;
}

OpCase DrawBatchTake(Random& random) {
  OpCase c = AnyMove(random, 2);
  Shape& shape = c.inputs[0].type.shape;
  shape[shape.rank() - 1] = random.Int(1, 5);
  std::vector<std::int64_t> index = shape.dims();
  index.pop_back();
  c.inputs.push_back({{DType::kInt32, Shape(index)}, Values::kLengths});
  return c;
}

// Pictures have elements: MXNet refuses others.
OpCase DrawBlocks(Random& random, bool to_depth) {
  const std::int64_t b = random.Int(1, 3), depth = to_depth ? 1 : b * b, space = to_depth ? b : 1;
  OpCase c = AnyMove(random, 4);
  Shape units = c.inputs[0].type.shape;
  for (int axis = 1; axis < 4; ++axis) units[axis] = std::max<std::int64_t>(1, units[axis]);
  c.inputs[0].type.shape = {units[0], units[1] * depth, units[2] * space, units[3] * space};
  c.attrs["block_size"] = PrintAttr(b);
  return c;
}

OpCase DrawSpaceToDepth(Random& random) { return DrawBlocks(random, true); }
OpCase DrawDepthToSpace(Random& random) { return DrawBlocks(random, false); }

OpCase DrawCrop(Random& random) {
  OpCase c = AnyMove(random, 4);
  const IntTuple window = Tuple(random, 2, 1, 4), offset = Tuple(random, 2, 0, 3);
  Shape& data = c.inputs[0].type.shape;
  data[2] = window[0] + offset[0] + random.Int(0, 2);
  data[3] = window[1] + offset[1] + random.Int(0, 2);
  Maybe(random, &c.attrs, "offset", PrintAttr(offset));
  Maybe(random, &c.attrs, "center_crop", Flag(random));
  if (random.Chance(0.5)) {
    c.inputs.push_back(AnyInput(random, Shape{2, 3, window[0], window[1]}));
  } else {
    c.attrs["h_w"] = PrintAttr(window);
  }
  c.attrs["num_args"] = PrintAttr(static_cast<std::int64_t>(c.inputs.size()));
  c.truth = Truth::kSelected;  // as slice
  return c;
}

OpCase DrawScatterNd(Random& random) {
  const std::int64_t count = random.Int(0, 4), named = random.Int(1, 2);
  const InputCase data = AnyInput(random, named == 1 ? Shape{count, 16, 3} : Shape{count, 3});
  return {{{"shape", "(16, 16, 3)"}},
          {data, {{DType::kBool, Shape{named, count}}}},  // 0 and 1: places that there are
          {},
          Truth::kSameBits};
}

OpCase DrawSort(Random& random) {
  OpCase c = AnyMove(random);
  c.inputs[0].values = Values::kPlain;
  c.attrs["axis"] = random.Chance(0.2) ? "None" : PrintAttr(AnyAxis(random, c.inputs[0].type.shape.rank()));
  Maybe(random, &c.attrs, "is_ascend", Flag(random));
  return c;
}

OpCase DrawDivSqrtDim(Random& random) {
  return {{}, {{{random.Type(FloatTypes()), random.Sizes(static_cast<int>(random.Int(1, 4)), 6)}}}, {0, 4, 0}};
}

// ---- boxes ---------------------------------------------------------------------------------------

OpCase DrawBoxDecode(Random& random) {
  const TensorType boxes{DType::kFloat32, Shape{random.Int(1, 3), random.Size(6), 4}};
  OpCase c{{}, {{boxes}, {{boxes.dtype, Shape{1, boxes.shape[1], 4}}}}, {}, Truth::kSameBits};
  Maybe(random, &c.attrs, "std0", random.Of({"0.1", "1"}));
  Maybe(random, &c.attrs, "std2", random.Of({"0.2", "1"}));
  Maybe(random, &c.attrs, "clip", random.Of({"2", "-1"}));
  Maybe(random, &c.attrs, "format", random.Of({"corner", "center"}));
  return c;
}

OpCase DrawBoxIou(Random& random) {
  const DType dtype = random.Type(FloatTypes());
  OpCase c{{},
           {{{dtype, Shape{random.Int(1, 3), random.Size(6), 4}}}, {{dtype, Shape{random.Int(1, 5), 4}}}},
           {},
           Truth::kSameBits};
  Maybe(random, &c.attrs, "format", random.Of({"corner", "center"}));
  return c;
}

OpCase DrawMultiBoxPrior(Random& random) {
  OpCase c{{}, {{{random.Type(FloatTypes()), Shape{1, 2, random.Int(1, 4), random.Int(1, 4)}}}}, {}, Truth::kSameBits};
  Maybe(random, &c.attrs, "sizes", random.Of({"(0.5,)", "[0.25, 0.5]", "0.75"}));
  Maybe(random, &c.attrs, "ratios", random.Of({"(1, 2, 0.5)", "(3,)"}));
  Maybe(random, &c.attrs, "steps", random.Of({"(0.25, 0.125)", "(-1, -1)"}));
  Maybe(random, &c.attrs, "offsets", "(0.25, 0.75)");
  Maybe(random, &c.attrs, "clip", Flag(random));
  return c;
}

OpCase DrawMultiBoxDetection(Random& random) {
  const std::int64_t images = random.Int(1, 3), anchors = random.Int(1, 30);
  const DType dtype = random.Type(FloatTypes());
  OpCase c{{},
           {{{dtype, Shape{images, random.Int(1, 4), anchors}}},
            {{dtype, Shape{images, anchors * 4}}},
            {{dtype, Shape{1, anchors, 4}}}},
           {},
           Truth::kSameBits};
  Maybe(random, &c.attrs, "threshold", random.Of({"0", "0.5"}));
  Maybe(random, &c.attrs, "nms_threshold", random.Of({"0", "0.25", "1"}));
  Maybe(random, &c.attrs, "nms_topk", random.Of({"-1", "5"}));
  Maybe(random, &c.attrs, "force_suppress", Flag(random));
  Maybe(random, &c.attrs, "clip", Flag(random));
  return c;
}

OpCase DrawRoiPooling(Random& random) {
  const DType dtype = random.Type(FloatTypes());
  const Shape data{5, random.Int(1, 20), random.Int(1, 9), random.Int(1, 9)};  // values up to 4 name images
  OpCase c{{},
           {{{dtype, data}, Values::kWide}, {{dtype, Shape{random.Size(5), 5}}, Values::kPositive}},
           {},
           Truth::kSameBits};
  c.attrs["pooled_size"] = PrintAttr(Tuple(random, 2, 1, 4));
  c.attrs["spatial_scale"] = random.Of({"1", "0.5", "0.3"});
  return c;
}

// Rounding moves positions.
constexpr double kSampleError = 4096;

OpCase DrawGridGenerator(Random& random) {
  const bool is_affine = random.Chance(0.5);
  const Shape data =
      is_affine ? Shape{random.Int(1, 3), 6} : Shape{random.Int(1, 3), 2, random.Int(2, 6), random.Int(2, 6)};
  OpCase c{{}, {{{random.Type(FloatTypes()), data}}}, {0, 0, 256}};
  c.attrs["transform_type"] = is_affine ? "affine" : "warp";
  if (is_affine) c.attrs["target_shape"] = PrintAttr(Tuple(random, 2, 2, 6));
  return c;
}

OpCase DrawBilinearSampler(Random& random) {
  const DType dtype = random.Type(FloatTypes());
  const std::int64_t images = random.Int(1, 3);
  return {{},
          {{{dtype, Shape{images, random.Int(1, 5), random.Int(1, 6), random.Int(1, 6)}}},
           {{dtype, Shape{images, 2, random.Int(1, 20), random.Int(1, 30)}}}},
          {0, 0, kSampleError}};
}

OpCase DrawSpatialTransformer(Random& random) {
  OpCase c = DrawBilinearSampler(random);
  c.inputs[1].type.shape = Shape{c.inputs[0].type.shape[0], 6};
  c.attrs = {{"transform_type", "affine"}, {"sampler_type", "bilinear"}};
  c.attrs["target_shape"] = PrintAttr(Tuple(random, 2, 2, 20));
  return c;
}

OpCase DrawBoxNms(Random& random) {
  OpCase c{{}, {{{random.Type(FloatTypes()), Shape{random.Size(3), random.Size(40), 6}}}}, {}, Truth::kSameBits};
  Maybe(random, &c.attrs, "overlap_thresh", random.Of({"0", "0.3"}));
  Maybe(random, &c.attrs, "valid_thresh", random.Of({"0.3", "-2"}));
  Maybe(random, &c.attrs, "force_suppress", Flag(random));
  Maybe(random, &c.attrs, "id_index", random.Of({"0", "-1"}));
  Maybe(random, &c.attrs, "topk", random.Of({"-1", "0", "3"}));
  Maybe(random, &c.attrs, "in_format", random.Of({"corner", "center"}));
  Maybe(random, &c.attrs, "out_format", random.Of({"corner", "center"}));
  return c;
}

OpCase DrawRoiAlign(Random& random) {
  const IntTuple pooled = Tuple(random, 2, 1, 3);
  const std::int64_t bins = pooled[0] * pooled[1];
  OpCase c{{{"pooled_size", PrintAttr(pooled)}, {"spatial_scale", random.Of({"1", "0.5"})}}, {}, {}};
  c.error.terms = 160;  // of up to eight samples along each axis, and their weights
  // The data are nine images, whatever values others get: small numbers name one of them.
  c.inputs = {{{random.Type(FloatTypes()), Shape{9, bins * random.Int(1, 2), random.Int(1, 6), random.Int(1, 6)}}},
              {{DType::kFloat32, Shape{random.Size(3), 5}}, Values::kPositive}};
  Maybe(random, &c.attrs, "sample_ratio", random.Of({"-1", "2"}));
  Maybe(random, &c.attrs, "position_sensitive", Flag(random));
  Maybe(random, &c.attrs, "aligned", Flag(random));
  return c;
}

OpCase DrawRotatedRoiAlign(Random& random) {
  OpCase c{{{"pooled_size", PrintAttr(Tuple(random, 2, 1, 3))}, {"spatial_scale", random.Of({"1", "0.5"})}}, {}, {}};
  c.truth = Truth::kSameBits;  // one implementation serves both backends
  const DType dtype = random.Type(FloatTypes());
  c.inputs = {{{dtype, Shape{9, random.Int(1, 2), random.Int(1, 6), random.Int(1, 6)}}},
              {{DType::kFloat32, Shape{random.Size(3), 6}}, Values::kPositive}};
  Maybe(random, &c.attrs, "sampling_ratio", random.Of({"-1", "2"}));
  return c;
}

// Offsets are positive, as masks are: the absolute inputs of ErrorModel::terms read the same samples.
OpCase DrawDeformable(Random& random, bool modulated) {
  const std::int64_t groups = random.Of<std::int64_t>({1, 1, 2}), offset_groups = random.Of<std::int64_t>({1, 1, 2});
  const std::int64_t channels = 2 * random.Int(1, 9), filters = groups * random.Int(1, 4);
  const IntTuple kernel = Tuple(random, 2, 1, 3), stride = Tuple(random, 2, 1, 2), dilate = Tuple(random, 2, 1, 2),
                 pad = Tuple(random, 2, 0, 2), out = Tuple(random, 2, 1, 4);
  OpCase c{{{"kernel", PrintAttr(kernel)},
            {"stride", PrintAttr(stride)},
            {"dilate", PrintAttr(dilate)},
            {"pad", PrintAttr(pad)},
            {"num_filter", PrintAttr(filters)},
            {"num_group", PrintAttr(groups)},
            {"num_deformable_group", PrintAttr(offset_groups)}},
           {},
           {}};
  Shape data{random.Int(1, 2), channels, 0, 0};
  for (int i = 0; i < 2; ++i) {
    const std::int64_t extent = (kernel[i] - 1) * dilate[i] + 1;
    data[2 + i] = std::max<std::int64_t>(1, extent + (out[i] - 1) * stride[i] - 2 * pad[i]);
  }
  const auto size = [&](int i) { return (data[2 + i] + 2 * pad[i] - (kernel[i] - 1) * dilate[i] - 1) / stride[i] + 1; };
  const std::int64_t samples = offset_groups * kernel[0] * kernel[1];
  const DType dtype = random.Type(FloatTypes());
  c.inputs = {{{dtype, data}}, {{dtype, Shape{data[0], 2 * samples, size(0), size(1)}}, Values::kPositive}};
  if (modulated) c.inputs.push_back({{dtype, Shape{data[0], samples, size(0), size(1)}}, Values::kPositive});
  c.inputs.push_back({{dtype, Shape{filters, channels / groups, kernel[0], kernel[1]}}});
  if (random.Chance(0.5)) {
    c.attrs["no_bias"] = "True";
  } else {
    c.inputs.push_back({{dtype, Shape{filters}}});
  }
  // Offsets of a few units move samples by their rounding, too.
  c.error.terms = static_cast<double>(channels / groups * kernel[0] * kernel[1]) + 128;
  return c;
}

OpCase DrawSizeArray(Random& random) { return AnyMove(random, 0); }

}  // namespace

const std::vector<OpRow>& NumPyOpRows() {
  static const std::vector<OpRow> rows{
      {"BilinearSampler", DrawBilinearSampler},
      {"Crop", DrawCrop},
      {"GridGenerator", DrawGridGenerator},
      {"ROIPooling", DrawRoiPooling},
      {"SpatialTransformer", DrawSpatialTransformer},
      {"_contrib_DeformableConvolution", [](Random& random) { return DrawDeformable(random, false); }},
      {"_contrib_ModulatedDeformableConvolution", [](Random& random) { return DrawDeformable(random, true); }},
      {"_contrib_MultiBoxDetection", DrawMultiBoxDetection},
      {"_contrib_MultiBoxPrior", DrawMultiBoxPrior},
      {"_contrib_ROIAlign", DrawRoiAlign},
      {"_contrib_RROIAlign", DrawRotatedRoiAlign},
      {"_contrib_box_decode", DrawBoxDecode},
      {"_contrib_box_iou", DrawBoxIou},
      {"_contrib_box_nms", DrawBoxNms},
      {"_contrib_div_sqrt_dim", DrawDivSqrtDim},
      {"_eye", DrawEye},
      {"_full", DrawFull},
      {"_identity_with_attr_like_rhs", DrawIdentityLike},
      {"_linspace", DrawLinspace},
      {"_npi_atleast_1d", DrawAtLeast},
      {"_npi_atleast_2d", DrawAtLeast},
      {"_npi_atleast_3d", DrawAtLeast},
      {"_npi_column_stack", DrawColumnStack},
      {"_npi_diag", DrawNpiDiag},
      {"_npi_dstack", DrawDStack},
      {"_npi_eye", DrawEye},
      {"_npi_full", DrawNpiFull},
      {"_npi_hstack", DrawHStack},
      {"_npi_identity", DrawIdentity},
      {"_npi_linspace", DrawNpiLinspace},
      {"_npi_logspace", DrawLogspace},
      {"_npi_moveaxis", DrawMoveAxis},
      {"_npi_pad", DrawNpiPad},
      {"_npi_roll", DrawRoll},
      {"_npi_rot90", DrawRot90},
      {"_npi_tril", DrawTriangle},
      {"_npi_triu", DrawTriangle},
      {"_npi_vstack", DrawVStack},
      {"_npi_where_lscalar", DrawWhereScalar},
      {"_npi_where_rscalar", DrawWhereScalar},
      {"_npi_where_scalar2", DrawWhereScalars},
      {"batch_take", DrawBatchTake},
      {"depth_to_space", DrawDepthToSpace},
      {"diag", DrawDiag},
      {"pick", DrawPick},
      {"scatter_nd", DrawScatterNd},
      {"size_array", DrawSizeArray},
      {"sort", DrawSort},
      {"space_to_depth", DrawSpaceToDepth},
  };
  return rows;
}

}  // namespace amp::testing
