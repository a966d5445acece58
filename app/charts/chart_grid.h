#pragma once

#include <vector>

#include <QScrollArea>

class QLabel;
class QVBoxLayout;

namespace vergence {

class ChartCard;

/// Cards in columns, grouped by the part of their name before "/": pinned cards first, tables after
/// the series, the computer's own series ("system/…") last.
class ChartGrid : public QScrollArea {
    Q_OBJECT
public:
    explicit ChartGrid(QWidget* parent);

    QWidget* content() const { return m_content; }
    /// Puts these cards, children of content(), into their places.
    void arrange(const std::vector<ChartCard*>& cards, int columns);

protected:
    void keyPressEvent(QKeyEvent* event) override;

private:
    QWidget* makeGroup(const QString& name, std::vector<ChartCard*>& members, int columns);

    QWidget* m_content;
    QVBoxLayout* m_column;
    std::vector<QWidget*> m_bands;
};

} // namespace vergence
