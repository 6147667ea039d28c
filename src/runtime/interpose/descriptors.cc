// Both ends of a channel must come to the same object. Nothing is remembered per descriptor where the kernel
// can be asked instead, because descriptors come and go in ways we do not see (fclose, closedir, inherited,
// received):
//
//   pipe, fifo       device and inode are the same at both ends
//   TCP, UDP         ports: what is sent from port a to port b is received at b from a; addresses are left
//   out, so that
//                    0.0.0.0, 127.0.0.1 and ::ffff:127.0.0.1 are one
//   unix sockets     names: "to" and "from" the name of the server; all clients of one server share them
//   socketpair       two unnamed sockets: their inodes, remembered as a pair. Unnamed and not remembered
//   (inherited):
//                    one object for all of these
//   terminal         the number of the pseudo-terminal, which the kernel tells of both ends
//   eventfd, epoll   all have the same inode: a number given at creation, handed on by dup. One that turns up
//                    otherwise (sent over a socket, taken by pidfd_getfd, inherited) is compared with those
//                    that have a number, by what the kernel says: an eventfd's own number, and kcmp(2)
//
// Where several channels share an object, or a later write is released to it before an earlier one is read,
// the lane sees more order than there is: a race may be missed, none is invented.
//
// The objects are entries of a table. When a part of it is full, all open descriptors are asked what they
// use, and what nobody uses is forgotten; if that is not enough, one object serves for all that is left.
#include "runtime/interpose/descriptors.h"

#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include "runtime/platform/memory.h"
#include "runtime/platform/spinlock.h"
#include "runtime/platform/syscalls.h"

#ifndef DEADHEAT_LANE_MONITOR
__attribute__((weak)) bool deadheat::lane::tells_objects_apart() { return true; }
#endif

using namespace deadheat;
using namespace deadheat::interpose;
using platform::failed;
using platform::syscall6;

