// Errors as values. An operation returns Result<T>; its error says which class of fault it was
// (which decides the errno a program sees) and, in one sentence, what happened to which object.
//
// Absence is never an error: functions that may find nothing return Result<std::optional<T>>.
// Readers of Zarr take ENOENT, ENOTDIR and EISDIR for "this chunk holds the fill value", so no
// error class maps to one of these.
//
// Immutable values; safe to pass between threads.
#pragma once

#include <cerrno>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace zarrfs {

/// What kind of fault an operation met. Each kind has one errno.
enum class Fault {
  kDamaged,      ///< The store's contents contradict themselves (EUCLEAN).
  kIo,           ///< The storage below failed (EIO).
  kUnsupported,  ///< Understood, but there is no way to do it (EOPNOTSUPP).
  kInvalid,      ///< The caller's argument or document is not valid (EINVAL).
  kDenied,       ///< Not allowed by the storage below or by a link that leaves the store (EACCES).
  kForbidden,    ///< Not allowed by an option of the mount (EPERM).
  kLoop,         ///< Too many symbolic links (ELOOP).
  kReadOnly,     ///< The mount, the array or the storage cannot be written (EROFS).
  kNoSpace,      ///< The storage below is full (ENOSPC).
  kQuota,        ///< The owner's quota is used up (EDQUOT).
  kExists,       ///< The name is taken (EEXIST).
  kNotEmpty,     ///< The directory holds something (ENOTEMPTY).
  kTooBig,       ///< Larger than a chunk of this array can be (EFBIG).
  kStale,        ///< The object is another one than it was (ESTALE).
  kNoMemory,     ///< Out of memory (ENOMEM).
  kNoFiles,      ///< Out of file descriptors (ENFILE).
  kBusy,         ///< In use by somebody else (EBUSY).
  kGivenUp,      ///< Not done, as nobody waits for it any more (EINTR). Says nothing of the object.
  kCrossDevice,  ///< Cannot be renamed there; copy it (EXDEV).
  kNameTooLong,  ///< A path component is too long (ENAMETOOLONG).
  kNoData,       ///< No such extended attribute (ENODATA).
};

/// The errno of a fault, for replies to the kernel and exit statuses.
constexpr int errno_of(Fault fault) {
  switch (fault) {
    case Fault::kDamaged: return EUCLEAN;
    case Fault::kIo: return EIO;
    case Fault::kUnsupported: return EOPNOTSUPP;
    case Fault::kInvalid: return EINVAL;
    case Fault::kDenied: return EACCES;
    case Fault::kForbidden: return EPERM;
    case Fault::kLoop: return ELOOP;
    case Fault::kReadOnly: return EROFS;
    case Fault::kNoSpace: return ENOSPC;
    case Fault::kQuota: return EDQUOT;
    case Fault::kExists: return EEXIST;
    case Fault::kNotEmpty: return ENOTEMPTY;
    case Fault::kTooBig: return EFBIG;
    case Fault::kStale: return ESTALE;
    case Fault::kNoMemory: return ENOMEM;
    case Fault::kNoFiles: return ENFILE;
    case Fault::kBusy: return EBUSY;
    case Fault::kGivenUp: return EINTR;
    case Fault::kCrossDevice: return EXDEV;
    case Fault::kNameTooLong: return ENAMETOOLONG;
    case Fault::kNoData: return ENODATA;
  }
  return EIO;
}

/// Whether the fault says nothing of the object, and who asks again may find it well.
constexpr bool says_nothing(Fault fault) {
  return fault == Fault::kStale || fault == Fault::kGivenUp;
}

/// Whether it is this process that could not go on: it lacks something, what it needs is in use, or
/// nobody waits for it any more. The object may be well.
constexpr bool is_of_process(Fault fault) {
  return fault == Fault::kNoMemory || fault == Fault::kNoFiles || fault == Fault::kBusy ||
         fault == Fault::kGivenUp;
}

namespace detail {
constexpr bool no_fault_means_absence() {
  for (int i = 0; i <= static_cast<int>(Fault::kNoData); ++i) {
    const int number = errno_of(static_cast<Fault>(i));
    if (number == ENOENT || number == ENOTDIR || number == EISDIR) return false;
  }
  return true;
}
static_assert(no_fault_means_absence(), "a fault must never look like an absent chunk");
}  // namespace detail

/// The fault that an errno of a system call stands for; kIo for what has no kind of its own.
/// ENOENT, ENOTDIR and EISDIR must be handled before (absence is a value); here they become kIo.
Fault fault_of(int error_number);

/// A failed operation. `message` is one sentence without a trailing period that names the object
/// and the numbers, e.g. `shard a/c/0/1: entry 7 [9000, +512) lies past the end, 8192`.
struct Error {
  Fault fault = Fault::kIo;
  std::string message;
};

/// An Error of a failed system call: "MESSAGE: No space left on device".
Error system_error(int error_number, const std::string& message);

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(Fault fault, std::string message) {
  return tl::unexpected<Error>(Error{fault, std::move(message)});
}
inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

}  // namespace zarrfs

#define ZARRFS_CONCAT_INNER(a, b) a##b
#define ZARRFS_CONCAT(a, b) ZARRFS_CONCAT_INNER(a, b)

/// ZARRFS_TRY(auto value, expression): declares `value` from a Result, or returns its error.
#define ZARRFS_TRY(declaration, ...) \
  ZARRFS_TRY_INNER(ZARRFS_CONCAT(zarrfs_result_, __LINE__), declaration, __VA_ARGS__)
#define ZARRFS_TRY_INNER(result, declaration, ...)                                  \
  auto result = (__VA_ARGS__);                                                      \
  if (!result) return ::tl::unexpected<::zarrfs::Error>(std::move(result.error())); \
  declaration = std::move(*result)

/// ZARRFS_CHECK(expression): returns the error of a Result<void>.
#define ZARRFS_CHECK(...)                                                        \
  do {                                                                           \
    if (auto zarrfs_check = (__VA_ARGS__); !zarrfs_check)                        \
      return ::tl::unexpected<::zarrfs::Error>(std::move(zarrfs_check.error())); \
  } while (false)
