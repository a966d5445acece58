#include <array>
#include <functional>

#include <QTest>

#include "tests/support/cuda_emulation/engine/traces.h"
#include "tests/support/test_program.h"

using namespace vergence::emulation;

namespace {

/// One word of memory and a device's time. Steps are words:
///   3w, 3r, 3a  thread 3 writes, reads, changes the word atomically; 3w2: byte 2 of it
///   |           all threads of the block have waited at a barrier
///   s1          the lanes of warp 1 have waited for one another
///   /  and  //  the next block, the next launch
class Word {
public:
    explicit Word(Memory memory) : m_memory(memory)
    {
        take(QStringLiteral("//"));
        take(QStringLiteral("/"));
    }

    Conflict take(const QString& step)
    {
        if (step == QStringLiteral("//"))
            m_moment.launch = tick();
        else if (step == QStringLiteral("/"))
            m_moment.block = m_moment.barrier = tick();
        else if (step == QStringLiteral("|"))
            m_moment.barrier = tick();
        else if (step.startsWith(QLatin1Char('s')))
            m_warpMoments[step.mid(1).toUInt()] = tick();
        else
            return access(step);
        return Conflict::None;
    }

private:
    Stamp tick() { return ++m_time << kTimeShift; }

    Conflict access(const QString& step)
    {
        qsizetype letter = 0;
        while (step[letter].isDigit())
            ++letter;
        const Stamp thread = step.left(letter).toUInt();
        const int byte = letter + 1 < step.size() ? step.mid(letter + 1).toInt() : -1;
        m_moment.now = m_time << kTimeShift | thread << kThreadShift;
        m_moment.warp = m_warpMoments[thread / 32];
        const char kind = step[letter].toLatin1();
        return kind == 'r'   ? touch<Access::Read>(byte)
               : kind == 'w' ? touch<Access::Write>(byte)
                             : touch<Access::Atomic>(byte);
    }

    template <Access A>
    Conflict touch(int byte)
    {
        return m_memory == Memory::Device ? touch<A, Memory::Device>(byte)
                                          : touch<A, Memory::Shared>(byte);
    }
    template <Access A, Memory M>
    Conflict touch(int byte)
    {
        const TraceTable table{m_words.data(), m_bytes.data()};
        if (byte < 0)
            return touchWord<A, M>(table, 0, m_moment);
        const auto first = static_cast<std::size_t>(byte);
        return touchBytes<A, M>(table, first, first + 1, m_moment);
    }

    Memory m_memory;
    Moment m_moment;
    Stamp m_time = 0;
    std::array<Stamp, 32> m_warpMoments{};
    std::array<Trace, 1> m_words;
    std::array<Trace, 4> m_bytes;
};

const char* nameOf(Conflict conflict)
{
    switch (conflict) {
    case Conflict::Unset:
        return "unset";
    case Conflict::ReadsWritten:
        return "reads written";
    case Conflict::WritesWritten:
        return "writes written";
    case Conflict::WritesRead:
        return "writes read";
    default:
        return "none";
    }
}

/// What the last step meets; the others must meet nothing.
QString conflictOf(Memory memory, const char* steps)
{
    Word word(memory);
    const QStringList all = QString::fromLatin1(steps).split(QLatin1Char(' '));
    for (qsizetype i = 0; i + 1 < all.size(); ++i) {
        const Conflict conflict = word.take(all[i]);
        if (conflict != Conflict::None)
            return QStringLiteral("%1 at %2").arg(QLatin1String(nameOf(conflict)), all[i]);
    }
    return QLatin1String(nameOf(word.take(all.back())));
}

} // namespace

