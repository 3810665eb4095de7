// JSON text from outside. nlohmann/json parses; this refuses what it would silently accept.
#pragma once

#include <exception>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace amp {

// The document, in linear time. Throws GraphError, with `source` and the position, for text that is no JSON or no
// UTF-8, for numbers beyond double, for keys that occur twice in one object and for bottomless nesting.
nlohmann::json ParseJson(std::string_view text, const std::string& source);

// What an error of nlohmann/json says, without the "[json.exception.parse_error.101] " in front of it; other errors
// whole. It may quote the text, valid UTF-8 or not.
std::string_view MessageOf(const std::exception& error);

}  // namespace amp
