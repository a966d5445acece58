#include "plugins/sugar/texture/coarser_fill.h"

#include <algorithm>
#include <array>

#include "core/base/error.h"

namespace vergence::sugar {

namespace {

/// Mean colours of squares of the picture; the fourth byte is 0 where nothing is known.
struct Level {
    int width = 0, height = 0;
    std::vector<std::array<std::uint8_t, 4>> cells;

    Level(int columns, int rows)
        : width(columns),
          height(rows),
          cells(static_cast<std::size_t>(columns) * static_cast<std::size_t>(rows))
    {
    }
    std::array<std::uint8_t, 4>& at(int row, int column)
    {
        return cells[static_cast<std::size_t>(row) * static_cast<std::size_t>(width) +
                     static_cast<std::size_t>(column)];
    }
};

/// `cellOf(row, column)` of what is halved.
template <class CellOf>
Level halved(int width, int height, const CellOf& cellOf)
{
    Level half((width + 1) / 2, (height + 1) / 2);
    for (int row = 0; row < half.height; ++row) {
        for (int column = 0; column < half.width; ++column) {
            std::array<int, 4> sum{};
            for (int y = 2 * row; y < std::min(2 * row + 2, height); ++y) {
                for (int x = 2 * column; x < std::min(2 * column + 2, width); ++x) {
                    const std::array<std::uint8_t, 4> cell = cellOf(y, x);
                    for (std::size_t k = 0; k < 4 && cell[3] != 0; ++k)
                        sum[k] += cell[k];
                }
            }
            auto& mean = half.at(row, column);
            for (std::size_t k = 0; k < 4 && sum[3] > 0; ++k)
                mean[k] = static_cast<std::uint8_t>(sum[k] / sum[3]);
        }
    }
    return half;
}

} // namespace

void fillFromCoarser(Image& image, const std::vector<std::uint8_t>& isKnown)
{
    expects(image.channels == 3 && 3 * isKnown.size() == image.pixels.size(),
            "fillFromCoarser: one mark per pixel of an RGB picture is needed");
    if (std::all_of(isKnown.begin(), isKnown.end(), [](std::uint8_t mark) { return mark != 0; }))
        return;
    const auto pixel = [&](int row, int column) {
        return static_cast<std::size_t>(row) * static_cast<std::size_t>(image.width) +
               static_cast<std::size_t>(column);
    };
    std::vector<Level> levels;
    levels.push_back(halved(image.width, image.height, [&](int row, int column) {
        const std::size_t at = pixel(row, column);
        const std::uint8_t* p = &image.pixels[3 * at];
        return std::array<std::uint8_t, 4>{p[0], p[1], p[2], isKnown[at] != 0};
    }));
    while (levels.back().cells.size() > 1) {
        Level& finer = levels.back();
        levels.push_back(halved(finer.width, finer.height,
                                [&](int row, int column) { return finer.at(row, column); }));
    }
    if (levels.back().cells.front()[3] == 0)
        return;
    for (std::size_t i = levels.size() - 1; i-- > 0;) {
        for (int row = 0; row < levels[i].height; ++row) {
            for (int column = 0; column < levels[i].width; ++column) {
                auto& cell = levels[i].at(row, column);
                if (cell[3] == 0)
                    cell = levels[i + 1].at(row / 2, column / 2);
            }
        }
    }
    for (int row = 0; row < image.height; ++row) {
        for (int column = 0; column < image.width; ++column) {
            if (isKnown[pixel(row, column)] == 0)
                std::copy_n(levels.front().at(row / 2, column / 2).begin(), 3,
                            &image.pixels[3 * pixel(row, column)]);
        }
    }
}

} // namespace vergence::sugar
