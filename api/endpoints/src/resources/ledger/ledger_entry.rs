//! POST /payments and POST /adjustments: their bodies and the messages of their refusals.

use std::marker::PhantomData;

use engine::records::{
    ChargeSplit, ProviderSplit,
    money::{CURRENCIES, Currency},
};
use framework::{
    access::{idempotency, respond::Accepted},
    values::{
        kinds::{Parsed, Raw, money, named, nonzero_money, times::date_or_instant},
        limits::MAX_VALUES,
    },
};
use rust_decimal::Decimal;

use crate::prelude::*;

/// A ledger entry that clients create.
pub trait LedgerEntry: Body {
    /// The enclosing object of the body, with its description.
    const OBJECT: (&'static str, &'static str);
    /// The field of the date, with its description.
    const DATE: (&'static str, &'static str);
    /// The field of the type, with its description and the resource of the type.
    const TYPE: (&'static str, &'static str, Resource);
    /// `true` if an entry lowers the balance whatever its sign in the request.
    const IS_UNSIGNED: bool;

    fn from_input(given: LedgerEntryInput, day: Day) -> Self;
}

/// A ledger entry in a request.
pub struct LedgerEntryInput {
    pub patient_id: u32,
    pub amount: Money,
    pub type_id: Option<u64>,
    pub transaction_id: String,
    pub charge_splits: Vec<ChargeSplit>,
    pub provider_splits: Vec<ProviderSplit>,
    pub notes: Option<String>,
    on: Option<On>,
}

/// A date, or a moment whose date depends on the location.
#[derive(Clone, Copy)]
enum On {
    Date(Date),
    Moment(Timestamp),
}

impl LedgerEntryInput {
    fn read<T: LedgerEntry>(input: &mut Input) -> LedgerEntryInput {
        let ((name, about), (on, about_on), (type_id, about_type, types)) = (T::OBJECT, T::DATE, T::TYPE);
        let b = &mut input.body;
        b.container(name, about);
        let path = |field: &str| format!("{name}.{field}");
        let patient_id = b.required(&path("patient_id"), patient());
        let amount =
            b.required_or_none(&path("amount"), nonzero_money().about("The amount, in whole units of the currency."));
        let currency = b.defaulted(&path("currency"), currency().about("ISO currency code."), "USD");
        let type_id = b.optional(&path(type_id), long_id().referring_to(types).about(about_type));
        let transaction_id =
            b.required(&path("transaction_id"), filled(text(MAX_TEXT)).about("Transaction id chosen by the caller."));
        let on = b.optional(&path(on), date_or_instant(&input.clock, On::Date, On::Moment).about(about_on));
        let charges =
            b.optional(&path("charge_splits"), splits().about("The amount, split by charge.")).unwrap_or_default();
        let providers =
            b.optional(&path("provider_splits"), splits().about("The amount, split by provider.")).unwrap_or_default();
        let notes = b.optional_nonempty(&path("notes"), note());
        for (resource, parts) in [(Resource::Charges, &charges), (Resource::Providers, &providers)] {
            b.references.extend(parts.iter().map(|(id, _)| Reference { resource, id: *id }));
        }
        for (field, parts) in [("charge_splits", &charges), ("provider_splits", &providers)] {
            let problem = amount.and_then(|amount| wrong_splits(amount, parts, &path("amount")));
            problem.into_iter().for_each(|problem| b.problem(format!("{}{problem}.", path(field))));
        }
        let money = |amount| Money { amount, currency }.spelled();
        let is_rounded = |amount: &Decimal| !money(*amount).is_exact();
        for (field, is_rounded) in [
            ("amount", amount.iter().any(is_rounded)),
            ("charge_splits", charges.iter().any(|(_, part)| is_rounded(part))),
            ("provider_splits", providers.iter().any(|(_, part)| is_rounded(part))),
        ] {
            if is_rounded {
                let (field, decimals) = (path(field), currency.decimals().unwrap_or_default());
                b.problem(format!("{field} must have at most {decimals} decimals: {currency} has no more."));
            }
        }
        let charge = |(charge_id, amount)| ChargeSplit { charge_id, amount: money(amount) };
        let provider = |(id, amount)| ProviderSplit { provider_id: id as u32, amount: money(amount) };
        if providers.iter().any(|(id, _)| u32::try_from(*id).is_err()) {
            b.problem(format!("{} must hold the ids of providers.", path("provider_splits")));
        }
        LedgerEntryInput {
            patient_id,
            amount: money(amount.unwrap_or_default()),
            type_id,
            transaction_id,
            charge_splits: charges.into_iter().map(charge).collect(),
            provider_splits: providers.into_iter().map(provider).collect(),
            notes,
            on,
        }
    }

