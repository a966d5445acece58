#include "core/cluster/portable_studio.h"

#include <algorithm>
#include <map>
#include <regex>
#include <sstream>
#include <vector>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/cluster/library_path.h"
#include "core/cluster/shell.h"

namespace vergence {

namespace {

namespace fs = std::filesystem;

/// A file of the studio and its place in the portable folder.
struct StudioPart {
    fs::path from, to;
    bool isNeeded = true; ///< else it may lack a library here, too
};

/// Libraries by name, as the loader of this system finds them for a file; empty: it finds none.
using Libraries = std::map<std::string, fs::path>;

/// "\tlibz.so.1 => /lib/libz.so.1 (0x00007f…)", "\tlibx.so => not found".
Libraries librariesOf(const fs::path& file)
{
    const CommandResult result = Shell().run({"ldd", file.string()});
    if (!result.isGood())
        throw InputError(fmt::format("The system's `ldd` does not tell which libraries {} needs: "
                                     "{}",
                                     file.string(),
                                     result.whyNot.empty() ? lastLine(result.errors + result.output)
                                                           : result.whyNot));
    Libraries libraries;
    std::istringstream lines(result.output);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t arrow = line.find(" => "), end = line.rfind(" (");
        const std::size_t begin = line.find_first_not_of(" \t");
        if (arrow == line.npos || begin >= arrow)
            continue;
        const std::string path = line.substr(arrow + 4, end == line.npos ? end : end - arrow - 4);
        libraries[line.substr(begin, arrow - begin)] = path == "not found" ? std::string() : path;
    }
    return libraries;
}

/// What must be that of the computer: the parts of the C library, which belong together and to its
/// loader, the driver of its GPU, and NVIDIA's large libraries, which the studio does without.
bool isOfTheComputer(const std::string& library)
{
    static const std::regex kOfTheComputer(
        R"(ld-linux.*|linux-vdso.*|lib(c|m|mvec|dl|rt|pthread|resolv|util|anl|nsl|thread_db)\.so\.[0-9]+)"
        R"(|libcuda\.so.*|libnvidia-.*|lib(cublas|cudnn|nvinfer|nvonnxparser).*)");
    return std::regex_match(library, kOfTheComputer);
}

/// What is missing of a file's libraries; empty: nothing.
std::string missingLibrary(const Libraries& libraries)
{
    for (const auto& [name, path] : libraries)
        if (path.empty() && !isOfTheComputer(name))
            return name;
    return {};
}

std::vector<fs::path> filesOf(const fs::path& folder)
{
    std::vector<fs::path> files;
    std::error_code code;
    for (const auto& entry : fs::directory_iterator(folder, code))
        if (entry.is_regular_file(code))
            files.push_back(entry.path());
    std::ranges::sort(files);
    return files;
}

/// "light_field" of "libvergence-plugin-light_field.so"; empty for any other file.
std::string idOf(const fs::path& file, const std::string& prefix)
{
    const std::string name = file.stem();
    return file.extension() == ".so" && name.starts_with(prefix) ? name.substr(prefix.size())
                                                                 : std::string();
}

/// Whether kernels are those of the engine or of a lab that goes along; the build folder has those
/// of its tests, too.
bool isKernelOf(const std::string& kernels, const std::vector<std::string>& labs)
{
    return kernels == "compute" || std::ranges::any_of(labs, [&kernels](const std::string& lab) {
               return kernels == lab || kernels.starts_with(lab + "_");
           });
}

/// Modules and helpers that the studio opens by name, but for what only the window opens.
bool isModule(const fs::path& file, const std::vector<std::string>& labs)
{
    const std::string name = file.filename();
    if (const std::string kernels = idOf(file, "libvergence-kernels-"); !kernels.empty())
        return isKernelOf(kernels, labs);
    return (name.starts_with("vergence-") && file.extension().empty()) ||
           (!idOf(file, "libvergence-").empty() && name != "libvergence-cuda-interop.so");
}

/// All that is found at run time. A build folder has modules beside the libraries, an installation
/// one folder below.
std::vector<StudioPart> partsOf(const fs::path& program, const fs::path& libraries)
{
    std::vector<StudioPart> parts{{program, "bin/vergence"}};
    std::vector<std::string> labs;
    const fs::path plugins = fs::path("vergence/plugins");
    std::error_code code;
    for (const auto& interface : fs::directory_iterator(libraries / plugins, code))
        for (const fs::path& file : filesOf(interface.path()))
            if (const std::string lab = idOf(file, "libvergence-plugin-"); !lab.empty()) {
                labs.push_back(lab);
                parts.push_back(
                    {file, "lib" / plugins / interface.path().filename() / file.filename()});
            }
    for (const fs::path& folder : {libraries, libraries / "vergence"})
        for (const fs::path& file : filesOf(folder))
            if (isModule(file, labs))
                parts.push_back({file, fs::path("lib/vergence") / file.filename(), false});
    return parts;
}

/// Copies a file, which the loader then knows the folder `lib` beside it for.
void putPart(const StudioPart& part, const fs::path& folder)
{
    const fs::path file = folder / part.to;
    std::error_code code;
    fs::create_directories(file.parent_path(), code);
    if (!code)
        fs::copy_file(part.from, file, fs::copy_options::overwrite_existing, code);
    if (!code)
        fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write, fs::perm_options::add,
                        code);
    if (code)
        throw OutputError(fmt::format("{} cannot be copied to {} ({}).", part.from.string(),
                                      file.string(), code.message()),
                          code == std::errc::no_space_on_device);
    const fs::path up = fs::path("lib").lexically_relative(part.to.parent_path());
    if (detail::setLibraryPath(file, up == "." ? "$ORIGIN" : "$ORIGIN/" + up.string()))
        return;
    if (part.to.extension().empty())
        throw InputError(fmt::format("{} has no room for the path of its libraries, so it works "
                                     "only where it is; build the studio with CMake's defaults for "
                                     "RPATH.",
                                     part.from.string()));
    detail::setLibraryPath(file, {}); // the path of the program counts for it
}

} // namespace

void makePortableStudio(const fs::path& program, const fs::path& folder)
{
    const Libraries ofProgram = librariesOf(program);
    const auto engine = ofProgram.find("libvergence_compute.so");
    if (engine == ofProgram.end() || engine->second.empty())
        throw InputError(fmt::format("{} is no whole program of the studio: its library "
                                     "libvergence_compute.so is not found.",
                                     program.string()));
    std::map<std::string, fs::path> libraries;
    for (const StudioPart& part : partsOf(program, engine->second.parent_path())) {
        const Libraries own = part.from == program ? ofProgram : librariesOf(part.from);
        if (const std::string missing = missingLibrary(own); !missing.empty()) {
            if (!part.isNeeded)
                continue;
            throw InputError(fmt::format("{} needs the library {}, which is not on this computer. "
                                         "Install it, or build the studio again.",
                                         part.from.string(), missing));
        }
        libraries.insert(own.begin(), own.end());
        putPart(part, folder);
    }
    for (const auto& [name, path] : libraries)
        if (!isOfTheComputer(name))
            putPart({path, fs::path("lib") / name}, folder);
    std::error_code code;
    fs::create_symlink("bin/vergence", folder / "vergence", code);
    if (code)
        throw OutputError(
            fmt::format("{} cannot be made ({}).", (folder / "vergence").string(), code.message()));
}

} // namespace vergence
