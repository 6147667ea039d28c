// rule: library results
// claim: calls about names and addresses fill places of each thread's own, from names that all read
// expect: nothing
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

#include "../order.h"

static char numbers[] = "127.0.0.1";
static struct addrinfo const hints = {.ai_family = AF_INET};

static void* body(void* _) {
  for (int i = 0; i < 20; i++) {
    struct addrinfo* addresses;
    struct in_addr address;
    struct ifaddrs* interfaces;
    char host[64], text[1024];
    struct protoent protocol, *found;
    if (getaddrinfo(numbers, "80", &hints, &addresses) != 0) abort();
    if (getnameinfo(addresses->ai_addr, addresses->ai_addrlen, host, sizeof host, NULL, 0, NI_NUMERICHOST) != 0) abort();
    freeaddrinfo(addresses);
    if (inet_pton(AF_INET, numbers, &address) != 1 || inet_aton(numbers, &address) == 0) abort();
    if (getifaddrs(&interfaces) == 0) freeifaddrs(interfaces);
    getprotobynumber_r(6, &protocol, text, sizeof text, &found);
    use((long)address.s_addr + host[0]);
  }
  return NULL;
}

int main(void) { run2(body, body); }
