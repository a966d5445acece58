#pragma once

#include <map>
#include <string>
#include <vector>

#include <QWidget>

#include "core/view/frame.h"

namespace vergence {

/// The controls that a run declares, in a strip under the view: one widget `controls/<id>` per
/// control.
class ControlStrip : public QWidget {
    Q_OBJECT
public:
    explicit ControlStrip(QWidget* parent = nullptr);

    void setControls(const std::vector<ViewControl>& controls);
    /// Shows the controls of the streams in view: "cloud/azimuth" belongs to those whose names
    /// begin with "cloud", an id without "/" to all.
    void showFor(const std::vector<std::string>& streams);
    bool isEmpty() const { return m_isEmpty; }
    void setCollapsed(bool collapsed); ///< hidden, while the keys still work
    bool hasToggles() const;
    void solo(int index); ///< only entry `index` of the first toggles stays on
    void showAll();       ///< all entries of the first toggles
    void togglePlay();    ///< of the first slider
    /// Takes an entry of the choice `id`; false where there is no such choice or entry.
    bool choose(const std::string& id, int index);

Q_SIGNALS:
    void controlsChanged();
    void valueChanged(const std::string& id, const std::vector<double>& value);
    void textChanged(const std::string& id, const std::string& text);

private:
    QWidget* makeSlider(const ViewControl& control);
    QWidget* makePad(const ViewControl& control);
    QWidget* makeToggles(const ViewControl& control);
    QWidget* makeChoice(const ViewControl& control);
    QWidget* makeText(const ViewControl& control);
    void setToggles(const std::vector<bool>& states);
    void showGroups();

    QWidget* m_body = nullptr;
    std::map<std::string, QWidget*> m_groups; ///< control → its widget with its title
    std::vector<std::string> m_streams;       ///< in view
    bool m_isEmpty = true, m_isCollapsed = false;
};

} // namespace vergence
