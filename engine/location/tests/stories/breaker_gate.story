# Blocked writes: the circuit breaker, the workstation gate, and refused credentials. Waiting writes are parked and then
# sent in order.

story distinct writes that fail in a row open the breaker, and a success closes it
settings concurrency=1 threshold=2
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
book a2 op1 prov1 11:00 30m patient p2 -> booked a2
book a3 op1 prov1 12:00 30m patient p3 -> booked a3
wake
pushed w0 1 retry "down"
expect path open
wake
> push w1 1 *
pushed w1 1 retry "down"
+ deferred w1 *
+ breaker_failure w1
+ blocked breaker until 08:00:30
wake
> nothing
expect wake 08:00:30
at 2026-12-01T08:00:30
wake
> push w2 1 *
expect path breaker until 08:00:30
pushed w2 1 written f3
+ breaker_closed
+ done *
+ insert_done *
wake
> push * *

story a single failing write never opens the breaker
settings threshold=2 backoff_cap=1s
book a1 op1 prov1 17:00 30m patient p1 -> booked a1
wake
pushed w0 1 retry "no"
after 1s
wake
pushed w0 2 retry "no"
after 1s
wake
pushed w0 3 unknown "no"
expect path open

story a finished write no longer counts for the breaker
settings threshold=2 concurrency=1
book a1 op1 prov1 17:00 30m patient p1 -> booked a1
book a2 op1 prov1 16:00 30m patient p2 -> booked a2
wake
pushed w0 1 retry "no"
cancel a1 -> cancelled
wake
> push w1 1 *
pushed w1 1 retry "no"
expect path open

story an open breaker sends one probe at a time, and each failure doubles the pause up to the cap
settings threshold=1 concurrency=4
book a1 op1 prov1 17:00 30m patient p1 -> booked a1
book a2 op1 prov1 16:00 30m patient p2 -> booked a2
wake
> push w0 1 *
> push w1 1 *
pushed w0 1 retry "down"
pushed w1 1 rejected "no"
+ breaker_closed
+ failed *
+ insert_failed *
after 2s
wake
pushed w0 2 retry "down"
+ deferred *
+ breaker_failure w0
+ blocked breaker until 08:00:32
at 2026-12-01T08:00:32
wake
pushed w0 3 retry "down"
+ deferred *
+ breaker_failure w0
+ blocked breaker until 08:01:32

story a closed gate parks all writes until a sync request or the end of the pause, then sends them in order
settings concurrency=1
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
book a2 op1 prov1 11:00 30m patient p2 -> booked a2
book a3 op1 prov1 12:00 30m patient p3 -> booked a3
wake
pushed w0 1 gate_closed
+ deferred w0 until 08:00 "the workstation gate is closed"
+ blocked gate_closed until 08:00:30
expect path gate_closed until 08:00:30
wake
> nothing
after 5s
sync
expect path open
wake
> push w0 2 *
pushed w0 2 written f1
wake
> push w1 1 *
pushed w1 1 written f2
wake
> push w2 1 *
pushed w2 1 written f3
expect queue none

story refused credentials park all writes, and none is lost
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 unauthorized "expired token"
+ deferred w0 until 08:00 "expired token"
+ blocked unauthorized until 08:00:30
at 2026-12-01T08:00:30
wake
> push w0 2 *
pushed w0 2 written f1
+ breaker_closed
+ done *
+ insert_done *

story bookings are accepted while writes are parked
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 gate_closed
book a2 op2 prov1 10:00 30m patient p2 -> booked a2
expect queue w0 w1

story a gate that closes during a look-up parks the look-up
book a1 op1 prov1 17:00 30m patient p1 -> booked a1
wake
pushed w0 1 unknown "reset"
after 5s
wake
found w0 2 gate_closed
+ unknown w0 *
+ blocked gate_closed until 08:00:35

story a write that was withdrawn when it failed does not count for the breaker
settings threshold=2 concurrency=1
book a1 op1 prov1 17:00 30m patient p1 -> booked a1
book a2 op1 prov1 16:00 30m patient p2 -> booked a2
wake
> push w0 1 *
cancel a1 -> cancelled
pushed w0 1 retry "no"
wake
> push w1 1 *
pushed w1 1 retry "no"
expect path open

story calls that meet the closed gate together double the pause only once
settings concurrency=4
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
book a2 op1 prov1 11:00 30m patient p2 -> booked a2
book a3 op1 prov1 12:00 30m patient p3 -> booked a3
wake
> push w0 1 *
> push w1 1 *
> push w2 1 *
pushed w0 1 gate_closed
+ deferred w0 *
+ blocked gate_closed until 08:00:30
pushed w1 1 gate_closed
+ deferred w1 *
pushed w2 1 gate_closed
+ deferred w2 *
at 2026-12-01T08:00:30
wake
> push w0 2 *
pushed w0 2 gate_closed
+ deferred w0 *
+ blocked gate_closed until 08:01:30

story calls that time out together open the breaker only once
settings concurrency=4 threshold=1
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
book a2 op1 prov1 11:00 30m patient p2 -> booked a2
wake
at 2026-12-01T08:00:30
wake
+ unknown w0 *
+ breaker_failure w0
+ blocked breaker until 08:01
+ unknown w1 *
+ breaker_failure w1
