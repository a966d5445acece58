#pragma once

#include <QString>

#include "core/config/schema.h"

namespace vergence {

/// What a field of the form holds: a value, or a text that is none together with the reason.
struct FieldState {
    ConfigValue value; ///< the last value that could be read
    QString text;   ///< what stands in the editor where it is not a value
    QString reason; ///< why `text` is no value; empty where `value` holds

    bool isValid() const { return reason.isEmpty(); }
    bool operator==(const FieldState&) const = default;
};

/// Reads what was typed into the editor of a field.
FieldState stateFromText(const Field& field, const QString& text, const ConfigValue& lastValue);
/// What the editor of a field shows for a value: lists as "1, 2, 3", strings without quotes.
QString editorText(const ConfigValue& value);

} // namespace vergence
