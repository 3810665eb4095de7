// Rows of operators that move, combine and reduce arrays.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "draw.h"

namespace amp::testing {
namespace {

int Rank(Random& random, int low, int high) { return static_cast<int>(random.Int(low, high)); }

OpCase OfFloat(Random& random, double relative, Values values = Values::kPlain, Special special = Special::kKept) {
  const Shape shape = random.Sizes(Rank(random, 1, 5), 6);
  return {{}, {{{random.Type(FloatTypes()), shape}, values}}, {0, relative, 0}, Truth::kWide, special};
}

// A case of a function that integers have, too.
OpCase OfNumber(Random& random, double relative, Values values = Values::kPlain, Special special = Special::kKept) {
  OpCase c = OfFloat(random, relative, values, special);
  std::vector<DType> types = FloatTypes();
  types.insert(types.end(), {DType::kInt32, DType::kInt64, DType::kInt8});
  c.inputs[0].type.dtype = random.Type(types);
  return c;
}

OpCase DrawRelu(Random& random) { return OfNumber(random, 0, Values::kWide, Special::kMaximum); }
OpCase DrawAbs(Random& random) { return OfNumber(random, 0, Values::kWide); }
OpCase DrawSquare(Random& random) { return OfNumber(random, 2); }
OpCase DrawFunction(Random& random) { return OfFloat(random, 16); }
OpCase DrawLog(Random& random) {
  OpCase c = OfFloat(random, 16, Values::kPositive);
  c.error.absolute = 64;  // the library's logarithm near 1
  return c;
}
OpCase DrawSqrt(Random& random) { return OfFloat(random, 4, Values::kPositive); }

OpCase DrawStep(Random& random) { return OfFloat(random, 0); }
OpCase DrawSign(Random& random) { return OfNumber(random, 0); }
OpCase DrawRatio(Random& random) { return OfFloat(random, 16, Values::kPositive); }

OpCase DrawKhatriRao(Random& random) {
  OpCase c;
  const std::int64_t count = random.Int(1, 4), columns = random.Size(5);
  const DType dtype = random.Type(AllTypes());
  c.attrs["num_args"] = PrintAttr(count);
  for (std::int64_t i = 0; i < count; ++i) c.inputs.push_back({{dtype, Shape{random.Size(4), columns}}});
  c.error.relative = 4;
  return c;
}

OpCase DrawMove(Random& random) { return AnyMove(random, 0); }

OpCase DrawFillLike(Random& random) {
  OpCase c = DrawMove(random);
  if (random.Chance(0.3)) c.attrs["dtype"] = NameOf(random.Of(AllTypes()));
  return c;
}

OpCase DrawEqualShapes(Random& random) {
  const TensorType type{random.Type(AllTypes()), random.Sizes(Rank(random, 0, 5), 6)};
  return {{}, {{type}, {type, Values::kPositive}}, {0, 2, 0}};
}

OpCase DrawBroadcast(Random& random) {
  const DType dtype = random.Type(AllTypes());
  const Shape out = random.Sizes(Rank(random, 1, 4), 6);
  const auto shrink = [&](bool may_shorten) {
    std::vector<std::int64_t> dims = out.dims();
    for (auto& dim : dims) {
      if (random.Chance(0.3)) dim = 1;
    }
    if (may_shorten) dims.erase(dims.begin(), dims.begin() + random.Int(0, out.rank() - 1));
    return Shape(std::move(dims));
  };
  const bool left = random.Chance(0.3);
  return {
      {},
      {{{dtype, left ? shrink(random.Chance(0.5)) : out}}, {{dtype, shrink(random.Chance(0.5))}, Values::kPositive}},
      {0, 2, 0}};
}

// Floats beside integers and other floats, as in 2.0.
OpCase DrawMixed(Random& random) {
  OpCase c = DrawBroadcast(random);
  TensorType& other = c.inputs[random.Chance(0.5) ? 0 : 1].type;
  if (random.Chance(0.5)) other.dtype = random.Of(IsFloat(other.dtype) ? AllTypes() : FloatTypes());
  c.error.relative = 4;  // integers are rounded, too
  return c;
}

// Truths have no difference, as in NumPy.
OpCase DrawDifference(Random& random) {
  OpCase c = DrawMixed(random);
  const bool are_truths = c.inputs[0].type.dtype == DType::kBool && c.inputs[1].type.dtype == DType::kBool;
  if (are_truths) c.inputs[1].type.dtype = DType::kInt32;
  return c;
}

OpCase DrawCompare(Random& random) {
  OpCase c = DrawBroadcast(random);
  c.inputs[1].values = Values::kPlain;
  return c;
}

OpCase DrawPower(Random& random) {
  OpCase c = DrawBroadcast(random);
  for (InputCase& input : c.inputs) {
    input.type.dtype = c.inputs[0].type.dtype;
    input.values = Values::kPositive;
  }
  if (!IsFloat(c.inputs[0].type.dtype)) c.inputs[0].type.dtype = c.inputs[1].type.dtype = DType::kFloat32;
  c.error.relative = 16;
  return c;
}

OpCase DrawTranspose(Random& random) {
  OpCase c = DrawMove(random);
  const int rank = c.inputs[0].type.shape.rank();
  IntTuple axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), std::int64_t{0});
  for (std::size_t i = axes.size(); i > 1; --i) std::swap(axes[i - 1], axes[random.Bits() % i]);
  if (rank > 0 && random.Chance(0.8)) c.attrs["axes"] = PrintAttr(axes);
  return c;
}

