//! The types of records.

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CloudPatient {
    pub id: String,
    pub first_name: String,
    pub middle_name: Option<String>,
    pub last_name: String,
    /// `YYYY-MM-DD`.
    pub born: Option<String>,
    /// `female`, `male` or `other`.
    pub sex: Option<String>,
    pub email: Option<String>,
    pub mobile: Option<String>,
    pub home_phone: Option<String>,
    pub work_phone: Option<String>,
    pub street: Option<String>,
    pub city: Option<String>,
    pub state: Option<String>,
    pub zip: Option<String>,
    pub country: Option<String>,
    pub language: Option<String>,
    pub provider: Option<String>,
    /// Unique among patients.
    pub chart: Option<String>,
    pub inactive: bool,
    /// An external number assigned to the record, `External reference` on its form.
    pub reference: Option<String>,
}

impl CloudPatient {
    pub fn name(&self) -> String {
        format!("{} {}", self.first_name, self.last_name)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Provider {
    pub id: String,
    pub first_name: String,
    pub last_name: String,
    pub email: Option<String>,
    pub npi: Option<String>,
    pub inactive: bool,
}

impl Provider {
    pub fn name(&self) -> String {
        format!("Dr. {} {}", self.first_name, self.last_name)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Operatory {
    pub id: String,
    pub name: String,
    pub closed: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CloudAppointmentType {
    pub id: String,
    pub name: String,
    pub minutes: u32,
}

/// Weekly hours of a provider in an operatory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hours {
    pub id: String,
    pub provider: String,
    pub operatory: String,
    /// `mon` to `sun`.
    pub days: Vec<String>,
    /// `HH:MM`.
    pub begin: String,
    pub end: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AppointmentStatus {
    #[default]
    Scheduled,
    Confirmed,
    Arrived,
    Completed,
    Missed,
    Cancelled,
}

impl AppointmentStatus {
    const ALL: [(AppointmentStatus, &str); 6] = [
        (AppointmentStatus::Scheduled, "scheduled"),
        (AppointmentStatus::Confirmed, "confirmed"),
        (AppointmentStatus::Arrived, "arrived"),
        (AppointmentStatus::Completed, "completed"),
        (AppointmentStatus::Missed, "missed"),
        (AppointmentStatus::Cancelled, "cancelled"),
    ];

    pub fn word(self) -> &'static str {
        AppointmentStatus::ALL.iter().find(|(status, _)| *status == self).map_or("", |(_, word)| word)
    }

    pub fn from_word(word: &str) -> Option<AppointmentStatus> {
        AppointmentStatus::ALL.iter().find(|(_, held)| *held == word).map(|(status, _)| *status)
    }

    /// Returns whether the appointment no longer occupies its time.
    pub fn is_off(self) -> bool {
        matches!(self, AppointmentStatus::Missed | AppointmentStatus::Cancelled)
    }
}

/// An appointment, or a block of time without a patient.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CloudAppointment {
    pub id: String,
    pub patient: Option<String>,
    pub provider: Option<String>,
    pub operatory: String,
    pub kind: Option<String>,
    /// Seconds since 1970.
    pub start: i64,
    pub end: i64,
    pub note: Option<String>,
    pub status: AppointmentStatus,
    pub confirmed_by_patient: bool,
    pub arrived_at: Option<i64>,
    pub left_at: Option<i64>,
    pub cancel_reason: Option<String>,
    /// Time without a patient, such as lunch or a meeting.
    pub block: bool,
    /// See [`CloudPatient::reference`].
    pub reference: Option<String>,
}
