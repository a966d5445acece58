#include "plugins/live_diffusion/session/stoppable_network.h"

namespace vergence::live {

namespace {

class StoppableNetwork final : public FrameNetwork {
public:
    StoppableNetwork(std::shared_ptr<FrameNetwork> network, std::function<bool()> isStopped)
        : m_network(std::move(network)),
          m_isStopped(std::move(isStopped))
    {
    }

    const FrameShape& shape() const override { return m_network->shape(); }
    int maxRows() const override { return m_network->maxRows(); }
    void evaluate(const EvalInput& input, const EvalOutput& output) override
    {
        ask();
        m_network->evaluate(input, output);
    }
    bool runsFrames() const override { return m_network->runsFrames(); }
    FrameAnswer runFrame(const FrameCall& call, std::span<float> picture) override
    {
        ask();
        return m_network->runFrame(call, picture);
    }
    void prepareSteps(std::span<const int> timesteps, int historyBucket) override
    {
        m_network->prepareSteps(timesteps, historyBucket);
    }
    void writeMemory(std::span<const float> frame) override { m_network->writeMemory(frame); }
    void resetMemory() override { m_network->resetMemory(); }
    int memoryWrites() const override { return m_network->memoryWrites(); }
    const Switches& switches() const override { return m_network->switches(); }
    void setSwitches(const Switches& switches) override { m_network->setSwitches(switches); }
    FrameCost cost() const override { return m_network->cost(); }
    std::span<const OpRecord> operations() const override { return m_network->operations(); }
    void setObserver(OpObserver* observer) override { m_network->setObserver(observer); }
    double replay(std::size_t op, int repeats) override
    {
        ask();
        return m_network->replay(op, repeats);
    }

private:
    void ask() const
    {
        if (m_isStopped())
            throw Stopped();
    }

    std::shared_ptr<FrameNetwork> m_network;
    std::function<bool()> m_isStopped;
};

} // namespace

std::shared_ptr<FrameNetwork> stoppable(std::shared_ptr<FrameNetwork> network,
                                        std::function<bool()> isStopped)
{
    return std::make_shared<StoppableNetwork>(std::move(network), std::move(isStopped));
}

BenchSubject stoppable(BenchSubject subject, std::function<bool()> isStopped)
{
    subject.build = [build = std::move(subject.build), isStopped](const Switches& switches,
                                                                  int rows) {
        if (isStopped())
            throw Stopped();
        return stoppable(build(switches, rows), isStopped);
    };
    subject.buildTensorRt = [build = std::move(subject.buildTensorRt), isStopped](int rows) {
        if (isStopped())
            throw Stopped();
        return stoppable(build(rows), isStopped);
    };
    return subject;
}

} // namespace vergence::live
