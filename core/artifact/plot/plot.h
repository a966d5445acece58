#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/view/diagram.h"

namespace vergence::plot {

/// One direction of a plot. Limits that are not given follow the data.
struct PlotAxis {
    std::string title;
    bool isLog = false;
    std::optional<double> low{}, high{};
    std::vector<std::pair<double, std::string>> ticks{}; ///< instead of round numbers
};

/// Matrix of coloured cells with their values, 0 dark to 1 light between `low` and `high`.
struct PlotCells {
    std::size_t rows = 0, columns = 0;
    std::vector<double> values; ///< row-major, row 0 on top; NaN leaves a cell empty
    std::vector<std::string> rowNames, columnNames;
    double low = 0, high = 1;
    int digits = 2;
};

/// A chart as data; layOut() makes the drawing. Points that are not finite are left out.
struct Plot {
    struct Curve {
        std::vector<double> x{}, y{};
        std::string colour = "series 0", label{}; ///< label: for the legend; empty for none
        double width = 2;
        bool isDashed = false;
    };
    struct Marks {
        std::vector<double> x{}, y{};
        std::string colour = "series 0", label{};
        std::string mark = "disc";
        double radius = 4, opacity = 1;
        std::vector<double> low{}, high{}; ///< intervals in y; empty for none
    };
    struct Band {
        std::vector<double> x{}, low{}, high{};
        std::string colour = "muted", label{};
        double opacity = 0.18;
    };
    struct Bar {
        double left = 0, right = 0, bottom = 0, top = 0;
        std::string colour = "series 0", tip{};
        double opacity = 0.75;
    };
    struct Box {
        double at = 0, low = 0, q25 = 0, median = 0, q75 = 0, high = 0;
        double width = 0.6;
        std::string colour = "series 0", tip{};
    };
    struct Reference {
        double at = 0;
        bool isVertical = false;
        std::string label{}, colour = "warning";
    };
    struct Note {
        double x = 0, y = 0;
        std::string text, colour = "muted";
        bool isBold = false;
    };
    struct Hexagons { ///< two-dimensional histogram
        std::vector<double> x, y;
        std::string label{};
    };
    std::string title, note; ///< note: muted, below the title
    PlotAxis x, y;
    double width = 540, height = 410;
    bool isBare = false;         ///< no ticks, no grid: a view of something in space
    bool hasEqualScales = false; ///< one unit is as long in x as in y
    std::vector<Curve> curves;
    std::vector<Marks> marks;
    std::vector<Band> bands;
    std::vector<Bar> bars;
    std::vector<Box> boxes;
    std::vector<Reference> references;
    std::vector<Note> notes; ///< texts at places of the data
    std::optional<Hexagons> hexagons;
    std::optional<PlotCells> cells;
    /// Legend entries without a curve: label, colour.
    std::vector<std::pair<std::string, std::string>> keys;
};

/// A drawing of width × height units, meant as pixels; keeps its aspect and brings its axes.
Diagram layOut(const Plot& plot);

/// Rows and columns of text as a drawing; the first row is the heading.
struct PlotTable {
    struct Cell {
        std::string text, grey{}; ///< grey: a second, muted line
        std::string colour = "text";
    };
    std::string title, note;
    std::vector<std::vector<Cell>> rows;
    double width = 900;
};
Diagram layOut(const PlotTable& table);

/// Drawings side by side, `columns` a row, under a common title.
Diagram tiled(const std::vector<Diagram>& drawings, std::size_t columns, const std::string& title);

/// Estimated width of a text in a face of this size, in the same unit.
double textLength(const std::string& text, double size);
/// The text in lines of at most `width`, broken at spaces; none for an empty text.
std::vector<std::string> wrapped(const std::string& text, double size, double width);

/// "0.123", "1.2e-05" → few digits for people; "–" for what is not finite.
std::string shortNumber(double value, int digits = 3);
/// "#rrggbb" between dark (0) and light (1).
std::string heatColour(double fraction);

} // namespace vergence::plot
