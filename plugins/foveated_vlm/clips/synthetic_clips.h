#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/foveated_vlm/clips/clip_source.h"

namespace vergence::fvlm {

/// What is asked of a synthetic clip. Ask: the prompt names a shape, the answer says its colour
/// and motion, which needs looking at the right object. Tell: describe the only object that moves.
/// Next: no text, the next frame is to be predicted.
enum class SyntheticTask { Ask, Tell, Next };

enum class SyntheticShape { Disc, Square, Triangle, Cross };
inline constexpr int kSyntheticShapes = 4, kSyntheticColours = 6, kSyntheticMotions = 9;

/// One thing that moves over the canvas. Lengths in px, rows downwards.
struct SyntheticObject {
    SyntheticShape shape = SyntheticShape::Disc;
    int colour = 0;     ///< into syntheticColourNames()
    int motion = 0;     ///< eighth turns from right towards up; 8: still
    float radius = 0;   ///< size/10 to size/6
    float x = 0, y = 0; ///< centre in the first frame
    /// Per frame; their length is size/24 to size/12, less where a long clip's path would leave the
    /// canvas, or 0.
    float stepX = 0, stepY = 0;
};

/// All that is drawn of one clip, and what is asked.
struct SyntheticScene {
    std::vector<SyntheticObject> objects; ///< later ones in front
    int subject = 0; ///< the answer is about it; for Ask its shape is there once
};

struct SyntheticSettings {
    SyntheticTask task = SyntheticTask::Ask;
    int size = 64;                          ///< of the square canvas, px
    int frames = 6;                         ///< per clip
    int fewestObjects = 2, mostObjects = 5; ///< 1 to 5; the fifth repeats a shape
    std::uint64_t seed = 42;
    Index count = 4096;
    std::uint64_t firstId = 0; ///< id of clip 0; the others follow
};

/// Clips made on the fly: shapes moving over soft noise. Every number is a function of seed and
/// clip id, so that order, thread and device do not matter.
class SyntheticClips : public ClipSource {
public:
    /// Ids of held-out clips start here, far from those of any training set.
    static constexpr std::uint64_t kValidationIds = std::uint64_t(1) << 32;

    /// Throws ContractError for settings out of range.
    explicit SyntheticClips(const SyntheticSettings& settings);

    Index count() const override { return m_settings.count; }
    int height() const override { return m_settings.size; }
    int width() const override { return m_settings.size; }
    ClipInfo info(Index clip) const override;
    void read(Index clip, std::span<std::uint8_t> out) const override;
    std::string digest() const override;
    std::span<const std::uint8_t> mapped() const override { return {}; }

    SyntheticScene scene(Index clip) const;
    const SyntheticSettings& settings() const { return m_settings; }

private:
    SyntheticSettings m_settings;
};

/// Least mean negative log-likelihood of an answer, in nats, that is possible without seeing the
/// clip: ln 6 + ln 9 for Ask, ln(4 · 6 · 8) for Tell, 0 for Next.
double blindNats(SyntheticTask task);

const std::vector<std::string>& syntheticShapeNames();
const std::vector<std::string>& syntheticColourNames();
/// Of the nine motions: "right", "up right", …, "still".
const std::vector<std::string>& syntheticMotionNames();
/// sRGB of a colour.
std::array<std::uint8_t, 3> syntheticColour(int colour);
/// "red disc moving up left", "red disc staying still".
std::string syntheticAnswer(const SyntheticObject& object);
/// "ask", "tell", "next"; throws ContractError for another name.
SyntheticTask syntheticTaskFromName(std::string_view name);

} // namespace vergence::fvlm
