#include "core/run/run_controller.h"

#include <atomic>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/run/live_settings.h"
#include "core/run/messages.h"
#include "core/run/run_loop.h"

namespace vergence {

namespace {

constexpr double kRetryInterval = 1;            // s between attempts to write to a full disk
constexpr std::size_t kPointsPerMessage = 4096; // keeps a message far below kLongestMessage
constexpr int kProtocolVersion = 1;

/// Shared-memory names must differ between controllers of one process too (tests).
std::string ringPrefix()
{
    static std::atomic<int> counter{0};
    return fmt::format("/vergence-{}-{}-", ::getpid(), counter++);
}

nlohmann::json liveMessage(const LiveSettings::Values& values)
{
    return {{"type", "live"}, {"values", values}};
}

} // namespace

struct RunController::Impl {
    Impl(std::unique_ptr<Run> run, Config initial, std::shared_ptr<Device> on, RunSettings given)
        : settings(std::move(given)),
          device(std::move(on)),
          live(initial, [this](const auto& values) { outbox.send(liveMessage(values)); }),
          status(settings, device->info()),
          control([this](RunState state) { stateChanged(state); }),
          journal(settings.folder, metrics),
          artifacts(settings.folder),
          frames(ringPrefix()),
          manifest(settings, initial, device->info()),
          context({device, artifacts, frames, metrics, outbox, control, settings.exploresOnly,
                   settings.streams},
                  std::move(initial), settings.previewIntervalSeconds),
          loop(std::move(run), {settings, control, outbox, metrics, journal, artifacts, frames,
                                manifest, status, context, live})
    {
    }

    void stateChanged(RunState state);
    nlohmann::json stateMessage(RunState state) const;
    void keep(std::vector<std::string> events, std::vector<std::string> logs);
    void flush();
    void writeStatusNow();
    void diskIsFull(const OutputError& error);
    void checkTimeLimit();
    void timeIsUp(const std::string& why);
    void appendMetrics(std::vector<nlohmann::json>& messages, MetricLog::Points points) const;
    StatusWriter::Now now() const;

