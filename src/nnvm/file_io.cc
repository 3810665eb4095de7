#include "nnvm/file_io.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

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

ByteReader ByteReader::OpenFile(const std::string& path) {
  ByteReader reader;
  reader.source_ = path;
  reader.file_ = OpenRegular(path, &reader.size_);
  return reader;
}

ByteReader ByteReader::OfMemory(std::string_view bytes, std::string source) {
  ByteReader reader;
  reader.source_ = std::move(source);
  reader.memory_ = bytes;
  reader.size_ = bytes.size();
  return reader;
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

void WriteFileWith(const std::string& path, const std::function<void(const AppendBytes&)>& produce) {
  TemporaryFile file(path);
  produce([&file](const void* bytes, std::size_t count) { file.Append(bytes, count); });
  file.Commit();
}

void WriteFile(const std::string& path, std::string_view content) {
  WriteFileWith(path, [&](const AppendBytes& append) { append(content.data(), content.size()); });
}

}  // namespace amp
