#pragma once

#include <QByteArray>
#include <QtGlobal>

namespace vergence::test {

/// One variable of this process's environment for one scope, then as it was before. Tests change
/// the environment through Qt alone: QtTest's watchdog reads it on its own thread under Qt's lock,
/// and setenv() beside it moves the table that it reads.
class ScopedVariable {
public:
    /// A null `value` takes the variable away.
    ScopedVariable(const char* name, const QByteArray& value)
        : m_name(name),
          m_before(qgetenv(name))
    {
        set(value);
    }
    ~ScopedVariable() { set(m_before); }
    ScopedVariable(const ScopedVariable&) = delete;
    ScopedVariable& operator=(const ScopedVariable&) = delete;

private:
    void set(const QByteArray& value)
    {
        value.isNull() ? qunsetenv(m_name) : qputenv(m_name, value);
    }

    const char* m_name;
    QByteArray m_before;
};

} // namespace vergence::test