OpCase DrawSwapAxis(Random& random) {
  const int rank = Rank(random, 1, 4);
  OpCase c{{}, {{{random.Type(AllTypes()), random.Sizes(rank, 6)}, Values::kWide}}, {}, Truth::kSameBits};
  c.attrs["dim1"] = PrintAttr(AnyAxis(random, rank));
  c.attrs["dim2"] = PrintAttr(AnyAxis(random, rank));
  return c;
}

OpCase DrawExpandDims(Random& random) {
  OpCase c = DrawMove(random);
  c.attrs["axis"] = PrintAttr(AnyAxis(random, c.inputs[0].type.shape.rank() + 1));
  return c;
}

OpCase DrawSqueeze(Random& random) {
  OpCase c = DrawMove(random);
  Shape& shape = c.inputs[0].type.shape;
  IntTuple axes;
  for (int i = 0; i < shape.rank(); ++i) {
    if (random.Chance(0.6)) shape[i] = 1;
    if (shape[i] == 1 && random.Chance(0.7)) axes.push_back(random.Chance(0.5) ? i : i - shape.rank());
  }
  if (!axes.empty() && random.Chance(0.7)) c.attrs["axis"] = PrintAttr(axes);
  return c;
}

// Shapes that were checked against MXNet's documentation, on data of random dtype.
OpCase DrawReshape(Random& random) {
  struct Use {
    Shape data;
    AttrMap attrs;
  };
  const auto use = random.Of<Use>({{{2, 3, 4}, {{"shape", "(4, 0, 2)"}}},
                                   {{2, 3, 4}, {{"shape", "(-1,)"}}},
                                   {{2, 3, 4}, {{"shape", "(6, 1, -1)"}}},
                                   {{2, 3, 4}, {{"shape", "(2, 0, 0)"}}},
                                   {{2, 3, 4}, {{"shape", "(-2,)"}}},
                                   {{2, 3, 4}, {{"shape", "(2, -2)"}}},
                                   {{2, 3, 4}, {{"shape", "(-2, 1, 1)"}}},
                                   {{2, 3, 4}, {{"shape", "(-3, 4)"}}},
                                   {{2, 3, 4, 5}, {{"shape", "(-3, -3)"}}},
                                   {{2, 3, 4}, {{"shape", "(-4, 1, 2, -2)"}}},
                                   {{2, 3, 4}, {{"shape", "(2, -4, -1, 3, -2)"}}},
                                   {{10, 5, 4}, {{"shape", "(-1, 0)"}, {"reverse", "True"}}},
                                   {{8, 3, 3, 3, 4, 4}, {{"shape", "(-4, -1, 2, 0, 0, 0, -2)"}}},
                                   {{4, 6, 5, 7}, {{"shape", "(0, 2, 3, -4, 0, 0)"}, {"reverse", "True"}}},
                                   {{2, 3, 4}, {{"target_shape", "(0, 12)"}, {"keep_highest", "True"}}}});
  return {use.attrs, {{{random.Type(AllTypes()), use.data}, Values::kWide}}, {}, Truth::kSameBits};
}

OpCase DrawNpxReshape(Random& random) {
  struct Use {
    Shape data;
    const char* newshape;
  };
  const auto use = random.Of<Use>({{{2, 3, 4}, "(-1,)"},
                                   {{2, 3, 4}, "(-2, -1)"},
                                   {{2, 3, 4}, "[-2, -2, 2, -1]"},
                                   {{1, 3, 4}, "(-3, -4)"},
                                   {{2, 3, 4}, "(-4,)"},
                                   {{2, 3, 4}, "(-5, 4)"},
                                   {{8, 3}, "(-6, 2, -1, -2)"},
                                   {{2, 3, 8}, "(-2, -2, -6, -1, 2)"}});
  return {{{"newshape", use.newshape}}, {{{random.Type(AllTypes()), use.data}, Values::kWide}}, {}, Truth::kSameBits};
}

std::optional<std::int64_t> Position(Random& random, std::int64_t size) {
  if (random.Chance(0.2)) return std::nullopt;
  return random.Int(-size - 1, size + 1);
}

