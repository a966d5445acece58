#pragma once

#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include "plugins/foveated_vlm/clips/patch_basis.h"
#include "plugins/foveated_vlm/clips/synthetic_clips.h"
#include "plugins/foveated_vlm/train/evaluator.h"
#include "plugins/foveated_vlm/train/trainer.h"
#include "tests/plugins/foveated_vlm/text_support.h"

namespace vergence::fvlm::fixtures {

/// Everything a trainer needs, tiny: frames of 16 px in four patches, widths of 16 and 24.
class TrainBench {
public:
    struct Options {
        SyntheticSettings clips{SyntheticTask::Ask, 16, 3, 2, 2, 42, 16, 0};
        Variant variant = Variant::Captions;
        DType master = DType::F32, compute = DType::F32;
        BatchSettings batches = smallBatches();
        TrainSettings training = smallTraining();
        std::function<void(ModelSettings&)> changesModel{};
        std::shared_ptr<Device> device = makeCpuDevice();
        const ClipSource* source = nullptr; ///< in place of drawn clips
        std::vector<ClipText> texts{};      ///< without frames
        TextSettings text{TemplateKind::Short, TextMask::Answer};
    };

    explicit TrainBench(const Options& options)
        : drawn(options.clips),
          clips(options.source ? *options.source : drawn),
          texts(options.texts),
          latents(clips),
          device(options.device),
          stream(device->createStream()),
          tokenizer(tokenizerOf(captionsOf(clips, options.text))),
          chat(*tokenizer, options.text),
          model(device, modelSettings(options), options.master, options.compute),
          feed(device, clips, hasLatents() ? &latents : nullptr, feedSettings()),
          batches(clips, numbers(clips.count()), hasText() ? &chat : nullptr, &texts,
                  options.batches)
    {
        model.allocate(*stream);
        model.initialise(*stream, 42);
        model.prepare(*stream, feed.patchRows(), feed.patchColumns());
        trainer = std::make_unique<Trainer>(*stream, parts(), options.training);
    }

    static BatchSettings smallBatches()
    {
        BatchSettings settings;
        settings.batch = 2;
        settings.gradAccum = 2;
        settings.window = 16;
        return settings;
    }
    static TrainSettings smallTraining()
    {
        TrainSettings settings;
        settings.updates = 20;
        settings.live.rates = {2e-3, 2e-3, 2e-3};
        settings.live.coarse = 0.2;
        settings.live.logEvery = 1;
        settings.ema = 0.9;
        return settings;
    }
    static ModelSettings modelSettings(const Options& options)
    {
        ModelSettings s;
        s.variant = options.variant;
        s.vit.width = 16;
        s.vit.layers = 2;
        s.vit.heads = 2;
        s.vit.hidden = 32;
        s.vit.patch = 8;
        s.vit.grid = 2;
        s.query.width = 8;
        s.llm.width = 24;
        s.llm.layers = 2;
        s.llm.heads = 2;
        s.llm.keyHeads = 1;
        s.llm.hidden = 32;
        s.llm.vocabulary = 512;
        s.order = SequenceOrder::PromptFramesAnswer;
        s.head.hidden = 8;
        s.head.widths = {4, 6, 8};
        s.head.height = s.head.width = 2;
        if (options.changesModel)
            options.changesModel(s);
        return s;
    }

    bool hasText() const { return model.settings().hasText(); }
    bool hasLatents() const { return model.settings().hasLatents(); }
    Trainer::Parts parts() { return {model, &feed, batches, clips, hasText() ? &chat : nullptr}; }
    Evaluator::Parts evaluated()
    {
        return {model, &feed, clips, hasLatents() ? &latents : nullptr,
                hasText() ? &chat : nullptr};
    }

    /// Micro-steps until `updates` are done; their records.
    std::vector<UpdateRecord> run(Index updates)
    {
        std::vector<UpdateRecord> records;
        while (trainer->counts().updates < updates) {
            trainer->microStep(*stream);
            for (UpdateRecord& record : trainer->takeRecords(*stream))
                records.push_back(std::move(record));
        }
        return records;
    }
    template <class T = float>
    std::vector<T> values()
    {
        return model.parameters().values().toHost<T>(*stream);
    }
    template <class T = float>
    std::vector<T> gradients()
    {
        return model.parameters().gradients().toHost<T>(*stream);
    }

    static std::vector<Index> numbers(Index count)
    {
        std::vector<Index> members(static_cast<std::size_t>(count));
        std::iota(members.begin(), members.end(), 0);
        return members;
    }

    SyntheticClips drawn;
    const ClipSource& clips;
    std::vector<ClipText> texts;
    PatchBasisLatents latents;
    std::shared_ptr<Device> device;
    std::unique_ptr<Stream> stream;
    std::unique_ptr<Tokenizer> tokenizer;
    ChatTemplate chat;
    FoveatedModel model;
    FrameFeed feed;
    BatchMaker batches;
    std::unique_ptr<Trainer> trainer;

private:
    static FeedSettings feedSettings()
    {
        FeedSettings settings;
        settings.patch = 8;
        return settings;
    }
};

} // namespace vergence::fvlm::fixtures
