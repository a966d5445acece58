#include "plugins/sugar/texture/shape_packing.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

namespace vergence::sugar {

namespace {

constexpr int kTurns = 4;

/// The texels of a page that are taken.
class Page {
public:
    explicit Page(int side)
        : m_side(side),
          m_words(static_cast<std::size_t>(side + 63) / 64),
          m_taken(m_words * static_cast<std::size_t>(side), 0),
          m_longestFree(static_cast<std::size_t>(side), side)
    {
    }

    /// The lowest free place of a shape that ends below `limit`, looked for from `firstRow` on.
    std::optional<ShapePlace> find(const TexelShape& shape, int firstRow, int limit) const
    {
        const TexelRun& longest = shape.runs.front();
        for (int y = firstRow; y + shape.height <= std::min(limit - 1, m_side); ++y) {
            if (m_longestFree[static_cast<std::size_t>(y + longest.row)] <
                longest.end - longest.begin)
                continue;
            for (int x = 0, step = 0; x + shape.width <= m_side; x += step) {
                step = stepOver(shape, x, y);
                if (step == 0)
                    return ShapePlace{x, y};
            }
        }
        return std::nullopt;
    }

    void take(const TexelShape& shape, const ShapePlace& place)
    {
        for (const TexelRun& run : shape.runs) {
            for (int x = run.begin; x < run.end; ++x)
                word(place.y + run.row, place.x + x) |= std::uint64_t{1} << (place.x + x) % 64;
        }
        for (int y = place.y; y < place.y + shape.height; ++y)
            m_longestFree[static_cast<std::size_t>(y)] = longestFree(y);
    }

private:
    /// Columns that a shape must move by to be clear of the first taken texels found under it; 0
    /// where there are none.
    int stepOver(const TexelShape& shape, int x, int y) const
    {
        for (const TexelRun& run : shape.runs) {
            const int taken = lastTaken(y + run.row, x + run.begin, x + run.end);
            if (taken >= 0)
                return taken - (x + run.begin) + 1;
        }
        return 0;
    }

    int lastTaken(int row, int begin, int end) const
    {
        const std::uint64_t* words = m_taken.data() + static_cast<std::size_t>(row) * m_words;
        for (int w = (end - 1) / 64; w >= begin / 64; --w) {
            std::uint64_t bits = words[w];
            if (const int over = 64 * (w + 1) - end; over > 0)
                bits &= ~std::uint64_t{0} >> over;
            if (const int under = begin - 64 * w; under > 0)
                bits &= ~std::uint64_t{0} << under;
            if (bits != 0)
                return 64 * w + 63 - std::countl_zero(bits);
        }
        return -1;
    }

    int longestFree(int row) const
    {
        int longest = 0, end = m_side; // of the stretch that is looked at
        while (end > longest) {
            const int taken = lastTaken(row, 0, end);
            longest = std::max(longest, end - taken - 1);
            end = taken;
        }
        return longest;
    }

    std::uint64_t& word(int row, int column)
    {
        return m_taken[static_cast<std::size_t>(row) * m_words +
                       static_cast<std::size_t>(column / 64)];
    }

    int m_side;
    std::size_t m_words;
    std::vector<std::uint64_t> m_taken; ///< [side, words]
    std::vector<int> m_longestFree;     ///< of each row
};

/// A page, and from which row on shapes of a size are worth trying in a turn: those before found
/// no place below it.
struct Shelf {
    Page page;
    std::map<std::array<int, 3>, int> firstRow; ///< by turn, width and height
};

/// The place that ends lowest among all turns.
std::optional<ShapePlace> lowestPlace(Shelf& shelf, const std::vector<TexelShape>& turns, int side)
{
    std::optional<ShapePlace> best;
    int limit = side + 1;
    for (int turn = 0; turn < kTurns; ++turn) {
        const TexelShape& shape = turns[static_cast<std::size_t>(turn)];
        int& firstRow = shelf.firstRow[{turn, shape.width, shape.height}];
        const auto found = shelf.page.find(shape, firstRow, limit);
        if (!found) {
            firstRow = std::max(firstRow, limit - shape.height);
            continue;
        }
        firstRow = found->y;
        limit = found->y + shape.height;
        best = found;
        best->quarterTurns = turn;
    }
    return best;
}

} // namespace

TexelShape::TexelShape(int columns, int rows, const std::vector<unsigned char>& mask)
    : width(columns),
      height(rows)
{
    for (int y = 0; y < rows; ++y) {
        const auto row = mask.begin() + static_cast<std::ptrdiff_t>(y) * columns;
        for (int x = 0; x < columns; ++x) {
            if (!row[x])
                continue;
            const int begin = x;
            while (x < columns && row[x])
                ++x;
            runs.push_back({y, begin, x});
        }
    }
    std::stable_sort(runs.begin(), runs.end(), [](const TexelRun& a, const TexelRun& b) {
        return a.end - a.begin > b.end - b.begin;
    });
}

double TexelShape::area() const
{
    return std::accumulate(runs.begin(), runs.end(), 0.0, [](double sum, const TexelRun& run) {
        return sum + run.end - run.begin;
    });
}

std::array<double, 2> turned(const TexelShape& shape, int quarterTurns,
                             const std::array<double, 2>& point)
{
    const auto [x, y] = point;
    switch (quarterTurns) {
    case 0:
        return point;
    case 1:
        return {shape.height - y, x};
    case 2:
        return {shape.width - x, shape.height - y};
    default:
        return {y, shape.width - x};
    }
}

TexelShape turned(const TexelShape& shape, int quarterTurns)
{
    const bool lies = quarterTurns % 2 == 1;
    const int columns = lies ? shape.height : shape.width, rows = lies ? shape.width : shape.height;
    std::vector<unsigned char> mask(static_cast<std::size_t>(columns) *
                                    static_cast<std::size_t>(rows));
    for (const TexelRun& run : shape.runs) {
        for (int x = run.begin; x < run.end; ++x) {
            const auto [column, row] = turned(shape, quarterTurns, {x + 0.5, run.row + 0.5});
            mask[static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) +
                 static_cast<std::size_t>(column)] = 1;
        }
    }
    return {columns, rows, mask};
}

int packShapes(const std::vector<TexelShape>& shapes, int side, int most,
               std::vector<ShapePlace>& places, const std::function<bool()>& stop)
{
    std::vector<std::size_t> order(shapes.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return std::max(shapes[a].width, shapes[a].height) >
               std::max(shapes[b].width, shapes[b].height);
    });
    places.assign(shapes.size(), {});
    std::vector<Shelf> pages;
    for (const std::size_t i : order) {
        if (stop && stop())
            return 0;
        std::vector<TexelShape> turns;
        for (int turn = 0; turn < kTurns; ++turn)
            turns.push_back(turned(shapes[i], turn));
        std::optional<ShapePlace> found;
        std::size_t page = 0;
        for (; !found; ++page) {
            if (page == pages.size()) {
                if (static_cast<int>(page) == most || shapes[i].width > side ||
                    shapes[i].height > side)
                    return 0;
                pages.push_back({Page(side), {}});
            }
            found = lowestPlace(pages[page], turns, side);
        }
        --page;
        found->page = static_cast<int>(page);
        pages[page].page.take(turns[static_cast<std::size_t>(found->quarterTurns)], *found);
        places[i] = *found;
    }
    return static_cast<int>(pages.size());
}

} // namespace vergence::sugar
