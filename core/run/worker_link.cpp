#include "core/run/worker_link.h"

#include <algorithm>
#include <utility>

#include <QLocalSocket>

#include "core/base/log.h"
#include "core/run/messages.h"

namespace vergence {

namespace {

constexpr int kPatienceMilliseconds = 2000; // until a request counts as waiting
constexpr int kCheckMilliseconds = 250;

} // namespace

WorkerLink::WorkerLink(std::function<void(const nlohmann::json&)> onMessage, QObject* parent)
    : QObject(parent),
      m_onMessage(std::move(onMessage)),
      m_pendingTimer(this)
{
    connect(&m_pendingTimer, &QTimer::timeout, this, &WorkerLink::checkPending);
    m_pendingTimer.setInterval(kCheckMilliseconds);
}

WorkerLink::~WorkerLink()
{
    if (m_socket)
        m_socket->disconnect(this);
}

void WorkerLink::connectTo(const QString& socketName)
{
    if (m_socket && m_socket->state() != QLocalSocket::UnconnectedState)
        return;
    m_splitter = {};
    open(socketName);
}

/// A socket of its own for every connection: one that is opened again while it says that it was
/// closed is left without a buffer for writing, and the next message would crash (Qt 6.4).
void WorkerLink::open(const QString& socketName)
{
    m_socket = std::make_unique<QLocalSocket>();
    connect(m_socket.get(), &QLocalSocket::readyRead, this, &WorkerLink::read);
    connect(m_socket.get(), &QLocalSocket::connected, this, &WorkerLink::opened);
    connect(m_socket.get(), &QLocalSocket::disconnected, this, &WorkerLink::closed);
    m_socket->connectToServer(socketName);
}

void WorkerLink::opened()
{
    Q_EMIT connected();
    sendWaiting();
    pumpView();
}

void WorkerLink::setPost(Post post)
{
    m_post = std::move(post);
    sendWaiting();
}

void WorkerLink::sendWaiting()
{
    for (std::deque<nlohmann::json> waiting = std::exchange(m_unsent, {}); !waiting.empty();
         waiting.pop_front())
        send(std::move(waiting.front()));
}

void WorkerLink::closed()
{
    m_socket->disconnect(this);
    m_socket.release()->deleteLater(); // it is still speaking
    m_viewId = 0;
    Q_EMIT disconnected();
}

void WorkerLink::close()
{
    if (m_socket)
        m_socket->abort();
}

bool WorkerLink::isConnected() const
{
    return m_socket && m_socket->state() == QLocalSocket::ConnectedState;
}

bool WorkerLink::isConnecting() const
{
    return m_socket && m_socket->state() == QLocalSocket::ConnectingState;
}

void WorkerLink::request(const std::string& type, nlohmann::json members)
{
    const std::uint64_t id = ++m_lastId;
    Pending& pending = m_pending[id];
    pending.type = type;
    pending.members = members;
    pending.since.start();
    members["type"] = type;
    members["id"] = id;
    m_pendingTimer.start();
    send(std::move(members));
}

void WorkerLink::send(nlohmann::json message)
{
    if (isConnected()) {
        const std::string line = serialise(message);
        m_socket->write(line.data(), static_cast<qint64>(line.size()));
    } else if (m_post) {
        m_post(message);
    } else {
        m_unsent.push_back(std::move(message));
    }
}

void WorkerLink::sendView(const ViewInput& input)
{
    m_view.merge(input);
    m_hasView = true;
    pumpView();
}

void WorkerLink::pumpView()
{
    if (!m_hasView || m_viewId != 0 || (!isConnected() && !m_post))
        return;
    nlohmann::json message = viewToJson(m_view);
    m_hasView = false;
    request("view", std::move(message));
    m_viewId = m_lastId;
}

bool WorkerLink::isWaitingFor(const std::string& type) const
{
    return std::ranges::any_of(m_pending,
                               [&](const auto& entry) { return entry.second.type == type; });
}

void WorkerLink::clearRequests()
{
    m_pending.clear();
    m_unsent.clear();
    m_pendingTimer.stop();
    m_viewId = 0;
}

void WorkerLink::read()
{
    const QByteArray bytes = m_socket->readAll();
    for (const std::string& line :
         m_splitter.feed({bytes.constData(), static_cast<std::size_t>(bytes.size())})) {
        const ParsedMessage parsed = parseMessage(line, Direction::FromWorker);
        if (parsed.isGood())
            hear(parsed.message);
        else
            log("run").warn("A message of the worker was refused: {}", parsed.refusal);
    }
}

void WorkerLink::hear(const nlohmann::json& message)
{
    if (message.at("type") == "ack")
        hearAck(message);
    else
        m_onMessage(message);
}

void WorkerLink::hearAck(const nlohmann::json& ack)
{
    const auto id = ack.at("id").get<std::uint64_t>();
    if (id == m_viewId) {
        m_viewId = 0;
        pumpView();
    }
    const auto found = m_pending.find(id);
    if (found == m_pending.end())
        return;
    const Pending answered = std::move(found->second);
    m_pending.erase(found);
    const QString request = QString::fromStdString(answered.type);
    const double milliseconds = static_cast<double>(answered.since.nsecsElapsed()) * 1e-6;
    if (m_pending.empty())
        m_pendingTimer.stop();
    if (!ack.at("accepted").get<bool>())
        Q_EMIT refused(request, QString::fromStdString(ack.value("reason", "")), answered.members);
    Q_EMIT acknowledged(request, milliseconds);
}

void WorkerLink::checkPending()
{
    std::vector<std::string> late;
    for (auto& [id, pending] : m_pending) {
        if (pending.wasReported || pending.since.elapsed() < kPatienceMilliseconds)
            continue;
        pending.wasReported = true;
        late.push_back(pending.type);
    }
    for (const std::string& type : late)
        Q_EMIT waiting(QString::fromStdString(type));
}

} // namespace vergence
