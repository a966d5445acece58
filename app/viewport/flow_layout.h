#pragma once

#include <memory>
#include <vector>

#include <QLayout>

namespace vergence {

/// Puts widgets side by side and breaks the line only where the width ends. Widgets that expand
/// share what a line leaves over; those added with Qt::AlignRight stand at its right end.
class FlowLayout : public QLayout {
public:
    FlowLayout(QWidget* parent, int spacing); ///< `spacing` pixels between neighbours

    void addItem(QLayoutItem* item) override;
    int count() const override;
    QLayoutItem* itemAt(int index) const override;
    QLayoutItem* takeAt(int index) override;
    Qt::Orientations expandingDirections() const override;
    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override;
    QSize sizeHint() const override;    ///< everything on one line
    QSize minimumSize() const override; ///< the widest item alone
    void setGeometry(const QRect& area) override;

private:
    struct Place {
        QLayoutItem* item;
        int width, height;
    };
    using Line = std::vector<Place>;

    std::vector<Line> lines(int width) const;
    void expand(Line& line, int width) const;
    void place(const Line& line, QRect area) const;

    std::vector<std::unique_ptr<QLayoutItem>> m_items;
};

} // namespace vergence
