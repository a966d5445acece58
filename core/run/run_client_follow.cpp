#include <algorithm>
#include <fstream>
#include <utility>

#include <QUuid>

#include <fmt/format.h>

#include "core/artifact/checkpoint.h"
#include "core/artifact/manifest.h"
#include "core/artifact/remote_run.h"
#include "core/artifact/run_lease.h"
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/run/messages.h"
#include "core/run/run_client_impl.h"
#include "core/run/run_failure.h"
#include "core/run/status_writer.h"
#include "core/run/worker_log.h"

namespace vergence {

namespace {

using nlohmann::json;

constexpr int kSearchMilliseconds = 50;   // between looks for a worker's socket
constexpr int kFollowMilliseconds = 1000; // between looks at the files of a known worker
constexpr int kLookMilliseconds = 250;    // between looks at pictures of another computer
constexpr double kCatchUpSeconds = 0.03;  // the window waits meanwhile
constexpr std::size_t kLogExcerpt = 2000; // bytes of worker.log that a card shows

std::optional<RunStatus> tryStatus(const RunFolder& folder)
{
    try {
        return readStatus(folder);
    } catch (const InputError&) {
        return std::nullopt; // not written yet, or the folder is gone
    }
}

std::optional<RunStatus> tryExplorer(const RunFolder& folder)
{
    std::error_code ignored;
    if (!std::filesystem::exists(explorerStatus(folder), ignored))
        return std::nullopt;
    try {
        return RunStatus::fromJson(json::parse(readFile(explorerStatus(folder))));
    } catch (const std::exception&) {
        return std::nullopt; // removed or replaced just now
    }
}

/// The end of the worker's own output; `stray`: another place to look.
std::string lastWords(const RunFolder& folder, const std::filesystem::path& stray = {})
{
    for (const auto& path : {workerLog(folder), pendingWorkerLog(folder), stray}) {
        std::ifstream file(path, std::ios::binary | std::ios::ate);
        if (!file)
            continue;
        const auto size = static_cast<std::size_t>(file.tellg());
        const std::size_t wanted = std::min(size, kLogExcerpt);
        file.seekg(static_cast<std::streamoff>(size - wanted));
        std::string text(wanted, '\0');
        file.read(text.data(), static_cast<std::streamsize>(wanted));
        while (!text.empty() && (text.back() == '\n' || text.back() == ' '))
            text.pop_back();
        return text;
    }
    return {};
}

/// What `vergence` said before it gave up, with the issues of a configuration that stand before it;
/// empty where it said nothing of its own.
std::string complaint(const std::string& words, int exitCode)
{
    constexpr std::string_view kMark = "vergence: ";
    const std::size_t at = words.rfind(kMark);
    const bool isLine = at != std::string::npos && (at == 0 || words[at - 1] == '\n');
    if (!isLine)
        return {};
    const bool hasIssues = exitCode == static_cast<int>(ExitCode::ConfigInvalid);
    return (hasIssues ? words.substr(0, at) : std::string()) + words.substr(at + kMark.size());
}

/// Of a copy the other side says it; a run that has ended there has its end on the way here.
bool isLost(const RunFolder& folder, const RunStatus& status)
{
    if (!isRemote(folder))
        return !isGoingOn(folder, status);
    try {
        const auto remote = readRemoteRun(folder);
        return remote && remote->state == nameOf(RunState::Lost);
    } catch (const InputError&) {
        return false; // nothing is known
    }
}

/// "Your data up to step 800 is safe."
std::string safety(const RunFolder& folder)
{
    const auto checkpoints = listCheckpoints(folder);
    if (checkpoints.empty())
        return "No checkpoint had been written yet.";
    const std::string name = checkpoints.back().filename().string();
    const std::size_t digits = std::min(name.find_first_of("123456789"), name.size());
    const std::string step = name.substr(digits);
    return fmt::format("Your data up to step {} is safe.", step.empty() ? "0" : step);
}

} // namespace

RunClient::Impl::Impl(RunClient& client, RunFolder runFolder)
    : q(client),
      folder(std::move(runFolder)),
      history(folder),
      sender(QUuid::createUuid().toString(QUuid::Id128).toStdString()),
      link([this](const json& message) { hear(message); })
{
    watch.setSingleShot(true);
    slices.setSingleShot(true);
    connect(&watch, &QTimer::timeout, &client, [this] { follow(); });
    connect(&slices, &QTimer::timeout, &client, [this] { readHistory(); });
    connect(&process, &WorkerProcess::ended, &client, [this] {
        if (pendingStart)
            launch();
        else
            follow();
    });
    connect(&link, &WorkerLink::connected, &client, [this] {
        if (watchRequest.isWatching)
            link.request("watch", watchToJson(watchRequest));
    });
    connect(&link, &WorkerLink::disconnected, &client, [this] {
        history.expectNothing();
        Q_EMIT q.connectionLost();
        follow();
    });
    connect(&link, &WorkerLink::waiting, &client, &RunClient::requestWaiting);
    connect(&link, &WorkerLink::acknowledged, &client, &RunClient::requestAcknowledged);
    connect(&link, &WorkerLink::acknowledged, &client, [this] { tellLive(); });
    connect(&link, &WorkerLink::refused, &client,
            [this](const QString& request, const QString& reason, const nlohmann::json& members) {
                if (request != QStringLiteral("set"))
                    return;
                Q_EMIT q.problemRaised(QStringLiteral("E-LIVE"), reason);
                Q_EMIT q.liveSettingRefused(QString::fromStdString(members.at("key")));
            });
}

void RunClient::Impl::follow()
{
    if (pendingStart)
        return;
    adoptWorkerLog(folder);
    readStatusFile();
    if (!link.isConnected() && !link.isConnecting())
        tryConnect();
    if (!link.isConnected())
        judge();
    followAfar();
    readHistory();
    schedule();
}

void RunClient::Impl::schedule()
{
    if (link.isConnected())
        watch.start(kFollowMilliseconds);
    else if (process.isRunning())
        watch.start(kSearchMilliseconds);
    else if (isAfar && watchRequest.isWatching)
        watch.start(kLookMilliseconds);
    else if (isLive(state))
        watch.start(status.socket.empty() ? kSearchMilliseconds : kFollowMilliseconds);
    else if (state == RunState::Queued)
        watch.start(kFollowMilliseconds); // a job may begin at any time
    else if (state == RunState::Lost)
        watch.start(kFollowMilliseconds); // it may be a computer that comes back
    else
        watch.stop();
}

void RunClient::Impl::readStatusFile()
{
    const auto fromFile = tryStatus(folder);
    if (!fromFile)
        return;
    const bool isOfEarlierWorker = isStarting && fromFile->pid != startedPid;
    if (!isOfEarlierWorker)
        adopt(*fromFile);
}

void RunClient::Impl::adopt(const RunStatus& fromFile)
{
    if (link.isConnected()) {
        // Messages are newer than the file, except for what they do not carry.
        status.device = fromFile.device;
        status.preset = fromFile.preset;
        status.bootId = fromFile.bootId;
        status.host = fromFile.host;
        status.job = fromFile.job;
        status.socket = fromFile.socket;
        status.rings = fromFile.rings;
        return;
    }
    noticeWorker(fromFile.host, fromFile.pid);
    const bool hasMoved = fromFile.step != status.step || fromFile.total != status.total ||
                          fromFile.heartbeat != status.heartbeat || fromFile.phase != status.phase;
    status = fromFile;
    const bool isStillLost = state == RunState::Lost && fromFile.heartbeat == lostHeartbeat;
    const bool endedUnseen = isFinal(state) && process.ending() && startedPid == fromFile.pid;
    const auto newState = runStateFromName(fromFile.state);
    if (newState && !isStillLost && !(endedUnseen && isLive(*newState)))
        setState(*newState);
    if (isFinal(state) && !status.problem.empty())
        raise(status.problemId, status.problem);
    if (hasMoved)
        Q_EMIT q.progressChanged();
}

/// Another worker goes on from a checkpoint, with fewer lines of metrics.csv than the last one had.
void RunClient::Impl::noticeWorker(const std::string& host, int pid)
{
    if (pid == 0)
        return; // the run waits for one
    const std::pair now(host, pid);
    const auto before = std::exchange(worker, now);
    if (before.second == 0 || before == now || pid == startedPid)
        return; // start() has forgotten the lines already
    history.restart();
    Q_EMIT q.metricsRestarted();
}

void RunClient::Impl::tryConnect()
{
    if (const auto explorer = tryExplorer(folder);
        explorer && !explorer->socket.empty() && isWorkerAlive(*explorer)) {
        isExploring = true;
        link.connectTo(QString::fromStdString(explorer->socket));
        return;
    }
    const bool isCurrent = !isStarting || status.pid == startedPid;
    if (isCurrent && !status.socket.empty() && isWorkerAlive(status)) {
        isExploring = false;
        link.connectTo(QString::fromStdString(status.socket));
    }
}

void RunClient::Impl::judge()
{
    if (process.ending()) {
        judgeChild();
        return;
    }
    if (process.isRunning() || !isLive(state) || status.pid == 0 || isWorkerAlive(status))
        return;
    if (const auto again = tryStatus(folder))
        adopt(*again); // it may have ended properly between the two looks
    if (!isLive(state) || isWorkerAlive(status))
        return;
    if (isLost(folder, status))
        lost();
}

void RunClient::Impl::judgeChild()
{
    const WorkerProcess::Ending ending = *process.ending();
    if (isExploring) {
        isExploring = false;
        if (ending.signal != 0 || ending.exitCode != 0 || !ending.whyNotStarted.isEmpty())
            raise("E-VIEW", fmt::format("The run cannot be shown: {}", lastWords(folder)));
        return;
    }
    if (const auto again = tryStatus(folder); again && (!isStarting || again->pid == startedPid))
        adopt(*again);
    isStarting = false;
    if (!isLive(state))
        return;
    if (ending.signal != 0 || ending.exitCode >= 128)
        crashed(ending.signal, ending.exitCode);
    else
        failedUnseen(ending);
}

void RunClient::Impl::crashed(int signal, int exitCode)
{
    const std::string during =
        status.phase.empty() ? std::string() : fmt::format(" while \"{}\"", status.phase);
    const std::string sentence =
        signal != 0
            ? fmt::format("The worker stopped with signal {}{}. {}", signal, during, safety(folder))
            : fmt::format("The worker was ended with code {}{}. {}", exitCode, during,
                          safety(folder));
    status.exitCode = signal != 0 ? 128 + signal : exitCode;
    const json report{{"time", utcNow()},
                      {"signal", signal},
                      {"exit_code", *status.exitCode},
                      {"step", status.step},
                      {"phase", status.phase},
                      {"sentence", sentence},
                      {"worker_log", lastWords(folder)}};
    try {
        writeFileAtomic(folder.root / "crash.json",
                        report.dump(2, ' ', false, json::error_handler_t::replace));
    } catch (const OutputError& error) {
        log("run").warn("The crash report could not be written: {}", error.what());
    }
    endBadly(RunState::Crashed, "E-CRASH", sentence);
}

void RunClient::Impl::failedUnseen(const WorkerProcess::Ending& ending)
{
    status.exitCode = ending.exitCode;
    std::string why = ending.whyNotStarted.toStdString();
    if (why.empty())
        why = lastWords(folder, process.strayLog());
    std::error_code ignored;
    const bool hasBegun = std::filesystem::exists(folder.status(), ignored);
    if (const std::string said = complaint(why, ending.exitCode); !hasBegun && !said.empty())
        return endBadly(RunState::Failed, problemIdOf(static_cast<ExitCode>(ending.exitCode)),
                        said);
    endBadly(RunState::Failed, "E-START",
             fmt::format("The worker ended with code {} before the run was over. {}",
                         ending.exitCode, why));
}

void RunClient::Impl::endBadly(RunState newState, const std::string& id,
                               const std::string& sentence)
{
    unlinkRings(status);
    status.rings.clear();
    status.socket.clear();
    status.state = nameOf(newState);
    status.problemId = id;
    status.problem = sentence;
    std::error_code ignored;
    if (std::filesystem::exists(folder.status(), ignored)) {
        try {
            writeStatus(folder, status);
        } catch (const OutputError& error) {
            log("run").warn("The end of the run could not be noted: {}", error.what());
        }
    }
    link.clearRequests();
    setState(newState);
    raise(id, sentence);
}

void RunClient::Impl::lost()
{
    lostHeartbeat = status.heartbeat;
    unlinkRings(status);
    link.clearRequests();
    setState(RunState::Lost);
    raise("E-LOST",
          fmt::format("The run {} has not reported for {:.0f} s and its worker is gone. {}",
                      folder.id(), secondsSinceSign(folder).value_or(0), safety(folder)));
}

void RunClient::Impl::setState(RunState newState)
{
    status.state = nameOf(newState);
    if (newState == state)
        return;
    if (isFinal(newState) && isLive(state))
        catchUp();
    state = newState;
    if (isFinal(state)) {
        link.clearRequests();
        readManifest();
    }
    Q_EMIT q.stateChanged(state);
    Q_EMIT q.progressChanged();
}

void RunClient::Impl::raise(const std::string& id, const std::string& sentence)
{
    if (sentence.empty() || lastProblem == id + sentence)
        return;
    lastProblem = id + sentence;
    Q_EMIT q.problemRaised(QString::fromStdString(id), QString::fromStdString(sentence));
}

void RunClient::Impl::readHistory()
{
    if (isStarting)
        return;
    const RunHistory::News news = history.readFiles();
    tell(news);
    if (news.hasMore)
        slices.start(0);
    else if (history.isBehind())
        slices.start(kSearchMilliseconds);
}

/// What was written before the end is told before the end; a long backlog in slices after it.
void RunClient::Impl::catchUp()
{
    if (isStarting)
        return;
    const double until = steadySeconds() + kCatchUpSeconds;
    RunHistory::News news;
    do {
        news = history.readFiles();
        tell(news);
    } while (news.hasMore && steadySeconds() < until);
    if (news.hasMore)
        slices.start(0);
}

void RunClient::Impl::tell(RunHistory::News news)
{
    for (const LogLine& line : news.log)
        Q_EMIT q.logArrived(QString::fromStdString(line.time), QString::fromStdString(line.level),
                            QString::fromStdString(line.area), QString::fromStdString(line.text));
    if (!news.problem.empty())
        raise("E-DATA", news.problem);
    if (news.hasMetrics)
        Q_EMIT q.metricsAppended();
}

void RunClient::Impl::readManifest()
{
    std::error_code ignored;
    if (!std::filesystem::exists(folder.manifest(), ignored))
        return;
    try {
        const json manifest = vergence::readManifest(folder);
        artifacts.clear();
        for (const Artifact& artifact : artifactsOf(manifest))
            artifacts.push_back(artifactToJson(artifact));
        if (const auto found = manifest.find("tables");
            found != manifest.end() && found->is_array())
            tables.assign(found->begin(), found->end());
        if (const auto found = manifest.find("controls"); found != manifest.end())
            controls = controlsFromJson(*found);
        if (const auto found = manifest.find("streams"); found != manifest.end())
            streams = streamsFromJson(*found);
    } catch (const std::exception& error) {
        log("run").warn("The manifest of {} cannot be read: {}", folder.id(), error.what());
        return;
    }
    Q_EMIT q.artifactsChanged();
    Q_EMIT q.viewDeclared();
}

} // namespace vergence
