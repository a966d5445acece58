#include "app/shell/key_sheet.h"

#include <QAction>
#include <QDialogButtonBox>
#include <QHeaderView>
#include <QTreeWidget>
#include <QVBoxLayout>

namespace vergence {

KeySheet::KeySheet(const std::vector<QAction*>& actions, QWidget* parent) : QDialog(parent)
{
    setObjectName("keySheet");
    setAttribute(Qt::WA_DeleteOnClose);
    setWindowTitle(tr("Keyboard map"));
    resize(520, 620);
    auto* table = new QTreeWidget(this);
    table->setHeaderLabels({tr("Keys"), tr("Action")});
    table->setRootIsDecorated(false);
    table->setAccessibleName(windowTitle());
    table->header()->resizeSection(0, 180);
    const auto add = [table](const QString& keys, const QString& text) {
        new QTreeWidgetItem(table, {keys, text});
    };
    for (const QAction* action : actions)
        if (!action->shortcut().isEmpty())
            add(action->shortcut().toString(QKeySequence::NativeText),
                QString(action->text()).remove('&').remove("…"));
    add("Ctrl+F", tr("Find in the focused panel"));
    add("Ctrl+Z, Ctrl+Shift+Z", tr("Undo and redo in the setup"));
    add("Ctrl+C", tr("Copy the selected lines of the log"));
    add("F2", tr("Rename the selected run"));
    add("F, Home", tr("View: show everything, reset the camera"));
    add("1 … 9", tr("View: mode, or one plane alone (0: all)"));
    add("[  ]", tr("View: previous and next layer"));
    add("W A S D Q E", tr("3-D scene: fly (Shift fast, Ctrl slow)"));
    add("Shift+Wheel", tr("3-D scene: field of view"));
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
    auto* column = new QVBoxLayout(this);
    column->addWidget(table);
    column->addWidget(buttons);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::close);
}

} // namespace vergence