/// Which accesses to one word of memory are ordered.
class TestEmulatedTraces : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void bothMemories_data()
    {
        const auto row = rows();
        row("0r0", "none");
        row("0r 0w 0r", "none");
        row("1r", "reads written");
        row("33r", "reads written");
        row("1w", "writes written");
        row("| 1r", "none");
        row("| 1w", "none");
        row("| 1r 2w", "writes read");
        row("| 1r | 2w", "none");
        row("s0 1r", "none");
        row("s1 1r", "reads written");
        row("s0 33r", "reads written");
        row("s1 33r", "reads written");
        row("| 1r s0 2w", "none");
        row("| 1r 2r s0 1w", "none");
        row("| 1r s1 2w", "writes read");
        row("| 1r s1 33w", "writes read");
        row("| 1r 2r 2w", "writes read");
        row("| 1r 2r 2r 2w", "writes read");
        row("| 1r 33r 33w", "writes read");
        row("| 1r 33r s0 s1 33w", "writes read");
        row("| 33r 1r s0 2r 2w", "writes read");
        row("| 1r 2r s0 2r 2w", "none");
        row("| 1r 33r | 33r 33w", "none");
        row("1a", "writes written");
        row("| 1a 2a 40a", "none");
        row("| 1a 2w", "writes written");
        row("| 1a 2r", "none");
        row("| 1r 2a", "none");
        row("| 1a | 2r 2w", "none");
    }
    void bothMemories()
    {
        QFETCH(const QString, steps);
        const QByteArray text = "0w " + steps.toLatin1();
        QTEST(conflictOf(Memory::Device, text.constData()), "expected");
        QTEST(conflictOf(Memory::Shared, text.constData()), "expected");
    }

    void deviceMemory_data()
    {
        const auto row = rows();
        row("0r", "none");
        row("0w / 0r", "reads written");
        row("0w / 0w", "writes written");
        row("0w | / 0r", "reads written");
        row("0r / 0r 5r", "none");
        row("0r / 0w", "writes read");
        row("0r / 0r 0w", "writes read");
        row("0r / 0r | 0r 0w", "writes read");
        row("0r / | 0r 1r | 1w", "writes read");
        row("0w // / 0r", "none");
        row("0r // / 1w", "none");
        row("0r 1r // / 1r 1w", "none");
        row("0a / 0a", "none");
        row("0a / 0w", "writes written");
    }
    void deviceMemory()
    {
        QFETCH(const QString, steps);
        QTEST(conflictOf(Memory::Device, steps.toLatin1().constData()), "expected");
    }

    void sharedMemory_data()
    {
        const auto row = rows();
        row("0r", "unset");
        row("0a", "unset");
        row("0w / 0r", "unset");
        row("0w / 0w | 1r", "none");
        row("0w0 0r0", "none");
        row("0w0 0r1", "unset");
        row("0w0 0r", "unset");
        row("0w0 0w1 0w2 0w3 | 1r", "none");
        row("0w0 0w1 0w2 0w3 / 1r", "unset");
    }
    void sharedMemory()
    {
        QFETCH(const QString, steps);
        QTEST(conflictOf(Memory::Shared, steps.toLatin1().constData()), "expected");
    }

    void bytesOfAWord_data()
    {
        const auto row = rows();
        row("0w0 1w1 2w2 33w3", "none");
        row("0w0 1w1 1w0", "writes written");
        row("0w0 1w1 1r0", "reads written");
        row("0w0 1w", "writes written");
        row("0w 1w2", "writes written");
        row("0r 1w2", "writes read");
        row("0w 0r0 1r2", "reads written");
        row("0w | 1r 2w3", "writes read");
        row("0w | 1r2 2w", "writes read");
        row("0w | 1r2 2w3", "none");
        row("0w0 1w1 | 2w | 3r1", "none");
        row("0w0 1w1 | 2w 3r1", "reads written");
        row("0w0 // / 1w", "none");
        row("0w0 // / 1w 1r0 2r0", "reads written");
        row("0w0 // / 0w1 1w0", "none");
    }
    void bytesOfAWord()
    {
        QFETCH(const QString, steps);
        QTEST(conflictOf(Memory::Device, steps.toLatin1().constData()), "expected");
    }

    void timeDoesNotRunOut()
    {
        QCOMPARE(conflictOf(Memory::Device, "1023w 0r"), QStringLiteral("reads written"));
        Moment moment;
        Trace trace;
        const Stamp late = (Stamp{1} << 51) - 2;
        moment.launch = moment.block = moment.barrier = late << kTimeShift;
        moment.now = moment.barrier | 1023 << kThreadShift;
        QCOMPARE((touchTrace<Access::Write, Memory::Device>(trace, moment)), Conflict::None);
        moment.now = moment.barrier | 1022 << kThreadShift;
        QCOMPARE((touchTrace<Access::Read, Memory::Device>(trace, moment)), Conflict::ReadsWritten);
    }

private:
    static std::function<void(const char*, const char*)> rows()
    {
        QTest::addColumn<QString>("steps");
        QTest::addColumn<QString>("expected");
        return [](const char* steps, const char* expected) {
            QTest::newRow(steps) << QString::fromLatin1(steps) << QString::fromLatin1(expected);
        };
    }
};

VERGENCE_TEST(TestEmulatedTraces)
#include "tst_emulated_traces.moc"
