// Short symbol files that ask for much, and large ones that say little.
#include <gtest/gtest.h>

#include "nnvm/compose.h"
#include "nnvm/symbol_json.h"

namespace amp {
namespace {

using testing::ErrorOf;

std::string NodeJson(const std::string& op, int id, const std::string& attrs, const char* key = "attrs") {
  const std::string inputs = op == "null" ? "[]" : "[[0,0,0]]";
  return fmt::format(R"({{"op":"{}","name":"n{}","inputs":{},"{}":{{{}}}}})", op, id, inputs, key, attrs);
}

// A variable and `count` nodes that read it; the outputs are these entries.
std::string DocumentOfReaders(const std::string& op, int count, const std::string& attrs, const std::string& heads) {
  std::string nodes = NodeJson("null", 0, "");
  for (int i = 1; i <= count; ++i) nodes += "," + NodeJson(op, i, attrs);
  return R"({"nodes":[)" + nodes + R"(],"arg_nodes":[0],"heads":[)" + heads + "]}";
}

std::string RefusalOfShortFile(const std::string& text) {
  return ErrorOf<GraphError>([&] { ParseSymbolJson(text, "short.json"); });
}

std::string AllParts(int node, int parts) {
  std::string heads;
  for (int i = 0; i < parts; ++i) heads += fmt::format("{}[{},{},0]", i ? "," : "", node, i);
  return heads;
}

TEST(HostileSymbol, OutputsThatNobodyReadsAreLimited) {
  const std::string most = R"("num_outputs":"65536")";
  EXPECT_EQ(ParseSymbolJson(DocumentOfReaders("SliceChannel", 1, most, "[1,65535,0]"), "x").ListOutputs()[0],
            "n1_output65535");
  EXPECT_EQ(RefusalOfShortFile(DocumentOfReaders("SliceChannel", 100, most, "[1,0,0]")),
            "short.json: SliceChannel 'n2' and others declare 131073 outputs, but only 101 entries are read");
  EXPECT_CONTAINS(RefusalOfShortFile(DocumentOfReaders("SliceChannel", 1, R"("num_outputs":"65537")", "[1,0,0]")),
                  "short.json: SliceChannel 'n1': attribute num_outputs: expected a value in [1, 65536]");
}

TEST(HostileSymbol, OutputsThatAreReadAreNot) {
  std::string heads;
  for (int node = 1; node <= 40; ++node) heads += (node == 1 ? "" : ",") + AllParts(node, 4096);
  const std::string text = DocumentOfReaders("SliceChannel", 40, R"("num_outputs":"4096")", heads);
  EXPECT_EQ(ParseSymbolJson(text, "x").outputs().size(), 40u * 4096u);
}

// Files before 0.9 leave out auxiliary states; what num_args counts is none of them.
TEST(HostileSymbol, OldFilesDoNotGrowByWhatAnAttributeCounts) {
  EXPECT_CONTAINS(RefusalOfShortFile(DocumentOfReaders("Concat", 1000, R"("num_args":"65536")", "[1,0,0]")),
                  "short.json: Concat 'n1': expected 65536 inputs (arg0, arg1");
}

TEST(HostileSymbol, TextOfManyMegabytesIsQuotedBriefly) {
  const std::string text(10 << 20, '(');
  const std::string digits(10 << 20, '9');
  for (const std::string& value : {text, digits, "(" + digits + ")"}) {
    const std::string refusal =
        RefusalOfShortFile(DocumentOfReaders("Concat", 1, R"("dim":")" + value + R"(")", "[1,0,0]"));
    EXPECT_CONTAINS(refusal, "short.json: Concat 'n1': ");
    EXPECT_LT(refusal.size(), 500u);
    EXPECT_LT(RefusalOfShortFile(DocumentOfReaders("Concat", 1, R"("num_args":")" + value + R"(")", "[1,0,0]")).size(),
              500u);
    EXPECT_LT(RefusalOfShortFile(DocumentOfReaders(value.substr(0, 1000) + "\\u0000", 1, "", "[0,0,0],7")).size(),
              500u);
  }
}

TEST(HostileSymbol, ManyKeysOnceAndManySmallObjects) {
  std::string keys;
  for (int i = 0; i < 20000; ++i) keys += fmt::format(R"({}"__k{}__":"")", i ? "," : "", i);
  const Symbol symbol = ParseSymbolJson(DocumentOfReaders("null", 20000, "", "[0,0,0]"), "x");
  EXPECT_EQ(symbol.outputs().size(), 1u);
  EXPECT_EQ(ParseSymbolJson(DocumentOfReaders("relu", 1, keys, "[1,0,0]"), "x").AttrDict().at("n1").size(), 20000u);
  EXPECT_CONTAINS(RefusalOfShortFile(DocumentOfReaders("relu", 1, keys + R"(,"__k7__":"")", "[1,0,0]")),
                  ": key '__k7__' occurs twice in one object");
}

}  // namespace
}  // namespace amp
