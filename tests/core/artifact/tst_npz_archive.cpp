#include <cmath>

#include <QtTest>

#include <zip.h>

#include "core/artifact/npz_archive.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "tests/support/scratch.h"
#include "tests/support/test_program.h"
#include "tests/support/thrown.h"

using namespace vergence;
using vergence::test::Scratch;

namespace {

using Extents = std::vector<std::int64_t>;

// Written by NumPy 2.4 with savez_compressed: paths, trial_pre [2, 3] with a NaN, half, ints,
// small (int32), mixed (bool), single (a scalar), none [0, 4], turned (Fortran order).
constexpr const char* kDeflatedByNumpy =
    "UEsDBC0AAAAIAAAAIQCt2fkW//////////8JABQAcGF0aHMubnB5AQAQAEABAAAAAAAAiAAAAAAAAACb7BfqGxDJyFDGUK"
    "2eklqcXKRupaBuE2popq6joJ6WX1RSlJgXn1+UkgqScEvMKU4FihdnJBakAvkaxjqaOgq1CuQDrjwGBgYDIDYEYhMoBvHN"
    "gdgMytcH4kQg1gNiLyAOAGJXIHYH4nQgLgLiP0CcB1X7Eaq2ACoGUoML/LnGCNaThEcNPgAAUEsDBC0AAAAIAAAAIQAD+J"
    "4g//////////8NABQAdHJpYWxfcHJlLm5weQEAEACwAAAAAAAAAGEAAAAAAAAAm+wX6hsQychQxlCtnpJanFykbqWgbpNm"
    "oa6joJ6WX1RSlJgXn1+UkgoSd0vMKU4FihdnJBakAvkaRjoKxpo6CrUKZAMuBjD4YQ+hGQ6EPBEoLNY6aQfhXoCK/6iH0D"
    "IOAFBLAwQtAAAACAAAACEA7x1z+f//////////CAAUAGhhbGYubnB5AQAQAIYAAAAAAAAASgAAAAAAAACb7BfqGxDJyFDG"
    "UK2eklqcXKRupaBuk2akrqOgnpZfVFKUmBefX5SSChJ3S8wpTgWKF2ckFqQC+RrGOpo6CrUKFAAuBov/1YwNAFBLAwQtAA"
    "AACAAAACEARWlqDv//////////CAAUAGludHMubnB5AQAQAJAAAAAAAAAASwAAAAAAAACb7BfqGxDJyFDGUK2eklqcXKRu"
    "paBuk2mhrqOgnpZfVFKUmBefX5SSChJ3S8wpTgWKF2ckFqQC+RpGOpo6CrUKFAAuBjBQYPgPBQBQSwMELQAAAAgAAAAhAA"
    "S2ai3//////////wkAFABzbWFsbC5ucHkBABAAiAAAAAAAAABPAAAAAAAAAJvsF+obEMnIUMZQrZ6SWpxcpG6loG6TaaKu"
    "o6Cell9UUpSYF59flJIKEndLzClOBYoXZyQWpAL5GkY6CoaaOgq1CmQDLkYGBobf////BwBQSwMELQAAAAgAAAAhAO4Zu1"
    "3//////////wkAFABtaXhlZC5ucHkBABAAggAAAAAAAABGAAAAAAAAAJvsF+obEMnIUMZQrZ6SWpxcpG6loF6TZKiuo6Ce"
    "ll9UUpSYF59flJIKEndLzClOBYoXZyQWpAL5GkY6mjoKtQoUAC5GBgBQSwMELQAAAAgAAAAhAGvEHJb//////////woAFA"
    "BzaW5nbGUubnB5AQAQAIQAAAAAAAAARgAAAAAAAACb7BfqGxDJyFDGUK2eklqcXKRupaBuk2airqOgnpZfVFKUmBefX5SS"
    "ChJ3S8wpTgWKF2ckFqQC+RqaOgq1ChQBLgYGBnsAUEsDBC0AAAAIAAAAIQAxNwnj//////////8IABQAbm9uZS5ucHkBAB"
    "AAgAAAAAAAAABGAAAAAAAAAJvsF+obEMnIUMZQrZ6SWpxcpG6loG6TZqGuo6Cell9UUpSYF59flJIKEndLzClOBYoXZyQW"
    "pAL5GgY6CiaaOgq1CmQDLgBQSwMELQAAAAgAAAAhACQubH3//////////woAFAB0dXJuZWQubnB5AQAQAKAAAAAAAAAATA"
    "AAAAAAAACb7BfqGxDJyFDGUK2eklqcXKRupaBuk2ahrqOgnpZfVFKUmBefX5SSChIPKSpNBQoXZyQWpAK5GkY6CkaaOgq1"
    "CuQDLgYw+GCPiwYAUEsBAi0DLQAAAAgAAAAhAK3Z+RaIAAAAQAEAAAkAAAAAAAAAAAAAAIABAAAAAHBhdGhzLm5weVBLAQ"
    "ItAy0AAAAIAAAAIQAD+J4gYQAAALAAAAANAAAAAAAAAAAAAACAAcMAAAB0cmlhbF9wcmUubnB5UEsBAi0DLQAAAAgAAAAh"
    "AO8dc/lKAAAAhgAAAAgAAAAAAAAAAAAAAIABYwEAAGhhbGYubnB5UEsBAi0DLQAAAAgAAAAhAEVpag5LAAAAkAAAAAgAAA"
    "AAAAAAAAAAAIAB5wEAAGludHMubnB5UEsBAi0DLQAAAAgAAAAhAAS2ai1PAAAAiAAAAAkAAAAAAAAAAAAAAIABbAIAAHNt"
    "YWxsLm5weVBLAQItAy0AAAAIAAAAIQDuGbtdRgAAAIIAAAAJAAAAAAAAAAAAAACAAfYCAABtaXhlZC5ucHlQSwECLQMtAA"
    "AACAAAACEAa8QclkYAAACEAAAACgAAAAAAAAAAAAAAgAF3AwAAc2luZ2xlLm5weVBLAQItAy0AAAAIAAAAIQAxNwnjRgAA"
    "AIAAAAAIAAAAAAAAAAAAAACAAfkDAABub25lLm5weVBLAQItAy0AAAAIAAAAIQAkLmx9TAAAAKAAAAAKAAAAAAAAAAAAAA"
    "CAAXkEAAB0dXJuZWQubnB5UEsFBgAAAAAJAAkA8gEAAAEFAAAAAA==";

// The same paths, and trial_pre as x, by savez: stored, with 64-bit sizes in the local headers.
constexpr const char* kStoredByNumpy =
    "UEsDBC0AAAAAAAAAIQCt2fkW//////////8JABQAcGF0aHMubnB5AQAQAEABAAAAAAAAQAEAAAAAAACTTlVNUFkBAHYAey"
    "dkZXNjcic6ICc8VTE2JywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDMsKSwgfSAgICAgICAgICAgICAg"
    "ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgCm4AAAAwAAAAMQAAADQAAAA0AAAAMAAAAD"
    "cAAAA2AAAANAAAAC8AAABhAAAALgAAAEoAAABQAAAARQAAAEcAAABnAAAAcgAAAPwAAABuAAAALwAAAPEAAAAuAAAAcAAA"
    "AG4AAABnAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA/NYBAC8AAABiAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAFBLAwQtAAAAAAAAACEAA/ieIP//////////BQAUAHgubnB5AQAQALAAAAAA"
    "AAAAsAAAAAAAAACTTlVNUFkBAHYAeydkZXNjcic6ICc8ZjgnLCAnZm9ydHJhbl9vcmRlcic6IEZhbHNlLCAnc2hhcGUnOi"
    "AoMiwgMyksIH0gICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgCgAA"
    "AAAAAPg/AAAAAAAAAMBU5BBxcyrJPgAAAAAAANA/AAAAAAAA+H8AAAAAAAAcQFBLAQItAy0AAAAAAAAAIQCt2fkWQAEAAE"
    "ABAAAJAAAAAAAAAAAAAACAAQAAAABwYXRocy5ucHlQSwECLQMtAAAAAAAAACEAA/ieILAAAACwAAAABQAAAAAAAAAAAAAA"
    "gAF7AQAAeC5ucHlQSwUGAAAAAAIAAgBqAAAAYgIAAAAA";

const std::vector<std::string> kPaths{"n01440764/a.JPEG", "grün/ñ.png", "𝛼/b"};

std::filesystem::path unpacked(const Scratch& scratch, const char* base64)
{
    const QByteArray bytes = QByteArray::fromBase64(base64);
    writeFileAtomic(scratch / "numpy.npz", std::string_view(bytes.data(), bytes.size()));
    return scratch / "numpy.npz";
}

/// A ZIP with one stored entry `x.npy` of these bytes.
std::filesystem::path archiveOf(const Scratch& scratch, const std::string& bytes)
{
    const auto path = scratch / "made.npz";
    zip_t* zip = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr);
    zip_file_add(zip, "x.npy", zip_source_buffer(zip, bytes.data(), bytes.size(), 0), 0);
    zip_set_file_compression(zip, 0, ZIP_CM_STORE, 0);
    zip_close(zip);
    return path;
}

