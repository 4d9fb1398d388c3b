//! The table of all endpoints. Dispatch, status 405, grants, versions, rate limits and the OpenAPI document are derived
//! from it and from the handlers.
//!
//! A new endpoint needs a handler and a row here; an operators' action also needs an entry in
//! `resources::operator_actions`. `resources::record_handlers` has handlers for any view of records. Other handlers
//! have a signature with their inputs and their response:
//!
//! ```ignore
//! /// A payment on the ledger.                                  // becomes the schema's description
//! #[view(of = Payment, named = "payment")]
//! pub struct PaymentView<'a> {
//!     id: u64,
//!     claim_id: Option<u64>,
//!     #[view(include(claim_id))]                                // loaded with `include[]=claim`
//!     pub claim: Included<ClaimView<'a>>,
//! }
//!
//! listing!(ListPayments: |it| it.sort().patient().id("claim_id", "Id of the claim.", Filter::Claim));
//!
//! #[input(object("payment", "The payment."))]
//! pub struct NewPayment {
//!     #[body(patient())]
//!     patient_id: u32,
//!     /// Free text, shown to the practice.                      // becomes the field's description
//!     #[body(text(MAX_TEXT), nonempty)]
//!     notes: Option<String>,
//! }
//!
//! pub async fn create(
//!     call: ApiCall,
//!     AtLocation(location, new): AtLocation<NewPayment>,
//! ) -> Answer<Accepted<PaymentView<'static>>> {
//!     let made = engine_call(call.idempotency_key()).await?;      // Idempotency-Key, if the client sent one
//!     Ok(call.created(made.replay, PaymentView::render(&made.record, &call)))
//! }
//!
//! get("/payments", list::<PaymentView, ListPayments>).about("List payments on the ledger", "4.10").financial(),
//! get("/payments/{id}", show::<PaymentView>).about("Retrieve a payment", "4.10").financial(),
//! post("/payments", create).about("Create a payment", "4.10").financial(),
//! ```
//!
//! Scopes are in `access::tenancy`, path parameters in `access::arguments`, responses in `access::respond`, kinds of
//! values in `values::kinds`, and the attributes of `#[input]` and `#[view]` in the crate `view-macro`. A type
//! implements `FromInput` itself if the reading of one field depends on another, or for lists of objects
//! (`Fields::objects`). `from_input` also generates the documentation and the names of the body, so the set of fields
//! must not depend on the input. The `openapi` tests report missing parts of a new endpoint.

use std::sync::LazyLock;

use actix_web::{http::Method, web::ServiceConfig};
use framework::{
    http::endpoint::{Access, Group},
    values::{role::Role, versions::Version::V2_2_2},
};

use crate::{
    resources::{
        access::{authenticates, me, operators},
        booking::{self, BookingRefusal},
        care::{
            clinical::{self, ProcedureCodeCategoryView, ProcedureCodeView, ProcedureView, RecallTypeView},
            communication_logs,
            conversations::{self, ConversationView},
            forms::{self, FormResponseView, FormSchemaView},
            medical_history,
        },
        documentation, ehr_events,
        insurance::{insurance_coverages, insurance_plans},
        ledger::{
            balances::{self, GuarantorBalanceView, InsuranceBalanceView},
            charges_and_claims::{self, ChargeView, ClaimView},
            fee_schedules::{self, FeeScheduleView, FeeView},
            ledger_entry,
            payments::{self, AdjustmentTypeView, AdjustmentView, PaymentPlanView, PaymentTypeView, PaymentView},
        },
        operations,
        operators::{
            adapters, backups, configuration, fleet, operator_actions, recent_errors, simulated_ehr, store_keys, sync,
            webhooks,
        },
        patients::{self, documents::DocumentTypeView},
        practice::{
            capabilities, changes, export, institutions, locations, operatories, providers, sync_status, write_requests,
        },
        record_handlers::{list, list_in_use, show, show_at, show_of_any},
        schedule::{
            appointment_types, appointment_writes, appointments, available_slots, descriptors, working_hour_labels,
            working_hours,
        },
        webhook::{webhook_deliveries, webhook_endpoints, webhook_subscriptions},
        workstation::{workstation_socket, workstations},
    },
    routes::{
        dispatch::{self, ServedRoutes},
        route::{Route, action, agents, delete, get, open, patch, post, post_when_fresh, unguarded, websocket},
    },
};

