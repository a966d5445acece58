#include "plugins/live_diffusion/train/distiller.h"

#include <algorithm>

#include "core/compute/graph/functions.h"
#include "core/compute/optim/finite.h"
#include "core/compute/optim/schedule.h"
#include "plugins/live_diffusion/train/consistency_loss.h"
#include "plugins/live_diffusion/train/diffusion_loss.h"
#include "plugins/live_diffusion/train/row_tensors.h"

namespace vergence::live {

namespace {

std::unique_ptr<TapeNetwork> copyOf(Stream& stream, const TapeNetwork& network)
{
    // It trains like the original, so that both arrays are laid out alike.
    auto copy =
        std::make_unique<TapeNetwork>(stream, network.parameters().device(), network.settings(),
                                      ParameterSettings{.trains = true});
    stream.copy(copy->parameters().values().data(), network.parameters().values().data(),
                network.parameters().values().bytes());
    return copy;
}

} // namespace

Distiller::Distiller(Stream& stream, TapeNetwork& student, const TapeNetwork& base,
                     const PairSource& source, const DistillSettings& settings)
    : m_student(student),
      m_settings(settings),
      m_maker(source, settings.samples, student.settings().grid, student.settings().patch),
      m_teacher(copyOf(stream, student)),
      m_baseTape(stream, base),
      m_teacherTape(stream, *m_teacher)
{
    expects(student.settings() == base.settings(), "Distiller: student and base are of two kinds");
    expects(student.parameters().masterType() == DType::F32 &&
                student.parameters().computeType() == DType::F32,
            "Distiller: the student is F32");
    expects(settings.skip >= 1 && settings.skip < kTrainTimes && settings.updates > settings.warmup,
            "Distiller: skip or updates are out of range");
    ParameterSet& parameters = student.parameters();
    m_graph = std::make_unique<Graph>(stream, parameters.device(), Graph::Options{});
    m_adam = std::make_unique<Adam>(parameters, stream, AdamOptions{.clipNorm = settings.clipNorm});
    m_average = std::make_unique<MovingAverage>(parameters, stream, settings.teacherAverage);
}

Distiller::~Distiller() = default;

SampleBatch Distiller::nextBatch()
{
    std::vector<SampleRow> rows = m_maker.rows(m_updates);
    const int first = m_settings.skip - 1; // one step back is the clean end
    for (SampleRow& row : rows) {
        row.time = first + row.time * (kTrainTimes - first) / kTrainTimes;
        row.isStart = false;
    }
    return m_maker.make(rows, m_updates);
}

std::vector<float> Distiller::target(const SampleBatch& batch)
{
    const NoiseSchedule& schedule = m_maker.schedule();
    const Prediction kind = m_settings.samples.prediction;
    const auto size = static_cast<std::size_t>(batch.pictureSize());
    SampleBatch later = batch;
    const std::vector<float> ofBase = m_baseTape.predict(batch);
    for (std::size_t r = 0; r < batch.times.size(); ++r) {
        const int from = static_cast<int>(batch.times[r]), to = from - m_settings.skip;
        const auto alpha = static_cast<float>(schedule.alpha(from));
        const auto sigma = static_cast<float>(schedule.sigma(from));
        const auto alphaTo = static_cast<float>(schedule.alpha(to));
        const auto sigmaTo = static_cast<float>(schedule.sigma(to));
        for (std::size_t i = r * size; i < (r + 1) * size; ++i) {
            const float clean = cleanFrom(kind, batch.noisy[i], ofBase[i], alpha, sigma);
            const float noise = noiseFrom(kind, batch.noisy[i], ofBase[i], alpha, sigma);
            later.noisy[i] = alphaTo * clean + sigmaTo * noise;
        }
        later.times[r] = std::max(0, to); // at the clean end f⁻ does not ask the network
    }
    std::vector<float> said = m_teacherTape.predict(later);
    for (std::size_t r = 0; r < batch.times.size(); ++r) {
        const int to = static_cast<int>(batch.times[r]) - m_settings.skip;
        const ConsistencyWeights weights = consistencyWeights(std::max(0, to));
        const auto keep = static_cast<float>(weights.skip), use = static_cast<float>(weights.out);
        const auto alpha = static_cast<float>(schedule.alpha(to));
        const auto sigma = static_cast<float>(schedule.sigma(to));
        for (std::size_t i = r * size; i < (r + 1) * size; ++i)
            said[i] = keep * later.noisy[i] +
                      use * cleanFrom(kind, later.noisy[i], said[i], alpha, sigma);
    }
    return said;
}

DistillRecord Distiller::step(Stream& stream)
{
    expects(!isDone(), "Distiller: all updates are done");
    const SampleBatch batch = nextBatch();
    const std::vector<float> wanted = target(batch);

    const NoiseSchedule& schedule = m_maker.schedule();
    std::vector<double> alpha, sigma, keep, use;
    for (const double time : batch.times) {
        const int t = static_cast<int>(time);
        alpha.push_back(schedule.alpha(t));
        sigma.push_back(schedule.sigma(t));
        keep.push_back(consistencyWeights(t).skip);
        use.push_back(consistencyWeights(t).out);
    }
    m_graph->reset();
    m_student.parameters().zeroGradients(stream);
    Graph& graph = *m_graph;
    const TapeNetwork::Output output = m_student(graph, networkInput(graph, m_student, batch));
    const Value clean =
        cleanOnTape(graph, batch, output.prediction, m_settings.samples.prediction, alpha, sigma);
    const Value x = graph.constant(uploaded(graph, batch.noisy, picturesShape(batch), DType::F32));
    const auto spread = [&](const std::vector<double>& numbers) {
        return graph.constant(spreadRows(graph, batch, numbers, DType::F32));
    };
    const Value f =
        add(graph, multiply(graph, x, spread(keep)), multiply(graph, clean, spread(use)));
    const Value truth = graph.constant(uploaded(graph, wanted, picturesShape(batch), DType::F32));
    const Value loss = consistencyLoss(graph, f, truth);
    graph.backward(loss);

    const vergence::Schedule course{ScheduleKind::Cosine, m_settings.warmup, m_settings.updates, 0,
                                    0};
    DistillRecord record;
    record.loss = static_cast<double>(graph.tensor(loss).toHost<float>(stream).front());
    expectFinite(record.loss, m_updates, "consistency loss");
    record.rate = course.rate(m_updates + (m_settings.warmup > 0 ? 1 : 0), m_settings.rate);
    m_adam->setRates(stream,
                     std::vector<double>(m_student.parameters().groups().size(), record.rate));
    m_adam->step(stream);
    record.gradientNorm = m_adam->gradientNorm(stream);
    takeAverage(stream);
    record.update = ++m_updates;
    return record;
}

void Distiller::takeAverage(Stream& stream)
{
    m_average->update(stream);
    stream.copy(m_teacher->parameters().values().data(), m_average->values().data(),
                m_average->values().bytes());
}

} // namespace vergence::live
