#include "plugins/sugar/io/colmap.h"

#include <cmath>
#include <system_error>

#include <fmt/format.h>

#include "core/artifact/mapped_file.h"
#include "core/artifact/output_file.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "plugins/sugar/io/colmap_parts.h"

namespace vergence::sugar {

namespace {

ColmapModel readBinary(const std::filesystem::path& folder)
{
    ColmapModel model;
    const auto file = [&](const char* name) { return (folder / name).string(); };
    model.cameras =
        parseColmapCameras(MappedFile(file("cameras.bin")).bytes(), file("cameras.bin"));
    model.images = parseColmapImages(MappedFile(file("images.bin")).bytes(), file("images.bin"));
    if (std::filesystem::exists(folder / "points3D.bin"))
        model.points =
            parseColmapPoints(MappedFile(file("points3D.bin")).bytes(), file("points3D.bin"));
    return model;
}

ColmapModel readText(const std::filesystem::path& folder, std::vector<DamagedLine>* damaged)
{
    ColmapModel model;
    const auto file = [&](const char* name) { return (folder / name).string(); };
    model.cameras = parseColmapCameras(readFile(file("cameras.txt")), file("cameras.txt"));
    model.images = parseColmapImages(readFile(file("images.txt")), file("images.txt"), damaged);
    if (std::filesystem::exists(folder / "points3D.txt"))
        model.points =
            parseColmapPoints(readFile(file("points3D.txt")), file("points3D.txt"), damaged);
    return model;
}

} // namespace

std::string faultOf(const SourceCamera& camera)
{
    if (camera.width <= 0 || camera.height <= 0 || camera.width > kLargestSide ||
        camera.height > kLargestSide)
        return fmt::format("camera {} has an impossible picture size (1 to {} pixels a side)",
                           camera.id, kLargestSide);
    for (const double parameter : camera.parameters) {
        if (!std::isfinite(parameter))
            return fmt::format("camera {} has a parameter that is not finite", camera.id);
    }
    if (!(camera.fx() > 0 && camera.fy() > 0))
        return fmt::format("camera {} has a focal length that is not above 0", camera.id);
    return {};
}

ColmapModel readColmap(const std::filesystem::path& folder, ColmapForm form,
                       std::vector<DamagedLine>* damaged)
{
    return form == ColmapForm::Binary ? readBinary(folder) : readText(folder, damaged);
}

void writeColmap(const std::filesystem::path& folder, const ColmapModel& model, ColmapForm form)
{
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error)
        throwCannotWrite(folder, error.value());
    if (form == ColmapForm::Binary)
        writeColmapBinary(folder, model);
    else
        writeColmapText(folder, model);
}

} // namespace vergence::sugar
