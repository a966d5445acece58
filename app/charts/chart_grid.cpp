#include "app/charts/chart_grid.h"

#include <algorithm>
#include <map>
#include <utility>

#include <QGridLayout>
#include <QLabel>
#include <QVBoxLayout>

#include "app/charts/chart_card.h"

namespace vergence {
namespace {

constexpr int kCardHeight = 190, kCardMinimumWidth = 150;

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
    m_column->addStretch(1);
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
    for (QWidget* group : std::exchange(m_groups, {}))
        delete group;

    std::map<std::pair<int, QString>, std::vector<ChartCard*>> groups;
    for (ChartCard* card : cards)
        groups[groupOf(*card)].push_back(card);
    for (auto& [key, members] : groups) {
        auto* box = new QWidget(m_content);
        auto* grid = new QGridLayout(box);
        grid->setContentsMargins(0, 0, 0, 0);
        grid->setSpacing(4);
        auto* title = new QLabel(key.second, box);
        QFont bold = title->font();
        bold.setBold(true);
        title->setFont(bold);
        grid->addWidget(title, 0, 0, 1, columns);
        std::sort(members.begin(), members.end(),
                  [](const ChartCard* a, const ChartCard* b) { return a->id() < b->id(); });
        for (int i = 0; i < static_cast<int>(members.size()); ++i) {
            members[static_cast<std::size_t>(i)]->setFixedHeight(kCardHeight);
            members[static_cast<std::size_t>(i)]->setMinimumWidth(kCardMinimumWidth);
            grid->addWidget(members[static_cast<std::size_t>(i)], 1 + i / columns, i % columns);
            members[static_cast<std::size_t>(i)]->show();
        }
        for (int i = 0; i < columns; ++i)
            grid->setColumnStretch(i, 1);
        m_groups.push_back(box);
        m_column->insertWidget(m_column->count() - 1, box);
        box->show();
    }
}

} // namespace vergence
