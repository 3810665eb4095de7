// CTCLoss: minus the logarithm of the probability of a label sequence, whatever its alignment to the steps, and the
// gradient of its data.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/threads/parallel.h"
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp::ctc_loss {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();  // the logarithm of 0

struct CtcParam {
  bool use_data_lengths = false, use_label_lengths = false;
  std::string blank_label = "first";

  bool blank_is_first() const { return blank_label == "first"; }
};

ParamSchema<CtcParam> Schema() {
  return ParamSchema<CtcParam>()
      .Optional("use_data_lengths", &CtcParam::use_data_lengths, "There is an input data_lengths: steps of a sequence.")
      .Optional("use_label_lengths", &CtcParam::use_label_lengths, "There is an input label_lengths.")
      .Optional("blank_label", &CtcParam::blank_label,
                "Which class is no label. Without lengths labels end before the first 0 (first) or -1 (last).")
      .OneOf({"first", "last"});
}

std::vector<std::string> InputNames(const CtcParam& p) {
  std::vector<std::string> names{"data", "label"};
  if (p.use_data_lengths) names.emplace_back("data_lengths");
  if (p.use_label_lengths) names.emplace_back("label_lengths");
  return names;
}

// Where the inputs of the operator begin among those of the node; the loss of each sequence is `losses`.
void InferShapes(ShapeRelation& r, int first, Shape* losses) {
  r.In(first, Shape{kUnknownDim, kUnknownDim, kUnknownDim});
  r.In(first + 1, Shape{r.in(first)[1], kUnknownDim});
  r.In(first, Shape{kUnknownDim, r.in(first + 1)[0], kUnknownDim});
  *losses = Shape{r.in(first)[1]};
  for (int i = first + 2; i < r.num_inputs(); ++i) r.In(i, *losses);
  if (r.in(first)[2] == 0) FailAt(r.node(), "data of shape {} has no classes", r.in(first).ToString());
}

// Labels and lengths are of any dtype.
void InferDTypes(DTypeRelation& r, std::vector<int> data) {
  r.Same(data, {0});
  r.InIsFloat(data[0]);
  for (int i = data.back() + 1; i < r.num_inputs(); ++i) {
    if (!IsKnown(r.in(i))) r.In(i, r.in(data[0]));
  }
}

// The sequences of a batch.
class Sequences {
 public:
  Sequences(const Node& node, std::span<const NDArray> in)
      : steps_(in[0].shape()[0]),
        batch_(in[0].shape()[1]),
        classes_(in[0].shape()[2]),
        data_(Numbers<double>(in[0])),
        node_(node) {
    const auto& p = node.params<CtcParam>();
    blank_ = p.blank_is_first() ? 0 : classes_ - 1;
    const std::vector<std::int64_t> labels = Numbers<std::int64_t>(in[1]);
    std::size_t next = 2;
    if (p.use_data_lengths) lengths_ = Numbers<std::int64_t>(in[next++]);
    const std::vector<std::int64_t> given = p.use_label_lengths ? Numbers<std::int64_t>(in[next]) : lengths_;
    const std::int64_t most = in[1].shape()[1];
    for (std::int64_t i = 0; i < batch_; ++i) {
      const auto row = labels.begin() + i * most;
      const auto end = p.use_label_lengths ? row + Checked(given[i], most, "label_lengths")
                                           : std::find(row, row + most, p.blank_is_first() ? 0 : -1);
      labels_.emplace_back(row, end);
      for (const std::int64_t label : labels_.back()) {
        if (label < 0 || label >= classes_) FailAt(node, "label {} is none of {} classes", label, classes_);
      }
      if (!lengths_.empty()) Checked(lengths_[i], steps_, "data_lengths");
    }
  }

  std::int64_t steps() const { return steps_; }
  std::int64_t batch() const { return batch_; }
  std::int64_t classes() const { return classes_; }
  std::int64_t blank() const { return blank_; }
  std::int64_t StepsOf(std::int64_t i) const { return lengths_.empty() ? steps_ : lengths_[i]; }
  const std::vector<std::int64_t>& LabelsOf(std::int64_t i) const { return labels_[i]; }
  const double* At(std::int64_t i, std::int64_t step) const { return data_.data() + (step * batch_ + i) * classes_; }

 private:
  std::int64_t Checked(std::int64_t length, std::int64_t most, const char* what) const {
    if (length < 0 || length > most) FailAt(node_, "{} holds {}, expected at most {}", what, length, most);
    return length;
  }

  std::int64_t steps_, batch_, classes_, blank_ = 0;
  std::vector<double> data_;
  std::vector<std::vector<std::int64_t>> labels_;
  std::vector<std::int64_t> lengths_;  // of the data; empty: all steps
  const Node& node_;
};

double LogSum(double a, double b) {
  const double high = std::max(a, b), low = std::min(a, b);
  return low == kNever ? high : high + std::log1p(std::exp(low - high));
}

// One sequence: the logarithms of the probabilities of all ways through its labels with blanks around each.
class Alignment {
 public:
  Alignment(const Sequences& all, std::int64_t i) : steps_(all.StepsOf(i)), classes_(all.classes()) {
    path_.push_back(all.blank());
    for (const std::int64_t label : all.LabelsOf(i)) path_.insert(path_.end(), {label, all.blank()});
    for (std::int64_t t = 0; t < steps_; ++t) {
      const double* x = all.At(i, t);
      const double high = *std::max_element(x, x + classes_);
      double sum = 0;
      for (std::int64_t k = 0; k < classes_; ++k) sum += std::exp(x[k] - high);
      for (std::int64_t k = 0; k < classes_; ++k) log_.push_back(x[k] - high - std::log(sum));
    }
    GoForward();
  }

  // A label that is repeated needs a blank between.
  bool IsPossible() const {
    std::int64_t needed = size() / 2;
    for (std::int64_t s = 3; s < size(); s += 2) needed += path_[s] == path_[s - 2];
    return needed <= steps_;
  }
  // No steps say nothing with certainty.
  double LogProbability() const {
    if (steps_ == 0) return size() == 1 ? 0 : kNever;
    const double* last = forward_.data() + (steps_ - 1) * size();
    return size() == 1 ? last[0] : LogSum(last[size() - 1], last[size() - 2]);
  }
  double ProbabilityOf(std::int64_t step, std::int64_t k) const { return std::exp(log_[step * classes_ + k]); }

  // Subtracts from `shares` (step, class) the probability of the class at that step, given the labels.
  void SubtractPosteriors(std::vector<double>* shares) const {
    const double all = LogProbability();
    std::vector<double> behind(path_.size(), kNever), next(path_.size());  // from here to the end, without this step
    for (std::int64_t s = std::max<std::int64_t>(0, size() - 2); s < size(); ++s) behind[s] = 0;
    for (std::int64_t t = steps_; t-- > 0;) {
      for (std::int64_t s = 0; s < size(); ++s) {
        (*shares)[t * classes_ + path_[s]] -= std::exp(forward_[t * size() + s] + behind[s] - all);
      }
      for (std::int64_t s = 0; s < size(); ++s) {
        next[s] = behind[s] + Log(t, s);
        if (s + 1 < size()) next[s] = LogSum(next[s], behind[s + 1] + Log(t, s + 1));
        if (s + 2 < size() && MaySkipTo(s + 2)) next[s] = LogSum(next[s], behind[s + 2] + Log(t, s + 2));
      }
      behind.swap(next);
    }
  }

 private:
  std::int64_t size() const { return std::ssize(path_); }
  double Log(std::int64_t step, std::int64_t s) const { return log_[step * classes_ + path_[s]]; }
  bool MaySkipTo(std::int64_t s) const { return s % 2 == 1 && path_[s] != path_[s - 2]; }

  void GoForward() {
    forward_.assign(static_cast<std::size_t>(steps_) * path_.size(), kNever);
    for (std::int64_t t = 0; t < steps_; ++t) {
      double* here = forward_.data() + t * size();
      for (std::int64_t s = 0; s < size(); ++s) {
        if (t == 0) {
          here[s] = s < 2 ? Log(0, s) : kNever;
          continue;
        }
        const double* before = here - size();
        double sum = before[s];
        if (s > 0) sum = LogSum(sum, before[s - 1]);
        if (s > 1 && MaySkipTo(s)) sum = LogSum(sum, before[s - 2]);
        here[s] = sum + Log(t, s);
      }
    }
  }

  std::int64_t steps_, classes_;
  std::vector<std::int64_t> path_;
  std::vector<double> log_, forward_;  // (step, class) and (step, place of the path)
};

// Labels that do not fit into the steps cost nothing, as in MXNet.
void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const Sequences all(node, in);
  std::vector<double> losses(static_cast<std::size_t>(all.batch()), 0);
  kernels::ParallelFor(all.batch(), 1, [&](std::int64_t i) {
    const Alignment alignment(all, i);
    if (alignment.IsPossible()) losses[static_cast<std::size_t>(i)] = -alignment.LogProbability();
  });
  Store(losses, out[0]);
}

void BackwardReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const Sequences all(node, in.subspan(1));
  const std::vector<double> gradient = Numbers<double>(in[0]);
  std::vector<double> result(static_cast<std::size_t>(out[0].size()), 0);
  kernels::ParallelFor(all.batch(), 1, [&](std::int64_t i) {
    const Alignment alignment(all, i);
    if (!alignment.IsPossible()) return;
    const std::int64_t classes = all.classes();
    std::vector<double> shares;
    for (std::int64_t k = 0; k < all.StepsOf(i) * classes; ++k) {
      shares.push_back(alignment.ProbabilityOf(k / classes, k % classes));
    }
    alignment.SubtractPosteriors(&shares);
    for (std::int64_t k = 0; k < std::ssize(shares); ++k) {
      result[(k / classes * all.batch() + i) * classes + k % classes] = gradient[i] * shares[k];
    }
  });
  Store(result, out[0]);
}

[[maybe_unused]] const auto kBackward =
    RegisterOp<CtcParam>("_backward_CTCLoss")
        .Doc("The gradient of the data of CTCLoss.")
        .Params(Schema())
        .Inputs([](const CtcParam& p) {
          std::vector<std::string> names = InputNames(p);
          names.insert(names.begin(), "gradient");
          return names;
        })
        .Set(ShapeRule{[](ShapeRelation& r) {
          Shape losses;
          r.In(1, r.out(0));
          InferShapes(r, 1, &losses);
          r.In(0, losses);
          r.Out(0, r.in(1));
        }})
        .Set(DTypeRule{[](DTypeRelation& r) {
          InferDTypes(r, {0, 1});
        }})
        .Set(AmpFacts{Arithmetic::kNeedsFloat32,
                      {SlotRole::kData, SlotRole::kData, SlotRole::kIndex, SlotRole::kIndex, SlotRole::kIndex}})
        .Set(NoGradient{"MXNet has none"})
        .Set(ReferenceKernel{BackwardReference});

