#include "plugins/mc_embedding/report/study_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include "core/artifact/gif.h"
#include "plugins/mc_embedding/report/cloud_view.h"
#include "plugins/mc_embedding/report/gallery.h"
#include "plugins/mc_embedding/report/plots.h"
#include "plugins/mc_embedding/report/report_content.h"

namespace vergence::mc_embedding {

namespace {

const std::string kFolder = "report/";

/// A model's name as part of a file name.
std::string fileStem(const StudyState& state, std::size_t model)
{
    std::string stem = modelName(state, model);
    for (char& c : stem)
        if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '-')
            c = '-';
    return stem;
}

/// Writes what a report consists of and remembers the pictures.
class ReportFiles {
public:
    ReportFiles(ArtifactStore& artifacts, const StudyState& state,
                const std::function<bool()>& isStopped)
        : m_artifacts(artifacts),
          m_state(state),
          m_isStopped(isStopped)
    {
    }

    /// Asked before everything that takes a moment; the report is then of no use.
    bool isStopped() const { return m_isStopped && m_isStopped(); }

    void add(ReportSection& section, const std::optional<Chart>& chart, const std::string& stem)
    {
        if (!chart)
            return;
        constexpr double kHalfPage = 600; ///< a wider drawing takes the whole width of the page
        const std::string name = "charts/" + (stem.empty() ? "" : stem + "_") + chart->id;
        m_artifacts.writePng(kFolder + name + ".png", toImage(chart->drawing), "chart",
                             chart->title);
        m_artifacts.writeText(kFolder + name + ".csv", chart->csv, "chart-data", chart->title);
        const auto& texts = chart->drawing.texts;
        const bool hasTitle =
            std::ranges::find(texts, chart->title, &Diagram::Text::text) != texts.end();
        section.pictures.push_back({name + ".png", chart->title, chart->caption, hasTitle,
                                    toSvg(chart->drawing), chart->drawing.right > kHalfPage});
    }
    void addGallery(ReportSection& section, std::size_t model, std::size_t order,
                    const StudyViews::Thumbnail& thumbnail);
    /// GIF over passes and, where `withFrames`, its frames as PNG; the cloud in space is for
    /// `more`.
    void addCloud(ReportSection& section, ReportSection& more, std::size_t model, std::size_t cloud,
                  const std::string& which, bool withFrames);

private:
    ArtifactStore& m_artifacts;
    const StudyState& m_state;
    const std::function<bool()>& m_isStopped;
};

void ReportFiles::addGallery(ReportSection& section, std::size_t model, std::size_t order,
                             const StudyViews::Thumbnail& thumbnail)
{
    constexpr std::size_t kPictures = 12, kColumns = 6;
    constexpr double kWide = 150, kTile = 132, kHigh = kTile + 34;
    const ModelStudy& study = m_state.models[model];
    const Look look{model, study.passes.empty() ? 0 : study.passes.size() - 1, "trace_pre"};
    auto entries = galleryEntries(m_state, look, model, order);
    entries.resize(std::min(entries.size(), kPictures));
    if (entries.empty() || !thumbnail || isStopped())
        return;
    const auto rows = (entries.size() + kColumns - 1) / kColumns;
    Diagram sheet;
    sheet.right = kWide * static_cast<double>(std::min(entries.size(), kColumns));
    sheet.top = kHigh * static_cast<double>(rows);
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const double x = kWide * (static_cast<double>(i % kColumns) + 0.5),
                     y = sheet.top - kHigh * static_cast<double>(i / kColumns) - kTile;
        const std::string& label = entries[i].label;
        const std::size_t dot = label.find(" · ");
        const auto line = [&](std::string text, double down, const char* colour) {
            Diagram::Text caption;
            caption.x = x;
            caption.y = y - down;
            caption.text = std::move(text);
            caption.size = 11;
            caption.colour = colour;
            sheet.texts.push_back(std::move(caption));
        };
        line(label.substr(0, dot), 9, "text");
        if (dot != std::string::npos)
            line(label.substr(dot + std::string(" · ").size(), 20), 23, "muted");
    }
    Image picture = toImage(sheet);
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const Image tile = fitted(thumbnail(entries[i].image), static_cast<int>(2 * kTile - 8));
        const double left =
                         2 * kWide * static_cast<double>(i % kColumns) + kWide - tile.width / 2.0,
                     top =
                         2 * kHigh * static_cast<double>(i / kColumns) + kTile - tile.height / 2.0;
        paste(picture, tile, static_cast<int>(left), static_cast<int>(top));
    }
    const std::string title =
        fmt::format("{}: images of {}", modelName(m_state, model), galleryOrders()[order]);
    const std::string name = fmt::format("charts/{}_gallery_{}.png", fileStem(m_state, model),
                                         order == 0 ? "highest" : "lowest");
    m_artifacts.writePng(kFolder + name, picture, "gallery", title);
    section.pictures.push_back({name, title, "Mean score and standard error over trials.", false,
                                galleryHtml(entries, thumbnail), false});
}

