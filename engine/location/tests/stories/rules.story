# Booking rules of the practice bind intents, and refuse times with a reason.

story without rules every free time is offered
settings pulls=appointments
expect judge op1 prov1 10:00 30m - offered
expect judge op1 prov1 07:59 30m - outside_hours
expect judge op1 prov1 2030-12-01T10:00 30m - offered
book a1 op1 prov1 10:00 30m patient p1 -> booked a1

story the reasons of hours and of the calendar
settings pulls=appointments
hold h1 op1 prov1 11:00 30m -> held *
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
expect judge op1 prov1 10:00 30m - taken
expect judge op1 prov1 10:15 30m - taken
expect judge op1 prov1 09:45 30m - too_short
expect judge op1 prov1 11:15 30m - held
expect judge op1 prov1 10:45 30m - too_short
expect judge op1 prov1 20:00 30m - outside_hours
expect judge op1 prov9 10:00 30m - no_working_hours

story before the first read every time is unknown
settings new_here pulls=appointments
expect judge op1 prov1 12:00 30m - schedule_not_read

story a past start is too soon
settings pulls=appointments
at 2026-12-01T12:00
expect judge op1 prov1 11:59 30m - too_soon
expect judge op1 prov1 12:00 30m - offered

story minimum notice counts elapsed time
settings pulls=appointments
rules minimum_notice=4h
expect judge op1 prov1 11:59 30m - too_soon
expect judge op1 prov1 12:00 30m - offered
book a1 op1 prov1 11:59 30m patient p1 -> refused not_bookable too_soon
hold h1 op1 prov1 11:59 30m -> refused not_bookable too_soon
book a1 op1 prov1 12:00 30m patient p1 -> booked a1

story notice in days counts dates, not hours
settings pulls=appointments
rules minimum_notice_days=1
at 2026-12-01T23:30
expect judge op1 prov1 2026-12-02T08:00 30m - offered
at 2026-12-02T00:30
expect judge op1 prov1 2026-12-02T08:00 30m - too_soon
expect judge op1 prov1 2026-12-03T08:00 30m - offered

story after the cutoff the next bookable day moves one day further
settings pulls=appointments
rules cutoff=16:00
at 2026-12-01T15:59
expect judge op1 prov1 17:00 30m - offered
at 2026-12-01T16:00
expect judge op1 prov1 17:00 30m - after_cutoff
expect judge op1 prov1 2026-12-02T08:00 30m - offered
rules minimum_notice_days=1
expect judge op1 prov1 17:00 30m - too_soon
expect judge op1 prov1 2026-12-02T08:00 30m - after_cutoff
expect judge op1 prov1 2026-12-03T08:00 30m - offered
at 2026-12-02T00:00
expect judge op1 prov1 2026-12-03T08:00 30m - offered

story the horizon is the last bookable date
settings pulls=appointments
rules horizon=2
expect judge op1 prov1 2026-12-03T17:30 30m - offered
expect judge op1 prov1 2026-12-04T08:00 30m - beyond_horizon
rules horizon=0
expect judge op1 prov1 17:30 30m - offered
expect judge op1 prov1 2026-12-02T08:00 30m - beyond_horizon

story buffers keep time free around a visit in its operatory
settings pulls=appointments
rules buffer_before=10m buffer_after=20m
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
# The new visit ends at 09:40 and has 20 minutes after it.
expect judge op1 prov1 09:10 30m - offered
expect judge op1 prov1 09:11 30m - buffer
# The visit at 10:00 ends at 10:30 and has 20 minutes after it.
expect judge op1 prov1 10:49 30m - buffer
expect judge op1 prov1 10:50 30m - offered
# Another operatory is not affected, and neither is the end of the working hours.
expect judge op2 prov1 10:30 30m - offered
expect judge op1 prov1 17:30 30m - offered
expect judge op1 prov1 08:00 30m - offered

story the buffer of a visit also keeps later visits away
rules buffer_after=15m
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
book a2 op1 prov1 10:30 30m patient p2 -> refused not_bookable buffer
book a2 op1 prov1 10:45 30m patient p2 -> booked a2

