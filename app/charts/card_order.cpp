#include "app/charts/card_order.h"

#include <algorithm>
#include <tuple>

#include "app/charts/chart_card.h"

namespace vergence {
namespace {

enum Rank { Pinned, Declared, Undeclared, Table, System };

using Place = std::tuple<int, std::ptrdiff_t, QString>; // rank, declaration, name

/// Numbers in a name count as numbers: T4 comes before T16.
QString sortKey(const QString& name)
{
    constexpr int kDigits = 8;
    QString key, number;
    for (const QChar c : name + QChar(u'\0')) {
        if (c.isDigit()) {
            number += c;
            continue;
        }
        key += number.isEmpty() ? QString() : number.rightJustified(kDigits, u'0');
        key += c;
        number.clear();
    }
    return key;
}

Place placeOf(const ChartCard& card, const std::vector<MetricDecl>& declarations)
{
    const std::string name = card.id().toStdString();
    const auto declared =
        std::find_if(declarations.begin(), declarations.end(), [&](const MetricDecl& decl) {
            return decl.name == name || name.starts_with(decl.name + '/'); // its group
        });
    int rank = declared == declarations.end() ? Undeclared : Declared;
    if (card.isPinned())
        rank = Pinned;
    else if (card.isTable())
        rank = Table;
    else if (card.id().startsWith(QLatin1String("system/")))
        rank = System;
    return {rank, declared - declarations.begin(), sortKey(card.id())};
}

} // namespace

std::vector<ChartCard*> inOrder(std::vector<ChartCard*> cards,
                                const std::vector<MetricDecl>& declarations)
{
    std::vector<std::pair<Place, ChartCard*>> placed;
    for (ChartCard* card : cards)
        placed.emplace_back(placeOf(*card, declarations), card);
    std::sort(placed.begin(), placed.end());

    const auto rankOf = [](const auto& one) { return std::get<0>(one.first); };
    const auto isDeclared = [&](const auto& one) { return rankOf(one) == Declared; };
    const auto isHeadline = [&](const auto& one) {
        return declarations[static_cast<std::size_t>(std::get<1>(one.first))].isHeadline;
    };
    // A plugin declares first what it minimises; that and the headline belong above the fold.
    const auto first = std::find_if(placed.begin(), placed.end(), isDeclared);
    if (first != placed.end())
        std::stable_partition(first + 1, std::find_if_not(first, placed.end(), isDeclared),
                              isHeadline);

    std::transform(placed.begin(), placed.end(), cards.begin(),
                   [](const auto& one) { return one.second; });
    return cards;
}

} // namespace vergence
