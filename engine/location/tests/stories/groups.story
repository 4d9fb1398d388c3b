# Several patients at once: all bookings of a group are made, or none.

story a group is booked as one decision, each booking with its own write
book_group key k1 data x -> booked a1 a2
| a1 op1 prov1 10:00 30m patient p1
| a2 op1 prov1 10:30 30m patient p2
+ booked a1 op1 prov1 10:00 30m patient p1 key k1 until 2026-12-02T08:00
+ queued w0 create_appointment a1 ordered_by p1 deadline 10:00
+ booked a2 op1 prov1 10:30 30m patient p2
+ queued w1 create_appointment a2 ordered_by p2 deadline 10:30
> nothing
expect appointment a1 op1 prov1 10:00 30m pending
expect appointment a2 op1 prov1 10:30 30m pending

story a group may have one time in several operatories, also with one provider
book_group -> booked a1 a2 a3
| a1 op1 prov1 10:00 30m patient p1
| a2 op2 prov2 10:00 30m patient p2
| a3 op3 prov1 10:00 30m patient p3

story a taken slot of one booking refuses the group, and names the booking
settings alternatives=2
book a9 op1 prov1 10:30 30m patient p9 -> booked a9
book_group key k1 data x -> refused member 1 slot_taken busy(a9) alternatives op2/prov1/10:30 op2/prov1/10:00
| a1 op1 prov1 10:00 30m patient p1
| a2 op1 prov1 10:30 30m patient p2
+ nothing
expect appointment a1 none
expect keys none

story the bookings of a group take their slots from each other, and from the alternatives
settings alternatives=2
book_group -> refused member 1 slot_taken free alternatives op3/prov1/10:00 op1/prov1/09:30
| a1 op1 prov1 10:00 30m patient p1
| a2 op1 prov1 10:00 30m patient p2
| a3 op2 prov1 10:00 30m patient p3
+ nothing
book_group -> refused member 1 slot_taken free *
| a1 op1 prov1 10:00 30m patient p1
| a2 op1 prov2 10:15 30m patient p2

story a key replays all bookings of its group
book_group key k1 data x -> booked a1 a2
| a1 op1 prov1 10:00 30m patient p1
| a2 op1 prov1 10:30 30m patient p2
restart
book_group key k1 data x -> booked a1 a2 replay
| a3 op1 prov1 10:00 30m patient p1
| a4 op1 prov1 10:30 30m patient p2
+ nothing
book_group key k1 data y -> refused idempotency_conflict
| a3 op2 prov1 10:00 30m patient p1
| a4 op2 prov1 10:30 30m patient p2
book a3 op2 prov1 10:00 30m patient p1 key k1 data z -> refused idempotency_conflict

story a refusal does not pin the key of a group
book a9 op1 prov1 10:30 30m patient p9 -> booked a9
book_group key k1 data x -> refused member 1 *
| a1 op1 prov1 10:00 30m patient p1
| a2 op1 prov1 10:30 30m patient p2
cancel a9 -> cancelled
book_group key k1 data x -> booked a1 a2
| a1 op1 prov1 10:00 30m patient p1
| a2 op1 prov1 10:30 30m patient p2

story a new patient of two bookings is created once
book_group -> booked a1 a2 a3
| a1 op1 prov1 10:00 30m patient p1 new
| a2 op1 prov1 10:30 30m patient p1 new
| a3 op1 prov1 11:00 30m patient p2 new
+ booked a1 *
+ queued w0 create_patient p1 ordered_by p1 *
+ queued w1 create_appointment a1 ordered_by p1 *
+ booked a2 *
+ queued w2 create_appointment a2 ordered_by p1 *
+ booked a3 *
+ queued w3 create_patient p2 ordered_by p2 *
+ queued w4 create_appointment a3 ordered_by p2 *

story one patient cannot have two visits of a group at the same time
book_group -> refused member 1 patient_twice
| a1 op1 prov1 10:00 30m patient p1
| a2 op2 prov2 10:15 30m patient p1
+ nothing

