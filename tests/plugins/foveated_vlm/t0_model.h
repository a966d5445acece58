#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/compute/ops/pointwise.h"
#include "plugins/foveated_vlm/model/evaluation.h"
#include "plugins/foveated_vlm/model/losses.h"
#include "tests/support/device_table.h"
#include "tests/support/numbers.h"

namespace vergence::test {

/// Numbers of a real tensor as double.
inline std::vector<double> numbersOf(Stream& stream, const Tensor& tensor)
{
    if (tensor.isEmpty())
        return {};
    if (tensor.dtype() == DType::F64)
        return tensor.toHost<double>(stream);
    Tensor wide = tensor;
    if (tensor.dtype() != DType::F32) {
        wide = Tensor::empty(tensor.device(), tensor.shape(), DType::F32);
        cast(stream, tensor, wide);
    }
    const auto single = wide.toHost<float>(stream);
    return {single.begin(), single.end()};
}

inline Tensor tensorOf(Stream& stream, const std::shared_ptr<Device>& device, Shape shape,
                       const std::vector<double>& values, DType type)
{
    if (type == DType::F64)
        return Tensor::fromHost<double>(stream, device, std::move(shape), values);
    const std::vector<float> single(values.begin(), values.end());
    return Tensor::fromHost<float>(stream, device, std::move(shape), single);
}

/// The tiny model T0 of the specification, section 16.3: an 8 × 8 image in four patches, width 8,
/// queries of 6, language width 12, vocabulary 11. Weights are sines of their place.
class T0 {
public:
    using Change = std::function<void(fvlm::ModelSettings&)>;

    explicit T0(fvlm::Variant variant = fvlm::Variant::Captions, DType type = DType::F64,
                const Change& change = {}, std::shared_ptr<Device> on = {},
                std::optional<DType> computes = {})
        : device(on ? std::move(on) : devices().devices.front()),
          stream(device->createStream()),
          model(device, settings(variant, change), type, computes.value_or(type)),
          m_type(type)
    {
        model.allocate(*stream);
        model.prepare(*stream, 2, 2);
        fillWeights();
    }

    static fvlm::ModelSettings settings(fvlm::Variant variant, const Change& change = {})
    {
        fvlm::ModelSettings s;
        s.variant = variant;
        s.vit.width = 8;
        s.vit.layers = 2;
        s.vit.heads = 2;
        s.vit.hidden = 16;
        s.vit.patch = 4;
        s.vit.grid = 2;
        s.query.width = 6;
        s.llm.width = 12;
        s.llm.layers = 2;
        s.llm.heads = 3;
        s.llm.keyHeads = 1;
        s.llm.hidden = 20;
        s.llm.vocabulary = 11;
        s.head.hidden = 14;
        s.head.widths = {4, 6, 8, 10};
        s.head.height = s.head.width = 4;
        if (change)
            change(s);
        return s;
    }

    DType type() const { return m_type; } ///< of master values and of losses
    DType computeType() { return parameters().computeType(); }
    ParameterSet& parameters() { return model.parameters(); }
    std::vector<double> values(const std::string& name)
    {
        return numbersOf(*stream, parameters().named(name));
    }
    void set(const std::string& name, const std::vector<double>& numbers)
    {
        const Tensor target = parameters().named(name);
        const Tensor source = tensorOf(*stream, device, target.shape(), numbers, m_type);
        stream->copy(target.data(), source.data(), target.bytes());
        parameters().refreshShadows(*stream);
    }
    /// Of a parameter or the window of one, by the name of model files; empty where it is frozen.
    std::vector<double> gradient(const std::string& name)
    {
        ParameterWindow window{parameters().find(name), 0, 0};
        if (const auto found = parameters().windows().find(name);
            found != parameters().windows().end())
            window = found->second;
        const Parameter& parameter = parameters()[window.parameter];
        if (parameter.gradient.isEmpty())
            return {};
        if (window.rows == 0)
            return numbersOf(*stream, parameter.gradient);
        return numbersOf(*stream, parameter.gradient.narrow(0, window.firstRow, window.rows));
    }
    /// 2-norm over the gradients of groups [first, last).
    double gradientNorm(int first, int last)
    {
        double sum = 0;
        for (int i = 0; i < parameters().count(); ++i) {
            const Parameter& parameter = parameters()[i];
            if (parameter.group < first || parameter.group >= last)
                continue;
            for (const double g : numbersOf(*stream, parameter.gradient))
                sum += g * g;
        }
        return std::sqrt(sum);
    }