// The library copies parts of bfloat16 tensors as numbers: denormals become zero.
OpCase DrawSlice(Random& random) {
  const int rank = Rank(random, 1, 4);
  OpCase c{{}, {{{random.Type(AllTypes()), random.Sizes(rank, 7)}, Values::kWide}}, {}, Truth::kSelected};
  OptionalIntTuple begin, end, step;
  const bool steps = random.Chance(0.5);
  for (int i = 0; i < random.Int(1, rank); ++i) {
    begin.push_back(Position(random, c.inputs[0].type.shape[i]));
    end.push_back(Position(random, c.inputs[0].type.shape[i]));
    step.push_back(steps ? random.Of({-3, -1, 1, 2, 3}) : 1);
  }
  end.resize(begin.size());
  c.attrs = {{"begin", PrintAttr(begin)}, {"end", PrintAttr(end)}};
  if (steps) c.attrs["step"] = PrintAttr(step);
  return c;
}

OpCase DrawSliceAxis(Random& random) {
  const int rank = Rank(random, 1, 4);
  OpCase c{{}, {{{random.Type(AllTypes()), random.Sizes(rank, 7)}, Values::kWide}}, {}, Truth::kSelected};
  const std::int64_t axis = AnyAxis(random, rank);
  const std::int64_t size = c.inputs[0].type.shape[Normal(axis, rank)];
  c.attrs = {{"axis", PrintAttr(axis)},
             {"begin", PrintAttr(random.Int(-size, size))},
             {"end", PrintAttr(Position(random, size))}};
  return c;
}

OpCase DrawSliceChannel(Random& random) {
  const int rank = Rank(random, 1, 4);
  const std::int64_t axis = AnyAxis(random, rank), parts = random.Int(1, 4);
  const bool squeeze = random.Chance(0.3);
  Shape shape = random.Sizes(rank, 5);
  shape[Normal(axis, rank)] = squeeze ? parts : parts * random.Int(0, 3);
  OpCase c{{}, {{{random.Type(AllTypes()), shape}, Values::kWide}}, {}, Truth::kSelected};
  c.attrs = {{"num_outputs", PrintAttr(parts)}, {"axis", PrintAttr(axis)}, {"squeeze_axis", PrintAttr(squeeze)}};
  return c;
}

OpCase DrawStack(Random& random) {
  OpCase c;
  const std::int64_t count = random.Int(1, 4);
  const TensorType type{random.Type(AllTypes()), random.Sizes(Rank(random, 0, 4), 5)};
  for (std::int64_t i = 0; i < count; ++i) c.inputs.push_back({type, Values::kWide});
  c.attrs = {{"num_args", PrintAttr(count)}, {"axis", PrintAttr(AnyAxis(random, type.shape.rank() + 1))}};
  c.truth = Truth::kSameBits;
  return c;
}

OpCase DrawBroadcastAxis(Random& random) {
  OpCase c = DrawMove(random);
  Shape& shape = c.inputs[0].type.shape;
  IntTuple axes, sizes;
  for (int i = 0; i < shape.rank(); ++i) {
    if (!random.Chance(0.5)) continue;
    shape[i] = 1;
    axes.push_back(random.Chance(0.5) ? i : i - shape.rank());
    sizes.push_back(random.Int(0, 5));
  }
  c.attrs = {{"axis", PrintAttr(axes)}, {"size", PrintAttr(sizes)}};
  return c;
}

OpCase DrawReduce(Random& random, const std::vector<DType>& types) {
  const int rank = Rank(random, 1, 4);
  OpCase c{{}, {{{random.Type(types), Shape()}}}, {}};
  std::vector<std::int64_t> dims;
  for (int i = 0; i < rank; ++i) dims.push_back(random.Int(1, 6));
  c.inputs[0].type.shape = Shape(dims);
  IntTuple axes;
  for (int i = 0; i < rank; ++i) {
    if (random.Chance(0.5)) axes.push_back(random.Chance(0.5) ? i : i - rank);
  }
  if (random.Chance(0.8)) c.attrs["axis"] = PrintAttr(axes);
  Maybe(random, &c.attrs, "keepdims", Flag(random));
  if (!axes.empty() && random.Chance(0.2)) c.attrs["exclude"] = "True";
  c.error.terms = static_cast<double>(c.inputs[0].type.shape.size()) + 2;
  return c;
}

OpCase DrawSum(Random& random) { return DrawReduce(random, AllTypes()); }
OpCase DrawMean(Random& random) { return DrawReduce(random, FloatTypes()); }
OpCase DrawExtreme(Random& random) {
  OpCase c = DrawReduce(random, AllTypes());
  c.error = {};
  c.truth = Truth::kSelected;
  return c;
}

