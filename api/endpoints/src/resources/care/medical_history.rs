//! Medical history: catalogues and patients' items (specification 4.3)

use engine::{
    commands::SaveHistoryItem,
    records::{HistoryCategory, HistoryItem, PatientHistoryItem},
};
use framework::{access::idempotency, values::kinds::one_of};

use crate::{prelude::*, resources::patients::find_at};

/// An item of the medical history catalogue.
#[view(of = HistoryItem, named = "item", published)]
pub struct MedicalHistoryItemView<'a> {
    id: u64,
    /// Name of the allergy, condition or medication.
    name: &'a str,
}

/// An item of a patient's medical history.
#[view(of = PatientHistoryItem, named = "item in the patient's medical history", args(item: Option<&'a Record<HistoryItem>>))]
pub struct PatientMedicalHistoryItemView<'a> {
    id: u64,
    /// Id of the item in the catalogue.
    item_id: u64,
    /// Name of the item; null if the health record system does not provide the catalogue item.
    #[view(with = item.map(|item| item.body.name.as_str()))]
    item_name: Option<&'a str>,
    note: Option<&'a str>,
    /// `true` if the item still applies; `false` once it has been deleted in the health record system.
    #[view(active)]
    active: bool,
    write: WriteState<'a>,
}

impl Published for PatientHistoryItem {
    type View = PatientMedicalHistoryItemView<'static>;

    fn publish(entry: &Record<PatientHistoryItem>, _: &ViewContext<'_>, related: &dyn RelatedRecords) -> Rendered {
        let item: Option<Record<HistoryItem>> = related.get(entry.source(), entry.body.item_id)?;
        to_json(&PatientMedicalHistoryItemView::from_record(entry, item.as_ref()))
    }
}

/// The items of a patient's medical history that changed together.
#[derive(Serialize, JsonSchema)]
pub(crate) struct MedicalHistoryEvent<'a> {
    /// Id of the patient whose medical history changed.
    patient_id: u32,
    /// The items that changed, in their state after the change.
    patient_items: Vec<PatientMedicalHistoryItemView<'a>>,
}

const CATEGORIES: &[(&str, HistoryCategory)] = &[
    ("allergies", HistoryCategory::Allergies),
    ("conditions", HistoryCategory::Conditions),
    ("medications", HistoryCategory::Medications),
];

fn category() -> Kind<HistoryCategory> {
    one_of(CATEGORIES).about("Only items of this category.")
}

#[input]
pub struct ListHistoryItems {
    #[query(category())]
    category: HistoryCategory,
    #[query(part_of_name().map(|term| term.to_lowercase()), name = "search_term")]
    term: Option<String>,
    #[read(input.listing().without_deleted().done())]
    listing: Listing,
}

pub async fn items(
    call: ApiCall,
    AtLocation(location, ListHistoryItems { listing, category, term }): AtLocation<ListHistoryItems>,
) -> Answer<Paged<MedicalHistoryItemView<'static>>> {
    let named = |it: &Record<HistoryItem>| term.as_ref().is_none_or(|term| it.body.name.to_lowercase().contains(term));
    let name = CATEGORIES.iter().find(|(_, known)| *known == category).map(|(name, _)| *name);
    let listing = listing.filtered(name.map(|name| Filter::Category(name.to_owned())));
    let page = listing.entries(&call, &location.sources(), named)?;
    call.page_of(&page, MedicalHistoryItemView::from_record)
}

#[input]
pub struct ListPatientItems {
    #[query(patient(), name = "patient_id")]
    patient: u32,
    #[query(category())]
    category: HistoryCategory,
    #[query(active(), default = true)]
    active: bool,
}

pub async fn patient_items(
    mut call: ApiCall,
    AtLocation(location, ListPatientItems { patient, category, active }): AtLocation<ListPatientItems>,
) -> Answer<Listed<PatientMedicalHistoryItemView<'static>>> {
    find_at(&call, &location, patient)?;
    let theirs = vec![Filter::Patient(patient.into())];
    let mut entries: Vec<Record<PatientHistoryItem>> =
        call.all_entries_including_deleted(&location.sources(), theirs)?;
    entries.retain(|it| it.body.category == category && active == (it.body.active && it.deleted_at.is_none()));
    let items = items_of(&call, &entries)?;
    Ok(call.list(&views(&entries, &items)))
}

