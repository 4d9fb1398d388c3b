# Accepted changes reach the EHR once, in order per patient.

story a booking is pushed and confirmed
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
+ calling w0 push 1 until 08:00:30
> push w0 1 create_appointment a1 op1 prov1 10:00 30m
expect wake 08:00:30
pushed w0 1 written f1
+ done w0 create_appointment a1
+ insert_done a1 f1
expect appointment a1 op1 prov1 10:00 30m done
expect queue none

story the patient is written before the appointment
book a1 op1 prov1 10:00 30m patient p1 new -> booked a1
wake
> push w0 1 create_patient p1
wake
> nothing
pushed w0 1 written f1
+ done w0 create_patient p1
wake
> push w1 1 create_appointment a1 op1 prov1 10:00 30m

story a refused patient fails the appointment with the same reason
book a1 op1 prov1 10:00 30m patient p1 new -> booked a1
wake
pushed w0 1 rejected "no such zip code"
+ failed w0 create_patient p1 failed "no such zip code"
+ failed w1 create_appointment a1 failed "no such zip code"
+ insert_failed a1 failed "no such zip code"
expect slot op1 prov1 10:00 30m free

story a refused appointment frees its slot and is never sent again
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 rejected "no"
+ failed w0 create_appointment a1 failed "no"
+ insert_failed a1 failed "no"
expect queue none
expect slot op1 prov1 10:00 30m free

story an unsupported write fails like a refused one
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 unsupported "no such call"
+ failed w0 create_appointment a1 failed "no such call"
+ insert_failed a1 failed "no such call"

story writes of one patient are sent one at a time, independently of other patients
settings concurrency=8
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
book a2 op1 prov1 11:00 30m patient p1 -> booked a2
book a3 op1 prov1 12:00 30m patient p2 -> booked a3
wake
> push w0 1 create_appointment a1 *
> push w2 1 create_appointment a3 *
pushed w2 1 written f3
wake
> nothing
pushed w0 1 written f1
wake
> push w1 1 create_appointment a2 *

story a write that always fails is retried and blocks no other patient
settings concurrency=1
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
book a2 op1 prov1 11:00 30m patient p2 -> booked a2
wake
> push w0 1 *
pushed w0 1 retry "busy" after 1m
+ deferred w0 until 08:01 "busy"
+ breaker_failure w0
wake
> push w1 1 *
pushed w1 1 written f2
expect queue w0
at 2026-12-01T08:01
wake
> push w0 2 *
pushed w0 2 retry "busy"
expect path open

story the pause before a retry is random, and its maximum doubles up to the cap
settings backoff_base=2s backoff_cap=5s threshold=200
book a1 op1 prov1 17:00 30m patient p1 -> booked a1
wake
pushed w0 1 retry "busy"
expect waits w0 1ms 2s
after 2s
wake
> push w0 2 *
pushed w0 2 retry "busy"
expect waits w0 1ms 4s
after 4s
wake
pushed w0 3 retry "busy"
expect waits w0 1ms 5s
after 5s
random 12345678901234
wake
pushed w0 4 retry "busy"
expect waits w0 1ms 5s

story a pause requested by the EHR is kept
book a1 op1 prov1 17:00 30m patient p1 -> booked a1
wake
pushed w0 1 retry "later" after 10m
expect waits w0 10m 10m

story a late or repeated answer changes nothing
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 7 written f1
+ nothing
found w0 1 written f1
+ nothing
pushed w9 1 written f1
+ nothing
pushed w0 1 written f1
+ done *
+ insert_done *
pushed w0 1 written f1
+ nothing

story a write that is not ready waits and does not count for the breaker
settings threshold=1
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 not_ready "the patient is not in the EHR yet"
+ deferred w0 until * "the patient is not in the EHR yet"
expect path open

story an outcome survives a restart during a call
book a1 op1 prov1 10:00 30m patient p1 new -> booked a1
wake
restart
pushed w0 1 written f1
wake
> push w1 1 create_appointment a1 *
restart
pushed w1 1 written f2
+ done w1 create_appointment a1
+ insert_done a1 f2

story a patient with a pending insert is not created twice
book a1 op1 prov1 10:00 30m patient p1 new -> booked a1
wake
book a2 op1 prov1 11:00 30m patient p1 new -> booked a2
+ booked a2 *
+ queued w2 create_appointment a2 ordered_by p1 *
pushed w0 1 unknown "reset"
book a3 op1 prov1 12:00 30m patient p1 new -> booked a3
+ booked a3 *
+ queued w3 create_appointment a3 ordered_by p1 *

story a refused patient does not affect appointments already in the EHR
settings concurrency=4
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a1 op2 prov1 10:00 30m -> moved
wake
> push w1 1 reschedule a1 *
book a2 op1 prov1 11:00 30m patient p1 new -> booked a2
+ booked a2 *
+ queued w2 create_patient p1 *
+ queued w3 create_appointment a2 *
cancel a1 -> cancelled
+ cancelled *
+ queued w4 cancel a1 *
pushed w1 1 written f1
wake
> push w2 1 create_patient p1
pushed w2 1 rejected "known already"
+ failed w2 create_patient p1 failed *
+ failed w3 create_appointment a2 failed *
+ insert_failed a2 failed *
wake
> push w4 1 cancel a1 *

story a patient created later is written before the writes that wait for it
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
> push w0 1 create_appointment a1 *
pushed w0 1 not_ready "the patient is not in the EHR yet"
book a2 op1 prov1 11:00 30m patient p1 new -> booked a2
wake
> push w1 1 create_patient p1
pushed w1 1 written f1
+ done w1 create_patient p1
after 5s
wake
> push w0 2 create_appointment a1 *

story writes that wait for a patient fail with it, in any order of requests
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 not_ready "the patient is not in the EHR yet"
book a2 op1 prov1 11:00 30m patient p1 new -> booked a2
wake
pushed w1 1 rejected "no such town"
+ failed w1 create_patient p1 failed "no such town"
+ failed w0 create_appointment a1 failed "no such town"
+ insert_failed a1 failed "no such town"
+ failed w2 create_appointment a2 failed "no such town"
+ insert_failed a2 failed "no such town"
expect queue none
