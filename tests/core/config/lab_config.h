#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/config/config.h"

namespace vergence::test {

/// A plugin's parameters with a member of every kind that a schema can declare.
struct LabConfig {
    bool isVerbose = false;
    int iterations = 200;
    std::int64_t big = 1;
    std::uint64_t seed = 42;
    float rate = 1e-4f;
    double scale = 1.0;
    std::string solver = "adam";
    std::string title = "Demo";
    std::filesystem::path images = "data/fox";
    std::string device = "auto";
    std::vector<int> sizes{64, 32};
    std::vector<double> planes{0.5, 1.0, 2.0};
    std::vector<std::string> names{"a"};
    std::int64_t low = 1, high = 10;
};

inline ConfigIssue highIssue()
{
    ConfigIssue issue;
    issue.key = "high";
    issue.sentence = "high must be above low.";
    return issue;
}

inline SchemaBuilder<LabConfig> labBuilder()
{
    SchemaBuilder<LabConfig> schema("lab", 3);
    schema.add("verbose", &LabConfig::isVerbose).help("Says more.");
    schema.group("train");
    schema.add("iterations", &LabConfig::iterations)
        .range(1, 1'000'000)
        .help("Steps of the solver.\nMore is slower.");
    schema.add("big", &LabConfig::big).advanced();
    schema.add("seed", &LabConfig::seed);
    schema.add("rate", &LabConfig::rate).range(0, 1).logarithmic().live();
    schema.add("scale", &LabConfig::scale);
    schema.add("solver", &LabConfig::solver).choices({"adam", "adamw", "sgd"});
    schema.group("data and view");
    schema.add("title", &LabConfig::title).title("Name of the run");
    schema.add("images", &LabConfig::images);
    schema.add("device", &LabConfig::device).type(FieldType::Device);
    schema.add("panel_sizes", &LabConfig::sizes).range(8, 4096).unit("px").count(1, 4);
    schema.add("planes", &LabConfig::planes)
        .range(0, 10)
        .unit("D")
        .count(3, 3)
        .visibleIf("solver=adam|adamw");
    schema.add("names", &LabConfig::names);
    schema.group("train");
    schema.add("low", &LabConfig::low);
    schema.add("high", &LabConfig::high);
    schema.rule("low_below_high", [](const LabConfig& config) {
        std::vector<ConfigIssue> issues;
        if (config.low >= config.high)
            issues.push_back(highIssue());
        return issues;
    });
    return schema;
}

inline ConfigSchema labSchema()
{
    return labBuilder().build();
}

inline ConfigBuilder::Result readLab(const std::string& text)
{
    ConfigBuilder builder(labSchema());
    builder.addToml(text, "lab.toml");
    return builder.build();
}

} // namespace vergence::test
