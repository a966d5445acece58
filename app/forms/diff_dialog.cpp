#include "app/forms/diff_dialog.h"

#include <QClipboard>
#include <QDialogButtonBox>
#include <QGuiApplication>
#include <QHeaderView>
#include <QLineEdit>
#include <QPushButton>
#include <QTableWidget>
#include <QVBoxLayout>

namespace vergence {

DiffDialog::DiffDialog(const QString& left, const QString& right, QWidget* parent)
    : QDialog(parent),
      m_right(right),
      m_filter(new QLineEdit(this)),
      m_table(new QTableWidget(0, 3, this)),
      m_copyLeft(new QPushButton(tr("Copy value left"), this)),
      m_copyFlags(new QPushButton(tr("Copy as flags"), this))
{
    setObjectName(QStringLiteral("configDiff"));
    setAttribute(Qt::WA_DeleteOnClose);
    resize(560, 360);
    auto* column = new QVBoxLayout(this);
    column->addWidget(m_filter);
    column->addWidget(m_table, 1);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
    buttons->addButton(m_copyLeft, QDialogButtonBox::ActionRole);
    buttons->addButton(m_copyFlags, QDialogButtonBox::ActionRole);
    column->addWidget(buttons);

    m_filter->setPlaceholderText(tr("Filter settings"));
    m_filter->setAccessibleName(tr("Filter settings"));
    m_filter->setClearButtonEnabled(true);
    m_table->setObjectName(QStringLiteral("configDiffTable"));
    m_table->setAccessibleName(tr("Settings that differ"));
    m_table->setHorizontalHeaderLabels({tr("Setting"), left, right});
    m_table->horizontalHeader()->setSectionResizeMode(QHeaderView::Stretch);
    m_table->verticalHeader()->hide();
    m_table->setEditTriggers(QTableWidget::NoEditTriggers);
    m_table->setSelectionBehavior(QTableWidget::SelectRows);
    m_copyLeft->setToolTip(tr("Take the value of “%1” over for the chosen rows").arg(right));

    connect(m_filter, &QLineEdit::textChanged, this, &DiffDialog::filter);
    connect(m_copyLeft, &QPushButton::clicked, this,
            [this] { Q_EMIT copyLeftRequested(chosenKeys()); });
    connect(m_copyFlags, &QPushButton::clicked, this, &DiffDialog::copyAsFlags);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::close);
}

void DiffDialog::setRows(const std::vector<ConfigDifference>& rows)
{
    m_table->setRowCount(static_cast<int>(rows.size()));
    int row = 0;
    for (const ConfigDifference& difference : rows) {
        const std::string* const texts[] = {&difference.key, &difference.a, &difference.b};
        for (int i = 0; i < 3; ++i) {
            auto* item = new QTableWidgetItem(QString::fromStdString(*texts[i]));
            item->setToolTip(item->text());
            m_table->setItem(row, i, item);
        }
        ++row;
    }
    if (row > 0)
        m_table->selectRow(0);
    m_copyLeft->setEnabled(row > 0);
    m_copyFlags->setEnabled(row > 0);
    setWindowTitle(row == 0   ? tr("Nothing differs from “%1”").arg(m_right)
                   : row == 1 ? tr("1 setting differs from “%1”").arg(m_right)
                              : tr("%1 settings differ from “%2”").arg(row).arg(m_right));
    filter();
}

void DiffDialog::filter()
{
    for (int row = 0; row < m_table->rowCount(); ++row) {
        bool isHit = false;
        for (int i = 0; i < 3; ++i)
            isHit = isHit ||
                    m_table->item(row, i)->text().contains(m_filter->text(), Qt::CaseInsensitive);
        m_table->setRowHidden(row, !isHit);
    }
}

QStringList DiffDialog::chosenKeys() const
{
    QStringList keys;
    for (const QModelIndex& index : m_table->selectionModel()->selectedRows())
        if (!m_table->isRowHidden(index.row()))
            keys.append(m_table->item(index.row(), 0)->text());
    return keys;
}

void DiffDialog::copyAsFlags() const
{
    QStringList flags;
    for (int row = 0; row < m_table->rowCount(); ++row)
        if (!m_table->isRowHidden(row))
            flags.append(QStringLiteral("--set %1=%2")
                             .arg(m_table->item(row, 0)->text(), m_table->item(row, 1)->text()));
    QGuiApplication::clipboard()->setText(flags.join(u' '));
}

} // namespace vergence
