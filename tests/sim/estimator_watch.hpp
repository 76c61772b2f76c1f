// Estimator watch: what must hold of each sample that is recorded and of each sleep that is asked
// for, by gard and by its clients, whatever the samples are.
#pragma once

namespace gar::sim {

class judge;

// Whom it tells from here on; null: nobody.
void watch_estimators(judge* to);

}  // namespace gar::sim
