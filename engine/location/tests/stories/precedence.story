# The order of refusals when several apply: idempotency key, offer, slot, patient, EHR, queue.

story a key takes precedence over all other refusals
book a1 op1 prov1 10:00 30m patient p1 key k1 data x -> booked a1
settings map_by_operatory no_new_patients no_creates max_queue=1
book a2 - prov1 10:00 30m patient p2 new missing gender expires 08:00 key k1 data y -> refused idempotency_conflict
book a2 - prov1 10:00 30m patient p2 new missing gender expires 08:00 key k1 data x -> booked a1 replay
book a2 - prov1 10:00 30m patient p2 new missing gender expires 08:00 key k2 data x claimed l2 -> refused idempotency_conflict

story offer, slot, patient, EHR and queue follow in this order
settings map_by_operatory no_new_patients no_creates max_queue=0
book a1 - prov1 20:00 30m patient p2 new missing gender expires 08:00 -> refused slot_expired
book a1 - prov1 20:00 30m patient p2 new missing gender -> refused operatory_required
book a1 op1 prov1 20:00 30m patient p2 new missing gender -> refused slot_taken *
book a1 op1 prov1 10:00 30m patient p2 new missing gender -> refused new_patient_not_supported
book a1 op1 prov1 10:00 30m patient p2 -> refused not_supported_by_ehr

story missing fields precede an unsupported EHR operation, which precedes a full queue
settings no_creates max_queue=0
book a1 op1 prov1 10:00 30m patient p2 new missing gender -> refused patient_fields_required gender
book a1 op1 prov1 10:00 30m patient p2 new -> refused not_supported_by_ehr

story a full queue comes last
settings max_queue=0
book a1 op1 prov1 10:00 30m patient p2 -> refused queue_full 0

story working hours precede the type, and the type precedes a busy slot
settings pulls=hours
wake
page hours 0 cursor c1 last -> applied
| hour 11 op1 prov1 only t1
book a1 op1 prov1 10:00 30m patient p1 type t1 -> booked a1
book a2 op1 prov1 17:45 30m patient p2 type t2 -> refused slot_taken outside_hours *
book a2 op1 prov1 10:00 30m patient p2 type t2 -> refused slot_taken type_not_accepted *
book a2 op1 prov1 10:00 30m patient p2 type t1 -> refused slot_taken busy(a1) *

story a hold checks offer, slot and limit in this order
settings max_holds=0
hold h1 op1 prov1 19:00 30m expires 08:00 -> refused slot_expired
hold h1 op1 prov1 19:00 30m -> refused slot_taken *
hold h1 op1 prov1 10:00 30m -> refused too_many_holds 0 0s

story a move checks appointment, time, slot and EHR in this order
settings no_reschedules no_cancels
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
pushed w0 1 written f1
move a7 op1 prov1 07:00 30m -> refused appointment_not_found
move a1 op1 prov1 07:00 30m -> refused slot_expired
move a1 op1 prov1 19:00 30m -> refused slot_taken outside_hours *
move a1 op1 prov1 11:00 30m -> refused not_supported_by_ehr
at 2026-12-01T10:00
move a1 op1 prov1 11:00 30m -> refused appointment_not_open past
