#include "plugins/mc_embedding/report/cloud_view.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "plugins/mc_embedding/report/charts.h"
#include "plugins/mc_embedding/statistics/cloud.h"

namespace vergence::mc_embedding {

namespace {

constexpr std::size_t kAxesRows = 256; ///< axes of more rows hardly differ, and take long

std::vector<double> meanRow(const Matrix& rows)
{
    std::vector<double> mean(rows.columns, 0);
    for (std::size_t r = 0; r < rows.rows; ++r)
        for (std::size_t d = 0; d < rows.columns; ++d)
            mean[d] += rows(r, d) / static_cast<double>(rows.rows);
    return mean;
}

void subtract(Matrix& rows, const std::vector<double>& from)
{
    for (std::size_t r = 0; r < rows.rows; ++r)
        for (std::size_t d = 0; d < rows.columns; ++d)
            rows(r, d) -= from[d];
}

/// Rows on the unit sphere without their part along `direction`.
void toTangent(Matrix& rows, const std::vector<double>& direction)
{
    rows = normalisedRows(rows);
    for (std::size_t r = 0; r < rows.rows; ++r) {
        double along = 0;
        for (std::size_t d = 0; d < rows.columns; ++d)
            along += rows(r, d) * direction[d];
        for (std::size_t d = 0; d < rows.columns; ++d)
            rows(r, d) -= along * direction[d];
    }
}

Matrix rowOf(const Matrix& matrix, std::size_t row)
{
    Matrix result(1, matrix.columns);
    for (std::size_t d = 0; d < matrix.columns; ++d)
        result(0, d) = matrix(row, d);
    return result;
}

/// At most kAxesRows of the rows, evenly.
Matrix thinned(const std::vector<const Matrix*>& parts)
{
    std::size_t total = 0;
    for (const Matrix* part : parts)
        total += part->rows;
    const std::size_t every = std::max<std::size_t>(1, (total + kAxesRows - 1) / kAxesRows);
    Matrix rows;
    rows.columns = parts.front()->columns;
    std::size_t at = 0;
    for (const Matrix* part : parts) {
        for (std::size_t r = 0; r < part->rows; ++r, ++at) {
            if (at % every != 0 || !std::isfinite((*part)(r, 0)))
                continue;
            const auto from = part->values.begin() + static_cast<std::ptrdiff_t>(r * part->columns);
            rows.values.insert(rows.values.end(), from,
                               from + static_cast<std::ptrdiff_t>(part->columns));
            ++rows.rows;
        }
    }
    return rows;
}

/// Rotation by azimuth about the third axis, then elevation; the third entry points at the viewer.
std::array<double, 3> turned(const std::array<double, 3>& p, const CloudStyle& style)
{
    if (!style.is3d)
        return p;
    const double a = style.azimuthDegrees * M_PI / 180, e = style.elevationDegrees * M_PI / 180;
    const double x = p[0] * std::cos(a) - p[1] * std::sin(a),
                 y = p[0] * std::sin(a) + p[1] * std::cos(a);
    return {x, p[2] * std::cos(e) - y * std::sin(e), y * std::cos(e) + p[2] * std::sin(e)};
}

std::array<double, 3> pointOf(const Matrix& points, std::size_t row)
{
    std::array<double, 3> point{};
    for (std::size_t c = 0; c < std::min<std::size_t>(3, points.columns); ++c)
        point[c] = points(row, c);
    return point;
}

std::vector<double> columnOf(const Matrix& points, std::size_t column)
{
    std::vector<double> values;
    for (std::size_t r = 0; r < points.rows && column < points.columns; ++r)
        values.push_back(points(r, column));
    return values;
}

/// Outline of two standard deviations of points in the plane.
Plot::Curve ellipse(const std::vector<double>& x, const std::vector<double>& y)
{
    Plot::Curve curve{.colour = "text", .width = 1.6};
    const auto n = static_cast<double>(x.size());
    if (n < 3)
        return curve;
    double mx = 0, my = 0, sxx = 0, sxy = 0, syy = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
        mx += x[i] / n, my += y[i] / n;
    for (std::size_t i = 0; i < x.size(); ++i) {
        sxx += (x[i] - mx) * (x[i] - mx) / (n - 1);
        sxy += (x[i] - mx) * (y[i] - my) / (n - 1);
        syy += (y[i] - my) * (y[i] - my) / (n - 1);
    }
    // Cholesky factor times the circle of radius 2.
    const double a = std::sqrt(sxx), b = a > 0 ? sxy / a : 0,
                 c = std::sqrt(std::max(0.0, syy - b * b));
    constexpr int kCorners = 72;
    for (int i = 0; i <= kCorners; ++i) {
        const double u = 2 * std::cos(2 * M_PI * i / kCorners),
                     v = 2 * std::sin(2 * M_PI * i / kCorners);
        curve.x.push_back(mx + a * u);
        curve.y.push_back(my + b * u + c * v);
    }
    return curve;
}

/// Colour and legend of one trial of one cloud.
std::pair<std::string, std::string> colourOf(const StudyState& state, const CloudLook& look,
                                             const CloudProjection::Item& item, std::size_t index,
                                             int trial, CloudStyle::Colour by)
{
    const StudyImage& image = state.images.images.at(item.image);
    switch (by) {
    case CloudStyle::Colour::Trial:
        return {fmt::format("series {}", trial), fmt::format("trial {}", trial + 1)};
    case CloudStyle::Colour::Image:
        break;
    case CloudStyle::Colour::Class: {
        const std::vector<std::string> classes = classesOf(state);
        const auto at = std::ranges::find(classes, image.label) - classes.begin();
        return {fmt::format("series {}", at), image.label};
    }
    case CloudStyle::Colour::Score: {
        const std::size_t last = state.models[look.model].passes.size();
        const auto scores = scoresOf(state, {look.model, last - 1, "trace_pre"});
        if (!scores)
            break;
        const std::vector<double> means = meansOverTrials(*scores);
        const auto found = std::ranges::find(scores->images, item.image);
        if (found == scores->images.end())
            break;
        const double own = means[static_cast<std::size_t>(found - scores->images.begin())];
        const auto below = std::ranges::count_if(means, [&](double m) { return m < own; });
        return {heatColour(0.9 * static_cast<double>(below) / static_cast<double>(means.size())),
                imageName(state, item.image) + " " + shortNumber(own)};
    }
    }
    return {fmt::format("series {}", index), imageName(state, item.image)};
}

/// Half-width of a square (2-D: box) that holds all passes from every side.
double reach(const CloudProjection& projection)
{
    double reach = 0;
    for (const CloudProjection::Item& item : projection.items)
        for (std::size_t r = 0; r < item.points.rows; ++r) {
            const auto p = pointOf(item.points, r);
            reach = std::max(reach, std::hypot(p[0], p[1], p[2]));
        }
    for (std::size_t r = 0; r < projection.places.rows; ++r) {
        const auto p = pointOf(projection.places, r);
        reach = std::max(reach, std::hypot(p[0], p[1], p[2]));
    }
    return reach > 0 ? 1.05 * reach : 1;
}

/// All passes with their outlines in view, whichever are shown.
void setLimits(Plot& plot, const CloudProjection& projection)
{
    std::array<double, 2> low{INFINITY, INFINITY}, high{-INFINITY, -INFINITY};
    const auto include = [&](const std::array<double, 3>& p) {
        for (std::size_t c = 0; c < 2; ++c) {
            low[c] = std::min(low[c], p[c]);
            high[c] = std::max(high[c], p[c]);
        }
    };
    for (const CloudProjection::Item& item : projection.items)
        for (std::size_t r = 0; r < item.points.rows; ++r)
            include(pointOf(item.points, r));
    for (std::size_t r = 0; r < projection.places.rows; ++r)
        include(pointOf(projection.places, r));
    for (const CloudProjection::Item& item : projection.items) {
        const Plot::Curve outline = ellipse(columnOf(item.points, 0), columnOf(item.points, 1));
        for (std::size_t i = 0; i < outline.x.size(); ++i)
            include({outline.x[i], outline.y[i], 0});
    }
    const double air = 0.05 * std::max({high[0] - low[0], high[1] - low[1], 1e-12});
    plot.x.low = low[0] - air, plot.x.high = high[0] + air;
    plot.y.low = low[1] - air, plot.y.high = high[1] + air;
}

void addAxes(Plot& plot, const CloudProjection& projection, const CloudStyle& style, double reach)
{
    for (std::size_t axis = 0; axis < 3; ++axis) {
        std::array<double, 3> end{};
        end[axis] = 0.82 * reach;
        const auto to = turned(end, style);
        end[axis] = -0.82 * reach;
        const auto from = turned(end, style);
        plot.curves.push_back({{from[0], to[0]}, {from[1], to[1]}, "muted", "", 1});
        plot.notes.push_back(
            {to[0] * 1.09, to[1] * 1.09,
             fmt::format("PC{} {:.0f} %", axis + 1,
                         axis < projection.shares.size() ? 100 * projection.shares[axis] : 0)});
    }
}

/// Means of images as dots, a colour a class, and the name of every class in the middle of its
/// dots.
void addPlaces(Plot& plot, const StudyState& state, const CloudProjection& projection,
               const CloudStyle& style)
{
    constexpr std::size_t kMostNames = 16; // more names would hide the dots
    const std::vector<std::string> classes = classesOf(state);
    const bool isByClass = style.colour == CloudStyle::Colour::Class;
    for (std::size_t c = 0; c < classes.size(); ++c) {
        const std::string colour = isByClass ? fmt::format("series {}", c) : "muted";
        Plot::Marks dots{.colour = colour,
                         .label = isByClass ? classes[c] : "means of images",
                         .radius = 2.5,
                         .opacity = 0.5};
        double x = 0, y = 0;
        for (std::size_t r = 0; r < projection.places.rows; ++r) {
            if (state.images.images.at(projection.placeImages[r]).label != classes[c])
                continue;
            const auto p = turned(pointOf(projection.places, r), style);
            dots.x.push_back(p[0]), dots.y.push_back(p[1]);
            x += p[0], y += p[1];
        }
        if (dots.x.empty())
            continue;
        const auto count = static_cast<double>(dots.x.size());
        if (classes.size() <= kMostNames)
            plot.notes.push_back({x / count, y / count, classes[c], isByClass ? colour : "text"});
        plot.marks.push_back(std::move(dots));
    }
}

} // namespace

CloudProjection projectClouds(const StudyState& state, const CloudLook& look)
{
    CloudProjection result;
    if (look.model >= state.models.size())
        return result;
    const ModelStudy& model = state.models[look.model];
    std::vector<Matrix> passes, means;
    std::vector<Matrix> fixed; ///< deterministic rows
    for (const std::size_t index : look.clouds) {
        if (index >= model.clouds.size() || model.clouds[index].passes.rows < 3)
            continue;
        const Cloud& cloud = model.clouds[index];
        Matrix rows = cloud.passes, still;
        if (cloud.image < model.deterministic.rows &&
            std::isfinite(model.deterministic(cloud.image, 0)))
            still = rowOf(model.deterministic, cloud.image);
        if (look.isTangent) {
            Matrix direction(1, rows.columns);
            direction.values = meanRow(normalisedRows(rows));
            direction = normalisedRows(direction);
            toTangent(rows, direction.values);
            if (still.rows > 0)
                toTangent(still, direction.values);
        }
        if (look.isPooled) {
            const std::vector<double> mean = meanRow(rows);
            subtract(rows, mean);
            if (still.rows > 0)
                subtract(still, mean);
        }
        passes.push_back(std::move(rows));
        fixed.push_back(std::move(still));
        result.items.push_back({.image = cloud.image,
                                .trials = std::max(1, model.trials),
                                .points = {},
                                .deterministic = {}});
    }
    if (passes.empty())
        return result;
    std::vector<const Matrix*> parts;
    const bool usesMeans = !look.isPooled && !look.isTangent && model.means.rows > 3;
    if (usesMeans)
        parts.push_back(&model.means);
    else
        for (const Matrix& rows : passes)
            parts.push_back(&rows);
    const Matrix rows = thinned(parts);
    const Axes axes = principalAxes(rows, 3, true);
    double total = 0;
    const std::vector<double> middle = meanRow(rows);
    for (std::size_t r = 0; r < rows.rows; ++r)
        for (std::size_t d = 0; d < rows.columns; ++d)
            total += std::pow(rows(r, d) - middle[d], 2) / static_cast<double>(rows.rows - 1);
    for (const double variance : axes.variances)
        result.shares.push_back(total > 0 ? variance / total : 0);
    for (std::size_t i = 0; i < passes.size(); ++i) {
        result.items[i].points = projected(passes[i], axes);
        if (fixed[i].rows > 0)
            result.items[i].deterministic = projected(fixed[i], axes).values;
    }
    result.passes = static_cast<int>(passes.front().rows) / std::max(1, model.trials);
    result.note = look.isPooled ? "axes of the pooled deviations, every cloud about its mean"
                  : usesMeans   ? "axes of the image means"
                                : "axes of the shown clouds";
    if (usesMeans) {
        Matrix known;
        known.columns = model.means.columns;
        for (std::size_t i = 0; i < model.means.rows; ++i) {
            if (!std::isfinite(model.means(i, 0)))
                continue;
            const Matrix row = rowOf(model.means, i);
            known.values.insert(known.values.end(), row.values.begin(), row.values.end());
            ++known.rows;
            result.placeImages.push_back(i);
        }
        result.places = projected(known, axes);
    }
    if (look.isTangent)
        result.note += "; on the sphere, tangent part";
    return result;
}

Plot cloudPlot(const StudyState& state, const CloudLook& look, const CloudProjection& projection,
               const CloudStyle& style)
{
    Plot plot;
    plot.width = style.width;
    plot.height = style.height;
    plot.title = look.model < state.models.size()
                     ? "Cloud of the passes – " + modelName(state, look.model)
                     : "Cloud of the passes";
    const int shown =
        style.passes > 0 ? std::min(style.passes, projection.passes) : projection.passes;
    if (projection.items.empty()) {
        plot.note = "No passes were kept of this image.";
        return plot;
    }
    plot.note = fmt::format("{} · passes 1 to {} of {} · 2σ outline", projection.note, shown,
                            projection.passes);
    const double span = reach(projection);
    plot.hasEqualScales = true;
    plot.isBare = style.is3d;
    if (style.is3d) {
        plot.x.low = plot.y.low = -span;
        plot.x.high = plot.y.high = span;
    } else {
        setLimits(plot, projection);
    }
    const auto share = [&](std::size_t axis) {
        return axis < projection.shares.size() ? 100 * projection.shares[axis] : 0;
    };
    plot.x.title = style.is3d ? "" : fmt::format("PC1, {:.1f} % of the variance", share(0));
    plot.y.title = style.is3d ? "" : fmt::format("PC2, {:.1f} % of the variance", share(1));
    if (style.is3d)
        addAxes(plot, projection, style, span);
    addPlaces(plot, state, projection, style);
    Plot::Marks means{.colour = "text", .label = "mean", .mark = "cross", .radius = 6},
        fixed{.colour = "text", .label = "without dropout", .mark = "diamond", .radius = 6};
    const std::array<double, 3> opacities{0.35, 0.6, 0.9};
    for (std::size_t i = 0; i < projection.items.size(); ++i) {
        const CloudProjection::Item& item = projection.items[i];
        std::vector<double> xs, ys;
        std::string outline = "text";
        for (int trial = 0; trial < item.trials; ++trial) {
            const auto [colour, name] = colourOf(state, look, item, i, trial, style.colour);
            if (style.colour != CloudStyle::Colour::Trial)
                outline = colour;
            std::array<Plot::Marks, 3> bins; // the nearer, the stronger
            for (int t = 0; t < shown; ++t) {
                const auto row = static_cast<std::size_t>(trial * projection.passes + t);
                const auto p = turned(pointOf(item.points, row), style);
                const double depth = style.is3d ? (p[2] / span + 1) * 1.5 : 1.5;
                const auto bin = static_cast<std::size_t>(std::clamp(depth, 0.0, 2.0));
                bins[bin].x.push_back(p[0]), bins[bin].y.push_back(p[1]);
                xs.push_back(p[0]), ys.push_back(p[1]);
            }
            for (std::size_t bin = 0; bin < bins.size(); ++bin) {
                bins[bin].colour = colour;
                bins[bin].label = name;
                bins[bin].radius = 3;
                bins[bin].opacity = opacities[bin];
                if (!bins[bin].x.empty())
                    plot.marks.push_back(std::move(bins[bin]));
            }
        }
        plot.curves.push_back(ellipse(xs, ys));
        plot.curves.back().colour = outline;
        double mx = 0, my = 0;
        for (std::size_t k = 0; k < xs.size(); ++k)
            mx += xs[k] / static_cast<double>(xs.size()),
                my += ys[k] / static_cast<double>(xs.size());
        means.x.push_back(mx), means.y.push_back(my);
        if (item.deterministic.size() >= 2) {
            Matrix still(1, item.deterministic.size());
            still.values = item.deterministic;
            const auto p = turned(pointOf(still, 0), style);
            fixed.x.push_back(p[0]), fixed.y.push_back(p[1]);
        }
    }
    plot.marks.push_back(std::move(means));
    plot.marks.push_back(std::move(fixed));
    return plot;
}

} // namespace vergence::mc_embedding
