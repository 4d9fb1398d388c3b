# Changes of a visit by its patient: to the slot of a token, and its confirmation.

story a reschedule keeps both slots taken until the EHR has moved the visit
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
reschedule a1 op2 prov2 11:00 60m key k1 data x -> rescheduled
+ moved a1 to op2 prov2 11:00 60m
+ queued w1 reschedule a1 *
+ key_used a1 key k1 until 2026-12-02T08:00
expect slot op1 prov1 10:00 30m busy
expect slot op2 prov2 11:00 60m busy
wake
> push w1 1 reschedule a1 op2 prov2 11:00 60m
pushed w1 1 written f1
expect slot op1 prov1 10:00 30m free
expect appointment a1 op2 prov2 11:00 60m done

story a refused reschedule keeps the old slot and frees the new one
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
reschedule a1 op2 prov1 11:00 30m key k1 data x -> rescheduled
wake
pushed w1 1 rejected "closed"
+ failed w1 reschedule a1 failed "closed"
+ move_reverted a1 to op1 prov1 10:00 30m "closed"
expect appointment a1 op1 prov1 10:00 30m done
expect slot op2 prov1 11:00 30m free

story a reschedule that misses its deadline keeps the old slot and frees the new one
settings deadline=1h
book a1 op1 prov1 16:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
reschedule a1 op2 prov1 17:00 30m key k1 data x -> rescheduled
wake
pushed w1 1 retry "busy"
at 2026-12-01T09:00
wake
+ failed w1 reschedule a1 timed_out *
+ move_reverted a1 to op1 prov1 16:00 30m *
expect appointment a1 op1 prov1 16:00 30m done
expect slot op2 prov1 17:00 30m free

story a reschedule before the insert was sent is sent with the insert
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
reschedule a1 op2 prov1 11:00 30m key k1 data x -> rescheduled
+ moved a1 to op2 prov1 11:00 30m
+ key_used a1 key k1 *
expect slot op1 prov1 10:00 30m free
wake
> push w0 1 create_appointment a1 op2 prov1 11:00 30m

story a reschedule during the insert is queued behind it
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
reschedule a1 op2 prov1 11:00 30m key k1 data x -> rescheduled
+ moved *
+ queued w1 reschedule a1 *
+ key_used *
expect slot op1 prov1 10:00 30m busy
pushed w0 1 written f1
wake
> push w1 1 reschedule a1 op2 prov1 11:00 30m
pushed w1 1 written f1
expect appointment a1 op2 prov1 11:00 30m done
expect slot op1 prov1 10:00 30m free

story the last of two reschedules wins, and the slots in between stay taken until it is settled
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
reschedule a1 op2 prov1 11:00 30m key k1 data x -> rescheduled
wake
reschedule a1 op3 prov1 12:00 30m key k2 data y -> rescheduled
+ moved a1 to op3 prov1 12:00 30m
+ queued w2 reschedule a1 *
+ key_used *
expect slot op1 prov1 10:00 30m busy
expect slot op2 prov1 11:00 30m busy
expect slot op3 prov1 12:00 30m busy
pushed w1 1 written f1
wake
pushed w2 1 rejected "closed"
+ failed *
+ move_reverted a1 to op2 prov1 11:00 30m "closed"
expect appointment a1 op2 prov1 11:00 30m done
expect slot op1 prov1 10:00 30m free
expect slot op3 prov1 12:00 30m free

story the same key and data replay a reschedule, and other data are a conflict
book a1 op1 prov1 10:00 30m patient p1 key k0 data x -> booked a1
reschedule a1 op2 prov1 11:00 30m key k1 data x -> rescheduled
reschedule a1 op2 prov1 11:00 30m key k1 data x -> rescheduled replay
+ nothing
reschedule a1 op3 prov1 12:00 30m key k1 data y -> refused idempotency_conflict
reschedule a1 op3 prov1 12:00 30m key k0 data y -> refused idempotency_conflict
book a2 op3 prov1 12:00 30m patient p2 key k1 data z -> refused idempotency_conflict
reschedule a1 op3 prov1 12:00 30m key k2 data y claimed l7 -> refused idempotency_conflict
restart
reschedule a1 op2 prov1 11:00 30m key k1 data x -> rescheduled replay

