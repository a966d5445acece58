#pragma once

#include <functional>
#include <vector>

class QObject;
class QThread;

namespace vergence {

/// Does `work` in a thread of its own and then `done` in that of `receiver`, unless that is gone by
/// then. The thread deletes itself.
QThread* startThread(const std::function<void()>& work, QObject* receiver,
                     const std::function<void()>& done);

/// For a receiver that goes: waits for its threads (null: none), two seconds for all together. What
/// still waits for another computer goes with the process; `work` must own what it uses.
void leaveThreads(const std::vector<QThread*>& threads);

} // namespace vergence
