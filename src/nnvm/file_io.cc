#include "nnvm/file_io.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "nnvm/error.h"

namespace amp {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

[[noreturn]] void FailWith(const char* action, const std::string& path) {
  Throw<ArgumentError>("cannot {} '{}': {}", action, path, std::strerror(errno));
}

File OpenRegular(const std::string& path, std::uint64_t* size) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe must not make us wait
  if (descriptor < 0) FailWith("open", path);
  File file(fdopen(descriptor, "rb"), std::fclose);
  struct stat status {};
  if (!file || fstat(fileno(file.get()), &status) != 0) FailWith("open", path);
  if (!S_ISREG(status.st_mode)) Throw<ArgumentError>("cannot read '{}': not a regular file", path);
  *size = static_cast<std::uint64_t>(status.st_size);
  return file;
}

// A mapped file that is cut short kills whoever reads beyond its new end. So we map only what nobody can shorten or
// change: sealed memory files, and files on file systems that are read-only by nature.
bool IsSafeToMap(int descriptor) {
  const int seals = fcntl(descriptor, F_GET_SEALS);
  constexpr int kFixed = F_SEAL_SHRINK | F_SEAL_WRITE;
  if (seals >= 0 && (seals & kFixed) == kFixed) return true;
  struct statfs system {};
  if (fstatfs(descriptor, &system) != 0) return false;
  constexpr std::uint32_t kErofs = 0xE0F5E1E2;
  const auto type = static_cast<std::uint32_t>(system.f_type);
  return type == SQUASHFS_MAGIC || type == kErofs || type == ISOFS_SUPER_MAGIC || type == CRAMFS_MAGIC;
}

// Whether only this user and root may write to the file.
bool IsOurs(int descriptor) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) return false;
  const bool is_ours = status.st_uid == geteuid() || status.st_uid == 0;
  return is_ours && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool IsMapped(int descriptor, MapRule rule) {
  if (rule == MapRule::kNever) return false;
  return IsSafeToMap(descriptor) || (rule == MapRule::kIfOurs && IsOurs(descriptor));
}

// Private pages: they may be written to, and the file stays as it is. nullptr where mapping is not possible.
std::shared_ptr<void> Map(int descriptor, std::uint64_t size, MapRule rule) {
  if (size == 0 || !IsMapped(descriptor, rule)) return nullptr;
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, descriptor, 0);
  if (memory == MAP_FAILED) return nullptr;
  return {memory, [size](void* mapped) { munmap(mapped, size); }};
}