    /// Makes all amounts positive.
    fn unsigned(mut self) -> LedgerEntryInput {
        let charges = self.charge_splits.iter_mut().map(|split| &mut split.amount);
        let providers = self.provider_splits.iter_mut().map(|split| &mut split.amount);
        for amount in charges.chain(providers).chain([&mut self.amount]) {
            *amount = amount.abs();
        }
        self
    }

    /// Returns the idempotency key of a `transaction_id` with all normalized fields. The format must not change,
    /// because the key is compared with stored ones. A default day is left out.
    fn number<T: Body>(&self, call: &ApiCall, location: &OpenLocation) -> IdempotencyKey {
        let by_charge: BTreeMap<String, String> =
            self.charge_splits.iter().map(|it| (it.charge_id.to_string(), it.amount.to_string())).collect();
        let by_provider: BTreeMap<String, String> =
            self.provider_splits.iter().map(|it| (it.provider_id.to_string(), it.amount.to_string())).collect();
        let content = json!({
            "patient": self.patient_id,
            "amount": self.amount.to_string(),
            "type": self.type_id,
            "day": self.on.map(|_| self.day(call, location).to_string()),
            "notes": self.notes,
            "charges": by_charge,
            "providers": by_provider,
        });
        idempotency::numbered(location.setup.id, name_of(T::RESOURCE), &self.transaction_id, &content)
    }

    /// Returns the date on the location's calendar, by default today.
    fn day(&self, call: &ApiCall, location: &OpenLocation) -> Day {
        let at = |moment| times::local(moment, location.setup.zone).0;
        Day(match self.on {
            Some(On::Date(date)) => date,
            Some(On::Moment(moment)) => at(moment),
            None => at(call.api.engine.now()),
        })
    }
}

/// A new payment or adjustment.
pub struct NewLedgerEntry<T>(LedgerEntryInput, PhantomData<fn() -> T>);

impl<T: LedgerEntry> FromInput for NewLedgerEntry<T> {
    fn from_input(input: &mut Input) -> NewLedgerEntry<T> {
        NewLedgerEntry(LedgerEntryInput::read::<T>(input), PhantomData)
    }

    fn unknown(Reference { resource, id }: Reference, location: Option<LocationId>) -> ApiError {
        refusal(
            EngineError::Precondition(PreconditionError::NotFound { resource, id }),
            location.map_or(0, |location| location.0),
        )
    }
}

/// Creates a payment or an adjustment.
pub async fn create<V: RecordView<Body: LedgerEntry>>(
    mut call: ApiCall,
    AtLocation(location, NewLedgerEntry(given, _)): AtLocation<NewLedgerEntry<V::Body>>,
) -> Answer<Accepted<V::View<'static>>> {
    let saved = save::<V::Body>(&mut call, &location, given).await?;
    let answer: Accepted<V::View<'_>> = call.created(saved.replay, V::render(&saved.record, &call));
    Ok(Accepted::wrap(answer.into_response()))
}

