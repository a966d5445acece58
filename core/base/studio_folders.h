#pragma once

#include <filesystem>

namespace vergence {

/// XDG folders of the studio; made on demand with user-only rights. Throw OutputError.
std::filesystem::path configHome();
std::filesystem::path dataHome();
std::filesystem::path stateHome();
std::filesystem::path cacheHome();

} // namespace vergence
