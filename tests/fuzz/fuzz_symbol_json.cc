// Symbol JSON of every generation. What loads is saved, loaded again and saved to the same bytes; its types are
// inferred and it is verified.
#include "fuzz_ops.h"
#include "nnvm/symbol_json.h"
#include "outcome.h"
#include "passes/verify.h"

namespace amp::fuzz {
namespace {

void CheckRoundTrip(const Symbol& symbol) {
  const std::string saved = ToSymbolJson(symbol);
  Symbol loaded;
  if (!Accepts("saved", [&] { loaded = ParseSymbolJson(saved, "saved"); })) Find("what was saved does not load");
  if (ToSymbolJson(loaded) != saved) Find("a second save gives other bytes");
  if (loaded.ListInputs() != symbol.ListInputs() || loaded.ListOutputs() != symbol.ListOutputs()) {
    Find("names got lost");
  }
}

void CheckInference(const Symbol& symbol) {
  const Graph graph = symbol.ToGraph();
  Accepts("", [&] {
    InferPartial(graph, {});
    Infer(graph, {});
  });
  FindViolations(graph);
  PrintGraph(graph);
}

}  // namespace
}  // namespace amp::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace amp;
  fuzz::RegisterFuzzOps();
  const std::string text(reinterpret_cast<const char*>(data), size);
  Symbol symbol;
  if (!fuzz::Accepts("fuzz.json", [&] { symbol = ParseSymbolJson(text, "fuzz.json"); })) return 0;
  fuzz::CheckRoundTrip(symbol);
  fuzz::CheckInference(symbol);
  return 0;
}
