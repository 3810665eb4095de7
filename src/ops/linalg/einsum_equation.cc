#include "ops/linalg/einsum_equation.h"

#include <algorithm>
#include <cctype>

#include "nnvm/error.h"

namespace amp::einsum_equation {
namespace {

constexpr int kFirstUnnamed = 256;
const char* const kDots = "...";

[[noreturn]] void Refuse(const std::string& subscripts, const std::string& why) {
  Throw<GraphError>("attribute subscripts: {}: {}", Quotable(subscripts), why);
}

void CheckTerm(const std::string& subscripts, const std::string& term) {
  std::string letters = term;
  if (const std::size_t dots = letters.find(kDots); dots != std::string::npos) letters.erase(dots, 3);
  for (const char letter : letters) {
    if (std::isalpha(static_cast<unsigned char>(letter)) == 0) {
      Refuse(subscripts, "expected letters, ',', '->' and one '...' for each array");
    }
  }
}

std::vector<std::string> SplitTerms(const std::string& text) {
  std::vector<std::string> terms(1);
  for (const char letter : text) {
    if (letter == ',') {
      terms.emplace_back();
    } else {
      terms.back() += letter;
    }
  }
  return terms;
}

// Letters that occur once, sorted, behind what "..." stands for.
std::string ImpliedResult(const std::vector<std::string>& in) {
  std::map<char, int> counts;
  bool has_dots = false;
  for (const std::string& term : in) {
    has_dots = has_dots || term.find(kDots) != std::string::npos;
    for (const char letter : term) ++counts[letter];
  }
  std::string out = has_dots ? kDots : "";
  for (const auto& [letter, count] : counts) {
    if (letter != '.' && count == 1) out += letter;
  }
  return out;
}

// Labels of the axes of an array of this rank.
Labels LabelsOf(const std::string& term, int rank, int dots_rank) {
  Labels labels;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (term[i] != '.') {
      labels.push_back(static_cast<unsigned char>(term[i]));
      continue;
    }
    for (int axis = dots_rank; axis-- > 0;) labels.push_back(kFirstUnnamed + axis);
    i += 2;
  }
  if (static_cast<int>(labels.size()) != rank) {
    Throw<GraphError>("'{}' does not name the axes of an array of rank {}", Quotable(term), rank);
  }
  return labels;
}

// The number of axes that "..." stands for.
int DotsRank(const std::string& term, int rank) {
  const bool has_dots = term.find(kDots) != std::string::npos;
  return has_dots ? std::max(0, rank + 3 - static_cast<int>(term.size())) : 0;
}

void AddSize(int label, std::int64_t size, std::map<int, std::int64_t>* sizes) {
  const auto [at, is_new] = sizes->emplace(label, size);
  if (is_new || at->second == size || size == 1) return;
  if (at->second != 1) {
    const std::string name = label < kFirstUnnamed ? std::string(1, static_cast<char>(label)) : kDots;
    Throw<GraphError>("axis '{}' has size {} in one array and {} in another", name, at->second, size);
  }
  at->second = size;
}

}  // namespace

EinsumEquation ParseEinsum(const std::string& subscripts) {
  std::string text = subscripts;
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const std::size_t arrow = text.find("->");
  EinsumEquation equation{SplitTerms(text.substr(0, arrow)), ""};
  for (const std::string& term : equation.in) CheckTerm(subscripts, term);
  if (arrow == std::string::npos) {
    equation.out = ImpliedResult(equation.in);
    return equation;
  }
  equation.out = text.substr(arrow + 2);
  CheckTerm(subscripts, equation.out);
  for (const char letter : equation.out) {
    const bool is_known = std::any_of(equation.in.begin(), equation.in.end(),
                                      [&](const std::string& term) { return term.find(letter) != std::string::npos; });
    if (!is_known) Refuse(subscripts, "the result has an axis that no array has");
  }
  return equation;
}

LabelledShapes Label(const EinsumEquation& equation, const std::vector<Shape>& shapes) {
  LabelledShapes result;
  result.shapes = shapes;
  int dots_rank = 0;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const int own = DotsRank(equation.in[i], shapes[i].rank());
    dots_rank = std::max(dots_rank, own);
    result.in.push_back(LabelsOf(equation.in[i], shapes[i].rank(), own));
    for (int axis = 0; axis < shapes[i].rank(); ++axis) {
      AddSize(result.in.back()[static_cast<std::size_t>(axis)], shapes[i][axis], &result.sizes);
    }
  }
  const bool has_dots = equation.out.find(kDots) != std::string::npos;
  const int letters = static_cast<int>(equation.out.size()) - (has_dots ? 3 : 0);
  result.out_labels = LabelsOf(equation.out, letters + (has_dots ? dots_rank : 0), dots_rank);
  std::vector<std::int64_t> dims;
  for (const int label : result.out_labels) dims.push_back(result.sizes.at(label));
  result.out = Shape(dims);
  return result;
}

}  // namespace amp::einsum_equation
