#include "replay/module_code.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Support/MemoryBuffer.h>

#include <algorithm>

#include "instrument/source_lines.h"
#include "replay/local_lives.h"
#include "runtime/record_abi.h"

namespace deadheat::replay {

bool is_choice(const llvm::Instruction& instruction) {
  const auto* const branch = llvm::dyn_cast<llvm::BranchInst>(&instruction);
  return (branch != nullptr && branch->isConditional()) || llvm::isa<llvm::SwitchInst>(instruction);
}

Result<std::unique_ptr<ModuleCode>> ModuleCode::parse(recording::ModuleId id, const std::string& bitcode,
                                                      llvm::LLVMContext& context, bool has_choices) {
  const std::string name = recording::to_string(id) + ".bc";
  llvm::Expected<std::unique_ptr<llvm::Module>> parsed =
      llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, name), context);
  if (!parsed)
    return Error{"module " + name +
                 ": expected LLVM bitcode of this version, found: " + llvm::toString(parsed.takeError())};
  std::unique_ptr<ModuleCode> code(new ModuleCode);
  code->id_ = id;
  code->module_ = std::move(*parsed);
  code->plan_ = std::make_unique<ModulePlan>(*code->module_);
  std::size_t index = 0;
  for (const FunctionPlan& function : code->plan_->functions()) {
    if (!function.points.empty()) code->first_sites_.emplace_back(function.points.front().site, index);
    const auto add = [&](llvm::Instruction* end) {
      code->end_sites_[end] = code->site_count();
      code->ends_.emplace_back(Point{PointKind::kDropped, end, nullptr, code->site_count()}, index);
    };
    for (llvm::Instruction* end : unplanned_ends(function)) add(end);
    if (has_choices)
      for (llvm::BasicBlock& block : *function.function)
        if (is_choice(*block.getTerminator())) add(block.getTerminator());
    code->functions_[function.function] = index++;
  }
  index = 0;
  for (const llvm::GlobalValue* global : code->plan_->globals()) code->globals_[global] = index++;
  return code;
}

std::uint64_t ModuleCode::first_pseudo_address() const {
  return DH_OPAQUE_BASE + ((id_.value() & 0xffffffff) << 20);
}

std::optional<std::size_t> ModuleCode::index_of(const llvm::Function& function) const {
  const auto found = functions_.find(&function);
  if (found == functions_.end()) return std::nullopt;
  return found->second;
}

std::optional<std::size_t> ModuleCode::index_of(const llvm::GlobalValue& global) const {
  const auto found = globals_.find(&global);
  if (found == globals_.end()) return std::nullopt;
  return found->second;
}

void ModuleCode::restore_lines(std::size_t function) {
  if (restored_.insert(function).second)
    instrument::restore_source_lines(*plan_->functions()[function].function);
}

const Point* ModuleCode::point_of(std::uint32_t site, std::size_t& function) const {
  if (site >= plan_->site_count()) {
    const std::size_t end = site - plan_->site_count();
    if (end >= ends_.size()) return nullptr;
    function = ends_[end].second;
    return &ends_[end].first;
  }
  const auto after = std::partition_point(first_sites_.begin(), first_sites_.end(),
                                          [&](const auto& first) { return first.first <= site; });
  if (after == first_sites_.begin()) return nullptr;
  function = std::prev(after)->second;
  const std::vector<Point>& points = plan_->functions()[function].points;
  const auto point = std::partition_point(points.begin(), points.end(),
                                          [&](const Point& candidate) { return candidate.site <= site; });
  return &*std::prev(point);
}

}  // namespace deadheat::replay
