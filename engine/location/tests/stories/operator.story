# Operators retry and drop writes.

story a refused booking is retried under its key after a look-up
book a1 op1 prov1 10:00 30m patient p1 key k1 -> booked a1
wake
pushed w0 1 rejected "closed that day"
+ failed w0 create_appointment a1 failed "closed that day"
+ insert_failed a1 failed "closed that day"
expect slot op1 prov1 10:00 30m free
retry w0 with op1 prov1 10:00 30m patient p1 -> retried w1
+ booked a1 op1 prov1 10:00 30m patient p1
+ retried w0 as w1 create_appointment a1 deadline 10:00 look_first
expect slot op1 prov1 10:00 30m busy*
wake
> find w1 1 create_appointment a1 op1 prov1 10:00 30m
found w1 1 nothing
wake
> push w1 2 create_appointment a1 op1 prov1 10:00 30m
pushed w1 2 written f1
+ done w1 create_appointment a1
+ insert_done a1 f1

story a retried write that had arrived is not written again
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 rejected "so it said"
retry w0 with op1 prov1 10:00 30m patient p1 -> retried w1
wake
> find w1 1 create_appointment a1 op1 prov1 10:00 30m
found w1 1 written f1
+ done w1 create_appointment a1
+ insert_done a1 f1

story a retried write that may have arrived keeps its slot while it is cancelled
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 rejected "so it said"
retry w0 with op1 prov1 10:00 30m patient p1 -> retried w1
cancel a1 -> cancelled
+ cancelled a1 by client
+ queued w2 cancel a1 *
expect slot op1 prov1 10:00 30m busy
wake
> find w1 1 create_appointment a1 op1 prov1 10:00 30m
found w1 1 written f1
wake
> push w2 1 cancel a1 *
pushed w2 1 written f1
+ done w2 cancel a1
+ cancel_confirmed a1
expect slot op1 prov1 10:00 30m free

story deletions before the full pass of a retry are read after it
settings pulls=appointments
wake
page appointments 0 cursor c1 last -> applied
| a1 op2 prov2 10:00 30m patient p1
wake
book a2 op1 prov1 11:00 30m patient p2 -> booked a2
wake
pushed w0 1 rejected "so it said"
retry w0 with op1 prov1 11:00 30m patient p2 -> retried w1
wake
found w1 1 written f2
sync
wake
+ cycle_started
+ read_anew appointments
+ pulling appointments 1 *
> pull appointments 1 cursor -
# Staff have deleted a1 meanwhile.
page appointments 1 cursor c2 last whole -> applied
| a2 op1 prov1 11:00 30m patient p2
expect cursor appointments c1
wake
sync
wake
> pull appointments 2 cursor c1
page appointments 2 cursor c3 last -> applied
| deleted a1
expect slot op2 prov2 10:00 30m free

story a write that was never sent is sent at once
book a1 op1 prov1 10:00 30m patient p1 new -> booked a1
wake
> push w0 1 create_patient p1
pushed w0 1 rejected "no such town"
+ failed w0 create_patient p1 failed *
+ failed w1 create_appointment a1 failed *
+ insert_failed a1 failed *
retry w0 -> retried w2
+ retried w0 as w2 create_patient p1 deadline 2026-12-04T08:00 look_first
retry w0 -> refused write_not_failed
retry w1 with op1 prov1 10:00 30m patient p1 -> retried w3
+ booked a1 op1 prov1 10:00 30m patient p1
+ retried w1 as w3 create_appointment a1 deadline 10:00
wake
> find w2 1 create_patient p1
found w2 1 written f9
wake
> push w3 1 create_appointment a1 op1 prov1 10:00 30m

story a retry is refused if the slot is taken
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 rejected "no"
book a2 op1 prov1 10:15 30m patient p2 -> booked a2
retry w0 with op1 prov1 10:00 30m patient p1 -> refused slot_taken *
+ nothing

story a retry is refused after the start of the appointment
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 rejected "no"
at 10:00
retry w0 with op1 prov1 10:00 30m patient p1 -> refused slot_expired
+ nothing

story a retry of a write that has not failed is refused
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
retry w0 with op1 prov1 10:00 30m patient p1 -> refused write_not_failed
wake
pushed w0 1 written f1
retry w0 with op1 prov1 10:00 30m patient p1 -> refused write_not_failed

story a refused change was reverted and must be requested again
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a1 op1 prov1 11:00 30m -> moved
wake
pushed w1 1 rejected "no"
retry w1 -> refused write_was_put_back

story a retry is refused if the EHR no longer supports the write
save payments 7 create patient p1 -> saved
wake
pushed w0 1 rejected "no"
settings no_writes
retry w0 -> refused not_supported_by_ehr
+ nothing

story records and hours can be retried
settings hours=create
save payments 7 create patient p1 -> saved
set_hour 50 op4 prov1 -> saved
wake
pushed w0 1 rejected "no"
pushed w1 1 rejected "no"
expect hours 11 12 21 22 31 32
retry w0 -> retried w2
+ retried w0 as w2 create payments 7 deadline 2026-12-04T08:00 look_first
retry w1 with 50 op4 prov1 -> retried w3
+ hour_set 50
+ retried w1 as w3 create hours 50 deadline 2026-12-04T08:00 look_first
expect hours 11 12 21 22 31 32 50
retry w1 with 50 op4 prov1 -> refused write_not_failed

story a full queue refuses retries
settings max_queue=1
save payments 7 create patient p1 -> saved
wake
pushed w0 1 rejected "no"
save payments 8 create patient p1 -> saved
retry w0 -> refused queue_full 1

story a waiting write is dropped with the writes that depend on it
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
drop w0 -> done
+ failed w0 create_appointment a1 failed "dropped by an operator"
+ insert_failed a1 failed "dropped by an operator"
+ dropped w0
expect slot op1 prov1 10:00 30m free
expect queue none

story a write that may be in the EHR cannot be dropped
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
drop w0 -> refused write_on_its_way
pushed w0 1 unknown "lost"
drop w0 -> refused write_on_its_way
+ nothing

story a failed write is dropped
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 rejected "no"
drop w0 failed -> done
+ dropped w0
drop w7 -> refused write_not_failed

story a waiting change is dropped and reverted
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a1 op1 prov1 11:00 30m -> moved
drop w1 -> done
+ failed w1 reschedule a1 failed "dropped by an operator"
+ move_reverted a1 to op1 prov1 10:00 30m "dropped by an operator"
+ dropped w1
