//! Custom sections of a component.

use wasmparser::Payload;

use crate::component::{InvalidComponent, outer};

pub fn without(component: &[u8], name: &str) -> Result<Vec<u8>, InvalidComponent> {
    let mut kept = component.to_vec();
    let held = outer(component)?.into_iter().find_map(|payload| match payload {
        Payload::CustomSection(section) if section.name() == name => Some(section.range()),
        _ => None,
    });
    if let Some(content) = held {
        let (from, to) = (content.start, content.end);
        // The range covers the section's content. The id byte and the LEB128 size precede it.
        let mut head = vec![0];
        leb128(&mut head, to - from);
        let start = from - head.len();
        if component[start..from] != head {
            return Err(InvalidComponent::NotAComponent(format!("its section {name} has an unusual form")));
        }
        kept.drain(start..to);
        // Another tool may have written more than one.
        return without(&kept, name);
    }
    Ok(kept)
}

pub fn append(component: &mut Vec<u8>, name: &str, content: &[u8]) {
    let mut section = Vec::new();
    leb128(&mut section, name.len());
    section.extend_from_slice(name.as_bytes());
    section.extend_from_slice(content);
    component.push(0);
    leb128(component, section.len());
    component.extend_from_slice(&section);
}

fn leb128(out: &mut Vec<u8>, mut value: usize) {
    loop {
        let byte = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            out.push(byte);
            return;
        }
        out.push(byte | 0x80);
    }
}
