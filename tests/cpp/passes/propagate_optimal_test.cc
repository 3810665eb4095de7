// Policy optimal against everything that could be decided instead.
#include "passes/precision/propagate_optimal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <random>

#include "passes/decided.h"
#include "passes/fake_machine.h"
#include "passes/fake_rules.h"
#include "passes/op_facts.h"
#include "passes/precision/apply_decision.h"
#include "passes/precision/cast_params_offline.h"
#include "passes/precision/decide.h"
#include "passes/precision/predicted_time.h"
#include "passes/precision/rounding_points.h"
#include "passes/precision/tensor_roots.h"
#include "passes/typed.h"
#include "passes/verify.h"

namespace amp::testing {
namespace {

using Params = std::set<std::string>;

ConvertOptions Fewest() { return {.policy = PrecisionPolicy::kOptimal, .minimize = Minimize::kCasts}; }
ConvertOptions Fastest(FakeTimes times = {}) {
  return {.policy = PrecisionPolicy::kOptimal, .machine = std::make_shared<FakeMachine>(times)};
}

// What a conversion with this decision has in casts.
std::size_t NumCasts(const Model& model, const Decision& decision, bool offline) {
  const RewriteResult applied = ApplyDecision(model.graph(), decision);
  if (!offline) return CountCasts(applied.graph);
  return CountCasts(CastParamsOffline(WithGraph(model, applied.graph)).rewrite.graph);
}

// ---- everything that could be decided ----

// A random symbol of made-up operators, with casts.
class RandomSymbol {
 public:
  // Draws from the first `num_kinds` of the kinds of nodes below.
  RandomSymbol(std::uint32_t seed, std::uint32_t num_kinds) : num_kinds_(num_kinds), random_(seed) {}

  Symbol Make(int nodes) {
    for (const char* name : {"v0", "v1", "p0", "p1"}) all_.push_back(Var(name));
    for (int i = 0; i < nodes; ++i) Add("n" + std::to_string(i));
    std::vector<Symbol> outputs;
    for (const Symbol& made : made_) {
      if (Chance(5)) outputs.push_back(made);
    }
    outputs.push_back(made_.back());
    if (Chance(4)) outputs.push_back(outputs[0]);
    return Symbol::Group(outputs);
  }
  std::mt19937& random() { return random_; }
  bool Chance(int n) { return random_() % n == 0; }

 private:
  Symbol Any() { return all_[Chance(3) ? random_() % all_.size() : all_.size() - 1 - random_() % 3]; }
  void Made(const Symbol& symbol) {
    made_.push_back(symbol);
    for (std::size_t i = 0; i < symbol.outputs().size(); ++i) all_.push_back(symbol.At(i));
  }

  void Add(const std::string& name) {
    switch (random_() % num_kinds_) {
      case 0:
      case 1:
        return Made(RuleOp("_rule_gemm", name, {Any(), Chance(2) ? Any() : Var(name + "_p")}));
      case 2:
      case 3:
        return Made(RuleOp("_rule_add", name, {Any(), Any()}));
      case 4:
      case 5:
        return Made(RuleOp("_rule_move", name, {Any()}));
      case 6:
        return Made(RuleOp("_rule_exp", name, {Any()}));
      case 7:
        return Made(RuleOp("_rule_norm", name, {Any(), Chance(2) ? Any() : Var(name + "_p")}));
      case 8:
        return Made(RuleOp("_rule_loss", name, {Any(), all_[random_() % 4]}));
      case 9:
        return Made(RuleOp("_rule_split", name, {Any()}, {{"num_outputs", "2"}}));
      case 10:
        return Made(RuleOp("_rule_pick", name, {Any(), all_[1]}));
      case 11:
        return Made(Op("amp_multicast", name, {Any(), Any()},
                       {{"cast_narrow", Chance(2) ? "True" : "False"}, {"__amp_cast__", "1"}}));
      case 14:
        return Made(RuleOp("_rule_flip", name, {Any()}));
      default: {
        const char* const dtypes[] = {"bfloat16", "float32", "bfloat16", "float32", "float16", "float64"};
        const bool is_of_program = Chance(4);
        const char* const dtype = dtypes[random_() % (Chance(3) ? 6 : 4)];
        if (!is_of_program) return Made(AmpCast(name, Any(), dtype));
        return Made(Op(Chance(2) ? "Cast" : "amp_cast", name, {Any()}, {{"dtype", dtype}}));
      }
    }
  }

  const std::uint32_t num_kinds_;
  std::mt19937 random_;
  std::vector<Symbol> all_, made_;
};

// All decisions that the options allow.
class AllDecisions {
 public:
  AllDecisions(const Model& model, const ConvertOptions& options)
      : model_(model),
        graph_(model.graph()),
        types_(model.types()),
        options_(options),
        choices_(ChoosePrecision(graph_, options)),
        decision_(Decide(model, options)),
        low_types_(model, options, choices_, &decision_),
        context_{model, graph_, types_, options, choices_, low_types_},
        live_(graph_),
        roots_(context_) {
    for (NodeId id = 0; id < graph_.num_nodes(); ++id) AddChoices(id);
  }

  const Decision& decided() const { return decision_; }
  bool AnyCastAgain() const {
    for (EntryId entry = 0; entry < graph_.num_entries(); ++entry) {
      if (roots_.IsRoundedAndCastAgain(entry)) return true;
    }
    return false;
  }
  std::size_t num_choices() const { return nodes_.size() + sums_.size(); }

