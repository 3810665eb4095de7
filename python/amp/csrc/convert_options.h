// A conversion's options as Python gives them.
#pragma once

#include "bindings.h"
#include "passes/precision/convert_options.h"
#include "runtime/bind_options.h"

namespace amp::python {

// {name: dtype}
std::map<std::string, DType> DTypeMapOf(const py::dict& dtypes);

// Keys (all optional): target_dtype, policy, cast_params_offline, fold_batch_norm, target_dtype_ops, fp32_ops,
// widest_dtype_ops, conditional_fp32_ops, excluded_sym_names, force, output_dtypes, ignore_unknown_names, report.
// amp._options has checked them; DTypeOf and PolicyFromName throw ArgumentError for unknown names.
ConvertOptions ConvertOptionsOf(const py::dict& options, bool* wants_report = nullptr);

// The same for a binding, with one more key: emulate.
ReduceOptions ReduceOptionsOf(const py::dict& given);

}  // namespace amp::python
