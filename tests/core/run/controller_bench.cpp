#include "tests/core/run/controller_bench.h"

#include <algorithm>
#include <sstream>

#include <QTest>

#include "core/base/file.h"
#include "core/compute/device.h"

namespace vergence::testing {

ControllerBench::ControllerBench()
{
    settings.folder = RunFolder::createAt(m_directory.filePath("run Übung é 空 (1)").toStdString());
    settings.plugin = "fake";
    settings.checkpointSeconds = 0;
}

RunController& ControllerBench::start(std::int64_t steps)
{
    return start(fakeConfig(steps));
}

RunController& ControllerBench::start(const Config& config)
{
    m_controller.reset();
    m_controller = std::make_unique<RunController>(std::make_unique<FakeRun>(script, config),
                                                   config, makeCpuDevice(1), settings);
    m_controller->start();
    return *m_controller;
}

bool ControllerBench::pollUntil(const std::function<bool()>& condition)
{
    return test::waitFor(
        [&] {
            const bool holds = condition(); // first, so that what led there is among the messages
            for (nlohmann::json& message : m_controller->poll())
                messages.push_back(std::move(message));
            return holds;
        },
        60'000);
}

bool ControllerBench::reaches(RunState state)
{
    return pollUntil([this, state] { return m_controller->state() == state; });
}

bool ControllerBench::ends()
{
    const bool ended = pollUntil([this] { return m_controller->isFinished(); });
    m_controller->beat({});
    return ended;
}

bool ControllerBench::hasMessage(const std::string& type, const std::string& member,
                                 const nlohmann::json& value) const
{
    return std::ranges::any_of(messages, [&](const nlohmann::json& message) {
        return message.at("type") == type && message.contains(member) &&
               message.at(member) == value;
    });
}

std::vector<std::string> ControllerBench::curve(const std::string& name) const
{
    std::vector<std::string> points;
    std::istringstream lines(readFile(folder().metrics()));
    for (std::string line; std::getline(lines, line);) {
        const std::size_t wall = line.find(','), series = line.find(',', wall + 1);
        if (line.substr(series + 1).starts_with(name + ","))
            points.push_back(line.substr(0, wall) + line.substr(series));
    }
    return points;
}

std::vector<std::string> wholeCurve(std::int64_t steps)
{
    ControllerBench bench;
    bench.script.waitsAMillisecond = false;
    bench.start(steps);
    bench.ends();
    return bench.curve();
}

} // namespace vergence::testing
