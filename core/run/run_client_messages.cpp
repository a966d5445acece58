#include "core/run/messages.h"
#include "core/run/run_client_impl.h"

namespace vergence {

namespace {

using nlohmann::json;

std::string textOf(const json& message, const char* key)
{
    const auto found = message.find(key);
    return found != message.end() && found->is_string() ? found->get<std::string>() : std::string();
}

} // namespace

void RunClient::Impl::hear(const json& message)
{
    if (pendingStart)
        return; // of a worker that is on its way out
    const auto& type = message.at("type").get_ref<const std::string&>();
    if (type == "hello") {
        hearHello(message);
    } else if (type == "state") {
        hearState(message);
    } else if (type == "phase") {
        status.phase = textOf(message, "name");
        phase = status.phase.empty() ? QString()
                                     : QStringLiteral("%1 of %2: %3")
                                           .arg(message.at("number").get<int>())
                                           .arg(message.at("count").get<int>())
                                           .arg(QString::fromStdString(status.phase));
        Q_EMIT q.progressChanged();
    } else if (type == "progress") {
        status.step = message.at("step").get<std::int64_t>();
        status.total = message.at("total").get<std::int64_t>();
        Q_EMIT q.progressChanged();
    } else if (type == "metrics") {
        hearMetrics(message);
    } else if (type == "table") {
        hearTable(message.at("table"));
    } else if (type == "artifact") {
        hearArtifact(message);
    } else if (type == "frame") {
        hearFrame(message);
    } else if (type == "controls") {
        controls = controlsFromJson(message.at("controls"));
        Q_EMIT q.viewDeclared();
    } else if (type == "closed") {
        closedChoices = choicesFromJson(message.at("choices"));
        Q_EMIT q.choicesClosed();
    } else if (type == "live") {
        hearLive(message);
    } else if (type == "streams") {
        streams = streamsFromJson(message.at("streams"));
        Q_EMIT q.viewDeclared();
    } else if (type == "log") {
        hearLog(message);
    } else if (type == "problem") {
        raise(textOf(message, "id"), textOf(message, "sentence"));
    } else if (type == "heartbeat") {
        status.heartbeat = message.at("time").get<double>();
        Q_EMIT q.progressChanged();
    }
    // checkpoint and done say nothing that state and files do not; histograms are not drawn
}

void RunClient::Impl::hearHello(const json& message)
{
    isStarting = false;
    status.pid = message.at("pid").get<int>();
    status.step = message.at("step").get<std::int64_t>();
    status.total = message.at("total").get<std::int64_t>();
    status.plugin = textOf(message, "plugin");
    if (!isExploring) {
        noticeWorker(currentHost(), status.pid); // sockets are those of this computer
        history.expectLive(message.at("metric_lines").get<std::int64_t>(),
                           message.at("log_lines").get<std::int64_t>());
    }
    hearState(message);
    readHistory();
}

void RunClient::Impl::hearState(const json& message)
{
    status.problem = textOf(message, "problem");
    status.problemId = textOf(message, "problem_id");
    if (const auto code = message.find("exit_code"); code != message.end())
        status.exitCode = code->get<int>();
    status.step = message.at("step").get<std::int64_t>();
    status.total = message.at("total").get<std::int64_t>();
    if (const auto heard = runStateFromName(textOf(message, "state"))) {
        if (*heard == RunState::Running)
            lastProblem.clear();
        if (*heard != RunState::Starting && *heard != state) { // that of the state before
            status.phase.clear();
            phase.clear();
        }
        setState(*heard);
    }
}

void RunClient::Impl::hearMetrics(const json& message)
{
    if (isExploring)
        return;
    tell(history.hearPoints(message.at("first").get<std::int64_t>(),
                            pointsFromJson(message.at("points"))));
    if (history.isBehind())
        slices.start();
}

void RunClient::Impl::hearLog(const json& message)
{
    tell(history.hearLog(message.at("index").get<std::int64_t>(),
                         {textOf(message, "time"), textOf(message, "level"),
                          textOf(message, "area"), textOf(message, "text")}));
}

void RunClient::Impl::hearTable(const json& table)
{
    upsert(tables, table, "id");
    Q_EMIT q.tableChanged(QString::fromStdString(textOf(table, "id")));
}

void RunClient::Impl::hearArtifact(const json& message)
{
    json entry = message;
    entry.erase("type");
    upsert(artifacts, entry, "path");
    Q_EMIT q.artifactsChanged();
}

void RunClient::Impl::hearLive(const json& message)
{
    liveSettings = message.at("values").get<std::map<std::string, std::string>>();
    isLiveUntold = true;
    tellLive();
}

/// Not while a change of ours is under way, which is newer.
void RunClient::Impl::tellLive()
{
    if (!isLiveUntold || link.isWaitingFor("set"))
        return;
    isLiveUntold = false;
    Q_EMIT q.liveSettingsTold();
}

void RunClient::Impl::hearFrame(const json& message)
{
    const std::string stream = textOf(message, "stream");
    Ring& ring = rings[stream];
    if (const std::string name = textOf(message, "ring"); ring.name != name) {
        ring = {name, nullptr, {}, {}};
        Q_EMIT q.framesRestarted(QString::fromStdString(stream));
    }
    Q_EMIT q.frameArrived(QString::fromStdString(stream));
}

} // namespace vergence
