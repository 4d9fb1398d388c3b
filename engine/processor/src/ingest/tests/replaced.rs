//! Pages of an EHR that cannot move appointments, while a visit is moved: its old and its new appointment.

use location::{
    Refusal,
    command::{Placement, Written},
    hours::{HourKind, HourSource, Recurrence, Weekday, WorkingHour},
    ids::{OperatoryId, ProviderId, WorkingHourId},
    time::{HOUR, Span},
};
use query::{
    log,
    stream::{Change, EndedWrite, WriteResult},
};
use records::{Appointment, Writeback, ehr::Write, record::RecordWrite};

use super::*;
use crate::{
    commands::{BookSlot, CancelAppointment, Offer, RescheduleVisit},
    patients::PatientDetails,
    precondition::PreconditionError,
};

const OLD: &str = "old";
const NEW: &str = "new";

/// Returns an appointment of the visit, some hours after its first time.
fn at(id: &str, hours: i64) -> EhrAppointment {
    let EhrRecord::Appointment(visit) = visit(id, "pat") else { panic!("a visit") };
    let later = hours * HOUR / SECOND;
    EhrAppointment {
        operatory: Some("chair".into()),
        provider: Some("doctor".into()),
        start: visit.start + later,
        end: visit.end + later,
        ..visit
    }
}

fn page(records: impl IntoIterator<Item = EhrAppointment>) -> EhrPage {
    EhrPage { records: records.into_iter().map(EhrRecord::Appointment).collect(), ..last() }
}

impl IngestWorld {
    /// Reads a visit of an EHR that cannot move appointments.
    async fn with_visit(by_absence: bool) -> IngestWorld {
        let mut world = IngestWorld::new(by_absence);
        world.show(A, patient("pat"));
        world.show(A, EhrRecord::Appointment(at(OLD, 0)));
        world.read(A).await;
        let to = world.place(0);
        world.describe(&["create-patient", "create-appointment", "cancel-appointment"]);
        let processor = world.processors.get_mut(&A).unwrap();
        let hour = WorkingHour {
            id: WorkingHourId(1),
            provider: to.provider.unwrap(),
            operatory: to.operatory,
            begin: 0,
            end: 24 * 60,
            recurrence: Recurrence::Weekly(Weekday::ALL.to_vec()),
            kind: HourKind::WorkingHour,
            source: HourSource::Synced,
            appointment_types: Vec::new(),
            active: true,
        };
        processor.machine.state.hours.insert(hour.id, hour);
        world
    }

    /// Sets the writes of the EHR.
    fn describe(&mut self, writes: &[&str]) {
        let pull = |resource| PullAbility { resource, delta: true, deletions_by_absence: self.by_absence };
        let pulls = [Resource::Patients, Resource::Appointments].map(pull).to_vec();
        let writes = writes.iter().map(|write| (*write).to_owned()).collect();
        let description = Description { pulls, writes, new_patients: true, ..Description::default() };
        self.processors.get_mut(&A).unwrap().described(description);
    }

    /// Reads a visit, and moves it by an hour. Returns the call that creates the new appointment.
    async fn with_moved_visit() -> (IngestWorld, Call) {
        IngestWorld::with_visit(false).await.moved().await
    }

    /// Moves the visit by an hour. Returns the call that creates the new appointment.
    async fn moved(self) -> (IngestWorld, Call) {
        let mut world = self;
        let (appointment, to) = (AppointmentId(world.visit_id()), world.place(1));
        let mut calls = world.turn(A, &Command::Move { appointment, to, join_blocks: true }).await;
        let call = calls.pop().expect("the new appointment is created at once");
        assert!(matches!(world.payload(&call), Write::CreateAppointment(new) if new.id.is_empty() && new.start > 0));
        (world, call)
    }

    fn visit_id(&self) -> u64 {
        self.link(Resource::Appointments, OLD).id
    }

    fn place(&self, hours: i64) -> Placement {
        let provider = u32::try_from(self.link(Resource::Providers, "doctor").id).unwrap();
        let start = Timestamp(at(OLD, hours).start * SECOND);
        Placement {
            operatory: Some(OperatoryId(self.link(Resource::Operatories, "chair").id)),
            provider: Some(ProviderId(provider)),
            span: Span { start, end: start.plus(30 * MINUTE) },
        }
    }

    /// Returns the write as the adapter receives it.
    fn payload(&self, call: &Call) -> Write {
        let Call::Write { work, key, placement, .. } = call else { panic!("a write") };
        self.processors[&A].outgoing(*work, key, *placement).unwrap().unwrap()
    }

