# Reads of the appointments on request, between two cycles and within one.

story a requested read contains only the appointments and leaves the time of the next cycle unchanged
settings pulls=patients,appointments jitter_percent=0
expect schedule never
wake
page patients 0 cursor c1 last -> applied
page appointments 1 cursor d1 last -> applied
wake
+ cycle_finished next 08:10
at 2026-12-01T08:05
expect schedule 08:00
read
+ read_requested
expect wake due
wake
+ cycle_started
+ pulling appointments 2 *
> pull appointments 2 cursor d1
expect schedule 08:00
page appointments 2 cursor d2 last -> applied
expect schedule 08:05
wake
+ cycle_finished next 08:10
expect wake 08:10
at 2026-12-01T08:10
wake
+ cycle_started
+ pulling patients 3 *

story a requested read precedes the other resources of a running cycle
settings pulls=appointments,patients jitter_percent=0
wake
page appointments 0 cursor d1 last -> applied
> pull patients 1 cursor -
after 10s
read
page patients 1 cursor c1 -> applied
+ page_applied patients cursor c1
+ pulling appointments 2 *
> pull appointments 2 cursor d1
page appointments 2 cursor d2 last -> applied
+ page_applied appointments cursor d2 last
+ pulling patients 3 *
> pull patients 3 cursor c1
expect schedule 08:00:10
page patients 3 cursor c2 last -> applied
wake
+ cycle_finished next 08:10:10
expect reads fine

story a requested read of several pages keeps the page count of the resource that gave way
settings pulls=appointments,patients jitter_percent=0 max_pages=3
wake
page appointments 0 cursor d1 last -> applied
page patients 1 cursor c1 -> applied
read
page patients 2 cursor c2 -> applied
> pull appointments 3 cursor d1
page appointments 3 cursor d2 -> applied
> pull appointments 4 cursor d2
page appointments 4 cursor d3 last -> applied
> pull patients 5 cursor c2
page patients 5 cursor c3 -> applied
> nothing
wake
+ pull_suspended patients "more pages than a cycle may have"

story a pass that began before the request is followed by another one
settings pulls=appointments jitter_percent=0
wake
> pull appointments 0 cursor -
after 10s
read
page appointments 0 cursor d1 last -> applied
+ page_applied appointments cursor d1 last
expect schedule 08:00
wake
+ pulling appointments 1 *
> pull appointments 1 cursor d1
page appointments 1 cursor d2 last -> applied
expect schedule 08:00:10
wake
+ cycle_finished next 08:10:10

story requests in a row do not hold the other resources up
settings pulls=appointments,patients jitter_percent=0
wake
page appointments 0 cursor d1 last -> applied
read
page patients 1 cursor c1 -> applied
> pull appointments 2 cursor d1
after 1s
read
page appointments 2 cursor d2 last -> applied
> pull patients 3 cursor c1
page patients 3 cursor c2 -> applied
> pull appointments 4 cursor d2
after 1s
read
page appointments 4 cursor d3 last -> applied
> pull patients 5 cursor c2
page patients 5 cursor c3 last -> applied
> pull appointments 6 cursor d3
after 1s
read
page appointments 6 cursor d4 last -> applied
wake
+ cycle_finished next 08:10:03
expect reads fine
wake
> pull appointments 7 cursor d4

story requests in a row do not hold the next cycle up
settings pulls=appointments,patients jitter_percent=0
wake
page appointments 0 cursor d1 last -> applied
page patients 1 cursor c1 last -> applied
wake
at 2026-12-01T08:09
read
wake
> pull appointments 2 cursor d1
after 20s
read
page appointments 2 cursor d2 last -> applied
wake
+ cycle_finished next 08:10
wake
> pull appointments 3 cursor d2
at 2026-12-01T08:10
read
page appointments 3 cursor d3 last -> applied
wake
+ cycle_finished next 08:10
wake
> pull appointments 4 cursor d3
page appointments 4 cursor d4 last -> applied
> pull patients 5 cursor c1

story a requested read between a pass and the one that confirms its deletions reads only changes
settings pulls=appointments! jitter_percent=0
wake
page appointments 0 cursor c1 last whole -> applied
| a1 op1 prov1 10:00 30m patient p1
| a2 op1 prov1 11:00 30m patient p2
wake
sync
wake
page appointments 1 cursor c2 last whole -> applied
| a1 op1 prov1 10:00 30m patient p1
wake
+ cycle_finished next 08:02
after 30s
read
wake
+ cycle_started
+ pulling appointments 2 *
> pull appointments 2 cursor c2
page appointments 2 cursor c3 last -> applied
wake
+ cycle_finished next 08:02
expect slot op1 prov1 11:00 30m busy
at 2026-12-01T08:02
wake
+ cycle_started
+ read_anew appointments
+ pulling appointments 3 *
> pull appointments 3 cursor -
page appointments 3 cursor c4 last whole -> applied
| a1 op1 prov1 10:00 30m patient p1
expect slot op1 prov1 11:00 30m free

story a requested read that fails once is repeated, and its failure ends with it
settings pulls=appointments jitter_percent=0
wake
page appointments 0 cursor d1 last -> applied
wake
after 1m
read
wake
pulled appointments 1 retry "busy" -> ignored
expect reads failing since 08:01 busy
after 10s
wake
> pull appointments 2 cursor d1
page appointments 2 cursor d2 last -> applied
expect schedule 08:01:10
wake
+ cycle_finished next 08:10
expect reads fine

story a requested read that the EHR refuses ends, and the next cycle comes at its time
settings pulls=appointments jitter_percent=0
wake
page appointments 0 cursor d1 last -> applied
wake
after 1m
read
wake
pulled appointments 1 rejected "not now" -> ignored
+ pull_failed appointments * "not now"
+ pull_suspended appointments "not now"
after 10s
wake
+ cycle_finished next 08:10
expect schedule 08:00
expect reads failing since 08:01 not now
expect wake 08:10

story a requested read waits until reading resumes
settings pulls=appointments
wake
page appointments 0 cursor d1 last -> applied
wake
pause reading
read
+ read_requested
wake
+ nothing
after 1m
resume reading
wake
> pull appointments 1 cursor d1

story a requested read waits for the quota
settings pulls=appointments jitter_percent=0 burst=1 per_minute=1
wake
page appointments 0 cursor d1 last -> applied
wake
after 10s
read
wake
> nothing
expect wake 08:01
at 2026-12-01T08:01
wake
> pull appointments 1 cursor d1

story a request for everything starts a cycle
settings pulls=patients,appointments
wake
page patients 0 cursor c1 last -> applied
page appointments 1 cursor d1 last -> applied
wake
after 1m
read everything
+ cycle_requested
wake
+ cycle_started
+ pulling patients 2 *

story a request has no effect if the appointments are not read
settings pulls=patients
read
+ nothing
settings unintegrated
read everything
+ nothing
after 3m
expect schedule 08:03

story a requested read survives a restart
settings pulls=appointments
wake
page appointments 0 cursor d1 last -> applied
wake
after 1m
read
restart
wake
> pull appointments 1 cursor d1

story a request is void once the EHR no longer lists appointments
settings pulls=appointments,patients jitter_percent=0
wake
page appointments 0 cursor d1 last -> applied
page patients 1 cursor c1 last -> applied
wake
after 1m
pause reading
read
settings pulls=patients
resume reading
wake
+ nothing
expect wake 08:10
