#include "replay/live/models.h"

#include <unordered_map>

namespace deadheat::replay::live {

void again(ModelCall& call) { model_of(call.name)->run(call); }

const Model* model_of(std::string_view name) {
  static const std::unordered_map<std::string_view, const Model*> table = [] {
    std::unordered_map<std::string_view, const Model*> all;
    for (const std::span<const Model> part :
         {allocation_models(), memory_models(), string_models(), output_models(), thread_models(),
          process_models(), cxx_models(), cxx_container_models(), cxx_string_models(), file_models(),
          number_models(), signal_models(), sort_models(), specific_models()})
      for (const Model& model : part) all.emplace(model.name, &model);
    return all;
  }();
  // Calls that the assembler sees under another name have it behind a \01.
  if (name.starts_with('\1')) name.remove_prefix(1);
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace deadheat::replay::live