    /// Answers a write with the identifier of an appointment. Returns the next call, if any.
    async fn written(&mut self, call: &Call, foreign_id: &str) -> Option<Call> {
        let Call::Write { write, attempt, .. } = call else { panic!("a write") };
        let outcome = Ok(Written { foreign_id: foreign_id.to_owned(), version: None });
        self.turn(A, &Command::Pushed { write: *write, attempt: *attempt, outcome }).await.pop()
    }

    /// Loses the reply of a write, cancels its visit, and looks the write up in vain.
    async fn lost_and_cancelled(&mut self, call: &Call) {
        let Call::Write { write, attempt, work, .. } = call else { panic!("a write") };
        let outcome = Err(Failure::Unknown("reset".to_owned()));
        self.turn(A, &Command::Pushed { write: *write, attempt: *attempt, outcome }).await;
        let (appointment, reason) = (work.appointment().unwrap(), Some("ill".to_owned()));
        self.turn(A, &Command::Cancel { appointment, reason }).await;
        self.now = self.now.plus(2 * MINUTE);
        let Some(Call::Write { write, attempt, .. }) = self.next_call().await else { panic!("a look-up") };
        self.turn(A, &Command::Found { write, attempt, outcome: Ok(None) }).await;
    }

    /// Wakes the location until it makes a call, or nothing is due.
    async fn next_call(&mut self) -> Option<Call> {
        while self.processors[&A].wake_at().is_some_and(|at| at <= self.now) {
            if let Some(call) = self.turn(A, &Command::Wake).await.pop() {
                return Some(call);
            }
        }
        None
    }

    /// Asserts that the only write in the queue cancels an appointment of a visit with this reason. Answers the write.
    async fn cancel_late(&mut self, id: u64, foreign_id: &str, reason: &str) {
        let queue = &self.processors[&A].machine.state.queue;
        let writes: Vec<_> = queue.iter().map(|(write, queued)| (write, queued.work, queued.key.clone())).collect();
        let [(write, work, key)] = &writes[..] else { panic!("one write: {writes:?}") };
        let sent = self.processors[&A].outgoing(*work, key, None).unwrap().unwrap();
        let Write::CancelAppointment(late, Some(why)) = sent else { panic!("a cancellation with a reason") };
        assert_eq!((late.id.as_str(), why.as_str()), (foreign_id, reason));
        assert!(self.kept(id).cancelled && self.link(Resource::Appointments, foreign_id).is_replaced());
        let outcome = Ok(Written { foreign_id: foreign_id.to_owned(), version: None });
        self.turn(A, &Command::Pushed { write: *write, attempt: 1, outcome }).await;
        assert!(!self.processors[&A].machine.state.appointments.contains_key(&AppointmentId(id)));
        assert!(self.kept(id).cancelled && self.queued().is_empty(), "{:?}", self.queued());
    }

    /// Returns the offer of a slot some hours after the first time of the visit.
    fn offer(&self, hours: i64) -> Offer {
        let to = self.place(hours);
        Offer {
            institution: InstitutionId(1),
            location: LocationId(A),
            provider: to.provider.unwrap(),
            operatory: to.operatory,
            span: to.span,
            appointment_type: None,
            expires: self.now.plus(HOUR),
            join_blocks: true,
            hold: hours.unsigned_abs() + 1,
            channel: None,
            rules: None,
        }
    }

    /// Moves the visit for its patient, to some hours after its first time.
    async fn reschedule(&mut self, hours: i64, key: &str) {
        let (appointment, idempotency_key) = (AppointmentId(self.visit_id()), key.to_owned());
        let offer = self.offer(hours);
        self.turn(A, &RescheduleVisit { appointment, offer, idempotency_key, reason: None }).await;
    }

    /// Shows a page of appointments in a read cycle.
    async fn show_page(&mut self, page: EhrPage) {
        let patients = self.begin(A).await.unwrap();
        let appointments = self.answer(A, &patients, last()).await.unwrap();
        self.answer(A, &appointments, page).await;
        while self.processors[&A].wake_at().is_some_and(|at| at <= self.now) {
            self.turn(A, &Command::Wake).await;
        }
    }

    fn kept(&self, id: u64) -> Record<Appointment> {
        self.document(0, id)
    }

    fn queued(&self) -> Vec<WriteIntent> {
        self.processors[&A].machine.state.queue.iter().map(|(_, write)| write.work).collect()
    }

    /// Returns the other places at which the EHR has the visit.
    fn vacating(&self, id: u64) -> Vec<Placement> {
        let known = self.processors[&A].machine.state.appointments.get(&AppointmentId(id));
        known.map(|known| known.vacating.clone()).unwrap_or_default()
    }
}

