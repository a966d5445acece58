#pragma once

#include <optional>
#include <string>
#include <vector>

namespace vergence {

/// A line drawing that a run publishes as a Diagram stream: the window draws it to scale and
/// reports the pointer. Coordinates are in the diagram's own units (usually mm), y up.
struct Diagram {
    struct Line {
        std::vector<double> x, y;    ///< polyline
        std::string colour = "text"; ///< "text", "muted", "faint", "accent", "warning",
                                     ///< "#rrggbb", or "series 0" … "series 15"
        double width = 1;            ///< px
        bool isDashed = false;
        std::string label; ///< tooltip
    };
    struct Shape {
        std::string kind;                           ///< "rectangle", "circle", "lens", "eye"
        double x = 0, y = 0, width = 0, height = 0; ///< centre and extents
        std::string colour = "muted", label;
        bool isFilled = false;
        std::string editsKey; ///< configuration key that moves with the shape's x; empty for none
    };
    struct Text {
        double x = 0, y = 0;
        std::string text, colour = "text";
        std::string anchor = "centre"; ///< "left", "centre", "right"
        double size = 0;               ///< height of the face in units of y; 0: the window's
        bool isBold = false;
        bool isUpright = false; ///< turned by 90° to the left, as titles of vertical axes are
    };
    /// A closed area: a band of a curve, a cell of a matrix, a bar.
    struct Polygon {
        std::vector<double> x, y;
        std::string colour = "muted", label;
        double opacity = 1; ///< of the fill
    };
    /// Many equal marks; cheaper than as many shapes.
    struct Points {
        std::vector<double> x, y;
        std::string colour = "accent", label;
        std::string mark = "disc"; ///< "disc", "ring", "diamond", "cross"
        double radius = 3;         ///< px
        double opacity = 1;
    };
    double left = 0, right = 1, bottom = 0, top = 1; ///< world box to show
    bool keepsAspect = false;
    bool hasRuler = true; ///< the window draws an axis of x below; plots bring their own
    std::string xTitle;
    /// Painted in this order: polygons, shapes, lines, points, texts.
    std::vector<Polygon> polygons;
    std::vector<Shape> shapes;
    std::vector<Line> lines;
    std::vector<Points> points;
    std::vector<Text> texts;

    std::string toJson() const;
    /// Throws ContractError that names the field at fault.
    static Diagram fromJson(const std::string& json);
};

} // namespace vergence
