#pragma once

#include <utility>
#include <vector>

#include <QToolBar>

#include "app/charts/curve_source.h"

class QComboBox;
class QDoubleSpinBox;
class QSlider;
class QToolButton;

namespace vergence {

/// Controls that all charts share.
class ChartToolbar : public QToolBar {
    Q_OBJECT
public:
    explicit ChartToolbar(QWidget* parent);

    const ChartSettings& settings() const { return m_settings; }
    void setZoomSteps(bool canGoBack, bool canGoForward);
    void toggleLogY();
    /// Runs that may be the reference of the others, as pairs of id and name.
    void setRuns(const std::vector<std::pair<QString, QString>>& runs);
    void setFollowing(bool on);

Q_SIGNALS:
    void settingsChanged();
    void columnsChanged(int columns);
    void backRequested();
    void forwardRequested();
    void fitRequested();
    /// "png", "svg", "csv", "json" or "copy"; of the chart that was used last, or of all of them.
    void exportRequested(const QString& format, bool ofAll);

private:
    void addSmoothing();
    void addSwitch(const char* name, const QString& text, const QString& help,
                   bool ChartSettings::*member);
    void addReference();
    void addExport();

    ChartSettings m_settings;
    QComboBox *m_axis, *m_reference;
    QAction* m_referenceAction = nullptr;
    QSlider* m_slider;
    QDoubleSpinBox* m_weight;
    QAction* m_logY = nullptr;
    QAction* m_follow = nullptr;
    QAction* m_back;
    QAction* m_forward;
};

} // namespace vergence
