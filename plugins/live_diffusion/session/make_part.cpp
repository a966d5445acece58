#include "core/base/error.h"
#include "plugins/live_diffusion/session/ab_part.h"
#include "plugins/live_diffusion/session/distill_part.h"
#include "plugins/live_diffusion/session/drift_part.h"
#include "plugins/live_diffusion/session/onnx_part.h"
#include "plugins/live_diffusion/session/part.h"
#include "plugins/live_diffusion/session/profile_part.h"
#include "plugins/live_diffusion/session/stream_part.h"
#include "plugins/live_diffusion/session/train_part.h"

namespace vergence::live {

std::unique_ptr<Part> makePart(PartKind kind, Networks& networks)
{
    switch (kind) {
    case PartKind::Train:
        return std::make_unique<TrainPart>(networks);
    case PartKind::Distill:
        return std::make_unique<DistillPart>(networks);
    case PartKind::Stream:
        return std::make_unique<StreamPart>(networks);
    case PartKind::Ab:
        return std::make_unique<AbRunPart>(networks);
    case PartKind::Profile:
        return std::make_unique<ProfilePart>(networks);
    case PartKind::Drift:
        return std::make_unique<DriftPart>(networks);
    case PartKind::Onnx:
        return std::make_unique<OnnxPart>(networks);
    }
    throw ContractError("makePart: no such part");
}

} // namespace vergence::live
