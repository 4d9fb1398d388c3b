# Calls that were not started, because all call slots of the adapter host were in use. They are retried soon and do not
# count as failures.

story a call has its own deadline in addition to the wait for a call slot
settings place_wait=20s pulls=appointments
book a1 op1 prov1 10:00 30m patient p1 -> booked a1
wake
+ calling w0 push 1 until 08:00:50
+ cycle_started
+ pulling appointments 0 until 08:01:20
> push w0 1 *
> pull appointments 0 cursor -

story a write that was not started is retried soon, however often, and does not count for the breaker
settings threshold=1 concurrency=1
book a1 op1 prov1 17:00 30m patient p1 -> booked a1
wake
pushed w0 1 not_begun "waits for a place"
+ deferred w0 until 08:00:0* "waits for a place"
after 2s
wake
pushed w0 2 not_begun "waits for a place"
+ deferred w0 until 08:00:0* "waits for a place"
after 2s
wake
pushed w0 3 not_begun "waits for a place"
after 2s
wake
pushed w0 4 not_begun "waits for a place"
after 2s
wake
pushed w0 5 not_begun "waits for a place"
+ deferred w0 until 08:00:* "waits for a place"
after 2s
wake
> push w0 6 *
expect path open

story a look-up that was not started stays a look-up
settings threshold=1
book a1 op1 prov1 17:00 30m patient p1 -> booked a1
wake
found w0 1 written f1
+ nothing
pushed w0 1 unauthorized "expired"
after 30s
wake
pushed w0 2 unknown "silence"
after 1m
wake
> find w0 3 *
found w0 3 not_begun "waits for a place"
+ unknown w0 *
after 2s
wake
> find w0 4 *

story pages that were not requested never suspend a resource, and reading counts as working
settings pulls=patients
wake
> pull patients 0 cursor -
pulled patients 0 not_begun "waits for a place"
+ pull_put_off patients until 08:00:0* "waits for a place"
after 5s
wake
pulled patients 1 not_begun "waits for a place"
after 5s
wake
pulled patients 2 not_begun "waits for a place"
after 5s
wake
pulled patients 3 not_begun "waits for a place"
after 5s
wake
pulled patients 4 not_begun "waits for a place"
+ pull_put_off patients until 08:00:2* "waits for a place"
expect reads fine
after 5s
wake
> pull patients 5 cursor -
page patients 5 cursor c1 last -> applied
wake
+ cycle_finished next *
expect reads fine
