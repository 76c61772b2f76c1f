// Two kernels of our own, as text that the driver compiles for whatever card there is.
//
//   spin_then_store(rounds, address, value)   computes for `rounds` steps, then stores
//   store_to(address)                         stores 1; of an address that is nowhere, a fault
//
// The steps depend on each other, so that they last; and the stored value seems to depend on them,
// so that no compiler leaves them out (the chance that they change it is 1 in 2^64).
#pragma once

namespace gar::device_check {

inline constexpr const char* kernels = R"(
.version 6.0
.target sm_50
.address_size 64

.visible .entry spin_then_store(.param .u64 rounds, .param .u64 address, .param .u64 value)
{
  .reg .u64 %left, %at, %what, %mixed;
  .reg .pred %none, %odd_one;
  ld.param.u64 %left, [rounds];
  ld.param.u64 %at, [address];
  ld.param.u64 %what, [value];
  mov.u64 %mixed, %left;
again:
  setp.eq.u64 %none, %left, 0;
  @%none bra done;
  mad.lo.u64 %mixed, %mixed, 6364136223846793005, 1442695040888963407;
  sub.u64 %left, %left, 1;
  bra again;
done:
  setp.eq.u64 %odd_one, %mixed, 1;
  @%odd_one add.u64 %what, %what, 1;
  membar.sys;
  st.volatile.global.u64 [%at], %what;
  membar.sys;
  ret;
}

.visible .entry store_to(.param .u64 address)
{
  .reg .u64 %at, %one;
  ld.param.u64 %at, [address];
  mov.u64 %one, 1;
  st.volatile.global.u64 [%at], %one;
  ret;
}
)";

}  // namespace gar::device_check
