#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace vergence::test {

/// Folder of reference inputs and outputs computed by established implementations: below
/// $VERGENCE_GOLDEN, or `shared/golden` beside the checkout. Empty where there is none.
inline std::filesystem::path goldenFolder(const std::string& name)
{
    const char* wanted = std::getenv("VERGENCE_GOLDEN");
    const auto root =
        wanted ? std::filesystem::path(wanted)
               : std::filesystem::path(VERGENCE_SOURCE_DIR).parent_path() / "shared/golden";
    const auto folder = root / name;
    return std::filesystem::exists(folder) ? folder : std::filesystem::path();
}

} // namespace vergence::test

/// Declares `variable` as that folder, or skips the running test by name.
#define VERGENCE_GOLDEN_FOLDER(variable, name)                                                     \
    const std::filesystem::path variable = vergence::test::goldenFolder(name);                     \
    if (variable.empty())                                                                          \
    QSKIP("no golden references: set VERGENCE_GOLDEN to their folder")
