//! The EHR of a subject file. Its records are counted by pulls through a connection of the adapter without faults.

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use adapter_host::{Adapter, HttpTransport};
use chrono_tz::Tz;
use records::ehr::{Ehr, EhrRecord, Resource, Write};
use runtime::clock;
use serde_json::{Map, Value};

use crate::{
    effect::{deleted_id, left, record},
    ehr_under_test::{EhrAddress, EhrUnderTest, ExistingIds},
    request::EhrAction,
    subject::{DEADLINE, same},
    subject_file::SubjectFile,
};

/// Distance between the numbers of runs that start a second apart.
const NUMBERS_A_SECOND: i64 = 50;
/// 2025-11-01. A recent epoch keeps the numbers short.
const BEGINNING: i64 = 1_761_955_200;
const HALF_HOUR: i64 = 1_800;

pub struct FromFile {
    file: SubjectFile,
    network: HttpTransport,
    ehr: Arc<dyn Ehr>,
    /// Records from before the run by resource; they do not count.
    before: BTreeMap<Resource, BTreeSet<String>>,
    /// Occupied times of the operatory: start and end.
    taken: Vec<(i64, i64)>,
    free: Vec<i64>,
    staff: Cell<i64>,
}

impl FromFile {
    pub async fn new(file: SubjectFile, adapter: &Arc<Adapter>) -> Result<FromFile, String> {
        let network = HttpTransport::new().map_err(|error| error.to_string())?;
        let mut connection = file.local.connection(Arc::new(network.apart()));
        connection.limits.requests = 200;
        connection.limits.memory = 256 << 20;
        let ehr = file.local.connect(adapter, connection)?;
        let description = ehr.describe(DEADLINE).await.map_err(|fault| format!("describe: {fault}"))?;
        let now = clock::now().0 / 1_000;
        let free = file.keys.free.starts(file.local.zone, now);
        let staff = Cell::new(now - BEGINNING);
        let mut it = FromFile { file, network, ehr, before: BTreeMap::new(), taken: Vec::new(), free, staff };
        for ability in description.pulls.iter().filter(|ability| identifying_fields(ability.resource).is_some()) {
            let records = it.records(ability.resource).await?;
            let occupied: Vec<(i64, i64)> = records.iter().filter_map(|record| it.occupied_time(record)).collect();
            it.taken.extend(occupied);
            let ids = records.iter().map(|record| record.id().to_owned());
            it.before.insert(ability.resource, ids.collect());
        }
        it.free.retain(|start| !meets(&it.taken, *start));
        Ok(it)
    }

    async fn records(&self, resource: Resource) -> Result<Vec<EhrRecord>, String> {
        let (mut all, mut cursor) = (Vec::new(), None);
        loop {
            let page = self.ehr.pull(resource, cursor, 1_000, DEADLINE).await;
            let page = page.map_err(|fault| format!("pull {}: {fault}", crate::display::name(resource)))?;
            all.extend(page.records);
            if page.last {
                return Ok(all);
            }
            cursor = Some(page.cursor);
        }
    }

    fn occupied_time(&self, record: &EhrRecord) -> Option<(i64, i64)> {
        match record {
            EhrRecord::Appointment(a) if !a.cancelled && a.operatory == self.file.keys.ids.operatory => {
                Some((a.start, a.end))
            }
            _ => None,
        }
    }

    /// Returns the fields that identify a record of this resource, as far as the EHR stores them.
    fn identifying_fields(&self, resource: Resource) -> Vec<&'static str> {
        let fields = identifying_fields(resource).unwrap_or_default().iter();
        fields.copied().filter(|field| self.keeps(resource, field)).collect()
    }

    /// Runs the file's action for the resource. Returns `false` if the file has none.
    async fn act(&self, table: &str, actions: &BTreeMap<Resource, EhrAction>, resource: Resource, id: &str) -> bool {
        let Some(action) = actions.get(&resource) else { return false };
        self.perform(&format!("{table}.{}", crate::display::name(resource)), action, id).await;
        true
    }

    async fn perform(&self, key: &str, action: &EhrAction, id: &str) {
        self.staff.set(self.staff.get() + 1);
        let done = action.run(&self.file.local, &self.network, id, &format!("by staff {}", self.staff.get())).await;
        // The panic ends the case; its report contains the reason.
        done.unwrap_or_else(|problem| panic!("`{key}` of the subject file: {problem}"));
    }
}

fn meets(taken: &[(i64, i64)], start: i64) -> bool {
    taken.iter().any(|(from, until)| *from < start + HALF_HOUR && start < *until)
}

/// Returns the identifying fields of a resource, or `None` if the suite writes no such record.
fn identifying_fields(resource: Resource) -> Option<&'static [&'static str]> {
    Some(match resource {
        Resource::Patients => &["first_name", "last_name"],
        Resource::Appointments => &["patient", "operatory", "start"],
        Resource::WorkingHours => &["provider", "specific_date", "begin_time", "end_time"],
        Resource::InsurancePlans => &["name"],
        Resource::Coverages => &["subscriber_number"],
        Resource::PatientHistoryItems | Resource::PatientAlerts | Resource::CommunicationLogs => &["note"],
        Resource::FormResponses => &["answers_json"],
        Resource::Payments | Resource::Adjustments => &["amount"],
        _ => return None,
    })
}

