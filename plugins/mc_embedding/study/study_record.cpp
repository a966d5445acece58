#include "plugins/mc_embedding/study/study_record.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/artifact/json_text.h"
#include "core/artifact/npz_archive.h"
#include "core/base/error.h"
#include "core/base/file.h"

namespace vergence::mc_embedding {

namespace {

using nlohmann::json;

std::vector<double> asDoubles(const std::vector<int>& values)
{
    return {values.begin(), values.end()};
}

NpzWriter::Extents extents(const Matrix& matrix)
{
    return {static_cast<std::int64_t>(matrix.rows), static_cast<std::int64_t>(matrix.columns)};
}

void add(NpzWriter& writer, const std::string& name, const Matrix& matrix)
{
    if (!matrix.values.empty())
        writer.add(name, std::span<const double>(matrix.values), extents(matrix));
}

void add(NpzWriter& writer, const std::string& name, const std::vector<double>& values)
{
    if (!values.empty())
        writer.add(name, std::span<const double>(values),
                   {static_cast<std::int64_t>(values.size())});
}

Matrix matrixOf(const NpzArchive& archive, const std::string& name)
{
    if (!archive.has(name))
        return {};
    const auto shape = archive.shape(name);
    if (shape.size() != 2)
        throw InputError(fmt::format("{} is not a matrix.", name));
    Matrix matrix;
    matrix.rows = static_cast<std::size_t>(shape[0]);
    matrix.columns = static_cast<std::size_t>(shape[1]);
    matrix.values = archive.numbers(name);
    return matrix;
}

std::vector<double> listOf(const NpzArchive& archive, const std::string& name)
{
    return archive.has(name) ? archive.numbers(name) : std::vector<double>();
}

std::vector<int> intsOf(const NpzArchive& archive, const std::string& name)
{
    const std::vector<double> values = listOf(archive, name);
    return {values.begin(), values.end()};
}

void addClouds(NpzWriter& writer, const std::vector<Cloud>& clouds)
{
    if (clouds.empty())
        return;
    std::vector<std::int64_t> images;
    std::vector<float> values;
    for (const Cloud& cloud : clouds) {
        images.push_back(static_cast<std::int64_t>(cloud.image));
        values.insert(values.end(), cloud.passes.values.begin(), cloud.passes.values.end());
    }
    const Matrix& first = clouds.front().passes;
    writer.add("cloud_images", std::span<const std::int64_t>(images),
               {static_cast<std::int64_t>(images.size())});
    writer.add("clouds", std::span<const float>(values),
               {static_cast<std::int64_t>(clouds.size()), static_cast<std::int64_t>(first.rows),
                static_cast<std::int64_t>(first.columns)});
}

std::vector<Cloud> cloudsOf(const NpzArchive& archive)
{
    std::vector<Cloud> clouds;
    if (!archive.has("clouds"))
        return clouds;
    const auto shape = archive.shape("clouds");
    const std::vector<double> images = archive.numbers("cloud_images"),
                              values = archive.numbers("clouds");
    if (shape.size() != 3 || shape[0] != static_cast<std::int64_t>(images.size()))
        throw InputError("The stored clouds have another shape than [images, passes, D].");
    for (std::size_t c = 0; c < images.size(); ++c) {
        Cloud cloud;
        cloud.image = static_cast<std::size_t>(images[c]);
        cloud.passes =
            Matrix(static_cast<std::size_t>(shape[1]), static_cast<std::size_t>(shape[2]));
        const std::size_t size = cloud.passes.values.size();
        std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(c * size), size,
                    cloud.passes.values.begin());
        clouds.push_back(std::move(cloud));
    }
    return clouds;
}

std::string wayKey(const WayScores& way)
{
    return fmt::format("way.{}.{}", way.experiment, way.name);
}

void addLater(NpzWriter& writer, const ModelStudy& study)
{
    for (const WayScores& way : study.ways) {
        add(writer, wayKey(way), way.trace);
        add(writer, wayKey(way) + ".anisotropy", way.anisotropy);
    }
    for (const auto& [degradation, features] : study.degradedFeatures)
        add(writer, "features." + degradation, features);
    if (study.synthetic)
        add(writer, "synthetic", study.synthetic->trace);
    if (study.prompts)
        add(writer, "prompts", study.prompts->features);
    if (study.texts)
        add(writer, "texts", study.texts->trace);
}

json laterJson(const ModelStudy& study)
{
    json later{{"ways", json::array()},
               {"features", json::array()},
               {"leverage_seconds", study.leverageSeconds}};
    for (const WayScores& way : study.ways)
        later["ways"].push_back({{"experiment", way.experiment},
                                 {"name", way.name},
                                 {"p", way.p},
                                 {"rates", way.rates}});
    for (const auto& [degradation, features] : study.degradedFeatures)
        later["features"].push_back(degradation);
    if (study.synthetic)
        later["synthetic"] = study.synthetic->groups;
    if (study.prompts)
        later["prompts"] = {{"texts", study.prompts->prompts},
                            {"logit_scale", study.prompts->logitScale}};
    if (study.texts)
        later["texts"] = {{"prompts", study.texts->prompts}, {"styles", study.texts->styles}};
    return later;
}

void readLater(ModelStudy& study, const NpzArchive& archive, const json& later)
{
    using Texts = std::vector<std::string>;
    study.leverageSeconds = later.at("leverage_seconds").get<double>();
    for (const json& entry : later.at("ways")) {
        WayScores way;
        way.experiment = entry.at("experiment").get<std::string>();
        way.name = entry.at("name").get<std::string>();
        way.p = entry.at("p").get<double>();
        way.rates = entry.at("rates").get<std::vector<double>>();
        way.trace = matrixOf(archive, wayKey(way));
        way.anisotropy = matrixOf(archive, wayKey(way) + ".anisotropy");
        study.ways.push_back(std::move(way));
    }
    for (const json& name : later.at("features"))
        study.degradedFeatures[name.get<std::string>()] =
            matrixOf(archive, "features." + name.get<std::string>());
    if (later.contains("synthetic"))
        study.synthetic =
            SyntheticScores{later["synthetic"].get<Texts>(), matrixOf(archive, "synthetic")};
    if (later.contains("prompts"))
        study.prompts =
            PromptFeatures{later["prompts"].at("texts").get<Texts>(), matrixOf(archive, "prompts"),
                           later["prompts"].at("logit_scale").get<double>()};
    if (later.contains("texts"))
        study.texts =
            TextScores{later["texts"].at("prompts").get<Texts>(),
                       later["texts"].at("styles").get<Texts>(), matrixOf(archive, "texts")};
}

void writeArrays(ArtifactStore& artifacts, const ModelStudy& study)
{
    const std::string name = "study/models/" + study.label + ".npz";
    NpzWriter writer(artifacts.pathFor(name));
    for (const auto& [score, matrices] : study.scores) {
        for (std::size_t t = 0; t < matrices.size(); ++t)
            add(writer, fmt::format("{}.T{}", score, study.passes[t]), matrices[t]);
    }
    add(writer, "deterministic", study.deterministic);
    add(writer, "means", study.means);
    add(writer, "variances", study.variances);
    if (study.geometry) {
        for (const auto& [key, matrix] : study.geometry->values)
            add(writer, "geometry." + key, matrix);
        add(writer, "eigenvalues_pre", study.geometry->eigenvaluesPre);
        add(writer, "eigenvalues_post", study.geometry->eigenvaluesPost);
    }
    for (const DegradedScores& degraded : study.degraded) {
        for (std::size_t t = 0; t < degraded.trace.size(); ++t)
            add(writer, fmt::format("degraded.{}.T{}", degraded.degradation, study.passes[t]),
                degraded.trace[t]);
    }
    if (study.ambiguity) {
        const Ambiguity& a = *study.ambiguity;
        add(writer, "ambiguity.logits", a.logits);
        add(writer, "ambiguity.margin", a.margin);
        add(writer, "ambiguity.entropy", a.entropy);
        add(writer, "ambiguity.prompt_sensitivity", a.promptSensitivity);
        add(writer, "ambiguity.predicted", asDoubles(a.predicted));
        add(writer, "ambiguity.truth", asDoubles(a.truth));
    }
    addLater(writer, study);
    addClouds(writer, study.clouds);
    writer.commit();
    artifacts.add(name, "study-arrays", "All arrays of " + study.label);
}

json modelJson(const ModelStudy& study)
{
    json sites = json::array(), degraded = json::array(), scores = json::array();
    for (const Site& site : study.sites)
        sites.push_back({site.number, site.tokens, site.channels});
    for (const DegradedScores& entry : study.degraded)
        degraded.push_back(entry.degradation);
    for (const auto& [name, matrices] : study.scores)
        scores.push_back(name);
    json result{{"label", study.label},
                {"tower", study.tower.key},
                {"tower_activation", static_cast<int>(study.tower.activation)},
                {"feature", study.tower.feature},
                {"placement", study.placement},
                {"sites", sites},
                {"p", study.p},
                {"variance", study.variance},
                {"alpha", study.alpha},
                {"activation", study.activation},
                {"precision", study.precision},
                {"weights_sha256", study.weightsSha256},
                {"weights_source", study.weightsSource},
                {"trials", study.trials},
                {"passes", study.passes},
                {"images_done", study.imagesDone},
                {"scores", scores},
                {"degraded", degraded},
                {"warnings", study.warnings},
                {"preprocess", study.preprocess},
                {"experiments", study.experiments},
                {"seconds", study.seconds},
                {"flop", study.flop}};
    if (study.geometry)
        result["geometry"] = {{"trials", study.geometry->trials},
                              {"passes", study.geometry->passes}};
    result["later"] = laterJson(study);
    if (study.ambiguity)
        result["ambiguity"] = {{"classes", study.ambiguity->classes},
                               {"templates", study.ambiguity->templates}};
    return result;
}

void readHeader(ModelStudy& study, const json& model)
{
    study.label = model.at("label").get<std::string>();
    const auto key = model.at("tower").get<std::string>();
    study.tower = towerShape(key).value_or(TowerShape{});
    study.tower.key = key;
    study.tower.activation = static_cast<Activation>(model.at("tower_activation").get<int>());
    study.tower.feature = model.at("feature").get<Index>();
    study.placement = model.at("placement").get<std::string>();
    for (const json& site : model.at("sites"))
        study.sites.push_back(
            {site.at(0).get<int>(), site.at(1).get<Index>(), site.at(2).get<Index>()});
    study.p = model.at("p").get<double>();
    study.variance = model.at("variance").get<std::string>();
    study.alpha = model.at("alpha").get<double>();
    study.activation = model.at("activation").get<std::string>();
    study.precision = model.at("precision").get<std::string>();
    study.weightsSha256 = model.at("weights_sha256").get<std::string>();
    study.weightsSource = model.at("weights_source").get<std::string>();
    study.trials = model.at("trials").get<int>();
    study.passes = model.at("passes").get<std::vector<int>>();
    study.imagesDone = model.at("images_done").get<std::size_t>();
    study.warnings = model.at("warnings").get<std::vector<std::string>>();
    study.preprocess = model.at("preprocess").get<std::map<std::string, std::string>>();
    study.experiments = model.at("experiments").get<std::vector<std::string>>();
    study.seconds = model.at("seconds").get<double>();
    study.flop = model.at("flop").get<double>();
}

ModelStudy readModel(const std::filesystem::path& folder, const json& model)
{
    ModelStudy study;
    readHeader(study, model);
    const NpzArchive archive(folder / "models" / (study.label + ".npz"));
    const auto perPasses = [&](const std::string& prefix) {
        std::vector<Matrix> matrices;
        for (const int t : study.passes)
            matrices.push_back(matrixOf(archive, fmt::format("{}.T{}", prefix, t)));
        return matrices;
    };
    for (const json& name : model.at("scores"))
        study.scores[name.get<std::string>()] = perPasses(name.get<std::string>());
    study.deterministic = matrixOf(archive, "deterministic");
    study.means = matrixOf(archive, "means");
    study.variances = matrixOf(archive, "variances");
    for (const json& name : model.at("degraded"))
        study.degraded.push_back(
            {name.get<std::string>(), perPasses("degraded." + name.get<std::string>())});
    if (model.contains("geometry")) {
        GeometryTrials& geometry = study.geometry.emplace();
        geometry.trials = model["geometry"].at("trials").get<int>();
        geometry.passes = model["geometry"].at("passes").get<int>();
        for (const std::string& name : archive.names()) {
            if (name.starts_with("geometry."))
                geometry.values[name.substr(9)] = matrixOf(archive, name);
        }
        geometry.eigenvaluesPre = matrixOf(archive, "eigenvalues_pre");
        geometry.eigenvaluesPost = matrixOf(archive, "eigenvalues_post");
    }
    if (model.contains("ambiguity")) {
        Ambiguity& ambiguity = study.ambiguity.emplace();
        ambiguity.classes = model["ambiguity"].at("classes").get<std::vector<std::string>>();
        ambiguity.templates = model["ambiguity"].at("templates").get<std::vector<std::string>>();
        ambiguity.logits = matrixOf(archive, "ambiguity.logits");
        ambiguity.margin = listOf(archive, "ambiguity.margin");
        ambiguity.entropy = listOf(archive, "ambiguity.entropy");
        ambiguity.promptSensitivity = listOf(archive, "ambiguity.prompt_sensitivity");
        ambiguity.predicted = intsOf(archive, "ambiguity.predicted");
        ambiguity.truth = intsOf(archive, "ambiguity.truth");
    }
    if (model.contains("later"))
        readLater(study, archive, model["later"]);
    study.clouds = cloudsOf(archive);
    return study;
}

json imagesJson(const ImageSet& set)
{
    json images = json::array();
    for (const StudyImage& image : set.images)
        images.push_back({image.path, image.label, image.sha256, image.maskId});
    return {{"folder", set.folder.string()}, {"images", images}};
}

ImageSet imagesFrom(const json& stored)
{
    ImageSet set;
    set.folder = stored.at("folder").get<std::string>();
    for (const json& image : stored.at("images"))
        set.images.push_back({image.at(0).get<std::string>(), image.at(1).get<std::string>(),
                              image.at(2).get<std::string>(), image.at(3).get<std::uint32_t>()});
    return set;
}

} // namespace

