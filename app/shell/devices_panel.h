#pragma once

#include <map>

#include <QWidget>

#include "core/metrics/system_sampler.h"

class QGridLayout;
class QLabel;

namespace vergence {

class Sparkline;

/// One row per device (CPU, RAM, each GPU): figures now and a line of the last five minutes
/// (`devicesView`).
class DevicesPanel : public QWidget {
    Q_OBJECT
public:
    explicit DevicesPanel(QWidget* parent = nullptr);
    void showReading(const SystemReading& reading);
    void setUsers(const QString& text); ///< "who uses it": names of live runs

private:
    struct Row {
        QLabel* figures = nullptr;
        Sparkline* line = nullptr;
    };
    Row& row(const QString& name, const QString& tip);
    void showGpu(const GpuReading& gpu);

    QGridLayout* m_grid;
    QLabel* m_users;
    QLabel* m_noGpu;
    std::map<QString, Row> m_rows;
};

} // namespace vergence