OpCase DrawDot(Random& random) {
  const DType dtype = random.Type(FloatTypes());
  const bool ta = random.Chance(0.4), tb = random.Chance(0.4);
  const std::int64_t m = random.Int(1, 9), k = random.Int(1, 40), n = random.Int(1, 9);
  const Shape a = random.Chance(0.2) ? Shape{k} : ta ? Shape{k, m} : Shape{m, k};
  const Shape b = tb ? Shape{n, k} : Shape{k, n};
  OpCase c{{}, {{{dtype, a}}, {{dtype, b}}}, {}};
  if (ta || random.Chance(0.5)) c.attrs["transpose_a"] = PrintAttr(ta);
  if (tb || random.Chance(0.5)) c.attrs["transpose_b"] = PrintAttr(tb);
  c.error.terms = static_cast<double>(k) + 2;
  return c;
}

OpCase DrawBatchDot(Random& random) {
  const DType dtype = random.Type(FloatTypes());
  const bool ta = random.Chance(0.4), tb = random.Chance(0.4);
  const std::int64_t m = random.Int(1, 9), k = random.Int(1, 40), n = random.Int(1, 9);
  std::vector<std::int64_t> a{random.Size(4)}, b;
  if (random.Chance(0.3)) a.push_back(random.Int(1, 3));
  b = a;
  for (const std::int64_t dim : ta ? IntTuple{k, m} : IntTuple{m, k}) a.push_back(dim);
  for (const std::int64_t dim : tb ? IntTuple{n, k} : IntTuple{k, n}) b.push_back(dim);
  OpCase c{
      {{"transpose_a", PrintAttr(ta)}, {"transpose_b", PrintAttr(tb)}}, {{{dtype, Shape(a)}}, {{dtype, Shape(b)}}}, {}};
  c.error.terms = static_cast<double>(k) + 2;
  return c;
}

OpCase DrawSelfAttention(Random& random, bool values) {
  const std::int64_t heads = random.Int(1, 4), size = random.Int(1, 16), length = random.Int(1, 9),
                     batch = random.Int(1, 3);
  const DType dtype = random.Type(FloatTypes());
  OpCase c{{{"heads", PrintAttr(heads)}}, {{{dtype, Shape{length, batch, heads * 3 * size}}}}, {}};
  if (values) c.inputs.push_back({{dtype, Shape{batch * heads, length, length}}});
  c.error.terms = static_cast<double>(values ? length : size) + 4;
  return c;
}
OpCase DrawSelfAttentionQK(Random& random) { return DrawSelfAttention(random, false); }
OpCase DrawSelfAttentionValAtt(Random& random) { return DrawSelfAttention(random, true); }

// Fused self-attention: heads lie side by side, and the parts beside each other where there are three.
OpCase DrawFusedAttention(Random& random, std::vector<std::int64_t> parts, bool values) {
  const std::int64_t heads = random.Int(1, 4), size = random.Int(1, 16), length = random.Int(1, 9),
                     batch = random.Int(1, 3);
  const DType dtype = random.Type(FloatTypes());
  OpCase c{{{"heads", PrintAttr(heads)}}, {}, {}};
  if (values) c.inputs.push_back({{dtype, Shape{batch, heads, random.Int(1, 9), length}}});
  for (const std::int64_t n : parts) c.inputs.push_back({{dtype, Shape{batch, length, n * heads * size}}});
  c.error.terms = static_cast<double>(values ? length : size) + 4;
  return c;
}
OpCase DrawFusedQK(Random& random) { return DrawFusedAttention(random, {1, 1}, false); }
OpCase DrawFusedQKSplit(Random& random) { return DrawFusedAttention(random, {3}, false); }
OpCase DrawFusedValAtt(Random& random) { return DrawFusedAttention(random, {3}, true); }

OpCase DrawEmbedding(Random& random) {
  const std::int64_t rows = random.Int(1, 12), size = random.Int(1, 6);
  OpCase c{{{"input_dim", PrintAttr(rows)}, {"output_dim", PrintAttr(size)}}, {}, {}, Truth::kSameBits};
  const DType index = random.Of({DType::kInt32, DType::kInt64, DType::kFloat32, DType::kUInt8});
  c.inputs = {{{index, random.Sizes(Rank(random, 0, 3), 5)}, IsFloat(index) ? Values::kPositive : Values::kLengths},
              {{random.Type(AllTypes()), Shape{rows, size}}, Values::kWide}};
  return c;
}

OpCase DrawSequenceMask(Random& random) {
  Shape shape = random.Sizes(Rank(random, 2, 4), 6);
  const std::int64_t axis = random.Int(0, 1);
  OpCase c{{{"axis", PrintAttr(axis)}}, {{{random.Type(AllTypes()), shape}, Values::kWide}}, {}, Truth::kSameBits};
  const bool with_length = random.Chance(0.8);
  c.attrs["use_sequence_length"] = PrintAttr(with_length);
  Maybe(random, &c.attrs, "value", random.Of({"0", "-1.0", "7"}));
  const Shape lengths{shape[axis == 0 ? 1 : 0]};
  if (with_length) c.inputs.push_back({{random.Of({DType::kInt32, DType::kInt64}), lengths}, Values::kLengths});
  return c;
}

