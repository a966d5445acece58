#include "plugins/mc_embedding/study/study_files.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include <fmt/format.h>

#include "core/artifact/json_text.h"
#include "core/artifact/npz_archive.h"
#include "core/base/error.h"
#include "plugins/mc_embedding/study/ambiguity.h"
#include "plugins/mc_embedding/study/geometry.h"
#include "plugins/mc_embedding/study/image_table.h"
#include "plugins/mc_embedding/study/later_results.h"
#include "plugins/mc_embedding/study/study_numbers.h"
#include "plugins/mc_embedding/study/study_record.h"
#include "plugins/mc_embedding/study/summaries.h"

namespace vergence::mc_embedding {

namespace {

using Studies = std::vector<const ModelStudy*>;
using Stop = std::function<bool()>;

bool asked(const Stop& isStopped)
{
    return isStopped && isStopped();
}

Studies completeFor(const StudyState& state, const std::string& experiment)
{
    Studies studies;
    for (const ModelStudy& study : state.models) {
        if (isComplete(study) && isMeasuredFor(study, experiment))
            studies.push_back(&study);
    }
    return studies;
}

void writeJson(ArtifactStore& artifacts, const std::string& name, const nlohmann::json& json,
               const std::string& title)
{
    artifacts.writeText(name, prettyJson(json), "summary", title);
}

NpzWriter::Extents shapeOf(const Matrix& matrix)
{
    return {static_cast<std::int64_t>(matrix.rows), static_cast<std::int64_t>(matrix.columns)};
}

std::vector<std::string> pathsOf(const StudyState& state, const ModelStudy& study)
{
    std::vector<std::string> paths;
    for (std::size_t i = 0; i < study.means.rows; ++i)
        paths.push_back(state.images.images[i].path);
    return paths;
}

void writeExp0(ArtifactStore& artifacts, const StudyState& state, const Stop& isStopped)
{
    nlohmann::json overall{{"schema", "mc-embedding/1"}, {"experiment", "exp0_nested_mc"}};
    const Studies studies = completeFor(state, "exp0");
    for (const ModelStudy* study : studies) {
        if (asked(isStopped))
            return;
        const std::string folder = "study/exp0/" + study->label + "/";
        const nlohmann::json summary = exp0Summary(state, *study);
        overall["results"][study->label] = summary;
        writeJson(artifacts, folder + "exp0_summary.json", summary, "Exp 0 of " + study->label);
        for (std::size_t t = 0; t < study->passes.size() && !asked(isStopped); ++t) {
            const std::string name = fmt::format("{}exp0_trials_T{}.npz", folder, study->passes[t]);
            NpzWriter writer(artifacts.pathFor(name));
            writer.add("paths", pathsOf(state, *study));
            for (const auto& [array, score] :
                 {std::pair("trial_pre", "trace_pre"), std::pair("trial_post", "trace_post")}) {
                const Matrix& values = study->scores.at(score)[t];
                writer.add(array, std::span<const double>(values.values), shapeOf(values));
            }
            writer.commit();
            artifacts.add(name, "trials",
                          fmt::format("Trials of {}, T = {}", study->label, study->passes[t]));
        }
    }
    if (!studies.empty() && !asked(isStopped))
        writeJson(artifacts, "study/exp0/exp0_overall_summary.json", overall, "Exp 0");
}

void writeExp0b(ArtifactStore& artifacts, const StudyState& state, const Stop& isStopped)
{
    for (const ModelStudy* study : completeFor(state, "exp0b")) {
        if (asked(isStopped))
            return;
        if (!study->geometry)
            continue;
        const GeometryTrials& geometry = *study->geometry;
        const std::string folder = "study/exp0b/" + study->label + "/";
        writeJson(artifacts, folder + "exp0b_summary.json", exp0bSummary(*study),
                  "Exp 0b of " + study->label);
        const std::string name = folder + "exp0b_geometry_trials.npz";
        NpzWriter writer(artifacts.pathFor(name));
        writer.add("paths", pathsOf(state, *study));
        for (const auto& [key, values] : geometry.values)
            writer.add(key, std::span<const double>(values.values), shapeOf(values));
        const NpzWriter::Extents spectra{geometry.trials,
                                         static_cast<std::int64_t>(study->means.rows),
                                         static_cast<std::int64_t>(kEigenvalues)};
        writer.add("eigs_pre", std::span<const double>(geometry.eigenvaluesPre.values), spectra);
        writer.add("eigs_post", std::span<const double>(geometry.eigenvaluesPost.values), spectra);
        writer.commit();
        artifacts.add(name, "geometry", "Shapes of the clouds of " + study->label);
    }
}

void writeExp4(ArtifactStore& artifacts, const StudyState& state, const Stop& isStopped)
{
    const Studies studies = completeFor(state, "exp4");
    if (studies.empty() || asked(isStopped))
        return;
    writeJson(artifacts, "study/exp4/exp4_summary.json", exp4Summary(studies), "Exp 4");
    for (const ModelStudy* study : studies) {
        if (asked(isStopped))
            return;
        const std::string name = fmt::format("study/exp4/exp4_{}.npz", study->label);
        NpzWriter writer(artifacts.pathFor(name));
        writer.add("paths", pathsOf(state, *study));
        for (const auto& [array, score] :
             {std::pair("trial_pre", "trace_pre"), std::pair("trial_angular", "angular_var")}) {
            const Matrix& values = study->scores.at(score).back();
            writer.add(array, std::span<const double>(values.values), shapeOf(values));
        }
        writer.commit();
        artifacts.add(name, "trials", "Exp 4 trials of " + study->label);
    }
}

void writeExp5(ArtifactStore& artifacts, const StudyState& state, const Stop& isStopped)
{
    const bool isAsked = std::any_of(
        state.experiments.begin(), state.experiments.end(), [](const std::string& name) {
            return name == "exp5" || name == "phase1" || name == "conformal";
        });
    if (!isAsked)
        return;
    Exp5Options options;
    options.quantile = settingOr(state, "quantile", options.quantile);
    options.resamples = static_cast<int>(settingOr(state, "bootstrap", options.resamples));
    options.alpha = settingOr(state, "alpha", options.alpha);
    options.seed = state.seed;
    options.isStopped = isStopped;
    Studies judged;
    for (const ModelStudy& study : state.models) {
        const bool isJudged = isMeasuredFor(study, "exp5") || isMeasuredFor(study, "conformal");
        if (isComplete(study) && study.ambiguity && isJudged)
            judged.push_back(&study);
    }
    for (const ModelStudy* study : judged) {
        const std::string folder = "study/exp5/" + study->label + "/";
        const nlohmann::json summary = exp5Summary(*study, options);
        if (asked(isStopped))
            return;
        writeJson(artifacts, folder + "exp5_summary.json", summary, "Exp 5 of " + study->label);
        const std::string name = folder + "exp5_" + study->label + ".npz";
        writeExp5Arrays(artifacts.pathFor(name), *study, state.images, options);
        artifacts.add(name, "ambiguity", "Exp 5 arrays of " + study->label);
    }
    if (judged.empty())
        return;
    const nlohmann::json overall = exp5Overall(state, options);
    if (!asked(isStopped))
        writeJson(artifacts, "study/exp5/exp5_overall_summary.json", overall, "Exp 5");
}

void writeComparisons(ArtifactStore& artifacts, const StudyState& state, const Stop& isStopped)
{
    std::map<std::string, Studies> variants; // by model
    for (const ModelStudy& study : state.models) {
        if (isComplete(study) && !study.label.ends_with("-exp5"))
            variants[study.tower.key].push_back(&study);
    }
    for (const auto& [model, studies] : variants) {
        if (studies.size() > 1 && !asked(isStopped))
            writeJson(artifacts, fmt::format("study/variants/{}_variants.json", model),
                      variantsSummary(studies), "Variants of " + model + " side by side");
    }
    const Studies grid = completeFor(state, "mnist_grid");
    if (!grid.empty() && !asked(isStopped))
        writeJson(artifacts, "study/mnist_grid/mnist_grid_summary.json", mnistSummary(grid),
                  "MNIST grid");
    for (const ModelStudy* study : completeFor(state, "degradation")) {
        if (!study->degraded.empty() && !asked(isStopped))
            writeJson(artifacts,
                      fmt::format("study/degradation/{}/degradation_summary.json", study->label),
                      degradationSummary(*study), "Degradations of " + study->label);
    }
}

} // namespace

void writeMeasured(ArtifactStore& artifacts, const StudyState& state, const Stop& isStopped)
{
    writeRecord(artifacts, state);
    writeExp0(artifacts, state, isStopped);
    writeExp0b(artifacts, state, isStopped);
    writeExp4(artifacts, state, isStopped);
    writeComparisons(artifacts, state, isStopped);
    for (const ModelStudy& study : state.models) {
        if (study.imagesDone > 0 && !asked(isStopped))
            artifacts.writeText(fmt::format("study/{}_images.csv", study.label),
                                imageTable(state, study), "images-csv", "Images of " + study.label);
    }
}

bool writeStudy(ArtifactStore& artifacts, const StudyState& state, const Stop& isStopped)
{
    if (asked(isStopped))
        return false;
    writeMeasured(artifacts, state, isStopped);
    if (asked(isStopped))
        return false;
    writeExp5(artifacts, state, isStopped);
    return writeLater(artifacts, state, isStopped);
}

StudyState readStudy(const std::filesystem::path& runFolder)
{
    return readRecord(runFolder);
}

ModelStudy readPublishedTrials(const std::filesystem::path& folder, const std::string& model)
{
    ModelStudy study;
    study.label = model;
    study.tower = towerShape(model).value_or(TowerShape{});
    study.tower.key = model;
    study.variance = "biased"; // as published; ranks and ICC do not depend on it
    std::vector<std::pair<int, std::filesystem::path>> files;
    std::error_code code;
    const std::string prefix = "exp0_trials_T";
    for (const auto& entry : std::filesystem::directory_iterator(folder, code)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with(prefix) && name.ends_with(".npz"))
            files.emplace_back(std::atoi(name.c_str() + prefix.size()), entry.path());
    }
    if (files.empty())
        throw InputError(fmt::format("{} holds no exp0_trials_T….npz.", folder.string()));
    std::sort(files.begin(), files.end());
    for (const auto& [passes, path] : files) {
        const NpzArchive archive(path);
        study.passes.push_back(passes);
        for (const auto& [array, score] :
             {std::pair("trial_pre", "trace_pre"), std::pair("trial_post", "trace_post")}) {
            if (!archive.has(array))
                throw InputError(fmt::format("{} has no array {}.", path.string(), array));
            const auto shape = archive.shape(array);
            if (shape.size() != 2 || shape[0] < 1 || shape[1] < 1)
                throw InputError(
                    fmt::format("{} of {} is not [trials, images].", array, path.string()));
            Matrix values;
            values.rows = static_cast<std::size_t>(shape[0]);
            values.columns = static_cast<std::size_t>(shape[1]);
            values.values = archive.numbers(array);
            study.trials = static_cast<int>(values.rows);
            study.imagesDone = values.columns;
            study.scores[score].push_back(std::move(values));
        }
    }
    return study;
}

} // namespace vergence::mc_embedding
