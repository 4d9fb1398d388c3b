# The read cycle: one resource after another, page by page, each page applied once.

story a cycle pulls each resource to its last page and ends
settings pulls=patients,appointments
wake
+ cycle_started
+ pulling patients 0 until 08:01
> pull patients 0 cursor -
page patients 0 cursor c1 -> applied
+ page_applied patients cursor c1
+ pulling patients 1 *
> pull patients 1 cursor c1
page patients 1 cursor c2 last -> applied
+ page_applied patients cursor c2 last
+ pulling appointments 2 until 08:01
> pull appointments 2 cursor -
page appointments 2 cursor d1 last -> applied
+ pulled a9 op1 prov1 10:00 30m
+ page_applied appointments cursor d1 last
| a9 op1 prov1 10:00 30m patient p1
expect slot op1 prov1 10:00 30m busy
wake
+ cycle_finished next 08:1*
expect reads fine
expect wake 08:1*
at 2026-12-01T08:11
wake
> pull patients 3 cursor c2
page patients 3 cursor c3 last -> applied
> pull appointments 4 cursor d1

story the next resource waits for the quota
settings burst=1 per_minute=60 pulls=patients,appointments
wake
> pull patients 0 cursor -
page patients 0 cursor c1 last -> applied
> nothing
expect wake 08:00:01
after 1s
wake
> pull appointments 1 cursor -

story late, repeated and unrelated pages are ignored
settings pulls=appointments
wake
page appointments 7 cursor c9 last -> ignored
+ nothing
page patients 0 cursor c9 last -> ignored
+ nothing
page appointments 0 cursor c1 -> applied
page appointments 0 cursor c1 -> ignored
+ nothing
expect cursor appointments c1

story a page after its deadline is ignored, and its cursor is requested again
settings pulls=appointments
wake
page appointments 0 cursor c1 -> applied
> pull appointments 1 cursor c1
after 1m
wake
+ pull_failed appointments until * "no answer before the call's deadline"
page appointments 1 cursor c2 last -> ignored
+ nothing
expect reads failing since 08:01 no answer*
after 10s
wake
> pull appointments 2 cursor c1
page appointments 2 cursor c2 last -> applied
wake
+ cycle_finished *
expect reads fine

story a failed pull is repeated from the same cursor after the pause that the EHR requests
settings pulls=appointments
wake
page appointments 0 cursor c1 -> applied
pulled appointments 1 retry "busy" after 2m -> ignored
+ pull_failed appointments until 08:02 "busy"
expect wake 08:02
at 2026-12-01T08:02
wake
> pull appointments 2 cursor c1

story every kind of failed pull is repeated later
settings pulls=appointments
wake
pulled appointments 0 gate_closed -> ignored
+ pull_failed appointments until 08:00:* "the workstation gate is closed"
after 10s
wake
pulled appointments 1 unauthorized "expired" -> ignored
+ pull_failed appointments * "the EHR did not accept the credentials: expired"

story a resource that the EHR refuses does not prevent reading the others
settings pulls=patients,appointments
wake
pulled patients 0 rejected "not for you" -> ignored
+ pull_failed patients * "not for you"
+ pull_suspended patients "not for you"
after 10s
wake
> pull appointments 1 cursor -
page appointments 1 cursor d1 last -> applied
wake
+ cycle_finished *
expect reads failing since 08:00 not for you

story an unreadable resource is suspended after several failures, and the others are read
settings pulls=patients,appointments
wake
pulled patients 0 retry "what?" -> ignored
after 10m
wake
pulled patients 1 retry "what?" -> ignored
after 10m
wake
pulled patients 2 retry "what?" -> ignored
after 10m
wake
pulled patients 3 retry "what?" -> ignored
+ pull_failed patients * "what?"
after 10m
wake
> pull patients 4 cursor -
pulled patients 4 retry "what?" -> ignored
+ pull_failed patients * "what?"
+ pull_suspended patients "what?"
after 10m
wake
> pull appointments 5 cursor -
page appointments 5 cursor d1 last -> applied
wake
+ cycle_finished *
expect reads failing since 08:00 what?

