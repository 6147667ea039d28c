// reload LIBRARY LIBRARY: loads one, which races, unloads it, and then the other.
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  for (int i = 1; i < argc; i++) {
    void* library = dlopen(argv[i], RTLD_NOW);
    if (library == NULL) {
      fprintf(stderr, "%s\n", dlerror());
      return 9;
    }
    ((void (*)(void))dlsym(library, "race_in_library"))();
    if (dlclose(library) != 0 || dlopen(argv[i], RTLD_NOW | RTLD_NOLOAD) != NULL) return 8;
  }
  return 0;
}
