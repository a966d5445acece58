#pragma once

#include <vector>

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QLabel>
#include <QSlider>
#include <QSpinBox>
#include <QToolButton>
#include <QWidget>

#include "app/viewport/view_scene.h"

namespace vergence {

/// The row above the view: what is shown (`viewModeCombo`, streams, A and B) and how
/// (exposure, filter, colours).
class ViewTools : public QWidget {
    Q_OBJECT
public:
    explicit ViewTools(ViewScene& scene, QWidget* parent = nullptr);

Q_SIGNALS:
    void fitRequested();
    void oneToOneRequested();

private:
    QWidget* makeStreamPage();
    QWidget* makeComparePage();
    QWidget* makeStackPage();
    void makeCompareFields();
    void makeToneFields();
    using CompareChange = void (*)(CompareSettings&, const QVariant&);
    void onChoice(QComboBox* combo, CompareChange change);
    QWidget* makeZoomRow();
    QComboBox* makeCombo(const char* name, const QString& title, QWidget* parent);
    QSlider* makeSlider(const char* name, const QString& title, QWidget* parent);
    void fillStreams(QComboBox* combo, const std::vector<StreamDecl>& streams,
                     const std::string& current);
    void rebuild(); ///< the lists follow the streams
    void sync();    ///< the widgets follow the settings

    ViewScene& m_scene;
    QComboBox *m_mode = nullptr, *m_stream = nullptr;
    QWidget *m_streamPage = nullptr, *m_comparePage = nullptr, *m_stackPage = nullptr;
    QWidget* m_zoomRow = nullptr;
    QSpinBox* m_layer = nullptr;
    QComboBox *m_a = nullptr, *m_b = nullptr, *m_third = nullptr, *m_compareMode = nullptr;
    QComboBox *m_gain = nullptr, *m_difference = nullptr;
    QSlider *m_wipe = nullptr, *m_opacity = nullptr, *m_stretch = nullptr;
    QDoubleSpinBox* m_exposure = nullptr;
    QComboBox *m_filter = nullptr, *m_map = nullptr, *m_range = nullptr;
    QLabel* m_zoom = nullptr;
    QToolButton *m_fit = nullptr, *m_oneToOne = nullptr;
};

} // namespace vergence
