#include "nnvm/npz.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "nnvm/compose.h"
#include "nnvm/crc32.h"
#include "nnvm/iota.h"
#include "nnvm/params_file.h"
#include "nnvm/temporary_folder.h"
#include "nnvm/zip_directory.h"

namespace amp {
namespace {

using testing::ErrorOf;
using testing::ExpectSame;
using testing::Iota;
using testing::kAllDTypes;
using testing::TemporaryFolder;

std::string Saved(const NamedArrays& arrays) {
  std::string file;
  WriteNpz(arrays,
           [&file](const void* bytes, std::size_t count) { file.append(static_cast<const char*>(bytes), count); });
  return file;
}

std::string RefusalOfNpz(const std::string& file) {
  return ErrorOf<GraphError>([&] { ParseParams(file, "p.npz"); });
}
std::string Unsupported(const std::string& file) {
  return ErrorOf<UnsupportedError>([&] { ParseParams(file, "p.npz"); });
}

TEST(Npz, EveryDTypeSurvives) {
  NamedArrays arrays;
  for (const DType dtype : kAllDTypes) arrays.emplace_back("arg:" + NameOf(dtype), Iota(dtype, {2, 3}));
  arrays.emplace_back("scalar", Iota(DType::kFloat32, Shape(std::vector<std::int64_t>{})));
  arrays.emplace_back("empty", Iota(DType::kFloat32, {2, 0}));
  arrays.emplace_back("vector", Iota(DType::kInt64, {5}));
  const std::string file = Saved(arrays);
  const NamedArrays loaded = ParseParams(file, "p");
  ASSERT_EQ(loaded.size(), arrays.size());
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    EXPECT_EQ(loaded[i].first, arrays[i].first);
    ExpectSame(loaded[i].second, arrays[i].second);
  }
  EXPECT_EQ(Saved(loaded), file);
}

TEST(Npz, ListsGetNumbersAndNothingIsAFile) {
  const NamedArrays loaded = ParseParams(Saved({{"", Iota(DType::kInt8, {1})}, {"", Iota(DType::kInt8, {2})}}), "p");
  ASSERT_EQ(loaded.size(), 2u);
  EXPECT_EQ(loaded[1].first, "arr_1");
  EXPECT_TRUE(ParseParams(Saved({}), "p").empty());
}

// The .npy form of the given dictionary, which is made to say its own length.
std::string Npy(const std::string& dictionary, const std::string& data, char version = 1) {
  const auto length = static_cast<std::uint32_t>(dictionary.size());
  std::string file = std::string("\x93NUMPY") + version + '\0';
  file.append(reinterpret_cast<const char*>(&length), version == 1 ? 2 : 4);
  return file + dictionary + data;
}
std::string Dictionary(const std::string& descr, const std::string& shape, const std::string& order = "False") {
  return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

TEST(Npy, AFileOfOneArrayIsAListOfOne) {
  for (const char version : {1, 2, 3}) {
    const NamedArrays loaded = ParseParams(Npy(Dictionary("'|i1'", "(3,)"), "abc", version), "p.npy");
    ASSERT_EQ(loaded.size(), 1u);
    EXPECT_EQ(loaded[0].first, "");
    EXPECT_EQ(loaded[0].second.type().ToString(), "int8[3]");
    EXPECT_EQ(loaded[0].second.As<char>()[2], 'c');
  }
}

TEST(Npy, ColumnsBecomeRows) {
  const NamedArrays loaded = ParseParams(Npy(Dictionary("'|u1'", "(2, 3)", "True"), "adbecf"), "p.npy");
  EXPECT_EQ(std::string(loaded[0].second.As<char>(), 6), "abcdef");
  const NamedArrays cube = ParseParams(Npy(Dictionary("'<u2'", "(2, 1, 2)", "True"), "aabbccdd"), "p.npy");
  EXPECT_EQ(std::string(cube[0].second.As<char>(), 8), "aaccbbdd");
}

TEST(Npy, BFloat16HasThreeNames) {
  for (const char* descr : {"'<b2'", "[('bfloat16', '<u2')]", "'<V2'", "\"|V2\""}) {
    const NamedArrays loaded = ParseParams(Npy(Dictionary(descr, "()"), "ab"), "p.npy");
    EXPECT_EQ(loaded[0].second.type().ToString(), "bfloat16[]") << descr;
  }
}

TEST(Npy, RefusesOtherDTypes) {
  EXPECT_CONTAINS(Unsupported(Npy(Dictionary("'>f4'", "(1,)"), "abcd")), "p.npz: arrays of dtype >f4");
  EXPECT_CONTAINS(Unsupported(Npy(Dictionary("'>f4'", "(1,)"), "abcd")), "big-endian");
  for (const char* descr : {"'<c8'", "'|O'", "'<U3'", "'<f3'", "''", "[('x', '<f4')]"}) {
    EXPECT_CONTAINS(Unsupported(Npy(Dictionary(descr, "(1,)"), "abcdefgh")), "not supported") << descr;
  }
}

TEST(Npy, RefusesBadHeaders) {
  EXPECT_CONTAINS(RefusalOfNpz(Npy("{}", "")), "one of 'descr', 'fortran_order', 'shape' is missing");
  EXPECT_CONTAINS(RefusalOfNpz(Npy("[]", "")), "expected a dictionary");
  EXPECT_CONTAINS(RefusalOfNpz(Npy("{'descr': '<f4', 'descr': '<f4'}", "")), "each once");
  EXPECT_CONTAINS(RefusalOfNpz(Npy("{'extra': 1}", "")), "each once");
  EXPECT_CONTAINS(RefusalOfNpz(Npy("{'descr", "")), "each once");
  EXPECT_CONTAINS(RefusalOfNpz(Npy(Dictionary("'<f4'", "(1,)") + "x", "abcd")), "something follows");
  EXPECT_CONTAINS(RefusalOfNpz(Npy(Dictionary("'<f4'", "(1,)", "Maybe"), "abcd")), "each once");
  EXPECT_CONTAINS(RefusalOfNpz(Npy(Dictionary("'<f4'", "(-1,)"), "abcd")), "a dimension of -1");
  EXPECT_CONTAINS(RefusalOfNpz(Npy(Dictionary("'<f4'", "(2,)"), "abcd")), "larger than the rest of the file");
  EXPECT_CONTAINS(RefusalOfNpz(Npy(Dictionary("'<f4'", "(4611686018427387904, 4)"), "abcd")), "larger than the rest");
  EXPECT_CONTAINS(RefusalOfNpz(Npy(Dictionary("'<f4'", "(1,)"), "abcdefgh")), "4 bytes follow the array");
  EXPECT_CONTAINS(RefusalOfNpz(Npy(Dictionary("'<f4'", "(1,)"), "abcd", 4)), "version 4");
  EXPECT_CONTAINS(RefusalOfNpz(std::string("\x93NUMPY\x01\0\xff\xff{", 11)), "truncated");
  std::string ranks = "(";
  for (int i = 0; i < 33; ++i) ranks += "1, ";
  EXPECT_CONTAINS(RefusalOfNpz(Npy(Dictionary("'|i1'", ranks + ")"), "a")), "an array of rank 33");
}

NamedArrays TwoArrays() { return {{"arg:w", Iota(DType::kFloat32, {2, 2})}, {"aux:m", Iota(DType::kBFloat16, {3})}}; }

TEST(Npz, AFileCutAnywhereIsRefused) {
  const std::string whole = Saved(TwoArrays());
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const std::string error =
        ErrorOf<GraphError>([&] { ParseParams(std::string_view(whole).substr(0, bytes), "cut.npz"); });
    EXPECT_CONTAINS(error, "cut.npz") << bytes;
    EXPECT_CONTAINS(error, "at byte ") << bytes;
  }
}

TEST(Npz, FlippedBitsAreNoticedAndNeverCrash) {
  const std::string whole = Saved(TwoArrays());
  const NamedArrays before = ParseParams(whole, "p");
  std::mt19937 random(8);
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = whole;
    text[random() % text.size()] ^= static_cast<char>(1 << random() % 8);
    try {
      const NamedArrays after = ParseParams(text, "flipped");
      // What the checksums do not cover (dates, attributes, versions) changes no array.
      ASSERT_EQ(after.size(), before.size());
      for (std::size_t k = 0; k < before.size(); ++k) ExpectSame(after[k].second, before[k].second);
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 10000);
}

// Replaces the only (or the `nth`) occurrence of some bytes.
std::string Patched(std::string file, std::string_view bytes, std::string_view other, int nth = 0) {
  std::size_t at = file.find(bytes);
  for (; nth > 0; --nth) at = file.find(bytes, at + 1);
  EXPECT_NE(at, std::string::npos);
  return file.replace(at, other.size(), other);
}

constexpr std::string_view kRecord("PK\x01\x02", 4);

// The small file with a number of its first directory record changed.
std::string WithField(std::size_t offset, std::uint16_t value) {
  std::string file = Saved(TwoArrays());
  std::memcpy(file.data() + file.find(kRecord) + offset, &value, sizeof value);
  return file;
}

TEST(Npz, RefusesWhatItCannotRead) {
  EXPECT_CONTAINS(Unsupported(WithField(10, 8)), "'arg:w.npy' is compressed (method 8)");
  EXPECT_CONTAINS(Unsupported(WithField(8, 1)), "'arg:w.npy' is encrypted");
  NamedArrays sparse = TwoArrays();
  sparse[1].first = "aux:m/farmot";
  const std::string file = Patched(Patched(Saved(sparse), "farmot", "format"), "farmot", "format");
  EXPECT_CONTAINS(Unsupported(file), "p.npz: array 'aux:m' is sparse");
  sparse[1].first = "aux:m/format";
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([&] { Saved(sparse); }), "array 'aux:m/format': in npz files such a name");
  EXPECT_CONTAINS(RefusalOfNpz(Patched(Patched(Saved(TwoArrays()), ".npy", ".txt"), ".npy", ".txt", 1)),
                  "is no .npy file");
}