std::string npy(const std::string& dictionary, const std::string& data)
{
    std::string bytes("\x93NUMPY\x01\x00", 8);
    bytes += static_cast<char>(dictionary.size());
    return bytes + '\0' + dictionary + data;
}

void writeExample(const std::filesystem::path& path)
{
    NpzWriter writer(path);
    writer.add("paths", kPaths);
    writer.add("f8", std::vector<double>{1.5, -2, 3e-6, 0.25, NAN, 7}, Extents{2, 3});
    writer.add("f4", std::vector<float>{0.1F, 2}, Extents{2, 1});
    writer.add("i8", std::vector<std::int64_t>{INT64_C(1) << 53, -1}, Extents{2});
    writer.commit();
}

} // namespace

class NpzArchiveTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void arraysComeBack()
    {
        const Scratch scratch;
        writeExample(scratch / "a.npz");
        const NpzArchive archive(scratch / "a.npz");
        QCOMPARE(archive.names(), (std::vector<std::string>{"paths", "f8", "f4", "i8"}));
        QVERIFY(archive.has("f4"));
        QVERIFY(!archive.has("f2"));
        QCOMPARE(archive.texts("paths"), kPaths);
        QCOMPARE(archive.shape("f8"), (Extents{2, 3}));
        const auto f8 = archive.numbers("f8");
        QCOMPARE(f8[2], 3e-6);
        QVERIFY(std::isnan(f8[4]));
        QCOMPARE(archive.shape("f4"), (Extents{2, 1}));
        QCOMPARE(archive.numbers("f4"), (std::vector<double>{0.1F, 2}));
        QCOMPARE(archive.numbers("i8"), (std::vector<double>{9007199254740992., -1}));
    }

    void equalArraysGiveEqualBytes()
    {
        const Scratch scratch;
        writeExample(scratch / "a.npz");
        writeExample(scratch / "b.npz");
        const std::string bytes = readFile(scratch / "a.npz");
        QVERIFY(bytes == readFile(scratch / "b.npz"));
        // Time and date of the first entry are fixed: 1980-01-01, midnight.
        QCOMPARE(bytes.substr(10, 4), std::string("\0\0\x21\0", 4));
    }

    void nothingAppearsBeforeTheCommit()
    {
        const Scratch scratch;
        {
            NpzWriter writer(scratch / "a.npz");
            writer.add("x", std::vector<double>{1}, Extents{});
        }
        QVERIFY(test::contentOf(scratch.path()).empty());
    }

    void malformedUtf8BecomesAReplacement()
    {
        const Scratch scratch;
        NpzWriter writer(scratch / "a.npz");
        writer.add("texts", std::vector<std::string>{"a\xFFz", "\xC3", "", "\xE2\x82"});
        writer.commit();
        QCOMPARE(NpzArchive(scratch / "a.npz").texts("texts"),
                 (std::vector<std::string>{"a\uFFFDz", "\uFFFD", "", "\uFFFD"}));
    }

    void compressedFilesOfNumpyAreRead()
    {
        const Scratch scratch;
        const NpzArchive archive(unpacked(scratch, kDeflatedByNumpy));
        QCOMPARE(archive.texts("paths"), kPaths);
        QCOMPARE(archive.shape("trial_pre"), (Extents{2, 3}));
        QCOMPARE(archive.numbers("trial_pre")[2], 3e-6);
        QVERIFY(std::isnan(archive.numbers("trial_pre")[4]));
        QCOMPARE(archive.numbers("half"), (std::vector<double>{0.5, 65504, -0x1p-24}));
        QCOMPARE(archive.numbers("ints"), (std::vector<double>{9007199254740992., -1}));
        QCOMPARE(archive.numbers("small"), (std::vector<double>{1, -5}));
        QCOMPARE(archive.numbers("mixed"), (std::vector<double>{1, 0}));
        QCOMPARE(archive.shape("single"), Extents{});
        QCOMPARE(archive.numbers("single"), std::vector<double>{0.5});
        QCOMPARE(archive.shape("none"), (Extents{0, 4}));
        VERGENCE_THROWS(InputError, "Fortran", archive.numbers("turned"));
    }

    void storedFilesOfNumpyAreRead()
    {
        const Scratch scratch;
        const NpzArchive archive(unpacked(scratch, kStoredByNumpy));
        QCOMPARE(archive.texts("paths"), kPaths);
        QCOMPARE(archive.numbers("x")[5], 7.);
    }

    void whatIsAskedWronglyIsNamed()
    {
        const Scratch scratch;
        writeExample(scratch / "a.npz");
        const NpzArchive archive(scratch / "a.npz");
        VERGENCE_THROWS(InputError, "`trial_post` of", archive.numbers("trial_post"));
        VERGENCE_THROWS(InputError, "paths, f8, f4, i8", archive.numbers("trial_post"));
        VERGENCE_THROWS(InputError, "holds texts", archive.numbers("paths"));
        VERGENCE_THROWS(InputError, "holds numbers", archive.texts("f8"));
        VERGENCE_THROWS(InputError, "not a readable NPZ", NpzArchive(scratch / "none.npz"));
        NpzWriter writer(scratch / "b.npz");
        writer.add("x", std::vector<double>{1}, Extents{1});
        VERGENCE_THROWS(ContractError, "twice", writer.add("x", kPaths));
        VERGENCE_THROWS(ContractError, "shape",
                        writer.add("y", std::vector<double>{1}, Extents{2, 2}));
    }

    void damageIsRefused_data()
    {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("complaint");
        const auto row = [](const char* name, const std::string& bytes, const char* complaint) {
            QTest::newRow(name) << QByteArray::fromStdString(bytes) << complaint;
        };
        const std::string eight(8, 'a');
        row("no magic", "0123456789abcdef", "not an NPY");
        row("short header", std::string("\x93NUMPY\x01\x00\x80\x00ab", 12), "inside its header");
        row("objects", npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", eight),
            "type `|O`");
        row("big-endian", npy("{'descr': '>f8', 'fortran_order': False, 'shape': (1,), }", eight),
            "type `>f8`");
        row("no shape", npy("{'descr': '<f8', 'fortran_order': False}", eight), "shape");
        row("too few", npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", eight),
            "holds 8 bytes");
        row("overflow",
            npy("{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }",
                ""),
            "holds 0 bytes");
    }
    void damageIsRefused()
    {
        QFETCH(QByteArray, bytes);
        QFETCH(QString, complaint);
        const Scratch scratch;
        const auto path = archiveOf(scratch, bytes.toStdString());
        VERGENCE_THROWS(InputError, complaint.toUtf8().constData(), NpzArchive(path).numbers("x"));
    }

    void aFlippedBitIsFound()
    {
        const Scratch scratch;
        const std::string eight(8, 'a');
        const auto path = archiveOf(
            scratch, npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }", eight));
        std::string bytes = readFile(path);
        bytes[bytes.find(eight)] ^= 1;
        writeFileAtomic(path, bytes);
        VERGENCE_THROWS(InputError, "damaged", NpzArchive(path).numbers("x"));
    }
};

VERGENCE_TEST(NpzArchiveTest)
#include "tst_npz_archive.moc"
