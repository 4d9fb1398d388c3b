//! Data sources: the EHRs of an institution and their logins.

use std::sync::Arc;

use engine::setup::{
    DataSource, Setup, WorkstationAccess,
    events::{EhrEvents, EventScheme},
    login::{Login, OAuth, Proof, SigningKey, TrytonSession},
    secret::Secret,
};
use location::{
    ids::InstitutionId,
    keys::{ConfigKey, KeyReader, KeyTable},
};

use crate::{
    kinds::{credential, parsed, text},
    reader::{Located, Section},
    values::Scope,
};

/// Reads a source into the setup. `real` is true for institutions in production.
pub(crate) fn read(mut s: Section<'_, '_>, institution: InstitutionId, real: bool, setup: &mut Setup) {
    let id = s.identified("source id", Scope::Source);
    // Records are stored under their institution, so a reload cannot change it.
    s.derived(ConfigKey::restart("institution", ""), institution);
    let mut source = DataSource { id: id.unwrap_or(0), institution, ..DataSource::default() };
    source.read_keys(&s);
    if source.base_url == "sandbox:" {
        if real {
            let problem = "`base_url` \"sandbox:\" is the simulated EHR, which a production institution must not have; \
                           give the address of its EHR, or make its `environment` \"sandbox\"";
            s.report_key("base_url", problem);
        }
        if setup.engine.node.is_some() {
            let problem =
                "`base_url` \"sandbox:\" is an EHR within one process, which the nodes of [node] cannot share";
            s.report_key("base_url", problem);
        }
    }
    let headers = s.table(ConfigKey::reload("headers", "Added to each request; values are credentials."));
    source.headers = headers.map_or_else(Vec::new, |s| read_headers(&s));
    let oauth = s.table(ConfigKey::reload("oauth", "Access tokens (OAuth 2.0 client credentials)."));
    let oauth = oauth.and_then(|s| read_oauth(&s)).map(Login::OAuth);
    let about = "Sessions of a Tryton server, such as GNU Health. The last part of `base_url` is the database.";
    let session = s.table(ConfigKey::reload("tryton_session", about));
    let session = session.and_then(|s| tryton_session(&s)).filter(|_| !source.base_url.is_empty());
    let session = session.and_then(|(user, password)| {
        let session = TrytonSession::new(&source.base_url, user, Secret::new(password));
        session.map_err(|error| s.report_key("base_url", error.to_string())).ok().map(Login::Tryton)
    });
    let authorization = source.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
    let ways = [oauth.is_some(), session.is_some(), authorization].into_iter().filter(|way| *way).count();
    if ways > 1 {
        s.report_key("base_url", "oauth, tryton_session and the header Authorization are mutually exclusive");
    }
    let about = "The EHR is reached through workstations only: no headers, no login.";
    source.workstation = s.table(ConfigKey::reload("workstation", about)).and_then(|s| {
        let about = "A path below `base_url` that answers 200 with JSON only while staff is logged in.";
        Some(WorkstationAccess { probe: s.required(ConfigKey::reload("probe", about), &parsed(probe))? })
    });
    if source.workstation.is_some() && !source.base_url.is_empty() {
        // Its requests run in the browser session of a staff member.
        if oauth.is_some() || !source.headers.is_empty() {
            s.report_key("base_url", "a source reached through workstations must not have headers or oauth");
        }
        if !source.base_url.starts_with("http") {
            s.report_key("base_url", "a source reached through workstations needs an http or https `base_url`");
        }
    }
    let about = "Reports of changes that the EHR sends to `POST /ehr_events/{source}`. Each starts a read.";
    source.events = s.table(ConfigKey::reload("events", about)).and_then(|s| read_events(&s));
    source.login = oauth.or(session);
    if !source.adapter.is_empty() && !setup.engine.adapters.contains_key(&source.adapter) {
        let known = setup.engine.adapters.keys().cloned().collect::<Vec<_>>().join(", ");
        s.report_key("adapter", format!("no adapter `{}` in [adapters]; known are: {known}", source.adapter));
    }
    let DataSource { name, adapter, base_url, .. } = &source;
    if id.is_some() && [name, adapter, base_url].iter().all(|text| !text.is_empty()) {
        setup.sources.insert(source.id, Arc::new(source));
    }
}