story a new patient without required fields refuses the group
book_group -> refused member 1 patient_fields_required gender
| a1 op1 prov1 10:00 30m patient p1
| a2 op1 prov1 10:30 30m patient p2 new missing gender

story the holds of a group end with its booking
hold h1 op1 prov1 10:00 30m -> held until 08:05
hold h2 op1 prov1 10:30 30m -> held until 08:05
book_group -> booked a1 a2
| a1 op1 prov1 10:00 30m patient p1 hold h1
| a2 op1 prov1 10:30 30m patient p2 hold h2
+ hold_ended h1
+ booked a1 *
+ queued w0 *
+ hold_ended h2
+ booked a2 *
+ queued w1 *
expect holds none

story a refused group keeps its holds
hold h1 op1 prov1 10:00 30m -> held until 08:05
book_group -> refused member 1 slot_expired
| a1 op1 prov1 10:00 30m patient p1 hold h1
| a2 op1 prov1 10:30 30m patient p2 expires 08:00
+ nothing
expect holds h1

story a group needs space in the queue for all its writes
settings max_queue=4
book_group -> refused member 2 queue_full 4
| a1 op1 prov1 10:00 30m patient p1 new
| a2 op1 prov1 10:30 30m patient p2
| a3 op1 prov1 11:00 30m patient p3
+ nothing
book_group -> booked a1 a2
| a1 op1 prov1 10:00 30m patient p1 new
| a2 op1 prov1 10:30 30m patient p2

story without an EHR a group queues no writes
settings unintegrated
book_group -> booked a1 a2
| a1 op1 prov1 10:00 30m patient p1 new
| a2 op1 prov1 10:30 30m patient p2 new
expect queue none

story buffers count between the bookings of a group
rules buffer_after=15m
book_group -> refused member 1 not_bookable buffer
| a1 op1 prov1 10:00 30m patient p1
| a2 op1 prov1 10:30 30m patient p2
+ nothing
book_group -> booked a1 a2
| a1 op1 prov1 10:00 30m patient p1
| a2 op2 prov1 10:30 30m patient p2

story the bookings of a group have the buffers of their own types
rules t1:buffer_after=30m
book_group -> refused member 1 not_bookable buffer
| a1 op1 prov1 10:00 30m patient p1 type t1
| a2 op1 prov1 10:30 30m patient p2 type t2
+ nothing
book_group -> booked a1 a2
| a1 op1 prov1 10:00 30m patient p1 type t2
| a2 op1 prov1 10:30 30m patient p2 type t1

story a daily cap of a type counts the bookings of a group of that type
rules t1:daily_visits=1
book_group -> booked a1 a2
| a1 op1 prov1 10:00 30m patient p1 type t2
| a2 op1 prov1 10:30 30m patient p2 type t1

story daily caps count all bookings of a group
rules daily_visits=2
book_group -> refused member 2 not_bookable daily_cap
| a1 op1 prov1 10:00 30m patient p1
| a2 op1 prov1 10:30 30m patient p2
| a3 op1 prov1 11:00 30m patient p3
+ nothing
book_group -> booked a1 a2
| a1 op1 prov1 10:00 30m patient p1
| a2 op1 prov1 10:30 30m patient p2

story a held slot of a group counts once for a daily cap
rules daily_visits=2
hold h1 op1 prov1 10:00 30m -> held until 08:05
book_group -> booked a1 a2
| a1 op1 prov1 10:00 30m patient p1 hold h1
| a2 op1 prov1 10:30 30m patient p2

story the hold of a later booking counts for a daily cap
rules daily_visits=1
hold h2 op1 prov1 10:30 30m -> held until 08:05
book_group -> refused member 0 not_bookable daily_cap
| a1 op1 prov1 10:00 30m patient p1
| a2 op1 prov1 10:30 30m patient p2 hold h2
+ nothing

story a rule about a patient names the booking
rules new_patients=refused
book_group -> refused member 1 not_bookable patient_not_eligible
| a1 op1 prov1 10:00 30m patient p1
| a2 op1 prov1 10:30 30m patient p2 new
+ nothing
