#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include <unistd.h>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/run/run_context.h"

namespace vergence::test {

/// A context for whatever only publishes: frames and controls are real, everything else is missing.
class LentContext : public RunContext {
public:
    LentContext() : m_frames(fmt::format("/vergence-test-{}-", ::getpid())) {}

    std::shared_ptr<Device> device() override { return nullptr; }
    Stream& stream() override { throw ContractError("LentContext has no stream."); }
    const Config& config() const override { throw ContractError("LentContext has no config."); }
    Rng rng(std::uint64_t) const override { throw ContractError("LentContext has no numbers."); }
    ArtifactStore& artifacts() override { throw ContractError("LentContext keeps nothing."); }
    FramePublisher& frames() override { return m_frames; }
    std::int64_t step() const override { return 0; }
    bool stopRequested() const override { return false; }
    bool metricsDue() const override { return true; }
    bool framesDue() const override { return true; }
    void record(const std::string&, double) override {}
    void recordAt(const std::string&, double, std::int64_t) override {}
    void phase(int, int, const std::string&) override {}
    void table(const nlohmann::json&) override {}
    void declareControls(const std::vector<ViewControl>& declared) override
    {
        controls = declared;
        ++declarations;
    }
    void closeChoices(const std::vector<ClosedChoice>&) override {}
    void declareStreams(const std::vector<StreamDecl>&) override {}
    void warn(const std::string&, const std::string&) override {}
    void note(const std::string&, const nlohmann::json&) override {}

    std::vector<ViewControl> controls;
    int declarations = 0;

private:
    FramePublisher m_frames;
};

} // namespace vergence::test
