// Rows of NumPy's products over named axes, of diagonals, of what has no inputs, and of pictures.
#include <algorithm>

#include "draw.h"

namespace amp::testing {
namespace {

std::vector<std::int64_t> Sizes(Random& random, int low_rank, int high_rank) {
  return random.Sizes(static_cast<int>(random.Int(low_rank, high_rank)), 4).dims();
}

OpCase Sums(Random& random, std::vector<Shape> shapes, std::int64_t terms) {
  const DType dtype = random.Type(FloatTypes());
  OpCase c;
  for (Shape& shape : shapes) c.inputs.push_back({{dtype, std::move(shape)}});
  c.error = {static_cast<double>(terms) + 8, 0, 0};
  return c;
}

OpCase DrawTensorDotIntAxes(Random& random) {
  const std::vector<std::int64_t> inner = Sizes(random, 0, 2), rows = Sizes(random, 0, 2),
                                  columns = Sizes(random, 0, 2);
  std::vector<std::int64_t> a = rows, b = inner;
  a.insert(a.end(), inner.begin(), inner.end());
  b.insert(b.end(), columns.begin(), columns.end());
  OpCase c = Sums(random, {Shape(a), Shape(b)}, 16);
  c.attrs["axes"] = PrintAttr(static_cast<std::int64_t>(inner.size()));
  return c;
}

OpCase DrawTensorDot(Random& random) {
  std::vector<std::int64_t> a = Sizes(random, 0, 2), b = Sizes(random, 0, 2);
  IntTuple a_axes, b_axes;
  for (std::int64_t count = random.Int(0, 2); count > 0; --count) {
    const std::int64_t size = random.Size(4);
    a_axes.push_back(static_cast<std::int64_t>(a.size()));
    b_axes.push_back(static_cast<std::int64_t>(b.size()));
    a.push_back(size);
    b.push_back(size);
  }
  // The axes behind these pairs.
  for (std::int64_t count = random.Int(0, 1); count > 0; --count) a.push_back(random.Size(4));
  for (std::int64_t count = random.Int(0, 1); count > 0; --count) b.push_back(random.Size(4));
  if (random.Chance(0.5)) {
    for (std::int64_t& axis : a_axes) axis -= static_cast<std::int64_t>(a.size());
  }
  if (random.Chance(0.5)) {
    std::reverse(a_axes.begin(), a_axes.end());
    std::reverse(b_axes.begin(), b_axes.end());
  }
  OpCase c = Sums(random, {Shape(a), Shape(b)}, 16);
  c.attrs = {{"a_axes_summed", PrintAttr(a_axes)}, {"b_axes_summed", PrintAttr(b_axes)}};
  return c;
}

// Letters have these sizes; "..." stands for (2, 3).
OpCase DrawEinsum(Random& random) {
  const std::string subscripts = random.Of({"ij,jk->ik",       "ij,jk",          "bij,bjk->bik",
                                            "ij,kj->ik",       "abc,dbc->ad",    "bqhd,bkhd->bhqk",
                                            "bhqk,bkhd->bqhd", "ij->ji",         "ij->",
                                            "ij->i",           "ii->i",          "ii",
                                            "iij->j",          "i->ii",          "ij->jij",
                                            "i,i->",           "i,j->ij",        "ij,ij->ij",
                                            "ij,j->ij",        "ij,kj,kl->il",   "...ij,jk->...ik",
                                            "...i,...i->...",  "i...->...",      "...ij->...ji",
                                            "i...,ij->j...",   " ij , jk -> ik "});
  const std::map<char, std::int64_t> sizes{{'a', 2}, {'b', 3}, {'c', 4}, {'d', 2}, {'h', 2},
                                           {'i', 3}, {'j', 4}, {'k', 2}, {'l', 5}, {'q', 4}};
  std::vector<std::vector<std::int64_t>> dims(1);
  for (const char letter : subscripts.substr(0, subscripts.find("->"))) {
    if (letter == ',') dims.emplace_back();
    if (const auto size = sizes.find(letter); size != sizes.end()) dims.back().push_back(size->second);
    if (letter == '.') dims.back().push_back(0);
  }
  std::vector<Shape> shapes;
  for (std::vector<std::int64_t>& of : dims) {
    const auto dots = std::find(of.begin(), of.end(), 0);
    if (dots != of.end()) {
      dots[0] = 2;
      dots[1] = 3;
      of.erase(dots + 2);
    }
    shapes.emplace_back(of);
  }
  // An axis of one array alone is broadcast, or is empty everywhere.
  if (random.Chance(0.2) && shapes.back().rank() > 0) shapes.back()[shapes.back().rank() - 1] = 1;
  if (subscripts.starts_with("ij,kj,kl") && random.Chance(0.2)) shapes[0][0] = 0;
  if (subscripts.starts_with("ii") && shapes.back().rank() > 1) shapes[0][1] = shapes[0][0];
  OpCase c = Sums(random, shapes, 128);
  c.attrs = {{"num_args", PrintAttr(static_cast<std::int64_t>(shapes.size()))}, {"subscripts", subscripts}};
  Maybe(random, &c.attrs, "optimize", "1");
  return c;
}

OpCase DrawDiagonal(Random& random) {
  OpCase c = AnyMove(random, 2);
  const int rank = c.inputs[0].type.shape.rank();
  const std::int64_t first = AnyAxis(random, rank);
  Maybe(random, &c.attrs, "offset", PrintAttr(random.Int(-7, 7)));
  if (random.Chance(0.7)) {
    c.attrs["axis1"] = PrintAttr(first);
    c.attrs["axis2"] = PrintAttr((Normal(first, rank) + random.Int(1, rank - 1)) % rank);
  }
  return c;
}

OpCase DrawTrace(Random& random) {
  OpCase c = DrawDiagonal(random);
  c.inputs[0].values = Values::kPlain;
  c.error = {8, 0, 0};
  c.truth = Truth::kWide;
  return c;
}

OpCase DrawDiagFlat(Random& random) {
  OpCase c = AnyMove(random, 0, 3);
  Maybe(random, &c.attrs, "k", PrintAttr(random.Int(-3, 3)));
  return c;
}

OpCase DrawNpReshape(Random& random) {
  OpCase c = AnyMove(random, 0);
  const Shape& shape = c.inputs[0].type.shape;
  IntTuple sizes(shape.dims().begin(), shape.dims().end());
  std::reverse(sizes.begin(), sizes.end());
  if (shape.size() > 0 && !sizes.empty() && random.Chance(0.5)) {
    sizes[static_cast<std::size_t>(random.Int(0, shape.rank() - 1))] = -1;
  }
  if (random.Chance(0.2)) sizes = {-1};
  c.attrs["newshape"] = PrintAttr(sizes);
  Maybe(random, &c.attrs, "order", "C");
  return c;
}

OpCase DrawConcatenate(Random& random) {
  OpCase c = AnyMove(random);
  InputCase one = c.inputs[0];
  const bool flattens = random.Chance(0.3);
  const std::int64_t axis = AnyAxis(random, one.type.shape.rank());
  c.inputs.clear();
  for (std::int64_t count = random.Int(1, 4); count > 0; --count) {
    if (flattens) one.type.shape = random.Sizes(static_cast<int>(random.Int(0, 3)), 4);
    if (!flattens) one.type.shape[Normal(axis, one.type.shape.rank())] = random.Size(5);
    c.inputs.push_back(one);
  }
  c.attrs = {{"num_args", PrintAttr(std::ssize(c.inputs))}, {"axis", flattens ? "None" : PrintAttr(axis)}};
  return c;
}

OpCase DrawToTensor(Random& random) {
  OpCase c = AnyMove(random, 3, 4);
  c.inputs[0].values = Values::kPlain;
  c.error = {0, 2, 0};
  c.truth = Truth::kWide;
  return c;
}

OpCase DrawNormalize(Random& random) {
  OpCase c = AnyMove(random, 3, 4);
  Shape& shape = c.inputs[0].type.shape;
  const bool has_colours = random.Chance(0.5);
  shape[shape.rank() - 3] = has_colours ? 3 : 1;
  c.inputs[0] = {{random.Type(FloatTypes()), shape}};
  c.attrs["mean"] = has_colours ? "(0.5, 0.25, -1.5)" : "(0.125,)";
  Maybe(random, &c.attrs, "std", random.Of({"2.0", "(0.3,)"}));
  c.error = {0, 4, 4};
  c.truth = Truth::kWide;
  return c;
}

OpCase DrawNanToNum(Random& random) {
  OpCase c = AnyMove(random, 0);
  Maybe(random, &c.attrs, "copy", Flag(random));
  Maybe(random, &c.attrs, "nan", random.Of({"0.0", "2.5", "-1"}));
  Maybe(random, &c.attrs, "posinf", random.Of({"None", "8"}));
  Maybe(random, &c.attrs, "neginf", random.Of({"None", "-0.5"}));
  c.truth = Truth::kSelected;
  return c;
}

OpCase DrawWindow(Random& random) {
  OpCase c{{{"M", PrintAttr(random.Int(-1, 9))}}, {}, {}, Truth::kSameBits};
  Maybe(random, &c.attrs, "dtype", NameOf(random.Of(FloatTypes())));
  return c;
}

OpCase DrawGridIndices(Random& random) {
  const IntTuple sizes = Tuple(random, static_cast<int>(random.Int(0, 4)), 0, 4);
  OpCase c{{{"dimensions", PrintAttr(sizes)}}, {}, {}, Truth::kSameBits};
  Maybe(random, &c.attrs, "dtype", NameOf(random.Of(AllTypes())));
  return c;
}

}  // namespace

const std::vector<OpRow>& NumPySumOpRows() {
  static const std::vector<OpRow> rows{
      {"_image_normalize", DrawNormalize},
      {"_image_to_tensor", DrawToTensor},
      {"_np_diagflat", DrawDiagFlat},
      {"_np_diagonal", DrawDiagonal},
      {"_np_reshape", DrawNpReshape},
      {"_np_trace", DrawTrace},
      {"_npi_blackman", DrawWindow},
      {"_npi_concatenate", DrawConcatenate},
      {"_npi_einsum", DrawEinsum},
      {"_npi_hamming", DrawWindow},
      {"_npi_hanning", DrawWindow},
      {"_npi_indices", DrawGridIndices},
      {"_npi_nan_to_num", DrawNanToNum},
      {"_npi_tensordot", DrawTensorDot},
      {"_npi_tensordot_int_axes", DrawTensorDotIntAxes},
  };
  return rows;
}

}  // namespace amp::testing
