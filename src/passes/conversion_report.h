// What a conversion did and why, for machines: a JSON text (python/amp/report.py shows it to people).
#pragma once

#include "passes/cast_params_offline.h"
#include "passes/convert.h"
#include "passes/fold_batch_norm.h"
#include "passes/reduce_precision.h"

namespace amp {

// The text is one object with the keys
//
// * format "amp-conversion-report", version 1,
//   options {target_dtype, policy, cast_params_offline, fold_batch_norm}
// * tensors [{id, name, node, op, kind, before, dtype, bytes, reason}]:
//   every visible tensor of the model as it was, and the dtype that it is computed in now. Kind is "input",
//   "parameter", "state" or "result"; bytes are null where the shape is not known.
// * casts [{name, tensor, tensor_id, from, to, run_time, readers [{node, input, reason}]}]:
//   every cast. tensor_id is null where the tensor is itself a cast that the conversion made. Casts of parameters that
//   are made once, offline, have run_time false and their parameter as name.
// * folded [{batch_norm, into}], not_folded [{batch_norm, why}]
// * totals {casts {run_time, offline}, tensors {dtype: n}, bytes {dtype: n}, tensors_of_unknown_size,
//   parameters {before, after, cast, bytes_before, bytes_after}}:
//   tensors and bytes are those of the converted model, parameters included; batch norms that are folded take
//   parameters with them.
//
// A reason is {class, text, because_of}: class is "fact", "list", "user", "propagation" or "refusal"; because_of is the
// id of the tensor whose own reason comes before this one, or null at the root of the chain.
class ConversionReport {
 public:
  const std::string& json() const { return json_; }

  struct Stages {
    const Graph& before;  // what was decided on
    const Types& types;
    const std::vector<bool>& parameters;
    const Decision& decision;
    const Graph& after;
    const Types& types_after;
    const std::map<std::string, DType>& offline;
    const std::vector<FoldedBatchNorm>& folded;
    const std::vector<UnfoldedBatchNorm>& not_folded;
    const ConvertOptions& options;
    bool folds;
    std::int64_t num_parameters, parameter_bytes;  // of the model as it was given
  };
  void Fill(const Stages& stages);

 private:
  std::string json_;
};

}  // namespace amp
