# Moves in an EHR that cannot move appointments: insert the new one, then cancel the old one.

story a move inserts the new appointment, then cancels the old one
settings no_reschedules
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a1 op2 prov1 11:00 30m -> moved
+ moved a1 to op2 prov1 11:00 30m
+ queued w1 replace a1 *
expect slot op1 prov1 10:00 30m busy
expect slot op2 prov1 11:00 30m busy
wake
> push w1 1 replace a1 op2 prov1 11:00 30m
pushed w1 1 written f2
+ done w1 replace a1
+ replaced a1 w2 by f2 op2 prov1 11:00 30m
+ queued w2 cancel_replaced a1 w2 *
expect appointment a1 op2 prov1 11:00 30m done vacating op1 prov1 10:00 30m
wake
> push w2 1 cancel_replaced a1 w2 *
pushed w2 1 written f1
+ done w2 cancel_replaced a1 w2
+ replaced_gone a1 w2
expect slot op1 prov1 10:00 30m free
expect appointment a1 op2 prov1 11:00 30m done

story a lost reply of the replacement is looked up before it is sent again
settings no_reschedules
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a1 op2 prov1 11:00 30m -> moved
wake
pushed w1 1 unknown "reset"
expect slot op1 prov1 10:00 30m busy
expect slot op2 prov1 11:00 30m busy
restart
after 5s
wake
> find w1 2 replace a1 op2 prov1 11:00 30m
found w1 2 written f2
+ breaker_closed
+ done w1 replace a1
+ replaced a1 w2 by f2 op2 prov1 11:00 30m
+ queued w2 cancel_replaced a1 w2 *
expect appointment a1 op2 prov1 11:00 30m done vacating op1 prov1 10:00 30m

story a replacement that is not found is sent again, with the newest place
settings no_reschedules
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a1 op2 prov1 11:00 30m -> moved
wake
pushed w1 1 unknown "reset"
after 5s
wake
found w1 2 nothing
move a1 op3 prov1 12:00 30m -> moved
+ moved a1 to op3 prov1 12:00 30m
expect slot op2 prov1 11:00 30m free
wake
> push w1 3 replace a1 op3 prov1 12:00 30m

story a refused replacement leaves the visit at its old place
settings no_reschedules
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a1 op2 prov1 11:00 30m -> moved
wake
pushed w1 1 rejected "closed"
+ failed w1 replace a1 failed "closed"
+ move_reverted a1 to op1 prov1 10:00 30m "closed"
expect slot op2 prov1 11:00 30m free
expect appointment a1 op1 prov1 10:00 30m done

story a refused cancellation keeps the old place taken until an operator retries it
settings no_reschedules
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a1 op2 prov1 11:00 30m -> moved
wake
pushed w1 1 written f2
wake
pushed w2 1 rejected "checked out"
+ failed w2 cancel_replaced a1 w2 failed "checked out"
expect slot op1 prov1 10:00 30m busy
expect appointment a1 op2 prov1 11:00 30m done vacating op1 prov1 10:00 30m
retry w2 -> retried w3
+ retried w2 as w3 cancel_replaced a1 w2 * look_first
wake
> find w3 1 cancel_replaced a1 w2 *
found w3 1 nothing
wake
pushed w3 2 written f1
+ done w3 cancel_replaced a1 w2
+ replaced_gone a1 w2
expect slot op1 prov1 10:00 30m free

story a lost reply of the cancellation is looked up before it is sent again
settings no_reschedules
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a1 op2 prov1 11:00 30m -> moved
wake
pushed w1 1 written f2
wake
pushed w2 1 unknown "reset"
restart
expect slot op1 prov1 10:00 30m busy
after 5s
wake
> find w2 2 cancel_replaced a1 w2 *
found w2 2 written f1
expect slot op1 prov1 10:00 30m free

story a move before the insert was sent needs no replacement
settings no_reschedules
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
move a1 op2 prov1 11:00 30m -> moved
+ moved a1 to op2 prov1 11:00 30m
wake
> push w0 1 create_appointment a1 op2 prov1 11:00 30m

