#include "app/shell/job_watch.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <QLocale>
#include <QThread>

#include "app/shell/background_thread.h"
#include "core/base/error.h"
#include "core/base/log.h"

namespace vergence {

namespace {

constexpr int kLookMs = 1'000;
constexpr int kAskMs = 5'000, kLongestAskMs = 30'000;

/// Nothing where it is gone or damaged: the list of runs says so.
std::optional<RunStatus> tryStatus(const RunFolder& folder)
{
    try {
        return readStatus(folder);
    } catch (const InputError&) {
        return std::nullopt;
    }
}

struct Looked {
    QString id;
    RunFolder folder;
    RunState written = RunState::Queued;
    bool hasJob = false;
};

/// Whether the folder says something that the list does not know yet.
bool hasMoved(const Looked& run)
{
    const auto status = tryStatus(run.folder);
    const auto state = status ? runStateFromName(status->state) : std::nullopt;
    std::error_code ignored;
    if (!state || (!run.hasJob && std::filesystem::exists(jobFile(run.folder), ignored)))
        return state.has_value();
    return *state != run.written && (!isLive(*state) || isGoingOn(run.folder, *status));
}

bool isSameMoment(const RunStatus& a, const RunStatus& b)
{
    return a.state == b.state && a.heartbeat == b.heartbeat && a.pid == b.pid;
}

/// Writes the end of a run whose job is gone, unless a worker has written meanwhile.
bool writeEnd(const RunFolder& folder, const RunStatus& before, const RunPlacement& place)
{
    try {
        RunStatus status = readStatus(folder);
        if (!isSameMoment(status, before) || isGoingOn(folder, status))
            return false;
        status.state = nameOf(place.state);
        status.problemId = "E-JOB";
        status.problem = place.problem;
        status.rings.clear();
        status.socket.clear();
        writeStatus(folder, status);
        return true;
    } catch (const Error& error) {
        log("shell").warn("The end of {} could not be noted. {}", folder.id(), error.what());
        return false;
    }
}

/// Whether the queue has no more to say of a run.
bool isOver(const RunPlacement& place)
{
    return place.queue.phase == JobState::Phase::Ended && place.problem.empty() &&
           !isLive(place.state);
}

QString keyOf(const RunEntry& run)
{
    return run.id + ' ' + QString::fromStdString(run.job->slurmId());
}

/// Whose thread asks for a job; lanes, which have files only, wait for no queue. No login begins
/// with a colon.
QString queueOf(const Job& job)
{
    return job.scheduler == Scheduler::Lanes ? QStringLiteral(":lanes")
                                             : QString::fromStdString(job.login);
}

} // namespace

struct JobWatch::Answer {
    struct Asked {
        QString id;
        RunFolder folder;
        std::string problem; ///< with which its job ended, by the last answer
    };
    std::vector<Asked> asked;
    QueueAnswers queue;
    std::vector<QString> written; ///< runs whose folders have got their end

