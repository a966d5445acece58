#include "core/artifact/plot/stroke_face.h"

#include <cmath>
#include <map>
#include <string_view>

namespace vergence::plot {

namespace {

constexpr double kUnitX = 0.047, kUnitY = 0.09; ///< of the size; x counts half units
constexpr double kBearing = 3.3;                ///< half units after every glyph
constexpr int kCurvePieces = 6;

/// Width in half units, then strokes separated by '|'; points are a letter or digit for x (0 … 9,
/// a = 10, …) and one for y (0 base line, 6 small letters, 8 capitals, a = −1, b = −2). `~` curves
/// through its points, `@` closes the curve.
struct Glyph {
    int width;
    const char* strokes;
};

// clang-format off
const std::map<char32_t, Glyph> kGlyphs{
    {U' ', {4, ""}}, {U'!', {0, "08 03|00"}}, {U'"', {3, "08 06|38 36"}},
    {U'#', {12, "20 48|80 a8|03 c3|05 c5"}}, {U'%', {12, "@25 47 28 07|@a0 c1 a2 81|00 c8"}},
    {U'&', {12, "~c3 60 02 86 58 26 c0"}}, {U'\'', {0, "08 06"}},
    {U'(', {3, "~38 03 3b"}}, {U')', {3, "~08 33 0b"}}, {U'*', {8, "48 44|17 75|15 77"}},
    {U'+', {10, "51 55|03 a3"}}, {U',', {1, "10 0b"}}, {U'-', {5, "03 53"}}, {U'.', {0, "00"}},
    {U'/', {7, "0a 78"}}, {U'0', {10, "@50 a4 58 04"}}, {U'1', {10, "26 58 50|20 80"}},
    {U'2', {10, "~06 48 96 63|63 00 a0"}}, {U'3', {10, "~07 48 96 44|~44 a2 40 01"}},
    {U'4', {10, "70 78 02 a2"}}, {U'5', {10, "98 18 04|~04 55 a2 50 01"}},
    {U'6', {10, "@50 a2 55 02|~02 25 88"}}, {U'7', {10, "08 a8 40"}},
    {U'8', {10, "@54 96 58 16|@54 a2 50 02"}}, {U'9', {10, "@58 a6 53 06|~a6 83 20"}},
    {U':', {0, "00|05"}}, {U';', {1, "15|10 0b"}}, {U'<', {9, "96 03 90"}},
    {U'=', {10, "02 a2|04 a4"}}, {U'>', {9, "06 93 00"}}, {U'?', {8, "~06 48 86 43|43 42|40"}},
    {U'@', {14, "@72 a4 76 44|~a4 b2 e4 78 04 70 c1"}},
    {U'A', {12, "00 68 c0|23 a3"}}, {U'B', {11, "00 08 58|~58 96 54|54 04|~54 b2 50|50 00"}},
    {U'C', {12, "~c7 68 04 60 c1"}}, {U'D', {12, "00 08 48|~48 c4 40|40 00"}},
    {U'E', {10, "a0 00 08 a8|04 84"}}, {U'F', {10, "00 08 a8|04 84"}},
    {U'G', {13, "~c7 68 04 60 c1|c1 c4 84"}}, {U'H', {12, "00 08|c0 c8|04 c4"}},
    {U'I', {0, "00 08"}}, {U'J', {8, "88 82|~82 40 02"}}, {U'K', {11, "00 08|b8 03|45 b0"}},
    {U'L', {10, "08 00 a0"}}, {U'M', {14, "00 08 72 e8 e0"}}, {U'N', {12, "00 08 c0 c8"}},
    {U'O', {14, "@70 e4 78 04"}}, {U'P', {11, "00 08 58|~58 b6 54|54 04"}},
    {U'Q', {14, "@70 e4 78 04|92 e0"}}, {U'R', {11, "00 08 58|~58 b6 54|54 04|54 b0"}},
    {U'S', {11, "~a7 58 06 54 b2 50 01"}}, {U'T', {12, "08 c8|68 60"}},
    {U'U', {12, "08 03|~03 60 c3|c3 c8"}}, {U'V', {12, "08 60 c8"}},
    {U'W', {16, "08 40 87 c0 g8"}}, {U'X', {11, "00 b8|08 b0"}}, {U'Y', {12, "08 64 c8|64 60"}},
    {U'Z', {11, "08 b8 00 b0"}}, {U'[', {3, "38 08 0b 3b"}}, {U'\\', {7, "08 7a"}},
    {U']', {3, "08 38 3b 0b"}}, {U'^', {8, "05 48 85"}}, {U'_', {10, "0b ab"}},
    {U'`', {2, "08 27"}},
    {U'a', {10, "@50 a3 56 03|a6 a0"}}, {U'b', {10, "08 00|@50 a3 56 03"}},
    {U'c', {9, "~95 56 03 50 91"}}, {U'd', {10, "a8 a0|@50 a3 56 03"}},
    {U'e', {10, "03 a3|~a3 56 03 50 91"}}, {U'f', {6, "~68 37 35|35 30|06 66"}},
    {U'g', {10, "@50 a3 56 03|a6 a0|~a0 5b 0a"}}, {U'h', {10, "08 00|~04 56 a3|a3 a0"}},
    {U'i', {0, "06 00|08"}}, {U'j', {3, "36 30|~30 2b 0b|38"}}, {U'k', {9, "00 08|86 02|34 90"}},
    {U'l', {0, "00 08"}}, {U'm', {16, "00 06|~04 46 83|83 80|~84 c6 g3|g3 g0"}},
    {U'n', {10, "00 06|~04 56 a3|a3 a0"}}, {U'o', {10, "@50 a3 56 03"}},
    {U'p', {10, "0b 06|@50 a3 56 03"}}, {U'q', {10, "ab a6|@50 a3 56 03"}},
    {U'r', {6, "00 06|~03 26 65"}}, {U's', {8, "~85 46 04 43 82 40 01"}},
    {U't', {6, "28 22|~22 40 60|06 66"}}, {U'u', {10, "06 03|~03 50 a2|a6 a0"}},
    {U'v', {10, "06 50 a6"}}, {U'w', {14, "06 40 75 a0 e6"}}, {U'x', {9, "00 96|06 90"}},
    {U'y', {10, "06 50|a6 2b"}}, {U'z', {9, "06 96 00 90"}},
    {U'{', {4, "~48 26 03 20 4b"}}, {U'|', {0, "0b 08"}}, {U'}', {4, "~08 26 43 20 0b"}},
    {U'~', {10, "~02 34 72 a4"}},
    {U'°', {4, "@25 47 28 07"}}, {U'±', {10, "57 52|05 a5|00 a0"}}, {U'·', {0, "03"}},
    {U'×', {8, "01 85|05 81"}}, {U'–', {9, "03 93"}}, {U'—', {16, "03 g3"}},
    {U'−', {10, "03 a3"}}, {U'…', {10, "00|50|a0"}}, {U'√', {12, "04 20 68 c8"}},
    {U'→', {13, "03 d3|a5 d3 a1"}}, {U'≈', {10, "~02 33 72 a3|~04 35 74 a5"}},
    {U'≤', {9, "97 04 92|00 90"}}, {U'≥', {9, "07 94 02|00 90"}},
    {U'†', {6, "3b 38|06 66"}}, {U'∞', {16, "@42 83 c4 f3 c2 83 44 13"}},
    {U'Δ', {12, "00 68 c0 00"}}, {U'Σ', {12, "c8 08 64 00 c0"}},
    {U'α', {11, "~b6 50 03 56 b0"}}, {U'ε', {8, "~85 46 14 63|~63 02 40 81"}},
    {U'θ', {10, "@50 a4 58 04|04 a4"}}, {U'λ', {10, "08 28 a0|53 00"}},
    {U'μ', {10, "0b 06|~03 50 a2|a6 a0"}}, {U'ρ', {10, "0b 03|@50 a3 56 03"}},
    {U'σ', {12, "@50 a3 56 03|56 c6"}}, {U'τ', {9, "06 96|46 42|~42 60 80"}},
    {U'ᵢ', {0, "04 00|06"}},
};
// clang-format on

/// Raised digits are small ones of the base line.
char32_t raised(char32_t letter)
{
    static const std::map<char32_t, char32_t> kRaised{
        {U'⁰', U'0'}, {U'¹', U'1'}, {U'²', U'2'}, {U'³', U'3'}, {U'⁴', U'4'}, {U'⁵', U'5'},
        {U'⁶', U'6'}, {U'⁷', U'7'}, {U'⁸', U'8'}, {U'⁹', U'9'}, {U'⁻', U'−'}};
    const auto found = kRaised.find(letter);
    return found == kRaised.end() ? 0 : found->second;
}

/// The next code point of UTF-8; lenient, because only known glyphs matter.
char32_t nextPoint(std::string_view text, std::size_t& at)
{
    const auto lead = static_cast<unsigned char>(text[at++]);
    const int more = lead < 0xC0 ? 0 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
    char32_t point = more == 0 ? lead : lead & (0x3Fu >> more);
    for (int k = 0; k < more && at < text.size(); ++k)
        point = point << 6 | (static_cast<unsigned char>(text[at++]) & 0x3Fu);
    return point;
}

double coordinate(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

/// Curve through points: cubic pieces whose tangents are half the chord of the neighbours, ends
/// mirrored, so that four extremes make an ellipse.
StrokedText::Stroke curved(const StrokedText::Stroke& points, bool isClosed)
{
    const int n = static_cast<int>(points.x.size());
    if (n < 3)
        return points;
    const auto at = [&](const std::vector<double>& v, int i) {
        return v[static_cast<std::size_t>((i + n) % n)];
    };
    const auto tangent = [&](const std::vector<double>& v, int i) {
        if (isClosed || (i > 0 && i < n - 1))
            return (at(v, i + 1) - at(v, i - 1)) / 2;
        // Mirrored at the end, so that the arc through three extremes begins along its axis.
        const int inner = i == 0 ? 1 : n - 2;
        const double inside = (at(v, inner + 1) - at(v, inner - 1)) / 2;
        const double step = i == 0 ? at(v, 1) - at(v, 0) : at(v, n - 1) - at(v, n - 2);
        return step - inside;
    };
    constexpr double kHandle = 0.5523; // a quarter of an ellipse
    const auto bezier = [&](const std::vector<double>& v, int i, double t) {
        const double p0 = at(v, i), p3 = at(v, i + 1);
        const double p1 = p0 + kHandle * tangent(v, i), p2 = p3 - kHandle * tangent(v, i + 1);
        const double s = 1 - t;
        return s * s * s * p0 + 3 * s * s * t * p1 + 3 * s * t * t * p2 + t * t * t * p3;
    };
    StrokedText::Stroke curve;
    const int pieces = isClosed ? n : n - 1;
    for (int i = 0; i < pieces; ++i) {
        for (int k = i == 0 ? 0 : 1; k <= kCurvePieces; ++k) {
            const double t = static_cast<double>(k) / kCurvePieces;
            curve.x.push_back(bezier(points.x, i, t));
            curve.y.push_back(bezier(points.y, i, t));
        }
    }
    return curve;
}

void addGlyph(StrokedText& out, const Glyph& glyph, double size, double left, double base)
{
    std::string_view rest = glyph.strokes;
    while (!rest.empty()) {
        const std::size_t bar = rest.find('|');
        std::string_view piece = rest.substr(0, bar);
        rest = bar == std::string_view::npos ? std::string_view() : rest.substr(bar + 1);
        const char kind = piece.front();
        if (kind == '~' || kind == '@')
            piece.remove_prefix(1);
        StrokedText::Stroke points;
        for (std::size_t i = 0; i + 1 < piece.size(); i += 3) {
            const double y = coordinate(piece[i + 1]);
            points.x.push_back(left + coordinate(piece[i]) * kUnitX * size);
            points.y.push_back(base + (y > 9 ? 9 - y : y) * kUnitY * size);
        }
        out.strokes.push_back(kind == '~'   ? curved(points, false)
                              : kind == '@' ? curved(points, true)
                                            : points);
    }
}

} // namespace

StrokedText strokedText(const std::string& text, double size)
{
    static const Glyph kBox{8, "00 08 88 80 00"};
    StrokedText result;
    double x = 0;
    for (std::size_t at = 0; at < text.size();) {
        const char32_t point = nextPoint(text, at);
        const char32_t small = raised(point);
        const auto found = kGlyphs.find(small ? small : point);
        const Glyph& glyph = found == kGlyphs.end() ? kBox : found->second;
        const double scale = small ? 0.62 * size : size;
        addGlyph(result, glyph, scale, x, small ? 0.38 * size : 0);
        x += (glyph.width + kBearing) * kUnitX * scale;
    }
    result.width = text.empty() ? 0 : x - kBearing * kUnitX * size;
    return result;
}

} // namespace vergence::plot
