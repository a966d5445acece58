#include <algorithm>
#include <array>
#include <cctype>

#include <dlfcn.h>

#include <fmt/format.h>

#include "core/artifact/video/video.h"
#include "core/base/error.h"
#include "core/compute/backend.h"

namespace vergence {

namespace {

namespace fs = std::filesystem;

/// The module, or why there is none.
struct LoadedModule {
    const VideoModule* module = nullptr;
    std::string reason;

    LoadedModule()
    {
        for (const auto& folder : moduleFolders()) {
            const auto file = folder / kVideoModule;
            std::error_code code;
            if (!fs::exists(file, code))
                continue;
            void* handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
            if (!handle) {
                reason = fmt::format("Videos cannot be read or written: {}. Install the packages "
                                     "libavformat59, libavcodec59, libavutil57 and libswscale6.",
                                     ::dlerror());
                return;
            }
            const auto entry = reinterpret_cast<VideoEntry>(::dlsym(handle, kVideoEntry));
            if (entry)
                module = entry();
            else
                reason = fmt::format("{} is no module of this version.", file.string());
            return;
        }
        reason = "Videos cannot be read or written: this studio was built without libav. Install "
                 "the packages libavformat-dev, libavcodec-dev, libavutil-dev and libswscale-dev "
                 "and build it again.";
    }
};

const LoadedModule& loadedModule()
{
    static const LoadedModule loaded;
    return loaded;
}

} // namespace

const VideoModule* videoModule(std::string* reason)
{
    if (reason)
        *reason = loadedModule().reason;
    return loadedModule().module;
}

const VideoModule& requireVideoModule()
{
    if (!loadedModule().module)
        throw InputError(loadedModule().reason);
    return *loadedModule().module;
}

bool hasVideoName(const fs::path& path)
{
    static constexpr std::array kEndings = {".mp4", ".m4v", ".mov", ".mkv",  ".webm",
                                            ".avi", ".gif", ".mpg", ".mpeg", ".ogv",
                                            ".wmv", ".flv", ".3gp", ".ts"};
    std::string ending = path.extension().string();
    std::ranges::transform(ending, ending.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return std::ranges::find(kEndings, ending) != kEndings.end();
}

} // namespace vergence
