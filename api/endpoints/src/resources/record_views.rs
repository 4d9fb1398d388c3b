//! The views of stored records for the feed of changes and for webhook messages, equal to those of their endpoints.

use engine::{
    records::SyncSummary,
    webhooks::views::{RelatedRecords, ViewError, Views},
};
use framework::http::endpoint::SchemaOf;
use serde::de::DeserializeOwned;

use crate::{
    prelude::*,
    resources::{
        care::{
            clinical::{PatientRecallView, TreatmentPlanView},
            medical_history::PatientMedicalHistoryItemView,
        },
        patients::{
            documents::PatientDocumentView,
            show::{PatientByVersion, PatientDetail, PatientProfile},
        },
        practice::sync_status,
        schedule::{appointments::AppointmentEvent, working_hours::WorkingHourView},
    },
    views::render::{Published, Rendered, to_json},
};

/// The views in webhook messages and in the feed of changes.
pub struct RecordViews;

impl RecordViews {
    pub fn shared() -> Arc<dyn Views> {
        Arc::new(RecordViews)
    }
}

impl Views for RecordViews {
    fn record(
        &self,
        context: &ViewContext<'_>,
        resource: Resource,
        stored: &[u8],
        related: &dyn RelatedRecords,
    ) -> Result<Value, ViewError> {
        publish(context, resource, stored, related)
    }

    fn sync_status(&self, context: &ViewContext<'_>, status: &SyncSummary) -> Result<Value, ViewError> {
        to_json(&sync_status::view(context.setup, &sync_status::location_status(context.location, status)))
    }
}

macro_rules! published {
    ($($body:ident($resource:ident))*) => {
        /// Builds the view of any record.
        fn publish(
            context: &ViewContext<'_>,
            resource: Resource,
            stored: &[u8],
            related: &dyn RelatedRecords,
        ) -> Rendered {
            match resource {
                $( Resource::$resource => engine::records::$body::publish(&read(stored)?, context, related), )*
            }
        }

        pub(crate) fn schema_of(resource: Resource) -> SchemaOf {
            match resource {
                $( Resource::$resource => |it| it.subschema_for::<<engine::records::$body as Published>::View>(), )*
            }
        }
    };
}

engine::records::for_every_record!(published);

impl Reader for ViewContext<'_> {
    fn adapter(&self, source: Option<u32>) -> Option<&str> {
        ViewContext::adapter(self, source)
    }

    fn sees_amounts(&self) -> bool {
        self.amounts
    }

    fn version(&self) -> Version {
        Version::stored(self.version)
    }
}

/// Patients have another shape in earlier versions.
impl Published for Patient {
    type View = PatientByVersion<'static>;

    fn publish(entry: &Record<Patient>, context: &ViewContext<'_>, _: &dyn RelatedRecords) -> Rendered {
        match context.version() {
            Version::V3_1_0 => to_json(&PatientProfile::render(entry, context)),
            Version::V3_0_0 | Version::V2_2_2 => to_json(&PatientDetail::render(entry, context)),
        }
    }
}

impl Published for WorkingHour {
    type View = WorkingHourView<'static>;

    fn publish(entry: &Record<WorkingHour>, context: &ViewContext<'_>, _: &dyn RelatedRecords) -> Rendered {
        to_json(&WorkingHourView::from_record(entry, context.location.zone, context.now))
    }
}

impl Published for Document {
    type View = PatientDocumentView<'static>;

    fn publish(entry: &Record<Document>, _: &ViewContext<'_>, _: &dyn RelatedRecords) -> Rendered {
        to_json(&PatientDocumentView::from_record(entry, None))
    }
}

impl Published for PatientHistoryItem {
    type View = PatientMedicalHistoryItemView<'static>;

    fn publish(entry: &Record<PatientHistoryItem>, _: &ViewContext<'_>, related: &dyn RelatedRecords) -> Rendered {
        let item: Option<Record<HistoryItem>> = related.get(entry.source(), entry.body.item_id)?;
        to_json(&PatientMedicalHistoryItemView::from_record(entry, item.as_ref()))
    }
}

impl Published for TreatmentPlan {
    type View = TreatmentPlanView<'static>;

    fn publish(entry: &Record<TreatmentPlan>, context: &ViewContext<'_>, related: &dyn RelatedRecords) -> Rendered {
        let mut procedures: Vec<Record<Procedure>> = Vec::new();
        for id in &entry.body.procedure_ids {
            procedures.extend(related.get(entry.source(), *id)?);
        }
        to_json(&TreatmentPlanView::from_record(entry, &procedures).amounts(context.amounts))
    }
}

impl Published for PatientRecall {
    type View = PatientRecallView<'static>;

    fn publish(entry: &Record<PatientRecall>, context: &ViewContext<'_>, related: &dyn RelatedRecords) -> Rendered {
        let kind = entry.body.recall_type_id.map(|id| related.get::<Record<RecallType>>(entry.source(), id));
        let adapter = context.adapter(entry.source_id);
        to_json(&PatientRecallView::from_record(entry, kind.transpose()?.flatten().as_ref(), adapter))
    }
}

impl Published for Appointment {
    type View = AppointmentEvent<'static>;

    fn publish(it: &Record<Appointment>, context: &ViewContext<'_>, related: &dyn RelatedRecords) -> Rendered {
        let (institution, place) = (it.institution_id, &it.placement);
        let patient =
            it.patient_id.map(|id| related.get::<Record<Patient>>(institution, id.into())).transpose()?.flatten();
        let provider =
            place.provider.map(|id| related.get::<Record<Provider>>(institution, id.0.into())).transpose()?.flatten();
        let operatory =
            place.operatory.map(|id| related.get::<Record<Operatory>>(it.location(), id.0)).transpose()?.flatten();
        to_json(&AppointmentEvent::from_record(it, context, patient.as_ref(), provider.as_ref(), operatory.as_ref()))
    }
}

fn read<T: DeserializeOwned>(stored: &[u8]) -> Result<T, ViewError> {
    serde_json::from_slice(stored).map_err(|_| ViewError::Damaged)
}