story the buffer of a type applies to its visits only
settings pulls=appointments
rules t5:buffer_after=60m
book a1 op1 prov1 10:00 30m patient p1 type t5 -> booked a1
book a2 op1 prov1 12:00 30m patient p2 type t6 -> booked a2
expect judge op1 prov1 10:30 30m t6 buffer
expect judge op1 prov1 11:30 30m t6 offered
expect judge op1 prov1 12:30 30m t6 offered
expect judge op1 prov1 11:30 30m t5 buffer

story blocks and appointments of the EHR keep no buffer of their own
settings pulls=appointments
wake
page appointments 0 cursor c1 last -> applied
| a7 op1 prov1 12:00 30m unavailable
| a8 op1 prov1 14:00 30m patient p3
rules buffer_after=30m
# A visit may end at the beginning of a block, as at the end of working hours.
expect judge op1 prov1 11:30 30m - offered
expect judge op1 prov1 12:30 30m - offered
expect judge op1 prov1 12:00 30m - blocked
# The new visit keeps its buffer before the appointment; the appointment has none after it.
expect judge op1 prov1 13:15 30m - buffer
expect judge op1 prov1 13:00 30m - offered
expect judge op1 prov1 14:30 30m - offered

story a slot that is being vacated and a hold keep buffers
settings pulls=appointments
wake
page appointments 0 cursor c1 last -> applied
| a8 op1 prov1 14:00 30m patient p3
rules buffer_before=10m buffer_after=10m
cancel a8 -> cancelled
expect judge op1 prov1 14:00 30m - taken
expect judge op1 prov1 14:30 30m - buffer
expect judge op1 prov1 14:40 30m - offered
hold h1 op1 prov1 10:00 30m -> held *
expect judge op1 prov1 10:30 30m - buffer
expect judge op1 prov1 10:40 30m - offered
release h1
expect judge op1 prov1 10:30 30m - offered

story a cap of visits counts appointments of staff and holds of others
settings pulls=appointments
wake
page appointments 0 cursor c1 last -> applied
| a7 op1 prov1 12:00 30m unavailable
| a8 op1 prov1 14:00 30m patient p3
rules daily_visits=3
hold h1 op2 prov2 10:00 30m -> held *
expect judge op1 prov1 09:00 30m - offered
book a1 op1 prov1 09:00 30m patient p1 -> booked a1
expect judge op1 prov1 10:00 30m - daily_cap
expect judge op1 prov1 2026-12-02T10:00 30m - offered
book a2 op3 prov1 16:00 30m patient p2 -> refused not_bookable daily_cap
hold h2 op3 prov1 16:00 30m -> refused not_bookable daily_cap
# The hold may be booked: it was counted when it was placed.
book a2 op2 prov2 10:00 30m patient p2 hold h1 -> booked a2
# Staff are not bound.
book a3 op3 prov1 16:00 30m patient p2 staff -> booked a3

story a cancelled visit does not count
settings pulls=appointments
rules daily_visits=1
settings unintegrated
book a1 op1 prov1 09:00 30m patient p1 -> booked a1
expect judge op1 prov1 10:00 30m - daily_cap
cancel a1 -> cancelled
expect judge op1 prov1 10:00 30m - offered

story a visit that is being moved or cancelled counts until the EHR has done it
settings pulls=appointments
wake
page appointments 0 cursor c1 last -> applied
rules daily_visits=1
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
reschedule a1 op1 prov1 2026-12-02T10:00 30m key k1 data x -> rescheduled
expect judge op1 prov1 14:00 30m - daily_cap
expect judge op1 prov1 2026-12-02T14:00 30m - daily_cap
wake
pushed w1 1 rejected "closed"
expect judge op1 prov1 14:00 30m - daily_cap
expect judge op1 prov1 2026-12-02T14:00 30m - offered
cancel a1 -> cancelled
expect judge op1 prov1 14:00 30m - daily_cap
wake
pushed w2 1 written f1
expect judge op1 prov1 14:00 30m - offered

story a cap of minutes counts the new visit
settings pulls=appointments
rules daily_minutes=90
book a1 op1 prov1 09:00 60m patient p1 -> booked a1
expect judge op1 prov1 11:00 30m - offered
expect judge op1 prov1 11:00 31m - daily_cap