OpCase DrawArangeLike(Random& random) {
  const int rank = Rank(random, 1, 3);
  OpCase c{{}, {{{random.Type(FloatTypes()), random.Sizes(rank, 6)}}}, {}, Truth::kSameBits};
  Maybe(random, &c.attrs, "start", random.Of({"0", "1", "-2.5"}));
  Maybe(random, &c.attrs, "step", random.Of({"1", "0.5", "-3"}));
  Maybe(random, &c.attrs, "repeat", random.Of({"1", "2"}));
  c.attrs["axis"] = random.Chance(0.4) ? "None" : PrintAttr(AnyAxis(random, rank));
  return c;
}

OpCase DrawPad(Random& random) {
  const int rank = Rank(random, 2, 5);
  std::vector<std::int64_t> dims;
  IntTuple widths;
  for (int i = 0; i < rank; ++i) {
    dims.push_back(random.Int(3, 6));
    widths.push_back(i < 2 ? 0 : random.Int(0, 2));
    widths.push_back(i < 2 ? 0 : random.Int(0, 2));
  }
  OpCase c{{{"mode", random.Of({"constant", "edge", "reflect"})}, {"pad_width", PrintAttr(widths)}},
           {{{random.Type(AllTypes()), Shape(dims)}, Values::kWide}},
           {},
           Truth::kSameBits};
  Maybe(random, &c.attrs, "constant_value", random.Of({"0", "1.5", "-2"}));
  return c;
}

OpCase DrawUpSampling(Random& random) {
  const std::int64_t scale = random.Int(1, 4), count = random.Of({1, 1, 1, 2});
  const DType dtype = random.Type(FloatTypes());
  const Shape data{random.Int(1, 3), random.Int(1, 20), random.Int(1, 5), random.Int(1, 5)};
  OpCase c{{{"scale", PrintAttr(scale)}, {"sample_type", "nearest"}, {"num_args", PrintAttr(count)}}, {}, {}};
  if (random.Chance(0.3)) {
    const std::int64_t size = 2 * scale - scale % 2;
    c.attrs = {{"scale", PrintAttr(scale)}, {"sample_type", "bilinear"}, {"num_filter", PrintAttr(data[1])}};
    c.inputs = {{{dtype, data}}, {{dtype, Shape{data[1], 1, size, size}}}};
    c.error.terms = 6;
    return c;
  }
  c.attrs["multi_input_mode"] = random.Of({"concat", "sum"});
  for (std::int64_t i = 0; i < count; ++i) c.inputs.push_back({{dtype, data}});
  return c;
}

Shape Images(Random& random) { return Shape{random.Int(1, 2), random.Int(1, 20), random.Int(1, 9), random.Int(1, 9)}; }

OpCase DrawAdaptivePooling(Random& random) {
  OpCase c{{}, {{{random.Type(FloatTypes()), Images(random)}}}, {}};
  if (random.Chance(0.9)) {
    c.attrs["output_size"] = PrintAttr(Tuple(random, Rank(random, 1, 2), 1, 8));
  }
  c.error.terms = 83;
  return c;
}

OpCase DrawBilinear(Random& random) {
  OpCase c{{}, {{{random.Type(FloatTypes()), Images(random)}}}, {}};
  c.attrs = {{"height", PrintAttr(random.Int(1, 12))}, {"width", PrintAttr(random.Int(1, 12))}};
  Maybe(random, &c.attrs, "align_corners", Flag(random));
  if (random.Chance(0.2)) c.attrs["scale_height"] = "2.0";
  if (random.Chance(0.3)) {
    c.attrs["mode"] = random.Of({"odd_scale", "to_even_up", "to_odd_down", "to_odd_up"});
    c.attrs["scale_height"] = c.attrs["scale_width"] = "2.0";
  } else if (random.Chance(0.2)) {
    c.attrs["mode"] = "like";
    c.inputs.push_back({{random.Type(FloatTypes()), Images(random)}});
  }
  c.error.terms = 8;
  return c;
}

OpCase DrawLayerNorm(Random& random) {
  const int rank = Rank(random, 1, 4);
  std::vector<std::int64_t> dims;
  for (int i = 0; i < rank; ++i) dims.push_back(random.Int(2, 12));
  const std::int64_t axis = random.Chance(0.6) ? -1 : AnyAxis(random, rank);
  const DType dtype = random.Type(FloatTypes());
  const DType scale = IsLowPrecision(dtype) && random.Chance(0.5) ? DType::kFloat32 : dtype;
  const Shape line{dims[Normal(axis, rank)]};
  OpCase c{{{"eps", random.Of({"1e-05", "1e-12", "0.1"})}},
           {{{dtype, Shape(dims)}}, {{scale, line}, Values::kPositive}, {{scale, line}}},
           {}};
  if (axis != -1) c.attrs["axis"] = PrintAttr(axis);
  Maybe(random, &c.attrs, "output_mean_var", Flag(random));
  // Two sums over the line, the second one of squares: values of about 4 with a deviation that may be small.
  c.error = {0, 64, 2048};
  return c;
}

