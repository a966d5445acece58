#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/artifact/tokenizer/tokenizer.h"
#include "plugins/foveated_vlm/text/bpe_trainer.h"
#include "plugins/foveated_vlm/text/chat_template.h"

namespace vergence::fvlm::fixtures {

/// Clips of given texts and lengths, grey frames of 16 px whose brightness is the clip's number.
class ListedClips : public ClipSource {
public:
    explicit ListedClips(std::vector<ClipInfo> clips) : m_clips(std::move(clips)) {}

    Index count() const override { return static_cast<Index>(m_clips.size()); }
    int height() const override { return 16; }
    int width() const override { return 16; }
    ClipInfo info(Index clip) const override
    {
        expectsClip(*this, clip);
        return m_clips[static_cast<std::size_t>(clip)];
    }
    void read(Index clip, std::span<std::uint8_t> out) const override
    {
        expectsClip(*this, clip);
        std::fill(out.begin(), out.end(), static_cast<std::uint8_t>(clip));
    }
    std::string digest() const override { return "listed"; }
    std::span<const std::uint8_t> mapped() const override { return {}; }

private:
    std::vector<ClipInfo> m_clips;
};

inline ClipInfo clipOf(std::uint64_t id, int frames, std::string prompt, std::string answer)
{
    ClipInfo info;
    info.id = id;
    info.frames = frames;
    info.text.prompt = std::move(prompt);
    info.text.answer = std::move(answer);
    return info;
}

/// `count` clips of 1 to `mostFrames` frames whose answers have 1 to 5 words.
inline ListedClips variedClips(int count, int mostFrames)
{
    std::vector<ClipInfo> clips;
    for (int i = 0; i < count; ++i) {
        std::string answer = "red";
        for (int word = 0; word < i % 5; ++word)
            answer += " disc";
        clips.push_back(clipOf(100 + static_cast<std::uint64_t>(i), 1 + i * 7 % mostFrames,
                               "what is the disc doing?", answer));
    }
    return ListedClips(std::move(clips));
}

/// A tokenizer of 512 pieces that knows the words of `texts`.
inline std::unique_ptr<Tokenizer> tokenizerOf(const std::vector<std::string>& texts)
{
    return parseTokenizerJson(trainedTokenizerJson(texts), "trained.json");
}

} // namespace vergence::fvlm::fixtures
