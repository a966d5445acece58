#include <QFile>
#include <QRegularExpression>
#include <QTest>

/// Two kernels compute which tiles a splat reaches, one counts them and one lists them. What the
/// compiler for the GPU may fuse as it likes could differ between them by a tile.
class TestSugarTileSpans : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void nothingIsLeftToTheCompilerToFuse()
    {
        QFile file(ELLIPSE_BAND_PTX);
        QVERIFY2(file.open(QIODevice::ReadOnly), ELLIPSE_BAND_PTX);
        const QString text = QString::fromLatin1(file.readAll());
        const auto lines = [&text](const char* pattern) {
            return text.split('\n').filter(QRegularExpression(pattern));
        };
        QVERIFY(!lines(R"(\bmul\.rn\.f32\b)").isEmpty());
        const QStringList loose = lines(R"(\b(fma\.[a-z.]*f32|mul(\.ftz)?\.f32)\b)");
        QVERIFY2(loose.isEmpty(), qPrintable(loose.join('\n')));
    }
};

QTEST_APPLESS_MAIN(TestSugarTileSpans)
#include "tst_sugar_tile_spans.moc"
