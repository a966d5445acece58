#pragma once

#include <optional>

#include <QCheckBox>
#include <QComboBox>
#include <QImage>
#include <QLabel>
#include <QSpinBox>
#include <QWidget>

#include "app/export/artifact_tree.h"
#include "app/export/export_plan.h"

namespace vergence {

/// Options of one kind of export; the dialog shows one page at a time.
class ExportPage : public QWidget {
    Q_OBJECT
public:
    using QWidget::QWidget;

    /// Nothing where the choice cannot be written; whyNot() says the reason.
    virtual std::optional<ExportPlan> plan() const = 0;
    virtual QString whyNot() const = 0;
    virtual QImage thumbnail() const = 0;
    virtual QString warning() const { return {}; }

Q_SIGNALS:
    void changed();
};

/// Results ZIP.
class ZipPage : public ExportPage {
    Q_OBJECT
public:
    ZipPage(const RunFolder& folder, QImage currentView, QWidget* parent = nullptr);

    std::optional<ExportPlan> plan() const override;
    QString whyNot() const override;
    QImage thumbnail() const override { return m_currentView; }
    int fileCount() const { return m_tree->fileCount(); }

private:
    QImage m_currentView;
    ArtifactTree* m_tree;
    QCheckBox *m_checkpoints, *m_anonymise, *m_verify;
    std::vector<std::pair<std::string, std::uint64_t>> m_checkpointFiles;
};

/// GIF or MP4 of an image sequence, or a PNG of the view.
class MediaPage : public ExportPage {
    Q_OBJECT
public:
    MediaPage(const RunFolder& folder, QImage currentView, QWidget* parent = nullptr);

    std::optional<ExportPlan> plan() const override;
    QString whyNot() const override;
    QImage thumbnail() const override;
    QString warning() const override;

private:
    void build();
    void addKinds();
    void showSequence();

    QImage m_currentView;
    std::vector<ImageSequence> m_sequences;
    QImage m_firstFrame;
    QComboBox *m_kind, *m_sequence, *m_scale;
    QSpinBox *m_first, *m_last, *m_delay;
    QCheckBox *m_loops, *m_dithers;
    QLabel* m_facts;
    QWidget* m_animationOptions;
};

/// Numbers of the run.
class MetricsPage : public ExportPage {
    Q_OBJECT
public:
    MetricsPage(const RunFolder& folder, QImage currentView, QWidget* parent = nullptr);

    std::optional<ExportPlan> plan() const override;
    QString whyNot() const override;
    QImage thumbnail() const override { return m_currentView; }

private:
    RunFolder m_folder;
    QImage m_currentView;
    QComboBox* m_format;
};

} // namespace vergence
