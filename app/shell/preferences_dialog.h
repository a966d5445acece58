#pragma once

#include <QDialog>

#include "app/shell/studio_settings.h"

class QFormLayout;

namespace vergence {

/// Settings that apply at once (`preferencesDialog`).
class PreferencesDialog : public QDialog {
    Q_OBJECT
public:
    explicit PreferencesDialog(StudioSettings& settings, QWidget* parent = nullptr);

Q_SIGNALS:
    void appearanceChanged();
    void runsFolderChanged(const QString& folder);
    void previewPathChanged();

private:
    void addAppearance(QFormLayout& form);
    void addRuns(QFormLayout& form);
    void addViewport(QFormLayout& form);

    StudioSettings& m_settings;
};

} // namespace vergence
