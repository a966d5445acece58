#pragma once

#include <vector>

#include <QDialog>

#include "core/config/config.h"

class QLineEdit;
class QPushButton;
class QTableWidget;

namespace vergence {

/// Rows in which two configurations differ (`configDiff`); values of the right one can be taken
/// over.
class DiffDialog : public QDialog {
    Q_OBJECT
public:
    DiffDialog(const QString& left, const QString& right, QWidget* parent);

    /// Differences with `a` on the left and `b` on the right.
    void setRows(const std::vector<ConfigDifference>& rows);

Q_SIGNALS:
    void copyLeftRequested(const QStringList& keys);

private:
    void filter();
    QStringList chosenKeys() const;
    void copyAsFlags() const;

    QString m_right;
    QLineEdit* m_filter;
    QTableWidget* m_table;
    QPushButton* m_copyLeft;
    QPushButton* m_copyFlags;
};

} // namespace vergence
