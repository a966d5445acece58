// One dubious plugin per target: the descriptor and these definitions say what is wrong with it.

#include <csignal>

#include <unistd.h>

#include <QObject>
#include <QtPlugin>

class BadPlugin : public QObject {
    Q_OBJECT
    Q_PLUGIN_METADATA(IID BAD_PLUGIN_INTERFACE FILE "descriptor.json")
};

#if defined(BAD_PLUGIN_CRASHES)
[[maybe_unused]] static const int kCrashed = std::raise(SIGSEGV);
#elif defined(BAD_PLUGIN_HANGS)
[[maybe_unused]] static const int kHung = [] {
    for (;;)
        ::pause();
    return 0;
}();
#elif defined(BAD_PLUGIN_CALLS)
extern "C" void BAD_PLUGIN_CALLS();
[[gnu::used]] static void callElsewhere()
{
    BAD_PLUGIN_CALLS();
}
#endif

#include "bad_plugin.moc"
