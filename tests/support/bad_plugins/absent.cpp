extern "C" void vergenceTestAbsent() {}
