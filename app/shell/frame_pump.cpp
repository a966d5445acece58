#include "app/shell/frame_pump.h"

#include "app/viewport/view_panel.h"
#include "core/run/run_client.h"

namespace vergence {

namespace {

constexpr int kFrameMs = 16;

}  // namespace

FramePump::FramePump(RunClient& client, ViewPanel& panel, QObject* parent)
    : QObject(parent), m_client(client), m_panel(panel)
{
    m_timer.setSingleShot(true);
    m_timer.setInterval(kFrameMs);
    connect(&m_timer, &QTimer::timeout, this, &FramePump::fetch);
    connect(&client, &RunClient::frameArrived, this, [this](const QString& stream) {
        m_dirty.insert(stream);
        if (m_isVisible && !m_timer.isActive())
            m_timer.start();
    });
    connect(&client, &RunClient::viewDeclared, this, &FramePump::declare);
    connect(&panel, &ViewPanel::viewInputChanged, &client, &RunClient::setView);
    connect(&panel, &ViewPanel::visibleStreamsChanged, &m_timer, qOverload<>(&QTimer::start));
    declare();
}

void FramePump::declare()
{
    m_panel.setStreams(m_client.streams());
    m_panel.setControls(m_client.controls());
}

void FramePump::setVisible(bool visible)
{
    m_isVisible = visible;
    m_client.setWatched(visible);
    if (visible)
        m_timer.start();
    else
        m_timer.stop();
}

void FramePump::fetch()
{
    for (const std::string& stream : m_panel.visibleStreams()) {
        const QString name = QString::fromStdString(stream);
        std::uint64_t& seen = m_seen[stream];
        if (seen != 0 && !m_dirty.contains(name))
            continue;
        std::optional<Frame> frame = m_client.frame(stream, seen);
        m_dirty.remove(name);
        if (!frame)
            continue;
        seen = frame->info.sequence;
        m_panel.setFrame(std::move(*frame));
        ++m_framesShown;
        Q_EMIT frameShown();
    }
}

}  // namespace vergence
