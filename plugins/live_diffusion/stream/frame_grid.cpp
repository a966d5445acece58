#include "plugins/live_diffusion/stream/frame_grid.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "plugins/live_diffusion/stream/pieces.h"

namespace vergence::live {

namespace {

/// Weights below it are left out; a picture of the right size has one pixel for each.
constexpr double kLeastWeight = 1e-9;
/// Rows that are worth a thread.
constexpr Index kGrain = 32;

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
    const std::size_t row = std::size_t{3} * static_cast<std::size_t>(m_shape.width());
    m_lines.resize(row * static_cast<std::size_t>(height));
    m_fitted.resize(row * static_cast<std::size_t>(m_shape.height()));
    m_sourceWidth = width;
    m_sourceHeight = height;
}

/// Columns of the source rows that are needed.
void FrameGrid::squeezeRows(const Image& picture)
{
    const int first = m_rows.taps.front().first;
    const int last = m_rows.taps.back().first + m_rows.taps.back().count;
    const int channels = picture.channels;
    const int next = channels == 1 ? 0 : 1; // grey counts for all three
    const auto row = 3 * Index{m_shape.width()};
    inPieces(m_stream, last - first, kGrain, [&](Index from, Index to) {
        for (Index y = first + from; y < first + to; ++y) {
            const std::uint8_t* pixels = picture.row(static_cast<int>(y));
            float* line = m_lines.data() + y * row;
            for (const Tap& tap : m_columns.taps) {
                float sum[3] = {};
                const std::uint8_t* pixel = pixels + tap.first * channels;
                const float* weight = m_columns.weights.data() + tap.weight;
                for (int k = 0; k < tap.count; ++k, pixel += channels) {
                    for (int c = 0; c < 3; ++c)
                        sum[c] += weight[k] * pixel[c * next];
                }
                line = std::copy_n(sum, 3, line);
            }
        }
    });
}

/// Row y of the frame from the lines that it covers.
void FrameGrid::mixRow(Index y)
{
    const Tap& tap = m_rows.taps[asSize(y)];
    const Index row = 3 * Index{m_shape.width()};
    float* to = m_fitted.data() + y * row;
    for (int k = 0; k < tap.count; ++k) {
        const float weight = m_rows.weights[tap.weight + asSize(k)];
        const float* from = m_lines.data() + (tap.first + k) * row;
        for (Index i = 0; i < row; ++i)
            to[i] = weight * from[i] + (k == 0 ? 0 : to[i]);
    }
}

void FrameGrid::scatterRow(Index y, std::span<float> values) const
{
    const Index patch = m_shape.patch, cells = m_shape.cells();
    const Index line = y / patch * m_shape.gridWidth, dy = y % patch;
    const float* row = m_fitted.data() + y * 3 * m_shape.width();
    for (Index c = 0; c < 3; ++c) {
        for (Index dx = 0; dx < patch; ++dx) {
            float* to = values.data() + ((c * patch + dy) * patch + dx) * cells + line;
            const float* from = row + 3 * dx + c;
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
    expects(picture.pixels.size() == asSize(Index{picture.width} * picture.height * channels),
            "frame grid: a picture with all of its pixels");
    prepare(picture.width, picture.height);
    squeezeRows(picture);
    inPieces(m_stream, m_shape.height(), kGrain, [&](Index first, Index last) {
        for (Index y = first; y < last; ++y) {
            mixRow(y);
            scatterRow(y, values);
        }
    });
}

void FrameGrid::toPicture(std::span<const float> values, Image& picture) const
{
    expects(values.size() == asSize(m_shape.values()), "frame grid: values of the grid's size");
    if (picture.width != m_shape.width() || picture.height != m_shape.height() ||
        picture.channels != 3)
        picture = makeImage(m_shape.width(), m_shape.height(), 3);
    const Index patch = m_shape.patch, cells = m_shape.cells();
    inPieces(m_stream, picture.height, kGrain, [&](Index first, Index last) {
        for (Index y = first; y < last; ++y) {
            const Index line = y / patch * m_shape.gridWidth, dy = y % patch;
            for (Index c = 0; c < 3; ++c) {
                for (Index dx = 0; dx < patch; ++dx) {
                    const float* from =
                        values.data() + ((c * patch + dy) * patch + dx) * cells + line;
                    std::uint8_t* to = picture.row(static_cast<int>(y)) + 3 * dx + c;
                    for (Index x = 0; x < m_shape.gridWidth; ++x)
                        to[3 * patch * x] = static_cast<std::uint8_t>(
                            (std::clamp(from[x], -1.f, 1.f) + 1) * 127.5f + 0.5f);
                }
            }
        }
    });
}

} // namespace vergence::live
