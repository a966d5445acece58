#pragma once

#include <QWidget>

class QLabel;

namespace vergence {

/// "1 Data 2 Setup 3 Run 4 Look 5 Export": where the user is on the way from nothing to a result.
class StageStrip : public QWidget {
    Q_OBJECT
public:
    enum class Stage { Data, Setup, Run, Look, Export };

    explicit StageStrip(QWidget* parent = nullptr);
    void setStage(Stage stage);
    Stage stage() const { return m_stage; }

protected:
    void changeEvent(QEvent* event) override;

private:
    void showStage();

    QLabel* m_labels[5];
    Stage m_stage = Stage::Setup;
};

} // namespace vergence
