/* LANES threads share a result; COLUMNS says that neighbouring threads take neighbouring results and
   not neighbouring elements of one. PART_(lane) is a lane's place in memory that a group shares. */
#define RESULTS_ (WG / LANES)
#if COLUMNS
#define RESULT_ (TID % RESULTS_)
#define LANE_ (TID / RESULTS_)
#define PART_(lane) ((lane) * RESULTS_ + RESULT_)
#else
#define RESULT_ (TID / LANES)
#define LANE_ (TID % LANES)
#define PART_(lane) (RESULT_ * LANES + (lane))
#endif
