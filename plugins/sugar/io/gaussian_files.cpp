#include "plugins/sugar/io/gaussian_files.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/artifact/mapped_file.h"
#include "core/base/error.h"
#include "plugins/sugar/io/gaussian_parse.h"

namespace vergence::sugar {

double logistic(double x)
{
    return 1 / (1 + std::exp(-x));
}

double logit(double p)
{
    const double kept = std::clamp(p, 1e-7, 1 - 1e-7);
    return std::log(kept / (1 - kept));
}

PlainGaussian plainGaussian(const GaussianCloud& cloud, std::size_t i)
{
    PlainGaussian plain;
    plain.opacity = logistic(cloud.opacity[i]);
    const double filter = cloud.filter.empty() ? 0 : cloud.filter[i];
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const double logScale = cloud.logScale[3 * i + axis];
        plain.logScale[axis] = logScale;
        if (filter > 0) {
            const double scale = std::exp(logScale), wide = std::hypot(scale, filter);
            plain.logScale[axis] = std::log(wide);
            plain.opacity *= scale / wide;
        }
    }
    return plain;
}

std::span<const float> restOf(const GaussianCloud& cloud, std::size_t i)
{
    const auto width = static_cast<std::size_t>(3 * restCoefficients(cloud.degree));
    return std::span(cloud.shRest).subspan(width * i, width);
}

GaussianCloud readGaussianPly(const std::filesystem::path& path, Index* droppedRows)
{
    return parseGaussianPly(MappedFile(path).bytes(), path.string(), droppedRows);
}

GaussianCloud readSplat(const std::filesystem::path& path)
{
    return parseSplat(MappedFile(path).bytes(), path.string());
}

GaussianCloud readSpz(const std::filesystem::path& path)
{
    return parseSpz(MappedFile(path).bytes(), path.string());
}

GaussianCloud readGaussians(const std::filesystem::path& path, Index* droppedRows)
{
    if (droppedRows)
        *droppedRows = 0;
    const MappedFile file(path);
    const auto bytes = file.bytes();
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (text.starts_with("ply"))
        return parseGaussianPly(bytes, path.string(), droppedRows);
    if (text.starts_with("\x1f\x8b"))
        return parseSpz(bytes, path.string());
    if (path.extension() == ".splat")
        return parseSplat(bytes, path.string());
    throw InputError(fmt::format(
        "{} holds no Gaussians: it is neither PLY nor SPZ nor .splat. Export it in one of them.",
        path.string()));
}

} // namespace vergence::sugar
