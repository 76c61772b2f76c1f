// Is a library in this process already? Answered from what is loaded, without a look at any file.
//
// dlopen with RTLD_NOLOAD does not ask only that: a name that it does not find among the loaded it
// looks for in the loader's map of the file system, which each such call maps and unmaps again. A
// child that is forked meanwhile inherits it half unmapped, and crashes at its first look.
//
// Invariants: no fork happens within an answer, since the lock that glibc takes for it stays locked
// in a child. Where the program's own threads walk the loaded libraries or load one at a fork, that
// is theirs to see to. Threads: any. Blocking: none but a fork for that long. Errors: none.
//
// A library is known by its soname or its file's name. A yes is no promise: dlopen has the last
// word, and another thread may unload the library meanwhile.
#pragma once

namespace gar {

// `name` without a directory, as in "libcuda.so.1".
bool is_loaded(const char* name);

}  // namespace gar
