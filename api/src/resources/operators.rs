//! GET /operator and /operators: who runs the service (our addition).

use schemars::JsonSchema;
use serde::Serialize;

use super::me::ReachedInstitution;
use crate::{
    access::{
        arguments::Anywhere,
        call::Call,
        operators::Operator,
        respond::{Answer, Listed, One},
    },
    values::{role::Role, times::At, words::Word},
};

/// The operator whose token this is.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CallingOperatorView<'a> {
    /// Name of the token, as the configuration has it.
    name: &'a str,
    /// What the token may do.
    role: Word<Role>,
    /// All institutions, by id.
    institutions: Vec<ReachedInstitution<'a>>,
}

/// An operator's token.
#[derive(Serialize, JsonSchema)]
pub(crate) struct OperatorView {
    /// Id of the token; no secret. A token that is replaced under the same name has another id.
    token_id: String,
    /// Name of the token, as the configuration has it.
    name: String,
    /// What the token may do.
    role: Word<Role>,
    /// When this server last accepted the token, since its start; null if it has not.
    last_used_at: Option<At>,
}

impl OperatorView {
    fn of(operator: &Operator) -> OperatorView {
        OperatorView {
            token_id: operator.id(),
            name: operator.name.clone(),
            role: Word(operator.role),
            last_used_at: operator.last_used().map(At),
        }
    }
}

pub(crate) async fn show(call: Call, Anywhere(()): Anywhere<()>) -> Answer<One<CallingOperatorView<'static>>> {
    let tenants = call.tenants();
    let institutions = ReachedInstitution::all(&call, &tenants);
    let role = Word(call.key.role.unwrap_or(Role::Viewer));
    Ok(call.show(CallingOperatorView { name: &call.key.name, role, institutions }))
}

pub(crate) async fn list(call: Call, Anywhere(()): Anywhere<()>) -> Answer<Listed<OperatorView>> {
    let operators = call.api.operators();
    let mut all: Vec<OperatorView> = operators.all().map(|operator| OperatorView::of(operator)).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(call.list(&all))
}