story a replay is independent of the fate of the visit
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
reschedule a1 op2 prov1 11:00 30m key k1 data x -> rescheduled
cancel a1 -> cancelled
reschedule a1 op2 prov1 11:00 30m key k1 data x -> rescheduled replay

story a reschedule to the current slot writes nothing
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
reschedule a1 op1 prov1 10:00 30m -> rescheduled
+ nothing
reschedule a1 op1 prov1 10:00 30m key k1 data x -> rescheduled
+ key_used a1 key k1 *

story the key of a reschedule to the current slot expires like any other
settings key_lifetime=1h
book a1 op1 prov1 17:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
reschedule a1 op1 prov1 17:00 30m key k1 data x -> rescheduled
+ key_used a1 key k1 until 09:00
at 2026-12-01T09:00
wake
+ key_expired k1
+ pruned *
expect keys none

story a reschedule uses the hold of its token and ends it
hold h1 op2 prov1 11:00 30m expires 08:01 -> held until 08:05
hold h2 op3 prov1 12:00 30m -> held *
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
at 2026-12-01T08:02
reschedule a1 op3 prov1 12:00 30m -> refused slot_taken busy(h2) *
reschedule a1 op2 prov1 11:00 30m hold h1 expires 08:01 key k1 data x -> rescheduled
+ hold_ended h1
+ moved a1 to op2 prov1 11:00 30m
+ key_used *
expect holds h2

story a reschedule may overlap the old time of its visit
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
reschedule a1 op1 prov1 10:15 30m key k1 data x -> rescheduled
expect appointment a1 op1 prov1 10:15 30m pending

story alternatives of a reschedule do not count the old time of the visit
settings alternatives=2
book a1 op1 prov1 10:30 60m patient p1 -> booked a1
book a2 op2 prov2 08:30 570m patient p2 -> booked a2
book a3 op3 prov2 08:30 570m patient p3 -> booked a3
reschedule a1 op2 prov1 10:00 60m -> refused slot_taken busy(a2) alternatives op1/prov1/10:00 op1/prov1/09:00
move a1 op2 prov1 10:00 60m -> refused slot_taken busy(a2) alternatives op1/prov1/10:00 op1/prov1/09:00

story alternatives of a reschedule do not count the visit towards daily caps
rules daily_visits=3
settings alternatives=1
book a1 op1 prov1 10:30 60m patient p1 -> booked a1
book a2 op2 prov2 08:30 570m patient p2 -> booked a2
book a3 op3 prov2 08:30 570m patient p3 -> booked a3
reschedule a1 op2 prov1 10:00 60m -> refused slot_taken busy(a2) alternatives op1/prov1/10:00

story the present place of a visit is no alternative
settings alternatives=2
book a1 op1 prov1 10:00 60m patient p1 -> booked a1
book a2 op2 prov2 08:30 570m patient p2 -> booked a2
book a3 op3 prov2 08:30 570m patient p3 -> booked a3
reschedule a1 op2 prov1 10:00 60m -> refused slot_taken busy(a2) alternatives op1/prov1/09:00 op1/prov1/11:00

story the present place of a visit does not hide the same time in another operatory
settings alternatives=1
book a1 op1 prov1 10:00 60m patient p1 -> booked a1
book a2 op2 prov2 08:30 570m patient p2 -> booked a2
reschedule a1 op2 prov1 10:00 60m -> refused slot_taken busy(a2) alternatives op3/prov1/10:00

story the old time of a visit is no alternative in an EHR that replaces appointments
settings no_reschedules alternatives=2
after 10m
book a1 op1 prov1 10:30 60m patient p1 -> booked a1
book a2 op2 prov2 08:30 570m patient p2 -> booked a2
book a3 op3 prov2 08:30 570m patient p3 -> booked a3
reschedule a1 op2 prov1 10:00 60m -> refused slot_taken busy(a2) alternatives op1/prov1/09:00 op1/prov1/12:00

