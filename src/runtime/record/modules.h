#pragma once

namespace deadheat::record {

// Where modules are saved; null: nowhere.
void set_module_folder(const char* path);

}  // namespace deadheat::record
