#pragma once

#include <vector>

#include <QFrame>
#include <QString>

namespace vergence {

/// What one card says: what happened, why, and what can be done about it.
struct CardContent {
    struct Button {
        QString action; ///< "resume", "log", "use_config", …; see RunView
        QString text;
    };
    QString id; ///< "E-CRASH"
    QString whatHappened, why, details;
    std::vector<Button> buttons;
};

/// A failure as people need it (object name `errorCard`): What happened · Why, as far as we know ·
/// What you can do · Details.
class ErrorCard : public QFrame {
    Q_OBJECT
public:
    explicit ErrorCard(const CardContent& content, QWidget* parent = nullptr);
    const CardContent& content() const { return m_content; }

Q_SIGNALS:
    void actionRequested(const QString& action);
    void dismissed();

private:
    QWidget* makeButtons();

    CardContent m_content;
};

} // namespace vergence
