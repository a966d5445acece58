#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <QTemporaryDir>
#include <QTest>

#include "tests/support/test_program.h"

namespace {

namespace fs = std::filesystem;

const fs::path kRoot = VERGENCE_SOURCE_DIR;
const std::vector<std::string> kFolders = {"app",       "core",  "cuda",     "plugins",
                                           "resources", "tests", "packaging"};

std::string textOf(const fs::path& file)
{
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
}

/// Files of the tree whose name ends in one of `endings`.
std::vector<fs::path> filesEndingIn(const std::vector<std::string>& endings)
{
    std::vector<fs::path> found;
    const auto take = [&](const fs::directory_entry& entry) {
        const std::string name = entry.path().filename().string();
        const auto fits = [&](const std::string& ending) { return name.ends_with(ending); };
        if (entry.is_regular_file() && std::any_of(endings.begin(), endings.end(), fits))
            found.push_back(entry.path());
    };
    for (const auto& entry : fs::directory_iterator(kRoot))
        take(entry);
    for (const std::string& folder : kFolders) {
        for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder))
            take(entry);
    }
    return found;
}

std::vector<std::string> matchesOf(const std::string& text, const char* pattern)
{
    const std::regex expression(pattern);
    std::vector<std::string> found;
    for (auto at = std::sregex_iterator(text.begin(), text.end(), expression);
         at != std::sregex_iterator(); ++at)
        found.push_back((*at)[1]);
    return found;
}

/// Every word of the code and of the build.
const std::set<std::string>& words()
{
    static const std::set<std::string> all = [] {
        std::set<std::string> set;
        for (const fs::path& file :
             filesEndingIn({".h", ".cpp", ".cu", ".cuh", ".cmake", "CMakeLists.txt", ".sh"})) {
            if (file.parent_path().filename() == "documents")
                continue; // names that are wrong by intention
            std::string word;
            for (const char c : textOf(file)) {
                if (std::isalnum(static_cast<unsigned char>(c)) || c == '_')
                    word += c;
                else if (!word.empty())
                    set.insert(std::exchange(word, {}));
            }
        }
        return set;
    }();
    return all;
}

/// A page without its blocks of code.
std::string prose(const std::string& page)
{
    std::string kept, line;
    bool isCode = false;
    for (std::istringstream lines(page); std::getline(lines, line);) {
        if (line.starts_with("```"))
            isCode = !isCode;
        else if (!isCode)
            kept += line + "\n";
    }
    return kept;
}

/// What a link to a heading is called: lower case, words joined by hyphens, no punctuation.
std::string anchorOf(const std::string& heading)
{
    std::string anchor;
    for (const char c : heading) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == ' ')
            anchor += '-';
        else if (std::isalnum(byte) || c == '-' || c == '_' || byte >= 0x80)
            anchor += static_cast<char>(std::tolower(byte));
    }
    return anchor;
}

std::set<std::string> anchorsOf(const std::string& page)
{
    std::set<std::string> anchors;
    for (const std::string& heading : matchesOf("\n" + prose(page), "\n#+ ([^\n]+)"))
        anchors.insert(anchorOf(heading));
    return anchors;
}

/// Numbers of sections: "3" of "## 3. The model", "3.9" of "### 3.9 Sizes".
std::set<std::string> sectionsOf(const std::string& page)
{
    const auto numbers = matchesOf("\n" + prose(page), R"(\n#+ (\d+[a-z]?(?:\.\d+)*)\.? )");
    return {numbers.begin(), numbers.end()};
}

/// The lab that a file belongs to, and its specification; none for other files.
std::optional<fs::path> specificationFor(const fs::path& file)
{
    const std::string relative = fs::relative(file, kRoot).string();
    std::smatch match;
    if (!std::regex_search(relative, match, std::regex("^(?:tests/)?plugins/([^/]+)/")))
        return {};
    return kRoot / "plugins" / match[1].str() / "SPECIFICATION.md";
}

/// Which page "architecture.md §3" means when `file` says so; without a name it is the page itself,
/// or the specification of the lab.
std::optional<fs::path> citedPage(const fs::path& file, const std::string& name)
{
    if (name.empty()) {
        if (file.extension() == ".md" && !sectionsOf(textOf(file)).empty())
            return file;
        return specificationFor(file);
    }
    const auto specification = specificationFor(file);
    for (const fs::path& folder : {file.parent_path(), kRoot / "resources/manual/developer",
                                   specification ? specification->parent_path() : kRoot, kRoot}) {
        if (fs::exists(folder / name))
            return folder / name;
    }
    return {};
}

void checkCitations(const fs::path& file, const std::string& text, std::vector<std::string>& wrong)
{
    if (text.find("§") == std::string::npos)
        return;
    static const std::regex citation(R"((?:([\w./-]+\.md)[`)\]]*,? )?§ ?(\d+[a-z]?(?:\.\d+)*))");
    for (auto at = std::sregex_iterator(text.begin(), text.end(), citation);
         at != std::sregex_iterator(); ++at) {
        const auto page = citedPage(file, (*at)[1]);
        if (!page || !sectionsOf(textOf(*page)).contains((*at)[2]))
            wrong.push_back("no section " + at->str());
    }
}

