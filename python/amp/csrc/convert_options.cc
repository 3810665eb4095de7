#include "convert_options.h"

#include <functional>

namespace amp::python {
namespace {

template <class T>
T Require(py::handle value, const std::string& key, const char* expected) {
  try {
    return value.cast<T>();
  } catch (const py::cast_error&) {
    Throw<ArgumentError>("{}: expected {}, got {}", key, expected,
                         py::str(py::type::handle_of(value)).cast<std::string>());
  }
}

std::vector<std::string> Names(py::handle value, const std::string& key) {
  if (py::isinstance<py::str>(value)) Throw<ArgumentError>("{}: expected a list of names, got one str", key);
  return Require<std::vector<std::string>>(value, key, "a list of names");
}

std::optional<std::vector<std::string>> OptionalNames(py::handle value, const std::string& key) {
  if (value.is_none()) return std::nullopt;
  return Names(value, key);
}

std::optional<std::vector<ConditionalOp>> Conditional(py::handle value, const std::string& key) {
  if (value.is_none()) return std::nullopt;
  std::vector<ConditionalOp> entries;
  using Entry = std::tuple<std::string, std::string, std::vector<std::string>>;
  constexpr const char* kExpected = "a list of (operator, attribute, [values]), all of them text";
  for (const Entry& entry : Require<std::vector<Entry>>(value, key, kExpected)) {
    entries.push_back({std::get<0>(entry), std::get<1>(entry), std::get<2>(entry)});
  }
  return entries;
}

}  // namespace

std::map<std::string, DType> DTypeMapOf(const py::dict& dtypes) {
  std::map<std::string, DType> map;
  for (const auto& [name, dtype] : dtypes) map[Require<std::string>(name, "a name", "text")] = DTypeOf(dtype);
  return map;
}

ConvertOptions ConvertOptionsOf(const py::dict& options, bool* wants_report) {
  ConvertOptions result;
  using Setter = std::function<void(py::handle value, const std::string& key)>;
  const auto flag = [](bool* place) {
    return [place](py::handle value, const std::string& key) { *place = Require<bool>(value, key, "True or False"); };
  };
  const auto names = [](std::optional<std::vector<std::string>>* place) {
    return [place](py::handle value, const std::string& key) { *place = OptionalNames(value, key); };
  };
  const auto dtypes = [](std::map<std::string, DType>* place) {
    return [place](py::handle value, const std::string& key) {
      *place = DTypeMapOf(Require<py::dict>(value, key, "a dict {name: dtype}"));
    };
  };
  bool report = false;
  const std::map<std::string, Setter> setters{
      {"target_dtype", [&](py::handle value, const std::string&) { result.target = DTypeOf(value); }},
      {"policy",
       [&](py::handle value, const std::string& key) {
         result.policy = PolicyFromName(Require<std::string>(value, key, "'default' or 'mxnet'"));
       }},
      {"cast_params_offline", flag(&result.cast_params_offline)},
      {"fold_batch_norm",
       [&](py::handle value, const std::string& key) {
         if (!value.is_none()) result.fold_batch_norm = Require<bool>(value, key, "None, True or False");
       }},
      {"target_dtype_ops", names(&result.target_ops)},
      {"fp32_ops", names(&result.float32_ops)},
      {"widest_dtype_ops", names(&result.widest_ops)},
      {"conditional_fp32_ops",
       [&](py::handle value, const std::string& key) { result.conditional = Conditional(value, key); }},
      {"excluded_sym_names", [&](py::handle value, const std::string& key) { result.excluded = Names(value, key); }},
      {"force", dtypes(&result.force)},
      {"output_dtypes", dtypes(&result.output_dtypes)},
      {"ignore_unknown_names", flag(&result.ignore_unknown_names)},
      {"report", flag(&report)},
  };
  for (const auto& [key, value] : options) {
    const auto name = Require<std::string>(key, "an option", "text");
    const auto setter = setters.find(name);
    if (setter == setters.end()) {
      std::vector<std::string> known;
      for (const auto& [known_name, unused] : setters) known.push_back(known_name);
      Throw<ArgumentError>("there is no option '{}'{}", Quotable(name), NearMatches(name, known));
    }
    setter->second(value, name);
  }
  if (wants_report != nullptr) *wants_report = report;
  return result;
}

}  // namespace amp::python
