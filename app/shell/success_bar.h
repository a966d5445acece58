#pragma once

#include <cstdint>
#include <optional>

#include <QFrame>

#include "app/shell/run_list_model.h"
#include "core/metrics/metric_decl.h"

class QLabel;
class QPushButton;

namespace vergence {

/// "Done in 27 s. loss 0.21 → 0.012. [Compare with start] [Export…] [Change a setting and run
/// again]" (`successBar`); of a stopped run first [Resume from step 120].
class SuccessBar : public QFrame {
    Q_OBJECT
public:
    explicit SuccessBar(QWidget* parent = nullptr);
    /// `hasPictures`: whether there is anything to compare with the start.
    void showResult(const QString& sentence, bool hasPictures);
    /// Whether the run was stopped and can go on, and from which step; else it is done.
    void offerResume(std::optional<std::int64_t> step);

Q_SIGNALS:
    void resumeRequested();
    void compareRequested();
    void exportRequested();
    void againRequested();

private:
    QLabel* m_icon;
    QLabel* m_sentence;
    QPushButton* m_resume;
    QPushButton* m_compare;
};

/// The sentence of a finished run: duration, and its loss (or else its headline series) from the
/// first to the last value.
QString successSentence(const RunEntry& run, const MetricStore& metrics,
                        const std::vector<MetricDecl>& declared);

} // namespace vergence
