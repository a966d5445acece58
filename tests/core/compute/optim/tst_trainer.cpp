#include <filesystem>

#include <QTest>

#include "core/artifact/safetensors.h"
#include "core/compute/graph/step_graph.h"
#include "core/compute/nn/llama.h"
#include "core/compute/optim/finite.h"
#include "core/compute/optim/schedule.h"
#include "core/compute/optim/trainer_state.h"
#include "tests/support/device_table.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using namespace vergence::test;

namespace {
/// A language model of 20,000 parameters that learns three sentences by heart.
class TinyTrainer {
public:
    explicit TinyTrainer(std::shared_ptr<Device> on, std::uint64_t seed = 7)
        : m_device(std::move(on)),
          m_stream(m_device->createStream()),
          m_parameters(m_device),
          m_groups{m_parameters.addGroup({"matrices", 0.01, false}),
                   m_parameters.addGroup({"others", 0, false})},
          m_model({m_parameters, m_groups}, config()),
          m_graph(*m_stream, m_device, {}),
          m_step([this](Stream&) { learn(); })
    {
        m_parameters.allocate(*m_stream);
        m_parameters.initialise(*m_stream, seed);
        AdamOptions options;
        options.clipNorm = 1;
        m_adam = std::make_unique<Adam>(m_parameters, *m_stream, options);
        m_average = std::make_unique<MovingAverage>(m_parameters, *m_stream, 0.9);
        std::vector<std::int32_t> ids, labels;
        for (int i = 0; i < 3 * 12; ++i) {
            ids.push_back((i * i + i / 12) % 23);
            labels.push_back(((i + 1) * (i + 1) + i / 12) % 23);
        }
        m_ids = Tensor::fromHost<std::int32_t>(*m_stream, m_device, {3, 12}, ids);
        m_labels = Tensor::fromHost<std::int32_t>(*m_stream, m_device, {36}, labels);
        m_loss = Tensor::zeros(*m_stream, m_device, {1});
    }

    double step()
    {
        const Schedule schedule{ScheduleKind::Cosine, 5, 400, 0.1, 0};
        const double rate = schedule.rate(m_done, 1e-2);
        m_adam->setRates(*m_stream, {rate, rate});
        m_graph.setRandom(11, static_cast<std::uint64_t>(m_done));
        m_step.run(*m_stream);
        const double loss = m_loss.toHost<float>(*m_stream).at(0);
        expectFinite(loss, m_done, "loss");
        m_watch.check(m_adam->steps(*m_stream), m_adam->skippedSteps(*m_stream), m_done);
        ++m_done;
        return loss;
    }

    NamedTensors state() const { return trainerState(m_parameters, m_adam.get(), m_average.get()); }
    void restore(const NamedTensors& saved, Index done)
    {
        restoreTrainerState(*m_stream, state(), saved, m_parameters);
        m_done = done;
    }
    std::vector<float> values() { return m_parameters.values().toHost<float>(*m_stream); }
    Stream& stream() { return *m_stream; }
    const std::shared_ptr<Device>& device() const { return m_device; }
    ParameterSet& parameters() { return m_parameters; }
    Index done() const { return m_done; }
    std::uint64_t allocations() const { return m_graph.allocations(); }

private:
    static LlamaConfig config()
    {
        LlamaConfig config;
        config.width = 32;
        config.layers = 2;
        config.heads = 4;
        config.keyHeads = 2;
        config.hidden = 64;
        config.vocabulary = 23;
        config.theta = 10000;
        config.deviation = 0.1;
        return config;
    }

    void learn()
    {
        m_graph.reset();
        m_parameters.zeroGradients(*m_stream);
        const ForwardPass pass{m_graph, m_parameters, nullptr, false, {}};
        const Value x = dropout(m_graph, m_model.embed(pass, m_ids), 0.02);
        const Value loss = m_model.loss(pass, m_model.states(pass, x), m_labels);
        m_graph.backward(loss);
        m_adam->step(*m_stream);
        m_average->update(*m_stream);
        m_stream->copy(m_loss.data(), m_graph.tensor(loss).data(), sizeof(float));
    }

