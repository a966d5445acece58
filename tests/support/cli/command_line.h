#pragma once

#include <memory>

#include <QProcess>
#include <QString>
#include <QStringList>

#include <nlohmann/json.hpp>

namespace vergence::test {

inline constexpr int kWaitMilliseconds = 60'000;

/// What a command left behind.
struct Outcome {
    int code = -1;
    QString out, err;

    nlohmann::json parsed() const
    {
        return nlohmann::json::parse(out.toStdString(), nullptr, false);
    }
    std::string folder() const { return out.trimmed().toStdString(); }
};

/// The real `vergence`, started in `folder` with the environment of this process.
std::unique_ptr<QProcess> startCommand(const QStringList& arguments, const QString& folder);
/// The same, to its end; a signal counts as 128 + its number.
Outcome runCommand(const QStringList& arguments, const QString& folder,
                   const QByteArray& input = {});

} // namespace vergence::test
