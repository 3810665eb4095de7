// What an operator definition states about gradients, and what it states it with.
//
// A rule composes registered operators: it is given the node and the gradients of its outputs, and gives those of its
// inputs. It knows no shapes. A gradient has the dtype and the shape of what it belongs to; no gradient means zero.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "nnvm/node.h"

namespace amp {

class GradientContext;

// An entry in the formulas of rules. Arithmetic on terms adds nodes; sizes of 1 are broadcast.
class Term {
 public:
  Term(GradientContext* context, NodeEntry entry) : context_(context), entry_(std::move(entry)) {}

  const NodeEntry& entry() const { return entry_; }
  GradientContext& context() const { return *context_; }

 private:
  GradientContext* context_;
  NodeEntry entry_;
};

// What a rule sees of its node, and what it makes nodes with. They are of the backward phase.
class GradientContext {
 public:
  // Adds a node of this operator behind the others of the rule.
  using MakeNode = std::function<NodePtr(const Node& forward, const std::string& op, AttrMap attrs,
                                         std::vector<NodeEntry> inputs, Subgraphs subgraphs)>;

  // `output_gradients` and `is_asked` go by output and by input.
  GradientContext(NodePtr node, std::vector<std::optional<NodeEntry>> output_gradients, std::vector<bool> is_asked,
                  const MakeNode* make);

  const Node& node() const { return *node_; }
  template <class P>
  const P& params() const {
    return node_->params<P>();
  }
  int num_inputs() const { return static_cast<int>(node_->inputs().size()); }
  int num_outputs() const { return node_->num_outputs(); }
  Term in(int i) { return {this, node_->inputs()[static_cast<std::size_t>(i)]}; }
  Term out(int i = 0) { return {this, {node_, static_cast<std::uint32_t>(i)}}; }

  bool has_gradient(int output) const { return output_gradients_[static_cast<std::size_t>(output)].has_value(); }
  // The gradient of an output; zeros where none has arrived.
  Term gradient(int output = 0);

  // Whether the gradient of input i is needed.
  bool is_asked(int i) const { return is_asked_[static_cast<std::size_t>(i)]; }
  // The gradient of input i is `term`. Inputs that are not set have none.
  void Set(int i, const Term& term) { input_gradients_[static_cast<std::size_t>(i)] = term.entry(); }

  // Output 0 of a new node, or all its outputs.
  Term Call(const std::string& op, const std::vector<Term>& inputs, AttrMap attrs = {});
  std::vector<Term> CallAll(const std::string& op, const std::vector<Term>& inputs, AttrMap attrs = {},
                            Subgraphs subgraphs = {});
  // The node's attributes as they were given, without hidden ones.
  AttrMap attrs() const;

  const std::vector<std::optional<NodeEntry>>& input_gradients() const { return input_gradients_; }

 private:
  NodePtr node_;
  std::vector<std::optional<NodeEntry>> output_gradients_;
  std::vector<bool> is_asked_;
  const MakeNode* make_;
  std::vector<std::optional<NodeEntry>> input_gradients_;
};

Term operator+(const Term& a, const Term& b);
Term operator-(const Term& a, const Term& b);
Term operator*(const Term& a, const Term& b);
Term operator/(const Term& a, const Term& b);
Term operator-(const Term& a);
Term operator+(const Term& a, double b);
Term operator-(const Term& a, double b);
Term operator*(const Term& a, double b);
Term operator/(const Term& a, double b);
Term operator+(double a, const Term& b);
Term operator-(double a, const Term& b);
Term operator*(double a, const Term& b);
Term operator/(double a, const Term& b);
// 1 where it holds, else 0, in the dtype of `a`.
Term operator>(const Term& a, const Term& b);
Term operator>=(const Term& a, const Term& b);
Term operator<(const Term& a, const Term& b);
Term operator<=(const Term& a, const Term& b);
Term operator>(const Term& a, double b);
Term operator>=(const Term& a, double b);
Term operator<(const Term& a, double b);
Term operator<=(const Term& a, double b);
Term IsEqual(const Term& a, const Term& b);
// An operator of one input without attributes.
Term Unary(const char* op, const Term& a);
Term Power(const Term& a, double exponent);
Term WithScalar(const char* op, const Term& a, double scalar);
// `a` where `condition` is not 0, else 0, whatever `a` is there.
Term ValueOrZero(const Term& condition, const Term& a);
// `a` summed over the axes along which `like` was broadcast to its shape, in the dtype of `like`.
Term SumLike(const Term& a, const Term& like);
// `a` summed over all axes but one, in the shape and the dtype of `like`.
Term SumOfChannels(const Term& a, int axis, const Term& like);
// `a` in the shape of `like`, which has as many elements.
Term ReshapeLike(const Term& a, const Term& like);

// ---- facts ----

// How the gradients of the inputs follow from those of the outputs.
struct GradientRule {
  std::function<void(GradientContext&)> apply;
};

// The outputs do not change with the inputs, or the operator's purpose is to let no gradient through: the gradient is
// zero. Says why.
struct ZeroGradient {
  std::string reason;
};

// Marks a loss and what a program defines: the gradient of the inputs is asked for even where none arrives, behind
// BlockGrad or a comparison, since it need not depend on those of the outputs.
struct HasOwnGradient {
  std::function<bool(const Node&)> holds = [](const Node&) { return true; };
};
bool OwnsGradient(const Node& node);

// A gradient that arrives is an error. Says why.
struct NoGradient {
  std::string reason;
};

// The rule of an operator with one output is applied to the gradient of each reader by itself, and what it gives is
// summed: a sum of float32 is not rounded on its way through a cast.
struct DifferentiatesEachReader {};

// Marks a backward operator: a variable's gradient that it computes replaces what it was to be added to.
struct AlwaysWrites {};

// The gradient of the only input is that of the output times this derivative.
using Derivative = std::function<Term(const Term& x, const Term& y)>;
GradientRule DerivativeRule(Derivative derivative);
// All gradients go through as they are.
GradientRule PassGradient();
// The output's gradient, in the shape of input 0.
GradientRule ReshapeGradient();

}  // namespace amp
