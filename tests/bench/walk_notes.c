// Loaded into a program that was built with -finstrument-functions (tests/bench/walk): notes each
// function that is entered and each allocation, with its thread, in the file $WALK_FILE, while that
// says so.
#define _GNU_SOURCE
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kMost = 1 << 20 };
struct Note {
  uint64_t address;  // 0: an allocation
  uint64_t thread;
};
struct Notes {
  uint64_t on, count, base;  // base: where the program was loaded
  struct Note notes[kMost];
};
static struct Notes* notes;
static __thread uint64_t thread __attribute__((tls_model("initial-exec")));

static int first_object(struct dl_phdr_info* info, size_t size, void* base) {
  (void)size;
  *(uint64_t*)base = info->dlpi_addr;
  return 1;
}

__attribute__((constructor)) static void begin(void) {
  const char* name = getenv("WALK_FILE");
  const int file = name == NULL ? -1 : open(name, O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  void* mapped = mmap(NULL, sizeof(struct Notes), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (mapped == MAP_FAILED) return;
  dl_iterate_phdr(first_object, &((struct Notes*)mapped)->base);
  notes = mapped;
}

static void note(uint64_t address) {
  if (notes == NULL || __atomic_load_n(&notes->on, __ATOMIC_RELAXED) == 0) return;
  if (thread == 0) thread = (uint64_t)syscall(SYS_gettid);
  const uint64_t number = __atomic_fetch_add(&notes->count, 1, __ATOMIC_RELAXED);
  if (number < kMost) notes->notes[number] = (struct Note){address, thread};
}

void __cyg_profile_func_enter(void* function, void* caller) {
  (void)caller;
  note((uint64_t)function);
}
void __cyg_profile_func_exit(void* function, void* caller) {
  (void)function;
  (void)caller;
}

extern void* __libc_malloc(size_t size);
extern void* __libc_calloc(size_t count, size_t size);
extern void* __libc_realloc(void* memory, size_t size);
void* malloc(size_t size) {
  note(0);
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  note(0);
  return __libc_calloc(count, size);
}
void* realloc(void* memory, size_t size) {
  note(0);
  return __libc_realloc(memory, size);
}