  // The decision of these bits; false where a widest node would force a cast.
  bool Take(std::uint32_t bits, Decision* decision) const {
    std::vector<bool> high_sums(graph_.num_entries());
    *decision = decision_;
    for (std::size_t i = 0; i < nodes_.size(); ++i) decision->low[nodes_[i]] = (bits >> i & 1) != 0;
    for (std::size_t i = 0; i < sums_.size(); ++i) high_sums[sums_[i]] = (bits >> (nodes_.size() + i) & 1) == 0;
    return Complete(high_sums, decision);
  }
  // That of another policy, as far as it may choose.
  bool Follow(const Decision& other, Decision* decision) const {
    std::vector<bool> high_sums(graph_.num_entries());
    *decision = decision_;
    for (const NodeId id : nodes_) decision->low[id] = other.low[id];
    for (const EntryId sum : sums_) high_sums[sum] = !decision->low[graph_.NodeOf(sum)] || !IsLow(other, sum);
    return Complete(high_sums, decision);
  }
  bool IsLow(const Decision& decision, EntryId entry) const { return decision.produced[entry] == options_.target; }
  // How many of what can be chosen is low.
  int NumLow(const Decision& decision) const {
    int count = 0;
    for (const NodeId id : nodes_) count += decision.low[id];
    for (const EntryId sum : sums_) count += decision.produced[sum] == options_.target;
    return count;
  }

  // Each product in float32 counts one more than the casts of what it reads.
  std::int64_t CostOfProducts(const Decision& decision) const {
    std::int64_t cost = 0;
    for (const NodeId id : products_) {
      for (std::size_t slot = 0; slot < graph_.InputsOf(id).size(); ++slot) {
        cost += !decision.low[id] && low_types_.IsLowSlot(id, slot);
      }
      cost += !decision.low[id];
    }
    return cost;
  }

 private:
  bool Complete(const std::vector<bool>& high_sums, Decision* decision) const {
    for (NodeId id = 0; id < graph_.num_nodes(); ++id) {
      if (graph_.node(id).is_variable()) continue;
      if (!SetReads(id, decision)) return false;
      for (const EntryId output : graph_.OutputsOf(id)) {
        const bool is_low = decision->low[id] && low_types_.IsLowOutput(output);
        if (!decision->low[id] && high_sums[output] == false && IsSum(output)) return false;  // the same once more
        if (is_low && !high_sums[output] && roots_.IsRoundedAndCastAgain(output) && IsOpen(id)) return false;
        decision->produced[output] = is_low && !high_sums[output] ? options_.target : types_[output].dtype;
      }
    }
    return true;
  }

  bool IsSum(EntryId entry) const { return std::find(sums_.begin(), sums_.end(), entry) != sums_.end(); }
  bool IsOpen(NodeId id) const {
    const bool is_node = std::find(nodes_.begin(), nodes_.end(), id) != nodes_.end();
    return is_node || (graph_.OutputsOf(id).size() > 0 && IsSum(graph_.EntryOf(id, 0)));
  }

  void AddChoices(NodeId id) {
    const Node& node = graph_.node(id);
    // An amp_multicast of the model is what it was, unless the caller says otherwise.
    if (node.is_variable() || !low_types_.CanBeLow(id) || node.op_name() == "amp_multicast") return;
    const PrecisionCategory role = choices_.roles[id];
    if (role == PrecisionCategory::kKeep || role == PrecisionCategory::kCast) return;
    bool reads_float32 = false;
    for (std::size_t slot = 0; slot < graph_.InputsOf(id).size(); ++slot) {
      reads_float32 = reads_float32 ||
                      (low_types_.IsLowSlot(id, slot) && types_[graph_.InputsOf(id)[slot]].dtype == DType::kFloat32);
    }
    if (!reads_float32) return;
    const bool is_fact = choices_.reasons[id].kind == ReasonKind::kAccumulates;
    const bool in_time = options_.minimize != Minimize::kCasts || options_.accuracy;
    if (role != PrecisionCategory::kLow || (is_fact && in_time)) nodes_.push_back(id);
    if (role == PrecisionCategory::kLow && is_fact && live_.nodes[id]) products_.push_back(id);
    const EntryId sum = graph_.EntryOf(id, 0);
    const bool has_sum = FactsOf(node).arithmetic == Arithmetic::kAccumulates && low_types_.IsLowOutput(sum);
    if (has_sum && types_[sum].dtype == DType::kFloat32) sums_.push_back(sum);
  }

  bool SetReads(NodeId id, Decision* decision) const {
    const auto inputs = graph_.InputsOf(id);
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      const bool is_low = decision->low[id] && low_types_.IsLowSlot(id, slot);
      const bool is_cast = choices_.roles[id] == PrecisionCategory::kCast;
      const bool takes_all = is_cast || low_types_.KindOf(id, slot) == ReasonKind::kNotRead;
      DType dtype = is_low ? options_.target : types_[inputs[slot]].dtype;
      if (takes_all) dtype = decision->produced[inputs[slot]];
      const bool is_widest = choices_.roles[id] == PrecisionCategory::kWidest && IsOpen(id);
      // What an alias of a low tensor is, is decided where the tensor is written.
      const bool forces = is_widest && is_low && decision->produced[Origin(inputs[slot])] != options_.target;
      if (forces) return false;
      decision->read[decision->first_slot[id] + slot] = dtype;
    }
    return true;
  }

  // Through casts that only widen.
  EntryId Origin(EntryId entry) const {
    const NodeId id = graph_.NodeOf(entry);
    const std::uint32_t slot = graph_.IndexOf(entry);
    const bool is_cast =
        !graph_.node(id).is_variable() && slot < graph_.InputsOf(id).size() && IsFloatCast(graph_, types_, id, slot);
    if (!is_cast || types_[entry].dtype == options_.target) return entry;
    const EntryId input = graph_.InputsOf(id)[slot];
    return IsLossless(types_[input].dtype, types_[entry].dtype) ? Origin(input) : entry;
  }

