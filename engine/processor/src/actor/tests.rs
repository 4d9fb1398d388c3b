use store::MAX_BATCH_KEYS;

use super::*;

#[test]
fn what_may_be_stored_and_what_never_will_be_is_not_told_as_full() {
    let told = |error: StoreError| not_stored(&CommitError::Store(error));
    assert_eq!(told(StoreError::Unknown { why: "EIO".into() }), EngineError::OutcomeUnknown);
    let size = MAX_BATCH_KEYS + 1;
    let too_large = StoreError::TooLarge { what: "keys in a batch", size, limit: MAX_BATCH_KEYS };
    assert_eq!(told(too_large), EngineError::TooLarge);
    assert_eq!(told(StoreError::Refusing { why: "closed".into() }), EngineError::StoreFull);
    assert_eq!(not_stored(&CommitError::Full { free: 1, floor: 2 }), EngineError::StoreFull);
}
