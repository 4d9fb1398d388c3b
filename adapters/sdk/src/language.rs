//! Language codes: the contract uses ISO 639-1 (`es`), EHRs use ISO 639-2 (`spa`).
//!
//! ```
//! use adapter_sdk::language;
//!
//! assert_eq!((language::three("de"), language::two("GER")), (Some("deu"), Some("de")));
//! assert_eq!(language::two("Klingon"), None);
//! ```

/// Two-letter codes, each with the three-letter code to write, and then the alternative that libraries use.
const CODES: &str = "en=eng es=spa fr=fra,fre de=deu,ger zh=zho,chi vi=vie ko=kor ru=rus ar=ara pt=por it=ita tl=tgl pl=pol \
    hi=hin ja=jpn hy=hye,arm fa=fas,per ht=hat uk=ukr so=som am=amh ur=urd gu=guj pa=pan bn=ben te=tel ta=tam th=tha he=heb \
    el=ell,gre nl=nld,dut sv=swe ro=ron,rum cs=ces,cze hu=hun tr=tur km=khm lo=lao ne=nep sw=swa";

fn codes() -> impl Iterator<Item = (&'static str, &'static str)> {
    CODES.split_whitespace().filter_map(|code| code.split_once('='))
}

/// Returns the three-letter code of a two-letter code.
pub fn three(two: &str) -> Option<&'static str> {
    codes().find(|(short, _)| short.eq_ignore_ascii_case(two))?.1.split(',').next()
}

/// Returns the two-letter code of a three-letter code, or `None` for an EHR's own code.
pub fn two(three: &str) -> Option<&'static str> {
    let is = |all: &str| all.split(',').any(|long| long.eq_ignore_ascii_case(three.trim()));
    codes().find(|(_, all)| is(all)).map(|(short, _)| short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_round_trip() {
        assert_eq!(codes().count(), 40);
        for (short, all) in codes() {
            assert_eq!(three(short), all.split(',').next());
            assert!(all.split(',').all(|long| long.len() == 3 && two(long) == Some(short)), "{short}");
        }
        assert_eq!(
            (two("GER"), two(" chi "), two("Klingon"), two(""), three("xx")),
            (Some("de"), Some("zh"), None, None, None)
        );
    }
}
