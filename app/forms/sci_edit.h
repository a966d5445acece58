#pragma once

#include <optional>

#include "app/forms/commit_edit.h"

namespace vergence {

/// Line for one number: scientific notation, fractions, powers and suffixes in the C locale. Up and
/// down change it by one step and commit.
class SciEdit : public CommitEdit {
    Q_OBJECT
public:
    enum class Kind { Float, Int };

    struct Steps {
        std::optional<double> minimum, maximum;
        bool isLogarithmic = false;
    };

    SciEdit(Kind kind, const Steps& steps, QWidget* parent = nullptr);

protected:
    bool step(bool isUp) override;

private:
    Kind m_kind;
    Steps m_steps;
};

} // namespace vergence
