#include "runtime/watch/buckets.h"

#include <set>

#include "gtest/gtest.h"
#include "runtime/watch/stacks.h"

namespace deadheat::watch {
namespace {

TEST(Buckets, FewThingsHaveFewOfThem) {
  static Buckets<19> buckets;
  std::set<uintptr_t> pages;
  for (uint64_t i = 0; i < 2000; ++i) {
    uint64_t const hash = i * 0x9E3779B97F4A7C15ull >> 20;
    unsigned const array = Buckets<19>::newest(static_cast<uint32_t>(i));
    pages.insert(reinterpret_cast<uintptr_t>(buckets.of(array, hash)) / 4096);
  }
  EXPECT_LE(pages.size(), 2u);
}

TEST(Buckets, ArraysAreDisjointAndGrow) {
  static Buckets<13> buckets;
  EXPECT_EQ(Buckets<13>::newest(2047), 0u);
  EXPECT_EQ(Buckets<13>::newest(2048), 1u);
  EXPECT_EQ(Buckets<13>::newest(~0u), 1u);
  EXPECT_EQ(buckets.of(0, ~uint64_t{0}) + 1, buckets.of(1, 0));
  EXPECT_EQ(buckets.of(1, ~uint64_t{0}) - buckets.of(1, 0), 8191);
}

// Also those that were added while there were fewer arrays.
TEST(Buckets, WhatWasInternedIsFoundAgain) {
  auto const begun = [] {
    auto* const cache = new InternCache{};
    cache->node.begin();
    cache->shape.begin();
    return cache;
  };
  InternCache* const cache = begun();
  constexpr uintptr_t kMany = 40000;
  StackId frames[kMany];
  ShapeId shapes[kMany];
  for (uintptr_t i = 0; i < kMany; ++i) {
    frames[i] = intern_frame(*cache, 0, 0x7000000 + i);
    shapes[i] = intern_shape(*cache, frames[i], frames[i / 2]);
  }
  InternCache* const other = begun();
  for (uintptr_t i = 0; i < kMany; ++i) {
    ASSERT_EQ(intern_frame(*other, 0, 0x7000000 + i), frames[i]);
    ASSERT_EQ(intern_shape(*other, frames[i], frames[i / 2]), shapes[i]);
  }
  delete other;
  delete cache;
}

}  // namespace
}  // namespace deadheat::watch
