#include "plugins/mc_embedding/report/study_views.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/run/publish.h"
#include "plugins/mc_embedding/report/gallery.h"

namespace vergence::mc_embedding {

namespace {

constexpr std::size_t kStreamsPerCall = 4; ///< redrawn for new data while the study runs
constexpr std::size_t kGalleryPage = 24;
constexpr int kTile = 128; ///< side of a thumbnail, px
constexpr int kViewResamples = 60;
/// A list, because a slider takes a row of the window.
constexpr std::array<double, 7> kElevations{-60, -30, 0, 20, 45, 70, 90};

/// One chart stream: what it shows, and what is missing while it shows nothing; null: passes of
/// images, see noPasses().
struct ChartStream {
    const char *id, *title, *help, *missing;
    std::optional<Chart> (*draw)(const StudyState&, const Look&);
};

std::optional<Chart> rocOfView(const StudyState& state, const Look& look)
{
    return rocChart(state, look, kViewResamples);
}

const std::array<ChartStream, 18>& chartStreams()
{
    static const char* const kTwo = "Needs two trials of a few images.";
    static const char* const kLabels = "Needs class names and a text model: experiment exp5.";
    static const std::array<ChartStream, 18> kStreams{{
        {"gates", "Reliability", "ICC and SNR of all models with the gates.", kTwo, gatesChart},
        {"comparison", "Comparison", "All models beside the published values.",
         "Needs the scores of a few images.", comparisonChart},
        {"scaling", "More passes", "Noise and reliability against T.", kTwo, scalingChart},
        {"spearman", "Trials, Spearman", "Rank correlation of all pairs of trials.", kTwo,
         spearmanChart},
        {"trials", "Trials, scatter", "The two most different trials.", kTwo, trialScatterChart},
        {"histograms", "Histograms", "Scores per T before and after normalisation.",
         "Needs the scores of a few images.", histogramChart},
        {"classes", "Classes", "Scores by class.", "Needs images of two classes.", classBoxChart},
        {"pre_post", "Before, after norm", "Pre-norm against post-norm trace.",
         "Needs both spaces.", preAgainstPostChart},
        {"spectrum", "Spectrum", "Eigenvalues of clouds with the null band.", nullptr,
         spectrumChart},
        {"offdiag", "Off-diagonal mass", "Against what sampling alone gives.", nullptr,
         offdiagChart},
        {"dimensions", "Dimensions", "Variance per dimension.", "Needs variances of an image.",
         dimensionChart},
        {"cross_model", "Agreement of models", "Rank correlation between models.",
         "Needs two models.", crossModelChart},
        {"sites", "Site profile", "Trace contributed by single sites.",
         "Needs one model per block, compare_blocks, with one live site each: placement fc2_all.",
         siteProfileChart},
        {"paired", "Clean, degraded", "The same images and masks, degraded.",
         "Needs the experiment degradation.", pairedChart},
        {"ambiguity", "Ambiguity", "Score against margin and entropy.", kLabels, ambiguityChart},
        {"roc", "ROC", "Ambiguous images found by the score.", kLabels, rocOfView},
        {"accuracy", "Accuracy", "Zero-shot accuracy by decile of the score.", kLabels,
         accuracyChart},
        {"sets", "Conformal sets", "Set size by quartile of the score.",
         "Needs 40 images with class names and a text model: experiment exp5.", setSizeChart},
    }};
    return kStreams;
}

/// Why there is no cloud to show.
const char* noPasses(const StudyState& state, const Look& look)
{
    const bool isThere = look.model < state.models.size();
    if (!isThere || state.models[look.model].imagesDone == 0)
        return "No image of this model is measured yet.";
    return "Its passes were not kept: the run that this one took over did not keep them.";
}

Diagram sentence(const std::string& title, const std::string& text)
{
    Diagram sheet;
    sheet.right = 720;
    sheet.top = 200;
    sheet.keepsAspect = true;
    sheet.hasRuler = false;
    Diagram::Text heading;
    heading.x = 360;
    heading.y = 115;
    heading.text = title;
    heading.size = 16;
    heading.isBold = true;
    Diagram::Text line = heading;
    line.y = 88;
    line.text = text;
    line.size = 13;
    line.isBold = false;
    line.colour = "muted";
    sheet.texts = {heading, line};
    return sheet;
}

/// Metrics that some model has, those with names first known.
std::vector<std::string> metricsOf(const StudyState& state)
{
    std::vector<std::string> metrics{"trace_pre"};
    for (const ModelStudy& model : state.models)
        for (const auto& [metric, scores] : model.scores)
            if (std::ranges::find(metrics, metric) == metrics.end())
                metrics.push_back(metric);
    return metrics;
}

bool isComplete(const StudyState& state)
{
    return std::ranges::all_of(state.models, [&](const ModelStudy& model) {
        return model.imagesDone >= state.images.images.size();
    });
}

} // namespace

StudyViews::StudyViews(Thumbnail thumbnail) : m_thumbnail(std::move(thumbnail)) {}

std::vector<StreamDecl> StudyViews::streams()
{
    std::vector<StreamDecl> streams;
    for (const ChartStream& chart : chartStreams())
        streams.push_back({chart.id, chart.title, StreamKind::Diagram, chart.help, ""});
    streams.push_back({"ranks", "Ranks of two models", StreamKind::Diagram,
                       "Rank against rank of the images.", ""});
    streams.push_back({"cloud", "Cloud", StreamKind::Scatter,
                       "Passes of kept images along their principal axes.", ""});
    streams.push_back({"cloud_3d", "Cloud in space", StreamKind::Scatter,
                       "The same with three axes; turn it by azimuth and elevation.", ""});
    streams.push_back({"gallery", "Gallery", StreamKind::Gallery,
                       "Images by their score; a click shows the cloud of an image.", ""});
    return streams;
}

std::vector<ViewControl> StudyViews::controls(const StudyState& state) const
{
    using Kind = ViewControl::Kind;
    std::vector<ViewControl> controls;
    const auto choice = [&](const char* id, const char* title, std::vector<std::string> labels,
                            std::size_t value, const char* help) {
        if (labels.size() > 1)
            controls.push_back({.id = id,
                                .title = title,
                                .help = help,
                                .kind = Kind::Choice,
                                .value = {static_cast<double>(std::min(value, labels.size() - 1))},
                                .labels = std::move(labels)});
    };
    const auto slider = [&](const char* id, const char* title, const char* unit, double low,
                            double high, double value, const char* help) {
        controls.push_back({.id = id,
                            .title = title,
                            .unit = unit,
                            .help = help,
                            .kind = Kind::Slider,
                            .minimum = {low},
                            .maximum = {high},
                            .value = {value}});
    };
    std::vector<std::string> models, metrics, clouds{"all kept"}, passes;
    for (std::size_t m = 0; m < state.models.size(); ++m)
        models.push_back(modelName(state, m));
    for (const std::string& metric : metricsOf(state))
        metrics.push_back(metricName(metric));
    const Look look = lookFor(state);
    int most = 0;
    if (!state.models.empty()) {
        const ModelStudy& model = state.models[look.model];
        for (const int t : model.passes)
            passes.push_back(std::to_string(t));
        for (const Cloud& cloud : model.clouds)
            clouds.push_back(imageName(state, cloud.image));
        most = model.passes.empty() ? 0 : model.passes.back();
    }
    choice("model", "Model", models, look.model, "Whose scores are shown.");
    choice("other", "Second model", models, m_choice.other, "For ranks and disagreement.");
    choice("metric", "Score", metrics, m_choice.metric, "Which number per image and trial.");
    choice("passes", "T", passes, look.pass, "Passes of a trial.");
    choice("gallery/order", "Gallery", galleryOrders(), m_choice.order, "Order of the pictures.");
    std::vector<std::string> classes = classesOf(state);
    classes.insert(classes.begin(), "all");
    choice("gallery/class", "Class", std::move(classes), m_choice.galleryClass,
           "Pictures of one class alone.");
    choice("gallery/quartile", "Score in",
           {"all", "lowest quarter", "second quarter", "third quarter", "highest quarter"},
           m_choice.quartile, "Pictures whose score is in this part of all scores.");
    const std::size_t pages = (state.images.images.size() + kGalleryPage - 1) / kGalleryPage;
    std::vector<std::string> numbers;
    for (std::size_t page = 1; page <= pages; ++page)
        numbers.push_back(std::to_string(page));
    choice("gallery/page", "Page", numbers, m_choice.page, "Page of the gallery.");
    choice("cloud/image", "Cloud of", clouds, m_choice.cloud, "Images whose passes were kept.");
    choice("cloud/basis", "Axes", {"shape of clouds", "image means"}, m_choice.isPooled ? 0 : 1,
           "Principal axes of the deviations, or of the places of images.");
    choice("cloud/space", "Space", {"ambient", "tangent"}, m_choice.isTangent ? 1 : 0,
           "Features as they are, or along the sphere.");
    choice("cloud/colour", "Colour by", {"trial", "image", "class", "score"},
           static_cast<std::size_t>(m_choice.colour), "");
    if (most > 1)
        slider("cloud/passes", "Passes", "", 1, most,
               m_choice.shownPasses > 0 ? m_choice.shownPasses : most,
               "The first passes of every trial; play to see the cloud grow.");
    slider("cloud/azimuth", "Azimuth", "°", -180, 180, m_choice.azimuth, "Turns the cloud.");
    std::vector<std::string> tilts;
    for (const double tilt : kElevations)
        tilts.push_back(fmt::format("{:g}°", tilt));
    choice("cloud/elevation", "Elevation", tilts, m_choice.elevation, "Tilts the cloud.");
    return controls;
}

Look StudyViews::lookFor(const StudyState& state) const
{
    Look look;
    if (state.models.empty())
        return look;
    look.model = std::min(m_choice.model, state.models.size() - 1);
    const std::size_t passes = state.models[look.model].passes.size();
    const std::size_t last = passes > 0 ? passes - 1 : 0;
    look.pass = std::min(m_choice.pass.value_or(last), last);
    const auto metrics = metricsOf(state);
    look.metric = metrics[std::min(m_choice.metric, metrics.size() - 1)];
    return look;
}

CloudLook StudyViews::cloudLook(const StudyState& state) const
{
    constexpr std::size_t kMost = 4; // more clouds over each other cannot be told apart
    CloudLook look{.model = lookFor(state).model,
                   .clouds = {},
                   .isPooled = m_choice.isPooled,
                   .isTangent = m_choice.isTangent};
    if (state.models.empty())
        return look;
    const std::size_t kept = state.models[look.model].clouds.size();
    if (m_choice.cloud > 0)
        look.clouds.push_back(m_choice.cloud - 1);
    else
        for (std::size_t c = 0; c < std::min(kept, kMost); ++c)
            look.clouds.push_back(c);
    return look;
}

std::string StudyViews::choiceKey(const std::string& stream) const
{
    const Choice& c = m_choice;
    if (stream == "comparison")
        return {};
    if (stream == "gates" || stream == "cross_model")
        return std::to_string(c.metric);
    std::string key = fmt::format("{} {}", c.model, c.pass.value_or(99));
    if (stream.starts_with("cloud")) {
        key += fmt::format(" {} {} {} {} {}", c.cloud, static_cast<int>(c.colour), c.isPooled,
                           c.isTangent, c.shownPasses);
        return stream == "cloud_3d" ? key + fmt::format(" {} {}", c.azimuth, c.elevation) : key;
    }
    key += fmt::format(" {}", c.metric);
    if (stream == "ranks" || stream == "gallery")
        key += fmt::format(" {}", c.other);
    return stream == "gallery"
               ? key + fmt::format(" {} {} {} {}", c.order, c.page, c.galleryClass, c.quartile)
               : key;
}

std::string StudyViews::dataKey(const StudyState& state, const std::string& stream) const
{
    // Drawn again when another fiftieth of the images is done, dear ones with every quarter.
    const bool isDear = stream == "roc" || stream == "sets" || stream == "spectrum";
    const std::size_t parts = isDear ? 4 : 50;
    std::string key;
    for (const ModelStudy& model : state.models) {
        const std::size_t images = std::max<std::size_t>(1, state.images.images.size());
        const std::size_t done = parts * model.imagesDone / images;
        key += fmt::format("{}/{}/{}/{} ", done, model.clouds.size(), model.degraded.size(),
                           model.ambiguity.has_value());
    }
    return key;
}

void StudyViews::publish(RunContext& context, const StudyState& state)
{
    const Look look = lookFor(state);
    std::string offered =
        fmt::format("{} {} {}", look.model, state.models.size(), metricsOf(state).size());
    if (!state.models.empty())
        offered += fmt::format(" {}", state.models[look.model].clouds.size());
    if (offered != m_offered) { // the lists of the selectors have changed
        context.declareControls(controls(state));
        m_offered = std::move(offered);
    }
    const std::vector<StreamDecl> all = streams();
    const std::size_t budget = isComplete(state) ? all.size() : kStreamsPerCall;
    std::size_t redrawn = 0, stoppedAt = m_next;
    for (std::size_t k = 0; k < all.size(); ++k) {
        const std::size_t at = (m_next + k) % all.size();
        const std::string& stream = all[at].id;
        Shown now{choiceKey(stream), dataKey(state, stream)};
        const auto found = m_shown.find(stream);
        const bool isNew = found == m_shown.end();
        const bool hasNewData = isNew || found->second.data != now.data;
        const bool isWanted = !isNew && found->second.choice != now.choice;
        if (!isWanted && (!hasNewData || redrawn >= budget))
            continue;
        if (hasNewData && ++redrawn == budget)
            stoppedAt = at + 1;
        render(context, state, stream);
        m_shown[stream] = std::move(now);
    }
    m_next = stoppedAt % all.size();
}

void StudyViews::render(RunContext& context, const StudyState& state, const std::string& stream)
{
    if (stream == "gallery")
        return publishGallery(context, state);
    if (stream.starts_with("cloud"))
        return publishCloud(context, state, stream == "cloud_3d");
    std::optional<Chart> chart;
    std::string title = "Ranks of two models",
                missing = "Needs two models; choose the second one below.";
    const Look look = lookFor(state);
    if (stream == "ranks") {
        const std::size_t other = m_choice.other == look.model && state.models.size() > 1
                                      ? (look.model + 1) % state.models.size()
                                      : m_choice.other;
        chart = rankRankChart(state, look, other);
    } else {
        const auto found = std::ranges::find(
            chartStreams(), stream, [](const ChartStream& c) { return std::string(c.id); });
        chart = found->draw(state, look);
        title = found->title;
        missing = found->missing != nullptr ? found->missing : noPasses(state, look);
    }
    publishDrawing(context, stream, chart ? chart->drawing : sentence(title, missing));
}

void StudyViews::publishCloud(RunContext& context, const StudyState& state, bool is3d)
{
    const std::string stream = is3d ? "cloud_3d" : "cloud";
    const CloudLook look = cloudLook(state);
    const std::string data = dataKey(state, stream);
    if (!(look == m_projectedLook) || data != m_projectedData || m_projection.items.empty()) {
        m_projection = projectClouds(state, look);
        m_projectedLook = look;
        m_projectedData = data;
    }
    if (m_projection.items.empty()) {
        publishDrawing(context, stream, sentence("Cloud", noPasses(state, lookFor(state))));
        return;
    }
    CloudStyle style{.passes = static_cast<int>(m_choice.shownPasses),
                     .is3d = is3d,
                     .azimuthDegrees = m_choice.azimuth,
                     .elevationDegrees =
                         kElevations[std::min(m_choice.elevation, kElevations.size() - 1)],
                     .colour = m_choice.colour};
    publishDrawing(context, stream, layOut(cloudPlot(state, look, m_projection, style)));
}

const Image& StudyViews::thumbnail(std::size_t image)
{
    constexpr std::size_t kMost = 512;
    if (m_thumbnails.size() > kMost)
        m_thumbnails.clear();
    const auto found = m_thumbnails.find(image);
    if (found != m_thumbnails.end())
        return found->second;
    return m_thumbnails.emplace(image, galleryTile(m_thumbnail(image), kTile)).first->second;
}

void StudyViews::publishGallery(RunContext& context, const StudyState& state)
{
    const Look look = lookFor(state);
    const std::vector<std::string> classes = classesOf(state);
    GalleryFilter filter{.label = {}, .quartile = static_cast<int>(m_choice.quartile)};
    if (m_choice.galleryClass > 0 && m_choice.galleryClass <= classes.size())
        filter.label = classes[m_choice.galleryClass - 1];
    const auto entries = galleryEntries(state, look, m_choice.other, m_choice.order, filter);
    const std::size_t pages = (entries.size() + kGalleryPage - 1) / kGalleryPage;
    const std::size_t page = std::min(m_choice.page, pages > 0 ? pages - 1 : 0);
    m_gallery.clear();
    nlohmann::json labels = nlohmann::json::array();
    std::vector<std::byte> pixels;
    for (std::size_t i = page * kGalleryPage;
         i < std::min(entries.size(), (page + 1) * kGalleryPage); ++i) {
        m_gallery.push_back(entries[i].image);
        labels.push_back(entries[i].label);
        const Image& tile = thumbnail(entries[i].image);
        for (std::size_t p = 0; p < tile.pixels.size(); p += 3) {
            for (std::size_t c = 0; c < 3; ++c)
                pixels.push_back(static_cast<std::byte>(tile.pixels[p + c]));
            pixels.push_back(std::byte{255});
        }
    }
    if (m_gallery.empty())
        return publishNoPicture(context, !scoresOf(state, look));
    FrameInfo info{.stream = "gallery",
                   .step = context.step(),
                   .width = kTile,
                   .height = kTile,
                   .layers = static_cast<std::uint32_t>(m_gallery.size()),
                   .meta = {}};
    info.meta = nlohmann::json{{"labels", labels}, {"encoding", "srgb"}}.dump(
        -1, ' ', false, nlohmann::json::error_handler_t::replace);
    context.frames().publish(std::move(info), pixels);
}

/// One black picture that says why there are none.
void StudyViews::publishNoPicture(RunContext& context, bool isEarly)
{
    FrameInfo info{.stream = "gallery",
                   .step = context.step(),
                   .width = kTile,
                   .height = kTile,
                   .layers = 1,
                   .meta = {}};
    const char* reason = isEarly ? "no scores yet" : "no picture is of this kind";
    info.meta = nlohmann::json{{"labels", {reason}}, {"encoding", "srgb"}}.dump();
    std::vector<std::byte> pixels(4 * kTile * kTile, std::byte{0});
    for (std::size_t i = 3; i < pixels.size(); i += 4)
        pixels[i] = std::byte{255};
    context.frames().publish(std::move(info), pixels);
}

void StudyViews::pick(std::size_t layer, const StudyState& state)
{
    if (layer >= m_gallery.size() || state.models.empty())
        return;
    const auto& clouds = state.models[lookFor(state).model].clouds;
    const auto found = std::ranges::find(clouds, m_gallery[layer], &Cloud::image);
    // Of an image without kept passes there is nothing to show: the choice stays.
    if (found != clouds.end())
        m_choice.cloud = static_cast<std::size_t>(found - clouds.begin()) + 1;
}

void StudyViews::apply(const ViewInput& input, const StudyState& state)
{
    const auto index = [&](const char* id, std::size_t& to) {
        if (const auto value = input.scalar(id); value && *value >= 0)
            to = static_cast<std::size_t>(*value);
    };
    const auto number = [&](const char* id, double& to) {
        if (const auto value = input.scalar(id); value && std::isfinite(*value))
            to = *value;
    };
    const Choice before = m_choice;
    index("model", m_choice.model);
    index("other", m_choice.other);
    index("metric", m_choice.metric);
    if (const auto value = input.scalar("passes"); value && *value >= 0)
        m_choice.pass = static_cast<std::size_t>(*value);
    index("gallery/order", m_choice.order);
    index("gallery/class", m_choice.galleryClass);
    index("gallery/quartile", m_choice.quartile);
    if (const auto value = input.scalar("gallery/page"); value && *value != m_pageControl) {
        m_pageControl = *value;
        index("gallery/page", m_choice.page);
    }
    if (m_choice.order != before.order || m_choice.galleryClass != before.galleryClass ||
        m_choice.quartile != before.quartile)
        m_choice.page = 0;
    std::size_t basis = m_choice.isPooled ? 0 : 1, space = m_choice.isTangent ? 1 : 0,
                colour = static_cast<std::size_t>(m_choice.colour);
    index("cloud/basis", basis);
    index("cloud/space", space);
    index("cloud/colour", colour);
    m_choice.isPooled = basis == 0;
    m_choice.isTangent = space == 1;
    m_choice.colour = static_cast<CloudStyle::Colour>(std::min<std::size_t>(colour, 3));
    number("cloud/passes", m_choice.shownPasses);
    m_choice.shownPasses = std::round(m_choice.shownPasses);
    number("cloud/azimuth", m_choice.azimuth);
    index("cloud/elevation", m_choice.elevation);
    if (m_choice.model != before.model)
        m_choice.cloud = 0;
    // The control and the click name the same choice; the click counts when it is the newer news.
    const auto chosen = input.values.find("cloud/image");
    if (chosen != input.values.end() && chosen->second != m_cloudControl &&
        !chosen->second.empty()) {
        m_cloudControl = chosen->second;
        m_choice.cloud = static_cast<std::size_t>(std::max(0.0, m_cloudControl.front()));
    }
    const auto click = input.values.find("pick");
    const auto stream = input.texts.find("pick_stream");
    if (click != input.values.end() && click->second.size() == 4 && click->second[3] != m_pick) {
        m_pick = click->second[3];
        if (stream != input.texts.end() && stream->second == "gallery")
            pick(static_cast<std::size_t>(std::max(0.0, click->second[2])), state);
    }
}

} // namespace vergence::mc_embedding
