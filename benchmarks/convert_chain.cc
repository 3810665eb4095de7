// convert_chain [NODES]: time and memory of converting a chain of alternating FullyConnected and relu.
//
// NODES operators read one weight or each FullyConnected its own; figures are per node, variables included. Only dtypes
// of parameters are known, no shapes and no values. Each way of converting runs in a process of its own,
// so that no peak hides another: `convert_chain NODES WEIGHTS POLICY CASTS` is one of them.
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "passes/convert_symbol.h"

namespace amp {
namespace {

// The goal of a chain of 1,000,000 nodes.
constexpr double kGoalMicroseconds = 5.0;
constexpr double kGoalBytes = 1024;

struct Mode {
  bool one_weight = true;
  PrecisionPolicy policy = PrecisionPolicy::kDefault;
  bool offline = false;
};

Symbol Chain(std::size_t num_nodes, const Mode& mode, ConvertOptions* options) {
  const Op& product = OpRegistry::Get().Require(kMXNetDomain, "FullyConnected");
  const Op& relu = OpRegistry::Get().Require(kMXNetDomain, "Activation");
  const auto weight = [&](const std::string& name) {
    options->parameter_dtypes[name] = DType::kFloat32;
    return NodeEntry{Node::Variable(name), 0};
  };
  const NodeEntry shared = mode.one_weight ? weight("weight") : NodeEntry{};
  NodeEntry last{Node::Variable("data"), 0};
  for (std::size_t i = 0; i < num_nodes; ++i) {
    const std::string name = fmt::format("{}{}", i % 2 == 0 ? "fc" : "relu", i);
    if (i % 2 == 0) {
      const NodeEntry own = mode.one_weight ? shared : weight(name + "_weight");
      last = {Node::Make({&product, name, {{"no_bias", "True"}, {"num_hidden", "64"}}, {last, own}, {}}), 0};
    } else {
      last = {Node::Make({&relu, name, {{"act_type", "relu"}}, {last}, {}}), 0};
    }
  }
  return Symbol({last});
}

// A line of /proc/self/status, such as VmRSS or VmHWM, in bytes.
double StatusBytes(const std::string& key) {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;) {
    double kilobytes = 0;
    if (word == key + ":" && file >> kilobytes) return kilobytes * 1024;
  }
  Throw<Error>("/proc/self/status has no {}", key);
}

// What is free goes back to the system, and the highest mark down to what is in use.
void ForgetPeak() {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << 5;
}

double UserSeconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec) + 1e-6 * static_cast<double>(usage.ru_utime.tv_usec);
}

void Measure(std::size_t num_nodes, const Mode& mode) {
  ConvertOptions options;
  options.policy = mode.policy;
  options.cast_params_offline = mode.offline;
  const Symbol chain = Chain(num_nodes, mode, &options);
  ForgetPeak();
  const double bytes_before = StatusBytes("VmRSS"), user_before = UserSeconds();
  const auto begin = std::chrono::steady_clock::now();
  const ConvertedSymbol converted = ConvertSymbol(chain, {}, {}, options);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  const double user = UserSeconds() - user_before;
  const double all_nodes = static_cast<double>(num_nodes + 1 + options.parameter_dtypes.size());
  const double bytes = (StatusBytes("VmHWM") - bytes_before) / all_nodes;
  const double microseconds = 1e6 * seconds.count() / all_nodes;
  const bool is_good = microseconds < kGoalMicroseconds && bytes < kGoalBytes;
  fmt::print("{:<8} {:<8} {:<8} {:>9.0f} {:>8.2f} {:>8.2f} {:>8.2f} {:>10.0f} {:>9}  {}\n",
             mode.one_weight ? "one" : "each", NameOf(mode.policy), mode.offline ? "offline" : "run time", all_nodes,
             seconds.count(), user, microseconds, bytes, converted.num_casts, is_good ? "good" : "BEYOND THE GOAL");
}

// Whether the process ended well.
bool RunProcess(const char* program, std::vector<std::string> args) {
  const pid_t child = fork();
  if (child == 0) {
    std::vector<char*> texts{const_cast<char*>(program)};
    for (std::string& arg : args) texts.push_back(arg.data());
    texts.push_back(nullptr);
    execv(program, texts.data());
    _exit(127);
  }
  int status = 1;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool MeasureAll(const std::string& num_nodes) {
  fmt::print("a chain of {} operators; goal: under {} us and {} bytes a node\n", num_nodes, kGoalMicroseconds,
             kGoalBytes);
  fmt::print("{:<8} {:<8} {:<8} {:>9} {:>8} {:>8} {:>8} {:>10} {:>9}\n", "weights", "policy", "casts", "nodes", "s",
             "user s", "us/node", "bytes/node", "amp_casts");
  std::fflush(stdout);
  bool all = true;
  for (const char* weights : {"one", "each"}) {
    for (const char* policy : {"mxnet", "default"}) {
      for (const char* casts : {"run", "offline"}) {
        all = RunProcess("/proc/self/exe", {num_nodes, weights, policy, casts}) && all;
      }
    }
  }
  return all;
}

std::size_t ParseNodes(const char* text) {
  char* end = nullptr;
  const long nodes = std::strtol(text, &end, 10);
  if (*end != '\0' || nodes < 1) Throw<ArgumentError>("expected a number of nodes, got '{}'", text);
  return static_cast<std::size_t>(nodes);
}

bool Main(const std::vector<std::string>& args) {
  const std::string nodes = args.empty() ? "1000000" : args[0];
  const std::size_t num_nodes = ParseNodes(nodes.c_str());
  if (args.size() < 2) return MeasureAll(nodes);
  if (args.size() != 4) throw ArgumentError("usage: convert_chain [NODES [one|each mxnet|default run|offline]]");
  Measure(num_nodes, {args[1] == "one", PolicyFromName(args[2]), args[3] == "offline"});
  return true;
}

}  // namespace
}  // namespace amp

int main(int argc, char** argv) try {
  return amp::Main({argv + 1, argv + argc}) ? 0 : 1;
} catch (const std::exception& error) {
  fmt::print(stderr, "convert_chain: {}\n", error.what());
  return 1;
}