  const Model& model_;
  const Graph& graph_;
  const Types& types_;
  const ConvertOptions& options_;
  PrecisionChoices choices_;
  Decision decision_;
  LowPrecisionTypes low_types_;
  PropagationContext context_;
  const LiveParts live_;
  TensorRoots roots_;
  std::vector<NodeId> nodes_, products_;
  std::vector<EntryId> sums_;
};

struct RandomCase {
  Model model;
  ConvertOptions options;
};

// Quarters, so that sums of parts are exact.
void AddParts(const Graph& graph, EntryId entry, std::uint32_t seed, std::map<std::string, double>* parts) {
  std::vector<std::string> readers;
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    const auto inputs = graph.InputsOf(id);
    if (std::find(inputs.begin(), inputs.end(), entry) != inputs.end()) readers.push_back(graph.node(id).name());
  }
  for (const std::string& name : readers) (*parts)[name] = 0;
  for (int quarter = 0; quarter < 4 && !readers.empty(); ++quarter) {
    (*parts)[readers[HashOf(readers[0], seed + quarter) % readers.size()]] += 0.25;
  }
}

RandomCase MakeCase(std::uint32_t seed, int nodes, ConvertOptions options) {
  RandomSymbol maker(seed, options.accuracy ? 15 : 14);
  const Symbol symbol = maker.Make(nodes);
  Graph graph = symbol.ToGraph();
  TypeMap known;
  Params parameters;
  for (const NodeId id : graph.variables()) {
    const std::string& name = graph.node(id).name();
    known[name] = {name == "v1" && maker.Chance(3) ? DType::kBFloat16 : DType::kFloat32, {2, 2}};
    if (name[0] == 'p' || Contains(name, "_p")) parameters.insert(name);
  }
  options.cast_params_offline = maker.Chance(2) && !options.training;
  if (options.accuracy) {
    for (EntryId entry = 0; entry < graph.num_entries(); ++entry) {
      const std::string name = graph.EntryName(entry);
      options.accuracy->squared_errors[name] = static_cast<double>(HashOf(name, seed) % 40);
      if (maker.Chance(2)) AddParts(graph, entry, seed, &options.accuracy->parts[name]);
    }
  }
  if (maker.Chance(4)) options.widest_ops = {{"_rule_add"}};
  if (maker.Chance(4)) options.float32_ops = {{"_rule_norm"}};
  if (maker.Chance(6)) options.target_ops = {{"_rule_move"}};
  return {Model(std::move(graph), std::move(known), parameters), options};
}

bool IsTyped(const Model& model) {
  try {
    for (const TensorType& type : model.types()) {
      if (!type.fully_known()) return false;
    }
  } catch (const GraphError&) {
    return false;
  }
  return true;
}

std::string Explain(std::uint32_t seed, const Model& model, const Decision& decision) {
  return fmt::format("seed {}\n{}{}{}", seed, PrintGraph(model.graph()), PrintKinds(model.graph(), decision),
                     PrintGraph(ApplyDecision(model.graph(), decision).graph));
}

// Compares `rounds` decisions with all others. `cost` is that of a decision, found without the network.
template <class Cost>
void ExpectBest(const ConvertOptions& options, std::size_t rounds, const Cost& cost) {
  RegisterRuleOps();
  std::size_t done = 0, most = 0;
  std::int64_t tried = 0;
  for (std::uint32_t seed = 0; done < rounds; ++seed) {
    const bool is_large = done % 250 == 249;
    const RandomCase given = MakeCase(seed, is_large ? 26 : 5 + static_cast<int>(seed % 8), options);
    if (!IsTyped(given.model)) continue;
    const AllDecisions all(given.model, given.options);
    if (all.num_choices() > (is_large ? 16u : 7u) || all.num_choices() < (is_large ? 13u : 1u)) continue;
    ++done;
    most = std::max(most, all.num_choices());
    const std::int64_t decided = cost(given, all, all.decided());
    ASSERT_EQ(all.decided().certificate.has_value(), !options.accuracy);
    if (!options.accuracy) {
      ASSERT_EQ(all.decided().certificate->cut, all.decided().certificate->flow);
      ASSERT_EQ(all.decided().predicted->as_decided, decided) << Explain(seed, given.model, all.decided());
    }
    std::int64_t best = decided;
    int fewest_low = all.NumLow(all.decided());
    Decision other;
    for (std::uint32_t bits = 0; bits < 1u << all.num_choices(); ++bits) {
      if (!all.Take(bits, &other)) continue;
      ++tried;
      const std::int64_t costs = cost(given, all, other);
      if (costs < best) fewest_low = 1000;
      best = std::min(best, costs);
      if (costs == best) fewest_low = std::min(fewest_low, all.NumLow(other));
      ASSERT_EQ(decided, best) << Explain(seed, given.model, all.decided()) << "better:\n"
                               << Explain(seed, given.model, other);
    }
    ASSERT_EQ(all.NumLow(all.decided()), fewest_low) << "seed " << seed << "\n" << PrintGraph(given.model.graph());
  }
  EXPECT_GE(most, 13u);
  EXPECT_GT(tried, static_cast<std::int64_t>(rounds) * 4);
}

TEST(OptimalPolicy, NoDecisionHasFewerCasts) {
  ExpectBest(Fewest(), 500, [](const RandomCase& given, const AllDecisions&, const Decision& decision) {
    return NumCasts(given.model, decision, given.options.cast_params_offline);
  });
}