story a sync request starts a cycle now
settings pulls=appointments
wake
page appointments 0 cursor c1 last -> applied
wake
+ cycle_finished *
after 1s
wake
> nothing
sync -> done
wake
> pull appointments 1 cursor c1

story an insert without answer is found on a page
settings pulls=appointments
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
> push w0 1 *
> pull appointments 0 *
pushed w0 1 unknown "reset"
page appointments 0 cursor c1 last -> applied
+ breaker_closed
+ done w0 create_appointment a1
+ insert_done a1 f77
+ pulled a1 op1 prov1 10:00 30m
+ page_applied *
| a1 op1 prov1 10:00 30m patient p1 foreign f77
expect queue none
expect appointment a1 op1 prov1 10:00 30m done

story the EHR takes precedence over values that it confirmed
settings pulls=appointments
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
page appointments 0 cursor c0 last -> applied
wake
sync
wake
page appointments 1 cursor c1 last -> applied
| a1 op2 prov2 15:00 30m patient p1
expect appointment a1 op2 prov2 15:00 30m done
expect slot op1 prov1 10:00 30m free

story a pending local change takes precedence, and the slot in the EHR stays taken
settings pulls=appointments
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
page appointments 0 cursor c0 last -> applied
wake
+ cycle_finished *
sync
move a1 op2 prov1 11:00 30m -> moved
wake
> push w1 1 reschedule a1 op2 prov1 11:00 30m
> pull appointments 1 *
page appointments 1 cursor c1 last -> applied keep a1
+ pulled a1 op3 prov1 12:00 30m keep
+ page_applied *
| a1 op3 prov1 12:00 30m patient p1
expect appointment a1 op2 prov1 11:00 30m done vacating op3 prov1 12:00 30m
pushed w1 1 rejected "no"
+ failed w1 *
+ move_reverted a1 to op3 prov1 12:00 30m "no"

story a record without changes produces no event
settings pulls=appointments
wake
page appointments 0 cursor c1 -> applied
| a9 op1 prov1 10:00 30m patient p1
page appointments 1 cursor c2 last -> applied
+ page_applied *
| a9 op1 prov1 10:00 30m patient p1

story a cancellation in the EHR frees the slot and withdraws pending writes
settings pulls=appointments
wake
page appointments 0 cursor c1 last -> applied
| a9 op1 prov1 10:00 30m patient p9
wake
move a9 op2 prov1 11:00 30m -> moved
sync
wake
> push w0 1 reschedule a9 *
> pull appointments 1 *
page appointments 1 cursor c2 last -> applied
+ failed w0 reschedule a9 withdrawn "cancelled in the EHR"
+ cancelled a9 by ehr
+ gone a9
+ page_applied *
| a9 op1 prov1 10:00 30m patient p9 cancelled
expect queue none
expect slot op1 prov1 10:00 30m free
expect slot op2 prov1 11:00 30m free
pushed w0 1 written f9
+ nothing

story a cancellation of ours that a pull shows before its answer is done
settings pulls=appointments
wake
page appointments 0 cursor c1 last -> applied
| a9 op1 prov1 10:00 30m patient p9
wake
cancel a9 -> cancelled
sync
wake
> push w0 1 cancel a9 *
> pull appointments 1 *
page appointments 1 cursor c2 last -> applied
+ done w0 cancel a9
+ cancel_confirmed a9
+ gone a9
+ page_applied *
| a9 op1 prov1 10:00 30m patient p9 cancelled
expect queue none
pushed w0 1 written f9
+ nothing

story an unknown record that is cancelled produces no event
settings pulls=appointments
wake
page appointments 0 cursor c1 last -> applied
+ page_applied *
| a9 op1 prov1 10:00 30m patient p9 cancelled

story tombstones delete records
settings pulls=appointments
wake
page appointments 0 cursor c1 -> applied
| a8 op1 prov1 10:00 30m patient p8
| a9 op1 prov1 11:00 30m patient p9
page appointments 1 cursor c2 last -> applied
+ cancelled a9 by ehr
+ gone a9
+ page_applied *
| deleted a9 a77
expect slot op1 prov1 11:00 30m free
expect slot op1 prov1 10:00 30m busy

