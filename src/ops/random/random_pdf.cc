// Densities of distributions: _random_pdf_uniform and its kin. Formulas are templates: of numbers they are the
// reference, of terms what gradients are taken of.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <sstream>

#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "ops/common/special.h"
#include "ops/shape/move_gradient.h"
#include "passes/gradient/composition_rule.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp::random_pdf {
namespace {

// ---- logarithms of densities ----

double Log(double x) { return std::log(x); }
Term Log(const Term& x) { return Unary("log", x); }
using amp::LogGamma;
Term LogGamma(const Term& x) { return Unary("gammaln", x); }

template <class T>
T Uniform(const T&, const T& low, const T& high) {
  return -Log(high - low);  // anywhere, as in MXNet
}

template <class T>
T Normal(const T& x, const T& mean, const T& deviation) {
  const T distance = (x - mean) / deviation;
  return -0.5 * distance * distance - Log(deviation) - 0.9189385332046728;  // log(sqrt(2 pi))
}

template <class T>
T Gamma(const T& x, const T& alpha, const T& rate) {
  return alpha * Log(rate) + (alpha - 1.0) * Log(x) - rate * x - LogGamma(alpha);
}

template <class T>
T Exponential(const T& x, const T& rate, const T&) {
  return Log(rate) - rate * x;
}

template <class T>
T Poisson(const T& x, const T& rate, const T&) {
  return x * Log(rate) - LogGamma(x + 1.0) - rate;
}

template <class T>
T NegativeBinomial(const T& x, const T& k, const T& p) {
  return LogGamma(x + k) - LogGamma(x + 1.0) - LogGamma(k) + k * Log(p) + x * Log(1.0 - p);
}

template <class T>
T GeneralizedNegativeBinomial(const T& x, const T& mean, const T& dispersion) {
  return NegativeBinomial<T>(x, 1.0 / dispersion, 1.0 / (mean * dispersion + 1.0));
}

// ---- distributions of numbers ----

struct PdfParam {
  bool is_log = false;
};

struct Row {
  const char* name;
  const char* inputs;  // words
  const char* doc;
  bool counts;  // samples are counts: the density has no gradient by them
  double (*of_numbers)(const double&, const double&, const double&);
  Term (*of_terms)(const Term&, const Term&, const Term&);
};

const Row kRows[] = {
    {"_random_pdf_uniform", "sample low high", "Uniform densities between low and high.", false, Uniform, Uniform},
    {"_random_pdf_normal", "sample mu sigma", "Normal densities: means mu, deviations sigma.", false, Normal, Normal},
    {"_random_pdf_gamma", "sample alpha beta", "Gamma densities: shapes alpha, rates beta.", false, Gamma, Gamma},
    {"_random_pdf_exponential", "sample lam", "Exponential densities: rates lam.", false, Exponential, Exponential},
    {"_random_pdf_poisson", "sample lam", "Poisson probabilities of counts: means lam.", true, Poisson, Poisson},
    {"_random_pdf_negative_binomial", "sample k p",
     "Negative binomial probabilities of counts: limits k, probabilities p.", true, NegativeBinomial, NegativeBinomial},
    {"_random_pdf_generalized_negative_binomial", "sample mu alpha",
     "Negative binomial probabilities of counts: means mu, dispersions alpha.", true, GeneralizedNegativeBinomial,
     GeneralizedNegativeBinomial},
};

// How many samples each element of the parameters has. Throws GraphError where their shapes do not begin alike.
std::int64_t SamplesOfEach(const Node& node, const Shape& sample, const Shape& parameters) {
  const int rank = parameters.rank();
  const bool leads =
      rank <= sample.rank() && std::equal(parameters.dims().begin(), parameters.dims().end(), sample.dims().begin());
  if (!leads) {
    FailAt(node, "the shape {} of samples does not begin with {} of parameters", sample.ToString(),
           parameters.ToString());
  }
  return sample.SizeOf(rank, sample.rank());
}

void InferDensity(ShapeRelation& r) {
  for (int i = 2; i < r.num_inputs(); ++i) {
    r.In(i, r.in(1));
    r.In(1, r.in(i));
  }
  r.Out(0, r.in(0));
  r.In(0, r.out(0));
  if (r.in(0).fully_known() && r.in(1).fully_known()) SamplesOfEach(r.node(), r.in(0), r.in(1));
}

void DensityReference(const Row& row, const Node& node, std::span<const NDArray> in, NDArray& out) {
  const std::int64_t samples = SamplesOfEach(node, in[0].shape(), in[1].shape());
  const std::vector<double> a = Numbers<double>(in[1]), b = Numbers<double>(in[in.size() - 1]);
  std::vector<double> y = Numbers<double>(in[0]);
  for (std::int64_t i = 0; i < std::ssize(y); ++i) {
    double& x = y[static_cast<std::size_t>(i)];
    const auto of = static_cast<std::size_t>(i / samples);
    x = row.of_numbers(x, a[of], b[of]);
    if (!node.params<PdfParam>().is_log) x = std::exp(x);
  }
  Store(y, out);
}

Term ForEachSample(GradientContext& c, int parameter) {
  return c.Call("_broadcast_as_leading", {c.in(parameter), c.in(0)});
}

std::vector<Term> Densities(GradientContext& c, const Term& logarithms) {
  return {c.params<PdfParam>().is_log ? logarithms : Unary("exp", logarithms)};
}

// What all densities have in common.
OpDefinition<PdfParam>& Complete(OpDefinition<PdfParam>& op, std::string_view name, const char* doc) {
  return op.Alias(std::string(name.substr(1)))
      .Doc(doc)
      .Params(ParamSchema<PdfParam>().Optional("is_log", &PdfParam::is_log, "Logarithms of densities."))
      .Set(SameFloatDType());
}

std::vector<std::string> InputsOf(const Row& row) {
  std::istringstream words(row.inputs);
  return {std::istream_iterator<std::string>(words), {}};
}

[[maybe_unused]] const bool kRegistered = [] {
  for (const Row& row : kRows) {
    auto op = RegisterOp<PdfParam>(row.name);
    Complete(op, row.name, row.doc)
        .Inputs(InputsOf(row))
        .Set(ShapeRule{InferDensity})
        .Set(AmpFacts{Arithmetic::kNeedsFloat32, {row.counts ? SlotRole::kIndex : SlotRole::kData}})
        .Set(CompositionRule([&row](GradientContext& c) {
          const Term x = row.counts ? Unary("BlockGrad", c.in(0)) : c.in(0);
          return Densities(c, row.of_terms(x, ForEachSample(c, 1), ForEachSample(c, c.num_inputs() - 1)));
        }))
        .Set(ReferenceKernel{[&row](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
          DensityReference(row, node, in, out[0]);
        }});
  }
  return true;
}();

// ---- distributions of vectors ----

void InferDirichlet(ShapeRelation& r) {
  if (!r.in(0).fully_known() || !r.in(1).fully_known()) return;
  const Shape &sample = r.in(0), &alpha = r.in(1);
  if (alpha.rank() == 0 || sample.rank() < alpha.rank() || sample.dims().back() != alpha.dims().back()) {
    FailAt(r.node(), "samples of shape {} are no vectors as those of alpha {}", sample.ToString(), alpha.ToString());
  }
  const Shape places({sample.dims().begin(), sample.dims().end() - 1});
  SamplesOfEach(r.node(), places, Shape({alpha.dims().begin(), alpha.dims().end() - 1}));
  r.Out(0, places.rank() == 0 ? Shape{1} : places);
}

double LogDirichlet(const double* x, const double* alpha, std::int64_t size) {
  double sum = 0, log = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    sum += alpha[i];
    log += (alpha[i] - 1) * std::log(x[i]) - LogGamma(alpha[i]);
  }
  return log + LogGamma(sum);
}

void DirichletReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const std::int64_t size = in[1].shape().dims().back();
  const std::vector<double> x = Numbers<double>(in[0]), alpha = Numbers<double>(in[1]);
  std::vector<double> y(static_cast<std::size_t>(out[0].size()));
  const std::int64_t vectors = in[1].shape().SizeOf(0, in[1].shape().rank() - 1);
  const std::int64_t samples = vectors == 0 ? 1 : std::ssize(y) / vectors;
  for (std::int64_t i = 0; i < std::ssize(y); ++i) {
    const double log = LogDirichlet(x.data() + i * size, alpha.data() + i / samples * size, size);
    y[static_cast<std::size_t>(i)] = node.params<PdfParam>().is_log ? log : std::exp(log);
  }
  Store(y, out[0]);
}

Term SumOfLast(const Term& x) { return x.context().Call("sum", {x}, {{"axis", "-1"}}); }

[[maybe_unused]] const bool kDirichlet = [] {
  auto op = RegisterOp<PdfParam>("_random_pdf_dirichlet");
  Complete(op, "_random_pdf_dirichlet", "Dirichlet densities of vectors: concentrations alpha.")
      .Inputs({"sample", "alpha"})
      .Set(ShapeRule{InferDirichlet})
      .Set(AmpFacts{Arithmetic::kNeedsFloat32})
      .Set(CompositionRule([](GradientContext& c) {
        const Term alpha = c.Call("_broadcast_as_leading", {c.in(1), c.in(0)}, {{"vectors", "True"}});
        return Densities(c, SumOfLast((alpha - 1.0) * Log(c.in(0)) - LogGamma(alpha)) + LogGamma(SumOfLast(alpha)));
      }))
      .Set(ReferenceKernel{DirichletReference});
  return true;
}();

