#pragma once

#include <memory>

#include <QTemporaryDir>
#include <QTimer>

#include "core/run/run_client.h"
#include "core/run/run_controller.h"
#include "core/run/worker_server.h"
#include "tests/core/run/fake_run.h"
#include "tests/support/patience.h"

namespace vergence::testing {

/// A worker inside this process: the controller of a FakeRun, its socket, and what its main thread
/// does. The run goes on until the worker dies.
class LiveWorker {
public:
    explicit LiveWorker(std::shared_ptr<Device> device);
    ~LiveWorker() { die(); }

    FakeScript script;
    /// Like a kill: the socket closes, nothing is said.
    void die();
    RunController& controller() { return *m_controller; }
    const RunFolder& folder() const { return m_folder; }

    void start();

private:
    QTemporaryDir m_directory;
    RunFolder m_folder;
    std::shared_ptr<Device> m_device;
    std::unique_ptr<RunController> m_controller;
    std::unique_ptr<WorkerServer> m_server;
    QTimer m_poll;
};

/// Publishes one picture whose bytes all have `value`, opaque where it has colours, as a lab does:
/// where it lies while every viewer opens the device, else through the host.
class PlainPictures {
public:
    FrameInfo info; ///< stream, size, layers and format of what comes next
    std::atomic<int> value{0};

    void publish(RunContext& context);

private:
    std::unique_ptr<SharedSlots> m_slots;
};

} // namespace vergence::testing
