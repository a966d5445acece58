#include <memory>

#include <QLocalServer>
#include <QLocalSocket>
#include <QTemporaryDir>
#include <QTest>

#include "core/run/worker_link.h"
#include "tests/support/patience.h"
#include "tests/support/test_program.h"

using namespace vergence;

/// A link to a worker that this process plays itself.
class TestWorkerLink : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init();
    void requestsWaitForTheWorker();
    void reconnectsWhenTheWorkerHangsUp();
    void reconnectsWhenItHangsUpItself();
    void forgottenRequestsAreNotSent();

private:
    std::unique_ptr<QLocalSocket> caller();
    QByteArray lineFrom(QLocalSocket& caller);

    QTemporaryDir m_folder;
    std::unique_ptr<QLocalServer> m_worker;
    std::unique_ptr<WorkerLink> m_link;
};

void TestWorkerLink::init()
{
    m_worker = std::make_unique<QLocalServer>();
    QVERIFY(m_worker->listen(m_folder.filePath("socket")));
    m_link = std::make_unique<WorkerLink>([](const nlohmann::json&) {});
}

std::unique_ptr<QLocalSocket> TestWorkerLink::caller()
{
    const bool hasCalled = test::waitFor([this] { return m_worker->hasPendingConnections(); });
    return std::unique_ptr<QLocalSocket>(hasCalled ? m_worker->nextPendingConnection() : nullptr);
}

QByteArray TestWorkerLink::lineFrom(QLocalSocket& caller)
{
    return test::waitFor([&] { return caller.canReadLine(); }) ? caller.readLine() : QByteArray();
}

void TestWorkerLink::requestsWaitForTheWorker()
{
    m_link->request("pause");
    QVERIFY(!m_link->isConnected());
    m_link->connectTo(m_worker->fullServerName());
    const auto heard = caller();
    QVERIFY(heard != nullptr);
    QVERIFY(lineFrom(*heard).contains("\"pause\""));
}

/// Like a window that looks for the worker as soon as it hears that the connection has ended.
void TestWorkerLink::reconnectsWhenTheWorkerHangsUp()
{
    const QString name = m_worker->fullServerName();
    connect(m_link.get(), &WorkerLink::disconnected, this, [&] { m_link->connectTo(name); });
    m_link->connectTo(name);
    for (int round = 0; round < 3; ++round) {
        const auto heard = caller();
        QVERIFY(heard != nullptr);
        QVERIFY(m_link->isConnected());
        m_link->request("stop");
        QVERIFY(lineFrom(*heard).contains("\"stop\""));
        heard->abort();
    }
    m_link->disconnect(this);
}

void TestWorkerLink::reconnectsWhenItHangsUpItself()
{
    const QString name = m_worker->fullServerName();
    m_link->connectTo(name);
    const auto first = caller();
    QVERIFY(first != nullptr);
    connect(m_link.get(), &WorkerLink::disconnected, this, [&] { m_link->connectTo(name); });
    m_link->close();
    m_link->disconnect(this);
    QVERIFY(m_link->isConnected());
    m_link->request("checkpoint");
    const auto second = caller();
    QVERIFY(second != nullptr);
    QVERIFY(lineFrom(*second).contains("\"checkpoint\""));
}

void TestWorkerLink::forgottenRequestsAreNotSent()
{
    m_link->request("pause");
    m_link->clearRequests();
    m_link->request("resume");
    m_link->connectTo(m_worker->fullServerName());
    const auto heard = caller();
    QVERIFY(heard != nullptr);
    QVERIFY(lineFrom(*heard).contains("\"resume\""));
}

VERGENCE_TEST(TestWorkerLink)
#include "tst_worker_link.moc"