// ---- parameters beside samples ----

struct LeadingParam {
  bool vectors = false;
};

// The data's elements, or its last axis, repeated along the axes that `like` has behind those of the data.
void RepeatReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const Shape &from = in[0].shape(), &to = out[0].shape();
  const bool vectors = node.params<LeadingParam>().vectors;
  const std::int64_t size = vectors ? from.dims().back() : 1;
  const auto bytes = static_cast<std::size_t>(size) * static_cast<std::size_t>(BytesOf(in[0].dtype()));
  const std::int64_t count = size == 0 ? 0 : from.size() / size, repeats = count == 0 ? 0 : to.size() / from.size();
  for (std::int64_t i = 0; i < count * repeats; ++i) {
    std::memcpy(out[0].As<char>() + i * bytes, in[0].As<char>() + i / repeats * bytes, bytes);
  }
}

[[maybe_unused]] const auto kRepeat =
    RegisterOp<LeadingParam>("_broadcast_as_leading")
        .Doc("data repeated along the axes that like has behind those of the data.")
        .Params(ParamSchema<LeadingParam>().Optional("vectors", &LeadingParam::vectors,
                                                     "The last axes of data and like are the same."))
        .Inputs({"data", "like"})
        .Set(ShapeRule{[](ShapeRelation& r) {
          if (!r.in(0).fully_known() || !r.in(1).fully_known()) return;
          std::vector<std::int64_t> data = r.in(0).dims(), like = r.in(1).dims();
          if (r.node().params<LeadingParam>().vectors) {
            const bool fits = !data.empty() && !like.empty() && data.back() == like.back();
            if (!fits) FailAt(r.node(), "{} is not led by {}", r.in(1).ToString(), r.in(0).ToString());
            data.pop_back();
            like.pop_back();
          }
          SamplesOfEach(r.node(), Shape(like), Shape(data));
          r.Out(0, r.in(1));
        }})
        .Set(DTypeRule{[](DTypeRelation& r) {
          r.Same({0}, {0});
          if (!IsKnown(r.in(1))) r.In(1, r.in(0));
        }})
        .Set(AmpFacts{Arithmetic::kMovesData, {SlotRole::kData, SlotRole::kIgnored}})
        .Set(MoveGradient())
        .Set(ReferenceKernel{RepeatReference});

}  // namespace
}  // namespace amp::random_pdf
