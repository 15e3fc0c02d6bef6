# What makes errors in memory hard to use: collsim reads files that others wrote. tools/dev/check-hardening looks
# whether the binaries have it. Only functions with arrays of characters have a guarded stack: guards of all that hold
# any array or take an address (-fstack-protector-strong) cost the simulation 4 % of its instructions.
include(CheckPIESupported)
check_pie_supported()
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
add_compile_options(-fstack-protector $<$<CONFIG:Release>:-D_FORTIFY_SOURCE=2>)
add_link_options(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)

# What reads or answers checks indices and empty containers in the release, too. What simulates does not: it would take a
# third more instructions (textbook ring of 256 ranks +38 %, choice of channels +20 %).
add_library(collsim_checked INTERFACE)
target_compile_definitions(collsim_checked INTERFACE $<$<CONFIG:Release>:_GLIBCXX_ASSERTIONS>)