#[tokio::test]
async fn page_with_both_appointments_proves_the_replacement() {
    let (mut world, call) = IngestWorld::with_moved_visit().await;
    let id = world.visit_id();
    let Call::Write { key, .. } = &call else { panic!("a write") };
    let new = EhrAppointment { write_key: Some(key.clone()), ..at(NEW, 1) };
    world.show_page(page([new, at(OLD, 0)])).await;
    let kept = world.kept(id);
    assert_eq!((kept.foreign_id.as_deref(), kept.placement, kept.cancelled), (Some(NEW), world.place(1), false));
    assert_eq!((kept.replaced.len(), kept.replaced[0].foreign_id.as_str()), (1, OLD));
    assert_eq!(world.link(Resource::Appointments, NEW).id, id);
    assert!(world.link(Resource::Appointments, OLD).is_replaced());
    assert!(matches!(world.queued()[..], [WriteIntent::CancelReplaced { .. }]), "{:?}", world.queued());
    assert_eq!(world.vacating(id), [world.place(0)]);
}

#[tokio::test]
async fn old_appointment_cancelled_on_the_page_of_the_proof_needs_no_cancellation() {
    let (mut world, call) = IngestWorld::with_moved_visit().await;
    let id = world.visit_id();
    let Call::Write { key, .. } = &call else { panic!("a write") };
    let new = EhrAppointment { write_key: Some(key.clone()), ..at(NEW, 1) };
    let old = EhrAppointment { cancelled: true, ..at(OLD, 0) };
    world.show_page(page([old, new])).await;
    let kept = world.kept(id);
    assert_eq!((kept.foreign_id.as_deref(), kept.placement, kept.cancelled), (Some(NEW), world.place(1), false));
    assert!(kept.replaced[0].cancelled_at.is_some());
    assert_eq!((world.queued(), world.vacating(id)), (Vec::new(), Vec::new()));
}

#[tokio::test]
async fn replaced_appointment_on_a_page_neither_moves_nor_cancels_the_visit() {
    let (mut world, call) = IngestWorld::with_moved_visit().await;
    let id = world.visit_id();
    let cancel = world.written(&call, NEW).await.expect("the old appointment is cancelled at once");
    assert!(matches!(world.payload(&cancel), Write::CancelAppointment(old, Some(_)) if old.id == OLD));
    world.show_page(page([at(OLD, 0)])).await;
    assert_eq!((world.kept(id).placement, world.vacating(id)), (world.place(1), vec![world.place(0)]));
    // Staff move it: its place is taken until it is cancelled.
    world.show_page(page([at(OLD, 3)])).await;
    assert_eq!((world.kept(id).placement, world.vacating(id)), (world.place(1), vec![world.place(3)]));
    assert_eq!(world.kept(id).replaced[0].placement, world.place(3));
    // Staff delete it: the cancellation has reached its aim.
    world.show_page(EhrPage { deleted: vec![OLD.to_owned()], ..last() }).await;
    let kept = world.kept(id);
    assert_eq!((kept.placement, kept.cancelled, kept.foreign_id.as_deref()), (world.place(1), false, Some(NEW)));
    assert!(kept.replaced[0].cancelled_at.is_some());
    assert_eq!((world.queued(), world.vacating(id)), (Vec::new(), Vec::new()));
    // Staff restore it: it is another appointment.
    world.show_page(page([at(OLD, 5)])).await;
    let restored = world.link(Resource::Appointments, OLD).id;
    assert_ne!(restored, id);
    assert_eq!((world.kept(restored).placement, world.kept(id).placement), (world.place(5), world.place(1)));
}

#[tokio::test]
async fn cancelled_replaced_appointment_on_a_page_leaves_the_visit() {
    let (mut world, call) = IngestWorld::with_moved_visit().await;
    let id = world.visit_id();
    let cancel = world.written(&call, NEW).await.unwrap();
    world.written(&cancel, OLD).await;
    assert_eq!((world.queued(), world.vacating(id)), (Vec::new(), Vec::new()));
    world.show_page(page([EhrAppointment { cancelled: true, ..at(OLD, 0) }])).await;
    let kept = world.kept(id);
    assert_eq!((kept.cancelled, kept.placement, kept.foreign_id.as_deref()), (false, world.place(1), Some(NEW)));
    // Staff cancel the visit at its new place.
    world.show_page(page([EhrAppointment { cancelled: true, ..at(NEW, 1) }])).await;
    assert!(world.kept(id).cancelled);
}

#[tokio::test]
async fn answer_with_the_old_identifier_proves_no_replacement() {
    let (mut world, call) = IngestWorld::with_moved_visit().await;
    let id = world.visit_id();
    world.written(&call, OLD).await;
    assert!(matches!(world.queued()[..], [WriteIntent::Replace(_)]), "{:?}", world.queued());
    assert_eq!((world.kept(id).foreign_id.as_deref(), world.kept(id).replaced.len()), (Some(OLD), 0));
}

