// host LIBRARY: loads an instrumented library, which races; twice, unloading it in between.
#include <dlfcn.h>
#include <stdio.h>

#include "../../programs/order.h"

int main(int argc, char** argv) {
  for (int round = 0; round < 2; round++) {
    void* library = dlopen(argv[argc - 1], RTLD_NOW);
    if (library == NULL) {
      fprintf(stderr, "%s\n", dlerror());
      return 9;
    }
    void (*race)(void) = (void (*)(void))dlsym(library, "race_in_library");
    race();
    dlclose(library);
  }
  return 0;
}