pub static TABLE: LazyLock<Vec<Route>> = LazyLock::new(|| {
    [
        operation(),
        group("Access", "Bearer tokens and the permissions of an API key.", access()),
        group(
            "Practice",
            "Institutions, locations, providers and operatories, their read and write status, and their changes.",
            practice(),
        ),
        group(
            "Workstations",
            "Workstations with the browser extension, for health record systems that are accessible only in a staff \
             member's session.",
            workstations_of_staff(),
        ),
        group(
            "Sandbox",
            "The simulated health record system of a sandbox, for rehearsals. It can simulate downtime, slow \
             responses and wrong responses.",
            sandbox(),
        ),
        group("Schedule", "Free slots, appointments, their types, and working hours.", schedule()),
        group(
            "Booking intent",
            "Searching, holding and booking slots, and changing visits, without access to the practice's records.",
            booking_intent(),
        ),
        group("Patients", "Patients, their alerts, documents and recalls.", patients_and_documents()),
        group("Insurance", "Insurance plans and patients' coverages.", insurance()),
        group("Intake", "Intake forms and patients' answers.", intake()),
        group("Care", "Medical history, procedures, treatment plans and clinical notes.", care()),
        group("Communication", "Conversations and the communication log.", communication()),
        group(
            "Ledger",
            "Charges, claims, payments, adjustments and balances. The API key needs the grant `financial`.",
            ledger(),
        ),
        group(
            "Webhooks",
            "Endpoints that receive messages, their subscriptions, and the messages sent to them.",
            webhooks(),
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
});

fn operation() -> Vec<Route> {
    vec![
        open("/healthz", operations::healthz),
        open("/readyz", operations::readyz),
        open("/metrics", operations::metrics),
        open("/openapi.json", documentation::document),
        open("/llms.txt", documentation::index),
        open("/", documentation::redirect_root),
        open("/docs", documentation::page),
        open("/docs/", documentation::redirect_root),
        open("/docs.md", documentation::markdown),
        open("/docs/{page}", documentation::text),
        open("/docs/style.css", documentation::style),
        open("/docs/script.js", documentation::script),
        websocket("/workstations/connect", workstation_socket::connect),
        unguarded(Method::POST, "/ehr_events/{source}", ehr_events::take),
        // FHIR R4 sends resources as an update at a base URL.
        unguarded(Method::PUT, "/ehr_events/{source}/{resource}/{id}", ehr_events::take),
        agents("/mcp"),
    ]
}

fn access() -> Vec<Route> {
    vec![
        post("/authenticates", authenticates::create)
            .about("Exchange an API key for a bearer token", "5")
            .with_api_key()
            .named("authenticate"),
        get("/me", me::show)
            .about("Retrieve the calling API key, with its grants, institutions, locations and limits", "5")
            .noting("Takes no `subdomain`. The response lists the institutions and locations that the key can access."),
    ]
}

fn practice() -> Vec<Route> {
    let mut all = institutions_and_locations();
    all.extend(writes_and_changes());
    all
}

/// Endpoints for EHRs that are accessible only in the browser session of a staff member.
fn workstations_of_staff() -> Vec<Route> {
    let only = "Available only for locations whose health record system is accessed through workstations.";
    vec![
        action(&operator_actions::PAIR, workstations::new_code)
            .about("Create a pairing code for a workstation", "6")
            .named("create_pairing_code")
            .fails(&[422])
            .noting(
                "By default, the code can be used once and expires after ten minutes. For a roll-out, set `uses` and \
                 `expires_in_hours`. The code is shown only once. Available only for locations whose health record \
                 system is accessed through workstations.",
            ),
        get("/locations/{id}/workstations", workstations::list)
            .about("List the workstations paired with a location", "6")
            .fails(&[422])
            .noting(only)
            .operator(Role::Viewer),
        action(&operator_actions::REVOKE, workstations::revoke)
            .about("Revoke a workstation", "6")
            .fails(&[422])
            .noting(only),
        post("/workstations/pair", workstations::pair)
            .about("Pair a workstation", "6")
            .named("pair_workstation")
            .fails(&[422])
            .noting(
                "Called by the browser extension, whose origin is `chrome-extension://...` and whose host permission \
                 replaces CORS. Web pages cannot call this endpoint. Pairing an installation again keeps its \
                 workstation and invalidates its earlier token. Unknown, used and expired codes return 404; too many \
                 attempts from one address return 429. With the token, the extension opens the WebSocket `GET \
                 /workstations/connect`, subprotocol `practice-sync.workstation.v1`, which refuses the `Origin` of \
                 web pages.",
            )
            .with_code(),
    ]
}

const OWN: &str = "Available only at a location without a health record system. At other locations the call is \
    refused: make the change in the health record system.";

fn institutions_and_locations() -> Vec<Route> {
    vec![
        get("/locations", locations::list)
            .about("List institutions and their locations", "4.10")
            .noting("Feature subscriptions are not supported: `filter_by_subscription_feature` is ignored."),
        get("/locations/{id}", locations::show).about("Retrieve a location", "4.10"),
        get("/locations/{id}/capabilities", capabilities::show)
            .about("Retrieve the capabilities of a location's health record system", "4.10")
            .named("get_capabilities"),
        get("/locations/{id}/sync", sync::show)
            .about("Retrieve the read progress of a location", "6")
            .named("get_location_sync")
            .operator(Role::Viewer),
        action(&operator_actions::SYNC, sync::start)
            .about("Start a read cycle and retry waiting writes", "6")
            .named("start_location_sync"),
        action(&operator_actions::ACCEPT_DELETIONS, sync::accept_deletions)
            .about("Accept pending deletions", "6")
            .named("accept_deletions")
            .fails(&[409])
            .noting(
                "A full pass that would delete too many records of a resource is stopped, because such a pass usually \
                 indicates a fault. This call accepts the deletions of the stopped pass.",
            ),
        get("/fleet", fleet::list)
            .about("List all locations with their last known status", "6")
            .noting(
                "The list includes locations that do not accept calls. It is answered without loading locations into \
                 memory. The status of a location that was not in memory since its process started is not known: \
                 `writes_waiting` is null, and `GET /locations/{id}/sync` loads the location. The same applies to the \
                 locations of a node that does not respond.",
            )
            .operator(Role::Viewer),
        get("/locations/{id}/errors", recent_errors::list)
            .about("List the recent errors of a location", "6")
            .named("list_location_errors")
            .noting(
                "Returns the last 30 distinct errors of reading, writing, the adapter, the workstation gate and the \
                 location itself, newest first. Errors are recorded from the time at which the process that serves \
                 the location started or took it over.",
            )
            .operator(Role::Viewer),
        action(&operator_actions::PAUSE, sync::pause)
            .about("Pause reading from or writing to the health record system", "6")
            .named("pause_location")
            .fails(&[422])
            .noting(
                "Pauses the directions that are `true` in the body; an empty body pauses both. The pause lasts until \
                 the location is resumed, even across restarts. Calls in progress run to completion. During the \
                 pause, GET /sync_status reports red. Bookings are accepted and queued; a write that is not written \
                 by its deadline fails.",
            ),
        action(&operator_actions::RESUME, sync::resume)
            .about("Resume reading from or writing to the health record system", "6")
            .named("resume_location")
            .fails(&[422])
            .noting("Resumes the directions that are `true` in the body; an empty body resumes both."),
        get("/operator", operators::show)
            .about("Retrieve the calling operator", "6")
            .noting("The response contains all institutions with their locations.")
            .operator(Role::Viewer),
        get("/operators", operators::list)
            .about("List operators, with their roles and the last use of their tokens", "6")
            .operator(Role::Admin),
        get("/adapters", adapters::list)
            .about("List adapters, with their versions and the locations that run them", "6")
            .operator(Role::Viewer),
        post("/adapters/{adapter}/versions", adapters::upload)
            .about("Upload a version of an adapter", "6")
            .named("upload_adapter_version")
            .fails(&[422])
            .takes_component()
            .noting(
                "The body is the component, at most 64 MiB. Its manifest, contract, imports, compile limits and \
                 signature are verified as at server start. The manifest must belong to the adapter that is \
                 configured under this name. No location runs the version until it is rolled out. Uploading the same \
                 component again has no effect.",
            )
            .operator(Role::Admin),
        action(&operator_actions::ROLL_OUT, adapters::roll_out)
            .about("Roll out an adapter version to a location", "6")
            .named("roll_out_adapter")
            .fails(&[422])
            .noting(
                "`version` is the SHA-256 of an uploaded version, or `configured` for the version of the \
                 configuration. The version is tried first: the trial calls `describe` and reads the first page of \
                 every resource, without a write and within the request limit that the adapter declares. If a call \
                 fails, nothing changes and the response is 422. Calls in progress finish on the version they began \
                 with. With `dry_run`, the version is only tried.",
            ),
        action(&operator_actions::ROLL_BACK, adapters::roll_back)
            .about("Roll back a location to its previous adapter version", "6")
            .named("roll_back_adapter")
            .fails(&[422])
            .noting("The previous version is not tried first. A second call reverts the first one."),
        get("/webhooks", webhooks::list)
            .about("List the webhook endpoints of all organisations, with their status", "6")
            .named("list_webhooks")
            .noting("Inactive endpoints come first, then failing ones.")
            .operator(Role::Viewer),
        get("/webhooks/{id}/deliveries", webhooks::deliveries)
            .about("List messages sent to an organisation's webhook endpoint, newest first", "6")
            .named("list_webhook_messages")
            .operator(Role::Viewer),
        action(&operator_actions::REDELIVER, webhooks::redeliver)
            .about("Redeliver a message to an organisation's webhook endpoint", "6")
            .named("redeliver_webhook_message")
            .noting("The `delivery-id` stays the same, so that the receiver can recognise a message it has already received."),
        action(&operator_actions::REDELIVER_FAILED, webhooks::redeliver_failed)
            .about("Redeliver the undelivered messages of an organisation's webhook endpoint", "6")
            .named("redeliver_undelivered_webhook_messages")
            .noting(
                "Sends the messages of the last seven days that were not delivered again, in the order of their events \
                 and with the same `delivery-id`. If the queue of the endpoint has no room for all of them, \
                 `next_since` is not null: repeat the call after these messages were sent.",
            ),
        action(&operator_actions::TEST_WEBHOOK, webhooks::test)
            .about("Send a test message to an organisation's webhook endpoint", "6")
            .named("test_webhook")
            .noting("The `event_name` is `webhook_endpoint.test`. The message is signed, retried and logged like any other."),
        get("/backups", backups::list)
            .about("List the backups of the server's store", "6")
            .named("list_backups")
            .fails(&[422])
            .operator(Role::Viewer),
        post("/backups", backups::make)
            .about("Start a backup of the server's store", "6")
            .named("start_backup")
            .fails(&[409, 422])
            .noting(
                "The backup is a consistent snapshot of the entire store, with all institutions. It is taken while \
                 the server continues to run and is written to the configured folder; `GET /backups` reports when it \
                 is complete. Only one backup can run at a time.",
            )
            .operator(Role::Admin),
        post("/configuration/reload", configuration::reload)
            .about("Reload the server's configuration", "6")
            .named("reload_configuration")
            .fails(&[422])
            .noting(
                "Reads the configuration files and compares them with the configuration in force. The new \
                 configuration is applied as a whole, or refused as a whole if it contains an error or if a change \
                 needs a restart; `applied` reports the result. API keys are applied even if other parts contain \
                 errors. With `dry_run`, the files are only compared.",
            )
            .operator(Role::Admin),
        get("/store/keys", store_keys::list)
            .about("List the keys that seal the server's store", "6")
            .named("list_store_keys")
            .fails(&[422])
            .operator(Role::Admin),
        post("/store/keys", store_keys::rotate)
            .about("Seal the server's store with a new key", "6")
            .named("rotate_store_key")
            .fails(&[409, 422])
            .noting(
                "The new key is added to `store.key` in the server's data directory and seals all values written from \
                 now on. Existing values are sealed again with the new key while the server continues to run; \
                 `values_left` of `GET /store/keys` falls to 0. Keep a copy of `store.key`: later backups cannot be \
                 read without it.",
            )
            .operator(Role::Admin),
        delete("/store/keys/{store_key}", store_keys::forget)
            .about("Remove an old key of the server's store", "6")
            .named("drop_store_key")
            .fails(&[409, 422])
            .noting(
                "Removes the key from `store.key`. The call is refused with 409 while a value of the store or a \
                 backup in the configured folder needs the key; all values and backups are read for this check. \
                 Backups that are kept elsewhere still need the key: keep a copy of the previous `store.key` with \
                 them.",
            )
            .operator(Role::Admin),
        get("/institutions", institutions::list).about("List the institutions of the API key", "4.10"),
        get("/institutions/{id}", institutions::show).about("Retrieve an institution", "4.10"),
        get("/operatories", operatories::list).about("List the operatories of a location", "2.9"),
        get("/operatories/{id}", operatories::show).about("Retrieve an operatory", "2.9"),
        post("/operatories", operatories::create).about("Create an operatory", "2.9").fails(&[422]).noting(OWN),
        patch("/operatories/{id}", operatories::update).about("Update an operatory", "2.9").fails(&[422]).noting(OWN),
        delete("/operatories/{id}", operatories::delete).about("Deactivate an operatory", "2.9").fails(&[422]).noting(OWN),
        post("/providers", providers::create).about("Create a provider", "4.10").fails(&[422]).noting(OWN),
        patch("/providers/{id}", providers::update).about("Update a provider", "4.10").fails(&[409, 422]).noting(OWN),
        delete("/providers/{id}", providers::delete).about("Deactivate a provider", "4.10").fails(&[409, 422]).noting(OWN),
        get("/providers/{id}", providers::show).about("Retrieve a provider", "4.10"),
        get("/providers", providers::list).about("List the providers of an institution", "4.10").noting(
            "With `location_id`, returns only providers with working hours at the location, and providers of its \
             health record system without any working hours.",
        ),
        get("/sync_status", sync_status::list)
            .about("List the read and write status of each health record system", "4.10"),
    ]
}

const SIMULATED_ONLY: &str = "Available only for the simulated health record system of the sandbox; other systems are \
    refused with 422. Send exactly one action per call. `behave` and `switch` are available to every key that can \
    access the location. Actions of staff are for operators; other keys receive 403. An action applies to all \
    locations of the system and starts a read cycle of these locations immediately. Switches are reset when the \
    process ends. `GET /docs/sandbox` has examples and lists patient names that trigger errors.";

fn sandbox() -> Vec<Route> {
    vec![
        get("/locations/{id}/simulated_ehr", simulated_ehr::show)
            .about("Retrieve the state of a simulated health record system", "6")
            .fails(&[422])
            .noting(SIMULATED_ONLY)
            .named("get_simulated_ehr"),
        post("/locations/{id}/simulated_ehr", simulated_ehr::control)
            .about("Control a simulated health record system", "6")
            .fails(&[409, 422])
            .noting(SIMULATED_ONLY)
            .named("control_simulated_ehr"),
    ]
}

fn writes_and_changes() -> Vec<Route> {
    vec![
        get("/write_requests", write_requests::list)
            .about("List writes to the health record system of a location", "3")
            .noting(
                "The newest write comes first, or with `sort=queued_at` the oldest. `resource` and `record_id` select \
                 the writes of one record. Unfinished writes are listed regardless of `updated_since`.",
            ),
        get("/write_requests/{id}", write_requests::show).about("Retrieve a write to the health record system", "3"),
        action(&operator_actions::RETRY, write_requests::retry)
            .about("Retry a failed write", "3")
            .named("retry_write_request")
            .noting(
                "Returns the new write. It has the write key of the failed write, and the health record system is \
                 searched for that key first. A booking can be retried only if its slot is free. A refused change \
                 cannot be retried, because it was reverted: request the change again.",
            ),
        action(&operator_actions::DROP, write_requests::give_up)
            .about("Drop a waiting or failed write", "3")
            .named("drop_write_request")
            .noting("Writes that depend on it are dropped too. The slot of a dropped booking becomes free."),
        get("/changes", changes::list).about("List changes at a location", "4.10").since_v3().noting(
            "Without `since`, the list is empty and `page_info.end_cursor` is the current position. Send the \
             `end_cursor` of a response as `since` of the next call; if `has_next_page` is true, more changes are \
             available. Each record is listed once, with its latest change. `facts` are what happened to an \
             appointment in all its changes since the previous page. Changes are stored for 30 days. An older \
             `since`, or one from before the location moved to another health record system, is refused with the \
             reason `cursor_expired`: export the records again. Records whose endpoints need a grant need the same \
             grant here.",
        ),
        get("/export", export::export)
            .about("Export all records of a location", "4.10")
            .since_v3()
            .named("export_records")
            .noting(
                "The response is a stream of lines, each a JSON object: a record as in GET /changes, without deleted \
                 ones. Providers, operatories, types and patients come before the records that refer to them. A line \
                 of the type `resume` has a `cursor`: to continue an interrupted export, call again with the `cursor` \
                 of the last such line. The last line has the type `end`, with the `changes_cursor` for `since` of GET \
                 /changes. These changes begin before the export, so that none is missed. Without the line `end` the \
                 export is incomplete; a line `error` contains the reason. Records whose endpoints need a grant need \
                 the same grant here, and without the grant `financial` the amounts of other records are null. The \
                 call counts once towards rate limits. An API key may run two exports concurrently.",
            ),
    ]
}

const SLOTS_NOTES: &str = "The number of days times the number of locations is at most 93. A response has at most \
    10,000 slots: a longer one ends after a complete day, and `next_available_date` and `description` contain the \
    next `start_date`. Without `slot_length` and an appointment type, a slot is 30 minutes long. Until the schedule \
    of a location has been read for the first time, the response is 503.";

fn schedule() -> Vec<Route> {
    vec![
        get("/available_slots", available_slots::list).about("List free slots", "4.10").since_v3().noting(SLOTS_NOTES),
        get("/appointment_slots", available_slots::list)
            .about("List free slots", "9")
            .only(&[V2_2_2])
            .noting(SLOTS_NOTES),
        get("/appointments", appointments::list).about("List appointments in a period", "4.10"),
        get("/appointments/{id}", appointments::show).about("Retrieve an appointment", "4.10"),
        post("/appointments", appointment_writes::create).about("Book an appointment", "4.10").fails(&[422]).noting(
            "The appointment is written to the health record system afterwards. If `operatory_id` is optional and \
             missing, the first free operatory of the provider is used. Without `end_time`, the appointment type \
             determines the length. A time without an offset is read in the location's time zone, and `description` \
             reports how it was read. `location_id` may be sent in the body instead.",
        ),
        patch("/appointments/{id}", appointment_writes::update)
            .about("Update or cancel an appointment", "4.10")
            .noting(
                "Only fields that are sent change. `cancelled: true` cannot be combined with other changes. \
                 `subdomain` is read from the query only.",
            ),
        get("/appointments/{id}/appointment_descriptors", appointments::descriptors)
            .about("List the descriptors of an appointment", "4.10"),
        get("/locations/{id}/appointment_descriptors", descriptors::list_at_location)
            .about("List the appointment descriptors of a location", "4.10"),
    ]
    .into_iter()
    .chain(types())
    .chain(hours())
    .collect()
}

fn types() -> Vec<Route> {
    let (all, one) = ("/appointment_types", "/appointment_types/{id}");
    let belongs = "The type belongs to the entire institution, or with `parent_type` `Location` to one location. \
        Types that come from the health record system must be changed in that system.";
    vec![
        get(all, appointment_types::list).about("List the appointment types of an institution", "2.9"),
        get(one, appointment_types::show).about("Retrieve an appointment type", "2.9"),
        get("/appointment_types/{id}/appointment_descriptors", appointment_types::descriptors)
            .about("List the descriptors of an appointment type", "2.9"),
        post(all, appointment_types::create).about("Create an appointment type", "2.9").noting(belongs),
        patch(one, appointment_types::update).about("Update an appointment type", "2.9").noting(belongs),
        delete(one, appointment_types::delete).about("Delete an appointment type", "2.9").noting(belongs),
    ]
}

/// v2.2.2 uses other paths (specification 9).
fn hours() -> Vec<Route> {
    let set = "Send exactly one of `days`, `specific_date` and `custom_recurrence`. An end time that is not after the \
        begin time is on the next day. The hours offer slots immediately. They are written to the health record \
        system if it accepts working hours; otherwise `description` warns that only this service stores them. A \
        refused change is reverted, and `failure_reason` contains the reason.";
    let of = |all: &'static str, one: &'static str| {
        vec![
            get(all, working_hours::list).about("List the working hours of a location", "4.10"),
            get(one, working_hours::show).about("Retrieve a record of working hours", "4.10"),
            post(all, working_hours::create).about("Create working hours", "4.10").noting(set),
            patch(one, working_hours::update).about("Update working hours", "4.10").noting(set),
            delete(one, working_hours::delete)
                .about("Delete working hours", "4.10")
                .noting("Only working hours that were created through the API can be deleted."),
        ]
    };
    let now = of("/working_hours", "/working_hours/{id}").into_iter().map(Route::since_v3);
    let before = of("/availabilities", "/availabilities/{id}").into_iter().map(|it| it.only(&[V2_2_2]));
    let labels =
        get("/working_hour_labels", working_hour_labels::list).about("List the labels of working hours", "4.10");
    now.chain(before).chain([labels]).collect()
}

fn booking_intent() -> Vec<Route> {
    let search = "/intent/booking/search";
    let hold = "/intent/booking/hold";
    vec![
        get("/intent/practice/info", booking::practice::show)
            .about("Retrieve the facts about a practice that callers ask for", "4.8")
            .noting(
                "Address, opening hours of the next seven days, appointment types and providers to choose from, the \
                 booking rules in words, and the requests that the location can carry out. `message` can be read to \
                 the caller. Opening hours are those of any provider; closures of the practice are left out.",
            )
            .fails_as::<BookingRefusal>(&[])
            .named("get_practice_info"),
        post_when_fresh(search, booking::search::create)
            .about("Search for slots that can be booked", "4.8")
            .noting(
                "Every field of the body is optional; `{}` searches the next seven days. A `slot_token` is an offer, \
                 not a hold: it can be booked until `expires_at` (by default half an hour) unless another client \
                 books the time first. The token is valid for this institution only and cannot be altered. Store only \
                 the token: it contains provider, operatory, length and type. If no slot is free, \
                 `next_available_date` is the next day with free slots. `message` can be read to the caller. Continue \
                 with POST /intent/booking/book, or first with POST /intent/booking/hold if the caller needs time. \
                 With `party_size`, the response has `groups` of slots for patients who come together: one group for \
                 each start, `consecutive` (with one provider if possible) or `parallel`.",
            )
            .fails_as::<BookingRefusal>(&[503])
            .reading()
            .named("search_slots"),
        post_when_fresh("/intent/booking/explain", booking::explain::create)
            .about("Explain why times can or cannot be booked", "4.8")
            .noting(
                "The body has the fields of a search, or one time: a `slot_token`, or `start_iso` with optional \
                 `provider_id`, `operatory_id` and `appointment_type_id`. `location_id` is required unless there is a \
                 `slot_token`. A search is explained with all times that it would consider if nothing were taken: \
                 `reasons` counts them by the first reason against them. A time that the search offers has the \
                 reason `offered`. For one time, `slot` has the reason in full; if several providers or operatories \
                 match, it is the one with the least obstacle. `new_patient` and `date_of_birth` describe the \
                 patient, so that rules about patients are checked, too. `fresh_within` reads the practice's system \
                 first, as for a search; `party_size` has no effect. A schedule that has not been read yet is \
                 the reason `schedule_not_read`, not an error. `message` can be read to the caller. The response \
                 contains no data of patients. The list of reasons may grow.",
            )
            .fails_as::<BookingRefusal>(&[404])
            .reading()
            .named("explain_slots"),
        post_when_fresh(hold, booking::hold::create)
            .about("Hold a slot", "4.8")
            .noting(
                "Holding a slot is optional. Until `held_until` (by default five minutes), only POST \
                 /intent/booking/book with the same `slot_token` can book the time. A repeated call with the same \
                 token returns the same hold. A hold expires automatically. The call is refused with `reason` \
                 `slot_not_found` (404), `slot_taken` (409; `alternatives` lists slots as a search does), \
                 `rules_changed` (409, with `alternatives`), `slot_expired` (410) or `not_bookable` (422, with the \
                 `rule` of the practice that refuses the visit).",
            )
            .fails_as::<BookingRefusal>(&[404, 409, 410, 422])
            .named("hold_slot"),
        delete(hold, booking::hold::delete)
            .about("Release a held slot", "4.8")
            .noting("The slot is free immediately. `slot_token` may be sent in the query or in the body.")
            .fails_as::<BookingRefusal>(&[404, 409, 410])
            .named("release_slot"),
        post_when_fresh("/intent/booking/book", booking::book::create)
            .about("Book a slot for a patient", "4.8")
            .noting(
                "`slot_token` comes from a search; the token in the example is a placeholder. Choose one \
                 `idempotency_key` per attempt: the same key with the same data returns the same booking with \
                 `replay: true` and never books twice; with other data the call is refused with \
                 `idempotency_conflict`. A refusal is not stored: the same key can be used again. A successful \
                 response means that the slot is booked; the appointment is written to the practice's system \
                 afterwards. Poll GET /intent/booking/status every few seconds until `ehr_writeback` is `confirmed` \
                 or `failed`, or subscribe to `appointment_insertion`. If the practice has no health record system, \
                 `ehr_writeback` stays `pending`. The call is refused with `reason` `slot_not_found` (404), \
                 `slot_taken` or `rules_changed` (409, with `alternatives`), `idempotency_conflict` (409), \
                 `slot_expired` (410), `patient_fields_required` (422, with `missing_fields`), \
                 `new_patient_not_supported` or `not_bookable_online` (422), or `not_bookable` (422, with the `rule` \
                 of the practice that refuses the visit, and `instead` if the practice names what to offer). \
                 `bookings` books two to eight slots of one location, with a patient each, instead of `slot_token` \
                 and `patient`: all are booked, or none. The response then has `bookings`, each with its own \
                 `booking_ref` and write status. A refusal names the refused booking with its `index`, from 0. One \
                 patient may have several visits, but not at the same time (`patient_twice`, 422).",
            )
            .fails_as::<BookingRefusal>(&[404, 409, 410, 422])
            .named("book"),
        get("/intent/booking/status", booking::status::show)
            .about("Retrieve the status of a booking", "4.8")
            .noting(
                "`booking_status` is `confirmed` or `cancelled`; `ehr_writeback` is `pending` until the practice's system has stored the \
                 appointment (`confirmed`) or refused it (`failed`, with `failure_reason`; the time is then free again). A later move, change or \
                 cancellation makes it `pending` again; `cancellation_writeback` is the state of the cancellation. `start_iso` \
                 changes if the practice moves the appointment.",
            )
            .fails_as::<BookingRefusal>(&[404])
            .named("get_booking"),
        post("/intent/booking/cancel", booking::cancel::create)
            .about("Cancel a booking", "4.8")
            .noting(
                "The visit is named by `booking_ref`, or by a `visit_token` from POST /intent/booking/find. A booking \
                 can also be cancelled while it is being written to the practice's system. A repeated call \
                 returns the same response. The call is refused with `reason` `booking_not_found` (404), \
                 `booking_failed` or `booking_not_open` (409), `visit_token_expired` (410), or `change_too_late` (422) \
                 if the practice needs more notice.",
            )
            .fails_as::<BookingRefusal>(&[404, 409, 410, 422])
            .named("cancel_booking"),
        post("/intent/booking/find", booking::find::create)
            .about("Find the upcoming visits of a patient", "4.8")
            .noting(
                "For a patient who wants to confirm, move or cancel a visit, also one that the practice booked \
                 itself. The last name, the date of birth, and the phone number or e-mail address must match one \
                 patient, as in POST /intent/booking/book; the first name is required only if several patients share \
                 these details. `location_id` limits the search to one location. `visit_token` names a visit in the \
                 other calls for 30 minutes. Details that match no patient, details that match several, and a patient \
                 without visits have the same answer. Searches are limited per API key and per phone number or e-mail \
                 address: further ones are refused with 429 and `Retry-After`.",
            )
            .fails_as::<BookingRefusal>(&[])
            .reading()
            .named("find_visits"),
        post("/intent/booking/confirm", booking::confirm::create)
            .about("Confirm a visit", "4.8")
            .noting(
                "Records that the patient confirms the visit, and writes the confirmation to the practice's system if \
                 the system takes confirmations. Otherwise the confirmation is stored only in this service, and \
                 `message` reports that. The visit is named by `booking_ref`, or by a `visit_token` from POST \
                 /intent/booking/find. A repeated call changes nothing. The call is refused with `reason` \
                 `appointment_not_synced` (400) while the practice's system does not have the visit yet, \
                 `booking_not_found` (404), `booking_not_open` (409) or `visit_token_expired` (410).",
            )
            .fails_as::<BookingRefusal>(&[404, 409, 410])
            .named("confirm_visit"),
        post("/intent/booking/reschedule", booking::reschedule::create)
            .about("Move a visit to another slot", "4.8")
            .noting(
                "The visit is named by `booking_ref`, or by a `visit_token` from POST /intent/booking/find. \
                 `slot_token` comes from a search at the same location; time, length, provider and operatory are those \
                 of the slot. The visit keeps its `booking_ref`, its `appointment_id` and its type. A slot with \
                 another length than the visit must be from a search with the visit's `appointment_type_id`, if the \
                 visit has a type (otherwise `refused`, 422). Until the practice's system has moved it, the old and the new time are both taken, and `reschedule.status` is \
                 `pending`. If the system refuses (`failed`), the visit stays at the old time and the new time is free \
                 again. The call also works while the visit is being written to the practice's system. Of several \
                 changes, the last one wins. `idempotency_key` works as in POST /intent/booking/book. The call is \
                 refused with `reason` `booking_not_found` or `slot_not_found` (404), `slot_taken` or `rules_changed` \
                 (409, with `alternatives`), `booking_not_open` or `idempotency_conflict` (409), `slot_expired` or \
                 `visit_token_expired` (410), `not_bookable_online`, `not_bookable` or `change_too_late` (422).",
            )
            .fails_as::<BookingRefusal>(&[404, 409, 410, 422])
            .named("reschedule_visit"),
    ]
}

fn patients_and_documents() -> Vec<Route> {
    let (alerts, alert) = ("/patients/{id}/alerts", "/patients/{id}/alerts/{alert_id}");
    let documents = "/patients/{id}/documents";
    vec![
        get("/patients", patients::list::list_v2)
            .about("List the patients of the location's health record system", "4.10")
            .only(&[V2_2_2])
            .noting(
                "`adjustments`, `charges` and `payments` need the grant `financial`; without it they are withheld, \
                 and `description` names them. A page with `include[]` also has up to 1,000 patients, and up to \
                 100,000 records of each included kind.",
            ),
        get("/patients", patients::list::list)
            .about("List the patients of the location's health record system", "4.10")
            .since_v3()
            .noting(
                "`name` searches all names; `first_name` and `last_name` each search only that name. Each word must \
                 be the beginning of a word of the name. The list contains all patients of the location's health \
                 record system, or with `location_strict` only the patients of the location.",
            ),
        post("/patients", patients::create::create)
            .about("Create a patient, or return an existing match", "4.10")
            .or(200)
            .fails(&[409, 422]),
        get("/patients/{id}", patients::show::show)
            .about("Retrieve a patient, with included records", "4.10")
            .noting(
                "`adjustments`, `charges` and `payments` need the grant `financial`; without it they are withheld, and `description` names \
                 them.",
            ),
        patch("/patients/{id}", patients::update::update)
            .about("Update a patient", "4.4")
            .beta()
            .fails(&[422])
            .noting(
                "Only fields that are sent change. `null` or an empty string clears `middle_name` and the parts of \
                 `address`; `null` clears `email` and the entire `address`. No other field can be cleared; a phone \
                 number can only be replaced.",
            ),
        get(alerts, patients::alerts::list).about("List the alerts of a patient", "4.10"),
        get(alert, patients::alerts::show).about("Retrieve an alert of a patient", "4.10"),
        post(alerts, patients::alerts::create)
            .about("Create an alert for a patient", "4.10")
            .fails(&[409]),
        patch(alert, patients::alerts::update)
            .about("Disable an alert", "4.10")
            .noting("A disabled alert cannot be enabled again: no health record system supports it."),
        get(documents, patients::documents::list)
            .about("List the documents of a patient", "4.10")
            .noting("`url` is null for documents that only the health record system stores."),
        post(documents, patients::documents::create)
            .about("Upload a document", "4.10")
            .leaving_body()
            .noting("No health record system supports uploads yet: the response is always 400."),
        get("/document_types", patients::documents::types).about("List document types", "4.10"),
        get("/document_types/{id}", show_at::<DocumentTypeView>)
            .about("Retrieve a document type", "4.10"),
    ]
}

fn insurance() -> Vec<Route> {
    let (plans, coverages) = ("/insurance_plans", "/insurance_coverages");
    vec![
        get(plans, insurance_plans::list).about("List insurance plans", "4.2").financial(),
        get("/insurance_plans/{id}", insurance_plans::show).about("Retrieve an insurance plan", "4.2").financial(),
        post(plans, insurance_plans::create)
            .about("Create an insurance plan", "4.2")
            .financial()
            .beta()
            .fails(&[409])
            .noting(
                "A name that is too long for the health record system is accepted; `description` contains a warning.",
            ),
        get(coverages, insurance_coverages::list).about("List insurance coverages", "4.2"),
        get("/insurance_coverages/{id}", insurance_coverages::show)
            .about("Retrieve an insurance coverage, with its subscriber", "4.2"),
        post(coverages, insurance_coverages::create)
            .about("Create an insurance coverage", "4.2")
            .beta()
            .fails(&[409, 422])
            .noting(
                "The object `insurance_coverage` around the body is optional. `insurance_subscription` needs a `name`.",
            ),
        delete("/insurance_coverages/{id}", insurance_coverages::delete)
            .about("End an insurance coverage", "4.2")
            .beta(),
    ]
}

fn intake() -> Vec<Route> {
    let (items, responses) = ("/medical_history/patient_items", "/form_responses");
    vec![
        get("/medical_history/items", medical_history::items).about("List medical history items", "4.3").beta(),
        get(items, medical_history::patient_items).about("List the medical history items of a patient", "4.3").beta(),
        post(items, medical_history::save)
            .about("Create, update or end items of a patient's medical history", "4.3")
            .beta()
            .fails(&[409, 422])
            .noting(
                "All items are validated before the first one is saved. If the patient has an entry for an item, the \
                 entry is updated; without `note`, its note does not change.",
            ),
        get("/form_schemas", list::<FormSchemaView, forms::ListFormSchemas>).about("List intake forms", "4.6").beta(),
        get("/form_schemas/{uuid}", forms::schema).about("Retrieve an intake form", "4.6").beta(),
        get(responses, forms::responses).about("List the form responses of a patient", "4.6").beta(),
        get("/form_responses/{id}", show_at::<FormResponseView>).about("Retrieve a form response", "4.6").beta(),
        post(responses, forms::respond).about("Create a form response", "4.6").beta().fails(&[409, 422]).noting(
            "All required and visible components need an answer of the right type. Additional answers are stored \
             unchanged.",
        ),
    ]
}

fn care() -> Vec<Route> {
    vec![
        get("/procedure_code_categories", list::<ProcedureCodeCategoryView, clinical::ListProcedureCodeCategories>)
            .about("List categories of procedure codes", "4.7")
            .beta(),
        get("/procedure_code_categories/{id}", show_at::<ProcedureCodeCategoryView>)
            .about("Retrieve a category of procedure codes", "4.7")
            .beta(),
        get("/procedure_codes", list::<ProcedureCodeView, clinical::ListProcedureCodes>)
            .about("List procedure codes", "4.7")
            .beta(),
        get("/procedures", clinical::procedures)
            .about("List planned and performed procedures", "4.10")
            .amounts("fee")
            .noting("A procedure that was deleted in the health record system has the status `inactive`."),
        get("/procedures/{id}", show::<ProcedureView>).about("Retrieve a procedure", "4.10").amounts("fee"),
        get("/treatment_plans", clinical::plans).about("List treatment plans", "4.10").amounts("procedures.fee"),
        get("/treatment_plans/{id}", clinical::plan)
            .about("Retrieve a treatment plan", "4.10")
            .amounts("procedures.fee"),
        get("/clinical_notes", clinical::notes).about("List clinical notes", "4.10"),
        get("/recall_types", clinical::recall_types).about("List recall types", "4.10"),
        get("/recall_types/{id}", show::<RecallTypeView>).about("Retrieve a recall type", "4.10"),
        get("/patient_recalls", clinical::recalls).about("List patients due for recall", "4.10"),
        get("/patient_recalls/{id}", clinical::recall).about("Retrieve a patient recall", "4.10"),
    ]
}

fn communication() -> Vec<Route> {
    let logs = "/communication_logs";
    vec![
        get(logs, communication_logs::list)
            .about("List requests to append to communication logs", "4.5")
            .beta()
            .noting(
                "Returns the requests of the location that were created through the API in the last 30 days, or since \
                 `created_since`.",
            ),
        get("/communication_logs/{id}", communication_logs::show)
            .about("Retrieve a request to append to a communication log", "4.5")
            .beta(),
        post(logs, communication_logs::create)
            .about("Append to a patient's communication log", "4.5")
            .beta()
            .fails(&[409, 422]),
        get("/conversations", list::<ConversationView, conversations::ListConversations>)
            .about("List the conversations of the health record system", "4.10"),
        post("/conversations/{id}/messages", conversations::message)
            .about("Send a message to a patient", "4.10")
            .leaving_body()
            .noting("No health record system supports messages: the response is always 403."),
    ]
}

/// The catalogues contain no amounts and need no grant.
fn ledger() -> Vec<Route> {
    let entered = "The adjustment is written to the health record system afterwards; its `foreign_id` and GET \
        /write_requests show the result. The default date is today at the location. A negative amount lowers the \
        balance, and a positive amount raises it. Splits have the same sign as the amount. `charge_splits` refer to \
        charges of the patient or their family. A `transaction_id` is unique at a location: a repeated request with \
        the same data returns the first adjustment with `Idempotent-Replay: true` as long as it is stored, even if \
        the health record system refused it; a request with other data is refused with 409.";
    let paid = "The payment is written to the health record system afterwards; its `foreign_id` and GET \
        /write_requests show the result. The default date is today at the location. A payment lowers the balance: \
        `-138.00` with negative splits and `138.00` with positive splits are the same payment, which is shown as \
        `138.00`. Create refunds as adjustments. `charge_splits` refer to charges of the patient or their family. A \
        `transaction_id` is unique at a location: a repeated request with the same data returns the first payment \
        with `Idempotent-Replay: true` as long as it is stored, even if the health record system refused it; a \
        request with other data is refused with 409.";
    let amounts = vec![
        get("/charges", charges_and_claims::list).about("List charges on the ledger", "4.10"),
        get("/charges/{id}", show::<ChargeView>).about("Retrieve a charge", "4.10"),
        get("/payments", list::<PaymentView, payments::ListPayments>).about("List payments on the ledger", "4.10"),
        get("/payments/{id}", show::<PaymentView>).about("Retrieve a payment", "4.10"),
        post("/payments", ledger_entry::create::<PaymentView>).about("Create a payment", "4.10").noting(paid),
        get("/adjustments", list::<AdjustmentView, payments::ListAdjustments>)
            .about("List adjustments on the ledger", "4.10"),
        get("/adjustments/{id}", show::<AdjustmentView>).about("Retrieve an adjustment", "4.10"),
        post("/adjustments", ledger_entry::create::<AdjustmentView>)
            .about("Create an adjustment", "4.10")
            .noting(entered),
        get("/claims", list::<ClaimView, charges_and_claims::ListClaims>).about("List insurance claims", "4.10"),
        get("/claims/{id}", show::<ClaimView>).about("Retrieve an insurance claim", "4.10"),
        get("/payment_plans", list::<PaymentPlanView, payments::ListPaymentPlans>).about("List payment plans", "4.10"),
        get("/payment_plans/{id}", show_of_any::<PaymentPlanView>).about("Retrieve a payment plan", "4.10"),
        get("/fee_schedules", list_in_use::<FeeScheduleView>).about("List fee schedules", "2.4"),
        get("/fee_schedules/{id}", fee_schedules::show).about("Retrieve a fee schedule", "2.4"),
        get("/fee_schedule_procedures", list::<FeeView, fee_schedules::ListFees>)
            .about("List the fees of procedure codes", "2.4"),
        get("/guarantor_balances", balances::list)
            .about("List guarantor balances", "4.10")
            .noting("`patient_id` selects the balance of the patient's guarantor."),
        get("/guarantor_balances/{id}", show_of_any::<GuarantorBalanceView>)
            .about("Retrieve a guarantor balance", "4.10"),
        get("/insurance_balances", list::<InsuranceBalanceView, balances::ListInsuranceBalances>)
            .about("List insurance balances", "4.10"),
        get("/insurance_balances/{id}", show::<InsuranceBalanceView>).about("Retrieve an insurance balance", "4.10"),
    ];
    let catalogues = vec![
        get("/payment_types", list_in_use::<PaymentTypeView>).about("List payment types", "4.10"),
        get("/payment_types/{id}", show::<PaymentTypeView>).about("Retrieve a payment type", "4.10"),
        get("/adjustment_types", list_in_use::<AdjustmentTypeView>).about("List adjustment types", "4.10"),
        get("/adjustment_types/{id}", show::<AdjustmentTypeView>).about("Retrieve an adjustment type", "4.10"),
    ];
    amounts.into_iter().map(Route::financial).chain(catalogues).collect()
}

fn webhooks() -> Vec<Route> {
    let (endpoints, endpoint) = ("/webhook_endpoints", "/webhook_endpoints/{id}");
    let subscriptions = "/webhook_endpoints/{id}/webhook_subscriptions";
    let subscription = "/webhook_endpoints/{id}/webhook_subscriptions/{subscription_id}";
    vec![
        get(endpoints, webhook_endpoints::list).about("List webhook endpoints", "4.9"),
        post(endpoints, webhook_endpoints::create).about("Register a webhook endpoint", "4.9"),
        patch(endpoint, webhook_endpoints::update).about("Update a webhook endpoint", "4.9").noting(
            "A reactivated endpoint receives no messages until its subscriptions are active too (specification, 6.4). \
             Only a key that may create all subscriptions of the endpoint can change or delete it. Subscriptions that \
             no key of the endpoint's owner may create any more become inactive.",
        ),
        get(endpoint, webhook_endpoints::show).about("Retrieve a webhook endpoint", "4.9"),
        delete(endpoint, webhook_endpoints::delete).about("Delete a webhook endpoint and its subscriptions", "4.9"),
        get(subscriptions, webhook_subscriptions::list)
            .about("List the subscriptions of a webhook endpoint", "4.9")
            .named("list_webhook_subscriptions"),
        post(subscriptions, webhook_subscriptions::create)
            .about("Subscribe a webhook endpoint to an event", "4.9")
            .named("create_webhook_subscription")
            .noting(
                "Messages use the API version under which the subscription was created. With `location_id`, they cover \
                 that location, otherwise all locations of the institution. A key that can access only some of the \
                 locations, or lacks a grant for the records, is refused. With `payload` `ids`, messages contain only \
                 the ids of the records, and no patient data. \
                 If subscriptions of both kinds overlap, such as one for all locations and one for a single location, \
                 their endpoint receives a message of each kind.",
            )
            .fails(&[409]),
        patch(subscription, webhook_subscriptions::update)
            .about("Update a subscription, or move it to another endpoint", "4.9")
            .named("update_webhook_subscription")
            .noting("Only a key that may create the subscription can change or delete it.")
            .fails(&[409]),
        get(subscription, webhook_subscriptions::show)
            .about("Retrieve a subscription", "4.9")
            .named("get_webhook_subscription"),
        delete(subscription, webhook_subscriptions::delete)
            .about("Delete a subscription", "4.9")
            .named("delete_webhook_subscription"),
    ]
    .into_iter()
    .chain(webhook_deliveries())
    .collect()
}

fn webhook_deliveries() -> Vec<Route> {
    let (deliveries, delivery) =
        ("/webhook_endpoints/{id}/deliveries", "/webhook_endpoints/{id}/deliveries/{delivery_id}");
    vec![
        post("/webhook_endpoints/{id}/rotate_secret", webhook_endpoints::rotate_secret)
            .about("Rotate the secret of a webhook endpoint", "6.3")
            .fails(&[409])
            .noting(
                "`secret_key` in the response is the new secret. Until `earlier_secret_until`, the header `signature` \
                 uses the earlier secret and `signature-next` the new one; `webhook-signature` contains both \
                 signatures. With `overlap_hours` 0, only the new secret signs from now on; while an earlier secret \
                 still signs, no other value is accepted. The API key must be allowed to create all subscriptions of \
                 the endpoint.",
            )
            .named("rotate_webhook_secret"),
        post("/webhook_endpoints/{id}/test", webhook_deliveries::test)
            .about("Send a test message to a webhook endpoint", "6.2")
            .noting(
                "The `resource_type` is `webhook_endpoint` and the `event_name` is `webhook_endpoint.test`. The message is signed, retried and \
                 logged like any other.",
            )
            .named("test_webhook_endpoint"),
        post("/webhook_endpoints/{id}/replay", webhook_deliveries::replay)
            .about("Replay the messages of a period", "6.4")
            .noting(
                "Sends the finished deliveries again, in the order of their events and with the same `delivery-id`. A \
                 call sends at most 10000 deliveries, and at most as many as fit into the queue of the endpoint: send \
                 `next_since` as `since` of the next call.",
            )
            .named("replay_webhook_deliveries"),
        get(deliveries, webhook_deliveries::list)
            .about("List messages sent to a webhook endpoint, newest first", "6.4")
            .noting(
                "Returns messages about the institutions that the key can access, and test messages. The operator \
                 configures how long messages are stored."),
        get(delivery, webhook_deliveries::show)
            .about("Retrieve a message sent to a webhook endpoint, with its body", "6.4"),
        post("/webhook_endpoints/{id}/deliveries/{delivery_id}/redeliver", webhook_deliveries::redeliver)
            .about("Redeliver a message", "6.4")
            .noting("The `delivery-id` stays the same, so that the receiver can recognise a message it has already received.")
            .named("redeliver_webhook_delivery"),
    ]
}

fn group(name: &'static str, about: &'static str, routes: Vec<Route>) -> Vec<Route> {
    routes.into_iter().map(|route| route.in_group(Group { name, about })).collect()
}

pub fn serve(app: &mut ServiceConfig) {
    // Shared by the apps of all workers.
    static ROUTES: LazyLock<ServedRoutes> = LazyLock::new(|| ServedRoutes::new(&TABLE));
    dispatch::serve(*ROUTES, app);
}

/// Returns `true` for probes, the documentation, reports of EHRs and messages of agents, which need no User-Agent.
pub fn is_open(path: &str) -> bool {
    let is_open = |route: &Route| route.access == Access::Anyone && route.path == path;
    // The pages of the documentation share one route.
    ehr_events::has_path(path) || path.starts_with("/docs/") || TABLE.iter().any(is_open)
}

/// Endpoint names of rate limits: `GET /appointments`.
pub fn endpoints() -> impl Iterator<Item = &'static str> {
    TABLE.iter().filter(|route| route.is_limited()).map(|route| route.method_and_path.as_str())
}
