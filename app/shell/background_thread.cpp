#include "app/shell/background_thread.h"

#include <QDeadlineTimer>
#include <QThread>

namespace vergence {

namespace {

constexpr int kPatienceMs = 2'000;

} // namespace

QThread* startThread(const std::function<void()>& work, QObject* receiver,
                     const std::function<void()>& done)
{
    QThread* thread = QThread::create(work);
    QObject::connect(thread, &QThread::finished, receiver, [thread, done] {
        thread->deleteLater();
        done();
    });
    thread->start();
    return thread;
}

void leaveThreads(const std::vector<QThread*>& threads)
{
    const QDeadlineTimer until(kPatienceMs);
    for (QThread* thread : threads)
        if (thread != nullptr && thread->wait(until))
            delete thread;
}

} // namespace vergence
