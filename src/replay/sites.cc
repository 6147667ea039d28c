#include "replay/sites.h"

#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/InstrTypes.h>

#include "instrument/hooks.h"
#include "replay/program.h"

namespace deadheat::replay {

namespace {

std::string readable(llvm::StringRef name) { return llvm::demangle(name.str()); }

std::string function_name(const llvm::DISubprogram& function) {
  return readable(function.getLinkageName().empty() ? function.getName() : function.getLinkageName());
}

Place place_of_function(const llvm::Function& function) {
  Place place{readable(function.getName()), {}, 0, 0};
  if (const llvm::DISubprogram* const known = function.getSubprogram()) {
    place.file = known->getFilename().str();
    place.line = known->getLine();
  }
  return place;
}

const Point* point_of(const Program& program, SiteId site, const llvm::Function*& function) {
  const SitePlace where = program.place_of(site);
  if (where.instance == nullptr || where.instance->code == nullptr) return nullptr;
  std::size_t index = 0;
  const Point* const point = where.instance->code->point_of(where.site, index);
  if (point == nullptr) return nullptr;
  where.instance->code->restore_lines(index);
  function = where.instance->code->function(index).function;
  return point;
}

}  // namespace

std::string Place::text() const {
  std::string text;
  if (!file.empty()) {
    text = file + ":" + std::to_string(line);
    if (column != 0) text += ":" + std::to_string(column);
    text += " in ";
  }
  return text + (function.empty() ? "?" : function);
}

std::vector<Place> places_of(const Program& program, SiteId site) {
  const llvm::Function* function = nullptr;
  const Point* const point = point_of(program, site, function);
  if (point == nullptr) return {Place{}};
  if (point->instruction == nullptr) return {place_of_function(*function)};
  std::vector<Place> places;
  for (const llvm::DILocation* at = instrument::location_of(*point->instruction).get(); at != nullptr;
       at = at->getInlinedAt()) {
    const llvm::DISubprogram* const within = at->getScope()->getSubprogram();
    places.push_back({within == nullptr ? readable(function->getName()) : function_name(*within),
                      at->getFilename().str(), at->getLine(), at->getColumn()});
  }
  if (places.empty()) places.push_back(place_of_function(*function));
  return places;
}

Place place_of(const Program& program, SiteId site) { return places_of(program, site).front(); }

std::string callee_of(const Program& program, SiteId site) {
  const llvm::Function* function = nullptr;
  const Point* const point = point_of(program, site, function);
  if (point == nullptr || point->instruction == nullptr) return {};
  const auto* const call = llvm::dyn_cast<llvm::CallBase>(point->instruction);
  if (call == nullptr) return {};
  const auto* const callee = llvm::dyn_cast<llvm::GlobalValue>(call->getCalledOperand()->stripPointerCasts());
  return callee == nullptr ? std::string() : readable(callee->getName());
}

Place place_of(const Program& program, FunctionId function) {
  const Instance& instance = program.instance(function.instance);
  if (instance.code == nullptr) return {};
  return place_of_function(*instance.code->function(function.index).function);
}

}  // namespace deadheat::replay