    void fill();
};

void JobWatch::Answer::fill()
{
    std::map<std::filesystem::path, RunStatus> before;
    std::vector<RunFolder> folders;
    try {
        for (const Asked& run : asked)
            if (const auto status = tryStatus(run.folder)) {
                before[run.folder.root] = *status;
                folders.push_back(run.folder);
            }
        queue = askQueues(folders);
    } catch (const std::exception& error) {
        queue.problems.emplace_back(error.what());
    }
    for (const Asked& run : asked) {
        const auto place = queue.runs.find(run.folder.root);
        // Said twice: a job may begin and end between the two looks of one answer.
        const bool isSure = place != queue.runs.end() && !run.problem.empty() &&
                            place->second.problem == run.problem;
        if (isSure && writeEnd(run.folder, before[run.folder.root], place->second))
            written.push_back(run.id);
    }
}

JobWatch::JobWatch(RunListModel& runs, QObject* parent) : QObject(parent), m_runs(runs)
{
    m_timer.setInterval(kLookMs);
    connect(&m_timer, &QTimer::timeout, this, &JobWatch::tick);
    connect(&runs, &RunListModel::runStateChanged, this, &JobWatch::noteState);
    m_timer.start();
}

/// A queue that does not answer holds nobody up: its thread goes with the process.
JobWatch::~JobWatch()
{
    std::vector<QThread*> threads{m_look};
    for (const auto& [login, queue] : m_queues)
        threads.push_back(queue.thread);
    leaveThreads(threads);
}

void JobWatch::askSoon()
{
    for (auto& [login, queue] : m_queues)
        queue.hasChanged = true;
    m_over.clear();
    tick();
}

/// A run that ended without being done may go back into the queue.
void JobWatch::noteState(const QString& id, RunState state)
{
    const RunEntry* run = m_runs.find(id);
    if (run == nullptr || !run->job || run->remote || !isFinal(state))
        return;
    m_over.remove(keyOf(*run));
    m_queues[queueOf(*run->job)].hasChanged = true;
}

bool JobWatch::isWatched(const RunEntry& run) const
{
    return run.isLoaded && run.job && !run.remote && run.written != RunState::Completed &&
           !m_over.contains(keyOf(run));
}

void JobWatch::tick()
{
    if (m_look == nullptr)
        look();
    std::map<QString, std::vector<QString>> byLogin;
    for (int row = 0; row < m_runs.rowCount(); ++row)
        if (const RunEntry& run = m_runs.entry(row); isWatched(run))
            byLogin[queueOf(*run.job)].push_back(run.id);
    for (const auto& [login, ids] : byLogin) {
        const Queue& queue = m_queues[login];
        const bool isDue = queue.hasChanged || !queue.sinceAsked.isValid() ||
                           queue.sinceAsked.hasExpired(queue.interval);
        if (queue.thread == nullptr && isDue)
            ask(login, ids);
    }
}

void JobWatch::look()
{
    std::vector<Looked> waiting;
    for (int row = 0; row < m_runs.rowCount(); ++row)
        if (const RunEntry& run = m_runs.entry(row); run.state == RunState::Queued && !run.remote)
            waiting.push_back({run.id, run.folder, run.written, run.job.has_value()});
    if (waiting.empty())
        return;
    auto moved = std::make_shared<std::vector<QString>>();
    const auto work = [waiting = std::move(waiting), moved] {
        for (const Looked& run : waiting)
            if (hasMoved(run))
                moved->push_back(run.id);
    };
    m_look = startThread(work, this, [this, moved] {
        m_look = nullptr;
        for (const QString& id : *moved)
            m_runs.lookAgain(id);
    });
}

void JobWatch::ask(const QString& login, const std::vector<QString>& ids)
{
    auto answer = std::make_shared<Answer>();
    for (const QString& id : ids) {
        const RunEntry& run = *m_runs.find(id);
        answer->asked.push_back(
            {id, run.folder, run.placement ? run.placement->problem : std::string()});
    }
    Queue& queue = m_queues[login];
    if (queue.hasChanged || queue.interval == 0)
        queue.interval = kAskMs;
    queue.hasChanged = false;
    queue.thread = startThread([answer] { answer->fill(); }, this,
                               [this, login, answer] { take(login, *answer); });
}

void JobWatch::take(const QString& login, const Answer& answer)
{
    Queue& queue = m_queues[login];
    queue.thread = nullptr;
    queue.sinceAsked.start();
    queue.interval = std::min(queue.interval * 3 / 2, kLongestAskMs);
    if (!answer.queue.problems.empty())
        return takeSilence(login, answer);
    if (queue.silentSince.isValid())
        Q_EMIT queueAnswers(login);
    queue.silentSince = {};
    for (const Answer::Asked& run : answer.asked) {
        const auto place = answer.queue.runs.find(run.folder.root);
        const bool isKnown = place != answer.queue.runs.end();
        if (takePlace(run.id, isKnown ? &place->second : nullptr))
            queue.interval = kAskMs;
        if (isKnown && place->second.problem != run.problem)
            queue.hasChanged = true; // to be sure of an end
    }
    for (const QString& id : answer.written) {
        m_runs.setPlacement(id, std::nullopt);
        m_runs.lookAgain(id);
    }
}

bool JobWatch::takePlace(const QString& id, const RunPlacement* place)
{
    const RunEntry* run = m_runs.find(id);
    if (run == nullptr || !run->job)
        return false;
    if (place == nullptr || isOver(*place))
        m_over.insert(keyOf(*run));
    m_runs.setQueueNote(id, {});
    m_runs.setPlacement(id, place == nullptr ? std::nullopt : std::optional(*place));
    const QString text = place == nullptr ? QString() : QString::fromStdString(place->text);
    return std::exchange(m_told[id], text) != text;
}

void JobWatch::takeSilence(const QString& login, const Answer& answer)
{
    Queue& queue = m_queues[login];
    if (!queue.silentSince.isValid()) {
        queue.silentSince = QDateTime::currentDateTime();
        Q_EMIT queueSilent(login, QString::fromStdString(answer.queue.problems.front()));
    }
    const QString note =
        tr("the queue has not answered since %1")
            .arg(QLocale().toString(queue.silentSince.time(), QLocale::ShortFormat));
    for (const Answer::Asked& run : answer.asked)
        m_runs.setQueueNote(run.id, note);
}

} // namespace vergence