story an unknown insert that is sent again with the new place needs no replacement
settings no_reschedules
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 unknown "reset"
move a1 op2 prov1 11:00 30m -> moved
+ moved *
+ queued w1 replace a1 *
after 5s
wake
found w0 2 nothing
wake
> push w0 3 create_appointment a1 op2 prov1 11:00 30m
pushed w0 3 written f1
+ breaker_closed
+ done w0 create_appointment a1
+ insert_done a1 f1
+ done w1 replace a1
expect queue none
expect appointment a1 op2 prov1 11:00 30m done

story a move during the insert is queued behind it
settings no_reschedules
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
move a1 op2 prov1 11:00 30m -> moved
+ moved a1 to op2 prov1 11:00 30m
+ queued w1 replace a1 *
expect slot op1 prov1 10:00 30m busy
pushed w0 1 written f1
wake
> push w1 1 replace a1 op2 prov1 11:00 30m

story an insert that is refused ends the move behind it
settings no_reschedules
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
move a1 op2 prov1 11:00 30m -> moved
pushed w0 1 rejected "closed"
+ failed w0 create_appointment a1 failed "closed"
+ failed w1 replace a1 withdrawn *
+ insert_failed a1 failed "closed"
expect appointment a1 none

story a second move during a replacement queues another one behind the cancellation of the first
settings no_reschedules
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a1 op2 prov1 11:00 30m -> moved
wake
move a1 op3 prov1 12:00 30m -> moved
+ moved *
+ queued w2 replace a1 *
expect slot op1 prov1 10:00 30m busy
expect slot op2 prov1 11:00 30m busy
pushed w1 1 written f2
+ done w1 replace a1
+ replaced a1 w3 by f2 op2 prov1 11:00 30m
+ queued w3 cancel_replaced a1 w3 *
wake
> push w3 1 cancel_replaced a1 w3 *
pushed w3 1 written f1
expect slot op1 prov1 10:00 30m free
wake
> push w2 1 replace a1 op3 prov1 12:00 30m
pushed w2 1 written f3
+ done w2 replace a1
+ replaced a1 w4 by f3 op3 prov1 12:00 30m
+ queued w4 cancel_replaced a1 w4 *
expect appointment a1 op3 prov1 12:00 30m done vacating op2 prov1 11:00 30m
wake
pushed w4 1 written f2
expect appointment a1 op3 prov1 12:00 30m done

story a move back to the place of a replacement in flight needs no other one
settings no_reschedules
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a1 op2 prov1 11:00 30m -> moved
wake
move a1 op3 prov1 12:00 30m -> moved
move a1 op2 prov1 11:00 30m -> moved
+ moved *
pushed w1 1 written f2
+ done w1 replace a1
+ done w2 replace a1
+ replaced a1 w3 by f2 op2 prov1 11:00 30m
+ queued w3 cancel_replaced a1 w3 *
expect queue w3
expect appointment a1 op2 prov1 11:00 30m done vacating op1 prov1 10:00 30m

story a move back to the first place ends with the refused replacement
settings no_reschedules
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a1 op2 prov1 11:00 30m -> moved
wake
move a1 op3 prov1 12:00 30m -> moved
move a1 op1 prov1 10:00 30m -> moved
pushed w1 1 rejected "closed"
+ failed w1 replace a1 failed "closed"
+ done w2 replace a1
expect queue none
expect appointment a1 op1 prov1 10:00 30m done

story a move back before the replacement was sent sends nothing
settings no_reschedules
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a1 op2 prov1 11:00 30m -> moved
move a1 op1 prov1 10:00 30m -> moved
+ moved a1 to op1 prov1 10:00 30m
+ done w1 replace a1
expect queue none
expect appointment a1 op1 prov1 10:00 30m done

story a cancellation withdraws an unsent replacement
settings no_reschedules
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a1 op2 prov1 11:00 30m -> moved
cancel a1 -> cancelled
+ cancelled a1 by client
+ failed w1 replace a1 withdrawn "cancelled before it was sent"
+ queued w2 cancel a1 *
expect slot op2 prov1 11:00 30m free
expect slot op1 prov1 10:00 30m busy
wake
> push w2 1 cancel a1 *
pushed w2 1 written f1
+ done w2 cancel a1
+ cancel_confirmed a1
expect slot op1 prov1 10:00 30m free
expect appointment a1 none

