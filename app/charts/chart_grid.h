#pragma once

#include <vector>

#include <QScrollArea>

class QGridLayout;

namespace vergence {

class ChartCard;

/// Cards in columns of equal width, row by row.
class ChartGrid : public QScrollArea {
    Q_OBJECT
public:
    explicit ChartGrid(QWidget* parent);

    QWidget* content() const { return m_content; }
    /// Puts these cards, children of content(), into their places; as many columns as fit where
    /// `columns` is 0. The cards must live until the next call.
    void arrange(const std::vector<ChartCard*>& cards, int columns);

protected:
    void keyPressEvent(QKeyEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    int columnsThatFit() const;
    void place(int columns);

    QWidget* m_content;
    QGridLayout* m_grid;
    std::vector<ChartCard*> m_cards;
    int m_wanted = 0; // columns; 0 for as many as fit
    int m_columns = 0;
};

} // namespace vergence