story a reschedule is refused for an expired, taken or closed slot
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
book a2 op2 prov1 10:00 30m patient p2 -> booked a2
reschedule a1 op2 prov1 11:00 30m expires 08:00 key k1 data x -> refused slot_expired
reschedule a1 op2 prov1 07:00 30m -> refused slot_expired
reschedule a1 op2 prov1 10:15 30m -> refused slot_taken busy(a2) *
reschedule a1 op2 prov1 19:00 30m -> refused slot_taken outside_hours *
reschedule a1 op2 prov1 11:00 30m closed op2 -> refused slot_taken outside_hours *
reschedule a1 op2 prov1 11:00 30m closed_type -> refused type_not_online
expect keys none

story a slot that was offered for another type must have the length of the visit
book a1 op1 prov1 10:00 60m patient p1 type t5 -> booked a1
reschedule a1 op2 prov1 11:00 30m visit t5 type t6 -> refused offer_of_other_type t5
reschedule a1 op2 prov1 11:00 30m visit t5 -> refused offer_of_other_type t5
reschedule a1 op2 prov1 11:00 60m visit t5 type t6 -> rescheduled
reschedule a1 op2 prov1 12:00 30m visit t5 type t5 -> rescheduled
reschedule a1 op2 prov1 13:00 60m type t6 -> rescheduled

story a reschedule obeys the booking rules, and does not count the visit itself
rules buffer_before=30m buffer_after=30m daily_visits=1
settings unintegrated
book a1 op1 prov1 12:00 30m patient p1 -> booked a1
book a2 op2 prov1 15:00 30m patient p2 -> refused not_bookable daily_cap
reschedule a1 op1 prov1 12:30 30m -> rescheduled
reschedule a1 op1 prov1 13:00 30m key k1 data x -> rescheduled
rules closures=2026-12-01
reschedule a1 op1 prov1 14:00 30m -> refused not_bookable closed*
reschedule a1 op1 prov1 14:00 30m under other -> refused rules_changed closed*
reschedule a1 op1 prov1 14:00 30m key k1 data x -> rescheduled replay

story a visit cannot be rescheduled within the notice of its channel
rules voice:reschedule_notice=4h
settings unintegrated
book a1 op1 prov1 11:00 30m patient p1 -> booked a1
reschedule a1 op2 prov1 15:00 30m channel voice -> refused change_too_late*
reschedule a1 op1 prov1 11:00 30m channel voice -> rescheduled
reschedule a1 op2 prov1 15:00 30m channel chat -> rescheduled

story a reschedule is refused for a missing, cancelled or past visit
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
reschedule a9 op2 prov1 12:00 30m -> refused appointment_not_found
at 2026-12-01T10:00
reschedule a1 op2 prov1 12:00 30m -> refused appointment_not_open past
book a2 op1 prov1 14:00 30m patient p1 -> booked a2
wake
pushed w1 1 written f2
cancel a2 -> cancelled
reschedule a2 op2 prov1 12:00 30m -> refused appointment_not_open cancelled

story a reschedule without an EHR is final at once
settings unintegrated
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
reschedule a1 op2 prov1 11:00 30m key k1 data x -> rescheduled
+ moved a1 to op2 prov1 11:00 30m
+ key_used *
expect slot op1 prov1 10:00 30m free

story a confirmation is written where the EHR takes it
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
confirm a1 -> refused appointment_not_synced
wake
pushed w0 1 written f1
confirm a1 -> saved
+ changed a1 confirm a1
+ queued w1 confirm a1 *
confirm a1 -> saved
+ changed a1 confirm a1
wake
> push w1 1 confirm a1*

story a confirmation stays here if the EHR does not take it
settings no_confirms
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
confirm a1 -> saved here
+ changed a1 confirm a1
expect queue none

story a visit that is missing, cancelled or past cannot be confirmed
settings unintegrated
confirm a1 -> refused appointment_not_found
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
confirm a1 -> saved here
at 2026-12-01T10:00
confirm a1 -> refused appointment_not_open past
