#include "app/charts/chart_grid.h"

#include <algorithm>

#include <QGridLayout>
#include <QKeyEvent>
#include <QScrollBar>

#include "app/charts/chart_card.h"

namespace vergence {
namespace {

constexpr int kCardHeight = 156, kCardMinimumWidth = 150, kAutoWidth = 240, kSpacing = 4;

} // namespace

ChartGrid::ChartGrid(QWidget* parent)
    : QScrollArea(parent),
      m_content(new QWidget),
      m_grid(new QGridLayout(m_content))
{
    m_content->setObjectName(QStringLiteral("chartGrid"));
    m_grid->setContentsMargins(kSpacing, 2, kSpacing, kSpacing);
    m_grid->setSpacing(kSpacing);
    setWidget(m_content);
    setWidgetResizable(true);
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::NoFocus);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
}

void ChartGrid::arrange(const std::vector<ChartCard*>& cards, int columns)
{
    m_cards = cards;
    m_wanted = columns;
    place(columns > 0 ? columns : columnsThatFit());
}

int ChartGrid::columnsThatFit() const
{
    // The scroll bar counts whether it is shown or not, or else it could come and go for ever.
    const int room = width() - verticalScrollBar()->sizeHint().width() - kSpacing;
    const int most = std::max(1, static_cast<int>(m_cards.size()));
    return std::clamp(room / (kAutoWidth + kSpacing), 1, most);
}

void ChartGrid::place(int columns)
{
    m_columns = columns;
    while (QLayoutItem* item = m_grid->takeAt(0))
        delete item;
    const int count = static_cast<int>(m_cards.size()), rows = (count + columns - 1) / columns;
    QWidget* before = nullptr;
    for (int i = 0; i < count; ++i) {
        ChartCard* card = m_cards[static_cast<std::size_t>(i)];
        card->setMinimumSize(kCardMinimumWidth, kCardHeight);
        m_grid->addWidget(card, i / columns, i % columns);
        card->show();
        if (before != nullptr) // the Tab key goes the way that the eye goes
            setTabOrder(before, card);
        setTabOrder(card, card->pinButton());
        before = card->pinButton();
    }
    // A layout keeps the rows and columns that it once had.
    for (int column = 0; column < m_grid->columnCount(); ++column)
        m_grid->setColumnStretch(column, column < columns ? 1 : 0);
    for (int row = 0; row < m_grid->rowCount(); ++row)
        m_grid->setRowStretch(row, row < rows ? 1 : 0);
}

void ChartGrid::resizeEvent(QResizeEvent* event)
{
    QScrollArea::resizeEvent(event);
    if (m_wanted == 0 && columnsThatFit() != m_columns)
        place(columnsThatFit());
}

void ChartGrid::keyPressEvent(QKeyEvent* event)
{
    if (event->modifiers() & (Qt::AltModifier | Qt::ControlModifier))
        event->ignore(); // Alt+Left goes back through the zooms, it does not scroll
    else
        QScrollArea::keyPressEvent(event);
}

} // namespace vergence