/// Saves the entry of a patient, once for each `transaction_id` at a location.
async fn save<T: LedgerEntry>(
    call: &mut ApiCall,
    location: &OpenLocation,
    given: LedgerEntryInput,
) -> Result<Saved<Record<T>>, ApiError> {
    let given = if T::IS_UNSIGNED { given.unsigned() } else { given };
    let (patient_id, day) = (given.patient_id, given.day(call, location));
    let number = given.number::<T>(call, location);
    if let Some(On::Moment(moment)) = given.on {
        let moment = times::utc(moment);
        if !moment.starts_with(&day.to_string()) {
            call.warn(&format!("{moment} is on {day} in the location's time zone."));
        }
    }
    let saved = call.save_numbered(location, &T::from_input(given, day), Some(patient_id), Some(number)).await;
    saved.map_err(|refused| refusal(refused, location.setup.id.0))
}

/// Converts a refusal (specification 7.3).
fn refusal(refused: EngineError, location: u32) -> ApiError {
    match refused {
        EngineError::Precondition(PreconditionError::Several(all)) => {
            ApiError::all(all.into_iter().map(|unmet| refusal(EngineError::Precondition(unmet), location)))
        }
        EngineError::Precondition(
            PreconditionError::NotFound { resource: Resource::Patients, id }
            | PreconditionError::NotUsable { resource: Resource::Patients, id },
        ) => ApiError::new(Failure::ReferenceNotAtLocation, &[&format!("Patient with ID {id}"), &location]),
        EngineError::Precondition(
            PreconditionError::NotFound { resource, id } | PreconditionError::NotUsable { resource, id },
        ) => {
            let record = format!("{} with id {id}", name_of(resource));
            ApiError::new(Failure::ReferenceNotAtLocation, &[&record, &location])
        }
        EngineError::Precondition(PreconditionError::PatientNotSynced) => Failure::EntryOfUnsyncedPatient.into(),
        other => other.into(),
    }
}

fn currency() -> Kind<Currency> {
    let schema = || {
        let codes: Vec<&str> = CURRENCIES.iter().map(|(code, _)| *code).collect();
        named("Currency", "A currency, by its ISO 4217 code.", &codes).to_value()
    };
    Kind::for_text(schema, "USD", |given| {
        Currency::known(&given.to_ascii_uppercase())
            .ok_or_else(|| "must be an ISO currency code such as USD".to_owned())
    })
}

/// Returns the problem of a split amount. Every part needs the sign of the amount, otherwise their sum is ambiguous.
fn wrong_splits(amount: Decimal, parts: &[(u64, Decimal)], name: &str) -> Option<String> {
    let negative = amount.is_sign_negative();
    let against = |part: Decimal| !part.is_zero() && part.is_sign_negative() != negative;
    if let Some((id, _)) = parts.iter().find(|(_, part)| against(*part)) {
        let wrong =
            if negative { "must not be above zero: it is a part of" } else { "must not be negative: it is a part of" };
        return Some(format!(".{id} {wrong} {name}"));
    }
    let sum: Decimal = parts.iter().map(|(_, part)| part).sum();
    (sum.abs() > amount.abs()).then(|| format!(" must not add up to more than {name}"))
}

/// Reads `{"12": 100.00}`: amounts by the ids of charges or providers.
fn splits() -> Kind<Vec<(u64, Decimal)>> {
    let schema = || {
        let amount = money().shape().schema;
        json!({"type": "object", "additionalProperties": amount, "propertyNames": {"pattern": "^[0-9]+$"}, "maxProperties": MAX_VALUES})
    };
    Kind::new(schema, json!({"12": "125.50"}), |raw| {
        let Raw::Json(Value::Object(parts)) = raw else {
            return Err(r#"must be an object such as {"12": 125.50}"#.into());
        };
        if parts.len() > MAX_VALUES {
            return Err(format!("holds more than {MAX_VALUES} values"));
        }
        let part = |(id, amount): (&String, &Value)| -> Parsed<(u64, Decimal)> {
            let id = long_id().text(id).map_err(|problem| format!("has an id that {problem}"))?;
            Ok((id, money().json(amount).map_err(|problem| format!("has an amount that {problem}"))?))
        };
        parts.iter().map(part).collect()
    })
}