    /// Sum of |w| over all weights that the specification lists.
    double weightSum() const { return m_weightSum; }
    int weightCount() const { return m_weights; }

    std::shared_ptr<Device> device;
    std::unique_ptr<Stream> stream;
    fvlm::FoveatedModel model;

private:
    enum class Kind { Matrix, Bias, Norm, Scale, Query, Table };

    void fill(const std::string& name, Kind kind)
    {
        const int k = m_next++;
        const Tensor target = parameters().named(name);
        if (!target.device())
            return; // of the other variant
        std::vector<double> numbers;
        for (Index i = 0; i < target.size(); ++i) {
            const double s = std::sin(0.5 + 1.3 * k + 0.9 * static_cast<double>(i));
            const double value = kind == Kind::Matrix  ? 0.4 * s
                                 : kind == Kind::Bias  ? 0.05 * s
                                 : kind == Kind::Norm  ? 1 + 0.1 * s
                                 : kind == Kind::Scale ? 0.8 + 0.1 * s
                                 : kind == Kind::Query ? s
                                                       : 0.3 * s;
            numbers.push_back(value);
            m_weightSum += std::abs(value);
            ++m_weights;
        }
        set(name, numbers);
    }
    void fillLayer(const std::string& name)
    {
        fill(name + ".weight", Kind::Matrix);
        fill(name + ".bias", Kind::Bias);
    }
    void fillNorm(const std::string& name)
    {
        fill(name + ".weight", Kind::Norm);
        fill(name + ".bias", Kind::Bias);
    }
    void fillWeights()
    {
        const std::string vit = "encoder.dino.";
        fill(vit + "embeddings.cls_token", Kind::Table);
        fill(vit + "embeddings.position_embeddings", Kind::Table);
        fillLayer(vit + "embeddings.patch_embeddings.projection");
        for (const std::string layer : {"encoder.layer.0.", "encoder.layer.1."}) {
            fillNorm(vit + layer + "norm1");
            for (const char* part :
                 {"attention.query", "attention.key", "attention.value", "output.dense"})
                fillLayer(vit + layer + "attention." + part);
            fill(vit + layer + "layer_scale1.lambda1", Kind::Scale);
            fillNorm(vit + layer + "norm2");
            fillLayer(vit + layer + "mlp.fc1");
            fillLayer(vit + layer + "mlp.fc2");
            fill(vit + layer + "layer_scale2.lambda1", Kind::Scale);
        }
        fillNorm(vit + "layernorm");
        fill("encoder.query_input_proj.weight", Kind::Matrix);
        fillLayer("encoder.output_proj");
        fillLayer("dino_to_llm");
        fillLayer("llm_to_query");
        fill("q_static", Kind::Query);
        fill("q_init", Kind::Query);
        fillLanguage();
        for (const char* layer : {"h_to_film.0", "h_to_film.2", "encoder.0", "encoder.2",
                                  "encoder.4", "decoder.0", "decoder.2", "decoder.4"})
            fillLayer(std::string("pred_head.") + layer);
        fill("z_vae_init", Kind::Bias);
        fill("coarse_token", Kind::Table);
        fill("fine_token", Kind::Table);
        fill("no_text_token", Kind::Table);
        const int listed = m_weights;
        const double sum = m_weightSum;
        fill("video_end_token", Kind::Table); // not in the specification's list
        m_weights = listed;
        m_weightSum = sum;
    }
    void fillLanguage()
    {
        fill("llm.model.embed_tokens.weight", Kind::Table);
        for (const std::string layer : {"llm.model.layers.0.", "llm.model.layers.1."}) {
            fill(layer + "input_layernorm.weight", Kind::Norm);
            for (const char* part : {"q", "k", "v", "o"})
                fill(layer + "self_attn." + part + "_proj.weight", Kind::Matrix);
            fill(layer + "post_attention_layernorm.weight", Kind::Norm);
            for (const char* part : {"gate", "up", "down"})
                fill(layer + "mlp." + part + "_proj.weight", Kind::Matrix);
        }
        fill("llm.model.norm.weight", Kind::Norm);
    }