namespace {

// --- The table

enum class Kind : uint64_t {
  kPipe = 1,
  kStream,      // TCP: from port, to port
  kDatagram,    // UDP: to port
  kUnixTo,      // by name
  kUnixFrom,    //
  kPairMember,  // what a socketpair's member receives, by inode
  kPeer,        // not a channel: the inode of the other member
  kTyped,       // a pseudo-terminal's bytes, by its number: from the master
  kPrinted,     // and to it
  kConnected,   // not a channel: what a connected stream socket uses, so that it is asked only once
  kListening,   //
  kAnonymous,
  kUnixUnknown,
  kWatched,  // not a channel: the descriptors that an epoll object knows by some data
  kEventfd,  // not a channel: the number of the eventfd that the kernel calls by this one
};

struct Entry {
  uint64_t id;     // 0: free
  uint64_t value;  // for entries that are not channels
  bool marked;
};

constexpr unsigned kWays = 8;
constexpr unsigned kBuckets = 4096;
Entry table[kBuckets][kWays];
Entry overflow;
unsigned inserted_since_sweep = ~0u / 2;
platform::Spinlock table_lock;

uint64_t mix(uint64_t x) {
  x ^= x >> 31;
  x *= 0x9e3779b97f4a7c15u;
  x ^= x >> 29;
  x *= 0xbf58476d1ce4e5b9u;
  return x ^ (x >> 32);
}
uint64_t id_of(Kind kind, uint64_t a, uint64_t b = 0) {
  uint64_t const id = mix(mix(mix(static_cast<uint64_t>(kind)) + a) + b);
  return id != 0 ? id : 1;
}

// All of the following REQUIRE table_lock.

Entry* find(uint64_t id) {
  for (Entry& entry : table[id % kBuckets]) {
    if (entry.id == id) return &entry;
  }
  return nullptr;
}

bool sweeping;
void sweep();

Entry* find_or_make(uint64_t id) {
  Entry* const known = find(id);
  if (known != nullptr || sweeping) return known;
  for (unsigned attempt = 0; attempt < 2; ++attempt) {
    for (Entry& entry : table[id % kBuckets]) {
      if (entry.id != 0) continue;
      entry = Entry{id, 0, false};
      ++inserted_since_sweep;
      return &entry;
    }
    if (inserted_since_sweep < kBuckets / 4) break;
    sweep();
  }
  return &overflow;
}

Entry* object(Kind kind, uint64_t a, uint64_t b = 0) { return find_or_make(id_of(kind, a, b)); }

constexpr uint64_t kOverflowPosition = uint64_t{kBuckets} * kWays;
uint64_t position(const Entry* entry) {
  return entry == &overflow ? kOverflowPosition : static_cast<uint64_t>(entry - &table[0][0]);
}
Entry* at_position(uint64_t position) {
  return position == kOverflowPosition ? &overflow : &table[0][0] + position;
}

// --- What the kernel knows

struct Name {
  sockaddr_storage address;
  socklen_t size;  // 0: none
};
Name name_of(int fd, long call) {
  Name name;
  name.size = sizeof name.address;
  if (failed(syscall6(call, fd, reinterpret_cast<long>(&name.address), reinterpret_cast<long>(&name.size)))) {
    name.size = 0;
    name.address.ss_family = AF_UNSPEC;
  }
  return name;
}
int socket_option(int fd, int option) {
  int value = 0;
  socklen_t size = sizeof value;
  syscall6(SYS_getsockopt, fd, SOL_SOCKET, option, reinterpret_cast<long>(&value),
           reinterpret_cast<long>(&size));
  return value;
}

uint16_t port_of(const sockaddr* address, socklen_t size) {
  if (address->sa_family == AF_INET && size >= sizeof(sockaddr_in)) {
    return reinterpret_cast<const sockaddr_in*>(address)->sin_port;
  }
  if (address->sa_family == AF_INET6 && size >= sizeof(sockaddr_in6)) {
    return reinterpret_cast<const sockaddr_in6*>(address)->sin6_port;
  }
  return 0;
}
const sockaddr* plain(const Name& name) { return reinterpret_cast<const sockaddr*>(&name.address); }

// 0: unnamed.
uint64_t path_hash(const sockaddr* address, socklen_t size) {
  if (address->sa_family != AF_UNIX || size <= offsetof(sockaddr_un, sun_path)) return 0;
  const char* const path = reinterpret_cast<const sockaddr_un*>(address)->sun_path;
  size_t const room = size - offsetof(sockaddr_un, sun_path);
  uint64_t hash = 1;
  // An abstract name starts with a zero and goes on to the end; a path ends at one.
  for (size_t i = 0; i < room && (i == 0 || path[0] == 0 || path[i] != 0); ++i) {
    hash = mix(hash + static_cast<unsigned char>(path[i]) + 1);
  }
  return hash;
}

// --- Descriptors that only a number tells apart. Beyond the table, they share.

constexpr int kNumbered = 1 << 16;
constexpr uint32_t kSignalfd = ~uint32_t{0};
uint32_t numbers[kNumbered];
int numbers_end;  // beyond it, none was ever given
uint32_t last_number;
uint32_t number_of(int fd) {
  return fd >= 0 && fd < kNumbered ? __atomic_load_n(&numbers[fd], __ATOMIC_RELAXED) : 0;
}
void set_number(int fd, uint32_t number) {
  if (fd < 0 || fd >= kNumbered) return;
  __atomic_store_n(&numbers[fd], number, __ATOMIC_RELAXED);
  if (number == 0) return;
  int end = __atomic_load_n(&numbers_end, __ATOMIC_RELAXED);
  while (end <= fd &&
         !__atomic_compare_exchange_n(&numbers_end, &end, fd + 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}
uint32_t new_number() {
  uint32_t const number = __atomic_add_fetch(&last_number, 1, __ATOMIC_RELAXED);
  return number == 0 || number == kSignalfd ? 1 : number;
}

// Of an eventfd, the number that the kernel gave it; 0 if this is none, or the kernel does not say.
uint64_t kernels_number_of_eventfd(int fd) {
  constexpr char kKey[] = "eventfd-id:";
  static char text[512];
  static const char kFolder[] = "/proc/thread-self/fdinfo/";
  char path[sizeof kFolder + 12];
  platform::copy(path, kFolder, sizeof kFolder - 1);
  char digits[12];
  unsigned count = 0;
  do digits[count++] = static_cast<char>('0' + fd % 10);
  while ((fd /= 10) != 0);
  char* to = path + sizeof kFolder - 1;
  while (count > 0) *to++ = digits[--count];
  *to = '\0';
  long const file = platform::sys_open(path, O_RDONLY | O_CLOEXEC, 0);
  if (failed(file)) return 0;
  long const size = platform::sys_read(static_cast<int>(file), text, sizeof text - 1);
  platform::sys_close(static_cast<int>(file));
  for (long at = 0; at + static_cast<long>(sizeof kKey) <= size; ++at) {
    unsigned matching = 0;
    while (matching < sizeof kKey - 1 && text[at + matching] == kKey[matching]) ++matching;
    if (matching < sizeof kKey - 1) continue;
    uint64_t number = 0;
    at += static_cast<long>(sizeof kKey) - 1;
    while (at < size && text[at] == ' ') ++at;
    for (; at < size && text[at] >= '0' && text[at] <= '9'; ++at)
      number = number * 10 + static_cast<uint64_t>(text[at] - '0');
    return number + 1;
  }
  return 0;
}

// The number of an object without a name or an inode of its own; 0 if it cannot be told from others.
uint32_t identify(int fd) {
  uint32_t const known = number_of(fd);
  if (known != 0 || sweeping) return known;
  Entry* entry = nullptr;
  if (uint64_t const id = kernels_number_of_eventfd(fd)) {
    entry = find_or_make(id_of(Kind::kEventfd, id));
    if (entry == &overflow) entry = nullptr;
  }
  uint32_t number = entry != nullptr ? static_cast<uint32_t>(entry->value) : 0;
  int const end = __atomic_load_n(&numbers_end, __ATOMIC_RELAXED);
  for (int other = 0; other < end && number == 0; ++other)
    if (number_of(other) != 0 && is_same_description(fd, other) == Same::kYes) number = number_of(other);
  if (number == 0 && (entry != nullptr || (fd < kNumbered && is_same_description(fd, fd) == Same::kYes)))
    number = new_number();
  if (entry != nullptr) entry->value = number;
  set_number(fd, number);
  return number;
}

struct Ends {
  Entry* in;
  Entry* out;
  Entry* echo = nullptr;
  bool is_inherited = false;  // what a child finds open and uses: pipes, pairs of sockets, terminals
};

Ends unix_ends(const Name& local, const Name& peer, uint64_t inode) {
  uint64_t const mine = path_hash(plain(local), local.size);
  uint64_t const theirs = path_hash(plain(peer), peer.size);
  if (mine == 0 && theirs == 0) {
    if (Entry* const other = find(id_of(Kind::kPeer, inode))) {
      if (sweeping) other->marked = true;
      return Ends{object(Kind::kPairMember, inode), object(Kind::kPairMember, other->value), nullptr, true};
    }
    Entry* const shared = object(Kind::kUnixUnknown, 0);
    return Ends{shared, shared, nullptr, true};
  }
  return Ends{mine != 0 ? object(Kind::kUnixTo, mine) : object(Kind::kUnixFrom, theirs),
              theirs != 0 ? object(Kind::kUnixTo, theirs) : object(Kind::kUnixFrom, mine)};
}

constexpr uint64_t kInherited = uint64_t{1} << 31;  // beside the position of an entry

Ends socket_ends(int fd, uint64_t inode) {
  if (Entry* const known = find(id_of(Kind::kConnected, inode))) {
    if (sweeping) known->marked = true;
    return Ends{at_position(known->value >> 32 & ~kInherited), at_position(known->value & 0xffffffffu),
                nullptr, (known->value >> 32 & kInherited) != 0};
  }
  Name const local = name_of(fd, SYS_getsockname);
  if (local.size == 0) return Ends{nullptr, nullptr};
  int const family = local.address.ss_family;
  bool const stream = socket_option(fd, SO_TYPE) != SOCK_DGRAM;
  Name const peer = name_of(fd, SYS_getpeername);
  bool const connected = peer.size != 0;
  Ends ends = {nullptr, nullptr};
  if (family == AF_UNIX) {
    if (stream && !connected) return ends;
    ends = unix_ends(local, peer, inode);
  } else if (family == AF_INET || family == AF_INET6) {
    uint16_t const mine = port_of(plain(local), local.size);
    uint16_t const theirs = connected ? port_of(plain(peer), peer.size) : uint16_t{0};
    if (stream) {
      if (!connected) return ends;
      ends = Ends{object(Kind::kStream, theirs, mine), object(Kind::kStream, mine, theirs)};
    } else {
      ends.in = object(Kind::kDatagram, mine);
      ends.out = connected ? object(Kind::kDatagram, theirs) : nullptr;
    }
  }
  if (stream && connected && ends.in != nullptr && ends.out != nullptr && !sweeping) {
    if (Entry* const cache = find_or_make(id_of(Kind::kConnected, inode)); cache != &overflow) {
      uint64_t const in = position(ends.in) | (ends.is_inherited ? kInherited : 0);
      cache->value = in << 32 | position(ends.out);
    }
  }
  return ends;
}

// What a program prints is read at the master's end, and what is written there is read by the program. It may
// come back to the master as well, if the terminal echoes. Other terminals have their other end outside.
Ends terminal_ends(int fd, dev_t device) {
  constexpr unsigned kAnyTerminal = 5;  // the master's end, and the one that the process has
  constexpr unsigned kFirstSlaves = 136;
  constexpr unsigned kLastSlaves = 143;
  unsigned number = minor(device);
  bool is_master = false;
  if (major(device) == kAnyTerminal) {
    is_master = !failed(syscall6(SYS_ioctl, fd, TIOCGPTN, reinterpret_cast<long>(&number)));
    if (!is_master) {
      unsigned which = 0;
      if (failed(syscall6(SYS_ioctl, fd, TIOCGDEV, reinterpret_cast<long>(&which)))) return {};
      device = makedev(which >> 8 & 0xfff, (which & 0xff) | (which >> 12 & 0xfff00));
      number = minor(device);
    }
  }
  if (!is_master && (major(device) < kFirstSlaves || major(device) > kLastSlaves)) return {};
  Entry* const typed = object(Kind::kTyped, number);
  Entry* const printed = object(Kind::kPrinted, number);
  return is_master ? Ends{printed, typed, printed, true} : Ends{typed, printed, nullptr, true};
}

bool status_of(int fd, struct stat* status) {
  return !failed(syscall6(SYS_fstat, fd, reinterpret_cast<long>(status)));
}

Ends ends_of(int fd) {
  struct stat status;
  if (fd < 0 || !status_of(fd, &status)) return Ends{nullptr, nullptr};
  // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): the kernel has filled it
  switch (status.st_mode & S_IFMT) {
    case S_IFIFO: {
      Entry* const both = object(Kind::kPipe, status.st_dev, status.st_ino);
      return Ends{both, both, nullptr, true};
    }
    case S_IFSOCK:
      return socket_ends(fd, status.st_ino);
    case S_IFCHR:
      return terminal_ends(fd, status.st_rdev);
    case 0: {
      Entry* const both = object(Kind::kAnonymous, identify(fd));
      return Ends{both, both};
    }
    default:
      return Ends{nullptr, nullptr};
  }
}

// Marks what an open descriptor uses; nothing new is made meanwhile.
void mark(int fd) {
  if (number_of(fd) != 0) {
    if (uint64_t const id = kernels_number_of_eventfd(fd))
      if (Entry* const entry = find(id_of(Kind::kEventfd, id))) entry->marked = true;
  }
  Ends const ends = ends_of(fd);
  if (ends.in != nullptr) ends.in->marked = true;
  if (ends.out != nullptr) ends.out->marked = true;
  Name const local = name_of(fd, SYS_getsockname);
  if (local.size == 0) return;
  uint64_t const port = port_of(plain(local), local.size);
  uint64_t const path = path_hash(plain(local), local.size);
  if (Entry* const entry = find(id_of(Kind::kListening, port, path))) entry->marked = true;
}

void sweep() {
  inserted_since_sweep = 0;
  long const folder = platform::sys_open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (failed(folder)) return;
  sweeping = true;
  struct Record {
    uint64_t inode;
    int64_t offset;
    uint16_t size;
    uint8_t type;
    char name[];
  };
  alignas(8) static char buffer[2048];  // the table is locked
  bool complete = true;
  for (;;) {
    long const size = syscall6(SYS_getdents64, folder, reinterpret_cast<long>(buffer), sizeof buffer);
    if (failed(size)) complete = false;
    if (size <= 0) break;
    for (long at = 0; at < size;) {
      auto const* const record = reinterpret_cast<Record*>(buffer + at);
      int fd = 0;
      const char* digit = record->name;
      while (*digit >= '0' && *digit <= '9') fd = fd * 10 + (*digit++ - '0');
      if (digit != record->name) mark(fd);
      at += record->size;
    }
  }
  sweeping = false;
  platform::sys_close(static_cast<int>(folder));
  for (auto& bucket : table) {
    for (Entry& entry : bucket) {
      if (entry.id != 0 && complete && !entry.marked) {
        lane::forget(&entry);
        entry.id = 0;
      }
      entry.marked = false;
    }
  }
}

class TableGuard {
 public:
  TableGuard() { table_lock.lock(); }
  ~TableGuard() { table_lock.unlock(); }

 private:
  CriticalSection critical_;  // left after the lock
};

}  // namespace

namespace deadheat::interpose {

Same is_same_description(int a, int b) {
  constexpr long kFile = 0;  // KCMP_FILE
  int const self = platform::sys_getpid();
  long const order = syscall6(SYS_kcmp, self, self, kFile, a, b);
  if (failed(order)) return order == -EBADF ? Same::kNo : Same::kUnknown;
  return order == 0 ? Same::kYes : Same::kNo;
}

namespace {
const char any_object = 0;
}  // namespace

Channel channel_of(int fd) {
  if (!lane::tells_objects_apart()) return Channel{&any_object, &any_object, nullptr, false};
  TableGuard const guard;
  Ends const ends = ends_of(fd);
  return Channel{ends.in, ends.out, ends.echo, ends.is_inherited};
}

const void* datagram_object(int fd, const sockaddr* to, socklen_t size) {
  if (to == nullptr || size < sizeof(sa_family_t)) return channel_of(fd).out;
  TableGuard const guard;
  if (uint64_t const path = path_hash(to, size)) return object(Kind::kUnixTo, path);
  if (uint16_t const port = port_of(to, size)) {
    return socket_option(fd, SO_TYPE) == SOCK_DGRAM ? object(Kind::kDatagram, port) : nullptr;
  }
  return nullptr;
}

const void* connection_object(int fd, const sockaddr* to, socklen_t size) {
  (void)fd;
  if (to == nullptr || size < sizeof(sa_family_t)) return nullptr;
  TableGuard const guard;
  return object(Kind::kListening, port_of(to, size), path_hash(to, size));
}

const void* connection_object(int fd) {
  if (!lane::tells_objects_apart()) return &any_object;
  Name const local = name_of(fd, SYS_getsockname);
  return local.size != 0 ? connection_object(fd, plain(local), local.size) : nullptr;
}

void made_anonymous(int fd) { set_number(fd, new_number()); }

void made_eventfd(int fd) {
  if (!lane::tells_objects_apart()) return;
  TableGuard const guard;
  uint32_t const number = new_number();
  set_number(fd, number);
  uint64_t const id = kernels_number_of_eventfd(fd);
  if (id == 0) return;
  if (Entry* const entry = find_or_make(id_of(Kind::kEventfd, id)); entry != &overflow) entry->value = number;
}

void received_descriptor(int fd) {
  set_number(fd, 0);
  struct stat status;
  // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): the kernel has filled it
  if (!lane::tells_objects_apart() || !status_of(fd, &status) || (status.st_mode & S_IFMT) != 0) return;
  TableGuard const guard;
  identify(fd);
}

void made_signalfd(int fd, bool is) { set_number(fd, is ? kSignalfd : 0); }
bool is_signalfd(int fd) { return number_of(fd) == kSignalfd; }

void made_pair(int a, int b) {
  struct stat first;
  struct stat second;
  if (!status_of(a, &first) || !status_of(b, &second)) return;
  TableGuard const guard;
  // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): the kernel has filled it
  Entry* const one = find_or_make(id_of(Kind::kPeer, first.st_ino));
  Entry* const two = find_or_make(id_of(Kind::kPeer, second.st_ino));
  // Without room to remember them, they count among the unknown.
  if (one == &overflow || two == &overflow) {
    if (one != &overflow) one->id = 0;
    if (two != &overflow) two->id = 0;
    return;
  }
  one->value = second.st_ino;
  two->value = first.st_ino;
}

namespace {

// Descriptors, one more than their number, in sixteen bits each. Larger ones are not remembered.
constexpr unsigned kWatchedBits = 64 / kMostWatched;
constexpr uint64_t kWatchedMask = (uint64_t{1} << kWatchedBits) - 1;

uint64_t watched_id(int epoll, uint64_t data) { return id_of(Kind::kWatched, identify(epoll), data); }

bool holds(uint64_t list, uint64_t item) {
  for (; list != 0; list >>= kWatchedBits) {
    if ((list & kWatchedMask) == item) return true;
  }
  return false;
}

}  // namespace

void watched(int epoll, uint64_t data, int fd) {
  uint64_t const item = static_cast<uint64_t>(fd) + 1;
  if (fd < 0 || item > kWatchedMask || !lane::tells_objects_apart()) return;
  TableGuard const guard;
  Entry* const entry = find_or_make(watched_id(epoll, data));
  if (entry == &overflow || holds(entry->value, item)) return;
  entry->value = entry->value << kWatchedBits | item;
}

Watched watched_as(int epoll, uint64_t data) {
  uint64_t list = 0;
  {
    TableGuard const guard;
    if (Entry const* const entry = find(watched_id(epoll, data))) list = entry->value;
  }
  Watched result;
  for (int& fd : result.fds) {
    fd = static_cast<int>(list & kWatchedMask) - 1;
    list >>= kWatchedBits;
  }
  return result;
}

void duplicated(int from, int to) { set_number(to, number_of(from)); }
void closed(int fd) { set_number(fd, 0); }

void descriptors_fork_prepare() { table_lock.lock(); }
void descriptors_fork_done() { table_lock.unlock(); }

}  // namespace deadheat::interpose
