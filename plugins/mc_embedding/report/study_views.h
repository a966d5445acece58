#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/artifact/image.h"
#include "core/run/run_context.h"
#include "core/view/view_input.h"
#include "plugins/mc_embedding/study/study_state.h"

namespace vergence::mc_embedding {

/// What the window shows of a study (section 13), published as frames and diagrams. Pure functions
/// of the state: the same for a running, a finished and a re-opened run.
class StudyViews {
public:
    static std::vector<StreamDecl> streams();

    /// Small RGB picture of image i of the set, for gallery and table.
    using Thumbnail = std::function<Image(std::size_t image)>;
    explicit StudyViews(Thumbnail thumbnail);

    /// Selectors of model, T, space, metric; sliders of the cloud. Again whenever models were
    /// added.
    std::vector<ViewControl> controls(const StudyState& state) const;
    /// Renders what changed and publishes it.
    void publish(RunContext& context, const StudyState& state);
    /// The viewer moved a control: publish() follows.
    void apply(const ViewInput& input, const StudyState& state);

private:
    Thumbnail m_thumbnail;
    std::size_t m_model = 0, m_passes = 0;
    bool m_post = false;
    std::string m_metric = "trace_pre";
    std::map<std::string, std::vector<double>> m_values;
};

} // namespace vergence::mc_embedding
