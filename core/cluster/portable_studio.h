#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "core/cluster/target.h"

namespace vergence {

/// Makes `folder` a studio without a window that needs nothing of the system but its C library: the
/// program `vergence`, its libraries and those that they load, plugins and helpers. Throws
/// InputError where a library is missing, OutputError.
void makePortableStudio(const std::filesystem::path& program, const std::filesystem::path& folder);

/// Puts such a folder on the login of a target, at installFolder(), unless it is there; what was
/// begun and not finished is done again. Returns the path of `vergence` there, which has been
/// started once to see that it works. `say` hears one line per step. Throws InputError where the
/// other side does not answer, takes nothing, or cannot run the program (another processor, an
/// older C library).
std::string installStudio(const Target& target, const std::filesystem::path& program,
                          const std::string& version,
                          const std::function<void(const std::string&)>& say);

} // namespace vergence