TEST(Npz, RefusesInconsistentDirectories) {
  EXPECT_CONTAINS(RefusalOfNpz(Patched(Saved(TwoArrays()), "arg:w", "arg:v")),
                  "is called 'arg:w.npy' in the directory");
  EXPECT_CONTAINS(RefusalOfNpz(WithField(24, 7)), "is stored in");
  EXPECT_CONTAINS(RefusalOfNpz(WithField(42, 3)), "has no header there");
  EXPECT_CONTAINS(RefusalOfNpz(WithField(44, 0x7fff)), "behind the end");
  EXPECT_CONTAINS(RefusalOfNpz(WithField(16, 0)), "its checksum is wrong");
  EXPECT_CONTAINS(RefusalOfNpz(WithField(0, 0)), "a record of the directory is damaged");
  EXPECT_CONTAINS(RefusalOfNpz(WithField(30, 0xffff)), "longer than the directory");
  EXPECT_CONTAINS(RefusalOfNpz(Patched(Saved(TwoArrays()), std::string_view("PK\x05\x06\0\0\0\0\2\0\2\0", 12),
                                       std::string_view("PK\x05\x06\0\0\0\0\3\0\3\0", 12))),
                  "2 entries, expected 3");
  EXPECT_CONTAINS(RefusalOfNpz("PK\x03\x04 something else entirely"), "the file is cut off");
  EXPECT_CONTAINS(RefusalOfNpz(Saved({{"a", Iota(DType::kInt8, {1})}, {"a", Iota(DType::kInt8, {2})}})),
                  "two entries are called 'a.npy'");
}

