#include "plugins/mc_embedding/study/memory_plan.h"

#include <fstream>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plugins/mc_embedding/study/forecast.h"

namespace vergence::mc_embedding {

namespace {

std::size_t bytesOf(Index values, DType type)
{
    return static_cast<std::size_t>(values) * sizeOf(type);
}

std::string sizeText(std::size_t bytes)
{
    const auto value = static_cast<double>(bytes);
    return value < 1e9 ? fmt::format("{:.3g} MB", value * 1e-6)
                       : fmt::format("{:.3g} GB", value * 1e-9);
}

} // namespace

std::size_t weightBytes(const TowerShape& tower, DType compute, bool isCpu)
{
    const Index count = tower.parameterCount();
    const std::size_t masters = bytesOf(count, DType::F32);
    const std::size_t copies = compute == DType::F32 ? 0 : bytesOf(count, compute);
    return masters + copies + (isCpu ? masters : 0);
}

std::size_t workspaceBytes(const TowerShape& t, DType compute, const BatchSize& batch, bool isCpu)
{
    const Index tokens = t.tokens(), rows = sequencesPerTile(t, isCpu) * tokens;
    const Index patches = sequencesPerTile(t, isCpu) * t.patches() * 3 * t.patch * t.patch;
    const Index masks = rows * std::max(3 * t.width, 2 * t.hidden) / 16;
    const Index images = batch.images, features = images * (batch.passes + 1) * t.feature;
    // A row: residual stream and branch, then norm, context, q, k, v and the hidden layer.
    return bytesOf(rows * 2 * t.width, DType::F32) +
           bytesOf(rows * (5 * t.width + t.hidden) + patches, compute) +
           bytesOf(masks, DType::U16) +
           // Of an image: the first masked product and the residual stream.
           bytesOf(images * tokens * 3 * t.width, compute) +
           bytesOf(images * tokens * t.width + features, DType::F32);
}

std::size_t accumulatorBytes(const TowerShape& tower, const BatchSize& batch)
{
    constexpr Index kPlanes = 6; // two sums in two spaces, and what both are shifted by
    return bytesOf(kPlanes * batch.images * tower.feature, DType::F64);
}

MemoryNeed memoryNeed(const ModelMemory& model, bool isCpu)
{
    return {pixelBytes(model.images, model.tower.imageSize, model.pixels),
            weightBytes(model.tower, model.compute, isCpu),
            workspaceBytes(model.tower, model.compute, model.batch, isCpu),
            accumulatorBytes(model.tower, model.batch)};
}

std::string needText(const MemoryNeed& need)
{
    return fmt::format("{} of pixels, {} of weights, {} of work space, {} of sums",
                       sizeText(need.pixels), sizeText(need.weights), sizeText(need.workspace),
                       sizeText(need.accumulators));
}

std::size_t freeHostBytes()
{
    std::ifstream file("/proc/meminfo");
    std::string label, unit;
    for (std::size_t kibibytes = 0; file >> label >> kibibytes && std::getline(file, unit);) {
        if (label == "MemAvailable:")
            return kibibytes * 1024;
    }
    return 0;
}

std::size_t freeBytesOf(const Device& device)
{
    return device.isCpu() ? freeHostBytes() : device.memory().free;
}

std::string memoryForecast(const StudyPlan& plan, const McEmbeddingConfig& config)
{
    constexpr std::size_t kHost = 64'000'000'000; // beside such a card
    std::map<std::string, MemoryNeed> needs;
    for (const ModelPlan& model : plan.models) {
        ModelMemory memory;
        memory.tower = *towerShape(model.model);
        memory.pixels = config.pixelCache;
        if (config.size > 0)
            memory.tower.imageSize = config.size;
        for (const MeasurementPlan& measurement : model.measurements) {
            if (measurement.kind != MeasurementPlan::Kind::Texts)
                memory.images =
                    std::max(memory.images, static_cast<std::size_t>(measurement.images));
        }
        memory.batch = chosenBatch(config, memory.tower, false, mostPasses(model));
        MemoryNeed& need = needs[model.model];
        const MemoryNeed own = memoryNeed(memory, false);
        if (own.total() > need.total())
            need = own;
    }
    std::string text = "Memory on a GPU:";
    std::size_t all = 0;
    for (const auto& [model, need] : needs) {
        text += fmt::format(" {} {} ({} of pixels)", model, sizeText(need.total()),
                            sizeText(need.pixels));
        all += need.total() - need.pixels;
        std::vector<std::string> levels;
        for (const DeviceProfile& device : deviceProfiles()) {
            if (device.memory > 0)
                levels.push_back(fmt::format(
                    "{} on {}",
                    nameOf(config.residency.value_or(chooseResidency(need, device.memory, kHost))),
                    device.name));
        }
        text += fmt::format(", {};", fmt::join(levels, ", "));
    }
    text += fmt::format(" all models at once {} without pixels:", sizeText(all));
    for (const DeviceProfile& device : deviceProfiles()) {
        if (device.memory > 0)
            text += fmt::format(" {} {};", fitsDevice(all, device.memory) ? "fit" : "do not fit",
                                device.name);
    }
    text.back() = '.';
    return text;
}

std::size_t featureStoreBytes(const StudyPlan& plan)
{
    std::size_t sum = 0;
    for (const ModelPlan& model : plan.models) {
        for (const MeasurementPlan& measurement : model.measurements) {
            if (const auto type = measurement.storedFeatures)
                sum += bytesOf(Index{measurement.images} * measurement.trials *
                                   measurement.passes.back() * towerShape(model.model)->feature,
                               *type);
        }
    }
    return sum;
}

} // namespace vergence::mc_embedding
