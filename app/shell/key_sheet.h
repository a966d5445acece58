#pragma once

#include <vector>

#include <QDialog>

class QAction;

namespace vergence {

/// Every shortcut of the window and of its views as a table (F1, `keySheet`).
class KeySheet : public QDialog {
    Q_OBJECT
public:
    KeySheet(const std::vector<QAction*>& actions, QWidget* parent);
};

} // namespace vergence
