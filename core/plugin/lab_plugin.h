#pragma once

#include <memory>
#include <string>
#include <vector>

#include <QtPlugin>

#include "core/config/config.h"
#include "core/metrics/metric_decl.h"
#include "core/run/run.h"
#include "core/view/frame.h"

namespace vergence {

/// A shipped set of values. TOML overlay; the first comment line is its summary.
struct Preset {
    std::string name;    ///< "demo"
    std::string title;   ///< from `# title: …`
    std::string summary; ///< from `# summary: …`
    std::string toml;
};

/// Factory of one lab. Holds no state of any run; loaded in worker and probe processes only.
class LabPlugin {
public:
    virtual ~LabPlugin();
    virtual ConfigSchema schema() const = 0;
    /// Default: the embedded resources below :/presets/<schema id>, sorted by name, "demo" first.
    virtual std::vector<Preset> presets() const;
    virtual std::vector<MetricDecl> metrics() const = 0;
    virtual std::vector<StreamDecl> streams() const = 0;
    virtual std::unique_ptr<Run> createRun(const Config& config) const = 0;
};

} // namespace vergence

#define VERGENCE_LAB_PLUGIN_IID "org.vergence.LabPlugin/1"
Q_DECLARE_INTERFACE(vergence::LabPlugin, VERGENCE_LAB_PLUGIN_IID)