// The model's own cast of a parameter to a dtype that is not the target: it is made offline, too.
TEST(OptimalPolicy, ParametersThatTheModelRoundsAreCastOffline) {
  RegisterRuleOps();
  const Symbol parameter = Var("p1"), half = AmpCast("n0", parameter, "float16");
  const Symbol again = AmpCast("n1", RuleOp("_rule_move", "n2", {half}), "float32");
  for (const bool is_shared : {false, true}) {
    const Symbol all = is_shared ? Symbol::Group({again, RuleOp("_rule_exp", "n3", {parameter})}) : again;
    ConvertOptions options = Fewest();
    options.cast_params_offline = true;
    const Model model(all.ToGraph(), {{"p1", {DType::kFloat32, {2, 2}}}}, Params{"p1"});
    const Decision decision = Decide(model, options);
    EXPECT_EQ(decision.predicted->as_decided, is_shared ? 2 : 1);
    EXPECT_EQ(NumCasts(model, decision, true), is_shared ? 2u : 1u);
  }
}

TEST(OptimalPolicy, NoDecisionTakesLessTime) {
  for (const FakeTimes& times : {FakeTimes{1}, FakeTimes{2, 4, 3, 2}}) {  // the second has many ties
    ExpectBest(Fastest(times), 250, [&](const RandomCase& given, const AllDecisions&, const Decision& decision) {
      const FakeCosts costs(given.model, times);
      return PredictTime(given.model, decision, costs);
    });
  }
}

// Forward and backward are minimised together.
TEST(OptimalPolicy, NoDecisionTakesLessTimeInTraining) {
  const FakeTimes times{3};
  ConvertOptions options = Fastest(times);
  options.training = true;
  ExpectBest(options, 250, [&](const RandomCase& given, const AllDecisions&, const Decision& decision) {
    const FakeCosts costs(given.model, times, true);
    return PredictTime(given.model, decision, costs);
  });
}

// ---- time and errors ----

ConvertOptions WithErrors(ConvertOptions options, ErrorTarget target) {
  options.accuracy = std::move(target);
  return options;
}

// In quarters.
std::int64_t SquaredError(const RandomCase& given, const Decision& decision) {
  return std::llround(4 * PredictSquaredError(given.model, decision, given.options));
}

TEST(OptimalPolicy, NoDecisionTakesLessTimeAndPriceOfItsError) {
  for (const auto& [times, price] : {std::pair(FakeTimes{4}, 1), std::pair(FakeTimes{5, 20, 8, 4}, 3)}) {
    const ConvertOptions options = WithErrors(Fastest(times), {.price = static_cast<double>(price)});
    ExpectBest(options, 375, [&](const RandomCase& given, const AllDecisions&, const Decision& decision) {
      return 4 * PredictTime(given.model, decision, FakeCosts(given.model, times)) +
             price * SquaredError(given, decision);
    });
  }
}

TEST(OptimalPolicy, NoDecisionHasFewerCastsAndPriceOfItsError) {
  const ConvertOptions options = WithErrors(Fewest(), {.price = 0.0625});
  ExpectBest(options, 250, [](const RandomCase& given, const AllDecisions& all, const Decision& decision) {
    const auto casts = static_cast<std::int64_t>(NumCasts(given.model, decision, given.options.cast_params_offline));
    return 64 * (casts + all.CostOfProducts(decision)) + SquaredError(given, decision);
  });
}

// The least cost of all decisions whose squared error is at most `limit`; nothing where there is none.
template <class Cost>
std::optional<std::int64_t> LeastWithin(const RandomCase& given, const AllDecisions& all, double limit,
                                        const Cost& cost) {
  std::optional<std::int64_t> least;
  Decision other;
  for (std::uint32_t bits = 0; bits < 1u << all.num_choices(); ++bits) {
    if (!all.Take(bits, &other) || PredictSquaredError(given.model, other, given.options) > limit) continue;
    const std::int64_t costs = cost(given, all, other);
    if (!least || costs < *least) least = costs;
  }
  return least;
}

void ExpectConsistent(const RandomCase& given, const Decision& decision, double limit) {
  const ErrorOutcome& outcome = *decision.errors;
  EXPECT_EQ(outcome.squared_error, PredictSquaredError(given.model, decision, given.options));
  EXPECT_EQ(outcome.is_reached, outcome.squared_error <= limit);
  for (std::size_t i = 1; i < outcome.curve.size(); ++i) {
    EXPECT_LT(outcome.curve[i].cost, outcome.curve[i - 1].cost);
    EXPECT_GT(outcome.curve[i].squared_error, outcome.curve[i - 1].squared_error);
  }
}

// A search may miss the best decision; it may not miss the limit.
template <class Cost>
void ExpectLimitsAreMet(const ConvertOptions& options, const Cost& cost) {
  RegisterRuleOps();
  int done = 0, best = 0;
  std::int64_t found = 0, possible = 0;
  for (std::uint32_t seed = 0; done < 150; ++seed) {
    const double limit = 1 + seed % 100;
    const RandomCase given = MakeCase(seed, 8, WithErrors(options, {.limit = limit}));
    if (!IsTyped(given.model)) continue;
    const AllDecisions all(given.model, given.options);
    const ErrorOutcome& outcome = *all.decided().errors;
    if (all.num_choices() < 3 || all.num_choices() > 8 || outcome.without_target <= limit) continue;
    ++done;
    ExpectConsistent(given, all.decided(), limit);
    if (!outcome.is_reached) continue;
    const std::int64_t costs = cost(given, all, all.decided());
    const std::optional<std::int64_t> least = LeastWithin(given, all, limit, cost);
    ASSERT_TRUE(least);
    ASSERT_LE(*least, costs);
    found += costs;
    possible += *least;
    best += *least == costs;
  }
  EXPECT_GE(best, 100);
  EXPECT_LE(static_cast<double>(found), 1.05 * static_cast<double>(possible));
}