story records that two consecutive whole passes lack on all their pages are deleted
settings pulls=appointments!
wake
page appointments 0 cursor c1 last whole -> applied
| a1 op1 prov1 10:00 30m patient p1
| a2 op1 prov1 11:00 30m patient p2
| a3 op1 prov1 12:00 30m patient p3
wake
sync
wake
page appointments 1 cursor c2 whole -> applied
| a1 op1 prov1 10:00 30m patient p1
page appointments 2 cursor c3 last whole -> applied
+ page_applied *
| a3 op1 prov1 12:00 30m patient p3
wake
sync
wake
page appointments 3 cursor c4 whole -> applied
| a1 op1 prov1 10:00 30m patient p1
page appointments 4 cursor c5 last whole -> applied
+ cancelled a2 by ehr
+ gone a2
+ page_applied *
| a3 op1 prov1 12:00 30m patient p3

story absence counts only for adapters that declare it, on whole passes, and for future appointments in the EHR
settings pulls=appointments
wake
page appointments 0 cursor c1 last whole -> applied
| a1 op1 prov1 10:00 30m patient p1
| a2 op1 prov1 16:00 30m patient p2
| a4 op2 prov1 16:00 30m patient p4
wake
sync
wake
page appointments 1 cursor c2 last whole -> applied
+ page_applied *
settings pulls=appointments!
wake
sync
wake
page appointments 2 cursor c3 last -> applied
+ page_applied *
wake
book a3 op1 prov1 17:00 30m patient p3 -> booked a3
at 2026-12-01T10:00
sync
wake
> push w0 1 *
> pull appointments 3 *
page appointments 3 cursor c4 last whole -> applied
+ page_applied *
| a4 op2 prov1 16:00 30m patient p4
pushed w0 1 rejected "full"
wake
sync
wake
page appointments 4 cursor c5 last whole -> applied
+ cancelled a2 by ehr
+ gone a2
+ page_applied *
| a4 op2 prov1 16:00 30m patient p4
expect appointment a1 op1 prov1 10:00 30m pulled

story operatories and hours are added and removed
settings pulls=operatories!,hours!
wake
page operatories 0 cursor c1 last whole -> applied
+ operatory op4 active
+ page_applied *
+ pulling hours 1 *
| operatory op1 active
| operatory op4 active
page hours 1 cursor d1 last whole -> applied
| hour 41 op4 prov1
| hour 11 op1 prov1
wake
sync
wake
page operatories 2 cursor c2 last whole -> applied
+ operatory_gone op2
+ record_gone operatories 2
+ operatory_gone op3
+ record_gone operatories 3
+ page_applied *
+ read_anew hours
+ pulling hours 3 *
| operatory op1 active
| operatory op4 active
page hours 3 cursor d2 last whole -> applied
| hour 41 op4 prov1
| hour 11 op1 prov1
expect slot op4 prov1 10:00 30m free
expect slot op1 prov1 10:00 30m free
expect slot op1 prov2 10:00 30m closed

story the processor reports absent records of a shared resource
settings pulls=patients!
wake
page patients 0 cursor c1 last whole known 50 -> applied
+ page_applied *
| seen 1..6
| absent 7
wake
sync
wake
page patients 1 cursor c2 last whole known 50 -> applied
+ record_gone patients 7
+ page_applied *
| seen 1..6
| absent 7

story past appointments are pruned
settings pulls=appointments
wake
page appointments 0 cursor c1 last -> applied
| a1 op1 prov1 10:00 30m patient p1
| a2 op1 prov1 2026-12-05T10:00 30m patient p2
wake
at 2026-12-02T10:30
wake
+ pruned before 2026-12-01T10:30
expect appointment a1 none
expect appointment a2 op1 prov1 2026-12-05T10:00 30m pulled

