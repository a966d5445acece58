#pragma once

#include <memory>

#include <QDialog>
#include <QImage>

#include "core/artifact/run_folder.h"

namespace vergence {

/// Export of one run (`exportDialog`): Results ZIP, Media (GIF or MP4 of an image sequence among
/// the artifacts or previews, PNG), Metrics CSV. Works in the background, cancellable, never leaves
/// a partial file and replaces none: a name that is taken gets a number. Defaults make a ZIP into
/// <run>/exports.
class ExportDialog : public QDialog {
    Q_OBJECT
public:
    ExportDialog(RunFolder folder, QImage currentView, QWidget* parent = nullptr);
    ~ExportDialog() override;

    /// Proposes another folder than <run>/exports, as far as it is there.
    void setDestination(const QString& folder);
    void reject() override; ///< cancels a running export; closes otherwise

Q_SIGNALS:
    void exported(const QString& path);
    void failed(const QString& problemId, const QString& sentence);

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace vergence
