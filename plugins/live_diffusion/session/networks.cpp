#include "plugins/live_diffusion/session/networks.h"

#include <algorithm>
#include <string_view>

#include <QFile>

#include "core/base/error.h"
#include "core/base/file.h"
#include "plugins/live_diffusion/bench/subjects.h"
#include "plugins/live_diffusion/engine/replica_network.h"
#include "plugins/live_diffusion/engine/unet_network.h"
#include "plugins/live_diffusion/model/pixel_blocks.h"
#include "plugins/live_diffusion/model/replicas.h"
#include "plugins/live_diffusion/model/tape_network.h"
#include "plugins/live_diffusion/model/unet.h"
#include "plugins/live_diffusion/stream/frame_grid.h"
#include "plugins/live_diffusion/stream/oracle_network.h"

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

std::vector<float> oraclePictures(const LiveDiffusionConfig& config, const FrameShape& shape)
{
    const auto scene = makeScene(sceneSettings(config));
    const auto device = makeCpuDevice(1);
    const auto stream = device->createStream();
    std::vector<float> pictures, input(static_cast<std::size_t>(scene->values())), target(input);
    std::vector<float> planes(static_cast<std::size_t>(shape.values()));
    for (Index frame = 0; frame < kSceneLoop; ++frame) {
        scene->draw(*stream, frame, input, target);
        pixelUnshuffle(target, config.frameSize, shape.patch, planes);
        pictures.insert(pictures.end(), planes.begin(), planes.end());
    }
    return pictures;
}

} // namespace

Networks::Networks(std::shared_ptr<Device> device, Stream& stream,
                   const LiveDiffusionConfig& config, const Warn& warn)
    : m_device(std::move(device)),
      m_config(config)
{
    std::vector<std::string> changes;
    switchesOf(m_config, *m_device, &changes);
    for (const std::string& change : changes)
        warn("W-SWITCH", change);
    if (m_config.network == "unet")
        load(stream, warn);
}

void Networks::load(Stream& stream, const Warn& warn)
{
    m_unet = unetSettings(m_config);
    m_description.settings = m_unet;
    m_description.prediction = m_config.prediction;
    m_description.schedule = m_config.curve;
    m_description.mode = m_config.mode;
    if (m_config.weights == "trained")
        return;
    if (m_config.weights == "bench") {
        m_weights = benchWeights(m_unet, m_config.seed);
        return;
    }
    std::unique_ptr<ShippedFiles> shipped;
    std::filesystem::path file = m_config.weightsFile;
    if (m_config.weights == "shipped") {
        shipped = std::make_unique<ShippedFiles>();
        file = shipped->weights();
    }
    m_description = readModelDescription(file);
    UnetSettings stored = m_description.settings;
    stored.channelRounding = m_unet.channelRounding;
    stored.grid = m_unet.grid;
    if (!(stored == m_unet))
        throw InputError("The weights in " + file.string() + " are of " +
                         std::string(nameOf(m_description.settings.size)) + " for frames of " +
                         std::to_string(m_description.settings.frameSize()) +
                         " px; set model_size and frame_size to that, or name other weights.");
    if (m_description.prediction != m_config.prediction)
        warn("W-PREDICTION", "The weights were trained to predict " + m_description.prediction +
                                 "; set prediction to that.");
    TapeNetwork tape(stream, m_device, m_description.settings);
    loadModel(stream, tape.parameters(), file);
    m_weights = hostWeights(stream, tape.parameters());
    m_isTrained = true;
}

FrameShape Networks::shape() const
{
    if (m_config.network.starts_with("replica"))
        return {1, 64, 64};
    const UnetSettings unet = unetSettings(m_config);
    return {static_cast<int>(unet.patch), static_cast<int>(unet.grid), static_cast<int>(unet.grid)};
}

std::string Networks::name() const
{
    if (m_config.network == "oracle")
        return "Oracle";
    if (m_config.network == "replica_a")
        return "Replica-A";
    return m_config.network == "replica_b" ? "Replica-B" : std::string(nameOf(m_unet.size));
}

