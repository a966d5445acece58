#pragma once

#include <array>
#include <string_view>

namespace vergence::fvlm {

/// What the cells of a grid hold. Colour: they are filled with one. Letter: a letter in a colour
/// that says nothing. Sign: nothing but a coloured disc that is there in one frame of a clip.
enum class GridContent { Colour, Letter, Sign };

/// A task whose clips are grids. Apart from these, so that the configuration knows no clips.
struct GridTask {
    std::string_view name;
    GridContent content;
    int leastCell; ///< pixels along the edge of a cell that show what it holds
};
inline constexpr std::array<GridTask, 3> kGridTasks{{{"cell", GridContent::Colour, 2},
                                                     {"letter", GridContent::Letter, 7},
                                                     {"sign", GridContent::Sign, 4}}};

/// Null for the name of another task.
constexpr const GridTask* gridTask(std::string_view name)
{
    for (const GridTask& task : kGridTasks)
        if (task.name == name)
            return &task;
    return nullptr;
}

constexpr const GridTask& gridTask(GridContent content)
{
    return kGridTasks[static_cast<std::size_t>(content)];
}

} // namespace vergence::fvlm
