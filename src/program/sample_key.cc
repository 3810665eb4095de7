#include "program/sample_key.h"

#include <sstream>

#include "nnvm/error.h"

namespace amp {
namespace {

constexpr const char* kCall = "call";

}  // namespace

std::string SampleKey::Text() const {
  std::string text = reference_call.empty() ? step : step + "_" + reference_call;
  if (IsKnown(in)) text += std::string(" ") + NameOf(in);
  if (out != in) text += std::string(IsKnown(in) ? "-" : " ") + NameOf(out);
  return layout.empty() ? text : text + " " + layout;
}

SampleKey SampleKey::Parse(const std::string& text) {
  std::istringstream words(text);
  SampleKey key;
  std::string dtypes;
  words >> key.step >> dtypes >> key.layout;
  const std::string call = std::string(kCall) + "_";
  if (key.step.starts_with(call)) {
    key.reference_call = key.step.substr(call.size());
    key.step = kCall;
  }
  if (dtypes.empty()) return key;
  const std::size_t dash = dtypes.find('-');
  key.in = DTypeFromName(dtypes.substr(0, dash));
  key.out = dash == std::string::npos ? key.in : DTypeFromName(dtypes.substr(dash + 1));
  return key;
}

}  // namespace amp
