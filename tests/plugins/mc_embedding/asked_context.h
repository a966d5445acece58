#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <string>

#include "core/artifact/artifact_store.h"
#include "core/config/config.h"
#include "core/view/frame_publisher.h"
#include "tests/plugins/mc_embedding/faulty_device.h"
#include "tests/plugins/mc_embedding/lent_context.h"

namespace vergence::test {

/// A context for whole runs without a controller, on the CPU. Counts how often it is asked about a
/// stop, says yes from a given question on, and knows what was computed and written between two
/// questions, and after the first yes.
class AskedContext final : public LentContext {
public:
    AskedContext(Config config, RunFolder folder)
        : m_config(std::move(config)),
          m_artifacts(std::move(folder)),
          m_device(std::make_shared<FaultyDevice>(faults)),
          m_stream(m_device->createStream())
    {
        m_artifacts.setListener([this](const Artifact&) { filesAfterYes += hasSaidYes ? 1 : 0; });
    }

    std::shared_ptr<Device> device() override { return m_device; }
    Stream& stream() override { return *m_stream; }
    const Config& config() const override { return m_config; }
    ArtifactStore& artifacts() override { return m_artifacts; }
    bool metricsDue() const override { return false; }
    bool framesDue() const override { return false; }
    void phase(int, int, const std::string& name) override { currentPhase = name; }
    std::int64_t step() const override { return steps; }
    bool stopRequested() const override
    {
        const double since = faults.flop - m_flopAt;
        if (since > longestSilence) {
            longestSilence = since;
            silentPhase = currentPhase;
        }
        m_flopAt = faults.flop;
        ++questions;
        hasSaidYes = hasSaidYes || questions >= yesFrom;
        return hasSaidYes;
    }
    /// Operations of products since the last question.
    double flopSinceAsked() const { return faults.flop - m_flopAt; }

    mutable Faults faults;
    std::int64_t yesFrom = std::numeric_limits<std::int64_t>::max();
    mutable std::int64_t questions = 0;
    mutable bool hasSaidYes = false;
    mutable double longestSilence = 0; ///< operations of products between two questions
    mutable std::string silentPhase;   ///< where that was
    std::string currentPhase;
    int filesAfterYes = 0;
    std::int64_t steps = 0;

private:
    Config m_config;
    ArtifactStore m_artifacts;
    mutable double m_flopAt = 0;
    std::shared_ptr<Device> m_device;
    std::unique_ptr<Stream> m_stream;
};

} // namespace vergence::test
