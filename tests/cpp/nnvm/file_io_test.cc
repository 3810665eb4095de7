#include "nnvm/file_io.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <fstream>

#include "nnvm/compose.h"
#include "nnvm/temporary_folder.h"

namespace amp {
namespace {

using testing::ErrorOf;
using testing::TemporaryFolder;
using FileNames = std::set<std::string>;

TEST(FileIo, WritesAndReads) {
  const TemporaryFolder folder;
  const std::string content("a\0b\n", 4);
  WriteFile(folder / "f", content);
  EXPECT_EQ(ReadFile(folder / "f"), content);
  WriteFile(folder / "f", "");
  EXPECT_EQ(ReadFile(folder / "f"), "");
  EXPECT_EQ(folder.Names(), FileNames{"f"});
}

TEST(FileIo, ErrorsNameTheFile) {
  const TemporaryFolder folder;
  EXPECT_EQ(ErrorOf<ArgumentError>([&] { ReadFile(folder / "absent"); }),
            "cannot open '" + folder / "absent" + "': No such file or directory");
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([&] { WriteFile(folder / "no/such/folder", "x"); }), "cannot write");
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([&] { ReadFile(folder.path()); }), folder.path());
}

TEST(FileIo, OnlyRegularFilesAreReadAndReplaced) {
  const TemporaryFolder folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([&] { ReadFile(folder / "pipe"); }),
                  "not a regular file");  // and does not wait
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([&] { WriteFile(folder / "pipe", "x"); }), "not a regular file");
  EXPECT_CONTAINS(ErrorOf<ArgumentError>([&] { WriteFile(folder.path(), "x"); }), "not a regular file");
  EXPECT_EQ(folder.Names(), FileNames{"pipe"});
}

TEST(FileIo, AnErrorWhileProducingKeepsTheOldFile) {
  const TemporaryFolder folder;
  WriteFile(folder / "f", "old");
  const auto produce = [](const AppendBytes& append) {
    append("new", 3);
    throw GraphError("no more");
  };
  EXPECT_EQ(ErrorOf<GraphError>([&] { WriteFileWith(folder / "f", produce); }), "no more");
  EXPECT_EQ(ReadFile(folder / "f"), "old");
  EXPECT_EQ(folder.Names(), FileNames{"f"});  // the temporary file is gone
}

// A full disk, as far as a process can have its own: no file may grow beyond 4 KB.
TEST(FileIo, AFullDiskKeepsTheOldFile) {
  const TemporaryFolder folder;
  WriteFile(folder / "f", "old");
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit = before;
  limit.rlim_cur = 4096;
  setrlimit(RLIMIT_FSIZE, &limit);
  const std::string error = ErrorOf<ArgumentError>([&] { WriteFile(folder / "f", std::string(1 << 20, 'x')); });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_CONTAINS(error, "cannot write '" + folder / "f");
  EXPECT_EQ(ReadFile(folder / "f"), "old");
  EXPECT_EQ(folder.Names(), FileNames{"f"});
}

TEST(FileIo, KeepsTheModeOfTheFileItReplaces) {
  const TemporaryFolder folder;
  WriteFile(folder / "f", "old");
  chmod((folder / "f").c_str(), 0640);
  WriteFile(folder / "f", "new");
  struct stat status {};
  ASSERT_EQ(stat((folder / "f").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
}

TEST(ByteReader, NeverGoesPastTheEnd) {
  ByteReader reader = ByteReader::OfMemory("abcdef", "memory");
  EXPECT_EQ(reader.Read<char>("a letter"), 'a');
  EXPECT_EQ(reader.position(), 1u);
  EXPECT_EQ(reader.remaining(), 5u);
  EXPECT_EQ(ErrorOf<GraphError>([&] { reader.Read<std::uint64_t>("a number"); }),
            "memory: truncated at byte 1: a number needs 8 bytes, 5 are left");
  EXPECT_EQ(ErrorOf<GraphError>([&] { reader.Read(nullptr, ~std::uint64_t{0}, "everything"); }).substr(0, 27),
            "memory: truncated at byte 1");
  reader.Read(nullptr, 0, "nothing");
}

TEST(ByteReader, AFileThatShrinksIsAnErrorAndNoCrash) {
  const TemporaryFolder folder;
  WriteFile(folder / "f", std::string(1 << 20, 'x'));
  ByteReader reader = ByteReader::OpenFile(folder / "f");
  std::filesystem::resize_file(folder / "f", 100);
  std::string into(1 << 20, ' ');
  EXPECT_CONTAINS(ErrorOf<GraphError>([&] { reader.Read(into.data(), into.size(), "the data"); }), "became shorter");
}

}  // namespace
}  // namespace amp
