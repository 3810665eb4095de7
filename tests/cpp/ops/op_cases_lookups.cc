// Rows of operators that repeat, select, order and look up elements, follow another array's shape or make arrays, and
// of functions of 2.0.
#include <algorithm>

#include "draw.h"

namespace amp::testing {
namespace {

OpCase DrawTile(Random& random) {
  OpCase c = AnyMove(random);
  c.attrs["reps"] = PrintAttr(Tuple(random, static_cast<int>(random.Int(1, 4)), random.Chance(0.1) ? 0 : 1, 3));
  return c;
}

OpCase DrawRepeat(Random& random) {
  OpCase c = AnyMove(random);
  c.attrs["repeats"] = PrintAttr(random.Int(1, 4));
  if (random.Chance(0.7)) c.attrs["axis"] = PrintAttr(AnyAxis(random, c.inputs[0].type.shape.rank()));
  return c;
}

OpCase DrawReverse(Random& random) {
  OpCase c = AnyMove(random);
  const int rank = c.inputs[0].type.shape.rank();
  c.attrs["axis"] = PrintAttr(IntTuple{AnyAxis(random, rank), AnyAxis(random, rank)});
  return c;
}

OpCase DrawSliceLike(Random& random) {
  OpCase c = AnyMove(random);
  Shape like = c.inputs[0].type.shape;
  IntTuple axes;
  for (int i = 0; i < like.rank(); ++i) {
    like[i] = random.Int(std::min<std::int64_t>(1, like[i]), like[i]);
    if (random.Chance(0.5)) axes.push_back(random.Chance(0.5) ? i : i - like.rank());
  }
  if (!axes.empty()) c.attrs["axes"] = PrintAttr(axes);
  c.inputs.push_back(AnyInput(random, like));
  c.truth = Truth::kSelected;  // as slice
  return c;
}

OpCase DrawReshapeLike(Random& random) {
  OpCase c = AnyMove(random);
  Shape like = c.inputs[0].type.shape;
  if (like.rank() > 1 && random.Chance(0.5)) {
    c.attrs = {{"lhs_begin", "0"}, {"lhs_end", "2"}, {"rhs_begin", "-2"}, {"rhs_end", "-1"}};
    like = Shape{3, like[0] * like[1], 5};
  }
  c.inputs.push_back(AnyInput(random, like));
  return c;
}

OpCase DrawBroadcastLike(Random& random) {
  OpCase c = AnyMove(random);
  Shape& data = c.inputs[0].type.shape;
  const Shape like = data;
  for (int i = 0; i < data.rank(); ++i) {
    if (random.Chance(0.5)) data[i] = 1;
  }
  if (random.Chance(0.3)) {
    data[0] = like[0];
    c.attrs = {{"lhs_axes", "(-1,)"}, {"rhs_axes", PrintAttr(IntTuple{data.rank() - 1})}};
  }
  c.inputs.push_back(AnyInput(random, like));
  return c;
}

OpCase DrawShapeArray(Random& random) { return AnyMove(random); }

OpCase DrawWhere(Random& random) {
  OpCase c = AnyMove(random);
  const InputCase x = c.inputs[0];
  const Shape rows{x.type.shape[0]};
  c.inputs = {{{random.Of(AllTypes()), random.Chance(0.5) ? rows : x.type.shape}, Values::kPlain}, x, x};
  if (!IsFloat(c.inputs[0].type.dtype)) c.inputs[0].values = Values::kLengths;
  return c;
}

OpCase DrawNpiWhere(Random& random) {
  OpCase c = AnyMove(random);
  const InputCase x = c.inputs[0];
  InputCase y = x, condition = AnyInput(random, x.type.shape);
  for (int i = 0; i < x.type.shape.rank(); ++i) {
    if (random.Chance(0.3)) y.type.shape[i] = 1;
    if (random.Chance(0.3)) condition.type.shape[i] = 1;
  }
  c.inputs = {condition, x, y};
  return c;
}

// Indices count from either end; those of unsigned types are small.
OpCase DrawGatherNd(Random& random) {
  const std::int64_t named = random.Int(1, 2);
  std::vector<std::int64_t> dims{12, 12, random.Int(1, 4)};
  OpCase c{{}, {AnyInput(random, Shape(dims))}, {}, Truth::kSameBits};
  c.inputs.push_back(
      {{random.Of({DType::kInt32, DType::kInt64, DType::kInt8}), Shape{named, random.Int(0, 5)}}, Values::kLengths});
  return c;
}

OpCase DrawTake(Random& random) {
  OpCase c = AnyMove(random);
  Shape& data = c.inputs[0].type.shape;
  for (int i = 0; i < data.rank(); ++i) data[i] = std::max<std::int64_t>(data[i], 1);
  if (random.Chance(0.7)) c.attrs["axis"] = PrintAttr(AnyAxis(random, data.rank()));
  Maybe(random, &c.attrs, "mode", random.Of({"clip", "wrap"}));
  c.inputs.push_back({{random.Of({DType::kInt32, DType::kFloat32}), random.Sizes(2, 4)}, Values::kLengths});
  return c;
}

OpCase DrawOneHot(Random& random) {
  OpCase c{{{"depth", PrintAttr(random.Int(1, 8))}}, {}, {}, Truth::kSameBits};
  Maybe(random, &c.attrs, "on_value", "2");
  Maybe(random, &c.attrs, "off_value", "3");
  Maybe(random, &c.attrs, "dtype", NameOf(random.Of(AllTypes())));
  c.inputs = {{{random.Of({DType::kInt32, DType::kInt64}), random.Sizes(2, 4)}, Values::kLengths}};
  return c;
}

OpCase DrawFill(Random& random) {
  OpCase c{{{"shape", PrintAttr(Tuple(random, static_cast<int>(random.Int(1, 4)), 0, 4))}}, {}, {}, Truth::kSameBits};
  Maybe(random, &c.attrs, "dtype", NameOf(random.Of(AllTypes())));
  return c;
}

OpCase DrawArange(Random& random) {
  OpCase c{{{"start", PrintAttr(random.Int(0, 9))}}, {}, {}, Truth::kSameBits};
  Maybe(random, &c.attrs, "stop", random.Of({"None", "12", "9.5"}));
  Maybe(random, &c.attrs, "step", random.Of({"1", "2", "0.5", "-1"}));
  Maybe(random, &c.attrs, "repeat", PrintAttr(random.Int(1, 3)));
  Maybe(random, &c.attrs, "dtype", NameOf(random.Of(AllTypes())));
  return c;
}

OpCase DrawAddN(Random& random) {
  const InputCase one{{random.Type(AllTypes()), random.Sizes(static_cast<int>(random.Int(0, 5)), 6)}};
  OpCase c;
  c.inputs.assign(static_cast<std::size_t>(random.Int(1, 5)), one);
  c.attrs["num_args"] = PrintAttr(static_cast<std::int64_t>(c.inputs.size()));
  c.error.terms = static_cast<double>(c.inputs.size());
  return c;
}

// Values that occur twice, so that their order matters.
OpCase Sortable(Random& random) {
  const int rank = static_cast<int>(random.Int(1, 4));
  Shape shape = random.Sizes(rank, 6);
  for (int i = 0; i < rank; ++i) shape[i] = std::max<std::int64_t>(shape[i], 1);
  OpCase c{{}, {{{random.Type(AllTypes()), shape}}}, {}, Truth::kSameBits};
  c.attrs["axis"] = random.Chance(0.2) ? "None" : PrintAttr(AnyAxis(random, rank));
  return c;
}

OpCase DrawArg(Random& random) {
  OpCase c = Sortable(random);
  Maybe(random, &c.attrs, "keepdims", Flag(random));
  return c;
}

OpCase DrawArgSort(Random& random) {
  OpCase c = Sortable(random);
  Maybe(random, &c.attrs, "is_ascend", Flag(random));
  Maybe(random, &c.attrs, "dtype", random.Of({"int32", "float32"}));
  return c;
}

OpCase DrawTopK(Random& random) {
  OpCase c = DrawArgSort(random);
  Maybe(random, &c.attrs, "k", random.Of({"0", "1"}));
  Maybe(random, &c.attrs, "ret_typ", random.Of({"value", "indices", "mask", "both"}));
  return c;
}

OpCase DrawL2Normalization(Random& random) {
  const Shape shape = random.Sizes(static_cast<int>(random.Int(3, 5)), 5);
  OpCase c{{}, {{{random.Type(FloatTypes()), shape}}}, {0, static_cast<double>(shape.size()) + 4, 0}};
  Maybe(random, &c.attrs, "mode", random.Of({"instance", "channel", "spatial"}));
  Maybe(random, &c.attrs, "eps", random.Of({"1e-10", "1"}));
  return c;
}

OpCase DrawSplit(Random& random) {
  OpCase c = AnyMove(random);
  const int rank = c.inputs[0].type.shape.rank();
  const std::int64_t axis = AnyAxis(random, rank), parts = random.Int(1, 3);
  c.inputs[0].type.shape[Normal(axis, rank)] = random.Int(0, 9);
  c.attrs["axis"] = PrintAttr(axis);
  if (random.Chance(0.5)) {
    c.attrs["sections"] = PrintAttr(parts);
  } else {
    c.attrs["indices"] = random.Of({"(0, 2)", "[0,1,3]", "(0, -1)", "(0, 9)"});
  }
  c.truth = Truth::kSelected;  // as slice
  return c;
}

OpCase DrawBroadcastTo(Random& random) {
  OpCase c = AnyMove(random);
  Shape& data = c.inputs[0].type.shape;
  for (int i = 0; i < data.rank(); ++i) data[i] = std::max<std::int64_t>(data[i], 1);
  IntTuple shape = data.dims();
  for (int i = 0; i < data.rank(); ++i) {
    if (random.Chance(0.5)) data[i] = 1;
  }
  if (random.Chance(0.3)) shape.insert(shape.begin(), 2);
  c.attrs["shape"] = PrintAttr(shape);
  return c;
}

OpCase DrawFullLike(Random& random) {
  OpCase c = AnyMove(random);
  c.attrs["fill_value"] = random.Of({"0", "1.5", "7"});
  Maybe(random, &c.attrs, "dtype", NameOf(random.Of(AllTypes())));
  return c;
}

OpCase DrawNpiReduce(Random& random, const std::vector<DType>& types) {
  OpCase c = Sortable(random);
  c.inputs[0].type.dtype = random.Type(types);
  Maybe(random, &c.attrs, "keepdims", Flag(random));
  c.truth = Truth::kWide;
  c.error.terms = static_cast<double>(c.inputs[0].type.shape.size()) + 2;
  return c;
}

OpCase DrawNpiExtreme(Random& random) {
  OpCase c = DrawNpiReduce(random, AllTypes());
  c.error = {};
  c.truth = Truth::kSelected;
  return c;
}

OpCase DrawNpiSum(Random& random) { return DrawNpiReduce(random, AllTypes()); }
OpCase DrawNpiMean(Random& random) { return DrawNpiReduce(random, FloatTypes()); }
OpCase DrawProduct(Random& random) {
  OpCase c = DrawNpiReduce(random, FloatTypes());
  c.error.relative = c.error.terms;
  c.error.terms = 0;
  c.inputs[0].values = Values::kPositive;
  return c;
}

OpCase DrawMaskedSoftmax(Random& random) {
  const int rank = static_cast<int>(random.Int(1, 4));
  const TensorType data{random.Type(FloatTypes()), random.Sizes(rank, 6)};
  OpCase c{{{"axis", PrintAttr(AnyAxis(random, rank))}}, {{data}, {{DType::kBool, data.shape}}}, {0, 64, 0}};
  Maybe(random, &c.attrs, "temperature", random.Of({"1", "0.5", "3"}));
  Maybe(random, &c.attrs, "normalize", Flag(random));
  return c;
}

OpCase DrawMaskedLogSoftmax(Random& random) {
  OpCase c = DrawMaskedSoftmax(random);
  c.error.absolute = 256;
  return c;
}

}  // namespace

const std::vector<OpRow>& LookupOpRows() {
  static const std::vector<OpRow> rows{
      {"L2Normalization", DrawL2Normalization},
      {"_arange", DrawArange},
      {"_npi_broadcast_to", DrawBroadcastTo},
      {"_npi_full_like", DrawFullLike},
      {"_npi_max", DrawNpiExtreme},
      {"_npi_mean", DrawNpiMean},
      {"_npi_min", DrawNpiExtreme},
      {"_npi_prod", DrawProduct},
      {"_npi_sum", DrawNpiSum},
      {"_npi_where", DrawNpiWhere},
      {"_ones", DrawFill},
      {"_split_v2", DrawSplit},
      {"_zeros", DrawFill},
      {"add_n", DrawAddN},
      {"argmax", DrawArg},
      {"argmin", DrawArg},
      {"argsort", DrawArgSort},
      {"broadcast_like", DrawBroadcastLike},
      {"broadcast_to", DrawBroadcastTo},
      {"gather_nd", DrawGatherNd},
      {"masked_log_softmax", DrawMaskedLogSoftmax},
      {"masked_softmax", DrawMaskedSoftmax},
      {"one_hot", DrawOneHot},
      {"prod", DrawProduct},
      {"repeat", DrawRepeat},
      {"reshape_like", DrawReshapeLike},
      {"reverse", DrawReverse},
      {"shape_array", DrawShapeArray},
      {"slice_like", DrawSliceLike},
      {"take", DrawTake},
      {"tile", DrawTile},
      {"topk", DrawTopK},
      {"where", DrawWhere},
  };
  return rows;
}

}  // namespace amp::testing