TEST(OptimalPolicy, AnErrorLimitIsMetInLittleTime) {
  const FakeTimes times{9};
  ExpectLimitsAreMet(Fastest(times), [&](const RandomCase& given, const AllDecisions&, const Decision& decision) {
    return PredictTime(given.model, decision, FakeCosts(given.model, times));
  });
}

TEST(OptimalPolicy, AnErrorLimitIsMetWithFewCasts) {
  ExpectLimitsAreMet(Fewest(), [](const RandomCase& given, const AllDecisions& all, const Decision& decision) {
    const auto casts = static_cast<std::int64_t>(NumCasts(given.model, decision, given.options.cast_params_offline));
    return casts + all.CostOfProducts(decision);
  });
}

// ---- other policies, under the same times ----

bool HasMulticast(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [](const NodePtr& node) { return node->IsOp("amp_multicast"); });
}

TEST(OptimalPolicy, OtherPoliciesTakeNoLessTimeAndDefaultHasNoFewerCasts) {
  RegisterRuleOps();
  int slower = 0, more = 0, done = 0;
  for (std::uint32_t seed = 0; done < 300; ++seed) {
    const RandomCase given = MakeCase(seed, 30, Fewest());
    if (!IsTyped(given.model)) continue;
    // Policy default may do what the cut may not: a widest operator goes low where others have all that it reads cast
    // already, an amp_multicast of the model goes low, which rounds what was float32, and so does what the model itself
    // rounds and widens again.
    const bool may_differ = given.options.widest_ops || HasMulticast(given.model.graph()) ||
                            AllDecisions(given.model, given.options).AnyCastAgain();
    if (may_differ) continue;
    ++done;
    const FakeTimes times{seed, 100, 40, 10};
    const FakeCosts costs(given.model, times);
    const auto decided = [&](PrecisionPolicy policy, std::optional<Minimize> minimize, bool has_machine) {
      ConvertOptions options = given.options;
      options.policy = policy;
      options.minimize = minimize;
      if (has_machine) options.machine = std::make_shared<FakeMachine>(times);
      return Decide(given.model, options);
    };
    const Decision fastest = decided(PrecisionPolicy::kOptimal, Minimize::kTime, true);
    const Picoseconds best = PredictTime(given.model, fastest, costs);
    const Decision by_facts = decided(PrecisionPolicy::kDefault, std::nullopt, false);
    EXPECT_FALSE(by_facts.certificate);
    ConvertOptions in_time = given.options;
    in_time.minimize = Minimize::kTime;
    in_time.machine = std::make_shared<FakeMachine>(times);
    const AllDecisions allowed(given.model, in_time);
    for (const Decision& other : {by_facts, decided(PrecisionPolicy::kMXNet, std::nullopt, true),
                                  decided(PrecisionPolicy::kOptimal, Minimize::kCasts, false)}) {
      Decision followed;
      if (!allowed.Follow(other, &followed)) continue;
      ASSERT_LE(best, PredictTime(given.model, followed, costs)) << "seed " << seed;
      slower += best < PredictTime(given.model, followed, costs);
    }
    ASSERT_LE(best, PredictTime(given.model, by_facts, costs)) << Explain(seed, given.model, fastest) << "default:\n"
                                                               << Explain(seed, given.model, by_facts);
    // Policy default asks a machine, if there is one.
    const Decision with_machine = decided(PrecisionPolicy::kDefault, std::nullopt, true);
    EXPECT_EQ(PrintKinds(given.model.graph(), with_machine), PrintKinds(given.model.graph(), fastest));
    EXPECT_EQ(with_machine.policy, PrecisionPolicy::kDefault);
    const bool offline = given.options.cast_params_offline;
    const std::size_t fewest =
        NumCasts(given.model, decided(PrecisionPolicy::kOptimal, Minimize::kCasts, false), offline);
    ASSERT_LE(fewest, NumCasts(given.model, by_facts, offline))
        << Explain(seed, given.model, by_facts) << "optimal:\n"
        << Explain(seed, given.model, decided(PrecisionPolicy::kOptimal, Minimize::kCasts, false));
    more += fewest < NumCasts(given.model, by_facts, offline);
  }
  EXPECT_GT(slower, 300);
  EXPECT_GT(more, 0);
}

TEST(OptimalPolicy, TheNewGraphTypesAsDecided) {
  RegisterRuleOps();
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    const RandomCase given = MakeCase(seed, 30, seed % 2 == 0 ? Fewest() : Fastest({seed}));
    if (!IsTyped(given.model)) continue;
    const Decision decision = Decide(given.model, given.options);
    const RewriteResult applied = ApplyDecision(given.model.graph(), decision);
    ASSERT_EQ(FindViolations(applied.graph), "");
    EXPECT_EQ(OutputNames(applied.graph.outputs()), OutputNames(given.model.graph().outputs()));
    const Model after = WithGraph(given.model, applied.graph);
    for (std::size_t i = 0; i < applied.graph.outputs().size(); ++i) {
      EXPECT_EQ(after.types()[after.graph().EntryOf(applied.graph.outputs()[i])].dtype, decision.output_dtypes[i]);
    }
  }
}

