//! What can be written, as a table: one [`Handler`] for each kind of write, with how it is written and how it is found afterwards.

use crate::{
    AppointmentChange, Fault, PatientChange, Receipt, Write, WriteKind,
    records::{
        Adjustment, CommunicationLog, Coverage, FormResponse, InsurancePlan, Patient, PatientAlert, PatientHistoryItem,
        Payment, WorkingHour,
    },
};

/// Writes: the EHR for this call, the write key, what is to be written.
pub type Push<C, T> = fn(&C, &str, &T) -> Result<Receipt, Fault>;
/// Looks for an earlier push of the same. None means: certainly not written.
pub type Find<C, T> = fn(&C, &str, &T) -> Result<Option<Receipt>, Fault>;

/// One kind of write. `C` is the EHR for one call.
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

            /// What it writes.
            pub fn kind(&self) -> WriteKind {
                match self.calls { $(Calls::$kind(..) => WriteKind::$kind,)* }
            }

            /// Whether this is a write of its kind.
            pub(crate) fn writes(&self, write: &Write) -> bool {
                matches!((&self.calls, write), $((Calls::$kind(..), Write::$kind(_)))|*)
            }

            fn send(&self, ehr: &C, key: &str, write: &Write) -> Result<Receipt, Fault> {
                match (&self.calls, write) {
                    $((Calls::$kind(push, _), Write::$kind(what)) => push(ehr, key, what),)*
                    _ => Err(other_kind()),
                }
            }

            /// What an earlier push of this write has written.
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
    /// A new patient.
    CreatePatient create_patient(Patient);
    /// What changes of a patient.
    UpdatePatient update_patient(PatientChange);
    /// A new appointment.
    CreateAppointment create_appointment(AppointmentChange);
    /// Another time or place of an appointment.
    RescheduleAppointment reschedule_appointment(AppointmentChange);
    /// An appointment is confirmed, or is not any more.
    ConfirmAppointment confirm_appointment(AppointmentChange);
    /// The patient has come.
    CheckInAppointment check_in_appointment(AppointmentChange);
    /// An appointment is off.
    CancelAppointment cancel_appointment(AppointmentChange);
    /// Another note of an appointment.
    NoteAppointment note_appointment(AppointmentChange);
    /// New working hours.
    CreateWorkingHour create_working_hour(WorkingHour);
    /// Other working hours.
    UpdateWorkingHour update_working_hour(WorkingHour);
    /// Working hours that are no more, by their id.
    DeleteWorkingHour delete_working_hour(String);
    /// A new insurance plan.
    CreateInsurancePlan create_insurance_plan(InsurancePlan);
    /// A patient's new coverage.
    CreateCoverage create_coverage(Coverage);
    /// A coverage that is no more, by its id.
    DeleteCoverage delete_coverage(String);
    /// A new or changed item of a patient's history.
    SavePatientHistoryItem save_patient_history_item(PatientHistoryItem);
    /// A new alert of a patient.
    CreatePatientAlert create_patient_alert(PatientAlert);
    /// An alert that holds no more.
    DisablePatientAlert disable_patient_alert(PatientAlert);
    /// A new communication log.
    CreateCommunicationLog create_communication_log(CommunicationLog);
    /// A filled form.
    CreateFormResponse create_form_response(FormResponse);
    /// A new payment.
    CreatePayment create_payment(Payment);
    /// A new adjustment.
    CreateAdjustment create_adjustment(Adjustment);
}

impl<C> Handler<C> {
    /// Looks before it writes: for an EHR that would write the same twice. The compiler has to know `C` before this
    /// call if closures are given, so name it once:
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

    /// Writes.
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
