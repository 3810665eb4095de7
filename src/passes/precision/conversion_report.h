// What a conversion did and why, for programs: a JSON text (python/amp/report.py shows it to people).
#pragma once

#include <string>

namespace amp {

struct ReportStages;

// The text is one object with the keys
//
// * format "amp-conversion-report", version 1,
//   options {target_dtype, policy, cast_params_offline, fold_batch_norm, minimize where a minimum cut decided}
// * certificate {unit, cut, flow, constant}, predicted {unit, as_decided, unchanged}: where a minimum cut decided. The
//   flow is as large as the cut, which proves that no decision costs less. What the decision costs is the cut and the
//   constant, in "ps" or "casts", and it is predicted for the model as it was, too.
// * accuracy {reached, squared_error, without_target, curve [{cost, squared_error}]}: where an accuracy target decided,
//   see ErrorOutcome. The unit of costs is that of predictions.
// * tensors [{id, name, node, op, kind, before, dtype, bytes, proven, reason}]:
//   every visible tensor of the model as it was, and the dtype that it is computed in now. Kind is "input",
//   "parameter", "state" or "result"; bytes are null where the shape is not known. Proven is [low, high], the interval
//   that its numbers lie in whatever the inputs are; null for an end that is infinite.
// * casts [{name, tensor, tensor_id, from, to, run_time, readers [{node, input, reason}]}]:
//   every cast. tensor_id is null where the tensor is itself a cast that the conversion made. Casts of parameters that
//   are made once, offline, have run_time false and their parameter as name.
// * gradients: where the model is converted for training, the tensors of its gradients, as `tensors`, of kind
// "gradient",
//   with ids behind those of `tensors`. Empty where an operator has no gradient.
// * folded [{batch_norm, into, weight, rounding}], not_folded [{batch_norm, why}]: rounding, of weights that are read
// in
//   low precision, is "nearest" or "compensated"
// * totals {casts {run_time, offline}, tensors {dtype: n}, bytes {dtype: n}, tensors_of_unknown_size,
//   parameters {before, after, cast, bytes_before, bytes_after}}:
//   tensors and bytes are those of the converted model, parameters included; batch norms that are folded take
//   parameters with them.
//
// * bodies [{path, why_not}]: the graphs that loops and branches run. why_not is null where one was converted: its
//   casts and tensors stand among the others, with its path in front of their names ("loop/body/fc_output"), and its
//   variables are tensors of kind "variable". They count once, however many steps there are.
//
// A reason is {class, kind, text, because_of}: class is "fact", "list", "user", "propagation" or "refusal"; kind is the
// name of a row of the table in precision/reason.cc or one that only the report has ("was_low", "wide_result",
// "cast_offline", "output"); because_of is the id of the tensor whose own reason comes before this one, or null at the
// root of the chain.
class ConversionReport {
 public:
  const std::string& json() const { return json_; }
  void Fill(const ReportStages& stages);

 private:
  std::string json_;
};

}  // namespace amp
