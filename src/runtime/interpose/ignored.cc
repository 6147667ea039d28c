#include "runtime/interpose/ignored.h"

namespace deadheat::interpose {
namespace {

struct Depths {
  uint32_t reads;
  uint32_t writes;
  uint32_t sync;
};
__thread Depths depths __attribute__((tls_model("initial-exec")));

}  // namespace

void begin_ignoring(bool reads, bool writes) {
  depths.reads += reads ? 1 : 0;
  depths.writes += writes ? 1 : 0;
  lane::ignore_begin(reads, writes);
}

void end_ignoring(bool reads, bool writes) {
  if (reads && depths.reads != 0) --depths.reads;
  if (writes && depths.writes != 0) --depths.writes;
  lane::ignore_end(reads, writes);
}

void begin_ignoring_sync() {
  ++depths.sync;
  lane::ignore_sync_begin();
}

void end_ignoring_sync() {
  if (depths.sync != 0) --depths.sync;
  lane::ignore_sync_end();
}

IgnoredAside::IgnoredAside() : reads_(depths.reads), writes_(depths.writes), sync_(depths.sync) {
  if (__builtin_expect((reads_ | writes_ | sync_) == 0, 1)) return;
  depths = {};
  for (uint32_t i = 0; i < sync_; ++i) lane::ignore_sync_end();
  for (uint32_t i = 0; i < reads_; ++i) lane::ignore_end(true, false);
  for (uint32_t i = 0; i < writes_; ++i) lane::ignore_end(false, true);
}

IgnoredAside::~IgnoredAside() {
  if (__builtin_expect((reads_ | writes_ | sync_) == 0, 1)) return;
  for (uint32_t i = 0; i < reads_; ++i) begin_ignoring(true, false);
  for (uint32_t i = 0; i < writes_; ++i) begin_ignoring(false, true);
  for (uint32_t i = 0; i < sync_; ++i) begin_ignoring_sync();
}

}  // namespace deadheat::interpose
