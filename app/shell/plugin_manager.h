#pragma once

#include <QDialog>

#include "app/shell/probe_catalog.h"

class QLabel;
class QPushButton;
class QTreeWidget;

namespace vergence {

/// All plugin files that were found (`pluginManager`), the refused ones with their sentence.
class PluginManager : public QDialog {
    Q_OBJECT
public:
    explicit PluginManager(ProbeCatalog& catalog, QWidget* parent = nullptr);

private:
    QWidget* makeButtons();
    void fill();
    void showDetails();
    const PluginInfo* current() const;

    ProbeCatalog& m_catalog;
    QTreeWidget* m_table;
    QLabel* m_details;
    QPushButton *m_enable = nullptr, *m_release = nullptr, *m_folder = nullptr, *m_copy = nullptr;
};

} // namespace vergence
