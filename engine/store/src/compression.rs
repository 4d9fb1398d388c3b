//! Compression of values with JSON documents, which are most of the bytes in a store. A compressed value is
//! `[size u32][LZ4 block]`. A single document repeats little of itself, so blocks also refer to a dictionary of the
//! fields that documents have. Other values are stored as they are: most are short, or dense already.

use lz4_flex::block::{compress_into_with_dict, decompress_into_with_dict, get_maximum_output_size};

use super::MAX_VALUE_BYTES;

/// Number of bytes of the size.
const SIZE: usize = 4;
/// The first bytes of a document.
const DOCUMENT: &[u8] = b"{\"";
/// Size of the shortest values that are compressed. Each compression reads the whole dictionary, which takes longer
/// than writing the few bytes that a shorter value would lose.
const SHORTEST: usize = 64;
/// Maximum number of bytes before the document: the number of a snapshot, or the index entries of a logged change.
const SEARCHED: usize = 512;

/// Returns the compressed form of a value with a document. Returns `None` for other values, and if that form is not
/// smaller.
pub(super) fn compress(value: &[u8]) -> Option<Vec<u8>> {
    if value.len() < SHORTEST || !has_document(value) {
        return None;
    }
    let mut compressed = vec![0; SIZE + get_maximum_output_size(value.len())];
    let (size, block) = compressed.split_at_mut(SIZE);
    size.copy_from_slice(&u32::try_from(value.len()).ok()?.to_be_bytes());
    let length = compress_into_with_dict(value, block, DICTIONARY.as_bytes()).ok()?;
    compressed.truncate(SIZE + length);
    (compressed.len() < value.len()).then_some(compressed)
}

fn has_document(value: &[u8]) -> bool {
    value.windows(DOCUMENT.len()).take(SEARCHED).any(|bytes| bytes == DOCUMENT)
}

/// Returns the value. Returns `None` if the bytes are no compressed value of a legal size.
pub(super) fn decompress(compressed: &[u8]) -> Option<Vec<u8>> {
    let (size, block) = compressed.split_first_chunk::<SIZE>()?;
    let size = usize::try_from(u32::from_be_bytes(*size)).ok().filter(|size| *size <= MAX_VALUE_BYTES)?;
    let mut value = vec![0; size];
    let length = decompress_into_with_dict(block, &mut value, DICTIONARY.as_bytes()).ok()?;
    (length == size).then_some(value)
}

