// Files in the user's cache folder. What is lost with them is measured again.
#pragma once

#include <optional>
#include <string>

namespace amp {

// The file for measurements of this kind that hold for `key`; "" where there is no folder for caches.
std::string CachePath(const std::string& kind, std::string key);

// nullopt where there is no such file. Throws ArgumentError for one that is too large to be ours.
std::optional<std::string> ReadIfThere(const std::string& path);

// A folder that cannot be written to costs a measurement each time, nothing else.
void WriteToCache(const std::string& path, const std::string& text);

}  // namespace amp