story a cap of a type counts its visits, in addition to the cap of the location
settings pulls=appointments
rules t5:daily_visits=1 daily_visits=3
book a1 op1 prov1 09:00 30m patient p1 type t5 -> booked a1
expect judge op1 prov1 10:00 30m t5 daily_cap
expect judge op1 prov1 10:00 30m t6 offered
book a2 op1 prov1 10:00 30m patient p2 -> booked a2
book a3 op1 prov1 11:00 30m patient p3 -> booked a3
expect judge op1 prov1 12:00 30m t6 daily_cap

story a hold of a type counts for the cap of the type
settings pulls=appointments
rules t5:daily_visits=1
hold h1 op1 prov1 09:00 30m type t5 -> held *
expect judge op1 prov1 10:00 30m t5 daily_cap
expect judge op1 prov1 10:00 30m - offered
restart
expect judge op1 prov1 10:00 30m t5 daily_cap

story a cap per provider counts the visits of one provider
settings pulls=appointments
rules daily_visits_per_provider=1
book a1 op1 prov1 09:00 30m patient p1 -> booked a1
expect judge op2 prov1 10:00 30m - daily_cap
expect judge op2 prov2 10:00 30m - offered

story closures refuse every overlapping visit
settings pulls=appointments
rules closures=2026-12-24,2026-12-27..2026-12-28,2026-12-31T12:00..2027-01-01T12:00
expect judge op1 prov1 2026-12-23T17:30 30m - offered
expect judge op1 prov1 2026-12-24T08:00 30m - closed
expect judge op1 prov1 2026-12-25T08:00 30m - offered
expect judge op1 prov1 2026-12-27T08:00 30m - closed
expect judge op1 prov1 2026-12-28T17:30 30m - closed
expect judge op1 prov1 2026-12-29T08:00 30m - offered
expect judge op1 prov1 2026-12-31T11:30 30m - offered
expect judge op1 prov1 2026-12-31T11:31 30m - closed
expect judge op1 prov1 2027-01-01T11:30 30m - closed
expect judge op1 prov1 2027-01-01T12:00 30m - offered

story starts are aligned with the full hour
settings pulls=appointments
rules align=15
expect judge op1 prov1 10:15 20m - offered
expect judge op1 prov1 10:20 20m - not_aligned
expect judge op1 prov1 10:15:30 20m - not_aligned

story patients who are new or known may be refused
rules t5:new_patients=refused t6:known_patients=refused t5:instead=type:6
book a1 op1 prov1 10:00 30m patient p1 new type t5 -> refused not_bookable patient_not_eligible instead type:6
book a1 op1 prov1 10:00 30m patient p1 type t5 -> booked a1
book a2 op1 prov1 11:00 30m patient p2 type t6 -> refused not_bookable patient_not_eligible
book a2 op1 prov1 11:00 30m patient p2 new type t6 -> booked a2

story a hold does not lift the rules about patients
rules new_patients=refused instead=call
hold h1 op1 prov1 10:00 30m -> held *
book a1 op1 prov1 10:00 30m patient p1 new hold h1 -> refused not_bookable patient_not_eligible instead call

story the age is the one on the day of the visit
rules age_min=18 age_max=65
book a1 op1 prov1 2026-12-03T10:00 30m patient p1 born 2008-12-04 -> refused not_bookable patient_not_eligible
book a1 op1 prov1 2026-12-03T10:00 30m patient p1 born 2008-12-03 -> booked a1
book a2 op1 prov1 2026-12-03T11:00 30m patient p2 born 1960-12-03 -> refused not_bookable patient_not_eligible
book a2 op1 prov1 2026-12-03T11:00 30m patient p2 born 1960-12-04 -> booked a2

story a live hold keeps its right after the notice has passed
rules minimum_notice=2h
hold h1 op1 prov1 10:00 30m -> held *
after 1m
book a1 op1 prov1 10:00 30m patient p1 -> refused slot_taken busy(h1) *
book a1 op1 prov1 10:00 30m patient p1 hold h1 -> booked a1

