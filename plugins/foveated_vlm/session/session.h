#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/artifact/tokenizer/tokenizer.h"
#include "plugins/foveated_vlm/feed/frame_feed.h"
#include "plugins/foveated_vlm/session/clip_sets.h"
#include "plugins/foveated_vlm/session/settings.h"
#include "plugins/foveated_vlm/train/trainer.h"

namespace vergence::fvlm {

/// Everything a run works with, from clips to trainer, put together as the configuration says.
class Session {
public:
    /// What is told while it is put together.
    struct Hooks {
        OpeningHooks opening; ///< both are needed
        std::function<void(const std::string& id, const std::string& sentence)> warn;
    };
    /// `folder`: of the run, for decoded clips and the tokenizer. Throws InputError for files that
    /// do not fit. Where it was stopped, isReady() is false and nothing else may be called.
    Session(Stream& stream, std::shared_ptr<Device> device, FoveatedVlmConfig config,
            const std::filesystem::path& folder, const Hooks& hooks);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    Stream& stream() { return m_stream; }
    bool isReady() const { return m_trainer != nullptr; }
    const FoveatedVlmConfig& config() const { return m_config; }
    const ClipSets& sets() const { return m_sets; }
    const Tokenizer* tokenizer() const { return m_tokenizer.get(); }
    const ChatTemplate* text() const { return m_text.get(); }
    FoveatedModel& model() { return *m_model; }
    const FoveatedModel& model() const { return *m_model; }
    Trainer& trainer() { return *m_trainer; }
    const Trainer& trainer() const { return *m_trainer; }
    /// Only where hasHeldOut().
    Evaluator& evaluator() { return *m_evaluator; }
    bool hasHeldOut() const { return m_evaluator != nullptr; }
    /// Parts to evaluate held-out clips with.
    Evaluator::Parts heldOutParts();
    FrameFeed& heldOutFeed() { return m_heldOutFeed ? *m_heldOutFeed : *m_feed; }
    /// That training waited for frames, s.
    double waitedSeconds() const { return m_feed->counts().waitedSeconds; }
    /// Floating point operations of the training since the session exists. Specification, section
    /// 11.1.
    double flop() const;

    /// Takes over what may change while the run goes on.
    void change(Stream& stream, const FoveatedVlmConfig& config);

private:
    void makeText(const std::filesystem::path& folder, const Hooks& hooks);
    void makeModel(Stream& stream, const Hooks& hooks);
    void loadWeightFiles(Stream& stream, const Hooks& hooks);
    void makeFeeds(const Hooks& hooks);
    void tellClips(const Hooks& hooks) const;

    Stream& m_stream;
    std::shared_ptr<Device> m_device;
    FoveatedVlmConfig m_config;
    ClipSets m_sets;
    std::vector<ClipText> m_texts; ///< samples without frames are the same texts
    std::unique_ptr<Tokenizer> m_tokenizer;
    std::unique_ptr<ChatTemplate> m_text;
    std::unique_ptr<FoveatedModel> m_model;
    std::unique_ptr<FrameFeed> m_feed, m_heldOutFeed; ///< the latter for drawn clips
    std::unique_ptr<BatchMaker> m_batches;
    std::unique_ptr<Trainer> m_trainer;
    std::unique_ptr<Evaluator> m_evaluator;
};

} // namespace vergence::fvlm
