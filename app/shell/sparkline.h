#pragma once

#include <deque>
#include <optional>

#include <QWidget>

namespace vergence {

/// The last five minutes of one quantity between 0 and a maximum, one value a second. Missing
/// values are gaps.
class Sparkline : public QWidget {
    Q_OBJECT
public:
    explicit Sparkline(QWidget* parent = nullptr);
    void append(std::optional<double> value, double maximum);
    QSize sizeHint() const override { return {180, 26}; }
    QSize minimumSizeHint() const override { return {60, 20}; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    std::deque<std::optional<double>> m_values;
    double m_maximum = 100;
};

} // namespace vergence
