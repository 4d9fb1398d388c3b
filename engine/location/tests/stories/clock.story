# A clock that is set back: every pause keeps its length.

story a failed write is retried within its pause
book a1 op1 prov1 2026-12-05T10:00 30m patient p1 -> booked a1
wake
pushed w0 1 retry "down" after 30s
+ deferred w0 until 08:00:30 "down"
+ breaker_failure w0
after 10s
clock back 1d
set_back 1d
+ clock_set_back 1440m
expect wake 08:00:30
at 2026-11-30T08:00:30
wake
> push w0 2 *

story after a restart with an earlier clock the pause begins again
book a1 op1 prov1 2026-12-05T10:00 30m patient p1 -> booked a1
wake
pushed w0 1 unknown "reset"
restart
clock back 2h
set_back 2h
expect wake 06:00:05
at 06:00:05
wake
> find w0 2 *

story a call of another process has a full deadline by the local clock
book a1 op1 prov1 2026-12-05T10:00 30m patient p1 -> booked a1
wake
> push w0 1 *
restart
# The local clock is two minutes ahead.
after 2m
taken_over
+ calls_outlast 08:02:30
at 08:02:29
wake
expect wake 08:02:30
at 08:02:30
wake
+ unknown w0 *
+ breaker_failure w0
taken_over

story calls, breaker, holds and read cycles keep their pauses too
settings threshold=1 pulls=appointments
hold h1 op2 prov2 10:00 30m -> held until 08:05
book a1 op1 prov1 2026-12-05T10:00 30m patient p1 -> booked a1
wake
> push w0 1 *
> pull appointments 0 cursor -
page appointments 0 cursor c1 last -> applied
wake
+ cycle_finished next 08:10:*
pushed w0 1 retry "down"
expect path breaker until 08:00:30
clock back 3d
set_back 3d
expect path breaker until 08:00:30
at 2026-11-28T08:00:30
wake
> push w0 2 *
at 2026-11-28T08:01:00
wake
+ unknown w0 *
+ breaker_failure w0
+ blocked *
at 2026-11-28T08:05
wake
+ hold_ended h1
at 2026-11-28T08:12
wake
> find w0 3 *
> pull appointments 1 *

story appointments pruned by a clock that was ahead take their times again
settings pulls=appointments
wake
page appointments 0 cursor c1 last -> applied
| a1 op1 prov1 2026-12-05T10:00 30m patient p1
at 2027-12-01T08:00
wake
+ pruned before 2027-11-30T08:00
expect appointment a1 none
clock back 365d
set_back 365d
| a1 op1 prov1 2026-12-05T10:00 30m patient p1
+ clock_set_back *
+ pruned before 2026-11-30T08:00
+ pulled a1 op1 prov1 2026-12-05T10:00 30m
expect slot op1 prov1 2026-12-05T10:00 30m busy
# The next pruning is due at its usual time.
at 2026-12-06T10:30
wake
+ pruned before 2026-12-05T10:30
expect appointment a1 none