story an insert written during a whole pass does not count as deleted
settings pulls=appointments!
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
book a2 op2 prov1 10:00 30m patient p2 -> booked a2
wake
> push w0 1 *
> push w1 1 *
> pull appointments 0 *
pushed w0 1 written f1
page appointments 0 cursor c1 whole -> applied
> pull appointments 1 *
pushed w1 1 written f2
page appointments 1 cursor c2 last whole -> applied
+ page_applied *
wake
sync
wake
page appointments 2 cursor c3 last whole -> applied
+ page_applied *
| a2 op2 prov1 10:00 30m patient p2
wake
sync
wake
page appointments 3 cursor c4 last whole -> applied
+ cancelled a1 by ehr
+ gone a1
+ page_applied *
| a2 op2 prov1 10:00 30m patient p2

story a page older than a move written meanwhile is read again
settings pulls=appointments
wake
page appointments 0 cursor c1 last -> applied
| a9 op1 prov1 10:00 30m patient p9
wake
move a9 op2 prov1 11:00 30m -> moved
sync
wake
> push w0 1 reschedule a9 *
> pull appointments 1 cursor c1
pushed w0 1 written f9
page appointments 1 cursor c2 last -> ignored
+ pulling appointments 2 *
> pull appointments 2 cursor c1
| a9 op1 prov1 10:00 30m patient p9
expect appointment a9 op2 prov1 11:00 30m pulled
page appointments 2 cursor c2 last -> applied
+ page_applied *
| a9 op2 prov1 11:00 30m patient p9

# The event of the page follows its request: writes between the two belong to the page.
story a page prefetched before a move was written is read again
settings pulls=appointments
wake
page appointments 0 cursor c1 last -> applied
| a9 op1 prov1 10:00 30m patient p9
wake
move a9 op2 prov1 11:00 30m -> moved
sync
wake
> push w0 1 reschedule a9 *
> pull appointments 1 cursor c1
prefetch appointments 1
pushed w0 1 written f9
page appointments 1 cursor c2 -> applied
+ page_applied *
+ pulling appointments 2 * prefetched
> pull appointments 2 cursor c2
page appointments 2 cursor c3 last -> ignored
+ pulling appointments 3 *
> pull appointments 3 cursor c2
| a9 op1 prov1 10:00 30m patient p9
expect appointment a9 op2 prov1 11:00 30m pulled
page appointments 3 cursor c3 last -> applied
+ page_applied *
| a9 op2 prov1 11:00 30m patient p9

story a page prefetched after a move was written shows later changes by staff
settings pulls=appointments
wake
page appointments 0 cursor c1 last -> applied
| a9 op1 prov1 10:00 30m patient p9
wake
move a9 op2 prov1 11:00 30m -> moved
sync
wake
> push w0 1 reschedule a9 *
> pull appointments 1 cursor c1
pushed w0 1 written f9
prefetch appointments 1
page appointments 1 cursor c2 -> applied
+ page_applied *
+ pulling appointments 2 * prefetched
page appointments 2 cursor c3 last -> applied
| a9 op1 prov1 10:00 30m patient p9
expect appointment a9 op1 prov1 10:00 30m pulled

story a prefetched page is not used after a restart
settings pulls=appointments
wake
prefetch appointments 0
restart
read_interrupted
+ pull_put_off *
wake
> pull appointments 1 cursor -

story a page older than a cancellation written meanwhile does not restore the appointment
settings pulls=appointments
wake
page appointments 0 cursor c1 last -> applied
| a9 op1 prov1 10:00 30m patient p9
wake
cancel a9 -> cancelled
sync
wake
> push w0 1 cancel a9 *
> pull appointments 1 cursor c1
pushed w0 1 written f9
page appointments 1 cursor c2 last -> ignored
> pull appointments 2 cursor c1
| a9 op1 prov1 10:00 30m patient p9
page appointments 2 cursor c2 last -> applied
+ page_applied *
| a9 op1 prov1 10:00 30m patient p9 cancelled

story changes by staff after our write are applied at once
settings pulls=appointments
wake
page appointments 0 cursor c1 last -> applied
| a9 op1 prov1 10:00 30m patient p9
wake
move a9 op2 prov1 11:00 30m -> moved
wake
pushed w0 1 written f9
sync
wake
page appointments 1 cursor c2 last -> applied
+ pulled a9 op3 prov1 12:00 30m
+ page_applied *
| a9 op3 prov1 12:00 30m patient p9

