//! GET and POST /locations/{id}/simulated_ehr: controls a simulated EHR, so that clients can test failures that names
//! of patients cannot trigger (our addition). Real EHRs accept no commands.

use engine::{setup::Environment, simulated::SimulatedEhr};
use serde_json::Map;

use framework::{access::authentication::has_role, values::kinds::json_object};

use crate::prelude::*;

/// Commands as named in `Control`. A call has exactly one.
const CONTROLS: [(&str, &str); 6] = [
    ("behave", "Sets all switches. Switches that are not listed are reset; `{}` resets all."),
    ("switch", "Sets only the listed switches."),
    (
        "staff_books",
        "Simulates that staff book an `appointment`, or with `blocked: true` a block. With `force`, it may overlap \
         another one. Ids are those of the simulated system: the `foreign_id` of the API's records.",
    ),
    (
        "staff_edits",
        "Simulates that staff change `fields` of the record with this `id` of a `resource`. Field names are those of the \
         simulated system.",
    ),
    ("delete", "Simulates that staff delete the records with these `ids` of a `resource`."),
    ("mass_delete", "Deletes the first `percent` per cent of the records of a `resource`, as a failed import would."),
];

/// The state of a location's simulated health record system.
#[view]
pub struct SimulatedEhrView {
    location_id: u32,
    /// State of the switches, by name. `GET /docs/sandbox` describes the switches.
    #[schemars(with = "Map<String, Value>")]
    switches: Value,
    /// Changes of this call in the simulated system: records `saved`, as that system shows them, and ids `deleted`.
    #[schemars(with = "Vec<Map<String, Value>>")]
    changes: Vec<Value>,
}

/// Commands for every key that reaches the location. Commands of staff change the simulated EHR permanently and reveal
/// its content, so they need the role of an operator.
const SWITCHES: [&str; 2] = ["behave", "switch"];

pub async fn show(call: ApiCall, OfLocation(location, ()): OfLocation<()>) -> Answer<One<SimulatedEhrView>> {
    let ehr = simulated(&call, &location)?;
    view(&call, location.setup.id, &*ehr, Vec::new()).await
}

/// The command. The document cannot express that there is exactly one.
pub struct SimulatedEhrControl(Vec<(&'static str, Map<String, Value>)>);

impl FromInput for SimulatedEhrControl {
    fn from_input(input: &mut Input) -> SimulatedEhrControl {
        let all = CONTROLS.map(|(name, about)| {
            // The example has the harmless one of these alternatives.
            let kind = if name == "behave" { json_object() } else { json_object().omit_from_example() };
            input.body.optional(name, kind.about(about)).map(|what| (name, what))
        });
        SimulatedEhrControl(all.into_iter().flatten().collect())
    }
}

/// Runs the command, then reads all locations of the EHR at once, so that the effect is visible without the next cycle.
pub async fn control(
    call: ApiCall,
    OfLocation(location, SimulatedEhrControl(mut requested)): OfLocation<SimulatedEhrControl>,
) -> Answer<One<SimulatedEhrView>> {
    let (Some((name, what)), true) = (requested.pop(), requested.is_empty()) else {
        let problem = format!("The body must hold exactly one of {}.", CONTROLS.map(|(name, _)| name).join(", "));
        return Err(ApiError::refused(problem));
    };
    if !SWITCHES.contains(&name) {
        has_role(&call.key, Role::Operator)?;
    }
    let ehr = simulated(&call, &location)?;
    let changes = ehr.control(json!({ name: what })).await?;
    call.audit("control simulated ehr", "location", location.setup.id.0.into());
    let setup = call.api.engine.setup();
    let beside =
        setup.locations.values().filter(|it| it.source == location.setup.source && it.status == LocationStatus::Active);
    for location in beside {
        if let Err(refused) = call.api.engine.sync_now(location.id).await {
            tracing::info!(location = %location.id, ?refused, "the read cycle did not start at once");
        }
    }
    view(&call, location.setup.id, &*ehr, changes).await
}

/// Returns the location's EHR if it is a simulated one of the sandbox.
fn simulated(call: &ApiCall, location: &OpenLocation) -> Result<Arc<dyn SimulatedEhr>, ApiError> {
    let refused = |why: &str| ApiError::new(Failure::NotSimulated, &[&why]);
    if location.institution.environment != Environment::Sandbox {
        return Err(refused("Only practices of the sandbox have simulated health record systems."));
    }
    let source = location.setup.source.ok_or_else(|| refused("The location has no health record system."))?;
    let hosted = call.api.simulated(source);
    hosted.ok_or_else(|| {
        refused("The location's health record system is not a simulated one: its behaviour cannot be controlled.")
    })
}

async fn view(
    call: &ApiCall,
    location_id: LocationId,
    ehr: &dyn SimulatedEhr,
    changes: Vec<Value>,
) -> Answer<One<SimulatedEhrView>> {
    Ok(call.show(SimulatedEhrView { location_id: location_id.0, switches: ehr.switches().await, changes }))
}
