#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/artifact/output_file.h"
#include "core/base/error.h"
#include "plugins/sugar/io/gaussian_parse.h"
#include "plugins/sugar/io/ply.h"

namespace vergence::sugar {

namespace {

/// Columns of the properties of a Gaussian.
struct GaussianColumns {
    std::array<std::size_t, 3> position{}, dc{}, scale{};
    std::array<std::size_t, 4> rotation{};
    std::size_t opacity = 0;
    std::vector<std::size_t> rest; ///< channel by channel, as the file has them
    std::optional<std::size_t> filter;
    int degree = 0;
};

/// Harmonics come as 0, 9, 24 or 45 numbers.
int degreeOf(std::size_t restCount, const std::string& file)
{
    for (int degree = 0; degree <= 3; ++degree) {
        if (static_cast<std::size_t>(3 * restCoefficients(degree)) == restCount)
            return degree;
    }
    throw InputError(fmt::format("{}: {} properties f_rest make no degree of spherical harmonics "
                                 "(0, 9, 24 or 45 do). Export the Gaussians again.",
                                 file, restCount));
}

GaussianColumns columnsOf(const PlyVertices& ply, const std::string& file)
{
    GaussianColumns columns;
    columns.position = {ply.required("x"), ply.required("y"), ply.required("z")};
    columns.opacity = ply.required("opacity");
    for (std::size_t i = 0; i < 3; ++i) {
        columns.dc[i] = ply.required(fmt::format("f_dc_{}", i));
        columns.scale[i] = ply.required(fmt::format("scale_{}", i));
    }
    for (std::size_t i = 0; i < 4; ++i)
        columns.rotation[i] = ply.required(fmt::format("rot_{}", i));
    while (const auto column = ply.column(fmt::format("f_rest_{}", columns.rest.size())))
        columns.rest.push_back(*column);
    columns.filter = ply.column("filter_3D");
    columns.degree = degreeOf(columns.rest.size(), file);
    return columns;
}

class RowReader {
public:
    RowReader(const GaussianColumns& columns, std::size_t rows) : m_columns(columns)
    {
        m_cloud.degree = columns.degree;
        m_cloud.position.reserve(3 * rows);
        m_cloud.logScale.reserve(3 * rows);
        m_cloud.rotation.reserve(4 * rows);
        m_cloud.opacity.reserve(rows);
        m_cloud.shDc.reserve(3 * rows);
        m_cloud.shRest.reserve(columns.rest.size() * rows);
        if (columns.filter)
            m_cloud.filter.reserve(rows);
    }

    void add(std::span<const double> values)
    {
        if (!isUsable(values)) {
            ++m_dropped;
            return;
        }
        append(m_cloud.position, values, m_columns.position);
        append(m_cloud.logScale, values, m_columns.scale);
        append(m_cloud.rotation, values, m_columns.rotation);
        append(m_cloud.shDc, values, m_columns.dc);
        m_cloud.opacity.push_back(static_cast<float>(values[m_columns.opacity]));
        const std::size_t coefficients = m_columns.rest.size() / 3;
        for (std::size_t k = 0; k < coefficients; ++k) {
            for (std::size_t channel = 0; channel < 3; ++channel)
                m_cloud.shRest.push_back(
                    static_cast<float>(values[m_columns.rest[channel * coefficients + k]]));
        }
        if (m_columns.filter)
            m_cloud.filter.push_back(static_cast<float>(values[*m_columns.filter]));
    }

    GaussianCloud& cloud() { return m_cloud; }
    Index dropped() const { return m_dropped; }

private:
    template <class Columns>
    static void append(std::vector<float>& target, std::span<const double> values,
                       const Columns& columns)
    {
        for (const std::size_t column : columns)
            target.push_back(static_cast<float>(values[column]));
    }

    template <class Columns>
    static bool areFinite(std::span<const double> values, const Columns& columns)
    {
        return std::all_of(columns.begin(), columns.end(), [&](std::size_t column) {
            return std::isfinite(static_cast<float>(values[column]));
        });
    }

    /// Whether all numbers are finite as floats and the rotation is one.
    bool isUsable(std::span<const double> values) const
    {
        const auto isSet = [&](std::size_t column) {
            return static_cast<float>(values[column]) != 0;
        };
        const auto& rotation = m_columns.rotation;
        return areFinite(values, m_columns.position) && areFinite(values, m_columns.scale) &&
               areFinite(values, rotation) && areFinite(values, m_columns.dc) &&
               areFinite(values, m_columns.rest) &&
               areFinite(values, std::array{m_columns.opacity}) &&
               (!m_columns.filter || areFinite(values, std::array{*m_columns.filter})) &&
               std::any_of(rotation.begin(), rotation.end(), isSet);
    }

