// Turns the leak check off in test programs over the fake drivers: a fake driver is unloaded with
// its state, which the checker then takes for lost or cannot walk. The other checks of the address
// sanitizer stay on.
extern "C" int __lsan_is_turned_off() {
  return 1;
}
