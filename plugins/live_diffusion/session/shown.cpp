#include "plugins/live_diffusion/session/shown.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "plugins/live_diffusion/session/streams.h"

namespace vergence::live {

namespace {
constexpr const char* kPrefix = "shown/";
} // namespace

bool Shown::isTensor(const std::string& name)
{
    return name.starts_with(kPrefix);
}

void Shown::save(RunContext& context, Checkpoint& checkpoint)
{
    auto frames = nlohmann::json::array();
    for (const StreamDecl& decl : streamDecls()) {
        Frame frame = context.frames().newest(decl.id);
        if (frame.pixels.empty() && frame.info.meta.empty())
            continue;
        frames.push_back({{"stream", decl.id},
                          {"step", frame.info.step},
                          {"width", frame.info.width},
                          {"height", frame.info.height},
                          {"meta", frame.info.meta}});
        if (!frame.pixels.empty())
            checkpoint.tensors.push_back({kPrefix + decl.id,
                                          DType::U8,
                                          {static_cast<Index>(frame.pixels.size())},
                                          std::move(frame.pixels)});
    }
    checkpoint.state["shown"] = frames;
}

void Shown::load(const Checkpoint& checkpoint)
{
    m_frames.clear();
    try {
        for (const auto& saved : checkpoint.state.at("shown")) {
            Frame frame;
            frame.info.stream = saved.at("stream").get<std::string>();
            frame.info.step = saved.at("step").get<std::int64_t>();
            frame.info.width = saved.at("width").get<std::uint32_t>();
            frame.info.height = saved.at("height").get<std::uint32_t>();
            frame.info.meta = saved.at("meta").get<std::string>();
            const auto pixels = std::ranges::find(checkpoint.tensors, kPrefix + frame.info.stream,
                                                  &HostTensor::name);
            if (pixels != checkpoint.tensors.end())
                frame.pixels = pixels->bytes;
            if (frame.pixels.size() != frame.info.pixelBytes())
                throw InputError("The checkpoint is damaged: a picture of " + frame.info.stream +
                                 " has not as many pixels as it should.");
            m_frames.push_back(std::move(frame));
        }
    } catch (const nlohmann::json::exception& failure) {
        throw InputError(std::string("The checkpoint is damaged: ") + failure.what());
    }
}

void Shown::publish(RunContext& context)
{
    for (const Frame& frame : m_frames)
        context.frames().publish(frame.info, frame.pixels);
    m_frames.clear();
}

} // namespace vergence::live
