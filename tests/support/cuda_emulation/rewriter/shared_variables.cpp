#include <algorithm>
#include <optional>

#include "tests/support/cuda_emulation/rewriter/rewrite.h"

namespace vergence::emulation {

namespace {

constexpr std::string_view kAlignments[] = {"__align__", "alignas"};

/// T name[2][3] in its parts.
struct Declarator {
    std::string type, name, extents;
};

/// Where the statement begins whose `__shared__` stands at `at`: specifiers may come before it.
std::size_t beginOfStatement(std::string_view seen, std::size_t at)
{
    while (true) {
        std::size_t end = skipSpacesBack(seen, at);
        const bool hasBracket = end > 0 && seen[end - 1] == ')';
        if (hasBracket)
            end = skipSpacesBack(seen, std::min(openingBracket(seen, end), end));
        std::size_t first = end;
        while (first > 0 && isWordCharacter(seen[first - 1]))
            --first;
        const std::string_view word = seen.substr(first, end - first);
        const bool isAlignment = std::ranges::find(kAlignments, word) != std::end(kAlignments);
        if (hasBracket ? !isAlignment : word != "extern" && word != "static" && word != "volatile")
            return at;
        at = first;
    }
}

/// Namespaces aside, an open brace begins a function.
bool isInFunction(std::string_view seen, std::size_t at)
{
    std::vector<bool> isFunction;
    std::size_t introduction = 0;
    for (std::size_t i = 0; i < at; ++i) {
        if (seen[i] == '{') {
            const auto before = seen.substr(introduction, i - introduction);
            isFunction.push_back(findWord(before, "namespace") == before.npos &&
                                 onOneLine(before) != "extern"); // "C"
        } else if (seen[i] == '}' && !isFunction.empty()) {
            isFunction.pop_back();
        }
        if (seen[i] == '{' || seen[i] == '}' || seen[i] == ';')
            introduction = i + 1;
    }
    return std::ranges::find(isFunction, true) != isFunction.end();
}

bool takeWord(std::string& declaration, std::string_view word)
{
    const std::size_t at = findWord(declaration, word);
    if (at == std::string::npos)
        return false;
    declaration.erase(at, word.size());
    return true;
}

/// The alignment that the declaration asks for, taken out of it.
std::optional<std::string> takeAlignment(std::string& declaration)
{
    for (const auto word : kAlignments) {
        const std::size_t at = findWord(declaration, word);
        if (at == std::string::npos)
            continue;
        const std::size_t open = skipSpaces(declaration, at + word.size());
        const std::size_t close = closingBracket(declaration, open);
        if (close == std::string::npos)
            continue;
        std::string asked = declaration.substr(open + 1, close - open - 1);
        declaration.erase(at, close + 1 - at);
        return asked;
    }
    return {};
}

std::optional<Declarator> declaratorOf(std::string_view text)
{
    std::size_t end = text.size();
    while (end > 0 && text[end - 1] == ']') {
        const std::size_t open = openingBracket(text, end);
        if (open == text.npos)
            return {};
        end = skipSpacesBack(text, open);
    }
    std::size_t name = end;
    while (name > 0 && isWordCharacter(text[name - 1]))
        --name;
    if (name == end)
        return {};
    return Declarator{trimmed(text.substr(0, name)), std::string(text.substr(name, end - name)),
                      trimmed(text.substr(end))};
}

/// What sizes with the launch: extern __shared__ T name[];
std::string dynamicVariable(const Source& source, std::size_t at, const std::string& declaration)
{
    const auto found = declaratorOf(declaration);
    if (!found || found->type.empty() || found->extents != "[]")
        refuse(source, at, "extern __shared__ declares one array without extent");
    return found->type + "* " + found->name + " = static_cast<" + found->type +
           "*>(::vergence::emulation::dynamicShared());";
}

std::string fixedVariable(const Declarator& d, const std::string& alignment, int number)
{
    const std::string place = "emulatedShared" + std::to_string(number);
    return "static ::vergence::emulation::SharedVariable " + place + "; " + d.type + " (&" +
           d.name + ")" + d.extents + " = *static_cast<" + d.type + " (*)" + d.extents +
           ">(::vergence::emulation::sharedVariable(" + place + ", sizeof(" + d.type + d.extents +
           "), " + alignment + "));";
}

std::string fixedVariables(const Source& source, std::size_t at, std::string declaration,
                           int& number)
{
    const auto asked = takeAlignment(declaration);
    std::string type, out;
    for (const std::string& part : splitDeclaration(declaration)) {
        auto found = declaratorOf(part);
        if (!found || found->type.empty() != !type.empty())
            refuse(source, at, "this declaration of shared memory is not understood");
        if (type.empty())
            type = found->type;
        found->type = type;
        out += (out.empty() ? "" : " ") +
               fixedVariable(*found, asked.value_or("alignof(" + type + ")"), ++number);
    }
    return out;
}

} // namespace

std::string rewriteSharedVariables(Source source)
{
    constexpr std::string_view kShared = "__shared__";
    int number = 0;
    while (true) {
        const std::string seen = withoutCommentsAndLiterals(source);
        const std::size_t at = findWord(seen, kShared);
        if (at == std::string::npos)
            return source.text;
        if (!isInFunction(seen, at))
            refuse(source, at, "shared memory is declared inside of a kernel");
        const std::size_t first = beginOfStatement(seen, at), end = seen.find_first_of(";{}=", at);
        if (end == std::string::npos || seen[end] != ';')
            refuse(source, at, "shared memory is declared without a value, up to a semicolon");
        std::string declaration = onOneLine(seen.substr(first, end - first));
        takeWord(declaration, kShared);
        takeWord(declaration, "static");
        std::string made;
        if (takeWord(declaration, "extern")) {
            takeAlignment(declaration); // dynamic shared memory begins aligned as any
            made = dynamicVariable(source, at, trimmed(declaration));
        } else {
            made = fixedVariables(source, at, declaration, number);
        }
        made += lineEndsOf(std::string_view(seen).substr(first, end - first));
        source.text.replace(first, end + 1 - first, made);
    }
}

} // namespace vergence::emulation