void ReportFiles::addCloud(ReportSection& section, ReportSection& more, std::size_t model,
                           std::size_t cloud, const std::string& which, bool withFrames)
{
    const CloudLook look{.model = model, .clouds = {cloud}};
    const CloudProjection projection = projectClouds(m_state, look);
    if (projection.items.empty() || projection.passes < 1)
        return;
    CloudStyle style{.width = 640, .height = 480};
    const std::string stem = fmt::format("{}_{}", fileStem(m_state, model), which);
    const std::string title =
        fmt::format("{}: cloud of the image with the {} score", modelName(m_state, model), which);
    const auto frameName = [&](std::size_t t) {
        return kFolder + fmt::format("cloud/{}/pass_{:04}.png", stem, t + 1);
    };
    std::vector<Image> frames(static_cast<std::size_t>(projection.passes));
    tbb::parallel_for(std::size_t{0}, frames.size(), [&](std::size_t t) {
        if (isStopped())
            return;
        CloudStyle ownStyle = style;
        ownStyle.passes = static_cast<int>(t) + 1;
        frames[t] = toImage(layOut(cloudPlot(m_state, look, projection, ownStyle)), 1);
        if (withFrames)
            writePng(m_artifacts.pathFor(frameName(t)), frames[t]);
    });
    if (isStopped())
        return;
    for (std::size_t t = 0; t < frames.size() && withFrames; ++t)
        m_artifacts.add(frameName(t), "cloud-frame");
    const std::string gif = "cloud/" + stem + ".gif";
    // 12 frames a second are 8.33 hundredths; the last one is held for a second.
    writeGif(m_artifacts.pathFor(kFolder + gif), frames,
             {.delayCentiseconds = 8, .lastDelayCentiseconds = 100});
    m_artifacts.add(kFolder + gif, "cloud-animation", title);
    if (isStopped())
        return;
    style = {};
    section.pictures.push_back({gif, title,
                                fmt::format("All passes of every trial with an outline of two "
                                            "standard deviations; {} adds them one by one.",
                                            gif),
                                false, toSvg(layOut(cloudPlot(m_state, look, projection, style))),
                                false});
    style = {.is3d = true};
    Chart space = chartOf("cloud_" + which, title + ", three axes",
                          "The outline is that of the 2σ ellipsoid.",
                          {cloudPlot(m_state, look, projection, style)});
    add(more, space, fileStem(m_state, model));
}

/// Kept clouds of the highest and the lowest score of a model.
std::array<std::size_t, 2> extremeClouds(const StudyState& state, std::size_t model)
{
    const ModelStudy& study = state.models[model];
    const auto scores =
        scoresOf(state, {model, study.passes.empty() ? 0 : study.passes.size() - 1, "trace_pre"});
    std::vector<double> key(study.clouds.size(), 0);
    if (scores) {
        const std::vector<double> means = meansOverTrials(*scores);
        for (std::size_t c = 0; c < key.size(); ++c) {
            const auto found = std::ranges::find(scores->images, study.clouds[c].image);
            if (found != scores->images.end())
                key[c] = means[static_cast<std::size_t>(found - scores->images.begin())];
        }
    }
    const auto [low, high] = std::ranges::minmax_element(key);
    return {static_cast<std::size_t>(high - key.begin()),
            static_cast<std::size_t>(low - key.begin())};
}

