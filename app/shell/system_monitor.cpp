#include "app/shell/system_monitor.h"

#include <memory>

#include <QTimer>

namespace vergence {

namespace {

constexpr int kPeriodMs = 1000;

/// Lives in the sampling thread and makes the sampler there: opening NVML may take a while.
class Sampling : public QObject {
public:
    explicit Sampling(SystemMonitor& monitor) : m_monitor(monitor) {}

    void start()
    {
        m_sampler = std::make_unique<SystemSampler>(0);
        m_timer = std::make_unique<QTimer>();
        QObject::connect(m_timer.get(), &QTimer::timeout, m_timer.get(), [this] { sample(); });
        m_timer->start(kPeriodMs);
        sample();
    }
    void end() { m_timer.reset(); }

private:
    void sample() { Q_EMIT m_monitor.sampled(m_sampler->sample()); }

    SystemMonitor& m_monitor;
    std::unique_ptr<SystemSampler> m_sampler;
    std::unique_ptr<QTimer> m_timer;
};

} // namespace

SystemMonitor::SystemMonitor(QObject* parent) : QObject(parent)
{
    qRegisterMetaType<SystemReading>();
    auto* sampling = new Sampling(*this);
    sampling->moveToThread(&m_thread);
    connect(&m_thread, &QThread::started, sampling, [sampling] { sampling->start(); });
    connect(&m_thread, &QThread::finished, sampling, [sampling] {
        sampling->end();
        sampling->deleteLater();
    });
    m_thread.start(QThread::LowPriority);
}

SystemMonitor::~SystemMonitor()
{
    m_thread.quit();
    m_thread.wait();
}

QString computerText(const SystemReading& reading)
{
    const double gib = static_cast<double>(reading.memoryTotalBytes) / (1u << 30);
    const int cores = QThread::idealThreadCount();
    const QString base =
        (cores == 1 ? SystemMonitor::tr("1 core") : SystemMonitor::tr("%1 cores").arg(cores)) +
        SystemMonitor::tr(", %1 GB RAM, ").arg(qRound(gib));
    if (reading.gpus.empty())
        return base + SystemMonitor::tr("no NVIDIA GPU found");
    QStringList names;
    for (const GpuReading& gpu : reading.gpus)
        names << QString::fromStdString(gpu.name);
    return base + names.join(", ");
}

} // namespace vergence
