#pragma once

#include <filesystem>
#include <memory>

#include <QTemporaryDir>
#include <QTest>

#include "core/artifact/run_folder.h"
#include "tests/support/cli/command_line.h"

namespace vergence::test {

inline const QString kBuild = VERGENCE_BINARY_DIR;

/// Base of the tests of the command line: every claim is tried on the real executable, without a
/// display and with a home of its own.
class CliBench : public QObject {
protected:
    /// A fresh home; before each test.
    void makeHome();
    Outcome vergence(const QStringList& arguments, const QByteArray& input = {});
    /// The same with the patience that a lab's demo wants, more than other commands may take.
    Outcome patiently(const QStringList& arguments);
    /// The demo of the heat plugin on the CPU.
    Outcome demoRun(const QStringList& more = {});
    std::unique_ptr<QProcess> start(const QStringList& arguments);
    QString path(const QString& name) const { return m_home->filePath(name); }
    /// Path of a new file in the home.
    QString written(const QString& name, const QByteArray& text);
    QString home() const { return m_home->path(); }

private:
    std::unique_ptr<QTemporaryDir> m_home;
};

} // namespace vergence::test
