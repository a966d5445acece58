#pragma once

#include <concepts>
#include <string>

#include <QLocale>

namespace vergence::sugar {

/// "11,969" for 11969, whatever the user's language: for texts in English.
template <std::integral Number>
std::string grouped(Number number)
{
    return QLocale(QLocale::English).toString(static_cast<qlonglong>(number)).toStdString();
}

} // namespace vergence::sugar
