#include "tests/support/cuda_emulation/rewriter/rewrite.h"

namespace vergence::emulation {

namespace {

/// kernel<<<shape>>>(arguments): offsets of the parts.
struct LaunchText {
    std::size_t kernel, kernelEnd;
    std::size_t shape, shapeEnd;
    std::size_t open, close;
};

/// Where the template arguments begin whose last > stands before `end`.
std::size_t beginOfTemplateArguments(const Source& source, std::string_view seen, std::size_t end)
{
    int depth = 0;
    for (std::size_t i = end; i-- > 0;) {
        const char c = seen[i];
        if (c == ')' || c == ']' || c == '}') {
            i = openingBracket(seen, i + 1);
            if (i == seen.npos)
                break;
        } else if (c == ';' || c == '(' || c == '[' || c == '{') {
            break;
        } else if (c == '>') {
            ++depth;
        } else if (c == '<' && --depth == 0) {
            return i;
        }
    }
    refuse(source, end, "the template arguments of this launch have no beginning");
}

/// Words with their template arguments, joined by ::, that end at `end`.
std::size_t beginOfName(const Source& source, std::string_view seen, std::size_t end)
{
    std::size_t at = end;
    while (true) {
        if (at > 0 && seen[at - 1] == '>')
            at = skipSpacesBack(seen, beginOfTemplateArguments(source, seen, at));
        const std::size_t wordEnd = at;
        while (at > 0 && isWordCharacter(seen[at - 1]))
            --at;
        if (at == wordEnd)
            refuse(source, end, "what is launched must be the name of a kernel");
        if (at < 2 || seen.substr(at - 2, 2) != "::")
            return at;
        at -= 2;
        if (at == 0 || !(isWordCharacter(seen[at - 1]) || seen[at - 1] == '>'))
            return at;
    }
}

std::size_t endOfShape(const Source& source, std::string_view seen, std::size_t first)
{
    for (std::size_t i = first; i < seen.size() && seen[i] != ';'; ++i) {
        if (seen[i] == '(' || seen[i] == '{' || seen[i] == '[') {
            i = closingBracket(seen, i);
            if (i == seen.npos)
                break;
        } else if (seen.substr(i, 3) == ">>>") {
            return i;
        }
    }
    refuse(source, first, "a launch without >>>");
}

LaunchText launchAt(const Source& source, std::string_view seen, std::size_t at)
{
    LaunchText found{};
    found.kernelEnd = skipSpacesBack(seen, at);
    found.kernel = beginOfName(source, seen, found.kernelEnd);
    found.shape = at + 3;
    found.shapeEnd = endOfShape(source, seen, found.shape);
    const auto parts = split(seen.substr(found.shape, found.shapeEnd - found.shape), ',').size();
    if (parts < 2 || parts > 4)
        refuse(source, at, "a launch has from two to four numbers between <<< and >>>");
    found.open = skipSpaces(seen, found.shapeEnd + 3);
    if (found.open >= seen.size() || seen[found.open] != '(')
        refuse(source, at, "a launch without arguments");
    found.close = closingBracket(seen, found.open);
    if (found.close == seen.npos)
        refuse(source, at, "the arguments of this launch have no end");
    return found;
}

/// Line ends stay where they are between the parts, so that each argument keeps its line.
std::string callOf(const Source& source, std::string_view seen, const LaunchText& found)
{
    const std::string_view text = source.text;
    const auto between = [&](std::size_t first, std::size_t last) {
        return text.substr(first, last - first);
    };
    const std::size_t length = found.kernelEnd - found.kernel;
    const std::string kernel = onOneLine(withoutComments(source).substr(found.kernel, length));
    const std::string shown = onOneLine(seen.substr(found.kernel, length)); // without quotes
    const std::string_view arguments = between(found.open + 1, found.close);
    const bool hasArguments =
        !trimmed(seen.substr(found.open + 1, found.close - found.open - 1)).empty();
    std::string call = "::vergence::emulation::launch(VERGENCE_EMULATED_SITE, \"" + shown + "\",";
    call += lineEndsOf(between(found.kernel, found.shape));
    call += " ::vergence::emulation::LaunchShape(";
    call += between(found.shape, found.shapeEnd);
    call += "), [=](auto... given) { " + kernel + "(given...); }";
    call += lineEndsOf(between(found.shapeEnd, found.open));
    call += hasArguments ? ", " : "";
    call += arguments;
    return call + ")";
}

} // namespace

std::string rewriteLaunches(Source source)
{
    while (true) {
        const std::string seen = withoutCommentsAndLiterals(source);
        const std::size_t at = seen.find("<<<");
        if (at == std::string::npos)
            return source.text;
        const LaunchText found = launchAt(source, seen, at);
        source.text.replace(found.kernel, found.close + 1 - found.kernel,
                            callOf(source, seen, found));
    }
}

} // namespace vergence::emulation
