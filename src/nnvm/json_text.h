// JSON text from outside. The library parses; this refuses what it would silently accept.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace amp {

// The document, in linear time. Throws GraphError, with `source` and the position, for text that is no JSON or no
// UTF-8, for numbers beyond double, for keys that occur twice in one object and for bottomless nesting.
nlohmann::json ParseJson(std::string_view text, const std::string& source);

}  // namespace amp
