#include "runtime/watch/stacks.h"

#include "runtime/platform/growing.h"
#include "runtime/platform/print.h"
#include "runtime/watch/buckets.h"

namespace deadheat::watch {
namespace {

using platform::Growing;

constexpr char kTable[] = "the table of call stacks";

enum class NodeKind : uint32_t { kFrame, kAccess, kComposite, kLockset };

// aux of an access: | lockset 20 | type 3 | log2-ish size code 6 | kind 2 (common to all nodes) |
constexpr uint32_t kKindBits = 2;
constexpr uint32_t kSizeBits = 6;
constexpr uint32_t kTypeBits = 3;

struct Node {
  uint64_t word;
  uint32_t parent;
  uint32_t aux;
  uint32_t next;  // in the hash chain
  uint32_t reserved;
};

struct Shape {
  StackId first, second;
  uint32_t next;
};

constexpr uint32_t kHashBits = 19;
Growing<Node, kStackIdBits> nodes;
Growing<Shape, kShapeBits> shapes;
Buckets<kHashBits> node_buckets;
Buckets<kHashBits> shape_buckets;
Growing<Node, 20> locksets;
constexpr uint32_t kLocksetHashBits = 12;
uint32_t lockset_hash[1u << kLocksetHashBits];
constexpr uint64_t kSharedLock = uint64_t{1} << 63;
// How many locks taken at one place (and within the same outer ones) are told apart; see LocksetEntry.
constexpr unsigned kLocksPerPlace = sizeof InternCache::Place::lock / sizeof(uint64_t);

uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t h = (a ^ (b * 0x9E3779B97F4A7C15ull)) * 0xD6E8FEB86659FD93ull;
  return h ^ (h >> 32);
}

template <unsigned Bits>
uint32_t find(Growing<Node, Bits>& table, uint32_t head, uint64_t word, uint32_t parent, uint32_t aux) {
  for (uint32_t id = head; id != 0; id = table[id].next) {
    const Node& n = table[id];
    if (n.word == word && n.parent == parent && n.aux == aux) return id;
  }
  return 0;
}

template <unsigned Bits>
uint32_t find_or_insert(Growing<Node, Bits>& table, uint32_t* bucket, uint64_t word, uint32_t parent,
                        uint32_t aux) {
  uint32_t fresh = 0;
  for (;;) {
    uint32_t const head = __atomic_load_n(bucket, __ATOMIC_ACQUIRE);
    // A lost `fresh` is a hole, no more.
    if (uint32_t const id = find(table, head, word, parent, aux); id != 0) return id;
    if (fresh == 0) {
      fresh = table.append(kTable);
      if (fresh == 0) return 0;
      Node& n = table[fresh];
      n.word = word;
      n.parent = parent;
      n.aux = aux;
    }
    table[fresh].next = head;
    uint32_t expected = head;
    if (__atomic_compare_exchange_n(bucket, &expected, fresh, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
      return fresh;
  }
}

uint32_t find_or_insert_node(uint64_t word, uint32_t parent, uint32_t aux) {
  uint64_t const h = mix(word, (static_cast<uint64_t>(parent) << 32) | aux);
  // Who adds the same while the next array is begun may do so twice; both numbers mean the same.
  unsigned const newest = node_buckets.newest(nodes.count());
  for (unsigned array = 0; array < newest; ++array) {
    uint32_t const head = __atomic_load_n(node_buckets.of(array, h), __ATOMIC_ACQUIRE);
    if (uint32_t const id = find(nodes, head, word, parent, aux); id != 0) return id;
  }
  return find_or_insert(nodes, node_buckets.of(newest, h), word, parent, aux);
}

InternCache::Node& slot_of(InternCache& cache, uint64_t word, uint32_t parent, uint32_t aux) {
  return cache.node.at(InternCache::node_hash(word, parent, aux));
}

constexpr unsigned kFoldAfter = 3;
constexpr unsigned kFoldSearch = 256;

// A return address that is on the path often enough already: the node to fold into, or 0.
uint32_t fold_target(StackId caller, uintptr_t return_address) {
  uint32_t nearest = 0;
  unsigned seen = 0;
  unsigned steps = 0;
  for (uint32_t id = caller; id != 0 && steps < kFoldSearch; id = nodes[id].parent, ++steps) {
    if (nodes[id].word != return_address) continue;
    if (nearest == 0) nearest = id;
    if (++seen == kFoldAfter) return nearest;
  }
  return 0;
}

uint32_t aux_of(NodeKind kind, uint32_t payload) {
  return (payload << kKindBits) | static_cast<uint32_t>(kind);
}
NodeKind kind_of(const Node& n) { return static_cast<NodeKind>(n.aux & ((1u << kKindBits) - 1)); }

// Sizes up to 32 as they are, more as a range.
uint32_t size_code(uint32_t size) { return size <= 32 ? size : 0; }

}  // namespace

StackId intern_frame(InternCache& cache, StackId caller, uintptr_t return_address) {
  InternCache::Frame& hit = cache.frame[InternCache::frame_index(caller, return_address)];
  if (hit.return_address == return_address && hit.caller == caller && hit.id != 0) return hit.id;
  uint32_t id = fold_target(caller, return_address);
  if (id == 0) id = find_or_insert_node(return_address, caller, aux_of(NodeKind::kFrame, 0));
  hit = {return_address, caller, id};
  return id;
}

StackId intern_access(InternCache& cache, const AccessInfo& access) {
  uint32_t payload = access.locks;
  payload = (payload << kTypeBits) | static_cast<uint32_t>(access.type);
  payload = (payload << kSizeBits) | size_code(access.size);
  uint32_t const aux = aux_of(NodeKind::kAccess, payload);
  InternCache::Node& hit = slot_of(cache, access.pc, access.frames, aux);
  if (hit.word == access.pc && hit.parent == access.frames && hit.aux == aux && hit.id != 0) return hit.id;
  uint32_t const id = find_or_insert_node(access.pc, access.frames, aux);
  hit = {access.pc, access.frames, aux, id, 0};
  return id;
}

namespace {

StackId resolve(StackId stack, unsigned byte) {
  while (stack != 0 && kind_of(nodes[stack]) == NodeKind::kComposite) {
    const Node& n = nodes[stack];
    uint32_t const mask = n.aux >> kKindBits;
    stack = ((mask >> byte) & 1) != 0 ? static_cast<StackId>(n.word) : n.parent;
  }
  return stack;
}

// The stacks of the bytes in `mask`, in one walk.
void resolve_bytes(StackId stack, uint8_t mask, StackId (&stacks)[8]) {
  auto const take = [&](uint8_t bytes, StackId value) {
    for (; bytes != 0; bytes &= static_cast<uint8_t>(bytes - 1)) stacks[__builtin_ctz(bytes)] = value;
  };
  while (mask != 0 && stack != 0 && kind_of(nodes[stack]) == NodeKind::kComposite) {
    const Node& n = nodes[stack];
    auto const over = static_cast<uint8_t>(mask & (n.aux >> kKindBits));
    if (over != 0) resolve_bytes(static_cast<StackId>(n.word), over, stacks);
    mask &= static_cast<uint8_t>(~over);
    stack = n.parent;
  }
  take(mask, stack);
}

StackId overlay(InternCache& cache, StackId base, uint8_t mask, StackId over) {
  uint32_t const aux = aux_of(NodeKind::kComposite, mask);
  InternCache::Node& hit = slot_of(cache, over, base, aux);
  if (hit.word == over && hit.parent == base && hit.aux == aux && hit.id != 0) return hit.id;
  uint32_t const before = nodes.count();
  uint32_t const id = find_or_insert_node(over, base, aux);
  if (id > before) ++cache.composites_made;
  hit = {over, base, aux, id, 0};
  return id;
}

}  // namespace

StackId intern_stack_of_bytes(InternCache& cache, const StackId (&stacks)[8], uint8_t bytes) {
  // In one canonical order, whatever the order the bytes were touched in: the number of composites is then
  // bounded by the code's, not by how often it runs.
  uint8_t left = bytes;
  StackId result = 0;
  while (left != 0) {
    StackId const stack = stacks[__builtin_ctz(left)];
    uint8_t mask = 0;
    for (uint8_t rest = left; rest != 0; rest &= static_cast<uint8_t>(rest - 1)) {
      unsigned const b = static_cast<unsigned>(__builtin_ctz(rest));
      if (stacks[b] == stack) mask |= static_cast<uint8_t>(1u << b);
    }
    result = result == 0 ? stack : overlay(cache, result, mask, stack);
    left &= static_cast<uint8_t>(~mask);
  }
  return result;
}

bool is_of_one_place(StackId stack) { return kind_of(nodes[stack]) != NodeKind::kComposite; }

void stacks_of_bytes(StackId stack, uint8_t bytes, StackId (&stacks)[8]) {
  resolve_bytes(stack, bytes, stacks);
}

namespace {
StackId compose(InternCache& cache, StackId base, uint8_t base_mask, StackId over, uint8_t over_mask) {
  StackId stacks[8];
  resolve_bytes(base, base_mask & static_cast<uint8_t>(~over_mask), stacks);
  for (unsigned b = 0; b < 8; ++b) {
    if (((over_mask >> b) & 1) != 0) stacks[b] = over;
  }
  return intern_stack_of_bytes(cache, stacks, base_mask | over_mask);
}
}  // namespace

namespace {
// The question itself stands in the cache, too, under a kind that no node there has.
uint32_t question_of(uint8_t base_mask, uint8_t over_mask) {
  return aux_of(NodeKind::kLockset, static_cast<uint32_t>(base_mask) << 8 | over_mask);
}
bool is_answer(const InternCache::Node& entry, StackId base, StackId over, uint32_t question) {
  return entry.word == over && entry.parent == base && entry.aux == question && entry.id != 0;
}
}  // namespace

bool knows_composite(InternCache& cache, StackId base, uint8_t base_mask, StackId over, uint8_t over_mask) {
  uint32_t const question = question_of(base_mask, over_mask);
  return is_answer(slot_of(cache, over, base, question), base, over, question);
}

StackId intern_composite(InternCache& cache, StackId base, uint8_t base_mask, StackId over,
                         uint8_t over_mask) {
  uint32_t const question = question_of(base_mask, over_mask);
  InternCache::Node& hit = slot_of(cache, over, base, question);
  if (is_answer(hit, base, over, question)) return hit.id;
  ++cache.asked_in_vain;
  StackId const id = compose(cache, base, base_mask, over, over_mask);
  hit = {over, base, question, id, 0};
  return id;
}

namespace {
LocksetId find_or_insert_lockset(const LocksetEntry& entry, uint64_t mode, bool* one_of_many) {
  uint64_t word = entry.lock | mode;
  uint64_t const h = mix(entry.acquired, entry.rest);
  uint32_t* const bucket = &lockset_hash[h & ((1u << kLocksetHashBits) - 1)];
  unsigned others = 0;
  for (uint32_t id = __atomic_load_n(bucket, __ATOMIC_ACQUIRE); id != 0; id = locksets[id].next) {
    const Node& n = locksets[id];
    if (n.parent != entry.rest || n.aux != entry.acquired || (n.word & kSharedLock) != mode) continue;
    if (n.word == word) return id;
    ++others;
  }
  *one_of_many = others >= kLocksPerPlace;
  if (*one_of_many) word = mode;
  return find_or_insert(locksets, bucket, word, entry.rest, entry.acquired);
}
}  // namespace

LocksetId intern_lockset(InternCache& cache, const LocksetEntry& entry) {
  // The mode rides on the top bit of the address, which user space never has.
  uint64_t const mode = entry.shared ? kSharedLock : 0;
  InternCache::Place& place =
      cache.place[((entry.acquired * 0x9E3779B1u ^ entry.rest * 0x85EBCA77u) >> 16) % InternCache::kPlaces];
  if (place.acquired != entry.acquired || place.rest != entry.rest || place.mode != mode) {
    place = {};
    place.rest = entry.rest;
    place.acquired = entry.acquired;
    place.mode = mode;
  }
  unsigned free = 0;
  for (; free < kLocksPerPlace && place.lock[free] != 0; ++free) {
    if (place.lock[free] == entry.lock) return place.id[free];
  }
  if (place.many != 0) return place.many;
  bool one_of_many = false;
  LocksetId const id = find_or_insert_lockset(entry, mode, &one_of_many);
  if (one_of_many) {
    place.many = id;
  } else if (free < kLocksPerPlace) {
    place.lock[free] = entry.lock;
    place.id[free] = id;
  }
  return id;
}

namespace {
ShapeId find_shape(ShapeId head, StackId first, StackId second) {
  ShapeId id = head;
  while (id != 0 && (shapes[id].first != first || shapes[id].second != second)) id = shapes[id].next;
  return id;
}

ShapeId find_or_insert_shape(StackId first, StackId second) {
  uint64_t const h = mix(first, second);
  unsigned const newest = shape_buckets.newest(shapes.count());
  for (unsigned array = 0; array < newest; ++array) {
    ShapeId const head = __atomic_load_n(shape_buckets.of(array, h), __ATOMIC_ACQUIRE);
    if (ShapeId const id = find_shape(head, first, second); id != 0) return id;
  }
  uint32_t* const bucket = shape_buckets.of(newest, h);
  ShapeId fresh = 0;
  for (;;) {
    ShapeId const head = __atomic_load_n(bucket, __ATOMIC_ACQUIRE);
    if (ShapeId const id = find_shape(head, first, second); id != 0) return id;
    if (fresh == 0) {
      fresh = shapes.append(kTable);
      if (fresh == 0) return kNoShape;
      shapes[fresh].first = first;
      shapes[fresh].second = second;
    }
    shapes[fresh].next = head;
    uint32_t expected = head;
    if (__atomic_compare_exchange_n(bucket, &expected, fresh, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
      return fresh;
  }
}
}  // namespace

ShapeId intern_shape_slow(InternCache& cache, StackId first, StackId second) {
  ShapeId const found = find_or_insert_shape(first, second);
  if (found == kNoShape) return kNoShape;
  ++cache.asked_in_vain;
  cache.shape.at(InternCache::shape_hash(first, second)) = {first, second, found};
  return found;
}

StackPair shape_stacks(ShapeId shape) {
  if (shape == 0) return {0, 0};
  return {shapes[shape].first, shapes[shape].second};
}

AccessInfo access_of(StackId stack, unsigned byte) {
  stack = resolve(stack, byte);
  if (stack == 0) return {};
  const Node& n = nodes[stack];
  uint32_t payload = n.aux >> kKindBits;
  AccessInfo info{};
  info.size = payload & ((1u << kSizeBits) - 1);
  payload >>= kSizeBits;
  info.type = static_cast<AccessType>(payload & ((1u << kTypeBits) - 1));
  info.locks = payload >> kTypeBits;
  info.pc = n.word;
  info.frames = n.parent;
  return info;
}

LocksetEntry lockset_of(LocksetId set) {
  const Node& n = locksets[set];
  return {n.parent, static_cast<uintptr_t>(n.word & ~kSharedLock), (n.word & kSharedLock) != 0, n.aux};
}

unsigned frames_of(StackId frames, uintptr_t* out, unsigned max) {
  unsigned count = 0;
  for (uint32_t id = frames; id != 0 && count < max; id = nodes[id].parent) out[count++] = nodes[id].word;
  return count;
}

uint64_t interned_stacks() { return nodes.count(); }
uint64_t interned_shapes() { return shapes.count(); }

}  // namespace deadheat::watch