    std::shared_ptr<Device> m_device;
    std::unique_ptr<Stream> m_stream;
    ParameterSet m_parameters;
    LayerGroups m_groups;
    LlamaModel m_model;
    Graph m_graph;
    StepGraph m_step;
    std::unique_ptr<Adam> m_adam;
    std::unique_ptr<MovingAverage> m_average;
    SkipWatch m_watch;
    Tensor m_ids, m_labels, m_loss;
    Index m_done = 0;
};

/// To a file and back, as a run would.
NamedTensors throughFile(TinyTrainer& trainer, const std::filesystem::path& path)
{
    std::vector<HostTensor> host;
    for (const auto& [name, tensor] : trainer.state()) {
        HostTensor copy{name, tensor.dtype(), tensor.shape(), {}};
        copy.bytes.resize(tensor.bytes());
        trainer.stream().copy(copy.bytes.data(), tensor.data(), tensor.bytes());
        host.push_back(std::move(copy));
    }
    trainer.stream().synchronize();
    writeSafetensors(path, host);
    NamedTensors read;
    for (HostTensor& tensor : readSafetensors(path).tensors) {
        const auto bytes = std::make_shared<std::vector<std::byte>>(std::move(tensor.bytes));
        read.emplace_back(tensor.name, Tensor::wrap(trainer.device(), bytes->data(), tensor.shape,
                                                    tensor.dtype, bytes));
    }
    return read;
}
} // namespace

class TestTrainer : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void tinyTransformerLearnsABatchByHeart_data() { addDeviceRows(); }
    void tinyTransformerLearnsABatchByHeart();
    void reloadedRunContinuesWithIdenticalNumbers_data() { addDeviceRows(); }
    void reloadedRunContinuesWithIdenticalNumbers();
    void twoRunsWithOneSeedAreIdentical_data() { addDeviceRows(); }
    void twoRunsWithOneSeedAreIdentical();
    void stepsAllocateNothingAfterWarmUp();
    void lossThatIsNotFiniteStopsTheRun();
    void statesThatDoNotFitAreNamed();
};

void TestTrainer::tinyTransformerLearnsABatchByHeart()
{
    VERGENCE_ROW_DEVICE(device);
    TinyTrainer trainer(device);
    const double first = trainer.step();
    QVERIFY2(std::abs(first - std::log(23.0)) < 0.7, qPrintable(QString::number(first)));
    double last = first;
    for (int i = 1; i < 400; ++i)
        last = trainer.step();
    QVERIFY2(last < 0.05, qPrintable(QString::number(last)));
}

void TestTrainer::reloadedRunContinuesWithIdenticalNumbers()
{
    VERGENCE_ROW_DEVICE(device);
    const Scratch folder;
    TinyTrainer straight(device);
    for (int i = 0; i < 10; ++i)
        straight.step();
    const auto saved = throughFile(straight, folder.path() / "state.safetensors");
    TinyTrainer reloaded(device, 99);
    reloaded.restore(saved, straight.done());
    for (int i = 0; i < 10; ++i)
        QCOMPARE(reloaded.step(), straight.step());
    QVERIFY(reloaded.values() == straight.values());
}

void TestTrainer::twoRunsWithOneSeedAreIdentical()
{
    VERGENCE_ROW_DEVICE(device);
    TinyTrainer first(device), second(device);
    for (int i = 0; i < 20; ++i)
        QCOMPARE(second.step(), first.step());
    QVERIFY(first.values() == second.values());
}

void TestTrainer::stepsAllocateNothingAfterWarmUp()
{
    TinyTrainer trainer(devices().devices.front());
    for (int i = 0; i < 3; ++i)
        trainer.step();
    const auto chunks = trainer.allocations();
    const auto used = trainer.device()->memory().usedByUs;
    for (int i = 0; i < 5; ++i)
        trainer.step();
    QCOMPARE(trainer.allocations(), chunks);
    QCOMPARE(trainer.device()->memory().usedByUs, used);
}

void TestTrainer::lossThatIsNotFiniteStopsTheRun()
{
    TinyTrainer trainer(devices().devices.front());
    for (int i = 0; i < 4; ++i)
        trainer.step();
    const Tensor& weight = trainer.parameters()[0].value;
    const float bad = std::numeric_limits<float>::quiet_NaN();
    trainer.stream().copy(weight.data(), &bad, sizeof(bad));
    VERGENCE_THROWS(NumericsError, "Step 4: loss is nan", trainer.step());
}

void TestTrainer::statesThatDoNotFitAreNamed()
{
    TinyTrainer trainer(devices().devices.front());
    const auto values = trainer.values();
    NamedTensors saved = trainer.state();
    const auto broken = [&](const std::function<void(NamedTensors&)>& change) {
        NamedTensors copy = saved;
        change(copy);
        trainer.restore(copy, 0);
    };
    VERGENCE_THROWS(InputError, "no tensor model.embed_tokens.weight",
                    broken([](NamedTensors& s) { s.erase(s.begin()); }));
    VERGENCE_THROWS(InputError, "[22, 32]",
                    broken([](NamedTensors& s) { s[0].second = s[0].second.narrow(0, 0, 22); }));
    VERGENCE_THROWS(InputError, "tensor more",
                    broken([](NamedTensors& s) { s.emplace_back("more", s[0].second); }));
    QVERIFY(trainer.values() == values);
}

VERGENCE_TEST(TestTrainer)
#include "tst_trainer.moc"
