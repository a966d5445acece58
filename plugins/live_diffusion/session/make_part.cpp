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

std::unique_ptr<Part> makePart(const std::string& name, Networks& networks)
{
    if (name == "train")
        return std::make_unique<TrainPart>(networks);
    if (name == "distill")
        return std::make_unique<DistillPart>(networks);
    if (name == "stream")
        return std::make_unique<StreamPart>(networks);
    if (name == "ab")
        return std::make_unique<AbRunPart>(networks);
    if (name == "profile")
        return std::make_unique<ProfilePart>(networks);
    if (name == "drift")
        return std::make_unique<DriftPart>(networks);
    expects(name == "onnx", "makePart: no such part");
    return std::make_unique<OnnxPart>(networks);
}

} // namespace vergence::live