OpCase DrawSoftmaxActivation(Random& random) {
  const Shape shape = random.Sizes(Rank(random, 2, 4), 6);
  OpCase c{{}, {{{random.Type(FloatTypes()), shape}}}, {}};
  Maybe(random, &c.attrs, "mode", random.Of({"instance", "channel"}));
  c.error.relative = 40 + static_cast<double>(shape.SizeOf(1, shape.rank()));
  return c;
}

// Exponentials multiply the error of the scores; kernels for bfloat16 round what values are weighted by. The hidden
// accumulator is a sum over the keys.
ErrorModel AttentionError(DType dtype, std::int64_t size, std::int64_t keys, double scale) {
  constexpr double kLargest = 4, kBF16Rounding = 0x1p16;
  const double scores = kLargest * kLargest * scale * static_cast<double>(size);
  const double relative = 2 * static_cast<double>(size + 4) * scores + static_cast<double>(2 * keys + 64);
  const double rounding = dtype == DType::kBFloat16 ? kBF16Rounding : 0;
  return {0, 0, kLargest * (relative * static_cast<double>(keys + 1) + rounding)};
}

// Maybe, with any row offset or that of the operator.
void MakeCausal(Random& random, std::int64_t keys, OpCase* c) {
  if (random.Chance(0.5)) return;
  c->attrs["causal"] = "True";
  if (random.Chance(0.5)) c->attrs["row_offset"] = PrintAttr(random.Int(-keys - 1, keys + 1));
}

OpCase DrawAttention(Random& random) {
  const DType dtype = random.Type(FloatTypes());
  const Shape heads = random.Sizes(Rank(random, 1, 3), 3);
  const std::int64_t m = random.Size(9), n = random.Size(9), size = random.Size(20), value_size = random.Size(20);
  const double scale = random.Of({1.0, 0.5, 0.125});
  const auto with = [&](std::vector<std::int64_t> last) {
    std::vector<std::int64_t> dims = heads.dims();
    dims.insert(dims.end(), last.begin(), last.end());
    return Shape(dims);
  };
  OpCase c{{{"scale", PrintAttr(scale)}},
           {{{dtype, with({m, size})}}, {{dtype, with({n, size})}}, {{dtype, with({n, value_size})}}},
           AttentionError(dtype, size, n, scale)};
  MakeCausal(random, n, &c);
  const std::string masking = random.Of({"none", "length", "mask"});
  if (masking != "none" || random.Chance(0.5)) c.attrs["masking"] = masking;
  if (masking == "length") {
    c.inputs.push_back({{random.Of({DType::kInt32, DType::kInt32, DType::kInt64}), with({m})}, Values::kLengths});
  } else if (masking == "mask") {
    Shape mask = with({m, n});
    for (int i = 0; i + 1 < mask.rank(); ++i) mask[i] = random.Chance(0.3) ? 1 : mask[i];
    c.inputs.push_back({{random.Of({DType::kBool, DType::kInt32}), mask}});
  }
  return c;
}

OpCase DrawInterleavedAttention(Random& random) {
  const DType dtype = random.Type(FloatTypes());
  const std::int64_t heads = random.Int(1, 4), size = random.Size(20), length = random.Size(9), batch = random.Size(3);
  const double scale = random.Of({1.0, 0.5, 0.125});
  const bool has_lengths = random.Chance(0.5);
  OpCase c{{{"heads", PrintAttr(heads)}, {"scale", PrintAttr(scale)}, {"masking", has_lengths ? "length" : "none"}},
           {{{dtype, Shape{length, batch, heads * 3 * size}}}},
           AttentionError(dtype, size, length, scale)};
  MakeCausal(random, length, &c);
  if (has_lengths) c.inputs.push_back({{DType::kInt32, Shape{batch * heads, length}}, Values::kLengths});
  return c;
}

