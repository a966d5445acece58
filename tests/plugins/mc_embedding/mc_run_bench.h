#pragma once

#include <QTest>

#include "plugins/mc_embedding/mc_embedding_run.h"
#include "tests/support/run_bench.h"

namespace vergence::mc_embedding {

using test::RunOutcome;

/// Small runs of the lab: two images a chunk, three passes at once.
class RunBench : public test::RunBench {
public:
    explicit RunBench(const std::filesystem::path& folder)
        : test::RunBench(folder, mcEmbeddingSchema(),
                         [](const Config& config) {
                             return std::make_unique<McEmbeddingRun>(readMcEmbeddingConfig(config));
                         },
                         {"models=[\"tiny_clip\"]", "count=6", "p=0.05", "trials=3",
                          "passes=[4, 8]", "batch_images=2", "batch_passes=3",
                          "cache_folder=" + (folder / "cache").string()})
    {
    }
};

} // namespace vergence::mc_embedding