#[tokio::test]
async fn move_back_to_the_place_of_a_replacement_in_flight_is_confirmed_by_it() {
    let (mut world, call) = IngestWorld::with_moved_visit().await;
    let id = world.visit_id();
    world.reschedule(2, "there").await;
    world.reschedule(1, "and back").await;
    assert_eq!(world.kept(id).reschedule.as_ref().map(|it| it.status), Some(Writeback::Pending));
    let cancel = world.written(&call, NEW).await.expect("the old appointment is cancelled at once");
    let kept = world.kept(id);
    assert_eq!(kept.reschedule.as_ref().map(|it| it.status), Some(Writeback::Confirmed));
    assert_eq!((kept.write, kept.body.placement), (Some(RecordWrite::pending()), world.place(1)));
    assert!(matches!(world.queued()[..], [WriteIntent::CancelReplaced { .. }]), "{:?}", world.queued());
    world.written(&cancel, OLD).await;
    assert_eq!(world.kept(id).write, Some(RecordWrite::succeeded()));
}

#[tokio::test]
async fn move_back_to_the_first_place_ends_with_the_refused_replacement() {
    let (mut world, call) = IngestWorld::with_moved_visit().await;
    let id = world.visit_id();
    world.reschedule(2, "there").await;
    world.reschedule(0, "and back").await;
    let Call::Write { write, attempt, .. } = call else { panic!("a write") };
    let outcome = Err(Failure::Rejected("closed".to_owned()));
    let calls = world.turn(A, &Command::Pushed { write, attempt, outcome }).await;
    assert!(calls.is_empty(), "the EHR has the visit at its place");
    let kept = world.kept(id);
    assert_eq!(kept.reschedule.as_ref().map(|it| it.status), Some(Writeback::Confirmed));
    assert_eq!((kept.write, kept.body.placement), (Some(RecordWrite::succeeded()), world.place(0)));
    assert_eq!((world.queued(), world.vacating(id)), (Vec::new(), Vec::new()));
}

#[tokio::test]
async fn cancellation_ends_a_move_that_was_not_sent() {
    let (mut world, call) = IngestWorld::with_moved_visit().await;
    let id = world.visit_id();
    let cancel = world.written(&call, NEW).await.unwrap();
    world.reschedule(2, "there").await;
    world.turn(A, &Command::Cancel { appointment: AppointmentId(id), reason: None }).await;
    assert!(!world.queued().contains(&WriteIntent::Replace(AppointmentId(id))), "{:?}", world.queued());
    let cancel = world.written(&cancel, OLD).await.expect("the visit is cancelled next");
    world.written(&cancel, NEW).await;
    let kept = world.kept(id);
    assert_eq!((kept.cancelled, kept.reschedule.as_ref().map(|it| it.status)), (true, Some(Writeback::Failed)));
    assert!(world.queued().is_empty(), "{:?}", world.queued());
}

#[tokio::test]
async fn late_replacement_of_a_cancelled_visit_is_cancelled_in_the_ehr() {
    let (mut world, call) = IngestWorld::with_moved_visit().await;
    let id = world.visit_id();
    let Call::Write { key, .. } = &call else { panic!("a write") };
    let new = EhrAppointment { write_key: Some(key.clone()), ..at(NEW, 1) };
    world.lost_and_cancelled(&call).await;
    let cancel = world.next_call().await.expect("the visit is cancelled next");
    world.written(&cancel, OLD).await;
    assert!(world.kept(id).cancelled && world.queued().is_empty(), "{:?}", world.queued());
    world.show_page(page([new.clone()])).await;
    assert_eq!(world.vacating(id), [world.place(1)]);
    world.cancel_late(id, NEW, "ill").await;
    // A later page shows that it is cancelled.
    world.show_page(page([EhrAppointment { cancelled: true, ..new }])).await;
    assert!(world.kept(id).cancelled && world.queued().is_empty(), "{:?}", world.queued());
}

/// Books a visit. Returns its id, and the call that creates its appointment.
async fn booking() -> (IngestWorld, u64, Call) {
    let mut world = IngestWorld::with_visit(false).await;
    let patient = PatientDetails {
        first_name: "Ada".into(),
        middle_name: None,
        last_name: "Sample".into(),
        date_of_birth: "1985-03-01".parse().ok(),
        phone_number: Some("+15550102233".into()),
        email: None,
        gender: None,
        address: None,
    };
    let (offer, idempotency_key) = (world.offer(2), "key".to_owned());
    let booking = BookSlot { offer, idempotency_key, patient, note: None, created_by: "client".into() };
    let create_patient = world.turn(A, &booking).await.pop().expect("the patient is created at once");
    let insert = world.written(&create_patient, "ada").await.expect("the appointment is created next");
    let Call::Write { work: WriteIntent::CreateAppointment(AppointmentId(id)), .. } = insert else {
        panic!("an insert")
    };
    (world, id, insert)
}

