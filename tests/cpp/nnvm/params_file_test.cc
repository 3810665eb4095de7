#include "nnvm/params_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstring>
#include <random>

#include "nnvm/compose.h"
#include "nnvm/fake_ops.h"
#include "nnvm/file_io.h"
#include "nnvm/iota.h"
#include "nnvm/temporary_folder.h"

namespace amp {
namespace {

using testing::ErrorOf;
using testing::ExpectSame;
using testing::Iota;
using testing::kAllDTypes;
using testing::TemporaryFolder;

// Bytes of a file, written by hand.
class Bytes {
 public:
  template <class T>
  Bytes& Put(T value) {
    text.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Bytes& U64(std::uint64_t value) { return Put(value); }
  Bytes& I64(std::int64_t value) { return Put(value); }
  Bytes& U32(std::uint32_t value) { return Put(value); }
  Bytes& I32(std::int32_t value) { return Put(value); }
  Bytes& Text(std::string_view value) {
    text += value;
    return *this;
  }
  Bytes& Header(std::uint64_t arrays) { return U64(0x112).U64(0).U64(arrays); }
  Bytes& Floats(std::initializer_list<float> values) {
    for (const float value : values) Put(value);
    return *this;
  }
  // Device (CPU 0) and dtype.
  Bytes& Tail(std::int32_t code) { return I32(1).I32(0).I32(code); }
  Bytes& Names(std::initializer_list<std::string_view> names) {
    U64(names.size());
    for (const auto name : names) U64(name.size()).Text(name);
    return *this;
  }

  std::string text;
};

constexpr std::uint32_t kV1 = 0xF993FAC8, kV2 = 0xF993FAC9, kV3 = 0xF993FACA;

NamedArrays ParseBytes(const Bytes& bytes) { return ParseParams(bytes.text, "p.params"); }
std::string RefusalOfBytes(const Bytes& bytes) {
  return ErrorOf<GraphError>([&] { ParseBytes(bytes); });
}

TEST(ParamsFile, EveryDTypeSurvives) {
  const TemporaryFolder folder;
  NamedArrays arrays;
  for (const DType dtype : kAllDTypes) arrays.emplace_back("arg:" + NameOf(dtype), Iota(dtype, {2, 3}));
  SaveParams(folder / "p", arrays);
  const NamedArrays loaded = LoadParams(folder / "p");
  ASSERT_EQ(loaded.size(), arrays.size());
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    EXPECT_EQ(loaded[i].first, arrays[i].first);
    ExpectSame(loaded[i].second, arrays[i].second);
  }
  SaveParams(folder / "again", loaded);
  EXPECT_EQ(ReadFile(folder / "again"), ReadFile(folder / "p"));
}

TEST(ParamsFile, WritesV2AsMXNetDoes) {
  const TemporaryFolder folder;
  NDArray array(DType::kFloat32, {2});
  array.As<float>()[0] = 1, array.As<float>()[1] = 2;
  SaveParams(folder / "p", {{"arg:w", array}});
  Bytes expected;
  expected.Header(1).U32(kV2).I32(0).I32(1).I64(2).Tail(0).Floats({1, 2}).Names({"arg:w"});
  EXPECT_EQ(ReadFile(folder / "p"), expected.text);
}

TEST(ParamsFile, EmptyListsAndListsWithoutNames) {
  const TemporaryFolder folder;
  SaveParams(folder / "p", {});
  EXPECT_TRUE(LoadParams(folder / "p").empty());
  Bytes bytes;
  bytes.Header(1).U32(kV2).I32(0).I32(1).I64(1).Tail(3).Text("x").U64(0);
  const NamedArrays loaded = ParseBytes(bytes);
  ASSERT_EQ(loaded.size(), 1u);
  EXPECT_EQ(loaded[0].first, "");
  SaveParams(folder / "list", {{"", Iota(DType::kInt8, {1})}, {"", Iota(DType::kInt8, {2})}});
  EXPECT_EQ(LoadParams(folder / "list").size(), 2u);
}

TEST(ParamsFile, ReadsEveryGeneration) {
  Bytes v0, v1, v2, v3;
  v0.Header(1).U32(2).U32(1).U32(2).Tail(0).Floats({5, 6}).Names({"a"});  // the magic is the rank
  v1.Header(1).U32(kV1).I32(2).I64(1).I64(2).Tail(0).Floats({5, 6}).Names({"a"});
  v2.Header(1).U32(kV2).I32(0).I32(2).I64(1).I64(2).Tail(0).Floats({5, 6}).Names({"a"});
  v3.Header(1).U32(kV3).I32(0).I32(2).I64(1).I64(2).Tail(0).Floats({5, 6}).Names({"a"});
  for (const Bytes* bytes : {&v0, &v1, &v2, &v3}) {
    const NamedArrays loaded = ParseBytes(*bytes);
    ASSERT_EQ(loaded.size(), 1u);
    EXPECT_EQ(loaded[0].second.type().ToString(), "float32[1,2]");
    EXPECT_EQ(loaded[0].second.As<float>()[1], 6);
  }
}

TEST(ParamsFile, RecordsWithoutAValue) {
  Bytes v0, v1, v2, v3;
  v0.Header(1).U32(0).Names({"a"});
  v1.Header(1).U32(kV1).I32(0).Names({"a"});
  v2.Header(1).U32(kV2).I32(0).I32(0).Names({"a"});
  v3.Header(1).U32(kV3).I32(0).I32(-1).Names({"a"});
  for (const Bytes* bytes : {&v0, &v1, &v2, &v3}) {
    const NamedArrays loaded = ParseBytes(*bytes);
    ASSERT_EQ(loaded.size(), 1u);
    EXPECT_EQ(loaded[0].first, "a");
    EXPECT_FALSE(loaded[0].second.defined());
  }
}

TEST(ParamsFile, V3HoldsScalarsAndEmptyArrays) {
  Bytes bytes;
  bytes.Header(3).U32(kV3).I32(0).I32(0).Tail(0).Floats({4});
  bytes.U32(kV3).I32(0).I32(2).I64(1000000).I64(0).Tail(0);  // no elements, whatever the other size
  bytes.U32(kV3).I32(0).I32(2).I64(0).I64(1000000).Tail(0).Names({"a", "b", "c"});
  const NamedArrays loaded = ParseBytes(bytes);
  EXPECT_EQ(loaded[0].second.type().ToString(), "float32[]");
  EXPECT_EQ(loaded[0].second.As<float>()[0], 4);
  EXPECT_EQ(loaded[1].second.size(), 0);
  EXPECT_EQ(loaded[2].second.size(), 0);
}

TEST(ParamsFile, RefusesSparseRecords) {
  Bytes bytes;
  const auto dense = [&] { bytes.U32(kV2).I32(0).I32(1).I64(1).Tail(0).Floats({1}); };
  // Two of three rows of (3, 2), with their numbers; then a matrix with one element.
  const auto rows = [&] {
    bytes.U32(kV2).I32(1).I32(2).I64(2).I64(2).I32(2).I64(3).I64(2).Tail(0).I32(6).I32(1).I64(2);
    bytes.Floats({1, 2, 3, 4}).I64(0).I64(2);
  };
  const auto matrix = [&] {
    bytes.U32(kV2).I32(2).I32(1).I64(1).I32(2).I64(1).I64(4).Tail(0).I32(6).I32(1).I64(2).I32(6).I32(1).I64(1);
    bytes.Floats({5}).I64(0).I64(1).I64(3);
  };
  bytes.Header(3);
  rows(), dense(), matrix();
  bytes.Names({"embedding", "bias", "graph"});
  EXPECT_EQ(ErrorOf<UnsupportedError>([&] { ParseBytes(bytes); }),
            "p.params: sparse arrays are not supported: 'embedding', 'graph'");
  bytes = {};
  bytes.Header(2);
  dense(), rows();
  EXPECT_EQ(ErrorOf<UnsupportedError>([&] { ParseBytes(bytes.U64(0)); }),
            "p.params: sparse arrays are not supported: number 1");
  EXPECT_CONTAINS(RefusalOfBytes(Bytes().Header(1).U32(kV2).I32(3).Text(std::string(64, 0))), "unknown storage type 3");
  EXPECT_CONTAINS(
      RefusalOfBytes(Bytes().Header(1).U32(kV2).I32(1).I32(1).I64(1000).I32(1).I64(1).Tail(0).I32(6).I32(1).I64(1)),
      "is larger than the rest of the file");
}

TEST(ParamsFile, RefusesWhatIsNoParameterFile) {
  EXPECT_CONTAINS(RefusalOfBytes(Bytes().Text("something else entirely")), "not an MXNet parameter file");
  EXPECT_CONTAINS(RefusalOfBytes(Bytes()), "truncated at byte 0: the file's magic number needs 8 bytes, 0 are left");
}

TEST(ParamsFile, RefusesInconsistentRecords) {
  const auto record = [] { return Bytes().Header(1).U32(kV2).I32(0).I32(1).I64(1); };
  EXPECT_CONTAINS(RefusalOfBytes(record().Tail(99).Floats({1}).Names({"a"})), "array 0 has the unknown dtype code 99");
  EXPECT_CONTAINS(RefusalOfBytes(record().Tail(-1).Floats({1}).Names({"a"})), "unknown dtype code -1");
  EXPECT_CONTAINS(RefusalOfBytes(record().Tail(0).Floats({1}).Names({"a", "b"})), "2 names for 1 arrays");
  EXPECT_CONTAINS(RefusalOfBytes(record().Tail(0).Floats({1}).Names({"a"}).Text("xyz")),
                  "3 bytes follow the last name");
  EXPECT_CONTAINS(RefusalOfBytes(record().Tail(0).Floats({1})), "truncated");  // names missing
  EXPECT_CONTAINS(RefusalOfBytes(Bytes().Header(1).U32(kV2).I32(0).I32(-1).Text(std::string(64, 0))),
                  "an array of rank -1");
  EXPECT_CONTAINS(RefusalOfBytes(Bytes().Header(1).U32(33).Text(std::string(400, 0))), "an array of rank 33");
  EXPECT_CONTAINS(RefusalOfBytes(Bytes().Header(1).U32(kV2).I32(0).I32(1).I64(-5).Tail(0).Names({"a"})),
                  "a dimension of -5");
}

TEST(ParamsFile, RefusesNamesThatOccurTwice) {
  const auto two = [](std::string_view a, std::string_view b) {
    return Bytes().Header(2).U32(0).U32(0).Names({a, b});  // two records of V0 without a value
  };
  EXPECT_CONTAINS(RefusalOfBytes(two("w", "w")), "the name 'w' occurs twice");
  EXPECT_EQ(ParseBytes(two("w", "v")).size(), 2u);
  EXPECT_EQ(ParseBytes(two("", "")).size(), 2u);
}

// Keeps the address space close to what is used now, so that a large allocation fails.
class AddressSpaceLimit {
 public:
  AddressSpaceLimit() {
#if !defined(__SANITIZE_ADDRESS__)
    getrlimit(RLIMIT_DATA, &before_);
    rlimit limit = before_;
    limit.rlim_cur = std::min<rlim_t>(before_.rlim_max, rlim_t{512} << 20);
    setrlimit(RLIMIT_DATA, &limit);
#endif
  }
  ~AddressSpaceLimit() {
#if !defined(__SANITIZE_ADDRESS__)
    setrlimit(RLIMIT_DATA, &before_);
#endif
  }

