// Which files are mapped, and that none of them can hurt.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include "nnvm/compose.h"
#include "nnvm/file_io.h"
#include "nnvm/params_file.h"
#include "nnvm/temporary_folder.h"

namespace amp {
namespace {

using testing::TemporaryFolder;

NDArray Numbers(std::int64_t count) {
  NDArray array(DType::kFloat32, {count});
  for (std::int64_t i = 0; i < count; ++i) array.As<float>()[i] = static_cast<float>(i);
  return array;
}

// A parameter file in memory, under a path of its own.
class MemoryFile {
 public:
  MemoryFile(const std::string& content, int seals) : descriptor_(memfd_create("amp_mapped", MFD_ALLOW_SEALING)) {
    EXPECT_EQ(write(descriptor_, content.data(), content.size()), static_cast<ssize_t>(content.size()));
    EXPECT_EQ(fcntl(descriptor_, F_ADD_SEALS, seals), 0);
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

bool IsMapped() {
  std::ifstream maps("/proc/self/maps");
  std::stringstream text;
  text << maps.rdbuf();
  return testing::Contains(text.str(), "memfd:amp_mapped");
}

std::string Content(const NamedArrays& arrays, ParamsFormat format = ParamsFormat::kV2) {
  const TemporaryFolder folder;
  SaveParams(folder / "p", arrays, format);
  return ReadFile(folder / "p");
}

TEST(Mapping, SealedFilesAreMappedForAsLongAsTheirArraysLive) {
  for (const ParamsFormat format : {ParamsFormat::kV2, ParamsFormat::kV3, ParamsFormat::kNpz}) {
    const MemoryFile file(Content({{"arg:weight01", Numbers(100000)}}, format), F_SEAL_SHRINK | F_SEAL_WRITE);
    NamedArrays arrays = LoadParams(file.path());
    NDArray array = arrays[0].second;
    arrays.clear();
    ASSERT_EQ(array.size(), 100000);
    EXPECT_EQ(array.As<float>()[99999], 99999);
    EXPECT_EQ(IsMapped(), reinterpret_cast<std::uintptr_t>(array.data()) % 64 != 0);  // a copy is aligned
    array.As<float>()[7] = -1;                                                        // private to us
    EXPECT_EQ(LoadParams(file.path())[0].second.As<float>()[7], 7);
    array = {};
    EXPECT_FALSE(IsMapped());
  }
}

TEST(Mapping, UnsealedFilesAreRead) {
  for (const int seals : {0, F_SEAL_SHRINK, F_SEAL_WRITE}) {
    const MemoryFile file(Content({{"arg:w", Numbers(100000)}}), seals);
    const NamedArrays arrays = LoadParams(file.path());
    EXPECT_FALSE(IsMapped());
    ASSERT_EQ(ftruncate(file.descriptor(), 0) == 0, (seals & F_SEAL_SHRINK) == 0);
    EXPECT_EQ(arrays[0].second.As<float>()[99999], 99999);
  }
}

TEST(Mapping, DamagedMappedFilesAreRefusedLikeOthers) {
  const std::string whole = Content({{"arg:w", Numbers(1000)}});
  for (std::size_t bytes = 1; bytes < whole.size(); bytes += 64) {
    const MemoryFile file(whole.substr(0, bytes), F_SEAL_SHRINK | F_SEAL_WRITE);
    EXPECT_CONTAINS(testing::ErrorOf<GraphError>([&] { LoadParams(file.path()); }), "at byte ");
  }
}

}  // namespace
}  // namespace amp
