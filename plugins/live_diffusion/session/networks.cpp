#include "plugins/live_diffusion/session/networks.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/studio_folders.h"
#include "plugins/live_diffusion/bench/subjects.h"
#include "plugins/live_diffusion/engine/replica_network.h"
#include "plugins/live_diffusion/engine/unet_network.h"
#include "plugins/live_diffusion/model/pixel_blocks.h"
#include "plugins/live_diffusion/model/replicas.h"
#include "plugins/live_diffusion/model/tape_network.h"
#include "plugins/live_diffusion/model/unet.h"
#include "plugins/live_diffusion/stream/frame_grid.h"
#include "plugins/live_diffusion/stream/oracle_network.h"
#include "plugins/live_diffusion/tensorrt/tensorrt_network.h"

namespace vergence::live {

namespace {

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

std::shared_ptr<TunedChoices> keptChoices()
{
    return std::make_shared<TunedChoices>(cacheHome() / "live_diffusion" / "fastest.json");
}

Networks::Networks(std::shared_ptr<Device> device, Stream& stream,
                   const LiveDiffusionConfig& config, const Warn& warn)
    : m_device(std::move(device)),
      m_config(config)
{
    std::vector<std::string> changes;
    switchesOf(m_config, *m_device, &changes);
    for (const std::string& change : changes)
        warn("W-SWITCH", change);
    m_model = std::make_shared<const LoadedModel>(loadedModel(stream, m_device, m_config, warn));
}

void Networks::load(const Warn& warn)
{
    if (m_config.network == NetworkKind::Unet && m_config.weights == WeightsFrom::Training)
        throw InputError("This run has trained no weights for this network.");
    const auto stream = m_device->createStream();
    m_model = std::make_shared<const LoadedModel>(loadedModel(*stream, m_device, m_config, warn));
}

FrameShape Networks::shape() const
{
    if (m_config.isReplica())
        return {1, 64, 64};
    const UnetSettings& unet = m_model->unet;
    return {static_cast<int>(unet.patch), static_cast<int>(unet.grid), static_cast<int>(unet.grid)};
}

std::string Networks::name() const
{
    if (m_config.network == NetworkKind::Oracle)
        return "Oracle";
    if (m_config.network == NetworkKind::ReplicaA)
        return "Replica-A";
    return m_config.network == NetworkKind::ReplicaB ? "Replica-B"
                                                     : std::string(titleOf(m_model->unet.size));
}

bool Networks::isTrained() const
{
    return m_config.network == NetworkKind::Oracle || m_model->isTrained;
}

std::string Networks::note() const
{
    return isTrained() ? "" : "random weights";
}

std::string Networks::weightsHash() const
{
    return m_model->weights == nullptr ? std::string() : live::weightsHash(*m_model->weights);
}

const std::shared_ptr<const HostWeights>& Networks::weights() const
{
    if (m_model->weights == nullptr)
        throw InputError("There are no weights yet: the part train has to come before.");
    return m_model->weights;
}

std::shared_ptr<FrameNetwork> Networks::build(const Switches& switches, int rows,
                                              std::shared_ptr<TunedChoices> choices) const
{
    if (m_config.network == NetworkKind::Oracle) {
        OracleSettings settings;
        settings.shape = shape();
        const LoopSettings settingsOfLoop = loop();
        settings.curve = settingsOfLoop.curve;
        settings.zeroTerminalSnr = settingsOfLoop.zeroTerminalSnr;
        settings.prediction = settingsOfLoop.prediction;
        settings.maxRows = std::max(rows, 1);
        return std::make_shared<OracleNetwork>(settings, oraclePictures(m_config, shape()));
    }
    if (m_config.isReplica())
        return makeReplicaNetwork(m_device, subject().program, m_config.seed, switches, rows);
    UnetNetworkSettings settings{m_model->unet, switches, rows};
    settings.choices = std::move(choices);
    return std::make_shared<UnetNetwork>(m_device, weights(), settings);
}

std::shared_ptr<FrameNetwork> Networks::build() const
{
    return build(switches(), FrameLoop::rowsNeeded(loop()));
}

BenchSubject Networks::subject() const
{
    BenchSubject subject;
    subject.model = name();
    subject.isStream = !m_config.isReplica();
    if (m_config.network == NetworkKind::Unet) {
        subject.program = buildUnet(m_model->unet);
        subject.describe = [unet = m_model->unet](Index grid) {
            UnetSettings other = unet;
            other.grid = grid;
            return buildUnet(other);
        };
        subject.whyNoTensorRt = [this] { return whyNoTensorRt(*m_device); };
        subject.buildTensorRt = [this](int rows) {
            return makeTensorRtNetwork(m_device, weights(), m_model->unet, rows);
        };
    } else if (m_config.network == NetworkKind::ReplicaA) {
        subject.program = buildReplicaA();
        subject.describe = [](Index grid) { return buildReplicaA(96, grid); };
    } else if (m_config.network == NetworkKind::ReplicaB) {
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
    UnetSettings unet = m_model->unet;
    unet.channelRounding = m_model->description.settings.channelRounding; // as the weights have it
    auto tape = std::make_unique<TapeNetwork>(stream, m_device, unet, parameters);
    setParameters(stream, tape->parameters(), *weights());
    return tape;
}

ModelDescription Networks::description() const
{
    return m_model->description;
}

void Networks::setWeights(std::shared_ptr<const HostWeights> weights, const UnetSettings& unet,
                          bool isConsistencyModel)
{
    LoadedModel model{modelKey(m_config), unet, m_model->description, std::move(weights), true};
    model.description.settings = unet;
    model.description.isConsistencyModel = isConsistencyModel;
    m_model = std::make_shared<const LoadedModel>(std::move(model));
}

void Networks::takeWeights(Stream& stream, const std::filesystem::path& file)
{
    LoadedModel model{modelKey(m_config), {}, readModelDescription(file), {}, true};
    model.unet = model.description.settings;
    TapeNetwork tape(stream, m_device, model.unet);
    loadModel(stream, tape.parameters(), file);
    model.weights = hostWeights(stream, tape.parameters());
    m_model = std::make_shared<const LoadedModel>(std::move(model));
}

std::vector<std::vector<float>> Networks::frames(int count) const
{
    const auto source = openSource(sourceSettings(m_config));
    FrameGrid grid(shape());
    std::vector<std::vector<float>> frames;
    for (int i = 0; i < count; ++i) {
        const auto frame = source->next({});
        if (!frame)
            break;
        grid.toValues(frame->rgb, frames.emplace_back(static_cast<std::size_t>(shape().values())));
    }
    return frames;
}

} // namespace vergence::live
