#pragma once

#include <functional>
#include <map>

#include <QObject>

#include "app/forms/field_state.h"

class QWidget;

namespace vergence {

/// The editor of one field behind one face: shows a state, reports what is typed and what is
/// committed.
class FieldEditor : public QObject {
    Q_OBJECT
public:
    /// Makes the editor that suits the type of `field`, as a child of `parent`.
    FieldEditor(const Field& field, QWidget* parent);

    QWidget* widget() const { return m_widget; } ///< what stands in the row
    QWidget* input() const { return m_input; }   ///< what takes the keys; named `configForm/<key>`
    void show(const FieldState& state);
    void setLocked(bool locked);
    /// Choices that cannot be taken now, by value with the reason; nothing for other types.
    void setClosed(const std::map<QString, QString>& reasons);
    void commit(); ///< takes over what is being typed

Q_SIGNALS:
    void typed(const vergence::FieldState& state); ///< not yet committed
    void committed(const vergence::FieldState& state);
    void restored();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void makeCheck(QWidget* parent);
    void makeCombo(QWidget* parent);
    void makeDevice(QWidget* parent);
    void makeLine(QWidget* parent);
    void useLine(class CommitEdit* line);

    Field m_field;
    ConfigValue m_last;
    QWidget* m_widget = nullptr;
    QWidget* m_input = nullptr;
    std::function<void(const FieldState&)> m_show;
    std::function<void(bool)> m_lock;
    std::function<void(const std::map<QString, QString>&)> m_close;
    std::function<void()> m_commit;
};

} // namespace vergence
