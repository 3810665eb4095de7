// Attribute text: whatever reads as a value prints as text that reads as the same value.
#include <cmath>

#include "nnvm/fake_ops.h"
#include "outcome.h"

namespace amp::fuzz {
namespace {

template <class T>
bool Same(const T& a, const T& b) {
  return a == b;
}
bool Same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

template <class T>
void Try(std::string_view text) {
  T value{}, again{};
  if (!ParseAttr(text, &value)) return;
  const std::string printed = PrintAttr(value);
  if (!ParseAttr(printed, &again)) Find("'" + printed + "' does not read back");
  if (!Same(value, again)) Find("'" + printed + "' reads back as another value");
  if (PrintAttr(again) != printed) Find("'" + printed + "' prints otherwise the second time");
}

// A whole parameter struct, the text in each of its fields, the key itself from outside.
void TryStruct(const std::string& text) {
  const Op& op = OpRegistry::Get().Require(kMXNetDomain, "_fake_unary");
  for (const FieldInfo& field : op.fields) {
    Accepts("attribute ", [&] { op.parse({{field.name, text}}); });
  }
  Accepts("", [&] { op.parse({{text, text}}); });
}

}  // namespace
}  // namespace amp::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace amp;
  testing::RegisterFakeOps();
  const std::string text(reinterpret_cast<const char*>(data), size);
  fuzz::Try<bool>(text);
  fuzz::Try<std::int64_t>(text);
  fuzz::Try<double>(text);
  fuzz::Try<std::string>(text);
  fuzz::Try<IntTuple>(text);
  fuzz::Try<OptionalIntTuple>(text);
  fuzz::Try<DType>(text);
  fuzz::Try<std::optional<std::int64_t>>(text);
  fuzz::Try<std::optional<IntTuple>>(text);
  fuzz::TryStruct(text);
  return 0;
}
