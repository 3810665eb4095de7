// Errors say whose fault it is: the model's (GraphError), the caller's (ArgumentError), nobody's yet
// (UnsupportedError: valid, not implemented), or ours (InternalError).
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace amp {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
class GraphError : public Error {
 public:
  using Error::Error;
};
// A position in data that does not exist.
class IndexError : public GraphError {
 public:
  using GraphError::GraphError;
};
class ArgumentError : public Error {
 public:
  using Error::Error;
};
// A plan file that does not fit here: another program, another CPU, or other parameters made it.
class PlanMismatch : public ArgumentError {
 public:
  using ArgumentError::ArgumentError;
};
class UnsupportedError : public Error {
 public:
  using Error::Error;
};
class InternalError : public Error {
 public:
  using Error::Error;
};

template <class E, class... Args>
[[noreturn]] void Throw(fmt::format_string<Args...> format, Args&&... args) {
  throw E(fmt::format(format, std::forward<Args>(args)...));
}

// "; did you mean 'a', 'b'?" for the candidates closest to `name`, or "" where none is close.
std::string NearMatches(std::string_view name, const std::vector<std::string>& candidates);

// "a, b, c"; at most `limit` items, then "... (12 more)".
std::string JoinSome(const std::vector<std::string>& items, std::size_t limit = 12);

// Text from outside, made safe for an error message: at most `longest` bytes, unprintable and non-ASCII ones as \xNN.
std::string Quotable(std::string_view text, std::size_t longest = 80);

}  // namespace amp