 private:
  rlimit before_{};
};

TEST(ParamsFile, NumbersThatTheFileCannotHoldAllocateNothing) {
  const AddressSpaceLimit limit;
  for (const std::uint64_t huge : {std::uint64_t{1} << 32, std::uint64_t{1} << 62, ~std::uint64_t{0}}) {
    const auto size = static_cast<std::int64_t>(huge & INT64_MAX);
    EXPECT_CONTAINS(RefusalOfBytes(Bytes().Header(huge).Text(std::string(64, 0))), "more than the file can hold");
    EXPECT_CONTAINS(RefusalOfBytes(Bytes().Header(1).U32(kV2).I32(0).I32(1).I64(size).Tail(0).Floats({1})),
                    "is larger than the rest of the file");
    EXPECT_CONTAINS(RefusalOfBytes(Bytes().Header(1).U32(kV2).I32(0).I32(2).I64(size).I64(size).Tail(1).Floats({1})),
                    "is larger than the rest of the file");
    EXPECT_CONTAINS(RefusalOfBytes(Bytes().Header(0).U64(huge)), "more than the file can hold");
    EXPECT_CONTAINS(RefusalOfBytes(Bytes().Header(1).U32(0).U64(1).U64(huge).Text("a")), "more than the file can hold");
  }
}

TEST(ParamsFile, ACountAloneBuysNoMemory) {
  const AddressSpaceLimit limit;
  // 8 million records would fit by their smallest size, but the first of them is broken.
  EXPECT_CONTAINS(RefusalOfBytes(Bytes().Header(8 << 20).Text(std::string(40 << 20, '\x7f'))), "an array of rank");
}

NamedArrays ThreeArrays() {
  return {{"arg:w", Iota(DType::kFloat32, {2, 2})},
          {"aux:m", Iota(DType::kBFloat16, {3})},
          {"arg:é", Iota(DType::kInt8, {1})}};
}

std::string SmallFile() {
  const TemporaryFolder folder;
  SaveParams(folder / "p", ThreeArrays());
  return ReadFile(folder / "p");
}

TEST(ParamsFile, AFileCutAnywhereIsRefusedWithItsPosition) {
  const std::string whole = SmallFile();
  EXPECT_EQ(ParseParams(whole, "p").size(), 3u);
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const std::string error =
        ErrorOf<GraphError>([&] { ParseParams(std::string_view(whole).substr(0, bytes), "cut.params"); });
    EXPECT_CONTAINS(error, "cut.params") << bytes;
    EXPECT_CONTAINS(error, "at byte ") << bytes;
  }
}

TEST(ParamsFile, FlippedBitsNeverCrash) {
  const std::string whole = SmallFile();
  const AddressSpaceLimit limit;
  std::mt19937 random(8);
  for (int i = 0; i < 50000; ++i) {
    std::string text = whole;
    for (int flips = static_cast<int>(random() % 4); flips >= 0; --flips) {
      text[random() % text.size()] ^= static_cast<char>(1 << random() % 8);
    }
    try {
      ParseParams(text, "flipped");
    } catch (const Error&) {
    }
  }
}

TEST(ParamsFile, RefusesToWriteWhatV2CannotHold) {
  const TemporaryFolder folder;
  const auto refusal = [&](const NamedArrays& arrays) {
    return ErrorOf<ArgumentError>([&] { SaveParams(folder / "p", arrays, ParamsFormat::kV2); });
  };
  const NDArray one = Iota(DType::kFloat32, {1});
  EXPECT_EQ(refusal({{"a", one}, {"a", one}}), "two arrays are named 'a'");
  EXPECT_EQ(refusal({{"a", NDArray()}}), "array 'a' has no value");
  EXPECT_CONTAINS(refusal({{"a", NDArray(DType::kFloat32, Shape(std::vector<std::int64_t>{}))}}),
                  "neither scalars nor empty");
  EXPECT_CONTAINS(refusal({{"a", NDArray(DType::kFloat32, {2, 0})}}), "'a' of type float32[2,0]");
  EXPECT_TRUE(folder.Names().empty());
}

TEST(ParamsFile, TheDefaultFormatHoldsTheArrays) {
  const NDArray one = Iota(DType::kFloat32, {1});
  const NDArray scalar = Iota(DType::kFloat32, Shape(std::vector<std::int64_t>{}));
  EXPECT_EQ(DefaultFormat({{"a", one}}), ParamsFormat::kV2);
  EXPECT_EQ(DefaultFormat({{"a", one}, {"b", scalar}}), ParamsFormat::kV3);
  EXPECT_EQ(DefaultFormat({{"a", Iota(DType::kFloat32, {0})}}), ParamsFormat::kV3);
  const TemporaryFolder folder;
  SaveParams(folder / "p", {{"b", scalar}});
  Bytes expected;
  expected.Header(1).U32(kV3).I32(0).I32(0).Tail(0).Put(scalar.As<float>()[0]).Names({"b"});
  EXPECT_EQ(ReadFile(folder / "p"), expected.text);
  EXPECT_EQ(ParamsFormatFromName("npz"), ParamsFormat::kNpz);
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([] { ParamsFormatFromName("v2"); }), "expected V2, V3 or npz");
}