/// Reads a client-credentials login, with a client secret or a signing key.
fn read_oauth(s: &Section<'_, '_>) -> Option<OAuth> {
    let url = parsed(|text| text.parse().map_err(|_| "must be a URL".into()));
    let url = s.required(ConfigKey::reload("token_url", "The URL of the token endpoint."), &url);
    let client_id = s.required(ConfigKey::reload("client_id", "The client id."), &text());
    let about = "The client secret. Alternative: `private_key_file`.";
    let secret = s.read(ConfigKey::reload("client_secret", about), &credential(Ok));
    let about = "PKCS#8, RSA or P-384. It signs the request for a token, as in SMART backend services.";
    let signing_key = |pem: &[u8]| SigningKey::from_pem(pem).map_err(|error| error.to_string());
    let key = s.credential_file(ConfigKey::reload("private_key_file", about), signing_key);
    let id = s.read(ConfigKey::reload("key_id", "The `kid` of that signature."), &text());
    let mut in_body = false;
    let about = "How the secret is sent: `basic` in a header, `post` in the body.";
    s.word(ConfigKey::reload("client_auth", about), &mut in_body, &[("basic", false), ("post", true)]);
    let scopes = s.strings(ConfigKey::reload("scopes", "The requested scopes."));
    let scopes = scopes.map(|all| all.into_iter().map(|scope| scope.value).collect::<Vec<_>>().join(" "));
    let (url, client_id) = (url?, client_id?);
    let proof = match (secret, key) {
        (Some(secret), None) if in_body => Proof::Post(Secret::new(secret)),
        (Some(secret), None) => Proof::Basic(Secret::new(secret)),
        (None, Some(key)) => Proof::Key { key: Arc::new(key), id },
        _ => {
            s.report_key("token_url", "oauth needs either client_secret or private_key_file");
            return None;
        }
    };
    let oauth = OAuth::new(url, client_id, proof, scopes);
    oauth.map_err(|error| s.report_key("token_url", error.to_string())).ok()
}

/// Returns the user and the password of a login to a Tryton server, such as GNU Health.
fn tryton_session(s: &Section<'_, '_>) -> Option<(String, String)> {
    let user = s.required(ConfigKey::reload("user", "The user name."), &text());
    let password = s.required(ConfigKey::reload("password", "The password."), &credential(Ok));
    user.zip(password)
}

/// Shortest accepted secret of events, because callers may guess it.
const EVENT_SECRET: usize = 16;

fn read_events(s: &Section<'_, '_>) -> Option<EhrEvents> {
    let long_enough = |secret: String| match secret.len() {
        0..EVENT_SECRET => Err(format!("must have at least {EVENT_SECRET} characters")),
        _ => Ok(secret),
    };
    let about = "The secret of the events, which the EHR sends, or signs with.";
    let secret = s.required(ConfigKey::reload("secret", about), &credential(long_enough));
    let about = "`header`: the header has the secret. `hmac`: it has the HMAC-SHA256 of the body in hex or Base64.";
    let mut scheme = EventScheme::Header;
    let words = [("header", EventScheme::Header), ("hmac", EventScheme::Hmac)];
    s.word(ConfigKey::reload("scheme", about), &mut scheme, &words);
    let about = "The name of the header, such as `X-Event-Secret`.";
    let header = s.required(ConfigKey::reload("header", about), &parsed(header_name));
    Some(EhrEvents { secret: Secret::new(secret?), scheme, header: header? })
}

/// Parses the name of a header into lower case.
fn header_name(text: &str) -> Result<String, String> {
    let name = actix_web::http::header::HeaderName::from_bytes(text.as_bytes());
    let name = name.map_err(|_| "must be the name of a header, such as \"X-Event-Secret\"".to_owned())?;
    Ok(name.as_str().to_owned())
}

fn read_headers(s: &Section<'_, '_>) -> Vec<(String, String)> {
    let header = |(name, value): (Located<String>, Option<String>)| {
        let value = value?;
        let valid = actix_web::http::header::HeaderName::from_bytes(name.value.as_bytes()).is_ok()
            && actix_web::http::header::HeaderValue::from_str(&value).is_ok();
        if !valid {
            s.document.report(name.at, format!("`{}` is not a valid header", name.value));
        }
        Some((name.value, value))
    };
    let all = s.entries(ConfigKey::reload("NAME", "A header, such as `Authorization`."), &credential(Ok));
    all.into_iter().filter_map(header).collect()
}

fn probe(text: &str) -> Result<String, String> {
    let plain = |b: u8| b.is_ascii_graphic() && !b"?#\\".contains(&b);
    let path = text.starts_with('/') && !text.starts_with("//") && text.bytes().all(plain);
    let inside = !text.split('/').any(|segment| segment == "." || segment == "..");
    if path && inside {
        Ok(text.to_owned())
    } else {
        Err("must be a path below `base_url`, such as \"/api/session\"".into())
    }
}