/// What speaks of the model first, and what is looked up.
std::array<ReportSection, 2> modelSections(ReportFiles& files, const StudyState& state,
                                           std::size_t model,
                                           const StudyViews::Thumbnail& thumbnail)
{
    const ModelStudy& study = state.models[model];
    const std::string name = modelName(state, model), stem = fileStem(state, model);
    ReportSection section{name}, more{"More charts of " + name};
    more.isFolded = true;
    const Look look{model, study.passes.empty() ? 0 : study.passes.size() - 1, "trace_pre"};
    const auto add = [&](ReportSection& to, const auto& draw) {
        if (!files.isStopped())
            files.add(to, draw(state, look), stem);
    };
    for (const auto draw : {scalingChart, classBoxChart, pairedChart, ambiguityChart})
        add(section, draw);
    add(section, [](const StudyState& of, const Look& at) { return rocChart(of, at); });
    for (const auto draw : {accuracyChart, setSizeChart})
        add(section, draw);
    for (const std::size_t order : {std::size_t{0}, std::size_t{1}})
        files.addGallery(section, model, order, thumbnail);
    for (const auto draw : {spearmanChart, trialScatterChart, histogramChart, preAgainstPostChart,
                            spectrumChart, offdiagChart, dimensionChart})
        add(more, draw);
    if (!study.clouds.empty() && !files.isStopped()) {
        const auto [highest, lowest] = extremeClouds(state, model);
        files.addCloud(section, more, model, highest, "highest", true);
        if (lowest != highest)
            files.addCloud(section, more, model, lowest, "lowest", false);
    }
    return {std::move(section), std::move(more)};
}

std::array<ReportSection, 2> comparisonSections(ReportFiles& files, const StudyState& state)
{
    ReportSection section{"Models beside each other"}, more{"More comparisons of models"};
    more.isFolded = true;
    const Look pre, post{.metric = "trace_post"};
    const auto add = [&](ReportSection& to, const auto& draw, const Look& look,
                         const std::string& stem) {
        if (!files.isStopped())
            files.add(to, draw(state, look), stem);
    };
    add(section, gatesChart, pre, pre.metric);
    add(section, crossModelChart, pre, "");
    add(section, siteProfileChart, pre, "");
    add(more, gatesChart, post, post.metric);
    for (std::size_t m = 0; m < state.models.size(); ++m) {
        const Look look{m, state.models[m].passes.empty() ? 0 : state.models[m].passes.size() - 1,
                        "trace_pre"};
        for (std::size_t other = m + 1; other < state.models.size() && !files.isStopped(); ++other)
            files.add(more, rankRankChart(state, look, other),
                      fileStem(state, m) + "_" + fileStem(state, other));
    }
    return {std::move(section), std::move(more)};
}

} // namespace

bool writeReport(ArtifactStore& artifacts, const StudyState& state,
                 const StudyViews::Thumbnail& thumbnail, const std::function<bool()>& isStopped)
{
    ReportFiles files(artifacts, state, isStopped);
    if (files.isStopped())
        return false;
    ReportSection table; // the page has it as a table
    files.add(table, comparisonChart(state, {}), "");
    std::vector<ReportSection> figures;
    const auto take = [&](std::array<ReportSection, 2> sections) {
        std::ranges::move(sections, std::back_inserter(figures));
    };
    take(comparisonSections(files, state));
    for (std::size_t m = 0; m < state.models.size() && !files.isStopped(); ++m)
        take(modelSections(files, state, m, thumbnail));
    if (files.isStopped())
        return false;
    std::erase_if(figures, [](const ReportSection& section) { return section.pictures.empty(); });
    const Report report = reportOf(state, std::move(figures));
    artifacts.writeText(kFolder + "report.html", toHtml(report), "report", "Report");
    artifacts.writeText(kFolder + "report.md", toMarkdown(report), "report", "Report as Markdown");
    return true;
}

} // namespace vergence::mc_embedding