TEST(ParamsFile, AFailedSaveKeepsTheOldFile) {
  const TemporaryFolder folder;
  SaveParams(folder / "p", ThreeArrays());
  const std::string before = ReadFile(folder / "p");
  EXPECT_THROW(SaveParams(folder / "p", {{"a", NDArray()}}), ArgumentError);
  EXPECT_EQ(ReadFile(folder / "p"), before);
}

TEST(SplitParams, ByRole) {
  const ModelParams params = SplitParams(ThreeArrays(), "p.params");
  EXPECT_EQ(params.args.size(), 2u);
  ExpectSame(params.aux.at("m"), ThreeArrays()[1].second);
  const NamedArrays joined = JoinParams(params);
  EXPECT_EQ(joined.size(), 3u);
  EXPECT_EQ(joined[0].first, "arg:w");
  EXPECT_EQ(joined.back().first, "aux:m");
}

TEST(SplitParams, RefusesOtherKeys) {
  const NDArray one = Iota(DType::kFloat32, {1});
  const auto refusal = [&](const NamedArrays& arrays) {
    return ErrorOf<GraphError>([&] { SplitParams(arrays, "p.params"); });
  };
  EXPECT_EQ(refusal({{"weight", one}}), "p.params: 'weight' is not of the form arg:NAME or aux:NAME");
  EXPECT_EQ(refusal({{"", one}}), "p.params: '' is not of the form arg:NAME or aux:NAME");
  EXPECT_EQ(refusal({{"arg:a", one}, {"arg:a", one}}), "p.params: 'arg:a' occurs twice");
  EXPECT_EQ(refusal({{"arg:a", NDArray()}}), "p.params: 'arg:a' has no value");
}

TEST(SplitParams, PlainNamesAreThoseOfTheSymbol) {
  const NDArray one = Iota(DType::kFloat32, {1});
  testing::RegisterFakeOps();
  const Symbol symbol = testing::Op("_fake_state", "s", {testing::Var("x"), testing::Var("mean")});
  const ModelParams params = SplitParamsOf(symbol, {{"mean", one}, {"x", one}}, "p.params");
  EXPECT_TRUE(params.aux.contains("mean") && params.args.contains("x"));
  EXPECT_TRUE(SplitParamsOf(symbol, {{"arg:elsewhere", one}}, "p.params").args.contains("elsewhere"));
  EXPECT_CONTAINS(ErrorOf<GraphError>([&] {
                    SplitParamsOf(symbol, {{"maen", one}}, "p.params");
                  }),
                  "p.params: 'maen' is neither of the form arg:NAME or aux:NAME nor a variable of the symbol; "
                  "did you mean 'mean'?");
}

}  // namespace
}  // namespace amp
