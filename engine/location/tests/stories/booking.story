# Booking a slot. The practice has operatories 1 to 3, in each of which providers 1 and 2 work from 08:00 to 18:00.

story a booking takes its slot at once and queues its insert
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
+ booked a1 op1 prov1 10:00 30m patient p1
+ queued w0 create_appointment a1 ordered_by p1 deadline 10:00
> nothing
expect slot op1 prov1 10:00 30m busy
expect appointment a1 op1 prov1 10:00 30m pending
expect wake due

story an operatory never has two appointments at once, but a provider may use two operatories
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
book a2 op1 prov1 10:15 30m patient p2 -> refused slot_taken *
book a2 op1 prov2 10:29 30m patient p2 -> refused slot_taken *
book a3 op2 prov1 10:00 30m patient p3 -> booked a3
book a4 op1 prov2 10:30 30m patient p4 -> booked a4

story a refusal of a taken slot offers the nearest free ones, those of the same provider first
settings alternatives=3
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
book a2 op1 prov1 10:00 30m patient p2 -> refused slot_taken busy(a1) alternatives op2/prov1/10:00 op1/prov1/09:30 op1/prov1/10:30

story a slot outside working hours is refused
book a1 op1 prov1 18:00 30m patient p1 -> refused slot_taken outside_hours *
book a1 op9 prov1 10:00 30m patient p1 -> refused slot_taken outside_hours *
book a1 op1 - 10:00 30m patient p1 -> refused slot_taken outside_hours *

story an expired offer is refused
book a1 op1 prov1 10:00 30m patient p1 expires 08:00 -> refused slot_expired
+ nothing
book a1 op1 prov1 10:00 30m patient p1 expires 08:01 -> booked a1

story a slot that has begun is refused
at 2026-12-01T10:00
book a1 op1 prov1 10:00 30m patient p1 expires 12:00 -> refused slot_expired
book a1 op1 prov1 10:01 30m patient p1 expires 12:00 -> booked a1

story a location that books by operatory requires an operatory
settings map_by_operatory
book a1 - prov1 10:00 30m patient p1 -> refused operatory_required
book a1 op1 prov1 10:00 30m patient p1 -> booked a1

story a new patient is created first, under the same ordering key
book a1 op1 prov1 10:00 30m patient p1 new -> booked a1
+ booked a1 op1 prov1 10:00 30m patient p1
+ queued w0 create_patient p1 ordered_by p1 deadline 2026-12-04T08:00
+ queued w1 create_appointment a1 ordered_by p1 deadline 10:00

story a new patient is refused if the EHR cannot create patients
settings no_new_patients
book a1 op1 prov1 10:00 30m patient p1 new -> refused new_patient_not_supported
book a1 op1 prov1 10:00 30m patient p1 -> booked a1

story a new patient without fields that the EHR requires is refused
book a1 op1 prov1 10:00 30m patient p1 new missing gender,address -> refused patient_fields_required gender,address
book a1 op1 prov1 10:00 30m patient p1 missing gender -> booked a1

story a booking is refused if the EHR cannot create appointments
settings no_creates
book a1 op1 prov1 10:00 30m patient p1 -> refused not_supported_by_ehr

story without an EHR a booking queues no write and stays pending
settings unintegrated
book a1 op1 prov1 10:00 30m patient p1 new missing last_name -> refused patient_fields_required last_name
book a1 op1 prov1 10:00 30m patient p1 new -> booked a1
+ booked a1 op1 prov1 10:00 30m patient p1 unintegrated
expect queue none
move a1 op2 prov1 11:00 30m -> moved
+ moved a1 to op2 prov1 11:00 30m
cancel a1 -> cancelled
+ cancelled a1 by client
+ cancel_confirmed a1
expect appointment a1 none

story a full queue refuses bookings
settings max_queue=3
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
book a2 op1 prov1 11:00 30m patient p2 -> booked a2
book a3 op1 prov1 12:00 30m patient p3 -> refused queue_full 3

story an inactive operatory offers no slots
settings pulls=operatories
wake
page operatories 0 cursor c1 last -> applied
| operatory op1 inactive
book a1 op1 prov1 10:00 30m patient p1 -> refused slot_taken outside_hours *

story slots closed to patients are refused, left out of alternatives, and open to staff
settings alternatives=3
book a1 op1 prov1 10:00 30m patient p1 closed op1 -> refused slot_taken outside_hours *
hold h1 op1 prov1 10:00 30m closed op1 -> refused slot_taken outside_hours *
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
book a2 op1 prov1 10:00 30m patient p2 closed op2 -> refused slot_taken busy(a1) alternatives op3/prov1/10:00 op1/prov1/09:30 op1/prov1/10:30
book a2 op1 prov1 11:00 30m patient p2 closed_type -> refused type_not_online
hold h2 op1 prov1 11:00 30m closed_type -> refused type_not_online

story a booking made before its type was closed is replayed by its key
book a1 op1 prov1 10:00 30m patient p1 key k1 -> booked a1
book a2 op1 prov1 10:00 30m patient p1 key k1 closed_type -> booked a1 replay