    DType m_type;
    int m_next = 0, m_weights = 0;
    double m_weightSum = 0;
};

/// A frame of the specification's pixels [2, 3, 3, 8, 8], by clip and number.
struct T0Frame {
    int clip = 0, frame = 0;
};

/// u8 (73 i + 19) mod 256 under ImageNet's normalisation, as rows of patches [4 · 48].
inline std::vector<double> t0Patches(T0Frame which)
{
    constexpr double kMean[] = {0.485, 0.456, 0.406}, kDeviation[] = {0.229, 0.224, 0.225};
    std::vector<double> patches;
    for (int patch = 0; patch < 4; ++patch) {
        for (int c = 0; c < 3; ++c) {
            for (int y = 0; y < 4; ++y) {
                for (int x = 0; x < 4; ++x) {
                    const int row = patch / 2 * 4 + y, column = patch % 2 * 4 + x;
                    const int i = (((which.clip * 3 + which.frame) * 3 + c) * 8 + row) * 8 + column;
                    const double u = (73 * i + 19) % 256 / 255.0;
                    patches.push_back((u - kMean[c]) / kDeviation[c]);
                }
            }
        }
    }
    return patches;
}

/// cos(0.3 + 0.17 i) over [2, 3, 4, 4, 4].
inline std::vector<double> t0Latent(T0Frame which)
{
    std::vector<double> latent;
    for (int i = 0; i < 64; ++i)
        latent.push_back(std::cos(0.3 + 0.17 * ((which.clip * 3 + which.frame) * 64 + i)));
    return latent;
}

/// The two captioned clips: three frames and (1, 4, 7, 2), two frames and (3, 9, 2); the first
/// token of each is not counted.
inline std::vector<fvlm::SampleTokens> t0Captions()
{
    fvlm::SampleTokens first, second;
    first.frames = 3;
    first.after = {1, 4, 7, 2};
    first.afterMask = {0, 1, 1, 1};
    second.frames = 2;
    second.after = {3, 9, 2};
    second.afterMask = {0, 1, 1};
    return {first, second};
}

/// Two clips of three frames without text.
inline std::vector<fvlm::SampleTokens> t0Clips()
{
    fvlm::SampleTokens clip;
    clip.frames = 3;
    return {clip, clip};
}

/// Samples on the device. Frames are those of the samples' clips in order, clip i being clip
/// clips[i] of the specification (0, 1, … by default); frames of padding hold the last one.
class T0Batch {
public:
    T0Batch(T0& t0, const std::vector<fvlm::SampleTokens>& samples, std::vector<int> clips = {},
            const std::optional<fvlm::SequenceShape>& shape = {})
        : sequences(samples, t0.model.settings(), shape),
          tables(t0.device, sequences.shape(), t0.type())
    {
        tables.fill(*t0.stream, sequences);
        std::vector<T0Frame> frames;
        for (std::size_t i = 0; i < samples.size(); ++i) {
            const int clip = clips.empty() ? static_cast<int>(i % 2) : clips[i];
            for (int t = 0; t < samples[i].encodedFrames(); ++t)
                frames.push_back({clip, t % 3});
        }
        setFrames(t0, frames);
        batch.tables = &tables;
        batch.sequences = &sequences;
    }

