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
    return config.isReplica() ? UnetSettings{} : unetSettings(config);
}

} // namespace

ModelKey modelKey(const LiveDiffusionConfig& config)
{
    ModelKey key{config.network, config.weights, {}, unetOf(config), 0};
    key.unet.channelRounding = 1;
    if (config.weights == WeightsFrom::File)
        key.file = config.weightsFile;
    if (config.weights == WeightsFrom::Bench)
        key.seed = config.seed;
    return key;
}

LoadedModel loadedModel(Stream& stream, const std::shared_ptr<Device>& device,
                        const LiveDiffusionConfig& config, const Warn& warn)
{
    LoadedModel model;
    model.key = modelKey(config);
    model.unet = model.description.settings = unetOf(config);
    model.description.prediction = nameOf(config.loop.prediction);
    model.description.schedule = nameOf(config.loop.curve);
    model.description.mode = nameOf(config.loop.mode);
    if (config.network != NetworkKind::Unet || config.weights == WeightsFrom::Training)
        return model;
    if (config.weights == WeightsFrom::Bench) {
        model.weights = benchWeights(model.unet, config.seed);
        return model;
    }
    std::unique_ptr<ShippedFiles> shipped;
    std::filesystem::path file = config.weightsFile;
    if (config.weights == WeightsFrom::Shipped) {
        shipped = std::make_unique<ShippedFiles>();
        file = shipped->weights();
    }
    model.description = readModelDescription(file);
    UnetSettings stored = model.description.settings;
    stored.channelRounding = model.unet.channelRounding;
    stored.grid = model.unet.grid;
    if (!(stored == model.unet))
        throw InputError("The weights in " + file.string() + " are of " +
                         std::string(titleOf(model.description.settings.size)) + " for frames of " +
                         std::to_string(model.description.settings.frameSize()) +
                         " px; set model_size and frame_size to that, or name other weights.");
    if (model.description.prediction != nameOf(config.loop.prediction))
        warn("W-PREDICTION", "The weights were trained to predict " + model.description.prediction +
                                 "; set prediction to that.");
    if (model.description.schedule != nameOf(config.loop.curve))
        warn("W-SCHEDULE", "The weights were trained under the " + model.description.schedule +
                               " schedule; set curve to that.");
    if (config.loop.sampler == SamplerKind::Consistency && !model.description.isConsistencyModel)
        warn("W-SAMPLER", "The weights were not distilled: lcm steps will look rough.");
    TapeNetwork tape(stream, device, model.description.settings);
    loadModel(stream, tape.parameters(), file);
    model.weights = hostWeights(stream, tape.parameters());
    model.isTrained = true;
    return model;
}

} // namespace vergence::live
