// rule: file descriptors
// claim: a connection that carried no byte back orders nothing back
// expect: race write@a write@b
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../order.h"

int data;
int listener;
struct sockaddr_in address;

static void* server(void* _) {
  int connection = accept(listener, NULL, NULL);
  char byte;
  if (read(connection, &byte, 1) != 1) abort();
  data = 2;  // @a
  step();
  await(2);
  close(connection);
  return NULL;
}

static void* client(void* _) {
  int connection = socket(AF_INET, SOCK_STREAM, 0);
  data = 1;
  if (connect(connection, (struct sockaddr*)&address, sizeof address) != 0) abort();
  if (write(connection, "x", 1) != 1) abort();
  await(1);
  data = 3;  // @b
  step();
  close(connection);
  return NULL;
}

int main(void) {
  listener = socket(AF_INET, SOCK_STREAM, 0);
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(listener, (struct sockaddr*)&address, sizeof address) != 0) abort();
  socklen_t length = sizeof address;
  getsockname(listener, (struct sockaddr*)&address, &length);
  listen(listener, 1);
  run2(server, client);
}
