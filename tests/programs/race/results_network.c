// rule: library results
// claim: what calls about names and addresses fill or read races with who reads or writes it meanwhile
// expect: race any@a any@aa
// expect: race any@b any@bb
// expect: race any@c any@cc
// expect: race any@d any@dd
// expect: race any@e any@ee
// expect: race any@f any@ff
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

#include "../order.h"

struct addrinfo* addresses;
struct in_addr address;
char numbers[] = "127.0.0.1";
struct in_addr parsed;
struct ifaddrs* interfaces;
char interface[IF_NAMESIZE];
struct protoent protocol, *protocol_found;
char protocol_text[1024];

static void* first(void* _) {
  getaddrinfo("127.0.0.1", "80", NULL, &addresses);                                        // @a
  inet_pton(AF_INET, "127.0.0.1", &address);                                               // @b
  inet_aton(numbers, &parsed);                                                             // @c
  getifaddrs(&interfaces);                                                                 // @d
  if_indextoname(1, interface);                                                            // @e
  getprotobynumber_r(6, &protocol, protocol_text, sizeof protocol_text, &protocol_found);  // @f
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  use(addresses == NULL);       // @aa
  use((long)address.s_addr);    // @bb
  numbers[0] = '2';             // @cc
  use(interfaces == NULL);      // @dd
  use(interface[1]);            // @ee
  use(protocol_found == NULL);  // @ff
  return NULL;
}

int main(void) { run2(first, second); }