    void setFrames(T0& t0, std::vector<T0Frame> frames)
    {
        const Index count = sequences.shape().frames;
        if (count == 0)
            return;
        frames.resize(static_cast<std::size_t>(count), frames.back());
        std::vector<double> patches, latents;
        for (const T0Frame& frame : frames) {
            const auto pixels = t0Patches(frame), latent = t0Latent(frame);
            patches.insert(patches.end(), pixels.begin(), pixels.end());
            latents.insert(latents.end(), latent.begin(), latent.end());
        }
        const Tensor wide = tensorOf(*t0.stream, t0.device, {count, 4, 48}, patches, t0.type());
        batch.patches = Tensor::empty(t0.device, {count, 4, 48}, t0.computeType());
        cast(*t0.stream, wide, batch.patches);
        if (t0.model.settings().hasLatents())
            batch.latents = tensorOf(*t0.stream, t0.device, {count, 4, 4, 4}, latents, t0.type());
    }

    fvlm::Sequences sequences;
    fvlm::SequenceTables tables;
    fvlm::MicroBatch batch;
};

/// Loss settings for a batch that is a whole update.
inline fvlm::LossSettings t0Losses(T0& t0, const T0Batch& batch, double coarse = 0)
{
    fvlm::LossSettings settings;
    settings.coarse = coarse;
    int counted = 0;
    for (const std::int32_t sequence : batch.sequences.sequenceOf)
        counted += sequence >= 0;
    const auto inverse = [&](double n) {
        return tensorOf(*t0.stream, t0.device, {1}, {n > 0 ? 1 / n : 0}, t0.type());
    };
    settings.inverseCounted = inverse(counted);
    settings.inverseSlots = inverse(static_cast<double>(batch.sequences.real().slots));
    return settings;
}

/// The numbers of one step; gradients are those of the model afterwards.
struct T0Step {
    double loss = 0, fine = 0, coarse = 0, text = 0, latents = 0, contrast = 0;
    double laterLatents = 0, laterCoarseLatents = 0;
    std::vector<double> coarseTokens, fineTokens, queries, latentsByFrame;
};

/// Runs forward, and backward where told (on gradients that start from 0 unless they accumulate).
inline T0Step t0Step(T0& t0, const T0Batch& batch, const fvlm::LossSettings& settings,
                     bool goesBack = true, bool accumulates = false, bool recomputes = false)
{
    Graph graph(*t0.stream, t0.device, {goesBack, t0.computeType()});
    const ForwardPass pass{graph, t0.parameters(), nullptr, recomputes, {}};
    const fvlm::StepValues values = fvlm::trainingLoss(pass, t0.model, batch.batch, settings);
    const auto numbers = [&](Value value) {
        return value ? numbersOf(*t0.stream, graph.dense(value)) : std::vector<double>{};
    };
    const auto number = [&](Value value) { return value ? numbers(value).at(0) : NAN; };
    T0Step step{number(values.loss),          number(values.fine),
                number(values.coarse),        number(values.text),
                number(values.latents),       number(values.contrast),
                number(values.laterLatents),  number(values.laterCoarseLatents),
                numbers(values.coarseTokens), numbers(values.fineTokens),
                numbers(values.queries),      numbers(values.latentsByFrame)};
    if (goesBack) {
        if (!accumulates)
            t0.parameters().zeroGradients(*t0.stream);
        graph.backward(values.loss);
    }
    return step;
}

/// Evaluation of a batch in a mode.
inline fvlm::Evaluation t0Evaluate(T0& t0, const T0Batch& batch, fvlm::Mode mode,
                                   const fvlm::EvaluationWish& wish = {})
{
    Graph graph(*t0.stream, t0.device, {false, t0.computeType()});
    const ForwardPass pass{graph, t0.parameters(), nullptr, false, {}};
    return fvlm::evaluate(pass, t0.model, batch.batch, mode, wish);
}

} // namespace vergence::test
