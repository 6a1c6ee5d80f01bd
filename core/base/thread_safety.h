// Names of clang's annotations of locks (-Wthread-safety): which lock guards a member, and which a
// function wants held. Other compilers do not read them.
#pragma once

#if defined(__clang__)
#define ZARRFS_LOCKS(...) __attribute__((__VA_ARGS__))
#else
#define ZARRFS_LOCKS(...)
#endif

#define ZARRFS_CAPABILITY ZARRFS_LOCKS(capability("mutex"))
#define ZARRFS_SCOPED_CAPABILITY ZARRFS_LOCKS(scoped_lockable)
/// A member that is read and changed only while the mutex is held.
#define ZARRFS_GUARDED_BY(mutex) ZARRFS_LOCKS(guarded_by(mutex))
/// The caller holds the mutex.
#define ZARRFS_REQUIRES(...) ZARRFS_LOCKS(requires_capability(__VA_ARGS__))
#define ZARRFS_REQUIRES_SHARED(...) ZARRFS_LOCKS(requires_shared_capability(__VA_ARGS__))
#define ZARRFS_ACQUIRE(...) ZARRFS_LOCKS(acquire_capability(__VA_ARGS__))
#define ZARRFS_ACQUIRE_SHARED(...) ZARRFS_LOCKS(acquire_shared_capability(__VA_ARGS__))
#define ZARRFS_TRY_ACQUIRE(...) ZARRFS_LOCKS(try_acquire_capability(__VA_ARGS__))
#define ZARRFS_TRY_ACQUIRE_SHARED(...) ZARRFS_LOCKS(try_acquire_shared_capability(__VA_ARGS__))
#define ZARRFS_RELEASE(...) ZARRFS_LOCKS(release_capability(__VA_ARGS__))
#define ZARRFS_RELEASE_SHARED(...) ZARRFS_LOCKS(release_shared_capability(__VA_ARGS__))
/// For what the analysis cannot follow; says why.
#define ZARRFS_UNCHECKED ZARRFS_LOCKS(no_thread_safety_analysis)
