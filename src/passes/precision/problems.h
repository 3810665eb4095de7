// What is wrong with a call, gathered, so that all of it can be said at once.
#pragma once

#include <string>
#include <vector>

#include "nnvm/error.h"

namespace amp {

class Problems {
 public:
  void Add(std::string problem) { problems_.push_back(std::move(problem)); }
  // Throws one ArgumentError that lists all of them.
  void ThrowIfAny() const {
    if (problems_.empty()) return;
    if (problems_.size() == 1) throw ArgumentError(problems_[0]);
    Throw<ArgumentError>("{} problems: {}", problems_.size(), JoinSome(problems_, 99));
  }

 private:
  std::vector<std::string> problems_;
};

}  // namespace amp
