#include "core/run/run_client.h"

#include <csignal>
#include <utility>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/run/frame_file.h"
#include "core/run/messages.h"
#include "core/run/run_client_impl.h"

namespace vergence {

RunClient::RunClient(RunFolder folder, QObject* parent)
    : QObject(parent),
      m_impl(std::make_unique<Impl>(*this, std::move(folder)))
{
}

RunClient::~RunClient()
{
    // A socket that closes in its destructor must not wake what is half gone.
    m_impl->link.disconnect(this);
    m_impl->process.disconnect(this);
}

void RunClient::start(const QString& executable, const QStringList& arguments)
{
    Impl& impl = *m_impl;
    expects(!impl.process.isRunning() || isFinal(impl.state),
            "RunClient::start: a worker of this run is alive");
    impl.isExploring = arguments.value(0) == QStringLiteral("view");
    impl.lastProblem.clear();
    impl.lostHeartbeat = -1;
    impl.pendingStart = Impl::Command{executable, arguments};
    if (!impl.isExploring) {
        impl.isStarting = true;
        impl.startedPid = 0;
        impl.history.restart();
        Q_EMIT metricsRestarted();
        impl.status.problem.clear();
        impl.status.problemId.clear();
        impl.status.exitCode.reset();
        impl.status.socket.clear();
        impl.setState(RunState::Starting);
    }
    if (!impl.process.isRunning())
        impl.launch();
    else if (impl.link.isConnected()) // an earlier worker still shows its results: it makes way
        impl.link.request("stop");
}

void RunClient::Impl::launch()
{
    link.close(); // while the start is pending, so that nobody judges the earlier worker again
    link.clearRequests();
    const Command command = *std::exchange(pendingStart, std::nullopt);
    process.start(command.executable, command.arguments, folder);
    startedPid = process.processId();
    schedule();
}

void RunClient::attach()
{
    m_impl->lostHeartbeat = -1;
    m_impl->readManifest();
    m_impl->follow();
    Q_EMIT stateChanged(m_impl->state);
}

const RunFolder& RunClient::folder() const
{
    return m_impl->folder;
}

RunState RunClient::state() const
{
    return m_impl->state;
}

const RunStatus& RunClient::status() const
{
    return m_impl->status;
}

const MetricStore& RunClient::metrics() const
{
    return m_impl->history.metrics();
}

std::vector<StreamDecl> RunClient::streams() const
{
    return m_impl->streams;
}

std::vector<ViewControl> RunClient::controls() const
{
    return m_impl->controls;
}

const std::vector<ClosedChoice>& RunClient::closedChoices() const
{
    return m_impl->closedChoices;
}

const std::map<std::string, std::string>& RunClient::liveSettings() const
{
    return m_impl->liveSettings;
}

const std::vector<nlohmann::json>& RunClient::artifacts() const
{
    return m_impl->artifacts;
}

const std::vector<nlohmann::json>& RunClient::tables() const
{
    return m_impl->tables;
}

QString RunClient::phase() const
{
    return m_impl->phase;
}

std::optional<Frame> RunClient::frame(const std::string& stream, std::uint64_t seen)
{
    const auto found = m_impl->rings.find(stream);
    if (found == m_impl->rings.end())
        return std::nullopt;
    Impl::Ring& ring = found->second;
    if (!ring.file.empty())
        return readFrameFile(ring.file, seen);
    try {
        if (!ring.reader)
            ring.reader = std::make_unique<FrameRingReader>(ring.name);
        std::optional<Frame> newest = ring.reader->readNewest(seen);
        if (newest && newest->shared && !m_impl->link.isConnected())
            return std::nullopt; // device memory ends with its worker
        return newest;
    } catch (const InputError& error) { // the worker has ended meanwhile
        log("run").debug("Frames of {} are gone: {}", stream, error.what());
        m_impl->rings.erase(found);
        return std::nullopt;
    }
}

bool RunClient::isConnected() const
{
    return m_impl->link.isConnected();
}

void RunClient::Impl::request(const char* type)
{
    if (link.isConnected() || isLive(state))
        link.request(type);
}

void RunClient::pause()
{
    m_impl->request("pause");
}

void RunClient::resume()
{
    m_impl->request("resume");
}

void RunClient::stop()
{
    m_impl->request("stop");
}

void RunClient::checkpoint()
{
    m_impl->request("checkpoint");
}

void RunClient::kill()
{
    // The file may be of an earlier worker while a new one starts.
    if (const int child = m_impl->process.processId(); child > 0)
        ::kill(child, SIGKILL);
    else if (m_impl->status.pid > 0 && isWorkerAlive(m_impl->status))
        ::kill(m_impl->status.pid, SIGKILL);
    else if (isLive(m_impl->state) && !isOfThisComputer(m_impl->status))
        m_impl->link.request("kill_after", {{"seconds", 0}});
}

void RunClient::markStopped()
{
    Impl& impl = *m_impl;
    if (!next(impl.state, RunEvent::MarkedStopped))
        return;
    impl.status.state = nameOf(RunState::Stopped);
    impl.status.socket.clear();
    impl.status.rings.clear();
    try {
        writeStatus(impl.folder, impl.status);
    } catch (const OutputError& error) {
        impl.raise("E-OUTPUT", error.what());
        return;
    }
    impl.setState(RunState::Stopped);
}

void RunClient::setLive(const std::string& key, const std::string& tomlValue)
{
    if (m_impl->link.isConnected() || isLive(m_impl->state))
        m_impl->link.request("set", {{"key", key}, {"value", tomlValue}});
}

void RunClient::setView(const ViewInput& input)
{
    m_impl->link.sendView(input);
}

void RunClient::setWatched(bool watched, const std::string& sharedDevice)
{
    const WatchRequest wanted{watched, sharedDevice};
    if (m_impl->watchRequest == wanted)
        return;
    const bool isHeard = watched || m_impl->watchRequest.isWatching;
    m_impl->watchRequest = wanted;
    if (isHeard && m_impl->link.isConnected())
        m_impl->link.request("watch", watchToJson(wanted));
    else if (m_impl->isAfar)
        m_impl->follow();
}

} // namespace vergence
