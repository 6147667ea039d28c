#include "runtime/platform/module_check.h"

#include "runtime/platform/c_strings.h"
#include "runtime/platform/print.h"

namespace deadheat::platform {

void check_module(uint32_t module_version, uint32_t own_version, const char* module_mode,
                  const char* own_mode) {
  if (module_version != own_version) {
    die(70,
        "this program was instrumented for hook interface %u (%s mode), the runtime linked with it has %u; "
        "rebuild it with one version of Deadheat",
        module_version, module_mode, own_version);
  }
  if (is_same(module_mode, own_mode)) return;
  die(70,
      "a part of this program was instrumented for %s mode, the runtime linked with it is that of %s mode; "
      "rebuild everything with one --deadheat-mode",
      module_mode, own_mode);
}

}  // namespace deadheat::platform
