#include "app/shell/run_entry.h"

#include <cmath>

#include <QCoreApplication>
#include <QDateTime>
#include <QLocale>
#include <QRegularExpression>
#include <QTimeZone>

#include "core/artifact/manifest.h"
#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/file.h"

namespace vergence {

namespace {

QString tr(const char* text)
{
    return QCoreApplication::translate("RunEntry", text);
}

std::filesystem::path labelsOf(const RunFolder& folder)
{
    return folder.root / "labels.json";
}

std::optional<double> numberAt(const nlohmann::json& object, const char* key)
{
    const auto found = object.find(key);
    return found != object.end() && found->is_number() ? std::optional(found->get<double>())
                                                       : std::nullopt;
}

void readLabels(RunEntry& entry)
{
    if (!std::filesystem::exists(labelsOf(entry.folder)))
        return;
    const auto labels = nlohmann::json::parse(readFile(labelsOf(entry.folder)), nullptr, false);
    if (!labels.is_object())
        return;
    if (labels.contains("name") && labels["name"].is_string())
        entry.name = QString::fromStdString(labels["name"].get<std::string>());
    for (const auto& tag : labels.value("tags", nlohmann::json::array()))
        if (tag.is_string())
            entry.tags << QString::fromStdString(tag.get<std::string>());
    const auto sweep = labels.find("sweep");
    if (sweep == labels.end() || !sweep->is_object())
        return;
    const auto text = [&sweep](const char* key) {
        const auto found = sweep->find(key);
        return found != sweep->end() && found->is_string()
                   ? QString::fromStdString(found->get<std::string>())
                   : QString();
    };
    entry.sweep = {text("group"), text("key"), text("value"),
                   numberAt(*sweep, "share").value_or(0)};
}

/// Start and end are ISO texts or seconds, depending on the writer's version.
std::optional<double> secondsAt(const nlohmann::json& times, const char* key)
{
    if (const auto number = numberAt(times, key))
        return number;
    const auto found = times.find(key);
    if (found == times.end() || !found->is_string())
        return std::nullopt;
    const QDateTime moment =
        QDateTime::fromString(QString::fromStdString(found->get<std::string>()), Qt::ISODateWithMs);
    return moment.isValid() ? std::optional(moment.toMSecsSinceEpoch() / 1000.0) : std::nullopt;
}

/// According to the manifest's metric summary: the first that the run has.
void readResult(const nlohmann::json& manifest, const std::vector<MetricDecl>& headlines,
                RunEntry& entry)
{
    const auto metrics = manifest.value("metrics", nlohmann::json::object());
    for (const MetricDecl& metric : headlines) {
        const auto found = metrics.find(metric.name);
        if (found == metrics.end() || !found->is_object())
            continue;
        entry.result = numberAt(*found, "last");
        entry.resultOf = metric;
        return;
    }
}

void readTimes(const nlohmann::json& manifest, double heartbeat, RunEntry& entry)
{
    const auto times = manifest.value("times", nlohmann::json::object());
    const auto start = secondsAt(times, "start");
    const auto end = secondsAt(times, "end");
    if (start)
        entry.seconds = std::max(0.0, end.value_or(heartbeat) - *start);
    const auto resources = manifest.value("resources", nlohmann::json::object());
    entry.peakVramMiB = numberAt(resources, "peak_vram_mib");
}

void readState(const RunFolder& folder, const RunStatus& status, RunEntry& entry)
{
    entry.plugin = QString::fromStdString(status.plugin);
    entry.preset = QString::fromStdString(status.preset);
    entry.device = QString::fromStdString(status.device);
    entry.step = status.step;
    entry.total = status.total;
    entry.exitCode = status.exitCode;
    entry.phase = QString::fromStdString(status.phase);
    entry.host = QString::fromStdString(status.host);
    entry.slurmJob = QString::fromStdString(status.job);
    const RunState told = runStateFromName(status.state).value_or(RunState::Lost);
    const bool isGone = isLive(told) && !entry.remote && !isGoingOn(folder, status);
    entry.setWritten(isGone ? RunState::Lost : told);
    if (entry.remote)
        entry.setRemote(RemoteRun(*entry.remote));
    entry.isAlive = isLive(entry.state);
    entry.setProblem(status);
}

/// A damaged one is as good as none: the commands that need it say what is wrong.
std::optional<Job> jobOf(const RunFolder& folder)
{
    try {
        return readJob(folder);
    } catch (const InputError&) {
        return std::nullopt;
    }
}

QString placeText(const RunEntry& entry)
{
    const QString name = QString::fromStdString(nameOf(entry.state));
    const QString place =
        entry.isElsewhere() && !entry.host.isEmpty() ? tr("%1 on %2").arg(name, entry.host) : name;
    return entry.phase.isEmpty() ? place : QString("%1: %2").arg(place, entry.phase);
}

/// Of the other side, in the form that the queues of this one have.
std::optional<RunPlacement> placeThere(const RemoteRun& there)
{
    const auto state = runStateFromName(there.state);
    if (!state)
        return std::nullopt;
    RunPlacement place;
    place.state = *state;
    place.text = there.text;
    place.problem = there.problem;
    return place;
}

QString queuedText(const RunEntry& entry)
{
    if (!entry.queueNote.isEmpty())
        return tr("Queued (%1)").arg(entry.queueNote);
    const bool isTold = entry.placement && (entry.placement->state == RunState::Queued ||
                                            entry.placement->state == RunState::Starting);
    return isTold ? QString::fromStdString(entry.placement->text) : tr("Queued");
}

} // namespace

bool RunEntry::isElsewhere() const
{
    static const QString here = QString::fromStdString(currentHost());
    return remote || !slurmJob.isEmpty() || (!host.isEmpty() && host != here);
}

QString RunEntry::target() const
{
    if (remote)
        return QString::fromStdString(remote->target);
    return job ? QString::fromStdString(job->target) : QString();
}

bool RunEntry::isUnreached() const
{
    return remote && remote->unreachedSince > 0 && !hasEnded();
}

void RunEntry::setWritten(RunState told)
{
    written = told;
    if (isLive(told))
        placement.reset(); // it waits no more, whatever the queue said before
    settleState();
}

void RunEntry::setPlacement(const std::optional<RunPlacement>& place)
{
    placement = place;
    settleState();
}

void RunEntry::setRemote(const RemoteRun& there)
{
    remote = there;
    setPlacement(placeThere(there));
    addProblemThere();
}

void RunEntry::setProblem(const RunStatus& status)
{
    problem = QString::fromStdString(status.problem);
    problemId = QString::fromStdString(status.problemId);
    addProblemThere();
}

void RunEntry::addProblemThere()
{
    if (!remote || remote->problem.empty() || !hasEnded() || !problem.isEmpty())
        return;
    problem = QString::fromStdString(remote->problem);
    problemId = "E-JOB";
}

/// A run whose job goes back into the queue waits again, whatever its last worker wrote. Of a copy
/// the other side knows of an end before the folder here does, and where no worker could write it;
/// and of another beginning.
void RunEntry::settleState()
{
    const bool isInterrupted = isFinal(written) && written != RunState::Completed;
    const bool waitsAgain = placement && placement->state == RunState::Queued && isInterrupted;
    const auto there = remote ? runStateFromName(remote->state) : std::nullopt;
    const bool hasEndedThere = there && isFinal(*there) && !isFinal(written);
    const bool goesOnThere = there && isLive(*there) && isInterrupted;
    state = waitsAgain ? RunState::Queued : hasEndedThere || goesOnThere ? *there : written;
}

bool isRunFolder(const QString& path)
{
    return std::filesystem::exists(RunFolder{path.toStdString()}.status());
}

RunEntry loadRunEntry(const RunFolder& folder, const Headlines& headlines)
{
    RunEntry entry;
    entry.folder = folder;
    entry.id = QString::fromStdString(folder.id());
    entry.name = defaultName(entry.id, {}, {});
    entry.isLoaded = true;
    double heartbeat = 0;
    try {
        const RunStatus status = readStatus(folder);
        heartbeat = status.heartbeat;
        entry.remote = readRemoteRun(folder); // a damaged one leaves unknown where the run is
        readState(folder, status, entry);
        entry.job = jobOf(folder);
        entry.name = defaultName(entry.id, entry.plugin, entry.preset);
        readLabels(entry);
    } catch (const Error& error) {
        entry.setWritten(RunState::Lost);
        entry.problem = QString::fromUtf8(error.what());
    }
    try {
        if (std::filesystem::exists(folder.manifest())) {
            const auto manifest = readManifest(folder);
            readTimes(manifest, heartbeat, entry);
            if (const auto headline = headlines.find(entry.plugin); headline != headlines.end())
                readResult(manifest, headline->second, entry);
        }
    } catch (const std::exception&) {
        // A run without a readable manifest is still worth a row; the inspector says what is wrong
        // with the file.
    }
    return entry;
}

QString defaultName(const QString& id, const QString& plugin, const QString& preset)
{
    static const QRegularExpression form(
        "^(\\d{4}-\\d\\d-\\d\\dT\\d\\d-\\d\\d-\\d\\dZ)-(.+)-[0-9a-f]{4,}$");
    const auto match = form.match(id);
    if (!match.hasMatch())
        return id;
    const QDateTime made = QDateTime::fromString(match.captured(1), "yyyy-MM-dd'T'HH-mm-ss'Z'");
    const QDateTime local = QDateTime(made.date(), made.time(), QTimeZone::utc()).toLocalTime();
    const bool isToday = local.date() == QDate::currentDate();
    const QString what = plugin.isEmpty() ? match.captured(2) : plugin;
    return QString("%1 %2").arg(
        preset.isEmpty() ? what : what + " " + preset,
        QLocale().toString(local, isToday ? "HH:mm:ss" : "d MMM yyyy HH:mm"));
}

void saveLabels(const RunEntry& entry)
{
    nlohmann::json tags = nlohmann::json::array();
    for (const QString& tag : entry.tags)
        tags.push_back(tag.toStdString());
    nlohmann::json labels = {{"name", entry.name.toStdString()}, {"tags", tags}};
    if (entry.sweep)
        labels["sweep"] = {{"group", entry.sweep->group.toStdString()},
                           {"key", entry.sweep->key.toStdString()},
                           {"value", entry.sweep->value.toStdString()},
                           {"share", entry.sweep->share}};
    writeFileAtomic(labelsOf(entry.folder), labels.dump(2) + "\n");
}

QString momentText(double seconds)
{
    const QDateTime moment = QDateTime::fromSecsSinceEpoch(static_cast<qint64>(seconds));
    const bool isToday = moment.date() == QDate::currentDate();
    return isToday ? QLocale().toString(moment.time(), QLocale::ShortFormat)
                   : QLocale().toString(moment, QLocale::ShortFormat);
}

QString durationText(double seconds)
{
    const auto whole = static_cast<qint64>(std::max(0.0, std::round(seconds)));
    if (whole < 60)
        return tr("%1 s").arg(whole);
    const QChar zero('0');
    const qint64 hours = whole / 3600, minutes = whole / 60 % 60, rest = whole % 60;
    return hours == 0
               ? QString("%1:%2").arg(minutes).arg(rest, 2, 10, zero)
               : QString("%1:%2:%3").arg(hours).arg(minutes, 2, 10, zero).arg(rest, 2, 10, zero);
}

QString figureText(double value)
{
    return QString::number(value, 'g', 4);
}

QString resultText(const MetricDecl& metric, double value)
{
    QStringList words{figureText(value)};
    if (!metric.unit.empty())
        words << QString::fromStdString(metric.unit);
    if (metric.better != MetricDecl::Better::Neither)
        words << (metric.better == MetricDecl::Better::Higher ? "↑" : "↓");
    return (words << QString::fromStdString(metric.title.empty() ? metric.name : metric.title))
        .join(' ');
}

QString resultHelp(const MetricDecl& metric)
{
    const QString told = tr("The last value of %1").arg(QString::fromStdString(metric.name));
    switch (metric.better) {
    case MetricDecl::Better::Higher:
        return tr("%1; higher is better.").arg(told);
    case MetricDecl::Better::Lower:
        return tr("%1; lower is better.").arg(told);
    case MetricDecl::Better::Neither:
        break;
    }
    return told + '.';
}

namespace {

QString plainStateText(const RunEntry& entry)
{
    switch (entry.state) {
    case RunState::Queued:
        return queuedText(entry);
    case RunState::Starting:
    case RunState::Running:
        return placeText(entry);
    case RunState::Failed:
        return entry.exitCode ? tr("Failed (code %1)").arg(*entry.exitCode) : tr("Failed");
    case RunState::Crashed:
        return entry.exitCode && *entry.exitCode > 128
                   ? tr("Crashed (signal %1)").arg(*entry.exitCode - 128)
                   : tr("Crashed");
    default:
        return QString::fromStdString(nameOf(entry.state));
    }
}

} // namespace

QString stateText(const RunEntry& entry)
{
    if (!entry.isLoaded)
        return tr("…");
    const QString state = plainStateText(entry);
    return entry.isUnreached()
               ? tr("%1, not reached since %2").arg(state, momentText(entry.remote->unreachedSince))
               : state;
}

QString jobText(const RunEntry& entry)
{
    if (entry.job && entry.job->scheduler == Scheduler::Lanes)
        return {};
    if (entry.job)
        return QString("%1 (%2)").arg(QString::fromStdString(entry.job->slurmId()),
                                      QString::fromStdString(entry.job->target));
    return QString(entry.slurmJob).remove("slurm ");
}

QString stateIcon(RunState state)
{
    switch (state) {
    case RunState::Draft:
        return "pencil";
    case RunState::Queued:
    case RunState::Starting:
        return "clock";
    case RunState::Running:
    case RunState::Saving:
        return "start";
    case RunState::Pausing:
    case RunState::Paused:
        return "pause";
    case RunState::Stopping:
    case RunState::Stopped:
        return "stop";
    case RunState::Completed:
        return "tick";
    case RunState::Failed:
    case RunState::Crashed:
        return "cross";
    case RunState::Lost:
        break;
    }
    return "question";
}

} // namespace vergence
