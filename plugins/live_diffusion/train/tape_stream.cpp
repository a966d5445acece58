#include "plugins/live_diffusion/train/tape_stream.h"

#include <algorithm>

#include "core/compute/graph/functions.h"
#include "plugins/live_diffusion/model/blend.h"
#include "plugins/live_diffusion/quality/frame_quality.h"
#include "plugins/live_diffusion/train/row_tensors.h"

namespace vergence::live {

namespace {

std::vector<float> toHost(Graph& graph, Value value)
{
    const Tensor& dense = graph.dense(value);
    if (dense.dtype() == DType::F32)
        return dense.toHost<float>(graph.stream());
    return graph.dense(cast(graph, value, DType::F32)).toHost<float>(graph.stream());
}

double meanFrom(const std::vector<double>& values, std::size_t first)
{
    double sum = 0;
    for (std::size_t i = first; i < values.size(); ++i)
        sum += values[i];
    return values.size() > first ? sum / static_cast<double>(values.size() - first) : 0;
}

} // namespace

TapeStream::TapeStream(Stream& stream, const TapeNetwork& network)
    : m_network(network),
      m_graph(stream, network.parameters().device(),
              {.recordsGradients = false, .computeType = network.parameters().computeType()})
{
}

std::vector<float> TapeStream::predict(const SampleBatch& batch)
{
    m_graph.reset();
    const TapeNetwork::Output output = m_network(m_graph, networkInput(m_graph, m_network, batch));
    m_logits = toHost(m_graph, output.blend);
    return toHost(m_graph, output.prediction);
}

std::vector<float> TapeStream::denoise(const SampleBatch& batch, const Sampler& sampler,
                                       double blend, std::span<const float> noise,
                                       std::span<const float> stepNoise)
{
    SampleBatch at = batch;
    const std::size_t size = noise.size();
    std::vector<float> clean(size), before(size);
    sampler.begin(batch.input, noise, at.noisy);
    for (int i = 0; i < sampler.steps(); ++i) {
        at.times.assign(static_cast<std::size_t>(at.rows),
                        sampler.times()[static_cast<std::size_t>(i)]);
        const std::vector<float> prediction = predict(at);
        const std::span<const float> z =
            sampler.usesNoise(i) ? stepNoise.subspan(static_cast<std::size_t>(i) * size, size)
                                 : std::span<const float>{};
        std::swap(clean, before);
        sampler.step(i, {at.noisy, prediction, clean, before, z});
    }
    const auto picture = static_cast<std::size_t>(batch.pictureSize());
    const auto channels = static_cast<std::size_t>(batch.channels);
    for (std::size_t i = 0; i < size; ++i) {
        const double logit = static_cast<double>(m_logits[i / channels]);
        const bool blends = batch.hasPrevious[i / picture] != 0;
        const auto w = static_cast<float>(blends ? blendWeight(logit, blend) : 1);
        clean[i] = std::clamp(w * clean[i] + (1 - w) * batch.previous[i], -1.0f, 1.0f);
    }
    return clean;
}

StreamScore scoreStream(Stream& stream, const TapeNetwork& network, SampleMaker& maker,
                        const ScoreSettings& settings)
{
    TapeStream tape(stream, network);
    const Sampler sampler(maker.schedule(), settings.sampler);
    const PairSource& source = maker.source();
    std::vector<SampleRow> rows(static_cast<std::size_t>(source.clips()));
    StreamScore score;
    OwnFrames own; // by the frame's distance from the one that is made
    std::vector<float> noise, z, input, last;
    std::vector<double> inputPsnr;
    for (Index frame = 0; frame < settings.frames; ++frame) {
        for (std::size_t r = 0; r < rows.size(); ++r) {
            rows[r].clip = static_cast<Index>(r);
            rows[r].frame = frame;
            rows[r].historyNoise = settings.historyNoise;
            rows[r].writes = settings.usesMemory ? frame : 0;
        }
        const SampleBatch batch = maker.make(rows, frame, 0, own);
        if (noise.empty()) {
            noise.resize(batch.clean.size());
            z.resize(noise.size() * static_cast<std::size_t>(sampler.steps()));
            const FrameNoise draws(settings.seed, 0x7e57);
            const auto cpu = makeCpuDevice(1);
            const auto host = cpu->createStream();
            draws.normals(*host, 0, NoisePurpose::Start, noise);
            draws.normals(*host, 0, NoisePurpose::Step, z);
        }
        std::vector<float> shown = tape.denoise(batch, sampler, settings.blend, noise, z);
        double sum = 0, ofInput = 0, ofCopy = 0;
        const auto size = static_cast<std::size_t>(batch.pictureSize());
        for (std::size_t r = 0; r < rows.size(); ++r) {
            const auto part = [&](const std::vector<float>& all) {
                return std::span(all).subspan(r * size, size);
            };
            sum += psnr(part(shown), part(batch.clean));
            ofInput += psnr(part(batch.input), part(batch.clean));
            ofCopy += last.empty() ? 0 : psnr(part(last), part(batch.clean));
        }
        const auto count = static_cast<double>(rows.size());
        score.psnr.push_back(sum / count);
        score.copyPsnr.push_back(ofCopy / count);
        inputPsnr.push_back(ofInput / count);
        last = batch.clean;
        score.pictures = shown;
        if (settings.isTeacherForced)
            continue;
        OwnFrames older;
        older[1] = std::move(shown);
        for (auto& [back, pictures] : own)
            older[back + 1] = std::move(pictures);
        own = std::move(older);
    }
    score.meanPsnr = meanFrom(score.psnr, 1);
    score.meanCopyPsnr = meanFrom(score.copyPsnr, 1);
    score.meanInputPsnr = meanFrom(inputPsnr, 1);
    return score;
}

} // namespace vergence::live
