#include "nnvm/attr_text.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace amp {
namespace {

// What the text means as a T, or nothing.
template <class T>
std::optional<T> Read(std::string_view text) {
  T value{};
  return ParseAttr(text, &value) ? std::optional<T>(value) : std::nullopt;
}

TEST(AttrText, Bool) {
  for (const char* text : {"True", "true", "1", " True "}) EXPECT_EQ(Read<bool>(text), true) << text;
  for (const char* text : {"False", "false", "0"}) EXPECT_EQ(Read<bool>(text), false) << text;
  for (const char* text : {"", "TRUE", "yes", "2", "None", "true false"})
    EXPECT_EQ(Read<bool>(text), std::nullopt) << text;
}

TEST(AttrText, Int) {
  const std::pair<const char*, std::int64_t> legal[] = {{"0", 0},
                                                        {"-12", -12},
                                                        {"+7", 7},
                                                        {" 3\t", 3},
                                                        {"2L", 2},
                                                        {"9223372036854775807", INT64_MAX},
                                                        {"-9223372036854775808", INT64_MIN}};
  for (const auto& [text, value] : legal) EXPECT_EQ(Read<std::int64_t>(text), value) << text;
  for (const char* text :
       {"", "-", "L", "1.0", "1e3", "0x10", "1 2", "+-3", "--3", "9223372036854775808", "one", "1,"}) {
    EXPECT_EQ(Read<std::int64_t>(text), std::nullopt) << text;
  }
}

TEST(AttrText, Float) {
  EXPECT_EQ(Read<double>("0.9"), 0.9);
  EXPECT_EQ(Read<double>("1e-05"), 1e-5);
  EXPECT_EQ(Read<double>("-3"), -3);
  EXPECT_EQ(Read<double>(" +2.5 "), 2.5);
  EXPECT_EQ(Read<double>("inf"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(Read<double>("-inf"), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(Read<double>("nan").value()));
  for (const char* text : {"", ".", "1e400", "1,5", "0.5f", "+-1", "None"})
    EXPECT_EQ(Read<double>(text), std::nullopt) << text;
}

TEST(AttrText, Tuple) {
  const std::pair<const char*, IntTuple> legal[] = {{"(1, 1)", {1, 1}}, {"[1,1]", {1, 1}},    {"(2,)", {2}},
                                                    {"()", {}},         {"None", {}},         {"[]", {}},
                                                    {"3", {3}},         {"(2L, 3L)", {2, 3}}, {" ( 1 ,-2 ) ", {1, -2}},
                                                    {"( )", {}},        {"(1,2,)", {1, 2}},   {"(7)", {7}},
                                                    {"[3L]", {3}}};
  for (const auto& [text, value] : legal) EXPECT_EQ(Read<IntTuple>(text), value) << text;
  for (const char* text : {"", "(", ")", "(1", "1)", "(1]", "[1)", "(,)", "(1,,2)", "(,1)", "((1))", "(1 2)", "1,2",
                           "(1.5)", "(None)", "(1))"}) {
    EXPECT_EQ(Read<IntTuple>(text), std::nullopt) << text;
  }
}

TEST(AttrText, DType) {
  EXPECT_EQ(Read<DType>("bfloat16"), DType::kBFloat16);
  EXPECT_EQ(Read<DType>("12"), DType::kBFloat16);  // some writers store the number
  EXPECT_EQ(Read<DType>("0"), DType::kFloat32);
  for (const char* text : {"", "unknown", "-1", "13", "Float32", "float"})
    EXPECT_EQ(Read<DType>(text), std::nullopt) << text;
}

TEST(AttrText, Optional) {
  using Maybe = std::optional<std::int64_t>;
  EXPECT_EQ(Read<Maybe>("None"), std::optional<Maybe>(Maybe()));
  EXPECT_EQ(Read<Maybe>("5"), std::optional<Maybe>(Maybe(5)));
  EXPECT_EQ(Read<Maybe>("none"), std::nullopt);
}

TEST(AttrText, AFailureLeavesFloatAndTupleAlone) {
  double number = 4;
  IntTuple tuple{1, 2};
  EXPECT_FALSE(ParseAttr("5x", &number));
  EXPECT_FALSE(ParseAttr("(5, x)", &tuple));
  EXPECT_EQ(number, 4);
  EXPECT_EQ(tuple, (IntTuple{1, 2}));
}

TEST(AttrText, CanonicalForms) {
  EXPECT_EQ(PrintAttr(true), "True");
  EXPECT_EQ(PrintAttr(false), "False");
  EXPECT_EQ(PrintAttr(std::int64_t{-5}), "-5");
  EXPECT_EQ(PrintAttr(1.0), "1.0");
  EXPECT_EQ(PrintAttr(0.1), "0.1");
  EXPECT_EQ(PrintAttr(1e-5), "1e-05");
  EXPECT_EQ(PrintAttr(-0.0), "-0.0");
  EXPECT_EQ(PrintAttr(IntTuple{}), "()");
  EXPECT_EQ(PrintAttr(IntTuple{2}), "(2,)");
  EXPECT_EQ(PrintAttr(IntTuple{2, 3}), "(2, 3)");
  EXPECT_EQ(PrintAttr(DType::kFloat16), "float16");
  EXPECT_EQ(PrintAttr(std::optional<double>()), "None");
  EXPECT_EQ(PrintAttr(std::optional<double>(2)), "2.0");
}

TEST(AttrText, PrintedValuesReadBack) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 5000; ++i) {
    const auto bits = random();
    const double number = std::bit_cast<double>(bits);
    // Denormal doubles are beyond from_chars on some libraries, and beyond any attribute.
    if (std::isnormal(number)) {
      EXPECT_EQ(Read<double>(PrintAttr(number)), number);
    }
    const auto integer = static_cast<std::int64_t>(bits);
    EXPECT_EQ(Read<std::int64_t>(PrintAttr(integer)), integer);
    IntTuple tuple(bits % 5);
    for (auto& element : tuple) element = static_cast<std::int64_t>(random()) >> (random() % 64);
    EXPECT_EQ(Read<IntTuple>(PrintAttr(tuple)), tuple);
    EXPECT_EQ(Read<std::optional<IntTuple>>(PrintAttr(std::optional(tuple))).value(), tuple);
  }
  for (const bool value : {true, false}) EXPECT_EQ(Read<bool>(PrintAttr(value)), value);
}

TEST(AttrText, GarbageNeverThrows) {
  std::mt19937 random(2);
  const std::string_view alphabet = "0123456789+-.,()[] LeNonTrue\t\xff";
  for (int i = 0; i < 20000; ++i) {
    std::string text(random() % 9, ' ');
    for (char& c : text) c = alphabet[random() % alphabet.size()];
    Read<bool>(text), Read<std::int64_t>(text), Read<double>(text), Read<DType>(text);
    if (const auto tuple = Read<IntTuple>(text)) {
      EXPECT_EQ(Read<IntTuple>(PrintAttr(*tuple)), tuple) << text;
    }
  }
}

}  // namespace
}  // namespace amp
