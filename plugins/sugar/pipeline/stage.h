#pragma once

#include <string>
#include <vector>

#include "core/artifact/checkpoint.h"
#include "core/run/run.h"
#include "plugins/sugar/pipeline/workspace.h"
#include "plugins/sugar/view/splat_viewer.h"

namespace vergence::sugar {

/// One part of the way from photographs to a textured mesh. Works step by step, so that it can be
/// stopped, saved and resumed inside; leaves its result in the workspace and, packed, for other
/// runs.
class Stage {
public:
    virtual ~Stage();

    virtual const char* id() const = 0;    ///< "S3": folder below stages/
    virtual const char* title() const = 0; ///< for people
    /// Keys of the configuration that the result depends on, beside earlier stages.
    virtual std::vector<std::string> keys() const = 0;
    virtual std::int64_t totalSteps(const Workspace& workspace) const = 0;

    /// Takes what earlier stages left. False where a stop came first; it is then called again.
    virtual bool start(RunContext& context, Workspace& workspace) = 0;
    /// False, with nothing changed, where a stop came first.
    virtual bool step(RunContext& context, Workspace& workspace) = 0;
    virtual bool isDone() const = 0;
    /// State inside the stage; load() follows start().
    virtual void save(RunContext& context, Checkpoint& checkpoint) const = 0;
    virtual void load(RunContext& context, Workspace& workspace, const Checkpoint& checkpoint) = 0;
    /// After the last step: the result goes into the workspace.
    virtual void finish(RunContext& context, Workspace& workspace) = 0;
    /// Files for people; also after a stop, of what there is so far, and of a result that was taken
    /// over from another run.
    virtual void writeResults(RunContext& context, const Workspace& workspace) const = 0;

    /// Lets go of everything that only working needs.
    virtual void release() = 0;

    /// The result as it is kept, and back into the workspace.
    virtual std::vector<HostTensor> pack(const Workspace& workspace) const = 0;
    virtual void unpack(Workspace& workspace, const SafetensorsFile& file) const = 0;

    /// Gaussians at work, for tests and the viewer; null where none are learnt.
    virtual const Gaussians* gaussians() const;
    virtual const DensityStatistics* statistics() const;
    virtual RasterSettings raster() const;
};

} // namespace vergence::sugar