void writeRecord(ArtifactStore& artifacts, const StudyState& state)
{
    json models = json::array();
    for (const ModelStudy& study : state.models) {
        if (study.passes.empty()) // stopped before its pictures were read
            continue;
        writeArrays(artifacts, study);
        models.push_back(modelJson(study));
    }
    const json record{{"schema", "mc-embedding/1"},
                      {"experiments", state.experiments},
                      {"seed", state.seed},
                      {"device", state.device},
                      {"settings", state.settings},
                      {"skipped_images", state.skippedImages},
                      {"skipped_models", state.skippedModels},
                      {"association", state.association},
                      {"set", imagesJson(state.images)},
                      {"models", models}};
    artifacts.writeText("study/state.json", prettyJson(record), "study", "The study");
}

StudyState readRecord(const std::filesystem::path& runFolder)
{
    const std::filesystem::path folder = runFolder / "artifacts" / "study";
    const std::filesystem::path path = folder / "state.json";
    const json record = parseJson(readFile(path), path.string());
    try {
        if (record.at("schema") != "mc-embedding/1")
            throw InputError(fmt::format("{} has the schema {} instead of mc-embedding/1.",
                                         path.string(), record.at("schema").dump()));
        StudyState state;
        state.experiments = record.at("experiments").get<std::vector<std::string>>();
        state.seed = record.at("seed").get<std::uint64_t>();
        state.device = record.at("device").get<std::string>();
        state.settings = record.at("settings").get<std::map<std::string, std::string>>();
        state.skippedImages = record.at("skipped_images").get<std::vector<std::string>>();
        state.skippedModels = record.at("skipped_models").get<std::map<std::string, std::string>>();
        state.association = record.value("association", std::string());
        state.images = imagesFrom(record.at("set"));
        for (const json& model : record.at("models"))
            state.models.push_back(readModel(folder, model));
        return state;
    } catch (const json::exception& failure) {
        throw InputError(fmt::format("{} is damaged: {}", path.string(), failure.what()));
    }
}

} // namespace vergence::mc_embedding
