#pragma once

#include "core/config/config.h"

namespace vergence::heat {

struct HeatConfig {
    int size = 32;
    std::int64_t sweeps = 100;
    double hot = 1.0, cold = 0.0;
    std::uint64_t seed = 1;
};

inline SchemaBuilder<HeatConfig> heatSchema()
{
    SchemaBuilder<HeatConfig> schema("heat");
    schema.group("plate")
        .add("size", &HeatConfig::size)
        .range(8, 4096)
        .unit("px")
        .help("Side of the plate.");
    schema.add("hot", &HeatConfig::hot).unit("K").help("Temperature of the upper edge.");
    schema.add("cold", &HeatConfig::cold).unit("K").help("Temperature of the other edges.");
    schema.group("solver").add("sweeps", &HeatConfig::sweeps).range(1, 1e9).help("Sweeps to run.");
    schema.add("seed", &HeatConfig::seed).help("Seed of the random numbers.");
    schema.rule("hot_above_cold", [](const HeatConfig& config) {
        std::vector<ConfigIssue> issues;
        if (config.hot <= config.cold) {
            ConfigIssue issue;
            issue.rule = "hot_above_cold";
            issue.key = "hot";
            issue.sentence = "hot must be above cold.";
            issues.push_back(issue);
        }
        return issues;
    });
    return schema;
}

} // namespace vergence::heat
