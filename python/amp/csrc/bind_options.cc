#include "bind_options.h"

#include "convert_options.h"

namespace amp::python {
namespace {

ReduceOptions ReduceOptionsOf(const py::dict& given) {
  ReduceOptions reduce;
  reduce.emulate = ValueOf<bool>(given, "emulate").value_or(false);
  reduce.conversion = ConvertOptionsOf(given);
  reduce.target = reduce.conversion.target;
  return reduce;
}

// What is not given stays as it is.
template <class T>
void Read(const py::dict& given, const char* key, T* value) {
  if (const auto read = ValueOf<T>(given, key)) *value = *read;
}

}  // namespace

BindOptions BindOptionsOf(const py::dict& given) {
  BindOptions options;
  if (const auto backend = ValueOf<std::string>(given, "backend")) options.backend = BackendFromName(*backend);
  if (const auto reduce = ValueOf<py::dict>(given, "reduce_precision")) {
    options.reduce_precision = ReduceOptionsOf(*reduce);
  }
  if (const auto mode = ValueOf<std::string>(given, "mode")) options.mode = NumericModeFromName(*mode);
  Read(given, "num_threads", &options.num_threads);
  Read(given, "monitor", &options.monitor);
  Read(given, "machine", &options.machine);
  Read(given, "tune", &options.tune);
  Read(given, "forced_kernel", &options.forced_kernel);
  Read(given, "count_denormals", &options.count_denormals);
  return options;
}

}  // namespace amp::python
