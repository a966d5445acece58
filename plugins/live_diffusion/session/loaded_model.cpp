#include "plugins/live_diffusion/session/loaded_model.h"

#include <QFile>

#include "core/base/error.h"
#include "core/base/file.h"
#include "plugins/live_diffusion/model/tape_network.h"
#include "plugins/live_diffusion/session/settings.h"

namespace vergence::live {

namespace {

/// The shipped weights as files that loaders can open; gone with this object.
class ShippedFiles {
public:
    ShippedFiles() : m_folder(makeFolder())
    {
        for (const char* name : {"pico.safetensors", "pico.json"}) {
            QFile resource(QString(":/live_diffusion/") + name);
            if (!resource.open(QIODevice::ReadOnly))
                throw InputError("The weights that come with the program are missing from this "
                                 "build.");
            const QByteArray bytes = resource.readAll();
            writeFileAtomic(m_folder / name, std::string_view(bytes.data(), bytes.size()));
        }
    }
    ~ShippedFiles()
    {
        std::error_code ignored;
        std::filesystem::remove_all(m_folder, ignored);
    }
    ShippedFiles(const ShippedFiles&) = delete;
    ShippedFiles& operator=(const ShippedFiles&) = delete;

    std::filesystem::path weights() const { return m_folder / "pico.safetensors"; }

private:
    static std::filesystem::path makeFolder()
    {
        std::string pattern =
            (std::filesystem::temp_directory_path() / "vergence-pico-XXXXXX").string();
        if (mkdtemp(pattern.data()) == nullptr)
            throw OutputError("Cannot make a folder in " +
                              std::filesystem::temp_directory_path().string() + ".");
        return pattern;
    }

    std::filesystem::path m_folder;
};

UnetSettings unetOf(const LiveDiffusionConfig& config)
{
    return config.network.starts_with("replica") ? UnetSettings{} : unetSettings(config);
}

} // namespace

ModelKey modelKey(const LiveDiffusionConfig& config)
{
    ModelKey key{config.network, config.weights, {}, unetOf(config), 0};
    key.unet.channelRounding = 1;
    if (config.weights == "file")
        key.file = config.weightsFile;
    if (config.weights == "bench")
        key.seed = config.seed;
    return key;
}

LoadedModel loadedModel(Stream& stream, const std::shared_ptr<Device>& device,
                        const LiveDiffusionConfig& config, const Warn& warn)
{
    LoadedModel model;
    model.key = modelKey(config);
    model.unet = model.description.settings = unetOf(config);
    model.description.prediction = config.prediction;
    model.description.schedule = config.curve;
    model.description.mode = config.mode;
    if (config.network != "unet" || config.weights == "trained")
        return model;
    if (config.weights == "bench") {
        model.weights = benchWeights(model.unet, config.seed);
        return model;
    }
    std::unique_ptr<ShippedFiles> shipped;
    std::filesystem::path file = config.weightsFile;
    if (config.weights == "shipped") {
        shipped = std::make_unique<ShippedFiles>();
        file = shipped->weights();
    }
    model.description = readModelDescription(file);
    UnetSettings stored = model.description.settings;
    stored.channelRounding = model.unet.channelRounding;
    stored.grid = model.unet.grid;
    if (!(stored == model.unet))
        throw InputError("The weights in " + file.string() + " are of " +
                         std::string(nameOf(model.description.settings.size)) + " for frames of " +
                         std::to_string(model.description.settings.frameSize()) +
                         " px; set model_size and frame_size to that, or name other weights.");
    if (model.description.prediction != config.prediction)
        warn("W-PREDICTION", "The weights were trained to predict " + model.description.prediction +
                                 "; set prediction to that.");
    if (model.description.schedule != config.curve)
        warn("W-SCHEDULE", "The weights were trained under the " + model.description.schedule +
                               " schedule; set curve to that.");
    if (config.sampler == "lcm" && !model.description.isConsistencyModel)
        warn("W-SAMPLER", "The weights were not distilled: lcm steps will look rough.");
    TapeNetwork tape(stream, device, model.description.settings);
    loadModel(stream, tape.parameters(), file);
    model.weights = hostWeights(stream, tape.parameters());
    model.isTrained = true;
    return model;
}

} // namespace vergence::live
