# Limits on calls in flight and on requests per minute.

story calls in flight are limited
settings concurrency=2
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
book a2 op1 prov1 11:00 30m patient p2 -> booked a2
book a3 op1 prov1 12:00 30m patient p3 -> booked a3
wake
> push w0 1 *
> push w1 1 *
expect wake 08:00:30
pushed w1 1 written f2
wake
> push w2 1 *

story an exhausted quota delays calls until its refill
settings concurrency=9 burst=2 per_minute=60
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
book a2 op1 prov1 11:00 30m patient p2 -> booked a2
book a3 op1 prov1 12:00 30m patient p3 -> booked a3
wake
> push w0 1 *
> push w1 1 *
pushed w0 1 written f1
pushed w1 1 written f2
wake
> nothing
expect wake 08:00:01
after 1s
wake
> push w2 1 *

story reads and writes share the quota
settings burst=1 per_minute=60 pulls=appointments
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
> push w0 1 *
pushed w0 1 written f1
expect wake 08:00:01
after 1s
wake
> pull appointments 0 cursor -

story the quota counts requests, so that further requests of a call delay later calls
settings burst=4 per_minute=60 pulls=appointments
wake
> pull appointments 0 cursor -
requests 5
page appointments 0 cursor c1 -> applied
> nothing
expect wake 08:00:03
after 3s
wake
> pull appointments 1 cursor c1

story a cycle with an exhausted quota waits for the refill without a busy loop
settings burst=2 per_minute=60 pulls=appointments
wake
page appointments 0 cursor c1 -> applied
> pull appointments 1 cursor c1
page appointments 1 cursor c2 -> applied
> nothing
expect wake 08:00:01
wake
+ nothing
after 1s
wake
> pull appointments 2 cursor c2

story a quota of 0 still allows single calls
settings burst=0 per_minute=0 pulls=appointments
wake
> pull appointments 0 cursor -
page appointments 0 cursor c1 -> applied
> nothing
expect wake 08:01
at 2026-12-01T08:01
wake
> pull appointments 1 cursor c1

story moves and cancellations fit into a queue that is full for bookings, up to a limit
settings pulls=appointments max_queue=1
wake
page appointments 0 cursor c1 last -> applied
| a1 op1 prov1 10:00 30m patient p1
| a2 op1 prov1 11:00 30m patient p2
| a3 op1 prov1 12:00 30m patient p3
| a4 op1 prov1 13:00 30m patient p4
book a9 op2 prov1 10:00 30m patient p9 -> refused queue_full 1
move a1 op2 prov1 10:00 30m -> moved
cancel a2 -> cancelled
cancel a3 -> cancelled
cancel a4 -> refused queue_full 3
move a4 op2 prov1 13:00 30m -> refused queue_full 3
move a1 op2 prov1 14:00 30m -> moved