story a repeated page request waits for the quota
settings pulls=appointments burst=1 per_minute=60
wake
page appointments 0 cursor c1 last -> applied
| a9 op1 prov1 10:00 30m patient p9
wake
cancel a9 -> cancelled
after 1s
wake
> push w0 1 cancel a9 *
sync
after 1s
wake
> pull appointments 1 cursor c1
pushed w0 1 written f9
page appointments 1 cursor c2 last -> ignored
+ pull_put_off appointments until * "the page is older than what was written meanwhile"
> nothing
| a9 op1 prov1 10:00 30m patient p9
expect reads fine
after 10s
wake
> pull appointments 2 cursor c1

story an EHR that never returns a last page does not prevent reading other resources
settings pulls=patients,appointments max_pages=2
wake
page patients 0 cursor c1 -> applied
page patients 1 cursor c2 -> applied
> nothing
wake
+ pull_suspended patients "more pages than a cycle may have"
wake
> pull appointments 2 cursor -
page appointments 2 cursor d1 last -> applied
wake
+ cycle_finished *
expect reads failing since 08:00 more pages than a cycle may have
sync
wake
> pull patients 3 cursor c2
page patients 3 cursor c3 last -> applied
> pull appointments 4 cursor d1
page appointments 4 cursor d2 last -> applied
wake
+ cycle_finished *
expect reads fine

story a block deleted during its time frees the rest of it
settings pulls=appointments
wake
page appointments 0 cursor c1 last -> applied
| a9 op1 prov1 08:00 9h unavailable
at 2026-12-01T12:00
wake
sync
wake
page appointments 1 cursor c2 last -> applied
+ cancelled a9 by ehr
+ gone a9
+ page_applied *
| deleted a9
expect slot op1 prov1 13:00 30m free

story the later of two copies of a record on a page counts
settings pulls=appointments
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 unknown "reset"
page appointments 0 cursor c1 -> applied
+ breaker_closed
+ done w0 create_appointment a1
+ insert_done a1 f1
+ pulled a1 op2 prov1 10:00 30m
+ page_applied *
+ pulling *
| a1 op1 prov1 10:00 30m patient p1
| a1 op2 prov1 10:00 30m patient p1
page appointments 1 cursor c2 last -> applied
+ cancelled a1 by ehr
+ gone a1
+ page_applied *
| a1 op2 prov1 10:00 30m patient p1
| a1 op2 prov1 10:00 30m patient p1 cancelled
| deleted a1

story a deleted operatory cannot be booked, whatever hours it has
settings pulls=operatories!
wake
page operatories 0 cursor c1 last whole -> applied
| operatory op1 active
| operatory op3 active
wake
sync
wake
page operatories 1 cursor c2 last whole -> applied
| operatory op1 active
| operatory op3 active
expect slot op2 prov1 10:00 30m closed
expect slot op3 prov1 10:00 30m free

story a pause of more than a day requested by the EHR is capped at a day
settings pulls=appointments
wake
pulled appointments 0 retry "busy" after 9999d -> ignored
+ pull_failed appointments until 2026-12-02T08:00 "busy"

story no slot is offered or booked before the EHR's appointments were read once
settings pulls=appointments new_here
expect slot op1 prov1 10:00 30m closed
book a2 op1 prov1 11:00 30m patient p2 -> refused slot_taken *
wake
page appointments 0 cursor c1 -> applied
+ pulled a1 *
+ page_applied *
+ pulling *
> pull appointments *
| a1 op1 prov1 10:00 30m patient p1
expect slot op1 prov1 11:00 30m closed
page appointments 1 cursor c2 last -> applied
+ page_applied *
expect slot op1 prov1 10:00 30m busy
expect slot op1 prov1 11:00 30m free
book a2 op1 prov1 11:00 30m patient p2 -> booked a2

story a cycle requested during another one follows immediately
settings pulls=patients
wake
> pull patients 0 cursor -
sync
+ sync_requested
page patients 0 cursor c1 last -> applied
wake
+ cycle_finished *
wake
> pull patients 1 cursor c1
page patients 1 cursor c2 last -> applied
wake
+ cycle_finished next 08:1*
expect wake 08:1*

