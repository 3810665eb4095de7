#include "nnvm/json_text.h"

#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "nnvm/error.h"

namespace amp {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxDepth = 64;  // of nested brackets; real files need 5

// Reads the text and says how far: the events of nlohmann/json have no position of their own.
class CountedText {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountedText(const char* at, const char** furthest) : at_(at), furthest_(furthest) {}
  reference operator*() const { return *at_; }
  CountedText& operator++() {
    *furthest_ = ++at_;
    return *this;
  }
  CountedText operator++(int) {
    CountedText before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountedText& other) const { return at_ == other.at_; }
  bool operator!=(const CountedText& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** furthest_;
};

// Looks at a document without keeping it. (The callback of nlohmann/json while it keeps one is quadratic: after every
// object it searches the array around it.)
class Checker : public Json::json_sax_t {
 public:
  Checker(std::string_view text, const std::string& source) : text_(text), source_(source), at_(text.data()) {}

  void Check() {
    Json::sax_parse(CountedText(text_.data(), &at_), CountedText(text_.data() + text_.size(), &at_), this);
  }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(Json::number_integer_t) override { return true; }
  bool number_unsigned(Json::number_unsigned_t) override { return true; }
  bool number_float(Json::number_float_t, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(Json::binary_t&) override { return true; }
  bool start_array(std::size_t) override { return Open(); }
  bool end_array() override { return Close(); }
  bool end_object() override { return Close(); }

  bool start_object(std::size_t) override { return Open(); }
  bool key(std::string& key) override {
    if (!keys_.back().insert(key).second) Fail("key '{}' occurs twice in one object", Quotable(key));
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const Json::exception& error) override {
    Fail("not valid JSON: {}", Quotable(MessageOf(error), 300));
  }

 private:
  template <class... Args>
  [[noreturn]] void Fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw GraphError(fmt::format("{} at byte {}: ", source_, at_ - text_.data()) +
                     fmt::format(format, std::forward<Args>(args)...));
  }

  bool Open() {
    if (keys_.size() == kMaxDepth) Fail("brackets are nested more than {} deep", kMaxDepth);
    keys_.emplace_back();
    return true;
  }
  bool Close() {
    keys_.pop_back();
    return true;
  }

  std::string_view text_;
  const std::string& source_;
  const char* at_;
  std::vector<std::unordered_set<std::string>> keys_;  // of the objects and arrays that are open
};

}  // namespace

std::string_view MessageOf(const std::exception& error) {
  const std::string_view what = error.what();
  const std::size_t mark = what.starts_with("[json.exception") ? what.find("] ") : what.npos;
  return mark == what.npos ? what : what.substr(mark + 2);
}

Json ParseJson(std::string_view text, const std::string& source) {
  Checker(text, source).Check();
  return Json::parse(text.begin(), text.end());
}

}  // namespace amp
