#include "app/shell/command_palette.h"

#include <algorithm>

#include <QCoreApplication>
#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QVBoxLayout>

#include "app/style/theme.h"

namespace vergence {

namespace {

constexpr std::size_t kMostShown = 60;
constexpr int kEntryRole = Qt::UserRole, kDetailRole = Qt::UserRole + 1;
constexpr int kGap = 24; ///< pixels between text and detail, at least

/// Text on the left, shortcut or explanation on the right.
class PaletteDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;

    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override
    {
        const QString detail = index.data(kDetailRole).toString();
        const QString name = index.data(Qt::DisplayRole).toString();
        const int room =
            option.rect.width() - option.fontMetrics.horizontalAdvance(name) - 2 * kGap;
        const QString shown = option.fontMetrics.elidedText(detail, Qt::ElideRight, room);
        QStyledItemDelegate::paint(painter, option, index);
        const bool isSelected = option.state & QStyle::State_Selected;
        painter->setPen(isSelected ? option.palette.color(QPalette::HighlightedText)
                                   : mutedColour(option.palette));
        painter->drawText(option.rect.adjusted(kGap, 0, -8, 0), Qt::AlignRight | Qt::AlignVCenter,
                          shown);
    }
};

} // namespace

int paletteScore(const QString& text, const QString& typed)
{
    int score = 1;
    for (const QString& word : typed.split(' ', Qt::SkipEmptyParts)) {
        const auto at = text.indexOf(word, 0, Qt::CaseInsensitive);
        if (at < 0)
            return 0;
        const bool isWordStart = at == 0 || !text[at - 1].isLetterOrNumber();
        score += isWordStart ? 20 : 5;
        score += std::max(0, 10 - static_cast<int>(at) / 4);
    }
    return score;
}

CommandPalette::CommandPalette(std::vector<PaletteEntry> entries, QWidget* parent)
    : QDialog(parent, Qt::Popup),
      m_entries(std::move(entries))
{
    setObjectName("commandPalette");
    setAttribute(Qt::WA_DeleteOnClose);
    resize(620, 420);
    m_input = new QLineEdit(this);
    m_input->setObjectName("commandInput");
    m_input->setPlaceholderText(tr("Search actions, presets, settings and runs"));
    m_input->setAccessibleName(m_input->placeholderText());
    m_input->installEventFilter(this);
    m_list = new QListWidget(this);
    m_list->setObjectName("commandList");
    m_list->setAccessibleName(tr("Matches"));
    m_list->setUniformItemSizes(true);
    m_list->setItemDelegate(new PaletteDelegate(m_list));
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 8, 8, 8);
    column->addWidget(m_input);
    column->addWidget(m_list);
    connect(m_input, &QLineEdit::textChanged, this, &CommandPalette::filter);
    connect(m_list, &QListWidget::itemClicked, this, &CommandPalette::choose);
    filter({});
    m_input->setFocus();
}

void CommandPalette::filter(const QString& typed)
{
    std::vector<std::pair<int, std::size_t>> ranked;
    for (std::size_t i = 0; i < m_entries.size(); ++i)
        if (const int score = paletteScore(m_entries[i].text, typed); score > 0)
            ranked.emplace_back(-score, i);
    std::stable_sort(ranked.begin(), ranked.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    m_list->clear();
    for (std::size_t i = 0; i < std::min(ranked.size(), kMostShown); ++i) {
        const PaletteEntry& entry = m_entries[ranked[i].second];
        auto* item = new QListWidgetItem(entry.text, m_list);
        item->setData(kDetailRole, entry.detail);
        item->setData(Qt::AccessibleTextRole, (entry.text + " " + entry.detail).trimmed());
        item->setData(kEntryRole, static_cast<qulonglong>(ranked[i].second));
    }
    if (ranked.empty())
        (new QListWidgetItem(tr("Nothing matches “%1”.").arg(typed), m_list))
            ->setFlags(Qt::NoItemFlags);
    m_list->setCurrentRow(0);
}

void CommandPalette::choose()
{
    const QListWidgetItem* item = m_list->currentItem();
    if (item == nullptr || !item->data(kEntryRole).isValid())
        return;
    const std::function<void()> run = m_entries[item->data(kEntryRole).toULongLong()].run;
    close();
    // After the popup is gone, so that the focus is back where the action expects it.
    QMetaObject::invokeMethod(QCoreApplication::instance(), run, Qt::QueuedConnection);
}

bool CommandPalette::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() != QEvent::KeyPress)
        return QDialog::eventFilter(watched, event);
    const int key = static_cast<QKeyEvent*>(event)->key();
    if (key == Qt::Key_Return || key == Qt::Key_Enter) {
        choose();
        return true;
    }
    if (key == Qt::Key_Up || key == Qt::Key_Down || key == Qt::Key_PageUp ||
        key == Qt::Key_PageDown) {
        QCoreApplication::sendEvent(m_list, event);
        return true;
    }
    return QDialog::eventFilter(watched, event);
}

} // namespace vergence
