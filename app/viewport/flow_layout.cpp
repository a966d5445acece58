#include "app/viewport/flow_layout.h"

#include <algorithm>

#include <QStyle>
#include <QWidget>

namespace vergence {
namespace {

constexpr int kLineSpacing = 3; ///< pixels between lines

bool expands(const QLayoutItem& item)
{
    return item.expandingDirections().testFlag(Qt::Horizontal);
}

int heightOf(const QLayoutItem& item, int width)
{
    return item.hasHeightForWidth() ? item.heightForWidth(width) : item.sizeHint().height();
}

} // namespace

FlowLayout::FlowLayout(QWidget* parent, int spacing) : QLayout(parent)
{
    setSpacing(spacing);
    setContentsMargins(0, 0, 0, 0);
}

void FlowLayout::addItem(QLayoutItem* item)
{
    m_items.emplace_back(item);
}

int FlowLayout::count() const
{
    return static_cast<int>(m_items.size());
}

QLayoutItem* FlowLayout::itemAt(int index) const
{
    return index < 0 || index >= count() ? nullptr : m_items[index].get();
}

QLayoutItem* FlowLayout::takeAt(int index)
{
    if (index < 0 || index >= count())
        return nullptr;
    QLayoutItem* item = m_items[index].release();
    m_items.erase(m_items.begin() + index);
    return item;
}

Qt::Orientations FlowLayout::expandingDirections() const
{
    const bool isWide = std::ranges::any_of(
        m_items, [](const auto& item) { return !item->isEmpty() && expands(*item); });
    return isWide ? Qt::Horizontal : Qt::Orientations();
}

std::vector<FlowLayout::Line> FlowLayout::lines(int width) const
{
    std::vector<Line> result;
    int used = 0;
    for (const auto& item : m_items) {
        if (item->isEmpty())
            continue;
        const int wanted = std::min(item->sizeHint().width(), width);
        if (result.empty() || used + spacing() + wanted > width) {
            result.emplace_back();
            used = -spacing();
        }
        result.back().push_back({item.get(), wanted, 0});
        used += spacing() + wanted;
    }
    for (Line& line : result)
        expand(line, width);
    return result;
}

void FlowLayout::expand(Line& line, int width) const
{
    int left = width - spacing() * (static_cast<int>(line.size()) - 1);
    int takers = 0;
    for (const Place& place : line) {
        left -= place.width;
        takers += expands(*place.item) ? 1 : 0;
    }
    for (Place& place : line) {
        if (expands(*place.item)) {
            const int room = place.item->maximumSize().width() - place.width;
            const int share = std::clamp(left / takers--, 0, std::max(0, room));
            place.width += share;
            left -= share;
        }
        place.height = heightOf(*place.item, place.width);
    }
}

int FlowLayout::heightForWidth(int width) const
{
    const QMargins margins = contentsMargins();
    int height = -kLineSpacing;
    for (const Line& line : lines(width - margins.left() - margins.right()))
        height += kLineSpacing + std::ranges::max(line, {}, &Place::height).height;
    return std::max(0, height) + margins.top() + margins.bottom();
}

QSize FlowLayout::sizeHint() const
{
    int width = -spacing(), height = 0;
    for (const auto& item : m_items) {
        if (item->isEmpty())
            continue;
        width += spacing() + item->sizeHint().width();
        height = std::max(height, item->sizeHint().height());
    }
    const QMargins margins = contentsMargins();
    return {std::max(0, width) + margins.left() + margins.right(),
            height + margins.top() + margins.bottom()};
}

QSize FlowLayout::minimumSize() const
{
    QSize size(0, 0);
    for (const auto& item : m_items)
        if (!item->isEmpty())
            size = size.expandedTo(item->minimumSize());
    const QMargins margins = contentsMargins();
    return size + QSize(margins.left() + margins.right(), margins.top() + margins.bottom());
}

void FlowLayout::setGeometry(const QRect& area)
{
    QLayout::setGeometry(area);
    QRect inner = area.marginsRemoved(contentsMargins());
    for (const Line& line : lines(inner.width())) {
        inner.setHeight(std::ranges::max(line, {}, &Place::height).height);
        place(line, inner);
        inner.translate(0, inner.height() + kLineSpacing);
    }
}

void FlowLayout::place(const Line& line, QRect area) const
{
    const auto direction =
        parentWidget() != nullptr ? parentWidget()->layoutDirection() : Qt::LeftToRight;
    int tail = -spacing();
    for (const Place& place : line)
        if (place.item->alignment().testFlag(Qt::AlignRight))
            tail += spacing() + place.width;
    int x = area.left();
    int xOfTail = area.left() + area.width() - std::max(0, tail);
    for (const Place& place : line) {
        int& at = place.item->alignment().testFlag(Qt::AlignRight) ? xOfTail : x;
        const QRect box(at, area.top() + (area.height() - place.height) / 2, place.width,
                        place.height);
        place.item->setGeometry(QStyle::visualRect(direction, area, box));
        at += place.width + spacing();
    }
}

} // namespace vergence
