#pragma once

#include <QObject>
#include <QThread>

#include "core/metrics/system_sampler.h"

namespace vergence {

/// Samples the computer once a second in a thread of its own.
class SystemMonitor : public QObject {
    Q_OBJECT
public:
    explicit SystemMonitor(QObject* parent = nullptr);
    ~SystemMonitor() override;

Q_SIGNALS:
    void sampled(const vergence::SystemReading& reading);

private:
    QThread m_thread;
};

/// "2 cores, 23 GB RAM, no NVIDIA GPU found".
QString computerText(const SystemReading& reading);

} // namespace vergence