TEST(OptimalPolicy, DoesNotDependOnTheOrderOfNodes) {
  RegisterRuleOps();
  std::mt19937 random(7);
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    const ConvertOptions options = seed % 2 == 0 ? Fewest() : Fastest({seed, 3, 2, 2});  // many ties
    const RandomCase given = MakeCase(seed, 25, options);
    if (!IsTyped(given.model)) continue;
    std::vector<Symbol> outputs;
    for (const NodeEntry& output : given.model.graph().outputs()) outputs.push_back(Symbol({output}));
    std::vector<std::string> first;
    for (int order = 0; order < 4; ++order) {
      const Model t(Symbol::Group(outputs).ToGraph(), given.model.variable_types(), given.model.parameters());
      const Decision decision = Decide(t, given.options);
      const CutCertificate& c = *decision.certificate;
      std::string text =
          decision.Print(t.graph()) + fmt::format("{} {} {}\n", c.cut, c.constant, decision.predicted->unchanged);
      const RewriteResult applied = ApplyDecision(t.graph(), decision);
      for (const NodePtr& node : applied.graph.nodes()) text += node->name() + "\n";
      if (order == 0) first = SortedLines(text);
      EXPECT_EQ(SortedLines(text), first) << "seed " << seed;
      std::shuffle(outputs.begin(), outputs.end(), random);  // another depth-first order
    }
  }
}

// ---- small graphs ----

TEST(OptimalPolicy, FewestCastsGoAroundAChainOfNeutralNodes) {
  const Symbol chain = RuleOp("_rule_move", "m", {RuleOp("_rule_move", "n", {Gemm("fc", Var("x"))})});
  // The chain is float32, and the product writes that: no cast behind it.
  EXPECT_CONTAINS(Decided(RuleOp("_rule_exp", "e", {chain}), Fewest()),
                  "fc.output -> float32: accumulates\nn.data <- float32: no_fewer_casts\n");
  EXPECT_CONTAINS(Decided(Gemm("after", chain), Fewest()),
                  "fc.output -> bfloat16: accumulates\nn.data <- bfloat16: fewer_casts\n");
}

// One reader in either precision: a parameter is cast in every run, or kept in float32 for all.
TEST(OptimalPolicy, OfflineCastsOfParametersAreFree) {
  const Symbol p = Var("p"), fc = RuleOp("_rule_gemm", "fc", {Var("x"), p});
  ConvertOptions options = Fewest();
  options.cast_params_offline = true;
  const Model t = MakeTyped(fc, {"p"});
  EXPECT_EQ(Decide(t, options).predicted->as_decided, 1);
  EXPECT_EQ(Decide(t, Fewest()).predicted->as_decided, 2);
  const Model both = MakeTyped(Symbol::Group({fc, RuleOp("_rule_exp", "e", {p})}), {"p"});
  EXPECT_EQ(Decide(both, options).predicted->as_decided, 2);
}

TEST(OptimalPolicy, ReasonsTellThePredictedTimes) {
  const Model t = MakeTyped(Gemm("fc", Var("x")));
  const std::string text = Decide(t, Fastest({3})).Print(t.graph());
  EXPECT_CONTAINS(text, "by itself it takes ");
  EXPECT_CONTAINS(text, " us in bfloat16 and ");
}

TEST(OptimalPolicy, ProductsThatDoNotPayStayFloat32) {
  const Model t = MakeTyped(Gemm("fc", Var("x")));
  // Casts alone cost something.
  EXPECT_CONTAINS(PrintKinds(t.graph(), Decide(t, Fastest({3, 1, 1000, 1}))), "fc.data <- float32: faster_high");
  ConvertOptions forced = Fastest({3, 1, 1000, 1});
  forced.force["fc"] = DType::kBFloat16;
  EXPECT_CONTAINS(PrintKinds(t.graph(), Decide(t, forced)), "fc.data <- bfloat16: user");
}

// A machine on which products gain forwards what they lose backwards, or the reverse.
class OneWayMachine : public Machine {
 public:
  explicit OneWayMachine(bool gains_forward) : gains_forward_(gains_forward) {}

  std::unique_ptr<PrecisionCosts> CostsOf(const Model&) const override {
    return std::make_unique<Costs>(gains_forward_, false);
  }
  std::unique_ptr<PrecisionCosts> TrainingCostsOf(const Model&, const std::set<std::string>& names) const override {
    EXPECT_EQ(names, (std::set<std::string>{"fc_w"}));  // parameters
    return std::make_unique<Costs>(gains_forward_, true);
  }
  const std::string& json() const override { return json_; }

 private:
  class Costs : public PrecisionCosts {
   public:
    Costs(bool gains_forward, bool trains) : gains_forward_(gains_forward), trains_(trains) {}
    Picoseconds OfNode(NodeId, const std::vector<DType>& inputs, const std::vector<DType>&) const override {
      const bool is_low = !inputs.empty() && inputs[0] == DType::kBFloat16;
      const Picoseconds forward = is_low == gains_forward_ ? 50 : 100, backward = is_low == gains_forward_ ? 200 : 100;
      return trains_ ? forward + backward : forward;
    }
    Picoseconds OfCast(EntryId, DType, DType) const override { return 1; }
    Picoseconds OfLostFusion(EntryId, const Consumer&) const override { return 0; }

   private:
    bool gains_forward_, trains_;
  };
  const bool gains_forward_;
  const std::string json_ = R"({"name": "one way"})";
};

TEST(OptimalPolicy, GradientsCountInTraining) {
  const Model t = MakeTyped(Gemm("fc", Var("x")), {"fc_w"});
  for (const PrecisionPolicy policy : {PrecisionPolicy::kOptimal, PrecisionPolicy::kDefault}) {
    for (const bool gains_forward : {true, false}) {
      ConvertOptions options{.policy = policy, .machine = std::make_shared<OneWayMachine>(gains_forward)};
      EXPECT_EQ(Decide(t, options).low.back(), gains_forward);
      options.training = true;
      const Decision decision = Decide(t, options);
      EXPECT_EQ(decision.low.back(), !gains_forward);
      EXPECT_EQ(decision.predicted->unchanged, gains_forward ? 200 : 250);
    }
  }
}