// An entry inside of another would make us read bytes twice; a thousand of them, nested, would make a bomb.
TEST(Npz, EntriesMustNotOverlap) {
  const std::string inner_npy = NpyHeader({DType::kInt8, {1}}) + "x";
  const std::uint32_t inner_sum = Crc32(inner_npy.data(), inner_npy.size());
  const std::string inner = ZipDirectoryWriter().EntryHeader("b.npy", inner_sum, inner_npy.size()) + inner_npy;
  const std::string outer_start = NpyHeader({DType::kInt8, {static_cast<std::int64_t>(inner.size())}});
  const std::string outer_npy = outer_start + inner;
  ZipDirectoryWriter directory;
  const std::string header =
      directory.EntryHeader("a.npy", Crc32(outer_npy.data(), outer_npy.size()), outer_npy.size());
  directory.EntryHeader("b.npy", inner_sum, inner_npy.size());
  std::string records = directory.Directory();
  const auto inner_position = static_cast<std::uint32_t>(header.size() + outer_start.size());
  const auto directory_position = static_cast<std::uint32_t>(header.size() + outer_npy.size());
  std::memcpy(records.data() + records.find(kRecord, 4) + 42, &inner_position, 4);
  std::memcpy(records.data() + records.size() - 6, &directory_position, 4);
  EXPECT_CONTAINS(RefusalOfNpz(header + outer_npy + records), "'a.npy' overlaps what follows it");
}

TEST(Crc32, KnownValues) {
  EXPECT_EQ(Crc32("123456789", 9), 0xCBF43926u);
  EXPECT_EQ(Crc32("", 0), 0u);
  EXPECT_EQ(Crc32("6789", 4, Crc32("12345", 5)), 0xCBF43926u);
}

}  // namespace
}  // namespace amp
