#pragma once

#include <optional>
#include <string>

namespace vergence::fvlm {

inline constexpr int kMostCells = 26; ///< along an edge: rows are letters

/// A cell of a grid, from 0 at the top left.
struct GridPlace {
    int row = 0, column = 0;
    bool operator==(const GridPlace&) const = default;
};

/// "b".
std::string rowName(int row);

/// "b3": row b, column 3. Rows and columns have words of their own, so that none means two things.
std::string gridQuestion(GridPlace place);

/// What a person asked: a cell, or a sentence that says what cannot be asked.
struct GridRequest {
    std::optional<GridPlace> place;
    std::string complaint;
};
/// "b3", "Row B, column 3?" and the like, of a grid with `side` cells along an edge.
GridRequest readGridQuestion(const std::string& text, int side);

} // namespace vergence::fvlm
