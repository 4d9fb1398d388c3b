//! The demo cloud EHR, through the session of a logged-in user.

use std::{net::SocketAddr, sync::Arc};

use adapter_host::Gate;
use cloud_ehr::{AppointmentStatus, CloudAppointment, CloudEhr, CloudEhrSettings, Markup};
use records::ehr::{EhrAppointment, EhrPatient, Resource, Write};
use runtime::clock;
use tests::{
    conformance::{EhrAddress, EhrUnderTest, ExistingIds},
    harness::session_gate::SessionGate,
};

const DAY: i64 = 86_400;

pub struct Cloud {
    ehr: CloudEhr,
    cookie: String,
    first_free: i64,
}

impl Cloud {
    pub fn start(markup: Markup) -> Cloud {
        let ehr = CloudEhr::start(CloudEhrSettings { markup, calls_per_minute: None, ..CloudEhrSettings::default() })
            .unwrap();
        let cookie = ehr.log_in("frontdesk");
        let today = clock::now().0 / 1_000 / DAY;
        Cloud { ehr, cookie, first_free: (today + 30) * DAY }
    }

    fn patients(&self, wanted: &EhrPatient) -> usize {
        let same = |p: &&cloud_ehr::CloudPatient| {
            p.first_name == wanted.first_name && p.last_name == wanted.last_name && p.email == wanted.email
        };
        self.ehr.patients().iter().filter(same).count()
    }

    fn standing(&self, wanted: &EhrAppointment) -> usize {
        let there = |a: &&CloudAppointment| {
            a.patient == wanted.patient && Some(&a.operatory) == wanted.operatory.as_ref() && a.start == wanted.start
        };
        self.ehr.appointments().iter().filter(there).count()
    }
}

impl EhrUnderTest for Cloud {
    fn place(&self) -> EhrAddress {
        EhrAddress::Loopback(self.ehr.address())
    }

    fn base_path(&self) -> &str {
        "/app"
    }

    fn gate(&self, proxy: SocketAddr) -> Option<Arc<dyn Gate>> {
        Some(SessionGate::new(&format!("http://{proxy}/app"), &self.cookie))
    }

    fn location(&self) -> &str {
        "maple-street"
    }

    fn zone(&self) -> chrono_tz::Tz {
        chrono_tz::America::New_York
    }

    fn existing_ids(&self) -> ExistingIds {
        ExistingIds {
            patient: "P-01".into(),
            provider: "D-1".into(),
            operatory: Some("O-1".into()),
            appointment_type: Some("T-1".into()),
        }
    }

    fn free(&self, n: usize) -> i64 {
        self.first_free + 1_800 * i64::try_from(n).unwrap()
    }

    async fn copies(&self, write: &Write) -> usize {
        match write {
            Write::CreatePatient(patient) | Write::UpdatePatient(patient, _) => self.patients(patient),
            Write::CreateAppointment(a)
            | Write::RescheduleAppointment(a, _)
            | Write::ConfirmAppointment(a)
            | Write::CheckInAppointment(a)
            | Write::NoteAppointment(a)
            | Write::CancelAppointment(a, _) => self.standing(a),
            other => panic!("{other:?} is not written there"),
        }
    }

    async fn change(&self, resource: Resource, id: &str) -> bool {
        let mut practice = self.ehr.practice();
        let by_staff = format!("by staff {id}");
        match resource {
            Resource::Patients => practice.edit_patient(id, |p| p.mobile = Some(by_staff)),
            Resource::Providers => practice.edit_provider(id, |p| p.email = Some(by_staff)),
            Resource::Operatories => practice.edit_operatory(id, |o| o.name = by_staff),
            Resource::AppointmentTypes => practice.edit_type(id, |t| t.name = by_staff),
            Resource::WorkingHours => practice.edit_hours(id, |h| h.end = "18:30".into()),
            Resource::Appointments => practice.edit_appointment(id, |a| a.note = Some(by_staff)),
            _ => false,
        }
    }

    async fn delete(&self, resource: Resource, id: &str) -> bool {
        let mut practice = self.ehr.practice();
        match resource {
            Resource::Patients => practice.remove_patient(id),
            Resource::Providers => practice.remove_provider(id),
            Resource::Operatories => practice.remove_operatory(id),
            Resource::AppointmentTypes => practice.remove_type(id),
            Resource::WorkingHours => practice.remove_hours(id),
            Resource::Appointments => practice.edit_appointment(id, |a| a.status = AppointmentStatus::Cancelled),
            _ => false,
        }
    }

    /// Reuses a chart number; the EHR refuses it and names the other patient.
    async fn refused(&self, write: Write) -> Option<Write> {
        let Write::CreatePatient(mut patient) = write else { return None };
        patient.chart_id = self.ehr.practice().patient("P-01").unwrap().chart.clone();
        Some(Write::CreatePatient(patient))
    }
}
