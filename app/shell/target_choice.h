#pragma once

#include "app/forms/form_combo.h"

namespace vergence {

/// Where a run that is started works (`targetChoice`): on this computer, or on a target.
class TargetChoice : public FormCombo {
    Q_OBJECT
public:
    explicit TargetChoice(QWidget* parent);

    QString target() const { return m_target; } ///< empty: this computer
    /// This computer where there is no such target.
    void choose(const QString& target);
    void reload(); ///< the targets that there are now; this computer where the chosen one is gone
    void showPopup() override;

Q_SIGNALS:
    void targetChosen(const QString& target);
    void targetsRequested();

private:
    void fill();
    void take(int index);

    QString m_target;
};

} // namespace vergence
