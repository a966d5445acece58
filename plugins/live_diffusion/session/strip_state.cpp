#include "plugins/live_diffusion/session/strip_state.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/error.h"

namespace vergence::live {

namespace {

constexpr const char* kStripPrefix = "strip/";
constexpr const char* kStripState = "train_strip";

void saveImages(const std::string& name, const std::vector<Image>& images, Checkpoint& checkpoint)
{
    for (std::size_t i = 0; i < images.size(); ++i) {
        const Image& image = images[i];
        checkpoint.tensors.push_back(HostTensor::from<std::uint8_t>(
            fmt::format("{}{}/{}", kStripPrefix, name, i),
            {image.height, image.width, image.channels}, image.pixels));
    }
}

Image imageFrom(const HostTensor& tensor)
{
    if (tensor.dtype != DType::U8 || tensor.shape.size() != 3)
        throw InputError(fmt::format("The checkpoint is damaged: {} is no picture.", tensor.name));
    Image image;
    image.height = static_cast<int>(tensor.shape[0]);
    image.width = static_cast<int>(tensor.shape[1]);
    image.channels = static_cast<int>(tensor.shape[2]);
    const auto values = tensor.as<std::uint8_t>();
    image.pixels.assign(values.begin(), values.end());
    return image;
}

std::vector<Image> imagesFrom(const Checkpoint& checkpoint, const std::string& name)
{
    std::vector<Image> images;
    for (;;) {
        const auto found = std::ranges::find(
            checkpoint.tensors, fmt::format("{}{}/{}", kStripPrefix, name, images.size()),
            &HostTensor::name);
        if (found == checkpoint.tensors.end())
            return images;
        images.push_back(imageFrom(*found));
    }
}

} // namespace

bool isStripTensor(const std::string& name)
{
    return name.starts_with(kStripPrefix);
}

void saveStrip(const TrainingStrip& strip, Checkpoint& checkpoint)
{
    auto steps = nlohmann::json::array();
    saveImages("input", strip.inputs, checkpoint);
    saveImages("target", strip.targets, checkpoint);
    for (const TrainingStrip::Moment& moment : strip.moments) {
        saveImages(std::to_string(moment.step), moment.outputs, checkpoint);
        steps.push_back(moment.step);
    }
    checkpoint.state[kStripState] = {{"steps", steps}, {"note", strip.note}};
}

TrainingStrip loadStrip(const Checkpoint& checkpoint)
{
    TrainingStrip strip;
    const auto saved = checkpoint.state.find(kStripState);
    if (saved == checkpoint.state.end())
        return strip;
    try {
        strip.note = saved->at("note").get<std::string>();
        strip.inputs = imagesFrom(checkpoint, "input");
        strip.targets = imagesFrom(checkpoint, "target");
        for (const auto step : saved->at("steps").get<std::vector<std::int64_t>>())
            strip.moments.push_back({step, imagesFrom(checkpoint, std::to_string(step))});
    } catch (const nlohmann::json::exception& failure) {
        throw InputError(std::string("The checkpoint is damaged: ") + failure.what());
    }
    return strip;
}

} // namespace vergence::live
