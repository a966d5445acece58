#pragma once

#include <cctype>
#include <string>
#include <vector>

#include <QString>

#include "app/forms/config_form.h"

namespace vergence {

inline Field field(const char* key, const char* group, ConfigValue value, FieldType type)
{
    Field made;
    made.key = key;
    made.title = QString::fromLatin1(key).replace(u'_', u' ').toStdString();
    made.title[0] = static_cast<char>(std::toupper(made.title[0]));
    made.group = group;
    made.defaultValue = std::move(value);
    made.type = type;
    made.help = "What " + made.title + " does.";
    return made;
}

inline Field& ranged(Field& made, double minimum, double maximum)
{
    made.minimum = minimum;
    made.maximum = maximum;
    return made;
}

/// About forty fields of every type, as a lab might declare them.
inline std::vector<Field> labFields()
{
    std::vector<Field> fields;
    fields.push_back(field("scene", "data", std::string("/usr"), FieldType::Path));
    fields.push_back(field("photos", "data", std::string("/nowhere/photos"), FieldType::Path));
    fields.push_back(field("device", "data", std::string("cpu"), FieldType::Device));
    fields.push_back(field("seed", "data", std::int64_t(7), FieldType::Seed));
    fields.push_back(field("iterations", "optimiser", std::int64_t(500), FieldType::Int));
    ranged(fields.back(), 1, 1e6);
    fields.push_back(field("solver", "optimiser", std::string("adam"), FieldType::Enum));
    fields.back().choices = {"adam", "adamw", "sgd"};
    fields.push_back(field("learning_rate", "optimiser", 1e-3, FieldType::Float));
    ranged(fields.back(), 1e-8, 10).isLogarithmic = true;
    fields.push_back(field("adam_epsilon", "optimiser", 1e-8, FieldType::Float));
    fields.back().visibleIf = "solver=adam|adamw";
    fields.back().isAdvanced = true;
    fields.push_back(field("momentum", "optimiser", 0.9, FieldType::Float));
    fields.back().visibleIf = "solver=sgd";
    fields.push_back(field("clip_gradients", "optimiser", false, FieldType::Bool));
    fields.push_back(field("clip_norm", "optimiser", 1.0, FieldType::Float));
    fields.back().visibleIf = "clip_gradients=true";
    fields.push_back(field("plane_distances", "display_planes", std::vector<double>{200, 400, 800},
                           FieldType::FloatList));
    ranged(fields.back(), 50, 5000).unit = "mm";
    fields.push_back(field("plane_size", "display_planes", std::vector<std::int64_t>{256, 256},
                           FieldType::IntList));
    fields.back().unit = "px";
    fields.push_back(field("labels", "display_planes", std::vector<std::string>{"near", "far"},
                           FieldType::StringList));
    fields.push_back(field("preview_every", "preview", std::int64_t(10), FieldType::Int));
    ranged(fields.back(), 1, 1000).isLive = true;
    fields.back().unit = "steps";
    fields.push_back(field("note", "preview", std::string(), FieldType::String));
    for (int i = 0; i < 24; ++i) {
        fields.push_back(
            field(("weight_" + std::to_string(i)).c_str(), "losses", 0.5, FieldType::Float));
        ranged(fields.back(), 0, 1).isAdvanced = i % 3 == 2;
    }
    return fields;
}

inline ConfigSchema labSchema()
{
    return ConfigSchema("light_field", 1, labFields());
}

inline std::vector<FormPreset> labPresets()
{
    return {{"demo", "Demo", "Ends within a minute", "iterations = 50\n", false},
            {"mine", "Mine", "", "iterations = 60\nlearning_rate = 1.6e-5\n", true}};
}

} // namespace vergence
