#include "plugins/foveated_vlm/session/streams.h"

namespace vergence::fvlm {

const std::vector<StreamDecl>& streamDecls()
{
    static const std::vector<StreamDecl> decls{
        {"gaze", "Gaze", StreamKind::Image,
         "Where the coarse and the fine query look in every frame of a held-out clip, and the "
         "difference.",
         ""},
        {"losses", "Losses", StreamKind::Diagram,
         "Losses with fine and with coarse looks on one axis, and their ratio: above 1, looking "
         "helps.",
         ""},
        {"strip", "Frames", StreamKind::Image,
         "The frames of the clip; with latents, what was predicted and how far it is off.", ""},
        {"captions", "Answers", StreamKind::Diagram,
         "What the model answers about fixed clips with one glance, with its gaze, and frame by "
         "frame.",
         ""},
        {"queries", "Queries", StreamKind::Diagram,
         "How alike the queries of the frames are, and to the learned ones.", ""},
        {"verdict", "Verdict", StreamKind::Diagram,
         "Whether looking helps, how well that is known, and the health of the run.", ""}};
    return decls;
}

} // namespace vergence::fvlm
