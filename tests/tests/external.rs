//! The choice of external suites.

use tests::harness::external::{Suite, read, summary};

#[test]
fn suites_are_named_one_by_one_or_all() {
    assert_eq!(read(""), Ok(vec![]));
    assert_eq!(read("fhir-server, python ,"), Ok(vec![Suite::FhirServer, Suite::Python]));
    assert_eq!(read("all"), Ok(Suite::EVERY.to_vec()));
}

#[test]
fn unknown_name_is_reported_with_the_valid_ones() {
    let error = read("node,oracle").expect_err("there is no such suite");
    assert!(
        error.contains("`oracle`") && error.contains("fhir-server, gnuhealth, chromium, node, python, postgres, shell"),
        "{error}"
    );
    assert!(read("fhir").is_err());
}

#[test]
fn the_tests_of_a_suite_exist() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    for test in Suite::EVERY.iter().flat_map(|suite| suite.tests()) {
        assert!(folder.join(test).is_dir() || folder.join(format!("{test}.rs")).is_file(), "{test}");
    }
}

#[test]
fn summary_lists_skipped_suites_and_how_to_run_them() {
    let text = summary(&[Suite::GnuHealth]);
    assert!(
        text.contains("gnuhealth") && text.contains("PyPI") && text.contains("PRACTICE_SYNC_EXTERNAL=all"),
        "{text}"
    );
    assert!(!text.contains("chromium"), "{text}");
}