// Grouped heads, either layout, any order of blocks. P is rounded to what the operator is told.
OpCase DrawContribAttention(Random& random) {
  const DType dtype = random.Type(FloatTypes());
  const std::int64_t batch = random.Size(3), m = random.Size(9), n = random.Size(9), kv_heads = random.Int(1, 3);
  const std::int64_t heads = kv_heads * random.Int(1, 3), size = random.Size(20), value_size = random.Size(20);
  const bool batch_first = random.Chance(0.5);
  const auto shape = [&](std::int64_t rows, std::int64_t of_heads, std::int64_t of_size) {
    return batch_first ? Shape{batch, rows, of_heads, of_size} : Shape{rows, batch, of_heads, of_size};
  };
  OpCase c{{},
           {{{dtype, shape(m, heads, size)}},
            {{dtype, shape(n, kv_heads, size)}},
            {{dtype, shape(n, kv_heads, value_size)}}},
           {}};
  double scale = 1;
  if (random.Chance(0.5)) {
    scale = random.Of({1.0, 0.5, 0.125});
    c.attrs["scale"] = PrintAttr(scale);
  }
  const bool rounds_p = dtype == DType::kBFloat16 || dtype == DType::kFloat16;
  c.error = AttentionError(rounds_p ? DType::kBFloat16 : dtype, size, n, scale);
  if (!batch_first || random.Chance(0.5)) c.attrs["layout"] = batch_first ? "bshd" : "sbhd";
  Maybe(random, &c.attrs, "causal", PrintAttr(random.Chance(0.5)));
  Maybe(random, &c.attrs, "p_dtype", random.Of({"bfloat16", "float16", "float32"}));
  Maybe(random, &c.attrs, "key_block", PrintAttr(random.Int(0, 4)));
  Maybe(random, &c.attrs, "last_key_first", PrintAttr(random.Chance(0.5)));
  return c;
}

// One rank: the whole sequence. It has kernels for both backends.
OpCase DrawRingAttention(Random& random) {
  const DType dtype = random.Type(FloatTypes());
  const std::string sums = dtype == DType::kFloat64 ? "float32" : NameOf(dtype);
  const std::int64_t batch = random.Size(3), rows = 2 * random.Int(1, 5), kv_heads = random.Int(1, 3);
  const std::int64_t heads = kv_heads * random.Int(1, 3), size = random.Size(20), value_size = random.Size(20);
  const bool batch_first = random.Chance(0.5);
  const auto shape = [&](std::int64_t of_heads, std::int64_t of_size) {
    return batch_first ? Shape{batch, rows, of_heads, of_size} : Shape{rows, batch, of_heads, of_size};
  };
  OpCase c{{{"scale", "0.125"}},
           {{{dtype, shape(heads, size)}}, {{dtype, shape(kv_heads, size)}}, {{dtype, shape(kv_heads, value_size)}}},
           AttentionError(IsLowPrecision(dtype) ? DType::kBFloat16 : dtype, size, rows, 0.125)};
  if (!batch_first || random.Chance(0.5)) c.attrs["layout"] = batch_first ? "bshd" : "sbhd";
  Maybe(random, &c.attrs, "causal", PrintAttr(random.Chance(0.5)));
  Maybe(random, &c.attrs, "p_dtype", random.Of({"bfloat16", "float32"}));
  Maybe(random, &c.attrs, "accum_dtype", random.Of({std::string("float32"), sums}));
  Maybe(random, &c.attrs, "partial_dtype", random.Of({std::string("float32"), sums}));
  if (random.Chance(0.3)) c.attrs["merge"] = "lse";
  Maybe(random, &c.attrs, "key_block", PrintAttr(random.Int(0, 4)));
  Maybe(random, &c.attrs, "last_key_first", PrintAttr(random.Chance(0.5)));
  return c;
}

OpCase DrawDeconvolution(Random& random) {
  OpCase c;
  const int n = Rank(random, 1, 3);
  const IntTuple kernel = Tuple(random, n, 1, n == 3 ? 3 : 4), stride = Tuple(random, n, 1, 3);
  IntTuple pad, adj, spatial;
  double window = 1;
  for (int i = 0; i < n; ++i) {
    pad.push_back(random.Int(0, (kernel[i] - 1) / 2));
    adj.push_back(random.Int(0, stride[i] - 1));
    spatial.push_back(random.Int(2, n == 3 ? 3 : 6));
    window *= static_cast<double>(kernel[i]);
  }
  const std::int64_t groups = random.Of({1, 1, 2, 4});
  const std::int64_t channels = groups * random.Int(1, 8), filters = groups * random.Int(1, 8);
  c.attrs = {{"kernel", PrintAttr(kernel)}, {"num_filter", PrintAttr(filters)}, {"num_group", PrintAttr(groups)}};
  c.attrs["stride"] = PrintAttr(stride);
  Maybe(random, &c.attrs, "pad", PrintAttr(pad));
  if (random.Chance(0.4)) c.attrs["adj"] = PrintAttr(adj);
  const bool no_bias = random.Chance(0.6);
  if (!no_bias || random.Chance(0.5)) c.attrs["no_bias"] = PrintAttr(no_bias);
  const DType dtype = random.Type(FloatTypes());
  std::vector<std::int64_t> data{random.Int(1, 2), channels}, weight{channels, filters / groups};
  data.insert(data.end(), spatial.begin(), spatial.end());
  weight.insert(weight.end(), kernel.begin(), kernel.end());
  c.inputs = {{{dtype, Shape(data)}}, {{dtype, Shape(weight)}}};
  if (!no_bias) c.inputs.push_back({{dtype, Shape{filters}}});
  c.error.terms = window * static_cast<double>(channels / groups) + 2;
  return c;
}

}  // namespace

