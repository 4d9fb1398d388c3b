//! GET /patients/{id}, with the requested includes.

use super::{
    find,
    includes::{INCLUDES, Related, requested_includes},
};
use crate::{
    prelude::*,
    views::patients::{PatientByVersion, PatientDetail, PatientProfile},
};

#[input]
pub struct ShowPatient {
    #[read(requested_includes(input, INCLUDES))]
    include: Vec<&'static str>,
}

pub async fn show(
    mut call: ApiCall,
    Id(id): Id<u32>,
    InTenant(tenant, ShowPatient { include }): InTenant<ShowPatient>,
) -> Answer<One<PatientByVersion<'static>>> {
    let patient = find(&call, &tenant, id)?;
    let related = Related::read(&mut call, &tenant, &[&patient], &include).await?;
    let adapter = call.directory.adapter_of_source(patient.source_id);
    let includes = related.view(&call, patient.id);
    let view = match call.version {
        Version::V3_1_0 => {
            PatientByVersion::Detailed(Box::new(PatientProfile::from_record(&patient, adapter).with(includes)))
        }
        Version::V3_0_0 | Version::V2_2_2 => {
            let address = related.address(&patient);
            PatientByVersion::Detail(Box::new(PatientDetail::from_record(&patient, adapter).with(includes, address)))
        }
    };
    Ok(call.show(view))
}
