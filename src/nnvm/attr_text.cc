#include "nnvm/attr_text.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace amp {
namespace {

std::string_view Trim(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

template <class T>
bool ParseNumber(std::string_view text, T* value) {
  text = Trim(text);
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

bool Bracketed(std::string_view text) {
  return text.size() >= 2 &&
         ((text.front() == '(' && text.back() == ')') || (text.front() == '[' && text.back() == ']'));
}

bool ParseElement(std::string_view text, std::int64_t* value) { return ParseAttr(text, value); }
bool ParseElement(std::string_view text, std::optional<std::int64_t>* value) { return ParseAttr(Trim(text), value); }

template <class Element>
bool ParseTuple(std::string_view text, std::vector<Element>* value) {
  text = Trim(text);
  std::vector<Element> parsed;
  if (!Bracketed(text)) {
    parsed.resize(1);
    if (!ParseElement(text, &parsed[0])) return false;
    *value = std::move(parsed);
    return true;
  }
  text = Trim(text.substr(1, text.size() - 2));
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    Element element{};
    if (!ParseElement(text.substr(0, comma), &element)) return false;
    parsed.push_back(element);
    text = comma == std::string_view::npos ? std::string_view() : Trim(text.substr(comma + 1));
  }
  *value = std::move(parsed);
  return true;
}

template <class Element>
std::string PrintTuple(const std::vector<Element>& value) {
  std::string text = "(";
  for (std::size_t i = 0; i < value.size(); ++i) text += (i ? ", " : "") + PrintAttr(value[i]);
  return text + (value.size() == 1 ? ",)" : ")");
}

}  // namespace

bool ParseAttr(std::string_view text, bool* value) {
  text = Trim(text);
  if (text == "True" || text == "true" || text == "1") return *value = true, true;
  if (text == "False" || text == "false" || text == "0") return *value = false, true;
  return false;
}

bool ParseAttr(std::string_view text, std::int64_t* value) {
  text = Trim(text);
  if (text.ends_with('L')) text.remove_suffix(1);
  return ParseNumber(text, value);
}

bool ParseAttr(std::string_view text, double* value) {
  double parsed = 0;
  if (!ParseNumber(text, &parsed)) return false;
  *value = parsed;
  return true;
}

bool ParseAttr(std::string_view text, std::string* value) {
  *value = std::string(text);
  return true;
}

bool ParseAttr(std::string_view text, IntTuple* value) {
  if (Trim(text) != "None") return ParseTuple(text, value);
  value->clear();
  return true;
}
bool ParseAttr(std::string_view text, OptionalIntTuple* value) { return ParseTuple(text, value); }

bool ParseAttr(std::string_view text, DType* value) {
  text = Trim(text);
  if (auto named = FindDType(text)) return *value = *named, true;
  std::int64_t code = 0;  // some writers store the enum's number
  if (!ParseAttr(text, &code)) return false;
  const auto found = DTypeFromMXNetCode(code);
  if (!found) return false;
  *value = *found;
  return true;
}

std::string PrintAttr(bool value) { return value ? "True" : "False"; }
std::string PrintAttr(std::int64_t value) { return std::to_string(value); }
std::string PrintAttr(const std::string& value) { return value; }
std::string PrintAttr(DType value) { return NameOf(value); }

std::string PrintAttr(double value) {
  std::string text = fmt::format("{}", value);
  // A float stays recognisable as one: "1.0", not "1".
  if (std::isfinite(value) && text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string PrintAttr(const IntTuple& value) { return PrintTuple(value); }
std::string PrintAttr(const OptionalIntTuple& value) { return PrintTuple(value); }

}  // namespace amp