// ---- small graphs with errors ----

// Two products in a row; the weight of the second one is sensitive.
Symbol TwoProducts() { return RuleOp("_rule_gemm", "b", {RuleOp("_rule_gemm", "a", {Var("x"), Var("p")}), Var("q")}); }

ErrorTarget SensitiveSecond(double limit) {
  return {.squared_errors = {{"x", 1}, {"p", 1}, {"a_output", 1}, {"q", 96}}, .limit = limit};
}

ReasonKind KindOf(const Model& model, const Decision& decision, const std::string& name) {
  for (NodeId id = 0; id < model.graph().num_nodes(); ++id) {
    if (model.graph().node(id).name() == name) return decision.reasons[id].kind;
  }
  return ReasonKind::kVariable;
}

TEST(OptimalPolicy, WhatIsTooSensitiveStaysFloat32) {
  const Model t = MakeTyped(TwoProducts(), {"p", "q"});
  for (const ConvertOptions& given : {Fewest(), Fastest({3, 1000, 1, 1})}) {
    ConvertOptions options = given;
    options.policy = PrecisionPolicy::kDefault;
    options.minimize = std::nullopt;
    options.force["a"] = DType::kBFloat16;
    options.accuracy = SensitiveSecond(5);
    const Decision decision = Decide(t, options);
    EXPECT_EQ(KindOf(t, decision, "a"), ReasonKind::kUser);
    EXPECT_EQ(decision.errors->squared_error, 2);
    EXPECT_TRUE(decision.errors->is_reached);
    EXPECT_FALSE(decision.certificate);
    if (options.machine != nullptr) continue;
    EXPECT_EQ(KindOf(t, decision, "b"), ReasonKind::kTooSensitive);
    EXPECT_EQ(decision.predicted->as_decided, 2);  // casts of x and p
  }
}

// Two products read what a third one gives; the limit leaves room for what one of them sees of its rounding.
TEST(OptimalPolicy, AReaderPaysForItsPartOfAnError) {
  const Symbol a = RuleOp("_rule_gemm", "a", {Var("x"), Var("p")});
  const Symbol both =
      Symbol::Group({RuleOp("_rule_gemm", "b", {a, Var("q")}), RuleOp("_rule_gemm", "c", {a, Var("r")})});
  const Model t = MakeTyped(both, {"p", "q", "r"});
  ErrorTarget target{.squared_errors = {{"a_output", 64}}, .limit = 5};
  EXPECT_EQ(Decide(t, WithErrors(Fewest(), target)).errors->squared_error, 0);
  target.parts = {{"a_output", {{"b", 0.9375}, {"c", 0.0625}}}};
  const Decision decision = Decide(t, WithErrors(Fewest(), target));
  EXPECT_EQ(decision.errors->squared_error, 4);
  EXPECT_EQ(KindOf(t, decision, "b"), ReasonKind::kTooSensitive);
  EXPECT_NE(KindOf(t, decision, "c"), ReasonKind::kTooSensitive);
  target.parts["a_output"]["c"] = -1;
  EXPECT_THROW(Decide(t, WithErrors(Fewest(), target)), ArgumentError);
  target.parts["a_output"]["c"] = 0.0625 + 1e-5;
  const std::string problem = ErrorOf<ArgumentError>([&] { Decide(t, WithErrors(Fewest(), target)); });
  EXPECT_NE(problem.find("a_output"), std::string::npos);
  target.parts["a_output"]["c"] = 0.0625 + 1e-7;
  EXPECT_NO_THROW(Decide(t, WithErrors(Fewest(), target)));
}

TEST(OptimalPolicy, ALimitThatForcedRoundingsExceedIsNotReached) {
  const Model t = MakeTyped(TwoProducts(), {"p", "q"});
  ConvertOptions options = WithErrors(Fewest(), SensitiveSecond(5));
  options.force["b"] = DType::kBFloat16;
  const Decision decision = Decide(t, options);
  EXPECT_FALSE(decision.errors->is_reached);
  EXPECT_EQ(decision.errors->squared_error, 97);
  EXPECT_EQ(KindOf(t, decision, "a"), ReasonKind::kTooSensitive);
}

// A choice that pays for its error does so in seconds and in picoseconds, for errors of any size.
TEST(OptimalPolicy, TheBestForALimitDoesNotDependOnUnits) {
  RegisterRuleOps();
  int done = 0;
  for (std::uint32_t seed = 0; done < 40; ++seed) {
    std::optional<std::vector<bool>> low;
    for (const Picoseconds scale : {Picoseconds{1'000}, Picoseconds{1'000'000}, Picoseconds{10'000'000'000}}) {
      for (const double unit : {1.0, 1e-6, 1e-12}) {
        RandomCase given = MakeCase(seed, 8, WithErrors(Fastest({seed, 100, 40, 10, scale}), {.limit = 20 * unit}));
        if (!IsTyped(given.model)) continue;
        for (auto& [name, error] : given.options.accuracy->squared_errors) error *= unit;
        const Decision decision = Decide(given.model, given.options);
        EXPECT_EQ(decision.errors->is_reached, decision.errors->squared_error <= 20 * unit);
        if (!low) low = decision.low;
        EXPECT_EQ(decision.low, *low) << "seed " << seed << ", times " << scale << ", errors " << unit;
        ++done;
      }
    }
  }
}

