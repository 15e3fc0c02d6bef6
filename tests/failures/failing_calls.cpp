// A library to preload: one call of a process fails, as on a full disk or without memory.
//
//   COLLSIM_FAILING_CALL    allocate, write, name (a file by link or rename) or thread (start one)
//   COLLSIM_FAILING_NUMBER  which of them fails, from 1 on; all later ones go through, except that
//   a disk that is full
//                           stays so, and so does a user who has all threads that there are
//   COLLSIM_CALLS_FILE      where to write how many of them the process made
//
// Calls count within main(): what the dynamic linker and static objects do is not the command's.

#include <dlfcn.h>
#include <pthread.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

// glibc's own, under the names that it keeps for those who replace them.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" void* __libc_malloc(std::size_t);
extern "C" void* __libc_calloc(std::size_t, std::size_t);
extern "C" void* __libc_realloc(void*, std::size_t);
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace {

enum class Call { none, allocate, write, name, thread };

std::atomic<bool> counts{false};
std::atomic<long> calls{0};
Call failing = Call::none;
long failing_number = 0;

/// Whether this is the call that fails.
bool fails(Call call, bool stays) {
  if (call != failing || !counts) return false;
  const long number = ++calls;
  if (failing_number == 0) return false;
  return stays ? number >= failing_number : number == failing_number;
}

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

Call call_named(const char* name) {
  if (std::strcmp(name, "allocate") == 0) return Call::allocate;
  if (std::strcmp(name, "write") == 0) return Call::write;
  if (std::strcmp(name, "thread") == 0) return Call::thread;
  return std::strcmp(name, "name") == 0 ? Call::name : Call::none;
}

/// Only of regular files: pipes and terminals are not disks, and messages must come out.
bool is_file(int file) {
  return lseek(file, 0, SEEK_CUR) != -1;
}

void begin() {
  const char* const name = std::getenv("COLLSIM_FAILING_CALL");
  if (name == nullptr) return;
  failing = call_named(name);
  const char* const number = std::getenv("COLLSIM_FAILING_NUMBER");
  failing_number = number == nullptr ? 0 : std::atol(number);
  counts = true;
}

void end() {
  counts = false;
  const char* const path = std::getenv("COLLSIM_CALLS_FILE");
  if (path == nullptr) return;
  if (std::FILE* const file = std::fopen(path, "w")) {
    std::fprintf(file, "%ld\n", calls.load());
    std::fclose(file);
  }
}

using Main = int (*)(int, char**, char**);
Main main_of_program = nullptr;

int counted_main(int argc, char** argv, char** environment) {
  begin();
  const int status = main_of_program(argc, argv, environment);
  end();
  return status;
}

}  // namespace

extern "C" {

void* malloc(std::size_t size) {
  if (fails(Call::allocate, false)) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_malloc(size);
}

void* calloc(std::size_t count, std::size_t size) {
  if (fails(Call::allocate, false)) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_calloc(count, size);
}

void* realloc(void* old, std::size_t size) {
  if (fails(Call::allocate, false)) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_realloc(old, size);
}

ssize_t write(int file, const void* from, std::size_t size) {
  static const auto real = next<ssize_t (*)(int, const void*, std::size_t)>("write");
  if (is_file(file) && fails(Call::write, true)) {
    errno = ENOSPC;
    return -1;
  }
  return real(file, from, size);
}

ssize_t writev(int file, const iovec* from, int count) {
  static const auto real = next<ssize_t (*)(int, const iovec*, int)>("writev");
  if (is_file(file) && fails(Call::write, true)) {
    errno = ENOSPC;
    return -1;
  }
  return real(file, from, count);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*work)(void*),
                   void* argument) noexcept {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto real = next<Create>("pthread_create");
  if (fails(Call::thread, true)) return EAGAIN;
  return real(thread, attributes, work, argument);
}

int rename(const char* from, const char* to) {
  static const auto real = next<int (*)(const char*, const char*)>("rename");
  if (fails(Call::name, false)) {
    errno = EIO;
    return -1;
  }
  return real(from, to);
}

int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) {
  static const auto real = next<int (*)(int, const char*, int, const char*, int)>("linkat");
  if (fails(Call::name, false)) {
    errno = EIO;
    return -1;
  }
  return real(from_folder, from, to_folder, to, flags);
}

/// glibc's start of a program, which is told another main().
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming)
int __libc_start_main(Main main, int argc, char** argv, Main init, void (*fini)(),
                      void (*linker_fini)(), void* stack_end) {
  using Start = int (*)(Main, int, char**, Main, void (*)(), void (*)(), void*);
  main_of_program = main;
  return next<Start>("__libc_start_main")(counted_main, argc, argv, init, fini, linker_fini,
                                          stack_end);
}

}  // extern "C"
