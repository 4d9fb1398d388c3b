//! The records of one practice and their rules.

use chrono::DateTime;
use chrono_tz::Tz;

use crate::{
    AppointmentStatus, CloudAppointment, CloudAppointmentType, CloudPatient, FormRefusal, Hours, Operatory, Provider,
    table::{Table, TableChanges},
};

/// Maximum length of an appointment.
const LONGEST: i64 = 12 * 3_600;
/// Maximum length of a text.
const TEXT: usize = 4_000;

#[derive(Clone, Debug)]
pub struct CloudPractice {
    pub name: String,
    pub zone: Tz,
    revision: u64,
    made: u64,
    pub(crate) patients: Table<CloudPatient>,
    pub(crate) providers: Table<Provider>,
    pub operatories: Table<Operatory>,
    pub(crate) types: Table<CloudAppointmentType>,
    pub(crate) hours: Table<Hours>,
    pub appointments: Table<CloudAppointment>,
}

/// Access of staff with all rights, without the rules of the forms.
macro_rules! staff {
    ($($table:ident: $record:ty, $one:ident $edit:ident $remove:ident;)+) => {
        impl CloudPractice {
            $(
                pub fn $table(&self) -> Vec<$record> {
                    self.$table.all().cloned().collect()
                }

                pub fn $one(&self, id: &str) -> Option<&$record> {
                    self.$table.get(id)
                }

                /// Returns `false` if the record does not exist.
                pub fn $edit(&mut self, id: &str, edit: impl FnOnce(&mut $record)) -> bool {
                    let Some(mut record) = self.$table.get(id).cloned() else { return false };
                    edit(&mut record);
                    self.revision += 1;
                    self.$table.put(id, record, self.revision);
                    true
                }

                /// Returns `false` if the record does not exist.
                pub fn $remove(&mut self, id: &str) -> bool {
                    self.revision += 1;
                    self.$table.remove(id, self.revision)
                }
            )+
        }
    };
}

staff! {
    patients: CloudPatient, patient edit_patient remove_patient;
    providers: Provider, provider edit_provider remove_provider;
    operatories: Operatory, operatory edit_operatory remove_operatory;
    types: CloudAppointmentType, appointment_type edit_type remove_type;
    hours: Hours, hours_of edit_hours remove_hours;
    appointments: CloudAppointment, appointment edit_appointment remove_appointment;
}

impl CloudPractice {
    pub fn new(name: &str, zone: Tz) -> CloudPractice {
        CloudPractice {
            name: name.to_owned(),
            zone,
            revision: 0,
            made: 0,
            patients: Table::default(),
            providers: Table::default(),
            operatories: Table::default(),
            types: Table::default(),
            hours: Table::default(),
            appointments: Table::default(),
        }
    }

    /// Increases with every change.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Returns the local time as `HH:MM`.
    pub fn clock_time(&self, at: i64) -> String {
        self.local(at).format("%H:%M").to_string()
    }

    pub fn local(&self, at: i64) -> DateTime<Tz> {
        DateTime::from_timestamp(at, 0).unwrap_or_default().with_timezone(&self.zone)
    }

    /// Adds a patient by the rules of the form and returns the id.
    pub fn add_patient(&mut self, mut patient: CloudPatient) -> Result<String, FormRefusal> {
        self.check_patient(&patient)?;
        patient.id = self.id("P");
        Ok(self.keep_patient(patient))
    }

    /// Saves the patient as sent in the form.
    pub fn save_patient(&mut self, patient: CloudPatient) -> Result<(), FormRefusal> {
        if self.patients.get(&patient.id).is_none() {
            return Err(FormRefusal::not_found("patient"));
        }
        self.check_patient(&patient)?;
        self.keep_patient(patient);
        Ok(())
    }

    /// Adds an appointment or a block by the rules of the schedule, and returns the id.
    pub fn book(&mut self, mut appointment: CloudAppointment) -> Result<String, FormRefusal> {
        appointment.id = String::new();
        self.check_appointment(&appointment)?;
        appointment.id = self.id("A");
        Ok(self.keep_appointment(appointment))
    }

    /// Changes an appointment. `known` is the revision that the form is based on, if given.
    pub fn change(&mut self, appointment: CloudAppointment, known: Option<u64>) -> Result<(), FormRefusal> {
        let held = self.appointments.row(&appointment.id).ok_or_else(|| FormRefusal::not_found("appointment"))?;
        if held.record.status == AppointmentStatus::Cancelled {
            return Err(FormRefusal::new(409, "cancelled", "This appointment was cancelled."));
        }
        if known.is_some_and(|known| known != held.revision) {
            return Err(FormRefusal::new(
                409,
                "changed_meanwhile",
                "Somebody changed this appointment. Please look again.",
            ));
        }
        let place = |a: &CloudAppointment| (a.operatory.clone(), a.start, a.end, a.status.is_off());
        let moved = place(&held.record) != place(&appointment);
        if moved && held.record.status == AppointmentStatus::Completed {
            return Err(FormRefusal::new(409, "completed", "This visit is over."));
        }
        // Overlaps created by staff are permitted until the appointment is moved.
        if moved || held.record.patient != appointment.patient {
            self.check_appointment(&appointment)?;
        }
        check_text("note", &appointment.note)?;
        self.keep_appointment(appointment);
        Ok(())
    }

