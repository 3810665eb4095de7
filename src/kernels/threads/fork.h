// Threads do not survive fork(): a child has none of those that its parent had started.
#pragma once

namespace amp::kernels {

// To be called before a thread is started.
void NoteThreadsStarted();

// This process was forked after threads had been started: it must not use more than one.
bool ThreadsLost();

}  // namespace amp::kernels
