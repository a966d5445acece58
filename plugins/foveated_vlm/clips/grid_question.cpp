#include "plugins/foveated_vlm/clips/grid_question.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include <fmt/format.h>

namespace vergence::fvlm {

namespace {

/// Letters or digits that stand together, in small letters; all else parts them.
std::vector<std::string> wordsOf(const std::string& text)
{
    enum class Kind { Space, Letters, Digits };
    const auto kindOf = [](unsigned char byte) {
        if (std::isdigit(byte) != 0)
            return Kind::Digits;
        return std::isalpha(byte) != 0 || byte >= 0x80 ? Kind::Letters : Kind::Space;
    };
    std::vector<std::string> words;
    Kind before = Kind::Space;
    for (const char c : text) {
        const Kind kind = kindOf(static_cast<unsigned char>(c));
        if (kind != Kind::Space && kind != before)
            words.emplace_back();
        if (kind != Kind::Space)
            words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        before = kind;
    }
    return words;
}

/// The row or column that a word names, or −1.
int rowOf(const std::string& word)
{
    return word.size() == 1 && word[0] >= 'a' && word[0] <= 'z' ? word[0] - 'a' : -1;
}

int columnOf(const std::string& word)
{
    const bool isNumber = !word.empty() && word.size() <= 2 &&
                          std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
    return isNumber ? std::stoi(word) - 1 : -1;
}

} // namespace

std::string rowName(int row)
{
    return {static_cast<char>('a' + row)};
}

std::string gridQuestion(GridPlace place)
{
    return fmt::format("{}{}", rowName(place.row), place.column + 1);
}

GridRequest readGridQuestion(const std::string& text, int side)
{
    std::vector<std::string> words = wordsOf(text);
    std::erase_if(words, [](const std::string& w) { return w == "row" || w == "column"; });
    const std::string form = fmt::format(
        "Ask for a cell as \"{}\", with rows a to {} and columns 1 to {}.",
        gridQuestion({std::min(1, side - 1), std::min(2, side - 1)}), rowName(side - 1), side);
    const auto refuse = [&](const std::string& word) {
        return GridRequest{
            std::nullopt, fmt::format("\"{}\" is no word that the task has there. {}", word, form)};
    };
    if (words.empty())
        return {std::nullopt, form};
    const int row = rowOf(words[0]);
    if (row < 0 || row >= side)
        return refuse(words[0]);
    if (words.size() == 1)
        return {std::nullopt, form};
    const int column = columnOf(words[1]);
    if (column < 0 || column >= side)
        return refuse(words[1]);
    if (words.size() > 2)
        return refuse(words[2]);
    return {GridPlace{row, column}, {}};
}

} // namespace vergence::fvlm
