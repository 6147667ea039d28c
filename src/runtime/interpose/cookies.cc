// Streams whose bytes go through functions of the program (fopencookie).
//
// libc calls them with the stream's lock held, so that those of one stream run one after the other. The lock
// is libc's own; that two threads print orders nothing else (streams.h). So each call of such a function is
// ordered after the one before.
#include <stdio.h>

#include "runtime/interpose/strings.h"
#include "runtime/platform/memory.h"
#include "runtime/platform/spinlock.h"

using namespace deadheat;
using namespace deadheat::interpose;

namespace {

struct Cookie {
  void* cookie;  // the program's
  cookie_io_functions_t functions;
  Cookie* next;  // if free
};
Cookie* free_cookies;
platform::Spinlock free_cookies_lock;

Cookie* new_cookie() {
  {
    CriticalSection const critical;
    platform::SpinGuard const guard(free_cookies_lock);
    if (Cookie* const cookie = free_cookies) {
      free_cookies = cookie->next;
      return cookie;
    }
  }
  return platform::make<Cookie>();
}

void end_cookie(Cookie* cookie) {
  lane::forget(cookie);
  CriticalSection const critical;
  platform::SpinGuard const guard(free_cookies_lock);
  cookie->next = free_cookies;
  free_cookies = cookie;
}

// For the life of one call of the program's.
class Turn {
 public:
  explicit Turn(Cookie* cookie) : cookie_(cookie) { lane::acquire(cookie_); }
  ~Turn() { lane::release(cookie_); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Cookie* cookie_;
};

ssize_t read_cookie(void* self, char* to, size_t size) {
  auto* const cookie = static_cast<Cookie*>(self);
  Turn const turn(cookie);
  return cookie->functions.read(cookie->cookie, to, size);
}
ssize_t write_cookie(void* self, const char* from, size_t size) {
  auto* const cookie = static_cast<Cookie*>(self);
  Turn const turn(cookie);
  return cookie->functions.write(cookie->cookie, from, size);
}
int seek_cookie(void* self, off64_t* offset, int whence) {
  auto* const cookie = static_cast<Cookie*>(self);
  Turn const turn(cookie);
  return cookie->functions.seek(cookie->cookie, offset, whence);
}
int close_cookie(void* self) {
  auto* const cookie = static_cast<Cookie*>(self);
  lane::acquire(cookie);
  int const result = cookie->functions.close != nullptr ? cookie->functions.close(cookie->cookie) : 0;
  int const saved = errno;
  end_cookie(cookie);
  errno = saved;
  return result;
}

}  // namespace

INTERPOSE(FILE*, fopencookie, void* cookie, const char* mode, cookie_io_functions_t functions) {
  reads_string(mode, CALLER);
  Cookie* const ours = new_cookie();
  ours->cookie = cookie;
  ours->functions = functions;
  lane::release_store(ours);
  // What the program leaves out, libc has its own way with.
  cookie_io_functions_t const told = {functions.read != nullptr ? read_cookie : nullptr,
                                      functions.write != nullptr ? write_cookie : nullptr,
                                      functions.seek != nullptr ? seek_cookie : nullptr, close_cookie};
  FILE* const stream = REAL(fopencookie)(ours, mode, told);
  if (stream == nullptr) end_cookie(ours);
  return stream;
}
