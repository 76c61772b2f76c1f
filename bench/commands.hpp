// The commands of gar-bench, each of which takes its own arguments and answers the exit status:
// 0, 1 for a coded error, 2 for usage.
#pragma once

namespace gar::bench {

int run_cases(int count, const char* const* arguments);
int run_ab(int count, const char* const* arguments);
int run_replay(int count, const char* const* arguments);
int run_scale(int count, const char* const* arguments);

}  // namespace gar::bench