/// Returns the catalogue entries of the items, if they still exist.
fn items_of(
    call: &ApiCall,
    entries: &[Record<PatientHistoryItem>],
) -> Result<Vec<Option<Record<HistoryItem>>>, ApiError> {
    entries.iter().map(|it| Ok(call.api.engine.entry(it.source(), it.body.item_id)?)).collect()
}

fn views<'a>(
    entries: &'a [Record<PatientHistoryItem>],
    items: &'a [Option<Record<HistoryItem>>],
) -> Vec<PatientMedicalHistoryItemView<'a>> {
    entries
        .iter()
        .zip(items)
        .map(|(entry, item)| PatientMedicalHistoryItemView::from_record(entry, item.as_ref()))
        .collect()
}

pub struct HistoryUpdate {
    patient: u32,
    items: Vec<SaveHistoryItem>,
}

impl FromInput for HistoryUpdate {
    fn from_input(input: &mut Input) -> HistoryUpdate {
        let b = &mut input.body;
        let patient_id = b.required("patient_id", patient());
        let mut all = Vec::new();
        for (example, (name, category)) in (1..).zip(CATEGORIES) {
            let about = match category {
                HistoryCategory::Allergies => "Allergies.",
                HistoryCategory::Conditions => "Conditions.",
                HistoryCategory::Medications => "Medications.",
            };
            let items = b.objects(name, about, |one| {
                let item_id = one.required(
                    "item_id",
                    long_id()
                        .referring_to(HistoryItem::RESOURCE)
                        .example_of(example)
                        .about("Id of the item in the catalogue."),
                );
                let note = one.optional("note", note());
                let active = one.defaulted("active", active(), true);
                SaveHistoryItem { patient_id, category: *category, item_id, note, active }
            });
            for item in items {
                if all.iter().any(|other: &SaveHistoryItem| other.item_id == item.item_id) {
                    b.problem(format!("{name} names item {} twice.", item.item_id));
                }
                all.push(item);
            }
        }
        HistoryUpdate { patient: patient_id, items: all }
    }
}

/// Saves a batch. All items are validated before the first one is saved.
pub async fn save(
    mut call: ApiCall,
    AtLocation(location, HistoryUpdate { patient, items }): AtLocation<HistoryUpdate>,
) -> Answer<Listed<PatientMedicalHistoryItemView<'static>, 201>> {
    let all = |wrong| call.with_unknown(wrong, HistoryUpdate::unknown);
    if find_at(&call, &location, patient).map_err(all)?.foreign_id.is_none() {
        return Err(all(engine::PreconditionError::PatientNotSynced.into()));
    }
    for item in &items {
        check(&call, &location, item).map_err(all)?;
    }
    let (mut entries, mut replays) = (Vec::new(), 0);
    for (n, item) in items.into_iter().enumerate() {
        let once = call.idempotency_key().map(|key| idempotency::nth(key, n));
        let saved = call.save_with_key(&location, item, once).await?;
        call.audit("write", name_of(PatientHistoryItem::RESOURCE), saved.record.id);
        replays += usize::from(saved.replay);
        entries.push(saved.record);
    }
    let items = items_of(&call, &entries)?;
    Ok(call.created_all(replays > 0 && replays == entries.len(), &views(&entries, &items)))
}

fn check(call: &ApiCall, location: &OpenLocation, new: &SaveHistoryItem) -> Result<(), ApiError> {
    let item: Record<HistoryItem> = call.entry_at(location, new.item_id)?;
    let usable = item.deleted_at.is_none() && item.body.category == new.category;
    let missing = || ApiError::not_found(format!("{} with id {}", name_of(HistoryItem::RESOURCE), new.item_id));
    if usable { Ok(()) } else { Err(missing()) }
}
