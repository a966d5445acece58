#include "plugins/sugar/texture/skyline.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace vergence::sugar {

namespace {

/// A level stretch of the skyline.
struct Step {
    int x, y, width;
};

class Skyline {
public:
    explicit Skyline(int side) : m_side(side), m_steps{{0, 0, side}} {}

    bool place(PackedBox& box)
    {
        std::size_t best = m_steps.size();
        int lowest = m_side - box.height + 1;
        for (std::size_t i = 0; i < m_steps.size(); ++i) {
            if (m_steps[i].x + box.width > m_side)
                break;
            const int y = heightOver(i, box.width, lowest);
            if (y < lowest) {
                lowest = y;
                best = i;
            }
        }
        if (best == m_steps.size())
            return false;
        box.x = m_steps[best].x;
        box.y = lowest;
        raise(best, box);
        return true;
    }

private:
    /// Highest step under a box that begins at step i; at least `limit` where that is reached.
    int heightOver(std::size_t i, int width, int limit) const
    {
        int y = 0;
        for (int left = width; left > 0 && y < limit; left -= m_steps[i++].width)
            y = std::max(y, m_steps[i].y);
        return y;
    }

    void raise(std::size_t i, const PackedBox& box)
    {
        const int end = box.x + box.width;
        std::size_t last = i;
        while (last < m_steps.size() && m_steps[last].x + m_steps[last].width <= end)
            ++last;
        if (last < m_steps.size() && m_steps[last].x < end) {
            m_steps[last].width -= end - m_steps[last].x;
            m_steps[last].x = end;
        }
        m_steps.erase(m_steps.begin() + static_cast<std::ptrdiff_t>(i),
                      m_steps.begin() + static_cast<std::ptrdiff_t>(last));
        m_steps.insert(m_steps.begin() + static_cast<std::ptrdiff_t>(i),
                       {box.x, box.y + box.height, box.width});
    }

    int m_side;
    std::vector<Step> m_steps; ///< from left to right
};

} // namespace

bool packUnderSkyline(std::vector<PackedBox>& boxes, int side)
{
    return boxes.empty() || packOnPages(boxes, side, 1) > 0;
}

int packOnPages(std::vector<PackedBox>& boxes, int side, int most)
{
    std::vector<std::size_t> order(boxes.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return boxes[a].height > boxes[b].height;
    });
    std::vector<Skyline> pages;
    for (const std::size_t i : order) {
        PackedBox& box = boxes[i];
        box.page = 0;
        while (box.page < static_cast<int>(pages.size()) &&
               !pages[static_cast<std::size_t>(box.page)].place(box))
            ++box.page;
        if (box.page < static_cast<int>(pages.size()))
            continue;
        if (box.page == most || !pages.emplace_back(side).place(box))
            return 0;
    }
    return static_cast<int>(pages.size());
}

} // namespace vergence::sugar