void checkLinks(const fs::path& file, const std::string& text, std::vector<std::string>& wrong)
{
    for (const std::string& link : matchesOf(text, R"(\]\(([^)\s]+)\))")) {
        if (link.find("://") != std::string::npos)
            continue;
        const auto hash = link.find('#');
        const std::string target = link.substr(0, hash);
        const fs::path page = target.empty() ? file : file.parent_path() / target;
        if (!fs::exists(page))
            wrong.push_back("no file " + link);
        else if (hash != std::string::npos &&
                 !anchorsOf(target.empty() ? text : textOf(page)).contains(link.substr(hash + 1)))
            wrong.push_back("no heading " + link);
    }
}

void checkNames(const std::string& text, std::vector<std::string>& wrong)
{
    static const std::regex path(R"(([a-z]+)/[\w./-]+)"), function(R"((?:\w+::)*(\w+)\(\))"),
        variable(R"(\bVERGENCE_\w*[A-Z0-9]\b)");
    for (const std::string& span : matchesOf(text, "`([^`\n]+)`")) {
        std::smatch match;
        if (std::regex_match(span, match, path)) {
            if (std::count(kFolders.begin(), kFolders.end(), match[1].str()) > 0 &&
                !fs::exists(kRoot / span))
                wrong.push_back("no file " + span);
        } else if (std::regex_match(span, match, function)) {
            if (!words().contains(match[1]))
                wrong.push_back("no function " + span);
        } else if (std::regex_search(span, match, variable) && !words().contains(match[0])) {
            wrong.push_back("no name " + match[0].str());
        }
    }
}

/// What a page says of the tree that is not so.
std::vector<std::string> untruthsOf(const fs::path& file, const std::string& page)
{
    std::vector<std::string> wrong;
    const std::string text = prose(page);
    checkLinks(file, text, wrong);
    checkNames(text, wrong);
    checkCitations(file, text, wrong);
    return wrong;
}

void report(const fs::path& file, const std::vector<std::string>& wrong)
{
    for (const std::string& text : wrong)
        qWarning("%s: %s", fs::relative(file, kRoot).c_str(), text.c_str());
}

} // namespace

/// Pages point to files, names and sections that exist, and so do comments that cite a page.
class TestDocuments : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void pagesAreTrueOfTheTree()
    {
        std::size_t seen = 0, found = 0;
        for (const fs::path& file : filesEndingIn({".md"})) {
            if (file.filename() == "CHANGELOG.md")
                continue; // tells of names that are gone
            const auto wrong = untruthsOf(file, textOf(file));
            report(file, wrong);
            found += wrong.size();
            ++seen;
        }
        QVERIFY(seen > 10);
        QCOMPARE(found, std::size_t{0});
    }

    void commentsCiteSectionsThatExist()
    {
        std::size_t found = 0;
        for (const fs::path& file : filesEndingIn({".h", ".cpp", ".cu", ".cuh", ".toml"})) {
            if (file.parent_path().filename() == "documents")
                continue;
            std::vector<std::string> wrong;
            checkCitations(file, textOf(file), wrong);
            report(file, wrong);
            found += wrong.size();
        }
        QCOMPARE(found, std::size_t{0});
    }

    void untruthsAreFound_data()
    {
        QTest::addColumn<QString>("page");
        QTest::addColumn<int>("untruths");
        const auto row = [](const char* name, const char* page, int untruths) {
            QTest::newRow(name) << QString(page) << untruths;
        };
        row("file of a link", "[a file](README.md) and [none](NONE.md)", 1);
        row("heading of a link", "# One thing\n[here](#one-thing), [nowhere](#another)", 1);
        row("heading in another page",
            "[elsewhere](README.md#nowhere), [a site](https://example.org/x)", 1);
        row("path", "`core/run/run.h`, `core/run/none.h`, `other/none.h`", 1);
        row("function", "`Graph::backward()`, `noSuchFunctionAnywhere()`", 1);
        row("variable", "`VERGENCE_ISA=v2`, `VERGENCE_NOWHERE_TO_BE_SEEN`", 1);
        row("section", "## 2. Two\n### 2.1 More\n§2, §2.1, §2.2", 1);
        row("code is not read", "```\n[none](NONE.md) `core/none.h`\n```", 0);
    }
    void untruthsAreFound()
    {
        QFETCH(QString, page);
        QFETCH(int, untruths);
        const QTemporaryDir folder;
        const fs::path file = folder.filePath("page.md").toStdString();
        std::ofstream(file) << page.toStdString();
        std::ofstream(file.parent_path() / "README.md") << "# Read me\n";
        const auto wrong = untruthsOf(file, page.toStdString());
        QCOMPARE(wrong.size(), static_cast<std::size_t>(untruths));
    }
};

VERGENCE_TEST(TestDocuments)
#include "tst_documents.moc"
