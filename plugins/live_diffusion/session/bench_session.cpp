#include "plugins/live_diffusion/session/bench_session.h"

#include "core/compute/device.h"
#include "core/config/config.h"
#include "plugins/live_diffusion/bench/subjects.h"
#include "plugins/live_diffusion/session/networks.h"

namespace vergence::live {

namespace {
constexpr int kInputFrames = 32;
} // namespace

BenchAnswer benchSession(const BenchRequest& request)
{
    const LiveDiffusionConfig config = readLiveDiffusionConfig(request.config);
    const auto stream = request.device->createStream();
    const Networks networks(request.device, *stream, config,
                            [&](const std::string&, const std::string& sentence) {
                                if (request.progress)
                                    request.progress(sentence);
                            });
    BenchSetup setup;
    setup.subject = networks.subject();
    setup.replicas = {replicaA(request.device)};
    setup.switches = networks.switches();
    setup.loop = networks.loop();
    if (setup.subject.isStream)
        setup.frames = networks.frames(kInputFrames);
    for (const char* group : {"network", "source", "sampler", "loop"})
        for (const Field& field : request.config.schema().fields())
            if (field.group == group)
                setup.config[field.key] = vergence::toJson(request.config.value(field.key));
    setup.config["seed"] = config.seed;
    setup.config["weights_sha256"] = networks.weightsHash();
    return runLiveBench(request, setup);
}

} // namespace vergence::live
