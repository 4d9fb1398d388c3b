//! The supported writes as a table of one [`Handler`] for each kind, with its push and its lookup.

use crate::{
    AppointmentChange, Fault, PatientChange, Receipt, Write, WriteKind,
    records::{
        Adjustment, CommunicationLog, Coverage, FormResponse, InsurancePlan, Patient, PatientAlert, PatientHistoryItem,
        Payment, WorkingHour,
    },
};

/// Writes. The arguments are the EHR for this call, the write key and the data to write.
pub type Push<C, T> = fn(&C, &str, &T) -> Result<Receipt, Fault>;
/// Looks for an earlier push of the same write. Returns `None` only if it was certainly not written.
pub type Find<C, T> = fn(&C, &str, &T) -> Result<Option<Receipt>, Fault>;

/// A kind of write. `C` is the EHR for one call.
pub struct Handler<C: 'static> {
    calls: Calls<C>,
    looks_first: bool,
}

macro_rules! handlers {
    ($($(#[$doc:meta])* $kind:ident $name:ident($of:ty);)*) => {
        enum Calls<C: 'static> {
            $($kind(Push<C, $of>, Find<C, $of>),)*
        }

        impl<C> Handler<C> {
            $(
                $(#[$doc])*
                pub const fn $name(push: Push<C, $of>, find: Find<C, $of>) -> Handler<C> {
                    Handler { calls: Calls::$kind(push, find), looks_first: false }
                }
            )*

            /// Returns the kind.
            pub fn kind(&self) -> WriteKind {
                match self.calls { $(Calls::$kind(..) => WriteKind::$kind,)* }
            }

            /// Returns `true` if the write is of this kind.
            pub(crate) fn writes(&self, write: &Write) -> bool {
                matches!((&self.calls, write), $((Calls::$kind(..), Write::$kind(_)))|*)
            }

            fn send(&self, ehr: &C, key: &str, write: &Write) -> Result<Receipt, Fault> {
                match (&self.calls, write) {
                    $((Calls::$kind(push, _), Write::$kind(what)) => push(ehr, key, what),)*
                    _ => Err(other_kind()),
                }
            }

            /// Returns the receipt of an earlier push of this write.
            pub(crate) fn find(&self, ehr: &C, key: &str, write: &Write) -> Result<Option<Receipt>, Fault> {
                match (&self.calls, write) {
                    $((Calls::$kind(_, find), Write::$kind(what)) => find(ehr, key, what),)*
                    _ => Err(other_kind()),
                }
            }
        }
    };
}

handlers! {
    /// Creates a patient.
    CreatePatient create_patient(Patient);
    /// Updates a patient.
    UpdatePatient update_patient(PatientChange);
    /// Creates an appointment.
    CreateAppointment create_appointment(AppointmentChange);
    /// Changes time or place of an appointment.
    RescheduleAppointment reschedule_appointment(AppointmentChange);
    /// Sets or removes the confirmation of an appointment.
    ConfirmAppointment confirm_appointment(AppointmentChange);
    /// Records the arrival of the patient.
    CheckInAppointment check_in_appointment(AppointmentChange);
    /// Cancels an appointment.
    CancelAppointment cancel_appointment(AppointmentChange);
    /// Changes the note of an appointment.
    NoteAppointment note_appointment(AppointmentChange);
    /// Creates working hours.
    CreateWorkingHour create_working_hour(WorkingHour);
    /// Changes working hours.
    UpdateWorkingHour update_working_hour(WorkingHour);
    /// Deletes working hours by their id.
    DeleteWorkingHour delete_working_hour(String);
    /// Creates an insurance plan.
    CreateInsurancePlan create_insurance_plan(InsurancePlan);
    /// Creates a coverage of a patient.
    CreateCoverage create_coverage(Coverage);
    /// Deletes a coverage by its id.
    DeleteCoverage delete_coverage(String);
    /// Creates or changes an item of a patient's history.
    SavePatientHistoryItem save_patient_history_item(PatientHistoryItem);
    /// Creates an alert of a patient.
    CreatePatientAlert create_patient_alert(PatientAlert);
    /// Disables an alert.
    DisablePatientAlert disable_patient_alert(PatientAlert);
    /// Creates a communication log.
    CreateCommunicationLog create_communication_log(CommunicationLog);
    /// Creates a completed form.
    CreateFormResponse create_form_response(FormResponse);
    /// Creates a payment.
    CreatePayment create_payment(Payment);
    /// Creates an adjustment.
    CreateAdjustment create_adjustment(Adjustment);
}

impl<C> Handler<C> {
    /// Looks for an earlier push before writing, for an EHR that would write the same twice. If closures are given, the
    /// compiler must know `C` before this call, so name the type once:
    ///
    /// ```
    /// use adapter_sdk::{Fault, Receipt, records::Patient, writes};
    ///
    /// struct Example;
    ///
    /// impl Example {
    ///     fn create(&self, _key: &str, _patient: &Patient) -> Result<Receipt, Fault> {
    ///         Err(Fault::unsupported("not yet"))
    ///     }
    ///     fn find(&self, _key: &str) -> Result<Option<Receipt>, Fault> {
    ///         Ok(None)
    ///     }
    /// }
    ///
    /// type Handler = writes::Handler<Example>;
    ///
    /// const WRITES: &[Handler] =
    ///     &[Handler::create_patient(|ehr, key, p| ehr.create(key, p), |ehr, key, _| ehr.find(key)).looking_first()];
    /// # assert_eq!(WRITES.len(), 1);
    /// ```
    pub const fn looking_first(self) -> Handler<C> {
        Handler { looks_first: true, ..self }
    }

    /// Pushes the write, unless an earlier push is found by [`looking_first`](Self::looking_first).
    pub(crate) fn push(&self, ehr: &C, key: &str, write: &Write) -> Result<Receipt, Fault> {
        if self.looks_first
            && let Some(earlier) = self.find(ehr, key, write)?
        {
            return Ok(earlier);
        }
        self.send(ehr, key, write)
    }
}

fn other_kind() -> Fault {
    Fault::unsupported("this is a write of another kind")
}
