# Local changes other than bookings: records, details of appointments, and working hours.

story a payment waits behind other writes of its patient
save payments 7 create patient p1 -> saved
+ saved payments 7 create
+ queued w0 create payments 7 ordered_by p1 deadline 2026-12-04T08:00
save payments 8 create patient p1 -> saved
wake
> push w0 1 create payments 7
pushed w0 1 written f7
+ done w0 create payments 7
expect queue w1

story a record without patient has its own ordering key
save plans 3 create -> saved
+ saved plans 3 create
+ queued w0 create plans 3 ordered_by plans/3 deadline 2026-12-04T08:00

story an operation that the EHR does not support is refused at once
settings no_writes
save payments 7 create patient p1 -> refused not_supported_by_ehr
+ nothing
save payments 7 create patient p1 here_only -> saved here
+ saved payments 7 create

story without an EHR a record is saved locally
settings unintegrated
save patients 7 create patient p7 -> saved here
+ saved patients 7 create
expect queue none

story a patient is created as for a booking
save patients 7 create patient p7 -> saved
+ saved patients 7 create
+ queued w0 create_patient p7 ordered_by p7 deadline 2026-12-04T08:00
save patients 7 update patient p7 -> saved
+ saved patients 7 update
expect queue w0

story unsent changes are combined
save patients 7 update patient p7 -> saved
save patients 7 update patient p7 -> saved
expect queue w0
wake
> push w0 1 update patients 7
save patients 7 update patient p7 -> saved
expect queue w0 w1

story a record removed before it was sent is never sent
save coverages 5 create patient p1 -> saved
save coverages 5 delete patient p1 -> saved here
+ saved coverages 5 delete
+ failed w0 create coverages 5 withdrawn "removed before it was sent"
expect queue none

story a record removed in flight is removed in the EHR too
save coverages 5 create patient p1 -> saved
wake
> push w0 1 create coverages 5
save coverages 5 delete patient p1 -> saved
pushed w0 1 written f5
wake
> push w1 1 delete coverages 5

story later writes of a refused record are not sent
save coverages 5 create patient p1 -> saved
wake
save coverages 5 delete patient p1 -> saved
pushed w0 1 rejected "no such plan"
+ failed w0 create coverages 5 failed "no such plan"
+ failed w1 delete coverages 5 failed "no such plan"
expect queue none

story a record of unknown outcome is looked up
save payments 7 create patient p1 -> saved
wake
pushed w0 1 unknown "lost"
after 5s
wake
> find w0 2 create payments 7
found w0 2 written f7
+ breaker_closed
+ done w0 create payments 7

story a record times out after its deadline
settings deadline=1h
save payments 7 create patient p1 -> saved
after 1h
wake
+ failed w0 create payments 7 timed_out *

story a full queue refuses records, but accepts changes
settings max_queue=1
save payments 7 create patient p1 -> saved
save payments 8 create patient p2 -> refused queue_full 1
save patients 1 update patient p1 -> saved

story an appointment that is not in the EHR yet cannot be changed there
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
change a1 note -> refused appointment_not_synced
change a2 note -> refused appointment_not_open forgotten

story without an EHR an appointment is changed locally, and no write is queued
settings unintegrated
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
change a1 note confirmation to op1 prov1 11:00 30m -> changed
+ moved a1 to op1 prov1 11:00 30m
+ changed a1 confirm a1, note a1
expect queue none
cancel a1 -> cancelled
change a1 note -> refused appointment_not_open forgotten

story an appointment is changed in all requested parts or not at all
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
book a2 op1 prov1 11:00 30m patient p2 -> booked a2
wake
pushed w0 1 written f1
change a1 note confirmation to op1 prov1 11:00 30m -> refused slot_taken *
+ nothing
change a1 note confirmation to op1 prov1 12:00 30m -> changed
+ moved a1 to op1 prov1 12:00 30m
+ queued w2 reschedule a1 ordered_by p1 deadline 2026-12-04T08:00
+ changed a1 confirm a1, note a1
+ queued w3 confirm a1 ordered_by p1 deadline 2026-12-04T08:00
+ queued w4 note a1 ordered_by p1 deadline 2026-12-04T08:00
change a1 note -> changed
+ changed a1 note a1

story a patient can be checked in after the start of the appointment
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
at 2026-12-01T10:05
change a1 check_in -> changed
+ changed a1 check_in a1
+ queued w1 check_in a1 ordered_by p1 deadline 2026-12-04T10:05
change a1 to op1 prov1 11:00 30m -> refused appointment_not_open past

story a change that the EHR does not support is refused
settings no_notes
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
change a1 note confirmation -> refused not_supported_by_ehr
+ nothing

story local hours offer slots, and can be removed
set_hour 50 op4 prov1 -> saved here
+ hour_set 50
set_hour 50 op4 prov1 -> saved here
+ nothing
expect hours 11 12 21 22 31 32 50
remove_hour 50 -> saved here
+ hour_removed 50
remove_hour 50 -> refused hour_not_found
set_hour 11 op4 prov1 -> refused hour_of_ehr
remove_hour 11 -> refused hour_of_ehr
