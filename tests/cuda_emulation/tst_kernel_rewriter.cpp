#include <QTest>

#include "tests/support/cuda_emulation/rewriter/rewrite.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence::emulation;

namespace {

/// The rewritten text without its first line, which names the file.
QString rewritten(const char* text)
{
    const QString all = QString::fromStdString(rewriteKernels({"/tree/kernel.cu", text}));
    const QString first = QStringLiteral("#line 1 \"/tree/kernel.cu\"\n");
    return all.startsWith(first) ? all.mid(first.size()) : QStringLiteral("no #line: ") + all;
}

/// The same with the emulation's own names shortened, as the tests spell them.
QString shortened(const char* text)
{
    QString out = rewritten(text);
    out.replace(QStringLiteral("VERGENCE_EMULATED_SITE"), QStringLiteral("SITE"));
    out.replace(QStringLiteral("::vergence::emulation::"), QStringLiteral("~"));
    return out;
}

int lineOf(const QString& text, const char* part)
{
    const auto at = text.indexOf(QLatin1String(part));
    return at < 0 ? -1 : 1 + static_cast<int>(text.left(at).count(QLatin1Char('\n')));
}

} // namespace

/// CUDA's language as plain C++.
class TestKernelRewriter : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void textsBecomeOthers_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QString>("expected");
        const auto row = [](const char* name, const char* text, const char* expected) {
            QTest::newRow(name) << QByteArray(text) << QString::fromUtf8(expected);
        };
        launchRows(row);
        sharedRows(row);
        instructionRows(row);
    }

    void textsBecomeOthers()
    {
        QFETCH(const QByteArray, text);
        QFETCH(const QString, expected);
        QCOMPARE(shortened(text.constData()), expected);
    }

    void whatIsPlainStays_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::newRow("nothing") << QByteArray("");
        QTest::newRow("shifts") << QByteArray("int a = 1 << 2, b = a >> 1; v<v<v<int>>> c;\n");
        QTest::newRow("comments") << QByteArray(
            "// a<<<1, 2>>>(b) asm(\"x\")\n/* __shared__\n*/\n");
        QTest::newRow("strings") << QByteArray("f(\"a<<<1>>>() \\\" asm(\"); g('\"', '<');\n");
        QTest::newRow("raw string") << QByteArray("auto a = R\"x(<<< \" __shared__ )x\";\n");
        QTest::newRow("digits") << QByteArray("int a = 1'000, b = 0x1'f; // '\n");
        QTest::newRow("parts of words") << QByteArray("int my__shared__, asm_, chasm(int);\n");
        QTest::newRow("a hint") << QByteArray("asm(\"\" : \"+v\"(pack)); asm volatile(\"\" ::: "
                                              "\"memory\");\n");
        QTest::newRow("an apostrophe") << QByteArray("#if 0\nit's text\n#endif\n");
    }

    void whatIsPlainStays()
    {
        QFETCH(const QByteArray, text);
        QCOMPARE(rewritten(text.constData()), QString::fromUtf8(text));
    }

    void linesKeepTheirNumbers()
    {
        const char* text = "template <class T>\n"
                           "__global__ void k(T* a)\n"
                           "{\n"
                           "    __shared__ __align__(16)\n"
                           "        float x[2];\n"
                           "    asm volatile(\"ldmatrix.sync.aligned.m8n8.x4.shared.b16 \"\n"
                           "                 \"{%0, %1, %2, %3}, [%4];\"\n"
                           "                 : \"=r\"(a[0]), \"=r\"(a[1]),\n"
                           "                   \"=r\"(a[2]), \"=r\"(a[3])\n"
                           "                 : \"r\"(a[4]));\n"
                           "    afterAsm();\n"
                           "}\n"
                           "void run()\n"
                           "{\n"
                           "    some::k<float>\n"
                           "        <<<lineOfShape, // blocks\n"
                           "           2>>>(\n"
                           "            lineOfArgument);\n"
                           "    afterLaunch();\n"
                           "}\n";
        const QString out = rewritten(text);
        QCOMPARE(out.count(QLatin1Char('\n')), QString::fromUtf8(text).count(QLatin1Char('\n')));
        for (const char* part : {"afterAsm", "lineOfShape", "lineOfArgument", "afterLaunch"})
            QCOMPARE(lineOf(out, part), lineOf(QString::fromUtf8(text), part));
        QCOMPARE(lineOf(out, "::vergence::emulation::launch("), 15);
        QCOMPARE(lineOf(out, "::ptx::ldmatrix"), 6);
        QCOMPARE(lineOf(out, "sharedVariable("), 4);
    }

    void sharedVariablesOfAFileHaveTheirOwnPlaces()
    {
        const QString out = rewritten("void f() { __shared__ int a, b; }\n"
                                      "void g() { __shared__ int a; }\n");
        for (int i = 1; i <= 3; ++i)
            QCOMPARE(out.count(QStringLiteral("static ::vergence::emulation::SharedVariable "
                                              "emulatedShared%1;")
                                   .arg(i)),
                     1);
    }

    void thePathIsQuoted()
    {
        QCOMPARE(QString::fromStdString(rewriteKernels({"/a \"b\"\\c.cu", "x"})),
                 QStringLiteral("#line 1 \"/a \\\"b\\\"\\\\c.cu\"\nx"));
    }

    void badInputIsRefused_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QString>("expected");
        const auto row = [](const char* name, const char* text, const char* expected) {
            QTest::newRow(name) << QByteArray(text) << QString::fromUtf8(expected);
        };
        badLaunchRows(row);
        badSharedRows(row);
        badInstructionRows(row);
        row("comment", "x;\n/* no end", "2: a comment without end");
        row("string", "x;\n\ny = \"no end;\n", "3: a string without end");
        row("raw string", "auto x = R\"a(no end)b\";", "1: a raw string without end");
    }

    void badInputIsRefused()
    {
        QFETCH(const QByteArray, text);
        QFETCH(const QString, expected);
        QCOMPARE(vergence::test::thrown<RewriteError>([&] { rewritten(text.constData()); }),
                 "/tree/kernel.cu:" + expected);
    }