story a cancellation during a replacement cancels both appointments
settings no_reschedules
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a1 op2 prov1 11:00 30m -> moved
wake
cancel a1 -> cancelled
expect slot op1 prov1 10:00 30m busy
expect slot op2 prov1 11:00 30m busy
pushed w1 1 written f2
+ done w1 replace a1
+ replaced a1 w3 by f2 op2 prov1 11:00 30m
+ queued w3 cancel_replaced a1 w3 *
wake
> push w3 1 cancel_replaced a1 w3 *
pushed w3 1 written f1
expect slot op1 prov1 10:00 30m free
expect slot op2 prov1 11:00 30m busy
wake
> push w2 1 cancel a1 *
pushed w2 1 written f2
+ done w2 cancel a1
+ cancel_confirmed a1
expect slot op2 prov1 11:00 30m free
expect appointment a1 none

story an unknown replacement of a cancelled visit is not sent again
settings no_reschedules
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a1 op2 prov1 11:00 30m -> moved
wake
pushed w1 1 unknown "reset"
cancel a1 -> cancelled
after 5s
wake
found w1 2 nothing
+ failed w1 replace a1 withdrawn "cancelled before it was sent"
wake
> push w2 1 cancel a1 *
pushed w2 1 written f1
expect appointment a1 none

story a refused cancellation of a replaced appointment is repeated when the visit is cancelled
settings no_reschedules
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a1 op2 prov1 11:00 30m -> moved
wake
pushed w1 1 written f2
wake
pushed w2 1 rejected "locked"
cancel a1 -> cancelled
+ cancelled a1 by client
+ queued w3 cancel_replaced a1 w2 *
+ queued w4 cancel a1 *
wake
pushed w3 1 rejected "locked"
wake
pushed w4 1 written f2
+ done w4 cancel a1
+ cancel_confirmed a1
expect slot op2 prov1 11:00 30m free
expect slot op1 prov1 10:00 30m busy
retry w3 -> retried w5
wake
found w5 1 written f1
expect slot op1 prov1 10:00 30m free
expect appointment a1 none

story a page that shows the replacement proves it
settings no_reschedules
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a1 op2 prov1 11:00 30m -> moved
settings pulls=appointments
wake
page appointments 0 cursor c1 last -> applied
| a1 op2 prov1 11:00 30m patient p1 foreign f2 replacement w1
+ done w1 replace a1
+ replaced a1 w2 by f2 op2 prov1 11:00 30m
+ queued w2 cancel_replaced a1 w2 *
+ pulled a1 op2 prov1 11:00 30m
+ page_applied *
expect appointment a1 op2 prov1 11:00 30m done vacating op1 prov1 10:00 30m

story a page that shows the replacement and the old appointment cancelled leaves nothing to cancel
settings no_reschedules
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a1 op2 prov1 11:00 30m -> moved
settings pulls=appointments
wake
page appointments 0 cursor c1 last -> applied
| a1 op2 prov1 11:00 30m patient p1 foreign f2 replacement w1
| old a1 gone
+ done w1 replace a1
+ replaced a1 w2 by f2 op2 prov1 11:00 30m
+ pulled a1 op2 prov1 11:00 30m
+ replaced_gone a1 w2
+ page_applied *
expect queue none
expect appointment a1 op2 prov1 11:00 30m done

story a page with an unmatched appointment waits for the answer of a replacement
settings no_reschedules
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a1 op2 prov1 11:00 30m -> moved
settings pulls=appointments
wake
page appointments 0 cursor c1 last unmatched 1 -> ignored
| a1 op1 prov1 10:00 30m patient p1
| a9 op2 prov1 11:00 30m patient p1
+ pull_put_off *

