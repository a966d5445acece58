#include "app/charts/chart_grid.h"

#include <algorithm>
#include <map>
#include <utility>

#include <QGridLayout>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QVBoxLayout>

#include "app/charts/chart_card.h"

namespace vergence {
namespace {

constexpr int kCardHeight = 190, kCardMinimumWidth = 150, kSpacing = 4;

/// Where a card belongs: rank of its group, then the group's name.
std::pair<int, QString> groupOf(const ChartCard& card)
{
    if (card.isPinned())
        return {0, ChartGrid::tr("Pinned")};
    if (card.isTable())
        return {2, ChartGrid::tr("Tables")};
    const QString prefix = card.id().contains(u'/') ? card.id().section(u'/', 0, 0) : QString();
    if (prefix == QLatin1String("system"))
        return {3, ChartGrid::tr("System")};
    QString title = prefix.isEmpty() ? ChartGrid::tr("General") : prefix;
    title.replace(u'_', u' ');
    title[0] = title[0].toUpper();
    return {1, title};
}

} // namespace

ChartGrid::ChartGrid(QWidget* parent)
    : QScrollArea(parent),
      m_content(new QWidget),
      m_column(new QVBoxLayout(m_content))
{
    m_content->setObjectName(QStringLiteral("chartGrid"));
    m_column->setContentsMargins(4, 2, 4, 4);
    m_column->setSpacing(4);
    setWidget(m_content);
    setWidgetResizable(true);
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::NoFocus);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
}

void ChartGrid::arrange(const std::vector<ChartCard*>& cards, int columns)
{
    for (ChartCard* card : cards) // out of the old groups before these go
        card->setParent(m_content);
    for (QWidget* band : std::exchange(m_bands, {}))
        delete band;

    std::map<std::pair<int, QString>, std::vector<ChartCard*>> groups;
    for (ChartCard* card : cards)
        groups[groupOf(*card)].push_back(card);
    QHBoxLayout* band = nullptr;
    int room = 0; // columns that are left in the band: small groups stand side by side
    for (auto& [key, members] : groups) {
        const int count = static_cast<int>(members.size());
        if (count > room) {
            auto* box = new QWidget(m_content);
            band = new QHBoxLayout(box);
            band->setContentsMargins(0, 0, 0, 0);
            band->setSpacing(kSpacing);
            m_bands.push_back(box);
            m_column->addWidget(box, std::max(1, (count + columns - 1) / columns));
            box->show();
            room = columns;
        }
        const int rows = (count + columns - 1) / columns, used = (count + rows - 1) / rows;
        band->addWidget(makeGroup(key.second, members, used), used);
        room = rows > 1 ? 0 : room - used;
    }
}

QWidget* ChartGrid::makeGroup(const QString& name, std::vector<ChartCard*>& members, int columns)
{
    auto* box = new QWidget(m_content);
    auto* grid = new QGridLayout(box);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setSpacing(kSpacing);
    auto* title = new QLabel(name, box);
    QFont bold = title->font();
    bold.setBold(true);
    title->setFont(bold);
    grid->addWidget(title, 0, 0, 1, columns);
    std::sort(members.begin(), members.end(),
              [](const ChartCard* a, const ChartCard* b) { return a->id() < b->id(); });
    int place = 0;
    for (ChartCard* card : members) {
        card->setMinimumHeight(kCardHeight);
        card->setMinimumWidth(kCardMinimumWidth);
        grid->addWidget(card, 1 + place / columns, place % columns);
        card->show();
        ++place;
    }
    for (int i = 0; i < columns; ++i)
        grid->setColumnStretch(i, 1);
    for (int row = 1; row < grid->rowCount(); ++row)
        grid->setRowStretch(row, 1);
    return box;
}

void ChartGrid::keyPressEvent(QKeyEvent* event)
{
    if (event->modifiers() & (Qt::AltModifier | Qt::ControlModifier))
        event->ignore(); // Alt+Left goes back through the zooms, it does not scroll
    else
        QScrollArea::keyPressEvent(event);
}

} // namespace vergence
