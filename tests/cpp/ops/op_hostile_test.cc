// Every operator with attributes and sizes that no honest file has. Whatever they are, the outcome is a result or an
// error that names the node: no crash, no overflow (with `make asan`), no InternalError, no endless message.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "op_harness.h"
#include "passes/gradient/use_training_forms.h"
#include "passes/infer.h"

#if defined(__SANITIZE_ADDRESS__)
// What is too large for malloc is too large for the sanitizer's, too, and no reason to end the process.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1:max_allocation_size_mb=2048"; }
#endif

namespace amp::testing {
namespace {

constexpr int kDraws = 4;                               // legal uses of each operator, to be spoilt in all ways
constexpr std::int64_t kSmall = std::int64_t{1} << 14;  // elements that are worth computing
constexpr std::size_t kLongestMessage = 2500;

// Lets large allocations fail, as they do for users of a limited container.
class MemoryLimit {
 public:
  MemoryLimit() {
#if !defined(__SANITIZE_ADDRESS__)
    getrlimit(RLIMIT_DATA, &before_);
    rlimit limit = before_;
    limit.rlim_cur = std::min<rlim_t>(before_.rlim_max, rlim_t{2} << 30);
    setrlimit(RLIMIT_DATA, &limit);
#endif
  }
  ~MemoryLimit() {
#if !defined(__SANITIZE_ADDRESS__)
    setrlimit(RLIMIT_DATA, &before_);
#endif
  }