/// Books a visit whose insert has no reply, and cancels it. Returns its id, and its appointment in the EHR.
async fn cancelled_booking() -> (IngestWorld, u64, EhrAppointment) {
    let (mut world, id, insert) = booking().await;
    let Call::Write { key, .. } = &insert else { panic!("a write") };
    let late = EhrAppointment { patient: Some("ada".into()), write_key: Some(key.clone()), ..at(NEW, 2) };
    world.lost_and_cancelled(&insert).await;
    assert!(world.kept(id).cancelled && world.queued().is_empty(), "{:?}", world.queued());
    (world, id, late)
}

#[tokio::test]
async fn late_appointment_of_a_cancelled_booking_is_cancelled_in_the_ehr() {
    let (mut world, id, late) = cancelled_booking().await;
    world.show_page(page([late])).await;
    assert_eq!(world.vacating(id), [world.place(2)]);
    world.cancel_late(id, NEW, "ill").await;
}

/// Two attempts of the insert had no reply, and the EHR shows the second appointment while the first is cancelled.
#[tokio::test]
async fn second_late_appointment_of_a_cancelled_booking_does_not_revive_it() {
    let (mut world, id, late) = cancelled_booking().await;
    let second = EhrAppointment { id: "second".into(), ..late.clone() };
    world.show_page(page([late.clone()])).await;
    world.show_page(page([late, second])).await;
    assert!(world.kept(id).cancelled && world.link(Resource::Appointments, "second").is_replaced());
    let writes = world.queued();
    assert!(writes.len() == 2 && writes.iter().all(|work| matches!(work, WriteIntent::CancelReplaced { .. })));
}

#[tokio::test]
async fn replaced_appointment_that_two_passes_lack_frees_its_place() {
    let (mut world, call) = IngestWorld::with_visit(true).await.moved().await;
    let id = world.visit_id();
    let cancel = world.written(&call, NEW).await.expect("the old appointment is cancelled at once");
    let Call::Write { write, attempt, .. } = cancel else { panic!("a write") };
    let outcome = Err(Failure::Rejected("locked".to_owned()));
    world.turn(A, &Command::Pushed { write, attempt, outcome }).await;
    let unreadable = Skipped { id: OLD.to_owned(), reason: "it has no end".to_owned() };
    let whole = |records: Vec<EhrAppointment>| EhrPage { whole: true, ..page(records) };
    let lacks = || whole(vec![at(NEW, 1)]);
    let skips = EhrPage { skipped: vec![unreadable], ..lacks() };
    for shown in [whole(vec![at(NEW, 1), at(OLD, 0)]), lacks(), skips, lacks()] {
        world.show_page(shown).await;
        assert_eq!(world.vacating(id), [world.place(0)]);
    }
    world.show_page(lacks()).await;
    assert!(world.vacating(id).is_empty(), "{:?}", world.vacating(id));
    let kept = world.kept(id);
    assert!(kept.replaced[0].cancelled_at.is_some() && !kept.cancelled, "{:?}", kept.replaced);
}

#[tokio::test]
async fn reason_of_a_reschedule_is_sent_with_the_move_or_the_cancellation_of_the_old_appointment() {
    for moves in [true, false] {
        let mut world = IngestWorld::with_visit(false).await;
        if moves {
            world.describe(&["reschedule-appointment", "cancel-appointment"]);
        }
        let (appointment, offer) = (AppointmentId(world.visit_id()), world.offer(1));
        let reason = Some("work".to_owned());
        let request = RescheduleVisit { appointment, offer, idempotency_key: "key".to_owned(), reason };
        let call = world.turn(A, &request).await.pop().expect("the write is sent at once");
        let why = match world.payload(&call) {
            Write::RescheduleAppointment(_, why) => why,
            _ => {
                let cancel = world.written(&call, NEW).await.expect("the old appointment is cancelled at once");
                let Write::CancelAppointment(_, why) = world.payload(&cancel) else { panic!("a cancellation") };
                why
            }
        };
        let expected = if moves { "work" } else { "moved to another time: work" };
        assert_eq!(why.as_deref(), Some(expected));
    }
}

impl IngestWorld {
    /// Reads an appointment at the other location, to which staff have moved it. Returns its id there.
    async fn read_elsewhere(&mut self, appointment: EhrAppointment) -> u64 {
        let foreign_id = appointment.id.clone();
        self.show(B, EhrRecord::Appointment(appointment));
        self.read(B).await;
        self.link(Resource::Appointments, &foreign_id).id
    }

