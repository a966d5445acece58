#pragma once

#include <functional>
#include <map>
#include <string>

#include <QUndoCommand>

#include "app/forms/field_state.h"

namespace vergence {

/// Fields that change together, and the preset they belong to.
struct DraftChange {
    std::map<std::string, FieldState> fields;
    QString preset;
};

/// One step of the form's history. Pushing it applies it.
class DraftCommand : public QUndoCommand {
public:
    using Apply = std::function<void(const DraftChange&)>;

    DraftCommand(const QString& text, DraftChange before, DraftChange after, Apply apply)
        : QUndoCommand(text),
          m_before(std::move(before)),
          m_after(std::move(after)),
          m_apply(std::move(apply))
    {
    }
    void undo() override { m_apply(m_before); }
    void redo() override { m_apply(m_after); }

private:
    DraftChange m_before, m_after;
    Apply m_apply;
};

} // namespace vergence
