#include "core/base/studio_folders.h"

#include <cstdlib>
#include <string>

#include <pwd.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/base/error.h"

namespace vergence {

namespace {

namespace fs = std::filesystem;

/// Value of an XDG variable; relative paths are ignored as the XDG base directory specification
/// asks.
fs::path folderFromEnvironment(const char* variable)
{
    const char* value = std::getenv(variable);
    const fs::path folder = value ? value : "";
    return folder.is_absolute() ? folder : fs::path();
}

fs::path userHome()
{
    const fs::path home = folderFromEnvironment("HOME");
    if (!home.empty())
        return home;
    const passwd* entry = ::getpwuid(::getuid());
    return entry && entry->pw_dir ? fs::path(entry->pw_dir) : fs::path("/");
}

fs::path makePrivate(const fs::path& folder)
{
    std::error_code code;
    if (fs::is_directory(folder, code))
        return folder;
    fs::create_directories(folder, code);
    if (code)
        throw OutputError(
            fmt::format("Cannot create the folder {}: {}.", folder.string(), code.message()));
    fs::permissions(folder, fs::perms::owner_all, code);
    return folder;
}

fs::path studioFolder(const char* variable, const char* belowHome)
{
    fs::path base = folderFromEnvironment(variable);
    if (base.empty())
        base = userHome() / belowHome;
    return makePrivate(base / "vergence");
}

} // namespace

fs::path configHome()
{
    return studioFolder("XDG_CONFIG_HOME", ".config");
}

fs::path dataHome()
{
    return studioFolder("XDG_DATA_HOME", ".local/share");
}

fs::path stateHome()
{
    return studioFolder("XDG_STATE_HOME", ".local/state");
}

fs::path cacheHome()
{
    return studioFolder("XDG_CACHE_HOME", ".cache");
}

} // namespace vergence