story a replaced appointment that staff cancel needs no cancellation, and the visit stays
settings no_reschedules
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a1 op2 prov1 11:00 30m -> moved
wake
pushed w1 1 written f2
settings pulls=appointments
wake
page appointments 0 cursor c1 last -> applied
| replaced a1 w2 gone
+ done w2 cancel_replaced a1 w2
+ replaced_gone a1 w2
+ page_applied *
expect queue none
expect appointment a1 op2 prov1 11:00 30m done

story a replaced appointment that staff move keeps its new place taken
settings no_reschedules
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a1 op2 prov1 11:00 30m -> moved
wake
pushed w1 1 written f2
settings pulls=appointments
wake
page appointments 0 cursor c1 last -> applied
| replaced a1 w2 op3 prov1 13:00 30m
expect slot op1 prov1 10:00 30m free
expect slot op3 prov1 13:00 30m busy
expect appointment a1 op2 prov1 11:00 30m done vacating op3 prov1 13:00 30m

story a visit that staff cancel at its new place is cancelled, and its replaced appointment too
settings no_reschedules
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a1 op2 prov1 11:00 30m -> moved
wake
pushed w1 1 written f2
settings pulls=appointments
wake
page appointments 0 cursor c1 last -> applied
| a1 op2 prov1 11:00 30m patient p1 foreign f2 cancelled
+ cancelled a1 by ehr
+ gone a1
+ page_applied *
expect slot op2 prov1 11:00 30m free
expect slot op1 prov1 10:00 30m busy
pushed w2 1 written f1
expect slot op1 prov1 10:00 30m free
expect appointment a1 none

story a visit that staff cancel during a replacement ends cancelled at both places
settings no_reschedules
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a1 op2 prov1 11:00 30m -> moved
settings pulls=appointments
wake
page appointments 0 cursor c1 last -> applied
| a1 op1 prov1 10:00 30m patient p1 cancelled
+ cancelled a1 by ehr
+ gone a1
+ page_applied *
expect slot op2 prov1 11:00 30m busy
pushed w1 1 written f2
+ done w1 replace a1
+ replaced_late a1 w2 by f2 op2 prov1 11:00 30m
+ queued w2 cancel_replaced a1 w2 *
wake
pushed w2 1 written f2
expect slot op2 prov1 11:00 30m free
expect appointment a1 none

story a replacement that appears after it failed is cancelled
settings no_reschedules max_resends=0
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a1 op2 prov1 11:00 30m -> moved
wake
pushed w1 1 unknown "reset"
after 5s
settings pulls=appointments
wake
found w1 2 nothing
+ failed w1 replace a1 failed *
+ move_reverted a1 to op1 prov1 10:00 30m *
page appointments 0 cursor c1 last -> applied
| late a1 f2 op2 prov1 11:00 30m
+ replaced_late a1 w2 by f2 op2 prov1 11:00 30m
+ queued w2 cancel_replaced a1 w2 *
+ page_applied *
expect appointment a1 op1 prov1 10:00 30m done vacating op2 prov1 11:00 30m
wake
pushed w2 1 written f2
expect appointment a1 op1 prov1 10:00 30m done

story a replacement that appears after its visit was cancelled is cancelled, and the visit stays cancelled
settings no_reschedules
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a1 op2 prov1 11:00 30m -> moved
wake
pushed w1 1 unknown "reset"
cancel a1 -> cancelled
after 5s
wake
found w1 2 nothing
+ failed w1 replace a1 withdrawn "cancelled before it was sent"
wake
pushed w2 1 written f1
expect appointment a1 none
settings pulls=appointments
wake
page appointments 0 cursor c1 last -> applied
| late a1 f2 op2 prov1 11:00 30m patient p1
+ replaced_late a1 w3 by f2 op2 prov1 11:00 30m known_again
+ queued w3 cancel_replaced a1 w3 *
+ page_applied *
expect slot op2 prov1 11:00 30m busy
expect appointment a1 op2 prov1 11:00 30m done cancelling vacating op2 prov1 11:00 30m
cancel a1 -> cancelled already
restart
wake
> push w3 1 cancel_replaced a1 w3 *
pushed w3 1 written f2
+ done w3 cancel_replaced a1 w3
+ replaced_gone a1 w3
expect slot op2 prov1 11:00 30m free
expect appointment a1 none