bool Networks::isTrained() const
{
    return m_config.network == "oracle" || m_isTrained;
}

std::string Networks::note() const
{
    return isTrained() ? "" : "random weights";
}

std::string Networks::weightsHash() const
{
    return m_weights == nullptr ? std::string() : live::weightsHash(*m_weights);
}

const std::shared_ptr<const HostWeights>& Networks::weights() const
{
    if (m_weights == nullptr)
        throw InputError("There are no weights yet: the part train has to come before.");
    return m_weights;
}

std::shared_ptr<FrameNetwork> Networks::build(const Switches& switches, int rows) const
{
    if (m_config.network == "oracle") {
        OracleSettings settings;
        settings.shape = shape();
        const LoopSettings settingsOfLoop = loop();
        settings.curve = settingsOfLoop.curve;
        settings.zeroTerminalSnr = settingsOfLoop.zeroTerminalSnr;
        settings.prediction = settingsOfLoop.prediction;
        settings.maxRows = std::max(rows, 1);
        return std::make_shared<OracleNetwork>(settings, oraclePictures(m_config, shape()));
    }
    if (m_config.network.starts_with("replica"))
        return makeReplicaNetwork(m_device, subject().program, m_config.seed, switches, rows);
    return std::make_shared<UnetNetwork>(m_device, weights(),
                                         UnetNetworkSettings{m_unet, switches, rows});
}

std::shared_ptr<FrameNetwork> Networks::build() const
{
    return build(switches(), FrameLoop::rowsNeeded(loop()));
}

BenchSubject Networks::subject() const
{
    BenchSubject subject;
    subject.model = name();
    subject.isStream = !m_config.network.starts_with("replica");
    if (m_config.network == "unet") {
        subject.program = buildUnet(m_unet);
        subject.describe = [unet = m_unet](Index grid) {
            UnetSettings other = unet;
            other.grid = grid;
            return buildUnet(other);
        };
    } else if (m_config.network == "replica_a") {
        subject.program = buildReplicaA();
        subject.describe = [](Index grid) { return buildReplicaA(96, grid); };
    } else if (m_config.network == "replica_b") {
        subject.program = buildReplicaB();
        subject.describe = [](Index grid) { return buildReplicaB(192, grid); };
    }
    subject.build = [this](const Switches& switches, int rows) { return build(switches, rows); };
    return subject;
}

std::unique_ptr<TapeNetwork> Networks::tape(Stream& stream, bool trains) const
{
    ParameterSettings parameters;
    parameters.trains = trains;
    UnetSettings unet = m_unet;
    unet.channelRounding = m_description.settings.channelRounding; // as the weights have it
    auto tape = std::make_unique<TapeNetwork>(stream, m_device, unet, parameters);
    setParameters(stream, tape->parameters(), *weights());
    return tape;
}

ModelDescription Networks::description() const
{
    return m_description;
}

void Networks::setWeights(std::shared_ptr<const HostWeights> weights, const UnetSettings& unet,
                          bool isConsistencyModel)
{
    m_weights = std::move(weights);
    m_unet = unet;
    m_description.settings = unet;
    m_description.isConsistencyModel = isConsistencyModel;
    m_isTrained = true;
}

void Networks::takeWeights(Stream& stream, const std::filesystem::path& file)
{
    m_description = readModelDescription(file);
    TapeNetwork tape(stream, m_device, m_description.settings);
    loadModel(stream, tape.parameters(), file);
    setWeights(hostWeights(stream, tape.parameters()), m_description.settings,
               m_description.isConsistencyModel);
}

std::vector<std::vector<float>> Networks::frames(int count) const
{
    const OpenedSource opened = openSourceOrOrbits(sourceSettings(m_config));
    FrameGrid grid(shape());
    std::vector<std::vector<float>> frames;
    for (int i = 0; i < count; ++i) {
        const auto frame = opened.source->next({});
        if (!frame)
            break;
        grid.toValues(frame->rgb, frames.emplace_back(static_cast<std::size_t>(shape().values())));
    }
    return frames;
}

} // namespace vergence::live