fn with(record: EhrRecord, fields: &Map<String, Value>) -> EhrRecord {
    let (resource, id, mut all) = (record.resource(), record.id().to_owned(), record.fields());
    all.extend(fields.clone());
    let key = crate::display::name(resource);
    EhrRecord::from_fields(resource, &id, all.into())
        .unwrap_or_else(|error| panic!("fields of {key} in the subject file: {error}"))
}

impl EhrUnderTest for FromFile {
    fn place(&self) -> EhrAddress {
        EhrAddress::Url(self.file.local.base_url.clone())
    }

    fn credentials(&self) -> Vec<(String, String)> {
        self.file.local.headers.clone().into_iter().collect()
    }

    fn settings(&self) -> Vec<(String, String)> {
        self.file.local.settings.clone().into_iter().collect()
    }

    fn location(&self) -> &str {
        &self.file.local.location
    }

    fn zone(&self) -> Tz {
        self.file.local.zone
    }

    fn existing_ids(&self) -> ExistingIds {
        self.file.keys.ids.clone()
    }

    fn free(&self, n: usize) -> i64 {
        *self.free.get(n).unwrap_or_else(|| panic!("`free` of the subject file: no place is left after {n}"))
    }

    fn is_free(&self, start: i64) -> bool {
        !meets(&self.taken, start)
    }

    fn adjust(&self, write: &mut Write) {
        let Some(fields) = self.file.keys.set.get(&left(write).0) else { return };
        let Some(set) = record(write).map(|record| with(record, fields)) else { return };
        match (write, set) {
            (Write::CreatePatient(it) | Write::UpdatePatient(it, _), EhrRecord::Patient(set)) => *it = set,
            (
                Write::CreateAppointment(it)
                | Write::RescheduleAppointment(it, _)
                | Write::ConfirmAppointment(it)
                | Write::CheckInAppointment(it)
                | Write::NoteAppointment(it)
                | Write::CancelAppointment(it, _),
                EhrRecord::Appointment(set),
            ) => *it = set,
            (Write::CreateWorkingHour(it) | Write::UpdateWorkingHour(it), EhrRecord::WorkingHour(set)) => *it = set,
            (Write::Record(_, it), set) => *it = set,
            _ => (),
        }
    }

    fn keeps(&self, resource: Resource, field: &str) -> bool {
        !self.file.keys.unkept.iter().any(|unkept| unkept.0 == resource && unkept.1 == field)
    }

    fn keeps_instants(&self) -> bool {
        !self.file.keys.local_times
    }

    fn keeps_write_keys(&self) -> bool {
        self.file.keys.write_key
    }

    fn settle(&self) -> Duration {
        Duration::from_secs(self.file.keys.settle_seconds)
    }

    fn first_number(&self) -> usize {
        usize::try_from((clock::now().0 / 1_000 - BEGINNING) * NUMBERS_A_SECOND).unwrap_or_default()
    }

    fn counts(&self, resource: Resource) -> bool {
        self.before.contains_key(&resource) && !self.identifying_fields(resource).is_empty()
    }

    async fn copies(&self, write: &Write) -> usize {
        let (resource, fields) = left(write);
        let records = self.records(resource).await.unwrap_or_else(|problem| panic!("{problem}"));
        if let Some(id) = deleted_id(write) {
            return records.iter().filter(|record| record.id() == id).count();
        }
        let (wanted, before) = (fields.unwrap_or_default(), self.before.get(&resource));
        let identifying_fields = self.identifying_fields(resource);
        let fits = |record: &&EhrRecord| {
            let held = record.fields();
            let part = |of: &Map<String, Value>, name: &str| of.get(name).cloned().unwrap_or_default();
            before.is_none_or(|ids| !ids.contains(record.id()))
                && identifying_fields.iter().all(|name| same(&part(&wanted, name), &part(&held, name)))
        };
        records.iter().filter(fits).count()
    }

    async fn change(&self, resource: Resource, id: &str) -> bool {
        self.act("change", &self.file.keys.change, resource, id).await
    }

    async fn delete(&self, resource: Resource, id: &str) -> bool {
        self.act("delete", &self.file.keys.delete, resource, id).await
    }

    async fn corrupt(&self, resource: Resource, id: &str) -> bool {
        self.act("break", &self.file.keys.corrupt, resource, id).await
    }

    async fn refused(&self, write: Write) -> Option<Write> {
        let (refused, Write::CreatePatient(patient)) = (self.file.keys.refused.as_ref()?, write) else { return None };
        if let Some(action) = &refused.action {
            self.perform("refused.action", action, "").await;
        }
        match with(EhrRecord::Patient(patient), &refused.fields) {
            EhrRecord::Patient(patient) => Some(Write::CreatePatient(patient)),
            _ => None,
        }
    }
}
