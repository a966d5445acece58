#include "plugins/live_diffusion/stream/frame_grid.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"

namespace vergence::live {

namespace {

/// Weights below it are left out; a picture of the right size has one pixel for each.
constexpr double kLeastWeight = 1e-9;

std::size_t asSize(Index value)
{
    return static_cast<std::size_t>(value);
}

} // namespace

FrameGrid::Axis FrameGrid::axisOf(int source, double from, double length, int target)
{
    const double scale = length / target;
    const double reach = std::max(scale, 1.0); // of the triangle, source pixels
    Axis axis;
    axis.taps.reserve(static_cast<std::size_t>(target));
    for (int i = 0; i < target; ++i) {
        const double centre = from + (i + 0.5) * scale;
        const int first = std::max(0, static_cast<int>(std::ceil(centre - reach - 0.5)));
        const int last = std::min(source - 1, static_cast<int>(std::floor(centre + reach - 0.5)));
        Tap tap{first, 0, axis.weights.size()};
        double sum = 0;
        for (int k = first; k <= last; ++k) {
            const double weight = 1 - std::abs(k + 0.5 - centre) / reach;
            if (weight < kLeastWeight) {
                tap.first += tap.count == 0;
                continue;
            }
            axis.weights.push_back(static_cast<float>(weight));
            sum += weight;
            ++tap.count;
        }
        for (std::size_t k = tap.weight; k < axis.weights.size(); ++k)
            axis.weights[k] = static_cast<float>(axis.weights[k] / sum);
        axis.taps.push_back(tap);
    }
    return axis;
}

void FrameGrid::prepare(int width, int height)
{
    if (width == m_sourceWidth && height == m_sourceHeight)
        return;
    const double aspect = static_cast<double>(m_shape.width()) / m_shape.height();
    const double wide = std::min<double>(width, height * aspect), high = wide / aspect;
    m_columns = axisOf(width, (width - wide) / 2, wide, m_shape.width());
    m_rows = axisOf(height, (height - high) / 2, high, m_shape.height());
    m_row.resize(std::size_t{3} * static_cast<std::size_t>(m_shape.width()));
    m_lines.resize(m_row.size() * static_cast<std::size_t>(height));
    m_sourceWidth = width;
    m_sourceHeight = height;
}

void FrameGrid::scatter(int y, std::span<const float> row, std::span<float> values) const
{
    const Index patch = m_shape.patch, cells = m_shape.cells();
    const Index line = y / patch * m_shape.gridWidth, dy = y % patch;
    for (Index c = 0; c < 3; ++c) {
        for (Index dx = 0; dx < patch; ++dx) {
            float* to = values.data() + ((c * patch + dy) * patch + dx) * cells + line;
            const float* from = row.data() + 3 * dx + c;
            for (Index x = 0; x < m_shape.gridWidth; ++x)
                to[x] = from[3 * patch * x] * (1 / 127.5f) - 1;
        }
    }
}

void FrameGrid::toValues(const Image& picture, std::span<float> values)
{
    expects(values.size() == asSize(m_shape.values()), "frame grid: values of the grid's size");
    const int channels = picture.channels;
    expects(picture.width >= 1 && picture.height >= 1 &&
                (channels == 1 || channels == 3 || channels == 4),
            "frame grid: a picture of 1, 3 or 4 channels and at least one pixel");
    expects(picture.pixels.size() == static_cast<std::size_t>(picture.width) *
                                         static_cast<std::size_t>(picture.height) *
                                         static_cast<std::size_t>(channels),
            "frame grid: a picture with all of its pixels");
    prepare(picture.width, picture.height);
    // Columns of the source rows that are needed, then rows of these.
    const int firstLine = m_rows.taps.front().first;
    const int lastLine = m_rows.taps.back().first + m_rows.taps.back().count;
    const int step = channels == 1 ? 0 : 1; // grey counts for all three
    for (int y = firstLine; y < lastLine; ++y) {
        const std::uint8_t* from = picture.row(y);
        float* to = m_lines.data() + static_cast<std::size_t>(y) * m_row.size();
        for (const Tap& tap : m_columns.taps) {
            float sum[3] = {};
            const std::uint8_t* pixel = from + tap.first * channels;
            for (int k = 0; k < tap.count; ++k, pixel += channels) {
                const float weight = m_columns.weights[tap.weight + static_cast<std::size_t>(k)];
                for (int c = 0; c < 3; ++c)
                    sum[c] += weight * pixel[c * step];
            }
            to = std::copy_n(sum, 3, to);
        }
    }
    for (int y = 0; y < m_shape.height(); ++y) {
        const Tap& tap = m_rows.taps[static_cast<std::size_t>(y)];
        std::ranges::fill(m_row, 0.f);
        for (int k = 0; k < tap.count; ++k) {
            const float weight = m_rows.weights[tap.weight + static_cast<std::size_t>(k)];
            const float* from =
                m_lines.data() + static_cast<std::size_t>(tap.first + k) * m_row.size();
            for (std::size_t i = 0; i < m_row.size(); ++i)
                m_row[i] += weight * from[i];
        }
        scatter(y, m_row, values);
    }
}

void FrameGrid::toPicture(std::span<const float> values, Image& picture) const
{
    expects(values.size() == asSize(m_shape.values()), "frame grid: values of the grid's size");
    if (picture.width != m_shape.width() || picture.height != m_shape.height() ||
        picture.channels != 3)
        picture = makeImage(m_shape.width(), m_shape.height(), 3);
    const Index patch = m_shape.patch, cells = m_shape.cells();
    for (int y = 0; y < picture.height; ++y) {
        const Index line = y / patch * m_shape.gridWidth, dy = y % patch;
        for (Index c = 0; c < 3; ++c) {
            for (Index dx = 0; dx < patch; ++dx) {
                const float* from = values.data() + ((c * patch + dy) * patch + dx) * cells + line;
                std::uint8_t* to = picture.row(y) + 3 * dx + c;
                for (Index x = 0; x < m_shape.gridWidth; ++x)
                    to[3 * patch * x] = static_cast<std::uint8_t>(
                        (std::clamp(from[x], -1.f, 1.f) + 1) * 127.5f + 0.5f);
            }
        }
    }
}

} // namespace vergence::live