story a hold of another type does not lift the rules for the type of a visit that moves
rules minimum_notice=1h t5:closures=2026-12-01T11:00..2026-12-01T12:00
book a1 op1 prov1 14:00 30m patient p1 type t5 -> booked a1
hold h1 op2 prov1 11:00 30m -> held *
hold h2 op2 prov1 13:00 30m -> held *
reschedule a1 op2 prov1 11:00 30m visit t5 hold h1 -> refused not_bookable closed
reschedule a1 op2 prov1 13:00 30m visit t5 hold h2 -> rescheduled

story a hold of another channel does not lift the rules of the channel that books
rules voice:closures=2026-12-01T09:00..2026-12-01T12:00
hold h1 op1 prov1 10:00 30m channel chat -> held *
book a1 op1 prov1 10:00 30m patient p1 hold h1 channel voice -> refused not_bookable closed
book a1 op1 prov1 10:00 30m patient p1 hold h1 channel chat -> booked a1

story a hold keeps its right for the channel that placed it
rules voice:minimum_notice=2h
hold h1 op1 prov1 10:00 30m channel voice -> held *
after 1m
book a1 op1 prov1 10:00 30m patient p1 hold h1 channel voice -> booked a1

story rules that changed after the offer are reported with alternatives
rules closures=2026-12-01T09:00..2026-12-01T12:00
settings alternatives=1
book a1 op1 prov1 10:00 30m patient p1 -> refused not_bookable closed
book a1 op1 prov1 10:00 30m patient p1 under other -> refused rules_changed closed alternatives 08:30
hold h1 op1 prov1 10:00 30m under other -> refused rules_changed closed alternatives 08:30
book a1 op1 prov1 13:00 30m patient p1 under other -> booked a1

story a token of another channel is judged by the rules of the channel that books
rules voice:closures=2026-12-01T09:00..2026-12-01T12:00
settings alternatives=1
book a1 op1 prov1 10:00 30m patient p1 channel voice under same -> refused not_bookable closed
hold h1 op1 prov1 10:00 30m channel voice under same -> refused not_bookable closed
book a1 op1 prov1 10:00 30m patient p1 channel voice under other -> refused rules_changed closed alternatives 08:30
book a1 op1 prov1 10:00 30m patient p1 channel chat under same -> booked a1
book a2 op1 prov1 13:00 30m patient p2 channel voice under same -> booked a2
reschedule a2 op2 prov2 11:00 30m channel voice under same -> refused not_bookable closed
reschedule a2 op2 prov2 11:00 30m channel chat under same -> rescheduled

story alternatives of a taken slot obey the rules
rules closures=2026-12-01T10:30..2026-12-01T18:00 align=30
settings alternatives=2
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
book a2 op1 prov1 10:00 30m patient p2 -> refused slot_taken busy(a1) alternatives op2/prov1/10:00 op1/prov1/09:30

story a channel has rules of its own, and a type overrides the channel
rules voice:minimum_notice=4h t5:minimum_notice=1h
book a1 op1 prov1 09:00 30m patient p1 channel voice -> refused not_bookable too_soon
book a1 op1 prov1 09:00 30m patient p1 channel chat -> booked a1
book a2 op1 prov1 10:00 30m patient p2 channel voice type t5 -> booked a2
book a3 op1 prov1 08:30 30m patient p2 channel voice type t5 -> refused not_bookable too_soon

story requests of staff are not bound
rules minimum_notice=4h closures=2026-12-02 new_patients=refused
book a1 op1 prov1 09:00 30m patient p1 new staff -> booked a1
move a1 op1 prov1 10:00 30m -> moved
book a2 op1 prov1 2026-12-02T10:00 30m patient p2 staff -> booked a2

story the notices of changes
rules cancel_notice=24h t5:reschedule_notice=2h
book a1 op1 prov1 2026-12-02T08:00 30m patient p1 -> booked a1
book a2 op1 prov1 10:00 30m patient p2 type t5 -> booked a2
expect too_late cancel a1 no
expect too_late cancel a2 1440m
expect too_late reschedule a2 no
after 1m
expect too_late cancel a1 1440m
expect too_late reschedule a1 no
expect too_late reschedule a2 120m
