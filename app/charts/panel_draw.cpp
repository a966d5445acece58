// When and how the cards are drawn.

#include <algorithm>
#include <limits>

#include "app/charts/chart_grid.h"
#include "app/charts/chart_table.h"
#include "app/charts/chart_toolbar.h"
#include "app/charts/panel_impl.h"

namespace vergence {
namespace {

constexpr int kFrameMs = 33; // 30 redraws a second at most
constexpr qint64 kDrawBudgetMs =
    6; // per redraw, painting comes on top; the other cards follow with the next one
constexpr qint64 kRestShare = 4; // rest at least so many times as long as drawing took

} // namespace

void ChartsPanel::Impl::markAllDirty()
{
    for (const auto& [id, card] : cards)
        card->markDirty();
    schedule();
}

void ChartsPanel::Impl::schedule()
{
    if (timer.isActive() || !panel->isVisible())
        return;
    const qint64 since = sinceDrawn.isValid() ? sinceDrawn.elapsed() : restMs;
    timer.start(static_cast<int>(std::max<qint64>(0, restMs - since)));
}

bool ChartsPanel::Impl::takeOverPoints()
{
    hasNewPoints = false;
    syncSeries();
    const Range before = fullRange();
    bool isAnyNew = false;
    for (const auto& [id, card] : cards) {
        bool isNew = false;
        for (const auto& source : card->sources())
            isNew = source->update() || isNew;
        if (isNew)
            card->markDirty();
        isAnyNew = isAnyNew || isNew;
    }
    const bool isMoving = !zooms.current().x || toolbar->settings().isFollowing;
    if (isMoving && fullRange() != before) // the common X range has grown
        for (const auto& [id, card] : cards)
            if (!card->isTable())
                card->markDirty();
    return isAnyNew;
}

void ChartsPanel::Impl::tick()
{
    if (!panel->isVisible())
        return;
    if (hasNewPoints && takeOverPoints() && tableCard != nullptr)
        tableModel->refresh();
    QElapsedTimer watch;
    watch.start();
    // Regions of all cards cost more than drawing one of them.
    const QRect seen = grid->viewport()->rect();
    const auto isSeen = [this, &seen](const ChartCard& card) {
        const QRect place(card.mapTo(grid->viewport(), QPoint()), card.size());
        return card.isVisible() && place.intersects(seen);
    };
    const std::vector<ChartCard*>& all = ordered;
    bool isLeft = false;
    std::size_t last = nextCard;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const std::size_t at = (nextCard + i) % all.size();
        if (!all[at]->isDirty() || !isSeen(*all[at]))
            continue;
        if (watch.elapsed() >= kDrawBudgetMs) {
            isLeft = true;
            break;
        }
        draw(*all[at]);
        last = at + 1;
    }
    nextCard = last;
    sinceDrawn.start();
    restMs = std::max<qint64>(kFrameMs, kRestShare * watch.elapsed());
    if (isLeft)
        schedule();
}

Range ChartsPanel::Impl::fullRange() const
{
    Range full{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
    for (const auto& [id, card] : cards) {
        if (card->isTable())
            continue;
        for (const auto& source : card->sources()) {
            if (const auto extent = source->extent(toolbar->settings().axis)) {
                full.from = std::min(full.from, extent->from);
                full.to = std::max(full.to, extent->to);
            }
        }
    }
    return full.from <= full.to ? full : Range{0, 1};
}

void ChartsPanel::Impl::draw(ChartCard& card)
{
    const ZoomState& zoomed = zooms.current();
    const auto y = zoomed.cardY.find(card.id());
    const auto shownY = y == zoomed.cardY.end() ? std::nullopt : std::optional(y->second);
    if (card.isTable()) {
        const auto x = zoomed.cardX.find(card.id());
        Range range{std::numeric_limits<double>::infinity(),
                    -std::numeric_limits<double>::infinity()};
        for (const auto& source : card.sources()) {
            const Range extent = source->extent(XAxis::Step).value_or(Range{0, 1});
            range = {std::min(range.from, extent.from), std::max(range.to, extent.to)};
        }
        card.redraw(toolbar->settings(), x == zoomed.cardX.end() ? range : x->second, shownY);
        return;
    }
    const Range full = fullRange();
    shownX = zoomed.x.value_or(full);
    if (zoomed.x && toolbar->settings().isFollowing)
        shownX = {full.to - zoomed.x->width(), full.to};
    card.redraw(toolbar->settings(), shownX, shownY);
}

} // namespace vergence