/// Typical documents. Stored values refer to it, so it must never change. A better dictionary requires another format
/// of values (`envelope`).
const DICTIONARY: &str = concat!(
    r#""subscriber_id":1,"relation":"","priority":1,"subscriber_name":"","subscriber_date_of_birth":"19","subscribe"#,
    r#"r_number":"","effective_date":"20","expiration_date":"20","insurance_type":"","active":true"payer_id":"","gr"#,
    r#"oup_number":"","employer_name":"","primary_plan_id":1,"secondary_plan_id":1,"status":"","sent_at":"20","rece"#,
    r#"ived_at":"20","date_of_service":"20","totals":{"billed":"","estimated":"","paid":"","write_off":"","allowed""#,
    r#":""},"payouts":["interval_number":6,"interval_unit":"month","recall_type_id":1,"date_due":"20"treatment_plan"#,
    r#"_ids":[],"code":"D","name":"","status":"","teeth":[],"surface":"","fee":"","start_date":"20","end_date":"20""#,
    r#"charge_id":1,"claim_id":1,"payment_plan_id":1,"insurance_plan_id":1,"payment_type_id":1,"adjustment_type_id""#,
    r#":1,"amount":"","paid_at":17,"adjusted_at":17,"transaction_id":"","description":"","charge_splits":[],"provid"#,
    r#"er_splits":["procedure_id":1,"procedure_code":"D","description":"","fee":"","charged_at":17"display_name":"""#,
    r#","npi":"","tin":"","state_license":"","specialty_code":"","inactive":false"begin":540,"end":1020,"recurrence"#,
    r#"":{"weekly":[]},"kind":"","source":"","appointment_type_ids":[],"label":"","bookable_online":true"institutio"#,
    r#"n_id":1,"subdomain":"","location_id":1,"resource_type":"appointment","event_name":"appointment_created","eve"#,
    r#"nt_time":17,"record":"","origin":"","due_at":17,"recipients":[["replaced":[],"progress":"arrived","reschedul"#,
    r#"e":{"status":"pending","from":17,"to":17{"write_failed":{"write":1,"work":{"record":{"resource":"patients",""#,
    r#"id":1,"verb":"update"}},"how":"timed_out","reason":"{"write_deferred":{"write":1,"not_before":17,"reason":"{"#,
    r#""record_saved":{"resource":"appointments","id":1,"verb":"create"}}{"hold_ended":{"hold":1}},{"held":{"hold":"#,
    r#"1,"placement":{"operatory":1,"provider":1,"span":{"start":17,"end":17}},"until":17,"holder":1{"moved":{"appo"#,
    r#"intment":1,"to":{"operatory":1,"provider":1,"span":{"start":17,"end":17}},"why":"client"}}{"cancelled":{"app"#,
    r#"ointment":1,"by":"client","reason":null}}{"key_used":{"appointment":1,"key":{"key":"{"page_applied":{"resour"#,
    r#"ce":"appointments","cursor":"","last":true,"whole":false,"records":1,"estimate":null{"pull_started":{"resour"#,
    r#"ce":"patients","call":1,"until":17{"appointment_pulled":{"record":{"id":1,"patient":1,"appointment_type":nul"#,
    r#"l,"placement":{"operatory":1,"provider":1,"span":{"start":17,"end":17}},"unavailable":false,"cancelled":fals"#,
    r#"e,"written":{"foreign_id":"{"at":17,"events":[{"booked":{"appointment":1,"placement":{"operatory":1,"provide"#,
    r#"r":1,"span":{"start":17,"end":17}},"appointment_type":null,"patient":1,"key":{"key":"","fingerprint":"","exp"#,
    r#"ires":17},"integrated":true}},{"write_queued":{"write":1,"work":{"create_patient":1},"lane":{"patient":1},"k"#,
    r#"ey":"ps-1","deadline":17,"origin":""}},{"write_queued":{"write":1,"work":{"create_appointment":1},"lane":{"p"#,
    r#"atient":1},"key":"ps-1","deadline":17,"origin":""}},{"call_started":{"write":1,"attempt":1,"kind":"push","un"#,
    r#"til":17,"sent":null}}],"by":{"request_id":"","name":"","client":"127.0.0.1","route":"POST /intent/booking/bo"#,
    r#"ok"},"institution":1}"until":17,"sent":{"operatory":1,"provider":1,"span":{"start":17,"end":17}}}}]}{"at":17"#,
    r#","events":[{"insert_done":{"appointment":1,"written":{"foreign_id":"","version":null}}},{"write_done":{"writ"#,
    r#"e":1,"work":{"create_appointment":1},"written":{"foreign_id":"","version":"1"}}}]}{"at":17,"events":[{"write"#,
    r#"_done":{"write":1,"work":{"create_patient":1},"written":{"foreign_id":"{"id":1,"location_id":1,"work":{"crea"#,
    r#"te_appointment":1},"key":"ps-1","attempts":1,"done":true,"timed_out":false,"queued_at":17,"finished_at":17,""#,
    r#"lane":{"patient":1},"origin":"{"location":1,"expires":17}"guarantor_id":1,"provider_id":1,"gender":"Female","#,
    r#""home_phone":"","work_phone":"","primary_phone":"","address":{"line1":"","line2":null,"city":"","region":"","#,
    r#""postal_code":"","country":"US"},"billing_type":"","chart_id":"","preferred_language":"en{"id":1,"institutio"#,
    r#"n_id":1,"source_id":1,"foreign_id":"","created_at":17,"updated_at":17,"last_sync_time":17,"write":{"status":"#,
    r#""succeeded"},"body":{"first_name":"","middle_name":"","last_name":"","date_of_birth":"19","gender":"Male","e"#,
    r#"mail":"","cell_phone":"+1","inactive":false,"new_patient":true,"non_patient":false,"unsubscribed_sms":false,"#,
    r#""unsubscribed_email":false,"location_ids":[1],"provider_id":1}}"write":{"status":"pending"},"body":{"first_n"#,
    r#"ame":"{"id":1,"institution_id":1,"source_id":1,"location_id":1,"foreign_id":"","created_at":17,"updated_at":"#,
    r#"17,"last_sync_time":17,"body":{"version":"1","patient_id":1,"appointment_type_id":1,"placement":{"operatory""#,
    r#":1,"provider":1,"span":{"start":17,"end":17}},"note":"","unavailable":false,"cancelled":false,"confirmed":fa"#,
    r#"lse,"patient_confirmed":false,"patient_missed":false,"booking":{"booking_ref":"bkg_","writeback":"pending",""#,
    r#"patient_first_name":"","patient_last_name":"","patient_matched":true,"created_by":""}}}"writeback":"confirme"#,
    r#"d","patient_first_name":"","patient_matched":false,"created_by":""#,
);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;
    use sha2::{Digest, Sha256};

    use super::*;

    const APPOINTMENT: &str = concat!(
        r#"{"id":1482,"institution_id":1,"source_id":1,"location_id":101,"created_at":1795255200000,"#,
        r#""updated_at":1795255200000,"body":{"patient_id":733,"placement":{"operatory":12,"provider":3,"#,
        r#""span":{"start":1795600000000,"end":1795601800000}},"note":"prefers mornings","unavailable":false,"#,
        r#""cancelled":false,"confirmed":false,"patient_confirmed":false,"patient_missed":false}}"#,
    );

    #[test]
    fn the_dictionary_never_changes() {
        let digest = hex::encode(Sha256::digest(DICTIONARY.as_bytes()));
        assert_eq!(digest, "b09895f2723f44a0bf4ae3da0af54e76a4fb859abd2cb41e30eb2b11baf4268b");
    }

    /// A block of the reference implementation of LZ4, with the same dictionary.
    #[test]
    fn stored_bytes_stay_readable() {
        let stored = hex::decode("00000028157baf024a223a31303505c039353334323330303030307d").unwrap();
        assert_eq!(decompress(&stored).unwrap(), br#"{"location":101,"expires":1795342300000}"#);
    }

    #[test]
    fn a_document_takes_less_than_half_its_size() {
        let snapshot = [&7_u64.to_be_bytes()[..], APPOINTMENT.as_bytes()].concat();
        // The document is the state before the change.
        let change = [&[2, 9, 31][..], APPOINTMENT.as_bytes(), &[0, 1]].concat();
        for value in [APPOINTMENT.as_bytes(), &snapshot, &change] {
            let compressed = compress(value).unwrap();
            assert!(compressed.len() * 2 < value.len(), "{} of {}", compressed.len(), value.len());
            assert_eq!(decompress(&compressed).unwrap(), value);
        }
    }

    #[test]
    fn other_values_are_not_compressed() {
        let values: [&[u8]; 5] = [&[], &[7; 1_000], b"{}", b"[1]", &1_u64.to_be_bytes()];
        for value in values {
            assert_eq!(compress(value), None, "{value:?}");
        }
    }

    #[test]
    fn short_documents_are_not_compressed() {
        let document = |size| [DOCUMENT, &b" ".repeat(size - DOCUMENT.len())].concat();
        assert_eq!(compress(&document(SHORTEST - 1)), None);
        assert!(compress(&document(SHORTEST)).is_some());
    }

    #[test]
    fn a_document_of_many_windows_round_trips() {
        let value = format!("{{\"rows\":[{}]}}", [APPOINTMENT; 2_000].join(","));
        assert_eq!(decompress(&compress(value.as_bytes()).unwrap()).unwrap(), value.as_bytes());
    }

    #[test]
    fn a_corrupted_block_is_refused() {
        let compressed = compress(APPOINTMENT.as_bytes()).unwrap();
        for length in 0..compressed.len() {
            assert_eq!(decompress(&compressed[..length]), None, "{length}");
        }
        for size in [0, 1, APPOINTMENT.len() as u32 - 1, APPOINTMENT.len() as u32 + 1, u32::MAX] {
            let resized = [&size.to_be_bytes()[..], &compressed[SIZE..]].concat();
            assert_eq!(decompress(&resized), None, "{size}");
        }
    }

    #[test]
    fn a_size_above_the_maximum_is_refused() {
        let most = u32::try_from(MAX_VALUE_BYTES).unwrap();
        let value = [DOCUMENT, &b" ".repeat(MAX_VALUE_BYTES - DOCUMENT.len())].concat();
        let compressed = compress(&value).unwrap();
        assert!(decompress(&compressed).is_some_and(|found| found == value));
        let value = [&value[..], b" "].concat();
        let compressed = compress(&value).unwrap();
        assert_eq!(compressed[..SIZE], (most + 1).to_be_bytes());
        assert_eq!(decompress(&compressed), None);
    }

    proptest! {
        #[test]
        fn any_document_round_trips(text: Vec<u8>) {
            let value = [DOCUMENT, &text].concat();
            if let Some(compressed) = compress(&value) {
                prop_assert_eq!(decompress(&compressed).unwrap(), value);
            }
        }

        #[test]
        fn any_block_is_a_value_or_refused(size in 0..2_000_u32, block in any::<Vec<u8>>()) {
            let found = decompress(&[&size.to_be_bytes()[..], &block].concat());
            prop_assert!(found.is_none_or(|value| value.len() == size as usize));
        }
    }
}
