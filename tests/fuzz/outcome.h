// What a fuzz target accepts: a result, or one of the errors that are meant for foreign input.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include "nnvm/error.h"

namespace amp::fuzz {

// A finding. libFuzzer stores the input of a process that aborts.
[[noreturn]] inline void Find(const std::string& what) {
  std::fprintf(stderr, "FINDING: %s\n", what.c_str());
  std::abort();
}

// Calls `read`; returns false where it refused its input as it should: an amp::Error that is not internal, begins with
// the source's name `source` and is no longer than a reader bears.
template <class F>
bool Accepts(const std::string& source, F&& read) {
  constexpr std::size_t kLongestMessage = 2500;
  try {
    read();
    return true;
  } catch (const InternalError& error) {
    Find(std::string("InternalError: ") + error.what());
  } catch (const Error& error) {
    const std::string message = error.what();
    if (!message.starts_with(source)) Find("the message does not name the file: " + message);
    if (message.size() > kLongestMessage) Find("the message is too long: " + message.substr(0, 200));
    return false;
  }
}

}  // namespace amp::fuzz
