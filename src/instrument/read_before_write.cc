#include "instrument/read_before_write.h"

#include <llvm/IR/Instructions.h>

namespace deadheat::instrument {

using namespace llvm;

void remove_reads_before_writes(const FunctionView& view, Statistics& statistics) {
  DenseMap<const Value*, SmallVector<Bytes, 4>> written;  // later in this block, nothing in between
  for (BasicBlock& block : view.function()) {
    written.clear();
    for (Instruction& instruction : reverse(block)) {
      if (!view.effects_of(instruction).none()) written.clear();
      // An instruction that reads and writes (a copy) reads first.
      std::span<Access> accesses = view.accesses_of(instruction);
      for (Access& access : accesses)
        if (access.live && access.kind == AccessKind::kWrite && access.size != 0) {
          const Bytes bytes = view.bytes_of(access);
          written[bytes.base].push_back(bytes);
        }
      for (Access& access : accesses) {
        if (!access.live || access.kind != AccessKind::kRead || access.size == 0) continue;
        const Bytes bytes = view.bytes_of(access);
        const auto found = written.find(bytes.base);
        if (found == written.end() ||
            none_of(found->second, [&](const Bytes& write) { return write.includes(bytes); }))
          continue;
        access.live = false;
        ++statistics.read_before_write;
      }
    }
  }
}

}  // namespace deadheat::instrument
