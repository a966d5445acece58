#pragma once

#include <vector>

#include <QWidget>

class QToolButton;
class QVBoxLayout;

namespace vergence {

class FieldRow;

/// Fields of one group under a title that folds them away.
class FormSection : public QWidget {
    Q_OBJECT
public:
    FormSection(const QString& group, QWidget* parent);

    QWidget* body() const { return m_body; }
    void addRow(FieldRow* row);
    const std::vector<FieldRow*>& rows() const { return m_rows; }

    bool isOpen() const { return m_isOpen; }
    void setOpen(bool open); ///< as the user wants it
    /// Open because it holds hits of a search; goes back to what the user wants when the search
    /// ends.
    void setForcedOpen(bool forced);
    void setHits(int shown); ///< hidden where none is shown

private:
    void refresh();

    QString m_title;
    QToolButton* m_header;
    QWidget* m_body;
    QVBoxLayout* m_column;
    std::vector<FieldRow*> m_rows;
    bool m_isOpen = true, m_isForced = false;
};

} // namespace vergence
