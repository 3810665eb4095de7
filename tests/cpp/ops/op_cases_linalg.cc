// Rows of operators on matrices, of windows as columns, and of sequence losses.
#include <algorithm>

#include "draw.h"

namespace amp::testing {
namespace {

// Leading axes, perhaps none, and a matrix behind them.
Shape Matrices(const Shape& leading, std::int64_t rows, std::int64_t columns) {
  std::vector<std::int64_t> dims = leading.dims();
  dims.insert(dims.end(), {rows, columns});
  return Shape(dims);
}
Shape Leading(Random& random) { return random.Sizes(static_cast<int>(random.Int(0, 2)), 3); }

OpCase DrawGemm(Random& random) {
  OpCase c;
  const Shape leading = Leading(random);
  const std::int64_t m = random.Int(1, 5), k = random.Int(1, 5), n = random.Int(1, 5);
  const bool transpose_a = random.Chance(0.5), transpose_b = random.Chance(0.5);
  c.attrs = {{"transpose_a", PrintAttr(transpose_a)}, {"transpose_b", PrintAttr(transpose_b)}};
  Maybe(random, &c.attrs, "alpha", random.Of({"2", "-0.5"}));
  Maybe(random, &c.attrs, "beta", random.Of({"0", "3"}));
  const DType dtype = random.Type(FloatTypes());
  c.inputs = {{{dtype, transpose_a ? Matrices(leading, k, m) : Matrices(leading, m, k)}},
              {{dtype, transpose_b ? Matrices(leading, n, k) : Matrices(leading, k, n)}},
              {{dtype, Matrices(leading, m, n)}}};
  c.error = {8, 8, 64};
  return c;
}

OpCase DrawSyrk(Random& random) {
  OpCase c;
  Maybe(random, &c.attrs, "transpose", Flag(random));
  Maybe(random, &c.attrs, "alpha", random.Of({"2", "-0.5"}));
  c.inputs = {{{random.Type(FloatTypes()), Matrices(Leading(random), random.Int(1, 5), random.Int(1, 5))}}};
  c.error = {8, 8, 64};
  return c;
}

// Positive triangles, whose solutions do not grow out of bounds.
OpCase DrawTriangular(Random& random) {
  OpCase c;
  const Shape leading = Leading(random);
  const std::int64_t size = random.Int(1, 4), other = random.Int(1, 4);
  const bool right = random.Chance(0.5);
  c.attrs["rightside"] = PrintAttr(right);
  Maybe(random, &c.attrs, "transpose", Flag(random));
  Maybe(random, &c.attrs, "lower", Flag(random));
  Maybe(random, &c.attrs, "alpha", random.Of({"2", "-0.5"}));
  const DType dtype = random.Type(FloatTypes());
  c.inputs = {{{dtype, Matrices(leading, size, size)}, Values::kPositive},
              {{dtype, right ? Matrices(leading, other, size) : Matrices(leading, size, other)}}};
  c.error = {8, 8, 64};
  return c;
}

OpCase DrawSquareMatrix(Random& random) {
  const std::int64_t size = random.Int(1, 4);
  OpCase c;
  c.inputs = {{{random.Type(FloatTypes()), Matrices(Leading(random), size, size)}, Values::kPositive}};
  c.error = {0, 16, 64};
  return c;
}

OpCase DrawFactored(Random& random) {
  OpCase c = DrawSquareMatrix(random);
  Maybe(random, &c.attrs, "lower", Flag(random));
  return c;
}

OpCase DrawSymmetric(Random& random) {
  OpCase c = DrawSquareMatrix(random);
  c.inputs[0].values = Values::kDefinite;
  return c;
}

OpCase DrawDefinite(Random& random) {
  OpCase c = DrawFactored(random);
  c.inputs[0].values = Values::kDefinite;
  return c;
}

OpCase DrawWide(Random& random) {
  OpCase c = DrawSquareMatrix(random);
  Shape& shape = c.inputs[0].type.shape;
  shape[shape.rank() - 1] += random.Int(0, 3);
  c.inputs[0].values = Values::kPlain;
  return c;
}

OpCase DrawExtract(Random& random) {
  OpCase c = DrawSquareMatrix(random);
  const std::int64_t last = c.inputs[0].type.shape.dims().back() - 1;
  Maybe(random, &c.attrs, "offset", PrintAttr(random.Int(-last, last)));
  c.inputs[0].values = Values::kWide;
  c.truth = Truth::kSameBits;
  return c;
}

OpCase DrawMakeDiagonal(Random& random) {
  OpCase c;
  Maybe(random, &c.attrs, "offset", PrintAttr(random.Int(-2, 2)));
  c.inputs = {{{random.Type(FloatTypes()), random.Sizes(static_cast<int>(random.Int(1, 3)), 4)}, Values::kWide}};
  c.truth = Truth::kSameBits;
  return c;
}

OpCase DrawMakeTriangle(Random& random) {
  OpCase c = DrawMakeDiagonal(random);
  Maybe(random, &c.attrs, "lower", Flag(random));
  Shape& shape = c.inputs[0].type.shape;
  shape[shape.rank() - 1] = random.Of<std::int64_t>({1, 3, 6});
  return c;
}

OpCase DrawColumns(Random& random) {
  const int axes = static_cast<int>(random.Int(1, 3));
  const IntTuple kernel = Tuple(random, axes, 1, 3), stride = Tuple(random, axes, 1, 2),
                 dilate = Tuple(random, axes, 1, 2), pad = Tuple(random, axes, 0, 1);
  OpCase c{{{"kernel", PrintAttr(kernel)}}, {}, {}};
  c.attrs["stride"] = PrintAttr(stride);
  c.attrs["dilate"] = PrintAttr(dilate);
  c.attrs["pad"] = PrintAttr(pad);
  std::vector<std::int64_t> dims{random.Int(1, 2), random.Int(1, 3)};
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    dims.push_back(std::max<std::int64_t>(1, (kernel[i] - 1) * dilate[i] + 1 - 2 * pad[i]) + random.Int(0, 3));
  }
  c.inputs = {{{random.Type(FloatTypes()), Shape(dims)}, Values::kWide}};
  c.truth = Truth::kSameBits;
  return c;
}

OpCase DrawImage(Random& random) {
  OpCase c = DrawColumns(random);
  const Shape image = c.inputs[0].type.shape;
  IntTuple kernel, stride, dilate, pad;
  ParseAttr(c.attrs["kernel"], &kernel);
  ParseAttr(c.attrs["stride"], &stride);
  ParseAttr(c.attrs["dilate"], &dilate);
  ParseAttr(c.attrs["pad"], &pad);
  std::int64_t windows = 1, elements = 1;
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    const std::int64_t extent = (kernel[i] - 1) * dilate[i] + 1;
    windows *= (image[static_cast<int>(i) + 2] + 2 * pad[i] - extent) / stride[i] + 1;
    elements *= kernel[i];
  }
  c.attrs["output_size"] = PrintAttr(IntTuple(image.dims().begin() + 2, image.dims().end()));
  c.inputs = {{{c.inputs[0].type.dtype, Shape{image[0], image[1] * elements, windows}}}};
  c.error = {static_cast<double>(elements), 2, 0};
  c.truth = Truth::kWide;
  return c;
}

