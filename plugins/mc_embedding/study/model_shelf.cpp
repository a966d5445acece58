#include "plugins/mc_embedding/study/model_shelf.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/log.h"
#include "plugins/mc_embedding/study/memory_plan.h"

namespace vergence::mc_embedding {

std::shared_ptr<VisionModel> ModelShelf::take(const Device& device, const std::string& key,
                                              std::size_t bytes, const Load& load)
{
    const auto found = std::ranges::find(m_models, key, &Entry::key);
    if (found != m_models.end()) {
        m_models.splice(m_models.end(), m_models, found);
        return found->model;
    }
    // What is given up is free for us, though a device may keep it in reserve.
    const std::size_t used = device.memory().usedByUs, free = freeBytesOf(device);
    while (!fitsDevice(bytes, free + used - device.memory().usedByUs) && dropOldest()) {
    }
    std::shared_ptr<VisionModel> model;
    try {
        model = std::make_shared<VisionModel>(load());
    } catch (const DeviceError& failure) {
        if (failure.exitCode() != ExitCode::OutOfMemory || !clearIdle())
            throw;
        model = std::make_shared<VisionModel>(load());
    }
    m_models.push_back({key, model});
    return model;
}

void ModelShelf::forget(const std::string& key)
{
    m_models.remove_if([&](const Entry& entry) { return entry.key == key; });
}

bool ModelShelf::dropOldest()
{
    const auto idle =
        std::ranges::find_if(m_models, [](const Entry& e) { return e.model.use_count() == 1; });
    if (idle == m_models.end())
        return false;
    log("mc_embedding").info("{} is given up for want of memory.", idle->key);
    m_models.erase(idle);
    return true;
}

bool ModelShelf::clearIdle()
{
    bool isAny = false;
    while (dropOldest())
        isAny = true;
    return isAny;
}

} // namespace vergence::mc_embedding
