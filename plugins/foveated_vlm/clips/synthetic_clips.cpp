#include "plugins/foveated_vlm/clips/synthetic_clips.h"

#include <cmath>

#include <fmt/format.h>

#include "core/artifact/artifact_store.h"
#include "core/base/error.h"
#include "plugins/foveated_vlm/clips/synthetic_scene.h"

namespace vergence::fvlm {

namespace {

constexpr float kFramesPerSecond = 8;

const char* nameOf(SyntheticTask task)
{
    switch (task) {
    case SyntheticTask::Ask:
        return "ask";
    case SyntheticTask::Tell:
        return "tell";
    case SyntheticTask::Next:
        return "next";
    }
    return "";
}

ClipText textOf(const SyntheticSettings& settings, std::uint64_t id)
{
    ClipText text;
    text.source = "synthetic";
    if (settings.task == SyntheticTask::Next)
        return text;
    const SyntheticScene scene = syntheticScene(settings, id);
    SyntheticObject subject = scene.objects[static_cast<std::size_t>(scene.subject)];
    text.prompt = settings.task == SyntheticTask::Tell
                      ? "What moves?"
                      : "What does the " +
                            syntheticShapeNames()[static_cast<std::size_t>(subject.shape)] + " do?";
    text.answer = text.chosen = syntheticAnswer(subject);
    subject.colour = wrongColour(settings, id, subject.colour);
    text.rejected = syntheticAnswer(subject);
    return text;
}

} // namespace

SyntheticClips::SyntheticClips(const SyntheticSettings& settings) : m_settings(settings)
{
    expects(settings.size >= 16 && settings.size <= 4096, "synthetic clips: size of 16 to 4096 px");
    expects(settings.frames >= 1, "synthetic clips: at least one frame");
    expects(settings.count >= 0, "synthetic clips: no negative number of clips");
    expects(settings.fewestObjects >= 1 && settings.fewestObjects <= settings.mostObjects &&
                settings.mostObjects <= kSyntheticShapes + 1,
            "synthetic clips: 1 to 5 objects, fewest first");
}

ClipInfo SyntheticClips::info(Index clip) const
{
    expectsClip(*this, clip);
    ClipInfo info;
    info.id = m_settings.firstId + static_cast<std::uint64_t>(clip);
    info.frames = m_settings.frames;
    info.fps = kFramesPerSecond;
    info.seconds = static_cast<float>(m_settings.frames) / kFramesPerSecond;
    info.isImage = m_settings.frames == 1;
    info.text = textOf(m_settings, info.id);
    for (int t = 0; t < m_settings.frames; ++t)
        info.timestamps.push_back(static_cast<float>(t) / kFramesPerSecond);
    return info;
}

void SyntheticClips::read(Index clip, std::span<std::uint8_t> out) const
{
    expectsClip(*this, clip);
    expects(out.size() == static_cast<std::size_t>(m_settings.frames) * frameSize(*this),
            "synthetic clips: room for all frames of one clip");
    const std::uint64_t id = m_settings.firstId + static_cast<std::uint64_t>(clip);
    const SyntheticScene scene = syntheticScene(m_settings, id);
    const std::vector<float> background = syntheticBackground(m_settings, id);
    std::vector<float> picture;
    std::uint8_t* next = out.data();
    for (int frame = 0; frame < m_settings.frames; ++frame) {
        picture = background;
        for (const SyntheticObject& object : scene.objects)
            paintObject(object, frame, m_settings.size, picture);
        for (const float value : picture)
            *next++ = static_cast<std::uint8_t>(value + 0.5f);
    }
}

std::string SyntheticClips::digest() const
{
    const SyntheticSettings& s = m_settings;
    return sha256Hex(fmt::format("synthetic 1 {} {} {} {} {} {} {} {}", nameOf(s.task), s.size,
                                 s.frames, s.fewestObjects, s.mostObjects, s.seed, s.count,
                                 s.firstId));
}

SyntheticScene SyntheticClips::scene(Index clip) const
{
    expectsClip(*this, clip);
    return syntheticScene(m_settings, m_settings.firstId + static_cast<std::uint64_t>(clip));
}

double blindNats(SyntheticTask task)
{
    switch (task) {
    case SyntheticTask::Ask:
        return std::log(kSyntheticColours) + std::log(kSyntheticMotions);
    case SyntheticTask::Tell:
        return std::log(kSyntheticShapes * kSyntheticColours * (kSyntheticMotions - 1));
    case SyntheticTask::Next:
        return 0;
    }
    return 0;
}

const std::vector<std::string>& syntheticShapeNames()
{
    static const std::vector<std::string> names = {"disc", "square", "triangle", "cross"};
    return names;
}

const std::vector<std::string>& syntheticColourNames()
{
    static const std::vector<std::string> names = {"red",    "green",  "blue",
                                                   "yellow", "purple", "white"};
    return names;
}

const std::vector<std::string>& syntheticMotionNames()
{
    static const std::vector<std::string> names = {
        "right", "up right", "up", "up left", "left", "down left", "down", "down right", "still"};
    return names;
}

std::array<std::uint8_t, 3> syntheticColour(int colour)
{
    static constexpr std::array<std::array<std::uint8_t, 3>, kSyntheticColours> kColours = {
        {{222, 50, 47},
         {52, 168, 72},
         {52, 92, 226},
         {240, 206, 48},
         {168, 60, 200},
         {242, 242, 242}}};
    expects(colour >= 0 && colour < kSyntheticColours, "synthetic clips: one of six colours");
    return kColours[static_cast<std::size_t>(colour)];
}

std::string syntheticAnswer(const SyntheticObject& object)
{
    const bool isStill = object.motion == kSyntheticMotions - 1;
    return fmt::format("{} {} {} {}",
                       syntheticColourNames()[static_cast<std::size_t>(object.colour)],
                       syntheticShapeNames()[static_cast<std::size_t>(object.shape)],
                       isStill ? "staying" : "moving",
                       syntheticMotionNames()[static_cast<std::size_t>(object.motion)]);
}

SyntheticTask syntheticTaskFromName(std::string_view name)
{
    for (const SyntheticTask task : {SyntheticTask::Ask, SyntheticTask::Tell, SyntheticTask::Next})
        if (name == nameOf(task))
            return task;
    throw ContractError("\"" + std::string(name) + "\" is none of the tasks ask, tell, next");
}

} // namespace vergence::fvlm
