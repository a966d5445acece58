#include "tests/support/chaos/chaos_config.h"

namespace vergence::chaos {

SchemaBuilder<ChaosConfig> chaosSchema()
{
    using C = ChaosConfig;
    SchemaBuilder<C> schema("chaos");
    schema.group("run").add("steps", &C::steps).range(1, 1e12).help("Steps to run.");
    schema.add("step_ms", &C::stepMs).range(0, 1e6).unit("ms").help("Time of a step.");
    schema.add("busy", &C::busy).help("Compute during that time instead of waiting.");
    schema.add("seed", &C::seed).help("Seed of the random numbers.");
    schema.add("rate", &C::rate).range(0, 100).live().help("Weight of each random number.");
    schema.add("prepare_ms", &C::prepareMs).range(0, 1e6).unit("ms").help("Time of the start.");
    schema.add("save_ms", &C::saveMs).range(0, 1e6).unit("ms").help("Time of a checkpoint.");
    schema.add("finish_ms", &C::finishMs).range(0, 1e6).unit("ms").help("Time of the end.");
    schema.add("checkpoint_mib", &C::checkpointMib)
        .range(0, 65536)
        .unit("MiB")
        .help("Padding of a checkpoint.");
    schema.group("chaos").add("segv_at", &C::segvAt).help("Step that writes to address 0.");
    schema.add("abort_at", &C::abortAt).help("Step that aborts.");
    schema.add("throw_at", &C::throwAt).help("Step that throws an Error with exit_code.");
    schema.add("exit_code", &C::exitCode).range(1, 255).help("Code of that error.");
    schema.add("bad_alloc_at", &C::badAllocAt).help("Step that runs out of memory.");
    schema.add("nan_at", &C::nanAt).help("Step whose loss is not a number.");
    schema.add("hang_at", &C::hangAt).help("Step that never ends and hears no stop.");
    schema.add("wait_at", &C::waitAt).help("Step that waits for a stop.");
    schema.add("flood", &C::flood).range(0, 1e6).unit("1/s").help("Lines of log per second.");
    schema.add("leak_mib", &C::leakMib)
        .range(0, 1024)
        .unit("MiB")
        .help("Memory that each step keeps.");
    schema.add("scene", &C::scene).help("Draw a scene that the viewer walks through, too.");
    schema.add("input", &C::input)
        .type(FieldType::Path)
        .file()
        .help("A file that must be there; nothing is read.");
    schema.add("only_once", &C::onlyOnce).help("A run that continues from a checkpoint behaves.");
    return schema;
}

} // namespace vergence::chaos
