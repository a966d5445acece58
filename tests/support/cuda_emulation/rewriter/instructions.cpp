#include <algorithm>
#include <cctype>

#include "tests/support/cuda_emulation/rewriter/rewrite.h"

namespace vergence::emulation {

namespace {

struct Instruction {
    std::string_view mnemonic;
    std::size_t operands;
};

/// Those that language/instructions.h declares.
constexpr Instruction kInstructions[] = {
    {"ldmatrix.sync.aligned.m8n8.x4.shared.b16", 5},
    {"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", 5},
    {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", 14},
    {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 14},
};

/// asm("code" : outputs : inputs : clobbers)
struct AsmText {
    std::size_t first = 0, close = 0;
    std::string code;
    std::vector<std::string> operands; ///< expressions in brackets, in the order of their numbers
};

std::size_t findAsm(std::string_view seen, std::size_t from)
{
    return std::min({findWord(seen, "asm", from), findWord(seen, "__asm__", from),
                     findWord(seen, "__asm", from)});
}

/// The opening bracket of the asm at `at`.
std::size_t bracketOfAsm(const Source& source, std::string_view seen, std::size_t at)
{
    const auto skipWord = [&](std::size_t from) {
        while (from < seen.size() && isWordCharacter(seen[from]))
            ++from;
        return skipSpaces(seen, from);
    };
    std::size_t open = skipWord(at);
    if (seen.substr(open, 8) == "volatile" || seen.substr(open, 12) == "__volatile__")
        open = skipWord(open);
    if (open >= seen.size() || seen[open] != '(')
        refuse(source, at, "an asm without text");
    return open;
}

/// Joins the literals that `text` begins with; `text` is what remains.
std::string takeLiterals(std::string_view& text)
{
    std::string joined;
    while (true) {
        const std::size_t at = skipSpaces(text, 0);
        if (at >= text.size() || text[at] != '"')
            return joined;
        std::size_t i = at + 1;
        for (; text[i] != '"'; ++i) {
            if (text[i] == '\\')
                ++i; // a line end or a tab
            joined += text[i - 1] == '\\' ? ' ' : text[i];
        }
        text.remove_prefix(i + 1);
    }
}

/// "=r"(x) → (x)
std::string expressionOf(const Source& source, std::size_t at, std::string_view operand)
{
    const std::string constraint = takeLiterals(operand);
    const std::string expression = onOneLine(operand);
    if (constraint.empty() || expression.empty() || expression.front() != '(')
        refuse(source, at, "an operand of this asm is not of the form \"r\"(expression)");
    return expression;
}

AsmText asmAt(const Source& source, std::string_view seen, std::size_t at)
{
    AsmText found;
    found.first = at;
    const std::size_t open = bracketOfAsm(source, seen, at);
    found.close = closingBracket(seen, open);
    if (found.close == seen.npos)
        refuse(source, at, "an asm without end");
    const std::string text = withoutComments(source);
    std::string_view body = std::string_view(text).substr(open + 1, found.close - open - 1);
    found.code = trimmed(takeLiterals(body));
    const auto groups = split(body, ':');
    if (!groups.front().empty())
        refuse(source, at, "the text of an asm is one of string literals");
    for (std::size_t group = 1; group < std::min<std::size_t>(groups.size(), 3); ++group) {
        if (groups[group].empty())
            continue;
        for (const std::string& operand : split(groups[group], ','))
            found.operands.push_back(expressionOf(source, at, operand));
    }
    return found;
}

/// The numbers in "{%0, %1}, [%2]".
std::vector<std::size_t> numbersIn(const Source& source, std::size_t at, std::string_view places)
{
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i < places.size(); ++i) {
        if (std::string_view("{}[], \t").find(places[i]) != std::string_view::npos)
            continue;
        std::size_t end = i + 1;
        while (end < places.size() && std::isdigit(static_cast<unsigned char>(places[end])))
            ++end;
        if (places[i] != '%' || end == i + 1 || end > i + 3)
            refuse(source, at, "operands of instructions are written %0, %1, …");
        numbers.push_back(std::stoul(std::string(places.substr(i + 1, end - i - 1))));
        i = end - 1;
    }
    return numbers;
}

std::string callOf(const Source& source, const AsmText& found)
{
    std::string_view code = found.code;
    if (code.back() == ';')
        code.remove_suffix(1);
    if (code.find(';') != code.npos)
        refuse(source, found.first, "one instruction an asm");
    const std::size_t end = std::min(code.find_first_of(" \t"), code.size());
    std::string name(code.substr(0, end));
    const auto known = std::ranges::find(kInstructions, name, &Instruction::mnemonic);
    if (known == std::end(kInstructions))
        refuse(source, found.first, "the instruction " + name + " is not emulated");
    const auto numbers = numbersIn(source, found.first, code.substr(end));
    if (numbers.size() != known->operands)
        refuse(source, found.first, name + " has " + std::to_string(known->operands) + " operands");
    std::ranges::replace(name, '.', '_');
    std::string call = "::vergence::emulation::ptx::" + name + "(VERGENCE_EMULATED_SITE";
    for (const std::size_t number : numbers) {
        if (number >= found.operands.size())
            refuse(source, found.first, "there is no operand %" + std::to_string(number));
        call += ", " + found.operands[number];
    }
    return call + ")";
}

} // namespace

std::string rewriteInstructions(Source source)
{
    std::size_t from = 0;
    while (true) {
        const std::string seen = withoutCommentsAndLiterals(source);
        const std::size_t at = findAsm(seen, from);
        if (at == std::string::npos)
            return source.text;
        const AsmText found = asmAt(source, seen, at);
        from = found.close;
        if (found.code.empty())
            continue;
        const std::size_t length = found.close + 1 - at;
        const std::string call =
            callOf(source, found) + lineEndsOf(std::string_view(seen).substr(at, length));
        source.text.replace(at, length, call);
        from = at + call.size();
    }
}

} // namespace vergence::emulation