    /// Asserts that the other location follows its appointment, also when staff delete it.
    async fn stays_elsewhere(&mut self, id: u64, foreign_id: &str) {
        assert_eq!(self.link(Resource::Appointments, foreign_id).id, id);
        assert_eq!(self.visit(foreign_id), (B, false));
        self.hide(B, foreign_id);
        self.read(B).await;
        assert_eq!((self.visit(foreign_id), self.remembers(B, foreign_id)), ((B, true), false));
    }
}

#[tokio::test]
async fn booking_moved_elsewhere_before_its_answer_ends_and_leaves_the_appointment_there() {
    let (mut world, id, insert) = booking().await;
    let there = world.read_elsewhere(at(NEW, 2)).await;
    assert_ne!(there, id);
    world.written(&insert, NEW).await;
    let kept = world.kept(id);
    assert_eq!((kept.location(), kept.cancelled, world.queued()), (A, true, Vec::new()));
    assert!(!world.processors[&A].machine.state.appointments.contains_key(&AppointmentId(id)));
    world.stays_elsewhere(there, NEW).await;
}

/// The other location has released the place, so the link returns to the booking.
#[tokio::test]
async fn booking_moved_elsewhere_and_back_before_its_answer_continues_here() {
    let (mut world, id, insert) = booking().await;
    let appointment = EhrAppointment { patient: Some("ada".into()), ..at(NEW, 2) };
    world.read_elsewhere(appointment.clone()).await;
    world.hide(B, NEW);
    world.read(B).await;
    world.written(&insert, NEW).await;
    world.show_page(page([appointment])).await;
    assert_eq!(world.link(Resource::Appointments, NEW).id, id);
    assert_eq!((world.visit(NEW), world.remembers(A, NEW)), ((A, false), true));
}

#[tokio::test]
async fn replacement_moved_elsewhere_before_its_answer_ends_the_visit_here() {
    let (mut world, call) = IngestWorld::with_moved_visit().await;
    let id = world.visit_id();
    let there = world.read_elsewhere(at(NEW, 1)).await;
    world.written(&call, NEW).await.expect("the old appointment is cancelled next");
    assert!(world.kept(id).cancelled);
    assert!(matches!(world.queued()[..], [WriteIntent::CancelReplaced { .. }]), "{:?}", world.queued());
    world.stays_elsewhere(there, NEW).await;
}

/// Staff delete the visit while it is moved, so its new appointment is cancelled in the EHR, wherever they have moved
/// it.
#[tokio::test]
async fn late_replacement_moved_elsewhere_is_cancelled_and_released_there() {
    let (mut world, call) = IngestWorld::with_moved_visit().await;
    let id = world.visit_id();
    let there = world.read_elsewhere(at(NEW, 1)).await;
    world.show_page(EhrPage { deleted: vec![OLD.to_owned()], ..last() }).await;
    world.written(&call, NEW).await;
    assert!(world.kept(id).cancelled && world.kept(id).replaced.iter().any(|late| late.foreign_id == NEW));
    assert_eq!(world.link(Resource::Appointments, NEW).id, there);
    world.read_elsewhere(EhrAppointment { cancelled: true, ..at(NEW, 1) }).await;
    assert_eq!((world.visit(NEW), world.remembers(B, NEW)), ((B, true), false));
}

/// Returns the request of a client who cancels a visit.
fn cancellation(id: u64) -> CancelAppointment {
    CancelAppointment { appointment: AppointmentId(id), reason: None, by_rules: false, channel: None }
}

impl IngestWorld {
    /// Cancels a visit that the EHR has. Returns the call.
    async fn cancel(&mut self, id: u64) -> Call {
        self.turn(A, &cancellation(id)).await.pop().expect("the cancellation is sent at once")
    }

    async fn refuse(&mut self, call: &Call, reason: &str) {
        let Call::Write { write, attempt, .. } = *call else { panic!("a write") };
        let outcome = Err(Failure::Rejected(reason.to_owned()));
        self.turn(A, &Command::Pushed { write, attempt, outcome }).await;
    }

    /// Reads that the first location does not have an appointment any more.
    async fn read_gone(&mut self, foreign_id: &str) {
        self.hide(A, foreign_id);
        self.read(A).await;
        self.confirm(A).await;
    }

    /// Returns the state of a booking's cancellation, and of the last write of its appointment.
    fn cancellation_of(&self, id: u64) -> (Option<Writeback>, Option<RecordWrite>) {
        let kept = self.kept(id);
        (kept.booking.as_ref().and_then(|booking| booking.cancellation), kept.write)
    }

