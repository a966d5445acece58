#include <fstream>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/run/remote_view.h"
#include "core/run/request_box.h"
#include "core/run/run_client_impl.h"

namespace vergence {

namespace {

using nlohmann::json;

/// Nothing where it does not exist.
std::optional<std::filesystem::file_time_type> timeOf(const std::filesystem::path& file)
{
    std::error_code code;
    const auto time = std::filesystem::last_write_time(file, code);
    return code ? std::nullopt : std::optional(time);
}

} // namespace

void RunClient::Impl::followAfar()
{
    isAfar = isLive(state) && status.pid > 0 && !isOfThisComputer(status);
    if (!isAfar) {
        watchedAfarAt = -1;
        return link.setPost({});
    }
    for (const json& ack : takeAnswers(folder, sender))
        link.hearAck(ack);
    link.setPost([this](const json& message) { post(message); });
    watchAfar();
    hearAfar();
    lookAfar();
}

void RunClient::Impl::post(const json& message)
{
    try {
        postRequest(folder, sender, message);
    } catch (const OutputError& error) {
        raise("E-OUTPUT", error.what());
    }
}

/// Asks for pictures, again and again: a viewer that dies must not be drawn for.
void RunClient::Impl::watchAfar()
{
    const double now = steadySeconds();
    const bool wants = watchRequest.isWatching;
    const bool isAsked = watchedAfarAt >= 0;
    if (wants ? isAsked && now - watchedAfarAt < kWatchSeconds / 3 : !isAsked)
        return;
    watchedAfarAt = wants ? now : -1;
    link.request("watch", watchToJson({wants}));
}

/// What a viewer must know of its streams, controls and tables.
void RunClient::Impl::hearAfar()
{
    const auto written = timeOf(remoteViewMessages(folder));
    if (!written || *written == heardAfar)
        return;
    heardAfar = *written;
    std::ifstream lines(remoteViewMessages(folder));
    for (std::string line; std::getline(lines, line);) {
        const ParsedMessage parsed = parseMessage(line, Direction::FromWorker);
        if (parsed.isGood())
            hear(parsed.message);
    }
}

/// New frames.
void RunClient::Impl::lookAfar()
{
    for (const auto& [stream, file] : remoteFrames(folder)) {
        const auto written = timeOf(file);
        Ring& ring = rings[stream];
        if (!written || ring.written == *written)
            continue;
        const std::string name = status.host + " " + std::to_string(status.pid);
        if (ring.name != name)
            Q_EMIT q.framesRestarted(QString::fromStdString(stream));
        ring = {name, nullptr, file, *written};
        Q_EMIT q.frameArrived(QString::fromStdString(stream));
    }
}

} // namespace vergence
