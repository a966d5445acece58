#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>

#include <nlohmann/json.hpp>

#include "core/run/protocol.h"
#include "core/view/view_input.h"

class QLocalSocket;

namespace vergence {

/// A client's end of the socket: sends requests, remembers them until they are acknowledged, and
/// hands messages on. Requests made before the worker can be reached wait for it. Whoever hears
/// disconnected() may connect again at once.
class WorkerLink : public QObject {
    Q_OBJECT
public:
    explicit WorkerLink(std::function<void(const nlohmann::json&)> onMessage,
                        QObject* parent = nullptr);
    ~WorkerLink() override;

    void connectTo(const QString& socketName);
    void close();
    bool isConnected() const;
    bool isConnecting() const;

    /// How requests go to a worker that no socket reaches; empty: they wait for one.
    using Post = std::function<void(const nlohmann::json& message)>;
    void setPost(Post post);
    void hearAck(const nlohmann::json& ack); ///< that came another way than by the socket

    void request(const std::string& type, nlohmann::json members = nlohmann::json::object());
    /// The newest input, one message under way at a time.
    void sendView(const ViewInput& input);
    bool isWaitingFor(const std::string& type) const; ///< an acknowledgement of such a request
    /// Forgets requests that nobody will answer any more.
    void clearRequests();

Q_SIGNALS:
    void connected();
    void disconnected();
    void waiting(const QString& request);
    void acknowledged(const QString& request, double milliseconds);
    /// `members`: what request() was given.
    void refused(const QString& request, const QString& reason, const nlohmann::json& members);

private:
    struct Pending {
        std::string type;
        nlohmann::json members;
        QElapsedTimer since;
        bool wasReported = false;
    };
    void open(const QString& socketName);
    void opened();
    void closed();
    void send(nlohmann::json message);
    void sendWaiting();
    void read();
    void hear(const nlohmann::json& message);
    void checkPending();
    void pumpView();

    std::function<void(const nlohmann::json&)> m_onMessage;
    std::unique_ptr<QLocalSocket> m_socket; ///< of one connection; none before and after it
    QTimer m_pendingTimer;
    LineSplitter m_splitter;
    std::uint64_t m_lastId = 0, m_viewId = 0;
    std::map<std::uint64_t, Pending> m_pending;
    std::deque<nlohmann::json> m_unsent;
    Post m_post;
    ViewInput m_view;
    bool m_hasView = false;
};

} // namespace vergence
