# Staff take a slot in the EHR before the insert of a booking arrives there.

story with the rule to fail, the booking fails with the reason
settings pulls=appointments
wake
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
page appointments 0 cursor c1 last -> applied
+ pulled a9 *
+ conflict a1 with a9
+ page_applied *
| a9 op1 prov2 10:15 30m patient p9
expect wake due
wake
+ failed w0 create_appointment a1 failed "the slot was taken in the EHR"
+ insert_failed a1 failed "the slot was taken in the EHR"
> nothing
expect conflicts none

story with the rule to move, the booking moves to another operatory of the same provider at the same time
settings pulls=appointments on_conflict=move
wake
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
page appointments 0 cursor c1 last -> applied
| a9 op1 prov2 10:15 30m patient p9
| a8 op2 prov2 10:00 30m patient p8
wake
+ moved a1 to op3 prov1 10:00 30m conflict
wake
> push w0 1 create_appointment a1 op3 prov1 10:00 30m

story with the rule to move, the booking fails if no operatory is free
settings pulls=appointments on_conflict=move
wake
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
page appointments 0 cursor c1 last -> applied
| a9 op1 prov2 10:15 30m patient p9
| a8 op2 prov2 10:00 30m patient p8
| a7 op3 prov2 10:00 30m patient p7
wake
+ failed w0 create_appointment a1 failed *
+ insert_failed a1 failed *

story two bookings that lose their slots do not move to the same one
settings pulls=appointments on_conflict=move
wake
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
book a2 op2 prov1 10:00 30m patient p2 -> booked a2
page appointments 0 cursor c1 last -> applied
| a9 op1 prov2 10:00 30m patient p9
| a8 op2 prov2 10:00 30m patient p8
wake
+ moved a1 to op3 prov1 10:00 30m conflict
wake
+ failed w1 create_appointment a2 failed *
+ insert_failed a2 failed *

story an insert in flight is awaited, because the EHR may have accepted both
settings pulls=appointments
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
page appointments 0 cursor c1 last -> applied
+ pulled *
+ conflict a1 with a9
+ page_applied *
| a9 op1 prov2 10:15 30m patient p9
wake
+ cycle_finished *
pushed w0 1 written f1
expect conflicts none
expect appointment a1 op1 prov1 10:00 30m done

story an insert in flight that was not written loses the slot to staff
settings pulls=appointments
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
page appointments 0 cursor c1 last -> applied
| a9 op1 prov2 10:15 30m patient p9
pushed w0 1 retry "busy"
wake
+ failed w0 create_appointment a1 failed "the slot was taken in the EHR"
+ insert_failed *

story a move by the client resolves the conflict
settings pulls=appointments
wake
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
page appointments 0 cursor c1 last -> applied
| a9 op1 prov2 10:15 30m patient p9
move a1 op1 prov1 12:00 30m -> moved
expect conflicts none

story an adjacent appointment, or one in another operatory, is no conflict
settings pulls=appointments
wake
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
page appointments 0 cursor c1 last -> applied
+ pulled *
+ pulled *
+ page_applied *
| a9 op1 prov2 10:30 30m patient p9
| a8 op2 prov1 10:00 30m patient p8

story an appointment that staff assign to another patient keeps its writes, in order
settings pulls=appointments concurrency=4
wake
page appointments 0 cursor c1 last -> applied
| a9 op1 prov1 10:00 30m patient p9
wake
move a9 op2 prov1 11:00 30m -> moved
sync
wake
> push w0 1 reschedule a9 *
> pull appointments 1 *
page appointments 1 cursor c2 last -> applied keep a9
| a9 op1 prov1 10:00 30m patient p8
wake
cancel a9 -> cancelled
+ cancelled a9 by client
+ queued w1 cancel a9 ordered_by p9 *
wake
> nothing
sync
wake
page appointments 2 cursor c3 last -> applied
+ failed w0 reschedule a9 withdrawn *
+ done w1 cancel a9
+ cancel_confirmed a9
+ gone a9
+ page_applied *
| deleted a9
expect queue none

story a conflict that staff resolve before the insert is answered has no effect
settings pulls=appointments
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
page appointments 0 cursor c1 -> applied
+ pulled *
+ conflict a1 with a9
+ page_applied *
+ pulling *
| a9 op1 prov2 10:15 30m patient p9
page appointments 1 cursor c2 last -> applied
| deleted a9
pushed w0 1 retry "busy"
after 10s
wake
> push w0 2 create_appointment a1 op1 prov1 10:00 30m

story a provider blocked in all operatories causes a conflict too
settings pulls=appointments
wake
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
book a2 op2 prov2 10:00 30m patient p2 -> booked a2
page appointments 0 cursor c1 last -> applied
+ pulled *
+ conflict a1 with a9
+ page_applied *
| a9 - prov1 09:00 8h unavailable
wake
+ failed w0 create_appointment a1 failed "the slot was taken in the EHR"
+ insert_failed a1 failed *
