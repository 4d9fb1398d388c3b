# Idempotency keys: one booking per key.

story the same key and data replay the first booking
book a1 op1 prov1 10:00 30m patient p1 key k1 data x -> booked a1
+ booked a1 op1 prov1 10:00 30m patient p1 key k1 until 2026-12-02T08:00
+ queued w0 *
book a2 op1 prov1 10:00 30m patient p1 key k1 data x -> booked a1 replay
+ nothing
> nothing

story the replay is independent of the booking's result and of the offer's expiry
book a1 op1 prov1 10:00 30m patient p1 key k1 data x -> booked a1
cancel a1 -> cancelled
at 2026-12-01T12:00
book a2 op1 prov1 10:00 30m patient p1 key k1 data x expires 08:10 -> booked a1 replay

story the same key with other data is a conflict, even for a free slot
book a1 op1 prov1 10:00 30m patient p1 key k1 data x -> booked a1
book a2 op1 prov1 14:00 30m patient p1 key k1 data y -> refused idempotency_conflict
+ nothing

story a key belongs to the location of the institution that used it first
book a1 op1 prov1 10:00 30m patient p1 key k1 data x claimed l7 -> refused idempotency_conflict
book a1 op1 prov1 10:00 30m patient p1 key k1 data x claimed l1 -> booked a1

story a refusal does not pin the key, so that a retry may succeed
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
book a2 op1 prov1 10:00 30m patient p2 key k1 data x -> refused slot_taken *
expect keys none
cancel a1 -> cancelled
book a2 op1 prov1 10:00 30m patient p2 key k1 data x -> booked a2

story a key expires to the millisecond and is removed later
settings key_lifetime=1h unintegrated
book a1 op1 prov1 10:00 30m patient p1 key k1 data x -> booked a1
at 2026-12-01T08:59:59.999
book a2 op1 prov1 14:00 30m patient p1 key k1 data y -> refused idempotency_conflict
at 2026-12-01T09:00
book a2 op1 prov1 14:00 30m patient p1 key k1 data y -> booked a2
book a3 op1 prov1 14:00 30m patient p1 key k1 data y -> booked a2 replay
at 2026-12-01T10:00
expect keys k1
expect wake due
wake
+ key_expired k1
+ pruned before 2026-11-30T10:00
expect keys none

story a key used again before its removal is not removed too early
settings key_lifetime=1h unintegrated
book a1 op1 prov1 10:00 30m patient p1 key k1 data x -> booked a1
at 2026-12-01T09:00
book a2 op1 prov1 14:00 30m patient p1 key k1 data y -> booked a2
wake
+ pruned *
book a3 op1 prov1 14:00 30m patient p1 key k1 data y -> booked a2 replay

story keys survive a restart
book a1 op1 prov1 10:00 30m patient p1 key k1 data x -> booked a1
restart
book a2 op1 prov1 10:00 30m patient p1 key k1 data x -> booked a1 replay