    /// Returns the reasons of failed writes in the log of changes.
    fn failures(&self, since: u64) -> Vec<Option<String>> {
        let (streams, end) = ([A, B].map(Stream::Location), self.store.feed_end(None).unwrap());
        let logged = log::commits(&*self.store, &streams, (since, end), usize::MAX, |_, _| true).unwrap();
        let changes = logged.commits.into_iter().flat_map(|commit| commit.changes);
        let failure = |(_, change)| match change {
            Change::Ended(EndedWrite { result: WriteResult::Failed, reason, .. }) => Some(reason),
            _ => None,
        };
        changes.filter_map(failure).collect()
    }

    /// Asserts that a visit is only at the other location, and that nothing is left to write.
    fn is_only_elsewhere(&self, foreign_id: &str) {
        let remembered = (self.remembers(A, foreign_id), self.remembers(B, foreign_id));
        assert_eq!((self.visit(foreign_id), remembered), ((B, false), (false, true)));
        assert!(self.queued().is_empty(), "{:?}", self.queued());
    }
}

/// Books a visit that the EHR enters, and cancels it. Returns its id, and the call of the cancellation.
async fn cancelling() -> (IngestWorld, u64, Call) {
    let (mut world, id, insert) = booking().await;
    world.written(&insert, NEW).await;
    let cancel = world.cancel(id).await;
    (world, id, cancel)
}

/// Returns the appointment of a booking in the EHR.
fn booked() -> EhrAppointment {
    EhrAppointment { patient: Some("ada".into()), ..at(NEW, 2) }
}

#[tokio::test]
async fn cancellation_of_a_visit_that_another_location_has_read_waits_for_the_ehr() {
    for by_absence in [false, true] {
        let mut world = IngestWorld::with_visit(by_absence).await;
        let id = world.visit_id();
        let call = world.cancel(id).await;
        world.read_elsewhere(at(OLD, 0)).await;
        world.read_gone(OLD).await;
        assert_eq!(world.queued(), [WriteIntent::Cancel(AppointmentId(id))], "by absence: {by_absence}");
        assert!(matches!(world.payload(&call), Write::CancelAppointment(it, _) if it.id == OLD && it.cancelled));
        assert_eq!((world.visit(OLD), world.kept(id).write), ((B, false), Some(RecordWrite::pending())));
        world.written(&call, OLD).await;
        assert_eq!(world.kept(id).write, Some(RecordWrite::succeeded()));
        world.is_only_elsewhere(OLD);
        world.read_elsewhere(EhrAppointment { cancelled: true, ..at(OLD, 0) }).await;
        assert_eq!((world.visit(OLD), world.remembers(B, OLD)), ((B, true), false));
        assert_eq!(world.kept(id).write, Some(RecordWrite::succeeded()));
    }
}

#[tokio::test]
async fn refused_cancellation_of_a_visit_that_another_location_has_read_fails_there() {
    for is_gone in [false, true] {
        let (mut world, id, call) = cancelling().await;
        world.read_elsewhere(booked()).await;
        assert_eq!(world.cancellation_of(id), (Some(Writeback::Pending), Some(RecordWrite::pending())));
        if is_gone {
            world.read_gone(NEW).await;
        }
        let since = world.store.feed_end(None).unwrap();
        world.refuse(&call, "changed since").await;
        assert_eq!(world.cancellation_of(id), (Some(Writeback::Failed), Some(RecordWrite::failed("changed since"))));
        assert_eq!(world.changes(B, since), [ChangeKind::Updated]);
        world.is_only_elsewhere(NEW);
    }
}

/// The visit is at the first location again before the EHR refuses its cancellation, or after.
#[tokio::test]
async fn refused_cancellation_of_a_visit_that_staff_move_back_fails() {
    for is_back in [true, false] {
        let (mut world, id, call) = cancelling().await;
        world.read_elsewhere(booked()).await;
        world.hide(B, NEW);
        world.read(B).await;
        assert_eq!(world.visit(NEW), (B, true));
        if !is_back {
            world.refuse(&call, "locked").await;
        }
        world.show(A, EhrRecord::Appointment(booked()));
        world.read(A).await;
        if is_back {
            assert_eq!(world.cancellation_of(id), (Some(Writeback::Pending), Some(RecordWrite::pending())));
            world.refuse(&call, "locked").await;
        }
        let (state, write) = world.cancellation_of(id);
        assert_eq!((world.visit(NEW), world.remembers(A, NEW)), ((A, false), true));
        assert_eq!(state, Some(Writeback::Failed), "before the refusal: {is_back}");
        assert!(write.is_some_and(|write| write.writeback().0 == Writeback::Failed));
    }
}

#[tokio::test]
async fn reason_of_a_cancellation_is_sent_after_a_page_has_shown_the_visit() {
    let mut world = IngestWorld::with_visit(false).await;
    let request = CancelAppointment { reason: Some("ill".to_owned()), ..cancellation(world.visit_id()) };
    let call = world.turn(A, &request).await.pop().expect("the cancellation is sent at once");
    world.show_page(page([at(OLD, 1)])).await;
    assert!(matches!(world.payload(&call), Write::CancelAppointment(_, Some(why)) if why == "ill"));
}

