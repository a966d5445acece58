#pragma once

#include <filesystem>

namespace vergence {

/// XDG folders of the studio (ux, 3.3); made on demand with user-only rights. Throw OutputError.
std::filesystem::path configHome();
std::filesystem::path dataHome();
std::filesystem::path stateHome();
std::filesystem::path cacheHome();
std::filesystem::path runtimeHome();

} // namespace vergence
