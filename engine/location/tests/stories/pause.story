# An operator pauses reading, writing, or both, until resumed. Deadlines of writes are unchanged.

story while writing is paused bookings wait, and are sent when it is resumed
settings concurrency=1
pause writing
+ paused writing
pause writing
+ nothing
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
book a2 op1 prov1 11:00 30m patient p2 -> booked a2
wake
> nothing
expect wake 10:00
after 5m
resume writing
+ paused nothing
wake
> push w0 1 *
pushed w0 1 written f1
wake
> push w1 1 *

story a call in flight ends when writing is paused, and no other starts
settings concurrency=1
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
book a2 op1 prov1 11:00 30m patient p2 -> booked a2
wake
> push w0 1 *
pause both
+ paused both
pushed w0 1 written f1
+ done w0 create_appointment a1
+ insert_done a1 f1
wake
> nothing
resume reading
+ paused writing
resume writing
wake
> push w1 1 *

story a paused write fails at its deadline
pause writing
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
at 2026-12-01T10:00
wake
+ failed w0 create_appointment a1 timed_out *
+ insert_failed a1 timed_out *

story a write of unknown outcome fails if writing stays paused as long as look-ups may fail
settings deadline=1h
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 unknown "no answer"
pause writing
at 2026-12-01T10:00
wake
+ nothing
at 2026-12-01T11:00
wake
+ failed w0 create_appointment a1 failed "the outcome stayed unknown: an operator paused writing"
+ insert_failed a1 failed *

story a paused read cycle continues where it was, and requests made meanwhile wait
settings pulls=patients,appointments
wake
> pull patients 0 cursor -
pause reading
page patients 0 cursor c1 -> applied
> nothing
expect wake never
sync
wake
> nothing
after 3h
wake
> nothing
resume both
+ paused nothing
wake
> pull patients 1 cursor c1

story an opening gate does not resume a direction that an operator paused
settings concurrency=1
gate no_workstation
pause writing
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
gate open
wake
> nothing
resume writing
wake
> push w0 1 *
