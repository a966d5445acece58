#pragma once

#include <QWidget>

#include "core/plugin/lab_inspector.h"

class QLabel;

namespace vergence {

class ErrorCard;

/// What the lab found in the data of the setup: a summary (`importSummary`), what is worth knowing
/// (`importWarnings`), and an error card where a run could not begin. Hidden where there is nothing
/// to say.
class DataCard : public QWidget {
    Q_OBJECT
public:
    explicit DataCard(QWidget* parent = nullptr);

    /// The same report again changes nothing, so that a card that was closed stays closed.
    void showReport(const DataReport& report);

Q_SIGNALS:
    void actionRequested(const QString& action); ///< of the card; see cardForData()

private:
    void showCard(const DataReport& report);

    QLabel *m_icon, *m_summary, *m_warnings;
    ErrorCard* m_card = nullptr;
    std::string m_shown; ///< the report as JSON
};

} // namespace vergence
