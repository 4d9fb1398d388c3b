//! Parts of the conformance suite without an adapter.

mod subject_file {
    use adapter_conformance::SubjectFile;
    use chrono::NaiveDate;

    const LEAST: &str = "base_url = \"http://127.0.0.1:1\"\nlocation = \"L\"\nzone = \"America/New_York\"\n\
        [ids]\npatient = \"P\"\nprovider = \"D\"\n\
        [free]\ndays_ahead = 3\nfrom = \"09:00\"\nuntil = \"10:30\"\nstep_minutes = 30\n";

    fn read(text: &str) -> Result<SubjectFile, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        SubjectFile::read(file.path())
    }

    fn refusal(from: &str, to: &str) -> String {
        assert!(LEAST.contains(from), "{from}");
        read(&LEAST.replacen(from, to, 1)).err().unwrap()
    }

    #[test]
    fn free_times_are_local_half_hours_away_from_clock_changes() {
        let subject = read(LEAST).ok().unwrap();
        // Tuesday 2026-11-24, at noon in London; the days from Friday on.
        let starts = subject.keys.free.starts(subject.local.zone, 1_795_521_600);
        let nine = NaiveDate::from_ymd_opt(2026, 11, 27).unwrap().and_hms_opt(14, 0, 0).unwrap().and_utc().timestamp();
        assert_eq!(starts[..4], [nine, nine + 1_800, nine + 3_600, nine + 86_400]);
        // The clocks go forward on 2027-03-14.
        let day =
            |day| NaiveDate::from_ymd_opt(2027, 3, day).unwrap().and_hms_opt(0, 0, 0).unwrap().and_utc().timestamp();
        assert!(starts.iter().all(|start| !(day(13)..day(16)).contains(start)));
        assert!(starts.iter().any(|start| (day(18)..day(19)).contains(start)));
    }

    #[test]
    fn times_that_have_passed_are_not_free() {
        // Tuesday 2026-11-24, 09:00 in New York.
        let nine = 1_795_528_800;
        let free = |key: &str| read(&LEAST.replace("days_ahead = 3", key)).ok().unwrap().keys.free;
        for key in ["days_ahead = 0", "first_day = \"2026-11-20\""] {
            let starts = free(key).starts(chrono_tz::America::New_York, nine + 2_700);
            assert_eq!(starts[..2], [nine + 3_600, nine + 86_400], "{key}");
        }
    }

    #[test]
    fn errors_contain_the_key_and_the_expected_value() {
        for (from, to, parts) in [
            ("zone", "zonne", ["zone", "missing"]),
            ("America/New_York", "New York", ["`zone`", "is no IANA zone"]),
            ("[ids]", "colour = 1\n[ids]", ["colour", "unknown field"]),
            ("patient = \"P\"\n", "", ["`ids`", "patient"]),
            ("provider", "providr", ["`ids", "unknown field `providr`"]),
            ("days_ahead = 3", "first_day = \"31.1.2027\"", ["`free`", "write it as \"2027-01-31\""]),
            ("days_ahead = 3", "", ["`free`", "either `days_ahead` or `first_day`"]),
            ("\"09:00\"", "\"9 o'clock\"", ["`from`", "write it as \"09:00\""]),
            ("step_minutes = 30", "step_minutes = 5", ["`step_minutes` is 5", "30 to 480"]),
            ("[ids]", "unkept = [\"note\"]\n[ids]", ["`unkept", "RESOURCE.FIELD"]),
            ("[ids]", "[change.patiens]\ncommand = \"x\"\n[ids]", ["change", "unknown variant `patiens`"]),
            ("[ids]", "[change.patients]\nmethod = \"SEND\"\npath = \"/\"\n[ids]", ["change.patients", "one of GET"]),
            ("[ids]", "[change.patients]\nmethod = \"POST\"\n[ids]", ["change.patients", "`method` and `path`"]),
            (
                "[ids]",
                "[delete.patients]\nmethod = \"POST\"\npath = \"x\"\n[ids]",
                ["delete.patients", "begins with /"],
            ),
        ] {
            let message = refusal(from, to);
            assert!(parts.iter().all(|part| message.contains(part)), "{to}: {message}");
        }
    }
}

mod subject {
    use adapter_conformance::subject::shown_as;
    use location::pull::Resource;
    use serde_json::{Value, json};

    #[test]
    fn the_cell_phone_of_an_ehr_with_one_number_is_shown_as_its_primary_phone() {
        let number = json!("+1 312 555 0100");
        let shown = |fields: Value| {
            let Value::Object(held) = fields else { panic!("an object") };
            shown_as(Resource::Patients, "cell_phone", &held).clone()
        };
        assert_eq!(shown(json!({"cell_phone": null, "primary_phone": number})), number);
        assert_eq!(shown(json!({"cell_phone": number, "primary_phone": "1"})), number);
        assert_eq!(shown(json!({"home_phone": number})), Value::Null);
        let Value::Object(held) = json!({"primary_phone": number}) else { panic!("an object") };
        assert_eq!(*shown_as(Resource::Patients, "home_phone", &held), Value::Null);
        assert_eq!(*shown_as(Resource::Providers, "cell_phone", &held), Value::Null);
    }
}

mod shown {
    use adapter_conformance::display::beside;
    use serde_json::{Value, json};

    #[test]
    fn values_not_written_by_the_suite_are_masked() {
        let Value::Object(written) = json!({"last_name": "Łopata", "address": {"city": "Chicago"}}) else {
            panic!("an object")
        };
        assert_eq!(beside(&written, &json!("Neill-2")), "\"Xxxxx-0\"");
        assert_eq!(beside(&written, &json!("Łopata")), "\"Łopata\"");
        assert_eq!(
            beside(&written, &json!({"city": "Chicago", "line1": "5 Rue"})),
            "{city: \"Chicago\", line1: \"0 Xxx\"}"
        );
        assert_eq!(beside(&written, &json!([7, true])), "[7, true]");
    }
}
