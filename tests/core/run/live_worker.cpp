#include "tests/core/run/live_worker.h"

namespace vergence::testing {

LiveWorker::LiveWorker(std::shared_ptr<Device> device)
    : m_folder(RunFolder::createAt(m_directory.filePath("run").toStdString())),
      m_device(std::move(device))
{
    m_poll.setInterval(5);
    QObject::connect(&m_poll, &QTimer::timeout, &m_poll,
                     [this] { m_server->broadcast(m_controller->poll()); });
}

void LiveWorker::start()
{
    RunSettings settings;
    settings.folder = m_folder;
    settings.plugin = "fake";
    settings.checkpointSeconds = 0;
    const Config config = fakeConfig(1'000'000'000);
    m_controller = std::make_unique<RunController>(std::make_unique<FakeRun>(script, config),
                                                   config, m_device, settings);
    m_server = std::make_unique<WorkerServer>(*m_controller);
    m_controller->start();
    m_controller->beat(m_server->socketName());
    m_poll.start();
}

void LiveWorker::die()
{
    m_poll.stop();
    m_server.reset();
    m_controller.reset();
}

void PlainPictures::publish(RunContext& context)
{
    std::vector<std::byte> pixels(info.pixelBytes(), static_cast<std::byte>(value.load()));
    for (std::size_t alpha = 3; info.format == PixelFormat::Rgba8 && alpha < pixels.size();
         alpha += 4)
        pixels[alpha] = std::byte{255};
    FramePublisher& frames = context.frames();
    if (!frames.wantsShared()) {
        frames.publish(info, pixels);
        return;
    }
    if (!m_slots || m_slots->slotBytes() < pixels.size())
        m_slots = context.device()->createSharedSlots(pixels.size());
    frames.publishShared(info, m_slots->write(context.stream(), pixels.data(), pixels.size()));
}

} // namespace vergence::testing
