//! placeholder until the store branch
#[derive(Clone)]
pub struct Once;
pub enum Used {
    Fresh,
    Replay(serde_json::Value),
    Conflict,
}
impl crate::actor::docs::Docs<'_> {
    pub fn once(&mut self, _: &Once, _: location::time::Timestamp) -> Result<Used, crate::actor::turn::TurnError> {
        Ok(Used::Fresh)
    }
    pub fn claim(
        &mut self,
        _: &Once,
        _: serde_json::Value,
        _: location::time::Timestamp,
    ) -> Result<(), crate::actor::turn::TurnError> {
        Ok(())
    }
}