// Owns a temporary file until it is renamed; removes it otherwise.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& target) : target_(target), name_(target + ".tmp-XXXXXX") {
    RefuseSpecial(target);
    const int descriptor = mkstemp(name_.data());
    if (descriptor < 0) FailWith("write", target);
    fchmod(descriptor, ModeFor(target));
    file_.reset(fdopen(descriptor, "wb"));
    if (!file_) FailWith("write", target);
  }
  ~TemporaryFile() {
    if (!renamed_) std::remove(name_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void Append(const void* bytes, std::size_t count) {
    if (count != 0 && std::fwrite(bytes, 1, count, file_.get()) != count) FailWith("write", target_);
  }
  void Commit() {
    if (std::fflush(file_.get()) != 0 || fsync(fileno(file_.get())) != 0) FailWith("write", target_);
    if (std::fclose(file_.release()) != 0) FailWith("write", target_);
    if (std::rename(name_.c_str(), target_.c_str()) != 0) FailWith("write", target_);
    renamed_ = true;
  }

 private:
  // Renaming would put a file in the place of /dev/null, if the user may do that.
  static void RefuseSpecial(const std::string& target) {
    struct stat status {};
    if (stat(target.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
      Throw<ArgumentError>("cannot write '{}': not a regular file", target);
    }
  }

  // That of the file to be replaced, else what a newly created file would get.
  static mode_t ModeFor(const std::string& target) {
    struct stat status {};
    if (stat(target.c_str(), &status) == 0) return status.st_mode & 0777;
    const mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
  }

  std::string target_;
  std::string name_;
  File file_{nullptr, std::fclose};
  bool renamed_ = false;
};

}  // namespace

std::string ReadFile(const std::string& path) {
  ByteReader reader = ByteReader::OpenFile(path);
  std::string content(reader.remaining(), '\0');
  reader.Read(content.data(), content.size(), "the file");
  return content;
}

ByteReader ByteReader::OpenFile(const std::string& path, MapRule rule) {
  ByteReader reader;
  reader.source_ = path;
  reader.file_ = OpenRegular(path, &reader.size_);
  reader.mapping_ = Map(fileno(reader.file_.get()), reader.size_, rule);
  reader.is_read_alone_ = rule == MapRule::kIfOurs;
  if (reader.mapping_) {
    reader.memory_ = {static_cast<const char*>(reader.mapping_.get()), reader.size_};
    reader.file_.reset();
  }
  return reader;
}

ByteReader ByteReader::OfMemory(std::string_view bytes, std::string source) {
  ByteReader reader;
  reader.source_ = std::move(source);
  reader.memory_ = bytes;
  reader.size_ = bytes.size();
  return reader;
}

std::string ByteReader::Peek(std::size_t count) {
  const std::uint64_t start = position_;
  std::string bytes(std::min<std::uint64_t>(count, remaining()), '\0');
  Read(bytes.data(), bytes.size(), "the first bytes");
  Seek(start);
  return bytes;
}

void ByteReader::Seek(std::uint64_t position) {
  if (position > size_) Throw<GraphError>("{}: byte {} of a file of {}", source_, position, size_);
  if (file_ && fseeko(file_.get(), static_cast<off_t>(position), SEEK_SET) != 0) FailWith("read", source_);
  position_ = position;
}

std::shared_ptr<void> ByteReader::Borrow(std::uint64_t bytes, std::size_t alignment) {
  if (!mapping_ || bytes > remaining()) return nullptr;
  char* start = static_cast<char*>(mapping_.get()) + position_;
  if (reinterpret_cast<std::uintptr_t>(start) % alignment != 0) return nullptr;
  position_ += bytes;
  return {start, MappedPart{mapping_, bytes, is_read_alone_}};
}

void ByteReader::Read(void* into, std::uint64_t bytes, const char* what) {
  if (bytes > remaining()) {
    Throw<GraphError>("{}: truncated at byte {}: {} needs {} bytes, {} are left", source_, position_, what, bytes,
                      remaining());
  }
  if (bytes == 0) return;
  if (!file_) {
    std::memcpy(into, memory_.data() + position_, bytes);
  } else if (std::fread(into, 1, bytes, file_.get()) != bytes) {
    Throw<GraphError>("{}: cannot read {} at byte {}: the file became shorter or the disk failed", source_, what,
                      position_);
  }
  position_ += bytes;
}

void MappedPart::LeavePages(void* begin, std::uint64_t bytes) {
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto start = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t first = (start + page - 1) / page * page, end = (start + bytes) / page * page;
  if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
}

void CopyLeaving(void* to, void* from, std::uint64_t bytes) {
  constexpr std::uint64_t kPart = std::uint64_t{8} << 20;
  for (std::uint64_t i = 0; i < bytes; i += kPart) {
    const std::uint64_t count = std::min(kPart, bytes - i);
    std::memcpy(static_cast<char*>(to) + i, static_cast<char*>(from) + i, count);
    MappedPart::LeavePages(static_cast<char*>(from) + i, count);
  }
}

void WriteFileWith(const std::string& path, const std::function<void(const AppendBytes&)>& produce) {
  TemporaryFile file(path);
  produce([&file](const void* bytes, std::size_t count) { file.Append(bytes, count); });
  file.Commit();
}

void WriteFile(const std::string& path, std::string_view content) {
  WriteFileWith(path, [&](const AppendBytes& append) { append(content.data(), content.size()); });
}

}  // namespace amp
