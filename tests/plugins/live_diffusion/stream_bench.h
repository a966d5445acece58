#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <QTest>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/config/config.h"
#include "plugins/live_diffusion/live_diffusion_run.h"
#include "plugins/live_diffusion/session/stream_part.h"
#include "tests/plugins/live_diffusion/part_context.h"

namespace vergence::live::testing {

/// A part over a small network; live changes as people make them.
struct StreamBench {
    explicit StreamBench(const std::vector<std::string>& assignments)
    {
        ConfigBuilder builder(liveDiffusionSchema());
        for (const char* common :
             {"model_size=nano", "frame_size=16", "weights=bench", "precision=fp32", "tuned=false",
              "stream_frames=1000000", "export_clip=none"})
            builder.addAssignment(common);
        for (const std::string& assignment : assignments)
            builder.addAssignment(assignment);
        values = builder.build().config;
        expects(values.has_value(), "StreamBench: assignments that fit");
        context.values = &*values;
        networks.emplace(context.device(), context.stream(),
                         readLiveDiffusionConfig(context.config()),
                         [](const std::string&, const std::string&) {});
    }
    void set(const std::string& key, ConfigValue value)
    {
        values = values->with(key, std::move(value), {});
    }
    /// Frames, then what is left behind.
    nlohmann::json finish(StreamPart& part, int frames)
    {
        steps(part, frames);
        part.finish(context);
        return nlohmann::json::parse(readFile(context.artifact("stream/stream.json")));
    }
    void steps(StreamPart& part, int frames)
    {
        for (int i = 0; i < frames; ++i)
            QVERIFY(part.step(context));
    }
    /// Of the table of moved switches.
    nlohmann::json rows(StreamPart& part)
    {
        part.view(context, {});
        const auto found = context.tables.find("switches");
        return found == context.tables.end() ? nlohmann::json::array() : found->second["rows"];
    }
    bool warned(const std::string& words) const
    {
        return std::ranges::any_of(context.warnings, [&](const std::string& sentence) {
            return sentence.find(words) != std::string::npos;
        });
    }

    std::optional<Config> values;
    vergence::test::PartContext context;
    std::optional<Networks> networks;
};

/// Steps until `holds`, for at most a hundred seconds.
template <class Claim>
bool becomes(StreamBench& bench, StreamPart& part, const Claim& holds)
{
    for (int i = 0; i < 1000 && !holds(); ++i)
        part.step(bench.context); // waits for up to 80 ms where nothing is finished
    return holds();
}

} // namespace vergence::live::testing
