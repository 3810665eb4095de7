// A conversion's options as Python gives them.
#pragma once

#include "bindings.h"
#include "passes/precision/convert_options.h"
#include "runtime/bind_options.h"

namespace amp::python {

// The value of an option, or nullopt where nothing is said. Python has checked its form.
template <class T>
std::optional<T> ValueOf(const py::dict& options, const char* key) {
  if (!options.contains(key)) return std::nullopt;
  return options[key].cast<T>();
}

// {name: dtype}
std::map<std::string, DType> DTypeMapOf(const py::dict& dtypes);

// Keys (all optional): target_dtype, policy, cast_params_offline, fold_batch_norm, target_dtype_ops, fp32_ops,
// widest_dtype_ops, conditional_fp32_ops, excluded_sym_names, force, output_dtypes, ignore_unknown_names, report.
// amp._options.conversion has checked them; DTypeOf and PolicyFromName throw ArgumentError for unknown names.
ConvertOptions ConvertOptionsOf(const py::dict& options, bool* wants_report = nullptr);

}  // namespace amp::python
