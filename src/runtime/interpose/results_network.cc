// What calls about names and addresses of the network fill and read.
#include "runtime/interpose/results.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/ether.h>
#include <sys/socket.h>

using namespace deadheat;
using namespace deadheat::interpose;

TELLS(int, getaddrinfo, (const char* node, const char* service, const addrinfo* hints, addrinfo** to),
      (node, service, hints, to), call.text(node) && call.text(service) && call.reads(hints),
      result == 0 && call.writes(to))
TELLS(int, getnameinfo,
      (const sockaddr* from, socklen_t size, char* node, socklen_t node_room, char* service,
       socklen_t service_room, int flags),
      (from, size, node, node_room, service, service_room, flags), call.reads(from, size),
      result == 0 && (node_room == 0 || call.writes_text(node)) &&
          (service_room == 0 || call.writes_text(service)))
namespace {
bool writes_all(const Call& call, ifaddrs* first) {
  for (ifaddrs* at = first; at != nullptr; at = at->ifa_next) call.writes(at);
  return true;
}
}  // namespace
TELLS(int, getifaddrs, (ifaddrs * *to), (to), NOTHING,
      result == 0 && call.writes(to) && writes_all(call, *to))
TELLS(unsigned, if_nametoindex, (const char* name), (name), call.text(name), NOTHING)
TELLS(char*, if_indextoname, (unsigned index, char* to), (index, to), NOTHING, result&& call.writes_text(to))
TELLS(int, inet_pton, (int family, const char* from, void* to), (family, from, to), call.text(from),
      result == 1 && call.writes(to, family == AF_INET ? 4 : 16))
TELLS(int, inet_aton, (const char* from, in_addr* to), (from, to), call.text(from),
      result != 0 && call.writes(to))
TELLS(in_addr_t, inet_addr, (const char* from), (from), call.text(from), NOTHING)
TELLS(ether_addr*, ether_aton_r, (const char* from, ether_addr* to), (from, to), call.text(from),
      result&& call.writes(to))
TELLS(char*, ether_ntoa_r, (const ether_addr* from, char* to), (from, to), call.reads(from),
      result&& call.writes_text(to))
TELLS(int, setsockopt, (int fd, int level, int option, const void* from, socklen_t size),
      (fd, level, option, from, size), call.reads(from, size), NOTHING)
TELLS(int, bind, (int fd, const sockaddr* from, socklen_t size), (fd, from, size), call.reads(from, size),
      NOTHING)

// --- Databases. Of the buffer, the name.
#define ENTRY(name, Type, member, parameters, arguments, reads) \
  TELLS(int, name, parameters, arguments, reads,                \
        call.writes(found) && *found && call.writes(to) && call.writes_text(to->member))
ENTRY(gethostbyname_r, hostent, h_name,
      (const char* name, hostent* to, char* buffer, size_t room, hostent** found, int* error),
      (name, to, buffer, room, found, error), call.text(name))
ENTRY(gethostbyname2_r, hostent, h_name,
      (const char* name, int family, hostent* to, char* buffer, size_t room, hostent** found, int* error),
      (name, family, to, buffer, room, found, error), call.text(name))
ENTRY(gethostbyaddr_r, hostent, h_name,
      (const void* from, socklen_t size, int family, hostent* to, char* buffer, size_t room, hostent** found,
       int* error),
      (from, size, family, to, buffer, room, found, error), call.reads(from, size))
ENTRY(getservbyname_r, servent, s_name,
      (const char* name, const char* protocol, servent* to, char* buffer, size_t room, servent** found),
      (name, protocol, to, buffer, room, found), call.text(name) && call.text(protocol))
ENTRY(getservbyport_r, servent, s_name,
      (int port, const char* protocol, servent* to, char* buffer, size_t room, servent** found),
      (port, protocol, to, buffer, room, found), call.text(protocol))
ENTRY(getprotobyname_r, protoent, p_name,
      (const char* name, protoent* to, char* buffer, size_t room, protoent** found),
      (name, to, buffer, room, found), call.text(name))
ENTRY(getprotobynumber_r, protoent, p_name,
      (int number, protoent* to, char* buffer, size_t room, protoent** found),
      (number, to, buffer, room, found), NOTHING)
// The result of these is one for all threads.
TELLS(hostent*, gethostbyname, (const char* name), (name), call.text(name), result&& call.writes(result))
TELLS(hostent*, gethostbyaddr, (const void* from, socklen_t size, int family), (from, size, family),
      call.reads(from, size), result&& call.writes(result))
TELLS(servent*, getservbyname, (const char* name, const char* protocol), (name, protocol),
      call.text(name) && call.text(protocol), result&& call.writes(result))
TELLS(protoent*, getprotobyname, (const char* name), (name), call.text(name), result&& call.writes(result))
