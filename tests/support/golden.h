#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace vergence::test {

/// $VERGENCE_GOLDEN, or `shared/golden` beside the checkout.
inline std::filesystem::path goldenRoot()
{
    const char* wanted = std::getenv("VERGENCE_GOLDEN");
    return wanted ? std::filesystem::path(wanted)
                  : std::filesystem::path(VERGENCE_SOURCE_DIR).parent_path() / "shared/golden";
}

/// Folder of reference inputs and outputs computed by established implementations, below
/// goldenRoot(). Empty where there is none.
inline std::filesystem::path goldenFolder(const std::string& name)
{
    const auto folder = goldenRoot() / name;
    return std::filesystem::exists(folder) ? folder : std::filesystem::path();
}

/// Folder of photographs and other real data, below `data` beside goldenRoot(). Empty where there
/// is none.
inline std::filesystem::path dataFolder(const std::string& name)
{
    const auto folder = goldenRoot() / "../data" / name;
    return std::filesystem::exists(folder) ? folder : std::filesystem::path();
}

} // namespace vergence::test

/// Declares `variable` as that folder, or skips the running test by name.
#define VERGENCE_GOLDEN_FOLDER(variable, name)                                                     \
    const std::filesystem::path variable = vergence::test::goldenFolder(name);                     \
    if (variable.empty())                                                                          \
    QSKIP("no golden references: set VERGENCE_GOLDEN to their folder")

/// Declares `variable` as that folder of real data, or skips the running test by name.
#define VERGENCE_DATA_FOLDER(variable, name)                                                       \
    const std::filesystem::path variable = vergence::test::dataFolder(name);                       \
    if (variable.empty())                                                                          \
    QSKIP("no folder of real data beside the golden references")