// Labels of kPositive are at most 4, those of kLengths at most 11 and end before -1.
OpCase DrawCtc(Random& random) {
  OpCase c;
  const std::int64_t steps = random.Int(5, 8), batch = random.Size(3), labels = random.Int(5, 6);
  const bool last = random.Chance(0.5), with_lengths = last && random.Chance(0.5);
  c.attrs["blank_label"] = last ? "last" : "first";
  c.inputs = {{{random.Type(FloatTypes()), Shape{steps, batch, 13}}},
              last && !with_lengths ? InputCase{{DType::kInt32, Shape{batch, labels}}, Values::kLengths}
                                    : InputCase{{DType::kFloat32, Shape{batch, labels}}, Values::kPositive}};
  const InputCase lengths{{DType::kFloat32, Shape{batch}}, Values::kPositive};
  if (random.Chance(0.5)) {
    c.attrs["use_data_lengths"] = "True";
    c.inputs.push_back(lengths);
  }
  if (with_lengths) {
    c.attrs["use_label_lengths"] = "True";
    c.inputs.push_back(lengths);
  }
  c.error = {0, 64, 256};
  return c;
}

}  // namespace

const std::vector<OpRow>& LinearAlgebraOpRows() {
  static const std::vector<OpRow> rows{
      {"CTCLoss", DrawCtc},
      {"_linalg_det", DrawSquareMatrix},
      {"_linalg_extractdiag", DrawExtract},
      {"_linalg_extracttrian", DrawExtract},
      {"_linalg_gelqf", DrawWide},
      {"_linalg_gemm", DrawGemm},
      {"_linalg_inverse", DrawSquareMatrix},
      {"_linalg_makediag", DrawMakeDiagonal},
      {"_linalg_maketrian", DrawMakeTriangle},
      {"_linalg_potrf", DrawDefinite},
      {"_linalg_potri", DrawFactored},
      {"_linalg_slogdet", DrawSquareMatrix},
      {"_linalg_sumlogdiag", DrawSquareMatrix},
      {"_linalg_syevd", DrawSymmetric},
      {"_linalg_syrk", DrawSyrk},
      {"_linalg_trmm", DrawTriangular},
      {"_linalg_trsm", DrawTriangular},
      {"col2im", DrawImage},
      {"im2col", DrawColumns},
  };
  return rows;
}

}  // namespace amp::testing
