#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/artifact/image.h"
#include "core/run/run_context.h"
#include "core/view/view_input.h"
#include "plugins/mc_embedding/report/charts.h"
#include "plugins/mc_embedding/report/cloud_view.h"
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
    /// Renders what changed and publishes it. What the viewer changed comes at once; new data a
    /// few streams at a time while the study runs, all of them when it is complete.
    void publish(RunContext& context, const StudyState& state);
    /// The viewer moved a control: publish() follows.
    void apply(const ViewInput& input, const StudyState& state);

private:
    /// What the controls say; indices into the lists of the state.
    struct Choice {
        std::size_t model = 0, other = 1, metric = 0;
        std::optional<std::size_t> pass; ///< none: the largest T
        std::size_t cloud = 0;           ///< 0: all kept; else one of them
        CloudStyle::Colour colour = CloudStyle::Colour::Image;
        bool isPooled = true, isTangent = false;
        double shownPasses = 0, azimuth = 30;                            ///< 0 passes: all
        std::size_t elevation = 3;                                       ///< into a list of angles
        std::size_t order = 0, page = 0, galleryClass = 0, quartile = 0; ///< 0: all
        bool operator==(const Choice&) const = default;
    };
    /// A stream as it was last published.
    struct Shown {
        std::string choice, data; ///< what it showed, as keys
    };

    Look lookFor(const StudyState& state) const;
    CloudLook cloudLook(const StudyState& state) const;
    std::string dataKey(const StudyState& state, const std::string& stream) const;
    std::string choiceKey(const std::string& stream) const;
    void render(RunContext& context, const StudyState& state, const std::string& stream);
    void publishCloud(RunContext& context, const StudyState& state, bool is3d);
    void publishGallery(RunContext& context, const StudyState& state);
    void publishNoPicture(RunContext& context, bool isEarly);
    void pick(std::size_t layer, const StudyState& state);
    const Image& thumbnail(std::size_t image);

    Thumbnail m_thumbnail;
    Choice m_choice;
    std::map<std::string, Shown> m_shown;
    std::string m_offered;              ///< what the selectors list, as a key
    std::size_t m_next = 0;             ///< stream that is looked at first next time
    std::vector<double> m_cloudControl; ///< last value of the control of the cloud
    double m_pageControl = 0;           ///< last value of the control of the page
    double m_pick = 0;                  ///< running number of the last click that was answered
    std::vector<std::size_t> m_gallery; ///< images of the gallery as shown
    std::map<std::size_t, Image> m_thumbnails;
    CloudLook m_projectedLook;
    std::string m_projectedData;
    CloudProjection m_projection;
};

} // namespace vergence::mc_embedding
