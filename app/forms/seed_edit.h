#pragma once

#include <QWidget>

class QToolButton;

namespace vergence {

class SciEdit;

/// Line for a seed with a dice that draws another one.
class SeedEdit : public QWidget {
    Q_OBJECT
public:
    explicit SeedEdit(QWidget* parent = nullptr);

    SciEdit* line() const { return m_line; }
    void setLocked(bool locked);

protected:
    void changeEvent(QEvent* event) override;

private:
    void roll();

    SciEdit* m_line;
    QToolButton* m_dice;
};

} // namespace vergence
