//! The forms of operators' actions. Each action has a confirmation page that describes its consequences. Only the form
//! on that page performs the action, protected by the CSRF token of the session (`csrf_token`).

use actix_web::{
    http::StatusCode,
    web::{Form, Path},
};
use endpoints::resources::{
    operators::{
        adapters::CONFIGURED,
        operator_actions::{ACTIONS, Action, ActionFields, ActionResult},
        webhooks::endpoint,
    },
    practice::write_requests::public_id,
};
use framework::access::resource_names;
use uuid::Uuid;

use crate::{
    page::{html, see_other},
    prelude::*,
    words::short,
    write_page,
};

#[derive(Template)]
#[template(path = "console/action.html")]
struct ActionPage {
    frame: PageFrame,
    about: String,
    action: &'static Action,
    /// The fields of the action, as submitted.
    fields: Vec<(&'static str, String)>,
    back: String,
}

#[derive(Template)]
#[template(path = "console/outcome.html")]
struct OutcomePage {
    frame: PageFrame,
    about: String,
    /// A code to read out or copy, shown once.
    code: Option<String>,
    lines: Vec<String>,
    back: String,
}

fn named(name: &str) -> Result<&'static Action, ApiError> {
    let action = ACTIONS.iter().copied().find(|action| action.name == name);
    action.ok_or_else(|| ApiError::not_found("Action"))
}

/// Returns the page of the action's target.
fn back(action: &Action, fields: ActionFields<'_>) -> Result<String, ApiError> {
    Ok(match action.input {
        ["endpoint", ..] => format!("/console/webhooks/{}", fields.endpoint()?),
        ["write"] => {
            let (location, write) = fields.write()?;
            format!("/console/writes/{}", public_id(location.0, write.0))
        }
        _ => format!("/console/locations/{}", fields.location()?),
    })
}

/// Describes the target of the action in one line.
async fn about(visit: &ConsoleRequest, action: &Action, fields: ActionFields<'_>) -> Result<String, ConsoleError> {
    let location = match action.input {
        ["endpoint", "delivery"] => {
            let (id, delivery) = (fields.endpoint()?, fields.parse::<Uuid>("delivery")?);
            return Ok(format!("Message {delivery} to the endpoint {}", endpoint(&visit.api, id)?.id));
        }
        ["endpoint"] => {
            let id = fields.endpoint()?;
            return Ok(format!("To the endpoint {id} of {}", endpoint(&visit.api, id)?.owner.0));
        }
        ["write"] => fields.write()?.0,
        _ => fields.location()?,
    };
    let (location, institution) = visit.local_location(location)?;
    visit.about(&location);
    let place = format!("{}, {}", location.name, institution.name);
    Ok(match action.input {
        [.., "resource"] => {
            format!("{} at {place}", resource_names::name(fields.resource()?).replace('_', " "))
        }
        [.., "what"] => match (fields.directions()?, fields.text("what")?) {
            (_, "both") => format!("Reading and writing at {place}"),
            (_, one) => format!("Only {one} at {place}"),
        },
        [.., "version"] => match fields.text("version")? {
            CONFIGURED => format!("The version of the configuration at {place}"),
            version => format!("Version {} at {place}", short(version)),
        },
        [.., "workstation"] => {
            let workstation: Uuid = fields.parse("workstation")?;
            let all = visit.api.engine.gateway().workstations(location.id).map_err(ApiError::from)?;
            let found = all.into_iter().find(|it| it.id == workstation);
            let found = found.ok_or_else(|| ApiError::not_found(format!("Workstation with id {workstation}")))?;
            format!("{} at {place}", found.name)
        }
        ["write"] => {
            let (_, write) = fields.write()?;
            let found = visit.api.engine.write_request(location.id, write.0).await?;
            let found = found.ok_or_else(|| write_page::not_found(location.id, write.0))?;
            format!("{} at {place}", write_page::described(visit, &found))
        }
        _ => place,
    })
}

pub(crate) async fn confirm(visit: ConsoleRequest, name: Path<String>) -> Result<HttpResponse, ConsoleError> {
    let (action, asked) = (named(&name)?, ActionFields(&visit.query));
    visit.needs(action.role)?;
    let about = about(&visit, action, asked).await?;
    let fields = action.input.iter().map(|name| Ok((*name, asked.text(name)?.to_owned())));
    let fields = fields.collect::<Result<Vec<_>, ApiError>>()?;
    let (frame, back) = (visit.frame("", action.title), back(action, asked)?);
    visit.show("GET /console/actions/{action}", &ActionPage { frame, about, action, fields, back }).await
}

pub(super) async fn act(
    visit: ConsoleRequest,
    name: Path<String>,
    form: Form<Vec<(String, String)>>,
) -> Result<HttpResponse, ConsoleError> {
    let form = form.into_inner();
    if ActionFields(&form).text("csrf_token").ok() != Some(visit.session.csrf_token.as_str()) {
        return Err(ConsoleError::Form);
    }
    let action = named(&name)?;
    visit.needs(action.role)?;
    visit.api.may_change()?;
    let about = about(&visit, action, ActionFields(&form)).await?;
    // A separate task, so that the action and its audit entry complete even if the browser disconnects.
    let acting = actix_web::rt::spawn(async move {
        let answer = perform(&visit, action, ActionFields(&form), about);
        visit.change("POST /console/actions/{action}", answer).await
    });
    acting.await.unwrap_or_else(|_| {
        tracing::error!("console action panicked");
        Err(ApiError::internal().into())
    })
}

async fn perform(
    visit: &ConsoleRequest,
    action: &Action,
    fields: ActionFields<'_>,
    about: String,
) -> Result<HttpResponse, ConsoleError> {
    let (context, back) = (visit.action(), back(action, fields)?);
    let (code, lines) = match (action.run)(&context, fields).await? {
        ActionResult::Done => {
            let (word, _) = action.done.unwrap_or_default();
            return Ok(see_other(&format!("{back}?done={word}")));
        }
        ActionResult::PairingCode(made) => {
            (Some(made.code), vec![format!("Valid once, until {}.", times::utc(made.expires_at.0))])
        }
        ActionResult::Replay(replayed) => {
            let mut lines = vec![format!("Messages that are sent again: {}", replayed.deliveries)];
            if replayed.next_since.is_some() {
                lines.push("The queue is full; repeat the action after these messages were sent.".to_owned());
            }
            (None, lines)
        }
        ActionResult::RollOut(view) => {
            let lines = view.tried.iter().map(|it| match it.resource {
                None => "It described the EHR.".to_owned(),
                Some(resource) => {
                    format!("It read {} {}, and left {} out.", it.records, resource.replace('_', " "), it.skipped)
                }
            });
            (None, lines.chain(["The location runs it now.".to_owned()]).collect())
        }
    };
    Ok(html(StatusCode::OK, &OutcomePage { frame: visit.frame("", action.title), about, code, lines, back }))
}
