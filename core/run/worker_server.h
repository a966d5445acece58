#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <QLocalServer>
#include <QLocalSocket>
#include <QObject>

#include <nlohmann/json.hpp>

#include "core/run/messages.h"
#include "core/run/protocol.h"
#include "core/run/run_controller.h"

namespace vergence {

/// The worker's local socket: any number of clients of the same user, each heard and acknowledged
/// on its own.
class WorkerServer : public QObject {
    Q_OBJECT
public:
    explicit WorkerServer(RunController& controller);
    ~WorkerServer() override;

    /// Empty where no socket could be opened (logged); the run goes on without.
    const std::string& socketName() const { return m_name; }
    void broadcast(const std::vector<nlohmann::json>& messages);
    /// Somebody watches who is no client: in files, from another computer.
    void setWatchedFromAfar(bool watched);
    /// Waits until clients have read what was sent, or `milliseconds`.
    void drain(int milliseconds);

Q_SIGNALS:
    void killAfterRequested(double seconds);

private:
    struct Client {
        LineSplitter splitter;
        WatchRequest watch;
    };
    void welcome();
    void read(QLocalSocket* socket);
    void leave(QLocalSocket* socket);
    void handle(QLocalSocket* socket, const std::string& line);
    nlohmann::json answer(const nlohmann::json& request, Client& client);
    void updateWatched();
    void send(QLocalSocket* socket, const std::string& bytes);

    RunController& m_controller;
    QLocalServer m_server;
    std::string m_name;
    bool m_isWatchedFromAfar = false;
    std::map<QLocalSocket*, Client> m_clients;
};

} // namespace vergence