story a wait for the answer of an insert is not a failure
settings pulls=appointments
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
> push w0 1 *
> pull appointments 0 *
page appointments 0 cursor c1 last unmatched 1 -> ignored
+ pull_put_off appointments until * "waiting for a record that is still being written"
| a9 op2 prov1 11:00 30m patient p9
expect reads fine
pushed w0 1 written f1
after 1m
wake
> pull appointments 1 *
page appointments 1 cursor c1 last -> applied
| a9 op2 prov1 11:00 30m patient p9
expect reads fine

story waits and failures are counted separately, so that four waits and a failure do not suspend a resource
settings pulls=appointments
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
> push w0 1 *
> pull appointments 0 *
page appointments 0 cursor c1 last unmatched 1 -> ignored
+ pull_put_off appointments *
sync
wake
> pull appointments 1 *
page appointments 1 cursor c1 last unmatched 1 -> ignored
+ pull_put_off appointments *
sync
wake
> pull appointments 2 *
page appointments 2 cursor c1 last unmatched 1 -> ignored
+ pull_put_off appointments *
sync
wake
> pull appointments 3 *
page appointments 3 cursor c1 last unmatched 1 -> ignored
+ pull_put_off appointments *
sync
wake
> pull appointments 4 *
pulled appointments 4 retry "reset" -> ignored
+ pull_failed appointments * "reset"
sync
wake
> pull appointments 5 *

story failures of one resource do not count for the next one
settings pulls=patients,appointments
wake
pulled patients 0 retry "what?" -> ignored
after 10m
wake
pulled patients 1 retry "what?" -> ignored
after 10m
wake
pulled patients 2 retry "what?" -> ignored
after 10m
wake
pulled patients 3 retry "what?" -> ignored
after 10m
wake
pulled patients 4 retry "what?" -> ignored
+ pull_failed *
+ pull_suspended patients "what?"
after 10m
wake
> pull appointments 5 cursor -
pulled appointments 5 retry "reset" -> ignored
+ pull_failed appointments * "reset"
after 10m
wake
> pull appointments 6 cursor -

story resources already read in a cycle are not read again if the EHR's list of resources changes
settings pulls=patients,appointments
wake
page patients 0 cursor c1 last -> applied
> pull appointments 1 cursor -
settings pulls=providers,patients,appointments,payments
page appointments 1 cursor d1 last -> applied
> pull providers 2 cursor -
page providers 2 cursor e1 last -> applied
> pull payments 3 cursor -
page payments 3 cursor f1 last -> applied
wake
+ cycle_finished *

story a resource removed from the EHR's list does not make the cycle skip another one
settings pulls=providers,patients,appointments
wake
page providers 0 cursor c1 last -> applied
> pull patients 1 cursor -
settings pulls=patients,appointments
page patients 1 cursor d1 last -> applied
> pull appointments 2 cursor -
page appointments 2 cursor e1 last -> applied
wake
+ cycle_finished *

story a page possibly older than another location's data is read again
settings pulls=appointments
wake
page appointments 0 cursor c1 last outdated -> ignored
+ pulling appointments 1 *
> pull appointments 1 cursor -
| a9 op1 prov1 10:00 30m patient p9
expect slot op1 prov1 10:00 30m free
page appointments 1 cursor c1 last -> applied
| a9 op1 prov1 10:00 30m patient p9
expect slot op1 prov1 10:00 30m busy

story a failing describe is recorded once, and again with another reason after a while
described retry "connection refused"
+ describe_failed "connection refused"
after 15s
described retry "connection refused"
+ nothing
after 15s
described unauthorized
+ nothing
after 10m
described unauthorized
+ describe_failed "the EHR did not accept the credentials"
described
+ describe_worked
described
+ nothing

story a page in flight at the end of the process is requested again after the restart
settings pulls=appointments
wake
page appointments 0 cursor c1 -> applied
> pull appointments 1 cursor c1
restart
after 2s
read_interrupted
+ pull_put_off appointments until 08:00:02 "the service was restarted while the page was read; it is requested again"
page appointments 1 cursor c2 -> ignored
wake
> pull appointments 2 cursor c1
page appointments 2 cursor c2 last -> applied
read_interrupted
+ nothing