const std::vector<OpRow>& ArrayOpRows() {
  static const std::vector<OpRow> rows{
      {"BlockGrad", DrawMove},
      {"Deconvolution", DrawDeconvolution},
      {"Embedding", DrawEmbedding},
      {"LayerNorm", DrawLayerNorm},
      {"Pad", DrawPad},
      {"Reshape", DrawReshape},
      {"SequenceMask", DrawSequenceMask},
      {"SliceChannel", DrawSliceChannel},
      {"SoftmaxActivation", DrawSoftmaxActivation},
      {"SwapAxis", DrawSwapAxis},
      {"UpSampling", DrawUpSampling},
      {"_amp_attention", DrawAttention},
      {"_amp_interleaved_attention", DrawInterleavedAttention},
      {"_contrib_AdaptiveAvgPooling2D", DrawAdaptivePooling},
      {"_contrib_BilinearResize2D", DrawBilinear},
      {"_contrib_arange_like", DrawArangeLike},
      {"_contrib_attention", DrawContribAttention},
      {"_contrib_interleaved_matmul_selfatt_qk", DrawSelfAttentionQK},
      {"_contrib_interleaved_matmul_selfatt_valatt", DrawSelfAttentionValAtt},
      {"_contrib_ring_attention", DrawRingAttention},
      {"_copy", DrawMove},
      {"_npi_add", DrawMixed},
      {"_npi_multiply", DrawMixed},
      {"_npi_squeeze", DrawSqueeze},
      {"_npi_subtract", DrawDifference},
      {"_npi_transpose", DrawTranspose},
      {"_npi_true_divide", DrawMixed},
      {"_npx_reshape", DrawNpxReshape},
      {"_sg_onednn_selfatt_qk", DrawFusedQK},
      {"_sg_onednn_selfatt_qk_split", DrawFusedQKSplit},
      {"_sg_onednn_selfatt_valatt", DrawFusedValAtt},
      {"abs", DrawAbs},
      {"arctan", DrawFunction},
      {"batch_dot", DrawBatchDot},
      {"broadcast_add", DrawBroadcast},
      {"broadcast_axis", DrawBroadcastAxis},
      {"broadcast_div", DrawBroadcast},
      {"broadcast_equal", DrawCompare},
      {"broadcast_greater", DrawCompare},
      {"broadcast_greater_equal", DrawCompare},
      {"_contrib_round_ste", DrawStep},
      {"_contrib_sign_ste", DrawSign},
      {"broadcast_lesser", DrawCompare},
      {"broadcast_lesser_equal", DrawCompare},
      {"broadcast_maximum", DrawBroadcast},
      {"broadcast_minimum", DrawBroadcast},
      {"broadcast_mod", DrawCompare},
      {"broadcast_mul", DrawBroadcast},
      {"broadcast_not_equal", DrawCompare},
      {"broadcast_power", DrawPower},
      {"broadcast_sub", DrawBroadcast},
      {"cbrt", DrawFunction},
      {"ceil", DrawStep},
      {"cos", DrawFunction},
      {"dot", DrawDot},
      {"elemwise_div", DrawEqualShapes},
      {"elemwise_mul", DrawEqualShapes},
      {"elemwise_sub", DrawEqualShapes},
      {"erf", DrawFunction},
      {"exp", DrawFunction},
      {"expand_dims", DrawExpandDims},
      {"expm1", DrawFunction},
      {"fix", DrawStep},
      {"floor", DrawStep},
      {"log", DrawLog},
      {"log10", DrawLog},
      {"log1p", DrawRatio},
      {"log2", DrawLog},
      {"max", DrawExtreme},
      {"mean", DrawMean},
      {"min", DrawExtreme},
      {"negative", DrawSign},
      {"_float_ones_like", DrawFillLike},
      {"ones_like", DrawFillLike},
      {"reciprocal", DrawRatio},
      {"relu", DrawRelu},
      {"khatri_rao", DrawKhatriRao},
      {"rint", DrawStep},
      {"round", DrawStep},
      {"rsqrt", DrawRatio},
      {"sigmoid", DrawFunction},
      {"sign", DrawSign},
      {"sin", DrawFunction},
      {"slice", DrawSlice},
      {"slice_axis", DrawSliceAxis},
      {"softsign", DrawFunction},
      {"sqrt", DrawSqrt},
      {"square", DrawSquare},
      {"squeeze", DrawSqueeze},
      {"stack", DrawStack},
      {"sum", DrawSum},
      {"tanh", DrawFunction},
      {"transpose", DrawTranspose},
      {"trunc", DrawStep},
      {"zeros_like", DrawFillLike},
  };
  return rows;
}

}  // namespace amp::testing