    const GaussianColumns& m_columns;
    GaussianCloud m_cloud;
    Index m_dropped = 0;
};

std::vector<std::string> propertyNames(std::size_t restCount, bool hasFilter)
{
    std::vector<std::string> names{"x", "y", "z", "nx", "ny", "nz", "f_dc_0", "f_dc_1", "f_dc_2"};
    for (std::size_t i = 0; i < restCount; ++i)
        names.push_back(fmt::format("f_rest_{}", i));
    for (const char* name :
         {"opacity", "scale_0", "scale_1", "scale_2", "rot_0", "rot_1", "rot_2", "rot_3"})
        names.emplace_back(name);
    if (hasFilter)
        names.emplace_back("filter_3D");
    return names;
}

std::string headerOf(const GaussianCloud& cloud, const std::vector<std::string>& names, bool ascii)
{
    std::string header = fmt::format("ply\nformat {} 1.0\nelement vertex {}\n",
                                     ascii ? "ascii" : "binary_little_endian", cloud.count());
    for (const std::string& name : names)
        header += fmt::format("property float {}\n", name);
    return header + "end_header\n";
}

/// One vertex in the order of propertyNames().
void fillRow(std::vector<float>& row, const GaussianCloud& cloud, std::size_t i,
             std::size_t coefficients, const GaussianPlyOptions& options)
{
    const auto add = [&](const std::vector<float>& values, std::size_t width) {
        const auto first = values.begin() + static_cast<std::ptrdiff_t>(i * width);
        row.insert(row.end(), first, first + static_cast<std::ptrdiff_t>(width));
    };
    row.clear();
    add(cloud.position, 3);
    row.insert(row.end(), 3, 0.0F); // normals
    add(cloud.shDc, 3);
    const auto rest = restOf(cloud, i);
    for (std::size_t channel = 0; channel < 3; ++channel) {
        for (std::size_t k = 0; k < coefficients; ++k)
            row.push_back(rest[3 * k + channel]);
    }
    if (options.bakeFilter && !cloud.filter.empty()) {
        const PlainGaussian plain = plainGaussian(cloud, i);
        row.push_back(static_cast<float>(logit(plain.opacity)));
        for (const double scale : plain.logScale)
            row.push_back(static_cast<float>(scale));
    } else {
        row.push_back(cloud.opacity[i]);
        add(cloud.logScale, 3);
    }
    add(cloud.rotation, 4);
    if (!options.bakeFilter && !cloud.filter.empty())
        row.push_back(cloud.filter[i]);
}

void appendRow(std::string& bytes, const std::vector<float>& row, bool ascii)
{
    if (ascii)
        fmt::format_to(std::back_inserter(bytes), "{}\n", fmt::join(row, " "));
    else
        bytes.append(reinterpret_cast<const char*>(row.data()), row.size() * sizeof(float));
}

} // namespace

GaussianCloud parseGaussianPly(std::span<const std::byte> bytes, const std::string& file,
                               Index* droppedRows)
{
    const PlyVertices ply(bytes, file);
    const GaussianColumns columns = columnsOf(ply, file);
    RowReader reader(columns, ply.count());
    ply.forEachRow([&](std::size_t, std::span<const double> values) { reader.add(values); });
    if (droppedRows)
        *droppedRows = reader.dropped();
    return std::move(reader.cloud());
}

void writeGaussianPly(const std::filesystem::path& path, const GaussianCloud& cloud,
                      const GaussianPlyOptions& options)
{
    expects(options.degree >= 0, "writeGaussianPly: the degree must not be negative");
    constexpr std::size_t kPiece = 1 << 20;
    const auto coefficients =
        static_cast<std::size_t>(restCoefficients(std::min(options.degree, cloud.degree)));
    const bool hasFilter = !options.bakeFilter && !cloud.filter.empty();
    OutputFile output(path);
    std::string bytes = headerOf(cloud, propertyNames(3 * coefficients, hasFilter), options.ascii);
    std::vector<float> row;
    for (std::size_t i = 0; i < cloud.opacity.size(); ++i) {
        fillRow(row, cloud, i, coefficients, options);
        appendRow(bytes, row, options.ascii);
        if (bytes.size() > kPiece) {
            output.write(bytes);
            bytes.clear();
        }
    }
    output.write(bytes);
    output.commit();
}

} // namespace vergence::sugar
