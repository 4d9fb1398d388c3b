//! GET /patients/{id}, with whatever is asked to come along.

use super::{
    along::{INCLUDES, Related, asked},
    find,
};
use crate::{
    access::call::Call,
    http::errors::HttpResult,
    values::{kinds::id, versions::Version},
    views::patients::{PatientByVersion, PatientDetail, PatientProfile},
};

pub(crate) async fn show(mut call: Call) -> HttpResult {
    let id = call.path_id(id())?;
    let financial = call.key.grants.financial;
    let (tenant, asked) = call.in_tenant(|input| Some(asked(input, INCLUDES, financial)))?;
    let patient = find(&call, &tenant, id)?;
    let related = Related::read(&mut call, &tenant, &patient, &asked)?;
    let adapter = call.api.directory.adapter_of_source(patient.source_id);
    let along = related.shown(&call);
    let view = match call.version {
        Version::V3_1_0 => PatientByVersion::Detailed(Box::new(PatientProfile::of(&patient, adapter).with(along))),
        Version::V3_0_0 | Version::V2_2_2 => {
            let address = related.address(&patient);
            PatientByVersion::Detail(Box::new(PatientDetail::of(&patient, adapter).with(along, address)))
        }
    };
    Ok(call.show(view))
}
