#include "convert_options.h"

#include "program/threads.h"
#include "runtime/find_machine.h"

namespace amp::python {
namespace {

bool FlagOf(const py::dict& options, const char* key) { return ValueOf<bool>(options, key).value_or(false); }

std::optional<std::vector<ConditionalOp>> ConditionalOf(const py::dict& options, const char* key) {
  using Entry = std::tuple<std::string, std::string, std::vector<std::string>>;
  const auto given = ValueOf<std::vector<Entry>>(options, key);
  if (!given) return std::nullopt;
  std::vector<ConditionalOp> entries;
  for (const auto& [op, attr, values] : *given) entries.push_back({op, attr, values});
  return entries;
}

// A name or {"allow": operators, "infer": operators, "deny": operators, "rest": category}.
std::optional<GraphAmpPreset> PresetOf(const py::dict& options) {
  if (!options.contains("preset")) return std::nullopt;
  if (py::isinstance<py::str>(options["preset"])) return PresetFromName(options["preset"].cast<std::string>());
  const auto given = options["preset"].cast<py::dict>();
  const auto list = [&](const char* key) {
    return ValueOf<std::vector<std::string>>(given, key).value_or(std::vector<std::string>());
  };
  GraphAmpPreset preset{"custom", list("allow"), list("infer"), list("deny")};
  if (const auto rest = ValueOf<std::string>(given, "rest")) preset.rest = CategoryFromName("preset: rest", *rest);
  return preset;
}

std::map<std::string, GraphAmpCategory> CategoriesOf(const py::dict& options) {
  std::map<std::string, GraphAmpCategory> categories;
  for (const auto& [name, category] : ValueOf<py::dict>(options, "categories").value_or(py::dict())) {
    const auto key = name.cast<std::string>();
    categories[key] = CategoryFromName("categories: '" + key + "'", category.cast<std::string>());
  }
  return categories;
}

// {"squared_errors": {tensor: number}, "parts": {tensor: {node: number}}, "limit": number}
void ReadAccuracy(const py::dict& options, ConvertOptions* result) {
  const auto given = ValueOf<py::dict>(options, "accuracy");
  if (!given) return;
  result->accuracy = ErrorTarget{};
  result->accuracy->squared_errors = (*given)["squared_errors"].cast<std::map<std::string, double>>();
  result->accuracy->parts = (*given)["parts"].cast<std::map<std::string, std::map<std::string, double>>>();
  result->accuracy->limit = (*given)["limit"].cast<double>();
}

}  // namespace

std::map<std::string, DType> DTypeMapOf(const py::dict& dtypes) {
  std::map<std::string, DType> map;
  for (const auto& [name, dtype] : dtypes) map[name.cast<std::string>()] = DTypeOf(dtype);
  return map;
}

ConvertOptions ConvertOptionsOf(const py::dict& options, bool* wants_report) {
  const auto dtypes = [&](const char* key) { return DTypeMapOf(ValueOf<py::dict>(options, key).value_or(py::dict())); };
  ConvertOptions result;
  if (options.contains("target_dtype")) result.target = DTypeOf(options["target_dtype"]);
  if (const auto policy = ValueOf<std::string>(options, "policy")) result.policy = PolicyFromName(*policy);
  if (const auto minimize = ValueOf<std::string>(options, "minimize")) result.minimize = MinimizeFromName(*minimize);
  result.cast_params_offline = FlagOf(options, "cast_params_offline");
  result.fold_batch_norm = ValueOf<bool>(options, "fold_batch_norm");
  result.target_ops = ValueOf<std::vector<std::string>>(options, "target_dtype_ops");
  result.float32_ops = ValueOf<std::vector<std::string>>(options, "fp32_ops");
  result.widest_ops = ValueOf<std::vector<std::string>>(options, "widest_dtype_ops");
  result.neutral_ops = ValueOf<std::vector<std::string>>(options, "neutral_ops").value_or(result.neutral_ops);
  result.conditional = ConditionalOf(options, "conditional_fp32_ops");
  result.excluded = ValueOf<std::vector<std::string>>(options, "excluded_sym_names").value_or(result.excluded);
  result.force = dtypes("force");
  result.output_dtypes = dtypes("output_dtypes");
  result.training = FlagOf(options, "training");
  result.preset = PresetOf(options);
  result.machine = FindMachine(ValueOf<std::string>(options, "machine").value_or("any"), EffectiveThreads(0));
  result.categories = CategoriesOf(options);
  ReadAccuracy(options, &result);
  result.over_limit = ValueOf<std::map<std::string, std::string>>(options, "over_limit");
  result.rounded_to_nearest =
      ValueOf<std::set<std::string>>(options, "rounded_to_nearest").value_or(result.rounded_to_nearest);
  result.keep_decision = FlagOf(options, "keep_decision");
  result.ignore_unknown_names = FlagOf(options, "ignore_unknown_names");
  if (wants_report != nullptr) *wants_report = FlagOf(options, "report");
  return result;
}

}  // namespace amp::python