// A product that reads what a relu-like node gives rounds the same bits as that node's own input.
TEST(OptimalPolicy, WhatCommutesWithRoundingAddsNoErrorBesideItsInput) {
  const Symbol symbol = Gemm("fc", RuleOp("_rule_flip", "flip", {Gemm("first", Var("x"))}));
  const Model t = MakeTyped(symbol);
  ConvertOptions options =
      WithErrors(Fewest(), {.squared_errors = {{"first_output", 7}, {"flip_output", 7}}, .limit = 7});
  for (const DType flip : {DType::kBFloat16, DType::kFloat32}) {
    options.force = {{"flip", flip}};
    const Decision decision = Decide(t, options);
    EXPECT_TRUE(decision.low.back());
    EXPECT_EQ(decision.errors->squared_error, 7);
  }
}

TEST(OptimalPolicy, ErrorsLimitsAndPricesAreFiniteAndNotNegative) {
  const Model t = MakeTyped(TwoProducts(), {"p", "q"});
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (const double value : {-1.0, infinity, nan}) {
    for (const ErrorTarget& target : {ErrorTarget{.squared_errors = {{"q", value}}, .limit = 1},
                                      ErrorTarget{.limit = value}, ErrorTarget{.price = value}}) {
      EXPECT_NE(ErrorOf<ArgumentError>([&] { Decide(t, WithErrors(Fewest(), target)); }), "");
    }
  }
  const ErrorTarget dear{.squared_errors = {{"q", 1}}, .price = 1e20};
  EXPECT_NE(ErrorOf<ArgumentError>([&] { Decide(t, WithErrors(Fewest(), dear)); }), "");
  const ErrorTarget huge{.squared_errors = {{"q", 1e308}, {"p", 1e308}}, .limit = 1};
  EXPECT_NE(ErrorOf<ArgumentError>([&] { Decide(t, WithErrors(Fewest(), huge)); }), "");
  ConvertOptions listed = WithErrors({.policy = PrecisionPolicy::kMXNet}, SensitiveSecond(1));
  EXPECT_NE(ErrorOf<ArgumentError>([&] { Decide(t, listed); }), "");
}

// ---- refusals ----

TEST(OptimalPolicy, MinimizeBelongsToOneAnother) {
  const Model t = MakeTyped(Gemm("fc", Var("x")));
  for (const PrecisionPolicy policy : {PrecisionPolicy::kDefault, PrecisionPolicy::kMXNet}) {
    ConvertOptions options = Fewest();
    options.policy = policy;
    EXPECT_EQ(ErrorOf<ArgumentError>([&] { Decide(t, options); }),
              fmt::format("minimize: expected policy 'optimal', got '{}'", NameOf(policy)));
  }
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([] { MinimizeFromName("bytes"); }), "expected 'time' or 'casts', got 'bytes'");
  EXPECT_EQ(MinimizeFromName("casts"), Minimize::kCasts);
  EXPECT_EQ(PolicyFromName("optimal"), PrecisionPolicy::kOptimal);
}

TEST(OptimalPolicy, TimesNeedAMachineAndShapes) {
  const Symbol symbol = Gemm("fc", Var("x"));
  const Model typed = MakeTyped(symbol);
  const ConvertOptions timed{.policy = PrecisionPolicy::kOptimal, .minimize = Minimize::kTime};
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([&] { Decide(typed, timed); }), "a machine");
  const Model unknown(symbol.ToGraph(), {{"x", {DType::kFloat32, {}}}, {"fc_w", {DType::kFloat32, {}}}});
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([&] { Decide(unknown, Fastest()); }), "x, fc_w");
  ConvertOptions by_default = Fastest();
  by_default.policy = PrecisionPolicy::kDefault;
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([&] { Decide(unknown, by_default); }), "policy 'default' predicts times");
  EXPECT_EQ(Decide(unknown, Fewest()).predicted->as_decided, 2);  // casts need neither
}

TEST(OptimalPolicy, AMachineWithAbsurdTimes) {
  const Model t = MakeTyped(Gemm("fc", Gemm("first", Var("x"))));
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([&] { Decide(t, Fastest({1, 100, -5, 10})); }), "-5 ps");
  const FakeTimes large{1, 100, 100, 100, Picoseconds{1} << 56};
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([&] { Decide(t, Fastest(large)); }), "sum to more than");
}

// ---- large graphs ----

Symbol ResidualBlocks(int nodes) {
  Symbol symbol = Var("x");
  for (int i = 0; i < nodes / 5; ++i) {
    const std::string name = std::to_string(i);
    const Symbol branch =
        RuleOp("_rule_move", "r" + name, {RuleOp("_rule_norm", "n" + name, {Gemm("a" + name, symbol), Var("s")})});
    symbol = RuleOp("_rule_add", "sum" + name, {Gemm("b" + name, branch), symbol});
  }
  return symbol;
}

Symbol MixedChain(int nodes) {
  Symbol symbol = Var("x");
  for (int i = 0; i < nodes; ++i) {
    const std::string name = std::to_string(i);
    symbol =
        i % 3 == 0 ? RuleOp("_rule_gemm", "g" + name, {symbol, Var("w")}) : RuleOp("_rule_move", "m" + name, {symbol});
    if (i % 97 == 96) symbol = RuleOp("_rule_exp", "e" + name, {symbol});
  }
  return symbol;
}

TEST(OptimalPolicy, LargeGraphsEnd) {
  for (const Symbol& symbol : {ResidualBlocks(100000), MixedChain(100000)}) {
    const Model t = MakeTyped(symbol);
    for (const ConvertOptions& options : {Fewest(), Fastest({6, 1000000, 100000, 1000000})}) {
      const Decision decision = Decide(t, options);
      EXPECT_GT(decision.certificate->cut, 0);
      EXPECT_LT(decision.predicted->as_decided, options.minimize ? 100000 : decision.predicted->unchanged);
    }
  }
}

}  // namespace
}  // namespace amp::testing
