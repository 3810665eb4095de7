#include "runtime/cache_files.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <filesystem>

#include "nnvm/env.h"
#include "nnvm/error.h"
#include "nnvm/file_io.h"

namespace amp {
namespace {

std::string CacheFolder() {
  std::string folder = EnvValue("XDG_CACHE_HOME");
  if (folder.empty() && !EnvValue("HOME").empty()) folder = EnvValue("HOME") + "/.cache";
  return folder.empty() ? "" : folder + "/nnvm-amp";
}

}  // namespace

std::string CachePath(const std::string& kind, std::string key) {
  const std::string folder = CacheFolder();
  if (folder.empty()) return "";
  std::replace_if(
      key.begin(), key.end(), [](unsigned char c) { return std::isalnum(c) == 0 && c != '-' && c != '.'; }, '_');
  return fmt::format("{}/{}-{}.json", folder, kind, key);
}

std::optional<std::string> ReadIfThere(const std::string& path) {
  std::error_code error;
  if (path.empty() || !std::filesystem::is_regular_file(path, error)) return std::nullopt;
  constexpr std::uintmax_t kLargest = 64 << 20;
  if (const std::uintmax_t size = std::filesystem::file_size(path, error); !error && size > kLargest) {
    Throw<ArgumentError>("machine file '{}': expected at most {} bytes, got {}", Quotable(path), kLargest, size);
  }
  return ReadFile(path);
}

void WriteToCache(const std::string& path, const std::string& text) {
  if (path.empty()) return;
  try {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    WriteFile(path, text);
  } catch (const std::exception&) {
    return;
  }
}

}  // namespace amp