private:
    template <class Row>
    static void launchRows(const Row& row)
    {
        row("launch", "void f() { k<<<1, n>>>(a, b + c); }",
            "void f() { ~launch(SITE, \"k\", ~LaunchShape(1, n), [=](auto... given) { "
            "k(given...); }, a, b + c); }");
        row("without arguments", "k<<<grid, dim3(1, 2), 0, s>>>( );",
            "~launch(SITE, \"k\", ~LaunchShape(grid, dim3(1, 2), 0, s), [=](auto... given) { "
            "k(given...); } );");
        row("templates", "return a::b<c<d>, (1 > 0)>::e<F><<<1, g<int>(2)>>>(h<i>);",
            "return ~launch(SITE, \"a::b<c<d>, (1 > 0)>::e<F>\", ~LaunchShape(1, g<int>(2)), "
            "[=](auto... given) { a::b<c<d>, (1 > 0)>::e<F>(given...); }, h<i>);");
        row("global name", "return ::k<<<1, 2>>>(a);",
            "return ~launch(SITE, \"::k\", ~LaunchShape(1, 2), [=](auto... given) { "
            "::k(given...); }, a);");
        row("a character as argument", "k<'\"'><<<1, 2>>>(a);",
            "~launch(SITE, \"k< >\", ~LaunchShape(1, 2), [=](auto... given) { k<'\"'>(given...); "
            "}, a);");
        row("two", "k<<<1, 2>>>(a);l<<<3, 4>>>(b);",
            "~launch(SITE, \"k\", ~LaunchShape(1, 2), [=](auto... given) { k(given...); }, a);"
            "~launch(SITE, \"l\", ~LaunchShape(3, 4), [=](auto... given) { l(given...); }, b);");
    }

    template <class Row>
    static void sharedRows(const Row& row)
    {
        row("variable", "void f() { __shared__ Facts facts; }",
            "void f() { static ~SharedVariable emulatedShared1; Facts (&facts) = "
            "*static_cast<Facts (*)>(~sharedVariable(emulatedShared1, sizeof(Facts), "
            "alignof(Facts))); }");
        row("array", "{ __shared__ typename E<a, b>::T x[2][n + 1]; }",
            "{ static ~SharedVariable emulatedShared1; typename E<a, b>::T (&x)[2][n + 1] = "
            "*static_cast<typename E<a, b>::T (*)[2][n + 1]>(~sharedVariable(emulatedShared1, "
            "sizeof(typename E<a, b>::T[2][n + 1]), alignof(typename E<a, b>::T))); }");
        row("two in a namespace", "namespace a {\nvoid f() { static __shared__ int x, y[3]; }\n}",
            "namespace a {\nvoid f() { static ~SharedVariable emulatedShared1; int (&x) = "
            "*static_cast<int (*)>(~sharedVariable(emulatedShared1, sizeof(int), alignof(int))); "
            "static ~SharedVariable emulatedShared2; int (&y)[3] = "
            "*static_cast<int (*)[3]>(~sharedVariable(emulatedShared2, sizeof(int[3]), "
            "alignof(int))); }\n}");
        row("aligned", "{ alignas(8 * 2) __shared__ char x[4]; }",
            "{ static ~SharedVariable emulatedShared1; char (&x)[4] = *static_cast<char (*)[4]>"
            "(~sharedVariable(emulatedShared1, sizeof(char[4]), 8 * 2)); }");
        row("pointer", "{ __shared__ const float* x; }",
            "{ static ~SharedVariable emulatedShared1; const float* (&x) = *static_cast<const "
            "float* (*)>(~sharedVariable(emulatedShared1, sizeof(const float*), alignof(const "
            "float*))); }");
        row("dynamic", "{ extern __shared__ __align__(16) unsigned char memory[]; }",
            "{ unsigned char* memory = static_cast<unsigned char*>(~dynamicShared()); }");
    }

    template <class Row>
    static void instructionRows(const Row& row)
    {
        row("operands in the order of the text",
            "asm volatile(\"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%3, %1, %2, %0}, [%4];"
            "\" : \"=r\"(x[0]), \"=r\"(f(1, 2)), \"=r\"(c), \"=r\"(d) : \"r\"(at) : \"memory\");",
            "~ptx::ldmatrix_sync_aligned_m8n8_x4_trans_shared_b16(SITE, (d), (f(1, 2)), (c), "
            "(x[0]), (at));");
        row("an operand that is read and written",
            "asm(\"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 \" "
            "\"{%0,%1,%2,%3}, {%4,%5,%6,%7}, \" /* b */ \"{%8,%9}, {%0,%1,%2,%3};\\n\\t\""
            " : \"+f\"(a), \"+f\"(b), \"+f\"(c), \"+f\"(d) : \"r\"(e), \"r\"(f), \"r\"(g), "
            "\"r\"(h), \"r\"(i), \"r\"(j));",
            "~ptx::mma_sync_aligned_m16n8k16_row_col_f32_f16_f16_f32(SITE, (a), (b), (c), (d), "
            "(e), (f), (g), (h), (i), (j), (a), (b), (c), (d));");
    }

    template <class Row>
    static void badLaunchRows(const Row& row)
    {
        row("launch: no name", "\n (f())<<<1, 2>>>(a);",
            "2: what is launched must be the name of a kernel");
        row("launch: nothing before", "<<<1, 2>>>(a);",
            "1: what is launched must be the name of a kernel");
        row("launch: templates", "x;\n a><<<1, 2>>>(b);",
            "2: the template arguments of this launch have no beginning");
        row("launch: no end of the shape", "k<<<1, 2>>(a);", "1: a launch without >>>");
        row("launch: brackets of the shape", "k<<<f(1, 2>>>(a);", "1: a launch without >>>");
        row("launch: one number", "k<<<1>>>(a);",
            "1: a launch has from two to four numbers between <<< and >>>");
        row("launch: five numbers", "k<<<1, 2, 3, 4, 5>>>(a);",
            "1: a launch has from two to four numbers between <<< and >>>");
        row("launch: no arguments", "\n\nk<<<1, 2>>>;", "3: a launch without arguments");
        row("launch: end of text", "k<<<1, 2>>>", "1: a launch without arguments");
        row("launch: arguments", "k<<<1, 2>>>(a;", "1: the arguments of this launch have no end");
    }

    template <class Row>
    static void badSharedRows(const Row& row)
    {
        row("shared: outside of functions", "namespace a {\n__shared__ int x;\n}",
            "2: shared memory is declared inside of a kernel");
        row("shared: a value", "{\n__shared__ int x = 1; }",
            "2: shared memory is declared without a value, up to a semicolon");
        row("shared: no end", "{ __shared__ int x",
            "1: shared memory is declared without a value, up to a semicolon");
        row("shared: a constructor", "{ __shared__ X x(3); }",
            "1: this declaration of shared memory is not understood");
        row("shared: pointers", "{ __shared__ int *x, *y; }",
            "1: this declaration of shared memory is not understood");
        row("shared: no type", "{ __shared__ x; }",
            "1: this declaration of shared memory is not understood");
        row("shared: extern with extent", "{ extern __shared__ int x[4]; }",
            "1: extern __shared__ declares one array without extent");
        row("shared: extern variable", "{ extern __shared__ int x; }",
            "1: extern __shared__ declares one array without extent");
    }

    template <class Row>
    static void badInstructionRows(const Row& row)
    {
        row("asm: unknown", "\nasm(\"add.f32 %0, %1, %2;\" : \"=f\"(a) : \"f\"(b), \"f\"(c));",
            "2: the instruction add.f32 is not emulated");
        row("asm: two instructions", "asm(\"a.b %0; c.d %0;\" : \"=f\"(a));",
            "1: one instruction an asm");
        row("asm: goto", "asm goto(\"x\");", "1: an asm without text");
        row("asm: no end", "asm(\"x\"", "1: an asm without end");
        row("asm: a macro", "asm(TEXT);", "1: the text of an asm is one of string literals");
        row("asm: a named operand", "asm(\"x\" : [a] \"=r\"(a));",
            "1: an operand of this asm is not of the form \"r\"(expression)");
        row("asm: an immediate",
            "asm(\"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [12];\" : "
            "\"=r\"(a), \"=r\"(b), \"=r\"(c), \"=r\"(d));",
            "1: operands of instructions are written %0, %1, …");
        row("asm: too few operands",
            "asm(\"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0}, [%1];\" : \"=r\"(a) : "
            "\"r\"(b));",
            "1: ldmatrix.sync.aligned.m8n8.x4.shared.b16 has 5 operands");
        row("asm: an operand that is not there",
            "asm(\"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %0, %0, %0}, [%2];\" : "
            "\"=r\"(a) : \"r\"(b));",
            "1: there is no operand %2");
    }
};

VERGENCE_TEST(TestKernelRewriter)
#include "tst_kernel_rewriter.moc"
