#include "instrument/stream_calls.h"

#include <gtest/gtest.h>

#include "runtime/abi.h"

namespace deadheat::instrument {
namespace {

bool has(llvm::StringRef name, uint32_t bits) { return (stream_use_of(name) & bits) == bits; }
uint32_t size_of(llvm::StringRef name) { return stream_use_of(name) >> 24; }

TEST(StreamCalls, FormattedOutputClearsTheWidth) {
  const uint32_t formatted = DH_STREAM_PUTS | DH_STREAM_FORMATS | DH_STREAM_CLEARS_WIDTH;
  EXPECT_TRUE(has("_ZNSolsEi", formatted));
  EXPECT_TRUE(has("_ZNSo9_M_insertIdEERSoT_", formatted));
  EXPECT_TRUE(has("_ZNSt13basic_ostreamIwSt11char_traitsIwEElsEi", formatted));
  EXPECT_TRUE(has("_ZSt16__ostream_insertIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_PKS3_l",
                  formatted | DH_STREAM_READS_RANGE));
  EXPECT_TRUE(has("_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc", formatted));
}

TEST(StreamCalls, WhatOnlyPutsDoesNotFormat) {
  EXPECT_EQ(stream_use_of("_ZNSo3putEc"), DH_STREAM_OUTPUT | DH_STREAM_PUTS);
  EXPECT_FALSE(has("_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_c", DH_STREAM_CLEARS_WIDTH));
  EXPECT_TRUE(has("_ZNSo5writeEPKcl", DH_STREAM_PUTS | DH_STREAM_READS_RANGE));
}

TEST(StreamCalls, InputFillsItsTarget) {
  EXPECT_EQ(size_of("_ZNSirsERi"), 4u);
  EXPECT_EQ(size_of("_ZNSirsERs"), 2u);
  EXPECT_EQ(size_of("_ZNSi10_M_extractIdEERSiRT_"), 8u);
  EXPECT_EQ(size_of("_ZNSi10_M_extractIeEERSiRT_"), 10u);
  EXPECT_EQ(size_of("_ZNSi10_M_extractIbEERSiRT_"), 1u);
  EXPECT_TRUE(has("_ZNSi4readEPcl", DH_STREAM_GETS | DH_STREAM_COUNTS));
  EXPECT_TRUE(
      has("_ZSt7getlineIcSt11char_traitsIcESaIcEERSt13basic_istreamIT_T0_ES7_RNSt7__cxx1112basic_"
          "stringIS4_S5_T1_EE",
          DH_STREAM_GETS | DH_STREAM_FILLS_STRING));
}

TEST(StreamCalls, OfTheClassesThatOwnABuffer) {
  EXPECT_TRUE(has("_ZNKSt7__cxx1119basic_ostringstreamIcSt11char_traitsIcESaIcEE3strEv", DH_STREAM_LOOKS));
  EXPECT_TRUE(
      has("_ZNSt7__cxx1118basic_stringstreamIcSt11char_traitsIcESaIcEE3strERKNS_12basic_"
          "stringIcS2_S3_EE",
          DH_STREAM_NEW_BUFFER));
  EXPECT_TRUE(has("_ZNSt14basic_ofstreamIcSt11char_traitsIcEE5closeEv", DH_STREAM_NEW_BUFFER));
  EXPECT_TRUE(has("_ZNSt9basic_iosIcSt11char_traitsIcEE5clearESt12_Ios_Iostate", DH_STREAM_SETS_STATE));
}

TEST(StreamCalls, NothingElseIsOne) {
  for (const char* name : {"main", "_Z1fv", "_ZNSolsEPFRSoS_E", "_ZNSs6appendEPKc", "_ZNSoD1Ev",
                           "_ZN3foo3strEv", "_ZStlsIcERiS0_i", "_ZNSirsEPFRSiS_E"})
    EXPECT_EQ(stream_use_of(name), 0u) << name;
}

}  // namespace
}  // namespace deadheat::instrument