    const RunSettings settings;
    const std::shared_ptr<Device> device;
    Outbox outbox;
    LiveSettings live;
    StatusWriter status;
    RunControl control;
    MetricLog metrics;
    RunJournal journal;
    ArtifactStore artifacts;
    FramePublisher frames;
    RunManifest manifest;
    ControllerContext context;
    RunLoop loop;
    std::jthread thread;
    int logListener = 0;
    double startedAt = 0;
    bool isTimeUp = false;
    // of the thread that polls
    std::optional<RunState> writtenState;
    std::int64_t sentStep = -1;
    double retryAt = 0;
    bool hasAnnouncedLines = false; ///< clients know how many lines metrics.csv keeps
    std::atomic<bool> isBlocked{false};
};

RunController::RunController(std::unique_ptr<Run> run, Config config,
                             std::shared_ptr<Device> device, RunSettings settings)
{
    expects(run != nullptr, "RunController: needs a run");
    expects(device != nullptr, "RunController: needs a device");
    m_impl = std::make_unique<Impl>(std::move(run), std::move(config), std::move(device),
                                    std::move(settings));
    if (!m_impl->settings.streams.empty())
        m_impl->outbox.setStreams(streamsToJson(m_impl->settings.streams));
    m_impl->outbox.send(liveMessage(m_impl->live.values()));
}

RunController::~RunController()
{
    if (m_impl->thread.joinable()) {
        m_impl->control.abandon();
        m_impl->thread.join();
        poll();
    }
    removeLogListener(m_impl->logListener);
    m_impl->status.removeExplorer();
}

void RunController::start()
{
    expects(!m_impl->thread.joinable(), "RunController: was started already");
    Impl& impl = *m_impl;
    impl.startedAt = steadySeconds();
    impl.outbox.startLogAt(impl.journal.logLines());
    impl.logListener = addLogListener([&impl](const LogLine& line) { impl.outbox.logged(line); });
    impl.artifacts.setListener([&impl](const Artifact& artifact) {
        nlohmann::json message = artifactToJson(artifact);
        message["type"] = "artifact";
        impl.outbox.tell(std::move(message));
    });
    if (impl.settings.exploresOnly) {
        // The run keeps the state that it ended in; one that never came to an end counts as stopped
        // here.
        const auto state = runStateFromName(readStatus(impl.settings.folder).state);
        impl.control.startAt(state && isFinal(*state) ? *state : RunState::Stopped);
    } else {
        impl.stateChanged(RunState::Starting);
    }
    impl.thread = std::jthread([&impl] { impl.loop.work(); });
}

void RunController::Impl::stateChanged(RunState state)
{
    if (state == RunState::Running)
        status.clearProblem();
    outbox.tell(stateMessage(state));
}

nlohmann::json RunController::Impl::stateMessage(RunState state) const
{
    const RunStatus known = status.status();
    nlohmann::json message{{"type", "state"},          {"state", nameOf(state)},
                           {"step", context.step()},   {"total", loop.totalSteps()},
                           {"problem", known.problem}, {"problem_id", known.problemId}};
    if (known.exitCode)
        message["exit_code"] = *known.exitCode;
    return message;
}

bool RunController::requestPause()
{
    return m_impl->control.apply(RunEvent::PauseRequested);
}

bool RunController::requestResume()
{
    return m_impl->control.apply(RunEvent::ResumeRequested);
}

bool RunController::requestStop(ExitCode code)
{
    return m_impl->control.requestStop(code);
}

void RunController::requestTimeUp(const std::string& why)
{
    m_impl->timeIsUp(why);
}

bool RunController::requestCheckpoint()
{
    return m_impl->control.requestCheckpoint();
}

std::optional<std::string> RunController::setLive(const std::string& key,
                                                  const std::string& tomlValue)
{
    return m_impl->control.changeSetting(key, [&] {
        return m_impl->live.change({{key, tomlValue}});
    });
}

void RunController::setView(const ViewInput& input)
{
    m_impl->control.setView(input);
}

void RunController::setWatched(bool watched)
{
    m_impl->frames.setWatched(watched);
    m_impl->control.setWatched(watched);
}

void RunController::setWantsShared(bool wants)
{
    Impl& impl = *m_impl;
    const bool wanted = impl.frames.wantsShared(), wantsNow = wants && !impl.device->isCpu();
    impl.frames.setWantsShared(wantsNow);
    if (wanted && !wantsNow && impl.control.isWatched())
        impl.control.requestView();
}

void RunController::record(const std::string& name, double value)
{
    if (!m_impl->settings.exploresOnly && isLive(state()) && m_impl->journal.isOpen())
        m_impl->metrics.record(name, value, m_impl->context.step());
}

void RunController::addResources(const nlohmann::json& resources)
{
    m_impl->manifest.addResources(resources);
}

const RunSettings& RunController::settings() const
{
    return m_impl->settings;
}

const DeviceInfo& RunController::device() const
{
    return m_impl->device->info();
}

RunState RunController::state() const
{
    return m_impl->control.state();
}

std::int64_t RunController::step() const
{
    return m_impl->context.step();
}

std::int64_t RunController::totalSteps() const
{
    return m_impl->loop.totalSteps();
}

bool RunController::isPrepared() const
{
    return m_impl->loop.isPrepared();
}

bool RunController::isFinished() const
{
    return m_impl->loop.isFinished();
}

ExitCode RunController::exitCode() const
{
    return static_cast<ExitCode>(m_impl->status.status().exitCode.value_or(0));
}

void RunController::Impl::diskIsFull(const OutputError& error)
{
    retryAt = steadySeconds() + kRetryInterval;
    if (isBlocked.exchange(true) && control.state() != RunState::Running)
        return;
    const std::string sentence = fmt::format(
        "{} The run is paused and keeps its numbers in memory: free some space, then resume.",
        error.what());
    status.setProblem("E-DISK", sentence);
    outbox.tell({{"type", "problem"}, {"id", "E-DISK"}, {"sentence", sentence}});
    control.apply(RunEvent::PauseRequested);
}

void RunController::Impl::flush()
{
    if (isBlocked && steadySeconds() < retryAt && control.state() != RunState::Running)
        return;
    try {
        journal.flush();
        isBlocked = false;
    } catch (const OutputError& error) {
        if (error.diskIsFull())
            diskIsFull(error);
        else
            control.failWith(std::current_exception());
    }
}

StatusWriter::Now RunController::Impl::now() const
{
    const bool isOver = loop.isFinished();
    return {control.state(), context.step(), loop.totalSteps(), context.currentPhase(),
            isOver ? std::vector<std::string>() : frames.ringNames()};
}

void RunController::Impl::writeStatusNow()
{
    const StatusWriter::Now current = now();
    try {
        status.write(current);
        writtenState = current.state;
    } catch (const OutputError& error) {
        if (error.diskIsFull())
            diskIsFull(error);
        else
            control.failWith(std::current_exception());
    }
}

void RunController::Impl::checkTimeLimit()
{
    if (settings.timeLimitSeconds <= 0 || isTimeUp ||
        steadySeconds() - startedAt < settings.timeLimitSeconds)
        return;
    timeIsUp(fmt::format(
        "The time limit of {:.0f} s is reached; the run saves and stops. Resume it to go on.",
        settings.timeLimitSeconds));
}

void RunController::Impl::timeIsUp(const std::string& why)
{
    isTimeUp = true;
    const bool isOver = isFinal(control.state()); // it only serves viewers
    if (control.requestStop(ExitCode::TimeLimit) && !isOver)
        outbox.tell({{"type", "problem"}, {"id", "E-TIME"}, {"sentence", why}});
}

void RunController::Impl::appendMetrics(std::vector<nlohmann::json>& messages,
                                        MetricLog::Points points) const
{
    for (std::size_t begin = 0; begin < points.points.size(); begin += kPointsPerMessage) {
        const std::size_t count = std::min(kPointsPerMessage, points.points.size() - begin);
        messages.push_back({{"type", "metrics"},
                            {"first", points.first + static_cast<std::int64_t>(begin)},
                            {"points", pointsToJson(points.points.data() + begin, count)}});
    }
}

void RunController::setFrameListener(std::function<void()> listener)
{
    expects(!m_impl->thread.joinable(), "setFrameListener: the run was started already");
    m_impl->frames.setNoticeListener(std::move(listener));
}

std::vector<nlohmann::json> RunController::pollFrames()
{
    return m_impl->outbox.frameMessages(m_impl->frames.drainNotices());
}

std::vector<Frame> RunController::newestFrames(const std::map<std::string, std::uint64_t>& seen)
{
    std::vector<Frame> frames;
    for (const auto& [stream, sequence] : m_impl->frames.sequences()) {
        const auto known = seen.find(stream);
        if (known != seen.end() && known->second >= sequence)
            continue;
        Frame frame = m_impl->frames.newest(stream);
        if (!frame.info.stream.empty() && !frame.shared)
            frames.push_back(std::move(frame));
    }
    return frames;
}

std::vector<nlohmann::json> RunController::poll()
{
    Impl& impl = *m_impl;
    impl.checkTimeLimit();
    const bool isOver = isFinal(impl.control.state());
    std::vector<nlohmann::json> frameMessages = pollFrames();
    Outbox::Batch batch = impl.outbox.take(isOver);
    batch.messages.insert(batch.messages.end(), frameMessages.begin(), frameMessages.end());
    // What was said before `batch` was taken has its numbers recorded by now, so they go first and
    // nothing overtakes them.
    std::vector<nlohmann::json> messages;
    if (!impl.settings.exploresOnly && impl.journal.isOpen()) {
        MetricLog::Points fresh = impl.metrics.takeUnsent();
        if (!std::exchange(impl.hasAnnouncedLines, true))
            messages.push_back(
                {{"type", "metrics"}, {"first", fresh.first}, {"points", nlohmann::json::array()}});
        impl.appendMetrics(messages, std::move(fresh));
        impl.journal.add(std::move(batch.events), std::move(batch.logs));
        impl.flush();
    } else if (!impl.settings.exploresOnly) {
        impl.journal.add(std::move(batch.events), std::move(batch.logs));
    }
    if (impl.writtenState != impl.control.state())
        impl.writeStatusNow();
    messages.insert(messages.end(), std::make_move_iterator(batch.messages.begin()),
                    std::make_move_iterator(batch.messages.end()));
    if (const std::int64_t step = impl.context.step(); step != impl.sentStep) {
        impl.sentStep = step;
        // Behind the states of the batch, which name older steps, but not behind the last word.
        const bool hasLastWord = !messages.empty() && messages.back().at("type") == "done";
        messages.insert(messages.end() - (hasLastWord ? 1 : 0),
                        nlohmann::json{{"type", "progress"},
                                       {"step", step},
                                       {"total", impl.loop.totalSteps()},
                                       {"wall_s", impl.metrics.wallSeconds()}});
    }
    return messages;
}

std::vector<nlohmann::json> RunController::snapshot() const
{
    const Impl& impl = *m_impl;
    const MetricLog::Points unwritten = impl.metrics.sentButUnwritten();
    const RunStatus known = impl.status.status();
    std::vector<nlohmann::json> messages;
    messages.push_back({{"type", "hello"},
                        {"protocol", kProtocolVersion},
                        {"run", impl.settings.folder.id()},
                        {"plugin", impl.settings.plugin},
                        {"pid", known.pid},
                        {"state", nameOf(impl.control.state())},
                        {"step", impl.context.step()},
                        {"total", impl.loop.totalSteps()},
                        {"metric_lines", unwritten.first},
                        {"log_lines", impl.journal.logLines()}});
    messages.push_back(impl.stateMessage(impl.control.state()));
    impl.appendMetrics(messages, unwritten);
    for (nlohmann::json& message : impl.outbox.late())
        messages.push_back(std::move(message));
    return messages;
}

void RunController::beat(const std::string& socketName)
{
    m_impl->status.setSocket(socketName);
    m_impl->writeStatusNow();
    m_impl->outbox.send(
        {{"type", "heartbeat"}, {"step", m_impl->context.step()}, {"time", epochSeconds()}});
}

} // namespace vergence
