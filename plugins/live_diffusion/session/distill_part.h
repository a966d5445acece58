#pragma once

#include <memory>

#include "plugins/live_diffusion/session/part.h"
#include "plugins/live_diffusion/train/distiller.h"

namespace vergence::live {

/// Makes a network that answers in one to four consistency steps from the one at hand. A stopped
/// distillation begins anew.
class DistillPart final : public Part {
public:
    explicit DistillPart(Networks& networks);
    ~DistillPart() override;

    void begin(RunContext& context) override;
    std::int64_t stepsLeft() const override;
    void finish(RunContext& context) override;

private:
    bool advance(RunContext& context) override;

    Networks& m_networks;
    std::unique_ptr<PairSource> m_pairs;
    std::unique_ptr<TapeNetwork> m_base, m_student;
    std::unique_ptr<Distiller> m_distiller;
    Index m_done = 0;
};

} // namespace vergence::live