[[maybe_unused]] const auto kCard =
    RegisterOp<CtcParam>("CTCLoss")
        .Alias("_npx_ctc_loss")
        .Alias("ctc_loss")
        .Alias("_contrib_CTCLoss")
        .Alias("_contrib_ctc_loss")
        .Doc(
            "Minus the logarithm of the probability of each sequence of labels (N, L), where softmax of data (T, N, "
            "C)\n"
            "gives the probabilities of the classes at each step, and classes may be repeated and blanks stand "
            "between.")
        .Params(Schema())
        .Inputs(InputNames)
        .Set(ShapeRule{[](ShapeRelation& r) {
          Shape losses;
          r.In(1, Shape{r.out(0).rank_known() ? r.out(0)[0] : kUnknownDim, kUnknownDim});
          InferShapes(r, 0, &losses);
          r.Out(0, losses);
        }})
        .Set(DTypeRule{[](DTypeRelation& r) { InferDTypes(r, {0}); }})
        .Set(AmpFacts{Arithmetic::kNeedsFloat32,
                      {SlotRole::kData, SlotRole::kIndex, SlotRole::kIndex, SlotRole::kIndex}})
        .Set(GradientRule{[](GradientContext& c) {
          std::vector<Term> inputs{c.gradient()};
          for (int i = 0; i < c.num_inputs(); ++i) inputs.push_back(c.in(i));
          c.Set(0, c.Call("_backward_CTCLoss", inputs, c.attrs()));
        }})
        .Set(ReferenceKernel{Reference});

}  // namespace
}  // namespace amp::ctc_loss
