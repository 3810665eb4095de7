#include "nnvm/params_file.h"

#include <algorithm>
#include <set>

#include "nnvm/binary_params.h"
#include "nnvm/error.h"
#include "nnvm/foreign_files.h"
#include "nnvm/npz.h"

namespace amp {
namespace {

NamedArrays Read(ByteReader bytes) {
  const std::string start = bytes.Peek(32);
  if (IsZip(start)) return ReadNpz(&bytes);
  if (IsNpy(start)) return {{"", InRowOrder(ReadNpyFile(&bytes, bytes.remaining()))}};
  RefuseForeignFile(start, bytes.source());
  if (start.starts_with("{")) {
    Throw<GraphError>("{}: this is JSON, as symbols are; a parameter file ends in .params", bytes.source());
  }
  return ReadBinaryParams(&bytes);
}

// V2 has no way to say that a shape is () or that a size is 0.
bool FitsV2(const NDArray& array) { return array.shape().rank() != 0 && array.size() != 0; }

void CheckWritable(const NamedArrays& arrays, ParamsFormat format) {
  const bool is_list = IsUnnamed(arrays);
  std::set<std::string> names;
  for (const auto& [name, array] : arrays) {
    if (!names.insert(name).second && !is_list) Throw<ArgumentError>("two arrays are named '{}'", Quotable(name));
    if (!array.defined()) Throw<ArgumentError>("array '{}' has no value", Quotable(name));
    if (format == ParamsFormat::kV2 && !FitsV2(array)) {
      Throw<ArgumentError>("array '{}' of type {}: V2 files hold neither scalars nor empty arrays (V3 and npz do)",
                           Quotable(name), array.type().ToString());
    }
  }
}

}  // namespace

NamedArrays LoadParams(const std::string& path, MapRule rule) { return Read(ByteReader::OpenFile(path, rule)); }

NamedArrays ParseParams(std::string_view bytes, const std::string& source) {
  return Read(ByteReader::OfMemory(bytes, source));
}

ParamsFormat DefaultFormat(const NamedArrays& arrays) {
  const bool fits = std::all_of(arrays.begin(), arrays.end(),
                                [](const auto& named) { return !named.second.defined() || FitsV2(named.second); });
  return fits ? ParamsFormat::kV2 : ParamsFormat::kV3;
}

ParamsFormat ParamsFormatFromName(std::string_view name) {
  if (name == "V2") return ParamsFormat::kV2;
  if (name == "V3") return ParamsFormat::kV3;
  if (name == "npz") return ParamsFormat::kNpz;
  Throw<ArgumentError>("unknown parameter file format '{}'; expected V2, V3 or npz", Quotable(name));
}

void SaveParams(const std::string& path, const NamedArrays& arrays, std::optional<ParamsFormat> format) {
  const ParamsFormat chosen = format ? *format : DefaultFormat(arrays);
  CheckWritable(arrays, chosen);
  WriteFileWith(path, [&](const AppendBytes& append) {
    if (chosen == ParamsFormat::kNpz) {
      WriteNpz(arrays, append);
    } else {
      WriteBinaryParams(arrays, chosen == ParamsFormat::kV3, append);
    }
  });
}

ModelParams SplitParams(const NamedArrays& arrays, const std::string& source) {
  ModelParams params;
  for (const auto& [key, array] : arrays) {
    const bool is_arg = key.starts_with("arg:");
    if (!is_arg && !key.starts_with("aux:")) {
      Throw<GraphError>("{}: '{}' is not of the form arg:NAME or aux:NAME", source, Quotable(key));
    }
    if (!array.defined()) Throw<GraphError>("{}: '{}' has no value", source, Quotable(key));
    if (!(is_arg ? params.args : params.aux).emplace(key.substr(4), array).second) {
      Throw<GraphError>("{}: '{}' occurs twice", source, Quotable(key));
    }
  }
  return params;
}

ModelParams SplitParamsOf(const Symbol& symbol, const NamedArrays& arrays, const std::string& source) {
  const auto has_role = [](const auto& named) {
    return named.first.starts_with("arg:") || named.first.starts_with("aux:");
  };
  if (std::any_of(arrays.begin(), arrays.end(), has_role)) return SplitParams(arrays, source);
  const std::vector<std::string> inputs = symbol.ListInputs(), states = symbol.ListAuxiliaryStates();
  const std::set<std::string> known(inputs.begin(), inputs.end()), auxiliary(states.begin(), states.end());
  NamedArrays with_roles;
  for (const auto& [name, array] : arrays) {
    if (!known.contains(name)) {
      Throw<GraphError>("{}: '{}' is neither of the form arg:NAME or aux:NAME nor a variable of the symbol{}", source,
                        Quotable(name), NearMatches(name, inputs));
    }
    with_roles.emplace_back((auxiliary.contains(name) ? "aux:" : "arg:") + name, array);
  }
  return SplitParams(with_roles, source);
}

NamedArrays JoinParams(const ModelParams& params) {
  NamedArrays arrays;
  for (const auto& [name, array] : params.args) arrays.emplace_back("arg:" + name, array);
  for (const auto& [name, array] : params.aux) arrays.emplace_back("aux:" + name, array);
  return arrays;
}

}  // namespace amp
