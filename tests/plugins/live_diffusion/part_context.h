#pragma once

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "core/base/error.h"
#include "core/compute/device.h"
#include "core/config/closed_choice.h"
#include "core/run/run_context.h"
#include "tests/support/scratch.h"

namespace vergence::test {

/// A context without a worker: everything that a part leaves can be read again.
class PartContext final : public RunContext {
public:
    PartContext()
        : m_device(makeCpuDevice(1)),
          m_stream(m_device->createStream()),
          m_artifacts(RunFolder::createAt(m_scratch / "run")),
          m_frames(fmt::format("/vergence-part-{}-", ::getpid()))
    {
        // What parts keep for the next process must not meet that of the user.
        qputenv("XDG_CACHE_HOME", (m_scratch / "cache").c_str());
    }

    /// What a part has left lies in $VERGENCE_PICTURES where it is set, for people.
    ~PartContext() override
    {
        const char* folder = std::getenv("VERGENCE_PICTURES");
        std::error_code ignored;
        if (folder != nullptr)
            std::filesystem::copy(artifact(""), folder,
                                  std::filesystem::copy_options::recursive |
                                      std::filesystem::copy_options::overwrite_existing,
                                  ignored);
    }

    std::shared_ptr<Device> device() override { return m_device; }
    Stream& stream() override { return *m_stream; }
    const Config& config() const override
    {
        expects(values != nullptr, "part context: a configuration, for parts that follow it");
        return *values;
    }
    Rng rng(std::uint64_t stream) const override { return Rng(1, stream); }
    ArtifactStore& artifacts() override { return m_artifacts; }
    FramePublisher& frames() override { return m_frames; }
    std::int64_t step() const override { return steps; }
    bool stopRequested() const override
    {
        ++questions;
        return isStopped || (stopsAt >= 0 && questions > stopsAt);
    }
    bool metricsDue() const override { return true; }
    bool framesDue() const override { return true; }
    void record(const std::string& name, double value) override { recordAt(name, value, steps); }
    void recordAt(const std::string& name, double value, std::int64_t x) override
    {
        records[name].emplace_back(x, value);
    }
    void phase(int, int, const std::string& name) override { phases.push_back(name); }
    void table(const nlohmann::json& table) override
    {
        tables[table.at("id").get<std::string>()] = table;
    }
    void declareControls(const std::vector<ViewControl>&) override {}
    void closeChoices(const std::vector<ClosedChoice>& choices) override { closed = choices; }
    void declareStreams(const std::vector<StreamDecl>&) override {}
    void warn(const std::string&, const std::string& sentence) override
    {
        warnings.push_back(sentence);
    }
    void note(const std::string& key, const nlohmann::json& value) override { notes[key] = value; }

    std::filesystem::path artifact(const std::string& name) const
    {
        return m_scratch / "run" / "artifacts" / name;
    }

    bool isStopped = false;
    mutable int questions = 0; ///< whether to stop, so far
    int stopsAt = -1;          ///< the answer is yes after so many; −1: never
    std::vector<std::string> phases;
    const Config* values = nullptr;
    std::map<std::string, nlohmann::json> tables;
    std::int64_t steps = 0;
    std::map<std::string, std::vector<std::pair<std::int64_t, double>>> records;
    std::map<std::string, nlohmann::json> notes;
    std::vector<std::string> warnings;
    std::vector<ClosedChoice> closed;

private:
    Scratch m_scratch;
    std::shared_ptr<Device> m_device;
    std::unique_ptr<Stream> m_stream;
    ArtifactStore m_artifacts;
    FramePublisher m_frames;
};

} // namespace vergence::test