story a late replacement is cancelled even if the queue is full, and then no other change fits
settings pulls=appointments max_queue=1
wake
page appointments 0 cursor c1 last -> applied
| a1 op1 prov1 10:00 30m patient p1
| a2 op1 prov1 11:00 30m patient p2
| a3 op1 prov1 12:00 30m patient p3
| a4 op1 prov1 13:00 30m patient p4
cancel a1 -> cancelled
cancel a2 -> cancelled
cancel a3 -> cancelled
wake
sync
wake
page appointments 1 cursor c2 last -> applied
| late a9 f9 op2 prov1 11:00 30m patient p9
+ replaced_late a9 w3 by f9 op2 prov1 11:00 30m known_again
+ queued w3 cancel_replaced a9 w3 *
+ page_applied *
expect queue w0 w1 w2 w3
cancel a4 -> refused queue_full 3

story two late replacements of a cancelled visit are cancelled one after the other
settings pulls=appointments
wake
page appointments 0 cursor c1 last -> applied
| late a1 f2 op2 prov1 11:00 30m patient p1
| late a1 f3 op3 prov1 12:00 30m patient p1
+ replaced_late a1 w0 by f2 op2 prov1 11:00 30m known_again
+ queued w0 cancel_replaced a1 w0 *
+ replaced_late a1 w1 by f3 op3 prov1 12:00 30m known_again
+ queued w1 cancel_replaced a1 w1 *
+ page_applied *
wake
pushed w0 1 written f2
expect slot op2 prov1 11:00 30m free
expect slot op3 prov1 12:00 30m busy
wake
pushed w1 1 written f3
expect appointment a1 none

story a late replacement on the page that cancels its visit is cancelled
settings no_reschedules max_resends=0
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a1 op2 prov1 11:00 30m -> moved
wake
pushed w1 1 unknown "reset"
after 5s
settings pulls=appointments
wake
found w1 2 nothing
page appointments 0 cursor c1 last -> applied
| a1 op1 prov1 10:00 30m patient p1 cancelled
| late a1 f2 op2 prov1 11:00 30m
+ replaced_late a1 w2 by f2 op2 prov1 11:00 30m
+ queued w2 cancel_replaced a1 w2 *
+ cancelled a1 by ehr
+ gone a1
+ page_applied *
expect slot op1 prov1 10:00 30m free
expect slot op2 prov1 11:00 30m busy
wake
pushed w2 1 written f2
expect appointment a1 none

story a late replacement of a visit that is moved again is cancelled before the next replacement is sent
settings no_reschedules max_resends=0
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a1 op2 prov1 11:00 30m -> moved
wake
pushed w1 1 unknown "reset"
after 5s
settings pulls=appointments
wake
found w1 2 nothing
move a1 op3 prov1 12:00 30m -> moved
+ moved a1 to op3 prov1 12:00 30m
+ queued w2 replace a1 *
page appointments 0 cursor c1 last -> applied
| late a1 f2 op2 prov1 11:00 30m
wake
> push w3 1 cancel_replaced a1 w3 *
pushed w3 1 written f2
wake
> push w2 1 replace a1 op3 prov1 12:00 30m
pushed w2 1 written f3
expect appointment a1 op3 prov1 12:00 30m done vacating op1 prov1 10:00 30m

story an operator can drop an unsent replacement
settings no_reschedules
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a1 op2 prov1 11:00 30m -> moved
drop w1
+ failed w1 replace a1 failed "dropped by an operator"
+ move_reverted a1 to op1 prov1 10:00 30m "dropped by an operator"
+ dropped w1
expect appointment a1 op1 prov1 10:00 30m done

story a replacement ends at its deadline, and the visit stays
settings no_reschedules
book a1 op1 prov1 17:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a1 op2 prov1 16:00 30m -> moved
move a1 op2 prov1 10:00 30m -> moved
expect write w1 waiting until 08:00 deadline 10:00
gate logged_out
at 2026-12-01T10:00
wake
+ failed w1 replace a1 timed_out *
+ move_reverted a1 to op1 prov1 17:00 30m *
expect slot op2 prov1 10:00 30m free