/// The new appointment is cancelled, and the old one stays at the other location.
#[tokio::test]
async fn cancellation_of_a_visit_moved_elsewhere_while_it_is_replaced_fails() {
    let (mut world, call) = IngestWorld::with_moved_visit().await;
    let id = world.visit_id();
    world.turn(A, &cancellation(id)).await;
    world.read_elsewhere(at(OLD, 0)).await;
    world.show_page(EhrPage { deleted: vec![OLD.to_owned()], ..last() }).await;
    assert_eq!(world.queued(), [WriteIntent::Replace(AppointmentId(id))]);
    world.written(&call, NEW).await.expect("the new appointment is cancelled next");
    assert!(matches!(world.queued()[..], [WriteIntent::CancelReplaced { .. }]), "{:?}", world.queued());
    let failed = RecordWrite::failed("the EHR still has the appointment");
    assert_eq!((world.visit(OLD), world.kept(id).write), ((B, false), Some(failed)));
}

/// The location has read that the visit is gone before another one shows it, or before it comes back.
#[tokio::test]
async fn cancellation_without_an_answer_fails_if_the_ehr_shows_the_visit_again() {
    for location in [A, B] {
        let (mut world, id, _) = cancelling().await;
        world.read_gone(NEW).await;
        assert_eq!(world.cancellation_of(id), (Some(Writeback::Confirmed), Some(RecordWrite::succeeded())));
        assert!(world.kept(id).cancelled && world.queued().is_empty(), "{:?}", world.queued());
        let since = world.store.feed_end(None).unwrap();
        world.show(location, EhrRecord::Appointment(booked()));
        world.read(location).await;
        assert_eq!((world.visit(NEW), world.remembers(location, NEW)), ((location, false), true));
        let reason = "the EHR still has the appointment";
        assert_eq!(world.cancellation_of(id), (Some(Writeback::Failed), Some(RecordWrite::failed(reason))));
        assert_eq!(world.failures(since), [Some(reason.to_owned())], "shown at {location}");
    }
}

#[tokio::test]
async fn answered_cancellation_stays_confirmed_if_the_ehr_shows_the_visit_again() {
    let (mut world, id, call) = cancelling().await;
    world.written(&call, NEW).await;
    world.read_gone(NEW).await;
    let since = world.store.feed_end(None).unwrap();
    world.read_elsewhere(booked()).await;
    assert_eq!(world.cancellation_of(id), (Some(Writeback::Confirmed), Some(RecordWrite::succeeded())));
    world.is_only_elsewhere(NEW);
    assert!(world.failures(since).is_empty());
}

/// The other location has read the appointment as a new one.
#[tokio::test]
async fn cancellation_of_a_booking_moved_elsewhere_before_its_answer_fails() {
    let (mut world, id, insert) = booking().await;
    let there = world.read_elsewhere(booked()).await;
    world.turn(A, &cancellation(id)).await;
    let since = world.store.feed_end(None).unwrap();
    assert_eq!(world.written(&insert, NEW).await, None);
    let (state, write) = world.cancellation_of(id);
    assert_eq!((world.kept(id).cancelled, state), (true, Some(Writeback::Failed)));
    assert!(write.is_some_and(|write| write.writeback().0 == Writeback::Failed));
    assert_eq!(world.failures(since), [Some("the EHR still has the appointment".to_owned())]);
    assert!(!world.processors[&A].machine.state.appointments.contains_key(&AppointmentId(id)));
    world.is_only_elsewhere(NEW);
    world.stays_elsewhere(there, NEW).await;
}

/// The visit that the location has read as gone is unknown until another location reads it.
#[tokio::test]
async fn visit_that_left_the_location_cannot_be_cancelled_there() {
    let refused = |world: &IngestWorld, id| {
        let cx = DecisionContext { now: world.now, random: 77 };
        let Err(reject) = world.processors[&A].prepare(cx, None, &cancellation(id)) else { panic!("a refusal") };
        reject
    };
    for is_gone in [false, true] {
        let mut world = IngestWorld::with_visit(false).await;
        let id = world.visit_id();
        if is_gone {
            world.read_gone(OLD).await;
            assert!(matches!(refused(&world, id), Reject::Refused(Refusal::AppointmentNotFound)));
        }
        world.read_elsewhere(at(OLD, 0)).await;
        let unmet = PreconditionError::NotFound { resource: Resource::Appointments, id };
        assert!(matches!(refused(&world, id), Reject::Precondition(reason) if reason == unmet));
    }
}
