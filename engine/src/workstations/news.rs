//! Tells locations how their gates stand, until they know.

use std::{sync::Arc, time::Duration};

use location::{command::Command, ids::LocationId};
use tokio::sync::{Semaphore, mpsc};

use super::{Gateway, Room};
use crate::{actor::request::Request, directory::Directory, engine::EngineError};

/// Locations told at one time: after a start all of them are due.
const AT_ONCE: usize = 32;
const AGAIN: Duration = Duration::from_secs(5);

pub async fn tell(directory: Arc<Directory>, gateway: Arc<Gateway>, mut gates: mpsc::UnboundedReceiver<LocationId>) {
    let places = Arc::new(Semaphore::new(AT_ONCE));
    while let Some(location) = gates.recv().await {
        let Some(room) = gateway.room_of(location) else { continue };
        let Ok(place) = places.clone().acquire_owned().await else { return };
        let directory = directory.clone();
        tokio::spawn(async move {
            let told = tell_one(&directory, &room).await;
            drop(place);
            if let Err(error) = told {
                tracing::warn!(location = %room.location, %error, "the location does not know yet how its gate stands");
                tokio::time::sleep(AGAIN).await;
                room.tell_location();
            }
        });
    }
}

/// Of two at once the second reads how the gate stands after the first has told it.
async fn tell_one(directory: &Directory, room: &Room) -> Result<(), EngineError> {
    let _mine = room.telling.lock().await;
    let Some(gate) = room.gate() else { return Ok(()) };
    directory.request(room.location, || Request::Command(Command::Gate(gate))).await.map(drop)
}
