#pragma once

// OpenMP's threads do not survive fork(): a parallel region in the child of a process that has had one waits forever.
namespace amp::kernels {

// To be called before a parallel region of several threads.
void NoteThreadsStarted();

// This process was forked after threads had been started: it must not use more than one.
bool ThreadsLost();

}  // namespace amp::kernels
