#include "passes/gradient/gradient_rule.h"

#include <utility>

#include "nnvm/attr_text.h"
#include "nnvm/param.h"

namespace amp {
namespace {

Term Binary(const char* op, const Term& a, const Term& b) { return a.context().Call(op, {a, b}); }

}  // namespace

GradientContext::GradientContext(NodePtr node, std::vector<std::optional<NodeEntry>> output_gradients,
                                 std::vector<bool> is_asked, const MakeNode* make)
    : node_(std::move(node)),
      output_gradients_(std::move(output_gradients)),
      is_asked_(std::move(is_asked)),
      make_(make),
      input_gradients_(node_->inputs().size()) {}

Term GradientContext::gradient(int output) {
  std::optional<NodeEntry>& gradient = output_gradients_[static_cast<std::size_t>(output)];
  if (!gradient) gradient = Unary("zeros_like", out(output)).entry();
  return {this, *gradient};
}

std::vector<Term> GradientContext::CallAll(const std::string& op, const std::vector<Term>& inputs, AttrMap attrs,
                                           Subgraphs subgraphs) {
  std::vector<NodeEntry> entries;
  for (const Term& input : inputs) entries.push_back(input.entry());
  std::vector<Term> outputs;
  const NodePtr node = (*make_)(*node_, op, std::move(attrs), std::move(entries), std::move(subgraphs));
  for (NodeEntry& entry : AllOutputs(node)) {
    outputs.emplace_back(this, std::move(entry));
  }
  return outputs;
}

Term GradientContext::Call(const std::string& op, const std::vector<Term>& inputs, AttrMap attrs) {
  return CallAll(op, inputs, std::move(attrs))[0];
}

AttrMap GradientContext::attrs() const {
  AttrMap given;
  for (const auto& [key, value] : node_->attrs()) {
    if (!IsHiddenKey(key)) given[key] = value;
  }
  return given;
}

Term WithScalar(const char* op, const Term& a, double scalar) {
  return a.context().Call(op, {a}, {{"scalar", PrintAttr(scalar)}});
}
Term Unary(const char* op, const Term& a) { return a.context().Call(op, {a}); }

Term operator+(const Term& a, const Term& b) { return Binary("broadcast_add", a, b); }
Term operator-(const Term& a, const Term& b) { return Binary("broadcast_sub", a, b); }
Term operator*(const Term& a, const Term& b) { return Binary("broadcast_mul", a, b); }
Term operator/(const Term& a, const Term& b) { return Binary("broadcast_div", a, b); }
Term operator-(const Term& a) { return Unary("negative", a); }
Term operator+(const Term& a, double b) { return WithScalar("_plus_scalar", a, b); }
Term operator-(const Term& a, double b) { return WithScalar("_minus_scalar", a, b); }
Term operator*(const Term& a, double b) { return WithScalar("_mul_scalar", a, b); }
Term operator/(const Term& a, double b) { return WithScalar("_div_scalar", a, b); }
Term operator+(double a, const Term& b) { return b + a; }
Term operator-(double a, const Term& b) { return WithScalar("_rminus_scalar", b, a); }
Term operator*(double a, const Term& b) { return b * a; }
Term operator/(double a, const Term& b) { return WithScalar("_rdiv_scalar", b, a); }
Term operator>(const Term& a, const Term& b) { return Binary("broadcast_greater", a, b); }
Term operator>=(const Term& a, const Term& b) { return Binary("broadcast_greater_equal", a, b); }
Term operator<(const Term& a, const Term& b) { return Binary("broadcast_lesser", a, b); }
Term operator<=(const Term& a, const Term& b) { return Binary("broadcast_lesser_equal", a, b); }
Term operator>(const Term& a, double b) { return WithScalar("_greater_scalar", a, b); }
Term operator>=(const Term& a, double b) { return WithScalar("_greater_equal_scalar", a, b); }
Term operator<(const Term& a, double b) { return WithScalar("_lesser_scalar", a, b); }
Term operator<=(const Term& a, double b) { return WithScalar("_lesser_equal_scalar", a, b); }
Term IsEqual(const Term& a, const Term& b) { return Binary("broadcast_equal", a, b); }
Term Power(const Term& a, double exponent) { return WithScalar("_power_scalar", a, exponent); }
Term ValueOrZero(const Term& condition, const Term& a) {
  return a.context().Call("_npi_where_rscalar", {condition, a}, {{"scalar", "0.0"}});
}
Term SumLike(const Term& a, const Term& like) { return Binary("_backward_broadcast", a, like); }
Term SumOfChannels(const Term& a, int axis, const Term& like) {
  return SumLike(a.context().Call("sum", {a}, {{"axis", PrintAttr(IntTuple{axis})}, {"exclude", "True"}}), like);
}
Term ReshapeLike(const Term& a, const Term& like) { return Binary("reshape_like", a, like); }

bool OwnsGradient(const Node& node) {
  const auto* own = node.is_variable() ? nullptr : node.op()->Find<HasOwnGradient>();
  return own != nullptr && own->holds(node);
}

GradientRule DerivativeRule(Derivative derivative) {
  return {[derivative = std::move(derivative)](GradientContext& c) {
    c.Set(0, c.gradient() * derivative(c.in(0), c.out()));
  }};
}

GradientRule PassGradient() {
  return {[](GradientContext& c) {
    for (int i = 0; i < c.num_inputs(); ++i) c.Set(i, c.gradient());
  }};
}

GradientRule ReshapeGradient() {
  return {[](GradientContext& c) { c.Set(0, ReshapeLike(c.gradient(), c.in(0))); }};
}

}  // namespace amp