    /// Stores a record without checks, also for the seed.
    pub(crate) fn keep_appointment(&mut self, appointment: CloudAppointment) -> String {
        self.revision += 1;
        let id = appointment.id.clone();
        self.appointments.put(&id, appointment, self.revision);
        id
    }

    pub fn keep_patient(&mut self, patient: CloudPatient) -> String {
        self.revision += 1;
        let id = patient.id.clone();
        self.patients.put(&id, patient, self.revision);
        id
    }

    pub fn next_revision(&mut self) -> u64 {
        self.revision += 1;
        self.revision
    }

    pub(crate) fn changes<'a, T>(&self, table: &'a Table<T>, since: u64, limit: usize) -> TableChanges<'a, T> {
        table.since(since, limit)
    }

    fn id(&mut self, prefix: &str) -> String {
        self.made += 1;
        format!("{prefix}-{:06}", self.made)
    }

    fn check_patient(&self, patient: &CloudPatient) -> Result<(), FormRefusal> {
        for (field, text) in [("first name", &patient.first_name), ("last name", &patient.last_name)] {
            if text.trim().is_empty() {
                return Err(FormRefusal::missing(field));
            }
            check_text(field, &Some(text.clone()))?;
        }
        let is_date = |text: &String| chrono::NaiveDate::parse_from_str(text, "%Y-%m-%d").is_ok();
        if !patient.born.as_ref().is_none_or(is_date) {
            return Err(FormRefusal::wrong("date of birth"));
        }
        if !patient.sex.as_deref().is_none_or(|sex| matches!(sex, "female" | "male" | "other")) {
            return Err(FormRefusal::wrong("sex"));
        }
        if patient.provider.as_ref().is_some_and(|id| self.providers.get(id).is_none()) {
            return Err(FormRefusal::unknown("unknown_provider", "provider"));
        }
        let of_another = |held: &&CloudPatient| held.id != patient.id && held.chart == patient.chart;
        if let Some(chart) = &patient.chart
            && let Some(other) = self.patients.all().find(of_another)
        {
            let words = format!("Chart number {chart} belongs to {} already.", other.name());
            return Err(FormRefusal::new(409, "chart_taken", words));
        }
        Ok(())
    }

    fn check_appointment(&self, a: &CloudAppointment) -> Result<(), FormRefusal> {
        if a.status.is_off() {
            return Ok(());
        }
        match &a.patient {
            Some(id) if self.patients.get(id).is_none() => {
                return Err(FormRefusal::unknown("unknown_patient", "patient"));
            }
            None if !a.block => return Err(FormRefusal::missing("patient")),
            _ => (),
        }
        if a.provider.as_ref().is_some_and(|id| self.providers.get(id).is_none()) {
            return Err(FormRefusal::unknown("unknown_provider", "provider"));
        }
        let chair = self.operatories.get(&a.operatory);
        let Some(chair) = chair.filter(|chair| !chair.closed) else {
            return Err(FormRefusal::unknown("unknown_chair", "chair"));
        };
        if a.kind.as_ref().is_some_and(|id| self.types.get(id).is_none()) {
            return Err(FormRefusal::unknown("unknown_type", "appointment type"));
        }
        if a.end <= a.start || a.end - a.start > LONGEST {
            return Err(FormRefusal::wrong("begin and end"));
        }
        check_text("note", &a.note)?;
        let in_the_way = |held: &&CloudAppointment| {
            held.id != a.id
                && held.operatory == a.operatory
                && !held.status.is_off()
                && held.start < a.end
                && a.start < held.end
        };
        if let Some(other) = self.appointments.all().find(in_the_way) {
            let who = other.patient.as_ref().and_then(|id| self.patients.get(id)).map(CloudPatient::name);
            let words = format!(
                "{} is taken from {} to {} ({}).",
                chair.name,
                self.clock_time(other.start),
                self.clock_time(other.end),
                who.unwrap_or_else(|| "blocked".to_owned())
            );
            return Err(FormRefusal::new(409, "overlap", words));
        }
        Ok(())
    }
}

fn check_text(field: &str, text: &Option<String>) -> Result<(), FormRefusal> {
    if text.as_ref().is_some_and(|text| text.chars().count() > TEXT) {
        return Err(FormRefusal::new(422, "too_long", format!("This is too long: {field}.")));
    }
    Ok(())
}
