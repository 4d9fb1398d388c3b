//! The rooms of the practice and the resources that belong to it.

use adapter_sdk::Fault;
use serde_json::Value;

use crate::{
    client, enrich, map, requests,
    responses::{Reference, Schedule},
    settings::Settings,
};

/// The rooms of a practice that is one site of several.
pub struct Site {
    id: String,
    pub rooms: Vec<String>,
    /// The practitioners who work in the rooms, after [`Site::appointments`].
    people: Vec<String>,
}

impl Site {
    /// Reads the rooms. Returns `None` if every Location is a room of the practice.
    pub fn read(settings: &Settings) -> Result<Option<Site>, Fault> {
        let Some(id) = &settings.site else { return Ok(None) };
        let rooms = client::all(settings, "Location", &requests::rooms(Some(id)))?;
        let rooms = rooms.iter().filter(|room| is_part_of(room, id)).map(|room| client::text(room, "id").to_owned());
        Ok(Some(Site { id: id.clone(), rooms: rooms.collect(), people: Vec::new() }))
    }

    /// Returns the search for the schedules of the rooms.
    pub fn schedules(&self) -> String {
        requests::with_actors("Schedule", &self.rooms.iter().map(|id| format!("Location/{id}")).collect::<Vec<_>>())
    }

    /// Returns `true` if a schedule belongs to one of the rooms.
    pub fn has(&self, schedule: &Schedule) -> bool {
        schedule.actor.iter().filter_map(|actor| actor.id_of("Location")).any(|id| self.rooms.contains(&id))
    }

    /// Returns the search for appointments here: in the rooms, at the site, and of practitioners who work there.
    pub fn appointments(&mut self, settings: &Settings) -> Result<String, Fault> {
        let schedules = if settings.slots {
            let found = client::all(settings, "Schedule", &self.schedules());
            client::unless_refused(found, "appointments are read by rooms alone, the schedules cannot be read")?
        } else {
            Vec::new()
        };
        let read = schedules.into_iter().filter_map(|schedule| map::read::<Schedule>(schedule).ok());
        let actors: Vec<Reference> = read.filter(|schedule| self.has(schedule)).flat_map(|s| s.actor).collect();
        self.people = practitioners(settings, &actors, false)?;
        self.people.sort();
        self.people.dedup();
        let places = self.rooms.iter().chain([&self.id]).map(|id| format!("Location/{id}"));
        let people = self.people.iter().map(|id| format!("Practitioner/{id}"));
        Ok(requests::with_actors("Appointment", &places.chain(people).collect::<Vec<_>>()))
    }

    /// Removes the places of other sites from an appointment. Returns `false` if only such places remain, or if there
    /// is no place and no practitioner who works here.
    pub fn is_ours(&self, appointment: &mut Value) -> bool {
        let place = |p: &Value| Reference::from_value(&p["actor"]).id_of("Location");
        let person = |p: &Value| Reference::from_value(&p["actor"]).id_of("Practitioner");
        let Some(participants) = appointment["participant"].as_array_mut() else { return false };
        let there = |p: &&Value| p["status"] != "declined";
        let placed = participants.iter().filter(there).any(|p| place(p).is_some());
        let ours = |id: &String| *id == self.id || self.rooms.contains(id);
        let here = participants.iter().filter(there).filter_map(place).any(|id| ours(&id));
        let theirs = participants.iter().filter(there).filter_map(person).any(|id| self.people.contains(&id));
        // The site itself is not a room.
        participants.retain(|p| place(p).is_none_or(|id| self.rooms.contains(&id)));
        here || (!placed && theirs)
    }
}

pub fn is_part_of(room: &Value, site: &str) -> bool {
    Reference::from_value(&room["partOf"]).id_of("Location").as_deref() == Some(site)
}

/// Returns the practitioners among actors. A role is resolved to its practitioner; with `held`, only if it is current.
pub fn practitioners(settings: &Settings, actors: &[Reference], held: bool) -> Result<Vec<String>, Fault> {
    let mut ids: Vec<String> = actors.iter().filter_map(|actor| actor.id_of("Practitioner")).collect();
    let roles = actors.iter().filter_map(|actor| actor.id_of("PractitionerRole")).collect();
    let behind = enrich::by_role(settings, roles, held)?.into_values();
    ids.extend(behind.filter(|id| !ids.contains(id)).collect::<Vec<_>>());
    Ok(ids)
}
