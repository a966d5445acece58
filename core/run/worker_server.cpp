#include "core/run/worker_server.h"

#include <algorithm>
#include <utility>

#include <QElapsedTimer>

#include "core/base/log.h"
#include "core/run/messages.h"
#include "core/run/request_answer.h"
#include "core/run/socket_folder.h"

namespace vergence {

namespace {

/// A client that reads this much too slowly is dropped: it can come back and read the files.
constexpr qint64 kMostUnread = 64 << 20;

} // namespace

WorkerServer::WorkerServer(RunController& controller) : m_controller(controller)
{
    try {
        const QString path = QString::fromStdString(socketPath());
        QLocalServer::removeServer(path); // of an earlier process with this id
        m_server.setSocketOptions(QLocalServer::UserAccessOption);
        connect(&m_server, &QLocalServer::newConnection, this, &WorkerServer::welcome);
        if (m_server.listen(path))
            m_name = path.toStdString();
        else
            log("run").warn("Windows cannot follow this run live: {}",
                            m_server.errorString().toStdString());
    } catch (const OutputError& error) {
        log("run").warn("Windows cannot follow this run live: {}", error.what());
    }
}

WorkerServer::~WorkerServer()
{
    for (auto& [socket, client] : m_clients) {
        socket->disconnect(this);
        socket->disconnectFromServer();
    }
}

void WorkerServer::welcome()
{
    while (QLocalSocket* socket = m_server.nextPendingConnection()) {
        m_clients[socket];
        connect(socket, &QLocalSocket::readyRead, this, [this, socket] { read(socket); });
        connect(socket, &QLocalSocket::disconnected, this, [this, socket] { leave(socket); });
        for (const nlohmann::json& message : m_controller.snapshot())
            send(socket, serialise(message));
    }
}

void WorkerServer::leave(QLocalSocket* socket)
{
    m_clients.erase(socket);
    socket->deleteLater();
    updateWatched();
}

void WorkerServer::send(QLocalSocket* socket, const std::string& bytes)
{
    if (bytes.size() > kLongestMessage) {
        log("run").warn("A message of {} MiB is too long for windows and stays in the files.",
                        bytes.size() >> 20);
        return;
    }
    socket->write(bytes.data(), static_cast<qint64>(bytes.size()));
    if (socket->bytesToWrite() > kMostUnread) {
        log("run").warn("A window reads too slowly and is disconnected; it may connect again.");
        socket->abort();
    }
}

void WorkerServer::broadcast(const std::vector<nlohmann::json>& messages)
{
    if (m_clients.empty())
        return;
    std::vector<QLocalSocket*> sockets;
    for (const auto& [socket, client] : m_clients)
        sockets.push_back(socket); // send() may remove clients
    for (const nlohmann::json& message : messages) {
        const std::string line = serialise(message);
        for (QLocalSocket* socket : sockets) {
            if (m_clients.contains(socket))
                send(socket, line);
        }
    }
}

void WorkerServer::drain(int milliseconds)
{
    QElapsedTimer timer;
    timer.start();
    std::vector<QLocalSocket*> sockets;
    for (const auto& [socket, client] : m_clients)
        sockets.push_back(socket);
    for (QLocalSocket* socket : sockets) {
        while (m_clients.contains(socket) && socket->bytesToWrite() > 0 &&
               timer.elapsed() < milliseconds) {
            if (!socket->waitForBytesWritten(
                    static_cast<int>(std::max<qint64>(1, milliseconds - timer.elapsed()))))
                break;
        }
    }
}

void WorkerServer::read(QLocalSocket* socket)
{
    const auto client = m_clients.find(socket);
    if (client == m_clients.end())
        return;
    const QByteArray bytes = socket->readAll();
    for (const std::string& line : client->second.splitter.feed(
             {bytes.constData(), static_cast<std::size_t>(bytes.size())})) {
        if (!m_clients.contains(socket))
            return;
        handle(socket, line);
    }
}

void WorkerServer::handle(QLocalSocket* socket, const std::string& line)
{
    const ParsedMessage parsed = parseMessage(line, Direction::ToWorker);
    if (!parsed.isGood()) {
        log("run").warn("A request was refused: {}", parsed.refusal);
        return;
    }
    nlohmann::json ack = answer(parsed.message, m_clients.at(socket));
    ack["type"] = "ack";
    ack["id"] = parsed.message.at("id");
    ack["request"] = parsed.message.at("type");
    send(socket, serialise(ack));
}

nlohmann::json WorkerServer::answer(const nlohmann::json& request, Client& client)
{
    const auto& type = request.at("type").get_ref<const std::string&>();
    if (type == "watch") {
        client.watch = watchFromJson(request);
        updateWatched();
    } else if (type == "kill_after") {
        Q_EMIT killAfterRequested(request.at("seconds").get<double>());
    }
    return answerTo(request, m_controller);
}

void WorkerServer::setWatchedFromAfar(bool watched)
{
    if (std::exchange(m_isWatchedFromAfar, watched) != watched)
        updateWatched();
}

/// Frames stay in device memory only while every viewer can open it; one that cannot, or no longer,
/// brings them all back to the host.
void WorkerServer::updateWatched()
{
    bool isWatched = m_isWatchedFromAfar, opensDevice = !m_isWatchedFromAfar;
    for (const auto& [socket, client] : m_clients) {
        if (!client.watch.isWatching)
            continue;
        isWatched = true;
        opensDevice = opensDevice && client.watch.sharedDevice == m_controller.device().uuid;
    }
    if (!isWatched) // first, so that no picture is drawn for nobody
        m_controller.setWatched(false);
    m_controller.setWantsShared(isWatched && opensDevice);
    if (isWatched)
        m_controller.setWatched(true);
}

} // namespace vergence
