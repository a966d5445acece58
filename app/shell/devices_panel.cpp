#include "app/shell/devices_panel.h"

#include <QGridLayout>
#include <QLabel>
#include <QScrollArea>
#include <QVBoxLayout>

#include "app/shell/sparkline.h"

namespace vergence {

namespace {

double gib(std::uint64_t bytes)
{
    return static_cast<double>(bytes) / (1u << 30);
}

} // namespace

DevicesPanel::DevicesPanel(QWidget* parent) : QWidget(parent)
{
    setObjectName("devicesView");
    auto* content = new QWidget;
    m_grid = new QGridLayout;
    m_grid->setColumnStretch(2, 1);
    m_grid->setHorizontalSpacing(12);
    m_noGpu = new QLabel(tr("No NVIDIA GPU was found; runs use the CPU."), content);
    m_noGpu->setWordWrap(true);
    m_users = new QLabel(content);
    m_users->setWordWrap(true);
    auto* inner = new QVBoxLayout(content);
    inner->addLayout(m_grid);
    inner->addWidget(m_noGpu);
    inner->addWidget(m_users);
    inner->addStretch();
    auto* area = new QScrollArea(this);
    area->setWidgetResizable(true);
    area->setFrameShape(QFrame::NoFrame);
    area->setWidget(content);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(area);
    setUsers({});
}

DevicesPanel::Row& DevicesPanel::row(const QString& name, const QString& tip)
{
    Row& row = m_rows[name];
    if (row.line != nullptr)
        return row;
    const int index = m_grid->rowCount();
    auto* title = new QLabel(name, this);
    title->setToolTip(tip);
    row.figures = new QLabel(this);
    row.figures->setMinimumWidth(fontMetrics().horizontalAdvance("00.0 of 000.0 GB   "));
    row.line = new Sparkline(this);
    row.line->setAccessibleName(tr("%1, last five minutes").arg(name));
    row.line->setToolTip(tr("Last five minutes"));
    m_grid->addWidget(title, index, 0);
    m_grid->addWidget(row.figures, index, 1);
    m_grid->addWidget(row.line, index, 2);
    return row;
}

void DevicesPanel::showReading(const SystemReading& reading)
{
    Row& cpu = row(tr("CPU"), tr("Load over all cores"));
    cpu.figures->setText(tr("%1 %").arg(reading.systemCpuPercent, 0, 'f', 0));
    cpu.line->append(reading.systemCpuPercent, 100);
    const double total = gib(reading.memoryTotalBytes);
    const double used = total - gib(reading.memoryAvailableBytes);
    Row& memory = row(tr("RAM"), tr("Memory in use"));
    memory.figures->setText(tr("%1 of %2 GB").arg(used, 0, 'f', 1).arg(total, 0, 'f', 1));
    memory.line->append(used, total);
    for (const GpuReading& gpu : reading.gpus)
        showGpu(gpu);
    m_noGpu->setVisible(reading.gpus.empty());
}

void DevicesPanel::showGpu(const GpuReading& gpu)
{
    const QString name = QString::fromStdString(gpu.name);
    const QString tip =
        tr("%1\nDriver %2")
            .arg(QString::fromStdString(gpu.uuid), QString::fromStdString(gpu.driver));
    const auto text = [](std::optional<double> value, const QString& form) {
        return value ? form.arg(*value, 0, 'f', 0) : QString();
    };
    Row& load = row(name, tip);
    load.figures->setText(QStringList{text(gpu.utilisationPercent, tr("%1 %")),
                                      text(gpu.temperatureCelsius, tr("%1 °C")),
                                      text(gpu.powerWatts, tr("%1 W"))}
                              .join(' '));
    load.line->append(gpu.utilisationPercent, 100);
    Row& memory = row(tr("%1 memory").arg(name), tip);
    memory.figures->setText(
        tr("%1 of %2 GB").arg(gib(gpu.usedBytes), 0, 'f', 1).arg(gib(gpu.totalBytes), 0, 'f', 1));
    memory.line->append(gib(gpu.usedBytes), gib(gpu.totalBytes));
}

void DevicesPanel::setUsers(const QString& text)
{
    const QString line = text.isEmpty() ? tr("No run is going on.") : tr("In use by: %1").arg(text);
    if (m_users->text() != line)
        m_users->setText(line);
}

} // namespace vergence
