// Forced into every C++ file of a build that contains the `verilated` crate (0.1.2): it was
// written for Verilator 4.0 and names three things that Verilator 5 dropped. `cargo xtask` adds
// `-include` of this file to CXXFLAGS; sim/build.rs says so when it is missing.
#ifdef __cplusplus
typedef void (*VerilatedVoidCb)(void);
#define flushCb(cb) addFlushCb([](void* f) { reinterpret_cast<VerilatedVoidCb>(f)(); }, reinterpret_cast<void*>(cb))
#define rolloverMB(mb) rolloverSize(static_cast<size_t>(mb) << 20)
#endif