 private:
  rlimit before_{};
};

std::string Repeated(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

// Texts that are no legal value of most fields, and values at the ends of every range.
const std::vector<std::string>& HostileTexts() {
  static const std::vector<std::string> texts = [] {
    std::vector<std::string> all{"",
                                 " ",
                                 "None",
                                 "nan",
                                 "inf",
                                 "-inf",
                                 "1e400",
                                 "-1e400",
                                 "1e-400",
                                 "1e30",
                                 "-1e30",
                                 "1e308",
                                 "0.5",
                                 "True",
                                 "()",
                                 "(",
                                 "(,)",
                                 "((1, 2), 3)",
                                 "(None, None)",
                                 "\xff\xfe",
                                 std::string("1\0", 2),
                                 "9223372036854775808",
                                 "18446744073709551616"};
    for (const char* number : {"0", "-1", "1", "7", "65536", "65537", "1048576", "2147483647", "4294967296",
                               "1099511627776", "4611686018427387904", "9223372036854775807", "-2147483648",
                               "-9223372036854775807", "-9223372036854775808"}) {
      all.emplace_back(number);
      for (int n = 1; n <= 5; ++n) all.push_back("(" + Repeated(std::string(number) + ", ", n) + ")");
    }
    all.push_back("(" + Repeated("1, ", 33) + ")");
    all.push_back("(" + Repeated("0, ", 100000) + ")");
    all.push_back("(" + Repeated("9223372036854775807, ", 1000) + ")");
    all.push_back(std::string(200000, '('));
    all.push_back(std::string(1 << 20, '9'));
    return all;
  }();
  return texts;
}

std::string Shortened(const std::string& text) { return text.size() > 60 ? text.substr(0, 60) + "..." : text; }

bool IsSmall(const TensorType& type) {
  std::int64_t size = 1;
  for (const std::int64_t dim : type.shape.dims()) {
    if (dim > kSmall || (size *= dim) > kSmall) return false;
  }
  return true;
}

class Attempt {
 public:
  Attempt(const std::string& op, const OpCase& c) : op_(op), case_(c) {}

  // What is wrong with the outcome; "" for a result and for a proper error.
  std::string Problem(Random& random) {
    try {
      Run(random);
    } catch (const InternalError& error) {
      return std::string("InternalError: ") + error.what();
    } catch (const Error& error) {
      const std::string text = error.what();
      if (text.size() > kLongestMessage) return fmt::format("a message of {} bytes: {}", text.size(), Shortened(text));
      // Inputs that composing made up are named after the node.
      const bool names_node = text.find("'node'") != std::string::npos || text.find("'in") != std::string::npos ||
                              text.find("would help: node_") != std::string::npos;
      if (!names_node && text.find("bytes") == std::string::npos) return "no node in: " + text;
    } catch (const std::bad_alloc&) {  // of the memory that the caller's sizes need
    } catch (const std::exception& error) {
      return std::string("another exception: ") + error.what();
    }
    return "";
  }

 private:
  void Run(Random& random) {
    std::vector<Symbol> variables;
    for (std::size_t i = 0; i < case_.inputs.size(); ++i) variables.push_back(Symbol::Variable(fmt::format("in{}", i)));
    const Symbol symbol = Symbol::Apply(op_, "node", case_.attrs, variables, {});
    const Graph graph = symbol.ToGraph();
    const Types types = InferAll(graph);
    Execute(random, symbol, graph, types);
  }

  // Weights get the shapes that follow from the attributes, where they do.
  Types InferAll(const Graph& graph) const {
    TypeMap known;
    for (std::size_t i = 0; i < case_.inputs.size(); ++i) {
      known[fmt::format("in{}", i)] = case_.inputs[i].type;
      if (i != 0) continue;
      Types types = InferPartial(graph, known);
      if (std::all_of(types.begin(), types.end(), [](const TensorType& type) { return type.fully_known(); })) {
        return types;
      }
    }
    return Infer(graph, known);
  }

  // Binds; runs where that takes no time.
  void Execute(Random& random, const Symbol& symbol, const Graph& graph, const Types& types) const {
    const bool is_small = std::all_of(types.begin(), types.end(), IsSmall);
    TypeMap inputs;
    std::map<std::string, NDArray> arrays;
    for (const NodeId id : graph.variables()) {
      const std::string& name = graph.node(id).name();
      inputs[name] = types[graph.EntryOf(id, 0)];
      const bool is_given = name.starts_with("in");  // the others are what the spoilt attribute asks for
      const Values values = is_given ? case_.inputs.at(std::stoul(name.substr(2))).values : Values::kPlain;
      if (is_small) arrays[name] = DrawArray(random, {inputs[name], values});
    }
    for (const auto backend : {Backend::kReference, Backend::kOneDnn}) {
      BindOptions options;
      options.backend = backend;
      options.num_threads = 1;
      Executor executor(symbol, {}, inputs, options);
      if (!is_small) continue;
      std::vector<NDArray> arguments;
      for (const std::string& name : executor.input_names()) {
        arguments.push_back(name == kRandomKey ? RandomKey() : arrays.at(name));
      }
      executor.Run(arguments);
    }
  }

  std::string op_;
  const OpCase& case_;
};

class OpHostile : public ::testing::TestWithParam<OpRow> {};

TEST_P(OpHostile, AttributesOutOfRange) {
  const MemoryLimit limit;
  const amp::Op& op = OpRegistry::Get().Require(kMXNetDomain, GetParam().op);
  std::set<std::string> problems;
  for (int draw = 0; draw < kDraws; ++draw) {
    for (const FieldInfo& field : op.fields) {
      if (field.ignored) continue;
      for (const std::string& text : HostileTexts()) {
        Random random(static_cast<std::uint64_t>(draw) + 1);
        OpCase c = GetParam().draw(random);
        c.attrs[field.name] = text;
        const std::string problem = Attempt(op.name, c).Problem(random);
        if (!problem.empty()) problems.insert(fmt::format("{}={}: {}", field.name, Shortened(text), problem));
      }
    }
  }
  for (const std::string& problem : problems) ADD_FAILURE() << problem;
}

TEST_P(OpHostile, EnormousSizes) {
  const MemoryLimit limit;
  std::set<std::string> problems;
  for (int draw = 0; draw < 4 * kDraws; ++draw) {
    for (const std::int64_t size : {std::int64_t{0}, std::int64_t{1} << 16, std::int64_t{1} << 31,
                                    std::int64_t{1} << 40, std::int64_t{1} << 62, INT64_MAX}) {
      for (const bool all_axes : {false, true}) {
        Random random(static_cast<std::uint64_t>(draw) + 1);
        OpCase c = GetParam().draw(random);
        for (InputCase& input : c.inputs) {
          Shape& shape = input.type.shape;
          for (int axis = 0; axis < shape.rank(); ++axis) {
            if (all_axes || random.Chance(0.4)) shape[axis] = size;
          }
        }
        const std::string problem = Attempt(GetParam().op, c).Problem(random);
        if (!problem.empty()) problems.insert(fmt::format("{}: {}", size, problem));
      }
    }
  }
  for (const std::string& problem : problems) ADD_FAILURE() << problem;
}

INSTANTIATE_TEST_SUITE_P(Ops, OpHostile, ::testing::ValuesIn(OpRows()), [](const auto& row) { return row.param.op; });

}  // namespace
}  // namespace amp::testing
